//! Which modifiers an instruction takes in VOP3, as LLVM has it, and how they are written.

use std::fmt;

use super::operand::Operand;
use crate::tables::{Encoding, Impl, Row, SDST, Target, Ty};

/// What op_sel bits an instruction has; without any, they are ignored.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum OpSel {
    /// None.
    Ignored,
    /// One a source, and the destination's.
    All,
}

/// What an instruction's VOP3 form takes.
#[derive(Debug, Clone, Copy)]
pub(super) struct Accepts {
    /// Bit n: source n takes abs and neg.
    pub(super) float: u8,
    /// Bit n: source n has bits for them that change nothing.
    pub(super) ignored: u8,
    /// Bit n: source n's neg bit is written `sext`, though it changes nothing.
    pub(super) sext: u8,
    pub(super) clamp: bool,
    pub(super) omod: bool,
    pub(super) op_sel: OpSel,
}

/// Whether a source of a type has a sign to change.
pub(super) fn is_float(ty: Ty) -> bool {
    matches!(ty, Ty::F16 | Ty::F32 | Ty::F64 | Ty::P16F)
}

impl Accepts {
    /// What a row takes in VOP3.
    pub(super) fn vop3(row: &Row, encoding: Encoding, target: Target) -> Accepts {
        let gfx942 = target == Target::Gfx942;
        let name = row.name;
        let sources = row.src.iter().filter(|ty| **ty != Ty::None).count();
        let of = |test: &dyn Fn(Ty) -> bool| {
            (0..3).filter(|n| test(row.src[*n])).fold(0u8, |mask, n| mask | 1 << n)
        };
        let mut float = of(&is_float);
        // They convert integers, whatever the type says of inline constants.
        let converts_integer =
            ["v_cvt_off_f32_i4", "v_cvt_f32_ubyte", "v_cvt_f32_fp8", "v_cvt_f32_bf8", "v_cvt_pk_f32_"]
                .iter()
                .any(|start| name.starts_with(start));
        if converts_integer {
            float = 0;
        }
        if name == "v_cndmask_b32" {
            float = 3;
        }
        let sized = |ty: Ty| matches!(ty, Ty::F16 | Ty::I16);
        let op_sel = if encoding == Encoding::Vop3
            && !name.contains("_legacy_")
            && (row.src.iter().any(|ty| sized(*ty))
                || name.starts_with("v_cvt_pk_fp8")
                || name.starts_with("v_cvt_pk_bf8")
                || name.starts_with("v_cvt_sr_")
                || gfx942 && name.starts_with("v_align"))
        {
            OpSel::All
        } else {
            OpSel::Ignored
        };
        let all = (1u8 << sources) - 1;
        // Mixed ones have the bits for all their sources.
        let mixed = name.starts_with("v_ldexp_")
            || name == "v_trig_preop_f64"
            || name == "v_cvt_pk_u8_f32"
            || name == "v_cvt_pkaccum_u8_f32"
            || name.starts_with("v_cvt_sr_");
        let dot = matches!(name, "v_dot2c_i32_i16" | "v_dot4c_i32_i8" | "v_dot8c_i32_i4");
        let sixteen = op_sel == OpSel::All && float == 0 && !gfx942;
        let ignored = if mixed || dot || sixteen { all & !float } else { 0 };
        // Their bits for a third source are there.
        let ignored = if name.starts_with("v_cvt_sr_") { 6 } else { ignored };
        let sext = if mixed && !gfx942 { ignored } else { 0 };
        let saturates = matches!(row.exec, Impl::Lanes { clamp: Some(_), .. });
        let is_class = name.contains("_class_");
        let clamp = match encoding {
            Encoding::Vopc => float != 0 && !is_class,
            _ if name == "v_cndmask_b32" => false,
            _ if name.starts_with("v_cvt_pk_fp8")
                || name.starts_with("v_cvt_pk_bf8")
                || name.starts_with("v_cvt_sr_") =>
            {
                false
            }
            _ if matches!(name, "v_mul_i32_i24" | "v_mul_u32_u24") => true,
            _ if name == "v_mul_lo_u16" => false,
            _ => {
                float != 0
                    || is_float(row.dst)
                    || saturates
                    || converts_integer
                    || op_sel == OpSel::All && !name.starts_with("v_align")
                    || op_sel == OpSel::All
            }
        };
        let sixteen_float = op_sel == OpSel::All;
        let omod = match encoding {
            Encoding::Vopc => false,
            _ if name == "v_cndmask_b32" || dot => false,
            _ if matches!(name, "v_cvt_rpi_i32_f32" | "v_cvt_flr_i32_f32" | "v_frexp_exp_i32_f32") => false,
            _ if name.starts_with("v_cvt_pknorm_") || name == "v_pack_b32_f16" => false,
            _ if name.starts_with("v_cvt_pk_u8") || name.starts_with("v_cvt_pkaccum") => false,
            _ if name.starts_with("v_cvt_pk_fp8") || name.starts_with("v_cvt_pk_bf8") => false,
            _ if name.starts_with("v_cvt_sr_") => false,
            _ if sixteen_float => gfx942 && float != 0,
            _ => float != 0 || is_float(row.dst) || converts_integer,
        };
        let (float, ignored) =
            if row.flags & SDST != 0 { (float, all & !float & ignored) } else { (float, ignored) };
        Accepts { float, ignored, sext, clamp, omod, op_sel }
    }
}

/// A source with its modifiers: `-|v1|`, `neg(1.0)`, `sext(v1)`.
#[derive(Debug, Clone, Copy)]
pub(super) struct Modified {
    pub(super) operand: Operand,
    pub(super) abs: bool,
    pub(super) neg: bool,
    pub(super) sext: bool,
}

impl fmt::Display for Modified {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Modified { operand, abs, neg, sext } = *self;
        match (neg, abs) {
            _ if sext => write!(f, "sext({operand})"),
            (true, true) => write!(f, "-|{operand}|"),
            (false, true) => write!(f, "|{operand}|"),
            // `-1` would be another number than 1 with its sign changed.
            (true, false) if operand.is_number() => write!(f, "neg({operand})"),
            (true, false) => write!(f, "-{operand}"),
            (false, false) => write!(f, "{operand}"),
        }
    }
}

/// What a result is multiplied by.
pub(super) fn omod(bits: u32) -> Option<&'static str> {
    match bits {
        1 => Some("mul:2"),
        2 => Some("mul:4"),
        3 => Some("div:2"),
        _ => None,
    }
}

/// A list of bits, one a source: `op_sel:[0,1]`.
pub(super) struct Bits {
    pub(super) name: &'static str,
    pub(super) bits: u32,
    pub(super) count: u32,
}

impl fmt::Display for Bits {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:[", self.name)?;
        for n in 0..self.count {
            let comma = if n == 0 { "" } else { "," };
            write!(f, "{comma}{}", self.bits >> n & 1)?;
        }
        f.write_str("]")
    }
}
