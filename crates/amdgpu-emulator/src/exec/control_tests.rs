//! Tests of control flow, calls, hardware registers and scalar memory, and of their faults.

use amdgpu_isa::{Encoding, Target};

use crate::exec::level::SimdLevel;
use crate::memory::apertures::{PRIVATE_BASE_HI, SHARED_BASE_HI};
use crate::report::access::{AccessKind, LaneAddress, MemorySpace};
use crate::report::fault::FaultCause;
use crate::state::wave::sreg;
use crate::testing::test_wave::{CODE, TestWave};

#[test]
fn a_loop_runs_until_its_counter_ends_it() {
    let mut rig = TestWave::gfx90a();
    // s0 = 10; do { s1 += 3; s0 -= 1 } while (s0 != 0)
    rig.run(&[
        rig.sopk("s_movk_i32", 0, 10),
        rig.sopk("s_addk_i32", 1, 3),
        rig.sopk("s_addk_i32", 0, -1i16 as u16),
        rig.sopk("s_cmpk_lg_u32", 0, 0),
        rig.sopp("s_cbranch_scc1", -4i16 as u16),
    ]);
    assert_eq!(rig.w.s32(1), 30);
    assert_eq!(rig.w.count, 1 + 10 * 4 + 1);
}

#[test]
fn branches_test_vcc_and_exec() {
    for (name, vcc, exec, taken) in [
        ("s_cbranch_vccz", 0, 1, true),
        ("s_cbranch_vccz", 1 << 40, 1, false),
        ("s_cbranch_vccnz", 1 << 40, 1, true),
        ("s_cbranch_vccnz", 0, 1, false),
        ("s_cbranch_execz", 1, 0, true),
        ("s_cbranch_execz", 0, 1 << 63, false),
        ("s_cbranch_execnz", 0, 1 << 63, true),
        ("s_cbranch_execnz", 1, 0, false),
    ] {
        let mut rig = TestWave::gfx90a();
        rig.w.set_s64(sreg::VCC, vcc);
        rig.w.set_exec(exec);
        rig.run(&[rig.sopp(name, 1), rig.sopk("s_movk_i32", 0, 1)]);
        assert_eq!(rig.w.s32(0) == 0, taken, "{name} {vcc:#x} {exec:#x}");
        // The flags VCCZ and EXECZ as operands.
        rig.run(&[rig.sop1("s_mov_b32", 1, 251), rig.sop1("s_mov_b32", 2, 252)]);
        assert_eq!((rig.w.s32(1), rig.w.s32(2)), (u32::from(vcc == 0), u32::from(exec == 0)));
    }
}

#[test]
fn calls_return_to_the_next_instruction() {
    let mut rig = TestWave::gfx90a();
    // Calls the function at dword 5, twice: through a register and directly.
    rig.run(&[
        rig.sop1("s_getpc_b64", 4, 0),
        rig.sopk("s_addk_i32", 4, 16),
        rig.sop1("s_swappc_b64", 30, 4),
        rig.sopk("s_call_b64", 30, 1),
        crate::testing::test_wave::END,
        rig.sopk("s_addk_i32", 0, 7),
        rig.sop1("s_setpc_b64", 0, 30),
    ]);
    assert_eq!(rig.w.s32(0), 14);
    assert_eq!(rig.w.s64(30), CODE + 16);
}

