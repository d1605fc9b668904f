//! Streams.

use hip_driver::{Comparison, RawStream, StreamOptions, WaitCondition};
use hiplaunch::Stream;
use hiplaunch::memory::DeviceView;
use std::ffi::c_void;
use std::mem::MaybeUninit;

use super::buffers::{BUFFERS, hiplaunch_buffer, stream_of};
use super::handles::{Found, Kind, Table};
use super::input::{enumeration, enumerator, wanted};
use super::launcher::{hiplaunch_launcher, insert_in, launcher_of};
use super::status::{Failure, call, hiplaunch_status, status_of};

/// A stream of a device. Work on it runs in the order of the calls.
pub struct hiplaunch_stream {
    _opaque: (),
}

pub(super) static STREAMS: Table<Stream> = Table::new(Kind::Stream);

/// Creates a stream on a device. It does not wait for HIP's null stream, nor that for it.
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
        open(launcher, device, StreamOptions { priority: Some(priority), ..StreamOptions::default() }, stream)
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

/// A stream that somebody else made, without owning it: HIP's hipStream_t, or 0, 1 or 2 for the null stream (also called
/// hipStreamLegacy) and hipStreamPerThread. Launches, copies, events and memory work on it as on a stream of this library's,
/// and stand in one order with what its owner enqueues. A raw stream that is adopted twice, or was made by this library, is
/// one stream with two handles. hiplaunch_stream_close waits for all its work, the owner's included, once the last handle
/// and ticket goes, and does not destroy it.
///
/// The raw stream must be alive until then. While its owner captures it, launches without host data and results
/// become part of the owner's graph, whose kernels and memory the caller keeps as long. If its owner destroys it
/// earlier, the emulator and the validation layer refuse later calls with HIPLAUNCH_STATUS_DRIVER; HIP may crash. The
/// stream of hipStreamPerThread is that of the calling thread, and is refused on others with
/// HIPLAUNCH_STATUS_INVALID_ARGUMENT.
///
/// Ownership: the caller closes it, or the launcher. Threads: any. Errors: as hiplaunch_stream_open.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hiplaunch_stream_adopt(
    launcher: *const hiplaunch_launcher,
    device: u32,
    raw: *mut c_void,
    stream: Option<&mut MaybeUninit<*mut hiplaunch_stream>>,
) -> hiplaunch_status {
    call("hiplaunch_stream_adopt", || {
        let out = wanted(stream, "stream")?;
        let Found { owner, value: launcher } = launcher_of(launcher)?;
        let raw = RawStream(raw.expose_provenance() as u64);
        // SAFETY: the caller's promise.
        let stream = unsafe { launcher.stream_from_raw(launcher.device(device)?, raw) }?;
        out.write(insert_in(&STREAMS, owner, stream)?);
        Ok(())
    })
}

/// The driver's own handle of a stream, which is HIP's hipStream_t, for libraries that enqueue work of their own; good as
/// long as the stream is open. Their work stands in one order with launches.
///
/// Threads: any. Errors: HIPLAUNCH_STATUS_INVALID_HANDLE, HIPLAUNCH_STATUS_NULL_POINTER.
#[unsafe(no_mangle)]
pub extern "C" fn hiplaunch_stream_raw(
    stream: *const hiplaunch_stream,
    raw: Option<&mut MaybeUninit<*mut c_void>>,
) -> hiplaunch_status {
    call("hiplaunch_stream_raw", || {
        let out = wanted(raw, "raw")?;
        let raw = STREAMS.get(stream)?.value.as_raw();
        out.write(std::ptr::with_exposed_provenance_mut(raw.0 as usize));
        Ok(())
    })
}

/// Closes a stream. Waits for its work, unless tickets of the stream are open: these keep the stream until the last of
/// them is closed.
///
/// Threads: any. Errors: HIPLAUNCH_STATUS_INVALID_HANDLE.
#[unsafe(no_mangle)]
pub extern "C" fn hiplaunch_stream_close(stream: *mut hiplaunch_stream) -> hiplaunch_status {
    call("hiplaunch_stream_close", || STREAMS.take(stream).map(drop))
}

/// A function of the host that a stream runs, with the argument `user` of hiplaunch_stream_host_function. The status is
/// HIPLAUNCH_STATUS_OK, or HIPLAUNCH_STATUS_DEVICE_LOST or HIPLAUNCH_STATUS_DRIVER if the device is lost. AMD's library does not
/// say whether work has failed: there it is always HIPLAUNCH_STATUS_OK, and means that the stream came so far.
pub type hiplaunch_host_function = Option<extern "C" fn(user: *mut c_void, status: hiplaunch_status)>;

/// A function of the program and its argument.
pub(super) struct HostCall {
    function: extern "C" fn(*mut c_void, hiplaunch_status),
    user: *mut c_void,
}

// SAFETY: the pointer is only passed to the function, which hiplaunch_stream_host_function requires to work on any thread.
unsafe impl Send for HostCall {}
// SAFETY: as above.
unsafe impl Sync for HostCall {}

impl HostCall {
    pub(super) fn new(
        function: hiplaunch_host_function,
        user: *mut c_void,
    ) -> super::status::Result<HostCall> {
        let function = function.ok_or_else(|| Failure::null("function"))?;
        Ok(HostCall { function, user })
    }

