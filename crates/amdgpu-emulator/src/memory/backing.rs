//! The host memory that backs guest addresses.

use std::alloc::{Layout, alloc_zeroed, dealloc};
use std::fs::File;
use std::ptr::NonNull;
#[cfg(target_os = "linux")]
use std::sync::Arc;

#[cfg(all(target_os = "linux", not(miri)))]
use memmap2::Advice;
use memmap2::{MmapMut, MmapOptions};

#[cfg(target_os = "linux")]
use super::reserved::Reserved;
use super::shared_pages::{LARGEST, Part};

/// Alignment of the host memory of small allocations, in bytes: enough for every atomic access, and small enough for
/// the allocator to return zero pages that are not accessed before they are used. (Guest addresses have their own.)
const HOST_ALIGN: usize = 16;
/// Allocations of at least this many bytes share pages, up to [`LARGEST`]; larger ones are mapped. The allocator would give
/// their pages back to the host, or zero all of them at once.
const PAGE: usize = 4096;

/// Asks the host for large pages. Otherwise the first accesses would take longer to get small pages than to fill them. A host
/// that has no large pages provides small ones.
pub(super) fn with_large_pages(map: &MmapMut) {
    #[cfg(all(target_os = "linux", not(miri)))]
    let _ = map.advise(Advice::HugePage);
    let _ = map;
}

/// Host memory, and how it is freed.
pub(crate) struct Backing {
    ptr: NonNull<u8>,
    owner: Owner,
}

enum Owner {
    Heap(Layout),
    /// Accessed only through `ptr`.
    Part(#[allow(dead_code, reason = "kept for its drop")] Part),
    /// Accessed only through `ptr`; unmapped when it is dropped.
    Map(#[allow(dead_code, reason = "kept for its drop")] MmapMut),
    /// Reserved addresses.
    #[cfg(target_os = "linux")]
    Reserved(Reserved),
    /// A part of other memory.
    #[cfg(target_os = "linux")]
    Shared(#[allow(dead_code, reason = "kept for its drop")] Arc<Backing>),
    /// The caller frees a host range.
    Caller,
}

// SAFETY: the memory is only accessed through atomic operations (`GuestRange`), and freed once, on drop.
unsafe impl Send for Backing {}
// SAFETY: the memory is only accessed through atomic operations, on any number of threads.
unsafe impl Sync for Backing {}

impl Backing {
    /// Allocates at least `bytes` bytes of zeroed memory; `bytes` must not be 0. The host provides pages when they are
    /// accessed.
    pub(crate) fn zeroed(bytes: usize) -> Option<Backing> {
        if bytes > LARGEST {
            let mut map = MmapMut::map_anon(bytes).ok()?;
            with_large_pages(&map);
            let ptr = NonNull::new(map.as_mut_ptr())?;
            return Some(Backing { ptr, owner: Owner::Map(map) });
        }
        if bytes >= PAGE {
            let part = Part::zeroed(bytes)?;
            return Some(Backing { ptr: part.ptr(), owner: Owner::Part(part) });
        }
        let layout = Layout::from_size_align(bytes.checked_next_multiple_of(HOST_ALIGN)?, HOST_ALIGN).ok()?;
        if layout.size() == 0 {
            return None;
        }
        // SAFETY: the layout's size is not 0.
        let ptr = NonNull::new(unsafe { alloc_zeroed(layout) })?;
        Some(Backing { ptr, owner: Owner::Heap(layout) })
    }

    /// Maps the first `bytes` bytes of a file, which other processes may map, too.
    ///
    /// # Safety
    /// The file's bytes end in the last of these pages, or later, as long as the memory lives.
    pub(crate) unsafe fn of_file(file: &File, bytes: usize) -> Option<Backing> {
        // SAFETY: the caller's promise. The bytes may change at any time, and are only accessed through atomic operations.
        let mut map = unsafe { MmapOptions::new().len(bytes).map_mut(file) }.ok()?;
        let ptr = NonNull::new(map.as_mut_ptr())?;
        Some(Backing { ptr, owner: Owner::Map(map) })
    }

    /// Wraps memory that the caller owns.
    pub(crate) fn of_caller(ptr: NonNull<u8>) -> Backing {
        Backing { ptr, owner: Owner::Caller }
    }

    /// Allocates zeroed memory at an address of the process, which is that of a page.
    #[cfg(target_os = "linux")]
    pub(super) fn zeroed_at(address: u64, bytes: usize) -> Option<Backing> {
        Reserved::zeroed_at(address, bytes).ok().map(Backing::of_reserved)
    }

    /// Takes reserved addresses.
    #[cfg(target_os = "linux")]
    pub(super) fn of_reserved(reserved: Reserved) -> Backing {
        Backing { ptr: reserved.ptr(), owner: Owner::Reserved(reserved) }
    }

    /// The memory from `ptr` on, which is in `whole`.
    #[cfg(target_os = "linux")]
    pub(super) fn part_of(whole: &Arc<Backing>, ptr: NonNull<u8>) -> Backing {
        Backing { ptr, owner: Owner::Shared(Arc::clone(whole)) }
    }

    /// The reserved addresses that it is.
    #[cfg(target_os = "linux")]
    pub(super) fn reserved(&self) -> Option<&Reserved> {
        match &self.owner {
            Owner::Reserved(reserved) => Some(reserved),
            _ => None,
        }
    }

    pub(crate) fn ptr(&self) -> NonNull<u8> {
        self.ptr
    }

    /// Returns whether the caller owns the memory.
    pub(crate) fn is_callers(&self) -> bool {
        matches!(self.owner, Owner::Caller)
    }
}

impl Drop for Backing {
    fn drop(&mut self) {
        if let Owner::Heap(layout) = self.owner {
            // SAFETY: `zeroed` allocated it with this layout, and nothing else frees it.
            unsafe { dealloc(self.ptr.as_ptr(), layout) }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn zeroed_memory_is_zero_for_every_size_and_after_reuse() {
        for bytes in [1, 16, 100, PAGE - 1, PAGE, 3 * PAGE + 5, LARGEST, LARGEST + 1] {
            for _ in 0..3 {
                let memory = Backing::zeroed(bytes).unwrap();
                // SAFETY: `bytes` bytes of memory that nothing else accesses.
                let all = unsafe { std::slice::from_raw_parts_mut(memory.ptr().as_ptr(), bytes) };
                assert!(all.iter().all(|b| *b == 0));
                all.fill(7);
                assert!(memory.ptr().as_ptr().addr().is_multiple_of(HOST_ALIGN) && !memory.is_callers());
            }
        }
        assert!(Backing::zeroed(0).is_none() && Backing::zeroed(usize::MAX - 4).is_none());
    }
}
