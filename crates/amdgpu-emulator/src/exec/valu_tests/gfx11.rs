//! Runs the instructions of RDNA against the same references, in waves of 64 and of 32 lanes: literals in long encodings, halves of
//! registers, DPP in all encodings, and what moves lanes or registers.

use amdgpu_isa::flags::{LIT, SDST};
use amdgpu_isa::{Encoding, Row, Target, Ty};

use super::forms::halves;
use super::narrow::{BF8, FP8};
use super::{DST, Form, PLAIN, SGPR, SRC, apart, check, is_float, long_form, of_gfx12, sweep_on};
use crate::exec::level::SimdLevel;
use crate::exec::table::{Impl, executor};
use crate::state::wave::{LANES, sreg};
use crate::testing::test_wave::{RDNA, Random, TestWave, null_and_m0, null_of, op};

crate::testing::tally::verified!(
    vop1,
    vop2,
    vopc,
    vop3,
    dpp,
    lanes_move_within_rows_and_between_halves,
    lanes_select_what_they_read,
    halves_of_registers_are_exchanged,
    conversions_of_eight_bits_select_a_byte,
    m0_selects_registers,
    single_lanes_count_modulo_the_size_of_the_wave,
    both_halves_of_vopd_read_their_sources_before_either_writes,
    the_dot_product_of_bf16_in_vopd_accumulates,
    vop3p_moves_lanes_of_its_first_source,
    dot_products_have_signed_and_unsigned_sources,
    carries_are_in_single_registers
);

/// Returns waves of 64 lanes, and waves of 32, of each target of RDNA: one at each SIMD level that the host has.
pub(super) fn waves() -> Vec<Vec<TestWave>> {
    let levels = || SimdLevel::ALL.into_iter().filter(|level| level.is_available());
    let of = |target: &Target| {
        [TestWave::new, TestWave::wave32].map(|new| levels().map(|level| new(*target, level)).collect())
    };
    RDNA.iter().flat_map(of).collect()
}

/// Returns the [`waves`] of those that have what gfx11 introduced.
fn since_gfx11() -> Vec<Vec<TestWave>> {
    waves().into_iter().filter(|rigs| rigs[0].target.has_gfx11_instructions()).collect()
}

/// Runs the instructions of an encoding on all targets, in waves of both sizes.
fn sweep(encoding: Encoding, seed: u64) {
    for (rigs, seed) in waves().iter_mut().zip(seed..) {
        let target = rigs[0].target;
        sweep_on(rigs, encoding, target, seed);
    }
}

fn vop1() {
    sweep(Encoding::Vop1, 101);
}

fn vop2() {
    sweep(Encoding::Vop2, 103);
}

fn vopc() {
    sweep(Encoding::Vopc, 105);
}

fn vop3() {
    sweep(Encoding::Vop3, 107);
}

/// The codes of source 0 before a control dword.
const DPP16: u32 = 250;
const DPP8: u32 = 233;

/// Returns the first source of each lane with DPP8, and a mask of the lanes that write.
pub(super) fn moved_eight(
    control: u32,
    fetch_inactive: bool,
    exec: u64,
    values: &[u64; LANES],
) -> ([u64; LANES], u64) {
    let from = |lane: usize| lane / 8 * 8 + (control >> (8 + 3 * (lane % 8)) & 7) as usize;
    let value = |lane: usize| match exec >> from(lane) & 1 != 0 || fetch_inactive {
        true => values[from(lane)],
        false => 0,
    };
    (std::array::from_fn(value), exec)
}

/// Returns a control dword for register `src`, without sign modifiers.
fn control(random: &mut Random, eight: bool, src: u32) -> u32 {
    let bits = random.next();
    if eight {
        return src | (bits as u32) << 8;
    }
    let n = (bits >> 8 & 15) as u32;
    let permutation = match bits & 7 {
        kind @ 1..=3 => 0xf0 + 16 * kind as u32 + n.max(1),
        4 => 0x140 + (n & 1),
        5 => 0x150 + n,
        6 => 0x160 + n,
        _ => (bits >> 16 & 0xff) as u32,
    };
    let mask = |at: u32| if bits >> at & 1 == 0 { 15 } else { (bits >> (at + 1)) as u32 & 15 };
    let flags = (bits >> 56) as u32 & 3;
    src | permutation << 8 | flags << 18 | mask(32) << 24 | mask(40) << 28
}

