//! Captures of streams by the launcher, with the validation layer on: what becomes a graph, what is refused, and what
//! is kept. They are apart from other tests, since HIP's captures concern the whole process.

use std::sync::{Mutex, PoisonError};

use hiplaunch::driver::validation::CallKind;
use hiplaunch::driver::{Capability, DeviceId, ErrorCode, StreamOptions, Work};
use hiplaunch::stream::CaptureMode;
use hiplaunch::{
    Arg, BufferArg, CapturedGraph, Destination, DeviceBuffer, Error, Event, EventOptions, HostData, Launch,
    LaunchDims, LaunchProblem, Stream, args,
};

use hiplaunch_testing::rig::{self, *};

/// Runs a test on each backend that captures streams, one test at a time.
fn on_each(test: impl Fn(&Rig)) {
    static ONE: Mutex<()> = Mutex::new(());
    let _one = ONE.lock().unwrap_or_else(PoisonError::into_inner);
    rig::on_each(|rig| {
        if !rig.launcher.driver().capabilities().has(Capability::StreamCapture) {
            return println!("skipped: the driver captures no streams");
        }
        test(&rig);
        rig.assert_clean();
    });
}

fn buffer(rig: &Rig, words: &[u32]) -> DeviceBuffer<u32> {
    DeviceBuffer::from_slice(&rig.stream, words).unwrap()
}

/// Adds 1 to each word of a buffer.
fn bump(rig: &Rig, stream: &Stream, words: &DeviceBuffer<u32>) -> hiplaunch::Result<()> {
    let (kernel, count) = (rig.kernel(&PROBE, "bump"), words.len());
    let args = args![words, count as i32];
    // SAFETY: as the kernel takes it.
    unsafe {
        rig.launcher.enqueue(kernel, stream, Launch::new(LaunchDims::cover(count as u32, 64)).args(&args))
    }
}

fn run(graph: &CapturedGraph, stream: &Stream) {
    // SAFETY: nothing else uses the buffers of the tests at the same time.
    unsafe { graph.launch(stream) }.unwrap();
}

/// Checks that the stream takes work again, which runs at once.
fn takes_work(rig: &Rig) {
    assert!(!rig.stream.is_capturing().unwrap());
    let words = buffer(rig, &[41]);
    bump(rig, &rig.stream, &words).unwrap();
    assert_eq!(words.to_vec(&rig.stream).unwrap(), [42]);
}

#[test]
fn a_graph_does_what_was_captured_with_one_call() {
    on_each(|rig| {
        let (a, mut b) = (buffer(rig, &[0; 100]), buffer(rig, &[0; 100]));
        rig.stream.synchronize().unwrap();
        let graph = rig.stream.capture(CaptureMode::Global, |stream| {
            assert!(stream.is_capturing()?);
            bump(rig, stream, &a)?;
            b.copy_from(stream, &a.view())?;
            bump(rig, stream, &b)
        });
        let graph = graph.unwrap();
        assert_eq!(a.to_vec(&rig.stream).unwrap(), [0; 100]);
        run(&graph, &rig.stream);
        let before = rig.validation().counts();
        (0..9).for_each(|_| run(&graph, &rig.stream));
        let counts = rig.validation().counts().since(&before);
        assert_eq!((counts.get(CallKind::GraphLaunch), counts.device_calls()), (9, 9), "{counts}");
        assert_eq!(a.to_vec(&rig.stream).unwrap(), [10; 100]);
        assert_eq!(b.to_vec(&rig.stream).unwrap(), [11; 100]);
        // A fill is captured, too.
        let graph = rig.stream.capture(CaptureMode::ThreadLocal, |stream| b.fill(stream, 7)).unwrap();
        run(&graph, &rig.stream);
        assert_eq!(b.to_vec(&rig.stream).unwrap(), [7; 100]);
    });
}

