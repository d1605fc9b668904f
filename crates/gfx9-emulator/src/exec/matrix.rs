//! Matrix instructions: the places of the elements of A, B, C and D in registers, and the loops over them.
//!
//! An instruction computes `D = A * B + C` for 1 to 16 independent blocks: A is N x K, B is K x N. There are `G = 64 /
//! (N * blocks)` groups of lanes. Lane `(g * blocks + block) * N + i` has the `E = K / G` consecutive elements `A[i][g
//! * E ..]`, packed from the low bits of the first register on. The same holds for B, with column `j` in place of row
//! `i`.
//!
//! In C and D the N columns of a row are N consecutive lanes; four rows are four consecutive registers; the following
//! rows (or, of 4 x 4 matrices, the blocks) fill the remaining lanes of these registers. An f64 result has two
//! registers, and one row in place of four ("AMD Matrix Instruction Calculator"; CDNA3 ISA, "Dense Matrix
//! Multiplication Layout").
//!
//! EXEC has no effect, and MODE only on denormals of f32 matrices A and B: all lanes take part, and roundings are fixed
//! (CDNA3 ISA, "Matrix Arithmetic Instructions"). So a chunk of 16 lanes of D is 16 columns of one row, or four columns of four blocks, and its loop
//! over columns is a loop over lanes.

use std::marker::PhantomData;

use crate::exec::inst::{Exec, ExecContext, Flow, Inst};
use crate::exec::lanes::{load, scalar, store};
use crate::exec::operand::TEMP_DST;
use crate::state::wave::{CHUNK, CHUNKS, LANES, Wave};

use super::matrix_arith::Kind;
use super::packed::is_vector;

/// The modifiers of a matrix instruction, in `Inst::imm`.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Controls(pub(crate) u32);

impl Controls {
    pub(crate) const fn new(cbsz: u32, abid: u32, blgp: u32) -> Controls {
        Controls(cbsz | abid << 4 | blgp << 8)
    }

    /// The logarithm to base 2 of the number of blocks that share one block's A.
    const fn cbsz(self) -> u32 {
        self.0 & 7
    }

    /// The block, of those that share, whose A they use.
    const fn abid(self) -> usize {
        (self.0 >> 4 & 15) as usize
    }

    /// The exchange of B's lanes. Of f64 instructions, the signs of A, B and C.
    const fn blgp(self) -> u32 {
        self.0 >> 8 & 7
    }

    /// Returns the block whose A `block` uses.
    #[inline(always)]
    fn a_block<const BLOCKS: usize>(self, block: usize) -> usize {
        if BLOCKS == 1 {
            return 0;
        }
        let first = block >> self.cbsz() << self.cbsz();
        (first + self.abid()) % BLOCKS
    }

    /// Returns the lane from which the elements of B for `lane` are read.
    const fn b_lane(self, lane: usize) -> usize {
        match self.blgp() {
            0 => lane,
            // One half serves both.
            1 => lane % 32,
            2 => 32 + lane % 32,
            // Rotated.
            3 => (lane + 16) % LANES,
            // One quarter serves all.
            quarter => 16 * (quarter as usize - 4) + lane % 16,
        }
    }
}

/// The elements of A or B: `E` of each lane, and for each the power that [`Kind::P`] describes.
struct Operand<K: Kind, const E: usize> {
    values: [[K::T; LANES]; E],
    powers: [[K::P; LANES]; E],
}

/// Reads the `E` elements of A, source 0, or B, source 1, that each lane has.
#[inline(always)]
fn read<K: Kind, const E: usize>(w: &Wave, i: &Inst, source: usize) -> Operand<K, E> {
    let op = i.raw[0] >> 16 & 0x7f;
    let mut out = Operand { values: [[K::T::default(); LANES]; E], powers: [[K::P::default(); LANES]; E] };
    let per_dword = 32 / K::BITS as usize;
    for e in 0..E {
        let dwords = w.v(i.src[source].wrapping_add((e / per_dword) as u16)).flat();
        let shift = K::BITS * (e % per_dword) as u32;
        for l in 0..LANES {
            (out.values[e][l], out.powers[e][l]) = K::get(dwords[l] >> shift, op, source == 0);
        }
    }
    K::obey(out.values.as_flattened_mut(), w.mode);
    out
}

/// Exchanges lanes as [`Controls::b_lane`] says.
#[cold]
#[inline(never)]
fn exchange<T: Copy, const E: usize>(rows: &mut [[T; LANES]; E], controls: Controls) {
    for row in rows {
        let old = *row;
        for (l, x) in row.iter_mut().enumerate() {
            *x = old[controls.b_lane(l)];
        }
    }
}

