//! The arithmetic of matrix instructions: which products are added at once, and what is rounded or flushed when.
//!
//! The ISA documents leave this open. The rules here come from measurements on MI200 and MI300, which they match bit by
//! bit: Xie, Xu, Wang, Yang and Yang, "Bit-Accurate Modeling of GPU Matrix Multiply-Accumulate Units" (arXiv
//! 2511.10909). The ISA documents say what MODE does: it flushes denormal elements of f32 matrices A and B, and nothing
//! else (CDNA2 ISA, chapter 7, table of MFMA; CDNA3 ISA, 7.3).
//! - f32 and f64: a chain of fused multiply-adds, denormals of C and D kept ([`Fma`]).
//! - gfx90a, f16 and bf16: two or four products added in pairs, each step rounded to f32, denormals flushed ([`Ftz`]).
//! - gfx942, f16, bf16 and xf32: up to eight products are truncated 24 places below the largest exponent and added
//!   exactly; then the accumulator is added and the sum is rounded ([`Truncated`]).
//! - gfx942, fp8 and bf8: the same, separately for products of even and of odd index ([`Split`]).
//!
//! Three rules are assumptions, not measurements: a NaN result is the positive quiet NaN without payload; sparse
//! instructions (`v_smfmac`) add as many products at once as dense ones, in the order of A's elements; gfx950 computes
//! as gfx942 does, and all its formats of 8 bits or less as 8-bit floats.

use std::marker::PhantomData;

use crate::exec::lanes::Word;
use crate::state::wave::{CHUNK, Mode};

use super::matrix_formats::{Bf8, Element, Fp8, OcpBf8, OcpFp8, power, with_power};
pub(crate) use super::matrix_formats::{Bf16, F16, Xf32};

/// The arithmetic of a matrix instruction.
pub(crate) trait Kind {
    /// The number of bits of an element of A and B.
    const BITS: u32;
    /// The type to which elements are converted.
    type T: Copy + Default;
    /// The power of two of an element's exponent, where the arithmetic needs it (see [`Truncated`]); otherwise `()`.
    type P: Copy + Default;
    /// The type of the accumulator.
    type C: Word;
    /// The number of products that are added at once.
    const GROUP: usize;

    /// Returns the element in the low bits. `fp8` says which of the two formats of 8-bit floats it has.
    fn get(bits: u32, fp8: bool) -> (Self::T, Self::P);

    /// Does to the elements of A or of B what the MODE register says.
    #[inline(always)]
    fn obey(_: &mut [Self::T], _: Mode) {}

    /// Prepares the accumulators before the first products.
    #[inline(always)]
    fn start(_: &mut [Self::C; CHUNK]) {}

    /// Returns whether a product may be infinite or NaN.
    #[inline(always)]
    fn special(_a: &[Self::T], _b: &[Self::T]) -> bool {
        false
    }

    /// Adds the products `0..count` of 16 elements of A and B each.
    fn add<'a>(
        acc: &mut [Self::C; CHUNK],
        count: usize,
        special: bool,
        a: impl Fn(usize) -> ([Self::T; CHUNK], [Self::P; CHUNK]),
        b: impl Fn(usize) -> (&'a [Self::T; CHUNK], &'a [Self::P; CHUNK]),
    ) where
        Self::T: 'a,
        Self::P: 'a;

    /// Finishes the accumulators after the last products.
    #[inline(always)]
    fn finish(_: &mut [Self::C; CHUNK]) {}
}

/// Replaces each NaN with the one that the matrix unit returns.
#[inline(always)]
fn one_nan(acc: &mut [f32; CHUNK]) {
    for x in acc {
        *x = if x.is_nan() { f32::from_bits(0x7fc0_0000) } else { *x };
    }
}

/// A chain of fused multiply-adds. MODE says whether denormals of A and B are flushed.
pub(crate) struct Fma;

#[cold]
#[inline(never)]
fn flush_all(elements: &mut [f32]) {
    for x in elements {
        *x = flush(*x);
    }
}

impl Kind for Fma {
    const BITS: u32 = 32;
    type T = f32;
    type P = ();
    type C = f32;
    const GROUP: usize = 1;

    #[inline(always)]
    fn get(bits: u32, _: bool) -> (f32, ()) {
        (f32::from_bits(bits), ())
    }

