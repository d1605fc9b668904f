//! The public counters of a pool.

use std::sync::atomic::Ordering;

use super::core::PoolCore;
use super::heap::ByteCounts;
use super::reclaim::ReclaimStep;
use super::stats::{CLASSES, class_bytes};
use super::stream_arena::StreamArena;

/// What a pool holds and what it did. The counters of each stream are read at one moment, one stream after the other.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PoolCounters {
    /// Bytes that the owners of live blocks asked for.
    pub requested: u64,
    /// Bytes of live blocks.
    pub in_use: u64,
    /// Bytes of freed blocks that other streams may still use.
    pub held_back: u64,
    /// Bytes of free blocks.
    pub cached: u64,
    /// Bytes held from the driver: in use, held back or cached.
    pub reserved: u64,
    /// The most bytes held from the driver at once.
    pub peak_reserved: u64,
    /// The sum of each stream's most bytes in use at once. With one stream it is exact. With several, no more bytes
    /// than this were in use at once.
    pub peak_in_use: u64,
    /// As [`peak_in_use`](PoolCounters::peak_in_use), for the bytes that were asked for.
    pub peak_requested: u64,
    /// Bytes of the largest free block.
    pub largest_free: u64,
    /// The number of requests that a stream's arena served from its own free blocks.
    pub hits: u64,
    /// The number of requests that it could not serve so.
    pub misses: u64,
    /// The number of misses served with memory of another stream.
    pub steals: u64,
    /// The number of pool blocks freed.
    pub frees: u64,
    /// The number of live pool blocks.
    pub live_blocks: u64,
    /// The number of pool segments.
    pub segments: u64,
    /// The driver calls that the pool itself made.
    pub calls: PoolCalls,
    /// For each reclaim step, how often it was tried and how often it served the request.
    pub reclaim_steps: [(u64, u64); ReclaimStep::ALL.len()],
    /// Counters by size class.
    pub classes: Vec<ClassCounters>,
    /// Counters by stream.
    pub streams: Vec<StreamCounters>,
}

/// Numbers of driver calls that a pool made.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PoolCalls {
    /// Segments allocated.
    pub mallocs: u64,
    /// Segments freed.
    pub frees: u64,
    /// Events recorded.
    pub records: u64,
    /// Waits of a stream for an event.
    pub waits: u64,
    /// Queries of an event or a stream.
    pub queries: u64,
    /// Waits of the host for an event or a stream.
    pub synchronizes: u64,
}

impl PoolCalls {
    /// The number of all calls.
    pub fn total(&self) -> u64 {
        self.mallocs + self.frees + self.records + self.waits + self.queries + self.synchronizes
    }
}

/// Counters of one size class.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ClassCounters {
    /// The size of the class's largest block in bytes. The next smaller class ends at half of it.
    pub up_to: u64,
    /// The number of requests served from free blocks of the stream's own arena.
    pub hits: u64,
    /// The number of requests that were not.
    pub misses: u64,
    /// The number of misses served with memory of another stream.
    pub steals: u64,
}

/// Counters of one stream.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StreamCounters {
    /// The stream's number, or 0 for memory of no stream.
    pub stream: u64,
    /// Bytes that the owners of its live blocks asked for.
    pub requested: u64,
    /// Bytes of its live blocks.
    pub in_use: u64,
    /// Bytes of its held-back blocks.
    pub held_back: u64,
    /// Bytes of its free blocks.
    pub cached: u64,
    /// Bytes of its pool segments.
    pub reserved: u64,
    /// The most bytes in use at once.
    pub peak_in_use: u64,
    /// The number of requests served from free blocks of its arena.
    pub hits: u64,
    /// The number of requests that were not.
    pub misses: u64,
    /// The number of misses served with memory of another stream.
    pub steals: u64,
}

impl PoolCounters {
    /// The part of the free memory that no single request could get, from 0 to 1: 1 - largest free block / cached.
    pub fn fragmentation(&self) -> f64 {
        if self.cached == 0 { 0.0 } else { 1.0 - self.largest_free as f64 / self.cached as f64 }
    }

    /// Returns how often a reclaim step was tried, and how often it served the request.
    pub fn reclaim_step(&self, step: ReclaimStep) -> (u64, u64) {
        self.reclaim_steps[step as usize]
    }
}

impl PoolCore {
    /// Returns the counters of this moment.
    pub(crate) fn counters(&self) -> PoolCounters {
        let mut total = PoolCounters {
            peak_reserved: self.shared.peak_reserved(),
            reclaim_steps: ReclaimStep::ALL.map(|step| self.reclaim_steps.counts(step)),
            ..PoolCounters::default()
        };
        let calls = &self.shared.calls;
        let load = |counter: &std::sync::atomic::AtomicU64| counter.load(Ordering::Relaxed);
        total.calls = PoolCalls {
            mallocs: load(&calls.mallocs),
            frees: load(&calls.frees),
            records: load(&calls.records),
            waits: load(&calls.waits),
            queries: load(&calls.queries),
            synchronizes: load(&calls.synchronizes),
        };
        let mut classes = [ClassCounters::default(); CLASSES];
        for arena in self.all() {
            add(&mut total, &mut classes, &arena);
        }
        total.cached = total.reserved - total.in_use - total.held_back;
        for (class, counters) in classes.iter_mut().enumerate() {
            counters.up_to = class_bytes(class);
        }
        total.classes = classes.into_iter().filter(|c| c.hits + c.misses > 0).collect();
        total
    }

    /// Resets the peaks to the present values.
    pub(crate) fn reset_peaks(&self) {
        for arena in self.all() {
            arena.core().with(|heap, _| {
                let ByteCounts { in_use, requested, .. } = heap.bytes;
                (heap.bytes.peak_in_use, heap.bytes.peak_requested) = (in_use, requested);
            });
        }
        self.reset_peak_seen();
        self.shared.reset_peak();
    }
}

fn add(total: &mut PoolCounters, classes: &mut [ClassCounters; CLASSES], arena: &StreamArena) {
    let (b, counters, largest, segments, live) = arena.core().with(|heap, counters| {
        heap.join_cached();
        let blocks = heap.live_segments().flat_map(|s| heap.blocks(s));
        let live = blocks.filter(|(_, n)| n.state == super::block_records::BlockState::Live).count() as u64;
        (heap.bytes, counters.clone(), heap.largest_free(), heap.live_segments().count() as u64, live)
    });
    total.requested += b.requested;
    total.in_use += b.in_use;
    total.held_back += b.held_back;
    total.reserved += b.reserved;
    total.peak_in_use += b.peak_in_use;
    total.peak_requested += b.peak_requested;
    total.largest_free = total.largest_free.max(largest);
    total.frees += counters.frees;
    total.segments += segments;
    total.live_blocks += live;
    let mut stream = StreamCounters {
        stream: arena.number(),
        requested: b.requested,
        in_use: b.in_use,
        held_back: b.held_back,
        cached: b.reserved - b.in_use - b.held_back,
        reserved: b.reserved,
        peak_in_use: b.peak_in_use,
        ..StreamCounters::default()
    };
    for (i, class) in classes.iter_mut().enumerate() {
        class.hits += counters.hits[i];
        class.misses += counters.misses[i];
        class.steals += counters.steals[i];
        stream.hits += counters.hits[i];
        stream.misses += counters.misses[i];
        stream.steals += counters.steals[i];
    }
    total.hits += stream.hits;
    total.misses += stream.misses;
    total.steals += stream.steals;
    if stream.hits + stream.misses + stream.reserved > 0 {
        total.streams.push(stream);
    }
}
