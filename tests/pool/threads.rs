//! Many threads on one pool.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use hiplaunch::Stream;
use hiplaunch::driver::emulated::{EmulatedDriver, EmulatorOptions};
use hiplaunch::driver::validation::CallKind;
use hiplaunch::driver::{Driver, StreamOptions, Work};
use hiplaunch::memory::{PoolBackend, PoolBlock, PoolOptions};

use crate::hooked::HookedDriver;
use crate::rig::{KIB, MIB, REFUSED, Rig, check_sums};

/// A block and the stream that it belongs to.
type Handed = (PoolBlock, Arc<Stream>);

fn random(seed: &mut u64, below: u64) -> u64 {
    *seed = seed.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
    (*seed >> 33) % below
}

/// Allocates and uses blocks, and passes them to other threads, which use them in order and record that. Streams are
/// created and destroyed.
fn traffic(rig: &Rig, mailbox: &Mutex<Vec<Handed>>, mut seed: u64) {
    let mut stream = Arc::new(rig.stream());
    let mut live: Vec<PoolBlock> = Vec::new();
    for _ in 0..150 {
        match random(&mut seed, 10) {
            0..=4 => {
                let bytes = [700, 5 * KIB, 100 * KIB, MIB, 3 * MIB][random(&mut seed, 5) as usize];
                if let Ok(block) = rig.pool.allocate(&stream, bytes) {
                    rig.fill(&stream, &block);
                    live.push(block);
                }
            }
            5 => live.clear(),
            6 => {
                if let Some(block) = live.pop() {
                    mailbox.lock().unwrap().push((block, stream.clone()));
                }
            }
            7 => {
                let handed = mailbox.lock().unwrap().pop();
                if let Some((block, owner)) = handed {
                    rig.order(&owner, &stream);
                    stream.record_use(&block);
                    rig.fill(&stream, &block);
                }
            }
            8 => {
                live.clear();
                stream = Arc::new(rig.stream());
            }
            _ => {
                if random(&mut seed, 4) == 0 {
                    rig.pool.trim(random(&mut seed, 8) * MIB).unwrap();
                }
                check_sums_of_streams(rig);
            }
        }
    }
}

/// Checks what holds at every moment, stream by stream.
fn check_sums_of_streams(rig: &Rig) {
    for s in rig.counters().streams {
        assert_eq!(s.reserved, s.in_use + s.held_back + s.cached);
        assert!(s.requested <= s.in_use);
    }
}

#[test]
fn threads_share_a_pool() {
    for cap in [None, Some(12 * MIB)] {
        let rig = Rig::with(PoolOptions { cap, ..PoolOptions::default() });
        let mailbox = Mutex::new(Vec::new());
        std::thread::scope(|scope| {
            for i in 0..4 {
                let (rig, mailbox) = (&rig, &mailbox);
                scope.spawn(move || traffic(rig, mailbox, 77 + i));
            }
        });
        drop(mailbox);
        let c = rig.counters();
        check_sums(&c);
        assert_eq!((c.live_blocks, c.in_use), (0, 0));
        rig.pool.empty_cache().unwrap();
        assert_eq!(rig.counters().reserved, 0);
        rig.finish();
    }
}

#[test]
fn streams_are_created_and_destroyed_while_others_steal() {
    let rig = Rig::new();
    std::thread::scope(|scope| {
        for i in 0..3 {
            let rig = &rig;
            scope.spawn(move || {
                for round in 0..120 {
                    let stream = rig.stream();
                    for bytes in [MIB, (1 + (round + i) % 4) * MIB] {
                        let block = rig.allocate(&stream, bytes);
                        rig.fill(&stream, &block);
                    }
                }
            });
        }
    });
    // Three at a time need no more than this.
    assert!(rig.counters().peak_reserved <= 3 * 8 * MIB, "{:?}", rig.counters());
    rig.finish();
}

/// After the pool read that memory has no stream and before it took it, a new stream may get, use and free it.
#[test]
fn memory_that_gets_a_stream_while_it_is_stolen_is_waited_for() {
    let options = EmulatorOptions::single_threaded();
    let hooked = HookedDriver::new(EmulatedDriver::new(options).unwrap());
    let rig = Rig::over(hooked.clone(), PoolOptions::default());
    let (a, b, c) = (rig.stream(), rig.stream(), rig.stream());
    let (free, held) = (rig.allocate(&a, MIB), rig.allocate(&a, 2 * MIB));
    let address = free.ptr();
    let gate = rig.gate(&b);
    rig.use_on(&b, &a, &held);
    drop((free, held, a));
    // The memory has no stream now. When c looks for such memory, the held-back block's event is queried: then d is
    // created.
    let d = Arc::new(Mutex::new(None));
    hooked.set(Some(Arc::new({
        let (d, device, pool, layer) = (d.clone(), rig.device.clone(), rig.pool.clone(), rig.layer.clone());
        move |call| {
            let mut d = d.lock().unwrap();
            if call == "event_query" && d.is_none() {
                let stream = Stream::new(&device, StreamOptions::default()).unwrap();
                let block = pool.allocate(&stream, MIB).unwrap();
                assert_eq!(block.ptr(), address);
                // SAFETY: a live stream and a live block of that many bytes.
                unsafe {
                    layer.enqueue(
                        device.id(),
                        stream.as_raw(),
                        &Work::FillBytes { dst: address, value: 1, bytes: MIB as usize },
                    )
                }
                .unwrap();
                *d = Some(stream);
            }
        }
    })));
    let block = rig.allocate(&c, MIB);
    hooked.set(None);
    let d = d.lock().unwrap().take();
    assert!(d.is_some());
    rig.fill(&c, &block);
    rig.clean();
    gate.open();
    drop((block, b, c, d));
    rig.finish();
}

