//! A driver's stream that is destroyed when its owner is dropped.

use std::sync::Arc;

use crate::deferred_event::DeferredEvent;
use hip_driver::{DeviceId, Driver, DriverResult, RawEvent, RawStream, StreamOptions};

/// A stream of the driver. Work may be enqueued on it while this lives.
#[derive(Debug)]
pub(crate) struct OwnedStream {
    driver: Arc<dyn Driver>,
    device: DeviceId,
    raw: RawStream,
    number: u64,
    deferred: DeferredEvent,
}

impl OwnedStream {
    /// Creates a stream. No other stream of the process has the same `number`.
    pub(crate) fn new(
        driver: &Arc<dyn Driver>,
        device: DeviceId,
        options: StreamOptions,
        number: u64,
    ) -> DriverResult<OwnedStream> {
        let raw = driver.stream_create(device, options)?;
        Ok(OwnedStream { driver: driver.clone(), device, raw, number, deferred: DeferredEvent::new() })
    }

    #[inline]
    pub(crate) fn device(&self) -> DeviceId {
        self.device
    }

    #[inline]
    pub(crate) fn raw(&self) -> RawStream {
        self.raw
    }

    #[inline]
    pub(crate) fn number(&self) -> u64 {
        self.number
    }

    /// Returns the driver's handle for a call that enqueues. Records a deferred event first.
    #[inline]
    pub(crate) fn for_work(&self) -> DriverResult<RawStream> {
        self.deferred.settle(|event| self.record(event))?;
        Ok(self.raw)
    }

    /// Has `event` recorded after the work at `position` if it is needed. See [`DeferredEvent::defer`].
    #[inline]
    pub(crate) fn defer(&self, position: u64, event: RawEvent) -> DriverResult<()> {
        self.deferred.defer(position, event.0, |event| self.record(event))
    }

    /// See [`DeferredEvent::position`].
    #[inline]
    pub(crate) fn deferred(&self) -> u64 {
        self.deferred.position()
    }

    /// See [`DeferredEvent::finished`].
    #[inline]
    pub(crate) fn finished(&self, position: u64) {
        self.deferred.finished(position);
    }

    /// Returns the driver's handle for others, who may enqueue on the stream from now on.
    pub(crate) fn share(&self) -> RawStream {
        if let Err(e) = self.deferred.share(|event| self.record(event)) {
            // It stays deferred, so that its results are waited for with the stream.
            log::warn!("recording an event on a stream of {}: {e}", self.device);
        }
        self.raw
    }

    fn record(&self, event: u64) -> DriverResult<()> {
        // SAFETY: the event belongs to a result buffer of this stream, which lives as long as the stream.
        unsafe { self.driver.event_record(self.device, RawEvent(event), self.raw) }
    }

    /// Waits for all work on the stream.
    pub(crate) fn synchronize(&self) -> DriverResult<()> {
        // SAFETY: the stream is owned by `self`, and this driver created it for this device.
        unsafe { self.driver.stream_synchronize(self.device, self.raw) }
    }
}

impl Drop for OwnedStream {
    fn drop(&mut self) {
        // SAFETY: `self` owns the stream and is its last user.
        if let Err(e) = unsafe { self.driver.stream_destroy(self.device, self.raw) } {
            log::warn!("destroying a stream of {}: {e}", self.device);
        }
    }
}
