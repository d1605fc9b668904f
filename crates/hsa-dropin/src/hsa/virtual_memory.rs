//! Virtual memory: addresses that are reserved, what of physical memory is mapped there, and what each agent may do with it.
//!
//! The host sees what is mapped at these addresses. A device sees it through pages of its own of the same file (`VirtualRange`), so that what is
//! mapped side by side is one range for kernels, and what was unmapped harms no kernel that still runs.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use amdgpu_emulator::{VirtualPart, VirtualRange};

use super::agent::Agent;
use super::devices::Devices;
use super::memory::PAGE;
use super::physical_memory::{self, Physical, PhysicalHandle};
use super::runtime::machine;
use super::status::Status;
use crate::abi::{Array, Out};

/// A `hsa_amd_memory_access_desc_t`.
#[derive(Clone, Copy)]
#[repr(C)]
pub(crate) struct Access {
    permission: u32,
    agent: Agent,
}

/// `HSA_ACCESS_PERMISSION_...`.
const NONE: u32 = 0;
const READ: u32 = 1;
const READ_AND_WRITE: u32 = 3;

/// What is mapped to a part of a reservation.
struct Mapped {
    bytes: u64,
    memory: Arc<Physical>,
    /// The permission of each device, in their order.
    permissions: Vec<u32>,
    /// That of the host, which is only noted.
    of_host: u32,
}

/// Addresses that are reserved.
struct Reservation {
    bytes: u64,
    /// The pages of each device.
    ranges: Vec<VirtualRange>,
    /// What is mapped, by its offset.
    mapped: BTreeMap<u64, Mapped>,
}

static RESERVED: Mutex<BTreeMap<u64, Reservation>> = Mutex::new(BTreeMap::new());

fn lock() -> MutexGuard<'static, BTreeMap<u64, Reservation>> {
    RESERVED.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Finds the reservation that has all of a range, and the range's offset in it.
fn find(
    all: &mut BTreeMap<u64, Reservation>,
    address: u64,
    bytes: u64,
) -> Result<(u64, &mut Reservation), Status> {
    let found = all.range_mut(..=address).next_back();
    let within =
        |base: u64, one: &Reservation| address - base < one.bytes && bytes <= one.bytes - (address - base);
    let (base, one) = found.filter(|(base, one)| within(**base, one)).ok_or(Status::INVALID_ALLOCATION)?;
    Ok((address - base, one))
}

fn whole_pages(numbers: &[u64]) -> Result<(), Status> {
    if numbers.iter().all(|number| number.is_multiple_of(PAGE)) {
        Ok(())
    } else {
        Err(Status::INVALID_ARGUMENT)
    }
}

pub(crate) fn hsa_amd_vmem_address_reserve_align(
    pointer: Out<u64>,
    bytes: usize,
    wish: u64,
    align: u64,
    _flags: u64,
) -> Result<(), Status> {
    let devices = Devices::get()?;
    let (bytes, align) = (bytes as u64, align.max(PAGE));
    whole_pages(&[bytes])?;
    if pointer.is_null() || bytes == 0 || !align.is_power_of_two() {
        return Err(Status::INVALID_ARGUMENT);
    }
    let base = physical_memory::reserve(wish, bytes, align)?;
    let range = |_| VirtualRange::new(base, bytes);
    let ranges = devices.all.iter().map(range).collect::<Result<Vec<_>, _>>().map_err(|_| {
        physical_memory::unreserve(base, bytes);
        Status::OUT_OF_RESOURCES
    })?;
    devices.all.iter().for_each(|device| device.space.reserve(base, bytes));
    lock().insert(base, Reservation { bytes, ranges, mapped: BTreeMap::new() });
    pointer.set(base)
}

pub(crate) fn hsa_amd_vmem_address_reserve(
    pointer: Out<u64>,
    bytes: usize,
    wish: u64,
    flags: u64,
) -> Result<(), Status> {
    hsa_amd_vmem_address_reserve_align(pointer, bytes, wish, 0, flags)
}

/// Nothing is mapped any more.
pub(crate) fn hsa_amd_vmem_address_free(address: u64, bytes: usize) -> Result<(), Status> {
    let devices = Devices::get()?;
    let mut all = lock();
    let reservation = all.get(&address).filter(|one| one.bytes == bytes as u64);
    if !reservation.ok_or(Status::INVALID_ALLOCATION)?.mapped.is_empty() {
        return Err(Status::RESOURCE_FREE);
    }
    all.remove(&address);
    devices.all.iter().for_each(|device| device.space.unreserve(address));
    physical_memory::unreserve(address, bytes as u64);
    Ok(())
}

/// No device may use it before its permission is set.
pub(crate) fn hsa_amd_vmem_map(
    address: u64,
    bytes: usize,
    from: usize,
    handle: PhysicalHandle,
    _flags: u64,
) -> Result<(), Status> {
    machine()?;
    let (memory, bytes, from) = (handle.memory()?, bytes as u64, from as u64);
    whole_pages(&[address, bytes, from])?;
    if bytes == 0 || from.checked_add(bytes).is_none_or(|end| end > memory.bytes) {
        return Err(Status::INVALID_ARGUMENT);
    }
    let mut all = lock();
    let (offset, reservation) = find(&mut all, address, bytes)?;
    let before = reservation.mapped.range(..offset + bytes).next_back();
    if before.is_some_and(|(start, one)| start + one.bytes > offset) {
        return Err(Status::INVALID_ARGUMENT);
    }
    memory.map(address, bytes, from)?;
    for range in &reservation.ranges {
        // SAFETY: the file has these bytes, as its length never changes, and is kept until the part is unmapped.
        let shown = unsafe { range.map(offset, bytes, &memory.file, from) };
        if shown.is_err() {
            physical_memory::unmap(address, bytes)?;
            return Err(Status::OUT_OF_RESOURCES);
        }
    }
    let permissions = vec![NONE; reservation.ranges.len()];
    reservation.mapped.insert(offset, Mapped { bytes, memory, permissions, of_host: NONE });
    Ok(())
}

