//! Compares matrix instructions with products of matrices. The elements are mapped from register and lane to row and
//! column ("AMD Matrix Instruction Calculator", register-to-element mapping), the opposite direction of the executors,
//! and the shapes come from the mnemonics. The arithmetic is compared with that of integers.
//!
//! It is longer than other files because every test uses this one mapping and the sums that were measured.

use amdgpu_isa::{Encoding, Row, Target};

use crate::exec::level::SimdLevel;
use crate::state::wave::{AGPR, LANES, Mode};
use crate::testing::test_wave::{Random, TestWave};

crate::testing::tally::verified!(every_shape_multiplies_integers, sums_round_as_measured);

/// The shape and the formats that a mnemonic gives.
#[derive(Debug, Clone)]
pub(crate) struct Shape {
    pub(crate) name: &'static str,
    pub(crate) op: u32,
    pub(crate) target: Target,
    pub(crate) sparse: bool,
    pub(crate) result: String,
    pub(crate) n: usize,
    pub(crate) k: usize,
    /// The formats of A and B.
    pub(crate) formats: [String; 2],
}

impl Shape {
    pub(crate) fn all() -> Vec<Shape> {
        let mut out = Vec::new();
        for row in Encoding::Vop3p.rows() {
            for target in Target::GFX9 {
                out.extend(Shape::of(row, target));
            }
        }
        assert!(out.len() > 70, "{} matrix instructions", out.len());
        out
    }

    fn named(name: &str) -> Shape {
        Shape::all().into_iter().find(|shape| shape.name == name).unwrap()
    }

    fn of(row: &'static Row, target: Target) -> Option<Shape> {
        let op = u32::try_from(row.op[target as usize]).ok()?;
        // Another file tests those.
        if row.name.ends_with("_f8f6f4") {
            return None;
        }
        let sparse = row.name.starts_with("v_smfmac_");
        let rest = row.name.strip_prefix("v_mfma_").or(row.name.strip_prefix("v_smfmac_"))?;
        let (result, rest) = rest.split_once('_')?;
        let mut numbers = rest.splitn(3, 'x');
        let n: usize = numbers.next()?.parse().ok()?;
        assert_eq!(numbers.next()?, n.to_string());
        let tail = numbers.next()?;
        let digits = tail.find(|c: char| !c.is_ascii_digit())?;
        let k = tail[..digits].parse().ok()?;
        let mut formats = tail[digits..].trim_start_matches('_');
        for blocks in ["2b_", "4b_", "16b_"] {
            formats = formats.strip_prefix(blocks).unwrap_or(formats);
        }
        let formats = match formats {
            "bf16_1k" => ["bf16", "bf16"],
            _ => formats.split_once('_').map_or([formats; 2], |(a, b)| [a, b]),
        };
        // gfx950 has the formats of the Open Compute Project.
        let formats = formats.map(|format| match format {
            "fp8" if target == Target::Gfx950 => "e4m3".to_owned(),
            "bf8" if target == Target::Gfx950 => "e5m2".to_owned(),
            _ => format.to_owned(),
        });
        Some(Shape { name: row.name, op, target, sparse, result: result.to_owned(), n, k, formats })
    }

    pub(crate) fn bits(&self) -> usize {
        match self.formats[0].as_str() {
            "f64" => 64,
            "f32" | "xf32" => 32,
            "f16" | "bf16" => 16,
            _ => 8,
        }
    }

    /// Returns the number of elements of B in each lane. The first bf16 instructions of gfx90a have one register, the
    /// others as many as the format's operands.
    pub(crate) fn elements(&self) -> usize {
        // The lanes together have K elements of each row of each block. The number of blocks is known from the
        // registers of the results.
        self.n * self.blocks() * self.k / LANES
    }

    pub(crate) fn blocks(&self) -> usize {
        let many = match (self.result.as_str(), self.n) {
            ("f64", 4) => 4,
            (_, 4) => 16,
            (_, 16) => 4,
            _ => 2,
        };
        if self.result == "f64" && self.n == 16 || self.sparse {
            return 1;
        }
        if self.target.has_gfx942_instructions() {
            return if self.is_blocked() { many } else { 1 };
        }
        // With one block each group of lanes has different k; with several blocks all groups have the same.
        let per_lane = match (self.bits(), self.name.ends_with("_1k")) {
            (16, new) if new || self.formats[0] == "f16" => 4,
            (16, _) => 2,
            (8, _) => 4,
            _ => 1,
        };
        let one = LANES / self.n * per_lane;
        if self.k == one {
            1
        } else {
            assert_eq!(self.k * LANES / (LANES / (self.n * many) * LANES), per_lane, "{self:?}");
            many
        }
    }

    /// Returns whether the name has a number of blocks.
    fn is_blocked(&self) -> bool {
        ["_2b_", "_4b_", "_16b_"].iter().any(|blocks| self.name.contains(blocks))
    }

