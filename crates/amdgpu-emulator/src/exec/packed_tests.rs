//! Compares packed, mixed and dot-product instructions with references that compute differently: fixed-point integers
//! and searches for f16, numbers of any length (`exact`) for f32 and other roundings, wide integers for integers.
//! Covers all modifiers, operands, targets and levels.

use amdgpu_isa::{Encoding, Row, Target};

use crate::exec::level::SimdLevel;
use crate::exec::number::exact;
use crate::state::wave::{LANES, Mode};
use crate::testing::test_wave::{RDNA, Random, TestWave, operation};

crate::testing::tally::verified!(
    packed_halves,
    packed_halves_in_other_modes,
    packed_extremes_of_denormals,
    packed_integers,
    packed_singles,
    packed_moves,
    mixed_precision,
    dot_products,
    dot_product_of_halves,
    dot_product_of_bf16,
    dot_product_of_bf16_on_rdna,
    accumulation_registers_move
);

/// The fields of VOP3P.
#[derive(Debug, Clone, Copy, Default)]
struct Code {
    dst: u32,
    src: [u32; 3],
    op_sel: u32,
    op_sel_hi: u32,
    neg_lo: u32,
    neg_hi: u32,
    clamp: bool,
}

impl Code {
    fn words(self, target: Target, op: u32) -> [u32; 2] {
        let [a, b, c] = self.src;
        let rest = u32::from(self.clamp) << 15
            | (self.op_sel_hi >> 2) << 14
            | self.op_sel << 11
            | self.neg_hi << 8
            | self.dst;
        [
            Encoding::Vop3p.first_dword(target, op, rest),
            self.neg_lo << 29 | (self.op_sel_hi & 3) << 27 | c << 18 | b << 9 | a,
        ]
    }
}

/// Returns the value of an operand of two halves for a code below 256, as LLVM's `getInlineEncodingV216`.
fn constant(code: u32, float16: bool) -> u32 {
    match code {
        128..=192 => code - 128,
        193..=208 => 192u32.wrapping_sub(code),
        _ => {
            let value = [0.5, -0.5, 1.0, -1.0, 2.0, -2.0, 4.0, -4.0][code as usize - 240];
            if float16 { u32::from(half::f16::from_f32(value).to_bits()) } else { value.to_bits() }
        }
    }
}

/// Codes of inline constants.
const CONSTANTS: [u32; 13] = [128, 129, 192, 193, 208, 240, 241, 242, 243, 244, 245, 246, 247];

/// Returns a random instruction. Operands are VGPRs 0..24, at most one SGPR (0..16), and constants.
fn random_code(random: &mut Random, sources: usize) -> Code {
    let bits = random.next();
    let mut code = Code { dst: (bits & 7) as u32 * 2, ..Code::default() };
    if bits >> 8 & 1 == 0 {
        code.op_sel_hi = 7;
    } else {
        (code.op_sel, code.op_sel_hi) = ((bits >> 9 & 7) as u32, (bits >> 12 & 7) as u32);
    }
    if bits >> 15 & 3 == 0 {
        (code.neg_lo, code.neg_hi) = ((bits >> 17 & 7) as u32, (bits >> 20 & 7) as u32);
    }
    code.clamp = bits >> 23 & 3 == 0;
    for n in 0..sources {
        let bits = random.next();
        code.src[n] = match bits % 6 {
            0 => (bits >> 8 & 7) as u32 * 2,
            1 => CONSTANTS[(bits >> 8) as usize % CONSTANTS.len()],
            _ => 256 + (bits >> 8 & 7) as u32 * 2,
        };
    }
    code
}

/// Returns the bits of a random f16 of any kind.
fn random_half(random: &mut Random) -> u16 {
    const CORNERS: [u16; 16] = [
        0, 0x8000, 1, 0x8001, 0x3ff, 0x400, 0x8400, 0x3c00, 0xbc00, 0x7bff, 0xfbff, 0x7c00, 0xfc00, 0x7e00,
        0xfe01, 0x3bff,
    ];
    let bits = random.next();
    match bits & 7 {
        0 => CORNERS[(bits >> 3 & 15) as usize],
        // Near 1, where sums round.
        1..=3 => 0x3800 + (bits >> 8 & 0x7ff) as u16 | (bits >> 32 & 0x8000) as u16,
        _ => {
            (bits >> 8) as u16 & !0x0200
                | if bits >> 8 & 0x7c00 == 0x7c00 { 0x200 } else { bits as u16 >> 3 & 0x200 }
        }
    }
}

