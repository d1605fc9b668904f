//! IEEE arithmetic on integers, for rounding modes that the host's instructions don't use.
//!
//! Numbers are unpacked to an integer times a power of two. The result, exact or with a sticky bit far below the
//! precision, is rounded once.

/// A binary floating-point format of at most 64 bits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Format {
    /// The number of bits of precision, including the hidden one.
    pub(crate) precision: u32,
    /// The number of bits of the exponent.
    pub(crate) exponent: u32,
}

pub(crate) const F16: Format = Format { precision: 11, exponent: 5 };
pub(crate) const F32: Format = Format { precision: 24, exponent: 8 };
pub(crate) const F64: Format = Format { precision: 53, exponent: 11 };

impl Format {
    const fn fraction(self) -> u32 {
        self.precision - 1
    }
    const fn bias(self) -> i32 {
        (1 << (self.exponent - 1)) - 1
    }
    const fn max_field(self) -> u64 {
        (1 << self.exponent) - 1
    }
    /// Returns the power of two of the last bit of denormals.
    const fn lowest(self) -> i32 {
        1 - self.bias() - self.fraction() as i32
    }
    const fn sign_bit(self, negative: bool) -> u64 {
        (negative as u64) << (self.fraction() + self.exponent)
    }
    const fn infinity(self, negative: bool) -> u64 {
        self.sign_bit(negative) | self.max_field() << self.fraction()
    }
    /// Returns the NaN that invalid operations give.
    const fn nan(self) -> u64 {
        self.infinity(false) | 1 << (self.fraction() - 1)
    }
    const fn largest(self, negative: bool) -> u64 {
        self.infinity(negative) - 1
    }
}

/// A rounding, numbered as in the MODE register (CDNA2 ISA, "Mode register").
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Round {
    Even,
    Up,
    Down,
    Zero,
}

impl Round {
    /// Returns the rounding of a 2-bit field of MODE.
    pub(crate) const fn of(field: u32) -> Round {
        match field & 3 {
            0 => Round::Even,
            1 => Round::Up,
            2 => Round::Down,
            _ => Round::Zero,
        }
    }
}

/// An unpacked value.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Parts {
    /// The bits of the NaN, quieted.
    Nan(u64),
    Infinite {
        negative: bool,
    },
    /// `mantissa * 2^exponent`. The mantissa of zeros is 0.
    Finite {
        negative: bool,
        mantissa: u64,
        exponent: i32,
    },
}

/// Unpacks a value.
pub(crate) fn unpack(f: Format, bits: u64) -> Parts {
    let negative = bits >> (f.fraction() + f.exponent) & 1 != 0;
    let field = bits >> f.fraction() & f.max_field();
    let fraction = bits & ((1 << f.fraction()) - 1);
    if field == f.max_field() {
        if fraction == 0 { Parts::Infinite { negative } } else { Parts::Nan(bits | 1 << (f.fraction() - 1)) }
    } else if field == 0 {
        Parts::Finite { negative, mantissa: fraction, exponent: f.lowest() }
    } else {
        let mantissa = fraction | 1 << f.fraction();
        Parts::Finite { negative, mantissa, exponent: f.lowest() + field as i32 - 1 }
    }
}

/// Rounds `±mantissa * 2^exponent`. The lowest bit of `mantissa` may be sticky if `mantissa` has at least two bits more
/// than the precision.
pub(crate) fn pack(f: Format, round: Round, negative: bool, mantissa: u128, exponent: i32) -> u64 {
    if mantissa == 0 {
        return f.sign_bit(negative);
    }
    let length = 128 - mantissa.leading_zeros() as i32;
    // The power of two of the result's last bit.
    let last = (exponent + length - f.precision as i32).max(f.lowest());
    let drop = last - exponent;
    let (mut kept, rest_over_half, rest_is_half, inexact) = if drop <= 0 {
        (mantissa << -drop, false, false, false)
    } else if drop > 127 {
        (0, false, false, true)
    } else {
        let rest = mantissa & ((1 << drop) - 1);
        let half = 1u128 << (drop - 1);
        (mantissa >> drop, rest > half, rest == half, rest != 0)
    };
    kept += u128::from(match round {
        Round::Even => rest_over_half || rest_is_half && kept & 1 != 0,
        Round::Up => inexact && !negative,
        Round::Down => inexact && negative,
        Round::Zero => false,
    });
    let kept = kept as u64;
    // Adding the fields lets a carry out of the fraction increase the exponent.
    let binade = (last - f.lowest()) as u64;
    let overflows = binade >= f.max_field();
    let magnitude = match kept >> f.fraction() {
        0 => kept,
        _ if overflows => f.infinity(false),
        _ => (binade << f.fraction()) + kept,
    };
    if magnitude >= f.infinity(false) {
        let to_infinity = match round {
            Round::Even => true,
            Round::Up => !negative,
            Round::Down => negative,
            Round::Zero => false,
        };
        return if to_infinity { f.infinity(negative) } else { f.largest(negative) };
    }
    f.sign_bit(negative) | magnitude
}

