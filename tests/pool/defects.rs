//! Eight known defects of naive stream pools. Each test shows that this pool doesn't have one of them.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use hiplaunch::DeviceBuffer;
use hiplaunch::Stream;
use hiplaunch::driver::emulated::{EmulatedDriver, EmulatorOptions};
use hiplaunch::driver::validation::{CallKind, ValidationDriver};
use hiplaunch::driver::{DeviceId, Driver, StreamOptions};
use hiplaunch::memory::PoolOptions;
use hiplaunch::{Backend, Device};

use crate::hooked::HookedDriver;
use crate::rig::{KIB, MIB, Rig, on_each, on_each_with_gates, out_of_memory};
use hiplaunch_testing::counting::heap_allocations;

#[test]
fn defect_1_the_live_path_ignores_streams() {
    on_each_with_gates(|rig| {
        let (a, b) = (rig.stream(), rig.stream());
        // Keeps the segment in use, so that the other stream can't steal all of it.
        let kept = rig.allocate(&a, 256);
        let block = rig.allocate(&a, 4 * KIB);
        let address = block.ptr();
        let gate = rig.gate(&a);
        rig.fill(&a, &block);
        drop(block);
        // Another stream gets other memory while that work is in flight. The same stream gets the same block.
        let others: Vec<_> = (0..32).map(|_| rig.allocate(&b, 4 * KIB)).collect();
        others.iter().for_each(|other| rig.fill(&b, other));
        assert!(others.iter().all(|other| other.ptr() != address && other.stream_number() == b.number()));
        let again = rig.allocate(&a, 4 * KIB);
        assert_eq!((again.ptr(), again.stream_number()), (address, a.number()));
        rig.fill(&a, &again);
        gate.open();
        drop((kept, again, others, a, b));
        rig.finish();
    });
}

#[test]
fn defect_2_uses_are_recorded_for_free_blocks_and_for_all_of_a_size() {
    on_each_with_gates(|rig| {
        let (a, b) = (rig.stream(), rig.stream());
        let [free, plain, marked] = [0; 3].map(|_| rig.allocate(&a, 4 * KIB));
        let (free_ptr, plain_ptr, marked_ptr) = (free.ptr(), plain.ptr(), marked.ptr());
        drop(free);
        let gate = rig.gate(&b);
        rig.use_on(&b, &a, &marked);
        // The use is recorded for one live block, and for nothing else.
        assert_eq!(rig.counters().held_back, 0);
        drop((plain, marked));
        assert_eq!(rig.counters().held_back, 4 * KIB);
        let two: Vec<_> = (0..2).map(|_| rig.without_calls(|| rig.allocate(&a, 4 * KIB))).collect();
        let got: BTreeSet<_> = two.iter().map(|block| block.ptr()).collect();
        assert_eq!(got, BTreeSet::from([free_ptr, plain_ptr]));
        let third = rig.allocate(&a, 4 * KIB);
        assert_ne!(third.ptr(), marked_ptr);
        gate.open();
        drop((two, third, a, b));
        rig.finish();
    });
}

#[test]
fn defect_3_held_back_blocks_are_lost() {
    on_each(|rig| {
        let (a, b) = (rig.stream(), rig.stream());
        for _ in 0..200 {
            let block = rig.allocate(&a, MIB);
            rig.fill(&a, &block);
            rig.use_on(&b, &a, &block);
            drop(block);
            b.synchronize().unwrap();
        }
        let c = rig.counters();
        assert_eq!((c.reserved, c.calls.mallocs, c.frees), (MIB, 1, 200), "{c:?}");
        // The last block is not lost either.
        assert_eq!(rig.pool.empty_cache().unwrap(), MIB);
        assert_eq!((rig.counters().reserved, rig.counters().held_back), (0, 0));
        drop((a, b));
        rig.finish();
    });
}

