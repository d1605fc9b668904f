//! Allocations from pools, who may access them, and memory of the host that is locked for agents.

use std::collections::BTreeMap;
use std::ptr::NonNull;
use std::sync::{Mutex, MutexGuard, PoisonError};

use hip_driver_emulated::system::is_mapped;

use super::agent::Agent;
use super::devices::Devices;
use super::memory::Pool;
use super::runtime::machine;
use super::status::Status;
use crate::abi::{Array, Ignored, Out};

/// Memory that agents access.
#[derive(Clone, Copy)]
pub(super) struct Allocation {
    pub(super) bytes: u64,
    /// Where the host has it: the same address for what a pool has allocated, another for memory that is locked.
    pub(super) host: u64,
    pub(super) is_locked: bool,
    /// The agent whose memory it is.
    pub(super) owner: Agent,
    /// `HSA_AMD_MEMORY_POOL_GLOBAL_FLAG_...`.
    pub(super) flags: u32,
    /// What the program notes with it.
    pub(super) user_data: u64,
}

/// The allocations by the address that agents have for them.
static ALL: Mutex<BTreeMap<u64, Allocation>> = Mutex::new(BTreeMap::new());

fn lock() -> MutexGuard<'static, BTreeMap<u64, Allocation>> {
    ALL.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The allocation with an address of agents or of the host, and the address at which it begins for agents.
pub(super) fn find(address: u64) -> Option<(u64, Allocation)> {
    let all = lock();
    let within = |start: u64, one: &Allocation| address.wrapping_sub(start) < one.bytes;
    let before = all.range(..=address).next_back().filter(|(start, one)| within(**start, one));
    let locked = || all.iter().find(|(_, one)| one.is_locked && within(one.host, one));
    before.or_else(locked).map(|(start, one)| (*start, *one))
}

/// The address at which the host has what agents have at `address`: another one in memory that is locked.
pub(super) fn of_host(address: u64) -> u64 {
    let all = lock();
    let before = all.range(..=address).next_back();
    let locked = before.filter(|(start, one)| one.is_locked && address - **start < one.bytes);
    locked.map_or(address, |(start, one)| one.host + (address - start))
}

/// Notes what the program says of an allocation.
pub(super) fn set_user_data(address: u64, data: u64) -> Result<(), Status> {
    let mut all = lock();
    let found = all.range_mut(..=address).next_back().filter(|(start, one)| address - **start < one.bytes);
    found.ok_or(Status::INVALID_ARGUMENT)?.1.user_data = data;
    Ok(())
}

/// What memory is aligned to: the largest power of two in its bytes, up to a huge page of 2 MiB, as AMD's library for the kernel's driver
/// does. The heap of kernels finds its 2 MiB from any address in them.
fn alignment(bytes: u64) -> u64 {
    1 << bytes.ilog2().min(21)
}

fn allocate(pool: Pool, bytes: usize, pointer: Out<u64>) -> Result<(), Status> {
    let machine = machine()?;
    let (owner, flags) = pool.to_allocate_from(machine).ok_or(Status::INVALID_MEMORY_POOL)?;
    if pointer.is_null() || bytes == 0 {
        return Err(Status::INVALID_ARGUMENT);
    }
    let devices = Devices::get()?;
    // Agents get whole pages.
    let bytes =
        (bytes as u64).checked_next_multiple_of(super::memory::PAGE).ok_or(Status::INVALID_ALLOCATION)?;
    let space = devices.space(owner)?;
    let address = space.alloc(bytes, alignment(bytes)).map_err(|_| Status::OUT_OF_RESOURCES)?;
    let is_fine = flags & super::memory::COARSE_GRAINED == 0;
    let mut ready = space.set_fine_grained(address, is_fine);
    if owner == Agent::HOST {
        // The host's memory is there for all.
        let mut others = devices.all.iter();
        ready = ready.and_then(|()| others.try_for_each(|device| space.share(address, &device.space)));
    } else {
        // The host writes it without a word, so that all of it counts as written for the sanitizer.
        ready = ready.and_then(|()| space.host_address(address, bytes).map(drop));
    }
    let allocation = Allocation { bytes, host: address, is_locked: false, owner, flags, user_data: 0 };
    lock().insert(address, allocation);
    match ready {
        Ok(()) => pointer.set(address),
        Err(_) => free(address).and(Err(Status::OUT_OF_RESOURCES)),
    }
}

