//! The caches of devices. The emulator says nothing of the host's.

use std::ffi::CStr;

use super::agent::{Agent, Kind};
use super::runtime::machine;
use super::status::Status;
use super::value::{Place, Value};
use super::{Callback, Data, iterate_handles};
use crate::machine::Machine;

/// The bytes of a cache line: those of devices' L2 caches, and what ROCr says of any host.
pub(super) fn line(kind: Kind) -> u32 {
    if kind == Kind::Host { 64 } else { 128 }
}

/// A `hsa_cache_t`: the level of a cache of devices.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(transparent)]
pub(crate) struct Cache(u64);

/// The bytes of each level's cache, of four.
pub(super) fn sizes(machine: &Machine, kind: Kind) -> [u32; 4] {
    match kind {
        Kind::Host => [0; 4],
        Kind::Device(_) => [machine.hardware.l1_bytes, machine.properties.l2_bytes.unwrap_or(0), 0, 0],
    }
}

/// The caches of an agent.
fn all(machine: &Machine, kind: Kind) -> impl Iterator<Item = Cache> {
    (1..).zip(sizes(machine, kind)).filter(|(_, bytes)| *bytes > 0).map(|(level, _)| Cache(level))
}

pub(crate) fn hsa_agent_iterate_caches(
    agent: Agent,
    callback: Callback<Cache>,
    data: Data,
) -> Result<(), Status> {
    let machine = machine()?;
    iterate_handles(callback, data, all(machine, agent.kind(machine)?))
}

pub(crate) fn hsa_cache_get_info(cache: Cache, attribute: u32, value: Place) -> Result<(), Status> {
    const NAMES: [&CStr; 4] = [c"L1", c"L2", c"L3", c"L4"];
    let machine = machine()?;
    // All devices have the same caches.
    let device = Kind::Device(0);
    if !all(machine, device).any(|known| known == cache) {
        return Err(Status::INVALID_CACHE);
    }
    let index = cache.0 as usize - 1;
    let name = NAMES[index];
    let found: Value = match attribute {
        0 => (name.count_bytes() as u32).into(),
        1 => Value::pointer(name),
        2 => (cache.0 as u8).into(),
        3 => sizes(machine, device)[index].into(),
        _ => return Err(Status::INVALID_ARGUMENT),
    };
    found.write(value)
}
