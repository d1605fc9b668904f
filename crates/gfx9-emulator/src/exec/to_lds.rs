//! Loads from memory straight to LDS: the data of lane `n` becomes dword `n` after the address that M0 has.

use std::marker::PhantomData;

use crate::exec::access::{Dwords, Load, global_load, lds_store, scratch_load};
use crate::exec::address::{based, scratch_offsets, wide};
use crate::exec::inst::{Exec, ExecContext, Flow, Inst, NONE};
use crate::state::wave::{LANES, TEMP, Wave, sreg};

/// Where in LDS the data of lane 0 goes, for MUBUF (CDNA3 ISA, "Memory buffer load to LDS").
pub(crate) fn buffer_base(w: &Wave, i: &Inst) -> u32 {
    (w.s32(sreg::M0) & 0xffff).wrapping_add(i.imm)
}

/// As [`buffer_base`], for GLOBAL and SCRATCH (CDNA3 ISA, "Flat memory instructions", addressing).
pub(crate) fn flat_base(w: &Wave, i: &Inst) -> u32 {
    (w.s32(sreg::M0) & 0x3_fffc).wrapping_add(i.imm)
}

/// Does `load`, which puts each lane's dword into the register it is given, and stores them from `base` on.
#[inline(always)]
pub(crate) fn to_lds(
    w: &mut Wave,
    cx: &mut ExecContext,
    i: &Inst,
    base: u32,
    load: impl FnOnce(&mut Wave, &mut ExecContext, &Inst, u16) -> Flow,
) -> Flow {
    match load(w, cx, i, TEMP) {
        Flow::Next => {
            let at: [u32; LANES] = std::array::from_fn(|lane| base.wrapping_add(4 * lane as u32));
            lds_store::<Dwords<1>>(w, cx, TEMP, &at)
        }
        fault => fault,
    }
}

/// Loads from global memory. No assembler makes one that is wider than a dword; of such the first dword counts.
#[inline(never)]
pub(crate) fn global_to_lds<K: Load>(w: &mut Wave, cx: &mut ExecContext, i: &Inst) -> Flow {
    let base = flat_base(w, i);
    to_lds(w, cx, i, base, |w, cx, i, dst| {
        if i.sdst == NONE {
            let at = wide(w, i);
            global_load::<K, _>(w, cx, i.pc, dst, &at)
        } else {
            let at = based(w, i);
            global_load::<K, _>(w, cx, i.pc, dst, &at)
        }
    })
}

/// Loads from scratch.
#[inline(never)]
pub(crate) fn scratch_to_lds<K: Load>(w: &mut Wave, cx: &mut ExecContext, i: &Inst) -> Flow {
    let base = flat_base(w, i);
    to_lds(w, cx, i, base, |w, cx, i, dst| {
        let at = scratch_offsets(w, i);
        scratch_load::<K>(w, cx, dst, &at)
    })
}

/// `global_load_lds_*` of gfx942; gfx90a has a bit of `global_load_*` for it.
pub(crate) struct GlobalLoadLds<K>(PhantomData<K>);
impl<K: Load> Exec for GlobalLoadLds<K> {
    #[inline(always)]
    fn exec(w: &mut Wave, cx: &mut ExecContext, i: &Inst) -> Flow {
        global_to_lds::<K>(w, cx, i)
    }
}

/// `scratch_load_lds_*` of gfx942; gfx90a has a bit of `scratch_load_*` for it.
pub(crate) struct ScratchLoadLds<K>(PhantomData<K>);
impl<K: Load> Exec for ScratchLoadLds<K> {
    #[inline(always)]
    fn exec(w: &mut Wave, cx: &mut ExecContext, i: &Inst) -> Flow {
        scratch_to_lds::<K>(w, cx, i)
    }
}
