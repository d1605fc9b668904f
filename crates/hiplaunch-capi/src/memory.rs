//! Foreign memory: borrowed addresses, pinned host memory, managed memory, memory of other processes.

use std::ffi::c_void;
use std::mem::MaybeUninit;

use hiplaunch::driver::DevicePtr;
use hiplaunch::memory::{DeviceBuffer, PinnedBuffer, SharedHandle};

use super::buffers::{BUFFERS, hiplaunch_buffer, stream_of};
use super::handles::{Found, Kind, Table, same_owner};
use super::input::wanted;
use super::launcher::{hiplaunch_launcher, insert_in, launcher_of};
use super::status::{Failure, call, hiplaunch_status};
use super::streams::hiplaunch_stream;

/// Pinned host memory, which kernels can access and which copies use without waiting.
pub struct hiplaunch_pinned {
    _opaque: (),
}

pub(super) static PINNED: Table<PinnedBuffer<u8>> = Table::new(Kind::Pinned);

/// A handle of a shared buffer, as bytes that travel to another process.
#[repr(C)]
pub struct hiplaunch_shared_handle {
    /// The bytes; what they mean is the driver's.
    pub bytes: [u8; 72],
}

/// Borrows `bytes` bytes of device memory that somebody else allocated, as a buffer. Closing it frees nothing. Resizing it
/// to more bytes replaces it by memory of the pool.
///
/// The memory is live until the buffer and its views are closed and all work that was enqueued with them has run; the
/// caller orders the work that others enqueue on it.
///
/// Ownership: the caller closes it, or the launcher. Threads: any. Errors: HIPLAUNCH_STATUS_INVALID_ARGUMENT for a null
/// address, a range that overflows, or memory that the driver knows is not the device's;
/// HIPLAUNCH_STATUS_INVALID_HANDLE, HIPLAUNCH_STATUS_NULL_POINTER, HIPLAUNCH_STATUS_DEVICE_LOST.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hiplaunch_buffer_borrow(
    launcher: *const hiplaunch_launcher,
    device: u32,
    address: u64,
    bytes: usize,
    buffer: Option<&mut MaybeUninit<*mut hiplaunch_buffer>>,
) -> hiplaunch_status {
    call("hiplaunch_buffer_borrow", || {
        let out = wanted(buffer, "buffer")?;
        let Found { owner, value: launcher } = launcher_of(launcher)?;
        // SAFETY: the caller's promise.
        let buffer =
            unsafe { DeviceBuffer::borrow_raw(launcher.device(device)?, DevicePtr(address), bytes) }?;
        out.write(insert_in(&BUFFERS, owner, buffer)?);
        Ok(())
    })
}

/// Allocates a buffer of managed memory, which host and devices access at one address
/// (hiplaunch_buffer_host_address). Closing it waits for the device.
///
/// Ownership: the caller closes it, or the launcher. Threads: any. Errors: as hiplaunch_buffer_open;
/// HIPLAUNCH_STATUS_DRIVER where the driver has none.
#[unsafe(no_mangle)]
pub extern "C" fn hiplaunch_buffer_open_managed(
    launcher: *const hiplaunch_launcher,
    device: u32,
    bytes: usize,
    buffer: Option<&mut MaybeUninit<*mut hiplaunch_buffer>>,
) -> hiplaunch_status {
    call("hiplaunch_buffer_open_managed", || {
        let out = wanted(buffer, "buffer")?;
        let Found { owner, value: launcher } = launcher_of(launcher)?;
        let buffer = DeviceBuffer::managed(launcher.device(device)?, bytes)?;
        out.write(insert_in(&BUFFERS, owner, buffer)?);
        Ok(())
    })
}

/// The host's address of a managed buffer; null for other buffers. The host accesses the bytes only while no work that uses
/// them is enqueued.
///
/// Threads: any. Errors: HIPLAUNCH_STATUS_INVALID_HANDLE, HIPLAUNCH_STATUS_NULL_POINTER.
#[unsafe(no_mangle)]
pub extern "C" fn hiplaunch_buffer_host_address(
    buffer: *const hiplaunch_buffer,
    data: Option<&mut MaybeUninit<*mut c_void>>,
) -> hiplaunch_status {
    call("hiplaunch_buffer_host_address", || {
        let data = wanted(data, "data")?;
        let host = BUFFERS.look(buffer, |found| found.value.host_ptr())?;
        data.write(host.map_or(std::ptr::null_mut(), |host| host.as_ptr().cast()));
        Ok(())
    })
}

