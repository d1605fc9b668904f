//! What a device has at the moment: free memory, and the report of its fault.

use std::mem::MaybeUninit;

use super::input::wanted;
use super::launcher::{hiplaunch_launcher, launcher_of};
use super::status::{call, hiplaunch_status};
use super::text::{hiplaunch_text, new_text};

/// The bytes of device memory that the driver has free, and all bytes of the device, as hipMemGetInfo returns them.
/// Memory that the pool holds is not free: hiplaunch_get_pool_stats counts it. `total` may be null.
///
/// Threads: any. Errors: HIPLAUNCH_STATUS_INVALID_HANDLE; HIPLAUNCH_STATUS_INVALID_ARGUMENT for a device that does not
/// exist; HIPLAUNCH_STATUS_NULL_POINTER, HIPLAUNCH_STATUS_DRIVER, HIPLAUNCH_STATUS_DEVICE_LOST.
#[unsafe(no_mangle)]
pub extern "C" fn hiplaunch_get_memory_info(
    launcher: *const hiplaunch_launcher,
    device: u32,
    free: Option<&mut MaybeUninit<u64>>,
    total: Option<&mut MaybeUninit<u64>>,
) -> hiplaunch_status {
    call("hiplaunch_get_memory_info", || {
        let free = wanted(free, "free")?;
        let launcher = launcher_of(launcher)?.value;
        let device = launcher.device(device)?;
        device.check()?;
        let info = device.driver().mem_info(device.id()).map_err(hiplaunch::Error::from)?;
        free.write(info.free);
        if let Some(total) = total {
            total.write(info.total);
        }
        Ok(())
    })
}

/// The report of a device's fault: the call that returned the error, the driver's details, and the launches that were
/// in flight. It is the message of HIPLAUNCH_STATUS_DEVICE_LOST. The text is empty while the device is not lost. Makes
/// no driver call.
///
/// Ownership: the caller closes the text. Threads: any. Errors: HIPLAUNCH_STATUS_INVALID_HANDLE;
/// HIPLAUNCH_STATUS_INVALID_ARGUMENT for a device that does not exist; HIPLAUNCH_STATUS_NULL_POINTER.
#[unsafe(no_mangle)]
pub extern "C" fn hiplaunch_describe_fault(
    launcher: *const hiplaunch_launcher,
    device: u32,
    text: Option<&mut MaybeUninit<*mut hiplaunch_text>>,
) -> hiplaunch_status {
    call("hiplaunch_describe_fault", || {
        let text = wanted(text, "text")?;
        let launcher = launcher_of(launcher)?.value;
        let fault = launcher.device(device)?.fault();
        text.write(new_text(fault.map(|report| report.to_string()).unwrap_or_default())?);
        Ok(())
    })
}
