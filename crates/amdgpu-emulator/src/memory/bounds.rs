//! Which bytes behind an allocation kernels can access.

/// The size of a page of device memory in bytes: the smallest that the GPUs' page tables have, and the host's.
pub(super) const PAGE: u64 = 4096;

/// Which bytes kernels can access, of those that no allocation has.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Bounds {
    /// None: an access past the end of an allocation is a fault.
    #[default]
    Strict,
    /// Those up to the end of the allocation's last page, as on a GPU. Allocations begin at pages, so these bytes are never
    /// another allocation's. They are zero at first, and keep what kernels write there. An access to a page that no
    /// allocation has is a fault.
    ///
    /// Copies, fills and host accesses have to stay within the allocation, as HIP checks them.
    Pages,
}

impl Bounds {
    /// Returns how many bytes kernels can access of an allocation of `bytes` bytes; `None` if that is too many.
    pub(super) fn accessible(self, bytes: u64) -> Option<u64> {
        match self {
            Bounds::Strict => Some(bytes),
            Bounds::Pages => bytes.checked_next_multiple_of(PAGE),
        }
    }
}