#[test]
fn a_graph_keeps_what_it_uses() {
    on_each(|rig| {
        let (words, dropped, named) = (buffer(rig, &[5; 64]), buffer(rig, &[5; 64]), buffer(rig, &[5; 64]));
        let kernel = rig.kernel(&PROBE, "bump");
        let other = rig.launcher.stream(&rig.device).unwrap();
        rig.stream.synchronize().unwrap();
        rig.stream.begin_capture(CaptureMode::Relaxed).unwrap();
        let dims = LaunchDims::linear(1, 64);
        rig.launch(kernel, dims, &args![&words, 64i32]).unwrap();
        rig.launch(kernel, dims, &args![&dropped, 64i32]).unwrap().read().unwrap();
        let buffers = [BufferArg::from(&named)];
        let mut packed = [0; 12];
        packed[..8].copy_from_slice(&buffers[0].ptr().0.to_le_bytes());
        packed[8..].copy_from_slice(&64i32.to_le_bytes());
        rig.submit(kernel, Launch::new(dims).packed_with(&packed, &buffers)).unwrap();
        let addresses = [dropped.ptr(), named.ptr()];
        drop((dropped, named));
        rig.launcher.unregister(kernel).unwrap();
        let graph = rig.stream.end_capture().unwrap();
        // The memory is not given to others while the graph may use it.
        let others: Vec<_> = (0..8).map(|_| buffer(rig, &[0; 64])).collect();
        assert!(others.iter().all(|other| !addresses.contains(&other.ptr())));
        rig.stream.synchronize().unwrap();
        (0..3).for_each(|_| run(&graph, &other));
        // Its last launch is in flight.
        drop(graph);
        drop(others);
        other.synchronize().unwrap();
        assert_eq!(words.to_vec(&rig.stream).unwrap(), [8; 64]);
        rig.stream.synchronize().unwrap();
        drop(words);
        let leaks = rig.validation().report_leaks();
        let graphs = leaks.iter().filter(|leak| leak.to_string().contains("graph")).count();
        assert_eq!(graphs, 0, "{leaks:?}");
    });
}

#[test]
fn what_cannot_be_captured_is_refused_before_any_call() {
    on_each(|rig| {
        let stream = &rig.stream;
        let mut words = buffer(rig, &[0; 64]);
        let (bump_kernel, echo) = (rig.kernel(&PROBE, "bump"), rig.kernel(&JIT, "jit_echo"));
        let event = Event::new(&rig.device, EventOptions::default()).unwrap();
        let block = echo_bytes(&[7; 16]);
        let earlier =
            rig.launch(echo, LaunchDims::linear(1, 64), &[Arg::ArgumentBlock(&echo_block(&block, 16))]);
        let earlier = earlier.unwrap();
        let graph = rig.launcher.graph(&rig.device).unwrap();
        stream.begin_capture(CaptureMode::Global).unwrap();
        let before = rig.validation().counts();
        let captured = |result: Result<(), Error>| {
            let error = result.expect_err("it can't be captured");
            assert!(matches!(error, Error::Captured { .. }), "{error}");
        };
        captured(stream.begin_capture(CaptureMode::Global));
        captured(stream.synchronize());
        captured(stream.is_idle().map(drop));
        captured(stream.trim());
        captured(stream.host_function(|_| panic!("it runs")));
        captured(words.upload(stream, &[1; 64]));
        captured(words.download(stream, &mut [0; 64]));
        captured(words.to_vec(stream).map(drop));
        captured(DeviceBuffer::<u32>::on(stream, 64).map(drop));
        captured(event.record(stream));
        captured(event.wait_on(stream));
        captured(graph.compute(stream).map(drop));
        let launch = |kernel, launch: Launch<'_>| match rig.submit(kernel, launch) {
            Err(Error::Launch { problem, .. }) => {
                assert!(matches!(*problem, LaunchProblem::Captured(_)), "{problem}");
            }
            other => panic!("{other:?}"),
        };
        let dims = LaunchDims::linear(1, 64);
        for host in [HostData::In(&[0; 256]), HostData::InOut(&[0; 256]), HostData::Out(256)] {
            launch(bump_kernel, Launch::new(dims).args(&[Arg::Host(host), Arg::from(64i32)]));
        }
        launch(echo, Launch::new(dims).args(&[Arg::ArgumentBlock(&echo_block(&block, 16))]));
        let values = args![&words, 64i32];
        launch(bump_kernel, Launch::new(dims).args(&values).cooperative());
        // A result from before the capture can be read after it.
        assert!(!earlier.is_ready());
        let counts = rig.validation().counts().since(&before);
        assert_eq!(counts.device_calls(), 0, "{counts}");
        bump(rig, stream, &words).unwrap();
        let graph = stream.end_capture().unwrap();
        assert_eq!(earlier.read().unwrap().bytes(0).unwrap(), [7; 16]);
        run(&graph, stream);
        assert_eq!(words.to_vec(stream).unwrap(), [1; 64]);
        words.upload(stream, &[3; 64]).unwrap();
    });
}

