//! The memory that a dispatch can access: the allocations that were live when it began, and its own memory.

use std::cell::Cell;
use std::sync::Arc;

use super::address_space::{AddressSpace, RangeTable, ShadowRange};
use super::backing::Backing;
use super::blocks::{BlockAt, BlockTable};
use super::gather::{Addresses, Checked, Element, Run};
use super::guest_range::GuestRange;
use super::region::Region;
use crate::report::error::{Error, Result};
use crate::state::wave::{Active, LANES};

/// The bytes within which a read may end past an allocation.
const GRANULE: u64 = 16;

/// The private memory of one dispatch: the kernarg segment, the dispatch packet, the queue.
pub(crate) struct DispatchMemory {
    /// There until it is dropped.
    backing: Option<Backing>,
    base: u64,
    len: u64,
}

/// The size of the dispatch memory that a thread keeps for its next dispatch: enough for a kernel that does not call the host.
/// Allocating and zeroing such a size costs more than the rest of setting a dispatch up.
const KEPT: usize = 2048;

thread_local! {
    static SPARE: Cell<Option<Backing>> = const { Cell::new(None) };
}

impl DispatchMemory {
    /// Allocates `len` zeroed bytes at guest address `base`.
    pub(crate) fn new(base: u64, len: u64) -> Result<DispatchMemory> {
        let bytes = usize::try_from(len.max(16)).ok();
        let backing = match bytes {
            Some(bytes @ ..=KEPT) => match SPARE.take() {
                Some(spare) => {
                    // SAFETY: it has `KEPT` bytes, and nothing else accesses it: who kept it had it alone.
                    unsafe { spare.ptr().write_bytes(0, bytes) };
                    Some(spare)
                }
                None => Backing::zeroed(KEPT),
            },
            Some(bytes) => Backing::zeroed(bytes),
            None => None,
        };
        match backing {
            Some(_) => Ok(DispatchMemory { backing, base, len }),
            None => Err(Error::OutOfMemory { requested: len, free: 0, total: 0 }),
        }
    }

    /// Returns the bytes, which nothing else accesses yet.
    pub(crate) fn bytes_mut(&mut self) -> &mut [u8] {
        let Some(backing) = &self.backing else { return &mut [] };
        // SAFETY: it has `len` bytes, all of which `new` has zeroed. Who has the only reference has given no range away.
        unsafe { std::slice::from_raw_parts_mut(backing.ptr().as_ptr(), self.len as usize) }
    }

    pub(crate) fn range(&self) -> GuestRange {
        let ptr = self.backing.as_ref().map_or(std::ptr::null_mut(), |backing| backing.ptr().as_ptr());
        GuestRange { base: self.base, len: self.len, ptr }
    }
}

impl Drop for DispatchMemory {
    fn drop(&mut self) {
        if self.len <= KEPT as u64 {
            // A thread that ends has no place for it any more.
            let _ = SPARE.try_with(|spare| spare.set(self.backing.take()));
        }
    }
}

/// An allocation, without what [`Bounds::Pages`](super::bounds::Bounds::Pages) adds to it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Memory {
    pub(crate) base: u64,
    pub(crate) len: u64,
}

/// The number of ranges that a view caches, each for some of the instructions.
const SLOTS: usize = 16;

/// Where a view keeps the ranges that it caches. The next view of the thread takes it over, without the ranges.
pub(crate) struct Recent(Box<[GuestRange; SLOTS]>);

impl Default for Recent {
    fn default() -> Recent {
        Recent(Box::new([GuestRange::EMPTY; SLOTS]))
    }
}

/// The memory that a dispatch can access, with a cache of the ranges used last. Each workgroup that is being run has
/// one.
pub(crate) struct View {
    last: GuestRange,
    /// See [`View::checked`].
    recent: Recent,
    snapshot: Arc<RangeTable>,
    block: Arc<DispatchMemory>,
    /// The blocks that the dispatch may access.
    blocks: Arc<BlockTable>,
    /// The address space, in which newer allocations are looked up.
    live: Option<Arc<AddressSpace>>,
    /// The newer allocations that were found.
    later: Vec<Region>,
    /// Whether a range may have come from what is live now, which may be freed while the dispatch runs: an allocation or a block that is
    /// newer than the snapshot.
    is_live: bool,
}

impl View {
    /// Returns a view for a test, without what is allocated later.
    #[cfg(test)]
    pub(crate) fn new(
        snapshot: Arc<RangeTable>,
        block: Arc<DispatchMemory>,
        blocks: Arc<BlockTable>,
    ) -> View {
        View::reusing(Recent::default(), snapshot, block, blocks, None)
    }

