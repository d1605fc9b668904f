//! The driver calls of a launch in the steady state, counted by the validation layer.

use hiplaunch::driver::validation::{CallGroup, CallKind};
use hiplaunch::{Arg, ArgumentBlock, DeviceBuffer, Event, EventOptions, Launch, LaunchDims, Staging, args};

use hiplaunch_testing::rig::*;

const LAUNCHES: u64 = 200;

/// Checks how many calls of each kind `LAUNCHES` rounds make after a few first rounds: those that `expected` has for
/// one round, and no others.
fn calls(rig: &Rig, expected: &[(CallKind, u64)], mut round: impl FnMut(u64)) {
    (0..8).for_each(&mut round);
    let before = rig.validation().counts();
    (8..8 + LAUNCHES).for_each(&mut round);
    let counts = rig.validation().counts().since(&before);
    for (kind, each) in expected {
        assert_eq!(counts.get(*kind), each * LAUNCHES, "{kind}\n{counts}");
    }
    let total: u64 = expected.iter().map(|(_, each)| each * LAUNCHES).sum();
    assert_eq!(counts.device_calls(), total, "no other calls\n{counts}");
    for kind in [
        CallGroup::DeviceAllocation,
        CallGroup::DeviceFree,
        CallGroup::PinnedAllocation,
        CallGroup::PinnedFree,
        CallGroup::LookUp,
        CallGroup::BlockingCopy,
        CallGroup::PageableCopy,
    ] {
        assert_eq!(counts.get(kind), 0, "{kind}");
    }
    rig.stream.synchronize().unwrap();
    rig.assert_clean();
}

#[test]
fn a_launch_with_values_and_buffers_is_one_call() {
    on_each(|rig| {
        let saxpy = rig.kernel(&VECTOR, "saxpy");
        let x = DeviceBuffer::from_slice(&rig.stream, &[1.0f32; 64]).unwrap();
        let y = DeviceBuffer::from_slice(&rig.stream, &[0.0f32; 64]).unwrap();
        calls(&rig, &[(CallKind::LaunchKernel, 1)], |i| {
            rig.launch(saxpy, LaunchDims::linear(1, 64), &args![i as f32, &x, &y, 64i32]).unwrap();
        });
        let sum: u64 = (0..8 + LAUNCHES).sum();
        assert_eq!(y.to_vec(&rig.stream).unwrap(), vec![sum as f32; 64]);
    });
}

/// Checks the calls of a launch of `jit_echo` and the reading of its result, with or without a changed argument block.
fn echo(rig: &Rig, staging: Staging, changed: bool, expected: &[(CallKind, u64)]) {
    let kernel = rig.kernel(&JIT, "jit_echo");
    calls(rig, expected, |i| {
        let payload = if changed { [i as u8; 48] } else { [42; 48] };
        let bytes = echo_bytes(&payload);
        let block = echo_block(&bytes, 48);
        let args = [Arg::ArgumentBlock(&block)];
        let launch = Launch::new(LaunchDims::linear(1, 64)).args(&args).staging(staging);
        let ticket = rig.submit(kernel, launch);
        assert_eq!(ticket.unwrap().read().unwrap().bytes(0).unwrap(), payload);
    });
}

#[test]
fn an_argument_block_with_a_result_is_two_copies_a_launch_and_one_wait() {
    use CallKind::*;
    let expected = [(MemcpyHtodAsync, 1), (LaunchKernel, 1), (MemcpyDtohAsync, 1), (StreamSynchronize, 1)];
    on_each(|rig| echo(&rig, Staging::Copy, true, &expected));
}

#[test]
fn an_unchanged_argument_block_is_not_copied_again() {
    use CallKind::*;
    let expected = [(LaunchKernel, 1), (MemcpyDtohAsync, 1), (StreamSynchronize, 1)];
    on_each(|rig| echo(&rig, Staging::Copy, false, &expected));
}

#[test]
fn mapped_staging_makes_no_copies() {
    use CallKind::*;
    let expected = [(LaunchKernel, 1), (StreamSynchronize, 1)];
    on_each(|rig| echo(&rig, Staging::Mapped, true, &expected));
}

