//! What profilers that know AMD's library ask it for. Nothing is reported to them: they find no names, and registering a
//! callback is not supported (`unsupported.rs`). `hiplaunch exec --trace` writes a timeline.

use std::ffi::c_void;

use crate::abi::c_caller::{In, Out};

/// What clr answers for a number that it does not know.
pub(crate) const UNKNOWN: &str = "unknown\0";

/// The precompiled header for hiprtc, which the library does not have.
pub(crate) fn __hipGetPCH(header: Out<In<c_void>>, bytes: Out<u32>) {
    header.set_if_wanted(In::of(std::ptr::null()));
    bytes.set_if_wanted(0);
}
