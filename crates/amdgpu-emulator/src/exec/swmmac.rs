//! SWMMAC: products of a sparse A of 16 rows and a B of 16 columns, added to C, which is also D (RDNA4 ISA, 7.12.3, "Structured Sparse
//! Matrices").
//!
//! Of each four consecutive elements of a row of A, two are stored; for each, two bits in the third source say which one it is. A lane has
//! the bits of its stored elements of A, the first one's lowest. Its register has several such sets, one of which `op_sel` selects. Where
//! elements are, AMD's matrix instruction calculator says, and AMD's emulator (`mma/layout.h`); ROCm's floating-point sanitizer
//! (`amdgcn_swmmac_gfx12.hpp`) compared it with a gfx1201.
//!
//! As for WMMA, each product is a fused multiply-add, in the order of K. EXEC is ignored.

#![allow(clippy::needless_range_loop, reason = "a lane's number indexes several arrays")]

use std::marker::PhantomData;

use crate::exec::inst::{Exec, ExecContext, Flow, Inst};
use crate::exec::number::narrow;
use crate::exec::packed::Select;
use crate::exec::wmma::{F8, Format, Gfx12, Matrix, SIZE, half_place, of_a_lane, part, place};
use crate::state::wave::{CHUNK, Wave};

/// The elements of A and B.
pub(crate) trait Elements {
    /// Returns elements of source `n`, whose other bits are arbitrary, as floats.
    fn widen(i: &Inst, n: usize, bits: [u32; CHUNK]) -> [f32; CHUNK];
}

/// Floats of 16 bits.
pub(crate) struct Halves<F>(PhantomData<F>);
impl<F: Format> Elements for Halves<F> {
    #[inline(always)]
    fn widen(_: &Inst, _: usize, bits: [u32; CHUNK]) -> [f32; CHUNK] {
        F::widen(bits.map(|bits| bits as u16))
    }
}

/// Floats of 8 bits, of the formats of A and B.
pub(crate) struct Bytes<const A: u32, const B: u32>;
impl<const A: u32, const B: u32> Elements for Bytes<A, B> {
    #[inline(always)]
    fn widen(_: &Inst, n: usize, bits: [u32; CHUNK]) -> [f32; CHUNK] {
        let format = if [A, B][n] == F8 { narrow::FP8 } else { narrow::BF8 };
        bits.map(|bits| format.to_f32(bits & 0xff))
    }
}

/// Integers. `neg_lo` says that they are signed.
///
/// As floats: a sum of 16 products of 8 bits, or of 32 of 4 bits, is below 2^24, so that every step is exact.
struct Integers<const BITS: usize>;
impl<const BITS: usize> Elements for Integers<BITS> {
    #[inline(always)]
    fn widen(i: &Inst, n: usize, bits: [u32; CHUNK]) -> [f32; CHUNK] {
        // Of an unsigned element, the upper bits of one that is sign-extended are cut off again.
        let keep = if Select(i.imm).neg_lo(n) != 0 { !0 } else { (1 << BITS) - 1 };
        bits.map(|bits| ((bits << (32 - BITS)) as i32 >> (32 - BITS) & keep) as f32)
    }
}

/// A and B. A row of A has `STORED` elements, of `DEPTH`.
struct Factors<const DEPTH: usize, const STORED: usize> {
    /// By number and row.
    a: [[f32; CHUNK]; STORED],
    /// The elements of columns of B by which those of A are multiplied.
    partners: [[u8; CHUNK]; STORED],
    /// By K and column.
    b: [[f32; CHUNK]; DEPTH],
}

