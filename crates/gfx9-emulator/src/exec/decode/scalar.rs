//! Decoding of SOP1, SOP2, SOPK, SOPC, SOPP and SMEM.

use gfx9_isa::flags::{ACC, LIT};
use gfx9_isa::{Encoding, Ty, fields};

use super::decoder::{Bad, Decoder, Draft, aligned};
use crate::exec::inst::{NONE, flag};
use crate::exec::operand::Operand;

impl Decoder<'_> {
    fn scalar_source(&mut self, draft: &mut Draft, n: usize, code: u32, ty: Ty) -> Result<(), Bad> {
        match self.source(draft, n, code, ty)? {
            Operand::Scalar(s) => draft.inst.src[n] = s,
            _ => return Err(Bad),
        }
        Ok(())
    }

    pub(super) fn sop2(&mut self, draft: &mut Draft, word: u32) -> Result<(), Bad> {
        let f = fields::Sop2::of(word);
        let row = self.find(draft, Encoding::Sop2, f.op)?;
        draft.inst.dst = aligned(f.sdst, row.dst);
        self.scalar_source(draft, 0, f.src0, row.src[0])?;
        self.scalar_source(draft, 1, f.src1, row.src[1])
    }

    pub(super) fn sop1(&mut self, draft: &mut Draft, word: u32) -> Result<(), Bad> {
        let f = fields::Sop1::of(word);
        let row = self.find(draft, Encoding::Sop1, f.op)?;
        draft.inst.dst = aligned(f.sdst, row.dst);
        if row.src[0] != Ty::None {
            self.scalar_source(draft, 0, f.src0, row.src[0])?;
        }
        Ok(())
    }

    pub(super) fn sopc(&mut self, draft: &mut Draft, word: u32) -> Result<(), Bad> {
        let f = fields::Sopc::of(word);
        let row = self.find(draft, Encoding::Sopc, f.op)?;
        self.scalar_source(draft, 0, f.src0, row.src[0])?;
        if row.src[1] == Ty::None {
            // s_set_gpr_idx_on: an immediate.
            draft.inst.imm = f.src1;
            return Ok(());
        }
        self.scalar_source(draft, 1, f.src1, row.src[1])
    }

    pub(super) fn sopk(&mut self, draft: &mut Draft, word: u32) -> Result<(), Bad> {
        let f = fields::Sopk::of(word);
        let row = self.find(draft, Encoding::Sopk, f.op)?;
        draft.inst.dst = aligned(f.sdst, row.dst);
        // Sign-extended; executors of unsigned comparisons and hardware registers take the low half.
        draft.inst.imm = f.simm as i16 as u32;
        if row.flags & LIT != 0 {
            let value = self.literal(draft)?;
            draft.inst.src[0] = self.constant(draft, 0, u64::from(value), false);
        }
        debug_assert!(row.flags & ACC == 0);
        Ok(())
    }

    pub(super) fn sopp(&mut self, draft: &mut Draft, word: u32) -> Result<(), Bad> {
        let f = fields::Sopp::of(word);
        self.find(draft, Encoding::Sopp, f.op)?;
        draft.inst.imm = f.simm as i16 as u32;
        Ok(())
    }

    /// `dst` is the data's first SGPR, `src[0]` the base's, `sdst` an SGPR with an offset or none, `imm` the signed
    /// 21-bit offset.
    pub(super) fn smem(&mut self, draft: &mut Draft, long: u64) -> Result<(), Bad> {
        let f = fields::Smem::of(long);
        let row = self.find(draft, Encoding::Smem, f.op)?;
        let i = &mut draft.inst;
        let base = if row.name.contains("_buffer_") { Ty::Wide(4) } else { Ty::B64 };
        i.src[0] = aligned(f.sbase * 2, base);
        i.dst = aligned(f.sdata, if row.dst == Ty::None { row.src[0] } else { row.dst });
        i.imm = if f.imm { f.signed_offset() as u32 } else { 0 };
        i.sdst = f.offset_register().map_or(NONE, |register| register as u16);
        if f.glc {
            i.flags |= flag::GLC;
        }
        Ok(())
    }
}
