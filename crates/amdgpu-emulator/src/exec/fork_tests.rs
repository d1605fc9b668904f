//! Compares forks and joins in random nested branches with a model that runs each lane separately.

use amdgpu_isa::Target;

use crate::exec::level::SimdLevel;
use crate::report::fault::FaultCause;
use crate::state::wave::LANES;
use crate::testing::test_wave::{CODE, END, Random, TestWave};

crate::testing::tally::verified!(every_lane_follows_its_own_path);

/// A step of a program.
enum Step {
    /// Adds to v1.
    Add(u32),
    /// A fork on a mask in an SGPR pair: the steps of the lanes that jump, and of the others.
    Fork { mask: usize, to_register: bool, jumped: Vec<Step>, fell: Vec<Step> },
}

const MASKS: usize = 8;
/// The SGPRs from here on are not used by the stack.
const FIRST_MASK: u32 = 36;
const SAVED: u32 = 60;
const TARGET: u32 = 80;
const LANES_BEFORE: u32 = 90;
const EXEC: u32 = 126;

fn steps(random: &mut Random, depth: u32) -> Vec<Step> {
    (0..1 + random.next() % 3)
        .map(|_| {
            let r = random.next();
            if depth == 0 || r % 3 == 0 {
                Step::Add(1 + (r >> 8) as u32 % 60)
            } else {
                Step::Fork {
                    mask: (r >> 16) as usize % MASKS,
                    to_register: r >> 24 & 1 != 0,
                    jumped: steps(random, depth - 1),
                    fell: steps(random, depth - 1),
                }
            }
        })
        .collect()
}

/// Appends the code of steps. Both sides of a fork end at its join, after which the lanes from before the fork are
/// active again.
fn encode(rig: &TestWave, steps: &[Step], depth: u32, out: &mut Vec<u32>) {
    for step in steps {
        match step {
            // v_add_u32 v1, constant, v1
            Step::Add(n) => out.push(0x6800_0000 | 1 << 17 | 1 << 9 | 128 + n),
            Step::Fork { mask, to_register, jumped, fell } => {
                // The CSP from before the fork, for the join: bits 29 to 31 of MODE.
                out.push(rig.sopk("s_getreg_b32", SAVED + depth, 2 << 11 | 29 << 6 | 1));
                out.push(rig.sop1("s_mov_b64", LANES_BEFORE + 2 * depth, EXEC));
                let mask = FIRST_MASK + 2 * *mask as u32;
                let (mut one, mut other) = (Vec::new(), Vec::new());
                encode(rig, fell, depth + 1, &mut one);
                encode(rig, jumped, depth + 1, &mut other);
                if *to_register {
                    let target = TARGET + 2 * depth;
                    // The distance from after s_getpc: two instructions of two dwords, one of one dword, and the first
                    // side.
                    out.push(rig.sop1("s_getpc_b64", target, 0));
                    out.push(rig.sop2("s_add_u32", target, target, 255));
                    out.push(4 * (5 + one.len() as u32));
                    out.push(rig.sop2("s_addc_u32", target + 1, target + 1, 128));
                    out.push(rig.sop2("s_cbranch_g_fork", 0, mask, target));
                } else {
                    out.push(rig.sopk("s_cbranch_i_fork", mask, one.len() as u16 + 1));
                }
                out.append(&mut one);
                out.push(rig.sopp("s_branch", other.len() as u16));
                out.append(&mut other);
                out.push(rig.sop1("s_cbranch_join", 0, SAVED + depth));
                out.push(rig.sop1("s_mov_b64", EXEC, LANES_BEFORE + 2 * depth));
            }
        }
    }
}

fn sum(steps: &[Step], masks: &[u64], lane: usize) -> u32 {
    let of = |step: &Step| match step {
        Step::Add(n) => *n,
        Step::Fork { mask, jumped, .. } if masks[*mask] >> lane & 1 != 0 => sum(jumped, masks, lane),
        Step::Fork { fell, .. } => sum(fell, masks, lane),
    };
    steps.iter().map(of).sum()
}

fn every_lane_follows_its_own_path() {
    let mut random = Random::new(41);
    for round in 0..300 {
        let target = Target::GFX9[round % 3];
        let mut rig = TestWave::new(target, SimdLevel::best());
        let program = steps(&mut random, 4);
        let exec = [!0, random.next(), 1, 0][round % 4];
        let masks: Vec<u64> = (0..MASKS).map(|_| random.int()).collect();
        for (n, mask) in masks.iter().enumerate() {
            rig.w.set_s64((FIRST_MASK as usize + 2 * n) as u16, *mask);
        }
        rig.w.set_exec(exec);
        let mut words = Vec::new();
        encode(&rig, &program, 0, &mut words);
        rig.run(&words);
        for lane in 0..LANES {
            let want = if exec >> lane & 1 != 0 { sum(&program, &masks, lane) } else { 0 };
            assert_eq!(rig.w.v(1).flat()[lane], want, "lane {lane} of round {round}");
        }
        assert_eq!((rig.w.exec(), rig.w.mode.csp()), (exec, 0));
    }
}

#[test]
fn the_path_with_fewer_lanes_runs_first_and_the_other_is_pushed() {
    for (mask, exec, first) in
        [(0b0111u64, 0b1111u64, 0b1000u64), (0b0001, 0b1111, 0b0001), (0b0011, 0b1111, 0b0011)]
    {
        let mut rig = TestWave::gfx90a();
        rig.w.mode = rig.w.mode.with_csp(2);
        rig.w.set_s64(40, mask);
        rig.w.set_exec(exec);
        // Both sides are empty.
        let fork = rig.sopk("s_cbranch_i_fork", 40, 1);
        rig.run(&[fork, END]);
        assert_eq!((rig.w.exec(), rig.w.mode.csp()), (first, 3));
        let later = if first == mask { CODE + 4 } else { CODE + 8 };
        assert_eq!((rig.w.s64(8), rig.w.s64(10)), (exec & !first, later));
    }
}

#[test]
fn a_uniform_fork_pushes_nothing() {
    for (mask, jumps) in [(0b1100, true), (0b1111_0000, false)] {
        let mut rig = TestWave::gfx90a();
        rig.w.set_s64(40, mask);
        rig.w.set_exec(0b1100);
        let program = [rig.sopk("s_cbranch_i_fork", 40, 1), rig.sopk("s_movk_i32", 50, 1)];
        rig.run(&program);
        assert_eq!((rig.w.s32(50) == 0, rig.w.exec(), rig.w.mode.csp()), (jumps, 0b1100, 0));
    }
    // A fork to an invalid address faults only if a lane jumps.
    let mut rig = TestWave::gfx90a();
    let fork = [rig.sop2("s_cbranch_g_fork", 0, 40, 42), rig.sopk("s_movk_i32", 50, 1)];
    rig.w.set_s64(42, 64);
    rig.run(&fork);
    rig.w.set_s64(40, !0);
    assert_eq!(rig.try_run(&fork), Err(FaultCause::BadJump { target: 64 }));
    // A join with an empty stack reads the registers that the CSP selects.
    let join = rig.sop1("s_cbranch_join", 0, 51);
    rig.w.set_s32(51, 3);
    rig.w.set_s64(28, 0);
    rig.w.set_s64(30, 12);
    assert_eq!(rig.try_run(&[join]), Err(FaultCause::BadJump { target: 12 }));
}
