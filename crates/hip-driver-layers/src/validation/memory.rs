//! All live memory with its accesses, and memory that was freed recently.

use std::collections::{BTreeMap, VecDeque};
use std::fmt;

use hip_driver::{
    AccessRange, Call, DeviceId, DevicePtr, ObservedKind, Output, PinnedAllocation, RawModule, RawStream,
    Space,
};

use super::calls::{Checked, Held};
use super::pool::{FreedBlocks, PoolBlocks};
use super::ranges::Ranges;
use super::state::State;
use super::values::Values;
use super::violation::{ByteRange, Operation, Violation};

/// The number of freed pieces of memory that are kept, to tell a use after free from an unknown address.
pub(super) const REMEMBERED: usize = 1024;

/// The origin of memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum MemoryKind {
    /// Memory of `malloc`.
    Device,
    /// Memory of `malloc_async`.
    StreamOrdered,
    /// Memory of `host_malloc`.
    Pinned,
    /// Memory of the caller that `host_register` pinned.
    Registered,
    /// A global variable of a module.
    Global,
    /// A pool block inside a pool segment.
    Pooled,
    /// Managed memory.
    Managed,
    /// Memory that other processes may open.
    Shared,
    /// Another process's memory, opened here.
    Opened,
    /// Memory that somebody else allocated and a program borrows.
    Borrowed,
}

impl MemoryKind {
    /// Returns whether it is host memory.
    const fn is_host(self) -> bool {
        matches!(self, MemoryKind::Pinned | MemoryKind::Registered)
    }
}

impl fmt::Display for MemoryKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            MemoryKind::Device => "device allocation",
            MemoryKind::StreamOrdered => "stream-ordered allocation",
            MemoryKind::Pinned => "pinned allocation",
            MemoryKind::Registered => "registered memory",
            MemoryKind::Global => "module global",
            MemoryKind::Pooled => "pool block",
            MemoryKind::Managed => "managed memory",
            MemoryKind::Shared => "shared memory",
            MemoryKind::Opened => "opened memory",
            MemoryKind::Borrowed => "borrowed memory",
        })
    }
}

/// A piece of memory that is or was live.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MemoryInfo {
    /// The origin of the memory.
    pub kind: MemoryKind,
    /// The device to which the memory belongs.
    pub device: DeviceId,
    /// The address of the first byte: the device's address, or for pinned memory the host's.
    pub address: u64,
    /// The length in bytes.
    pub bytes: u64,
    /// The number of this memory among all that the layer has seen, from 1. It distinguishes memory at equal addresses.
    pub number: u64,
}

impl fmt::Display for MemoryInfo {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let MemoryInfo { kind, device, address, bytes, number } = self;
        write!(f, "{kind} no. {number} ({bytes} bytes at {address:#x} of {device})")
    }
}

/// A piece of live memory.
#[derive(Debug)]
pub(super) struct Region {
    pub(super) memory: MemoryInfo,
    /// How many addresses it has: more than bytes, if it is a segment of a pool that separates its blocks.
    pub(super) span: u64,
    /// How often it is borrowed, beyond the first time.
    borrows: u32,
    /// The address for kernels. It differs from `memory.address` only for pinned memory.
    device_address: u64,
    module: Option<RawModule>,
    /// The live pool blocks in it, if it is a pool segment.
    pub(super) blocks: Option<PoolBlocks>,
    /// By bytes, not by blocks: work that used a freed block still counts for the next block with these bytes.
    pub(super) accesses: Ranges,
    pub(super) values: Values,
}

impl Region {
    pub(super) fn key(&self) -> RegionKey {
        match self.memory.kind {
            kind if kind.is_host() => RegionKey::Pinned(self.memory.address),
            _ => RegionKey::Device(self.memory.device, self.memory.address),
        }
    }

    /// Describes bytes of the region for a message: as bytes of a pool block if they lie in one.
    pub(super) fn name(&self, (start, end): (u64, u64)) -> (MemoryInfo, ByteRange) {
        match self.blocks.as_ref().and_then(|blocks| blocks.at(start)) {
            Some((at, block)) if end - at <= block.bytes => {
                (block, ByteRange { start: start - at, end: end - at })
            }
            _ => (self.memory, ByteRange { start, end }),
        }
    }
}

