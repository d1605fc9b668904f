//! What the host does for kernels of AMD's GPUs that call it.
//!
//! * [`Hostcall`] is the buffer through which kernels call the host while they run: `printf`, failed asserts, and memory for `malloc`.
//! * [`PrintfBuffer`] is the buffer that `printf` fills and the host reads when the kernel has ended: OpenCL's, and HIP's with
//!   `-mprintf-kind=buffered`.
//! * [`HEAP_BYTES`] is the size of the heap that kernels get as an argument from code object version 5 on.
//!
//! Who uses it gives access to the memory that the kernel sees ([`SharedMemory`]), memory of the device ([`DeviceMemory`]), and a [`Printer`].

mod buffered;
mod format;
#[cfg(all(test, target_os = "linux", target_env = "gnu", target_pointer_width = "64", not(miri)))]
mod format_tests;
mod hostcall;
mod memory;
mod printer;

pub use buffered::{PrintfBuffer, PrintfFormats};
pub use hostcall::Hostcall;
pub use memory::{DeviceMemory, HEAP_BYTES, SharedMemory};
pub use printer::{Printer, PrintfStream};
