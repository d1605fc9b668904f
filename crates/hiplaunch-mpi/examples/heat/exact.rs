//! Sums of f64 without rounding. Exact sums have no order: they are the same for any number of ranks.
//!
//! A sum is an integer: a multiple of 2^-1074, the least positive f64. It is stored in digits of 32 bits, which are integers
//! of 64 bits themselves, so that sums of several ranks are added digit by digit without carries
//! (U. Kulisch, Computer Arithmetic and Validity, chapter 8). Rounding to f64 comes last, and once.

/// Bits of a digit.
const BITS: u32 = 32;
/// The weight of the lowest bit is 2 to the power of this.
const LOWEST: i32 = -1074;
/// The digits of every finite f64 (2098 bits), and one for the carries of sums.
const DIGITS: usize = 67;

/// The numbers of a sum, for an all-reduce.
pub(crate) const WORDS: usize = DIGITS + 1;

/// An exact sum of up to 2^31 numbers.
#[derive(Clone, Debug)]
pub(crate) struct ExactSum {
    /// From the lowest to the highest.
    digits: [i64; DIGITS],
    /// How many of the numbers are infinite or no numbers.
    not_finite: i64,
}

impl ExactSum {
    /// Adds up some numbers.
    pub(crate) fn of(values: impl IntoIterator<Item = f64>) -> ExactSum {
        let mut sum = ExactSum { digits: [0; DIGITS], not_finite: 0 };
        for value in values {
            sum.add(value);
        }
        sum.carry();
        sum
    }

    fn add(&mut self, value: f64) {
        if !value.is_finite() {
            self.not_finite += 1;
            return;
        }
        // value = sign * mantissa * 2^(LOWEST + shift)
        let (bits, sign) = (value.to_bits(), if value.is_sign_negative() { -1 } else { 1 });
        let (exponent, fraction) = ((bits >> 52 & 0x7ff) as u32, bits & ((1 << 52) - 1));
        let (mantissa, shift) =
            if exponent == 0 { (fraction, 0) } else { (fraction | 1 << 52, exponent - 1) };
        let mut rest = u128::from(mantissa) << (shift % BITS);
        let mut at = (shift / BITS) as usize;
        while rest != 0 {
            self.digits[at] += sign * i64::from(rest as u32);
            rest >>= BITS;
            at += 1;
        }
    }

    /// Makes every digit but the highest one of 0 to 2^32 - 1.
    fn carry(&mut self) {
        let mut carry = 0;
        for digit in &mut self.digits[..DIGITS - 1] {
            let value = *digit + carry;
            (*digit, carry) = (value & ((1 << BITS) - 1), value >> BITS);
        }
        self.digits[DIGITS - 1] += carry;
    }

    /// What an all-reduce adds up, element by element: the digits, and the count of what is not finite.
    pub(crate) fn words(&self) -> [i64; WORDS] {
        std::array::from_fn(|at| self.digits.get(at).copied().unwrap_or(self.not_finite))
    }

    /// The sum of the sums of up to 2^31 ranks, from the sums of their [`words`](ExactSum::words).
    pub(crate) fn from_words(words: &[i64; WORDS]) -> ExactSum {
        ExactSum { digits: std::array::from_fn(|at| words[at]), not_finite: words[DIGITS] }
    }

    /// The f64 that is nearest to the sum; of two, the even one. Not a number if a number was not finite.
    pub(crate) fn round(mut self) -> f64 {
        if self.not_finite != 0 {
            return f64::NAN;
        }
        self.carry();
        let negative = self.digits[DIGITS - 1] < 0;
        if negative {
            self.digits = self.digits.map(|digit| -digit);
            self.carry();
        }
        let Some(top) = self.digits.iter().rposition(|digit| *digit != 0) else { return 0.0 };
        // The four highest digits, at least 97 bits of them; of what is below, whether there is anything.
        let low = top.saturating_sub(3);
        let highest = self.digits[low..=top].iter().rev().fold(0u128, |n, digit| n << BITS | *digit as u128);
        let rest = self.digits[..low].iter().any(|digit| *digit != 0);
        let value = (highest | u128::from(rest)) as f64;
        // By two factors, as their product may be beyond all f64. Neither rounds: a sum that low has no bit that f64 lacks.
        let exponent = LOWEST + (low as i32) * BITS as i32;
        let half = exponent / 2;
        let value = value * power_of_two(half) * power_of_two(exponent - half);
        if negative { -value } else { value }
    }
}

/// 2 to a power in the range of normal f64.
fn power_of_two(exponent: i32) -> f64 {
    f64::from_bits(((exponent + 1023) as u64) << 52)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sum(values: &[f64]) -> f64 {
        ExactSum::of(values.iter().copied()).round()
    }

    #[test]
    fn single_numbers_come_back() {
        let least = f64::from_bits(1);
        for value in
            [0.0, 1.0, 0.1, 1e300, f64::MAX, f64::MIN_POSITIVE, least, 3.0 * least, 1e-310, 2f64.powi(-1000)]
        {
            assert_eq!(sum(&[value]), value, "{value:e}");
            assert_eq!(sum(&[-value]), -value, "-{value:e}");
        }
    }

    #[test]
    fn what_cancels_leaves_the_rest() {
        assert_eq!(sum(&[1e300, 1.0, -1e300]), 1.0);
        assert_eq!(sum(&[f64::MAX, f64::MAX, -f64::MAX, -f64::MAX, 1e-320]), 1e-320);
        assert_eq!(sum(&[-1e16, 1.0, 1e16, -3.0]), -2.0);
        assert_eq!(sum(&[f64::MAX, f64::MAX]), f64::INFINITY);
        assert!(sum(&[1.0, f64::NAN]).is_nan());
        assert!(sum(&[1.0, f64::INFINITY]).is_nan());
    }

    #[test]
    fn rounding_is_to_the_nearest_and_even() {
        let half = 2f64.powi(-53);
        assert_eq!(sum(&[1.0, half]), 1.0);
        assert_eq!(sum(&[1.0, half, half]), 1.0 + 2.0 * half);
        assert_eq!(sum(&[1.0 + 2.0 * half, half]), 1.0 + 4.0 * half);
        // A bit far below decides.
        assert_eq!(sum(&[1.0, half, 1e-300]), 1.0 + 2.0 * half);
        assert_eq!(sum(&[1.0, half, -1e-300]), 1.0);
    }

    /// Against integers: multiples of 2^-40 whose sum an i128 holds.
    #[test]
    fn any_division_among_ranks_gives_the_same_sum() {
        let mut state = 1u64;
        let mut next = || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 11) as i64 - (1 << 52)
        };
        let integers: Vec<i64> = (0..10_000).map(|i| next() >> (i % 50)).collect();
        let expected = integers.iter().map(|n| i128::from(*n)).sum::<i128>() as f64 * 2f64.powi(-40);
        let values: Vec<f64> = integers.iter().map(|n| *n as f64 * 2f64.powi(-40)).collect();
        for ranks in [1, 2, 3, 8, 1000] {
            let mut words = [0; WORDS];
            for part in values.chunks(values.len().div_ceil(ranks)) {
                let of_rank = ExactSum::of(part.iter().copied()).words();
                words.iter_mut().zip(of_rank).for_each(|(sum, word)| *sum += word);
            }
            assert_eq!(ExactSum::from_words(&words).round().to_bits(), expected.to_bits(), "{ranks} ranks");
        }
    }
}
