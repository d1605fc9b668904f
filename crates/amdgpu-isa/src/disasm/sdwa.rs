//! Short encodings with a control dword in place of source 0: SDWA and DPP.

use std::fmt;

use super::modifiers::{Accepts, Modified, is_float, omod};
use super::text::Text;
use super::vector::{DPP, SDWA};
use super::words::{NotAnInstruction, Words};
use crate::encoding::Encoding;
use crate::fields;
use crate::row::flags::{ACC, MASK_IN, SDST};
use crate::row::{Row, Ty};

impl Words {
    /// Disassembles an instruction with SDWA or DPP.
    pub(super) fn controlled(
        &mut self,
        t: &mut Text<'_>,
        row: &Row,
        encoding: Encoding,
    ) -> Result<(), NotAnInstruction> {
        if self.target.has_gfx11_instructions() {
            return Err(NotAnInstruction);
        }
        let control = self.literal()?;
        let short = fields::Vop2::of(self.target, self.first);
        let is_wide = wide(row.dst) || row.src.iter().any(|ty| wide(*ty));
        let is_packed_fma = row.name == "v_pk_fmac_f16";
        self.reserved(is_packed_fma && !self.since_gfx942())?;
        let without_sdwa = match self.target.is_rdna() {
            true => row.is(ACC) || is_wide || row.name == "v_swaprel_b32",
            false => row.is(ACC) && !is_packed_fma || is_wide && !converts_eight_bits(row),
        };
        // DPP of RDNA is another encoding of the same code, which was read before.
        if short.src0 == SDWA && without_sdwa || short.src0 == DPP && self.target.is_rdna() {
            return Err(NotAnInstruction);
        }
        if short.src0 == SDWA {
            self.sdwa(t, row, encoding, fields::Sdwa::of(self.target, control))
        } else {
            self.dpp(t, row, encoding, fields::Dpp::of(self.target, control))
        }
    }

    fn sdwa(
        &self,
        t: &mut Text<'_>,
        row: &Row,
        encoding: Encoding,
        f: fields::Sdwa,
    ) -> Result<(), NotAnInstruction> {
        t.mnemonic(row.name, "_sdwa");
        let sources = row.src.iter().filter(|ty| **ty != Ty::None).count();
        let accepts = Accepts::vop3(row, encoding, self.target);
        let is_eight_bits = converts_eight_bits(row);
        if encoding == Encoding::Vopc {
            match f.has_sdst {
                false => self.vcc_of_comparison(t, row),
                true if self.writes_only_exec(row) => return Err(NotAnInstruction),
                true => t.try_operand(self.scalar(f.sdst, self.dwords(Ty::Mask)))?,
            }
        } else {
            t.try_operand(self.vector(
                fields::Vop2::of(self.target, self.first).vdst,
                self.dwords(row.dst),
                false,
            ))?;
            if row.flags & SDST != 0 {
                t.operand(self.vcc());
            }
        }
        let second = fields::Vop2::of(self.target, self.first).src1;
        let both = [
            (f.src0, f.src0_is_scalar, f.src0_sext, f.src0_neg, f.src0_abs),
            (second, f.src1_is_scalar, f.src1_sext, f.src1_neg, f.src1_abs),
        ];
        for (n, (code, is_scalar, sext, neg, abs)) in both.into_iter().enumerate().take(sources) {
            let ty = row.src[n];
            let operand = if is_scalar {
                self.scalar_source(code, ty)?
            } else {
                self.vector(code, self.dwords(ty), false)?
            };
            let float = accepts.float >> n & 1 != 0 && (row.name != "v_cndmask_b32" || self.since_gfx942());
            self.reserved(float && sext || !float && (neg || abs))?;
            let shown = row.name != "v_pk_fmac_f16";
            t.operand(Modified { operand, abs: abs && shown, neg: neg && shown, sext });
        }
        if row.flags & MASK_IN != 0 {
            t.operand(self.vcc());
        }
        let modified = f.src1_sext || f.src1_neg || f.src1_abs || f.src1_is_scalar;
        self.reserved(sources == 1 && (modified || f.src1_sel != 0))?;
        if encoding != Encoding::Vopc {
            self.reserved(f.omod != 0 && !is_float(row.dst) && !is_eight_bits)?;
            t.flag(f.clamp, "clamp");
            if let Some(omod) = omod(f.omod) {
                t.modifier(omod);
            }
            let sel = part(f.dst_sel)?;
            let unused = ["UNUSED_PAD", "UNUSED_SEXT", "UNUSED_PRESERVE"];
            let unused = unused.get(f.dst_unused as usize).ok_or(NotAnInstruction)?;
            if !is_eight_bits {
                t.modifier(format_args!("dst_sel:{sel}"));
                t.modifier(format_args!("dst_unused:{unused}"));
            } else {
                self.reserved(sel != "DWORD")?;
            }
        }
        t.modifier(format_args!("src0_sel:{}", part(f.src0_sel)?));
        if sources > 1 {
            t.modifier(format_args!("src1_sel:{}", part(f.src1_sel)?));
        }
        Ok(())
    }

