//! Pinned host memory of the program's: allocated pinned, or registered.

use std::collections::BTreeMap;
use std::marker::PhantomData;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError, RwLock};

use bytemuck::Pod;

use crate::device::Device;
use crate::error::{Error, Result};
use crate::stream::Stream;
use hip_driver::{DevicePtr, Note, PinnedAllocation, Work};

use super::device_buffer::{DeviceBuffer, bytes_of};

/// HostOwner memory of live [`PinnedBuffer`]s: first address and end.
static LIVE: RwLock<BTreeMap<usize, usize>> = RwLock::new(BTreeMap::new());
/// How many there are, so that programs without any look no further.
static COUNT: AtomicUsize = AtomicUsize::new(0);

/// Whether a slice is in the memory of a [`PinnedBuffer`], so that a copy from it reads it when the copy runs.
#[inline]
pub(super) fn is_pinned<T>(data: &[T]) -> bool {
    COUNT.load(Ordering::Relaxed) > 0 && is_in_live(data.as_ptr().addr())
}

#[cold]
fn is_in_live(address: usize) -> bool {
    let live = LIVE.read().unwrap_or_else(PoisonError::into_inner);
    live.range(..=address).next_back().is_some_and(|(_, end)| address < *end)
}

/// Who the host memory belongs to.
#[derive(Debug)]
enum HostOwner {
    /// The driver allocated it.
    Driver,
    /// A vector's memory, with its capacity.
    Vector(usize),
    /// Somebody else's, who keeps it.
    Borrowed,
}

/// `len` elements of `T` in pinned host memory, which kernels can access.
///
/// A copy between it and device memory is asynchronous: it returns once the copy is enqueued, where a copy of other host
/// memory waits or goes through staging memory. [`host`](PinnedBuffer::host) and [`host_mut`](PinnedBuffer::host_mut) give
/// the elements to the host, and wait before that for the copies, and for other work that was
/// [recorded](PinnedBuffer::record_use). So does dropping it.
///
/// ```no_run
/// # fn main() -> hiplaunch::Result<()> {
/// # let launcher = hiplaunch::Launcher::new()?;
/// # let device = launcher.device(0)?;
/// # let stream = launcher.stream(device)?;
/// use hiplaunch::{DeviceBuffer, PinnedBuffer};
/// let mut pinned = PinnedBuffer::<f32>::new(device, 1024)?;
/// pinned.host_mut()?.fill(1.0);
/// let mut buffer = DeviceBuffer::<f32>::on(&stream, 1024)?;
/// buffer.upload_pinned(&stream, &pinned)?;
/// // The host does something else here.
/// buffer.download_pinned(&stream, &mut pinned)?;
/// assert_eq!(pinned.host()?[0], 1.0);
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub struct PinnedBuffer<T: Pod> {
    device: Device,
    /// `None` if it has no bytes.
    allocation: Option<PinnedAllocation>,
    len: usize,
    host: HostOwner,
    /// Streams that may still use it.
    uses: Mutex<Vec<Stream>>,
    element: PhantomData<T>,
}

impl<T: Pod> PinnedBuffer<T> {
    /// Allocates `len` elements of pinned memory, all bytes zero.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`] and the driver's.
    pub fn new(device: &Device, len: usize) -> Result<PinnedBuffer<T>> {
        device.check()?;
        let bytes = bytes_of::<T>(len, "PinnedBuffer::new")?;
        if bytes == 0 {
            return Ok(PinnedBuffer::over(device, None, len, HostOwner::Driver));
        }
        let allocation = device
            .raw()
            .host_malloc(device.id(), bytes)
            .map_err(|e| device.allocation_error("pinned host", bytes, e))?;
        // SAFETY: fresh memory of that many bytes, which nobody else uses.
        unsafe { allocation.host.as_ptr().write_bytes(0, bytes) };
        Ok(PinnedBuffer::over(device, Some(allocation), len, HostOwner::Driver))
    }

    /// Pins a vector's elements where they are. [`into_vec`](PinnedBuffer::into_vec) gives them back.
    ///
    /// # Errors
    /// The driver's; `NOT_SUPPORTED` without [`Capability::HostRegister`](hip_driver::Capability::HostRegister).
    pub fn register(device: &Device, data: Vec<T>) -> Result<PinnedBuffer<T>> {
        let mut data = std::mem::ManuallyDrop::new(data);
        let (ptr, len, capacity) = (data.as_mut_ptr(), data.len(), data.capacity());
        // SAFETY: the vector's memory stays until the buffer is dropped or `into_vec` is called, also if it is leaked.
        let registered = unsafe { PinnedBuffer::register_raw(device, ptr, len) };
        match registered {
            Ok(mut buffer) => {
                buffer.host = HostOwner::Vector(capacity);
                Ok(buffer)
            }
            Err(error) => {
                drop(std::mem::ManuallyDrop::into_inner(data));
                Err(error)
            }
        }
    }

