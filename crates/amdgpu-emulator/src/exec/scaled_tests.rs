//! Runs every `v_cvt_scalef32_*` with random operands and modifiers, and compares it with conversions that search among
//! all numbers of a format.

use amdgpu_isa::{Encoding, Row, Target};

use crate::exec::valu_tests::narrow::{BF6, BF8, BF16, F16, FP4, FP6, FP8, Format};
use crate::exec::valu_tests::rigs;
use crate::state::wave::{LANES, Mode};
use crate::testing::test_wave::{Random, TestWave};

crate::testing::tally::verified!(conversions_with_a_scale);

/// The registers of the sources, and of the destination. A source has at most 32, the destination too.
const SRC: [u16; 3] = [40, 80, 120];
const DST: u16 = 160;
const SGPR: u16 = 30;

/// Returns the format of a name; `None` for f32.
fn format(name: &str) -> Option<Format> {
    match name {
        "f32" => None,
        "f16" => Some(F16),
        "bf16" => Some(BF16),
        "fp8" => Some(FP8),
        "bf8" => Some(BF8),
        "fp6" => Some(FP6),
        "bf6" => Some(BF6),
        "fp4" => Some(FP4),
        _ => panic!("no format {name}"),
    }
}

fn bits_of(format: Option<Format>) -> usize {
    format.map_or(32, |format| format.bits as usize)
}

fn value(format: Option<Format>, code: u32) -> f64 {
    format.map_or_else(|| f64::from(f32::from_bits(code)), |format| format.value(code))
}

/// Returns the bits of dwords, the lowest first.
fn string(dwords: &[u32]) -> Vec<bool> {
    dwords.iter().flat_map(|dword| (0..32).map(move |n| dword >> n & 1 != 0)).collect()
}

fn number(bits: &[bool]) -> u32 {
    bits.iter().rev().fold(0, |all, bit| all << 1 | u32::from(*bit))
}

/// Returns a seed's successors, the seed first (CDNA4 ISA, `V_PRNG_B32`).
fn seeds(seed: u32) -> impl Iterator<Item = u32> {
    std::iter::successors(Some(seed), |seed| Some((seed << 1) ^ (seed >> 31) * 0xc5))
}

/// What the instruction has to write: for each part of the destination, its first bit, the bits of the result, and its
/// format.
struct Expected {
    at: usize,
    code: u32,
    format: Option<Format>,
}

struct Case<'a> {
    row: &'a Row,
    /// The dwords of the sources, with abs and neg not yet applied.
    sources: [Vec<u32>; 3],
    abs: u32,
    neg: u32,
    op_sel: u32,
    mode: Mode,
}

