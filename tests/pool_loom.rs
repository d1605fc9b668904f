//! The concurrent parts of the pool under every interleaving: no block is allocated twice, none before other streams
//! have finished with it, and none is lost.

#![allow(dead_code, reason = "the library's files, of which each model needs a part")]

/// The lock that the pool's files use: loom's here, std's in the library.
mod sync {
    pub(crate) use loom::sync::{Mutex, MutexGuard};
    pub(crate) use std::sync::PoisonError;
}

#[path = "../src/pool/arena.rs"]
mod arena;
#[path = "../src/pool/bins.rs"]
mod bins;
#[path = "../src/pool/block_records.rs"]
mod block_records;
#[path = "../src/pool/heap.rs"]
mod heap;
#[path = "../src/pool/stats.rs"]
mod stats;

use arena::{Arena, Fences, Recorded, StealBack};
use heap::{SegmentKind, granules_of};
use loom::sync::Arc;
use loom::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use loom::thread;

/// A stream whose work has finished once `done` is true.
struct Stream {
    done: AtomicBool,
    recycled: AtomicU64,
}

impl Stream {
    fn new() -> Arc<Stream> {
        Arc::new(Stream { done: AtomicBool::new(false), recycled: AtomicU64::new(0) })
    }
}

struct Fence;

impl Fences for Stream {
    type Stream = u64;
    type Fence = Fence;

    fn record(&self, _: &u64) -> Recorded<Fence> {
        Recorded::Fence(Fence)
    }

    fn reached(&self, _: &Fence) -> bool {
        self.done.load(Ordering::Acquire)
    }

    fn wait(&self, _: &Fence) -> bool {
        while !self.done.load(Ordering::Acquire) {
            thread::yield_now();
        }
        true
    }

    fn recycle(&self, _: Fence) {
        self.recycled.fetch_add(1, Ordering::Relaxed);
    }
}

const BLOCK: u64 = 256 << 10;

/// Returns an arena with one pool segment for `blocks` blocks.
fn arena(blocks: u64) -> Arc<Arena<Stream>> {
    let arena = Arena::new();
    let granules = granules_of(BLOCK * blocks).unwrap();
    assert_eq!(arena.add_segment(0x10_0000, granules, SegmentKind::Large, None), None);
    Arc::new(arena)
}

fn take(arena: &Arena<Stream>) -> Option<arena::AllocatedBlock> {
    arena.allocate(BLOCK, granules_of(BLOCK).unwrap())
}

fn in_use(arena: &Arena<Stream>) -> (u64, u64) {
    arena.with(|heap, _| {
        heap.check();
        (heap.bytes.in_use, heap.bytes.held_back)
    })
}

#[test]
fn a_block_has_one_owner_at_a_time() {
    loom::model(|| {
        let (arena, stream, owned) = (arena(1), Stream::new(), Arc::new(AtomicBool::new(false)));
        let user = |arena: Arc<Arena<Stream>>, stream: Arc<Stream>, owned: Arc<AtomicBool>| {
            if let Some(taken) = take(&arena) {
                assert!(!owned.swap(true, Ordering::Relaxed), "two owners");
                owned.store(false, Ordering::Relaxed);
                arena.free(&stream, taken.record, || {});
            }
        };
        let other = {
            let (arena, stream, owned) = (arena.clone(), stream.clone(), owned.clone());
            thread::spawn(move || user(arena, stream, owned))
        };
        user(arena.clone(), stream, owned);
        other.join().unwrap();
        assert_eq!(in_use(&arena), (0, 0));
        assert!(take(&arena).is_some(), "nothing is lost");
    });
}

#[test]
fn the_last_of_two_owners_frees_once() {
    loom::model(|| {
        let (arena, stream, freed) = (arena(1), Stream::new(), Arc::new(AtomicU64::new(0)));
        let taken = take(&arena).unwrap();
        arena.share(taken.record);
        let other = {
            let (arena, stream, freed) = (arena.clone(), stream.clone(), freed.clone());
            thread::spawn(move || {
                arena.free(&stream, taken.record, || {
                    freed.fetch_add(1, Ordering::Relaxed);
                });
            })
        };
        arena.free(&stream, taken.record, || {
            freed.fetch_add(1, Ordering::Relaxed);
        });
        other.join().unwrap();
        assert_eq!((freed.load(Ordering::Relaxed), in_use(&arena)), (1, (0, 0)));
    });
}