impl Reservation {
    /// Lets a device use the parts that it may use, and nothing else.
    fn show(&self, devices: &Devices, device: usize) -> Result<(), Status> {
        let allowed = self.mapped.iter().filter(|(_, one)| one.permissions[device] & READ != 0);
        let part = |(offset, one): (&u64, &Mapped)| VirtualPart {
            offset: *offset,
            bytes: one.bytes,
            read_only: one.permissions[device] == READ,
        };
        let parts: Vec<VirtualPart> = allowed.map(part).collect();
        devices.all[device].space.show(&self.ranges[device], &parts).map_err(|_| Status::OUT_OF_RESOURCES)
    }

    fn show_all(&self, devices: &Devices) -> Result<(), Status> {
        (0..self.ranges.len()).try_for_each(|device| self.show(devices, device))
    }

    /// The offsets of what is mapped to a range. Fails unless that is all that is there.
    fn mapped_to(&self, offset: u64, bytes: u64) -> Result<Vec<u64>, Status> {
        let inside = self.mapped.range(offset..offset + bytes);
        let (mut next, mut found) = (offset, Vec::new());
        for (start, one) in inside {
            if *start != next {
                return Err(Status::INVALID_ALLOCATION);
            }
            next = start + one.bytes;
            found.push(*start);
        }
        if next == offset + bytes && !found.is_empty() { Ok(found) } else { Err(Status::INVALID_ALLOCATION) }
    }
}

pub(crate) fn hsa_amd_vmem_unmap(address: u64, bytes: usize) -> Result<(), Status> {
    let devices = Devices::get()?;
    let bytes = bytes as u64;
    let mut all = lock();
    let (offset, reservation) = find(&mut all, address, bytes)?;
    let found = reservation.mapped_to(offset, bytes)?;
    let taken: Vec<_> =
        found.iter().filter_map(|start| Some((*start, reservation.mapped.remove(start)?))).collect();
    reservation.show_all(devices)?;
    for (start, one) in taken {
        let unmap = |range: &VirtualRange| range.unmap(start, one.bytes);
        reservation.ranges.iter().try_for_each(unmap).map_err(|_| Status::OUT_OF_RESOURCES)?;
        physical_memory::unmap(address - offset + start, one.bytes)?;
    }
    Ok(())
}

pub(crate) fn hsa_amd_vmem_set_access(
    address: u64,
    bytes: usize,
    access: Array<Access>,
    count: usize,
) -> Result<(), Status> {
    let (machine, devices) = (machine()?, Devices::get()?);
    let access = access.get::<Status>(count)?;
    for one in &access {
        one.agent.kind(machine)?;
        if !matches!(one.permission, NONE | READ | READ_AND_WRITE) {
            return Err(Status::INVALID_ARGUMENT);
        }
    }
    let mut all = lock();
    let (offset, reservation) = find(&mut all, address, bytes as u64)?;
    for start in reservation.mapped_to(offset, bytes as u64)? {
        let Some(part) = reservation.mapped.get_mut(&start) else { continue };
        for one in &access {
            match devices.all.iter().position(|device| device.agent == one.agent) {
                Some(device) => part.permissions[device] = one.permission,
                None => part.of_host = one.permission,
            }
        }
    }
    reservation.show_all(devices)
}

/// The part of a reservation with an address.
fn with_part<T>(address: u64, look: impl FnOnce(&Mapped) -> Result<T, Status>) -> Result<T, Status> {
    let mut all = lock();
    let (offset, reservation) = find(&mut all, address, 1)?;
    let part = reservation.mapped.range(..=offset).next_back();
    let part = part.filter(|(start, one)| offset - **start < one.bytes);
    look(part.ok_or(Status::INVALID_ALLOCATION)?.1)
}

pub(crate) fn hsa_amd_vmem_get_access(
    address: u64,
    permission: Out<u32>,
    agent: Agent,
) -> Result<(), Status> {
    agent.kind(machine()?)?;
    let devices = Devices::get()?;
    let found = with_part(address, |part| {
        let device = devices.all.iter().position(|device| device.agent == agent);
        Ok(device.map_or(part.of_host, |device| part.permissions[device]))
    })?;
    permission.set(found)
}

/// Another handle of what is mapped at an address.
pub(crate) fn hsa_amd_vmem_retain_alloc_handle(
    handle: Out<PhysicalHandle>,
    address: u64,
) -> Result<(), Status> {
    machine()?;
    if handle.is_null() {
        return Err(Status::INVALID_ARGUMENT);
    }
    let memory = with_part(address, |part| Ok(Arc::clone(&part.memory)))?;
    handle.set(PhysicalHandle::new(memory)?)
}
