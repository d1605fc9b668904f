//! Copies to, from and between contiguous views, also of two devices.

use std::sync::Arc;

use bytemuck::Pod;
use hip_driver::{DevicePtr, Work};

use crate::error::{Error, Result};
use crate::stream::Stream;

use super::device_buffer::{Memory, download};
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
        if size_of_val(data) == 0 {
            return Ok(());
        }
        self.memory().used_on(stream);
        let (to, from) = (self.address(), data.as_ptr().cast());
        // SAFETY: `data` is live host memory of that many bytes. If it is not pinned, the driver has read it when the call
        // returns; else it is waited for below. The range lies in this view's memory.
        unsafe { stream.enqueue_work(&Work::CopyToDevice { dst: to, src: from, bytes: size_of_val(data) }) }?;
        if is_pinned(data) { stream.synchronize() } else { Ok(()) }
    }

    /// Copies the view's elements to `data`, of as many elements, in stream order, and waits for the copy.
    ///
    /// # Errors
    /// Returns the errors of [`upload`](DeviceView::upload).
    pub fn download(&self, stream: &Stream, data: &mut [T]) -> Result<()> {
        self.check(stream, data.len(), "DeviceView::download")?;
        self.memory().used_on(stream);
        download(self.address(), stream, data)
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
        copy_between(what, stream, self.memory(), self.address(), source)
    }

    /// Sets every byte of the view's elements to `value`, in stream order.
    ///
    /// # Errors
    /// Returns the errors of [`upload`](DeviceView::upload).
    pub fn fill_bytes(&self, stream: &Stream, value: u8) -> Result<()> {
        self.check(stream, self.len(), "DeviceView::fill_bytes")?;
        let bytes = self.len() * size_of::<T>();
        if bytes == 0 {
            return Ok(());
        }
        self.memory().used_on(stream);
        // SAFETY: the range lies in the view's live block.
        unsafe { stream.enqueue_work(&Work::FillBytes { dst: self.address(), value, bytes }) }
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
        if bytes == 0 {
            return Ok(());
        }
        let to = self.address();
        if !bytes.is_multiple_of(4) || !to.0.is_multiple_of(4) {
            return Err(Error::invalid(
                what,
                format!("{bytes} bytes at {to} are not whole words of 4 bytes"),
            ));
        }
        self.memory().used_on(stream);
        // SAFETY: the range lies in the view's live block, and consists of whole words.
        unsafe { stream.enqueue_work(&Work::FillWords { dst: to, value: word, count: bytes / 4 }) }
    }

    fn check(&self, stream: &Stream, len: usize, what: &'static str) -> Result<()> {
        stream.state().check_capturable()?;
        if stream.device() != self.device() {
            let problem =
                format!("the stream is on {}, the view on {}", stream.device().id(), self.device().id());
            return Err(Error::invalid(what, problem));
        }
        if len != self.len() {
            return Err(Error::invalid(what, format!("{len} elements for a view of {}", self.len())));
        }
        if !self.layout().is_contiguous() {
            return Err(Error::invalid(what, "the view has gaps; copy it with a kernel"));
        }
        Ok(())
    }
}

/// Copies all elements of `source` to the address `to` in `memory`, which is on the stream's device.
///
/// # Errors
/// [`Error::Invalid`] for a source that is not contiguous, of another driver, or overlaps what is written; else the driver's
/// error.
pub(super) fn copy_between<T: Pod>(
    what: &'static str,
    stream: &Stream,
    memory: &Memory,
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
    memory.used_on(stream);
    source.memory().used_on(stream);
    // SAFETY: both ranges lie in live blocks, of the devices that the copy names, and do not overlap.
    unsafe { stream.enqueue_work(&copy) }
}
