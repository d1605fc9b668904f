//! VOP3P: packed and mixed-precision arithmetic, dot products, and the matrix instructions.

use super::modifiers::{Bits, Modified};
use super::text::Text;
use super::words::{NotAnInstruction, Words};
use crate::encoding::Encoding;
use crate::fields;
use crate::row::flags::{DOT, DOUBLE, F8F6F4, MATRIX, SPARSE, WMMA};
use crate::row::{Row, Ty};

/// The code of a source for a literal, which follows the instruction.
const LITERAL: u32 = 255;

impl Words {
    pub(super) fn vop3p(&mut self, t: &mut Text<'_>) -> Result<(), NotAnInstruction> {
        let long = self.long()?;
        let f = fields::Vop3p::of(self.target, long);
        let row = self.row(Encoding::Vop3p, f.op)?;
        if row.name == "v_mfma_ld_scale_b32" {
            return self.scale(t, f);
        }
        if row.is(WMMA) {
            t.mnemonic(row.name, "");
            return if self.target.is_gfx12() {
                self.matrix_of_wave(t, row, f)
            } else {
                self.wmma(t, row, f)
            };
        }
        let control = self.long_control(f.src0)?;
        if control.is_some() {
            self.can_be_controlled(row)?;
        }
        t.mnemonic(row.name, if control.is_some() { "_e64_dpp" } else { "" });
        if row.is(MATRIX) {
            return self.matrix(t, row, fields::Mai::of(self.target, long));
        }
        let count = row.src.iter().filter(|ty| **ty != Ty::None).count() as u32;
        let unused = f.src().into_iter().skip(count as usize).any(|code| code != 0);
        self.reserved(!self.since_gfx942() && unused)?;
        let all = (1 << count) - 1;
        let (neg_lo, neg_hi, op_sel, op_sel_hi) = (f.neg_lo, f.neg_hi, f.op_sel, f.op_sel_hi() & all);
        if matches!(row.name, "v_accvgpr_read_b32" | "v_accvgpr_write_b32") {
            self.reserved(neg_lo | neg_hi | op_sel != 0)?;
            return self.accumulation_register(t, row, f);
        }
        // In LLVM 22, dot products of bytes and nibbles have no op_sel.
        let whole = self.since_gfx942() && row.is(DOT) && row.src[0] == Ty::B32;
        if row.name.starts_with("v_dot4_f32_") {
            // Only the addend has a sign that can be changed.
            self.reserved((neg_lo | neg_hi) & 3 != 0 || op_sel_hi != 7 || f.clamp)?;
        }
        let signs = if self.since_gfx942() { all } else { all & signs(row) };
        self.reserved((neg_lo | neg_hi) & !signs != 0 || op_sel & !all != 0 || whole && op_sel != 0)?;
        let (neg_lo, neg_hi, op_sel) = (neg_lo & all, neg_hi & all, op_sel & all);
        t.try_operand(self.vector(f.vdst, self.dwords(row.dst), false))?;
        let mixed = row.src[0] == Ty::Mix;
        for (n, code) in f.src().into_iter().enumerate().take(count as usize) {
            // LLVM 15 prints the half of a constant that packed integers use.
            let ty = match row.src[n] {
                Ty::P16I if !self.since_gfx942() => Ty::I16,
                ty => ty,
            };
            let operand = match (code, control) {
                (..256, Some(_)) if n == 1 && mixed => return Err(NotAnInstruction),
                (_, Some(control)) if n == 0 => self.vector(control.register(), 1, false)?,
                (LITERAL, _) if self.target.is_rdna() => {
                    let value = self.literal()?;
                    self.literal_operand(value, ty)
                }
                _ => self.source(code, ty)?,
            };
            let bit = |mask: u32| mixed && mask >> n & 1 != 0;
            t.operand(Modified { operand, abs: bit(neg_hi), neg: bit(neg_lo), sext: false });
        }
        let usual = if mixed { 0 } else { all };
        if op_sel != 0 {
            t.modifier(Bits { name: "op_sel", bits: op_sel, count });
        }
        if op_sel_hi != usual && !whole {
            t.modifier(Bits { name: "op_sel_hi", bits: op_sel_hi, count });
        }
        if !mixed && neg_lo != 0 {
            t.modifier(Bits { name: "neg_lo", bits: neg_lo, count });
        }
        if !mixed && neg_hi != 0 {
            t.modifier(Bits { name: "neg_hi", bits: neg_hi, count });
        }
        t.flag(f.clamp, "clamp");
        if let Some(control) = control {
            t.modifier(control);
        }
        Ok(())
    }

    /// Appends the operands of a move from or to an accumulation register.
    fn accumulation_register(
        &self,
        t: &mut Text<'_>,
        row: &Row,
        f: fields::Vop3p,
    ) -> Result<(), NotAnInstruction> {
        let write = row.name == "v_accvgpr_write_b32";
        t.try_operand(self.vector(f.vdst, 1, write))?;
        if !write && self.since_gfx942() && f.src0 < 256 {
            return Err(NotAnInstruction);
        }
        t.try_operand(match write {
            true => self.source(f.src0, Ty::B32),
            false => self.vector(f.src0 & 0xff, 1, true),
        })
    }

