//! Tests of accesses across lanes, exchanges, and results that are too wide for the other tests.

use amdgpu_isa::{Encoding, Target};

use super::{gfx11, rigs};
use crate::state::wave::{AGPR, LANES};
use crate::testing::test_wave::{Random, TestWave, op};

crate::testing::tally::verified!(
    single_lanes_are_read_and_written_whatever_exec_is,
    swap_and_moves_between_agprs,
    four_masked_sums_of_absolute_differences,
    rows_are_exchanged,
    bits_are_looked_up
);

/// Returns a wave for both targets, at each level.
fn both() -> Vec<TestWave> {
    Target::GFX9.into_iter().flat_map(rigs).collect()
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
    for rig in both().iter_mut().chain(gfx11::waves().iter_mut().flatten()) {
        let code = op(Encoding::Vop3, "v_mqsad_u32_u8", rig.target);
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
            let first = Encoding::Vop3.first_dword(rig.target, code, 20 | clamp << 15);
            rig.run(&[first, 0x042a_0d02]);
            for l in 0..rig.lanes() {
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

/// By the pseudocode of CDNA4's ISA document, `V_PERMLANE16_SWAP_B32` and `V_PERMLANE32_SWAP_B32`.
fn rows_are_exchanged() {
    let mut random = Random::new(14);
    for rig in &mut rigs(Target::Gfx950) {
        for n in 0..80 {
            let [a, b]: [[u32; LANES]; 2] =
                std::array::from_fn(|_| std::array::from_fn(|_| random.next() as u32));
            let exec = if n % 4 == 0 { random.next() } else { !0 };
            rig.w.set_exec(exec);
            *rig.w.v_mut(3).flat_mut() = a;
            *rig.w.v_mut(4).flat_mut() = b;
            let wide = n % 2 != 0;
            let controls = random.next() as u32 & 3;
            let is_long = n / 2 % 2 != 0;
            // v_permlane16_swap_b32 v3, v4; v_permlane32_swap_b32 v3, v4
            let op = if wide { 90 } else { 89 };
            if is_long {
                rig.run(&[0xd000_0003 | (op + 320) << 16 | controls << 11, 256 + 4]);
            } else {
                rig.run(&[0x7e06_0104 | op << 9]);
            }
            let controls = if is_long { controls } else { 0 };
            let (mut want_a, mut want_b) = (a, b);
            let pairs: Vec<usize> = if wide { (0..32).collect() } else { (0..16).chain(32..48).collect() };
            let active = |lane: usize| exec >> lane & 1 != 0;
            // What a lane reads from another, if it is written.
            let read = |value: u32, lane: usize| match (active(lane), controls & 1 != 0, controls & 2 != 0) {
                (true, _, _) | (_, true, _) => Some(value),
                (false, false, true) => Some(0),
                (false, false, false) => None,
            };
            for lane in pairs {
                let other = lane + if wide { 32 } else { 16 };
                if let Some(value) = read(a[other], other).filter(|_| active(lane)) {
                    want_b[lane] = value;
                }
                if let Some(value) = read(b[lane], lane).filter(|_| active(other)) {
                    want_a[other] = value;
                }
            }
            assert_eq!((*rig.w.v(3).flat(), *rig.w.v(4).flat()), (want_a, want_b));
        }
    }
}

/// By the definition `D0[i] = TTBL[{S0[i], S1[i], S2[i]}]` (CDNA4 ISA, `V_BITOP3_B32`).
fn bits_are_looked_up() {
    let mut random = Random::new(15);
    for rig in &mut rigs(Target::Gfx950) {
        for table in 0..=255u32 {
            let exec = if table % 4 == 0 { random.next() } else { !0 };
            rig.w.set_exec(exec);
            let values: [[u32; LANES]; 4] =
                std::array::from_fn(|_| std::array::from_fn(|_| random.next() as u32));
            for (n, lanes) in values.iter().enumerate() {
                *rig.w.v_mut(2 + n as u16).flat_mut() = *lanes;
            }
            let scalar = random.next() as u32;
            rig.w.set_s32(30, scalar);
            // One source may be an SGPR.
            let pick = random.next() as usize % 4;
            let op_sel = random.next() as u32 & 15;
            for half in [false, true] {
                *rig.w.v_mut(5).flat_mut() = values[3];
                let (op, op_sel) = if half { (563, op_sel) } else { (564, 0) };
                let code = |n: usize| if n == pick { 30 } else { 256 + 2 + n as u32 };
                rig.run(&[
                    0xd000_0005 | op << 16 | op_sel << 11 | (table >> 3 & 7) << 8,
                    code(0) | code(1) << 9 | code(2) << 18 | (table >> 6) << 27 | (table & 7) << 29,
                ]);
                for l in 0..LANES {
                    let source = |n: usize| {
                        let v = if n == pick { scalar } else { values[n][l] };
                        v >> if op_sel >> n & 1 != 0 { 16 } else { 0 }
                    };
                    let bit = |i: u32| {
                        let index = (0..3).fold(0, |all, n| all << 1 | source(n) >> i & 1);
                        (table >> index & 1) << i
                    };
                    let all = (0..if half { 16 } else { 32 }).map(bit).sum::<u32>();
                    let old = values[3][l];
                    let want = match (exec >> l & 1 != 0, op_sel >> 3) {
                        (false, _) => old,
                        (true, 0) => all,
                        (true, _) => all << 16 | old & 0xffff,
                    };
                    assert_eq!(
                        rig.w.v(5).flat()[l],
                        want,
                        "table {table:#x}, half {half}, op_sel {op_sel:#x}"
                    );
                }
            }
        }
    }
}
