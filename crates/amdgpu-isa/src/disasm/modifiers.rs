//! The modifiers that LLVM accepts for each instruction in VOP3, and their text.

use std::fmt;

use super::operand::Operand;
use crate::encoding::Encoding;
use crate::row::flags::{CVT_BITS, CVT_MANY, CVT_PARTS, SAT, SDST};
use crate::row::{Row, Ty};
use crate::target::Target;

/// The op_sel bits of an instruction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum OpSel {
    /// The instruction has none; the bits are ignored.
    Ignored,
    /// One bit for each source, and one for the destination.
    All,
}

/// The modifiers that the VOP3 form of an instruction accepts.
#[derive(Debug, Clone, Copy)]
pub(super) struct Accepts {
    /// Bit `n` says that source `n` accepts abs and neg.
    pub(super) float: u8,
    /// Bit `n` says that source `n` has bits for abs and neg that have no effect.
    pub(super) ignored: u8,
    /// Bit `n` says that the neg bit of source `n` is written `sext`, although it has no effect.
    pub(super) sext: u8,
    pub(super) clamp: bool,
    pub(super) omod: bool,
    pub(super) op_sel: OpSel,
}

/// Returns whether the sign of a source of a type can be changed.
pub(super) fn is_float(ty: Ty) -> bool {
    matches!(ty, Ty::F16 | Ty::Bf16 | Ty::F32 | Ty::F64 | Ty::P16F | Ty::P16Bf)
}

/// Returns whether a name starts with one of these.
fn starts(name: &str, with: &[&str]) -> bool {
    with.iter().any(|start| name.starts_with(start))
}

/// Returns a mask of the sources for whose types `test` is true.
fn sources(row: &Row, test: impl Fn(Ty) -> bool) -> u8 {
    (0..3).filter(|n| test(row.src[*n])).fold(0, |mask, n| mask | 1 << n)
}

/// Returns whether an operand has 16 bits, and can therefore be either half of a register on gfx11.
fn has_half(row: &Row) -> bool {
    let is_half = |ty: &Ty| matches!(ty, Ty::F16 | Ty::I16 | Ty::Bf16);
    is_half(&row.dst) || row.src.iter().any(is_half)
}

/// Returns whether the instruction is an integer dot product that adds to its destination.
fn is_integer_dot(name: &str) -> bool {
    matches!(name, "v_dot2c_i32_i16" | "v_dot4c_i32_i8" | "v_dot8c_i32_i4")
}

impl Accepts {
    /// No modifiers.
    pub(super) const NOTHING: Accepts =
        Accepts { float: 0, ignored: 0, sext: 0, clamp: false, omod: false, op_sel: OpSel::Ignored };

    /// Returns the modifiers that a row accepts in VOP3.
    pub(super) fn vop3(row: &Row, encoding: Encoding, target: Target) -> Accepts {
        let (name, gfx942, gfx11) = (row.name, target != Target::Gfx90a, target.is_gfx11());
        let (gfx12, rdna) = (target.is_gfx12(), target.is_rdna());
        if row.is(CVT_MANY) {
            return Accepts::NOTHING;
        }
        let float = match name {
            "v_cndmask_b32" | "v_cndmask_b16" | "v_cmp_class_f16" | "v_cmpx_class_f16"
                if target.has_gfx11_instructions() =>
            {
                3
            }
            "v_cndmask_b32" => 3,
            "v_cvt_scalef32_sr_pk_fp4_f32" => 5,
            _ if row.is(CVT_BITS) => 0,
            _ => sources(row, is_float),
        };
        let halves = sources(row, |ty| matches!(ty, Ty::F16 | Ty::I16)) != 0 && !name.contains("_legacy_")
            || row.is(CVT_PARTS)
            || gfx942 && matches!(name, "v_alignbit_b32" | "v_alignbyte_b32")
            || gfx12 && has_half(row);
        let whole = gfx12 && reads_low_halves(name);
        let op_sel = if encoding == Encoding::Vop3 && halves && !whole || gfx11 && has_half(row) {
            OpSel::All
        } else {
            OpSel::Ignored
        };
        // If some sources are floats, the others also have bits for signs. In LLVM 15, all 16-bit integers have them.
        let mixed =
            starts(name, &["v_ldexp_", "v_trig_preop_f64", "v_cvt_pk_u8_f32", "v_cvt_pkaccum_u8_f32"]);
        let ignored = match name {
            "v_cvt_sr_f16_f32" | "v_cvt_sr_bf16_f32" => 2,
            "v_cvt_sr_fp8_f32" | "v_cvt_sr_bf8_f32" if gfx12 => 2,
            "v_cvt_pk_f32_fp8" | "v_cvt_pk_f32_bf8" if gfx12 => 1,
            // Also those of a third source.
            _ if starts(name, &["v_cvt_sr_", "v_cvt_scalef32_pk_fp4_"]) => 7 & !float,
            _ if row.is(CVT_PARTS) => sources(row, |ty| ty != Ty::None) & !float,
            _ if row.flags & SDST != 0 => 0,
            // The mask of classes.
            "v_cmpx_class_f16" | "v_cmpx_class_f32" | "v_cmpx_class_f64" if rdna => 2,
            _ if gfx11 && has_half(row) => sources(row, |ty| ty != Ty::None) & !float,
            _ if mixed
                || is_integer_dot(name)
                || op_sel == OpSel::All && float == 0 && (!gfx942 || gfx12) =>
            {
                sources(row, |ty| ty != Ty::None) & !float
            }
            _ => 0,
        };
        Accepts {
            float,
            ignored,
            sext: if mixed && !gfx942 { ignored } else { 0 },
            clamp: clamps(row, encoding, float, op_sel, target),
            omod: multiplies(row, encoding, float, op_sel, target),
            op_sel,
        }
    }
}

