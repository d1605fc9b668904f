//! Floats of at most 16 bits: decoding, and rounding to nearest or at random.
//!
//! These are the formats of gfx950 (CDNA4 ISA, 7.3, "BF8 / FP8 and Smaller Formats and Conversions"), which the Open
//! Compute Project specifies, and f16 and bfloat16. gfx942's 8-bit floats are others; see `convert.rs`.

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

impl Narrow {
    #[inline(always)]
    const fn sign(self, negative: bool) -> u32 {
        (negative as u32) << (self.bits - 1)
    }

    /// Returns the code of the largest number.
    #[inline(always)]
    const fn largest(self) -> u32 {
        let last = (1 << (self.bits - 1)) - 1;
        match self.above {
            Above::Nothing => last,
            Above::Nan => last - 1,
            Above::Ieee => last - (1 << self.fraction),
        }
    }

    /// Returns the code for numbers that are too large, without the sign.
    #[inline(always)]
    const fn overflow(self, saturate: bool) -> u32 {
        match self.above {
            Above::Nan | Above::Ieee if !saturate => self.largest() + 1,
            _ => self.largest(),
        }
    }

    /// Returns the code for NaN: the quiet NaN, or the largest number of formats that have none.
    #[inline(always)]
    pub(crate) const fn nan(self, negative: bool) -> u32 {
        let quiet = match self.above {
            Above::Ieee => 1 << (self.fraction - 1),
            _ => 0,
        };
        self.sign(negative) | self.overflow(false) | quiet
    }

    /// Returns the value of a code of at most 8 bits as an f32. It has no branches.
    #[inline(always)]
    pub(crate) fn to_f32(self, code: u32) -> f32 {
        let magnitude = code & ((1 << (self.bits - 1)) - 1);
        let value = small_to_f32(magnitude, self.fraction, self.bias);
        let infinity = self.largest() + 1;
        let special =
            if self.above == Above::Ieee && magnitude == infinity { f32::INFINITY } else { f32::NAN };
        let value = if magnitude <= self.largest() { value } else { special };
        f32::from_bits(value.to_bits() | (code >> (self.bits - 1) & 1) << 31)
    }

    /// Returns the code of at most 8 bits that is nearest to an f32; [`encode`](Self::encode) says what else. It has no
    /// branches.
    #[inline(always)]
    pub(crate) fn nearest(self, a: f32, saturate: bool) -> u32 {
        let sign = (a.to_bits() >> 31) << (self.bits - 1);
        let code = f32_to_small::<false>(a, self.fraction, self.bias);
        let number = if code > self.largest() { self.overflow(saturate) } else { code };
        sign | if a.is_nan() { self.nan(false) } else { number }
    }

    /// Returns the code to which an f32 rounds at random: adds the upper bits of `seed` below the last bit of the result, then
    /// truncates. The source has `fraction` bits in its fraction, which limits how many bits of the seed are added (ROCm's
    /// headers `amd_hip_ocp_host.hpp`, `from_float_sr`). It has no branches.
    #[inline(always)]
    pub(crate) fn random(self, a: f32, seed: u32, fraction: u32, saturate: bool) -> u32 {
        let sign = (a.to_bits() >> 31) << (self.bits - 1);
        let field = a.to_bits() >> 23 & 0xff;
        let kept = (a.to_bits() & 0x7f_ffff) >> (23 - fraction) | u32::from(field != 0) << fraction;
        // The fields of this number and of the least normal one, as an f32 has them.
        let (field, least) = (field.max(1), (128 - self.bias) as u32);
        let below = least.saturating_sub(field).min(31);
        let sum = (kept >> below) + (seed >> (32 - fraction + self.fraction));
        // The hidden bit adds 1 to the exponent's field.
        let code = ((field.max(least) - least) << self.fraction) + (sum >> (fraction - self.fraction));
        let number = if code > self.largest() { self.overflow(saturate) } else { code };
        sign | if a.is_nan() { self.nan(false) } else { number }
    }
}

/// Returns the value of a code without its sign, in a format with so many bits of the fraction and this bias.
#[inline(always)]
pub(crate) fn small_to_f32(magnitude: u32, fraction: u32, bias: i32) -> f32 {
    let normal = (magnitude << (23 - fraction)) + (((127 - bias) as u32) << 23);
    // Denormals get a hidden bit, which is subtracted again.
    let denormal = f32::from_bits(normal + (1 << 23)) - f32::from_bits(((128 - bias) as u32) << 23);
    if magnitude >> fraction == 0 { denormal } else { f32::from_bits(normal) }
}

/// Returns the code without a sign to which an f32 rounds, to nearest even or, with `DOWN`, towards zero. Numbers that are
/// too large, infinities and NaNs have any code above the format's largest.
#[inline(always)]
pub(crate) fn f32_to_small<const DOWN: bool>(a: f32, fraction: u32, bias: i32) -> u32 {
    // No format has a number of this size.
    const HUGE: u32 = (127 + 40) << 23;
    let magnitude = (a.to_bits() & 0x7fff_ffff).min(HUGE);
    let least = ((128 - bias) as u32) << 23;
    let exponent = (magnitude & 0x7f80_0000).max(least);
    // The last place of a sum with this number is that of the result.
    let magic = exponent + ((23 - fraction) << 23);
    let sum = f32::from_bits(magnitude) + f32::from_bits(magic);
    let too_large = DOWN && sum - f32::from_bits(magic) > f32::from_bits(magnitude);
    let units = sum.to_bits() - magic - u32::from(too_large);
    // The hidden bit adds 1 to the exponent's field, and so does a carry into the next binade.
    ((exponent - least) >> (23 - fraction)) + units
}

/// Rounds to the nearest bfloat16. NaNs keep the upper bits of their payload, and are quieted.
#[inline(always)]
pub(crate) fn to_bf16(a: f32) -> u16 {
    let bits = a.to_bits();
    let rounded = bits.wrapping_add(0x7fff + (bits >> 16 & 1)) >> 16;
    if a.is_nan() { (bits >> 16) as u16 | 0x40 } else { rounded as u16 }
}

/// The conversions of any format in f64, with which tests compare those in f32.
#[cfg(test)]
pub(crate) mod in_f64 {
    use super::{Above, Narrow};

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

    impl Value {
        /// Returns the value of an f32.
        pub(crate) fn of_f32(a: f32) -> Value {
            Value { negative: a.is_sign_negative(), magnitude: f64::from(a.abs()) }
        }
    }

    /// Returns 2^n. `n` must be the exponent of a normal f64.
    #[inline(always)]
    fn power(n: i32) -> f64 {
        f64::from_bits(((n + 1023) as u64) << 52)
    }
}
