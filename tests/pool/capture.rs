//! Memory of a recorded graph: no device call while it is recorded, and nobody else's as long as it may be launched.

use hiplaunch::DeviceBuffer;
use hiplaunch::driver::validation::CallKind;
use hiplaunch::memory::{PoolBackend, PoolOptions};

use crate::rig::{KIB, MIB, Rig, check_sums, on_each, out_of_memory};

#[test]
fn while_recording_memory_comes_from_what_was_set_aside() {
    on_each(|rig| {
        let a = rig.stream();
        // Cached for the stream as it is: not for the graph.
        drop(rig.allocate(&a, MIB));
        let mut memory = rig.pool.begin_capture(&a, 4 * MIB).unwrap();
        assert!(memory.bytes() >= 4 * MIB);
        let before = rig.counters();
        let live = rig.without_calls(|| {
            let large = rig.allocate(&a, 3 * MIB);
            let small = rig.allocate(&a, 300);
            let address = large.ptr();
            drop(large);
            // In the graph's own order it is used again.
            let again = rig.allocate(&a, 3 * MIB);
            assert_eq!(again.ptr(), address);
            (again, small)
        });
        // Beyond that: an error, which asks the device how much memory it has, and does nothing else.
        let (result, counts) = rig.calls(|| rig.pool.allocate(&a, 3 * MIB));
        let e = out_of_memory(result);
        assert!(e.why.is_some_and(|why| why.contains("set more aside")));
        assert_eq!((e.requested, counts.device_calls(), counts[CallKind::MemInfo]), (3 * MIB, 1, 1));
        rig.without_calls(|| drop(live));
        let c = rig.counters();
        check_sums(&c);
        assert_eq!((c.hits + c.misses) - (before.hits + before.misses), 4, "requests: {c:?}");
        assert_eq!((c.hits - before.hits, c.calls), (3, before.calls));
        // One free before, and three of the graph's.
        assert_eq!((before.frees, c.frees), (1, 4));
        memory.end();
        // From its own again.
        drop(rig.without_calls(|| rig.allocate(&a, MIB)));
        drop((memory, a));
        rig.finish();
    });
}

#[test]
fn nobody_else_gets_a_graphs_memory() {
    on_each(|rig| {
        let (a, b) = (rig.stream(), rig.stream());
        let mut memory = rig.pool.begin_capture(&a, 4 * MIB).unwrap();
        let in_graph = rig.allocate(&a, MIB);
        let (start, end) = (in_graph.ptr(), in_graph.ptr().offset(memory.bytes()));
        let mut others = Vec::new();
        let mut take = |message: &str| {
            for bytes in [256, 40 * KIB, 2 * MIB, 3 * MIB] {
                for block in [rig.allocate(&b, bytes), rig.pool.allocate_for_any(bytes).unwrap()] {
                    assert!(block.ptr() < start || block.ptr() >= end, "{message}");
                    others.push(block);
                }
            }
        };
        // While it is recorded, when it is there, and when all blocks in it were given back.
        take("while recording");
        memory.end();
        take("once recorded");
        drop(in_graph);
        take("once nothing in it is live");
        let held = memory.bytes();
        rig.pool.empty_cache().unwrap();
        assert_eq!(memory.bytes(), held);
        // A stream that is new, and one for which memory runs out.
        let c = rig.stream();
        others.push(rig.allocate(&c, 4 * MIB));
        rig.pool.set_cap(Some(rig.counters().reserved));
        out_of_memory(rig.pool.allocate(&c, 3 * MIB));
        assert!(others.iter().all(|block| block.ptr() < start || block.ptr() >= end));
        assert_eq!(memory.bytes(), held);
        // The graph is gone: idle memory, for anyone.
        drop(memory);
        let block = rig.without_malloc(|| rig.allocate(&c, 3 * MIB));
        assert!(block.ptr() >= start && block.ptr() < end);
        drop((block, others, a, b, c));
        rig.finish();
    });
}

#[test]
fn what_is_set_aside_is_the_graphs_own() {
    let rig = Rig::capped(4 * MIB);
    let (a, b) = (rig.stream(), rig.stream());
    drop(rig.allocate(&a, 4 * MIB));
    let kept = rig.allocate(&a, 256 * KIB);
    drop(a);
    // Idle memory that could be borrowed goes back to where it is from: that is nothing for a graph.
    let error = rig.pool.begin_capture(&b, 2 * MIB).map(|memory| memory.bytes());
    assert_eq!(out_of_memory(error).requested, 2 * MIB);
    // And the stream is not being recorded.
    drop(rig.allocate(&b, 2 * MIB));
    drop(kept);
    let memory = rig.pool.begin_capture(&b, 2 * MIB).unwrap();
    assert_eq!(memory.bytes(), 4 * MIB);
    drop((memory, b));
    rig.finish();
}

