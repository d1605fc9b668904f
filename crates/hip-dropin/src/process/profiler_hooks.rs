//! What profilers that know AMD's library ask it for. Nothing is reported to them: they find no names, and registering a
//! callback is not supported (`unsupported.rs`). `hiplaunch exec --trace` writes a timeline.

use std::ffi::c_void;

use crate::abi::c_caller::{In, Out, StaticText};

/// What clr answers for a number that it does not know.
const UNKNOWN: &str = "unknown\0";

#[unsafe(export_name = "emulated_hipApiName")]
extern "C" fn hipApiName(_id: u32) -> StaticText {
    StaticText::new(UNKNOWN)
}

#[unsafe(export_name = "emulated_hipGetCmdName")]
extern "C" fn hipGetCmdName(_operation: u32) -> StaticText {
    StaticText::new(UNKNOWN)
}

/// The precompiled header for hiprtc, which the library does not have.
#[unsafe(export_name = "emulated___hipGetPCH")]
extern "C" fn __hipGetPCH(header: Out<In<c_void>>, bytes: Out<u32>) {
    header.set_if_wanted(In::of(std::ptr::null()));
    bytes.set_if_wanted(0);
}
