//! Wrong uses of handles and memory. The layer refuses the call, reports its type, and does not pass it on.

use hip_driver::{
    DevicePtr, Driver, ErrorCode, EventOptions, KernelLaunch, PinnedAllocation, RawEvent, RawFunction,
    RawModule, RawStream, StreamOptions, Work,
};
use hip_driver_layers::validation::{HandleKind, Leak, MemoryKind, Violation};

use crate::rig::{D0, D1, Rig, VECTOR, reads, writes};

#[test]
fn memory_used_after_it_was_freed() {
    let rig = Rig::new();
    let (stream, ptr) = (rig.stream(), rig.malloc(256));
    rig.free(ptr).unwrap();
    let inside = ptr.offset(16);
    match rig.refused(ErrorCode::INVALID_DEVICE_POINTER, || rig.memset(inside, 16, stream)) {
        Violation::UseAfterFree { address, memory, .. } => {
            assert_eq!((address, memory.address, memory.bytes), (inside.0, ptr.0, 256));
        }
        other => panic!("{other}"),
    }
    let (_, function) = rig.module();
    let launch = || rig.launch(function, stream, &[reads(ptr, 4)]);
    let found = rig.refused(ErrorCode::INVALID_DEVICE_POINTER, launch);
    let Violation::UseAfterFree { kernel, .. } = &found else { panic!("{found}") };
    assert!(found.to_string().contains(&format!(" of `{}`", kernel.kernel.as_ref().unwrap())), "{found}");
    // The same address, returned again, is new memory.
    assert_eq!(rig.malloc(256), ptr);
    rig.memset(inside, 16, stream).unwrap();
    rig.clean();
}

#[test]
fn memory_freed_twice_or_wrongly() {
    let rig = Rig::new();
    let (stream, ptr) = (rig.stream(), rig.malloc(256));
    let inside = || rig.free(ptr.offset(8));
    let found = rig.refused(ErrorCode::INVALID_DEVICE_POINTER, inside);
    assert!(matches!(found, Violation::WrongFree { .. }), "{found}");
    // SAFETY: the layer refuses it.
    let wrong_kind = || unsafe { rig.layer.free_async(D0, ptr, stream) };
    let found = rig.refused(ErrorCode::INVALID_DEVICE_POINTER, wrong_kind);
    assert!(matches!(found, Violation::WrongFree { .. }), "{found}");
    rig.free(ptr).unwrap();
    let found = rig.refused(ErrorCode::INVALID_DEVICE_POINTER, || rig.free(ptr));
    assert!(matches!(found, Violation::DoubleFree { .. }), "{found}");

    let pinned = rig.pinned(128);
    let shorter = PinnedAllocation { bytes: 64, ..pinned };
    let found = rig.refused(ErrorCode::INVALID_DEVICE_POINTER, || rig.host_free(shorter));
    assert!(matches!(found, Violation::WrongFree { .. }), "{found}");
    let found = rig.refused(ErrorCode::INVALID_DEVICE_POINTER, || rig.free(pinned.device));
    assert!(matches!(found, Violation::WrongFree { .. }), "{found}");
    rig.host_free(pinned).unwrap();
    let found = rig.refused(ErrorCode::INVALID_DEVICE_POINTER, || rig.host_free(pinned));
    assert!(matches!(found, Violation::DoubleFree { .. }), "{found}");
    rig.layer.assert_clean().unwrap();
}

