//! Device buffers: bytes from the device's pool, and copies of them.

use std::ffi::c_void;
use std::mem::MaybeUninit;

use hiplaunch::launcher::Stream;
use hiplaunch::memory::{DeviceBuffer, DeviceView};

use super::handles::{Found, Kind, Owner, Table, same_owner};
use super::input::{bytes, bytes_mut, wanted};
use super::launcher::{hiplaunch_launcher, insert_in, launcher_of, launcher_that_owns};
use super::status::{Result, call, hiplaunch_status};
use super::streams::{STREAMS, hiplaunch_stream};
use super::tickets::{hand_out, hiplaunch_ticket};

/// Device memory from the device's pool, which goes back there when the buffer is closed and what uses it has finished.
pub struct hiplaunch_buffer {
    _opaque: (),
}

pub(super) static BUFFERS: Table<DeviceBuffer<u8>> = Table::new(Kind::Buffer);

/// Allocates a buffer of a device; what it holds is undefined. 0 bytes allocate nothing.
///
/// On a stream, the memory is for that stream's work, and where the pool has some no device call is made. Another stream
/// has to wait for that one before it uses the buffer; that it does is noticed by launches that take the buffer as an
/// argument, and by copies, so that closing it is safe at any time. With a null `stream` any stream may use it at once.
///
/// Ownership: the caller closes it, or the launcher. Threads: any. Errors: HIPLAUNCH_STATUS_OUT_OF_MEMORY,
/// HIPLAUNCH_STATUS_INVALID_ARGUMENT for a device that there is not or a stream of another one,
/// HIPLAUNCH_STATUS_INVALID_HANDLE, HIPLAUNCH_STATUS_NULL_POINTER, HIPLAUNCH_STATUS_DRIVER, HIPLAUNCH_STATUS_DEVICE_LOST.
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

/// A stream of the same launcher.
pub(super) fn stream_of(stream: *const hiplaunch_stream, owner: Owner) -> Result<Stream> {
    let Found { owner: its, value } = STREAMS.get(stream)?;
    same_owner(owner, its, "stream")?;
    Ok(value)
}

/// Closes a buffer. The memory goes back in stream order; never waits for that. Views keep it until they are closed too.
///
/// Threads: any; waits for calls of others that use the buffer. Errors: HIPLAUNCH_STATUS_INVALID_HANDLE.
#[unsafe(no_mangle)]
pub extern "C" fn hiplaunch_buffer_close(buffer: *mut hiplaunch_buffer) -> hiplaunch_status {
    call("hiplaunch_buffer_close", || BUFFERS.take(buffer).map(drop))
}

/// Bytes of a buffer.
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

/// The device address of a buffer; 0 while it has no memory. What uses the bare address is not noticed: keep a buffer of
/// a stream until launches on other streams that use its address have finished, or say so (hiplaunch_buffer_record_use).
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

/// Says that work on a stream uses a buffer by its bare address: when it is closed, its memory is held back until
/// everything enqueued there by then has finished.
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

/// Makes a buffer `bytes` long, for work enqueued on `stream` from now on. Where there is room, only the length changes;
/// otherwise it gets new memory, whose contents are undefined, and the old goes back in stream order. `moved`, which may
/// be null, says which.
///
/// Threads: any. Errors: as hiplaunch_buffer_open; the buffer is then as it was.
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

/// A part of a buffer, as a view, and a stream of its launcher.
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

/// Copies `size` bytes of the host to a buffer, from its byte `offset` on, in stream order. Does not wait for the stream's
/// work where the driver does not.
///
/// Ownership: `data` may be reused when this returns. Threads: any. Errors: HIPLAUNCH_STATUS_INVALID_ARGUMENT when that
/// leaves the buffer or the stream is another device's; HIPLAUNCH_STATUS_INVALID_HANDLE, HIPLAUNCH_STATUS_NULL_POINTER,
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

/// Copies `size` bytes of a buffer, from its byte `offset` on, to the host, in stream order, and waits for that.
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

/// Copies `size` bytes of a buffer, from its byte `offset` on, to pinned host memory in stream order, without waiting: the
/// ticket's only output.
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

/// Copies `size` bytes from one buffer to another of the same device, in stream order. The two may be one buffer, but the
/// bytes may not overlap.
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
