//! Around one HIP call: its result as an error, its handles and addresses as numbers.

use std::ffi::{CStr, c_char, c_int, c_uint};
use std::ptr;

use super::bindings::hipError_t;
use super::process::DRIVER;
use crate::{DeviceId, DriverError, DriverResult, ErrorCode};

/// HIP's ordinal of a device.
pub(super) fn ordinal(call: &'static str, device: DeviceId) -> DriverResult<c_int> {
    c_int::try_from(device.0).map_err(|_| DriverError::new(call, ErrorCode::INVALID_DEVICE))
}

/// HIP's result as ours.
#[inline]
pub(super) fn check(call: &'static str, code: hipError_t) -> DriverResult<()> {
    if code == hipError_t::hipSuccess { Ok(()) } else { Err(failure(call, code)) }
}

/// The error of a call that failed. A code that this crate does not know is explained by HIP.
#[cold]
pub(super) fn failure(call: &'static str, code: hipError_t) -> DriverError {
    let code = ErrorCode(code.0 as i32);
    match (code.name(), DRIVER.get()) {
        (None, Some(hip)) => DriverError::with_detail(
            call,
            code,
            format!("{}: {}", hip.error_name(code), hip.error_text(code)),
        ),
        _ => DriverError::new(call, code),
    }
}

/// A code as HIP has it.
pub(super) fn code_of(code: ErrorCode) -> hipError_t {
    hipError_t(code.0 as c_uint)
}

/// A C string as a Rust one; null is empty.
///
/// # Safety
/// Null, or a C string that lives during the call.
pub(super) unsafe fn owned(text: *const c_char) -> String {
    if text.is_null() {
        return String::new();
    }
    // SAFETY: a C string, by the caller's promise and as it is not null.
    unsafe { CStr::from_ptr(text) }.to_string_lossy().into_owned()
}

/// The result of a query: whether what it asks for has been reached.
#[inline]
pub(super) fn check_ready(call: &'static str, code: hipError_t) -> DriverResult<bool> {
    if code == hipError_t::hipErrorNotReady { Ok(false) } else { check(call, code).map(|()| true) }
}

/// The error of a call that the library does not have.
#[cold]
pub(super) fn unsupported(call: &'static str) -> DriverError {
    DriverError::with_detail(call, ErrorCode::NOT_SUPPORTED, format!("libamdhip64 has no {call}"))
}

/// The error of any call in a forked child.
#[cold]
pub(super) fn forked(call: &'static str) -> DriverError {
    DriverError::with_detail(
        call,
        ErrorCode::NOT_INITIALIZED,
        "forked child of a process that uses HIP: start it anew (fork and exec)",
    )
}

/// A handle or address of HIP as the pointer it is.
#[inline]
pub(super) fn pointer<T>(value: u64) -> *mut T {
    ptr::with_exposed_provenance_mut(value as usize)
}

/// A pointer of HIP's as a handle or address.
#[inline]
pub(super) fn number<T>(pointer: *mut T) -> u64 {
    pointer.expose_provenance() as u64
}
