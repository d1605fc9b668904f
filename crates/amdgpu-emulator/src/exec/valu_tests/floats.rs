//! References for floating-point arithmetic: on exact numbers (`exact`), then rounded once as the mode says.

use super::narrow::BF16;
use super::{Close, In, Out, f16, f16_out, f32, f32_out, f64, f64_out, flag};
use crate::exec::number::exact;

/// Rounds an f64 to f16.
pub(super) fn to_f16(v: f64) -> u16 {
    exact::convert(64, 16, 0, v.to_bits()) as u16
}

/// Returns a sum of two f64, rounded to odd so that it can be rounded again to fewer bits.
pub(super) fn odd_sum(a: f64, b: f64) -> f64 {
    let sum = a + b;
    if !sum.is_finite() {
        return sum;
    }
    let v = sum - a;
    let error = (a - (sum - v)) + (b - v);
    if error == 0.0 || sum.to_bits() & 1 != 0 {
        sum
    } else if (error > 0.0) == (sum > 0.0) {
        f64::from_bits(sum.to_bits() + 1)
    } else {
        f64::from_bits(sum.to_bits() - 1)
    }
}

fn is_signaling(v: u64, size: u32) -> bool {
    match size {
        16 => f16(v).is_nan() && v & 1 << 9 == 0,
        32 => f32(v).is_nan() && v & 1 << 22 == 0,
        _ => f64(v).is_nan() && v & 1 << 51 == 0,
    }
}

fn value(v: u64, size: u32) -> f64 {
    match size {
        16 => f16(v),
        32 => f64::from(f32(v)),
        _ => f64(v),
    }
}

/// Returns `v_min` or `v_max` of bit patterns, by the steps in the ISA document.
fn extreme(x: &In, a: u64, b: u64, size: u32, max: bool) -> u64 {
    let quiet = [1u64 << 9, 1 << 22, 1 << 51][[16, 32, 64].iter().position(|s| *s == size).unwrap_or(0)];
    let (p, q) = (value(a, size), value(b, size));
    if x.mode.prefers_numbers() && p.is_nan() && q.is_nan() {
        // RDNA4 ISA, `V_MIN_NUM_F32`.
        a | quiet
    } else if x.mode.ieee() && is_signaling(a, size) {
        a | quiet
    } else if x.mode.ieee() && is_signaling(b, size) {
        b | quiet
    } else if p.is_nan() {
        b
    } else if q.is_nan() {
        a
    } else if p == 0.0 && q == 0.0 {
        // -0 is less than +0.
        if p.is_sign_negative() != max { a } else { b }
    } else if (p < q) != max {
        a
    } else {
        b
    }
}

/// Returns `minimum` and `maximum` of IEEE 754-2019, 9.6: a NaN for any NaN, and -0 is less than +0. The name of an operation on
/// three numbers says which comes first.
fn of_ieee_754_2019(op: &str, values: &[u64], size: u32) -> Out {
    let (close, nan) = match size {
        16 => (Close::F16, 0x7e00),
        32 => (Close::F32, 0x7fc0_0000),
        _ => (Close::F64, 0x7ff8 << 48),
    };
    let sign = 1 << (size - 1);
    // The order of integers that puts -0 below +0.
    let order = |v: u64| if v & sign != 0 { !((v & !sign) as i64) } else { v as i64 };
    let mut is_maximum = op.starts_with("max");
    let mut result = values[0];
    for next in &values[1..] {
        let replaces = if is_maximum { order(*next) > order(result) } else { order(*next) < order(result) };
        result = if replaces { *next } else { result };
        is_maximum ^= matches!(op, "minimummaximum" | "maximumminimum");
    }
    let has_nan = values.iter().any(|v| value(*v, size).is_nan());
    Out { d: if has_nan { nan } else { result }, flag: false, close }
}

