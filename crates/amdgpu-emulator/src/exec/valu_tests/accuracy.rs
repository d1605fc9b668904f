//! Tests the accuracy of results whose last bit the ISA documents leave open. It must be as VERIFICATION.md promises,
//! in units in the last place. The references are the host's f64 functions, and for f64 inequalities of exact numbers.

use amdgpu_isa::{Encoding, Target, Ty};

use super::conversions::turns;
use super::{f16, f32, float_size, rigs};
use crate::exec::level::SimdLevel;
use crate::exec::number::exact::{self, Exact};
use crate::state::wave::{LANES, Mode, sreg};
use crate::testing::test_wave::{RDNA, Random, TestWave, op};

const PAGE: &str = include_str!("../../../VERIFICATION.md");

crate::testing::tally::verified!(every_f16, many_f32, many_f64, functions_of_scalars);

/// An instruction, the size of its floats, and its function.
struct Function {
    name: &'static str,
    size: u32,
    of: fn(f64) -> f64,
}

const fn f(name: &'static str, size: u32, of: fn(f64) -> f64) -> Function {
    Function { name, size, of }
}

fn reciprocal(x: f64) -> f64 {
    1.0 / x
}

fn reciprocal_root(x: f64) -> f64 {
    1.0 / x.sqrt()
}

fn sine(x: f64) -> f64 {
    turns(x, false)
}

fn cosine(x: f64) -> f64 {
    turns(x, true)
}

static FUNCTIONS: [Function; 17] = [
    f("v_rcp_f16", 16, reciprocal),
    f("v_rsq_f16", 16, reciprocal_root),
    f("v_sqrt_f16", 16, f64::sqrt),
    f("v_exp_f16", 16, f64::exp2),
    f("v_log_f16", 16, f64::log2),
    f("v_sin_f16", 16, sine),
    f("v_cos_f16", 16, cosine),
    f("v_rcp_f32", 32, reciprocal),
    f("v_rcp_iflag_f32", 32, reciprocal),
    f("v_rsq_f32", 32, reciprocal_root),
    f("v_sqrt_f32", 32, f64::sqrt),
    f("v_exp_f32", 32, f64::exp2),
    f("v_exp_legacy_f32", 32, f64::exp2),
    f("v_log_f32", 32, f64::log2),
    f("v_log_legacy_f32", 32, f64::log2),
    f("v_sin_f32", 32, sine),
    f("v_cos_f32", 32, cosine),
];

/// The instructions of f64, each of which is checked with an exact inequality.
const DOUBLES: [&str; 3] = ["v_rcp_f64", "v_rsq_f64", "v_sqrt_f64"];

/// Returns the largest error that VERIFICATION.md promises for an instruction.
fn promise(name: &str) -> f64 {
    let section = PAGE.split("## Accuracy").nth(1).and_then(|rest| rest.split("\n## ").next());
    let lines = section.unwrap_or("").lines().filter_map(|line| line.strip_prefix("| `"));
    for line in lines {
        let mut cells = line.split('|');
        let names = cells.next().unwrap_or("");
        if names.split('`').any(|part| part == name) {
            let bound = cells.next().and_then(|cell| cell.split_whitespace().next()?.parse().ok());
            return bound.unwrap_or_else(|| panic!("no number for {name}"));
        }
    }
    panic!("VERIFICATION.md promises nothing of {name}")
}

/// Returns the distance of a result from the exact value, in units in the last place of that value.
fn error(got: u64, want: f64, size: u32) -> f64 {
    let (fraction, exponent) = exact::fields(size);
    let value = if size == 16 { f16(got) } else { f64::from(f32(got)) };
    let lowest = 2 - (1 << (exponent - 1));
    let beyond = 2f64.powi(1 << (exponent - 1));
    if want.is_nan() || value.is_nan() {
        return if want.is_nan() && value.is_nan() { 0.0 } else { f64::INFINITY };
    }
    if want == 0.0 || want.is_infinite() {
        return if value.to_bits() == want.to_bits() { 0.0 } else { f64::INFINITY };
    }
    // An infinity counts as the number after the largest one.
    let clamped = want.clamp(-beyond, beyond);
    let value = if value.is_infinite() { beyond.copysign(value) } else { value };
    let place = ((clamped.abs().to_bits() >> 52) as i32 - 1023).max(lowest) - fraction as i32;
    (value - clamped).abs() / 2f64.powi(place)
}

