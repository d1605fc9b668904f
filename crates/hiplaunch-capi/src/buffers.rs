//! Device buffers: bytes from the device's pool, and copies of them.

use std::ffi::c_void;
use std::mem::MaybeUninit;

use hiplaunch::Stream;
use hiplaunch::memory::{DeviceBuffer, DeviceView};

use super::handles::{Found, Kind, Owner, Table, same_owner};
use super::input::{bytes, bytes_mut, wanted};
use super::launcher::{hiplaunch_launcher, insert_in, launcher_of, launcher_that_owns};
use super::status::{Result, call, hiplaunch_status};
use super::streams::{STREAMS, hiplaunch_stream};
use super::tickets::{hand_out, hiplaunch_ticket};

/// Device memory from the device's pool. It returns to the pool when the buffer is closed and the work that uses it has
/// finished.
pub struct hiplaunch_buffer {
    _opaque: (),
}

pub(super) static BUFFERS: Table<DeviceBuffer<u8>> = Table::new(Kind::Buffer);

/// Allocates a buffer on a device. Its contents are undefined. 0 bytes allocate nothing.
///
/// With a `stream`, the buffer is for work on that stream, and if the pool has free memory for it, no driver call is
/// made. Another stream must wait for that stream before it uses the buffer. Launches that take the buffer as an
/// argument, and copies, record its use, so closing it is safe at any time. With a null `stream`, any stream may use it
/// at once.
///
/// Ownership: the caller closes it, or the launcher. Threads: any. Errors: HIPLAUNCH_STATUS_OUT_OF_MEMORY,
/// HIPLAUNCH_STATUS_INVALID_ARGUMENT for a device that does not exist or a stream of another device,
/// HIPLAUNCH_STATUS_INVALID_HANDLE, HIPLAUNCH_STATUS_NULL_POINTER, HIPLAUNCH_STATUS_DRIVER,
/// HIPLAUNCH_STATUS_DEVICE_LOST.
#[unsafe(no_mangle)]
pub extern "C" fn hiplaunch_buffer_open(
    launcher: *const hiplaunch_launcher,
    device: u32,
    stream: *const hiplaunch_stream,
    bytes: usize,
    buffer: Option<&mut MaybeUninit<*mut hiplaunch_buffer>>,
) -> hiplaunch_status {
    call("hiplaunch_buffer_open", || {
        let out = wanted(buffer, "buffer")?;
        let Found { owner, value: launcher } = launcher_of(launcher)?;
        let device = launcher.device(device)?;
        let buffer = if stream.is_null() {
            DeviceBuffer::new(device, bytes)?
        } else {
            let stream = stream_of(stream, owner)?;
            if stream.device() != device {
                let problem = format!("the stream is on {}, not on {}", stream.device().id(), device.id());
                return Err(super::status::Failure::invalid(problem));
            }
            DeviceBuffer::on(&stream, bytes)?
        };
        out.write(insert_in(&BUFFERS, owner, buffer)?);
        Ok(())
    })
}

/// Returns the stream of a handle. It is an error if the stream is of another launcher.
pub(super) fn stream_of(stream: *const hiplaunch_stream, owner: Owner) -> Result<Stream> {
    let Found { owner: its, value } = STREAMS.get(stream)?;
    same_owner(owner, its, "stream")?;
    Ok(value)
}

/// Closes a buffer. Its memory returns to the pool in stream order; this function does not wait for that. Views of the
/// buffer keep the memory until they are closed, too.
///
/// Threads: any; waits for calls on other threads that use the buffer. Errors: HIPLAUNCH_STATUS_INVALID_HANDLE.
#[unsafe(no_mangle)]
pub extern "C" fn hiplaunch_buffer_close(buffer: *mut hiplaunch_buffer) -> hiplaunch_status {
    call("hiplaunch_buffer_close", || BUFFERS.take(buffer).map(drop))
}

/// The number of bytes of a buffer.
///
/// Threads: any. Errors: HIPLAUNCH_STATUS_INVALID_HANDLE, HIPLAUNCH_STATUS_NULL_POINTER.
#[unsafe(no_mangle)]
pub extern "C" fn hiplaunch_buffer_size(
    buffer: *const hiplaunch_buffer,
    bytes: Option<&mut MaybeUninit<usize>>,
) -> hiplaunch_status {
    call("hiplaunch_buffer_size", || {
        let bytes = wanted(bytes, "bytes")?;
        bytes.write(BUFFERS.look(buffer, |found| found.value.bytes())?);
        Ok(())
    })
}