/// Returns a short encoding with DPP.
fn short_dpp(random: &mut Random, row: &Row, encoding: Encoding, target: Target) -> Form {
    let (eight, fetch_inactive) = (random.next() & 1 != 0, random.next() & 1 != 0);
    // gfx10 has no registers of 16 bits.
    let op_sel = if target.has_gfx11_instructions() { halves(random, row) } else { 0 };
    let high = |n: usize| (op_sel >> n & 1) << 7;
    let mut control = control(random, eight, SRC[0] | high(0));
    let (mut neg, mut abs) = (0, 0);
    if !eight {
        let signs = random.next() as u32;
        for n in (0..2).filter(|n| is_float(row.src[*n])) {
            neg |= signs & 1 << n;
            abs |= signs >> 2 & 1 << n;
        }
        control |= (neg & 1) << 20 | (abs & 1) << 21 | (neg >> 1) << 22 | (abs >> 1) << 23;
    }
    let code = if eight { DPP8 + u32::from(fetch_inactive) } else { DPP16 };
    let (op, second, to) = (row.op[target as usize] as u32, SRC[1] | high(1), DST | high(3));
    let word = match encoding {
        Encoding::Vop1 => 0x7e00_0000 | to << 17 | op << 9 | code,
        Encoding::Vop2 => op << 25 | to << 17 | second << 9 | code,
        _ => 0x7c00_0000 | op << 17 | second << 9 | code,
    };
    let words = vec![word, control];
    Form { words, neg, abs, op_sel, dpp: Some(control), eight, fetch_inactive, ..PLAIN }
}

/// Returns a long encoding with DPP: one whose first source is a register, to which it is added.
fn long_dpp(random: &mut Random, row: &Row, encoding: Encoding, target: Target) -> Form {
    loop {
        let mut form = long_form(random, row, encoding, target);
        if form.words.len() > 2 || form.words[1] & 0x1ff != 256 + SRC[0] {
            continue;
        }
        (form.eight, form.fetch_inactive) = (random.next() & 1 != 0, random.next() & 1 != 0);
        let control = control(random, form.eight, SRC[0]);
        let code = if form.eight { DPP8 + u32::from(form.fetch_inactive) } else { DPP16 };
        form.words[1] = form.words[1] & !0x1ff | code;
        form.words.push(control);
        form.dpp = Some(control);
        return form;
    }
}

/// Returns whether an instruction has DPP: it is a lane operation on at most 32 bits.
fn has_dpp(row: &Row, target: Target) -> bool {
    let wide = row.src.iter().chain([&row.dst]).any(|ty| ty.dwords() > 1 && *ty != Ty::Mask);
    let lanes = matches!(executor(row.mnemonic, target), Impl::Lanes { .. });
    row.opcode(target).is_some() && lanes && !wide && row.flags & LIT == 0 && !apart(row.name)
        // One source equals another, whose lanes are not moved.
        && !row.name.starts_with("v_div_scale")
        && (row.flags & SDST == 0 || row.src[0] != Ty::None)
}

fn dpp() {
    let mut random = Random::new(109);
    let mut failed = Vec::new();
    for rigs in &mut waves() {
        let target = rigs[0].target;
        for encoding in [Encoding::Vop1, Encoding::Vop2, Encoding::Vopc, Encoding::Vop3] {
            for row in encoding.rows().iter().filter(|row| has_dpp(row, target)) {
                let run = std::panic::AssertUnwindSafe(|| {
                    for _ in 0..12 {
                        if encoding != Encoding::Vop3 {
                            let form = short_dpp(&mut random, row, encoding, target);
                            check(&mut random, rigs, row, &form, 0);
                        }
                        // gfx10 has no DPP in VOP3.
                        if !target.has_gfx11_instructions() {
                            continue;
                        }
                        let form = long_dpp(&mut random, row, encoding, target);
                        check(&mut random, rigs, row, &form, 0);
                    }
                });
                if std::panic::catch_unwind(run).is_err() {
                    failed.push((row.name, target, rigs[0].lanes()));
                }
            }
        }
    }
    assert!(failed.is_empty(), "{failed:?}");
}

