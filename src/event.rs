//! An owned event.

use crate::device::Device;
use crate::error::Result;
use crate::launcher::Stream;
use hip_driver::{EventOptions, RawEvent};

/// An event of a device. It is recorded on one stream; other streams or the host wait for it.
///
/// Dropping it destroys the driver's event.
#[derive(Debug)]
pub struct Event {
    device: Device,
    raw: RawEvent,
}

impl Event {
    /// Creates an event. [`elapsed_ms`](Event::elapsed_ms) needs events with `timing`, which cost more to record.
    ///
    /// # Errors
    /// [`Error::DeviceLost`](crate::Error::DeviceLost) if the device is lost; else returns the driver's error.
    pub fn new(device: &Device, options: EventOptions) -> Result<Event> {
        device.check()?;
        let raw = device.raw().event_create(device.id(), options).map_err(|e| device.error(e))?;
        Ok(Event { device: device.clone(), raw })
    }

    /// Returns the driver's handle, which is valid as long as the event lives.
    #[inline]
    pub fn raw(&self) -> RawEvent {
        self.raw
    }

    /// Records the event after all work enqueued on `stream` so far.
    ///
    /// # Errors
    /// [`Error::Invalid`](crate::Error::Invalid) for a stream of another device; else returns the driver's error.
    pub fn record(&self, stream: &Stream) -> Result<()> {
        if *stream.device() != self.device {
            return Err(crate::Error::invalid(
                "Event::record",
                "the stream is on another device than the event",
            ));
        }
        // SAFETY: both are owned and live, of one device.
        unsafe { self.device.raw().event_record(self.device.id(), self.raw, stream.core().raw()) }
            .map_err(|e| self.device.error(e))
    }

    /// Makes work that is enqueued on `stream` from now on wait until the event's last record is reached. The stream
    /// may be another device's.
    ///
    /// # Errors
    /// Returns the driver's error.
    pub fn wait_on(&self, stream: &Stream) -> Result<()> {
        let device = stream.device();
        let raw = stream.core().for_work().map_err(|e| device.error(e))?;
        // SAFETY: both are owned and live; the event may be another device's.
        unsafe { device.raw().stream_wait_event(device.id(), raw, self.raw) }.map_err(|e| device.error(e))
    }

    /// Returns whether the last record has been reached. Never waits.
    ///
    /// # Errors
    /// Returns the driver's error.
    pub fn is_reached(&self) -> Result<bool> {
        // SAFETY: owned and live.
        unsafe { self.device.raw().event_query(self.device.id(), self.raw) }.map_err(|e| self.device.error(e))
    }

    /// Waits until the last record has been reached.
    ///
    /// # Errors
    /// Returns the driver's error.
    pub fn synchronize(&self) -> Result<()> {
        // SAFETY: owned and live.
        unsafe { self.device.raw().event_synchronize(self.device.id(), self.raw) }
            .map_err(|e| self.device.error(e))
    }

    /// Returns the milliseconds from this event's last record to that of `end`. Both events have `timing`, and both
    /// records have been reached.
    ///
    /// # Errors
    /// Returns the driver's error.
    pub fn elapsed_ms(&self, end: &Event) -> Result<f32> {
        // SAFETY: both are owned and live.
        unsafe { self.device.raw().event_elapsed_ms(self.device.id(), self.raw, end.raw) }
            .map_err(|e| self.device.error(e))
    }
}

impl Drop for Event {
    fn drop(&mut self) {
        // SAFETY: `self` owns the event and is its last user.
        if let Err(e) = unsafe { self.device.raw().event_destroy(self.device.id(), self.raw) } {
            log::warn!("destroying an event of {}: {e}", self.device.id());
        }
    }
}