/// The number of registers that one program computes, and the first of the results. All are below v128, from which on gfx11's short
/// encodings have high halves.
const REGISTERS: usize = 32;
const RESULTS: u16 = 64;

/// Runs an instruction on up to `REGISTERS` registers of values, and returns the results.
fn run(rig: &mut TestWave, name: &str, inputs: &[u64]) -> Vec<u64> {
    assert!(inputs.len() <= REGISTERS * LANES);
    let code = op(Encoding::Vop1, name, rig.target);
    rig.w.mode = Mode(0x3f0);
    rig.w.set_exec(!0);
    let wide = name.ends_with("f64");
    let step = if wide { 2 } else { 1 };
    let mut words = Vec::new();
    for (n, values) in inputs.chunks(LANES).enumerate() {
        let from = step * n as u16;
        for d in 0..step {
            let lanes = rig.w.v_mut(from + d).flat_mut();
            for (lane, value) in lanes.iter_mut().zip(values) {
                *lane = (value >> (32 * d)) as u32;
            }
        }
        words.push(0x7e00_0000 | u32::from(RESULTS + from) << 17 | code << 9 | 256 + u32::from(from));
    }
    rig.run(&words);
    (0..inputs.len())
        .map(|n| {
            let at = RESULTS + step * (n / LANES) as u16;
            (0..step).map(|d| u64::from(rig.w.v(at + d).flat()[n % LANES]) << (32 * d)).sum()
        })
        .collect()
}

/// Returns the largest error of a function on some inputs, and the input, if it is larger than `most`.
fn worst(rig: &mut TestWave, function: &Function, inputs: &[u64], most: (f64, u64)) -> (f64, u64) {
    let mut worst = most;
    for inputs in inputs.chunks(REGISTERS * LANES) {
        for (x, got) in inputs.iter().zip(run(rig, function.name, inputs)) {
            let value = if function.size == 16 { f16(*x) } else { f64::from(f32(*x)) };
            let want = (function.of)(value);
            // The sign of a zero at a half turn is not defined.
            let is_wave = function.name.contains("sin") || function.name.contains("cos");
            if is_wave && want == 0.0 && got & ((1 << (function.size - 1)) - 1) == 0 {
                continue;
            }
            // The error of the nearest f32 is at most half a unit.
            if function.size == 32 && worst.0 >= 0.5 && (want as f32).to_bits() == got as u32 {
                continue;
            }
            let error = error(got, want, function.size);
            if error > worst.0 {
                worst = (error, *x);
            }
        }
    }
    worst
}

fn keeps_promise(rig: &mut TestWave, function: &Function, inputs: &[u64]) {
    let (error, at) = worst(rig, function, inputs, (0.0, 0));
    let promise = promise(function.name);
    assert!(error <= promise, "{} of {at:#x} at {:?}: {error} ulp, not {promise}", function.name, rig.level);
}

/// Returns waves of 64 of each target, at each level on gfx9. Those of RDNA have the same executors.
fn every() -> Vec<TestWave> {
    let rdna = RDNA.map(|target| TestWave::new(target, SimdLevel::best()));
    Target::GFX9.into_iter().flat_map(rigs).chain(rdna).collect()
}

/// Returns the functions of floats of a size that a target has.
fn functions(target: Target, size: u32) -> impl Iterator<Item = &'static Function> {
    let has = move |name| Encoding::Vop1.opcodes(target).any(|(_, of)| of == name);
    FUNCTIONS.iter().filter(move |function| function.size == size && has(function.name))
}

fn every_f16() {
    let all: Vec<u64> = (0..1 << 16).collect();
    for mut rig in every() {
        for function in functions(rig.target, 16) {
            // The executors of all targets are the same.
            let inputs = if rig.target == Target::Gfx90a { &all[..] } else { &all[0x3a00..0x4200] };
            keeps_promise(&mut rig, function, inputs);
        }
    }
}

