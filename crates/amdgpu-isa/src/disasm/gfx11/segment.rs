//! FLAT, GLOBAL and SCRATCH of RDNA.

use super::super::memory::{OFF, loads_to_lds};
use super::super::text::Text;
use super::super::words::{NotAnInstruction, Words};
use crate::encoding::Encoding;
use crate::fields;
use crate::row::Ty;
use crate::row::flags::{ATOMIC, BY_LANE, TRANSPOSE};
use crate::target::WaveSize;

/// The code of SADDR in SCRATCH of gfx10 that stands for neither register. `null` stands for the vector register alone.
const NEITHER: u32 = 127;

impl Words {
    pub(in super::super) fn segment(&mut self, t: &mut Text<'_>) -> Result<(), NotAnInstruction> {
        let f = fields::Flat::of(self.target, self.whole()?);
        let encoding = f.encoding().ok_or(NotAnInstruction)?;
        let row = self.row(encoding, f.op)?;
        t.mnemonic(row.name, "");
        let gfx12 = self.target.is_gfx12();
        // gfx1250 has these bits.
        self.reserved(f.nv || f.scale_offset)?;
        if gfx12 && f.sve && encoding != Encoding::Scratch {
            return Err(NotAnInstruction);
        }
        if encoding == Encoding::Global && row.access().is_none() {
            // Cache control has no operands.
            self.hint_and_scope(t, row, f.th, f.scope);
            return if f.saddr == self.null() { Ok(()) } else { Err(NotAnInstruction) };
        }
        let lds = f.lds && encoding != Encoding::Flat && loads_to_lds(row, self.target);
        self.reserved(f.lds && !lds)?;
        if row.dst != Ty::None && (!row.is(ATOMIC) || f.glc) && !lds {
            let shared = row.is(TRANSPOSE) && self.wave == WaveSize::Wave64;
            let registers = if shared { self.dwords(row.dst) / 2 } else { self.dwords(row.dst) };
            t.try_operand(self.vector(f.vdst, registers, false))?;
        }
        self.reserved(f.reserved || encoding == Encoding::Flat && f.saddr != self.null())?;
        // In SCRATCH of gfx10, the scalar register decides whether there is a vector register.
        let decides = encoding == Encoding::Scratch && self.target.is_gfx10();
        let is_scalar =
            encoding != Encoding::Flat && f.saddr != self.null() && !(decides && f.saddr == NEITHER);
        let saddr = is_scalar.then_some(f.saddr);
        let (has_vaddr, wide) = match encoding {
            Encoding::Scratch if decides => (f.saddr == self.null(), false),
            Encoding::Scratch => (f.sve, false),
            _ => (true, saddr.is_none()),
        };
        match has_vaddr {
            _ if row.is(BY_LANE) => {}
            true => t.try_operand(self.vector(f.addr, if wide { 2 } else { 1 }, false))?,
            false => t.operand(OFF),
        }
        if row.src[0] != Ty::None {
            t.try_operand(self.vector(f.data, self.dwords(row.src[0]), false))?;
        }
        match saddr {
            _ if encoding == Encoding::Flat => {}
            // EXEC can't be an address, but its low half can. LLVM allows it where there is no vector register.
            Some(126) if encoding == Encoding::Global && !row.is(BY_LANE) && !lds => {
                return Err(NotAnInstruction);
            }
            Some(127) => return Err(NotAnInstruction),
            Some(code) => {
                t.try_operand(self.scalar(code, if encoding == Encoding::Global { 2 } else { 1 }))?
            }
            None => t.operand(OFF),
        }
        let offset = if encoding == Encoding::Flat && !gfx12 { f.offset as i32 } else { f.signed_offset() };
        if offset != 0 {
            t.modifier(format_args!("offset:{offset}"));
        }
        if gfx12 {
            self.hint_and_scope(t, row, f.th, f.scope);
            return Ok(());
        }
        for (set, name) in [(f.glc, "glc"), (f.slc, "slc"), (f.dlc, "dlc")] {
            t.flag(set, name);
        }
        t.flag(lds, "lds");
        Ok(())
    }
}
