//! Memory and the order of streams: reuse, recorded uses, steals, destroyed streams, two devices.

use std::collections::BTreeSet;

use hiplaunch::Stream;
use hiplaunch::driver::emulated::{EmulatedDriver, EmulatorOptions};
use hiplaunch::driver::validation::{CallGroup, CallKind, ValidationDriver, Violation};
use hiplaunch::driver::{DeviceId, Driver, HostFunction, StreamOptions, Work};
use hiplaunch::{Backend, Device, DeviceBuffer, LaunchDims, Launcher, args};

use crate::rig::{KIB, MIB, REFUSED, Rig, check_sums, on_each, on_each_with_gates};

#[test]
fn reuse_on_the_same_stream_makes_no_call_and_needs_no_wait() {
    on_each_with_gates(|rig| {
        let a = rig.stream();
        let first = rig.allocate(&a, MIB);
        let address = first.ptr();
        let gate = rig.gate(&a);
        rig.fill(&a, &first);
        // Its work has not even begun, and the next owner has the block.
        let second = rig.without_calls(|| {
            drop(first);
            rig.allocate(&a, MIB)
        });
        assert_eq!(second.ptr(), address);
        rig.fill(&a, &second);
        gate.open();
        drop((second, a));
        rig.finish();
    });
}

#[test]
fn the_uses_of_many_streams_that_take_turns_cost_one_event_each() {
    on_each(|rig| {
        // More than an owner of the block remembers.
        let (a, others): (_, Vec<_>) = (rig.stream(), (0..20).map(|_| rig.stream()).collect());
        let block = rig.allocate(&a, MIB);
        rig.without_calls(|| (0..5).for_each(|_| others.iter().for_each(|other| other.record_use(&block))));
        let ((), counts) = rig.calls(|| drop(block));
        assert_eq!((counts[CallKind::EventRecord], counts[CallGroup::Synchronize]), (20, 0));
        assert_eq!(rig.counters().held_back, MIB);
        drop((a, others));
        rig.finish();
    });
}

#[test]
fn a_recorded_use_costs_one_event_and_only_when_the_block_is_freed() {
    on_each(|rig| {
        let (a, b) = (rig.stream(), rig.stream());
        let block = rig.allocate(&a, MIB);
        let clone = block.clone();
        rig.without_calls(|| {
            // A use on its own stream is not recorded. On another stream, only the first of many is.
            a.record_use(&block);
            for _ in 0..10 {
                b.record_use(&block);
                b.record_use(&clone);
            }
            drop(block);
        });
        let ((), counts) = rig.calls(|| drop(clone));
        assert_eq!((counts[CallKind::EventRecord], counts[CallGroup::Synchronize]), (1, 0));
        assert_eq!(rig.counters().held_back, MIB);
        // One event for each stream. Events are used again.
        b.synchronize().unwrap();
        let c = rig.stream();
        for _ in 0..5 {
            let block = rig.allocate(&a, MIB);
            rig.fill(&a, &block);
            rig.use_on(&b, &a, &block);
            rig.use_on(&c, &b, &block);
            let ((), counts) = rig.calls(|| drop(block));
            assert_eq!(counts[CallKind::EventRecord], 2);
            b.synchronize().unwrap();
            c.synchronize().unwrap();
        }
        assert_eq!(rig.counters().calls.mallocs, 1);
        // The test needed one event for each of ten orders of streams, and the pool two in all.
        assert_eq!(rig.layer.counts()[CallKind::EventCreate], 10 + 2);
        drop((a, b, c));
        rig.finish();
    });
}

#[test]
fn a_held_block_waits_for_every_stream_that_used_it() {
    let rig = Rig::new();
    let (a, b, c) = (rig.stream(), rig.stream(), rig.stream());
    let block = rig.allocate(&a, MIB);
    let address = block.ptr();
    let gates = [rig.gate(&b), rig.gate(&c)];
    rig.use_on(&b, &a, &block);
    c.record_use(&block);
    drop(block);
    let mut others = Vec::new();
    for (gate, stream) in gates.into_iter().zip([&b, &c]) {
        // Kept, so that the next request is a miss too.
        others.push(rig.allocate(&a, MIB));
        assert!(others.iter().all(|other| other.ptr() != address));
        assert_eq!(rig.counters().held_back, MIB);
        gate.open();
        stream.synchronize().unwrap();
    }
    let back = rig.allocate(&a, MIB);
    assert_eq!((back.ptr(), rig.counters().held_back), (address, 0));
    rig.fill(&a, &back);
    drop((back, others, a, b, c));
    rig.finish();
}

