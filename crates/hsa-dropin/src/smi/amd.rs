//! AMD SMI: the functions of `libamd_smi` (amdsmi.h of ROCm 7.0, version 26; the structures that other versions have longer begin
//! the same way, but for that of the library's version).

use std::ffi::CStr;

use hip_driver_emulated::{system, visible};

use super::{HOPS, PCI_EXPRESS, References, VRAM, WEIGHT, pci_number};
use crate::abi::{Code, Ignored, Out, StaticText, field};
use crate::machine::Machine;

/// An `amdsmi_status_t`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(transparent)]
pub(crate) struct Status(u32);

impl Code for Status {
    const SUCCESS: Status = Status(0);
    const FAILED: Status = Status(16);
    const BAD_ARGUMENT: Status = Status(1);
    const NOT_SUPPORTED: Status = Status(2);
}

impl Status {
    const INIT_ERROR: Status = Status(18);
    const REFCOUNT_OVERFLOW: Status = Status(19);
    const NOT_FOUND: Status = Status(31);
    const NOT_INIT: Status = Status(32);
}

/// The codes that the functions here return, and their texts.
const TEXTS: &[(Status, &CStr)] = &[
    (Status::SUCCESS, c"AMDSMI_STATUS_SUCCESS: Call succeeded."),
    (Status::BAD_ARGUMENT, c"AMDSMI_STATUS_INVAL: Invalid parameters."),
    (Status::NOT_SUPPORTED, c"AMDSMI_STATUS_NOT_SUPPORTED: Feature not supported."),
    (Status::FAILED, c"AMDSMI_STATUS_INTERNAL_EXCEPTION: An internal exception was caught."),
    (Status::INIT_ERROR, c"AMDSMI_STATUS_INIT_ERROR: An error occurred when initializing internal data."),
    (
        Status::REFCOUNT_OVERFLOW,
        c"AMDSMI_STATUS_REFCOUNT_OVERFLOW: An internal reference counter overflowed.",
    ),
    (Status::NOT_FOUND, c"AMDSMI_STATUS_NOT_FOUND: Device not found."),
    (Status::NOT_INIT, c"AMDSMI_STATUS_NOT_INIT: Device not initialized."),
];

/// An `amdsmi_socket_handle`, which is not dereferenced: a device is alone on its socket. The number is that of the device and 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(transparent)]
pub(crate) struct Socket(usize);

/// An `amdsmi_processor_handle`, which is not dereferenced: the number of the device and 1, behind the numbers of sockets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(transparent)]
pub(crate) struct Processor(usize);

/// Where the numbers of processors begin.
const FIRST_PROCESSOR: usize = 0x1001;

/// `AMDSMI_PROCESSOR_TYPE_AMD_GPU`.
const GPU: u32 = 1;

/// The bytes of a text in a structure (`AMDSMI_MAX_STRING_LENGTH`), and of a UUID.
const TEXT: usize = 256;
const UUID: usize = 38;

/// `amdsmi_asic_info_t`.
#[repr(C)]
pub(crate) struct Asic {
    market_name: [u8; TEXT],
    vendor_id: u32,
    vendor_name: [u8; TEXT],
    subvendor_id: u32,
    device_id: u64,
    rev_id: u32,
    asic_serial: [u8; TEXT],
    oam_id: u32,
    num_of_compute_units: u32,
    target_graphics_version: u64,
    subsystem_id: u32,
    reserved: [u32; 21],
}

/// `amdsmi_vram_info_t`.
#[repr(C)]
pub(crate) struct Vram {
    kind: u32,
    vendor: [u8; TEXT],
    mebibytes: u64,
    bits: u32,
    gigabytes_per_second: u64,
    reserved: [u64; 37],
}

/// `amdsmi_vram_usage_t`, in MiB.
#[repr(C)]
pub(crate) struct VramUsage {
    total: u32,
    used: u32,
    reserved: [u32; 2],
}