/// Returns the bits of a random f32 of any kind, or two interesting halves.
fn random_single(random: &mut Random) -> u32 {
    let bits = random.next();
    match bits & 7 {
        0 => [0, 1 << 31, 1, 0x7f80_0000, 0xff80_0000, 0x7fc0_0000, 0x7f7f_ffff, 0x0080_0000]
            [(bits >> 3 & 7) as usize],
        1..=4 => ((bits >> 16) as u32 & 0x807f_ffff) | (120 + (bits >> 8 & 15) as u32) << 23,
        _ => {
            let x = (bits >> 16) as u32;
            if f32::from_bits(x).is_nan() { x | 1 << 22 } else { x }
        }
    }
}

/// The test of one instruction.
struct Case<'a> {
    /// The name, or that of the operation on gfx9: gfx12 has another one for `v_pk_min_f16`.
    name: &'a str,
    sources: usize,
    fill: &'a dyn Fn(&mut Random) -> u32,
    /// Returns the expected dwords of a lane, given a function that reads the lane's registers, and the previous
    /// destination.
    want: &'a dyn Fn(Code, &dyn Fn(u32, bool) -> u32, [u32; 2]) -> Vec<u32>,
    /// Whether two results (dwords) count as the same.
    same: &'a dyn Fn(u32, u32) -> bool,
    mode: u32,
}

/// Returns waves at each SIMD level that the host has, on RDNA of both sizes.
fn waves(target: Target) -> Vec<TestWave> {
    let levels = || SimdLevel::ALL.into_iter().filter(|level| level.is_available());
    let large = levels().map(|level| TestWave::new(target, level));
    let small = levels().filter(|_| target.is_rdna()).map(|level| TestWave::wave32(target, level));
    large.chain(small).collect()
}

fn check(case: &Case, random: &mut Random) {
    check_on(&Target::VERIFIED, case, random);
}

fn check_on(targets: &[Target], case: &Case, random: &mut Random) {
    for &target in targets {
        // Some are gfx950's alone.
        let named = |row: &&Row| row.name == case.name || operation(row) == case.name;
        let mut rows = Encoding::Vop3p.rows().iter().filter(named);
        let Some(op) = rows.find_map(|row| row.opcode(target)).map(u32::from) else { continue };
        for mut rig in waves(target) {
            let level = rig.level;
            rig.w.mode = Mode(case.mode);
            for _ in 0..60 {
                let code = random_code(random, case.sources);
                for r in 0..24 {
                    for l in 0..LANES {
                        rig.w.v_mut(r).flat_mut()[l] = (case.fill)(random);
                    }
                }
                for s in 0..24 {
                    rig.w.set_s32(s, (case.fill)(random));
                }
                let exec = if random.next() % 2 == 0 { !0 } else { random.next() };
                rig.w.set_exec(exec);
                let before: Vec<[u32; LANES]> = (0..24).map(|r| *rig.w.v(r).flat()).collect();
                let scalars: Vec<u32> = (0..24).map(|s| rig.w.s32(s)).collect();
                rig.run(&code.words(target, op));
                for l in 0..rig.lanes() {
                    let read = |source: u32, float16: bool| match source {
                        256.. => before[source as usize - 256][l],
                        128.. => constant(source, float16),
                        _ => scalars[source as usize],
                    };
                    let at = code.dst as usize;
                    let old = [before[at][l], before[at + 1][l]];
                    let want = (case.want)(code, &read, old);
                    let want = if exec >> l & 1 != 0 { want } else { old[..want.len()].to_vec() };
                    for (d, want) in want.iter().enumerate() {
                        let got = rig.w.v((at + d) as u16).flat()[l];
                        let same = if exec >> l & 1 != 0 { (case.same)(got, *want) } else { got == *want };
                        assert!(
                            same,
                            "{} {target:?} {level:?} {code:x?} lane {l}: {got:#010x}, not {want:#010x}",
                            case.name
                        );
                    }
                }
            }
        }
    }
}

