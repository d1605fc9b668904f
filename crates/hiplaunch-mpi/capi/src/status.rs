//! Statuses, and each thread's last error.

use std::cell::RefCell;
use std::ffi::{CStr, CString, c_char, c_int};
use std::panic::{AssertUnwindSafe, catch_unwind};

use hiplaunch_mpi::Error;

/// A status with a message.
pub(crate) struct Failure(c_int, String);

pub(crate) type Result<T> = std::result::Result<T, Failure>;

thread_local! {
    static LAST: RefCell<CString> = RefCell::default();
}

impl Failure {
    pub(crate) fn invalid(message: impl Into<String>) -> Failure {
        Failure(1, message.into())
    }
}

impl From<Error> for Failure {
    fn from(error: Error) -> Failure {
        let status = match &error {
            Error::Invalid { .. } => 1,
            Error::Environment(_) => 2,
            Error::Mpi { .. } => 3,
            Error::NoDevice { .. } | Error::LocalRank { .. } => 4,
            Error::MessageSize { .. } | Error::CollectiveDiffers { .. } => 5,
            Error::CodeDiffers { .. } => 6,
            Error::RankFailed { .. } => 7,
            Error::Timeout { .. } => 8,
            Error::Launcher { .. } => 9,
            _ => 10,
        };
        Failure(status, error.to_string())
    }
}

impl From<hiplaunch::Error> for Failure {
    fn from(error: hiplaunch::Error) -> Failure {
        let status = if matches!(error, hiplaunch::Error::Invalid { .. }) { 1 } else { 9 };
        Failure(status, error.to_string())
    }
}

/// Runs the body of a function. Turns a failure, also a panic, into a status and the thread's message.
pub(crate) fn call(body: impl FnOnce() -> Result<()>) -> c_int {
    let failure = match catch_unwind(AssertUnwindSafe(body)) {
        Ok(Ok(())) => return 0,
        Ok(Err(failure)) => failure,
        Err(_) => Failure(10, "panic in hiplaunch-mpi; please report it".to_owned()),
    };
    let message = CString::new(failure.1.replace('\0', " ")).unwrap_or_default();
    // A thread that ends has no message any more.
    let _ = LAST.try_with(|last| last.replace(message));
    failure.0
}

#[unsafe(no_mangle)]
pub extern "C" fn hiplaunch_mpi_error() -> *const c_char {
    LAST.try_with(|last| last.borrow().as_ptr()).unwrap_or(c"".as_ptr())
}

/// Reads a text.
///
/// # Safety
/// `text` is null or ends with a zero byte.
pub(crate) unsafe fn text<'a>(text: *const c_char, what: &str) -> Result<&'a CStr> {
    if text.is_null() {
        return Err(Failure::invalid(format!("`{what}` is null")));
    }
    // SAFETY: the caller's promise.
    Ok(unsafe { CStr::from_ptr(text) })
}
