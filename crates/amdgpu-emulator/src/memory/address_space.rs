//! The guest's address space: device allocations at deterministic addresses, and mapped host ranges.

use std::collections::{BTreeMap, VecDeque};
use std::fs::File;
use std::ops::Range;
use std::ptr::NonNull;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::backing::Backing;
use super::blocks::{BlockAt, BlockTable, Blocks};
use super::bounds::{Bounds, PAGE};
use super::guest_range::GuestRange;
use super::refused::{self, Refused, Watch};
use super::region::Region;
use super::shadow::Shadow;
use crate::report::error::{Error, Result};

/// First address of device allocations. Linux maps no memory of a process there, so that a host range that is mapped at
/// its own address doesn't overlap them.
const ARENA_START: u64 = 0x1000_0000_0000;
/// End of the addresses of device allocations.
const ARENA_END: u64 = 0x4000_0000_0000;
/// The addresses behind those of allocations, to which memory can be mapped. Linux has no memory there, either.
pub(super) const VIRTUAL: Range<u64> = ARENA_END..0x5000_0000_0000;
/// Smallest alignment of device allocations in bytes.
const MIN_ALIGN: u64 = 256;
/// Bytes left unmapped after each allocation, so that accesses shortly past its end fault.
pub(super) const GUARD: u64 = 64 << 10;
/// The number of freed ranges that are kept for fault reports.
const FREED_KEPT: usize = 64;

/// A live range of guest addresses: a device allocation or mapped host memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RegionInfo {
    /// The first guest address.
    pub base: u64,
    /// The length in bytes.
    pub len: u64,
    /// Whether it is host memory mapped with [`AddressSpace::map_host`].
    pub is_host: bool,
    /// Whether there are parts that may only be read.
    pub has_read_only: bool,
}

/// How much device memory is allocated.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MemoryUsage {
    /// Bytes that are allocated. Mapped host ranges and shared allocations of other address spaces are not counted.
    pub used: u64,
    /// Bytes that can be allocated in all.
    pub capacity: u64,
}

pub(super) struct Inner {
    pub(super) regions: BTreeMap<u64, Region>,
    /// The addresses that are reserved, and how many follow each.
    pub(super) reserved: BTreeMap<u64, u64>,
    freed: VecDeque<(u64, u64)>,
    /// The range of addresses of device allocations.
    arena: Range<u64>,
    next: u64,
    pub(super) used: u64,
    pub(super) snapshot: Option<Arc<RangeTable>>,
    /// Whether new allocations get a shadow.
    tracked: bool,
    /// What kernels can access behind new allocations.
    bounds: Bounds,
    /// Whether the process has new allocations at their own addresses.
    #[cfg(target_os = "linux")]
    at_own_addresses: bool,
}

/// The memory of a machine: device allocations, and host ranges that are mapped at their own addresses.
pub struct AddressSpace {
    inner: Mutex<Inner>,
    pub(super) capacity: u64,
    blocks: Arc<Blocks>,
    /// The address of the device's heap, once it is there.
    pub(super) heap: Mutex<Option<u64>>,
}

impl AddressSpace {
    /// Creates an empty address space with `capacity` bytes of device memory.
    pub fn new(capacity: u64) -> AddressSpace {
        AddressSpace::with_arena(capacity, ARENA_START..ARENA_END)
    }

    /// Creates an empty address space for device `index` of `count`, with `capacity` bytes of device memory. Its
    /// allocations have addresses that the allocations of the other devices never have.
    pub fn one_of(capacity: u64, index: u32, count: u32) -> AddressSpace {
        let size = (ARENA_END - ARENA_START) / u64::from(count.max(1)) & !((2 << 20) - 1);
        let start = ARENA_START + size * u64::from(index.min(count.saturating_sub(1)));
        AddressSpace::with_arena(capacity, start..start + size)
    }

    /// Returns whether device allocations have such addresses, of whichever address space, live or not, or memory that is
    /// mapped to reserved addresses. The host's memory has others on Linux.
    pub fn is_device_address(address: u64) -> bool {
        (ARENA_START..VIRTUAL.end).contains(&address)
    }

