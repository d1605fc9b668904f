//! Functions of the host in the order of a stream.

use crate::error::{Error, Result};
use hip_driver::{HostFunction, Work};

use super::Stream;

impl Stream {
    /// Runs a function of the host once all work that is enqueued so far has finished. Work that is enqueued later waits for it.
    ///
    /// It runs once, on a thread of the driver, and must be brief: the stream stands still meanwhile. It must not call this
    /// library, nor wait for work of the device, whose threads may be waiting for it; it can send to a channel, set a future's
    /// result, or signal a semaphore of another runtime. A panic does not leave it: it is logged, and the stream goes on.
    ///
    /// The function is passed the error of a lost device, on which it runs, too, so that nobody waits for it in vain. AMD's
    /// library does not say whether work has failed (`hipLaunchHostFunc`): there, `Ok` means that the stream came so far.
    ///
    /// ```
    /// # use hiplaunch::{Backend, Launcher};
    /// # #[cfg(feature = "emulator")] {
    /// let launcher = Launcher::builder().backend(Backend::Emulator).build()?;
    /// let stream = launcher.stream(launcher.device(0)?)?;
    /// let (done, wait) = std::sync::mpsc::channel();
    /// stream.host_function(move |status| done.send(status.is_ok()).unwrap())?;
    /// assert_eq!(wait.recv(), Ok(true));
    /// # }
    /// # Ok::<(), hiplaunch::Error>(())
    /// ```
    ///
    /// # Errors
    /// The function is dropped, and does not run, if this fails: [`Error::DeviceLost`]; [`Error::Captured`] while the stream is
    /// captured, as a graph of HIP's would run the function often; `NOT_SUPPORTED` of a HIP without host functions, which is
    /// older than 5.3 ([`Capability::HostFunc`](crate::driver::Capability::HostFunc)).
    pub fn host_function(&self, function: impl FnOnce(Result<()>) + Send + 'static) -> Result<()> {
        self.0.check()?;
        self.0.refuse_if_captured("a host function")?;
        let device = self.device().clone();
        let function = HostFunction::with_status(move |status| {
            // No report is made here, as that would lock streams, whose holders may wait for this function.
            function(status.map_err(|error| device.check().err().unwrap_or_else(|| Error::from(error))));
        });
        // SAFETY: the function owns what it uses.
        unsafe { self.enqueue_work(&Work::HostFunction(&function)) }
    }
}
