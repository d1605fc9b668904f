//! Moves of gfx11 between lanes, between halves of registers, and between registers that M0 selects.

use crate::exec::inst::{Exec, ExecContext, Flow, Inst, executors};
use crate::exec::lanes::{active_chunks, is_scalar, load, splat, store};
use crate::exec::vop3::{BOUND_CONTROL, FETCH_INACTIVE};
use crate::state::wave::{AGPR, CHUNK, LANES, Lanes, Wave, lanes_of, sreg};

/// The number of lanes of a row.
const ROW: usize = 16;

/// `v_permlane16_b32` and, with `OTHER`, `v_permlanex16_b32`: each lane reads a lane of its row, or of the other row of its 32 lanes.
/// The second and third source have four bits for each lane of a row (RDNA3 ISA, `V_PERMLANE16_B32`).
///
/// [`Inst::imm`] is op_sel, whose bits say what is read of inactive lanes: their value with [`FETCH_INACTIVE`], 0 with
/// [`BOUND_CONTROL`]. Otherwise the lane that would read one keeps its value (LLVM, `llvm.amdgcn.permlane16`).
pub(crate) struct Permlane<const OTHER: bool>;

impl<const OTHER: bool> Exec for Permlane<OTHER> {
    #[inline(always)]
    fn exec(w: &mut Wave, _: &mut ExecContext, i: &Inst) -> Flow {
        let exec = w.exec();
        let source = any_lanes(w, i, 0);
        let select = [1, 2].map(|n| any_lanes(w, i, n).flat()[0]);
        for lane in lanes_of(exec) {
            let column = lane % ROW;
            let within = (select[column / 8] >> (4 * (column % 8)) & 15) as usize;
            let row = if OTHER { lane / ROW ^ 1 } else { lane / ROW };
            let from = ROW * row + within;
            let value = match exec >> from & 1 != 0 {
                active if active || i.imm & FETCH_INACTIVE != 0 => source.flat()[from],
                _ if i.imm & BOUND_CONTROL != 0 => 0,
                _ => continue,
            };
            w.v_mut(i.dst).flat_mut()[lane] = value;
        }
        Flow::Next
    }
}

/// `v_permlane16_var_b32` and, with `OTHER`, `v_permlanex16_var_b32` of gfx12: as [`Permlane`], but each lane's second source has the
/// number, in its row, of the lane that it reads (RDNA4 ISA, `V_PERMLANE16_VAR_B32`).
pub(crate) struct PermlaneVar<const OTHER: bool>;

impl<const OTHER: bool> Exec for PermlaneVar<OTHER> {
    #[inline(always)]
    fn exec(w: &mut Wave, _: &mut ExecContext, i: &Inst) -> Flow {
        let exec = w.exec();
        let (source, select) = (any_lanes(w, i, 0), any_lanes(w, i, 1));
        for lane in lanes_of(exec) {
            let row = if OTHER { lane / ROW ^ 1 } else { lane / ROW };
            let from = ROW * row + (select.flat()[lane] & 15) as usize;
            let value = match exec >> from & 1 != 0 {
                active if active || i.imm & FETCH_INACTIVE != 0 => source.flat()[from],
                _ if i.imm & BOUND_CONTROL != 0 => 0,
                _ => continue,
            };
            w.v_mut(i.dst).flat_mut()[lane] = value;
        }
        Flow::Next
    }
}

/// Returns all lanes of source `n`.
#[inline(always)]
fn any_lanes(w: &Wave, i: &Inst, n: usize) -> Lanes {
    if is_scalar(i, n as u32) { splat(w.s32(i.src[n])) } else { *w.v(i.src[n]) }
}

executors! {
    /// `v_permlane64_b32`: each lane reads the one that is 32 lanes above or below it, active or not. In a wave of 32 it does nothing
    /// (RDNA3 ISA, `V_PERMLANE64_B32`).
    Permlane64 |w, _, i| {
        if !w.has_64_lanes() {
            return Flow::Next;
        }
        let source = any_lanes(w, i, 0);
        for lane in lanes_of(w.exec()) {
            w.v_mut(i.dst).flat_mut()[lane] = source.flat()[lane ^ (LANES / 2)];
        }
        Flow::Next
    }
}

