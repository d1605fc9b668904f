//! Tests of RDNA's scalar instructions for control: modes, hardware registers, messages, hints and padding.

use crate::memory::apertures::{PRIVATE_BASE_HI, SCRATCH_BASE, SHARED_BASE_HI};
use crate::report::fault::FaultCause;
use crate::state::barrier::SplitBarrier;
use crate::state::wave::{Mode, sreg};
use crate::testing::test_wave::{Random, TestWave, null_and_m0};

crate::testing::tally::verified!(modes, split_barriers);

fn rigs() -> impl Iterator<Item = TestWave> {
    TestWave::every().filter(|rig| rig.target.is_rdna())
}

/// Fields of MODE, bit by bit. The bits that enable indexed registers and VSKIP on gfx9 can't be set. On gfx12 a program reads and writes
/// roundings, denormals, FP16_OVFL and SCALAR_PREFETCH_EN (RDNA4 ISA, table 7).
fn modes() {
    let mut random = Random::new(101);
    for mut rig in rigs() {
        for trial in 0..400 {
            let start = random.next() as u32 & 0x0087_fbff;
            rig.w.mode = Mode(start);
            let (size, at) = (1 + random.next() as u32 % 32, random.next() as u32 % 32);
            let imm = ((size - 1) << 11 | at << 6 | 1) as u16;
            let value = random.next() as u32;
            rig.w.set_s32(9, value);
            let is_there = |n: u32| match rig.target.is_gfx12() {
                true => n < 8 || n == 23 || n == 24,
                false => n < 27,
            };
            let field: u32 =
                (at..(at + size).min(32)).filter(|n| is_there(*n)).fold(0, |mask, n| mask | 1 << n);
            let set = start & !field | (u64::from(value) << at) as u32 & field;
            let want = match trial % 5 {
                0 => {
                    rig.run(&[rig.sopp("s_round_mode", value as u16)]);
                    start / 16 * 16 + value % 16
                }
                1 => {
                    rig.run(&[rig.sopp("s_denorm_mode", value as u16)]);
                    start / 256 * 256 + value % 16 * 16 + start % 16
                }
                2 => {
                    rig.run(&[rig.sopk("s_setreg_b32", 9, imm)]);
                    set
                }
                3 => {
                    rig.run(&[rig.sopk("s_setreg_imm32_b32", 0, imm), value]);
                    set
                }
                _ => {
                    rig.run(&[rig.sopk("s_getreg_b32", 9, imm)]);
                    assert_eq!(u64::from(rig.w.s32(9)), u64::from(start & field) >> at, "{at} {size}");
                    start
                }
            };
            assert_eq!(rig.w.mode.0, want, "{trial} {start:#x} {value:#x} {at} {size}");
            assert!(!rig.w.mode.alters());
        }
    }
}

