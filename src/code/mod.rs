//! Code: modules, how they are chosen and loaded, and the kernels in them.
//!
//! | file | contents |
//! |---|---|
//! | `module` | a code object on a device |
//! | `fat_binary` | which code object a device gets: its own, a generic processor's, or one that is compiled |
//! | `lazy_module` | a module for every device, loaded where it is first needed |
//! | `device_kernel` | a kernel on a device: its function, parameters and limits |
//! | `handle`, `dims` | the handle of a registered kernel; the dimensions of a launch |

mod device_kernel;
mod dims;
mod fat_binary;
mod handle;
mod lazy_module;
mod module;

pub(crate) use device_kernel::{
    DeviceKernel, KernelOptions, KernelUser, KnownOccupancy, Parameter, ParameterKind, check_limits,
};
pub use dims::LaunchDims;
pub use fat_binary::FatBinary;
pub use handle::KernelHandle;
pub use lazy_module::LazyModule;
pub use module::Module;

pub use crate::error::{NoCode, NoCodeReason};
