//! Virtual memory: reserved addresses, and the physical memory that is mapped to them.
//!
//! Addresses are reserved on all devices at once. What a device may do with a mapping is said for each device, and only then has its
//! address space the memory ([`VirtualRange`]).

use std::collections::BTreeMap;
use std::ops::Range;
use std::os::fd::OwnedFd;
use std::sync::{Arc, Mutex};

use amdgpu_emulator::{AddressSpace, VirtualPart, VirtualRange};

use super::device::{Device, lock, memory_error};
use super::physical::{PhysicalFile, PhysicalMemory};
use super::{EmulatedDriver, invalid};
use hip_driver::{DeviceId, DevicePtr, DriverError, DriverResult, ErrorCode};

/// What physical memory, mappings and reservations are multiples of: the smallest page.
pub const VIRTUAL_GRANULARITY: u64 = 4096;
/// What reservations begin at, unless an address is asked for: large pages of the GPUs.
const ALIGNMENT: u64 = 2 << 20;

/// What a device may do with mapped memory.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum VirtualAccess {
    /// Nothing: an access is a fault.
    #[default]
    None,
    /// Read it: a write is a fault.
    Read,
    /// Read and write it.
    ReadWrite,
}

/// Physical memory that is mapped.
struct Mapping {
    bytes: u64,
    memory: Arc<PhysicalMemory>,
    /// What each device may do.
    access: Vec<VirtualAccess>,
}

/// Reserved addresses.
struct Reservation {
    base: u64,
    bytes: u64,
    /// By address.
    mappings: BTreeMap<u64, Mapping>,
    /// The memory of each device that may access some of it, or could.
    ranges: Vec<Option<VirtualRange>>,
}

#[derive(Default)]
struct State {
    /// By address.
    reservations: BTreeMap<u64, Reservation>,
    /// Where addresses were reserved last.
    next: u64,
}

/// The virtual memory of a driver.
#[derive(Default)]
pub(super) struct VirtualMemory {
    state: Mutex<State>,
    physical: PhysicalFile,
}

impl State {
    /// Whether the addresses and the guard behind them are free.
    fn is_free(&self, addresses: &Range<u64>) -> bool {
        let before = self.reservations.range(..addresses.end).next_back();
        before.is_none_or(|(base, reservation)| base + reservation.bytes <= addresses.start)
    }

    /// Finds addresses: where they are asked for, else behind those that were reserved last, else in the first gap.
    fn find(&self, bytes: u64, alignment: u64, wanted: u64) -> Option<u64> {
        let all = AddressSpace::virtual_addresses();
        let fits = |base: u64, guard: u64| {
            let end = base.checked_add(bytes)?.checked_add(guard)?;
            (all.start <= base && end <= all.end && self.is_free(&(base..end))).then_some(base)
        };
        let at = |base: u64| base.checked_next_multiple_of(alignment.max(ALIGNMENT));
        let ends = self.reservations.iter().map(|(base, found)| base + found.bytes);
        (wanted.is_multiple_of(alignment.max(VIRTUAL_GRANULARITY)).then(|| fits(wanted, 0)).flatten())
            .or_else(|| fits(at(self.next.max(all.start))?, AddressSpace::VIRTUAL_GUARD))
            .or_else(|| {
                let gaps =
                    std::iter::once(all.start).chain(ends.map(|end| end + AddressSpace::VIRTUAL_GUARD));
                gaps.into_iter().find_map(|gap| fits(at(gap)?, AddressSpace::VIRTUAL_GUARD))
            })
    }

    /// The reservation with an address.
    fn with(&mut self, address: u64) -> Option<&mut Reservation> {
        let (_, found) = self.reservations.range_mut(..=address).next_back()?;
        (address - found.base < found.bytes).then_some(found)
    }
}

impl Reservation {
    /// Whether the `bytes` bytes at `address` are in it.
    fn contains(&self, address: u64, bytes: u64) -> bool {
        let offset = address.wrapping_sub(self.base);
        offset < self.bytes && bytes <= self.bytes - offset
    }

    /// The addresses of the mappings that the given bytes are, if they are whole mappings that follow each other.
    fn whole(&self, address: u64, bytes: u64) -> Option<Range<u64>> {
        let end = address.checked_add(bytes)?;
        let mut at = address;
        for (base, mapping) in self.mappings.range(address..end) {
            if *base != at {
                return None;
            }
            at += mapping.bytes;
        }
        (at == end && bytes > 0).then_some(address..end)
    }

