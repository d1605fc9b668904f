//! The memory that the program allocated, by address.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::{Arc, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

use hip_driver::{DeviceId, DevicePtr, PinnedAllocation, RawModule};

use crate::abi::{Address, HipResult, Status};
use crate::process::Process;

/// How memory was allocated, which decides how it is freed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// `hipMalloc`.
    Device,
    /// `hipMallocAsync`, from the pool with this handle.
    Pool(u64),
    /// A variable of a module.
    Variable(RawModule),
    /// `hipHostMalloc`.
    Host,
    /// `hipHostRegister`.
    Registered,
    /// `hipMallocManaged`.
    Managed,
    /// A `__managed__` variable.
    ManagedVariable,
    /// Of a graph's node.
    Graph,
    /// Of an array, a texture or a surface.
    Image,
    /// Another process's, from `hipIpcOpenMemHandle`.
    Opened,
    /// Mapped by `hipMemMap`: physical memory with this handle.
    Virtual(u64),
}

/// An allocation.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Allocation {
    /// The first byte: for pinned memory the host's address, else the device's.
    pub(crate) base: u64,
    pub(crate) bytes: usize,
    /// The device that was current when it was allocated, or the device that it is on.
    pub(crate) device: DeviceId,
    pub(crate) kind: Kind,
    /// The flags with which it was allocated.
    pub(crate) flags: u32,
    /// For memory that the host can access.
    pub(crate) pinned: Option<PinnedAllocation>,
}

/// Where an address is.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Place {
    /// In memory of the host that no call has pinned, as far as is known.
    Pageable,
    /// In memory that the host and all devices can access, at this address of devices.
    Pinned(DevicePtr),
    /// In memory of a device.
    Device(DeviceId),
}

impl Allocation {
    pub(crate) fn device(ptr: DevicePtr, bytes: usize, device: DeviceId, kind: Kind) -> Allocation {
        Allocation { base: ptr.0, bytes, device, kind, flags: 0, pinned: None }
    }

    pub(crate) fn host(pinned: PinnedAllocation, device: DeviceId, kind: Kind, flags: u32) -> Allocation {
        let base = pinned.host.as_ptr().expose_provenance() as u64;
        Allocation { base, bytes: pinned.bytes, device, kind, flags, pinned: Some(pinned) }
    }

    /// Whether hosts and devices access it as one (`hipMallocManaged`, `__managed__`).
    pub(crate) fn is_managed(&self) -> bool {
        matches!(self.kind, Kind::Managed | Kind::ManagedVariable)
    }

    pub(crate) fn range(&self) -> Range<u64> {
        self.base..self.base + self.bytes as u64
    }

    /// The address for kernels of an address in it.
    pub(crate) fn device_address(&self, address: u64) -> DevicePtr {
        match &self.pinned {
            Some(pinned) => pinned.device.offset(address - self.base),
            None => DevicePtr(address),
        }
    }
}

/// What a device's memory is allocated by, in bytes.
const PAGE: usize = 4096;

/// The live allocations.
#[derive(Default)]
pub(crate) struct Allocations(RwLock<BTreeMap<u64, Arc<Allocation>>>);

/// What the program has allocated.
pub(crate) static ALLOCATIONS: Allocations = Allocations(RwLock::new(BTreeMap::new()));

impl Allocations {
    pub(crate) fn insert(&self, allocation: Allocation) {
        self.write().insert(allocation.base, Arc::new(allocation));
    }

    /// Returns the allocation that has the byte at an address.
    #[inline]
    pub(crate) fn find(&self, address: u64) -> Option<Arc<Allocation>> {
        let live = self.read();
        let (_, found) = live.range(..=address).next_back()?;
        (address - found.base < found.bytes as u64).then(|| Arc::clone(found))
    }

    /// Removes the allocation that begins at an address, if `wanted` agrees.
    pub(crate) fn take(&self, base: u64, wanted: impl Fn(Kind) -> bool) -> Option<Arc<Allocation>> {
        let mut live = self.write();
        live.get(&base).filter(|found| wanted(found.kind))?;
        live.remove(&base)
    }

