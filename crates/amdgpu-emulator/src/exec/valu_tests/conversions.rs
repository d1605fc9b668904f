//! References for conversions, roundings, the steps of divisions, and functions with a stated accuracy.

use amdgpu_isa::Target;

use super::floats::to_f16;
use super::narrow::{BF8, BF16, F16, FP8, Format};
use super::{Close, In, Out, bits, f16, f16_out, f32, f32_out, f64, f64_out};
use crate::exec::number::exact::{self, Exact};

fn ulps(d: f64, size: u32, n: u32) -> Option<Out> {
    let (d, close) = match size {
        16 => (u64::from(to_f16(d)), Close::Ulps16(n)),
        32 => (u64::from((d as f32).to_bits()), Close::Ulps32(n)),
        _ => (d.to_bits(), Close::Ulps64(u64::from(n))),
    };
    Some(Out { d, flag: false, close })
}

/// Returns a float of the size, which must have the value exactly.
fn float(d: f64, size: u32) -> Option<Out> {
    match size {
        16 => f16_out(to_f16(d)),
        32 => f32_out(d as f32),
        _ => f64_out(d),
    }
}

/// Converts to an integer of `n` bits: rounds towards zero, saturates, and gives 0 for a NaN.
fn to_int(v: f64, n: u32, signed: bool) -> u64 {
    let (low, high) = if signed {
        (-(2f64.powi(n as i32 - 1)), 2f64.powi(n as i32 - 1) - 1.0)
    } else {
        (0.0, 2f64.powi(n as i32) - 1.0)
    };
    let v = if v.is_nan() { 0.0 } else { v.trunc().max(low).min(high) };
    (v as i64 as u64) & ((1 << n) - 1)
}

/// Returns the nearest integer, halves to even, of a number that is not huge.
fn nearest(v: f64) -> f64 {
    if !v.is_finite() || v.abs() > 4e15 {
        return v;
    }
    let below = v.floor();
    let up = match (v - below).partial_cmp(&0.5) {
        Some(std::cmp::Ordering::Less) => false,
        Some(std::cmp::Ordering::Equal) => below.rem_euclid(2.0) == 1.0,
        _ => true,
    };
    (if up { below + 1.0 } else { below }).copysign(v)
}

/// Rounds to an integer as the mode says.
fn whole(v: f64, round: u32) -> f64 {
    match round {
        0 => nearest(v),
        1 => v.ceil(),
        2 => v.floor(),
        _ => v.trunc(),
    }
}

fn normalized(v: f64, signed: bool) -> u64 {
    let v = if v.is_nan() { 0.0 } else { v };
    let (low, scale) = if signed { (-1.0, 32767.0) } else { (0.0, 65535.0) };
    (nearest(f64::from((v.max(low).min(1.0) * scale) as f32)) as i64 & 0xffff) as u64
}

/// Returns the fraction, of at least a half, and its power of two.
fn split(v: f64) -> (f64, i32) {
    if v == 0.0 || !v.is_finite() {
        return (v, 0);
    }
    let (mut m, mut e) = (v, 0);
    while m.abs() >= 1.0 {
        m /= 2.0;
        e += 1;
    }
    while m.abs() < 0.5 {
        m *= 2.0;
        e -= 1;
    }
    (m, e)
}

/// Rounds an exact number as the mode says for floats of the size.
fn rounded(v: &Exact, size: u32, x: &In) -> Option<Out> {
    rounded_by(v, size, x.round(size))
}

fn rounded_by(v: &Exact, size: u32, round: u32) -> Option<Out> {
    let d = v.round(size, round);
    match size {
        16 => f16_out(d as u16),
        32 => f32_out(f32(d)),
        _ => f64_out(f64(d)),
    }
}

/// Returns a number times 2^n, rounded once, for any `n`.
fn scaled(v: u64, size: u32, n: i64, x: &In) -> Option<Out> {
    rounded(&Exact::of(v, size).scaled(n.clamp(-9999, 9999) as i32), size, x)
}

