//! Tests of profiles.

mod common;

use amdgpu_emulator::{BytesAccessed, InstructionClass, MachineConfig, Profile};
use common::{Rig, U32, U64, threads};

fn profiling(count: usize) -> MachineConfig {
    let mut config = threads(count);
    config.profile = true;
    config
}

#[test]
fn nothing_is_counted_unless_asked_for() {
    let rig = Rig::defects(&threads(1));
    let data = rig.words(&[1; 64]);
    assert_eq!(rig.run("copy", 1, 64, &[U64(data), U64(data)]).profile, None);
}

#[test]
fn bytes_lanes_and_classes_are_counted() {
    for count in [1, 2] {
        let rig = Rig::defects(&profiling(count));
        let (from, to) = (rig.words(&[1; 300]), rig.words(&[0; 300]));
        let stats = rig.run("copy", 3, 100, &[U64(from), U64(to)]);
        let p = stats.profile.unwrap();
        assert_eq!((p.dispatches, p.workgroups, p.waves), (1, 3, 6));
        assert_eq!(p.global, BytesAccessed { read: 1200, written: 1200, atomic: 0 });
        assert_eq!((p.lds, p.scratch), (BytesAccessed::default(), BytesAccessed::default()));
        assert!(p.scalar.read > 0 && p.scalar.written == 0);
        // Each wave has one load and one store; each instruction is in one class.
        assert_eq!(p.count(InstructionClass::VmemLoad), 6);
        assert_eq!(p.count(InstructionClass::VmemStore), 6);
        assert_eq!(p.total(), stats.wave_instructions);
        // Half of the waves have 64 lanes, half 36.
        assert_eq!(p.average_active_lanes(), 50.0);
        let occupancy = p.occupancy.unwrap();
        assert_eq!((occupancy.waves_per_block, occupancy.blocks_per_cu), (2, 16));
    }
}

#[test]
fn lds_accesses_barriers_and_conflicts_are_counted() {
    let rig = Rig::defects(&profiling(1));
    let data = rig.words(&(0..512).collect::<Vec<u32>>());
    let stats = rig.launch("two_barriers", [2, 1, 1], [256, 1, 1], 32 << 10, &[U64(data), U32(3)]).unwrap();
    let p = stats.profile.unwrap();
    assert_eq!(p.count(InstructionClass::Barrier), 2 * 4 * 3 * 2);
    assert_eq!(p.lds, BytesAccessed { read: 2 * 256 * 4 * 3, written: 2 * 256 * 4 * 3, atomic: 0 });
    // Each access of 64 dwords takes two cycles; neither order has conflicts.
    assert_eq!((p.lds_cycles, p.lds_bank_conflicts), (2 * 4 * 3 * 2 * 2, 0));
    let occupancy = p.occupancy.unwrap();
    assert_eq!((occupancy.lds_bytes, occupancy.blocks_per_cu), (32 << 10, 2));
    assert_eq!(occupancy.limited_by.name(), "LDS");
    // Counts in 16 bins: lanes with the same bin share the access.
    let bins = rig.words(&[0; 16]);
    let p = rig.launch("histogram", [2, 1, 1], [256, 1, 1], 64, &[U64(data), U64(bins)]).unwrap();
    let p = p.profile.unwrap();
    assert_eq!((p.lds.atomic, p.global.atomic), (512 * 4, 2 * 16 * 4));
    assert_eq!(p.count(InstructionClass::VmemAtomic), 2);
}

#[test]
fn divergent_branches_and_scratch_are_counted() {
    for rig in Rig::all(&profiling(1)) {
        let data = rig.words(&[100; 128]);
        // Lanes of a wave recurse to depths that differ by up to 3.
        let p = rig.run("recurse", 2, 64, &[U64(data), U32(6)]).profile.unwrap();
        assert!(p.vector_branches > 0 && p.divergent_branches > 0, "{}: {p:?}", rig.name);
        assert!(p.divergent_branches < p.vector_branches, "{}: {p:?}", rig.name);
        assert!(p.average_active_lanes() < 64.0);
        assert!(p.count(InstructionClass::Scratch) > 0 && p.scratch.written > 0, "{}: {p:?}", rig.name);
        assert!(p.count(InstructionClass::Branch) > p.vector_branches);
    }
    let rig = Rig::defects(&profiling(1));
    let data = rig.words(&[0; 64]);
    let p = rig.run("copy", 1, 64, &[U64(data), U64(data)]).profile.unwrap();
    assert_eq!((p.divergent_branches, p.average_active_lanes()), (0, 64.0));
}

#[test]
fn merged_profiles_are_sums() {
    let rig = Rig::defects(&profiling(1));
    let data = rig.words(&[0; 64]);
    let one = rig.run("copy", 1, 64, &[U64(data), U64(data)]).profile.unwrap();
    let mut all = Profile::default();
    for _ in 0..3 {
        all.merge(&one);
    }
    assert_eq!((all.dispatches, all.total()), (3, 3 * one.total()));
    assert_eq!((all.global.read, all.occupancy), (3 * 256, one.occupancy));
}
