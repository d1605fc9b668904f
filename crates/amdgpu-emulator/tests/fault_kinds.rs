//! Tests of the report of each kind of fault, except those of memory, which faults.rs has. The machine can be used
//! afterwards.

mod common;

use std::time::{Duration, Instant};

use amdgpu_emulator::{
    AccessKind, Error, FaultCause, FaultReport, MachineConfig, MemorySpace, WaitingWave, WaitsFor,
};
use common::{Arg, Rig, U32, U64, threads};

fn fault(rig: &Rig, kernel: &str, grid: u32, block: u32, args: &[Arg]) -> FaultReport {
    match rig.launch(kernel, [grid, 1, 1], [block, 1, 1], 0, args) {
        Err(Error::Fault(report)) => {
            let text = report.to_string();
            assert!(text.starts_with(&format!("kernel {kernel}: {}", report.cause)), "{text}");
            assert!(text.contains(&format!("pc {:#x}", report.pc)), "{text}");
            assert!(text.contains(&report.instruction), "{text}");
            // The machine can still run kernels.
            let out = rig.words(&[0; 128]);
            rig.run("debug_trap", 1, 128, &[U64(out)]);
            assert_eq!(rig.read(out, 128), [1; 128]);
            *report
        }
        other => panic!("{}: {kernel}: {other:?}", rig.name),
    }
}

#[test]
fn an_array_index_out_of_scratch_is_a_stack_overflow() {
    for rig in Rig::waiting(&threads(1)) {
        let out = rig.words(&[0; 64]);
        for (kernel, access, bytes) in
            [("index_array", AccessKind::Write, 32), ("index_pointer", AccessKind::Read, 512)]
        {
            let index = rig.program.kernel_index(kernel).unwrap();
            let declared = rig.program.kernels()[index].private_segment_fixed_size;
            // The indices of the last lanes are out of bounds.
            let inside = (declared / 4).saturating_sub(60);
            let report = fault(&rig, kernel, 1, 64, &[U64(out), U32(inside)]);
            let FaultCause::StackOverflow { access: a, size, lanes, scratch, dynamic } = &report.cause else {
                panic!("{}: {report}", rig.name);
            };
            assert_eq!((*a, *size, *dynamic), (access, 4, 0), "{report}");
            assert_eq!(*scratch, declared.next_multiple_of(16));
            assert!(declared >= bytes && !lanes.is_empty() && lanes.len() <= 16, "{report}");
            for pair in lanes.windows(2) {
                assert_eq!(pair[1].address - pair[0].address, 4);
            }
            for lane in lanes {
                assert!(lane.address + 4 > u64::from(*scratch), "{report}");
            }
            // The first of them follows the last lane whose index is in bounds.
            let first = lanes[0].lane.unwrap();
            assert!(first > 0 && lanes[0].address <= u64::from(*scratch), "{report}");
            let text = report.to_string();
            let lane = format!("lane {first} at {:#x}", lanes[0].address);
            assert!(text.contains("stack overflow") && text.contains(&lane), "{text}");
            assert!(
                text.contains(&format!("each lane has {scratch} bytes, as the kernel declares")),
                "{text}"
            );
            // Indices that are far out of bounds.
            for index in [1 << 20, 1 << 28] {
                let report = fault(&rig, kernel, 1, 64, &[U64(out), U32(index)]);
                assert!(
                    matches!(&report.cause, FaultCause::StackOverflow { lanes, .. } if lanes.len() == 16),
                    "{report}"
                );
            }
        }
    }
}

