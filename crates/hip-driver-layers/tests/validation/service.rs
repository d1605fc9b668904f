//! Counting, injecting and passing on: what the layer does besides checking.

use std::sync::Arc;

use hip_driver::{Driver, ErrorCode, HostFunction, Note, Observer, Work};
use hip_driver_layers::validation::{CallCounts, CallGroup, CallKind, Counted, NoteKind, ValidationDriver};

use crate::fake::FakeDriver;
use crate::rig::{D0, Rig};

#[test]
fn every_call_is_counted_in_its_kind_and_its_groups() {
    let rig = Rig::new();
    let (stream, ptr, pinned, event) = (rig.stream(), rig.malloc(64), rig.pinned(64), rig.event());
    let (_, saxpy) = rig.module();
    let before = rig.layer.counts();
    rig.host_writes(&pinned, 0, 64);
    rig.htod(ptr, &pinned, 0, 64, stream).unwrap();
    rig.launch(saxpy, stream, &[]).unwrap();
    rig.dtoh(&pinned, 0, ptr, 64, stream).unwrap();
    rig.record(event, stream).unwrap();
    rig.sync_event(event).unwrap();
    rig.host_reads(&pinned, 0, 64);
    let counts = rig.layer.counts().since(&before);
    let expected = [
        (Counted::Call(CallKind::EventRecord), 1),
        (Counted::Call(CallKind::EventSynchronize), 1),
        (Counted::Call(CallKind::LaunchKernel), 1),
        (Counted::Call(CallKind::MemcpyHtodAsync), 1),
        (Counted::Call(CallKind::MemcpyDtohAsync), 1),
        (Counted::Note(NoteKind::HostWrite), 1),
        (Counted::Note(NoteKind::HostRead), 1),
        (Counted::Group(CallGroup::Synchronize), 1),
    ];
    assert_eq!(counts.iter().collect::<Vec<_>>(), expected);
    assert_eq!(counts.device_calls(), 5);

    // Copies from and to memory that is not pinned.
    let before = rig.layer.counts();
    rig.dtoh_pageable(&mut [0; 64], ptr, stream).unwrap();
    // SAFETY: alive, and as long as the copies.
    unsafe {
        rig.layer
            .enqueue(D0, stream, &Work::CopyToDevice { dst: ptr, src: [0u8; 64].as_ptr(), bytes: 64 })
            .unwrap();
        rig.layer
            .copy_blocking(D0, &Work::CopyToDevice { dst: ptr, src: [0u8; 64].as_ptr(), bytes: 64 })
            .unwrap();
    }
    let counts = rig.layer.counts().since(&before);
    assert_eq!((counts[CallGroup::BlockingCopy], counts[CallGroup::PageableCopy]), (2, 2));
    assert_eq!((counts[CallGroup::Synchronize], counts.device_calls()), (0, 3));

    let before = rig.layer.counts();
    let (more, more_pinned) = (rig.malloc(64), rig.pinned(64));
    rig.free(more).unwrap();
    rig.host_free(more_pinned).unwrap();
    rig.module();
    let counts = rig.layer.counts().since(&before);
    let groups = [
        (CallGroup::DeviceAllocation, 1),
        (CallGroup::DeviceFree, 1),
        (CallGroup::PinnedAllocation, 1),
        (CallGroup::PinnedFree, 1),
        (CallGroup::LookUp, 1),
    ];
    let groups = groups.map(|(group, n)| (Counted::Group(group), n));
    let counted = counts.iter().filter(|(counted, _)| matches!(counted, Counted::Group(_)));
    assert_eq!(counted.collect::<Vec<_>>(), groups);
    assert_eq!(counts.device_calls(), 6);

    // Notes of a pool, including wrong ones, are counted, but not as device calls.
    let before = rig.layer.counts();
    let block = rig.hand_out(rig.segment(64), 64);
    rig.layer.note(&Note::PoolRecord { device: D0, block });
    rig.give_back(block);
    rig.give_back(block);
    let counts = rig.layer.counts().since(&before);
    let expected = [
        (Counted::Call(CallKind::Malloc), 1),
        (Counted::Note(NoteKind::PoolSegment), 1),
        (Counted::Note(NoteKind::PoolAllocate), 1),
        (Counted::Note(NoteKind::PoolFree), 2),
        (Counted::Note(NoteKind::PoolRecord), 1),
        (Counted::Group(CallGroup::DeviceAllocation), 1),
    ];
    assert_eq!(counts.iter().collect::<Vec<_>>(), expected);
    assert_eq!(counts.device_calls(), 1);
}

