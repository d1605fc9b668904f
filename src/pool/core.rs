//! The pool of a device: the arenas of its streams, and how it serves a request that a stream's own arena can't serve.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::driver_stream::DriverStream;
use hip_driver::{DeviceId, Driver, DriverResult, ErrorCode};

use super::arena::StealBack;
use super::bins::GRANULE;
use super::block::PoolBlock;
use super::heap::{HUGE, PoolSegment, SegmentKind};
use super::options::{PoolBackend, PoolOptions};
use super::raw::RawBlocks;
use super::reclaim::{ReclaimFn, ReclaimSteps};
use super::shared::{PoolShared, StreamRef};
use super::stats::class_of;
use super::stream_arena::{StreamArena, granules_for};
use super::trace::PoolTraceAction;

/// The size in granules of the first segment for small blocks, and of the step in which segments grow: 64 KiB.
const SEGMENT_STEP: u64 = 256;
/// The size in granules of the largest segment that is larger than its first request: 256 MiB, or 1 MiB for small
/// blocks.
const LARGE_MAX: u64 = 1 << 20;
const SMALL_MAX: u64 = 4096;
/// The pool releases no cached segments to reduce waste while it holds at most this number of bytes.
const WASTE_FLOOR: u64 = 16 << 20;

/// Whether the callbacks of [`ReclaimStep::Callbacks`](super::ReclaimStep::Callbacks) may run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RequestContext {
    /// No lock of a stream is held.
    Free,
    /// A stream's lock is held, which a callback might need.
    UnderLock,
}

/// A request that its stream's arena can't serve.
#[derive(Clone, Copy)]
pub(crate) struct MissRequest<'a> {
    pub(crate) arena: &'a Arc<StreamArena>,
    /// The arena's stream; `None` for memory of no stream.
    pub(crate) stream: Option<&'a Arc<DriverStream>>,
    pub(crate) bytes: u64,
    pub(crate) granules: u32,
    pub(crate) caller: RequestContext,
}

/// The bytes that the owners of live blocks asked for.
#[derive(Default)]
struct RequestedBytes {
    now: u64,
    /// The greatest total that was seen.
    peak_seen: u64,
    /// The sum of each stream's peak.
    stream_peaks: u64,
}

/// The pool of a device. See the [module](self).
pub(crate) struct PoolCore {
    pub(crate) shared: Arc<PoolShared>,
    arenas: Mutex<Arenas>,
    /// The arena of no stream.
    common: Arc<StreamArena>,
    pub(crate) reclaim_steps: ReclaimSteps,
    pub(crate) raw: RawBlocks,
    /// The greatest total of requested bytes over all streams that `requested` has seen.
    peak_seen: AtomicU64,
}

#[derive(Default)]
struct Arenas {
    /// Arenas of live streams, in the order of their creation.
    live: Vec<Arc<StreamArena>>,
    /// Arenas of destroyed streams. No work uses their free memory.
    orphans: Vec<Arc<StreamArena>>,
}

impl std::fmt::Debug for PoolCore {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("PoolCore").field("reserved", &self.shared.reserved()).finish_non_exhaustive()
    }
}

impl PoolCore {
    pub(crate) fn new(driver: Arc<dyn Driver>, device: DeviceId, options: &PoolOptions) -> PoolCore {
        let shared = Arc::new(PoolShared::new(driver, device, options));
        PoolCore {
            common: Arc::new(StreamArena::new(&shared, options.backend == PoolBackend::Caching)),
            arenas: Mutex::default(),
            reclaim_steps: ReclaimSteps::default(),
            raw: RawBlocks::default(),
            peak_seen: AtomicU64::new(0),
            shared,
        }
    }

    fn lock(&self) -> MutexGuard<'_, Arenas> {
        self.arenas.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the arena for a new stream: that of a destroyed stream, if there is one.
    pub(crate) fn join(&self, stream: &Arc<DriverStream>) -> Arc<StreamArena> {
        let mut arenas = self.lock();
        let arena = arenas.orphans.pop().unwrap_or_else(|| {
            Arc::new(StreamArena::new(&self.shared, self.shared.backend == PoolBackend::Caching))
        });
        arena.adopt(stream);
        arenas.live.push(arena.clone());
        arena
    }

