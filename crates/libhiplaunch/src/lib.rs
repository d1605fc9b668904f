//! The shared and the static library of the C API. Every function is in `hiplaunch-capi`; here they get their file names.

pub use hiplaunch_capi::*;
