//! FLAT, GLOBAL and SCRATCH: loads, stores and atomics through 64-bit addresses, and in private memory.

use crate::exec::access::{Dwords, Load, Store, load_at, scratch_load, scratch_store, store_at};
use crate::exec::address::{ByLane, InPair, Offsets, scratch_offsets};
use crate::exec::inst::{ExecContext, Flow, Inst, NONE, executors, flag};
use crate::exec::to_lds::{global_to_lds, scratch_to_lds};
use crate::report::fault::FaultCause;
use crate::state::wave::{Lanes, TEMP, Wave, lanes_of};

/// Loads from the addresses of GLOBAL into registers from `dst` on.
#[inline(always)]
pub(crate) fn load_global<K: Load>(w: &mut Wave, cx: &mut ExecContext, i: &Inst, dst: u16) -> Flow {
    if i.sdst == NONE {
        load_at::<K, _>(w, cx, i.pc, dst, InPair(i), false)
    } else {
        load_at::<K, _>(w, cx, i.pc, dst, Offsets(i), false)
    }
}

executors! {
    GlobalLoad<K: Load> |w, cx, i| {
        if i.flags & flag::LDS != 0 {
            return global_to_lds::<K>(w, cx, i);
        }
        load_global::<K>(w, cx, i, i.dst)
    }
    GlobalStore<K: Store> |w, cx, i| {
        if i.sdst == NONE {
            store_at::<K, _>(w, cx, i.pc, i.src[1], InPair(i), false)
        } else {
            store_at::<K, _>(w, cx, i.pc, i.src[1], Offsets(i), false)
        }
    }
    /// `global_load_addtid_b32`: the lane's number is in the place of a vector address.
    GlobalLoadAddtid |w, cx, i| {
        load_at::<Dwords<1>, _>(w, cx, i.pc, i.dst, ByLane(i), false)
    }
    /// `global_store_addtid_b32`.
    GlobalStoreAddtid |w, cx, i| {
        store_at::<Dwords<1>, _>(w, cx, i.pc, i.src[1], ByLane(i), false)
    }
    /// `global_load_tr_b64` and `global_load_tr_b128` of gfx12: loads `DWORDS` dwords at each lane's address, and transposes the elements
    /// of `BITS` bits, so that each lane has elements of a column (RDNA4 ISA, "WMMA Matrix Load Ops with Transpose").
    ///
    /// No document says which. Others measured it on a gfx1201: of 16 bits, within each eight lanes, lane `n` gets element `n` of each lane
    /// (github.com/gstoner/tessera); of 8 bits, each four lanes give one element each to eight lanes (github.com/kmbandy/llama.cpp,
    /// `trfeed_common.h`, and AMD's emulator, `ds_transpose.h`). EXEC has to be full; the elements of other lanes are 0 here. What waves
    /// of 64 do isn't known.
    GlobalLoadTransposed<const BITS: usize, const DWORDS: usize> |w, cx, i| {
        if w.has_64_lanes() {
            return cx.fault(FaultCause::Unimplemented { detail: "transposing loads in waves of 64".into() });
        }
        for n in 0..DWORDS as u16 {
            *w.v_mut(TEMP + n) = Lanes::ZERO;
        }
        match load_global::<Dwords<DWORDS>>(w, cx, i, TEMP) {
            Flow::Next => {}
            fault => return fault,
        }
        for lane in lanes_of(w.exec()) {
            let mut out = [0u32; DWORDS];
            for n in 0..8 {
                let from = match BITS {
                    16 => lane / 8 * 8 + n,
                    _ => lane / 16 * 16 + n / 4 * 8 + lane / 8 % 2 * 4 + n % 4,
                };
                let (from_bit, to_bit) = (lane % 8 * BITS, n * BITS);
                let dword = w.v(TEMP + (from_bit / 32) as u16).flat()[from];
                let element = dword >> (from_bit % 32) & ((1 << BITS) - 1);
                out[to_bit / 32] |= element << (to_bit % 32);
            }
            for (n, dword) in out.into_iter().enumerate() {
                w.v_mut(i.dst.wrapping_add(n as u16)).flat_mut()[lane] = dword;
            }
        }
        Flow::Next
    }
    FlatLoad<K: Load> |w, cx, i| {
        load_at::<K, _>(w, cx, i.pc, i.dst, InPair(i), true)
    }
    FlatStore<K: Store> |w, cx, i| {
        store_at::<K, _>(w, cx, i.pc, i.src[1], InPair(i), true)
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
