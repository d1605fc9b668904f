//! Operands with modifiers, which decoding creates for [`modifiers`](super::modifiers), and the temporary registers in
//! which they are prepared.

use gfx9_isa::{Ty, fields};

use crate::state::wave::{LANES, SSLOTS, TEMP};

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

    /// Returns the bits of the part of `v`, shifted down.
    #[inline(always)]
    pub(super) fn get(self, v: u32, signed: bool) -> u32 {
        let up = 32 - u32::from(self.bits);
        let top = v >> self.shift << up;
        if signed { (top as i32 >> up) as u32 } else { top >> up }
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

/// The lane that each lane reads its first source from.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Dpp {
    /// The lane; [`LANES`] if it is beyond the row or the wave.
    pub(super) from: [u8; LANES],
    /// The lanes that the row and bank masks let write.
    pub(super) enabled: u64,
    /// Lanes without a source read 0; otherwise they are not written.
    pub(super) bound_ctrl: bool,
}

impl Dpp {
    /// Returns the lanes that a control dword selects (CDNA2 ISA, "DPP"); `None` if its control is invalid.
    pub(crate) fn new(fields: &fields::Dpp) -> Option<Dpp> {
        let control = fields.control;
        let n = (control & 15) as i32;
        let mut dpp = Dpp { from: [LANES as u8; LANES], enabled: 0, bound_ctrl: fields.bound_ctrl };
        for lane in 0..LANES as i32 {
            let (row, column) = (lane & !15, lane & 15);
            let in_row = |column: i32| if (0..16).contains(&column) { row + column } else { -1 };
            let from = match control {
                0..=0xff => (lane & !3) + (control >> (2 * (lane & 3)) & 3) as i32,
                // row_shl moves data to lower lanes.
                0x101..=0x10f => in_row(column + n),
                0x111..=0x11f => in_row(column - n),
                0x121..=0x12f => row + ((column - n) & 15),
                0x130 => lane + 1,
                0x134 => (lane + 1) & 63,
                0x138 => lane - 1,
                0x13c => (lane - 1) & 63,
                0x140 => row + 15 - column,
                0x141 => (lane & !7) + 7 - (lane & 7),
                0x142 => row - 1,
                0x143 => {
                    if lane < 32 {
                        -1
                    } else {
                        31
                    }
                }
                0x150..=0x15f => row + n,
                _ => return None,
            };
            if (0..LANES as i32).contains(&from) {
                dpp.from[lane as usize] = from as u8;
            }
            let (rows, banks) = (fields.row_mask, fields.bank_mask);
            if rows >> (lane / 16) & 1 != 0 && banks >> (column / 4) & 1 != 0 {
                dpp.enabled |= 1 << lane;
            }
        }
        Some(dpp)
    }
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
