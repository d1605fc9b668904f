//! DPP: an operation's first source comes from other lanes.
//!
//! Nearly all controls move lanes within rows of 16, all rows alike, which two vectors of the host do in registers. What the others
//! read of another row is one lane. So there are no tables of 64 lanes, and no unaligned loads of registers that were just written.

#![allow(clippy::needless_range_loop, reason = "a lane's number indexes several arrays")]

use amdgpu_isa::{Target, fields};

use crate::exec::inst::{Exec, ExecContext, Flow, Inst};
use crate::exec::lanes::collect;
use crate::exec::level::{Columns, with_f16c};
use crate::exec::operand::{Operand, SourceModifier, temp};
use crate::state::wave::{CHUNK, CHUNKS, LANES, Lanes, Wave};

/// The lanes that DPP reads the first source from.
#[derive(Clone)]
pub(crate) struct Dpp {
    moves: Box<Moves>,
    /// The lanes that the row and bank masks let write.
    enabled: u64,
    /// The lanes that write if every lane is active.
    written: u64,
    /// Lanes without a source read 0; otherwise they are not written.
    bound_ctrl: bool,
    /// Inactive lanes are read, too.
    fetch_inactive: bool,
}

/// How the lanes of a register move.
#[derive(Clone)]
struct Moves {
    within: RowMoves,
    across: Option<AcrossRows>,
}

/// Moves within each row of 16 lanes.
#[repr(C, align(64))]
#[derive(Clone)]
struct RowMoves {
    /// For each lane, the lane of its half of the row that it reads in the low three bits. The top bit says that it is the upper half.
    from: [u32; CHUNK],
    /// All ones for lanes that read a lane of their row, else 0.
    mask: [u32; CHUNK],
}

/// Moves of one lane to lanes of another row, or of its own.
#[repr(C, align(64))]
#[derive(Clone)]
struct AcrossRows {
    /// All ones for the lanes that read a lane across rows, else 0.
    mask: Lanes,
    /// For each row, the lane that is read.
    from: [u8; CHUNKS],
}

/// The lane that lanes read whose source is beyond the row or the wave.
const NO_LANE: u8 = LANES as u8;

impl Dpp {
    /// Returns the lanes that a control dword selects (CDNA2 ISA, "DPP"; RDNA3 ISA, "DPP16"); `None` if its control is invalid.
    pub(crate) fn new(target: Target, fields: &fields::Dpp) -> Option<Dpp> {
        let mut from = [NO_LANE; LANES];
        let (mut enabled, mut sources) = (0, 0);
        for lane in 0..LANES as i32 {
            let source = source_lane(target, fields.control, lane)?;
            if (0..LANES as i32).contains(&source) {
                from[lane as usize] = source as u8;
                sources |= 1 << lane;
            }
            let (rows, banks) = (fields.row_mask, fields.bank_mask);
            if rows >> (lane / 16) & 1 != 0 && banks >> (lane % 16 / 4) & 1 != 0 {
                enabled |= 1 << lane;
            }
        }
        let (bound_ctrl, fetch_inactive) = (fields.bound_ctrl, fields.fetch_inactive);
        let written = if bound_ctrl { enabled } else { enabled & sources };
        Some(Dpp { moves: Box::new(Moves::of(&from)), enabled, written, bound_ctrl, fetch_inactive })
    }

