//! Copies to, from and between contiguous views, also of two devices.

use std::sync::Arc;

use bytemuck::Pod;
use hip_driver::{DevicePtr, Work};

use crate::error::{Error, Result};
use crate::stream::Stream;

use super::device_buffer::Memory;
use super::pinned_buffer::is_pinned;
use super::view::DeviceView;

impl<T: Pod> DeviceView<T> {
    /// Copies `data`, of as many elements, to the view's elements, in stream order. `data` may be reused when this
    /// returns.
    ///
    /// # Errors
    /// Returns [`Error::Invalid`] if lengths differ, the view is not contiguous, or the stream is on another device.
    /// Otherwise returns the driver's error.
    pub fn upload(&self, stream: &Stream, data: &[T]) -> Result<()> {
        self.check(stream, data.len(), "DeviceView::upload")?;
        // SAFETY: the view's elements, which are contiguous, lie in its memory.
        unsafe { self.memory().upload(stream, self.address(), data) }
    }

    /// Copies the view's elements to `data`, of as many elements, in stream order, and waits for the copy.
    ///
    /// # Errors
    /// Returns the errors of [`upload`](DeviceView::upload).
    pub fn download(&self, stream: &Stream, data: &mut [T]) -> Result<()> {
        self.check(stream, data.len(), "DeviceView::download")?;
        // SAFETY: the view's elements, which are contiguous, lie in its memory.
        unsafe { self.memory().download(stream, self.address(), data) }
    }

    /// Copies the elements of `source`, which has as many, to the view's elements, in stream order. `source` may be on
    /// another device ([`DeviceBuffer::copy_from`](super::DeviceBuffer::copy_from)).
    ///
    /// # Errors
    /// Returns the errors of [`upload`](DeviceView::upload), and [`Error::Invalid`] if the two overlap, or `source` is
    /// not contiguous or of another driver.
    pub fn copy_from(&self, stream: &Stream, source: &DeviceView<T>) -> Result<()> {
        let what = "DeviceView::copy_from";
        self.check(stream, source.len(), what)?;
        // SAFETY: the view's elements, as many as the source has, are contiguous and lie in its memory.
        unsafe { self.memory().copy_from(what, stream, self.address(), source) }
    }

    /// Sets every byte of the view's elements to `value`, in stream order.
    ///
    /// # Errors
    /// Returns the errors of [`upload`](DeviceView::upload).
    pub fn fill_bytes(&self, stream: &Stream, value: u8) -> Result<()> {
        self.check(stream, self.len(), "DeviceView::fill_bytes")?;
        // SAFETY: the view's elements, which are contiguous, lie in its memory.
        unsafe { self.memory().fill_bytes(stream, self.address(), value, self.len() * size_of::<T>()) }
    }

    /// Sets every 32-bit word of the view's elements to `word`, in stream order.
    ///
    /// # Errors
    /// Returns the errors of [`upload`](DeviceView::upload), and [`Error::Invalid`] if the elements do not begin and end
    /// at multiples of 4 bytes.
    pub fn fill_words(&self, stream: &Stream, word: u32) -> Result<()> {
        let what = "DeviceView::fill_words";
        self.check(stream, self.len(), what)?;
        let bytes = self.len() * size_of::<T>();
        let to = self.address();
        if bytes > 0 && (!bytes.is_multiple_of(4) || !to.0.is_multiple_of(4)) {
            return Err(Error::invalid(
                what,
                format!("{bytes} bytes at {to} are not whole words of 4 bytes"),
            ));
        }
        // SAFETY: the view's elements, which are contiguous, lie in its memory, and are whole words.
        unsafe { self.memory().fill_words(stream, to, word, bytes) }
    }

    fn check(&self, stream: &Stream, len: usize, what: &'static str) -> Result<()> {
        stream.state().check_capturable()?;
        stream.state().check_device(self.device(), what, "view")?;
        if len != self.len() {
            return Err(Error::invalid(what, format!("{len} elements for a view of {}", self.len())));
        }
        if !self.layout().is_contiguous() {
            return Err(Error::invalid(what, "the view has gaps; copy it with a kernel"));
        }
        Ok(())
    }
}

