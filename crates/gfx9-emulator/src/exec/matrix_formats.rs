//! The floating-point formats of the elements of A and B.

use crate::exec::number::half16::Half;

use super::convert::small_to_f32;

/// A floating-point format of elements of A and B.
pub(crate) trait Element {
    const BITS: u32;
    /// The exponent of the smallest normal number.
    const LOWEST: i32;
    /// Returns the value of the element in the low bits.
    fn value(bits: u32) -> f32;
}

pub(crate) struct F16;
pub(crate) struct Bf16;
/// An f32 whose 13 lowest bits are ignored. CDNA3 ISA, 7.1, says that the mantissa is rounded; MI300 truncates it, as
/// measured (`matrix_arith.rs`) and as AMD's Tensile does in its reference.
pub(crate) struct Xf32;
/// gfx942's 8-bit float with 3 bits of fraction: E4M3FNUZ.
pub(crate) struct Fp8;
/// gfx942's 8-bit float with 2 bits of fraction: E5M2FNUZ.
pub(crate) struct Bf8;

/// A small float as the Open Compute Project defines it, which gfx950 has: a sign, `EXPONENT` bits with a bias of
/// 2^(EXPONENT - 1) - 1, and `FRACTION` bits. Only E5M2 has infinities; it and E4M3 have NaNs.
pub(crate) struct Small<const EXPONENT: u32, const FRACTION: u32>;

pub(crate) type OcpFp8 = Small<4, 3>;
pub(crate) type OcpBf8 = Small<5, 2>;
pub(crate) type Fp6 = Small<2, 3>;
pub(crate) type Bf6 = Small<3, 2>;
pub(crate) type Fp4 = Small<2, 1>;

impl Element for F16 {
    const BITS: u32 = 16;
    const LOWEST: i32 = -14;
    #[inline(always)]
    fn value(bits: u32) -> f32 {
        Half(bits as u16).to_f32()
    }
}

impl Element for Bf16 {
    const BITS: u32 = 16;
    const LOWEST: i32 = -126;
    #[inline(always)]
    fn value(bits: u32) -> f32 {
        f32::from_bits(bits << 16)
    }
}

impl Element for Xf32 {
    const BITS: u32 = 32;
    const LOWEST: i32 = -126;
    #[inline(always)]
    fn value(bits: u32) -> f32 {
        // A NaN whose upper bits are zero stays a NaN.
        let quiet = if f32::from_bits(bits).is_nan() { 1 << 22 } else { 0 };
        f32::from_bits((bits | quiet) & !0x1fff)
    }
}

impl Element for Fp8 {
    const BITS: u32 = 8;
    const LOWEST: i32 = -7;
    #[inline(always)]
    fn value(bits: u32) -> f32 {
        small_to_f32::<3>(bits as u8)
    }
}

impl Element for Bf8 {
    const BITS: u32 = 8;
    const LOWEST: i32 = -15;
    #[inline(always)]
    fn value(bits: u32) -> f32 {
        small_to_f32::<2>(bits as u8)
    }
}

impl<const EXPONENT: u32, const FRACTION: u32> Element for Small<EXPONENT, FRACTION> {
    const BITS: u32 = 1 + EXPONENT + FRACTION;
    const LOWEST: i32 = 2 - (1 << (EXPONENT - 1));
    #[inline(always)]
    fn value(bits: u32) -> f32 {
        let magnitude = bits & ((1 << (EXPONENT + FRACTION)) - 1);
        let sign = (bits >> (EXPONENT + FRACTION) & 1) << 31;
        // The fields are those of an f32 with another bias.
        let number = f32::from_bits(magnitude << (23 - FRACTION)) * power(126 + Self::LOWEST) as f32;
        // The fraction of the largest exponent.
        let special = match (EXPONENT, FRACTION) {
            (5, 2) => magnitude >= 0x7c,
            (4, 3) => magnitude == 0x7f,
            _ => false,
        };
        let nan_or_infinity = if EXPONENT == 5 && magnitude == 0x7c { f32::INFINITY } else { f32::NAN };
        let value = if special { nan_or_infinity } else { number };
        f32::from_bits(value.to_bits() | sign)
    }
}

/// Returns 2^exponent, which must be a normal f64.
pub(crate) const fn power(exponent: i32) -> f64 {
    f64::from_bits(((1023 + exponent) as u64) << 52)
}

/// Returns an element, and 2 to the power of its exponent; 0 for zeros.
#[inline(always)]
pub(crate) fn with_power<S: Element>(bits: u32) -> (f64, f64) {
    let value = f64::from(S::value(bits));
    let exponent = f64::from_bits(value.to_bits() & 0x7ff0_0000_0000_0000);
    let lowest = power(S::LOWEST);
    let exponent = if exponent < lowest { lowest } else { exponent };
    (value, if value == 0.0 { 0.0 } else { exponent })
}
