//! VOPC: comparisons.

use std::marker::PhantomData;

use crate::exec::lanes::{OpCmp, Word};
use crate::exec::number::float::Float;
use crate::exec::number::half16::Half;
use crate::state::wave::Mode;

/// A value that can be compared.
pub(crate) trait Compare: Word {
    fn less(self, b: Self) -> bool;
    fn equal(self, b: Self) -> bool;
}

macro_rules! compare_integers {
    ($($ty:ty)*) => {$(
        impl Compare for $ty {
            #[inline(always)]
            fn less(self, b: Self) -> bool {
                self < b
            }
            #[inline(always)]
            fn equal(self, b: Self) -> bool {
                self == b
            }
        }
    )*};
}

compare_integers!(u16 i16 u32 i32 u64 i64 f32 f64);

impl Compare for Half {
    #[inline(always)]
    fn less(self, b: Self) -> bool {
        self.lt(b)
    }
    #[inline(always)]
    fn equal(self, b: Self) -> bool {
        self.eq(b)
    }
}

/// Declares comparisons of two values. With a NaN, comparisons are false, and negated ones are true.
macro_rules! comparisons {
    ($($(#[$doc:meta])* $name:ident: |$a:ident, $b:ident| $e:expr;)*) => {$(
        $(#[$doc])*
        pub(crate) struct $name<T>(PhantomData<T>);
        impl<T: Compare> OpCmp for $name<T> {
            type A = T;
            type B = T;
            #[inline(always)]
            fn f(_: Mode, $a: T, $b: T) -> bool {
                $e
            }
        }
    )*};
}

comparisons! {
    Lt: |a, b| a.less(b);
    Eq: |a, b| a.equal(b);
    Le: |a, b| a.less(b) | a.equal(b);
    Gt: |a, b| b.less(a);
    /// Less or greater.
    Lg: |a, b| a.less(b) | b.less(a);
    Ge: |a, b| b.less(a) | a.equal(b);
    /// Neither is a NaN.
    O: |a, b| a.equal(a) & b.equal(b);
    U: |a, b| !(a.equal(a) & b.equal(b));
    Nge: |a, b| !(b.less(a) | a.equal(b));
    Nlg: |a, b| !(a.less(b) | b.less(a));
    Ngt: |a, b| !b.less(a);
    Nle: |a, b| !(a.less(b) | a.equal(b));
    /// `v_cmp_neq`, which is `v_cmp_ne` for integers.
    Neq: |a, b| !a.equal(b);
    Nlt: |a, b| !a.less(b);
}

/// `v_cmp_f`, `v_cmp_tru`, `v_cmp_t`: the result is the same for all sources.
pub(crate) struct Always<const RESULT: bool>;
impl<const RESULT: bool> OpCmp for Always<RESULT> {
    type A = u32;
    type B = u32;
    #[inline(always)]
    fn f(_: Mode, _: u32, _: u32) -> bool {
        RESULT
    }
}

/// `v_cmp_class`: returns whether the value is in one of the classes of the mask. Its bits are, from bit 0 on:
/// signalling NaN, quiet NaN, -infinity, negative normal, negative denormal, -0, +0, positive denormal, positive
/// normal, +infinity.
pub(crate) struct Class<T>(PhantomData<T>);
impl<T: Float> OpCmp for Class<T> {
    type A = T;
    type B = u32;
    // LLVM uses this instruction for `llvm.is.fpclass`, whose result does not depend on the mode.
    const FLUSHES: bool = false;
    #[inline(always)]
    fn f(_: Mode, a: T, b: u32) -> bool {
        let fraction = T::FORMAT.precision - 1;
        let infinity = ((1u64 << T::FORMAT.exponent) - 1) << fraction;
        let magnitude = a.bits() & !(1 << (fraction + T::FORMAT.exponent));
        // 0 for zeros, 1 for denormals, 2 for normal numbers, 3 for infinities.
        let size = u32::from(magnitude != 0)
            + u32::from(magnitude >> fraction != 0)
            + u32::from(magnitude >= infinity);
        let number = if a.is_negative() { 5 - size } else { 6 + size };
        let nan = if a.is_signaling() { 0 } else { 1 };
        b >> (if a.is_nan() { nan } else { number }) & 1 != 0
    }
}

/// [`Class`] of f16. It has no branches, so that the loop over lanes vectorises.
pub(crate) struct ClassF16;
impl OpCmp for ClassF16 {
    type A = u32;
    type B = u32;
    #[inline(always)]
    fn f(_: Mode, a: u32, b: u32) -> bool {
        let magnitude = a & 0x7fff;
        let size = u32::from(magnitude != 0) + u32::from(magnitude >= 0x400) + u32::from(magnitude >= 0x7c00);
        let number = if a & 0x8000 != 0 { 5 - size } else { 6 + size };
        let class = if magnitude > 0x7c00 { a >> 9 & 1 } else { number };
        b >> class & 1 != 0
    }
}
