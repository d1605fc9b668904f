//! Loads from memory to LDS. The data of lane `n` is stored as dword `n` after the address in M0.

use std::marker::PhantomData;

use crate::exec::access::{Dwords, Load, global_load, lds_store, scratch_load};
use crate::exec::address::{based, scratch_offsets, wide};
use crate::exec::inst::{Exec, ExecContext, Flow, Inst, NONE};
use crate::state::wave::{LANES, TEMP, Wave, sreg};

/// Returns the address in LDS of lane 0's data, for MUBUF (CDNA3 ISA, "Memory buffer load to LDS").
pub(crate) fn buffer_base(w: &Wave, i: &Inst) -> u32 {
    (w.s32(sreg::M0) & 0xffff).wrapping_add(i.imm)
}

/// Returns the address in LDS of lane 0's data, for GLOBAL and SCRATCH (CDNA3 ISA, "Flat memory instructions",
/// addressing).
pub(crate) fn flat_base(w: &Wave, i: &Inst) -> u32 {
    (w.s32(sreg::M0) & 0x3_fffc).wrapping_add(i.imm)
}

/// Calls `load`, which writes each lane's dword to the register that it is given, then stores these dwords in LDS from
/// `base` on.
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
            lds_store::<Dwords<1>>(w, cx, i.pc, TEMP, &at)
        }
        fault => fault,
    }
}

/// Loads from global memory. No assembler encodes such a load of more than a dword; if there is one, its first dword is
/// stored.
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

/// Loads from private memory.
#[inline(never)]
pub(crate) fn scratch_to_lds<K: Load>(w: &mut Wave, cx: &mut ExecContext, i: &Inst) -> Flow {
    let base = flat_base(w, i);
    to_lds(w, cx, i, base, |w, cx, i, dst| {
        let at = scratch_offsets(w, i);
        scratch_load::<K>(w, cx, dst, &at)
    })
}

/// `global_load_lds_*` of gfx942; on gfx90a it is a bit of `global_load_*`.
pub(crate) struct GlobalLoadLds<K>(PhantomData<K>);
impl<K: Load> Exec for GlobalLoadLds<K> {
    #[inline(always)]
    fn exec(w: &mut Wave, cx: &mut ExecContext, i: &Inst) -> Flow {
        global_to_lds::<K>(w, cx, i)
    }
}

/// `scratch_load_lds_*` of gfx942; on gfx90a it is a bit of `scratch_load_*`.
pub(crate) struct ScratchLoadLds<K>(PhantomData<K>);
impl<K: Load> Exec for ScratchLoadLds<K> {
    #[inline(always)]
    fn exec(w: &mut Wave, cx: &mut ExecContext, i: &Inst) -> Flow {
        scratch_to_lds::<K>(w, cx, i)
    }
}