/// Returns `a + b`, rounded.
pub(crate) fn add(f: Format, round: Round, a: u64, b: u64) -> u64 {
    let one = (f.bias() as u64) << f.fraction();
    fma(f, round, a, one, b)
}

/// Returns `a * b`, rounded.
pub(crate) fn mul(f: Format, round: Round, a: u64, b: u64) -> u64 {
    match (unpack(f, a), unpack(f, b)) {
        (Parts::Nan(n), _) | (_, Parts::Nan(n)) => n,
        (Parts::Infinite { negative: s }, Parts::Infinite { negative: t }) => f.infinity(s != t),
        (Parts::Infinite { negative: s }, Parts::Finite { negative: t, mantissa, .. })
        | (Parts::Finite { negative: t, mantissa, .. }, Parts::Infinite { negative: s }) => {
            if mantissa == 0 {
                f.nan()
            } else {
                f.infinity(s != t)
            }
        }
        (
            Parts::Finite { negative: s, mantissa: m, exponent: e },
            Parts::Finite { negative: t, mantissa: n, exponent: g },
        ) => pack(f, round, s != t, u128::from(m) * u128::from(n), e + g),
    }
}

/// Returns `a * b + c`, rounded once.
pub(crate) fn fma(f: Format, round: Round, a: u64, b: u64, c: u64) -> u64 {
    fma_scaled(f, round, a, b, c, 0)
}

/// Returns `(a * b + c) * 2^n`, rounded once.
pub(crate) fn fma_scaled(f: Format, round: Round, a: u64, b: u64, c: u64, n: i32) -> u64 {
    let (a, b, c) = (unpack(f, a), unpack(f, b), unpack(f, c));
    let (s, product, p) = match (a, b) {
        (Parts::Nan(nan), _) | (_, Parts::Nan(nan)) => return nan,
        (Parts::Infinite { negative: s }, Parts::Infinite { negative: t }) => {
            return infinite_plus(f, s != t, c);
        }
        (Parts::Infinite { negative: s }, Parts::Finite { negative: t, mantissa, .. })
        | (Parts::Finite { negative: t, mantissa, .. }, Parts::Infinite { negative: s }) => {
            return match (mantissa, c) {
                (_, Parts::Nan(nan)) => nan,
                (0, _) => f.nan(),
                _ => infinite_plus(f, s != t, c),
            };
        }
        (
            Parts::Finite { negative: s, mantissa: m, exponent: e },
            Parts::Finite { negative: t, mantissa: o, exponent: g },
        ) => (s != t, u128::from(m) * u128::from(o), e + g),
    };
    let (t, addend, q) = match c {
        Parts::Nan(nan) => return nan,
        Parts::Infinite { negative } => return f.infinity(negative),
        Parts::Finite { negative, mantissa, exponent } => (negative, u128::from(mantissa), exponent),
    };
    if product == 0 && addend == 0 {
        let negative = if s == t { s } else { round == Round::Down };
        return f.sign_bit(negative);
    }
    // Both are shifted so that their highest bit is bit 125. Then the smaller is shifted down to the power of the
    // other, and the bits that it loses are sticky. If the powers differ by more than one place, more bits than any
    // precision here are left, even after cancellation. If they differ by less, nothing is lost, as a product has at
    // most 106 bits.
    let (x, e) = normal(product, p);
    let (y, g) = normal(addend, q);
    let top = if x == 0 {
        g
    } else if y == 0 {
        e
    } else {
        e.max(g)
    };
    let x = shift_sticky(x, top - e);
    let y = shift_sticky(y, top - g);
    let (negative, sum) = if s == t {
        (s, x + y)
    } else if x > y {
        (s, x - y)
    } else if y > x {
        (t, y - x)
    } else {
        (round == Round::Down, 0)
    };
    pack(f, round, negative, sum, top + n)
}

fn infinite_plus(f: Format, negative: bool, c: Parts) -> u64 {
    match c {
        Parts::Nan(n) => n,
        Parts::Infinite { negative: other } if other != negative => f.nan(),
        _ => f.infinity(negative),
    }
}

fn normal(mantissa: u128, exponent: i32) -> (u128, i32) {
    if mantissa == 0 {
        return (0, exponent);
    }
    let up = mantissa.leading_zeros() as i32 - 2;
    (mantissa << up, exponent - up)
}

fn shift_sticky(value: u128, by: i32) -> u128 {
    match by {
        _ if value == 0 || by <= 0 => value,
        1..=127 => value >> by | u128::from(value & ((1 << by) - 1) != 0),
        _ => 1,
    }
}

/// Converts `a` to another format, rounded.
pub(crate) fn convert(from: Format, to: Format, round: Round, a: u64) -> u64 {
    match unpack(from, a) {
        Parts::Nan(n) => {
            let negative = n >> (from.fraction() + from.exponent) & 1 != 0;
            let fraction = n & ((1 << from.fraction()) - 1);
            let by = from.fraction() as i32 - to.fraction() as i32;
            to.infinity(negative) | if by >= 0 { fraction >> by } else { fraction << -by }
        }
        Parts::Infinite { negative } => to.infinity(negative),
        Parts::Finite { negative, mantissa, exponent } => {
            pack(to, round, negative, u128::from(mantissa), exponent)
        }
    }
}

