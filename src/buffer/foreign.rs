//! Device memory that is not the pool's: borrowed from others, or allocated in a way of its own.

use std::ptr::NonNull;
use std::sync::Arc;

use bytemuck::Pod;

use crate::device::Device;
use crate::error::{Error, Result};
use hip_driver::{Capability, DevicePtr, DriverResult, IpcHandle, Note};

use super::device_buffer::DeviceBuffer;

/// How memory was obtained, and so how it is released.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ForeignKind {
    /// Allocated for host and devices, at one address.
    Managed,
    /// Allocated for this process and those that open it.
    Shared,
    /// Another process's, opened here.
    Opened,
    /// Somebody else's, who releases it.
    Borrowed,
}

/// Memory of a device, until the last buffer or view of it is dropped.
#[derive(Debug)]
pub(crate) struct Foreign {
    device: Device,
    ptr: DevicePtr,
    kind: ForeignKind,
}

impl Foreign {
    /// Memory that a call of the driver gave.
    fn of(
        device: &Device,
        kind: ForeignKind,
        bytes: usize,
        obtain: impl FnOnce() -> DriverResult<DevicePtr>,
    ) -> Result<Arc<Foreign>> {
        device.check()?;
        let ptr = obtain().map_err(|error| device.allocation_error("device", bytes, error))?;
        Ok(Arc::new(Foreign { device: device.clone(), ptr, kind }))
    }

    pub(super) fn borrowed(device: &Device, ptr: DevicePtr, bytes: usize) -> Arc<Foreign> {
        device.note(&Note::Borrow { device: device.id(), ptr, bytes });
        Arc::new(Foreign { device: device.clone(), ptr, kind: ForeignKind::Borrowed })
    }

    pub(super) fn ptr(&self) -> DevicePtr {
        self.ptr
    }
}

impl Drop for Foreign {
    /// Waits for the device before memory is released: any stream may still use it.
    fn drop(&mut self) {
        let (device, ptr, kind) = (&self.device, self.ptr, self.kind);
        if kind == ForeignKind::Borrowed {
            device.note(&Note::Return { device: device.id(), ptr });
            return;
        }
        let released = device.raw().device_synchronize(device.id()).and_then(|()| {
            // SAFETY: owned by this value alone, and nothing on the device runs that was enqueued before.
            unsafe {
                match kind {
                    ForeignKind::Opened => device.raw().ipc_close(device.id(), ptr),
                    _ => device.raw().free(device.id(), ptr),
                }
            }
        });
        if let Err(e) = released {
            log::warn!("releasing memory at {ptr} of {}: {e}", device.id());
        }
    }
}

impl Device {
    /// The device whose memory is at an address, as far as the driver knows.
    ///
    /// `None`: the driver can't say ([`Capability::PointerAttributes`]).
    ///
    /// # Errors
    /// The driver's, for an address that it does not know.
    pub fn device_of_pointer(&self, ptr: DevicePtr) -> Result<Option<hip_driver::DeviceId>> {
        self.check()?;
        if !self.raw().capabilities().has(Capability::PointerAttributes) {
            return Ok(None);
        }
        self.raw().device_of_pointer(self.id(), ptr).map(Some).map_err(|e| self.error(e))
    }

    /// Where the host accesses `bytes` bytes of the device's memory without a copy: `None` on a GPU, the place in the host's
    /// memory on the emulator. Good until the memory is freed.
    ///
    /// Reading and writing through it is for the caller to order: wait first for the work that uses the bytes, and access
    /// them only while none is enqueued. The sanitizer takes the bytes for written from now on.
    ///
    /// # Errors
    /// The driver's, for bytes that are not all in one live allocation.
    pub fn host_address(&self, ptr: DevicePtr, bytes: usize) -> Result<Option<NonNull<u8>>> {
        self.check()?;
        if bytes == 0 {
            return Ok(None);
        }
        self.raw().host_address(self.id(), ptr, bytes).map_err(|e| self.error(e))
    }
}

