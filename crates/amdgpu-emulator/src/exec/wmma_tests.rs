//! Tests WMMA with matrices of small integers, whose sums have no rounding, in the layout of the RDNA3 ISA ("Wave Matrix Multiply
//! Accumulate"). The order in which hardware adds, and so its rounding, is not known.

use amdgpu_isa::{Encoding, Target};

use crate::exec::level::SimdLevel;
use crate::state::wave::LANES;
use crate::testing::test_wave::{Random, TestWave, op};

crate::testing::tally::verified!(matrices_of_floats, matrices_of_integers);

const SIZE: usize = 16;
type Matrix = [[i64; SIZE]; SIZE];

/// The first registers of A, B, C and D.
const FIRST: [u32; 4] = [0, 8, 16, 40];

/// The modifiers of an instruction: a bit for each of A, B and C.
#[derive(Clone, Copy, Default)]
struct Modifiers {
    neg_lo: u32,
    neg_hi: u32,
    op_sel: u32,
    clamp: bool,
}

fn words(name: &str, target: Target, m: Modifiers) -> [u32; 2] {
    let low = FIRST[3] | m.neg_hi << 8 | m.op_sel << 11 | 1 << 14 | u32::from(m.clamp) << 15;
    let code = op(Encoding::Vop3p, name, target);
    let [a, b, c] = [0, 1, 2].map(|n| 256 + FIRST[n]);
    [Encoding::Vop3p.first_dword(target, code, low), a | b << 9 | c << 18 | 3 << 27 | m.neg_lo << 29]
}

fn rigs() -> Vec<TestWave> {
    let levels = SimdLevel::ALL.into_iter().filter(|level| level.is_available());
    levels
        .flat_map(|level| {
            Target::GFX11.map(|target| [TestWave::new(target, level), TestWave::wave32(target, level)])
        })
        .flatten()
        .collect()
}

fn random_matrix(random: &mut Random, least: i64, most: i64) -> Matrix {
    std::array::from_fn(|_| {
        std::array::from_fn(|_| least + (random.next() % (most - least + 1) as u64) as i64)
    })
}

/// Puts a factor into registers: lane `l` has line `l` modulo 16, `bits` bits for each element.
fn put_factor(rig: &mut TestWave, first: u32, lines: &Matrix, bits: usize, encode: impl Fn(i64) -> u32) {
    let count = 32 / bits;
    for register in 0..SIZE / count {
        for lane in 0..LANES {
            let elements = (0..count).map(|n| encode(lines[lane % SIZE][register * count + n]) << (bits * n));
            rig.w.v_mut(first as u16 + register as u16).flat_mut()[lane] =
                elements.fold(0, |all, one| all | one);
        }
    }
}

/// Returns the register and the lane of an element of C and D.
fn place(rig: &TestWave, row: usize, column: usize) -> (u16, usize) {
    let rows = rig.lanes() / SIZE;
    ((row / rows) as u16, row % rows * SIZE + column)
}

fn negated(matrix: &Matrix, even: bool, odd: bool) -> Matrix {
    let sign = |k: usize| if [even, odd][k % 2] { -1 } else { 1 };
    std::array::from_fn(|line| std::array::from_fn(|k| sign(k) * matrix[line][k]))
}

fn product(a: &Matrix, b: &Matrix, c: &Matrix) -> Matrix {
    let sum = |row: usize, column: usize| (0..SIZE).map(|k| a[row][k] * b[column][k]).sum::<i64>();
    std::array::from_fn(|row| std::array::from_fn(|column| sum(row, column) + c[row][column]))
}