#[test]
fn jumps_to_no_instruction_fault() {
    let mut rig = TestWave::gfx90a();
    let there = rig.sop1("s_setpc_b64", 0, 30);
    for target in [0, CODE - 4, CODE + 2, CODE + 4000, u64::MAX] {
        rig.w.set_s64(30, target);
        assert_eq!(rig.try_run(&[there]), Err(FaultCause::BadJump { target }));
    }
    // A jump to the literal of another instruction.
    rig.w.set_s64(30, CODE + 8);
    let literal = rig.sop1("s_mov_b32", 0, 255);
    assert_eq!(rig.try_run(&[there, literal, 5]), Err(FaultCause::BadJump { target: CODE + 8 }));
    // Direct branches out of the code.
    for distance in [100, -100i16] {
        let target = CODE.wrapping_add_signed(4 + 4 * i64::from(distance));
        let branch = rig.sopp("s_branch", distance as u16);
        assert_eq!(rig.try_run(&[branch]), Err(FaultCause::BadJump { target }));
    }
    // A branch that isn't taken does nothing.
    for (name, scc, taken) in [("s_cbranch_scc0", 1, false), ("s_cbranch_scc0", 0, true)] {
        rig.w.set_s32(sreg::SCC, scc);
        let branch = rig.sopp(name, 100);
        let target = CODE + 404;
        let want = if taken { Err(FaultCause::BadJump { target }) } else { Ok(()) };
        assert_eq!(rig.try_run(&[branch]), want);
    }
    // A direct branch to the literal is valid: the literal is decoded as an instruction.
    let into = rig.sopp("s_branch", 1);
    let inner = rig.sopk("s_movk_i32", 3, 77);
    rig.run(&[into, literal, inner]);
    assert_eq!(rig.w.s32(3), 77);
}

#[test]
fn unexecutable_instructions_fault_when_reached() {
    let mut rig = TestWave::gfx90a();
    let over = rig.sopp("s_branch", 1);
    let unknown = 0xbe80_ff00;
    rig.run(&[over, unknown]);
    assert_eq!(rig.try_run(&[unknown]), Err(FaultCause::IllegalInstruction));
    for name in ["s_rfe_b64", "s_rfe_restore_b64"] {
        let privileged = match name {
            "s_rfe_b64" => rig.sop1(name, 0, 30),
            _ => rig.sop2(name, 0, 30, 2),
        };
        assert_eq!(rig.try_run(&[privileged]), Err(FaultCause::Privileged));
    }
    // image_msaa_load v[0:3], v[0:2], s[0:7] dmask:0x1 dim:SQ_RSRC_IMG_2D_MSAA
    let image = [Encoding::Mimg.first_dword(Target::Gfx11, 24, 0x118), 0];
    let mut gfx11 = TestWave::new(Target::Gfx11, SimdLevel::best());
    assert!(matches!(gfx11.try_run(&image), Err(FaultCause::Unimplemented { .. })));
    let traps = [rig.sopp("s_trap", 3), rig.sopp("s_trap", 2)];
    assert_eq!(rig.try_run(&traps), Err(FaultCause::Trap { id: 2 }));
    // Instructions that end or halt the wave, and the same ones with even constants.
    let set = rig.sopk("s_movk_i32", 0, 7);
    for (name, odd) in [
        ("s_setkill", Ok(())),
        ("s_sethalt", Err(FaultCause::Halted)),
        ("s_sendmsghalt", Err(FaultCause::Halted)),
    ] {
        rig.w.set_s32(0, 0);
        let stops = rig.sopp(name, 1);
        assert_eq!((rig.try_run(&[stops, set]), rig.w.s32(0)), (odd, 0), "{name}");
    }
    for name in ["s_setkill", "s_sethalt"] {
        rig.w.set_s32(0, 0);
        let stops_not = rig.sopp(name, 2);
        rig.run(&[stops_not, set]);
        assert_eq!(rig.w.s32(0), 7, "{name}");
    }
}

#[test]
fn hardware_registers() {
    let hwreg = |id: u16, at: u16, size: u16| (size - 1) << 11 | at << 6 | id;
    for target in Target::GFX9 {
        let mut rig = TestWave::new(target, SimdLevel::Portable);
        rig.w.set_s32(5, 0b1010);
        rig.run(&[
            rig.sopk("s_getreg_b32", 0, hwreg(15, 0, 16)),
            rig.sopk("s_getreg_b32", 1, hwreg(15, 16, 16)),
            rig.sopk("s_setreg_b32", 5, hwreg(1, 4, 4)),
            rig.sopk("s_getreg_b32", 2, hwreg(1, 0, 8)),
            rig.sopk("s_setreg_imm32_b32", 0, hwreg(1, 0, 2)),
            3,
            rig.sopk("s_getreg_b32", 3, hwreg(1, 0, 32)),
            rig.sopk("s_getreg_b32", 4, hwreg(6, 12, 9)),
        ]);
        assert_eq!(rig.w.s32(0) << 16, PRIVATE_BASE_HI);
        assert_eq!(rig.w.s32(1) << 16, SHARED_BASE_HI);
        assert_eq!(rig.w.s32(2), 0xa0);
        assert_eq!(rig.w.s32(3), 0x3a3);
        // The largest LDS is 128 granules.
        assert_eq!(rig.w.s32(4), 128);
    }
}

