//! Devices: choosing one, names, limits, flags.

pub(crate) mod attributes;
pub(crate) mod context;
pub(crate) mod peer;
pub(crate) mod properties;

use std::sync::atomic::{AtomicU64, Ordering};

use hip_driver::{DeviceId, PciAddress};
use hip_driver_emulated::system;

use crate::abi::version::Version;
use crate::abi::{HipResult, In, Out, Status, Text};
use crate::device::attributes::{attribute, numbers};
use crate::memory::allocations::ALLOCATIONS;
use crate::memory::release;
use crate::process::call::call;
use crate::process::{Device, Process, thread};

/// The scheduling flags, of which at most one may be set; then `hipDeviceMapHost` and `hipDeviceLmemResizeToMax`.
pub(crate) const SCHEDULE: u32 = 7;
const OTHER_FLAGS: u32 = 0x18;

/// Returns the bytes of memory that this process uses of a device, by its number among all; 0 before the first call of HIP. For the
/// library with what is below HIP, which has no devices of its own.
#[unsafe(no_mangle)]
extern "C" fn hiplaunch_used_memory(ordinal: u32) -> u64 {
    let used = || {
        let process = Process::opened()?;
        let index = process.devices.iter().position(|device| device.ordinal == ordinal)?;
        let memory = process.unlayered.mem_info(DeviceId(index as u32)).ok()?;
        Some(memory.total - memory.free)
    };
    std::panic::catch_unwind(used).ok().flatten().unwrap_or(0)
}

impl Device {
    /// The number of the bus that the device says it is on.
    pub(crate) fn bus(&self) -> i32 {
        i32::from(self.properties.pci_address().map_or(system::bus(self.ordinal), |address| address.bus))
    }

    fn pci_text(&self) -> String {
        format!("0000:{:02x}:00.0", self.bus())
    }
}

/// Checks the flags of a device or a context.
pub(crate) fn check_flags(flags: u32) -> HipResult {
    let schedule = flags & SCHEDULE;
    if flags & !(SCHEDULE | OTHER_FLAGS) != 0 || schedule.count_ones() > 1 {
        return Err(Status::INVALID_VALUE);
    }
    Ok(())
}

/// The preferences of a `hipFuncCache_t`, and of a `hipSharedMemConfig`: 0 and up to these.
pub(crate) const CACHES: i32 = 3;
pub(crate) const BANKS: i32 = 2;

/// Checks a preference that has no effect. HIP 5 takes any number.
pub(crate) fn check_preference(preference: i32, last: i32) -> HipResult {
    if Version::current() != Version::Hip5 && !(0..=last).contains(&preference) {
        return Err(Status::INVALID_VALUE);
    }
    Ok(())
}

pub(crate) fn hipInit(flags: u32) -> HipResult {
    if flags == 0 { Ok(()) } else { Err(Status::INVALID_VALUE) }
}

pub(crate) fn hipGetDeviceCount(count: Out<i32>) -> Status {
    let status = call("hipGetDeviceCount", |process| count.set(process.devices.len() as i32));
    if status == Status::NO_DEVICE {
        count.set_if_wanted(0);
    }
    status
}

pub(crate) fn hipSetDevice(process: &Process, device: i32) -> HipResult {
    let (device, _) = process.device(device)?;
    thread::set_device(device);
    Ok(())
}

pub(crate) fn hipSetValidDevices(process: &Process, devices: In<i32>, count: i32) -> HipResult {
    let count = usize::try_from(count).map_err(|_| Status::INVALID_VALUE)?;
    devices.array(count)?.into_iter().try_for_each(|device| process.device(device).map(drop))
}

pub(crate) fn hipDeviceGet(process: &Process, device: Out<i32>, ordinal: i32) -> HipResult {
    device.check()?;
    process.device(ordinal)?;
    device.set(ordinal)
}