    #[inline(always)]
    fn obey(elements: &mut [f32], mode: Mode) {
        if mode.denorm32() & 1 == 0 {
            flush_all(elements);
        }
    }

    #[inline(always)]
    fn add<'a>(
        acc: &mut [f32; CHUNK],
        count: usize,
        _: bool,
        a: impl Fn(usize) -> ([f32; CHUNK], [(); CHUNK]),
        b: impl Fn(usize) -> (&'a [f32; CHUNK], &'a [(); CHUNK]),
    ) {
        for k in 0..count {
            let (a, b) = (a(k).0, b(k).0);
            for j in 0..CHUNK {
                acc[j] = a[j].mul_add(b[j], acc[j]);
            }
        }
    }

    #[inline(always)]
    fn finish(acc: &mut [f32; CHUNK]) {
        one_nan(acc);
    }
}

/// Wrapping sums of products of bytes.
pub(crate) struct Int8;

impl Kind for Int8 {
    const BITS: u32 = 8;
    type T = i32;
    type P = ();
    type C = i32;
    const GROUP: usize = 4;

    #[inline(always)]
    fn get(bits: u32, _: bool) -> (i32, ()) {
        (i32::from(bits as i8), ())
    }

    #[inline(always)]
    fn add<'a>(
        acc: &mut [i32; CHUNK],
        count: usize,
        _: bool,
        a: impl Fn(usize) -> ([i32; CHUNK], [(); CHUNK]),
        b: impl Fn(usize) -> (&'a [i32; CHUNK], &'a [(); CHUNK]),
    ) {
        for k in 0..count {
            let (a, b) = (a(k).0, b(k).0);
            for j in 0..CHUNK {
                acc[j] = acc[j].wrapping_add(a[j] * b[j]);
            }
        }
    }
}

/// gfx90a, f16 and bf16: `GROUP` (2 or 4) products are added in pairs, then the sum is added to the accumulator. Each
/// product and sum is rounded to f32, and flushed if it is denormal. Denormal elements and denormal initial
/// accumulators are flushed to +0.
pub(crate) struct Ftz<S, const GROUP: usize>(PhantomData<S>);

/// Replaces a denormal with zero of the same sign.
#[inline(always)]
pub(crate) fn flush(x: f32) -> f32 {
    let small = x.abs() < f32::MIN_POSITIVE;
    f32::from_bits(if small { x.to_bits() & 0x8000_0000 } else { x.to_bits() })
}

impl<S: Element, const GROUP: usize> Kind for Ftz<S, GROUP> {
    #[inline(always)]
    fn get(bits: u32, _: bool) -> (f32, ()) {
        let value = S::value(bits);
        (if value.abs() < power(S::LOWEST) as f32 { 0.0 } else { value }, ())
    }
    const BITS: u32 = S::BITS;
    type T = f32;
    type P = ();
    type C = f32;
    const GROUP: usize = GROUP;

    #[inline(always)]
    fn start(acc: &mut [f32; CHUNK]) {
        for x in acc {
            *x = if x.abs() < f32::MIN_POSITIVE { 0.0 } else { *x };
        }
    }

    #[inline(always)]
    fn add<'a>(
        acc: &mut [f32; CHUNK],
        _: usize,
        _: bool,
        a: impl Fn(usize) -> ([f32; CHUNK], [(); CHUNK]),
        b: impl Fn(usize) -> (&'a [f32; CHUNK], &'a [(); CHUNK]),
    ) {
        let pair = |k: usize| -> [f32; CHUNK] {
            let (a0, b0, a1, b1) = (a(k).0, b(k).0, a(k + 1).0, b(k + 1).0);
            std::array::from_fn(|j| flush(flush(a0[j] * b0[j]) + flush(a1[j] * b1[j])))
        };
        let mut sum = pair(0);
        if GROUP == 4 {
            let high = pair(2);
            for j in 0..CHUNK {
                sum[j] = flush(sum[j] + high[j]);
            }
        }
        for j in 0..CHUNK {
            acc[j] = flush(acc[j] + sum[j]);
        }
    }

    #[inline(always)]
    fn finish(acc: &mut [f32; CHUNK]) {
        one_nan(acc);
    }
}

/// Returns the reciprocal of a power of two.
#[inline(always)]
fn inverse(power: f64) -> f64 {
    f64::from_bits((2046u64 << 52).wrapping_sub(power.to_bits()))
}

