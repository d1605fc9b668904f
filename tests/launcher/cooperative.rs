//! Cooperative launches: the grid waits for itself, and one that does not fit is refused before anything is enqueued.

use hiplaunch::driver::validation::CallKind;
use hiplaunch::driver::{Capability, ErrorCode};
use hiplaunch::{Arg, DeviceBuffer, Error, Launch, LaunchDims, LaunchProblem, Staging};

use hiplaunch_testing::rig::*;

/// `rounds` steps of the kernel's stencil.
fn stencil(values: &[u32], rounds: i32) -> Vec<u32> {
    let mut from = values.to_vec();
    for _ in 0..rounds {
        let at = |i: usize| from[i.min(from.len() - 1)];
        from = (0..from.len())
            .map(|i| at(i.saturating_sub(1)).wrapping_add(2u32.wrapping_mul(at(i))).wrapping_add(at(i + 1)))
            .collect();
    }
    from
}

/// Whether the driver has cooperative launches; where not, that they are refused.
fn has(rig: &Rig) -> bool {
    let has = rig.launcher.driver().capabilities().has(Capability::CooperativeLaunch);
    if !has {
        let kernel = rig.kernel(&PROBE, "no_args");
        let refused = rig.submit(kernel, Launch::new(LaunchDims::linear(1, 64)).cooperative());
        assert_eq!(refused.unwrap_err().code(), Some(ErrorCode::NOT_SUPPORTED));
        println!("skipped: no cooperative launches");
    }
    has
}

#[test]
fn a_grid_waits_for_itself() {
    on_each(|rig| {
        if !has(&rig) {
            return;
        }
        let kernel = rig.kernel(&GRID, "grid_stencil");
        for (n, grid, block, rounds) in
            [(1usize, 1, 64, 3), (100, 2, 64, 2), (3000, 12, 256, 9), (999, 40, 64, 16)]
        {
            let values: Vec<u32> = (0..n as u32).map(|i| i.wrapping_mul(0x9e37_79b9)).collect();
            for staging in [Staging::Copy, Staging::Mapped] {
                let other = DeviceBuffer::from_slice(&rig.stream, &vec![0u32; n]).unwrap();
                let result = values.clone();
                let args = [Arg::inout(&result), Arg::from(&other), Arg::from(n as i32), Arg::from(rounds)];
                let launch = Launch::new(LaunchDims::linear(grid, block)).args(&args).staging(staging);
                let output = rig.submit(kernel, launch.cooperative()).unwrap().read().unwrap();
                let got = match rounds % 2 {
                    0 => output.slice::<u32>(0).unwrap().to_vec(),
                    _ => other.to_vec(&rig.stream).unwrap(),
                };
                assert_eq!(got, stencil(&values, rounds), "{n} values on {grid} workgroups");
            }
        }
        rig.assert_clean();
    });
}

#[test]
fn a_grid_that_does_not_fit_is_refused_with_what_does() {
    on_each(|rig| {
        if !has(&rig) {
            return;
        }
        let kernel = rig.kernel(&GRID, "grid_stencil");
        let buffer = DeviceBuffer::from_slice(&rig.stream, &[0u32; 64]).unwrap();
        let args = [Arg::from(&buffer), Arg::from(&buffer), Arg::from(64i32), Arg::from(0i32)];
        let go = |blocks: u32, lds: u32| {
            let dims = LaunchDims { dynamic_lds: lds, ..LaunchDims::linear(blocks, 1024) };
            rig.submit(kernel, Launch::new(dims).args(&args).cooperative()).map(drop)
        };
        let limit = |lds| match go(u32::MAX >> 12, lds) {
            Err(Error::Launch { problem, .. }) => match *problem {
                LaunchProblem::CooperativeGrid { blocks, limit } => {
                    assert_eq!(blocks, u64::from(u32::MAX >> 12));
                    limit as u32
                }
                other => panic!("{other}"),
            },
            other => panic!("{other:?}"),
        };
        rig.stream.synchronize().unwrap();
        let before = rig.validation().counts();
        let without_lds = limit(0);
        assert_eq!(rig.validation().counts().since(&before).get(CallKind::LaunchCooperative), 0);
        // One compute unit has room for less of them with all of its LDS.
        let with_lds = limit(rig.device.properties().max_lds_per_block);
        assert_eq!(with_lds, rig.device.properties().compute_units);
        assert!(without_lds >= with_lds);
        // The most that fit do run.
        go(with_lds, rig.device.properties().max_lds_per_block).unwrap();
        // Nor does one more where the same dimensions were launched as a plain grid.
        let dynamic_lds = rig.device.properties().max_lds_per_block;
        let dims = LaunchDims { dynamic_lds, ..LaunchDims::linear(with_lds + 1, 1024) };
        rig.submit(kernel, Launch::new(dims).args(&args)).unwrap();
        assert!(go(with_lds + 1, rig.device.properties().max_lds_per_block).is_err());
        rig.stream.synchronize().unwrap();
        assert_eq!(rig.validation().counts().since(&before).get(CallKind::LaunchCooperative), 1);
        rig.assert_clean();
    });
}

#[test]
fn a_cooperative_launch_has_a_destination_and_packed_arguments_as_any_other() {
    on_each(|rig| {
        if !has(&rig) {
            return;
        }
        let kernel = rig.kernel(&GRID, "grid_stencil");
        let values: Vec<u32> = (0..500).collect();
        let from = DeviceBuffer::from_slice(&rig.stream, &values).unwrap();
        let mut packed = Vec::new();
        packed.extend_from_slice(&from.ptr().0.to_le_bytes());
        packed.extend_from_slice(&0u64.to_le_bytes());
        packed.extend_from_slice(&500i32.to_le_bytes());
        packed.extend_from_slice(&1i32.to_le_bytes());
        let mut to: Option<DeviceBuffer<u32>> = None;
        let launch = Launch::new(LaunchDims::linear(4, 64)).packed(&packed).cooperative();
        rig.submit(kernel, launch.destination(&mut to, &[500]).destination_parameter(1)).unwrap();
        assert_eq!(to.unwrap().to_vec(&rig.stream).unwrap(), stencil(&values, 1));
        // A grid of nothing is a launch of nothing.
        let nothing = LaunchDims { grid: [0, 1, 1], ..LaunchDims::linear(1, 64) };
        rig.submit(kernel, Launch::new(nothing).packed(&packed).cooperative()).unwrap();
        rig.assert_clean();
    });
}
