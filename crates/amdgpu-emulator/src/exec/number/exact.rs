//! For tests: exact arithmetic on integers of any length times powers of two, and rounding to floats.
//!
//! It shares no code with the arithmetic of executors, which is the host's, or that of `soft` with 128 bits and a
//! sticky bit.

use std::cmp::Ordering;

/// The exact value of a float.
#[derive(Debug, Clone)]
pub(crate) enum Exact {
    Nan,
    Infinite {
        negative: bool,
    },
    /// `±digits * 2^exponent`; digits of 32 bits, the lowest first.
    Finite {
        negative: bool,
        digits: Vec<u32>,
        exponent: i32,
    },
}

use Exact::{Finite, Infinite, Nan};

/// Returns the number of bits of the fraction and of the exponent in a float of 16, 32 or 64 bits.
pub(crate) fn fields(size: u32) -> (u32, u32) {
    match size {
        16 => (10, 5),
        32 => (23, 8),
        _ => (52, 11),
    }
}

fn trimmed(mut digits: Vec<u32>) -> Vec<u32> {
    while digits.last() == Some(&0) {
        digits.pop();
    }
    digits
}

fn length(digits: &[u32]) -> i32 {
    digits.iter().rposition(|d| *d != 0).map_or(0, |n| 32 * n as i32 + 32 - digits[n].leading_zeros() as i32)
}

fn bit(digits: &[u32], n: i32) -> bool {
    n >= 0 && digits.get(n as usize / 32).is_some_and(|d| d >> (n % 32) & 1 != 0)
}

fn shifted(digits: &[u32], up: u32) -> Vec<u32> {
    let mut out = vec![0; up as usize / 32];
    let mut carry = 0u64;
    for digit in digits {
        let now = u64::from(*digit) << (up % 32) | carry;
        out.push(now as u32);
        carry = now >> 32;
    }
    out.push(carry as u32);
    trimmed(out)
}

fn compare(a: &[u32], b: &[u32]) -> Ordering {
    a.len().cmp(&b.len()).then_with(|| a.iter().rev().cmp(b.iter().rev()))
}

fn sum(a: &[u32], b: &[u32]) -> Vec<u32> {
    let mut carry = 0u64;
    let mut out: Vec<u32> = (0..a.len().max(b.len()))
        .map(|n| {
            let [p, q] = [a, b].map(|v| u64::from(v.get(n).copied().unwrap_or(0)));
            let now = p + q + carry;
            carry = now >> 32;
            now as u32
        })
        .collect();
    out.push(carry as u32);
    trimmed(out)
}

/// Returns `a - b`. `a` must not be less than `b`.
fn difference(a: &[u32], b: &[u32]) -> Vec<u32> {
    let mut borrow = 0i64;
    let out = (0..a.len())
        .map(|n| {
            let now = i64::from(a[n]) - i64::from(b.get(n).copied().unwrap_or(0)) - borrow;
            borrow = i64::from(now < 0);
            now as u32
        })
        .collect();
    trimmed(out)
}

impl Exact {
    /// Returns the value of a float of `size` bits.
    pub(crate) fn of(bits: u64, size: u32) -> Exact {
        let (fraction_bits, exponent_bits) = fields(size);
        let negative = bits >> (size - 1) & 1 != 0;
        let (top, field) = ((1u64 << exponent_bits) - 1, bits >> fraction_bits & ((1 << exponent_bits) - 1));
        let fraction = bits & ((1 << fraction_bits) - 1);
        if field == top {
            return if fraction == 0 { Infinite { negative } } else { Nan };
        }
        let whole = if field == 0 { fraction } else { fraction | 1 << fraction_bits };
        let exponent = field.max(1) as i32 - (top / 2) as i32 - fraction_bits as i32;
        Finite { negative, digits: trimmed(vec![whole as u32, (whole >> 32) as u32]), exponent }
    }

    pub(crate) fn integer(v: i128) -> Exact {
        let m = v.unsigned_abs();
        let digits = trimmed((0..4).map(|n| (m >> (32 * n)) as u32).collect());
        Finite { negative: v < 0, digits, exponent: 0 }
    }

    pub(crate) fn is_nan(&self) -> bool {
        matches!(self, Nan)
    }

    pub(crate) fn is_zero(&self) -> bool {
        matches!(self, Finite { digits, .. } if digits.is_empty())
    }

    pub(crate) fn is_negative(&self) -> bool {
        matches!(self, Infinite { negative: true } | Finite { negative: true, .. })
    }

