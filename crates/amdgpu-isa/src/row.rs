//! The rows of the instruction tables.

use crate::encoding::Encoding;
use crate::mnemonic::Mnemonic;
use crate::target::Target;

/// A row of the instruction tables: one instruction, with its opcodes and operands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Row {
    /// The mnemonic as text, without the suffixes `_e32`, `_e64`, `_sdwa` and `_dpp`.
    pub name: &'static str,
    /// What the instruction does, as an enum that code can match on. Generations may have other names and encodings for it.
    pub mnemonic: Mnemonic,
    pub(crate) encoding: Option<Encoding>,
    /// The opcodes on the targets ([`Target::ALL`]); -1 if the target doesn't have the instruction, or another row for it. See
    /// [`Row::opcode`].
    pub op: [i16; Target::ALL.len()],
    /// The type of the destination.
    pub dst: Ty,
    /// The types of the sources; [`Ty::None`] for sources that the instruction doesn't have.
    pub src: [Ty; 3],
    /// Properties of the instruction: bits of [`flags`].
    pub flags: u64,
}

impl Row {
    /// Returns the opcode on a target; `None` if the target doesn't have the instruction.
    pub fn opcode(&self, target: Target) -> Option<u16> {
        u16::try_from(self.op[target as usize]).ok()
    }

    /// Returns the encoding; `None` for [`ILLEGAL`].
    pub fn encoding(&self) -> Option<Encoding> {
        self.encoding
    }

    /// Returns whether the instruction has one of these [`flags`].
    #[inline]
    pub const fn is(&self, flags: u64) -> bool {
        self.flags & flags != 0
    }

    /// Returns how the instruction accesses memory; `None` if it doesn't, as cache control and exchanges between lanes.
    pub const fn access(&self) -> Option<MemoryAccess> {
        match self.flags & (flags::LOAD | flags::STORE | flags::ATOMIC) {
            flags::LOAD => Some(MemoryAccess::Load),
            flags::STORE => Some(MemoryAccess::Store),
            flags::ATOMIC => Some(MemoryAccess::Atomic),
            _ => None,
        }
    }

    /// Returns the bytes of memory that each lane accesses at one address; 0 if the instruction accesses none, or a format
    /// decides it.
    pub const fn bytes(&self) -> u32 {
        (self.flags >> flags::BYTES_SHIFT) as u32
    }

    /// Returns whether this is a vector ALU instruction.
    pub fn is_valu(&self) -> bool {
        use Encoding::{Vop1, Vop2, Vop3, Vop3p, Vopc, Vopd};
        matches!(self.encoding, Some(Vop1 | Vop2 | Vopc | Vop3 | Vop3p | Vopd))
    }

    /// Returns whether this is a vector instruction, arithmetic or memory. VSKIP skips these.
    pub fn is_vector(&self) -> bool {
        use Encoding::{Smem, Sop1, Sop2, Sopc, Sopk, Sopp};
        !matches!(self.encoding, None | Some(Sop1 | Sop2 | Sopk | Sopc | Sopp | Smem))
    }
}

/// The row of encodings that are not instructions.
pub static ILLEGAL: Row = ILLEGAL_ROW;

pub(crate) const ILLEGAL_ROW: Row = Row {
    name: "(illegal)",
    mnemonic: Mnemonic::Illegal,
    encoding: None,
    op: [-1; Target::ALL.len()],
    dst: Ty::None,
    src: [Ty::None; 3],
    flags: 0,
};

/// How an instruction accesses memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MemoryAccess {
    /// It reads memory.
    Load,
    /// It writes memory.
    Store,
    /// It reads and writes memory, as one access.
    Atomic,
}

