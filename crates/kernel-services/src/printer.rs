//! The printer, which receives the text that kernels print.

use std::fmt;
use std::io::{self, Write};
use std::sync::{Arc, LazyLock, Mutex, PoisonError};

/// The stream that a kernel prints to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum PrintfStream {
    /// The stream of `printf`.
    Stdout,
    /// The stream of messages of failed asserts.
    Stderr,
}

type Print = dyn Fn(PrintfStream, &[u8]) + Send + Sync;

/// A function that receives the text that kernels print.
///
/// The default writes it to the process's standard output and error immediately.
///
/// On Unix the default does not take the locks of [`std::io::stdout`] and [`std::io::stderr`], so a program may hold
/// them while it waits for a kernel that prints. If the program has printed an unfinished line, the kernel's text may
/// appear before it. On other systems the default takes the locks, and a program that holds one while it waits for such
/// a kernel waits forever.
#[derive(Clone)]
pub struct Printer(Arc<Print>);

impl Printer {
    /// Creates a printer that calls `print` with the text of each `printf`. Any thread that serves kernels may call it, and several may call it
    /// at the same time. If it panics in the emulator, the dispatch fails with its `Error::Incomplete`.
    pub fn new(print: impl Fn(PrintfStream, &[u8]) + Send + Sync + 'static) -> Printer {
        Printer(Arc::new(print))
    }

    /// Prints a text.
    pub fn print(&self, stream: PrintfStream, text: &[u8]) {
        (self.0)(stream, text);
    }
}

impl PartialEq for Printer {
    fn eq(&self, other: &Printer) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

impl Eq for Printer {}

impl Default for Printer {
    fn default() -> Printer {
        // One for all, so that two defaults are equal.
        static STREAMS: LazyLock<Printer> = LazyLock::new(|| {
            Printer::new(|stream, text| {
                // A kernel can't be told that writing failed.
                let _ = match stream {
                    PrintfStream::Stdout => write(io::stdout(), text),
                    PrintfStream::Stderr => write(io::stderr(), text),
                };
            })
        });
        STREAMS.clone()
    }
}

/// Writes the whole text to the file descriptor of standard output or error, without the lock that Rust has for it.
#[cfg(unix)]
fn write(to: impl std::os::fd::AsFd, text: &[u8]) -> io::Result<()> {
    /// Serialises the texts of kernels that run at the same time.
    static WRITING: Mutex<()> = Mutex::new(());
    let _writing = WRITING.lock().unwrap_or_else(PoisonError::into_inner);
    std::fs::File::from(to.as_fd().try_clone_to_owned()?).write_all(text)
}

/// Writes the whole text.
#[cfg(not(unix))]
fn write(mut to: impl Write, text: &[u8]) -> io::Result<()> {
    to.write_all(text)
}

impl fmt::Debug for Printer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Printer")
    }
}
