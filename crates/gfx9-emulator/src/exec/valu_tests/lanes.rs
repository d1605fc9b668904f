//! Tests of accesses across lanes, exchanges, and results that are too wide for the other tests.

use gfx9_isa::Target;

use super::rigs;
use crate::state::wave::{AGPR, LANES};
use crate::testing::test_wave::{Random, TestWave};

crate::testing::tally::verified!(
    single_lanes_are_read_and_written_whatever_exec_is,
    swap_and_moves_between_agprs,
    four_masked_sums_of_absolute_differences
);

/// Returns a wave for both targets, at each level.
fn both() -> Vec<TestWave> {
    Target::ALL.into_iter().flat_map(rigs).collect()
}

fn single_lanes_are_read_and_written_whatever_exec_is() {
    let mut random = Random::new(11);
    for rig in &mut both() {
        for _ in 0..50 {
            let exec = random.next() & random.next() & random.next();
            rig.w.set_exec(exec);
            let v: [u32; LANES] = std::array::from_fn(|_| random.next() as u32);
            *rig.w.v_mut(3).flat_mut() = v;
            *rig.w.v_mut(4).flat_mut() = v;
            let lane = random.next() as u32;
            rig.w.set_s32(7, lane);

            // v_readfirstlane_b32 s9, v3; v_readlane_b32 s10, v3, s7; v_writelane_b32 v4, s7, s7
            rig.run(&[0x7e12_0503, 0xd289_000a, 0x0000_0f03, 0xd28a_0004, 0x0000_0e07]);
            let first = if exec == 0 { 0 } else { exec.trailing_zeros() as usize };
            assert_eq!(rig.w.s32(9), v[first]);
            assert_eq!(rig.w.s32(10), v[lane as usize % 64]);
            let mut want = v;
            want[lane as usize % 64] = lane;
            assert_eq!(*rig.w.v(4).flat(), want);
        }
    }
}

fn swap_and_moves_between_agprs() {
    let mut random = Random::new(12);
    for rig in &mut both() {
        for _ in 0..20 {
            let exec = random.next();
            rig.w.set_exec(exec);
            let [a, b]: [[u32; LANES]; 2] =
                std::array::from_fn(|_| std::array::from_fn(|_| random.next() as u32));
            *rig.w.v_mut(3).flat_mut() = a;
            *rig.w.v_mut(4).flat_mut() = b;
            *rig.w.v_mut(AGPR + 6).flat_mut() = a;
            *rig.w.v_mut(AGPR + 5).flat_mut() = b;
            *rig.w.v_mut(5).flat_mut() = [7; LANES];
            // v_swap_b32 v3, v4; v_accvgpr_mov_b32 a5, a6
            rig.run(&[0x7e06_a304, 0x7e0a_a506]);
            for l in 0..LANES {
                let active = exec >> l & 1 != 0;
                let pick = |yes: u32, no: u32| if active { yes } else { no };
                assert_eq!(rig.w.v(3).flat()[l], pick(b[l], a[l]));
                assert_eq!(rig.w.v(4).flat()[l], pick(a[l], b[l]));
                assert_eq!(rig.w.v(AGPR + 5).flat()[l], pick(a[l], b[l]));
                assert_eq!(rig.w.v(5).flat()[l], 7);
            }
        }
    }
}

fn four_masked_sums_of_absolute_differences() {
    let mut random = Random::new(13);
    for rig in &mut both() {
        for clamp in [0u32, 1].repeat(10) {
            rig.w.set_exec(!0);
            for v in [2, 3, 6, 10, 11, 12, 13] {
                let lanes = std::array::from_fn(|_| match random.next() % 4 {
                    0 => u32::MAX - (random.next() as u32 & 0xff),
                    1 => random.next() as u32 & 0xff00_ff00,
                    _ => random.next() as u32,
                });
                *rig.w.v_mut(v).flat_mut() = lanes;
            }
            // v_mqsad_u32_u8 v[20:23], v[2:3], v6, v[10:13]
            rig.run(&[0xd1e7_0014 | clamp << 15, 0x042a_0d02]);
            for l in 0..LANES {
                let at = |v: u16| rig.w.v(v).flat()[l];
                let source: Vec<u8> = at(2).to_le_bytes().into_iter().chain(at(3).to_le_bytes()).collect();
                for n in 0..4 {
                    let sum: u64 = (0..4)
                        .map(|k| (i64::from(source[n + k]), i64::from(at(6).to_le_bytes()[k])))
                        .filter(|(_, reference)| *reference != 0)
                        .map(|(s, r)| (s - r).unsigned_abs())
                        .sum::<u64>()
                        + u64::from(at(10 + n as u16));
                    let want = if clamp != 0 { sum.min(0xffff_ffff) } else { sum & 0xffff_ffff };
                    assert_eq!(u64::from(at(20 + n as u16)), want);
                }
            }
        }
    }
}

#[test]
fn instructions_that_do_nothing() {
    for rig in &mut both() {
        *rig.w.v_mut(0).flat_mut() = [3; LANES];
        rig.w.set_exec(5);
        // v_nop and v_clrexcp, short and long
        rig.run(&[0x7e00_0000, 0x7e00_6a00, 0xd140_0000, 0, 0xd175_0000, 0]);
        assert_eq!((*rig.w.v(0).flat(), rig.w.exec(), rig.w.vcc()), ([3; LANES], 5, 0));
    }
}