/// `amdsmi_kfd_info_t`.
#[repr(C)]
pub(crate) struct Kfd {
    id: u64,
    node: u32,
    partition: u32,
    reserved: [u32; 12],
}

/// `amdsmi_enumeration_info_t`.
#[repr(C)]
pub(crate) struct Enumeration {
    drm_render: u32,
    drm_card: u32,
    hsa_id: u32,
    hip_id: u32,
    hip_uuid: [u8; TEXT],
}

/// `amdsmi_version_t`.
#[repr(C)]
pub(crate) struct Version {
    major: u32,
    minor: u32,
    release: u32,
    build: StaticText,
}

static REFERENCES: References = References::new();

/// The machine, if the library is initialised.
fn machine() -> Result<&'static Machine, Status> {
    if !REFERENCES.is_any() {
        return Err(Status::NOT_INIT);
    }
    Machine::get().ok_or(Status::NOT_INIT)
}

/// A device that a number names, of those that begin with `first`.
fn device(number: usize, first: usize) -> Result<(&'static Machine, u32), Status> {
    let machine = machine()?;
    let index = number.checked_sub(first).and_then(|index| u32::try_from(index).ok());
    let device = index.filter(|device| *device < machine.devices).ok_or(Status::NOT_FOUND)?;
    Ok((machine, device))
}

impl Socket {
    fn of(device: u32) -> Socket {
        Socket(device as usize + 1)
    }

    fn device(self) -> Result<u32, Status> {
        device(self.0, 1).map(|(_, device)| device)
    }
}

impl Processor {
    fn of(device: u32) -> Processor {
        Processor(device as usize + FIRST_PROCESSOR)
    }

    fn device(self) -> Result<(&'static Machine, u32), Status> {
        device(self.0, FIRST_PROCESSOR)
    }
}

pub(crate) fn amdsmi_init(_flags: u64) -> Result<(), Status> {
    Machine::get().ok_or(Status::INIT_ERROR)?;
    REFERENCES.add().then_some(()).ok_or(Status::REFCOUNT_OVERFLOW)
}

pub(crate) fn amdsmi_shut_down() -> Result<(), Status> {
    REFERENCES.remove().then_some(()).ok_or(Status::NOT_INIT)
}

pub(crate) fn amdsmi_status_code_to_string(status: Status, text: Out<StaticText>) -> Result<(), Status> {
    let known = TEXTS.iter().find(|(known, _)| *known == status).map(|(_, text)| *text);
    text.set(StaticText::new(known.unwrap_or(c"AMDSMI_STATUS_UNKNOWN_ERROR: An unknown error occurred.")))
}

/// The version whose functions these are.
pub(crate) fn amdsmi_get_lib_version(version: Out<Version>) -> Result<(), Status> {
    version.set(Version { major: 26, minor: 0, release: 2, build: StaticText::new(c"hiplaunch") })
}

/// Writes handles to an array if there is one, for as many as `count` says, and how many there are.
fn list<H>(handles: Vec<H>, count: Out<u32>, to: Out<H>) -> Result<(), Status> {
    let all = handles.len() as u32;
    if to.is_null() {
        return count.set(all);
    }
    let room = count.get::<Status>()?.min(all);
    to.set_array::<Status>(handles, room as usize)?;
    count.set(room)
}

pub(crate) fn amdsmi_get_socket_handles(count: Out<u32>, sockets: Out<Socket>) -> Result<(), Status> {
    list((0..machine()?.devices).map(Socket::of).collect(), count, sockets)
}

/// The place of a device on the PCI bus, without the function.
pub(crate) fn amdsmi_get_socket_info(socket: Socket, room: usize, name: Out<u8>) -> Result<(), Status> {
    name.set_text(&format!("0000:{:02x}:00", system::bus(socket.device()?)), room)
}

pub(crate) fn amdsmi_get_processor_handles(
    socket: Socket,
    count: Out<u32>,
    processors: Out<Processor>,
) -> Result<(), Status> {
    list(vec![Processor::of(socket.device()?)], count, processors)
}

