//! The arithmetic of matrix instructions: which products are added at once, and what is rounded or flushed when.
//!
//! The ISA documents leave this open. The rules here come from measurements on MI200 and MI300, which they match bit by
//! bit: Xie, Xu, Wang, Yang and Yang, "Bit-Accurate Modeling of GPU Matrix Multiply-Accumulate Units" (arXiv
//! 2511.10909). The ISA documents say what MODE does: it flushes denormal elements of f32 matrices A and B, and nothing
//! else (CDNA2 ISA, chapter 7, table of MFMA; CDNA3 ISA, 7.3).
//! - f32 and f64: a chain of fused multiply-adds, denormals of C and D kept ([`Fma`]).
//! - gfx90a, f16 and bf16: two or four products added in pairs, each step rounded to f32, denormals flushed ([`Ftz`]).
//! - gfx942, f16, bf16 and xf32: up to eight products are truncated 24 places below the largest exponent and added
//!   exactly; then the accumulator is added and the sum is rounded ([`Sums`]).
//! - gfx942, fp8 and bf8: the same, separately for products of even and of odd index ([`Fnuz`]).
//!
//! Three rules are assumptions, not measurements: a NaN result is the positive quiet NaN without payload; sparse
//! instructions (`v_smfmac`) add as many products at once as dense ones, in the order of A's elements; gfx950 computes
//! as gfx942 does, and all its formats of 8 bits or less as 8-bit floats.

use std::hint::black_box;
use std::marker::PhantomData;

use crate::exec::lanes::Word;
use crate::state::wave::{CHUNK, CHUNKS, LANES, Mode, Wave};

use super::matrix_formats::{Bf8, Element, Fp8, OcpBf8, OcpFp8, power};
pub(crate) use super::matrix_formats::{Bf16, F16, Xf32};
use super::matrix_sums::{self, Range, with_exponent};

/// The accumulators of one register.
pub(crate) type Register<C> = [[C; CHUNK]; CHUNKS];

/// Returns the number of a chunk, which the compiler doesn't know then. Otherwise it keeps what is the same in all chunks in
/// registers, of which it has too few, or makes vectors of one column in all chunks.
#[inline(always)]
pub(crate) fn hidden(c: usize) -> usize {
    black_box(c) % CHUNKS
}

/// The arithmetic of a matrix instruction.
pub(crate) trait Kind {
    /// The number of bits of an element of A and B.
    const BITS: u32;
    /// The type to which elements are converted.
    type T: Copy + Default;
    /// An element's exponent, where the arithmetic needs it (see [`Sums`]); otherwise `()`.
    type P: Copy + Default;
    /// The type of the accumulator.
    type C: Word;
    /// The number of products that are added at once.
    const GROUP: usize;
    /// Whether all products are added in one chunk before those in the next.
    const BY_CHUNK: bool = false;

    /// Reads the elements that each lane has, packed from the low bits of register `first` on.
    #[inline(always)]
    fn read<const E: usize>(operand: &mut Operand<Self, E>, w: &Wave, first: u16, fp8: bool)
    where
        Self: Sized,
    {
        read_each(operand, w, first, fp8);
    }

    /// Returns the element in the low bits. `fp8` says which of the two formats of 8-bit floats it has.
    fn get(bits: u32, fp8: bool) -> (Self::T, Self::P);

    /// Does to the elements of A or of B what the MODE register says.
    #[inline(always)]
    fn obey(_: &mut [Self::T], _: Mode) {}

    /// What all elements of A and B say about their products; `()` if nothing matters.
    type Range: Copy;
    fn range<const E: usize, const E2: usize>(a: &Operand<Self, E>, b: &Operand<Self, E2>) -> Self::Range
    where
        Self: Sized;

    /// Returns what `add` has to know about the products and these accumulators.
    #[inline(always)]
    fn with(range: Self::Range, _: &Register<Self::C>) -> Self::Range {
        range
    }

    /// Changes the elements of A to what `add` wants in this range, which is that for all accumulators.
    #[inline(always)]
    fn settle(_: Self::Range, _: &mut [Self::T]) {}

    /// Prepares the accumulators before the first products.
    #[inline(always)]
    fn start(_: &mut [Self::C; CHUNK]) {}

