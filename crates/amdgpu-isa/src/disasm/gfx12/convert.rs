//! The long forms of gfx12's conversions of eight-bit floats, which select the byte or the half of a register.

use super::super::modifiers::Bits;
use super::super::text::Text;
use super::super::words::{NotAnInstruction, Words};
use crate::row::Row;

impl Words {
    /// Appends the part of a register that a conversion of eight-bit floats reads or writes. Returns whether the instruction is one.
    pub(in super::super) fn converted_part(
        &self,
        t: &mut Text<'_>,
        row: &Row,
        op_sel: u32,
        controlled: bool,
    ) -> Result<bool, NotAnInstruction> {
        if !self.target.is_gfx12() {
            return Ok(false);
        }
        let byte = match row.name {
            // With a control dword, LLVM ignores bits without meaning. The bits of the byte's number are in reverse.
            "v_cvt_f32_fp8" | "v_cvt_f32_bf8" => {
                self.reserved(op_sel & 12 != 0 && !controlled)?;
                (op_sel & 1) << 1 | op_sel >> 1 & 1
            }
            "v_cvt_sr_fp8_f32" | "v_cvt_sr_bf8_f32" => {
                self.reserved(op_sel & 3 != 0 && !controlled)?;
                op_sel >> 2
            }
            "v_cvt_pk_f32_fp8" | "v_cvt_pk_f32_bf8" => {
                self.reserved(op_sel & 6 != 0)?;
                if op_sel & 9 != 0 {
                    t.modifier(Bits { name: "op_sel", bits: op_sel & 1 | op_sel >> 3 << 1, count: 2 });
                }
                return Ok(true);
            }
            _ => return Ok(false),
        };
        if byte != 0 {
            t.modifier(format_args!("byte_sel:{byte}"));
        }
        Ok(true)
    }
}
