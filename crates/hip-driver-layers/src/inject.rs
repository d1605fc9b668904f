//! Fault injection: the n-th call of a kind fails with a chosen code.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};

use hip_driver::{CallGroup, CallKind, ErrorCode};

use super::counts::Counted;

#[derive(Debug)]
struct Injection {
    calls: Counted,
    /// The number of calls until it fires.
    left: u64,
    /// After firing, the number of calls until it fires again; `None` if it fires once.
    every: Option<u64>,
    code: ErrorCode,
}

/// The injections that can still fire. Without any, a call costs one atomic load.
#[derive(Debug, Default)]
pub(super) struct Injections {
    armed: AtomicBool,
    list: Mutex<Vec<Injection>>,
}

impl Injections {
    pub(super) fn add(&self, calls: Counted, nth: u64, every: Option<u64>, code: ErrorCode) {
        let mut list = self.list.lock().unwrap_or_else(PoisonError::into_inner);
        list.push(Injection { calls, left: nth.max(1), every: every.map(|n| n.max(1)), code });
        self.armed.store(true, Ordering::Release);
    }

    pub(super) fn clear(&self) {
        let mut list = self.list.lock().unwrap_or_else(PoisonError::into_inner);
        list.clear();
        self.armed.store(false, Ordering::Release);
    }

    /// Returns the number of injections that have not fired yet, including all repeating ones.
    pub(super) fn pending(&self) -> usize {
        self.list.lock().unwrap_or_else(PoisonError::into_inner).len()
    }

    /// Counts one call, of a kind and some groups. Returns the code to fail with if an injection fires.
    #[inline]
    pub(super) fn tick(&self, kind: CallKind, groups: &[CallGroup]) -> Option<ErrorCode> {
        if self.armed.load(Ordering::Acquire) { self.tick_armed(kind, groups) } else { None }
    }

    #[cold]
    fn tick_armed(&self, kind: CallKind, groups: &[CallGroup]) -> Option<ErrorCode> {
        let mut list = self.list.lock().unwrap_or_else(PoisonError::into_inner);
        let mut fired = None;
        list.retain_mut(|injection| {
            let concerned = match injection.calls {
                Counted::Call(injected) => injected == kind,
                Counted::Group(group) => groups.contains(&group),
                Counted::Note(_) => false,
            };
            if !concerned {
                return true;
            }
            injection.left -= 1;
            if injection.left > 0 {
                return true;
            }
            fired = fired.or(Some(injection.code));
            match injection.every {
                Some(every) => {
                    injection.left = every;
                    true
                }
                None => false,
            }
        });
        if list.is_empty() {
            self.armed.store(false, Ordering::Release);
        }
        fired
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nth_call_of_the_kind_fails_once() {
        let injections = Injections::default();
        injections.add(CallKind::Malloc.into(), 2, None, ErrorCode::OUT_OF_MEMORY);
        let malloc = || injections.tick(CallKind::Malloc, &[CallGroup::DeviceAllocation]);
        assert_eq!(malloc(), None);
        assert_eq!(injections.tick(CallKind::Free, &[]), None);
        assert_eq!(malloc(), Some(ErrorCode::OUT_OF_MEMORY));
        assert_eq!(malloc(), None);
        assert_eq!(injections.pending(), 0);
    }

    #[test]
    fn repeating_ones_fire_until_cleared() {
        let injections = Injections::default();
        injections.add(CallGroup::DeviceAllocation.into(), 2, Some(2), ErrorCode::UNKNOWN);
        let malloc = || injections.tick(CallKind::Malloc, &[CallGroup::DeviceAllocation]).is_some();
        assert_eq!([malloc(), malloc(), malloc(), malloc()], [false, true, false, true]);
        injections.clear();
        assert_eq!([malloc(), malloc()], [false, false]);
    }
}
