//! The matrix instructions of gfx12: WMMA, and SWMMAC, whose first matrix is sparse.

use super::super::modifiers::Bits;
use super::super::text::Text;
use super::super::words::{NotAnInstruction, Words};
use crate::fields;
use crate::row::flags::SPARSE;
use crate::row::{Row, Ty};
use crate::target::WaveSize;

/// The code of a source for a literal, which follows the instruction.
const LITERAL: u32 = 255;

/// Returns the number of parts of the index register of a sparse matrix, one of which an instruction selects.
fn index_parts(row: &Row, wave: WaveSize) -> u32 {
    let wide = match row.name {
        "v_swmmac_i32_16x16x64_iu4" => return if wave == WaveSize::Wave64 { 2 } else { 1 },
        "v_swmmac_i32_16x16x32_iu4" => false,
        _ => wave == WaveSize::Wave64,
    };
    if wide { 4 } else { 2 }
}

/// Returns masks of the matrices whose signs `neg_lo` and `neg_hi` can change. Of integers, `neg_lo` says which are signed.
fn signs(row: &Row) -> (u32, u32) {
    let addend = if row.is(SPARSE) { 0 } else { 4 };
    if row.name.contains("_iu") {
        (3, 0)
    } else if row.name.contains("_fp8") || row.name.contains("_bf8") {
        (addend, addend)
    } else {
        (3 | addend, 3 | addend)
    }
}

impl Words {
    pub(in super::super) fn matrix_of_wave(
        &mut self,
        t: &mut Text<'_>,
        row: &Row,
        f: fields::Vop3p,
    ) -> Result<(), NotAnInstruction> {
        // The types are those of waves of 32, whose lanes have twice as many elements.
        let registers = |ty: Ty| match self.wave {
            WaveSize::Wave64 => self.dwords(ty).div_ceil(2),
            WaveSize::Wave32 => self.dwords(ty),
        };
        t.try_operand(self.vector(f.vdst, registers(row.dst), false))?;
        for (code, ty) in [(f.src0, row.src[0]), (f.src1, row.src[1])] {
            let first = code.checked_sub(256).ok_or(NotAnInstruction)?;
            t.try_operand(self.vector(first, registers(ty), false))?;
        }
        match f.src2 {
            256.. => t.try_operand(self.vector(f.src2 - 256, registers(row.src[2]), false))?,
            _ if row.is(SPARSE) => return Err(NotAnInstruction),
            128..=208 | 240..=248 => t.try_operand(self.source(f.src2, Ty::B32))?,
            LITERAL => {
                let value = self.literal()?;
                let ty = match row.name.split('_').nth(2) {
                    Some("f16") => Ty::F16,
                    Some("bf16") => Ty::Bf16,
                    _ => Ty::B32,
                };
                t.operand(self.literal_operand(value, ty));
            }
            _ => return Err(NotAnInstruction),
        }
        let parts = if row.is(SPARSE) { index_parts(row, self.wave) } else { 1 };
        let (neg_lo, neg_hi) = signs(row);
        self.reserved(f.op_sel >= parts || f.op_sel_hi() != 7)?;
        self.reserved(f.neg_lo & !neg_lo != 0 || f.neg_hi & !neg_hi != 0)?;
        self.reserved(f.clamp && !row.name.contains("_iu"))?;
        if parts > 1 && f.op_sel != 0 {
            t.modifier(format_args!("index_key:{}", f.op_sel));
        }
        for (name, bits) in [("neg_lo", f.neg_lo & neg_lo), ("neg_hi", f.neg_hi & neg_hi)] {
            if bits != 0 {
                t.modifier(Bits { name, bits, count: 3 });
            }
        }
        t.flag(f.clamp && row.name.contains("_iu"), "clamp");
        Ok(())
    }
}