#[test]
fn a_destination_can_be_captured() {
    on_each(|rig| {
        let kernel = rig.kernel(&VECTOR, "vadd_f32");
        let x = DeviceBuffer::from_slice(&rig.stream, &[1.5f32; 64]).unwrap();
        let mut y = DeviceBuffer::<f32>::on(&rig.stream, 64).unwrap();
        let graph = rig.stream.capture(CaptureMode::ThreadLocal, |stream| {
            let args = args![&x, &x, Arg::Destination, 64i32];
            let launch = Launch::new(LaunchDims::linear(1, 64)).args(&args);
            let launch = launch.destination(Destination::from(&mut y), &[64]);
            // SAFETY: as the kernel takes it.
            unsafe { rig.launcher.enqueue(kernel, stream, launch) }
        });
        run(&graph.unwrap(), &rig.stream);
        assert_eq!(y.to_vec(&rig.stream).unwrap(), [3.0; 64]);
    });
}

#[test]
fn a_capture_that_fails_leaves_the_stream_usable() {
    on_each(|rig| {
        let words = buffer(rig, &[0]);
        assert!(matches!(rig.stream.end_capture(), Err(Error::Invalid { .. })));
        let failed = rig.stream.capture(CaptureMode::Relaxed, |stream| {
            bump(rig, stream, &words)?;
            stream.synchronize()
        });
        assert!(matches!(failed, Err(Error::Captured { .. })));
        takes_work(rig);
        let panicked = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            rig.stream.capture(CaptureMode::Global, |_| panic!("in the capture"))
        }));
        assert!(panicked.is_err());
        takes_work(rig);
        // Memory that another stream allocates breaks a capture in a mode that does not allow it.
        let other = rig.launcher.stream(&rig.device).unwrap();
        let broken = rig.stream.capture(CaptureMode::Global, |_| {
            let refused = DeviceBuffer::<u8>::on(&other, 64 << 20).unwrap_err();
            assert_eq!(refused.code(), Some(ErrorCode::STREAM_CAPTURE_UNSUPPORTED));
            Ok(())
        });
        assert_eq!(broken.unwrap_err().code(), Some(ErrorCode::STREAM_CAPTURE_INVALIDATED));
        takes_work(rig);
        let relaxed =
            rig.stream.capture(CaptureMode::Relaxed, |_| DeviceBuffer::<u8>::on(&other, 96 << 20).map(drop));
        relaxed.unwrap();
        assert_eq!(words.to_vec(&rig.stream).unwrap(), [0]);
    });
}

#[test]
fn only_the_thread_that_began_a_capture_ends_it() {
    on_each(|rig| {
        rig.stream.begin_capture(CaptureMode::ThreadLocal).unwrap();
        let ended =
            std::thread::scope(|scope| scope.spawn(|| rig.stream.end_capture().map(drop)).join().unwrap());
        assert_eq!(ended.unwrap_err().code(), Some(ErrorCode::STREAM_CAPTURE_WRONG_THREAD));
        assert!(rig.stream.is_capturing().unwrap());
        rig.stream.end_capture().unwrap();
        takes_work(rig);
    });
}