/// Returns whether an instruction of gfx11 with operands of 16 bits has no clamp bit, as its result can't be out of range.
fn is_plain_half(row: &Row) -> bool {
    let names = [
        "v_and_b16",
        "v_cvt_i32_i16",
        "v_cvt_u32_u16",
        "v_dot2_bf16_bf16",
        "v_dot2_f16_f16",
        "v_max_i16",
        "v_max_u16",
        "v_min_i16",
        "v_min_u16",
        "v_ashrrev_i16",
        "v_cndmask_b16",
        "v_lshlrev_b16",
        "v_lshrrev_b16",
        "v_mov_b16",
        "v_not_b16",
        "v_or_b16",
        "v_sat_pk_u8_i16",
        "v_xor_b16",
    ];
    names.contains(&row.name)
}

/// The conversions of eight-bit floats whose results gfx9 can multiply and clamp.
const EIGHT_BITS: [&str; 4] = ["v_cvt_f32_fp8", "v_cvt_f32_bf8", "v_cvt_pk_f32_fp8", "v_cvt_pk_f32_bf8"];

/// Returns whether an instruction of gfx12 has operands of 16 bits in the low halves of registers only.
fn reads_low_halves(name: &str) -> bool {
    let names = [
        "v_and_b16",
        "v_or_b16",
        "v_xor_b16",
        "v_cndmask_b16",
        "v_lshlrev_b16",
        "v_lshrrev_b16",
        "v_ashrrev_i16",
        "v_max_i16",
        "v_max_u16",
        "v_min_i16",
        "v_min_u16",
        "v_mul_lo_u16",
    ];
    names.contains(&name) || name.starts_with("v_s_")
}

/// Returns whether the clamp bit may be set.
fn clamps(row: &Row, encoding: Encoding, float: u8, op_sel: OpSel, target: Target) -> bool {
    let saturates = row.flags & SAT != 0;
    match row.name {
        // The second source of v_cmp_class is no float.
        _ if encoding == Encoding::Vopc => float == 3 && !row.name.contains("_class_"),
        "v_mul_lo_u16" if target.is_gfx10() => true,
        "v_cndmask_b32" | "v_mul_lo_u16" | "v_bitop3_b16" => false,
        name if EIGHT_BITS.contains(&name) && target.is_gfx12() => false,
        _ if target.has_gfx11_instructions() && is_plain_half(row) => false,
        "v_mul_i32_i24" | "v_mul_u32_u24" => true,
        _ if row.is(CVT_PARTS) => false,
        _ => float != 0 || is_float(row.dst) || saturates || row.is(CVT_BITS) || op_sel == OpSel::All,
    }
}

/// Returns whether the result may be multiplied.
fn multiplies(row: &Row, encoding: Encoding, float: u8, op_sel: OpSel, target: Target) -> bool {
    let (gfx942, is_gfx12) = (target != Target::Gfx90a, target.is_gfx12());
    let whole =
        ["v_cvt_rpi_i32_f32", "v_cvt_flr_i32_f32", "v_frexp_exp_i32_f32", "v_pack_b32_f16", "v_cndmask_b32"];
    let whole_11 = ["v_cvt_nearest_i32_f32", "v_cvt_floor_i32_f32", "v_cndmask_b16"];
    let packs = [
        "v_cvt_pknorm_",
        "v_cvt_pk_norm_",
        "v_cvt_pk_u8",
        "v_cvt_pkaccum",
        "v_cvt_pk_i16_f32",
        "v_cvt_pk_u16_f32",
        "v_dot2_f16_f16",
        "v_dot2_bf16_bf16",
    ];
    match row.name {
        _ if encoding == Encoding::Vopc => false,
        name if EIGHT_BITS.contains(&name) => !is_gfx12,
        name if whole.contains(&name) || whole_11.contains(&name) || starts(name, &packs) => false,
        name if row.is(CVT_PARTS) || is_integer_dot(name) => false,
        _ if op_sel == OpSel::All => gfx942 && (float != 0 || row.name.starts_with("v_cvt_f16_")),
        _ => float != 0 || is_float(row.dst) || row.is(CVT_BITS),
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
            // `-1` would be another operand than 1 with its sign changed.
            (true, false) if operand.is_number() => write!(f, "neg({operand})"),
            (true, false) => write!(f, "-{operand}"),
            (false, false) => write!(f, "{operand}"),
        }
    }
}

/// Returns the text of the factor by which a result is multiplied.
pub(super) fn omod(bits: u32) -> Option<&'static str> {
    match bits {
        1 => Some("mul:2"),
        2 => Some("mul:4"),
        3 => Some("div:2"),
        _ => None,
    }
}

/// A list of bits, one for each source: `op_sel:[0,1]`.
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