    /// Returns whether this is a sparse instruction that only gfx950 has.
    fn is_long(&self) -> bool {
        self.sparse && self.elements() * self.bits() == 256
    }

    /// Returns the number of elements of A in each lane.
    pub(crate) fn kept(&self) -> usize {
        if self.sparse { self.elements() / 2 } else { self.elements() }
    }

    /// Returns the row, the block and the number in its row of an element of A in a lane. Of a sparse matrix, the
    /// elements that are 0 are not counted.
    pub(crate) fn of_a(&self, l: usize, e: usize) -> (usize, usize, usize) {
        let group = l / (self.n * self.blocks());
        let k = match (self.is_long() && self.bits() == 8, self.n) {
            (true, 16) => e % 4 + 16 * (e / 4 % 2) + 4 * (e / 8) + 32 * (group / 2) + 8 * (group % 2),
            (true, _) => e % 4 + 8 * (e / 4 % 2) + 4 * (e / 8) + 16 * group,
            _ => group * self.kept() + e,
        };
        (l % self.n, l / self.n % self.blocks(), k)
    }

    /// Returns the column, the block and the number in its column of an element of B in a lane.
    pub(crate) fn of_b(&self, l: usize, e: usize) -> (usize, usize, usize) {
        let group = l / (self.n * self.blocks());
        let k = if self.is_long() {
            LANES / self.n * 8 * (e / 8) + 8 * group + e % 8
        } else {
            group * self.elements() + e
        };
        (l % self.n, l / self.n % self.blocks(), k)
    }

    /// Returns the number of registers of D.
    pub(crate) fn registers(&self) -> usize {
        self.n * self.n * self.blocks() / LANES * if self.result == "f64" { 2 } else { 1 }
    }
}

/// Returns the bits of a small integer in a format.
fn encode(format: &str, value: i32) -> u64 {
    let value32 = value as f32;
    match format {
        "f64" => f64::from(value).to_bits(),
        "f32" | "xf32" => u64::from(value32.to_bits()),
        "f16" => u64::from(half::f16::from_f32(value32).to_bits()),
        "bf16" => u64::from(half::bf16::from_f32(value32).to_bits()),
        "i8" => u64::from(value as u8),
        _ => small(format, value32),
    }
}

/// Returns the 8-bit float with a value, found by searching all codes.
fn small(format: &str, value: f32) -> u64 {
    (0..256)
        .find(|code| decode_small(format, *code) == f64::from(value))
        .unwrap_or_else(|| panic!("{value} is no {format}"))
}

/// Returns the value of a small float: sign, exponent, fraction. gfx942's formats have a bias of 8 or 16, no infinities,
/// and 0x80 is the NaN. The others are the Open Compute Project's, with the numbers of bits that their names give.
pub(crate) fn decode_small(format: &str, code: u64) -> f64 {
    let (exponent, fraction, bias) = match format {
        "fp8" => (4, 3, 8),
        "bf8" => (5, 2, 16),
        "e4m3" => (4, 3, 7),
        "e5m2" => (5, 2, 15),
        "e2m3" => (2, 3, 1),
        "e3m2" => (3, 2, 3),
        "e2m1" => (2, 1, 1),
        _ => panic!("{format}"),
    };
    let magnitude = code & ((1 << (exponent + fraction)) - 1);
    let sign = if code >> (exponent + fraction) & 1 != 0 { -1.0 } else { 1.0 };
    match (format, magnitude) {
        ("fp8" | "bf8", 0) if sign < 0.0 => return f64::NAN,
        ("e4m3", 0x7f) | ("e5m2", 0x7d..) => return f64::NAN,
        ("e5m2", 0x7c) => return sign * f64::INFINITY,
        _ => {}
    }
    let (e, m) = (magnitude >> fraction, magnitude & ((1 << fraction) - 1));
    let unit = 2f64.powi(-fraction);
    if e == 0 {
        sign * m as f64 * unit * 2f64.powi(1 - bias)
    } else {
        sign * (1.0 + m as f64 * unit) * 2f64.powi(e as i32 - bias)
    }
}

/// Writes the registers of A or B: the packed elements of each lane.
pub(crate) fn put(rig: &mut TestWave, index: u16, bits: usize, elements: &[Vec<u64>]) {
    for (l, elements) in elements.iter().enumerate() {
        let mut dwords = vec![0u32; (elements.len() * bits).div_ceil(32)];
        for (e, value) in elements.iter().enumerate() {
            for bit in 0..bits {
                let at = e * bits + bit;
                dwords[at / 32] |= ((value >> bit & 1) as u32) << (at % 32);
            }
        }
        for (r, dword) in (0..).zip(dwords) {
            rig.w.v_mut(index + r).flat_mut()[l] = dword;
        }
    }
}

