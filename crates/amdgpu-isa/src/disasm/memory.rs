//! Disassembles DS, FLAT, GLOBAL, SCRATCH, MUBUF and MTBUF.

use super::gfx11::names;
use super::operand::{Operand, any_vector};
use super::symbolic::{Swizzle, buffer_format};
use super::text::Text;
use super::words::{NotAnInstruction, Words};
use crate::encoding::Encoding;
use crate::fields;
use crate::row::flags::{ATOMIC, BY_LANE, D16, FLOAT, FORMAT, GWS, LOAD, TO_LDS, TWO};
use crate::row::{Row, Ty};
use crate::target::Target;

/// Stands in the text for an address or a register that the instruction doesn't have.
pub(super) const OFF: Operand = Operand::Named("off");

/// Returns whether the instruction is one of RDNA that needs the GDS bit: it orders waves, or accesses registers of GDS.
fn orders(row: &Row) -> bool {
    row.name == "ds_ordered_count" || row.name.contains("_gs_reg_")
}

/// Returns whether the instruction is a load that can store to LDS.
pub(super) fn loads_to_lds(row: &Row, target: Target) -> bool {
    row.is(LOAD)
        && !row.is(D16 | TO_LDS | BY_LANE)
        && (row.dst.dwords() == 1 || target == Target::Gfx950 && !row.is(FORMAT) && row.dst.dwords() > 2)
}

impl Words {
    /// Returns the data operand. With `free`, AGPRs may start at any register, as LLVM 22 allows for some instructions.
    fn data(&self, first: u32, ty: Ty, acc: bool, free: bool) -> Result<Operand, NotAnInstruction> {
        match acc && free {
            true => any_vector(first, self.dwords(ty), acc),
            false => self.vector(first, self.dwords(ty), acc),
        }
    }

    pub(super) fn ds(&mut self, t: &mut Text<'_>) -> Result<(), NotAnInstruction> {
        let f = fields::Ds::of(self.target, self.long()?);
        let row = self.row(Encoding::Ds, f.op)?;
        let (acc, gds) = (f.acc, f.gds);
        let is_gws = row.is(GWS);
        // gfx12 has no GDS.
        self.reserved(gds && self.target.is_gfx12())?;
        let permutes = matches!(row.name, "ds_permute_b32" | "ds_bpermute_b32");
        let free = row.is(ATOMIC) && row.dst != Ty::None || row.src[2] != Ty::None;
        t.mnemonic(row.name, "");
        if row.dst != Ty::None {
            t.try_operand(self.data(f.vdst, row.dst, acc, free))?;
        } else {
            self.reserved(f.vdst != 0)?;
        }
        for (n, register) in [f.addr, f.data0, f.data1].into_iter().enumerate() {
            let ty = row.src[n];
            if ty != Ty::None {
                t.try_operand(self.data(register, ty, acc && (n > 0 || is_gws), free))?;
            } else {
                self.reserved(register != 0)?;
            }
        }
        let offset = f.offset;
        if row.name == "ds_nop" {
            return self.reserved((offset, gds, acc) != (0, false, false));
        }
        let no_data = row.src[0] == Ty::None && row.src[1] == Ty::None && row.dst == Ty::None;
        if (is_gws || orders(row)) && !gds {
            return Err(NotAnInstruction);
        }
        self.reserved(gds && permutes || acc && no_data)?;
        if offset != 0 {
            self.ds_offset(t, row, offset);
        }
        // gfx942 has no GDS; the bit is ignored.
        t.flag(gds && (!self.has_scopes() || is_gws), "gds");
        Ok(())
    }

    fn ds_offset(&self, t: &mut Text<'_>, row: &Row, offset: u32) {
        if row.is(TWO) {
            for (n, part) in [offset & 0xff, offset >> 8].into_iter().enumerate() {
                if part != 0 {
                    t.modifier(format_args!("offset{n}:{part}"));
                }
            }
        } else if row.name == "ds_swizzle_b32" {
            let swizzle = Swizzle { bits: offset as u16, gfx942: self.since_gfx942() };
            t.modifier(format_args!("offset:{swizzle}"));
        } else {
            t.modifier(format_args!("offset:{offset}"));
        }
    }