    fn with_arena(capacity: u64, arena: Range<u64>) -> AddressSpace {
        AddressSpace {
            inner: Mutex::new(Inner {
                regions: BTreeMap::new(),
                reserved: BTreeMap::new(),
                freed: VecDeque::new(),
                next: arena.start,
                arena,
                used: 0,
                snapshot: None,
                tracked: false,
                bounds: Bounds::Strict,
                #[cfg(target_os = "linux")]
                at_own_addresses: false,
            }),
            capacity,
            blocks: Arc::default(),
            heap: Mutex::default(),
        }
    }

    /// Gives the address space the blocks of others, whose addresses differ from its own.
    #[must_use]
    pub fn with_blocks(self, blocks: Arc<Blocks>) -> AddressSpace {
        AddressSpace { blocks, ..self }
    }

    /// Gives the process all allocations at their own addresses, as it sees the memory of a device whose bus shows all of it. The process
    /// reads and writes an allocation through its address until it is freed; while a dispatch runs that accesses the same bytes, through
    /// atomic operations alone.
    #[cfg(target_os = "linux")]
    #[must_use]
    pub fn at_own_addresses(self) -> AddressSpace {
        self.lock().at_own_addresses = true;
        self
    }

    /// Returns the blocks of divided allocations.
    pub fn blocks(&self) -> &Arc<Blocks> {
        &self.blocks
    }

    pub(super) fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Allocates `bytes` bytes of zeroed device memory and returns the address.
    ///
    /// The address is a multiple of `align` bytes, which has to be a power of two; 0 selects the default of 256.
    /// Addresses depend only on the sequence of calls.
    ///
    /// # Errors
    /// - [`Error::OutOfMemory`] if the capacity is exceeded or the host has no memory left.
    /// - [`Error::InvalidArgument`] if the size is 0, or the alignment is not a power of two or above 2 MiB.
    pub fn alloc(&self, bytes: u64, align: u64) -> Result<u64> {
        if bytes == 0 {
            return Err(Error::InvalidArgument("an allocation of 0 bytes".into()));
        }
        let align = if align == 0 { MIN_ALIGN } else { align.max(MIN_ALIGN) };
        if !align.is_power_of_two() || align > 2 << 20 {
            return Err(Error::InvalidArgument(format!(
                "an allocation's alignment of {align}: not a power of two up to 2 MiB"
            )));
        }
        #[cfg(target_os = "linux")]
        if self.lock().at_own_addresses {
            return self.alloc_backed(bytes, align.max(PAGE), true, Backing::zeroed_at);
        }
        self.alloc_backed(bytes, align, true, |_, bytes| Backing::zeroed(bytes))
    }

    /// Allocates device memory whose bytes are the first of a file. Other processes that map the file access the same
    /// memory. The sanitizer takes all of it for written.
    ///
    /// # Errors
    /// As for [`alloc`](Self::alloc).
    ///
    /// # Safety
    /// The file has as many bytes until the allocation is freed and no dispatch runs that began before.
    pub unsafe fn alloc_file(&self, file: &File, bytes: u64) -> Result<u64> {
        // SAFETY: the caller's promise.
        let map = |_, bytes| unsafe { Backing::of_file(file, bytes) };
        let address = self.alloc_backed(bytes, MIN_ALIGN, true, map)?;
        self.count_as_written(address, bytes);
        Ok(address)
    }

    /// As [`alloc_file`](Self::alloc_file), for memory of another process, which is not counted as allocated here.
    ///
    /// # Errors
    /// As for [`alloc`](Self::alloc).
    ///
    /// # Safety
    /// As for [`alloc_file`](Self::alloc_file).
    pub unsafe fn open_file(&self, file: &File, bytes: u64) -> Result<u64> {
        // SAFETY: the caller's promise.
        let map = |_, bytes| unsafe { Backing::of_file(file, bytes) };
        let address = self.alloc_backed(bytes, MIN_ALIGN, false, map)?;
        self.count_as_written(address, bytes);
        Ok(address)
    }

