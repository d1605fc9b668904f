//! A typed device buffer that frees itself.

use std::marker::PhantomData;

use bytemuck::Pod;

use crate::device::Device;
use crate::driver::DevicePtr;
use crate::error::{Error, Result};
use crate::stream::StreamCore;

/// `len` elements of `T` in device memory. Freed on drop, which may wait for the device as `hipFree` does.
#[derive(Debug)]
pub struct DeviceBuffer<T: Pod> {
    device: Device,
    ptr: DevicePtr,
    len: usize,
    element: PhantomData<T>,
}

impl<T: Pod> DeviceBuffer<T> {
    /// Allocates `len` elements; what they hold is undefined. 0 elements allocate nothing.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`] and the driver's.
    pub fn new(device: &Device, len: usize) -> Result<DeviceBuffer<T>> {
        device.check()?;
        let bytes = len.checked_mul(size_of::<T>()).ok_or_else(|| {
            Error::invalid("DeviceBuffer::new", format!("{len} elements overflow the address space"))
        })?;
        let mut ptr = DevicePtr::NULL;
        if bytes > 0 {
            ptr = device
                .raw()
                .malloc(device.id(), bytes)
                .map_err(|e| device.allocation_error("device", bytes, e))?;
            device.add_held(bytes as u64);
        }
        Ok(DeviceBuffer { device: device.clone(), ptr, len, element: PhantomData })
    }

    /// Allocates and uploads in the order of `stream`; `data` may be reused at once.
    ///
    /// # Errors
    /// As [`new`](DeviceBuffer::new) and [`upload`](DeviceBuffer::upload).
    pub fn from_slice(stream: &StreamCore, data: &[T]) -> Result<DeviceBuffer<T>> {
        let mut buffer = DeviceBuffer::new(stream.device(), data.len())?;
        buffer.upload(stream, data)?;
        Ok(buffer)
    }

    /// Its address; null when it is empty.
    #[inline]
    pub fn ptr(&self) -> DevicePtr {
        self.ptr
    }

    /// Elements.
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

    /// Its device.
    pub fn device(&self) -> &Device {
        &self.device
    }

    /// Copies `data` into the first elements, in stream order. `data` may be reused when this returns.
    ///
    /// # Errors
    /// [`Error::Invalid`] when `data` is longer than the buffer or the stream is another device's; the driver's.
    pub fn upload(&mut self, stream: &StreamCore, data: &[T]) -> Result<()> {
        self.check(stream, data.len(), "DeviceBuffer::upload")?;
        if data.is_empty() || self.ptr.is_null() {
            return Ok(());
        }
        let device = &self.device;
        // SAFETY: `data` is live host memory of that many bytes and not pinned by this library, so that the driver has
        // read it when the call returns; the range lies in this allocation.
        unsafe {
            device.raw().memcpy_htod_async(
                device.id(),
                self.ptr,
                data.as_ptr().cast(),
                size_of_val(data),
                stream.raw(),
            )
        }
        .map_err(|e| device.error(e))?;
        Ok(())
    }

    /// Copies the first elements into `data`, in stream order, and waits for that.
    ///
    /// # Errors
    /// As [`upload`](DeviceBuffer::upload).
    pub fn download(&self, stream: &StreamCore, data: &mut [T]) -> Result<()> {
        self.check(stream, data.len(), "DeviceBuffer::download")?;
        if data.is_empty() || self.ptr.is_null() {
            return Ok(());
        }
        let device = &self.device;
        // SAFETY: `data` is exclusively borrowed host memory of that many bytes; the synchronize below makes sure that
        // the copy is over before the borrow is, on drivers too that would not wait for pageable memory.
        let copied = unsafe {
            device.raw().memcpy_dtoh_async(
                device.id(),
                data.as_mut_ptr().cast(),
                self.ptr,
                size_of_val(data),
                stream.raw(),
            )
        };
        copied.map_err(|e| device.error(e))?;
        stream.synchronize()
    }

    /// All elements, in stream order; waits.
    ///
    /// # Errors
    /// As [`download`](DeviceBuffer::download).
    pub fn to_vec(&self, stream: &StreamCore) -> Result<Vec<T>> {
        let mut data = vec![T::zeroed(); self.len];
        self.download(stream, &mut data)?;
        Ok(data)
    }

    /// Fills every byte, in stream order.
    ///
    /// # Errors
    /// [`Error::Invalid`] for a stream of another device; the driver's.
    pub fn fill_bytes(&mut self, stream: &StreamCore, value: u8) -> Result<()> {
        self.check(stream, 0, "DeviceBuffer::fill_bytes")?;
        if self.ptr.is_null() {
            return Ok(());
        }
        let device = &self.device;
        // SAFETY: the whole of this live allocation.
        unsafe { device.raw().memset_d8_async(device.id(), self.ptr, value, self.bytes(), stream.raw()) }
            .map_err(|e| device.error(e))?;
        Ok(())
    }

    fn check(&self, stream: &StreamCore, len: usize, what: &'static str) -> Result<()> {
        self.device.check()?;
        if *stream.device() != self.device {
            let problem =
                format!("the stream is on {}, the buffer on {}", stream.device().id(), self.device.id());
            return Err(Error::invalid(what, problem));
        }
        if len > self.len {
            return Err(Error::invalid(what, format!("{len} elements for a buffer of {}", self.len)));
        }
        Ok(())
    }
}

impl<T: Pod> Drop for DeviceBuffer<T> {
    fn drop(&mut self) {
        if self.ptr.is_null() {
            return;
        }
        self.device.sub_held(self.bytes() as u64);
        // SAFETY: this buffer's own allocation; `free` waits for work that still uses it.
        if let Err(e) = unsafe { self.device.raw().free(self.device.id(), self.ptr) } {
            log::warn!("freeing a buffer of {} bytes on {}: {e}", self.bytes(), self.device.id());
        }
    }
}
