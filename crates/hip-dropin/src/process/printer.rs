//! What kernels print goes through the program's C streams, so that it is in order with what the program prints.

use hip_driver_emulated::{Printer, PrintfStream};

unsafe extern "C" {
    static stdout: *mut libc::FILE;
    static stderr: *mut libc::FILE;
}

/// The printer over C's `stdout` and `stderr`.
pub(crate) fn c_streams() -> Printer {
    Printer::new(|stream, text| {
        // SAFETY: variables of the C library, which it sets before any code of this library runs. The program may assign to
        // them, and promises then, as C has it, not to do so while others print.
        let to = unsafe {
            match stream {
                PrintfStream::Stdout => stdout,
                PrintfStream::Stderr => stderr,
            }
        };
        // SAFETY: `text` is readable, and the stream is open or null, which is checked.
        unsafe {
            if !to.is_null() {
                libc::fwrite(text.as_ptr().cast(), 1, text.len(), to);
            }
        }
    })
}
