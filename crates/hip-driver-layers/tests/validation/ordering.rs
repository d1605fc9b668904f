//! Work, frees and host accesses without an order are reported and passed on; with an order they are not reported.

use hip_driver::{DevicePtr, Driver, ErrorCode, Note, Observer, Work};
use hip_driver_layers::validation::{CallKind, MemoryKind, ObservedKind, Violation};

use crate::rig::{D0, Rig, reads, writes};

/// Returns the calls, the common bytes and the writes of a race.
#[track_caller]
fn race(rig: &Rig) -> (CallKind, CallKind, (u64, u64)) {
    match rig.found() {
        Violation::Race { first, second, range, .. } => (first.call, second.call, (range.start, range.end)),
        other => panic!("{other}"),
    }
}

#[test]
fn two_streams_write_the_same_bytes() {
    let rig = Rig::new();
    let (a, b, ptr) = (rig.stream(), rig.stream(), rig.malloc(256));
    rig.memset(ptr, 128, a).unwrap();
    rig.fake.take_calls();
    rig.memset(ptr.offset(100), 64, b).unwrap();
    assert_eq!(rig.fake.take_calls(), ["memset_d8_async"], "what is only out of order goes through");
    assert_eq!(race(&rig), (CallKind::MemsetD8Async, CallKind::MemsetD8Async, (100, 128)));
    // Neighbouring bytes do not conflict.
    rig.memset(ptr.offset(200), 56, a).unwrap();
    rig.memset(ptr.offset(164), 36, b).unwrap();
    rig.clean();
}

#[test]
fn kernels_that_share_memory() {
    let rig = Rig::new();
    let (a, b, scratch, (_, saxpy)) = (rig.stream(), rig.stream(), rig.malloc(256), rig.module());
    rig.launch(saxpy, a, &[reads(scratch, 64)]).unwrap();
    rig.launch(saxpy, b, &[reads(scratch, 64)]).unwrap();
    rig.clean();
    rig.launch(saxpy, b, &[writes(scratch, 64)]).unwrap();
    match rig.found() {
        Violation::Race { first, second, memory, .. } => {
            assert_eq!((first.kernel.as_deref(), first.stream, first.sequence), (Some("saxpy"), Some(a), 1));
            assert_eq!((second.stream, second.sequence), (Some(b), 2));
            assert!(!first.write && second.write);
            assert_eq!(memory.address, scratch.0);
        }
        other => panic!("{other}"),
    }
}

#[test]
fn events_order_streams() {
    let rig = Rig::new();
    let (a, b, c) = (rig.stream(), rig.stream(), rig.stream());
    let (ptr, event, other) = (rig.malloc(256), rig.event(), rig.event());
    rig.wait(b, event).unwrap(); // never recorded: no wait
    rig.memset(ptr, 64, a).unwrap();
    rig.record(event, a).unwrap();
    rig.memset(ptr.offset(64), 64, a).unwrap(); // after the event
    rig.wait(b, event).unwrap();
    rig.memset(ptr, 64, b).unwrap();
    rig.clean();
    rig.memset(ptr.offset(64), 1, b).unwrap();
    assert_eq!(race(&rig).2, (64, 65));
    // Transitively: a, then b, then c.
    rig.record(other, b).unwrap();
    rig.wait(c, other).unwrap();
    rig.memset(ptr, 64, c).unwrap();
    rig.clean();
    // The wait is for the record that was the last when it was enqueued.
    rig.record(event, c).unwrap();
    rig.wait(a, event).unwrap();
    rig.memset(ptr, 64, c).unwrap();
    rig.record(event, b).unwrap();
    rig.memset(ptr, 64, a).unwrap();
    assert_eq!(race(&rig).2, (0, 64));
}

/// Enqueues work on one stream, calls `wait`, then enqueues conflicting work on another stream.
fn host_orders(wait: impl Fn(&Rig, hip_driver::RawStream, DevicePtr)) -> Rig {
    let rig = Rig::new();
    let (a, b, ptr) = (rig.stream(), rig.stream(), rig.malloc(256));
    rig.memset(ptr, 64, a).unwrap();
    wait(&rig, a, ptr);
    rig.memset(ptr, 64, b).unwrap();
    rig
}

