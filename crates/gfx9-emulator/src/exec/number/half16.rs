//! f16 values of lanes ([`Half`]), with conversions that have no branches, so that loops over lanes vectorise.

use crate::exec::lanes::Word;
use crate::state::wave::Mode;

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
