//! Faults: what a kernel did wrong, and a report that says where.

use std::fmt;

use super::access::{AccessKind, LaneAddress, Space};
use super::defect::Defect;

/// What a wave waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum WaitsFor {
    /// `s_barrier`: the other waves of its workgroup.
    Barrier,
    /// `ds_gws_barrier`: as many waves, of any workgroup, as the resource's counter says.
    GlobalBarrier {
        /// The resource, 0 to 63.
        resource: u8,
        /// Waves that have still to come.
        missing: u64,
    },
    /// `ds_gws_sema_p`: another wave's release.
    Semaphore {
        /// The resource, 0 to 63.
        resource: u8,
    },
}

/// A wave that waits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct WaitingWave {
    /// Its workgroup.
    pub workgroup: [u32; 3],
    /// Its number in the workgroup.
    pub wave: u32,
    /// What it waits for.
    pub waits_for: WaitsFor,
}

/// What went wrong.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum FaultCause {
    /// An access outside of any live allocation, or of the LDS that the kernel has. (Of scratch:
    /// [`StackOverflow`](Self::StackOverflow).)
    OutOfBounds {
        /// Which kind.
        access: AccessKind,
        /// Which memory.
        space: Space,
        /// Bytes that each lane accesses.
        size: u32,
        /// The lanes that are out of bounds, the first sixteen.
        lanes: Vec<LaneAddress>,
    },
    /// An atomic at an address that isn't a multiple of its size.
    Misaligned {
        /// Which memory.
        space: Space,
        /// Bytes that each lane accesses.
        size: u32,
        /// The lanes that are misaligned, the first sixteen.
        lanes: Vec<LaneAddress>,
    },
    /// An access past the end of the lane's scratch: on hardware to another lane's, or to another wave's.
    StackOverflow {
        /// Which kind.
        access: AccessKind,
        /// Bytes that each lane accesses.
        size: u32,
        /// The lanes that are out of bounds and their offsets, the first sixteen. Scalar accesses (`s_scratch_*`) have an
        /// offset into the scratch of the whole wave.
        lanes: Vec<LaneAddress>,
        /// Bytes of scratch that each lane has.
        scratch: u32,
        /// How many of them are for a [dynamic stack](crate::Config::dynamic_stack); 0 for kernels that use none.
        dynamic: u32,
    },
    /// A buffer access through the descriptor of scratch, with an offset that moves lanes into each other's scratch.
    OtherLanesScratch {
        /// Which kind.
        access: AccessKind,
        /// Bytes that each lane accesses.
        size: u32,
        /// The scalar offset, which has to be a multiple of 256 bytes: one dword of each lane.
        soffset: u32,
        /// The first sixteen lanes that reach another's scratch, and the lane that they reach.
        lanes: Vec<LaneAddress>,
    },
    /// An instruction that the emulator can't execute (yet).
    Unimplemented {
        /// Why, if it isn't the instruction as such.
        detail: String,
    },
    /// A DS instruction for the global data share, which gfx90a and gfx942 don't have.
    NoGlobalDataShare,
    /// No instruction of the target.
    IllegalInstruction,
    /// An instruction for trap handlers, which kernels aren't.
    Privileged,
    /// A jump to where no instruction starts.
    BadJump {
        /// Guest address.
        target: u64,
    },
    /// `s_trap`.
    Trap {
        /// The trap's number: 2 for an assert, `abort` or `__builtin_trap`. 3, `__builtin_debugtrap`, is for debuggers and
        /// does nothing.
        id: u8,
    },
    /// The wave has halted itself, and only a debugger could resume it.
    Halted,
    /// A barrier that can never be met: each wave that there is waits for others. Waves that loop for ever are not seen to
    /// do so; a budget ends them.
    NeverMet {
        /// The waves that wait, the first sixteen.
        waiting: Vec<WaitingWave>,
        /// All of them.
        waves: u64,
        /// Workgroups that can't begin before others have ended.
        not_begun: u64,
    },
    /// The kernel ran longer than [`crate::Config::instruction_budget`] or [`crate::Config::time_budget`] allows.
    OverBudget {
        /// Wave instructions executed.
        instructions: u64,
        /// Waves of the workgroup that wait at a barrier for others.
        at_barrier: u32,
    },
}

