//! Disassembles the short encodings of VOP1, VOP2 and VOPC, and VOP3.

use super::gfx11::dpp::Control;
use super::modifiers::{Accepts, Bits, Modified, OpSel, omod};
use super::operand::Operand;
use super::text::Text;
use super::words::{NotAnInstruction, Words};
use crate::encoding::Encoding;
use crate::fields;
use crate::row::flags::{LIT, LIT_FACTOR, MASK_IN, SDST, SGPR_DST};
use crate::row::{Row, Ty};
use crate::target::WaveSize;

/// The codes of source 0 for a control dword, which follows the first dword.
pub(super) const SDWA: u32 = 249;
pub(super) const DPP: u32 = 250;
/// The code of a source for a literal, which follows the first dword.
const LITERAL: u32 = 255;
/// The code of a source for `src_lds_direct`.
const LDS_DIRECT: u32 = 254;

impl Words {
    /// Returns the operand VCC, which short encodings write and read implicitly.
    pub(super) fn vcc(&self) -> Operand {
        Operand::Named(if self.wave == WaveSize::Wave32 { "vcc_lo" } else { "vcc" })
    }

    /// Returns a 9-bit source of a short encoding, which may be a literal.
    pub(super) fn short_source(&mut self, code: u32, ty: Ty) -> Result<Operand, NotAnInstruction> {
        match code {
            256.. => self.short_register(code - 256, ty),
            LITERAL => {
                let value = self.literal()?;
                Ok(self.literal_operand(value, ty))
            }
            code => self.source(code, ty),
        }
    }

    pub(super) fn vop1(&mut self, t: &mut Text<'_>) -> Result<(), NotAnInstruction> {
        let fields::Vop1 { src0: code, op, vdst: dst } = fields::Vop1::of(self.target, self.first);
        let row = self.row(Encoding::Vop1, op)?;
        match row.name {
            "v_nop" | "v_clrexcp" | "v_pipeflush" => {
                t.mnemonic(row.name, "");
                return self.reserved(dst != 0);
            }
            "v_permlane64_b32" if code < 256 => return Err(NotAnInstruction),
            "v_readfirstlane_b32" => {
                if is_number(code) || code < 256 && self.since_gfx942() {
                    return Err(NotAnInstruction);
                }
                t.mnemonic(row.name, "");
                t.try_operand(self.scalar_8(dst, Ty::B32))?;
                return t.try_operand(self.source(code, Ty::B32));
            }
            "v_swap_b32" | "v_accvgpr_mov_b32" | "v_permlane16_swap_b32" | "v_permlane32_swap_b32"
                if code < 256 && self.since_gfx942() =>
            {
                return Err(NotAnInstruction);
            }
            "v_permlane16_swap_b32" | "v_permlane32_swap_b32" if matches!(code, SDWA | DPP) => {
                return Err(NotAnInstruction);
            }
            "v_swap_b32" => {
                t.mnemonic(row.name, "");
                t.try_operand(self.vector(dst, 1, false))?;
                return t.try_operand(self.vector(code & 0xff, 1, false));
            }
            "v_accvgpr_mov_b32" => {
                t.mnemonic(row.name, "");
                t.try_operand(self.vector(dst, 1, true))?;
                return t.try_operand(self.vector(code & 0xff, 1, true));
            }
            _ => {}
        }
        if let Some(control) = self.control(code)? {
            return self.short_dpp(t, row, Encoding::Vop1, control);
        }
        if matches!(code, SDWA | DPP) {
            return self.controlled(t, row, Encoding::Vop1);
        }
        if self.target.is_rdna() && code < 256 && wants_vector(row.name) {
            return Err(NotAnInstruction);
        }
        t.mnemonic(row.name, self.short_suffix(row));
        t.try_operand(self.short_register(dst, row.dst))?;
        t.try_operand(self.short_source(code, row.src[0]))
    }

