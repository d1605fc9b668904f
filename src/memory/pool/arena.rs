//! One stream's heap behind its lock, the marks of other streams on its blocks, and the blocks held back for them.
//!
//! ```text
//!            allocate                 free, no marks
//!   heap ───────────────▶ live ─────────────────────────────▶ heap
//!    ▲                     │ free, marked by other streams
//!    │ every fence reached ▼
//!    └────────────────── held ◀── a fence is recorded on each of those streams, with no lock
//! ```
//!
//! Knows streams and fences only through [`Fences`], so that its steps can be explored with all their interleavings.
//! No method calls [`Fences`] under the heap's lock.

use std::collections::HashMap;

use super::heap::{Heap, PoolSegment, SegmentKind};
use super::stats::Counters;
use super::sync::{Mutex, MutexGuard, PoisonError};

/// What recording a fence gave.
pub(crate) enum Recorded<F> {
    /// Nothing that was enqueued there can still run.
    Nothing,
    /// Reached once everything enqueued there so far has run.
    Fence(F),
}

/// Streams, and fences recorded on them.
pub(crate) trait Fences {
    /// A stream; may be gone.
    type Stream: PartialEq + Clone;
    /// A place in a stream's order.
    type Fence;

    /// Records a fence.
    fn record(&self, stream: &Self::Stream) -> Recorded<Self::Fence>;
    /// Whether it has been reached; never waits.
    fn reached(&self, fence: &Self::Fence) -> bool;
    /// Waits for it; `false` when that failed.
    fn wait(&self, fence: &Self::Fence) -> bool;
    /// Lets go of it.
    fn recycle(&self, fence: Self::Fence);
}

/// A block that streams other than its own may still use.
struct HeldBlock<F> {
    node: u32,
    fences: Vec<F>,
}

struct Inner<S: Fences> {
    heap: Heap,
    counters: Counters,
    /// Other streams that use a live block.
    marks: HashMap<u32, Vec<S::Stream>>,
    /// Held blocks that nobody has polled yet.
    incoming: Vec<HeldBlock<S::Fence>>,
    /// Bytes that other streams took from here and that were not missed yet.
    lost: u64,
    /// Hits by the last time that they were missed, and how often in a row that was soon after the time before.
    missed_at: u64,
    missed_soon: u32,
}

/// A block that was taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct AllocatedBlock {
    pub(crate) node: u32,
    /// Its size in granules.
    pub(crate) units: u32,
    pub(crate) address: u64,
}

/// Whether a stream misses what others took from it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum StealBack {
    NotNeeded,
    /// Taking it back may be right.
    Allowed,
    /// Taking it back again would only begin a game without end.
    TooOften,
}

/// Fewer hits than this between two regrets are few, and so many times in a row are often.
const SOON: u64 = 2;
const OFTEN: u32 = 8;

/// See the [module](self).
pub(crate) struct Arena<S: Fences> {
    inner: Mutex<Inner<S>>,
    /// Held blocks; locked while their fences are asked, which no allocation that hits and no free waits for.
    held: Mutex<Vec<HeldBlock<S::Fence>>>,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl AllocatedBlock {
    #[inline]
    fn of(heap: &Heap, (node, address): (u32, u64)) -> AllocatedBlock {
        AllocatedBlock { node, units: heap.node(node).units, address }
    }
}

impl<S: Fences> Arena<S> {
    pub(crate) fn new() -> Arena<S> {
        Arena {
            inner: Mutex::new(Inner {
                heap: Heap::new(),
                counters: Counters::default(),
                marks: HashMap::new(),
                incoming: Vec::new(),
                lost: 0,
                missed_at: 0,
                missed_soon: 0,
            }),
            held: Mutex::new(Vec::new()),
        }
    }

    /// A block from what is here: a hit.
    #[inline]
    pub(crate) fn allocate(&self, bytes: u64, units: u32) -> Option<AllocatedBlock> {
        let mut inner = lock(&self.inner);
        let found = inner.heap.allocate(bytes, units)?;
        inner.counters.hit(units);
        Some(AllocatedBlock::of(&inner.heap, found))
    }

    /// As [`allocate`](Arena::allocate), not counted as a hit.
    pub(crate) fn allocate_again(&self, bytes: u64, units: u32) -> Option<AllocatedBlock> {
        let heap = &mut lock(&self.inner).heap;
        let found = heap.allocate(bytes, units)?;
        Some(AllocatedBlock::of(heap, found))
    }

    /// As [`allocate_again`](Arena::allocate_again), also from where the block had better not be.
    pub(crate) fn allocate_anywhere(&self, bytes: u64, units: u32) -> Option<AllocatedBlock> {
        let heap = &mut lock(&self.inner).heap;
        let found = heap.allocate_anywhere(bytes, units)?;
        Some(AllocatedBlock::of(heap, found))
    }

    /// A block for another stream, which makes its work wait for this arena's stream; marked, so that its free does the
    /// opposite.
    pub(crate) fn lend(&self, bytes: u64, units: u32, to: S::Stream) -> Option<AllocatedBlock> {
        let mut inner = lock(&self.inner);
        let (node, address) = inner.heap.allocate_anywhere(bytes, units)?;
        *inner.heap.marked(node) = true;
        inner.marks.insert(node, vec![to]);
        Some(AllocatedBlock::of(&inner.heap, (node, address)))
    }

    /// Notes that `stream`, another than the arena's own, uses a live block.
    pub(crate) fn mark(&self, node: u32, stream: S::Stream) {
        let mut inner = lock(&self.inner);
        *inner.heap.marked(node) = true;
        let marks = inner.marks.entry(node).or_default();
        if !marks.contains(&stream) {
            marks.push(stream);
        }
    }

