//! Reserved addresses to which memory is mapped: parts of files, side by side, or the same part at several addresses.
//!
//! An address space has host addresses of its own for a reservation, one for each. So parts that are mapped side by side are
//! one range for kernels and copies, and what the pages of the host may be used for is what this device may do. Where a part
//! was unmapped, the host's pages stay valid but are the part's no more: a dispatch that still has the range harms nothing.

use std::fs::File;
use std::ops::Range;
use std::sync::Arc;

use super::address_space::{AddressSpace, GUARD, Inner, VIRTUAL};
use super::backing::Backing;
use super::refused;
use super::region::Region;
use super::reserved::Reserved;
use crate::report::error::{Error, Result};

/// The host memory of reserved addresses, for one address space.
pub struct VirtualRange {
    base: u64,
    bytes: u64,
    pages: Arc<Backing>,
}

/// A part of a [`VirtualRange`] that kernels may access.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct VirtualPart {
    /// Where it begins in the range, in bytes.
    pub offset: u64,
    /// Its length in bytes.
    pub bytes: u64,
    /// Whether it may only be read.
    pub read_only: bool,
}

impl VirtualRange {
    /// Reserves host memory for `bytes` addresses from `base` on. It needs no memory.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] if the host can't reserve as many addresses.
    pub fn new(base: u64, bytes: u64) -> Result<VirtualRange> {
        let reserved = usize::try_from(bytes).map_err(std::io::Error::other).and_then(Reserved::new);
        let reserved = reserved.map_err(|error| refusal(bytes, &error))?;
        Ok(VirtualRange { base, bytes, pages: Arc::new(Backing::of_reserved(reserved)) })
    }

    /// Applies a change to the pages of a part.
    fn change(
        &self,
        [offset, bytes]: [u64; 2],
        change: impl FnOnce(&Reserved, usize, usize) -> std::io::Result<()>,
    ) -> Result<()> {
        let (Some(pages), Ok(at), Ok(len)) =
            (self.pages.reserved(), usize::try_from(offset), usize::try_from(bytes))
        else {
            return Err(Error::InvalidArgument(format!("{bytes} bytes at {offset}")));
        };
        change(pages, at, len).map_err(|error| refusal(bytes, &error))
    }

    /// Maps `bytes` bytes of a file, from the byte `at` on, to the part that begins `offset` bytes into the range. All are whole
    /// pages. [`AddressSpace::show`] makes the part accessible.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] if the part is not in the range, or the host refuses.
    ///
    /// # Safety
    /// The file has these bytes until the part is unmapped or the range is dropped, and no dispatch runs that began before.
    pub unsafe fn map(&self, offset: u64, bytes: u64, file: &File, at: u64) -> Result<()> {
        // SAFETY: the caller's promise.
        self.change([offset, bytes], |pages, offset, bytes| unsafe { pages.map(offset, bytes, file, at) })
    }

    /// Takes off what was mapped to a part, which is not shown any more. Dispatches that began before access other
    /// memory there from now on.
    ///
    /// # Errors
    /// As for [`map`](Self::map). The part then has what it had.
    pub fn unmap(&self, offset: u64, bytes: u64) -> Result<()> {
        self.change([offset, bytes], Reserved::unmap)
    }

    /// Says whether a part may only be read. It is to be [shown](AddressSpace::show) so before, and no dispatch may run that
    /// began before that: a write of such a one ends the process.
    ///
    /// # Errors
    /// As for [`map`](Self::map). The part then is as it was.
    pub fn protect(&self, offset: u64, bytes: u64, read_only: bool) -> Result<()> {
        self.change([offset, bytes], |pages, offset, bytes| pages.protect(offset, bytes, read_only))
    }

    /// The region of parts that follow each other.
    fn region(&self, start: u64, end: u64, read_only: Vec<Range<u64>>) -> Region {
        let pages = self.pages.ptr().as_ptr().wrapping_add(start as usize);
        let ptr = std::ptr::NonNull::new(pages).unwrap_or(self.pages.ptr());
        let (base, len) = (self.base + start, end - start);
        let backing = Arc::new(Backing::part_of(&self.pages, ptr));
        Region { mapped: Some(read_only.into()), ..Region::new(base, len, backing) }
    }
}

