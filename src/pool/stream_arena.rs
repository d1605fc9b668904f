//! The arena of a stream: which stream it belongs to, and how its memory is returned to the driver.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use crate::driver_stream::DriverStream;
use hip_driver::{DevicePtr, DriverResult, Note};

use super::arena::{AllocatedBlock, Arena, Fences, Recorded};
use super::bins::GRANULE;
use super::block::PoolBlock;
use super::block_records::{BlockRecord, BlockState};
use super::heap::{PoolSegment, SegmentKind, granules_of};
use super::options::PoolBackend;
use super::shared::{Fence, PoolShared, StreamRef};
use super::trace::PoolTraceAction;

/// One stream's memory. Its blocks and the pool keep it alive. When a stream is destroyed, its arena is left for the
/// next new one.
pub(crate) struct StreamArena {
    arena: Arena<PoolShared>,
    shared: Arc<PoolShared>,
    /// Whether blocks are cut out of segments. Otherwise each is an allocation from the driver.
    caching: bool,
    /// The stream's number, or 0 for memory of no stream, and once the stream was destroyed.
    number: AtomicU64,
    owner: Mutex<ArenaOwner>,
}

#[derive(Default)]
struct ArenaOwner {
    stream: Option<StreamRef>,
    /// Keeps the stream alive, if blocks can only be freed on it or if it may still have work.
    kept: Option<Arc<DriverStream>>,
}

impl std::fmt::Debug for StreamArena {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("StreamArena").field("stream", &self.number()).finish_non_exhaustive()
    }
}

impl StreamArena {
    /// Creates an arena of no stream.
    pub(crate) fn new(shared: &Arc<PoolShared>, caching: bool) -> StreamArena {
        StreamArena {
            arena: Arena::new(),
            shared: shared.clone(),
            caching,
            number: AtomicU64::new(0),
            owner: Mutex::default(),
        }
    }

    fn owner(&self) -> std::sync::MutexGuard<'_, ArenaOwner> {
        self.owner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Gives the arena to a stream. No work may use its free memory.
    pub(crate) fn adopt(&self, stream: &Arc<DriverStream>) {
        let mut owner = self.owner();
        owner.stream = Some(StreamRef::new(stream));
        if self.shared.backend == PoolBackend::StreamOrdered {
            owner.kept = Some(stream.clone());
        }
        self.number.store(stream.number(), Ordering::Relaxed);
    }

    /// To be called when a stream is dropped that may still have work: the arena stays its own, and keeps it alive.
    pub(crate) fn keep(&self, stream: &Arc<DriverStream>) {
        self.owner().kept = Some(stream.clone());
    }

    /// To be called when the stream is destroyed, after all its work has finished.
    pub(crate) fn orphan(&self) {
        let mut owner = self.owner();
        owner.stream = None;
        self.number.store(0, Ordering::Relaxed);
        if self.arena.with(|heap, _| heap.bytes.in_use + heap.bytes.held_back) == 0 {
            owner.kept = None;
        }
    }

    #[inline]
    pub(crate) fn number(&self) -> u64 {
        self.number.load(Ordering::Relaxed)
    }

    #[inline]
    pub(crate) fn is_caching(&self) -> bool {
        self.caching
    }

    #[inline]
    pub(crate) fn shared(&self) -> &Arc<PoolShared> {
        &self.shared
    }

    pub(crate) fn core(&self) -> &Arena<PoolShared> {
        &self.arena
    }

    /// Returns its stream, or `None` once that was destroyed.
    pub(crate) fn stream(&self) -> Option<StreamRef> {
        self.owner().stream.clone()
    }

    /// Allocates from the arena's free blocks, without a driver call.
    #[inline(always)]
    pub(crate) fn hit(self: &Arc<Self>, bytes: u64, granules: u32) -> Option<PoolBlock> {
        let taken = self.arena.allocate(bytes, granules)?;
        Some(self.block(taken, bytes))
    }

    /// Creates the owner of an allocated block.
    #[inline]
    pub(crate) fn block(self: &Arc<Self>, mut taken: AllocatedBlock, bytes: u64) -> PoolBlock {
        if self.shared.is_observed() {
            taken.address = self.report_allocated(taken, bytes);
        }
        PoolBlock::new(self.clone(), taken, bytes)
    }

