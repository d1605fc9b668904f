//! Device scratch of one (kernel, stream) pair: grows lazily, and never loses what it has.

use crate::device::Device;
use crate::driver::{DevicePtr, EventOptions, RawEvent};
use crate::stream::StreamCore;

use super::Failed;

/// A device allocation with its fence, waiting for its last use to finish.
#[derive(Debug)]
struct Retired {
    ptr: DevicePtr,
    bytes: usize,
    last_use: u64,
    fence: RawEvent,
}

/// A device buffer that work on one stream uses as scratch.
///
/// ```text
/// ensure(n), n > capacity:   allocate new ──ok──> old retires behind a fence (or is freed, if idle) ──> use new
///                                │
///                               fails ──> typed error; old buffer, capacity and contents as before
/// ```
///
/// It grows to at least the request and at most twice it, never shrinks unless [trimmed](DeviceScratchBuffer::trim), and
/// holds at most twice its largest request: while an old buffer still waits for its fence, the new one is smaller by
/// as much, and one older than that is waited for.
#[derive(Debug)]
pub struct DeviceScratchBuffer {
    device: Device,
    ptr: DevicePtr,
    capacity: usize,
    retired: Option<Retired>,
    growths: u64,
}

impl DeviceScratchBuffer {
    /// An empty scratch; allocates nothing.
    pub fn new(device: &Device) -> DeviceScratchBuffer {
        DeviceScratchBuffer {
            device: device.clone(),
            ptr: DevicePtr::NULL,
            capacity: 0,
            retired: None,
            growths: 0,
        }
    }

    /// Its address; null while it is empty.
    #[inline]
    pub fn ptr(&self) -> DevicePtr {
        self.ptr
    }

    /// Its size in bytes.
    #[inline]
    pub fn capacity(&self) -> usize {
        self.capacity
    }

    /// Bytes held, with an old buffer that waits for its fence.
    pub fn held(&self) -> usize {
        self.capacity + self.retired.as_ref().map_or(0, |r| r.bytes)
    }

    /// How often it grew.
    pub fn growths(&self) -> u64 {
        self.growths
    }

    /// Makes it at least `bytes` long for work enqueued on `stream` from now on; `true` when its address changed (and
    /// its contents are gone).
    ///
    /// `stream` is always the same one.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`](crate::Error::OutOfMemory) and the driver's; the buffer is then as it was before.
    pub fn ensure(&mut self, bytes: usize, stream: &StreamCore) -> crate::Result<bool> {
        self.ensure_raw(bytes, stream).map_err(|e| e.into_error(&self.device))
    }

    #[inline]
    pub(crate) fn ensure_raw(&mut self, bytes: usize, stream: &StreamCore) -> Result<bool, Failed> {
        if bytes <= self.capacity { Ok(false) } else { self.grow(bytes, stream).map(|()| true) }
    }

    #[cold]
    fn grow(&mut self, bytes: usize, stream: &StreamCore) -> Result<(), Failed> {
        self.reclaim(stream, true)?;
        let idle = self.capacity == 0 || stream.completed() >= stream.enqueued();
        let double = self.capacity.saturating_mul(2);
        let room = if idle { double } else { double.min(bytes.saturating_mul(2) - self.capacity) };
        let wanted = bytes.max(room);
        let id = self.device.id();
        let (new, size) = match self.device.raw().malloc(id, wanted) {
            Ok(new) => (new, wanted),
            // Not twice then, but enough.
            Err(e) if wanted > bytes && e.code == crate::driver::ErrorCode::OUT_OF_MEMORY => {
                let new = self
                    .device
                    .raw()
                    .malloc(id, bytes)
                    .map_err(|e| Failed::Allocation("device", bytes, e))?;
                (new, bytes)
            }
            Err(e) => return Err(Failed::Allocation("device", bytes, e)),
        };
        self.device.add_held(size as u64);
        let (old, old_bytes) =
            (std::mem::replace(&mut self.ptr, new), std::mem::replace(&mut self.capacity, size));
        self.growths += 1;
        if old.is_null() {
            return Ok(());
        }
        match if idle { None } else { self.fence(stream) } {
            Some(fence) => {
                self.retired =
                    Some(Retired { ptr: old, bytes: old_bytes, last_use: stream.enqueued(), fence });
            }
            // Idle, or no fence to be had: a plain free waits for the device itself.
            None => self.free(old, old_bytes),
        }
        Ok(())
    }

    /// An event recorded behind everything on the stream.
    fn fence(&self, stream: &StreamCore) -> Option<RawEvent> {
        let (driver, id) = (self.device.raw(), self.device.id());
        let fence = driver.event_create(id, EventOptions::default()).ok()?;
        // SAFETY: a fresh event and a live stream of one device.
        match unsafe { driver.event_record(id, fence, stream.raw()) } {
            Ok(()) => Some(fence),
            Err(_) => {
                self.destroy(fence);
                None
            }
        }
    }

    /// Frees the old buffer if its last use has finished; `wait` waits for that.
    fn reclaim(&mut self, stream: &StreamCore, wait: bool) -> Result<(), Failed> {
        let Some(r) = &self.retired else { return Ok(()) };
        if wait {
            stream.wait_for(r.last_use, r.fence)?;
        } else if !stream.reached(r.last_use, r.fence)? {
            return Ok(());
        }
        if let Some(r) = self.retired.take() {
            self.destroy(r.fence);
            self.free(r.ptr, r.bytes);
        }
        Ok(())
    }

    /// Frees an old buffer whose last use is known to have finished, and with `all` the buffer itself if the stream is
    /// idle.
    ///
    /// # Errors
    /// The driver's.
    pub fn trim(&mut self, stream: &StreamCore, all: bool) -> crate::Result<()> {
        self.reclaim(stream, false).map_err(|e| e.into_error(&self.device))?;
        if all && stream.completed() >= stream.enqueued() && !self.ptr.is_null() {
            let (ptr, bytes) = (std::mem::take(&mut self.ptr), std::mem::take(&mut self.capacity));
            self.free(ptr, bytes);
        }
        Ok(())
    }

    /// Another buffer that believes it owns the same memory: the mistake that the validation layer has to notice.
    /// Forget it instead of dropping it.
    #[cfg(test)]
    pub(crate) fn alias(&self) -> DeviceScratchBuffer {
        let device = self.device.clone();
        DeviceScratchBuffer { device, ptr: self.ptr, capacity: self.capacity, retired: None, growths: 0 }
    }

    fn destroy(&self, fence: RawEvent) {
        // SAFETY: the fence is this buffer's own and is not used any more.
        if let Err(e) = unsafe { self.device.raw().event_destroy(self.device.id(), fence) } {
            log::warn!("destroying a fence of {}: {e}", self.device.id());
        }
    }

    fn free(&self, ptr: DevicePtr, bytes: usize) {
        self.device.sub_held(bytes as u64);
        // SAFETY: this buffer's own allocation; `free` waits for work that still uses it.
        if let Err(e) = unsafe { self.device.raw().free(self.device.id(), ptr) } {
            log::warn!("freeing {bytes} bytes of scratch on {}: {e}", self.device.id());
        }
    }
}

impl Drop for DeviceScratchBuffer {
    /// Frees the memory; the driver waits for work that still uses it.
    fn drop(&mut self) {
        if let Some(r) = self.retired.take() {
            self.destroy(r.fence);
            self.free(r.ptr, r.bytes);
        }
        if !self.ptr.is_null() {
            self.free(self.ptr, self.capacity);
        }
    }
}
