//! Compares division with the host's correctly rounded quotients. Runs the encoded instructions that LLVM generates for
//! `/` (`SITargetLowering::LowerFDIV32` and `LowerFDIV64`).

use amdgpu_isa::{Encoding, Target};

use super::rigs;
use crate::state::wave::{LANES, Mode};
use crate::testing::test_wave::{Random, TestWave, op};

const VCC: u32 = 106;
/// The constant 1.0 as an operand.
const ONE: u32 = 242;

/// A vector register as an operand.
const fn v(n: u32) -> u32 {
    256 + n
}

/// The negative of an operand.
#[derive(Clone, Copy)]
enum Source {
    Plus(u32),
    Minus(u32),
}
use Source::{Minus, Plus};

/// Encodes VOP3 instructions of one target.
struct Code {
    target: Target,
    words: Vec<u32>,
}

impl Code {
    /// `base` is the opcode in VOP3 at which the encoding's opcodes start. `more` has further bits of the first dword.
    fn vop3(&mut self, encoding: Encoding, base: u32, name: &str, dst: u32, src: [Source; 3], more: u32) {
        let op = op(encoding, name, self.target) + base;
        let second = src.iter().enumerate().fold(0, |word, (n, source)| {
            let (code, negative) = match *source {
                Plus(code) => (code, 0),
                Minus(code) => (code, 1),
            };
            word | code << (9 * n) | negative << (29 + n)
        });
        self.words.extend([0xd000_0000 | op << 16 | more | dst, second]);
    }

    fn three(&mut self, name: &str, dst: u32, src: [Source; 3]) {
        self.vop3(Encoding::Vop3, 0, name, dst, src, 0);
    }

    /// `mask` receives the flags.
    fn scale(&mut self, name: &str, dst: u32, mask: u32, value: u32, denominator: u32, numerator: u32) {
        let src = [value, denominator, numerator].map(|n| Plus(v(n)));
        self.vop3(Encoding::Vop3, 0, name, dst, src, mask << 8);
    }

    fn rcp(&mut self, name: &str, dst: u32, src: u32) {
        self.vop3(Encoding::Vop1, 320, name, dst, [Plus(v(src)), Plus(0), Plus(0)], 0);
    }

    /// Sets the mode to keep all denormals of f32, or none.
    fn denormals(&mut self, kept: bool) {
        let (simm16, literal) = (1 | 4 << 6 | 1 << 11, if kept { 3 } else { 0 });
        let op = op(Encoding::Sopk, "s_setreg_imm32_b32", self.target);
        self.words.extend([0xb000_0000 | op << 23 | simm16, literal]);
    }
}

/// Returns code that divides v2 by v6, with the quotient in v20. If the mode flushes denormals, the code keeps them in
/// between.
fn division_f32(target: Target, flushed: bool) -> Vec<u32> {
    let mut code = Code { target, words: Vec::new() };
    let [numerator, denominator] = [2, 6];
    let [d, n, r, e, q, quotient] = [10, 11, 12, 13, 14, 20];
    code.scale("v_div_scale_f32", d, 30, denominator, denominator, numerator);
    code.scale("v_div_scale_f32", n, VCC, numerator, denominator, numerator);
    code.rcp("v_rcp_f32", r, d);
    if flushed {
        code.denormals(true);
    }
    code.three("v_fma_f32", e, [Minus(v(d)), Plus(v(r)), Plus(ONE)]);
    code.three("v_fma_f32", r, [Plus(v(e)), Plus(v(r)), Plus(v(r))]);
    code.vop3(Encoding::Vop2, 256, "v_mul_f32", q, [Plus(v(n)), Plus(v(r)), Plus(0)], 0);
    code.three("v_fma_f32", e, [Minus(v(d)), Plus(v(q)), Plus(v(n))]);
    code.three("v_fma_f32", q, [Plus(v(e)), Plus(v(r)), Plus(v(q))]);
    code.three("v_fma_f32", e, [Minus(v(d)), Plus(v(q)), Plus(v(n))]);
    if flushed {
        code.denormals(false);
    }
    code.three("v_div_fmas_f32", q, [Plus(v(e)), Plus(v(r)), Plus(v(q))]);
    code.three("v_div_fixup_f32", quotient, [q, denominator, numerator].map(|n| Plus(v(n))));
    code.words
}