    /// Disassembles `v_mfma_ld_scale_b32`. LLVM writes it and the matrix instruction that it scales as one.
    fn scale(&mut self, t: &mut Text<'_>, f: fields::Vop3p) -> Result<(), NotAnInstruction> {
        let scaled = self.next_long().filter(|_| self.joins_scales).and_then(|long| {
            let mai = fields::Mai::of(self.target, long);
            let row = Encoding::Vop3p.row(self.target, mai.op)?;
            let is_scaled = Encoding::of(self.target, long as u32) == Some(Encoding::Vop3p)
                && row.is(F8F6F4)
                && mai.abid == SCALED;
            is_scaled.then_some((row, mai))
        });
        let (op_sel, op_sel_hi) = (f.op_sel & 3, f.op_sel_hi() & 3);
        let Some((row, mai)) = scaled else {
            // LLVM ignores the other bits that have no meaning.
            self.reserved(f.vdst != 0 || f.clamp || (f.op_sel | f.neg_lo | f.neg_hi) & 4 != 0)?;
            t.mnemonic("v_mfma_ld_scale_b32", "");
            for code in [f.src0, f.src1] {
                t.try_operand(self.source(code, Ty::B32))?;
            }
            if op_sel != 0 {
                t.modifier(Bits { name: "op_sel", bits: op_sel, count: 2 });
            }
            if op_sel_hi != 3 {
                t.modifier(Bits { name: "op_sel_hi", bits: op_sel_hi, count: 2 });
            }
            return Ok(());
        };
        self.len = 4;
        self.found.set(Some(row));
        t.mnemonic(&row.name.replace("v_mfma_f32", "v_mfma_scale_f32"), "");
        self.matrices(t, row, mai)?;
        for code in [f.src0, f.src1] {
            let register = code.checked_sub(256).ok_or(NotAnInstruction)?;
            t.try_operand(self.vector(register, 1, false))?;
        }
        if op_sel != 0 {
            t.modifier(Bits { name: "op_sel", bits: op_sel, count: 3 });
        }
        t.modifier(Bits { name: "op_sel_hi", bits: op_sel_hi, count: 3 });
        formats(t, mai);
        Ok(())
    }

    /// Disassembles VOP3P-MAI.
    fn matrix(&self, t: &mut Text<'_>, row: &Row, f: fields::Mai) -> Result<(), NotAnInstruction> {
        self.matrices(t, row, f)?;
        if row.is(F8F6F4) {
            self.reserved(f.abid != 0)?;
            formats(t, f);
            return Ok(());
        }
        let fields::Mai { cbsz, abid, blgp, .. } = f;
        if cbsz != 0 {
            t.modifier(format_args!("cbsz:{cbsz}"));
        }
        if abid != 0 {
            t.modifier(format_args!("abid:{abid}"));
        }
        if blgp != 0 {
            self.reserved(row.is(SPARSE))?;
            if self.since_gfx942() && row.is(DOUBLE) {
                t.modifier(Bits { name: "neg", bits: blgp, count: 3 });
            } else {
                t.modifier(format_args!("blgp:{blgp}"));
            }
        }
        Ok(())
    }

    /// Appends the matrices. `acc_a` and `acc_b` say whether A and B are AGPRs, `acc_cd` whether C and D are.
    fn matrices(&self, t: &mut Text<'_>, row: &Row, f: fields::Mai) -> Result<(), NotAnInstruction> {
        let sparse = row.is(SPARSE);
        let registers = |code: u32, ty: Ty, acc: bool| {
            self.vector(code.checked_sub(256).ok_or(NotAnInstruction)?, self.dwords(ty), acc)
        };
        t.try_operand(registers(256 | f.vdst, row.dst, f.acc_cd))?;
        let (a, b) = match row.is(F8F6F4) {
            true => (f.a_type(), f.b_type()),
            false => (row.src[0], row.src[1]),
        };
        t.try_operand(registers(f.src0, a, f.acc_a))?;
        t.try_operand(registers(f.src1, b, f.acc_b))?;
        let code = f.src2;
        if sparse {
            t.try_operand(registers(code, row.src[2], false))?;
        } else if code < 256 {
            let ty = if row.is(DOUBLE) { Ty::F64 } else { Ty::F32 };
            match code {
                128..=208 | 240..=248 => t.try_operand(self.source(code, ty))?,
                _ => return Err(NotAnInstruction),
            }
        } else {
            t.try_operand(registers(code, row.src[2], f.acc_cd))?;
        }
        Ok(())
    }
}

/// The value of `abid` in a matrix instruction that `v_mfma_ld_scale_b32` precedes.
const SCALED: u32 = 1;

/// Appends the formats of the elements of A and B, which `cbsz` and `blgp` select.
fn formats(t: &mut Text<'_>, f: fields::Mai) {
    if f.cbsz != 0 {
        t.modifier(format_args!("cbsz:{}", f.cbsz));
    }
    if f.blgp != 0 {
        t.modifier(format_args!("blgp:{}", f.blgp));
    }
}

/// Returns a mask of the sources whose sign LLVM 15 allows to be changed: of packed integers, only the first.
fn signs(row: &Row) -> u32 {
    (0..3).filter(|n| *n == 0 || row.src[*n] != Ty::P16I).fold(0, |mask, n| mask | 1 << n)
}
