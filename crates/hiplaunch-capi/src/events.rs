//! Events: order between streams, and times.

use std::ffi::c_void;
use std::mem::MaybeUninit;
use std::sync::Arc;

use hip_driver::RawEvent;
use hiplaunch::Event;
use hiplaunch::EventOptions;

use super::handles::{Found, Kind, Table, same_owner};
use super::input::wanted;
use super::launcher::{hiplaunch_launcher, insert_in, launcher_of};
use super::status::{call, hiplaunch_status};
use super::streams::{STREAMS, hiplaunch_stream};

/// An event: a point in the order of a stream, for which other streams and the host can wait.
pub struct hiplaunch_event {
    _opaque: (),
}

pub(super) static EVENTS: Table<Arc<Event>> = Table::new(Kind::Event);

/// Creates an event on a device. With `timing`, hiplaunch_event_elapsed can use it; such an event costs more.
///
/// Ownership: the caller closes it, or the launcher. Threads: any. Errors: HIPLAUNCH_STATUS_INVALID_HANDLE,
/// HIPLAUNCH_STATUS_INVALID_ARGUMENT, HIPLAUNCH_STATUS_NULL_POINTER, HIPLAUNCH_STATUS_DRIVER,
/// HIPLAUNCH_STATUS_DEVICE_LOST.
#[unsafe(no_mangle)]
pub extern "C" fn hiplaunch_event_open(
    launcher: *const hiplaunch_launcher,
    device: u32,
    timing: bool,
    event: Option<&mut MaybeUninit<*mut hiplaunch_event>>,
) -> hiplaunch_status {
    call("hiplaunch_event_open", || {
        let out = wanted(event, "event")?;
        let Found { owner, value: launcher } = launcher_of(launcher)?;
        let event = Event::new(launcher.device(device)?, EventOptions { timing })?;
        out.write(insert_in(&EVENTS, owner, Arc::new(event))?);
        Ok(())
    })
}

/// An event that somebody else made (HIP's hipEvent_t), without owning it: it can be recorded and waited for, whoever
/// recorded it last, and hiplaunch_event_close does not destroy it. It must be alive until then.
///
/// Ownership: the caller closes it, or the launcher. Threads: any. Errors: as hiplaunch_event_open.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hiplaunch_event_adopt(
    launcher: *const hiplaunch_launcher,
    device: u32,
    raw: *mut c_void,
    event: Option<&mut MaybeUninit<*mut hiplaunch_event>>,
) -> hiplaunch_status {
    call("hiplaunch_event_adopt", || {
        let out = wanted(event, "event")?;
        let Found { owner, value: launcher } = launcher_of(launcher)?;
        let raw = RawEvent(raw.expose_provenance() as u64);
        // SAFETY: the caller's promise.
        let event = unsafe { Event::from_raw(launcher.device(device)?, raw) };
        out.write(insert_in(&EVENTS, owner, Arc::new(event))?);
        Ok(())
    })
}

/// The driver's own handle of an event, which is HIP's hipEvent_t; good as long as the event is open.
///
/// Threads: any. Errors: HIPLAUNCH_STATUS_INVALID_HANDLE, HIPLAUNCH_STATUS_NULL_POINTER.
#[unsafe(no_mangle)]
pub extern "C" fn hiplaunch_event_raw(
    event: *const hiplaunch_event,
    raw: Option<&mut MaybeUninit<*mut c_void>>,
) -> hiplaunch_status {
    call("hiplaunch_event_raw", || {
        let out = wanted(raw, "raw")?;
        let raw = EVENTS.get(event)?.value.as_raw();
        out.write(std::ptr::with_exposed_provenance_mut(raw.0 as usize));
        Ok(())
    })
}

/// Closes an event. Streams that wait for it still wait.
///
/// Threads: any. Errors: HIPLAUNCH_STATUS_INVALID_HANDLE.
#[unsafe(no_mangle)]
pub extern "C" fn hiplaunch_event_close(event: *mut hiplaunch_event) -> hiplaunch_status {
    call("hiplaunch_event_close", || EVENTS.take(event).map(drop))
}

/// Records an event after everything enqueued on a stream of its device so far.
///
/// Threads: any. Errors: HIPLAUNCH_STATUS_INVALID_HANDLE, HIPLAUNCH_STATUS_INVALID_ARGUMENT for a stream of another
/// device, HIPLAUNCH_STATUS_DRIVER, HIPLAUNCH_STATUS_DEVICE_LOST.
#[unsafe(no_mangle)]
pub extern "C" fn hiplaunch_event_record(
    event: *const hiplaunch_event,
    stream: *const hiplaunch_stream,
) -> hiplaunch_status {
    call("hiplaunch_event_record", || {
        let (event, stream) = (EVENTS.get(event)?, STREAMS.get(stream)?);
        same_owner(event.owner, stream.owner, "stream")?;
        Ok(event.value.record(&stream.value)?)
    })
}

/// Makes the work that is enqueued on a stream from now on wait for an event's last record, which may be on another
/// device.
///
/// Threads: any. Errors: as hiplaunch_event_record.
#[unsafe(no_mangle)]
pub extern "C" fn hiplaunch_stream_wait_event(
    stream: *const hiplaunch_stream,
    event: *const hiplaunch_event,
) -> hiplaunch_status {
    call("hiplaunch_stream_wait_event", || {
        let (stream, event) = (STREAMS.get(stream)?, EVENTS.get(event)?);
        same_owner(stream.owner, event.owner, "event")?;
        Ok(event.value.wait_on(&stream.value)?)
    })
}

/// Whether an event's last record has been reached; never waits.
///
/// Threads: any. Errors: HIPLAUNCH_STATUS_INVALID_HANDLE, HIPLAUNCH_STATUS_NULL_POINTER, HIPLAUNCH_STATUS_DRIVER,
/// HIPLAUNCH_STATUS_DEVICE_LOST.
#[unsafe(no_mangle)]
pub extern "C" fn hiplaunch_event_is_reached(
    event: *const hiplaunch_event,
    reached: Option<&mut MaybeUninit<bool>>,
) -> hiplaunch_status {
    call("hiplaunch_event_is_reached", || {
        let reached = wanted(reached, "reached")?;
        reached.write(EVENTS.get(event)?.value.is_reached()?);
        Ok(())
    })
}

/// Waits until an event's last record has been reached.
///
/// Threads: any. Errors: as hiplaunch_event_is_reached.
#[unsafe(no_mangle)]
pub extern "C" fn hiplaunch_event_synchronize(event: *const hiplaunch_event) -> hiplaunch_status {
    call("hiplaunch_event_synchronize", || Ok(EVENTS.get(event)?.value.synchronize()?))
}

/// The milliseconds from the record of one event to the record of another. Both events must have been opened with
/// `timing`, and must be reached.
///
/// Threads: any. Errors: as hiplaunch_event_is_reached.
#[unsafe(no_mangle)]
pub extern "C" fn hiplaunch_event_elapsed(
    start: *const hiplaunch_event,
    end: *const hiplaunch_event,
    milliseconds: Option<&mut MaybeUninit<f32>>,
) -> hiplaunch_status {
    call("hiplaunch_event_elapsed", || {
        let milliseconds = wanted(milliseconds, "milliseconds")?;
        let (start, end) = (EVENTS.get(start)?, EVENTS.get(end)?);
        same_owner(start.owner, end.owner, "end")?;
        milliseconds.write(start.value.elapsed_ms(&end.value)?);
        Ok(())
    })
}
