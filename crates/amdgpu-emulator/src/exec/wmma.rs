//! WMMA: products of matrices of 16 by 16, added to a third (RDNA3 ISA, "Wave Matrix Multiply Accumulate").
//!
//! Lane `r` of A has row `r`, lane `n` of B column `n`: consecutive elements fill a dword, and the dwords are in consecutive registers. The
//! lanes from 16 on have to repeat them, and are not read. Row `r` of C and D is in 16 lanes of a register: a wave of 32 has two rows in
//! each register, a wave of 64 four. EXEC is ignored.
//!
//! No document says in which order the products are added, and how sums are rounded. Here each is a fused multiply-add, in the order of K.

#![allow(clippy::needless_range_loop, reason = "a lane's number indexes several arrays")]

use std::marker::PhantomData;

use crate::exec::inst::{Exec, ExecContext, Flow, Inst};
use crate::exec::lanes::Word;
use crate::exec::number::half16::Conversion;
use crate::exec::packed::{Select, is_vector};
use crate::state::wave::{CHUNK, Wave};

use crate::exec::number::narrow::to_bf16;

/// The rows and columns of each matrix: one lane of a chunk for each.
const SIZE: usize = CHUNK;
/// The rows that are computed together, so that their sums stay in registers and don't wait for each other.
const TOGETHER: usize = 4;

/// A matrix, whose second index is the lane.
type Matrix<T> = [[T; CHUNK]; SIZE];

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
fn floats<F: Format>(w: &Wave, i: &Inst, n: usize) -> Matrix<f32> {
    let select = Select(i.imm);
    let signs = [select.neg_lo(n), select.neg_hi(n)].map(|neg| (neg as u16) << 15);
    let mut out = [[0.0; CHUNK]; SIZE];
    for k in 0..SIZE {
        let dwords = w.v(i.src[n].wrapping_add(k as u16 / 2)).0[0];
        let (shift, sign) = (16 * (k % 2), signs[k % 2]);
        out[k] = F::widen(dwords.map(|dword| (dword >> shift) as u16 ^ sign));
    }
    out
}

/// Returns A or B of integers of `BITS` bits, source `n`, by K and then by lane. `neg_lo` says that they are signed.
///
/// As floats: the sum of 16 products of 8 bits is below 2^24, so that every step is exact.
#[inline(always)]
fn integers<const BITS: u32>(w: &Wave, i: &Inst, n: usize) -> Matrix<f32> {
    // Of an unsigned element, the upper bits of one that is sign-extended are cut off again.
    let keep = if Select(i.imm).neg_lo(n) != 0 { !0 } else { (1 << BITS) - 1 };
    let mut out = [[0.0; CHUNK]; SIZE];
    for k in 0..SIZE as u32 {
        let dwords = w.v(i.src[n].wrapping_add((k * BITS / 32) as u16)).0[0];
        let up = 32 - BITS - k * BITS % 32;
        for l in 0..CHUNK {
            out[k as usize][l] = ((dwords[l] << up) as i32 >> (32 - BITS) & keep) as f32;
        }
    }
    out
}

/// Returns the register, less the first, and the chunk of a row of C and D.
#[inline(always)]
fn place(w: &Wave, row: usize) -> (u16, usize) {
    let rows = w.chunks().len();
    ((row / rows) as u16, row % rows)
}

/// Returns a row of C, which may be a constant.
#[inline(always)]
fn addend(w: &Wave, i: &Inst, row: usize) -> [u32; CHUNK] {
    let (register, chunk) = place(w, row);
    if is_vector(i, 2) { w.v(i.src[2].wrapping_add(register)).0[chunk] } else { [w.s32(i.src[2]); CHUNK] }
}

/// Adds the products of all rows of A and columns of B to `d`.
#[inline(always)]
fn multiply_add(a: &Matrix<f32>, b: &Matrix<f32>, d: &mut Matrix<f32>) {
    for (group, sums) in d.as_chunks_mut::<TOGETHER>().0.iter_mut().enumerate() {
        for k in 0..SIZE {
            for (r, sum) in sums.iter_mut().enumerate() {
                let factor = a[k][TOGETHER * group + r];
                for n in 0..CHUNK {
                    sum[n] = factor.mul_add(b[k][n], sum[n]);
                }
            }
        }
    }
}