/// Returns the two halves of a source, with modifiers applied.
fn halves(code: Code, n: usize, x: u32, float: bool) -> [u16; 2] {
    let pick = |sel: u32, neg: u32| {
        let half = if sel >> n & 1 != 0 { (x >> 16) as u16 } else { x as u16 };
        if float && neg >> n & 1 != 0 { half ^ 0x8000 } else { half }
    };
    [pick(code.op_sel, code.neg_lo), pick(code.op_sel_hi, code.neg_hi)]
}

fn half_value(x: u16) -> f64 {
    half::f16::from_bits(x).to_f64()
}

/// Returns the f16 that is nearest to `x` units of 2^-48, ties to even, found by a search among all f16.
fn nearest_half(x: i128) -> u16 {
    let value = |bits: u16| (half_value(bits) * 2f64.powi(48)) as i128;
    let magnitude = x.abs();
    let sign = if x < 0 { 0x8000 } else { 0 };
    // The largest f16 that is not above.
    let (mut low, mut high) = (0u16, 0x7c00);
    while high - low > 1 {
        let mid = low.midpoint(high);
        if value(mid) <= magnitude { low = mid } else { high = mid }
    }
    // The number after the largest f16 is infinity.
    let above = if high == 0x7c00 { 65536i128 << 48 } else { value(high) };
    let (down, up) = (magnitude - value(low), above - magnitude);
    let bits = if up < down || up == down && low & 1 != 0 { high } else { low };
    sign | bits
}

fn fma_half(a: u16, b: u16, c: u16) -> u16 {
    let [x, y, z] = [a, b, c].map(half_value);
    let special = x * y + z;
    if !x.is_finite() || !y.is_finite() || !z.is_finite() {
        return half::f16::from_f64(special).to_bits();
    }
    let fixed = |v: f64, places: i32| (v * 2f64.powi(places)) as i128;
    let exact = fixed(x, 24) * fixed(y, 24) + fixed(z, 48);
    if exact == 0 {
        // The sum of two zeros, or of opposites.
        return half::f16::from_f64(special).to_bits();
    }
    nearest_half(exact)
}

fn unit_half(x: u16) -> u16 {
    let value = half_value(x);
    match value {
        v if v.is_nan() || v <= 0.0 => 0,
        v if v > 1.0 => 0x3c00,
        _ => x,
    }
}

fn same_halves(a: u32, b: u32) -> bool {
    let same = |x: u16, y: u16| x == y || half_value(x).is_nan() && half_value(y).is_nan();
    same(a as u16, b as u16) && same((a >> 16) as u16, (b >> 16) as u16)
}

fn packed_halves() {
    let mut random = Random::new(3);
    let minimum = |a: u16, b: u16, least: bool| {
        let (x, y) = (half_value(a), half_value(b));
        match (x.is_nan(), y.is_nan()) {
            (true, _) => b,
            (_, true) => a,
            // Zeros are ordered by their signs.
            _ if x == 0.0 && y == 0.0 => {
                if (a >= 0x8000) == least {
                    a
                } else {
                    b
                }
            }
            _ => {
                if (x < y) == least {
                    a
                } else {
                    b
                }
            }
        }
    };
    // The order of IEEE 754-2019's minimum and maximum: a NaN is the result, and zeros are ordered by their signs.
    let extreme = |v: [u16; 3], least: bool| {
        if let Some(nan) = v.into_iter().find(|x| half_value(*x).is_nan()) {
            return nan | 0x200;
        }
        let before = |a: u16, b: u16| half::f16::from_bits(a).total_cmp(&half::f16::from_bits(b));
        let ordered = |a: &u16, b: &u16| before(*a, *b);
        if least { v.into_iter().min_by(ordered).unwrap() } else { v.into_iter().max_by(ordered).unwrap() }
    };
    type Op<'a> = (&'a str, usize, &'a dyn Fn([u16; 3]) -> u16);
    let ops: [Op; 9] = [
        ("v_pk_minimum_f16", 2, &|v| extreme([v[0], v[1], v[1]], true)),
        ("v_pk_maximum_f16", 2, &|v| extreme([v[0], v[1], v[1]], false)),
        ("v_pk_minimum3_f16", 3, &|v| extreme(v, true)),
        ("v_pk_maximum3_f16", 3, &|v| extreme(v, false)),
        ("v_pk_fma_f16", 3, &|v| fma_half(v[0], v[1], v[2])),
        ("v_pk_add_f16", 2, &|v| fma_half(v[0], 0x3c00, v[1])),
        ("v_pk_mul_f16", 2, &|v| {
            let negative = (v[0] ^ v[1]) & 0x8000;
            fma_half(v[0], v[1], negative)
        }),
        ("v_pk_min_f16", 2, &|v| minimum(v[0], v[1], true)),
        ("v_pk_max_f16", 2, &|v| minimum(v[0], v[1], false)),
    ];
    for (name, sources, f) in ops {
        let case = Case {
            name,
            sources,
            fill: &|r| u32::from(random_half(r)) | u32::from(random_half(r)) << 16,
            want: &|code, read, _| {
                let v = [0, 1, 2].map(|n| {
                    if n < sources { halves(code, n, read(code.src[n], true), true) } else { [0; 2] }
                });
                let d = [0, 1].map(|k| {
                    let d = f([v[0][k], v[1][k], v[2][k]]);
                    u32::from(if code.clamp { unit_half(d) } else { d })
                });
                vec![d[0] | d[1] << 16]
            },
            same: &same_halves,
            mode: 0x3f0,
        };
        check(&case, &mut random);
    }
}