    /// Tells of a block; its address for the program.
    #[cold]
    fn report_allocated(&self, taken: AllocatedBlock, bytes: u64) -> u64 {
        let shared = &self.shared;
        let address = self.arena.with(|heap, _| shared.seen_at(heap.segment_of(taken.record), taken.address));
        if self.shared.has_observer {
            // All of the block may be used.
            let capacity = taken.granules as usize * GRANULE as usize;
            self.shared.note(&Note::PoolAllocate {
                device: self.shared.device,
                block: DevicePtr(address),
                bytes: capacity,
            });
        }
        self.shared.trace(PoolTraceAction::Allocate, address, bytes, self.number(), None);
        address
    }

    #[cold]
    fn report_freed(&self, address: u64, bytes: u64) {
        if self.shared.has_observer {
            self.shared.note(&Note::PoolFree { device: self.shared.device, block: DevicePtr(address) });
        }
        self.shared.trace(PoolTraceAction::Free, address, bytes, self.number(), None);
    }

    #[inline]
    pub(crate) fn free(&self, record: u32, address: u64, bytes: u64) {
        if !self.caching {
            return self.free_uncached(record, address, bytes);
        }
        self.arena.free(&self.shared, record, || {
            if self.shared.is_observed() {
                self.report_freed(address, bytes);
            }
        });
    }

    pub(crate) fn share(&self, record: u32) {
        self.arena.share(record);
    }

    pub(crate) fn owners(&self, record: u32) -> u32 {
        self.arena.owners(record)
    }

    /// Records that a stream uses a block.
    pub(crate) fn record_use(&self, record: u32, address: u64, stream: StreamRef) {
        if stream.number == self.number() {
            return;
        }
        if self.shared.is_observed() {
            if self.shared.has_observer {
                self.shared.note(&Note::PoolRecord { device: self.shared.device, block: DevicePtr(address) });
            }
            self.shared.trace(PoolTraceAction::Record, address, 0, stream.number, None);
        }
        self.arena.record_use(record, stream);
    }

    /// Allocates a block from the driver, for the backends that cache nothing here.
    pub(crate) fn allocate_uncached(
        self: &Arc<Self>,
        bytes: u64,
        granules: u32,
        stream: Option<&Arc<DriverStream>>,
    ) -> DriverResult<PoolBlock> {
        let ordered = self.shared.backend == PoolBackend::StreamOrdered;
        let stream = if ordered { stream.map(|s| &**s) } else { None };
        let size = u64::from(granules) * GRANULE;
        let ptr = self.shared.malloc(size, stream)?;
        match self.arena.add_segment(ptr.0, granules, SegmentKind::of(granules), Some((bytes, granules))) {
            Some(taken) => Ok(self.block(taken, bytes)),
            // Does not happen: no other thread can allocate from the segment first.
            None => Err(hip_driver::DriverError::new("hipMalloc", hip_driver::ErrorCode::OUT_OF_MEMORY)),
        }
    }

    #[cold]
    fn free_uncached(&self, record: u32, address: u64, bytes: u64) {
        if !self.arena.remove_owner(record) {
            return;
        }
        let uses = self.arena.take_recorded_uses(record);
        let kept = self.owner().kept.clone();
        let ordered = self.shared.backend == PoolBackend::StreamOrdered;
        for user in &uses {
            let is_ordered = kept.as_ref().is_some_and(|own| ordered && self.shared.order(user, own).is_ok());
            if !is_ordered {
                self.wait_for(user);
            }
        }
        if !ordered && let Some(stream) = self.stream() {
            self.wait_for(&stream);
        }
        if self.shared.is_observed() {
            self.report_freed(address, bytes);
        }
        let segment = self.arena.with(|heap, counters| {
            counters.frees += 1;
            heap.take_live_segment(record)
        });
        let on = if ordered { kept.as_deref() } else { None };
        if let Err(e) = self.shared.release(segment.address, segment.bytes(), on) {
            log::warn!("freeing {} bytes of {}: {e}", segment.bytes(), self.shared.device);
        }
        if ordered && self.number() == 0 {
            let mut owner = self.owner();
            if self.arena.with(|heap, _| heap.bytes.in_use) == 0 {
                let kept = owner.kept.take();
                drop(owner);
                drop(kept);
            }
        }
    }

