//! Loads from memory to LDS. The data of lane `n` is stored as dword `n` after the address in M0; on gfx950, data of 3 or
//! 4 dwords as dwords `4 * n` and following (CDNA4 ISA, 9.1.9, "Memory Buffer Load to LDS").

use crate::exec::access::{Dwords, Load, lds_store, scratch_load};
use crate::exec::address::scratch_offsets;
use crate::exec::flat::load_global;
use crate::exec::inst::{ExecContext, Flow, Inst, executors, flag};
use crate::state::bytes::Bytes;
use crate::state::wave::{LANES, TEMP, Wave, sreg};

/// Returns the address in LDS of lane 0's data, for MUBUF (CDNA3 ISA, "Memory buffer load to LDS").
pub(crate) fn buffer_base(w: &Wave, i: &Inst) -> u32 {
    let bits = if i.flags & flag::WIDE_M0 != 0 { 18 } else { 16 };
    (w.s32(sreg::M0) & ((1 << bits) - 1)).wrapping_add(i.imm)
}

/// Returns the address in LDS of lane 0's data, for GLOBAL and SCRATCH (CDNA3 ISA, "Flat memory instructions",
/// addressing).
pub(crate) fn flat_base(w: &Wave, i: &Inst) -> u32 {
    (w.s32(sreg::M0) & 0x3_fffc).wrapping_add(i.imm)
}

/// Returns the number of bytes from the data of a lane to that of the next one. Each lane has loaded `size` bytes.
pub(crate) fn distance(size: u32) -> u32 {
    if size > 8 { 16 } else { 4 }
}

/// Returns the number of bytes that each lane stores in LDS after it has loaded `size` bytes.
pub(crate) fn stored(size: u32) -> u32 {
    if size > 8 { size } else { 4 }
}

/// Calls `load`, which writes each lane's `size` bytes to the registers that it is given, at least a dword, then stores
/// these in LDS from `base` on.
#[inline(always)]
pub(crate) fn to_lds(
    w: &mut Wave,
    cx: &mut ExecContext,
    i: &Inst,
    base: u32,
    size: usize,
    load: impl FnOnce(&mut Wave, &mut ExecContext, &Inst, u16) -> Flow,
) -> Flow {
    match load(w, cx, i, TEMP) {
        Flow::Next => {
            let at: [u32; LANES] =
                std::array::from_fn(|lane| base.wrapping_add(lane as u32 * distance(size as u32)));
            match size {
                12 => lds_store::<Dwords<3>>(w, cx, i.pc, TEMP, &at),
                16 => lds_store::<Dwords<4>>(w, cx, i.pc, TEMP, &at),
                _ => lds_store::<Dwords<1>>(w, cx, i.pc, TEMP, &at),
            }
        }
        fault => fault,
    }
}

/// Loads from global memory. No assembler encodes such a load of two dwords; if there is one, its first dword is stored.
#[inline(never)]
pub(crate) fn global_to_lds<K: Load>(w: &mut Wave, cx: &mut ExecContext, i: &Inst) -> Flow {
    let base = flat_base(w, i);
    to_lds(w, cx, i, base, K::E::SIZE, load_global::<K>)
}

/// Loads from private memory.
#[inline(never)]
pub(crate) fn scratch_to_lds<K: Load>(w: &mut Wave, cx: &mut ExecContext, i: &Inst) -> Flow {
    let base = flat_base(w, i);
    to_lds(w, cx, i, base, K::E::SIZE, |w, cx, i, dst| {
        let at = scratch_offsets(w, i);
        scratch_load::<K>(w, cx, dst, &at)
    })
}

executors! {
    /// `global_load_lds_*` since gfx942; on gfx90a it is a bit of `global_load_*`.
    GlobalLoadLds<K: Load> |w, cx, i| {
        global_to_lds::<K>(w, cx, i)
    }
    /// `scratch_load_lds_*` since gfx942; on gfx90a it is a bit of `scratch_load_*`.
    ScratchLoadLds<K: Load> |w, cx, i| {
        scratch_to_lds::<K>(w, cx, i)
    }
}
