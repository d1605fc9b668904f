//! The matrix instructions of gfx11 (WMMA).

use super::super::modifiers::Bits;
use super::super::text::Text;
use super::super::words::{NotAnInstruction, Words};
use crate::fields;
use crate::row::{Row, Ty};
use crate::target::WaveSize;

/// The code of a source for a literal, which follows the instruction.
const LITERAL: u32 = 255;

impl Words {
    pub(in super::super) fn wmma(
        &mut self,
        t: &mut Text<'_>,
        row: &Row,
        f: fields::Vop3p,
    ) -> Result<(), NotAnInstruction> {
        let integers = row.name.contains("_iu");
        let halves = row.name.starts_with("v_wmma_f16") || row.name.starts_with("v_wmma_bf16");
        // The lanes of a wave of 64 each have half of the sums.
        let wide = self.wave == WaveSize::Wave64;
        let sums = if wide { self.dwords(row.dst) / 2 } else { self.dwords(row.dst) };
        t.try_operand(self.vector(f.vdst, sums, false))?;
        for (code, ty) in [(f.src0, row.src[0]), (f.src1, row.src[1])] {
            let first = code.checked_sub(256).ok_or(NotAnInstruction)?;
            t.try_operand(self.vector(first, self.dwords(ty), false))?;
        }
        match f.src2 {
            256.. => t.try_operand(self.vector(f.src2 - 256, sums, false))?,
            // LLVM prints those for waves of 32 as if they had 64 bits.
            128..=208 | 240..=248 if wide => t.try_operand(self.source(f.src2, Ty::B32))?,
            128..=208 | 240..=248 => t.try_operand(self.source(f.src2, Ty::B64))?,
            LITERAL => {
                let value = self.literal()?;
                t.operand(self.literal_operand(value, if wide { Ty::B32 } else { Ty::F64 }));
            }
            _ => return Err(NotAnInstruction),
        }
        // In the third place, op_sel selects the half of each register that has a sum of 16 bits.
        self.reserved(!halves && f.op_sel != 0 || f.clamp && !integers)?;
        let op_sel = if halves { f.op_sel } else { 0 };
        let (neg_lo, neg_hi) = (f.neg_lo, f.neg_hi);
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
