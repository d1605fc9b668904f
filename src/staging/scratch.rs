//! The device scratch of one kernel–stream pair. It grows on demand, and loses nothing when that fails.

use std::sync::Arc;

use crate::device::Device;
use crate::pool::{PoolBlock, RequestContext, StreamArena};
use hip_driver::{DevicePtr, ErrorCode};

use super::LockedFailure;

/// Device scratch for the work of one stream, from the device's pool.
///
/// ```text
/// ensure(n), n > capacity:   allocate new ──ok──> free the old block, in the order of the stream ──> use new
///                                │
///                               fails ──> typed error; old block, capacity and contents unchanged
/// ```
///
/// When it grows, its new capacity is at least the request and less than twice that. It never shrinks.
#[derive(Debug)]
pub(crate) struct DeviceScratch {
    device: Device,
    block: Option<PoolBlock>,
    capacity: usize,
}

impl DeviceScratch {
    /// Creates an empty buffer. Allocates nothing.
    pub(crate) fn new(device: &Device) -> DeviceScratch {
        DeviceScratch { device: device.clone(), block: None, capacity: 0 }
    }

    /// Its address, or null while it is empty.
    #[inline]
    pub(crate) fn ptr(&self) -> DevicePtr {
        self.block.as_ref().map_or(DevicePtr::NULL, PoolBlock::ptr)
    }

    /// The number of bytes that it holds of the pool: the capacity of its pool block.
    pub(crate) fn held(&self) -> usize {
        self.block.as_ref().map_or(0, |b| b.capacity() as usize)
    }

    /// Makes it at least `bytes` long for work enqueued from now on on the arena's stream, which is always the same and is
    /// locked. Returns `true` if it grew; its contents are then undefined.
    ///
    /// # Errors
    /// An allocation's. The buffer is then unchanged.
    #[inline]
    pub(crate) fn ensure(&mut self, bytes: usize, arena: &Arc<StreamArena>) -> Result<bool, LockedFailure> {
        if bytes <= self.capacity { Ok(false) } else { self.grow(bytes, arena).map(|()| true) }
    }

    #[cold]
    fn grow(&mut self, bytes: usize, arena: &Arc<StreamArena>) -> Result<(), LockedFailure> {
        let allocate = |bytes: usize| {
            let block = self.device.pool_core().allocate(arena, bytes as u64, RequestContext::UnderLock);
            block.map(|block| (block, bytes))
        };
        let wanted = bytes.max(self.capacity.saturating_mul(2));
        let allocated = match allocate(wanted) {
            // Twice the old capacity is not available. The request alone may be.
            Err(e) if e.code == ErrorCode::OUT_OF_MEMORY && wanted > bytes => allocate(bytes),
            other => other,
        };
        let (block, capacity) = allocated.map_err(|e| LockedFailure::Allocation("device", bytes, e))?;
        // The old block is freed for later requests of this stream, whose work comes after the work that used it.
        (self.block, self.capacity) = (Some(block), capacity);
        Ok(())
    }

    /// Returns another buffer that claims the same memory: the mistake that the validation layer has to find.
    #[cfg(all(test, feature = "emulator"))]
    pub(crate) fn alias(&self) -> DeviceScratch {
        let (device, block) = (self.device.clone(), self.block.clone());
        DeviceScratch { device, block, capacity: self.capacity }
    }
}
