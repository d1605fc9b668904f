//! Compares branches, calls, indexed registers and hardware registers with models: lists of the instructions that a
//! program executes, arrays of registers, strings of bits.

use amdgpu_isa::{Encoding, Target};

use crate::exec::level::SimdLevel;
use crate::report::fault::FaultCause;
use crate::state::wave::{LANES, Mode, sreg};
use crate::testing::test_wave::{CODE, Random, TestWave, end_of, op};

crate::testing::tally::verified!(branches, jumps, indexed_registers, relative_moves, hardware_registers);

fn rigs() -> [TestWave; 3] {
    Target::GFX9.map(|target| TestWave::new(target, SimdLevel::best()))
}

/// The first of the SGPRs that a program's instructions set, one each.
const MARK: u16 = 40;

/// Returns a program that jumps to its dword `from`, where `jump` is. Each other instruction sets its SGPR.
fn program(rig: &TestWave, from: usize, jump: u32, len: usize) -> Vec<u32> {
    let mut words = vec![rig.sopp("s_branch", from as u16 - 1)];
    for at in 1..len {
        words.push(if at == from { jump } else { rig.sopk("s_movk_i32", u32::from(MARK) + at as u32, 1) });
    }
    words
}

/// Returns whether exactly the instructions from `to` on were executed.
fn executed_from(rig: &TestWave, to: usize, jump: usize, len: usize) -> bool {
    (1..len).filter(|at| *at != jump).all(|at| (rig.w.s32(MARK + at as u16) != 0) == (at >= to))
}

/// Returns the length of a program, the position of its jump, and the jump's target. Jumps are forward, so that the
/// model needs no loop.
fn layout(random: &mut Random) -> (usize, usize, usize) {
    let len = 8 + (random.next() % 24) as usize;
    let from = 1 + (random.next() % (len as u64 - 3)) as usize;
    let to = from + 1 + (random.next() % (len - from - 1) as u64) as usize;
    (len, from, to)
}

fn branches() {
    let mut random = Random::new(61);
    // In waves of 32, the low halves of VCC and EXEC decide (RDNA3 ISA, "VCC" and "EXEC").
    type Taken = fn(bool, u64, u64) -> bool;
    let names: [(&str, Taken); 7] = [
        ("s_branch", |_, _, _| true),
        ("s_cbranch_scc0", |scc, _, _| !scc),
        ("s_cbranch_scc1", |scc, _, _| scc),
        ("s_cbranch_vccz", |_, vcc, _| vcc == 0),
        ("s_cbranch_vccnz", |_, vcc, _| vcc != 0),
        ("s_cbranch_execz", |_, _, exec| exec == 0),
        ("s_cbranch_execnz", |_, _, exec| exec != 0),
    ];
    for mut rig in TestWave::every() {
        for (name, taken) in names {
            for _ in 0..100 {
                let (len, from, to) = layout(&mut random);
                let mask = |random: &mut Random| match random.next() % 4 {
                    0 => 0,
                    1 => 1 << (random.next() % 64),
                    _ => random.next(),
                };
                let (scc, vcc, exec) = (random.next() & 1 != 0, mask(&mut random), mask(&mut random));
                for n in 0..64 {
                    rig.w.set_s32(MARK + n, 0);
                }
                rig.w.set_scc(scc);
                rig.w.set_s64(sreg::VCC, vcc);
                rig.w.set_exec(exec);
                let jump = rig.sopp(name, (to - from - 1) as u16);
                let words = program(&rig, from, jump, len);
                rig.run(&words);
                let to = if taken(scc, vcc & rig.w.all, exec & rig.w.all) { to } else { from + 1 };
                assert!(executed_from(&rig, to, from, len), "{name} from {from} to {to} of {len}");
            }
            // A branch out of the code is a fault only if it is taken.
            let out = rig.sopp(name, 0x4000);
            rig.w.set_scc(name.ends_with('0'));
            rig.w.set_s64(sreg::VCC, if name.ends_with("vccz") { 4 } else { 0 });
            rig.w.set_exec(if name.ends_with("execz") { 1 } else { 0 });
            match rig.try_run(&[out]) {
                Err(FaultCause::BadJump { target }) => {
                    assert_eq!((name, target), ("s_branch", CODE + 4 + 4 * 0x4000));
                }
                other => assert_eq!(other, Ok(()), "{name}"),
            }
            rig.w.set_scc(name.ends_with('1'));
            rig.w.set_s64(sreg::VCC, if name.ends_with("vccnz") { 4 } else { 0 });
            rig.w.set_exec(if name.ends_with("execnz") { 1 } else { 0 });
            assert_eq!(
                rig.try_run(&[out]),
                Err(FaultCause::BadJump { target: CODE + 4 + 4 * 0x4000 }),
                "{name}"
            );
            // Backward jumps: over the end of the program, to instructions before it.
            for _ in 0..20 {
                let before = 1 + (random.next() % 20) as usize;
                let mut words = vec![rig.sopp("s_branch", before as u16 + 1)];
                words.extend((0..before).map(|n| rig.sopk("s_movk_i32", u32::from(MARK) + n as u32, 1)));
                words.push(end_of(rig.target));
                let to = (random.next() % before as u64) as i16;
                words.push(rig.sopp(name, (to - before as i16 - 2) as u16));
                for n in 0..64 {
                    rig.w.set_s32(MARK + n, 0);
                }
                rig.w.set_scc(name.ends_with('1'));
                rig.w.set_s64(sreg::VCC, if name.ends_with("vccnz") { 4 } else { 0 });
                rig.w.set_exec(if name.ends_with("execnz") { 1 << (rig.lanes() - 1) } else { 0 });
                rig.run(&words);
                for n in 0..before as u16 {
                    assert_eq!(rig.w.s32(MARK + n) != 0, n >= to as u16, "{name} back to {to} of {before}");
                }
            }
        }
    }
}

