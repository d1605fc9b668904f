//! WMMA: products of matrices of 16 by 16, added to a third (RDNA3 ISA, "Wave Matrix Multiply Accumulate").
//!
//! Lane `r` of A has row `r`, lane `n` of B column `n`: consecutive elements fill a dword, and the dwords are in consecutive registers.
//! Each row of C and D is in 16 lanes of a register. Where the elements are differs between generations: see [`Layout`]. EXEC is ignored.
//!
//! No document says in which order the products are added, and how sums are rounded. Here each is a fused multiply-add, in the order of K.

#![allow(clippy::needless_range_loop, reason = "a lane's number indexes several arrays")]

use std::marker::PhantomData;

use crate::exec::inst::{Exec, ExecContext, Flow, Inst};
use crate::exec::lanes::Word;
use crate::exec::number::half16::Conversion;
use crate::exec::packed::{Select, is_vector};
use crate::state::wave::{CHUNK, Wave};

use crate::exec::number::narrow::{self, to_bf16};

/// The rows and columns of each matrix: one lane of a chunk for each.
pub(super) const SIZE: usize = CHUNK;
/// The rows that are computed together, so that their sums stay in registers and don't wait for each other.
const TOGETHER: usize = 4;

/// A matrix, whose second index is the lane.
pub(super) type Matrix<T> = [[T; CHUNK]; SIZE];

/// The places of elements. `groups` is the number of groups of 16 lanes of a wave.
pub(crate) trait Layout {
    /// Whether the elements of C and D of 16 bits fill a register. Otherwise each has one, of which `op_sel` selects a half.
    const PACKED: bool;
    /// Returns the group of lanes that has element `k` of a row of A with `depth` elements of `bits` bits, or of a column of B, and its
    /// number among those of the lane.
    fn element(groups: usize, bits: usize, depth: usize, k: usize) -> (usize, usize);
    /// Returns the group that has a row of C and D, and the row's number among those of the group.
    fn row(groups: usize, row: usize) -> (usize, usize);
}

/// gfx11: the first 16 lanes have all elements of A and B, and the others have to repeat them. The rows of C and D alternate between the
/// groups of lanes.
pub(crate) struct Gfx11;
impl Layout for Gfx11 {
    const PACKED: bool = false;
    #[inline(always)]
    fn element(_: usize, _: usize, _: usize, k: usize) -> (usize, usize) {
        (0, k)
    }
    #[inline(always)]
    fn row(groups: usize, row: usize) -> (usize, usize) {
        (row % groups, row / groups)
    }
}

/// gfx12: each group of lanes has as many consecutive elements of A and B, but at least a register full, so that the last 32 lanes of a
/// wave of 64 have none of 16 elements of 4 bits (RDNA4 ISA, 7.12.2). Rows of C and D are consecutive, too, except that in a wave of 64
/// the first 32 lanes have rows 0 to 3 and 8 to 11. (AMD's matrix instruction calculator has these places, and ROCm's floating-point
/// sanitizer, `amdgcn_swmmac_gfx12.hpp`, compared them with a gfx1201.)
pub(crate) struct Gfx12;
impl Layout for Gfx12 {
    const PACKED: bool = true;
    #[inline(always)]
    fn element(groups: usize, bits: usize, depth: usize, k: usize) -> (usize, usize) {
        let each = of_a_lane(groups, bits, depth);
        (k / each, k % each)
    }
    #[inline(always)]
    fn row(groups: usize, row: usize) -> (usize, usize) {
        match groups {
            4 => (row / 8 + row / 4 % 2 * 2, row % 4),
            _ => (row / 8, row % 8),
        }
    }
}

/// Returns how many of `depth` elements of a row of A, or of a column of B, a lane of gfx12 has.
#[inline(always)]
pub(super) fn of_a_lane(groups: usize, bits: usize, depth: usize) -> usize {
    (depth / groups).max(32 / bits)
}

