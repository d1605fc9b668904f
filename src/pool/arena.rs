//! One stream's heap with its lock, the recorded uses of its blocks by other streams, and its held-back blocks.
//!
//! ```text
//!            allocate                 free, no recorded uses
//!   heap ───────────────▶ live ─────────────────────────────▶ heap
//!    ▲                     │ free, with recorded uses by other streams
//!    │ every fence reached ▼
//!    └──────────────── held back ◀── a fence is recorded on each of those streams, with no lock
//! ```
//!
//! It knows streams and fences only through [`Fences`], so that a test can explore all interleavings of its steps. No
//! method calls [`Fences`] under the heap's lock.

use std::collections::HashMap;

use super::heap::{Heap, PoolSegment, SegmentKind};
use super::stats::Counters;
use crate::sync::{Mutex, MutexGuard, PoisonError};

/// The result of recording a fence.
pub(crate) enum Recorded<F> {
    /// No work that was enqueued on the stream can still run.
    Nothing,
    /// Reached when everything enqueued on the stream so far has run.
    Fence(F),
}

/// Streams, and fences recorded on them.
pub(crate) trait Fences {
    /// A stream, which may have been destroyed.
    type Stream: PartialEq + Clone;
    /// A fence in the order of one stream.
    type Fence;

    /// Records a fence on a stream.
    fn record(&self, stream: &Self::Stream) -> Recorded<Self::Fence>;
    /// Returns whether a fence was reached. Never waits.
    fn reached(&self, fence: &Self::Fence) -> bool;
    /// Waits for a fence. Returns `false` if that failed.
    fn wait(&self, fence: &Self::Fence) -> bool;
    /// Releases a fence.
    fn recycle(&self, fence: Self::Fence);
}

/// A held-back block, with fences on the streams that may still use it.
struct HeldBlock<F> {
    record: u32,
    fences: Vec<F>,
}

struct ArenaState<S: Fences> {
    heap: Heap,
    counters: Counters,
    /// For the record of a live block, the other streams that use it.
    uses: HashMap<u32, Vec<S::Stream>>,
    /// Held-back blocks that were not polled yet.
    incoming: Vec<HeldBlock<S::Fence>>,
    /// Bytes that other streams stole from this arena and that it has not needed since.
    stolen_bytes: u64,
    /// The number of hits when the arena last needed stolen memory, and how often in a row that was soon after the time
    /// before.
    hits_at_last_need: u64,
    needs_in_a_row: u32,
}

/// A block that was allocated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct AllocatedBlock {
    pub(crate) record: u32,
    /// Its size in granules.
    pub(crate) granules: u32,
    pub(crate) address: u64,
}

/// Whether an arena needs memory that other streams stole from it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum StealBack {
    NotNeeded,
    /// Stealing it back may help.
    Allowed,
    /// Streams would only steal the same memory from each other again and again.
    TooOften,
}

/// Fewer hits than this between two needs for stolen memory are few.
const HITS_BETWEEN_STEALS: u64 = 2;
/// So many needs in a row with few hits between them are too many.
const STEALS_IN_A_ROW: u32 = 8;

/// The memory of one stream. See the [module](self).
pub(crate) struct Arena<S: Fences> {
    state: Mutex<ArenaState<S>>,
    /// Held-back blocks. Their fences are queried under this lock; no hit and no free waits for it.
    held: Mutex<Vec<HeldBlock<S::Fence>>>,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl AllocatedBlock {
    #[inline]
    fn of(heap: &Heap, (record, address): (u32, u64)) -> AllocatedBlock {
        AllocatedBlock { record, granules: heap.record(record).granules, address }
    }
}

impl<S: Fences> Arena<S> {
    pub(crate) fn new() -> Arena<S> {
        Arena {
            state: Mutex::new(ArenaState {
                heap: Heap::new(),
                counters: Counters::default(),
                uses: HashMap::new(),
                incoming: Vec::new(),
                stolen_bytes: 0,
                hits_at_last_need: 0,
                needs_in_a_row: 0,
            }),
            held: Mutex::new(Vec::new()),
        }
    }

    /// Allocates a free block of this arena, and counts a hit.
    #[inline(always)]
    pub(crate) fn allocate(&self, bytes: u64, granules: u32) -> Option<AllocatedBlock> {
        let mut state = lock(&self.state);
        let block = state.heap.allocate(bytes, granules)?;
        state.counters.hit(granules);
        Some(AllocatedBlock::of(&state.heap, block))
    }

    /// Allocates as [`allocate`](Arena::allocate), but counts no hit.
    pub(crate) fn allocate_again(&self, bytes: u64, granules: u32) -> Option<AllocatedBlock> {
        let heap = &mut lock(&self.state).heap;
        let block = heap.allocate(bytes, granules)?;
        Some(AllocatedBlock::of(heap, block))
    }

    /// Allocates as [`allocate_again`](Arena::allocate_again), but also from segments and blocks that are kept for
    /// other sizes.
    pub(crate) fn allocate_anywhere(&self, bytes: u64, granules: u32) -> Option<AllocatedBlock> {
        let heap = &mut lock(&self.state).heap;
        let block = heap.allocate_anywhere(bytes, granules)?;
        Some(AllocatedBlock::of(heap, block))
    }

    /// Allocates a block for another stream, whose work then waits for this arena's stream. Records the use by that
    /// stream, so that the block is held back for it when it is freed.
    pub(crate) fn lend(&self, bytes: u64, granules: u32, to: S::Stream) -> Option<AllocatedBlock> {
        let mut state = lock(&self.state);
        let (record, address) = state.heap.allocate_anywhere(bytes, granules)?;
        *state.heap.has_uses(record) = true;
        state.uses.insert(record, vec![to]);
        Some(AllocatedBlock::of(&state.heap, (record, address)))
    }

