//! Device and pinned memory, copies and fills: their sizes, their order, and which calls wait.

use hiplaunch::driver::validation::{CallGroup, Violation};
use hiplaunch::driver::{Capability, DevicePtr, ErrorCode, Work};

use crate::rig::{D0, D1, PROBE, Rig, VECTOR, code, input, output, value};

/// Returns `bytes` bytes of which neighbours differ.
fn pattern(bytes: usize, seed: usize) -> Vec<u8> {
    (0..bytes).map(|i| (i.wrapping_mul(167) ^ (i >> 8) ^ seed) as u8).collect()
}

pub(crate) fn allocations_are_aligned_and_do_not_overlap(rig: &Rig) {
    let stream = rig.stream();
    let sizes = [1, 3, 255, 256, 257, 4095, 4097, 1 << 20];
    let all: Vec<_> = sizes.iter().map(|&bytes| (rig.malloc(bytes), bytes)).collect();
    for (i, &(ptr, bytes)) in all.iter().enumerate() {
        assert!(ptr.0.is_multiple_of(256) && !ptr.is_null(), "{ptr} of {bytes} bytes");
        rig.write(ptr, &pattern(bytes, i), stream);
    }
    for (i, &(ptr, bytes)) in all.iter().enumerate() {
        assert_eq!(rig.read::<u8>(ptr, bytes, stream), pattern(bytes, i), "{bytes} bytes");
    }
}

pub(crate) fn too_large_an_allocation_is_out_of_memory_and_changes_nothing(rig: &Rig) {
    let stream = rig.stream();
    let ptr = rig.upload(&[7u32; 64], stream);
    assert_eq!(code(rig.driver.malloc(D0, 1 << 50)), ErrorCode::OUT_OF_MEMORY);
    assert_eq!(rig.read::<u32>(ptr, 64, stream), [7; 64]);
    rig.malloc(1 << 20);
}

pub(crate) fn freeing_null_does_nothing(rig: &Rig) {
    // SAFETY: a null pointer is allowed.
    unsafe { rig.driver.free(D0, DevicePtr::NULL) }.unwrap();
}

pub(crate) fn pinned_memory_has_two_addresses(rig: &Rig) {
    for bytes in [1, 64, 4097, 1 << 20] {
        let pinned = rig.pinned(bytes);
        assert!((pinned.host(0) as usize).is_multiple_of(64));
        assert!(!pinned.device(0).is_null() || !rig.driver.capabilities().has(Capability::MappedHostMemory));
        pinned.write(0, &pattern(bytes, 5));
        assert_eq!(pinned.read::<u8>(0, bytes), pattern(bytes, 5));
    }
}