/// Returns the value of an 8-bit float of gfx942: `{sign, exponent, fraction}`, 0x80 for NaN.
fn small(v: u8, fraction: i32) -> f64 {
    if v == 0x80 {
        return f64::NAN;
    }
    let bias = if fraction == 3 { 8 } else { 16 };
    let field = i32::from(v & 0x7f) >> fraction;
    let rest = f64::from(v & ((1 << fraction) - 1)) / f64::from(1 << fraction);
    let magnitude =
        if field == 0 { rest * 2f64.powi(1 - bias) } else { (1.0 + rest) * 2f64.powi(field - bias) };
    if v & 0x80 != 0 { -magnitude } else { magnitude }
}

/// Returns NaN, or the largest number if the mode has FP16_OVFL.
fn too_large(v: f64, saturates: bool) -> u64 {
    match (saturates, v < 0.0) {
        (false, _) => 0x80,
        (true, false) => 0x7f,
        (true, true) => 0xff,
    }
}

/// Returns the nearest 8-bit float, ties to even; NaN if the number is too large.
fn to_small(v: f64, fraction: i32, saturates: bool) -> u64 {
    if !v.is_finite() {
        return 0x80;
    }
    let magnitude = v.abs();
    // Rounds as if there were a number after the largest one.
    let step = small(0x7f, fraction) - small(0x7e, fraction);
    if magnitude >= small(0x7f, fraction) + step / 2.0 {
        return too_large(v, saturates);
    }
    let code = (0..=0x7fu8)
        .min_by(|p, q| {
            let far = |c: &u8| (small(*c, fraction) - magnitude).abs();
            far(p).total_cmp(&far(q)).then((p & 1).cmp(&(q & 1)))
        })
        .unwrap_or(0);
    u64::from(code) | if v < 0.0 && code != 0 { 0x80 } else { 0 }
}

/// Returns the largest 8-bit float that is not larger in magnitude; NaN if the number is too large.
fn to_small_down(v: f64, fraction: i32, saturates: bool) -> u64 {
    let step = small(0x7f, fraction) - small(0x7e, fraction);
    if !v.is_finite() {
        return 0x80;
    }
    if v.abs() >= small(0x7f, fraction) + step {
        return too_large(v, saturates);
    }
    let code = (0..=0x7fu8).rev().find(|c| small(*c, fraction) <= v.abs()).unwrap_or(0);
    u64::from(code) | if v < 0.0 && code != 0 { 0x80 } else { 0 }
}

/// Rounds an f32 to f16 towards zero.
fn cut(v: f64) -> u64 {
    if v.is_nan() {
        return u64::from(to_f16(v));
    }
    let mut code = to_f16(v);
    if f16(u64::from(code)).abs() > v.abs() {
        code -= 1;
    }
    u64::from(code)
}

