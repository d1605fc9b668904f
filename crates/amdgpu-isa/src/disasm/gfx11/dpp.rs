//! DPP of RDNA: a control dword in place of source 0, in short encodings and, from gfx11 on, in VOP3 and VOP3P.

use std::fmt;

use super::super::modifiers::{Accepts, Modified};
use super::super::operand::Operand;
use super::super::text::Text;
use super::super::words::{NotAnInstruction, Words};
use crate::encoding::Encoding;
use crate::fields;
use crate::row::flags::{MASK_IN, SDST};
use crate::row::{Row, Ty};

/// The codes of source 0 for a control dword: DPP8 without and with reads of inactive lanes, and DPP16.
const LANES: u32 = 233;
const LANES_INACTIVE: u32 = 234;
const ROWS: u32 = 250;

/// A control dword.
#[derive(Debug, Clone, Copy)]
pub(in super::super) enum Control {
    /// DPP16: a pattern for rows of 16 lanes.
    Rows(fields::Dpp),
    /// DPP8: the lanes of a group of eight that each lane reads.
    Lanes { lanes: fields::Dpp8, fetch_inactive: bool },
}

impl Control {
    /// Returns the register of source 0.
    pub(in super::super) fn register(self) -> u32 {
        match self {
            Control::Rows(f) => f.src0,
            Control::Lanes { lanes, .. } => lanes.src0,
        }
    }

    /// Returns whether the signs of sources 0 and 1 are changed in a short encoding, and whether these are absolute.
    fn signs(self) -> [(bool, bool); 2] {
        match self {
            Control::Rows(f) => [(f.src0_neg, f.src0_abs), (f.src1_neg, f.src1_abs)],
            Control::Lanes { .. } => [(false, false); 2],
        }
    }
}

impl fmt::Display for Control {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Control::Rows(rows) => {
                let bits = rows.control;
                let lane = |n: u32| bits >> (2 * n) & 3;
                match bits {
                    0..=0xff => write!(f, "quad_perm:[{},{},{},{}]", lane(0), lane(1), lane(2), lane(3)),
                    0x140 => f.write_str("row_mirror"),
                    0x141 => f.write_str("row_half_mirror"),
                    _ => {
                        let name = match bits >> 4 & 15 {
                            0 => "row_shl",
                            1 => "row_shr",
                            2 => "row_ror",
                            5 => "row_share",
                            _ => "row_xmask",
                        };
                        write!(f, "{name}:{}", bits & 15)
                    }
                }?;
                write!(f, " row_mask:{:#x} bank_mask:{:#x}", rows.row_mask, rows.bank_mask)?;
                f.write_str(if rows.bound_ctrl { " bound_ctrl:1" } else { "" })?;
                f.write_str(if rows.fetch_inactive { " fi:1" } else { "" })
            }
            Control::Lanes { lanes, fetch_inactive } => {
                f.write_str("dpp8:[")?;
                for n in 0..8 {
                    write!(f, "{}{}", if n == 0 { "" } else { "," }, lanes.lanes >> (3 * n) & 7)?;
                }
                f.write_str(if fetch_inactive { "] fi:1" } else { "]" })
            }
        }
    }
}

impl Words {
    /// Returns the control dword for which the code of source 0 stands; `None` if it is another source.
    pub(in super::super) fn control(&mut self, src0: u32) -> Result<Option<Control>, NotAnInstruction> {
        if !self.target.is_rdna() || !matches!(src0, LANES | LANES_INACTIVE | ROWS) {
            return Ok(None);
        }
        let word = self.literal()?;
        if src0 != ROWS {
            let lanes = fields::Dpp8::of(self.target, word);
            return Ok(Some(Control::Lanes { lanes, fetch_inactive: src0 == LANES_INACTIVE }));
        }
        let rows = fields::Dpp::of(self.target, word);
        match rows.control {
            0..=0xff | 0x101..=0x10f | 0x111..=0x11f | 0x121..=0x12f | 0x140 | 0x141 | 0x150..=0x16f => {
                Ok(Some(Control::Rows(rows)))
            }
            _ => Err(NotAnInstruction),
        }
    }

    /// Returns what [`control`](Self::control) returns, for VOP3 and VOP3P, which have no control dword on gfx10.
    pub(in super::super) fn long_control(&mut self, src0: u32) -> Result<Option<Control>, NotAnInstruction> {
        if self.target.is_gfx10() { Ok(None) } else { self.control(src0) }
    }