#[test]
fn what_the_host_waited_for_is_ordered() {
    host_orders(|rig, a, _| rig.sync(a).unwrap()).clean();
    host_orders(|rig, _, _| rig.layer.device_synchronize(D0).unwrap()).clean();
    host_orders(|rig, a, _| assert!(rig.query(a).unwrap())).clean();
    host_orders(|rig, a, _| {
        let event = rig.event();
        rig.record(event, a).unwrap();
        rig.sync_event(event).unwrap();
    })
    .clean();
    host_orders(|rig, a, _| {
        let event = rig.event();
        rig.record(event, a).unwrap();
        assert!(rig.query_event(event).unwrap());
    })
    .clean();
    // A copy to pageable memory waits, and so it is itself ordered too.
    host_orders(|rig, a, ptr| rig.dtoh_pageable(&mut [0; 64], ptr, a).unwrap()).clean();
    // `hipFree` waits for the device.
    host_orders(|rig, _, _| rig.free(rig.malloc(64)).unwrap()).clean();
    host_orders(|rig, a, _| {
        let (start, end) = (rig.event(), rig.event());
        rig.record(start, a).unwrap();
        rig.record(end, a).unwrap();
        // SAFETY: live events.
        assert_eq!(unsafe { rig.layer.event_elapsed_ms(D0, start, end) }.unwrap(), 1.0);
    })
    .clean();
}

#[test]
fn what_the_host_did_not_see_is_not_ordered() {
    let unordered = |rig: Rig| assert_eq!(race(&rig).2, (0, 64));
    unordered(host_orders(|_, _, _| ()));
    unordered(host_orders(|rig, a, _| {
        rig.fake.set_busy(true);
        assert!(!rig.query(a).unwrap());
    }));
    unordered(host_orders(|rig, a, _| {
        let event = rig.event();
        rig.record(event, a).unwrap();
        rig.fake.set_busy(true);
        assert!(!rig.query_event(event).unwrap());
    }));
    // Recorded without a wait; waited for without a record.
    unordered(host_orders(|rig, a, _| rig.record(rig.event(), a).unwrap()));
    unordered(host_orders(|rig, _, _| rig.sync_event(rig.event()).unwrap()));
    // Waits that failed, in the driver or by injection, and a wait for another stream.
    unordered(host_orders(|rig, a, _| {
        rig.fake.fail("stream_synchronize", ErrorCode::INVALID_VALUE);
        rig.sync(a).unwrap_err();
    }));
    unordered(host_orders(|rig, a, _| {
        rig.layer.inject(CallKind::StreamSynchronize, 1, ErrorCode::LAUNCH_FAILURE);
        rig.sync(a).unwrap_err();
    }));
    unordered(host_orders(|rig, _, _| rig.sync(rig.stream()).unwrap()));
    // A copy that does not wait for streams.
    unordered(host_orders(|rig, _, ptr| {
        // SAFETY: alive, and as long as the copy.
        unsafe {
            rig.layer.copy_blocking(
                D0,
                &Work::CopyToHost { dst: [0u8; 64].as_mut_ptr(), src: ptr.offset(128), bytes: 64 },
            )
        }
        .unwrap();
    }));
    // A pinned copy is asynchronous.
    unordered(host_orders(|rig, a, ptr| rig.dtoh(&rig.pinned(64), 0, ptr.offset(64), 64, a).unwrap()));
}

#[test]
fn blocking_copies_do_not_wait_for_streams() {
    let rig = Rig::new();
    let (a, ptr) = (rig.stream(), rig.malloc(256));
    rig.memset(ptr, 64, a).unwrap();
    let mut out = [0u8; 64];
    // SAFETY: alive, and as long as the copy.
    unsafe { rig.layer.copy_blocking(D0, &Work::CopyToHost { dst: out.as_mut_ptr(), src: ptr, bytes: 64 }) }
        .unwrap();
    match rig.found() {
        Violation::Race { second, .. } => {
            assert_eq!((second.call, second.stream), (CallKind::MemcpyDtoh, None))
        }
        other => panic!("{other}"),
    }
    rig.sync(a).unwrap();
    // SAFETY: alive, and as long as the copy.
    unsafe { rig.layer.copy_blocking(D0, &Work::CopyToHost { dst: out.as_mut_ptr(), src: ptr, bytes: 64 }) }
        .unwrap();
    // SAFETY: alive, and as long as the copy.
    unsafe { rig.layer.copy_blocking(D0, &Work::CopyToDevice { dst: ptr, src: out.as_ptr(), bytes: 64 }) }
        .unwrap();
    rig.memset(ptr, 64, a).unwrap();
    rig.clean();
}