pub(super) fn reference(name: &str, x: &In) -> Option<Out> {
    let [a, b, c] = x.s;
    let (ia, ib) = (x.a32() as i32, x.b32() as i32);
    let dither = |v: u64, random: u64| f64::from(f32(if f32(v).is_finite() { v + random } else { v }));
    let wide = |f: fn(f32) -> f32| f32_out(f(f32(a)));
    let pair = |lo: u64, hi: u64| Some(Out { d: lo | hi << 16, flag: false, close: Close::P16 });
    let saturates = x.mode.0 >> 23 & 1 != 0;
    let fp8 = |fraction| move |v: u64| small(v as u8, fraction) as f32;
    let pair32 = |lo: f32, hi: f32| bits(u64::from(lo.to_bits()) | u64::from(hi.to_bits()) << 32);
    if let Some(out) = function(name, x) {
        return Some(out);
    }
    if let Some(out) = of_gfx950(name, x) {
        return Some(out);
    }
    match name {
        "cvt_i32_f64" => bits(to_int(f64(a), 32, true)),
        "cvt_u32_f64" => bits(to_int(f64(a), 32, false)),
        "cvt_i32_f32" => bits(to_int(f64::from(f32(a)), 32, true)),
        "cvt_u32_f32" => bits(to_int(f64::from(f32(a)), 32, false)),
        "cvt_pk_i16_f32" => {
            bits(to_int(f64::from(f32(a)), 16, true) | to_int(f64::from(f32(b)), 16, true) << 16)
        }
        "cvt_pk_u16_f32" => {
            bits(to_int(f64::from(f32(a)), 16, false) | to_int(f64::from(f32(b)), 16, false) << 16)
        }
        "cvt_i16_f16" => bits(to_int(f16(a), 16, true)),
        "cvt_u16_f16" => bits(to_int(f16(a), 16, false)),
        "cvt_f64_i32" => f64_out(ia as f64),
        "cvt_f64_u32" => f64_out(a as f64),
        "cvt_f32_i32" => rounded(&Exact::integer(ia.into()), 32, x),
        "cvt_f32_u32" => rounded(&Exact::integer(a.into()), 32, x),
        "cvt_f16_i16" => rounded(&Exact::integer((a as i16).into()), 16, x),
        "cvt_f16_u16" => rounded(&Exact::integer((a as u16).into()), 16, x),
        "cvt_f64_f32" => f64_out(f64::from(f32(a))),
        // The rounding is that of f64 (LLVM, `FPDPRounding`).
        "cvt_f32_f64" => rounded_by(&Exact::of(a, 64), 32, x.round(64)),
        "cvt_f32_f16" => f32_out(f16(a) as f32),
        "cvt_f16_f32" => rounded(&Exact::of(a, 32), 16, x),
        "cvt_rpi_i32_f32" => bits(to_int(f64::from((f64::from(f32(a)) + 0.5) as f32).floor(), 32, true)),
        "cvt_flr_i32_f32" => bits(to_int(f64::from(f32(a)).floor(), 32, true)),
        "cvt_off_f32_i4" => f32_out(
            [0, 1, 2, 3, 4, 5, 6, 7, -8, -7, -6, -5, -4, -3, -2, -1][(a & 15) as usize] as f32 * 0.0625,
        ),
        "cvt_f32_ubyte0" => f32_out(f32::from(a.to_le_bytes()[0])),
        "cvt_f32_ubyte1" => f32_out(f32::from(a.to_le_bytes()[1])),
        "cvt_f32_ubyte2" => f32_out(f32::from(a.to_le_bytes()[2])),
        "cvt_f32_ubyte3" => f32_out(f32::from(a.to_le_bytes()[3])),
        "cvt_norm_i16_f16" => bits(normalized(f16(a), true)),
        "cvt_norm_u16_f16" => bits(normalized(f16(a), false)),
        "cvt_pknorm_i16_f32" => {
            bits(normalized(f64::from(f32(a)), true) | normalized(f64::from(f32(b)), true) << 16)
        }
        "cvt_pknorm_u16_f32" => {
            bits(normalized(f64::from(f32(a)), false) | normalized(f64::from(f32(b)), false) << 16)
        }
        "cvt_pknorm_i16_f16" => bits(normalized(f16(a), true) | normalized(f16(b), true) << 16),
        "cvt_pknorm_u16_f16" => bits(normalized(f16(a), false) | normalized(f16(b), false) << 16),
        "cvt_pkrtz_f16_f32" => pair(cut(f64::from(f32(a))), cut(f64::from(f32(b)))),
        "cvt_pk_u8_f32" | "cvt_pkaccum_u8_f32" => {
            let rest = if name.contains("accum") { x.old & 0xffff_ffff } else { c };
            let at = 8 * (b & 3);
            bits(rest & !(0xff << at) | to_int(whole(f64::from(f32(a)), x.round(32)), 8, false) << at)
        }
        "cvt_f32_fp8" => f32_out(fp8(3)(a)),
        "cvt_f32_bf8" => f32_out(fp8(2)(a)),
        "cvt_pk_f32_fp8" => pair32(fp8(3)(a), fp8(3)(a >> 8)),
        "cvt_pk_f32_bf8" => pair32(fp8(2)(a), fp8(2)(a >> 8)),
        "cvt_pk_fp8_f32" => {
            bits(to_small(f64::from(f32(a)), 3, saturates) | to_small(f64::from(f32(b)), 3, saturates) << 8)
        }
        "cvt_pk_bf8_f32" => {
            bits(to_small(f64::from(f32(a)), 2, saturates) | to_small(f64::from(f32(b)), 2, saturates) << 8)
        }
        "cvt_sr_fp8_f32" => bits(to_small_down(dither(a, b >> 12), 3, saturates)),
        "cvt_sr_bf8_f32" => bits(to_small_down(dither(a, b >> 11), 2, saturates)),
        "ldexp_f16" => scaled(a, 16, i64::from(b as i16), x),
        "ldexp_f32" => scaled(a, 32, i64::from(ib), x),
        "ldexp_f64" => scaled(a, 64, i64::from(ib), x),
        "trunc_f32" => wide(f32::trunc),
        "rcp_iflag_f32" => ulps(1.0 / f64::from(f32(a)), 32, 0),
        "frexp_exp_i16_f16" => bits(split(f16(a)).1 as u64 & 0xffff),
        "frexp_exp_i32_f32" => bits(split(f64::from(f32(a))).1 as u64 & 0xffff_ffff),
        "frexp_exp_i32_f64" => bits(split(f64(a)).1 as u64 & 0xffff_ffff),
        "trig_preop_f64" => preop(f64(a), b),
        _ => steps(name, x),
    }
}