    pub(super) fn call(&self, status: hiplaunch::Result<()>) {
        (self.function)(self.user, status.err().map_or(hiplaunch_status::Ok, |error| status_of(&error)));
    }
}

/// Calls a function of the host once all work that is enqueued on a stream so far has finished. Work that is enqueued later
/// waits until it has returned. It is called once, on a thread of the driver, also on a lost device; while the stream is captured, it
/// becomes a node of the graph instead, and is called at every launch of it. It must be brief, and must not call this library, nor
/// wait for work of the device. While it runs, the stream stands still, and whoever waits for it, too.
///
/// This is how a stream signals a semaphore, or fulfils a future, of another runtime:
///
/// ```c
/// static void signal(void *semaphore, hiplaunch_status status) {
///   runtime_semaphore_signal(semaphore, status == HIPLAUNCH_STATUS_OK);
/// }
/// hiplaunch_stream_host_function(stream, signal, semaphore);
/// ```
///
/// Ownership: `user` belongs to the caller, and must be valid until the function has returned, or the graph is closed and its last
/// launch has finished. If this fails, the function is not called. Threads: any. Errors: HIPLAUNCH_STATUS_DEVICE_LOST,
/// HIPLAUNCH_STATUS_INVALID_HANDLE, HIPLAUNCH_STATUS_NULL_POINTER;
/// HIPLAUNCH_STATUS_CAPTURED on a stream of others that they capture; HIPLAUNCH_STATUS_DRIVER of a HIP without host functions,
/// which is older than 5.3.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hiplaunch_stream_host_function(
    stream: *const hiplaunch_stream,
    function: hiplaunch_host_function,
    user: *mut c_void,
) -> hiplaunch_status {
    call("hiplaunch_stream_host_function", || {
        let host = HostCall::new(function, user)?;
        Ok(STREAMS.get(stream)?.value.repeated_host_function(move |status| host.call(status))?)
    })
}

/// How a stream compares the value that it waits for with the one in memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub enum hiplaunch_comparison {
    /// The masked value in memory is at least as large. (hipStreamWaitValueGte)
    AtLeast = 0,
    /// It is equal. (hipStreamWaitValueEq)
    Equal = 1,
    /// It has any of the bits. (hipStreamWaitValueAnd)
    AnyBit = 2,
    /// Within the mask, some bit is in neither of the two. (hipStreamWaitValueNor)
    NotAllBits = 3,
}
enumeration!(hiplaunch_comparison: AtLeast, Equal, AnyBit, NotAllBits);

/// Has a stream write a value to the 8 bytes of a buffer from its byte `offset` on, which is a multiple of 8, once all work that is
/// enqueued so far has finished. With hiplaunch_stream_wait_value, it orders streams by a number that counts up, as a timeline
/// semaphore does, and the wait can be enqueued first.
///
/// Threads: any. Errors: HIPLAUNCH_STATUS_INVALID_ARGUMENT if they are no aligned bytes of the buffer, or the buffer is on another
/// device; HIPLAUNCH_STATUS_INVALID_HANDLE, HIPLAUNCH_STATUS_DEVICE_LOST; HIPLAUNCH_STATUS_CAPTURED while the stream is captured;
/// HIPLAUNCH_STATUS_DRIVER where the driver can't do this.
#[unsafe(no_mangle)]
pub extern "C" fn hiplaunch_stream_write_value(
    stream: *const hiplaunch_stream,
    buffer: *const hiplaunch_buffer,
    offset: usize,
    value: u64,
) -> hiplaunch_status {
    call("hiplaunch_stream_write_value", || {
        let (stream, place) = value_of(stream, buffer, offset)?;
        Ok(stream.write_value(&place, value)?)
    })
}

/// Has work that is enqueued on a stream from now on wait until the 8 bytes of a buffer from its byte `offset` on, which is a multiple
/// of 8, have such a value; bits that are not in `mask` do not count. `comparison` is a hiplaunch_comparison. Another stream or a
/// kernel writes the value. If nobody does, the stream stands still until the device is lost, and whoever waits for it, too.
///
/// Ownership: the buffer may be closed at once. Threads and errors: as hiplaunch_stream_write_value.
#[unsafe(no_mangle)]
pub extern "C" fn hiplaunch_stream_wait_value(
    stream: *const hiplaunch_stream,
    buffer: *const hiplaunch_buffer,
    offset: usize,
    comparison: u32,
    value: u64,
    mask: u64,
) -> hiplaunch_status {
    call("hiplaunch_stream_wait_value", || {
        let comparison = match enumerator(comparison)? {
            hiplaunch_comparison::AtLeast => Comparison::AtLeast,
            hiplaunch_comparison::Equal => Comparison::Equal,
            hiplaunch_comparison::AnyBit => Comparison::AnyBit,
            hiplaunch_comparison::NotAllBits => Comparison::NotAllBits,
        };
        let (stream, place) = value_of(stream, buffer, offset)?;
        Ok(stream.wait_value(&place, WaitCondition { comparison, value, mask })?)
    })
}

/// Returns a stream, and the place of a value in a buffer.
fn value_of(
    stream: *const hiplaunch_stream,
    buffer: *const hiplaunch_buffer,
    offset: usize,
) -> super::status::Result<(Stream, DeviceView<u8>)> {
    let (owner, place) =
        BUFFERS.look(buffer, |found| (found.owner, found.value.view_strided(offset, &[8], &[1])))?;
    Ok((stream_of(stream, owner)?, place?))
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
