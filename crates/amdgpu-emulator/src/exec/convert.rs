//! Conversions between number formats. Conversions to integers round towards zero and saturate, and a NaN gives 0, as
//! with Rust's `as`.

#![allow(clippy::needless_range_loop, reason = "a lane's number indexes several arrays")]

use std::marker::PhantomData;

use crate::exec::inst::{Exec, ExecContext, Flow, Inst};
use crate::exec::lanes::{Forms, Op1, Word, active_chunks, all, load, store, vector_of};
use crate::exec::level::two_columns;
use crate::exec::number::float::Float;
use crate::exec::number::half16::{Half, to_integer};
use crate::exec::number::narrow::{self, BF8, FP8, Narrow, to_bf16};
use crate::exec::number::soft::{self, Round};
use crate::state::wave::{CHUNK, Mode, Wave};

use super::op::{ops1, ops2, ops3};

ops1! {
    CvtI32F64: |_, a: f64| -> i32 { a as i32 }; fast { (to_i32(a), 0) }
    CvtU32F64: |_, a: f64| -> u32 { a as u32 }; fast { (to_u32(a), 0) }
    CvtF64I32: |_, a: i32| -> f64 { f64::from(a) }
    CvtF64U32: |_, a: u32| -> f64 { f64::from(a) }
    CvtI32F32: |_, a: f32| -> i32 { a as i32 }; fast { (to_i32(f64::from(a)), 0) }
    CvtU32F32: |_, a: f32| -> u32 { a as u32 }; fast { (to_u32(f64::from(a)), 0) }
    CvtF32I32: |m, a: i32| -> f32 { let _ = m; a as f32 } => {
        f32::of(soft::from_int(soft::F32, f32::rounding(m), i64::from(a)))
    }
    CvtF32U32: |m, a: u32| -> f32 { let _ = m; a as f32 } => {
        f32::of(soft::from_int(soft::F32, f32::rounding(m), i64::from(a)))
    }
    CvtF64F32: |_, a: f32| -> f64 { f64::from(a) }
    /// Rounds with the mode's rounding for f64 (LLVM, `FPDPRounding`), and flushes the result as the mode says for f32.
    CvtF32F64: |m, a: f64| -> f32 { let _ = m; a as f32 } => {
        f32::of(soft::convert(soft::F64, soft::F32, f64::rounding(m), a.flush(m, false).bits())).flush(m, true)
    }
    CvtF32F16: |_, a: Half| -> f32 { a.to_f32() }
    CvtF16F32: |m, a: f32| -> Half { let _ = m; Half::from_f32(a) } => {
        Half::of(soft::convert(soft::F32, soft::F16, Half::rounding(m), a.flush(m, false).bits())).flush(m, true)
    }
    /// Rounds to the nearest integer, halves up.
    CvtRpiI32F32: |_, a: f32| -> i32 { (a + 0.5).floor() as i32 }; fast {
        (to_i32(f64::from((a + 0.5).floor())), 0)
    }
    CvtFlrI32F32: |_, a: f32| -> i32 { a.floor() as i32 }; fast { (to_i32(f64::from(a.floor())), 0) }
    /// Converts a signed 4-bit number, in units of 1/16.
    CvtOffF32I4: |_, a: u32| -> f32 { ((a << 28) as i32 >> 28) as f32 / 16.0 }
    CvtF32Ubyte0: |_, a: u32| -> f32 { (a & 0xff) as f32 }
    CvtF32Ubyte1: |_, a: u32| -> f32 { (a >> 8 & 0xff) as f32 }
    CvtF32Ubyte2: |_, a: u32| -> f32 { (a >> 16 & 0xff) as f32 }
    CvtF32Ubyte3: |_, a: u32| -> f32 { (a >> 24) as f32 }
    CvtF16U16: |m, a: u16| -> Half { let _ = m; Half::from_f32(f32::from(a)) } => {
        Half::of(soft::from_int(soft::F16, Half::rounding(m), i64::from(a)))
    }
    CvtF16I16: |m, a: i16| -> Half { let _ = m; Half::from_f32(f32::from(a)) } => {
        Half::of(soft::from_int(soft::F16, Half::rounding(m), i64::from(a)))
    }
    CvtU16F16: |_, a: Half| -> u16 { a.to_f32() as u16 }
    CvtI16F16: |_, a: Half| -> i16 { a.to_f32() as i16 }
    CvtNormI16F16: |_, a: Half| -> u16 { snorm(a.to_f32()) as u16 }
    CvtNormU16F16: |_, a: Half| -> u16 { unorm(a.to_f32()) }
    FrexpExpI32F32: |_, a: f32| -> i32 { frexp(a).1 }
    FrexpExpI32F64: |_, a: f64| -> i32 { frexp(a).1 }
    FrexpExpI16F16: |_, a: Half| -> i16 { frexp(a).1 as i16 }
    CvtF32Bf16: |_, a: u16| -> f32 { f32::from_bits(u32::from(a) << 16) } => { f32::from_bits(u32::from(a) << 16) }
    CvtI32I16: |_, a: i16| -> i32 { i32::from(a) }
    CvtU32U16: |_, a: u16| -> u32 { u32::from(a) }
    CvtF32Fp8: |_, a: u32| -> f32 { small_to_f32::<3>(a as u8) }
    CvtF32Bf8: |_, a: u32| -> f32 { small_to_f32::<2>(a as u8) }
}

