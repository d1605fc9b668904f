//! Runs every VOP1, VOP2, VOPC and VOP3 instruction from its encoding, with random operands and modifiers, at every
//! level that the host has, and compares it with references that compute differently.

#![allow(clippy::needless_range_loop, reason = "a lane's number indexes several arrays")]

pub(crate) mod accuracy;
pub(crate) mod controlled;
mod conversions;
mod floats;
mod forms;
pub(crate) mod gfx11;
mod integers;
pub(crate) mod lanes;
mod modes;
pub(crate) mod narrow;
mod parts;
mod sequences;

use amdgpu_isa::flags::{KEEP, LIT, SDST};
use amdgpu_isa::{Encoding, Row, Target, Ty};

use crate::exec::level::SimdLevel;
use crate::exec::number::exact::{self, Exact};
use crate::state::wave::{LANES, Mode, sreg};
use crate::testing::test_wave::{Random, TestWave, operation};
use forms::{DST, Form, MASK, PLAIN, SDST_AT, SGPR, SRC, long_form, short_form};

crate::testing::tally::verified!(vop1, vop2, vopc, vop3);

/// The input of a reference: the values of one lane.
#[derive(Debug, Clone, Copy)]
struct In {
    /// The sources with their modifiers applied, masked to their sizes.
    s: [u64; 3],
    /// The destination before.
    old: u64,
    /// The lane's bit of the mask that is read; for `v_div_fmas`, of VCC.
    bit: bool,
    lane: u32,
    clamp: bool,
    mode: Mode,
    target: Target,
}

impl In {
    fn a32(&self) -> u32 {
        self.s[0] as u32
    }
    fn b32(&self) -> u32 {
        self.s[1] as u32
    }
    /// Returns the mode's rounding for floats of the size, as `exact` numbers it.
    fn round(&self, size: u32) -> u32 {
        if size == 32 { self.mode.round32() } else { self.mode.round64() }
    }
    /// Returns whether the mode keeps denormals in sources (1) and in results (2) of floats of the size.
    fn denormals(&self, size: u32) -> u32 {
        if size == 32 { self.mode.denorm32() } else { self.mode.denorm64() }
    }
}

/// The required accuracy of a result. A quiet NaN is also right if the reference is a NaN.
#[derive(Debug, Clone, Copy)]
enum Close {
    Bits,
    F16,
    Bf16,
    F32,
    F64,
    /// Two f16.
    P16,
    /// One or two bfloat16.
    PBf16,
    /// Two f32.
    P32,
    /// One or two floats of 8 bits.
    Bytes(narrow::Format),
    /// An f32 with at most this error in units in the last place.
    Ulps32(u32),
    Ulps64(u64),
    Ulps16(u32),
}

/// The result of a reference.
#[derive(Debug, Clone, Copy)]
struct Out {
    d: u64,
    /// The lane's bit of the mask that is written.
    flag: bool,
    close: Close,
}

fn bits(d: u64) -> Option<Out> {
    Some(Out { d, flag: false, close: Close::Bits })
}

fn flag(flag: bool) -> Option<Out> {
    Some(Out { d: 0, flag, close: Close::Bits })
}

fn f32_out(d: f32) -> Option<Out> {
    Some(Out { d: u64::from(d.to_bits()), flag: false, close: Close::F32 })
}

fn f64_out(d: f64) -> Option<Out> {
    Some(Out { d: d.to_bits(), flag: false, close: Close::F64 })
}

fn f16_out(d: u16) -> Option<Out> {
    Some(Out { d: u64::from(d), flag: false, close: Close::F16 })
}

/// Returns whether an operand is half a register.
fn is_half(ty: Ty) -> bool {
    matches!(ty, Ty::F16 | Ty::I16 | Ty::Bf16)
}

