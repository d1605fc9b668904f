//! Streams: the order of a stream's work, waiting for it, and many streams at once.

use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use hiplaunch::driver::{Capability, HostFunction, StreamOptions, Work};

use crate::rig::{D0, PROBE, Rig, VECTOR, output, value};

pub(crate) fn work_of_a_stream_runs_in_order(rig: &Rig) {
    let (stream, probe) = (rig.stream(), rig.load(&PROBE));
    let (a, b, pinned) = (rig.malloc(400), rig.malloc(400), rig.pinned(400));
    pinned.write(0, &[5u32; 100]);
    for round in 0..20u32 {
        rig.fill_words(a, round, 100, stream);
        for _ in 0..3 {
            probe.launch("bump", 2, 64, stream, &[output(a, 400), value(100i32)]).unwrap();
        }
        rig.copy(b, a, 400, stream);
        pinned.to_device(0, a, 40, stream);
        probe.launch("bump", 2, 64, stream, &[output(b, 400), value(100i32)]).unwrap();
        assert_eq!(rig.read::<u32>(b, 100, stream), [round + 4; 100]);
        let got = rig.read::<u32>(a, 100, stream);
        assert_eq!((&got[..10], &got[10..]), (&[5; 10][..], &[round + 3; 90][..]));
    }
}

pub(crate) fn an_idle_stream_is_idle(rig: &Rig) {
    let stream = rig.stream();
    assert!(rig.idle(stream));
    rig.sync(stream);
    rig.sync(stream);
    assert!(rig.idle(stream));
    rig.driver.device_synchronize(D0).unwrap();
}

pub(crate) fn a_busy_stream_is_not_idle(rig: &Rig) {
    let (stream, other, probe) = (rig.stream(), rig.stream(), rig.load(&PROBE));
    let (out, expected) = rig.busy(&probe, stream);
    let hold = rig.hold(&probe, stream);
    if hold.is_sure() {
        assert!(!rig.idle(stream));
        assert!(rig.idle(other), "the other stream has no work");
    }
    hold.let_go();
    while !rig.idle(stream) {
        std::thread::yield_now();
    }
    // The host has seen all work complete, so another stream may use the result.
    assert_eq!(rig.read::<u32>(out, 64, other), expected);
}

pub(crate) fn a_device_synchronize_covers_every_stream(rig: &Rig) {
    let probe = rig.load(&PROBE);
    let streams: Vec<_> = (0..4).map(|_| rig.stream()).collect();
    let pinned = rig.pinned(4 * 256);
    let expected: Vec<_> = streams
        .iter()
        .enumerate()
        .map(|(i, &stream)| {
            let (out, expected) = rig.busy(&probe, stream);
            pinned.to_host(256 * i, out, 256, stream);
            expected
        })
        .collect();
    rig.driver.device_synchronize(D0).unwrap();
    assert!(streams.iter().all(|&stream| rig.idle(stream)));
    for (i, expected) in expected.iter().enumerate() {
        assert_eq!(pinned.read::<u32>(256 * i, 64), expected);
    }
}

pub(crate) fn many_streams_work_at_once(rig: &Rig) {
    const STREAMS: usize = 32;
    let vector = rig.load(&VECTOR);
    let streams: Vec<_> = (0..STREAMS).map(|_| rig.stream()).collect();
    let (all, pinned) = (rig.malloc(STREAMS * 1024), rig.pinned(STREAMS * 1024));
    for round in 0..4u32 {
        for (i, &stream) in streams.iter().enumerate() {
            let part = all.offset(1024 * i as u64);
            let start = round * 1000 + i as u32;
            let args = [output(part, 1024), value(start), value(256i32)];
            vector.launch("iota_u32", 1, 256, stream, &args).unwrap();
            pinned.to_host(1024 * i, part, 1024, stream);
        }
        for (i, &stream) in streams.iter().enumerate() {
            rig.sync(stream);
            let start = round * 1000 + i as u32;
            assert_eq!(pinned.read::<u32>(1024 * i, 256), (start..start + 256).collect::<Vec<_>>());
        }
    }
}

pub(crate) fn priorities_are_accepted(rig: &Rig) {
    if !rig.has(Capability::StreamPriority) {
        return;
    }
    let probe = rig.load(&PROBE);
    for priority in [-1, 0, 1] {
        let stream =
            rig.stream_with(D0, StreamOptions { priority: Some(priority), ..StreamOptions::default() });
        let counter = rig.upload(&[0u32], stream);
        probe.launch("atomic_count", 1, 64, stream, &[output(counter, 4)]).unwrap();
        assert_eq!(rig.read::<u32>(counter, 1, stream), [64]);
    }
}