/// The fields of VOP3P-MAI. `acc` has the bits of A and B, then the one of C and D.
#[derive(Clone, Copy, Default)]
pub(crate) struct Code {
    pub(crate) dst: u32,
    pub(crate) a: u32,
    pub(crate) b: u32,
    /// The source's code.
    pub(crate) c: u32,
    pub(crate) acc: u32,
    pub(crate) cbsz: u32,
    pub(crate) abid: u32,
    pub(crate) blgp: u32,
}

impl Code {
    pub(crate) fn words(self, op: u32) -> [u32; 2] {
        let (cbsz, abid, cd) = (self.cbsz << 8, self.abid << 11, (self.acc >> 2) << 15);
        [
            0xd380_0000 | op << 16 | cd | abid | cbsz | self.dst,
            self.blgp << 29 | (self.acc & 3) << 27 | self.c << 18 | (256 + self.b) << 9 | (256 + self.a),
        ]
    }
}

/// Returns the row, column and block of the element in a register and lane of C or D.
pub(crate) fn place(shape: &Shape, register: usize, lane: usize) -> (usize, usize, usize) {
    if shape.result == "f64" {
        let block = if shape.n == 16 { 0 } else { lane / 4 % 4 };
        let row = if shape.n == 16 { 4 * (register / 2) + lane / 16 } else { lane / 16 };
        return (row, lane % shape.n, block);
    }
    match shape.n {
        32 => (8 * (register / 4) % 32 + 4 * (lane / 32) + register % 4, lane % 32, register / 16),
        16 => (4 * (lane / 16) + register % 4, lane % 16, register / 4),
        _ => (register % 4, lane % 4, lane / 4),
    }
}

