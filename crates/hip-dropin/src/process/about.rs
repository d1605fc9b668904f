//! What programs ask the library about itself: its version, and the names of its errors.

use crate::abi::c_caller::{Out, StaticText};
use crate::abi::status::{HipResult, Status, describe};
use crate::abi::version::Version;
use crate::process::call::{call, without_process};

#[unsafe(export_name = "emulated_hipRuntimeGetVersion")]
extern "C" fn hipRuntimeGetVersion(version: Out<i32>) -> Status {
    call("hipRuntimeGetVersion", |_| version.set(Version::current().number()))
}

#[unsafe(export_name = "emulated_hipDriverGetVersion")]
extern "C" fn hipDriverGetVersion(version: Out<i32>) -> Status {
    call("hipDriverGetVersion", |_| version.set(Version::current().number()))
}

/// Writes the name or the text of a code; null for a code that HIP does not have.
fn write_description(status: Status, text: Out<StaticText>, pick: usize) -> HipResult {
    text.check()?;
    let found = describe(status).map(|(name, text)| StaticText::new([name, text][pick]));
    let known = found.is_some();
    text.set(found.unwrap_or(StaticText::NULL))?;
    if known { Ok(()) } else { Err(Status::INVALID_VALUE) }
}

#[unsafe(export_name = "emulated_hipDrvGetErrorName")]
extern "C" fn hipDrvGetErrorName(status: Status, name: Out<StaticText>) -> Status {
    without_process("hipDrvGetErrorName", || write_description(status, name, 0))
}

#[unsafe(export_name = "emulated_hipDrvGetErrorString")]
extern "C" fn hipDrvGetErrorString(status: Status, text: Out<StaticText>) -> Status {
    without_process("hipDrvGetErrorString", || write_description(status, text, 1))
}

#[unsafe(export_name = "emulated_hipGetErrorName")]
extern "C" fn hipGetErrorName(status: Status) -> StaticText {
    StaticText::new(describe(status).map_or("hipErrorUnknown\0", |(name, _)| name))
}

#[unsafe(export_name = "emulated_hipGetErrorString")]
extern "C" fn hipGetErrorString(status: Status) -> StaticText {
    // HIP 5.2 has no texts, and returns the name.
    if Version::current() == Version::Hip5 {
        return hipGetErrorName(status);
    }
    StaticText::new(describe(status).map_or("unknown error\0", |(_, text)| text))
}