    /// Gives the device allocation at `address` the first bytes of a file as its memory: from now on, other processes that
    /// map the file access the same memory. The sanitizer takes all of it for written. The memory of dispatches that run
    /// meanwhile, and of address spaces that share the allocation, stays the old one.
    ///
    /// # Errors
    /// - [`Error::NotAnAllocation`] if no live device allocation begins at `address`, or a divided one.
    /// - [`Error::OutOfMemory`] if the file can't be mapped.
    ///
    /// # Safety
    /// As for [`alloc_file`](Self::alloc_file).
    pub unsafe fn back_with_file(&self, address: u64, file: &File) -> Result<()> {
        let mut inner = self.lock();
        let free = self.capacity - inner.used;
        let region = inner.regions.get_mut(&address).filter(|r| r.is_allocation() && !r.divided);
        let Some(region) = region else { return Err(Error::NotAnAllocation { address }) };
        let bytes = region.bytes;
        // SAFETY: the caller's promise.
        let backing = usize::try_from(region.len).ok().and_then(|len| unsafe { Backing::of_file(file, len) });
        let out_of_memory = Error::OutOfMemory { requested: bytes, free, total: self.capacity };
        region.backing = Arc::new(backing.ok_or(out_of_memory)?);
        inner.snapshot = None;
        drop(inner);
        self.count_as_written(address, bytes);
        Ok(())
    }

    /// Allocates memory that `make` makes, for the address and with as many bytes as it is told.
    fn alloc_backed(
        &self,
        bytes: u64,
        align: u64,
        counts: bool,
        make: impl FnOnce(u64, usize) -> Option<Backing>,
    ) -> Result<u64> {
        let mut inner = self.lock();
        let free = self.capacity - inner.used;
        let out_of_memory = Error::OutOfMemory { requested: bytes, free, total: self.capacity };
        if bytes == 0 || counts && bytes > free {
            return Err(out_of_memory);
        }
        let align = if inner.bounds == Bounds::Pages { align.max(PAGE) } else { align };
        let (Some(base), Some(len)) = (inner.find_gap(bytes, align), inner.bounds.accessible(bytes)) else {
            return Err(out_of_memory);
        };
        let Some(backing) = usize::try_from(len).ok().and_then(|len| make(base, len)) else {
            return Err(out_of_memory);
        };
        let shadow = if inner.tracked {
            let Some(shadow) = Shadow::new(len, bytes) else { return Err(out_of_memory) };
            Some(Arc::new(shadow))
        } else {
            None
        };
        let counted = if counts { bytes } else { 0 };
        let region = Region { len, counted, shadow, ..Region::new(base, bytes, Arc::new(backing)) };
        inner.regions.insert(base, region);
        inner.next = base + 2 * bytes + GUARD;
        inner.used += counted;
        inner.snapshot = None;
        Ok(base)
    }

    /// Frees the device allocation at `address`, which [`alloc`](Self::alloc) returned.
    ///
    /// # Errors
    /// [`Error::NotAnAllocation`] if no live device allocation begins at `address`.
    pub fn free(&self, address: u64) -> Result<()> {
        let mut inner = self.lock();
        match inner.regions.get(&address) {
            Some(region) if region.is_allocation() => {}
            _ => return Err(Error::NotAnAllocation { address }),
        }
        if let Some(region) = inner.regions.remove(&address) {
            inner.used -= region.counted;
            if region.divided {
                self.blocks.forget(region.base);
            }
            if inner.freed.len() == FREED_KEPT {
                inner.freed.pop_front();
            }
            inner.freed.push_back((region.base, region.own()));
        }
        inner.snapshot = None;
        Ok(())
    }

    /// Divides the device allocation at `address` into blocks: from now on it has twice as many addresses as bytes, and
    /// kernels may access those that are in a block ([`Blocks::add`]). Nothing has been written to it yet. Does nothing if
    /// it is divided already.
    ///
    /// # Errors
    /// - [`Error::NotAnAllocation`] if no live device allocation begins at `address`.
    /// - [`Error::OutOfMemory`] if the host has no memory left.
    pub fn divide(&self, address: u64) -> Result<()> {
        let mut inner = self.lock();
        let (free, tracked) = (self.capacity - inner.used, inner.tracked);
        let region = inner.regions.get_mut(&address).filter(|r| r.is_allocation());
        let Some(region) = region else { return Err(Error::NotAnAllocation { address }) };
        if region.divided {
            return Ok(());
        }
        let len = 2 * region.bytes;
        let out_of_memory = || Error::OutOfMemory { requested: len, free, total: self.capacity };
        // Pages that no block ever has are never touched, so that they need no memory.
        let backing = usize::try_from(len).ok().and_then(Backing::zeroed).ok_or_else(out_of_memory)?;
        if tracked {
            region.shadow = Some(Arc::new(Shadow::new(len, len).ok_or_else(out_of_memory)?));
        }
        (region.len, region.divided, region.backing) = (len, true, Arc::new(backing));
        self.blocks.divide(address);
        inner.snapshot = None;
        Ok(())
    }