/// Runs an instruction on small random integers, for which all arithmetic is exact.
fn check(shape: &Shape, level: SimdLevel, random: &mut Random) {
    let mut rig = TestWave::new(shape.target, level);
    let mut small = || (random.next() % 15) as i32 - 7;
    let (n, k, blocks, elements, bits) = (shape.n, shape.k, shape.blocks(), shape.elements(), shape.bits());
    let f64s = shape.result == "f64";
    let kept = shape.kept();
    let lanes_a: Vec<Vec<i32>> = (0..LANES).map(|_| (0..kept).map(|_| small()).collect()).collect();
    let lanes_b: Vec<Vec<i32>> = (0..LANES).map(|_| (0..elements).map(|_| small()).collect()).collect();
    let c: Vec<Vec<i32>> =
        (0..shape.registers()).map(|_| (0..LANES).map(|_| small() * 3).collect()).collect();

    let mut code = Code {
        a: 2 * (random.next() % 40) as u32,
        b: 100 + 2 * (random.next() % 20) as u32,
        dst: 150 + 2 * (random.next() % 30) as u32,
        acc: random.next() as u32 & 7,
        ..Code::default()
    };
    // The registers of C are those of D, or separate, or overlap with them.
    let c_at = match random.next() % 4 {
        _ if shape.sparse => code.dst,
        0 => code.dst,
        1 => 210,
        2 => code.dst + 2,
        _ => code.dst - 2,
    };
    code.c = 256 + c_at;
    let constant = !shape.sparse && random.next() % 8 == 0;
    if constant {
        code.c = 128 + (random.next() % 65) as u32;
    }
    if blocks > 1 && !f64s && random.next() % 2 == 0 {
        code.cbsz = random.next() as u32 % (blocks.ilog2() + 1);
        code.abid = random.next() as u32 % (1 << code.cbsz);
    }
    if random.next() % 2 == 0 {
        code.blgp = random.next() as u32 & 7;
    }
    // The number of bits that say which elements of a lane are stored.
    let index_at = 2 * kept as u32;
    let indices: Vec<u32> = (0..LANES).map(|_| random.next() as u32).collect();
    let mut index_shift = 0;
    if shape.sparse {
        code.c = 256 + 90;
        code.cbsz = random.next() as u32 & 1;
        code.abid = random.next() as u32 % (32 / index_at);
        index_shift = if code.cbsz == 0 { (index_at * code.abid) as usize } else { 0 };
    }

    let file = |acc: u32| if acc & 1 != 0 { AGPR } else { 0 };
    let encode_all = |lanes: &[Vec<i32>], format: &str| -> Vec<Vec<u64>> {
        lanes.iter().map(|values| values.iter().map(|v| encode(format, *v)).collect()).collect()
    };
    for r in 0..512 {
        rig.w.v_mut(r).flat_mut().fill(0x7fff_dead);
    }
    put(&mut rig, code.a as u16 + file(code.acc), bits, &encode_all(&lanes_a, &shape.formats[0]));
    put(&mut rig, code.b as u16 + file(code.acc >> 1), bits, &encode_all(&lanes_b, &shape.formats[1]));
    if shape.sparse {
        rig.w.v_mut(90).flat_mut().copy_from_slice(&indices);
    }
    let result = |v: f64| match shape.result.as_str() {
        "i32" => u64::from(v as i32 as u32),
        "f64" => v.to_bits(),
        _ => u64::from((v as f32).to_bits()),
    };
    let cd = file(code.acc >> 2);
    let step = if f64s { 2 } else { 1 };
    for r in (0..shape.registers()).step_by(step) {
        for l in 0..LANES {
            let bits = result(f64::from(c[r][l]));
            for d in 0..step {
                rig.w.v_mut(c_at as u16 + cd + (r + d) as u16).flat_mut()[l] = (bits >> (32 * d)) as u32;
            }
        }
    }

    // The matrices.
    let mut a = vec![vec![vec![0i32; k]; n]; blocks];
    let mut b = vec![vec![vec![0i32; n]; k]; blocks];
    for l in 0..LANES {
        for e in 0..kept {
            let (i, block, at) = shape.of_a(l, e);
            if shape.sparse {
                let which = indices[l] >> (index_shift + 2 * e) & 3;
                // If an index occurs twice, both products are added.
                a[block][i][4 * (at / 2) + which as usize] += lanes_a[l][e];
            } else {
                a[block][i][at] = lanes_a[l][e];
            }
        }
        // The lanes of B as BLGP rearranges them, except for f64.
        let q = LANES / 4;
        let from = match code.blgp {
            _ if f64s => l,
            1 if l >= 32 => l - 32,
            2 if l < 32 => l + 32,
            3 if l >= 48 => l - 48,
            3 => l + 16,
            4..=7 => l - l / q * q + (code.blgp as usize - 4) * q,
            _ => l,
        };
        for e in 0..elements {
            let (j, block, at) = shape.of_b(l, e);
            b[block][at][j] = lanes_b[from][e];
        }
    }
    let sign = |bit: u32| if f64s && code.blgp >> bit & 1 != 0 { -1 } else { 1 };

    // All lanes take part, with any EXEC.
    rig.w.set_exec(random.next());
    rig.run(&code.words(shape.op));
    for r in (0..shape.registers()).step_by(step) {
        for l in 0..LANES {
            let (i, j, block) = place(shape, r, l);
            let a_block = block - block % (1 << if shape.sparse { 0 } else { code.cbsz })
                + if shape.sparse { 0 } else { code.abid as usize };
            let product: i32 = (0..k).map(|k| a[a_block][i][k] * b[block][k][j]).sum();
            let addend = if constant { (code.c - 128) as i32 } else { c[r][l] };
            let want = if constant && !f64s && shape.result != "i32" {
                // An integer constant is not converted: as an f32 it is a denormal, too small to matter here.
                result(f64::from(sign(0) * sign(1) * product))
            } else if constant && f64s {
                result(f64::from(sign(0) * sign(1) * product))
            } else {
                result(f64::from(sign(0) * sign(1) * product + sign(2) * addend))
            };
            let at = code.dst as u16 + cd + r as u16;
            let got = (0..step as u16)
                .map(|d| u64::from(rig.w.v(at + d).flat()[l]) << (32 * d))
                .fold(0, |all, part| all | part);
            let both_zero = |x: u64| x << (64 - 32 * step) << 1 == 0;
            let tiny = constant && shape.result != "i32" && product == 0;
            assert!(
                got == want || shape.result != "i32" && both_zero(got) && both_zero(want) || tiny,
                "{shape:?} {level:?} register {r} lane {l}: {got:#x}, not {want:#x}; cbsz {} abid {} blgp {} c {}",
                code.cbsz,
                code.abid,
                code.blgp,
                code.c,
            );
        }
    }
    // Nothing else is written.
    let last = code.dst as u16 + cd + shape.registers() as u16;
    let c_range = c_at as u16 + cd..c_at as u16 + cd + shape.registers() as u16;
    for r in (130..150).map(|r| r + cd).chain(last..cd + 256).filter(|r| !c_range.contains(r)) {
        let a_or_b = |first: u32, acc: u32| (file(acc) + first as u16..).take(8).any(|x| x == r);
        if !a_or_b(code.a, code.acc) && !a_or_b(code.b, code.acc >> 1) {
            assert!(rig.w.v(r).flat().iter().all(|x| *x == 0x7fff_dead), "{shape:?} wrote register {r}");
        }
    }
}

fn every_shape_multiplies_integers() {
    let mut random = Random::new(7);
    for shape in Shape::all() {
        for level in SimdLevel::ALL.into_iter().filter(|level| level.is_available()) {
            for _ in 0..12 {
                check(&shape, level, &mut random);
            }
        }
    }
}

