//! Arrays of other libraries, by DLPack, whose memory a buffer has.

use std::ptr::NonNull;

use crate::dlpack::Tensor;
use hiplaunch::{Device, PinnedBuffer};

/// An array of another library whose memory a buffer has.
pub(crate) struct Adopted {
    pub(crate) device: Device,
    /// Memory of the host that was pinned for it. Unpinned before the tensor is returned.
    pub(crate) pinned: Option<PinnedBuffer<u8>>,
    pub(crate) host: Option<NonNull<u8>>,
    pub(crate) _tensor: Tensor,
}

// SAFETY: the host's address is only handed out.
unsafe impl Send for Adopted {}
// SAFETY: a shared reference only hands out the address.
unsafe impl Sync for Adopted {}

impl Adopted {
    /// Where the host accesses it, for memory of the host.
    pub(crate) fn host(&self) -> Option<*mut u8> {
        self.host.map(NonNull::as_ptr)
    }
}

impl Drop for Adopted {
    /// Waits for the device: its owner does not know of the work here.
    fn drop(&mut self) {
        // A lost device runs nothing that could use the memory, and its error was or will be raised by what waits.
        let _ = self.device.synchronize();
        self.pinned = None;
    }
}