    pub(super) fn vop2(&mut self, t: &mut Text<'_>) -> Result<(), NotAnInstruction> {
        let f = fields::Vop2::of(self.target, self.first);
        let row = self.row(Encoding::Vop2, f.op)?;
        if let (Some(control), false) = (self.control(f.src0)?, row.is(LIT)) {
            return self.short_dpp(t, row, Encoding::Vop2, control);
        }
        if matches!(f.src0, SDWA | DPP) && row.flags & LIT == 0 {
            return self.controlled(t, row, Encoding::Vop2);
        }
        let dst = self.short_register(f.vdst, row.dst);
        let b = self.short_register(f.src1, row.src[1]);
        if row.flags & LIT != 0 {
            t.mnemonic(row.name, "");
            t.try_operand(dst)?;
            // LLVM 15 prints all bits of a literal that is used as both sources.
            let whole = f.src0 == LITERAL && row.name == "v_madmk_f16" && !self.since_gfx942();
            let ty = if whole { Ty::B32 } else { row.src[0] };
            let a = self.short_source(f.src0, ty)?;
            let k = Operand::Hex(u64::from(self.literal()?));
            t.operand(a);
            // madmk: d = a * k + b; madak: d = a * b + k.
            if row.is(LIT_FACTOR) {
                t.operand(k);
                return t.try_operand(b);
            }
            t.try_operand(b)?;
            t.operand(k);
            return Ok(());
        }
        t.mnemonic(row.name, self.short_suffix(row));
        t.try_operand(dst)?;
        if row.flags & SDST != 0 {
            t.operand(self.vcc());
        }
        let a = self.short_source(f.src0, row.src[0])?;
        t.operand(if row.name == "v_pk_fmac_f16" { self.without_half_constants(a) } else { a });
        t.try_operand(b)?;
        if row.flags & MASK_IN != 0 {
            t.operand(self.vcc());
        }
        Ok(())
    }

    pub(super) fn vopc(&mut self, t: &mut Text<'_>) -> Result<(), NotAnInstruction> {
        let f = fields::Vopc::of(self.target, self.first);
        let row = self.row(Encoding::Vopc, f.op)?;
        // On gfx10, comparisons have no control dword of DPP.
        if let Some(control) = self.long_control(f.src0)? {
            return self.short_dpp(t, row, Encoding::Vopc, control);
        }
        if matches!(f.src0, SDWA | DPP) {
            return self.controlled(t, row, Encoding::Vopc);
        }
        t.mnemonic(row.name, "_e32");
        self.vcc_of_comparison(t, row);
        t.try_operand(self.short_source(f.src0, row.src[0]))?;
        t.try_operand(self.short_register(f.src1, row.src[1]))
    }

