//! Addresses of FLAT, GLOBAL and SCRATCH instructions.

use crate::exec::inst::{Inst, NONE, flag};
use crate::memory::{Based, Wide};
use crate::state::wave::{Aligned, LANES, Wave};

/// Returns the instruction's offset in bytes: signed for GLOBAL and SCRATCH, unsigned for FLAT.
#[inline(always)]
fn offset(i: &Inst) -> u64 {
    i64::from(i.imm as i32) as u64
}

/// Returns the addresses in a pair of VGPRs, plus the instruction's offset.
#[inline(always)]
pub(crate) fn wide(w: &Wave, i: &Inst) -> Wide {
    let lo = w.v(i.src[0]).flat();
    let hi = w.v(i.src[0] + 1).flat();
    let offset = offset(i);
    let mut out = [0; LANES];
    for l in 0..LANES {
        out[l] = (u64::from(lo[l]) | u64::from(hi[l]) << 32).wrapping_add(offset);
    }
    Wide(out)
}

/// Returns the base in a pair of SGPRs, plus the instruction's offset, and the unsigned offsets in a VGPR.
#[inline(always)]
pub(crate) fn based(w: &Wave, i: &Inst) -> Based {
    Based { base: w.s64(i.sdst).wrapping_add(offset(i)), offsets: *w.v(i.src[0]).flat() }
}

/// Returns the base in a pair of SGPRs, which may be missing, plus the instruction's offset, and 4 bytes times the lane's number
/// (RDNA3 ISA, 11.2, "GT").
#[inline(always)]
pub(crate) fn by_lane(w: &Wave, i: &Inst) -> Based {
    let base = if i.sdst == NONE { 0 } else { w.s64(i.sdst) };
    Based { base: base.wrapping_add(offset(i)), offsets: std::array::from_fn(|lane| 4 * lane as u32) }
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
