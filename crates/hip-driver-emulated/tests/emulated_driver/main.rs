//! Tests of the emulated driver: it is asynchronous, a fault loses only its device, and enqueuing allocates nothing.

mod bounds;
mod graphs;
mod rig;
mod values;
#[cfg(target_os = "linux")]
mod virtual_memory;

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, mpsc};
use std::time::{Duration, Instant};

use hip_driver::{
    DeviceId, DevicePtr, Driver, ErrorCode, EventOptions, KernelLaunch, RawStream, StreamOptions, Work,
};
use hip_driver_emulated::{EmulatorOptions, MachineConfig};

use crate::rig::{D0, D1, PROBE, PROBE_GFX942, Rig, code};

/// Counts the allocations of each thread.
struct Counting;

thread_local! {
    static ALLOCATIONS: Cell<u64> = const { Cell::new(0) };
}

// SAFETY: every call is passed on to `System` unchanged; the counter allocates nothing.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        ALLOCATIONS.set(ALLOCATIONS.get() + 1);
        // SAFETY: guaranteed by the caller.
        unsafe { System.alloc(layout) }
    }
    unsafe fn dealloc(&self, ptr: *mut u8, layout: Layout) {
        // SAFETY: guaranteed by the caller.
        unsafe { System.dealloc(ptr, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

#[test]
fn a_pinned_copy_reads_when_it_runs_and_a_pageable_one_at_the_call() {
    let rig = Rig::one();
    let stream = rig.stream(D0);
    let (from_pinned, from_pageable, from_large) =
        (rig.words(D0, &[0]), rig.words(D0, &[0]), rig.words(D0, &vec![0; 100_000]));
    let pinned = rig.pinned(D0, &[1]);
    let mut pageable = [1_u32];
    let mut large = vec![1_u32; 100_000];

    let gate = rig.gate(D0, stream);
    rig.htod(D0, from_pinned, pinned.ptr(), 4, stream).unwrap();
    rig.htod(D0, from_pageable, pageable.as_ptr().cast(), 4, stream).unwrap();
    rig.htod(D0, from_large, large.as_ptr().cast(), 400_000, stream).unwrap();
    pinned.set(0, 2);
    pageable[0] = 2;
    large.fill(2);
    std::hint::black_box((&pageable, &large));
    assert!(!rig.idle(D0, stream).unwrap());
    gate.open();
    rig.sync(D0, stream).unwrap();

    assert_eq!(rig.read(D0, from_pinned, 1), [2], "a pinned copy sees what the host wrote after the call");
    assert_eq!(rig.read(D0, from_pageable, 1), [1]);
    assert_eq!(rig.read(D0, from_large, 100_000), vec![1; 100_000]);
}

#[test]
fn a_pageable_copy_to_the_host_waits_for_the_stream_and_a_pinned_one_does_not() {
    let rig = Rig::one();
    let stream = rig.stream(D0);
    let words = rig.words(D0, &[7]);
    let pinned = rig.pinned(D0, &[0]);

    let gate = rig.gate(D0, stream);
    rig.dtoh(D0, pinned.ptr(), words, 4, stream).unwrap();
    assert!(!rig.idle(D0, stream).unwrap(), "the pinned copy must not have waited");
    gate.open();
    rig.sync(D0, stream).unwrap();
    assert_eq!(pinned.get(0), 7);

    let before_done = Arc::new(AtomicBool::new(false));
    let flag = Arc::clone(&before_done);
    rig.host_func(D0, stream, move || {
        std::thread::sleep(Duration::from_millis(30));
        flag.store(true, Ordering::SeqCst);
    });
    let mut pageable = [0_u32];
    rig.dtoh(D0, pageable.as_mut_ptr().cast(), words, 4, stream).unwrap();
    assert!(before_done.load(Ordering::SeqCst), "it must wait for the work before it");
    assert_eq!(pageable, [7]);
}

#[test]
fn free_waits_for_the_whole_device() {
    let rig = Rig::two();
    let stream = rig.stream(D0);
    let other = rig.stream(D1);
    let words = rig.words(D0, &[7]);
    let pinned = rig.pinned(D0, &[0]);
    let _gate = rig.gate(D1, other);
    rig.host_func(D0, stream, || std::thread::sleep(Duration::from_millis(20)));
    rig.dtoh(D0, pinned.ptr(), words, 4, stream).unwrap();
    rig.free(D0, words).unwrap();
    assert_eq!(pinned.get(0), 7);
    assert!(!rig.idle(D1, other).unwrap(), "the other device's work is none of free's business");
}

#[test]
fn a_wait_keeps_the_record_that_it_saw() {
    let rig = Rig::one();
    let (slow, waiting, third) = (rig.stream(D0), rig.stream(D0), rig.stream(D0));
    let event = rig.event(D0);
    rig.wait(D0, waiting, event).unwrap();
    rig.sync(D0, waiting).unwrap();

    let gate = rig.gate(D0, slow);
    rig.record(D0, event, slow).unwrap();
    assert!(!rig.reached(D0, event).unwrap());
    rig.wait(D0, waiting, event).unwrap();
    // The event now has another mark, already reached. The wait must still be for the first.
    rig.record(D0, event, third).unwrap();
    assert!(rig.reached(D0, event).unwrap());
    std::thread::sleep(Duration::from_millis(10));
    assert!(!rig.idle(D0, waiting).unwrap());
    // A wait that is enqueued now is for the new record.
    rig.wait(D0, third, event).unwrap();
    rig.sync(D0, third).unwrap();
    // Destroying event and stream does not affect the wait.
    // SAFETY: neither is used again.
    unsafe { rig.driver.event_destroy(D0, event) }.unwrap();
    // SAFETY: as above.
    unsafe { rig.driver.stream_destroy(D0, slow) }.unwrap();
    assert!(!rig.idle(D0, waiting).unwrap());
    gate.open();
    rig.sync(D0, waiting).unwrap();
}

#[test]
fn events_measure_the_time_between_two_records() {
    let rig = Rig::one();
    let stream = rig.stream(D0);
    let timed = || rig.driver.event_create(D0, EventOptions { timing: true }).unwrap();
    let (start, end, untimed) = (timed(), timed(), rig.event(D0));
    // SAFETY: checked by the driver.
    let elapsed = |a, b| unsafe { rig.driver.event_elapsed_ms(D0, a, b) };
    assert_eq!(code(elapsed(start, end)), ErrorCode::INVALID_HANDLE);
    rig.record(D0, start, stream).unwrap();
    rig.host_func(D0, stream, || std::thread::sleep(Duration::from_millis(20)));
    rig.record(D0, end, stream).unwrap();
    rig.record(D0, untimed, stream).unwrap();
    assert_eq!(code(elapsed(start, end)), ErrorCode::ILLEGAL_STATE);
    // SAFETY: checked by the driver.
    unsafe { rig.driver.event_synchronize(D0, end) }.unwrap();
    let forth = elapsed(start, end).unwrap();
    assert!((20.0..10_000.0).contains(&forth), "{forth} ms");
    assert_eq!(elapsed(end, start).unwrap(), -forth);
    assert_eq!(code(elapsed(start, untimed)), ErrorCode::INVALID_HANDLE);
}

#[test]
fn a_fault_loses_its_device_and_no_other() {
    let rig = Rig::two();
    let (stream, second, healthy) = (rig.stream(D0), rig.stream(D0), rig.stream(D1));
    let (kernels, healthy_kernels) = (rig.load(D0, PROBE), rig.load(D1, PROBE));
    let words = rig.words(D0, &[7; 64]);
    let pinned = rig.pinned(D0, &[0]);
    let event = rig.event(D0);
    let ran = Arc::new(AtomicBool::new(false));

    let gate = rig.gate(D0, stream);
    let stray = 1_i64 << 30;
    rig.launch(&kernels, "oob_store", (1, 64), &[&words.0.to_le_bytes(), &stray.to_le_bytes()], stream)
        .unwrap();
    // All of this is enqueued after the fault: it is skipped, and threads that wait for it do not hang.
    rig.dtoh(D0, pinned.ptr(), words, 4, stream).unwrap();
    let flag = Arc::clone(&ran);
    rig.host_func(D0, stream, move || flag.store(true, Ordering::SeqCst));
    rig.record(D0, event, stream).unwrap();
    rig.wait(D0, second, event).unwrap();
    rig.wait(D1, healthy, event).unwrap();
    gate.open();

    let error = rig.sync(D0, stream).unwrap_err();
    assert_eq!((error.call, error.code), ("hipStreamSynchronize", ErrorCode::ILLEGAL_ADDRESS));
    let report = error.detail.clone().expect("a report");
    let address = format!("{:#x}", words.0 + (stray as u64) * 4);
    for part in ["oob_store", &address, "lane 0", "pc 0x"] {
        assert!(report.contains(part), "`{part}` is missing in: {report}");
    }
    // Every call on the device returns the same report.
    let d = &rig.driver;
    // SAFETY: checked by the driver.
    let later = unsafe {
        [
            rig.sync(D0, second).unwrap_err(),
            rig.idle(D0, second).unwrap_err(),
            d.event_synchronize(D0, event).unwrap_err(),
            rig.reached(D0, event).unwrap_err(),
            d.malloc(D0, 4).unwrap_err(),
            d.mem_info(D0).unwrap_err(),
            d.device_synchronize(D0).unwrap_err(),
            d.host_malloc(D0, 4).unwrap_err(),
            d.enqueue(D0, stream, &Work::FillBytes { dst: words, value: 0, bytes: 4 }).unwrap_err(),
            rig.launch(&kernels, "no_args", (1, 1), &[], stream).unwrap_err(),
            d.stream_create(D0, StreamOptions::default()).unwrap_err(),
        ]
    };
    for error in later {
        assert_eq!(
            (error.code, error.detail.as_ref()),
            (ErrorCode::ILLEGAL_ADDRESS, Some(&report)),
            "{}",
            error.call
        );
    }
    assert_eq!(pinned.get(0), 0, "the copy after the fault must not have run");
    assert!(ran.load(Ordering::SeqCst), "the host function after the fault must have run");

    // The other device has work that waits for an event of the lost one. It still runs.
    let counter = rig.words(D1, &[0]);
    rig.launch(&healthy_kernels, "atomic_count", (2, 64), &[&counter.0.to_le_bytes()], healthy).unwrap();
    rig.sync(D1, healthy).unwrap();
    assert_eq!(rig.read(D1, counter, 1), [128]);

    // What the lost device owns can be freed.
    // SAFETY: nothing is used again.
    unsafe {
        d.free(D0, words).unwrap();
        d.event_destroy(D0, event).unwrap();
        d.module_unload(D0, kernels.module).unwrap();
        d.stream_destroy(D0, stream).unwrap();
        d.stream_destroy(D0, second).unwrap();
        d.host_free(D0, pinned.allocation).unwrap();
    }
    assert_eq!(code(rig.free(D0, words)), ErrorCode::INVALID_DEVICE_POINTER);
}

#[test]
fn a_trap_is_an_assert_and_a_stray_copy_an_illegal_address() {
    let rig = Rig::two();
    let (trapping, copying) = (rig.stream(D0), rig.stream(D1));
    let kernels = rig.load(D0, PROBE);
    rig.launch(&kernels, "trap_kernel", (1, 1), &[], trapping).unwrap();
    let error = rig.sync(D0, trapping).unwrap_err();
    assert_eq!(error.code, ErrorCode::ASSERT);
    assert!(error.to_string().contains("trap_kernel"), "{error}");

    // The memory is live when the copy is enqueued, but freed when it runs.
    let words = rig.words(D1, &[1]);
    let pinned = rig.pinned(D1, &[2]);
    let gate = rig.gate(D1, copying);
    rig.free_async(D1, words, copying).unwrap();
    rig.htod(D1, words, pinned.ptr(), 4, copying).unwrap();
    gate.open();
    assert_eq!(code(rig.sync(D1, copying)), ErrorCode::ILLEGAL_ADDRESS);
}

#[test]
fn a_kernel_over_its_time_budget_is_a_fault() {
    let options =
        MachineConfig { time_budget: Some(Duration::from_millis(50)), ..MachineConfig::default() }.into();
    let rig = Rig::new(options);
    let stream = rig.stream(D0);
    let kernels = rig.load(D0, PROBE);
    let out = rig.words(D0, &[0]);
    let args: [&[u8]; 2] = [&u64::MAX.to_le_bytes(), &out.0.to_le_bytes()];
    rig.launch(&kernels, "spin", (1, 1), &args, stream).unwrap();
    let error = rig.sync(D0, stream).unwrap_err();
    assert_eq!(error.code, ErrorCode::LAUNCH_TIME_OUT);
    assert!(error.to_string().contains("budget"), "{error}");
}

#[test]
fn handles_and_addresses_are_checked() {
    let rig = Rig::two();
    let (stream, foreign_stream) = (rig.stream(D0), rig.stream(D1));
    let (event, foreign_event) = (rig.event(D0), rig.event(D1));
    let (kernels, foreign_kernels) = (rig.load(D0, PROBE), rig.load(D1, PROBE));
    let (words, foreign) = (rig.words(D0, &[1; 4]), rig.words(D1, &[1; 4]));
    let mut host = [0_u32; 4];
    let d = &rig.driver;

    assert_eq!(code(d.malloc(DeviceId(2), 4)), ErrorCode::INVALID_DEVICE);
    assert_eq!(code(rig.sync(D0, RawStream(3))), ErrorCode::INVALID_HANDLE);
    assert_eq!(code(rig.sync(D0, RawStream(event.0))), ErrorCode::INVALID_HANDLE);
    assert_eq!(code(rig.sync(D0, foreign_stream)), ErrorCode::INVALID_CONTEXT);
    assert_eq!(code(rig.record(D0, foreign_event, stream)), ErrorCode::INVALID_CONTEXT);
    rig.wait(D0, stream, foreign_event).expect("waiting for another device's event is allowed");

    // SAFETY: checked by the driver.
    unsafe {
        assert_eq!(code(d.stream_destroy(D1, stream)), ErrorCode::INVALID_CONTEXT);
        d.stream_destroy(D0, stream).unwrap();
        assert_eq!(code(d.stream_destroy(D0, stream)), ErrorCode::INVALID_HANDLE);
        d.event_destroy(D0, event).unwrap();
        assert_eq!(code(d.event_synchronize(D0, event)), ErrorCode::INVALID_HANDLE);
    }
    let stream = rig.stream(D0);

    assert_eq!(
        code(rig.dtoh(D0, host.as_mut_ptr().cast(), words.offset(4), 16, stream)),
        ErrorCode::INVALID_VALUE
    );
    assert_eq!(code(rig.dtoh(D0, host.as_mut_ptr().cast(), foreign, 4, stream)), ErrorCode::INVALID_VALUE);
    assert_eq!(
        code(rig.htod(D0, DevicePtr::NULL, host.as_ptr().cast(), 4, stream)),
        ErrorCode::INVALID_VALUE
    );
    assert_eq!(code(rig.htod(D0, words, std::ptr::null(), 4, stream)), ErrorCode::INVALID_VALUE);
    // SAFETY: checked by the driver.
    unsafe {
        assert_eq!(
            code(d.enqueue(D0, stream, &Work::FillWords { dst: words.offset(2), value: 0, count: 1 })),
            ErrorCode::INVALID_VALUE
        );
        assert_eq!(
            code(d.enqueue(D0, stream, &Work::FillWords { dst: words, value: 0, count: usize::MAX })),
            ErrorCode::INVALID_VALUE
        );
    }
    assert_eq!(code(rig.free(D0, foreign)), ErrorCode::INVALID_DEVICE_POINTER);
    assert_eq!(code(rig.free(D0, words.offset(4))), ErrorCode::INVALID_DEVICE_POINTER);
    rig.free_async(D0, words, stream).unwrap();
    assert_eq!(code(rig.free(D0, words)), ErrorCode::INVALID_DEVICE_POINTER);

    // Modules and kernels.
    assert_eq!(
        code(rig.launch(&foreign_kernels, "no_args", (1, 1), &[], stream)),
        ErrorCode::INVALID_CONTEXT
    );
    let function = rig.function(&kernels, "no_args").unwrap();
    assert_eq!(rig.function(&kernels, "no_args").unwrap(), function);
    let error = rig.function(&kernels, "nothing").unwrap_err();
    assert_eq!(error.code, ErrorCode::NOT_FOUND);
    assert!(error.to_string().contains("oob_store"), "the kernels there are: {error}");
    // SAFETY: checked by the driver.
    unsafe {
        assert_eq!(code(d.module_load(D0, PROBE_GFX942)), ErrorCode::NO_BINARY_FOR_GPU);
        assert_eq!(code(d.module_load(D0, b"no code object")), ErrorCode::INVALID_IMAGE);
        assert_eq!(code(d.module_load(D0, &PROBE[..PROBE.len() / 2])), ErrorCode::INVALID_IMAGE);
        assert_eq!(code(d.module_get_global(D0, kernels.module, c"nothing")), ErrorCode::NOT_FOUND);
        d.module_unload(D0, kernels.module).unwrap();
        assert_eq!(code(d.occupancy(D0, function, 64, 0)), ErrorCode::INVALID_HANDLE);
        assert_eq!(code(d.module_unload(D0, kernels.module)), ErrorCode::INVALID_HANDLE);
    }
    rig.sync(D0, stream).expect("no refused call did any harm");
}

#[test]
fn a_launch_over_the_limits_is_refused_before_it_is_enqueued() {
    let rig = Rig::one();
    let stream = rig.stream(D0);
    let kernels = rig.load(D0, PROBE);
    let function = rig.function(&kernels, "no_args").unwrap();
    let launch = |grid, block, dynamic_lds, kernarg| {
        let launch = KernelLaunch { function, grid, block, dynamic_lds, kernarg, accesses: &[] };
        // SAFETY: a kernel that does nothing.
        unsafe { rig.driver.enqueue(D0, stream, &Work::Kernel(&launch)) }
    };
    let kernarg = kernels.kernarg("no_args", &[]);
    launch([3, 2, 1], [64, 2, 2], 1024, &kernarg).unwrap();
    for (grid, block, lds) in [
        ([0, 1, 1], [1, 1, 1], 0),
        ([1, 1, 1], [1, 0, 1], 0),
        ([1, 0x8000_0000, 1], [1, 1, 1], 0),
        ([1, 1, 1], [1025, 1, 1], 0),
        ([1, 1, 1], [32, 32, 2], 0),
        ([0x0100_0000, 1, 1], [256, 1, 1], 0),
        ([1, 1, 1], [1, 1, 1], (64 << 10) + 1),
    ] {
        let error = launch(grid, block, lds, &kernarg).unwrap_err();
        assert_eq!(error.code, ErrorCode::INVALID_CONFIGURATION, "{grid:?} {block:?} {lds}");
        assert!(error.to_string().contains("no_args"), "{error}");
    }
    let too_long = vec![0; kernarg.len() + 1];
    assert_eq!(code(launch([1; 3], [1; 3], 0, &too_long)), ErrorCode::INVALID_VALUE);
    rig.sync(D0, stream).unwrap();
}

#[test]
fn globals_kernels_and_occupancy_work_on_both_targets() {
    for (target, image) in [("gfx90a", PROBE), ("gfx942", PROBE_GFX942)] {
        let target = target.parse().unwrap();
        let rig = Rig::new(EmulatorOptions { target, ..EmulatorOptions::default() });
        let stream = rig.stream(D0);
        let kernels = rig.load(D0, image);
        // SAFETY: checked by the driver.
        let (counter, bytes) =
            unsafe { rig.driver.module_get_global(D0, kernels.module, c"device_counter") }.unwrap();
        assert_eq!(bytes, 4);
        rig.launch(&kernels, "bump_global", (3, 64), &[], stream).unwrap();
        rig.sync(D0, stream).unwrap();
        assert_eq!(rig.read(D0, counter, 1), [192]);

        let function = rig.function(&kernels, "no_args").unwrap();
        // SAFETY: checked by the driver.
        let occupancy = |threads, lds| unsafe { rig.driver.occupancy(D0, function, threads, lds) };
        // A kernel with few registers: 32 waves on a compute unit. Then the LDS limits.
        assert_eq!(occupancy(64, 0).unwrap(), 32);
        assert_eq!(occupancy(65, 0).unwrap(), 16);
        assert_eq!(occupancy(64, 16 << 10).unwrap(), 4);
        assert_eq!(occupancy(1025, 0).unwrap(), 0);
        assert_eq!(code(occupancy(0, 0)), ErrorCode::INVALID_VALUE);
    }
}

#[test]
fn constructors_of_variables_run_when_a_module_is_loaded() {
    let rig = Rig::one();
    let kernels =
        rig.load(D0, include_bytes!("../../../amdgpu-emulator/tests/data/compilers/constructor.gfx90a.co"));
    // SAFETY: checked by the driver.
    let (value, _) = unsafe { rig.driver.module_get_global(D0, kernels.module, c"value") }.unwrap();
    assert_eq!(rig.read(D0, value, 1), [5 + 37]);
}

#[test]
fn devices_see_each_others_memory_only_when_allowed() {
    let rig = Rig::two();
    let stream = rig.stream(D0);
    let kernels = rig.load(D0, PROBE);
    let (before, own) = (rig.words(D1, &[5, 6]), rig.words(D0, &[0, 0]));
    // A copy between devices needs no peer access.
    // SAFETY: checked by the driver.
    unsafe {
        rig.driver.enqueue(
            D0,
            stream,
            &Work::CopyFromPeer { dst: own, src_device: D1, src: before, bytes: 8 },
        )
    }
    .unwrap();
    rig.sync(D0, stream).unwrap();
    assert_eq!(rig.read(D0, own, 2), [5, 6]);

    assert!(rig.driver.can_access_peer(D0, D1).unwrap());
    assert!(!rig.driver.can_access_peer(D0, D0).unwrap());
    assert_eq!(code(rig.driver.enable_peer_access(D0, D0)), ErrorCode::INVALID_DEVICE);
    rig.driver.enable_peer_access(D0, D1).unwrap();
    rig.driver.enable_peer_access(D0, D1).expect("allowed already is success");
    let after = rig.words(D1, &[7]);
    for counter in [before, after] {
        rig.launch(&kernels, "atomic_count", (1, 64), &[&counter.0.to_le_bytes()], stream).unwrap();
    }
    rig.sync(D0, stream).unwrap();
    assert_eq!(rig.read(D1, before, 1), [69]);
    assert_eq!(rig.read(D1, after, 1), [71]);
    rig.free(D1, after).unwrap();

    // The other direction was not allowed.
    let stream = rig.stream(D1);
    let kernels = rig.load(D1, PROBE);
    rig.launch(&kernels, "atomic_count", (1, 1), &[&own.0.to_le_bytes()], stream).unwrap();
    assert_eq!(code(rig.sync(D1, stream)), ErrorCode::ILLEGAL_ADDRESS);
}

#[test]
fn kernels_use_pinned_memory_at_its_host_address() {
    let rig = Rig::two();
    let pinned = rig.pinned(D0, &[5]);
    assert_eq!(pinned.allocation.device.0, pinned.ptr() as u64);
    for device in [D0, D1] {
        let (stream, kernels) = (rig.stream(device), rig.load(device, PROBE));
        let counter = pinned.allocation.device.0.to_le_bytes();
        rig.launch(&kernels, "atomic_count", (1, 64), &[&counter], stream).unwrap();
        rig.sync(device, stream).unwrap();
    }
    assert_eq!(pinned.get(0), 5 + 2 * 64);
}

#[test]
fn allocations_beyond_the_devices_memory_fail() {
    let rig = Rig::new(MachineConfig { memory_bytes: 1 << 20, ..MachineConfig::default() }.into());
    let stream = rig.stream(D0);
    let d = &rig.driver;
    assert_eq!(d.mem_info(D0).unwrap().free, 1 << 20);
    let error = d.malloc(D0, (1 << 20) + 1).unwrap_err();
    assert_eq!(error.code, ErrorCode::OUT_OF_MEMORY);
    assert!(error.to_string().contains("1048577"), "{error}");
    assert_eq!(code(d.malloc(D0, 0)), ErrorCode::INVALID_VALUE);
    let all = d.malloc(D0, 1 << 20).unwrap();
    assert_eq!(d.mem_info(D0).unwrap().free, 0);
    // What the stream frees later can be allocated on the stream after that.
    rig.host_func(D0, stream, || std::thread::sleep(Duration::from_millis(20)));
    rig.free_async(D0, all, stream).unwrap();
    // SAFETY: checked by the driver.
    let again = unsafe { d.malloc_async(D0, 1 << 20, stream) }.unwrap();
    rig.free(D0, again).unwrap();
    assert_eq!(d.mem_info(D0).unwrap().free, 1 << 20);
    d.trim_pool(D0, 0).unwrap();
}

#[test]
fn fills_and_copies_within_a_device_are_in_stream_order() {
    let rig = Rig::one();
    let stream = rig.stream(D0);
    let (a, b) = (rig.words(D0, &[0; 1000]), rig.words(D0, &[0; 1000]));
    // SAFETY: checked by the driver.
    unsafe {
        rig.driver.enqueue(D0, stream, &Work::FillWords { dst: a, value: 0x0102_0304, count: 1000 }).unwrap();
        rig.driver.enqueue(D0, stream, &Work::FillBytes { dst: a.offset(1), value: 0xff, bytes: 2 }).unwrap();
        rig.driver.enqueue(D0, stream, &Work::CopyWithin { dst: b.offset(4), src: a, bytes: 3996 }).unwrap();
        rig.driver.enqueue(D0, stream, &Work::FillBytes { dst: a, value: 0, bytes: 4000 }).unwrap();
    }
    rig.sync(D0, stream).unwrap();
    let copied = rig.read(D0, b, 1000);
    assert_eq!(copied[..3], [0, 0x01ff_ff04, 0x0102_0304]);
    assert!(copied[2..].iter().all(|w| *w == 0x0102_0304));
    assert_eq!(rig.read(D0, a, 1000), [0; 1000]);
}

#[test]
fn a_host_function_may_not_wait_and_may_panic() {
    let rig = Rig::one();
    let stream = rig.stream(D0);
    let words = rig.words(D0, &[1]);
    let driver = Arc::clone(&rig.driver);
    let (sender, receiver) = mpsc::channel();
    rig.host_func(D0, stream, move || {
        // SAFETY: the driver checks and refuses the calls.
        let results = unsafe { [driver.stream_synchronize(D0, stream), driver.free(D0, words)] };
        sender.send(results.map(code)).unwrap();
    });
    rig.host_func(D0, stream, || panic!("a test's panic"));
    rig.sync(D0, stream).unwrap();
    assert_eq!(receiver.recv().unwrap(), [ErrorCode::ILLEGAL_STATE; 2]);
    rig.free(D0, words).expect("the refused free left the memory as it was");
}

#[test]
fn dropping_the_driver_finishes_the_work_wherever_it_is_dropped() {
    let finished = Arc::new(AtomicU32::new(0));
    let rig = Rig::one();
    for _ in 0..2 {
        let stream = rig.stream(D0);
        let flag = Arc::clone(&finished);
        rig.host_func(D0, stream, move || {
            std::thread::sleep(Duration::from_millis(10));
            flag.fetch_add(1, Ordering::SeqCst);
        });
        // SAFETY: it is not used again.
        unsafe { rig.driver.stream_destroy(D0, stream) }.unwrap();
    }
    rig.stream(D0);
    drop(rig);
    assert_eq!(finished.load(Ordering::SeqCst), 2, "drop must wait for the workers");

    // The last reference may be dropped in a host function, while another stream waits for that function.
    let rig = Rig::one();
    let (stream, waiting) = (rig.stream(D0), rig.stream(D0));
    let gate = rig.gate(D0, stream);
    let (sender, receiver) = mpsc::channel();
    let driver = Arc::clone(&rig.driver);
    rig.host_func(D0, stream, move || drop(driver));
    let event = rig.event(D0);
    rig.record(D0, event, stream).unwrap();
    rig.wait(D0, waiting, event).unwrap();
    rig.host_func(D0, waiting, move || sender.send(()).unwrap());
    drop(rig);
    gate.open();
    receiver.recv_timeout(Duration::from_secs(60)).expect("the waiting stream must get to its end");
}

#[test]
fn many_threads_share_streams_and_events() {
    const THREADS: u32 = 8;
    const ROUNDS: u32 = 50;
    let rig = Rig::two();
    let streams: Vec<(DeviceId, RawStream)> =
        (0..4).map(|n| DeviceId(n % 2)).map(|device| (device, rig.stream(device))).collect();
    let kernels = [rig.load(D0, PROBE), rig.load(D1, PROBE)];
    let counters = [rig.words(D0, &[0]), rig.words(D1, &[0])];
    let host_calls = Arc::new(AtomicU32::new(0));
    std::thread::scope(|scope| {
        for thread in 0..THREADS {
            let (rig, streams, kernels, host_calls) = (&rig, &streams, &kernels, &host_calls);
            scope.spawn(move || {
                let events = [rig.event(D0), rig.event(D1)];
                for round in 0..ROUNDS {
                    let (device, stream) = streams[((thread + round) % 4) as usize];
                    let (_, other) = streams[((thread + round + 1) % 4) as usize];
                    let at = device.0 as usize;
                    let counter = counters[at].0.to_le_bytes();
                    rig.launch(&kernels[at], "atomic_count", (2, 64), &[&counter], stream).unwrap();
                    rig.record(device, events[at], stream).unwrap();
                    // The next stream belongs to the other device.
                    rig.wait(DeviceId(1 - device.0), other, events[at]).unwrap();
                    // This thread's own buffer shows only this thread's work.
                    let own = rig.words(device, &[thread]);
                    let mut back = [0_u32];
                    // SAFETY: checked by the driver.
                    unsafe {
                        rig.driver.enqueue(
                            device,
                            stream,
                            &Work::FillWords { dst: own, value: round, count: 1 },
                        )
                    }
                    .unwrap();
                    rig.dtoh(device, back.as_mut_ptr().cast(), own, 4, stream).unwrap();
                    assert_eq!(back, [round]);
                    rig.free_async(device, own, stream).unwrap();
                    let calls = Arc::clone(host_calls);
                    rig.host_func(device, stream, move || {
                        calls.fetch_add(1, Ordering::Relaxed);
                    });
                    if round % 10 == 0 {
                        let short_lived = rig.stream(device);
                        rig.wait(device, short_lived, events[at]).unwrap();
                        // SAFETY: it is not used again.
                        unsafe { rig.driver.stream_destroy(device, short_lived) }.unwrap();
                    }
                }
            });
        }
    });
    let mut sum = 0;
    for device in [D0, D1] {
        rig.driver.device_synchronize(device).unwrap();
        sum += rig.read(device, counters[device.0 as usize], 1)[0];
    }
    assert_eq!(sum, THREADS * ROUNDS * 128);
    assert_eq!(host_calls.load(Ordering::Relaxed), THREADS * ROUNDS);
}

#[test]
fn enqueuing_uses_no_heap_in_steady_state() {
    let rig = Rig::one();
    let (stream, other) = (rig.stream(D0), rig.stream(D0));
    let kernels = rig.load(D0, PROBE);
    let words = rig.words(D0, &[0; 1024]);
    let pinned = rig.pinned(D0, &[0; 1024]);
    let (event, timed) = (rig.event(D0), rig.driver.event_create(D0, EventOptions { timing: true }).unwrap());
    let function = rig.function(&kernels, "bump").unwrap();
    let kernarg = kernels.kernarg("bump", &[&words.0.to_le_bytes(), &1024_i32.to_le_bytes()]);
    let (grid, block) = ([16, 1, 1], [64, 1, 1]);
    let launch = KernelLaunch { function, grid, block, dynamic_lds: 0, kernarg: &kernarg, accesses: &[] };
    let pageable = [0_u8; 256];
    let d = &rig.driver;
    // Returns the heap allocations of enqueuing. A thread that waits or looks runs kernels, which need some.
    let round = |launches: u32| {
        let before = ALLOCATIONS.get();
        for _ in 0..launches {
            rig.htod(D0, words, pinned.ptr(), 4096, stream).unwrap();
            rig.htod(D0, words, pageable.as_ptr(), 256, stream).unwrap();
            // SAFETY: checked by the driver.
            unsafe { d.enqueue(D0, stream, &Work::Kernel(&launch)) }.unwrap();
            // SAFETY: as above.
            unsafe { d.enqueue(D0, stream, &Work::FillBytes { dst: words, value: 1, bytes: 64 }) }.unwrap();
            rig.dtoh(D0, pinned.ptr(), words, 4096, stream).unwrap();
            rig.record(D0, event, stream).unwrap();
            rig.record(D0, timed, stream).unwrap();
            rig.wait(D0, other, event).unwrap();
        }
        let allocated = ALLOCATIONS.get() - before;
        rig.reached(D0, event).unwrap();
        rig.idle(D0, stream).unwrap();
        // SAFETY: as above.
        unsafe { d.event_synchronize(D0, event) }.unwrap();
        rig.sync(D0, other).unwrap();
        allocated
    };
    for _ in 0..3 {
        round(300);
    }
    let allocated: u64 = (0..5).map(|_| round(100)).sum();
    assert_eq!(allocated, 0, "heap allocations of the enqueuing thread");
    let before = ALLOCATIONS.get();
    let start = Instant::now();
    std::hint::black_box(Box::new(start));
    assert_eq!(ALLOCATIONS.get() - before, 1, "the counter counts");
}