pub(crate) fn amdsmi_get_processor_handles_by_type(
    socket: Socket,
    kind: u32,
    processors: Out<Processor>,
    count: Out<u32>,
) -> Result<(), Status> {
    let device = socket.device()?;
    let found = if kind == GPU { vec![Processor::of(device)] } else { Vec::new() };
    list(found, count, processors)
}

pub(crate) fn amdsmi_get_processor_type(processor: Processor, kind: Out<u32>) -> Result<(), Status> {
    processor.device()?;
    kind.set(GPU)
}

pub(crate) fn amdsmi_get_processor_handle_from_bdf(
    place: u64,
    processor: Out<Processor>,
) -> Result<(), Status> {
    let device = (0..machine()?.devices).find(|device| pci_number(*device) == place);
    processor.set(Processor::of(device.ok_or(Status::NOT_FOUND)?))
}

pub(crate) fn amdsmi_get_gpu_device_bdf(processor: Processor, place: Out<u64>) -> Result<(), Status> {
    place.set(pci_number(processor.device()?.1))
}

pub(crate) fn amdsmi_get_gpu_bdf_id(processor: Processor, place: Out<u64>) -> Result<(), Status> {
    amdsmi_get_gpu_device_bdf(processor, place)
}

/// What identifies the device for HIP.
fn uuid(device: u32) -> String {
    format!("GPU-{}", visible::identity(device))
}

pub(crate) fn amdsmi_get_gpu_device_uuid(
    processor: Processor,
    room: Out<u32>,
    text: Out<u8>,
) -> Result<(), Status> {
    let (_, device) = processor.device()?;
    let bytes = room.get::<Status>()? as usize;
    if bytes < UUID {
        return Err(Status::BAD_ARGUMENT);
    }
    text.set_text(&uuid(device), bytes)
}

pub(crate) fn amdsmi_get_gpu_asic_info(processor: Processor, info: Out<Asic>) -> Result<(), Status> {
    let (machine, _) = processor.device()?;
    let digits = machine.properties.target.processor.name().trim_start_matches("gfx");
    info.set(Asic {
        market_name: field(&machine.properties.name),
        vendor_id: system::VENDOR.into(),
        vendor_name: field(system::VENDOR_NAME),
        subvendor_id: 0,
        device_id: machine.hardware.device_id.into(),
        rev_id: system::REVISION,
        asic_serial: field(""),
        // The largest number is what a device has not.
        oam_id: u32::MAX,
        num_of_compute_units: machine.hardware.compute_units,
        target_graphics_version: u64::from_str_radix(digits, 16).unwrap_or(u64::MAX),
        subsystem_id: 0,
        reserved: [0; 21],
    })
}

pub(crate) fn amdsmi_get_gpu_vram_info(processor: Processor, info: Out<Vram>) -> Result<(), Status> {
    let properties = &processor.device()?.0.properties;
    let (khz, bits) = (properties.memory_clock_khz.unwrap_or(0), properties.memory_bus_bits.unwrap_or(0));
    info.set(Vram {
        // `AMDSMI_VRAM_TYPE_UNKNOWN`.
        kind: 0,
        vendor: field(""),
        mebibytes: properties.total_memory >> 20,
        bits,
        // Two transfers in a cycle.
        gigabytes_per_second: u64::from(khz) * 2 * u64::from(bits / 8) / 1_000_000,
        reserved: [0; 37],
    })
}

pub(crate) fn amdsmi_get_gpu_vram_usage(processor: Processor, usage: Out<VramUsage>) -> Result<(), Status> {
    let (machine, device) = processor.device()?;
    let mebibytes = |bytes: u64| (bytes >> 20) as u32;
    usage.set(VramUsage {
        total: mebibytes(machine.properties.total_memory),
        used: mebibytes(Machine::used_memory(device)),
        reserved: [0; 2],
    })
}

pub(crate) fn amdsmi_get_gpu_memory_total(
    processor: Processor,
    kind: u32,
    bytes: Out<u64>,
) -> Result<(), Status> {
    let (machine, _) = processor.device()?;
    if kind != VRAM {
        return Err(Status::NOT_SUPPORTED);
    }
    bytes.set(machine.properties.total_memory)
}

