//! Each driver call that the pool makes fails once: the error is returned typed or is compensated, and nothing is lost.

use std::cell::RefCell;

use hiplaunch::Error;
use hiplaunch::Stream;
use hiplaunch::driver::ErrorCode;
use hiplaunch::driver::validation::CallKind;
use hiplaunch::memory::PoolBlock;

use crate::rig::{MIB, REFUSED, Rig, check_sums};

/// Returns the outcome of each request of traffic in which the pool makes every kind of call but a few: growth,
/// recorded uses, held-back blocks, steals, waits, frees.
fn traffic(rig: &Rig, a: &Stream, b: &Stream) -> Vec<hiplaunch::Result<()>> {
    let results = RefCell::new(Vec::new());
    let mut kept: Vec<PoolBlock> = Vec::new();
    let allocate = |stream: &Stream, bytes| match rig.pool.allocate(stream, bytes) {
        Ok(block) => {
            rig.fill(stream, &block);
            results.borrow_mut().push(Ok(()));
            Some(block)
        }
        Err(e) => {
            results.borrow_mut().push(Err(e));
            None
        }
    };
    for round in 0..3 {
        if let Some(block) = allocate(a, MIB) {
            // The test's own call may be the one that fails. Then it doesn't use the block.
            if rig.try_order(a, b).is_ok() {
                b.record_use(&block);
                rig.fill(b, &block);
            }
        }
        kept.extend(allocate(a, 3 * MIB));
        // The size of a's block, whose segment may be free or held back.
        kept.extend(allocate(b, MIB));
        if round == 1 {
            kept.clear();
        }
        drop(allocate(b, 3 * MIB));
        results.borrow_mut().push(rig.pool.trim(4 * MIB).map(drop));
        results.borrow_mut().push(b.synchronize());
        drop(allocate(a, 2 * MIB));
    }
    results.into_inner()
}

#[test]
fn any_driver_call_may_fail_and_the_pool_keeps_working() {
    let calls = [
        CallKind::Malloc,
        CallKind::Free,
        CallKind::EventCreate,
        CallKind::EventRecord,
        CallKind::EventQuery,
        CallKind::EventSynchronize,
        CallKind::StreamWaitEvent,
        CallKind::StreamSynchronize,
    ];
    for call in calls {
        let mut fired = 0;
        for code in [REFUSED, ErrorCode::OUT_OF_MEMORY, ErrorCode::ILLEGAL_STATE] {
            for nth in 1..12 {
                let rig = Rig::new();
                let (a, b) = (rig.stream(), rig.stream());
                rig.pool.set_cap(Some(9 * MIB));
                rig.layer.inject(call, nth, code);
                for result in traffic(&rig, &a, &b) {
                    let error = result.err().and_then(|e| e.code());
                    assert!(
                        [None, Some(code), Some(ErrorCode::OUT_OF_MEMORY)].contains(&error),
                        "{call} {nth} {code:?}: {error:?}"
                    );
                }
                fired += u64::from(rig.layer.pending_injections() == 0);
                rig.layer.clear_injections();
                check_sums(&rig.counters());
                // All memory is freed, and can be allocated again.
                a.synchronize().unwrap();
                b.synchronize().unwrap();
                for _ in 0..2 {
                    rig.pool.empty_cache().unwrap();
                    let c = rig.counters();
                    assert_eq!((c.reserved, c.live_blocks, c.held_back), (0, 0, 0), "{call} {nth}: {c:?}");
                    // The pool counts its own calls, including failed ones, and no others.
                    let counts = rig.layer.counts();
                    let expected = [counts[CallKind::Malloc], counts[CallKind::Free]];
                    assert_eq!([c.calls.mallocs, c.calls.frees], expected, "{call} {nth} {code:?}");
                    let all = [rig.allocate(&a, 4 * MIB), rig.allocate(&b, 5 * MIB)];
                    rig.fill(&a, &all[0]);
                    rig.fill(&b, &all[1]);
                }
                drop((a, b));
                rig.finish();
            }
        }
        assert!(fired > 3, "{call} was made to fail {fired} times only");
    }
}