/// The device address of a buffer; 0 while it has no memory. Uses of the bare address are not recorded: keep the buffer
/// until launches on other streams that use its address have finished, or call hiplaunch_buffer_record_use.
///
/// Threads: any. Errors: HIPLAUNCH_STATUS_INVALID_HANDLE, HIPLAUNCH_STATUS_NULL_POINTER.
#[unsafe(no_mangle)]
pub extern "C" fn hiplaunch_buffer_address(
    buffer: *const hiplaunch_buffer,
    address: Option<&mut MaybeUninit<u64>>,
) -> hiplaunch_status {
    call("hiplaunch_buffer_address", || {
        let address = wanted(address, "address")?;
        address.write(BUFFERS.look(buffer, |found| found.value.ptr().0)?);
        Ok(())
    })
}

/// Records that work on a stream uses a buffer by its bare address. When the buffer is closed, its memory is held back
/// until everything has finished that was enqueued on the stream by then.
///
/// Threads: any. Errors: HIPLAUNCH_STATUS_INVALID_HANDLE.
#[unsafe(no_mangle)]
pub extern "C" fn hiplaunch_buffer_record_use(
    buffer: *const hiplaunch_buffer,
    stream: *const hiplaunch_stream,
) -> hiplaunch_status {
    call("hiplaunch_buffer_record_use", || {
        let (owner, block) = BUFFERS.look(buffer, |found| (found.owner, found.value.block().cloned()))?;
        let stream = stream_of(stream, owner)?;
        if let Some(block) = block {
            stream.record_use(&block);
        }
        Ok(())
    })
}

/// Sets the length of a buffer to `bytes`, for work enqueued on `stream` from now on. If its memory is large enough,
/// only the length changes. Otherwise the buffer gets new memory, whose contents are undefined, and the old memory
/// returns to the pool in stream order. `moved`, which may be null, gets whether the memory is new.
///
/// Threads: any. Errors: as hiplaunch_buffer_open; the buffer then stays as it was.
#[unsafe(no_mangle)]
pub extern "C" fn hiplaunch_buffer_resize(
    buffer: *const hiplaunch_buffer,
    stream: *const hiplaunch_stream,
    bytes: usize,
    moved: Option<&mut MaybeUninit<bool>>,
) -> hiplaunch_status {
    call("hiplaunch_buffer_resize", || {
        let owner = BUFFERS.look(buffer, |found| found.owner)?;
        let stream = stream_of(stream, owner)?;
        let has_moved = BUFFERS.with(buffer, |found| found.value.ensure_len(&stream, bytes))??;
        if let Some(moved) = moved {
            moved.write(has_moved);
        }
        Ok(())
    })
}

/// Returns a part of a buffer as a view, a stream of the same launcher, and the launcher that owns both.
fn part(
    buffer: *const hiplaunch_buffer,
    offset: usize,
    size: usize,
    stream: *const hiplaunch_stream,
) -> Result<(DeviceView<u8>, Stream, Owner)> {
    let (owner, view) =
        BUFFERS.look(buffer, |found| (found.owner, found.value.view_strided(offset, &[size], &[1])))?;
    Ok((view?, stream_of(stream, owner)?, owner))
}

/// Copies `size` bytes of the host to a buffer, to its byte `offset` and after, in stream order. Waits for the stream's
/// work only if the driver does.
///
/// Ownership: `data` may be reused when this returns. Threads: any. Errors: HIPLAUNCH_STATUS_INVALID_ARGUMENT for bytes
/// outside of the buffer or a stream of another device; HIPLAUNCH_STATUS_INVALID_HANDLE, HIPLAUNCH_STATUS_NULL_POINTER,
/// HIPLAUNCH_STATUS_DRIVER, HIPLAUNCH_STATUS_DEVICE_LOST.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hiplaunch_buffer_upload(
    buffer: *const hiplaunch_buffer,
    stream: *const hiplaunch_stream,
    offset: usize,
    data: *const c_void,
    size: usize,
) -> hiplaunch_status {
    call("hiplaunch_buffer_upload", || {
        // SAFETY: the caller's promise for arrays.
        let data = unsafe { bytes(data, size, "data") }?;
        let (view, stream, _) = part(buffer, offset, size, stream)?;
        Ok(view.upload(&stream, data)?)
    })
}

