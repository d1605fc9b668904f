//! The sums of gfx942's matrix instructions: steps 1 to 3 of [`Sums`](super::matrix_arith::Sums), in two
//! implementations with the same results.
//!
//! In f64 ([`cut`], [`accumulate`]) all steps are exact for any operands. Integers ([`cut_in_range`],
//! [`accumulate_in_range`]) are faster, but numbers have to be in the range that [`Range::of`] and they check.

use crate::state::wave::CHUNK;

use super::matrix_formats::{Element, power};

/// The largest magnitude of the exponents of products and of accumulators for which the sums of integers are computed.
const LIMIT: i32 = 60;

/// The exponent of zeros: with any scale it is below [`MIN_NONZERO`], and so is its sum with another exponent.
const ZERO: i16 = -0x3000;
/// The exponent of infinities and NaNs: with any scale it is above [`MAX_FINITE`].
pub(crate) const INFINITE: i16 = 0x2000;
/// The limits of the exponents of numbers that are neither.
const MIN_NONZERO: i16 = -0x1000;
const MAX_FINITE: i16 = 0x1000;

/// Returns an element and its exponent. A denormal has the exponent of the smallest normal number.
#[inline(always)]
pub(crate) fn with_exponent<S: Element>(bits: u32) -> (f32, i16) {
    let value = S::value(bits);
    let field = (value.to_bits() >> 23 & 0xff) as i16;
    let exponent = (field - 127).max(S::LOWEST as i16);
    let exponent = if field == 0xff { INFINITE } else { exponent };
    (value, if value.to_bits() << 1 == 0 { ZERO } else { exponent })
}

/// What the exponents of all elements of A and B say about their products.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Range {
    /// The products can be added as integers.
    narrow: bool,
    /// A product may be infinite or NaN.
    special: bool,
}

impl Range {
    /// Any elements.
    pub(crate) const ANY: Range = Range { narrow: false, special: true };

    /// Returns the range of elements with the exponents `a` and `b`.
    #[inline(always)]
    pub(crate) fn of(a: &[i16], b: &[i16]) -> Range {
        let ([least_a, most_a], [least_b, most_b]) = (extremes(a), extremes(b));
        let infinite = most_a >= MAX_FINITE.into() || most_b >= MAX_FINITE.into();
        Range {
            narrow: !infinite && least_a + least_b >= -LIMIT && most_a + most_b <= LIMIT,
            special: infinite || most_a + most_b >= 126,
        }
    }

    /// Returns the range for sums with these accumulators. Those that have been added to remain in range: they are below
    /// 2^71, as at most 128 products are added, and 2^-92 divides them.
    #[inline(always)]
    pub(crate) fn with(self, acc: &[f32; CHUNK]) -> Range {
        let mut outside = false;
        for x in acc {
            let exponent = (x.to_bits() >> 23 & 0xff) as i32 - 127;
            outside |= (exponent + LIMIT) as u32 > 2 * LIMIT as u32 && x.to_bits() << 1 != 0;
        }
        Range { narrow: self.narrow & !outside, ..self }
    }
}

/// Returns the least exponent of a number that isn't zero, and the largest exponent.
#[inline(always)]
fn extremes(exponents: &[i16]) -> [i32; 2] {
    let (mut least, mut most) = (u16::MAX, i16::MIN);
    for exponent in exponents {
        // Those of zeros wrap around to the largest numbers.
        least = least.min(exponent.wrapping_sub(MIN_NONZERO) as u16);
        most = most.max(*exponent);
    }
    [i32::from(least) + i32::from(MIN_NONZERO), most.into()]
}

/// The type of elements: f32, or f64 for a range that isn't narrow.
pub(crate) trait Value: Copy + Into<f64> {
    /// Returns the value, which f32 has to represent.
    fn narrow(self) -> f32;
}

impl Value for f32 {
    #[inline(always)]
    fn narrow(self) -> f32 {
        self
    }
}

impl Value for f64 {
    #[inline(always)]
    fn narrow(self) -> f32 {
        self as f32
    }
}

