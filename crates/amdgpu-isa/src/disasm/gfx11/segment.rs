//! FLAT, GLOBAL and SCRATCH of gfx11 and gfx12.

use super::super::memory::OFF;
use super::super::text::Text;
use super::super::words::{NotAnInstruction, Words};
use crate::encoding::Encoding;
use crate::fields;
use crate::row::Ty;
use crate::row::flags::{ATOMIC, BY_LANE, TRANSPOSE};
use crate::target::WaveSize;

/// The code of `null`, which as an address stands for none.
const NULL: u32 = 124;

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
            return if f.saddr == NULL { Ok(()) } else { Err(NotAnInstruction) };
        }
        if row.dst != Ty::None && (!row.is(ATOMIC) || f.glc) {
            let shared = row.is(TRANSPOSE) && self.wave == WaveSize::Wave64;
            let registers = if shared { self.dwords(row.dst) / 2 } else { self.dwords(row.dst) };
            t.try_operand(self.vector(f.vdst, registers, false))?;
        }
        self.reserved(encoding == Encoding::Flat && f.saddr != NULL)?;
        let saddr = (encoding != Encoding::Flat && f.saddr != NULL).then_some(f.saddr);
        let (has_vaddr, wide) = match encoding {
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
            // EXEC can't be an address, but its low half can.
            Some(126) if encoding == Encoding::Global && !row.is(BY_LANE) => return Err(NotAnInstruction),
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
        Ok(())
    }
}