/// Copies `size` bytes of a buffer, from its byte `offset` on, to the host, in stream order, and waits for the copy.
///
/// Threads: any. Errors: as hiplaunch_buffer_upload.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hiplaunch_buffer_download(
    buffer: *const hiplaunch_buffer,
    stream: *const hiplaunch_stream,
    offset: usize,
    data: *mut c_void,
    size: usize,
) -> hiplaunch_status {
    call("hiplaunch_buffer_download", || {
        // SAFETY: the caller's promise for arrays.
        let data = unsafe { bytes_mut(data, size, "data") }?;
        let (view, stream, _) = part(buffer, offset, size, stream)?;
        Ok(view.download(&stream, data)?)
    })
}

/// Copies `size` bytes of a buffer, from its byte `offset` on, to pinned host memory in stream order, and does not
/// wait. They are the only output of the ticket.
///
/// Ownership: the caller closes the ticket; the buffer may be closed at once. Threads: any. Errors: as
/// hiplaunch_buffer_upload; HIPLAUNCH_STATUS_GRAPH.
#[unsafe(no_mangle)]
pub extern "C" fn hiplaunch_buffer_read(
    buffer: *const hiplaunch_buffer,
    stream: *const hiplaunch_stream,
    offset: usize,
    size: usize,
    ticket: Option<&mut MaybeUninit<*mut hiplaunch_ticket>>,
) -> hiplaunch_status {
    call("hiplaunch_buffer_read", || {
        let ticket = Some(wanted(ticket, "ticket")?);
        let owner = BUFFERS.look(buffer, |found| found.owner)?;
        let launcher = launcher_that_owns(owner)?;
        let stream = stream_of(stream, owner)?;
        let mut graph = launcher.graph(stream.device())?;
        let value = BUFFERS.look(buffer, |found| graph.buffer(&found.value))??;
        graph.read(&value.slice(offset as u64, size as u64)?)?;
        hand_out(owner, graph.compute(&stream)?, ticket)
    })
}

/// Copies `size` bytes from one buffer to another, in stream order. The two may be one buffer, but the bytes may not
/// overlap. They may be on two devices; the stream is on the device of `to`, and does not wait for the other device's
/// streams by itself.
///
/// Threads: any. Errors: as hiplaunch_buffer_upload.
#[unsafe(no_mangle)]
pub extern "C" fn hiplaunch_buffer_copy(
    to: *const hiplaunch_buffer,
    to_offset: usize,
    from: *const hiplaunch_buffer,
    from_offset: usize,
    size: usize,
    stream: *const hiplaunch_stream,
) -> hiplaunch_status {
    call("hiplaunch_buffer_copy", || {
        let (to, stream_of_to, owner) = part(to, to_offset, size, stream)?;
        let (from, _, its) = part(from, from_offset, size, stream)?;
        same_owner(owner, its, "from")?;
        Ok(to.copy_from(&stream_of_to, &from)?)
    })
}

/// Sets `size` bytes of a buffer, from its byte `offset` on, to one value, in stream order.
///
/// Threads: any. Errors: as hiplaunch_buffer_upload.
#[unsafe(no_mangle)]
pub extern "C" fn hiplaunch_buffer_fill(
    buffer: *const hiplaunch_buffer,
    stream: *const hiplaunch_stream,
    offset: usize,
    size: usize,
    value: u8,
) -> hiplaunch_status {
    call("hiplaunch_buffer_fill", || {
        let (view, stream, _) = part(buffer, offset, size, stream)?;
        Ok(view.fill_bytes(&stream, value)?)
    })
}

/// Sets `size` bytes of a buffer, from its byte `offset` on, to a 32-bit word again and again, in stream order: to the
/// bits of a float, for example.
///
/// Threads: any. Errors: as hiplaunch_buffer_upload; HIPLAUNCH_STATUS_INVALID_ARGUMENT if `offset` or `size` is not a
/// multiple of 4.
#[unsafe(no_mangle)]
pub extern "C" fn hiplaunch_buffer_fill_words(
    buffer: *const hiplaunch_buffer,
    stream: *const hiplaunch_stream,
    offset: usize,
    size: usize,
    word: u32,
) -> hiplaunch_status {
    call("hiplaunch_buffer_fill_words", || {
        let (view, stream, _) = part(buffer, offset, size, stream)?;
        Ok(view.fill_words(&stream, word)?)
    })
}
