//! Captures of streams: what is enqueued becomes a graph, and what would wait for it is refused.

use hiplaunch::driver::{
    Capability, CaptureMode, CaptureStatus, Comparison, DevicePtr, DriverResult, ErrorCode, HostFunction,
    HostNode, RawGraph, RawStream, ValueWidth, WaitCondition, Work,
};

use crate::launch::survives_faults;
use crate::rig::{D0, D1, Kernels, PROBE, Rig, code, output, value};
use crate::subject::Subject;

// SAFETY comments below: streams and events are live, and the memory of captured work lives to the end of the case.

fn try_begin(rig: &Rig, stream: RawStream, mode: CaptureMode) -> DriverResult<()> {
    // SAFETY: see above.
    unsafe { rig.driver.stream_begin_capture(D0, stream, mode) }
}

fn begin(rig: &Rig, stream: RawStream, mode: CaptureMode) {
    assert_eq!(try_begin(rig, stream, mode), Ok(()));
}

fn try_end(rig: &Rig, stream: RawStream) -> DriverResult<RawGraph> {
    // SAFETY: see above.
    unsafe { rig.driver.stream_end_capture(D0, stream) }.map(|graph| rig.own_graph(graph))
}

fn end(rig: &Rig, stream: RawStream) -> RawGraph {
    try_end(rig, stream).unwrap()
}

fn state(rig: &Rig, stream: RawStream) -> (CaptureStatus, u64) {
    // SAFETY: see above.
    let info = unsafe { rig.driver.stream_capture_info(D0, stream) }.unwrap();
    (info.status, info.id)
}

fn is(rig: &Rig, stream: RawStream) -> CaptureStatus {
    state(rig, stream).0
}

/// Adds 1 to a word.
fn bump(probe: &Kernels<'_>, word: DevicePtr, stream: RawStream) {
    probe.launch("bump", 1, 64, stream, &[output(word, 4), value(1i32)]).unwrap();
}

/// Checks that the stream takes work again, which runs at once.
fn takes_work(rig: &Rig, probe: &Kernels<'_>, stream: RawStream) {
    assert_eq!(state(rig, stream), (CaptureStatus::None, 0));
    let word = rig.upload(&[41u32], stream);
    bump(probe, word, stream);
    assert_eq!(rig.read::<u32>(word, 1, stream), [42]);
}

pub(crate) fn captured_work_runs_when_its_graph_is_launched(rig: &Rig) {
    if !rig.has(Capability::StreamCapture) {
        return;
    }
    let (stream, probe, pinned) = (rig.stream(), rig.load(&PROBE), rig.pinned(64));
    let words = rig.upload(&[0u32; 16], stream);
    rig.sync(stream);
    begin(rig, stream, CaptureMode::Global);
    assert_eq!(is(rig, stream), CaptureStatus::Active);
    pinned.write(0, &[5u32, 0]);
    pinned.to_device(0, words, 4, stream);
    bump(&probe, words, stream);
    rig.copy(words.offset(4), words, 4, stream);
    rig.fill_words(words.offset(8), 7, 2, stream);
    rig.fill_bytes(words.offset(17), 9, 3, stream);
    rig.copy(words, words.offset(32), 0, stream);
    pinned.to_host(32, words, 24, stream);
    let graph = end(rig, stream);
    assert_eq!(is(rig, stream), CaptureStatus::None);
    assert_eq!(rig.read::<u32>(words, 5, stream), [0; 5]);
    let exec = rig.instantiate(graph);
    rig.destroy_graph(graph);
    // A copy from pinned memory reads it at each launch.
    for first in [10u32, 20] {
        pinned.write(0, &[first]);
        rig.launch_graph(exec, stream);
        rig.sync(stream);
        assert_eq!(pinned.read::<u32>(32, 6), [first + 1, first + 1, 7, 7, 0x0909_0900, 0]);
    }
}