    pub(crate) fn negated(self) -> Exact {
        match self {
            Nan => Nan,
            Infinite { negative } => Infinite { negative: !negative },
            Finite { negative, digits, exponent } => Finite { negative: !negative, digits, exponent },
        }
    }

    /// Returns the number times 2^power.
    pub(crate) fn scaled(self, power: i32) -> Exact {
        match self {
            Finite { negative, digits, exponent } => Finite { negative, digits, exponent: exponent + power },
            other => other,
        }
    }

    pub(crate) fn times(&self, other: &Exact) -> Exact {
        let sign = self.is_negative() != other.is_negative();
        match (self, other) {
            (Nan, _) | (_, Nan) => Nan,
            (Infinite { .. }, x) | (x, Infinite { .. }) if x.is_zero() => Nan,
            (Infinite { .. }, _) | (_, Infinite { .. }) => Infinite { negative: sign },
            (Finite { digits: a, exponent: p, .. }, Finite { digits: b, exponent: q, .. }) => {
                let mut digits = vec![0u32; a.len() + b.len() + 1];
                for (n, x) in a.iter().enumerate() {
                    let mut carry = 0u64;
                    for (m, y) in b.iter().chain(&[0]).enumerate() {
                        let now = u64::from(*x) * u64::from(*y) + u64::from(digits[n + m]) + carry;
                        digits[n + m] = now as u32;
                        carry = now >> 32;
                    }
                }
                Finite { negative: sign, digits: trimmed(digits), exponent: p + q }
            }
        }
    }

    /// Returns the sum. The sum of opposite numbers, or of zeros with different signs, is -0 if `round` is 2 (down),
    /// otherwise +0.
    pub(crate) fn plus(&self, other: &Exact, round: u32) -> Exact {
        match (self, other) {
            (Nan, _) | (_, Nan) => Nan,
            (Infinite { negative: a }, Infinite { negative: b }) if a != b => Nan,
            (Infinite { negative }, _) | (_, Infinite { negative }) => Infinite { negative: *negative },
            (
                Finite { negative: s, digits: a, exponent: p },
                Finite { negative: t, digits: b, exponent: q },
            ) => {
                let exponent = *p.min(q);
                let (a, b) = (shifted(a, p.abs_diff(exponent)), shifted(b, q.abs_diff(exponent)));
                if s == t {
                    return Finite { negative: *s, digits: sum(&a, &b), exponent };
                }
                match compare(&a, &b) {
                    Ordering::Equal => Finite { negative: round == 2, digits: Vec::new(), exponent },
                    Ordering::Greater => Finite { negative: *s, digits: difference(&a, &b), exponent },
                    Ordering::Less => Finite { negative: *t, digits: difference(&b, &a), exponent },
                }
            }
        }
    }

    /// Compares two numbers; `None` if one is NaN.
    pub(crate) fn order(&self, other: &Exact) -> Option<Ordering> {
        if let (Infinite { negative: a }, Infinite { negative: b }) = (self, other) {
            return Some(b.cmp(a));
        }
        match self.plus(&other.clone().negated(), 0) {
            Nan => None,
            x if x.is_zero() => Some(Ordering::Equal),
            x if x.is_negative() => Some(Ordering::Less),
            _ => Some(Ordering::Greater),
        }
    }

    /// Rounds to a float of `size` bits: to nearest even (0), up (1), down (2), or towards zero (3), as the MODE
    /// register numbers them.
    pub(crate) fn round(&self, size: u32, round: u32) -> u64 {
        let (fraction_bits, exponent_bits) = fields(size);
        let top = ((1u64 << exponent_bits) - 1) << fraction_bits;
        let (negative, digits, exponent) = match self {
            Nan => return top | 1 << (fraction_bits - 1),
            Infinite { negative } => return u64::from(*negative) << (size - 1) | top,
            Finite { negative, digits, exponent } => (*negative, digits, *exponent),
        };
        let sign = u64::from(negative) << (size - 1);
        if digits.is_empty() {
            return sign;
        }
        // The powers of two of the last place of denormals, and of the last place of this number.
        let lowest = 2 - (1 << (exponent_bits - 1)) - fraction_bits as i32;
        let last = (exponent + length(digits) - 1 - fraction_bits as i32).max(lowest);
        let drop = last - exponent;
        let kept: u64 = (0..=fraction_bits as i32).map(|n| u64::from(bit(digits, drop + n)) << n).sum();
        let half = bit(digits, drop - 1);
        let below = (0..drop - 1).any(|n| bit(digits, n));
        let up = match round {
            0 => half && (below || kept & 1 != 0),
            1 => !negative && (half || below),
            2 => negative && (half || below),
            _ => false,
        };
        // The hidden bit adds one to the exponent's field, and so does a carry.
        let places = u64::try_from(last - lowest).unwrap_or(0);
        let code = (kept + u64::from(up)).checked_add(places.checked_mul(1 << fraction_bits).unwrap_or(top));
        match code {
            Some(code) if code < top => sign | code,
            _ if round == 0 || round == 1 && !negative || round == 2 && negative => sign | top,
            _ => sign | (top - 1),
        }
    }
}