/// Tests each 65521st f32, different ones at each level, and those next to zeros, ones, halves, infinities and NaN.
fn many_f32() {
    for mut rig in every() {
        let first = 977 * rig.level as u64;
        let step = if rig.target == Target::Gfx90a { 65521 } else { 1_048_573 };
        let mut inputs: Vec<u64> = (first..1 << 32).step_by(step).collect();
        for special in [0u64, 0x3f00_0000, 0x3f80_0000, 0x0080_0000, 0x7f80_0000, 0x4380_0000, 0x42fc_0000] {
            for near in special.saturating_sub(8)..special + 8 {
                inputs.extend([near, near | 1 << 31]);
            }
        }
        for function in functions(rig.target, 32) {
            keeps_promise(&mut rig, function, &inputs);
        }
    }
}

/// Returns `r` minus (or, with `up`, plus) `promise` units in its last place.
fn moved(r: u64, promise: f64, up: bool) -> Exact {
    let field = (r >> 52 & 0x7ff).max(1) as i32;
    let promise = Exact::of(promise.to_bits(), 64).scaled(field - 1023 - 52);
    Exact::of(r, 64).plus(&if up { promise } else { promise.negated() }, 0)
}

fn many_f64() {
    let mut random = Random::new(81);
    let one = Exact::integer(1);
    for mut rig in every() {
        for name in DOUBLES {
            let promise = promise(name);
            // Positive numbers whose reciprocals are finite.
            let inputs: Vec<u64> = (0..1024)
                .map(|n| {
                    let bits = random.next();
                    let field = if n % 2 == 0 { 3 + bits % 2041 } else { 1020 + bits % 8 };
                    let fraction = match bits >> 16 & 3 {
                        0 => bits >> 60,
                        1 => !(bits >> 60),
                        _ => bits >> 12,
                    };
                    if bits >> 20 & 31 == 0 {
                        1 << 51 | bits >> 13
                    } else {
                        field << 52 | fraction & (u64::MAX >> 12)
                    }
                })
                .collect();
            for (x, r) in inputs.iter().zip(run(&mut rig, name, &inputs)) {
                let value = Exact::of(*x, 64);
                let [low, high] = [false, true].map(|up| {
                    let r = moved(r, promise, up);
                    match name {
                        "v_rcp_f64" => r.times(&value).order(&one),
                        "v_rsq_f64" => r.times(&r).times(&value).order(&one),
                        _ => r.times(&r).order(&value),
                    }
                });
                assert!(
                    low.is_some_and(|o| o.is_le()) && high.is_some_and(|o| o.is_ge()),
                    "{name} of {x:#x} at {:?}: {r:#x} is not within {promise} ulp",
                    rig.level
                );
            }
        }
    }
}

/// `v_s_exp_f32` and similar instructions of gfx12: one value in an SGPR, whatever EXEC is. A result of 16 bits clears the other half
/// (RDNA4 ISA, 7.10).
fn functions_of_scalars() {
    let mut random = Random::new(83);
    for mut rig in [TestWave::new, TestWave::wave32].map(|new| new(Target::Gfx12, SimdLevel::best())) {
        let rows = Encoding::Vop3.rows().iter().filter(|row| row.name.starts_with("v_s_"));
        for (row, code) in rows.filter_map(|row| Some((row, row.opcode(Target::Gfx12)?))) {
            let vector = row.name.replace("v_s_", "v_");
            let function = FUNCTIONS.iter().find(|function| function.name == vector).unwrap();
            for _ in 0..2000 {
                scalar_function(&mut random, &mut rig, function, u32::from(code));
            }
        }
    }
}