pub(crate) fn a_capture_is_no_part_of_the_work_around_it(rig: &Rig) {
    if !rig.has(Capability::StreamCapture) {
        return;
    }
    let (stream, other, probe) = (rig.stream(), rig.stream(), rig.load(&PROBE));
    let words = rig.upload(&[0u32; 3], stream);
    rig.sync(stream);
    let at = |i: u64| words.offset(4 * i);
    bump(&probe, at(0), stream);
    begin(rig, stream, CaptureMode::Relaxed);
    bump(&probe, at(0), stream);
    // Another stream and the null stream run their work meanwhile.
    bump(&probe, at(1), other);
    bump(&probe, at(2), RawStream::NULL);
    rig.sync(other);
    rig.sync(RawStream::NULL);
    let exec = rig.instantiate(end(rig, stream));
    assert_eq!(rig.read::<u32>(words, 3, stream), [1, 1, 1]);
    (0..3).for_each(|_| rig.launch_graph(exec, stream));
    assert_eq!(rig.read::<u32>(words, 3, stream), [4, 1, 1]);
}

pub(crate) fn an_empty_capture_is_a_graph_that_does_nothing(rig: &Rig) {
    if !rig.has(Capability::StreamCapture) {
        return;
    }
    let stream = rig.stream();
    begin(rig, stream, CaptureMode::Global);
    let exec = rig.instantiate(end(rig, stream));
    rig.launch_graph(exec, stream);
    rig.sync(stream);
}

pub(crate) fn pageable_memory_is_copied_when_the_graph_runs(rig: &Rig) {
    if !rig.has(Capability::StreamCapture) {
        return;
    }
    let stream = rig.stream();
    let (ptr, mut memory) = (rig.upload(&[0u32], stream), Box::new([5u32, 0]));
    rig.sync(stream);
    let host = memory.as_mut_ptr();
    begin(rig, stream, CaptureMode::Global);
    // SAFETY: the memory lives longer than the graph's last launch, and is accessed only when the stream is idle.
    unsafe {
        let src = host.cast::<u8>();
        rig.driver.enqueue(D0, stream, &Work::CopyToDevice { dst: ptr, src, bytes: 4 }).unwrap();
        let dst = host.add(1).cast::<u8>();
        rig.driver.enqueue(D0, stream, &Work::CopyToHost { dst, src: ptr, bytes: 4 }).unwrap();
        let exec = rig.instantiate(end(rig, stream));
        assert_eq!(host.add(1).read(), 0);
        host.write(6);
        rig.launch_graph(exec, stream);
        rig.sync(stream);
        assert_eq!(host.add(1).read(), 6);
    }
}

pub(crate) fn streams_join_a_capture_by_its_events(rig: &Rig) {
    if !rig.has(Capability::StreamCapture) {
        return;
    }
    let (main, side, probe) = (rig.stream(), rig.stream(), rig.load(&PROBE));
    let (fork, join) = (rig.event(), rig.event());
    let words = rig.upload(&[0u32; 2], main);
    rig.sync(main);
    begin(rig, main, CaptureMode::Global);
    bump(&probe, words, main);
    rig.record(fork, main);
    rig.wait(side, fork);
    assert_eq!(state(rig, side), state(rig, main));
    rig.copy(words.offset(4), words, 4, side);
    bump(&probe, words.offset(4), side);
    rig.record(join, side);
    rig.wait(main, join);
    bump(&probe, words, main);
    let exec = rig.instantiate(end(rig, main));
    assert_eq!((is(rig, main), is(rig, side)), (CaptureStatus::None, CaptureStatus::None));
    rig.launch_graph(exec, main);
    assert_eq!(rig.read::<u32>(words, 2, main), [2, 2]);
    // An event of a capture that has ended makes nothing wait, and is no member any more.
    assert!(rig.reached(fork));
    rig.sync_event(join);
    rig.wait(side, fork);
    takes_work(rig, &probe, side);
}

