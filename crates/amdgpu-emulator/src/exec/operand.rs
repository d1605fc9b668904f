//! Operands with modifiers, which decoding creates for [`modifiers`](super::modifiers), and the temporary registers in
//! which they are prepared.

use amdgpu_isa::{Target, Ty, fields};

use crate::state::wave::{CHUNK, CHUNKS, LANES, Lanes, SSLOTS, TEMP, expand};

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

/// The lanes that DPP reads the first source from.
#[derive(Clone)]
pub(crate) struct Dpp {
    pub(super) moves: Moves,
    /// The lanes that read a lane.
    pub(super) sources: u64,
    /// The lanes that the row and bank masks let write.
    pub(super) enabled: u64,
    /// Lanes without a source read 0; otherwise they are not written.
    pub(super) bound_ctrl: bool,
    /// Inactive lanes are read, too.
    pub(super) fetch_inactive: bool,
}

/// How a register's lanes are permuted: in one of a few ways that vector instructions of the host can do.
#[derive(Clone)]
pub(super) enum Moves {
    /// All lanes of a row read the same lane, that of their row in the list; [`NO_LANE`] for none.
    Broadcast([u8; CHUNKS]),
    /// Each row of 16 lanes is reversed.
    Mirror,
    /// Each half of a row is reversed.
    HalfMirror,
    /// Some lanes read the lane so far above or below them.
    Shifts(Box<[Shift; MAX_SHIFTS]>),
}

/// A shift by some lanes, and the lanes for which it is.
#[derive(Clone, Copy)]
pub(super) struct Shift {
    /// The number of the lane that is read, less that of the lane that reads it.
    pub(super) by: i8,
    /// The lanes that read, as bits and as a mask. Unused shifts have none.
    pub(super) lanes: u64,
    pub(super) mask: Lanes,
}

/// A permutation of eight lanes that is the same in all groups, and an exclusive or within a row, have at most as many distances.
const MAX_SHIFTS: usize = 8;
/// The lane that lanes read whose source is beyond the row or the wave.
pub(super) const NO_LANE: u8 = LANES as u8;

impl Dpp {
    /// Returns the lanes that a control dword selects (CDNA2 ISA, "DPP"; RDNA3 ISA, "DPP16"); `None` if its control is invalid.
    pub(crate) fn new(target: Target, fields: &fields::Dpp) -> Option<Dpp> {
        let mut from = [NO_LANE; LANES];
        let mut enabled = 0;
        for lane in 0..LANES as i32 {
            let source = source_lane(target, fields.control, lane)?;
            if (0..LANES as i32).contains(&source) {
                from[lane as usize] = source as u8;
            }
            let (rows, banks) = (fields.row_mask, fields.bank_mask);
            if rows >> (lane / 16) & 1 != 0 && banks >> (lane % 16 / 4) & 1 != 0 {
                enabled |= 1 << lane;
            }
        }
        let moves = Moves::of(&from);
        let (bound_ctrl, fetch_inactive) = (fields.bound_ctrl, fields.fetch_inactive);
        Some(Dpp { sources: moves.of_bits(!0), moves, enabled, bound_ctrl, fetch_inactive })
    }

    /// Returns the lanes that DPP8 selects: of each eight, by three bits each. Lanes whose source is inactive read 0 (RDNA3 ISA, "DPP8").
    pub(crate) fn of_eight(lanes: u32, fetch_inactive: bool) -> Dpp {
        let from = std::array::from_fn(|lane| (lane & !7) as u8 | (lanes >> (3 * (lane & 7)) & 7) as u8);
        Dpp { moves: Moves::of(&from), sources: !0, enabled: !0, bound_ctrl: true, fetch_inactive }
    }
}

/// Returns the lane that `lane` reads: none if that is not a lane of the wave. `None` if the control is invalid.
fn source_lane(target: Target, control: u32, lane: i32) -> Option<i32> {
    let n = (control & 15) as i32;
    let (row, column) = (lane & !15, lane & 15);
    let in_row = |column: i32| if (0..16).contains(&column) { row + column } else { -1 };
    Some(match control {
        0..=0xff => (lane & !3) + (control >> (2 * (lane & 3)) & 3) as i32,
        // row_shl moves data to lower lanes.
        0x101..=0x10f => in_row(column + n),
        0x111..=0x11f => in_row(column - n),
        0x121..=0x12f => row + ((column - n) & 15),
        0x140 => row + 15 - column,
        0x141 => (lane & !7) + 7 - (lane & 7),
        0x150..=0x15f => row + n,
        0x160..=0x16f if target.is_rdna() => row + (column ^ n),
        // gfx11 moves nothing between rows.
        _ if target.is_rdna() => return None,
        0x130 => lane + 1,
        0x134 => (lane + 1) & 63,
        0x138 => lane - 1,
        0x13c => (lane - 1) & 63,
        0x142 => row - 1,
        0x143 => {
            if lane < 32 {
                -1
            } else {
                31
            }
        }
        _ => return None,
    })
}

impl Moves {
    /// Returns how the lanes are permuted of which each reads lane `from`.
    fn of(from: &[u8; LANES]) -> Moves {
        let flipped = |bits: usize| (0..LANES).all(|lane| usize::from(from[lane]) == lane ^ bits);
        if from.chunks(CHUNK).all(|row| row.iter().all(|lane| *lane == row[0])) {
            return Moves::Broadcast(std::array::from_fn(|row| from[CHUNK * row]));
        }
        if flipped(15) {
            return Moves::Mirror;
        }
        if flipped(7) {
            return Moves::HalfMirror;
        }
        let mut shifts = [Shift { by: 0, lanes: 0, mask: Lanes::ZERO }; MAX_SHIFTS];
        for (lane, from) in (0i8..).zip(from).filter(|(_, from)| **from != NO_LANE) {
            let by = *from as i8 - lane;
            if let Some(shift) = shifts.iter_mut().find(|shift| shift.lanes == 0 || shift.by == by) {
                shift.by = by;
                shift.lanes |= 1 << lane;
            }
        }
        shifts.iter_mut().for_each(|shift| expand(shift.lanes, &mut shift.mask));
        Moves::Shifts(Box::new(shifts))
    }

    /// Returns the bits of `lanes` that each lane reads; 0 where it reads none.
    #[inline(always)]
    pub(super) fn of_bits(&self, lanes: u64) -> u64 {
        match self {
            Moves::Broadcast(rows) => (0..).zip(rows).fold(0, |all, (row, from)| {
                let bit = *from != NO_LANE && lanes >> (from & 63) & 1 != 0;
                all | (u64::from(bit) * 0xffff) << (16 * row)
            }),
            Moves::Mirror => {
                let rows: [u16; CHUNKS] = bytemuck::must_cast(lanes);
                bytemuck::must_cast(rows.map(u16::reverse_bits))
            }
            Moves::HalfMirror => u64::from_le_bytes(lanes.to_le_bytes().map(u8::reverse_bits)),
            Moves::Shifts(shifts) => shifts.iter().fold(0, |all, shift| {
                let by = u32::from(shift.by.unsigned_abs());
                all | shift.lanes & if shift.by < 0 { lanes << by } else { lanes >> by }
            }),
        }
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
