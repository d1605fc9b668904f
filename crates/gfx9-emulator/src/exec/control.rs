//! SOPP and what else changes where a wave goes on: branches, calls, barriers, the end, traps.

use crate::fault::FaultCause;
use crate::inst::{Flow, Inst};
use crate::isa::Exec;
use crate::modifiers::{Ext, Operand};
use crate::observe;
use crate::tables::{SGPR_DST, Ty, is_valu};
use crate::wave::{Mode, Wave, sreg};
use crate::workgroup::Ctx;

/// No instruction of the target.
pub(crate) struct Illegal;
impl Exec for Illegal {
    #[inline(always)]
    fn exec(_: &mut Wave, cx: &mut Ctx, _: &Inst) -> Flow {
        cx.fault(FaultCause::IllegalInstruction)
    }
}

/// An instruction that is known but has no executor.
pub(crate) struct Unimplemented;
impl Exec for Unimplemented {
    #[inline(always)]
    fn exec(_: &mut Wave, cx: &mut Ctx, _: &Inst) -> Flow {
        cx.fault(FaultCause::Unimplemented { detail: String::new() })
    }
}

/// A direct branch that leaves the code, or running off its end.
pub(crate) struct BranchOff;
impl Exec for BranchOff {
    #[inline(always)]
    fn exec(_: &mut Wave, cx: &mut Ctx, i: &Inst) -> Flow {
        let distance = 4 * (1 + i64::from(i.imm as i32));
        let target = (cx.code.base + 4 * u64::from(i.pc)).wrapping_add_signed(distance);
        cx.fault(FaultCause::BadJump { target })
    }
}

/// Where runs of decoding meet: no instruction of the program.
pub(crate) struct Goto;
impl Exec for Goto {
    #[inline(always)]
    fn exec(w: &mut Wave, _: &mut Ctx, i: &Inst) -> Flow {
        w.next = i.target;
        Flow::Jump
    }
}

/// Goes on at a guest address.
#[inline(always)]
pub(crate) fn jump(w: &mut Wave, cx: &mut Ctx, address: u64) -> Flow {
    match cx.code.index_of(address) {
        Some(index) => {
            w.next = index;
            Flow::Jump
        }
        None => cx.fault(FaultCause::BadJump { target: address }),
    }
}

/// Declares branches: `Name: |wave| condition;`.
macro_rules! branches {
    ($($name:ident: |$w:ident| $taken:expr;)*) => {$(
        pub(crate) struct $name;
        impl Exec for $name {
            #[inline(always)]
            fn exec($w: &mut Wave, _: &mut Ctx, i: &Inst) -> Flow {
                if $taken {
                    $w.next = i.target;
                    Flow::Jump
                } else {
                    Flow::Next
                }
            }
        }
    )*};
}

branches! {
    Branch: |w| true;
    CbranchScc0: |w| !w.scc();
    CbranchScc1: |w| w.scc();
    CbranchVccz: |w| w.vcc() == 0;
    CbranchVccnz: |w| w.vcc() != 0;
    CbranchExecz: |w| w.exec() == 0;
    CbranchExecnz: |w| w.exec() != 0;
}

/// Nothing to do here: waits for counters, hints, `s_set_gpr_idx_off` when it is off, and branches on a debugger that isn't there.
pub(crate) struct Nop;
impl Exec for Nop {
    #[inline(always)]
    fn exec(_: &mut Wave, _: &mut Ctx, _: &Inst) -> Flow {
        Flow::Next
    }
}

/// `s_sleep` and the like: others first.
pub(crate) struct GiveWay;
impl Exec for GiveWay {
    #[inline(always)]
    fn exec(_: &mut Wave, _: &mut Ctx, _: &Inst) -> Flow {
        Flow::Yield
    }
}

/// `s_sendmsg`: the interrupt (1) of a call to the host has it served; other messages are for debuggers and graphics.
pub(crate) struct Sendmsg;
impl Exec for Sendmsg {
    #[inline(always)]
    fn exec(_: &mut Wave, cx: &mut Ctx, i: &Inst) -> Flow {
        if let (1, Some(hostcall)) = (i.imm & 0xff, &cx.hostcall) {
            hostcall.serve();
        }
        Flow::Next
    }
}

pub(crate) struct Barrier;
impl Exec for Barrier {
    #[inline(always)]
    fn exec(_: &mut Wave, _: &mut Ctx, _: &Inst) -> Flow {
        Flow::Barrier
    }
}

pub(crate) struct Endpgm;
impl Exec for Endpgm {
    #[inline(always)]
    fn exec(_: &mut Wave, _: &mut Ctx, _: &Inst) -> Flow {
        Flow::End
    }
}

/// `s_trap`. There is no trap handler, so every trap but a debugger's (3) ends the kernel, as it does under ROCm.
pub(crate) struct Trap;
impl Exec for Trap {
    #[inline(always)]
    fn exec(_: &mut Wave, cx: &mut Ctx, i: &Inst) -> Flow {
        match i.imm as u8 {
            3 => Flow::Next,
            id => cx.fault(FaultCause::Trap { id }),
        }
    }
}

/// `s_getpc_b64`: the address of the next instruction.
pub(crate) struct Getpc;
impl Exec for Getpc {
    #[inline(always)]
    fn exec(w: &mut Wave, cx: &mut Ctx, i: &Inst) -> Flow {
        let address = cx.address_after(i, 1);
        w.set_s64(i.dst, address);
        Flow::Next
    }
}