    /// Makes `len` bytes of host memory at `ptr` accessible to kernels. Returns the guest address, which equals the
    /// host's. The memory is fine-grained (see [`set_fine_grained`](Self::set_fine_grained)).
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] if the range is empty, wraps around the end of the address space, or overlaps another
    /// live range.
    ///
    /// # Safety
    /// The memory must be the caller's until [`unmap_host`](Self::unmap_host) has returned and no dispatch that began
    /// before is running. On Linux with x86-64, pages may be read-only or not accessible: a kernel's access there is a fault
    /// ([`FaultCause::Refused`](crate::FaultCause::Refused)). Elsewhere it must stay valid for reads and writes. While a
    /// dispatch runs that accesses it, nothing else may access it other than through atomic operations.
    pub unsafe fn map_host(&self, ptr: NonNull<u8>, len: u64) -> Result<u64> {
        refused::install();
        self.map(ptr, len, false)
    }

    /// As [`map_host`](Self::map_host), for memory that begins at a page and shares its last page with nothing else:
    /// [`Bounds::Pages`] lets kernels access all of that page.
    ///
    /// # Errors
    /// The same as those of [`map_host`](Self::map_host).
    ///
    /// # Safety
    /// The same as that of [`map_host`](Self::map_host), and as much holds for the bytes up to a multiple of 4096.
    pub unsafe fn map_host_pages(&self, ptr: NonNull<u8>, len: u64) -> Result<u64> {
        self.map(ptr, len, true)
    }

    fn map(&self, ptr: NonNull<u8>, bytes: u64, has_pages: bool) -> Result<u64> {
        let base = ptr.as_ptr() as u64;
        let mut inner = self.lock();
        let len = if has_pages { inner.bounds.accessible(bytes) } else { Some(bytes) };
        let Some(len) = len.filter(|len| bytes != 0 && base.checked_add(*len).is_some()) else {
            return Err(Error::InvalidArgument(format!("a host range of {bytes} bytes at {base:#x}")));
        };
        inner.insert(Region { len, has_pages, ..Region::of_host(base, bytes, ptr) })?;
        Ok(base)
    }

    /// As [`map_host`](Self::map_host), at an address that the host's memory never has: one of those of device allocations, which has the
    /// same place in its page as `ptr`.
    ///
    /// # Errors
    /// - [`Error::InvalidArgument`] if the range is empty.
    /// - [`Error::OutOfMemory`] if no addresses are left.
    ///
    /// # Safety
    /// The same as that of [`map_host`](Self::map_host).
    pub unsafe fn map_host_elsewhere(&self, ptr: NonNull<u8>, len: u64) -> Result<u64> {
        refused::install();
        let in_page = ptr.as_ptr() as u64 % PAGE;
        if len == 0 {
            return Err(Error::InvalidArgument("a host range of 0 bytes".into()));
        }
        let mut inner = self.lock();
        let Some(gap) = len.checked_add(in_page).and_then(|bytes| inner.find_gap(bytes, PAGE)) else {
            return Err(Error::OutOfMemory { requested: len, free: 0, total: self.capacity });
        };
        let base = gap + in_page;
        inner.insert(Region::of_host(base, len, ptr))?;
        inner.next = base + 2 * len + GUARD;
        Ok(base)
    }

    /// Unmaps the host range at `address`, which [`map_host`](Self::map_host) returned.
    ///
    /// # Errors
    /// [`Error::NotAnAllocation`] if no mapped host range begins at `address`.
    pub fn unmap_host(&self, address: u64) -> Result<()> {
        let mut inner = self.lock();
        match inner.regions.get(&address) {
            Some(region) if region.is_host() => {}
            _ => return Err(Error::NotAnAllocation { address }),
        }
        inner.regions.remove(&address);
        inner.snapshot = None;
        Ok(())
    }

    /// Says whether the live range at `address` is fine-grained: whether the host sees what kernels write while they run.
    /// Mapped host memory is by default, device memory is not. gfx90a does not perform floating-point atomics to
    /// fine-grained memory ([`FineGrainedAtomics`](crate::FineGrainedAtomics)).
    ///
    /// # Errors
    /// [`Error::NotAnAllocation`] if no live range begins at `address`.
    pub fn set_fine_grained(&self, address: u64, is_fine: bool) -> Result<()> {
        let mut inner = self.lock();
        let region = inner.regions.get_mut(&address);
        region.ok_or(Error::NotAnAllocation { address })?.is_fine = is_fine;
        inner.snapshot = None;
        Ok(())
    }

    /// Returns the live range that contains `address`; `None` if there is none. What [`Bounds::Pages`] adds to an
    /// allocation does not count.
    pub fn lookup(&self, address: u64) -> Option<RegionInfo> {
        let inner = self.lock();
        let (_, r) = inner.regions.range(..=address).next_back()?;
        let len = r.own();
        let has_read_only = r.mapped.as_ref().is_some_and(|parts| !parts.is_empty());
        (address - r.base < len).then_some(RegionInfo {
            base: r.base,
            len,
            is_host: r.is_host(),
            has_read_only,
        })
    }

    /// Says where in an allocation `address` is, or in the rest of its last page; `None` if it is in neither.
    pub(crate) fn position(&self, address: u64) -> Option<String> {
        let r = self.region(address)?;
        let (offset, own) = (address - r.base, r.own());
        let range = format!("{:#x}..{:#x}", r.base, r.base + own);
        Some(match offset.checked_sub(own) {
            None => format!("byte {offset} of {range}"),
            Some(past) => format!("{past} bytes past the end of {range}"),
        })
    }

    /// Returns whether `address` is in a live device allocation of this address space, and not in another's or the host's.
    pub fn owns(&self, address: u64) -> bool {
        self.region(address).is_some_and(|region| !region.shared && !region.is_host())
    }

    /// Returns whether a byte of `bytes` bytes at `address` may only be read.
    pub fn is_read_only(&self, address: u64, bytes: u64) -> bool {
        self.region(address).is_some_and(|region| region.is_read_only(address, bytes))
    }

    /// Makes the device allocation or host range at `address` accessible in `other` too, at the same address, until `other` is told
    /// to [`unshare`](Self::unshare) it. It can't be freed through `other` and doesn't count towards its capacity.
    ///
    /// # Errors
    /// - [`Error::NotAnAllocation`] if no live device allocation or host range of this address space begins at `address`.
    /// - [`Error::InvalidArgument`] if it overlaps a live range of `other`.
    pub fn share(&self, address: u64, other: &AddressSpace) -> Result<()> {
        let is_own = |r: &&Region| !r.shared && r.mapped.is_none();
        let region = self.lock().regions.get(&address).filter(is_own).cloned();
        let Some(region) = region else { return Err(Error::NotAnAllocation { address }) };
        let mut inner = other.lock();
        inner.insert(Region { shared: true, ..region })
    }

    /// Removes an allocation of another address space that [`share`](Self::share) made accessible here. Does nothing if
    /// there is no such allocation at `address`.
    pub fn unshare(&self, address: u64) {
        let mut inner = self.lock();
        if inner.regions.get(&address).is_some_and(|r| r.shared) {
            inner.regions.remove(&address);
            inner.snapshot = None;
        }
    }

    /// Tracks which bytes of new allocations are written from now on, for the sanitizer.
    pub(crate) fn track_writes(&self) {
        self.lock().tracked = true;
    }

    /// Sets what kernels can access behind new allocations.
    pub(crate) fn set_bounds(&self, bounds: Bounds) {
        self.lock().bounds = bounds;
    }

    /// Marks bytes as written for the sanitizer, without writing them.
    pub(crate) fn count_as_written(&self, address: u64, len: u64) {
        mark(self.region(address).as_ref(), address, len);
    }

    /// Returns where the host accesses `len` bytes of an allocation, until it is freed or moved to a file. The sanitizer takes
    /// them for written. While a dispatch runs that accesses them, the host may do so through atomic operations alone.
    ///
    /// # Errors
    /// [`Error::OutOfBounds`] if the bytes are not all in one live range.
    pub fn host_address(&self, address: u64, len: u64) -> Result<NonNull<u8>> {
        let (region, range) = self.range(address, len)?;
        mark(region.as_ref(), address, len);
        let start = range.ptr.wrapping_add((address - range.base) as usize);
        NonNull::new(start).ok_or_else(|| Error::InvalidArgument("0 bytes of host memory".into()))
    }

    /// Returns how much device memory is allocated.
    pub fn usage(&self) -> MemoryUsage {
        MemoryUsage { used: self.lock().used, capacity: self.capacity }
    }

    /// Reads `out.len()` bytes at `address`.
    ///
    /// # Errors
    /// [`Error::OutOfBounds`] if the bytes are not all in one live range, or the host refuses to access them.
    pub fn read(&self, address: u64, out: &mut [u8]) -> Result<()> {
        let (region, range) = self.range(address, out.len() as u64)?;
        unless_refused([&region], out, |out| range.read_bytes(address, out))
    }

    /// Writes `data` to `address`.
    ///
    /// # Errors
    /// As for [`read`](Self::read).
    pub fn write(&self, address: u64, data: &[u8]) -> Result<()> {
        let (region, range) = self.range(address, data.len() as u64)?;
        unless_refused([&region], data, |data| range.write_bytes(address, data))?;
        mark(region.as_ref(), address, data.len() as u64);
        Ok(())
    }

    /// Copies `bytes` bytes from `src` to `dst`. The two may overlap.
    ///
    /// # Errors
    /// As for [`read`](Self::read), of either.
    pub fn copy(&self, dst: u64, src: u64, bytes: u64) -> Result<()> {
        self.copy_from(self, dst, src, bytes)
    }

    /// Copies `bytes` bytes from `src` of another address space, or this one, to `dst` of this one.
    ///
    /// # Errors
    /// As for [`read`](Self::read), of either.
    pub fn copy_from(&self, other: &AddressSpace, dst: u64, src: u64, bytes: u64) -> Result<()> {
        let (from_region, from) = other.range(src, bytes)?;
        let (to_region, to) = self.range(dst, bytes)?;
        // The buffer stays in the host's first cache.
        let mut buffer = vec![0; bytes.min(16 << 10) as usize];
        let step = buffer.len().max(1) as u64;
        let steps = bytes.div_ceil(step);
        unless_refused([&from_region, &to_region], [0; 0], |_| {
            for n in 0..steps {
                // Copies backwards if the destination begins inside the source, as `memmove` does.
                let n = if dst > src { steps - 1 - n } else { n };
                let part = &mut buffer[..(bytes - n * step).min(step) as usize];
                from.read_bytes(src + n * step, part);
                to.write_bytes(dst + n * step, part);
            }
        })?;
        if let (Some(from), Some(to)) = (&from_region, &to_region)
            && let Some(shadow) = &to.shadow
        {
            shadow.copy(dst - to.base, from.shadow.as_deref(), src - from.base, bytes);
        }
        Ok(())
    }

    /// Writes `pattern` `count` times, one after the other, from `address` on.
    ///
    /// # Errors
    /// - [`Error::OutOfBounds`] as for [`read`](Self::read).
    /// - [`Error::InvalidArgument`] if the pattern is empty or the number of bytes overflows.
    pub fn fill(&self, address: u64, pattern: &[u8], count: u64) -> Result<()> {
        let total =
            (pattern.len() as u64).checked_mul(count).filter(|_| !pattern.is_empty()).ok_or_else(|| {
                Error::InvalidArgument(format!("a fill of {count} patterns of {} bytes", pattern.len()))
            })?;
        let (region, range) = self.range(address, total)?;
        let per_block = (16 << 10) / pattern.len().min(16 << 10);
        let block = pattern.repeat(per_block.min(usize::try_from(count).unwrap_or(usize::MAX)));
        unless_refused([&region], [0; 0], |_| {
            let mut at = 0;
            while at < total {
                let part = &block[..(total - at).min(block.len() as u64) as usize];
                range.write_bytes(address + at, part);
                at += part.len() as u64;
            }
        })?;
        mark(region.as_ref(), address, total);
        Ok(())
    }

    fn range(&self, address: u64, len: u64) -> Result<(Option<Region>, GuestRange)> {
        if len == 0 {
            return Ok((None, GuestRange::EMPTY));
        }
        let inner = self.lock();
        let region = inner.regions.range(..=address).next_back().map(|(_, r)| r.clone());
        match region {
            Some(r) if r.owned().contains(address, len) => {
                let range = r.owned();
                Ok((Some(r), range))
            }
            _ => Err(Error::OutOfBounds { address, len, nearest: inner.nearest(address, len, false) }),
        }
    }

    /// Returns the live range that contains `address`.
    pub(super) fn region(&self, address: u64) -> Option<Region> {
        let inner = self.lock();
        let (_, r) = inner.regions.range(..=address).next_back()?;
        r.range().contains(address, 1).then(|| r.clone())
    }

    /// Returns the ranges that are live now.
    pub(crate) fn snapshot(&self) -> Arc<RangeTable> {
        let mut inner = self.lock();
        if let Some(snapshot) = &inner.snapshot {
            return Arc::clone(snapshot);
        }
        let regions: Box<[Region]> = inner.regions.values().cloned().collect();
        // The view looks up the blocks of a divided allocation.
        // Without what `Bounds::Pages` adds: accesses there are noted (`View::past_end`).
        let range = |r: &Region| if r.divided { GuestRange { len: 0, ..r.range() } } else { r.owned() };
        let refusable = regions.iter().filter(|r| r.may_be_refused()).map(Region::range).collect();
        let ranges = regions.iter().map(range).collect();
        let snapshot = Arc::new(RangeTable { ranges, refusable, regions });
        inner.snapshot = Some(Arc::clone(&snapshot));
        snapshot
    }

    /// Describes the live and freed ranges nearest to `len` bytes at `address`, for error messages.
    pub(crate) fn nearest(&self, address: u64, len: u64, blocks: &BlockTable) -> String {
        if self.region(address).is_some_and(|region| region.divided) {
            return blocks.describe(address, len);
        }
        self.lock().nearest(address, len, true)
    }

    /// Checks that `len` bytes at `address` are in one of the given blocks, if they are in a divided allocation.
    ///
    /// # Errors
    /// [`Error::OutOfBounds`] if they are not.
    pub fn check_blocks(&self, address: u64, len: u64, blocks: &BlockTable) -> Result<()> {
        if !self.region(address).is_some_and(|region| region.divided) {
            return Ok(());
        }
        match blocks.find(address, len) {
            BlockAt::Block(_) => Ok(()),
            _ => Err(Error::OutOfBounds { address, len, nearest: blocks.describe(address, len) }),
        }
    }
}