impl Case<'_> {
    /// Returns the elements of the source as codes, in the order of the result's.
    fn elements(&self, from: Option<Format>, shape: &str) -> Vec<u32> {
        let size = bits_of(from);
        let [first, second, _] = self.sources.each_ref().map(|dwords| string(dwords));
        let part = |bits: &[bool], at: usize| number(&bits[at..at + size]);
        let signed = |code: u32, source: u32| {
            let sign = 1 << (size - 1);
            let code = if self.abs >> source & 1 != 0 { code & !sign } else { code };
            if self.neg >> source & 1 != 0 { code ^ sign } else { code }
        };
        match (shape, size) {
            ("2xpk16", _) => (0..16).flat_map(|n| [part(&first, 32 * n), part(&second, 32 * n)]).collect(),
            ("pk32" | "sr_pk32", _) => (0..32).map(|n| part(&first, size * n)).collect(),
            // Two sources, or a pair.
            ("pk", 32) => vec![signed(part(&first, 0), 0), signed(part(&second, 0), 1)],
            ("sr_pk", 32) => vec![signed(part(&first, 0), 0), signed(part(&first, 32), 0)],
            ("pk" | "sr_pk", 16) => vec![signed(part(&first, 0), 0), signed(part(&first, 16), 0)],
            ("pk", 8) => {
                let at = 16 * (self.op_sel as usize & 1);
                vec![part(&first, at), part(&first, at + 8)]
            }
            ("pk", 4) => {
                let at = 8 * (self.op_sel as usize & 3);
                vec![part(&first, at), part(&first, at + 4)]
            }
            (_, 8) => vec![part(&first, 8 * (self.op_sel as usize & 3))],
            (_, 16) => vec![signed(part(&first, 16 * (self.op_sel as usize & 1)), 0)],
            (_, 32) => vec![signed(part(&first, 0), 0)],
            _ => panic!("{}", self.row.name),
        }
    }

    fn expected(&self) -> Vec<Expected> {
        let name = self.row.name.strip_prefix("v_cvt_scalef32_").unwrap();
        let parts: Vec<&str> = name.split('_').collect();
        let (shape, [to, from]) = parts.split_last_chunk::<2>().unwrap();
        let shape = shape.join("_");
        let [to, from] = [to, from].map(|name| format(name));
        let is_random = shape.starts_with("sr");
        let scale_source = if is_random || self.row.src[2].dwords() > 0 { 2 } else { 1 };
        let exponent = self.sources[scale_source][0] >> 23 & 0xff;
        let scale = 2f64.powi(exponent as i32 - 127);
        let saturates = self.mode.0 >> 23 & 1 != 0;
        let flushes = self.mode.0 >> 4 & 1 == 0;
        let to_small = bits_of(to) < 16;
        // The first bit of the destination that is written.
        let first = match (shape.as_str(), bits_of(to)) {
            ("pk" | "sr_pk", 4) | ("sr", 8) => 8 * (self.op_sel >> 2),
            ("pk", 8) | ("", 16) => 16 * (self.op_sel >> 3),
            _ => 0,
        };
        let seed = if is_random { self.sources[1][0] } else { 0 };
        let elements = self.elements(from, &shape);
        let each = elements.into_iter().zip(seeds(seed)).enumerate();
        each.map(|(n, (code, seed))| {
            let mut v = value(from, code);
            let negative = v.is_sign_negative();
            if from.is_none() && flushes && (v as f32).is_subnormal() {
                v = 0f64.copysign(v);
            }
            v = if to_small { v / scale } else { v * scale };
            if exponent == 255 {
                v = f64::NAN.copysign(if negative { -1.0 } else { 1.0 });
            }
            let fraction = from.map_or(23, |format| format.fraction);
            let code = match to {
                None => (v as f32).to_bits(),
                Some(format) if is_random => format.random(v, seed, fraction, saturates),
                Some(format) => format.nearest(v, to_small && saturates),
            };
            Expected { at: first as usize + n * bits_of(to), code, format: to }
        })
        .collect()
    }
}

/// Returns a dword that has interesting floats of every format.
fn sample(random: &mut Random) -> u32 {
    let r = random.next();
    match r % 8 {
        0 => r as u32 | 0xff80_0000,
        1 => (r >> 8) as u32 & 0x8000_8000,
        2 => (r >> 32) as u32 & 0x83ff_ffff | 0x3e00_0000,
        3 => ((r >> 8 & 0xff) as f32 * 0.25 - 32.0).to_bits(),
        4 => (r >> 8) as u32 & 0x807f_ffff,
        5 => half::f16::from_f32((r >> 8 & 0xff) as f32 * 0.125 - 16.0).to_bits().into(),
        6 => 0x7c00_7c00 | (r >> 8) as u32 & 0x8000_83ff,
        _ => (r >> 32) as u32,
    }
}

/// Returns an f32 whose exponent is a scale: often near 1, sometimes any.
fn scale(random: &mut Random) -> u32 {
    let r = random.next();
    let exponent = match r % 8 {
        0 => r >> 8 & 0xff,
        1 => 0xff,
        2 => 0,
        _ => 117 + (r >> 8) % 20,
    };
    (exponent as u32) << 23 | (r >> 32) as u32 & 0x807f_ffff
}

fn conversions_with_a_scale() {
    let mut random = Random::new(0x5ca1e);
    let mut rigs = rigs(Target::Gfx950);
    let rows = Encoding::Vop3.rows().iter().filter(|row| row.name.starts_with("v_cvt_scalef32_"));
    let mut count = 0;
    for row in rows {
        count += 1;
        for _ in 0..24 {
            run_case(&mut random, &mut rigs, row);
        }
    }
    assert_eq!(count, 49);
}

