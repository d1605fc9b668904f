//! Tests of the MODE register: directed roundings, flushed denormals, output modifiers.

use amdgpu_isa::{Target, Ty};

use super::floats::{odd_sum, to_f16};
use super::{f16, rigs, sample};
use crate::state::wave::{LANES, Mode};
use crate::testing::test_wave::{Random, TestWave};

/// Writes values to v2, v6 and v10 (and the registers after them), runs one instruction, and returns v20 and v21.
fn run(rig: &mut TestWave, mode: u32, words: [u32; 2], values: &[[u64; LANES]; 3]) -> [u64; LANES] {
    rig.w.mode = Mode(mode);
    rig.w.set_exec(!0);
    for (n, lanes) in values.iter().enumerate() {
        for (l, v) in lanes.iter().enumerate() {
            rig.w.v_mut(2 + 4 * n as u16).flat_mut()[l] = *v as u32;
            rig.w.v_mut(3 + 4 * n as u16).flat_mut()[l] = (*v >> 32) as u32;
        }
    }
    *rig.w.v_mut(20).flat_mut() = [0; LANES];
    rig.run(&words);
    std::array::from_fn(|l| u64::from(rig.w.v(20).flat()[l]) | u64::from(rig.w.v(21).flat()[l]) << 32)
}

fn samples(random: &mut Random, ty: Ty) -> [[u64; LANES]; 3] {
    std::array::from_fn(|_| std::array::from_fn(|_| sample(random, ty)))
}

/// Returns which neighbour of the nearest float the rounding (0 even, 1 up, 2 down, 3 to zero) gives, if the exact
/// value is above or below the nearest float.
fn directed(round: u32, nearest_below: bool, nearest_above: bool, negative: bool) -> i32 {
    match round {
        1 if nearest_below => 1,
        2 if nearest_above => -1,
        3 if !negative && nearest_above => -1,
        3 if negative && nearest_below => 1,
        _ => 0,
    }
}

fn to_f32(exact: f64, round: u32) -> f32 {
    let near = exact as f32;
    if exact.is_nan() || exact.is_infinite() {
        return near;
    }
    let back = f64::from(near);
    match directed(round, back < exact, back > exact, exact < 0.0) {
        1 => near.next_up(),
        -1 => near.next_down(),
        _ => near,
    }
}

#[test]
fn f32_arithmetic_rounds_as_the_mode_says() {
    let f = |v: u64| f64::from(f32::from_bits(v as u32));
    type Exact = fn(f64, f64, f64) -> f64;
    let cases: [([u32; 2], Exact); 5] = [
        // v_add_f32_e64 v20, v2, v6
        ([0xd101_0014, 0x0002_0d02], |a, b, _| odd_sum(a, b)),
        // v_sub_f32_e64 v20, v2, v6
        ([0xd102_0014, 0x0002_0d02], |a, b, _| odd_sum(a, -b)),
        // v_mul_f32_e64 v20, v2, v6
        ([0xd105_0014, 0x0002_0d02], |a, b, _| a * b),
        // v_fma_f32 v20, v2, v6, v10
        ([0xd1cb_0014, 0x042a_0d02], |a, b, c| odd_sum(a * b, c)),
        // v_fma_f32 v20, -v2, v6, |v10|
        ([0xd1cb_0414, 0x242a_0d02], |a, b, c| odd_sum(-a * b, c.abs())),
    ];
    let mut random = Random::new(31);
    for rig in &mut rigs(Target::Gfx90a) {
        for round in 0..4 {
            for (words, exact) in cases {
                for _ in 0..20 {
                    let values = samples(&mut random, Ty::F32);
                    let got = run(rig, 0x3f0 | round, words, &values);
                    for l in 0..LANES {
                        let [a, b, c] = [0, 1, 2].map(|n| f(values[n][l]));
                        let exact = exact(a, b, c);
                        let want = to_f32(exact, round);
                        let got = f32::from_bits(got[l] as u32);
                        let zeros = exact == 0.0 && got == 0.0;
                        let same = got.to_bits() == want.to_bits() || got.is_nan() && want.is_nan();
                        assert!(
                            same || zeros,
                            "{words:x?} round {round}: {a:e} {b:e} {c:e}: {got:e} not {want:e}"
                        );
                    }
                }
            }
        }
    }
}

