//! The sums of gfx942's matrix instructions: steps 1 to 3 of [`Sums`](super::matrix_arith::Sums), in two
//! implementations with the same results.
//!
//! In f64 ([`cut`], [`accumulate`]) all steps are exact for any operands. Integers ([`cut_in_range`],
//! [`accumulate_in_range`]) are faster, but numbers have to be in the range that [`Range::of`] and [`Range::with`] check.
//! Each column's sum is a lane of the host's vectors, so that the order of additions costs nothing.

use crate::state::wave::{Aligned, CHUNK, LANES, Lanes};

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

/// Reads the elements that each lane has, packed from the low bits of the first register on, and their exponents, unless
/// one is infinite or NaN. Returns whether none is.
#[inline(always)]
pub(crate) fn read_finite<'a, S: Element, const E: usize>(
    register: impl Fn(usize) -> &'a Lanes,
    values: &mut [[f32; LANES]; E],
    exponents: &mut [[i16; LANES]; E],
) -> bool {
    if (0..(E * S::BITS as usize).div_ceil(32)).any(|r| has_special::<S>(register(r))) {
        return false;
    }
    for e in 0..E {
        let (values, exponents) = (&mut values[e], &mut exponents[e]);
        let bit = e as u32 * S::BITS;
        let (r, shift) = ((bit / 32) as usize, bit % 32);
        let low = register(r).flat();
        // An element may begin in one register and end in the next.
        if shift + S::BITS > 32 {
            let high = register(r + 1).flat();
            for l in 0..LANES {
                values[l] = S::finite(low[l] >> shift | high[l] << (32 - shift));
            }
        } else {
            for l in 0..LANES {
                values[l] = S::finite(low[l] >> shift);
            }
        }
        for l in 0..LANES {
            let field = (values[l].abs().to_bits() >> 23) as i16;
            let exponent = field.max(S::LOWEST as i16 + 127) - 127;
            // Where no element is a denormal f32, only 0 has this field.
            let zero = if S::LOWEST == -126 { values[l] == 0.0 } else { field == 0 };
            exponents[l] = if zero { ZERO } else { exponent };
        }
    }
    true
}

/// Returns whether a register has an infinity or a NaN.
#[inline(always)]
fn has_special<S: Element>(register: &Lanes) -> bool {
    let (mask, special) = S::SPECIAL;
    match S::BITS {
        8 => {
            let elements: &[u8; 4 * LANES] = bytemuck::must_cast_ref(register.flat());
            elements.iter().fold(false, |any, x| any | (x & mask as u8 == special as u8))
        }
        16 => {
            let elements: &[u16; 2 * LANES] = bytemuck::must_cast_ref(register.flat());
            elements.iter().fold(false, |any, x| any | (x & mask as u16 == special as u16))
        }
        _ => register.flat().iter().fold(false, |any, x| any | (x & mask == special)),
    }
}

/// What the exponents of all elements of A and B say about their products.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Range {
    /// The products can be added as integers.
    narrow: bool,
    /// A product may be infinite or NaN.
    special: bool,
    /// If products of 8-bit elements have so few places that step 1 cuts none: an exponent of which all are multiples.
    unit: Option<i32>,
}

impl Range {
    /// Any elements.
    pub(crate) const ANY: Range = Range { narrow: false, special: true, unit: None };

    /// Returns the range of elements with the exponents `a` and `b`, before these are scaled by powers of two with exponents
    /// of `scales`.
    #[inline(always)]
    pub(crate) fn of(a: &[i16], b: &[i16], scales: [i32; 2]) -> Range {
        let ([least_a, most_a], [least_b, most_b]) = (extremes(a), extremes(b));
        let infinite = most_a >= MAX_FINITE.into() || most_b >= MAX_FINITE.into();
        let (least, most) = (least_a + least_b, most_a + most_b);
        let unit = least - 2 * FRACTION;
        Range {
            narrow: !infinite && least + scales[0] >= -LIMIT && most + scales[1] <= LIMIT,
            special: infinite || most + scales[1] >= 126,
            unit: if most_a.min(most_b) > MIN_NONZERO.into() && most - unit <= 24 {
                Some(unit)
            } else {
                None
            },
        }
    }

    /// Returns the range for sums with these accumulators. Those that have been added to remain in range: they are below
    /// 2^71, as at most 128 products are added, and 2^-92 divides them.
    #[inline(always)]
    pub(crate) fn with(self, acc: &[f32]) -> Range {
        let mut outside = false;
        for x in acc {
            let exponent = (x.to_bits() >> 23 & 0xff) as i32 - 127;
            outside |= (exponent + LIMIT) as u32 > 2 * LIMIT as u32 && x.to_bits() << 1 != 0;
        }
        Range { narrow: self.narrow & !outside, ..self }
    }

