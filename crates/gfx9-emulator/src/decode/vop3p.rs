//! Decoding of VOP3P: packed and mixed-precision arithmetic, dot products, and the matrix instructions.

use super::vop::{Mods, set_sources};
use super::{Bad, Decoder, Draft};
use crate::exec::matrix::Controls;
use crate::exec::packed::Select;
use crate::modifiers::Operand;
use crate::tables::{Encoding, Row, Ty};
use crate::wave::AGPR;

impl Decoder<'_> {
    pub(super) fn vop3p(&mut self, draft: &mut Draft, long: u64) -> Result<(), Bad> {
        let field = |at: u32, bits: u32| (long >> at) as u32 & ((1 << bits) - 1);
        let row = self.find(draft, Encoding::Vop3p, field(16, 7))?;
        draft.inst.dst = field(0, 8) as u16;
        if row.name.starts_with("v_mfma") {
            return self.mfma(draft, long, row);
        }
        if row.name.starts_with("v_smfmac") {
            return self.smfmac(draft, long, row);
        }
        match row.name {
            "v_accvgpr_read_b32" => {
                draft.inst.src[0] = AGPR + field(32, 8) as u16;
                return Ok(());
            }
            "v_accvgpr_write_b32" => {
                draft.inst.dst += AGPR;
                let a = self.vop_source(draft, 0, field(32, 9), row)?;
                return self.bind(draft, row, [a, Operand::None, Operand::None], Mods::NONE);
            }
            _ => {}
        }
        let op_sel_hi = field(59, 2) | field(14, 1) << 2;
        let mut sources = [Operand::None; 3];
        let mut select = Select::NONE.clamped(field(15, 1) != 0);
        for (n, source) in sources.iter_mut().enumerate() {
            let code = field(32 + 9 * n as u32, 9);
            // VOP3 encodings take no literal before gfx10.
            if code == 255 && row.src[n] != Ty::None {
                return Err(Bad);
            }
            let bit = |at: u32| field(at + n as u32, 1);
            let (lo, hi, neg_lo, neg_hi) = (bit(11), op_sel_hi >> n & 1, bit(61), bit(8));
            let ty = match row.src[n] {
                Ty::None => continue,
                Ty::Mix if hi != 0 => Ty::F16,
                Ty::Mix => Ty::F32,
                ty => ty,
            };
            *source = self.source(draft, n, code, ty)?;
            // Each kind of operand has those that mean something for it.
            select = match row.src[n] {
                Ty::P16I => select.with(n, lo, hi, 0, 0),
                Ty::P16F | Ty::P32 | Ty::Mix => select.with(n, lo, hi, neg_lo, neg_hi),
                // An f32 is negated by its sign, which is the high half's.
                Ty::F32 => select.with(n, 0, 1, 0, neg_lo),
                _ => select,
            };
        }
        set_sources(&mut draft.inst, &sources);
        draft.inst.imm = select.0;
        Ok(())
    }

    /// VOP3P-MAI: `acc` says which of A and B are AGPRs, `acc_cd` whether C and D are.
    fn mfma(&mut self, draft: &mut Draft, long: u64, row: &'static Row) -> Result<(), Bad> {
        let field = |at: u32, bits: u32| (long >> at) as u32 & ((1 << bits) - 1);
        let a = matrix(field(32, 9), field(59, 1), row.src[0])?;
        let b = matrix(field(41, 9), field(60, 1), row.src[1])?;
        let code = field(50, 9);
        let c = match code {
            128..=208 | 240..=248 => {
                let ty = if row.name.starts_with("v_mfma_f64") { Ty::F64 } else { Ty::F32 };
                self.source(draft, 2, code, ty)?
            }
            _ => matrix(code, field(15, 1), row.src[2])?,
        };
        let Operand::Vector(d) = matrix(256 | field(0, 8), field(15, 1), row.dst)? else { return Err(Bad) };
        draft.inst.dst = d;
        draft.inst.imm = Controls::new(field(8, 3), field(11, 4), field(61, 3)).0;
        set_sources(&mut draft.inst, &[a, b, c]);
        Ok(())
    }

    /// As [`Decoder::mfma`], but the third source has the indices of A's elements, in a VGPR; D is C too.
    fn smfmac(&mut self, draft: &mut Draft, long: u64, row: &'static Row) -> Result<(), Bad> {
        let field = |at: u32, bits: u32| (long >> at) as u32 & ((1 << bits) - 1);
        let a = matrix(field(32, 9), field(59, 1), row.src[0])?;
        let b = matrix(field(41, 9), field(60, 1), row.src[1])?;
        let indices = matrix(field(50, 9), 0, row.src[2])?;
        let Operand::Vector(d) = matrix(256 | field(0, 8), field(15, 1), row.dst)? else { return Err(Bad) };
        draft.inst.dst = d;
        draft.inst.imm = Controls::new(field(8, 3), field(11, 4), field(61, 3)).0;
        set_sources(&mut draft.inst, &[a, b, indices]);
        Ok(())
    }
}

/// A matrix in vector registers, all of which there must be.
fn matrix(code: u32, acc: u32, ty: Ty) -> Result<Operand, Bad> {
    let first = code.checked_sub(256).ok_or(Bad)?;
    if first + u32::from(ty.dwords()) > 256 {
        return Err(Bad);
    }
    Ok(Operand::Vector(first as u16 + if acc != 0 { AGPR } else { 0 }))
}
