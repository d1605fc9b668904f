//! Many threads, several streams and nested launches: each launch has its own arguments and results.

use hiplaunch::driver::DevicePtr;
use hiplaunch::{Arg, Event, EventOptions, Launch, LaunchDims, Launcher, Staging, Stream};

use hiplaunch_testing::rig::*;

/// Launches `jit_echo` with a payload that depends on `seed`. Returns the payload, which is also the result.
fn echo(
    launcher: &Launcher,
    kernel: hiplaunch::KernelHandle,
    stream: &Stream,
    seed: u64,
    staging: Staging,
) -> (Vec<u8>, hiplaunch::Ticket) {
    let payload: Vec<u8> =
        (0..seed % 200 + 8).map(|i| (seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> (i % 57)) as u8).collect();
    let bytes = echo_bytes(&payload);
    let block = echo_block(&bytes, payload.len());
    let args = [Arg::ArgumentBlock(&block)];
    let launch = Launch::new(LaunchDims::linear(1, 64)).args(&args).staging(staging);
    // SAFETY: the argument block has the layout that the kernel takes.
    let ticket = unsafe { launcher.submit(kernel, stream, launch) };
    (payload, ticket.unwrap())
}

#[test]
fn launches_of_one_handle_from_8_threads_on_4_streams_have_their_own_results() {
    on_each_with(
        // Small staging buffers, so that each is filled many times.
        || Launcher::builder().staging_ring(2048, 2),
        |rig| {
            let kernel = rig.kernel(&JIT, "jit_echo");
            let streams: Vec<Stream> = (0..4).map(|_| rig.launcher.stream(&rig.device).unwrap()).collect();
            std::thread::scope(|scope| {
                for thread in 0..8u64 {
                    let (launcher, streams) = (&rig.launcher, &streams);
                    scope.spawn(move || {
                        let mut waiting = std::collections::VecDeque::new();
                        for i in 0..60 {
                            let seed = thread * 1000 + i;
                            let staging = if i % 3 == 0 { Staging::Mapped } else { Staging::Copy };
                            let stream = &streams[(thread + i) as usize % 4];
                            waiting.push_back(echo(launcher, kernel, stream, seed, staging));
                            if waiting.len() > (seed % 7) as usize
                                && let Some((payload, ticket)) = waiting.pop_front()
                            {
                                assert_eq!(ticket.read().unwrap().bytes(0).unwrap(), payload);
                            }
                        }
                        for (payload, ticket) in waiting {
                            assert_eq!(ticket.read().unwrap().bytes(0).unwrap(), payload);
                        }
                    });
                }
            });
            rig.assert_clean();
        },
    );
}

#[test]
fn nested_launches_of_one_handle_have_their_own_results() {
    // Launches and reads inner launches while the outer launch is in flight, as a runtime may that computes arguments
    // by further launches.
    fn nest(rig: &Rig, kernel: hiplaunch::KernelHandle, streams: &[Stream], depth: usize, seed: u64) -> u64 {
        if depth == 0 {
            return seed;
        }
        let outer = echo(&rig.launcher, kernel, &streams[depth % streams.len()], seed, Staging::Copy);
        let inner = nest(rig, kernel, streams, depth - 1, seed * 3 + 1);
        let (payload, ticket) =
            echo(&rig.launcher, kernel, &streams[depth % streams.len()], inner, Staging::Copy);
        assert_eq!(ticket.read().unwrap().bytes(0).unwrap(), payload);
        assert_eq!(outer.1.read().unwrap().bytes(0).unwrap(), outer.0);
        inner + nest(rig, kernel, streams, depth - 1, seed + 1) % 1000
    }
    on_each(|rig| {
        let kernel = rig.kernel(&JIT, "jit_echo");
        let streams: Vec<Stream> = (0..4).map(|_| rig.launcher.stream(&rig.device).unwrap()).collect();
        nest(&rig, kernel, &streams, 6, 1);
        std::thread::scope(|scope| {
            for thread in 0..4 {
                let (rig, streams) = (&rig, &streams);
                scope.spawn(move || nest(rig, kernel, streams, 4, thread * 50));
            }
        });
        rig.assert_clean();
    });
}

#[test]
fn an_event_orders_the_launches_of_two_streams() {
    on_each(|rig| {
        let bump = rig.kernel(&PROBE, "bump");
        let other = rig.launcher.stream(&rig.device).unwrap();
        let buffer = hiplaunch::DeviceBuffer::from_slice(&rig.stream, &[0u32; 64]).unwrap();
        let event = Event::new(&rig.device, EventOptions::default()).unwrap();
        for round in 0..50 {
            let stream = if round % 2 == 0 { &rig.stream } else { &other };
            let next = if round % 2 == 0 { &other } else { &rig.stream };
            let args = [Arg::Pointer(buffer.ptr()), Arg::from(64i32)];
            // SAFETY: the arguments are those that the kernel takes, and the event orders the two streams.
            unsafe { rig.launcher.launch(bump, stream, LaunchDims::linear(1, 64), &args) }.unwrap();
            event.record(stream).unwrap();
            event.wait_on(next).unwrap();
        }
        assert_eq!(buffer.to_vec(&rig.stream).unwrap(), [50; 64]);
        rig.assert_clean();
    });
}

#[test]
fn kernels_are_registered_and_unregistered_while_other_threads_launch() {
    on_each(|rig| {
        let kernel = rig.kernel(&JIT, "jit_echo");
        std::thread::scope(|scope| {
            for thread in 0..2u64 {
                let rig = &rig;
                scope.spawn(move || {
                    let stream = rig.launcher.stream(&rig.device).unwrap();
                    for i in 0..40 {
                        let (payload, ticket) =
                            echo(&rig.launcher, kernel, &stream, thread * 100 + i, Staging::Copy);
                        assert_eq!(ticket.read().unwrap().bytes(0).unwrap(), payload);
                    }
                });
            }
            for _ in 0..2 {
                let rig = &rig;
                scope.spawn(move || {
                    let stream = rig.launcher.stream(&rig.device).unwrap();
                    for i in 0..15u32 {
                        let handle = rig.kernel(&VECTOR, "iota_u32");
                        let args = [Arg::output::<u32>(4), Arg::from(i), Arg::from(4i32)];
                        // SAFETY: the arguments are those that the kernel takes.
                        let ticket =
                            unsafe { rig.launcher.launch(handle, &stream, LaunchDims::linear(1, 64), &args) }
                                .unwrap();
                        // The launch may be in flight.
                        rig.launcher.unregister(handle).unwrap();
                        assert_eq!(ticket.read().unwrap().slice::<u32>(0).unwrap(), [i, i + 1, i + 2, i + 3]);
                    }
                });
            }
        });
        assert_eq!(rig.launcher.registered(), 1);
        // SAFETY: the call is refused.
        let stale = unsafe {
            rig.launcher.launch(hiplaunch::KernelHandle(0), &rig.stream, LaunchDims::linear(1, 1), &[])
        };
        assert!(matches!(stale, Err(hiplaunch::Error::StaleHandle(0))));
        assert!(DevicePtr::NULL.is_null());
        rig.assert_clean();
    });
}