    /// To be called when a stream is destroyed, after all its work has finished.
    pub(crate) fn leave(&self, number: u64) {
        let mut arenas = self.lock();
        if let Some(index) = arenas.live.iter().position(|a| a.number() == number) {
            let arena = arenas.live.remove(index);
            arena.orphan();
            arenas.orphans.push(arena);
        }
    }

    /// The arena of no stream.
    pub(crate) fn common(&self) -> &Arc<StreamArena> {
        &self.common
    }

    /// Every live stream.
    pub(crate) fn streams(&self) -> Vec<StreamRef> {
        self.lock().live.iter().filter_map(|arena| arena.stream()).collect()
    }

    /// Every arena: the one of no stream, those of live streams, and those of destroyed streams.
    pub(crate) fn all(&self) -> Vec<Arc<StreamArena>> {
        let arenas = self.lock();
        let mut all = Vec::with_capacity(1 + arenas.live.len() + arenas.orphans.len());
        all.push(self.common.clone());
        all.extend(arenas.live.iter().cloned());
        all.extend(arenas.orphans.iter().cloned());
        all
    }

    pub(crate) fn add_callback(&self, callback: ReclaimFn) -> u64 {
        self.reclaim_steps.add(callback)
    }

    /// Allocates a block of `bytes` bytes in the order of `arena`'s stream.
    // A hit is one function down to the heap: left to the compiler, it is three, which is 9 % more instructions of a pair.
    #[inline(always)]
    pub(crate) fn allocate(
        &self,
        arena: &Arc<StreamArena>,
        bytes: u64,
        caller: RequestContext,
    ) -> DriverResult<PoolBlock> {
        let granules = granules_for(bytes)?;
        if arena.is_caching()
            && let Some(block) = arena.hit(bytes, granules)
        {
            return Ok(block);
        }
        self.miss(arena, bytes, granules, caller)
    }

    #[cold]
    fn miss(
        &self,
        arena: &Arc<StreamArena>,
        bytes: u64,
        granules: u32,
        caller: RequestContext,
    ) -> DriverResult<PoolBlock> {
        arena.core().with(|_, counters| counters.misses[class_of(granules)] += 1);
        let stream = arena.stream();
        // The stream is alive for the whole call: its owner is the caller.
        let stream = stream.as_ref().and_then(|s| s.stream.upgrade());
        if let Some(stream) = &stream {
            stream.refuse_if_captured("hipMalloc")?;
        }
        let request = MissRequest { arena, stream: stream.as_ref(), bytes, granules, caller };
        let result = if arena.is_caching() { self.refill(&request) } else { self.uncached(&request) };
        if result.is_err() {
            self.shared.trace(PoolTraceAction::AllocateFailure, 0, bytes, arena.number(), None);
        }
        result
    }

    fn uncached(&self, request: &MissRequest<'_>) -> DriverResult<PoolBlock> {
        let MissRequest { arena, stream, bytes, granules, caller } = *request;
        match arena.allocate_uncached(bytes, granules, stream) {
            Err(e) if e.code == ErrorCode::OUT_OF_MEMORY => {
                if caller == RequestContext::Free && self.reclaim_steps.run_callbacks(bytes) {
                    return arena.allocate_uncached(bytes, granules, stream);
                }
                Err(e)
            }
            other => other,
        }
    }

    fn refill(&self, request: &MissRequest<'_>) -> DriverResult<PoolBlock> {
        let MissRequest { arena, bytes, granules, .. } = *request;
        // Held-back blocks that other streams no longer use.
        if arena.core().poll(&self.shared, false) > 0
            && let Some(taken) = arena.core().allocate_anywhere(bytes, granules)
        {
            return Ok(arena.block(taken, bytes));
        }
        if let Some(block) = self.steal_segment(request)? {
            return Ok(block);
        }
        match self.grow(request, true) {
            Ok(Some(block)) => Ok(block),
            Ok(None) => self.reclaim(request, None),
            Err(e) if e.code == ErrorCode::OUT_OF_MEMORY => self.reclaim(request, Some(e)),
            Err(e) => Err(e),
        }
    }