    /// Removes and returns what is mapped to some addresses.
    pub(crate) fn take_virtual(&self, addresses: Range<u64>) -> Vec<Arc<Allocation>> {
        let mut live = self.write();
        let mapped = live.range(addresses).filter(|(_, found)| matches!(found.kind, Kind::Virtual(_)));
        let bases: Vec<u64> = mapped.map(|(base, _)| *base).collect();
        bases.iter().filter_map(|base| live.remove(base)).collect()
    }

    pub(crate) fn remove_where(&self, unwanted: impl Fn(&Kind) -> bool) {
        self.write().retain(|_, allocation| !unwanted(&allocation.kind));
    }

    /// Removes and returns the allocations of a device that programs free.
    pub(crate) fn take_of_device(&self, device: DeviceId) -> Vec<Arc<Allocation>> {
        let mut live = self.write();
        let goes = |found: &Allocation| {
            found.device == device
                && matches!(found.kind, Kind::Device | Kind::Pool(_) | Kind::Host | Kind::Managed)
        };
        let bases: Vec<u64> = live.iter().filter(|(_, found)| goes(found)).map(|(base, _)| *base).collect();
        bases.iter().filter_map(|base| live.remove(base)).collect()
    }

    /// The bytes of the device's pages that its allocations occupy but do not use.
    pub(crate) fn padding(&self, device: DeviceId) -> u64 {
        let live = self.read();
        let on_device = live.values().filter(|found| {
            found.device == device
                && matches!(found.kind, Kind::Device | Kind::Pool(_) | Kind::Image)
                && found.pinned.is_none()
        });
        on_device.map(|found| (found.bytes.next_multiple_of(PAGE) - found.bytes) as u64).sum()
    }

    fn read(&self) -> RwLockReadGuard<'_, BTreeMap<u64, Arc<Allocation>>> {
        self.0.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn write(&self) -> RwLockWriteGuard<'_, BTreeMap<u64, Arc<Allocation>>> {
        self.0.write().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Process {
    /// Says where the `bytes` bytes at an address are. Fails with `INVALID_VALUE` if only a part of them is in an
    /// allocation.
    #[inline]
    pub(crate) fn place(&self, address: Address, bytes: usize) -> HipResult<Place> {
        let Some(found) = ALLOCATIONS.find(address.0) else { return Ok(self.unknown_place(address)) };
        if let Kind::Virtual(_) = found.kind {
            return self.virtual_place(found.device, address, bytes);
        }
        if bytes as u64 > found.range().end - address.0 {
            return Err(Status::INVALID_VALUE);
        }
        Ok(match found.pinned {
            Some(_) => Place::Pinned(found.device_address(address.0)),
            None => Place::Device(found.device),
        })
    }

    /// As [`place`](Self::place), for bytes that are accessed now: fails, too, for an address of a device where nothing is
    /// allocated, such as that of freed memory.
    #[inline]
    pub(crate) fn accessed_place(&self, address: Address, bytes: usize) -> HipResult<Place> {
        match self.place(address, bytes)? {
            Place::Pageable if hip_driver_emulated::is_device_address(address.0) => {
                Err(Status::INVALID_VALUE)
            }
            place => Ok(place),
        }
    }

    /// Says whether an allocation is fine-grained, which decides what floating-point atomics do there.
    pub(crate) fn set_fine_grained(&self, device: DeviceId, ptr: DevicePtr, is_fine: bool) -> HipResult {
        Ok(self.driver.set_fine_grained(device, ptr, is_fine)?)
    }

    /// Says where an address is that is in no allocation of the program: kernels can pass on addresses of other memory,
    /// such as that of their `malloc` or of a module's variables.
    fn unknown_place(&self, address: Address) -> Place {
        let owner = self.driver.device_of_pointer(DeviceId(0), DevicePtr(address.0));
        owner.map_or(Place::Pageable, Place::Device)
    }
}