#[test]
fn a_dynamic_stack_has_the_size_that_it_is_given() {
    let depth_reached = |bytes: u32| {
        let mut config = threads(1);
        config.dynamic_stack = bytes;
        Rig::waiting(&config)
            .iter()
            .map(|rig| {
                let runs = |depth: u32| {
                    let out = rig.words(&[5; 64]);
                    let ended = rig.launch("recurse", [1, 1, 1], [64, 1, 1], 0, &[U64(out), U32(depth)]);
                    if ended.is_ok() {
                        assert_eq!(rig.read(out, 64), [5 + depth; 64]);
                    }
                    ended.is_ok()
                };
                let deepest = (0..10_000).take_while(|depth| runs(*depth)).last().unwrap();
                let report = fault(rig, "recurse", 1, 64, &[U64(rig.words(&[0; 64])), U32(deepest + 1)]);
                let FaultCause::StackOverflow { scratch, dynamic, .. } = report.cause else {
                    panic!("{}: {report}", rig.name)
                };
                assert!(dynamic == bytes && scratch >= bytes, "{report}");
                let text = report.to_string();
                assert!(text.contains(&format!("{bytes} of them for its dynamic stack")), "{text}");
                assert!(text.contains("dynamic_stack"), "{text}");
                assert!(report.function.unwrap().0.contains("depth"), "{text}");
                deepest
            })
            .collect::<Vec<_>>()
    };
    for (small, large) in depth_reached(1 << 10).into_iter().zip(depth_reached(4 << 10)) {
        // A frame has 64 bytes and what the compiler adds.
        let frame = (3 << 10) / (large - small);
        assert!((64..256).contains(&frame), "{small} {large}");
    }
    // More than the limit.
    let mut config = threads(1);
    config.dynamic_stack = 200 << 10;
    for rig in Rig::waiting(&config) {
        let out = rig.words(&[0; 64]);
        let refused = rig.launch("recurse", [1, 1, 1], [64, 1, 1], 0, &[U64(out), U32(1)]).unwrap_err();
        assert!(matches!(refused, Error::InvalidLaunch { .. }), "{refused}");
        assert!(refused.to_string().contains("of dynamic stack"), "{refused}");
        rig.run("debug_trap", 1, 64, &[U64(out)]);
    }
}

#[test]
fn instructions_that_end_a_kernel_are_reported() {
    for rig in Rig::waiting(&threads(2)) {
        let ends = |kernel: &str, args: &[Arg], cause: FaultCause, instruction: &str, says: &str| {
            let report = fault(&rig, kernel, 3, 128, args);
            assert_eq!((&report.cause, report.instruction.as_str()), (&cause, instruction), "{report}");
            assert!(report.to_string().contains(says), "{report}");
        };
        ends("halts", &[], FaultCause::Halted, "s_sethalt 1", "no debugger");
        ends("privileged", &[], FaultCause::Privileged, "s_rfe_b64 s[0:1]", "trap handlers");
        ends("other_trap", &[], FaultCause::Trap { id: 7 }, "s_trap 7", "trap 7, which nothing handles");
        ends(
            "jump_to",
            &[U64(0x1234_5678_9abc)],
            FaultCause::BadJump { target: 0x1234_5678_9abc },
            "s_setpc_b64 s[0:1]",
            "where no instruction starts",
        );
        let report = fault(&rig, "branch_off", 1, 64, &[]);
        let FaultCause::BadJump { target } = report.cause else { panic!("{report}") };
        assert!(target > 4 * 0x7fff && report.instruction.starts_with("s_branch"), "{report}");
        let report = fault(&rig, "data_share", 1, 64, &[]);
        assert_eq!((&report.cause, report.mnemonic), (&FaultCause::NoGlobalDataShare, "ds_add_u32"));
        let report = fault(&rig, "misaligned_lds", 1, 64, &[]);
        let FaultCause::Misaligned { space: MemorySpace::Lds, size: 8, lanes } = &report.cause else {
            panic!("{report}")
        };
        assert_eq!((lanes.len(), lanes[0].lane, lanes[0].address % 8), (16, Some(0), 4));
    }
}

/// A wave that never arrives at a barrier runs until a budget ends the dispatch.
#[test]
fn waves_that_never_arrive_at_a_barrier_run_until_the_budget_ends() {
    let budgets = [
        (Some(300_000), None, Duration::from_secs(20)),
        (None, Some(Duration::from_millis(50)), Duration::from_secs(20)),
    ];
    for (instructions, time, limit) in budgets {
        let mut config = threads(2);
        config.instruction_budget = instructions;
        config.time_budget = time;
        for rig in Rig::waiting(&config) {
            let flag = rig.words(&[0]);
            let start = Instant::now();
            let report = fault(&rig, "spins_at_barrier", 2, 192, &[U64(flag)]);
            // The report is of the wave that never arrives.
            assert!(matches!(report.cause, FaultCause::OverBudget { at_barrier: 2, .. }), "{report}");
            assert!(report.wave == 1 && report.to_string().contains("2 waves of its workgroup"), "{report}");
            assert!(start.elapsed() < limit);
        }
    }
    for rig in Rig::waiting(&threads(2)) {
        let out = rig.words(&[0; 192]);
        rig.run("ends_at_barrier", 1, 192, &[U64(out)]);
        let want: Vec<u32> = (0..192).map(|item| u32::from(item / 64 != 1)).collect();
        assert_eq!(rig.read(out, 192), want, "an ended wave counts as having come");
    }
}

