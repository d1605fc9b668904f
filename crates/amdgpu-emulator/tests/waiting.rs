//! Tests of workgroups that wait for each other: they make progress with any number of threads, in any order.

mod common;

use amdgpu_emulator::{Machine, MachineConfig};
use code_object::{CodeObject, Processor, TargetId};
use common::{Rig, U32, U64, threads};

/// A kernel with `cooperative_groups::grid_group::sync`, compiled by hipcc.
const COOPERATIVE: &[u8] = include_bytes!("data/cooperative.gfx90a.bundle");

/// Returns settings with one and two threads, without a seed and with five seeds.
fn configs() -> impl Iterator<Item = MachineConfig> {
    [None, Some(1), Some(2), Some(3), Some(4), Some(5)].into_iter().flat_map(|seed| {
        [1, 2].map(|count| {
            let mut config = threads(count);
            config.schedule_seed = seed;
            config
        })
    })
}

/// The number of methods of reading the flag: volatile, atomic, scalar, buffer.
const WAYS: u32 = 4;

#[test]
fn a_grid_barrier_of_atomics_is_met() {
    for config in configs() {
        for rig in Rig::waiting(&config) {
            for how in 0..WAYS {
                // Without a sleep, the turn ends only after its length.
                for (sleep, groups, rounds) in [(1, 40, 4), (0, 4, 2)] {
                    let state = rig.words(&vec![0; 4 + groups as usize]);
                    let [arrived, passed, wrong, data] = [0, 4, 8, 16].map(|at| U64(state + at));
                    let args = [arrived, passed, data, wrong, U32(groups), U32(rounds), U32(how), U32(sleep)];
                    rig.run("grid_barrier", groups, 64, &args);
                    let after = rig.read(state, 4 + groups as usize);
                    assert_eq!(after[..3], [groups * rounds, rounds, 0], "{} {how}", rig.name);
                    assert!(after[4..].iter().all(|round| *round == rounds));
                }
            }
        }
    }
}

#[test]
fn a_ticket_lock_excludes_other_waves() {
    for config in configs() {
        for rig in Rig::waiting(&config) {
            for how in 0..WAYS {
                let state = rig.words(&[0; 4]);
                let [next, serving, count] = [0, 4, 8].map(|at| U64(state + at));
                rig.run("tickets", 12, 128, &[next, serving, count, U32(5), U32(how)]);
                assert_eq!(rig.read(state, 3), [60; 3], "{} {how}", rig.name);
            }
        }
    }
}

/// Runs a kernel whose grid synchronises before and after each workgroup reads what the next one has written.
fn synchronise(rig: &Rig, kernel: &str) {
    for (groups, block) in [(1, 64), (7, 256), (150, 64)] {
        let rounds = 3;
        let (data, out) = (rig.words(&vec![0; groups as usize]), rig.words(&vec![0; groups as usize]));
        rig.run(kernel, groups, block, &[U64(data), U64(out), U32(groups), U32(rounds)]);
        let want: Vec<u32> = (0..groups)
            .map(|group| (1..=rounds).map(|round| round * ((group + 1) % groups + 1)).sum())
            .collect();
        assert_eq!(rig.read(out, groups as usize), want, "{} {groups}", rig.name);
    }
}

#[test]
fn grids_synchronise_by_global_wave_sync() {
    for config in configs() {
        for rig in Rig::waiting(&config) {
            synchronise(&rig, "synced");
        }
        let machine = Machine::new(config).unwrap();
        let object = CodeObject::from_any(COOPERATIVE, &TargetId::new(Processor::Gfx90a)).unwrap();
        let program = machine.load(&object).unwrap();
        synchronise(&Rig { machine, program, name: "cooperative groups" }, "cooperative");
    }
}

#[test]
fn gws_counters_are_kept_between_kernels() {
    for rig in Rig::waiting(&threads(2)) {
        let out = rig.words(&[0]);
        // Eight waves of four workgroups meet. They set the next barriers to two waves.
        rig.run("init_resource", 1, 64, &[U32(7), U32(9)]);
        rig.run("meet", 4, 128, &[U64(out), U32(1), U32(9)]);
        rig.run("meet", 3, 128, &[U64(out), U32(1), U32(9)]);
        rig.run("meet", 1, 128, &[U64(out), U32(1), U32(9)]);
        assert_eq!(rig.read(out, 1), [8]);
    }
}

#[test]
fn a_semaphore_lets_one_in_at_a_time() {
    for config in configs() {
        for rig in Rig::waiting(&config) {
            let count = rig.words(&[0]);
            rig.run("init_resource", 1, 64, &[U32(1), U32(2)]);
            rig.run("exclusive", 30, 128, &[U64(count), U32(4)]);
            // The second wave's lanes are not the first work-item, but it has to wait as well.
            assert_eq!(rig.read(count, 1), [120], "{}", rig.name);
        }
    }
}

#[test]
fn the_sanitizer_knows_global_wave_sync() {
    let mut config = threads(2);
    config.sanitize = true;
    for rig in Rig::waiting(&config) {
        let (data, out) = (rig.words(&[0; 9]), rig.words(&[0; 9]));
        rig.run("synced", 9, 128, &[U64(data), U64(out), U32(9), U32(2)]);
        assert_eq!(rig.read(out, 1), [6]);
    }
}
