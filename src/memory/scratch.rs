//! Device scratch of one (kernel, stream) pair: grows lazily, and never loses what it has.

use crate::device::Device;
use crate::launcher::Stream;
use crate::stream::StreamCore;
use hip_driver::{DevicePtr, ErrorCode};

use super::LockedFailure;
use super::pool::{PoolBlock, RequestContext};

/// A device buffer that work on one stream uses as scratch, from the device's pool.
///
/// ```text
/// ensure(n), n > capacity:   allocate new ──ok──> old goes back to the pool, in the order of the stream ──> use new
///                                │
///                               fails ──> typed error; old buffer, capacity and contents as before
/// ```
///
/// It grows to at least the request and at most twice it, and never shrinks unless [trimmed](DeviceScratchBuffer::trim).
#[derive(Debug)]
pub struct DeviceScratchBuffer {
    device: Device,
    block: Option<PoolBlock>,
    capacity: usize,
    growths: u64,
}

impl DeviceScratchBuffer {
    /// An empty scratch; allocates nothing.
    pub fn new(device: &Device) -> DeviceScratchBuffer {
        DeviceScratchBuffer { device: device.clone(), block: None, capacity: 0, growths: 0 }
    }

    /// Its address; null while it is empty.
    #[inline]
    pub fn ptr(&self) -> DevicePtr {
        self.block.as_ref().map_or(DevicePtr::NULL, PoolBlock::ptr)
    }

    /// Its size in bytes.
    #[inline]
    pub fn capacity(&self) -> usize {
        self.capacity
    }

    /// Bytes of the pool that it holds: its size, and what its block has beyond that.
    pub fn held(&self) -> usize {
        self.block.as_ref().map_or(0, |b| b.capacity() as usize)
    }

    /// How often it grew.
    pub fn growths(&self) -> u64 {
        self.growths
    }

    /// Makes it at least `bytes` long for work enqueued on `stream` from now on; `true` when it grew (and its contents
    /// are gone).
    ///
    /// `stream` is always the same one.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`](crate::Error::OutOfMemory) and the driver's; the buffer is then as it was before.
    pub fn ensure(&mut self, bytes: usize, stream: &Stream) -> crate::Result<bool> {
        self.ensure_raw(bytes, stream.core(), RequestContext::Free).map_err(|e| e.into_error(&self.device))
    }

    #[inline]
    pub(crate) fn ensure_raw(
        &mut self,
        bytes: usize,
        stream: &StreamCore,
        caller: RequestContext,
    ) -> Result<bool, LockedFailure> {
        if bytes <= self.capacity { Ok(false) } else { self.grow(bytes, stream, caller).map(|()| true) }
    }

    #[cold]
    fn grow(
        &mut self,
        bytes: usize,
        stream: &StreamCore,
        caller: RequestContext,
    ) -> Result<(), LockedFailure> {
        let wanted = bytes.max(self.capacity.saturating_mul(2));
        let allocate =
            |bytes: usize, caller| self.device.pool_core().allocate(stream.arena(), bytes as u64, caller);
        let (block, size) = match allocate(wanted, RequestContext::UnderLock) {
            Ok(block) => (block, wanted),
            // Not twice then, but enough.
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
        // The old one is free for the next request of this stream, whose work comes after what used it.
        self.block = Some(block);
        self.capacity = size;
        self.growths += 1;
        Ok(())
    }

    /// Gives the memory back to the pool, in the order of the stream.
    pub fn trim(&mut self) {
        self.capacity = 0;
        self.block = None;
    }

    /// Another buffer that believes it owns the same memory: the mistake that the validation layer has to notice.
    #[cfg(all(test, feature = "emulator"))]
    pub(crate) fn alias(&self) -> DeviceScratchBuffer {
        let (device, block) = (self.device.clone(), self.block.clone());
        DeviceScratchBuffer { device, block, capacity: self.capacity, growths: 0 }
    }
}