#[test]
fn blocks_that_a_graph_uses_are_held_until_it_is_gone() {
    on_each(|rig| {
        let (a, b) = (rig.stream(), rig.stream());
        let own = rig.allocate(&a, MIB);
        let foreign = rig.allocate(&b, MIB);
        let unused = rig.allocate(&a, MIB);
        let addresses = [own.ptr(), foreign.ptr()];
        let mut memory = rig.pool.begin_capture(&a, 0).unwrap();
        rig.without_calls(|| {
            // The stream's own block too: the graph uses it at every launch.
            a.record_use(&own).unwrap();
            a.record_use(&foreign).unwrap();
            drop((own, foreign, unused));
        });
        memory.end();
        a.synchronize().unwrap();
        b.synchronize().unwrap();
        rig.pool.empty_cache().unwrap();
        let c = rig.counters();
        assert_eq!((c.held_back, c.reserved), (2 * MIB, 2 * MIB), "{c:?}");
        let others = [rig.allocate(&a, MIB), rig.allocate(&b, MIB)];
        assert!(others.iter().all(|block| !addresses.contains(&block.ptr())));
        drop(memory);
        let back = rig.without_malloc(|| [rig.allocate(&a, MIB), rig.allocate(&b, MIB)]);
        assert_eq!(back.each_ref().map(|block| block.ptr()), addresses);
        assert_eq!(rig.counters().held_back, 0);
        drop((others, back, a, b));
        rig.finish();
    });
}

#[test]
fn a_graphs_own_memory_is_used_again_within_it() {
    on_each(|rig| {
        let (a, b) = (rig.stream(), rig.stream());
        let mut memory = rig.pool.begin_capture(&a, 4 * MIB).unwrap();
        let kept = rig.without_calls(|| {
            for _ in 0..5 {
                // Noted as used there, and its address known: it is this stream's all the same.
                let buffer = DeviceBuffer::<u8>::on(&a, 3 * MIB as usize).unwrap();
                assert_eq!(buffer.stream_number(), a.number());
                a.record_use(buffer.block().unwrap()).unwrap();
                assert!(!buffer.ptr().is_null());
                let raw = rig.pool.allocate_raw(&a, 100).unwrap();
                rig.pool.record_raw(raw, &a).unwrap();
                rig.pool.free_raw(raw).unwrap();
            }
            assert_eq!(rig.counters().held_back, 0);
            rig.allocate(&a, 3 * MIB)
        });
        memory.end();
        // Another stream counts as ever.
        rig.use_on(&b, &a, &kept);
        drop(kept);
        assert_eq!(rig.counters().held_back, 3 * MIB);
        drop(memory);
        // And from then on it is anybody's.
        let block = rig.without_malloc(|| rig.allocate(&b, 3 * MIB));
        rig.fill(&b, &block);
        assert_eq!(block.stream_number(), b.number());
        drop((block, a, b));
        rig.finish();
    });
}

#[test]
fn a_buffer_of_no_stream_is_held_for_the_graph_that_may_have_its_address() {
    let rig = Rig::new();
    let (a, b) = (rig.stream(), rig.stream());
    let buffer = DeviceBuffer::<u8>::new(&rig.device, MIB as usize).unwrap();
    let address = buffer.ptr();
    let mut memory = rig.pool.begin_capture(&a, 0).unwrap();
    drop(buffer);
    memory.end();
    a.synchronize().unwrap();
    b.synchronize().unwrap();
    let other = rig.pool.allocate_for_any(MIB).unwrap();
    assert_ne!(other.ptr(), address);
    assert_eq!(rig.counters().held_back, MIB);
    drop(memory);
    let back = rig.pool.allocate_for_any(MIB).unwrap();
    assert_eq!(back.ptr(), address);
    drop((other, back, a, b));
    rig.finish();
}

#[test]
fn captures_do_not_nest_and_end_with_their_stream() {
    let rig = Rig::new();
    let a = rig.stream();
    let memory = rig.pool.begin_capture(&a, KIB).unwrap();
    assert!(rig.pool.begin_capture(&a, KIB).is_err());
    let block = rig.allocate(&a, 512);
    // Dropped while it is recorded: then nothing is, and blocks that are live stay so.
    drop(memory);
    rig.fill(&a, &block);
    let other = rig.allocate(&a, MIB);
    let mut memory = rig.pool.begin_capture(&a, KIB).unwrap();
    let in_graph = rig.allocate(&a, 512);
    drop(a);
    assert!(memory.bytes() >= KIB);
    memory.end();
    drop((memory, in_graph, other, block));
    rig.pool.empty_cache().unwrap();
    assert_eq!(rig.counters().reserved, 0);
    rig.finish();
}

#[test]
fn a_graph_whose_stream_is_gone_ends_no_other_ones_recording() {
    let rig = Rig::new();
    let a = rig.stream();
    drop(rig.allocate(&a, MIB));
    let first = rig.pool.begin_capture(&a, MIB).unwrap();
    drop(a);
    // The new stream has the arena of the one that is gone.
    let b = rig.stream();
    let mut second = rig.pool.begin_capture(&b, MIB).unwrap();
    drop(first);
    let block = rig.without_calls(|| rig.allocate(&b, MIB));
    out_of_memory(rig.pool.allocate(&b, MIB));
    second.end();
    drop((block, second, b));
    rig.finish();
}

#[test]
fn other_backends_have_memory_for_graphs_too() {
    for backend in [PoolBackend::Plain, PoolBackend::StreamOrdered] {
        let rig = Rig::with(PoolOptions { backend, ..PoolOptions::default() });
        let a = rig.stream();
        let mut memory = rig.pool.begin_capture(&a, MIB).unwrap();
        let block = rig.without_calls(|| {
            drop(rig.allocate(&a, 512 * KIB));
            rig.allocate(&a, MIB)
        });
        memory.end();
        rig.fill(&a, &block);
        drop(memory);
        rig.fill(&a, &block);
        a.synchronize().unwrap();
        drop(block);
        assert_eq!(rig.device.held_bytes(), 0, "{backend:?}");
        drop(a);
        rig.finish();
    }
}
