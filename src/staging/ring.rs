//! Pinned host memory for copies to the device: staging buffers that are filled one after the other, each with a fence.

use std::collections::VecDeque;
use std::ptr::NonNull;

use crate::device::Device;
use crate::driver_stream::DriverStream;
use hip_driver::{DevicePtr, DriverError, EventOptions, RawEvent};

use super::LockedFailure;
use super::pinned::Pinned;

/// Staging ranges begin at multiples of this number of bytes, a cache line.
const ALIGN: usize = 64;

/// The size of a stream's staging ring: the bytes of a staging buffer and the greatest number of buffers.
#[derive(Clone, Copy, Debug)]
pub(crate) struct StagingOptions {
    pub(crate) buffer_bytes: usize,
    pub(crate) max_buffers: usize,
}

impl Default for StagingOptions {
    fn default() -> StagingOptions {
        StagingOptions { buffer_bytes: 256 * 1024, max_buffers: 4 }
    }
}

/// The staging memory of one launch. The caller writes it. A copy or kernel in flight reads it later.
#[derive(Clone, Copy, Debug)]
pub(crate) struct StagingRange {
    pub(crate) host: NonNull<u8>,
    pub(crate) device: DevicePtr,
}

/// One pinned allocation, filled from its start.
#[derive(Debug)]
struct StagingBuffer {
    memory: Pinned,
    fence: RawEvent,
    /// The position on the stream of the last piece of work that uses the buffer.
    last_use: u64,
    /// Whether `fence` was recorded after that work.
    fenced: bool,
}

/// The pinned memory from which a stream's arguments are copied to the device.
///
/// Staging buffers are filled one after the other. When the ring leaves one, it records its fence. When it returns to
/// one, it waits for that fence, unless the host has already seen the work complete. So nothing is overwritten while a
/// copy may still read it, and an event is recorded once for each staging buffer, not once for each launch.
#[derive(Debug)]
pub(crate) struct StagingRing {
    /// The front is the oldest. The back is the one that is being filled.
    buffers: VecDeque<StagingBuffer>,
    used: usize,
    device: Device,
    options: StagingOptions,
    #[cfg(test)]
    pub(crate) without_fence: bool,
}

impl StagingRing {
    /// Creates a ring. Its staging buffers are allocated when they are first needed.
    pub(crate) fn new(device: &Device, options: StagingOptions) -> StagingRing {
        let StagingOptions { buffer_bytes, max_buffers } = options;
        StagingRing {
            buffers: VecDeque::new(),
            used: 0,
            device: device.clone(),
            options: StagingOptions {
                buffer_bytes: buffer_bytes.max(ALIGN),
                max_buffers: max_buffers.max(1),
            },
            #[cfg(test)]
            without_fence: false,
        }
    }

    /// Takes `bytes` bytes (not 0) of staging memory. May wait for the oldest fence if the ring is full.
    #[inline]
    pub(crate) fn take(
        &mut self,
        stream: &DriverStream,
        bytes: usize,
    ) -> Result<StagingRange, LockedFailure> {
        let fits = self.buffers.back().is_some_and(|s| s.memory.bytes() - self.used >= bytes);
        if !fits {
            self.next_buffer(stream, bytes)?;
        }
        let Some(buffer) = self.buffers.back() else {
            return Err(DriverError::new("hipHostMalloc", hip_driver::ErrorCode::OUT_OF_MEMORY).into());
        };
        let memory = buffer.memory.get();
        let at = self.used;
        self.used = (at + bytes).next_multiple_of(ALIGN).min(memory.bytes);
        // SAFETY: `at + bytes <= memory.bytes`, as checked above or ensured by `next_buffer`.
        let host = unsafe { memory.host.add(at) };
        Ok(StagingRange { host, device: memory.device.offset(at as u64) })
    }

    /// Records that work at `position` uses the range taken last.
    #[inline]
    pub(crate) fn used_by(&mut self, position: u64) {
        if let Some(buffer) = self.buffers.back_mut() {
            buffer.last_use = position;
            buffer.fenced = false;
        }
    }