/// Returns the elements `k` of A or B, source `n`, of all rows or columns: `BITS` bits in the low bits of a dword, the others arbitrary.
#[inline(always)]
fn elements<L: Layout>(w: &Wave, i: &Inst, n: usize, bits: usize, depth: usize, k: usize) -> [u32; CHUNK] {
    let (group, element) = L::element(w.chunks().len(), bits, depth, k);
    part(w, i, n, bits, group, element)
}

/// Returns element `element` of source `n` in each lane of a group: `bits` bits in the low bits of a dword, the others arbitrary.
#[inline(always)]
pub(super) fn part(w: &Wave, i: &Inst, n: usize, bits: usize, group: usize, element: usize) -> [u32; CHUNK] {
    let at = element * bits;
    let shift = at % 32;
    w.v(i.src[n].wrapping_add((at / 32) as u16)).0[group].map(|dword| dword >> shift)
}

/// A float of 16 bits.
pub(crate) trait Format {
    fn widen(x: [u16; CHUNK]) -> [f32; CHUNK];
    fn narrow(x: [f32; CHUNK]) -> [u16; CHUNK];
}

/// f16, with the conversions of `V`.
pub(crate) struct F16<V>(PhantomData<V>);
impl<V: Conversion> Format for F16<V> {
    #[inline(always)]
    fn widen(x: [u16; CHUNK]) -> [f32; CHUNK] {
        V::widen(x)
    }
    #[inline(always)]
    fn narrow(x: [f32; CHUNK]) -> [u16; CHUNK] {
        V::narrow(x)
    }
}

/// bfloat16: the upper half of an f32.
pub(crate) struct Bf16;
impl Format for Bf16 {
    #[inline(always)]
    fn widen(x: [u16; CHUNK]) -> [f32; CHUNK] {
        x.map(|bits| f32::from_bits(u32::from(bits) << 16))
    }
    #[inline(always)]
    fn narrow(x: [f32; CHUNK]) -> [u16; CHUNK] {
        x.map(to_bf16)
    }
}

/// Returns A or B of floats, source `n`, by K and then by lane. `neg_lo` negates the elements in low halves, `neg_hi` those in high ones.
#[inline(always)]
fn floats<F: Format, L: Layout>(w: &Wave, i: &Inst, n: usize) -> Matrix<f32> {
    let select = Select(i.imm);
    let signs = [select.neg_lo(n), select.neg_hi(n)].map(|neg| (neg as u16) << 15);
    let mut out = [[0.0; CHUNK]; SIZE];
    for k in 0..SIZE {
        let sign = signs[k % 2];
        out[k] = F::widen(elements::<L>(w, i, n, 16, SIZE, k).map(|bits| bits as u16 ^ sign));
    }
    out
}

/// Returns A or B of integers of `BITS` bits, source `n`, by K and then by lane. `neg_lo` says that they are signed.
///
/// As floats: the sum of 16 products of 8 bits is below 2^24, so that every step is exact.
#[inline(always)]
fn integers<L: Layout, const BITS: usize, const DEPTH: usize>(
    w: &Wave,
    i: &Inst,
    n: usize,
) -> [[f32; CHUNK]; DEPTH] {
    // Of an unsigned element, the upper bits of one that is sign-extended are cut off again.
    let keep = if Select(i.imm).neg_lo(n) != 0 { !0 } else { (1 << BITS) - 1 };
    let mut out = [[0.0; CHUNK]; DEPTH];
    for k in 0..DEPTH {
        let bits = elements::<L>(w, i, n, BITS, DEPTH, k);
        for l in 0..CHUNK {
            out[k][l] = ((bits[l] << (32 - BITS)) as i32 >> (32 - BITS) & keep) as f32;
        }
    }
    out
}

/// Returns the register, less the first, and the chunk of a row of C and D.
#[inline(always)]
pub(super) fn place<L: Layout>(w: &Wave, row: usize) -> (u16, usize) {
    let (group, number) = L::row(w.chunks().len(), row);
    (number as u16, group)
}

