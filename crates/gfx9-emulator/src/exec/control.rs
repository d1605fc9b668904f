//! SOPP and other control flow: branches, calls, barriers, the end of a wave, traps.

use crate::exec::inst::{Exec, ExecContext, Flow, Inst};
use crate::report::fault::FaultCause;
use crate::state::wave::Wave;

/// Executes dwords that are not an instruction of the target: faults.
pub(crate) struct Illegal;
impl Exec for Illegal {
    #[inline(always)]
    fn exec(_: &mut Wave, cx: &mut ExecContext, _: &Inst) -> Flow {
        cx.fault(FaultCause::IllegalInstruction)
    }
}

/// Executes an instruction that is known but not implemented: faults.
pub(crate) struct Unimplemented;
impl Exec for Unimplemented {
    #[inline(always)]
    fn exec(_: &mut Wave, cx: &mut ExecContext, _: &Inst) -> Flow {
        cx.fault(FaultCause::Unimplemented { detail: String::new() })
    }
}

/// Executes a direct branch out of the code, or the end of the code: faults.
pub(crate) struct BranchOff;
impl Exec for BranchOff {
    #[inline(always)]
    fn exec(_: &mut Wave, cx: &mut ExecContext, i: &Inst) -> Flow {
        let distance = 4 * (1 + i64::from(i.imm as i32));
        let target = (cx.code.base + 4 * u64::from(i.pc)).wrapping_add_signed(distance);
        cx.fault(FaultCause::BadJump { target })
    }
}

/// Jumps to instructions that were decoded before. This is not an instruction of the program.
pub(crate) struct Goto;
impl Exec for Goto {
    #[inline(always)]
    fn exec(w: &mut Wave, _: &mut ExecContext, i: &Inst) -> Flow {
        w.next = i.target;
        Flow::Jump
    }
}

/// Continues at a guest address; faults if no instruction starts there.
#[inline(always)]
pub(crate) fn jump(w: &mut Wave, cx: &mut ExecContext, address: u64) -> Flow {
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
            fn exec($w: &mut Wave, _: &mut ExecContext, i: &Inst) -> Flow {
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

/// Does nothing: waits for counters, hints, and branches that only a debugger takes.
pub(crate) struct Nop;
impl Exec for Nop {
    #[inline(always)]
    fn exec(_: &mut Wave, _: &mut ExecContext, _: &Inst) -> Flow {
        Flow::Next
    }
}

/// `s_sleep` and similar instructions: lets other waves run first.
pub(crate) struct GiveWay;
impl Exec for GiveWay {
    #[inline(always)]
    fn exec(_: &mut Wave, _: &mut ExecContext, _: &Inst) -> Flow {
        Flow::Yield
    }
}

/// `s_sendmsg`: message 1, the interrupt, serves the calls to the host. Other messages, for debuggers and graphics, do
/// nothing.
pub(crate) struct Sendmsg;
impl Exec for Sendmsg {
    #[inline(always)]
    fn exec(_: &mut Wave, cx: &mut ExecContext, i: &Inst) -> Flow {
        if let (1, Some(host)) = (i.imm & 0xff, &cx.host) {
            host.serve();
        }
        Flow::Next
    }
}

/// `s_setkill`: ends the wave if the constant is odd.
pub(crate) struct Setkill;
impl Exec for Setkill {
    #[inline(always)]
    fn exec(_: &mut Wave, _: &mut ExecContext, i: &Inst) -> Flow {
        if i.imm & 1 != 0 { Flow::End } else { Flow::Next }
    }
}

/// `s_sethalt`: faults if the constant is odd. The wave would halt until a debugger resumes it, and there is none.
pub(crate) struct Sethalt;
impl Exec for Sethalt {
    #[inline(always)]
    fn exec(_: &mut Wave, cx: &mut ExecContext, i: &Inst) -> Flow {
        if i.imm & 1 != 0 { cx.fault(FaultCause::Halted) } else { Flow::Next }
    }
}

/// `s_sendmsghalt`: sends like `s_sendmsg`, then faults, as the wave would halt until a debugger resumes it.
pub(crate) struct Sendmsghalt;
impl Exec for Sendmsghalt {
    #[inline(always)]
    fn exec(w: &mut Wave, cx: &mut ExecContext, i: &Inst) -> Flow {
        Sendmsg::exec(w, cx, i);
        cx.fault(FaultCause::Halted)
    }
}

/// `s_rfe_b64` and other instructions for trap handlers: faults, as kernels are not privileged.
pub(crate) struct Privileged;
impl Exec for Privileged {
    #[inline(always)]
    fn exec(_: &mut Wave, cx: &mut ExecContext, _: &Inst) -> Flow {
        cx.fault(FaultCause::Privileged)
    }
}

pub(crate) struct Barrier;
impl Exec for Barrier {
    #[inline(always)]
    fn exec(_: &mut Wave, _: &mut ExecContext, _: &Inst) -> Flow {
        Flow::Barrier
    }
}

pub(crate) struct Endpgm;
impl Exec for Endpgm {
    #[inline(always)]
    fn exec(_: &mut Wave, _: &mut ExecContext, _: &Inst) -> Flow {
        Flow::End
    }
}

/// `s_trap`: faults, except for a debugger's trap (3), which does nothing. ROCm without a debugger does the same.
pub(crate) struct Trap;
impl Exec for Trap {
    #[inline(always)]
    fn exec(_: &mut Wave, cx: &mut ExecContext, i: &Inst) -> Flow {
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
    fn exec(w: &mut Wave, cx: &mut ExecContext, i: &Inst) -> Flow {
        let address = cx.address_after(i, 1);
        w.set_s64(i.dst, address);
        Flow::Next
    }
}

pub(crate) struct Setpc;
impl Exec for Setpc {
    #[inline(always)]
    fn exec(w: &mut Wave, cx: &mut ExecContext, i: &Inst) -> Flow {
        let address = w.s64(i.src[0]);
        jump(w, cx, address)
    }
}

pub(crate) struct Swappc;
impl Exec for Swappc {
    #[inline(always)]
    fn exec(w: &mut Wave, cx: &mut ExecContext, i: &Inst) -> Flow {
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
    fn exec(w: &mut Wave, cx: &mut ExecContext, i: &Inst) -> Flow {
        let back = cx.address_after(i, 1);
        w.set_s64(i.dst, back);
        w.next = i.target;
        Flow::Jump
    }
}