    /// Makes a staging buffer with `bytes` free bytes the back one.
    #[cold]
    fn next_buffer(&mut self, stream: &DriverStream, bytes: usize) -> Result<(), LockedFailure> {
        if let Some(left) = self.buffers.back_mut()
            && !left.fenced
            && left.last_use > stream.progress.completed()
        {
            let device = &self.device;
            // SAFETY: the fence is the staging buffer's own, of this stream's device.
            unsafe { device.raw().event_record(device.id(), left.fence, stream.raw()) }?;
            left.fenced = true;
        }
        let full = self.buffers.len() >= self.options.max_buffers;
        // The oldest is used again if it is large enough, and is known to be free or the ring is full.
        let oldest_fits = self.buffers.front().is_some_and(|s| s.memory.bytes() >= bytes);
        let wanted = bytes.max(self.options.buffer_bytes);
        if oldest_fits && (full || self.oldest_is_free(stream)?) {
            self.reuse_oldest(stream)
        } else {
            match self.allocate(wanted) {
                Ok(()) if full => self.drop_oldest(stream),
                Ok(()) => Ok(()),
                // Waiting is better than failing.
                Err(_) if oldest_fits => self.reuse_oldest(stream),
                Err(e) => Err(e),
            }
        }
    }

    fn allocate(&mut self, bytes: usize) -> Result<(), LockedFailure> {
        let device = &self.device;
        let memory = Pinned::new(device, bytes)?;
        let fence = device.raw().event_create(device.id(), EventOptions::default())?;
        self.buffers.push_back(StagingBuffer { memory, fence, last_use: 0, fenced: false });
        self.used = 0;
        Ok(())
    }

    fn oldest_is_free(&self, stream: &DriverStream) -> Result<bool, LockedFailure> {
        #[cfg(test)]
        if self.without_fence {
            return Ok(true);
        }
        match self.buffers.front() {
            Some(s) => Ok(s.last_use <= stream.progress.completed()
                || (s.fenced && stream.reached(s.last_use, s.fence)?)),
            None => Ok(false),
        }
    }

    /// Waits for the oldest staging buffer's fence. Every staging buffer but the back one has its fence recorded. For a
    /// single one, `next_buffer` records it before this.
    fn wait_for_oldest(&self, stream: &DriverStream) -> Result<(), LockedFailure> {
        #[cfg(test)]
        if self.without_fence {
            return Ok(());
        }
        if let Some(s) = self.buffers.front() {
            stream.wait_for(s.last_use, s.fence)?;
        }
        Ok(())
    }

    fn reuse_oldest(&mut self, stream: &DriverStream) -> Result<(), LockedFailure> {
        self.wait_for_oldest(stream)?;
        if let Some(mut s) = self.buffers.pop_front() {
            s.fenced = false;
            self.buffers.push_back(s);
            self.used = 0;
        }
        Ok(())
    }

    fn drop_oldest(&mut self, stream: &DriverStream) -> Result<(), LockedFailure> {
        self.wait_for_oldest(stream)?;
        if let Some(s) = self.buffers.pop_front() {
            destroy(&self.device, s);
        }
        Ok(())
    }

    /// Frees everything. The stream must be idle.
    pub(crate) fn clear(&mut self) {
        self.used = 0;
        self.buffers.drain(..).for_each(|s| destroy(&self.device, s));
    }

    /// The number of bytes of pinned memory held.
    pub(crate) fn held(&self) -> usize {
        self.buffers.iter().map(|s| s.memory.bytes()).sum()
    }
}

fn destroy(device: &Device, buffer: StagingBuffer) {
    // SAFETY: the fence is the staging buffer's own, and nothing waits for it any more.
    if let Err(e) = unsafe { device.raw().event_destroy(device.id(), buffer.fence) } {
        log::warn!("destroying a fence of {}: {e}", device.id());
    }
}