pub(crate) fn work_that_the_capture_does_not_wait_for_is_refused_at_its_end(rig: &Rig) {
    if !rig.has(Capability::StreamCapture) {
        return;
    }
    let (main, side, probe) = (rig.stream(), rig.stream(), rig.load(&PROBE));
    let (fork, word) = (rig.event(), rig.upload(&[0u32], main));
    rig.sync(main);
    for mode in [CaptureMode::Global, CaptureMode::Relaxed] {
        begin(rig, main, mode);
        rig.record(fork, main);
        rig.wait(side, fork);
        bump(&probe, word, side);
        assert_eq!(code(try_end(rig, main)), ErrorCode::STREAM_CAPTURE_UNJOINED);
        takes_work(rig, &probe, main);
        takes_work(rig, &probe, side);
    }
    assert_eq!(rig.read::<u32>(word, 1, main), [0]);
    // A stream without work of its own need not be joined.
    begin(rig, main, CaptureMode::Global);
    rig.record(fork, main);
    rig.wait(side, fork);
    end(rig, main);
    takes_work(rig, &probe, side);
}

pub(crate) fn a_capture_begins_and_ends_where_it_may(rig: &Rig) {
    if !rig.has(Capability::StreamCapture) {
        return;
    }
    let (main, side, probe) = (rig.stream(), rig.stream(), rig.load(&PROBE));
    let try_begin = |stream| code(try_begin(rig, stream, CaptureMode::Global));
    assert_eq!(try_begin(RawStream::NULL), ErrorCode::STREAM_CAPTURE_UNSUPPORTED);
    assert_eq!(code(try_end(rig, main)), ErrorCode::ILLEGAL_STATE);
    begin(rig, main, CaptureMode::Global);
    assert_eq!(try_begin(main), ErrorCode::ILLEGAL_STATE);
    let fork = rig.event();
    rig.record(fork, main);
    rig.wait(side, fork);
    assert_eq!(code(try_end(rig, side)), ErrorCode::STREAM_CAPTURE_UNMATCHED);
    std::thread::scope(|scope| {
        let ended = scope.spawn(|| try_end(rig, main).map(drop)).join().unwrap();
        assert_eq!(code(ended), ErrorCode::STREAM_CAPTURE_WRONG_THREAD);
    });
    end(rig, main);
    takes_work(rig, &probe, main);
    begin(rig, main, CaptureMode::Relaxed);
    std::thread::scope(|scope| {
        scope.spawn(|| end(rig, main));
    });
    takes_work(rig, &probe, main);
}

pub(crate) fn a_thread_may_enqueue_in_anothers_capture(rig: &Rig) {
    if !rig.has(Capability::StreamCapture) {
        return;
    }
    let (stream, probe) = (rig.stream(), rig.load(&PROBE));
    let word = rig.upload(&[0u32], stream);
    rig.sync(stream);
    begin(rig, stream, CaptureMode::Global);
    std::thread::scope(|scope| {
        scope.spawn(|| bump(&probe, word, stream));
    });
    let exec = rig.instantiate(end(rig, stream));
    rig.launch_graph(exec, stream);
    assert_eq!(rig.read::<u32>(word, 1, stream), [1]);
}

/// Makes a call in a capture of a mode, and checks its code and that the capture is broken, or neither.
fn attempt(rig: &Rig, probe: &Kernels<'_>, mode: CaptureMode, want: Option<ErrorCode>, call: Attempt<'_>) {
    let stream = rig.stream();
    begin(rig, stream, mode);
    let done = call(stream);
    match want {
        None => {
            done.unwrap();
            assert_eq!(is(rig, stream), CaptureStatus::Active);
            end(rig, stream);
        }
        Some(want) => {
            assert_eq!(code(done), want, "{mode:?}");
            assert_eq!(is(rig, stream), CaptureStatus::Invalidated);
            let refused = probe.launch("bump", 1, 1, stream, &[output(DevicePtr::NULL, 0), value(0i32)]);
            assert_eq!(code(refused), ErrorCode::STREAM_CAPTURE_INVALIDATED);
            assert_eq!(code(try_end(rig, stream)), ErrorCode::STREAM_CAPTURE_INVALIDATED);
        }
    }
    takes_work(rig, probe, stream);
}

type Attempt<'a> = &'a dyn Fn(RawStream) -> DriverResult<()>;

const MODES: [CaptureMode; 3] = [CaptureMode::Global, CaptureMode::ThreadLocal, CaptureMode::Relaxed];

