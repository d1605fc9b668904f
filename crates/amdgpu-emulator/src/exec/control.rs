//! SOPP and other control flow: branches, calls, barriers, the end of a wave, traps.

use crate::exec::inst::{Exec, ExecContext, Flow, Inst, executors};
use crate::exec::smem::real_time;
use crate::report::fault::FaultCause;
use crate::state::wave::{Mode, Wave};

executors! {
    /// Executes dwords that are not an instruction of the target: faults.
    Illegal |_, cx, _| {
        cx.fault(FaultCause::IllegalInstruction)
    }
    /// Executes an instruction that is known but not implemented: faults.
    Unimplemented |_, cx, _| {
        cx.fault(FaultCause::Unimplemented { detail: String::new() })
    }
    /// Executes a direct branch out of the code, or the end of the code: faults.
    BranchOff |_, cx, i| {
        let distance = 4 * (1 + i64::from(i.imm as i32));
        let target = (cx.code.base + 4 * u64::from(i.pc)).wrapping_add_signed(distance);
        cx.fault(FaultCause::BadJump { target })
    }
    /// Jumps to instructions that were decoded before. This is not an instruction of the program.
    Goto |w, _, i| {
        w.next = i.target;
        Flow::Jump
    }
}

executors! {
    /// `s_round_mode`: sets the roundings, the low four bits of MODE (RDNA3 ISA, 6.8).
    RoundMode |w, _, i| {
        w.mode = Mode(w.mode.0 & !0xf | i.imm & 0xf);
        Flow::Next
    }
    /// `s_denorm_mode`: sets the handling of denormals, the next four bits of MODE (RDNA3 ISA, 6.8).
    DenormMode |w, _, i| {
        w.mode = Mode(w.mode.0 & !0xf0 | (i.imm & 0xf) << 4);
        Flow::Next
    }
    /// `s_sendmsg_rtn_b32` and `s_sendmsg_rtn_b64`: a message that returns a value of `N` dwords (RDNA3 ISA, 5.3). The clock
    /// alone has a value here: there are no trap handlers, draws and saved waves, and a doorbell's number means nothing to a
    /// kernel.
    SendmsgRtn<const N: usize> |w, _, i| {
        const GET_REALTIME: u32 = 0x83;
        let value = if i.imm == GET_REALTIME { real_time() } else { 0 };
        w.set_s32(i.dst, value as u32);
        if N == 2 {
            w.set_s32(i.dst + 1, (value >> 32) as u32);
        }
        Flow::Next
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

/// The number of the barrier of all waves of a workgroup, and that of its trap handlers'.
const WORKGROUP_BARRIER: i32 = -1;
const TRAP_BARRIER: i32 = -2;

executors! {
    /// Does nothing: waits for counters, hints, and branches that only a debugger takes.
    Nop |_, _, _| {
        Flow::Next
    }
    /// `s_sleep` and similar instructions: lets other waves run first.
    GiveWay |_, _, _| {
        Flow::Yield
    }
    /// `s_sendmsg`: message 1, the interrupt, serves the calls to the host. Other messages, for debuggers, graphics and
    /// registers that a wave doesn't need any more, do nothing.
    Sendmsg |_, cx, i| {
        if let (1, Some(host)) = (i.imm & 0xff, &cx.host) {
            host.serve();
        }
        Flow::Next
    }
    /// `s_setkill`: ends the wave if the constant is odd.
    Setkill |_, _, i| {
        if i.imm & 1 != 0 { Flow::End } else { Flow::Next }
    }
    /// `s_sethalt`: faults if the constant is odd. The wave would halt until a debugger resumes it, and there is none.
    Sethalt |_, cx, i| {
        if i.imm & 1 != 0 { cx.fault(FaultCause::Halted) } else { Flow::Next }
    }
    /// `s_sendmsghalt`: sends like `s_sendmsg`, then faults, as the wave would halt until a debugger resumes it.
    Sendmsghalt |w, cx, i| {
        Sendmsg::exec(w, cx, i);
        cx.fault(FaultCause::Halted)
    }
    /// `s_rfe_b64` and other instructions for trap handlers: faults, as kernels are not privileged.
    Privileged |_, cx, _| {
        cx.fault(FaultCause::Privileged)
    }
    Barrier |_, _, _| {
        Flow::Barrier
    }
    /// `s_barrier_signal` and, with `FIRST`, `s_barrier_signal_isfirst`: the wave has arrived at the workgroup's barrier. SCC says whether it
    /// is the first one. At barrier 0, and at the one of trap handlers, no kernel arrives (RDNA4 ISA, `S_BARRIER_SIGNAL`). Named barriers are
    /// not modelled.
    BarrierSignal<const FIRST: bool> |w, cx, i| {
        let is_first = match w.s32(i.src[0]) as i32 {
            WORKGROUP_BARRIER => {
                let (phase, is_first) = cx.barrier.signal();
                w.signalled = Some(phase);
                is_first
            }
            0 | TRAP_BARRIER => false,
            _ => return cx.fault(FaultCause::Unimplemented { detail: "named barriers".into() }),
        };
        if FIRST {
            w.set_scc(is_first);
        }
        Flow::Next
    }
    /// `s_barrier_wait`: the wave continues when all have signalled.
    BarrierWait |_, cx, i| {
        match i.imm as i32 {
            WORKGROUP_BARRIER => Flow::Barrier,
            _ => cx.fault(FaultCause::Unimplemented { detail: "named barriers".into() }),
        }
    }
    Endpgm |_, _, _| {
        Flow::End
    }
    /// `s_trap`: faults, except for a debugger's trap (3), which does nothing. ROCm without a debugger does the same.
    Trap |_, cx, i| {
        match i.imm as u8 {
            3 => Flow::Next,
            id => cx.fault(FaultCause::Trap { id }),
        }
    }
    /// `s_getpc_b64`: the address of the next instruction.
    Getpc |w, cx, i| {
        let address = cx.address_after(i, 1);
        w.set_s64(i.dst, address);
        Flow::Next
    }
    Setpc |w, cx, i| {
        let address = w.s64(i.src[0]);
        jump(w, cx, address)
    }
    Swappc |w, cx, i| {
        let address = w.s64(i.src[0]);
        let back = cx.address_after(i, 1);
        w.set_s64(i.dst, back);
        jump(w, cx, address)
    }
    /// `s_call_b64`: a direct call.
    Call |w, cx, i| {
        let back = cx.address_after(i, 1);
        w.set_s64(i.dst, back);
        w.next = i.target;
        Flow::Jump
    }
}
