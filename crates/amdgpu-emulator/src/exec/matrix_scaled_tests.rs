//! Tests of gfx950's matrix instructions of 8, 6 and 4-bit floats. Elements are mapped from register and lane to row and
//! column, the opposite direction of the executors.

use amdgpu_isa::{Encoding, Target};

use crate::exec::level::SimdLevel;
use crate::exec::matrix_tests::{Code, decode_small, exponent, gfx942, levels, put};
use crate::report::fault::FaultCause;
use crate::state::wave::{AGPR, LANES};
use crate::testing::test_wave::{Random, TestWave, op};

crate::testing::tally::verified!(every_format_is_scaled);

/// The formats in the order of their codes, with their numbers of bits.
const FORMATS: [(&str, usize); 5] = [("e4m3", 8), ("e5m2", 8), ("e2m3", 6), ("e3m2", 6), ("e2m1", 4)];

/// The number of elements of A, and of B, in each lane.
const EACH: usize = 32;

/// `v_mfma_ld_scale_b32` with the bytes of both sources.
fn load_scales(sources: [u32; 2], bytes: [u32; 2]) -> [u32; 2] {
    let both = |bit: u32| (bytes[0] >> bit & 1) | (bytes[1] >> bit & 1) << 1;
    let op = op(Encoding::Vop3p, "v_mfma_ld_scale_b32", Target::Gfx950);
    [0xd380_0000 | op << 16 | both(0) << 11, both(1) << 27 | sources[1] << 9 | sources[0]]
}

fn opcode(n: usize) -> u32 {
    let name = if n == 16 { "v_mfma_f32_16x16x128_f8f6f4" } else { "v_mfma_f32_32x32x64_f8f6f4" };
    op(Encoding::Vop3p, name, Target::Gfx950)
}

/// Returns the number in its row of A, or column of B, of an element in a group of lanes.
fn place(n: usize, bits: usize, group: usize, e: usize) -> usize {
    if bits == 8 { LANES / n * 16 * (e / 16) + 16 * group + e % 16 } else { EACH * group + e }
}

/// Returns the value of a scale's code.
fn scale(code: u32) -> f64 {
    if code == 255 { f64::NAN } else { 2f64.powi(code as i32 - 127) }
}

/// A random matrix, A or B, and its registers.
struct Matrix {
    format: &'static str,
    /// The code of each lane's elements.
    codes: Vec<Vec<u64>>,
    /// The elements of each row of A, or column of B, and their scales.
    rows: Vec<Vec<(f64, u32)>>,
    /// The dword of each lane that has its scale.
    scales: Vec<u32>,
}

impl Matrix {
    /// `specials` is one in how many elements may be infinite or NaN; 0 for none. Scales are in a range around 1.
    fn random(random: &mut Random, n: usize, format: usize, byte: u32, specials: u64, range: u32) -> Matrix {
        let (format, bits) = FORMATS[format];
        let mut code = || loop {
            let code = random.next() & ((1 << bits) - 1);
            let special = specials != 0 && random.next() % specials == 0;
            if special || decode_small(format, code).is_finite() {
                return code;
            }
        };
        let codes: Vec<Vec<u64>> = (0..LANES).map(|_| (0..EACH).map(|_| code()).collect()).collect();
        let scales: Vec<u32> = (0..LANES)
            .map(|_| {
                let scale = match random.next() % 256 {
                    0 if specials != 0 => 255,
                    1 if specials != 0 => 0,
                    other => 127 - range + other as u32 % (2 * range + 1),
                };
                let garbage = random.next() as u32;
                garbage & !(0xff << (8 * byte)) | scale << (8 * byte)
            })
            .collect();
        let mut rows = vec![vec![(0.0, 0); EACH * LANES / n]; n];
        for (l, codes) in codes.iter().enumerate() {
            for (e, code) in codes.iter().enumerate() {
                let at = place(n, bits, l / n, e);
                let scale = scales[at / EACH * n + l % n] >> (8 * byte) & 0xff;
                rows[l % n][at] = (decode_small(format, *code), scale);
            }
        }
        Matrix { format, codes, rows, scales }
    }

    fn bits(&self) -> usize {
        FORMATS.iter().find(|(name, _)| *name == self.format).unwrap().1
    }

    /// Returns the exponent of the smallest normal number.
    fn lowest(&self) -> i32 {
        match self.format {
            "e4m3" => -6,
            "e5m2" => -14,
            "e3m2" => -2,
            _ => 0,
        }
    }
}

/// One instruction, its operands, and the results.
struct Run {
    n: usize,
    a: Matrix,
    b: Matrix,
    c: Vec<Vec<f32>>,
    d: Vec<Vec<f32>>,
}

/// Returns the row and the column of the element in a register and lane of C or D.
fn result_place(n: usize, register: usize, lane: usize) -> (usize, usize) {
    if n == 32 {
        (8 * (register / 4) + 4 * (lane / 32) + register % 4, lane % 32)
    } else {
        (4 * (lane / 16) + register, lane % 16)
    }
}