#[test]
fn hits_and_frees_go_on_while_another_thread_waits() {
    let rig = Rig::capped(8 * MIB);
    let (a, b) = (rig.stream(), rig.stream());
    drop(rig.allocate(&a, 2 * MIB));
    // Keeps that segment from the driver, which would wait for the gate.
    let kept = rig.allocate(&a, 256 * KIB);
    let held = rig.allocate(&a, 6 * MIB);
    let gate = rig.gate(&b);
    rig.use_on(&b, &a, &held);
    drop(held);
    let done = AtomicU64::new(0);
    std::thread::scope(|scope| {
        let before = rig.layer.counts();
        scope.spawn(|| {
            // Waits for the held-back block, without a lock that a hit or a free needs.
            let block = rig.allocate(&a, 5 * MIB);
            done.fetch_add(1, Ordering::Relaxed);
            rig.fill(&a, &block);
        });
        while rig.layer.counts().since(&before)[CallKind::EventSynchronize] == 0 {
            std::thread::yield_now();
        }
        for _ in 0..100 {
            rig.fill(&a, &rig.allocate(&a, MIB));
        }
        // This free records an event.
        let block = rig.allocate(&a, MIB);
        b.record_use(&block);
        drop((block.clone(), block, rig.pool.snapshot()));
        assert_eq!(done.load(Ordering::Relaxed), 0);
        gate.open();
    });
    drop((kept, a, b));
    rig.finish();
}

/// The number of blocks whose owners race.
const BLOCKS: u64 = 1000;

#[test]
fn the_last_of_several_owners_frees_once() {
    for backend in [PoolBackend::Caching, PoolBackend::StreamOrdered, PoolBackend::Plain] {
        let rig = Rig::with(PoolOptions { backend, ..PoolOptions::default() });
        let (a, b) = (rig.stream(), rig.stream());
        let mut blocks: Vec<_> = (0..BLOCKS).map(|_| rig.allocate(&a, 256)).collect();
        blocks.iter().for_each(|block| b.record_use(block));
        let clones: Vec<_> = blocks.clone();
        assert_eq!(blocks[0].owners(), 2);
        // Both threads drop their owners of one block as nearly at the same moment as possible.
        let dropped = [AtomicU64::new(0), AtomicU64::new(0)];
        std::thread::scope(|scope| {
            for (i, owners) in [std::mem::take(&mut blocks), clones].into_iter().enumerate() {
                let dropped = &dropped;
                scope.spawn(move || {
                    for (n, owner) in owners.into_iter().enumerate() {
                        let mut turns = 0;
                        while dropped[1 - i].load(Ordering::Acquire) < n as u64 {
                            turns += 1;
                            if turns % 10_000 == 0 {
                                std::thread::yield_now()
                            } else {
                                std::hint::spin_loop()
                            }
                        }
                        drop(owner);
                        dropped[i].fetch_add(1, Ordering::Release);
                    }
                });
            }
        });
        let c = rig.counters();
        assert_eq!((c.frees, c.live_blocks, c.in_use), (BLOCKS, 0, 0), "{backend:?}");
        if backend != PoolBackend::Caching {
            assert_eq!(c.reserved, 0, "{backend:?}");
        }
        drop((a, b));
        rig.finish();
    }
}

#[test]
fn failures_under_traffic_lose_nothing() {
    let rig = Rig::capped(12 * MIB);
    let mailbox = Mutex::new(Vec::new());
    // Only calls that the pool alone makes here: the test's own streams, events and fills use the same layer.
    rig.layer.inject_repeating(CallKind::Malloc, 7, REFUSED);
    rig.layer.inject_repeating(CallKind::EventQuery, 5, REFUSED);
    rig.layer.inject_repeating(CallKind::EventSynchronize, 3, REFUSED);
    std::thread::scope(|scope| {
        for i in 0..3 {
            let (rig, mailbox) = (&rig, &mailbox);
            scope.spawn(move || traffic(rig, mailbox, 4242 + i));
        }
    });
    drop(mailbox);
    rig.layer.clear_injections();
    rig.pool.empty_cache().unwrap();
    let c = rig.counters();
    assert_eq!((c.live_blocks, c.held_back, c.reserved), (0, 0, 0), "{c:?}");
    rig.finish();
}
