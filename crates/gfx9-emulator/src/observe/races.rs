//! Data races: the history of accesses to each dword, and the rules by which a later access is ordered after an earlier
//! one.
//!
//! # What orders
//!
//! * The order of instructions within a wave. (Lanes of one instruction are not compared with each other.)
//! * A barrier, between the waves of a workgroup.
//! * An *acquire* of the later access's wave, or of a wave of its workgroup before a barrier that both have passed, if
//!   it was executed after the earlier access. An acquire is an atomic that returns a value, or a load that bypasses
//!   the caches as atomic and volatile loads do (glc on gfx90a, sc0 or sc1 on gfx942). The rules don't check whether,
//!   and by which instruction, the earlier access was *released*, because on gfx90a a releasing store looks like any
//!   other. An acquire therefore orders its wave after everything that other waves did before it. Spin locks, flags and
//!   "the last block" cause no false reports. A race is missed if an unrelated acquire is executed between its two
//!   accesses.
//!
//! # What doesn't race
//!
//! * Two atomics.
//! * An atomic or volatile load and any other access: stores to the same bytes may be atomic as well.
//! * A store and an atomic, in memory where atomic stores look like plain ones (LDS; all memory on gfx90a).
//! * Two stores of the same value.
//! * A read of a wave that writes nothing later, and a write of its workgroup.
//! * A load and a compare-and-swap: a loop of compare-and-swaps commonly begins with a plain load, whose value is only
//!   a guess.
//!
//! In LDS, atomic and volatile loads look like plain ones, too. A flag in LDS on which waves wait without a barrier is
//! reported, although it may be correct.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU32, Ordering::SeqCst};
use std::sync::{Mutex, MutexGuard};

use super::lock::lock;

/// The kind of an access, as far as it decides which accesses it races with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Read,
    Write,
    /// A read-modify-write.
    Atomic,
    /// A compare-and-swap.
    CompareSwap,
    /// A store that bypasses the caches.
    AtomicStore,
}

impl Kind {
    pub(crate) fn is_rmw(self) -> bool {
        matches!(self, Kind::Atomic | Kind::CompareSwap)
    }

    fn is_atomic(self) -> bool {
        self.is_rmw() || self == Kind::AtomicStore
    }
}

/// An access to a dword, with what is needed to decide whether a later access is ordered after it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct RecordedAccess {
    /// The number of the workgroup.
    pub(crate) group: u32,
    /// The index of the instruction in the program.
    pub(crate) inst: u32,
    /// The number of acquires that all waves had executed before.
    pub(crate) time: u32,
    /// The number of barriers that the workgroup had passed.
    pub(crate) barrier: u32,
    pub(crate) wave: u8,
    /// The lane, or [`SCALAR`] for accesses of the wave.
    pub(crate) lane: u8,
    /// A mask of the bytes of the dword that were accessed.
    pub(crate) bytes: u8,
    pub(crate) kind: Kind,
}

/// The lane of a scalar access.
pub(crate) const SCALAR: u8 = u8::MAX;

/// The history of a dword: the last access of each kind. It keeps the reads of two waves, so that at least one of them
/// is not by the wave of the next write.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct DwordHistory {
    write: Option<RecordedAccess>,
    atomic: Option<RecordedAccess>,
    reads: [Option<RecordedAccess>; 2],
}

/// The state of the wave that makes an access, and of the memory that it accesses.
#[derive(Debug, Clone, Copy)]
pub(crate) struct AccessContext {
    /// The time of the wave's last acquire, its own or one of a wave that it met at a barrier.
    pub(crate) acquired: u32,
    /// Whether a store to this memory may be atomic although it looks plain.
    pub(crate) stores_may_be_atomic: bool,
}

impl RecordedAccess {
    fn same_wave(&self, other: &RecordedAccess) -> bool {
        self.group == other.group && self.wave == other.wave
    }

