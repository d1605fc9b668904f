//! Statuses, each thread's last error, and [`call`], which runs the body of every function.

use std::any::Any;
use std::cell::RefCell;
use std::ffi::{CStr, CString, c_char};
use std::panic::{AssertUnwindSafe, catch_unwind};

use hiplaunch::error::Error;
use hiplaunch::occupancy::OccupancyError;

/// The result of a function. For any value but HIPLAUNCH_STATUS_OK, hiplaunch_last_error_message returns a message.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C)]
pub enum hiplaunch_status {
    /// The function succeeded.
    #[default]
    Ok = 0,
    /// A pointer is null where the function does not allow it.
    NullPointer = 1,
    /// A handle is null, unknown, closed, of another kind of object, or of another launcher.
    InvalidHandle = 2,
    /// A struct's struct_size is the size of no version that this library knows.
    StructSize = 3,
    /// Any other argument is wrong.
    InvalidArgument = 4,
    /// No driver with a device could be opened.
    NoDriver = 5,
    /// A driver call failed; hiplaunch_last_driver_code has HIP's code.
    Driver = 6,
    /// Device or pinned host memory ran out. Everything that was allocated before stays valid.
    OutOfMemory = 7,
    /// The launch does not fit its kernel or the device; no device call was made.
    Launch = 8,
    /// The code object can't be read, is for another target, or lacks the kernel.
    CodeObject = 9,
    /// A kernel faulted, and the device is lost: every later call on it returns this status. With the emulator, a new
    /// launcher in the same process works; with HIP, a new process is needed. The message says so.
    DeviceLost = 10,
    /// A graph can't be recorded or computed.
    Graph = 11,
    /// The description of a kernel's LDS is invalid, or its layout does not fit.
    Lds = 12,
    /// A planning problem is invalid, or has no plan within its capacity.
    Offsets = 13,
    /// This build of the library lacks a feature that the call needs.
    Unsupported = 14,
    /// An error in this library; please report it.
    Internal = 15,
    /// There is no usable compiler for the target. The message says what to install.
    NoCompiler = 16,
    /// The source could not be compiled. The message has the compiler's log.
    Compile = 17,
    /// The stream is captured, and this can't become a part of its graph. The capture goes on.
    Captured = 18,
}

/// Why a call failed. It is boxed, so that a `Result` is small.
#[derive(Debug)]
pub(super) struct Failure(Box<Why>);

#[derive(Debug)]
struct Why {
    status: hiplaunch_status,
    driver_code: i32,
    message: String,
}

impl Failure {
    #[cold]
    pub(super) fn new(status: hiplaunch_status, message: impl Into<String>) -> Failure {
        Failure(Box::new(Why { status, driver_code: 0, message: message.into() }))
    }

    #[cold]
    pub(super) fn invalid(message: impl Into<String>) -> Failure {
        Failure::new(hiplaunch_status::InvalidArgument, message)
    }

    /// Adds the index of the argument to the message.
    #[cold]
    pub(super) fn of_argument(mut self, index: usize) -> Failure {
        self.0.message = format!("argument {index}: {}", self.0.message);
        self
    }

    #[cold]
    pub(super) fn null(what: &str) -> Failure {
        Failure::new(hiplaunch_status::NullPointer, format!("`{what}` is null"))
    }

    #[cold]
    pub(super) fn handle(message: impl Into<String>) -> Failure {
        Failure::new(hiplaunch_status::InvalidHandle, message)
    }
}

impl From<Error> for Failure {
    #[cold]
    fn from(error: Error) -> Failure {
        Failure(Box::new(Why {
            status: status_of(&error),
            driver_code: error.code().map_or(0, |code| code.0),
            message: error.to_string(),
        }))
    }
}