impl<T: Pod> DeviceBuffer<T> {
    /// Borrows `len` elements of device memory that somebody else allocated. It is never freed here. Launches, copies,
    /// graphs and views use it as they use a buffer of the pool; a request for more elements
    /// ([`ensure_len`](DeviceBuffer::ensure_len)) replaces it by memory of the pool.
    ///
    /// # Errors
    /// [`Error::Invalid`] if the address is null or not aligned for `T`, if the range overflows, or if the driver knows that
    /// the memory is not this device's.
    ///
    /// # Safety
    /// The memory is live device memory of that many elements, each a valid `T` as soon as it is read, until the last
    /// buffer and view of it is dropped and all work that was enqueued with them has run. Work that others enqueue on it is
    /// ordered with the work enqueued through this buffer, by streams and events.
    pub unsafe fn borrow_raw(device: &Device, ptr: DevicePtr, len: usize) -> Result<DeviceBuffer<T>> {
        let what = "DeviceBuffer::borrow_raw";
        device.check()?;
        let bytes = super::device_buffer::bytes_of::<T>(len, what)?;
        if ptr.is_null() {
            return Err(Error::invalid(what, "the address is null"));
        }
        let align = align_of::<T>() as u64;
        if !ptr.0.is_multiple_of(align) {
            return Err(Error::invalid(what, format!("{ptr} is not aligned to {align} bytes")));
        }
        if ptr.0.checked_add(bytes as u64).is_none() {
            return Err(Error::invalid(what, format!("{bytes} bytes at {ptr} overflow the address space")));
        }
        match device.device_of_pointer(ptr) {
            Ok(Some(owner)) if owner != device.id() => {
                return Err(Error::invalid(
                    what,
                    format!("{ptr} is memory of {owner}, not of {}", device.id()),
                ));
            }
            Ok(_) => {}
            Err(Error::Driver { source, .. }) => {
                return Err(Error::invalid(what, format!("{ptr} is no memory of {}: {source}", device.id())));
            }
            Err(other) => return Err(other),
        }
        DeviceBuffer::of_foreign(device, Foreign::borrowed(device, ptr, bytes), len)
    }

    /// Allocates `len` elements of managed memory, which host and devices access at one address. What they hold is
    /// undefined. Dropping the last owner waits for the device.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`] and the driver's; `NOT_SUPPORTED` without [`Capability::ManagedMemory`].
    pub fn managed(device: &Device, len: usize) -> Result<DeviceBuffer<T>> {
        DeviceBuffer::of_kind(device, ForeignKind::Managed, len)
    }

    /// Allocates `len` elements of device memory that other processes may [open](DeviceBuffer::open_shared) with a
    /// [handle](DeviceBuffer::share). What they hold is undefined. Dropping the last owner waits for the device.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`] and the driver's; `NOT_SUPPORTED` without [`Capability::SharedMemory`].
    pub fn shared(device: &Device, len: usize) -> Result<DeviceBuffer<T>> {
        DeviceBuffer::of_kind(device, ForeignKind::Shared, len)
    }

    fn of_kind(device: &Device, kind: ForeignKind, len: usize) -> Result<DeviceBuffer<T>> {
        let bytes = super::device_buffer::bytes_of::<T>(len, "DeviceBuffer")?;
        if bytes == 0 {
            return DeviceBuffer::new(device, len);
        }
        let memory = Foreign::of(device, kind, bytes, || match kind {
            ForeignKind::Managed => device.raw().malloc_managed(device.id(), bytes),
            _ => device.raw().malloc_shared(device.id(), bytes),
        })?;
        DeviceBuffer::of_foreign(device, memory, len)
    }