/// Conversions that only gfx950 has, and those whose 8-bit floats have the formats of the Open Compute Project there and on gfx12.
fn of_gfx950(name: &str, x: &In) -> Option<Out> {
    let [a, b, _] = x.s;
    let saturates = x.mode.0 >> 23 & 1 != 0;
    let (va, vb) = (f64::from(f32(a)), f64::from(f32(b)));
    let half = |format: Format, v: u64| u64::from(format.nearest(f64::from(f32(v)), false));
    let format = match name {
        _ if !matches!(x.target, Target::Gfx950 | Target::Gfx12) => return None,
        "cvt_f32_bf16" => return f32_out(f32(a << 16)),
        "cvt_pk_f16_f32" => {
            return Some(Out { d: half(F16, a) | half(F16, b) << 16, flag: false, close: Close::P16 });
        }
        "cvt_pk_bf16_f32" => {
            return Some(Out { d: half(BF16, a) | half(BF16, b) << 16, flag: false, close: Close::PBf16 });
        }
        "cvt_sr_f16_f32" => return f16_out(F16.random(va, b as u32, 23, false) as u16),
        "cvt_sr_bf16_f32" => {
            let d = u64::from(BF16.random(va, b as u32, 23, false));
            return Some(Out { d, flag: false, close: Close::PBf16 });
        }
        _ if name.contains("_fp8") => FP8,
        _ if name.contains("_bf8") => BF8,
        _ => return None,
    };
    // A NaN of a byte has any fraction.
    let byte = |v: f64| if v.is_nan() { FP8.nan(v.is_sign_negative()) } else { format.nearest(v, saturates) };
    let of = |v: u64| format.value(v as u32 & 0xff) as f32;
    match name {
        "cvt_f32_fp8" | "cvt_f32_bf8" => f32_out(of(a)),
        "cvt_pk_f32_fp8" | "cvt_pk_f32_bf8" => {
            Some(Out { d: pair_bits(of(a), of(a >> 8)), flag: false, close: Close::P32 })
        }
        "cvt_pk_fp8_f32" | "cvt_pk_bf8_f32" => {
            Some(Out { d: u64::from(byte(va) | byte(vb) << 8), flag: false, close: Close::Bytes(format) })
        }
        _ => Some(Out {
            d: u64::from(format.random(va, b as u32, 23, saturates)),
            flag: false,
            close: Close::Bytes(format),
        }),
    }
}

fn pair_bits(low: f32, high: f32) -> u64 {
    u64::from(low.to_bits()) | u64::from(high.to_bits()) << 32
}