#[test]
fn an_argument_block_without_a_result_is_a_copy_if_changed_and_a_launch() {
    use CallKind::*;
    on_each(|rig| {
        // The kernel writes its result to a buffer of the caller.
        let kernel = rig.kernel(&JIT, "jit_echo");
        let out = DeviceBuffer::<u8>::new(&rig.device, 48).unwrap();
        for (staging, changed, expected) in [
            (Staging::Copy, true, &[(MemcpyHtodAsync, 1), (LaunchKernel, 1)][..]),
            (Staging::Copy, false, &[(LaunchKernel, 1)][..]),
            (Staging::Mapped, true, &[(LaunchKernel, 1)][..]),
        ] {
            let mut last = [0; 48];
            calls(&rig, expected, |i| {
                last = if changed { [i as u8; 48] } else { [77; 48] };
                let mut bytes = echo_bytes(&last);
                bytes[..8].copy_from_slice(&out.ptr().0.to_le_bytes());
                let block = ArgumentBlock { bytes: &bytes, ..ArgumentBlock::default() };
                let args = [Arg::ArgumentBlock(&block)];
                let launch = Launch::new(LaunchDims::linear(1, 64)).args(&args).staging(staging);
                rig.submit(kernel, launch).unwrap();
            });
            assert_eq!(out.to_vec(&rig.stream).unwrap(), last);
        }
    });
}

#[test]
fn host_arrays_are_one_copy_to_the_device_and_one_to_the_host() {
    use CallKind::*;
    on_each(|rig| {
        let vadd = rig.kernel(&VECTOR, "vadd_f32");
        let expected =
            [(MemcpyHtodAsync, 1), (LaunchKernel, 1), (MemcpyDtohAsync, 1), (StreamSynchronize, 1)];
        calls(&rig, &expected, |i| {
            let (x, y) = ([i as f32; 100], [1.0f32; 100]);
            let args = [Arg::input(&x), Arg::input(&y), Arg::output::<f32>(100), Arg::from(100i32)];
            let output = rig.launch(vadd, LaunchDims::cover(100, 64), &args).unwrap().read().unwrap();
            assert_eq!(output.slice::<f32>(0).unwrap(), [i as f32 + 1.0; 100]);
        });
    });
}

#[test]
fn many_launches_are_read_with_one_wait() {
    use CallKind::*;
    on_each(|rig| {
        let kernel = rig.kernel(&JIT, "jit_echo");
        let launches = |round: u8| {
            let tickets: Vec<_> = (0..10u8)
                .map(|i| {
                    let payload = [i ^ round; 32];
                    let bytes = echo_bytes(&payload);
                    let block = echo_block(&bytes, 32);
                    (
                        payload,
                        rig.launch(kernel, LaunchDims::linear(1, 64), &[Arg::ArgumentBlock(&block)]).unwrap(),
                    )
                })
                .collect();
            // The last ticket is read first. The host then knows that the other launches have finished too.
            for (payload, ticket) in tickets.into_iter().rev() {
                assert!(!ticket.is_ready() || ticket.is_ready());
                assert_eq!(ticket.read().unwrap().bytes(0).unwrap(), payload);
            }
        };
        (0..3).for_each(launches);
        let before = rig.validation().counts();
        launches(99);
        let counts = rig.validation().counts().since(&before);
        assert!(counts.get(CallGroup::Synchronize) <= 1, "{counts}");
        assert_eq!(counts.get(LaunchKernel), 10);
        rig.assert_clean();
    });
}

