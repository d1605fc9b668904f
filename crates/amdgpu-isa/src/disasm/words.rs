//! The dwords of an instruction that is being disassembled.

use std::cell::Cell;

use crate::encoding::Encoding;
use crate::row::Row;
use crate::target::Target;

/// The error for dwords that are not an instruction of the target.
#[derive(Debug)]
pub(super) struct NotAnInstruction;

/// The dwords of an instruction that is being disassembled.
pub(super) struct Words {
    pub(super) target: Target,
    pub(super) first: u32,
    pub(super) second: Option<u32>,
    /// The next two dwords.
    pub(super) rest: Option<[u32; 2]>,
    /// The number of dwords that belong to the instruction.
    pub(super) len: usize,
    /// The distance of a branch: the number of dwords from the next instruction to the target.
    pub(super) branch: Option<i16>,
    /// Whether to accept encodings whose reserved bits are set.
    pub(super) lenient: bool,
    /// The row that was found last.
    pub(super) found: Cell<Option<&'static Row>>,
}

impl Words {
    /// Begins with the first dwords of an instruction.
    pub(super) fn new(target: Target, first: u32, second: Option<u32>, rest: Option<[u32; 2]>) -> Words {
        Words { target, first, second, rest, len: 1, branch: None, lenient: false, found: Cell::new(None) }
    }

    /// Returns whether the target is gfx942 or newer, whose text is LLVM 22's. That of gfx90a is LLVM 15's.
    pub(super) fn since_gfx942(&self) -> bool {
        self.target != Target::Gfx90a
    }

    /// Returns an error for reserved bits unless `lenient` is set. These are bits that LLVM requires to be zero, or
    /// forms of an instruction that only newer versions of LLVM know. The hardware ignores the former and has the
    /// latter, so the emulator executes both.
    pub(super) fn reserved(&self, set: bool) -> Result<(), NotAnInstruction> {
        if set && !self.lenient { Err(NotAnInstruction) } else { Ok(()) }
    }

    pub(super) fn row(&self, encoding: Encoding, op: u32) -> Result<&'static Row, NotAnInstruction> {
        self.found.set(encoding.row(self.target, op));
        self.found.get().ok_or(NotAnInstruction)
    }

    /// Returns the second dword, which is a literal or the control dword of SDWA or DPP. An instruction has at most
    /// one.
    pub(super) fn literal(&mut self) -> Result<u32, NotAnInstruction> {
        self.len = 2;
        self.second.ok_or(NotAnInstruction)
    }

    /// Returns the two dwords of a long encoding, the first in the low half.
    pub(super) fn long(&mut self) -> Result<u64, NotAnInstruction> {
        Ok(u64::from(self.first) | u64::from(self.literal()?) << 32)
    }
}
