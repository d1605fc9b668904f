//! The matrix instructions of gfx11 (WMMA).

use super::super::modifiers::Bits;
use super::super::text::Text;
use super::super::words::{NotAnInstruction, Words};
use crate::fields;
use crate::row::{Row, Ty};
use crate::target::WaveSize;

impl Words {
    pub(in super::super) fn wmma(
        &self,
        t: &mut Text<'_>,
        row: &Row,
        f: fields::Vop3p,
    ) -> Result<(), NotAnInstruction> {
        let integers = row.name.contains("_iu");
        let halves = row.name.starts_with("v_wmma_f16") || row.name.starts_with("v_wmma_bf16");
        // The lanes of a wave of 64 each have half of the sums.
        let sums = match self.wave {
            WaveSize::Wave32 => self.dwords(row.dst),
            WaveSize::Wave64 => self.dwords(row.dst) / 2,
        };
        t.try_operand(self.vector(f.vdst, sums, false))?;
        for (code, ty) in [(f.src0, row.src[0]), (f.src1, row.src[1])] {
            let first = code.checked_sub(256).ok_or(NotAnInstruction)?;
            t.try_operand(self.vector(first, self.dwords(ty), false))?;
        }
        match (f.src2, integers, halves) {
            (256.., ..) => t.try_operand(self.vector(f.src2 - 256, sums, false))?,
            (128..=208 | 240..=248, false, true) => t.try_operand(self.source(f.src2, Ty::F16))?,
            (128..=208 | 240..=248, ..) => t.try_operand(self.source(f.src2, Ty::B32))?,
            _ => return Err(NotAnInstruction),
        }
        // Of the sums, op_sel selects the half that has them; of A and B it has no meaning.
        self.reserved(f.op_sel & if halves { 3 } else { 7 } != 0 || f.clamp && !integers)?;
        let op_sel = if halves { f.op_sel & 4 } else { 0 };
        let (neg_lo, neg_hi) = (f.neg_lo, f.neg_hi);
        self.reserved(integers && (neg_lo | neg_hi) & 4 != 0)?;
        // Only these have the bits for the other half.
        let op_sel_hi = if halves { f.op_sel_hi() } else { 7 };
        let lists = [
            ("op_sel", op_sel, 0),
            ("op_sel_hi", op_sel_hi, 7),
            ("neg_lo", neg_lo, 0),
            ("neg_hi", neg_hi, 0),
        ];
        for (name, bits, usual) in lists {
            if bits != usual {
                t.modifier(Bits { name, bits, count: 3 });
            }
        }
        t.flag(f.clamp && integers, "clamp");
        Ok(())
    }
}
