//! Faults, and the report that says what happened and where.

use std::fmt;

use code_object::SourceLocation;

use super::access::{AccessKind, LaneAddress, MemorySpace};
use super::defect::Defect;
use super::source;

/// The reason why a wave waits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum WaitsFor {
    /// `s_barrier`: the wave waits for the other waves of its workgroup.
    Barrier,
    /// `ds_gws_barrier`: the wave waits for a number of waves of any workgroup, which a counter of the resource gives.
    GlobalBarrier {
        /// The resource, 0 to 63.
        resource: u8,
        /// The number of waves that have not arrived yet.
        missing: u64,
    },
    /// `ds_gws_sema_p`: the wave waits until another wave releases the semaphore.
    Semaphore {
        /// The resource, 0 to 63.
        resource: u8,
    },
}

/// A wave that waits for other waves.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct WaitingWave {
    /// The position of its workgroup in the grid: x, y, z.
    pub workgroup: [u32; 3],
    /// Its number in the workgroup, from 0.
    pub wave: u32,
    /// The reason why it waits.
    pub waits_for: WaitsFor,
}

/// The cause of a fault.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum FaultCause {
    /// An access to global memory outside of every live allocation, or an access outside of the workgroup's LDS.
    /// [`StackOverflow`](Self::StackOverflow) is the same for private memory.
    OutOfBounds {
        /// The kind of access.
        access: AccessKind,
        /// The memory that was accessed.
        space: MemorySpace,
        /// Bytes that each lane accesses.
        size: u32,
        /// The lanes that are out of bounds, at most sixteen, and their addresses.
        lanes: Vec<LaneAddress>,
    },
    /// An access to mapped host memory that the operating system refused: the program has mapped the page read-only, or has
    /// protected or unmapped it since.
    Refused {
        /// Whether it was read or written; an atomic writes.
        access: AccessKind,
        /// The first byte that was refused.
        address: u64,
    },
    /// A write to memory that is mapped to reserved addresses and that the device may only read; an atomic writes.
    ReadOnly {
        /// The first byte that was not written.
        address: u64,
    },
    /// An atomic at an address that isn't a multiple of its size.
    Misaligned {
        /// The memory that was accessed.
        space: MemorySpace,
        /// Bytes that each lane accesses.
        size: u32,
        /// The lanes that are misaligned, at most sixteen, and their addresses.
        lanes: Vec<LaneAddress>,
    },
    /// An access past the end of the lane's private memory. On hardware it would reach the private memory of another
    /// lane or wave.
    StackOverflow {
        /// The kind of access.
        access: AccessKind,
        /// Bytes that each lane accesses.
        size: u32,
        /// The lanes that are out of bounds, at most sixteen, and their offsets. The offset of a scalar access
        /// (`s_scratch_*`) is in the private memory of the whole wave.
        lanes: Vec<LaneAddress>,
        /// The size of each lane's private memory in bytes.
        scratch: u32,
        /// The part of these bytes that is for a [dynamic stack](crate::MachineConfig::dynamic_stack); 0 if the kernel
        /// uses none.
        dynamic: u32,
    },
    /// A buffer access through the descriptor of private memory, with an offset or index that reaches the memory of
    /// another lane.
    OtherLanesScratch {
        /// The kind of access.
        access: AccessKind,
        /// Bytes that each lane accesses.
        size: u32,
        /// The scalar offset in bytes. It has to be a multiple of 256: one dword of each lane.
        soffset: u32,
        /// The lanes that reach the private memory of another lane, at most sixteen. The address is the number of that
        /// other lane.
        lanes: Vec<LaneAddress>,
    },
    /// An instruction that the emulator doesn't implement.
    Unimplemented {
        /// What is not implemented; empty if it is the instruction as a whole.
        detail: String,
    },
    /// A DS instruction for the global data share, which these GPUs don't have.
    NoGlobalDataShare,
    /// Bits that are not an instruction of the target.
    IllegalInstruction,
    /// A privileged instruction, which only trap handlers may execute.
    Privileged,
    /// A jump to an address where no instruction starts.
    BadJump {
        /// The guest address that the wave jumped to.
        target: u64,
    },
    /// `s_trap`.
    Trap {
        /// The trap's number. 2 is for `assert`, `abort` and `__builtin_trap`. 3 (`__builtin_debugtrap`) never faults:
        /// it is for debuggers and has no effect here.
        id: u8,
    },
    /// The wave has halted itself; only a debugger could resume it.
    Halted,
    /// A barrier that can never be met: every wave that has not ended waits for another. A wave that loops forever does
    /// not wait in this sense; it runs until a budget ends the dispatch.
    NeverMet {
        /// The waves that wait, at most sixteen.
        waiting: Vec<WaitingWave>,
        /// The number of waves that wait.
        waves: u64,
        /// The number of workgroups that can't begin before others have ended.
        not_begun: u64,
    },
    /// The dispatch executed more instructions than [`crate::MachineConfig::instruction_budget`], or ran longer than
    /// [`crate::MachineConfig::time_budget`].
    OverBudget {
        /// The number of wave instructions executed.
        instructions: u64,
        /// The number of waves of the reported workgroup that wait at a barrier.
        at_barrier: u32,
    },
    /// [`Interrupt::end_dispatches`](crate::Interrupt::end_dispatches) was called.
    Interrupted {
        /// The number of wave instructions executed.
        instructions: u64,
    },
}

