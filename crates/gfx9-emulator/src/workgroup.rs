//! One workgroup being run: its waves, its LDS, its view of memory, and the interpreter's loop.

use std::sync::Arc;

use crate::decode::Code;
use crate::exec::altered;
use crate::fault::{Access, FaultCause, LaneAddress, Space};
use crate::gws::Gws;
use crate::hostcall::Hostcall;
use crate::inst::{Flow, Inst};
use crate::lds::Lds;
use crate::memory::View;
use crate::observe::{self, Watch};
use crate::wave::Wave;

/// What executors can reach besides the wave.
pub(crate) struct Ctx {
    pub(crate) code: Arc<Code>,
    pub(crate) mem: View,
    pub(crate) lds: Lds,
    /// Set with [`Flow::Fault`].
    pub(crate) fault: Option<FaultCause>,
    /// Instructions that its waves have executed.
    pub(crate) count: u64,
    /// What reading the clock took, in instructions.
    pub(crate) ticks: u64,
    pub(crate) workgroup: [u32; 3],
    /// Who watches it, if anyone does.
    pub(crate) watch: Option<Box<Watch>>,
    /// Calls to the host, if the kernel makes any.
    pub(crate) hostcall: Option<Arc<Hostcall>>,
    /// Global wave sync, with the other workgroups.
    pub(crate) gws: Arc<Gws>,
}

/// Lanes that a fault report names.
pub(crate) const REPORTED: usize = 16;

impl Ctx {
    /// Stops the kernel.
    #[cold]
    pub(crate) fn fault(&mut self, cause: FaultCause) -> Flow {
        self.fault = Some(cause);
        Flow::Fault
    }

    /// Stops the kernel for a scalar access that is out of bounds.
    #[cold]
    pub(crate) fn scalar_out_of_bounds(&mut self, access: Access, address: u64, size: u32) -> Flow {
        let lanes = vec![LaneAddress { lane: None, address }];
        self.fault(FaultCause::OutOfBounds { access, space: Space::Global, size, lanes })
    }

    /// Stops the kernel for accesses that are out of bounds, of the lanes given.
    #[cold]
    pub(crate) fn out_of_bounds(
        &mut self,
        access: Access,
        space: Space,
        size: u32,
        lanes: impl IntoIterator<Item = (u8, u64)>,
    ) -> Flow {
        let lanes = named(lanes);
        self.fault(FaultCause::OutOfBounds { access, space, size, lanes })
    }

    /// Stops the kernel for atomics that are misaligned, of the lanes given.
    #[cold]
    pub(crate) fn misaligned(
        &mut self,
        space: Space,
        size: u32,
        lanes: impl IntoIterator<Item = (u8, u64)>,
    ) -> Flow {
        let lanes = named(lanes);
        self.fault(FaultCause::Misaligned { space, size, lanes })
    }

    /// Guest address of the instruction after `i`.
    pub(crate) fn address_after(&self, i: &Inst, dwords: u32) -> u64 {
        self.code.base + 4 * u64::from(i.pc + dwords)
    }
}

fn named(lanes: impl IntoIterator<Item = (u8, u64)>) -> Vec<LaneAddress> {
    lanes
        .into_iter()
        .take(REPORTED)
        .map(|(lane, address)| LaneAddress { lane: Some(lane), address })
        .collect()
}

/// Why a wave stopped running.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Stop {
    /// Its slice is over, or it gave way.
    Slice,
    Barrier,
    /// `Wave::wait` says for what.
    Wait,
    End,
    /// `Ctx::fault` has the cause; `Wave::next` is the index of the instruction.
    Fault,
}

/// Runs a wave until it stops, or at a jump after `slice` instructions. `code` is `cx.code`, which the caller holds on
/// to: waves that meet at barriers stop often, and threads must not count references to it each time.
pub(crate) fn run_wave(w: &mut Wave, cx: &mut Ctx, code: &Code, slice: u64) -> Stop {
    interpret::<false>(w, cx, code, slice)
}

/// [`run_wave`] for what wants to see or stop a wave at any instruction: it ends after `slice` instructions, wherever
/// that is.
pub(crate) fn run_wave_observed(w: &mut Wave, cx: &mut Ctx, code: &Code, slice: u64) -> Stop {
    interpret::<true>(w, cx, code, slice)
}

/// The loop; with `OBSERVED` compiled apart, so that the other one pays nothing for it.
fn interpret<const OBSERVED: bool>(w: &mut Wave, cx: &mut Ctx, code: &Code, slice: u64) -> Stop {
    let insts = &code.insts[..];
    if w.mode.alters()
        && let Some(stop) = altered::run(w, cx, code, slice)
    {
        return stop;
    }
    let mut at = w.next as usize;
    let mut count = 0;
    let stop = loop {
        // Decoding ends every run of instructions with one that jumps or faults, so there is a next one.
        let i = &insts[at];
        at += 1;
        count += 1;
        if OBSERVED {
            observe::before(w, cx, at - 1, i);
        }
        // SAFETY: the code was decoded for a level that this machine has (`Program::load`).
        let flow = unsafe { (i.exec)(w, cx, i) };
        if OBSERVED {
            observe::after(w, cx);
        } else if flow == Flow::Next {
            continue;
        }
        match flow {
            Flow::Next => {}
            Flow::Jump => {
                at = w.next as usize;
                if count >= slice {
                    break Stop::Slice;
                }
            }
            Flow::Yield => break Stop::Slice,
            Flow::Barrier => break Stop::Barrier,
            Flow::Wait => break Stop::Wait,
            Flow::End => break Stop::End,
            Flow::Altered => {
                w.next = at as u32;
                let stop = altered::run(w, cx, code, slice.saturating_sub(count));
                at = w.next as usize;
                if let Some(stop) = stop {
                    break stop;
                }
            }
            Flow::Fault => {
                at -= 1;
                break Stop::Fault;
            }
        }
        if OBSERVED && count >= slice {
            break Stop::Slice;
        }
    };
    w.next = at as u32;
    w.count += count;
    cx.count += count;
    stop
}