    /// Waits on the host for everything enqueued on a stream so far. Returns whether that succeeded.
    pub(crate) fn wait_for(&self, stream: &StreamRef) -> bool {
        match self.shared.record(stream) {
            Recorded::Nothing => true,
            Recorded::Fence(fence) => {
                let event = if let Fence::Event { event, .. } = &fence { Some(*event) } else { None };
                self.shared.trace(PoolTraceAction::Synchronize, 0, 0, stream.number, event);
                let done = self.shared.wait(&fence);
                self.shared.recycle(fence);
                done
            }
        }
    }

    /// Returns whether everything enqueued on the arena's stream so far has finished. Never waits.
    pub(crate) fn is_idle(&self) -> bool {
        let Some(stream) = self.stream() else { return true };
        match self.shared.record(&stream) {
            Recorded::Nothing => true,
            Recorded::Fence(fence) => {
                let idle = self.shared.reached(&fence);
                self.shared.recycle(fence);
                idle
            }
        }
    }

    /// Puts back segments that could not be used.
    pub(crate) fn put_back(&self, segments: impl IntoIterator<Item = PoolSegment>) {
        for s in segments {
            self.arena.add_segment(s.address, s.granules, s.kind, None);
        }
    }

    /// Releases free segments of at least `wanted` bytes in total to the driver, and returns the number of bytes
    /// released. With `wait`, waits for the stream's work first. Without, releases nothing while the stream has work.
    pub(crate) fn release_free(&self, wanted: u64, wait: bool) -> DriverResult<u64> {
        let segments = self.arena.take_free_segments(wanted);
        if segments.is_empty() {
            return Ok(0);
        }
        let idle = match (wait, self.stream()) {
            (_, None) => true,
            (true, Some(stream)) => self.wait_for(&stream),
            (false, Some(_)) => self.is_idle(),
        };
        if !idle {
            self.put_back(segments);
            return Ok(0);
        }
        self.release_to_driver(segments)
    }

    /// Releases segments whose work has finished to the driver. A segment that the driver failed to free stays in the
    /// arena.
    pub(crate) fn release_to_driver(&self, segments: Vec<PoolSegment>) -> DriverResult<u64> {
        let (mut released, mut result) = (0, Ok(()));
        for segment in segments {
            match self.shared.release(segment.address, segment.bytes(), None) {
                Ok(()) => released += segment.bytes(),
                Err(e) => {
                    self.put_back([segment]);
                    result = Err(e);
                }
            }
        }
        result.map(|()| released)
    }

    /// The address of each live block, and the number of bytes asked for.
    pub(crate) fn live_blocks(&self) -> Vec<(u64, u64)> {
        self.arena.with(|heap, _| {
            let blocks = heap.live_segments().flat_map(|s| heap.blocks(s).map(move |(_, n)| (s, n)));
            let live = blocks.filter(|(_, n)| n.state == BlockState::Live);
            let requested = |n: &BlockRecord| u64::from(n.granules) * GRANULE - u64::from(n.slack);
            live.map(|(s, n)| (self.shared.seen_at(s, n.address), requested(n))).collect()
        })
    }
}

impl Drop for StreamArena {
    /// Releases every segment. No block is live any more, as blocks keep their arena alive.
    fn drop(&mut self) {
        self.arena.poll(&self.shared, true);
        if let Some(stream) = self.stream() {
            self.wait_for(&stream);
        }
        let segments = self.arena.take_free_segments(u64::MAX);
        let bytes: u64 = segments.iter().map(PoolSegment::bytes).sum();
        for segment in segments {
            if let Err(e) = self.shared.release(segment.address, segment.bytes(), None) {
                // On a lost device every free fails. One message is enough.
                log::warn!("freeing {bytes} bytes of {}: {e}", self.shared.device);
                break;
            }
        }
        let left = self.arena.with(|heap, _| heap.bytes.reserved);
        if left > 0 {
            let device = self.shared.device;
            log::warn!(
                "{left} bytes on {device} are not freed: waiting for the work that may use them failed"
            );
        }
        self.arena.discard_held(&self.shared);
    }
}

/// Returns the granules for a request, or an error if no block can be that large.
pub(crate) fn granules_for(bytes: u64) -> DriverResult<u32> {
    granules_of(bytes).ok_or_else(|| {
        let detail = format!("{bytes} bytes in one block are more than any device has");
        hip_driver::DriverError::with_detail("hipMalloc", hip_driver::ErrorCode::OUT_OF_MEMORY, detail)
    })
}
