//! Functions by their names.

use std::ffi::{CStr, CString, c_void};

use crate::abi::c_caller::{Address, Out, Text};
use crate::abi::status::{HipResult, Status};
use crate::abi::version::{self, Version};

// hipDriverProcAddressQueryResult.
const FOUND: i32 = 0;
const NOT_FOUND: i32 = 1;

/// The address of a function of this library.
pub(crate) fn find(name: &CStr) -> Option<Address> {
    let path = version::loaded_as()?;
    // SAFETY: the path is text, and the library is loaded already: nothing runs that could not run before.
    let library = unsafe { libc::dlopen(path.as_ptr(), libc::RTLD_LAZY | libc::RTLD_NOLOAD) };
    if library.is_null() {
        return None;
    }
    // SAFETY: an open library and text.
    let function: *mut c_void = unsafe { libc::dlsym(library, name.as_ptr()) };
    // SAFETY: the library was opened above; it stays loaded, as this code runs.
    unsafe { libc::dlclose(library) };
    (!function.is_null()).then(|| Address(function.expose_provenance() as u64))
}

/// The name of the function for programs of a HIP version and these flags: newer layouts and per-thread streams have
/// functions of their own.
fn variants(name: &CStr, version: i32, flags: u64) -> Vec<CString> {
    let text = name.to_string_lossy();
    let mut names = Vec::new();
    // hipDriverProcAddressPerThreadDefaultStream.
    if flags & 2 != 0 {
        names.push(format!("{text}_spt"));
    }
    let new_layouts = if version == 0 { Version::current() >= Version::Hip6 } else { version >= 600 };
    if new_layouts && matches!(&*text, "hipGetDeviceProperties" | "hipChooseDevice") {
        names.push(format!("{text}R0600"));
    }
    names.push(text.into_owned());
    names.into_iter().filter_map(|name| CString::new(name).ok()).collect()
}

pub(crate) fn look_up(
    name: Text,
    pointer: Out<Address>,
    version: i32,
    flags: u64,
    result: Out<i32>,
) -> HipResult {
    pointer.check()?;
    let name = name.get()?;
    if name.is_empty() {
        return Err(Status::INVALID_VALUE);
    }
    match variants(name, version, flags).iter().find_map(|name| find(name)) {
        Some(address) => {
            result.set_if_wanted(FOUND);
            pointer.set(address)
        }
        None => {
            result.set_if_wanted(NOT_FOUND);
            pointer.set(Address::NULL)?;
            Err(Status::INVALID_VALUE)
        }
    }
}