/// Fills registers with random numbers. Returns them.
fn fill(random: &mut Random, rig: &mut TestWave, count: u16) -> Vec<[u32; LANES]> {
    (0..count)
        .map(|v| {
            let lanes = std::array::from_fn(|_| random.next() as u32);
            *rig.w.v_mut(v).flat_mut() = lanes;
            lanes
        })
        .collect()
}

/// Returns a VOP3 instruction.
fn vop3_words(rig: &TestWave, name: &str, dst: u32, src: [u32; 3], op_sel: u32) -> [u32; 2] {
    let code = op(Encoding::Vop3, name, rig.target);
    let first = Encoding::Vop3.first_dword(rig.target, code, dst | op_sel << 11);
    [first, src[0] | src[1] << 9 | src[2] << 18]
}

fn vop1_word(rig: &TestWave, name: &str, dst: u32, src: u32) -> u32 {
    0x7e00_0000 | dst << 17 | op(Encoding::Vop1, name, rig.target) << 9 | src
}

fn lanes_move_within_rows_and_between_halves() {
    let mut random = Random::new(111);
    for rig in waves().iter_mut().flatten() {
        let lanes = rig.lanes();
        for n in 0..80u32 {
            let exec = if n % 4 == 0 { random.next() } else { !0 };
            let select = random.next();
            let op_sel = random.next() as u32 & 3;
            let same = random.next() & 1 != 0;
            let dst = if same { 1 } else { 2 };
            rig.w.set_s64(30, select);
            for (name, row_of) in
                [("v_permlane16_b32", 0), ("v_permlanex16_b32", 16), ("v_permlane64_b32", 32)]
            {
                if row_of == 32 && rig.target.is_gfx10() {
                    continue;
                }
                let before = fill(&mut random, rig, 4);
                rig.w.set_exec(exec);
                if row_of == 32 {
                    rig.run(&[vop1_word(rig, name, dst, 256 + 1)]);
                } else {
                    rig.run(&vop3_words(rig, name, dst, [256 + 1, 30, 31], op_sel));
                }
                for lane in 0..lanes {
                    let old = before[dst as usize][lane];
                    let from = match row_of {
                        32 => lane ^ 32,
                        _ => (lane & !15 ^ row_of) + (select >> (4 * (lane & 15)) & 15) as usize,
                    };
                    let active = |lane: usize| exec >> lane & 1 != 0;
                    let want = match () {
                        () if !active(lane) || row_of == 32 && lanes == 32 => old,
                        () if row_of == 32 || active(from) || op_sel & 1 != 0 => before[1][from],
                        () if op_sel & 2 != 0 => 0,
                        () => old,
                    };
                    assert_eq!(rig.w.v(dst as u16).flat()[lane], want, "{name} {op_sel} lane {lane}");
                }
            }
        }
    }
}

/// Each lane's second source has the number of the lane that it reads (RDNA4 ISA, `V_PERMLANE16_VAR_B32`).
fn lanes_select_what_they_read() {
    let mut random = Random::new(112);
    for rig in waves().iter_mut().flatten().filter(|rig| rig.target.is_gfx12()) {
        for n in 0..80u32 {
            let exec = if n % 4 == 0 { random.next() } else { !0 };
            let op_sel = random.next() as u32 & 3;
            // The destination may be one of the sources.
            let dst = random.next() as u32 % 3;
            for (name, other) in [("v_permlane16_var_b32", false), ("v_permlanex16_var_b32", true)] {
                let before = fill(&mut random, rig, 3);
                rig.w.set_exec(exec);
                rig.run(&vop3_words(rig, name, dst, [256, 257, 0], op_sel));
                let rows: Vec<&[u32]> = before[0].chunks(16).collect();
                let active = |row: usize, column: usize| exec >> (16 * row + column) & 1 != 0;
                for lane in 0..rig.lanes() {
                    let old = before[dst as usize][lane];
                    let pair = [lane / 32 * 2, lane / 32 * 2 + 1];
                    let row = pair[usize::from((lane % 32 >= 16) != other)];
                    let column = before[1][lane] as usize % 16;
                    let want = match () {
                        () if !active(lane / 16, lane % 16) => old,
                        () if active(row, column) || op_sel & 1 != 0 => rows[row][column],
                        () if op_sel & 2 != 0 => 0,
                        () => old,
                    };
                    assert_eq!(rig.w.v(dst as u16).flat()[lane], want, "{name} {op_sel} lane {lane}");
                }
            }
        }
    }
}

