//! The executors of an instruction, and short notations for them.

use crate::exec::carry::{FormsCarry, FormsFlag, OpCarry, OpFlag};
use crate::exec::inst::Exec;
use crate::exec::lanes::{Forms, Forms1, Forms2, Forms3, FormsCmp, Op1, Op2, Op3, OpCmp};
use crate::exec::level::{self, Columns, columns, same};

/// The executors of an instruction.
#[derive(Clone, Copy)]
pub(crate) enum Impl {
    /// The instruction is not implemented: it faults, and the report names the mnemonic.
    No,
    /// Takes operands as the encoding has them.
    Plain(Columns),
    /// A lane operation: see [`Forms`]. Modifiers, SDWA and DPP are applied around it.
    Lanes {
        forms: Forms,
        /// What to use instead with the clamp bit, for integer instructions that saturate.
        clamp: Option<Forms>,
        /// What to use instead when sources have signs and there is nothing else to modify; any operands.
        signs: Option<Columns>,
    },
}

/// Not a lane operation, but with a loop over lanes that is worth vectorising.
pub(super) const fn plain<X: Exec>() -> Impl {
    Impl::Plain(columns::<X>())
}

/// Memory instructions that inner loops are made of: a copy for AVX2, not for wider vectors.
pub(super) const fn narrow<X: Exec>() -> Impl {
    Impl::Plain(level::narrow::<X>())
}

/// Scalar and memory instructions: one copy for all levels.
pub(super) const fn one<X: Exec>() -> Impl {
    Impl::Plain(same::<X>())
}

/// Executors by which sources are scalars.
pub(super) const fn lanes(forms: Forms) -> Impl {
    Impl::Lanes { forms, clamp: None, signs: None }
}

/// [`lanes`], and what the instruction does with the clamp bit.
pub(super) const fn lanes_sat(forms: Forms, clamp: Forms) -> Impl {
    Impl::Lanes { forms, clamp: Some(clamp), signs: None }
}

// For lane operations. `op`: with vectors, and a scalar first source. `hot`: with scalars in any source as forms of
// their own, and a copy for AVX-512. `rare`: one form, one copy. `sat`: the second is what the clamp bit makes of it.

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

/// Float instructions often found with source signs.
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

/// See [`signed2`].
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

/// Additions and subtractions that give a carry.
pub(super) const fn carry<O: OpCarry>() -> Impl {
    lanes_sat(FormsCarry::<O>::F, FormsCarry::<O>::CLAMP)
}

/// Lane operations that also give a flag.
pub(super) const fn flag<O: OpFlag>() -> Impl {
    lanes(FormsFlag::<O>::RARE)
}
