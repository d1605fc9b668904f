//! Executes the lane operations of `lanes.rs` on scalars: the float instructions of the SALU, which gfx11.5 introduced.
//!
//! They compute what the vector instructions of the same name do, in the mode of the wave (RDNA3.5 ISA, "Scalar ALU
//! operations", "Floating-point arithmetic"). A result of 16 bits clears the high half of its register.

use std::marker::PhantomData;

use amdgpu_isa::fields;

use crate::exec::inst::{Exec, ExecContext, Flow, Inst};
use crate::exec::lanes::{Op1, Op2, Op3, OpCmp, Word, scalar};
use crate::exec::modifiers::limit_values;
use crate::exec::number::float::Float;
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

/// The modifiers of [`ScalarTrans`], in [`Inst::imm`].
#[derive(Clone, Copy)]
pub(crate) struct ScalarModifiers(u32);

impl ScalarModifiers {
    pub(crate) const fn of(f: &fields::Vop3) -> ScalarModifiers {
        ScalarModifiers(
            f.abs & 1 | (f.neg & 1) << 1 | (f.op_sel & 1) << 2 | (f.clamp as u32) << 3 | f.omod << 4,
        )
    }

    pub(crate) const fn bits(self) -> u32 {
        self.0
    }

    const fn bit(self, n: u32) -> u32 {
        self.0 >> n & 1
    }
}

/// `v_s_exp_f32` and similar instructions of gfx12: a transcendental operation of the VALU on one scalar, with the modifiers of VOP3
/// (RDNA4 ISA, "Pseudo-scalar transcendentals").
pub(crate) struct ScalarTrans<O>(PhantomData<O>);
impl<T: Float, O: Op1<A = T, D = T>> Exec for ScalarTrans<O> {
    #[inline(always)]
    fn exec(w: &mut Wave, _: &mut ExecContext, i: &Inst) -> Flow {
        let (m, modifiers) = (w.mode, ScalarModifiers(i.imm));
        let a =
            T::new(w.s32(i.src[0]) >> (16 * modifiers.bit(2)), 0).signed(modifiers.bit(0), modifiers.bit(1));
        let mut d = [if m.is_default_float() { O::f(m, a) } else { O::moded(m, a) }];
        limit_values(m, (i.imm >> 4) as u8, modifiers.bit(3) != 0, &mut d);
        w.set_s32(i.dst, d[0].lo());
        Flow::Next
    }
}
