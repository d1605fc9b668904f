//! Decoding of SOP1, SOP2, SOPK, SOPC, SOPP and SMEM.

use super::{Bad, Decoder, Draft, aligned};
use crate::inst::{NONE, flag};
use crate::modifiers::Operand;
use crate::tables::{ACC, Encoding, LIT, Ty};

impl Decoder<'_> {
    fn scalar_source(&mut self, draft: &mut Draft, n: usize, code: u32, ty: Ty) -> Result<(), Bad> {
        match self.source(draft, n, code & 0xff, ty)? {
            Operand::Scalar(s) => draft.inst.src[n] = s,
            _ => return Err(Bad),
        }
        Ok(())
    }

    pub(super) fn sop2(&mut self, draft: &mut Draft, word: u32) -> Result<(), Bad> {
        let row = self.find(draft, Encoding::Sop2, word >> 23 & 0x7f)?;
        draft.inst.dst = aligned(word >> 16 & 0x7f, row.dst);
        self.scalar_source(draft, 0, word, row.src[0])?;
        self.scalar_source(draft, 1, word >> 8, row.src[1])
    }

    pub(super) fn sop1(&mut self, draft: &mut Draft, word: u32) -> Result<(), Bad> {
        let row = self.find(draft, Encoding::Sop1, word >> 8 & 0xff)?;
        draft.inst.dst = aligned(word >> 16 & 0x7f, row.dst);
        if row.src[0] != Ty::None {
            self.scalar_source(draft, 0, word, row.src[0])?;
        }
        Ok(())
    }

    pub(super) fn sopc(&mut self, draft: &mut Draft, word: u32) -> Result<(), Bad> {
        let row = self.find(draft, Encoding::Sopc, word >> 16 & 0x7f)?;
        self.scalar_source(draft, 0, word, row.src[0])?;
        if row.src[1] == Ty::None {
            // s_set_gpr_idx_on: an immediate.
            draft.inst.imm = word >> 8 & 0xff;
            return Ok(());
        }
        self.scalar_source(draft, 1, word >> 8, row.src[1])
    }

    pub(super) fn sopk(&mut self, draft: &mut Draft, word: u32) -> Result<(), Bad> {
        let row = self.find(draft, Encoding::Sopk, word >> 23 & 0x1f)?;
        draft.inst.dst = aligned(word >> 16 & 0x7f, row.dst);
        // Sign-extended; executors of unsigned comparisons and hardware registers take the low half.
        draft.inst.imm = word as i16 as u32;
        if row.flags & LIT != 0 {
            let value = self.literal(draft)?;
            draft.inst.src[0] = self.constant(draft, 0, u64::from(value), false);
        }
        debug_assert!(row.flags & ACC == 0);
        Ok(())
    }

    pub(super) fn sopp(&mut self, draft: &mut Draft, word: u32) -> Result<(), Bad> {
        self.find(draft, Encoding::Sopp, word >> 16 & 0x7f)?;
        draft.inst.imm = word as i16 as u32;
        Ok(())
    }

    /// `dst` is the data's first SGPR, `src[0]` the base's, `sdst` an SGPR with an offset or none, `imm` the signed
    /// 21-bit offset.
    pub(super) fn smem(&mut self, draft: &mut Draft, long: u64) -> Result<(), Bad> {
        let field = |at: u32, bits: u32| (long >> at) as u32 & ((1 << bits) - 1);
        let row = self.find(draft, Encoding::Smem, field(18, 8))?;
        let i = &mut draft.inst;
        let base = if row.name.contains("_buffer_") { Ty::Wide(4) } else { Ty::B64 };
        i.src[0] = aligned(field(0, 6) * 2, base);
        i.dst = aligned(field(6, 7), if row.dst == Ty::None { row.src[0] } else { row.dst });
        let (soffset_en, imm) = (field(14, 1) != 0, field(17, 1) != 0);
        // LLVM's SIInstrFormats / SMInstructions: offset bits 52:32 with imm; soffset in 63:57 with soffset_en, else,
        // without imm, in the offset's low bits.
        i.imm = if imm { ((field(32, 21) << 11) as i32 >> 11) as u32 } else { 0 };
        i.sdst = match (soffset_en, imm) {
            (true, _) => field(57, 7) as u16,
            (false, false) => field(32, 7) as u16,
            (false, true) => NONE,
        };
        if field(16, 1) != 0 {
            i.flags |= flag::GLC;
        }
        Ok(())
    }
}
