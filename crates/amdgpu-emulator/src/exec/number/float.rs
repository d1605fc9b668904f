//! The floating-point operations that lane operations use, for f16, f32 and f64.

use crate::exec::lanes::Word;
use crate::exec::number::half16::Half;
use crate::exec::number::soft::{self, Format, Round};
use crate::state::wave::Mode;

/// A floating-point value of a lane. The arithmetic rounds to nearest even and keeps denormals. The methods with `_in`
/// round as a mode says, but don't flush.
pub(crate) trait Float: Word {
    const FORMAT: Format;
    const ONE: Self;
    /// The largest value below 1.
    const BELOW_ONE: Self;
    const INFINITY: Self;
    fn bits(self) -> u64;
    fn of(bits: u64) -> Self;
    /// Returns the mode's rounding for this format.
    fn rounding(m: Mode) -> Round;

    fn add(self, b: Self) -> Self;
    fn sub(self, b: Self) -> Self;
    fn mul(self, b: Self) -> Self;
    fn fma(self, b: Self, c: Self) -> Self;
    fn floor(self) -> Self;
    fn ceil(self) -> Self;
    fn trunc(self) -> Self;
    fn rndne(self) -> Self;
    fn lt(self, b: Self) -> bool;
    fn eq(self, b: Self) -> bool;
    fn is_nan(self) -> bool;
    fn is_signaling(self) -> bool;
    fn quiet(self) -> Self;
    fn negate(self) -> Self;
    fn is_negative(self) -> bool;
    /// Returns the greater of two numbers; +0 is above -0. Neither is a NaN.
    #[inline(always)]
    fn greater(self, b: Self) -> Self {
        // Of equal numbers, one is the one and one is the other.
        let (one, other) = (if b.lt(self) { self } else { b }, if self.lt(b) { b } else { self });
        Self::of(one.bits() & other.bits())
    }
    /// Returns the lesser of two numbers; see [`greater`](Self::greater).
    #[inline(always)]
    fn lesser(self, b: Self) -> Self {
        let (one, other) = (if self.lt(b) { self } else { b }, if b.lt(self) { b } else { self });
        Self::of(one.bits() | other.bits())
    }

    #[inline]
    fn add_in(self, m: Mode, b: Self) -> Self {
        Self::of(soft::add(Self::FORMAT, Self::rounding(m), self.bits(), b.bits()))
    }
    #[inline]
    fn mul_in(self, m: Mode, b: Self) -> Self {
        Self::of(soft::mul(Self::FORMAT, Self::rounding(m), self.bits(), b.bits()))
    }
    #[inline]
    fn fma_in(self, m: Mode, b: Self, c: Self) -> Self {
        Self::of(soft::fma(Self::FORMAT, Self::rounding(m), self.bits(), b.bits(), c.bits()))
    }
}

macro_rules! host_float {
    ($ty:ident, $bits:ident, $format:expr, $round:ident, $quiet:expr) => {
        impl Float for $ty {
            const FORMAT: Format = $format;
            const ONE: Self = 1.0;
            const BELOW_ONE: Self = 1.0 - $ty::EPSILON / 2.0;
            const INFINITY: Self = $ty::INFINITY;
            #[inline(always)]
            fn bits(self) -> u64 {
                u64::from(self.to_bits())
            }
            #[inline(always)]
            fn of(bits: u64) -> Self {
                $ty::from_bits(bits as $bits)
            }
            #[inline(always)]
            fn rounding(m: Mode) -> Round {
                Round::of(m.$round())
            }
            #[inline(always)]
            fn add(self, b: Self) -> Self {
                self + b
            }
            #[inline(always)]
            fn sub(self, b: Self) -> Self {
                self - b
            }
            #[inline(always)]
            fn mul(self, b: Self) -> Self {
                self * b
            }
            #[inline(always)]
            fn fma(self, b: Self, c: Self) -> Self {
                self.mul_add(b, c)
            }
            #[inline(always)]
            fn floor(self) -> Self {
                let d = self.floor();
                if d != d { self.quiet() } else { d }
            }
            #[inline(always)]
            fn ceil(self) -> Self {
                let d = self.ceil();
                if d != d { self.quiet() } else { d }
            }
            #[inline(always)]
            fn trunc(self) -> Self {
                let d = self.trunc();
                if d != d { self.quiet() } else { d }
            }
            #[inline(always)]
            fn rndne(self) -> Self {
                let d = self.round_ties_even();
                if d != d { self.quiet() } else { d }
            }
            #[inline(always)]
            fn lt(self, b: Self) -> bool {
                self < b
            }
            #[inline(always)]
            fn eq(self, b: Self) -> bool {
                self == b
            }
            #[inline(always)]
            fn is_nan(self) -> bool {
                self != self
            }
            #[inline(always)]
            fn is_signaling(self) -> bool {
                self != self && self.to_bits() & $quiet == 0
            }
            #[inline(always)]
            fn quiet(self) -> Self {
                $ty::from_bits(self.to_bits() | $quiet)
            }
            #[inline(always)]
            fn negate(self) -> Self {
                -self
            }
            #[inline(always)]
            fn is_negative(self) -> bool {
                self.is_sign_negative()
            }
        }
    };
}