fn division_f64(target: Target) -> Vec<u32> {
    let mut code = Code { target, words: Vec::new() };
    let [numerator, denominator] = [2, 6];
    let [d, n, r, e, q, quotient] = [10, 12, 14, 16, 18, 20];
    code.scale("v_div_scale_f64", d, 30, denominator, denominator, numerator);
    code.rcp("v_rcp_f64", r, d);
    for _ in 0..2 {
        code.three("v_fma_f64", e, [Minus(v(d)), Plus(v(r)), Plus(ONE)]);
        code.three("v_fma_f64", r, [Plus(v(r)), Plus(v(e)), Plus(v(r))]);
    }
    code.scale("v_div_scale_f64", n, VCC, numerator, denominator, numerator);
    code.three("v_mul_f64", q, [Plus(v(n)), Plus(v(r)), Plus(0)]);
    code.three("v_fma_f64", e, [Minus(v(d)), Plus(v(q)), Plus(v(n))]);
    code.three("v_div_fmas_f64", q, [Plus(v(e)), Plus(v(r)), Plus(v(q))]);
    code.three("v_div_fixup_f64", quotient, [q, denominator, numerator].map(|n| Plus(v(n))));
    code.words
}

/// The fields of a float format.
#[derive(Clone, Copy)]
struct Fields {
    fraction: u32,
    exponent: u32,
}

const F32: Fields = Fields { fraction: 23, exponent: 8 };
const F64: Fields = Fields { fraction: 52, exponent: 11 };

impl Fields {
    fn largest_exponent(self) -> u64 {
        (1 << self.exponent) - 1
    }

    fn float(self, negative: bool, exponent: u64, fraction: u64) -> u64 {
        let fraction = fraction & ((1 << self.fraction) - 1);
        u64::from(negative) << (self.fraction + self.exponent) | exponent << self.fraction | fraction
    }

    /// Returns both ends of each range of numbers, with both signs.
    fn corners(self) -> Vec<u64> {
        let top = self.largest_exponent();
        let bias = top / 2;
        let scale = if self.exponent == 8 { 96 } else { 768 };
        let tiny = u64::from(self.fraction);
        let exponents = [
            0,
            1,
            2,
            tiny - 1,
            tiny,
            tiny + 1,
            tiny + 2,
            scale,
            bias - tiny - 1,
            bias - tiny,
            bias - 1,
            bias,
            bias + 1,
            bias + tiny,
            top - scale,
            top - tiny,
            top - 4,
            top - 3,
            top - 2,
            top - 1,
        ];
        let mut all = vec![self.float(false, top, 0), self.float(false, top, 1 << (self.fraction - 1) | 5)];
        for exponent in exponents {
            all.extend([0, 1, 2, u64::MAX - 1, u64::MAX].map(|f| self.float(false, exponent, f)));
        }
        all.extend(all.clone().iter().map(|bits| bits | self.float(true, 0, 0)));
        all
    }

    /// Returns two random numbers. Their exponents have any distance, or one that is near a limit. Fractions often have
    /// few bits, so that quotients are close to ties.
    fn pair(self, random: &mut Random) -> [u64; 2] {
        let top = self.largest_exponent();
        let bits = random.next();
        let first = random.next() % top;
        let far = if self.exponent == 8 { 96 } else { 768 };
        let distance = match bits >> 8 & 3 {
            0 => 0,
            1 => far,
            // The quotient is a denormal, or half of one.
            2 => top / 2 + random.next() % u64::from(self.fraction + 3),
            _ => random.next() % top,
        };
        let near = random.next() & 3;
        let second =
            if bits >> 10 & 1 != 0 { first + distance + near } else { (first + near).wrapping_sub(distance) };
        let second = if second < top { second } else { random.next() % top };
        let fraction = |random: &mut Random| match random.next() % 4 {
            0 => random.next() & 7,
            1 => !(random.next() & 7),
            2 => (random.next() & 15) << (self.fraction - 4),
            _ => random.next(),
        };
        let (a, b) = (fraction(random), fraction(random));
        [self.float(bits & 1 != 0, first, a), self.float(bits & 2 != 0, second, b)]
    }

    /// Returns numerators and denominators: all pairs of corners, and random pairs.
    fn operands(self, seed: u64, count: usize) -> Vec<[u64; 2]> {
        let corners = self.corners();
        let mut pairs: Vec<[u64; 2]> =
            corners.iter().flat_map(|a| corners.iter().map(move |b| [*a, *b])).collect();
        let mut random = Random::new(seed);
        pairs.extend((0..count).map(|_| self.pair(&mut random)));
        pairs
    }
}

