//! Floats of at most 16 bits: decoding, and rounding to nearest or at random.
//!
//! These are the formats of gfx950 (CDNA4 ISA, 7.3, "BF8 / FP8 and Smaller Formats and Conversions"), which the Open
//! Compute Project specifies, and f16 and bfloat16. gfx942's 8-bit floats are others; see `convert.rs`.

use super::half16::Half;

/// What the codes above the largest number mean.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Above {
    /// There are none: all codes are finite, and conversions saturate.
    Nothing,
    /// The last code is a NaN.
    Nan,
    /// Codes whose exponent has all bits set are infinities and NaNs.
    Ieee,
}

/// A format of at most 16 bits. A code has a sign, an exponent and a fraction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Narrow {
    /// The number of bits.
    pub(crate) bits: u32,
    /// The number of bits of the fraction.
    pub(crate) fraction: u32,
    bias: i32,
    above: Above,
}

pub(crate) const F16: Narrow = Narrow { bits: 16, fraction: 10, bias: 15, above: Above::Ieee };
pub(crate) const BF16: Narrow = Narrow { bits: 16, fraction: 7, bias: 127, above: Above::Ieee };
/// E4M3.
pub(crate) const FP8: Narrow = Narrow { bits: 8, fraction: 3, bias: 7, above: Above::Nan };
/// E5M2.
pub(crate) const BF8: Narrow = Narrow { bits: 8, fraction: 2, bias: 15, above: Above::Ieee };
/// E2M3.
pub(crate) const FP6: Narrow = Narrow { bits: 6, fraction: 3, bias: 1, above: Above::Nothing };
/// E3M2.
pub(crate) const BF6: Narrow = Narrow { bits: 6, fraction: 2, bias: 3, above: Above::Nothing };
/// E2M1.
pub(crate) const FP4: Narrow = Narrow { bits: 4, fraction: 1, bias: 1, above: Above::Nothing };

/// How a number is rounded to a format.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Rounding {
    /// To nearest, ties to even.
    Nearest,
    /// Adds the upper bits of `seed` below the last bit of the result, then truncates. `fraction` is the number of bits
    /// of the source's fraction, which limits how many bits of the seed are added (ROCm's headers `amd_hip_ocp_host.hpp`,
    /// `from_float_sr`).
    Stochastic { seed: u32, fraction: u32 },
}

/// A number that is to be rounded to a format.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Value {
    pub(crate) negative: bool,
    /// At least 0, infinite or NaN; 0 or a normal f64.
    pub(crate) magnitude: f64,
}

impl Narrow {
    const fn sign(self, negative: bool) -> u32 {
        (negative as u32) << (self.bits - 1)
    }

    /// Returns the code of the largest number.
    const fn largest(self) -> u32 {
        let last = (1 << (self.bits - 1)) - 1;
        match self.above {
            Above::Nothing => last,
            Above::Nan => last - 1,
            Above::Ieee => last - (1 << self.fraction),
        }
    }

    /// Returns the code for numbers that are too large, without the sign.
    const fn overflow(self, saturate: bool) -> u32 {
        match self.above {
            Above::Nan | Above::Ieee if !saturate => self.largest() + 1,
            _ => self.largest(),
        }
    }

    /// Returns the code for NaN: the quiet NaN, or the largest number of formats that have none.
    pub(crate) const fn nan(self, negative: bool) -> u32 {
        let quiet = match self.above {
            Above::Ieee => 1 << (self.fraction - 1),
            _ => 0,
        };
        self.sign(negative) | self.overflow(false) | quiet
    }

    /// Returns the value of a code. Bits above the format's are ignored.
    #[inline(always)]
    pub(crate) fn decode(self, code: u32) -> f64 {
        let field = code >> self.fraction & ((1 << (self.bits - 1 - self.fraction)) - 1);
        let fraction = code & ((1 << self.fraction) - 1);
        let magnitude = code & ((1 << (self.bits - 1)) - 1);
        let hidden = u32::from(field != 0) << self.fraction;
        let last = field.max(1) as i32 - self.bias - self.fraction as i32;
        let finite = f64::from(fraction | hidden) * power(last);
        let value = match self.above {
            _ if magnitude <= self.largest() => finite,
            Above::Ieee if fraction == 0 => f64::INFINITY,
            _ => f64::NAN,
        };
        if code >> (self.bits - 1) & 1 != 0 { -value } else { value }
    }

    /// Returns the value of a code as an f32, as [`decode`](Self::decode) does. For formats of at most 8 bits.
    #[inline(always)]
    pub(crate) fn decode_f32(self, code: u32) -> f32 {
        let magnitude = code & ((1 << (self.bits - 1)) - 1);
        let sign = (code >> (self.bits - 1) & 1) << 31;
        let finite = widen(magnitude, self.fraction, self.bias).to_bits();
        let above = if self.above == Above::Ieee && magnitude == self.largest() + 1 {
            f32::INFINITY.to_bits()
        } else {
            f32::NAN.to_bits()
        };
        f32::from_bits(sign | if magnitude <= self.largest() { finite } else { above })
    }

    /// Returns the code of the nearest number, as [`encode`](Self::encode) does, in a form that the compiler vectorises.
    #[inline(always)]
    pub(crate) fn nearest(self, a: f32, saturate: bool) -> u32 {
        let code = narrow::<false>(a, self.fraction, self.bias);
        let code = if a.is_infinite() | (code > self.largest()) { self.overflow(saturate) } else { code };
        let code = if a.is_nan() { self.nan(false) } else { code };
        code | self.sign(a.is_sign_negative())
    }