/// Memory that was freed.
#[derive(Clone, Copy, Debug)]
struct Freed {
    memory: MemoryInfo,
    /// Where kernels saw it.
    seen: u64,
    /// How many addresses it had.
    span: u64,
}

/// Identifies a region while it is live.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum RegionKey {
    /// The device, and the device address of its memory.
    Device(DeviceId, u64),
    /// The host address of pinned memory.
    Pinned(u64),
}

/// A region, and the range of an access in it: the offsets of its first byte and after its last byte.
pub(super) type FoundRange = (RegionKey, (u64, u64));

#[derive(Debug, Default)]
pub(super) struct Regions {
    /// Allocations and module globals, by device and first address.
    device: BTreeMap<(DeviceId, u64), Region>,
    /// Pinned memory by first host address, and that address by the device's address.
    pinned: BTreeMap<u64, Region>,
    pinned_by_device: BTreeMap<u64, u64>,
    peers: Vec<(DeviceId, DeviceId)>,
    freed: VecDeque<Freed>,
    pub(super) freed_blocks: FreedBlocks,
    made: u64,
}

impl Regions {
    /// Returns the number of the next memory.
    pub(super) fn next_number(&mut self) -> u64 {
        self.made += 1;
        self.made
    }

    fn region(
        &mut self,
        kind: MemoryKind,
        device: DeviceId,
        address: u64,
        seen: u64,
        bytes: usize,
    ) -> Region {
        let memory = MemoryInfo { kind, device, address, bytes: bytes as u64, number: self.next_number() };
        Region {
            memory,
            span: memory.bytes,
            borrows: 0,
            device_address: seen,
            module: None,
            blocks: None,
            accesses: Ranges::default(),
            values: Values::default(),
        }
    }

    pub(super) fn add_device(&mut self, kind: MemoryKind, device: DeviceId, ptr: DevicePtr, bytes: usize) {
        let region = self.region(kind, device, ptr.0, ptr.0, bytes);
        self.device.insert((device, ptr.0), region);
    }

    /// Memory that somebody else allocated, unless it is known.
    pub(super) fn add_borrowed(&mut self, device: DeviceId, ptr: DevicePtr, bytes: usize) {
        let known = self.device_at(device, ptr.0).or_else(|| self.pinned_at_device(ptr.0));
        match known.map(|region| (region.memory.kind, region.key())) {
            Some((MemoryKind::Borrowed, key)) => {
                if let Some(region) = self.get_mut(key) {
                    region.borrows += 1;
                    let end = ptr.0 + bytes as u64 - region.memory.address;
                    region.memory.bytes = region.memory.bytes.max(end);
                    region.span = region.memory.bytes;
                }
            }
            Some(_) => {}
            None if bytes > 0 => self.add_device(MemoryKind::Borrowed, device, ptr, bytes),
            None => {}
        }
    }

    /// Borrowed memory is given back.
    pub(super) fn return_borrowed(&mut self, device: DeviceId, ptr: DevicePtr) {
        let known = self.device_at(device, ptr.0).filter(|region| region.memory.kind == MemoryKind::Borrowed);
        let Some(key) = known.map(Region::key) else { return };
        let Some(region) = self.get_mut(key) else { return };
        match region.borrows {
            0 => drop(self.remove(key)),
            _ => region.borrows -= 1,
        }
    }

    /// Adds a global variable of a module. Adding it again has no effect.
    pub(super) fn add_global(&mut self, device: DeviceId, module: RawModule, ptr: DevicePtr, bytes: usize) {
        if bytes == 0 || self.device.contains_key(&(device, ptr.0)) {
            return;
        }
        let mut region = self.region(MemoryKind::Global, device, ptr.0, ptr.0, bytes);
        region.module = Some(module);
        self.device.insert((device, ptr.0), region);
    }

    /// Removes the global variables of a module.
    pub(super) fn remove_globals(&mut self, module: RawModule) -> Vec<Region> {
        let of_module = self.device.iter().filter(|(_, region)| region.module == Some(module));
        let keys: Vec<_> =
            of_module.map(|(&(device, address), _)| RegionKey::Device(device, address)).collect();
        keys.into_iter().filter_map(|key| self.remove(key)).collect()
    }

    pub(super) fn add_pinned(&mut self, kind: MemoryKind, device: DeviceId, pinned: &PinnedAllocation) {
        let host = pinned.host.as_ptr() as u64;
        let region = self.region(kind, device, host, pinned.device.0, pinned.bytes);
        self.pinned.insert(host, region);
        self.pinned_by_device.insert(pinned.device.0, host);
    }

