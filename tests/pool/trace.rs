//! The pool trace: every operation with its stream, in RMM's columns, enough to replay it.

use std::collections::{HashMap, HashSet};

use hiplaunch::memory::{PoolTraceAction, PoolTraceEntry, TRACE_COLUMNS};

use crate::rig::{KIB, MIB, Rig, out_of_memory};

fn actions(trace: &[PoolTraceEntry]) -> Vec<(PoolTraceAction, u64, u64)> {
    trace.iter().map(|entry| (entry.action, entry.bytes, entry.stream)).collect()
}

#[test]
fn each_operation_is_recorded_with_its_stream() {
    let rig = Rig::new();
    let (a, b) = (rig.stream(), rig.stream());
    drop(rig.allocate(&a, 100));
    // Nothing is collected while it is off.
    assert_eq!(rig.pool.take_trace(), (Vec::new(), 0));
    rig.pool.set_tracing(true);
    let (s, t) = (a.number(), b.number());
    let block = rig.allocate(&a, 1_000_000);
    rig.fill(&a, &block);
    drop(block);
    let block = rig.allocate(&b, 900_000);
    let at = block.ptr().0;
    a.record_use(&block);
    drop(block);
    let (trace, dropped) = rig.pool.take_trace();
    let size = 1_000_000u64.next_multiple_of(64 * KIB);
    let expected = [
        (PoolTraceAction::Grow, size, 0),
        (PoolTraceAction::Allocate, 1_000_000, s),
        (PoolTraceAction::Free, 1_000_000, s),
        (PoolTraceAction::Wait, 0, t),
        (PoolTraceAction::Allocate, 900_000, t),
        (PoolTraceAction::Record, 0, s),
        (PoolTraceAction::Free, 900_000, t),
    ];
    assert_eq!((&actions(&trace)[..], dropped), (&expected[..], 0));
    assert!(trace[1..3].iter().chain(&trace[4..]).all(|entry| entry.address == at && entry.event.is_none()));
    assert!(trace[3].event.is_some() && trace.windows(2).all(|pair| pair[0].time <= pair[1].time));
    assert!(trace.iter().all(|entry| entry.thread == trace[0].thread && entry.device == rig.device.id()));
    // Failures, waits of the host, and releases.
    a.synchronize().unwrap();
    rig.pool.empty_cache().unwrap();
    rig.pool.set_cap(Some(MIB));
    out_of_memory(rig.pool.allocate(&a, 8 * MIB));
    let (trace, _) = rig.pool.take_trace();
    assert!(actions(&trace).contains(&(PoolTraceAction::AllocateFailure, 8 * MIB, s)));
    for action in [PoolTraceAction::Release, PoolTraceAction::Synchronize] {
        assert!(trace.iter().any(|entry| entry.action == action), "{action}: {trace:?}");
    }
    rig.pool.set_tracing(false);
    rig.pool.set_cap(None);
    drop(rig.allocate(&a, 100));
    assert_eq!(rig.pool.take_trace(), (Vec::new(), 0));
    drop((a, b));
    rig.finish();
}

#[test]
fn lines_are_csv_and_can_be_replayed() {
    let rig = Rig::new();
    let streams = [rig.stream(), rig.stream()];
    rig.pool.set_tracing(true);
    let mut live = Vec::new();
    for i in 0..300usize {
        let stream = &streams[i % 2];
        if i % 3 == 2 {
            drop(live.swap_remove(i * 7 % live.len()));
        } else {
            live.push(rig.allocate(stream, 1 + (i * i % 5000) as u64 * 97));
        }
    }
    drop(live);
    let (trace, _) = rig.pool.take_trace();
    let mut lines = Vec::new();
    for entry in &trace {
        entry.write_csv(&mut lines).unwrap();
    }
    // A replay reads each allocation with its size and stream, and each free of a live block, on the same stream.
    let other = Rig::new();
    let mapped: HashMap<String, _> =
        streams.iter().map(|s| (format!("{:#x}", s.number()), other.stream())).collect();
    let (mut blocks, mut addresses, mut count) = (HashMap::new(), HashSet::new(), 0);
    for line in String::from_utf8(lines).unwrap().lines() {
        let fields: Vec<_> = line.split(',').collect();
        assert_eq!(fields.len(), TRACE_COLUMNS.split(',').count(), "{line}");
        let (action, pointer, stream) = (fields[2], fields[3], fields[5]);
        let size: u64 = fields[4].parse().unwrap();
        match action {
            "allocate" => {
                let block = other.allocate(&mapped[stream], size);
                assert!(addresses.insert(block.ptr()), "handed out twice");
                assert!(blocks.insert(pointer.to_owned(), (block, stream.to_owned())).is_none(), "{line}");
                count += 1;
            }
            "free" => {
                let (block, of) = blocks.remove(pointer).expect("a live block is freed");
                assert_eq!((block.bytes(), &of[..]), (size, stream));
                addresses.remove(&block.ptr());
            }
            _ => {}
        }
    }
    assert_eq!((count, blocks.len()), (200, 0));
    let (first, second) = (rig.counters(), other.counters());
    assert_eq!((first.hits, first.misses, first.frees), (second.hits, second.misses, second.frees));
    assert_eq!((first.peak_reserved, first.peak_in_use), (second.peak_reserved, second.peak_in_use));
    drop((streams, mapped));
    rig.finish();
    other.finish();
}