    /// One more owner of a live block.
    pub(crate) fn share(&self, node: u32) {
        lock(&self.inner).heap.share(node);
    }

    /// Owners of a live block.
    pub(crate) fn owners(&self, node: u32) -> u32 {
        lock(&self.inner).heap.node(node).owners
    }

    /// One owner of a live block gives it up; whether that was the last one, who then frees it.
    pub(crate) fn give_up(&self, node: u32) -> bool {
        lock(&self.inner).heap.unshare(node) == 0
    }

    /// One owner of a live block gives it up; the last one's giving up frees it.
    #[inline]
    pub(crate) fn free(&self, fences: &S, node: u32, about_to_free: impl FnOnce()) {
        let mut inner = lock(&self.inner);
        if inner.heap.unshare(node) > 0 {
            return;
        }
        about_to_free();
        inner.counters.frees += 1;
        if !*inner.heap.marked(node) {
            inner.heap.free(node, false);
            return;
        }
        *inner.heap.marked(node) = false;
        let marks = inner.marks.remove(&node).unwrap_or_default();
        inner.heap.free(node, true);
        drop(inner);
        self.hold(fences, node, &marks);
    }

    /// Records a fence on each stream and holds the block back until all are reached.
    #[cold]
    fn hold(&self, fences: &S, node: u32, marks: &[S::Stream]) {
        let mut recorded = Vec::new();
        for stream in marks {
            if let Recorded::Fence(fence) = fences.record(stream) {
                recorded.push(fence);
            }
        }
        let mut inner = lock(&self.inner);
        if recorded.is_empty() {
            inner.heap.release_held(node);
        } else {
            inner.incoming.push(HeldBlock { node, fences: recorded });
        }
    }

    /// Takes held blocks back whose fences have been reached, with `wait` all of them; how many.
    pub(crate) fn poll(&self, fences: &S, wait: bool) -> usize {
        let mut held = lock(&self.held);
        held.append(&mut lock(&self.inner).incoming);
        let mut released = Vec::new();
        let mut i = 0;
        while i < held.len() {
            let all = &mut held[i].fences;
            while let Some(fence) = all.last() {
                if !(fences.reached(fence) || (wait && fences.wait(fence))) {
                    break;
                }
                if let Some(fence) = all.pop() {
                    fences.recycle(fence);
                }
            }
            if all.is_empty() {
                released.push(held.swap_remove(i).node);
            } else {
                i += 1;
            }
        }
        let mut inner = lock(&self.inner);
        for &node in &released {
            inner.heap.release_held(node);
        }
        released.len()
    }

    /// Adds a segment and takes a block from it at once, so that no other thread can take it before.
    pub(crate) fn add_segment(
        &self,
        address: u64,
        units: u32,
        kind: SegmentKind,
        take: Option<(u64, u32)>,
    ) -> Option<AllocatedBlock> {
        let mut inner = lock(&self.inner);
        inner.heap.add_segment(address, units, kind);
        let (bytes, units) = take?;
        let found = inner.heap.allocate_anywhere(bytes, units)?;
        Some(AllocatedBlock::of(&inner.heap, found))
    }

    /// Takes out free segments of at least `wanted` bytes in all. What uses their memory on the arena's own stream may
    /// still run.
    pub(crate) fn take_free_segments(&self, wanted: u64) -> Vec<PoolSegment> {
        lock(&self.inner).heap.take_free_segments(wanted, None)
    }

    /// Takes out one free segment in which `units` granules fit, for another stream.
    pub(crate) fn release_free_segment(&self, units: u32, kind: SegmentKind) -> Option<PoolSegment> {
        let mut inner = lock(&self.inner);
        let segment = inner.heap.take_free_segments(0, Some((units, kind))).pop()?;
        inner.lost += segment.bytes();
        Some(segment)
    }

    /// Whether what other streams took from here was as much as is missing now.
    pub(crate) fn steal_back(&self, bytes: u64) -> StealBack {
        let mut inner = lock(&self.inner);
        if inner.lost < bytes {
            inner.lost = 0;
            return StealBack::NotNeeded;
        }
        inner.lost -= bytes;
        let hits = inner.counters.hits.iter().sum::<u64>();
        let soon = hits - inner.missed_at < SOON;
        inner.missed_at = hits;
        inner.missed_soon = if soon { inner.missed_soon + 1 } else { 0 };
        if inner.missed_soon < OFTEN {
            return StealBack::Allowed;
        }
        inner.missed_soon = 0;
        StealBack::TooOften
    }

    /// Runs `f` on the heap and the counters, under the lock: no driver call in it.
    pub(crate) fn with<R>(&self, f: impl FnOnce(&mut Heap, &mut Counters) -> R) -> R {
        let inner = &mut *lock(&self.inner);
        f(&mut inner.heap, &mut inner.counters)
    }

    /// Lets go of the fences of whatever is held still; for an arena that goes.
    pub(crate) fn discard_held(&self, fences: &S) {
        let mut held = std::mem::take(&mut *lock(&self.held));
        held.append(&mut lock(&self.inner).incoming);
        held.into_iter().flat_map(|h| h.fences).for_each(|fence| fences.recycle(fence));
    }

    /// Forgets the marks of a live block; gives them.
    pub(crate) fn take_marks(&self, node: u32) -> Vec<S::Stream> {
        let mut inner = lock(&self.inner);
        *inner.heap.marked(node) = false;
        inner.marks.remove(&node).unwrap_or_default()
    }
}
