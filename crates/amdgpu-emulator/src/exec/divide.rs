//! The steps of a correctly rounded division that need their own instructions (CDNA2 ISA, `V_DIV_SCALE_F32` and so on).

use std::marker::PhantomData;

use crate::exec::inst::{Exec, ExecContext, Flow, Inst};
use crate::exec::lanes::{Op3, active_chunks, ones, set_lane};
use crate::exec::number::float::Float;
use crate::exec::number::half16::Half;
use crate::exec::number::soft;
use crate::exec::vectors::{AnyHost, Vectors};
use crate::state::wave::{CHUNK, LANES, Mode, Wave, lanes_of};

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
    /// 2 to the power of [`SCALE`](Self::SCALE), and its reciprocal.
    const SCALES: [Self; 2];
    fn is_zero(self) -> bool;
    fn is_infinite(self) -> bool;
    /// Returns the biased exponent of the encoding.
    fn field(self) -> i32;
    fn with_sign(self, negative: bool) -> Self;
    /// Returns whether `v_div_scale` doesn't scale these, nor set its flag. It is false for some others.
    fn is_unscaled(denominator: Self, numerator: Self) -> bool;
    /// Returns whether the quotient is neither special nor too small. It is false for some others.
    fn is_ordinary(denominator: Self, numerator: Self) -> bool;
}

macro_rules! divide {
    ($ty:ident, $bits:ident, $signed:ident, { $($constants:tt)* }) => {
        impl Divide for $ty {
            $($constants)*
            const SCALES: [$ty; 2] = {
                let one: $ty = 1.0;
                let steps = (Self::SCALE as $bits) << (Self::FORMAT.precision - 1);
                [$ty::from_bits(one.to_bits() + steps), $ty::from_bits(one.to_bits() - steps)]
            };
            #[inline(always)]
            fn is_zero(self) -> bool {
                self == 0.0
            }
            #[inline(always)]
            fn is_infinite(self) -> bool {
                self.abs() == $ty::INFINITY
            }
            #[inline(always)]
            fn field(self) -> i32 {
                (self.to_bits() >> (Self::FORMAT.precision - 1)) as i32 & ((1 << Self::FORMAT.exponent) - 1)
            }
            #[inline(always)]
            fn with_sign(self, negative: bool) -> $ty {
                self.copysign(if negative { -1.0 } else { 1.0 })
            }
            #[inline(always)]
            fn is_unscaled(denominator: $ty, numerator: $ty) -> bool {
                // Encodings that differ by less than this have exponents that differ by less than one more.
                const NEAR: $signed = (<$ty>::SCALED_DIFFERENCE as $signed - 1) * (1 << (<$ty>::FORMAT.precision - 1));
                // Returns whether an encoding's exponent is between two.
                let is_between = |v: $bits, first: i32, last: i32| {
                    let least = (first as $bits) << (Self::FORMAT.precision - 1);
                    v.wrapping_sub(least) < ((last - first + 1) as $bits) << (Self::FORMAT.precision - 1)
                };
                let (d, n) = (denominator.abs().to_bits(), numerator.abs().to_bits());
                let apart = n.wrapping_sub(d) as $signed;
                is_between(d, 1, Self::HUGE - 1)
                    & is_between(n, Self::TINY + 1, (1 << Self::FORMAT.exponent) - 2)
                    & (apart > -NEAR)
                    & (apart < NEAR)
            }
            #[inline(always)]
            fn is_ordinary(denominator: $ty, numerator: $ty) -> bool {
                const LEAST: $signed = (<$ty>::UNDERFLOW as $signed + 1) * (1 << (<$ty>::FORMAT.precision - 1));
                // Returns whether an encoding's exponent is between two.
                let is_between = |v: $bits, first: i32, last: i32| {
                    let least = (first as $bits) << (Self::FORMAT.precision - 1);
                    v.wrapping_sub(least) < ((last - first + 1) as $bits) << (Self::FORMAT.precision - 1)
                };
                let (d, n) = (denominator.abs().to_bits(), numerator.abs().to_bits());
                let last = (1 << Self::FORMAT.exponent) - 2;
                is_between(d, 1, last)
                    & is_between(n, 1, last)
                    & (n.wrapping_sub(d) as $signed > LEAST)
            }
        }
    };
}