    /// Returns whether the cache policy has scopes, in place of the bits that say which caches to bypass.
    fn has_scopes(&self) -> bool {
        self.target.has_gfx942_instructions()
    }

    /// Appends the cache policy bits, with the target's names for them.
    fn cache_policy(&self, t: &mut Text<'_>, glc: bool, slc: bool, scc: bool) {
        let names = if self.has_scopes() { ["sc0", "nt", "sc1"] } else { ["glc", "slc", "scc"] };
        for (set, name) in [glc, slc, scc].into_iter().zip(names) {
            t.flag(set, name);
        }
    }

    pub(super) fn flat(&mut self, t: &mut Text<'_>) -> Result<(), NotAnInstruction> {
        let f = fields::Flat::of(self.target, self.long()?);
        let encoding = f.encoding().ok_or(NotAnInstruction)?;
        let row = self.row(encoding, f.op)?;
        t.mnemonic(row.name, "");
        let (acc, glc, slc, scc) = (f.acc, f.glc, f.slc, f.scc);
        // On gfx942, SCRATCH has the bit for vaddr in place of the LDS bit.
        let lds_or_vaddr = f.lds;
        let lds = lds_or_vaddr && (encoding != Encoding::Scratch || !self.since_gfx942());
        let atomic = row.is(ATOMIC);
        let returns = row.dst != Ty::None && (!atomic || glc);
        let no_lds =
            lds && (self.since_gfx942() || encoding == Encoding::Flat || !loads_to_lds(row, self.target));
        self.reserved(lds && no_lds)?;
        // Atomics of floats have no scc bit on gfx90a.
        self.reserved(scc && !self.since_gfx942() && row.is(FLOAT))?;
        self.reserved(acc && (lds || row.is(TO_LDS)))?;
        self.reserved(encoding == Encoding::Flat && f.saddr != 0)?;
        let lds = lds && !no_lds;
        if self.since_gfx942() && acc && glc {
            // LLVM 22 has no AGPR forms of these.
            let narrow_float = row.name == "global_atomic_add_f32" || row.name == "global_atomic_pk_add_f16";
            let double = row.is(FLOAT) && row.bytes() == 8;
            self.reserved(narrow_float || double && scc)?;
        }
        if returns && !lds {
            t.try_operand(self.data(f.vdst, row.dst, acc, atomic))?;
        }
        let saddr = match (encoding, f.saddr) {
            (Encoding::Flat, _) | (_, 0x7f) => None,
            (_, code) => Some(code),
        };
        let has_vaddr = match encoding {
            Encoding::Scratch if self.since_gfx942() => lds_or_vaddr,
            Encoding::Scratch => saddr.is_none(),
            _ => true,
        };
        let wide = encoding != Encoding::Scratch && saddr.is_none();
        match has_vaddr {
            true => t.try_operand(self.vector(f.addr, if wide { 2 } else { 1 }, false))?,
            false => t.operand(OFF),
        }
        if row.src[0] != Ty::None {
            t.try_operand(self.data(f.data, row.src[0], acc, atomic && glc))?;
        }
        match saddr {
            _ if encoding == Encoding::Flat => {}
            // LLVM 22 doesn't accept EXEC as an address.
            Some(126) if self.since_gfx942() && encoding == Encoding::Global && !row.is(TO_LDS) => {
                return Err(NotAnInstruction);
            }
            Some(code) => {
                t.try_operand(self.scalar(code, if encoding == Encoding::Global { 2 } else { 1 }))?
            }
            None => t.operand(OFF),
        }
        let offset = match encoding {
            Encoding::Flat => f.offset as i32,
            _ => f.signed_offset(),
        };
        if offset != 0 {
            t.modifier(format_args!("offset:{offset}"));
        }
        self.cache_policy(t, glc, slc, scc);
        t.flag(lds, "lds");
        Ok(())
    }