/// Returns a row of C, which may be a constant.
#[inline(always)]
fn addend<L: Layout>(w: &Wave, i: &Inst, row: usize) -> [u32; CHUNK] {
    let (register, chunk) = place::<L>(w, row);
    if is_vector(i, 2) { w.v(i.src[2].wrapping_add(register)).0[chunk] } else { [w.s32(i.src[2]); CHUNK] }
}

/// Adds the products of all rows of A and columns of B to `d`.
#[inline(always)]
fn multiply_add<const DEPTH: usize>(
    a: &[[f32; CHUNK]; DEPTH],
    b: &[[f32; CHUNK]; DEPTH],
    d: &mut Matrix<f32>,
) {
    for (group, sums) in d.as_chunks_mut::<TOGETHER>().0.iter_mut().enumerate() {
        for k in 0..DEPTH {
            for (r, sum) in sums.iter_mut().enumerate() {
                let factor = a[k][TOGETHER * group + r];
                for n in 0..CHUNK {
                    sum[n] = factor.mul_add(b[k][n], sum[n]);
                }
            }
        }
    }
}

/// Computes a product of floats, with sums of f32.
#[inline(always)]
fn product<L: Layout>(w: &mut Wave, i: &Inst, a: &Matrix<f32>, b: &Matrix<f32>) -> Flow {
    let select = Select(i.imm);
    let mut d = [[0.0; CHUNK]; SIZE];
    for (row, d) in d.iter_mut().enumerate() {
        *d = addend::<L>(w, i, row).map(|c| f32::from_bits(c).signed(select.neg_hi(2), select.neg_lo(2)));
    }
    multiply_add(a, b, &mut d);
    for (row, d) in d.iter().enumerate() {
        let (register, chunk) = place::<L>(w, row);
        w.v_mut(i.dst.wrapping_add(register)).0[chunk] = d.map(f32::to_bits);
    }
    Flow::Next
}

/// `v_wmma_f32_16x16x16_f16` and `v_wmma_f32_16x16x16_bf16`.
pub(crate) struct WmmaF32<F, L>(PhantomData<(F, L)>);
impl<F: Format, L: Layout> Exec for WmmaF32<F, L> {
    #[inline(always)]
    fn exec(w: &mut Wave, _: &mut ExecContext, i: &Inst) -> Flow {
        let (a, b) = (floats::<F, L>(w, i, 0), floats::<F, L>(w, i, 1));
        product::<L>(w, i, &a, &b)
    }
}

/// `v_wmma_f32_16x16x16_fp8_fp8` and similar instructions of gfx12, with the formats of A and B.
pub(crate) struct WmmaF8<const A: u32, const B: u32>;
/// The formats of [`WmmaF8`], by the number of bits of their fractions.
pub(crate) const F8: u32 = 3;
pub(crate) const BF8: u32 = 2;

/// Returns A or B of floats of 8 bits, source `n`, by K and then by lane.
#[inline(always)]
fn small_floats<const FRACTION: u32>(w: &Wave, i: &Inst, n: usize) -> Matrix<f32> {
    let format = if FRACTION == F8 { narrow::FP8 } else { narrow::BF8 };
    let mut out = [[0.0; CHUNK]; SIZE];
    for k in 0..SIZE {
        out[k] = elements::<Gfx12>(w, i, n, 8, SIZE, k).map(|bits| format.to_f32(bits & 0xff));
    }
    out
}

impl<const A: u32, const B: u32> Exec for WmmaF8<A, B> {
    #[inline(always)]
    fn exec(w: &mut Wave, _: &mut ExecContext, i: &Inst) -> Flow {
        let (a, b) = (small_floats::<A>(w, i, 0), small_floats::<B>(w, i, 1));
        product::<Gfx12>(w, i, &a, &b)
    }
}

