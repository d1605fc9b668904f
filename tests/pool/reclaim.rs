//! Every reclaim step: it is tried when the steps before it failed, and can serve a request.

use std::sync::{Arc, Mutex};

use hiplaunch::driver::ErrorCode;
use hiplaunch::driver::validation::{CallGroup, CallKind};
use hiplaunch::memory::ReclaimStep;

use crate::rig::{Gate, KIB, MIB, REFUSED, Rig, check_sums, out_of_memory};

/// How often each reclaim step was tried and served the request, in order.
fn reclaim_steps(rig: &Rig) -> [(u64, u64); ReclaimStep::ALL.len()] {
    let c = rig.counters();
    check_sums(&c);
    ReclaimStep::ALL.map(|step| c.reclaim_step(step))
}

const NOT_REACHED: (u64, u64) = (0, 0);
const NO_HELP: (u64, u64) = (1, 0);
const HELPED: (u64, u64) = (1, 1);

/// Opens a gate as soon as the pool waits on the host.
fn open_when_waited_for(rig: &Rig, gate: Gate) -> std::thread::JoinHandle<()> {
    let (layer, before) = (rig.layer.clone(), rig.layer.counts());
    std::thread::spawn(move || {
        while layer.counts().since(&before)[CallKind::EventSynchronize] == 0 {
            std::thread::yield_now();
        }
        gate.open();
    })
}

#[test]
fn reclaim_step_callbacks_frees_memory() {
    let rig = Rig::capped(4 * MIB);
    let a = rig.stream();
    let cache = Arc::new(Mutex::new(vec![rig.allocate(&a, 3 * MIB)]));
    let asked = Arc::new(Mutex::new(Vec::new()));
    let callback = rig.pool.on_low_memory({
        let (cache, asked) = (cache.clone(), asked.clone());
        move |missing| {
            asked.lock().unwrap().push(missing);
            cache.lock().unwrap().drain(..).map(|block| block.bytes()).sum()
        }
    });
    let (block, counts) = rig.calls(|| rig.allocate(&a, 2 * MIB));
    assert_eq!(
        reclaim_steps(&rig),
        [HELPED, NOT_REACHED, NOT_REACHED, NOT_REACHED, NOT_REACHED, NOT_REACHED]
    );
    // From what the callback freed, without a driver call.
    assert_eq!((&asked.lock().unwrap()[..], counts.device_calls()), (&[2 * MIB][..], 0));
    drop(block);
    // While memory is cached, no callback is called.
    let block = rig.allocate(&a, 3 * MIB);
    assert_eq!(asked.lock().unwrap().len(), 1);
    // A callback that panics, and one that claims to have freed what it did not, do no harm.
    let lies = rig.pool.on_low_memory(|_| u64::MAX);
    let panics = rig.pool.on_low_memory(|_| panic!("a callback of a test"));
    out_of_memory(rig.pool.allocate(&a, 2 * MIB));
    assert_eq!(asked.lock().unwrap().len(), 2);
    // A callback that was unregistered is not called any more.
    drop((callback, lies, panics));
    out_of_memory(rig.pool.allocate(&a, 2 * MIB));
    assert_eq!(asked.lock().unwrap().len(), 2);
    drop((block, a));
    rig.finish();
}

#[test]
fn reclaim_step_callbacks_may_trim_and_free_blocks_of_other_streams() {
    let rig = Rig::capped(4 * MIB);
    let (a, b) = (rig.stream(), rig.stream());
    let live = Mutex::new(Some(rig.allocate(&b, 3 * MIB)));
    let callback = rig.pool.on_low_memory({
        let pool = rig.pool.clone();
        move |_| {
            drop(live.lock().unwrap().take());
            // The freed block is the other stream's. Returned to the driver, its memory can serve every stream.
            pool.empty_cache().unwrap()
        }
    });
    let block = rig.allocate(&a, 4 * MIB);
    assert_eq!(reclaim_steps(&rig)[0], HELPED);
    assert_eq!(block.stream_number(), a.number());
    drop((callback, block, a, b));
    rig.finish();
}

#[test]
fn reclaim_step_poll_events_frees_held_back_blocks() {
    let rig = Rig::capped(4 * MIB);
    let (a, b) = (rig.stream(), Arc::new(rig.stream()));
    let block = rig.allocate(&a, 3 * MIB);
    let gate = Mutex::new(Some(rig.gate(&b)));
    rig.use_on(&b, &a, &block);
    drop(block);
    // The other stream finishes between the first and second poll of the held-back block. The callback frees nothing.
    let callback = rig.pool.on_low_memory({
        let b = b.clone();
        move |_| {
            drop(gate.lock().unwrap().take());
            b.synchronize().unwrap();
            0
        }
    });
    let block = rig.allocate(&a, 3 * MIB);
    assert_eq!(reclaim_steps(&rig), [NO_HELP, HELPED, NOT_REACHED, NOT_REACHED, NOT_REACHED, NOT_REACHED]);
    drop((callback, block, a, b));
    rig.finish();
}