fn reference(row: &Row, x: &In) -> Option<Out> {
    let name = operation(row).strip_prefix("v_")?;
    let mut x = *x;
    for n in 0..3 {
        if let Some(size) = float_size(row.src[n]).filter(|_| !keeps_denormals(name)) {
            x.s[n] = exact::flush(x.s[n], size, x.denormals(size) & 1 != 0);
        }
    }
    if let Some(size) = float_size(row.dst).filter(|_| row.flags & amdgpu_isa::flags::ACC != 0) {
        x.old = exact::flush(x.old, size, x.denormals(size) & 1 != 0);
    }
    let mut out = integers::reference(name, &x)
        .or_else(|| floats::reference(name, &x))
        .or_else(|| conversions::reference(name, &x))?;
    // RDNA3 ISA, notes of `V_MIN_F32`: it has a denormal result in any mode that keeps those of sources.
    let selects = |name: &str| {
        name.starts_with("m") && (name.contains("min") || name.contains("max") || name.contains("med"))
    };
    let keeps = keeps_denormals(name) && !name.contains("fmas") || x.target.is_rdna() && selects(name);
    if let Some(size) = float_size(row.dst).filter(|_| !keeps) {
        out.d = exact::flush(out.d, size, x.denormals(size) & 2 != 0);
    }
    Some(out)
}

fn float_size(ty: Ty) -> Option<u32> {
    match ty {
        Ty::F16 => Some(16),
        Ty::F32 => Some(32),
        Ty::F64 => Some(64),
        _ => None,
    }
}

/// Returns whether an instruction keeps denormals of sources in every mode, or has sources that are not floats but
/// accept their modifiers.
fn keeps_denormals(name: &str) -> bool {
    [
        "cvt_f32_ubyte",
        "cvt_off",
        "cvt_f32_fp8",
        "cvt_f32_bf8",
        "cvt_pk_f32_",
        "cvt_f32_bf16",
        "div_fmas",
        "class",
    ]
    .iter()
    .any(|part| name.contains(part))
}

fn f16(v: u64) -> f64 {
    half::f16::from_bits(v as u16).to_f64()
}

fn f32(v: u64) -> f32 {
    f32::from_bits(v as u32)
}

fn f64(v: u64) -> f64 {
    f64::from_bits(v)
}

/// Returns whether the bits are a NaN of the type.
fn is_nan(v: u64, ty: Ty) -> bool {
    match ty {
        Ty::F16 => f16(v).is_nan(),
        Ty::F32 => f32(v).is_nan(),
        _ => f64(v).is_nan(),
    }
}

fn quiet_bit(ty: Ty) -> u64 {
    match ty {
        Ty::F16 => 1 << 9,
        Ty::F32 => 1 << 22,
        _ => 1 << 51,
    }
}

fn sign_bit(ty: Ty) -> u64 {
    match ty {
        Ty::F16 | Ty::Bf16 => 1 << 15,
        Ty::F64 | Ty::B64 => 1 << 63,
        _ => 1 << 31,
    }
}

/// Returns whether the result is right: the same float, both NaN, or as close as required.
fn agree(got: u64, want: Out) -> bool {
    let nan = |ty: Ty| is_nan(want.d, ty) && is_nan(got, ty) && got & quiet_bit(ty) != 0;
    // The distance in numbers of the format, also across zero.
    let steps = |bits: u32| {
        let order = |v: u64| {
            let magnitude = (v & ((1 << (bits - 1)) - 1)) as i64;
            if v >> (bits - 1) & 1 != 0 { -magnitude } else { magnitude }
        };
        order(got).abs_diff(order(want.d))
    };
    match want.close {
        Close::Bits => got == want.d,
        Close::F16 => got == want.d || nan(Ty::F16) && got >> 16 == 0,
        Close::Bf16 => {
            let is_nan = |v: u64| v & 0x7fff > 0x7f80;
            got == want.d || is_nan(got) && is_nan(want.d)
        }
        Close::F32 => got == want.d || nan(Ty::F32),
        Close::F64 => got == want.d || nan(Ty::F64),
        Close::P16 => [0, 16].iter().all(|at| {
            let (g, w) = (got >> at & 0xffff, want.d >> at & 0xffff);
            g == w || is_nan(g, Ty::F16) && is_nan(w, Ty::F16)
        }),
        Close::PBf16 => [0, 16].iter().all(|at| {
            let [g, w] = [got, want.d].map(|v| (v >> at & 0xffff) as u32);
            narrow::BF16.agrees(g, w)
        }),
        Close::P32 => [0, 32].iter().all(|at| {
            let [g, w] = [got, want.d].map(|v| v >> at & 0xffff_ffff);
            g == w || is_nan(g, Ty::F32) && is_nan(w, Ty::F32)
        }),
        Close::Bytes(format) => [0, 8].iter().all(|at| {
            let [g, w] = [got, want.d].map(|v| (v >> at & 0xff) as u32);
            format.agrees(g, w)
        }),
        Close::Ulps32(n) => {
            got == want.d || nan(Ty::F32) || !is_nan(want.d, Ty::F32) && steps(32) <= u64::from(n)
        }
        Close::Ulps64(n) => got == want.d || nan(Ty::F64) || !is_nan(want.d, Ty::F64) && steps(64) <= n,
        Close::Ulps16(n) => {
            got == want.d || nan(Ty::F16) || !is_nan(want.d, Ty::F16) && steps(16) <= u64::from(n)
        }
    }
}