    /// Steals a whole segment that another arena does not use.
    fn steal_segment(&self, request: &MissRequest<'_>) -> DriverResult<Option<PoolBlock>> {
        let MissRequest { arena, stream, granules, .. } = *request;
        let kind = SegmentKind::of(granules);
        let others = self.all();
        // Memory that no stream uses comes first, as it needs no fence. The arena's stream is read again after the
        // segment was removed: a stream that got the arena meanwhile may have used the segment.
        for other in others.iter().filter(|o| o.number() == 0 && !Arc::ptr_eq(o, arena)) {
            if other.stream().is_some() {
                continue;
            }
            let Some(segment) = self.idle_segment(other, granules, kind) else { continue };
            if other.stream().is_some() {
                other.put_back([segment]);
                continue;
            }
            return Ok(self.add_stolen_segment(request, segment));
        }
        let Some(stream) = stream else { return Ok(None) };
        let size = u64::from(granules) * GRANULE;
        match arena.core().steal_back(size) {
            StealBack::NotNeeded => {}
            StealBack::TooOften => return Ok(None),
            // The pool grows instead while it holds little more than the streams asked for at once.
            StealBack::Allowed => {
                let seen = self.requested().peak_seen;
                if self.shared.reserved() + size <= seen + seen / 16 {
                    return Ok(None);
                }
            }
        }
        for other in others.iter().filter(|o| o.number() != 0 && !Arc::ptr_eq(o, arena)) {
            // No stream can wait for one that is captured.
            if other.stream().is_some_and(|owner| owner.is_capturing()) {
                continue;
            }
            let Some(segment) = other.core().release_free_segment(granules, kind) else { continue };
            // This stream waits for the work of the stream that had the segment.
            if let Some(owner) = other.stream()
                && let Err(e) = self.shared.order(&owner, stream)
            {
                other.put_back([segment]);
                return Err(e);
            }
            arena.core().with(|_, counters| counters.steals[class_of(granules)] += 1);
            return Ok(self.add_stolen_segment(request, segment));
        }
        Ok(None)
    }

    fn idle_segment(&self, other: &StreamArena, granules: u32, kind: SegmentKind) -> Option<PoolSegment> {
        other.core().poll(&self.shared, false);
        other.core().release_free_segment(granules, kind)
    }

    fn add_stolen_segment(&self, request: &MissRequest<'_>, s: PoolSegment) -> Option<PoolBlock> {
        let MissRequest { arena, bytes, granules, .. } = *request;
        let taken = arena.core().add_segment(s.address, s.granules, s.kind, Some((bytes, granules)))?;
        Some(arena.block(taken, bytes))
    }

    /// Returns the bytes that the owners of live blocks asked for, over all streams.
    fn requested(&self) -> RequestedBytes {
        let mut requested = RequestedBytes::default();
        for arena in self.all() {
            let bytes = arena.core().with(|heap, _| heap.bytes);
            requested.now += bytes.requested;
            requested.stream_peaks += bytes.peak_requested;
        }
        let before = self.peak_seen.fetch_max(requested.now, Ordering::Relaxed);
        requested.peak_seen = before.max(requested.now);
        requested
    }

    pub(crate) fn reset_peak_seen(&self) {
        self.peak_seen.store(0, Ordering::Relaxed);
    }