#[test]
fn reclaim_step_borrow_uses_a_part_of_another_streams_segment() {
    let rig = Rig::capped(4 * MIB);
    let (a, b) = (rig.stream(), rig.stream());
    let whole = rig.allocate(&a, 4 * MIB);
    let address = whole.ptr();
    drop(whole);
    let kept = rig.allocate(&a, 256 * KIB);
    let used = rig.allocate(&a, 3 * MIB);
    rig.fill(&a, &used);
    drop(used);
    // The segment is not free as a whole, but 3 MiB of it are, after a's fill.
    let (borrowed, counts) = rig.calls(|| rig.allocate(&b, 3 * MIB));
    assert_eq!(reclaim_steps(&rig), [NO_HELP, NO_HELP, HELPED, NOT_REACHED, NOT_REACHED, NOT_REACHED]);
    assert_eq!((counts[CallKind::StreamWaitEvent], counts[CallGroup::Synchronize]), (1, 0));
    assert!(borrowed.ptr() >= address && borrowed.ptr() < address.offset(4 * MIB));
    // It is still a's, and is freed there after b's work.
    assert_eq!((borrowed.stream_number(), rig.counters().steals), (a.number(), 1));
    rig.fill(&b, &borrowed);
    let gate = rig.gate(&b);
    drop(borrowed);
    assert_eq!(rig.counters().held_back, 3 * MIB);
    gate.open();
    b.synchronize().unwrap();
    let again = rig.allocate(&a, 3 * MIB);
    rig.fill(&a, &again);
    drop((kept, again, a, b));
    rig.finish();
}

#[test]
fn reclaim_step_release_cached_returns_segments_to_the_driver() {
    let rig = Rig::capped(6 * MIB);
    let (a, b) = (rig.stream(), rig.stream());
    let blocks = [rig.allocate(&a, 3 * MIB), rig.allocate(&a, 3 * MIB)];
    drop(blocks);
    let (block, counts) = rig.calls(|| rig.allocate(&b, 5 * MIB));
    assert_eq!(reclaim_steps(&rig), [NO_HELP, NO_HELP, NO_HELP, HELPED, NOT_REACHED, NOT_REACHED]);
    assert_eq!((counts[CallKind::Free], counts[CallKind::Malloc], counts[CallGroup::Synchronize]), (2, 1, 0));
    assert_eq!(rig.counters().reserved, 5 * MIB);
    drop((block, a, b));
    rig.finish();
}

#[test]
fn reclaim_step_wait_for_events_waits_for_streams_with_cached_segments() {
    let rig = Rig::capped(6 * MIB);
    let (a, b) = (rig.stream(), rig.stream());
    let blocks = [rig.allocate(&a, 3 * MIB), rig.allocate(&a, 3 * MIB)];
    let gate = rig.gate(&a);
    blocks.iter().for_each(|block| rig.fill(&a, block));
    drop(blocks);
    // `ReleaseCached` finds the stream busy, and leaves its memory alone.
    let opener = open_when_waited_for(&rig, gate);
    let block = rig.allocate(&b, 5 * MIB);
    opener.join().unwrap();
    assert_eq!(reclaim_steps(&rig), [NO_HELP, NO_HELP, NO_HELP, NO_HELP, HELPED, NOT_REACHED]);
    rig.fill(&b, &block);
    drop((block, a, b));
    rig.finish();
}

#[test]
fn reclaim_step_wait_for_events_waits_for_held_back_blocks() {
    let rig = Rig::capped(4 * MIB);
    let (a, b) = (rig.stream(), rig.stream());
    let block = rig.allocate(&a, 3 * MIB);
    let gate = rig.gate(&b);
    rig.use_on(&b, &a, &block);
    drop(block);
    let opener = open_when_waited_for(&rig, gate);
    let (block, counts) = rig.calls(|| rig.allocate(&a, 2 * MIB));
    opener.join().unwrap();
    assert_eq!(reclaim_steps(&rig), [NO_HELP, NO_HELP, NO_HELP, NO_HELP, HELPED, NOT_REACHED]);
    // Nothing but that wait: the block's memory served the request.
    assert_eq!((counts[CallGroup::Synchronize], counts[CallKind::Malloc], counts[CallKind::Free]), (1, 0, 0));
    rig.fill(&a, &block);
    drop((block, a, b));
    rig.finish();
}