    pub(super) fn vop3(&mut self, t: &mut Text<'_>) -> Result<(), NotAnInstruction> {
        let f = fields::Vop3::of(self.target, self.long()?);
        let (encoding, op) = f.operation(self.target);
        let row = self.row(encoding, op)?;
        if row.flags & LIT != 0 || encoding == Encoding::Vop1 && self.has_no_long_form(row) {
            return Err(NotAnInstruction);
        }
        let packed = encoding == Encoding::Vop2 && is_packed_accumulation(row.name);
        self.reserved(packed && !self.since_gfx942())?;
        if self.target.is_rdna()
            && matches!(
                row.name,
                "v_dot2acc_f32_f16" | "v_dot2c_f32_f16" | "v_dot4c_i32_i8" | "v_pk_fmac_f16"
            )
        {
            return Err(NotAnInstruction);
        }
        if row.dst == Ty::None && !self.writes_only_exec(row) {
            // v_nop, v_clrexcp.
            t.mnemonic(row.name, "");
            let sources = !self.since_gfx942() && f.src() != [0; 3];
            return self.reserved(sources || f.clamp || f.vdst | f.abs | f.omod | f.neg != 0);
        }
        let control = self.long_control(f.src0)?;
        t.mnemonic(
            row.name,
            match (control, encoding) {
                (Some(_), _) => "_e64_dpp",
                (None, Encoding::Vop3) => "",
                _ => "_e64",
            },
        );
        if matches!(row.name, "v_permlane16_swap_b32" | "v_permlane32_swap_b32") {
            return self.swap_between_rows(t, f);
        }
        if matches!(row.name, "v_bitop3_b32" | "v_bitop3_b16") {
            return self.bitop3(t, row, f);
        }
        self.long_destination(t, row, f)?;
        // Most instructions have no modifiers.
        let accepts = match f.clamp || f.abs | f.op_sel | f.omod | f.neg != 0 {
            false => Accepts::NOTHING,
            true => Accepts::vop3(row, encoding, self.target),
        };
        // VOP3B has its second destination there.
        let (abs, op_sel) = if row.is(SDST) { (0, 0) } else { (f.abs, f.op_sel) };
        self.reserved(row.name == "v_cvt_pk_bf16_f32" && op_sel & 4 != 0)?;
        self.reserved((abs | f.neg) & !u32::from(accepts.float | accepts.ignored) != 0)?;
        self.reserved(f.clamp && !accepts.clamp || f.omod != 0 && !accepts.omod)?;
        if control.is_some() {
            self.can_be_controlled(row)?;
        }
        let sources = self.long_sources(t, row, fields::Vop3 { abs, op_sel, ..f }, accepts, control)?;
        self.reserved(row.name.ends_with("_var_b32") && f.op_sel & 4 != 0)?;
        if row.name.starts_with("v_permlane") && f.op_sel & 3 != 0 {
            // Whether inactive lanes are read, and what lanes out of range read.
            t.modifier(Bits { name: "op_sel", bits: f.op_sel & 3, count: 2 });
        }
        if !self.converted_part(t, row, op_sel, control.is_some())? && accepts.op_sel == OpSel::All {
            self.op_sel(t, row, op_sel, sources, control.is_some())?;
        }
        t.flag(f.clamp, "clamp");
        if let Some(omod) = omod(f.omod) {
            t.modifier(omod);
        }
        if let Some(control) = control {
            t.modifier(control);
        }
        Ok(())
    }

    /// Appends the destinations of VOP3.
    fn long_destination(&self, t: &mut Text<'_>, row: &Row, f: fields::Vop3) -> Result<(), NotAnInstruction> {
        if self.writes_only_exec(row) {
            return Ok(());
        }
        if row.dst == Ty::Mask {
            t.try_operand(self.scalar_8(f.vdst, Ty::Mask))?;
        } else if row.flags & SGPR_DST != 0 {
            t.try_operand(self.scalar_8(f.vdst, Ty::B32))?;
        } else if self.has_halves(row.dst) {
            t.operand(Operand::Half { register: f.vdst, high: f.op_sel & 8 != 0 });
        } else {
            t.try_operand(self.vector(f.vdst, self.dwords(row.dst), false))?;
        }
        if row.flags & SDST != 0 {
            t.try_operand(self.scalar(f.sdst, self.dwords(Ty::Mask)))?;
        }
        Ok(())
    }

    /// Appends the sources of VOP3, and returns their number without masks.
    fn long_sources(
        &mut self,
        t: &mut Text<'_>,
        row: &Row,
        f: fields::Vop3,
        accepts: Accepts,
        control: Option<Control>,
    ) -> Result<u32, NotAnInstruction> {
        let mut sources = 0;
        for (n, code) in f.src().into_iter().enumerate() {
            let bit = |mask: u32| mask >> n & 1 != 0;
            let ty = row.src[n];
            if ty == Ty::None {
                if n == 2 && row.flags & MASK_IN != 0 {
                    if is_number(code) {
                        return Err(NotAnInstruction);
                    }
                    t.try_operand(self.scalar_source(code, Ty::Mask))?;
                } else {
                    self.reserved(code != 0 && !self.since_gfx942())?;
                }
                continue;
            }
            sources += 1;
            let code = control.filter(|_| n == 0).map_or(code, |control| 256 + control.register());
            let operand = match code {
                256.. if self.has_halves(ty) => Operand::Half { register: code - 256, high: bit(f.op_sel) },
                code => self.long_source(row, n, code, ty, control.is_some())?,
            };
            t.operand(Modified {
                operand,
                abs: bit(f.abs & u32::from(accepts.float)),
                neg: bit(f.neg & u32::from(accepts.float)),
                sext: bit(f.neg & u32::from(accepts.sext)),
            });
        }
        Ok(sources)
    }