    /// The host's address of [managed](DeviceBuffer::managed) memory; `None` for other memory.
    ///
    /// Reading and writing through it is for the caller to order: wait first for the work that uses the bytes, and access
    /// them only while none is enqueued.
    pub fn host_ptr(&self) -> Option<NonNull<T>> {
        let memory = self.foreign().filter(|memory| memory.kind == ForeignKind::Managed)?;
        NonNull::new(std::ptr::with_exposed_provenance_mut(memory.ptr.0 as usize))
    }

    /// A handle with which other processes open this memory, which is [shared](DeviceBuffer::shared). Good as long as the
    /// buffer or a view of it lives here.
    ///
    /// # Errors
    /// [`Error::Invalid`] for other memory; the driver's.
    pub fn share(&self) -> Result<SharedHandle> {
        let device = self.device();
        device.check()?;
        let Some(memory) = self.foreign().filter(|memory| memory.kind == ForeignKind::Shared) else {
            let problem = "the buffer was not allocated by `DeviceBuffer::shared`";
            return Err(Error::invalid("DeviceBuffer::share", problem));
        };
        // SAFETY: live shared memory.
        let handle = unsafe { device.raw().ipc_handle(device.id(), memory.ptr) };
        let handle = handle.map_err(|e| device.error(e))?;
        Ok(SharedHandle { handle, bytes: (self.capacity() * size_of::<T>()) as u64 })
    }

    /// Opens the memory that another process shares, all of it. Dropping the last owner waits for the device and closes it;
    /// the memory stays the other process's.
    ///
    /// # Errors
    /// [`Error::Invalid`] if the memory is no whole number of elements; the driver's, for a handle whose memory is gone too.
    ///
    /// # Safety
    /// The other process keeps the memory until it is closed here. Work of the two processes on the same bytes is ordered,
    /// by the host: events are not shared.
    pub unsafe fn open_shared(device: &Device, shared: &SharedHandle) -> Result<DeviceBuffer<T>> {
        let what = "DeviceBuffer::open_shared";
        let SharedHandle { handle, bytes } = *shared;
        let size = size_of::<T>().max(1) as u64;
        let (Ok(bytes), 0) = (usize::try_from(bytes), bytes % size) else {
            let problem =
                format!("the memory has {bytes} bytes, no whole number of elements of {size} bytes");
            return Err(Error::invalid(what, problem));
        };
        let memory = Foreign::of(device, ForeignKind::Opened, bytes, || {
            // SAFETY: the other process keeps the memory until it is closed (the caller's promise).
            unsafe { device.raw().ipc_open(device.id(), handle, bytes) }
        })?;
        DeviceBuffer::of_foreign(device, memory, bytes / size as usize)
    }

    /// Whether it is borrowed, or has memory of its own that is not the pool's.
    pub fn is_foreign(&self) -> bool {
        self.foreign().is_some()
    }
}

/// Names a [shared](DeviceBuffer::shared) buffer for other processes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct SharedHandle {
    handle: IpcHandle,
    bytes: u64,
}

impl SharedHandle {
    /// The length of [`to_bytes`](SharedHandle::to_bytes).
    pub const BYTES: usize = 72;

    /// The handle as bytes, which travel to the other process in whatever way.
    pub fn to_bytes(&self) -> [u8; SharedHandle::BYTES] {
        let mut all = [0; SharedHandle::BYTES];
        let (handle, bytes) = all.split_at_mut(64);
        handle.copy_from_slice(&self.handle.0);
        bytes.copy_from_slice(&self.bytes.to_le_bytes());
        all
    }

    /// The handle that another process made bytes of.
    pub fn from_bytes(all: &[u8; SharedHandle::BYTES]) -> SharedHandle {
        let (mut handle, mut bytes) = ([0; 64], [0; 8]);
        handle.copy_from_slice(&all[..64]);
        bytes.copy_from_slice(&all[64..]);
        SharedHandle { handle: IpcHandle(handle), bytes: u64::from_le_bytes(bytes) }
    }

    /// How many bytes the memory has.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }
}
