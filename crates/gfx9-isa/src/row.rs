//! The rows of the instruction tables.

use crate::encoding::Encoding;
use crate::mnemonic::Mnemonic;
use crate::target::Target;

/// A row of the instruction tables: one instruction, with its opcodes and operands.
#[derive(Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Row {
    /// The mnemonic as text, without the suffixes `_e32`, `_e64`, `_sdwa` and `_dpp`.
    pub name: &'static str,
    /// The mnemonic as an enum that code can match on.
    pub mnemonic: Mnemonic,
    /// The opcodes on gfx90a, gfx942 and gfx950; -1 if the target doesn't have the instruction. See [`Row::opcode`].
    pub op: [i16; 3],
    /// The type of the destination.
    pub dst: Ty,
    /// The types of the sources; [`Ty::None`] for sources that the instruction doesn't have.
    pub src: [Ty; 3],
    /// Properties of the instruction: bits of [`flags`].
    pub flags: u8,
}

impl Row {
    /// Returns the opcode on a target; `None` if the target doesn't have the instruction.
    pub fn opcode(&self, target: Target) -> Option<u16> {
        u16::try_from(self.op[target as usize]).ok()
    }

    /// Returns the encoding; `None` for [`ILLEGAL`].
    pub fn encoding(&self) -> Option<Encoding> {
        self.mnemonic.encoding()
    }

    /// Returns whether this is a vector ALU instruction.
    pub fn is_valu(&self) -> bool {
        matches!(
            self.mnemonic,
            Mnemonic::Vop1(_)
                | Mnemonic::Vop2(_)
                | Mnemonic::Vopc(_)
                | Mnemonic::Vop3(_)
                | Mnemonic::Vop3p(_)
        )
    }

    /// Returns whether this is a vector instruction, arithmetic or memory. VSKIP skips these.
    pub fn is_vector(&self) -> bool {
        !matches!(
            self.mnemonic,
            Mnemonic::Illegal
                | Mnemonic::Sop1(_)
                | Mnemonic::Sop2(_)
                | Mnemonic::Sopk(_)
                | Mnemonic::Sopc(_)
                | Mnemonic::Sopp(_)
                | Mnemonic::Smem(_)
        )
    }
}

/// The row of encodings that are not instructions.
pub static ILLEGAL: Row = Row {
    name: "(illegal)",
    mnemonic: Mnemonic::Illegal,
    op: [-1; 3],
    dst: Ty::None,
    src: [Ty::None; 3],
    flags: 0,
};

/// Properties of an instruction: the bits of [`Row::flags`].
pub mod flags {
    /// The instruction writes a mask of lanes: to VCC in short encodings, else to `sdst` (VOP3B).
    pub const SDST: u8 = 1;
    /// The instruction reads a mask of lanes: VCC in short encodings, else `src2`.
    pub const MASK_IN: u8 = 2;
    /// The destination is also the last source.
    pub const ACC: u8 = 4;
    /// A literal always follows the first dword.
    pub const LIT: u8 = 8;
    /// The destination is an SGPR.
    pub const SGPR_DST: u8 = 16;
    /// The instruction preserves the other half of the destination. Other 16-bit instructions clear the high half.
    pub const KEEP: u8 = 32;
    /// The instruction is an integer one whose result saturates if the clamp bit is set.
    pub const SAT: u8 = 64;
}

/// The type of an operand. It determines the operand's size, how inline constants are widened to it, and which
/// modifiers it accepts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ty {
    /// The instruction doesn't have the operand.
    None,
    /// 32 bits, integer or untyped.
    B32,
    /// A float of 32 bits.
    F32,
    /// 64 bits, integer or untyped.
    B64,
    /// A float of 64 bits.
    F64,
    /// An integer in the low 16 bits.
    I16,
    /// A float in the low 16 bits.
    F16,
    /// A bfloat16 in the low 16 bits.
    Bf16,
    /// Two integers of 16 bits.
    P16I,
    /// Two floats of 16 bits.
    P16F,
    /// Two bfloat16.
    P16Bf,
    /// Two values of 32 bits, in two registers.
    P32,
    /// A source of `v_fma_mix_f32` and similar instructions: f32 or f16, depending on the modifiers.
    Mix,
    /// A mask of lanes, in a pair of scalar registers.
    Mask,
    /// The given number of dwords.
    Wide(u8),
}

impl Ty {
    /// Returns the size in dwords, 0 for [`Ty::None`].
    #[inline]
    pub const fn dwords(self) -> u8 {
        match self {
            Ty::None => 0,
            Ty::B64 | Ty::F64 | Ty::P32 | Ty::Mask => 2,
            Ty::Wide(n) => n,
            _ => 1,
        }
    }
}
