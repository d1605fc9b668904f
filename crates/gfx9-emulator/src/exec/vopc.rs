//! VOPC: comparisons.

use std::marker::PhantomData;

use crate::lanes::{OpCmp, Word};
use crate::wave::Mode;

/// An ordered comparison of two values of a type: false if either is NaN.
pub(crate) struct Lt<T>(PhantomData<T>);
impl<T: Word + PartialOrd> OpCmp for Lt<T> {
    type A = T;
    type B = T;
    #[inline(always)]
    fn f(_: Mode, a: T, b: T) -> bool {
        a < b
    }
}