#[test]
fn addresses_outside_all_memory() {
    let rig = Rig::new();
    let (stream, ptr) = (rig.stream(), rig.malloc(256));
    let behind = ptr.offset(256);
    match rig.refused(ErrorCode::INVALID_DEVICE_POINTER, || rig.memset(behind, 1, stream)) {
        Violation::UnknownAddress { address, nearest: Some(nearest), .. } => {
            assert_eq!((address, nearest.address), (behind.0, ptr.0));
        }
        other => panic!("{other}"),
    }
    let found = rig.refused(ErrorCode::INVALID_DEVICE_POINTER, || rig.free(DevicePtr(16)));
    assert!(matches!(found, Violation::UnknownAddress { nearest: None, .. }), "{found}");
    let found = rig.refused(ErrorCode::INVALID_DEVICE_POINTER, || rig.memset(DevicePtr::NULL, 1, stream));
    assert!(matches!(found, Violation::UnknownAddress { .. }), "{found}");
    // Freeing null does nothing.
    rig.free(DevicePtr::NULL).unwrap();
    // SAFETY: as above, on a live stream.
    unsafe { rig.layer.free_async(D0, DevicePtr::NULL, stream) }.unwrap();
    rig.clean();
}

#[test]
fn ranges_that_leave_their_memory() {
    let rig = Rig::new();
    let (stream, ptr, pinned) = (rig.stream(), rig.malloc(256), rig.pinned(64));
    match rig.refused(ErrorCode::INVALID_VALUE, || rig.memset(ptr.offset(200), 100, stream)) {
        Violation::OutOfRange { over, memory, .. } => assert_eq!((over, memory.bytes), (44, 256)),
        other => panic!("{other}"),
    }
    match rig.refused(ErrorCode::INVALID_VALUE, || rig.htod(ptr, &pinned, 60, 8, stream)) {
        Violation::OutOfRange { over, memory, .. } => {
            assert_eq!((over, memory.kind), (4, MemoryKind::Pinned))
        }
        other => panic!("{other}"),
    }
    // SAFETY: the layer refuses it.
    let words =
        || unsafe { rig.layer.enqueue(D0, stream, &Work::FillWords { dst: ptr, value: 1, count: 65 }) };
    let found = rig.refused(ErrorCode::INVALID_VALUE, words);
    assert!(matches!(found, Violation::OutOfRange { over: 4, .. }), "{found}");
    // SAFETY: the layer refuses it.
    let words = || unsafe {
        rig.layer.enqueue(D0, stream, &Work::FillWords { dst: ptr, value: 1, count: usize::MAX })
    };
    assert!(matches!(rig.refused(ErrorCode::INVALID_VALUE, words), Violation::OutOfRange { .. }));
    // The whole range, and an empty range at its end, are correct.
    rig.memset(ptr, 256, stream).unwrap();
    rig.memset(ptr.offset(256), 0, stream).unwrap();
    rig.clean();
}

#[test]
fn misaligned_overlapping_and_empty_ranges() {
    let rig = Rig::new();
    let (stream, ptr) = (rig.stream(), rig.malloc(256));
    // SAFETY: the layer refuses it.
    let words = || unsafe {
        rig.layer.enqueue(D0, stream, &Work::FillWords { dst: ptr.offset(2), value: 1, count: 1 })
    };
    let found = rig.refused(ErrorCode::INVALID_VALUE, words);
    assert!(matches!(found, Violation::Misaligned { align: 4, .. }), "{found}");
    let found = rig.refused(ErrorCode::INVALID_VALUE, || rig.dtod(ptr.offset(16), ptr, 17, stream));
    assert!(matches!(found, Violation::Overlap { .. }), "{found}");
    rig.dtod(ptr.offset(16), ptr, 16, stream).unwrap();
    let found = rig.refused(ErrorCode::INVALID_VALUE, || rig.layer.malloc(D0, 0));
    assert!(matches!(found, Violation::ZeroBytes { .. }), "{found}");
    let found = rig.refused(ErrorCode::INVALID_VALUE, || rig.layer.host_malloc(D0, 0));
    assert!(matches!(found, Violation::ZeroBytes { .. }), "{found}");
    rig.clean();
}

