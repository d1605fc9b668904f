//! Events.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};

use hip_driver::{DeviceId, ErrorCode, EventOptions, RawEvent, RawStream};

use crate::abi::c_caller::{Handle, Out};
use crate::abi::status::{HipResult, Status};
use crate::process::Process;
use crate::process::captures::{CapturedRecord, key};
use crate::process::objects::Objects;
use crate::process::thread;
use crate::stream::StreamHandle;

/// A `hipEvent_t`: the driver's number.
pub(crate) type EventHandle = Handle<Event>;

// The flags of `hipEventCreateWithFlags`.
const BLOCKING_SYNC: u32 = 1;
const DISABLE_TIMING: u32 = 2;
const INTERPROCESS: u32 = 4;
const RELEASE: u32 = 0xe000_0000;

/// An event of the program.
pub(crate) struct Event {
    device: DeviceId,
    flags: u32,
    recorded: AtomicBool,
    /// Its last record, if that was on a captured stream.
    captured: Mutex<Option<CapturedRecord>>,
}

/// The events of the program.
pub(crate) static EVENTS: Objects<Event> = Objects::new();

impl Event {
    /// Whether it was recorded, and last on a stream that was not captured.
    pub(crate) fn is_recorded(&self) -> bool {
        self.recorded.load(Ordering::Relaxed)
    }

    /// The last record, if it was on a captured stream. The capture may have ended.
    pub(crate) fn captured(&self) -> Option<CapturedRecord> {
        self.captured.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Notes a record: on a captured stream, or not.
    pub(crate) fn set_captured(&self, record: Option<CapturedRecord>) {
        self.recorded.store(record.is_none(), Ordering::Relaxed);
        *self.captured.lock().unwrap_or_else(PoisonError::into_inner) = record;
    }
}

impl Process {
    /// Returns an event and its device. Fails with `INVALID_HANDLE` if it does not exist.
    pub(crate) fn event(&self, handle: EventHandle) -> HipResult<(DeviceId, RawEvent)> {
        let device = EVENTS.with(handle.0, |event| event.device).ok_or(Status::INVALID_HANDLE)?;
        Ok((device, RawEvent(handle.0)))
    }

    /// Returns an event that a call waits for or asks about, if captures allow that.
    fn observed_event(&self, handle: EventHandle) -> HipResult<(DeviceId, RawEvent)> {
        let event = EVENTS.expect(handle.0, Status::INVALID_HANDLE)?;
        self.may_observe_event(&event)?;
        Ok((event.device, RawEvent(handle.0)))
    }

    /// Records an event on a stream, if the stream is captured. Returns whether it is.
    fn capture_record(&self, on: (DeviceId, RawStream), event: &Event) -> bool {
        self.captures.record(&key(on)).map(|record| event.set_captured(Some(record))).is_some()
    }

    /// Makes a stream wait for an event, if one of the two belongs to a capture. Returns whether one does.
    pub(crate) fn capture_wait(&self, on: (DeviceId, RawStream), event: &Event) -> HipResult<bool> {
        if !self.captures.any() {
            return Ok(false);
        }
        Ok(self.captures.wait(key(on), event.captured(), event.is_recorded())?)
    }

    /// Checks that captures allow a call that waits for an event or asks for its state.
    fn may_observe_event(&self, event: &Event) -> HipResult {
        if !self.captures.any() {
            return Ok(());
        }
        Ok(self.captures.may_observe_event(event.captured().as_ref())?)
    }

    /// Records an event on a stream of the event's device.
    pub(crate) fn record(&self, handle: EventHandle, stream: StreamHandle) -> HipResult {
        let event = EVENTS.expect(handle.0, Status::INVALID_HANDLE)?;
        let (device, raw) = self.stream(stream)?;
        // A null stream is the current device's.
        if device != event.device {
            return Err(Status::INVALID_HANDLE);
        }
        if self.capture_record((device, raw), &event) {
            return Ok(());
        }
        // SAFETY: the event and the stream are live and of one device.
        unsafe { self.driver.event_record(event.device, RawEvent(handle.0), raw) }?;
        event.set_captured(None);
        Ok(())
    }
}

pub(crate) fn create(process: &Process, event: Out<EventHandle>, flags: u32) -> HipResult {
    event.check()?;
    let released = (flags & RELEASE).count_ones();
    if flags & !(BLOCKING_SYNC | DISABLE_TIMING | INTERPROCESS | RELEASE) != 0 || released > 1 {
        return Err(Status::INVALID_VALUE);
    }
    if flags & INTERPROCESS != 0 && flags & DISABLE_TIMING == 0 {
        return Err(Status::INVALID_VALUE);
    }
    let device = thread::device();
    let timing = flags & DISABLE_TIMING == 0;
    let raw = process.driver.event_create(device, EventOptions { timing })?;
    EVENTS
        .insert(raw.0, Event { device, flags, recorded: AtomicBool::new(false), captured: Mutex::default() });
    event.set(Handle::new(raw.0))
}

pub(crate) fn hipEventDestroy(process: &Process, event: EventHandle) -> HipResult {
    let removed = EVENTS.remove(event.0);
    let missing = if event.is_null() { Status::INVALID_HANDLE } else { Status::CONTEXT_IS_DESTROYED };
    let device = removed.ok_or(missing)?.device;
    // SAFETY: the event was live, and nobody finds it any more.
    Ok(unsafe { process.driver.event_destroy(device, RawEvent(event.0)) }?)
}

pub(crate) fn hipEventRecordWithFlags(
    process: &Process,
    event: EventHandle,
    stream: StreamHandle,
    flags: u32,
) -> HipResult {
    // hipEventRecordExternal: on a captured stream, the graph records the event when it is launched.
    match flags {
        0 => {}
        1 => {
            process.event(event)?;
            if process.capture_external(process.stream(stream)?, event, true)? {
                return Ok(());
            }
        }
        _ => return Err(Status::INVALID_VALUE),
    }
    process.record(event, stream)
}

pub(crate) fn hipEventQuery(process: &Process, event: EventHandle) -> HipResult {
    let (device, raw) = process.observed_event(event)?;
    // SAFETY: the event is live.
    let reached = unsafe { process.driver.event_query(device, raw) }?;
    if reached { Ok(()) } else { Err(Status::NOT_READY) }
}

pub(crate) fn hipEventSynchronize(process: &Process, event: EventHandle) -> HipResult {
    let (device, raw) = process.observed_event(event)?;
    // SAFETY: the event is live.
    unsafe { process.driver.event_synchronize(device, raw) }?;
    process.pools().after_wait(process);
    Ok(())
}

pub(crate) fn hipEventElapsedTime(
    process: &Process,
    milliseconds: Out<f32>,
    start: EventHandle,
    end: EventHandle,
) -> HipResult {
    milliseconds.check()?;
    let timed = |handle: EventHandle| {
        let event = EVENTS.expect(handle.0, Status::INVALID_HANDLE)?;
        let can = event.flags & DISABLE_TIMING == 0 && event.is_recorded();
        if can { Ok(event.device) } else { Err(Status::INVALID_HANDLE) }
    };
    let (device, other) = (timed(start)?, timed(end)?);
    if device != other {
        return Err(Status::INVALID_HANDLE);
    }
    // SAFETY: the events are live and of one device.
    let elapsed = unsafe { process.driver.event_elapsed_ms(device, RawEvent(start.0), RawEvent(end.0)) };
    milliseconds.set(elapsed.map_err(|error| match error.code {
        ErrorCode::ILLEGAL_STATE => Status::NOT_READY,
        _ => error.into(),
    })?)
}