fn free(address: u64) -> Result<(), Status> {
    let devices = Devices::get()?;
    let mut all = lock();
    let Some(allocation) = all.get(&address).copied().filter(|one| !one.is_locked) else {
        return Err(Status::INVALID_ALLOCATION);
    };
    all.remove(&address);
    drop(all);
    let space = devices.space(allocation.owner)?;
    let others = devices.all.iter().filter(|device| device.agent != allocation.owner);
    others.for_each(|device| device.space.unshare(address));
    space.free(address).map_err(|_| Status::INVALID_ALLOCATION)
}

pub(crate) fn hsa_amd_memory_pool_allocate(
    pool: Pool,
    bytes: usize,
    _flags: u32,
    pointer: Out<u64>,
) -> Result<(), Status> {
    allocate(pool, bytes, pointer)
}

pub(crate) fn hsa_memory_allocate(pool: Pool, bytes: usize, pointer: Out<u64>) -> Result<(), Status> {
    allocate(pool, bytes, pointer).map_err(|status| match status {
        Status::INVALID_MEMORY_POOL => Status::INVALID_REGION,
        other => other,
    })
}

/// A null pointer is no error.
pub(crate) fn hsa_amd_memory_pool_free(pointer: u64) -> Result<(), Status> {
    if pointer == 0 { Ok(()) } else { free(pointer) }
}

pub(crate) fn hsa_memory_free(pointer: u64) -> Result<(), Status> {
    hsa_amd_memory_pool_free(pointer)
}

/// Gives the listed agents access to an allocation, and takes it from other devices that are not the owner. The host has it always.
pub(crate) fn hsa_amd_agents_allow_access(
    count: u32,
    agents: Array<Agent>,
    flags: Ignored,
    pointer: u64,
) -> Result<(), Status> {
    let (machine, devices) = (machine()?, Devices::get()?);
    if !flags.is_null() || count == 0 {
        return Err(Status::INVALID_ARGUMENT);
    }
    let agents = agents.get::<Status>(count as usize)?;
    agents.iter().try_for_each(|agent| agent.kind(machine).map(drop))?;
    let all = lock();
    let Some(allocation) = all.get(&pointer).copied().filter(|one| !one.is_locked) else {
        return Err(Status::INVALID_ALLOCATION);
    };
    if allocation.owner == Agent::HOST {
        return Ok(());
    }
    let space = devices.space(allocation.owner)?;
    for device in devices.all.iter().filter(|device| device.agent != allocation.owner) {
        let has_it = device.space.lookup(pointer).is_some();
        match agents.contains(&device.agent) {
            true if !has_it => space.share(pointer, &device.space).map_err(|_| Status::OUT_OF_RESOURCES)?,
            false if has_it => device.space.unshare(pointer),
            _ => {}
        }
    }
    Ok(())
}

/// Lets devices that access locked memory find it at the host's address, too: HIP 7 gives kernels that of managed variables. Where another
/// lock's memory is, nothing changes.
fn show_at_host_address(devices: &Devices, address: u64, memory: NonNull<u8>, bytes: u64) {
    for device in devices.all.iter().filter(|device| device.space.lookup(address).is_some()) {
        // SAFETY: as for the lock itself.
        let _ = unsafe { device.space.map_host(memory, bytes) };
    }
}

