//! References for floats of at most 16 bits, which search among all codes of a format.

/// A format with `bits` bits, of which `fraction` are the fraction.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Format {
    pub(crate) bits: u32,
    pub(crate) fraction: u32,
    bias: i32,
    /// The largest finite code.
    largest: u32,
}

pub(crate) const F16: Format = Format { bits: 16, fraction: 10, bias: 15, largest: 0x7bff };
pub(crate) const BF16: Format = Format { bits: 16, fraction: 7, bias: 127, largest: 0x7f7f };
pub(crate) const FP8: Format = Format { bits: 8, fraction: 3, bias: 7, largest: 0x7e };
pub(crate) const BF8: Format = Format { bits: 8, fraction: 2, bias: 15, largest: 0x7b };
pub(crate) const FP6: Format = Format { bits: 6, fraction: 3, bias: 1, largest: 0x1f };
pub(crate) const BF6: Format = Format { bits: 6, fraction: 2, bias: 3, largest: 0x1f };
pub(crate) const FP4: Format = Format { bits: 4, fraction: 1, bias: 1, largest: 7 };

impl Format {
    fn sign(self) -> u32 {
        1 << (self.bits - 1)
    }

    /// Returns the value of a code without a sign as if all codes were finite, even of the one after the last.
    fn extended(self, magnitude: u32) -> f64 {
        let (field, rest) = (magnitude >> self.fraction, magnitude & ((1 << self.fraction) - 1));
        let rest = f64::from(rest) / f64::from(1u32 << self.fraction);
        let (whole, power) = if field == 0 { (0.0, 1) } else { (1.0, field as i32) };
        (whole + rest) * 2f64.powi(power - self.bias)
    }

    /// Returns the value of a code.
    pub(crate) fn value(self, code: u32) -> f64 {
        let magnitude = code & (self.sign() - 1);
        let has_infinity = self.largest & ((1 << self.fraction) - 1) == (1 << self.fraction) - 1;
        let value = match magnitude {
            finite if finite <= self.largest => self.extended(finite),
            first if has_infinity && first == self.largest + 1 => f64::INFINITY,
            _ => f64::NAN,
        };
        if code & self.sign() != 0 { -value } else { value }
    }

    /// Returns whether two codes are equal, or both NaN with the same sign.
    pub(crate) fn agrees(self, got: u32, want: u32) -> bool {
        got == want
            || self.value(got).is_nan() && self.value(want).is_nan() && (got ^ want) & self.sign() == 0
    }

    /// Returns a NaN; the largest number if the format has none.
    pub(crate) fn nan(self, negative: bool) -> u32 {
        let all = self.sign() - 1;
        all | if negative { self.sign() } else { 0 }
    }

    fn too_large(self, saturate: bool) -> u32 {
        // Without codes above, the largest number.
        let above = self.largest + u32::from(self.largest < self.sign() - 1);
        if saturate { self.largest } else { above }
    }

    /// Returns the nearest number, ties to even.
    pub(crate) fn nearest(self, v: f64, saturate: bool) -> u32 {
        let sign = if v.is_sign_negative() { self.sign() } else { 0 };
        if v.is_nan() {
            return self.nan(sign != 0);
        }
        // Rounds as if there were a number after the largest one.
        let (below, above) = (self.below(v.abs()), self.below(v.abs()) + 1);
        if above > self.largest + 1 {
            return sign | self.too_large(saturate);
        }
        let (low, high) = (v.abs() - self.extended(below), self.extended(above) - v.abs());
        let up = high < low || high == low && above.is_multiple_of(2);
        let nearest = if up { above } else { below };
        sign | if nearest > self.largest { self.too_large(saturate) } else { nearest }
    }

    /// Returns the number below the value plus a random part of its last place. The source has `fraction` bits of
    /// fraction; as many bits of the seed, less those of the result, are random.
    pub(crate) fn random(self, v: f64, seed: u32, fraction: u32, saturate: bool) -> u32 {
        let sign = if v.is_sign_negative() { self.sign() } else { 0 };
        if v.is_nan() {
            return self.nan(sign != 0);
        }
        if v.is_infinite() {
            return sign | self.too_large(saturate);
        }
        let random_bits = fraction - self.fraction;
        // The last place of the result, of denormals below the least normal number.
        let exponent = (-200..300).rev().find(|e| 2f64.powi(*e) <= v.abs()).unwrap_or(-200);
        let last = 2f64.powi(exponent.max(1 - self.bias) - self.fraction as i32);
        let unit = last / f64::from(1u32 << random_bits);
        let random = f64::from((u64::from(seed) >> (32 - random_bits)) as u32) * unit;
        let dithered = if v == 0.0 { 0.0 } else { (v.abs() / unit).floor() * unit + random };
        if dithered >= self.extended(self.largest + 1) {
            return sign | self.too_large(saturate);
        }
        sign | self.below(dithered)
    }

    /// Returns the largest code, up to the one after the largest number, whose value is not above `v`.
    fn below(self, v: f64) -> u32 {
        let (mut low, mut high) = (0, self.largest + 2);
        while high - low > 1 {
            let middle = (low + high) / 2;
            if self.extended(middle) <= v { low = middle } else { high = middle }
        }
        low
    }
}
