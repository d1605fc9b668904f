//! Where work goes: the stream on which it is enqueued, and whether the call waits for it.

use hip_driver::{DeviceId, RawStream, Work};

use crate::abi::status::HipResult;
use crate::process::{Process, lock_helpers};
use crate::stream::StreamHandle;

/// Where a call's work goes, as the program names it.
#[derive(Clone, Copy)]
pub(crate) struct Target {
    pub(crate) stream: StreamHandle,
    /// Whether the call waits for the work.
    pub(crate) waits: bool,
}

impl Target {
    /// The call waits, on the null stream.
    pub(crate) const BLOCKING: Target = Target { stream: StreamHandle::NULL, waits: true };

    /// The call waits, on the thread's own default stream.
    pub(crate) const BLOCKING_PER_THREAD: Target =
        Target { stream: StreamHandle::new(RawStream::PER_THREAD.0), waits: true };

    /// The call enqueues.
    pub(crate) fn enqueue(stream: StreamHandle) -> Target {
        Target { stream, waits: false }
    }

    /// The call waits for its work on a stream.
    pub(crate) fn wait(stream: StreamHandle) -> Target {
        Target { stream, waits: true }
    }

    /// The queue. Fails with `CONTEXT_IS_DESTROYED` if the stream does not exist.
    pub(crate) fn queue(self, process: &Process) -> HipResult<Queue> {
        let (device, stream) = process.stream(self.stream)?;
        Ok(Queue { device, stream, waits: self.waits })
    }
}

/// A [`Target`] that was found: a stream of a device, and whether the call waits for its work.
#[derive(Clone, Copy)]
pub(crate) struct Queue {
    pub(crate) device: DeviceId,
    pub(crate) stream: RawStream,
    pub(crate) waits: bool,
}

impl Queue {
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
    pub(crate) fn enqueue_on(&self, device: DeviceId, queue: Queue, work: &Work<'_>) -> HipResult {
        let driver = &self.driver;
        // SAFETY: the stream was live when the call began. The program passes memory that it may use so until the work has
        // run, as HIP asks; `place` has checked what is known of it.
        unsafe {
            if device == queue.device {
                return Ok(driver.enqueue(device, queue.stream, work)?);
            }
            let ((helper, done), (_, before)) = (self.helper(device)?, self.helper(queue.device)?);
            // Another thread must not record the events between a record and its wait.
            let _helpers = lock_helpers();
            driver.event_record(queue.device, before, queue.stream)?;
            driver.stream_wait_event(device, helper, before)?;
            driver.enqueue(device, helper, work)?;
            driver.event_record(device, done, helper)?;
            Ok(driver.stream_wait_event(queue.device, queue.stream, done)?)
        }
    }
}