fn lock_host(host: u64, bytes: usize, agents: &[Agent], flags: u32, pointer: Out<u64>) -> Result<(), Status> {
    let (machine, devices) = (machine()?, Devices::get()?);
    agents.iter().try_for_each(|agent| agent.kind(machine).map(drop))?;
    let memory = NonNull::new(std::ptr::with_exposed_provenance_mut::<u8>(host as usize));
    let memory = memory.filter(|_| bytes > 0 && !pointer.is_null()).ok_or(Status::INVALID_ARGUMENT)?;
    // ROCr's error of what the kernel's driver cannot pin.
    if !is_mapped(memory.as_ptr().cast(), bytes) {
        return Err(Status::ERROR);
    }
    // SAFETY: the program keeps the memory until it unlocks it, and orders what it and the agents do there, as HSA asks of it. On Linux
    // with x86-64, pages that are not there are a fault of the kernel that accesses them.
    let mapped = unsafe { devices.host.map_host_elsewhere(memory, bytes as u64) };
    let address = mapped.map_err(|_| Status::OUT_OF_RESOURCES)?;
    // No agents stand for all.
    let sharers = devices.all.iter().filter(|device| agents.is_empty() || agents.contains(&device.agent));
    for device in sharers {
        if devices.host.share(address, &device.space).is_err() {
            devices.all.iter().for_each(|device| device.space.unshare(address));
            // It is mapped.
            let _ = devices.host.unmap_host(address);
            return Err(Status::OUT_OF_RESOURCES);
        }
    }
    show_at_host_address(devices, address, memory, bytes as u64);
    let allocation =
        Allocation { bytes: bytes as u64, host, is_locked: true, owner: Agent::HOST, flags, user_data: 0 };
    lock().insert(address, allocation);
    pointer.set(address)
}

pub(crate) fn hsa_amd_memory_lock(
    host: u64,
    bytes: usize,
    agents: Array<Agent>,
    count: i32,
    pointer: Out<u64>,
) -> Result<(), Status> {
    let agents = agents.get::<Status>(usize::try_from(count).map_err(|_| Status::INVALID_ARGUMENT)?)?;
    lock_host(host, bytes, &agents, super::memory::FINE_GRAINED, pointer)
}

pub(crate) fn hsa_amd_memory_lock_to_pool(
    host: u64,
    bytes: usize,
    agents: Array<Agent>,
    count: i32,
    pool: Pool,
    _flags: u32,
    pointer: Out<u64>,
) -> Result<(), Status> {
    let (owner, flags) = pool.to_allocate_from(machine()?).ok_or(Status::INVALID_MEMORY_POOL)?;
    if owner != Agent::HOST {
        return Err(Status::INVALID_MEMORY_POOL);
    }
    let agents = agents.get::<Status>(usize::try_from(count).map_err(|_| Status::INVALID_ARGUMENT)?)?;
    lock_host(host, bytes, &agents, flags, pointer)
}

/// Takes the last lock off that begins at an address of the host. What was never locked is no error, as in ROCr.
pub(crate) fn hsa_amd_memory_unlock(host: u64) -> Result<(), Status> {
    let devices = Devices::get()?;
    let mut all = lock();
    let found = all.iter().rev().find(|(_, one)| one.is_locked && one.host == host);
    let Some(address) = found.map(|(address, _)| *address) else { return Ok(()) };
    all.remove(&address);
    let others: Vec<_> = all.iter().filter(|(_, one)| one.is_locked).map(|(at, one)| (*at, *one)).collect();
    drop(all);
    for device in &devices.all {
        device.space.unshare(address);
        // Where another lock's is, or the agent has no access, it is not there.
        let _ = device.space.unmap_host(host);
    }
    for (address, other) in others {
        if let Some(memory) = NonNull::new(std::ptr::with_exposed_provenance_mut::<u8>(other.host as usize)) {
            show_at_host_address(devices, address, memory, other.bytes);
        }
    }
    devices.host.unmap_host(address).map_err(|_| Status::INVALID_ALLOCATION)
}

/// Says that agents will access memory of the host. Agents of the base profile do not, whatever is registered, so that this does nothing.
pub(crate) fn hsa_memory_register(pointer: u64, bytes: usize) -> Result<(), Status> {
    machine()?;
    if pointer == 0 && bytes > 0 { Err(Status::INVALID_ARGUMENT) } else { Ok(()) }
}

pub(crate) fn hsa_memory_deregister(_pointer: u64, _bytes: usize) -> Result<(), Status> {
    machine().map(drop)
}

/// Memory is assigned to agents by the pool that it is of.
pub(crate) fn hsa_memory_assign_agent(pointer: u64, agent: Agent, _access: u32) -> Result<(), Status> {
    agent.kind(machine()?)?;
    if pointer == 0 { Err(Status::INVALID_ARGUMENT) } else { Ok(()) }
}
