//! Device scratch: it grows, it is unchanged when growing fails, and its size is bounded.

use hiplaunch::driver::ErrorCode;
use hiplaunch::driver::validation::{CallGroup, CallKind};
use hiplaunch::{Arg, Error, HostData, LaunchDims, PoolOptions};
use proptest::prelude::*;

use hiplaunch_testing::rig::*;

/// Launches `vadd_f32` with host arrays of `n` elements, reads the result and checks it.
fn vadd(rig: &Rig, handle: hiplaunch::KernelHandle, n: usize, seed: f32) -> hiplaunch::Result<()> {
    let (x, y): (Vec<f32>, Vec<f32>) = (0..n).map(|i| (i as f32, seed)).unzip();
    let args = [Arg::input(&x), Arg::input(&y), Arg::output::<f32>(n), Arg::from(n as i32)];
    let output = rig.launch(handle, LaunchDims::cover(n as u32, 256), &args)?.read()?;
    assert!(output.slice::<f32>(0)?.iter().enumerate().all(|(i, v)| *v == i as f32 + seed));
    Ok(())
}

#[test]
fn a_device_scratch_that_can_t_grow_stays_as_it_was() {
    on_each(|rig| {
        let handle = rig.kernel(&VECTOR, "vadd_f32");
        vadd(&rig, handle, 100, 1.0).unwrap();
        let held = rig.stream.scratch_bytes();
        assert!(held >= 1200);

        rig.validation().inject_repeating(CallKind::Malloc, 1, ErrorCode::OUT_OF_MEMORY);
        let before = rig.validation().counts();
        let failed = vadd(&rig, handle, 10_000, 2.0);
        match failed {
            Err(Error::OutOfMemory(oom)) => {
                assert_eq!(oom.kernel.as_deref(), Some("vadd_f32"));
                assert!(oom.requested >= 120_000 && oom.in_use == held as u64, "{oom}");
                assert_eq!(oom.held, oom.in_use + oom.cached + oom.held_back, "{oom}");
                assert!(oom.free.is_some() && oom.total.is_some());
                let text = oom.to_string();
                assert!(
                    text.contains("vadd_f32") && text.contains("requested") && text.contains("held"),
                    "{text}"
                );
            }
            other => panic!("{other:?}"),
        }
        let counts = rig.validation().counts().since(&before);
        assert_eq!(counts.get(CallGroup::DeviceFree), 0, "the old buffer is intact");
        assert_eq!(counts.get(CallKind::LaunchKernel), 0);
        assert_eq!(rig.stream.scratch_bytes(), held);
        // A launch that fits the old device scratch succeeds while allocations still fail.
        vadd(&rig, handle, 90, 3.0).unwrap();
        rig.validation().clear_injections();
        vadd(&rig, handle, 10_000, 4.0).unwrap();
        rig.assert_clean();
    });
}

#[test]
fn failures_of_every_call_of_a_launch_leave_the_launcher_usable() {
    on_each(|rig| {
        let handle = rig.kernel(&VECTOR, "vadd_f32");
        vadd(&rig, handle, 10, 0.5).unwrap();
        for kind in [
            CallKind::MemcpyHtodAsync,
            CallKind::LaunchKernel,
            CallKind::MemcpyDtohAsync,
            CallKind::EventRecord,
            CallKind::EventSynchronize,
            CallKind::HostMalloc,
            CallKind::Malloc,
            CallKind::EventCreate,
        ] {
            // Each size is larger, so that staging buffers, result buffers and device scratch have to grow.
            for n in [20usize, 200, 100_000] {
                rig.validation().inject(kind, 1, ErrorCode::INVALID_VALUE);
                let outcome = vadd(&rig, handle, n, 1.5);
                match &outcome {
                    Err(Error::Driver { source, kernel }) => {
                        assert_eq!(source.code, ErrorCode::INVALID_VALUE);
                        if !matches!(kind, CallKind::EventSynchronize) {
                            assert_eq!(kernel.as_deref(), Some("vadd_f32"), "{kind}");
                        }
                    }
                    // This size did not need a call of the kind.
                    Ok(()) => {}
                    other => panic!("{kind} {n}: {other:?}"),
                }
                rig.validation().clear_injections();
                vadd(&rig, handle, n, 2.5).unwrap();
                vadd(&rig, handle, 10, 3.5).unwrap();
            }
            rig.stream.trim().unwrap();
        }
        rig.assert_clean();
        let validation = rig.validation().clone();
        drop(rig);
        let leaks = validation.report_leaks();
        assert!(leaks.is_empty(), "{leaks:?}");
    });
}