fn run(random: &mut Random, level: SimdLevel, n: usize, formats: [usize; 2], special: bool) -> Run {
    let mut rig = TestWave::new(Target::Gfx950, level);
    let bytes = [0, 1].map(|_| (random.next() % 4) as u32);
    let (specials, range) = if special { (700, 40) } else { (0, 6) };
    let [a, b] = [0, 1].map(|m| Matrix::random(random, n, formats[m], bytes[m], specials, range));
    let acc = (random.next() & 7) as u32;
    let file = |bit: u32| if acc >> bit & 1 != 0 { AGPR } else { 0 };
    put(&mut rig, 4 + file(0), a.bits(), &a.codes);
    put(&mut rig, 20 + file(1), b.bits(), &b.codes);
    rig.w.v_mut(60).flat_mut().copy_from_slice(&a.scales);
    rig.w.v_mut(61).flat_mut().copy_from_slice(&b.scales);
    let registers = n * n / LANES;
    let mut c = vec![vec![0f32; n]; n];
    for register in 0..registers {
        for lane in 0..LANES {
            let (row, column) = result_place(n, register, lane);
            c[row][column] = (random.next() % 4096) as f32 / 64.0 - 32.0;
            rig.w.v_mut(40 + register as u16 + file(2)).flat_mut()[lane] = c[row][column].to_bits();
        }
    }
    rig.w.set_exec(random.next());
    let mut words = load_scales([256 + 60, 256 + 61], bytes).to_vec();
    let [cbsz, blgp] = formats.map(|format| format as u32);
    words.extend(Code { dst: 40, a: 4, b: 20, c: 256 + 40, acc, cbsz, abid: 1, blgp }.words(opcode(n)));
    rig.run(&words);
    let mut d = vec![vec![0f32; n]; n];
    for register in 0..registers {
        for lane in 0..LANES {
            let (row, column) = result_place(n, register, lane);
            d[row][column] = f32::from_bits(rig.w.v(40 + register as u16 + file(2)).flat()[lane]);
        }
    }
    Run { n, a, b, c, d }
}

fn every_format_is_scaled() {
    let mut random = Random::new(31);
    for level in levels() {
        for n in [16, 32] {
            for formats in (0..25).map(|f| [f / 5, f % 5]) {
                let run = run(&mut random, level, n, formats, false);
                for (row, column) in (0..run.n).flat_map(|row| (0..run.n).map(move |column| (row, column))) {
                    // The exact sums of gfx942's 8-bit floats are compared for some elements.
                    if random.next() % 16 != 0 {
                        continue;
                    }
                    let products: Vec<(f64, i32)> = run.a.rows[row]
                        .iter()
                        .zip(&run.b.rows[column])
                        .map(|((x, p), (y, q))| {
                            let scales = (*p + *q) as i32 - 254;
                            let size = exponent(*x, run.a.lowest()) + exponent(*y, run.b.lowest()) + scales;
                            (x * y * scale(*p) * scale(*q), size)
                        })
                        .collect();
                    let want = gfx942(&products, 16, true, run.c[row][column]);
                    let got = run.d[row][column];
                    assert!(
                        got == want,
                        "{level:?} {n} {formats:?} ({row}, {column}): {got:e}, not {want:e}"
                    );
                }
            }
        }
    }
}

#[test]
fn any_values_and_scales() {
    let mut random = Random::new(32);
    let [mut finite, mut nans] = [0, 0];
    for level in levels() {
        for n in [16, 32] {
            for formats in (0..25).map(|f| [f / 5, f % 5]) {
                let run = run(&mut random, level, n, formats, true);
                for (row, column) in (0..run.n).flat_map(|row| (0..run.n).map(move |column| (row, column))) {
                    let terms = run.a.rows[row].iter().zip(&run.b.rows[column]);
                    let sized = |x: f64, lowest: i32| x.abs().max(2f64.powi(lowest));
                    let c = f64::from(run.c[row][column]);
                    let (mut sum, mut largest, mut count) = (c, c.abs(), 0.0);
                    for ((x, p), (y, q)) in terms {
                        sum += x * scale(*p) * (y * scale(*q));
                        let size = sized(*x, run.a.lowest()) * sized(*y, run.b.lowest());
                        largest = largest.max(size * scale(*p) * scale(*q));
                        count += 1.0;
                    }
                    let got = f64::from(run.d[row][column]);
                    let near = largest * 2f64.powi(-22) * (count + 4.0);
                    let same = got == sum || got.is_nan() && sum.is_nan() || (got - sum).abs() <= near;
                    assert!(same, "{level:?} {n} {formats:?} ({row}, {column}): {got:e}, not {sum:e}");
                    finite += usize::from(sum.is_finite());
                    nans += usize::from(sum.is_nan());
                }
            }
        }
    }
    assert!(finite > 1000 && nans > 1000, "{finite} {nans}");
}

