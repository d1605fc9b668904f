//! The steps of a correctly rounded division that need their own instructions (CDNA2 ISA, `V_DIV_SCALE_F32` and so on).

use std::marker::PhantomData;

use crate::exec::inst::{Exec, ExecContext, Flow, Inst};
use crate::exec::lanes::{Op3, by_exec, load, set_lane, store};
use crate::exec::number::float::Float;
use crate::exec::number::half16::Half;
use crate::exec::number::soft;
use crate::state::wave::{CHUNK, CHUNKS, Mode, Wave, lanes_of};

use super::carry::OpFlag;

/// The numbers in which the division of f32 and f64 differ. Exponents are the biased ones of the encoding, 0 for
/// denormals.
pub(crate) trait Divide: Float {
    /// Operands whose exponents differ by at least this are scaled, so that no intermediate result overflows or
    /// underflows.
    const SCALED_DIFFERENCE: i32;
    /// The power of two by which operands are scaled.
    const SCALE: i32;
    /// Numerators with at most this exponent are scaled. The remainders of others are exact without scaling.
    const TINY: i32;
    /// Denominators with at least this exponent are scaled. The reciprocals of others are not denormals.
    const HUGE: i32;
    /// If the difference of the exponents is below this, the quotient is less than half the smallest denormal.
    const UNDERFLOW: i32;
    /// The NaN of 0/0.
    const INDEFINITE: Self;
    fn is_zero(self) -> bool;
    /// Returns the number times 2^n, rounded to nearest even.
    #[inline(always)]
    fn ldexp(self, n: i32) -> Self {
        Self::of(soft::scale(Self::FORMAT, soft::Round::Even, self.bits(), n))
    }
    /// Returns the biased exponent of the encoding.
    #[inline(always)]
    fn field(self) -> i32 {
        let fraction = Self::FORMAT.precision - 1;
        (self.bits() >> fraction & ((1 << Self::FORMAT.exponent) - 1)) as i32
    }
    #[inline(always)]
    fn is_infinite(self) -> bool {
        self.field() == (1 << Self::FORMAT.exponent) - 1 && !self.is_nan()
    }
    #[inline(always)]
    fn with_sign(self, negative: bool) -> Self {
        if self.is_negative() == negative { self } else { self.negate() }
    }
}

impl Divide for f32 {
    const SCALED_DIFFERENCE: i32 = 96;
    const SCALE: i32 = 64;
    const TINY: i32 = 24;
    const HUGE: i32 = 253;
    const UNDERFLOW: i32 = -150;
    const INDEFINITE: f32 = f32::from_bits(0xffc0_0000);
    #[inline(always)]
    fn is_zero(self) -> bool {
        self == 0.0
    }
}

impl Divide for f64 {
    const SCALED_DIFFERENCE: i32 = 768;
    const SCALE: i32 = 128;
    const TINY: i32 = 53;
    const HUGE: i32 = 2045;
    const UNDERFLOW: i32 = -1075;
    const INDEFINITE: f64 = f64::from_bits(0xfff8_0000_0000_0000);
    #[inline(always)]
    fn is_zero(self) -> bool {
        self == 0.0
    }
}

/// `v_div_scale`: returns the first source, which is equal to the second (denominator) or the third (numerator), scaled
/// so that the following steps neither overflow nor lose bits. The flag tells `v_div_fmas` to scale the quotient back.
///
/// The conditions in the ISA documents give wrong quotients: if the quotient is tiny, they scale a huge denominator up,
/// to infinity. The conditions here depend on exponents alone. AMD measured them on gfx1100 and gfx1201 (`division.h`
/// of rocjitsu in ROCm's rocm-systems); the documents of these describe the instruction in the same words.
pub(crate) struct DivScale<T>(PhantomData<T>);
impl<T: Divide> OpFlag for DivScale<T> {
    type D = T;
    type A = T;
    type C = T;
    #[inline(always)]
    fn f(value: T, denominator: T, numerator: T) -> (T, bool) {
        let is_denominator = value.eq(denominator);
        let exponents = numerator.field() - denominator.field();
        let only = |scaled: bool, n: i32| if scaled { n } else { 0 };
        let (flag, n) = if denominator.is_zero() || numerator.is_zero() {
            return (T::INDEFINITE.negate(), false);
        } else if exponents >= T::SCALED_DIFFERENCE {
            (true, only(is_denominator, T::SCALE))
        } else if denominator.field() == 0 {
            (false, T::SCALE)
        } else if denominator.field() >= T::HUGE {
            // The quotient becomes larger, so that it is rounded only once, when `v_div_fmas` makes it a denormal.
            let tiny = exponents <= -T::SCALED_DIFFERENCE;
            (tiny, only(is_denominator || !tiny, -T::SCALE))
        } else if exponents <= -T::SCALED_DIFFERENCE {
            (true, only(!is_denominator, T::SCALE))
        } else {
            (false, only(numerator.field() <= T::TINY, T::SCALE))
        };
        let value = if value.is_nan() { value.quiet() } else { value };
        (if n == 0 { value } else { value.ldexp(n) }, flag)
    }
}