    /// Returns whether `self` is ordered after `earlier`.
    fn is_after(&self, earlier: &RecordedAccess, context: AccessContext) -> bool {
        self.same_wave(earlier)
            || self.group == earlier.group && self.barrier > earlier.barrier
            || context.acquired > earlier.time
    }

    fn conflicts(&self, earlier: &RecordedAccess, context: AccessContext) -> bool {
        if self.bytes & earlier.bytes == 0 {
            return false;
        }
        match (self.kind, earlier.kind) {
            (Kind::Read, Kind::Read) => false,
            (Kind::Read, Kind::CompareSwap) | (Kind::CompareSwap, Kind::Read) => false,
            (a, b) if a.is_atomic() && b.is_atomic() => false,
            (Kind::Write, other) | (other, Kind::Write) if other.is_rmw() => !context.stores_may_be_atomic,
            _ => true,
        }
    }
}

impl DwordHistory {
    /// Records an access. Returns an earlier one that it races with.
    pub(crate) fn record(
        &mut self,
        access: RecordedAccess,
        context: AccessContext,
    ) -> Option<RecordedAccess> {
        let earlier = [self.write, self.atomic, self.reads[0], self.reads[1]];
        let race = earlier
            .into_iter()
            .flatten()
            .find(|m| access.conflicts(m, context) && !access.is_after(m, context));
        match access.kind {
            Kind::Read => {
                let [first, second] = &mut self.reads;
                if first.is_none_or(|m| m.same_wave(&access)) {
                    *first = Some(access);
                } else if second.is_none_or(|m| m.same_wave(&access)) {
                    *second = Some(access);
                } else {
                    (*first, *second) = (*second, Some(access));
                }
            }
            Kind::Write | Kind::AtomicStore => self.write = Some(access),
            // An earlier atomic is kept, because loads race with it and don't race with a compare-and-swap.
            Kind::CompareSwap if self.atomic.is_some_and(|m| m.kind == Kind::Atomic) => {}
            Kind::Atomic | Kind::CompareSwap => self.atomic = Some(access),
        }
        race
    }
}

/// The number of dwords in a page of histories.
const PAGE: u64 = 256;
/// The number of locks that pages are distributed over.
const SHARDS: usize = 64;

type Pages = HashMap<u64, Box<[DwordHistory]>>;

/// The histories of global memory, shared by the workgroups of a dispatch.
pub(crate) struct GlobalHistory {
    shards: Vec<Mutex<Pages>>,
    /// The number of acquires so far.
    clock: AtomicU32,
}

impl GlobalHistory {
    pub(crate) fn new() -> GlobalHistory {
        GlobalHistory { shards: (0..SHARDS).map(|_| Mutex::default()).collect(), clock: AtomicU32::new(0) }
    }

    /// Returns the number of acquires so far.
    pub(crate) fn time(&self) -> u32 {
        self.clock.load(SeqCst)
    }

    /// Counts an acquire of a wave, and returns its time. Every access recorded so far has an earlier time.
    pub(crate) fn acquire(&self) -> u32 {
        self.clock.fetch_add(1, SeqCst).saturating_add(1)
    }

    /// Returns access to the histories, one after the other.
    pub(crate) fn histories(&self) -> DwordHistories<'_> {
        DwordHistories { memory: self, shard: None }
    }
}

/// Access to the histories of global memory. It holds the lock of the page that was used last.
pub(crate) struct DwordHistories<'a> {
    memory: &'a GlobalHistory,
    shard: Option<(usize, MutexGuard<'a, Pages>)>,
}

