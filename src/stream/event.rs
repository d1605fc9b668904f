//! An event, owned or adopted.

use crate::device::Device;
use crate::error::Result;
use hip_driver::{EventOptions, Note, RawEvent};

use super::Stream;

/// An event of a device. It is recorded on one stream; other streams or the host wait for it.
///
/// Dropping it destroys the driver's event.
#[derive(Debug)]
pub struct Event {
    device: Device,
    raw: RawEvent,
    /// Others made it, and destroy it.
    adopted: bool,
}

impl Event {
    /// Creates an event. [`elapsed_ms`](Event::elapsed_ms) needs events with `timing`, which cost more to record.
    ///
    /// # Errors
    /// [`Error::DeviceLost`](crate::Error::DeviceLost) if the device is lost; else returns the driver's error.
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

    /// Returns the driver's handle (`hipEvent_t`), which is valid as long as the event lives, for libraries that record or
    /// wait for it themselves.
    #[inline]
    pub fn as_raw(&self) -> RawEvent {
        self.raw
    }

    #[inline]
    pub(crate) fn raw(&self) -> RawEvent {
        self.raw
    }

    /// Records the event after all work enqueued on `stream` so far.
    ///
    /// # Errors
    /// [`Error::Invalid`](crate::Error::Invalid) for a stream of another device; else returns the driver's error.
    pub fn record(&self, stream: &Stream) -> Result<()> {
        stream.state().check_device(&self.device, "Event::record", "event")?;
        stream.state().check()?;
        // SAFETY: both are live, of one device.
        unsafe {
            self.device.raw().event_record(self.device.id(), self.raw, stream.state().driver_stream.raw())
        }
        .map_err(|e| self.device.error(e))
    }

    /// Makes work that is enqueued on `stream` from now on wait until the event's last record is reached. The stream
    /// may be another device's.
    ///
    /// # Errors
    /// Returns the driver's error.
    pub fn wait_on(&self, stream: &Stream) -> Result<()> {
        let device = stream.device();
        stream.state().check()?;
        let raw = stream.state().driver_stream.for_work().map_err(|e| device.error(e))?;
        // SAFETY: both are live; the event may be another device's.
        unsafe { device.raw().stream_wait_event(device.id(), raw, self.raw) }.map_err(|e| device.error(e))
    }

    /// Returns whether the last record has been reached. Never waits.
    ///
    /// # Errors
    /// Returns the driver's error.
    pub fn is_reached(&self) -> Result<bool> {
        // SAFETY: live.
        unsafe { self.device.raw().event_query(self.device.id(), self.raw) }.map_err(|e| self.device.error(e))
    }

    /// Waits until the last record has been reached.
    ///
    /// # Errors
    /// Returns the driver's error.
    pub fn synchronize(&self) -> Result<()> {
        // SAFETY: live.
        unsafe { self.device.raw().event_synchronize(self.device.id(), self.raw) }
            .map_err(|e| self.device.error(e))
    }

    /// Returns the milliseconds from this event's last record to that of `end`. Both events have `timing`, and both
    /// records have been reached.
    ///
    /// # Errors
    /// Returns the driver's error.
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
        // SAFETY: `self` owns the event and is its last user.
        if let Err(e) = unsafe { self.device.raw().event_destroy(self.device.id(), self.raw) } {
            log::warn!("destroying an event of {}: {e}", self.device.id());
        }
    }
}
