//! Tests of the sanitizer: it finds each defect, with both instructions, and none in correct kernels.

mod common;

use amdgpu_emulator::{AccessKind, Defect, DefectKind, Error, MachineConfig, MemorySpace};
use common::{Arg, Rig, U32, U64, threads};

fn sanitizing(count: usize, seed: Option<u64>) -> MachineConfig {
    let mut config = threads(count);
    config.sanitize = true;
    config.schedule_seed = seed;
    config
}

/// Returns the defects of a launch, which must have some. The machine must be usable afterwards.
fn defects(rig: &Rig, kernel: &str, grid: u32, block: u32, lds: u32, args: &[Arg]) -> Vec<Defect> {
    let defects = match rig.launch(kernel, [grid, 1, 1], [block, 1, 1], lds, args) {
        Err(Error::Sanitizer { kernel: name, defects }) => {
            assert_eq!(name, kernel);
            defects
        }
        other => panic!("{kernel}: {other:?}"),
    };
    let data = rig.words(&[1; 64]);
    rig.launch("two_barriers", [1, 1, 1], [64, 1, 1], 256, &[U64(data), U32(2)]).unwrap();
    defects
}

#[test]
fn races_between_workgroups_are_found() {
    for (count, seed) in [(1, None), (2, None), (1, Some(3)), (2, Some(4))] {
        let rig = Rig::defects(&sanitizing(count, seed));
        let out = rig.words(&[0; 64]);
        let found = defects(&rig, "last_writer", 8, 64, 0, &[U64(out)]);
        assert_eq!(found.len(), 1, "{found:?}");
        let Defect { kind, space, size, site, other, lanes, allocation, .. } = &found[0];
        assert_eq!((*kind, *space, *size), (DefectKind::DataRace, MemorySpace::Global, 4));
        assert_eq!((lanes.len(), lanes[0].address), (1, out));
        let other = other.as_ref().unwrap();
        assert!(site.instruction.starts_with("global_store_dword "), "{site}");
        assert_eq!((&site.instruction, site.pc), (&other.instruction, other.pc));
        assert_ne!(site.workgroup, other.workgroup);
        assert_eq!(site.function.as_ref().unwrap().0, "last_writer");
        assert!(allocation.as_ref().unwrap().starts_with("byte 0 of "), "{allocation:?}");

        let data = rig.words(&[0; 64]);
        let found = defects(&rig, "read_next", 8, 1, 0, &[U64(data), U64(out), U32(8)]);
        let both = |d: &Defect| [d.site.access, d.other.as_ref().unwrap().access];
        assert!(
            found.iter().all(|d| both(d).contains(&AccessKind::Write) && both(d).contains(&AccessKind::Read))
        );

        let found = defects(&rig, "mixed", 8, 64, 0, &[U64(data), U64(out)]);
        assert!(
            found
                .iter()
                .any(|d| both(d).contains(&AccessKind::Atomic) && both(d).contains(&AccessKind::Read))
        );
        let text = Error::Sanitizer { kernel: "mixed".into(), defects: found }.to_string();
        assert!(text.contains("data race in global memory") && text.contains("global_atomic_add"), "{text}");
    }
}

#[test]
fn races_within_a_workgroup_are_found() {
    for (count, seed) in [(1, None), (2, Some(5))] {
        let rig = Rig::defects(&sanitizing(count, seed));
        for (kernel, args) in [("no_barrier", &[][..]), ("one_barrier", &[U32(3)]), ("second_differs", &[])] {
            let data = rig.words(&(0..512).collect::<Vec<u32>>());
            let args = &[&[U64(data)], args].concat();
            let found = defects(&rig, kernel, 2, 256, 1024, args);
            // Bytes that another wave writes later were also never written.
            assert!(found.iter().all(|d| d.space == MemorySpace::Lds), "{found:?}");
            let races: Vec<&Defect> = found.iter().filter(|d| d.kind == DefectKind::DataRace).collect();
            assert!(!races.is_empty(), "{kernel}: {found:?}");
            for defect in races {
                let other = defect.other.as_ref().unwrap();
                assert_eq!(defect.site.workgroup, other.workgroup);
                assert_ne!(defect.site.wave, other.wave);
                assert!([&defect.site, other].iter().any(|s| s.instruction.starts_with("ds_write")));
            }
            // One wave has no race with itself.
            rig.machine.memory().fill(data, &[1], 2048).unwrap();
            rig.launch(kernel, [2, 1, 1], [64, 1, 1], 512, args).unwrap();
        }
    }
}

