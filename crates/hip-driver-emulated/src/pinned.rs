//! Pinned host memory. Whether memory is pinned decides when a copy reads or writes it, and whether the call waits.

use std::collections::BTreeMap;
use std::ptr::NonNull;
use std::sync::{PoisonError, RwLock};

use memmap2::MmapMut;

use hip_driver::{DevicePtr, DriverError, DriverResult, ErrorCode, PinnedAllocation};

/// Addresses behind each allocation that no other one has, so that accesses shortly past its end fault, as for memory of
/// devices. They need no memory.
const GUARD: usize = 64 << 10;

/// Allocations of at least this many bytes have large pages.
#[cfg(target_os = "linux")]
const LARGE: usize = 4 << 20;

/// Who owns pinned memory.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Owner {
    /// The driver, which allocated it for the host and frees it.
    Driver,
    /// The driver, which allocated it as managed memory and frees it.
    Managed,
    /// The caller, which registered it.
    Caller,
}

impl Owner {
    /// Returns the code of an attempt to unpin memory that is not of this owner.
    pub(super) fn unknown(self) -> ErrorCode {
        match self {
            Owner::Driver | Owner::Managed => ErrorCode::INVALID_VALUE,
            Owner::Caller => ErrorCode::HOST_MEMORY_NOT_REGISTERED,
        }
    }
}

/// One range of pinned memory.
pub(super) struct Memory {
    host: NonNull<u8>,
    bytes: usize,
    owner: Owner,
    /// The driver's own memory: whole pages, like HIP's. Unmapped when it is dropped. `None` for the caller's.
    _own: Option<MmapMut>,
}

// SAFETY: the memory is accessed through the addresses that the driver gave out, by the contracts of its calls; a
// `Memory` only unmaps it when it is dropped, which any thread may do.
unsafe impl Send for Memory {}
// SAFETY: a shared `Memory` only gives its address and length.
unsafe impl Sync for Memory {}

impl Memory {
    /// Returns the address, which is the same on the host and on devices.
    pub(super) fn address(&self) -> u64 {
        self.host.as_ptr().addr() as u64
    }
}

/// All pinned memory of a driver, by address.
#[derive(Default)]
pub(super) struct PinnedMemory {
    live: RwLock<BTreeMap<u64, Memory>>,
}

impl PinnedMemory {
    /// Allocates `bytes` bytes of zeroed memory, which begin at a page. The host provides pages when they are accessed.
    pub(super) fn allocate(
        &self,
        call: &'static str,
        bytes: usize,
        owner: Owner,
    ) -> DriverResult<PinnedAllocation> {
        let mapped = bytes.checked_add(GUARD).filter(|mapped| bytes != 0 && isize::try_from(*mapped).is_ok());
        let Some(mapped) = mapped else {
            let detail = format!("an allocation of {bytes} bytes");
            return Err(DriverError::with_detail(call, ErrorCode::INVALID_VALUE, detail));
        };
        let out_of_memory = || {
            let detail = format!("{bytes} bytes of pinned host memory");
            DriverError::with_detail(call, ErrorCode::OUT_OF_MEMORY, detail)
        };
        let mut map = MmapMut::map_anon(mapped).map_err(|_| out_of_memory())?;
        // The first accesses would take longer to get small pages than to fill them. A host without large pages provides
        // small ones.
        #[cfg(target_os = "linux")]
        if bytes >= LARGE {
            let _ = map.advise(memmap2::Advice::HugePage);
        }
        let host = NonNull::new(map.as_mut_ptr()).ok_or_else(out_of_memory)?;
        let memory = Memory { host, bytes, owner, _own: Some(map) };
        let device = DevicePtr(memory.address());
        self.live.write().unwrap_or_else(PoisonError::into_inner).insert(device.0, memory);
        Ok(PinnedAllocation { host, device, bytes })
    }

    /// Adds a range of the caller's memory.
    pub(super) fn register(
        &self,
        call: &'static str,
        pointer: *mut u8,
        bytes: usize,
    ) -> DriverResult<PinnedAllocation> {
        let error = |code, detail: String| DriverError::with_detail(call, code, detail);
        let Some(host) = NonNull::new(pointer).filter(|_| isize::try_from(bytes).is_ok()) else {
            return Err(error(ErrorCode::INVALID_VALUE, format!("{bytes} bytes at {pointer:?}")));
        };
        let memory = Memory { host, bytes, owner: Owner::Caller, _own: None };
        let device = DevicePtr(memory.address());
        let Some(end) = device.0.checked_add(bytes as u64).filter(|_| bytes > 0) else {
            return Err(error(ErrorCode::INVALID_VALUE, format!("{bytes} bytes at {pointer:?}")));
        };
        let mut live = self.live.write().unwrap_or_else(PoisonError::into_inner);
        if let Some((start, other)) = live.range(..end).next_back()
            && start + other.bytes as u64 > device.0
        {
            let detail = format!("{bytes} bytes at {pointer:?} meet pinned memory at {start:#x}");
            return Err(error(ErrorCode::HOST_MEMORY_ALREADY_REGISTERED, detail));
        }
        live.insert(device.0, memory);
        Ok(PinnedAllocation { host, device, bytes })
    }

    /// Returns whether all `bytes` bytes at `pointer` are in one live range.
    pub(super) fn contains(&self, pointer: *const u8, bytes: usize) -> bool {
        let address = pointer.addr() as u64;
        let live = self.live.read().unwrap_or_else(PoisonError::into_inner);
        live.range(..=address).next_back().is_some_and(|(start, memory)| {
            let offset = (address - start) as usize;
            offset < memory.bytes && bytes <= memory.bytes - offset
        })
    }

    /// Returns whether a live range of `owner` starts at `address`.
    pub(super) fn begins_at(&self, address: u64, owner: Owner) -> bool {
        let live = self.live.read().unwrap_or_else(PoisonError::into_inner);
        live.get(&address).is_some_and(|memory| memory.owner == owner)
    }

    /// Removes and returns the range that starts at `address`.
    pub(super) fn take(&self, address: u64) -> Option<Memory> {
        self.live.write().unwrap_or_else(PoisonError::into_inner).remove(&address)
    }

    /// Removes and returns all ranges.
    pub(super) fn drain(&self) -> Vec<Memory> {
        let live = &mut *self.live.write().unwrap_or_else(PoisonError::into_inner);
        std::mem::take(live).into_values().collect()
    }
}
