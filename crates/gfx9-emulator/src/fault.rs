//! Faults: what a kernel did wrong, and a report that says where.

use std::fmt;

use crate::observe::Defect;

/// Which kind of access.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Access {
    /// A load.
    Read,
    /// A store.
    Write,
    /// A read-modify-write.
    Atomic,
}

/// Which memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Space {
    /// Device memory and mapped host memory.
    Global,
    /// The workgroup's LDS.
    Lds,
    /// The work-item's scratch.
    Scratch,
}

/// One lane's access that faulted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct LaneAddress {
    /// The lane, 0 to 63; none for scalar accesses.
    pub lane: Option<u8>,
    /// The address; in LDS and scratch the offset.
    pub address: u64,
}

/// What went wrong.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum FaultCause {
    /// An access outside of any live allocation, or of the LDS or scratch that the kernel has.
    OutOfBounds {
        /// Which kind.
        access: Access,
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
    /// An instruction that the emulator can't execute (yet).
    Unimplemented {
        /// Why, if it isn't the instruction as such.
        detail: String,
    },
    /// No instruction of the target.
    IllegalInstruction,
    /// A jump to where no instruction starts.
    BadJump {
        /// Guest address.
        target: u64,
    },
    /// `s_trap`: an assert, `abort` or `__builtin_trap`.
    Trap {
        /// The trap's number: 2 for `llvm.trap`, 3 for `llvm.debugtrap`.
        id: u8,
    },
    /// The kernel ran longer than [`crate::Config::instruction_budget`] or [`crate::Config::time_budget`] allows.
    OverBudget {
        /// Wave instructions executed.
        instructions: u64,
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
            FaultCause::IllegalInstruction => f.write_str("illegal instruction"),
            FaultCause::BadJump { target } => write!(f, "jump to {target:#x}, where no instruction starts"),
            FaultCause::Trap { id } => write!(f, "trap {id} (an assert, abort or __builtin_trap)"),
            FaultCause::OverBudget { instructions } => {
                write!(f, "over its budget after {instructions} wave instructions")
            }
        }
    }
}

impl Access {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Access::Read => "read",
            Access::Write => "write",
            Access::Atomic => "atomic",
        }
    }
}

impl Space {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Space::Global => "global memory",
            Space::Lds => "LDS",
            Space::Scratch => "scratch",
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
    /// For accesses to global memory: the allocations nearest to the first address.
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