/// Returns a random value of a type. Special floats and small numbers are frequent.
fn sample(random: &mut Random, ty: Ty) -> u64 {
    let pick = random.next();
    match ty {
        Ty::F16 => {
            const SPECIAL: [u16; 16] = [
                0, 0x8000, 1, 0x83ff, 0x0400, 0x7bff, 0xfbff, 0x7c00, 0xfc00, 0x7e00, 0x7d01, 0x3c00, 0xbc00,
                0x3800, 0x3bff, 0x6400,
            ];
            let garbage = random.next() & 0xffff_0000;
            garbage
                | match pick % 4 {
                    0 => u64::from(SPECIAL[(pick >> 8) as usize % 16]),
                    _ => pick >> 8 & 0xffff,
                }
        }
        Ty::F32 => match pick % 8 {
            0 | 1 => {
                const SPECIAL: [u32; 20] = [
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
                    0xff92_3456,
                    0x3f80_0000,
                    0xbf80_0000,
                    0x3f00_0000,
                    0x4f00_0000,
                    0xcf00_0000,
                    0x4f80_0000,
                    0x477f_f000,
                    0x3380_0000,
                ];
                u64::from(SPECIAL[(pick >> 8) as usize % 20])
            }
            // Around one, and around integers and halves.
            2 | 3 => u64::from(((pick >> 8) as u32 & 0x83ff_ffff) | 0x3e00_0000),
            4 => u64::from(((pick >> 8 & 0x3ff) as f32 * 0.25 - 128.0).to_bits()),
            _ => pick >> 32,
        },
        Ty::F64 => match pick % 8 {
            0 | 1 => {
                const SPECIAL: [u64; 14] = [
                    0,
                    1 << 63,
                    1,
                    0x800f_ffff_ffff_ffff,
                    1 << 52,
                    0x7fef_ffff_ffff_ffff,
                    0x7ff0_0000_0000_0000,
                    0xfff0_0000_0000_0000,
                    0x7ff8_0000_0000_0000,
                    0x7ff0_0000_0000_0001,
                    0x3ff0_0000_0000_0000,
                    0xbfe0_0000_0000_0000,
                    0x41e0_0000_0000_0000,
                    0xc1e0_0000_0020_0000,
                ];
                SPECIAL[(pick >> 8) as usize % 14]
            }
            2 | 3 => random.next() & 0x803f_ffff_ffff_ffff | 0x3fc0_0000_0000_0000,
            4 => ((pick >> 8 & 0x3ff) as f64 * 0.25 - 128.0).to_bits(),
            _ => random.next(),
        },
        // Sometimes each byte is a small number, for selectors and shifts.
        _ if pick.is_multiple_of(8) => random.next() & 0x0f0f_0f0f,
        _ => random.int(),
    }
}

fn size_mask(ty: Ty) -> u64 {
    match ty {
        Ty::F16 | Ty::I16 | Ty::Bf16 => 0xffff,
        ty if ty.dwords() == 2 => u64::MAX,
        _ => 0xffff_ffff,
    }
}