#[test]
fn reclaim_step_out_of_memory_says_where_the_memory_is() {
    let rig = Rig::capped(8 * MIB);
    let (a, b) = (rig.stream(), rig.stream());
    let live = rig.allocate(&a, 3 * MIB);
    let held = rig.allocate(&a, MIB);
    let split = rig.allocate(&a, 2 * MIB);
    drop(split);
    let split = rig.allocate(&a, 512 * KIB);
    // The stream that uses the freed block has not finished, and the wait for it fails.
    let gate = rig.gate(&b);
    rig.use_on(&b, &a, &held);
    drop(held);
    rig.layer.inject_repeating(CallKind::EventSynchronize, 1, REFUSED);
    let before = rig.counters();
    assert_eq!((before.in_use, before.held_back), (3 * MIB + 512 * KIB, MIB));
    let e = out_of_memory(rig.pool.allocate(&b, 5 * MIB));
    assert_eq!(reclaim_steps(&rig), [NO_HELP; 6]);
    assert_eq!((e.kind, e.device, e.requested), ("device", rig.device.id(), 5 * MIB));
    assert_eq!((e.in_use, e.held_back, e.cached), (before.in_use, before.held_back, before.cached));
    assert_eq!(e.held, before.reserved);
    assert_eq!(e.held, e.in_use + e.held_back + e.cached);
    let info = rig.mem_info();
    assert_eq!((e.free, e.total), (Some(info.free), Some(info.total)));
    let text = e.to_string();
    for part in ["requested 5242880 bytes", "held back 1048576", "cap of 8388608", "in use 3670016"] {
        assert!(text.contains(part), "{part}: {text}");
    }
    // The failed request changed nothing.
    let after = rig.counters();
    assert_eq!(
        (after.in_use, after.held_back, after.reserved),
        (before.in_use, before.held_back, before.reserved)
    );
    assert_eq!((after.misses, after.live_blocks), (before.misses + 1, 2));
    rig.layer.clear_injections();
    gate.open();
    drop((live, split, a, b));
    rig.finish();
}

#[test]
fn the_drivers_own_lack_of_memory_starts_the_reclaim_steps() {
    let rig = Rig::new();
    let (a, b) = (rig.stream(), rig.stream());
    drop(rig.allocate(&a, 3 * MIB));
    rig.fail(CallKind::Malloc, ErrorCode::OUT_OF_MEMORY);
    let block = rig.allocate(&b, 4 * MIB);
    assert_eq!(reclaim_steps(&rig), [NO_HELP, NO_HELP, NO_HELP, HELPED, NOT_REACHED, NOT_REACHED]);
    assert_eq!(rig.layer.pending_injections(), 0);
    // A segment that is larger than the request is tried again as small as possible, before anything else.
    let blocks: Vec<_> = (0..40).map(|_| rig.allocate(&b, MIB)).collect();
    rig.fail(CallKind::Malloc, ErrorCode::OUT_OF_MEMORY);
    let more: Vec<_> = (0..40).map(|_| rig.allocate(&b, MIB)).collect();
    assert_eq!(rig.layer.pending_injections(), 0);
    drop((block, blocks, more));
    // If it lasts: the typed error, with the driver's detail and none of a cap.
    rig.pool.empty_cache().unwrap();
    rig.layer.inject_repeating(CallKind::Malloc, 1, ErrorCode::OUT_OF_MEMORY);
    let e = out_of_memory(rig.pool.allocate(&a, MIB));
    assert_eq!((e.requested, e.held), (MIB, 0));
    assert!(e.why.is_some_and(|why| why.contains("injected")));
    rig.layer.clear_injections();
    drop(rig.allocate(&a, MIB));
    // Another failure is no lack of memory: no reclaim step is tried, and the error is returned unchanged.
    let reached = reclaim_steps(&rig);
    rig.fail(CallKind::Malloc, REFUSED);
    let e = rig.pool.allocate(&a, 2 * MIB).unwrap_err();
    assert_eq!((e.code(), reclaim_steps(&rig)), (Some(REFUSED), reached));
    // More than any device has.
    let e = out_of_memory(rig.pool.allocate(&a, u64::MAX));
    assert!(e.why.is_some());
    out_of_memory(rig.pool.allocate(&a, 1 << 39));
    drop((a, b));
    rig.finish();
}