#[test]
fn scalar_memory() {
    let mut rig = TestWave::gfx90a();
    let base = rig.space.alloc(256, 0).unwrap();
    let bytes: Vec<u8> = (0..=255).collect();
    rig.space.write(base, &bytes).unwrap();
    let word = |n: u32| u32::from_le_bytes(std::array::from_fn(|k| bytes[n as usize + k]));
    rig.w.set_s64(4, base + 128);
    rig.w.set_s32(9, 12);
    let mut code = Vec::new();
    code.extend(rig.smem("s_load_dword", 20, 4, -128));
    code.extend(rig.smem("s_load_dwordx2", 22, 4, 6));
    code.extend(rig.smem("s_load_dwordx16", 32, 4, 64));
    // An SGPR as the offset, without and with an immediate.
    let mut by_sgpr = rig.smem("s_load_dword", 24, 4, 0);
    by_sgpr[0] &= !(1 << 17);
    by_sgpr[1] = 9;
    code.extend(by_sgpr);
    let mut by_both = rig.smem("s_load_dword", 25, 4, 8);
    by_both[0] |= 1 << 14;
    by_both[1] |= 9 << 25;
    code.extend(by_both);
    rig.run(&code);
    assert_eq!(rig.w.s32(20), word(0));
    assert_eq!([rig.w.s32(22), rig.w.s32(23)], [word(132), word(136)]);
    for n in 0..16 {
        assert_eq!(rig.w.s32(32 + n), word(192 + 4 * u32::from(n)));
    }
    assert_eq!([rig.w.s32(24), rig.w.s32(25)], [word(140), word(148)]);

    // Stores, and clocks that increase.
    rig.w.set_s64(22, 0x0123_4567_89ab_cdef);
    let mut code = rig.smem("s_store_dwordx2", 22, 4, 0).to_vec();
    code.extend(rig.smem("s_memtime", 30, 0, 0));
    code.extend(rig.smem("s_memtime", 32, 0, 0));
    code.extend(rig.smem("s_memrealtime", 34, 0, 0));
    rig.run(&code);
    let mut back = [0; 8];
    rig.space.read(base + 128, &mut back).unwrap();
    assert_eq!(u64::from_le_bytes(back), 0x0123_4567_89ab_cdef);
    assert!(rig.w.s64(32) > rig.w.s64(30) && rig.w.s64(34) > 0);

    // Out of bounds: the report has the address of the whole access.
    let past = rig.smem("s_load_dwordx4", 20, 4, 120);
    let lanes = vec![LaneAddress { lane: None, address: base + 248 }];
    let cause =
        FaultCause::OutOfBounds { access: AccessKind::Read, space: MemorySpace::Global, size: 16, lanes };
    assert_eq!(rig.try_run(&past), Err(cause));
}

#[test]
fn scalar_buffers_clamp() {
    let mut rig = TestWave::gfx90a();
    let base = rig.space.alloc(64, 0).unwrap();
    rig.space.write(base, &[0x11; 64]).unwrap();
    // 24 records of a byte: the sixth dword is the last.
    rig.w.set_s64(8, base);
    rig.w.set_s64(10, 24);
    rig.w.set_s64(22, u64::MAX);
    rig.run(&rig.smem("s_buffer_load_dwordx4", 20, 8, 16));
    assert_eq!([20, 21, 22, 23].map(|n| rig.w.s32(n)), [0x1111_1111, 0x1111_1111, 0, 0]);
    // With a stride, records have that length.
    rig.w.set_s64(8, base | 4 << 48);
    rig.w.set_s32(10, 3);
    rig.run(&rig.smem("s_buffer_load_dwordx4", 20, 8, 0));
    assert_eq!([20, 21, 22, 23].map(|n| rig.w.s32(n)), [0x1111_1111, 0x1111_1111, 0x1111_1111, 0]);
    rig.w.set_s64(20, 0x2222_2222_2222_2222);
    rig.run(&rig.smem("s_buffer_store_dwordx2", 20, 8, 8));
    let mut back = [0; 8];
    rig.space.read(base + 8, &mut back).unwrap();
    assert_eq!(back, [0x22, 0x22, 0x22, 0x22, 0x11, 0x11, 0x11, 0x11]);
}

