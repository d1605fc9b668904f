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
use crate::state::wave::{CHUNK, CHUNKS, LANES, Lanes, Wave};

use super::matrix::{Controls, Mfma, run};
use super::matrix_arith::{self, Far, Kind as _, Ocp, Operand};
use super::matrix_formats::{Bf6, Fp4, Fp6, OcpBf8, OcpFp8, power};
use super::matrix_sums::{INFINITE, Range, read_finite, scaled};
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
                w.v_mut(SCALES + n as u16).0[c] =
                    chunk(&w.r, i, n, 0, c).map(|scales| scales >> shift & 0xff);
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
        let mut operands = [Operand::new(), Operand::new()];
        for (n, format) in [controls.cbsz(), controls.blgp()].into_iter().enumerate() {
            read::<N>(&mut operands[n], w, i.src[n], format);
        }
        let [a, b] = &mut operands;
        let codes = [0, 1].map(|n| if controls.is_scaled() { *w.v(SCALES + n).flat() } else { [127; LANES] });
        let scales = codes.map(|codes| codes.map(|code| code as i32 - 127));
        let least = scales.map(|scales| scales.iter().fold(i32::MAX, |x, y| x.min(*y)));
        let most = scales.map(|scales| scales.iter().fold(i32::MIN, |x, y| x.max(*y)));
        let limits = [least[0] + least[1], most[0] + most[1]];
        let range = Range::of(a.exponents.as_flattened(), b.exponents.as_flattened(), limits);
        let range = if most[0].max(most[1]) == NAN { Range::ANY } else { range };
        let range = Mfma::<Kind, N, 1, EACH>::with_accumulators(range, w, i);
        let near = |code: &u32| code.abs_diff(127) <= NEAR || *code == 255;
        if range.is_narrow() {
            // All elements of a sum have the same two scales, so that the sum is scaled instead.
            Kind::settle(range, a.values.as_flattened_mut());
            let scale = |a: usize, b: usize, tops: &mut [i32; CHUNK]| {
                let (row, columns) = (scales[0][a], run(&scales[1], b));
                for j in 0..CHUNK {
                    tops[j] = scaled(tops[j], row + columns[j]);
                }
            };
            Mfma::<Kind, N, 1, EACH>::multiply(w, i, a, b, range, |block| block, scale);
        } else if codes.as_flattened().iter().all(near) {
            scale(&codes[0], |code| value(code) as f32, a);
            scale(&codes[1], |code| value(code) as f32, b);
            Mfma::<Kind, N, 1, EACH>::multiply(w, i, a, b, range, |block| block, |_, _, _| ());
        } else {
            let (mut a, mut b) = (far(a), far(b));
            scale(&codes[0], value, &mut a);
            scale(&codes[1], value, &mut b);
            Mfma::<Far, N, 1, EACH>::multiply(w, i, &a, &b, Range::ANY, |block| block, |_, _, _| ());
        }
        Flow::Next
    }
}

/// The exponent of a scale's code that is NaN.
const NAN: i32 = 255 - 127;
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
#[inline(always)]
fn read<const N: usize>(operand: &mut Operand<Kind, EACH>, w: &Wave, first: u16, format: u32) {
    let register = |r: usize| w.v(first + r as u16);
    let to = (&mut operand.values, &mut operand.exponents);
    match format {
        0 | 1 => {
            let bytes = moved::<N>(register);
            let finite = if format == 0 {
                read_finite::<OcpFp8, EACH>(|r| &bytes[r], to.0, to.1)
            } else {
                read_finite::<OcpBf8, EACH>(|r| &bytes[r], to.0, to.1)
            };
            if !finite {
                read_special(operand, &bytes, format == 0);
            }
        }
        // These have neither infinities nor NaNs.
        2 => _ = read_finite::<Fp6, EACH>(register, to.0, to.1),
        3 => _ = read_finite::<Bf6, EACH>(register, to.0, to.1),
        _ => _ = read_finite::<Fp4, EACH>(register, to.0, to.1),
    }
}

/// Reads any elements of 8 bits.
#[cold]
#[inline(never)]
fn read_special(operand: &mut Operand<Kind, EACH>, bytes: &[Lanes; EACH / 4], fp8: bool) {
    for e in 0..EACH {
        for (l, dword) in bytes[e / 4].flat().iter().enumerate() {
            (operand.values[e][l], operand.exponents[e][l]) = Kind::get(dword >> (8 * (e % 4)), fp8);
        }
    }
}

/// Moves elements of 8 bits, four in a dword, to where smaller ones are.
#[inline(always)]
fn moved<'a, const N: usize>(register: impl Fn(usize) -> &'a Lanes) -> [Lanes; EACH / 4] {
    let groups = LANES / N;
    let mut to = [Lanes::ZERO; EACH / 4];
    for (r, to) in to.iter_mut().enumerate() {
        for group in 0..groups {
            // The run of 16 elements, of those of a row or column, that this is in.
            let run = 2 * group + r / 4;
            let from = register(run / groups * 4 + r % 4).flat();
            let first = run % groups * N;
            to.flat_mut()[group * N..][..N].copy_from_slice(&from[first..][..N]);
        }
    }
    to
}
