//! What surrounds every HIP function: the process's state, panics, and the last error.

use std::panic::{AssertUnwindSafe, catch_unwind};

use crate::abi::status::{HipResult, Status};
use crate::process::Process;
use crate::process::thread;
use crate::report;

/// Runs the body of the HIP function `name` and returns its status, which becomes the thread's last error.
#[inline]
pub(crate) fn call(name: &'static str, body: impl FnOnce(&'static Process) -> HipResult) -> Status {
    let status = without_process(name, || body(Process::get()?));
    thread::set_last_error(status);
    status
}

/// Runs the body of a function that neither needs the driver nor changes the last error. A panic becomes `UNKNOWN`.
#[inline]
pub(crate) fn without_process(name: &'static str, body: impl FnOnce() -> HipResult) -> Status {
    match catch_unwind(AssertUnwindSafe(body)) {
        Ok(Ok(())) => Status::SUCCESS,
        Ok(Err(status)) => status,
        Err(_) => {
            report::say(&format!("{name} panicked, which is a bug in hiplaunch"));
            Status::UNKNOWN
        }
    }
}