ops1! {
    // The 8-bit floats of gfx950.
    CvtF32OcpFp8: |_, a: u32| -> f32 { FP8.to_f32(a) }
    CvtF32OcpBf8: |_, a: u32| -> f32 { BF8.to_f32(a) }
}

/// 2^52, and 1.5 * 2^52. Adding it leaves an integer, unsigned or signed, in the low bits.
const INTEGERS: [f64; 2] = [4503599627370496.0, 6755399441055744.0];

/// Converts as Rust's `as` does, in a form that the compiler vectorises.
#[inline(always)]
fn to_i32(a: f64) -> i32 {
    let limits = [f64::from(i32::MIN), f64::from(i32::MAX)];
    let above = if a > limits[0] { a } else { limits[0] };
    let inside = if above < limits[1] { above } else { limits[1] };
    let integer = (inside.trunc() + INTEGERS[1]).to_bits() as i32;
    if a.is_nan() { 0 } else { integer }
}

/// Converts as [`to_i32`] does.
#[inline(always)]
fn to_u32(a: f64) -> u32 {
    // A NaN is not above 0.
    let above = if a > 0.0 { a } else { 0.0 };
    let inside = if above < f64::from(u32::MAX) { above } else { f64::from(u32::MAX) };
    (inside.trunc() + INTEGERS[0]).to_bits() as u32
}

/// `v_cvt_pk_f32_fp8` and `v_cvt_pk_f32_bf8`: executes a conversion on the two low bytes.
pub(crate) struct CvtPkF32<O>(PhantomData<O>);

impl<O: Op1<A = u32, D = f32>> CvtPkF32<O> {
    pub(crate) const FORMS: Forms = &all(two_columns::<Self>());
}

impl<O: Op1<A = u32, D = f32>> Exec for CvtPkF32<O> {
    #[inline(always)]
    fn exec(w: &mut Wave, _: &mut ExecContext, i: &Inst) -> Flow {
        let m = w.mode;
        let at = vector_of::<u32>(w, i, 0);
        active_chunks!(w, MASKED, r, mask, c => {
            let a: [u32; CHUNK] = load(r, at, c);
            let (mut low, mut high) = ([0.0; CHUNK], [0.0; CHUNK]);
            for j in 0..CHUNK {
                (low[j], high[j]) = (O::f(m, a[j]), O::f(m, a[j] >> 8));
            }
            store::<_, MASKED>(r, mask, i.dst, c, &low);
            store::<_, MASKED>(r, mask, i.dst.wrapping_add(1), c, &high);
        });
        Flow::Next
    }
}

/// Returns the fraction, with the sign and a magnitude from 0.5 to below 1, and the power of two whose product is the
/// value. Returns zeros, infinities and NaNs unchanged, with power 0.
#[inline(always)]
fn frexp<T: Float>(a: T) -> (T, i32) {
    let precision = T::FORMAT.precision;
    let top = (1u64 << T::FORMAT.exponent) - 1;
    let bias = top / 2;
    let field = |v: T| v.bits() >> (precision - 1) & top;
    // A denormal is multiplied by a power of two that makes it normal.
    let denormal = field(a) == 0;
    let up = T::of((bias + u64::from(precision)) << (precision - 1));
    let normal = if denormal { a.mul(up) } else { a };
    let exponent = field(normal) as i32 - (bias as i32 - 1) - if denormal { precision as i32 } else { 0 };
    let rest = normal.bits() & !(top << (precision - 1));
    let fraction = T::of(rest | (bias - 1) << (precision - 1));
    let special = a.eq(T::ZERO) | (field(a) == top);
    let same = if a.is_nan() { a.quiet() } else { a };
    (if special { same } else { fraction }, if special { 0 } else { exponent })
}

/// `v_frexp_mant`.
pub(crate) struct FrexpMant<T>(PhantomData<T>);
impl<T: Float> Op1 for FrexpMant<T> {
    type D = T;
    type A = T;
    #[inline(always)]
    fn f(_: Mode, a: T) -> T {
        frexp(a).0
    }
}

