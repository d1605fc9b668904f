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
/// When it grows, its new capacity is at least the request and less than twice that. It shrinks only when it is
/// [trimmed](DeviceScratchBuffer::trim).
#[derive(Debug)]
pub struct DeviceScratchBuffer {
    device: Device,
    block: Option<PoolBlock>,
    capacity: usize,
    growths: u64,
}

impl DeviceScratchBuffer {
    /// Creates an empty buffer. Allocates nothing.
    pub fn new(device: &Device) -> DeviceScratchBuffer {
        DeviceScratchBuffer { device: device.clone(), block: None, capacity: 0, growths: 0 }
    }

    /// Its address, or null while it is empty.
    #[inline]
    pub fn ptr(&self) -> DevicePtr {
        self.block.as_ref().map_or(DevicePtr::NULL, PoolBlock::ptr)
    }

    /// Its size in bytes.
    #[inline]
    pub fn capacity(&self) -> usize {
        self.capacity
    }

    /// The number of bytes that it holds of the pool: the capacity of its pool block.
    pub fn held(&self) -> usize {
        self.block.as_ref().map_or(0, |b| b.capacity() as usize)
    }

    /// The number of times that it grew.
    pub fn growths(&self) -> u64 {
        self.growths
    }

    #[inline]
    pub(crate) fn ensure_raw(
        &mut self,
        bytes: usize,
        arena: &Arc<StreamArena>,
        caller: RequestContext,
    ) -> Result<bool, LockedFailure> {
        if bytes <= self.capacity { Ok(false) } else { self.grow(bytes, arena, caller).map(|()| true) }
    }

    #[cold]
    fn grow(
        &mut self,
        bytes: usize,
        arena: &Arc<StreamArena>,
        caller: RequestContext,
    ) -> Result<(), LockedFailure> {
        let wanted = bytes.max(self.capacity.saturating_mul(2));
        let allocate = |bytes: usize, caller| self.device.pool_core().allocate(arena, bytes as u64, caller);
        let (block, size) = match allocate(wanted, RequestContext::UnderLock) {
            Ok(block) => (block, wanted),
            // Twice the old capacity is not available. The request alone may be.
            Err(e)
                if e.code == ErrorCode::OUT_OF_MEMORY
                    && (wanted > bytes || caller == RequestContext::Free) =>
            {
                let block =
                    allocate(bytes, caller).map_err(|e| LockedFailure::Allocation("device", bytes, e))?;
                (block, bytes)
            }
            Err(e) => return Err(LockedFailure::Allocation("device", bytes, e)),
        };
        // The old block is freed for later requests of this stream, whose work comes after the work that used it.
        self.block = Some(block);
        self.capacity = size;
        self.growths += 1;
        Ok(())
    }

    /// Frees the memory, in the order of the stream.
    pub fn trim(&mut self) {
        self.capacity = 0;
        self.block = None;
    }

    /// Returns another buffer that claims the same memory: the mistake that the validation layer has to find.
    #[cfg(all(test, feature = "emulator"))]
    pub(crate) fn alias(&self) -> DeviceScratchBuffer {
        let (device, block) = (self.device.clone(), self.block.clone());
        DeviceScratchBuffer { device, block, capacity: self.capacity, growths: 0 }
    }
}
