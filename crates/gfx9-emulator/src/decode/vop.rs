//! Decoding of VOP1, VOP2, VOPC, VOP3, VOP3P, SDWA and DPP.

use super::{Bad, Decoder, Draft};
use crate::exec::control::Unimplemented;
use crate::inst::{Inst, NONE};
use crate::isa::same;
use crate::lanes::Forms;
use crate::modifiers::{Ext, Fix, MODIFIED, Operand, Post, TEMP_DST, temp};
use crate::tables::{ACC, Encoding, Impl, LIT, MASK_IN, Row, SDST, SGPR_DST, Ty};
use crate::wave::{AGPR, sreg};

/// Source and result modifiers. Bit n of `abs` and `neg` is source n's.
#[derive(Clone, Copy, Default)]
struct Mods {
    abs: u32,
    neg: u32,
    omod: u8,
    clamp: bool,
}

impl Decoder<'_> {
    pub(super) fn vop1(&mut self, draft: &mut Draft, word: u32) -> Result<(), Bad> {
        let row = self.find(draft, Encoding::Vop1, word >> 9 & 0xff)?;
        if self.is_sdwa_or_dpp(draft, word)? {
            return Ok(());
        }
        draft.inst.dst = (word >> 17 & 0xff) as u16;
        let a = self.vop_source(draft, 0, word & 0x1ff, row)?;
        self.bind(draft, row, [a, Operand::None, Operand::None], Mods::default())
    }

    pub(super) fn vop2(&mut self, draft: &mut Draft, word: u32) -> Result<(), Bad> {
        let row = self.find(draft, Encoding::Vop2, word >> 25 & 0x3f)?;
        if self.is_sdwa_or_dpp(draft, word)? {
            return Ok(());
        }
        draft.inst.dst = (word >> 17 & 0xff) as u16;
        draft.inst.sdst = sreg::VCC;
        let a = self.vop_source(draft, 0, word & 0x1ff, row)?;
        let b = Operand::Vector((word >> 9 & 0xff) as u16);
        let sources = if row.flags & LIT != 0 {
            let value = match (draft.len, draft.inst.raw[1]) {
                // A literal first source is the same literal.
                (2, value) => value,
                _ => self.literal(draft)?,
            };
            let k = Operand::Scalar(self.constant(draft, 2, u64::from(value), false));
            // madmk: d = a * k + b; madak: d = a * b + k.
            if row.name.contains("mk") { [a, k, b] } else { [a, b, k] }
        } else if row.flags & MASK_IN != 0 {
            [a, b, Operand::Scalar(sreg::VCC)]
        } else {
            [a, b, Operand::None]
        };
        self.bind(draft, row, sources, Mods::default())
    }

    pub(super) fn vopc(&mut self, draft: &mut Draft, word: u32) -> Result<(), Bad> {
        let row = self.find(draft, Encoding::Vopc, word >> 17 & 0xff)?;
        if self.is_sdwa_or_dpp(draft, word)? {
            return Ok(());
        }
        draft.inst.sdst = sreg::VCC;
        let a = self.vop_source(draft, 0, word & 0x1ff, row)?;
        let b = Operand::Vector((word >> 9 & 0xff) as u16);
        self.bind(draft, row, [a, b, Operand::None], Mods::default())
    }

    pub(super) fn vop3(&mut self, draft: &mut Draft, long: u64) -> Result<(), Bad> {
        let field = |at: u32, bits: u32| (long >> at) as u32 & ((1 << bits) - 1);
        let op = field(16, 10);
        // The short encodings' opcodes come first: VOPC, VOP2, VOP1.
        let (encoding, op) = match op {
            0..=255 => (Encoding::Vopc, op),
            256..=319 => (Encoding::Vop2, op - 256),
            320..=447 => (Encoding::Vop1, op - 320),
            _ => (Encoding::Vop3, op),
        };
        let row = self.find(draft, encoding, op)?;
        if row.flags & LIT != 0 {
            return Err(Bad);
        }
        draft.inst.dst = field(0, 8) as u16;
        let mut mods = Mods { neg: field(61, 3), omod: field(59, 2) as u8, ..Mods::default() };
        if row.flags & SDST != 0 {
            draft.inst.sdst = field(8, 7) as u16;
        } else {
            mods.abs = field(8, 3);
            // op_sel.
            if field(11, 4) != 0 {
                draft.inst.exec = self.executor(same::<Unimplemented>());
                return Ok(());
            }
        }
        mods.clamp = field(15, 1) != 0;
        if encoding == Encoding::Vopc {
            draft.inst.sdst = field(0, 8) as u16;
        }
        let mut sources = [Operand::None; 3];
        for (n, source) in sources.iter_mut().enumerate() {
            let code = field(32 + 9 * n as u32, 9);
            if row.src[n] != Ty::None {
                *source = self.vop_source(draft, n, code, row)?;
            } else if n == 2 && row.flags & MASK_IN != 0 {
                *source = self.source(draft, n, code & 0xff, Ty::Mask)?;
            }
        }
        self.bind(draft, row, sources, mods)
    }

    pub(super) fn vop3p(&mut self, draft: &mut Draft, long: u64) -> Result<(), Bad> {
        let field = |at: u32, bits: u32| (long >> at) as u32 & ((1 << bits) - 1);
        let row = self.find(draft, Encoding::Vop3p, field(16, 7))?;
        draft.inst.dst = field(0, 8) as u16;
        match row.name {
            "v_accvgpr_read_b32" => {
                draft.inst.src[0] = AGPR + field(32, 8) as u16;
                Ok(())
            }
            "v_accvgpr_write_b32" => {
                draft.inst.dst += AGPR;
                let a = self.vop_source(draft, 0, field(32, 9), row)?;
                self.bind(draft, row, [a, Operand::None, Operand::None], Mods::default())
            }
            _ => {
                draft.inst.exec = self.executor(same::<Unimplemented>());
                Ok(())
            }
        }
    }

    /// Source 0 codes 249 and 250 mean that a control dword follows.
    fn is_sdwa_or_dpp(&mut self, draft: &mut Draft, word: u32) -> Result<bool, Bad> {
        let sdwa_or_dpp = matches!(word & 0x1ff, 249 | 250);
        if sdwa_or_dpp {
            self.literal(draft)?;
            draft.inst.exec = self.executor(same::<Unimplemented>());
        }
        Ok(sdwa_or_dpp)
    }

    fn vop_source(&mut self, draft: &mut Draft, n: usize, code: u32, row: &Row) -> Result<Operand, Bad> {
        self.source(draft, n, code, row.src[n])
    }

    /// Chooses the executor for the operands there are.
    fn bind(
        &mut self,
        draft: &mut Draft,
        row: &'static Row,
        mut sources: [Operand; 3],
        mods: Mods,
    ) -> Result<(), Bad> {
        let (forms, clamp) = match row.exec {
            Impl::Lanes { forms, clamp } => (forms, clamp),
            Impl::Plain(_) => {
                set_sources(&mut draft.inst, &sources);
                return Ok(());
            }
            Impl::No => return Ok(()),
        };
        if row.flags & ACC != 0 {
            sources[row.src.iter().filter(|ty| **ty != Ty::None).count()] = Operand::Vector(draft.inst.dst);
        }
        let clamps_inside = mods.clamp && clamp.is_some();
        let forms: Forms = if clamps_inside { clamp.unwrap_or(forms) } else { forms };
        let post = (mods.omod != 0 || mods.clamp && !clamps_inside) && row.dst != Ty::Mask;
        // Masks are scalars by nature, so they don't count.
        let scalars = |sources: &[Operand; 3]| {
            (0..3)
                .filter(|n| row.src[*n] != Ty::None || row.flags & ACC != 0 && *n == 2)
                .fold(0u8, |mask, n| mask | u8::from(matches!(sources[n], Operand::Scalar(_))) << n)
        };
        let wanted = scalars(&sources);
        if mods.abs == 0
            && mods.neg == 0
            && !post
            && let Some((_, columns)) = forms.iter().find(|(mask, _)| *mask == wanted)
        {
            draft.inst.exec = self.executor(*columns);
            set_sources(&mut draft.inst, &sources);
            return Ok(());
        }
        // Anything else: prepare what needs it, then run the form that takes the rest as it is.
        let mut fixes = [None; 3];
        let modified = mods.abs | mods.neg;
        let (mask, columns) = forms
            .iter()
            .filter(|(mask, _)| mask & !wanted == 0 && u32::from(*mask) & modified == 0)
            .max_by_key(|(mask, _)| mask.count_ones())
            .ok_or(Bad)?;
        for n in 0..3 {
            let to_vector = wanted & !mask & 1 << n != 0;
            if sources[n] == Operand::None || !to_vector && modified >> n & 1 == 0 {
                continue;
            }
            let ty = if row.flags & ACC != 0 && row.src[n] == Ty::None { row.dst } else { row.src[n] };
            fixes[n] =
                Some(Fix { from: sources[n], ty, abs: mods.abs >> n & 1 != 0, neg: mods.neg >> n & 1 != 0 });
            sources[n] = Operand::Vector(temp(n));
        }
        let mut inner = Inst { exec: self.executor(*columns), ext: None, ..copy(&draft.inst) };
        set_sources(&mut inner, &sources);
        let post = post.then(|| {
            inner.dst = TEMP_DST;
            Post { dst: draft.inst.dst, ty: row.dst, omod: mods.omod, clamp: mods.clamp && !clamps_inside }
        });
        debug_assert!(row.flags & SGPR_DST == 0);
        draft.inst.exec = self.executor(MODIFIED);
        draft.inst.ext = Some(Box::new(Ext { inner, fixes, post, zero_flags: false, literal: None }));
        Ok(())
    }
}

/// Sets the sources, and in `flags` bit n if source n is a vector (for `s_set_gpr_idx_on`).
fn set_sources(inst: &mut Inst, sources: &[Operand; 3]) {
    inst.flags = 0;
    for (n, source) in sources.iter().enumerate() {
        inst.src[n] = match source {
            Operand::Vector(v) => {
                inst.flags |= 1 << n;
                *v
            }
            Operand::Scalar(s) => *s,
            Operand::None => NONE,
        };
    }
}

fn copy(i: &Inst) -> Inst {
    Inst { ext: None, ..*i }
}
