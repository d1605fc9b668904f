//! Limits and counters: cap, soft target, trimming, sums, peaks, fragmentation.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use hiplaunch::driver::emulated::{EmulatedDriver, EmulatorOptions};
use hiplaunch::driver::validation::{CallGroup, CallKind};
use hiplaunch::memory::{PoolBlockState, PoolOptions};

use crate::hooked::HookedDriver;
use crate::rig::{KIB, MIB, Rig, check_sums, on_each, out_of_memory};

#[test]
fn the_cap_is_exact_and_may_change() {
    on_each(|rig| {
        rig.pool.set_cap(Some(4 * MIB));
        let (a, b) = (rig.stream(), rig.stream());
        // Exactly 4 MiB, on two streams, although larger segments would be taken without the cap.
        let mut blocks: Vec<_> = (0..2).map(|_| rig.allocate(&a, MIB)).collect();
        blocks.extend((0..2).map(|_| rig.allocate(&b, MIB)));
        let c = rig.counters();
        assert_eq!((c.reserved, c.peak_reserved), (4 * MIB, 4 * MIB));
        out_of_memory(rig.pool.allocate(&a, 1));
        // The cap is raised, and then lowered below what is held, which stays until it is trimmed.
        rig.pool.set_cap(Some(5 * MIB));
        blocks.push(rig.allocate(&a, MIB));
        rig.pool.set_cap(Some(MIB));
        assert_eq!(rig.counters().reserved, 5 * MIB);
        out_of_memory(rig.pool.allocate(&a, MIB));
        blocks.clear();
        drop(rig.without_calls(|| rig.allocate(&a, MIB)));
        rig.pool.trim(MIB).unwrap();
        assert_eq!(rig.counters().reserved, MIB);
        rig.pool.set_cap(None);
        drop(rig.allocate(&a, 64 * MIB));
        drop((a, b));
        rig.finish();
    });
}

#[test]
fn threads_together_stay_within_the_cap() {
    let rig = Rig::capped(8 * MIB);
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                let stream = rig.stream();
                for round in 0..40 {
                    let blocks: Vec<_> = (0..4)
                        .filter_map(|i| rig.pool.allocate(&stream, (1 + (round + i) % 3) * MIB).ok())
                        .collect();
                    blocks.iter().for_each(|block| rig.fill(&stream, block));
                    assert!(rig.device.held_bytes() <= 8 * MIB);
                }
            });
        }
    });
    let c = rig.counters();
    assert!(c.peak_reserved <= 8 * MIB);
    assert_eq!((c.hits + c.misses >= 4 * 40 * 4, c.live_blocks), (true, 0));
    rig.finish();
}

#[test]
fn above_the_soft_target_memory_is_released_when_a_stream_is_synchronized() {
    let rig = Rig::with(PoolOptions { soft_target: Some(2 * MIB), ..PoolOptions::default() });
    let (a, b) = (rig.stream(), rig.stream());
    let live = rig.allocate(&a, MIB);
    let blocks = [rig.allocate(&a, 2 * MIB), rig.allocate(&a, 3 * MIB)];
    blocks.iter().for_each(|block| rig.fill(&a, block));
    drop(blocks);
    assert_eq!(rig.counters().reserved, 6 * MIB);
    // A wait for another stream releases nothing of this one.
    b.synchronize().unwrap();
    assert_eq!(rig.counters().reserved, 6 * MIB);
    let ((), counts) = rig.calls(|| a.synchronize().unwrap());
    // One wait, and then the frees.
    assert_eq!((counts[CallGroup::Synchronize], counts[CallKind::Free]), (1, 2));
    assert_eq!(rig.counters().reserved, MIB);
    // Below the target everything stays.
    drop(rig.allocate(&a, MIB / 2));
    a.synchronize().unwrap();
    assert_eq!(rig.counters().reserved, MIB + MIB / 2);
    // Memory is also released before more is taken.
    drop(rig.allocate(&a, MIB));
    let large = rig.allocate(&a, 2 * MIB);
    assert_eq!(rig.counters().reserved, 3 * MIB, "the cached {} went first", MIB / 2 + MIB);
    // The target doesn't limit live memory. Without it, everything is kept.
    rig.pool.set_soft_target(None);
    drop((large, live));
    a.synchronize().unwrap();
    assert_eq!(rig.counters().reserved, 3 * MIB);
    drop((a, b));
    rig.finish();
}

