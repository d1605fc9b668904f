//! Reciprocals, roots, exponentials, logarithms, sines.
//!
//! Results of f16 and f32 are computed in f64, with an error of about 2^-40 of a unit in the last place, then rounded
//! once. Results of f64 are within one unit in the last place. All hosts give the same bits, as no library is called.
//!
//! Loops over lanes compute f32 with shorter polynomials and fused multiply-adds (`fast`). Their error is less than
//! 2^-13 of a unit: a result that is nearer than that to the middle of two f32, or for which the shorter way is not
//! valid, is computed in the other way. So both give the same bits, which a test of all f32 shows. The portable level,
//! which has no fused multiply-add, doesn't use the shorter way.

use crate::exec::number::half16::Half;

use super::op::{ops1, ops2};

/// 1.5 * 2^52. Adding it rounds a number to an integer, in the low bits.
const ROUNDER: f64 = 6755399441055744.0;

/// Returns `2^x`. `x` is limited to -200..200, whose results are 0 or infinity as an f32.
#[inline(always)]
fn exp2(x: f64) -> f64 {
    // ln(2)^n / n!
    const C: [f64; 12] = [
        1.0,
        std::f64::consts::LN_2,
        0.240_226_506_959_100_72,
        0.055_504_108_664_821_58,
        0.009_618_129_107_628_477,
        0.001_333_355_814_642_844_3,
        0.000_154_035_303_933_816_1,
        1.525_273_380_405_984e-5,
        1.321_548_679_014_431e-6,
        1.017_808_600_923_97e-7,
        7.054_911_620_801_123e-9,
        4.445_538_271_870_812e-10,
    ];
    let inside = if x > 200.0 { 200.0 } else { x };
    let inside = if inside < -200.0 { -200.0 } else { inside };
    let shifted = inside + ROUNDER;
    let r = inside - (shifted - ROUNDER);
    let mut p = C[11];
    for n in (0..11).rev() {
        p = p * r + C[n];
    }
    let d = f64::from_bits(p.to_bits().wrapping_add(shifted.to_bits() << 52));
    if x.is_nan() { f64::NAN } else { d }
}

/// Returns the logarithm to base 2 of a number that is not an f64 denormal.
#[inline(always)]
fn log2(x: f64) -> f64 {
    // sqrt(1/2).
    const LOW: u64 = 0x3fe6_a09e_667f_3bcd;
    // 2 / ln(2) / (2 n + 1)
    const C: [f64; 10] = [
        2.885_390_081_777_926_8,
        0.961_796_693_925_975_6,
        0.577_078_016_355_585_4,
        0.412_198_583_111_132_4,
        0.320_598_897_975_325_2,
        0.262_308_189_252_538_8,
        0.221_953_083_213_686_68,
        0.192_359_338_785_195_12,
        0.169_728_828_339_878_05,
        0.151_862_635_883_048_8,
    ];
    let above = x.to_bits().wrapping_sub(LOW);
    // The exponent as a signed number. Adding it to the low bits of ROUNDER converts it to a float.
    let exponent = ((above as i64) >> 52) as u64;
    let e = f64::from_bits(ROUNDER.to_bits().wrapping_add(exponent)) - ROUNDER;
    let m = f64::from_bits((above & 0x000f_ffff_ffff_ffff).wrapping_add(LOW));
    let s = (m - 1.0) / (m + 1.0);
    let z = s * s;
    let mut p = C[9];
    for n in (0..9).rev() {
        p = p * z + C[n];
    }
    let d = e + s * p;
    let d = if x == 0.0 { f64::NEG_INFINITY } else { d };
    let d = if x == f64::INFINITY { x } else { d };
    if x >= 0.0 { d } else { f64::NAN }
}

/// Returns the sine of `r` turns, from -1/4 to 1/4.
#[inline(always)]
fn quarter_sine(r: f64) -> f64 {
    // (-1)^n / (2 n + 1)!
    const C: [f64; 11] = [
        1.0,
        -0.166_666_666_666_666_66,
        0.008_333_333_333_333_333,
        -0.000_198_412_698_412_698_4,
        2.755_731_922_398_589_3e-6,
        -2.505_210_838_544_172e-8,
        1.605_904_383_682_161_3e-10,
        -7.647_163_731_819_816e-13,
        2.811_457_254_345_520_6e-15,
        -8.220_635_246_624_33e-18,
        1.957_294_106_339_126e-20,
    ];
    let y = r * std::f64::consts::TAU;
    let z = y * y;
    let mut p = C[10];
    for n in (0..10).rev() {
        p = p * z + C[n];
    }
    y * p
}

