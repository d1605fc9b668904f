//! Values in memory that streams write and wait for.

use bytemuck::Pod;
use hip_driver::{ValueWidth, WaitCondition, Work};

use super::view::{AsView, DeviceView};
use crate::error::{Error, Result};
use crate::stream::Stream;

impl Stream {
    /// Writes a value to device memory once all work that is enqueued so far has finished. `to` has 8 bytes, aligned to 8: one
    /// element of a buffer of 64-bit numbers, for example.
    ///
    /// With [`wait_value`](Stream::wait_value), it orders streams by a number that counts up, as a timeline semaphore does: work
    /// behind a wait for `n` comes after all work before the write of `n`. Unlike an [`Event`](crate::Event), the wait can be
    /// enqueued before the write.
    ///
    /// ```
    /// # use hiplaunch::{Backend, DeviceBuffer, Launcher};
    /// use hiplaunch::driver::{Comparison, WaitCondition};
    /// # #[cfg(feature = "emulator")] {
    /// # let launcher = Launcher::builder().backend(Backend::Emulator).build()?;
    /// # let device = launcher.device(0)?;
    /// # let (producer, consumer) = (launcher.stream(device)?, launcher.stream(device)?);
    /// # let mut buffer = DeviceBuffer::<u32>::on(&producer, 64)?;
    /// let step = DeviceBuffer::<u64>::from_slice(&producer, &[0])?;
    /// producer.synchronize()?;
    /// consumer.wait_value(&step, WaitCondition::new(Comparison::AtLeast, 1))?;
    /// buffer.fill(&producer, 7)?;
    /// producer.write_value(&step, 1)?;
    /// assert_eq!(buffer.to_vec(&consumer)?, [7; 64]);
    /// # }
    /// # Ok::<(), hiplaunch::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::DeviceLost`]; [`Error::Captured`] while the stream is captured, as HIP has no node of a graph for it;
    /// [`Error::Invalid`] if `to` has not 8 aligned bytes, or is on another device; `NOT_SUPPORTED` where the driver lacks
    /// [`Capability::StreamValues`](crate::driver::Capability::StreamValues).
    pub fn write_value<T: Pod>(&self, to: &impl AsView<T>, value: u64) -> Result<()> {
        let to = to.as_view();
        self.check_value(&to, "Stream::write_value")?;
        let work = Work::WriteValue { dst: to.address(), width: ValueWidth::Bits64, value };
        // SAFETY: the view's bytes are live memory of the stream's device, 8 of them, and aligned.
        unsafe { self.enqueue_work(&work) }
    }

    /// Has work that is enqueued from now on wait until a value in device memory is as required. `at` has 8 bytes, aligned to
    /// 8; it may be dropped as soon as this returns.
    ///
    /// Only this stream stands still. If nobody writes such a value, it does so until the device is lost: synchronizing the
    /// stream, reading its tickets and dropping it wait forever. Who writes it is another stream, by
    /// [`write_value`](Stream::write_value), or a kernel that releases it to the system.
    ///
    /// # Errors
    /// As [`write_value`](Stream::write_value).
    pub fn wait_value<T: Pod>(&self, at: &impl AsView<T>, condition: WaitCondition) -> Result<()> {
        let at = at.as_view();
        self.check_value(&at, "Stream::wait_value")?;
        let work = Work::WaitValue { src: at.address(), width: ValueWidth::Bits64, condition };
        // SAFETY: as in `write_value`; the use that was recorded keeps the memory until the wait is over.
        unsafe { self.enqueue_work(&work) }
    }

    /// Checks a value's place, and records that the stream uses it.
    fn check_value<T: Pod>(&self, view: &DeviceView<T>, what: &'static str) -> Result<()> {
        let state = self.state();
        state.check_capturable()?;
        state.refuse_if_captured("a value that is written or waited for")?;
        state.check_device(view.device(), what, "value")?;
        let bytes = view.len() * size_of::<T>();
        if bytes != 8 || !view.layout().is_contiguous() || !view.address().0.is_multiple_of(8) {
            let problem = format!("{bytes} bytes at {} are no value of 8 aligned bytes", view.address());
            return Err(Error::invalid(what, problem));
        }
        view.memory().used_on(self);
        Ok(())
    }
}