fn is_float(ty: Ty) -> bool {
    matches!(ty, Ty::F16 | Ty::Bf16 | Ty::F32 | Ty::F64)
}

/// Returns the type of source `n`.
fn source_ty(row: &Row, n: usize) -> Ty {
    if row.flags & amdgpu_isa::flags::ACC != 0 && row.src[n] == Ty::None { Ty::None } else { row.src[n] }
}

/// Returns a mode of gfx12, which has neither DX10_CLAMP nor IEEE: a NaN is clamped to 0, and minima and maxima prefer numbers.
pub(crate) fn of_gfx12(mode: u32) -> Mode {
    Mode(mode & Mode::GFX12 | 0x100 | Mode::PREFERS_NUMBERS)
}

/// Runs one form of an instruction with random operands and compares all lanes.
fn check(random: &mut Random, rigs: &mut [TestWave], row: &Row, form: &Form, literal: u32) {
    // Random DX10_CLAMP and IEEE; in half of all cases also random roundings and denormals.
    let mut mode = 0xf0 | (random.next() as u32 & 0x300);
    if random.next().is_multiple_of(2) {
        mode = random.next() as u32 & 0x3ff;
    }
    if is_float(row.dst) && random.next().is_multiple_of(2) {
        mode |= 0x200;
    }
    // FP16_OVFL, which conversions to 8-bit floats use.
    if random.next().is_multiple_of(4) {
        mode |= 1 << 23;
    }
    let target = rigs.first().map(|rig| rig.target);
    let mode = if target == Some(Target::Gfx12) { of_gfx12(mode) } else { Mode(mode) };
    let all = rigs.first().map_or(!0, |rig| rig.w.all);
    let lanes = all.count_ones() as usize;
    let (exec, mask) = match random.next() % 4 {
        0 => (random.next(), random.next()),
        1 => (!0, random.next()),
        2 => (!0, 0),
        _ => (!0, random.next() & random.next()),
    };
    let exec = exec & all;
    let mut values = [[0u64; LANES]; 3];
    let mut old = [[0u32; LANES]; 4];
    for (n, lanes) in values.iter_mut().enumerate() {
        let ty = source_ty(row, n);
        let one = sample(random, ty);
        // Often only a few different values, so that sources are equal.
        let few = [sample(random, ty), sample(random, ty), sample(random, ty)];
        for lane in lanes.iter_mut() {
            *lane = match random.next() % 4 {
                0 => few[random.next() as usize % 3],
                _ => sample(random, ty),
            };
            if form.scalar[n] {
                *lane = one;
            }
        }
    }
    if operation(row).starts_with("v_div_scale") {
        // The first source is one of the others.
        values[0] = values[if random.next().is_multiple_of(2) { 1 } else { 2 }];
        if form.scalar[0] {
            let same = values[0][0];
            values[0] = [same; LANES];
        }
    }
    for n in 0..3 {
        if let Some(value) = form.fixed[n] {
            values[n] = [value; LANES];
        }
    }
    // With DPP, the first source comes from other lanes, and some lanes are not written.
    let (seen, writes) = match form.dpp {
        Some(control) if form.eight => gfx11::moved_eight(control, form.fetch_inactive, exec, &values[0]),
        Some(control) => controlled::moved(control, exec, &values[0]),
        None => (values[0], exec),
    };
    let seen = [seen, values[1], values[2]];
    for lanes in &mut old {
        for lane in lanes.iter_mut() {
            *lane = sample(random, if row.dst == Ty::F64 { Ty::B32 } else { row.dst }) as u32;
        }
    }
    for rig in rigs {
        // Some instructions of RDNA lack some forms, such as clamp of `v_dot2acc_f32_f16`. The disassembler's list has them from LLVM.
        if rig.target.is_rdna() && amdgpu_isa::encoded_length(rig.isa(), &form.words).is_none() {
            return;
        }
        let w = &mut rig.w;
        w.mode = mode;
        w.set_exec(exec);
        w.set_s64(sreg::VCC, mask);
        w.set_s64(MASK as u16, mask);
        w.set_s32(SDST_AT as u16 + 1, UNWRITTEN);
        for n in 0..3 {
            w.set_s64(SGPR[n] as u16, values[n][0]);
            for l in 0..LANES {
                w.v_mut(SRC[n] as u16).flat_mut()[l] = values[n][l] as u32;
                w.v_mut(SRC[n] as u16 + 1).flat_mut()[l] = (values[n][l] >> 32) as u32;
            }
        }
        for (n, lanes) in old.iter().enumerate() {
            *w.v_mut(DST as u16 + n as u16).flat_mut() = *lanes;
        }
        rig.run(&form.words);
        let w = &rig.w;
        let is_cmpx = row.name.starts_with("v_cmpx");
        // On RDNA, `v_cmpx` writes EXEC alone.
        let is_comparison = matches!(row.dst, Ty::Mask | Ty::None);
        let masked = is_comparison || row.flags & SDST != 0;
        let writes_exec_alone = is_cmpx && rig.target.is_rdna();
        let at = match form.vcc {
            _ if writes_exec_alone => sreg::EXEC,
            true => sreg::VCC,
            false => SDST_AT as u16,
        };
        let got_mask = w.s64(at) & all;
        assert_eq!(w.exec(), if is_cmpx { got_mask } else { exec }, "EXEC after {}", row.name);
        if lanes == 32 || writes_exec_alone {
            assert_eq!(w.s32(SDST_AT as u16 + 1), UNWRITTEN, "{} writes the next SGPR", row.name);
            assert_eq!(w.s32(sreg::VCC + 1), (mask >> 32) as u32, "{} writes the next SGPR", row.name);
        }
        for l in 0..lanes {
            let at = |n: u16| w.v(DST as u16 + n).flat()[l];
            let dwords = u16::from(row.dst.dwords());
            if !is_comparison {
                for n in dwords..4 {
                    assert_eq!(at(n), old[n as usize][l], "{} writes too much", row.name);
                }
            }
            let x = input(row, form, &seen, &old, l, mask, mode, literal, rig.target);
            let context = || format!("{} {:08x?} at {:?}, lane {l}, {x:x?}", row.name, form.words, rig.level);
            let active = writes >> l & 1 != 0;
            let want = reference(row, &x).unwrap_or_else(|| panic!("no reference for {}", row.name));
            if masked {
                assert_eq!(got_mask >> l & 1 != 0, active && want.flag, "mask of {}", context());
            }
            if is_comparison {
                continue;
            }
            let wide = dwords == 2;
            let join = |lo: u32, hi: u32| u64::from(lo) | if wide { u64::from(hi) << 32 } else { 0 };
            let (got, before) = (join(at(0), at(1)), join(old[0][l], old[1][l]));
            if !active {
                assert_eq!(got, before, "inactive: {}", context());
                continue;
            }
            let mut want = finished(row, form, want, mode);
            if let Some(sdwa) = form.sdwa.filter(|sdwa| !sdwa.is_whole()) {
                assert!(
                    sdwa_agrees(sdwa, got, want, row.dst, before),
                    "{}: {got:#x}, not {:#x}",
                    context(),
                    want.d
                );
                continue;
            }
            if form.sdwa.is_some() && row.dst.dwords() == 1 {
                want.d &= 0xffff_ffff;
            }
            let part = part_got(row, form, rig.target, got);
            assert!(agree(part.0, want), "{}: {got:#x}, not {:#x}", context(), want.d);
            assert_eq!(part.1, part_got(row, form, rig.target, before).1, "the other half: {}", context());
        }
    }
}

