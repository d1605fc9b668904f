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

/// An exact sum of up to 2^31 numbers: the digits from the lowest to the highest, and how many of the numbers are infinite
/// or no numbers. Up to 2^31 ranks add theirs up element by element.
pub(crate) type ExactSum = [i64; DIGITS + 1];

/// Adds up some numbers.
pub(crate) fn sum_of(values: impl IntoIterator<Item = f64>) -> ExactSum {
    let mut sum = [0; DIGITS + 1];
    for value in values {
        if !value.is_finite() {
            sum[DIGITS] += 1;
            continue;
        }
        // value = sign * mantissa * 2^(LOWEST + shift)
        let (bits, sign) = (value.to_bits(), if value.is_sign_negative() { -1 } else { 1 });
        let (exponent, fraction) = ((bits >> 52 & 0x7ff) as u32, bits & ((1 << 52) - 1));
        let (mantissa, shift) =
            if exponent == 0 { (fraction, 0) } else { (fraction | 1 << 52, exponent - 1) };
        let mut rest = u128::from(mantissa) << (shift % BITS);
        let mut at = (shift / BITS) as usize;
        while rest != 0 {
            sum[at] += sign * i64::from(rest as u32);
            rest >>= BITS;
            at += 1;
        }
    }
    carry(&mut sum);
    sum
}

/// Makes every digit but the highest one of 0 to 2^32 - 1.
fn carry(sum: &mut ExactSum) {
    let mut carry = 0;
    for digit in &mut sum[..DIGITS - 1] {
        let value = *digit + carry;
        (*digit, carry) = (value & ((1 << BITS) - 1), value >> BITS);
    }
    sum[DIGITS - 1] += carry;
}

/// The f64 that is nearest to a sum; of two, the even one. Not a number if a number was not finite.
pub(crate) fn round(mut sum: ExactSum) -> f64 {
    if sum[DIGITS] != 0 {
        return f64::NAN;
    }
    carry(&mut sum);
    let negative = sum[DIGITS - 1] < 0;
    if negative {
        sum = sum.map(|digit| -digit);
        carry(&mut sum);
    }
    let Some(top) = sum.iter().rposition(|digit| *digit != 0) else { return 0.0 };
    // The four highest digits, at least 97 bits of them; of what is below, whether there is anything.
    let low = top.saturating_sub(3);
    let highest = sum[low..=top].iter().rev().fold(0u128, |n, digit| n << BITS | *digit as u128);
    let rest = sum[..low].iter().any(|digit| *digit != 0);
    let value = (highest | u128::from(rest)) as f64;
    // By two factors, as their product may be beyond all f64. Neither rounds: a sum that low has no bit that f64 lacks.
    let power_of_two = |exponent: i32| f64::from_bits(((exponent + 1023) as u64) << 52);
    let exponent = LOWEST + (low as i32) * BITS as i32;
    let value = value * power_of_two(exponent / 2) * power_of_two(exponent - exponent / 2);
    if negative { -value } else { value }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sum(values: &[f64]) -> f64 {
        round(sum_of(values.iter().copied()))
    }

    #[test]
    fn sums_are_exact_and_rounded_once() {
        let (least, half) = (f64::from_bits(1), 2f64.powi(-53));
        for value in [0.0, 0.1, 1e300, f64::MAX, f64::MIN_POSITIVE, least, 3.0 * least, 1e-310] {
            assert_eq!((sum(&[value]), sum(&[-value])), (value, -value), "{value:e}");
        }
        assert_eq!(sum(&[1e300, 1.0, -1e300]), 1.0);
        assert_eq!(sum(&[f64::MAX, f64::MAX, -f64::MAX, -f64::MAX, 1e-320]), 1e-320);
        assert_eq!(sum(&[f64::MAX, f64::MAX]), f64::INFINITY);
        assert!(sum(&[1.0, f64::NAN]).is_nan() && sum(&[1.0, f64::INFINITY]).is_nan());
        // To the nearest and even; a bit far below decides.
        assert_eq!([sum(&[1.0, half]), sum(&[1.0, half, -1e-300])], [1.0; 2]);
        assert_eq!(sum(&[1.0 + 2.0 * half, half]), 1.0 + 4.0 * half);
        assert_eq!(sum(&[1.0, half, 1e-300]), 1.0 + 2.0 * half);
    }

    #[test]
    fn any_division_among_ranks_gives_the_same_sum() {
        let values: Vec<f64> = (0..10_000).map(|i| (f64::from(i) * 0.7).sin().powi(1 + i % 9)).collect();
        for ranks in [2, 3, 8, 1000] {
            let mut all = [0; DIGITS + 1];
            for part in values.chunks(values.len().div_ceil(ranks)) {
                all.iter_mut().zip(sum_of(part.iter().copied())).for_each(|(sum, word)| *sum += word);
            }
            assert_eq!(round(all).to_bits(), sum(&values).to_bits(), "{ranks} ranks");
        }
    }
}