#[test]
fn trimming_releases_whole_free_segments_after_their_work() {
    on_each(|rig| {
        let (a, b) = (rig.stream(), rig.stream());
        let live = rig.allocate(&a, MIB);
        let blocks = [rig.allocate(&a, 2 * MIB), rig.allocate(&a, 3 * MIB), rig.allocate(&b, 4 * MIB)];
        rig.fill(&a, &blocks[0]);
        rig.fill(&a, &blocks[1]);
        rig.fill(&b, &blocks[2]);
        drop(blocks);
        assert_eq!(rig.counters().reserved, 10 * MIB);
        assert_eq!(rig.pool.trim(10 * MIB).unwrap(), 0);
        // As few bytes as possible are released. The layer checks that the work was waited for.
        let given = rig.pool.trim(8 * MIB).unwrap();
        assert_eq!((given, rig.counters().reserved), (2 * MIB, 8 * MIB));
        assert_eq!(rig.pool.empty_cache().unwrap(), 7 * MIB);
        assert_eq!((rig.counters().reserved, rig.counters().in_use), (MIB, MIB));
        assert_eq!(rig.pool.empty_cache().unwrap(), 0);
        rig.fill(&a, &live);
        drop((live, a, b));
        rig.finish();
    });
}

/// A driver's free need not wait for the device, though those of HIP and the emulator do.
#[test]
fn no_segment_is_released_while_its_stream_has_work() {
    let options = EmulatorOptions::single_threaded();
    let hooked = HookedDriver::new(EmulatedDriver::new(options).unwrap());
    let rig = Rig::over(hooked.clone(), PoolOptions::default());
    let (a, b) = (Arc::new(rig.stream()), rig.stream());
    let idle = Arc::new(Mutex::new(Vec::new()));
    hooked.set(Some(Arc::new({
        let (a, idle) = (a.clone(), idle.clone());
        move |call| {
            if call == "free" {
                idle.lock().unwrap().push(a.is_idle().unwrap());
            }
        }
    })));
    let give: [(&str, &dyn Fn()); 4] = [
        ("trim", &|| assert_eq!(rig.pool.trim(0).unwrap(), 3 * MIB)),
        ("soft target", &|| {
            rig.pool.set_soft_target(Some(0));
            a.synchronize().unwrap();
            rig.pool.set_soft_target(None);
        }),
        ("reclaim steps", &|| {
            rig.pool.set_cap(Some(4 * MIB));
            drop(rig.allocate(&b, 4 * MIB));
            rig.pool.set_cap(None);
        }),
        ("growth", &|| {
            rig.pool.set_soft_target(Some(4 * MIB));
            drop(rig.allocate(&b, 4 * MIB));
            rig.pool.set_soft_target(None);
        }),
    ];
    for (what, give) in give {
        let block = rig.allocate(&a, 3 * MIB);
        let gate = rig.gate(&a);
        rig.fill(&a, &block);
        drop(block);
        let opener = std::thread::spawn({
            let (layer, before) = (rig.layer.clone(), rig.layer.counts());
            // Opens the gate soon after a wait began, or after a free without a wait was seen.
            move || {
                while layer.counts().since(&before)[CallGroup::Synchronize] == 0
                    && layer.counts().since(&before)[CallKind::Free] == 0
                {
                    std::thread::yield_now();
                }
                std::thread::sleep(Duration::from_millis(5));
                gate.open();
            }
        });
        give();
        opener.join().unwrap();
        let seen = std::mem::take(&mut *idle.lock().unwrap());
        assert!(!seen.is_empty() && seen.iter().all(|idle| *idle), "{what}: {seen:?}");
        rig.pool.empty_cache().unwrap();
        idle.lock().unwrap().clear();
    }
    hooked.set(None);
    drop((a, b));
    rig.finish();
}