    /// Returns whether the products can be added as integers. No sum is NaN then.
    #[inline(always)]
    pub(crate) fn is_narrow(self) -> bool {
        self.narrow
    }

    /// Multiplies the elements of A so that all products are integers, if step 1 cuts none.
    #[inline(always)]
    pub(crate) fn settle(self, a: &mut [f32]) {
        if let (true, Some(unit)) = (self.narrow, self.unit) {
            for x in a {
                *x *= f32::from_bits(field(-unit) as u32);
            }
        }
    }
}

/// The number of places of an 8-bit float after its first one, at most.
const FRACTION: i32 = 3;

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

/// Adds up to 16 products to the accumulators of a chunk. `SPLIT` is that of [`Sums`](super::matrix_arith::Sums). `a`
/// returns the element of A that is the factor `k` in a column, and its exponent, `b` those of B for all columns. `scale`
/// scales, in a narrow range, the powers of two of the sums.
#[inline(always)]
pub(crate) fn add<'a, T: Value + 'a, const SPLIT: bool>(
    acc: &mut [f32; CHUNK],
    count: usize,
    range: Range,
    a: impl Fn(usize, usize) -> (T, i16),
    b: impl Fn(usize) -> Row<'a, T>,
    scale: impl Fn(&mut [i32; CHUNK]),
) {
    let rows = rows(count, &b);
    if !range.narrow {
        add_any::<T, SPLIT>(acc, count, range, a, &rows);
        return;
    }
    let (mut tops, sums) = match range.unit {
        Some(unit) if SPLIT => add_exact(count, unit, a, &rows),
        _ if SPLIT => add_split(count, a, &rows),
        _ => add_in_range(count, a, &rows),
    };
    scale(&mut tops.0);
    for j in 0..CHUNK {
        acc[j] = accumulate_in_range::<SPLIT>(acc[j], tops[j], sums[j]);
    }
}

/// Sums in all columns, and the fields of their powers of two.
type Columns = (Aligned<[i32; CHUNK]>, Aligned<[i32; CHUNK]>);