#[test]
fn an_atomic_of_bytes_never_written_is_found() {
    let rig = Rig::defects(&sanitizing(1, None));
    let memory = rig.machine.memory();
    let counter = memory.alloc(4, 0).unwrap();
    let found = defects(&rig, "count_up", 1, 1, 0, &[U64(counter)]);
    assert_eq!((found[0].kind, found[0].site.access), (DefectKind::UninitializedRead, AccessKind::Atomic));
}

#[test]
fn correct_kernels_have_no_defects() {
    for (count, seed) in [(1, None), (2, None), (2, Some(1)), (1, Some(2)), (2, Some(3))] {
        let config = sanitizing(count, seed);
        let rig = Rig::defects(&config);
        let data = rig.words(&(0..1024).collect::<Vec<u32>>());
        let bins = rig.words(&[0; 16]);
        rig.run("neighbours", 64, 64, &[U64(data)]);
        rig.launch("two_barriers", [4, 1, 1], [256, 1, 1], 1024, &[U64(data), U32(5)]).unwrap();
        rig.launch("replicated", [4, 1, 1], [256, 1, 1], 512, &[U64(data)]).unwrap();
        rig.launch("histogram", [4, 1, 1], [256, 1, 1], 64, &[U64(data), U64(bins)]).unwrap();
        assert_eq!(rig.read(bins, 16).iter().sum::<u32>(), 1024);
        let (message, flag) = (rig.machine.memory().alloc(1024, 0).unwrap(), rig.words(&[0]));
        let out = rig.words(&[0; 1024]);
        rig.run("hand_over", 4, 256, &[U64(message), U64(flag), U64(out)]);
        assert_eq!(rig.read(out + 1024, 3), [0, 5, 10]);

        for rig in Rig::all(&config) {
            let shape = rig.machine.memory().alloc(4 * 6 * 60 * 16, 0).unwrap();
            rig.launch("launch_shape", [3, 2, 1], [5, 4, 3], 24, &[U64(shape), U32(7)]).unwrap();
            let data = rig.words(&(0..3000).collect::<Vec<u32>>());
            // Its source has a barrier without a fence, before which only the older compiler waits (tests/waits.rs).
            let has_race = ["gfx942", "gfx1030"].iter().any(|target| rig.name.starts_with(target));
            let block = if has_race { 64 } else { 1000 };
            rig.launch("reverse", [3, 1, 1], [block, 1, 1], 4 * block, &[U64(data)]).unwrap();
            for which in 0..3 {
                rig.run("generic", 2, 128, &[U64(data), U32(which)]);
            }
            rig.run("recurse", 2, 64, &[U64(data), U32(5)]);
            rig.run("pointers", 2, 64, &[U64(data)]);
            let state = rig.words(&[0, 0]);
            rig.run("locked", 12, 64, &[U64(state), U64(state + 4), U32(20)]);
            let flag = rig.words(&[0]);
            rig.run("wait_for_last", 50, 64, &[U64(flag), U32(50)]);
            let partial = rig.machine.memory().alloc(120, 0).unwrap();
            let (done, total) = (rig.words(&[0]), rig.words(&[0]));
            rig.run("last_block", 30, 128, &[U64(partial), U64(done), U64(total), U32(30)]);
            assert_eq!(rig.read(total, 1), [465], "{}", rig.name);
        }
    }
}

#[test]
fn a_flag_in_lds_is_reported_as_a_race() {
    // Volatile accesses to LDS look like plain ones: the limit that src/observe/races.rs states.
    for rig in Rig::all(&sanitizing(1, None)) {
        let out = rig.words(&[9; 8]);
        match rig.launch("wave_chain", [2, 1, 1], [256, 1, 1], 0, &[U64(out)]) {
            Err(Error::Sanitizer { defects, .. }) => {
                assert!(defects.iter().all(|d| d.space == MemorySpace::Lds), "{defects:?}");
            }
            other => panic!("{other:?}"),
        }
    }
}