/// `v_wmma_f32_16x16x16_f16` and `v_wmma_f32_16x16x16_bf16`.
pub(crate) struct WmmaF32<F>(PhantomData<F>);
impl<F: Format> Exec for WmmaF32<F> {
    #[inline(always)]
    fn exec(w: &mut Wave, _: &mut ExecContext, i: &Inst) -> Flow {
        let (a, b) = (floats::<F>(w, i, 0), floats::<F>(w, i, 1));
        let select = Select(i.imm);
        let mut d = [[0.0; CHUNK]; SIZE];
        for (row, d) in d.iter_mut().enumerate() {
            *d = addend(w, i, row).map(|c| f32::from_bits(c).signed(select.neg_hi(2), select.neg_lo(2)));
        }
        multiply_add(&a, &b, &mut d);
        for (row, d) in d.iter().enumerate() {
            let (register, chunk) = place(w, row);
            w.v_mut(i.dst.wrapping_add(register)).0[chunk] = d.map(f32::to_bits);
        }
        Flow::Next
    }
}

/// `v_wmma_f16_16x16x16_f16` and `v_wmma_bf16_16x16x16_bf16`: sums in f32, rounded at the end. `op_sel` of C selects the half of each
/// register that has an element of C and D; the other half of D's is kept.
pub(crate) struct WmmaHalf<F>(PhantomData<F>);
impl<F: Format> Exec for WmmaHalf<F> {
    #[inline(always)]
    fn exec(w: &mut Wave, _: &mut ExecContext, i: &Inst) -> Flow {
        let (a, b) = (floats::<F>(w, i, 0), floats::<F>(w, i, 1));
        let select = Select(i.imm);
        let shift = 16 * u32::from(select.lo(2));
        let from = if is_vector(i, 2) { shift } else { 0 };
        let mut d = [[0.0; CHUNK]; SIZE];
        for (row, d) in d.iter_mut().enumerate() {
            let c = F::widen(addend(w, i, row).map(|c| (c >> from) as u16));
            *d = c.map(|c| c.signed(select.neg_hi(2), select.neg_lo(2)));
        }
        multiply_add(&a, &b, &mut d);
        for (row, d) in d.iter().enumerate() {
            let (register, chunk) = place(w, row);
            let (halves, out) = (F::narrow(*d), w.v_mut(i.dst.wrapping_add(register)));
            for n in 0..CHUNK {
                out.0[chunk][n] = out.0[chunk][n] & !(0xffff << shift) | u32::from(halves[n]) << shift;
            }
        }
        Flow::Next
    }
}

/// `v_wmma_i32_16x16x16_iu8` and `v_wmma_i32_16x16x16_iu4`. The clamp bit saturates the sum.
pub(crate) struct WmmaI32<const BITS: u32>;
impl<const BITS: u32> Exec for WmmaI32<BITS> {
    #[inline(always)]
    fn exec(w: &mut Wave, _: &mut ExecContext, i: &Inst) -> Flow {
        let (a, b) = (integers::<BITS>(w, i, 0), integers::<BITS>(w, i, 1));
        let clamp = Select(i.imm).clamp();
        let mut products = [[0.0; CHUNK]; SIZE];
        multiply_add(&a, &b, &mut products);
        // C is read whole before D is written, which may overlap it.
        let mut d = [[0; CHUNK]; SIZE];
        for (row, products) in products.iter().enumerate() {
            // SAFETY: a sum of 16 products of elements of 8 bits is below 2^24.
            let sums = products.map(|sum| unsafe { sum.to_int_unchecked::<i32>() });
            let c = addend(w, i, row).map(|c| c as i32);
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
            let (register, chunk) = place(w, row);
            w.v_mut(i.dst.wrapping_add(register)).0[chunk] = *d;
        }
        Flow::Next
    }
}