/// Allocates a buffer that other processes may open (hiplaunch_buffer_share). Closing it waits for the device.
///
/// Ownership: the caller closes it, or the launcher. Threads: any. Errors: as hiplaunch_buffer_open;
/// HIPLAUNCH_STATUS_DRIVER where the driver has none.
#[unsafe(no_mangle)]
pub extern "C" fn hiplaunch_buffer_open_shared(
    launcher: *const hiplaunch_launcher,
    device: u32,
    bytes: usize,
    buffer: Option<&mut MaybeUninit<*mut hiplaunch_buffer>>,
) -> hiplaunch_status {
    call("hiplaunch_buffer_open_shared", || {
        let out = wanted(buffer, "buffer")?;
        let Found { owner, value: launcher } = launcher_of(launcher)?;
        let buffer = DeviceBuffer::shared(launcher.device(device)?, bytes)?;
        out.write(insert_in(&BUFFERS, owner, buffer)?);
        Ok(())
    })
}

/// Makes a handle with which other processes open a buffer of hiplaunch_buffer_open_shared. Good until that is closed.
///
/// Threads: any. Errors: HIPLAUNCH_STATUS_INVALID_ARGUMENT for other buffers; HIPLAUNCH_STATUS_INVALID_HANDLE,
/// HIPLAUNCH_STATUS_NULL_POINTER, HIPLAUNCH_STATUS_DRIVER, HIPLAUNCH_STATUS_DEVICE_LOST.
#[unsafe(no_mangle)]
pub extern "C" fn hiplaunch_buffer_share(
    buffer: *const hiplaunch_buffer,
    handle: Option<&mut MaybeUninit<hiplaunch_shared_handle>>,
) -> hiplaunch_status {
    call("hiplaunch_buffer_share", || {
        let handle = wanted(handle, "handle")?;
        let shared = BUFFERS.look(buffer, |found| found.value.share())??;
        handle.write(hiplaunch_shared_handle { bytes: shared.to_bytes() });
        Ok(())
    })
}

/// Opens the buffer that another process shares. Closing it waits for the device; the memory stays the other process's,
/// which keeps it until then. The two processes order their work on it by the host.
///
/// Ownership: the caller closes it, or the launcher. Threads: any. Errors: as hiplaunch_buffer_open;
/// HIPLAUNCH_STATUS_DRIVER for a handle whose memory is gone.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hiplaunch_buffer_open_handle(
    launcher: *const hiplaunch_launcher,
    device: u32,
    handle: Option<&hiplaunch_shared_handle>,
    buffer: Option<&mut MaybeUninit<*mut hiplaunch_buffer>>,
) -> hiplaunch_status {
    call("hiplaunch_buffer_open_handle", || {
        let out = wanted(buffer, "buffer")?;
        let handle = handle.ok_or_else(|| Failure::new(hiplaunch_status::NullPointer, "`handle` is null"))?;
        let Found { owner, value: launcher } = launcher_of(launcher)?;
        let handle = SharedHandle::from_bytes(&handle.bytes);
        // SAFETY: the caller's promise.
        let buffer = unsafe { DeviceBuffer::open_shared(launcher.device(device)?, &handle) }?;
        out.write(insert_in(&BUFFERS, owner, buffer)?);
        Ok(())
    })
}

/// Allocates pinned host memory, all bytes zero.
///
/// Ownership: the caller closes it, or the launcher. Threads: any. Errors: as hiplaunch_buffer_open.
#[unsafe(no_mangle)]
pub extern "C" fn hiplaunch_pinned_open(
    launcher: *const hiplaunch_launcher,
    device: u32,
    bytes: usize,
    pinned: Option<&mut MaybeUninit<*mut hiplaunch_pinned>>,
) -> hiplaunch_status {
    call("hiplaunch_pinned_open", || {
        let out = wanted(pinned, "pinned")?;
        let Found { owner, value: launcher } = launcher_of(launcher)?;
        let pinned = PinnedBuffer::new(launcher.device(device)?, bytes)?;
        out.write(insert_in(&PINNED, owner, pinned)?);
        Ok(())
    })
}

/// Pins `bytes` bytes of the caller's host memory. Until it is closed, the memory stays where it is, and no other function
/// is given its address as host memory.
///
/// Ownership: the caller closes it, or the launcher; the memory stays the caller's. Threads: any. Errors: as
/// hiplaunch_buffer_open; HIPLAUNCH_STATUS_DRIVER where the driver can't, and for memory that is pinned already.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hiplaunch_pinned_register(
    launcher: *const hiplaunch_launcher,
    device: u32,
    data: *mut c_void,
    bytes: usize,
    pinned: Option<&mut MaybeUninit<*mut hiplaunch_pinned>>,
) -> hiplaunch_status {
    call("hiplaunch_pinned_register", || {
        let out = wanted(pinned, "pinned")?;
        let Found { owner, value: launcher } = launcher_of(launcher)?;
        // SAFETY: the caller's promise.
        let pinned = unsafe { PinnedBuffer::register_raw(launcher.device(device)?, data.cast(), bytes) }?;
        out.write(insert_in(&PINNED, owner, pinned)?);
        Ok(())
    })
}