/// Returns 16 consecutive elements.
#[inline(always)]
fn run<T>(row: &[T; LANES], first: usize) -> &[T; CHUNK] {
    // Always in range: blocks, groups and columns add up to 64 lanes.
    row[first..].first_chunk().unwrap_or_else(|| unreachable!())
}

/// Returns the first register of C. If C's registers overlap D's but are not the same, that is a copy of C, so that
/// results don't overwrite it.
#[inline(always)]
fn safe_c(w: &mut Wave, c: u16, d: u16, registers: u16) -> u16 {
    if c == d || c + registers <= d || d + registers <= c {
        return c;
    }
    for r in 0..registers {
        *w.v_mut(TEMP_DST + r) = *w.v(c + r);
    }
    TEMP_DST
}

/// Returns the block, the row and the first column of chunk `c` of register `r` of D.
///
/// A chunk of 4 x 4 matrices has four blocks, of which this returns the first.
const fn place<const N: usize>(r: usize, c: usize) -> (usize, usize, usize) {
    match N {
        32 => (r / 16, r % 16 / 4 * 8 + c / 2 * 4 + r % 4, c % 2 * CHUNK),
        16 => (r / 4, c * 4 + r % 4, 0),
        _ => (c * 4, r, 0),
    }
}

/// `v_mfma` with 32-bit results: multiplies `BLOCKS` matrices of N x K by K x N, with `E` elements in each lane.
pub(crate) struct Mfma<K, const N: usize, const BLOCKS: usize, const E: usize>(PhantomData<K>);

impl<K: Kind, const N: usize, const BLOCKS: usize, const E: usize> Mfma<K, N, BLOCKS, E> {
    /// The number of columns of A, and of rows of B.
    const DEPTH: usize = E * LANES / (N * BLOCKS);
    /// The number of registers of C and of D.
    const REGISTERS: usize = N * N * BLOCKS / LANES;
    /// The number of products that are added at once.
    const GROUP: usize = if K::GROUP < Self::DEPTH { K::GROUP } else { Self::DEPTH };
}

impl<K: Kind, const N: usize, const BLOCKS: usize, const E: usize> Exec for Mfma<K, N, BLOCKS, E> {
    #[inline(always)]
    fn exec(w: &mut Wave, _: &mut ExecContext, i: &Inst) -> Flow {
        let controls = Controls(i.imm);
        let a: Operand<K, E> = read(w, i, 0);
        let mut b: Operand<K, E> = read(w, i, 1);
        if controls.blgp() != 0 {
            exchange(&mut b.values, controls);
            exchange(&mut b.powers, controls);
        }
        let special = K::special(a.values.as_flattened(), b.values.as_flattened());
        let vector = is_vector(i, 2);
        let from = if vector { safe_c(w, i.src[2], i.dst, Self::REGISTERS as u16) } else { i.src[2] };
        for r in 0..Self::REGISTERS {
            for c in 0..CHUNKS {
                let (block, row, column) = place::<N>(r, c);
                // The lanes of this block, and of the block whose A it uses, in the first group.
                let b_lane = block * N + column;
                let a_lane = controls.a_block::<BLOCKS>(block) * N + row;
                let group = N * BLOCKS;
                let mut acc: [K::C; CHUNK] =
                    if vector { load(w, from + r as u16, c) } else { [scalar(w, from); CHUNK] };
                K::start(&mut acc);
                for k0 in (0..Self::DEPTH).step_by(Self::GROUP) {
                    K::add(
                        &mut acc,
                        Self::GROUP,
                        special,
                        |k| {
                            let (g, e) = ((k0 + k) / E, (k0 + k) % E);
                            if N == 4 {
                                // A chunk is four columns of each of four blocks.
                                let lane = |j: usize| controls.a_block::<BLOCKS>(block + j / 4) * 4 + row;
                                (
                                    std::array::from_fn(|j| a.values[e][lane(j)]),
                                    std::array::from_fn(|j| a.powers[e][lane(j)]),
                                )
                            } else {
                                let lane = (g * group + a_lane) % LANES;
                                ([a.values[e][lane]; CHUNK], [a.powers[e][lane]; CHUNK])
                            }
                        },
                        |k| {
                            let (g, e) = ((k0 + k) / E, (k0 + k) % E);
                            let first = (g * group + b_lane) % LANES;
                            (run(&b.values[e], first), run(&b.powers[e], first))
                        },
                    );
                }
                K::finish(&mut acc);
                store::<_, false>(w, i.dst + r as u16, c, &acc);
            }
        }
        Flow::Next
    }
}

