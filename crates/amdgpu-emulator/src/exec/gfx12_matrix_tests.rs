//! Tests what gfx12 has for matrices: WMMA, SWMMAC, dot products of 8-bit floats, and transposing loads.
//!
//! Matrices have small integers, whose sums have no rounding. Where their elements are is in tables here, as AMD's matrix instruction
//! calculator prints it.

use amdgpu_isa::{Encoding, Target};

use crate::exec::level::SimdLevel;
use crate::exec::memory_model::{FlatFields, flat};
use crate::report::fault::FaultCause;
use crate::state::wave::LANES;
use crate::testing::test_wave::{Random, TestWave, op};

crate::testing::tally::verified!(
    dense_matrices,
    sparse_matrices,
    sparse_integers,
    dot_products_of_eight_bits,
    transposed_loads
);

const SIZE: usize = 16;
/// The first registers of A, B, C and D, and the indices of a sparse A.
const A: u16 = 0;
const B: u16 = 8;
const C: u16 = 16;
const D: u16 = 40;
const INDICES: u16 = 60;

/// Waves of 32 and of 64 lanes, at each SIMD level.
fn rigs() -> impl Iterator<Item = TestWave> {
    let levels = SimdLevel::ALL.into_iter().filter(|level| level.is_available());
    levels.flat_map(|level| [TestWave::wave32(Target::Gfx12, level), TestWave::new(Target::Gfx12, level)])
}

fn is_small(rig: &TestWave) -> bool {
    rig.lanes() == 32
}

/// The modifiers of a matrix instruction.
#[derive(Clone, Copy, Default)]
struct Modifiers {
    neg_lo: u32,
    neg_hi: u32,
    op_sel: u32,
    clamp: bool,
}

fn words(name: &str, third: u16, m: Modifiers) -> [u32; 2] {
    let low = u32::from(D) | m.neg_hi << 8 | m.op_sel << 11 | 1 << 14 | u32::from(m.clamp) << 15;
    let first = Encoding::Vop3p.first_dword(Target::Gfx12, op(Encoding::Vop3p, name, Target::Gfx12), low);
    let [a, b, c] = [A, B, third].map(|register| 256 + u32::from(register));
    [first, a | b << 9 | c << 18 | 3 << 27 | m.neg_lo << 29]
}

/// A format of elements: its bits, and the code of a small integer.
#[derive(Clone, Copy)]
struct Format {
    bits: usize,
    encode: fn(i64) -> u32,
}

const F32: Format = Format { bits: 32, encode: |x| (x as f32).to_bits() };
const F16: Format = Format { bits: 16, encode: |x| half::f16::from_f32(x as f32).to_bits().into() };
const BF16: Format = Format { bits: 16, encode: |x| (x as f32).to_bits() >> 16 };
/// E5M2: the upper half of an f16.
const BF8: Format = Format { bits: 8, encode: |x| (F16.encode)(x) >> 8 };
/// E4M3.
const FP8: Format = Format {
    bits: 8,
    encode: |x| {
        let code = [0, 0x38, 0x40, 0x44, 0x48][x.unsigned_abs() as usize];
        if x < 0 { code | 0x80 } else { code }
    },
};
const I32: Format = Format { bits: 32, encode: |x| x as u32 };
const I8: Format = Format { bits: 8, encode: |x| x as u32 & 0xff };
const I4: Format = Format { bits: 4, encode: |x| x as u32 & 0xf };

/// Puts an element into a register.
fn put(rig: &mut TestWave, first: u16, format: Format, lane: usize, element: usize, x: i64) {
    let (register, shift) = (element * format.bits / 32, element * format.bits % 32);
    let dword = &mut rig.w.v_mut(first + register as u16).flat_mut()[lane];
    let mask = (u64::from(u32::MAX) >> (32 - format.bits)) as u32;
    *dword = *dword & !(mask << shift) | (format.encode)(x) << shift;
}