    pub(super) fn add_peer(&mut self, device: DeviceId, peer: DeviceId) {
        if !self.peers.contains(&(device, peer)) {
            self.peers.push((device, peer));
        }
    }

    /// Returns whether the host address is in pinned memory.
    pub(super) fn is_pinned(&self, ptr: *const u8) -> bool {
        self.pinned_at(ptr as u64).is_some()
    }

    /// Returns pinned memory that contains bytes of a host range.
    fn pinned_in(&self, address: u64, bytes: u64) -> Option<MemoryInfo> {
        let (_, region) = self.pinned.range(..address.saturating_add(bytes)).next_back()?;
        (region.memory.address + region.memory.bytes > address).then_some(region.memory)
    }

    fn pinned_at(&self, address: u64) -> Option<&Region> {
        let (_, region) = self.pinned.range(..=address).next_back()?;
        (address - region.memory.address < region.memory.bytes).then_some(region)
    }

    fn device_at(&self, device: DeviceId, address: u64) -> Option<&Region> {
        let (_, region) = self.device.range((device, 0)..=(device, address)).next_back()?;
        (address - region.memory.address < region.span).then_some(region)
    }

    fn pinned_at_device(&self, address: u64) -> Option<&Region> {
        let (start, host) = self.pinned_by_device.range(..=address).next_back()?;
        let region = self.pinned.get(host)?;
        (address - start < region.memory.bytes).then_some(region)
    }

    fn of_other_device(&self, device: DeviceId, address: u64) -> Option<&Region> {
        // One search for each device with memory, not for each region.
        let mut from = (DeviceId(0), 0);
        while let Some(((other, _), _)) = self.device.range(from..).next() {
            if *other != device
                && let Some(region) = self.device_at(*other, address)
            {
                return Some(region);
            }
            from = (DeviceId(other.0.checked_add(1)?), 0);
        }
        None
    }

    pub(super) fn get_mut(&mut self, key: RegionKey) -> Option<&mut Region> {
        match key {
            RegionKey::Device(device, address) => self.device.get_mut(&(device, address)),
            RegionKey::Pinned(host) => self.pinned.get_mut(&host),
        }
    }

    /// Finds the memory of an access; `None` for an access of no bytes, and for host memory that is not pinned.
    pub(super) fn find(
        &self,
        call: ObservedKind,
        touch: &AccessRange,
    ) -> Result<Option<FoundRange>, Box<Violation>> {
        match self.locate(call, touch) {
            Ok(Some((region, offset))) => self.range_in(call, region, offset, touch).map(Some),
            Ok(None) => Ok(None),
            Err(violation) => Err(self.freed_blocks.name_in(violation)),
        }
    }

    /// Like [`find`](Regions::find), for enqueued work. One byte stands for an address among a kernel's arguments, of which
    /// nothing else is known: the kernel may only store one that no call has returned, such as an address of the host.
    pub(super) fn find_of_work(
        &self,
        call: ObservedKind,
        is_kernel: bool,
        touch: &AccessRange,
    ) -> Result<Option<FoundRange>, Box<Violation>> {
        match self.find(call, touch) {
            Err(violation)
                if is_kernel
                    && touch.bytes == 1
                    && matches!(*violation, Violation::UnknownAddress { .. }) =>
            {
                Ok(None)
            }
            found => found,
        }
    }

    /// Like [`find`](Regions::find), for a node of a graph: its host memory must be pinned.
    pub(super) fn find_for_node(
        &self,
        call: ObservedKind,
        touch: &AccessRange,
    ) -> Result<Option<FoundRange>, Box<Violation>> {
        let AccessRange { space, address, bytes, .. } = *touch;
        let found = self.find(call, touch)?;
        if found.is_some() || bytes == 0 || space != Space::Host {
            return Ok(found);
        }
        let holds = |Freed { memory, .. }: &&Freed| {
            memory.kind.is_host()
                && address.checked_sub(memory.address).is_some_and(|offset| offset < memory.bytes)
        };
        Err(Box::new(match self.freed.iter().rev().find(holds) {
            Some(Freed { memory, .. }) => Violation::use_after_free(call, address, *memory),
            None => Violation::NotPinned { call, address, bytes },
        }))
    }

