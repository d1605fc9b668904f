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
        let no_base = if self.target.has_gfx11_instructions() { 0x7c } else { 0x7f };
        i.sdst = match encoding {
            Encoding::Flat => NONE,
            _ if f.saddr == no_base => NONE,
            Encoding::Global => self.scalar(f.saddr, Ty::B64),
            _ => self.scalar(f.saddr, Ty::B32),
        };
        i.imm = match encoding {
            // 12 bits, unsigned, for FLAT; 13 bits, signed, for the others; on gfx12 24 bits, signed, for all: LLVM, `SIInstrInfo::splitFlatOffset`.
            Encoding::Flat if !self.target.is_gfx12() => f.offset & 0xfff,
            _ => f.signed_offset() as u32,
        };
        // On gfx90a, SCRATCH has a vaddr unless it has an saddr. On the others the bit `sve` says so; gfx90a has `lds` in its place.
        if self.target != Target::Gfx90a {
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
            (flag::GFX11, self.target.is_rdna()),
            (flag::GFX12, self.target.is_gfx12()),
            (flag::SC1, f.scope > 0),
        ]);
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
        self.find(partial, Encoding::Mtbuf, f.op)?;
        self.buffer(partial, fields::Buffer::of(self.target, long))?;
        partial.inst.flags |= flag::where_set([(flag::SLC, f.slc), (flag::SC1, f.scc)]);
        Ok(())
    }

    /// Decodes MIMG. `src[0]` is the first register of the address, `src[1]` and `dst` are the data, `src[2]` is the first SGPR of the
    /// image's descriptor, and `sdst` that of the sampler's; the third dword of gfx11, if there is one, names the other registers of the
    /// address.
    pub(super) fn mimg(&mut self, partial: &mut PartialInst, long: u128) -> Result<(), NotAnInstruction> {
        let f = fields::Mimg::of(self.target, long);
        let row = self.find(partial, Encoding::Mimg, f.op)?;
        if f.nsa {
            self.literal(partial)?;
        }
        let data = if f.acc { AGPR } else { 0 };
        let i = &mut partial.inst;
        i.src = [f.vaddr as u16, f.vdata as u16 + data, (f.srsrc * 4) as u16];
        i.dst = i.src[1];
        i.sdst = if SampleForm::of(row).is_some() { (f.ssamp * 4) as u16 } else { NONE };
        i.flags |= flag::where_set([
            (flag::GLC, f.glc),
            (flag::SLC, f.slc),
            (flag::SC1, f.scc),
            (flag::GFX11, self.target.is_gfx11()),
        ]);
        Ok(())
    }
}
