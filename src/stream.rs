//! A stream of a device and how far the host knows it to have run.

use std::sync::atomic::{AtomicU64, Ordering};

use crate::device::Device;
use crate::driver::{DriverResult, RawEvent, RawStream, StreamOptions};
use crate::error::Result;
use crate::progress::Progress;

/// An owned stream. Counts what is enqueued, so that what the host once saw finish is never waited for again.
#[derive(Debug)]
pub struct StreamCore {
    device: Device,
    raw: RawStream,
    number: u64,
    progress: Progress,
}

impl StreamCore {
    /// Makes a stream.
    ///
    /// # Errors
    /// The driver's.
    pub fn new(device: &Device, options: StreamOptions) -> Result<StreamCore> {
        static NUMBER: AtomicU64 = AtomicU64::new(1);
        device.check()?;
        let raw = device.raw().stream_create(device.id(), options).map_err(|e| device.error(e))?;
        Ok(StreamCore {
            device: device.clone(),
            raw,
            number: NUMBER.fetch_add(1, Ordering::Relaxed),
            progress: Progress::new(),
        })
    }

    /// Its device.
    #[inline]
    pub fn device(&self) -> &Device {
        &self.device
    }

    /// The driver's handle; good as long as the stream lives.
    #[inline]
    pub fn raw(&self) -> RawStream {
        self.raw
    }

    /// A number that no other stream of the process has.
    #[inline]
    pub fn number(&self) -> u64 {
        self.number
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

    /// The last position enqueued.
    #[inline]
    pub(crate) fn enqueued(&self) -> u64 {
        self.progress.enqueued()
    }

    /// The last position that the host knows to have finished.
    #[inline]
    pub(crate) fn completed(&self) -> u64 {
        self.progress.completed()
    }

    /// Everything up to `sequence` has finished.
    #[inline]
    pub(crate) fn mark_completed(&self, sequence: u64) {
        self.progress.mark_completed(sequence);
    }

    /// Waits for all work on the stream.
    ///
    /// # Errors
    /// The driver's; a fault of a kernel comes out here.
    pub fn synchronize(&self) -> Result<()> {
        self.device.check()?;
        let upto = self.enqueued();
        // SAFETY: the stream is owned by `self` and made by this driver for this device.
        unsafe { self.device.raw().stream_synchronize(self.device.id(), self.raw) }
            .map_err(|e| self.device.error(e))?;
        self.mark_completed(upto);
        Ok(())
    }

    /// Whether all work on the stream has finished; never waits.
    ///
    /// # Errors
    /// The driver's.
    pub fn is_idle(&self) -> Result<bool> {
        self.device.check()?;
        let upto = self.enqueued();
        // SAFETY: as in `synchronize`.
        let idle = unsafe { self.device.raw().stream_query(self.device.id(), self.raw) }
            .map_err(|e| self.device.error(e))?;
        if idle {
            self.mark_completed(upto);
        }
        Ok(idle)
    }

    /// Waits for `event`, recorded after position `sequence`, unless that is known to have finished.
    pub(crate) fn wait_for(&self, sequence: u64, event: RawEvent) -> DriverResult<()> {
        if self.completed() >= sequence {
            return Ok(());
        }
        // SAFETY: callers pass a live event of this device.
        unsafe { self.device.raw().event_synchronize(self.device.id(), event) }?;
        self.mark_completed(sequence);
        Ok(())
    }

    /// Whether `event`, recorded after position `sequence`, has been reached; never waits.
    pub(crate) fn reached(&self, sequence: u64, event: RawEvent) -> DriverResult<bool> {
        if self.completed() >= sequence {
            return Ok(true);
        }
        // SAFETY: callers pass a live event of this device.
        let done = unsafe { self.device.raw().event_query(self.device.id(), event) }?;
        if done {
            self.mark_completed(sequence);
        }
        Ok(done)
    }
}

impl Drop for StreamCore {
    fn drop(&mut self) {
        // SAFETY: nobody else has the stream any more.
        if let Err(e) = unsafe { self.device.raw().stream_destroy(self.device.id(), self.raw) } {
            log::warn!("destroying a stream of {}: {e}", self.device.id());
        }
    }
}