    /// Returns the view of a dispatch. With `live`, it also has the memory that is allocated after the snapshot was taken, by the device's
    /// `malloc` or by the host.
    pub(crate) fn reusing(
        mut recent: Recent,
        snapshot: Arc<RangeTable>,
        block: Arc<DispatchMemory>,
        blocks: Arc<BlockTable>,
        live: Option<Arc<AddressSpace>>,
    ) -> View {
        recent.0.fill(GuestRange::EMPTY);
        let last = GuestRange::EMPTY;
        View { last, recent, snapshot, block, blocks, live, later: Vec::new(), is_live: false }
    }

    /// Ends the view.
    pub(crate) fn into_recent(self) -> Recent {
        self.recent
    }

    /// Forgets what was found in live memory, so that it is looked up again. The rest is the same for the whole dispatch.
    pub(crate) fn forget(&mut self) {
        if !std::mem::take(&mut self.is_live) {
            return;
        }
        self.last = GuestRange::EMPTY;
        self.recent.0.fill(GuestRange::EMPTY);
        self.later.clear();
    }

    /// Returns whether the host may refuse an access: whether there is memory that the program mapped, or that may only be
    /// read.
    pub(crate) fn may_be_refused(&self) -> bool {
        !self.snapshot.refusable().is_empty()
    }

    /// Returns whether the byte at `address` may only be read.
    pub(crate) fn is_read_only(&mut self, address: u64) -> bool {
        // The look-up adds memory that is newer than the snapshot to `later`.
        self.range(address, 1).is_some() && self.known(address, 1).is_some_and(|r| r.is_read_only(address, 1))
    }

    /// Returns the range that contains all `size` bytes at `address`; `None` if no range does.
    #[inline(always)]
    pub(crate) fn range(&mut self, address: u64, size: u64) -> Option<GuestRange> {
        if self.last.contains(address, size) {
            return Some(self.last);
        }
        self.find(address, size)
    }

    /// Returns the range for a load or an atomic of `size` bytes at `address`.
    ///
    /// Unlike [`range`](Self::range), it rounds the end of a device allocation up to a whole dword. Compilers access
    /// the aligned dword around bytes and halves (LLVM's atomics of 8 and 16 bits are loops of `cmpswap`). The
    /// additional bytes belong to no other allocation.
    #[inline(always)]
    pub(crate) fn readable(&mut self, address: u64, size: u64) -> Option<GuestRange> {
        match self.range(address, size) {
            None if size == 4 && address & 3 == 0 => self.last_dword(address),
            range => range,
        }
    }

    #[cold]
    fn last_dword(&mut self, address: u64) -> Option<GuestRange> {
        let part = self.range(address, 1)?;
        // Mapped host memory is not rounded up, and the dispatch's own memory is whole dwords.
        self.known(address, 1).filter(|region| !region.is_host())?;
        // `Backing::zeroed` allocates whole dwords.
        Some(GuestRange { len: part.len.next_multiple_of(4), ..part })
    }

    /// Returns the range for a read of several dwords that begins in a device allocation and ends in the aligned 16 bytes of its
    /// last byte; and the allocation. Compilers merge aligned reads to wider ones where this can't be noticed: memory is
    /// protected by pages. LLVM 22 loads seven dwords with `s_load_dwordx8`. The additional bytes belong to no other allocation, which all begin at multiples of 256 bytes.
    #[cold]
    pub(crate) fn last_granule(&mut self, address: u64, size: u64) -> Option<(GuestRange, Memory)> {
        if size <= 4 || !address.is_multiple_of(4) {
            return None;
        }
        let part = self.range(address, 1)?;
        self.known(address, 1).filter(|region| !region.is_host())?;
        // `Backing::zeroed` allocates whole granules.
        let range = GuestRange { len: part.len.next_multiple_of(GRANULE), ..part };
        range.contains(address, size).then_some((range, Memory { base: part.base, len: part.len }))
    }

    /// Returns the region that contains `size` bytes at `address`. [`range`](Self::range) must have been called for
    /// them.
    fn known(&self, address: u64, size: u64) -> Option<&Region> {
        let regions = &self.snapshot.regions;
        let before = regions.partition_point(|r| r.base <= address).checked_sub(1).map(|n| &regions[n]);
        before.into_iter().chain(&self.later).find(|r| r.range().contains(address, size))
    }