fn refusal(bytes: u64, error: &std::io::Error) -> Error {
    Error::InvalidArgument(format!("{bytes} bytes of virtual memory: {error}"))
}

impl AddressSpace {
    /// The addresses of which some can be reserved. Allocations have others.
    pub fn virtual_addresses() -> Range<u64> {
        VIRTUAL
    }

    /// How many addresses are left free behind those that are reserved, so that accesses shortly past their end fault.
    pub const VIRTUAL_GUARD: u64 = GUARD;

    /// Reports name these addresses as reserved from now on.
    pub fn reserve(&self, base: u64, bytes: u64) {
        self.lock().reserved.insert(base, bytes);
    }

    /// Reports do not name the addresses at `base` as reserved any more.
    pub fn unreserve(&self, base: u64) {
        self.lock().reserved.remove(&base);
    }

    /// Lets kernels and copies access parts of a range, and nothing else of it. The parts are in the order of their offsets,
    /// and memory is mapped to them; those that follow each other are one range. The sanitizer takes all of them for written.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] if a part overlaps a live range of other memory. Then nothing of the range is accessible.
    pub fn show(&self, range: &VirtualRange, parts: &[VirtualPart]) -> Result<()> {
        if parts.iter().any(|part| part.read_only) {
            refused::install();
        }
        let follows = |a: &VirtualPart, b: &VirtualPart| a.offset + a.bytes == b.offset;
        let regions = parts.chunk_by(follows).filter_map(|parts| {
            let (first, last) = (parts.first()?, parts.last()?);
            let read_only = parts.iter().filter(|part| part.read_only);
            let address = |offset: u64| range.base + offset;
            let read_only = read_only.map(|part| address(part.offset)..address(part.offset + part.bytes));
            Some(range.region(first.offset, last.offset + last.bytes, read_only.collect()))
        });
        let regions: Vec<Region> = regions.collect();
        let mut inner = self.lock();
        let hide = |inner: &mut Inner| {
            let addresses = range.base..range.base + range.bytes;
            let shown = inner.regions.range(addresses).filter(|(_, region)| region.mapped.is_some());
            let shown: Vec<u64> = shown.map(|(base, _)| *base).collect();
            shown.iter().for_each(|base| drop(inner.regions.remove(base)));
            inner.snapshot = None;
        };
        hide(&mut inner);
        let shown = regions.into_iter().try_for_each(|region| inner.insert(region));
        shown.inspect_err(|_| hide(&mut inner))
    }

    /// Counts memory as allocated that has no address.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`] if the capacity is exceeded.
    pub fn count_allocated(&self, bytes: u64) -> Result<()> {
        let mut inner = self.lock();
        let free = self.capacity - inner.used;
        if bytes > free {
            return Err(Error::OutOfMemory { requested: bytes, free, total: self.capacity });
        }
        inner.used += bytes;
        Ok(())
    }

    /// Counts as many bytes as free that [`count_allocated`](Self::count_allocated) counted.
    pub fn count_freed(&self, bytes: u64) {
        let mut inner = self.lock();
        inner.used = inner.used.saturating_sub(bytes);
    }
}

#[cfg(all(test, not(miri)))]
mod tests {
    use super::super::{DispatchMemory, View};
    use super::*;

    const PAGE: u64 = 4096;

    fn file(bytes: u64) -> File {
        let path = std::env::temp_dir().join(format!("virtual-range-{}-{bytes}", std::process::id()));
        let mut options = File::options();
        let file = options.read(true).write(true).create(true).truncate(true).open(&path).unwrap();
        std::fs::remove_file(path).unwrap();
        file.set_len(bytes).unwrap();
        file
    }

    fn part(offset: u64, bytes: u64, read_only: bool) -> VirtualPart {
        VirtualPart { offset, bytes, read_only }
    }