/// The comma before the `n`-th item of a list.
fn comma(n: usize) -> &'static str {
    if n == 0 { "" } else { "," }
}

/// Lanes with their addresses, as a list.
struct Lanes<'a>(&'a [LaneAddress]);

impl fmt::Display for Lanes<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (n, l) in self.0.iter().enumerate() {
            match l.lane {
                Some(lane) => write!(f, "{} lane {lane} at {:#x}", comma(n), l.address)?,
                None => write!(f, "{} {:#x}", comma(n), l.address)?,
            }
        }
        Ok(())
    }
}

/// Writes an access to the private memory of other lanes.
fn write_other_lanes(
    f: &mut fmt::Formatter<'_>,
    access: AccessKind,
    size: u32,
    soffset: u32,
    lanes: &[LaneAddress],
) -> fmt::Result {
    write!(f, "{} of {size} bytes in the private memory of other lanes:", access.name())?;
    for (n, l) in lanes.iter().enumerate() {
        write!(f, "{} lane {} in that of lane {}", comma(n), l.lane.unwrap_or(0), l.address)?;
    }
    match soffset % 256 {
        0 => f.write_str("; an index in a vector register selects the other lane"),
        _ => write!(
            f,
            "; the scalar offset, {soffset:#x}, is not a multiple of 256: the stack pointer is wrong"
        ),
    }
}

impl fmt::Display for WaitingWave {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [x, y, z] = self.workgroup;
        write!(f, "workgroup ({x}, {y}, {z}) wave {} ", self.wave)?;
        match self.waits_for {
            WaitsFor::Barrier => f.write_str("at s_barrier"),
            WaitsFor::GlobalBarrier { resource, missing } => {
                write!(f, "at the global barrier {resource} (missing waves: {missing})")
            }
            WaitsFor::Semaphore { resource } => write!(f, "at the global semaphore {resource}"),
        }
    }
}

impl fmt::Display for FaultCause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            FaultCause::StackOverflow { access, size, lanes, scratch, dynamic } => {
                write!(
                    f,
                    "stack overflow: {} of {size} bytes outside of the lane's private memory:{}; each lane has {scratch} \
                     bytes",
                    access.name(),
                    Lanes(lanes)
                )?;
                match dynamic {
                    0 => f.write_str(
                        ", as the kernel declares: an index is out of an array's bounds, or the code needs more stack than \
                         its metadata says",
                    ),
                    _ => write!(
                        f,
                        ", {dynamic} of them for its dynamic stack: reduce the depth of recursion, or increase dynamic_stack"
                    ),
                }
            }
            FaultCause::OtherLanesScratch { access, size, soffset, lanes } => {
                write_other_lanes(f, *access, *size, *soffset, lanes)
            }
            FaultCause::OutOfBounds { access, space, size, lanes } => {
                let (access, space) = (access.name(), space.name());
                write!(f, "out-of-bounds {access} of {size} bytes in {space}:{}", Lanes(lanes))
            }
            FaultCause::Refused { access, address } => write!(
                f,
                "{} of registered host memory at {address:#x}, a page that the process itself may not {}",
                access.name(),
                access.name()
            ),
            FaultCause::ReadOnly { address } => {
                write!(f, "write to virtual memory at {address:#x} that this device may only read")
            }
            FaultCause::Misaligned { space, size, lanes } => {
                write!(f, "misaligned atomic of {size} bytes in {}:{}", space.name(), Lanes(lanes))
            }
            FaultCause::Unimplemented { detail } if detail.is_empty() => {
                f.write_str("the emulator doesn't implement this instruction")
            }
            FaultCause::Unimplemented { detail } => {
                write!(f, "the emulator doesn't implement this: {detail}")
            }
            FaultCause::NoGlobalDataShare => {
                f.write_str("this processor has no global data share: use LDS, or global memory")
            }
            FaultCause::IllegalInstruction => f.write_str("illegal instruction"),
            FaultCause::Privileged => {
                f.write_str("a privileged instruction: only trap handlers may execute it")
            }
            FaultCause::Halted => {
                f.write_str("the wave has halted itself, and there is no debugger to resume it")
            }
            FaultCause::NeverMet { waiting, waves, not_begun } => {
                write_never_met(f, waiting, *waves, *not_begun)
            }
            FaultCause::BadJump { target } => write!(f, "jump to {target:#x}, where no instruction starts"),
            FaultCause::Trap { id: 2 } => f.write_str("trap 2 (an assert, abort or __builtin_trap)"),
            FaultCause::Trap { id } => write!(f, "trap {id}, which nothing handles"),
            FaultCause::Interrupted { instructions } => {
                write!(f, "interrupted by the program after {instructions} wave instructions")
            }
            FaultCause::OverBudget { instructions, at_barrier } => {
                write!(f, "over its budget after {instructions} wave instructions")?;
                match at_barrier {
                    0 => Ok(()),
                    1 => f.write_str("; a wave of its workgroup waits at a barrier"),
                    waves => write!(f, "; {waves} waves of its workgroup wait at a barrier"),
                }
            }
        }
    }
}

