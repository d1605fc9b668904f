//! Disassembly: machine code to text, from the tables that the decoder uses.
//!
//! The text is `llvm-objdump`'s, to the letter: LLVM 15's for gfx90a, LLVM 22's for gfx942. An encoding that LLVM takes
//! for no instruction, or prints with a remark that an operand is invalid, is none here either.

#[cfg(test)]
mod enumeration;
#[cfg(test)]
mod golden_tests;
mod image;
mod listing;
mod memory;
mod modifiers;
mod operand;
mod packed;
mod scalar;
mod sdwa;
mod symbolic;
mod text;
mod vector;

use std::fmt;

use crate::tables::{Encoding, Index, Row, Target};
use text::Text;

pub use listing::{Function, Instructions, Listing};

/// Why an encoding is no instruction.
#[derive(Debug)]
struct Bad;

/// One instruction, disassembled.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Instruction {
    /// Its address.
    pub address: u64,
    /// As LLVM prints it, such as `v_add_f32_e32 v0, v1, v2`; `.long` and the bits of what is no instruction.
    pub text: String,
    /// Bytes: 4 or 8.
    pub length: usize,
    /// Its dwords; the second is 0 if there is but one.
    pub words: [u32; 2],
    /// Where a direct branch or call goes: the address.
    pub branch_target: Option<u64>,
    /// Whether the target has such an instruction.
    pub is_legal: bool,
}

impl Instruction {
    /// What is no instruction.
    fn illegal(word: u32, address: u64) -> Instruction {
        Instruction {
            address,
            text: format!(".long {word:#010x}"),
            length: 4,
            words: [word, 0],
            branch_target: None,
            is_legal: false,
        }
    }
}

/// As a line of `llvm-objdump -d`: text, address, dwords.
impl fmt::Display for Instruction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "\t{:<59}// {:012X}: {:08X}", self.text, self.address, self.words[0])?;
        if self.length > 4 {
            write!(f, " {:08X}", self.words[1])?;
        }
        Ok(())
    }
}

/// Disassembles the instruction at the start of `code`, whose address is `pc`.
///
/// `None` if the target has no such instruction or `code` ends within it.
///
/// ```
/// use gfx9_emulator::{Target, disassemble};
///
/// let code = [0xff, 0x02, 0x02, 0x7e, 0x34, 0x12, 0x00, 0x00];
/// let instruction = disassemble(Target::Gfx90a, &code, 0x2000).ok_or("no instruction")?;
/// assert_eq!(instruction.text, "v_mov_b32_e32 v1, 0x1234");
/// assert_eq!(instruction.length, 8);
/// # Ok::<(), &str>(())
/// ```
pub fn disassemble(target: Target, code: &[u8], pc: u64) -> Option<Instruction> {
    let (words, _) = code.as_chunks::<4>();
    let mut words = words.iter().map(|word| u32::from_le_bytes(*word));
    let first = words.next()?;
    disassemble_words(target, first, words.next(), pc)
}

/// [`disassemble`], for the dwords of an instruction.
pub(crate) fn disassemble_words(
    target: Target,
    first: u32,
    second: Option<u32>,
    pc: u64,
) -> Option<Instruction> {
    disassemble_leniently(target, first, second, pc, false)
}

/// [`disassemble_words`]; with `lenient` also what LLVM refuses only for bits that the hardware ignores.
fn disassemble_leniently(
    target: Target,
    first: u32,
    second: Option<u32>,
    pc: u64,
    lenient: bool,
) -> Option<Instruction> {
    let mut text = String::new();
    let mut words = Words { target, first, second, len: 1, branch: None, lenient };
    words.instruction(&mut Text::new(Some(&mut text))).ok()?;
    let branch_target =
        words.branch.map(|dwords| pc.wrapping_add(4).wrapping_add_signed(4 * i64::from(dwords)));
    Some(Instruction {
        address: pc,
        text,
        length: 4 * words.len,
        words: [first, if words.len > 1 { second.unwrap_or(0) } else { 0 }],
        branch_target,
        is_legal: true,
    })
}

/// An instruction of the two dwords that the decoder keeps of it. What is executed has a text.
pub(crate) fn instruction(target: Target, words: [u32; 2], pc: u64) -> Instruction {
    disassemble_leniently(target, words[0], Some(words[1]), pc, true)
        .unwrap_or_else(|| Instruction::illegal(words[0], pc))
}

/// The dwords of an instruction that may be executed; `None` if the target has none of this encoding. Reserved bits
/// count for nothing, other than in [`disassemble`].
pub(crate) fn length(target: Target, first: u32, second: Option<u32>) -> Option<usize> {
    let mut words = Words { target, first, second, len: 1, branch: None, lenient: true };
    words.instruction(&mut Text::new(None)).ok()?;
    Some(words.len)
}

/// The dwords of an instruction, being read.
struct Words {
    target: Target,
    first: u32,
    second: Option<u32>,
    /// Dwords that belong to the instruction.
    len: usize,
    /// Dwords from the next instruction to the one branched to.
    branch: Option<i16>,
    /// Takes encodings whose reserved bits are set.
    lenient: bool,
}

impl Words {
    /// Whether LLVM 22's texts are wanted.
    fn is_gfx942(&self) -> bool {
        self.target == Target::Gfx942
    }

    /// For bits that LLVM wants to be zero, or forms that only newer LLVMs have of a processor's instructions. The
    /// hardware ignores what an instruction has no use for, so the emulator executes them.
    fn reserved(&self, set: bool) -> Result<(), Bad> {
        if set && !self.lenient { Err(Bad) } else { Ok(()) }
    }

    fn row(&self, encoding: Encoding, op: u32) -> Result<&'static Row, Bad> {
        Index::of(self.target).get(encoding, op).ok_or(Bad)
    }

    /// The second dword: a literal, or SDWA's or DPP's controls. An instruction has but one.
    fn literal(&mut self) -> Result<u32, Bad> {
        self.len = 2;
        self.second.ok_or(Bad)
    }

    /// Bits `at..at + bits` of an encoding of two dwords.
    fn fields(&mut self) -> Result<impl Fn(u32, u32) -> u32 + Copy + use<>, Bad> {
        let long = u64::from(self.first) | u64::from(self.literal()?) << 32;
        Ok(move |at: u32, bits: u32| (long >> at) as u32 & ((1 << bits) - 1))
    }

    fn instruction(&mut self, t: &mut Text<'_>) -> Result<(), Bad> {
        let word = self.first;
        if word >> 31 == 0 {
            return match word >> 25 {
                0x3e => self.vopc(t),
                0x3f => self.vop1(t),
                _ => self.vop2(t),
            };
        }
        if word >> 30 == 2 {
            return match word >> 23 {
                0x17d => self.sop1(t),
                0x17e => self.sopc(t),
                0x17f => self.sopp(t),
                _ if word >> 28 == 0xb => self.sopk(t),
                _ => self.sop2(t),
            };
        }
        match word >> 26 {
            0x30 => self.smem(t),
            0x34 if word >> 23 & 7 == 7 => self.vop3p(t),
            0x34 => self.vop3(t),
            0x36 => self.ds(t),
            0x37 => self.flat(t),
            0x38 => self.mubuf(t),
            0x3a => self.mtbuf(t),
            0x3c => self.mimg(t),
            _ => Err(Bad),
        }
    }
}