#[test]
fn a_block_with_a_recorded_use_is_not_allocated_before_its_fence() {
    loom::model(|| {
        let (arena, stream) = (arena(1), Stream::new());
        let taken = take(&arena).unwrap();
        arena.record_use(taken.record, 7);
        let freeing = {
            let (arena, stream) = (arena.clone(), stream.clone());
            thread::spawn(move || arena.free(&stream, taken.record, || {}))
        };
        let device = {
            let stream = stream.clone();
            thread::spawn(move || stream.done.store(true, Ordering::Release))
        };
        arena.poll(&stream, false);
        if take(&arena).is_some() {
            assert!(stream.done.load(Ordering::Acquire), "the other stream still uses it");
            assert_eq!(in_use(&arena), (BLOCK, 0));
        }
        freeing.join().unwrap();
        device.join().unwrap();
    });
}

#[test]
fn two_threads_that_poll_free_a_held_back_block_once() {
    loom::model(|| {
        let (arena, stream) = (arena(1), Stream::new());
        let taken = take(&arena).unwrap();
        arena.record_use(taken.record, 7);
        arena.record_use(taken.record, 7);
        arena.record_use(taken.record, 8);
        arena.free(&stream, taken.record, || {});
        assert_eq!(in_use(&arena), (0, BLOCK));
        let other = {
            let (arena, stream) = (arena.clone(), stream.clone());
            thread::spawn(move || arena.poll(&stream, false))
        };
        stream.done.store(true, Ordering::Release);
        let here = arena.poll(&stream, true);
        assert_eq!(here + other.join().unwrap(), 1);
        assert_eq!(in_use(&arena), (0, 0));
        assert_eq!(stream.recycled.load(Ordering::Relaxed), 2, "one fence for each stream");
        assert!(take(&arena).is_some());
    });
}

#[test]
fn a_segment_that_is_stolen_belongs_to_one_arena() {
    loom::model(|| {
        let (from, to, stream) = (arena(1), Arc::new(Arena::new()), Stream::new());
        let granules = granules_of(BLOCK).unwrap();
        let owner = {
            let (from, stream) = (from.clone(), stream.clone());
            thread::spawn(move || {
                let taken = take(&from);
                if let Some(taken) = taken {
                    from.free(&stream, taken.record, || {});
                }
                taken.is_some()
            })
        };
        let moved = from.release_free_segment(granules, SegmentKind::Large);
        if let Some(s) = moved {
            let taken = to.add_segment(s.address, s.granules, s.kind, Some((BLOCK, granules)));
            assert_eq!(taken.map(|t| t.address), Some(0x10_0000));
        }
        let used = owner.join().unwrap();
        assert!(used || moved.is_some(), "one of them had it");
        let reserved = |arena: &Arena<Stream>| arena.with(|heap, _| heap.bytes.reserved);
        assert_eq!(reserved(&from) + reserved(&to), BLOCK);
        assert_eq!(from.steal_back(BLOCK) != StealBack::NotNeeded, moved.is_some());
        in_use(&from);
        in_use(&to);
    });
}

#[test]
fn a_borrowed_block_is_free_again_after_a_fence() {
    loom::model(|| {
        let (arena, stream) = (arena(2), Stream::new());
        let granules = granules_of(BLOCK).unwrap();
        let thief = {
            let (arena, stream) = (arena.clone(), stream.clone());
            thread::spawn(move || {
                let lent = arena.lend(BLOCK, granules, 9).unwrap();
                arena.free(&stream, lent.record, || {});
                lent.address
            })
        };
        let own = take(&arena).unwrap();
        let lent = thief.join().unwrap();
        assert_ne!(own.address, lent);
        assert_eq!(in_use(&arena), (BLOCK, BLOCK), "held back for the stream that borrowed it");
        assert!(take(&arena).is_none());
        stream.done.store(true, Ordering::Release);
        assert_eq!(arena.poll(&stream, false), 1);
        assert_eq!(take(&arena).map(|t| t.address), Some(lent));
    });
}