/// The waves of a workgroup signal in any order, then wait (RDNA4 ISA, `S_BARRIER_SIGNAL`, `S_BARRIER_SIGNAL_ISFIRST`, `S_BARRIER_WAIT`).
/// The model is a list of those that have arrived. At barrier 0, and at -2, nothing arrives.
fn split_barriers() {
    let mut random = Random::new(103);
    for mut rig in rigs().filter(|rig| rig.target.is_gfx12()) {
        for _ in 0..100 {
            let waves = 1 + (random.next() % 5) as usize;
            rig.cx.barrier = SplitBarrier::of(waves as u32);
            for _ in 0..3 {
                let mut left: Vec<usize> = (0..waves).collect();
                let mut signalled = vec![None; waves];
                while !left.is_empty() {
                    let other = [128, 194][(random.next() & 1) as usize];
                    rig.w.set_scc(true);
                    rig.w.signalled = None;
                    rig.run(&[
                        rig.sop1("s_barrier_signal_isfirst", 0, other),
                        rig.sop1("s_barrier_signal", 0, other),
                    ]);
                    assert_eq!((rig.w.scc(), rig.w.signalled), (false, None));

                    let is_first = left.len() == waves;
                    let wave = left.swap_remove(random.next() as usize % left.len());
                    let (scc, asks) = (random.next() & 1 != 0, random.next() & 1 != 0);
                    rig.w.set_scc(scc);
                    let name = if asks { "s_barrier_signal_isfirst" } else { "s_barrier_signal" };
                    rig.run(&[rig.sop1(name, 0, 193)]);
                    assert_eq!(rig.w.scc(), if asks { is_first } else { scc });
                    signalled[wave] = rig.w.signalled;
                    let arrived = signalled.iter().filter(|of| of.is_some());
                    assert!(arrived.into_iter().all(|of| rig.cx.barrier.is_met(*of) == left.is_empty()));
                }
            }
            // The wave stops before the next instruction, and is continued there.
            let (wait, after) = (rig.sopp("s_barrier_wait", 0xffff), rig.sopk("s_movk_i32", 40, 1));
            rig.w.set_s32(40, 0);
            rig.budget = 0;
            rig.run(&[wait, after]);
            assert_eq!(rig.w.s32(40), 0);
            rig.budget = u64::MAX;
            rig.run(&[wait, after]);
            assert_eq!(rig.w.s32(40), 1);
        }
    }
}

#[test]
fn hardware_registers_of_gfx12() {
    let hwreg = |id: u16, at: u16, size: u16| (size - 1) << 11 | at << 6 | id;
    for mut rig in rigs().filter(|rig| rig.target.is_gfx12()) {
        rig.w.id = 37;
        rig.w.set_scc(true);
        // Neither EXECZ nor VCCZ.
        rig.w.set_s64(sreg::VCC, 1);
        rig.w.set_s32(20, 0x1234_5678);
        rig.run(&[
            rig.sopk("s_getreg_b32", 0, hwreg(20, 0, 32)),
            rig.sopk("s_getreg_b32", 1, hwreg(21, 0, 32)),
            rig.sopk("s_getreg_b32", 2, hwreg(2, 0, 32)),
            rig.sopk("s_getreg_b32", 3, hwreg(4, 9, 1)),
            rig.sopk("s_getreg_b32", 4, hwreg(23, 0, 5)),
            rig.sopk("s_getreg_b32", 5, hwreg(29, 0, 32)),
            rig.sopk("s_getreg_b32", 6, hwreg(30, 0, 32)),
            rig.sopk("s_getreg_b32", 7, hwreg(29, 0, 32)),
            rig.sopk("s_setreg_b32", 20, hwreg(18, 0, 32)),
            rig.sopk("s_getreg_b32", 8, hwreg(18, 0, 32)),
            // gfx11's TRAPSTS and SH_MEM_BASES don't exist.
            rig.sopk("s_setreg_b32", 20, hwreg(3, 0, 16)),
            rig.sopk("s_getreg_b32", 9, hwreg(3, 0, 32)),
            rig.sopk("s_getreg_b32", 10, hwreg(15, 0, 32)),
        ]);
        assert_eq!(rig.w.s64(0), SCRATCH_BASE);
        let is_large = u32::from(rig.lanes() == 64);
        assert_eq!(rig.w.s32(2), 1 << 11 | 1 << 16 | is_large << 29);
        assert_eq!([rig.w.s32(3), rig.w.s32(4), rig.w.s32(6)], [1, 5, 0]);
        let passed = rig.w.s32(7).wrapping_sub(rig.w.s32(5));
        assert!(passed > 0 && passed < 1 << 16, "{passed}");
        assert_eq!([rig.w.s32(8), rig.w.s32(9), rig.w.s32(10)], [0x1234_5678, 0, 0]);
    }
}