#[test]
fn conversions_round_as_the_mode_says() {
    let mut random = Random::new(32);
    for rig in &mut rigs(Target::Gfx90a) {
        for round in 0..4 {
            let values = samples(&mut random, Ty::B32);
            // v_cvt_f32_u32_e32 v20, v2 (twice, to have two dwords)
            let got = run(rig, 0x3f0 | round, [0x7e28_0d02, 0x7e28_0d02], &values);
            for l in 0..LANES {
                let want = to_f32((values[0][l] as u32).into(), round);
                assert_eq!(got[l] as u32, want.to_bits());
            }
            let values = samples(&mut random, Ty::F32);
            // v_cvt_f16_f32_e32 v20, v2
            let got = run(rig, 0x3f0 | round << 2, [0x7e28_1502, 0x7e28_1502], &values);
            for l in 0..LANES {
                let exact = f64::from(f32::from_bits(values[0][l] as u32));
                if exact.is_nan() {
                    continue;
                }
                let near = to_f16(exact);
                let back = f16(u64::from(near));
                let step = directed(round, back < exact, back > exact, exact < 0.0);
                let step = if near & 0x8000 != 0 { -step } else { step };
                let want = if exact.is_infinite() { near } else { near.wrapping_add_signed(step as i16) };
                assert_eq!(got[l] as u16, want, "{exact:e} round {round}");
            }
        }
    }
}

#[test]
fn f64_sums_round_as_the_mode_says() {
    let mut random = Random::new(33);
    for rig in &mut rigs(Target::Gfx90a) {
        for round in 0..4 {
            let values = samples(&mut random, Ty::F64);
            // v_add_f64 v[20:21], v[2:3], v[6:7]
            let got = run(rig, 0x3f0 | round << 2, [0xd280_0014, 0x0002_0d02], &values);
            for l in 0..LANES {
                let (a, b) = (f64::from_bits(values[0][l]), f64::from_bits(values[1][l]));
                let sum = a + b;
                // The error of a sum by Knuth's algorithm, which is exact if nothing overflows.
                let v = sum - a;
                let error = (a - (sum - v)) + (b - v);
                if !error.is_finite() || sum == 0.0 {
                    continue;
                }
                let want = match directed(round, error > 0.0, error < 0.0, sum < 0.0) {
                    1 => sum.next_up(),
                    -1 => sum.next_down(),
                    _ => sum,
                };
                assert_eq!(f64::from_bits(got[l]), want, "{a:e} + {b:e} round {round}");
            }
        }
    }
}

#[test]
fn denormals_are_flushed_where_the_mode_does_not_keep_them() {
    let mut random = Random::new(34);
    let zero = |v: f32, keep: bool| if v.is_subnormal() && !keep { 0f32.copysign(v) } else { v };
    for rig in &mut rigs(Target::Gfx90a) {
        for keep in 0..4u32 {
            for _ in 0..10 {
                let values = samples(&mut random, Ty::F32);
                // v_mul_f32_e64 v20, v2, v6
                let got = run(rig, 0x3c0 | keep << 4, [0xd105_0014, 0x0002_0d02], &values);
                // v_cmp_eq_f32_e64 s[24:25], 0, v2, which flushes its sources too
                run(rig, 0x3c0 | keep << 4, [0xd042_0018, 0x0002_0480], &values);
                let equal = rig.w.s64(24);
                for l in 0..LANES {
                    let [a, b] = [0, 1].map(|n| zero(f32::from_bits(values[n][l] as u32), keep & 1 != 0));
                    let want = zero((f64::from(a) * f64::from(b)) as f32, keep & 2 != 0);
                    let got = f32::from_bits(got[l] as u32);
                    assert!(
                        got.to_bits() == want.to_bits() || got.is_nan() && want.is_nan(),
                        "{a:e} * {b:e}"
                    );
                    assert_eq!(equal >> l & 1 != 0, a == 0.0);
                }
            }
        }
    }
}

/// "Output modifiers are ignored" in IEEE mode and if denormal results are kept; otherwise they flush.
#[test]
fn output_modifiers_apply_outside_ieee_mode() {
    let mut random = Random::new(35);
    for rig in &mut rigs(Target::Gfx90a) {
        for (mode, applies) in [(0x3f0, false), (0x1f0, false), (0x3c0, false), (0x1c0, true)] {
            for (omod, factor) in [(1, 2.0), (2, 4.0), (3, 0.5)] {
                let values = samples(&mut random, Ty::F32);
                // v_add_f32_e64 v20, v2, v6 with mul:2, mul:4, div:2
                let got = run(rig, mode, [0xd101_0014, 0x0002_0d02 | omod << 27], &values);
                let flushes = mode & 0x30 == 0;
                let zero =
                    |v: f64| if v.abs() < f64::from(f32::MIN_POSITIVE) && flushes { v * 0.0 } else { v };
                for l in 0..LANES {
                    let [a, b] = [0, 1].map(|n| zero(f64::from(f32::from_bits(values[n][l] as u32))));
                    let sum = zero(f64::from(odd_sum(a, b) as f32));
                    let want =
                        if applies { zero(f64::from((sum * factor) as f32)) + 0.0 } else { sum } as f32;
                    let got = f32::from_bits(got[l] as u32);
                    assert!(
                        got.to_bits() == want.to_bits() || got.is_nan() && want.is_nan(),
                        "{a:e} + {b:e}: {got:e}"
                    );
                }
            }
        }
    }
}