pub(super) fn status_of(error: &Error) -> hiplaunch_status {
    match error {
        Error::Driver { .. } => hiplaunch_status::Driver,
        Error::OutOfMemory(_) => hiplaunch_status::OutOfMemory,
        Error::Launch { .. } => hiplaunch_status::Launch,
        Error::StaleHandle(_) => hiplaunch_status::InvalidHandle,
        Error::CodeObject(_) | Error::WrongTarget { .. } | Error::NoCode(_) => hiplaunch_status::CodeObject,
        Error::Compile(error) => super::compile::status_of(error),
        Error::DeviceLost(_) => hiplaunch_status::DeviceLost,
        Error::Graph { .. } => hiplaunch_status::Graph,
        Error::Node { source, .. } => status_of(source),
        Error::Occupancy(OccupancyError::UnknownProcessor { .. }) => hiplaunch_status::Unsupported,
        Error::Occupancy(_) => hiplaunch_status::Launch,
        Error::Pool(_) | Error::Invalid { .. } => hiplaunch_status::InvalidArgument,
        Error::Open(_) => hiplaunch_status::NoDriver,
        Error::Captured { .. } => hiplaunch_status::Captured,
        // `Error` is non-exhaustive: a newer launcher may have more variants.
        _ => hiplaunch_status::Internal,
    }
}

impl From<lds_layout::LdsError> for Failure {
    #[cold]
    fn from(error: lds_layout::LdsError) -> Failure {
        Failure::new(hiplaunch_status::Lds, error.to_string())
    }
}

impl From<offset_planner::OffsetsError> for Failure {
    #[cold]
    fn from(error: offset_planner::OffsetsError) -> Failure {
        Failure::new(hiplaunch_status::Offsets, error.to_string())
    }
}

pub(super) type Result<T> = std::result::Result<T, Failure>;

#[derive(Default)]
struct LastError {
    status: hiplaunch_status,
    driver_code: i32,
    message: CString,
}

thread_local! {
    static LAST: RefCell<LastError> = RefCell::new(LastError::default());
}

/// Runs the body of the function `name`. A failure, or a panic, becomes the thread's last error.
#[inline]
pub(super) fn call(name: &'static str, body: impl FnOnce() -> Result<()>) -> hiplaunch_status {
    // State that a panic leaves half changed is either dropped with the body, or behind locks whose users tolerate
    // poison.
    match catch_unwind(AssertUnwindSafe(body)) {
        Ok(Ok(())) => hiplaunch_status::Ok,
        Ok(Err(failure)) => remember(name, failure),
        Err(panic) => remember(name, caught(panic)),
    }
}

#[cold]
fn caught(panic: Box<dyn Any + Send>) -> Failure {
    let said = panic.downcast_ref::<&str>().map(|text| (*text).to_owned());
    let said = said.or_else(|| panic.downcast_ref::<String>().cloned());
    let said = said.unwrap_or_else(|| "a panic".to_owned());
    // A payload that is neither could panic again when it is dropped.
    std::mem::forget(panic);
    Failure::new(hiplaunch_status::Internal, format!("a fault of this library: {said}; please report it"))
}

#[cold]
fn remember(name: &str, failure: Failure) -> hiplaunch_status {
    let Why { status, driver_code, message } = *failure.0;
    // A NUL in a quoted name must not cut the message short.
    let text = format!("{name}: {message}").replace('\0', "\u{fffd}");
    let message = CString::new(text).unwrap_or_default();
    // In a thread that ends, the thread-local may be destroyed already: then there is only the status.
    let _ = LAST.try_with(|last| *last.borrow_mut() = LastError { status, driver_code, message });
    status
}

/// The status of this thread's last failed call; HIPLAUNCH_STATUS_OK if no call has failed. A call that succeeds does
/// not change it.
#[unsafe(no_mangle)]
pub extern "C" fn hiplaunch_last_error() -> hiplaunch_status {
    LAST.try_with(|last| last.borrow().status).unwrap_or(hiplaunch_status::Ok)
}

