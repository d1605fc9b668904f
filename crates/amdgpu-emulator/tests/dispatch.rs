//! Tests of the state in which kernels start, and of the scheduling of workgroups and waves.

mod common;

use amdgpu_emulator::{Error, SimdLevel};
use common::{Rig, U32, U64, threads};

#[test]
fn ids_and_sizes_in_three_dimensions() {
    for rig in Rig::all(&threads(2)) {
        for (grid, block) in [
            ([3, 1, 1], [64, 1, 1]),
            ([2, 3, 4], [5, 7, 3]),
            ([1, 2, 1], [100, 2, 1]),
            ([2, 1, 1], [1, 1, 1]),
            ([1, 1, 1], [16, 8, 8]),
        ] {
            let items = [0, 1, 2].map(|n| grid[n] * block[n]);
            let count = (items[0] * items[1] * items[2]) as usize;
            let out = rig.words(&vec![0xdead_beef; count * 16]);
            let stats = rig
                .launch("launch_shape", grid, block, 24, &[U64(out), U32(77)])
                .unwrap_or_else(|e| panic!("{}: {e}", rig.name));
            let block_size: u32 = block.iter().product();
            assert_eq!(stats.workgroups, u64::from(grid.iter().product::<u32>()));
            assert_eq!(stats.waves, stats.workgroups * u64::from(block_size.div_ceil(64)));
            let got = rig.read(out, count * 16);
            for z in 0..items[2] {
                for y in 0..items[1] {
                    for x in 0..items[0] {
                        let at = ((z * items[1] + y) * items[0] + x) as usize;
                        let local = [x % block[0], y % block[1], z % block[2]];
                        let flat = (local[2] * block[1] + local[1]) * block[0] + local[0];
                        let expected = [
                            77,
                            x / block[0],
                            y / block[1],
                            z / block[2],
                            local[0],
                            local[1],
                            local[2],
                            block[0],
                            block[1],
                            block[2],
                            items[0],
                            items[1],
                            items[2],
                            24,
                            0,
                            flat % 64,
                        ];
                        assert_eq!(got[at * 16..at * 16 + 16], expected, "{} at {x} {y} {z}", rig.name);
                    }
                }
            }
        }
    }
}

/// Every launch of these tests also compares what was executed with the longest wave (`common`).
#[test]
fn the_longest_wave_is_known_where_there_are_no_loops_and_calls() {
    let known = |rig: &Rig, kernel: &str| rig.program.longest_wave(rig.program.kernel_index(kernel).unwrap());
    for rig in Rig::all(&threads(1)) {
        for kernel in ["launch_shape", "store_at"] {
            let length = known(&rig, kernel);
            // Without optimisation it calls functions.
            let is_known = !rig.name.contains("-O0");
            assert_eq!(length.is_some_and(|n| (5..1000).contains(&n)), is_known, "{}: {length:?}", rig.name);
        }
        // A recursive call, a call of a function that a table names, and loops.
        for kernel in ["recurse", "pointers", "locked", "forever"] {
            assert_eq!(known(&rig, kernel), None, "{}: {kernel}", rig.name);
        }
    }
}

/// CDNA3 ISA, 3.13: TG_SIZE is `{first_wave, 6'h00, wave_id_in_group[4:0], 2'h0, 14'h0, work_group_size_in_waves[5:0]}`.
/// LLVM's AMDGPUUsage ("Initial Kernel Execution State") has no number of the wave, and gfx90a gets none.
#[test]
fn the_first_wave_of_a_workgroup_knows_it() {
    for (name, bytes, numbered) in [
        ("gfx90a", include_bytes!("data/assembly/group.gfx90a.co").as_slice(), 0),
        ("gfx942", include_bytes!("data/assembly/group.gfx942.co"), 1 << 20),
    ] {
        let rig = Rig::new(&threads(2), name, bytes);
        let out = rig.words(&[0; 192]);
        rig.run("group", 2, 192, &[U64(out)]);
        for (item, size) in (0..).zip(rig.read(out, 192)) {
            let wave = item / 64;
            let first = if wave == 0 { 1 << 31 } else { 0 };
            assert_eq!(size, first | wave * numbered | 3, "{name}: work-item {item}");
        }
    }
}

#[test]
fn dynamic_lds_and_barriers() {
    for rig in Rig::all(&threads(2)) {
        for block in [64, 256, 1000, 1024] {
            let data: Vec<u32> = (0..block * 3).collect();
            let at = rig.words(&data);
            rig.launch("reverse", [3, 1, 1], [block, 1, 1], block * 4, &[U64(at)])
                .unwrap_or_else(|e| panic!("{}: {e}", rig.name));
            let expected: Vec<u32> = data
                .chunks(block as usize)
                .flat_map(|c| c.iter().rev().copied().collect::<Vec<_>>())
                .collect();
            assert_eq!(rig.read(at, data.len()), expected, "{}", rig.name);
        }
    }
}

#[test]
fn generic_pointers_reach_every_memory() {
    for rig in Rig::all(&threads(1)) {
        for which in 0..3 {
            let data: Vec<u32> = (0..256).map(|n| 7 * n).collect();
            let out = rig.words(&data);
            rig.run("generic", 2, 128, &[U64(out), U32(which)]);
            let expected: Vec<u32> = (0..256)
                .map(|n| {
                    let item = n % 128;
                    let old = match which {
                        0 => item + item % 8,
                        1 => 1000 + item,
                        _ => data[n as usize],
                    };
                    2 * old + 5
                })
                .collect();
            assert_eq!(rig.read(out, 256), expected, "{} {which}", rig.name);
        }
    }
}