pub(super) fn reference(name: &str, x: &In) -> Option<Out> {
    if let Some(compared) = compare(name, x) {
        return compared;
    }
    if name == "dot2c_f32_f16" {
        // The product of the second pair is added first, on RDNA that of the first pair (RDNA3 ISA, `V_DOT2ACC_F32_F16`);
        // each step is rounded. CDNA2 and CDNA3 ISA, 6.4: whatever MODE says, to nearest even, and denormals are flushed.
        let [first, second] = if x.target.is_rdna() { [0, 1] } else { [1, 0] };
        let flushed = |v, size| exact::flush(v, size, false);
        let part = |v: u64, n: u32| exact::convert(16, 32, 0, flushed(v >> (16 * n) & 0xffff, 16));
        let fma = |n, c| flushed(exact::fma(32, 0, part(x.s[0], n), part(x.s[1], n), c), 32);
        return f32_out(f32(fma(second, fma(first, flushed(x.old & 0xffff_ffff, 32)))));
    }
    if name == "dot2c_f32_bf16" {
        // The product of the first pair is added first; each step is rounded.
        let part =
            |v: u64, n: u32| exact::flush((v >> (16 * n) & 0xffff) << 16, 32, x.mode.denorm32() & 1 != 0);
        let [a, b, _] = x.s;
        let old = exact::flush(x.old & 0xffff_ffff, 32, x.mode.denorm32() & 1 != 0);
        let (round, keep) = (x.mode.round32(), x.mode.denorm32() & 2 != 0);
        let inner = exact::flush(exact::fma(32, round, part(a, 0), part(b, 0), old), 32, keep);
        return f32_out(f32(exact::fma(32, round, part(a, 1), part(b, 1), inner)));
    }
    if let "dot2_f16_f16" | "dot2_bf16_bf16" = name {
        return Some(halves_dot(name == "dot2_f16_f16", x));
    }
    if name == "pk_fmac_f16" {
        let [a, b, _] = x.s;
        let part = |n: u32| {
            let keep = x.mode.denorm64();
            let [a, b, c] = [a, b, x.old].map(|v| exact::flush(v >> (16 * n) & 0xffff, 16, keep & 1 != 0));
            exact::flush(exact::fma(16, x.mode.round64(), a, b, c), 16, keep & 2 != 0)
        };
        return Some(Out { d: part(0) | part(1) << 16, flag: false, close: Close::P16 });
    }
    let (op, size) = name.rsplit_once("_f")?;
    let size: u32 = size.parse().ok()?;
    let [a, b, c] = x.s;
    let (min, max) = (|a, b| extreme(x, a, b, size, false), |a, b| extreme(x, a, b, size, true));
    let extreme_out = |d: u64| {
        let close = match size {
            16 => Close::F16,
            32 => Close::F32,
            _ => Close::F64,
        };
        // Outside of IEEE mode a signalling NaN is not quieted, except on gfx12.
        let quiets = x.mode.ieee() || x.mode.prefers_numbers();
        let close = if quiets { close } else { Close::Bits };
        Some(Out { d, flag: false, close })
    };
    match op {
        "min" => return extreme_out(min(a, b)),
        "max" => return extreme_out(max(a, b)),
        "minimum" | "maximum" => return Some(of_ieee_754_2019(op, &[a, b], size)),
        "minimum3" | "maximum3" | "minimummaximum" | "maximumminimum" => {
            return Some(of_ieee_754_2019(op, &[a, b, c], size));
        }
        "minmax" => return extreme_out(max(min(a, b), c)),
        "maxmin" => return extreme_out(min(max(a, b), c)),
        "min3" => return extreme_out(min(min(a, b), c)),
        "max3" => return extreme_out(max(max(a, b), c)),
        "med3" => {
            if [a, b, c].iter().any(|v| value(*v, size).is_nan()) {
                return extreme_out(min(min(a, b), c));
            }
            let top = value(max(max(a, b), c), size);
            let rest = if top == value(a, size) {
                [b, c]
            } else if top == value(b, size) {
                [a, c]
            } else {
                [a, b]
            };
            return extreme_out(max(rest[0], rest[1]));
        }
        _ => {}
    }
    if op.starts_with("cube") {
        return cube(op, [a, b, c].map(f32), x);
    }
    let d = arithmetic(op, size, x)?;
    match size {
        16 => f16_out(d as u16),
        32 => f32_out(f32(d)),
        _ => f64_out(f64(d)),
    }
}

/// Returns the sum of two products and the third source, each step of which is rounded to f32, and the sum to 16 bits.
fn halves_dot(is_f16: bool, x: &In) -> Out {
    let keep = !is_f16 || x.denormals(16) & 1 != 0;
    let wide = |v: u64| match is_f16 {
        true => exact::convert(16, 32, 0, exact::flush(v, 16, keep)),
        false => v << 16,
    };
    let part = |v: u64, n: u32| wide(v >> (16 * n) & 0xffff);
    let [a, b, c] = x.s;
    let low = exact::fma(32, 0, part(a, 0), part(b, 0), wide(c));
    let sum = exact::fma(32, 0, part(a, 1), part(b, 1), low);
    if is_f16 {
        return Out { d: exact::convert(32, 16, x.round(16), sum), flag: false, close: Close::F16 };
    }
    let d = u64::from(BF16.nearest(f64::from(f32(sum)), false));
    Out { d, flag: false, close: Close::Bf16 }
}