fn halves_of_registers_are_exchanged() {
    let mut random = Random::new(113);
    for rig in since_gfx11().iter_mut().flatten() {
        for _ in 0..60 {
            let before = fill(&mut random, rig, 3);
            let exec = if random.next() & 1 != 0 { random.next() } else { !0 };
            rig.w.set_exec(exec);
            let [a, d] = [0, 1].map(|_| random.next() as usize % 6);
            // v_swap_b16 with registers 0 to 2, each with two halves.
            let code = |n: usize| (n / 2 | n % 2 << 7) as u32;
            rig.run(&[vop1_word(rig, "v_swap_b16", code(d), 256 + code(a))]);
            for lane in 0..rig.lanes() {
                let mut halves: Vec<u16> =
                    (0..6).map(|n| (before[n / 2][lane] >> (16 * (n % 2))) as u16).collect();
                if exec >> lane & 1 != 0 {
                    halves.swap(a, d);
                }
                for n in 0..3 {
                    let want = u32::from(halves[2 * n]) | u32::from(halves[2 * n + 1]) << 16;
                    assert_eq!(rig.w.v(n as u16).flat()[lane], want, "{a} {d}");
                }
            }
        }
    }
}

/// `byte_sel` of LLVM's assembler: the byte that `v_cvt_f32_fp8` reads, whose number's bits are reversed in op_sel, and the one that
/// `v_cvt_sr_fp8_f32` writes.
fn conversions_of_eight_bits_select_a_byte() {
    let mut random = Random::new(114);
    for rig in waves().iter_mut().flatten().filter(|rig| rig.target.is_gfx12()) {
        let target = rig.target;
        rig.w.mode = of_gfx12(0xf0);
        for (kind, format) in [("fp8", FP8), ("bf8", BF8)] {
            let from_byte = 384 + op(Encoding::Vop1, &format!("v_cvt_f32_{kind}"), target);
            let to_byte = op(Encoding::Vop3, &format!("v_cvt_sr_{kind}_f32"), target);
            for n in 0..80 {
                let (byte, at) = (n % 4, 8 * (n % 4));
                let before = fill(&mut random, rig, 4);
                let exec = if n / 4 % 2 == 0 { random.next() } else { !0 };
                rig.w.set_exec(exec);
                let reversed = [0, 2, 1, 3][byte as usize];
                let read = Encoding::Vop3.first_dword(target, from_byte, 2 | reversed << 11);
                let write = |byte: u32| Encoding::Vop3.first_dword(target, to_byte, 3 | byte << 13);
                rig.run(&[read, 256, write(0), 256 | 257 << 9]);
                let lowest = *rig.w.v(3).flat();
                *rig.w.v_mut(3).flat_mut() = before[3];
                rig.run(&[write(byte), 256 | 257 << 9]);
                for lane in (0..rig.lanes()).filter(|lane| exec >> lane & 1 != 0) {
                    let want = format.value(before[0][lane] >> at & 0xff) as f32;
                    let got = f32::from_bits(rig.w.v(2).flat()[lane]);
                    assert!(got == want || got.is_nan() && want.is_nan(), "{kind} {byte}: {got}, not {want}");
                    let kept = before[3][lane] & !(0xff << at);
                    assert_eq!(rig.w.v(3).flat()[lane], kept | (lowest[lane] & 0xff) << at, "{kind} {byte}");
                }
            }
        }
    }
}

