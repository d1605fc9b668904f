//! What the tables say about an instruction.

use crate::encoding::Encoding;
use crate::mnemonic::Mnemonic;
use crate::target::Target;

/// An instruction: a row of the tables.
#[derive(Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Row {
    /// Its mnemonic, without the suffixes `_e32`, `_e64`, `_sdwa` and `_dpp`.
    pub name: &'static str,
    /// Which instruction it is, to match on.
    pub mnemonic: Mnemonic,
    /// Its opcode on gfx90a and on gfx942; -1 where the target doesn't have it. See [`Row::opcode`].
    pub op: [i16; 2],
    /// The destination.
    pub dst: Ty,
    /// The sources.
    pub src: [Ty; 3],
    /// Bits of [`flags`].
    pub flags: u8,
}

impl Row {
    /// Its opcode on a target, if the target has it.
    pub fn opcode(&self, target: Target) -> Option<u16> {
        u16::try_from(self.op[target as usize]).ok()
    }

    /// Its encoding; `None` for [`ILLEGAL`].
    pub fn encoding(&self) -> Option<Encoding> {
        self.mnemonic.encoding()
    }

    /// Whether it is a vector ALU instruction.
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

    /// Whether it is an instruction of the vector units, memory included: one that VSKIP skips.
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

/// Stands for an encoding that is no instruction.
pub static ILLEGAL: Row = Row {
    name: "(illegal)",
    mnemonic: Mnemonic::Illegal,
    op: [-1, -1],
    dst: Ty::None,
    src: [Ty::None; 3],
    flags: 0,
};

/// Properties of an instruction: the bits of [`Row::flags`].
pub mod flags {
    /// Writes a mask of lanes: to VCC in short encodings, else to `sdst` (VOP3B).
    pub const SDST: u8 = 1;
    /// Reads a mask of lanes: VCC in short encodings, else `src2`.
    pub const MASK_IN: u8 = 2;
    /// The destination is a source too, after the others.
    pub const ACC: u8 = 4;
    /// A literal always follows.
    pub const LIT: u8 = 8;
    /// The destination is an SGPR.
    pub const SGPR_DST: u8 = 16;
    /// Leaves the other half of the destination as it is. Other 16-bit instructions clear the high half.
    pub const KEEP: u8 = 32;
    /// An integer instruction whose result saturates with the clamp bit.
    pub const SAT: u8 = 64;
}

/// What an operand holds: its size, how inline constants are widened to it, and which modifiers it takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ty {
    /// There is no such operand.
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
    /// Two integers of 16 bits.
    P16I,
    /// Two floats of 16 bits.
    P16F,
    /// Two of 32 bits, in two registers.
    P32,
    /// A source of `v_fma_mix_f32` and its like: f32 or f16, as the modifiers say.
    Mix,
    /// A mask of lanes, in a pair of scalar registers.
    Mask,
    /// So many dwords.
    Wide(u8),
}

impl Ty {
    /// Its size in dwords.
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
