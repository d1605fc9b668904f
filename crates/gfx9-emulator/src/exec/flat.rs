//! FLAT, GLOBAL and SCRATCH: loads, stores and atomics through 64-bit addresses, and in private memory.

use std::marker::PhantomData;

use crate::exec::access::{
    Load, Store, flat_load, flat_store, global_load, global_store, scratch_load, scratch_store,
};
use crate::exec::address::{based, scratch_offsets, wide};
use crate::exec::inst::{Exec, ExecContext, Flow, Inst, NONE, flag};
use crate::exec::to_lds::{global_to_lds, scratch_to_lds};
use crate::state::wave::Wave;

pub(crate) struct GlobalLoad<K>(PhantomData<K>);
impl<K: Load> Exec for GlobalLoad<K> {
    #[inline(always)]
    fn exec(w: &mut Wave, cx: &mut ExecContext, i: &Inst) -> Flow {
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
    fn exec(w: &mut Wave, cx: &mut ExecContext, i: &Inst) -> Flow {
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
    fn exec(w: &mut Wave, cx: &mut ExecContext, i: &Inst) -> Flow {
        let at = wide(w, i);
        flat_load::<K, _>(w, cx, i.pc, i.dst, &at)
    }
}

pub(crate) struct FlatStore<K>(PhantomData<K>);
impl<K: Store> Exec for FlatStore<K> {
    #[inline(always)]
    fn exec(w: &mut Wave, cx: &mut ExecContext, i: &Inst) -> Flow {
        let at = wide(w, i);
        flat_store::<K, _>(w, cx, i.pc, i.src[1], &at)
    }
}

pub(crate) struct ScratchLoad<K>(PhantomData<K>);
impl<K: Load> Exec for ScratchLoad<K> {
    #[inline(always)]
    fn exec(w: &mut Wave, cx: &mut ExecContext, i: &Inst) -> Flow {
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
    fn exec(w: &mut Wave, cx: &mut ExecContext, i: &Inst) -> Flow {
        let at = scratch_offsets(w, i);
        scratch_store::<K>(w, cx, i.src[1], &at)
    }
}