/// Returns D[0][0] for row 0 of A, column 0 of B and C[0][0]. All other elements are 0.
fn dot(name: &str, a: &[u64], b: &[u64], c: f32, level: SimdLevel) -> f32 {
    dot_in(Mode::DEFAULT, name, a, b, c, level)
}

pub(crate) fn dot_in(mode: Mode, name: &str, a: &[u64], b: &[u64], c: f32, level: SimdLevel) -> f32 {
    dot_of_in(mode, &Shape::named(name), a, b, c, level)
}

/// Returns the same as [`dot`].
fn dot_of(shape: &Shape, a: &[u64], b: &[u64], c: f32, level: SimdLevel) -> f32 {
    dot_of_in(Mode::DEFAULT, shape, a, b, c, level)
}

fn dot_of_in(mode: Mode, shape: &Shape, a: &[u64], b: &[u64], c: f32, level: SimdLevel) -> f32 {
    let mut rig = TestWave::new(shape.target, level);
    let spread = |values: &[u64]| -> Vec<Vec<u64>> {
        let elements = shape.elements();
        (0..LANES)
            .map(|l| {
                let first = l / (shape.n * shape.blocks()) * elements;
                let here = l % (shape.n * shape.blocks()) == 0;
                (0..elements)
                    .map(|e| if here { values.get(first + e).copied().unwrap_or(0) } else { 0 })
                    .collect()
            })
            .collect()
    };
    put(&mut rig, 0, shape.bits(), &spread(a));
    put(&mut rig, 4, shape.bits(), &spread(b));
    rig.w.v_mut(10).flat_mut()[0] = c.to_bits();
    rig.w.mode = mode;
    rig.run(&Code { dst: 10, a: 0, b: 4, c: 266, ..Code::default() }.words(shape.op));
    f32::from_bits(rig.w.v(10).flat()[0])
}

pub(crate) fn levels() -> impl Iterator<Item = SimdLevel> {
    SimdLevel::ALL.into_iter().filter(|level| level.is_available())
}

/// The example of arXiv 2511.10909 (equation 10 and table 8) has the measured result. The exact result would be -0.875.
#[test]
fn the_published_example_has_the_published_result() {
    let a = [-8192.0, -0.5, -0.25, -0.125];
    let b = [1024.0, 1.0, 1.0, 1.0];
    let c = 8_388_608.0;
    let f32s = |v: [f32; 4]| v.map(|x| u64::from(x.to_bits()));
    let f16s = |v: [f32; 4]| v.map(|x| u64::from(half::f16::from_f32(x).to_bits()));
    let bf16s = |v: [f32; 4]| v.map(|x| u64::from(half::bf16::from_f32(x).to_bits()));
    let bf8s = |v: [f32; 4]| v.map(|x| small("bf8", x));
    for level in levels() {
        for (name, a, b, want) in [
            ("v_mfma_f32_16x16x4f32", f32s(a), f32s(b), -0.875),
            ("v_mfma_f32_16x16x8bf16", bf16s(a), bf16s(b), -0.375),
            ("v_mfma_f32_16x16x16bf16_1k", bf16s(a), bf16s(b), 0.0),
            ("v_mfma_f32_16x16x16f16", f16s(a), f16s(b), 0.0),
            ("v_mfma_f32_16x16x16_f16", f16s(a), f16s(b), -0.5),
            ("v_mfma_f32_16x16x16_bf16", bf16s(a), bf16s(b), -0.5),
            ("v_mfma_f32_32x32x16_bf8_bf8", bf8s(a), bf8s(b), -1.0),
        ] {
            assert_eq!(dot(name, &a, &b, c, level), want, "{name} {level:?}");
        }
    }
}

/// The number of places after the binary point of fixed-point numbers.
const POINT: i32 = 80;

fn fixed(x: f64) -> i128 {
    let scaled = x * 2f64.powi(POINT);
    assert!(scaled == scaled.trunc() && scaled.abs() < 2f64.powi(126), "{x:e}");
    scaled as i128
}

fn unfixed(x: i128) -> f32 {
    // Rust rounds to nearest even here.
    x as f32 * 2f32.powi(-POINT)
}

/// Truncates to a multiple of 2^place, towards zero.
fn cut(x: i128, place: i32) -> i128 {
    let shift = (place + POINT).clamp(0, 126);
    x.signum() * (x.abs() >> shift << shift)
}
fn down(x: i128, place: i32) -> i128 {
    let shift = (place + POINT).clamp(0, 126);
    x >> shift << shift
}

/// Returns the exponent of a number. `lowest` is that of the smallest normal number.
pub(crate) fn exponent(x: f64, lowest: i32) -> i32 {
    if x == 0.0 { lowest } else { (x.abs().log2().floor() as i32).max(lowest) }
}