pub(crate) fn waiting_for_captured_work_breaks_the_capture(rig: &Rig) {
    if !rig.has(Capability::StreamCapture) {
        return;
    }
    let (probe, event, word) = (rig.load(&PROBE), rig.event(), rig.malloc(4));
    let d = &rig.driver;
    // SAFETY: see above.
    let synchronize = |stream| unsafe { d.stream_synchronize(D0, stream) };
    // SAFETY: see above.
    let query = |stream| unsafe { d.stream_query(D0, stream) }.map(drop);
    let whole_device = |_| d.device_synchronize(D0);
    let event_query = |stream| {
        rig.record(event, stream);
        // SAFETY: see above.
        unsafe { d.event_query(D0, event) }.map(drop)
    };
    let event_synchronize = |stream| {
        rig.record(event, stream);
        // SAFETY: see above.
        unsafe { d.event_synchronize(D0, event) }
    };
    let copy = |_| {
        let bytes = [7u8; 4];
        let work = Work::CopyToDevice { dst: word, src: bytes.as_ptr(), bytes: 4 };
        // SAFETY: see above.
        unsafe { d.copy_blocking(D0, &work) }
    };
    let unsupported = ErrorCode::STREAM_CAPTURE_UNSUPPORTED;
    for mode in MODES {
        attempt(rig, &probe, mode, Some(unsupported), &synchronize);
        attempt(rig, &probe, mode, Some(unsupported), &query);
        attempt(rig, &probe, mode, Some(unsupported), &whole_device);
        attempt(rig, &probe, mode, Some(ErrorCode::CAPTURED_EVENT), &event_query);
        attempt(rig, &probe, mode, Some(ErrorCode::CAPTURED_EVENT), &event_synchronize);
        attempt(rig, &probe, mode, Some(ErrorCode::STREAM_CAPTURE_IMPLICIT), &copy);
    }
}

pub(crate) fn the_mode_says_which_calls_break_a_capture(rig: &Rig) {
    if !rig.has(Capability::StreamCapture) {
        return;
    }
    let (probe, idle, event) = (rig.load(&PROBE), rig.stream(), rig.event());
    rig.record(event, idle);
    rig.sync(idle);
    let d = &rig.driver;
    // SAFETY: see above; freed at once.
    let device_memory = || d.malloc(D0, 64).and_then(|ptr| unsafe { d.free(D0, ptr) });
    // SAFETY: see above; freed at once.
    let pinned_memory = || d.host_malloc(D0, 64).and_then(|memory| unsafe { d.host_free(D0, memory) });
    // SAFETY: see above.
    let other_stream = || unsafe { d.stream_synchronize(D0, idle) };
    // SAFETY: see above.
    let other_event = || unsafe { d.event_synchronize(D0, event) };
    let calls: [&(dyn Fn() -> DriverResult<()> + Sync); 4] =
        [&device_memory, &pinned_memory, &other_stream, &other_event];
    for mode in MODES {
        let refused = Some(ErrorCode::STREAM_CAPTURE_UNSUPPORTED);
        for call in calls {
            let want = refused.filter(|_| mode != CaptureMode::Relaxed);
            attempt(rig, &probe, mode, want, &|_| call());
            let want = refused.filter(|_| mode == CaptureMode::Global);
            attempt(rig, &probe, mode, want, &|_| {
                std::thread::scope(|scope| scope.spawn(call).join().unwrap())
            });
            // A thread that says that it knows what it does.
            attempt(rig, &probe, mode, None, &|_| {
                let exchange = |mode| rig.driver.exchange_capture_mode(D0, mode).unwrap();
                assert_eq!(exchange(CaptureMode::Relaxed), CaptureMode::Global);
                let done = call();
                assert_eq!(exchange(CaptureMode::Global), CaptureMode::Relaxed);
                done
            });
        }
    }
}