/// Adds up to 16 products to the accumulators. `SPLIT` is that of [`Sums`](super::matrix_arith::Sums). `a` returns the
/// element of A that is the factor `k` in a column, and its exponent; `b` those of B for all columns.
///
/// The loop is over columns, and all of a column's sum is in its body, so that it is compiled to vectors that stay in
/// registers.
#[inline(always)]
pub(crate) fn add<'a, T: Value + 'a, const SPLIT: bool>(
    acc: &mut [f32; CHUNK],
    count: usize,
    range: Range,
    a: impl Fn(usize, usize) -> (T, i16),
    b: impl Fn(usize) -> Row<'a, T>,
) {
    if range.narrow {
        let rows = rows(count, &b);
        let mut sums = [0f32; CHUNK];
        for j in 0..CHUNK {
            let left = |k: usize| (a(k, j).0.narrow(), a(k, j).1);
            let right = |k: usize| (rows[k].0[j].narrow(), rows[k].1[j]);
            let (top, sum) = if SPLIT {
                let (even_top, even) = cut_in_range(count, 0, 2, left, right);
                let (odd_top, odd) = cut_in_range(count, 1, 2, left, right);
                let top = even_top.max(odd_top);
                let down = |sum: i32, of: i32| sum >> ((top - of) as u32).min(31);
                (top, down(even, even_top) + down(odd, odd_top))
            } else {
                cut_in_range(count, 0, 1, left, right)
            };
            sums[j] = accumulate_in_range::<SPLIT>(acc[j], top, sum);
        }
        *acc = sums;
        return;
    }
    let rows = rows(count, &b);
    let mut sums = [0f32; CHUNK];
    for j in 0..CHUNK {
        let left = |k: usize| (a(k, j).0.into(), a(k, j).1);
        let right = |k: usize| (rows[k].0[j].into(), rows[k].1[j]);
        let (top, sum) = if SPLIT {
            let (even_top, even) = cut(count, 0, 2, left, right);
            let (odd_top, odd) = cut(count, 1, 2, left, right);
            let top = if even_top > odd_top { even_top } else { odd_top };
            let unit = inverse(top);
            (top, (even * (even_top * unit)).floor() + (odd * (odd_top * unit)).floor())
        } else {
            cut(count, 0, 1, left, right)
        };
        sums[j] = accumulate(acc[j], top, sum, SPLIT);
    }
    if range.special {
        let mut specials = [0f64; CHUNK];
        for j in 0..CHUNK {
            specials[j] = special_sum(count, |k| a(k, j).0.into() * rows[k].0[j].into());
        }
        for j in 0..CHUNK {
            sums[j] = if specials[j] == 0.0 { sums[j] } else { specials[j] as f32 + acc[j] };
        }
    }
    *acc = sums;
}

/// The largest number of products that are added at once.
const PRODUCTS: usize = 16;

/// Values and exponents in 16 columns.
type Row<'a, T> = (&'a [T; CHUNK], &'a [i16; CHUNK]);

/// Returns the elements of B for all products.
#[inline(always)]
fn rows<'a, T>(count: usize, b: &impl Fn(usize) -> Row<'a, T>) -> [Row<'a, T>; PRODUCTS] {
    let mut rows = [b(0); PRODUCTS];
    for k in 1..count {
        rows[k] = b(k);
    }
    rows
}

/// Computes step 1 for every `step`th product from `first` on. Returns the largest exponent of the products, at least
/// -`LIMIT`, and their sum in units of 2^-24 of it.
#[inline(always)]
fn cut_in_range(
    count: usize,
    first: usize,
    step: usize,
    a: impl Fn(usize) -> (f32, i16),
    b: impl Fn(usize) -> (f32, i16),
) -> (i32, i32) {
    let mut top = -LIMIT as i16;
    for k in (first..count).step_by(step) {
        top = top.max(a(k).1.wrapping_add(b(k).1));
    }
    let top = i32::from(top);
    let scale = power32(24 - top);
    let mut sum = 0i32;
    for k in (first..count).step_by(step) {
        let product = a(k).0 * b(k).0 * scale;
        // SAFETY: the range is narrow, so no element is infinite or NaN. The product of two is below 4 * 2^top, as
        // `top` is at least the sum of their exponents, and so below 2^26 after scaling.
        sum += unsafe { product.to_int_unchecked::<i32>() };
    }
    (top, sum)
}

/// Returns 2^exponent, which must be a normal f32.
#[inline(always)]
pub(crate) fn power32(exponent: i32) -> f32 {
    f32::from_bits(((127 + exponent) as u32) << 23)
}