#[test]
fn hardware_registers() {
    let hwreg = |id: u16, at: u16, size: u16| (size - 1) << 11 | at << 6 | id;
    for mut rig in rigs().filter(|rig| !rig.target.is_gfx12()) {
        rig.w.id = 37;
        rig.w.set_exec(0xffff_ffff_0000_0000);
        rig.w.set_s64(sreg::VCC, 1 << 40);
        rig.w.set_scc(true);
        rig.run(&[
            rig.sopk("s_getreg_b32", 0, hwreg(15, 0, 32)),
            rig.sopk("s_getreg_b32", 1, hwreg(2, 0, 32)),
            rig.sopk("s_getreg_b32", 2, hwreg(20, 0, 32)),
            rig.sopk("s_getreg_b32", 3, hwreg(21, 0, 32)),
            rig.sopk("s_getreg_b32", 4, hwreg(23, 0, 5)),
            rig.sopk("s_getreg_b32", 5, hwreg(29, 0, 20)),
            rig.sopk("s_getreg_b32", 6, hwreg(29, 0, 20)),
            // gfx9's HW_ID and LDS_ALLOC don't exist.
            rig.sopk("s_getreg_b32", 7, hwreg(4, 0, 32)),
            rig.sopk("s_getreg_b32", 8, hwreg(6, 0, 32)),
        ]);
        assert_eq!(rig.w.s32(0), PRIVATE_BASE_HI >> 16 | SHARED_BASE_HI);
        // SCC, EXECZ, VCCZ, IN_WG, VALID. A wave of 32 doesn't have the lanes that are set.
        let none = if rig.w.all >> 63 == 0 { 3 << 9 } else { 0 };
        assert_eq!(rig.w.s32(1), 1 | none | 1 << 11 | 1 << 16);
        assert_eq!(rig.w.s64(2), SCRATCH_BASE);
        assert_eq!(rig.w.s32(4), 5);
        let passed = rig.w.s32(6).wrapping_sub(rig.w.s32(5)) & 0xf_ffff;
        assert!(rig.w.s32(5) <= 0xf_ffff && passed > 0 && passed < 1 << 16, "{passed}");
        assert_eq!([rig.w.s32(7), rig.w.s32(8)], [0, 0]);
    }
}

#[test]
fn messages_that_return_a_value() {
    for mut rig in rigs().filter(|rig| rig.target.has_gfx11_instructions()) {
        for message in 0x80..=0x85 {
            rig.w.set_s64(14, !0);
            rig.w.set_s64(16, !0);
            // The number of an SGPR in its place would be s0.
            rig.run(&[
                rig.sop1("s_sendmsg_rtn_b32", 14, message),
                rig.sop1("s_sendmsg_rtn_b64", 16, message),
            ]);
            assert_eq!(rig.w.s32(15), !0);
            if message == 0x83 {
                let (low, all) = (rig.w.s32(14), rig.w.s64(16));
                assert!(all > 0 && (all as u32).wrapping_sub(low) < 1 << 31, "{low} {all}");
            } else {
                assert_eq!([u64::from(rig.w.s32(14)), rig.w.s64(16)], [0, 0]);
            }
        }
    }
}

#[test]
fn padding_is_illegal() {
    for mut rig in rigs() {
        let end = rig.sopp("s_code_end", 0);
        assert_eq!(rig.try_run(&[end]), Err(FaultCause::IllegalInstruction));
        // After the program it is not executed.
        let over = rig.sopp("s_branch", 5);
        rig.run(&[over, end, end, end, end, end]);
    }
}

/// A result for NULL is lost, but SCC is set (RDNA3 ISA, 3.4.4; 6.2 says the opposite).
#[test]
fn results_for_null() {
    for mut rig in rigs() {
        let (null, _) = null_and_m0(rig.target);
        rig.w.set_s32(sreg::M0, 5);
        rig.w.set_s32(4, 6);
        for (name, scc) in [("s_and_b32", true), ("s_xor_b32", false)] {
            rig.w.set_scc(!scc);
            rig.run(&[rig.sop2(name, null, 4, 4), rig.sop1("s_mov_b32", 7, null)]);
            assert_eq!((rig.w.scc(), rig.w.s32(7), rig.w.s32(sreg::M0)), (scc, 0, 5), "{name}");
        }
    }
}
