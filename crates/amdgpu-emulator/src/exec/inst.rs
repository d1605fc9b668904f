//! The arguments of executors: a decoded instruction, the code that contains it, and the context that it runs in.
//!
//! These types refer to each other: an instruction points to its executor, which takes the context, which has the code.

use std::sync::Arc;

use amdgpu_isa::{Isa, Row, Target, WaveSize};

use super::dpp::Dpp;
use super::operand::{ResultModifier, SourceModifier};
use crate::exec::notices::Notices;
use crate::exec::vectors::Vectors;
use crate::memory::View;
use crate::memory::lds::Lds;
use crate::memory::refused::{self, Refused};
use crate::report::access::{AccessKind, LaneAddress, MemorySpace};
use crate::report::fault::FaultCause;
use crate::state::barrier::SplitBarrier;
use crate::state::gws::Gws;
use crate::state::wave::Wave;

/// What the interpreter does after an instruction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum Flow {
    /// Continues with the next instruction.
    Next,
    /// Continues at `Wave::next`, which the executor has set to an index into the program's instructions.
    Jump,
    /// Like `Next`, but lets other waves run first (`s_sleep` and similar instructions of waiting loops).
    Yield,
    /// Waits at the workgroup's barrier, then continues like `Next`.
    Barrier,
    /// Waits for other workgroups, as `Wave::wait` says, then continues like `Next`.
    Wait,
    /// Like `Next`, but MODE now changes what vector instructions do: `altered::run` continues.
    Altered,
    /// The wave has ended.
    End,
    /// The instruction faulted. The executor has set `ExecContext::fault` to the cause.
    Fault,
}

/// Executes one decoded instruction for one wave.
///
/// Unsafe to call only because of the host features that it was compiled for: the program that holds it was decoded
/// for a [`SimdLevel`](super::level::SimdLevel) that is available.
pub(crate) type ExecFn = unsafe fn(&mut Wave, &mut ExecContext, &Inst) -> Flow;

/// An executor. `exec` must be `#[inline(always)]`, and so must all that it calls per lane.
pub(crate) trait Exec {
    fn exec(w: &mut Wave, cx: &mut ExecContext, i: &Inst) -> Flow;
    /// Does what `exec` does, with the vectors of the host's level.
    #[inline(always)]
    fn exec_with<V: Vectors>(w: &mut Wave, cx: &mut ExecContext, i: &Inst) -> Flow {
        Self::exec(w, cx, i)
    }
}