pub(crate) struct Setpc;
impl Exec for Setpc {
    #[inline(always)]
    fn exec(w: &mut Wave, cx: &mut Ctx, i: &Inst) -> Flow {
        let address = w.s64(i.src[0]);
        jump(w, cx, address)
    }
}

pub(crate) struct Swappc;
impl Exec for Swappc {
    #[inline(always)]
    fn exec(w: &mut Wave, cx: &mut Ctx, i: &Inst) -> Flow {
        let address = w.s64(i.src[0]);
        let back = cx.address_after(i, 1);
        w.set_s64(i.dst, back);
        jump(w, cx, address)
    }
}

/// `s_call_b64`: a direct call.
pub(crate) struct Call;
impl Exec for Call {
    #[inline(always)]
    fn exec(w: &mut Wave, cx: &mut Ctx, i: &Inst) -> Flow {
        let back = cx.address_after(i, 1);
        w.set_s64(i.dst, back);
        w.next = i.target;
        Flow::Jump
    }
}

/// MODE's bit for indexed vector registers.
const GPR_IDX_EN: u32 = 1 << 27;

/// Puts `index` and `mode` (bits 0 to 3: source 0, 1, 2, destination), where given, into their places in M0.
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

/// `s_set_gpr_idx_on`, and all that follows until `s_set_gpr_idx_off`: VALU instructions take operands at their
/// register plus M0's index (CDNA2 ISA, "VGPR indexing"). Registers are resolved at decode, so each instruction is
/// executed as a copy with other registers.
pub(crate) struct GprIdxOn;
impl Exec for GprIdxOn {
    #[inline(always)]
    fn exec(w: &mut Wave, cx: &mut Ctx, i: &Inst) -> Flow {
        let index = w.s32(i.src[0]);
        set_index(w, Some(index), Some(i.imm));
        w.mode = Mode(w.mode.0 | GPR_IDX_EN);
        indexed(w, cx, i)
    }
}

#[cold]
fn indexed(w: &mut Wave, cx: &mut Ctx, on: &Inst) -> Flow {
    let code = std::sync::Arc::clone(&cx.code);
    let Some(mut at) = code.index_of(cx.address_after(on, 1)) else {
        return cx.fault(FaultCause::IllegalInstruction);
    };
    loop {
        let i = &code.insts[at as usize];
        w.next = at + 1;
        observe::before(w, cx, at as usize, i);
        let flow = match i.row.name {
            "s_set_gpr_idx_off" => {
                w.mode = Mode(w.mode.0 & !GPR_IDX_EN);
                return Flow::Jump;
            }
            "s_set_gpr_idx_on" => {
                let index = w.s32(i.src[0]);
                set_index(w, Some(index), Some(i.imm));
                Flow::Next
            }
            _ if is_valu(i.row) => {
                let m0 = w.s32(sreg::M0);
                let moved = moved(i, (m0 & 0xff) as u16, m0 >> 12 & 15);
                // SAFETY: decoded for the same level as `on`, which is executing.
                unsafe { (moved.exec)(w, cx, &moved) }
            }
            // SAFETY: as above.
            _ => unsafe { (i.exec)(w, cx, i) },
        };
        observe::after(w, cx);
        match flow {
            Flow::Next | Flow::Yield => at += 1,
            Flow::Jump => at = w.next,
            Flow::Barrier => {
                return cx.fault(FaultCause::Unimplemented {
                    detail: "a barrier while vector registers are indexed".into(),
                });
            }
            Flow::End | Flow::Fault => return flow,
        }
    }
}

/// The instruction with `index` added to the vector registers that `mode` names.
fn moved(i: &Inst, index: u16, mode: u32) -> Inst {
    let mut copy = Inst { ext: None, ..*i };
    if mode & 8 != 0 && i.row.dst != Ty::Mask && i.row.flags & SGPR_DST == 0 {
        copy.dst += index;
    }
    for n in 0..3 {
        if mode >> n & 1 != 0 && i.flags >> n & 1 != 0 {
            copy.src[n] += index;
        }
    }
    if let Some(ext) = &i.ext {
        let mut ext = Ext { inner: Inst { ext: None, ..ext.inner }, ..**ext };
        if mode & 8 != 0 {
            match &mut ext.post {
                Some(post) => post.dst += index,
                None if i.row.dst != Ty::Mask => ext.inner.dst += index,
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
                        *v += index;
                    }
                }
                None if ext.inner.flags >> n & 1 != 0 => ext.inner.src[n] += index,
                None => {}
            }
        }
        copy.ext = Some(Box::new(ext));
    }
    copy
}

/// `s_set_gpr_idx_idx`: another index.
pub(crate) struct GprIdxIdx;
impl Exec for GprIdxIdx {
    #[inline(always)]
    fn exec(w: &mut Wave, _: &mut Ctx, i: &Inst) -> Flow {
        let index = w.s32(i.src[0]);
        set_index(w, Some(index), None);
        Flow::Next
    }
}

/// `s_set_gpr_idx_mode`: other operands.
pub(crate) struct GprIdxMode;
impl Exec for GprIdxMode {
    #[inline(always)]
    fn exec(w: &mut Wave, _: &mut Ctx, i: &Inst) -> Flow {
        set_index(w, None, Some(i.imm));
        Flow::Next
    }
}