fn m0_selects_registers() {
    let mut random = Random::new(115);
    let names = [
        "v_movreld_b32",
        "v_movrels_b32",
        "v_movrelsd_b32",
        "v_movrelsd_2_b32",
        "v_swaprel_b32",
        "v_swap_b32",
    ];
    for rig in waves().iter_mut().flatten() {
        for _ in 0..40 {
            for name in names {
                let before = fill(&mut random, rig, 256);
                let exec = if random.next() & 1 != 0 { random.next() } else { !0 };
                rig.w.set_exec(exec);
                let bits = random.next();
                let (src, dst) = ((bits & 7) as u32, (bits >> 3 & 7) as u32);
                let [low, high] = [bits >> 8, bits >> 16].map(|v| (v % 260) as u32);
                let (m0, from, to) = match name {
                    "v_movreld_b32" => (low, 0, low),
                    "v_movrels_b32" => (low, low, 0),
                    "v_movrelsd_b32" => (low, low, low),
                    "v_swap_b32" => (low, 0, 0),
                    // Other bits of M0 don't matter.
                    _ => (low | high << 16 | 0xfc00_fc00, low, high),
                };
                rig.w.set_s32(sreg::M0, m0);
                rig.run(&[vop1_word(rig, name, dst, 256 + src)]);
                let (from, to) = ((src + from) as usize, (dst + to) as usize);
                // Without such a register, the source is v0, and nothing is written. An exchange writes both.
                let writes = to < 256 && (from < 256 || !name.contains("swap"));
                let from = if from < 256 { from } else { 0 };
                for lane in 0..rig.lanes() {
                    let mut want: Vec<u32> = before.iter().map(|lanes| lanes[lane]).collect();
                    if exec >> lane & 1 != 0 && writes {
                        if name.contains("swap") {
                            want.swap(from, to);
                        } else {
                            want[to] = want[from];
                        }
                    }
                    let got: Vec<u32> = (0..256).map(|v| rig.w.v(v).flat()[lane]).collect();
                    assert!(got == want, "{name} {src} {dst} {m0:#x}");
                }
            }
        }
    }
}

fn single_lanes_count_modulo_the_size_of_the_wave() {
    let mut random = Random::new(117);
    for rig in waves().iter_mut().flatten() {
        let lanes = rig.lanes();
        for _ in 0..50 {
            let exec = random.next() & random.next() & random.next();
            let before = fill(&mut random, rig, 5);
            rig.w.set_exec(exec);
            let lane = random.next() as u32;
            rig.w.set_s32(7, lane);
            rig.run(&[vop1_word(rig, "v_readfirstlane_b32", 9, 256 + 3)]);
            rig.run(&vop3_words(rig, "v_readlane_b32", 10, [256 + 3, 7, 0], 0));
            rig.run(&vop3_words(rig, "v_writelane_b32", 4, [7, 7, 0], 0));
            // To null, which is no register.
            rig.run(&vop3_words(rig, "v_readlane_b32", null_of(rig.target), [256 + 3, 7, 0], 0));
            let exec = exec & rig.w.all;
            let first = if exec == 0 { 0 } else { exec.trailing_zeros() as usize };
            let at = lane as usize % lanes;
            assert_eq!((rig.w.s32(9), rig.w.s32(10)), (before[3][first], before[3][at]));
            let mut want = before[4];
            want[at] = lane;
            assert_eq!(*rig.w.v(4).flat(), want);
        }
    }
}

/// Code 124 reads 0, and 125 reads M0; on gfx10 it is the other way round.
#[test]
fn null_reads_zero_and_m0_has_its_own_code() {
    for rig in waves().iter_mut().flatten() {
        rig.w.set_exec(!0);
        rig.w.set_s32(sreg::M0, 77);
        let (null, m0) = null_and_m0(rig.target);
        rig.run(&[vop1_word(rig, "v_mov_b32", 1, m0), vop1_word(rig, "v_mov_b32", 2, null)]);
        let add = vop3_words(rig, "v_add_nc_u16", 3, [m0, null, 0], 8);
        *rig.w.v_mut(3).flat_mut() = [5; LANES];
        rig.run(&add);
        let first = |v: u16| rig.w.v(v).flat()[0];
        assert_eq!([first(1), first(2), first(3)], [77, 0, 77 << 16 | 5]);
    }
}

/// The opcodes of VOPD's halves, and the instructions of other encodings that do the same; [`single`] has gfx12's other names. The dot
/// product of bf16 has none.
const DUAL: [(u32, &str); 17] = [
    (0, "v_fmac_f32"),
    (1, "v_fmaak_f32"),
    (2, "v_fmamk_f32"),
    (3, "v_mul_f32"),
    (4, "v_add_f32"),
    (5, "v_sub_f32"),
    (6, "v_subrev_f32"),
    (7, "v_mul_dx9_zero_f32"),
    (8, "v_mov_b32"),
    (9, "v_cndmask_b32"),
    (10, "v_max_f32"),
    (11, "v_min_f32"),
    (12, "v_dot2acc_f32_f16"),
    (13, ""),
    (16, "v_add_nc_u32"),
    (17, "v_lshlrev_b32"),
    (18, "v_and_b32"),
];