/// Returns the remainder of a number of turns, from -1/2 to 1/2. Outside of the valid range of 256 turns it is 0 (Vega
/// ISA, `V_SIN_F32`); infinities give NaN.
#[inline(always)]
fn turn(x: f64) -> f64 {
    let r = x - ((x + ROUNDER) - ROUNDER);
    let inside = if x.abs() <= 256.0 { r } else { 0.0 };
    if x.is_finite() { inside } else { f64::NAN }
}

#[inline(always)]
fn sin(x: f64) -> f64 {
    let r = turn(x);
    let high = if r > 0.25 { 0.5 - r } else { r };
    quarter_sine(if r < -0.25 { -0.5 - r } else { high })
}

#[inline(always)]
fn cos(x: f64) -> f64 {
    quarter_sine(0.25 - turn(x).abs())
}

/// Returns the reciprocal square root to 0.501 ulp: a step of Newton's method from what two roundings leave, which takes a
/// third of the time of a square root and a division of f64.
#[inline(always)]
fn rsq(a: f32) -> f32 {
    let y = 1.0 / a.sqrt();
    // a * y = high + low exactly.
    let high = a * y;
    let low = a.mul_add(y, -high);
    let rest = low.mul_add(-y, high.mul_add(-y, 1.0));
    let better = (0.5 * y).mul_add(rest, y);
    // Of zero, infinity and NaN there is no rest.
    if rest.is_finite() { better } else { y }
}

/// 1.5 * 2^23, the same for f32 as [`ROUNDER`].
const ROUNDER_F32: f32 = 12_582_912.0;

/// Returns the polynomial with these coefficients, the lowest first.
#[inline(always)]
fn polynomial<const N: usize>(c: [f64; N], x: f64) -> f64 {
    let mut p = c[N - 1];
    for n in (0..N - 1).rev() {
        p = p.mul_add(x, c[n]);
    }
    p
}

/// Returns whether a number is so near to the middle of two neighboring f32 that an error of 2^-38 may change to which of
/// them it is rounded. It must not be rounded to an f32 denormal.
#[inline(always)]
fn is_near_middle(x: f64) -> bool {
    // The lower 29 bits of f64 are dropped. They are moved to the top of a dword, whose lower 3 bits are then 0.
    const MARGIN: u32 = 1 << (3 + 52 - 38 + 1);
    ((x.to_bits() as u32) << 3).wrapping_add((1 << 31) + MARGIN) <= 2 * MARGIN
}

/// Computes [`exp2`] of an f32, unless the flag is 1.
#[inline(always)]
fn fast_exp2(a: f32) -> (f32, u32) {
    // 2^r for r from -1/2 to 1/2, interpolated at Chebyshev nodes. The error is below 2^-40.
    const C: [f64; 9] = [
        1.0,
        0.693_147_180_556_832_4,
        0.240_226_506_958_885_7,
        0.055_504_109_063_255_6,
        0.009_618_129_135_215_583,
        0.001_333_347_847_393_551,
        0.000_154_034_752_037_455_85,
        1.530_370_065_594_935_2e-5,
        1.325_080_128_588_047_5e-6,
    ];
    let above = if a > -151.0 { a } else { -151.0 };
    let inside = if above < 128.0 { above } else { 128.0 };
    let shifted = inside + ROUNDER_F32;
    // Exact.
    let r = inside - (shifted - ROUNDER_F32);
    let p = polynomial(C, f64::from(r));
    // The exponent may become that of infinity.
    let scaled = f32::from_bits((p as f32).to_bits().wrapping_add(shifted.to_bits() << 23));
    let is_zero = a <= -150.0;
    // Neither a denormal nor a NaN.
    let is_valid = is_zero | (a >= -126.0);
    (if is_zero { 0.0 } else { scaled }, u32::from(!is_valid | is_near_middle(p)))
}