host_float!(f32, u32, soft::F32, round32, 1 << 22);
host_float!(f64, u64, soft::F64, round64, 1 << 51);

/// Sums and products of two f16 are computed in f32 and rounded to f16. This is as good as rounding once, as f32 has
/// more than twice the precision. A fused multiply-add is computed in f64, where it is exact or far from a tie.
impl Float for Half {
    const FORMAT: Format = soft::F16;
    const ONE: Self = Half(0x3c00);
    const BELOW_ONE: Self = Half(0x3bff);
    const INFINITY: Self = Half(0x7c00);
    #[inline(always)]
    fn bits(self) -> u64 {
        u64::from(self.0)
    }
    #[inline(always)]
    fn of(bits: u64) -> Self {
        Half(bits as u16)
    }
    #[inline(always)]
    fn rounding(m: Mode) -> Round {
        Round::of(m.round64())
    }
    #[inline(always)]
    fn add(self, b: Self) -> Self {
        Half::from_f32(self.to_f32() + b.to_f32())
    }
    #[inline(always)]
    fn sub(self, b: Self) -> Self {
        Half::from_f32(self.to_f32() - b.to_f32())
    }
    #[inline(always)]
    fn mul(self, b: Self) -> Self {
        Half::from_f32(self.to_f32() * b.to_f32())
    }
    #[inline(always)]
    fn fma(self, b: Self, c: Self) -> Self {
        Half::from_f64(self.to_f64() * b.to_f64() + c.to_f64())
    }
    #[inline(always)]
    fn floor(self) -> Self {
        Half::from_f32(self.to_f32().floor())
    }
    #[inline(always)]
    fn ceil(self) -> Self {
        Half::from_f32(self.to_f32().ceil())
    }
    #[inline(always)]
    fn trunc(self) -> Self {
        Half::from_f32(self.to_f32().trunc())
    }
    #[inline(always)]
    fn rndne(self) -> Self {
        Half::from_f32(self.to_f32().round_ties_even())
    }
    #[inline(always)]
    fn lt(self, b: Self) -> bool {
        (self.rank() < b.rank()) & !self.is_nan() & !b.is_nan()
    }
    #[inline(always)]
    fn eq(self, b: Self) -> bool {
        (self.rank() == b.rank()) & !self.is_nan() & !b.is_nan()
    }
    #[inline(always)]
    fn is_nan(self) -> bool {
        self.0 & 0x7fff > 0x7c00
    }
    #[inline(always)]
    fn is_signaling(self) -> bool {
        self.is_nan() && self.0 & 0x200 == 0
    }
    #[inline(always)]
    fn quiet(self) -> Self {
        Half(self.0 | 0x200)
    }
    #[inline(always)]
    fn negate(self) -> Self {
        Half(self.0 ^ 0x8000)
    }
    #[inline(always)]
    fn is_negative(self) -> bool {
        self.0 & 0x8000 != 0
    }
}

/// Returns the lesser value; -0 is below +0. Of a NaN and a number it is the number. In IEEE mode a signalling NaN
/// gives a quiet NaN (CDNA2 ISA, `V_MIN_F32`); on gfx12 two NaNs do ([`Mode::PREFERS_NUMBERS`]).
#[inline(always)]
pub(crate) fn min<T: Float>(m: Mode, a: T, b: T) -> T {
    let first = a.lt(b) || a.eq(b) && a.is_negative() || b.is_nan() && !a.is_nan();
    ieee(m, a, b, if first { a } else { b })
}

/// Returns the greater value; see [`min`].
#[inline(always)]
pub(crate) fn max<T: Float>(m: Mode, a: T, b: T) -> T {
    let first = b.lt(a) || a.eq(b) && !a.is_negative() || b.is_nan() && !a.is_nan();
    ieee(m, a, b, if first { a } else { b })
}

/// Returns the lesser value, as `minimum` of IEEE 754-2019 does: -0 is below +0, and a NaN gives a quiet NaN.
#[inline(always)]
pub(crate) fn minimum<T: Float>(a: T, b: T) -> T {
    let first = a.lt(b) || a.eq(b) && a.is_negative();
    quiet_nan(a, b, if first { a } else { b })
}

/// Returns the greater value; see [`minimum`].
#[inline(always)]
pub(crate) fn maximum<T: Float>(a: T, b: T) -> T {
    let first = b.lt(a) || a.eq(b) && !a.is_negative();
    quiet_nan(a, b, if first { a } else { b })
}

#[inline(always)]
fn quiet_nan<T: Float>(a: T, b: T, otherwise: T) -> T {
    let second = if b.is_nan() { b.quiet() } else { otherwise };
    if a.is_nan() { a.quiet() } else { second }
}

#[inline(always)]
fn ieee<T: Float>(m: Mode, a: T, b: T, otherwise: T) -> T {
    let ieee = m.ieee();
    // It is a NaN if both are: then the first one is quieted.
    let otherwise = if m.prefers_numbers() && otherwise.is_nan() { a.quiet() } else { otherwise };
    let second = if ieee && b.is_signaling() { b.quiet() } else { otherwise };
    if ieee && a.is_signaling() { a.quiet() } else { second }
}
