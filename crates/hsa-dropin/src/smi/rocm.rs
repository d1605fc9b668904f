//! ROCm SMI: the functions of `librocm_smi64` (rocm_smi.h of ROCm 7.2).

use std::ffi::CStr;

use hip_driver_emulated::system;

use super::{HOPS, PCI_EXPRESS, References, VRAM, WEIGHT, pci_number};
use crate::abi::{Code, Out, StaticText};
use crate::machine::Machine;

/// A `rsmi_status_t`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(transparent)]
pub(crate) struct Status(u32);

impl Code for Status {
    const SUCCESS: Status = Status(0);
    const FAILED: Status = Status(6);
    const BAD_ARGUMENT: Status = Status(1);
    const NOT_SUPPORTED: Status = Status(2);
}

impl Status {
    const INIT_ERROR: Status = Status(8);
    const REFCOUNT_OVERFLOW: Status = Status(17);
}

/// The texts of the codes from 0 on.
const TEXTS: [&CStr; 20] = [
    c"RSMI_STATUS_SUCCESS: The function has been executed successfully.",
    c"RSMI_STATUS_INVALID_ARGS: The provided arguments do not meet the preconditions.",
    c"RSMI_STATUS_NOT_SUPPORTED: This function is not supported in the current environment.",
    c"RSMI_STATUS_FILE_ERROR: There was an error in finding or opening a file or directory.",
    c"RSMI_STATUS_PERMISSION: The user ID of the calling process does not have sufficient permission.",
    c"RSMI_STATUS_OUT_OF_RESOURCES: Unable to acquire memory or other resource.",
    c"RSMI_STATUS_INTERNAL_EXCEPTION: An internal exception was caught.",
    c"RSMI_STATUS_INPUT_OUT_OF_BOUNDS: The provided input is out of the allowable range.",
    c"RSMI_STATUS_INIT_ERROR: The library is not initialised.",
    c"RSMI_STATUS_NOT_YET_IMPLEMENTED: The called function has not been implemented.",
    c"RSMI_STATUS_NOT_FOUND: An item required to complete the call was not found.",
    c"RSMI_STATUS_INSUFFICIENT_SIZE: Not enough resources were available to fully execute the call.",
    c"RSMI_STATUS_INTERRUPT: An interrupt occurred while executing the function.",
    c"RSMI_STATUS_UNEXPECTED_SIZE: Data was of an unexpected size.",
    c"RSMI_STATUS_NO_DATA: No data was found.",
    c"RSMI_STATUS_UNEXPECTED_DATA: Data was not of an expected type.",
    c"RSMI_STATUS_BUSY: A resource or mutex could not be acquired.",
    c"RSMI_STATUS_REFCOUNT_OVERFLOW: An internal reference counter exceeded its maximum.",
    c"RSMI_STATUS_SETTING_UNAVAILABLE: The requested setting is unavailable.",
    c"RSMI_STATUS_AMDGPU_RESTART_ERR: The driver could not be restarted.",
];

/// A `rsmi_version_t`.
#[repr(C)]
pub(crate) struct Version {
    major: u32,
    minor: u32,
    patch: u32,
    build: StaticText,
}

static REFERENCES: References = References::new();

/// The machine, if the library is initialised.
fn machine() -> Result<&'static Machine, Status> {
    if !REFERENCES.is_any() {
        return Err(Status::INIT_ERROR);
    }
    Machine::get().ok_or(Status::INIT_ERROR)
}

/// The machine, if it has the device.
fn with(device: u32) -> Result<&'static Machine, Status> {
    Some(machine()?).filter(|machine| device < machine.devices).ok_or(Status::BAD_ARGUMENT)
}

/// The machine, if it has both devices.
fn with_both(from: u32, to: u32) -> Result<&'static Machine, Status> {
    with(from).and(with(to))
}

pub(crate) fn rsmi_init(_flags: u64) -> Result<(), Status> {
    Machine::get().ok_or(Status::INIT_ERROR)?;
    REFERENCES.add().then_some(()).ok_or(Status::REFCOUNT_OVERFLOW)
}

pub(crate) fn rsmi_shut_down() -> Result<(), Status> {
    REFERENCES.remove().then_some(()).ok_or(Status::INIT_ERROR)
}

pub(crate) fn rsmi_num_monitor_devices(count: Out<u32>) -> Result<(), Status> {
    count.set(machine()?.devices)
}

pub(crate) fn rsmi_status_string(status: Status, text: Out<StaticText>) -> Result<(), Status> {
    let known = TEXTS.get(status.0 as usize).copied();
    text.set(StaticText::new(known.unwrap_or(c"RSMI_STATUS_UNKNOWN_ERROR: An unknown error occurred.")))
}