#[test]
fn defect_4_exact_keys_coarse_rounding_and_no_splitting() {
    on_each(|rig| {
        let a = rig.stream();
        // Sizes are rounded to 256 bytes, not to elements.
        for (bytes, capacity) in [(0, 256), (1, 256), (256, 256), (257, 512), (40_000, 40_192)] {
            assert_eq!(rig.allocate(&a, bytes).capacity(), capacity, "{bytes}");
        }
        // Memory of one type, size and shape serves every other.
        let whole = DeviceBuffer::<f64>::on(&a, (MIB / 8) as usize).unwrap();
        let start = whole.ptr();
        drop(whole);
        rig.without_calls(|| {
            let first = DeviceBuffer::<u8>::on(&a, 600_000).unwrap();
            let second = DeviceBuffer::<u16>::on(&a, 200_000).unwrap();
            // The block is split where the first ends, and joined again when both are free.
            let gaps = 1 + u64::from(rig.separates_blocks());
            assert_eq!((first.ptr(), second.ptr()), (start, start.offset(gaps * 600_064)));
            drop((first, second));
            let joined = DeviceBuffer::<u32>::on(&a, (MIB / 4) as usize).unwrap();
            assert_eq!(joined.ptr(), start);
        });
        // Bytes of the block beyond the request can be used.
        rig.without_calls(|| {
            let mut buffer = DeviceBuffer::<u8>::on(&a, 300_000).unwrap();
            assert!(buffer.capacity() > 300_000 && !buffer.ensure_len(&a, buffer.capacity()).unwrap());
            drop(buffer);
        });
        let mut buffer = DeviceBuffer::<u8>::on(&a, 100).unwrap();
        buffer.ensure_len(&a, 256).unwrap();
        buffer.upload(&a, &[1; 256]).unwrap();
        drop(buffer);
        // The memory of 64 small blocks serves one larger one.
        let small: Vec<_> = (0..256).map(|_| rig.allocate(&a, 256)).collect();
        let reserved = rig.counters().reserved;
        drop(small);
        drop(rig.without_calls(|| rig.allocate(&a, 16 * KIB)));
        assert_eq!(rig.counters().reserved, reserved);
        drop(a);
        rig.finish();
    });
}

#[test]
fn defect_5_no_cap_and_eviction_that_does_nothing() {
    on_each(|rig| {
        let a = rig.stream();
        let free_before = rig.mem_info().free;
        rig.pool.set_cap(Some(4 * MIB));
        let block = rig.allocate(&a, 3 * MIB);
        // The cap holds.
        let e = out_of_memory(rig.pool.allocate(&a, 2 * MIB));
        assert_eq!((e.requested, e.held, e.in_use), (2 * MIB, 3 * MIB, 3 * MIB));
        assert!(e.why.is_some_and(|why| why.contains("cap")));
        drop(block);
        // 3 MiB are cached, which can't serve 4 MiB. They must be released, and are.
        let (block, counts) = rig.calls(|| rig.allocate(&a, 4 * MIB));
        assert_eq!((counts[CallKind::Free], rig.counters().reserved), (1, 4 * MIB));
        drop(block);
        // Emptying the cache returns the memory to the device.
        assert!(rig.mem_info().free < free_before);
        assert_eq!(rig.pool.empty_cache().unwrap(), 4 * MIB);
        assert_eq!((rig.mem_info().free, rig.device.held_bytes()), (free_before, 0));
        drop(a);
        rig.finish();
    });
}

