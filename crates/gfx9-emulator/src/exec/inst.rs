//! What executors are given: a decoded instruction, the code that it is in, and the context that it runs in.
//!
//! These types name each other: an instruction points to its executor, which takes the context, which has the code.

use std::sync::Arc;

use gfx9_isa::{Row, Target};

use super::operand::{Dpp, Fix, Post};
use crate::memory::View;
use crate::memory::lds::Lds;
use crate::report::access::{Access, LaneAddress, Space};
use crate::report::fault::FaultCause;
use crate::state::gws::Gws;
use crate::state::wave::Wave;

/// What the interpreter does after an instruction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum Flow {
    /// Goes on with the next instruction.
    Next,
    /// Goes on at `Wave::next`, which the executor has set to an index into the program's instructions.
    Jump,
    /// As `Next`, but lets other waves run first (sleep, and the like of spinning).
    Yield,
    /// Waits at the workgroup's barrier; then as `Next`.
    Barrier,
    /// Waits for other workgroups, as the executor has put into `Wave::wait`; then as `Next`.
    Wait,
    /// As `Next`, but MODE now says that vector instructions do other than they say: `altered::run` goes on.
    Altered,
    /// The wave has ended.
    End,
    /// The executor has put the cause into `Ctx::fault`.
    Fault,
}

/// Executes one decoded instruction for one wave.
///
/// Unsafe to call only because of the host features that it was compiled for: the program that holds it was decoded
/// for a [`Level`](super::level::Level) that is available.
pub(crate) type ExecFn = unsafe fn(&mut Wave, &mut Ctx, &Inst) -> Flow;

/// An executor. `exec` must be `#[inline(always)]`, and so must all that it calls per lane.
pub(crate) trait Exec {
    fn exec(w: &mut Wave, cx: &mut Ctx, i: &Inst) -> Flow;
}

/// Index that stands for an operand that is not there.
pub(crate) const NONE: u16 = u16::MAX;

/// One decoded instruction, one cache line.
///
/// Vector operands are indices into [`crate::state::wave::Regs::v`]: 0 to 255 VGPRs, 256 to 511 AGPRs, then temporaries.
/// Scalar operands are indices into [`crate::state::wave::Regs::s`]: below 128 the hardware's numbers (SGPRs, VCC, M0,
/// EXEC), above them the constants. 64-bit operands take the index and the next one.
#[repr(C, align(64))]
pub(crate) struct Inst {
    pub(crate) exec: ExecFn,
    /// Vector or scalar destination.
    pub(crate) dst: u16,
    /// Scalar destination of a mask (VOPC in VOP3, carries); `saddr`/`soffset` of memory instructions.
    pub(crate) sdst: u16,
    pub(crate) src: [u16; 3],
    /// The `flag` bits of the encoding, see `decode`.
    pub(crate) flags: u16,
    /// Immediate, or offset.
    pub(crate) imm: u32,
    /// Direct branches: index of the instruction branched to.
    pub(crate) target: u32,
    /// Where it is: dwords from the start of the code.
    pub(crate) pc: u32,
    /// Its first two dwords; the second is 0 if it has only one.
    pub(crate) raw: [u32; 2],
    /// Its row in the tables.
    pub(crate) row: &'static Row,
    /// What source and result modifiers, DPP and SDWA need; executed by `modifiers::Modified`.
    pub(crate) ext: Option<Box<Ext>>,
}

/// `Inst::flags`, of memory instructions but for the last.
pub(crate) mod flag {
    /// Return the value before (atomics); sc0 on gfx942.
    pub(crate) const GLC: u16 = 1;
    /// System level coherent; nt on gfx942.
    pub(crate) const SLC: u16 = 2;
    /// MUBUF, MTBUF: the vaddr operand gives an offset.
    pub(crate) const OFFEN: u16 = 4;
    /// MUBUF, MTBUF: the vaddr operand gives an index.
    pub(crate) const IDXEN: u16 = 8;
    /// MUBUF, FLAT: to or from LDS.
    pub(crate) const LDS: u16 = 16;
    /// DS: global data share.
    pub(crate) const GDS: u16 = 32;
    /// scc on gfx90a; sc1 on gfx942.
    pub(crate) const SC1: u16 = 64;
    /// SCRATCH: there is a vaddr operand.
    pub(crate) const VADDR: u16 = 128;
    /// Any: no instruction, whatever else there is.
    pub(crate) const ILLEGAL: u16 = 256;

    /// The flags whose bit in the encoding is set.
    pub(crate) fn where_set<const N: usize>(flags: [(u16, bool); N]) -> u16 {
        flags.into_iter().filter(|(_, set)| *set).fold(0, |all, (flag, _)| all | flag)
    }
}

/// What [`Modified`](super::modifiers::Modified) does around the operation.
pub(crate) struct Ext {
    /// The operation on prepared sources.
    pub(crate) inner: Inst,
    pub(crate) fixes: [Option<Fix>; 3],
    pub(crate) post: Option<Post>,
    /// The first source, which then has a fix, comes from other lanes.
    pub(crate) dpp: Option<Dpp>,
    /// The operation writes EXEC.
    pub(crate) writes_exec: bool,
    /// A source is VCCZ or EXECZ, whose slots are not kept up to date.
    pub(crate) zero_flags: bool,
    /// Constants of the sources that there was no slot in the pool for; they go to [`spill`](super::operand::spill).
    pub(crate) spilled: [Option<u64>; 3],
}

impl Ext {
    /// An operation with nothing around it yet.
    pub(crate) fn around(inner: Inst) -> Ext {
        Ext {
            inner,
            fixes: [None; 3],
            post: None,
            dpp: None,
            writes_exec: false,
            zero_flags: false,
            spilled: [None; 3],
        }
    }
}

/// In [`Code::map`]: no instruction starts at that dword.
pub(crate) const UNMAPPED: u32 = u32::MAX;

/// Machine code, decoded.
pub(crate) struct Code {
    /// In the order of decoding; an instruction is followed by the next one in memory.
    pub(crate) insts: Vec<Inst>,
    /// Index of the instruction at each dword.
    pub(crate) map: Vec<u32>,
    /// Guest address of the first dword.
    pub(crate) base: u64,
    /// Scalar slots from [`POOL`](crate::state::wave::POOL) on.
    pub(crate) pool: Vec<u32>,
    pub(crate) target: Target,
    /// Identifies the pool.
    pub(crate) id: u64,
}

impl Code {
    /// Index of the instruction at a guest address.
    pub(crate) fn index_of(&self, address: u64) -> Option<u32> {
        let offset = address.wrapping_sub(self.base);
        let index = *self.map.get(usize::try_from(offset / 4).ok()?)?;
        (offset % 4 == 0 && index != UNMAPPED).then_some(index)
    }
}

/// The host's side of the calls that a kernel makes (`s_sendmsg`).
pub(crate) trait Host: Send + Sync {
    /// Serves all calls that are ready.
    fn serve(&self);
}

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
    /// What serves the kernel's calls to the host, if it makes any.
    pub(crate) host: Option<Arc<dyn Host>>,
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

/// What sees the instructions that waves execute.
pub(crate) trait Observer: Send {
    /// `w` executes `i`, which is at index `at` of the code, next.
    fn before(&mut self, w: &mut Wave, cx: &mut Ctx, at: usize, i: &Inst);
    /// `w` has executed what it was last about to.
    fn after(&mut self, w: &Wave);
}

/// Who observes a wave, if anyone does.
pub(crate) type Observing<'a> = Option<&'a mut (dyn Observer + 'static)>;
