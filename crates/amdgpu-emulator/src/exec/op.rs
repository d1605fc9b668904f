//! Macros that declare lane operations (see `lanes.rs`).

/// Declares operations of one source: `Name: |m, a: A| -> D { expression }`, where `m` is the MODE register (or `_`). A
/// second expression, `=> { expression }`, is for other rounding or denormal modes than the default. Without it, the
/// first expression is used, and sources and result are flushed as the mode says. An expression after `; fast` is for
/// loops over lanes (`Op1::fast`).
macro_rules! ops1 {
    ($($(#[$doc:meta])* $name:ident: |$m:pat_param, $a:ident: $ta:ty| -> $td:ty $e:block $(=> $g:block)? $(; fast $x:block)?)*) => {$(
        $(#[$doc])*
        pub(crate) struct $name;
        impl crate::exec::lanes::Op1 for $name {
            type D = $td;
            type A = $ta;
            #[inline(always)]
            fn f($m: crate::state::wave::Mode, $a: $ta) -> $td $e
            $(fn moded($m: crate::state::wave::Mode, $a: $ta) -> $td $g)?
            $(
                #[inline(always)]
                fn fast(_: crate::state::wave::Mode, $a: $ta) -> ($td, u32) $x
            )?
        }
    )*};
}

/// Declares operations of two sources; see [`ops1`].
macro_rules! ops2 {
    ($($(#[$doc:meta])* $name:ident: |$m:pat_param, $a:ident: $ta:ty, $b:ident: $tb:ty| -> $td:ty $e:block
        $(=> $g:block)? $(; fast $x:block)?)*) => {$(
        $(#[$doc])*
        pub(crate) struct $name;
        impl crate::exec::lanes::Op2 for $name {
            type D = $td;
            type A = $ta;
            type B = $tb;
            #[inline(always)]
            fn f($m: crate::state::wave::Mode, $a: $ta, $b: $tb) -> $td $e
            $(fn moded($m: crate::state::wave::Mode, $a: $ta, $b: $tb) -> $td $g)?
            $(
                #[inline(always)]
                fn fast(_: crate::state::wave::Mode, $a: $ta, $b: $tb) -> ($td, u32) $x
            )?
        }
    )*};
}

/// Declares operations of three sources; see [`ops1`].
macro_rules! ops3 {
    ($($(#[$doc:meta])* $name:ident: |$m:pat_param, $a:ident: $ta:ty, $b:ident: $tb:ty, $c:ident: $tc:ty|
        -> $td:ty $e:block $(=> $g:block)? $(; fast $x:block)?)*) => {$(
        $(#[$doc])*
        pub(crate) struct $name;
        impl crate::exec::lanes::Op3 for $name {
            type D = $td;
            type A = $ta;
            type B = $tb;
            type C = $tc;
            #[inline(always)]
            fn f($m: crate::state::wave::Mode, $a: $ta, $b: $tb, $c: $tc) -> $td $e
            $(fn moded($m: crate::state::wave::Mode, $a: $ta, $b: $tb, $c: $tc) -> $td $g)?
            $(
                #[inline(always)]
                fn fast(_: crate::state::wave::Mode, $a: $ta, $b: $tb, $c: $tc) -> ($td, u32) $x
            )?
        }
    )*};
}

pub(crate) use {ops1, ops2, ops3};