#[test]
fn the_validation_layer_finds_a_use_that_was_not_recorded() {
    let rig = Rig::new();
    let (a, b) = (rig.stream(), rig.stream());
    let block = rig.allocate(&a, MIB);
    rig.order(&a, &b);
    rig.fill(&b, &block);
    drop(block);
    let block = rig.allocate(&a, MIB);
    rig.fill(&a, &block);
    assert!(matches!(rig.violation(), Violation::Race { .. }));
}

#[test]
fn a_whole_segment_is_stolen_after_an_event() {
    on_each_with_gates(|rig| {
        let (a, b) = (rig.stream(), rig.stream());
        let block = rig.allocate(&a, MIB);
        let address = block.ptr();
        let gate = rig.gate(&a);
        rig.fill(&a, &block);
        drop(block);
        let (block, counts) = rig.calls(|| rig.allocate(&b, MIB));
        assert_eq!((block.ptr(), block.stream_number()), (address, b.number()));
        assert_eq!((counts[CallKind::EventRecord], counts[CallKind::StreamWaitEvent]), (1, 1));
        assert_eq!((counts[CallKind::Malloc], counts[CallGroup::Synchronize]), (0, 0));
        // b's work waits for a's, on the device.
        rig.fill(&b, &block);
        assert!(!b.is_idle().unwrap());
        let c = rig.counters();
        assert_eq!((c.steals, c.hits, c.misses, c.reserved), (1, 0, 2, MIB));
        check_sums(&c);
        gate.open();
        b.synchronize().unwrap();
        // From now on it is b's: no more order with a is needed.
        drop(block);
        drop(rig.without_calls(|| rig.allocate(&b, MIB)));
        drop((a, b));
        rig.finish();
    });
}

#[test]
fn a_steal_that_can_not_be_ordered_leaves_the_segment_where_it_is() {
    let rig = Rig::new();
    let (a, b) = (rig.stream(), rig.stream());
    let block = rig.allocate(&a, MIB);
    rig.fill(&a, &block);
    drop(block);
    for call in [CallKind::EventCreate, CallKind::EventRecord, CallKind::StreamWaitEvent] {
        rig.fail(call, REFUSED);
        let taken = rig.pool.allocate(&b, MIB);
        match &taken {
            Ok(block) => rig.fill(&b, block),
            Err(e) => assert_eq!(e.code(), Some(REFUSED)),
        }
        assert_eq!(rig.layer.pending_injections(), 0);
        if taken.is_err() {
            // It is where it was, and serves a request there.
            drop(rig.without_calls(|| rig.allocate(&a, MIB)));
        }
    }
    drop((a, b));
    rig.finish();
}

#[test]
fn two_streams_that_take_turns_end_with_memory_of_their_own() {
    on_each(|rig| {
        let streams = [rig.stream(), rig.stream()];
        let turn = |i: usize| {
            let stream = &streams[i % 2];
            let block = rig.allocate(stream, MIB);
            rig.fill(stream, &block);
        };
        (0..40).for_each(turn);
        // They don't steal from each other forever: after a few turns each has its own memory.
        let before = rig.counters();
        assert!(before.reserved == 2 * MIB && before.steals <= 20, "{before:?}");
        for i in 0..100 {
            let block = rig.without_calls(|| rig.allocate(&streams[i % 2], MIB));
            rig.fill(&streams[i % 2], &block);
            rig.without_calls(|| drop(block));
        }
        let after = rig.counters();
        assert_eq!(
            (after.steals, after.misses, after.hits),
            (before.steals, before.misses, before.hits + 100)
        );
        drop(streams);
        rig.finish();
    });
}