/// Runs an instruction of [`functions_of_scalars`] with random modifiers. A factor of the result needs a mode that flushes denormals: then
/// there are none here.
fn scalar_function(random: &mut Random, rig: &mut TestWave, function: &Function, code: u32) {
    let bits = random.next();
    let field = |at: u32, n: u64| (bits >> at & n) as u32;
    let [neg, abs, clamp, scales] = [0, 1, 2, 3].map(|at| field(at, 1));
    let omod = if scales != 0 { field(4, 3) } else { 0 };
    rig.w.mode = Mode(if scales != 0 { 0x100 } else { 0x1f0 });
    let sixteen = function.size == 16;
    let any = random.next();
    let x = match (scales != 0, sixteen) {
        // Between 1/8 and 8.
        (true, true) => any & 0x8000 | (12 << 10) + any % (6 << 10),
        (true, false) => any & 0x8000_0000 | (124 << 23) + any % (6 << 23),
        (false, true) => any & 0xffff,
        (false, false) => any & 0xffff_ffff,
    };
    // The other half of the source doesn't matter.
    rig.w.set_s32(10, x as u32 | if sixteen { random.next() as u32 & 0xffff_0000 } else { 0 });
    rig.w.set_s32(14, random.next() as u32);
    let (exec, next) = (if bits >> 8 & 3 == 0 { 0 } else { random.next() }, rig.w.s32(15));
    rig.w.set_exec(exec);
    let first = Encoding::Vop3.first_dword(rig.target, code, 14 | abs << 8 | clamp << 15);
    rig.run(&[first, 10 | omod << 27 | neg << 29]);
    let value = if sixteen { f16(x) } else { f64::from(f32(x)) };
    let value = if abs != 0 { value.abs() } else { value };
    let exact = (function.of)(if neg != 0 { -value } else { value });
    let scaled = exact * [1.0, 2.0, 4.0, 0.5][omod as usize];
    // A factor leaves no -0, and a NaN is clamped to 0.
    let scaled = if omod != 0 && scaled == 0.0 { 0.0 } else { scaled };
    let want = match clamp {
        0 => scaled,
        _ if scaled > 0.0 => scaled.min(1.0),
        _ => 0.0,
    };
    let got = rig.w.s32(14);
    let context = format!("{} of {x:#x}: {got:#x}, not {want}", function.name);
    assert!(!sixteen || got >> 16 == 0, "{context}");
    assert!(error(got.into(), want, function.size) <= promise(function.name), "{context}");
    assert_eq!((rig.w.s32(15), rig.w.s64(sreg::EXEC)), (next, exec), "{context}");
}

/// Covers the rows of floats whose last bit no other test checks.
#[test]
fn every_transcendental_function_has_a_promised_accuracy() {
    let listed = |name: &str| FUNCTIONS.iter().any(|f| f.name == name) || DOUBLES.contains(&name);
    for row in Encoding::Vop1.rows() {
        let parts = ["_rcp_", "_rsq_", "_sqrt_", "_exp_", "_log_", "_sin_", "_cos_"];
        if parts.iter().any(|part| row.name.contains(part)) && !row.name.contains("frexp") {
            assert!(listed(row.name), "{}", row.name);
            assert!(float_size(row.dst).is_some() && row.dst != Ty::None);
        }
    }
}

/// Tests all f32 in 16 passes over all functions. Each pass prints the largest errors so far, so that an interrupted
/// run is useful.
#[test]
#[ignore = "half an hour with --release: each function of every f32; --nocapture shows the largest errors"]
fn every_f32() {
    const PASSES: u64 = 16;
    let threads = std::thread::available_parallelism().map_or(1, usize::from) as u64;
    // These are other names of tested instructions.
    let twins = ["v_rcp_iflag_f32", "v_exp_legacy_f32", "v_log_legacy_f32"];
    let functions = || FUNCTIONS.iter().filter(|f| f.size == 32 && !twins.contains(&f.name));
    // Smaller errors than these are not computed.
    let mut most = vec![(0.5, 0); functions().count()];
    for pass in 0..PASSES {
        for (function, most) in functions().zip(&mut most) {
            let before = *most;
            let worker = |thread: u64| {
                let mut rig = TestWave::new(Target::Gfx942, SimdLevel::best());
                let chunk = PASSES << 14;
                let firsts = (thread * chunk..1 << 32).step_by((threads * chunk) as usize);
                firsts.fold(before, |most, first| {
                    let inputs: Vec<u64> = (first + pass..first + chunk).step_by(PASSES as usize).collect();
                    worst(&mut rig, function, &inputs, most)
                })
            };
            std::thread::scope(|scope| {
                let workers: Vec<_> = (0..threads).map(|n| scope.spawn(move || worker(n))).collect();
                for worker in workers {
                    let found = worker.join().unwrap_or((f64::INFINITY, 0));
                    if found.0 > most.0 {
                        *most = found;
                    }
                }
            });
            println!("pass {pass} of {}: at most {:.9} ulp, of {:#010x}", function.name, most.0, most.1);
            assert!(most.0 <= promise(function.name), "{}", function.name);
        }
    }
}