/// Puts lines of A or B. `groups` has the group of 16 lanes of each `run` elements, which follow each other in a lane.
fn put_lines(
    rig: &mut TestWave,
    first: u16,
    format: Format,
    lines: &[Vec<i64>],
    (run, groups): (usize, &[usize]),
) {
    for (n, line) in lines.iter().enumerate() {
        let mut used = [0; 4];
        assert_eq!(line.len(), run * groups.len());
        for (elements, &group) in line.chunks(run).zip(groups) {
            for x in elements {
                put(rig, first, format, group * SIZE + n, used[group], *x);
                used[group] += 1;
            }
        }
    }
}

/// Returns the lane and the number in the lane of an element of C and D.
fn place(rig: &TestWave, row: usize, column: usize) -> (usize, usize) {
    match is_small(rig) {
        true => (row / 8 * 16 + column, row % 8),
        // The groups of 16 lanes that have rows 0 to 3, 4 to 7, 8 to 11 and 12 to 15.
        false => ([0, 2, 1, 3][row / 4] * 16 + column, row % 4),
    }
}

fn put_sums(rig: &mut TestWave, first: u16, format: Format, c: &[Vec<i64>]) {
    for row in 0..SIZE {
        for column in 0..SIZE {
            let (lane, element) = place(rig, row, column);
            put(rig, first, format, lane, element, c[row][column]);
        }
    }
}

fn sum(rig: &TestWave, format: Format, row: usize, column: usize) -> u32 {
    let (lane, element) = place(rig, row, column);
    let dword = rig.w.v(D + (element * format.bits / 32) as u16).flat()[lane];
    (u64::from(dword >> (element * format.bits % 32)) & ((1 << format.bits) - 1)) as u32
}

fn scramble(rig: &mut TestWave, random: &mut Random) {
    for v in 0..INDICES + 1 {
        rig.w.v_mut(v).flat_mut().fill_with(|| random.next() as u32);
    }
    rig.w.set_exec(random.next() & rig.w.all);
}

fn matrix(random: &mut Random, lines: usize, length: usize, least: i64, most: i64) -> Vec<Vec<i64>> {
    let mut number = || least + (random.next() % (most - least + 1) as u64) as i64;
    (0..lines).map(|_| (0..length).map(|_| number()).collect()).collect()
}

/// Returns the range of integers of `bits` bits.
fn range(bits: usize, is_signed: bool) -> (i64, i64) {
    match is_signed {
        true => (-(1 << (bits - 1)), (1 << (bits - 1)) - 1),
        false => (0, (1 << bits) - 1),
    }
}

fn bit(bits: u32, n: usize) -> bool {
    bits >> n & 1 != 0
}

fn sign(negative: bool) -> i64 {
    if negative { -1 } else { 1 }
}