/// Returns the group of lanes that has stored element `k` of a row of A, and its number among those of the lane.
#[inline(always)]
fn stored<const BITS: usize, const STORED: usize>(groups: usize, k: usize) -> (usize, usize) {
    match (BITS, groups) {
        // Each group of lanes has four, and then each has another four.
        (16, 2) => (k / 4 % 2, k / 8 * 4 + k % 4),
        (16, _) => (k / 4, k % 4),
        (8, 2) | (4, 2) => (k / 8 % 2, k / 16 * 8 + k % 8),
        // The halves of a wave of 64 share what a lane of a wave of 32 has.
        (8, _) => (k / 8 + k / 4 % 2 * 2, k % 4),
        _ if STORED == 16 => (k / 8, k % 8),
        _ => (k / 16 + k / 8 % 2 * 2, k % 8),
    }
}

impl<const DEPTH: usize, const STORED: usize> Factors<DEPTH, STORED> {
    #[inline(always)]
    fn read<E: Elements, const BITS: usize>(w: &Wave, i: &Inst) -> Self {
        let groups = w.chunks().len();
        let (each_a, each_b) = (of_a_lane(groups, BITS, STORED), of_a_lane(groups, BITS, DEPTH));
        let select = Select(i.imm);
        // The set of bits: there are as many as fit into a register.
        let set = 2 * each_a * usize::from(select.lo(0) | select.lo(1) << 1) % 32;
        let mut out =
            Factors { a: [[0.0; CHUNK]; STORED], partners: [[0; CHUNK]; STORED], b: [[0.0; CHUNK]; DEPTH] };
        for k in 0..STORED {
            let (group, element) = stored::<BITS, STORED>(groups, k);
            out.a[k] = E::widen(i, 0, part(w, i, 0, BITS, group, element));
            let first = k / 2 * 4;
            out.partners[k] = w.v(i.src[2]).0[group]
                .map(|indices| first as u8 | (indices >> ((set + 2 * element) % 32) & 3) as u8);
            // The four elements of B are in the same group of lanes, unless that has only half of what A needs.
            if k % 2 == 0 {
                for n in 0..4 {
                    let at = element / 2 * 4 + n;
                    let (group, at) = (group + at / each_b * 2, at % each_b);
                    out.b[first + n] = E::widen(i, 1, part(w, i, 1, BITS, group, at));
                }
            }
        }
        out
    }

    /// Changes signs: `neg_lo` those of products of even stored elements, `neg_hi` of odd ones.
    #[inline(always)]
    fn signed(mut self, i: &Inst) -> Self {
        let select = Select(i.imm);
        let signs = [select.neg_lo(0) ^ select.neg_lo(1), select.neg_hi(0) ^ select.neg_hi(1)];
        for (k, a) in self.a.iter_mut().enumerate() {
            *a = a.map(|a| f32::from_bits(a.to_bits() ^ signs[k % 2] << 31));
        }
        self
    }

    /// Adds the products of stored elements `k` of all rows of A and columns of B to `d`.
    #[inline(always)]
    fn add(&self, k: usize, d: &mut Matrix<f32>) {
        for (row, sums) in d.iter_mut().enumerate() {
            let factor = self.a[k][row];
            let b = &self.b[usize::from(self.partners[k][row]) % DEPTH];
            for n in 0..CHUNK {
                sums[n] = factor.mul_add(b[n], sums[n]);
            }
        }
    }
}

/// `v_swmmac_f32_16x16x32_f16` and similar instructions of floats.
pub(crate) struct SwmmacF32<E>(PhantomData<E>);

impl<F: Format> Exec for SwmmacF32<Halves<F>> {
    #[inline(always)]
    fn exec(w: &mut Wave, _: &mut ExecContext, i: &Inst) -> Flow {
        floats(w, i, &Factors::read::<Halves<F>, 16>(w, i).signed(i))
    }
}

impl<const A: u32, const B: u32> Exec for SwmmacF32<Bytes<A, B>> {
    #[inline(always)]
    fn exec(w: &mut Wave, _: &mut ExecContext, i: &Inst) -> Flow {
        floats(w, i, &Factors::read::<Bytes<A, B>, 8>(w, i))
    }
}