divide!(f32, u32, i32, {
    const SCALED_DIFFERENCE: i32 = 96;
    const SCALE: i32 = 64;
    const TINY: i32 = 24;
    const HUGE: i32 = 253;
    const UNDERFLOW: i32 = -150;
    const INDEFINITE: f32 = f32::from_bits(0xffc0_0000);
});

divide!(f64, u64, i64, {
    const SCALED_DIFFERENCE: i32 = 768;
    const SCALE: i32 = 128;
    const TINY: i32 = 53;
    const HUGE: i32 = 2045;
    const UNDERFLOW: i32 = -1075;
    const INDEFINITE: f64 = f64::from_bits(0xfff8_0000_0000_0000);
});

/// `v_div_scale`: returns the first source, which is equal to the second (denominator) or the third (numerator), scaled
/// so that the following steps neither overflow nor lose bits. The flag tells `v_div_fmas` to scale the quotient back.
///
/// The conditions in the ISA documents give wrong quotients: if the quotient is tiny, they scale a huge denominator up,
/// to infinity. The conditions here depend on exponents alone. AMD measured them on gfx1100 and gfx1201 (`division.h`
/// of rocjitsu in ROCm's rocm-systems); the documents of these describe the instruction in the same words. So does the flag of zeros,
/// which they have as never set, and that denormals are flushed first, as tinygrad's tests on RDNA3 find too (`test/amd/hw`).
pub(crate) struct DivScale<T>(PhantomData<T>);
impl<T: Divide> OpFlag for DivScale<T> {
    type D = T;
    type A = T;
    type C = T;
    const FLUSHES: bool = true;
    #[inline(always)]
    fn f(value: T, denominator: T, numerator: T) -> (T, u32) {
        // All conditions are computed, so that the compiler vectorises the loop over lanes.
        let is_denominator = value.eq(denominator);
        let exponents = numerator.field() - denominator.field();
        let (large, small) = (exponents >= T::SCALED_DIFFERENCE, exponents <= -T::SCALED_DIFFERENCE);
        let (denormal, huge) = (denominator.field() == 0, denominator.field() >= T::HUGE);
        // Of a huge denominator, the quotient becomes larger, so that it is rounded only once, when `v_div_fmas` makes
        // it a denormal.
        let down = !large & !denormal & huge & (is_denominator | !small);
        let up = (large & is_denominator)
            | (!large & denormal)
            | (!large & !denormal & !huge & small & !is_denominator)
            | (!large & !denormal & !huge & !small & (numerator.field() <= T::TINY));
        let flag = large | (!denormal & small);
        let factor = if down { T::SCALES[1] } else { T::ONE };
        let scaled = value.mul(if up { T::SCALES[0] } else { factor });
        let value = if value.is_nan() { value.quiet() } else { scaled };
        let indefinite = denominator.is_zero() | numerator.is_zero();
        (if indefinite { T::INDEFINITE.negate() } else { value }, ones(flag))
    }
    #[inline(always)]
    fn fast(value: T, denominator: T, numerator: T) -> (T, u32, u32) {
        (value, 0, u32::from(value.is_nan() | !T::is_unscaled(denominator, numerator)))
    }
}

/// `v_div_fmas`: computes a fused multiply-add. In lanes whose VCC bit is set, the result is scaled back: up for large
/// quotients, down for small ones. It is rounded once. Denormal sources are kept in every mode, as remainders may be
/// denormal.
pub(crate) struct DivFmas<T>(PhantomData<T>);
impl<T: Divide> Exec for DivFmas<T> {
    #[inline(always)]
    fn exec(w: &mut Wave, cx: &mut ExecContext, i: &Inst) -> Flow {
        Self::exec_with::<AnyHost>(w, cx, i)
    }

    #[inline(always)]
    fn exec_with<V: Vectors>(w: &mut Wave, _: &mut ExecContext, i: &Inst) -> Flow {
        let scaled = w.vcc() & w.exec();
        // The lanes that the host's instructions don't compute.
        let apart = if w.mode.is_default_float() { scaled } else { w.exec() };
        if apart == 0 {
            fused::<T, V>(w, i);
            return Flow::Next;
        }
        let mut results = [T::ZERO; LANES];
        for l in lanes_of(apart) {
            results[l] = fused_scaled(w, i, l, scaled >> l & 1 != 0);
        }
        if w.exec() & !apart != 0 {
            fused::<T, V>(w, i);
        }
        for l in lanes_of(apart) {
            set_lane(&mut w.r, i.dst, l, results[l]);
        }
        Flow::Next
    }
}