/// Computes a sum of gfx942: products are truncated relative to the largest exponent. `None` if all products are 0.
fn cut_sum(products: &[(f64, i32)]) -> Option<(i128, i32)> {
    let top = products.iter().filter(|(p, _)| *p != 0.0).map(|(_, e)| *e).max()?;
    Some((products.iter().map(|(p, _)| cut(fixed(*p), top - 24)).sum(), top))
}

fn add_accumulator(sum: i128, top: i32, c: f32, window: bool) -> f32 {
    let e = exponent(f64::from(c), -126);
    let both = top.max(e);
    let addend = if window && e < both - 25 { 0 } else { down(fixed(f64::from(c)), both - 24) };
    let total = down(sum, both - 32) + addend;
    let first = 127 - total.unsigned_abs().leading_zeros() as i32 - POINT;
    unfixed(if total == 0 { 0 } else { down(total, first - 31) })
}

/// Computes a sum of gfx942 in groups of products. With `split`, those of even and of odd index are truncated separately.
pub(crate) fn gfx942(products: &[(f64, i32)], group: usize, split: bool, mut c: f32) -> f32 {
    for group in products.chunks(group) {
        c = if split {
            let [even, odd] = [0, 1].map(|n| {
                let those: Vec<_> = group.iter().copied().skip(n).step_by(2).collect();
                cut_sum(&those)
            });
            let top = even.map_or(-200, |(_, e)| e).max(odd.map_or(-200, |(_, e)| e));
            let sum = [even, odd].iter().flatten().map(|(s, _)| down(*s, top - 24)).sum();
            add_accumulator(sum, top, c, true)
        } else {
            let (sum, top) = cut_sum(group).unwrap_or((0, -200));
            add_accumulator(sum, top, c, false)
        };
    }
    c
}

/// Computes a sum of gfx90a: each product and sum is rounded and flushed.
fn gfx90a(a: &[f64], b: &[f64], lowest: i32, group: usize, c: f32) -> f32 {
    use crate::exec::number::exact::{add, mul};
    let flushed = |x: u64| if x & 0x7f80_0000 == 0 { x & 0x8000_0000 } else { x };
    let input = |x: f64| {
        let small = x.abs() < 2f64.powi(lowest);
        if small { 0 } else { u64::from((x as f32).to_bits()) }
    };
    let plus = |x: u64, y: u64| flushed(add(32, 0, x, y));
    let mut c = if c.abs() < f32::MIN_POSITIVE { 0 } else { u64::from(c.to_bits()) };
    let products: Vec<u64> =
        a.iter().zip(b).map(|(x, y)| flushed(mul(32, 0, input(*x), input(*y)))).collect();
    for group in products.chunks(group) {
        let pairs: Vec<u64> = group.chunks(2).map(|p| plus(p[0], p[1])).collect();
        c = plus(c, pairs.into_iter().reduce(plus).unwrap());
    }
    f32::from_bits(c as u32)
}

/// Returns the bits and the value of a random number of a format, with an exponent in a range.
fn sample(random: &mut Random, format: &str, exponents: std::ops::Range<i32>) -> (u64, f64) {
    let bits = random.next();
    if bits % 11 == 0 {
        return (0, 0.0);
    }
    let span = (exponents.end - exponents.start) as u64;
    let e = exponents.start + (bits >> 8 & 0xff) as i32 % span as i32;
    let fraction = (1.0 + (bits >> 20) as f64 / 2f64.powi(44)) * 2f64.powi(e);
    let x = if bits >> 16 & 1 == 0 { fraction } else { -fraction };
    match format {
        "f16" => {
            let h = half::f16::from_f64(x);
            (u64::from(h.to_bits()), h.to_f64())
        }
        "bf16" => {
            let h = half::bf16::from_f64(x);
            (u64::from(h.to_bits()), h.to_f64())
        }
        "xf32" => {
            let v = (x as f32).to_bits();
            (u64::from(v), f64::from(f32::from_bits(v >> 13 << 13)))
        }
        "f32" => (u64::from((x as f32).to_bits()), f64::from(x as f32)),
        _ => {
            let code = bits >> 40 & 0xff;
            let code = if decode_small(format, code).is_finite() { code } else { 0 };
            (code, decode_small(format, code))
        }
    }
}