fn matrices_of_floats() {
    let f16 = |x: i64| u32::from(half::f16::from_f32(x as f32).to_bits());
    let bf16 = |x: i64| (x as f32).to_bits() >> 16;
    let f32 = |x: i64| (x as f32).to_bits();
    type Encode = fn(i64) -> u32;
    let cases: [(&str, Encode, Encode, bool); 4] = [
        ("v_wmma_f32_16x16x16_f16", f16, f32, false),
        ("v_wmma_f32_16x16x16_bf16", bf16, f32, false),
        ("v_wmma_f16_16x16x16_f16", f16, f16, true),
        ("v_wmma_bf16_16x16x16_bf16", bf16, bf16, true),
    ];
    let mut random = Random::new(131);
    for mut rig in rigs() {
        for (name, factor, sum, is_half) in cases {
            for _ in 0..20 {
                let [a, b] = [0, 1].map(|_| random_matrix(&mut random, -3, 3));
                // No zeros: their signs would depend on the order of sums.
                let mut c = random_matrix(&mut random, 160, 200);
                c[0][0] = -170;
                let m = Modifiers {
                    neg_lo: random.next() as u32 & 7,
                    neg_hi: random.next() as u32 & 7,
                    op_sel: if is_half { random.next() as u32 & 4 } else { 0 },
                    clamp: false,
                };
                let shift = if m.op_sel != 0 { 16 } else { 0 };
                put_factor(&mut rig, FIRST[0], &a, 16, factor);
                put_factor(&mut rig, FIRST[1], &b, 16, factor);
                let garbage = random.next() as u32;
                for v in FIRST[3] as u16..FIRST[3] as u16 + 8 {
                    *rig.w.v_mut(v).flat_mut() = [garbage; LANES];
                }
                for (row, line) in c.iter().enumerate() {
                    for (column, x) in line.iter().enumerate() {
                        let (register, lane) = place(&rig, row, column);
                        rig.w.v_mut(FIRST[2] as u16 + register).flat_mut()[lane] = sum(*x) << shift;
                    }
                }
                rig.w.set_exec(random.next());
                rig.run(&words(name, rig.target, m));
                let bit = |bits: u32, n: u32| bits >> n & 1 != 0;
                let a = negated(&a, bit(m.neg_lo, 0), bit(m.neg_hi, 0));
                let b = negated(&b, bit(m.neg_lo, 1), bit(m.neg_hi, 1));
                let c = c.map(|line| {
                    line.map(|x| {
                        let x = if bit(m.neg_hi, 2) { x.abs() } else { x };
                        if bit(m.neg_lo, 2) { -x } else { x }
                    })
                });
                for (row, line) in product(&a, &b, &c).iter().enumerate() {
                    for (column, x) in line.iter().enumerate() {
                        let (register, lane) = place(&rig, row, column);
                        let got = rig.w.v(FIRST[3] as u16 + register).flat()[lane];
                        let kept = if is_half { garbage & !(0xffff << shift) } else { 0 };
                        // Sums of bf16 above 256 are rounded to an even number of units: they are left out.
                        if name == "v_wmma_bf16_16x16x16_bf16" && x.abs() > 256 {
                            continue;
                        }
                        assert_eq!(got, sum(*x) << shift | kept, "{name} {row} {column}: {x}");
                    }
                }
            }
        }
    }
}

fn matrices_of_integers() {
    let mut random = Random::new(133);
    for mut rig in rigs() {
        for (name, bits) in [("v_wmma_i32_16x16x16_iu8", 8), ("v_wmma_i32_16x16x16_iu4", 4)] {
            for n in 0..20 {
                let m = Modifiers { neg_lo: n & 3, clamp: n & 4 != 0, ..Modifiers::default() };
                let range = |is_signed: bool| match is_signed {
                    true => (-(1 << (bits - 1)), (1 << (bits - 1)) - 1),
                    false => (0, (1 << bits) - 1),
                };
                let [a, b] = [0, 1].map(|n| {
                    let (least, most) = range(m.neg_lo >> n & 1 != 0);
                    random_matrix(&mut random, least, most)
                });
                let (least, most) = (i64::from(i32::MIN), i64::from(i32::MAX));
                let c = match random.next() & 1 {
                    0 => random_matrix(&mut random, least, least + 20_000),
                    _ => random_matrix(&mut random, most - 20_000, most),
                };
                let mask = (1u32 << bits) - 1;
                put_factor(&mut rig, FIRST[0], &a, bits, |x| x as u32 & mask);
                put_factor(&mut rig, FIRST[1], &b, bits, |x| x as u32 & mask);
                for (row, line) in c.iter().enumerate() {
                    for (column, x) in line.iter().enumerate() {
                        let (register, lane) = place(&rig, row, column);
                        rig.w.v_mut(FIRST[2] as u16 + register).flat_mut()[lane] = *x as u32;
                    }
                }
                rig.run(&words(name, rig.target, m));
                for (row, line) in product(&a, &b, &c).iter().enumerate() {
                    for (column, x) in line.iter().enumerate() {
                        let (register, lane) = place(&rig, row, column);
                        let got = rig.w.v(FIRST[3] as u16 + register).flat()[lane];
                        let want = if m.clamp { (*x).clamp(i32::MIN.into(), i32::MAX.into()) } else { *x };
                        assert_eq!(got, want as u32, "{name} {row} {column}");
                    }
                }
            }
        }
    }
}
