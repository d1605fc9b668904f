//! Where work goes: the stream on which it is enqueued, and whether the call waits for it.

use hip_driver::{DeviceId, RawStream, Work};

use crate::abi::status::HipResult;
use crate::process::thread;
use crate::process::{Process, lock_helpers};
use crate::stream::StreamHandle;

/// The stream on which work is enqueued, and whether the call waits for it.
#[derive(Clone, Copy)]
pub(crate) struct Target {
    pub(crate) device: DeviceId,
    pub(crate) stream: RawStream,
    pub(crate) waits: bool,
}

impl Target {
    /// The call enqueues.
    pub(crate) fn on(process: &Process, stream: StreamHandle) -> HipResult<Target> {
        let (device, stream) = process.stream(stream)?;
        Ok(Target { device, stream, waits: false })
    }

    /// The call waits for its work on the null stream.
    pub(crate) fn blocking() -> Target {
        Target { device: thread::device(), stream: RawStream::NULL, waits: true }
    }

    /// The call waits for its work on a stream.
    pub(crate) fn blocking_on(process: &Process, stream: StreamHandle) -> HipResult<Target> {
        Ok(Target { waits: true, ..Target::on(process, stream)? })
    }

    /// Waits, if the call does, and reports a fault of the stream's device.
    pub(crate) fn finish(self, process: &Process) -> HipResult {
        self.finish_on(process, [])
    }

    /// Waits, if the call does, for work that these devices did in the stream's order, and reports their faults.
    pub(crate) fn finish_on(
        self,
        process: &Process,
        devices: impl IntoIterator<Item = DeviceId>,
    ) -> HipResult {
        if !self.waits {
            return Ok(());
        }
        // SAFETY: the stream was live when the call began; that nobody destroys it meanwhile is the program's part.
        unsafe { process.driver.stream_synchronize(self.device, self.stream) }?;
        // The stream's wait for another device's work ends when that device is lost, too.
        devices
            .into_iter()
            .filter(|device| *device != self.device)
            .try_for_each(|device| process.report_fault(device))
    }
}

impl Process {
    /// Enqueues work of `device` on a stream, which may be another device's. Then a stream of `device` does the work,
    /// after the earlier and before the later work of the given stream.
    pub(crate) fn enqueue_on(&self, device: DeviceId, target: Target, work: &Work<'_>) -> HipResult {
        let driver = &self.driver;
        // SAFETY: the stream was live when the call began. The program passes memory that it may use so until the work has
        // run, as HIP asks; `place` has checked what is known of it.
        unsafe {
            if device == target.device {
                return Ok(driver.enqueue(device, target.stream, work)?);
            }
            let ((helper, done), (_, before)) = (self.helper(device)?, self.helper(target.device)?);
            // Another thread must not record the events between a record and its wait.
            let _helpers = lock_helpers();
            driver.event_record(target.device, before, target.stream)?;
            driver.stream_wait_event(device, helper, before)?;
            driver.enqueue(device, helper, work)?;
            driver.event_record(device, done, helper)?;
            Ok(driver.stream_wait_event(target.device, target.stream, done)?)
        }
    }
}
