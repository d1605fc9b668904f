//! f16 values of lanes ([`Half`]), with conversions that have no branches, so that loops over lanes vectorise, and the
//! host's own conversions ([`F16c`]).

use crate::exec::lanes::Word;
use crate::state::wave::{CHUNK, Mode};

/// An f16 in the low half of a register. Storing it as a result clears the high half, as gfx9's 16-bit instructions do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Half(pub(crate) u16);

impl Word for Half {
    const WIDE: bool = false;
    const FLOAT: bool = true;
    const ZERO: Self = Half(0);
    #[inline(always)]
    fn new(lo: u32, _: u32) -> Self {
        Half(lo as u16)
    }
    #[inline(always)]
    fn lo(self) -> u32 {
        u32::from(self.0)
    }
    #[inline(always)]
    fn hi(self) -> u32 {
        0
    }
    #[inline(always)]
    fn flush(self, m: Mode, result: bool) -> Self {
        let keep = m.denorm64() >> u32::from(result) & 1 != 0;
        if self.0 & 0x7c00 == 0 && !keep { Half(self.0 & 0x8000) } else { self }
    }
    #[inline(always)]
    fn signed(self, abs: u32, neg: u32) -> Self {
        Half(self.0 & !((abs as u16) << 15) ^ (neg as u16) << 15)
    }
}

impl Half {
    /// Converts exactly. NaNs are quieted.
    #[inline(always)]
    pub(crate) fn to_f32(self) -> f32 {
        const EXPONENT: u32 = 0x7c00 << 13;
        let magnitude = u32::from(self.0 & 0x7fff) << 13;
        let exponent = magnitude & EXPONENT;
        let rebased = magnitude + ((127 - 15) << 23);
        // Denormals get a hidden bit, which is subtracted again.
        let denormal = f32::from_bits(rebased + (1 << 23)) - f32::from_bits(113 << 23);
        let quiet = if magnitude > EXPONENT { 1 << 22 } else { 0 };
        let special = (rebased + ((128 - 16) << 23)) | quiet;
        let finite = if exponent == 0 { denormal.to_bits() } else { rebased };
        let bits = if exponent == EXPONENT { special } else { finite };
        f32::from_bits(bits | u32::from(self.0 & 0x8000) << 16)
    }

    /// Returns an integer that is ordered as the numbers are; equal zeros have an equal one.
    #[inline(always)]
    pub(crate) fn rank(self) -> i16 {
        let sign = self.0 as i16 >> 15;
        ((self.0 & 0x7fff) as i16 ^ sign) - sign
    }

    #[inline(always)]
    pub(crate) fn to_f64(self) -> f64 {
        f64::from(self.to_f32())
    }

    /// Rounds to nearest even. NaNs keep the upper bits of their payload.
    #[inline(always)]
    pub(crate) fn from_f32(x: f32) -> Half {
        let bits = x.to_bits();
        let sign = bits >> 16 & 0x8000;
        let magnitude = bits & 0x7fff_ffff;
        let nan = 0x7e00 | magnitude >> 13 & 0x3ff;
        // Adding 0.5 leaves the rounded bits of an f16 denormal in the low bits.
        let denormal = (f32::from_bits(magnitude) + 0.5).to_bits().wrapping_sub(0.5f32.to_bits());
        let odd = magnitude >> 13 & 1;
        let normal = magnitude.wrapping_sub((127 - 15) << 23).wrapping_add(0xfff + odd) >> 13;
        let finite = if magnitude < 113 << 23 { denormal } else { normal };
        let number = if magnitude >= (127 + 16) << 23 { 0x7c00 } else { finite };
        Half((sign | if magnitude > 0x7f80_0000 { nan } else { number }) as u16)
    }

    /// Rounds towards zero.
    #[inline(always)]
    pub(crate) fn towards_zero(x: f32) -> Half {
        let near = Half::from_f32(x);
        let over = near.to_f32().abs() > x.abs();
        Half(near.0 - u16::from(over))
    }

    /// Rounds to nearest even, once.
    #[inline(always)]
    pub(crate) fn from_f64(x: f64) -> Half {
        // First rounds to odd: an f32 has enough bits more than an f16 that rounding again gives the result of one
        // rounding.
        let near = x as f32;
        let back = f64::from(near);
        let towards_zero = u32::from(back.abs() > x.abs());
        let inexact = u32::from(back != x && near.is_finite() && !x.is_nan());
        let truncated = near.to_bits().wrapping_sub(towards_zero & inexact);
        Half::from_f32(f32::from_bits(truncated | inexact))
    }
}

/// Conversions of sixteen f16 at a time, which give what [`Half::to_f32`] and [`Half::from_f32`] do.
pub(crate) trait Conversion {
    fn widen(x: [u16; CHUNK]) -> [f32; CHUNK];
    fn narrow(x: [f32; CHUNK]) -> [u16; CHUNK];
    /// Rounds towards zero, otherwise as `narrow`.
    fn truncate(x: [f32; CHUNK]) -> [u16; CHUNK];
}

/// Conversions that every host has.
pub(crate) struct InLoops;

