//! Data races: the rules by which a later access to a dword is ordered after an earlier one, and [`history`](super::history) the
//! earlier ones.
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
#[derive(Debug, Clone, Copy, Eq)]
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

/// The state of the wave that makes an access, and of the memory that it accesses.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct AccessContext {
    /// The time of the wave's last acquire, its own or one of a wave that it met at a barrier.
    pub(crate) acquired: u32,
    /// Whether a store to this memory may be atomic although it looks plain.
    pub(crate) stores_may_be_atomic: bool,
}

/// Compares all fields together, because they are compared for each dword and mostly equal.
impl PartialEq for RecordedAccess {
    #[inline]
    fn eq(&self, other: &RecordedAccess) -> bool {
        let RecordedAccess { group, inst, time, barrier, wave, lane, bytes, kind } = *self;
        let differ = group ^ other.group | inst ^ other.inst | time ^ other.time | barrier ^ other.barrier;
        let small =
            wave ^ other.wave | lane ^ other.lane | bytes ^ other.bytes | kind as u8 ^ other.kind as u8;
        differ | u32::from(small) == 0
    }
}

impl RecordedAccess {
    pub(super) fn same_wave(&self, other: &RecordedAccess) -> bool {
        self.group == other.group && self.wave == other.wave
    }

    /// Returns whether `self` is ordered after `earlier`.
    pub(super) fn is_after(&self, earlier: &RecordedAccess, context: AccessContext) -> bool {
        self.same_wave(earlier)
            || self.group == earlier.group && self.barrier > earlier.barrier
            || context.acquired > earlier.time
    }

    /// Returns whether the two conflict if they have bytes in common.
    pub(super) fn conflicts(&self, earlier: &RecordedAccess, context: AccessContext) -> bool {
        match (self.kind, earlier.kind) {
            (Kind::Read, Kind::Read) => false,
            (Kind::Read, Kind::CompareSwap) | (Kind::CompareSwap, Kind::Read) => false,
            (a, b) if a.is_atomic() && b.is_atomic() => false,
            (Kind::Write, other) | (other, Kind::Write) if other.is_rmw() => !context.stores_may_be_atomic,
            _ => true,
        }
    }
}