    /// Returns the region that contains the first byte of an access, and that byte's offset; `None` as for
    /// [`find`](Regions::find). Does not check which parts of the region may be accessed.
    pub(super) fn locate(
        &self,
        call: ObservedKind,
        touch: &AccessRange,
    ) -> Result<Option<(&Region, u64)>, Box<Violation>> {
        let AccessRange { space, address, bytes, .. } = *touch;
        if bytes == 0 {
            return Ok(None);
        }
        let device = match space {
            Space::Device(device) => device,
            Space::Host => {
                return Ok(self.pinned_at(address).map(|region| (region, address - region.memory.address)));
            }
        };
        if let Some(region) = self.device_at(device, address).or_else(|| self.pinned_at_device(address)) {
            return Ok(Some((region, address - region.device_address)));
        }
        if let Some(region) = self.of_other_device(device, address) {
            if self.peers.contains(&(device, region.memory.device)) {
                return Ok(Some((region, address - region.device_address)));
            }
            let memory = region.memory;
            return Err(Box::new(Violation::other_device(call, address, memory, device)));
        }
        if let Some(memory) = self.freed_at(device, address) {
            return Err(Box::new(Violation::use_after_free(call, address, memory)));
        }
        let nearest = self.device.range((device, 0)..(device, address)).next_back().map(|(_, r)| r.memory);
        Err(Box::new(Violation::unknown_address(call, device, address, bytes, nearest)))
    }

    /// Like [`locate`](Regions::locate), for operations on memory that peers may not do, such as freeing it.
    pub(super) fn own(
        &self,
        call: ObservedKind,
        touch: &AccessRange,
        device: DeviceId,
    ) -> Result<(&Region, u64), Box<Violation>> {
        let AccessRange { address, bytes, .. } = *touch;
        match self.locate(call, touch)? {
            Some((region, _)) if !region.memory.kind.is_host() && region.memory.device != device => {
                let memory = region.memory;
                Err(Box::new(Violation::other_device(call, address, memory, device)))
            }
            Some(found) => Ok(found),
            None => Err(Box::new(Violation::unknown_address(call, device, address, bytes, None))),
        }
    }

    /// Returns the range of an access in the region that contains its first byte, at `offset`. In a pool segment, it
    /// must lie in one live block.
    fn range_in(
        &self,
        call: ObservedKind,
        region: &Region,
        offset: u64,
        touch: &AccessRange,
    ) -> Result<FoundRange, Box<Violation>> {
        let AccessRange { address, bytes, .. } = *touch;
        let (start, memory) = match &region.blocks {
            None => (0, region.memory),
            Some(blocks) => blocks.at(offset).ok_or_else(|| {
                let device = region.memory.device;
                Box::new(match self.freed_blocks.holding(device, address) {
                    Some(memory) => Violation::use_after_free(call, address, memory),
                    None => {
                        let nearest = blocks.before(offset);
                        Violation::unknown_address(call, device, address, bytes, nearest)
                    }
                })
            })?,
        };
        let room = memory.bytes - (offset - start);
        if bytes > room {
            return Err(Box::new(Violation::out_of_range(call, address, bytes, room, memory)));
        }
        Ok((region.key(), (offset, offset + bytes)))
    }

    /// Returns the latest freed memory that contained the device address, including pinned memory.
    fn freed_at(&self, device: DeviceId, address: u64) -> Option<MemoryInfo> {
        let holds = |Freed { memory, seen, span }: &&Freed| {
            (memory.device == device || memory.kind.is_host())
                && address.checked_sub(*seen).is_some_and(|offset| offset < *span)
        };
        self.freed.iter().rev().find(holds).map(|freed| freed.memory)
    }

    /// Returns the region that a free of device memory frees.
    pub(super) fn find_to_free(
        &self,
        call: ObservedKind,
        kinds: &[MemoryKind],
        device: DeviceId,
        ptr: DevicePtr,
    ) -> Result<RegionKey, Box<Violation>> {
        match self.own(call, &AccessRange::device(device, ptr, 1, true), device) {
            Ok((region, 0)) if kinds.contains(&region.memory.kind) => {
                match region.blocks.as_ref().map_or(0, PoolBlocks::len) {
                    0 => Ok(region.key()),
                    blocks => Err(Box::new(Violation::SegmentFreed { call, memory: region.memory, blocks })),
                }
            }
            Ok((region, offset)) => {
                let (memory, _) = region.name((offset, offset + 1));
                Err(Box::new(Violation::WrongFree { call, address: ptr.0, memory }))
            }
            Err(violation) => Err(match *violation {
                Violation::UseAfterFree { memory, address, .. } if memory.address == address => {
                    Box::new(Violation::DoubleFree { call, memory })
                }
                _ => violation,
            }),
        }
    }