/// Adds products to the accumulators of a chunk in f64.
///
/// The loop is over columns, and all of a column's sum is in its body, so that it is compiled to vectors that stay in
/// registers.
#[inline(always)]
fn add_any<'a, T: Value + 'a, const SPLIT: bool>(
    acc: &mut [f32; CHUNK],
    count: usize,
    range: Range,
    a: impl Fn(usize, usize) -> (T, i16),
    rows: &[Row<'a, T>; PRODUCTS],
) {
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

/// Returns the largest exponent of every `step`th product from `first` on, at least -`LIMIT`, in each column, as the field
/// of an f32.
///
/// Exponents have loops of their own, which are compiled to vectors of twice as many columns.
#[inline(always)]
fn tops<T: Value>(
    (count, first, step): (usize, usize, usize),
    a: &impl Fn(usize, usize) -> (T, i16),
    rows: &[Row<T>; PRODUCTS],
) -> Aligned<[i32; CHUNK]> {
    let mut tops = Aligned([0i16; CHUNK]);
    for j in 0..CHUNK {
        let exponents = (first..count).step_by(step).map(|k| a(k, j).1.wrapping_add(rows[k].1[j]));
        tops.0[j] = exponents.fold(-LIMIT as i16, i16::max);
    }
    let mut fields = Aligned([0; CHUNK]);
    for j in 0..CHUNK {
        fields.0[j] = field(tops.0[j].into());
    }
    fields
}

/// Computes step 1 for every `step`th product from `first` on, in one column. Returns the sum in units of 2^-24 of the
/// largest exponent.
#[inline(always)]
fn cut_in_range<T: Value>(
    (count, first, step): (usize, usize, usize),
    j: usize,
    top: i32,
    a: &impl Fn(usize, usize) -> (T, i16),
    rows: &[Row<T>; PRODUCTS],
) -> i32 {
    let scale = inverse_power(top, 24);
    let mut sum = 0i32;
    for k in (first..count).step_by(step) {
        let product = a(k, j).0.narrow() * rows[k].0[j].narrow() * scale;
        // SAFETY: the range is narrow, so no element is infinite or NaN. The product of two is below 4 times the power of
        // two of `top`, as this is at least the sum of their exponents, and so below 2^26 after scaling.
        sum += unsafe { product.to_int_unchecked::<i32>() };
    }
    sum
}

/// Adds products as integers.
#[inline(always)]
fn add_in_range<T: Value>(
    count: usize,
    a: impl Fn(usize, usize) -> (T, i16),
    rows: &[Row<T>; PRODUCTS],
) -> Columns {
    let mut sums = Aligned([0; CHUNK]);
    let all = (count, 0, 1);
    let tops = tops(all, &a, rows);
    for j in 0..CHUNK {
        sums.0[j] = cut_in_range(all, j, tops[j], &a, rows);
    }
    (tops, sums)
}

/// Adds products that are integers in units of 2^`unit`, after [`Range::settle`]. As step 1 cuts none, those of even and of
/// odd index need not be separate.
#[inline(always)]
fn add_exact<T: Value>(
    count: usize,
    unit: i32,
    a: impl Fn(usize, usize) -> (T, i16),
    rows: &[Row<T>; PRODUCTS],
) -> Columns {
    let mut sums = Aligned([0; CHUNK]);
    let tops = tops((count, 0, 1), &a, rows);
    for j in 0..CHUNK {
        let mut sum = 0i32;
        for k in 0..count {
            let product = a(k, j).0.narrow() * rows[k].0[j].narrow();
            // SAFETY: the largest exponent is at most `unit` + 24, so a product is below 2^26.
            sum += unsafe { product.to_int_unchecked::<i32>() };
        }
        // The shift is at least 0, unless all products are.
        sums.0[j] = sum << (((field(unit + 24) - tops[j]) as u32) >> 23).min(31);
    }
    (tops, sums)
}

/// Adds products as integers, those of even and of odd index separately.
#[inline(always)]
fn add_split<T: Value>(
    count: usize,
    a: impl Fn(usize, usize) -> (T, i16),
    rows: &[Row<T>; PRODUCTS],
) -> Columns {
    let mut sums = Aligned([0; CHUNK]);
    let (even, odd) = ((count, 0, 2), (count, 1, 2));
    let (evens, odds) = (tops(even, &a, rows), tops(odd, &a, rows));
    let mut tops = Aligned([0; CHUNK]);
    for j in 0..CHUNK {
        let top = evens[j].max(odds[j]);
        let down = |sum: i32, of: i32| sum >> (top - of >> 23).min(31);
        sums.0[j] = down(cut_in_range(even, j, evens[j], &a, rows), evens[j])
            + down(cut_in_range(odd, j, odds[j], &a, rows), odds[j]);
        tops.0[j] = top;
    }
    (tops, sums)
}

/// Multiplies the power of two of a sum, which is a field of an f32, by another. That of a sum of zeros stays the least.
#[inline(always)]
pub(crate) fn scaled(top: i32, exponent: i32) -> i32 {
    if top == field(-LIMIT) { top } else { top.wrapping_add(exponent << 23) }
}

/// Returns 2^`exponent` divided by a power of two, which is a field of an f32.
#[inline(always)]
fn inverse_power(power: i32, exponent: i32) -> f32 {
    f32::from_bits((field(exponent) - (power - field(0))) as u32)
}

/// Returns an exponent as the field of an f32.
#[inline(always)]
const fn field(exponent: i32) -> i32 {
    (127 + exponent) << 23
}

/// Computes steps 2 and 3, like [`accumulate`], in an i32. `sum` is below 2^30, `top` the field of its exponent.
///
/// The total's unit is that of `sum`, as long as the accumulator has at most 5 places more, and is then below 2^30. Both are
/// exact. Otherwise the accumulator's first place is 2^29, and the sum is shifted right. Only if the total is a tie do the
/// places that are lost matter, and of these only the ones that step 3 keeps: they become the last places of a total that
/// has more places than an f32.
#[inline(always)]
fn accumulate_in_range<const SPLIT: bool>(acc: f32, top: i32, sum: i32) -> f32 {
    let exponent = (acc.to_bits() & 0x7f80_0000) as i32;
    let usable = if SPLIT && exponent < top - (25 << 23) { 0.0 } else { acc };
    // 2^24 units are 2^first.
    let first = (exponent - (5 << 23)).max(top);
    let addend = usable * inverse_power(first, 24);
    // SAFETY: `Range::with` has excluded infinities and NaNs, and what was added since is finite. The accumulator is
    // below 2^6 times that of `first`, so the product is below 2^30.
    let addend = unsafe { addend.floor().to_int_unchecked::<i32>() };
    let down = ((first - top) as u32 >> 23).min(31);
    let total = addend + (sum >> down);
    // The first three places that are lost, without those after the 31st of the total.
    let lost = (sum as u32) << 1 << (31 - down) >> 29;
    let magnitude = total.unsigned_abs();
    let lost = lost & !(magnitude >> 29 | magnitude >> 30);
    // The total has at least five places more than an f32 if places are lost; with `SPLIT`, at least two.
    let lost = if SPLIT { lost.min(1) } else { lost };
    (total | lost as i32) as f32 * f32::from_bits((first - (24 << 23)) as u32)
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
