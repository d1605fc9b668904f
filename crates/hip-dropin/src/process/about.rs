//! What programs ask the library about itself: its version, and the names of its errors. Profilers that know AMD's library find no
//! names in it, and registering a callback is not supported; `hiplaunch exec --trace` writes a timeline.

use std::ffi::c_void;

use crate::abi::status::describe;
use crate::abi::version::Version;
use crate::abi::{HipResult, In, Out, StaticText, Status};

/// Writes the name or the text of a code; null for a code that HIP does not have.
pub(crate) fn write_description(status: Status, text: Out<StaticText>, pick: usize) -> HipResult {
    text.check()?;
    let found = describe(status).map(|(name, text)| StaticText::new([name, text][pick]));
    let known = found.is_some();
    text.set(found.unwrap_or(StaticText::NULL))?;
    if known { Ok(()) } else { Err(Status::INVALID_VALUE) }
}

/// HIP's name of a code.
pub(crate) fn hipGetErrorName(status: Status) -> StaticText {
    StaticText::new(describe(status).map_or("hipErrorUnknown\0", |(name, _)| name))
}

pub(crate) fn hipGetErrorString(status: Status) -> StaticText {
    // HIP 5.2 has no texts, and returns the name.
    if Version::current() == Version::Hip5 {
        return hipGetErrorName(status);
    }
    StaticText::new(describe(status).map_or("unknown error\0", |(_, text)| text))
}

/// What clr answers for a number that it does not know.
pub(crate) const UNKNOWN: &str = "unknown\0";

/// The precompiled header for hiprtc, which the library does not have.
pub(crate) fn __hipGetPCH(header: Out<In<c_void>>, bytes: Out<u32>) {
    header.set_if_wanted(In::of(std::ptr::null()));
    bytes.set_if_wanted(0);
}