/// Transfers of bytes in live memory, in the order of a stream that is on its device.
///
/// # Safety
/// Of all of them: the bytes at the address lie in this memory.
impl Memory {
    /// Copies `data` to `to`. `data` may be reused when this returns.
    pub(super) unsafe fn upload<T: Pod>(&self, stream: &Stream, to: DevicePtr, data: &[T]) -> Result<()> {
        let (from, bytes) = (data.as_ptr().cast(), size_of_val(data));
        if bytes == 0 {
            return Ok(());
        }
        self.used_on(stream);
        // SAFETY: `data` is live host memory of that many bytes. If it is not pinned, the driver has read it when the call
        // returns; else it is waited for below. The caller promises the range.
        unsafe { stream.enqueue_work(&Work::CopyToDevice { dst: to, src: from, bytes }) }?;
        if is_pinned(data) { stream.synchronize() } else { Ok(()) }
    }

    /// Copies from `from` to `data`, and waits for the copy.
    pub(super) unsafe fn download<T: Pod>(
        &self,
        stream: &Stream,
        from: DevicePtr,
        data: &mut [T],
    ) -> Result<()> {
        let (bytes, to) = (size_of_val(data), data.as_mut_ptr().cast());
        self.used_on(stream);
        if bytes == 0 {
            return Ok(());
        }
        // SAFETY: `data` is exclusively borrowed host memory of that many bytes; the synchronize below makes sure that the
        // copy has finished before the borrow ends, even on drivers that don't wait for pageable memory. The caller
        // promises the range.
        unsafe { stream.enqueue_work(&Work::CopyToHost { dst: to, src: from, bytes }) }?;
        stream.synchronize()
    }

    /// Sets `bytes` bytes at `to` to `value`.
    pub(super) unsafe fn fill_bytes(
        &self,
        stream: &Stream,
        to: DevicePtr,
        value: u8,
        bytes: usize,
    ) -> Result<()> {
        // SAFETY: the caller promises the range.
        unsafe { self.fill(stream, bytes, &Work::FillBytes { dst: to, value, bytes }) }
    }

    /// Sets the words of `bytes` bytes, a multiple of 4, at `to`, a multiple of 4, to `value`.
    pub(super) unsafe fn fill_words(
        &self,
        stream: &Stream,
        to: DevicePtr,
        value: u32,
        bytes: usize,
    ) -> Result<()> {
        // SAFETY: the caller promises the range and the words.
        unsafe { self.fill(stream, bytes, &Work::FillWords { dst: to, value, count: bytes / 4 }) }
    }

    unsafe fn fill(&self, stream: &Stream, bytes: usize, fill: &Work<'_>) -> Result<()> {
        if bytes == 0 {
            return Ok(());
        }
        self.used_on(stream);
        // SAFETY: the caller promises the range.
        unsafe { stream.enqueue_work(fill) }
    }

    /// Copies all elements of `source` to `to`.
    ///
    /// # Errors
    /// [`Error::Invalid`] for a source that is not contiguous, of another driver, or overlaps what is written; else the driver's
    /// error.
    pub(super) unsafe fn copy_from<T: Pod>(
        &self,
        what: &'static str,
        stream: &Stream,
        to: DevicePtr,
        source: &DeviceView<T>,
    ) -> Result<()> {
        if !source.layout().is_contiguous() {
            return Err(Error::invalid(what, "the source has gaps; copy it with a kernel"));
        }
        let (device, from_device) = (stream.device(), source.device());
        let (from, bytes) = (source.address(), source.len() * size_of::<T>());
        if bytes == 0 {
            return Ok(());
        }
        let copy = if device == from_device {
            if from.0 < to.0 + bytes as u64 && to.0 < from.0 + bytes as u64 {
                return Err(Error::invalid(what, "the source's elements overlap those that are written"));
            }
            Work::CopyWithin { dst: to, src: from, bytes }
        } else {
            if !Arc::ptr_eq(device.driver(), from_device.driver()) {
                return Err(Error::invalid(what, "the source is memory of another launcher's driver"));
            }
            from_device.check()?;
            Work::CopyFromPeer { dst: to, src_device: from_device.id(), src: from, bytes }
        };
        self.used_on(stream);
        source.memory().used_on(stream);
        // SAFETY: the caller promises the one range, the view has the other, of the devices that the copy names; they do
        // not overlap.
        unsafe { stream.enqueue_work(&copy) }
    }
}