/// Does what [`agree`] does, for a result of which SDWA writes a part. Any NaN is right.
fn sdwa_agrees(sdwa: controlled::Sdwa, got: u64, want: Out, ty: Ty, before: u64) -> bool {
    if sdwa.placed(want.d, before) == got {
        return true;
    }
    let size = match want.close {
        // What is written of two halves is the low one, or a part of it.
        Close::Ulps16(_) | Close::F16 | Close::P16 => 16,
        Close::Ulps32(_) | Close::F32 => 32,
        _ => return false,
    };
    let ty = if size == 16 { Ty::F16 } else { ty };
    let near = |d: u64| agree(d, want) && sdwa.placed(d, before) == got;
    // Any NaN, the neighbours, the other zero.
    let nan = is_nan(want.d, ty);
    let nans = (0..1u64 << 16).map(|n| want.d & !0xffff | n | quiet_bit(ty));
    let others = [want.d.wrapping_sub(1), want.d + 1, want.d ^ 1 << (size - 1)];
    nan && (size == 32 || nans.clone().any(near)) || others.into_iter().any(near)
}

/// The SGPR after the mask, before an instruction.
const UNWRITTEN: u32 = 0x1234_5678;

/// Returns the part of the destination that is compared, and the part that must not have changed. On RDNA, a result of 16 bits is half
/// of a register, and the other half stays (LLVM, `GCNSubtarget::zeroesHigh16BitsOfDest`), unless SDWA says what is written.
fn part_got(row: &Row, form: &Form, target: Target, got: u64) -> (u64, u64) {
    if form.op_sel & 8 != 0 {
        (got >> 16, got & 0xffff)
    } else if matches!(row.name, "v_cvt_sr_fp8_f32" | "v_cvt_sr_bf8_f32") {
        (got & 0xff, got & !0xff)
    } else if row.flags & KEEP != 0 || target.is_rdna() && is_half(row.dst) && form.sdwa.is_none() {
        (got & 0xffff, got & !0xffff)
    } else {
        (got, 0)
    }
}

