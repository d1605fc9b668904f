//! Compares the float instructions of the SALU, which gfx11.5 and gfx12 have, with exact numbers, rounded once, in any mode.

use std::cmp::Ordering;

use amdgpu_isa::flags::{ACC, LIT, LIT_FACTOR};
use amdgpu_isa::{Encoding, Row, Target, Ty};

use crate::exec::level::SimdLevel;
use crate::exec::number::exact::{self, Exact};
use crate::exec::valu_tests::of_gfx12;
use crate::state::wave::Mode;
use crate::testing::test_wave::{Random, TestWave};

crate::testing::tally::verified!(floats);

fn value(bits: u64, size: u32) -> f64 {
    if size == 16 { half::f16::from_bits(bits as u16).to_f64() } else { f32::from_bits(bits as u32).into() }
}

/// Returns random bits, often those of a special float of one of the sizes, or of integers.
fn sample(random: &mut Random, size: u32) -> u32 {
    let bits = random.next();
    const F32: [u32; 14] = [
        0,
        1 << 31,
        1,
        0x807f_ffff,
        0x0080_0000,
        0x7f7f_ffff,
        0xff7f_ffff,
        0x7f80_0000,
        0xff80_0000,
        0x7fc0_0000,
        0x7f80_0001,
        0x3f80_0000,
        0xcf00_0000,
        0x4f80_0000,
    ];
    const F16: [u16; 12] =
        [0, 0x8000, 1, 0x83ff, 0x0400, 0x7bff, 0x7c00, 0xfc00, 0x7e00, 0x7d01, 0x3c00, 0x3bff];
    match (bits % 4, size) {
        (0, 16) => (bits >> 32) as u32 & 0xffff_0000 | u32::from(F16[(bits >> 8) as usize % F16.len()]),
        (0, _) => F32[(bits >> 8) as usize % F32.len()],
        // Near halves and integers.
        (1, 16) => u32::from(half::f16::from_f32((bits >> 8 & 0x1ff) as f32 * 0.25 - 40.0).to_bits()),
        (1, _) => ((bits >> 8 & 0x3ff) as f32 * 0.25 - 100.0).to_bits(),
        (2, 32) => bits as u32 & 0x83ff_ffff | 0x3e00_0000,
        _ => random.int() as u32,
    }
}

fn size_of(ty: Ty) -> u32 {
    match ty {
        Ty::F16 => 16,
        Ty::F32 => 32,
        _ => 0,
    }
}

/// Returns the minimum or maximum as the RDNA3.5 ISA's pseudocode of `S_MIN_F32` computes it.
fn extreme(mode: Mode, size: u32, a: u64, b: u64, max: bool) -> u64 {
    let quiet = if size == 16 { 1 << 9 } else { 1 << 22 };
    let (x, y) = (value(a, size), value(b, size));
    let signals = |v: f64, bits: u64| v.is_nan() && bits & quiet == 0;
    if mode.ieee() && signals(x, a) {
        return a | quiet;
    }
    if mode.ieee() && signals(y, b) {
        return b | quiet;
    }
    if x.is_nan() && y.is_nan() && mode.prefers_numbers() {
        return a | quiet;
    }
    if y.is_nan() {
        return a;
    }
    if x.is_nan() {
        return b;
    }
    let first = if x == 0.0 && y == 0.0 {
        x.is_sign_negative() != y.is_sign_negative() && x.is_sign_negative() != max
    } else if max {
        x > y
    } else {
        x < y
    };
    if first { a } else { b }
}

/// Returns the IEEE 754-2019 minimum or maximum: a NaN is the result, and zeros are ordered by their signs (RDNA4 ISA, `S_MINIMUM_F32`).
fn ordered(size: u32, a: u64, b: u64, max: bool) -> u64 {
    let (x, y) = (value(a, size), value(b, size));
    if x.is_nan() || y.is_nan() {
        return if x.is_nan() { a } else { b };
    }
    let first = x.total_cmp(&y).is_lt() != max;
    if first { a } else { b }
}

/// Returns the result for sources of which denormals are flushed.
fn reference(name: &str, mode: Mode, [a, b, c]: [u64; 3]) -> u64 {
    let size = if name.ends_with("16") { 16 } else { 32 };
    let round = if size == 16 { mode.round64() } else { mode.round32() };
    let sign = 1 << (size - 1);
    let whole = |f: fn(f64) -> f64| exact::convert(64, size, 0, f(value(a, size)).to_bits());
    match name.strip_prefix("s_").and_then(|rest| rest.rsplit_once('_')).map_or("", |(op, _)| op) {
        "add" => exact::add(size, round, a, b),
        "sub" => exact::add(size, round, a, b ^ sign),
        "mul" => exact::mul(size, round, a, b),
        "fmac" | "fmaak" | "fmamk" => exact::fma(size, round, a, b, c),
        "min" | "min_num" => extreme(mode, size, a, b, false),
        "max" | "max_num" => extreme(mode, size, a, b, true),
        "minimum" => ordered(size, a, b, false),
        "maximum" => ordered(size, a, b, true),
        "ceil" => whole(f64::ceil),
        "floor" => whole(f64::floor),
        "trunc" => whole(f64::trunc),
        "rndne" => whole(f64::round_ties_even),
        "cvt_f32" if name.ends_with("i32") => Exact::integer(i128::from(a as i32)).round(32, round),
        "cvt_f32" if name.ends_with("u32") => Exact::integer(i128::from(a as u32)).round(32, round),
        "cvt_i32" => (value(a, 32) as i64).clamp(-1 << 31, (1 << 31) - 1) as u64 & 0xffff_ffff,
        "cvt_u32" => (value(a, 32) as i64).clamp(0, (1 << 32) - 1) as u64,
        "cvt_f16" => exact::convert(32, 16, mode.round64(), a),
        "cvt_f32" => exact::convert(16, 32, 0, a & 0xffff),
        "cvt_hi_f32" => exact::convert(16, 32, 0, a >> 16),
        "cvt_pk_rtz_f16" => exact::convert(32, 16, 3, a) | exact::convert(32, 16, 3, b) << 16,
        other => panic!("no reference for {other}"),
    }
}

