//! A range of guest addresses, with bounds-checked access.

use super::gather::Element;
use super::raw::{self, Cell};

/// One contiguous, accessible range of guest addresses.
///
/// All accesses check the bounds and return `None` outside of them. Multi-byte values are little-endian.
#[derive(Clone, Copy)]
pub(crate) struct GuestRange {
    pub(super) base: u64,
    pub(super) len: u64,
    pub(super) ptr: *mut u8,
}

// SAFETY: its accesses may race, as they go through `raw`. The holder of the range (`RangeTable`, `View`) keeps the
// memory alive.
unsafe impl Send for GuestRange {}
// SAFETY: its accesses may race, as they go through `raw`.
unsafe impl Sync for GuestRange {}

impl GuestRange {
    pub(crate) const EMPTY: GuestRange = GuestRange { base: 0, len: 0, ptr: std::ptr::null_mut() };

    /// Returns whether all `size` bytes at `address` are in the range.
    #[inline(always)]
    pub(crate) fn contains(&self, address: u64, size: u64) -> bool {
        let offset = address.wrapping_sub(self.base);
        offset < self.len && size <= self.len - offset
    }

    /// Returns a host pointer to `address` if all `size` bytes are in the range.
    #[inline(always)]
    pub(super) fn at(&self, address: u64, size: u64) -> Option<*mut u8> {
        // SAFETY: the offset lies inside the allocation that `ptr` points to.
        self.contains(address, size).then(|| unsafe { self.ptr.add((address - self.base) as usize) })
    }

    /// Loads an element; `None` if it is out of bounds.
    #[inline(always)]
    pub(crate) fn load<E: Element>(&self, address: u64) -> Option<E> {
        let p = self.at(address, E::SIZE as u64)?;
        // SAFETY: it is in bounds, and guest memory is only accessed through `raw`.
        Some(unsafe { E::load(p) })
    }

    /// Stores an element; `None` if it is out of bounds.
    #[inline(always)]
    pub(crate) fn store<E: Element>(&self, address: u64, value: E) -> Option<()> {
        let p = self.at(address, E::SIZE as u64)?;
        // SAFETY: as in `load`.
        unsafe { value.store(p) };
        Some(())
    }

    #[inline(always)]
    pub(crate) fn load_u32(&self, address: u64) -> Option<u32> {
        let p = self.at(address, 4)?;
        // SAFETY: it is in bounds, and guest memory is only accessed through `raw`.
        Some(unsafe { raw::load32(p) })
    }

    /// Loads dwords one by one; `None` if one is out of bounds.
    #[inline(always)]
    pub(crate) fn load_dwords<const N: usize>(&self, address: u64) -> Option<[u32; N]> {
        let p = self.at(address, 4 * N as u64)?;
        // SAFETY: they are in bounds, and guest memory is only accessed through `raw`.
        Some(std::array::from_fn(|n| unsafe { raw::load32(p.add(4 * n)) }))
    }

    #[inline(always)]
    pub(crate) fn store_u32(&self, address: u64, value: u32) -> Option<()> {
        let p = self.at(address, 4)?;
        // SAFETY: it is in bounds, and guest memory is only accessed through `raw`.
        unsafe { raw::store32(p, value) };
        Some(())
    }

    /// Returns the dword at `address` for atomic operations; `None` if it is out of bounds or `address` is not a
    /// multiple of 4.
    #[inline(always)]
    pub(crate) fn atomic_u32(&self, address: u64) -> Option<Cell<u32>> {
        let p = self.at(address, 4).filter(|p| p.addr() & 3 == 0)?;
        // SAFETY: it is in bounds and aligned, guest memory is only accessed through `raw`, and the holder of the range
        // keeps it alive.
        Some(unsafe { Cell::new(p) })
    }

    /// Returns the 64-bit word at `address` for atomic operations; `None` if it is out of bounds or `address` is not a
    /// multiple of 8.
    #[inline(always)]
    pub(crate) fn atomic_u64(&self, address: u64) -> Option<Cell<u64>> {
        let p = self.at(address, 8).filter(|p| p.addr() & 7 == 0)?;
        // SAFETY: as in `atomic_u32`.
        Some(unsafe { Cell::new(p) })
    }

    /// Copies bytes out of the range. The caller has checked the bounds; if they are not in the range, nothing is
    /// copied.
    pub(crate) fn read_bytes(&self, address: u64, out: &mut [u8]) {
        let Some(p) = self.at(address, out.len() as u64) else { return };
        // SAFETY: the bytes are in bounds, and guest memory is only accessed through `raw`. `out` is outside of it.
        unsafe { raw::read(p, out) };
    }

    /// Copies bytes into the range. The caller has checked the bounds; if they are not in the range, nothing is copied.
    pub(crate) fn write_bytes(&self, address: u64, data: &[u8]) {
        let Some(p) = self.at(address, data.len() as u64) else { return };
        // SAFETY: as in `read_bytes`.
        unsafe { raw::write(p, data) };
    }
}
