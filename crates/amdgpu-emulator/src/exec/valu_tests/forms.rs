//! Encodings of an instruction with random operands and modifiers.

use amdgpu_isa::flags::{LIT, MASK_IN, SAT, SDST};
use amdgpu_isa::{Encoding, Row, Target, Ty};

use super::{controlled, is_float, is_half, sample};
use crate::testing::test_wave::Random;

/// The registers in these tests: VGPRs of the destination and the sources, SGPRs of the sources, of the mask that is
/// read and of the mask that is written.
pub(super) const DST: u32 = 20;
pub(super) const SRC: [u32; 3] = [2, 6, 10];
pub(super) const SGPR: [u32; 3] = [30, 34, 38];
pub(super) const MASK: u32 = 24;
pub(super) const SDST_AT: u32 = 20;

/// An encoded instruction.
pub(super) struct Form {
    pub(super) words: Vec<u32>,
    /// The sources that are SGPRs.
    pub(super) scalar: [bool; 3],
    /// The values of the sources that are constants.
    pub(super) fixed: [Option<u64>; 3],
    pub(super) neg: u32,
    pub(super) abs: u32,
    pub(super) clamp: bool,
    pub(super) op_sel: u32,
    pub(super) omod: u32,
    /// Whether masks are read from and written to VCC.
    pub(super) vcc: bool,
    pub(super) sdwa: Option<controlled::Sdwa>,
    /// The control dword.
    pub(super) dpp: Option<u32>,
    /// The control dword is DPP8's, and whether inactive lanes are read.
    pub(super) eight: bool,
    pub(super) fetch_inactive: bool,
}

/// Returns the code of an inline constant, and its value in an operand of a type.
fn constant(random: &mut Random, ty: Ty) -> Option<(u32, u64)> {
    const FLOATS: [f64; 9] = [0.5, -0.5, 1.0, -1.0, 2.0, -2.0, 4.0, -4.0, 0.15915494309189532];
    let pick = random.next();
    if !pick.is_multiple_of(8) {
        return None;
    }
    let whole = (pick >> 8) as i64 % 81 - 16;
    let code = if whole < 0 { 192 - whole } else { 128 + whole } as u32;
    let float = (pick >> 16) as usize % 9;
    let is_whole = pick >> 32 & 1 != 0;
    let value = FLOATS[float];
    let bits = match ty {
        Ty::I16 => return Some((code, whole as u64 & 0xffff_ffff)),
        Ty::Bf16 if is_whole => return Some((code, whole as u64 & 0xffff)),
        Ty::Bf16 if float == 8 => 0x3e22,
        Ty::Bf16 => u64::from((value as f32).to_bits() >> 16),
        Ty::F16 if is_whole => return Some((code, whole as u64 & 0xffff)),
        Ty::B32 | Ty::F32 if is_whole => return Some((code, whole as u64 & 0xffff_ffff)),
        Ty::B64 | Ty::F64 if is_whole => return Some((code, whole as u64)),
        // 1/(2 pi) is truncated in f16, rounded in f32.
        Ty::F16 if float == 8 => 0x3118,
        Ty::F16 => u64::from(half::f16::from_f64(value).to_bits()),
        Ty::B32 | Ty::F32 => u64::from((value as f32).to_bits()),
        Ty::B64 | Ty::F64 => value.to_bits(),
        _ => return None,
    };
    Some((240 + float as u32, bits))
}

/// A short encoding with vectors only and without modifiers.
pub(super) const PLAIN: Form = Form {
    words: Vec::new(),
    scalar: [false; 3],
    fixed: [None; 3],
    neg: 0,
    abs: 0,
    clamp: false,
    op_sel: 0,
    omod: 0,
    vcc: true,
    sdwa: None,
    dpp: None,
    eight: false,
    fetch_inactive: false,
};