/// Converts -1..1 to a signed 16-bit number.
#[inline(always)]
fn snorm(a: f32) -> i16 {
    (a.clamp(-1.0, 1.0) * 32767.0).round_ties_even() as i16
}

/// Converts 0..1 to an unsigned 16-bit number.
#[inline(always)]
fn unorm(a: f32) -> u16 {
    (a.clamp(0.0, 1.0) * 65535.0).round_ties_even() as u16
}

/// Returns 2^n. `n` must be the exponent of a normal f64.
#[inline(always)]
fn power(n: i32) -> f64 {
    f64::from_bits(((n + 1023) as u64) << 52)
}

ops2! {
    LdexpF32: |m, a: f32, n: i32| -> f32 { let _ = m; (f64::from(a) * power(n.clamp(-300, 300))) as f32 } => {
        f32::of(soft::scale(soft::F32, f32::rounding(m), a.flush(m, false).bits(), n)).flush(m, true)
    }
    LdexpF64: |m, a: f64, n: i32| -> f64 {
        let _ = m;
        // Up to three multiplications, of which only one may round a result that is not zero: a step down that is not
        // the last leaves 53 powers of two to the others.
        let step = |n: i32| if n < -1022 { -969 } else { n.min(1023) };
        let n = n.clamp(-2200, 2200);
        let (first, rest) = (step(n), n - step(n));
        let (second, third) = (step(rest), rest - step(rest));
        a * power(first) * power(second) * power(third)
    } => {
        f64::of(soft::scale(soft::F64, f64::rounding(m), a.flush(m, false).bits(), n)).flush(m, true)
    }; fast {
        // The power of two, if it is a normal number.
        let power = f64::from_bits((u64::from(n as u32) + 1023) << 52);
        (a * power, u32::from((n as u32).wrapping_add(1022) > 2045))
    }
    LdexpF16: |m, a: Half, n: i16| -> Half {
        let _ = m;
        Half::from_f32((a.to_f64() * power(i32::from(n).clamp(-60, 60))) as f32)
    } => {
        Half::of(soft::scale(soft::F16, Half::rounding(m), a.flush(m, false).bits(), i32::from(n))).flush(m, true)
    }
    CvtPknormI16F32: |_, a: f32, b: f32| -> u32 { u32::from(snorm(a) as u16) | u32::from(snorm(b) as u16) << 16 }
    CvtPknormU16F32: |_, a: f32, b: f32| -> u32 { u32::from(unorm(a)) | u32::from(unorm(b)) << 16 }
    CvtPknormI16F16: |_, a: Half, b: Half| -> u32 {
        let part = |v: Half| u32::from(to_integer(v.to_f32() * 32767.0, -32767.0, 32767.0));
        part(a) | part(b) << 16
    }
    CvtPknormU16F16: |_, a: Half, b: Half| -> u32 {
        let part = |v: Half| u32::from(to_integer(v.to_f32() * 65535.0, 0.0, 65535.0));
        part(a) | part(b) << 16
    }
    /// Rounds towards zero in every mode.
    CvtPkrtzF16F32: |_, a: f32, b: f32| -> u32 {
        u32::from(Half::towards_zero(a).0) | u32::from(Half::towards_zero(b).0) << 16
    }
    CvtPkI16F32: |_, a: f32, b: f32| -> u32 { u32::from(a as i16 as u16) | u32::from(b as i16 as u16) << 16 }
    CvtPkU16F32: |_, a: f32, b: f32| -> u32 { u32::from(a as u16) | u32::from(b as u16) << 16 }
    CvtPkU16U32: |_, a: u32, b: u32| -> u32 { a.min(0xffff) | b.min(0xffff) << 16 }
    CvtPkI16I32: |_, a: i32, b: i32| -> u32 {
        let part = |v: i32| v.clamp(-0x8000, 0x7fff) as u32 & 0xffff;
        part(a) | part(b) << 16
    }
    CvtPkFp8F32: |m, a: f32, b: f32| -> u16 {
        u16::from(f32_to_small::<3, false>(m, a)) | u16::from(f32_to_small::<3, false>(m, b)) << 8
    }
    CvtPkBf8F32: |m, a: f32, b: f32| -> u16 {
        u16::from(f32_to_small::<2, false>(m, a)) | u16::from(f32_to_small::<2, false>(m, b)) << 8
    }
    /// Stochastic rounding: random bits are added below the last bit of the result, which is then truncated.
    CvtSrFp8F32: |m, a: f32, random: u32| -> u32 {
        u32::from(f32_to_small::<3, true>(m, dither(a, random >> 12)))
    }
    CvtSrBf8F32: |m, a: f32, random: u32| -> u32 {
        u32::from(f32_to_small::<2, true>(m, dither(a, random >> 11)))
    }
}

