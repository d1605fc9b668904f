//! Pinned host memory: which host addresses are pinned decides how a copy behaves.

use std::alloc::{Layout, alloc_zeroed, dealloc};
use std::collections::BTreeMap;
use std::ptr::NonNull;
use std::sync::{PoisonError, RwLock};

use hip_driver::{DevicePtr, DriverError, DriverResult, ErrorCode, PinnedAllocation};

/// Alignment of pinned memory: a page, as HIP's.
const ALIGN: usize = 4096;

/// One allocation, freed when dropped.
pub(super) struct Memory {
    host: NonNull<u8>,
    layout: Layout,
}

// SAFETY: it owns the memory, and only its drop touches it.
unsafe impl Send for Memory {}
// SAFETY: nothing can be done through a shared `Memory` but read its address and length.
unsafe impl Sync for Memory {}

impl Memory {
    /// Where host and devices see it.
    pub(super) fn address(&self) -> u64 {
        self.host.as_ptr().addr() as u64
    }
}

impl Drop for Memory {
    fn drop(&mut self) {
        // SAFETY: allocated with this layout in `PinnedMemory::allocate`, and this is its only owner.
        unsafe { dealloc(self.host.as_ptr(), self.layout) }
    }
}

/// All pinned memory of a driver, by address.
#[derive(Default)]
pub(super) struct PinnedMemory {
    live: RwLock<BTreeMap<u64, Memory>>,
}

impl PinnedMemory {
    /// Allocates zeroed memory of `bytes`.
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
        let memory = Memory { host, layout };
        let device = DevicePtr(memory.address());
        self.live.write().unwrap_or_else(PoisonError::into_inner).insert(device.0, memory);
        Ok(PinnedAllocation { host, device, bytes })
    }

    /// Whether all `bytes` at `pointer` are in one live allocation.
    pub(super) fn contains(&self, pointer: *const u8, bytes: usize) -> bool {
        let address = pointer.addr() as u64;
        let live = self.live.read().unwrap_or_else(PoisonError::into_inner);
        live.range(..=address).next_back().is_some_and(|(start, memory)| {
            let offset = (address - start) as usize;
            offset < memory.layout.size() && bytes <= memory.layout.size() - offset
        })
    }

    /// Whether a live allocation begins at `address`.
    pub(super) fn begins_at(&self, address: u64) -> bool {
        self.live.read().unwrap_or_else(PoisonError::into_inner).contains_key(&address)
    }

    /// Takes the allocation that begins at `address` out.
    pub(super) fn take(&self, address: u64) -> Option<Memory> {
        self.live.write().unwrap_or_else(PoisonError::into_inner).remove(&address)
    }

    /// Takes all out.
    pub(super) fn drain(&self) -> Vec<Memory> {
        let live = &mut *self.live.write().unwrap_or_else(PoisonError::into_inner);
        std::mem::take(live).into_values().collect()
    }
}