fn packed_halves_in_other_modes() {
    let mut random = Random::new(4);
    type Op<'a> = (&'a str, usize, &'a dyn Fn(u32, [u64; 3]) -> u64);
    let ops: [Op; 3] = [
        ("v_pk_fma_f16", 3, &|round, v| exact::fma(16, round, v[0], v[1], v[2])),
        ("v_pk_mul_f16", 2, &|round, v| exact::mul(16, round, v[0], v[1])),
        ("v_pk_add_f16", 2, &|round, v| exact::add(16, round, v[0], v[1])),
    ];
    // Rounding of f16 up, down, to zero; denormals flushed, or kept in sources alone.
    for (mode, (name, sources, f)) in
        [0x3f4, 0x3f8, 0x3fc, 0x330, 0x370, 0x3b0].into_iter().flat_map(|mode| ops.map(|op| (mode, op)))
    {
        let m = Mode(mode);
        let case = Case {
            name,
            sources,
            fill: &|r| u32::from(random_half(r)) | u32::from(random_half(r)) << 16,
            want: &|code, read, _| {
                let flush = |x: u16, keep: u32| if keep == 0 && x & 0x7c00 == 0 { x & 0x8000 } else { x };
                let v = [0, 1, 2].map(|n| {
                    if n < sources { halves(code, n, read(code.src[n], true), true) } else { [0; 2] }
                });
                let d = [0, 1].map(|k| {
                    let v = v.map(|v| u64::from(flush(v[k], m.denorm64() & 1)));
                    let d = flush(f(m.round64(), v) as u16, m.denorm64() & 2);
                    u32::from(if code.clamp { unit_half(d) } else { d })
                });
                vec![d[0] | d[1] << 16]
            },
            same: &same_halves,
            mode,
        };
        check(&case, &mut random);
    }
}

/// On RDNA, a mode that keeps denormals of sources keeps those of results (RDNA3 ISA, notes of `V_MIN_F32`; RDNA4 ISA, of
/// `V_MIN_NUM_F32`).
fn packed_extremes_of_denormals() {
    let mut random = Random::new(18);
    for (targets, keeps) in [(&Target::GFX9[..], false), (&RDNA, true)] {
        for (name, least) in [("v_pk_min_f16", true), ("v_pk_max_f16", false)] {
            let case = Case {
                name,
                sources: 2,
                fill: &|r| (r.next() as u32) & 0x83ff_83ff | 0x0001_0001,
                want: &|code, read, _| {
                    let v = [0, 1].map(|n| halves(code, n, read(code.src[n], true), true));
                    let d = [0, 1].map(|k| {
                        let (a, b) = (v[0][k], v[1][k]);
                        let order = half::f16::from_bits(a).total_cmp(&half::f16::from_bits(b));
                        // The constant -1 is a NaN.
                        let d = match (half_value(a).is_nan(), half_value(b).is_nan()) {
                            (true, _) => b,
                            (_, true) => a,
                            _ if order.is_lt() == least => a,
                            _ => b,
                        };
                        let d = if keeps || d & 0x7c00 != 0 { d } else { d & 0x8000 };
                        u32::from(if code.clamp { unit_half(d) } else { d })
                    });
                    vec![d[0] | d[1] << 16]
                },
                same: &same_halves,
                mode: 0x370,
            };
            check_on(targets, &case, &mut random);
        }
    }
}

