//! Functions of the host that run in stream order.

use hip_driver::{HostFunction, Work};

use crate::abi::{HipResult, HostFn, Status, UserData};
use crate::process::Process;
use crate::stream::StreamHandle;

/// A `hipStreamCallback_t`.
pub(crate) type StreamCallback = Option<unsafe extern "C" fn(StreamHandle, Status, UserData)>;

/// Enqueues a function. It is called even if the work before it has faulted, or never runs because of a fault; with the status.
pub(crate) fn enqueue(
    process: &Process,
    stream: StreamHandle,
    function: impl FnOnce(HipResult) + Send + 'static,
) -> HipResult {
    let (device, raw) = process.stream(stream)?;
    let function = HostFunction::with_status(|status| function(status.map_err(Into::into)));
    // SAFETY: the stream is live; the function is owned.
    Ok(unsafe { process.driver.enqueue(device, raw, &Work::HostFunction(&function)) }?)
}

pub(crate) fn hipStreamAddCallback(
    process: &'static Process,
    stream: StreamHandle,
    callback: StreamCallback,
    data: UserData,
    flags: u32,
) -> HipResult {
    let callback = callback.ok_or(Status::INVALID_VALUE)?;
    if flags != 0 {
        return Err(Status::INVALID_VALUE);
    }
    process.not_captured(process.stream(stream)?)?;
    enqueue(process, stream, move |status| {
        // The whole value, which may go to another thread.
        let data = data;
        let status = status.err().unwrap_or(Status::SUCCESS);
        // SAFETY: the caller passed the function with this argument to be called so.
        unsafe { callback(stream, status, data) }
    })
}

pub(crate) fn hipLaunchHostFunc(
    process: &'static Process,
    stream: StreamHandle,
    function: HostFn,
    data: UserData,
) -> HipResult {
    function.check()?;
    if process.capture_host_function(process.stream(stream)?, function, data)? {
        return Ok(());
    }
    enqueue(process, stream, move |_| function.call(data))
}
