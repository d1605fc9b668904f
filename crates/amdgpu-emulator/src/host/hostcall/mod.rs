//! Calls from kernels to the host: `printf`, and memory for the device's `malloc`.
//!
//! packets.rs serves calls while the kernel waits for them. buffered.rs prints what kernels wrote to a buffer.

mod buffered;
mod format;
#[cfg(all(test, target_os = "linux", target_env = "gnu", target_pointer_width = "64", not(miri)))]
mod format_tests;
mod packets;
mod printer;

pub(crate) use buffered::{PrintfBuffer, SIZE as PRINTF_SIZE};
pub(crate) use packets::Hostcall;
pub use printer::{Printer, PrintfStream};
