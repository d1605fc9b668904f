//! Addresses of FLAT, GLOBAL and SCRATCH instructions.

use crate::exec::inst::{Inst, NONE, flag};
use crate::memory::{Based, Wide};
use crate::state::wave::{Aligned, LANES, Wave};

/// The signed offset of GLOBAL and SCRATCH, or the unsigned one of FLAT.
#[inline(always)]
fn offset(i: &Inst) -> u64 {
    i64::from(i.imm as i32) as u64
}

/// Addresses in pairs of VGPRs.
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

/// A base in SGPRs and unsigned offsets in a VGPR.
#[inline(always)]
pub(crate) fn based(w: &Wave, i: &Inst) -> Based {
    Based { base: w.s64(i.sdst).wrapping_add(offset(i)), offsets: *w.v(i.src[0]).flat() }
}

/// Each lane's offset in its scratch. What `FLAT_SCRATCH` holds is where scratch is, of which each wave has its own.
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