/// Sums and products. Sources and result are flushed as the mode says.
fn arithmetic(op: &str, size: u32, x: &In) -> Option<u64> {
    let round = x.round(size);
    let [a, b, c] = x.s;
    let minus = |v: u64| v ^ 1 << (size - 1);
    let zero = |v: u64| v & !(1 << (size - 1)) == 0;
    let old = if size == 64 { x.old } else { x.old & ((1 << size) - 1) };
    let fma = |a, b, c| exact::fma(size, round, a, b, c);
    // The product is rounded, then the sum. For f32, denormals are flushed in every mode.
    let keep = if size == 32 { 0 } else { x.denormals(size) };
    let mad = |a: u64, b: u64, c: u64| {
        let [a, b, c] = [a, b, c].map(|v| exact::flush(v, size, keep & 1 != 0));
        let product = exact::flush(exact::mul(size, round, a, b), size, keep & 2 != 0);
        exact::flush(exact::add(size, round, product, c), size, keep & 2 != 0)
    };
    Some(match op {
        "add" => exact::add(size, round, a, b),
        "sub" => exact::add(size, round, a, minus(b)),
        "subrev" => exact::add(size, round, b, minus(a)),
        "mul" => exact::mul(size, round, a, b),
        "mul_legacy" if zero(a) || zero(b) => 0,
        "mul_legacy" => exact::mul(size, round, a, b),
        "fma_dx9_zero" if zero(a) || zero(b) => c,
        "fmac_dx9_zero" if zero(a) || zero(b) => old,
        "fma_dx9_zero" => fma(a, b, c),
        "fmac_dx9_zero" => fma(a, b, old),
        "mullit" => {
            let (second, third) = (f32(b), f32(c));
            let least = second == f32::MIN || second == f32::NEG_INFINITY || second.is_nan();
            if least || third <= 0.0 || third.is_nan() { 0xff7f_ffff } else { exact::mul(size, round, a, b) }
        }
        "fma" | "fmamk" | "fmaak" | "fma_legacy" => fma(a, b, c),
        "fmac" => fma(a, b, old),
        "mad" | "madmk" | "madak" => mad(a, b, c),
        "mac" => mad(a, b, old),
        "mad_legacy" if size == 16 => mad(a, b, c),
        "mad_legacy" => {
            let denormal = |v: u64| zero(exact::flush(v, size, false));
            if denormal(a) || denormal(b) { mad(0, 0, c) } else { mad(a, b, c) }
        }
        _ => return None,
    })
}

/// The face is that of the axis with the largest coordinate; of equal ones z comes first, then y.
fn cube(op: &str, v: [f32; 3], x: &In) -> Option<Out> {
    let largest = |n: usize| v.iter().all(|other| v[n].abs() >= other.abs());
    // Comparisons with a NaN are false, so a NaN may leave x.
    let axis = if v[2].abs() >= v[0].abs() && v[2].abs() >= v[1].abs() {
        2
    } else if v[1].abs() >= v[0].abs() {
        1
    } else {
        0
    };
    if v.iter().all(|c| !c.is_nan()) {
        assert!(largest(axis));
    }
    let negative = v[axis] < 0.0;
    let mirror = |c: f32| if negative { -c } else { c };
    f32_out(match (op, axis) {
        ("cubeid", _) => (2 * axis + usize::from(negative)) as f32,
        ("cubema", _) => f32(exact::mul(32, x.round(32), v[axis].to_bits().into(), 0x4000_0000)),
        ("cubesc", 0) => -mirror(v[2]),
        ("cubesc", 1) => v[0],
        ("cubesc", _) => mirror(v[0]),
        ("cubetc", 1) => mirror(v[2]),
        (_, _) => -v[1],
    })
}

/// Comparisons of floats, and `v_cmp_class`.
fn compare(name: &str, x: &In) -> Option<Option<Out>> {
    let mut parts = name.split('_');
    let (Some("cmp" | "cmpx"), Some(op), Some(ty)) = (parts.next(), parts.next(), parts.next()) else {
        return None;
    };
    let size: u32 = ty.strip_prefix('f')?.parse().ok()?;
    let (a, b) = (value(x.s[0], size), value(x.s[1], size));
    let order = a.partial_cmp(&b);
    let (lt, eq, gt) = (
        order.is_some_and(|o| o.is_lt()),
        order.is_some_and(|o| o.is_eq()),
        order.is_some_and(|o| o.is_gt()),
    );
    Some(flag(match op {
        "class" => class(x.s[0], size, x.b32()),
        "f" => false,
        "lt" => lt,
        "eq" => eq,
        "le" => lt || eq,
        "gt" => gt,
        "lg" => lt || gt,
        "ge" => gt || eq,
        "o" => order.is_some(),
        "u" => order.is_none(),
        "nge" => !(gt || eq),
        "nlg" => !(lt || gt),
        "ngt" => !gt,
        "nle" => !(lt || eq),
        "neq" => !eq,
        "nlt" => !lt,
        "tru" => true,
        _ => return None,
    }))
}

fn class(v: u64, size: u32, mask: u32) -> bool {
    use std::num::FpCategory::*;
    let category = match size {
        16 => half::f16::from_bits(v as u16).classify(),
        32 => f32(v).classify(),
        _ => f64(v).classify(),
    };
    let negative = value(v, size).is_sign_negative();
    let bit = match (category, negative) {
        (Nan, _) => usize::from(!is_signaling(v, size)),
        (Infinite, true) => 2,
        (Normal, true) => 3,
        (Subnormal, true) => 4,
        (Zero, true) => 5,
        (Zero, false) => 6,
        (Subnormal, false) => 7,
        (Normal, false) => 8,
        (Infinite, false) => 9,
    };
    mask >> bit & 1 != 0
}
