//! Copies to, from and between contiguous views: parts of buffers.

use bytemuck::Pod;
use hip_driver::Work;

use crate::error::{Error, Result};
use crate::launcher::Stream;

use super::buffer::download;
use super::pinned_buffer::is_pinned;
use super::view::DeviceView;

impl<T: Pod> DeviceView<T> {
    /// Copies `data` over the view's elements, in stream order; there are as many. `data` may be reused when this returns.
    ///
    /// # Errors
    /// [`Error::Invalid`] when lengths differ, the view has gaps, or the stream is another device's; the driver's.
    pub fn upload(&self, stream: &Stream, data: &[T]) -> Result<()> {
        self.check(stream, data.len(), "DeviceView::upload")?;
        if size_of_val(data) == 0 {
            return Ok(());
        }
        self.memory().used_on(stream);
        let (device, to, from) = (self.device(), self.address(), data.as_ptr().cast());
        // SAFETY: `data` is live host memory of that many bytes. If it is not pinned, the driver has read it when the call
        // returns; else it is waited for below. The range lies in the view's live memory.
        unsafe {
            device.raw().enqueue(
                device.id(),
                stream.raw(),
                &Work::CopyToDevice { dst: to, src: from, bytes: size_of_val(data) },
            )
        }
        .map_err(|e| device.error(e))?;
        if is_pinned(data) { stream.synchronize() } else { Ok(()) }
    }

    /// Copies the view's elements to `data`, in stream order, and waits for that; there are as many.
    ///
    /// # Errors
    /// As [`upload`](DeviceView::upload).
    pub fn download(&self, stream: &Stream, data: &mut [T]) -> Result<()> {
        self.check(stream, data.len(), "DeviceView::download")?;
        self.memory().used_on(stream);
        download(self.device(), self.address(), stream, data)
    }

    /// Copies the elements of `source` over the view's, in stream order; there are as many.
    ///
    /// # Errors
    /// As [`upload`](DeviceView::upload); [`Error::Invalid`] when the two overlap, `source` has gaps or is on another device.
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
        let device = self.device();
        // SAFETY: both ranges lie in live blocks of this device and do not overlap.
        unsafe {
            device.raw().enqueue(device.id(), stream.raw(), &Work::CopyWithin { dst: to, src: from, bytes })
        }
        .map_err(|e| device.error(e))
    }

    /// Fills every byte of the view's elements, in stream order.
    ///
    /// # Errors
    /// As [`upload`](DeviceView::upload).
    pub fn fill_bytes(&self, stream: &Stream, value: u8) -> Result<()> {
        self.check(stream, self.len(), "DeviceView::fill_bytes")?;
        let bytes = self.len() * size_of::<T>();
        if bytes == 0 {
            return Ok(());
        }
        self.memory().used_on(stream);
        let device = self.device();
        // SAFETY: the range lies in the view's live block.
        unsafe {
            device.raw().enqueue(
                device.id(),
                stream.raw(),
                &Work::FillBytes { dst: self.address(), value, bytes },
            )
        }
        .map_err(|e| device.error(e))
    }

    fn check(&self, stream: &Stream, len: usize, what: &'static str) -> Result<()> {
        self.device().check()?;
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