fn sums_round_as_measured() {
    let mut random = Random::new(11);
    for shape in Shape::all() {
        if shape.sparse || shape.result != "f32" {
            continue;
        }
        let lowest = |format: &str| match format {
            "f16" => -14,
            "fp8" => -7,
            "bf8" => -15,
            "e4m3" => -6,
            "e5m2" => -14,
            _ => -126,
        };
        for n in 0..300 {
            // Wide and narrow ranges. The wide range has f16 denormals.
            let range = if n % 2 == 0 { -17..6 } else { -3..3 };
            let a: Vec<_> =
                (0..shape.k).map(|_| sample(&mut random, &shape.formats[0], range.clone())).collect();
            let b: Vec<_> =
                (0..shape.k).map(|_| sample(&mut random, &shape.formats[1], range.clone())).collect();
            let c = sample(&mut random, "f32", if n % 3 == 0 { -30..20 } else { -2..12 }).1 as f32;
            let values = |v: &[(u64, f64)]| -> Vec<f64> { v.iter().map(|x| x.1).collect() };
            let (x, y) = (values(&a), values(&b));
            let products: Vec<(f64, i32)> = x
                .iter()
                .zip(&y)
                .map(|(x, y)| {
                    let [p, q] = [&shape.formats[0], &shape.formats[1]].map(|f| lowest(f));
                    (x * y, exponent(*x, p) + exponent(*y, q))
                })
                .collect();
            let want = match (shape.formats[0].as_str(), shape.target) {
                ("f32", _) => x.iter().zip(&y).fold(c, |c, (x, y)| {
                    let bits = |v: f32| u64::from(v.to_bits());
                    f32::from_bits(crate::exec::number::exact::fma(
                        32,
                        0,
                        bits(*x as f32),
                        bits(*y as f32),
                        bits(c),
                    ) as u32)
                }),
                (format, Target::Gfx90a) => {
                    let old = format == "bf16" && !shape.name.ends_with("_1k");
                    gfx90a(&x, &y, lowest(format), if old { 2 } else { 4 }, c)
                }
                ("xf32", _) => gfx942(&products, 4, false, c),
                ("f16" | "bf16", _) => gfx942(&products, 8, false, c),
                _ => gfx942(&products, 16, true, c),
            };
            let bits = |v: &[(u64, f64)]| -> Vec<u64> { v.iter().map(|x| x.0).collect() };
            for level in levels() {
                let got = dot_of(&shape, &bits(&a), &bits(&b), c, level);
                assert!(
                    got == want,
                    "{} {level:?}: {x:?} . {y:?} + {c:e} = {got:e}, not {want:e}",
                    shape.name
                );
            }
        }
    }
}

/// Accumulators and products whose sum is at or near the middle between two f32, where places far below the accumulator's
/// last one matter, and signs and numbers of places change.
#[test]
fn ties_are_rounded_as_measured() {
    let mut random = Random::new(12);
    let mut ties = 0;
    for (name, group, split) in [
        ("v_mfma_f32_16x16x16_f16", 8, false),
        ("v_mfma_f32_16x16x16_bf16", 8, false),
        ("v_mfma_f32_16x16x32_bf8_bf8", 16, true),
    ] {
        let shape = Shape::named(name);
        let power = |e: i32| match shape.formats[0].as_str() {
            "f16" => u64::from(half::f16::from_f64(2f64.powi(e)).to_bits()),
            "bf16" => u64::from(half::bf16::from_f64(2f64.powi(e)).to_bits()),
            format => small(format, 2f32.powi(e)),
        };
        let negative = 1 << (shape.bits() - 1);
        for _ in 0..1500 {
            let mut below = |n: u64| random.next() % n;
            let e = 10 + below(11) as i32;
            let fraction = [0, 1, 2, 0x7f_fffe, 0x7f_ffff, below(1 << 23) as u32][below(6) as usize];
            let c = f32::from_bits((127 + e as u32) << 23 | fraction | (below(2) as u32) << 31);
            let (mut a, mut b, mut products) = (vec![], vec![], vec![]);
            for n in 0..1 + below(6) {
                // Half of C's last place, or nearly, then up to 2^-14 of it.
                let down = if n == 0 { below(3) as i32 - 1 } else { below(16) as i32 - 1 };
                let size = e - 24 - down;
                let sign = below(2);
                a.push(power(size / 2) | sign * negative);
                b.push(power(size - size / 2));
                products.push((2f64.powi(size) * if sign == 0 { 1.0 } else { -1.0 }, size));
            }
            let want = gfx942(&products, group, split, c);
            let exact = products.iter().fold(f64::from(c), |sum, (p, _)| sum + p);
            ties += usize::from(want != exact as f32);
            for level in levels() {
                let got = dot_of(&shape, &a, &b, c, level);
                assert_eq!(got, want, "{name} {level:?}: {products:?} + {c:e}");
            }
        }
    }
    assert!(ties > 10, "{ties}");
}

