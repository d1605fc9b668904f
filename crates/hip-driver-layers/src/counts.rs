//! A layer that counts calls by kind, and can make the n-th call of a kind fail.

use std::fmt;
use std::ops::Index;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use hip_driver::{Call, CallKind, Driver, DriverError, DriverResult, ErrorCode, Note, Output, Work};

use super::inject::Injections;
use super::intercept::{Intercepted, Layer};
use super::pinned::{PinnedRanges, Released};

const KINDS: usize = CallKind::ALL.len();

/// A driver with the counting layer over it.
pub type CountingDriver = Intercepted<CallCounter>;

impl CountingDriver {
    /// Puts the counting layer over a driver.
    pub fn new(inner: Arc<dyn Driver>) -> Arc<CountingDriver> {
        Arc::new(Intercepted::with_layer(inner, CallCounter::default()))
    }
}

/// The layer that counts calls and notes, and injects faults. Calls that fail or that a layer below refuses count too.
#[derive(Debug, Default)]
pub struct CallCounter {
    counters: Counters,
    injections: Injections,
    pinned: PinnedRanges,
}

impl CallCounter {
    /// Returns the calls counted so far, by kind.
    pub fn counts(&self) -> CallCounts {
        self.counters.snapshot()
    }

    /// Makes the `nth` call of this kind from now (1 for the next) fail with `code`. The call is counted, but does not
    /// reach the driver below. For a [group](CallKind::is_group), it is the `nth` call of the group.
    ///
    /// An injected sticky code fails only this call, not later ones.
    pub fn inject(&self, kind: CallKind, nth: u64, code: ErrorCode) {
        self.injections.add(kind, nth, None, code);
    }

    /// Makes every `nth` call of this kind from now (1 for every call) fail with `code`, until
    /// [`clear_injections`](CallCounter::clear_injections).
    pub fn inject_repeating(&self, kind: CallKind, nth: u64, code: ErrorCode) {
        self.injections.add(kind, nth, Some(nth), code);
    }

    /// Removes all injections.
    pub fn clear_injections(&self) {
        self.injections.clear();
    }

    /// Returns the number of injections that have not fired yet, including all repeating ones.
    pub fn pending_injections(&self) -> usize {
        self.injections.pending()
    }

    /// Returns the groups in which a call is counted.
    #[inline]
    fn groups(&self, call: &Call<'_>, kind: CallKind) -> &'static [CallKind] {
        match call {
            Call::Enqueue { work: work @ Work::CopyToDevice { .. }, .. } if self.pinned.is_pageable(work) => {
                &[CallKind::PageableCopy]
            }
            // This copy waits for its stream.
            Call::Enqueue { work: work @ Work::CopyToHost { .. }, .. } if self.pinned.is_pageable(work) => {
                &[CallKind::BlockingCopy, CallKind::PageableCopy]
            }
            _ => kind.groups(),
        }
    }
}

impl Layer for CallCounter {
    const NAME: &'static str = "";

    type Token = Released;

    #[inline]
    fn before(&self, call: &Call<'_>) -> DriverResult<Released> {
        let kind = call.kind();
        let groups = self.groups(call, kind);
        self.counters.add(kind);
        groups.iter().for_each(|&group| self.counters.add(group));
        match self.injections.tick([&[kind], groups]) {
            None => Ok(self.pinned.before(call)),
            Some(code) => Err(DriverError::with_detail(kind.name(), code, "an injected fault")),
        }
    }

    #[inline]
    fn after(&self, _: &Call<'_>, released: Released, result: Result<Output, &DriverError>) {
        self.pinned.after(released, result);
    }

    fn takes_notes(&self) -> bool {
        true
    }

    fn note(&self, note: &Note) {
        self.counters.add(note.kind());
    }
}

/// Counters to which any thread may add.
#[derive(Debug)]
struct Counters([AtomicU64; KINDS]);

impl Default for Counters {
    fn default() -> Counters {
        Counters([const { AtomicU64::new(0) }; KINDS])
    }
}

impl Counters {
    #[inline]
    fn add(&self, kind: CallKind) {
        self.0[kind as usize].fetch_add(1, Ordering::Relaxed);
    }

    fn snapshot(&self) -> CallCounts {
        CallCounts(std::array::from_fn(|i| self.0[i].load(Ordering::Relaxed)))
    }
}

/// How often each kind of call was made, including refused and injected ones.
///
/// Its `Display` is a table of the counts that are not 0.
#[derive(Clone, PartialEq, Eq)]
pub struct CallCounts([u64; KINDS]);

impl CallCounts {
    /// Returns the number of calls of one kind.
    pub fn get(&self, kind: CallKind) -> u64 {
        self.0[kind as usize]
    }

    /// Returns the difference to an earlier snapshot of the same layer.
    #[must_use]
    pub fn since(&self, earlier: &CallCounts) -> CallCounts {
        CallCounts(std::array::from_fn(|i| self.0[i].saturating_sub(earlier.0[i])))
    }

    /// Returns the number of [calls that concern devices](CallKind::is_device_call), each counted once.
    pub fn device_calls(&self) -> u64 {
        self.iter().filter(|(kind, _)| kind.is_device_call()).map(|(_, n)| n).sum()
    }

    /// Returns every kind with its count, groups last.
    pub fn iter(&self) -> impl Iterator<Item = (CallKind, u64)> + '_ {
        CallKind::ALL.iter().map(|&kind| (kind, self.get(kind)))
    }
}

impl Default for CallCounts {
    fn default() -> Self {
        CallCounts([0; KINDS])
    }
}

impl Index<CallKind> for CallCounts {
    type Output = u64;

    fn index(&self, kind: CallKind) -> &u64 {
        &self.0[kind as usize]
    }
}

impl fmt::Debug for CallCounts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_map().entries(self.iter().filter(|(_, n)| *n > 0)).finish()
    }
}

impl fmt::Display for CallCounts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let width = self.iter().filter(|(_, n)| *n > 0).map(|(kind, _)| kind.name().len()).max().unwrap_or(0);
        let width = width.max("device calls".len());
        for (kind, n) in self.iter().filter(|(kind, n)| *n > 0 && !kind.is_group()) {
            writeln!(f, "{kind:width$}  {n:>10}")?;
        }
        writeln!(f, "{:width$}  {:>10}", "device calls", self.device_calls())?;
        for (kind, n) in self.iter().filter(|(kind, n)| *n > 0 && kind.is_group()) {
            writeln!(f, "  of which {:1$}  {n:>10}", kind.name(), width.saturating_sub(11))?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn differences_and_totals() {
        let counters = Counters::default();
        counters.add(CallKind::Malloc);
        let before = counters.snapshot();
        counters.add(CallKind::Malloc);
        counters.add(CallKind::DeviceAllocation);
        counters.add(CallKind::NoteHostWrite);
        counters.add(CallKind::NotePoolAllocate);
        let counts = counters.snapshot().since(&before);
        assert_eq!(counts[CallKind::Malloc], 1);
        // A group is not a call of its own, and a note is not a device call.
        assert_eq!(counts.device_calls(), 1);
        let table = counts.to_string();
        assert!(table.contains("hipMalloc ") && table.contains("of which device allocations"), "{table}");
        assert!(!table.contains("hipFree"), "{table}");
    }
}