#[test]
fn blocks_outlive_their_stream() {
    on_each_with_gates(|rig| {
        let (a, b) = (rig.stream(), rig.stream());
        let live = rig.allocate(&a, MIB);
        let held = rig.allocate(&a, 3 * MIB);
        rig.fill(&a, &live);
        let gate = rig.gate(&b);
        rig.use_on(&b, &a, &held);
        drop(held);
        drop(a);
        let c = rig.counters();
        assert_eq!((c.in_use, c.held_back, live.stream_number()), (MIB, 3 * MIB, 0));
        check_sums(&c);
        // It belongs to no stream now. Used on another one, it is held back for that one.
        rig.without_calls(|| b.record_use(&live));
        rig.fill(&b, &live);
        drop(live);
        assert_eq!(rig.counters().held_back, 4 * MIB);
        gate.open();
        b.synchronize().unwrap();
        // b steals memory that no stream uses.
        let blocks = rig.without_malloc(|| [rig.allocate(&b, MIB), rig.allocate(&b, 3 * MIB)]);
        blocks.iter().for_each(|block| rig.fill(&b, block));
        assert_eq!(rig.counters().reserved, 4 * MIB);
        drop((blocks, b));
        rig.finish();
    });
}

#[test]
fn a_stream_may_be_destroyed_before_a_block_that_it_used() {
    let rig = Rig::new();
    let (a, b) = (rig.stream(), rig.stream());
    let block = rig.allocate(&a, MIB);
    rig.use_on(&b, &a, &block);
    drop(b);
    // It has waited for its work, so the block need not be held back.
    rig.without_calls(|| drop(block));
    assert_eq!(rig.counters().held_back, 0);
    let block = rig.without_calls(|| rig.allocate(&a, MIB));
    rig.fill(&a, &block);
    // The same while a block is held back for it.
    let b = rig.stream();
    rig.use_on(&b, &a, &block);
    drop((block, b));
    let block = rig.without_malloc(|| rig.allocate(&a, MIB));
    rig.fill(&a, &block);
    drop((block, a));
    rig.finish();
}

#[test]
fn a_new_stream_gets_the_memory_of_a_destroyed_one() {
    on_each_with_gates(|rig| {
        let a = rig.stream();
        let blocks: BTreeSet<_> = [256, 200 * KIB, MIB]
            .map(|bytes| {
                let block = rig.allocate(&a, bytes);
                rig.fill(&a, &block);
                block.ptr()
            })
            .into();
        let gate = rig.gate(&a);
        // The drop waits for the stream's work.
        let opener = std::thread::spawn(move || gate.open());
        drop(a);
        opener.join().unwrap();
        let b = rig.stream();
        rig.without_calls(|| {
            let again: Vec<_> = [256, 200 * KIB, MIB].map(|bytes| rig.allocate(&b, bytes)).into();
            assert!(again.iter().all(|block| block.stream_number() == b.number()));
            assert_eq!(again.iter().map(|block| block.ptr()).collect::<BTreeSet<_>>(), blocks);
        });
        drop(b);
        // Streams that are created and destroyed do not accumulate memory.
        for _ in 0..50 {
            let stream = rig.stream();
            rig.fill(&stream, &rig.allocate(&stream, MIB));
        }
        assert_eq!(rig.counters().calls.mallocs, 3);
        rig.finish();
    });
}

#[test]
fn memory_of_no_stream_is_held_back_for_every_recorded_stream() {
    on_each_with_gates(|rig| {
        let (a, b) = (rig.stream(), rig.stream());
        let block = rig.pool.allocate_for_any(MIB).unwrap();
        assert_eq!(block.stream_number(), 0);
        for stream in [&a, &b] {
            stream.record_use(&block);
        }
        rig.fill(&a, &block);
        rig.order(&a, &b);
        rig.fill(&b, &block);
        let gate = rig.gate(&b);
        drop(block);
        assert_eq!(rig.counters().held_back, MIB);
        let other = rig.pool.allocate_for_any(MIB).unwrap();
        a.record_use(&other);
        rig.fill(&a, &other);
        gate.open();
        // The block was used on both streams, and is free after both have finished that.
        for stream in [&a, &b] {
            stream.synchronize().unwrap();
        }
        let back = rig.without_malloc(|| rig.pool.allocate_for_any(MIB).unwrap());
        a.record_use(&back);
        rig.fill(&a, &back);
        drop((back, other, a, b));
        rig.finish();
    });
}