#[test]
fn a_barrier_that_can_never_be_met_is_found_without_a_budget() {
    for count in [1, 2] {
        for seed in [None, Some(3)] {
            let mut config: MachineConfig = threads(count);
            config.schedule_seed = seed;
            for rig in Rig::waiting(&config) {
                let out = rig.words(&[0; 128]);
                // As many waves as workgroups: the number that resource 0 expects until a kernel sets it.
                rig.run("never_meet", 3, 128, &[U64(out), U32(3)]);
                assert_eq!(rig.read(out, 128), [1; 128]);
                rig.run("init_resource", 1, 64, &[U32(3), U32(0)]);
                let report = fault(&rig, "never_meet", 3, 128, &[U64(out), U32(3)]);
                let FaultCause::NeverMet { waiting, waves, not_begun } = &report.cause else {
                    panic!("{}: {report}", rig.name)
                };
                assert_eq!((*waves, *not_begun, waiting.len()), (6, 0, 6), "{report}");
                // With one more wave, the barrier of four is met.
                rig.run("init_resource", 1, 64, &[U32(3), U32(0)]);
                rig.run("never_meet", 4, 128, &[U64(out), U32(3)]);
            }
        }
    }
}

#[test]
fn never_met_lists_the_waves_and_what_they_wait_for() {
    for rig in Rig::waiting(&threads(2)) {
        let out = rig.words(&[0; 256]);
        rig.run("init_resource", 1, 64, &[U32(2), U32(0)]);
        // Two of three waves arrive.
        let report = fault(&rig, "never_meet", 2, 128, &[U64(out), U32(2)]);
        let FaultCause::NeverMet { waiting, waves: 4, not_begun: 0 } = &report.cause else {
            panic!("{}: {report}", rig.name)
        };
        let at = |x, wave, waits_for| WaitingWave { workgroup: [x, 0, 0], wave, waits_for };
        let global = WaitsFor::GlobalBarrier { resource: 0, missing: 1 };
        let want =
            [at(0, 0, global), at(0, 1, WaitsFor::Barrier), at(1, 0, global), at(1, 1, WaitsFor::Barrier)];
        assert_eq!(waiting[..], want, "{report}");
        assert_eq!((report.mnemonic, report.workgroup, report.wave), ("ds_gws_barrier", [0; 3], 0));
        let text = report.to_string();
        for part in [
            "a barrier that can never be met: 4 waves wait",
            "workgroup (0, 0, 0) wave 0 at the global barrier 0 (missing waves: 1)",
            "workgroup (1, 0, 0) wave 1 at s_barrier",
        ] {
            assert!(text.contains(part), "{part}: {text}");
        }

        let report = fault(&rig, "never_released", 20, 64, &[]);
        let FaultCause::NeverMet { waiting, waves: 20, .. } = &report.cause else { panic!("{report}") };
        assert_eq!(waiting.len(), 16);
        assert!(report.to_string().contains("wave 0 at the global semaphore 5"), "{report}");

        // More workgroups than can have begun at once, each of which waits for all.
        let groups = 4000;
        rig.run("init_resource", 1, 64, &[U32(groups - 1), U32(7)]);
        let report = fault(&rig, "meet", groups, 64, &[U64(out), U32(groups - 1), U32(7)]);
        let FaultCause::NeverMet { waves, not_begun, .. } = report.cause else { panic!("{report}") };
        assert!(waves > 500 && waves + not_begun == u64::from(groups), "{report}");
        assert!(report.to_string().contains("a smaller grid"), "{report}");
    }
}
