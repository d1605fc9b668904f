//! Agents: the host, and each emulated device that the environment lets HSA show.

use hip_driver_emulated::{system, visible};

use super::cache;
use super::isa::Isa;
use super::queue::{MAX_PACKETS, MAX_QUEUES, MIN_PACKETS};
use super::runtime::{LARGE, extension_mask, has_extension, machine};
use super::status::Status;
use super::value::{Place, Value};
use super::{Callback, Data, iterate_handles};
use crate::abi::Out;
use crate::machine::Machine;

/// A `hsa_agent_t`. The number is that of the node of the kernel driver's topology and 1, so that none is 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(transparent)]
pub(crate) struct Agent(pub(crate) u64);

/// What an agent is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Host,
    /// A device by its number among all.
    Device(u32),
}

impl Agent {
    pub(crate) const HOST: Agent = Agent(1);

    pub(crate) fn of_device(device: u32) -> Agent {
        Agent(u64::from(system::node(device)) + 1)
    }

    /// All agents, in the order of ROCr: the host first.
    pub(crate) fn all(machine: &Machine) -> impl Iterator<Item = Agent> {
        [Agent::HOST].into_iter().chain(machine.of_hsa.iter().map(|device| Agent::of_device(*device)))
    }

    /// What it is. Fails with `INVALID_AGENT` for a number that no agent has.
    pub(crate) fn kind(self, machine: &Machine) -> Result<Kind, Status> {
        if self == Agent::HOST {
            return Ok(Kind::Host);
        }
        let device = machine.of_hsa.iter().find(|device| Agent::of_device(**device) == self);
        device.map(|device| Kind::Device(*device)).ok_or(Status::INVALID_AGENT)
    }
}

pub(crate) fn hsa_iterate_agents(callback: Callback<Agent>, data: Data) -> Result<(), Status> {
    iterate_handles(callback, data, Agent::all(machine()?))
}

pub(crate) fn hsa_agent_get_info(agent: Agent, attribute: u32, value: Place) -> Result<(), Status> {
    let machine = machine()?;
    let kind = agent.kind(machine)?;
    let found = of_hsa(machine, kind, attribute)
        .or_else(|| of_amd(machine, kind, attribute))
        .or_else(|| of_images(kind, attribute));
    found.ok_or(Status::INVALID_ARGUMENT)?.write(value)
}

/// `HSA_AGENT_FEATURE_KERNEL_DISPATCH`, `HSA_PROFILE_FULL` for the host and `HSA_PROFILE_BASE` for devices,
/// `HSA_DEFAULT_FLOAT_ROUNDING_MODE_NEAR`.
const KERNEL_DISPATCH: u32 = 1;
const FULL_PROFILE: u32 = 1;
const BASE_PROFILE: u32 = 0;
pub(super) const NEAR: u32 = 2;

/// `HSA_DEVICE_TYPE_CPU` and `HSA_DEVICE_TYPE_GPU`.
const CPU: u32 = 0;
const GPU: u32 = 1;

/// The attributes of hsa.h (`hsa_agent_info_t`).
fn of_hsa(machine: &Machine, kind: Kind, attribute: u32) -> Option<Value> {
    let properties = &machine.properties;
    let is_device = kind != Kind::Host;
    // A number of devices, which the host has not.
    let of_device = |number: u32| if is_device { number } else { 0 };
    Some(match attribute {
        0 if is_device => Value::name(properties.target.processor.name()),
        0 => Value::name(&machine.host.name),
        1 => Value::name(if is_device { "AMD" } else { "CPU" }),
        2 => of_device(KERNEL_DISPATCH).into(),
        3 => LARGE.into(),
        4 => (if is_device { BASE_PROFILE } else { FULL_PROFILE }).into(),
        5 | 23 => NEAR.into(),
        24 => is_device.into(),
        6 => of_device(properties.wavefront_size).into(),
        7 => Value::halves(&properties.max_block.map(|threads| of_device(threads) as u16)),
        8 => of_device(properties.max_threads_per_block).into(),
        // In work-items.
        9 => Value::words(&[of_device(u32::MAX); 3]),
        10 => of_device(u32::MAX).into(),
        // Fine-grained barriers: none.
        11 => 0_u32.into(),
        12 => of_device(MAX_QUEUES).into(),
        13 => of_device(MIN_PACKETS).into(),
        14 => of_device(MAX_PACKETS).into(),
        // `HSA_QUEUE_TYPE_MULTI`.
        15 => 0_u32.into(),
        16 => node(kind).into(),
        17 => (if is_device { GPU } else { CPU }).into(),
        18 => Value::words(&cache::sizes(machine, kind)),
        19 => (if is_device { Isa::OF_DEVICES.0 } else { 0 }).into(),
        20 => extension_mask(if is_device { &[IMAGES][..] } else { &[] }),
        // The version of HSA's specification that an agent conforms to.
        21 | 22 => 1_u16.into(),
        _ => return None,
    })
}