    /// Returns the lanes that DPP8 selects: of each eight, by three bits each. Lanes whose source is inactive read 0 (RDNA3 ISA, "DPP8").
    pub(crate) fn of_eight(lanes: u32, fetch_inactive: bool) -> Dpp {
        let from = std::array::from_fn(|lane| (lane & !7) as u8 | (lanes >> (3 * (lane & 7)) & 7) as u8);
        let moves = Box::new(Moves::of(&from));
        Dpp { moves, enabled: !0, written: !0, bound_ctrl: true, fetch_inactive }
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
    /// Returns how the lanes move of which each reads lane `from`.
    fn of(from: &[u8; LANES]) -> Moves {
        let mut within = RowMoves { from: [0; CHUNK], mask: [0; CHUNK] };
        let mut across = AcrossRows { from: [0; CHUNKS], mask: Lanes::ZERO };
        let mut reads_across = false;
        for column in 0..CHUNK {
            let sources: [u8; CHUNKS] = std::array::from_fn(|row| from[CHUNK * row + column]);
            // The lanes of a column mostly read the same lane of their row.
            let of_row = sources[0];
            if usize::from(of_row) < CHUNK
                && (0..CHUNKS).all(|row| sources[row] == of_row + (CHUNK * row) as u8)
            {
                let of_row = u32::from(of_row);
                within.from[column] = of_row & 7 | of_row >> 3 << 31;
                within.mask[column] = !0;
                continue;
            }
            for row in (0..CHUNKS).filter(|row| sources[*row] != NO_LANE) {
                across.from[row] = sources[row];
                across.mask.0[row][column] = !0;
                reads_across = true;
            }
        }
        Moves { within, across: reads_across.then_some(across) }
    }
}

/// Executes an instruction whose only modifier is DPP; with `AVX2`, at levels that have it. [`Modified`](super::modifiers::Modified) is for
/// those with others.
pub(crate) struct Moved<const AVX2: bool>;

pub(crate) const MOVED: Columns = with_f16c::<Moved<false>, Moved<true>>();

impl<const AVX2: bool> Exec for Moved<AVX2> {
    #[inline(always)]
    fn exec(w: &mut Wave, cx: &mut ExecContext, i: &Inst) -> Flow {
        let Some(ext) = &i.ext else { return Flow::Next };
        let (Some(dpp), Some(SourceModifier { from: Operand::Vector(from), ty, .. })) =
            (&ext.dpp, &ext.fixes[0])
        else {
            return Flow::Next;
        };
        let before = w.exec();
        // SAFETY: `MOVED` sets `AVX2` at levels that have it only, and the decoder picks those that the host has.
        unsafe { permute::<AVX2>(w, dpp, u16::from(ty.dwords().min(2)), *from, temp(0)) };
        // SAFETY: it was decoded for the same SIMD level as this instruction, which is executing, so the level is available.
        let flow = unsafe { (ext.inner.exec)(w, cx, &ext.inner) };
        if !ext.writes_exec {
            w.set_exec(before);
        }
        flow
    }
}

/// Moves the dwords of `dwords` registers from `v` on between lanes, to those from register `to` on, and removes from EXEC the lanes that
/// must not be written.
///
/// # Safety
/// With `AVX2`, the host must have it.
#[inline(always)]
pub(super) unsafe fn permute<const AVX2: bool>(w: &mut Wave, dpp: &Dpp, dwords: u16, v: u16, to: u16) {
    let exec = w.exec();
    if exec == w.all || dpp.fetch_inactive {
        for d in 0..dwords {
            // SAFETY: the caller's promise.
            unsafe { move_lanes::<AVX2, false>(w, &dpp.moves, v.wrapping_add(d), to + d) };
        }
        w.set_exec(exec & dpp.written);
        return;
    }
    w.refresh_mask(exec);
    let mut valid = 0;
    for d in 0..dwords {
        // SAFETY: the caller's promise.
        valid = unsafe { move_lanes::<AVX2, true>(w, &dpp.moves, v.wrapping_add(d), to + d) };
    }
    w.set_exec(exec & dpp.enabled & if dpp.bound_ctrl { !0 } else { valid });
}

/// Moves register `v` between lanes, to register `to`. Lanes that read no lane become 0. With `MASKED`, those that read an inactive lane
/// do, too: the wave's mask moves like a register. The others are returned.
///
/// # Safety
/// With `AVX2`, the host must have it.
#[inline(always)]
unsafe fn move_lanes<const AVX2: bool, const MASKED: bool>(
    w: &mut Wave,
    moves: &Moves,
    v: u16,
    to: u16,
) -> u64 {
    let mut valid = 0;
    let chunks = w.chunks();
    let (r, mask) = (&mut *w.r, &*w.mask);
    // A copy, as the compiler would read them again after each store.
    let within = moves.within.clone();
    for c in chunks {
        // SAFETY: the caller's promise.
        let mut moved = unsafe { within.row::<AVX2>(r.v(v).0[c]) };
        if let Some(across) = &moves.across {
            across.add(r.v(v), c, &mut moved);
        }
        if MASKED {
            // SAFETY: the caller's promise.
            let mut active = unsafe { within.row::<AVX2>(mask.0[c]) };
            if let Some(across) = &moves.across {
                across.add(mask, c, &mut active);
            }
            for j in 0..CHUNK {
                moved[j] &= active[j];
            }
            valid |= collect(c, active);
        }
        r.v_mut(to).0[c] = moved;
    }
    valid
}

impl AcrossRows {
    /// Adds what lanes of a row read to what they read within it, which is 0.
    #[inline(always)]
    fn add(&self, all: &Lanes, row: usize, moved: &mut [u32; CHUNK]) {
        let other = all.flat()[usize::from(self.from[row]) & (LANES - 1)];
        for j in 0..CHUNK {
            moved[j] |= other & self.mask.0[row][j];
        }
    }
}

impl RowMoves {
    /// Returns what the lanes of a row read.
    ///
    /// # Safety
    /// With `AVX2`, the host must have it.
    #[inline(always)]
    unsafe fn row<const AVX2: bool>(&self, row: [u32; CHUNK]) -> [u32; CHUNK] {
        // SAFETY: the caller's promise.
        if AVX2 { unsafe { self.of(row) } } else { self.of_any(row) }
    }

    /// Does what [`row`](Self::row) does.
    #[inline(always)]
    fn of_any(&self, row: [u32; CHUNK]) -> [u32; CHUNK] {
        let mut out = [0; CHUNK];
        for j in 0..CHUNK {
            out[j] = row[(self.from[j] & 7 | self.from[j] >> 28) as usize & (CHUNK - 1)] & self.mask[j];
        }
        out
    }

    /// Does what [`row`](Self::row) does, with intrinsics, because no loop compiles to them.
    ///
    /// # Safety
    /// The host must have AVX2.
    #[cfg(target_arch = "x86_64")]
    #[inline(always)]
    unsafe fn of(&self, row: [u32; CHUNK]) -> [u32; CHUNK] {
        use std::arch::x86_64::*;
        let [row, from, mask]: [[__m256i; 2]; 3] = bytemuck::must_cast([row, self.from, self.mask]);
        let mut out = row;
        for n in 0..2 {
            // SAFETY: the host has AVX2: the caller's promise.
            out[n] = unsafe {
                // A permutation looks at the low three bits, a choice at the top one.
                let low = _mm256_castsi256_ps(_mm256_permutevar8x32_epi32(row[0], from[n]));
                let high = _mm256_castsi256_ps(_mm256_permutevar8x32_epi32(row[1], from[n]));
                let chosen = _mm256_blendv_ps(low, high, _mm256_castsi256_ps(from[n]));
                _mm256_and_si256(_mm256_castps_si256(chosen), mask[n])
            };
        }
        bytemuck::must_cast(out)
    }

    /// # Safety
    /// None is needed here.
    #[cfg(not(target_arch = "x86_64"))]
    unsafe fn of(&self, row: [u32; CHUNK]) -> [u32; CHUNK] {
        self.of_any(row)
    }
}
