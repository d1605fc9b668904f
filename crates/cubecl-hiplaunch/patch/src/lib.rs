//! The names of CubeCL's own runtime for HIP, for the runtime over hiplaunch. Nothing is here but the names.

pub use cubecl_hiplaunch::{AmdDevice, HipLaunchRuntime as HipRuntime, launcher, set_launcher};