    fn dpp(
        &self,
        t: &mut Text<'_>,
        row: &Row,
        encoding: Encoding,
        f: fields::Dpp,
    ) -> Result<(), NotAnInstruction> {
        let compares = encoding == Encoding::Vopc;
        self.reserved(compares)?;
        t.mnemonic(row.name, "_dpp");
        if !compares {
            t.try_operand(self.vector(
                fields::Vop2::of(self.target, self.first).vdst,
                self.dwords(row.dst),
                false,
            ))?;
        }
        if row.flags & SDST != 0 || compares {
            t.operand(self.vcc());
        }
        let accepts = Accepts::vop3(row, encoding, self.target);
        let sources = row.src.iter().filter(|ty| **ty != Ty::None).count();
        self.reserved(sources == 1 && (f.src1_neg || f.src1_abs))?;
        let second = fields::Vop2::of(self.target, self.first).src1;
        let both = [(f.src0, f.src0_neg, f.src0_abs), (second, f.src1_neg, f.src1_abs)];
        for (n, (code, neg, abs)) in both.into_iter().enumerate().take(sources) {
            let operand = self.vector(code, self.dwords(row.src[n]), false)?;
            let shown = accepts.float >> n & 1 != 0 && (row.name != "v_cndmask_b32" || self.since_gfx942());
            self.reserved((accepts.float | accepts.ignored) >> n & 1 == 0 && (neg || abs))?;
            let sext = neg && accepts.sext >> n & 1 != 0;
            t.operand(Modified { operand, abs: abs && shown, neg: neg && shown, sext });
        }
        if row.flags & MASK_IN != 0 {
            t.operand(self.vcc());
        }
        let control = Control(f.control).check()?;
        let is_wide = wide(row.dst) || row.src.iter().any(|ty| wide(*ty));
        // 64-bit values can only be broadcast within a row.
        let doubles = if self.since_gfx942() { is_wide } else { wide(row.src[0]) };
        if doubles && !matches!(control.0, 0x150..=0x15f) {
            return Err(NotAnInstruction);
        }
        t.modifier(control);
        t.modifier(format_args!("row_mask:{:#x}", f.row_mask));
        t.modifier(format_args!("bank_mask:{:#x}", f.bank_mask));
        t.flag(f.bound_ctrl, "bound_ctrl:1");
        Ok(())
    }
}

/// Returns whether an instruction converts f8 or bf8, which SDWA selects.
fn converts_eight_bits(row: &Row) -> bool {
    matches!(row.name, "v_cvt_f32_fp8" | "v_cvt_f32_bf8" | "v_cvt_pk_f32_fp8" | "v_cvt_pk_f32_bf8")
}

/// Returns whether an operand has two registers.
fn wide(ty: Ty) -> bool {
    ty.dwords() > 1 && ty != Ty::Mask
}

/// Returns the name of the part of a register that is read or written.
fn part(bits: u32) -> Result<&'static str, NotAnInstruction> {
    ["BYTE_0", "BYTE_1", "BYTE_2", "BYTE_3", "WORD_0", "WORD_1", "DWORD"]
        .get(bits as usize)
        .copied()
        .ok_or(NotAnInstruction)
}

/// The control of DPP, which says from which lane each lane reads.
struct Control(u32);

impl Control {
    fn check(self) -> Result<Control, NotAnInstruction> {
        match self.0 {
            0..=0xff
            | 0x101..=0x10f
            | 0x111..=0x11f
            | 0x121..=0x12f
            | 0x130
            | 0x134
            | 0x138
            | 0x13c
            | 0x140..=0x143
            | 0x150..=0x15f => Ok(self),
            _ => Err(NotAnInstruction),
        }
    }
}

impl fmt::Display for Control {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let bits = self.0;
        let lane = |n: u32| bits >> (2 * n) & 3;
        match bits {
            0..=0xff => write!(f, "quad_perm:[{},{},{},{}]", lane(0), lane(1), lane(2), lane(3)),
            0x100..=0x10f => write!(f, "row_shl:{}", bits & 15),
            0x110..=0x11f => write!(f, "row_shr:{}", bits & 15),
            0x120..=0x12f => write!(f, "row_ror:{}", bits & 15),
            0x130 => f.write_str("wave_shl:1"),
            0x134 => f.write_str("wave_rol:1"),
            0x138 => f.write_str("wave_shr:1"),
            0x13c => f.write_str("wave_ror:1"),
            0x140 => f.write_str("row_mirror"),
            0x141 => f.write_str("row_half_mirror"),
            0x142 => f.write_str("row_bcast:15"),
            0x143 => f.write_str("row_bcast:31"),
            _ => write!(f, "row_newbcast:{}", bits & 15),
        }
    }
}