/// Returns a half as an instruction of its own.
fn single(rig: &TestWave, name: &str, dst: u32, a: u32, b: u32, literal: u32) -> Vec<u32> {
    if name == "v_mov_b32" {
        let words = [vop1_word(rig, name, dst, a), literal];
        return words[..if a == 255 { 2 } else { 1 }].to_vec();
    }
    if name.starts_with("v_dot2acc") && rig.target.is_gfx12() {
        // It has no short form there: d = a * b + d.
        let code = op(Encoding::Vop3p, "v_dot2_f32_f16", rig.target);
        let first = Encoding::Vop3p.first_dword(rig.target, code, dst | 1 << 14);
        let words = [first, a | (256 + b) << 9 | (256 + dst) << 18 | 3 << 27, literal];
        return words[..if a == 255 { 3 } else { 2 }].to_vec();
    }
    let name = match name {
        "v_max_f32" if rig.target.is_gfx12() => "v_max_num_f32",
        "v_min_f32" if rig.target.is_gfx12() => "v_min_num_f32",
        name => name,
    };
    let word = op(Encoding::Vop2, name, rig.target) << 25 | dst << 17 | b << 9 | a;
    let has_literal = a == 255 || name.starts_with("v_fmaak") || name.starts_with("v_fmamk");
    [word, literal][..if has_literal { 2 } else { 1 }].to_vec()
}

/// Compares lanes of a register. With `any_nan`, NaNs may differ: on gfx12, [`single`] returns another instruction for a dot product.
fn assert_lanes(got: &[u32], want: &[u32], any_nan: bool, halves: &str) {
    let is_nan = |bits: u32| f32::from_bits(bits).is_nan();
    for (got, want) in got.iter().zip(want) {
        assert!(got == want || any_nan && is_nan(*got) && is_nan(*want), "{halves}: {got:#x}, not {want:#x}");
    }
}

/// Compares every pair of halves with the two instructions one after the other, each on the registers before.
fn both_halves_of_vopd_read_their_sources_before_either_writes() {
    let mut random = Random::new(119);
    // Waves of 64 have no VOPD.
    for rig in since_gfx11().iter_mut().flatten().filter(|rig| rig.lanes() == 32) {
        rig.w.mode = crate::state::wave::Mode::DEFAULT;
        for (x, x_name) in DUAL.into_iter().filter(|(x, name)| *x < 16 && !name.is_empty()) {
            for (y, y_name) in DUAL.into_iter().filter(|(_, name)| !name.is_empty()) {
                for _ in 0..12 {
                    let bits = random.next();
                    let field = |at: u32, n: u64| (bits >> at) as u32 % n as u32;
                    // Few registers, so that halves often read what the other writes.
                    let (x_dst, y_dst) = (field(0, 4), field(4, 2) * 2);
                    let y_dst = y_dst | !x_dst & 1;
                    let literal = random.next() as u32;
                    let source = |at: u32| match field(at, 8) {
                        0 => 255,
                        1 => 30,
                        2 => 128 + field(at + 3, 60),
                        _ => 256 + field(at + 3, 4),
                    };
                    let (xa, ya, xb, yb) = (source(8), source(16), field(24, 4), field(28, 4));
                    let before = fill(&mut random, rig, 4);
                    let exec = if bits >> 40 & 3 == 0 { random.next() } else { !0 };
                    rig.w.set_exec(exec);
                    rig.w.set_s32(30, random.next() as u32);
                    rig.w.set_s64(sreg::VCC, random.next());
                    rig.run(&single(rig, x_name, x_dst, xa, xb, literal));
                    let x_want = *rig.w.v(x_dst as u16).flat();
                    *rig.w.v_mut(x_dst as u16).flat_mut() = before[x_dst as usize];
                    rig.run(&single(rig, y_name, y_dst, ya, yb, literal));
                    let y_want = *rig.w.v(y_dst as u16).flat();
                    *rig.w.v_mut(y_dst as u16).flat_mut() = before[y_dst as usize];

                    let first = 0xc800_0000 | x << 22 | y << 17 | xb << 9 | xa;
                    let second = x_dst << 24 | y_dst >> 1 << 17 | yb << 9 | ya;
                    let has_literal = xa == 255 || ya == 255 || matches!(x, 1 | 2) || matches!(y, 1 | 2);
                    rig.run(&[first, second, literal][..if has_literal { 3 } else { 2 }]);
                    let mut want = before.clone();
                    (want[x_dst as usize], want[y_dst as usize]) = (x_want, y_want);
                    for (v, want) in (0..).zip(&want) {
                        // Nothing reads the lanes that a wave of 32 hasn't.
                        let got = &rig.w.v(v).flat()[..32];
                        let is_dot = |name: &str, dst| u32::from(v) == dst && name.starts_with("v_dot2acc");
                        let any_nan =
                            rig.target.is_gfx12() && (is_dot(x_name, x_dst) || is_dot(y_name, y_dst));
                        let halves = format!("{x_name} :: {y_name} {first:08x} {second:08x}");
                        assert_lanes(got, &want[..32], any_nan, &halves);
                    }
                }
            }
        }
    }
}