/// Returns `a * b + c` of floats of `size` bits, rounded once.
pub(crate) fn fma(size: u32, round: u32, a: u64, b: u64, c: u64) -> u64 {
    Exact::of(a, size).times(&Exact::of(b, size)).plus(&Exact::of(c, size), round).round(size, round)
}

pub(crate) fn add(size: u32, round: u32, a: u64, b: u64) -> u64 {
    Exact::of(a, size).plus(&Exact::of(b, size), round).round(size, round)
}

pub(crate) fn mul(size: u32, round: u32, a: u64, b: u64) -> u64 {
    Exact::of(a, size).times(&Exact::of(b, size)).round(size, round)
}

pub(crate) fn convert(from: u32, to: u32, round: u32, a: u64) -> u64 {
    Exact::of(a, from).round(to, round)
}

/// Replaces a denormal of `size` bits with zero of the same sign, unless `keep`.
pub(crate) fn flush(bits: u64, size: u32, keep: bool) -> u64 {
    let (fraction_bits, exponent_bits) = fields(size);
    let normal = bits >> fraction_bits & ((1 << exponent_bits) - 1) != 0;
    if keep || normal { bits } else { bits & 1 << (size - 1) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::test_wave::Random;

    fn float(random: &mut Random) -> f64 {
        let bits = random.next();
        match bits % 4 {
            0 => f64::from((bits >> 8) as i16) * 0.125,
            1 => f64::from_bits(bits & 0x800f_ffff_ffff_ffff | (1000 + (bits >> 52 & 31)) << 52),
            2 => f64::from_bits(bits & 0x801f_ffff_ffff_ffff),
            _ => f64::from_bits(bits),
        }
    }

    /// Rounding to nearest even gives the host's results.
    #[test]
    fn nearest_agrees_with_the_host() {
        let mut random = Random::new(5);
        for _ in 0..20_000 {
            let [a, b, c] = [(); 3].map(|()| float(&mut random));
            let [p, q, r] = [a, b, c].map(f64::to_bits);
            let same = |got: u64, want: f64| {
                let got = f64::from_bits(got);
                assert!(
                    got.to_bits() == want.to_bits() || got.is_nan() && want.is_nan(),
                    "{a:e} {b:e} {c:e}: {got:e}, not {want:e}"
                );
            };
            same(add(64, 0, p, q), a + b);
            same(mul(64, 0, p, q), a * b);
            same(fma(64, 0, p, q, r), a.mul_add(b, c));
            let narrow = f32::from_bits(convert(64, 32, 0, p) as u32);
            assert!(narrow.to_bits() == (a as f32).to_bits() || narrow.is_nan() && a.is_nan());
            let half = half::f16::from_bits(convert(64, 16, 0, p) as u16);
            let want = half::f16::from_f64(a);
            assert!(half.to_bits() == want.to_bits() || half.is_nan() && want.is_nan(), "{a:e}");
            assert_eq!(Exact::of(p, 64).order(&Exact::of(q, 64)), a.partial_cmp(&b));
        }
    }

    /// Directed roundings give the neighbours that enclose the exact value.
    #[test]
    fn directed_roundings_enclose_the_exact_result() {
        let mut random = Random::new(6);
        for size in [16, 32, 64] {
            for _ in 0..5_000 {
                let [p, q] = [(); 2].map(|()| random.next() >> (64 - size));
                let exact = Exact::of(p, size).times(&Exact::of(q, size));
                if !matches!(exact, Finite { .. }) {
                    continue;
                }
                let [even, up, down, zero] = [0, 1, 2, 3].map(|round| exact.round(size, round));
                let at = |bits: u64| Exact::of(bits, size).order(&exact);
                assert_ne!(at(up), Some(Ordering::Less));
                assert_ne!(at(down), Some(Ordering::Greater));
                assert!(even == up || even == down);
                assert_eq!(zero, if exact.is_negative() { up } else { down });
                let is_exact = at(even) == Some(Ordering::Equal);
                let apart = (up | down) == 1 << (size - 1) || up.abs_diff(down) == 1;
                assert!(if is_exact { up == down } else { apart }, "{size}: {p:x} {q:x} {up:x} {down:x}");
            }
        }
    }
}