pub(crate) fn a_destroyed_stream_finishes_its_work(rig: &Rig) {
    let (stream, other, probe) = (rig.stream(), rig.stream(), rig.load(&PROBE));
    let (out, expected) = rig.busy(&probe, stream);
    rig.destroy_stream(stream);
    rig.driver.device_synchronize(D0).unwrap();
    assert_eq!(rig.read::<u32>(out, 64, other), expected);
}

pub(crate) fn host_functions_run_in_order(rig: &Rig) {
    if !rig.has(Capability::HostFunc) {
        return;
    }
    let (stream, probe, pinned) = (rig.stream(), rig.load(&PROBE), rig.pinned(4));
    let counter = rig.upload(&[0u32], stream);
    let seen = Arc::new(Mutex::new(Vec::new()));
    for i in 0..5u32 {
        probe.launch("atomic_count", 1, 64, stream, &[output(counter, 4)]).unwrap();
        pinned.to_host(0, counter, 4, stream);
        let (seen, host) = (Arc::clone(&seen), pinned.host(0) as usize);
        let function = Box::new(move || {
            // SAFETY: the memory is aligned, lives until the stream is synchronized, and is read after the copy in
            // stream order.
            let count = unsafe { (host as *const u32).read_volatile() };
            seen.lock().unwrap().push((i, count));
        });
        // SAFETY: a live stream; the function makes no driver call.
        unsafe { rig.driver.enqueue(D0, stream, &Work::HostFunction(&HostFunction::new(function))) }.unwrap();
    }
    rig.sync(stream);
    assert_eq!(*seen.lock().unwrap(), [(0, 64), (1, 128), (2, 192), (3, 256), (4, 320)]);
}

pub(crate) fn work_runs_though_no_call_waits_for_it(rig: &Rig) {
    let (stream, probe, pinned) = (rig.stream(), rig.load(&PROBE), rig.pinned(4));
    let counter = rig.upload(&[0u32], stream);
    for round in 1..=3u32 {
        probe.launch("atomic_count", 1, 64, stream, &[output(counter, 4)]).unwrap();
        pinned.to_host(0, counter, 4, stream);
        let deadline = Instant::now() + Duration::from_secs(60);
        // SAFETY: aligned, and live until the rig ends. The copy that writes it is what is waited for.
        while unsafe { pinned.host(0).cast::<u32>().read_volatile() } != 64 * round {
            assert!(Instant::now() < deadline, "the work of round {round} did not run");
            std::thread::yield_now();
        }
        // Longer than a driver's threads look for work.
        std::thread::sleep(Duration::from_millis(20));
    }
    rig.sync(stream);
}

pub(crate) fn a_host_function_between_launches_runs_before_the_wait_ends(rig: &Rig) {
    if !rig.has(Capability::HostFunc) {
        return;
    }
    let (stream, other, probe) = (rig.stream(), rig.stream(), rig.load(&PROBE));
    let counter = rig.upload(&[0u32], stream);
    let called = Arc::new(AtomicU32::new(0));
    for round in 1..=50u32 {
        probe.launch("atomic_count", 1, 64, stream, &[output(counter, 4)]).unwrap();
        let counted = Arc::clone(&called);
        let function = Box::new(move || {
            counted.fetch_add(1, Ordering::SeqCst);
        });
        // SAFETY: a live stream; the function makes no driver call.
        unsafe { rig.driver.enqueue(D0, stream, &Work::HostFunction(&HostFunction::new(function))) }.unwrap();
        probe.launch("atomic_count", 1, 64, stream, &[output(counter, 4)]).unwrap();
        let event = rig.event();
        rig.record(event, stream);
        rig.wait(other, event);
        rig.sync(other);
        assert_eq!(called.load(Ordering::SeqCst), round);
        assert_eq!(rig.read::<u32>(counter, 1, other), [128 * round]);
    }
}

pub(crate) fn a_free_waits_for_work_in_flight(rig: &Rig) {
    let (stream, probe, pinned) = (rig.stream(), rig.load(&PROBE), rig.pinned(256));
    let (out, expected) = rig.busy(&probe, stream);
    pinned.to_host(0, out, 256, stream);
    rig.free(D0, out);
    rig.sync(stream);
    assert_eq!(pinned.read::<u32>(0, 64), expected);
}
