//! An instruction's dwords while they are read.

use crate::encoding::Encoding;
use crate::row::Row;
use crate::target::Target;

/// Why an encoding is no instruction.
#[derive(Debug)]
pub(super) struct NotAnInstruction;

/// The dwords of an instruction, being read.
pub(super) struct Words {
    pub(super) target: Target,
    pub(super) first: u32,
    pub(super) second: Option<u32>,
    /// Dwords that belong to the instruction.
    pub(super) len: usize,
    /// Dwords from the next instruction to the one branched to.
    pub(super) branch: Option<i16>,
    /// Takes encodings whose reserved bits are set.
    pub(super) lenient: bool,
}

impl Words {
    /// Whether LLVM 22's texts are wanted.
    pub(super) fn is_gfx942(&self) -> bool {
        self.target == Target::Gfx942
    }

    /// For bits that LLVM wants to be zero, or forms that only newer LLVMs have of a processor's instructions. The
    /// hardware ignores what an instruction has no use for, so the emulator executes them.
    pub(super) fn reserved(&self, set: bool) -> Result<(), NotAnInstruction> {
        if set && !self.lenient { Err(NotAnInstruction) } else { Ok(()) }
    }

    pub(super) fn row(&self, encoding: Encoding, op: u32) -> Result<&'static Row, NotAnInstruction> {
        encoding.row(self.target, op).ok_or(NotAnInstruction)
    }

    /// The second dword: a literal, or SDWA's or DPP's controls. An instruction has but one.
    pub(super) fn literal(&mut self) -> Result<u32, NotAnInstruction> {
        self.len = 2;
        self.second.ok_or(NotAnInstruction)
    }

    /// An encoding of two dwords, the first in the low half.
    pub(super) fn long(&mut self) -> Result<u64, NotAnInstruction> {
        Ok(u64::from(self.first) | u64::from(self.literal()?) << 32)
    }
}