fn packed_integers() {
    let mut random = Random::new(5);
    // Wide results, and whether they are signed, and saturate.
    type Op<'a> = (&'a str, usize, bool, bool, &'a dyn Fn([i64; 3]) -> i64);
    let ops: [Op; 14] = [
        ("v_pk_mad_i16", 3, true, true, &|v| v[0] * v[1] + v[2]),
        ("v_pk_mad_u16", 3, false, true, &|v| v[0] * v[1] + v[2]),
        ("v_pk_add_i16", 2, true, true, &|v| v[0] + v[1]),
        ("v_pk_add_u16", 2, false, true, &|v| v[0] + v[1]),
        ("v_pk_sub_i16", 2, true, true, &|v| v[0] - v[1]),
        ("v_pk_sub_u16", 2, false, true, &|v| v[0] - v[1]),
        ("v_pk_mul_lo_u16", 2, false, false, &|v| v[0] * v[1]),
        ("v_pk_max_i16", 2, true, false, &|v| v[0].max(v[1])),
        ("v_pk_min_i16", 2, true, false, &|v| v[0].min(v[1])),
        ("v_pk_max_u16", 2, false, false, &|v| v[0].max(v[1])),
        ("v_pk_min_u16", 2, false, false, &|v| v[0].min(v[1])),
        ("v_pk_lshlrev_b16", 2, false, false, &|v| v[1] << (v[0] % 16)),
        ("v_pk_lshrrev_b16", 2, false, false, &|v| v[1] / (1 << (v[0] % 16))),
        ("v_pk_ashrrev_i16", 2, true, false, &|v| v[1].div_euclid(1 << v[0].rem_euclid(16))),
    ];
    for (name, sources, signed, saturates, f) in ops {
        let case = Case {
            name,
            sources,
            fill: &|r| r.int() as u32,
            want: &|code, read, _| {
                let v = [0, 1, 2].map(|n| {
                    if n < sources { halves(code, n, read(code.src[n], false), false) } else { [0; 2] }
                });
                let d = [0, 1].map(|k| {
                    let wide = |x: u16| if signed { i64::from(x as i16) } else { i64::from(x) };
                    let d = f(v.map(|v| wide(v[k])));
                    let (least, most) = if signed { (-0x8000, 0x7fff) } else { (0, 0xffff) };
                    let d = if code.clamp && saturates { d.clamp(least, most) } else { d };
                    u32::from(d as u16)
                });
                vec![d[0] | d[1] << 16]
            },
            same: &|a, b| a == b,
            mode: 0x3f0,
        };
        check(&case, &mut random);
    }
}

fn same_single(a: u32, b: u32) -> bool {
    a == b || f32::from_bits(a).is_nan() && f32::from_bits(b).is_nan()
}

fn unit_single(x: u32) -> u32 {
    match f32::from_bits(x) {
        v if v.is_nan() || v <= 0.0 => 0,
        v if v > 1.0 => 1f32.to_bits(),
        _ => x,
    }
}

fn flush_single(x: u32, keep: u32) -> u32 {
    if keep == 0 && x & 0x7f80_0000 == 0 { x & 0x8000_0000 } else { x }
}

fn packed_singles() {
    let mut random = Random::new(6);
    type Op<'a> = (&'a str, usize, &'a dyn Fn(u32, [u64; 3]) -> u64);
    let ops: [Op; 3] = [
        ("v_pk_fma_f32", 3, &|round, v| exact::fma(32, round, v[0], v[1], v[2])),
        ("v_pk_mul_f32", 2, &|round, v| exact::mul(32, round, v[0], v[1])),
        ("v_pk_add_f32", 2, &|round, v| exact::add(32, round, v[0], v[1])),
    ];
    for (name, sources, f) in ops {
        for mode in [0x3f0, 0x3f1, 0x3f3, 0x3c0, 0x3d2] {
            let m = Mode(mode);
            let case = Case {
                name,
                sources,
                fill: &random_single,
                want: &|code, read, _| {
                    let get = |n: usize, sel: u32, neg: u32| {
                        let source = code.src[n];
                        let high = sel >> n & 1;
                        let x = match source {
                            128..=255 if high != 0 => {
                                // The high dword of a constant: its sign if it is an integer.
                                if source < 240 && source > 192 { u32::MAX } else { 0 }
                            }
                            128..=255 => read(source, false),
                            _ => read(source + high, false),
                        };
                        flush_single(x ^ (neg >> n & 1) << 31, m.denorm32() & 1)
                    };
                    [(code.op_sel, code.neg_lo), (code.op_sel_hi, code.neg_hi)]
                        .map(|(sel, neg)| {
                            let v =
                                [0, 1, 2].map(|n| if n < sources { u64::from(get(n, sel, neg)) } else { 0 });
                            let d = f(m.round32(), v) as u32;
                            let d = flush_single(d, m.denorm32() & 2);
                            if code.clamp { unit_single(d) } else { d }
                        })
                        .to_vec()
                },
                same: &same_single,
                mode,
            };
            check(&case, &mut random);
        }
    }
}