    /// Records that `stream`, which is not the arena's own, uses a live block.
    pub(crate) fn record_use(&self, record: u32, stream: S::Stream) {
        let mut state = lock(&self.state);
        *state.heap.has_uses(record) = true;
        let uses = state.uses.entry(record).or_default();
        if !uses.contains(&stream) {
            uses.push(stream);
        }
    }

    /// Adds an owner to a live block.
    pub(crate) fn share(&self, record: u32) {
        lock(&self.state).heap.share(record);
    }

    /// The number of owners of a live block.
    pub(crate) fn owners(&self, record: u32) -> u32 {
        lock(&self.state).heap.record(record).owners
    }

    /// Removes an owner of a live block. Returns whether it was the last one; the caller then frees the block.
    pub(crate) fn remove_owner(&self, record: u32) -> bool {
        lock(&self.state).heap.unshare(record) == 0
    }

    /// Removes an owner of a live block, and frees the block if it was the last one.
    #[inline]
    pub(crate) fn free(&self, fences: &S, record: u32, about_to_free: impl FnOnce()) {
        let mut state = lock(&self.state);
        if state.heap.unshare(record) > 0 {
            return;
        }
        about_to_free();
        state.counters.frees += 1;
        if !*state.heap.has_uses(record) {
            state.heap.free(record, false);
            return;
        }
        *state.heap.has_uses(record) = false;
        let uses = state.uses.remove(&record).unwrap_or_default();
        state.heap.free(record, true);
        drop(state);
        self.hold(fences, record, &uses);
    }

    /// Records a fence on each stream, and holds the block back until all of them are reached.
    #[cold]
    fn hold(&self, fences: &S, record: u32, uses: &[S::Stream]) {
        let mut recorded = Vec::new();
        for stream in uses {
            if let Recorded::Fence(fence) = fences.record(stream) {
                recorded.push(fence);
            }
        }
        let mut state = lock(&self.state);
        if recorded.is_empty() {
            state.heap.release_held(record);
        } else {
            state.incoming.push(HeldBlock { record, fences: recorded });
        }
    }

    /// Frees the held-back blocks whose fences were all reached, and returns their number. With `wait`, waits for the
    /// others.
    pub(crate) fn poll(&self, fences: &S, wait: bool) -> usize {
        let mut held = lock(&self.held);
        held.append(&mut lock(&self.state).incoming);
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
                released.push(held.swap_remove(i).record);
            } else {
                i += 1;
            }
        }
        let mut state = lock(&self.state);
        for &record in &released {
            state.heap.release_held(record);
        }
        released.len()
    }

    /// Adds a segment and allocates a block from it under one lock, so that no other thread can allocate it first.
    pub(crate) fn add_segment(
        &self,
        address: u64,
        granules: u32,
        kind: SegmentKind,
        take: Option<(u64, u32)>,
    ) -> Option<AllocatedBlock> {
        let mut state = lock(&self.state);
        state.heap.add_segment(address, granules, kind);
        let (bytes, granules) = take?;
        let block = state.heap.allocate_anywhere(bytes, granules)?;
        Some(AllocatedBlock::of(&state.heap, block))
    }

    /// Removes free segments of at least `wanted` bytes in total, or all of them, and returns them. Work on the arena's
    /// own stream may still use their memory.
    pub(crate) fn take_free_segments(&self, wanted: u64) -> Vec<PoolSegment> {
        lock(&self.state).heap.take_free_segments(wanted, None)
    }

    /// Removes one free segment in which `granules` granules fit, for another stream to steal.
    pub(crate) fn release_free_segment(&self, granules: u32, kind: SegmentKind) -> Option<PoolSegment> {
        let mut state = lock(&self.state);
        let segment = state.heap.take_free_segments(0, Some((granules, kind))).pop()?;
        state.stolen_bytes += segment.bytes();
        Some(segment)
    }

    /// Returns whether the arena, which needs `bytes` bytes, may steal back what other streams stole from it.
    pub(crate) fn steal_back(&self, bytes: u64) -> StealBack {
        let mut state = lock(&self.state);
        if state.stolen_bytes < bytes {
            state.stolen_bytes = 0;
            return StealBack::NotNeeded;
        }
        state.stolen_bytes -= bytes;
        let hits = state.counters.hits.iter().sum::<u64>();
        let soon = hits - state.hits_at_last_need < HITS_BETWEEN_STEALS;
        state.hits_at_last_need = hits;
        state.needs_in_a_row = if soon { state.needs_in_a_row + 1 } else { 0 };
        if state.needs_in_a_row < STEALS_IN_A_ROW {
            return StealBack::Allowed;
        }
        state.needs_in_a_row = 0;
        StealBack::TooOften
    }

    /// Calls `f` with the heap and the counters, under the lock. `f` must make no driver call.
    pub(crate) fn with<R>(&self, f: impl FnOnce(&mut Heap, &mut Counters) -> R) -> R {
        let state = &mut *lock(&self.state);
        f(&mut state.heap, &mut state.counters)
    }

    /// Releases the fences of all blocks that are still held back. To be called when the arena is dropped.
    pub(crate) fn discard_held(&self, fences: &S) {
        let mut held = std::mem::take(&mut *lock(&self.held));
        held.append(&mut lock(&self.state).incoming);
        held.into_iter().flat_map(|h| h.fences).for_each(|fence| fences.recycle(fence));
    }

    /// Removes the recorded uses of a live block, and returns their streams.
    pub(crate) fn take_recorded_uses(&self, record: u32) -> Vec<S::Stream> {
        let mut state = lock(&self.state);
        *state.heap.has_uses(record) = false;
        state.uses.remove(&record).unwrap_or_default()
    }
}