#[test]
fn handles_that_were_never_returned() {
    let rig = Rig::new();
    let (stream, event, (module, function)) = (rig.stream(), rig.event(), rig.module());
    let unknown = |found: Violation, expected: HandleKind| match found {
        Violation::UnknownHandle { kind, handle, .. } => assert_eq!((kind, handle), (expected, 0xbad)),
        other => panic!("{other}"),
    };
    let refused =
        |call: &dyn Fn() -> hip_driver::DriverResult<()>| rig.refused(ErrorCode::INVALID_HANDLE, call);
    unknown(refused(&|| rig.sync(RawStream(0xbad))), HandleKind::Stream);
    unknown(refused(&|| rig.query(RawStream(0xbad)).map(drop)), HandleKind::Stream);
    unknown(refused(&|| rig.destroy_stream(RawStream(0xbad))), HandleKind::Stream);
    unknown(refused(&|| rig.launch(function, RawStream(0xbad), &[])), HandleKind::Stream);
    unknown(refused(&|| rig.record(event, RawStream(0xbad))), HandleKind::Stream);
    unknown(refused(&|| rig.record(RawEvent(0xbad), stream)), HandleKind::Event);
    unknown(refused(&|| rig.wait(stream, RawEvent(0xbad))), HandleKind::Event);
    unknown(refused(&|| rig.sync_event(RawEvent(0xbad))), HandleKind::Event);
    unknown(refused(&|| rig.query_event(RawEvent(0xbad)).map(drop)), HandleKind::Event);
    unknown(refused(&|| rig.destroy_event(RawEvent(0xbad))), HandleKind::Event);
    unknown(refused(&|| rig.unload(RawModule(0xbad))), HandleKind::Module);
    unknown(refused(&|| rig.launch(RawFunction(0xbad), stream, &[])), HandleKind::Kernel);
    rig.clean();
    rig.unload(module).unwrap();
}

#[test]
fn handles_that_were_destroyed() {
    let rig = Rig::new();
    let (stream, other, event, (module, function)) = (rig.stream(), rig.stream(), rig.event(), rig.module());
    rig.destroy_stream(stream).unwrap();
    let gone = |found: Violation, expected: HandleKind| match found {
        Violation::DestroyedHandle { kind, .. } => assert_eq!(kind, expected),
        other => panic!("{other}"),
    };
    gone(rig.refused(ErrorCode::INVALID_HANDLE, || rig.sync(stream)), HandleKind::Stream);
    gone(rig.refused(ErrorCode::INVALID_HANDLE, || rig.destroy_stream(stream)), HandleKind::Stream);
    rig.destroy_event(event).unwrap();
    gone(rig.refused(ErrorCode::INVALID_HANDLE, || rig.record(event, other)), HandleKind::Event);
    rig.unload(module).unwrap();
    gone(rig.refused(ErrorCode::INVALID_HANDLE, || rig.unload(module)), HandleKind::Module);
    gone(rig.refused(ErrorCode::INVALID_HANDLE, || rig.launch(function, other, &[])), HandleKind::Kernel);
    // HIP uses handles again: a new module with the old handle is live.
    let again = rig.module().0;
    assert_eq!(again, module);
    rig.unload(again).unwrap();
    rig.clean();
}

