//! The dwords of an instruction that is being disassembled.

use std::cell::Cell;

use crate::encoding::Encoding;
use crate::row::{Row, Ty};
use crate::target::{Isa, Target, WaveSize};

/// The error for dwords that are not an instruction of the target.
#[derive(Debug)]
pub(super) struct NotAnInstruction;

/// The most dwords of an instruction: those of an image instruction of gfx10 with addresses in twelve registers.
pub(super) const MOST: usize = 5;

/// The instructions that are for halves of registers alone. LLVM names no halves on gfx12 by default, so that it has no text for these.
pub(super) const WITHOUT_TEXT_ON_GFX12: [&str; 2] = ["v_mov_b16", "v_swap_b16"];

/// The dwords of an instruction that is being disassembled.
pub(super) struct Words {
    pub(super) target: Target,
    pub(super) wave: WaveSize,
    pub(super) first: u32,
    /// The instruction's dwords, and those that follow it.
    words: [u32; MOST],
    /// How many of `words` the caller has.
    given: usize,
    /// The number of dwords of the encoding, without a literal or a control dword.
    encoded: usize,
    /// The number of dwords that belong to the instruction.
    pub(super) len: usize,
    /// Whether a matrix instruction and that with its scales, which precedes it, are one instruction, as LLVM prints them.
    pub(super) joins_scales: bool,
    /// The distance of a branch: the number of dwords from the next instruction to the target.
    pub(super) branch: Option<i16>,
    /// Whether to accept encodings whose reserved bits are set.
    pub(super) lenient: bool,
    /// The row that was found last.
    pub(super) found: Cell<Option<&'static Row>>,
}

impl Words {
    /// Begins with the dwords of an instruction, which others may follow. `None` if there are none.
    #[inline]
    pub(super) fn new(isa: Isa, code: &[u32]) -> Option<Words> {
        let first = *code.first()?;
        let words = code.first_chunk().copied().unwrap_or_else(|| {
            let mut words = [0; MOST];
            words[..code.len()].copy_from_slice(code);
            words
        });
        Some(Words {
            target: isa.target,
            wave: isa.wave,
            first,
            words,
            given: code.len().min(MOST),
            encoded: 1,
            len: 1,
            joins_scales: false,
            branch: None,
            lenient: false,
            found: Cell::new(None),
        })
    }

    /// Returns the dwords of the instruction, after which there are zeros.
    pub(super) fn own(&self) -> [u32; MOST] {
        let mut words = self.words;
        words[self.len..].fill(0);
        words
    }

    /// Returns the third and fourth dword.
    pub(super) fn next_long(&self) -> Option<u64> {
        (self.given > 3).then(|| u64::from(self.words[2]) | u64::from(self.words[3]) << 32)
    }

    /// Returns whether the text is LLVM 22's. That of gfx90a is LLVM 15's.
    pub(super) fn since_gfx942(&self) -> bool {
        self.target != Target::Gfx90a
    }

    /// Returns the code of `null` on RDNA, which stands for no register.
    pub(super) fn null(&self) -> u32 {
        if self.target.is_gfx10() { 125 } else { 124 }
    }

    /// Returns whether tuples of vector registers must start at an even one.
    pub(super) fn has_even_tuples(&self) -> bool {
        self.target.has_gfx942_instructions()
    }

    /// Returns the number of registers of an operand.
    pub(super) fn dwords(&self, ty: Ty) -> u32 {
        match (ty, self.wave) {
            (Ty::Mask, WaveSize::Wave32) => 1,
            _ => u32::from(ty.dwords()),
        }
    }

    /// Returns an error for reserved bits unless `lenient` is set. These are bits that LLVM requires to be zero, or
    /// forms of an instruction that only newer versions of LLVM know. The hardware ignores the former and has the
    /// latter, so the emulator executes both.
    pub(super) fn reserved(&self, set: bool) -> Result<(), NotAnInstruction> {
        if set && !self.lenient { Err(NotAnInstruction) } else { Ok(()) }
    }

    pub(super) fn row(&self, encoding: Encoding, op: u32) -> Result<&'static Row, NotAnInstruction> {
        let is_shown = |row: &&Row| {
            self.lenient || !self.target.is_gfx12() || !WITHOUT_TEXT_ON_GFX12.contains(&row.name)
        };
        self.found.set(encoding.row(self.target, op).filter(is_shown));
        self.found.get().ok_or(NotAnInstruction)
    }

    /// Returns the dword after the encoding, which is a literal, the control dword of SDWA or DPP, or names registers. An
    /// instruction has at most one.
    pub(super) fn literal(&mut self) -> Result<u32, NotAnInstruction> {
        self.len = self.encoded + 1;
        if self.len > self.given { Err(NotAnInstruction) } else { Ok(self.words[self.encoded]) }
    }

    /// Returns the `count` dwords after the encoding, which name registers.
    pub(super) fn further(&mut self, count: usize) -> Result<Vec<u32>, NotAnInstruction> {
        self.len = self.encoded + count;
        if self.len > self.given {
            return Err(NotAnInstruction);
        }
        Ok(self.words[self.encoded..self.len].to_vec())
    }

    /// Returns the dwords of a long encoding, two or three, the first in the lowest bits.
    pub(super) fn whole(&mut self) -> Result<u128, NotAnInstruction> {
        let long = u128::from(self.long()?);
        if Encoding::of(self.target, self.first).map(|encoding| encoding.dwords(self.target)) != Some(3) {
            return Ok(long);
        }
        let third = self.literal()?;
        self.encoded = 3;
        Ok(long | u128::from(third) << 64)
    }

    /// Returns the two dwords of a long encoding, the first in the low half.
    pub(super) fn long(&mut self) -> Result<u64, NotAnInstruction> {
        let second = self.literal()?;
        self.encoded = 2;
        Ok(u64::from(self.first) | u64::from(second) << 32)
    }
}
