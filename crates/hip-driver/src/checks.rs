//! What drivers that execute work themselves check of handles and addresses, and the errors.

use crate::{DeviceId, DriverError, DriverResult, ErrorCode};

/// The error of a handle of no live object. `what` is what the handle should name: `stream`.
#[cold]
pub fn stale(call: &'static str, what: &str, handle: u64) -> DriverError {
    let detail = format!("{what} {handle:#x} was destroyed or never existed");
    DriverError::with_detail(call, ErrorCode::INVALID_HANDLE, detail)
}

/// Checks that an object of the device `owner` is used on this device.
///
/// # Errors
/// `INVALID_CONTEXT` if it is another's.
#[inline]
pub fn belongs(call: &'static str, what: &str, owner: DeviceId, device: DeviceId) -> DriverResult<()> {
    if owner == device {
        return Ok(());
    }
    let detail = format!("the {what} belongs to {owner}, not to {device}");
    Err(DriverError::with_detail(call, ErrorCode::INVALID_CONTEXT, detail))
}

/// Checks that the host's memory of a copy is not null.
///
/// # Errors
/// `INVALID_VALUE` if it is.
#[inline]
pub fn check_host(call: &'static str, pointer: *const u8) -> DriverResult<()> {
    if pointer.is_null() {
        return Err(DriverError::with_detail(call, ErrorCode::INVALID_VALUE, "the host pointer is null"));
    }
    Ok(())
}