    /// Appends the halves that `op_sel` selects, of as many sources as the instruction has and of the destination.
    fn op_sel(
        &self,
        t: &mut Text<'_>,
        row: &Row,
        op_sel: u32,
        sources: u32,
        controlled: bool,
    ) -> Result<(), NotAnInstruction> {
        // LLVM prints only the halves themselves.
        if row.name == "v_cndmask_b16" {
            return self.reserved(op_sel & 4 != 0);
        }
        let (bits, count) = if Self::selects_byte(row.name) {
            (op_sel, 4)
        } else if row.name.starts_with("v_dot2_") {
            // The first two sources are whole registers.
            (op_sel & 12, 4)
        } else if self.target.is_gfx11() && row.name == "v_fmac_f16" {
            // The destination is also the third source.
            self.reserved(op_sel & 4 != 0)?;
            (op_sel, 4)
        } else if self.target.is_gfx11() {
            let compares = row.encoding() == Some(Encoding::Vopc);
            self.reserved(op_sel & 7 >> sources << sources != 0 || compares && op_sel & 8 != 0)?;
            let own = op_sel & ((1 << sources) - 1);
            // LLVM prints the bit of a mask, which has none, unless there is a control dword.
            match compares && (controlled || self.writes_only_exec(row)) {
                true => (own, sources),
                false => (own | (op_sel >> 3) << sources, sources + 1),
            }
        } else {
            self.reserved(sources == 2 && op_sel & 4 != 0)?;
            (op_sel & ((1 << sources) - 1) | (op_sel >> 3) << sources, sources + 1)
        };
        if bits != 0 {
            t.modifier(Bits { name: "op_sel", bits, count });
        }
        Ok(())
    }

    /// Returns whether two bits of op_sel select the byte that is written, although the instruction has two sources.
    fn selects_byte(name: &str) -> bool {
        matches!(
            name,
            "v_cvt_sr_fp8_f32"
                | "v_cvt_sr_bf8_f32"
                | "v_cvt_scalef32_pk_fp4_f16"
                | "v_cvt_scalef32_pk_fp4_bf16"
        )
    }

    /// Disassembles the VOP3 form of an exchange of rows of lanes.
    fn swap_between_rows(&self, t: &mut Text<'_>, f: fields::Vop3) -> Result<(), NotAnInstruction> {
        self.reserved(f.abs | f.omod | f.neg != 0 || f.clamp)?;
        t.try_operand(self.vector(f.vdst, 1, false))?;
        let code = f.src0.checked_sub(256).ok_or(NotAnInstruction)?;
        t.try_operand(self.vector(code, 1, false))?;
        t.flag(f.op_sel & 2 != 0, "bound_ctrl:1");
        t.flag(f.op_sel & 1 != 0, "fi:1");
        Ok(())
    }

    /// Disassembles an instruction whose truth table is in the bits of the modifiers.
    fn bitop3(&self, t: &mut Text<'_>, row: &Row, f: fields::Vop3) -> Result<(), NotAnInstruction> {
        let halves = row.src[0] == Ty::I16;
        self.reserved(f.clamp || !halves && f.op_sel != 0)?;
        t.try_operand(self.vector(f.vdst, 1, false))?;
        for code in f.src() {
            t.try_operand(self.source(code, row.src[0]))?;
        }
        match f.truth_table() {
            0 => {}
            small @ 1..=10 => t.modifier(format_args!("bitop3:{small}")),
            table => t.modifier(format_args!("bitop3:{table:#x}")),
        }
        if halves && f.op_sel != 0 {
            t.modifier(Bits { name: "op_sel", bits: f.op_sel, count: 4 });
        }
        Ok(())
    }