fn run_case(random: &mut Random, rigs: &mut [TestWave], row: &Row) {
    let r = random.next() as u32;
    let mode = Mode(0xc0 | r & 0x3f | (r >> 6 & 1) << 23);
    let exec = if r & 0x80 == 0 { !0 } else { random.next() };
    let has_modifiers = !row.name.contains("_pk32_") && !row.name.contains("2xpk16");
    let sources = row.src.iter().filter(|ty| ty.dwords() > 0).count();
    let from_small = ["_fp8", "_bf8", "_fp6", "_bf6", "_fp4"].iter().any(|end| row.name.ends_with(end));
    // The sources that are numbers of 16 or 32 bits, whose sign may be changed.
    let numbers = match (from_small, row.name.contains("pk_fp8_f32") || row.name.contains("pk_bf8_f32")) {
        (true, _) => 0,
        (false, true) => 3,
        (false, false) if row.name == "v_cvt_scalef32_pk_fp4_f32" => 3,
        (false, false) => 1,
    };
    let [abs, neg] = [8, 11].map(|at| if has_modifiers { r >> at & numbers } else { 0 });
    let op_sel = if has_modifiers { r >> 14 & op_sels(row) } else { 0 };
    // The last source, the scale, is a vector, a scalar or a constant.
    let kind = r >> 20 & 3;
    let values: Vec<[[u32; 33]; 3]> = (0..LANES)
        .map(|_| {
            std::array::from_fn(|n| {
                std::array::from_fn(|_| if n + 1 == sources { scale(random) } else { sample(random) })
            })
        })
        .collect();
    let scalar = scale(random);
    let old: Vec<[u32; 33]> = (0..LANES).map(|_| std::array::from_fn(|_| random.next() as u32)).collect();
    let op = row.opcode(Target::Gfx950).unwrap();
    let mut words = [0xd000_0000 | u32::from(op) << 16 | op_sel << 11 | abs << 8 | u32::from(DST), neg << 29];
    for n in 0..sources {
        let code = match kind {
            0 if n + 1 == sources => u32::from(SGPR),
            // 4.0
            1 if n + 1 == sources => 246,
            _ => 256 + u32::from(SRC[n]),
        };
        words[1] |= code << (9 * n);
    }
    for rig in rigs {
        rig.w.mode = mode;
        rig.w.set_exec(exec);
        rig.w.set_s32(SGPR, scalar);
        for lane in 0..LANES {
            for (n, register) in SRC.into_iter().enumerate() {
                for d in 0..32 {
                    rig.w.v_mut(register + d).flat_mut()[lane] = values[lane][n][usize::from(d)];
                }
            }
            for d in 0..33 {
                rig.w.v_mut(DST + d).flat_mut()[lane] = old[lane][usize::from(d)];
            }
        }
        rig.run(&words);
        for lane in 0..LANES {
            let got: Vec<u32> = (0..33).map(|d| rig.w.v(DST + d).flat()[lane]).collect();
            if exec >> lane & 1 == 0 {
                assert_eq!(got, old[lane], "{}: lane {lane} is not active", row.name);
                continue;
            }
            let mut sources_of = values[lane].map(|dwords| dwords.to_vec());
            match kind {
                0 => sources_of[sources - 1][0] = scalar,
                1 => sources_of[sources - 1][0] = 4f32.to_bits(),
                _ => {}
            }
            let case = Case { row, sources: sources_of, abs, neg, op_sel, mode };
            case.compare(&got, &old[lane], || {
                format!("{} {words:08x?} at {:?}, lane {lane}", row.name, rig.level)
            });
        }
    }
}

impl Case<'_> {
    /// Compares the registers of a result with what is expected of the instruction, and of those it keeps.
    fn compare(&self, got: &[u32], old: &[u32], context: impl Fn() -> String) {
        let mut want = string(old);
        let got_bits = string(got);
        for Expected { at, code, format } in self.expected() {
            let size = bits_of(format);
            let found = number(&got_bits[at..at + size]);
            let agrees = match format {
                Some(format) => format.agrees(found, code),
                None => {
                    let [found, code] = [found, code].map(f32::from_bits);
                    found.to_bits() == code.to_bits() || found.is_nan() && code.is_nan()
                }
            };
            assert!(agrees, "{}, bit {at}: {found:#x}, not {code:#x}; {:08x?}", context(), self.sources);
            want[at..at + size].copy_from_slice(&got_bits[at..at + size]);
        }
        assert!(want == got_bits, "{} writes too much", context());
    }
}

/// Returns the bits of op_sel that may be set.
fn op_sels(row: &Row) -> u32 {
    let name = row.name.strip_prefix("v_cvt_scalef32_").unwrap();
    match name {
        "sr_fp8_f32" | "sr_bf8_f32" | "pk_fp4_f32" | "sr_pk_fp4_f32" => 12,
        "pk_fp4_f16" | "pk_fp4_bf16" | "sr_pk_fp4_f16" | "sr_pk_fp4_bf16" => 12,
        "pk_f32_fp4" | "pk_f16_fp4" | "pk_bf16_fp4" | "f32_fp8" | "f32_bf8" => 3,
        "f16_fp8" | "f16_bf8" => 11,
        name if name.starts_with("sr_") => 13,
        name if name.ends_with("_fp8") || name.ends_with("_bf8") => 1,
        _ => 8,
    }
}
