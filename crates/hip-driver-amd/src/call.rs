//! Converts between HIP and this crate: results to errors, handles and addresses to numbers, a kernarg segment to the
//! options of a launch.

use std::ffi::{CStr, c_char, c_int, c_uint, c_void};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::ptr;

use crate::DRIVER;
use crate::bindings::hipError_t;
use hip_driver::{DeviceId, DriverError, DriverResult, ErrorCode};

/// The markers in the `extra` list of `hipModuleLaunchKernel` (macros with casts, which bindgen leaves out).
const HIP_LAUNCH_PARAM_BUFFER_POINTER: usize = 1;
const HIP_LAUNCH_PARAM_BUFFER_SIZE: usize = 2;
const HIP_LAUNCH_PARAM_END: usize = 3;

/// Returns HIP's ordinal of a device.
pub(crate) fn ordinal(call: &'static str, device: DeviceId) -> DriverResult<c_int> {
    c_int::try_from(device.0).map_err(|_| DriverError::new(call, ErrorCode::INVALID_DEVICE))
}

/// Converts HIP's result to this crate's.
#[inline]
pub(crate) fn check(call: &'static str, code: hipError_t) -> DriverResult<()> {
    if code == hipError_t::hipSuccess { Ok(()) } else { Err(failure(call, code)) }
}

/// Creates the error of a call that failed. For a code that this crate does not know, the details are HIP's texts.
#[cold]
pub(crate) fn failure(call: &'static str, code: hipError_t) -> DriverError {
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

/// Calls a function of the program on a thread of HIP, into which no panic may go.
pub(crate) fn call_host(within: &str, function: impl FnOnce()) {
    if let Err(payload) = catch_unwind(AssertUnwindSafe(function)) {
        log::error!("a host function panicked in a {within} of HIP's; the {within} continues");
        // Dropping the payload could panic again.
        std::mem::forget(payload);
    }
}

/// Converts a code to HIP's type.
pub(crate) fn code_of(code: ErrorCode) -> hipError_t {
    hipError_t(code.0 as c_uint)
}

/// Copies a C string. Null gives the empty string.
///
/// # Safety
/// `text` is null, or a C string that lives during the call.
pub(crate) unsafe fn owned(text: *const c_char) -> String {
    if text.is_null() {
        return String::new();
    }
    // SAFETY: a C string, as the caller guarantees and as it is not null.
    unsafe { CStr::from_ptr(text) }.to_string_lossy().into_owned()
}

/// Converts the result of a query: `false` if HIP says that it is not ready.
#[inline]
pub(crate) fn check_ready(call: &'static str, code: hipError_t) -> DriverResult<bool> {
    if code == hipError_t::hipErrorNotReady { Ok(false) } else { check(call, code).map(|()| true) }
}

/// Creates the error of a call whose function the library does not have.
#[cold]
pub(crate) fn unsupported(call: &'static str) -> DriverError {
    DriverError::with_detail(call, ErrorCode::NOT_SUPPORTED, format!("libamdhip64 has no {call}"))
}

/// Creates the error of any call in a forked child.
#[cold]
pub(crate) fn forked(call: &'static str) -> DriverError {
    DriverError::with_detail(
        call,
        ErrorCode::NOT_INITIALIZED,
        "forked child of a process that uses HIP: start a new process (fork and exec)",
    )
}

/// Converts a handle or address to HIP's pointer.
#[inline]
pub(crate) fn pointer<T>(value: u64) -> *mut T {
    ptr::with_exposed_provenance_mut(value as usize)
}

/// Converts HIP's pointer to a handle or address.
#[inline]
pub(crate) fn number<T>(pointer: *mut T) -> u64 {
    pointer.expose_provenance() as u64
}

/// Returns the `extra` list of a launch that passes a whole kernarg segment. It is valid as long as the two borrows.
pub(crate) fn extra_of(kernarg: &[u8], bytes: &mut usize) -> [*mut c_void; 5] {
    [
        ptr::without_provenance_mut(HIP_LAUNCH_PARAM_BUFFER_POINTER),
        kernarg.as_ptr().cast_mut().cast(),
        ptr::without_provenance_mut(HIP_LAUNCH_PARAM_BUFFER_SIZE),
        ptr::from_mut(bytes).cast(),
        ptr::without_provenance_mut(HIP_LAUNCH_PARAM_END),
    ]
}