/// Runs a product of ones of fp8, after `before`. Returns D[0][0].
fn ones(rig: &mut TestWave, before: &[u32], abid: u32) -> Result<f32, FaultCause> {
    for r in 0..16 {
        rig.w.v_mut(r).flat_mut().fill(0x3838_3838);
    }
    let code = Code { dst: 40, a: 0, b: 8, c: 128, abid, ..Code::default() };
    rig.try_run(&[before, &code.words(opcode(16))].concat())?;
    Ok(f32::from_bits(rig.w.v(40).flat()[0]))
}

#[test]
fn scales_are_those_of_the_instruction_before() {
    for level in levels() {
        let mut rig = TestWave::new(Target::Gfx950, level);
        rig.w.v_mut(20).flat_mut().fill(0x7f80_8182);
        rig.w.set_s32(5, 0x7e7d_7c7b);
        let mut scaled = |sources, bytes| ones(&mut rig, &load_scales(sources, bytes), 1).unwrap();
        assert_eq!(scaled([276, 276], [3, 3]), 128.0);
        assert_eq!(scaled([276, 276], [0, 1]), 128.0 * 8.0 * 4.0);
        // A scalar; 64 as a constant; byte 3 of the f32 1.0, which is 0x3f.
        assert_eq!(scaled([276, 5], [2, 0]), 128.0 * 2.0 / 16.0);
        assert_eq!(scaled([192, 276], [0, 3]), 128.0 * 2f32.powi(64 - 127));
        assert_eq!(scaled([242, 276], [3, 3]), 128.0 * 2f32.powi(63 - 127));
        // Without ABID, scales have no effect.
        assert_eq!(ones(&mut rig, &load_scales([276, 276], [0, 0]), 0), Ok(128.0));
        assert_eq!(ones(&mut rig, &[], 0), Ok(128.0));
    }
}

/// Zeros have no exponent, whatever their scale, but a scale may be NaN.
#[test]
fn scales_of_zeros() {
    let c = 1.5e-9f32;
    for level in levels() {
        for zero in [0, 8] {
            let mut rig = TestWave::new(Target::Gfx950, level);
            for r in 0..8 {
                rig.w.v_mut(8 - zero + r).flat_mut().fill(0x3838_3838);
            }
            rig.w.v_mut(20).flat_mut().fill(0xfe_7fff);
            rig.w.v_mut(60).flat_mut().fill(c.to_bits());
            let code = Code { dst: 40, a: 0, b: 8, c: 256 + 60, abid: 1, ..Code::default() };
            let mut run = |bytes| {
                rig.run(&[load_scales([276, 276], bytes).as_slice(), &code.words(opcode(16))].concat());
                f32::from_bits(rig.w.v(40).flat()[0])
            };
            assert_eq!(run([1, 1]), c, "{level:?}");
            assert_eq!(run([2, 1]), c, "{level:?}");
            assert_eq!(run([2, 2]), c, "{level:?}");
            assert!(run([0, 1]).is_nan() && run([1, 0]).is_nan(), "{level:?}");
        }
    }
}

#[test]
fn scales_without_the_instruction_before_are_illegal() {
    let mut rig = TestWave::new(Target::Gfx950, SimdLevel::best());
    assert_eq!(ones(&mut rig, &[], 1), Err(FaultCause::IllegalInstruction));
    // s_nop
    let nop_between = [load_scales([276, 276], [0, 0]).as_slice(), &[0xbf80_0000]].concat();
    assert_eq!(ones(&mut rig, &nop_between, 1), Err(FaultCause::IllegalInstruction));
    // s_branch to the second instruction.
    let branch = [[0xbf82_0002].as_slice(), &load_scales([276, 276], [0, 0])].concat();
    assert_eq!(ones(&mut rig, &branch, 1), Err(FaultCause::IllegalInstruction));
    // Formats that don't exist.
    let code = Code { dst: 40, a: 0, b: 8, c: 128, ..Code::default() };
    for bad in [Code { cbsz: 5, ..code }, Code { blgp: 7, ..code }] {
        assert_eq!(rig.try_run(&bad.words(opcode(16))), Err(FaultCause::IllegalInstruction));
    }
}

/// The numbers of registers depend on the formats.
#[test]
fn the_last_registers_can_be_used() {
    let mut rig = TestWave::new(Target::Gfx950, SimdLevel::best());
    for (format, registers) in [(0, 8), (2, 6), (4, 4)] {
        let code = Code { dst: 40, c: 128, cbsz: format, blgp: format, ..Code::default() };
        let last = 256 - registers;
        rig.run(&Code { a: last, b: last, ..code }.words(opcode(32)));
        for bad in [Code { a: last + 1, ..code }, Code { b: last + 1, ..code }] {
            assert_eq!(rig.try_run(&bad.words(opcode(32))), Err(FaultCause::IllegalInstruction));
        }
    }
}