/// The node of the kernel driver's topology.
fn node(kind: Kind) -> u32 {
    match kind {
        Kind::Host => 0,
        Kind::Device(device) => system::node(device),
    }
}

/// The attributes of hsa_ext_amd.h (`hsa_amd_agent_info_t`), but for those of images and of what the emulator does not have.
fn of_amd(machine: &Machine, kind: Kind, attribute: u32) -> Option<Value> {
    let (properties, hardware) = (&machine.properties, &machine.hardware);
    let device = match kind {
        Kind::Host => None,
        Kind::Device(device) => Some(device),
    };
    let of_device = |number: u32| if device.is_some() { number } else { 0 };
    Some(match attribute {
        0xa000 => of_device(hardware.device_id.into()).into(),
        0xa001 => cache::line(kind).into(),
        0xa002 | 0xa014 => {
            (if device.is_some() { hardware.compute_units } else { machine.host.processors }).into()
        }
        0xa003 => {
            (if device.is_some() { properties.clock_khz / 1000 } else { machine.host.clock_mhz }).into()
        }
        0xa004 => node(kind).into(),
        // 2 to the power of no bits.
        0xa005 => 1_u32.into(),
        0xa006 => device.map_or(0, system::location).into(),
        0xa007 => of_device(properties.memory_bus_bits.unwrap_or(0)).into(),
        0xa008 => of_device(properties.memory_clock_khz.unwrap_or(0) / 1000).into(),
        0xa009 => Value::name(if device.is_some() { &properties.name } else { &machine.host.name }),
        0xa00a => of_device(hardware.simds * hardware.waves).into(),
        0xa00b => of_device(hardware.simds).into(),
        0xa00c => of_device(hardware.shader_engines).into(),
        0xa00d => of_device(hardware.shader_arrays).into(),
        // Two addresses at which a program would flush what it wrote over PCI Express.
        0xa00e => Value::bytes(16),
        0xa00f => 0_u32.into(),
        // Queues of cooperative launches.
        0xa010 => device.is_some().into(),
        0xa011 => {
            Value::text(&device.map_or("CPU-XX".to_owned(), |d| format!("GPU-{}", visible::identity(d))))
        }
        0xa012 => of_device(system::REVISION).into(),
        // Whether the host may access the memory.
        0xa013 => device.is_none().into(),
        0xa015 => available(machine, device?).into(),
        // The counters of kernels and of the host.
        0xa016 => (if device.is_some() { COUNTER_HZ } else { super::runtime::TICKS_PER_SECOND }).into(),
        // Engines that copy.
        0xa10a => of_device(2).into(),
        // Microcode, other engines that copy, and IOMMUs (`HSA_IOMMU_SUPPORT_NONE`).
        0xa107..=0xa109 | 0xa10b | 0xa110 => 0_u32.into(),
        // The private memory of all waves, at most and now.
        0xa116 | 0xa117 => u64::from(of_device(u32::MAX)).into(),
        0xa111 => of_device(hardware.dies).into(),
        0xa112 => device.map_or(0, system::gpu_id).into(),
        0xa113 => (if device.is_some() { Agent::HOST.0 } else { 0 }).into(),
        // Bits for what is special of the memory, and for extensions of the packets.
        0xa114 | 0xa115 => Value::bytes(8),
        _ => return None,
    })
}

