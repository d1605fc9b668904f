//! An owned event.

use crate::device::Device;
use crate::error::Result;
use crate::launcher::Stream;
use hip_driver::{EventOptions, RawEvent};

/// An event of a device: recorded on one stream, waited for by others or by the host.
#[derive(Debug)]
pub struct Event {
    device: Device,
    raw: RawEvent,
}

impl Event {
    /// Creates an event. [`elapsed_ms`](Event::elapsed_ms) needs one with `timing`, which costs more to record.
    ///
    /// # Errors
    /// The driver's.
    pub fn new(device: &Device, options: EventOptions) -> Result<Event> {
        device.check()?;
        let raw = device.raw().event_create(device.id(), options).map_err(|e| device.error(e))?;
        Ok(Event { device: device.clone(), raw })
    }

    /// The driver's handle; good as long as the event lives.
    #[inline]
    pub fn raw(&self) -> RawEvent {
        self.raw
    }

    /// Records it after everything enqueued on `stream` so far.
    ///
    /// # Errors
    /// The driver's; a stream of another device is [`Error::Invalid`](crate::Error::Invalid).
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

    /// Makes what is enqueued on `stream` from now on wait for the last record.
    ///
    /// # Errors
    /// The driver's.
    pub fn wait_on(&self, stream: &Stream) -> Result<()> {
        let device = stream.device();
        let raw = stream.core().for_work().map_err(|e| device.error(e))?;
        // SAFETY: both are owned and live; the event may be another device's.
        unsafe { device.raw().stream_wait_event(device.id(), raw, self.raw) }.map_err(|e| device.error(e))
    }

    /// Whether the last record has been reached; never waits.
    ///
    /// # Errors
    /// The driver's.
    pub fn is_reached(&self) -> Result<bool> {
        // SAFETY: owned and live.
        unsafe { self.device.raw().event_query(self.device.id(), self.raw) }.map_err(|e| self.device.error(e))
    }

    /// Waits until the last record has been reached.
    ///
    /// # Errors
    /// The driver's.
    pub fn synchronize(&self) -> Result<()> {
        // SAFETY: owned and live.
        unsafe { self.device.raw().event_synchronize(self.device.id(), self.raw) }
            .map_err(|e| self.device.error(e))
    }

    /// Milliseconds from this event's record to `end`'s; both made with `timing` and reached.
    ///
    /// # Errors
    /// The driver's.
    pub fn elapsed_ms(&self, end: &Event) -> Result<f32> {
        // SAFETY: both are owned and live.
        unsafe { self.device.raw().event_elapsed_ms(self.device.id(), self.raw, end.raw) }
            .map_err(|e| self.device.error(e))
    }
}

impl Drop for Event {
    fn drop(&mut self) {
        // SAFETY: nobody else has the event any more.
        if let Err(e) = unsafe { self.device.raw().event_destroy(self.device.id(), self.raw) } {
            log::warn!("destroying an event of {}: {e}", self.device.id());
        }
    }
}