/// The bits of [`Inst::imm`] of [`SwapHalves`] which say that the half of the source, or of the destination, is the high one.
pub(crate) const SOURCE_HIGH: u32 = 1;
pub(crate) const DESTINATION_HIGH: u32 = 2;

executors! {
    /// `v_swap_b16`: exchanges a half of the source and one of the destination, which may be the two halves of one register.
    SwapHalves |w, _, i| {
        let from = if i.imm & SOURCE_HIGH != 0 { 16 } else { 0 };
        let to = if i.imm & DESTINATION_HIGH != 0 { 16 } else { 0 };
        active_chunks!(w, MASKED, r, mask, c => {
            let mut a: [u32; CHUNK] = load(r, i.src[0], c);
            let mut d: [u32; CHUNK] = load(r, i.dst, c);
            for (a, d) in a.iter_mut().zip(&mut d) {
                let (left, right) = (*a >> from & 0xffff, *d >> to & 0xffff);
                *d = *d & !(0xffff << to) | left << to;
                *a = *a & !(0xffff << from) | right << from;
                if i.dst == i.src[0] && from != to {
                    *d = left << to | right << from;
                    *a = *d;
                }
            }
            store::<_, MASKED>(r, mask, i.dst, c, &d);
            store::<_, MASKED>(r, mask, i.src[0], c, &a);
        });
        Flow::Next
    }
}

/// Which registers of a move M0 selects.
pub(crate) const OF_DESTINATION: u8 = 1;
pub(crate) const OF_SOURCE: u8 = 2;
pub(crate) const OF_BOTH: u8 = 3;
/// Bits 0 to 9 of M0 are for the source, and bits 16 to 25 for the destination.
pub(crate) const OF_EACH: u8 = 4;

/// Returns the registers of the source, if that is a vector, and of the destination, with what M0 adds to their numbers: none if
/// there is no register of that number. M0 has no sign (RDNA4 ISA, 7.11).
#[inline(always)]
fn selected<const OF: u8>(w: &Wave, i: &Inst) -> (Option<u16>, Option<u16>) {
    let m0 = w.s32(sreg::M0);
    let (from, to) = match OF {
        OF_DESTINATION => (0, m0),
        OF_SOURCE => (m0, 0),
        OF_BOTH => (m0, m0),
        _ => (m0 & 0x3ff, m0 >> 16 & 0x3ff),
    };
    let at = |register: u16, more: u32| {
        let register = u32::from(register).saturating_add(more);
        (register < u32::from(AGPR)).then_some(register as u16)
    };
    (at(i.src[0], from), at(i.dst, to))
}

/// `v_movreld_b32`, `v_movrels_b32`, `v_movrelsd_b32` and `v_movrelsd_2_b32`: moves between registers that M0 selects. Without such a
/// register, the source is v0, and nothing is written (RDNA3 ISA, "Out-of-range").
pub(crate) struct MoveRelative<const OF: u8>;

impl<const OF: u8> Exec for MoveRelative<OF> {
    #[inline(always)]
    fn exec(w: &mut Wave, _: &mut ExecContext, i: &Inst) -> Flow {
        let (from, Some(to)) = selected::<OF>(w, i) else { return Flow::Next };
        let source = if is_scalar(i, 0) { splat(w.s32(i.src[0])) } else { *w.v(from.unwrap_or(0)) };
        active_chunks!(w, MASKED, r, mask, c => {
            store::<_, MASKED>(r, mask, to, c, &source.0[c]);
        });
        Flow::Next
    }
}

executors! {
    /// `v_swaprel_b32`: exchanges two registers that M0 selects. Without one of them it does nothing, as both are written (RDNA3.5 ISA,
    /// 3.3.2; RDNA4 ISA, 3.3.2.2).
    SwapRelative |w, _, i| {
        let (Some(from), Some(to)) = selected::<OF_EACH>(w, i) else { return Flow::Next };
        let (source, destination) = (*w.v(from), *w.v(to));
        active_chunks!(w, MASKED, r, mask, c => {
            store::<_, MASKED>(r, mask, to, c, &source.0[c]);
            store::<_, MASKED>(r, mask, from, c, &destination.0[c]);
        });
        Flow::Next
    }
}
