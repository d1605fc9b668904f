//! Where what kernels print goes.

use std::fmt;
use std::io::{self, Write};
use std::sync::{Arc, Mutex, PoisonError};

/// Where a kernel prints.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum PrintfStream {
    /// `printf`.
    Stdout,
    /// What asserts write.
    Stderr,
}

/// What to do with what kernels print.
///
/// The default writes it to the process's standard output and error at once. It does not wait for the locks of
/// [`std::io::stdout`] and [`std::io::stderr`], so a program may hold them while it waits for a kernel that prints (on
/// Unix; elsewhere it must not). Text that the program has printed without ending its line may come out after the kernel's.
#[derive(Clone)]
pub struct Printer(pub(super) Arc<dyn Fn(PrintfStream, &[u8]) + Send + Sync>);

impl Printer {
    /// Calls `print` with the text of each `printf`, from whichever thread runs the kernel. If it panics, the dispatch
    /// ends with [`Error::Incomplete`](crate::Error::Incomplete).
    pub fn new(print: impl Fn(PrintfStream, &[u8]) + Send + Sync + 'static) -> Printer {
        Printer(Arc::new(print))
    }
}

impl Default for Printer {
    fn default() -> Printer {
        Printer::new(|stream, text| {
            // Nobody could be told of a failure.
            let _ = match stream {
                PrintfStream::Stdout => write(io::stdout(), text),
                PrintfStream::Stderr => write(io::stderr(), text),
            };
        })
    }
}

/// Writes a text whole to what is standard output or error now, past the lock that Rust has for it.
#[cfg(unix)]
fn write(to: impl std::os::fd::AsFd, text: &[u8]) -> io::Result<()> {
    /// Keeps the texts of kernels that run at the same time apart.
    static WRITING: Mutex<()> = Mutex::new(());
    let _writing = WRITING.lock().unwrap_or_else(PoisonError::into_inner);
    std::fs::File::from(to.as_fd().try_clone_to_owned()?).write_all(text)
}

/// Writes a text whole.
#[cfg(not(unix))]
fn write(mut to: impl Write, text: &[u8]) -> io::Result<()> {
    to.write_all(text)
}

impl fmt::Debug for Printer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Printer")
    }
}