    /// Pins `len` elements of host memory that somebody else keeps.
    ///
    /// # Errors
    /// As [`register`](PinnedBuffer::register); [`Error::Invalid`] for an address that is null or not aligned.
    ///
    /// # Safety
    /// The memory is valid for reads and writes, and used through the buffer alone, until the buffer is dropped. It is not
    /// pinned already.
    pub unsafe fn register_raw(device: &Device, ptr: *mut T, len: usize) -> Result<PinnedBuffer<T>> {
        let what = "PinnedBuffer::register_raw";
        device.check()?;
        let bytes = bytes_of::<T>(len, what)?;
        if bytes == 0 {
            return Ok(PinnedBuffer::over(device, None, len, HostOwner::Borrowed));
        }
        if ptr.is_null() || !ptr.is_aligned() {
            return Err(Error::invalid(what, format!("the address {ptr:?} is null or not aligned")));
        }
        // SAFETY: the caller's promise.
        let allocation = unsafe { device.raw().host_register(device.id(), ptr.cast(), bytes) };
        let allocation = allocation.map_err(|e| device.error(e))?;
        Ok(PinnedBuffer::over(device, Some(allocation), len, HostOwner::Borrowed))
    }

    fn over(
        device: &Device,
        allocation: Option<PinnedAllocation>,
        len: usize,
        host: HostOwner,
    ) -> PinnedBuffer<T> {
        if let Some(allocation) = allocation {
            let start = allocation.host.as_ptr().addr();
            let mut live = LIVE.write().unwrap_or_else(PoisonError::into_inner);
            live.insert(start, start + allocation.bytes);
            COUNT.store(live.len(), Ordering::Relaxed);
        }
        let (device, uses) = (device.clone(), Mutex::default());
        PinnedBuffer { device, allocation, len, host, uses, element: PhantomData }
    }

    /// Its elements.
    #[inline]
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether it has no elements.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Its size in bytes.
    #[inline]
    pub fn bytes(&self) -> usize {
        self.len * size_of::<T>()
    }

    /// The device that it was pinned for. Kernels of all devices of the driver can access it.
    pub fn device(&self) -> &Device {
        &self.device
    }

    /// The address for kernels; null if it has no bytes. A launch is not seen to use it: say so with
    /// [`record_use`](PinnedBuffer::record_use).
    #[inline]
    pub fn ptr(&self) -> DevicePtr {
        self.allocation.map_or(DevicePtr::NULL, |allocation| allocation.device)
    }

    fn uses(&self) -> MutexGuard<'_, Vec<Stream>> {
        self.uses.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Records that work that is or will be enqueued on a stream uses it: the host gets the elements, and the memory is
    /// freed, after everything that is enqueued there by then.
    pub fn record_use(&self, stream: &Stream) {
        let mut uses = self.uses();
        if !uses.contains(stream) {
            uses.push(stream.clone());
        }
    }

    /// Waits for the streams that use it.
    fn wait(&self) -> Result<()> {
        // The lock is not held while the host waits.
        let streams = std::mem::take(&mut *self.uses());
        for (done, stream) in streams.iter().enumerate() {
            if let Err(error) = stream.synchronize() {
                self.uses().extend_from_slice(&streams[done..]);
                return Err(error);
            }
        }
        Ok(())
    }

    fn start(&self) -> NonNull<T> {
        self.allocation.map_or(NonNull::dangling(), |allocation| allocation.host.cast())
    }

    /// The elements. Waits for the work that uses them: copies, and what was [recorded](PinnedBuffer::record_use).
    ///
    /// # Errors
    /// The driver's; a fault of a kernel comes out here.
    pub fn host(&self) -> Result<&[T]> {
        self.wait()?;
        if let Some(PinnedAllocation { host, bytes, .. }) = self.allocation {
            self.device.note(&Note::HostRead { ptr: host.as_ptr(), bytes });
        }
        // SAFETY: live memory of that many elements. Copies into it need `&mut self`, and those before are over. Whoever
        // launches a kernel that writes it promises to record that, and not to do so while the elements are borrowed.
        Ok(unsafe { std::slice::from_raw_parts(self.start().as_ptr(), self.len) })
    }