/// Returns the VOP3 encoding with random operands and modifiers.
pub(super) fn long_form(random: &mut Random, row: &Row, encoding: Encoding, target: Target) -> Form {
    let op = row.op[target as usize] as u32
        + match encoding {
            Encoding::Vopc | Encoding::Vop3 => 0,
            Encoding::Vop2 => 256,
            _ if target.is_rdna() => 384,
            _ => 320,
        };
    let r = random.next() as u32;
    let saturates = row.flags & SAT != 0;
    let scalar = [0, 1, 2].map(|n| r >> n & 3 == 0 && row.src[n].dwords() <= 2);
    let is_vop3b = row.flags & SDST != 0;
    let floats = (0..3).filter(|n| is_float(row.src[*n])).fold(0, |m, n| m | 1 << n);
    let has_half = |ty| matches!(ty, Ty::F16 | Ty::I16) || target.has_gfx11_instructions() && ty == Ty::Bf16;
    let sixteen = (0..3).filter(|n| has_half(row.src[*n])).fold(0, |m, n| m | 1 << n)
        | if matches!(row.dst, Ty::F16 | Ty::I16 | Ty::Bf16) { 8 } else { 0 };
    let neg = if r >> 8 & 1 != 0 { r >> 9 & 7 & floats } else { 0 };
    let abs = if r >> 12 & 1 != 0 && !is_vop3b { r >> 13 & 7 & floats } else { 0 };
    let clamp = r >> 16 & 3 == 0 && (saturates || is_float(row.dst)) && !row.name.starts_with("v_cvt_sr_");
    // One source of `v_div_scale` is equal to another, so it can't be a constant.
    let constants =
        [0, 1, 2].map(|n| constant(random, row.src[n]).filter(|_| !row.name.contains("div_scale")));
    let (constants, extra) = with_literal(random, row, target, constants);
    let halves = sixteen & !(0..3).filter(|n| constants[*n].is_some()).fold(0, |m, n| m | 1 << n);
    // On gfx10, VOP3's own instructions alone have op_sel.
    let has_op_sel = !is_vop3b && (encoding == Encoding::Vop3 || !target.is_gfx10());
    let op_sel = if r >> 18 & 1 != 0 && has_op_sel { r >> 19 & halves } else { 0 };
    let omod = if r >> 24 & 1 != 0 && is_float(row.dst) && !row.name.starts_with("v_cvt_sr_") {
        r >> 25 & 3
    } else {
        0
    };
    let first = Encoding::Vop3.first_dword(target, op, u32::from(clamp) << 15);
    let mut words = vec![first, omod << 27 | neg << 29];
    words[0] |= if is_vop3b { SDST_AT << 8 } else { op_sel << 11 | abs << 8 };
    words[0] |= if row.dst == Ty::Mask { SDST_AT } else { DST };
    for n in 0..3 {
        let code = match row.src[n] {
            Ty::None if n == 2 && row.flags & MASK_IN != 0 => MASK,
            Ty::None => continue,
            _ if constants[n].is_some() => constants[n].map_or(0, |(code, _)| code),
            _ if scalar[n] => SGPR[n],
            _ => 256 + SRC[n],
        };
        words[1] |= code << (9 * n);
    }
    words.extend(extra);
    let fixed = constants.map(|constant| constant.map(|(_, value)| value));
    Form { words, scalar, fixed, neg, abs, clamp, op_sel, omod, vcc: false, ..PLAIN }
}

type Constants = [Option<(u32, u64)>; 3];

/// On RDNA, makes one source a literal, sometimes. Returns that too.
fn with_literal(
    random: &mut Random,
    row: &Row,
    target: Target,
    mut constants: Constants,
) -> (Constants, Option<u32>) {
    let n = random.next() as usize % 24;
    if !target.is_rdna() || n >= 3 || row.name.contains("div_scale") {
        return (constants, None);
    }
    let literal = sample(random, row.src[n]) as u32;
    let Some(value) = literal_value(row.src[n], literal) else { return (constants, None) };
    constants[n] = Some((255, value));
    (constants, Some(literal))
}

/// Returns the value of a literal in an operand of a type; `None` for types that the tests have no literals of.
fn literal_value(ty: Ty, literal: u32) -> Option<u64> {
    match ty {
        // The literal of an f64 is its high dword.
        Ty::F64 => Some(u64::from(literal) << 32),
        Ty::B32 | Ty::F32 | Ty::F16 | Ty::I16 => Some(u64::from(literal)),
        _ => None,
    }
}

/// Returns the short encoding. `literal` is for instructions that always have a literal.
pub(super) fn short_form(
    random: &mut Random,
    row: &Row,
    encoding: Encoding,
    target: Target,
    literal: u32,
) -> Form {
    let op = row.op[target as usize] as u32;
    let scalar = random.next().is_multiple_of(2);
    let mut fixed = None;
    let mut a = if scalar { SGPR[0] } else { 256 + SRC[0] };
    let mut extra = None;
    if let Some((code, value)) = constant(random, row.src[0]) {
        (a, fixed) = (code, Some(value));
    } else if random.next().is_multiple_of(8) && row.flags & LIT == 0 {
        let literal = sample(random, row.src[0]) as u32;
        let value = literal_value(row.src[0], literal);
        if value.is_some() {
            (a, fixed, extra) = (255, value, Some(literal));
        }
    }
    let op_sel = if target.has_gfx11_instructions() { halves(random, row) } else { 0 };
    let high = |n: usize| (op_sel >> n & 1) << 7;
    let op_sel = if a < 256 { op_sel & !1 } else { op_sel };
    a |= if a < 256 { 0 } else { high(0) };
    let (second, to) = (SRC[1] | high(1), DST | high(3));
    let word = match encoding {
        Encoding::Vop1 => 0x7e00_0000 | to << 17 | op << 9 | a,
        Encoding::Vop2 => op << 25 | to << 17 | second << 9 | a,
        _ => 0x7c00_0000 | op << 17 | second << 9 | a,
    };
    let mut words = vec![word];
    words.extend(extra);
    if row.flags & LIT != 0 {
        words.push(literal);
    }
    Form { words, scalar: [scalar, false, false], fixed: [fixed, None, None], op_sel, ..PLAIN }
}

/// Returns the operands that are high halves of registers in a short encoding of gfx11, as op_sel has them.
pub(super) fn halves(random: &mut Random, row: &Row) -> u32 {
    let [a, b, _] = row.src;
    let b = if b == Ty::None { Ty::None } else { b };
    let can = [a, b, Ty::None, row.dst].map(is_half);
    (0..4).filter(|n| can[*n]).fold(0, |m, n| m | 1 << n) & random.next() as u32
}