fn write_never_met(
    f: &mut fmt::Formatter<'_>,
    waiting: &[WaitingWave],
    waves: u64,
    not_begun: u64,
) -> fmt::Result {
    write!(f, "a barrier that can never be met: {waves} waves wait and no other runs:")?;
    for (n, wave) in waiting.iter().enumerate() {
        write!(f, "{} {wave}", comma(n))?;
    }
    match not_begun {
        0 => Ok(()),
        _ => write!(f, "; {not_begun} workgroups can't begin before others have ended: use a smaller grid"),
    }
}

impl FaultCause {
    /// Returns the lanes that accessed memory wrongly with their addresses, at most sixteen; none for other faults.
    pub fn lanes(&self) -> &[LaneAddress] {
        match self {
            FaultCause::OutOfBounds { lanes, .. }
            | FaultCause::Misaligned { lanes, .. }
            | FaultCause::StackOverflow { lanes, .. }
            | FaultCause::OtherLanesScratch { lanes, .. } => lanes,
            _ => &[],
        }
    }
}

/// The report of a fault: its cause, and the instruction that faulted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FaultReport {
    /// The cause of the fault.
    pub cause: FaultCause,
    /// The kernel's name.
    pub kernel: String,
    /// The position of the workgroup in the grid: x, y, z.
    pub workgroup: [u32; 3],
    /// The number of the wave in the workgroup, from 0.
    pub wave: u32,
    /// The ELF virtual address of the instruction.
    pub pc: u64,
    /// The function that contains the instruction, and the instruction's offset in bytes; `None` if no symbol covers
    /// it.
    pub function: Option<(String, u64)>,
    /// Where in the source the instruction is from, as far as debug information says. If its function was inlined, the
    /// places of the calls follow.
    pub source: Vec<SourceLocation>,
    /// The instruction's mnemonic, or `(illegal)`.
    pub mnemonic: &'static str,
    /// The instruction as `llvm-objdump` prints it; `.long` and the first dword if it is not an instruction.
    pub instruction: String,
    /// The name of the encoding, such as `VOP3`; empty if the instruction is illegal.
    pub encoding: &'static str,
    /// The first two dwords at the address of the instruction.
    pub raw: [u32; 2],
    /// For an access to global memory, the allocations nearest to the first address, as text. For an access outside of
    /// LDS, the size of the workgroup's LDS. `None` for other faults.
    pub nearest: Option<String>,
    /// The defects that the sanitizer had found before the fault; empty without
    /// [`MachineConfig::sanitize`](crate::MachineConfig::sanitize).
    pub defects: Vec<Defect>,
}

impl fmt::Display for FaultReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [x, y, z] = self.workgroup;
        write!(f, "kernel {}: {}", self.kernel, self.cause)?;
        if let Some(nearest) = &self.nearest {
            write!(f, " ({nearest})")?;
        }
        write!(f, "; workgroup ({x}, {y}, {z}), wave {}, pc {:#x}", self.wave, self.pc)?;
        if let Some((name, offset)) = &self.function {
            write!(f, " ({name}+{offset:#x})")?;
        }
        source::write(f, &self.source)?;
        // Bits that are not an instruction may still have a known opcode.
        let known = !self.mnemonic.starts_with('(') && self.instruction.starts_with(".long");
        let mnemonic = if known { format!(" {}", self.mnemonic) } else { String::new() };
        let [first, second] = self.raw;
        write!(f, ", {} [{}{mnemonic}: {first:08x} {second:08x}]", self.instruction, self.encoding)?;
        for defect in &self.defects {
            write!(f, "\n{defect}")?;
        }
        Ok(())
    }
}
