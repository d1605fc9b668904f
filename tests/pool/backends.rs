//! Pools that cache nothing themselves: HIP's own pool, and plain allocations.

use hiplaunch::driver::emulated::{EmulatedDriver, EmulatorOptions};
use hiplaunch::driver::validation::{CallCounts, CallGroup, CallKind};
use hiplaunch::driver::{Capability, DeviceId};
use hiplaunch::memory::{PoolBackend, PoolOptions};
use hiplaunch::{Device, Error};

use crate::hooked::HookedDriver;
use crate::rig::{KIB, MIB, Rig, check_sums, out_of_memory};

fn open(backend: PoolBackend) -> Rig {
    Rig::with(PoolOptions { backend, ..PoolOptions::default() })
}

fn allocations(counts: &CallCounts) -> [u64; 4] {
    [CallKind::MallocAsync, CallKind::FreeAsync, CallKind::Malloc, CallKind::Free].map(|kind| counts[kind])
}

#[test]
fn backends_are_parsed_from_their_names() {
    let parse = |word: &str| word.parse::<PoolBackend>();
    assert_eq!(parse("caching").unwrap(), PoolBackend::Caching);
    assert_eq!(parse("").unwrap(), PoolBackend::default());
    assert_eq!(parse(" async\n").unwrap(), PoolBackend::StreamOrdered);
    assert_eq!(parse("plain").unwrap(), PoolBackend::Plain);
    for word in ["Async", "none", "caching,plain"] {
        let error = parse(word).unwrap_err();
        assert!(matches!(&error, Error::Invalid { what: "HIPLAUNCH_POOL", .. }));
        assert!(error.to_string().contains(word) && error.to_string().contains("caching, async or plain"));
    }
    assert_eq!(PoolBackend::default(), PoolOptions::default().backend);
}

#[test]
fn a_driver_without_the_capability_is_refused() {
    let emulator = || EmulatedDriver::new(EmulatorOptions::single_threaded()).unwrap();
    let driver = HookedDriver::without(emulator(), Capability::StreamOrderedAllocator);
    let open = |backend| {
        let options = PoolOptions { backend, ..PoolOptions::default() };
        Device::open_with(driver.clone(), DeviceId(0), &options)
    };
    let error = open(PoolBackend::StreamOrdered).unwrap_err();
    assert!(matches!(error, Error::Invalid { what: "PoolBackend::StreamOrdered", .. }), "{error}");
    assert!(error.to_string().contains("hipMallocAsync"), "{error}");
    for backend in [PoolBackend::Caching, PoolBackend::Plain] {
        drop(open(backend).unwrap().pool().allocate_for_any(256).unwrap());
    }
}

#[test]
fn stream_ordered_blocks_take_one_asynchronous_call_to_allocate_and_one_to_free() {
    let rig = open(PoolBackend::StreamOrdered);
    let a = rig.stream();
    for _ in 0..10 {
        let (block, counts) = rig.calls(|| rig.allocate(&a, 1000));
        assert_eq!((allocations(&counts), counts.device_calls()), ([1, 0, 0, 0], 1));
        assert_eq!((block.capacity(), rig.counters().reserved), (1024, 1024));
        rig.fill(&a, &block);
        let ((), counts) = rig.calls(|| drop(block));
        assert_eq!((allocations(&counts), counts.device_calls()), ([0, 1, 0, 0], 1));
    }
    let c = rig.counters();
    assert_eq!((c.hits, c.misses, c.frees, c.reserved, c.live_blocks), (0, 10, 10, 0, 0));
    assert_eq!((c.calls.mallocs, c.calls.frees), (10, 10));
    check_sums(&c);
    drop(a);
    rig.finish();
}

#[test]
fn plain_blocks_take_one_call_to_allocate_and_one_to_free_after_a_wait() {
    let rig = open(PoolBackend::Plain);
    let (a, b) = (rig.stream(), rig.stream());
    let (block, counts) = rig.calls(|| rig.allocate(&a, 1000));
    assert_eq!((allocations(&counts), counts.device_calls()), ([0, 0, 1, 0], 1));
    rig.fill(&a, &block);
    rig.use_on(&b, &a, &block);
    let gate = rig.gate(&b);
    // The free waits for both streams, and for the work that the gate holds back.
    let opener = std::thread::spawn(move || gate.open());
    let ((), counts) = rig.calls(|| drop(block));
    opener.join().unwrap();
    assert_eq!(allocations(&counts), [0, 0, 0, 1]);
    assert!(a.is_idle().unwrap() && b.is_idle().unwrap());
    assert_eq!(rig.device.held_bytes(), 0);
    drop((a, b));
    rig.finish();
}