fn dense_matrices() {
    let floats = [
        ("v_wmma_f32_16x16x16_f16", F16, F16, F32),
        ("v_wmma_f32_16x16x16_bf16", BF16, BF16, F32),
        ("v_wmma_f16_16x16x16_f16", F16, F16, F16),
        ("v_wmma_bf16_16x16x16_bf16", BF16, BF16, BF16),
        ("v_wmma_f32_16x16x16_fp8_fp8", FP8, FP8, F32),
        ("v_wmma_f32_16x16x16_fp8_bf8", FP8, BF8, F32),
        ("v_wmma_f32_16x16x16_bf8_fp8", BF8, FP8, F32),
        ("v_wmma_f32_16x16x16_bf8_bf8", BF8, BF8, F32),
    ];
    let mut random = Random::new(1201);
    for mut rig in rigs() {
        let run: (usize, &[usize]) = if is_small(&rig) { (8, &[0, 1]) } else { (4, &[0, 1, 2, 3]) };
        for (name, of_a, of_b, of_c) in floats {
            for _ in 0..20 {
                scramble(&mut rig, &mut random);
                let [a, b] = [0, 1].map(|_| matrix(&mut random, 16, 16, -2, 2));
                // No sum is 0, whose sign would depend on the order.
                let c = matrix(&mut random, 16, 16, 70, 100);
                let signs = random.next() as u32;
                let of_factors = if of_a.bits == 16 { 7 } else { 4 };
                let m = Modifiers {
                    neg_lo: signs & of_factors,
                    neg_hi: signs >> 3 & of_factors,
                    ..Modifiers::default()
                };
                put_lines(&mut rig, A, of_a, &a, run);
                put_lines(&mut rig, B, of_b, &b, run);
                put_sums(&mut rig, C, of_c, &c);
                rig.run(&words(name, C, m));
                // Of A and B, `neg_lo` is about even elements and `neg_hi` about odd ones; of C, they negate and make absolute.
                let both = |n: usize, k: usize| sign(bit([m.neg_lo, m.neg_hi][k % 2], n));
                for row in 0..SIZE {
                    for column in 0..SIZE {
                        let products =
                            (0..16).map(|k| both(0, k) * both(1, k) * a[row][k] * b[column][k]).sum::<i64>();
                        let want = products + sign(bit(m.neg_lo, 2)) * c[row][column];
                        let got = sum(&rig, of_c, row, column);
                        assert_eq!(got, (of_c.encode)(want), "{name} {row} {column}: {want}");
                    }
                }
            }
        }
        let small = is_small(&rig);
        let integers: [(_, _, usize, (usize, &[usize])); 3] = [
            ("v_wmma_i32_16x16x16_iu8", I8, 16, run),
            // In a wave of 64, only the first 32 lanes have elements.
            ("v_wmma_i32_16x16x16_iu4", I4, 16, (8, &[0, 1])),
            ("v_wmma_i32_16x16x32_iu4", I4, 32, if small { (8, &[0, 1, 0, 1]) } else { (8, &[0, 2, 1, 3]) }),
        ];
        for (name, format, depth, run) in integers {
            for n in 0..20 {
                scramble(&mut rig, &mut random);
                let m = Modifiers { neg_lo: n & 3, clamp: bit(n, 2), ..Modifiers::default() };
                let [a, b] = [0, 1].map(|n| {
                    let (least, most) = range(format.bits, bit(m.neg_lo, n));
                    matrix(&mut random, 16, depth, least, most)
                });
                let c = limits(&mut random);
                put_lines(&mut rig, A, format, &a, run);
                put_lines(&mut rig, B, format, &b, run);
                put_sums(&mut rig, C, I32, &c);
                rig.run(&words(name, C, m));
                for row in 0..SIZE {
                    for column in 0..SIZE {
                        let products = (0..depth).map(|k| a[row][k] * b[column][k]).sum::<i64>();
                        let want = saturated(c[row][column] + products, m.clamp);
                        assert_eq!(sum(&rig, I32, row, column), want as u32, "{name} {row} {column}");
                    }
                }
            }
        }
    }
}

/// Returns a matrix of numbers near one of the limits of an i32.
fn limits(random: &mut Random) -> Vec<Vec<i64>> {
    let (least, most) = (i64::from(i32::MIN), i64::from(i32::MAX));
    match random.next() & 1 {
        0 => matrix(random, 16, 16, least, least + 20_000),
        _ => matrix(random, 16, 16, most - 20_000, most),
    }
}

fn saturated(x: i64, clamp: bool) -> i64 {
    if clamp { x.clamp(i32::MIN.into(), i32::MAX.into()) } else { x }
}

/// The places of a sparse product in a wave of 32 or of 64: of groups of four elements of rows of A, two of which are stored, and of runs
/// of eight elements of columns of B.
type SparsePlaces = (&'static [usize], &'static [usize]);
const OF_16_BITS: [SparsePlaces; 2] =
    [(&[0, 0, 1, 1, 0, 0, 1, 1], &[0, 1, 0, 1]), (&[0, 0, 1, 1, 2, 2, 3, 3], &[0, 1, 2, 3])];
const OF_8_BITS: [SparsePlaces; 2] =
    [(&[0, 0, 0, 0, 1, 1, 1, 1], &[0, 0, 1, 1]), (&[0, 0, 2, 2, 1, 1, 3, 3], &[0, 2, 1, 3])];
const OF_4_BITS: [SparsePlaces; 2] =
    [(&[0, 0, 0, 0, 1, 1, 1, 1], &[0, 0, 1, 1]), (&[0, 0, 0, 0, 1, 1, 1, 1], &[0, 2, 1, 3])];
