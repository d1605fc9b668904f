//! What a dispatch sees of memory: the allocations that were live when it began, and its own block.

use std::sync::Arc;

use super::address_space::{AddressSpace, RangeTable, Region, ShadowRange};
use super::backing::Backing;
use super::gather::{Addresses, Checked, Element};
use super::guest_range::GuestRange;
use crate::report::error::{Error, Result};
use crate::state::wave::Active;

/// Memory of one dispatch that only it sees: the kernarg segment, the dispatch packet, the queue.
pub(crate) struct DispatchMemory {
    backing: Backing,
    base: u64,
    len: u64,
}

impl DispatchMemory {
    /// Zeroed, at guest address `base`.
    pub(crate) fn new(base: u64, len: u64) -> Result<DispatchMemory> {
        match usize::try_from(len.max(16)).ok().and_then(Backing::zeroed) {
            Some(backing) => Ok(DispatchMemory { backing, base, len }),
            None => Err(Error::OutOfMemory { requested: len, free: 0, total: 0 }),
        }
    }

    pub(crate) fn range(&self) -> GuestRange {
        GuestRange { base: self.base, len: self.len, ptr: self.backing.ptr().as_ptr() }
    }
}

/// Ranges that a view remembers, each for some instructions.
const SLOTS: usize = 16;

/// The memory that a dispatch sees, with the range last used at hand. One per workgroup being run.
pub(crate) struct View {
    last: GuestRange,
    /// See [`View::checked`].
    recent: [GuestRange; SLOTS],
    snapshot: Arc<RangeTable>,
    block: Arc<DispatchMemory>,
    /// Where to look for what was allocated since.
    live: Option<Arc<AddressSpace>>,
    /// What was found there.
    later: Vec<Region>,
}

impl View {
    pub(crate) fn new(snapshot: Arc<RangeTable>, block: Arc<DispatchMemory>) -> View {
        let recent = [GuestRange::EMPTY; SLOTS];
        View { last: GuestRange::EMPTY, recent, snapshot, block, live: None, later: Vec::new() }
    }

    /// With what is allocated while it is used, too (device-side `malloc`, or by the host).
    pub(crate) fn with_live(self, space: Arc<AddressSpace>) -> View {
        View { live: Some(space), ..self }
    }

    /// The range that holds all `size` bytes at `address`.
    #[inline(always)]
    pub(crate) fn range(&mut self, address: u64, size: u64) -> Option<GuestRange> {
        if self.last.contains(address, size) {
            return Some(self.last);
        }
        self.find(address, size)
    }

    /// The range that a load or an atomic operation of `size` bytes at `address` finds. As [`range`](Self::range), but
    /// the last dword of a device allocation counts whole: compilers make an aligned dword of it for what is done to
    /// its first byte or half (LLVM's atomics of 8 and 16 bits are loops of `cmpswap`). Nothing else is in the rest.
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
        // The caller's memory ends where it says; what the dispatch has of its own is whole dwords.
        self.known(address, 1).filter(|region| !region.is_host())?;
        // `Backing::zeroed` has whole dwords.
        Some(GuestRange { len: part.len.next_multiple_of(4), ..part })
    }

    /// The region that holds `size` bytes at `address`, once these were looked for.
    fn known(&self, address: u64, size: u64) -> Option<&Region> {
        let regions = &self.snapshot.regions;
        let before = regions.partition_point(|r| r.base <= address).checked_sub(1).map(|n| &regions[n]);
        before.into_iter().chain(&self.later).find(|r| r.range().contains(address, size))
    }

    /// What is known of `size` bytes at `address`.
    pub(crate) fn tracked(&mut self, address: u64, size: u64) -> ShadowRange<'_> {
        // What was allocated since the dispatch began is taken in by looking for it.
        if self.range(address, size).is_none() {
            return ShadowRange::Outside;
        }
        match self.known(address, size) {
            Some(Region { base, shadow: Some(shadow), .. }) => ShadowRange::At(shadow, address - base),
            Some(_) => ShadowRange::Untracked,
            None => ShadowRange::Outside,
        }
    }

    #[inline(never)]
    fn find(&mut self, address: u64, size: u64) -> Option<GuestRange> {
        let ranges = &self.snapshot.ranges;
        let n = ranges.partition_point(|w| w.base <= address);
        let found = match n.checked_sub(1).map(|n| ranges[n]) {
            Some(w) if w.contains(address, size) => w,
            _ => match self.block.range() {
                w if w.contains(address, size) => w,
                _ => self.find_later(address, size)?,
            },
        };
        self.last = found;
        Some(found)
    }

    #[cold]
    fn find_later(&mut self, address: u64, size: u64) -> Option<GuestRange> {
        let contains = |r: &Region| r.range().contains(address, size);
        if let Some(region) = self.later.iter().find(|r| contains(r)) {
            return Some(region.range());
        }
        let region = self.live.as_ref()?.region(address).filter(contains)?;
        let range = region.range();
        // Holding the region keeps the memory alive as the snapshot does.
        self.later.push(region);
        Some(range)
    }
}

impl View {
    /// The elements of the active lanes, if all lie in one range. `slot` tells instructions apart, each of which
    /// mostly accesses one allocation.
    #[inline(always)]
    pub(crate) fn checked<'a, A: Addresses, E: Element>(
        &mut self,
        slot: u32,
        addresses: &'a A,
        active: &Active<'_>,
    ) -> Option<Checked<'a, A, E>> {
        let slot = slot as usize % SLOTS;
        let checked = Checked::new(self.recent[slot], addresses, active);
        if checked.is_some() {
            return checked;
        }
        let range = self.range(addresses.at(active.first()), E::SIZE as u64)?;
        self.recent[slot] = range;
        Checked::new(range, addresses, active)
    }

    /// One lane's element.
    pub(crate) fn load_one<E: Element>(&mut self, address: u64) -> Option<E> {
        let p = self.readable(address, E::SIZE as u64)?.at(address, E::SIZE as u64)?;
        // SAFETY: in bounds, and guest memory is only accessed so.
        Some(unsafe { E::load(p) })
    }

    /// Stores one lane's element.
    pub(crate) fn store_one<E: Element>(&mut self, address: u64, value: E) -> Option<()> {
        let p = self.range(address, E::SIZE as u64)?.at(address, E::SIZE as u64)?;
        // SAFETY: as in `load_one`.
        unsafe { value.store(p) };
        Some(())
    }
}