    /// Returns the sanitizer's record for `size` bytes at `address`.
    pub(crate) fn tracked(&mut self, address: u64, size: u64) -> ShadowRange<'_> {
        // The look-up adds an allocation that is newer than the snapshot to `later`.
        if self.range(address, size).is_none() && self.past_end(address, size).is_none() {
            return ShadowRange::Outside;
        }
        match self.known(address, size) {
            Some(region @ Region { base, shadow: Some(shadow), .. }) => {
                ShadowRange::At(shadow, address - base, region.own())
            }
            Some(_) => ShadowRange::Untracked,
            None => ShadowRange::Outside,
        }
    }

    /// Returns the range for an access that runs past the end of an allocation and stays in its last page, which
    /// [`Bounds::Pages`](super::bounds::Bounds::Pages) allows; and the allocation without the rest of that page. It is
    /// not cached, so that each such access comes here.
    #[cold]
    pub(crate) fn past_end(&mut self, address: u64, size: u64) -> Option<(GuestRange, Memory)> {
        if self.known(address, size).is_none() {
            self.is_live = true;
            let contains = |region: &Region| region.range().contains(address, size);
            let region = self.live.as_ref()?.region(address).filter(contains)?;
            self.later.push(region);
        }
        let region = self.known(address, size).filter(|region| !region.divided)?;
        Some((region.range(), Memory { base: region.base, len: region.own() }))
    }

    /// Returns the allocation that contains the byte at `address`, if it is fine-grained.
    pub(crate) fn fine_grained(&mut self, address: u64) -> Option<Memory> {
        // The look-up adds an allocation that is newer than the snapshot to `later`.
        self.range(address, 1)?;
        let region = self.known(address, 1).filter(|region| region.is_fine)?;
        Some(Memory { base: region.base, len: region.own() })
    }

    #[inline(never)]
    fn find(&mut self, address: u64, size: u64) -> Option<GuestRange> {
        let ranges = &self.snapshot.ranges;
        let n = ranges.partition_point(|w| w.base <= address);
        let found = match n.checked_sub(1).map(|n| ranges[n]) {
            Some(w) if w.contains(address, size) => w,
            _ => match self.block.range() {
                w if w.contains(address, size) => w,
                _ => {
                    self.is_live = true;
                    match n.checked_sub(1).map(|n| &self.snapshot.regions[n]) {
                        Some(r) if r.divided && r.range().contains(address, size) => {
                            self.within(r, address, size)?
                        }
                        _ => self.find_later(address, size)?,
                    }
                }
            },
        };
        self.last = found;
        Some(found)
    }

    /// Returns the range of a region that contains `size` bytes at `address`, which are in the region: all of it, or the
    /// block.
    fn within(&self, region: &Region, address: u64, size: u64) -> Option<GuestRange> {
        let GuestRange { base, ptr, .. } = region.range();
        if !region.divided {
            return Some(region.owned());
        }
        let found = match self.blocks.find(address, size) {
            // A block that is newer than the dispatch, whose address the kernel was told otherwise.
            BlockAt::Nothing => self.live.as_ref()?.blocks().capture().find(address, size),
            found => found,
        };
        let BlockAt::Block(block) = found else { return None };
        let offset = (block.start - base) as usize;
        Some(GuestRange { base: block.start, len: block.bytes, ptr: ptr.wrapping_add(offset) })
    }

    #[cold]
    fn find_later(&mut self, address: u64, size: u64) -> Option<GuestRange> {
        let contains = |r: &Region| r.owned().contains(address, size);
        if let Some(region) = self.later.iter().find(|r| contains(r)) {
            return self.within(region, address, size);
        }
        let region = self.live.as_ref()?.region(address).filter(contains)?;
        let range = self.within(&region, address, size)?;
        // Holding the region keeps the memory alive as the snapshot does.
        self.later.push(region);
        Some(range)
    }
}

impl View {
    /// Returns the elements of the active lanes, if all of them are in one range. `slot` selects the cached range: it
    /// differs between instructions, each of which mostly accesses one allocation.
    #[inline(always)]
    pub(crate) fn checked<'a, A: Addresses, E: Element>(
        &mut self,
        slot: u32,
        addresses: &'a A,
        active: &Active<'_>,
    ) -> Option<Checked<'a, A, E>> {
        let slot = slot as usize % SLOTS;
        let checked = Checked::new(self.recent.0[slot], addresses, active);
        if checked.is_some() {
            return checked;
        }
        let range = self.range(addresses.at(active.first()), E::SIZE as u64)?;
        self.recent.0[slot] = range;
        Checked::new(range, addresses, active)
    }

    /// Returns the elements of all lanes, which follow each other from address `first` on, if they are in one range. `slot` is as for
    /// [`checked`](Self::checked).
    #[inline(always)]
    pub(crate) fn run<E: Element>(&mut self, slot: u32, first: u64) -> Option<Run<E>> {
        let slot = slot as usize % SLOTS;
        let run = Run::new(self.recent.0[slot], first);
        if run.is_some() {
            return run;
        }
        let range = self.range(first, (E::SIZE * LANES) as u64)?;
        self.recent.0[slot] = range;
        Run::new(range, first)
    }

    /// Loads the element of one lane; `None` if it is out of bounds.
    pub(crate) fn load_one<E: Element>(&mut self, address: u64) -> Option<E> {
        self.readable(address, E::SIZE as u64)?.load(address)
    }

    /// Stores the element of one lane; `None` if it is out of bounds.
    pub(crate) fn store_one<E: Element>(&mut self, address: u64, value: E) -> Option<()> {
        self.range(address, E::SIZE as u64)?.store(address, value)
    }
}