/// Computes steps 2 and 3, like [`accumulate`].
///
/// The total in units of 2^(f - 32), rounded down, is `256 * high + low`, of which `low` has 8 bits.
#[inline(always)]
fn accumulate_in_range<const WINDOW: bool>(acc: f32, top: i32, sum: i32) -> f32 {
    let exponent = (acc.to_bits() >> 23 & 0xff) as i32 - 127;
    let both = top.max(exponent);
    let usable = if WINDOW && exponent < both - 25 { 0.0 } else { acc };
    let addend = (usable * power32(24 - both)).floor();
    // SAFETY: `Range::with` has excluded infinities and NaNs, and what was added since is finite. The accumulator is
    // below 2^(both + 1), so the product is below 2^25.
    let addend = unsafe { addend.to_int_unchecked::<i32>() };
    // The sum is rounded down, if it has places below those of `low`.
    let down = (both - top) as u32;
    let few = down.min(8);
    let sum = sum >> (down - few).min(31);
    let high = addend + (sum >> few);
    let low = (sum as u32) << (8 - few) & 0xff;
    // Only 32 bits count, from the first one of the magnitude on.
    let magnitude = high ^ (high >> 31);
    let first = (magnitude as f32).to_bits() >> 23;
    let drop = first.max(127 + 23) - (127 + 23);
    let low = low & u32::MAX << drop.min(31);
    // Both are exact, so the sum is rounded once.
    let upper = (high & !0xff) as f32 * 256.0;
    let lower = ((high & 0xff) << 8 | low as i32) as f32;
    (upper + lower) * power32(both - 32)
}

/// Returns the reciprocal of a power of two.
#[inline(always)]
fn inverse(power: f64) -> f64 {
    f64::from_bits((2046u64 << 52).wrapping_sub(power.to_bits()))
}

/// 2 to the number of places below the largest exponent at which products and the accumulator are truncated.
const CUT: f64 = power(24);
/// A number below the exponent of any product.
const NOTHING: i16 = -300;

/// Computes step 1, like [`cut_in_range`]. The largest exponent is returned as a power of two.
#[inline(always)]
fn cut(
    count: usize,
    first: usize,
    step: usize,
    a: impl Fn(usize) -> (f64, i16),
    b: impl Fn(usize) -> (f64, i16),
) -> (f64, f64) {
    let mut top = NOTHING;
    for k in (first..count).step_by(step) {
        top = top.max(a(k).1.wrapping_add(b(k).1));
    }
    // Of infinities and NaNs, `special_sum` is the result.
    let top = power(top.min(500).into());
    let scale = inverse(top) * CUT;
    let mut sum = 0f64;
    for k in (first..count).step_by(step) {
        sum += (a(k).0 * b(k).0 * scale).trunc();
    }
    (top, sum)
}

/// Computes steps 2 and 3 of [`Sums`](super::matrix_arith::Sums). `sum` is in units of 2^-24 of `top`. With
/// `window`, an accumulator below 2^(f - 25) counts as 0.
#[inline(always)]
fn accumulate(acc: f32, top: f64, sum: f64, window: bool) -> f32 {
    // The bits of an f64 after the 31st place.
    const REST: u64 = (1 << 21) - 1;
    let c = f64::from(acc);
    let exponent = f64::from_bits(c.to_bits() & 0x7ff0_0000_0000_0000);
    let exponent = if exponent < power(-126) { power(-126) } else { exponent };
    let both = if exponent > top { exponent } else { top };
    let unit = inverse(both);
    let products = (sum * (top * unit * power(8))).floor();
    let addend = (c * unit * CUT).floor() * power(8);
    let addend = if window && exponent < both * power(-25) { 0.0 } else { addend };
    let total = (products + addend) * (both * power(-32));
    // A number below 2^-126 has no more places than 2^-126.
    let total = (total * power(157)).floor() * power(-157);
    let bits = total.to_bits();
    let down = if total < 0.0 { REST } else { 0 };
    let rounded = f64::from_bits((bits + down) & !REST) as f32;
    if acc.is_finite() { rounded } else { acc }
}

/// Returns the sum of the products that are infinite or NaN; 0 if none is.
#[inline(always)]
fn special_sum(count: usize, product: impl Fn(usize) -> f64) -> f64 {
    let mut sum = 0f64;
    for k in 0..count {
        let product = product(k);
        // NaN is not less than any number. The product of infinity and a number is infinite or NaN.
        sum += if product.abs() < power(128) { 0.0 } else { product * f64::INFINITY };
    }
    sum
}