/// Declares executors: `Name |w, cx, i| { ...; flow }`, with constants `Name<const N: usize>`, or with a type `Name<K: Load>`.
macro_rules! executors {
    () => {};
    (@exec [$($generics:tt)*] $name:ty, ($w:pat_param, $cx:pat_param, $i:pat_param) $body:block) => {
        impl<$($generics)*> $crate::exec::inst::Exec for $name {
            #[inline(always)]
            fn exec(
                $w: &mut $crate::state::wave::Wave,
                $cx: &mut $crate::exec::inst::ExecContext,
                $i: &$crate::exec::inst::Inst,
            ) -> $crate::exec::inst::Flow {
                $body
            }
        }
    };
    ($(#[$doc:meta])* $name:ident |$w:pat_param, $cx:pat_param, $i:pat_param| $body:block $($rest:tt)*) => {
        $(#[$doc])*
        pub(crate) struct $name;
        executors!(@exec [] $name, ($w, $cx, $i) $body);
        executors! { $($rest)* }
    };
    ($(#[$doc:meta])* $name:ident<$(const $N:ident: $T:ty),+> |$w:pat_param, $cx:pat_param, $i:pat_param| $body:block
    $($rest:tt)*) => {
        $(#[$doc])*
        pub(crate) struct $name<$(const $N: $T),+>;
        executors!(@exec [$(const $N: $T),+] $name<$($N),+>, ($w, $cx, $i) $body);
        executors! { $($rest)* }
    };
    ($(#[$doc:meta])* $name:ident<$K:ident: $Bound:path> |$w:pat_param, $cx:pat_param, $i:pat_param| $body:block
    $($rest:tt)*) => {
        $(#[$doc])*
        pub(crate) struct $name<$K>(std::marker::PhantomData<$K>);
        executors!(@exec [$K: $Bound] $name<$K>, ($w, $cx, $i) $body);
        executors! { $($rest)* }
    };
}
pub(crate) use executors;

/// The index of an operand that the instruction doesn't have.
pub(crate) const NONE: u16 = u16::MAX;

/// One decoded instruction, one cache line.
///
/// Vector operands are indices into [`crate::state::wave::Regs::v`]: 0 to 255 VGPRs, 256 to 511 AGPRs, then
/// temporaries. Scalar operands are indices into [`crate::state::wave::Regs::s`]: below 128 the hardware's numbers
/// (SGPRs, VCC, M0, EXEC), above them the constants. 64-bit operands take the index and the next one.
#[repr(C, align(64))]
pub(crate) struct Inst {
    pub(crate) exec: ExecFn,
    /// Vector or scalar destination.
    pub(crate) dst: u16,
    /// Scalar destination of a mask (VOPC in VOP3, carries); `saddr`/`soffset` of memory instructions.
    pub(crate) sdst: u16,
    pub(crate) src: [u16; 3],
    /// Of memory instructions, the bits of [`flag`] that are set. Of vector instructions, bit `n` says that source `n`
    /// is a vector.
    pub(crate) flags: u16,
    /// Immediate, or offset. Of MIMG on gfx10, the fourth dword, which names registers.
    pub(crate) imm: u32,
    /// The index of the instruction to which a direct branch jumps. Of MIMG on gfx10, the fifth dword.
    pub(crate) target: u32,
    /// The position, in dwords from the start of the code.
    pub(crate) pc: u32,
    /// The first three dwords; those that the instruction doesn't have are 0.
    pub(crate) raw: [u32; 3],
    /// The row in the instruction table.
    pub(crate) row: &'static Row,
    /// Source and result modifiers, DPP and SDWA, if the instruction has any; executed by `modifiers::Modified`.
    pub(crate) ext: Option<Box<ModifierInst>>,
}

/// Bits of `Inst::flags`. All but `ILLEGAL` are for memory instructions.
pub(crate) mod flag {
    use amdgpu_isa::Generation;

    /// glc: an atomic returns the previous value; sc0 on gfx942.
    pub(crate) const GLC: u16 = 1;
    /// slc: system level coherent; nt on gfx942.
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
    /// SCRATCH: the instruction has a vaddr operand.
    pub(crate) const VADDR: u16 = 128;
    /// Any encoding: the bits are not an instruction.
    pub(crate) const ILLEGAL: u16 = 256;

    /// MUBUF, with [`LDS`]: the address in M0 has 18 bits, as gfx950 has more than 64 KiB of LDS; otherwise 16.
    pub(crate) const WIDE_M0: u16 = 512;

    /// SMEM, MUBUF, MTBUF, MIMG: where the two bits of the generation are, whose addresses and descriptors the instruction has.
    const GENERATION_AT: u32 = 10;

    /// Returns the bits that say whose addresses and descriptors an instruction has.
    pub(crate) fn of_generation(generation: Generation) -> u16 {
        (generation as u16) << GENERATION_AT
    }

    /// Returns whose addresses and descriptors an instruction of SMEM, MUBUF, MTBUF or MIMG has.
    #[inline(always)]
    pub(crate) fn generation(flags: u16) -> Generation {
        match flags >> GENERATION_AT & 3 {
            0 => Generation::Gfx9,
            1 => Generation::Gfx10,
            2 => Generation::Gfx11,
            _ => Generation::Gfx12,
        }
    }

    /// Returns the flags that are given with `true`.
    pub(crate) fn where_set<const N: usize>(flags: [(u16, bool); N]) -> u16 {
        flags.into_iter().filter(|(_, set)| *set).fold(0, |all, (flag, _)| all | flag)
    }
}

/// An operation with the modifiers that [`Modified`](super::modifiers::Modified) applies before and after it.
pub(crate) struct ModifierInst {
    /// The operation on prepared sources.
    pub(crate) inner: Inst,
    pub(crate) fixes: [Option<SourceModifier>; 3],
    pub(crate) post: Option<ResultModifier>,
    /// The lanes that the first source comes from. That source then has a modifier.
    pub(crate) dpp: Option<Dpp>,
    /// The second half of VOPD, of which `inner` is the first.
    pub(crate) second: Option<Inst>,
    /// The operation writes EXEC.
    pub(crate) writes_exec: bool,
    /// The scalars that are prepared first.
    pub(crate) scalars: Option<PreparedScalars>,
}

/// The scalars of an instruction that [`Regs::s`](crate::state::wave::Regs::s) doesn't have, or not up to date.
#[derive(Clone, Copy)]
pub(crate) struct PreparedScalars {
    /// A source is VCCZ or EXECZ.
    pub(crate) zero_flags: bool,
    /// The constants of the sources that did not fit into the constant pool; they are copied to
    /// [`spill`](super::operand::spill).
    pub(crate) spilled: [Option<u64>; 3],
}

impl ModifierInst {
    /// Returns an operation without modifiers.
    pub(crate) fn around(inner: Inst) -> ModifierInst {
        ModifierInst {
            inner,
            fixes: [None; 3],
            post: None,
            dpp: None,
            second: None,
            writes_exec: false,
            scalars: None,
        }
    }
}

/// Marks the dwords in [`Code::map`] at which no instruction starts.
pub(crate) const UNMAPPED: u32 = u32::MAX;

/// Decoded machine code.
pub(crate) struct Code {
    /// The instructions in the order of decoding. Each is followed by the next one in memory.
    pub(crate) insts: Vec<Inst>,
    /// The index of the instruction at each dword, or [`UNMAPPED`].
    pub(crate) map: Vec<u32>,
    /// Guest address of the first dword.
    pub(crate) base: u64,
    /// The constant pool: the values from [`POOL`](crate::state::wave::POOL) on in
    /// [`Regs::s`](crate::state::wave::Regs::s).
    pub(crate) pool: Vec<u32>,
    pub(crate) target: Target,
    /// Whether waves have 32 lanes.
    pub(crate) wave32: bool,
    /// A number that identifies the constant pool, as each `Code` has its own; never 0.
    pub(crate) id: u64,
}

/// Returns the instruction set of a target with waves of 32 or 64 lanes.
pub(crate) fn isa(target: Target, wave32: bool) -> Isa {
    Isa::new(target, if wave32 { WaveSize::Wave32 } else { WaveSize::Wave64 })
}

impl Code {
    pub(crate) fn isa(&self) -> Isa {
        isa(self.target, self.wave32)
    }

    /// Returns the index of the instruction at a guest address; `None` if no instruction starts there.
    pub(crate) fn index_of(&self, address: u64) -> Option<u32> {
        let offset = address.wrapping_sub(self.base);
        let index = *self.map.get(usize::try_from(offset / 4).ok()?)?;
        (offset % 4 == 0 && index != UNMAPPED).then_some(index)
    }
}

/// Serves the calls that a kernel makes to the host (`s_sendmsg`).
pub(crate) trait Host: Send + Sync {
    /// Serves all calls that are ready.
    fn serve(&self);
}

/// The state that executors can access besides the wave.
pub(crate) struct ExecContext {
    pub(crate) code: Arc<Code>,
    pub(crate) mem: View,
    pub(crate) lds: Lds,
    /// Set with [`Flow::Fault`].
    pub(crate) fault: Option<FaultCause>,
    /// The number of instructions that the workgroup's waves have executed.
    pub(crate) count: u64,
    /// The number of instructions that reads of the clock have added to the time.
    pub(crate) ticks: u64,
    pub(crate) workgroup: [u32; 3],
    /// Serves the kernel's calls to the host; `None` if it makes none.
    pub(crate) host: Option<Arc<dyn Host>>,
    /// Global wave sync, shared by all workgroups.
    pub(crate) gws: Arc<Gws>,
    /// The workgroup's barrier, on gfx12.
    pub(crate) barrier: SplitBarrier,
    /// Accesses that hardware, or strict bounds, would not perform.
    pub(crate) notices: Notices,
}

/// The largest number of lanes that a fault report names.
pub(crate) const REPORTED: usize = 16;

impl ExecContext {
    /// Faults with a cause, which stops the kernel.
    #[cold]
    pub(crate) fn fault(&mut self, cause: FaultCause) -> Flow {
        self.fault = Some(cause);
        Flow::Fault
    }

    /// Faults if the host has refused an access of the instruction that was executed, else returns its `flow`.
    #[inline(always)]
    pub(crate) fn unless_refused(&mut self, flow: Flow) -> Flow {
        match refused::refused() {
            None => flow,
            Some(refused) => self.was_refused(refused),
        }
    }

    #[cold]
    fn was_refused(&mut self, Refused { address, access }: Refused) -> Flow {
        let cause = match self.mem.is_read_only(address) {
            true => FaultCause::ReadOnly { address },
            false => FaultCause::Refused { access, address },
        };
        self.fault(cause)
    }

    /// Faults because a scalar access is out of bounds.
    #[cold]
    pub(crate) fn scalar_out_of_bounds(&mut self, access: AccessKind, address: u64, size: u32) -> Flow {
        let lanes = vec![LaneAddress { lane: None, address }];
        self.fault(FaultCause::OutOfBounds { access, space: MemorySpace::Global, size, lanes })
    }

    /// Faults because the accesses of the given lanes are out of bounds.
    #[cold]
    pub(crate) fn out_of_bounds(
        &mut self,
        access: AccessKind,
        space: MemorySpace,
        size: u32,
        lanes: impl IntoIterator<Item = (u8, u64)>,
    ) -> Flow {
        let lanes = named(lanes);
        self.fault(FaultCause::OutOfBounds { access, space, size, lanes })
    }

    /// Faults because the atomics of the given lanes are misaligned.
    #[cold]
    pub(crate) fn misaligned(
        &mut self,
        space: MemorySpace,
        size: u32,
        lanes: impl IntoIterator<Item = (u8, u64)>,
    ) -> Flow {
        let lanes = named(lanes);
        self.fault(FaultCause::Misaligned { space, size, lanes })
    }

    /// Returns the guest address of the instruction after `i`.
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

/// The reason why a wave stopped running.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum StopReason {
    /// Its time slice is over, or it let other waves run.
    Slice,
    Barrier,
    /// It waits for other workgroups, as `Wave::wait` says.
    Wait,
    End,
    /// `ExecContext::fault` has the cause; `Wave::next` is the index of the instruction.
    Fault,
}

/// Observes the instructions that waves execute.
pub(crate) trait Observer: Send {
    /// Called before `w` executes `i`, which is at index `at` of the code. Returns the index of the next instruction that the
    /// observer has to see, unless the wave jumps before.
    fn before(&mut self, w: &mut Wave, cx: &mut ExecContext, at: usize, i: &Inst) -> usize;
    /// Called after `w` has executed the instruction that [`before`](Self::before) was called with.
    fn after(&mut self, w: &mut Wave, cx: &mut ExecContext);
}

/// The observer of a wave; `None` if it is not observed.
pub(crate) type Observing<'a> = Option<&'a mut (dyn Observer + 'static)>;
