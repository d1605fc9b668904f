//! Addresses of FLAT, GLOBAL and SCRATCH instructions.

use crate::exec::inst::{Inst, NONE, flag};
use crate::memory::{Addresses, Based, Wide, offsets_are_run, opaque};
use crate::state::wave::{Aligned, LANES, Wave};

/// Returns the instruction's offset in bytes: signed for GLOBAL and SCRATCH, unsigned for FLAT.
#[inline(always)]
fn offset(i: &Inst) -> u64 {
    i64::from(i.imm as i32) as u64
}

/// Where an instruction has its lanes' addresses. They are computed only where one lane's bytes do not follow those of the lane before:
/// it takes several times as many of the host's instructions as to find out that they do.
pub(crate) trait Places {
    type All: Addresses;

    /// Returns the address of lane 0 if the `size` bytes of each of 64 lanes follow those of the lane before. It may miss that.
    fn run(&self, w: &Wave, size: u32) -> Option<u64>;

    /// Returns all addresses.
    fn all(self, w: &Wave) -> Self::All;
}

/// The addresses in a pair of VGPRs, plus the instruction's offset.
pub(crate) struct InPair<'a>(pub(crate) &'a Inst);

impl Places for InPair<'_> {
    type All = Wide;

    #[inline(always)]
    fn run(&self, w: &Wave, size: u32) -> Option<u64> {
        let (low, high) = (w.v(self.0.src[0]).flat(), w.v(self.0.src[0] + 1).flat());
        let (first, second) = (opaque(&low[0]), opaque(&high[0]));
        let follows = |lane: usize| low[lane] ^ first.wrapping_add(lane as u32 * size);
        // As in `offsets_are_run`, with the same high dword: both in one sum, which the compiler does not turn into comparisons.
        let is_run = follows(LANES - 1) == 0
            && low[LANES - 1] > first
            && (0..LANES).fold(0, |differ, lane| differ | follows(lane) | (high[lane] ^ second)) == 0;
        is_run.then(|| (u64::from(first) | u64::from(second) << 32).wrapping_add(offset(self.0)))
    }

    #[inline(always)]
    fn all(self, w: &Wave) -> Wide {
        let low = w.v(self.0.src[0]).flat();
        let high = w.v(self.0.src[0] + 1).flat();
        let offset = offset(self.0);
        let mut out = [0; LANES];
        for l in 0..LANES {
            out[l] = (u64::from(low[l]) | u64::from(high[l]) << 32).wrapping_add(offset);
        }
        Wide(out)
    }
}

/// The base in a pair of SGPRs, plus the instruction's offset, and the unsigned offsets in a VGPR.
pub(crate) struct Offsets<'a>(pub(crate) &'a Inst);

impl Offsets<'_> {
    #[inline(always)]
    fn base(&self, w: &Wave) -> u64 {
        w.s64(self.0.sdst).wrapping_add(offset(self.0))
    }
}

impl Places for Offsets<'_> {
    type All = Based;

    #[inline(always)]
    fn run(&self, w: &Wave, size: u32) -> Option<u64> {
        let offsets = w.v(self.0.src[0]).flat();
        offsets_are_run(offsets, size).then(|| self.base(w).wrapping_add(offsets[0].into()))
    }

    #[inline(always)]
    fn all(self, w: &Wave) -> Based {
        Based { base: self.base(w), offsets: *w.v(self.0.src[0]).flat() }
    }
}

/// The base in a pair of SGPRs, which may be missing, plus the instruction's offset, and 4 bytes times the lane's number
/// (RDNA3 ISA, 11.2, "GT").
pub(crate) struct ByLane<'a>(pub(crate) &'a Inst);

impl ByLane<'_> {
    #[inline(always)]
    fn base(&self, w: &Wave) -> u64 {
        let base = if self.0.sdst == NONE { 0 } else { w.s64(self.0.sdst) };
        base.wrapping_add(offset(self.0))
    }
}

impl Places for ByLane<'_> {
    type All = Based;

    #[inline(always)]
    fn run(&self, w: &Wave, size: u32) -> Option<u64> {
        (size == 4).then(|| self.base(w))
    }

    #[inline(always)]
    fn all(self, w: &Wave) -> Based {
        Based { base: self.base(w), offsets: std::array::from_fn(|lane| 4 * lane as u32) }
    }
}

/// Addresses that were computed before.
impl<'a> Places for &'a Wide {
    type All = &'a Wide;

    #[inline(always)]
    fn run(&self, _: &Wave, size: u32) -> Option<u64> {
        self.is_run(size).then(|| self.0[0])
    }

    #[inline(always)]
    fn all(self, _: &Wave) -> &'a Wide {
        self
    }
}

/// Returns each lane's byte offset in its private memory. The value of `FLAT_SCRATCH` does not matter: each wave has a
/// private memory of its own.
#[inline(always)]
pub(crate) fn scratch_offsets(w: &Wave, i: &Inst) -> Aligned<[u32; LANES]> {
    let saddr = if i.sdst == NONE { 0 } else { w.s32(i.sdst) };
    let base = saddr.wrapping_add(i.imm);
    let mut out = Aligned([base; LANES]);
    if i.flags & flag::VADDR != 0 {
        let v = w.v(i.src[0]).flat();
        for l in 0..LANES {
            out.0[l] = base.wrapping_add(v[l]);
        }
    }
    out
}
