//! A live range of guest addresses, and what memory it has.

use std::ops::Range;
use std::ptr::NonNull;
use std::sync::Arc;

use super::backing::Backing;
use super::guest_range::GuestRange;
use super::shadow::Shadow;

/// One live range of guest addresses.
#[derive(Clone)]
pub(super) struct Region {
    pub(super) base: u64,
    /// How many addresses kernels can access: `bytes`, or whole pages ([`Bounds::Pages`]), or if it is divided those in
    /// blocks among twice as many.
    pub(super) len: u64,
    /// How many bytes were asked for.
    pub(super) bytes: u64,
    /// How many of them count as allocated.
    pub(super) counted: u64,
    /// Whether no other memory is in its last page.
    pub(super) has_pages: bool,
    /// Whether only the addresses of its blocks may be accessed.
    pub(super) divided: bool,
    /// Whether it is fine-grained: the host sees what kernels write while they run.
    pub(super) is_fine: bool,
    /// Whether it is another address space's allocation.
    pub(super) shared: bool,
    /// `Some` for memory that is mapped to reserved addresses: the parts that may only be read.
    pub(super) mapped: Option<Arc<[Range<u64>]>>,
    pub(super) backing: Arc<Backing>,
    /// Which bytes were written; `None` if that is not tracked, and all count as written.
    pub(super) shadow: Option<Arc<Shadow>>,
}

impl Region {
    /// `bytes` bytes at `base` with pages of their own, which count as allocated nowhere and are not tracked.
    pub(super) fn new(base: u64, bytes: u64, backing: Arc<Backing>) -> Region {
        Region {
            base,
            len: bytes,
            bytes,
            counted: 0,
            has_pages: true,
            divided: false,
            is_fine: false,
            shared: false,
            mapped: None,
            backing,
            shadow: None,
        }
    }

    /// `bytes` bytes of the host's memory at `ptr`, which kernels find at `base`.
    pub(super) fn of_host(base: u64, bytes: u64, ptr: NonNull<u8>) -> Region {
        let backing = Arc::new(Backing::of_caller(ptr));
        Region { has_pages: false, is_fine: true, ..Region::new(base, bytes, backing) }
    }

    pub(super) fn is_host(&self) -> bool {
        self.backing.is_callers()
    }

    /// Whether it is an allocation of its address space.
    pub(super) fn is_allocation(&self) -> bool {
        !self.shared && !self.is_host() && self.mapped.is_none()
    }

    /// Whether the host may refuse an access: the program maps its pages, and may protect or unmap them at any time, or
    /// parts may only be read.
    pub(super) fn may_be_refused(&self) -> bool {
        self.is_host() && !self.has_pages || self.mapped.as_ref().is_some_and(|parts| !parts.is_empty())
    }

    /// Whether a byte of `len` bytes at `address` may only be read.
    pub(super) fn is_read_only(&self, address: u64, len: u64) -> bool {
        let parts = self.mapped.as_deref().unwrap_or_default();
        parts.iter().any(|part| part.start < address.saturating_add(len) && address < part.end)
    }

    pub(super) fn range(&self) -> GuestRange {
        GuestRange { base: self.base, len: self.len, ptr: self.backing.ptr().as_ptr() }
    }

    /// How many addresses are the allocation's own: not those that only [`Bounds::Pages`] gives it.
    pub(super) fn own(&self) -> u64 {
        if self.divided { self.len } else { self.bytes }
    }

    /// The range of these addresses.
    pub(super) fn owned(&self) -> GuestRange {
        GuestRange { len: self.own(), ..self.range() }
    }
}
