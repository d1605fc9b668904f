//! Pinned host memory. Whether memory is pinned decides when a copy reads or writes it, and whether the call waits.

use std::alloc::{Layout, alloc_zeroed, dealloc};
use std::collections::BTreeMap;
use std::ptr::NonNull;
use std::sync::{PoisonError, RwLock};

use hip_driver::{DevicePtr, DriverError, DriverResult, ErrorCode, PinnedAllocation};

/// The alignment of pinned memory in bytes: a page, like HIP's.
const ALIGN: usize = 4096;

/// Who owns pinned memory.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Owner {
    /// The driver, which allocated it and frees it.
    Driver,
    /// The caller, which registered it.
    Caller,
}

impl Owner {
    /// Returns the code of an attempt to unpin memory that is not of this owner.
    pub(super) fn unknown(self) -> ErrorCode {
        match self {
            Owner::Driver => ErrorCode::INVALID_VALUE,
            Owner::Caller => ErrorCode::HOST_MEMORY_NOT_REGISTERED,
        }
    }
}

/// One range of pinned memory.
pub(super) struct Memory {
    host: NonNull<u8>,
    layout: Layout,
    owner: Owner,
}

// SAFETY: only the drop accesses the memory, and only if it owns it.
unsafe impl Send for Memory {}
// SAFETY: a shared `Memory` only gives its address and length.
unsafe impl Sync for Memory {}

impl Memory {
    /// Returns the address, which is the same on the host and on devices.
    pub(super) fn address(&self) -> u64 {
        self.host.as_ptr().addr() as u64
    }
}

impl Drop for Memory {
    fn drop(&mut self) {
        if self.owner == Owner::Driver {
            // SAFETY: allocated with this layout in `PinnedMemory::allocate`, and this is its only owner.
            unsafe { dealloc(self.host.as_ptr(), self.layout) }
        }
    }
}

/// All pinned memory of a driver, by address.
#[derive(Default)]
pub(super) struct PinnedMemory {
    live: RwLock<BTreeMap<u64, Memory>>,
}

impl PinnedMemory {
    /// Allocates `bytes` bytes of zeroed memory.
    pub(super) fn allocate(&self, call: &'static str, bytes: usize) -> DriverResult<PinnedAllocation> {
        let layout = Layout::from_size_align(bytes, ALIGN).ok().filter(|_| bytes != 0).ok_or_else(|| {
            let detail = format!("an allocation of {bytes} bytes");
            DriverError::with_detail(call, ErrorCode::INVALID_VALUE, detail)
        })?;
        // SAFETY: the layout's size is not 0.
        let host = NonNull::new(unsafe { alloc_zeroed(layout) }).ok_or_else(|| {
            let detail = format!("{bytes} bytes of pinned host memory");
            DriverError::with_detail(call, ErrorCode::OUT_OF_MEMORY, detail)
        })?;
        let memory = Memory { host, layout, owner: Owner::Driver };
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
        let (Some(host), Ok(layout)) = (NonNull::new(pointer), Layout::from_size_align(bytes, 1)) else {
            return Err(error(ErrorCode::INVALID_VALUE, format!("{bytes} bytes at {pointer:?}")));
        };
        let memory = Memory { host, layout, owner: Owner::Caller };
        let device = DevicePtr(memory.address());
        let Some(end) = device.0.checked_add(bytes as u64).filter(|_| bytes > 0) else {
            return Err(error(ErrorCode::INVALID_VALUE, format!("{bytes} bytes at {pointer:?}")));
        };
        let mut live = self.live.write().unwrap_or_else(PoisonError::into_inner);
        if let Some((start, other)) = live.range(..end).next_back()
            && start + other.layout.size() as u64 > device.0
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
            offset < memory.layout.size() && bytes <= memory.layout.size() - offset
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