/// Returns the lane's sources with modifiers applied.
#[expect(clippy::too_many_arguments, reason = "one place")]
fn input(
    row: &Row,
    form: &Form,
    values: &[[u64; LANES]; 3],
    old: &[[u32; LANES]; 4],
    l: usize,
    mask: u64,
    mode: Mode,
    literal: u32,
    target: Target,
) -> In {
    let mut before = u64::from(old[0][l]) | u64::from(old[1][l]) << 32;
    if target.is_rdna() && form.op_sel & 8 != 0 {
        before >>= 16;
    }
    let mut s = [0; 3];
    for n in 0..3 {
        let ty = source_ty(row, n);
        let mut v = values[n][l];
        if let Some(sdwa) = form.sdwa {
            v = sdwa.source(n, v);
        }
        if form.op_sel >> n & 1 != 0 {
            v >>= 16;
        }
        if form.abs >> n & 1 != 0 {
            v &= !sign_bit(ty);
        }
        if form.neg >> n & 1 != 0 {
            v ^= sign_bit(ty);
        }
        s[n] = v & size_mask(ty);
    }
    if row.flags & LIT != 0 {
        let k = u64::from(literal) & size_mask(row.dst);
        s = if operation(row).contains("mk") { [s[0], k, s[1]] } else { [s[0], s[1], k] };
    }
    In {
        s,
        old: before & if row.dst == Ty::F16 { 0xffff } else { u64::MAX },
        bit: mask >> l & 1 != 0,
        lane: l as u32,
        clamp: form.clamp,
        mode,
        target,
    }
}

/// Applies the output modifiers of floats to the reference's result. The factor, which leaves no -0, applies only
/// outside of IEEE mode and if denormals are flushed. Then the result is clamped.
fn finished(row: &Row, form: &Form, want: Out, mode: Mode) -> Out {
    let Some(size) = float_size(row.dst) else { return want };
    let (round, kept) = match size {
        32 => (mode.round32(), mode.denorm32()),
        _ => (mode.round64(), mode.denorm64()),
    };
    let (mut d, mut close) = (want.d, want.close);
    if form.omod != 0 && !mode.ieee() && kept & 2 == 0 {
        let power = [0, 1, 2, -1][form.omod as usize];
        d = exact::flush(Exact::of(d, size).scaled(power).round(size, round), size, false);
        d = if d == sign_bit(row.dst) { 0 } else { d };
        // The multiplication may give any NaN.
        close = match (close, size) {
            (Close::Bits, 16) => Close::F16,
            (Close::Bits, 32) => Close::F32,
            (Close::Bits, _) => Close::F64,
            (close, _) => close,
        };
    }
    if form.clamp {
        let one = exact::fields(size);
        let one = ((1 << (one.1 - 1)) - 1) << one.0;
        d = if is_nan(d, row.dst) {
            if mode.dx10_clamp() { 0 } else { d }
        } else if d & sign_bit(row.dst) != 0 {
            0
        } else {
            // Positive floats are ordered as integers are.
            d.min(one)
        };
    }
    Out { d, close, ..want }
}

