//! Streams: the order of a stream's work, waiting for it, and many streams at once.

use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use hiplaunch::driver::{
    Capability, Comparison, HostFunction, StreamOptions, ValueWidth, WaitCondition, Work,
};

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

pub(crate) fn a_stream_waits_for_the_value_that_another_writes(rig: &Rig) {
    if !rig.has(Capability::StreamValues) {
        return;
    }
    let (first, second, probe) = (rig.stream(), rig.stream(), rig.load(&PROBE));
    let (flag, counter) = (rig.upload(&[0u64], first), rig.upload(&[0u32], first));
    rig.sync(first);
    for round in 1..=20u32 {
        // Work that is enqueued first waits for work that is enqueued later.
        rig.wait_value(flag, ValueWidth::Bits64, Comparison::AtLeast, (2 * round - 1).into(), second);
        probe.launch("atomic_count", 1, 64, second, &[output(counter, 4)]).unwrap();
        rig.write_value(flag, ValueWidth::Bits64, (2 * round).into(), second);
        if round % 2 == 0 {
            std::thread::sleep(Duration::from_millis(2));
            assert!(!rig.idle(second), "it waits");
        }
        probe.launch("atomic_count", 1, 64, first, &[output(counter, 4)]).unwrap();
        rig.write_value(flag, ValueWidth::Bits64, (2 * round - 1).into(), first);
        rig.wait_value(flag, ValueWidth::Bits64, Comparison::Equal, (2 * round).into(), first);
        assert_eq!(rig.read::<u32>(counter, 1, first), [128 * round]);
    }
    rig.sync(second);
}

pub(crate) fn a_stream_waits_for_the_value_that_the_host_writes(rig: &Rig) {
    if !rig.has(Capability::StreamValues) {
        return;
    }
    let (stream, other, pinned) = (rig.stream(), rig.stream(), rig.pinned(16));
    let (word, free) = (rig.upload(&[7u32], stream), rig.upload(&[9u32], other));
    rig.sync(stream);
    rig.sync(other);
    // SAFETY: aligned, and live until the rig ends; all accesses of it are atomic.
    let flag = unsafe { AtomicU64::from_ptr(pinned.host(0).cast()) };
    flag.store(0, Ordering::Release);
    rig.wait_value(pinned.device(0), ValueWidth::Bits64, Comparison::Equal, 5, stream);
    rig.fill_words(word, 8, 1, stream);
    std::thread::sleep(Duration::from_millis(5));
    assert!(!rig.idle(stream));
    assert_eq!(rig.read::<u32>(free, 1, other), [9], "other streams run");
    flag.store(5, Ordering::Release);
    assert_eq!(rig.read::<u32>(word, 1, stream), [8]);
    // The stream answers.
    rig.write_value(pinned.device(0), ValueWidth::Bits64, 6 << 40, stream);
    rig.sync(stream);
    assert_eq!(flag.load(Ordering::Acquire), 6 << 40);
}

pub(crate) fn values_are_compared_under_their_mask_in_both_widths(rig: &Rig) {
    if !rig.has(Capability::StreamValues) {
        return;
    }
    let (stream, other) = (rig.stream(), rig.stream());
    let cases = [
        (Comparison::AtLeast, 5, u64::MAX, 1, 9),
        (Comparison::Equal, 5, u64::MAX, 1, 5),
        (Comparison::Equal, 0x20, 0xf0, 0x15, 0x25),
        (Comparison::AnyBit, 6, u64::MAX, 8, 4),
        // Under a mask, AMD's versions differ.
        (Comparison::NotAllBits, 0x0f, u64::MAX, !0x0f, !0u64 << 32 | 0x80),
    ];
    for width in [ValueWidth::Bits32, ValueWidth::Bits64] {
        for (comparison, value, mask, before, after) in cases {
            let flag = rig.upload(&[before, !0u64], stream);
            rig.sync(stream);
            let condition = WaitCondition { comparison, value, mask };
            // SAFETY: a live stream and a value in live memory.
            unsafe { rig.driver.enqueue(D0, stream, &Work::WaitValue { src: flag, width, condition }) }
                .unwrap();
            std::thread::sleep(Duration::from_millis(2));
            assert!(!rig.idle(stream), "{condition:?} of {width:?} holds for {before:#x}");
            rig.write_value(flag, width, after, other);
            rig.sync(stream);
            assert_eq!(rig.read::<u64>(flag, 2, stream), [after, !0]);
        }
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