#[test]
fn defect_6_misses_uncounted_and_devices_mixed_up() {
    let options = EmulatorOptions { devices: 2, ..EmulatorOptions::single_threaded() };
    let layer = ValidationDriver::new(EmulatedDriver::new(options).unwrap());
    let open = |id| Device::open(layer.clone(), DeviceId(id)).unwrap();
    let devices = [open(0), open(1)];
    let [s0, s1] = [0, 1].map(|i| Stream::new(&devices[i], StreamOptions::default()).unwrap());
    let [p0, p1] = [0, 1].map(|i: usize| devices[i].pool());
    drop(p0.allocate(&s0, MIB).unwrap());
    let live = p1.allocate(&s1, MIB).unwrap();
    drop(p1.allocate(&s1, 2 * MIB).unwrap());
    drop(p1.allocate(&s1, 2 * MIB).unwrap());
    let c = p1.counters();
    assert_eq!((c.hits, c.misses, c.frees, c.live_blocks), (1, 2, 2, 1));
    // Emptying one pool changes no counter of the other.
    assert_eq!(p0.empty_cache().unwrap(), MIB);
    assert_eq!(p1.counters(), c);
    assert_eq!((p0.counters().reserved, p0.counters().misses), (0, 1));
    assert_eq!(p0.counters().calls.frees, 1);
    let free = |device: u32| layer.mem_info(DeviceId(device)).unwrap();
    assert_eq!((free(0).free, free(1).free), (free(0).total, free(1).total - 3 * MIB));
    // What the other pool has cached is still there.
    let before = layer.counts();
    drop(p1.allocate(&s1, 2 * MIB).unwrap());
    assert_eq!(layer.counts().since(&before).device_calls(), 0);
    // A pool serves only the streams of its own device.
    assert!(p0.allocate(&s1, 256).is_err());
    assert_eq!(p0.counters().calls.mallocs, 1);
    drop((live, s0, s1, p0, p1, devices));
    layer.assert_clean_and_empty().unwrap_or_else(|e| panic!("{e}"));
}

#[test]
fn defect_7_calls_memsets_and_heap_use_on_hits_and_frees() {
    on_each(|rig| {
        let a = rig.stream();
        let sizes = [1, 700, 4 * KIB, 32 * KIB, 33 * KIB, MIB, 5 * MIB];
        sizes.iter().for_each(|&bytes| drop(rig.allocate(&a, bytes)));
        let before = rig.counters();
        rig.without_calls(|| {
            for _ in 0..50 {
                sizes.iter().for_each(|&bytes| drop(rig.allocate(&a, bytes)));
            }
        });
        let c = rig.counters();
        assert_eq!((c.hits - before.hits, c.misses, c.calls), (350, before.misses, before.calls));
        assert_eq!(
            rig.layer.counts()[CallKind::MemsetD8Async] + rig.layer.counts()[CallKind::MemsetD32Async],
            0
        );
        drop(a);
        rig.finish();
    });
    // The layer's own records are on the heap, so this part runs without it.
    let opened = hiplaunch::driver::backend::open(Backend::Emulator, Some(false)).unwrap();
    let device = Device::open(opened.driver, DeviceId(0)).unwrap();
    let (pool, stream) = (device.pool(), Stream::new(&device, StreamOptions::default()).unwrap());
    let mut live = Vec::with_capacity(64);
    let mut round = || {
        for i in 0..64u64 {
            live.push(pool.allocate(&stream, 100 + i * i * 97).unwrap());
        }
        // Freed in another order than allocated.
        while !live.is_empty() {
            live.swap_remove(live.len() / 2);
        }
    };
    (0..20).for_each(|_| round());
    let before = heap_allocations();
    (0..100).for_each(|_| round());
    assert_eq!(heap_allocations() - before, 0, "heap allocations in 6400 pairs");
    drop(std::hint::black_box(vec![0u8; 100]));
    assert_eq!(heap_allocations() - before, 1, "the counter counts");
}

