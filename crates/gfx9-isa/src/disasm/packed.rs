//! VOP3P: packed and mixed-precision arithmetic, dot products, and the matrix instructions.

use super::modifiers::{Bits, Modified};
use super::text::Text;
use super::words::{NotAnInstruction, Words};
use crate::encoding::Encoding;
use crate::fields;
use crate::row::{Row, Ty};

impl Words {
    pub(super) fn vop3p(&mut self, t: &mut Text<'_>) -> Result<(), NotAnInstruction> {
        let long = self.long()?;
        let f = fields::Vop3p::of(long);
        let row = self.row(Encoding::Vop3p, f.op)?;
        t.mnemonic(row.name, "");
        if row.name.starts_with("v_mfma") || row.name.starts_with("v_smfmac") {
            return self.matrix(t, row, fields::Mai::of(long));
        }
        let count = row.src.iter().filter(|ty| **ty != Ty::None).count() as u32;
        let unused = f.src().into_iter().skip(count as usize).any(|code| code != 0);
        self.reserved(!self.is_gfx942() && unused)?;
        let all = (1 << count) - 1;
        let (neg_lo, neg_hi, op_sel, op_sel_hi) = (f.neg_lo, f.neg_hi, f.op_sel, f.op_sel_hi() & all);
        if row.name.starts_with("v_accvgpr_") {
            self.reserved(neg_lo | neg_hi | op_sel != 0)?;
            let write = row.name == "v_accvgpr_write_b32";
            t.try_operand(self.vector(f.vdst, 1, write))?;
            if !write && self.is_gfx942() && f.src0 < 256 {
                return Err(NotAnInstruction);
            }
            return t.try_operand(match write {
                true => self.source(f.src0, Ty::B32),
                false => self.vector(f.src0 & 0xff, 1, true),
            });
        }
        // In LLVM 22, dot products of bytes and nibbles have no op_sel.
        let whole = self.is_gfx942() && (row.name.starts_with("v_dot4") || row.name.starts_with("v_dot8"));
        let signs = if self.is_gfx942() { all } else { all & signs(row) };
        self.reserved((neg_lo | neg_hi) & !signs != 0 || op_sel & !all != 0 || whole && op_sel != 0)?;
        let (neg_lo, neg_hi, op_sel) = (neg_lo & all, neg_hi & all, op_sel & all);
        t.try_operand(self.vector(f.vdst, u32::from(row.dst.dwords()), false))?;
        let mixed = row.src[0] == Ty::Mix;
        for (n, code) in f.src().into_iter().enumerate().take(count as usize) {
            // LLVM 15 prints the half of a constant that packed integers use.
            let ty = match row.src[n] {
                Ty::P16I if !self.is_gfx942() => Ty::I16,
                ty => ty,
            };
            let operand = self.source(code, ty)?;
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
        Ok(())
    }

    /// Disassembles VOP3P-MAI. `acc_a` and `acc_b` say whether A and B are AGPRs, `acc_cd` whether C and D are.
    fn matrix(&self, t: &mut Text<'_>, row: &Row, f: fields::Mai) -> Result<(), NotAnInstruction> {
        let sparse = row.name.starts_with("v_smfmac");
        let registers = |code: u32, ty: Ty, acc: bool| {
            self.vector(code.checked_sub(256).ok_or(NotAnInstruction)?, u32::from(ty.dwords()), acc)
        };
        t.try_operand(registers(256 | f.vdst, row.dst, f.acc_cd))?;
        t.try_operand(registers(f.src0, row.src[0], f.acc_a))?;
        t.try_operand(registers(f.src1, row.src[1], f.acc_b))?;
        let code = f.src2;
        if sparse {
            t.try_operand(registers(code, row.src[2], false))?;
        } else if code < 256 {
            let ty = if row.name.starts_with("v_mfma_f64") { Ty::F64 } else { Ty::F32 };
            match code {
                128..=208 | 240..=248 => t.try_operand(self.source(code, ty))?,
                _ => return Err(NotAnInstruction),
            }
        } else {
            t.try_operand(registers(code, row.src[2], f.acc_cd))?;
        }
        let fields::Mai { cbsz, abid, blgp, .. } = f;
        if cbsz != 0 {
            t.modifier(format_args!("cbsz:{cbsz}"));
        }
        if abid != 0 {
            t.modifier(format_args!("abid:{abid}"));
        }
        if blgp != 0 {
            self.reserved(sparse)?;
            if self.is_gfx942() && row.name.starts_with("v_mfma_f64") {
                t.modifier(Bits { name: "neg", bits: blgp, count: 3 });
            } else {
                t.modifier(format_args!("blgp:{blgp}"));
            }
        }
        Ok(())
    }
}

/// Returns a mask of the sources whose sign LLVM 15 allows to be changed: of packed integers, only the first.
fn signs(row: &Row) -> u32 {
    (0..3).filter(|n| *n == 0 || row.src[*n] != Ty::P16I).fold(0, |mask, n| mask | 1 << n)
}