/// 2 to the number of places below the largest exponent at which products and the accumulator are truncated.
const CUT: f64 = power(24);
/// A power of two below the exponent of any product.
const NOTHING: f64 = power(-300);

/// gfx942, f16, bf16 and xf32: `GROUP` products are added at once.
///
/// 1. Let `e` be the largest sum of the exponents of two factors. (A denormal has the exponent of the smallest normal
///    number. Zeros don't count.) Each product is truncated towards zero at 2^(e - 24), and the products are added
///    exactly.
/// 2. Let `f` be the larger of `e` and the accumulator's exponent. The sum is rounded down at 2^(f - 32), the
///    accumulator at 2^(f - 24), and the two are added exactly.
/// 3. The result is rounded down to 31 places after its first, then to the nearest f32, ties to even.
///
/// In f64 all steps are exact, except for these roundings. A product of 2^128 or more is infinite.
pub(crate) struct Truncated<S, const GROUP: usize>(PhantomData<S>);

/// gfx942, fp8 and bf8: like [`Truncated`], but step 1 is done separately for the products of even and of odd index,
/// each with its own largest exponent. Both sums are then rounded down 24 places below the larger exponent. An
/// accumulator below 2^(f - 25) counts as 0. `F` and `B` are the target's formats of fp8 and bf8.
pub(crate) struct Split<F, B>(PhantomData<(F, B)>);

/// gfx942's 8-bit floats.
pub(crate) type Fnuz = Split<Fp8, Bf8>;
/// gfx950's 8-bit floats.
pub(crate) type Ocp = Split<OcpFp8, OcpBf8>;

/// Computes step 1 of [`Truncated`]. Returns the largest exponent of the products as a power of two, and their sum in
/// units of 2^-24 of that.
#[inline(always)]
fn cut_sum<'a>(
    indices: impl Iterator<Item = usize> + Clone,
    a: &impl Fn(usize) -> ([f64; CHUNK], [f64; CHUNK]),
    b: &impl Fn(usize) -> (&'a [f64; CHUNK], &'a [f64; CHUNK]),
) -> ([f64; CHUNK], [f64; CHUNK]) {
    let mut top = [NOTHING; CHUNK];
    for k in indices.clone() {
        let (a, b) = (a(k).1, b(k).1);
        for j in 0..CHUNK {
            let p = a[j] * b[j];
            top[j] = if p > top[j] { p } else { top[j] };
        }
    }
    let scale = top.map(|top| inverse(top) * CUT);
    let mut sum = [0f64; CHUNK];
    for k in indices {
        let (a, b) = (a(k).0, b(k).0);
        for j in 0..CHUNK {
            sum[j] += (a[j] * b[j] * scale[j]).trunc();
        }
    }
    (top, sum)
}

/// Computes steps 2 and 3 of [`Truncated`]. `sum` is in units of 2^-24 of `top`. With `window`, an accumulator below
/// 2^(f - 25) counts as 0.
#[inline(always)]
fn accumulate(acc: &mut [f32; CHUNK], top: &[f64; CHUNK], sum: &[f64; CHUNK], window: bool) {
    // The bits of an f64 after the 31st place.
    const REST: u64 = (1 << 21) - 1;
    for j in 0..CHUNK {
        let c = f64::from(acc[j]);
        let exponent = f64::from_bits(c.to_bits() & 0x7ff0_0000_0000_0000);
        let exponent = if exponent < power(-126) { power(-126) } else { exponent };
        let both = if exponent > top[j] { exponent } else { top[j] };
        let unit = inverse(both);
        let products = (sum[j] * (top[j] * unit * power(8))).floor();
        let addend = (c * unit * CUT).floor() * power(8);
        let addend = if window && exponent < both * power(-25) { 0.0 } else { addend };
        let total = (products + addend) * (both * power(-32));
        // A number below 2^-126 has no more places than 2^-126.
        let total = (total * power(157)).floor() * power(-157);
        let bits = total.to_bits();
        let down = if total < 0.0 { REST } else { 0 };
        let rounded = f64::from_bits((bits + down) & !REST) as f32;
        acc[j] = if acc[j].is_finite() { rounded } else { acc[j] };
    }
}