/// Functions of one float.
fn function(name: &str, x: &In) -> Option<Out> {
    let name = name.replace("_legacy", "");
    let (op, size) = name.rsplit_once("_f")?;
    let size = size.parse().ok()?;
    let v = match size {
        16 => f16(x.s[0]),
        32 => f64::from(f32(x.s[0])),
        64 => f64(x.s[0]),
        _ => return None,
    };
    // f32 and f16 are rounded once from f64, which may have a small error, so that a tie may be rounded in either
    // direction.
    let near = if size == 64 { 1 } else { u32::from(size == 32) };
    match op {
        "floor" => float(v.floor(), size),
        "ceil" => float(v.ceil(), size),
        "trunc" => float(v.trunc(), size),
        "rndne" => float(nearest(v), size),
        "fract" if v.is_finite() => {
            let (fraction, field) = exact::fields(size);
            let below_one = (((1 << (field - 1)) - 1) << fraction) - 1;
            let round = x.round(size);
            let part = Exact::of(x.s[0], size).plus(&Exact::of(v.floor().to_bits(), 64).negated(), 0);
            let d = if part.is_zero() { 0 } else { part.round(size, round).min(below_one) };
            rounded(&Exact::of(d, size), size, x)
        }
        "fract" => float(f64::NAN, size),
        "frexp_mant" => float(split(v).0, size),
        "rcp" => ulps(1.0 / v, size, 0),
        "sqrt" => ulps(v.sqrt(), size, 0),
        "rsq" => ulps(1.0 / v.sqrt(), size, near),
        "exp" => ulps(v.exp2(), size, near),
        "log" => ulps(v.log2(), size, near),
        "sin" | "cos" => ulps(turns(v, op == "cos"), size, near),
        _ => None,
    }
}

/// Returns the sine or cosine of a number of turns; of 0 turns if there are more than 256.
pub(super) fn turns(v: f64, cosine: bool) -> f64 {
    let turns = if v.abs() <= 256.0 { v - v.round() } else { 0.0 };
    let turns = if v.is_finite() { turns } else { f64::NAN };
    if v == 0.0 && !cosine {
        return v;
    }
    // Computed from the nearest quarter turn, near which the accuracy is relative to the distance.
    let quarter = (turns * 4.0).round();
    let rest = (turns - quarter / 4.0) * std::f64::consts::TAU;
    match (quarter as i64 + i64::from(cosine)).rem_euclid(4) {
        0 => rest.sin(),
        1 => rest.cos(),
        2 => -rest.sin(),
        _ => -rest.cos(),
    }
}

/// The steps of divisions.
fn steps(name: &str, x: &In) -> Option<Out> {
    let [a, b, c] = x.s;
    match name {
        "div_fixup_f32" => fixup(32, x, Some(-150)),
        "div_fixup_f64" => fixup(64, x, Some(-1075)),
        "div_fixup_f16" | "div_fixup_legacy_f16" => fixup(16, x, None),
        "div_fmas_f32" => fmas(32, 64, x),
        "div_fmas_f64" => fmas(64, 128, x),
        "div_scale_f32" => {
            let sources = [a, b, c].map(|v| (f64::from(f32(v)), field(v, 32)));
            let (d, flag) = scale(sources, 96, 253, 24, 64);
            f32_out(d as f32).map(|out| Out { flag, ..out })
        }
        "div_scale_f64" => {
            let sources = [a, b, c].map(|v| (f64(v), field(v, 64)));
            let (d, flag) = scale(sources, 768, 2045, 53, 128);
            f64_out(d).map(|out| Out { flag, ..out })
        }
        _ => None,
    }
}

fn field(v: u64, size: u32) -> i32 {
    if size == 32 { (v >> 23 & 0xff) as i32 } else { (v >> 52 & 0x7ff) as i32 }
}

/// Returns a fused multiply-add, scaled up or down by a power of two and rounded once.
fn fmas(size: u32, power: i32, x: &In) -> Option<Out> {
    let [a, b, c] = x.s.map(|v| Exact::of(v, size));
    let above = field(x.s[2], size) > (1 << (exact::fields(size).1 - 1)) - 1;
    let power = match (x.bit, above) {
        (false, _) => 0,
        (true, true) => power,
        (true, false) => -power,
    };
    rounded(&a.times(&b).plus(&c, x.round(size)).scaled(power), size, x)
}

