//! FLAT, GLOBAL and SCRATCH: loads, stores and atomics through 64-bit addresses, and in private memory.

use crate::exec::access::{
    Load, Store, flat_load, flat_store, global_load, global_store, scratch_load, scratch_store,
};
use crate::exec::address::{based, scratch_offsets, wide};
use crate::exec::inst::{NONE, executors, flag};
use crate::exec::to_lds::{global_to_lds, scratch_to_lds};

executors! {
    GlobalLoad<K: Load> |w, cx, i| {
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
    GlobalStore<K: Store> |w, cx, i| {
        if i.sdst == NONE {
            let at = wide(w, i);
            global_store::<K, _>(w, cx, i.pc, i.src[1], &at)
        } else {
            let at = based(w, i);
            global_store::<K, _>(w, cx, i.pc, i.src[1], &at)
        }
    }
    FlatLoad<K: Load> |w, cx, i| {
        let at = wide(w, i);
        flat_load::<K, _>(w, cx, i.pc, i.dst, &at)
    }
    FlatStore<K: Store> |w, cx, i| {
        let at = wide(w, i);
        flat_store::<K, _>(w, cx, i.pc, i.src[1], &at)
    }
    ScratchLoad<K: Load> |w, cx, i| {
        if i.flags & flag::LDS != 0 {
            return scratch_to_lds::<K>(w, cx, i);
        }
        let at = scratch_offsets(w, i);
        scratch_load::<K>(w, cx, i.dst, &at)
    }
    ScratchStore<K: Store> |w, cx, i| {
        let at = scratch_offsets(w, i);
        scratch_store::<K>(w, cx, i.src[1], &at)
    }
}
