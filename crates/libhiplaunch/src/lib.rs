//! The shared and the static library of the C API. All functions are in `hiplaunch-capi`.

pub use hiplaunch_capi::*;