/// `v_dual_dot2acc_f32_bf16` has no other encoding: compared with `v_dot2_f32_bf16`, which adds in the same order.
fn the_dot_product_of_bf16_in_vopd_accumulates() {
    let mut random = Random::new(121);
    for rig in since_gfx11().iter_mut().flatten().filter(|rig| rig.lanes() == 32) {
        for _ in 0..20 {
            let before = fill(&mut random, rig, 4);
            rig.w.set_exec(!0);
            let code = op(Encoding::Vop3p, "v_dot2_f32_bf16", rig.target);
            let first = Encoding::Vop3p.first_dword(rig.target, code, 2 | 1 << 14);
            rig.run(&[first, 256 | 257 << 9 | 258 << 18 | 3 << 27]);
            let want = *rig.w.v(2).flat();
            *rig.w.v_mut(2).flat_mut() = before[2];
            // v_dual_dot2acc_f32_bf16 v2, v0, v1 :: v_dual_mov_b32 v3, v2
            rig.run(&[0xc800_0000 | 13 << 22 | 8 << 17 | 1 << 9 | 256, 2 << 24 | 1 << 17 | 258]);
            let lanes = rig.lanes();
            assert_eq!(rig.w.v(2).flat()[..lanes], want[..lanes]);
            assert_eq!(rig.w.v(3).flat()[..lanes], before[2][..lanes]);
        }
    }
}

/// Numbers for an instruction with a vector that DPP moves are those without DPP for the moved vector.
fn vop3p_moves_lanes_of_its_first_source() {
    let mut random = Random::new(123);
    for rig in since_gfx11().iter_mut().flatten() {
        for name in
            ["v_dot2_f32_f16", "v_fma_mix_f32", "v_fma_mixlo_f16", "v_fma_mixhi_f16", "v_dot2_f32_bf16"]
        {
            let code = op(Encoding::Vop3p, name, rig.target);
            for _ in 0..40 {
                let before = fill(&mut random, rig, 6);
                let exec = if random.next() & 1 != 0 { random.next() } else { !0 } & rig.w.all;
                let bits = random.next() as u32;
                let first = Encoding::Vop3p.first_dword(rig.target, code, 3 | bits & 0x7f00);
                let second = 257 << 9 | 258 << 18 | bits & 0xf800_0000;
                let eight = bits & 1 != 0;
                let control = control(&mut random, eight, 0);
                let fetch = bits & 2 != 0;
                let source = before[0].map(u64::from);
                let (moved, writes) = match eight {
                    true => moved_eight(control, fetch, exec, &source),
                    false => super::controlled::moved(control, exec, &source),
                };
                *rig.w.v_mut(4).flat_mut() = moved.map(|v| v as u32);
                rig.w.set_exec(writes);
                rig.run(&[first, second | 256 + 4]);
                let want = *rig.w.v(3).flat();
                *rig.w.v_mut(3).flat_mut() = before[3];
                rig.w.set_exec(exec);
                let dpp = if eight { DPP8 + u32::from(fetch) } else { DPP16 };
                rig.run(&[first, second | dpp, control]);
                assert_eq!(rig.w.v(3).flat(), &want, "{name} {control:#x} of {} lanes", rig.lanes());
                assert_eq!(rig.w.exec(), exec);
            }
        }
    }
}

/// Returns a part of a dword as a number.
fn part(v: u32, n: u32, bits: u32, signed: bool) -> i64 {
    let part = i64::from(v) >> (n * bits) & ((1 << bits) - 1);
    if signed && part >> (bits - 1) != 0 { part - (1 << bits) } else { part }
}

