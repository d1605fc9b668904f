//! DS instructions that move data between lanes, or that have one address for the wave: permute, swizzle, addtid,
//! append.

use crate::exec::access::{Dwords, lds_fault, lds_load, lds_store};
use crate::exec::inst::{Flow, Inst, executors};
use crate::exec::notices::Who;
use crate::report::access::AccessKind;
use crate::state::wave::{LANES, Wave, lanes_of, sreg};

/// Writes each active lane's value to the destination.
#[inline(always)]
fn put(w: &mut Wave, i: &Inst, values: &[u32; LANES]) -> Flow {
    let exec = w.exec();
    if exec == !0 {
        *w.v_mut(i.dst).flat_mut() = *values;
        return Flow::Next;
    }
    w.refresh_mask(exec);
    let mask = *w.mask.flat();
    let d = w.v_mut(i.dst).flat_mut();
    for lane in 0..LANES {
        d[lane] = values[lane] & mask[lane] | d[lane] & !mask[lane];
    }
    Flow::Next
}

/// Returns the data of active lanes, and 0 for inactive ones.
#[inline(always)]
fn active_data(w: &mut Wave, register: u16) -> [u32; LANES] {
    let exec = w.exec();
    let mut data = *w.v(register).flat();
    if exec != !0 {
        w.refresh_mask(exec);
        for lane in 0..LANES {
            data[lane] &= w.mask.flat()[lane];
        }
    }
    data
}

executors! {
    /// `ds_bpermute_b32`: each lane reads the data of the lane that its address selects.
    Bpermute |w, _, i| {
        let data = active_data(w, i.src[1]);
        let at = w.v(i.src[0]).flat();
        let mut out = [0; LANES];
        for lane in 0..LANES {
            out[lane] = data[(at[lane].wrapping_add(i.imm) / 4) as usize % LANES];
        }
        put(w, i, &out)
    }
    /// `ds_permute_b32`: each lane writes its data to the lane that its address selects. If several select one lane, the
    /// last of them wins.
    Permute |w, _, i| {
        let (at, data) = (w.v(i.src[0]).flat(), w.v(i.src[1]).flat());
        let mut out = [0; LANES];
        for lane in lanes_of(w.exec()) {
            out[(at[lane].wrapping_add(i.imm) / 4) as usize % LANES] = data[lane];
        }
        put(w, i, &out)
    }
}

/// Returns the lane from which `lane` reads in `ds_swizzle_b32` (CDNA3 ISA, `DS_SWIZZLE_B32`).
fn swizzled(offset: u32, lane: u32) -> u32 {
    let (half, i) = (lane & 32, lane & 31);
    let field = |at: u32| offset >> at & 31;
    match offset {
        // FFT: the lane's number reversed, except for the bits of the mask.
        0xe000.. => {
            let mask = field(0);
            let reversed = i.reverse_bits() >> 27;
            half | reversed >> mask.count_ones() | i & mask
        }
        // Rotation within each group of lanes whose numbers have equal masked bits.
        0xc000.. => {
            let mask = field(0);
            let rotate = if offset >> 10 & 1 != 0 { field(5).wrapping_neg() } else { field(5) };
            half | i & mask | i.wrapping_add(rotate) & 31 & !mask
        }
        // Any permutation of each four lanes.
        0x8000.. => lane & !3 | offset >> (2 * (lane & 3)) & 3,
        _ => half | (i & field(0) | field(5)) ^ field(10),
    }
}

executors! {
    /// `ds_swizzle_b32`.
    Swizzle |w, _, i| {
        let data = active_data(w, i.src[0]);
        let out = std::array::from_fn(|lane| data[swizzled(i.imm, lane as u32) as usize % LANES]);
        put(w, i, &out)
    }
}

/// Returns the addresses of the addtid instructions: M0, plus the offset, plus 4 bytes times the lane's number.
pub(crate) fn by_lane(w: &Wave, i: &Inst) -> [u32; LANES] {
    let base = (w.s32(sreg::M0) & 0xffff) + i.imm;
    std::array::from_fn(|lane| base + 4 * lane as u32)
}

executors! {
    /// `ds_read_addtid_b32`.
    ReadAddtid |w, cx, i| {
        let at = by_lane(w, i);
        lds_load::<Dwords<1>>(w, cx, i.pc, i.dst, &at)
    }
    /// `ds_write_addtid_b32`.
    WriteAddtid |w, cx, i| {
        let at = by_lane(w, i);
        lds_store::<Dwords<1>>(w, cx, i.pc, i.src[1], &at)
    }
}

/// Returns the address of the counter of `ds_append` and `ds_consume`. LLVM passes the pointer in M0
/// (`llvm.amdgcn.ds.append`).
#[inline(always)]
pub(crate) fn count_address(w: &Wave, i: &Inst) -> u32 {
    (w.s32(sreg::M0) & 0xffff) + i.imm
}

executors! {
    /// `ds_append` and `ds_consume`: adds or subtracts the number of active lanes, once. The result of all lanes is the
    /// previous value.
    Count<const ADD: bool> |w, cx, i| {
        let at = count_address(w, i);
        let (exec, count) = (w.exec(), w.exec().count_ones());
        let Some(old) = cx.lds.load_u32(at) else {
            // The lanes access one counter together.
            let who = Who { pc: i.pc, wave: w.id, lane: None };
            if cx.past_lds(who, AccessKind::Atomic, at, 4) {
                return put(w, i, &[0; LANES]);
            }
            return lds_fault(cx, AccessKind::Atomic, &[at; LANES], exec | u64::from(exec == 0), 4);
        };
        let new = if ADD { old.wrapping_add(count) } else { old.wrapping_sub(count) };
        let _ = cx.lds.store_u32(at, new);
        put(w, i, &[old; LANES])
    }
}