/// `v_div_fmas`: computes a fused multiply-add. In lanes whose VCC bit is set, the result is scaled back: up for large
/// quotients, down for small ones. It is rounded once. Denormal sources are kept in every mode, as remainders may be
/// denormal.
pub(crate) struct DivFmas<T>(PhantomData<T>);
impl<T: Divide> Exec for DivFmas<T> {
    #[inline(always)]
    fn exec(w: &mut Wave, _: &mut ExecContext, i: &Inst) -> Flow {
        let m = w.mode;
        let scaled = w.vcc() & w.exec();
        if scaled == 0 && m.is_default_float() {
            by_exec!(w, MASKED => {
                for c in 0..CHUNKS {
                    let a: [T; CHUNK] = load(w, i.src[0], c);
                    let b: [T; CHUNK] = load(w, i.src[1], c);
                    let e: [T; CHUNK] = load(w, i.src[2], c);
                    let mut d = [T::ZERO; CHUNK];
                    for j in 0..CHUNK {
                        d[j] = a[j].fma(b[j], e[j]);
                    }
                    store::<_, MASKED>(w, i.dst, c, &d);
                }
            });
            return Flow::Next;
        }
        for l in lanes_of(w.exec()) {
            let source = |n: usize| crate::exec::lanes::lane::<T>(w, i.src[n], false, l);
            let (a, b, c) = (source(0), source(1), source(2));
            let one = (1 << (T::FORMAT.exponent - 1)) - 1;
            let n = match scaled >> l & 1 {
                0 => 0,
                _ if c.field() > one => T::SCALE,
                _ => -T::SCALE,
            };
            let d = soft::fma_scaled(T::FORMAT, T::rounding(m), a.bits(), b.bits(), c.bits(), n);
            set_lane(w, i.dst, l, T::of(d).flush(m, true));
        }
        Flow::Next
    }
}

/// Returns the quotient of special operands: zeros, infinities and NaNs. `None` for other operands.
#[inline(always)]
fn special<T: Float>(
    denominator: T,
    numerator: T,
    zero: [bool; 2],
    infinite: [bool; 2],
    indefinite: T,
) -> Option<T> {
    let negative = denominator.is_negative() != numerator.is_negative();
    let signed = |v: T| if negative { v.negate() } else { v };
    if numerator.is_nan() {
        Some(numerator.quiet())
    } else if denominator.is_nan() {
        Some(denominator.quiet())
    } else if zero == [true, true] || infinite == [true, true] {
        Some(indefinite)
    } else if zero[0] || infinite[1] {
        Some(signed(T::INFINITY))
    } else if infinite[0] || zero[1] {
        Some(signed(T::ZERO))
    } else {
        None
    }
}

/// Returns the final quotient. For special operands it is the result of [`special`]. For a quotient that is out of the
/// format's range it is the result of `out_of_range`, which is called with false if it is too small and true if it is
/// too large. Otherwise it is `quotient` with the right sign.
///
/// If the operands are not special, an infinite quotient has overflowed, and a NaN comes from infinite intermediate
/// results.
#[inline(always)]
fn fixup<T: Divide>(quotient: T, denominator: T, numerator: T, out_of_range: impl Fn(bool) -> T) -> T {
    let zero = [denominator.is_zero(), numerator.is_zero()];
    let infinite = [denominator.is_infinite(), numerator.is_infinite()];
    let negative = denominator.is_negative() != numerator.is_negative();
    match special(denominator, numerator, zero, infinite, T::INDEFINITE) {
        Some(d) => d,
        None if numerator.field() - denominator.field() < T::UNDERFLOW => {
            out_of_range(false).with_sign(negative)
        }
        None if quotient.is_nan() || quotient.is_infinite() => out_of_range(true).with_sign(negative),
        None => quotient.with_sign(negative),
    }
}

/// `v_div_fixup`.
pub(crate) struct DivFixup<T>(PhantomData<T>);
impl<T: Divide> Op3 for DivFixup<T> {
    type D = T;
    type A = T;
    type B = T;
    type C = T;
    #[inline(always)]
    fn f(_: Mode, quotient: T, denominator: T, numerator: T) -> T {
        fixup(quotient, denominator, numerator, |over| if over { T::INFINITY } else { T::ZERO })
    }
    #[inline]
    fn moded(m: Mode, quotient: T, denominator: T, numerator: T) -> T {
        let (quotient, denominator) = (quotient.flush(m, false), denominator.flush(m, false));
        let numerator = numerator.flush(m, false);
        let negative = denominator.is_negative() != numerator.is_negative();
        // Rounds a number that far out of range, as the mode says.
        let out_of_range = |over: bool| {
            let n = if over { 5000 } else { -5000 };
            T::of(soft::scale(T::FORMAT, T::rounding(m), T::ONE.with_sign(negative).bits(), n))
        };
        fixup(quotient, denominator, numerator, out_of_range).flush(m, true)
    }
}

/// `v_div_fixup_f16`.
pub(crate) struct DivFixupF16;
impl Op3 for DivFixupF16 {
    type D = Half;
    type A = Half;
    type B = Half;
    type C = Half;
    #[inline(always)]
    fn f(_: Mode, quotient: Half, denominator: Half, numerator: Half) -> Half {
        // Without branches, so that the loop over lanes vectorises. What comes later has precedence; compare [`special`].
        let sign = (denominator.0 ^ numerator.0) & 0x8000;
        let (below, above) = (denominator.0 & 0x7fff, numerator.0 & 0x7fff);
        let quiet = if quotient.is_nan() { 0x200 } else { 0 };
        let mut d = quotient.0 & 0x7fff | sign | quiet;
        d = if (below == 0x7c00) | (above == 0) { sign } else { d };
        d = if (below == 0) | (above == 0x7c00) { sign | 0x7c00 } else { d };
        let both = (below == above) & ((below == 0) | (below == 0x7c00));
        d = if both { 0xfe00 } else { d };
        d = if denominator.is_nan() { denominator.quiet().0 } else { d };
        Half(if numerator.is_nan() { numerator.quiet().0 } else { d })
    }
}