/// `v_smfmac`: multiplies a sparse A. Of each four consecutive elements of a row of A, two are stored; for each, two
/// bits in the third source say which one it is. Each lane has `E` elements of A and `E2 = 2 E` of B. D is also C.
///
/// If CBSZ is 0, ABID selects these bits within the third source.
pub(crate) struct Smfmac<K, const N: usize, const E: usize, const E2: usize>(PhantomData<K>);

impl<K: Kind, const N: usize, const E: usize, const E2: usize> Exec for Smfmac<K, N, E, E2> {
    #[inline(always)]
    fn exec(w: &mut Wave, _: &mut ExecContext, i: &Inst) -> Flow {
        let controls = Controls(i.imm);
        let a: Operand<K, E> = read(w, i, 0);
        let mut b: Operand<K, E2> = read(w, i, 1);
        if controls.blgp() != 0 {
            exchange(&mut b.values, controls);
            exchange(&mut b.powers, controls);
        }
        let special = K::special(a.values.as_flattened(), b.values.as_flattened());
        let shift = if controls.cbsz() == 0 { (2 * E * controls.abid()) % 32 } else { 0 };
        let indices = w.v(i.src[2]).flat().map(|v| v >> shift);
        // The number of stored elements in a row of A.
        let depth = E * LANES / N;
        let products = if K::GROUP < depth { K::GROUP } else { depth };
        for r in 0..N * N / LANES {
            for c in 0..CHUNKS {
                let (_, row, column) = place::<N>(r, c);
                let mut acc: [K::C; CHUNK] = load(w, i.dst + r as u16, c);
                K::start(&mut acc);
                for k0 in (0..depth).step_by(products) {
                    K::add(
                        &mut acc,
                        products,
                        special,
                        |k| {
                            let (g, e) = ((k0 + k) / E, (k0 + k) % E);
                            let lane = (g * N + row) % LANES;
                            ([a.values[e][lane]; CHUNK], [a.powers[e][lane]; CHUNK])
                        },
                        |k| {
                            let (g, e) = ((k0 + k) / E, (k0 + k) % E);
                            let index = (indices[(g * N + row) % LANES] >> (2 * e) & 3) as usize;
                            let (e, first) = (e / 2 * 4 + index, (g * N + column) % LANES);
                            (run(&b.values[e], first), run(&b.powers[e], first))
                        },
                    );
                }
                K::finish(&mut acc);
                store::<_, false>(w, i.dst + r as u16, c, &acc);
            }
        }
        Flow::Next
    }
}

/// `v_mfma_f64_16x16x4` and, with four blocks, `v_mfma_f64_4x4x4`: a chain of fused multiply-adds. The bits of BLGP
/// negate A, B and C.
pub(crate) struct MfmaF64<const BLOCKS: usize>;

impl<const BLOCKS: usize> Exec for MfmaF64<BLOCKS> {
    #[inline(always)]
    fn exec(w: &mut Wave, _: &mut ExecContext, i: &Inst) -> Flow {
        let blgp = Controls(i.imm).blgp();
        let sign = |n: u32| u64::from(blgp >> n & 1) << 63;
        let read = |index: u16, n: u32| -> [f64; LANES] {
            let (lo, hi) = (w.v(index).flat(), w.v(index.wrapping_add(1)).flat());
            std::array::from_fn(|l| f64::from_bits((u64::from(lo[l]) | u64::from(hi[l]) << 32) ^ sign(n)))
        };
        let (a, b) = (read(i.src[0], 0), read(i.src[1], 1));
        let vector = is_vector(i, 2);
        // A row has 16 lanes: one row of a 16 x 16 matrix, or the same row of four 4 x 4 matrices.
        let registers = if BLOCKS == 1 { 4 } else { 1 };
        let from = if vector { safe_c(w, i.src[2], i.dst, 2 * registers) } else { i.src[2] };
        for r in 0..registers {
            for c in 0..CHUNKS {
                let mut acc: [f64; CHUNK] =
                    if vector { load(w, from + 2 * r, c) } else { [scalar(w, from); CHUNK] };
                for x in &mut acc {
                    *x = f64::from_bits(x.to_bits() ^ sign(2));
                }
                let row = 4 * r as usize + c;
                for k in 0..4 {
                    let column = run(&b, 16 * k);
                    for j in 0..CHUNK {
                        let lane = if BLOCKS == 1 { row % 16 } else { j / 4 * 4 + c };
                        acc[j] = a[16 * k + lane].mul_add(column[j], acc[j]);
                    }
                }
                for x in &mut acc {
                    *x = if x.is_nan() { f64::NAN } else { *x };
                }
                store::<_, false>(w, i.dst + 2 * r, c, &acc);
            }
        }
        Flow::Next
    }
}
