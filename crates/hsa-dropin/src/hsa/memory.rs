//! The memory of agents: HSA's regions, and AMD's memory pools, which are the same.

use super::agent::{Agent, Kind};
use super::runtime::machine;
use super::status::Status;
use super::value::{Place, Value};
use super::{Callback, Data, iterate_handles};
use crate::machine::Machine;

/// A `hsa_amd_memory_pool_t` or `hsa_region_t`: the number of its agent by 4, and its place among the agent's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(transparent)]
pub(crate) struct Pool(u64);

/// What a pool is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Memory {
    /// `HSA_AMD_SEGMENT_...`.
    segment: u32,
    /// `HSA_AMD_MEMORY_POOL_GLOBAL_FLAG_...`.
    flags: u32,
    bytes: u64,
    is_of_host: bool,
}

const GLOBAL: u32 = 0;
const GROUP: u32 = 3;
const KERNARG: u32 = 1;
pub(super) const FINE_GRAINED: u32 = 2;
pub(super) const COARSE_GRAINED: u32 = 4;

/// The bytes of a page.
pub(super) const PAGE: u64 = 4096;

/// The memory of an agent: of the host fine-grained, also for the arguments of kernels, and coarse-grained; of a device its own memory
/// and LDS.
fn all(machine: &Machine, kind: Kind) -> Vec<Memory> {
    let of_host =
        |flags| Memory { segment: GLOBAL, flags, bytes: machine.host.memory_bytes, is_of_host: true };
    match kind {
        Kind::Host => [FINE_GRAINED, KERNARG | FINE_GRAINED, COARSE_GRAINED].map(of_host).to_vec(),
        Kind::Device(_) => {
            let (bytes, lds) = (machine.properties.total_memory, machine.properties.max_lds_per_block.into());
            [(GLOBAL, COARSE_GRAINED, bytes), (GROUP, 0, lds)]
                .map(|(segment, flags, bytes)| Memory { segment, flags, bytes, is_of_host: false })
                .to_vec()
        }
    }
}

impl Pool {
    pub(super) fn of(agent: Agent, index: usize) -> Pool {
        Pool(agent.0 * 4 + index as u64)
    }

    fn memory(self, machine: &Machine) -> Option<Memory> {
        let kind = Agent(self.0 / 4).kind(machine).ok()?;
        all(machine, kind).get((self.0 % 4) as usize).copied()
    }
}

impl Pool {
    /// The agent whose memory it is, and its flags, if memory is allocated from it.
    pub(super) fn to_allocate_from(self, machine: &Machine) -> Option<(Agent, u32)> {
        let memory = self.memory(machine).filter(|memory| memory.segment == GLOBAL)?;
        Some((Agent(self.0 / 4), memory.flags))
    }
}

fn iterate_all(agent: Agent, callback: Callback<Pool>, data: Data) -> Result<(), Status> {
    let machine = machine()?;
    let count = all(machine, agent.kind(machine)?).len();
    iterate_handles(callback, data, (0..count).map(|index| Pool::of(agent, index)))
}

pub(crate) fn hsa_agent_iterate_regions(
    agent: Agent,
    callback: Callback<Pool>,
    data: Data,
) -> Result<(), Status> {
    iterate_all(agent, callback, data)
}

pub(crate) fn hsa_amd_agent_iterate_memory_pools(
    agent: Agent,
    callback: Callback<Pool>,
    data: Data,
) -> Result<(), Status> {
    iterate_all(agent, callback, data)
}

/// The bytes of the largest allocation.
fn largest(memory: Memory) -> u64 {
    if memory.segment == GLOBAL { memory.bytes } else { 0 }
}

/// The attributes that regions and pools have in common.
fn attribute(memory: Memory, attribute: u32) -> Option<Value> {
    let granule = if memory.segment == GLOBAL { PAGE } else { 0 };
    Some(match attribute {
        0 => memory.segment.into(),
        1 => memory.flags.into(),
        2 => memory.bytes.into(),
        5 => (memory.segment == GLOBAL).into(),
        6 | 7 => granule.into(),
        _ => return None,
    })
}

pub(crate) fn hsa_region_get_info(region: Pool, number: u32, value: Place) -> Result<(), Status> {
    let memory = region.memory(machine()?).ok_or(Status::INVALID_REGION)?;
    let found = match number {
        4 => Some(largest(memory).into()),
        // Private memory of a workgroup.
        8 => Some(0_u32.into()),
        _ => attribute(memory, number),
    };
    found.ok_or(Status::INVALID_ARGUMENT)?.write(value)
}

pub(crate) fn hsa_amd_memory_pool_get_info(pool: Pool, number: u32, value: Place) -> Result<(), Status> {
    let memory = pool.memory(machine()?).ok_or(Status::INVALID_MEMORY_POOL)?;
    let found = match number {
        15 => Some(memory.is_of_host.into()),
        16 => Some(largest(memory).into()),
        // `HSA_AMD_MEMORY_POOL_LOCATION_CPU` and `_GPU`.
        17 => Some(u32::from(!memory.is_of_host).into()),
        18 => attribute(memory, 6),
        _ => attribute(memory, number),
    };
    found.ok_or(Status::INVALID_ARGUMENT)?.write(value)
}

pub(crate) fn hsa_amd_agent_memory_pool_get_info(
    agent: Agent,
    pool: Pool,
    number: u32,
    value: Place,
) -> Result<(), Status> {
    let machine = machine()?;
    let kind = agent.kind(machine)?;
    let memory = pool.memory(machine).ok_or(Status::INVALID_MEMORY_POOL)?;
    let is_own = Agent(pool.0 / 4) == agent;
    // `HSA_AMD_MEMORY_POOL_ACCESS_`: never, from the beginning, or once it is asked for.
    let access = match (is_own || memory.is_of_host, memory.segment, kind) {
        (true, ..) => 1,
        (false, GLOBAL, Kind::Device(_)) => 2_u32,
        _ => 0,
    };
    // From a device over PCI Express to the host, and on to another device.
    let hops = match is_own {
        true => 0_u32,
        false if kind == Kind::Host || memory.is_of_host => 1,
        false => 2,
    };
    match number {
        0 => Value::from(access).write(value),
        1 => Value::from(hops).write(value),
        2 => Value::words(&LINK.repeat(hops as usize)).write(value),
        _ => Err(Status::INVALID_ARGUMENT),
    }
}

/// A `hsa_amd_memory_pool_link_info_t`, in words: no latencies and bandwidths are known; atomics of 32 and of 64 bits, and coherence, a byte
/// each; `HSA_AMD_LINK_INFO_TYPE_PCIE`, and ROCr's distance of it.
const LINK: [u32; 7] = [0, 0, 0, 0, 0x01_01_01, 2, 20];