    /// Returns a source of VOP3. On gfx9, it can't be a literal. Some instructions require a scalar or a VGPR.
    fn long_source(
        &mut self,
        row: &Row,
        n: usize,
        code: u32,
        ty: Ty,
        controlled: bool,
    ) -> Result<Operand, NotAnInstruction> {
        let vgpr = code >= 256;
        match (row.name, n) {
            _ if self.target.is_rdna() && wants_vector(row.name) && !vgpr => Err(NotAnInstruction),
            ("v_permlane16_var_b32" | "v_permlanex16_var_b32", _) if !vgpr => Err(NotAnInstruction),
            // These have scalar operands only.
            (name, _) if name.starts_with("v_s_") && (vgpr || controlled) => Err(NotAnInstruction),
            ("v_permlane16_b32" | "v_permlanex16_b32", n) if vgpr != (n == 0) || code == LDS_DIRECT => {
                Err(NotAnInstruction)
            }
            ("v_writelane_b32", 0) if code == LDS_DIRECT && self.target.is_gfx10() => self.source(code, ty),
            ("v_readlane_b32", 0) if !vgpr => Err(NotAnInstruction),
            ("v_readlane_b32", 1) | ("v_writelane_b32", _)
                if vgpr || code == LDS_DIRECT && self.since_gfx942() =>
            {
                Err(NotAnInstruction)
            }
            ("v_mqsad_u32_u8", 2) if is_number(code) || !vgpr && self.since_gfx942() => Err(NotAnInstruction),
            ("v_mqsad_u32_u8", 2) if !vgpr => self.tuple(code, 4),
            // Conversions of many elements, and of a pair.
            _ if matches!(ty, Ty::Wide(6..) | Ty::P32) && !vgpr => Err(NotAnInstruction),
            ("v_ldexp_f16" | "v_cmp_class_f16" | "v_cmpx_class_f16", 1)
                if ty == Ty::I16 && self.target.is_rdna() =>
            {
                self.long_source(row, n, code, Ty::F16, controlled)
            }
            _ if code == LITERAL && self.target.is_rdna() => {
                let value = self.literal()?;
                Ok(self.literal_operand(value, ty))
            }
            ("v_fmac_f32" | "v_fmac_f16", 1)
                if code < 256 && is_number(code) && self.target.is_rdna() && controlled =>
            {
                Err(NotAnInstruction)
            }
            // LLVM prints the exponent as an f16.
            ("v_ldexp_f16", 1) => self.source(code, Ty::F16),
            _ => self.source(code, ty),
        }
    }

    /// Returns the suffix of a short encoding. On gfx11, instructions without a long form have none.
    fn short_suffix(&self, row: &Row) -> &'static str {
        let only_short = [
            "v_dot2acc_f32_f16",
            "v_dot2c_f32_f16",
            "v_dot4c_i32_i8",
            "v_permlane64_b32",
            "v_pk_fmac_f16",
            "v_swap_b16",
            "v_swaprel_b32",
        ];
        if self.target.is_rdna() && only_short.contains(&row.name) { "" } else { "_e32" }
    }

    /// Returns a scalar destination in a field of 8 bits.
    fn scalar_8(&self, code: u32, ty: Ty) -> Result<Operand, NotAnInstruction> {
        if code > 127 { Err(NotAnInstruction) } else { self.scalar(code, self.dwords(ty)) }
    }

    fn has_no_long_form(&self, row: &Row) -> bool {
        matches!(
            row.name,
            "v_readfirstlane_b32"
                | "v_swap_b32"
                | "v_accvgpr_mov_b32"
                | "v_swap_b16"
                | "v_swaprel_b32"
                | "v_permlane64_b32"
        )
    }
}

/// Returns whether the source of an instruction of gfx11 must be a vector register.
fn wants_vector(name: &str) -> bool {
    ["v_movrels", "v_swap"].iter().any(|start| name.starts_with(start))
}

/// Returns whether LLVM 15 doesn't have the VOP3 encoding of the instruction.
fn is_packed_accumulation(name: &str) -> bool {
    matches!(
        name,
        "v_dot2c_f32_f16" | "v_dot2c_i32_i16" | "v_dot4c_i32_i8" | "v_dot8c_i32_i4" | "v_pk_fmac_f16"
    )
}

/// Returns whether the code of a source is a constant or a literal.
fn is_number(code: u32) -> bool {
    matches!(code, 128..=208 | 240..=248 | LITERAL)
}
