//! The instruction sets of the devices: that of their processor, and the generic one whose code they run, too. All devices have the same.

use code_object::TargetId;

use super::agent::{Agent, Kind, NEAR};
use super::runtime::machine;
use super::status::Status;
use super::value::{Place, Value};
use super::{Callback, Data, iterate_handles};
use crate::abi::{Out, Text};
use crate::machine::Machine;

/// A `hsa_isa_t`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(transparent)]
pub(crate) struct Isa(pub(crate) u64);

impl Isa {
    pub(crate) const OF_DEVICES: Isa = Isa(1);
    const GENERIC: Isa = Isa(2);

    /// The instruction sets whose code a device runs.
    fn all(machine: &Machine) -> impl Iterator<Item = Isa> {
        [Isa::OF_DEVICES, Isa::GENERIC].into_iter().filter(|isa| isa.name(machine).is_some())
    }

    /// Its name, with the settings of the devices. `None` if they do not have it.
    fn name(self, machine: &Machine) -> Option<String> {
        let device = &machine.properties.target;
        let target = match self {
            Isa::OF_DEVICES => Some(device.clone()),
            Isa::GENERIC => {
                let all = GENERIC.iter().filter_map(|name| name.parse::<TargetId>().ok());
                let mut fitting = all.filter(|generic| generic.is_compatible_with(device));
                fitting.next().map(|generic| TargetId { processor: generic.processor, ..device.clone() })
            }
            _ => None,
        };
        Some(format!("amdgcn-amd-amdhsa--{}", target?.short()))
    }
}

/// The generic processors whose code a device can run.
const GENERIC: [&str; 4] = ["gfx9-4-generic", "gfx10-3-generic", "gfx11-generic", "gfx12-generic"];

/// A `hsa_wavefront_t`: what a wave of the instruction set is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(transparent)]
pub(crate) struct Wavefront(u64);

impl Wavefront {
    const OF_DEVICES: Wavefront = Wavefront(1);
}

pub(crate) fn hsa_agent_iterate_isas(
    agent: Agent,
    callback: Callback<Isa>,
    data: Data,
) -> Result<(), Status> {
    let machine = machine()?;
    let is_device = agent.kind(machine)? != Kind::Host;
    iterate_handles(callback, data, Isa::all(machine).filter(|_| is_device))
}

pub(crate) fn hsa_isa_from_name(text: Text, isa: Out<Isa>) -> Result<(), Status> {
    let machine = machine()?;
    let text = text.get::<Status>()?;
    let found = Isa::all(machine).find(|isa| isa.name(machine).is_some_and(|name| name == text));
    isa.set(found.ok_or(Status::INVALID_ISA_NAME)?)
}

pub(crate) fn hsa_isa_get_info_alt(isa: Isa, attribute: u32, value: Place) -> Result<(), Status> {
    let machine = machine()?;
    let name = isa.name(machine).ok_or(Status::INVALID_ISA)?;
    let properties = &machine.properties;
    let found: Value = match attribute {
        0 => (name.len() as u32 + 1).into(),
        1 => Value::text(&name),
        // One convention of calls.
        2 => 1_u32.into(),
        3 => properties.wavefront_size.into(),
        4 => (machine.hardware.simds * machine.hardware.waves).into(),
        // Small and large models; base and full profiles; the default, zero and near.
        5 => Value::flags(&[false, true]),
        6 => Value::flags(&[true, false]),
        7 | 8 => Value::flags(&[0, 1, NEAR].map(|mode| mode == NEAR)),
        9 => true.into(),
        12 => Value::halves(&properties.max_block.map(|threads| threads as u16)),
        13 => properties.max_threads_per_block.into(),
        14 => Value::words(&[u32::MAX; 3]),
        16 => u64::MAX.into(),
        // Fine-grained barriers.
        17 => 0_u32.into(),
        _ => return Err(Status::INVALID_ARGUMENT),
    };
    found.write(value)
}

/// The form of HSA 1.0, with the number of a calling convention.
pub(crate) fn hsa_isa_get_info(isa: Isa, attribute: u32, index: u32, value: Place) -> Result<(), Status> {
    if index != 0 && matches!(attribute, 3 | 4) {
        return Err(Status::INVALID_INDEX);
    }
    hsa_isa_get_info_alt(isa, attribute, value)
}

/// Whether code for one runs on an agent with the other.
pub(crate) fn hsa_isa_compatible(code: Isa, agent: Isa, result: Out<bool>) -> Result<(), Status> {
    let machine = machine()?;
    code.name(machine).and(agent.name(machine)).ok_or(Status::INVALID_ISA)?;
    result.set(code == agent || code == Isa::GENERIC)
}

pub(crate) fn hsa_isa_iterate_wavefronts(
    isa: Isa,
    callback: Callback<Wavefront>,
    data: Data,
) -> Result<(), Status> {
    isa.name(machine()?).ok_or(Status::INVALID_ISA)?;
    iterate_handles(callback, data, [Wavefront::OF_DEVICES])
}

pub(crate) fn hsa_wavefront_get_info(wave: Wavefront, attribute: u32, value: Place) -> Result<(), Status> {
    let machine = machine()?;
    match (wave, attribute) {
        (Wavefront::OF_DEVICES, 0) => Value::from(machine.properties.wavefront_size).write(value),
        (Wavefront::OF_DEVICES, _) => Err(Status::INVALID_ARGUMENT),
        _ => Err(Status::INVALID_WAVEFRONT),
    }
}