/// Accesses regions, which it keeps alive, and memory of the host. The error names the first byte that the host refused.
fn unless_refused<const N: usize, H: AsRef<[u8]>>(
    regions: [&Option<Region>; N],
    host: H,
    access: impl FnOnce(H),
) -> Result<()> {
    if !refused::is_installed() {
        access(host);
        return Ok(());
    }
    let refusable = regions.iter().copied().flatten().filter(|region| region.may_be_refused());
    let mut ranges: Vec<GuestRange> = refusable.map(Region::range).collect();
    let (start, len) = (host.as_ref().as_ptr(), host.as_ref().len() as u64);
    ranges.push(GuestRange { base: start as u64, len, ptr: start.cast_mut() });
    let watch = Watch::begin(&ranges);
    access(host);
    match watch.end() {
        None => Ok(()),
        Some(Refused { address, access }) => {
            let nearest =
                format!("a page of the host's memory that the process itself may not {}", access.name());
            Err(Error::OutOfBounds { address, len: 1, nearest })
        }
    }
}

/// Marks bytes of a region as written, if that is tracked.
fn mark(region: Option<&Region>, address: u64, len: u64) {
    if let Some(Region { base, shadow: Some(shadow), .. }) = region {
        shadow.mark(address - base, len);
    }
}