pub(crate) fn work_that_is_no_node_is_refused_and_the_capture_goes_on(rig: &Rig) {
    if !rig.has(Capability::StreamCapture) {
        return;
    }
    let (stream, probe) = (rig.stream(), rig.load(&PROBE));
    let word = rig.upload(&[0u32], stream);
    rig.sync(stream);
    begin(rig, stream, CaptureMode::Global);
    bump(&probe, word, stream);
    let exec = rig.instantiate(end(rig, stream));
    begin(rig, stream, CaptureMode::Global);
    let d = &rig.driver;
    let unsupported = ErrorCode::STREAM_CAPTURE_UNSUPPORTED;
    // SAFETY: see above.
    unsafe {
        assert_eq!(code(d.enqueue(D0, stream, &Work::Graph(exec))), unsupported);
        if d.capabilities().has(Capability::HostFunc) {
            let function = HostFunction::new(|| panic!("it runs"));
            assert_eq!(code(d.enqueue(D0, stream, &Work::HostFunction(&function))), unsupported);
        }
        if d.capabilities().has(Capability::StreamValues) {
            let (at, width) = (word, ValueWidth::Bits32);
            let write = Work::WriteValue { dst: at, width, value: 1 };
            assert_eq!(code(d.enqueue(D0, stream, &write)), unsupported);
            let condition = WaitCondition::new(Comparison::Equal, 0);
            assert_eq!(
                code(d.enqueue(D0, stream, &Work::WaitValue { src: at, width, condition })),
                unsupported
            );
        }
        if d.capabilities().has(Capability::StreamOrderedAllocator) {
            assert_eq!(code(d.malloc_async(D0, 64, stream)), unsupported);
        }
    }
    if d.capabilities().has(Capability::CooperativeLaunch) {
        let args = [output(word, 4), value(1i32)];
        assert_eq!(code(probe.launch_cooperative("bump", 1, 64, stream, &args)), unsupported);
    }
    // A launch that no device could run is refused as ever.
    assert!(probe.launch("bump", 1, 1 << 20, stream, &[output(word, 4), value(1i32)]).is_err());
    bump(&probe, word, stream);
    let again = rig.instantiate(end(rig, stream));
    assert_eq!(rig.read::<u32>(word, 1, stream), [0]);
    rig.launch_graph(exec, stream);
    rig.launch_graph(again, stream);
    assert_eq!(rig.read::<u32>(word, 1, stream), [2]);
}

/// HIP accepts both and loses the order (7.2.4, seen), so only the emulator is asked.
pub(crate) fn order_that_would_be_lost_is_refused(rig: &Rig) {
    if !rig.has(Capability::StreamCapture) || matches!(rig.subject, Subject::Hip { .. }) {
        return;
    }
    let (one, two, event, probe) = (rig.stream(), rig.stream(), rig.event(), rig.load(&PROBE));
    // SAFETY: live handles.
    let wait = |stream| unsafe { rig.driver.stream_wait_event(D0, stream, event) };
    rig.record(event, two);
    begin(rig, one, CaptureMode::Global);
    assert_eq!(code(wait(one)), ErrorCode::STREAM_CAPTURE_ISOLATION);
    assert_eq!(code(try_end(rig, one)), ErrorCode::STREAM_CAPTURE_INVALIDATED);
    begin(rig, one, CaptureMode::Global);
    begin(rig, two, CaptureMode::Global);
    rig.record(event, one);
    assert_eq!(code(wait(two)), ErrorCode::STREAM_CAPTURE_MERGE);
    assert_eq!(code(try_end(rig, one)), ErrorCode::STREAM_CAPTURE_INVALIDATED);
    assert_eq!(code(try_end(rig, two)), ErrorCode::STREAM_CAPTURE_INVALIDATED);
    begin(rig, one, CaptureMode::Global);
    rig.record(event, one);
    assert_eq!(code(wait(RawStream::NULL)), ErrorCode::STREAM_CAPTURE_IMPLICIT);
    assert_eq!(code(try_end(rig, one)), ErrorCode::STREAM_CAPTURE_INVALIDATED);
    takes_work(rig, &probe, one);
    takes_work(rig, &probe, two);
}