    fn mapping(&self, address: u64) -> Option<(u64, &Mapping)> {
        let (base, found) = self.mappings.range(..=address).next_back()?;
        (address - base < found.bytes).then_some((*base, found))
    }

    /// Lets a device access what its rights say.
    fn show(&self, device: &Device) -> Result<(), amdgpu_emulator::Error> {
        let index = device.id.0 as usize;
        let Some(range) = &self.ranges[index] else { return Ok(()) };
        let visible =
            self.mappings.iter().filter(|(_, mapping)| mapping.access[index] != VirtualAccess::None);
        let parts = visible.map(|(base, mapping)| VirtualPart {
            offset: base - self.base,
            bytes: mapping.bytes,
            read_only: mapping.access[index] == VirtualAccess::Read,
        });
        device.space.show(range, &parts.collect::<Vec<_>>())
    }

    /// Sets what a device may do with the mappings at some addresses. [`protect`](Self::protect) is to follow where it may only
    /// read what it could write.
    fn set(
        &mut self,
        device: &Device,
        addresses: &Range<u64>,
        access: VirtualAccess,
    ) -> Result<(), amdgpu_emulator::Error> {
        let index = device.id.0 as usize;
        if self.ranges[index].is_none() && access != VirtualAccess::None {
            self.ranges[index] = Some(VirtualRange::new(self.base, self.bytes)?);
        }
        let Some(range) = &self.ranges[index] else { return Ok(()) };
        let mut hidden = Vec::new();
        let mut set = Ok(());
        for (base, mapping) in self.mappings.range_mut(addresses.clone()) {
            let part = (base - self.base, mapping.bytes);
            set = match (mapping.access[index], access) {
                (VirtualAccess::None, VirtualAccess::None) => Ok(()),
                (VirtualAccess::None, _) => map(range, part, mapping, access),
                (VirtualAccess::Read, VirtualAccess::ReadWrite) => range.protect(part.0, part.1, false),
                (_, VirtualAccess::None) => {
                    hidden.push(part);
                    Ok(())
                }
                _ => Ok(()),
            };
            if set.is_err() {
                break;
            }
            mapping.access[index] = access;
        }
        let shown = self.show(device);
        take_off(self.ranges[index].as_ref(), &hidden);
        set.and(shown)
    }

    /// Sees to it that a device can't write what it may only read.
    fn protect(&self, device: &Device, addresses: &Range<u64>) -> Result<(), amdgpu_emulator::Error> {
        let index = device.id.0 as usize;
        let Some(range) = &self.ranges[index] else { return Ok(()) };
        let all = self.mappings.range(addresses.clone());
        let mut only_read = all.filter(|(_, mapping)| mapping.access[index] == VirtualAccess::Read);
        only_read.try_for_each(|(base, mapping)| range.protect(base - self.base, mapping.bytes, true))
    }
}

/// Maps physical memory for a device that can't access it yet.
fn map(
    range: &VirtualRange,
    (offset, bytes): (u64, u64),
    mapping: &Mapping,
    access: VirtualAccess,
) -> Result<(), amdgpu_emulator::Error> {
    let (file, at) = mapping.memory.place();
    // SAFETY: a mapping has its memory until it is taken off, and the file has the memory's bytes as long as that lives: no
    // file is shortened, and one that other processes have can't be.
    unsafe { range.map(offset, bytes, file, at) }?;
    match access {
        VirtualAccess::Read => range.protect(offset, bytes, true),
        _ => Ok(()),
    }
}

/// Takes off what is mapped to parts that are not shown any more.
fn take_off(range: Option<&VirtualRange>, parts: &[(u64, u64)]) {
    for (offset, bytes) in parts {
        if let Some(Err(error)) = range.map(|range| range.unmap(*offset, *bytes)) {
            log::error!("{error}");
        }
    }
}

fn not_reserved(call: &'static str, address: u64, bytes: u64) -> DriverError {
    invalid(call, format!("{bytes} bytes at {address:#x} are not all in one range of reserved addresses"))
}

fn not_whole(call: &'static str, address: u64, bytes: u64) -> DriverError {
    invalid(call, format!("{bytes} bytes at {address:#x} are not whole mappings, one after the other"))
}

