//! gfx950's matrix instructions of 8, 6 and 4-bit floats, and the scales of their blocks.
//!
//! A row of A is `G = 64 / N` blocks of 32 elements. Group `g` of lanes has block `g`, and its scale. In formats of 8
//! bits the elements are elsewhere: each group has 16 consecutive ones, then each has another 16. The scales are not.
//! The same holds for columns of B. (AMD Composable Kernel, test/mx_mfma_op; ROCm, rocjitsu, `input_loc`.)
//!
//! `v_mfma_ld_scale_b32` keeps the scales in two registers of their own for the matrix instruction that follows. Both
//! are one instruction to compilers, of four dwords, and decoding accepts none of them alone.

use std::ops::MulAssign;

use crate::exec::inst::{Exec, ExecContext, Flow, Inst};
use crate::exec::operand::SCALES;
use crate::state::wave::{CHUNKS, LANES, Wave};

use super::matrix::{Controls, Mfma, Operand};
use super::matrix_arith::{self, Far, Ocp};
use super::matrix_formats::{Bf6, Element, Fp4, Fp6, OcpBf8, OcpFp8, power};
use super::matrix_sums::{INFINITE, with_exponent};
use super::packed::{Select, chunk};

/// The number of elements of A, and of B, in each lane.
const EACH: usize = 32;
/// The number of formats that CBSZ and BLGP select.
pub(crate) const FORMATS: u32 = 5;

/// Sums are those of 8-bit floats: nothing is known about the smaller formats.
type Kind = Ocp;

/// `v_mfma_ld_scale_b32`: keeps the byte of each source that `op_sel` and `op_sel_hi` select. EXEC has no effect, as in
/// matrix instructions.
pub(crate) struct LoadScales;

impl Exec for LoadScales {
    #[inline(always)]
    fn exec(w: &mut Wave, _: &mut ExecContext, i: &Inst) -> Flow {
        let select = Select(i.imm);
        for n in 0..2 {
            let shift = 8 * (select.lo(n) | select.hi(n) << 1);
            for c in 0..CHUNKS {
                w.v_mut(SCALES + n as u16).0[c] = chunk(w, i, n, 0, c).map(|scales| scales >> shift & 0xff);
            }
        }
        Flow::Next
    }
}

/// `v_mfma_f32_16x16x128_f8f6f4` and `v_mfma_f32_32x32x64_f8f6f4`. CBSZ is the format of A, BLGP that of B; ABID says
/// whether there are scales.
pub(crate) struct MfmaScaled<const N: usize>;

impl<const N: usize> Exec for MfmaScaled<N> {
    #[inline(always)]
    fn exec(w: &mut Wave, _: &mut ExecContext, i: &Inst) -> Flow {
        let controls = Controls(i.imm);
        let mut a = read::<N>(w, i.src[0], controls.cbsz());
        let mut b = read::<N>(w, i.src[1], controls.blgp());
        if !controls.is_scaled() {
            Mfma::<Kind, N, 1, EACH>::multiply(w, i, &a, &b, |block| block);
            return Flow::Next;
        }
        let codes = [0, 1].map(|n| *w.v(SCALES + n).flat());
        let near = |code: &u32| code.abs_diff(127) <= NEAR || *code == 255;
        if codes.as_flattened().iter().all(near) {
            scale(&codes[0], |code| value(code) as f32, &mut a);
            scale(&codes[1], |code| value(code) as f32, &mut b);
            Mfma::<Kind, N, 1, EACH>::multiply(w, i, &a, &b, |block| block);
        } else {
            let (mut a, mut b) = (far(&a), far(&b));
            scale(&codes[0], value, &mut a);
            scale(&codes[1], value, &mut b);
            Mfma::<Far, N, 1, EACH>::multiply(w, i, &a, &b, |block| block);
        }
        Flow::Next
    }
}

/// The largest magnitude of a scale's exponent with which f32 represents all elements.
const NEAR: u32 = 100;

/// Returns the value of a scale's code: 2^(code - 127), or NaN.
fn value(code: u32) -> f64 {
    if code == 255 { f64::NAN } else { power(code as i32 - 127) }
}

/// Multiplies a lane's elements by its scale.
///
/// The sums of [`Ocp`] are of 16 elements, which have one scale. So this is the same as scaling the sums.
#[inline(always)]
fn scale<K, T: Copy + MulAssign>(
    codes: &[u32; LANES],
    value: impl Fn(u32) -> T,
    operand: &mut Operand<K, EACH>,
) where
    K: matrix_arith::Kind<T = T, P = i16>,
{
    let scales = codes.map(value);
    for row in &mut operand.values {
        for l in 0..LANES {
            row[l] *= scales[l];
        }
    }
    for row in &mut operand.exponents {
        for l in 0..LANES {
            row[l] = if codes[l] == 255 { INFINITE } else { row[l] + codes[l] as i16 - 127 };
        }
    }
}

fn far(operand: &Operand<Kind, EACH>) -> Operand<Far, EACH> {
    Operand { values: operand.values.map(|row| row.map(f64::from)), exponents: operand.exponents }
}

/// Reads the elements of A or B, in the places of a format of less than 8 bits.
fn read<const N: usize>(w: &Wave, first: u16, format: u32) -> Operand<Kind, EACH> {
    match format {
        0 => moved::<N>(&unpack::<OcpFp8>(w, first)),
        1 => moved::<N>(&unpack::<OcpBf8>(w, first)),
        2 => unpack::<Fp6>(w, first),
        3 => unpack::<Bf6>(w, first),
        _ => unpack::<Fp4>(w, first),
    }
}

/// Returns the elements that each lane has. They follow each other from the low bits of the first register on.
fn unpack<S: Element>(w: &Wave, first: u16) -> Operand<Kind, EACH> {
    let mut out = Operand { values: [[0.0; LANES]; EACH], exponents: [[0; LANES]; EACH] };
    for e in 0..EACH {
        let bit = S::BITS * e as u32;
        let (dword, shift) = (first + (bit / 32) as u16, bit % 32);
        // An element may begin in one register and end in the next.
        let next = if shift + S::BITS > 32 { dword + 1 } else { dword };
        let (low, high) = (w.v(dword).flat(), w.v(next).flat());
        for l in 0..LANES {
            let both = u64::from(low[l]) | u64::from(high[l]) << 32;
            (out.values[e][l], out.exponents[e][l]) = with_exponent::<S>((both >> shift) as u32);
        }
    }
    out
}

/// Moves elements of 8 bits to where smaller ones are.
fn moved<const N: usize>(from: &Operand<Kind, EACH>) -> Operand<Kind, EACH> {
    let groups = LANES / N;
    let mut to = Operand { values: [[0.0; LANES]; EACH], exponents: [[0; LANES]; EACH] };
    for e in 0..EACH {
        for l in 0..LANES {
            let k = l / N * EACH + e;
            let (run, place) = (k / 16, k % 16);
            let (from_e, from_l) = (run / groups * 16 + place, run % groups * N + l % N);
            to.values[e][l] = from.values[from_e][from_l];
            to.exponents[e][l] = from.exponents[from_e][from_l];
        }
    }
    to
}
