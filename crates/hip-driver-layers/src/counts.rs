//! A layer that counts calls by kind, and can make the n-th call of a kind fail.

use std::fmt;
use std::ops::Index;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use hip_driver::{
    Call, CallGroup, CallKind, Driver, DriverError, DriverResult, ErrorCode, Note, NoteKind, Output, Work,
};

use super::inject::Injections;
use super::intercept::{Intercepted, Layer};
use super::pinned::{PinnedRanges, Released};

/// What is counted: calls of a kind, calls of a group, or notes of a kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Counted {
    /// The calls of a kind.
    Call(CallKind),
    /// The calls of a group.
    Group(CallGroup),
    /// The notes of a kind.
    Note(NoteKind),
}

impl Counted {
    const LEN: usize = CallKind::ALL.len() + CallGroup::ALL.len() + NoteKind::ALL.len();

    /// Returns everything that is counted: kinds of calls, kinds of notes, groups of calls.
    pub fn all() -> impl Iterator<Item = Counted> {
        let calls = CallKind::ALL.iter().copied().map(Counted::Call);
        let notes = NoteKind::ALL.iter().copied().map(Counted::Note);
        calls.chain(notes).chain(CallGroup::ALL.iter().copied().map(Counted::Group))
    }

    /// Returns the name of the kind or group.
    pub const fn name(self) -> &'static str {
        match self {
            Counted::Call(kind) => kind.name(),
            Counted::Group(group) => group.name(),
            Counted::Note(kind) => kind.name(),
        }
    }

    /// Returns the place among [`all`](Counted::all).
    #[inline]
    const fn index(self) -> usize {
        match self {
            Counted::Call(kind) => kind as usize,
            Counted::Note(kind) => CallKind::ALL.len() + kind as usize,
            Counted::Group(group) => CallKind::ALL.len() + NoteKind::ALL.len() + group as usize,
        }
    }
}

impl From<CallKind> for Counted {
    #[inline]
    fn from(kind: CallKind) -> Counted {
        Counted::Call(kind)
    }
}

impl From<CallGroup> for Counted {
    #[inline]
    fn from(group: CallGroup) -> Counted {
        Counted::Group(group)
    }
}

impl From<NoteKind> for Counted {
    #[inline]
    fn from(kind: NoteKind) -> Counted {
        Counted::Note(kind)
    }
}

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

    /// Makes the `nth` call of this kind or group from now (1 for the next) fail with `code`. The call is counted, but does
    /// not reach the driver below. A note can't fail.
    ///
    /// An injected sticky code fails only this call, not later ones.
    pub fn inject(&self, calls: impl Into<Counted>, nth: u64, code: ErrorCode) {
        self.injections.add(calls.into(), nth, None, code);
    }

    /// Makes every `nth` call of this kind or group from now (1 for every call) fail with `code`, until
    /// [`clear_injections`](CallCounter::clear_injections).
    pub fn inject_repeating(&self, calls: impl Into<Counted>, nth: u64, code: ErrorCode) {
        self.injections.add(calls.into(), nth, Some(nth), code);
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
    fn groups(&self, call: &Call<'_>, kind: CallKind) -> &'static [CallGroup] {
        match call {
            Call::Enqueue { work: work @ Work::CopyToDevice { .. }, .. } if self.pinned.is_pageable(work) => {
                &[CallGroup::PageableCopy]
            }
            // This copy waits for its stream.
            Call::Enqueue { work: work @ Work::CopyToHost { .. }, .. } if self.pinned.is_pageable(work) => {
                &[CallGroup::BlockingCopy, CallGroup::PageableCopy]
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
        match self.injections.tick(kind, groups) {
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
struct Counters([AtomicU64; Counted::LEN]);

impl Default for Counters {
    fn default() -> Counters {
        Counters([const { AtomicU64::new(0) }; Counted::LEN])
    }
}

impl Counters {
    #[inline]
    fn add(&self, counted: impl Into<Counted>) {
        self.0[counted.into().index()].fetch_add(1, Ordering::Relaxed);
    }

    fn snapshot(&self) -> CallCounts {
        CallCounts(std::array::from_fn(|i| self.0[i].load(Ordering::Relaxed)))
    }
}

/// How often each kind of call was made and each kind of note was sent, including refused and injected calls.
///
/// Its `Display` is a table of the counts that are not 0.
#[derive(Clone, PartialEq, Eq)]
pub struct CallCounts([u64; Counted::LEN]);

impl CallCounts {
    /// Returns the number of calls of a kind or group, or of notes of a kind.
    pub fn get(&self, counted: impl Into<Counted>) -> u64 {
        self[counted]
    }

    /// Returns the difference to an earlier snapshot of the same layer.
    #[must_use]
    pub fn since(&self, earlier: &CallCounts) -> CallCounts {
        CallCounts(std::array::from_fn(|i| self.0[i].saturating_sub(earlier.0[i])))
    }

    /// Returns the number of [calls that concern devices](CallKind::is_device_call), each counted once.
    pub fn device_calls(&self) -> u64 {
        self.calls().filter(|(kind, _)| kind.is_device_call()).map(|(_, n)| n).sum()
    }

    /// Returns every kind of call that was made, with its count.
    pub fn calls(&self) -> impl Iterator<Item = (CallKind, u64)> + '_ {
        CallKind::ALL.iter().map(|&kind| (kind, self.get(kind))).filter(|(_, n)| *n > 0)
    }

    /// Returns everything whose count is not 0, with the count.
    pub fn iter(&self) -> impl Iterator<Item = (Counted, u64)> + '_ {
        Counted::all().zip(self.0).filter(|(_, n)| *n > 0)
    }
}

impl Default for CallCounts {
    fn default() -> Self {
        CallCounts([0; Counted::LEN])
    }
}

impl<K: Into<Counted>> Index<K> for CallCounts {
    type Output = u64;

    fn index(&self, counted: K) -> &u64 {
        &self.0[counted.into().index()]
    }
}

impl fmt::Debug for CallCounts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_map().entries(self.iter()).finish()
    }
}

impl fmt::Display for CallCounts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let is_group = |counted| matches!(counted, Counted::Group(_));
        let width = self.iter().map(|(counted, _)| counted.name().len()).max().unwrap_or(0);
        let width = width.max("device calls".len());
        for (counted, n) in self.iter().filter(|(counted, _)| !is_group(*counted)) {
            writeln!(f, "{:width$}  {n:>10}", counted.name())?;
        }
        writeln!(f, "{:width$}  {:>10}", "device calls", self.device_calls())?;
        for (group, n) in self.iter().filter(|(counted, _)| is_group(*counted)) {
            writeln!(f, "  of which {:1$}  {n:>10}", group.name(), width.saturating_sub(11))?;
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
        counters.add(CallGroup::DeviceAllocation);
        counters.add(NoteKind::HostWrite);
        counters.add(NoteKind::PoolAllocate);
        let counts = counters.snapshot().since(&before);
        assert_eq!(counts[CallKind::Malloc], 1);
        // A group is not a call of its own, and a note is not a device call.
        assert_eq!(counts.device_calls(), 1);
        let table = counts.to_string();
        assert!(table.contains("hipMalloc ") && table.contains("of which device allocations"), "{table}");
        assert!(!table.contains("hipFree"), "{table}");
    }
}
