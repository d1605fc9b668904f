//! Compares indexed vector registers and VSKIP in random programs with a model that resolves registers one by one.

use amdgpu_isa::{Encoding, Target};

use crate::exec::inst::{Inst, StopReason};
use crate::exec::interpret::run_wave;
use crate::exec::level::SimdLevel;
use crate::state::wave::{LANES, Mode, sreg};
use crate::testing::test_wave::{Random, TestWave};

crate::testing::tally::verified!(random_programs_agree_with_the_manual);

const ON: u32 = 0xbf11_0000;

fn v_mov(to: u32, from: u32) -> u32 {
    0x7e00_0200 | to << 17 | 256 + from
}

fn v_add(to: u32, a: u32, b: u32) -> u32 {
    0x6800_0000 | to << 17 | b << 9 | 256 + a
}

/// The registers of one lane, and the modes.
struct Model {
    v: [u32; 256],
    index: usize,
    mode: u32,
    on: bool,
    skip: bool,
}

impl Model {
    fn source(&self, register: u32, n: u32) -> u32 {
        let moved = if self.on && self.mode & 1 << n != 0 { self.index } else { 0 };
        // Past the last register, the first one is read.
        *self.v.get(register as usize + moved).unwrap_or(&self.v[0])
    }

    fn set(&mut self, register: u32, value: u32) {
        let moved = if self.on && self.mode & 8 != 0 { self.index } else { 0 };
        if let Some(to) = self.v.get_mut(register as usize + moved) {
            *to = value;
        }
    }
}

fn random_programs_agree_with_the_manual() {
    let mut random = Random::new(90);
    for round in 0..200 {
        let target = Target::GFX9[round % 3];
        let mut rig = TestWave::new(target, SimdLevel::best());
        let mut model = Model {
            v: std::array::from_fn(|_| random.next() as u32),
            index: 0,
            mode: 0,
            on: false,
            skip: false,
        };
        for (n, value) in model.v.iter().enumerate() {
            *rig.w.v_mut(n as u16) = crate::exec::lanes::splat(*value);
        }
        let indices: [u32; 4] = std::array::from_fn(|_| random.int() as u32);
        for (n, index) in indices.iter().enumerate() {
            rig.w.set_s32(20 + n as u16, *index);
        }
        let mut program = Vec::new();
        for _ in 0..60 {
            let r = random.next();
            let (which, a, b, c) = (r % 4, r as u32 >> 8 & 255, r as u32 >> 16 & 255, r as u32 >> 24 & 255);
            let index = indices[which as usize];
            match r >> 32 & 15 {
                0..=5 => {
                    program.push(v_add(a, b, c));
                    if !model.skip {
                        let sum = model.source(b, 0).wrapping_add(model.source(c, 1));
                        model.set(a, sum);
                    }
                }
                6 | 7 => {
                    program.push(v_mov(a, b));
                    if !model.skip {
                        let value = model.source(b, 0);
                        model.set(a, value);
                    }
                }
                8 | 9 => {
                    program.push(ON | (a & 15) << 8 | (20 + which as u32));
                    (model.index, model.mode, model.on) = ((index & 255) as usize, a & 15, true);
                }
                10 => {
                    program.push(rig.sop1("s_set_gpr_idx_idx", 0, 20 + which as u32));
                    model.index = (index & 255) as usize;
                }
                11 => {
                    program.push(rig.sopp("s_set_gpr_idx_mode", a as u16));
                    model.mode = a & 15;
                }
                12 | 13 => {
                    program.push(rig.sopp("s_set_gpr_idx_off", 0));
                    model.on = false;
                }
                _ => {
                    // The number of the bit is a constant.
                    program.push(rig.sopc("s_setvskip", 20 + which as u32, 128 + (b & 63)));
                    model.skip = index >> (b & 31) & 1 != 0;
                }
            }
        }
        rig.run(&program);
        for (n, value) in model.v.iter().enumerate() {
            assert_eq!(*rig.w.v(n as u16).flat(), [*value; LANES], "v{n} in round {round}");
        }
        assert_eq!(rig.w.mode.0 & Mode::GPR_IDX_EN != 0, model.on);
        assert_eq!(rig.w.mode.0 & Mode::VSKIP != 0, model.skip);
        assert_eq!(rig.w.s32(sreg::M0) & 0xf0ff, model.index as u32 | model.mode << 12);
        assert_eq!(rig.w.count, program.len() as u64 + 1);
    }
}