fn packed_moves() {
    let mut random = Random::new(8);
    let case = Case {
        name: "v_pk_mov_b32",
        sources: 2,
        fill: &|r| r.next() as u32,
        want: &|code, read, _| {
            let get = |n: usize| {
                let (source, high) = (code.src[n], code.op_sel >> n & 1);
                match source {
                    128..=255 if high != 0 => {
                        if source < 240 && source > 192 {
                            u32::MAX
                        } else {
                            0
                        }
                    }
                    128..=255 => read(source, false),
                    _ => read(source + high, false),
                }
            };
            vec![get(0), get(1)]
        },
        same: &|a, b| a == b,
        mode: 0x3f0,
    };
    check(&case, &mut random);
}

fn mixed_precision() {
    let mut random = Random::new(9);
    for (name, to) in [("v_fma_mix_f32", 0), ("v_fma_mixlo_f16", 1), ("v_fma_mixhi_f16", 2)] {
        for mode in [0x3f0, 0x3f4, 0x3ff, 0x300] {
            let m = Mode(mode);
            let case = Case {
                name,
                sources: 3,
                fill: &|r| {
                    if r.next() % 2 == 0 {
                        return random_single(r);
                    }
                    u32::from(random_half(r)) | u32::from(random_half(r)) << 16
                },
                want: &|code, read, old| {
                    let v = [0, 1, 2].map(|n| {
                        let is_half = code.op_sel_hi >> n & 1 != 0;
                        let x = read(code.src[n], is_half);
                        let x = if is_half {
                            let half = if code.op_sel >> n & 1 != 0 { (x >> 16) as u16 } else { x as u16 };
                            let keep = m.denorm64() & 1 != 0 || half & 0x7c00 != 0;
                            let half = if keep { half } else { half & 0x8000 };
                            half::f16::from_bits(half).to_f32().to_bits()
                        } else {
                            flush_single(x, m.denorm32() & 1)
                        };
                        let x = if code.neg_hi >> n & 1 != 0 { x & 0x7fff_ffff } else { x };
                        u64::from(x ^ (code.neg_lo >> n & 1) << 31)
                    });
                    let d = exact::fma(32, m.round32(), v[0], v[1], v[2]) as u32;
                    let d = flush_single(d, m.denorm32() & 2);
                    let d = if code.clamp { unit_single(d) } else { d };

                    let half = exact::convert(32, 16, m.round64(), u64::from(d)) as u32;
                    let keep = m.denorm64() & 2 != 0 || half & 0x7c00 != 0;
                    let half = if keep { half } else { half & 0x8000 };
                    vec![match to {
                        0 => d,
                        1 => old[0] & 0xffff_0000 | half,
                        _ => old[0] & 0xffff | half << 16,
                    }]
                },
                same: &|a, b| {
                    if to == 0 { same_single(a, b) } else { same_halves(a, b) }
                },
                mode,
            };
            check(&case, &mut random);
        }
    }
}

