//! Copies to, from and between contiguous views.

use bytemuck::Pod;
use hip_driver::Work;

use crate::error::{Error, Result};
use crate::launcher::Stream;

use super::buffer::download;
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

    /// Copies the elements of `source`, which has as many, to the view's elements, in stream order.
    ///
    /// # Errors
    /// Returns the errors of [`upload`](DeviceView::upload), and [`Error::Invalid`] if the two overlap, or `source` is
    /// not contiguous or on another device.
    pub fn copy_from(&self, stream: &Stream, source: &DeviceView<T>) -> Result<()> {
        let what = "DeviceView::copy_from";
        self.check(stream, source.len(), what)?;
        source.check(stream, self.len(), what)?;
        let bytes = self.len() * size_of::<T>();
        if bytes == 0 {
            return Ok(());
        }
        let (to, from) = (self.address(), source.address());
        if from.0 < to.0 + bytes as u64 && to.0 < from.0 + bytes as u64 {
            return Err(Error::invalid(what, "the source's elements overlap those that are written"));
        }
        self.memory().used_on(stream);
        source.memory().used_on(stream);
        // SAFETY: both ranges lie in live blocks of this device and do not overlap.
        unsafe { stream.enqueue_work(&Work::CopyWithin { dst: to, src: from, bytes }) }
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

    fn check(&self, stream: &Stream, len: usize, what: &'static str) -> Result<()> {
        stream.core().check_capturable()?;
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