    /// Returns the region that a free of pinned memory frees.
    pub(super) fn find_pinned_to_free(
        &self,
        call: ObservedKind,
        kind: MemoryKind,
        device: DeviceId,
        pinned: &PinnedAllocation,
    ) -> Result<RegionKey, Box<Violation>> {
        let address = pinned.host.as_ptr() as u64;
        let Some(region) = self.pinned_at(address) else {
            let freed = |Freed { memory, .. }: &&Freed| memory.kind.is_host() && memory.address == address;
            return Err(Box::new(match self.freed.iter().rev().find(freed) {
                Some(Freed { memory, .. }) => Violation::DoubleFree { call, memory: *memory },
                None => {
                    let bytes = pinned.bytes as u64;
                    Violation::unknown_address(call, device, address, bytes, None)
                }
            }));
        };
        let memory = region.memory;
        if memory.device != device {
            return Err(Box::new(Violation::other_device(call, address, memory, device)));
        }
        let same = memory.kind == kind
            && memory.address == address
            && memory.bytes == pinned.bytes as u64
            && region.device_address == pinned.device.0;
        if same {
            Ok(RegionKey::Pinned(address))
        } else {
            Err(Box::new(Violation::WrongFree { call, address, memory }))
        }
    }

    pub(super) fn memory(&self, key: RegionKey) -> Option<MemoryInfo> {
        match key {
            RegionKey::Device(device, address) => self.device.get(&(device, address)),
            RegionKey::Pinned(host) => self.pinned.get(&host),
        }
        .map(|region| region.memory)
    }

    /// Removes a region, which then counts as freed.
    pub(super) fn remove(&mut self, key: RegionKey) -> Option<Region> {
        let region = match key {
            RegionKey::Device(device, address) => self.device.remove(&(device, address)),
            RegionKey::Pinned(host) => {
                let region = self.pinned.remove(&host);
                if let Some(region) = &region {
                    self.pinned_by_device.remove(&region.device_address);
                }
                region
            }
        }?;
        if self.freed.len() == REMEMBERED {
            self.freed.pop_front();
        }
        self.freed.push_back(Freed { memory: region.memory, seen: region.device_address, span: region.span });
        Some(region)
    }

    /// Adds a region again, as its free failed.
    pub(super) fn put_back(&mut self, region: Region) {
        self.freed.retain(|freed| freed.memory.number != region.memory.number);
        let MemoryInfo { kind, device, address, .. } = region.memory;
        if kind.is_host() {
            self.pinned_by_device.insert(region.device_address, address);
            self.pinned.insert(address, region);
        } else {
            self.device.insert((device, address), region);
        }
    }

    /// Returns all live memory that must be freed. After a pool segment come its live blocks.
    pub(super) fn owned(&self) -> impl Iterator<Item = MemoryInfo> + '_ {
        let regions = self.device.values().chain(self.pinned.values());
        let owned =
            regions.filter(|region| !matches!(region.memory.kind, MemoryKind::Global | MemoryKind::Borrowed));
        owned.flat_map(|region| {
            std::iter::once(region.memory).chain(region.blocks.iter().flat_map(PoolBlocks::iter))
        })
    }
}

/// What [`Call::Free`] frees.
const FREED: [MemoryKind; 3] = [MemoryKind::Device, MemoryKind::Managed, MemoryKind::Shared];