/// HIP's error code (hipError_t) of this thread's last failed call; 0 if it failed for another reason than a driver
/// call.
#[unsafe(no_mangle)]
pub extern "C" fn hiplaunch_last_driver_code() -> i32 {
    LAST.try_with(|last| last.borrow().driver_code).unwrap_or(0)
}

/// The error message of this thread's last failed call, as UTF-8: the function, what went wrong and what to do. Empty
/// if no call has failed; never null. The text belongs to the library. It is valid until the thread's next failed call,
/// hiplaunch_clear_last_error, or the end of the thread.
#[unsafe(no_mangle)]
pub extern "C" fn hiplaunch_last_error_message() -> *const c_char {
    LAST.try_with(|last| last.borrow().message.as_ptr()).unwrap_or(c"".as_ptr())
}

/// Clears this thread's last error.
#[unsafe(no_mangle)]
pub extern "C" fn hiplaunch_clear_last_error() {
    let _ = LAST.try_with(|last| *last.borrow_mut() = LastError::default());
}

/// A status in words, for messages: `"invalid handle"`. Never null, also for a number that is no status. The text is
/// static.
#[unsafe(no_mangle)]
pub extern "C" fn hiplaunch_status_name(status: i32) -> *const c_char {
    const NAMES: [&CStr; 19] = [
        c"ok",
        c"null pointer",
        c"invalid handle",
        c"struct size",
        c"invalid argument",
        c"no driver",
        c"driver",
        c"out of memory",
        c"launch",
        c"code object",
        c"device lost",
        c"graph",
        c"lds",
        c"offsets",
        c"unsupported",
        c"internal",
        c"no compiler",
        c"compile",
        c"captured",
    ];
    let name = usize::try_from(status).ok().and_then(|i| NAMES.get(i).copied());
    name.unwrap_or(c"no status of this library").as_ptr()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message() -> String {
        // SAFETY: never null, NUL-terminated, and no call fails meanwhile on this thread.
        unsafe { CStr::from_ptr(hiplaunch_last_error_message()) }.to_str().unwrap().to_owned()
    }

    #[test]
    fn a_panic_is_a_status_and_a_message() {
        let status = call("hiplaunch_test", || panic!("index {} of 3", 7));
        assert_eq!(
            (status, hiplaunch_last_error()),
            (hiplaunch_status::Internal, hiplaunch_status::Internal)
        );
        assert!(
            message().starts_with("hiplaunch_test: a fault of this library: index 7 of 3"),
            "{}",
            message()
        );
        let odd = call("hiplaunch_test", || std::panic::panic_any(7u8));
        assert_eq!(odd, hiplaunch_status::Internal);
    }

    #[test]
    fn the_last_error_is_the_threads_own_and_stays_until_the_next() {
        let failed = || call("f", || Err(Failure::invalid("a\0b")));
        assert_eq!(failed(), hiplaunch_status::InvalidArgument);
        assert_eq!(call("g", || Ok(())), hiplaunch_status::Ok);
        assert_eq!(message(), "f: a\u{fffd}b");
        let other = std::thread::spawn(|| (hiplaunch_last_error(), message())).join().unwrap();
        assert_eq!(other, (hiplaunch_status::Ok, String::new()));
        hiplaunch_clear_last_error();
        assert_eq!((hiplaunch_last_error(), message()), (hiplaunch_status::Ok, String::new()));
    }

    #[test]
    fn every_status_has_a_name() {
        let name = |status: i32| {
            // SAFETY: a static text.
            unsafe { CStr::from_ptr(hiplaunch_status_name(status)) }.to_str().unwrap()
        };
        assert_eq!(name(hiplaunch_status::Ok as i32), "ok");
        assert_eq!(name(hiplaunch_status::Lds as i32), "lds");
        assert_eq!(name(hiplaunch_status::Internal as i32), "internal");
        assert_eq!(name(hiplaunch_status::Compile as i32), "compile");
        assert_eq!(name(hiplaunch_status::Captured as i32), "captured");
        assert_eq!((name(19), name(-1)), ("no status of this library", "no status of this library"));
    }
}