    /// Adds the products `0..count` in 16 columns. `a` returns the element of A that is the factor `k` in a column, `b`
    /// those of B in all columns, `scale` scales the powers of two of the sums.
    fn add<'a>(
        acc: &mut [Self::C; CHUNK],
        count: usize,
        range: Self::Range,
        a: impl Fn(usize, usize) -> (Self::T, Self::P),
        b: impl Fn(usize) -> (&'a [Self::T; CHUNK], &'a [Self::P; CHUNK]),
        scale: impl Fn(&mut [i32; CHUNK]),
    ) where
        Self::T: 'a,
        Self::P: 'a;

    /// Finishes the accumulators after the last products.
    #[inline(always)]
    fn finish(_: &mut [Self::C; CHUNK], _: Self::Range) {}
}

/// The elements of A or B: `E` of each lane, and for each what [`Kind::P`] describes.
pub(crate) struct Operand<K: Kind, const E: usize> {
    pub(crate) values: [[K::T; LANES]; E],
    pub(crate) exponents: [[K::P; LANES]; E],
}

impl<K: Kind, const E: usize> Operand<K, E> {
    #[inline(always)]
    pub(crate) fn new() -> Self {
        Operand { values: [[K::T::default(); LANES]; E], exponents: [[K::P::default(); LANES]; E] }
    }
}

/// Reads any elements.
#[inline(always)]
fn read_each<K: Kind, const E: usize>(operand: &mut Operand<K, E>, w: &Wave, first: u16, fp8: bool) {
    let per_dword = 32 / K::BITS as usize;
    for e in 0..E {
        let dwords = w.v(first.wrapping_add((e / per_dword) as u16)).flat();
        let shift = K::BITS * (e % per_dword) as u32;
        for l in 0..LANES {
            (operand.values[e][l], operand.exponents[e][l]) = K::get(dwords[l] >> shift, fp8);
        }
    }
}

/// The same as [`read_each`], not inlined, for elements that are seldom.
#[cold]
#[inline(never)]
fn read_special<K: Kind, const E: usize>(operand: &mut Operand<K, E>, w: &Wave, first: u16, fp8: bool) {
    read_each(operand, w, first, fp8);
}

/// Replaces each NaN with the one that the matrix unit returns.
#[inline(always)]
fn one_nan(acc: &mut [f32; CHUNK]) {
    if acc.iter().fold(false, |nan, x| nan | x.is_nan()) {
        replace_nans(acc);
    }
}

