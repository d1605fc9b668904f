//! Streams.

use hip_driver::StreamOptions;
use hiplaunch::launcher::Stream;
use std::mem::MaybeUninit;

use super::handles::{Found, Kind, Table};
use super::input::wanted;
use super::launcher::{hiplaunch_launcher, insert_in, launcher_of};
use super::status::{call, hiplaunch_status};

/// A stream of a device. Work on it runs in the order of the calls.
pub struct hiplaunch_stream {
    _opaque: (),
}

pub(super) static STREAMS: Table<Stream> = Table::new(Kind::Stream);

/// Creates a stream on a device. Streams never synchronize with HIP's null stream.
///
/// Ownership: the caller closes the stream, or the launcher. Threads: any. Errors: HIPLAUNCH_STATUS_INVALID_HANDLE,
/// HIPLAUNCH_STATUS_INVALID_ARGUMENT, HIPLAUNCH_STATUS_NULL_POINTER, HIPLAUNCH_STATUS_DRIVER,
/// HIPLAUNCH_STATUS_DEVICE_LOST.
#[unsafe(no_mangle)]
pub extern "C" fn hiplaunch_stream_open(
    launcher: *const hiplaunch_launcher,
    device: u32,
    stream: Option<&mut MaybeUninit<*mut hiplaunch_stream>>,
) -> hiplaunch_status {
    call("hiplaunch_stream_open", || open(launcher, device, StreamOptions::default(), stream))
}

/// Creates a stream with one of HIP's priorities; a lower number is more urgent.
///
/// Ownership, threads and errors: as hiplaunch_stream_open.
#[unsafe(no_mangle)]
pub extern "C" fn hiplaunch_stream_open_with_priority(
    launcher: *const hiplaunch_launcher,
    device: u32,
    priority: i32,
    stream: Option<&mut MaybeUninit<*mut hiplaunch_stream>>,
) -> hiplaunch_status {
    call("hiplaunch_stream_open_with_priority", || {
        open(launcher, device, StreamOptions { priority: Some(priority) }, stream)
    })
}

fn open(
    launcher: *const hiplaunch_launcher,
    device: u32,
    options: StreamOptions,
    stream: Option<&mut MaybeUninit<*mut hiplaunch_stream>>,
) -> super::status::Result<()> {
    let out = wanted(stream, "stream")?;
    let Found { owner, value: launcher } = launcher_of(launcher)?;
    let stream = launcher.stream_with(launcher.device(device)?, options)?;
    out.write(insert_in(&STREAMS, owner, stream)?);
    Ok(())
}

/// Closes a stream. Waits for its work, unless tickets of the stream are open: these keep the stream until the last of
/// them is closed.
///
/// Threads: any. Errors: HIPLAUNCH_STATUS_INVALID_HANDLE.
#[unsafe(no_mangle)]
pub extern "C" fn hiplaunch_stream_close(stream: *mut hiplaunch_stream) -> hiplaunch_status {
    call("hiplaunch_stream_close", || STREAMS.take(stream).map(drop))
}

/// Waits for all work on a stream.
///
/// Threads: any. Errors: HIPLAUNCH_STATUS_DEVICE_LOST if a kernel faulted; HIPLAUNCH_STATUS_DRIVER,
/// HIPLAUNCH_STATUS_INVALID_HANDLE.
#[unsafe(no_mangle)]
pub extern "C" fn hiplaunch_stream_synchronize(stream: *const hiplaunch_stream) -> hiplaunch_status {
    call("hiplaunch_stream_synchronize", || Ok(STREAMS.get(stream)?.value.synchronize()?))
}

/// Whether all work on a stream has finished; never waits.
///
/// Threads: any. Errors: as hiplaunch_stream_synchronize, and HIPLAUNCH_STATUS_NULL_POINTER.
#[unsafe(no_mangle)]
pub extern "C" fn hiplaunch_stream_is_idle(
    stream: *const hiplaunch_stream,
    idle: Option<&mut MaybeUninit<bool>>,
) -> hiplaunch_status {
    call("hiplaunch_stream_is_idle", || {
        let idle = wanted(idle, "idle")?;
        idle.write(STREAMS.get(stream)?.value.is_idle()?);
        Ok(())
    })
}

/// Waits for a stream, frees its device scratch, and returns its device's cached memory to the driver. The next
/// launches allocate it again.
///
/// Threads: any. Errors: as hiplaunch_stream_synchronize.
#[unsafe(no_mangle)]
pub extern "C" fn hiplaunch_stream_trim(stream: *const hiplaunch_stream) -> hiplaunch_status {
    call("hiplaunch_stream_trim", || Ok(STREAMS.get(stream)?.value.trim()?))
}
