//! A driver's stream that is destroyed when its owner is dropped.

use std::sync::Arc;

use hip_driver::{DeviceId, Driver, DriverResult, RawStream, StreamOptions};

/// A stream of the driver. Work may be enqueued on it while this lives.
#[derive(Debug)]
pub(crate) struct OwnedStream {
    driver: Arc<dyn Driver>,
    device: DeviceId,
    raw: RawStream,
    number: u64,
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
        Ok(OwnedStream { driver: driver.clone(), device, raw, number })
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
