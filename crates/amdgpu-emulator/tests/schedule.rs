//! Tests of schedule seeds: kernels without data races have the same results, a kernel with a race has different ones.

mod common;

use std::collections::HashSet;

use amdgpu_emulator::MachineConfig;
use common::{Rig, U32, U64, threads};

const SEEDS: std::ops::RangeInclusive<u64> = 1..=5;

fn seeded(count: usize, seed: Option<u64>) -> MachineConfig {
    let mut config = threads(count);
    config.schedule_seed = seed;
    config
}

/// Returns the results of every test kernel that has no data race.
fn results(rig: &Rig) -> Vec<Vec<u32>> {
    let mut out = Vec::new();
    let shape = rig.words(&[0; 6 * 60 * 16]);
    rig.launch("launch_shape", [3, 2, 1], [5, 4, 3], 24, &[U64(shape), U32(7)]).unwrap();
    out.push(rig.read(shape, 6 * 60 * 16));
    let data = rig.words(&(0..3 * 1000).collect::<Vec<u32>>());
    rig.launch("reverse", [3, 1, 1], [1000, 1, 1], 4000, &[U64(data)]).unwrap();
    out.push(rig.read(data, 3000));
    for which in 0..3 {
        let data = rig.words(&(0..256).collect::<Vec<u32>>());
        rig.run("generic", 2, 128, &[U64(data), U32(which)]);
        out.push(rig.read(data, 256));
    }
    let data = rig.words(&[100; 128]);
    rig.run("recurse", 2, 64, &[U64(data), U32(20)]);
    out.push(rig.read(data, 128));
    rig.run("pointers", 2, 64, &[U64(data)]);
    out.push(rig.read(data, 128));
    let state = rig.words(&[0, 0]);
    rig.run("locked", 12, 64, &[U64(state), U64(state + 4), U32(20)]);
    out.push(rig.read(state, 2));
    let flag = rig.words(&[0]);
    rig.run("wait_for_last", 50, 64, &[U64(flag), U32(50)]);
    out.push(rig.read(flag, 1));
    let chain = rig.words(&[9; 8]);
    rig.run("wave_chain", 2, 256, &[U64(chain)]);
    out.push(rig.read(chain, 8));
    let (partial, done, total) = (rig.words(&[0; 30]), rig.words(&[0]), rig.words(&[0]));
    rig.run("last_block", 30, 128, &[U64(partial), U64(done), U64(total), U32(30)]);
    out.push(rig.read(total, 1));
    out
}

#[test]
fn kernels_without_races_have_the_same_results_with_every_seed_and_thread_count() {
    let expected: Vec<_> = Rig::all(&seeded(1, None)).iter().map(results).collect();
    for seed in SEEDS {
        for count in [1, 2] {
            for (rig, expected) in Rig::all(&seeded(count, Some(seed))).iter().zip(&expected) {
                assert_eq!(results(rig), *expected, "{} with seed {seed}, {count} threads", rig.name);
            }
        }
    }
}

/// On gfx12, a wave can reach the next barrier while another has not yet come to the wait of the one before.
#[test]
fn barriers_in_a_row_hold_with_every_seed() {
    const OBJECT: &[u8] = include_bytes!("data/defects.gfx1201.w64.co");
    const ROUNDS: u32 = 9;
    let start: Vec<u32> = (0..512u32).map(|i| i.wrapping_mul(0x9e37_79b9)).collect();
    let mut expected = start.clone();
    for _ in 0..ROUNDS {
        let before = expected.clone();
        for (i, value) in expected.iter_mut().enumerate() {
            let (first, item) = (i / 256 * 256, i % 256);
            *value = value.wrapping_add(before[first + 255 - item]);
        }
    }
    for seed in [None].into_iter().chain((1..=20).map(Some)) {
        let rig = Rig::new(&seeded(1, seed), "gfx1201", OBJECT);
        let data = rig.words(&start);
        rig.launch("two_barriers", [2, 1, 1], [256, 1, 1], 1024, &[U64(data), U32(ROUNDS)]).unwrap();
        assert_eq!(rig.read(data, 512), expected, "seed {seed:?}");
    }
}

/// Returns the value of the workgroup that wrote last, and the number of non-atomic increments that were not lost.
fn racy(seed: Option<u64>) -> (u32, u32) {
    let rig = Rig::defects(&seeded(1, seed));
    let out = rig.words(&[0, 0]);
    rig.run("last_writer", 64, 64, &[U64(out)]);
    rig.run("lost_update", 64, 64, &[U64(out + 4), U32(100)]);
    let got = rig.read(out, 2);
    (got[0], got[1])
}

#[test]
fn a_race_shows_in_results_that_change_with_the_seed() {
    assert_eq!(racy(None), (63, 6400), "the usual order");
    let got: Vec<(u32, u32)> = SEEDS.map(|seed| racy(Some(seed))).collect();
    let last: HashSet<u32> = got.iter().map(|g| g.0).collect();
    let counts: HashSet<u32> = got.iter().map(|g| g.1).collect();
    assert!(last.len() > 1 && counts.len() > 1, "{got:?}");
    assert!(got.iter().any(|g| g.1 < 6400), "{got:?}");
    // With one thread, a seed gives one order.
    assert_eq!(got, SEEDS.map(|seed| racy(Some(seed))).collect::<Vec<_>>());
}

#[test]
fn a_dispatch_counts_the_same_instructions() {
    let counts: Vec<_> = [None, Some(1), Some(2)]
        .into_iter()
        .map(|seed| {
            let rig = Rig::defects(&seeded(2, seed));
            let data = rig.words(&[1; 512]);
            rig.launch("two_barriers", [2, 1, 1], [256, 1, 1], 1024, &[U64(data), U32(9)]).unwrap()
        })
        .collect();
    assert!(counts.iter().all(|c| *c == counts[0]), "{counts:?}");
}