#[test]
fn without_events_the_stream_itself_is_queried() {
    let rig = Rig::capped(8 * MIB);
    let (a, b) = (rig.stream(), rig.stream());
    for call in [CallKind::EventCreate, CallKind::EventRecord] {
        let block = rig.allocate(&a, 3 * MIB);
        let gate = rig.gate(&b);
        rig.use_on(&b, &a, &block);
        rig.layer.inject_repeating(call, 1, REFUSED);
        let ((), counts) = rig.calls(|| drop(block));
        // An event kept from before needs no creation.
        assert!(counts[call] == 1 || call == CallKind::EventCreate, "{counts}");
        // The block is held back nevertheless, without an event to query.
        assert_eq!(rig.counters().held_back, 3 * MIB);
        let other = rig.allocate(&a, 3 * MIB);
        gate.open();
        b.synchronize().unwrap();
        rig.layer.clear_injections();
        let back = rig.allocate(&a, 3 * MIB);
        rig.fill(&a, &back);
        assert_eq!(rig.counters().held_back, 0);
        drop((other, back));
    }
    // The stream is destroyed while a block waits for it and it can't be queried.
    let block = rig.allocate(&a, 3 * MIB);
    rig.use_on(&b, &a, &block);
    rig.fail(CallKind::EventRecord, REFUSED);
    drop(block);
    rig.layer.inject_repeating(CallKind::StreamQuery, 1, REFUSED);
    drop(b);
    drop(rig.allocate(&a, 6 * MIB));
    rig.layer.clear_injections();
    rig.pool.empty_cache().unwrap();
    assert_eq!((rig.counters().reserved, rig.counters().held_back), (0, 0));
    drop(a);
    rig.finish();
}

#[test]
fn a_free_that_fails_leaves_the_segment_cached() {
    let rig = Rig::new();
    let a = rig.stream();
    drop([rig.allocate(&a, 2 * MIB), rig.allocate(&a, 3 * MIB)]);
    rig.fail(CallKind::Free, REFUSED);
    assert_eq!(rig.pool.empty_cache().unwrap_err().code(), Some(REFUSED));
    let c = rig.counters();
    assert_eq!((c.reserved, c.cached, c.segments), (2 * MIB, 2 * MIB, 1));
    drop(rig.without_calls(|| rig.allocate(&a, 2 * MIB)));
    assert_eq!(rig.pool.empty_cache().unwrap(), 2 * MIB);
    // The same after a wait for the stream.
    drop(rig.allocate(&a, 2 * MIB));
    rig.pool.set_soft_target(Some(0));
    rig.fail(CallKind::Free, REFUSED);
    assert_eq!(a.synchronize().unwrap_err().code(), Some(REFUSED));
    assert_eq!(rig.counters().cached, 2 * MIB);
    rig.fail(CallKind::StreamSynchronize, REFUSED);
    assert_eq!(a.synchronize().unwrap_err().code(), Some(REFUSED));
    assert_eq!(rig.counters().cached, 2 * MIB);
    a.synchronize().unwrap();
    assert_eq!(rig.counters().reserved, 0);
    drop(a);
    rig.finish();
}

#[test]
fn no_other_stream_gets_the_memory_of_a_stream_whose_wait_failed() {
    let rig = Rig::new();
    let a = rig.stream();
    let block = rig.allocate(&a, MIB);
    rig.fill(&a, &block);
    drop(block);
    rig.fail(CallKind::StreamSynchronize, REFUSED);
    drop(a);
    // Neither a stream that gets the arena of a destroyed stream nor one that steals from it may race with its work.
    let (b, c) = (rig.stream(), rig.stream());
    for stream in [&b, &c] {
        let block = rig.allocate(stream, MIB);
        rig.fill(stream, &block);
    }
    drop((b, c));
    rig.finish();
}

#[test]
fn held_back_blocks_of_a_lost_device_are_freed() {
    let rig = Rig::new();
    let (a, b) = (rig.stream(), rig.stream());
    let block = rig.allocate(&a, MIB);
    rig.use_on(&b, &a, &block);
    drop(block);
    drop((a, b));
    // A lost device runs nothing any more.
    rig.layer.inject_repeating(CallKind::EventQuery, 1, ErrorCode::ILLEGAL_ADDRESS);
    rig.layer.inject_repeating(CallKind::EventSynchronize, 1, ErrorCode::ILLEGAL_ADDRESS);
    rig.finish();
}

#[test]
fn a_lost_device_allocates_nothing_and_frees_everything() {
    let rig = Rig::new();
    let (a, b) = (rig.stream(), rig.stream());
    let (live, held) = (rig.allocate(&a, MIB), rig.allocate(&a, 2 * MIB));
    let raw = rig.pool.allocate_raw(&a, 300).unwrap();
    rig.use_on(&b, &a, &held);
    drop(held);
    for call in [CallKind::StreamSynchronize, CallKind::EventQuery, CallKind::EventSynchronize] {
        rig.layer.inject_repeating(call, 1, ErrorCode::ILLEGAL_ADDRESS);
    }
    assert!(matches!(a.synchronize(), Err(Error::DeviceLost(_))));
    // Not even from cached memory.
    assert!(matches!(rig.pool.allocate(&a, 256), Err(Error::DeviceLost(_))));
    assert!(matches!(rig.pool.allocate_for_any(256), Err(Error::DeviceLost(_))));
    rig.pool.free_raw(raw).unwrap();
    drop((live, a, b));
    rig.pool.empty_cache().unwrap();
    assert_eq!((rig.counters().live_blocks, rig.counters().reserved), (0, 0));
    rig.finish();
}