/// The limits of images (`hsa_ext_agent_info_t`), which HIP takes for those of pitches, too: what ROCr says of AMD's GPUs. Images are refused.
fn of_images(kind: Kind, attribute: u32) -> Option<Value> {
    const SIDE: u32 = 16_384;
    const DEPTH: u32 = 8_192;
    if kind == Kind::Host {
        return None;
    }
    Some(match attribute {
        0x3000 | 0x3001 => SIDE.into(),
        // Elements of a buffer.
        0x3002 => (1_u32 << 27).into(),
        0x3003..=0x3006 => Value::words(&[SIDE; 2]),
        0x3007 => Value::words(&[SIDE, SIDE, DEPTH]),
        0x3008 => DEPTH.into(),
        // Handles of images to read, of images to read and write, and of samplers.
        0x3009 => 128_u32.into(),
        0x300a => 64_u32.into(),
        0x300b => 16_u32.into(),
        // The alignment of rows.
        0x300c => 256_u32.into(),
        _ => return None,
    })
}

/// The frequency of the counter behind `wall_clock64`.
const COUNTER_HZ: u64 = 100_000_000;

/// The bytes of memory that are free.
fn available(machine: &Machine, device: u32) -> u64 {
    machine.properties.total_memory.saturating_sub(Machine::used_memory(device))
}

/// `HSA_EXTENSION_IMAGES`, of which only the limits are there.
const IMAGES: u16 = 1;

/// Agents have the extensions that the runtime has.
pub(crate) fn hsa_agent_extension_supported(
    extension: u16,
    agent: Agent,
    major: u16,
    minor: u16,
    result: Out<bool>,
) -> Result<(), Status> {
    agent.kind(machine()?)?;
    result.set(extension == IMAGES || has_extension(extension, [major, minor]))
}

pub(crate) fn hsa_agent_major_extension_supported(
    extension: u16,
    agent: Agent,
    major: u16,
    minor: Out<u16>,
    result: Out<bool>,
) -> Result<(), Status> {
    agent.kind(machine()?)?;
    super::runtime::hsa_system_major_extension_supported(extension, major, minor, result)
}

#[cfg(test)]
mod tests {
    use hip_driver_emulated::EmulatorOptions;

    use super::*;

    fn machine(target: &str, devices: u32, visible: Option<&'static str>) -> Machine {
        let options =
            EmulatorOptions { target: target.parse().unwrap(), devices, ..EmulatorOptions::default() };
        Machine::of(&options, |_| visible.map(Into::into)).unwrap()
    }

    #[test]
    fn agents_are_the_host_and_the_devices_that_are_visible() {
        let agents = |visible| Agent::all(&machine("gfx90a", 3, visible)).collect::<Vec<_>>();
        assert_eq!(agents(None), [Agent(1), Agent(2), Agent(3), Agent(4)]);
        assert_eq!(agents(Some("2,0")), [Agent(1), Agent(4), Agent(2)]);
        let machine = machine("gfx90a", 3, Some("2"));
        assert_eq!(Agent(4).kind(&machine), Ok(Kind::Device(2)));
        for none in [0, 2, 5, u64::MAX] {
            assert_eq!(Agent(none).kind(&machine), Err(Status::INVALID_AGENT));
        }
    }

    /// What rocminfo prints of a Radeon RX 7900 XTX.
    #[test]
    fn a_device_has_the_attributes_of_its_processor() {
        let machine = machine("gfx1100", 1, None);
        let of = |attribute| of_amd(&machine, Kind::Device(0), attribute).unwrap();
        for (attribute, value) in [
            (0xa000, 29_772_u32),
            (0xa002, 96),
            (0xa003, 2526),
            (0xa00a, 32),
            (0xa00b, 2),
            (0xa00c, 6),
            (0xa00d, 2),
        ] {
            assert_eq!(of(attribute), value.into(), "{attribute:#x}");
        }
        assert_eq!(of(0xa011), Value::text("GPU-hiplaunch-000000"));
        assert_eq!(of_hsa(&machine, Kind::Device(0), 0), Some(Value::name("gfx1100")));
        assert_eq!(of_hsa(&machine, Kind::Device(0), 6), Some(32_u32.into()));
        assert_eq!(of_hsa(&machine, Kind::Host, 6), Some(0_u32.into()));
        assert_eq!(of_amd(&machine, Kind::Device(0), 0xffff), None);
    }
}