    /// Takes a segment from the driver and allocates the block from it. Returns `None` only if the segment has no space
    /// for the block, which its size excludes.
    ///
    /// Segments grow with the memory of the arena, so that there are few of them and little of the last one is unused.
    /// If the pool would hold over a fifth more than was asked for at once, cached segments are released first.
    pub(crate) fn grow(&self, request: &MissRequest<'_>, generous: bool) -> DriverResult<Option<PoolBlock>> {
        let MissRequest { arena, bytes, granules, .. } = *request;
        let kind = SegmentKind::of(granules);
        let least = round(u64::from(granules));
        let share = arena.core().with(|heap, _| heap.kind_granules(kind)) / 8;
        let most = if kind == SegmentKind::Small { SMALL_MAX } else { LARGE_MAX };
        let requested = self.requested();
        // A stream will need its cached blocks again, and waiting to release them costs more than they are worth. So
        // the limit is the sum of the streams' peaks. Huge blocks are worth a wait: their limit is the peak of all
        // streams together.
        let peak = if granules >= HUGE { requested.peak_seen } else { requested.stream_peaks };
        let allowed = peak.max(requested.now.saturating_add(bytes)).saturating_add(peak / 5);
        let room = (allowed.saturating_sub(self.shared.reserved()) / GRANULE).min(share);
        // A whole number of blocks of this size. Fewer than two would leave the rest unused.
        let blocks = room.min(most) / u64::from(granules);
        let mut size = if generous && blocks >= 2 { round(blocks * u64::from(granules)) } else { least };
        if kind == SegmentKind::Small {
            size = size.max(SEGMENT_STEP);
        }
        let after = self.shared.reserved().saturating_add(size * GRANULE);
        let target = self.shared.soft_target().min(allowed.max(WASTE_FLOOR));
        if after > target {
            self.release_free(after - target, true)?;
        }
        let (size, ptr) = match self.shared.malloc(size * GRANULE, None) {
            Err(e) if e.code == ErrorCode::OUT_OF_MEMORY && size > least => {
                (least, self.shared.malloc(least * GRANULE, None)?)
            }
            other => (size, other?),
        };
        let segment =
            PoolSegment { address: ptr.0, granules: size as u32, kind, first: super::block_records::NIL };
        Ok(self.add_stolen_segment(request, segment))
    }

    /// Releases free segments of at least `wanted` bytes to the driver, first those of no stream. Returns the number of
    /// bytes released.
    pub(crate) fn release_free(&self, wanted: u64, wait: bool) -> DriverResult<u64> {
        let mut released = 0;
        let mut arenas = self.all();
        arenas.sort_by_key(|a| a.number() != 0);
        for arena in arenas {
            if released >= wanted {
                break;
            }
            released += arena.release_free(wanted - released, wait)?;
        }
        Ok(released)
    }

    /// Releases cached segments until at most `keep` bytes are held. Waits for the streams whose segments are released.
    /// Returns the number of bytes released.
    pub(crate) fn trim(&self, keep: u64) -> DriverResult<u64> {
        for arena in self.all() {
            arena.core().poll(&self.shared, false);
        }
        match self.shared.reserved().saturating_sub(keep) {
            0 => Ok(0),
            excess => self.release_free(excess, true),
        }
    }

    /// Removes the free segments of a stream that exceed the soft target, for a caller that has waited for the stream
    /// and releases them to the driver.
    pub(crate) fn take_excess(&self, arena: &StreamArena) -> Vec<PoolSegment> {
        let target = self.shared.soft_target();
        match self.shared.reserved().saturating_sub(target) {
            0 => Vec::new(),
            excess => arena.core().take_free_segments(excess),
        }
    }
}

/// Rounds the size of a segment up to a multiple of 64 KiB, or of 2 MiB from 32 MiB on. Sizes are in granules.
fn round(granules: u64) -> u64 {
    let step = if granules >= 64 * SEGMENT_STEP * 8 { 32 * SEGMENT_STEP } else { SEGMENT_STEP };
    granules.next_multiple_of(step).min(u64::from(u32::MAX - 1)).max(granules)
}

impl Drop for PoolCore {
    /// Logs the blocks that were not freed.
    fn drop(&mut self) {
        self.raw.clear();
        for arena in self.all() {
            arena.core().poll(&self.shared, false);
            let live = arena.live_blocks();
            if live.is_empty() {
                continue;
            }
            let bytes: u64 = live.iter().map(|(_, bytes)| bytes).sum();
            log::error!(
                "leak: {} blocks of {bytes} bytes of the pool of {} were not freed",
                live.len(),
                self.shared.device
            );
            for (address, bytes) in live.iter().take(10) {
                log::error!("leak: {bytes} bytes at {address:#x}");
            }
        }
    }
}