/// Computes [`log2`] of an f32, unless the flag is 1.
#[inline(always)]
fn fast_log2(a: f32) -> (f32, u32) {
    // sqrt(1/2).
    const LOW: u32 = 0x3f35_04f3;
    // 2 * artanh(s) / (s * ln(2)) as a polynomial of s^2. The relative error is below 2^-44.
    const C: [f64; 6] = [
        2.885_390_081_777_851_7,
        0.961_796_694_111_418_9,
        0.577_077_942_849_034,
        0.412_209_208_449_098_36,
        0.319_907_342_318_593_1,
        0.282_878_408_342_044_25,
    ];
    let above = a.to_bits().wrapping_sub(LOW);
    let exponent = above as i32 >> 23;
    let m = f64::from(f32::from_bits((above & 0x007f_ffff) + LOW));
    let s = (m - 1.0) / (m + 1.0);
    let d = s.mul_add(polynomial(C, s * s), f64::from(exponent));
    // Positive and neither denormal nor infinite.
    let is_valid = a.to_bits().wrapping_sub(1 << 23) < 254 << 23;
    (d as f32, u32::from(!is_valid | is_near_middle(d)))
}

/// Returns the remainder of a number of turns, from -1/2 to 1/2, exactly. It must be in the valid range.
#[inline(always)]
fn fast_turn(x: f32) -> f32 {
    x - ((x + ROUNDER_F32) - ROUNDER_F32)
}

/// Computes [`quarter_sine`] of `r` as an f32, unless the flag is 1. `x` is the source of the instruction.
#[inline(always)]
fn fast_quarter_sine(x: f32, r: f64) -> (f32, u32) {
    // sin(2 pi r) / r as a polynomial of r^2. The relative error is below 2^-43.
    const C: [f64; 7] = [
        6.283_185_307_179_27,
        -41.341_702_239_903_96,
        81.605_249_149_038_43,
        -76.705_847_543_785_41,
        42.058_134_844_922_23,
        -15.081_482_608_187_914,
        3.665_851_226_287_316_4,
    ];
    let p = r * polynomial(C, r * r);
    let d = p as f32;
    let is_denormal = (d.abs() < f32::MIN_POSITIVE) & (d != 0.0);
    let is_valid = x.abs() <= 256.0;
    (d, u32::from(!is_valid | is_denormal | is_near_middle(p)))
}

#[inline(always)]
fn fast_sin(x: f32) -> (f32, u32) {
    let r = fast_turn(x);
    // Exact, as both differ by less than a factor of 2.
    let high = if r > 0.25 { 0.5 - r } else { r };
    fast_quarter_sine(x, f64::from(if r < -0.25 { -0.5 - r } else { high }))
}

#[inline(always)]
fn fast_cos(x: f32) -> (f32, u32) {
    fast_quarter_sine(x, 0.25 - f64::from(fast_turn(x).abs()))
}

ops1! {
    ExpF32: |_, a: f32| -> f32 { exp2(f64::from(a)) as f32 }; fast { fast_exp2(a) }
    LogF32: |_, a: f32| -> f32 { log2(f64::from(a)) as f32 }; fast { fast_log2(a) }
    RcpF32: |_, a: f32| -> f32 { 1.0 / a }
    RsqF32: |_, a: f32| -> f32 { rsq(a) }
    SqrtF32: |_, a: f32| -> f32 { a.sqrt() }
    SinF32: |_, a: f32| -> f32 { sin(f64::from(a)) as f32 }; fast { fast_sin(a) }
    CosF32: |_, a: f32| -> f32 { cos(f64::from(a)) as f32 }; fast { fast_cos(a) }
    RcpF64: |_, a: f64| -> f64 { 1.0 / a }
    RsqF64: |_, a: f64| -> f64 { 1.0 / a.sqrt() }
    SqrtF64: |_, a: f64| -> f64 { a.sqrt() }
    RcpF16: |_, a: Half| -> Half { Half::from_f64(1.0 / a.to_f64()) }
    SqrtF16: |_, a: Half| -> Half { Half::from_f64(a.to_f64().sqrt()) }
    RsqF16: |_, a: Half| -> Half { Half::from_f64(1.0 / a.to_f64().sqrt()) }
    LogF16: |_, a: Half| -> Half { Half::from_f64(log2(a.to_f64())) }
    ExpF16: |_, a: Half| -> Half { Half::from_f64(exp2(a.to_f64())) }
    SinF16: |_, a: Half| -> Half { Half::from_f64(sin(a.to_f64())) }
    CosF16: |_, a: Half| -> Half { Half::from_f64(cos(a.to_f64())) }
}

