//! References for floating-point arithmetic: f32 and f16 exactly in f64 and then rounded once, f64 in integers.

use super::{Close, In, Out, f16, f16_out, f32, f32_out, f64, f64_out, flag};
use crate::soft;

/// A f64 rounded to f16.
pub(super) fn to_f16(v: f64) -> u16 {
    soft::convert(soft::F64, soft::F16, soft::Round::Even, v.to_bits()) as u16
}

/// A sum of two f64 rounded to odd, so that it can be rounded again to fewer bits.
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

fn fma32(a: f32, b: f32, c: f32) -> f32 {
    // The product is exact.
    odd_sum(f64::from(a) * f64::from(b), f64::from(c)) as f32
}

fn sum64(a: f64, b: f64) -> f64 {
    f64::from_bits(soft::add(soft::F64, soft::Round::Even, a.to_bits(), b.to_bits()))
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

/// `v_min` or `v_max` of bit patterns, as the ISA document writes it out.
fn extreme(x: &In, a: u64, b: u64, size: u32, max: bool) -> u64 {
    let quiet = [1u64 << 9, 1 << 22, 1 << 51][[16, 32, 64].iter().position(|s| *s == size).unwrap_or(0)];
    let (p, q) = (value(a, size), value(b, size));
    if x.mode.ieee() && is_signaling(a, size) {
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

pub(super) fn reference(name: &str, x: &In) -> Option<Out> {
    if let Some(compared) = compare(name, x) {
        return compared;
    }
    if name == "dot2c_f32_f16" {
        let part = |v: u64, n: u32| f16(v >> (16 * n) & 0xffff) as f32;
        let [a, b, _] = x.s;
        let inner = fma32(part(a, 1), part(b, 1), f32(x.old));
        return f32_out(fma32(part(a, 0), part(b, 0), inner));
    }
    if name == "pk_fmac_f16" {
        let [a, b, _] = x.s;
        let part = |n: u32| {
            let at = |v: u64| f16(v >> (16 * n) & 0xffff);
            u64::from(to_f16(odd_sum(at(a) * at(b), at(x.old))))
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
        // A signalling NaN passes through where IEEE mode is off.
        let close = if x.mode.ieee() { close } else { Close::Bits };
        Some(Out { d, flag: false, close })
    };
    match op {
        "min" => return extreme_out(min(a, b)),
        "max" => return extreme_out(max(a, b)),
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
    match size {
        32 => single(op, f32(a), f32(b), f32(c), x),
        64 => double(op, f64(a), f64(b), f64(c), f64(x.old)),
        16 => half(op, f16(a), f16(b), f16(c), f16(x.old & 0xffff)),
        _ => None,
    }
}

/// Denormals as zeros.
fn flushed(v: f32) -> f32 {
    if v != 0.0 && v.abs() < f32::MIN_POSITIVE { v * 0.0 } else { v }
}

fn unfused32(a: f32, b: f32, c: f32) -> f32 {
    let product = flushed((f64::from(flushed(a)) * f64::from(flushed(b))) as f32);
    flushed((f64::from(product) + f64::from(flushed(c))) as f32)
}

fn single(op: &str, a: f32, b: f32, c: f32, x: &In) -> Option<Out> {
    let (p, q) = (f64::from(a), f64::from(b));
    let old = f32(x.old);
    f32_out(match op {
        "add" => (p + q) as f32,
        "sub" => (p - q) as f32,
        "subrev" => (q - p) as f32,
        "mul" => (p * q) as f32,
        "mul_legacy" => {
            if p == 0.0 || q == 0.0 {
                0.0
            } else {
                (p * q) as f32
            }
        }
        "fma" | "fmamk" | "fmaak" => fma32(a, b, c),
        "fmac" => fma32(a, b, old),
        "mad" | "madmk" | "madak" => unfused32(a, b, c),
        "mac" => unfused32(a, b, old),
        "mad_legacy" => {
            if a == 0.0 || b == 0.0 {
                unfused32(0.0, 0.0, c)
            } else {
                unfused32(a, b, c)
            }
        }
        "cubeid" | "cubesc" | "cubetc" | "cubema" => return cube(op, [a, b, c]),
        _ => return None,
    })
}

/// The face is that of the axis with the largest coordinate; of equals z, then y.
fn cube(op: &str, v: [f32; 3]) -> Option<Out> {
    let largest = |n: usize| v.iter().all(|other| v[n].abs() >= other.abs());
    // A NaN is never larger; with one among the others the comparisons go on to x.
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
        ("cubema", _) => (2.0 * f64::from(v[axis])) as f32,
        ("cubesc", 0) => -mirror(v[2]),
        ("cubesc", 1) => v[0],
        ("cubesc", _) => mirror(v[0]),
        ("cubetc", 1) => mirror(v[2]),
        (_, _) => -v[1],
    })
}

fn double(op: &str, a: f64, b: f64, c: f64, old: f64) -> Option<Out> {
    let even = soft::Round::Even;
    let mul = |a: f64, b: f64| f64::from_bits(soft::mul(soft::F64, even, a.to_bits(), b.to_bits()));
    let fma = |a: f64, b: f64, c: f64| {
        f64::from_bits(soft::fma(soft::F64, even, a.to_bits(), b.to_bits(), c.to_bits()))
    };
    f64_out(match op {
        "add" => sum64(a, b),
        "mul" => mul(a, b),
        "fma" => fma(a, b, c),
        "fmac" => fma(a, b, old),
        _ => return None,
    })
}

fn half(op: &str, a: f64, b: f64, c: f64, old: f64) -> Option<Out> {
    // Products and sums of two are exact in f64.
    let fused = |a: f64, b: f64, c: f64| to_f16(odd_sum(a * b, c));
    let unfused = |a: f64, b: f64, c: f64| to_f16(f16(u64::from(to_f16(a * b))) + c);
    f16_out(match op {
        "add" => to_f16(a + b),
        "sub" => to_f16(a - b),
        "subrev" => to_f16(b - a),
        "mul" => to_f16(a * b),
        "fma" | "fma_legacy" => fused(a, b, c),
        "mad" | "mad_legacy" | "madmk" | "madak" => unfused(a, b, c),
        "mac" => unfused(a, b, old),
        _ => return None,
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