fn jumps() {
    let mut random = Random::new(62);
    for mut rig in TestWave::every() {
        for name in ["s_getpc_b64", "s_setpc_b64", "s_swappc_b64", "s_call_b64"] {
            for _ in 0..100 {
                let (len, from, to) = layout(&mut random);
                for n in 0..64 {
                    rig.w.set_s32(MARK + n, 0);
                }
                let exec = random.next();
                rig.w.set_exec(exec);
                rig.w.set_s64(4, CODE + 4 * to as u64);
                rig.w.set_s64(6, 77);
                // The link register may be that of the target.
                let link = if random.next() % 4 == 0 { 4 } else { 6 };
                let jump = match name {
                    "s_call_b64" => rig.sopk(name, u32::from(link), (to - from - 1) as u16),
                    "s_getpc_b64" => rig.sop1(name, u32::from(link), 0),
                    _ => rig.sop1(name, u32::from(link), 4),
                };
                let words = program(&rig, from, jump, len);
                rig.run(&words);
                let to = if name == "s_getpc_b64" { from + 1 } else { to };
                assert!(executed_from(&rig, to, from, len), "{name} from {from} to {to} of {len}");
                let next = CODE + 4 * (from as u64 + 1);
                let linked = if name == "s_setpc_b64" {
                    if link == 4 { CODE + 4 * to as u64 } else { 77 }
                } else {
                    next
                };
                assert_eq!(rig.w.s64(link), linked, "{name}");
                assert_eq!(rig.w.s64(sreg::EXEC), exec);
            }
        }
    }
}

/// Runs VALU instructions between `s_set_gpr_idx_on` and `_off`, and compares them with an array of registers.
fn indexed_registers() {
    const FIRST: u16 = 10;
    const COUNT: usize = 40;
    let mut random = Random::new(63);
    for mut rig in rigs() {
        let mad = op(Encoding::Vop3, "v_mad_u32_u24", rig.target) << 16 | 0xd000_0000;
        let add = op(Encoding::Vop2, "v_add_u32", rig.target) << 25;
        for _ in 0..200 {
            let mut model = [[0u32; LANES]; COUNT];
            for (n, lanes) in model.iter_mut().enumerate() {
                *lanes = std::array::from_fn(|_| random.next() as u32);
                *rig.w.v_mut(FIRST + n as u16).flat_mut() = *lanes;
            }
            let exec = if random.next() % 2 == 0 { !0 } else { random.next() };
            rig.w.set_exec(exec);
            let indices: [u32; 3] = std::array::from_fn(|_| random.next() as u32 % 16);
            let modes: [u32; 2] = std::array::from_fn(|_| random.next() as u32 % 16);
            for (n, index) in indices.iter().enumerate() {
                // Only the low byte is used.
                rig.w.set_s32(20 + n as u16, index | (random.next() as u32) << 8);
            }
            rig.w.set_s32(25, 0x00ab_cdef);
            let m0 = random.next() as u32;
            rig.w.set_s32(sreg::M0, m0);
            let mode = rig.w.mode;
            let register = |random: &mut Random| random.next() as u32 % 20;
            // d = a * b + c in 24 bits, or d = a + b; `scalar` for a constant SGPR as the first source.
            let mut instruction = |words: &mut Vec<u32>, index: u32, mode: u32| {
                let [d, a, b, c]: [u32; 4] = std::array::from_fn(|_| register(&mut random));
                let scalar = random.next() % 4 == 0;
                let short = random.next() % 2 == 0;
                let first = u32::from(FIRST);
                let source = if scalar { 25 } else { 256 + first + a };
                if short {
                    words.push(add | (first + d) << 17 | (first + b) << 9 | source);
                } else {
                    words.extend([
                        mad | (first + d),
                        source | (256 + first + b) << 9 | (256 + first + c) << 18,
                    ]);
                }
                let moved = |n: u32, at: u32| (at + if mode >> n & 1 != 0 { index } else { 0 }) as usize;
                let [p, q, r] = [(0, a), (1, b), (2, c)].map(|(n, at)| model[moved(n, at)]);
                let to = moved(3, d);
                for lane in (0..LANES).filter(|lane| exec >> lane & 1 != 0) {
                    let [x, y, z] =
                        [if scalar { 0x00ab_cdef } else { p[lane] }, q[lane], r[lane]].map(u64::from);
                    let value = if short { x + y } else { (x & 0xff_ffff) * (y & 0xff_ffff) + z };
                    model[to][lane] = value as u32;
                }
            };
            let mut words = vec![rig.sopc("s_set_gpr_idx_on", 20, modes[0])];
            instruction(&mut words, indices[0], modes[0]);
            instruction(&mut words, indices[0], modes[0]);
            words.push(rig.sop1("s_set_gpr_idx_idx", 0, 21));
            instruction(&mut words, indices[1], modes[0]);
            words.push(rig.sopp("s_set_gpr_idx_mode", modes[1] as u16));
            instruction(&mut words, indices[1], modes[1]);
            words.push(rig.sopc("s_set_gpr_idx_on", 22, modes[0]));
            instruction(&mut words, indices[2], modes[0]);
            words.push(rig.sopp("s_set_gpr_idx_off", 0));
            instruction(&mut words, 0, 0);
            rig.run(&words);
            for (n, lanes) in model.iter().enumerate() {
                assert_eq!(
                    rig.w.v(FIRST + n as u16).flat(),
                    lanes,
                    "v{} of {words:08x?}",
                    usize::from(FIRST) + n
                );
            }
            let want = m0 & !0xf0ff | indices[2] | modes[0] << 12;
            assert_eq!((rig.w.s32(sreg::M0), rig.w.mode.0), (want, mode.0));
        }
    }
}