#[test]
fn a_device_scratch_that_can_not_double_grows_as_far_as_needed() {
    let pool = PoolOptions { cap: Some(11 << 18), ..PoolOptions::default() };
    let rig = Rig::open(hiplaunch::Launcher::builder().pool(pool), hiplaunch::Backend::Emulator);
    let handle = rig.kernel(&VECTOR, "vadd_f32");
    // Just below 1 MiB, and half as much again: twice the first, in addition to it, would exceed the cap.
    vadd(&rig, handle, 87_360, 1.0).unwrap();
    vadd(&rig, handle, 131_040, 2.0).unwrap();
    let held = rig.stream.scratch_bytes();
    assert!((131_040 * 12..2 * 87_360 * 12).contains(&held), "{held}");
    // A request that is too large leaves it unchanged.
    assert!(matches!(vadd(&rig, handle, 262_080, 3.0), Err(Error::OutOfMemory(_))));
    assert_eq!(rig.stream.scratch_bytes(), held);
    vadd(&rig, handle, 87_360, 4.0).unwrap();
    rig.assert_clean();
}

#[test]
fn trim_frees_the_device_scratch() {
    on_each(|rig| {
        let handle = rig.kernel(&VECTOR, "vadd_f32");
        vadd(&rig, handle, 1000, 1.0).unwrap();
        assert!(rig.stream.scratch_bytes() >= 12_000);
        rig.stream.trim().unwrap();
        assert_eq!((rig.stream.scratch_bytes(), rig.device.held_bytes()), (0, 0));
        vadd(&rig, handle, 1000, 2.0).unwrap();
        rig.assert_clean();
    });
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, ..ProptestConfig::default() })]

    #[test]
    fn device_scratch_holds_at_most_twice_its_largest_request(
        requests in prop::collection::vec((1usize..1500, any::<bool>()), 1..40)
    ) {
        let rig = Rig::open(hiplaunch::Launcher::builder(), hiplaunch::Backend::Emulator);
        let kernel = rig.kernel(&VECTOR, "vadd_f32");
        let mut largest = 0;
        for (n, busy) in requests {
            let x = vec![1.0f32; n];
            let args = [Arg::input(&x), Arg::input(&x), Arg::output::<f32>(n), Arg::from(n as i32)];
            let before = rig.stream.scratch_bytes();
            let ticket = rig.launch(kernel, LaunchDims::cover(n as u32, 256), &args).unwrap();
            // Else the work is in flight, and an old block has to outlive it.
            if !busy {
                let output = ticket.read().unwrap();
                prop_assert!(output.slice::<f32>(0).unwrap().iter().all(|v| *v == 2.0));
            }
            let image = 3 * (4 * n).next_multiple_of(64);
            largest = largest.max(image);
            // The sizes of pool blocks are multiples of 256 bytes.
            let held = rig.stream.scratch_bytes();
            prop_assert!(held >= image && held >= before, "{held} {image} {before}");
            prop_assert!(held <= (2 * largest).next_multiple_of(256), "{held} {largest}");
        }
        rig.assert_clean();
    }

    #[test]
    fn results_are_right_for_any_mix_of_staged_data(
        launches in prop::collection::vec((1usize..3000, 0usize..3, any::<u8>()), 1..25)
    ) {
        let rig = Rig::open(hiplaunch::Launcher::builder().staging_ring(4096, 2), hiplaunch::Backend::Emulator);
        let echo = rig.kernel(&JIT, "jit_echo");
        let mut waiting = Vec::new();
        for (n, segments, seed) in launches {
            let payload: Vec<u8> = (0..n).map(|i| seed.wrapping_add(i as u8)).collect();
            let bytes = echo_bytes(&payload);
            let data = [HostData::In(&payload), HostData::InOut(&payload), HostData::Out(n)];
            let block = hiplaunch::ArgumentBlock {
                bytes: &bytes, patches: &RESULT, arrays: &data[..segments], result_bytes: n,
            };
            let ticket = rig.launch(echo, LaunchDims::linear(1, 256), &[Arg::ArgumentBlock(&block)]).unwrap();
            prop_assert_eq!(ticket.outputs(), 1 + segments.saturating_sub(1));
            if seed % 3 == 0 {
                drop(ticket);
            } else {
                waiting.push((payload, ticket));
            }
        }
        for (payload, ticket) in waiting {
            let output = ticket.read().unwrap();
            // The last output is the result block. The kernel does not change the inout array.
            prop_assert_eq!(output.bytes(output.len() - 1).unwrap(), &payload[..]);
            if output.len() == 2 {
                prop_assert_eq!(output.bytes(0).unwrap(), &payload[..]);
            }
        }
        rig.assert_clean();
    }
}