#[test]
fn launches_record_their_uses_of_buffers() {
    let launcher = Launcher::builder().backend(Backend::Emulator).validate(true).build().unwrap();
    let layer = launcher.validation().unwrap().clone();
    let device = launcher.device(0).unwrap().clone();
    let (a, b) = (launcher.stream(&device).unwrap(), launcher.stream(&device).unwrap());
    // SAFETY: a kernel of hip/, launched as its README says.
    let saxpy = unsafe { launcher.register(&device, include_bytes!("../../hip/vector.gfx90a.co"), "saxpy") };
    let saxpy = saxpy.unwrap();
    let n = 1024;
    let x = DeviceBuffer::from_slice(&a, &vec![1.0f32; n]).unwrap();
    let y = DeviceBuffer::from_slice(&a, &vec![2.0f32; n]).unwrap();
    a.synchronize().unwrap();
    let (done, wait) = std::sync::mpsc::channel::<()>();
    let hold = Box::new(move || {
        let _ = wait.recv();
    });
    // SAFETY: a live stream; the function calls no driver.
    unsafe { layer.enqueue(device.id(), b.as_raw(), &Work::HostFunction(&HostFunction::new(hold))) }.unwrap();
    // SAFETY: as above.
    unsafe { launcher.launch(saxpy, &b, LaunchDims::linear(4, 256), &args![3.0f32, &x, &y, n as i32]) }
        .unwrap();
    let held = device.pool().counters().held_back;
    drop((x, y));
    assert!(device.pool().counters().held_back >= held + 8 * n as u64);
    // The buffers' stream now gets other memory. Otherwise the layer would find a race.
    let z: Vec<_> = (0..20).map(|_| DeviceBuffer::from_slice(&a, &vec![0.0f32; n]).unwrap()).collect();
    drop(done);
    b.synchronize().unwrap();
    drop((z, a, b));
    layer.assert_clean().unwrap_or_else(|e| panic!("{e}"));
}

#[test]
fn pools_of_two_devices_share_nothing() {
    let options = EmulatorOptions { devices: 2, ..EmulatorOptions::single_threaded() };
    let layer = ValidationDriver::new(EmulatedDriver::new(options).unwrap());
    let devices = [0, 1].map(|id| Device::open(layer.clone(), DeviceId(id)).unwrap());
    let streams = [0, 1].map(|i: usize| Stream::new(&devices[i], StreamOptions::default()).unwrap());
    let pools = [0, 1].map(|i: usize| devices[i].pool());
    let live = [0, 1].map(|i: usize| pools[i].allocate(&streams[i], 3 * MIB).unwrap());
    for i in [0, 1] {
        drop(pools[i].allocate(&streams[i], MIB).unwrap());
        drop(pools[i].allocate_for_any(2 * MIB).unwrap());
    }
    let before = [0, 1].map(|i: usize| pools[i].counters());
    assert_eq!(pools[1].empty_cache().unwrap(), 3 * MIB);
    assert_eq!(pools[0].counters(), before[0]);
    assert_eq!((pools[1].counters().reserved, pools[1].counters().in_use), (3 * MIB, 3 * MIB));
    // A block that a stream of another device uses is held back for that stream, by an event of its device.
    streams[1].record_use(&live[0]);
    let [mine, theirs] = live;
    drop(mine);
    assert_eq!(pools[0].counters().held_back, 3 * MIB);
    streams[1].synchronize().unwrap();
    assert_eq!(pools[0].empty_cache().unwrap(), 6 * MIB);
    drop((theirs, streams, pools, devices));
    layer.assert_clean_and_empty().unwrap_or_else(|e| panic!("{e}"));
}