#[test]
fn a_pageable_copy_is_in_its_stream() {
    let rig = Rig::new();
    let (a, b, ptr) = (rig.stream(), rig.stream(), rig.malloc(256));
    rig.memset(ptr, 64, a).unwrap();
    rig.dtoh_pageable(&mut [0; 64], ptr, b).unwrap();
    assert_eq!(race(&rig), (CallKind::MemsetD8Async, CallKind::MemcpyDtohAsync, (0, 64)));
}

#[test]
fn the_host_writes_what_a_copy_still_reads() {
    let rig = Rig::new();
    let (a, ptr, pinned, event) = (rig.stream(), rig.malloc(256), rig.pinned(256), rig.event());
    rig.host_writes(&pinned, 0, 256);
    rig.htod(ptr, &pinned, 64, 64, a).unwrap();
    rig.record(event, a).unwrap();
    rig.host_reads(&pinned, 64, 64); // reads do not conflict
    rig.host_writes(&pinned, 0, 64);
    rig.host_writes(&pinned, 128, 64);
    rig.clean();
    rig.host_writes(&pinned, 120, 16);
    match rig.found() {
        Violation::HostRace { write: true, in_flight, memory, range } => {
            assert_eq!((in_flight.call, in_flight.stream), (CallKind::MemcpyHtodAsync, Some(a)));
            assert_eq!((range.start, range.end, memory.kind), (120, 128, MemoryKind::Pinned));
        }
        other => panic!("{other}"),
    }
    rig.sync_event(event).unwrap();
    rig.host_writes(&pinned, 0, 256);
    rig.clean();
}

#[test]
fn the_host_accesses_what_a_copy_still_writes() {
    let rig = Rig::new();
    let (a, ptr, pinned) = (rig.stream(), rig.malloc(256), rig.pinned(256));
    rig.dtoh(&pinned, 0, ptr, 64, a).unwrap();
    rig.host_reads(&pinned, 0, 4);
    assert!(matches!(rig.found(), Violation::HostRace { write: false, .. }));
    rig.host_writes(&pinned, 60, 8);
    assert!(matches!(rig.found(), Violation::HostRace { write: true, .. }));
    rig.sync(a).unwrap();
    rig.host_reads(&pinned, 0, 64);
    rig.clean();
    // Accesses of pageable memory are not checked. A range that leaves pinned memory is reported.
    rig.layer.note(&Note::HostWrite { ptr: [0u8; 4].as_ptr(), bytes: 4 });
    rig.clean();
    rig.host_writes(&pinned, 250, 10);
    assert!(matches!(rig.found(), Violation::OutOfRange { over: 4, .. }));
}

#[test]
fn kernels_use_pinned_memory_by_its_device_address() {
    let rig = Rig::new();
    let (a, b, (_, saxpy), pinned) = (rig.stream(), rig.stream(), rig.module(), rig.pinned(256));
    rig.launch(saxpy, a, &[reads(pinned.device, 64), writes(pinned.device.offset(64), 64)]).unwrap();
    rig.host_reads(&pinned, 0, 64);
    rig.clean();
    rig.host_reads(&pinned, 100, 1);
    assert!(matches!(rig.found(), Violation::HostRace { write: false, .. }));
    // A copy with the host's address conflicts with the kernel's access by the device's address.
    rig.htod(rig.malloc(64), &pinned, 64, 64, b).unwrap();
    assert_eq!(race(&rig), (CallKind::LaunchKernel, CallKind::MemcpyHtodAsync, (64, 128)));
}