impl fmt::Display for FaultCause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let lanes = |f: &mut fmt::Formatter<'_>, lanes: &[LaneAddress]| {
            for (n, l) in lanes.iter().enumerate() {
                let comma = if n == 0 { "" } else { "," };
                match l.lane {
                    Some(lane) => write!(f, "{comma} lane {lane} at {:#x}", l.address)?,
                    None => write!(f, "{comma} {:#x}", l.address)?,
                }
            }
            Ok(())
        };
        match self {
            FaultCause::StackOverflow { access, size, lanes: l, scratch, dynamic } => {
                write!(
                    f,
                    "stack overflow: {} of {size} bytes outside of the lane's scratch:",
                    access.name()
                )?;
                lanes(f, l)?;
                write!(f, "; each lane has {scratch} bytes")?;
                match dynamic {
                    0 => f.write_str(
                        ", as the kernel declares: an index is out of an array's bounds, or the code needs more stack than \
                         its metadata says",
                    ),
                    _ => write!(
                        f,
                        ", {dynamic} of them for its dynamic stack: recurse less deep, or give it more (dynamic_stack)"
                    ),
                }
            }
            FaultCause::OtherLanesScratch { access, size, soffset, lanes: l } => {
                write!(f, "{} of {size} bytes in the scratch of other lanes:", access.name())?;
                for (n, l) in l.iter().enumerate() {
                    let comma = if n == 0 { "" } else { "," };
                    write!(f, "{comma} lane {} in that of lane {}", l.lane.unwrap_or(0), l.address)?;
                }
                match soffset % 256 {
                    0 => f.write_str("; an index in a vector register moves them"),
                    _ => write!(
                        f,
                        "; the scalar offset, {soffset:#x}, is no multiple of 256: the stack pointer is wrong"
                    ),
                }
            }
            FaultCause::OutOfBounds { access, space, size, lanes: l } => {
                write!(f, "out-of-bounds {} of {size} bytes in {}:", access.name(), space.name())?;
                lanes(f, l)
            }
            FaultCause::Misaligned { space, size, lanes: l } => {
                write!(f, "misaligned atomic of {size} bytes in {}:", space.name())?;
                lanes(f, l)
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
                write!(f, "a barrier that can never be met: {waves} waves wait and no other runs:")?;
                for (n, wave) in waiting.iter().enumerate() {
                    let comma = if n == 0 { "" } else { "," };
                    let [x, y, z] = wave.workgroup;
                    write!(f, "{comma} workgroup ({x}, {y}, {z}) wave {} ", wave.wave)?;
                    match wave.waits_for {
                        WaitsFor::Barrier => f.write_str("at s_barrier")?,
                        WaitsFor::GlobalBarrier { resource, missing } => {
                            write!(
                                f,
                                "at the global barrier {resource}, to which {missing} more have to come"
                            )?;
                        }
                        WaitsFor::Semaphore { resource } => write!(f, "at the global semaphore {resource}")?,
                    }
                }
                if *not_begun > 0 {
                    write!(
                        f,
                        "; {not_begun} workgroups can't begin before others have ended: a smaller grid"
                    )?;
                }
                Ok(())
            }
            FaultCause::BadJump { target } => write!(f, "jump to {target:#x}, where no instruction starts"),
            FaultCause::Trap { id: 2 } => f.write_str("trap 2 (an assert, abort or __builtin_trap)"),
            FaultCause::Trap { id } => write!(f, "trap {id}, which nothing handles"),
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

/// A fault, and where it happened.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FaultReport {
    /// What went wrong.
    pub cause: FaultCause,
    /// The kernel's name.
    pub kernel: String,
    /// The workgroup.
    pub workgroup: [u32; 3],
    /// The wave in the workgroup.
    pub wave: u32,
    /// ELF virtual address of the instruction.
    pub pc: u64,
    /// The function that it is in and the offset in bytes, where that is known.
    pub function: Option<(String, u64)>,
    /// The instruction's mnemonic, or `(illegal)`.
    pub mnemonic: &'static str,
    /// The instruction as `llvm-objdump` prints it, or `.long` with its first dword if it is none.
    pub instruction: String,
    /// Its encoding, such as `VOP3`.
    pub encoding: &'static str,
    /// Its first two dwords.
    pub raw: [u32; 2],
    /// For accesses to global memory: the allocations nearest to the first address. For those outside of LDS: how much of
    /// it the workgroup has.
    pub nearest: Option<String>,
    /// With [`Config::sanitize`](crate::Config::sanitize): what had been found before.
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
        // What is no instruction may still have a known opcode.
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