    /// Returns an error if an instruction has no form with a control dword.
    pub(in super::super) fn can_be_controlled(&self, row: &Row) -> Result<(), NotAnInstruction> {
        let without = [
            "v_div_fixup_f32",
            "v_div_fmas_f32",
            "v_div_scale_f32",
            "v_fma_dx9_zero_f32",
            "v_fmac_dx9_zero_f32",
            "v_fmac_legacy_f32",
            "v_mul_hi_i32",
            "v_mul_hi_u32",
            "v_mul_lo_u32",
            "v_permlane16_b32",
            "v_permlane16_var_b32",
            "v_permlane64_b32",
            "v_permlanex16_b32",
            "v_permlanex16_var_b32",
            "v_readlane_b32",
            "v_swap_b16",
            "v_swap_b32",
            "v_swaprel_b32",
            "v_writelane_b32",
        ];
        let packed = row.encoding() == Some(Encoding::Vop3p)
            && !row.name.starts_with("v_fma_mix")
            && !row.name.starts_with("v_dot2_");
        let is_short_on_gfx10 = row.name == "v_pk_fmac_f16" && !self.target.is_gfx10();
        if packed || is_short_on_gfx10 || without.contains(&row.name) {
            return Err(NotAnInstruction);
        }
        let wide = |ty: Ty| ty.dwords() > 1 && ty != Ty::Mask;
        if wide(row.dst) || row.src.iter().any(|ty| wide(*ty)) { Err(NotAnInstruction) } else { Ok(()) }
    }

    /// Disassembles a short encoding with a control dword.
    pub(in super::super) fn short_dpp(
        &self,
        t: &mut Text<'_>,
        row: &Row,
        encoding: Encoding,
        control: Control,
    ) -> Result<(), NotAnInstruction> {
        self.can_be_controlled(row)?;
        let short = fields::Vop2::of(self.target, self.first);
        t.mnemonic(row.name, if encoding == Encoding::Vopc { "" } else { "_dpp" });
        match encoding {
            Encoding::Vopc => self.vcc_of_comparison(t, row),
            _ => t.try_operand(self.short_register(short.vdst, row.dst))?,
        }
        if row.is(SDST) {
            t.operand(self.vcc());
        }
        let accepts = Accepts::vop3(row, encoding, self.target);
        let registers = [control.register(), short.src1];
        for (n, (code, (neg, abs))) in registers.into_iter().zip(control.signs()).enumerate() {
            if row.src[n] == Ty::None {
                self.reserved(neg || abs)?;
                continue;
            }
            let operand = self.short_register(code, row.src[n])?;
            let float = accepts.float >> n & 1 != 0;
            self.reserved((neg || abs) && (accepts.float | accepts.ignored) >> n & 1 == 0)?;
            t.operand(Modified { operand, abs: abs && float, neg: neg && float, sext: false });
        }
        if row.is(MASK_IN) {
            t.operand(self.vcc());
        }
        t.modifier(control);
        Ok(())
    }

    /// Appends VCC as the result of a short comparison, unless it writes EXEC instead.
    pub(in super::super) fn vcc_of_comparison(&self, t: &mut Text<'_>, row: &Row) {
        if !self.writes_only_exec(row) {
            t.operand(self.vcc());
        }
    }

    /// Returns whether a comparison writes EXEC and no other register.
    pub(in super::super) fn writes_only_exec(&self, row: &Row) -> bool {
        self.target.is_rdna() && row.name.starts_with("v_cmpx")
    }

    /// Returns the operand of a register in an 8-bit field of a short encoding. The highest bit selects the half of one of 16 bits.
    pub(in super::super) fn short_register(&self, code: u32, ty: Ty) -> Result<Operand, NotAnInstruction> {
        match self.has_halves(ty) {
            true => Ok(Operand::Half { register: code & 0x7f, high: code & 0x80 != 0 }),
            // On gfx12, LLVM has no high halves, which hardware has.
            false if self.target.is_gfx12() && is_half(ty) && code > 127 => {
                self.reserved(true)?;
                Ok(Operand::Half { register: code & 0x7f, high: true })
            }
            false => self.vector(code, self.dwords(ty), false),
        }
    }

    /// Returns whether operands of a type are halves of registers.
    pub(in super::super) fn has_halves(&self, ty: Ty) -> bool {
        self.target.is_gfx11() && is_half(ty)
    }
}

/// Returns whether operands of a type have 16 bits.
fn is_half(ty: Ty) -> bool {
    matches!(ty, Ty::I16 | Ty::F16 | Ty::Bf16)
}
