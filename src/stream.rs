//! The driver's stream within a [`Stream`](crate::Stream): its device, its arena in the pool, and its progress.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::device::Device;
use crate::error::Result;
use crate::memory::pool::{PoolBlock, StreamArena, StreamRef};
use crate::owned_stream::OwnedStream;
use crate::progress::Progress;
use hip_driver::{DriverResult, RawEvent, RawStream, StreamOptions};

/// Returns a number that no other stream of the process has.
pub(crate) fn next_number() -> u64 {
    static NUMBER: AtomicU64 = AtomicU64::new(1);
    NUMBER.fetch_add(1, Ordering::Relaxed)
}

/// A stream of the driver, with its progress and its arena. Work that the host has seen complete is never waited for
/// again.
#[derive(Debug)]
pub(crate) struct StreamCore {
    device: Device,
    owned: Arc<OwnedStream>,
    progress: Progress,
    /// The stream's segments and blocks in the device's pool.
    arena: Arc<StreamArena>,
}

impl StreamCore {
    /// Creates a stream.
    ///
    /// # Errors
    /// [`Error::DeviceLost`](crate::Error::DeviceLost) if the device is lost; else returns the driver's error.
    pub(crate) fn new(device: &Device, options: StreamOptions) -> Result<StreamCore> {
        device.check()?;
        let number = next_number();
        let owned =
            OwnedStream::new(device.driver(), device.id(), options, number).map_err(|e| device.error(e))?;
        let owned = Arc::new(owned);
        let arena = device.pool_core().join(&owned);
        Ok(StreamCore { device: device.clone(), owned, progress: Progress::new(), arena })
    }

    /// Returns the stream's device.
    #[inline]
    pub(crate) fn device(&self) -> &Device {
        &self.device
    }

    /// Returns the driver's handle, which is valid as long as the stream lives.
    #[inline]
    pub(crate) fn raw(&self) -> RawStream {
        self.owned.raw()
    }

    /// Returns the stream's number, which no other stream of the process has.
    #[inline]
    pub(crate) fn number(&self) -> u64 {
        self.owned.number()
    }

    #[inline]
    pub(crate) fn arena(&self) -> &Arc<StreamArena> {
        &self.arena
    }

    /// See [`Stream::record_use`](crate::Stream::record_use).
    #[inline]
    pub(crate) fn record_use(&self, block: &PoolBlock) {
        if !block.has_recorded(self.number()) {
            block.record(self.stream_ref());
        }
    }

    pub(crate) fn stream_ref(&self) -> StreamRef {
        StreamRef::new(&self.owned)
    }

    /// See [`Progress::next`].
    #[inline]
    pub(crate) fn next(&self) -> u64 {
        self.progress.next()
    }

    /// See [`Progress::publish`].
    #[inline]
    pub(crate) fn publish(&self, sequence: u64) {
        self.progress.publish(sequence);
    }

    /// The driver's handle, for a call that enqueues; see [`OwnedStream::for_work`].
    #[inline]
    pub(crate) fn for_work(&self) -> DriverResult<RawStream> {
        self.owned.for_work()
    }

    /// See [`OwnedStream::defer`].
    #[inline]
    pub(crate) fn defer(&self, sequence: u64, event: RawEvent) -> DriverResult<()> {
        self.owned.defer(sequence, event)
    }

    /// See [`OwnedStream::share`].
    pub(crate) fn share(&self) -> RawStream {
        self.owned.share()
    }

    /// The last position enqueued.
    #[inline]
    pub(crate) fn enqueued(&self) -> u64 {
        self.progress.enqueued()
    }

    /// Returns the last position that the host has seen complete.
    #[inline]
    pub(crate) fn completed(&self) -> u64 {
        self.progress.completed()
    }

    /// Records that all work up to position `sequence` has finished.
    #[inline]
    pub(crate) fn mark_completed(&self, sequence: u64) {
        self.progress.mark_completed(sequence);
        self.owned.finished(sequence);
    }

    /// Waits for all work on the stream, and then frees cached segments above the pool's soft target.
    ///
    /// # Errors
    /// Returns the driver's error; [`Error::DeviceLost`](crate::Error::DeviceLost) if a kernel has faulted.
    pub(crate) fn synchronize(&self) -> Result<()> {
        self.device.check()?;
        let upto = self.enqueued();
        // Taken out of the arena before the wait, so that work enqueued from now on can't use them.
        let excess = self.device.pool_core().take_excess(&self.arena);
        if let Err(e) = self.owned.synchronize() {
            self.arena.put_back(excess);
            return Err(self.device.error(e));
        }
        self.mark_completed(upto);
        if !excess.is_empty() {
            self.arena.give_to_driver(excess).map_err(|e| self.device.error(e))?;
        }
        Ok(())
    }

    /// Returns whether all work on the stream has finished. Never waits.
    ///
    /// # Errors
    /// [`Error::DeviceLost`](crate::Error::DeviceLost) if the device is lost; else returns the driver's error.
    pub(crate) fn is_idle(&self) -> Result<bool> {
        self.device.check()?;
        let upto = self.enqueued();
        // SAFETY: the stream is owned by `self`, and this driver created it for this device.
        let idle = unsafe { self.device.raw().stream_query(self.device.id(), self.raw()) }
            .map_err(|e| self.device.error(e))?;
        if idle {
            self.mark_completed(upto);
        }
        Ok(idle)
    }

    /// Waits for `event`, which is recorded after position `sequence` or deferred, unless that is known to have finished.
    pub(crate) fn wait_for(&self, sequence: u64, event: RawEvent) -> DriverResult<()> {
        if self.completed() >= sequence {
            return Ok(());
        }
        if self.owned.deferred() == sequence {
            self.owned.synchronize()?;
            self.mark_completed(sequence);
            return Ok(());
        }
        // SAFETY: callers pass a live event of this device.
        unsafe { self.device.raw().event_synchronize(self.device.id(), event) }?;
        self.mark_completed(sequence);
        Ok(())
    }

    /// Whether `event`, which is recorded after position `sequence` or deferred, has been reached; never waits.
    pub(crate) fn reached(&self, sequence: u64, event: RawEvent) -> DriverResult<bool> {
        if self.completed() >= sequence {
            return Ok(true);
        }
        let (driver, device) = (self.device.raw(), self.device.id());
        // SAFETY: the stream is owned by `self`; callers pass a live event of this device.
        let done = unsafe {
            match self.owned.deferred() == sequence {
                true => driver.stream_query(device, self.raw()),
                false => driver.event_query(device, event),
            }
        }?;
        if done {
            self.mark_completed(sequence);
        }
        Ok(done)
    }
}

impl Drop for StreamCore {
    /// Waits for the stream's work, because other streams then get its memory.
    fn drop(&mut self) {
        // A lost device runs nothing any more, and its error was returned before.
        if self.device.check().is_ok()
            && let Err(e) = self.owned.synchronize()
        {
            log::warn!("waiting for a stream of {} that is dropped: {e}", self.device.id());
            // The arena keeps the driver's stream, so that a stream that takes its memory waits for it first.
            self.arena.keep(&self.owned);
            return;
        }
        self.device.pool_core().leave(self.number());
    }
}