const OF_64_OF_4_BITS: [SparsePlaces; 2] = [
    (&[0, 0, 0, 0, 1, 1, 1, 1, 0, 0, 0, 0, 1, 1, 1, 1], &[0, 0, 1, 1, 0, 0, 1, 1]),
    (&[0, 0, 0, 0, 2, 2, 2, 2, 1, 1, 1, 1, 3, 3, 3, 3], &[0, 0, 2, 2, 1, 1, 3, 3]),
];

/// A sparse product: the stored elements of A, the columns of B by which they are multiplied, and B.
struct Sparse {
    a: Vec<Vec<i64>>,
    partners: Vec<Vec<usize>>,
    b: Vec<Vec<i64>>,
}

impl Sparse {
    /// Puts random matrices and indices into registers. Returns them, and `op_sel`, which selects the set of indices.
    fn put(
        rig: &mut TestWave,
        random: &mut Random,
        formats: [Format; 2],
        ranges: [(i64, i64); 2],
        places: &[SparsePlaces; 2],
    ) -> (Sparse, u32) {
        let (of_a, of_b) = places[usize::from(!is_small(rig))];
        let depth = 4 * of_a.len();
        let a = matrix(random, 16, depth / 2, ranges[0].0, ranges[0].1);
        let b = matrix(random, 16, depth, ranges[1].0, ranges[1].1);
        put_lines(rig, A, formats[0], &a, (2, of_a));
        put_lines(rig, B, formats[1], &b, (8, of_b));
        // Each stored element of a lane has two bits.
        let bits = 2 * 2 * of_a.iter().filter(|group| **group == 0).count();
        let op_sel = random.next() as u32 % (32 / bits) as u32;
        let mut partners = vec![Vec::new(); 16];
        for (row, partners) in partners.iter_mut().enumerate() {
            let mut used = [0; 4];
            for (number, &group) in of_a.iter().enumerate() {
                let pair = [0b0100, 0b1000, 0b1100, 0b1001, 0b1101, 0b1110][random.next() as usize % 6];
                let shift = op_sel as usize * bits + 4 * used[group];
                used[group] += 1;
                let dword = &mut rig.w.v_mut(INDICES).flat_mut()[group * 16 + row];
                *dword = *dword & !(15 << shift) | (pair as u32) << shift;
                partners.extend([4 * number + (pair & 3), 4 * number + (pair >> 2)]);
            }
        }
        (Sparse { a, partners, b }, op_sel)
    }

    /// Returns the product of a stored element of a row, and of its partner in a column.
    fn product(&self, row: usize, column: usize, k: usize) -> i64 {
        self.a[row][k] * self.b[column][self.partners[row][k]]
    }
}

fn sparse_matrices() {
    let cases = [
        ("v_swmmac_f32_16x16x32_f16", F16, F16, F32),
        ("v_swmmac_f32_16x16x32_bf16", BF16, BF16, F32),
        ("v_swmmac_f16_16x16x32_f16", F16, F16, F16),
        ("v_swmmac_bf16_16x16x32_bf16", BF16, BF16, BF16),
        ("v_swmmac_f32_16x16x32_fp8_fp8", FP8, FP8, F32),
        ("v_swmmac_f32_16x16x32_fp8_bf8", FP8, BF8, F32),
        ("v_swmmac_f32_16x16x32_bf8_fp8", BF8, FP8, F32),
        ("v_swmmac_f32_16x16x32_bf8_bf8", BF8, BF8, F32),
    ];
    let mut random = Random::new(1202);
    for mut rig in rigs() {
        for (name, of_a, of_b, of_c) in cases {
            for _ in 0..20 {
                scramble(&mut rig, &mut random);
                let c = matrix(&mut random, 16, 16, 70, 100);
                put_sums(&mut rig, D, of_c, &c);
                let places = if of_a.bits == 16 { &OF_16_BITS } else { &OF_8_BITS };
                let (sparse, op_sel) =
                    Sparse::put(&mut rig, &mut random, [of_a, of_b], [(-2, 2), (-2, 2)], places);
                let signs = if of_a.bits == 16 { random.next() as u32 } else { 0 };
                let m = Modifiers { neg_lo: signs & 3, neg_hi: signs >> 2 & 3, op_sel, clamp: false };
                rig.run(&words(name, INDICES, m));
                // The signs of elements of B are those of their partners' numbers.
                let both = |k: usize| {
                    let signs = [m.neg_lo, m.neg_hi][k % 2];
                    sign(bit(signs, 0)) * sign(bit(signs, 1))
                };
                for row in 0..SIZE {
                    for column in 0..SIZE {
                        let products = (0..16).map(|k| both(k) * sparse.product(row, column, k)).sum::<i64>();
                        let want = c[row][column] + products;
                        let got = sum(&rig, of_c, row, column);
                        assert_eq!(got, (of_c.encode)(want), "{name} {row} {column}: {want}");
                    }
                }
            }
        }
    }
}