fn dot_products() {
    let mut random = Random::new(10);
    for (name, bits, signed) in [
        ("v_dot2_i32_i16", 16, true),
        ("v_dot2_u32_u16", 16, false),
        ("v_dot4_i32_i8", 8, true),
        ("v_dot4_u32_u8", 8, false),
        ("v_dot8_i32_i4", 4, true),
        ("v_dot8_u32_u4", 4, false),
    ] {
        let case = Case {
            name,
            sources: 3,
            fill: &|r| r.int() as u32,
            want: &|code, read, _| {
                let [mut a, mut b, c] = code.src.map(|s| read(s, false));
                if bits == 16 {
                    let join = |[lo, hi]: [u16; 2]| u32::from(lo) | u32::from(hi) << 16;
                    (a, b) = (join(halves(code, 0, a, false)), join(halves(code, 1, b, false)));
                }
                let wide = |x: u32, bits: u32| {
                    let x = i128::from(x) & ((1 << bits) - 1);
                    if signed && x >> (bits - 1) != 0 { x - (1 << bits) } else { x }
                };
                let sum: i128 = (0..32 / bits)
                    .map(|n| wide(a >> (n * bits), bits) * wide(b >> (n * bits), bits))
                    .sum::<i128>()
                    + wide(c, 32);
                let (least, most) =
                    if signed { (i128::from(i32::MIN), i128::from(i32::MAX)) } else { (0, u32::MAX.into()) };
                vec![(if code.clamp { sum.clamp(least, most) } else { sum }) as u32]
            },
            same: &|a, b| a == b,
            mode: 0x3f0,
        };
        check(&case, &mut random);
    }
}

/// The source is CDNA2 ISA, 6.4, and CDNA3 ISA, 6.4: floating-point `V_DOT2` instructions don't support denormal and
/// rounding modes, and flush denormal inputs and outputs. LLVM's `SITargetLowering::performFMACombine` says the same of
/// the f32 operand and the result. (PyTorch's notes name MI200 alone; they are older than MI300.) On RDNA the product of the first
/// pair is added first (RDNA3.5 and RDNA4 ISA, `V_DOT2_F32_F16`), and on gfx12 inline constants are in both halves (RDNA4 ISA, 7.2.2).
fn dot_product_of_halves() {
    let mut random = Random::new(12);
    // Which product is first, and whether inline constants are in both halves.
    let orders: [(&[Target], [usize; 2], bool); 3] = [
        (&Target::GFX9, [1, 0], false),
        (&[Target::Gfx11, Target::Gfx115, Target::Gfx103], [0, 1], false),
        (&[Target::Gfx12], [0, 1], true),
    ];
    for (mode, (targets, [first, second], replicates)) in
        [0x3f0, 0x3f2, 0x300, 0x3ff].into_iter().flat_map(|mode| orders.map(|order| (mode, order)))
    {
        let case = Case {
            name: "v_dot2_f32_f16",
            sources: 3,
            fill: &|r| {
                if r.next() % 2 == 0 {
                    return random_single(r);
                }
                u32::from(random_half(r)) | u32::from(random_half(r)) << 16
            },
            want: &|code, read, _| {
                let [a, b] = [0, 1].map(|n| {
                    let x = read(code.src[n], true);
                    let is_inline = matches!(code.src[n], 128..=208 | 240..=248);
                    let x = if replicates && is_inline { x & 0xffff | x << 16 } else { x };
                    halves(code, n, x, true).map(|half| {
                        let half = if half & 0x7c00 != 0 { half } else { half & 0x8000 };
                        u64::from(half::f16::from_bits(half).to_f32().to_bits())
                    })
                });
                let c = read(code.src[2], false) ^ (code.neg_lo >> 2) << 31;
                let fma =
                    |a: u64, b: u64, c: u32| flush_single(exact::fma(32, 0, a, b, u64::from(c)) as u32, 0);
                let d = fma(a[second], b[second], fma(a[first], b[first], flush_single(c, 0)));
                vec![if code.clamp { unit_single(d) } else { d }]
            },
            same: &same_single,
            mode,
        };
        check_on(targets, &case, &mut random);
    }
}

fn dot_product_of_bf16() {
    let mut random = Random::new(14);
    // Inline constants are bf16 in the low half.
    let operand = |source: u32, x: u32| match source {
        240..=248 => constant(source, false) >> 16,
        _ => x,
    };
    for mode in [0x3f0, 0x3f2, 0x300] {
        let m = Mode(mode);
        let case = Case {
            name: "v_dot2_f32_bf16",
            sources: 3,
            fill: &|r| {
                if r.next() % 2 == 0 {
                    return random_single(r);
                }
                // Denormals, too.
                random_single(r) >> 16 | (r.next() as u32 & 0x807f) << 16
            },
            want: &|code, read, _| {
                let [a, b] = [0, 1].map(|n| {
                    let source = operand(code.src[n], read(code.src[n], false));
                    halves(code, n, source, true)
                        .map(|half| u64::from(flush_single(u32::from(half) << 16, m.denorm32() & 1)))
                });
                // Modifiers do not affect the third source. Each step is rounded.
                let c = flush_single(read(code.src[2], false), m.denorm32() & 1);
                let flush = |d: u64| flush_single(d as u32, m.denorm32() & 2);
                let low = flush(exact::mul(32, m.round32(), a[0], b[0]));
                let both = flush(exact::fma(32, m.round32(), a[1], b[1], u64::from(low)));
                let d = flush(exact::add(32, m.round32(), u64::from(both), u64::from(c)));
                vec![if code.clamp { unit_single(d) } else { d }]
            },
            same: &same_single,
            mode,
        };
        check_on(&Target::GFX9, &case, &mut random);
    }
}

