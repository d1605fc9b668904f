//! An event, owned or adopted.

use crate::device::Device;
use crate::error::Result;
use crate::launcher::Stream;
use hip_driver::{EventOptions, Note, RawEvent};

/// An event of a device: recorded on one stream, waited for by others or by the host.
#[derive(Debug)]
pub struct Event {
    device: Device,
    raw: RawEvent,
    /// Others made it, and destroy it.
    adopted: bool,
}

impl Event {
    /// Creates an event. [`elapsed_ms`](Event::elapsed_ms) needs one with `timing`, which costs more to record.
    ///
    /// # Errors
    /// The driver's.
    pub fn new(device: &Device, options: EventOptions) -> Result<Event> {
        device.check()?;
        let raw = device.raw().event_create(device.id(), options).map_err(|e| device.error(e))?;
        Ok(Event { device: device.clone(), raw, adopted: false })
    }

    /// Uses an event that others made, without owning it: it can be recorded and waited for, whoever recorded it last.
    /// Dropping it does not destroy it.
    ///
    /// # Safety
    /// `event` is a live event of the device, and of the driver that the device was opened with, as long as the `Event`
    /// lives. A use after its owner destroyed it is refused by the emulator and the validation layer; HIP may crash.
    pub unsafe fn from_raw(device: &Device, event: RawEvent) -> Event {
        let adopted = Event { device: device.clone(), raw: event, adopted: true };
        adopted.note(&Note::EventAdopt { device: device.id(), event });
        adopted
    }

    /// Tells whoever observes the driver.
    fn note(&self, note: &Note) {
        if let Some(observer) = self.device.raw().observer() {
            observer.note(note);
        }
    }

    /// The driver's handle (`hipEvent_t`), for libraries that record or wait for it themselves; good as long as the event
    /// lives.
    #[inline]
    pub fn as_raw(&self) -> RawEvent {
        self.raw
    }

    #[inline]
    pub(crate) fn raw(&self) -> RawEvent {
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
        stream.core().check()?;
        // SAFETY: both are live, of one device.
        unsafe { self.device.raw().event_record(self.device.id(), self.raw, stream.core().raw()) }
            .map_err(|e| self.device.error(e))
    }

    /// Makes what is enqueued on `stream` from now on wait for the last record.
    ///
    /// # Errors
    /// The driver's.
    pub fn wait_on(&self, stream: &Stream) -> Result<()> {
        let device = stream.device();
        stream.core().check()?;
        // SAFETY: both are live; the event may be another device's.
        unsafe { device.raw().stream_wait_event(device.id(), stream.core().raw(), self.raw) }
            .map_err(|e| device.error(e))
    }

    /// Whether the last record has been reached; never waits.
    ///
    /// # Errors
    /// The driver's.
    pub fn is_reached(&self) -> Result<bool> {
        // SAFETY: live.
        unsafe { self.device.raw().event_query(self.device.id(), self.raw) }.map_err(|e| self.device.error(e))
    }

    /// Waits until the last record has been reached.
    ///
    /// # Errors
    /// The driver's.
    pub fn synchronize(&self) -> Result<()> {
        // SAFETY: live.
        unsafe { self.device.raw().event_synchronize(self.device.id(), self.raw) }
            .map_err(|e| self.device.error(e))
    }

    /// Milliseconds from this event's record to `end`'s; both made with `timing` and reached.
    ///
    /// # Errors
    /// The driver's.
    pub fn elapsed_ms(&self, end: &Event) -> Result<f32> {
        // SAFETY: both are live.
        unsafe { self.device.raw().event_elapsed_ms(self.device.id(), self.raw, end.raw) }
            .map_err(|e| self.device.error(e))
    }
}

impl Drop for Event {
    fn drop(&mut self) {
        if self.adopted {
            return self.note(&Note::EventRelease { device: self.device.id(), event: self.raw });
        }
        // SAFETY: nobody else has the event any more.
        if let Err(e) = unsafe { self.device.raw().event_destroy(self.device.id(), self.raw) } {
            log::warn!("destroying an event of {}: {e}", self.device.id());
        }
    }
}