ops2! {
    // The 8-bit floats of gfx950.
    CvtPkOcpFp8F32: |m, a: f32, b: f32| -> u16 { nearest_pair(FP8, m, a, b) }
    CvtPkOcpBf8F32: |m, a: f32, b: f32| -> u16 { nearest_pair(BF8, m, a, b) }
    CvtSrOcpFp8F32: |m, a: f32, seed: u32| -> u32 { random(FP8, m.fp16_ovfl(), a, seed) }
    CvtSrOcpBf8F32: |m, a: f32, seed: u32| -> u32 { random(BF8, m.fp16_ovfl(), a, seed) }
    CvtSrF16F32: |_, a: f32, seed: u32| -> Half { Half(random(narrow::F16, false, a, seed) as u16) }
    CvtSrBf16F32: |_, a: f32, seed: u32| -> u16 { random(narrow::BF16, false, a, seed) as u16 }
    /// Rounds to nearest even in every mode.
    CvtPkF16F32: |_, a: f32, b: f32| -> u32 {
        u32::from(Half::from_f32(a).0) | u32::from(Half::from_f32(b).0) << 16
    }
    /// Rounds to nearest even in every mode.
    CvtPkBf16F32: |_, a: f32, b: f32| -> u32 { u32::from(to_bf16(a)) | u32::from(to_bf16(b)) << 16 }
}

/// Rounds to the nearest 8-bit floats of gfx950.
#[inline(always)]
fn nearest_pair(format: Narrow, m: Mode, a: f32, b: f32) -> u16 {
    let saturate = m.fp16_ovfl();
    (format.nearest(a, saturate) | format.nearest(b, saturate) << 8) as u16
}

/// Rounds at random, as the seed's upper bits say.
#[inline(always)]
fn random(format: Narrow, saturate: bool, a: f32, seed: u32) -> u32 {
    format.random(a, seed, 23, saturate)
}

ops3! {
    /// Rounds to an integer as the mode says, saturates, and replaces byte `n` of `c`.
    CvtPkU8F32: |m, a: f32, n: u32, c: u32| -> u32 {
        let _ = m;
        byte(u32::from(a.round_ties_even() as u8), n, c)
    } => {
        let a = a.flush(m, false);
        let rounded = match f32::rounding(m) {
            Round::Even => a.round_ties_even(),
            Round::Up => a.ceil(),
            Round::Down => a.floor(),
            Round::Zero => a.trunc(),
        };
        byte(u32::from(rounded as u8), n, c)
    }; fast {
        let above = if a > 0.0 { a } else { 0.0 };
        let inside = if above < 255.0 { above } else { 255.0 };
        // Adding 2^23 rounds to an integer, in the low bits.
        (byte((inside + 8388608.0).to_bits() & 0xff, n, c), 0)
    }
}

/// Returns `c` with byte `n` replaced.
#[inline(always)]
fn byte(value: u32, n: u32, c: u32) -> u32 {
    let at = 8 * (n & 3);
    value << at | c & !(0xff << at)
}

#[inline(always)]
fn dither(a: f32, random: u32) -> f32 {
    if a.is_finite() { f32::from_bits(a.to_bits().wrapping_add(random)) } else { a }
}

/// Converts an 8-bit float of gfx942 with `FRACTION` fraction bits. The formats have no infinities. The code of -0 is
/// the only NaN. The exponent's bias is one more than IEEE's rule gives (CDNA3 ISA, "FP8 and BF8").
#[inline(always)]
pub(crate) fn small_to_f32<const FRACTION: u32>(a: u8) -> f32 {
    let magnitude = narrow::small_to_f32(u32::from(a & 0x7f), FRACTION, 1 << (6 - FRACTION));
    let value = f32::from_bits(magnitude.to_bits() | u32::from(a & 0x80) << 24);
    if a == 0x80 { f32::NAN } else { value }
}

/// Converts to an 8-bit float; see [`small_to_f32`]. A number that is too large gives NaN, or the largest number if the
/// mode has FP16_OVFL.
#[inline(always)]
fn f32_to_small<const FRACTION: u32, const DOWN: bool>(m: Mode, a: f32) -> u8 {
    let code = narrow::f32_to_small::<DOWN>(a, FRACTION, 1 << (6 - FRACTION));
    let sign = (a.to_bits() >> 24) as u8 & 0x80;
    let large = if m.fp16_ovfl() { 0x7f | sign } else { 0x80 };
    let number = if code > 0x7f { large } else { code as u8 | sign };
    // There is no -0.
    let number = if code == 0 { 0 } else { number };
    if a.is_finite() { number } else { 0x80 }
}
