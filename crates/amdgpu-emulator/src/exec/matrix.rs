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
use crate::exec::lanes::{Word, load, scalar, store};
use crate::exec::operand::TEMP_DST;
use crate::state::wave::{Aligned, CHUNK, CHUNKS, LANES, Wave};

use super::matrix_arith::{Kind, Operand, Register, hidden};
use super::packed::is_vector;

/// The modifiers of a matrix instruction, in `Inst::imm`.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Controls(pub(crate) u32);

impl Controls {
    pub(crate) const fn new(cbsz: u32, abid: u32, blgp: u32) -> Controls {
        Controls(cbsz | abid << 4 | blgp << 8)
    }

    /// The logarithm to base 2 of the number of blocks that share one block's A.
    pub(super) const fn cbsz(self) -> u32 {
        self.0 & 7
    }

    /// The block, of those that share, whose A they use.
    const fn abid(self) -> usize {
        (self.0 >> 4 & 15) as usize
    }

    /// The exchange of B's lanes. Of f64 instructions, the signs of A, B and C.
    pub(super) const fn blgp(self) -> u32 {
        self.0 >> 8 & 7
    }

    /// Adds whether elements of A, and of B, are fp8 in an instruction of 8-bit floats.
    pub(crate) const fn with_fp8(self, a: bool, b: bool) -> Controls {
        Controls(self.0 | (a as u32) << 12 | (b as u32) << 13)
    }

    /// Returns whether elements of A (source 0) or B (source 1) are fp8.
    const fn fp8(self, source: usize) -> bool {
        self.0 >> (12 + source) & 1 != 0
    }