/// The sanitizer's record for bytes that a kernel accesses.
pub(crate) enum ShadowRange<'a> {
    /// The bytes are not in an allocation: they are the dispatch's own memory, or the access faults.
    Outside,
    /// The bytes are in a range whose writes are not tracked.
    Untracked,
    /// The bytes are in a tracked allocation, at this offset in bytes; its own bytes are as many as the last number.
    At(&'a Shadow, u64, u64),
}

impl Inner {
    /// Adds a range, unless it overlaps another.
    pub(super) fn insert(&mut self, region: Region) -> Result<()> {
        let (base, end) = (region.base, region.base + region.len);
        if let Some((_, r)) = self.regions.range(..end).next_back()
            && r.base + r.len > base
        {
            return Err(Error::InvalidArgument(format!(
                "the range {base:#x}..{end:#x} overlaps the live range {:#x}..{:#x}",
                r.base,
                r.base + r.len
            )));
        }
        self.regions.insert(base, region);
        self.snapshot = None;
        Ok(())
    }

    /// Finds an address for `bytes` bytes: after the last allocation if they fit there, else in the first gap.
    fn find_gap(&self, bytes: u64, align: u64) -> Option<u64> {
        let fits = |from: u64, until: u64| {
            let base = from.checked_next_multiple_of(align)?;
            // An allocation can be divided later, and then has twice as many addresses.
            (base.checked_add(bytes.checked_mul(2)?)?.checked_add(GUARD)? <= until).then_some(base)
        };
        if let Some(base) = fits(self.next, self.arena.end) {
            return Some(base);
        }
        let mut from = self.arena.start;
        for region in self.regions.range(self.arena.clone()).map(|(_, r)| r) {
            if let Some(base) = fits(from, region.base) {
                return Some(base);
            }
            from = region.base + 2 * region.bytes + GUARD;
        }
        fits(from, self.arena.end)
    }

