//! FLAT, GLOBAL and SCRATCH: loads, stores and atomics through 64-bit addresses, and in private memory.

use crate::exec::access::{Dwords, Load, Store, load_at, scratch_load, scratch_store, store_at};
use crate::exec::address::{based, by_lane, scratch_offsets, wide};
use crate::exec::inst::{NONE, executors, flag};
use crate::exec::to_lds::{global_to_lds, scratch_to_lds};

executors! {
    GlobalLoad<K: Load> |w, cx, i| {
        if i.flags & flag::LDS != 0 {
            return global_to_lds::<K>(w, cx, i);
        }
        if i.sdst == NONE {
            let at = wide(w, i);
            load_at::<K, _>(w, cx, i.pc, i.dst, &at, false)
        } else {
            let at = based(w, i);
            load_at::<K, _>(w, cx, i.pc, i.dst, &at, false)
        }
    }
    GlobalStore<K: Store> |w, cx, i| {
        if i.sdst == NONE {
            let at = wide(w, i);
            store_at::<K, _>(w, cx, i.pc, i.src[1], &at, false)
        } else {
            let at = based(w, i);
            store_at::<K, _>(w, cx, i.pc, i.src[1], &at, false)
        }
    }
    /// `global_load_addtid_b32`: the lane's number is in the place of a vector address.
    GlobalLoadAddtid |w, cx, i| {
        let at = by_lane(w, i);
        load_at::<Dwords<1>, _>(w, cx, i.pc, i.dst, &at, false)
    }
    /// `global_store_addtid_b32`.
    GlobalStoreAddtid |w, cx, i| {
        let at = by_lane(w, i);
        store_at::<Dwords<1>, _>(w, cx, i.pc, i.src[1], &at, false)
    }
    FlatLoad<K: Load> |w, cx, i| {
        let at = wide(w, i);
        load_at::<K, _>(w, cx, i.pc, i.dst, &at, true)
    }
    FlatStore<K: Store> |w, cx, i| {
        let at = wide(w, i);
        store_at::<K, _>(w, cx, i.pc, i.src[1], &at, true)
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
