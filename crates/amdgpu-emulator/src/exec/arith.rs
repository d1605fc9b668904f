//! Floating-point arithmetic, the same for f16, f32 and f64.

use std::marker::PhantomData;

use crate::exec::lanes::{Op1, Op2, Op3, Word};
use crate::exec::number::float::{self, Float};
use crate::exec::number::half16::Half;
use crate::state::wave::Mode;

use super::op::{ops2, ops3};

/// Declares operations of two sources for any [`Float`].
macro_rules! generic2 {
    ($($(#[$doc:meta])* $name:ident: |$m:pat_param, $a:ident, $b:ident| $e:block $(=> $g:block)? $(; fast $x:block)?)*) => {$(
        $(#[$doc])*
        pub(crate) struct $name<T>(PhantomData<T>);
        impl<T: Float> Op2 for $name<T> {
            type D = T;
            type A = T;
            type B = T;
            #[inline(always)]
            fn f($m: Mode, $a: T, $b: T) -> T $e
            $(fn moded(m: Mode, $a: T, $b: T) -> T {
                let ($m, $a, $b) = (m, $a.flush(m, false), $b.flush(m, false));
                let d: T = $g;
                d.flush(m, true)
            })?
            $(
                #[inline(always)]
                fn fast(_: Mode, $a: T, $b: T) -> (T, u32) $x
            )?
        }
    )*};
}

generic2! {
    Add: |m, a, b| { let _ = m; a.add(b) } => { a.add_in(m, b) }
    Sub: |m, a, b| { let _ = m; a.sub(b) } => { a.add_in(m, b.negate()) }
    Subrev: |m, a, b| { let _ = m; b.sub(a) } => { b.add_in(m, a.negate()) }
    Mul: |m, a, b| { let _ = m; a.mul(b) } => { a.mul_in(m, b) }
    Min: |m, a, b| { float::min(m, a, b) }; fast { (a.lesser(b), u32::from(a.is_nan() | b.is_nan())) }
    Max: |m, a, b| { float::max(m, a, b) }; fast { (a.greater(b), u32::from(a.is_nan() | b.is_nan())) }
    Minimum: |_, a, b| { float::minimum(a, b) }
    Maximum: |_, a, b| { float::maximum(a, b) }
}

/// A minimum, maximum or median of gfx11: MODE decides about denormals of its sources, and none about those of its result (RDNA3 ISA,
/// notes of `V_MIN_F32`).
pub(crate) struct Kept<O>(PhantomData<O>);

impl<T: Float, O: Op2<D = T, A = T, B = T>> Op2 for Kept<O> {
    type D = T;
    type A = T;
    type B = T;
    #[inline(always)]
    fn f(m: Mode, a: T, b: T) -> T {
        O::f(m, a, b)
    }
    #[inline(always)]
    fn fast(m: Mode, a: T, b: T) -> (T, u32) {
        O::fast(m, a, b)
    }
    fn moded(m: Mode, a: T, b: T) -> T {
        O::f(m, a.flush(m, false), b.flush(m, false))
    }
}

impl<T: Float, O: Op3<D = T, A = T, B = T, C = T>> Op3 for Kept<O> {
    type D = T;
    type A = T;
    type B = T;
    type C = T;
    #[inline(always)]
    fn f(m: Mode, a: T, b: T, c: T) -> T {
        O::f(m, a, b, c)
    }
    #[inline(always)]
    fn fast(m: Mode, a: T, b: T, c: T) -> (T, u32) {
        O::fast(m, a, b, c)
    }
    fn moded(m: Mode, a: T, b: T, c: T) -> T {
        O::f(m, a.flush(m, false), b.flush(m, false), c.flush(m, false))
    }
}

/// Declares operations of three sources for any [`Float`].
macro_rules! generic3 {
    ($($(#[$doc:meta])* $name:ident: |$m:pat_param, $a:ident, $b:ident, $c:ident| $e:block $(=> $g:block)?
        $(; fast $x:block)?)*) => {$(
        $(#[$doc])*
        pub(crate) struct $name<T>(PhantomData<T>);
        impl<T: Float> Op3 for $name<T> {
            type D = T;
            type A = T;
            type B = T;
            type C = T;
            #[inline(always)]
            fn f($m: Mode, $a: T, $b: T, $c: T) -> T $e
            $(fn moded(m: Mode, $a: T, $b: T, $c: T) -> T {
                let ($m, $a, $b, $c) = (m, $a.flush(m, false), $b.flush(m, false), $c.flush(m, false));
                let d: T = $g;
                d.flush(m, true)
            })?
            $(
                #[inline(always)]
                fn fast(_: Mode, $a: T, $b: T, $c: T) -> (T, u32) $x
            )?
        }
    )*};
}

generic3! {
    /// `v_fma`, `v_fmac` (the destination is the third source), `v_fmaak`, `v_fmamk`.
    Fma: |m, a, b, c| { let _ = m; a.fma(b, c) } => { a.fma_in(m, b, c) }
    Min3: |m, a, b, c| { float::min(m, float::min(m, a, b), c) }; fast {
        (a.lesser(b).lesser(c), u32::from(a.is_nan() | b.is_nan() | c.is_nan()))
    }
    Max3: |m, a, b, c| { float::max(m, float::max(m, a, b), c) }; fast {
        (a.greater(b).greater(c), u32::from(a.is_nan() | b.is_nan() | c.is_nan()))
    }
    /// The greater of the first two numbers, or the third if that is less.
    MaxMin: |m, a, b, c| { float::min(m, float::max(m, a, b), c) }; fast {
        (a.greater(b).lesser(c), u32::from(a.is_nan() | b.is_nan() | c.is_nan()))
    }
    MinMax: |m, a, b, c| { float::max(m, float::min(m, a, b), c) }; fast {
        (a.lesser(b).greater(c), u32::from(a.is_nan() | b.is_nan() | c.is_nan()))
    }
    Minimum3: |_, a, b, c| { float::minimum(float::minimum(a, b), c) }
    Maximum3: |_, a, b, c| { float::maximum(float::maximum(a, b), c) }
    MinimumMaximum: |_, a, b, c| { float::maximum(float::minimum(a, b), c) }
    MaximumMinimum: |_, a, b, c| { float::minimum(float::maximum(a, b), c) }
    Med3: |m, a, b, c| {
        // The greatest is removed; the result is the greater of the other two (CDNA2 ISA, `V_MED3_F32`).
        let most = float::max(m, float::max(m, a, b), c);
        let (p, q) = if most.eq(a) { (b, c) } else if most.eq(b) { (a, c) } else { (a, b) };
        let nan = a.is_nan() || b.is_nan() || c.is_nan();
        let low = float::min(m, float::min(m, a, b), c);
        if nan { low } else { float::max(m, p, q) }
    }; fast {
        let most = a.greater(b).greater(c);
        let (first, second) = (most.eq(a), most.eq(b));
        let p = if first { b } else { a };
        let q = if first | second { c } else { b };
        (p.greater(q), u32::from(a.is_nan() | b.is_nan() | c.is_nan()))
    }
    /// `v_mad_f16`, `v_mac_f16`: the product is rounded, then the sum.
    Mad: |m, a, b, c| { let _ = m; a.mul(b).add(c) } => { a.mul_in(m, b).flush(m, true).add_in(m, c) }
}

/// `v_mad_f32`, `v_mac_f32`: the product is rounded, then the sum. Denormals are flushed in every mode (LLVM,
/// `SITargetLowering::isFMADLegal`).
#[inline(always)]
fn mad_f32(a: f32, b: f32, c: f32) -> f32 {
    let zero = |x: f32| if x.abs() < f32::MIN_POSITIVE { 0f32.copysign(x) } else { x };
    zero(zero(zero(a) * zero(b)) + zero(c))
}

/// Computes [`mad_f32`] with the rounding of a mode.
fn mad_f32_in(m: Mode, a: f32, b: f32, c: f32) -> f32 {
    let m = Mode(m.0 & !0x30);
    let product = a.flush(m, false).mul_in(m, b.flush(m, false)).flush(m, true);
    product.add_in(m, c.flush(m, false)).flush(m, true)
}

/// Returns whether a number is zero or denormal.
#[inline(always)]
fn is_small(x: f32) -> bool {
    x.abs() < f32::MIN_POSITIVE
}

/// Returns the condition of `v_mullit_f32`. Comparisons with a NaN are false.
#[inline(always)]
fn has_no_light(b: f32, c: f32) -> bool {
    !((b > f32::MIN) & (c > 0.0))
}

ops3! {
    /// Computes [`mad_f32`].
    MadF32: |m, a: f32, b: f32, c: f32| -> f32 { let _ = m; mad_f32(a, b, c) } => { mad_f32_in(m, a, b, c) }
    /// Multiplies and adds. A zero or denormal times anything, even infinity or NaN, is zero.
    MadLegacyF32: |m, a: f32, b: f32, c: f32| -> f32 {
        let _ = m;
        let small = is_small(a) | is_small(b);
        mad_f32(if small { 0.0 } else { a }, if small { 0.0 } else { b }, c)
    } => {
        let (p, q) = if is_small(a) || is_small(b) { (0.0, 0.0) } else { (a, b) };
        mad_f32_in(m, p, q, c)
    }
    /// Multiplies and adds, rounding once. Zero times anything, even infinity or NaN, is zero; the result is then the third source.
    FmaDx9ZeroF32: |m, a: f32, b: f32, c: f32| -> f32 {
        let _ = m;
        if (a == 0.0) | (b == 0.0) { c } else { a.fma(b, c) }
    } => {
        let (a, b, c) = (a.flush(m, false), b.flush(m, false), c.flush(m, false));
        if a == 0.0 || b == 0.0 { c.flush(m, true) } else { a.fma_in(m, b, c).flush(m, true) }
    }
    /// Multiplies the first two sources, unless the second is the least number, less or NaN, or the third is not positive: then the
    /// result is the least number (RDNA3 ISA, `V_MULLIT_F32`).
    MullitF32: |m, a: f32, b: f32, c: f32| -> f32 {
        let _ = m;
        if has_no_light(b, c) { f32::MIN } else { a * b }
    } => {
        let (a, b, c) = (a.flush(m, false), b.flush(m, false), c.flush(m, false));
        if has_no_light(b, c) { f32::MIN } else { a.mul_in(m, b).flush(m, true) }
    }
}

ops2! {
    /// Multiplies. Zero times anything, even infinity or NaN, is zero.
    MulLegacyF32: |m, a: f32, b: f32| -> f32 {
        let _ = m;
        if (a == 0.0) | (b == 0.0) { 0.0 } else { a * b }
    } => {
        let (a, b) = (a.flush(m, false), b.flush(m, false));
        if a == 0.0 || b == 0.0 { 0.0 } else { a.mul_in(m, b).flush(m, true) }
    }
}

/// Declares operations of one source for any [`Float`].
macro_rules! generic1 {
    ($($(#[$doc:meta])* $name:ident: |$m:pat_param, $a:ident| $e:block $(=> $g:block)?)*) => {$(
        $(#[$doc])*
        pub(crate) struct $name<T>(PhantomData<T>);
        impl<T: Float> Op1 for $name<T> {
            type D = T;
            type A = T;
            #[inline(always)]
            fn f($m: Mode, $a: T) -> T $e
            $(fn moded(m: Mode, $a: T) -> T {
                let ($m, $a) = (m, $a.flush(m, false));
                let d: T = $g;
                d.flush(m, true)
            })?
        }
    )*};
}

generic1! {
    Floor: |_, a| { a.floor() }
    Ceil: |_, a| { a.ceil() }
    Trunc: |_, a| { a.trunc() }
    Rndne: |_, a| { a.rndne() }
    /// The fraction. It is never 1, to which the difference for a tiny negative number would round.
    Fract: |m, a| {
        let _ = m;
        let d = a.sub(a.floor());
        if T::BELOW_ONE.lt(d) { T::BELOW_ONE } else { d }
    } => {
        let d = a.add_in(m, a.floor().negate());
        let d = if T::BELOW_ONE.lt(d) { T::BELOW_ONE } else { d };
        // The difference of equal numbers is -0 when rounding down; the fraction is +0.
        if d.eq(T::ZERO) { T::ZERO } else { d }
    }
}

/// `v_pk_fmac_f16`.
pub(crate) struct PkFmacF16;
impl Op3 for PkFmacF16 {
    type D = u32;
    type A = u32;
    type B = u32;
    type C = u32;
    const FLOAT: bool = true;
    #[inline(always)]
    fn f(_: Mode, a: u32, b: u32, c: u32) -> u32 {
        let part = |v: u32, n: u32| Half((v >> (16 * n)) as u16);
        let fma = |n| u32::from(part(a, n).fma(part(b, n), part(c, n)).0);
        fma(0) | fma(1) << 16
    }
    fn moded(m: Mode, a: u32, b: u32, c: u32) -> u32 {
        let part = |v: u32, n: u32| Half((v >> (16 * n)) as u16).flush(m, false);
        let fma = |n| u32::from(part(a, n).fma_in(m, part(b, n), part(c, n)).flush(m, true).0);
        fma(0) | fma(1) << 16
    }
}