/// Properties of an instruction: the bits of [`Row::flags`].
pub mod flags {
    /// The instruction writes a mask of lanes: to VCC in short encodings, else to `sdst` (VOP3B).
    pub const SDST: u64 = 1;
    /// The instruction reads a mask of lanes: VCC in short encodings, else `src2`.
    pub const MASK_IN: u64 = 1 << 1;
    /// The destination is also the last source.
    pub const ACC: u64 = 1 << 2;
    /// A literal always follows the first dword.
    pub const LIT: u64 = 1 << 3;
    /// The destination is an SGPR.
    pub const SGPR_DST: u64 = 1 << 4;
    /// The instruction preserves the other half of the destination. Other 16-bit instructions clear the high half on gfx9, and preserve it
    /// on RDNA (LLVM, `zeroesHigh16BitsOfDest`).
    pub const KEEP: u64 = 1 << 5;
    /// The instruction is an integer one whose result saturates if the clamp bit is set.
    pub const SAT: u64 = 1 << 6;
    /// The literal of [`LIT`] is the second factor, and not the addend.
    pub const LIT_FACTOR: u64 = 1 << 7;
    /// The instruction also reads its destination, or only reads it ([`DST_KEPT`]).
    pub const DST_IN: u64 = 1 << 8;
    /// The instruction doesn't write its destination.
    pub const DST_KEPT: u64 = 1 << 9;
    /// The instruction reads SCC.
    pub const SCC_IN: u64 = 1 << 10;
    /// The instruction reads M0, which hazards concern.
    pub const M0_IN: u64 = 1 << 11;
    /// The instruction writes EXEC besides its destination.
    pub const EXEC_OUT: u64 = 1 << 12;
    /// The instruction changes the wave's mode.
    pub const MODE_OUT: u64 = 1 << 13;
    /// The instruction branches, jumps or calls. In SOPP, the immediate is the distance.
    pub const BRANCH: u64 = 1 << 14;
    /// The integer is signed: a load of less than a dword extends its sign, and so does a literal of 64 bits.
    pub const SIGNED: u64 = 1 << 15;
    /// The bits of the result are bits of the sources, which the instruction selects, moves or combines.
    pub const BITS: u64 = 1 << 16;
    /// The instruction of DS exchanges registers between lanes, and accesses no LDS.
    pub const EXCHANGE: u64 = 1 << 17;
    /// The transcendental unit executes the instruction.
    pub const TRANS: u64 = 1 << 18;
    /// The instruction is a dot product.
    pub const DOT: u64 = 1 << 19;
    /// The matrix core executes the instruction, or loads what it scales by.
    pub const MATRIX: u64 = 1 << 20;
    /// Matrix A is sparse.
    pub const SPARSE: u64 = 1 << 21;
    /// Modifiers select the formats of matrices A and B.
    pub const F8F6F4: u64 = 1 << 22;
    /// The matrices are of 64-bit floats.
    pub const DOUBLE: u64 = 1 << 23;
    /// The instruction converts integers or eight-bit floats, although its source's type is another.
    pub const CVT_BITS: u64 = 1 << 24;
    /// The instruction converts to or from small floats, with neither clamp nor omod, but with op_sel: its bits select parts
    /// of a source or of the destination.
    pub const CVT_PARTS: u64 = 1 << 25;
    /// The instruction converts more elements than a pair. It has no modifiers.
    pub const CVT_MANY: u64 = 1 << 26;
    /// The instruction reads memory.
    pub const LOAD: u64 = 1 << 27;
    /// The instruction writes memory.
    pub const STORE: u64 = 1 << 28;
    /// The instruction is an atomic on memory.
    pub const ATOMIC: u64 = 1 << 29;
    /// The atomic computes with floats.
    pub const FLOAT: u64 = 1 << 30;
    /// The atomic compares.
    pub const COMPARE: u64 = 1 << 31;
    /// The descriptor or the instruction has a format, which decides the size.
    pub const FORMAT: u64 = 1 << 32;
    /// The load stores to LDS instead of a register.
    pub const TO_LDS: u64 = 1 << 33;
    /// The elements in registers have 16 bits.
    pub const D16: u64 = 1 << 34;
    /// The load fills one half of the last register of its result, and may keep the other.
    pub const HALF: u64 = 1 << 35;
    /// The half of the register is the high one.
    pub const HIGH: u64 = 1 << 36;
    /// The instruction of DS accesses two addresses.
    pub const TWO: u64 = 1 << 37;
    /// The unit of the two offsets is 64 elements.
    pub const ST64: u64 = 1 << 38;
    /// The address has the lane's number in place of a register, besides M0 in DS.
    pub const BY_LANE: u64 = 1 << 39;
    /// The instruction of DS counts lanes at M0, once for the wave.
    pub const COUNT: u64 = 1 << 40;
    /// The instruction is global wave sync.
    pub const GWS: u64 = 1 << 41;
    /// The base of SMEM is a buffer descriptor.
    pub const DESCRIPTOR: u64 = 1 << 42;
    /// SMEM accesses the wave's private memory.
    pub const WAVE_SCRATCH: u64 = 1 << 43;
    /// The instruction multiplies matrices of 16 by 16 that the wave's registers hold. The types are those of waves of 32. In waves of
    /// 64, C and D have 4 registers instead of 8.
    pub const WMMA: u64 = 1 << 44;
    /// The load gives each lane elements of a column of a matrix, as `WMMA` expects them. The type is that of waves of 32. In waves of 64, the
    /// destination has half as many registers.
    pub const TRANSPOSE: u64 = 1 << 45;

    /// The position of the number of bytes ([`Row::bytes`](super::Row::bytes)).
    pub(super) const BYTES_SHIFT: u32 = 56;
    /// Each lane accesses 1 byte of memory.
    pub const M1: u64 = 1 << BYTES_SHIFT;
    /// Each lane accesses 2 bytes of memory.
    pub const M2: u64 = 2 << BYTES_SHIFT;
    /// Each lane accesses 4 bytes of memory.
    pub const M4: u64 = 4 << BYTES_SHIFT;
    /// Each lane accesses 8 bytes of memory.
    pub const M8: u64 = 8 << BYTES_SHIFT;
    /// Each lane accesses 12 bytes of memory.
    pub const M12: u64 = 12 << BYTES_SHIFT;
    /// Each lane accesses 16 bytes of memory.
    pub const M16: u64 = 16 << BYTES_SHIFT;
    /// Each lane accesses 32 bytes of memory.
    pub const M32: u64 = 32 << BYTES_SHIFT;
    /// Each lane accesses 64 bytes of memory.
    pub const M64: u64 = 64 << BYTES_SHIFT;
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