#[test]
fn handles_and_memory_of_another_device() {
    let rig = Rig::new();
    let (stream, ptr) = (rig.stream(), rig.malloc(256));
    let there = rig.layer.stream_create(D1, StreamOptions::default()).unwrap();
    let far = rig.layer.malloc(D1, 256).unwrap();
    match rig.refused(ErrorCode::INVALID_CONTEXT, || rig.memset(ptr, 4, there)) {
        Violation::HandleOfOtherDevice { owner, given, .. } => assert_eq!((owner, given), (D1, D0)),
        other => panic!("{other}"),
    }
    match rig.refused(ErrorCode::INVALID_DEVICE_POINTER, || rig.memset(far, 4, stream)) {
        Violation::MemoryOfOtherDevice { memory, given, .. } => assert_eq!((memory.device, given), (D1, D0)),
        other => panic!("{other}"),
    }
    let found = rig.refused(ErrorCode::INVALID_DEVICE_POINTER, || rig.free(far));
    assert!(matches!(found, Violation::MemoryOfOtherDevice { .. }), "{found}");

    // Streams of any device may wait for an event, but only streams of its own device may record it.
    let event = rig.layer.event_create(D1, EventOptions::default()).unwrap();
    rig.wait(stream, event).unwrap();
    let found = rig.refused(ErrorCode::INVALID_CONTEXT, || rig.record(event, stream));
    assert!(matches!(found, Violation::HandleOfOtherDevice { .. }), "{found}");
    // A peer copy names both devices.
    // SAFETY: both ranges are alive and 64 bytes long.
    unsafe {
        rig.layer.enqueue(D0, stream, &Work::CopyFromPeer { dst: ptr, src_device: D1, src: far, bytes: 64 })
    }
    .unwrap();
    // SAFETY: the layer refuses it.
    let swapped = || unsafe {
        rig.layer.enqueue(D0, stream, &Work::CopyFromPeer { dst: far, src_device: D1, src: ptr, bytes: 64 })
    };
    let found = rig.refused(ErrorCode::INVALID_DEVICE_POINTER, swapped);
    assert!(matches!(found, Violation::MemoryOfOtherDevice { .. }), "{found}");
    // With peer access kernels may use the other device's memory, but it is still freed there.
    rig.layer.enable_peer_access(D0, D1).unwrap();
    rig.launch(rig.module().1, stream, &[writes(far.offset(128), 4)]).unwrap();
    let found = rig.refused(ErrorCode::INVALID_DEVICE_POINTER, || rig.free(far));
    assert!(matches!(found, Violation::MemoryOfOtherDevice { .. }), "{found}");
    // Every device can access pinned memory.
    let pinned = rig.pinned(64);
    // SAFETY: both ranges are alive and 64 bytes long.
    unsafe {
        rig.layer.enqueue(D1, there, &Work::CopyToDevice { dst: far, src: pinned.host.as_ptr(), bytes: 64 })
    }
    .unwrap();
    let found = rig.layer.take_violations();
    assert!(found.iter().all(Violation::is_order), "{found:?}");
}

