//! Tests of matrix instructions with any value in every element: all bytes, infinities, NaN, denormals and zeros of
//! both signs. The mapping of elements is that of `matrix_tests`.

use std::collections::BTreeMap;

use amdgpu_isa::Target;

use crate::exec::matrix_tests::{Code, Shape, decode_small, levels, place, put};
use crate::exec::number::exact::{self, Exact};
use crate::state::wave::{AGPR, LANES};
use crate::testing::test_wave::{Random, TestWave};

crate::testing::tally::verified!(every_element);

/// Returns a random element of a format: a number near 1, or a special value.
fn element(random: &mut Random, format: &str) -> u64 {
    let bits = random.next();
    let fields = |fraction: u32, bias: u64, sign: u32| {
        let top = (1u64 << (sign - fraction)) - 1;
        let specials = [0, 1, (1 << fraction) - 1, 1 << fraction, top << fraction, top << fraction | 1];
        let field = bias - 3 + (bits >> 8 & 7);
        let ordinary = field << fraction | bits >> 16 & ((1 << fraction) - 1);
        // There are one or two of these in a product.
        let magnitude = match bits % 64 {
            0 => specials[4 + (bits >> 6 & 1) as usize],
            1..=8 => specials[(bits >> 6 & 3) as usize],
            _ => ordinary,
        };
        magnitude | (bits >> 7 & 1) << sign
    };
    match format {
        "f64" => fields(52, 1023, 63),
        "f32" | "xf32" => fields(23, 127, 31),
        "bf16" => fields(7, 127, 15),
        "f16" => fields(10, 15, 15),
        "i32" => random.int() & 0xffff_ffff,
        "i8" => [bits >> 8, 0x80, 0x7f, 0xff, 0][(bits % 8).min(4) as usize] & 0xff,
        // 8-bit floats: NaN and infinities are rare.
        _ => match bits >> 8 & 0xff {
            code if bits % 128 != 0 && !decode_small(format, code).is_finite() => 0,
            _ if bits % 128 == 0 && format == "e5m2" => 0x7c + (bits >> 8 & 3) | bits >> 16 & 0x80,
            _ if bits % 128 == 0 && format == "e4m3" => 0x7f | bits >> 16 & 0x80,
            _ if bits % 128 == 0 => 0x80,
            code => code,
        },
    }
}

/// Returns the value of an element as the instruction reads it. gfx90a flushes denormals of 16-bit formats.
fn value(format: &str, code: u64, target: Target) -> f64 {
    let flushes = target == Target::Gfx90a;
    let normal = |v: f64, least: f64| if flushes && v.abs() < least { 0.0 } else { v };
    match format {
        "f32" => f32::from_bits(code as u32).into(),
        // Truncated, except for NaN.
        "xf32" => {
            let whole = f32::from_bits(code as u32);
            if whole.is_nan() { f64::NAN } else { f32::from_bits(code as u32 >> 13 << 13).into() }
        }
        "bf16" => normal(half::bf16::from_bits(code as u16).to_f64(), least(format)),
        "f16" => normal(half::f16::from_bits(code as u16).to_f64(), least(format)),
        "i8" => f64::from(code as i8),
        _ => decode_small(format, code),
    }
}

/// Returns the smallest normal number of a format.
fn least(format: &str) -> f64 {
    2f64.powi(match format {
        "f16" => -14,
        "fp8" => -7,
        "bf8" => -15,
        "e4m3" => -6,
        "e5m2" => -14,
        _ => -126,
    })
}

/// Returns an error unless `got` is the sum of the products of pairs of elements and of `c`.
fn is_sum(shape: &Shape, pairs: &[[u64; 2]], c: u64, got: u64) -> Result<(), String> {
    let same = |want: u64, nan: bool| if got == want || nan { Ok(()) } else { Err(format!("not {want:#x}")) };
    match shape.result.as_str() {
        "i32" => {
            let sum: i64 = pairs.iter().map(|[a, b]| i64::from(*a as i8) * i64::from(*b as i8)).sum();
            same(u64::from((sum + i64::from(c as i32)) as u32), false)
        }
        "f64" => {
            let want = pairs.iter().fold(c, |c, [a, b]| exact::fma(64, 0, *a, *b, c));
            same(want, f64::from_bits(want).is_nan() && f64::from_bits(got).is_nan())
        }
        _ => {
            let of = |n: usize, code: u64| value(&shape.formats[n], code, shape.target);
            let products: Vec<f64> = pairs.iter().map(|[a, b]| of(0, *a) * of(1, *b)).collect();
            let (c, got) = (f64::from(f32::from_bits(c as u32)), f64::from(f32::from_bits(got as u32)));
            let sum = products.iter().sum::<f64>() + c;
            if !sum.is_finite() {
                let same = got == sum || got.is_nan() && sum.is_nan();
                return if same { Ok(()) } else { Err(format!("{got} is not {sum}")) };
            }
            // Another test checks the exact roundings. Here terms are aligned to the largest one; denormals have the
            // exponent of the smallest normal number.
            let size = |n: usize, code: u64| of(n, code).abs().max(least(&shape.formats[n]));
            let sizes = pairs.iter().map(|[a, b]| size(0, *a) * size(1, *b));
            let largest = sizes.fold(c.abs(), f64::max);
            let near = largest * 2f64.powi(-22) * (pairs.len() + 4) as f64 + 2f64.powi(-124);
            if (got - sum).abs() <= near { Ok(()) } else { Err(format!("{got} is not {sum} +- {near}")) }
        }
    }
}