#[test]
fn every_failing_call_is_returned_and_leaks_nothing() {
    on_each(|rig| {
        let words = buffer(rig, &[0]);
        let other = rig.launcher.stream(&rig.device).unwrap();
        let kinds = [
            CallKind::StreamBeginCapture,
            CallKind::LaunchKernel,
            CallKind::StreamEndCapture,
            CallKind::GraphInstantiate,
        ];
        for kind in kinds {
            rig.validation().inject(kind, 1, ErrorCode::OUT_OF_MEMORY);
            let failed = rig.stream.capture(CaptureMode::Relaxed, |stream| bump(rig, stream, &words));
            assert_eq!(failed.unwrap_err().code(), Some(ErrorCode::OUT_OF_MEMORY), "{kind}");
            assert_eq!(rig.validation().pending_injections(), 0);
            // Also when the driver was not asked to end the capture: it is ended once more, without a graph.
            takes_work(rig);
        }
        let graph = rig.stream.capture(CaptureMode::Relaxed, |stream| bump(rig, stream, &words)).unwrap();
        rig.validation().inject(CallKind::GraphLaunch, 1, ErrorCode::OUT_OF_MEMORY);
        // SAFETY: as in `run`.
        assert!(unsafe { graph.launch(&rig.stream) }.is_err());
        // SAFETY: as in `run`.
        let inner = other.capture(CaptureMode::Relaxed, |stream| unsafe { graph.launch(stream) });
        assert!(matches!(inner, Err(Error::Captured { .. })));
        run(&graph, &rig.stream);
        assert_eq!(words.to_vec(&rig.stream).unwrap(), [1]);
    });
}

#[test]
fn a_stream_that_is_dropped_gives_up_its_capture() {
    on_each(|rig| {
        let words = buffer(rig, &[0]);
        rig.stream.synchronize().unwrap();
        let stream = rig.launcher.stream(&rig.device).unwrap();
        stream.begin_capture(CaptureMode::Global).unwrap();
        bump(rig, &stream, &words).unwrap();
        drop(stream);
        takes_work(rig);
        assert_eq!(words.to_vec(&rig.stream).unwrap(), [0]);
    });
}

#[test]
fn launches_join_the_capture_of_an_adopted_streams_owner() {
    on_each(|rig| {
        // The owner uses the driver below the launcher's layers.
        let (driver, device) = (rig.validation().inner().clone(), rig.device.id());
        let echo = rig.kernel(&JIT, "jit_echo");
        let mut words = buffer(rig, &[0; 64]);
        rig.stream.synchronize().unwrap();
        // SAFETY: the stream, the kernels and the memory live until the graph is destroyed.
        unsafe {
            let raw = driver.stream_create(device, StreamOptions { blocking: false, ..Default::default() });
            let raw = raw.unwrap();
            let stream = rig.launcher.stream_from_raw(&rig.device, raw).unwrap();
            bump(rig, &stream, &words).unwrap();
            driver.stream_begin_capture(device, raw, CaptureMode::ThreadLocal).unwrap();
            assert!(stream.is_capturing().unwrap());
            bump(rig, &stream, &words).unwrap();
            // What needs memory of the library's own is refused, and the capture goes on.
            let block = echo_bytes(&[7; 16]);
            let args = [Arg::ArgumentBlock(&echo_block(&block, 16))];
            let launch = Launch::new(LaunchDims::linear(1, 64)).args(&args);
            let refused = rig.launcher.submit(echo, &stream, launch).unwrap_err();
            assert!(matches!(refused, Error::Captured { .. }), "{refused}");
            assert!(matches!(words.upload(&stream, &[1; 64]), Err(Error::Captured { .. })));
            let refused = DeviceBuffer::<u8>::on(&stream, 64 << 20).unwrap_err();
            assert_eq!(refused.code(), Some(ErrorCode::STREAM_CAPTURE_UNSUPPORTED));
            bump(rig, &stream, &words).unwrap();
            let graph = driver.stream_end_capture(device, raw).unwrap();
            let exec = driver.graph_instantiate(device, graph).unwrap();
            (0..3).for_each(|_| driver.enqueue(device, raw, &Work::Graph(exec)).unwrap());
            driver.stream_synchronize(device, raw).unwrap();
            stream.synchronize().unwrap();
            assert_eq!(words.to_vec(&stream).unwrap(), [7; 64]);
            driver.graph_exec_destroy(device, exec).unwrap();
            driver.graph_destroy(device, graph).unwrap();
            drop(stream);
            driver.stream_destroy(device, raw).unwrap();
        }
        assert_eq!(device, DeviceId(0));
    });
}