/// A page of host memory. HIP registers whole pages.
#[derive(Clone)]
#[repr(align(4096))]
struct Page(#[allow(dead_code, reason = "accessed by its address")] [u8; 4096]);

fn host_pages(bytes: usize) -> Vec<Page> {
    vec![Page([0; 4096]); bytes.div_ceil(4096)]
}

pub(crate) fn registered_memory_is_pinned(rig: &Rig) {
    if !rig.has(Capability::HostRegister) {
        return;
    }
    let stream = rig.stream();
    let mut memory = host_pages(64 << 10);
    let ptr = memory.as_mut_ptr().cast::<u8>();
    // SAFETY: the vector is longer than 40,000 bytes and outlives the registration.
    let allocation = unsafe { rig.driver.host_register(D0, ptr, 40_000) }.unwrap();
    assert_eq!((allocation.host.as_ptr(), allocation.bytes), (ptr, 40_000));
    let pinned = rig.of_registered(allocation);
    pinned.write(0, &pattern(20_000, 3));
    let there = rig.malloc(20_000);
    pinned.to_device(0, there, 20_000, stream);
    pinned.to_host(20_000, there, 20_000, stream);
    rig.sync(stream);
    assert_eq!(pinned.read::<u8>(20_000, 20_000), pattern(20_000, 3));
    if let Some(validation) = &rig.validation {
        assert_eq!(validation.counts().get(CallGroup::PageableCopy), 0);
    }
    // SAFETY: nothing uses it.
    unsafe { rig.driver.host_unregister(D0, allocation) }.unwrap();
    // The memory can be registered again.
    // SAFETY: as above.
    let again = unsafe { rig.driver.host_register(D0, ptr.wrapping_add(4096), 4096) }.unwrap();
    // SAFETY: nothing uses it.
    unsafe { rig.driver.host_unregister(D0, again) }.unwrap();
}

pub(crate) fn kernels_use_registered_memory(rig: &Rig) {
    if !rig.has(Capability::HostRegister) {
        return;
    }
    let (stream, vector) = (rig.stream(), rig.load(&VECTOR));
    let mut memory = host_pages(8192);
    // SAFETY: the vector is that long, and outlives the registration.
    let allocation = unsafe { rig.driver.host_register(D0, memory.as_mut_ptr().cast(), 8192) }.unwrap();
    let pinned = rig.of_registered(allocation);
    let x: Vec<f32> = (0..1000).map(|i| i as f32).collect();
    pinned.write(0, &x);
    let args =
        [value(3.0f32), input(pinned.device(0), 4000), output(pinned.device(4096), 4000), value(1000i32)];
    vector.launch("vscale", 4, 256, stream, &args).unwrap();
    rig.sync(stream);
    assert_eq!(pinned.read::<f32>(4096, 1000), x.iter().map(|x| 3.0 * x).collect::<Vec<_>>());
    // SAFETY: nothing uses it any more.
    unsafe { rig.driver.host_unregister(D0, allocation) }.unwrap();
}

pub(crate) fn registering_or_unregistering_twice_is_an_error(rig: &Rig) {
    // HIP reports neither mistake.
    let checked = rig.validation.is_some() || rig.driver.info().name.contains("emulated");
    if !checked || !rig.has(Capability::HostRegister) {
        return;
    }
    let mut memory = host_pages(8192);
    let ptr = memory.as_mut_ptr().cast::<u8>();
    // SAFETY: the vector is that long, and outlives the registration.
    let allocation = unsafe { rig.driver.host_register(D0, ptr, 8192) }.unwrap();
    // SAFETY: the driver refuses it.
    unsafe { rig.driver.host_register(D0, ptr, 8192) }.unwrap_err();
    // SAFETY: nothing uses it; the driver refuses the second.
    unsafe {
        rig.driver.host_unregister(D0, allocation).unwrap();
        rig.driver.host_unregister(D0, allocation).unwrap_err();
    }
    if let Some(found) = rig.violations() {
        let [Violation::LiveOverlap { .. }, Violation::DoubleFree { .. }] = &found[..] else {
            panic!("{found:?}")
        };
    }
}

pub(crate) fn copies_of_every_size_are_exact(rig: &Rig) {
    let stream = rig.stream();
    const ROOM: usize = (1 << 20) + 64;
    let (there, back, ptr) = (rig.pinned(ROOM), rig.pinned(ROOM), rig.malloc(ROOM));
    for bytes in [1, 2, 3, 4, 63, 64, 65, 4095, 4096, 4097, 16 << 10, (16 << 10) + 1, 65_537, 1 << 20] {
        for at in [0, 1, 28] {
            let expected = pattern(bytes, at);
            // To the device and back through pinned memory.
            there.write(at, &expected);
            back.write(at, &vec![0u8; bytes]);
            let dst = ptr.offset(at as u64);
            there.to_device(at, dst, bytes, stream);
            back.to_host(at, dst, bytes, stream);
            rig.sync(stream);
            assert_eq!(back.read::<u8>(at, bytes), expected, "{bytes} bytes at {at}");
            // To the device and back through pageable memory, with other bytes.
            let other = pattern(bytes, at + 1);
            rig.write(dst, &other, stream);
            assert_eq!(rig.read::<u8>(dst, bytes, stream), other, "{bytes} bytes at {at}");
        }
    }
}

pub(crate) fn copies_of_no_bytes_do_nothing(rig: &Rig) {
    let stream = rig.stream();
    let (ptr, pinned) = (rig.upload(&[9u8; 64], stream), rig.pinned(64));
    pinned.to_device(0, ptr, 0, stream);
    pinned.to_host(0, ptr, 0, stream);
    rig.write::<u8>(ptr, &[], stream);
    assert_eq!(rig.read::<u8>(ptr, 0, stream), [0u8; 0]);
    assert_eq!(rig.read::<u8>(ptr, 64, stream), [9; 64]);
}

pub(crate) fn blocking_copies_have_finished_when_they_return(rig: &Rig) {
    if !rig.has(Capability::BlockingCopy) {
        return;
    }
    for bytes in [1, 4096, 100_001] {
        let (ptr, from, mut to) = (rig.malloc(bytes), pattern(bytes, 1), vec![0u8; bytes]);
        // SAFETY: all ranges are live and `bytes` long.
        unsafe {
            rig.driver
                .copy_blocking(D0, &Work::CopyToDevice { dst: ptr, src: from.as_ptr(), bytes })
                .unwrap();
            rig.driver
                .copy_blocking(D0, &Work::CopyToHost { dst: to.as_mut_ptr(), src: ptr, bytes })
                .unwrap();
        }
        assert_eq!(to, from);
    }
}

pub(crate) fn copies_within_a_device(rig: &Rig) {
    if !rig.has(Capability::CopyDeviceToDevice) {
        return;
    }
    let stream = rig.stream();
    let (from, to) = (rig.upload(&pattern(8192, 3), stream), rig.upload(&[0u8; 8192], stream));
    rig.copy(to.offset(5), from.offset(7), 5000, stream);
    // Adjacent ranges of one allocation.
    rig.copy(from.offset(4096), from, 4096, stream);
    let got = rig.read::<u8>(to, 8192, stream);
    assert_eq!(got[5..5005], pattern(8192, 3)[7..5007]);
    assert!(got[..5].iter().chain(&got[5005..]).all(|b| *b == 0));
    let got = rig.read::<u8>(from, 8192, stream);
    assert_eq!((&got[..4096], &got[4096..]), (&pattern(4096, 3)[..], &pattern(4096, 3)[..]));
}

pub(crate) fn fills_keep_to_their_range(rig: &Rig) {
    if !rig.has(Capability::Memset) {
        return;
    }
    let stream = rig.stream();
    for (at, bytes) in [(0, 1), (1, 1), (3, 5), (7, 250), (256, 256), (1, 65_537)] {
        let ptr = rig.upload(&vec![0x11u8; 70_000], stream);
        rig.fill_bytes(ptr.offset(at as u64), 0xee, bytes, stream);
        let mut expected = vec![0x11u8; 70_000];
        expected[at..at + bytes].fill(0xee);
        assert!(rig.read::<u8>(ptr, 70_000, stream) == expected, "{bytes} bytes at {at}");
    }
    for (at, count) in [(0, 1), (1, 3), (5, 1000), (64, 16_000)] {
        let ptr = rig.upload(&vec![1u32; 17_000], stream);
        rig.fill_words(ptr.offset(4 * at as u64), 0xdead_beef, count, stream);
        let mut expected = vec![1u32; 17_000];
        expected[at..at + count].fill(0xdead_beef);
        assert!(rig.read::<u32>(ptr, 17_000, stream) == expected, "{count} words at {at}");
    }
    let ptr = rig.upload(&[1u32; 4], stream);
    rig.fill_bytes(ptr, 0, 0, stream);
    rig.fill_words(ptr, 0, 0, stream);
    assert_eq!(rig.read::<u32>(ptr, 4, stream), [1; 4]);
}

pub(crate) fn pageable_memory_may_be_changed_after_the_call(rig: &Rig) {
    let (stream, probe) = (rig.stream(), rig.load(&PROBE));
    for words in [1usize, 16, 1000, 100_000] {
        let ptr = rig.malloc(words * 4);
        rig.busy(&probe, stream);
        let mut source = vec![1u32; words];
        rig.write(ptr, &source, stream);
        source.fill(2);
        assert!(rig.read::<u32>(ptr, words, stream).iter().all(|w| *w == 1), "{words} words");
        assert_eq!(source[0], 2);
    }
}

pub(crate) fn a_pageable_copy_to_the_host_has_waited(rig: &Rig) {
    let (stream, probe) = (rig.stream(), rig.load(&PROBE));
    let (out, expected) = rig.busy(&probe, stream);
    assert_eq!(rig.read::<u32>(out, 64, stream), expected);
    assert!(rig.idle(stream));
}

pub(crate) fn a_pinned_copy_to_the_host_does_not_wait(rig: &Rig) {
    let (stream, probe, pinned) = (rig.stream(), rig.load(&PROBE), rig.pinned(256));
    pinned.write(0, &[0u32; 64]);
    let (out, expected) = rig.busy(&probe, stream);
    let hold = rig.hold(&probe, stream);
    pinned.to_host(0, out, 256, stream);
    if hold.is_sure() {
        assert!(!rig.idle(stream), "the call waited");
        // The validation layer reports this read, because the copy is in flight.
        assert_eq!(pinned.read::<u32>(0, 64), [0; 64]);
        rig.expect_violation(|v| matches!(v, Violation::HostRace { write: false, .. }));
    }
    hold.let_go();
    rig.sync(stream);
    assert_eq!(pinned.read::<u32>(0, 64), expected);
}

pub(crate) fn a_pinned_copy_reads_when_it_runs(rig: &Rig) {
    let (stream, probe) = (rig.stream(), rig.load(&PROBE));
    let (pinned, ptr) = (rig.pinned(256), rig.malloc(256));
    pinned.write(0, &[1u32; 64]);
    rig.busy(&probe, stream);
    let hold = rig.hold(&probe, stream);
    pinned.to_device(0, ptr, 256, stream);
    // The host writes while the copy is in flight. The fences of the staging ring prevent this mistake.
    pinned.write(0, &[2u32; 64]);
    rig.expect_violation(|v| matches!(v, Violation::HostRace { write: true, .. }));
    let late = hold.is_sure() || !rig.idle(stream);
    hold.let_go();
    let got = rig.read::<u32>(ptr, 64, stream);
    if late {
        assert_eq!(got, [2; 64], "the copy read its source before it ran");
    } else {
        rig.skip("the copy ran before the host could write");
    }
}

pub(crate) fn memory_is_allocated_and_freed_in_stream_order(rig: &Rig) {
    if !rig.has(Capability::StreamOrderedAllocator) {
        return;
    }
    let (stream, vector) = (rig.stream(), rig.load(&VECTOR));
    for round in 0..8u32 {
        // SAFETY: a live stream.
        let made = unsafe { rig.driver.malloc_async(D0, 4096, stream) };
        let ptr = match made {
            Err(error) if error.code == ErrorCode::NOT_SUPPORTED => return rig.skip(&error.to_string()),
            made => made.unwrap(),
        };
        let args = [output(ptr, 4096), value(round), value(1024i32)];
        vector.launch("fill_u32", 4, 256, stream, &args).unwrap();
        let got = rig.read::<u32>(ptr, 1024, stream);
        assert!(got.iter().all(|w| *w == round));
        // SAFETY: only work on this stream uses the memory.
        unsafe { rig.driver.free_async(D0, ptr, stream) }.unwrap();
    }
    rig.sync(stream);
    rig.driver.trim_pool(D0, 0).unwrap();
}

pub(crate) fn copies_between_devices(rig: &Rig) {
    if !rig.has(Capability::CopyPeer) || !rig.has_second_device() {
        return;
    }
    let (here, there) = (rig.stream(), rig.stream_on(D1));
    let (from, to) = (rig.malloc_on(D1, 4096), rig.malloc(4096));
    rig.write_on(D1, from, &pattern(4096, 9), there);
    // SAFETY: a live stream.
    unsafe { rig.driver.stream_synchronize(D1, there) }.unwrap();
    // SAFETY: both ranges are live and 4096 bytes long. The write of the source has finished.
    unsafe {
        rig.driver.enqueue(D0, here, &Work::CopyFromPeer { dst: to, src_device: D1, src: from, bytes: 4096 })
    }
    .unwrap();
    assert_eq!(rig.read::<u8>(to, 4096, here), pattern(4096, 9));
}
