//! Decoding of DS, FLAT, GLOBAL, SCRATCH, MUBUF, MTBUF and MIMG.

use amdgpu_isa::{Encoding, SampleForm, Target, Ty, fields};

use super::decoder::{Decoder, NotAnInstruction, PartialInst};
use crate::exec::ds::NoGds;
use crate::exec::inst::{NONE, flag};
use crate::exec::level::same;
use crate::state::wave::AGPR;

impl Decoder<'_> {
    /// Decodes DS. `src[0]` is the address, `src[1]` and `src[2]` are data, `imm` is the 16-bit offset (two 8-bit
    /// offsets for instructions with two addresses).
    pub(super) fn ds(&mut self, partial: &mut PartialInst, long: u64) -> Result<(), NotAnInstruction> {
        let f = fields::Ds::of(self.target, long);
        let row = self.find(partial, Encoding::Ds, f.op)?;
        // gfx90a's acc bit moves the data to AGPRs: LLVM's DSInstructions.td, DS_Real_vi, bit 25.
        let data = if f.acc { AGPR } else { 0 };
        let i = &mut partial.inst;
        i.imm = f.offset;
        i.src = [f.addr as u16, f.data0 as u16 + data, f.data1 as u16 + data];
        i.dst = f.vdst as u16 + data;
        if f.gds {
            i.flags |= flag::GDS;
            if row.access().is_some() {
                i.exec = self.executor(same::<NoGds>());
            }
        }
        Ok(())
    }

    /// Decodes FLAT, GLOBAL and SCRATCH. `src[0]` is the address (64 bits; 32 bits if there is an `sdst`, or in
    /// SCRATCH), `src[1]` the data, `sdst` the SGPR with a base or `NONE`, `imm` the offset.
    pub(super) fn flat(&mut self, partial: &mut PartialInst, long: u128) -> Result<(), NotAnInstruction> {
        let f = fields::Flat::of(self.target, long);
        let encoding = f.encoding().ok_or(NotAnInstruction)?;
        self.find(partial, encoding, f.op)?;
        let data = if f.acc { AGPR } else { 0 };
        let i = &mut partial.inst;
        i.src = [f.addr as u16, f.data as u16 + data, NONE];
        i.dst = f.vdst as u16 + data;
        i.sdst = match encoding {
            Encoding::Flat => NONE,
            _ if Some(f.saddr) == self.null() => NONE,
            // EXEC_HI says that there is no base on gfx9, and in SCRATCH of gfx10 that there is no vaddr either.
            _ if f.saddr == 0x7f => NONE,
            Encoding::Global => self.scalar(f.saddr, Ty::B64),
            _ => self.scalar(f.saddr, Ty::B32),
        };
        i.imm = match encoding {
            // 12 bits, on gfx10 11, unsigned, for FLAT; 13 bits, on gfx10 12, signed, for the others; on gfx12 24 bits, signed, for all: LLVM,
            // `SIInstrInfo::splitFlatOffset`.
            Encoding::Flat if self.target.is_gfx10() => f.offset & 0x7ff,
            Encoding::Flat if !self.target.is_gfx12() => f.offset & 0xfff,
            _ => f.signed_offset() as u32,
        };
        // On gfx90a, SCRATCH has a vaddr unless it has an saddr, and on gfx10 if its saddr is NULL. On the others the bit `sve` says so;
        // gfx90a and gfx10 have `lds` in its place.
        if self.target.is_gfx10() {
            if f.lds {
                return Err(NotAnInstruction);
            }
            if encoding == Encoding::Scratch && Some(f.saddr) == self.null() {
                i.flags |= flag::VADDR;
            }
        } else if self.target != Target::Gfx90a {
            if encoding == Encoding::Scratch && f.sve {
                i.flags |= flag::VADDR;
            }
        } else {
            if f.lds && encoding != Encoding::Flat {
                i.flags |= flag::LDS;
            }
            if encoding == Encoding::Scratch && i.sdst == NONE {
                i.flags |= flag::VADDR;
            }
        }
        let wider = f.scc || f.scope > 0;
        i.flags |= flag::where_set([(flag::GLC, f.glc), (flag::SLC, f.slc), (flag::SC1, wider)]);
        Ok(())
    }

    /// Decodes MUBUF and MTBUF. `src[0]` is vaddr (an index, an offset, or both), `src[1]` and `dst` are the data,
    /// `src[2]` is the first SGPR of the descriptor, `sdst` the scalar index of the scalar offset, `imm` the unsigned
    /// offset.
    fn buffer(&mut self, partial: &mut PartialInst, f: fields::Buffer) -> Result<(), NotAnInstruction> {
        let soffset = self.source(partial, 1, f.soffset, Ty::B32)?;
        let crate::exec::operand::Operand::Scalar(soffset) = soffset else { return Err(NotAnInstruction) };
        let data = if f.acc { AGPR } else { 0 };
        let i = &mut partial.inst;
        i.src = [f.vaddr as u16, f.vdata as u16 + data, (f.srsrc * 4) as u16];
        i.dst = i.src[1];
        i.sdst = soffset;
        i.imm = f.offset;
        i.flags |= flag::where_set([
            (flag::OFFEN, f.offen),
            (flag::IDXEN, f.idxen),
            (flag::GLC, f.glc),
            (flag::SC1, f.scope > 0),
        ]);
        i.flags |= flag::of_generation(self.target.generation());
        Ok(())
    }

    pub(super) fn mubuf(&mut self, partial: &mut PartialInst, long: u128) -> Result<(), NotAnInstruction> {
        let f = fields::Mubuf::of(self.target, long);
        self.find(partial, Encoding::Mubuf, f.op)?;
        self.buffer(partial, fields::Buffer::of(self.target, long))?;
        partial.inst.flags |= flag::where_set([
            (flag::LDS, f.lds),
            (flag::SLC, f.slc),
            (flag::SC1, f.scc),
            (flag::WIDE_M0, self.target == Target::Gfx950),
        ]);
        Ok(())
    }

    pub(super) fn mtbuf(&mut self, partial: &mut PartialInst, long: u128) -> Result<(), NotAnInstruction> {
        let f = fields::Mtbuf::of(self.target, long);
        self.find(partial, Encoding::Mtbuf, f.opcode())?;
        self.buffer(partial, fields::Buffer::of(self.target, long))?;
        partial.inst.flags |= flag::where_set([(flag::SLC, f.slc), (flag::SC1, f.scc)]);
        Ok(())
    }

    /// Decodes MIMG. `src[0]` is the first register of the address, `src[1]` and `dst` are the data, `src[2]` is the first SGPR of the
    /// image's descriptor, and `sdst` that of the sampler's. Further dwords, one on gfx11 and up to three on gfx10, name the other registers
    /// of the address: they are in `raw`, and on gfx10 in `imm` and `target`.
    pub(super) fn mimg(&mut self, partial: &mut PartialInst, long: u128) -> Result<(), NotAnInstruction> {
        let f = fields::Mimg::read(self.target, long);
        let row = self.find(partial, Encoding::Mimg, f.opcode())?;
        let has_sampler = SampleForm::of(row).is_some();
        if self.target.is_gfx12() && has_sampler != f.is_vsample {
            return Err(NotAnInstruction);
        }
        for n in 0..f.nsa_dwords {
            let at = partial.inst.pc as usize + partial.len;
            let dword = *self.words.get(at).ok_or(NotAnInstruction)?;
            match n {
                0 => partial.inst.raw[2] = dword,
                1 => partial.inst.imm = dword,
                _ => partial.inst.target = dword,
            }
            partial.len += 1;
        }
        let data = if f.acc { AGPR } else { 0 };
        let i = &mut partial.inst;
        i.src = [f.vaddr as u16, f.vdata as u16 + data, (f.srsrc * 4) as u16];
        i.dst = i.src[1];
        i.sdst = if has_sampler { (f.ssamp * 4) as u16 } else { NONE };
        i.flags |=
            flag::where_set([(flag::GLC, f.glc), (flag::SLC, f.slc), (flag::SC1, f.scc || f.scope > 0)]);
        i.flags |= flag::of_generation(self.target.generation());
        Ok(())
    }
}
