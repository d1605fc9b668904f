//! An owned pinned host allocation.

use crate::device::Device;
use hip_driver::PinnedAllocation;

use super::LockedFailure;

/// Pinned, mapped host memory. Dropping it frees it, so the owner must make sure that no work in flight uses it.
#[derive(Debug)]
pub(super) struct Pinned {
    device: Device,
    allocation: PinnedAllocation,
}

impl Pinned {
    pub(super) fn new(device: &Device, bytes: usize) -> Result<Pinned, LockedFailure> {
        let allocation = device
            .raw()
            .host_malloc(device.id(), bytes)
            .map_err(|e| LockedFailure::Allocation("pinned host", bytes, e))?;
        device.add_held_pinned(bytes as u64);
        Ok(Pinned { device: device.clone(), allocation })
    }

    pub(super) fn get(&self) -> PinnedAllocation {
        self.allocation
    }

    pub(super) fn bytes(&self) -> usize {
        self.allocation.bytes
    }
}

impl Drop for Pinned {
    fn drop(&mut self) {
        self.device.sub_held_pinned(self.allocation.bytes as u64);
        // SAFETY: owned by `self`; the staging ring and the result buffers drop it only when its last use has finished.
        if let Err(e) = unsafe { self.device.raw().host_free(self.device.id(), self.allocation) } {
            log::warn!("freeing pinned memory of {}: {e}", self.device.id());
        }
    }
}