/// Not inlined: it would be compiled to masked stores, which delay the loads that follow.
#[cold]
#[inline(never)]
fn replace_nans(acc: &mut [f32; CHUNK]) {
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
    const BY_CHUNK: bool = true;

    type Range = ();

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
    fn range<const E: usize, const E2: usize>(_: &Operand<Self, E>, _: &Operand<Self, E2>) {}

    #[inline(always)]
    fn add<'a>(
        acc: &mut [f32; CHUNK],
        count: usize,
        _: (),
        a: impl Fn(usize, usize) -> (f32, ()),
        b: impl Fn(usize) -> (&'a [f32; CHUNK], &'a [(); CHUNK]),
        _: impl Fn(&mut [i32; CHUNK]),
    ) {
        for k in 0..count {
            let b = b(k).0;
            for j in 0..CHUNK {
                acc[j] = a(k, j).0.mul_add(b[j], acc[j]);
            }
        }
    }

    #[inline(always)]
    fn finish(acc: &mut [f32; CHUNK], _: Self::Range) {
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

    type Range = ();

    #[inline(always)]
    fn get(bits: u32, _: bool) -> (i32, ()) {
        (i32::from(bits as i8), ())
    }

    #[inline(always)]
    fn range<const E: usize, const E2: usize>(_: &Operand<Self, E>, _: &Operand<Self, E2>) {}

    #[inline(always)]
    fn add<'a>(
        acc: &mut [i32; CHUNK],
        count: usize,
        _: (),
        a: impl Fn(usize, usize) -> (i32, ()),
        b: impl Fn(usize) -> (&'a [i32; CHUNK], &'a [(); CHUNK]),
        _: impl Fn(&mut [i32; CHUNK]),
    ) {
        for k in 0..count {
            let b = b(k).0;
            for j in 0..CHUNK {
                acc[j] = acc[j].wrapping_add(a(k, j).0 * b[j]);
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
    flush_if::<true>(x)
}

/// Replaces a denormal with zero of the same sign if `FLUSH` is set.
#[inline(always)]
fn flush_if<const FLUSH: bool>(x: f32) -> f32 {
    let bits = x.to_bits();
    f32::from_bits(if FLUSH && bits & 0x7f80_0000 == 0 { bits & 0x8000_0000 } else { bits })
}

/// Adds up to four products of [`Ftz`]. Without `FLUSH`, neither products nor sums are denormal.
#[inline(always)]
fn add_pairs<'a, const FLUSH: bool, const GROUP: usize>(
    acc: &mut [f32; CHUNK],
    a: impl Fn(usize, usize) -> (f32, ()),
    b: impl Fn(usize) -> (&'a [f32; CHUNK], &'a [(); CHUNK]),
) {
    let mut sum = [0f32; CHUNK];
    for k in (0..GROUP).step_by(2) {
        let (b0, b1) = (b(k).0, b(k + 1).0);
        for j in 0..CHUNK {
            let (p, q) = (a(k, j).0 * b0[j], a(k + 1, j).0 * b1[j]);
            let pair = flush_if::<FLUSH>(flush_if::<FLUSH>(p) + flush_if::<FLUSH>(q));
            sum[j] = if k == 0 { pair } else { flush_if::<FLUSH>(sum[j] + pair) };
        }
    }
    for j in 0..CHUNK {
        acc[j] = flush_if::<FLUSH>(acc[j] + sum[j]);
    }
}

impl<S: Element, const GROUP: usize> Kind for Ftz<S, GROUP> {
    const BITS: u32 = S::BITS;
    type T = f32;
    type P = ();
    type C = f32;
    const GROUP: usize = GROUP;
    const BY_CHUNK: bool = true;
    /// Whether a product or a sum may be denormal.
    type Range = bool;

    #[inline(always)]
    fn get(bits: u32, _: bool) -> (f32, ()) {
        let value = S::value(bits);
        (if value.abs() < power(S::LOWEST) as f32 { 0.0 } else { value }, ())
    }

    /// The last place of an element is at least 2^-10 of its first. So products and their sums are multiples of 2^-20 of
    /// the product of the least elements. If this is 2^-102 or more, no sum with a normal accumulator is denormal: the
    /// accumulator is less than half of it, or has no place below 2^-126.
    #[inline(always)]
    fn range<const E: usize, const E2: usize>(a: &Operand<Self, E>, b: &Operand<Self, E2>) -> bool {
        least_exponent(a.values.as_flattened()) + least_exponent(b.values.as_flattened()) < -102 + 20
    }

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
        denormals: bool,
        a: impl Fn(usize, usize) -> (f32, ()),
        b: impl Fn(usize) -> (&'a [f32; CHUNK], &'a [(); CHUNK]),
        _: impl Fn(&mut [i32; CHUNK]),
    ) {
        if denormals {
            add_pairs::<true, GROUP>(acc, a, b);
        } else {
            add_pairs::<false, GROUP>(acc, a, b);
        }
    }

    #[inline(always)]
    fn finish(acc: &mut [f32; CHUNK], _: Self::Range) {
        one_nan(acc);
    }
}

/// Returns the least exponent of the numbers that are not zero, or one less.
#[inline(always)]
fn least_exponent(values: &[f32]) -> i32 {
    // One less than zero is the largest number without sign.
    let least = values.iter().fold(u32::MAX, |least, x| least.min((x.to_bits() << 1).wrapping_sub(1)));
    (least >> 24) as i32 - 127
}

/// gfx942 and gfx950: `GROUP` products are added at once.
///
/// 1. Let `e` be the largest sum of the exponents of two factors. (A denormal has the exponent of the smallest normal
///    number. Zeros don't count.) Each product is truncated towards zero at 2^(e - 24), and the products are added
///    exactly.
/// 2. Let `f` be the larger of `e` and the accumulator's exponent. The sum is rounded down at 2^(f - 32), the
///    accumulator at 2^(f - 24), and the two are added exactly.
/// 3. The result is rounded down to 31 places after its first, then to the nearest f32, ties to even.
///
/// In f64 all steps are exact, except for these roundings. A product of 2^128 or more is infinite.
///
/// With `SPLIT`, step 1 is done separately for the products of even and of odd index, each with its own largest exponent.
/// Both sums are then rounded down 24 places below the larger exponent. An accumulator below 2^(f - 25) counts as 0.
///
/// `F` and `B` are the formats of the elements; only 8-bit floats have two.
pub(crate) struct Sums<F, B, const GROUP: usize, const SPLIT: bool>(PhantomData<(F, B)>);