#[test]
fn counts_are_exact_from_many_threads() {
    let rig = Rig::new();
    std::thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| {
                let (stream, ptr) = (rig.stream(), rig.malloc(64));
                for _ in 0..500 {
                    rig.memset(ptr, 64, stream).unwrap();
                }
                rig.sync(stream).unwrap();
                rig.free(ptr).unwrap();
                rig.destroy_stream(stream).unwrap();
            });
        }
    });
    let counts = rig.layer.counts();
    assert_eq!((counts[CallKind::MemsetD8Async], counts[CallKind::StreamSynchronize]), (4000, 8));
    assert_eq!(counts.device_calls(), 4000 + 8 * 5);
    rig.layer.assert_clean_and_empty().unwrap();
}

#[test]
fn refused_and_injected_calls_count() {
    let rig = Rig::new();
    let ptr = rig.malloc(64);
    rig.layer.inject(CallKind::Free, 1, ErrorCode::UNKNOWN);
    rig.free(ptr).unwrap_err();
    rig.free(ptr).unwrap();
    rig.free(ptr).unwrap_err();
    assert_eq!(rig.layer.counts()[CallKind::Free], 3);
    assert_eq!(rig.fake.take_calls(), ["malloc", "free"]);
}

#[test]
fn the_nth_call_fails_and_does_not_reach_the_driver() {
    let rig = Rig::new();
    let stream = rig.stream();
    rig.layer.inject(CallKind::Malloc, 2, ErrorCode::OUT_OF_MEMORY);
    rig.layer.inject(CallKind::StreamSynchronize, 1, ErrorCode::LAUNCH_FAILURE);
    assert_eq!(rig.layer.pending_injections(), 2);
    rig.fake.take_calls();
    let first = rig.malloc(64);
    let error = rig.layer.malloc(D0, 64).unwrap_err();
    assert_eq!((error.call, error.code), ("hipMalloc", ErrorCode::OUT_OF_MEMORY));
    assert!(error.to_string().contains("injected"), "{error}");
    rig.malloc(64);
    assert_eq!(rig.sync(stream).unwrap_err().code, ErrorCode::LAUNCH_FAILURE);
    rig.sync(stream).unwrap();
    assert_eq!(rig.fake.take_calls(), ["malloc", "malloc", "stream_synchronize"]);
    assert_eq!(rig.layer.pending_injections(), 0);
    rig.free(first).unwrap();
    rig.clean();
}

#[test]
fn repeating_and_grouped_injections() {
    let rig = Rig::new();
    let stream = rig.stream();
    rig.layer.inject_repeating(CallGroup::DeviceAllocation, 2, ErrorCode::OUT_OF_MEMORY);
    let mut results = Vec::new();
    for i in 0..6 {
        let ok = if i % 3 == 0 {
            // SAFETY: a live stream.
            unsafe { rig.layer.malloc_async(D0, 64, stream) }
        } else {
            rig.layer.malloc(D0, 64)
        };
        results.push(ok.is_ok());
    }
    assert_eq!(results, [true, false, true, false, true, false]);
    rig.layer.clear_injections();
    assert!(rig.layer.malloc(D0, 64).is_ok() && rig.layer.malloc(D0, 64).is_ok());
    // A group to which a call belongs only because of its arguments.
    rig.layer.inject(CallGroup::BlockingCopy, 1, ErrorCode::UNKNOWN);
    let (ptr, pinned) = (rig.malloc(64), rig.pinned(64));
    rig.dtoh(&pinned, 0, ptr, 64, stream).unwrap();
    assert_eq!(rig.dtoh_pageable(&mut [0; 64], ptr, stream).unwrap_err().code, ErrorCode::UNKNOWN);
    rig.clean();
}

