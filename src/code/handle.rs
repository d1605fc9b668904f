//! Handles of kernels. Those of all launchers of a process come from one numbering.

use std::hash::Hasher;
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

/// Hashes kernel handles by one multiplication, which is enough for few numbers that no attacker chooses.
#[derive(Clone, Copy, Default, Debug)]
pub(crate) struct HandleHasher(u64);

impl Hasher for HandleHasher {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        bytes.iter().for_each(|b| self.write_u64(u64::from(*b)));
    }

    #[inline]
    fn write_u64(&mut self, n: u64) {
        // The golden ratio's bits (Knuth); the rotation brings the well mixed high half down.
        self.0 = (self.0 ^ n).wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(32);
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