#[inline(always)]
fn floats(w: &mut Wave, i: &Inst, factors: &Factors<32, 16>) -> Flow {
    let mut d = [[0.0; CHUNK]; SIZE];
    for row in 0..SIZE {
        let (register, chunk) = place::<Gfx12>(w, row);
        d[row] = w.v(i.dst.wrapping_add(register)).0[chunk].map(f32::from_bits);
    }
    for k in 0..16 {
        factors.add(k, &mut d);
    }
    for row in 0..SIZE {
        let (register, chunk) = place::<Gfx12>(w, row);
        w.v_mut(i.dst.wrapping_add(register)).0[chunk] = d[row].map(f32::to_bits);
    }
    Flow::Next
}

/// `v_swmmac_f16_16x16x32_f16` and `v_swmmac_bf16_16x16x32_bf16`: sums in f32, rounded at the end.
pub(crate) struct SwmmacHalf<F>(PhantomData<F>);

impl<F: Format> Exec for SwmmacHalf<F> {
    #[inline(always)]
    fn exec(w: &mut Wave, _: &mut ExecContext, i: &Inst) -> Flow {
        let factors = Factors::<32, 16>::read::<Halves<F>, 16>(w, i).signed(i);
        let mut d = [[0.0; CHUNK]; SIZE];
        for row in 0..SIZE {
            let (register, chunk, from) = half_place::<Gfx12>(w, Select(i.imm), row);
            let c = w.v(i.dst.wrapping_add(register)).0[chunk].map(|c| (c >> from) as u16);
            d[row] = F::widen(c);
        }
        for k in 0..16 {
            factors.add(k, &mut d);
        }
        for row in 0..SIZE {
            let (register, chunk, to) = half_place::<Gfx12>(w, Select(i.imm), row);
            let (halves, out) = (F::narrow(d[row]), w.v_mut(i.dst.wrapping_add(register)));
            for n in 0..CHUNK {
                out.0[chunk][n] = out.0[chunk][n] & !(0xffff << to) | u32::from(halves[n]) << to;
            }
        }
        Flow::Next
    }
}

/// `v_swmmac_i32_16x16x32_iu8`, `v_swmmac_i32_16x16x32_iu4` and `v_swmmac_i32_16x16x64_iu4`.
///
/// The clamp bit saturates the sum twice: after the products of those elements that the first 16 lanes of a wave of 32 have, and at the
/// end (measured on a gfx1201: github.com/bjacob/goc, `rdna4_swmmac_integer.h`).
pub(crate) struct SwmmacI32<const BITS: usize, const DEPTH: usize, const STORED: usize>;

impl<const BITS: usize, const DEPTH: usize, const STORED: usize> Exec for SwmmacI32<BITS, DEPTH, STORED> {
    #[inline(always)]
    fn exec(w: &mut Wave, _: &mut ExecContext, i: &Inst) -> Flow {
        let factors = Factors::<DEPTH, STORED>::read::<Integers<BITS>, BITS>(w, i);
        let clamp = Select(i.imm).clamp();
        let mut d = [[0; CHUNK]; SIZE];
        for row in 0..SIZE {
            let (register, chunk) = place::<Gfx12>(w, row);
            d[row] = w.v(i.dst.wrapping_add(register)).0[chunk].map(|c| c as i32);
        }
        for stage in 0..2 {
            let mut sums = [[0.0; CHUNK]; SIZE];
            for k in (0..STORED).filter(|k| k / 8 % 2 == stage) {
                factors.add(k, &mut sums);
            }
            for row in 0..SIZE {
                for n in 0..CHUNK {
                    let sum = sums[row][n] as i32;
                    d[row][n] =
                        if clamp { d[row][n].saturating_add(sum) } else { d[row][n].wrapping_add(sum) };
                }
            }
        }
        for row in 0..SIZE {
            let (register, chunk) = place::<Gfx12>(w, row);
            w.v_mut(i.dst.wrapping_add(register)).0[chunk] = d[row].map(|d| d as u32);
        }
        Flow::Next
    }
}
