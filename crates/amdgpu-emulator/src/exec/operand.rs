//! Operands with modifiers, which decoding creates for [`modifiers`](super::modifiers), and the temporary registers in
//! which they are prepared.

use amdgpu_isa::Ty;

use crate::state::wave::{SSLOTS, TEMP};

/// The location of an operand.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Operand {
    /// The instruction doesn't have the operand.
    None,
    /// The index of a vector register.
    Vector(u16),
    /// The index of a scalar register or constant.
    Scalar(u16),
}

/// A part of a dword: SDWA's selections, and op_sel's.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct DwordPart {
    /// The number of bits below the part.
    pub(super) shift: u8,
    pub(super) bits: u8,
}

impl DwordPart {
    pub(crate) const ALL: DwordPart = DwordPart { shift: 0, bits: 32 };
    pub(crate) const LOW: DwordPart = DwordPart { shift: 0, bits: 16 };
    pub(crate) const HIGH: DwordPart = DwordPart { shift: 16, bits: 16 };

    /// Returns the part that is byte `n`.
    pub(crate) const fn byte(n: u8) -> DwordPart {
        DwordPart { shift: 8 * n, bits: 8 }
    }

    /// Returns the part that a field of SDWA selects (CDNA2 ISA, "SDWA").
    pub(crate) const fn sdwa(code: u32) -> Option<DwordPart> {
        match code {
            0..=3 => Some(DwordPart::byte(code as u8)),
            4 => Some(DwordPart::LOW),
            5 => Some(DwordPart::HIGH),
            6 => Some(DwordPart::ALL),
            _ => None,
        }
    }

    /// Returns the numbers of bits by which a dword is shifted up, then down, so that the part's bits alone remain.
    #[inline(always)]
    pub(super) fn shifts(self) -> (u32, u32) {
        let down = 32 - u32::from(self.bits);
        (down - u32::from(self.shift), down)
    }
}

/// What happens to the other bits of a dword when a part of it is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum UnwrittenBits {
    Zero,
    /// Bits above the part become its sign, bits below it 0.
    Sign,
    /// The other bits are preserved.
    Keep,
}

/// The modifiers of a source.
#[derive(Debug, Clone, Copy)]
pub(crate) struct SourceModifier {
    pub(crate) from: Operand,
    pub(crate) ty: Ty,
    pub(crate) part: DwordPart,
    /// The part is sign-extended.
    pub(crate) signed: bool,
    pub(crate) abs: bool,
    pub(crate) neg: bool,
}

impl SourceModifier {
    /// Returns whether the source is the operand as it is.
    pub(crate) fn is_plain(&self) -> bool {
        !self.abs && !self.neg && self.part == DwordPart::ALL
    }
}

/// The modifiers of a result.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ResultModifier {
    pub(crate) dst: u16,
    pub(crate) ty: Ty,
    /// The factor: 0 for none, 1 for 2, 2 for 4, 3 for 1/2.
    pub(crate) omod: u8,
    /// Whether the result is clamped to 0..1.
    pub(crate) clamp: bool,
    pub(crate) part: DwordPart,
    pub(crate) rest: UnwrittenBits,
}

/// Returns the first of the two temporary registers of source `n`.
pub(crate) const fn temp(n: usize) -> u16 {
    TEMP + 2 * n as u16
}

/// The first scalar index of spilled constants, which did not fit into the constant pool. Each source has two.
pub(crate) const SPILL: u16 = SSLOTS as u16 - 8;

/// Returns the scalar index of the spilled constant of source `n`.
pub(crate) const fn spill(n: usize) -> u16 {
    SPILL + 2 * n as u16
}

/// The first temporary register of the result.
pub(crate) const TEMP_DST: u16 = TEMP + 6;

/// The two registers in which `v_mfma_ld_scale_b32` leaves the scales of A and B for the next instruction. No other
/// instruction uses them as temporary registers.
pub(crate) const SCALES: u16 = TEMP_DST + 64;