/// gfx942's f16, bf16 and xf32.
pub(crate) type Truncated<S, const GROUP: usize> = Sums<S, S, GROUP, false>;
/// gfx942's 8-bit floats.
pub(crate) type Fnuz = Sums<Fp8, Bf8, 16, true>;
/// gfx950's 8-bit floats.
pub(crate) type Ocp = Sums<OcpFp8, OcpBf8, 16, true>;

impl<F: Element, B: Element, const GROUP: usize, const SPLIT: bool> Kind for Sums<F, B, GROUP, SPLIT> {
    const BITS: u32 = F::BITS;
    type T = f32;
    type P = i16;
    type C = f32;
    const GROUP: usize = GROUP;
    type Range = Range;

    #[inline(always)]
    fn read<const E: usize>(operand: &mut Operand<Self, E>, w: &Wave, first: u16, fp8: bool) {
        let register = |r: usize| w.v(first.wrapping_add(r as u16));
        let finite = if fp8 {
            matrix_sums::read_finite::<F, E>(register, &mut operand.values, &mut operand.exponents)
        } else {
            matrix_sums::read_finite::<B, E>(register, &mut operand.values, &mut operand.exponents)
        };
        if !finite {
            read_special(operand, w, first, fp8);
        }
    }

    #[inline(always)]
    fn get(bits: u32, fp8: bool) -> (f32, i16) {
        if fp8 { with_exponent::<F>(bits) } else { with_exponent::<B>(bits) }
    }

    #[inline(always)]
    fn range<const E: usize, const E2: usize>(a: &Operand<Self, E>, b: &Operand<Self, E2>) -> Range {
        Range::of(a.exponents.as_flattened(), b.exponents.as_flattened(), [0; 2])
    }

    #[inline(always)]
    fn with(range: Range, acc: &Register<f32>) -> Range {
        range.with(acc.as_flattened())
    }

    #[inline(always)]
    fn settle(range: Range, a: &mut [f32]) {
        if SPLIT {
            range.settle(a);
        }
    }

    #[inline(always)]
    fn add<'a>(
        acc: &mut [f32; CHUNK],
        count: usize,
        range: Range,
        a: impl Fn(usize, usize) -> (f32, i16),
        b: impl Fn(usize) -> (&'a [f32; CHUNK], &'a [i16; CHUNK]),
        scale: impl Fn(&mut [i32; CHUNK]),
    ) {
        matrix_sums::add::<f32, SPLIT>(acc, count, range, a, b, scale);
    }

    #[inline(always)]
    fn finish(acc: &mut [f32; CHUNK], range: Range) {
        if !range.is_narrow() {
            one_nan(acc);
        }
    }
}

/// The same as [`Ocp`] for elements that f32 can't represent: 8-bit floats with large scales.
pub(crate) struct Far;

impl Kind for Far {
    const BITS: u32 = 8;
    type T = f64;
    type P = i16;
    type C = f32;
    const GROUP: usize = 16;
    type Range = Range;

    #[inline(always)]
    fn get(bits: u32, fp8: bool) -> (f64, i16) {
        let (value, exponent) = Ocp::get(bits, fp8);
        (value.into(), exponent)
    }

    #[inline(always)]
    fn range<const E: usize, const E2: usize>(_: &Operand<Self, E>, _: &Operand<Self, E2>) -> Range {
        Range::ANY
    }

    #[inline(always)]
    fn add<'a>(
        acc: &mut [f32; CHUNK],
        count: usize,
        range: Range,
        a: impl Fn(usize, usize) -> (f64, i16),
        b: impl Fn(usize) -> (&'a [f64; CHUNK], &'a [i16; CHUNK]),
        scale: impl Fn(&mut [i32; CHUNK]),
    ) {
        matrix_sums::add::<f64, true>(acc, count, range, a, b, scale);
    }

    #[inline(always)]
    fn finish(acc: &mut [f32; CHUNK], _: Self::Range) {
        one_nan(acc);
    }
}