/// Replaces the accumulators that have an infinite or NaN product. `before` is their previous value.
#[cold]
#[inline(never)]
fn specials<'a>(
    acc: &mut [f32; CHUNK],
    before: &[f32; CHUNK],
    count: usize,
    a: &dyn Fn(usize) -> ([f64; CHUNK], [f64; CHUNK]),
    b: &dyn Fn(usize) -> (&'a [f64; CHUNK], &'a [f64; CHUNK]),
) {
    let mut sums = [0f64; CHUNK];
    for k in 0..count {
        let (a, b) = (a(k).0, b(k).0);
        for j in 0..CHUNK {
            let product = a[j] * b[j];
            sums[j] += match product {
                p if p.is_nan() => f64::NAN,
                p if p.abs() >= power(128) => f64::INFINITY.copysign(p),
                _ => 0.0,
            };
        }
    }
    for j in 0..CHUNK {
        if sums[j] != 0.0 {
            acc[j] = sums[j] as f32 + before[j];
        }
    }
}

/// Returns whether a product may be infinite or NaN.
#[inline(always)]
fn any_special(a: &[f64], b: &[f64]) -> bool {
    // The bits of a NaN are larger than those of any number.
    let largest = |v: &[f64]| v.iter().fold(0, |most, x| most.max(x.to_bits() << 1));
    let exponent = |bits: u64| (bits >> 53) as i32 - 1023;
    exponent(largest(a)).max(-1000) + exponent(largest(b)).max(-1000) >= 127
        || exponent(largest(a)) == 1024
        || exponent(largest(b)) == 1024
}

impl<S: Element, const GROUP: usize> Kind for Truncated<S, GROUP> {
    #[inline(always)]
    fn get(bits: u32, _: bool) -> (f64, f64) {
        with_power::<S>(bits)
    }
    const BITS: u32 = S::BITS;
    type T = f64;
    type P = f64;
    type C = f32;
    const GROUP: usize = GROUP;

    #[inline(always)]
    fn special(a: &[f64], b: &[f64]) -> bool {
        any_special(a, b)
    }

    #[inline(always)]
    fn add<'a>(
        acc: &mut [f32; CHUNK],
        count: usize,
        special: bool,
        a: impl Fn(usize) -> ([f64; CHUNK], [f64; CHUNK]),
        b: impl Fn(usize) -> (&'a [f64; CHUNK], &'a [f64; CHUNK]),
    ) {
        let before = *acc;
        let (top, sum) = cut_sum(0..count, &a, &b);
        accumulate(acc, &top, &sum, false);
        if special {
            specials(acc, &before, count, &a, &b);
        }
    }

    #[inline(always)]
    fn finish(acc: &mut [f32; CHUNK]) {
        one_nan(acc);
    }
}

impl<F: Element, B: Element> Kind for Split<F, B> {
    const BITS: u32 = 8;
    type T = f64;
    type P = f64;
    type C = f32;
    const GROUP: usize = 16;

    #[inline(always)]
    fn get(bits: u32, fp8: bool) -> (f64, f64) {
        if fp8 { with_power::<F>(bits) } else { with_power::<B>(bits) }
    }

    #[inline(always)]
    fn special(a: &[f64], b: &[f64]) -> bool {
        any_special(a, b)
    }

    #[inline(always)]
    fn add<'a>(
        acc: &mut [f32; CHUNK],
        count: usize,
        special: bool,
        a: impl Fn(usize) -> ([f64; CHUNK], [f64; CHUNK]),
        b: impl Fn(usize) -> (&'a [f64; CHUNK], &'a [f64; CHUNK]),
    ) {
        let before = *acc;
        let (even_top, even) = cut_sum((0..count).step_by(2), &a, &b);
        let (odd_top, odd) = cut_sum((1..count).step_by(2), &a, &b);
        let mut top = [0.0; CHUNK];
        let mut sum = [0.0; CHUNK];
        for j in 0..CHUNK {
            top[j] = if even_top[j] > odd_top[j] { even_top[j] } else { odd_top[j] };
            let unit = inverse(top[j]);
            sum[j] = (even[j] * (even_top[j] * unit)).floor() + (odd[j] * (odd_top[j] * unit)).floor();
        }
        accumulate(acc, &top, &sum, true);
        if special {
            specials(acc, &before, count, &a, &b);
        }
    }

    #[inline(always)]
    fn finish(acc: &mut [f32; CHUNK]) {
        one_nan(acc);
    }
}