    /// Returns the code of a number. Numbers that are too large become infinities, or NaNs if the format has none;
    /// the largest number if it has neither, or if `saturate` is set.
    #[inline(always)]
    pub(crate) fn encode(self, value: Value, rounding: Rounding, saturate: bool) -> u32 {
        let Value { negative, magnitude } = value;
        if magnitude.is_nan() {
            return self.nan(negative);
        }
        if magnitude == 0.0 {
            return self.sign(negative);
        }
        let bits = magnitude.to_bits();
        let exponent = (bits >> 52) as i32 - 1023;
        let least = 1 - self.bias;
        // The exponent of the largest number is less than 2^10 in every format, so this doesn't overflow.
        let code = match rounding {
            _ if magnitude.is_infinite() => u32::MAX,
            Rounding::Nearest => {
                let last = (exponent - self.fraction as i32).max(least - self.fraction as i32);
                let units = (magnitude * power(-last)).round_ties_even() as u32;
                // The hidden bit adds 1 to the exponent's field, and so does a carry into the next binade.
                (((last + self.fraction as i32 - least) as u32) << self.fraction).saturating_add(units)
            }
            Rounding::Stochastic { seed, fraction } => {
                let kept = ((bits & ((1 << 52) - 1)) >> (52 - fraction)) as u32;
                let below = (least - exponent).max(0) as u32;
                let (field, kept) = match below {
                    0 => ((exponent + self.bias) as u32, kept),
                    below => (0, (kept | 1 << fraction).checked_shr(below).unwrap_or(0)),
                };
                let sum = kept + (seed >> (32 - fraction + self.fraction));
                (field << self.fraction).saturating_add(sum >> (fraction - self.fraction))
            }
        };
        self.sign(negative) | if code > self.largest() { self.overflow(saturate) } else { code }
    }
}

/// Returns the value of a code without a sign in a format of less precision and a smaller range than f32, all of whose
/// codes are finite.
#[inline(always)]
pub(crate) fn widen(magnitude: u32, fraction: u32, bias: i32) -> f32 {
    // The fields are those of an f32 whose bias is 127. Denormals are denormals.
    f32::from_bits(magnitude << (23 - fraction)) * f32::from_bits(((254 - bias) as u32) << 23)
}

/// Rounds the magnitude of an f32 to a code of a format, to nearest even or, with `TRUNCATE`, towards zero. Codes are not
/// limited, and that of an infinity or a NaN is any.
#[inline(always)]
pub(crate) fn narrow<const TRUNCATE: bool>(a: f32, fraction: u32, bias: i32) -> u32 {
    let magnitude = a.to_bits() & 0x7fff_ffff;
    let drop = 23 - fraction;
    // The least power of two whose exponent's field is not 0, with a field that is less by one.
    let rebase = ((127 - bias) as u32) << 23;
    let half = if TRUNCATE { 0 } else { (1 << (drop - 1)) - 1 + (magnitude >> drop & 1) };
    let normal = magnitude.wrapping_sub(rebase).wrapping_add(half) >> drop;
    let denormal = if TRUNCATE {
        let down = (151 - bias - fraction as i32).saturating_sub((magnitude >> 23) as i32);
        (magnitude & 0x007f_ffff | 1 << 23) >> down.clamp(0, 31)
    } else {
        // Adding this leaves the rounded multiple of the least denormal in the low bits.
        let rounder = ((127 + 24 - bias - fraction as i32) as u32) << 23;
        (f32::from_bits(magnitude) + f32::from_bits(rounder)).to_bits().wrapping_sub(rounder)
    };
    if magnitude < rebase + (1 << 23) { denormal } else { normal }
}

impl Value {
    /// Returns the value of an f32.
    #[inline(always)]
    pub(crate) fn of_f32(a: f32) -> Value {
        Value { negative: a.is_sign_negative(), magnitude: f64::from(a.abs()) }
    }

    /// Returns the value of an f16 or bfloat16.
    #[inline(always)]
    pub(crate) fn of_bits(format: Narrow, code: u32) -> Value {
        let magnitude = match format {
            F16 => Half(code as u16 & 0x7fff).to_f64(),
            _ => f64::from(f32::from_bits(code << 16 & 0x7fff_0000)),
        };
        Value { negative: code >> (format.bits - 1) & 1 != 0, magnitude }
    }

    /// Returns the value times a power of two, from -300 to 300.
    #[inline(always)]
    pub(crate) fn scaled(self, by: i32) -> Value {
        Value { magnitude: self.magnitude * power(by), ..self }
    }
}

/// Returns 2^n. `n` must be the exponent of a normal f64.
#[inline(always)]
fn power(n: i32) -> f64 {
    f64::from_bits(((n + 1023) as u64) << 52)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::test_wave::Random;

    #[test]
    fn short_ways_give_what_encode_and_decode_do() {
        let mut random = Random::new(5);
        for format in [FP8, BF8, FP6, BF6, FP4] {
            for code in 0..256 {
                let (got, want) = (format.decode_f32(code), format.decode(code) as f32);
                assert!(
                    got.to_bits() == want.to_bits() || got.is_nan() && want.is_nan(),
                    "{format:?} {code:#x}"
                );
            }
            for n in 0..200_000 {
                let bits = random.next();
                // Any number, or one in the range of the formats, with a short fraction often.
                let a = match n % 4 {
                    0 => f32::from_bits(bits as u32),
                    _ => f32::from_bits(
                        (0x3500_0000 + (bits as u32 & 0x1fff_ffff) % 0x1400_0000 & !0 << (bits >> 40) % 24)
                            | (bits >> 32) as u32 & 1 << 31,
                    ),
                };
                for saturate in [false, true] {
                    let want = format.encode(Value::of_f32(a), Rounding::Nearest, saturate);
                    assert_eq!(format.nearest(a, saturate), want, "{format:?} {a:e} {saturate}");
                }
            }
        }
    }
}