impl Conversion for InLoops {
    #[inline(always)]
    fn widen(x: [u16; CHUNK]) -> [f32; CHUNK] {
        x.map(|v| Half(v).to_f32())
    }
    #[inline(always)]
    fn narrow(x: [f32; CHUNK]) -> [u16; CHUNK] {
        x.map(|v| Half::from_f32(v).0)
    }
    #[inline(always)]
    fn truncate(x: [f32; CHUNK]) -> [u16; CHUNK] {
        x.map(|v| Half::towards_zero(v).0)
    }
}

/// The host's instructions, which are intrinsics because no loop compiles to them. Without them, f16 arithmetic takes four
/// times as long, nearly all of it for conversions.
///
/// Only executors of SIMD levels with F16C may use them: [`with_f16c`](crate::exec::level::with_f16c).
pub(crate) struct F16c;

#[cfg(target_arch = "x86_64")]
impl Conversion for F16c {
    #[inline(always)]
    fn widen(x: [u16; CHUNK]) -> [f32; CHUNK] {
        use std::arch::x86_64::{__m128i, _mm256_cvtph_ps};
        let [low, high]: [__m128i; 2] = bytemuck::must_cast(x);
        // SAFETY: the type's documentation requires that the host has F16C.
        bytemuck::must_cast(unsafe { [_mm256_cvtph_ps(low), _mm256_cvtph_ps(high)] })
    }
    #[inline(always)]
    fn narrow(x: [f32; CHUNK]) -> [u16; CHUNK] {
        narrowed::<{ std::arch::x86_64::_MM_FROUND_TO_NEAREST_INT }>(x)
    }
    #[inline(always)]
    fn truncate(x: [f32; CHUNK]) -> [u16; CHUNK] {
        narrowed::<{ std::arch::x86_64::_MM_FROUND_TO_ZERO }>(x)
    }
}

/// Converts with F16C, with a rounding as its instruction encodes it.
#[cfg(target_arch = "x86_64")]
#[inline(always)]
fn narrowed<const ROUNDING: i32>(x: [f32; CHUNK]) -> [u16; CHUNK] {
    use std::arch::x86_64::{__m256, _mm256_cvtps_ph};
    let [low, high]: [__m256; 2] = bytemuck::must_cast(x);
    // SAFETY: the documentation of `F16c` requires that the host has F16C.
    bytemuck::must_cast(unsafe { [_mm256_cvtps_ph::<ROUNDING>(low), _mm256_cvtps_ph::<ROUNDING>(high)] })
}

#[cfg(not(target_arch = "x86_64"))]
impl Conversion for F16c {
    #[inline(always)]
    fn widen(x: [u16; CHUNK]) -> [f32; CHUNK] {
        InLoops::widen(x)
    }
    #[inline(always)]
    fn narrow(x: [f32; CHUNK]) -> [u16; CHUNK] {
        InLoops::narrow(x)
    }
    #[inline(always)]
    fn truncate(x: [f32; CHUNK]) -> [u16; CHUNK] {
        InLoops::truncate(x)
    }
}

/// Rounds to the nearest integer within limits; 0 for NaN. The conversions of Rust take several times as long.
#[inline(always)]
pub(crate) fn to_integer(a: f32, least: f32, most: f32) -> u16 {
    // 1.5 * 2^23. Adding it rounds a number to an integer, in the low bits.
    const ROUNDER: f32 = 12_582_912.0;
    let inside = if a < most { a } else { most };
    let inside = if inside > least { inside } else { least };
    let bits = (inside + ROUNDER).to_bits() as u16;
    if a.is_nan() { 0 } else { bits }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::exec::number::soft;

    #[test]
    fn all_halves_convert_as_the_half_crate_does() {
        for bits in 0..=u16::MAX {
            let want = half::f16::from_bits(bits);
            let got = Half(bits).to_f32();
            assert_eq!(got.is_nan(), want.is_nan(), "{bits:#x}");
            if !got.is_nan() {
                assert_eq!(got.to_bits(), want.to_f32_const().to_bits(), "{bits:#x}");
                assert_eq!(Half::from_f32(got).0, bits);
                assert_eq!(Half::from_f64(f64::from(got)).0, bits);
            } else {
                assert_eq!(Half::from_f32(got).0, bits | 0x200);
            }
        }
    }

    #[test]
    fn rounding_is_to_nearest_even() {
        let mut state = 1u64;
        for n in 0..1_000_000u64 {
            state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            // Around the exponents of f16, with short fractions often, so that ties occur.
            let fraction = (state >> 12) & !((1u64 << (n % 50)) - 1) & ((1 << 52) - 1);
            let x = f64::from_bits((state & 1) << 63 | (1023 - 30 + (state >> 5) % 50) << 52 | fraction);
            let want = soft::convert(soft::F64, soft::F16, soft::Round::Even, x.to_bits());
            assert_eq!(u64::from(Half::from_f64(x).0), want, "{x:e}");
            let y = x as f32;
            assert_eq!(Half::from_f32(y).0, half::f16::from_f32_const(y).to_bits(), "{y:e}");
        }
    }
}