/// Virtual memory, which is no part of the trait `Driver`.
impl EmulatedDriver {
    /// Makes physical memory of a device. It counts as allocated until it was dropped and unmapped everywhere.
    ///
    /// # Errors
    /// `INVALID_VALUE` if `bytes` is 0 or not a multiple of [`VIRTUAL_GRANULARITY`]; `OUT_OF_MEMORY` if there is not as much.
    pub fn create_physical(
        &self,
        call: &'static str,
        device: DeviceId,
        bytes: u64,
        is_shareable: bool,
    ) -> DriverResult<Arc<PhysicalMemory>> {
        let device = self.device(call, device)?;
        if bytes == 0 || !bytes.is_multiple_of(VIRTUAL_GRANULARITY) {
            return Err(invalid(call, format!("{bytes} bytes of physical memory")));
        }
        device.space.count_allocated(bytes).map_err(|error| memory_error(call, &error))?;
        let made = self.virtual_memory.physical.make(device.id, bytes, is_shareable, &device.space);
        made.map(Arc::new).map_err(|error| {
            device.space.count_freed(bytes);
            DriverError::with_detail(call, ErrorCode::OUT_OF_MEMORY, format!("physical memory: {error}"))
        })
    }

    /// Takes physical memory that was [exported](PhysicalMemory::export), perhaps by another process, for a device. It does not count
    /// as allocated.
    ///
    /// # Errors
    /// `INVALID_VALUE` for a descriptor of something else.
    pub fn import_physical(
        &self,
        call: &'static str,
        device: DeviceId,
        descriptor: OwnedFd,
    ) -> DriverResult<Arc<PhysicalMemory>> {
        let device = self.device(call, device)?.id;
        let imported = PhysicalMemory::import(device, descriptor);
        imported.map(Arc::new).map_err(|error| invalid(call, error.to_string()))
    }

    /// Reserves `bytes` addresses, at the address `wanted` if that is possible. They need no memory.
    ///
    /// # Errors
    /// `INVALID_VALUE` if `bytes` is 0 or not a multiple of [`VIRTUAL_GRANULARITY`], or `alignment` neither 0 nor a power of
    /// two; `OUT_OF_MEMORY` if there are not as many addresses.
    pub fn reserve_addresses(
        &self,
        call: &'static str,
        bytes: u64,
        alignment: u64,
        wanted: DevicePtr,
    ) -> DriverResult<DevicePtr> {
        if bytes == 0
            || !bytes.is_multiple_of(VIRTUAL_GRANULARITY)
            || !(alignment == 0 || alignment.is_power_of_two())
        {
            return Err(invalid(call, format!("{bytes} addresses that are aligned to {alignment}")));
        }
        let mut state = lock(&self.virtual_memory.state);
        let Some(base) = state.find(bytes, alignment.max(1), wanted.0) else {
            let detail = format!("{bytes} addresses are not free");
            return Err(DriverError::with_detail(call, ErrorCode::OUT_OF_MEMORY, detail));
        };
        let ranges = self.devices.iter().map(|_| None).collect();
        state.reservations.insert(base, Reservation { base, bytes, mappings: BTreeMap::new(), ranges });
        state.next = base + bytes + AddressSpace::VIRTUAL_GUARD;
        self.devices.iter().for_each(|device| device.space.reserve(base, bytes));
        Ok(DevicePtr(base))
    }

    /// Frees the reserved addresses that begin at `address`.
    ///
    /// # Errors
    /// `INVALID_VALUE` if none begin there; `NOT_READY` if memory is still mapped to them.
    pub fn free_addresses(&self, call: &'static str, address: DevicePtr) -> DriverResult<()> {
        let mut state = lock(&self.virtual_memory.state);
        match state.reservations.get(&address.0) {
            None => return Err(invalid(call, format!("no reserved addresses begin at {address}"))),
            Some(found) if !found.mappings.is_empty() => {
                let detail = format!("memory is mapped to the addresses from {address} on");
                return Err(DriverError::with_detail(call, ErrorCode::NOT_READY, detail));
            }
            Some(_) => {}
        }
        self.devices.iter().for_each(|device| device.space.unreserve(address.0));
        state.reservations.remove(&address.0);
        Ok(())
    }