/// Returns whether `lanes.rs` or `scaled_tests.rs` tests an instruction.
fn apart(name: &str) -> bool {
    APART.contains(&name)
        || name.starts_with("v_cvt_scalef32_")
        // Those of gfx12 with a scalar result, and with lanes selected by a vector.
        || name.starts_with("v_s_")
        || name.ends_with("_var_b32")
}

/// Instructions that `lanes.rs` tests.
const APART: [&str; 22] = [
    "v_nop",
    "v_clrexcp",
    "v_readfirstlane_b32",
    "v_readlane_b32",
    "v_writelane_b32",
    "v_swap_b32",
    "v_accvgpr_mov_b32",
    "v_mqsad_u32_u8",
    "v_permlane16_swap_b32",
    "v_permlane32_swap_b32",
    "v_bitop3_b16",
    "v_bitop3_b32",
    // Those of gfx11 that `gfx11.rs` tests.
    "v_pipeflush",
    "v_movreld_b32",
    "v_movrels_b32",
    "v_movrelsd_b32",
    "v_movrelsd_2_b32",
    "v_swap_b16",
    "v_permlane64_b32",
    "v_swaprel_b32",
    "v_permlane16_b32",
    "v_permlanex16_b32",
];

/// Returns a wave for each SIMD level that the host has.
pub(crate) fn rigs(target: Target) -> Vec<TestWave> {
    SimdLevel::ALL
        .into_iter()
        .filter(|level| level.is_available())
        .map(|level| TestWave::new(target, level))
        .collect()
}

/// Runs all instructions of an encoding.
fn sweep(encoding: Encoding, target: Target, seed: u64) {
    sweep_on(&mut rigs(target), encoding, target, seed);
}

/// Runs all instructions of an encoding on some waves.
fn sweep_on(rigs: &mut [TestWave], encoding: Encoding, target: Target, seed: u64) {
    let mut random = Random::new(seed);
    let mut count = 0;
    let mut failed = Vec::new();
    for row in encoding.rows() {
        if row.op[target as usize] < 0 || apart(row.name) {
            continue;
        }
        count += 1;
        let run = std::panic::AssertUnwindSafe(|| {
            for _ in 0..40 {
                let literal = sample(&mut random, row.dst) as u32;
                if row.flags & LIT == 0 {
                    let form = long_form(&mut random, row, encoding, target);
                    check(&mut random, rigs, row, &form, 0);
                }
                if encoding != Encoding::Vop3 {
                    let form = short_form(&mut random, row, encoding, target, literal);
                    check(&mut random, rigs, row, &form, literal);
                }
            }
        });
        // Continues, so that one run names all wrong instructions; the messages are in the output.
        if std::panic::catch_unwind(run).is_err() {
            failed.push(row.name);
        }
    }
    assert!(failed.is_empty(), "{failed:?}");
    assert!(count > 40);
}

fn vop1() {
    sweep(Encoding::Vop1, Target::Gfx90a, 1);
    sweep(Encoding::Vop1, Target::Gfx942, 2);
    sweep(Encoding::Vop1, Target::Gfx950, 11);
}

fn vop2() {
    sweep(Encoding::Vop2, Target::Gfx90a, 3);
    sweep(Encoding::Vop2, Target::Gfx942, 4);
    sweep(Encoding::Vop2, Target::Gfx950, 13);
}

fn vopc() {
    sweep(Encoding::Vopc, Target::Gfx90a, 5);
    sweep(Encoding::Vopc, Target::Gfx942, 6);
    sweep(Encoding::Vopc, Target::Gfx950, 15);
}

fn vop3() {
    sweep(Encoding::Vop3, Target::Gfx90a, 7);
    sweep(Encoding::Vop3, Target::Gfx942, 8);
    sweep(Encoding::Vop3, Target::Gfx950, 17);
}