    /// Returns whether bytes that are past the end of an allocation are in its last page.
    fn is_in_last_page(&self, address: u64, len: u64) -> bool {
        let Some((_, r)) = self.regions.range(..=address).next_back() else { return false };
        let end = (address - r.base).saturating_add(len);
        let pages = Bounds::Pages.accessible(r.bytes);
        r.has_pages && !r.divided && end > r.bytes && pages.is_some_and(|pages| end <= pages)
    }

    /// The reserved addresses of which `address` is one, and how many they are.
    fn reserved_at(&self, address: u64) -> Option<(u64, u64)> {
        let (base, bytes) = self.reserved.range(..=address).next_back()?;
        (address - base < *bytes).then_some((*base, *bytes))
    }

    /// Describes the ranges nearest to `len` bytes at `address`, which a kernel or the host accessed.
    fn nearest(&self, address: u64, len: u64, by_kernel: bool) -> String {
        let show = |base: u64, len: u64| format!("{base:#x}..{:#x} ({len} bytes)", base + len);
        let mut parts = Vec::new();
        let reserved = self.reserved_at(address);
        // Of reserved addresses, what is elsewhere says nothing.
        let is_near = |r: &Region| reserved.is_none_or(|(base, len)| r.base.wrapping_sub(base) < len);
        if let Some((_, r)) = self.regions.range(..=address).next_back().filter(|(_, r)| is_near(r)) {
            let (offset, own) = (address - r.base, r.own());
            if offset <= own.saturating_sub(len.max(1)) && len <= own {
                return format!("{offset} bytes into {}", show(r.base, own));
            }
            parts.push(match offset.checked_sub(own) {
                None => format!("it begins inside {} but runs past its end", show(r.base, own)),
                Some(past) => format!("{past} bytes past the end of {}", show(r.base, own)),
            });
            if by_kernel && self.is_in_last_page(address, len) {
                parts.push(
                    "a GPU lets kernels access the rest of its last page, and so does `--bounds pages`"
                        .into(),
                );
            }
        }
        if let Some((_, r)) =
            self.regions.range(address.saturating_add(1)..).next().filter(|(_, r)| is_near(r))
        {
            parts.push(format!("{} bytes before {}", r.base - address, show(r.base, r.own())));
        }
        if let Some((base, len)) = reserved {
            let part = "where no memory is mapped that this device may access";
            parts.push(format!("in the reserved addresses {}, {part}", show(base, len)));
        }
        if let Some((base, len)) = self.freed.iter().rev().find(|(b, l)| address.wrapping_sub(*b) < *l) {
            parts.push(format!("inside {}, which was freed", show(*base, *len)));
        }
        if parts.is_empty() { "no allocation is live".into() } else { parts.join("; ") }
    }
}

/// The ranges that were live at one time, sorted by address.
pub(crate) struct RangeTable {
    pub(super) ranges: Box<[GuestRange]>,
    /// Those that the host may refuse to access: [`refused`].
    refusable: Box<[GuestRange]>,
    /// The regions of the same ranges. They keep the memory of `ranges` alive.
    pub(super) regions: Box<[Region]>,
}

impl RangeTable {
    /// Returns the ranges of memory that the program mapped, or that has parts which may only be read.
    pub(crate) fn refusable(&self) -> &[GuestRange] {
        &self.refusable
    }
}
