//! Converts between HIP and this crate: results to errors, handles and addresses to numbers.

use std::ffi::{CStr, c_char, c_int, c_uint};
use std::ptr;

use super::bindings::hipError_t;
use super::process::DRIVER;
use crate::{DeviceId, DriverError, DriverResult, ErrorCode};

/// Returns HIP's ordinal of a device.
pub(super) fn ordinal(call: &'static str, device: DeviceId) -> DriverResult<c_int> {
    c_int::try_from(device.0).map_err(|_| DriverError::new(call, ErrorCode::INVALID_DEVICE))
}

/// Converts HIP's result to this crate's.
#[inline]
pub(super) fn check(call: &'static str, code: hipError_t) -> DriverResult<()> {
    if code == hipError_t::hipSuccess { Ok(()) } else { Err(failure(call, code)) }
}

/// Creates the error of a call that failed. For a code that this crate does not know, the details are HIP's texts.
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

/// Converts a code to HIP's type.
pub(super) fn code_of(code: ErrorCode) -> hipError_t {
    hipError_t(code.0 as c_uint)
}

/// Copies a C string. Null gives the empty string.
///
/// # Safety
/// `text` is null, or a C string that lives during the call.
pub(super) unsafe fn owned(text: *const c_char) -> String {
    if text.is_null() {
        return String::new();
    }
    // SAFETY: a C string, as the caller guarantees and as it is not null.
    unsafe { CStr::from_ptr(text) }.to_string_lossy().into_owned()
}

/// Converts the result of a query: `false` if HIP says that it is not ready.
#[inline]
pub(super) fn check_ready(call: &'static str, code: hipError_t) -> DriverResult<bool> {
    if code == hipError_t::hipErrorNotReady { Ok(false) } else { check(call, code).map(|()| true) }
}

/// Creates the error of a call whose function the library does not have.
#[cold]
pub(super) fn unsupported(call: &'static str) -> DriverError {
    DriverError::with_detail(call, ErrorCode::NOT_SUPPORTED, format!("libamdhip64 has no {call}"))
}

/// Creates the error of any call in a forked child.
#[cold]
pub(super) fn forked(call: &'static str) -> DriverError {
    DriverError::with_detail(
        call,
        ErrorCode::NOT_INITIALIZED,
        "forked child of a process that uses HIP: start a new process (fork and exec)",
    )
}

/// Converts a handle or address to HIP's pointer.
#[inline]
pub(super) fn pointer<T>(value: u64) -> *mut T {
    ptr::with_exposed_provenance_mut(value as usize)
}

/// Converts HIP's pointer to a handle or address.
#[inline]
pub(super) fn number<T>(pointer: *mut T) -> u64 {
    pointer.expose_provenance() as u64
}