/// Divides up to one wave's number of pairs.
fn run(rig: &mut TestWave, mode: Mode, words: &[u32], pairs: &[[u64; 2]]) -> [u64; LANES] {
    rig.w.mode = mode;
    for (l, pair) in pairs.iter().enumerate() {
        for (n, value) in pair.iter().enumerate() {
            rig.w.v_mut(2 + 4 * n as u16).flat_mut()[l] = *value as u32;
            rig.w.v_mut(3 + 4 * n as u16).flat_mut()[l] = (*value >> 32) as u32;
        }
    }
    rig.run(words);
    std::array::from_fn(|l| u64::from(rig.w.v(20).flat()[l]) | u64::from(rig.w.v(21).flat()[l]) << 32)
}

/// Divides on all levels of both targets, and compares the quotients with those of `divide`.
fn check(
    fields: Fields,
    mode: Mode,
    count: usize,
    code: impl Fn(Target) -> Vec<u32>,
    divide: impl Fn(u64, u64) -> u64,
) {
    let pairs = fields.operands(41, count);
    let infinity = fields.float(false, fields.largest_exponent(), 0);
    let is_nan = |v: u64| v & (fields.float(true, 0, 0) - 1) > infinity;
    for target in Target::GFX9 {
        let words = code(target);
        for rig in &mut rigs(target) {
            for wave in pairs.chunks(LANES) {
                let got = run(rig, mode, &words, wave);
                for ([a, b], got) in wave.iter().zip(got) {
                    let (got, want) =
                        (got & ((fields.float(true, 0, 0) << 1).wrapping_sub(1)), divide(*a, *b));
                    assert!(
                        got == want || is_nan(got) && is_nan(want),
                        "{a:#x} / {b:#x} is {want:#x}, not {got:#x} on {target:?} at {:?}",
                        rig.level
                    );
                }
            }
        }
    }
}

fn quotient_f32(a: u64, b: u64) -> u64 {
    (f32::from_bits(a as u32) / f32::from_bits(b as u32)).to_bits().into()
}

#[test]
fn f32_division_is_correctly_rounded() {
    check(F32, Mode::DEFAULT, 100_000, |target| division_f32(target, false), quotient_f32);
}

/// Denormal operands and quotients count as zeros. All other quotients are as exact as with denormals.
#[test]
fn f32_division_without_denormals_is_correctly_rounded() {
    let flush = |v: u64| if v & 0x7f80_0000 == 0 { v & 0x8000_0000 } else { v };
    let divide = |a, b| flush(quotient_f32(flush(a), flush(b)));
    check(F32, Mode(0x3c0), 100_000, |target| division_f32(target, true), divide);
}

#[test]
fn f64_division_is_correctly_rounded() {
    let divide = |a, b| (f64::from_bits(a) / f64::from_bits(b)).to_bits();
    check(F64, Mode::DEFAULT, 100_000, division_f64, divide);
}