pub(crate) fn threads_capture_streams_of_their_own(rig: &Rig) {
    if !rig.has(Capability::StreamCapture) {
        return;
    }
    let probe = rig.load(&PROBE);
    let streams: Vec<_> = (0..4).map(|_| rig.stream()).collect();
    let words = rig.upload(&[0u32; 4], streams[0]);
    rig.sync(streams[0]);
    std::thread::scope(|scope| {
        for (i, &stream) in streams.iter().enumerate() {
            let (probe, word) = (&probe, words.offset(4 * i as u64));
            scope.spawn(move || {
                for _ in 0..20 {
                    begin(rig, stream, CaptureMode::ThreadLocal);
                    (0..=i).for_each(|_| bump(probe, word, stream));
                    let exec = rig.instantiate(end(rig, stream));
                    (0..2).for_each(|_| rig.launch_graph(exec, stream));
                    rig.sync(stream);
                }
            });
        }
    });
    assert_eq!(rig.read::<u32>(words, 4, streams[0]), [40, 80, 120, 160]);
}

pub(crate) fn a_capture_ends_on_a_lost_device(rig: &Rig) {
    if !rig.has(Capability::StreamCapture) || !survives_faults(rig) {
        return;
    }
    let (stream, other, probe) = (rig.stream(), rig.stream(), rig.load(&PROBE));
    let word = rig.malloc(256);
    begin(rig, stream, CaptureMode::Relaxed);
    bump(&probe, word, stream);
    probe.launch("oob_store", 1, 64, other, &[output(word, 256), value(1i64 << 30)]).unwrap();
    // SAFETY: a live stream.
    assert_eq!(code(unsafe { rig.driver.stream_synchronize(D0, other) }), ErrorCode::ILLEGAL_ADDRESS);
    rig.lose_device();
    end(rig, stream);
    assert_eq!(is(rig, stream), CaptureStatus::None);
    // The other device is as before.
    rig.malloc_on(D1, 64);
}

/// HIP 7.2 makes a graph of both devices' work, and 6.4 crashes.
pub(crate) fn a_stream_of_another_device_stays_out_of_a_capture(rig: &Rig) {
    if !rig.has(Capability::StreamCapture) || matches!(rig.subject, Subject::Hip { .. }) {
        return;
    }
    if !rig.has_second_device() {
        return;
    }
    let (stream, other, event) = (rig.stream(), rig.stream_on(D1), rig.event());
    begin(rig, stream, CaptureMode::Global);
    rig.record(event, stream);
    // SAFETY: live handles.
    let joined = unsafe { rig.driver.stream_wait_event(D1, other, event) };
    assert_eq!(code(joined), ErrorCode::NOT_SUPPORTED);
    end(rig, stream);
}

pub(crate) fn a_captured_host_function_runs_at_every_launch(rig: &Rig) {
    if !rig.has(Capability::StreamCapture) || !rig.has(Capability::HostFunc) {
        return;
    }
    let (stream, probe, pinned) = (rig.stream(), rig.load(&PROBE), rig.pinned(8));
    let word = rig.upload(&[0u32], stream);
    rig.sync(stream);
    let (sender, receiver) = std::sync::mpsc::channel();
    let host = pinned.host(0) as usize;
    let function = HostNode::new(move |status| {
        // SAFETY: the memory is aligned, lives until the graph has run, and is read after the copy before this node.
        let seen = unsafe { (host as *const u32).read_volatile() };
        sender.send((status.is_ok(), seen)).unwrap();
    });
    begin(rig, stream, CaptureMode::Global);
    bump(&probe, word, stream);
    pinned.to_host(0, word, 4, stream);
    // SAFETY: see above; the function lives to the end of the case.
    unsafe { rig.driver.enqueue(D0, stream, &Work::HostNode(&function)) }.unwrap();
    bump(&probe, word, stream);
    let exec = rig.instantiate(end(rig, stream));
    assert!(receiver.try_recv().is_err(), "a capture runs nothing");
    for round in 0..3 {
        rig.launch_graph(exec, stream);
        assert_eq!(receiver.recv(), Ok((true, 2 * round + 1)));
    }
    rig.sync(stream);
    assert_eq!(rig.read::<u32>(word, 1, stream), [6]);
}
