//! Disassembles one instruction.

use std::fmt;

use super::text::Text;
use super::words::{MOST, NotAnInstruction, Words};
use crate::encoding::Encoding;
use crate::row::Row;
use crate::target::Isa;

/// A disassembled instruction.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Instruction {
    /// The address of the instruction, as the caller gave it.
    pub address: u64,
    /// The text as LLVM prints it, such as `v_add_f32_e32 v0, v1, v2`. `.long` and the first dword if
    /// [`is_legal`](Self::is_legal) is false.
    pub text: String,
    /// The length in bytes: 4 to 12, of a scaled matrix instruction 16, and of an image instruction of gfx10 up to 20.
    pub length: usize,
    /// The dwords of the instruction. Those past its length are 0.
    pub words: [u32; 5],
    /// The address that a direct branch or call jumps to; `None` for other instructions.
    pub branch_target: Option<u64>,
    /// Whether the target has such an instruction.
    pub is_legal: bool,
    /// The row of the instruction tables; `None` if [`is_legal`](Self::is_legal) is false. Of a scaled matrix
    /// instruction, the row of the matrix instruction.
    pub row: Option<&'static Row>,
}

impl Instruction {
    /// Returns the instruction for a dword that is not an instruction.
    pub(super) fn illegal(word: u32, address: u64) -> Instruction {
        Instruction {
            address,
            text: format!(".long {word:#010x}"),
            length: 4,
            words: [word, 0, 0, 0, 0],
            branch_target: None,
            is_legal: false,
            row: None,
        }
    }
}

/// Formats the instruction as a line of `llvm-objdump -d`: text, address, dwords.
impl fmt::Display for Instruction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "\t{:<59}// {:012X}: {:08X}", self.text, self.address, self.words[0])?;
        for word in self.words.iter().take(self.length / 4).skip(1) {
            write!(f, " {word:08X}")?;
        }
        Ok(())
    }
}

/// Disassembles the instruction at the start of `code`, whose address is `pc`.
///
/// Returns `None` if the target has no such instruction or `code` ends within it.
///
/// ```
/// use amdgpu_isa::{Target, disassemble};
///
/// let code = [0xff, 0x02, 0x02, 0x7e, 0x34, 0x12, 0x00, 0x00];
/// let instruction = disassemble(Target::Gfx90a, &code, 0x2000).ok_or("no instruction")?;
/// assert_eq!(instruction.text, "v_mov_b32_e32 v1, 0x1234");
/// assert_eq!(instruction.length, 8);
/// # Ok::<(), &str>(())
/// ```
pub fn disassemble(isa: impl Into<Isa>, code: &[u8], pc: u64) -> Option<Instruction> {
    let (code, _) = code.as_chunks::<4>();
    let mut words = [0; MOST];
    words.iter_mut().zip(code).for_each(|(word, bytes)| *word = u32::from_le_bytes(*bytes));
    let mut words = Words::new(isa.into(), &words[..code.len().min(MOST)])?;
    words.joins_scales = true;
    text_of(words, pc)
}

/// Disassembles the instruction at the start of `words`: its dwords, which others may follow. See [`disassemble`]. Of a scaled
/// matrix instruction, this is `v_mfma_ld_scale_b32`.
pub fn disassemble_words(isa: impl Into<Isa>, words: &[u32], pc: u64) -> Option<Instruction> {
    text_of(Words::new(isa.into(), words)?, pc)
}

/// Implements [`disassemble`].
fn text_of(mut words: Words, pc: u64) -> Option<Instruction> {
    let mut text = String::new();
    read(&mut words, &mut Text::new(Some(&mut text))).ok()?;
    let branch_target =
        words.branch.map(|dwords| pc.wrapping_add(4).wrapping_add_signed(4 * i64::from(dwords)));
    Some(Instruction {
        address: pc,
        text,
        length: 4 * words.len,
        words: words.own(),
        branch_target,
        is_legal: true,
        row: words.found.get(),
    })
}

/// Disassembles an instruction at the start of `words` as the hardware reads it: bits that the hardware ignores may be set.
/// [`disassemble`] returns `None` for such an instruction, as LLVM does. Dwords that follow the instruction are ignored.
///
/// If the target has no such instruction, [`Instruction::is_legal`] is false and the text is `.long` with the first
/// dword.
pub fn disassemble_lenient(isa: impl Into<Isa>, words: &[u32], pc: u64) -> Instruction {
    let first = words.first().copied().unwrap_or(0);
    Words::new(isa.into(), words)
        .and_then(|mut words| {
            words.lenient = true;
            text_of(words, pc)
        })
        .unwrap_or_else(|| Instruction::illegal(first, pc))
}

/// Returns the number of dwords of the instruction at the start of `words`, 1 to 3 (that of `v_mfma_ld_scale_b32` for a scaled
/// matrix instruction, which consists of that and another instruction); `None` if the target has no such instruction, or
/// `words` ends within it. As with [`disassemble_lenient`], bits that the hardware ignores may be set.
pub fn encoded_length(isa: impl Into<Isa>, words: &[u32]) -> Option<usize> {
    let mut words = Words::new(isa.into(), words)?;
    words.lenient = true;
    read(&mut words, &mut Text::new(None)).ok()?;
    Some(words.len)
}

/// Reads an instruction, and writes its text to `t`.
fn read(words: &mut Words, t: &mut Text<'_>) -> Result<(), NotAnInstruction> {
    let rdna = words.target.is_rdna();
    match Encoding::of(words.target, words.first).ok_or(NotAnInstruction)? {
        Encoding::Sop1 => words.sop1(t),
        Encoding::Sop2 => words.sop2(t),
        Encoding::Sopk => words.sopk(t),
        Encoding::Sopc => words.sopc(t),
        Encoding::Sopp => words.sopp(t),
        Encoding::Smem if words.target.is_gfx12() => words.scalar_memory(t),
        Encoding::Smem if rdna => words.scalar_load(t),
        Encoding::Smem => words.smem(t),
        Encoding::Vop1 => words.vop1(t),
        Encoding::Vop2 => words.vop2(t),
        Encoding::Vopc => words.vopc(t),
        Encoding::Vop3 => words.vop3(t),
        Encoding::Vop3p => words.vop3p(t),
        Encoding::Vopd => words.vopd(t),
        Encoding::Ds => words.ds(t),
        Encoding::Flat | Encoding::Global | Encoding::Scratch if rdna => words.segment(t),
        Encoding::Flat | Encoding::Global | Encoding::Scratch => words.flat(t),
        Encoding::Mubuf => words.mubuf(t),
        Encoding::Mtbuf => words.mtbuf(t),
        Encoding::Mimg if rdna => words.image(t),
        Encoding::Mimg => words.mimg(t),
    }
}