/// On RDNA the third source comes first, and has a sign.
fn dot_product_of_bf16_on_rdna() {
    let mut random = Random::new(16);
    for mode in [0x3f0, 0x3f2, 0x300] {
        let m = Mode(mode);
        let case = Case {
            name: "v_dot2_f32_bf16",
            sources: 3,
            fill: &|r| random_single(r) >> 16 | random_single(r) & 0xffff_0000,
            want: &|code, read, _| {
                let [a, b] = [0, 1].map(|n| {
                    let x = read(code.src[n], false);
                    // Inline constants are in both halves.
                    let both = |x: u32| x & 0xffff | x << 16;
                    let x = match code.src[n] {
                        240..=248 => both(x >> 16),
                        128..=208 => both(x),
                        _ => x,
                    };
                    halves(code, n, x, true)
                        .map(|half| u64::from(flush_single(u32::from(half) << 16, m.denorm32() & 1)))
                });
                let c = read(code.src[2], false) ^ (code.neg_lo >> 2) << 31;
                let step = |n: usize, c: u32| {
                    let sum = exact::fma(32, m.round32(), a[n], b[n], u64::from(c));
                    flush_single(sum as u32, m.denorm32() & 2)
                };
                let d = step(1, step(0, flush_single(c, m.denorm32() & 1)));
                vec![if code.clamp { unit_single(d) } else { d }]
            },
            same: &same_single,
            mode,
        };
        check_on(&RDNA, &case, &mut random);
    }
}

fn accumulation_registers_move() {
    let mut random = Random::new(13);
    for target in Target::GFX9 {
        for level in SimdLevel::ALL.into_iter().filter(|level| level.is_available()) {
            let mut rig = TestWave::new(target, level);
            for _ in 0..60 {
                let exec = if random.next() % 4 == 0 { !0 } else { random.next() };
                rig.w.set_exec(exec);
                let mut model: Vec<[u32; LANES]> = Vec::new();
                for r in (0..12).chain(256..268) {
                    let lanes = std::array::from_fn(|_| random.next() as u32);
                    *rig.w.v_mut(r).flat_mut() = lanes;
                    model.push(lanes);
                }
                let scalar = random.next() as u32;
                rig.w.set_s32(4, scalar);
                let [p, q, r, s, t, u] = std::array::from_fn(|_| random.next() as u32 % 12);
                // v_accvgpr_write_b32 a[p], v[q] or s4 or a constant; v_accvgpr_mov_b32 a[r], a[s];
                // v_accvgpr_read_b32 v[t], a[u], as llvm-mc encodes a3, s4; a5, a3; v9, a5.
                let (source, value) = match random.next() % 4 {
                    0 => (4, [scalar; LANES]),
                    1 => (193, [u32::MAX; LANES]),
                    _ => (256 + q, model[q as usize]),
                };
                rig.run(&[
                    0xd3d9_4000 | p,
                    0x1800_0000 | source,
                    0x7e00_a500 | r << 17 | s,
                    0xd3d8_4000 | t,
                    0x1800_0100 | u,
                ]);
                let copy = |model: &mut Vec<[u32; LANES]>, to: u32, from: [u32; LANES]| {
                    for lane in (0..LANES).filter(|lane| exec >> lane & 1 != 0) {
                        model[to as usize][lane] = from[lane];
                    }
                };
                copy(&mut model, 12 + p, value);
                let moved = model[12 + s as usize];
                copy(&mut model, 12 + r, moved);
                let read = model[12 + u as usize];
                copy(&mut model, t, read);
                for (r, lanes) in (0..12).chain(256..268).zip(&model) {
                    assert_eq!(rig.w.v(r).flat(), lanes, "{target:?} {level:?} register {r}");
                }
            }
        }
    }
}