/// While a pool makes a driver call of any kind, another thread can allocate from and free to the same memory.
#[test]
fn defect_7_driver_calls_under_the_lock() {
    let options = EmulatorOptions::single_threaded();
    let hooked = HookedDriver::new(EmulatedDriver::new(options).unwrap());
    let rig = Rig::over(hooked.clone(), PoolOptions::default());
    let (a, b) = (Arc::new(rig.stream()), Arc::new(rig.stream()));
    let seen = Arc::new(Mutex::new(BTreeSet::new()));
    // Both streams have free memory of every size that the other thread asks for, besides what the test uses.
    let spare = [rig.allocate(&a, 64 * KIB), rig.allocate(&b, 64 * KIB)];
    let keep = [rig.allocate(&a, 256), rig.allocate(&b, 256)];
    let marked = Arc::new(Mutex::new(Vec::new()));
    drop(spare);
    let hook = {
        let (pool, seen, a, b) = (rig.pool.clone(), seen.clone(), a.clone(), b.clone());
        let marked = marked.clone();
        move |call: &'static str| {
            seen.lock().unwrap().insert(call);
            let (pool, a, b, marked) = (pool.clone(), a.clone(), b.clone(), marked.clone());
            let other = std::thread::spawn(move || {
                for stream in [&*a, &*b] {
                    drop(pool.allocate(stream, 4 * KIB).unwrap());
                    drop(pool.allocate(stream, 40 * KIB).ok());
                }
                // A free that records an event.
                let block = marked.lock().unwrap().pop();
                drop(block);
                let _ = (pool.counters(), pool.snapshot());
            });
            let start = Instant::now();
            while !other.is_finished() {
                assert!(start.elapsed() < Duration::from_secs(20), "deadlock in {call}");
                std::thread::yield_now();
            }
            other.join().unwrap();
        }
    };
    for _ in 0..20 {
        let block = rig.allocate(&a, 4 * KIB);
        b.record_use(&block);
        marked.lock().unwrap().push(block);
    }
    hooked.set(Some(Arc::new(hook)));
    // A malloc; a free with a recorded use; a poll; a steal; a wait for a held-back block; frees.
    let large = rig.allocate(&a, 3 * MIB);
    rig.use_on(&b, &a, &large);
    drop(large);
    b.synchronize().unwrap();
    drop(rig.allocate(&a, 2 * MIB));
    drop(rig.allocate(&b, 2 * MIB));
    rig.pool.set_cap(Some(rig.counters().reserved));
    let live = rig.allocate(&a, 100 * KIB);
    b.record_use(&live);
    let gate = rig.gate(&b);
    rig.order(&a, &b);
    rig.fill(&b, &live);
    drop(live);
    let opener = std::thread::spawn({
        let layer = rig.layer.clone();
        let before = layer.counts();
        move || {
            while layer.counts().since(&before)[CallKind::EventSynchronize] == 0 {
                std::thread::yield_now();
            }
            gate.open();
        }
    });
    out_of_memory(rig.pool.allocate(&a, 64 * MIB));
    opener.join().unwrap();
    rig.pool.empty_cache().unwrap();
    hooked.set(None);
    let seen = seen.lock().unwrap().clone();
    for call in [
        "malloc",
        "free",
        "event_create",
        "event_record",
        "event_query",
        "event_synchronize",
        "stream_wait_event",
        "stream_synchronize",
    ] {
        assert!(seen.contains(call), "{call} is not among {seen:?}");
    }
    marked.lock().unwrap().clear();
    drop((keep, a, b));
    rig.finish();
}

#[test]
fn defect_8_freeing_forgets_recorded_uses() {
    on_each_with_gates(|rig| {
        let (a, b, c) = (rig.stream(), rig.stream(), rig.stream());
        let keep = rig.allocate(&a, 256);
        let block = rig.allocate(&a, 4 * KIB);
        let address = block.ptr();
        let gate = rig.gate(&b);
        rig.use_on(&b, &a, &block);
        // Neither dropping another owner nor dropping the last one makes the block free.
        drop(block.clone());
        drop(block);
        for stream in [&a, &b, &c] {
            let blocks: Vec<_> = (0..20).map(|_| rig.allocate(stream, 4 * KIB)).collect();
            blocks.iter().for_each(|other| rig.fill(stream, other));
            assert!(blocks.iter().all(|other| other.ptr() != address));
        }
        assert_eq!(rig.counters().held_back, 4 * KIB);
        gate.open();
        b.synchronize().unwrap();
        // Now its own stream may use it again.
        let blocks: Vec<_> = (0..300).map(|_| rig.allocate(&a, 4 * KIB)).collect();
        assert!(blocks.iter().any(|other| other.ptr() == address));
        assert_eq!(rig.counters().held_back, 0);
        // The recorded uses ended with the first allocation: the next free needs no event.
        let again = blocks.into_iter().find(|other| other.ptr() == address).unwrap();
        rig.fill(&a, &again);
        rig.without_calls(|| drop(again));
        assert_eq!(rig.counters().held_back, 0);
        drop((keep, a, b, c));
        rig.finish();
    });
}