fn check(shape: &Shape, rig: &mut TestWave, random: &mut Random) {
    let (elements, kept, bits) = (shape.elements(), shape.kept(), shape.bits());
    let lanes = |random: &mut Random, count: usize, format: &str| -> Vec<Vec<u64>> {
        (0..LANES).map(|_| (0..count).map(|_| element(random, format)).collect()).collect()
    };
    let a = lanes(random, kept, &shape.formats[0]);
    let b = lanes(random, elements, &shape.formats[1]);
    let step = if shape.result == "f64" { 2 } else { 1 };
    let c = lanes(random, shape.registers() / step, &shape.result);
    let indices: Vec<u32> = (0..LANES).map(|_| random.next() as u32).collect();
    // C and D in the same registers, which instructions of sparse matrices always have.
    let mut code =
        Code { dst: 150, a: 0, b: 100, c: 256 + 150, acc: random.next() as u32 & 7, ..Code::default() };
    if shape.sparse {
        code.c = 256 + 90;
        rig.w.v_mut(90).flat_mut().copy_from_slice(&indices);
    }
    let file = |acc: u32| if acc & 1 != 0 { AGPR } else { 0 };
    put(rig, file(code.acc), bits, &a);
    put(rig, 100 + file(code.acc >> 1), bits, &b);
    let d = 150 + file(code.acc >> 2);
    put(rig, d, 32 * step, &c);
    rig.w.set_exec(random.next());
    rig.run(&code.words(shape.op));

    // The elements of A of each block and row, with their numbers in the row; those of B by block, column and number.
    let mut rows = BTreeMap::<[usize; 2], Vec<(usize, u64)>>::new();
    let mut of_b = BTreeMap::new();
    for l in 0..LANES {
        for (e, x) in a[l].iter().enumerate() {
            let (row, block, at) = shape.of_a(l, e);
            let k = if shape.sparse { 4 * (at / 2) + (indices[l] >> (2 * e) & 3) as usize } else { at };
            rows.entry([block, row]).or_default().push((k, *x));
        }
        for (e, x) in b[l].iter().enumerate() {
            let (column, block, at) = shape.of_b(l, e);
            of_b.insert([block, column, at], *x);
        }
    }
    for register in (0..shape.registers()).step_by(step) {
        for lane in 0..LANES {
            let (row, column, block) = place(shape, register, lane);
            let pairs: Vec<[u64; 2]> =
                rows[&[block, row]].iter().map(|(k, x)| [*x, of_b[&[block, column, *k]]]).collect();
            let got: u64 = (0..step)
                .map(|n| u64::from(rig.w.v(d + (register + n) as u16).flat()[lane]) << (32 * n))
                .sum();
            let old = c[lane][register / step];
            if let Err(why) = is_sum(shape, &pairs, old, got) {
                panic!(
                    "{} {:?} register {register} lane {lane}: {got:#x} {why}: {pairs:x?} + {old:#x}",
                    shape.name, rig.level
                );
            }
        }
    }
}

fn every_element() {
    let mut random = Random::new(15);
    for shape in Shape::all() {
        for level in levels() {
            let mut rig = TestWave::new(shape.target, level);
            for _ in 0..2 {
                check(&shape, &mut rig, &mut random);
            }
        }
    }
}

/// For f64, `is_sum` rounds after each product, which differs from an exact sum.
#[test]
fn a_fused_sum_is_not_exact() {
    let [one, tiny] = [1.0, 2f64.powi(-60)].map(f64::to_bits);
    let fused = [[tiny, one], [tiny, one]].iter().fold(one, |c, [a, b]| exact::fma(64, 0, *a, *b, c));
    let sum = Exact::of(tiny, 64).plus(&Exact::of(tiny, 64), 0).plus(&Exact::of(one, 64), 0);
    assert_eq!(fused, one);
    assert_ne!(sum.order(&Exact::of(one, 64)), Some(std::cmp::Ordering::Equal));
}