fn dot_products_have_signed_and_unsigned_sources() {
    let mut random = Random::new(125);
    for rig in since_gfx11().iter_mut().flatten() {
        for (name, bits) in [("v_dot4_i32_iu8", 8), ("v_dot8_i32_iu4", 4)] {
            for n in 0..64u32 {
                let code = op(Encoding::Vop3p, name, rig.target);
                let before = fill(&mut random, rig, 4);
                let exec = if n & 1 != 0 { random.next() } else { !0 };
                rig.w.set_exec(exec);
                let (signs, clamp) = (n >> 1 & 3, n >> 3 & 1);
                let (c, scalar) = ([0x7fff_ff00, 0x8000_0040, 5, 0xffff_0000][n as usize >> 4], 30);
                rig.w.set_s32(scalar as u16, c);
                let first = Encoding::Vop3p.first_dword(rig.target, code, 3 | clamp << 15 | 1 << 14);
                rig.run(&[first, 256 | 257 << 9 | scalar << 18 | 3 << 27 | signs << 29]);
                for lane in 0..rig.lanes() {
                    let [a, b] = [before[0][lane], before[1][lane]];
                    let products = (0..32 / bits)
                        .map(|n| part(a, n, bits, signs & 1 != 0) * part(b, n, bits, signs & 2 != 0));
                    let sum = products.sum::<i64>() + i64::from(c as i32);
                    let sum = if clamp != 0 { sum.clamp(i32::MIN.into(), i32::MAX.into()) } else { sum };
                    let want = if exec >> lane & 1 != 0 { sum as u32 } else { before[3][lane] };
                    assert_eq!(rig.w.v(3).flat()[lane], want, "{name} {signs} {clamp}");
                }
            }
        }
    }
}

/// The same vector with a literal, in the third dword of VOP3P.
#[test]
fn literals_follow_long_encodings() {
    for rig in waves().iter_mut().flatten() {
        rig.w.set_exec(!0);
        *rig.w.v_mut(0).flat_mut() = [0x0003_0002; LANES];
        rig.w.set_s32(SGPR[0] as u16, 77);
        let code = op(Encoding::Vop3p, "v_pk_add_u16", rig.target);
        let first = Encoding::Vop3p.first_dword(rig.target, code, 1 | 1 << 14);
        rig.run(&[first, 256 | 255 << 9 | 3 << 27, 0x0010_0020, vop1_word(rig, "v_mov_b32", 2, SGPR[0])]);
        assert_eq!([rig.w.v(1).flat()[0], rig.w.v(2).flat()[0]], [0x0013_0022, 77]);
    }
}

/// In a wave of 32, a mask of lanes is any one SGPR.
fn carries_are_in_single_registers() {
    let mut random = Random::new(127);
    for rig in waves().iter_mut().flatten().filter(|rig| rig.lanes() == 32) {
        for _ in 0..40 {
            let before = fill(&mut random, rig, 3);
            let exec = if random.next() & 1 != 0 { random.next() } else { !0 };
            rig.w.set_exec(exec);
            let masks: [u32; 4] = std::array::from_fn(|_| random.next() as u32);
            for (s, mask) in (5..).zip(masks) {
                rig.w.set_s32(s, mask);
            }
            // v_add_co_ci_u32_e64 v2, s5, v0, v1, s7
            let code = 256 + op(Encoding::Vop2, "v_add_co_ci_u32", rig.target);
            let first = Encoding::Vop3.first_dword(rig.target, code, 2 | 5 << 8);
            rig.run(&[first, 256 | 257 << 9 | 7 << 18]);
            let mut carries = 0;
            for lane in 0..32 {
                let carry = u64::from(masks[2] >> lane & 1);
                let sum = u64::from(before[0][lane]) + u64::from(before[1][lane]) + carry;
                let active = exec >> lane & 1 != 0;
                carries |= u32::from(active && sum >> 32 != 0) << lane;
                assert_eq!(rig.w.v(2).flat()[lane], if active { sum as u32 } else { before[2][lane] });
            }
            let got: [u32; 4] = std::array::from_fn(|n| rig.w.s32(5 + n as u16));
            assert_eq!(got, [carries, masks[1], masks[2], masks[3]]);
        }
    }
}
