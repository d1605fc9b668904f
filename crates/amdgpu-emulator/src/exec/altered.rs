//! Executes instructions while indexed vector registers or VSKIP are enabled, which change what vector instructions do
//! (CDNA3 ISA, "Mode register", "VGPR indexing", `S_SETVSKIP`).
//!
//! Decoding resolves register numbers, and the interpreter's loop does not check these modes. A wave therefore runs in
//! the loop of this file while one of them is enabled.

use amdgpu_isa::Ty;
use amdgpu_isa::flags::SGPR_DST;

use crate::exec::inst::{
    Code, ExecContext, Flow, Inst, ModifierInst, NONE, Observing, StopReason, executors, flag,
};
use crate::exec::operand::Operand;
use crate::state::wave::{Mode, VROWS, Wave, sreg};

/// Returns how a wave continues after an instruction that may have written MODE.
#[inline(always)]
pub(crate) fn after_mode(w: &Wave) -> Flow {
    if w.mode.alters() { Flow::Altered } else { Flow::Next }
}

/// Runs a wave from `Wave::next` for up to `slice` instructions. Returns `None` when neither mode is enabled any more.
#[cold]
pub(crate) fn run(
    w: &mut Wave,
    cx: &mut ExecContext,
    code: &Code,
    slice: u64,
    mut observer: Observing<'_>,
) -> Option<StopReason> {
    let mut count = 0;
    let stop = loop {
        if !w.mode.alters() {
            break None;
        }
        if count >= slice {
            break Some(StopReason::Slice);
        }
        let at = w.next;
        // Decoding ends every sequence of instructions with one that jumps or faults, so `at` is in range.
        let i = &code.insts[at as usize];
        w.next = at + 1;
        count += 1;
        if w.mode.0 & Mode::VSKIP != 0 && i.row.is_vector() && i.flags & flag::ILLEGAL == 0 {
            continue;
        }
        if let Some(observer) = &mut observer {
            observer.before(w, cx, at as usize, i);
        }
        let flow = if w.mode.0 & Mode::GPR_IDX_EN != 0 && i.row.is_valu() {
            let moved = indexed(w, i);
            // SAFETY: the code was decoded for a level that this machine has (`LoadedProgram::load`).
            unsafe { (moved.exec)(w, cx, &moved) }
        } else {
            // SAFETY: the executor is one of the level that this machine has, as `moved.exec` is.
            unsafe { (i.exec)(w, cx, i) }
        };
        let flow = cx.unless_refused(flow);
        if let Some(observer) = &mut observer {
            observer.after(w, cx);
        }
        match flow {
            Flow::Next | Flow::Altered | Flow::Jump => {}
            Flow::Yield => break Some(StopReason::Slice),
            Flow::Barrier => break Some(StopReason::Barrier),
            Flow::Wait => break Some(StopReason::Wait),
            Flow::End => break Some(StopReason::End),
            Flow::Fault => {
                w.next = at;
                break Some(StopReason::Fault);
            }
        }
    };
    w.count += count;
    cx.count += count;
    stop
}

/// The number of registers that an index may select.
const VGPRS: u16 = 256;
/// The register that receives results whose destination doesn't exist. No instruction reads it.
const LOST: u16 = VROWS as u16 - 64;

/// Returns the register of an indexed source: v0 if the index is past the last register (CDNA3 ISA, "Out-of-range
/// behavior").
fn source(register: u16, index: u16) -> u16 {
    moved_register(register, index, 0)
}

/// Returns the register of an indexed destination. A write past the last register has no effect.
fn destination(register: u16, index: u16) -> u16 {
    moved_register(register, index, LOST)
}

fn moved_register(register: u16, index: u16, otherwise: u16) -> u16 {
    match register {
        // The instruction doesn't have the operand.
        NONE => NONE,
        _ if register < VGPRS && register + index >= VGPRS => otherwise,
        _ => register + index,
    }
}

/// Returns the VALU instruction that `w` executes in place of `i` while indexed vector registers are enabled.
pub(crate) fn indexed(w: &Wave, i: &Inst) -> Inst {
    let m0 = w.s32(sreg::M0);
    moved(i, (m0 & 0xff) as u16, m0 >> 12 & 15)
}

/// Returns the instruction with `index` added to the vector registers that `mode` selects.
fn moved(i: &Inst, index: u16, mode: u32) -> Inst {
    let mut copy = Inst { ext: None, ..*i };
    if mode & 8 != 0 && i.row.dst != Ty::Mask && i.row.flags & SGPR_DST == 0 {
        copy.dst = destination(copy.dst, index);
    }
    for n in 0..3 {
        if mode >> n & 1 != 0 && i.flags >> n & 1 != 0 {
            copy.src[n] = source(copy.src[n], index);
        }
    }
    if let Some(ext) = &i.ext {
        let inner = Inst { ext: None, ..ext.inner };
        let mut ext = ModifierInst { inner, dpp: ext.dpp.clone(), second: None, ..**ext };
        if mode & 8 != 0 {
            match &mut ext.post {
                Some(post) => post.dst = destination(post.dst, index),
                None if i.row.dst != Ty::Mask => ext.inner.dst = destination(ext.inner.dst, index),
                None => {}
            }
        }
        for n in 0..3 {
            if mode >> n & 1 == 0 {
                continue;
            }
            match &mut ext.fixes[n] {
                Some(fix) => {
                    if let Operand::Vector(v) = &mut fix.from {
                        *v = source(*v, index);
                    }
                }
                None if ext.inner.flags >> n & 1 != 0 => {
                    ext.inner.src[n] = source(ext.inner.src[n], index);
                }
                None => {}
            }
        }
        copy.ext = Some(Box::new(ext));
    }
    copy
}

/// Writes `index` and `mode` (bits 0 to 3: source 0, 1, 2, destination), if given, to their fields of M0.
fn set_index(w: &mut Wave, index: Option<u32>, mode: Option<u32>) {
    let mut m0 = w.s32(sreg::M0);
    if let Some(index) = index {
        m0 = m0 & !0xff | index & 0xff;
    }
    if let Some(mode) = mode {
        m0 = m0 & !0xf000 | (mode & 15) << 12;
    }
    w.set_s32(sreg::M0, m0);
}

executors! {
    /// `s_set_gpr_idx_on`: until `s_set_gpr_idx_off`, VALU instructions add M0's index to their vector registers.
    GprIdxOn |w, _, i| {
        let index = w.s32(i.src[0]);
        set_index(w, Some(index), Some(i.imm));
        w.mode = Mode(w.mode.0 | Mode::GPR_IDX_EN);
        Flow::Altered
    }
    /// `s_set_gpr_idx_off`.
    GprIdxOff |w, _, _| {
        w.mode = Mode(w.mode.0 & !Mode::GPR_IDX_EN);
        Flow::Next
    }
    /// `s_set_gpr_idx_idx`: sets the index.
    GprIdxIdx |w, _, i| {
        let index = w.s32(i.src[0]);
        set_index(w, Some(index), None);
        Flow::Next
    }
    /// `s_set_gpr_idx_mode`: selects the operands that are indexed.
    GprIdxMode |w, _, i| {
        set_index(w, None, Some(i.imm));
        Flow::Next
    }
    /// `s_setvskip`: a bit of the first source says whether the following vector instructions are skipped.
    Setvskip |w, _, i| {
        let skip = w.s32(i.src[0]) >> (w.s32(i.src[1]) & 31) & 1;
        w.mode = Mode(w.mode.0 & !Mode::VSKIP | skip * Mode::VSKIP);
        after_mode(w)
    }
}