pub(crate) fn amdsmi_get_gpu_memory_usage(
    processor: Processor,
    kind: u32,
    bytes: Out<u64>,
) -> Result<(), Status> {
    let (_, device) = processor.device()?;
    if kind != VRAM {
        return Err(Status::NOT_SUPPORTED);
    }
    bytes.set(Machine::used_memory(device))
}

pub(crate) fn amdsmi_get_gpu_id(processor: Processor, id: Out<u16>) -> Result<(), Status> {
    id.set(processor.device()?.0.hardware.device_id)
}

pub(crate) fn amdsmi_get_gpu_revision(processor: Processor, revision: Out<u16>) -> Result<(), Status> {
    processor.device()?;
    revision.set(system::REVISION as u16)
}

pub(crate) fn amdsmi_get_gpu_vendor_name(
    processor: Processor,
    name: Out<u8>,
    room: usize,
) -> Result<(), Status> {
    processor.device()?;
    name.set_text(system::VENDOR_NAME, room)
}

pub(crate) fn amdsmi_get_gpu_kfd_info(processor: Processor, info: Out<Kfd>) -> Result<(), Status> {
    let (_, device) = processor.device()?;
    let (id, node) = (system::gpu_id(device).into(), system::node(device));
    info.set(Kfd { id, node, partition: 0, reserved: [0; 12] })
}

pub(crate) fn amdsmi_get_gpu_enumeration_info(
    processor: Processor,
    info: Out<Enumeration>,
) -> Result<(), Status> {
    let (_, device) = processor.device()?;
    info.set(Enumeration {
        drm_render: system::render_minor(device),
        drm_card: device,
        // Among all agents, of which the host is the first.
        hsa_id: system::node(device),
        hip_id: device,
        hip_uuid: field(&uuid(device)),
    })
}

pub(crate) fn amdsmi_get_gpu_topo_numa_affinity(processor: Processor, node: Out<i32>) -> Result<(), Status> {
    processor.device()?;
    node.set(0)
}

pub(crate) fn amdsmi_topo_get_numa_node_number(processor: Processor, node: Out<u32>) -> Result<(), Status> {
    processor.device()?;
    node.set(0)
}

pub(crate) fn amdsmi_topo_get_link_weight(
    from: Processor,
    to: Processor,
    weight: Out<u64>,
) -> Result<(), Status> {
    from.device().and(to.device())?;
    weight.set(HOPS * WEIGHT)
}

pub(crate) fn amdsmi_topo_get_link_type(
    from: Processor,
    to: Processor,
    hops: Out<u64>,
    kind: Out<u32>,
) -> Result<(), Status> {
    from.device().and(to.device())?;
    hops.set::<Status>(HOPS)?;
    kind.set(PCI_EXPRESS)
}

/// Kernels access the memory of every device.
pub(crate) fn amdsmi_is_P2P_accessible(
    from: Processor,
    to: Processor,
    accessible: Out<bool>,
) -> Result<(), Status> {
    from.device().and(to.device())?;
    accessible.set(true)
}

/// No function here returns such pairs.
pub(crate) fn free_name_value_pairs(_pairs: Ignored) {}

#[cfg(test)]
mod tests {
    use std::mem::{offset_of, size_of};

    use super::*;

    /// The offsets of the Python package amdsmi 7.0.2.
    #[test]
    fn structures_have_amds_layout() {
        assert_eq!(offset_of!(Asic, device_id), 520);
        assert_eq!(offset_of!(Asic, target_graphics_version), 800);
        assert_eq!((size_of::<Asic>(), size_of::<Kfd>(), size_of::<VramUsage>()), (896, 64, 16));
        assert_eq!((offset_of!(Vram, mebibytes), size_of::<Vram>()), (264, 584));
        assert_eq!((size_of::<Enumeration>(), size_of::<Version>()), (272, 24));
    }
}
