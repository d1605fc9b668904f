//! Stream capture: what a program can ask while no stream is captured.

use std::cell::Cell;

use crate::c_caller::Out;
use crate::call::call;
use crate::status::Status;
use crate::stream::StreamHandle;

/// `hipStreamCaptureStatusNone`.
const NOT_CAPTURING: i32 = 0;

thread_local! {
    /// The thread's `hipStreamCaptureMode`.
    static MODE: Cell<i32> = const { Cell::new(0) };
}

#[unsafe(no_mangle)]
extern "C" fn hipThreadExchangeStreamCaptureMode(mode: Out<i32>) -> Status {
    call("hipThreadExchangeStreamCaptureMode", |_| {
        let wanted = mode.get()?;
        if !(0..=2).contains(&wanted) {
            return Err(Status::INVALID_VALUE);
        }
        mode.set(MODE.replace(wanted))
    })
}

#[unsafe(no_mangle)]
pub(crate) extern "C" fn hipStreamIsCapturing(stream: StreamHandle, status: Out<i32>) -> Status {
    call("hipStreamIsCapturing", |process| {
        status.check()?;
        process.stream(stream)?;
        status.set(NOT_CAPTURING)
    })
}

#[unsafe(no_mangle)]
pub(crate) extern "C" fn hipStreamGetCaptureInfo(
    stream: StreamHandle,
    status: Out<i32>,
    id: Out<u64>,
) -> Status {
    call("hipStreamGetCaptureInfo", |process| {
        status.check()?;
        process.stream(stream)?;
        id.set_if_wanted(0);
        status.set(NOT_CAPTURING)
    })
}