/// Converts an integer, rounded.
pub(crate) fn from_int(to: Format, round: Round, a: i64) -> u64 {
    pack(to, round, a < 0, u128::from(a.unsigned_abs()), 0)
}

/// Returns `a * 2^n`, rounded.
pub(crate) fn scale(f: Format, round: Round, a: u64, n: i32) -> u64 {
    match unpack(f, a) {
        Parts::Nan(n) => n,
        Parts::Infinite { negative } => f.infinity(negative),
        Parts::Finite { negative, mantissa, exponent } => {
            pack(f, round, negative, u128::from(mantissa), exponent.saturating_add(n.clamp(-5000, 5000)))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns all edge cases, and random values.
    fn samples() -> Vec<u64> {
        let mut state = 0x9e37_79b9_7f4a_7c15u64;
        let mut next = move || {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            state
        };
        let mut out = Vec::new();
        for exponent in
            [0u64, 1, 2, 1000, 1021, 1022, 1023, 1024, 1025, 1075, 1076, 1077, 1500, 2045, 2046, 2047]
        {
            for fraction in [0, 1, 2, 3, 1 << 51, (1 << 52) - 1, (1 << 52) - 2, next() >> 12, next() >> 12] {
                for sign in [0u64, 1] {
                    out.push(sign << 63 | exponent << 52 | fraction);
                }
            }
        }
        out
    }

    fn same(a: f64, b: u64) -> bool {
        a.to_bits() == b || a.is_nan() && f64::from_bits(b).is_nan()
    }

    #[test]
    fn nearest_even_agrees_with_the_host() {
        let all = samples();
        for (n, &a) in all.iter().enumerate() {
            for (m, &b) in all.iter().enumerate() {
                let (x, y) = (f64::from_bits(a), f64::from_bits(b));
                assert!(same(x + y, add(F64, Round::Even, a, b)), "{x:e} + {y:e}");
                assert!(same(x * y, mul(F64, Round::Even, a, b)), "{x:e} * {y:e}");
                let c = all[(n * 31 + m * 17) % all.len()];
                let z = f64::from_bits(c);
                assert!(same(x.mul_add(y, z), fma(F64, Round::Even, a, b, c)), "{x:e} * {y:e} + {z:e}");
                let (p, q, r) = (x as f32, y as f32, z as f32);
                let bits = |v: f32| u64::from(v.to_bits());
                let got = f32::from_bits(fma(F32, Round::Even, bits(p), bits(q), bits(r)) as u32);
                let want = p.mul_add(q, r);
                assert!(
                    want.to_bits() == got.to_bits() || want.is_nan() && got.is_nan(),
                    "{p:e} {q:e} {r:e}"
                );
            }
            let x = f64::from_bits(a);
            assert!(same(
                f64::from(x as f32),
                convert(F32, F64, Round::Even, convert(F64, F32, Round::Even, a))
            ));
        }
    }

    #[test]
    fn scaling_saturates() {
        let one = 1f64.to_bits();
        assert_eq!(f64::from_bits(scale(F64, Round::Even, one, 1023)), 2f64.powi(1023));
        assert_eq!(f64::from_bits(scale(F64, Round::Even, one, 1024)), f64::INFINITY);
        assert_eq!(f64::from_bits(scale(F64, Round::Even, one, i32::MAX)), f64::INFINITY);
        assert_eq!(f64::from_bits(scale(F64, Round::Zero, one, 4000)), f64::MAX);
        assert_eq!(f64::from_bits(scale(F64, Round::Even, one, i32::MIN)), 0.0);
        assert_eq!(f64::from_bits(scale(F64, Round::Up, one, -1200)), f64::from_bits(1));
    }

    #[test]
    fn directed_roundings_bracket_the_exact_result() {
        let all = samples();
        for &a in &all {
            for &b in &all {
                let (x, y) = (f64::from_bits(a), f64::from_bits(b));
                if !x.is_finite() || !y.is_finite() {
                    continue;
                }
                // Unless the sum overflows, its error is a number of the format (Knuth's two-sum).
                let s = x + y;
                if !s.is_finite() {
                    continue;
                }
                let v = s - x;
                let error = (x - (s - v)) + (y - v);
                if !error.is_finite() {
                    continue;
                }
                let up = if error > 0.0 { s.next_up() } else { s };
                let down = if error < 0.0 { s.next_down() } else { s };
                let zero = if s > 0.0 { down } else { up };
                let got = |round| f64::from_bits(add(F64, round, a, b));
                assert_eq!(got(Round::Up), up, "{x:e} + {y:e} up");
                assert_eq!(got(Round::Down), down, "{x:e} + {y:e} down");
                assert_eq!(got(Round::Zero), zero, "{x:e} + {y:e} towards zero");
            }
        }
    }
}
