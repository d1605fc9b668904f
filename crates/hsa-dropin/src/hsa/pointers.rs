//! What the runtime knows of a pointer.

use std::ffi::c_void;

use super::agent::Agent;
use super::allocations::{self, Allocation};
use super::devices::Devices;
use super::loader;
use super::memory::Pool;
use super::runtime::machine;
use super::status::Status;
use crate::abi::Out;

/// A `hsa_amd_pointer_info_t`. Its first number is how many bytes of it the caller has.
#[derive(Clone, Copy)]
#[repr(C)]
struct PointerInfo {
    size: u32,
    kind: u32,
    agent_address: u64,
    host_address: u64,
    bytes: u64,
    user_data: u64,
    owner: u64,
    flags: u32,
    is_registered: u32,
}

/// `HSA_EXT_POINTER_TYPE_...`.
const UNKNOWN: u32 = 0;
const HSA: u32 = 1;
const LOCKED: u32 = 2;

/// A function of the caller that allocates memory.
pub(crate) type Allocate = Option<unsafe extern "C" fn(usize) -> *mut c_void>;

impl PointerInfo {
    const NONE: PointerInfo = PointerInfo {
        size: size_of::<PointerInfo>() as u32,
        kind: UNKNOWN,
        agent_address: 0,
        host_address: 0,
        bytes: 0,
        user_data: 0,
        owner: 0,
        flags: 0,
        is_registered: 0,
    };

    fn of(address: u64, allocation: Allocation) -> PointerInfo {
        PointerInfo {
            kind: if allocation.is_locked { LOCKED } else { HSA },
            agent_address: address,
            host_address: allocation.host,
            bytes: allocation.bytes,
            user_data: allocation.user_data,
            owner: allocation.owner.0,
            flags: allocation.flags,
            is_registered: 1,
            ..PointerInfo::NONE
        }
    }

    fn bytes(&self) -> impl Iterator<Item = u8> {
        let first = [self.size, self.kind].into_iter().flat_map(u32::to_ne_bytes);
        let numbers = [self.agent_address, self.host_address, self.bytes, self.user_data, self.owner];
        let last = [self.flags, self.is_registered].into_iter().flat_map(u32::to_ne_bytes);
        first.chain(numbers.into_iter().flat_map(u64::to_ne_bytes)).chain(last)
    }
}

/// `agents` is for an array of the agents that may access the memory, which the function of the caller allocates.
pub(crate) fn hsa_amd_pointer_info(
    pointer: u64,
    info: Out<u8>,
    allocate: Allocate,
    count: Out<u32>,
    agents: Out<u64>,
) -> Result<(), Status> {
    let devices = Devices::get()?;
    let room = info.of::<u32>().get::<Status>()?;
    if pointer == 0 || room == 0 {
        return Err(Status::INVALID_ARGUMENT);
    }
    let found = allocations::find(pointer).or_else(|| loader::allocation_at(pointer));
    let written =
        found.map_or(PointerInfo::NONE, |(address, allocation)| PointerInfo::of(address, allocation));
    let size = room.min(written.size);
    info.set_array::<Status>(PointerInfo { size, ..written }.bytes(), size as usize)?;
    let (Some((address, allocation)), Some(allocate)) = (found, allocate) else {
        return if count.is_null() { Ok(()) } else { count.set(0) };
    };
    if count.is_null() || agents.is_null() {
        return Ok(());
    }
    let with_access = devices.all.iter().filter(|device| device.space.lookup(address).is_some());
    let host = (allocation.owner == Agent::HOST).then_some(Agent::HOST);
    let with_access: Vec<Agent> = host.into_iter().chain(with_access.map(|device| device.agent)).collect();
    // SAFETY: the caller's function for this.
    let array = unsafe { allocate(with_access.len() * size_of::<Agent>()) };
    if array.is_null() {
        return Err(Status::OUT_OF_RESOURCES);
    }
    Out::of_pointer(array.cast::<Agent>())
        .set_array::<Status>(with_access.iter().copied(), with_access.len())?;
    count.set(with_access.len() as u32)?;
    agents.set(array.expose_provenance() as u64)
}

pub(crate) fn hsa_amd_pointer_info_set_userdata(pointer: u64, data: u64) -> Result<(), Status> {
    machine()?;
    allocations::set_user_data(pointer, data)
}

/// Nothing moves from pool to pool.
pub(crate) fn hsa_amd_memory_pool_can_migrate(from: Pool, to: Pool, result: Out<bool>) -> Result<(), Status> {
    let machine = machine()?;
    let is_pool = |pool: Pool| pool.to_allocate_from(machine).ok_or(Status::INVALID_MEMORY_POOL);
    is_pool(from).and(is_pool(to))?;
    result.set(false)
}
