//! The executors of an instruction ([`Impl`]), and short functions that return them.

use crate::exec::carry::{FormsCarry, FormsFlag, OpCarry, OpFlag};
use crate::exec::inst::Exec;
use crate::exec::lanes::{Forms, Forms1, Forms2, Forms3, FormsCmp, Op1, Op2, Op3, OpCmp};
use crate::exec::level::{self, Columns, columns, same};

/// The executors of an instruction.
#[derive(Clone, Copy)]
pub(crate) enum Impl {
    /// The instruction is not implemented: it faults, and the report names the mnemonic.
    No,
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

/// For lane operations.
pub(super) const fn lanes(forms: Forms) -> Impl {
    Impl::Lanes { forms, clamp: None, signs: None }
}

/// For lane operations that have other forms with the clamp bit.
pub(super) const fn lanes_sat(forms: Forms, clamp: Forms) -> Impl {
    Impl::Lanes { forms, clamp: Some(clamp), signs: None }
}

// For lane operations. `op`: forms for vectors and for a scalar first source. `hot`: also forms for scalars in other
// sources, and a copy for AVX-512. `rare`: one executor for all. `sat`: the second operation is the one with the clamp
// bit.

pub(super) const fn op1<O: Op1>() -> Impl {
    lanes(Forms1::<O>::F)
}

pub(super) const fn hot1<O: Op1>() -> Impl {
    lanes(Forms1::<O>::HOT)
}

pub(super) const fn rare1<O: Op1>() -> Impl {
    lanes(Forms1::<O>::RARE)
}

pub(super) const fn op2<O: Op2>() -> Impl {
    lanes(Forms2::<O>::F)
}

pub(super) const fn hot2<O: Op2>() -> Impl {
    lanes(Forms2::<O>::HOT)
}

/// For float instructions whose sources often have sign modifiers.
pub(super) const fn signed2<O: Op2>() -> Impl {
    Impl::Lanes { forms: Forms2::<O>::HOT, clamp: None, signs: Some(Forms2::<O>::SIGNS) }
}

pub(super) const fn rare2<O: Op2>() -> Impl {
    lanes(Forms2::<O>::RARE)
}

pub(super) const fn sat2<O: Op2, C: Op2>() -> Impl {
    lanes_sat(Forms2::<O>::F, Forms2::<C>::RARE)
}

pub(super) const fn hot_sat2<O: Op2, C: Op2>() -> Impl {
    lanes_sat(Forms2::<O>::HOT, Forms2::<C>::RARE)
}

pub(super) const fn op3<O: Op3>() -> Impl {
    lanes(Forms3::<O>::F)
}

pub(super) const fn hot3<O: Op3>() -> Impl {
    lanes(Forms3::<O>::HOT)
}

/// For float instructions whose sources often have sign modifiers.
pub(super) const fn signed3<O: Op3>() -> Impl {
    Impl::Lanes { forms: Forms3::<O>::HOT, clamp: None, signs: Some(Forms3::<O>::SIGNS) }
}

pub(super) const fn rare3<O: Op3>() -> Impl {
    lanes(Forms3::<O>::RARE)
}

pub(super) const fn sat3<O: Op3, C: Op3>() -> Impl {
    lanes_sat(Forms3::<O>::F, Forms3::<C>::RARE)
}

pub(super) const fn hot_sat3<O: Op3, C: Op3>() -> Impl {
    lanes_sat(Forms3::<O>::HOT, Forms3::<C>::RARE)
}

pub(super) const fn rare_sat3<O: Op3, C: Op3>() -> Impl {
    lanes_sat(Forms3::<O>::RARE, Forms3::<C>::RARE)
}

pub(super) const fn cmp<O: OpCmp>() -> Impl {
    lanes(FormsCmp::<O, false>::F)
}

pub(super) const fn hot_cmp<O: OpCmp>() -> Impl {
    lanes(FormsCmp::<O, false>::HOT)
}

pub(super) const fn rare_cmp<O: OpCmp>() -> Impl {
    lanes(FormsCmp::<O, false>::RARE)
}

pub(super) const fn rare_cmpx<O: OpCmp>() -> Impl {
    lanes(FormsCmp::<O, true>::RARE)
}

/// For additions and subtractions that return a carry.
pub(super) const fn carry<O: OpCarry>() -> Impl {
    lanes_sat(FormsCarry::<O>::F, FormsCarry::<O>::CLAMP)
}

/// For lane operations that also return a flag.
pub(super) const fn flag<O: OpFlag>() -> Impl {
    lanes(FormsFlag::<O>::RARE)
}
