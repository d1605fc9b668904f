//! VOPD: two operations of vector registers in one instruction.

use super::super::operand::Operand;
use super::super::text::Text;
use super::super::words::{NotAnInstruction, Words};
use crate::encoding::Encoding;
use crate::fields;
use crate::row::Ty;
use crate::row::flags::{LIT, LIT_FACTOR};
use crate::target::WaveSize;

impl Words {
    pub(in super::super) fn vopd(&mut self, t: &mut Text<'_>) -> Result<(), NotAnInstruction> {
        let f = fields::Vopd::of(self.target, self.long()?);
        // Waves of 64 lanes have no such instructions.
        if self.wave == WaveSize::Wave64 {
            return Err(NotAnInstruction);
        }
        self.half(t, f.op_x, [f.vdst_x, f.src0_x, f.src1_x])?;
        let first = self.found.get();
        t.joint();
        let vdst_y = f.vdst_y << 1 | !f.vdst_x & 1;
        self.half(t, f.op_y, [vdst_y, f.src0_y, f.src1_y])?;
        self.found.set(first);
        Ok(())
    }

    /// Appends one of the two operations, with the codes of its destination and its sources.
    fn half(&mut self, t: &mut Text<'_>, op: u32, codes: [u32; 3]) -> Result<(), NotAnInstruction> {
        let row = self.row(Encoding::Vopd, op)?;
        let [vdst, src0, src1] = codes;
        t.mnemonic(row.name, "");
        t.try_operand(self.vector(vdst, 1, false))?;
        t.try_operand(self.short_source(src0, row.src[0]))?;
        let literal = if row.is(LIT) { Some(Operand::Hex(u64::from(self.literal()?))) } else { None };
        if let Some(literal) = literal.filter(|_| row.is(LIT_FACTOR)) {
            t.operand(literal);
        }
        if row.src[1] != Ty::None {
            t.try_operand(self.vector(src1, 1, false))?;
        } else {
            self.reserved(src1 != 0)?;
        }
        if let Some(literal) = literal.filter(|_| !row.is(LIT_FACTOR)) {
            t.operand(literal);
        }
        Ok(())
    }
}
