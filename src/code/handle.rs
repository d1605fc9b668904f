//! Handles of kernels. Those of all launchers of a process come from one numbering.

use std::sync::atomic::{AtomicU64, Ordering};

/// Names a registered kernel. It is a plain `u64`, which compiled code can hold as a constant.
///
/// No handle of a process is used twice. So the handle of another launcher, of a launcher that was dropped, or of a
/// kernel that was unregistered is the error [`Error::StaleHandle`](crate::Error::StaleHandle). No handle is 0 or fits into 32 bits.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, bytemuck::Pod, bytemuck::Zeroable)]
#[repr(transparent)]
pub struct KernelHandle(pub u64);

impl std::fmt::Debug for KernelHandle {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "KernelHandle({:#018x})", self.0)
    }
}

impl KernelHandle {
    /// Returns a handle that no other call returns: 2^64 handles do not run out.
    pub(crate) fn next() -> KernelHandle {
        // Small numbers and handles cut to 32 bits are mistakes, and should not name a kernel.
        static NEXT: AtomicU64 = AtomicU64::new(1 << 32);
        KernelHandle(NEXT.fetch_add(1, Ordering::Relaxed))
    }
}