#[test]
fn arguments_results_and_notes_are_passed_on() {
    let rig = Rig::new();
    assert_eq!(rig.layer.info().name, "validation over fake");
    assert_eq!(rig.layer.capabilities(), rig.fake.capabilities());
    assert_eq!(rig.layer.device_count(), Ok(2));
    assert_eq!(rig.layer.can_access_peer(D0, D0), Ok(true));
    assert_eq!(rig.layer.mem_info(D0).unwrap().free, 1 << 30);
    let (stream, ptr, pinned) = (rig.stream(), rig.malloc(8), rig.pinned(8));
    // SAFETY: alive, and as long as the copies; the function is live.
    unsafe {
        rig.layer.enqueue(D0, stream, &Work::FillWords { dst: ptr, value: 0x0403_0201, count: 2 }).unwrap();
        rig.layer.enqueue(D0, stream, &Work::FillBytes { dst: ptr, value: 9, bytes: 1 }).unwrap();
        assert_eq!(rig.layer.occupancy(D0, rig.module().1, 64, 0), Ok(1));
    }
    rig.dtoh(&pinned, 0, ptr, 8, stream).unwrap();
    // SAFETY: the fake driver has copied already.
    assert_eq!(unsafe { *pinned.host.as_ptr().cast::<[u8; 8]>() }, [9, 2, 3, 4, 1, 2, 3, 4]);
    let (sender, receiver) = std::sync::mpsc::channel();
    // SAFETY: a live stream.
    unsafe {
        rig.layer.enqueue(
            D0,
            stream,
            &Work::HostFunction(&HostFunction::new(move || sender.send(7).unwrap())),
        )
    }
    .unwrap();
    assert_eq!(receiver.recv(), Ok(7));
    rig.sync(stream).unwrap();
    rig.fake.take_calls();
    rig.host_writes(&pinned, 0, 8);
    rig.host_reads(&pinned, 0, 8);
    assert_eq!(rig.fake.take_calls(), ["note_host_write", "note_host_read"]);
    let segment = rig.segment(64);
    let block = rig.hand_out(segment, 64);
    rig.layer.note(&Note::PoolRecord { device: D0, block });
    rig.give_back(block);
    let notes = ["note_pool_segment", "note_pool_allocate", "note_pool_record", "note_pool_free"];
    assert_eq!(rig.fake.take_calls()[1..], notes);
    assert!(rig.layer.takes_notes() && !rig.fake.takes_notes());
    rig.clean();
}

#[test]
fn violations_are_kept_up_to_a_limit_and_counted_beyond() {
    let rig = Rig::new();
    for _ in 0..2000 {
        rig.layer.malloc(D0, 0).unwrap_err();
    }
    assert_eq!(rig.layer.violations().len(), 1024);
    let error = rig.layer.assert_clean().unwrap_err();
    assert_eq!(error.dropped, 976);
    assert!(error.to_string().starts_with("2000 violations, 0 leaks\n  hipMalloc of 0 bytes"), "{error}");
    rig.layer.take_violations();
    rig.clean();
}

#[test]
fn layers_stack() {
    let fake = FakeDriver::new();
    let lower = ValidationDriver::new(fake.clone());
    let upper = ValidationDriver::new(lower.clone());
    assert_eq!(upper.info().name, "validation over validation over fake");
    let ptr = upper.malloc(D0, 64).unwrap();
    // SAFETY: a live allocation; the second free is refused.
    unsafe {
        upper.free(D0, ptr).unwrap();
        upper.free(D0, ptr).unwrap_err();
    }
    assert_eq!((upper.violations().len(), lower.violations().len()), (1, 0));
    assert_eq!(lower.counts().since(&CallCounts::default())[CallKind::Free], 1);
    drop(upper);
    assert_eq!(Arc::strong_count(&lower), 1);
}

/// What this process logged.
struct Lines(std::sync::Mutex<Vec<(log::Level, String)>>);

impl log::Log for Lines {
    fn enabled(&self, _: &log::Metadata<'_>) -> bool {
        true
    }

    fn log(&self, record: &log::Record<'_>) {
        self.0.lock().unwrap().push((record.level(), record.args().to_string()));
    }

    fn flush(&self) {}
}

#[test]
fn violations_and_leaks_are_logged_as_errors() {
    static LINES: Lines = Lines(std::sync::Mutex::new(Vec::new()));
    log::set_logger(&LINES).expect("no other test sets one");
    log::set_max_level(log::LevelFilter::Error);
    let logged = |text: &str| {
        let lines = LINES.0.lock().unwrap();
        lines.iter().any(|(level, line)| *level == log::Level::Error && line.contains(text))
    };
    let rig = Rig::new();
    // Sizes that no other test has.
    let (kept, freed) = (rig.malloc(12_345), rig.malloc(54_321));
    rig.memset(kept.offset(1), 12_345, rig.stream()).unwrap_err();
    assert!(logged("12345 bytes at"), "the violation");
    rig.free(freed).unwrap();
    drop(rig);
    assert!(logged("leak: device allocation") && logged("(12345 bytes"));
    assert!(!logged("(54321 bytes"));
}