#[test]
fn denormals_are_flushed_on_gfx90a_only() {
    let tiny = u64::from(half::f16::from_f64(2f64.powi(-20)).to_bits());
    let one = u64::from(half::f16::from_f64(1.0).to_bits());
    let least = f32::from_bits(1);
    for level in levels() {
        assert_eq!(dot("v_mfma_f32_32x32x8f16", &[tiny], &[one], 0.0, level), 0.0);
        assert_eq!(dot("v_mfma_f32_32x32x8_f16", &[tiny], &[one], 0.0, level), 2f32.powi(-20));
        assert_eq!(dot("v_mfma_f32_32x32x8f16", &[0], &[one], least, level), 0.0);
        assert_eq!(dot("v_mfma_f32_32x32x8_f16", &[0], &[one], least, level).to_bits(), 1);
        // f32 instructions keep denormals on both targets, if MODE does.
        let bits = |x: f32| u64::from(x.to_bits());
        for name in ["v_mfma_f32_32x32x2f32", "v_mfma_f32_32x32x2_f32"] {
            assert_eq!(dot(name, &[bits(least)], &[bits(2.0)], least, level).to_bits(), 3);
        }
        // A product of bf16 denormals, and a product that is an f32 denormal.
        let half_of = |x: f32| u64::from(half::bf16::from_f32(x).to_bits());
        let (p, q) = (half_of(2f32.powi(-70)), half_of(2f32.powi(-70)));
        assert_eq!(dot("v_mfma_f32_32x32x8bf16_1k", &[p], &[q], 0.0, level), 0.0);
        assert_eq!(dot("v_mfma_f32_32x32x8_bf16", &[p], &[q], 0.0, level).to_bits(), 1 << 9);
    }
}

#[test]
fn infinities_and_nans_propagate() {
    let f16 = |x: f32| u64::from(half::f16::from_f32(x).to_bits());
    let bf16 = |x: f32| u64::from(half::bf16::from_f32(x).to_bits());
    let f32s = |x: f32| u64::from(x.to_bits());
    let (inf, nan) = (f32::INFINITY, f32::NAN);
    let cases: [(&str, &dyn Fn(f32) -> u64); 7] = [
        ("v_mfma_f32_16x16x4f32", &f32s),
        ("v_mfma_f32_16x16x16f16", &f16),
        ("v_mfma_f32_16x16x8bf16", &bf16),
        ("v_mfma_f32_16x16x16bf16_1k", &bf16),
        ("v_mfma_f32_16x16x16_f16", &f16),
        ("v_mfma_f32_16x16x16_bf16", &bf16),
        ("v_mfma_f32_16x16x8_xf32", &f32s),
    ];
    const NAN: u32 = 0x7fc0_0000;
    for level in levels() {
        for (name, of) in cases {
            let run =
                |a: [f32; 2], b: [f32; 2], c: f32| dot(name, &a.map(of), &b.map(of), c, level).to_bits();
            assert_eq!(run([inf, 1.0], [2.0, 1.0], 5.0), inf.to_bits(), "{name}");
            assert_eq!(run([inf, 1.0], [-2.0, 1.0], 5.0), (-inf).to_bits(), "{name}");
            assert_eq!(run([inf, inf], [1.0, -1.0], 5.0), NAN, "{name}");
            assert_eq!(run([inf, 1.0], [0.0, 1.0], 5.0), NAN, "{name}");
            assert_eq!(run([inf, 1.0], [1.0, 1.0], -inf), NAN, "{name}");
            assert_eq!(run([1.0, 1.0], [1.0, 1.0], -inf), (-inf).to_bits(), "{name}");
            assert_eq!(run([1.0, 1.0], [1.0, nan], 5.0), NAN, "{name}");
            assert_eq!(run([1.0, 1.0], [1.0, 1.0], -nan), NAN, "{name}");
        }
        // A product beyond f32's range is infinite, even if the sum isn't.
        let big = bf16(2f32.powi(100));
        let names = ["v_mfma_f32_16x16x16_bf16", "v_mfma_f32_16x16x16bf16_1k"];
        for name in names {
            assert_eq!(dot(name, &[big], &[big], 0.0, level), inf, "{name}");
            assert_eq!(dot(name, &[big], &[bf16(-(2f32.powi(27)))], 1.0, level), -(2f32.powi(127)), "{name}");
        }
        let nan8 = dot("v_mfma_f32_16x16x32_fp8_fp8", &[0x80], &[small("fp8", 1.0)], 1.0, level);
        assert_eq!(nan8.to_bits(), NAN);
    }
}

#[test]
fn missing_operands_are_illegal() {
    let shape = Shape::named("v_mfma_f32_32x32x1f32");
    let mut rig = TestWave::gfx90a();
    let good = Code { dst: 0, a: 40, b: 41, c: 256, ..Code::default() };
    rig.run(&good.words(shape.op));
    // Registers past the last; C in an SGPR, or a literal.
    for bad in [
        Code { dst: 230, ..good },
        Code { c: 256 + 240, ..good },
        Code { c: 5, ..good },
        Code { c: 255, ..good },
    ] {
        let mut words = bad.words(shape.op).to_vec();
        words.push(0);
        assert_eq!(rig.try_run(&words), Err(crate::report::fault::FaultCause::IllegalInstruction));
    }
}
