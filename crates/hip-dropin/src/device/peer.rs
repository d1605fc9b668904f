//! Access of devices to the memory of other devices.

use std::collections::HashSet;
use std::sync::{Mutex, PoisonError};

use hip_driver::DeviceId;

use crate::abi::{HipResult, Out, Status};
use crate::process::{Process, thread};

/// The pairs of devices whose access the program has enabled. The driver can't take access back, so disabling only forgets
/// the pair.
static ENABLED: Mutex<Option<HashSet<(DeviceId, DeviceId)>>> = Mutex::new(None);

fn enabled<R>(with: impl FnOnce(&mut HashSet<(DeviceId, DeviceId)>) -> R) -> R {
    with(ENABLED.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert_default())
}

pub(crate) fn enable(process: &Process, peer: DeviceId, flags: u32) -> HipResult {
    let device = thread::device();
    if flags != 0 {
        return Err(Status::INVALID_VALUE);
    }
    if peer == device {
        return Err(Status::INVALID_DEVICE);
    }
    if enabled(|pairs| !pairs.insert((device, peer))) {
        return Err(Status::PEER_ACCESS_ALREADY_ENABLED);
    }
    Ok(process.driver.enable_peer_access(device, peer)?)
}

pub(crate) fn disable(peer: DeviceId) -> HipResult {
    let device = thread::device();
    if peer == device {
        return Err(Status::INVALID_DEVICE);
    }
    if enabled(|pairs| pairs.remove(&(device, peer))) { Ok(()) } else { Err(Status::PEER_ACCESS_NOT_ENABLED) }
}

pub(crate) fn hipDeviceCanAccessPeer(process: &Process, can: Out<i32>, device: i32, peer: i32) -> HipResult {
    can.check()?;
    let ((device, _), (peer, _)) = (process.device(device)?, process.device(peer)?);
    can.set(i32::from(process.driver.can_access_peer(device, peer)?))
}

pub(crate) fn hipDeviceEnablePeerAccess(process: &Process, peer: i32, flags: u32) -> HipResult {
    let (peer, _) = process.device(peer)?;
    enable(process, peer, flags)
}

pub(crate) fn hipDeviceGetP2PAttribute(
    process: &Process,
    value: Out<i32>,
    attribute: i32,
    device: i32,
    peer: i32,
) -> HipResult {
    value.check()?;
    let ((device, _), (peer, _)) = (process.device(device)?, process.device(peer)?);
    if device == peer {
        return Err(Status::INVALID_DEVICE);
    }
    let can = i32::from(process.driver.can_access_peer(device, peer)?);
    // hipDeviceP2PAttr: rank, access, native atomics, arrays.
    value.set(match attribute {
        0..=2 => can,
        3 => 0,
        _ => return Err(Status::INVALID_VALUE),
    })
}

pub(crate) fn hipExtGetLinkTypeAndHopCount(
    process: &Process,
    device: i32,
    peer: i32,
    link: Out<u32>,
    hops: Out<u32>,
) -> HipResult {
    link.check()?;
    hops.check()?;
    let ((device, _), (peer, _)) = match device.min(peer) {
        ..0 => return Err(Status::INVALID_VALUE),
        _ => (process.device(device)?, process.device(peer)?),
    };
    if device == peer {
        return Err(Status::INVALID_VALUE);
    }
    // HSA_AMD_LINK_INFO_TYPE_XGMI, and one hop.
    link.set(4)?;
    hops.set(1)
}