/// Tests `v_div_scale` on either side of every limit. A case has the exponents of denominator and numerator, the powers
/// of two by which they are scaled, and the flag.
#[test]
fn operands_are_scaled_within_the_limits() {
    let f32_cases = [
        ([30, 125], [0, 0], false),
        ([30, 126], [64, 0], true),
        ([0, 95], [64, 64], false),
        ([0, 96], [64, 0], true),
        ([252, 200], [0, 0], false),
        ([253, 158], [-64, -64], false),
        ([253, 157], [-64, 0], true),
        ([252, 157], [0, 0], false),
        ([252, 156], [0, 64], true),
        ([100, 24], [64, 64], false),
        ([100, 25], [0, 0], false),
        ([120, 24], [0, 64], true),
    ];
    let f64_cases = [
        ([100, 867], [0, 0], false),
        ([100, 868], [128, 0], true),
        ([0, 767], [128, 128], false),
        ([0, 768], [128, 0], true),
        ([2044, 1500], [0, 0], false),
        ([2045, 1278], [-128, -128], false),
        ([2045, 1277], [-128, 0], true),
        ([2044, 1277], [0, 0], false),
        ([2044, 1276], [0, 128], true),
        ([100, 53], [128, 128], false),
        ([100, 54], [0, 0], false),
        ([821, 53], [0, 128], true),
    ];
    for (fields, suffix, cases) in [(F32, "f32", f32_cases), (F64, "f64", f64_cases)] {
        for rig in &mut rigs(Target::Gfx90a) {
            let mut code = Code { target: rig.target, words: Vec::new() };
            let name = format!("v_div_scale_{suffix}");
            code.scale(&name, 10, 30, 6, 6, 2);
            code.scale(&name, 20, VCC, 2, 6, 2);
            let pairs = cases.map(|([d, n], ..)| [fields.float(true, n, 3), fields.float(false, d, 5)]);
            let numerators = run(rig, Mode::DEFAULT, &code.words, &pairs);
            for (l, (([d, n], [d_power, n_power], flag), [numerator, denominator])) in
                cases.into_iter().zip(pairs).enumerate()
            {
                let d_got = u64::from(rig.w.v(10).flat()[l]) | u64::from(rig.w.v(11).flat()[l]) << 32;
                let mask = (1 << (fields.fraction + fields.exponent))
                    | ((1 << (fields.fraction + fields.exponent)) - 1);
                let scaled = |v: u64, power: i32| {
                    if fields.exponent == 8 {
                        let v = f64::from(f32::from_bits(v as u32)) * 2f64.powi(power);
                        u64::from((v as f32).to_bits())
                    } else {
                        (f64::from_bits(v) * 2f64.powi(power)).to_bits()
                    }
                };
                let want = (scaled(denominator, d_power), scaled(numerator, n_power), flag, flag);
                let flags = [rig.w.s64(30), rig.w.vcc()].map(|m| m >> l & 1 != 0);
                let got = (d_got & mask, numerators[l] & mask, flags[0], flags[1]);
                assert_eq!(got, want, "{suffix} with exponents {n} / {d} at {:?}", rig.level);
            }
        }
    }
}

/// A denormal remainder is not flushed, even if the mode flushes denormals.
#[test]
fn the_last_step_keeps_denormal_remainders() {
    for rig in &mut rigs(Target::Gfx90a) {
        let mut code = Code { target: rig.target, words: Vec::new() };
        code.three("v_div_fmas_f32", 20, [Plus(v(2)), Plus(v(6)), Plus(v(10))]);
        rig.w.v_mut(10).flat_mut()[0] = 0;
        rig.w.set_s64(VCC as u16, 0);
        let got = run(rig, Mode(0x3c0), &code.words, &[[3, 2f32.powi(100).to_bits().into()]]);
        assert_eq!(f32::from_bits(got[0] as u32), 3.0 * 2f32.powi(-49));
    }
}

/// Quotients out of range are rounded as the mode says, to the end of the range or beyond.
#[test]
fn quotients_out_of_range_round_as_the_mode_says() {
    let (nan, infinity) = (f32::NAN.to_bits(), f32::INFINITY.to_bits());
    for rig in &mut rigs(Target::Gfx90a) {
        let mut code = Code { target: rig.target, words: Vec::new() };
        code.three("v_div_fixup_f32", 20, [Plus(v(10)), Plus(v(6)), Plus(v(2))]);
        let (least, most) = (f32::from_bits(1), f32::MAX);
        // For each rounding: a huge quotient, its negative, a tiny one, its negative.
        for (round, want) in [
            (0, [f32::INFINITY, f32::NEG_INFINITY, 0.0, -0.0]),
            (1, [f32::INFINITY, -most, least, -0.0]),
            (2, [most, f32::NEG_INFINITY, 0.0, -least]),
            (3, [most, -most, 0.0, -0.0]),
        ] {
            for huge in [nan, infinity] {
                rig.w.v_mut(10).flat_mut()[..4].copy_from_slice(&[huge, huge, 0, 0]);
                let [large, small] = [1e30f32, 1e-30].map(|v| u64::from(v.to_bits()));
                let minus = 1 << 31;
                let pairs = [[large, small], [large | minus, small], [small, large], [small, large | minus]];
                let got = run(rig, Mode(0x3f0 | round), &code.words, &pairs);
                let got: Vec<u32> = got[..4].iter().map(|v| *v as u32).collect();
                assert_eq!(got, want.map(f32::to_bits), "rounding {round} at {:?}", rig.level);
            }
        }
        let pairs = [[1e-30f32, 1e30].map(|v| u64::from(v.to_bits()))];
        let flushed = run(rig, Mode(0x3c1), &code.words, &pairs);
        assert_eq!(flushed[0] as u32, 0, "the least denormal is flushed");
    }
}