impl State {
    /// Checks a call about memory, and removes what it is about to free. Accepts every other call.
    pub(super) fn before_memory(&mut self, call: &Call<'_>) -> Checked<Held> {
        let kind = call.kind().into();
        Ok(match *call {
            Call::Malloc { bytes, .. }
            | Call::HostMalloc { bytes, .. }
            | Call::MallocManaged { bytes, .. }
            | Call::MallocShared { bytes, .. } => nonzero(kind, bytes)?,
            Call::MallocAsync { device, bytes, stream } => {
                nonzero(kind, bytes)?;
                self.slot_of(kind, device, stream)?;
                Held::Nothing
            }
            // Null is no memory, and drivers accept it, as C's `free` does.
            Call::Free { ptr: DevicePtr::NULL, .. } => Held::Nothing,
            Call::Free { device, ptr } => {
                let key = self.regions.find_to_free(kind, &FREED, device, ptr)?;
                Held::Region(self.regions.remove(key), Some(self.order.snapshot_device(device)))
            }
            Call::FreeAsync { device, ptr, stream } => {
                self.slot_of(kind, device, stream)?;
                if ptr.is_null() {
                    return Ok(Held::Nothing);
                }
                let key = self.regions.find_to_free(kind, &[MemoryKind::StreamOrdered], device, ptr)?;
                self.remove_in_order(kind, key, Some(stream))
            }
            Call::HostFree { device, ref allocation } => {
                let key = self.regions.find_pinned_to_free(kind, MemoryKind::Pinned, device, allocation)?;
                // "Performs an implicit hipDeviceSynchronize() call" (hip_runtime_api.h on hipHostFree).
                Held::Region(self.regions.remove(key), Some(self.order.snapshot_device(device)))
            }
            Call::HostRegister { ptr, bytes, .. } => {
                let (address, bytes) = (ptr.addr() as u64, bytes as u64);
                match self.regions.pinned_in(address, bytes) {
                    Some(live) => {
                        return Err(Box::new(Violation::LiveOverlap { call: kind, address, bytes, live }));
                    }
                    None => nonzero(kind, bytes as usize)?,
                }
            }
            // Closing waits for nothing.
            Call::IpcClose { device, ptr } => {
                let key = self.regions.find_to_free(kind, &[MemoryKind::Opened], device, ptr)?;
                self.remove_in_order(kind, key, None)
            }
            Call::HostUnregister { device, ref allocation } => {
                let key =
                    self.regions.find_pinned_to_free(kind, MemoryKind::Registered, device, allocation)?;
                self.remove_in_order(kind, key, None)
            }
            _ => Held::Nothing,
        })
    }

    /// Removes a region that a call frees without waiting. Reports work that may still use it.
    fn remove_in_order(&mut self, call: ObservedKind, key: RegionKey, stream: Option<RawStream>) -> Held {
        self.free_in_flight(call, key, stream);
        Held::Region(self.regions.remove(key), None)
    }

    /// Records the effects of a call about memory.
    pub(super) fn after_memory(&mut self, call: &Call<'_>, output: Output, held: Held) {
        match (*call, output, held) {
            (Call::Malloc { device, bytes }, Output::Memory(ptr), _) => {
                self.regions.add_device(MemoryKind::Device, device, ptr, bytes);
            }
            (Call::MallocAsync { device, bytes, stream }, Output::Memory(ptr), _) => {
                self.regions.add_device(MemoryKind::StreamOrdered, device, ptr, bytes);
                // The memory exists from this point of the stream on, as if this work had written all of it.
                let all = AccessRange::device(device, ptr, bytes, true);
                self.commit(Operation::of(call.kind()), device, stream, [all].into_iter());
            }
            (Call::HostMalloc { device, .. }, Output::Pinned(pinned), _) => {
                self.regions.add_pinned(MemoryKind::Pinned, device, &pinned)
            }
            (Call::HostRegister { device, .. }, Output::Pinned(pinned), _) => {
                self.regions.add_pinned(MemoryKind::Registered, device, &pinned);
            }
            (Call::MallocManaged { device, bytes }, Output::Memory(ptr), _) => {
                self.regions.add_device(MemoryKind::Managed, device, ptr, bytes);
            }
            (Call::MallocShared { device, bytes }, Output::Memory(ptr), _) => {
                self.regions.add_device(MemoryKind::Shared, device, ptr, bytes);
            }
            (Call::IpcOpen { device, bytes, .. }, Output::Memory(ptr), _) => {
                self.regions.add_device(MemoryKind::Opened, device, ptr, bytes);
            }
            (_, _, Held::Region(_, Some(seen))) => self.order.host_learns(&seen),
            _ => {}
        }
    }
}

fn nonzero(call: ObservedKind, bytes: usize) -> Checked<Held> {
    if bytes == 0 { Err(Box::new(Violation::ZeroBytes { call })) } else { Ok(Held::Nothing) }
}
