//! Devices that access each other's memory.

use std::mem::MaybeUninit;

use super::handles::Found;
use super::input::wanted;
use super::launcher::{hiplaunch_launcher, launcher_of};
use super::status::{call, hiplaunch_status};

/// Sets `can` to whether kernels on `device` can be allowed to access memory of `peer`; false for the device itself.
///
/// Threads: any. Errors: HIPLAUNCH_STATUS_INVALID_ARGUMENT for a device that is not there;
/// HIPLAUNCH_STATUS_INVALID_HANDLE, HIPLAUNCH_STATUS_NULL_POINTER, HIPLAUNCH_STATUS_DRIVER,
/// HIPLAUNCH_STATUS_DEVICE_LOST.
#[unsafe(no_mangle)]
pub extern "C" fn hiplaunch_can_access_peer(
    launcher: *const hiplaunch_launcher,
    device: u32,
    peer: u32,
    can: Option<&mut MaybeUninit<bool>>,
) -> hiplaunch_status {
    call("hiplaunch_can_access_peer", || {
        let can = wanted(can, "can")?;
        let Found { value: launcher, .. } = launcher_of(launcher)?;
        can.write(launcher.device(device)?.can_access_peer(launcher.device(peer)?)?);
        Ok(())
    })
}

/// Allows kernels on `device` to access memory of `peer` from now on, in this direction alone. It succeeds if that is
/// allowed already. hiplaunch_buffer_copy between devices does not need it.
///
/// Threads: any. Errors: as hiplaunch_can_access_peer; HIPLAUNCH_STATUS_UNSUPPORTED if the driver has no peer access.
#[unsafe(no_mangle)]
pub extern "C" fn hiplaunch_enable_peer_access(
    launcher: *const hiplaunch_launcher,
    device: u32,
    peer: u32,
) -> hiplaunch_status {
    call("hiplaunch_enable_peer_access", || {
        let Found { value: launcher, .. } = launcher_of(launcher)?;
        Ok(launcher.device(device)?.enable_peer_access(launcher.device(peer)?)?)
    })
}