    /// Returns whether an instruction of gfx950 has scales.
    pub(crate) const fn is_scaled(self) -> bool {
        self.abid() & 1 != 0
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

/// Reads the `E` elements of A, source 0, or B, source 1, that each lane has.
#[inline(always)]
fn read<K: Kind, const E: usize>(operand: &mut Operand<K, E>, w: &Wave, i: &Inst, source: usize) {
    let controls = Controls(i.imm);
    K::read(operand, w, i.src[source], controls.fp8(source));
    K::obey(operand.values.as_flattened_mut(), w.mode);
    if source == 1 && controls.blgp() != 0 {
        exchange(&mut operand.values, controls);
        exchange(&mut operand.exponents, controls);
    }
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
pub(super) fn run<T>(row: &[T; LANES], first: usize) -> &[T; CHUNK] {
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

/// Loads the accumulators of chunk `c` of register `r`, or a scalar for all.
#[inline(always)]
fn load_chunk<C: Word>(w: &Wave, vector: bool, (first, r): (u16, usize), c: usize) -> [C; CHUNK] {
    if vector { load(&w.r, first + r as u16, c) } else { [scalar(&w.r, first); CHUNK] }
}

/// Loads the accumulators of register `r`, or a scalar for all.
#[inline(always)]
fn load_register<C: Word>(w: &Wave, vector: bool, first: u16, r: usize) -> Register<C> {
    if vector {
        std::array::from_fn(|c| load(&w.r, first + r as u16, c))
    } else {
        [[scalar(&w.r, first); CHUNK]; CHUNKS]
    }
}

/// Loads the accumulators of all registers.
#[inline(always)]
fn accumulators<C: Word>(
    w: &Wave,
    vector: bool,
    first: u16,
    registers: usize,
) -> impl Iterator<Item = Register<C>> {
    (0..if vector { registers } else { 1 }).map(move |r| load_register(w, vector, first, r))
}

#[inline(always)]
fn store_register<C: Word>(w: &mut Wave, index: u16, acc: &Register<C>) {
    for (c, acc) in acc.iter().enumerate() {
        store::<_, false>(&mut w.r, &w.mask, index, c, acc);
    }
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
    /// The number of groups of lanes between the first and the last of these products.
    const SPAN: usize = (Self::GROUP - 1) / E;
    /// Whether so few products are added to each accumulator that copying a register of them would take most of the time.
    const HAS_FEW_PRODUCTS: bool = Self::DEPTH <= 2 * Self::GROUP && size_of::<K::P>() == 0;
}

impl<K: Kind, const N: usize, const BLOCKS: usize, const E: usize> Exec for Mfma<K, N, BLOCKS, E> {
    #[inline(always)]
    fn exec(w: &mut Wave, _: &mut ExecContext, i: &Inst) -> Flow {
        let controls = Controls(i.imm);
        let (mut a, mut b) = (Operand::new(), Operand::new());
        read(&mut a, w, i, 0);
        read(&mut b, w, i, 1);
        let range = Self::with_accumulators(K::range(&a, &b), w, i);
        K::settle(range, a.values.as_flattened_mut());
        Self::multiply(w, i, &a, &b, range, |block| controls.a_block::<BLOCKS>(block), |_, _, _| ());
        Flow::Next
    }
}

impl<K: Kind, const N: usize, const BLOCKS: usize, const E: usize> Mfma<K, N, BLOCKS, E> {
    /// Returns the range for all accumulators.
    #[inline(always)]
    pub(super) fn with_accumulators(range: K::Range, w: &Wave, i: &Inst) -> K::Range {
        let vector = is_vector(i, 2);
        accumulators(w, vector, i.src[2], Self::REGISTERS).fold(range, |range, acc| K::with(range, &acc))
    }

    /// Adds the products from `k0` on to the accumulators of chunk `c` of register `r`.
    #[inline(always)]
    fn add(
        acc: &mut [K::C; CHUNK],
        (a, b): (&Operand<K, E>, &Operand<K, E>),
        (r, c, k0): (usize, usize, usize),
        range: K::Range,
        a_block: &impl Fn(usize) -> usize,
        scale: &impl Fn(usize, usize, &mut [i32; CHUNK]),
    ) {
        let (block, row, column) = place::<N>(r, c);
        // The lanes of this block, and of the block whose A it uses, in the first group.
        let (b_lane, a_lane) = (block * N + column, a_block(block) * N + row);
        let group = N * BLOCKS;
        let (g, last) = (k0 / E, LANES - Self::SPAN * group);
        // The limits are never exceeded. They save checks in the loop over products, whose addresses then have
        // constant distances.
        let e = if E > Self::GROUP { (k0 % E).min(E - Self::GROUP) } else { 0 };
        let a_first = (g * group + a_lane).min(last - 1);
        let b_first = (g * group + b_lane).min(last - CHUNK);
        K::add(
            acc,
            Self::GROUP,
            range,
            |k, j| {
                let lane = if N == 4 {
                    // A chunk is four columns of each of four blocks.
                    (a_block(block + j / 4) * 4 + row) % LANES
                } else {
                    a_first + k / E * group
                };
                (a.values[e + k % E][lane], a.exponents[e + k % E][lane])
            },
            |k| {
                let first = b_first + k / E * group;
                (run(&b.values[e + k % E], first), run(&b.exponents[e + k % E], first))
            },
            |tops| scale(a_first, b_first, tops),
        );
    }

    /// Adds the products of A and B to C, and stores D. `a_block` returns the block whose A a block uses, `scale` scales
    /// the powers of two of sums of products of a lane's elements of A and of those of 16 lanes of B.
    #[inline(always)]
    pub(super) fn multiply(
        w: &mut Wave,
        i: &Inst,
        a: &Operand<K, E>,
        b: &Operand<K, E>,
        range: K::Range,
        a_block: impl Fn(usize) -> usize,
        scale: impl Fn(usize, usize, &mut [i32; CHUNK]),
    ) {
        let vector = is_vector(i, 2);
        let from = if vector { safe_c(w, i.src[2], i.dst, Self::REGISTERS as u16) } else { i.src[2] };
        for r in 0..Self::REGISTERS {
            if Self::HAS_FEW_PRODUCTS {
                for c in 0..CHUNKS {
                    let mut chunk = load_chunk(w, vector, (from, r), c);
                    K::start(&mut chunk);
                    for k0 in (0..Self::DEPTH).step_by(Self::GROUP) {
                        Self::add(&mut chunk, (a, b), (r, c, k0), range, &a_block, &scale);
                    }
                    K::finish(&mut chunk, range);
                    store::<_, false>(&mut w.r, &w.mask, i.dst + r as u16, c, &chunk);
                }
                continue;
            }
            let mut acc = Aligned(load_register::<K::C>(w, vector, from, r));
            if K::BY_CHUNK {
                for c in (0..CHUNKS).map(hidden) {
                    let mut chunk = acc[c];
                    K::start(&mut chunk);
                    for k0 in (0..Self::DEPTH).step_by(Self::GROUP) {
                        Self::add(&mut chunk, (a, b), (r, c, k0), range, &a_block, &scale);
                    }
                    K::finish(&mut chunk, range);
                    acc.0[c] = chunk;
                }
            } else {
                acc.0.iter_mut().for_each(K::start);
                for k0 in (0..Self::DEPTH).step_by(Self::GROUP) {
                    for c in (0..CHUNKS).map(hidden) {
                        Self::add(&mut acc.0[c], (a, b), (r, c, k0), range, &a_block, &scale);
                    }
                }
                acc.0.iter_mut().for_each(|chunk| K::finish(chunk, range));
            }
            store_register(w, i.dst + r as u16, &acc.0);
        }
    }
}

/// `v_smfmac`: multiplies a sparse A. Of each four consecutive elements of a row of A, two are stored; for each, two
/// bits in the third source say which one it is. Each lane has `E` elements of A and `E2 = 2 E` of B. D is also C.
///
/// If CBSZ is 0, ABID selects these bits within the third source.
///
/// `LONG` is for the instructions that gfx950 adds, which have twice as many elements. There, elements of B are in runs
/// of 8: each group of lanes has one run, then each has another. Stored bytes of A are in runs of 4. (ROCm's
/// floating-point sanitizer, `amdgcn_smfmac.hpp`, has these places from measurements on MI350. It has none for `i8`,
/// whose places are taken to be those of 8-bit floats.)
pub(crate) struct Smfmac<K, const N: usize, const E: usize, const E2: usize, const LONG: bool>(
    PhantomData<K>,
);

impl<K: Kind, const N: usize, const E: usize, const E2: usize, const LONG: bool> Smfmac<K, N, E, E2, LONG> {
    /// Returns the group of lanes that has the stored element `k` of a row of A, and the element's number in its lane.
    #[inline(always)]
    fn stored(k: usize) -> (usize, usize) {
        if !LONG || E < 16 {
            return (k / E, k % E);
        }
        let bit = |n: usize| k >> n & 1;
        match N {
            16 => (2 * bit(5) + bit(3), 8 * bit(2) + 4 * bit(4) + k % 4),
            _ => (bit(4), 8 * bit(2) + 4 * bit(3) + k % 4),
        }
    }

    /// Returns the group of lanes and the number in its lane of the element of B that the stored element `k` of A is
    /// multiplied by: the one at `index` of the four.
    #[inline(always)]
    fn partner(k: usize, index: usize) -> (usize, usize) {
        let row = k / 2 * 4 + index;
        if !LONG {
            return (row / E2, row % E2);
        }
        let groups = LANES / N;
        (row / 8 % groups, row / (8 * groups) * 8 + row % 8)
    }
}

impl<K: Kind, const N: usize, const E: usize, const E2: usize, const LONG: bool> Exec
    for Smfmac<K, N, E, E2, LONG>
{
    #[inline(always)]
    fn exec(w: &mut Wave, _: &mut ExecContext, i: &Inst) -> Flow {
        let controls = Controls(i.imm);
        let (mut a, mut b): (Operand<K, E>, Operand<K, E2>) = (Operand::new(), Operand::new());
        read(&mut a, w, i, 0);
        read(&mut b, w, i, 1);
        let range =
            accumulators(w, true, i.dst, N * N / LANES).fold(K::range(&a, &b), |r, acc| K::with(r, &acc));
        K::settle(range, a.values.as_flattened_mut());
        let shift = if controls.cbsz() == 0 { (2 * E * controls.abid()) % 32 } else { 0 };
        let indices = w.v(i.src[2]).flat().map(|v| v >> shift);
        // The number of stored elements in a row of A.
        let depth = E * LANES / N;
        let products = if K::GROUP < depth { K::GROUP } else { depth };
        for r in 0..N * N / LANES {
            let mut acc = Aligned(load_register::<K::C>(w, true, i.dst, r));
            acc.0.iter_mut().for_each(K::start);
            for k0 in (0..depth).step_by(products) {
                for c in (0..CHUNKS).map(hidden) {
                    let (_, row, column) = place::<N>(r, c);
                    K::add(
                        &mut acc.0[c],
                        products,
                        range,
                        |k, _| {
                            let (g, e) = Self::stored(k0 + k);
                            let lane = (g * N + row) % LANES;
                            (a.values[e][lane], a.exponents[e][lane])
                        },
                        |k| {
                            let (g, e) = Self::stored(k0 + k);
                            let index = (indices[(g * N + row) % LANES] >> (2 * e) & 3) as usize;
                            let (g, e) = Self::partner(k0 + k, index);
                            let first = (g * N + column) % LANES;
                            (run(&b.values[e], first), run(&b.exponents[e], first))
                        },
                        |_| (),
                    );
                }
            }
            acc.0.iter_mut().for_each(|chunk| K::finish(chunk, range));
            store_register(w, i.dst + r as u16, &acc.0);
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
                    if vector { load(&w.r, from + 2 * r, c) } else { [scalar(&w.r, from); CHUNK] };
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
                store::<_, false>(&mut w.r, &w.mask, i.dst + 2 * r, c, &acc);
            }
        }
        Flow::Next
    }
}