pub(crate) fn hipDeviceGetName(process: &Process, name: Out<u8>, room: i32, device: i32) -> HipResult {
    let room = usize::try_from(room).ok().filter(|room| *room > 0).ok_or(Status::INVALID_VALUE)?;
    name.check()?;
    let (_, device) = process.device(device)?;
    // HIP 5 refuses a room that is too small; later versions write what fits.
    if room <= device.properties.name.len() && Version::current() == Version::Hip5 {
        return Err(Status::INVALID_VALUE);
    }
    name.set_text(&device.properties.name, room)
}

pub(crate) fn hipDeviceGetPCIBusId(process: &Process, text: Out<u8>, room: i32, device: i32) -> HipResult {
    text.check()?;
    let (_, device) = process.device(device)?;
    let room = usize::try_from(room).map_err(|_| Status::INVALID_VALUE)?;
    let id = device.pci_text();
    if room <= id.len() {
        return Err(Status::INVALID_VALUE);
    }
    text.set_text(&id, room)
}

pub(crate) fn hipDeviceGetByPCIBusId(process: &Process, device: Out<i32>, text: Text) -> HipResult {
    device.check()?;
    let wanted = text.get()?.to_string_lossy();
    let wanted: PciAddress = wanted.parse().map_err(|_| Status::INVALID_VALUE)?;
    let is = |device: &Device| (wanted.domain, i32::from(wanted.bus), wanted.device) == (0, device.bus(), 0);
    let found = process.devices.iter().position(is).ok_or(Status::INVALID_VALUE)?;
    device.set(found as i32)
}

pub(crate) fn hipDeviceComputeCapability(
    process: &Process,
    major: Out<i32>,
    minor: Out<i32>,
    device: i32,
) -> HipResult {
    major.check()?;
    minor.check()?;
    let (_, device) = process.device(device)?;
    major.set(attribute(device, numbers::COMPUTE_CAPABILITY_MAJOR).unwrap_or(0))?;
    minor.set(attribute(device, numbers::COMPUTE_CAPABILITY_MINOR).unwrap_or(0))
}

pub(crate) fn hipDeviceTotalMem(process: &Process, bytes: Out<usize>, device: i32) -> HipResult {
    let (_, device) = process.device(device)?;
    bytes.set(device.properties.total_memory as usize)
}

/// Waits for the current device.
pub(crate) fn synchronize(process: &Process) -> HipResult {
    process.captures_nothing(Status::STREAM_CAPTURE_UNSUPPORTED)?;
    process.driver.device_synchronize(thread::device())?;
    process.pools().after_wait(process);
    Ok(())
}

/// Frees the program's memory on the current device, and destroys its streams and events.
pub(crate) fn hipDeviceReset(process: &Process) -> HipResult {
    process.captures_nothing(Status::STREAM_CAPTURE_UNSUPPORTED)?;
    let device = thread::device();
    process.driver.device_synchronize(device)?;
    let freed = ALLOCATIONS.take_of_device(device);
    freed.iter().try_for_each(|allocation| release(process, allocation))?;
    process.pools().empty(process, device)?;
    process.destroy_streams(device)?;
    process.current().flags.store(0, Ordering::Relaxed);
    Ok(())
}

pub(crate) fn hipSetDeviceFlags(process: &Process, flags: u32) -> HipResult {
    check_flags(flags)?;
    process.current().flags.store(flags, Ordering::Relaxed);
    Ok(())
}

/// The limit with a number of `hipLimit_t`.
pub(crate) fn limit(process: &Process, number: i32) -> HipResult<&AtomicU64> {
    match number {
        0 => Ok(&process.current().stack_limit),
        2 => Ok(&process.current().heap_limit),
        _ => Err(Status::UNSUPPORTED_LIMIT),
    }
}

pub(crate) fn hipDeviceSetLimit(process: &Process, number: i32, value: usize) -> HipResult {
    limit(process, number)?.store(value as u64, Ordering::Relaxed);
    Ok(())
}