    /// Appends the data, address, descriptor and offsets of a buffer instruction.
    fn buffer(
        &self,
        t: &mut Text<'_>,
        row: &Row,
        f: fields::Buffer,
        format: Option<String>,
        lds: bool,
    ) -> Result<(), NotAnInstruction> {
        self.reserved(f.nv)?;
        // The highest bit of 24 must be clear.
        if f.offset > 0x7f_ffff {
            return Err(NotAnInstruction);
        }
        let data = if row.src[0] == Ty::None { row.dst } else { row.src[0] };
        if !lds {
            let status = u32::from(f.tfe);
            t.try_operand(self.vector(f.vdata, self.dwords(data) + status, f.acc))?;
        }
        match (f.offen, f.idxen) {
            (false, false) => t.operand(OFF),
            // LLVM 22 allows those of MTBUF to start at any register.
            (true, true) if row.encoding() == Some(Encoding::Mtbuf) => {
                t.try_operand(any_vector(f.vaddr, 2, false))?;
            }
            (true, true) => t.try_operand(self.vector(f.vaddr, 2, false))?,
            _ => t.try_operand(self.vector(f.vaddr, 1, false))?,
        }
        t.try_operand(self.tuple(f.srsrc * 4 + f.srsrc_low, 4))?;
        t.try_operand(self.scalar_source(f.soffset, Ty::B32))?;
        if let Some(format) = format {
            t.modifier(format);
        }
        t.flag(f.idxen, "idxen");
        t.flag(f.offen, "offen");
        if f.offset != 0 {
            t.modifier(format_args!("offset:{}", f.offset));
        }
        Ok(())
    }

    /// Appends the cache policy of a buffer instruction.
    fn buffer_policy(&self, t: &mut Text<'_>, row: &Row, f: fields::Buffer, slc: bool, scc: bool) {
        if self.target.is_gfx12() {
            return self.hint_and_scope(t, row, f.th, f.scope);
        }
        self.cache_policy(t, f.glc, slc, scc);
        t.flag(f.dlc, "dlc");
    }

    pub(super) fn mubuf(&mut self, t: &mut Text<'_>) -> Result<(), NotAnInstruction> {
        let long = self.whole()?;
        let (f, fields::Mubuf { scc, lds, slc, op }) =
            (fields::Buffer::of(self.target, long), fields::Mubuf::of(self.target, long));
        let row = self.row(Encoding::Mubuf, op)?;
        t.mnemonic(row.name, "");
        self.reserved(lds && !loads_to_lds(row, self.target))?;
        // Atomics of floats have no scc bit on gfx90a.
        self.reserved(scc && !self.since_gfx942() && row.is(FLOAT))?;
        let lds = lds && loads_to_lds(row, self.target);
        self.reserved((f.tfe || f.dlc && self.target.is_gfx10()) && row.is(ATOMIC))?;
        self.reserved(lds && (self.since_gfx942() && f.acc || f.tfe))?;
        if row.src[0] == Ty::None && row.dst == Ty::None {
            // Cache control has no operands. On gfx942 it has a scope.
            let of_l1 = matches!(row.name, "buffer_wbinvl1" | "buffer_wbinvl1_vol");
            let invalidates = of_l1 || row.name == "buffer_invl2";
            let acc = f.acc && !of_l1;
            self.reserved(f.offen || f.idxen || acc || invalidates && (f.glc || scc))?;
            self.reserved(self.target.is_rdna() && (f.glc || f.dlc || f.tfe))?;
            if self.has_scopes() {
                self.cache_policy(t, f.glc, false, scc);
            }
            return Ok(());
        }
        self.buffer(t, row, f, None, lds)?;
        self.buffer_policy(t, row, f, slc, scc);
        t.flag(f.tfe, "tfe");
        t.flag(lds, "lds");
        Ok(())
    }

    pub(super) fn mtbuf(&mut self, t: &mut Text<'_>) -> Result<(), NotAnInstruction> {
        let long = self.whole()?;
        let (f, typed) = (fields::Buffer::of(self.target, long), fields::Mtbuf::of(self.target, long));
        let row = self.row(Encoding::Mtbuf, typed.opcode())?;
        t.mnemonic(row.name, "");
        self.reserved(f.tfe)?;
        let format = match self.target.is_rdna() {
            true => names::buffer_format(typed.format, self.target),
            false => buffer_format(typed.format),
        };
        self.buffer(t, row, f, format, false)?;
        self.buffer_policy(t, row, f, typed.slc, typed.scc);
        t.flag(f.tfe, "tfe");
        Ok(())
    }
}
