//! Functions of the host in the order of a stream.

use crate::error::{Error, Result};
use hip_driver::{DriverError, HostFunction, HostNode, Work};

use super::Stream;
use crate::device::Device;

impl Stream {
    /// Runs a function of the host once all work that is enqueued so far has finished. Work that is enqueued later waits for it.
    ///
    /// It runs once, on a thread of the driver, and must be brief: the stream stands still meanwhile. It must not call this
    /// library, nor wait for work of the device, whose threads may be waiting for it; it can send to a channel, set a future's
    /// result, or signal a semaphore of another runtime. A panic does not leave it: it is logged, and the stream goes on. If it
    /// never returns, the stream stands still, and whoever waits for the stream waits forever.
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
    /// captured, as a graph would run the function often: that is
    /// [`repeated_host_function`](Stream::repeated_host_function); `NOT_SUPPORTED` of a HIP without host functions, which is
    /// older than 5.3 ([`Capability::HostFunc`](crate::driver::Capability::HostFunc)).
    pub fn host_function(&self, function: impl FnOnce(Result<()>) + Send + 'static) -> Result<()> {
        self.0.check_capturable()?;
        self.0.refuse_if_captured(
            "a function that runs once (`repeated_host_function` takes one that runs often)",
        )?;
        let device = self.device().clone();
        let function = HostFunction::with_status(move |status| {
            function(told(status, &device));
        });
        // SAFETY: the function owns what it uses.
        unsafe { self.enqueue_work(&Work::HostFunction(&function)) }
    }

    /// Runs a function of the host as [`host_function`](Stream::host_function) does, but one that can run often: while the stream is
    /// captured, it becomes a node of the graph, and runs at every launch of it, behind what was captured before it. The graph keeps
    /// it. On a stream that is not captured, it runs once.
    ///
    /// ```
    /// # use hiplaunch::{Backend, Launcher, stream::CaptureMode};
    /// # #[cfg(feature = "emulator")] {
    /// # let launcher = Launcher::builder().backend(Backend::Emulator).build()?;
    /// # let stream = launcher.stream(launcher.device(0)?)?;
    /// let (done, wait) = std::sync::mpsc::channel();
    /// let graph = stream.capture(CaptureMode::ThreadLocal, |stream| {
    ///     stream.repeated_host_function(move |status| done.send(status.is_ok()).unwrap())
    /// })?;
    /// for _ in 0..3 {
    ///     // SAFETY: the graph accesses no memory.
    ///     unsafe { graph.launch(&stream)? };
    ///     assert_eq!(wait.recv(), Ok(true));
    /// }
    /// # }
    /// # Ok::<(), hiplaunch::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`host_function`](Stream::host_function); [`Error::Captured`] only on a stream of others that they capture, as nothing says
    /// how long their graph lives.
    pub fn repeated_host_function(
        &self,
        function: impl Fn(Result<()>) + Send + Sync + 'static,
    ) -> Result<()> {
        self.0.check_capturable()?;
        let is_captured = self.0.driver_stream.is_capturing();
        if !is_captured {
            self.0.refuse_if_captured("a host function")?;
        }
        let node = host_node(self.device(), function);
        if is_captured {
            self.0.captured().other(Box::new(node.clone()));
        }
        // SAFETY: what the graph of a capture keeps is dropped after it.
        unsafe { self.enqueue_work(&Work::HostNode(&node)) }
    }
}

/// Makes a driver's function of one that runs often.
pub(crate) fn host_node(device: &Device, function: impl Fn(Result<()>) + Send + Sync + 'static) -> HostNode {
    let device = device.clone();
    HostNode::new(move |status| function(told(status, &device)))
}

/// What a host function is told. No report is made here, as that would lock streams, whose holders may wait for the function.
fn told(status: std::result::Result<(), DriverError>, device: &Device) -> Result<()> {
    status.map_err(|error| device.check().err().unwrap_or_else(|| Error::from(error)))
}
