//! Passing the log to a callback of the program.

use std::cell::Cell;
use std::ffi::{CString, c_char, c_void};
use std::sync::{PoisonError, RwLock};

use log::{Level, LevelFilter, Log, Metadata, Record};

use super::input::{enumeration, enumerator};
use super::status::{Failure, call, hiplaunch_status};

/// The level of a log message. A chosen level includes the levels before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub enum hiplaunch_log_level {
    /// No messages.
    Off = 0,
    /// An operation failed.
    Error = 1,
    /// Something went wrong, and the library went on: a leak, for example.
    Warn = 2,
    /// Which driver was chosen and why.
    Info = 3,
    /// Messages that help to find errors.
    Debug = 4,
    /// All messages.
    Trace = 5,
}
enumeration!(hiplaunch_log_level: Off, Error, Warn, Info, Debug, Trace);

/// A callback for log messages. Its arguments are `user` of hiplaunch_set_log, the hiplaunch_log_level, the module that
/// the message is from, and the text. Both texts are UTF-8 and valid only during the call.
pub type hiplaunch_log_callback =
    Option<extern "C" fn(user: *mut c_void, level: u32, module: *const c_char, message: *const c_char)>;

struct Target {
    callback: extern "C" fn(*mut c_void, u32, *const c_char, *const c_char),
    user: *mut c_void,
}

// SAFETY: the pointer is only passed to the callback, which hiplaunch_set_log requires to work on every thread.
unsafe impl Send for Target {}
// SAFETY: the callback works on every thread, at the same time too, as hiplaunch_set_log requires.
unsafe impl Sync for Target {}

static TARGET: RwLock<Option<Target>> = RwLock::new(None);

thread_local! {
    /// Whether this thread is in the callback.
    static INSIDE: Cell<bool> = const { Cell::new(false) };
}

struct ToCallback;

impl Log for ToCallback {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        metadata.level() <= log::max_level()
    }

    fn log(&self, record: &Record<'_>) {
        if !self.enabled(record.metadata()) || INSIDE.try_with(Cell::get).unwrap_or(true) {
            return;
        }
        let level = match record.level() {
            Level::Error => hiplaunch_log_level::Error,
            Level::Warn => hiplaunch_log_level::Warn,
            Level::Info => hiplaunch_log_level::Info,
            Level::Debug => hiplaunch_log_level::Debug,
            Level::Trace => hiplaunch_log_level::Trace,
        };
        let text = |text: String| CString::new(text.replace('\0', "\u{fffd}")).unwrap_or_default();
        let (module, message) = (text(record.target().to_owned()), text(record.args().to_string()));
        // The lock is held during the call, so that hiplaunch_set_log returns only when the old callback is not
        // running.
        let target = TARGET.read().unwrap_or_else(PoisonError::into_inner);
        if let Some(Target { callback, user }) = &*target {
            let _ = INSIDE.try_with(|inside| inside.set(true));
            callback(*user, level as u32, module.as_ptr(), message.as_ptr());
            let _ = INSIDE.try_with(|inside| inside.set(false));
        }
    }

    fn flush(&self) {}
}

/// Sets the callback that gets the library's log messages up to a hiplaunch_log_level, for the whole process. It
/// replaces the previous callback, which is not called any more when this function returns. A null callback turns the
/// log off.
///
/// The callback is called on the thread that logs, also on several threads at once, and may be called while the library
/// holds locks. It must not call the library, throw or jump out.
///
/// Ownership: `user` belongs to the caller, and must be valid until the callback is replaced. Threads: any. Errors:
/// HIPLAUNCH_STATUS_INVALID_ARGUMENT for a level that does not exist, from within the callback, or in a Rust program
/// that has a logger of its own.
#[unsafe(no_mangle)]
pub extern "C" fn hiplaunch_set_log(
    callback: hiplaunch_log_callback,
    user: *mut c_void,
    level: u32,
) -> hiplaunch_status {
    static LOGGER: ToCallback = ToCallback;
    /// Whether `LOGGER` is the process's logger.
    static INSTALLED: RwLock<bool> = RwLock::new(false);
    call("hiplaunch_set_log", || {
        let level = match enumerator(level)? {
            hiplaunch_log_level::Off => LevelFilter::Off,
            hiplaunch_log_level::Error => LevelFilter::Error,
            hiplaunch_log_level::Warn => LevelFilter::Warn,
            hiplaunch_log_level::Info => LevelFilter::Info,
            hiplaunch_log_level::Debug => LevelFilter::Debug,
            hiplaunch_log_level::Trace => LevelFilter::Trace,
        };
        if INSIDE.try_with(Cell::get).unwrap_or(false) {
            return Err(Failure::invalid("the log's callback must not call the library"));
        }
        let mut installed = INSTALLED.write().unwrap_or_else(PoisonError::into_inner);
        if !*installed {
            log::set_logger(&LOGGER).map_err(|_| {
                Failure::invalid("the program has a logger of Rust's `log` already; use that one")
            })?;
            *installed = true;
        }
        let mut target = TARGET.write().unwrap_or_else(PoisonError::into_inner);
        *target = callback.map(|callback| Target { callback, user });
        log::set_max_level(if callback.is_some() { level } else { LevelFilter::Off });
        Ok(())
    })
}