/// Computes fused multiply-adds in the default mode.
#[inline(always)]
fn fused<T: Divide, V: Vectors>(w: &mut Wave, i: &Inst) {
    active_chunks!(w, MASKED, r, mask, c => {
        let a: [T; CHUNK] = V::load(r, i.src[0], c, T::WIDE);
        let b: [T; CHUNK] = V::load(r, i.src[1], c, T::WIDE);
        let e: [T; CHUNK] = V::load(r, i.src[2], c, T::WIDE);
        let mut d = [T::ZERO; CHUNK];
        for j in 0..CHUNK {
            d[j] = a[j].fma(b[j], e[j]);
        }
        V::store::<_, MASKED>(r, mask, i.dst, c, &d, T::WIDE);
    });
}

/// Computes one lane's fused multiply-add in any mode, and scales it back if it is `scaled`.
fn fused_scaled<T: Divide>(w: &Wave, i: &Inst, l: usize, scaled: bool) -> T {
    let m = w.mode;
    let source = |n: usize| crate::exec::lanes::lane::<T>(&w.r, i.src[n], false, l);
    let (a, b, c) = (source(0), source(1), source(2));
    let one = (1 << (T::FORMAT.exponent - 1)) - 1;
    let power = if c.field() > one { T::SCALE } else { -T::SCALE };
    let n = if scaled { power } else { 0 };
    T::of(soft::fma_scaled(T::FORMAT, T::rounding(m), a.bits(), b.bits(), c.bits(), n)).flush(m, true)
}

/// Returns the final quotient. What comes later in the function has precedence: special operands (zeros, infinities and
/// NaNs) decide alone. For a quotient that is out of the format's range it is one of `out_of_range`: the first if it is too small, the second if it is too large. Otherwise it
/// is `quotient` with the right sign.
///
/// If the operands are not special, an infinite quotient has overflowed, and a NaN comes from infinite intermediate
/// results. All conditions are computed, so that the compiler vectorises the loop over lanes.
#[inline(always)]
fn fixup<T: Divide>(quotient: T, denominator: T, numerator: T, out_of_range: [T; 2]) -> T {
    let zero = [denominator.is_zero(), numerator.is_zero()];
    let infinite = [denominator.is_infinite(), numerator.is_infinite()];
    let negative = denominator.is_negative() != numerator.is_negative();
    let d = if quotient.is_nan() | quotient.is_infinite() { out_of_range[1] } else { quotient };
    let d = if numerator.field() - denominator.field() < T::UNDERFLOW { out_of_range[0] } else { d };
    let d = if infinite[0] | zero[1] { T::ZERO } else { d };
    let d = if zero[0] | infinite[1] { T::INFINITY } else { d };
    let d = d.with_sign(negative);
    let d = if (zero[0] & zero[1]) | (infinite[0] & infinite[1]) { T::INDEFINITE } else { d };
    let d = if denominator.is_nan() { denominator.quiet() } else { d };
    if numerator.is_nan() { numerator.quiet() } else { d }
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
        fixup(quotient, denominator, numerator, [T::ZERO, T::INFINITY])
    }
    #[inline(always)]
    fn fast(_: Mode, quotient: T, denominator: T, numerator: T) -> (T, u32) {
        let d = quotient.with_sign(denominator.is_negative() != numerator.is_negative());
        let is_number = !quotient.is_nan() & !quotient.is_infinite();
        (d, u32::from(!is_number | !T::is_ordinary(denominator, numerator)))
    }
    #[inline]
    fn moded(m: Mode, quotient: T, denominator: T, numerator: T) -> T {
        let (quotient, denominator) = (quotient.flush(m, false), denominator.flush(m, false));
        let numerator = numerator.flush(m, false);
        let negative = denominator.is_negative() != numerator.is_negative();
        // Rounds numbers that far out of range, as the mode says.
        let out_of_range = [-5000, 5000]
            .map(|n| T::of(soft::scale(T::FORMAT, T::rounding(m), T::ONE.with_sign(negative).bits(), n)));
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
        // Without branches, so that the loop over lanes vectorises. What comes later has precedence, as in [`fixup`].
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
