//! A CubeCL runtime over [`hiplaunch`]: kernels that are written in Rust with `#[cube]` run on AMD GPUs, and on a machine
//! without one in the emulator.
//!
//! ```no_run
//! use cubecl_core as cubecl;
//! use cubecl_core::prelude::*;
//! use cubecl_hiplaunch::{AmdDevice, HipLaunchRuntime, Runtime};
//!
//! #[cube(launch)]
//! fn double(x: &mut [f32]) {
//!     if ABSOLUTE_POS < x.len() {
//!         x[ABSOLUTE_POS] *= 2.0;
//!     }
//! }
//!
//! let client = HipLaunchRuntime::client(&AmdDevice::default());
//! ```

mod device;
mod driver;
mod error;
mod fence;
mod kernels;
mod runtime;
mod server;
mod storage;
mod stream;

pub use cubecl_server::device::AmdDevice;
pub use cubecl_server::runtime::Runtime;
pub use device::{launcher, set_launcher};
pub use runtime::HipLaunchRuntime;
pub use server::LauncherServer;
pub use storage::{DeviceSlice, DeviceStorage};