/// Closes pinned memory: waits for the work that uses it, then frees or unpins it.
///
/// Threads: any. Errors: HIPLAUNCH_STATUS_INVALID_HANDLE.
#[unsafe(no_mangle)]
pub extern "C" fn hiplaunch_pinned_close(pinned: *mut hiplaunch_pinned) -> hiplaunch_status {
    call("hiplaunch_pinned_close", || PINNED.take(pinned).map(drop))
}

/// The bytes for the host. Waits for the work that uses them: copies, and what hiplaunch_pinned_record_use was called for.
/// Good until it is closed; after more work on it, call it again before the host accesses the bytes.
///
/// Threads: any. Errors: HIPLAUNCH_STATUS_INVALID_HANDLE, HIPLAUNCH_STATUS_NULL_POINTER, HIPLAUNCH_STATUS_DEVICE_LOST.
#[unsafe(no_mangle)]
pub extern "C" fn hiplaunch_pinned_host(
    pinned: *const hiplaunch_pinned,
    data: Option<&mut MaybeUninit<*mut c_void>>,
) -> hiplaunch_status {
    call("hiplaunch_pinned_host", || {
        let data = wanted(data, "data")?;
        let host = PINNED.with(pinned, |found| found.value.host_mut().map(<[u8]>::as_mut_ptr))??;
        data.write(host.cast());
        Ok(())
    })
}

/// The address for kernels. What uses it is not noticed: call hiplaunch_pinned_record_use.
///
/// Threads: any. Errors: HIPLAUNCH_STATUS_INVALID_HANDLE, HIPLAUNCH_STATUS_NULL_POINTER.
#[unsafe(no_mangle)]
pub extern "C" fn hiplaunch_pinned_address(
    pinned: *const hiplaunch_pinned,
    address: Option<&mut MaybeUninit<u64>>,
) -> hiplaunch_status {
    call("hiplaunch_pinned_address", || {
        let address = wanted(address, "address")?;
        address.write(PINNED.look(pinned, |found| found.value.ptr().0)?);
        Ok(())
    })
}

/// Says that work on a stream uses pinned memory: the host gets the bytes, and they are freed, after everything that is
/// enqueued there by then.
///
/// Threads: any. Errors: HIPLAUNCH_STATUS_INVALID_HANDLE.
#[unsafe(no_mangle)]
pub extern "C" fn hiplaunch_pinned_record_use(
    pinned: *const hiplaunch_pinned,
    stream: *const hiplaunch_stream,
) -> hiplaunch_status {
    call("hiplaunch_pinned_record_use", || {
        let owner = PINNED.look(pinned, |found| found.owner)?;
        let stream = stream_of(stream, owner)?;
        PINNED.look(pinned, |found| found.value.record_use(&stream))
    })
}

/// Copies all bytes of pinned memory to the first bytes of a buffer, in stream order, without waiting.
///
/// Threads: any. Errors: as hiplaunch_buffer_upload.
#[unsafe(no_mangle)]
pub extern "C" fn hiplaunch_buffer_upload_pinned(
    buffer: *const hiplaunch_buffer,
    stream: *const hiplaunch_stream,
    pinned: *const hiplaunch_pinned,
) -> hiplaunch_status {
    call("hiplaunch_buffer_upload_pinned", || {
        let owner = BUFFERS.look(buffer, |found| found.owner)?;
        let stream = stream_of(stream, owner)?;
        PINNED.with(pinned, |source| {
            same_owner(owner, source.owner, "pinned")?;
            Ok(BUFFERS.with(buffer, |found| found.value.upload_pinned(&stream, &source.value))??)
        })?
    })
}

/// Copies the first bytes of a buffer over all bytes of pinned memory, in stream order, without waiting;
/// hiplaunch_pinned_host waits.
///
/// Threads: any. Errors: as hiplaunch_buffer_upload.
#[unsafe(no_mangle)]
pub extern "C" fn hiplaunch_buffer_download_pinned(
    buffer: *const hiplaunch_buffer,
    stream: *const hiplaunch_stream,
    pinned: *const hiplaunch_pinned,
) -> hiplaunch_status {
    call("hiplaunch_buffer_download_pinned", || {
        let owner = BUFFERS.look(buffer, |found| found.owner)?;
        let stream = stream_of(stream, owner)?;
        PINNED.with(pinned, |target| {
            same_owner(owner, target.owner, "pinned")?;
            Ok(BUFFERS.with(buffer, |found| found.value.download_pinned(&stream, &mut target.value))??)
        })?
    })
}