#[test]
fn registered_memory() {
    let rig = Rig::new();
    let (stream, device) = (rig.stream(), rig.malloc(4096));
    let mut memory = vec![0u8; 4096];
    let ptr = memory.as_mut_ptr();
    // SAFETY: the vector outlives its registration; the fake driver does not access it.
    let register = |at: usize, bytes| unsafe { rig.layer.host_register(D0, ptr.wrapping_add(at), bytes) };
    // SAFETY: the layer refuses wrong calls.
    let unregister = |pinned| unsafe { rig.layer.host_unregister(D0, pinned) };
    let copy = Work::CopyToDevice { dst: device, src: ptr, bytes: 64 };
    // SAFETY: live memory.
    let enqueue = || unsafe { rig.layer.enqueue(D0, stream, &copy) }.unwrap();

    let found = rig.refused(ErrorCode::INVALID_VALUE, || register(0, 0));
    assert!(matches!(found, Violation::ZeroBytes { .. }), "{found}");
    let pinned = register(1024, 1024).unwrap();
    // Registered again, whole or in part.
    for (at, bytes) in [(1024, 1024), (0, 1025), (2047, 10), (0, 4096), (1500, 1)] {
        let found = rig.refused(ErrorCode::INVALID_VALUE, || register(at, bytes));
        assert!(
            matches!(found, Violation::LiveOverlap { live, .. } if live.kind == MemoryKind::Registered),
            "{found}"
        );
    }
    let (before, behind) = (register(0, 1024).unwrap(), register(2048, 2048).unwrap());
    unregister(before).unwrap();
    unregister(behind).unwrap();
    // Unpinned by the wrong call, or not registered.
    let other = rig.pinned(64);
    let found = rig.refused(ErrorCode::INVALID_DEVICE_POINTER, || unregister(other));
    assert!(matches!(found, Violation::WrongFree { .. }), "{found}");
    // SAFETY: the layer refuses it.
    let found = rig.refused(ErrorCode::INVALID_DEVICE_POINTER, || unsafe { rig.layer.host_free(D0, pinned) });
    assert!(matches!(found, Violation::WrongFree { .. }), "{found}");
    unregister(pinned).unwrap();
    let found = rig.refused(ErrorCode::INVALID_DEVICE_POINTER, || unregister(pinned));
    assert!(matches!(found, Violation::DoubleFree { .. }), "{found}");

    // In flight.
    let pinned = register(0, 4096).unwrap();
    enqueue();
    unregister(pinned).unwrap();
    let found = rig.found();
    assert!(
        matches!(found, Violation::FreeInFlight { memory, .. } if memory.kind == MemoryKind::Registered),
        "{found}"
    );
    // Unregistered after a wait, then used by a kernel and by a node. For a copy on a stream, it is pageable memory
    // again.
    let pinned = register(0, 4096).unwrap();
    enqueue();
    // SAFETY: a live stream.
    unsafe { rig.layer.stream_synchronize(D0, stream) }.unwrap();
    unregister(pinned).unwrap();
    rig.clean();
    let (_, function) = rig.module();
    let access = [reads(pinned.device, 64)];
    let found = rig.refused(ErrorCode::INVALID_DEVICE_POINTER, || rig.launch(function, stream, &access));
    assert!(matches!(found, Violation::UseAfterFree { .. }), "{found}");
    let graph = rig.layer.graph_create(D0).unwrap();
    // SAFETY: the layer refuses it.
    let node = || unsafe { rig.layer.graph_add(D0, graph, &[], &copy) };
    let found = rig.refused(ErrorCode::INVALID_DEVICE_POINTER, node);
    assert!(matches!(found, Violation::UseAfterFree { .. }), "{found}");
    enqueue();
    rig.clean();

    let pinned = register(0, 4096).unwrap();
    let leaks = rig.layer.report_leaks();
    let registered =
        |leak: &&Leak| matches!(leak, Leak::Memory(memory) if memory.kind == MemoryKind::Registered);
    assert_eq!(leaks.iter().filter(registered).count(), 1);
    unregister(pinned).unwrap();
}

#[test]
fn launches_that_are_impossible() {
    let rig = Rig::new();
    let (stream, (_, function)) = (rig.stream(), rig.module());
    let launch = |grid: [u32; 3], block: [u32; 3], bytes: usize| {
        let kernarg = &[0; 512][..bytes];
        let launch = KernelLaunch { function, grid, block, dynamic_lds: 0, kernarg, accesses: &[] };
        // SAFETY: the fake driver's launches do nothing.
        unsafe { rig.layer.enqueue(D0, stream, &Work::Kernel(&launch)) }
    };
    for (grid, block) in [([1, 0, 1], [64, 1, 1]), ([1, 1, 1], [64, 1, 0])] {
        match rig.refused(ErrorCode::INVALID_CONFIGURATION, || launch(grid, block, 512)) {
            Violation::ZeroDimension { kernel, .. } => assert_eq!(&*kernel, "saxpy"),
            other => panic!("{other}"),
        }
    }
    // saxpy(float, const float*, float*, int) has 28 bytes of explicit arguments.
    match rig.refused(ErrorCode::INVALID_VALUE, || launch([1; 3], [64, 1, 1], 24)) {
        Violation::ShortKernarg { given: 24, needed, .. } => {
            assert!(needed >= 28);
            launch([1; 3], [64, 1, 1], needed).unwrap();
        }
        other => panic!("{other}"),
    }
    rig.clean();
}

