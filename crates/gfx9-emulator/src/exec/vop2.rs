//! VOP2: two sources.

use crate::lanes::{Op2, Op3};
use crate::wave::Mode;

/// Declares lane operations: `Name: (a: A, b: B) -> D = expression;`. `m` is the mode.
macro_rules! ops2 {
    ($($(#[$doc:meta])* $name:ident: |$m:pat_param, $a:ident: $ta:ty, $b:ident: $tb:ty| -> $td:ty { $e:expr })*) => {$(
        $(#[$doc])*
        pub(crate) struct $name;
        impl Op2 for $name {
            type D = $td;
            type A = $ta;
            type B = $tb;
            #[inline(always)]
            fn f($m: Mode, $a: $ta, $b: $tb) -> $td {
                $e
            }
        }
    )*};
}

ops2! {
    AddU32: |_, a: u32, b: u32| -> u32 { a.wrapping_add(b) }
    /// With the clamp bit.
    AddU32Clamp: |_, a: u32, b: u32| -> u32 { a.saturating_add(b) }
    AddF32: |_, a: f32, b: f32| -> f32 { a + b }
    MulF32: |_, a: f32, b: f32| -> f32 { a * b }
    LshlrevB32: |_, a: u32, b: u32| -> u32 { b << (a & 31) }
}

/// `v_fmac_f32`; the destination is the third source.
pub(crate) struct FmacF32;
impl Op3 for FmacF32 {
    type D = f32;
    type A = f32;
    type B = f32;
    type C = f32;
    #[inline(always)]
    fn f(_: Mode, a: f32, b: f32, c: f32) -> f32 {
        a.mul_add(b, c)
    }
}
