//! The instruction set of the devices: all have the same.

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

    fn check(self) -> Result<(), Status> {
        if self == Isa::OF_DEVICES { Ok(()) } else { Err(Status::INVALID_ISA) }
    }
}

/// A `hsa_wavefront_t`: what a wave of the instruction set is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(transparent)]
pub(crate) struct Wavefront(u64);

impl Wavefront {
    const OF_DEVICES: Wavefront = Wavefront(1);
}

/// The name of the instruction set, with the settings of the devices.
fn name(machine: &Machine) -> String {
    format!("amdgcn-amd-amdhsa--{}", machine.properties.target.short())
}

pub(crate) fn hsa_agent_iterate_isas(
    agent: Agent,
    callback: Callback<Isa>,
    data: Data,
) -> Result<(), Status> {
    let isa = (agent.kind(machine()?)? != Kind::Host).then_some(Isa::OF_DEVICES);
    iterate_handles(callback, data, isa)
}

pub(crate) fn hsa_isa_from_name(text: Text, isa: Out<Isa>) -> Result<(), Status> {
    let machine = machine()?;
    if text.get::<Status>()? != name(machine) {
        return Err(Status::INVALID_ISA_NAME);
    }
    isa.set(Isa::OF_DEVICES)
}

pub(crate) fn hsa_isa_get_info_alt(isa: Isa, attribute: u32, value: Place) -> Result<(), Status> {
    let machine = machine()?;
    isa.check()?;
    let properties = &machine.properties;
    let found: Value = match attribute {
        0 => (name(machine).len() as u32 + 1).into(),
        1 => Value::text(&name(machine)),
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
    machine()?;
    code.check().and(agent.check())?;
    result.set(true)
}

pub(crate) fn hsa_isa_iterate_wavefronts(
    isa: Isa,
    callback: Callback<Wavefront>,
    data: Data,
) -> Result<(), Status> {
    machine()?;
    isa.check()?;
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