fn sparse_integers() {
    let cases = [
        ("v_swmmac_i32_16x16x32_iu8", I8, &OF_8_BITS),
        ("v_swmmac_i32_16x16x32_iu4", I4, &OF_4_BITS),
        ("v_swmmac_i32_16x16x64_iu4", I4, &OF_64_OF_4_BITS),
    ];
    let mut random = Random::new(1203);
    for mut rig in rigs() {
        for (name, format, places) in cases {
            for n in 0..20 {
                scramble(&mut rig, &mut random);
                let c = limits(&mut random);
                put_sums(&mut rig, D, I32, &c);
                let ranges = [0, 1].map(|factor| range(format.bits, bit(n, factor)));
                let (sparse, op_sel) = Sparse::put(&mut rig, &mut random, [format; 2], ranges, places);
                let m = Modifiers { neg_lo: n & 3, clamp: bit(n, 2), op_sel, ..Modifiers::default() };
                rig.run(&words(name, INDICES, m));
                for row in 0..SIZE {
                    for column in 0..SIZE {
                        // The elements that the first 16 lanes of a wave of 32 have, then the others.
                        let of_stage = |stage: usize| {
                            let numbers = (0..sparse.a[row].len()).filter(|k| k / 8 % 2 == stage);
                            numbers.map(|k| sparse.product(row, column, k)).sum::<i64>()
                        };
                        let half = saturated(c[row][column] + of_stage(0), m.clamp);
                        let want = saturated(half + of_stage(1), m.clamp);
                        assert_eq!(sum(&rig, I32, row, column), want as u32, "{name} {row} {column}");
                    }
                }
            }
        }
    }
}

/// Returns the value of a code in units of 2^-16; `None` if it is no number.
fn value(is_fp8: bool, code: u32) -> Option<i128> {
    let (bits, bias) = if is_fp8 { (3, 7) } else { (2, 15) };
    let (exponent, fraction) = (code >> bits & (0x7f >> bits), i128::from(code & ((1 << bits) - 1)));
    if is_fp8 && code & 0x7f == 0x7f || !is_fp8 && exponent == 31 {
        return None;
    }
    let significand = if exponent == 0 { fraction } else { fraction | 1 << bits };
    let shift = 16 + exponent.max(1) as i32 - bias - bits as i32;
    let size = significand << shift;
    Some(if code & 0x80 != 0 { -size } else { size })
}