#[test]
fn recorded_uses_are_ordered_before_an_asynchronous_free() {
    let rig = open(PoolBackend::StreamOrdered);
    let (a, b, c) = (rig.stream(), rig.stream(), rig.stream());
    let block = rig.allocate(&a, MIB);
    rig.fill(&a, &block);
    let gate = rig.gate(&b);
    rig.use_on(&b, &a, &block);
    rig.use_on(&c, &b, &block);
    let ((), counts) = rig.calls(|| drop(block));
    // Ordered on the device, without a wait of the host. The layer checks the order.
    assert_eq!(allocations(&counts), [0, 1, 0, 0]);
    assert_eq!((counts[CallKind::EventRecord], counts[CallKind::StreamWaitEvent]), (2, 2));
    assert_eq!(counts[CallGroup::Synchronize], 0);
    rig.clean();
    assert!(!a.is_idle().unwrap());
    gate.open();
    // The last of two owners frees the block.
    let block = rig.allocate(&a, MIB);
    let other = block.clone();
    rig.without_calls(|| drop(block));
    rig.fill(&a, &other);
    drop(other);
    drop((a, b, c));
    rig.finish();
}

#[test]
fn a_recorded_use_that_can_not_be_ordered_is_waited_for() {
    let rig = open(PoolBackend::StreamOrdered);
    let (a, b) = (rig.stream(), rig.stream());
    for call in [CallKind::EventRecord, CallKind::StreamWaitEvent] {
        let block = rig.allocate(&a, MIB);
        rig.use_on(&b, &a, &block);
        rig.fail(call, crate::rig::REFUSED);
        drop(block);
        assert_eq!(rig.layer.pending_injections(), 0);
        rig.clean();
    }
    drop((a, b));
    rig.finish();
}

#[test]
fn blocks_outlive_their_stream() {
    for backend in [PoolBackend::StreamOrdered, PoolBackend::Plain] {
        let rig = open(backend);
        let (a, b) = (rig.stream(), rig.stream());
        let blocks = [rig.allocate(&a, MIB), rig.allocate(&a, 4 * KIB), rig.allocate(&a, 4 * KIB)];
        blocks.iter().for_each(|block| rig.fill(&a, block));
        rig.order(&a, &b);
        drop(a);
        let [first, second, third] = blocks;
        drop(first);
        // Used on another stream after its own was destroyed.
        b.record_use(&second);
        rig.fill(&b, &second);
        // A new stream is created and destroyed too.
        let c = rig.stream();
        let more = rig.allocate(&c, MIB);
        rig.fill(&c, &more);
        drop(second);
        drop(c);
        drop(more);
        assert_eq!(rig.device.held_bytes(), 4 * KIB, "{backend:?}");
        drop(third);
        assert_eq!((rig.device.held_bytes(), rig.counters().live_blocks), (0, 0));
        drop(b);
        rig.finish();
    }
}

#[test]
fn blocks_of_no_stream_and_blocks_by_address() {
    for backend in [PoolBackend::StreamOrdered, PoolBackend::Plain] {
        let rig = open(backend);
        let (a, b) = (rig.stream(), rig.stream());
        let block = rig.pool.allocate_for_any(MIB).unwrap();
        for stream in [&a, &b] {
            stream.record_use(&block);
        }
        rig.fill(&a, &block);
        rig.order(&a, &b);
        rig.fill(&b, &block);
        drop(block);
        let ptr = rig.pool.allocate_raw(&a, 5000).unwrap();
        assert_eq!(rig.pool.locate(ptr.offset(4000)).unwrap().ptr, ptr);
        rig.pool.free_raw(ptr).unwrap();
        assert!(matches!(rig.pool.locate(ptr), Err(Error::Pool(_))));
        assert_eq!(rig.device.held_bytes(), 0, "{backend:?}");
        drop((a, b));
        rig.finish();
    }
}

#[test]
fn limits_and_callbacks_hold_for_all_backends() {
    for backend in [PoolBackend::StreamOrdered, PoolBackend::Plain] {
        let rig = Rig::with(PoolOptions { backend, cap: Some(2 * MIB), soft_target: None });
        let a = rig.stream();
        let block = std::sync::Mutex::new(Some(rig.allocate(&a, 2 * MIB)));
        let e = out_of_memory(rig.pool.allocate(&a, MIB));
        assert_eq!((e.requested, e.in_use, e.held), (MIB, 2 * MIB, 2 * MIB));
        let callback = rig.pool.on_low_memory(move |_| block.lock().unwrap().take().map_or(0, |b| b.bytes()));
        drop(rig.allocate(&a, MIB));
        assert_eq!(rig.pool.empty_cache().unwrap(), 0);
        drop((callback, a));
        rig.finish();
    }
}
