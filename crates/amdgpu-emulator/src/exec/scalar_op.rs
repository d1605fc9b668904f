//! Executes the lane operations of `lanes.rs` on scalars: the float instructions of the SALU, which gfx11.5 introduced.
//!
//! They compute what the vector instructions of the same name do, in the mode of the wave (RDNA3.5 ISA, "Scalar ALU
//! operations", "Floating-point arithmetic"). A result of 16 bits clears the high half of its register.

use std::marker::PhantomData;

use crate::exec::inst::{Exec, ExecContext, Flow, Inst};
use crate::exec::lanes::{Op1, Op2, Op3, OpCmp, Word, scalar};
use crate::state::wave::Wave;

/// Declares the executor of lane operations with a number of sources; a source is given by its number and the name of its value.
macro_rules! scalar_operations {
    ($($(#[$doc:meta])* $Scalar:ident, $Op:ident: $($n:literal $v:ident),*;)*) => {$(
        $(#[$doc])*
        pub(crate) struct $Scalar<O>(PhantomData<O>);
        impl<O: $Op> Exec for $Scalar<O> {
            #[inline(always)]
            fn exec(w: &mut Wave, _: &mut ExecContext, i: &Inst) -> Flow {
                let m = w.mode;
                $(let $v = scalar(&w.r, i.src[$n]);)*
                let d = if O::FLOAT && !m.is_default_float() { O::moded(m, $($v),*) } else { O::f(m, $($v),*) };
                w.set_s32(i.dst, d.lo());
                Flow::Next
            }
        }
    )*};
}

scalar_operations! {
    Scalar1, Op1: 0 a;
    Scalar2, Op2: 0 a, 1 b;
    /// Decoding makes the destination of `s_fmac` the third source, as that of `v_fmac`.
    Scalar3, Op3: 0 a, 1 b, 2 c;
}

/// Executes a comparison. Its result is SCC.
pub(crate) struct ScalarCmp<O>(PhantomData<O>);
impl<O: OpCmp> Exec for ScalarCmp<O> {
    #[inline(always)]
    fn exec(w: &mut Wave, _: &mut ExecContext, i: &Inst) -> Flow {
        let m = w.mode;
        let (a, b): (O::A, O::B) = (scalar(&w.r, i.src[0]), scalar(&w.r, i.src[1]));
        let scc = O::f(m, a.flush(m, false), b.flush(m, false));
        w.set_scc(scc);
        Flow::Next
    }
}

/// `s_cvt_hi_f32_f16`: an operation on the high half of the source.
pub(crate) struct ScalarHigh<O>(PhantomData<O>);
impl<O: Op1> Exec for ScalarHigh<O> {
    #[inline(always)]
    fn exec(w: &mut Wave, _: &mut ExecContext, i: &Inst) -> Flow {
        let m = w.mode;
        let a = O::A::new(w.s32(i.src[0]) >> 16, 0);
        let d = if O::FLOAT && !m.is_default_float() { O::moded(m, a) } else { O::f(m, a) };
        w.set_s32(i.dst, d.lo());
        Flow::Next
    }
}