impl DwordHistories<'_> {
    /// Returns the history of a dword. `dword` is its address divided by 4.
    pub(crate) fn get(&mut self, dword: u64) -> Option<&mut DwordHistory> {
        let page = dword / PAGE;
        let index = page as usize % SHARDS;
        if self.shard.as_ref().is_none_or(|(held, _)| *held != index) {
            // Holds one lock at a time, because another thread may take the locks in another order.
            self.shard = None;
            self.shard = Some((index, lock(self.memory.shards.get(index)?)));
        }
        let (_, pages) = self.shard.as_mut()?;
        let histories =
            pages.entry(page).or_insert_with(|| vec![DwordHistory::default(); PAGE as usize].into());
        histories.get_mut((dword % PAGE) as usize)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const CONTEXT: AccessContext = AccessContext { acquired: 0, stores_may_be_atomic: true };

    fn access(kind: Kind, group: u32, wave: u8, barrier: u32) -> RecordedAccess {
        RecordedAccess { group, inst: 0, time: 3, barrier, wave, lane: 0, bytes: 15, kind }
    }

    #[test]
    fn waves_barriers_and_acquires_order() {
        let later = |second: RecordedAccess, context| {
            let mut history = DwordHistory::default();
            assert_eq!(history.record(access(Kind::Write, 1, 0, 0), CONTEXT), None);
            history.record(second, context).is_some()
        };
        assert!(later(access(Kind::Read, 2, 0, 0), CONTEXT) && later(access(Kind::Write, 2, 0, 7), CONTEXT));
        assert!(!later(access(Kind::Read, 1, 0, 0), CONTEXT), "the same wave");
        assert!(
            later(access(Kind::Read, 1, 1, 0), CONTEXT) && !later(access(Kind::Read, 1, 1, 1), CONTEXT),
            "a barrier"
        );
        assert!(later(access(Kind::Read, 2, 0, 0), AccessContext { acquired: 3, ..CONTEXT }));
        assert!(!later(access(Kind::Read, 2, 0, 0), AccessContext { acquired: 4, ..CONTEXT }));
        assert!(!later(RecordedAccess { bytes: 0, ..access(Kind::Read, 2, 0, 0) }, CONTEXT));
        assert!(!later(access(Kind::Atomic, 2, 0, 0), CONTEXT));
        assert!(later(
            access(Kind::Atomic, 2, 0, 0),
            AccessContext { stores_may_be_atomic: false, ..CONTEXT }
        ));
    }

    #[test]
    fn compare_and_swap_loops_begin_with_a_plain_load() {
        let mut history = DwordHistory::default();
        assert_eq!(history.record(access(Kind::Read, 1, 0, 0), CONTEXT), None);
        assert_eq!(history.record(access(Kind::CompareSwap, 2, 0, 0), CONTEXT), None);
        assert_eq!(history.record(access(Kind::Read, 3, 0, 0), CONTEXT), None);
        // Other atomics and loads race, also when a compare-and-swap comes between.
        assert!(history.record(access(Kind::Atomic, 4, 0, 0), CONTEXT).is_some());
        assert_eq!(history.record(access(Kind::CompareSwap, 5, 0, 0), CONTEXT), None);
        assert!(history.record(access(Kind::Read, 6, 0, 0), CONTEXT).is_some_and(|m| m.group == 4));
    }

    #[test]
    fn a_write_races_with_any_of_many_reads() {
        let mut history = DwordHistory::default();
        for group in 0..10 {
            assert_eq!(history.record(access(Kind::Read, group, 0, 0), CONTEXT), None);
        }
        let race = history.record(access(Kind::Write, 9, 0, 0), CONTEXT);
        assert!(race.is_some_and(|m| m.group != 9 && m.kind == Kind::Read), "{race:?}");
    }

    #[test]
    fn histories_of_distant_dwords_are_separate() {
        let memory = GlobalHistory::new();
        let mut histories = memory.histories();
        for dword in [0, 255, 256, 256 * 64, 1 << 60] {
            let history = histories.get(dword).unwrap();
            assert_eq!(history.record(access(Kind::Write, 1, 0, 0), CONTEXT), None);
            assert!(histories.get(dword).unwrap().record(access(Kind::Write, 2, 0, 0), CONTEXT).is_some());
        }
    }
}