#[test]
fn indexed_vector_registers() {
    let mut rig = TestWave::gfx90a();
    for n in 0..8 {
        *rig.w.v_mut(10 + n) = crate::exec::lanes::splat(100 + u32::from(n));
    }
    rig.w.set_s32(5, 3);
    rig.w.set_s32(6, 6);
    let mov = |to: u32, from: u32| 0x7e00_0200 | to << 17 | 256 + from;
    let on = 0xbf11_0000 | 1 << 8 | 5;
    rig.run(&[
        on,
        mov(1, 10),
        rig.sop1("s_set_gpr_idx_idx", 0, 6),
        mov(2, 10),
        rig.sopp("s_set_gpr_idx_mode", 8),
        mov(20, 10),
        rig.sopp("s_set_gpr_idx_off", 0),
        mov(3, 10),
    ]);
    let value = |n: u16| rig.w.v(n).flat()[17];
    assert_eq!([value(1), value(2), value(26), value(3)], [103, 106, 100, 100]);
}

#[test]
fn scalar_atomics() {
    let mut rig = TestWave::gfx90a();
    let base = rig.space.alloc(64, 0).unwrap();
    let read = |rig: &TestWave, at: u64| {
        let mut bytes = [0; 8];
        rig.space.read(at, &mut bytes).unwrap();
        u64::from_le_bytes(bytes)
    };
    rig.space.write(base, &(-5i64 as u64).to_le_bytes()).unwrap();
    rig.w.set_s64(4, base);
    let glc = |mut words: [u32; 2]| {
        words[0] |= 1 << 16;
        words
    };
    // With glc, the old value of 32 or 64 bits is returned; without glc nothing.
    rig.w.set_s64(20, 7);
    rig.run(&glc(rig.smem("s_atomic_add", 20, 4, 0)));
    assert_eq!((rig.w.s64(20), read(&rig, base)), (-5i32 as u32 as u64, 0xffff_ffff_0000_0002));
    rig.w.set_s64(20, 9);
    rig.run(&rig.smem("s_atomic_smax_x2", 20, 4, 0));
    assert_eq!((rig.w.s64(20), read(&rig, base)), (9, 9));
    // Compare and swap: the data are the new value, then the value to compare with.
    for (compare, after) in [(8, 9), (9, 77)] {
        rig.w.set_s64(20, 77);
        rig.w.set_s64(22, compare);
        rig.run(&glc(rig.smem("s_atomic_cmpswap_x2", 20, 4, 0)));
        assert_eq!((rig.w.s64(20), read(&rig, base)), (9, after));
    }
    // Out of a buffer's range nothing happens.
    rig.w.set_s64(8, base);
    rig.w.set_s64(10, 12);
    rig.w.set_s32(20, 3);
    rig.run(&glc(rig.smem("s_buffer_atomic_or", 20, 8, 8)));
    assert_eq!((rig.w.s32(20), read(&rig, base + 8)), (0, 3));
    rig.w.set_s32(20, 3);
    rig.run(&glc(rig.smem("s_buffer_atomic_or", 20, 8, 12)));
    assert_eq!((rig.w.s32(20), read(&rig, base + 12)), (0, 0));
    // Misaligned and out of bounds.
    rig.w.set_s64(4, base + 4);
    let misaligned = rig.smem("s_atomic_inc_x2", 20, 4, 0);
    let lanes = vec![LaneAddress { lane: None, address: base + 4 }];
    let cause = FaultCause::Misaligned { space: MemorySpace::Global, size: 8, lanes };
    assert_eq!(rig.try_run(&misaligned), Err(cause));
    let past = rig.smem("s_atomic_dec", 20, 4, 4096);
    assert!(matches!(rig.try_run(&past), Err(FaultCause::OutOfBounds { access: AccessKind::Atomic, .. })));
}