#[test]
fn globals_live_as_long_as_their_module() {
    let rig = Rig::new();
    let (stream, (module, _)) = (rig.stream(), rig.module());
    // SAFETY: a live module.
    let (global, bytes) = unsafe { rig.layer.module_get_global(D0, module, c"g") }.unwrap();
    // SAFETY: a live module; it is looked up twice.
    assert_eq!(unsafe { rig.layer.module_get_global(D0, module, c"g") }.unwrap(), (global, bytes));
    let function = rig.module().1;
    rig.launch(function, stream, &[writes(global, bytes)]).unwrap();
    let found =
        rig.refused(ErrorCode::INVALID_VALUE, || rig.launch(function, stream, &[reads(global, bytes + 1)]));
    assert!(matches!(found, Violation::OutOfRange { .. }), "{found}");
    let found = rig.refused(ErrorCode::INVALID_DEVICE_POINTER, || rig.free(global));
    assert!(matches!(found, Violation::WrongFree { .. }), "{found}");
    // A failed unload leaves the global alive, a successful one does not.
    rig.fake.fail("module_unload", ErrorCode::INVALID_VALUE);
    assert_eq!(rig.unload(module).unwrap_err().code, ErrorCode::INVALID_VALUE);
    rig.launch(function, stream, &[reads(global, bytes)]).unwrap();
    rig.unload(module).unwrap();
    let found =
        rig.refused(ErrorCode::INVALID_DEVICE_POINTER, || rig.launch(function, stream, &[reads(global, 4)]));
    assert!(matches!(found, Violation::UseAfterFree { .. }), "{found}");
    assert_eq!(
        rig.layer.report_leaks().len(),
        2,
        "the stream and the other module: globals are nobody's leak"
    );
}

#[test]
fn objects_that_could_not_be_destroyed_are_alive() {
    let rig = Rig::new();
    let (stream, event, ptr, pinned) = (rig.stream(), rig.event(), rig.malloc(64), rig.pinned(64));
    for call in ["stream_destroy", "event_destroy", "free", "host_free"] {
        rig.fake.fail(call, ErrorCode::INVALID_VALUE);
        let result = match call {
            "stream_destroy" => rig.destroy_stream(stream),
            "event_destroy" => rig.destroy_event(event),
            "free" => rig.free(ptr),
            _ => rig.host_free(pinned),
        };
        assert_eq!(result.unwrap_err().code, ErrorCode::INVALID_VALUE);
    }
    rig.htod(ptr, &pinned, 0, 64, stream).unwrap();
    rig.record(event, stream).unwrap();
    rig.sync_event(event).unwrap();
    rig.free(ptr).unwrap();
    rig.host_free(pinned).unwrap();
    rig.destroy_event(event).unwrap();
    rig.destroy_stream(stream).unwrap();
    rig.layer.assert_clean_and_empty().unwrap();
}

#[test]
fn leaks_are_the_objects_that_are_alive() {
    let rig = Rig::new();
    let (ptr, pinned, stream, event) = (rig.malloc(64), rig.pinned(32), rig.stream(), rig.event());
    // SAFETY: the fake driver takes any image.
    let module = unsafe { rig.layer.module_load(D1, VECTOR) }.unwrap();
    let leaks = rig.layer.report_leaks();
    assert_eq!(leaks.len(), 5, "{leaks:?}");
    assert!(leaks.iter().any(|l| matches!(l, Leak::Memory(m) if m.address == ptr.0 && m.bytes == 64)));
    assert!(
        leaks.iter().any(|l| matches!(l, Leak::Memory(m) if m.kind == MemoryKind::Pinned && m.bytes == 32))
    );
    let handle = Leak::Handle { kind: HandleKind::Module, device: D1, handle: module.0 };
    assert!(leaks.contains(&handle), "{leaks:?}");
    rig.layer.assert_clean().unwrap();
    let error = rig.layer.assert_clean_and_empty().unwrap_err();
    assert!(error.to_string().starts_with("0 violations, 5 leaks\n  leak: "), "{error}");

    rig.free(ptr).unwrap();
    rig.host_free(pinned).unwrap();
    rig.destroy_stream(stream).unwrap();
    rig.destroy_event(event).unwrap();
    assert_eq!(rig.layer.report_leaks(), [handle]);
}
