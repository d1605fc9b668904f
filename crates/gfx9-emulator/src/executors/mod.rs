//! Which executor an instruction has: a match on the mnemonics of each encoding.
//!
//! The decoder asks once for each instruction of a program. An instruction that gfx9-isa lists and that has no line here
//! does not compile.

mod buffer;
mod ds;
mod flat;
mod smem;
mod sop;
mod vop1;
mod vop2;
mod vop3;
mod vop3p;
mod vopc;

use gfx9_isa::{
    Ds, Flat, Global, Mnemonic, Mtbuf, Mubuf, Scratch, Smem, Sop1, Sop2, Sopc, Sopk, Sopp, Vop1, Vop2, Vop3,
    Vop3p, Vopc,
};

use crate::exec::carry::{FormsCarry, FormsFlag, OpCarry, OpFlag};
use crate::isa::{Columns, Exec, columns, same};
use crate::lanes::{Forms, Forms1, Forms2, Forms3, FormsCmp, Op1, Op2, Op3, OpCmp};

/// What executes an instruction.
#[derive(Clone, Copy)]
pub(crate) enum Impl {
    /// Nothing: a fault that names the mnemonic.
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

use Impl::No;

/// What executes an instruction.
pub(crate) fn executor(mnemonic: Mnemonic) -> Impl {
    match mnemonic {
        // Images are refused when a program is loaded.
        Mnemonic::Illegal | Mnemonic::Mimg(_) => No,
        Mnemonic::Sop1(op) => sop::sop1(op),
        Mnemonic::Sop2(op) => sop::sop2(op),
        Mnemonic::Sopk(op) => sop::sopk(op),
        Mnemonic::Sopc(op) => sop::sopc(op),
        Mnemonic::Sopp(op) => sop::sopp(op),
        Mnemonic::Smem(op) => smem::smem(op),
        Mnemonic::Vop1(op) => vop1::vop1(op),
        Mnemonic::Vop2(op) => vop2::vop2(op),
        Mnemonic::Vopc(op) => vopc::vopc(op),
        Mnemonic::Vop3(op) => vop3::vop3(op),
        Mnemonic::Vop3p(op) => vop3p::vop3p(op),
        Mnemonic::Ds(op) => ds::ds(op),
        Mnemonic::Flat(op) => flat::flat(op),
        Mnemonic::Global(op) => flat::global(op),
        Mnemonic::Scratch(op) => flat::scratch(op),
        Mnemonic::Mubuf(op) => buffer::mubuf(op),
        Mnemonic::Mtbuf(op) => buffer::mtbuf(op),
    }
}

/// Not a lane operation, but with a loop over lanes that is worth vectorising.
const fn plain<X: Exec>() -> Impl {
    Impl::Plain(columns::<X>())
}

/// Memory instructions that inner loops are made of: a copy for AVX2, not for wider vectors.
const fn narrow<X: Exec>() -> Impl {
    Impl::Plain(crate::isa::narrow::<X>())
}

/// Scalar and memory instructions: one copy for all levels.
const fn one<X: Exec>() -> Impl {
    Impl::Plain(same::<X>())
}

/// Executors by which sources are scalars.
const fn lanes(forms: Forms) -> Impl {
    Impl::Lanes { forms, clamp: None, signs: None }
}

/// [`lanes`], and what the instruction does with the clamp bit.
const fn lanes_sat(forms: Forms, clamp: Forms) -> Impl {
    Impl::Lanes { forms, clamp: Some(clamp), signs: None }
}

// For lane operations. `op`: with vectors, and a scalar first source. `hot`: with scalars in any source as forms of
// their own, and a copy for AVX-512. `rare`: one form, one copy. `sat`: the second is what the clamp bit makes of it.

const fn op1<O: Op1>() -> Impl {
    lanes(Forms1::<O>::F)
}

const fn hot1<O: Op1>() -> Impl {
    lanes(Forms1::<O>::HOT)
}

const fn rare1<O: Op1>() -> Impl {
    lanes(Forms1::<O>::RARE)
}

const fn op2<O: Op2>() -> Impl {
    lanes(Forms2::<O>::F)
}

const fn hot2<O: Op2>() -> Impl {
    lanes(Forms2::<O>::HOT)
}

/// Float instructions often found with source signs.
const fn signed2<O: Op2>() -> Impl {
    Impl::Lanes { forms: Forms2::<O>::HOT, clamp: None, signs: Some(Forms2::<O>::SIGNS) }
}

const fn rare2<O: Op2>() -> Impl {
    lanes(Forms2::<O>::RARE)
}

const fn sat2<O: Op2, C: Op2>() -> Impl {
    lanes_sat(Forms2::<O>::F, Forms2::<C>::RARE)
}

const fn hot_sat2<O: Op2, C: Op2>() -> Impl {
    lanes_sat(Forms2::<O>::HOT, Forms2::<C>::RARE)
}

const fn op3<O: Op3>() -> Impl {
    lanes(Forms3::<O>::F)
}

const fn hot3<O: Op3>() -> Impl {
    lanes(Forms3::<O>::HOT)
}

/// See [`signed2`].
const fn signed3<O: Op3>() -> Impl {
    Impl::Lanes { forms: Forms3::<O>::HOT, clamp: None, signs: Some(Forms3::<O>::SIGNS) }
}

const fn rare3<O: Op3>() -> Impl {
    lanes(Forms3::<O>::RARE)
}

const fn sat3<O: Op3, C: Op3>() -> Impl {
    lanes_sat(Forms3::<O>::F, Forms3::<C>::RARE)
}

const fn hot_sat3<O: Op3, C: Op3>() -> Impl {
    lanes_sat(Forms3::<O>::HOT, Forms3::<C>::RARE)
}

const fn rare_sat3<O: Op3, C: Op3>() -> Impl {
    lanes_sat(Forms3::<O>::RARE, Forms3::<C>::RARE)
}

const fn cmp<O: OpCmp>() -> Impl {
    lanes(FormsCmp::<O, false>::F)
}

const fn hot_cmp<O: OpCmp>() -> Impl {
    lanes(FormsCmp::<O, false>::HOT)
}

const fn rare_cmp<O: OpCmp>() -> Impl {
    lanes(FormsCmp::<O, false>::RARE)
}

const fn rare_cmpx<O: OpCmp>() -> Impl {
    lanes(FormsCmp::<O, true>::RARE)
}

/// Additions and subtractions that give a carry.
const fn carry<O: OpCarry>() -> Impl {
    lanes_sat(FormsCarry::<O>::F, FormsCarry::<O>::CLAMP)
}

/// Lane operations that also give a flag.
const fn flag<O: OpFlag>() -> Impl {
    lanes(FormsFlag::<O>::RARE)
}

#[cfg(test)]
mod tests {
    use gfx9_isa::{Encoding, flags};

    use super::*;

    #[test]
    fn what_saturates_in_the_tables_has_an_executor_for_the_clamp_bit() {
        for row in Encoding::ALL.into_iter().flat_map(Encoding::rows) {
            let clamps = matches!(executor(row.mnemonic), Impl::Lanes { clamp: Some(_), .. });
            assert_eq!(clamps, row.flags & flags::SAT != 0, "{}", row.name);
        }
    }
}