#[test]
fn counters_add_up_and_peaks_stay_until_reset() {
    on_each(|rig| {
        let (a, b) = (rig.stream(), rig.stream());
        let mut live = Vec::new();
        for i in 0..200u64 {
            let stream = if i % 3 == 0 { &b } else { &a };
            live.push(rig.allocate(stream, 1 + i * i * 37 % (300 * KIB)));
            if i % 5 == 0 {
                let gone = live.swap_remove((i as usize * 7) % live.len());
                let other = if i % 10 == 0 { &a } else { &b };
                other.record_use(&gone);
            }
            check_sums(&rig.counters());
        }
        let c = rig.counters();
        assert_eq!((c.hits + c.misses, c.frees, c.live_blocks), (200, 40, 160));
        let requested: u64 = live.iter().map(|block| block.bytes()).sum();
        let capacity: u64 = live.iter().map(|block| block.capacity()).sum();
        assert_eq!((c.requested, c.in_use), (requested, capacity));
        // The classes are in the order of sizes, and none is without requests.
        for class in &c.classes {
            assert!(class.up_to > 0 && class.hits + class.misses > 0 && class.steals <= class.misses);
        }
        assert!(c.classes.windows(2).all(|pair| pair[0].up_to < pair[1].up_to));
        // The snapshot agrees.
        let snapshot = rig.pool.snapshot();
        let bytes = |state| {
            let blocks = snapshot.segments.iter().flat_map(|s| &s.blocks);
            blocks.filter(|block| block.state == state).map(|block| block.bytes).sum::<u64>()
        };
        assert_eq!((bytes(PoolBlockState::InUse), bytes(PoolBlockState::HeldBack)), (c.in_use, c.held_back));
        assert_eq!(bytes(PoolBlockState::Cached) + bytes(PoolBlockState::Free), c.cached);
        for segment in &snapshot.segments {
            // Where the driver asks for it, there are as many addresses between blocks as the first has bytes.
            let gaps = 1 + u64::from(rig.separates_blocks());
            let mut at = segment.address;
            for block in &segment.blocks {
                assert_eq!(block.address, at);
                at += gaps * block.bytes;
            }
            assert_eq!(at, segment.address + gaps * segment.bytes);
        }
        assert_eq!(snapshot.segments.len() as u64, c.segments);
        let peak = c.peak_reserved;
        live.clear();
        a.synchronize().unwrap();
        b.synchronize().unwrap();
        rig.pool.empty_cache().unwrap();
        let c = rig.counters();
        assert_eq!(
            (c.requested, c.in_use, c.held_back, c.cached, c.reserved, c.segments),
            (0, 0, 0, 0, 0, 0)
        );
        assert!(c.peak_reserved == peak && c.peak_in_use > 0 && c.peak_requested > 0);
        rig.pool.reset_peaks();
        let c = rig.counters();
        assert_eq!((c.peak_reserved, c.peak_in_use, c.peak_requested), (0, 0, 0));
        assert_eq!((c.hits + c.misses, c.frees), (200, 200));
        drop((a, b));
        rig.finish();
    });
}

#[test]
fn failed_requests_count_as_misses() {
    let rig = Rig::capped(MIB);
    let a = rig.stream();
    let live = rig.allocate(&a, MIB);
    for _ in 0..3 {
        out_of_memory(rig.pool.allocate(&a, MIB));
    }
    let c = rig.counters();
    assert_eq!((c.hits, c.misses, c.frees, c.live_blocks), (0, 4, 0, 1));
    drop((live, a));
    rig.finish();
}

#[test]
fn fragmentation_is_what_no_request_can_have_in_one_piece() {
    let rig = Rig::new();
    let a = rig.stream();
    assert_eq!(rig.counters().fragmentation(), 0.0);
    drop(rig.allocate(&a, 8 * MIB));
    assert_eq!(rig.counters().fragmentation(), 0.0);
    let blocks: Vec<_> = (0..8).map(|_| rig.without_calls(|| rig.allocate(&a, MIB))).collect();
    let kept: Vec<_> =
        blocks.into_iter().enumerate().filter(|(i, _)| i % 2 == 0).map(|(_, block)| block).collect();
    // 4 MiB are free, in blocks of 1 MiB.
    let c = rig.counters();
    assert_eq!((c.cached, c.largest_free, c.fragmentation()), (4 * MIB, MIB, 0.75));
    drop(kept);
    // All are joined again.
    assert_eq!(rig.counters().fragmentation(), 0.0);
    assert_eq!(rig.counters().largest_free, 8 * MIB);
    drop(a);
    rig.finish();
}

#[test]
fn steady_traffic_reserves_little_more_than_it_asks_for() {
    let rig = Rig::new();
    let a = rig.stream();
    let mut seed = 1u64;
    let mut random = move |below: u64| {
        seed = seed.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (seed >> 33) % below
    };
    let mut live = Vec::new();
    for _ in 0..20_000 {
        if live.len() > 200 || (!live.is_empty() && random(2) == 0) {
            live.swap_remove(random(live.len() as u64) as usize);
        } else {
            live.push(rig.allocate(&a, 1 + random(MIB)));
        }
    }
    let c = rig.counters();
    let over = c.peak_reserved as f64 / c.peak_requested as f64;
    assert!(
        over < 1.35,
        "peak reserved {} over peak requested {}: {over}",
        c.peak_reserved,
        c.peak_requested
    );
    // With few driver calls.
    assert!(c.calls.total() < 200 && c.hits > 50 * c.misses, "{c:?}");
    drop((live, a));
    rig.finish();
}
