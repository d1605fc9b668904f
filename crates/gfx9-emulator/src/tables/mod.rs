//! The decode tables: one row an instruction, for both targets, with its executor.

mod buffer;
#[cfg(test)]
mod coverage;
mod ds;
mod flat;
mod image;
mod smem;
mod sop;
mod target;
mod vop1;
mod vop2;
mod vop3;
mod vop3p;
mod vopc;

use std::sync::OnceLock;

use crate::exec::carry::{FormsCarry, FormsFlag, OpCarry, OpFlag};
use crate::isa::{Columns, Exec, columns, same};
use crate::lanes::{Forms, Forms1, Forms2, Forms3, FormsCmp, Op1, Op2, Op3, OpCmp};

pub use target::Target;

/// Instruction encodings, as the ISA documents name them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[allow(missing_docs, reason = "the names are the documents'")]
pub enum Encoding {
    Sop1,
    Sop2,
    Sopk,
    Sopc,
    Sopp,
    Smem,
    Vop1,
    Vop2,
    Vopc,
    Vop3,
    Vop3p,
    Ds,
    Flat,
    Global,
    Scratch,
    Mubuf,
    Mtbuf,
    Mimg,
}

/// What an operand holds: its size, how inline constants are widened to it, and which modifiers it takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Ty {
    /// Not there.
    None,
    /// 32 bits, integer or untyped.
    B32,
    F32,
    /// 64 bits, integer or untyped.
    B64,
    F64,
    /// The low 16 bits.
    I16,
    F16,
    /// Two of 16 bits.
    P16I,
    P16F,
    /// Two of 32 bits, in two registers.
    P32,
    /// `v_fma_mix`: f32 or f16 as the modifiers say.
    Mix,
    /// A mask of lanes, a scalar pair.
    Mask,
    /// That many dwords.
    Wide(u8),
}

impl Ty {
    /// Dwords.
    pub(crate) const fn dwords(self) -> u8 {
        match self {
            Ty::None => 0,
            Ty::B64 | Ty::F64 | Ty::P32 | Ty::Mask => 2,
            Ty::Wide(n) => n,
            _ => 1,
        }
    }
}

/// What executes an instruction.
pub(crate) enum Impl {
    /// Nothing yet: a fault that names the mnemonic.
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

/// One instruction.
pub(crate) struct Row {
    /// Without `_e32`, `_e64`, `_sdwa`, `_dpp`.
    pub(crate) name: &'static str,
    /// On gfx90a, on gfx942; -1 if it isn't there.
    pub(crate) op: [i16; 2],
    pub(crate) dst: Ty,
    pub(crate) src: [Ty; 3],
    pub(crate) flags: u8,
    pub(crate) exec: Impl,
}

/// Writes a mask: to VCC in short encodings, else to `sdst` (VOP3B).
pub(crate) const SDST: u8 = 1;
/// Reads a mask: VCC in short encodings, else `src2`.
pub(crate) const MASK_IN: u8 = 2;
/// The destination is a source too, after the others.
pub(crate) const ACC: u8 = 4;
/// A literal always follows.
pub(crate) const LIT: u8 = 8;
/// The destination is an SGPR.
pub(crate) const SGPR_DST: u8 = 16;
/// Leaves the other half of the destination as it is; other 16-bit instructions clear the high half.
pub(crate) const KEEP: u8 = 32;

const fn r(
    name: &'static str,
    gfx90a: i16,
    gfx942: i16,
    dst: Ty,
    src: [Ty; 3],
    flags: u8,
    exec: Impl,
) -> Row {
    Row { name, op: [gfx90a, gfx942], dst, src, flags, exec }
}

// Short names for the tables' columns.
use Impl::No;
use Ty::{B32, B64, F16, F32, F64, I16, Mask as M, Mix as MIX, None as Z, P16F, P16I, P32, Wide as W};

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

/// All rows of an encoding.
pub(crate) fn rows(encoding: Encoding) -> &'static [Row] {
    match encoding {
        Encoding::Sop1 => sop::SOP1,
        Encoding::Sop2 => sop::SOP2,
        Encoding::Sopk => sop::SOPK,
        Encoding::Sopc => sop::SOPC,
        Encoding::Sopp => sop::SOPP,
        Encoding::Smem => smem::SMEM,
        Encoding::Vop1 => vop1::VOP1,
        Encoding::Vop2 => vop2::VOP2,
        Encoding::Vopc => vopc::VOPC,
        Encoding::Vop3 => vop3::VOP3,
        Encoding::Vop3p => vop3p::VOP3P,
        Encoding::Ds => ds::DS,
        Encoding::Flat => flat::FLAT,
        Encoding::Global => flat::GLOBAL,
        Encoding::Scratch => flat::SCRATCH,
        Encoding::Mubuf => buffer::MUBUF,
        Encoding::Mtbuf => buffer::MTBUF,
        Encoding::Mimg => image::MIMG,
    }
}