#[test]
fn recursion_function_pointers_and_device_variables() {
    for rig in Rig::all(&threads(1)) {
        let out = rig.words(&[100; 128]);
        rig.run("recurse", 2, 64, &[U64(out), U32(20)]);
        let expected: Vec<u32> = (0..128).map(|n| 100 + 20 + n % 4).collect();
        assert_eq!(rig.read(out, 128), expected, "{}", rig.name);

        let (counter, size) = rig.program.global("counter").unwrap();
        assert_eq!((size, rig.read(counter, 1)[0]), (4, 5));
        rig.machine.memory().write(counter, &900u32.to_le_bytes()).unwrap();
        rig.run("pointers", 2, 64, &[U64(out)]);
        let expected: Vec<u32> =
            (0..128).map(|n| n % 64).map(|n| if n % 2 == 0 { 2 * n } else { n + 900 }).collect();
        assert_eq!(rig.read(out, 128), expected, "{}", rig.name);
    }
}

#[test]
fn workgroups_that_wait_for_each_other_make_progress() {
    for count in [1, 2, 5] {
        for rig in Rig::all(&threads(count)) {
            let state = rig.words(&[0, 0]);
            rig.run("locked", 40, 64, &[U64(state), U64(state + 4), U32(50)]);
            assert_eq!(rig.read(state, 2), [0, 2000], "{}", rig.name);

            let flag = rig.words(&[0]);
            rig.run("wait_for_last", 200, 64, &[U64(flag), U32(200)]);

            let out = rig.words(&[9; 32]);
            rig.run("wave_chain", 2, 1024, &[U64(out)]);
            let expected: Vec<u32> = (0..32).map(|n| 16 - n % 16 - 1).collect();
            assert_eq!(rig.read(out, 32), expected, "{}", rig.name);

            let (partial, done, total) = (rig.words(&[0; 100]), rig.words(&[0]), rig.words(&[0]));
            rig.run("last_block", 100, 128, &[U64(partial), U64(done), U64(total), U32(100)]);
            assert_eq!(rig.read(total, 1), [5050], "{}", rig.name);
        }
    }
}

#[test]
fn all_levels_count_and_compute_the_same() {
    let mut outcomes = Vec::new();
    for level in SimdLevel::ALL.into_iter().filter(|level| level.is_available()) {
        let mut config = threads(1);
        config.level = level;
        for rig in Rig::all(&config) {
            let data: Vec<u32> = (0..512).map(|n: u32| n.wrapping_mul(2_654_435_761)).collect();
            let at = rig.words(&data);
            let stats = rig.launch("reverse", [2, 1, 1], [256, 1, 1], 1024, &[U64(at)]).unwrap();
            outcomes.push((rig.name, level, stats, rig.read(at, 512)));
        }
    }
    for (name, level, stats, words) in &outcomes {
        let first = outcomes.iter().find(|o| o.0 == *name).unwrap();
        assert_eq!((&first.2, &first.3), (stats, words), "{name} {level:?}");
    }
}

#[test]
fn launches_from_many_threads_at_once() {
    let rigs = Rig::all(&threads(3));
    std::thread::scope(|scope| {
        for n in 0..6u32 {
            let rigs = &rigs;
            scope.spawn(move || {
                for round in 0..20 {
                    let rig = &rigs[(n + round) as usize % rigs.len()];
                    let data: Vec<u32> = (0..1024).map(|k| k * 31 + n).collect();
                    let at = rig.words(&data);
                    rig.launch("reverse", [8, 1, 1], [128, 1, 1], 512, &[U64(at)]).unwrap();
                    let expected: Vec<u32> =
                        data.chunks(128).flat_map(|c| c.iter().rev().copied().collect::<Vec<_>>()).collect();
                    assert_eq!(rig.read(at, 1024), expected);
                    rig.machine.memory().free(at).unwrap();
                }
            });
        }
    });
}

#[test]
fn launches_that_break_limits_are_refused() {
    let rig = &Rig::all(&threads(1))[0];
    let at = rig.words(&[1, 2, 3]);
    let args = [U64(at)];
    for (grid, block, lds, part) in [
        ([1, 1, 1], [1025, 1, 1], 0, "1024"),
        ([1, 1, 1], [32, 32, 2], 0, "1024"),
        ([1, 1, 1], [0, 1, 1], 0, "1024"),
        ([1, 1, 1], [64, 1, 1], 65537, "65536"),
        ([1 << 30, 1, 1], [64, 1, 1], 256, "2^32"),
    ] {
        match rig.launch("reverse", grid, block, lds, &args) {
            Err(Error::InvalidLaunch { kernel, reason }) => {
                assert!(kernel == "reverse" && reason.contains(part), "{reason}");
            }
            other => panic!("{other:?}"),
        }
    }
    // An empty grid is valid and does nothing.
    let stats = rig.launch("reverse", [4, 0, 1], [64, 1, 1], 256, &args).unwrap();
    assert_eq!((stats.workgroups, stats.wave_instructions), (0, 0));
    assert_eq!(rig.read(at, 3), [1, 2, 3]);
}

#[test]
fn unloading_frees_the_image_after_its_last_use() {
    let rig = Rig::all(&threads(1)).remove(0);
    let before = rig.machine.memory().usage().used;
    assert!(before > 0);
    let again = rig.program.clone();
    let machine = rig.machine;
    drop(rig.program);
    assert_eq!(machine.memory().usage().used, before);
    drop(again);
    assert_eq!(machine.memory().usage().used, 0);
}
