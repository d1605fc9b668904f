//! The floating-point formats of the elements of A and B.

/// A floating-point format of elements of A and B.
pub(crate) trait Element {
    const BITS: u32;
    /// The exponent of the smallest normal number.
    const LOWEST: i32;
    /// The mask and the value of the bits of an infinity or a NaN, in the low bits of an element.
    const SPECIAL: (u32, u32);
    /// Returns the value of the element in the low bits.
    fn value(bits: u32) -> f32;
    /// Returns the same of an element that is neither infinite nor NaN. Other bits of `bits` may be set.
    fn finite(bits: u32) -> f32;
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
    const SPECIAL: (u32, u32) = (0x7c00, 0x7c00);
    #[inline(always)]
    fn value(bits: u32) -> f32 {
        rebias::<5, 10>(bits, 15, 0x7c00)
    }
    #[inline(always)]
    fn finite(bits: u32) -> f32 {
        widen::<5, 10>(bits, 15)
    }
}

impl Element for Bf16 {
    const BITS: u32 = 16;
    const LOWEST: i32 = -126;
    const SPECIAL: (u32, u32) = (0x7f80, 0x7f80);
    #[inline(always)]
    fn value(bits: u32) -> f32 {
        f32::from_bits(bits << 16)
    }
    #[inline(always)]
    fn finite(bits: u32) -> f32 {
        Self::value(bits)
    }
}

impl Element for Xf32 {
    const BITS: u32 = 32;
    const LOWEST: i32 = -126;
    const SPECIAL: (u32, u32) = (0x7f80_0000, 0x7f80_0000);
    #[inline(always)]
    fn finite(bits: u32) -> f32 {
        f32::from_bits(bits & !0x1fff)
    }
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
    const SPECIAL: (u32, u32) = (0xff, 0x80);
    #[inline(always)]
    fn value(bits: u32) -> f32 {
        fnuz::<4, 3>(bits)
    }
    #[inline(always)]
    fn finite(bits: u32) -> f32 {
        widen::<4, 3>(bits, 8)
    }
}

impl Element for Bf8 {
    const BITS: u32 = 8;
    const LOWEST: i32 = -15;
    const SPECIAL: (u32, u32) = (0xff, 0x80);
    #[inline(always)]
    fn value(bits: u32) -> f32 {
        fnuz::<5, 2>(bits)
    }
    #[inline(always)]
    fn finite(bits: u32) -> f32 {
        widen::<5, 2>(bits, 16)
    }
}

impl<const EXPONENT: u32, const FRACTION: u32> Element for Small<EXPONENT, FRACTION> {
    const BITS: u32 = 1 + EXPONENT + FRACTION;
    const LOWEST: i32 = 2 - (1 << (EXPONENT - 1));
    const SPECIAL: (u32, u32) = match (EXPONENT, FRACTION) {
        (5, 2) => (0x7c, 0x7c),
        (4, 3) => (0x7f, 0x7f),
        _ => (0, 1),
    };
    #[inline(always)]
    fn finite(bits: u32) -> f32 {
        widen::<EXPONENT, FRACTION>(bits, 1 - Self::LOWEST)
    }
    #[inline(always)]
    fn value(bits: u32) -> f32 {
        let special = match (EXPONENT, FRACTION) {
            (5, 2) => 0x7c,
            (4, 3) => 0x7f,
            _ => NEVER,
        };
        let value = rebias::<EXPONENT, FRACTION>(bits, 1 - Self::LOWEST, special);
        // The only NaN of E4M3 is not the first code of its exponent.
        if special == 0x7f && value.is_infinite() { f32::NAN } else { value }
    }
}

/// A magnitude above those of all codes.
const NEVER: u32 = u32::MAX;

/// Returns the value of a number with a sign, an exponent and a fraction. A magnitude of `special` is infinite, larger
/// ones are NaN.
#[inline(always)]
fn rebias<const EXPONENT: u32, const FRACTION: u32>(bits: u32, bias: i32, special: u32) -> f32 {
    let magnitude = bits & ((1 << (EXPONENT + FRACTION)) - 1);
    let sign = (bits >> (EXPONENT + FRACTION) & 1) << 31;
    // The fields are those of an f32 with another bias.
    let number = f32::from_bits(magnitude << (23 - FRACTION)) * power(127 - bias) as f32;
    let payload = (magnitude.wrapping_sub(special)) << (23 - FRACTION) | 0x7f80_0000;
    f32::from_bits(if magnitude >= special { payload } else { number.to_bits() } | sign)
}

/// Returns the value of a number, which is neither infinite nor NaN, in the low bits of `bits`.
#[inline(always)]
fn widen<const EXPONENT: u32, const FRACTION: u32>(bits: u32, bias: i32) -> f32 {
    // The sign is at its place, with copies of it between it and the exponent, whose last bit is at its place.
    let fields = (bits << (31 - EXPONENT - FRACTION)) as i32 >> (8 - EXPONENT);
    let mask = 1 << 31 | ((1 << EXPONENT) - 1) << 23 | ((1 << FRACTION) - 1) << (23 - FRACTION);
    // The fields are those of an f32 with another bias.
    f32::from_bits(fields as u32 & mask) * power(127 - bias) as f32
}

/// Returns the value of one of gfx942's 8-bit floats. They have no infinities. The code of -0 is the only NaN.
#[inline(always)]
fn fnuz<const EXPONENT: u32, const FRACTION: u32>(bits: u32) -> f32 {
    let value = rebias::<EXPONENT, FRACTION>(bits, 1 << (EXPONENT - 1), NEVER);
    if bits & 0xff == 0x80 { f32::NAN } else { value }
}

/// Returns 2^exponent, which must be a normal f64.
pub(crate) const fn power(exponent: i32) -> f64 {
    f64::from_bits(((1023 + exponent) as u64) << 52)
}
