//! Decoding of SOP1, SOP2, SOPK, SOPC, SOPP and SMEM.

use amdgpu_isa::flags::{ACC, BRANCH, DESCRIPTOR, DST_KEPT, LIT, LIT_FACTOR};
use amdgpu_isa::{Encoding, Row, Ty, fields};

use super::decoder::{Decoder, NotAnInstruction, PartialInst};
use crate::exec::control::Nop;
use crate::exec::inst::{NONE, flag};
use crate::exec::level::same;
use crate::exec::operand::Operand;

impl Decoder<'_> {
    fn scalar_source(
        &mut self,
        partial: &mut PartialInst,
        n: usize,
        code: u32,
        ty: Ty,
    ) -> Result<(), NotAnInstruction> {
        match self.source(partial, n, code, ty)? {
            Operand::Scalar(s) => partial.inst.src[n] = s,
            _ => return Err(NotAnInstruction),
        }
        Ok(())
    }

    /// Sets the destination. An instruction whose result is lost does nothing else, not to SCC either, unless it writes EXEC or jumps
    /// (RDNA4 ISA, 3.3.1).
    fn scalar_result(&self, partial: &mut PartialInst, row: &Row, code: u32) {
        if row.is(DST_KEPT) || !self.is_protected(code) {
            partial.inst.dst = self.scalar(code, row.dst);
            return;
        }
        partial.inst.dst = self.scalar_destination(code, row.dst);
        if !row.name.contains("exec") && !row.is(BRANCH) {
            partial.inst.exec = self.executor(same::<Nop>());
        }
    }

    pub(super) fn sop2(&mut self, partial: &mut PartialInst, word: u32) -> Result<(), NotAnInstruction> {
        let f = fields::Sop2::of(self.target, word);
        let row = self.find(partial, Encoding::Sop2, f.op)?;
        self.scalar_result(partial, row, f.sdst);
        self.scalar_source(partial, 0, f.src0, row.src[0])?;
        self.scalar_source(partial, 1, f.src1, row.src[1])?;
        if row.is(LIT) {
            // If a source is a literal, it is the same one.
            let value = self.literal(partial)?;
            partial.inst.src[2] = self.constant(partial, 2, u64::from(value), false);
            if row.is(LIT_FACTOR) {
                // `s_fmamk_f32`: d = a * k + b; `s_fmaak_f32`: d = a * b + k.
                partial.inst.src.swap(1, 2);
                partial.spilled.swap(1, 2);
            }
        } else if row.is(ACC) {
            partial.inst.src[2] = partial.inst.dst;
        }
        Ok(())
    }

    pub(super) fn sop1(&mut self, partial: &mut PartialInst, word: u32) -> Result<(), NotAnInstruction> {
        let f = fields::Sop1::of(self.target, word);
        let row = self.find(partial, Encoding::Sop1, f.op)?;
        self.scalar_result(partial, row, f.sdst);
        if row.src[0] != Ty::None {
            self.scalar_source(partial, 0, f.src0, row.src[0])?;
        } else {
            // `s_sendmsg_rtn_b32` has the message's number.
            partial.inst.imm = f.src0;
        }
        Ok(())
    }

    pub(super) fn sopc(&mut self, partial: &mut PartialInst, word: u32) -> Result<(), NotAnInstruction> {
        let f = fields::Sopc::of(self.target, word);
        let row = self.find(partial, Encoding::Sopc, f.op)?;
        self.scalar_source(partial, 0, f.src0, row.src[0])?;
        if row.src[1] == Ty::None {
            // `s_set_gpr_idx_on` has an immediate.
            partial.inst.imm = f.src1;
            return Ok(());
        }
        self.scalar_source(partial, 1, f.src1, row.src[1])
    }

    pub(super) fn sopk(&mut self, partial: &mut PartialInst, word: u32) -> Result<(), NotAnInstruction> {
        let f = fields::Sopk::of(self.target, word);
        let row = self.find(partial, Encoding::Sopk, f.op)?;
        self.scalar_result(partial, row, f.sdst);
        // The immediate is sign-extended. Executors of unsigned comparisons and of hardware registers use the low half.
        partial.inst.imm = f.simm as i16 as u32;
        if row.flags & LIT != 0 {
            let value = self.literal(partial)?;
            partial.inst.src[0] = self.constant(partial, 0, u64::from(value), false);
        }
        debug_assert!(row.flags & ACC == 0);
        Ok(())
    }

    pub(super) fn sopp(&mut self, partial: &mut PartialInst, word: u32) -> Result<(), NotAnInstruction> {
        let f = fields::Sopp::of(self.target, word);
        self.find(partial, Encoding::Sopp, f.op)?;
        partial.inst.imm = f.simm as i16 as u32;
        Ok(())
    }

    /// Decodes SMEM. `dst` is the first SGPR of the data, `src[0]` that of the base, `sdst` the SGPR with an offset or
    /// `NONE`, `imm` the signed 21-bit offset.
    pub(super) fn smem(&mut self, partial: &mut PartialInst, long: u64) -> Result<(), NotAnInstruction> {
        let f = fields::Smem::of(self.target, long);
        let row = self.find(partial, Encoding::Smem, f.op)?;
        let base = if row.is(DESCRIPTOR) { Ty::Wide(4) } else { Ty::B64 };
        let dst = match row.dst {
            Ty::None => self.scalar(f.sdata, row.src[0]),
            ty => self.scalar_destination(f.sdata, ty),
        };
        let i = &mut partial.inst;
        i.src[0] = self.scalar(f.sbase * 2, base);
        i.dst = dst;
        if self.target.is_rdna() {
            // Both offsets are always there; the register may be the one that reads as 0.
            i.imm = f.signed_offset() as u32;
            i.sdst = if Some(f.soffset) == self.null() { NONE } else { self.scalar(f.soffset, Ty::B32) };
        } else {
            i.imm = if f.imm { f.signed_offset() as u32 } else { 0 };
            i.sdst = f.offset_register().map_or(NONE, |register| register as u16);
        }
        i.flags |= flag::where_set([(flag::GLC, f.glc)]) | flag::of_generation(self.target.generation());
        Ok(())
    }
}
