//! FLAT, GLOBAL and SCRATCH of gfx11.

use super::super::memory::OFF;
use super::super::text::Text;
use super::super::words::{NotAnInstruction, Words};
use crate::encoding::Encoding;
use crate::fields;
use crate::row::Ty;
use crate::row::flags::ATOMIC;

/// The code of `null`, which as an address stands for none.
const NULL: u32 = 124;

impl Words {
    pub(in super::super) fn segment(&mut self, t: &mut Text<'_>) -> Result<(), NotAnInstruction> {
        let f = fields::Flat::of(self.target, self.long()?);
        let encoding = f.encoding().ok_or(NotAnInstruction)?;
        let row = self.row(encoding, f.op)?;
        t.mnemonic(row.name, "");
        if row.dst != Ty::None && (!row.is(ATOMIC) || f.glc) {
            t.try_operand(self.vector(f.vdst, self.dwords(row.dst), false))?;
        }
        let saddr = (encoding != Encoding::Flat && f.saddr != NULL).then_some(f.saddr);
        let (has_vaddr, wide) = match encoding {
            Encoding::Scratch => (f.sve, false),
            _ => (true, saddr.is_none()),
        };
        match has_vaddr {
            true => t.try_operand(self.vector(f.addr, if wide { 2 } else { 1 }, false))?,
            false => t.operand(OFF),
        }
        if row.src[0] != Ty::None {
            t.try_operand(self.vector(f.data, self.dwords(row.src[0]), false))?;
        }
        match saddr {
            _ if encoding == Encoding::Flat => {}
            Some(code) => t.try_operand(self.scalar(code, if encoding == Encoding::Global { 2 } else { 1 }))?,
            None => t.operand(OFF),
        }
        if f.signed_offset() != 0 {
            t.modifier(format_args!("offset:{}", f.signed_offset()));
        }
        for (set, name) in [(f.glc, "glc"), (f.slc, "slc"), (f.dlc, "dlc")] {
            t.flag(set, name);
        }
        Ok(())
    }
}