/// The version whose functions these are.
pub(crate) fn rsmi_version_get(version: Out<Version>) -> Result<(), Status> {
    version.set(Version { major: 7, minor: 8, patch: 0, build: StaticText::new(c"hiplaunch") })
}

pub(crate) fn rsmi_dev_id_get(device: u32, id: Out<u16>) -> Result<(), Status> {
    id.set(with(device)?.hardware.device_id)
}

pub(crate) fn rsmi_dev_revision_get(device: u32, revision: Out<u16>) -> Result<(), Status> {
    with(device)?;
    revision.set(system::REVISION as u16)
}

pub(crate) fn rsmi_dev_vendor_id_get(device: u32, id: Out<u16>) -> Result<(), Status> {
    with(device)?;
    id.set(system::VENDOR)
}

pub(crate) fn rsmi_dev_vendor_name_get(device: u32, name: Out<u8>, room: usize) -> Result<(), Status> {
    with(device)?;
    name.set_text(system::VENDOR_NAME, room)
}

pub(crate) fn rsmi_dev_name_get(device: u32, name: Out<u8>, room: usize) -> Result<(), Status> {
    name.set_text(&with(device)?.properties.name, room)
}

pub(crate) fn rsmi_dev_brand_get(device: u32, name: Out<u8>, room: u32) -> Result<(), Status> {
    rsmi_dev_name_get(device, name, room as usize)
}

pub(crate) fn rsmi_dev_market_name_get(device: u32, name: Out<u8>, room: u32) -> Result<(), Status> {
    rsmi_dev_name_get(device, name, room as usize)
}

pub(crate) fn rsmi_dev_drm_render_minor_get(device: u32, minor: Out<u32>) -> Result<(), Status> {
    with(device)?;
    minor.set(system::render_minor(device))
}

pub(crate) fn rsmi_dev_pci_id_get(device: u32, id: Out<u64>) -> Result<(), Status> {
    with(device)?;
    id.set(pci_number(device))
}

pub(crate) fn rsmi_dev_node_id_get(device: u32, node: Out<u32>) -> Result<(), Status> {
    with(device)?;
    node.set(system::node(device))
}

pub(crate) fn rsmi_dev_guid_get(device: u32, id: Out<u64>) -> Result<(), Status> {
    with(device)?;
    id.set(system::gpu_id(device).into())
}

/// The digits of the target; there is no such number for gfx90a.
pub(crate) fn rsmi_dev_target_graphics_version_get(device: u32, version: Out<u64>) -> Result<(), Status> {
    let name = with(device)?.properties.target.processor.name();
    version.set(name.trim_start_matches("gfx").parse().map_err(|_| Status::NOT_SUPPORTED)?)
}

pub(crate) fn rsmi_dev_memory_total_get(device: u32, kind: u32, bytes: Out<u64>) -> Result<(), Status> {
    let machine = with(device)?;
    if kind != VRAM {
        return Err(Status::NOT_SUPPORTED);
    }
    bytes.set(machine.properties.total_memory)
}

pub(crate) fn rsmi_dev_memory_usage_get(device: u32, kind: u32, bytes: Out<u64>) -> Result<(), Status> {
    with(device)?;
    if kind != VRAM {
        return Err(Status::NOT_SUPPORTED);
    }
    bytes.set(Machine::used_memory(device))
}

pub(crate) fn rsmi_topo_get_numa_node_number(device: u32, node: Out<u32>) -> Result<(), Status> {
    with(device)?;
    node.set(0)
}

pub(crate) fn rsmi_topo_numa_affinity_get(device: u32, node: Out<i32>) -> Result<(), Status> {
    with(device)?;
    node.set(0)
}

pub(crate) fn rsmi_topo_get_link_weight(from: u32, to: u32, weight: Out<u64>) -> Result<(), Status> {
    with_both(from, to)?;
    weight.set(HOPS * WEIGHT)
}

pub(crate) fn rsmi_topo_get_link_type(
    from: u32,
    to: u32,
    hops: Out<u64>,
    kind: Out<u32>,
) -> Result<(), Status> {
    with_both(from, to)?;
    hops.set(HOPS)?;
    kind.set(PCI_EXPRESS)
}

/// Kernels access the memory of every device.
pub(crate) fn rsmi_is_P2P_accessible(from: u32, to: u32, accessible: Out<bool>) -> Result<(), Status> {
    with_both(from, to)?;
    accessible.set(true)
}