/// `v_wmma_f16_16x16x16_f16` and `v_wmma_bf16_16x16x16_bf16`: sums in f32, rounded at the end. On gfx11, `op_sel` of C selects the half of
/// each register that has an element of C and D; the other half of D's is kept.
pub(crate) struct WmmaHalf<F, L>(PhantomData<(F, L)>);

/// Returns the register, the chunk and the first bit of a row of C and D of 16 bits.
#[inline(always)]
pub(super) fn half_place<L: Layout>(w: &Wave, select: Select, row: usize) -> (u16, usize, u32) {
    let (register, chunk) = place::<L>(w, row);
    match L::PACKED {
        true => (register / 2, chunk, 16 * u32::from(register % 2)),
        false => (register, chunk, 16 * u32::from(select.lo(2))),
    }
}

impl<F: Format, L: Layout> Exec for WmmaHalf<F, L> {
    #[inline(always)]
    fn exec(w: &mut Wave, _: &mut ExecContext, i: &Inst) -> Flow {
        let (a, b) = (floats::<F, L>(w, i, 0), floats::<F, L>(w, i, 1));
        let select = Select(i.imm);
        let mut d = [[0.0; CHUNK]; SIZE];
        for (row, d) in d.iter_mut().enumerate() {
            let (register, chunk, from) = half_place::<L>(w, select, row);
            let c = match is_vector(i, 2) {
                true => w.v(i.src[2].wrapping_add(register)).0[chunk].map(|c| (c >> from) as u16),
                false => [w.s32(i.src[2]) as u16; CHUNK],
            };
            *d = F::widen(c).map(|c| c.signed(select.neg_hi(2), select.neg_lo(2)));
        }
        multiply_add(&a, &b, &mut d);
        for (row, d) in d.iter().enumerate() {
            let (register, chunk, to) = half_place::<L>(w, select, row);
            let (halves, out) = (F::narrow(*d), w.v_mut(i.dst.wrapping_add(register)));
            for n in 0..CHUNK {
                out.0[chunk][n] = out.0[chunk][n] & !(0xffff << to) | u32::from(halves[n]) << to;
            }
        }
        Flow::Next
    }
}

/// `v_wmma_i32_16x16x16_iu8`, `v_wmma_i32_16x16x16_iu4` and, on gfx12, `v_wmma_i32_16x16x32_iu4`. The clamp bit saturates the sum.
pub(crate) struct WmmaI32<L, const BITS: usize, const DEPTH: usize>(PhantomData<L>);
impl<L: Layout, const BITS: usize, const DEPTH: usize> Exec for WmmaI32<L, BITS, DEPTH> {
    #[inline(always)]
    fn exec(w: &mut Wave, _: &mut ExecContext, i: &Inst) -> Flow {
        let (a, b) = (integers::<L, BITS, DEPTH>(w, i, 0), integers::<L, BITS, DEPTH>(w, i, 1));
        let clamp = Select(i.imm).clamp();
        let mut products = [[0.0; CHUNK]; SIZE];
        multiply_add(&a, &b, &mut products);
        // C is read whole before D is written, which may overlap it.
        let mut d = [[0; CHUNK]; SIZE];
        for (row, products) in products.iter().enumerate() {
            // SAFETY: a sum of 16 products of elements of 8 bits, or of 32 of 4 bits, is below 2^24.
            let sums = products.map(|sum| unsafe { sum.to_int_unchecked::<i32>() });
            let c = addend::<L>(w, i, row).map(|c| c as i32);
            for n in 0..CHUNK {
                d[row][n] = c[n].wrapping_add(sums[n]) as u32;
            }
            if clamp {
                for n in 0..CHUNK {
                    d[row][n] = c[n].saturating_add(sums[n]) as u32;
                }
            }
        }
        for (row, d) in d.iter().enumerate() {
            let (register, chunk) = place::<L>(w, row);
            w.v_mut(i.dst.wrapping_add(register)).0[chunk] = *d;
        }
        Flow::Next
    }
}