fn compares(name: &str, x: f64, y: f64) -> bool {
    let order = x.partial_cmp(&y);
    let relation = name.split('_').nth(2).unwrap_or("");
    // "nlt" is "not less than", which NaN is; "neq" is "not equal".
    if let Some(negated) = relation.strip_prefix('n') {
        return !compares(&format!("s_cmp_{negated}"), x, y);
    }
    match relation {
        "lt" => order.is_some_and(Ordering::is_lt),
        "eq" => order.is_some_and(Ordering::is_eq),
        "le" => order.is_some_and(Ordering::is_le),
        "gt" => order.is_some_and(Ordering::is_gt),
        "lg" => order.is_some_and(Ordering::is_ne),
        "ge" => order.is_some_and(Ordering::is_ge),
        "o" => order.is_some(),
        "u" => order.is_none(),
        other => panic!("no reference for {other}"),
    }
}

/// Returns whether two results are the same number, or both NaN.
fn same(got: u32, want: u64, dst: Ty) -> bool {
    let nans =
        |at: u32, size: u32| value(u64::from(got) >> at, size).is_nan() && value(want >> at, size).is_nan();
    match dst {
        Ty::P16F => {
            [0, 16].iter().all(|at| got >> at & 0xffff == (want >> at) as u32 & 0xffff || nans(*at, 16))
        }
        ty => {
            u64::from(got) == want
                || size_of(ty) == 16 && got >> 16 == 0 && nans(0, 16)
                || size_of(ty) == 32 && nans(0, 32)
        }
    }
}

/// Returns whether an instruction is one of floats.
fn is_float(row: &Row) -> bool {
    row.name.contains("_f16") || row.name.contains("_f32")
}

fn floats() {
    let mut random = Random::new(71);
    // gfx12 has four minima and maxima more.
    for (target, count) in [(Target::Gfx115, 15 + 15 + 28), (Target::Gfx12, 15 + 19 + 28)] {
        for new in [TestWave::new, TestWave::wave32] {
            let mut seen = 0;
            let mut rig = new(target, SimdLevel::best());
            for encoding in [Encoding::Sop1, Encoding::Sop2, Encoding::Sopc] {
                let rows = encoding.rows().iter().filter(|row| row.opcode(target).is_some() && is_float(row));
                for row in rows {
                    seen += 1;
                    for _ in 0..400 {
                        one(&mut random, &mut rig, encoding, row);
                    }
                }
            }
            assert_eq!(seen, count);
        }
    }
}

fn one(random: &mut Random, rig: &mut TestWave, encoding: Encoding, row: &Row) {
    let name = row.name;
    let mode = random.next() as u32 & 0x3ff;
    let mode = if rig.target.is_gfx12() { of_gfx12(mode) } else { Mode(mode) };
    let size = if name.ends_with("f16") { 16 } else { 32 };
    let given: [u32; 3] = [(); 3].map(|()| sample(random, size));
    let scc = random.next() & 1 != 0;
    rig.w.mode = mode;
    rig.w.set_scc(scc);
    for (register, value) in [10, 11, 14].into_iter().zip(given) {
        rig.w.set_s32(register, value);
    }
    let mut words = match encoding {
        Encoding::Sop1 => vec![rig.sop1(name, 14, 10)],
        Encoding::Sop2 => vec![rig.sop2(name, 14, 10, 11)],
        _ => vec![rig.sopc(name, 10, 11)],
    };
    let mut sources = given.map(u64::from);
    if row.flags & LIT != 0 {
        words.push(given[2]);
        if row.flags & LIT_FACTOR != 0 {
            sources.swap(1, 2);
        }
    }
    rig.run(&words);
    let denormals = |size: u32| if size == 16 { mode.denorm64() } else { mode.denorm32() };
    for (n, source) in sources.iter_mut().enumerate() {
        let ty = if row.flags & ACC != 0 && n == 2 { row.dst } else { row.src[n] };
        match size_of(ty) {
            0 if name == "s_cvt_hi_f32_f16" => {
                let high = exact::flush(*source >> 16, 16, denormals(16) & 1 != 0);
                *source = high << 16;
            }
            0 => {}
            size => *source = exact::flush(*source & ((1 << size) - 1), size, denormals(size) & 1 != 0),
        }
    }
    let context = format!("{name} {given:08x?} mode {:#x}", mode.0);
    if encoding == Encoding::Sopc {
        assert_eq!(
            rig.w.scc(),
            compares(name, value(sources[0], size), value(sources[1], size)),
            "{context}"
        );
        assert_eq!(rig.w.s32(14), given[2], "{context}");
        return;
    }
    let mut want = reference(name, mode, sources);
    // The RDNA3.5 ISA's notes of `V_MIN_F32`: it has a denormal result in any mode that keeps those of sources.
    let selects = name.contains("min") || name.contains("max");
    if size_of(row.dst) > 0 && !selects {
        want = exact::flush(want, size_of(row.dst), denormals(size_of(row.dst)) & 2 != 0);
    }
    assert!(same(rig.w.s32(14), want, row.dst), "{context}: {:#x} is not {want:#x}", rig.w.s32(14));
    assert_eq!(rig.w.scc(), scc, "SCC of {context}");
}