    #[test]
    fn parts_side_by_side_are_one_range_and_the_same_pages_are_aliases() {
        let space = AddressSpace::new(1 << 20);
        let base = VIRTUAL.start;
        let (range, file) = (VirtualRange::new(base, 1 << 36).unwrap(), file(3 * PAGE));
        space.reserve(base, 1 << 36);
        // Pages 2, 0 and 2 of the file.
        for (to, from) in [(0, 2), (1, 0), (2, 2)] {
            // SAFETY: the file keeps its length.
            unsafe { range.map(to * PAGE, PAGE, &file, from * PAGE) }.unwrap();
        }
        assert!(space.read(base, &mut [0]).is_err());
        space.show(&range, &[part(0, PAGE, false), part(PAGE, PAGE, false)]).unwrap();
        space.write(base + PAGE - 2, &[1, 2, 3, 4]).unwrap();
        assert!(space.write(base + 2 * PAGE - 2, &[1, 2, 3]).is_err());
        space.show(&range, &[0, 1, 2].map(|page| part(page * PAGE, PAGE, page == 2))).unwrap();
        let mut seen = [0; 4];
        space.read(base + 3 * PAGE - 4, &mut seen).unwrap();
        assert_eq!(seen, [0, 0, 1, 2]);
        assert!(!space.is_read_only(base, 2 * PAGE) && space.is_read_only(base + 1, 2 * PAGE));
        let text = space.read(base + 5 * PAGE, &mut [0]).unwrap_err().to_string();
        assert!(text.contains("in the reserved addresses 0x400000000000..0x401000000000"), "{text}");
        // What a dispatch has stays valid, and is not the file's any more.
        let own = std::sync::Arc::new(DispatchMemory::new(0x1000, 64).unwrap());
        let mut view = View::new(space.snapshot(), own, space.blocks().capture());
        space.show(&range, &[part(0, PAGE, false)]).unwrap();
        range.unmap(PAGE, PAGE).unwrap();
        assert_eq!(view.load_one::<[u32; 1]>(base + PAGE), Some([0]));
        assert!(space.read(base + PAGE, &mut [0]).is_err());
        assert!(space.free(base).is_err() && space.divide(base).is_err());
        drop(range);
        assert_eq!(view.load_one::<[u32; 1]>(base + PAGE), Some([0]));
    }

    #[cfg(target_arch = "x86_64")]
    #[test]
    fn writes_of_parts_that_may_only_be_read_are_refused() {
        let space = AddressSpace::new(1 << 20);
        let base = VIRTUAL.start;
        let (range, file) = (VirtualRange::new(base, 4 * PAGE).unwrap(), file(2 * PAGE));
        // SAFETY: the file keeps its length.
        unsafe { range.map(0, 2 * PAGE, &file, 0) }.unwrap();
        let rights = |read_only| [part(0, PAGE, false), part(PAGE, PAGE, read_only)];
        space.show(&range, &rights(true)).unwrap();
        range.protect(PAGE, PAGE, true).unwrap();
        assert!(space.write(base + PAGE - 4, &[1; 4]).is_ok());
        let text = space.write(base + PAGE + 8, &[1; 4]).unwrap_err().to_string();
        assert!(text.contains("0x400000001008"), "{text}");
        assert!(space.read(base + PAGE - 4, &mut [0; 8]).is_ok());
        range.protect(PAGE, PAGE, false).unwrap();
        space.show(&range, &rights(false)).unwrap();
        assert!(space.write(base + PAGE - 4, &[1; 8]).is_ok());
    }

    #[test]
    fn memory_without_an_address_counts_as_allocated() {
        let space = AddressSpace::new(1000);
        space.count_allocated(900).unwrap();
        assert!(matches!(space.count_allocated(101), Err(Error::OutOfMemory { free: 100, .. })));
        assert!(space.alloc(101, 0).is_err());
        space.count_freed(900);
        assert_eq!(space.usage().used, 0);
    }
}
