//! A block of pool memory that is freed on drop.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use hip_driver::{DeviceId, DevicePtr};

use super::arena::AllocatedBlock;
use super::bins::GRANULE;
use super::shared::StreamRef;
use super::stream_arena::StreamArena;

/// Device memory from a pool: at least the bytes that were asked for, at an address that is a multiple of 256. A clone
/// is another owner of the same block. Dropping the last owner frees the block, in the order of the stream that it was
/// allocated for.
///
/// # Order
///
/// Work of an earlier owner may still use the memory, on the block's stream. So use the block on that stream. To use it
/// on another stream, make that stream wait for the block's stream first ([`Event`](crate::Event)), and record the use
/// with [`Stream::record_use`](crate::Stream::record_use): the pool then holds the block back after its drop until the
/// work of that stream has finished.
#[derive(Debug)]
pub struct PoolBlock {
    arena: Arc<StreamArena>,
    record: u32,
    granules: u32,
    address: u64,
    bytes: u64,
    /// The numbers of other streams whose uses were recorded, so that they are not recorded again: each stream's number in
    /// the place that it gives. With one place, streams that take turns would record their uses at each launch.
    recorded: [AtomicU64; RECORDED],
}

/// The number of streams whose recorded uses an owner remembers.
const RECORDED: usize = 8;

/// The place of a stream's number in [`PoolBlock::recorded`].
#[inline]
fn place(stream: u64) -> usize {
    stream as usize % RECORDED
}

impl PoolBlock {
    #[inline]
    pub(crate) fn new(arena: Arc<StreamArena>, taken: AllocatedBlock, bytes: u64) -> PoolBlock {
        let AllocatedBlock { record, granules, address } = taken;
        PoolBlock { arena, record, granules, address, bytes, recorded: Default::default() }
    }

    /// Its address.
    #[inline]
    pub fn ptr(&self) -> DevicePtr {
        DevicePtr(self.address)
    }

    /// The number of bytes that were asked for.
    #[inline]
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// The number of bytes of the block. All of them may be used.
    #[inline]
    pub fn capacity(&self) -> u64 {
        u64::from(self.granules) * GRANULE
    }

    /// The number of owners of the block, including this one.
    pub fn owners(&self) -> u32 {
        self.arena.owners(self.record)
    }

    /// The number of the stream that it was allocated for, or 0 for memory of no stream.
    #[inline]
    pub fn stream_number(&self) -> u64 {
        self.arena.number()
    }

    /// Its device.
    pub fn device_id(&self) -> DeviceId {
        self.arena.shared().device
    }

    /// Returns whether both are owners of the same block.
    pub fn is_same(&self, other: &PoolBlock) -> bool {
        self.record == other.record && Arc::ptr_eq(&self.arena, &other.arena)
    }

    /// Frees a block that no caller of the pool got, without counting a free.
    #[cold]
    pub(crate) fn give_back_unused(self) {
        let arena = self.arena.clone();
        drop(self);
        arena.core().with(|_, counters| counters.frees -= 1);
    }

    /// Records that another stream uses the block.
    #[cold]
    pub(crate) fn record_use(&self, stream: StreamRef) {
        let number = stream.number;
        self.arena.record_use(self.record, self.address, stream);
        self.recorded[place(number)].store(number, Ordering::Relaxed);
    }

    /// Returns whether a use on the stream with that number need not be recorded: it is the block's own stream, or its
    /// recorded use is remembered.
    #[inline]
    pub(crate) fn has_recorded(&self, stream: u64) -> bool {
        self.arena.number() == stream || self.recorded[place(stream)].load(Ordering::Relaxed) == stream
    }
}

impl Clone for PoolBlock {
    fn clone(&self) -> PoolBlock {
        self.arena.share(self.record);
        let Self { record, granules, address, .. } = *self;
        let clone =
            PoolBlock::new(self.arena.clone(), AllocatedBlock { record, granules, address }, self.bytes);
        // A recorded use is one of the block, whichever owner recorded it.
        for (to, from) in clone.recorded.iter().zip(&self.recorded) {
            to.store(from.load(Ordering::Relaxed), Ordering::Relaxed);
        }
        clone
    }
}

impl Drop for PoolBlock {
    #[inline]
    fn drop(&mut self) {
        self.arena.free(self.record, self.address, self.bytes);
    }
}
