//! A block of pool memory that gives itself back.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use hip_driver::{DeviceId, DevicePtr};

use super::arena::AllocatedBlock;
use super::bins::GRANULE;
use super::shared::StreamRef;
use super::stream_arena::StreamArena;

/// Device memory from a pool: at least the bytes asked for, at a multiple of 256. Given back on drop, in the order of the
/// stream that it was allocated for; clones are further owners of the same block, and the last one gives it back.
///
/// # Order
///
/// The memory may have had another owner whose work on the block's stream is still under way. So use it on that stream,
/// or make another stream wait for it first ([`Event`](crate::Event)), and say so with
/// [`Stream::record_use`](crate::Stream::record_use), so that the block is held back after its drop until
/// that stream has done with it.
#[derive(Debug)]
pub struct PoolBlock {
    arena: Arc<StreamArena>,
    node: u32,
    units: u32,
    address: u64,
    bytes: u64,
    /// The other stream recorded last, so that it need not be again.
    recorded: AtomicU64,
}

impl PoolBlock {
    #[inline]
    pub(crate) fn new(arena: Arc<StreamArena>, taken: AllocatedBlock, bytes: u64) -> PoolBlock {
        let AllocatedBlock { node, units, address } = taken;
        PoolBlock { arena, node, units, address, bytes, recorded: AtomicU64::new(0) }
    }

    /// Its address.
    #[inline]
    pub fn ptr(&self) -> DevicePtr {
        DevicePtr(self.address)
    }

    /// Bytes that were asked for.
    #[inline]
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Bytes that there are; all of them may be used.
    #[inline]
    pub fn capacity(&self) -> u64 {
        u64::from(self.units) * GRANULE
    }

    /// Owners of the block, this one included.
    pub fn owners(&self) -> u32 {
        self.arena.owners(self.node)
    }

    /// The number of the stream that it was allocated for; 0 for memory of no stream.
    #[inline]
    pub fn stream_number(&self) -> u64 {
        self.arena.number()
    }

    /// Its device.
    pub fn device_id(&self) -> DeviceId {
        self.arena.shared().device
    }

    /// Whether both are owners of the same block.
    pub fn is_same(&self, other: &PoolBlock) -> bool {
        self.node == other.node && Arc::ptr_eq(&self.arena, &other.arena)
    }

    /// Gives it back without it having been handed out: no free of the user's.
    #[cold]
    pub(crate) fn give_back_unused(self) {
        let arena = self.arena.clone();
        drop(self);
        arena.core().with(|_, counters| counters.frees -= 1);
    }

    /// Records that another stream uses it.
    #[cold]
    pub(crate) fn record(&self, stream: StreamRef) {
        let number = stream.number;
        self.arena.mark(self.node, self.address, stream);
        self.recorded.store(number, Ordering::Relaxed);
    }

    /// Whether a use on the stream of that number need not be recorded: it is the block's own, or was recorded last.
    #[inline]
    pub(crate) fn has_recorded(&self, stream: u64) -> bool {
        self.arena.number() == stream || self.recorded.load(Ordering::Relaxed) == stream
    }
}

impl Clone for PoolBlock {
    fn clone(&self) -> PoolBlock {
        self.arena.share(self.node);
        let Self { node, units, address, .. } = *self;
        let clone = PoolBlock::new(self.arena.clone(), AllocatedBlock { node, units, address }, self.bytes);
        // The record belongs to the block, not to the owner that made it.
        clone.recorded.store(self.recorded.load(Ordering::Relaxed), Ordering::Relaxed);
        clone
    }
}

impl Drop for PoolBlock {
    #[inline]
    fn drop(&mut self) {
        self.arena.free(self.node, self.address, self.bytes);
    }
}