    /// The elements, to be changed. Waits as [`host`](PinnedBuffer::host) does.
    ///
    /// # Errors
    /// As [`host`](PinnedBuffer::host).
    pub fn host_mut(&mut self) -> Result<&mut [T]> {
        self.wait()?;
        if let Some(PinnedAllocation { host, bytes, .. }) = self.allocation {
            self.device.note(&Note::HostWrite { ptr: host.as_ptr(), bytes });
        }
        // SAFETY: live memory of that many elements, which is borrowed exclusively: copies from it and into it need a
        // borrow, and those before are over.
        Ok(unsafe { std::slice::from_raw_parts_mut(self.start().as_ptr(), self.len) })
    }

    /// Waits as [`host`](PinnedBuffer::host) does, unpins the elements, and gives them back as a vector. Elements that were
    /// not a vector's are copied.
    ///
    /// # Errors
    /// As [`host`](PinnedBuffer::host); the elements are then lost.
    pub fn into_vec(mut self) -> Result<Vec<T>> {
        let HostOwner::Vector(capacity) = self.host else { return Ok(self.host()?.to_vec()) };
        self.wait()?;
        self.host = HostOwner::Borrowed;
        let (start, len) = (self.start(), self.len);
        let is_empty = self.allocation.is_none();
        drop(self);
        if is_empty {
            return Ok(vec![T::zeroed(); len]);
        }
        // SAFETY: the memory, length and capacity of the vector that was registered, which nothing uses any more.
        Ok(unsafe { Vec::from_raw_parts(start.as_ptr(), len, capacity) })
    }
}

impl<T: Pod> Drop for PinnedBuffer<T> {
    fn drop(&mut self) {
        let Some(allocation) = self.allocation else { return };
        let waited = self.wait();
        // A device that is lost runs nothing any more.
        if let Err(error) = waited.as_ref()
            && self.device.check().is_ok()
        {
            log::warn!(
                "{} bytes of pinned memory of {} are leaked: {error}",
                allocation.bytes,
                self.device.id()
            );
            return;
        }
        let (driver, device) = (self.device.raw(), self.device.id());
        let freed = match self.host {
            // SAFETY: owned by `self`, and what used it has run.
            HostOwner::Driver => unsafe { driver.host_free(device, allocation) },
            // SAFETY: registered by `self`, and what used it has run.
            HostOwner::Vector(_) | HostOwner::Borrowed => unsafe {
                driver.host_unregister(device, allocation)
            },
        };
        let mut live = LIVE.write().unwrap_or_else(PoisonError::into_inner);
        live.remove(&allocation.host.as_ptr().addr());
        COUNT.store(live.len(), Ordering::Relaxed);
        drop(live);
        if let Err(error) = freed {
            // A vector's memory is leaked: it may be pinned still.
            log::warn!("freeing pinned memory of {device}: {error}");
        } else if let HostOwner::Vector(capacity) = self.host {
            // SAFETY: the memory, length and capacity of the vector that was registered, which nothing uses any more.
            drop(unsafe { Vec::from_raw_parts(self.start().as_ptr(), self.len, capacity) });
        }
    }
}

impl<T: Pod> DeviceBuffer<T> {
    /// Copies all elements of `source` into the first elements here, in stream order. Returns when the copy is enqueued.
    ///
    /// # Errors
    /// As [`upload`](DeviceBuffer::upload).
    pub fn upload_pinned(&mut self, stream: &Stream, source: &PinnedBuffer<T>) -> Result<()> {
        self.check(stream, source.len(), "DeviceBuffer::upload_pinned")?;
        let Some(PinnedAllocation { host, bytes, .. }) = source.allocation else { return Ok(()) };
        self.used_on(stream);
        source.record_use(stream);
        let dst = self.address();
        // SAFETY: the pinned memory lives until the stream, which is recorded, was waited for; the host writes it only after
        // that, too. The range lies in this buffer's memory.
        unsafe { stream.enqueue_work(&Work::CopyToDevice { dst, src: host.as_ptr(), bytes }) }
    }

    /// Copies the first elements over all elements of `target`, in stream order. Returns when the copy is enqueued;
    /// [`PinnedBuffer::host`] waits for it.
    ///
    /// # Errors
    /// As [`download`](DeviceBuffer::download).
    pub fn download_pinned(&self, stream: &Stream, target: &mut PinnedBuffer<T>) -> Result<()> {
        self.check(stream, target.len(), "DeviceBuffer::download_pinned")?;
        let Some(PinnedAllocation { host, bytes, .. }) = target.allocation else { return Ok(()) };
        self.used_on(stream);
        target.record_use(stream);
        let src = self.address();
        // SAFETY: the pinned memory lives until the stream, which is recorded, was waited for; `target` is borrowed
        // exclusively, so nobody has its elements. The range lies in this buffer's memory.
        unsafe { stream.enqueue_work(&Work::CopyToHost { dst: host.as_ptr(), src, bytes }) }
    }
}