#[test]
fn frees_while_work_is_in_flight() {
    let rig = Rig::new();
    let (a, b, event) = (rig.stream(), rig.stream(), rig.event());
    // Frees of `malloc`'s memory wait for the device.
    let ptr = rig.malloc(256);
    rig.memset(ptr, 64, a).unwrap();
    rig.free(ptr).unwrap();
    rig.clean();
    // And so do frees of pinned memory: "performs an implicit hipDeviceSynchronize() call" (hip_runtime_api.h).
    let (ptr, pinned) = (rig.malloc(256), rig.pinned(64));
    rig.htod(ptr, &pinned, 0, 64, a).unwrap();
    rig.host_free(pinned).unwrap();
    rig.clean();
    let pinned = rig.pinned(64);
    rig.htod(ptr, &pinned, 0, 64, a).unwrap();
    rig.sync(a).unwrap();
    rig.host_free(pinned).unwrap();
    rig.clean();

    // Frees in stream order are ordered after work on other streams only by an event.
    // SAFETY: live streams.
    let make = || unsafe { rig.layer.malloc_async(D0, 64, a) }.unwrap();
    // SAFETY: the fake driver's memory stays readable.
    let dispose = |ptr: DevicePtr| unsafe { rig.layer.free_async(D0, ptr, a) }.unwrap();
    let ptr = make();
    rig.memset(ptr, 64, a).unwrap();
    dispose(ptr);
    rig.clean();
    let ptr = make();
    rig.record(event, a).unwrap();
    rig.wait(b, event).unwrap();
    rig.memset(ptr, 64, b).unwrap();
    rig.record(event, b).unwrap();
    rig.wait(a, event).unwrap();
    dispose(ptr);
    rig.clean();
    let ptr = make();
    rig.memset(ptr, 64, b).unwrap();
    assert_eq!(race(&rig).0, CallKind::MallocAsync, "used on another stream before it is there");
    dispose(ptr);
    match rig.found() {
        Violation::FreeInFlight { call: ObservedKind::Call(CallKind::FreeAsync), in_flight, .. } => {
            assert_eq!(in_flight.stream, Some(b));
        }
        other => panic!("{other}"),
    }
}

#[test]
fn modules_unloaded_while_a_launch_is_in_flight() {
    let rig = Rig::new();
    let (a, (module, saxpy)) = (rig.stream(), rig.module());
    rig.launch(saxpy, a, &[]).unwrap();
    rig.sync(a).unwrap();
    rig.unload(module).unwrap();
    rig.clean();
    let (module, saxpy) = rig.module();
    rig.launch(saxpy, a, &[]).unwrap();
    rig.unload(module).unwrap();
    match rig.found() {
        Violation::UnloadInFlight { in_flight, .. } => {
            assert_eq!((in_flight.kernel.as_deref(), in_flight.stream), (Some("saxpy"), Some(a)));
        }
        other => panic!("{other}"),
    }
}

#[test]
fn work_of_a_destroyed_stream_still_runs() {
    let rig = Rig::new();
    let (a, b, ptr) = (rig.stream(), rig.stream(), rig.malloc(64));
    rig.memset(ptr, 64, a).unwrap();
    rig.destroy_stream(a).unwrap();
    let again = rig.stream();
    assert_eq!(again, a, "the driver gives the handle out again");
    rig.memset(ptr, 64, again).unwrap();
    assert_eq!(race(&rig).2, (0, 64));
    rig.layer.device_synchronize(D0).unwrap();
    rig.memset(ptr, 64, b).unwrap();
    rig.clean();
}

#[test]
fn a_lost_device_runs_nothing_more() {
    let rig = Rig::new();
    let (a, ptr, pinned, (module, saxpy)) = (rig.stream(), rig.malloc(64), rig.pinned(64), rig.module());
    rig.htod(ptr, &pinned, 0, 64, a).unwrap();
    rig.launch(saxpy, a, &[writes(ptr, 64)]).unwrap();
    rig.fake.fail("stream_synchronize", ErrorCode::ILLEGAL_ADDRESS);
    assert_eq!(rig.sync(a).unwrap_err().code, ErrorCode::ILLEGAL_ADDRESS);
    rig.host_writes(&pinned, 0, 64);
    rig.unload(module).unwrap();
    rig.host_free(pinned).unwrap();
    rig.clean();
}

#[test]
fn work_that_the_driver_refused_accesses_nothing() {
    let rig = Rig::new();
    let (a, b, ptr, pinned) = (rig.stream(), rig.stream(), rig.malloc(64), rig.pinned(64));
    rig.fake.fail("memcpy_htod_async", ErrorCode::INVALID_VALUE);
    rig.htod(ptr, &pinned, 0, 64, a).unwrap_err();
    rig.layer.inject(CallKind::MemsetD8Async, 1, ErrorCode::INVALID_VALUE);
    rig.memset(ptr, 64, a).unwrap_err();
    rig.host_writes(&pinned, 0, 64);
    rig.memset(ptr, 64, b).unwrap();
    rig.clean();
}

#[test]
fn a_race_is_reported_once_for_each_pair() {
    let rig = Rig::new();
    let (a, b, ptr) = (rig.stream(), rig.stream(), rig.malloc(256));
    for at in [0, 64, 128] {
        rig.memset(ptr.offset(at), 32, a).unwrap();
    }
    rig.memset(ptr, 256, a).unwrap();
    rig.memset(ptr, 256, b).unwrap();
    assert_eq!(race(&rig).2, (0, 256));
}