fn relative_moves() {
    let mut random = Random::new(64);
    for mut rig in TestWave::every() {
        for name in ["s_movrels_b32", "s_movrels_b64", "s_movreld_b32", "s_movreld_b64"] {
            let (wide, loads) = (name.ends_with("64"), name.contains("rels"));
            for _ in 0..100 {
                let mut model: Vec<u32> = (0..100).map(|_| random.next() as u32).collect();
                for (n, value) in model.iter().enumerate() {
                    rig.w.set_s32(n as u16, *value);
                }
                let even = if wide { !1 } else { !0 };
                let [dst, src, index] = [40, 40, 50].map(|below| (random.next() % below) as usize & even);
                rig.w.set_s32(sreg::M0, index as u32);
                let word = rig.sop1(name, dst as u32, src as u32);
                rig.run(&[word]);
                let (from, to) = if loads { (src + index, dst) } else { (src, dst + index) };
                let values = model[from..from + 1 + usize::from(wide)].to_vec();
                model[to..to + values.len()].copy_from_slice(&values);
                for (n, value) in model.iter().enumerate() {
                    assert_eq!(rig.w.s32(n as u16), *value, "{name} s{dst} s{src} by {index}: s{n}");
                }
            }
        }
    }
}

/// Reads and writes fields of MODE and TRAPSTS, and compares them bit by bit.
fn hardware_registers() {
    let mut random = Random::new(65);
    for mut rig in rigs() {
        for trial in 0..300 {
            // The bits for roundings, denormals, clamp, IEEE, exceptions and FP16_OVFL.
            let start = random.next() as u32 & 0x0087_fbff;
            let (id, size, at) = (
                if random.next() % 2 == 0 { 1 } else { 3 },
                1 + random.next() as u32 % 32,
                random.next() as u32 % 32,
            );
            let imm = ((size - 1) << 11 | at << 6 | id) as u16;
            rig.w.mode = Mode(start);
            rig.w.trapsts = start;
            let bits: Vec<bool> = (0..32).map(|n| start >> n & 1 != 0).collect();
            let number =
                |bits: &[bool]| -> u32 { bits.iter().enumerate().map(|(n, b)| u32::from(*b) << n).sum() };
            let end = (at + size).min(32) as usize;
            match trial % 3 {
                0 => {
                    rig.run(&[rig.sopk("s_getreg_b32", 9, imm)]);
                    assert_eq!(rig.w.s32(9), number(&bits[at as usize..end]), "{id} {at} {size}");
                    assert_eq!((rig.w.mode.0, rig.w.trapsts), (start, start));
                }
                which => {
                    // The bits for indexed registers and VSKIP stay 0; other tests set them.
                    let value = random.next() as u32 & !(0x1800_0000 >> at);
                    let mut want = bits.clone();
                    for n in at as usize..end {
                        want[n] = value >> (n - at as usize) & 1 != 0;
                    }
                    rig.w.set_s32(9, value);
                    match which {
                        1 => rig.run(&[rig.sopk("s_setreg_b32", 9, imm)]),
                        _ => rig.run(&[rig.sopk("s_setreg_imm32_b32", 0, imm), value]),
                    }
                    let want = number(&want);
                    let want = if id == 1 { (want, start) } else { (start, want) };
                    assert_eq!((rig.w.mode.0, rig.w.trapsts), want, "{id} {at} {size}");
                }
            }
        }
    }
}