    /// Maps the first `bytes` bytes of physical memory to reserved addresses. No device may access it there before
    /// [`set_virtual_access`](Self::set_virtual_access).
    ///
    /// # Errors
    /// `INVALID_VALUE` if the addresses are not reserved, have memory already or are not whole pages, or the memory has not as many
    /// bytes.
    pub fn map_physical(
        &self,
        call: &'static str,
        address: DevicePtr,
        bytes: u64,
        memory: &Arc<PhysicalMemory>,
    ) -> DriverResult<()> {
        let DevicePtr(address) = address;
        if bytes == 0 || bytes > memory.bytes() || !(address | bytes).is_multiple_of(VIRTUAL_GRANULARITY) {
            let detail = format!("{bytes} of {} bytes of physical memory at {address:#x}", memory.bytes());
            return Err(invalid(call, detail));
        }
        let mut state = lock(&self.virtual_memory.state);
        let found = state.with(address).filter(|found| found.contains(address, bytes));
        let found = found.ok_or_else(|| not_reserved(call, address, bytes))?;
        let before = found.mappings.range(..address + bytes).next_back();
        if let Some((base, mapping)) = before.filter(|(base, mapping)| *base + mapping.bytes > address) {
            let end = base + mapping.bytes;
            return Err(invalid(call, format!("memory is mapped to {base:#x}..{end:#x} already")));
        }
        let access = vec![VirtualAccess::None; self.devices.len()];
        found.mappings.insert(address, Mapping { bytes, memory: Arc::clone(memory), access });
        Ok(())
    }

    /// Takes off all that is mapped to some addresses, which are whole mappings, one after the other. Work that is not waited for
    /// before has other memory there.
    ///
    /// # Errors
    /// `INVALID_VALUE` if the addresses are not those of whole mappings.
    pub fn unmap_physical(&self, call: &'static str, address: DevicePtr, bytes: u64) -> DriverResult<()> {
        let mut state = lock(&self.virtual_memory.state);
        let found = state.with(address.0).ok_or_else(|| not_reserved(call, address.0, bytes))?;
        let whole = found.whole(address.0, bytes).ok_or_else(|| not_whole(call, address.0, bytes))?;
        for device in &self.devices {
            let hidden = found.set(device, &whole, VirtualAccess::None);
            hidden.map_err(|error| memory_error(call, &error))?;
        }
        let bases: Vec<u64> = found.mappings.range(whole).map(|(base, _)| *base).collect();
        let taken: Vec<Mapping> = bases.iter().filter_map(|base| found.mappings.remove(base)).collect();
        drop(state);
        // It may be the last owner of the memory.
        drop(taken);
        Ok(())
    }

    /// Says what a device may do with the memory at some addresses, which are those of whole mappings, one after the other. Where
    /// the device may do less than before, this waits for its work.
    ///
    /// # Errors
    /// `INVALID_VALUE` if the addresses are not those of whole mappings, or the host can't map them; `INVALID_DEVICE`.
    pub fn set_virtual_access(
        &self,
        call: &'static str,
        address: DevicePtr,
        bytes: u64,
        device: DeviceId,
        access: VirtualAccess,
    ) -> DriverResult<()> {
        let device = self.any_device(call, device)?;
        let failed = |error| memory_error(call, &error);
        let whole = {
            let mut state = lock(&self.virtual_memory.state);
            let found = state.with(address.0).ok_or_else(|| not_reserved(call, address.0, bytes))?;
            let whole = found.whole(address.0, bytes).ok_or_else(|| not_whole(call, address.0, bytes))?;
            found.set(device, &whole, access).map_err(failed)?;
            whole
        };
        if access != VirtualAccess::Read {
            return Ok(());
        }
        // What began before does not expect that a write is refused.
        device.drain(call)?;
        let mut state = lock(&self.virtual_memory.state);
        match state.with(address.0) {
            Some(found) => found.protect(device, &whole).map_err(failed),
            None => Ok(()),
        }
    }

    /// Returns what a device may do at an address; `None` if nothing is mapped there.
    pub fn virtual_access(&self, device: DeviceId, address: DevicePtr) -> Option<VirtualAccess> {
        let mut state = lock(&self.virtual_memory.state);
        let (_, mapping) = state.with(address.0)?.mapping(address.0)?;
        mapping.access.get(device.0 as usize).copied()
    }

    /// Returns the devices that may access some of the memory at some addresses.
    pub fn virtual_accessors(&self, address: DevicePtr, bytes: u64) -> Vec<DeviceId> {
        let mut state = lock(&self.virtual_memory.state);
        let Some(found) = state.with(address.0) else { return Vec::new() };
        let end = address.0.saturating_add(bytes);
        let can = |index: usize| {
            let mut all = found.mappings.range(address.0..end);
            all.any(|(_, mapping)| mapping.access[index] != VirtualAccess::None)
        };
        self.devices.iter().map(|device| device.id).filter(|device| can(device.0 as usize)).collect()
    }

    /// Returns whether a device may access all of the memory at some addresses.
    pub fn can_access(&self, device: DeviceId, address: DevicePtr, bytes: u64) -> bool {
        let found = self.devices.get(device.0 as usize).and_then(|device| device.space.lookup(address.0));
        found.is_some_and(|found| bytes <= found.len - (address.0 - found.base))
    }
}
