//! Launch compiled HIP kernels by handle, with nothing allocated and nothing blocking on the hot path: on AMD GPUs
//! through the ROCm installed there, and on a machine without a GPU through an embedded emulator that runs the same
//! gfx90a and gfx942 code objects.

#[cfg(all(feature = "capi", target_pointer_width = "64"))]
pub mod capi;
pub mod compile;
pub mod device;
pub mod driver;
pub mod error;
pub mod event;
pub mod fault;
pub mod graph;
pub mod launcher;
pub mod lds;
mod library;
pub mod memory;
pub mod module;
pub mod offsets;
mod progress;
#[cfg(feature = "cli")]
pub mod script;
pub mod stream;
#[cfg(feature = "reports")]
#[doc(hidden)]
pub mod svg;
pub mod tensor;

/// The atomics of the lock-free parts; tests put loom's in their place.
mod sync {
    pub(crate) use std::sync::atomic::{AtomicU64, Ordering};
}

/// What code objects say: targets, kernel signatures, globals.
pub use code_object;
pub use compile::{Compile, Compiler};
pub use device::Device;
pub use driver::backend::Backend;
pub use driver::timeline::Timeline;
pub use error::{Error, LaunchProblem, Result};
pub use event::Event;
pub use launcher::{
    Arg, Block, BufferArg, Destination, HostData, KernelHandle, LaunchDims, Launcher, LauncherBuilder,
    Output, Patch, PatchTarget, Staging, Stream, Ticket,
};
pub use memory::{DeviceBuffer, DeviceScratchBuffer, DeviceView, Pool, PoolBlock, PoolOptions};
pub use module::Module;
pub use tensor::{LazyTensor, Tensors};