#[test]
fn vskip_skips_vector_instructions() {
    let mut rig = TestWave::gfx90a();
    let at = rig.space.alloc(64, 0).unwrap();
    rig.w.set_s64(4, at);
    *rig.w.v_mut(1) = crate::exec::lanes::splat(7);
    // Stores with FLAT, GLOBAL, MUBUF, DS and SCRATCH at invalid addresses, a read of a lane, comparisons.
    let memory = [Encoding::Flat, Encoding::Global, Encoding::Mubuf, Encoding::Ds, Encoding::Scratch];
    let mut program = vec![rig.sopc("s_setvskip", 129, 128)];
    for encoding in memory {
        let name = match encoding {
            Encoding::Flat => "flat_store_dword",
            Encoding::Global => "global_store_dword",
            Encoding::Mubuf => "buffer_store_dword",
            Encoding::Ds => "ds_write_b32",
            _ => "scratch_store_dword",
        };
        let op = crate::testing::test_wave::op(encoding, name, rig.target);
        let high = if matches!(encoding, Encoding::Flat | Encoding::Global) { 0x7f << 16 } else { 0 };
        program.extend([encoding.first_dword(Target::Gfx90a, op, 0), high | 1 << 8]);
    }
    program.push(v_mov(2, 1));
    program.push(0x7e00_0500 | 30 << 17 | 1); // v_readfirstlane_b32 s30, v1
    // Scalar instructions are executed, also those that access memory.
    program.push(rig.sopk("s_movk_i32", 31, 5));
    program.extend(rig.smem("s_store_dword", 31, 4, 0));
    program.push(rig.sopc("s_setvskip", 128, 128));
    program.push(v_mov(3, 1));
    rig.run(&program);
    assert_eq!((rig.w.v(2).flat()[9], rig.w.v(3).flat()[9], rig.w.s32(30)), (0, 7, 0));
    let mut stored = [0; 4];
    rig.space.read(at, &mut stored).unwrap();
    assert_eq!(stored, [5, 0, 0, 0]);
}

#[test]
fn mode_can_be_written_as_a_register() {
    let mut rig = TestWave::gfx90a();
    let hwreg = |at: u16, size: u16| (size - 1) << 11 | at << 6 | 1;
    *rig.w.v_mut(1) = crate::exec::lanes::splat(7);
    rig.w.set_s32(sreg::M0, 1 << 12 | 1);
    *rig.w.v_mut(2) = crate::exec::lanes::splat(8);
    let program = [
        rig.sopk("s_setreg_imm32_b32", 0, hwreg(28, 1)),
        1,
        v_mov(3, 1),
        rig.sopk("s_setreg_imm32_b32", 0, hwreg(27, 2)),
        1,
        v_mov(4, 1),
        rig.sopk("s_getreg_b32", 9, hwreg(27, 5)),
        rig.sopk("s_setreg_imm32_b32", 0, hwreg(27, 1)),
        0,
        v_mov(5, 1),
    ];
    rig.run(&program);
    assert_eq!([3, 4, 5].map(|v| rig.w.v(v).flat()[0]), [0, 8, 7]);
    assert_eq!(rig.w.s32(9), 1);
}

#[test]
fn a_wave_can_be_interrupted_in_either_mode() {
    for (name, stop) in
        [("s_barrier", StopReason::Barrier), ("s_sleep", StopReason::Slice), ("s_endpgm", StopReason::End)]
    {
        let mut rig = TestWave::gfx90a();
        *rig.w.v_mut(12) = crate::exec::lanes::splat(7);
        rig.w.set_s32(20, 2);
        let program = [ON | 1 << 8 | 20, v_mov(1, 10), rig.sopp(name, 1), v_mov(2, 10)];
        let words =
            [&program[..], &[rig.sopp("s_set_gpr_idx_off", 0), crate::testing::test_wave::END]].concat();
        let code = std::sync::Arc::new(crate::exec::inst::Code::decode(
            &words,
            crate::testing::test_wave::CODE,
            &[],
            rig.target,
            false,
            rig.level,
        ));
        rig.cx.code = std::sync::Arc::clone(&code);
        assert_eq!(run_wave(&mut rig.w, &mut rig.cx, &code, 1000), stop);
        assert_eq!((rig.w.v(1).flat()[0], rig.w.v(2).flat()[0], rig.w.count), (7, 0, 3));
        if stop != StopReason::End {
            assert_eq!(run_wave(&mut rig.w, &mut rig.cx, &code, 1000), StopReason::End);
            assert_eq!((rig.w.v(2).flat()[0], rig.w.count), (7, 6));
        }
    }
    // An endless loop stops at the end of its time slice.
    let mut rig = TestWave::gfx90a();
    rig.budget = 5000;
    let branch = rig.sopp("s_branch", -2i16 as u16);
    rig.run(&[ON | 20, v_mov(1, 10), branch]);
    assert!(rig.w.count >= 5000 && rig.w.count < 1_010_000);
    // A fault is reported at its instruction.
    let mut rig = TestWave::gfx90a();
    let trap = rig.sopp("s_trap", 2);
    assert!(rig.try_run(&[ON | 20, v_mov(1, 10), trap]).is_err());
    let at: &Inst = &rig.cx.code.insts[rig.w.next as usize];
    assert_eq!(at.row.name, "s_trap");
}

#[test]
fn missing_operands_stay_missing() {
    let mut rig = TestWave::gfx90a();
    rig.w.set_s32(20, 200);
    // v_nop has no operands; a comparison has a mask as destination, v_readfirstlane_b32 a scalar.
    let program = [ON | 15 << 8 | 20, 0x7e00_0000, 0x7d94_0301, 0x7e00_0500 | 30 << 17 | 256 + 1];
    *rig.w.v_mut(201) = crate::exec::lanes::splat(9);
    rig.run(&program);
    assert_eq!((rig.w.vcc(), rig.w.s32(30)), (!0, 9));
}

#[test]
fn each_encoding_is_scalar_or_vector() {
    for encoding in Encoding::ALL {
        for row in encoding.rows() {
            let scalar = encoding.name().starts_with("SOP") || encoding == Encoding::Smem;
            assert_eq!(row.is_vector(), !scalar, "{}", row.name);
            assert!(row.is_vector() || !row.is_valu());
        }
    }
}