fn dot_products_of_eight_bits() {
    let cases = [
        ("v_dot4_f32_fp8_fp8", true, true),
        ("v_dot4_f32_fp8_bf8", true, false),
        ("v_dot4_f32_bf8_fp8", false, true),
        ("v_dot4_f32_bf8_bf8", false, false),
    ];
    let mut random = Random::new(1204);
    for mut rig in rigs() {
        for (name, of_a, of_b) in cases {
            for _ in 0..60 {
                scramble(&mut rig, &mut random);
                // Numbers of which every sum is a multiple of 2^-44.
                for x in rig.w.v_mut(C).flat_mut() {
                    let bits = random.next();
                    *x = (bits as u32 & 0x807f_ffff) | (107 + (bits >> 32) as u32 % 41) << 23;
                }
                let m = Modifiers {
                    neg_lo: random.next() as u32 & 4,
                    neg_hi: random.next() as u32 & 4,
                    ..Modifiers::default()
                };
                let exec = rig.w.exec();
                let before = [A, B, C, D].map(|v| *rig.w.v(v).flat());
                rig.run(&words(name, C, m));
                for lane in 0..LANES {
                    let [a, b, c, d] = before.map(|v| v[lane]);
                    let got = rig.w.v(D).flat()[lane];
                    if exec >> lane & 1 == 0 {
                        assert_eq!(got, d, "{name}: an inactive lane");
                        continue;
                    }
                    let c = if m.neg_hi != 0 { c & 0x7fff_ffff } else { c } ^ m.neg_lo << 29;
                    let mut sum = Some(f32::from_bits(c));
                    for byte in 0..4 {
                        let part = |x: u32| x >> (8 * byte) & 0xff;
                        let factors = value(of_a, part(a)).zip(value(of_b, part(b)));
                        sum = sum.zip(factors).map(|(sum, (a, b))| {
                            let units = (f64::from(sum) * 2f64.powi(44)) as i128 + (a * b << 12);
                            // The conversion rounds to nearest. A sum of 0 keeps no sign that matters here.
                            units as f32 / 2f32.powi(44)
                        });
                    }
                    match sum {
                        Some(0.0) => assert_eq!(got << 1, 0, "{name} {a:08x} {b:08x}"),
                        Some(sum) => assert_eq!(got, sum.to_bits(), "{name} {a:08x} {b:08x} {c:08x}"),
                        // A NaN or an infinity among the factors.
                        None => assert!(!f32::from_bits(got).is_finite(), "{name} {a:08x} {b:08x}"),
                    }
                }
            }
        }
    }
}

fn transposed_loads() {
    // Where element `n` of lane `lane` is, in elements, if each lane's address is behind what the lane before it loads.
    type Source = fn(usize, usize) -> usize;
    let cases: [(_, usize, Source); 2] = [
        ("global_load_tr_b128", 2, |lane, n| (lane / 8 * 8 + n) * 8 + lane % 8),
        ("global_load_tr_b64", 1, |lane, n| {
            let bit = |x: usize, n: usize| x >> n & 1;
            lane % 8 + 32 * bit(lane, 3) + 128 * bit(lane, 4) + 8 * (n % 4) + 64 * bit(n, 2)
        }),
    ];
    let mut random = Random::new(1205);
    for mut rig in rigs() {
        let bytes: Vec<u8> = (0..4096).map(|_| random.next() as u8).collect();
        let base = rig.space.alloc(4096, 0).unwrap();
        rig.space.write(base, &bytes).unwrap();
        for (name, size, source) in cases {
            for _ in 0..20 {
                scramble(&mut rig, &mut random);
                rig.w.set_exec(rig.w.all);
                let scalar = random.next() & 1 != 0;
                let offset = random.next() as u32 & 0xff;
                let places: [u32; LANES] =
                    std::array::from_fn(|_| random.next() as u32 % (4096 - 256 - 16) / 4 * 4);
                rig.w.set_s64(4, base);
                for (lane, place) in places.into_iter().enumerate() {
                    let address = base + u64::from(place);
                    let [low, high] = [address as u32, (address >> 32) as u32];
                    rig.w.v_mut(B).flat_mut()[lane] = if scalar { place } else { low };
                    rig.w.v_mut(B + 1).flat_mut()[lane] = high;
                }
                let fields = FlatFields {
                    offset: offset as i32,
                    address: B.into(),
                    data: 0,
                    saddr: scalar.then_some(4),
                    dst: D.into(),
                    glc: false,
                    bit13: false,
                };
                let words = flat(&rig, Encoding::Global, name, fields);
                if !is_small(&rig) {
                    let fault = rig.try_run(&words);
                    assert!(matches!(fault, Err(FaultCause::Unimplemented { .. })), "{fault:?}");
                    continue;
                }
                rig.run(&words);
                for lane in 0..32 {
                    for n in 0..8 {
                        let from = source(lane, n);
                        let at = (places[from / 8] + offset) as usize + from % 8 * size;
                        let want =
                            bytes[at..at + size].iter().rev().fold(0, |x, byte| x << 8 | u32::from(*byte));
                        let bit = 8 * size * n;
                        let got = rig.w.v(D + (bit / 32) as u16).flat()[lane] >> (bit % 32);
                        assert_eq!(got & ((1 << (8 * size)) - 1), want, "{name}: lane {lane}, element {n}");
                    }
                }
            }
        }
    }
}