/// Quotients whose operands' exponents differ by less than `least` are out of range.
fn fixup(size: u32, x: &In, least: Option<i32>) -> Option<Out> {
    let [q, d, n] = x.s.map(|v| Exact::of(v, size));
    let sign = x.s[1] >> (size - 1) != x.s[2] >> (size - 1);
    let signed = |v: Exact| if v.is_negative() == sign { v } else { v.negated() };
    let infinite = |v: &Exact| matches!(v, Exact::Infinite { .. });
    let one = Exact::integer(1);
    let value = if n.is_nan() || d.is_nan() || n.is_zero() && d.is_zero() || infinite(&n) && infinite(&d) {
        Exact::Nan
    } else if d.is_zero() || infinite(&n) {
        Exact::Infinite { negative: sign }
    } else if infinite(&d) || n.is_zero() {
        signed(Exact::of(0, size))
    } else if least.is_some_and(|least| field(x.s[2], size) - field(x.s[1], size) < least) {
        signed(one.scaled(-5000))
    } else if least.is_some() && (q.is_nan() || infinite(&q)) {
        signed(one.scaled(5000))
    } else {
        signed(q)
    };
    rounded(&value, size, x)
}

/// The arguments are value, denominator and numerator, each with its exponent. Results for f32 are exact in f64.
fn scale(
    [(p, _), (q, q_field), (r, r_field)]: [(f64, i32); 3],
    far: i32,
    huge: i32,
    tiny: i32,
    power: i32,
) -> (f64, bool) {
    let [up, down] = [power, -power].map(|n| p * 2f64.powi(n));
    let of_denominator = p == q;
    let (d, flag) = match (r_field - q_field, q_field) {
        (distance, _) if distance >= far => (if of_denominator { up } else { p }, true),
        (_, 0) => (up, false),
        (distance, field) if field >= huge && distance <= -far => {
            (if of_denominator { down } else { p }, true)
        }
        (_, field) if field >= huge => (down, false),
        (distance, _) if distance <= -far => (if of_denominator { p } else { up }, true),
        _ => (if r_field <= tiny { up } else { p }, false),
    };
    (if r == 0.0 || q == 0.0 { f64::NAN } else { d }, flag)
}

/// Returns 53 bits of 2/pi.
fn preop(a: f64, segment: u64) -> Option<Out> {
    let field = field(a.to_bits(), 64);
    let at = (segment & 31) as usize * 53 + (field - 1077).max(0) as usize;
    let digits = two_over_pi();
    let whole: u64 = (0..53).map(|n| u64::from(*digits.get(at + n).unwrap_or(&false)) << (52 - n)).sum();
    let power = if field >= 1968 { 75 } else { -53 } - at as i32;
    f64_out(if power < -1074 {
        0.0
    } else {
        whole as f64 * 2f64.powi(power / 2) * 2f64.powi(power - power / 2)
    })
}

/// Returns the first 1201 bits of 2/pi, by long division of 2 by pi, which Machin's formula gives.
fn two_over_pi() -> &'static [bool] {
    static BITS: std::sync::OnceLock<Vec<bool>> = std::sync::OnceLock::new();
    BITS.get_or_init(|| {
        // Fixed point: limbs of 32 bits, the first is the whole part.
        const N: usize = 44;
        type Fixed = [u32; N];
        fn divide(v: &Fixed, by: u64) -> Fixed {
            let mut rest = 0u64;
            v.map(|limb| {
                let now = rest << 32 | u64::from(limb);
                rest = now % by;
                (now / by) as u32
            })
        }
        fn add(a: &Fixed, b: &Fixed, subtract: bool) -> Fixed {
            let mut out = [0; N];
            let mut carry = i64::from(0u8);
            for n in (0..N).rev() {
                let b = i64::from(b[n]);
                let sum = i64::from(a[n]) + if subtract { -b } else { b } + carry;
                out[n] = sum as u32;
                carry = sum >> 32;
            }
            out
        }
        fn arctan(inverse: u64, times: u32) -> Fixed {
            let mut one = [0; N];
            one[0] = times;
            let mut term = divide(&one, inverse);
            let mut sum = term;
            for n in 1..1000 {
                term = divide(&term, inverse * inverse);
                sum = add(&sum, &divide(&term, 2 * n + 1), n % 2 == 1);
            }
            sum
        }
        let pi = add(&arctan(5, 16), &arctan(239, 4), true);
        let mut rest = [0; N];
        rest[0] = 2;
        (0..1201)
            .map(|_| {
                rest = add(&rest, &rest, false);
                let bit = rest >= pi;
                if bit {
                    rest = add(&rest, &pi, true);
                }
                bit
            })
            .collect()
    })
}