/// The first 1201 bits of 2/pi after the binary point, the highest first, then zeros.
const TWO_OVER_PI: [u64; 19] = [
    0xa2f9_836e_4e44_1529,
    0xfc27_57d1_f534_ddc0,
    0xdb62_9599_3c43_9041,
    0xfe51_63ab_debb_c561,
    0xb724_6e3a_424d_d2e0,
    0x0649_2eea_09d1_921c,
    0xfe1d_eb1c_b129_a73e,
    0xe882_35f5_2ebb_4484,
    0xe99c_7026_b45f_7e41,
    0x3991_d639_8353_39f4,
    0x9c84_5f8b_bdf9_283b,
    0x1ff8_97ff_de05_980f,
    0xef2f_118b_5a0a_6d1f,
    0x6d36_7ecf_27cb_09b7,
    0x4f46_3f66_9e5f_ea2d,
    0x7527_bac7_ebe5_f17b,
    0x3d07_39f7_8a52_92ea,
    0x6bfb_5fb1_1f8d_5d08,
    0x5603_3046_fc7b_0000,
];

/// Returns 53 bits of 2/pi from bit `at` on.
#[inline(always)]
fn two_over_pi(at: u32) -> u64 {
    let word = |n: u32| TWO_OVER_PI.get(n as usize).copied().unwrap_or(0);
    let pair = u128::from(word(at / 64)) << 64 | u128::from(word(at / 64 + 1));
    (pair << (at % 64) >> 75) as u64
}

ops2! {
    /// Returns 53 bits of 2/pi for reducing an argument of this size: those of the given segment (CDNA2 ISA,
    /// `V_TRIG_PREOP_F64`).
    TrigPreopF64: |_, a: f64, segment: u32| -> f64 {
        let field = (a.to_bits() >> 52 & 0x7ff) as u32;
        let at = (segment & 31) * 53 + field.saturating_sub(1077);
        let scale = if field >= 1968 { 128 - 53 } else { -53 };
        let power = scale - at as i32;
        if power < -1074 {
            0.0
        } else {
            // Multiplied in two steps, as the power of two may be that of a denormal.
            two_over_pi(at) as f64 * 2f64.powi(power / 2) * 2f64.powi(power - power / 2)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::test_wave::Random;

    /// A function's name, its short way, and the other one.
    type Function = (&'static str, fn(f32) -> (f32, u32), fn(f64) -> f64);

    const FUNCTIONS: [Function; 4] =
        [("exp", fast_exp2, exp2), ("log", fast_log2, log2), ("sin", fast_sin, sin), ("cos", fast_cos, cos)];

    /// Returns 1 if the short way of a function gives a result. It must then be that of the other way.
    fn compare((name, fast, slow): Function, bits: u32) -> u64 {
        let x = f32::from_bits(bits);
        let (got, unsure) = fast(x);
        let want = slow(f64::from(x)) as f32;
        let same = got.to_bits() == want.to_bits();
        assert!(unsure != 0 || same, "{name} of {bits:#010x}: {got:e}, not {want:e}");
        u64::from(unsure == 0)
    }

    #[test]
    fn the_short_way_gives_the_same_bits() {
        let mut random = Random::new(7);
        for function in FUNCTIONS {
            for _ in 0..if cfg!(debug_assertions) { 200_000 } else { 5_000_000 } {
                compare(function, random.next() as u32);
            }
            // Exponents of usual sources.
            let usual =
                (0..100_000).map(|_| compare(function, 0x3a00_0000 + random.next() as u32 % 0x0900_0000));
            assert!(usual.sum::<u64>() > 99_900, "{}", function.0);
            for special in
                [0u32, 0x0080_0000, 0x3e80_0000, 0x3f35_04f3, 0x3f80_0000, 0x42fc_0000, 0x4316_0000]
            {
                for near in special.saturating_sub(100)..special + 100 {
                    compare(function, near);
                    compare(function, near | 1 << 31);
                }
            }
        }
    }

    #[test]
    #[ignore = "a minute with --release: every f32"]
    fn the_short_way_gives_the_same_bits_for_every_f32() {
        std::thread::scope(|scope| {
            for function in FUNCTIONS {
                scope.spawn(move || {
                    let certain: u64 = (0..=u32::MAX).map(|bits| compare(function, bits)).sum();
                    println!("{}: {certain} of 2^32 in the short way", function.0);
                });
            }
        });
    }
}