impl Encoding {
    /// All, in the order of the enum.
    pub const ALL: [Encoding; 18] = [
        Encoding::Sop1,
        Encoding::Sop2,
        Encoding::Sopk,
        Encoding::Sopc,
        Encoding::Sopp,
        Encoding::Smem,
        Encoding::Vop1,
        Encoding::Vop2,
        Encoding::Vopc,
        Encoding::Vop3,
        Encoding::Vop3p,
        Encoding::Ds,
        Encoding::Flat,
        Encoding::Global,
        Encoding::Scratch,
        Encoding::Mubuf,
        Encoding::Mtbuf,
        Encoding::Mimg,
    ];

    /// The instructions of a target: opcode and mnemonic, without `_e32`, `_e64`, `_sdwa` and `_dpp`.
    ///
    /// ```
    /// use gfx9_emulator::{Encoding, Target};
    ///
    /// assert!(Encoding::Sopp.opcodes(Target::Gfx90a).any(|op| op == (1, "s_endpgm")));
    /// assert_eq!(Encoding::Mimg.opcodes(Target::Gfx942).count(), 0);
    /// ```
    pub fn opcodes(self, target: Target) -> impl Iterator<Item = (u16, &'static str)> {
        let opcode = move |row: &Row| Some((u16::try_from(row.op[target as usize]).ok()?, row.name));
        rows(self).iter().filter_map(opcode)
    }

    /// The documents' name.
    pub fn name(self) -> &'static str {
        match self {
            Encoding::Sop1 => "SOP1",
            Encoding::Sop2 => "SOP2",
            Encoding::Sopk => "SOPK",
            Encoding::Sopc => "SOPC",
            Encoding::Sopp => "SOPP",
            Encoding::Smem => "SMEM",
            Encoding::Vop1 => "VOP1",
            Encoding::Vop2 => "VOP2",
            Encoding::Vopc => "VOPC",
            Encoding::Vop3 => "VOP3",
            Encoding::Vop3p => "VOP3P",
            Encoding::Ds => "DS",
            Encoding::Flat => "FLAT",
            Encoding::Global => "GLOBAL",
            Encoding::Scratch => "SCRATCH",
            Encoding::Mubuf => "MUBUF",
            Encoding::Mtbuf => "MTBUF",
            Encoding::Mimg => "MIMG",
        }
    }
}

/// Rows by opcode, one table an encoding.
pub(crate) struct Index {
    by_op: Vec<Vec<Option<&'static Row>>>,
}

impl Index {
    /// The rows of a target.
    pub(crate) fn of(target: Target) -> &'static Index {
        static INDEX: [OnceLock<Index>; 2] = [const { OnceLock::new() }; 2];
        INDEX[target as usize].get_or_init(|| {
            let by_op = Encoding::ALL.map(|encoding| {
                let mut table = Vec::new();
                for row in rows(encoding) {
                    let Ok(op) = usize::try_from(row.op[target as usize]) else { continue };
                    if table.len() <= op {
                        table.resize(op + 1, None);
                    }
                    table[op] = Some(row);
                }
                table
            });
            Index { by_op: by_op.into() }
        })
    }

    pub(crate) fn get(&self, encoding: Encoding, op: u32) -> Option<&'static Row> {
        self.by_op[encoding as usize].get(op as usize).copied().flatten()
    }
}

/// The encoding that a row belongs to.
pub(crate) fn encoding_of(row: &Row) -> Option<Encoding> {
    Encoding::ALL
        .into_iter()
        .find(|encoding| rows(*encoding).as_ptr_range().contains(&std::ptr::from_ref(row)))
}

/// Whether a row is a vector ALU instruction's.
pub(crate) fn is_valu(row: &Row) -> bool {
    matches!(
        encoding_of(row),
        Some(Encoding::Vop1 | Encoding::Vop2 | Encoding::Vopc | Encoding::Vop3 | Encoding::Vop3p)
    )
}

/// Whether a row is an instruction of the vector units, memory included: what VSKIP skips.
pub(crate) fn is_vector(row: &Row) -> bool {
    !matches!(
        encoding_of(row),
        None | Some(
            Encoding::Sop1
                | Encoding::Sop2
                | Encoding::Sopk
                | Encoding::Sopc
                | Encoding::Sopp
                | Encoding::Smem
        )
    )
}

/// The row of what is no instruction.
pub(crate) static ILLEGAL: Row = r("(illegal)", -1, -1, Z, [Z, Z, Z], 0, No);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_opcode_twice() {
        for encoding in Encoding::ALL {
            for target in [0, 1] {
                let mut ops: Vec<i16> =
                    rows(encoding).iter().map(|row| row.op[target]).filter(|op| *op >= 0).collect();
                let count = ops.len();
                ops.sort_unstable();
                ops.dedup();
                assert_eq!(ops.len(), count, "{encoding:?} has an opcode twice");
            }
        }
    }
}