#[test]
fn the_staging_ring_records_an_event_for_a_buffer_not_for_a_launch() {
    use CallKind::*;
    on_each_with(
        || hiplaunch::Launcher::builder().staging_ring(4096, 3),
        |rig| {
            let kernel = rig.kernel(&JIT, "jit_echo");
            let out = DeviceBuffer::<u8>::new(&rig.device, 48).unwrap();
            let launch = |i: u64| {
                let mut bytes = echo_bytes(&[i as u8; 48]);
                bytes[..8].copy_from_slice(&out.ptr().0.to_le_bytes());
                let block = ArgumentBlock { bytes: &bytes, ..ArgumentBlock::default() };
                rig.launch(kernel, LaunchDims::linear(1, 64), &[Arg::ArgumentBlock(&block)]).unwrap();
            };
            (0..500).for_each(launch);
            let before = rig.validation().counts();
            (0..640).for_each(launch);
            let counts = rig.validation().counts().since(&before);
            // A staging buffer of 4096 bytes takes 64 argument blocks of 64 bytes, so 640 launches fill 10 staging
            // buffers. Each makes at most one event, one query and one wait.
            assert!(counts.get(EventRecord) <= 11, "{counts}");
            assert!(counts.get(EventQuery) + counts.get(EventSynchronize) <= 22, "{counts}");
            // The second and third staging buffer are allocated when the device is slower than the host. On a busy
            // machine that may not have happened before now.
            assert!(
                counts.get(CallGroup::PinnedAllocation) <= 2 && rig.stream.pinned_bytes() <= 3 * 4096,
                "{counts}"
            );
            assert_eq!(out.to_vec(&rig.stream).unwrap(), [639u64 as u8; 48]);
            rig.assert_clean();
        },
    );
}

#[test]
fn the_event_of_a_launch_is_recorded_when_something_is_enqueued_after_it() {
    use CallKind::*;
    on_each(|rig| {
        let kernel = rig.kernel(&JIT, "jit_echo");
        let echo = |payload: u8| {
            let bytes = echo_bytes(&[payload; 16]);
            let block = echo_block(&bytes, 16);
            rig.launch(kernel, LaunchDims::linear(1, 64), &[Arg::ArgumentBlock(&block)]).unwrap()
        };
        let mut buffer = DeviceBuffer::from_slice(&rig.stream, &[0u32; 16]).unwrap();
        let other = rig.launcher.stream(&rig.device).unwrap();
        let event = Event::new(&rig.device, EventOptions::default()).unwrap();
        echo(0).read().unwrap();
        // What is enqueued after the launch, and how many events are recorded with it.
        let mut after: [(&str, &mut dyn FnMut(), u64); 5] = [
            ("nothing", &mut || (), 0),
            ("a launch", &mut || drop(echo(2)), 1),
            ("a fill", &mut || buffer.fill_bytes(&rig.stream, 1).unwrap(), 1),
            ("a wait", &mut || event.wait_on(&rig.stream).unwrap(), 1),
            ("work on another stream", &mut || assert!(other.is_idle().unwrap()), 0),
        ];
        event.record(&other).unwrap();
        for (what, enqueue, events) in &mut after {
            let before = rig.validation().counts();
            let ticket = echo(1);
            enqueue();
            assert_eq!(ticket.read().unwrap().bytes(0).unwrap(), [1; 16], "after {what}");
            let counts = rig.validation().counts().since(&before);
            assert_eq!(counts.get(EventRecord), *events, "after {what}\n{counts}");
            let (event_waits, stream_waits) = (counts.get(EventSynchronize), counts.get(StreamSynchronize));
            assert_eq!((event_waits, stream_waits), (*events, 1 - *events), "after {what}\n{counts}");
            rig.stream.synchronize().unwrap();
        }
        // Whoever has the raw handle may enqueue unseen: each launch has its event then.
        let before = rig.validation().counts();
        let ticket = echo(3);
        rig.stream.as_raw();
        ticket.read().unwrap();
        echo(4).read().unwrap();
        let counts = rig.validation().counts().since(&before);
        assert_eq!((counts.get(EventRecord), counts.get(EventSynchronize)), (2, 2), "{counts}");
        rig.assert_clean();
    });
}

#[test]
fn an_abandoned_ticket_returns_its_result_buffer_without_an_event() {
    on_each(|rig| {
        let kernel = rig.kernel(&JIT, "jit_echo");
        let held = |rounds: u32| {
            for _ in 0..rounds {
                let bytes = echo_bytes(&[9; 16]);
                let block = echo_block(&bytes, 16);
                let args = [Arg::ArgumentBlock(&block)];
                drop(rig.launch(kernel, LaunchDims::linear(1, 64), &args).unwrap());
                rig.stream.synchronize().unwrap();
            }
            rig.stream.pinned_bytes()
        };
        assert_eq!(held(4), held(400));
        rig.assert_clean();
    });
}
