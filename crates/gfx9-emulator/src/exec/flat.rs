//! FLAT, GLOBAL and SCRATCH: loads, stores and atomics through 64-bit addresses, and of scratch.

use std::marker::PhantomData;

use crate::exec::access::{
    Load, Store, flat_load, flat_store, global_load, global_store, scratch_load, scratch_store,
};
use crate::exec::to_lds::{global_to_lds, scratch_to_lds};
use crate::inst::{Flow, Inst, NONE, flag};
use crate::isa::Exec;
use crate::memory::{Based, Wide};
use crate::wave::{Aligned, LANES, Wave};
use crate::workgroup::Ctx;

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

pub(crate) struct GlobalLoad<K>(PhantomData<K>);
impl<K: Load> Exec for GlobalLoad<K> {
    #[inline(always)]
    fn exec(w: &mut Wave, cx: &mut Ctx, i: &Inst) -> Flow {
        if i.flags & flag::LDS != 0 {
            return global_to_lds::<K>(w, cx, i);
        }
        if i.sdst == NONE {
            let at = wide(w, i);
            global_load::<K, _>(w, cx, i.pc, i.dst, &at)
        } else {
            let at = based(w, i);
            global_load::<K, _>(w, cx, i.pc, i.dst, &at)
        }
    }
}

pub(crate) struct GlobalStore<K>(PhantomData<K>);
impl<K: Store> Exec for GlobalStore<K> {
    #[inline(always)]
    fn exec(w: &mut Wave, cx: &mut Ctx, i: &Inst) -> Flow {
        if i.sdst == NONE {
            let at = wide(w, i);
            global_store::<K, _>(w, cx, i.pc, i.src[1], &at)
        } else {
            let at = based(w, i);
            global_store::<K, _>(w, cx, i.pc, i.src[1], &at)
        }
    }
}

pub(crate) struct FlatLoad<K>(PhantomData<K>);
impl<K: Load> Exec for FlatLoad<K> {
    #[inline(always)]
    fn exec(w: &mut Wave, cx: &mut Ctx, i: &Inst) -> Flow {
        let at = wide(w, i);
        flat_load::<K, _>(w, cx, i.pc, i.dst, &at)
    }
}

pub(crate) struct FlatStore<K>(PhantomData<K>);
impl<K: Store> Exec for FlatStore<K> {
    #[inline(always)]
    fn exec(w: &mut Wave, cx: &mut Ctx, i: &Inst) -> Flow {
        let at = wide(w, i);
        flat_store::<K, _>(w, cx, i.pc, i.src[1], &at)
    }
}

pub(crate) struct ScratchLoad<K>(PhantomData<K>);
impl<K: Load> Exec for ScratchLoad<K> {
    #[inline(always)]
    fn exec(w: &mut Wave, cx: &mut Ctx, i: &Inst) -> Flow {
        if i.flags & flag::LDS != 0 {
            return scratch_to_lds::<K>(w, cx, i);
        }
        let at = scratch_offsets(w, i);
        scratch_load::<K>(w, cx, i.dst, &at)
    }
}

pub(crate) struct ScratchStore<K>(PhantomData<K>);
impl<K: Store> Exec for ScratchStore<K> {
    #[inline(always)]
    fn exec(w: &mut Wave, cx: &mut Ctx, i: &Inst) -> Flow {
        let at = scratch_offsets(w, i);
        scratch_store::<K>(w, cx, i.src[1], &at)
    }
}
