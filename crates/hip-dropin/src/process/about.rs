//! What programs ask the library about itself: its version, and the names of its errors.

use crate::abi::c_caller::{Out, StaticText};
use crate::abi::status::{HipResult, Status, describe};
use crate::abi::version::Version;

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
