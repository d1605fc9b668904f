//! Decoding of DS, FLAT, GLOBAL, SCRATCH, MUBUF and MTBUF.

use super::{Bad, Decoder, Draft, aligned};
use crate::inst::{NONE, flag};
use crate::tables::{Encoding, Target, Ty};
use crate::wave::AGPR;

impl Decoder<'_> {
    /// `src[0]` is the address, `src[1]` and `src[2]` data, `imm` the 16 offset bits (two of 8 for the two-address
    /// instructions).
    pub(super) fn ds(&mut self, draft: &mut Draft, long: u64) -> Result<(), Bad> {
        let field = |at: u32, bits: u32| (long >> at) as u32 & ((1 << bits) - 1);
        self.find(draft, Encoding::Ds, field(17, 8))?;
        // gfx90a's acc bit moves the data to AGPRs: LLVM's DSInstructions.td, DS_Real_vi, bit 25.
        let data = if field(25, 1) != 0 { AGPR } else { 0 };
        let i = &mut draft.inst;
        i.imm = field(0, 16);
        i.src = [field(32, 8) as u16, field(40, 8) as u16 + data, field(48, 8) as u16 + data];
        i.dst = field(56, 8) as u16 + data;
        if field(16, 1) != 0 {
            i.flags |= flag::GDS;
        }
        Ok(())
    }

    /// `src[0]` is the address (64 bits; 32 with `sdst` or in SCRATCH), `src[1]` data, `sdst` the SGPR with a base or
    /// none, `imm` the signed offset.
    pub(super) fn flat(&mut self, draft: &mut Draft, long: u64) -> Result<(), Bad> {
        let field = |at: u32, bits: u32| (long >> at) as u32 & ((1 << bits) - 1);
        let encoding = match field(14, 2) {
            0 => Encoding::Flat,
            1 => Encoding::Scratch,
            2 => Encoding::Global,
            _ => return Err(Bad),
        };
        self.find(draft, encoding, field(18, 7))?;
        let data = if field(55, 1) != 0 { AGPR } else { 0 };
        let i = &mut draft.inst;
        i.src = [field(32, 8) as u16, field(40, 8) as u16 + data, NONE];
        i.dst = field(56, 8) as u16 + data;
        i.sdst = match (encoding, field(48, 7)) {
            (Encoding::Flat, _) | (_, 0x7f) => NONE,
            (Encoding::Global, s) => aligned(s, Ty::B64),
            (_, s) => s as u16,
        };
        i.imm = match encoding {
            // Unsigned 12 bits for FLAT, signed 13 for the others: LLVM, `SIInstrInfo::splitFlatOffset`.
            Encoding::Flat => field(0, 12),
            _ => ((field(0, 13) << 19) as i32 >> 19) as u32,
        };
        // gfx90a's SCRATCH has a vaddr unless it has an saddr; gfx942's `sve` bit is where gfx90a has `lds`.
        let lds_or_sve = field(13, 1) != 0;
        if encoding == Encoding::Scratch && self.target == Target::Gfx942 {
            if lds_or_sve {
                i.flags |= flag::VADDR;
            }
        } else {
            if lds_or_sve && self.target == Target::Gfx90a && encoding != Encoding::Flat {
                i.flags |= flag::LDS;
            }
            if encoding == Encoding::Scratch && i.sdst == NONE {
                i.flags |= flag::VADDR;
            }
        }
        for (bit, at) in [(flag::GLC, 16), (flag::SLC, 17), (flag::SC1, 25)] {
            if field(at, 1) != 0 {
                i.flags |= bit;
            }
        }
        Ok(())
    }

    /// `src[0]` is vaddr (an index, an offset, or both), `src[1]` and `dst` data, `src[2]` the SGPR of the
    /// descriptor, `sdst` the scalar slot of the offset, `imm` the unsigned offset.
    fn buffer(&mut self, draft: &mut Draft, long: u64) -> Result<(), Bad> {
        let field = |at: u32, bits: u32| (long >> at) as u32 & ((1 << bits) - 1);
        let soffset = self.source(draft, 1, field(56, 8), Ty::B32)?;
        let crate::modifiers::Operand::Scalar(soffset) = soffset else { return Err(Bad) };
        let data = if field(55, 1) != 0 { AGPR } else { 0 };
        let i = &mut draft.inst;
        i.src = [field(32, 8) as u16, field(40, 8) as u16 + data, (field(48, 5) * 4) as u16];
        i.dst = i.src[1];
        i.sdst = soffset;
        i.imm = field(0, 12);
        for (bit, at) in [(flag::OFFEN, 12), (flag::IDXEN, 13), (flag::GLC, 14), (flag::SC1, 15)] {
            if field(at, 1) != 0 {
                i.flags |= bit;
            }
        }
        Ok(())
    }

    pub(super) fn mubuf(&mut self, draft: &mut Draft, long: u64) -> Result<(), Bad> {
        self.find(draft, Encoding::Mubuf, (long >> 18 & 0x7f) as u32)?;
        self.buffer(draft, long)?;
        for (bit, at) in [(flag::LDS, 16), (flag::SLC, 17)] {
            if long >> at & 1 != 0 {
                draft.inst.flags |= bit;
            }
        }
        Ok(())
    }

    pub(super) fn mtbuf(&mut self, draft: &mut Draft, long: u64) -> Result<(), Bad> {
        self.find(draft, Encoding::Mtbuf, (long >> 15 & 0xf) as u32)?;
        self.buffer(draft, long)
    }
}
