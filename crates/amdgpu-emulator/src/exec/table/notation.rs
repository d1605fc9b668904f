//! The executors of an instruction ([`Impl`]), and short functions that return them.
//!
//! The name of a function says how many copies of an executor are compiled, by how often compilers use the instruction:
//!
//! | function | for | copies |
//! |---|---|---|
//! | `one` | scalar and memory instructions | one for all SIMD levels |
//! | `narrow` | memory instructions of inner loops | also one for AVX2 |
//! | `plain` | what has a loop over lanes, but is no lane operation | one for each SIMD level |
//! | `rare1`, `rare2`, ... | lane operations of that many sources, seldom used | one for AVX2 and any operands, a small one |
//! | `half`, `packed_half` | operations on f16, with the host's conversions | as `rare`; it applies the signs of sources |
//! | `op1`, `op2`, ... | lane operations | forms for vectors, and for a scalar first source |
//! | `hot1`, `hot2`, ... | lane operations of inner loops | also forms for other scalar sources, and for AVX-512 |
//! | `signed2`, `signed3` | as `hot`, of floats | also one that applies the signs of sources |
//! | `sat2`, `hot_sat3`, ... | integer operations that saturate | also one with the clamp bit |

use crate::exec::carry::{FormsCarry, FormsFlag, OpCarry, OpFlag};
use crate::exec::halves::{HalfForms, HalfOp, PackedHalves};
use crate::exec::inst::Exec;
use crate::exec::lanes::{Forms, Forms1, Forms2, Forms3, FormsCmp, Op1, Op2, Op3, OpCmp};
use crate::exec::level::{self, Columns, columns, same};
use crate::exec::packed::{Halves, Packed};

/// The executors of an instruction.
#[derive(Clone, Copy)]
pub(crate) enum Impl {
    /// The instruction is not implemented: it faults, and the report names the mnemonic.
    Unimplemented,
    /// Uses the operands as the encoding has them.
    Plain(Columns),
    /// A lane operation: see [`Forms`]. Modifiers, SDWA and DPP are applied around it.
    Lanes {
        forms: Forms,
        /// The forms with the clamp bit, of integer instructions that saturate.
        clamp: Option<Forms>,
        /// The executor for any operands whose only modifiers are the signs of sources.
        signs: Option<Columns>,
    },
}

/// For instructions that are not lane operations but have a loop over lanes that is worth vectorising.
pub(super) const fn plain<X: Exec>() -> Impl {
    Impl::Plain(columns::<X>())
}

/// For memory instructions of inner loops: has a copy for AVX2, but none for wider vectors.
pub(super) const fn narrow<X: Exec>() -> Impl {
    Impl::Plain(level::narrow::<X>())
}

/// For scalar and memory instructions: has one copy for all levels.
pub(super) const fn one<X: Exec>() -> Impl {
    Impl::Plain(same::<X>())
}

/// For packed operations on f16.
pub(super) const fn packed_half<P: Packed, O: HalfOp>() -> Impl {
    Impl::Plain(level::with_f16c::<Halves<P>, PackedHalves<P, O>>())
}

/// For lane operations.
pub(super) const fn lanes(forms: Forms) -> Impl {
    Impl::Lanes { forms, clamp: None, signs: None }
}

/// For lane operations that have other forms with the clamp bit.
pub(super) const fn lanes_sat(forms: Forms, clamp: Forms) -> Impl {
    Impl::Lanes { forms, clamp: Some(clamp), signs: None }
}

/// Declares functions that return the executors of a lane operation `O`, and of `C`, the one with the clamp bit.
macro_rules! of_operations {
    ($($(#[$doc:meta])* $name:ident<$O:ident: $Op:ident $(, $C:ident: $Clamped:ident)?> => $executors:expr;)*) => {$(
        $(#[$doc])*
        pub(super) const fn $name<$O: $Op $(, $C: $Clamped)?>() -> Impl {
            $executors
        }
    )*};
}

of_operations! {
    op1<O: Op1> => lanes(Forms1::<O>::F);
    hot1<O: Op1> => lanes(Forms1::<O>::HOT);
    rare1<O: Op1> => lanes(Forms1::<O>::RARE);
    op2<O: Op2> => lanes(Forms2::<O>::F);
    hot2<O: Op2> => lanes(Forms2::<O>::HOT);
    /// For float instructions whose sources often have sign modifiers.
    signed2<O: Op2> => Impl::Lanes { forms: Forms2::<O>::HOT, clamp: None, signs: Some(Forms2::<O>::SIGNS) };
    rare2<O: Op2> => lanes(Forms2::<O>::RARE);
    sat2<O: Op2, C: Op2> => lanes_sat(Forms2::<O>::F, Forms2::<C>::RARE);
    hot_sat2<O: Op2, C: Op2> => lanes_sat(Forms2::<O>::HOT, Forms2::<C>::RARE);
    op3<O: Op3> => lanes(Forms3::<O>::F);
    hot3<O: Op3> => lanes(Forms3::<O>::HOT);
    /// For float instructions whose sources often have sign modifiers.
    signed3<O: Op3> => Impl::Lanes { forms: Forms3::<O>::HOT, clamp: None, signs: Some(Forms3::<O>::SIGNS) };
    rare3<O: Op3> => lanes(Forms3::<O>::RARE);
    sat3<O: Op3, C: Op3> => lanes_sat(Forms3::<O>::F, Forms3::<C>::RARE);
    hot_sat3<O: Op3, C: Op3> => lanes_sat(Forms3::<O>::HOT, Forms3::<C>::RARE);
    rare_sat3<O: Op3, C: Op3> => lanes_sat(Forms3::<O>::RARE, Forms3::<C>::RARE);
    half<O: HalfOp> => Impl::Lanes { forms: HalfForms::<O>::FORMS, clamp: None, signs: Some(HalfForms::<O>::ANY) };
    cmp<O: OpCmp> => lanes(FormsCmp::<O, false>::F);
    hot_cmp<O: OpCmp> => lanes(FormsCmp::<O, false>::HOT);
    rare_cmp<O: OpCmp> => lanes(FormsCmp::<O, false>::RARE);
    rare_cmpx<O: OpCmp> => lanes(FormsCmp::<O, true>::RARE);
    /// For additions and subtractions that return a carry.
    carry<O: OpCarry> => lanes_sat(FormsCarry::<O>::F, FormsCarry::<O>::CLAMP);
    /// For lane operations that also return a flag.
    flag<O: OpFlag> => lanes(FormsFlag::<O>::RARE);
}
