//! Accesses of all lanes of a wave to global memory, after one bounds check for them together.

use std::marker::PhantomData;

use super::cells::Cells;
use super::guest_range::GuestRange;
use super::raw::{self, Cell, Piece};
use crate::state::bytes::Bytes;
use crate::state::wave::{Active, CHUNK, LANES};

/// A value that one lane loads or stores.
pub(crate) trait Element: Bytes {
    /// Loads the value: in one access if it is naturally aligned and has at most 8 bytes, or 16 on hosts that can.
    ///
    /// # Safety
    /// `p` must point to `SIZE` valid bytes, which are only accessed through [`raw`].
    unsafe fn load(p: *mut u8) -> Self;
    /// Stores the value: in one access if it is naturally aligned and has at most 8 bytes, or 16 on hosts that can.
    ///
    /// # Safety
    /// The same as for [`load`](Self::load).
    unsafe fn store(self, p: *mut u8);

    /// Loads a value from each pointer, as [`load`](Self::load) does.
    ///
    /// # Safety
    /// The same as for [`load`](Self::load).
    #[inline(always)]
    unsafe fn load_all<const M: usize>(p: [*mut u8; M]) -> [Self; M] {
        // SAFETY: as the caller guarantees.
        p.map(|p| unsafe { Self::load(p) })
    }

    /// Stores a value at each pointer, as [`store`](Self::store) does.
    ///
    /// # Safety
    /// The same as for [`load`](Self::load).
    #[inline(always)]
    unsafe fn store_all<const M: usize>(values: [Self; M], p: [*mut u8; M]) {
        for (value, p) in values.into_iter().zip(p) {
            // SAFETY: as the caller guarantees.
            unsafe { value.store(p) };
        }
    }
}

impl Element for u8 {
    #[inline(always)]
    unsafe fn load(p: *mut u8) -> Self {
        // SAFETY: as the caller guarantees.
        unsafe { raw::load8(p) }
    }
    #[inline(always)]
    unsafe fn store(self, p: *mut u8) {
        // SAFETY: as the caller guarantees.
        unsafe { raw::store8(p, self) }
    }
}

impl Element for u16 {
    #[inline(always)]
    unsafe fn load(p: *mut u8) -> Self {
        // SAFETY: as the caller guarantees.
        unsafe { raw::load16(p) }
    }
    #[inline(always)]
    unsafe fn store(self, p: *mut u8) {
        // SAFETY: as the caller guarantees.
        unsafe { raw::store16(p, self) }
    }
}

impl<const N: usize> Element for [u32; N] {
    #[inline(always)]
    unsafe fn load(p: *mut u8) -> Self {
        // SAFETY: as the caller guarantees.
        let [value] = unsafe { Self::load_all([p]) };
        value
    }
    #[inline(always)]
    unsafe fn store(self, p: *mut u8) {
        // SAFETY: as the caller guarantees.
        unsafe { Self::store_all([self], [p]) };
    }
    #[inline(always)]
    unsafe fn load_all<const M: usize>(p: [*mut u8; M]) -> [Self; M] {
        let mut out = [[0; N]; M];
        if N == 4
            && let Ok(fours) = <&mut [[u32; 4]; M]>::try_from(out.as_flattened_mut().as_chunks_mut().0)
        {
            // rocPRIM's scans keep a flag and a value in the 16 bytes that a lane stores and another loads.
            // SAFETY: as the caller guarantees.
            *fours = unsafe { raw::load128(p) };
            return out;
        }
        for (out, p) in out.iter_mut().zip(p) {
            let (pairs, last) = out.as_chunks_mut::<2>();
            for (n, pair) in pairs.iter_mut().enumerate() {
                // Two dwords in one access, because a kernel may rely on a 64-bit load being atomic.
                // SAFETY: as the caller guarantees.
                let both = unsafe { raw::load64(p.add(8 * n)) };
                *pair = [both as u32, (both >> 32) as u32];
            }
            for one in last {
                // SAFETY: as the caller guarantees; `last` has the dword after the pairs.
                *one = unsafe { raw::load32(p.add(4 * (N - 1))) };
            }
        }
        out
    }
    #[inline(always)]
    unsafe fn store_all<const M: usize>(values: [Self; M], p: [*mut u8; M]) {
        if N == 4
            && let Ok(fours) = <&[[u32; 4]; M]>::try_from(values.as_flattened().as_chunks().0)
        {
            // SAFETY: as the caller guarantees.
            return unsafe { raw::store128(p, *fours) };
        }
        for (value, p) in values.iter().zip(p) {
            let (pairs, last) = value.as_chunks::<2>();
            for (n, pair) in pairs.iter().enumerate() {
                let both = u64::from(pair[0]) | u64::from(pair[1]) << 32;
                // SAFETY: as the caller guarantees.
                unsafe { raw::store64(p.add(8 * n), both) };
            }
            for one in last {
                // SAFETY: as the caller guarantees; `last` has the dword after the pairs.
                unsafe { raw::store32(p.add(4 * (N - 1)), *one) };
            }
        }
    }
}

/// The addresses of the lanes of a wave.
///
/// # Safety
/// The results of `inside` and `pattern` must be right for what `at` returns, which must not change.
pub(crate) unsafe trait Addresses {
    fn at(&self, lane: usize) -> u64;

    /// Returns whether the addresses of all active lanes are from `base` to `base + limit`, both included.
    fn inside(&self, base: u64, limit: u64, active: &Active<'_>) -> bool;

    /// Returns the pattern of a chunk of lanes, each of which accesses `size` bytes.
    fn pattern(&self, chunk: usize, size: u32) -> Pattern;
}

// SAFETY: as for what is referred to.
unsafe impl<A: Addresses> Addresses for &A {
    #[inline(always)]
    fn at(&self, lane: usize) -> u64 {
        (*self).at(lane)
    }

    #[inline(always)]
    fn inside(&self, base: u64, limit: u64, active: &Active<'_>) -> bool {
        (*self).inside(base, limit, active)
    }

    #[inline(always)]
    fn pattern(&self, chunk: usize, size: u32) -> Pattern {
        (*self).pattern(chunk, size)
    }
}

/// The pattern of the addresses of a chunk of lanes.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Pattern {
    Scattered,
    /// All lanes have the same address.
    Same,
    /// Each lane's element follows that of the previous lane.
    Row,
}

/// A 64-bit address for each lane.
#[repr(C, align(64))]
pub(crate) struct Wide(pub(crate) [u64; LANES]);

impl Wide {
    /// Returns whether the `size` bytes of each lane follow those of the previous lane.
    #[inline(always)]
    pub(crate) fn is_run(&self, size: u32) -> bool {
        let first = opaque(&self.0[0]);
        let follows = |lane: usize| self.0[lane] ^ first.wrapping_add(lane as u64 * u64::from(size));
        // Comparing one of them first excludes most others.
        follows(LANES - 1) == 0 && (0..LANES).fold(0, |differ, lane| differ | follows(lane)) == 0
    }
}

// SAFETY: `inside` and `pattern` compute from the same numbers that `at` gives.
unsafe impl Addresses for Wide {
    #[inline(always)]
    fn at(&self, lane: usize) -> u64 {
        self.0[lane & (LANES - 1)]
    }

    #[inline(always)]
    fn inside(&self, base: u64, limit: u64, active: &Active<'_>) -> bool {
        // If the offset is above the limit, the top bit of one of these terms is set, as a valid offset and the limit
        // are below 2^63.
        let test = |at: u64| {
            let offset = at.wrapping_sub(base);
            limit.wrapping_sub(offset) | offset
        };
        // Plain loops over all lanes, which the compiler vectorises best.
        let mut out = 0;
        if active.all() {
            for at in &self.0 {
                out |= test(*at);
            }
        } else {
            for (lane, at) in self.0.iter().enumerate() {
                let keep = active.keep(lane) as i32 as i64 as u64;
                out |= test(*at) & keep;
            }
        }
        out >> 63 == 0
    }

    #[inline(always)]
    fn pattern(&self, chunk: usize, size: u32) -> Pattern {
        let (parts, _) = self.0.as_chunks::<CHUNK>();
        let part = &parts[chunk];
        let (first, second) = (opaque(&part[0]), opaque(&part[1]));
        let mut differ = 0;
        // Comparing two of them first excludes most other patterns.
        if second == first {
            for at in part {
                differ |= at ^ first;
            }
            if differ == 0 { Pattern::Same } else { Pattern::Scattered }
        } else if second == first.wrapping_add(size.into()) {
            for (j, at) in part.iter().enumerate() {
                differ |= at ^ first.wrapping_add(j as u64 * u64::from(size));
            }
            if differ == 0 { Pattern::Row } else { Pattern::Scattered }
        } else {
            Pattern::Scattered
        }
    }
}

/// Returns a value without the compiler's knowing that it is this one. Otherwise it leaves out the lanes that it knows to
/// be equal, and what remains are not whole vectors.
#[inline(always)]
pub(crate) fn opaque<T: Copy>(value: &T) -> T {
    // SAFETY: a reference is valid for reads.
    unsafe { std::ptr::read_volatile(value) }
}

/// A 64-bit base and unsigned 32-bit offsets.
#[repr(C, align(64))]
pub(crate) struct Based {
    pub(crate) offsets: [u32; LANES],
    pub(crate) base: u64,
}

// SAFETY: as for `Wide`.
unsafe impl Addresses for Based {
    #[inline(always)]
    fn at(&self, lane: usize) -> u64 {
        self.base.wrapping_add(u64::from(self.offsets[lane & (LANES - 1)]))
    }

    #[inline(always)]
    fn inside(&self, base: u64, limit: u64, active: &Active<'_>) -> bool {
        let (mut low, mut high) = (!0, 0);
        if active.all() {
            for at in &self.offsets {
                low = low.min(*at);
                high = high.max(*at);
            }
        } else {
            for (lane, at) in self.offsets.iter().enumerate() {
                let keep = active.keep(lane);
                low = low.min(at | !keep);
                high = high.max(at & keep);
            }
        }
        // A signed number, because offsets may lead into the range from a base before it. The limit is below 2^63 and
        // the offsets are below 2^32, so no sum of these wraps.
        let from = self.base.wrapping_sub(base) as i64;
        from.checked_add(i64::from(low)).is_some_and(|o| o >= 0)
            && from.checked_add(i64::from(high)).is_some_and(|o| o as u64 <= limit)
    }

    #[inline(always)]
    fn pattern(&self, chunk: usize, size: u32) -> Pattern {
        let (parts, _) = self.offsets.as_chunks::<CHUNK>();
        offsets_pattern(&parts[chunk], size)
    }
}

/// Returns whether the `size` bytes at each offset follow those at the previous one.
#[inline(always)]
pub(crate) fn offsets_are_run(offsets: &[u32; LANES], size: u32) -> bool {
    let first = opaque(&offsets[0]);
    let follows = |lane: usize| offsets[lane] ^ first.wrapping_add(lane as u32 * size);
    // Comparing one of them first excludes most others. Offsets that wrap around 2^32 are no run.
    follows(LANES - 1) == 0
        && offsets[LANES - 1] > first
        && (0..LANES).fold(0, |differ, lane| differ | follows(lane)) == 0
}

/// The bytes of all lanes, one lane's after the other's, as pieces of 64 bytes: one for each byte of a lane.
pub(crate) trait Pieces {
    /// Loads a piece.
    fn load(&self, n: usize) -> Piece;
    /// Returns the dwords of all lanes, where they can be read as any others.
    #[inline(always)]
    fn dwords(&self) -> Option<&[[u8; 4]]> {
        None
    }
    /// Stores a piece.
    fn store(&mut self, n: usize, piece: &Piece);
}

/// The elements of all lanes of a wave in one range, one after the other.
pub(crate) struct Run<E> {
    start: *mut u8,
    element: PhantomData<E>,
}

impl<E: Element> Run<E> {
    /// Returns the elements from an address on; `None` if the range does not contain them.
    #[inline(always)]
    pub(super) fn new(range: GuestRange, first: u64) -> Option<Self> {
        Some(Run { start: range.at(first, (E::SIZE * LANES) as u64)?, element: PhantomData })
    }
}

impl<E: Element> Pieces for Run<E> {
    #[inline(always)]
    fn load(&self, n: usize) -> Piece {
        assert!(n < E::SIZE);
        // SAFETY: `new` has checked the bounds of as many pieces as an element has bytes. Guest memory is only accessed
        // through `raw`, and the caller of `new` keeps the range alive.
        unsafe { raw::load_piece(self.start.wrapping_add(size_of::<Piece>() * n)) }
    }

    #[inline(always)]
    fn store(&mut self, n: usize, piece: &Piece) {
        assert!(n < E::SIZE);
        // SAFETY: as in `load`.
        unsafe { raw::store_piece(self.start.wrapping_add(size_of::<Piece>() * n), piece) }
    }
}

/// The lanes of `exec` in a chunk.
#[inline(always)]
pub(crate) fn part_of(exec: u64, chunk: usize) -> u64 {
    exec & WHOLE << (CHUNK * chunk)
}

/// All lanes of the first chunk.
pub(super) const WHOLE: u64 = (1 << CHUNK) - 1;

/// Returns the pattern of 32-bit offsets, at each of which `size` bytes are accessed.
#[inline(always)]
pub(crate) fn offsets_pattern(part: &[u32; CHUNK], size: u32) -> Pattern {
    let (first, second) = (opaque(&part[0]), opaque(&part[1]));
    let mut differ = 0;
    if second == first {
        for at in part {
            differ |= at ^ first;
        }
        if differ == 0 { Pattern::Same } else { Pattern::Scattered }
    } else if second == first.wrapping_add(size) {
        for (j, at) in part.iter().enumerate() {
            differ |= at ^ first.wrapping_add(j as u32 * size);
        }
        // Offsets that wrap around 2^32 are not a row.
        let wraps = part[CHUNK - 1] < first;
        if differ == 0 && !wraps { Pattern::Row } else { Pattern::Scattered }
    } else {
        Pattern::Scattered
    }
}

/// The elements of the active lanes, after a check that all of them are in one range.
pub(crate) struct Checked<'a, A, E> {
    /// The host pointer that guest address 0 would have in this range. Only for computing addresses.
    origin: *mut u8,
    addresses: &'a A,
    /// The lanes that have been checked.
    exec: u64,
    element: PhantomData<E>,
}

impl<'a, A: Addresses, E: Element> Checked<'a, A, E> {
    #[inline(always)]
    pub(super) fn new(range: GuestRange, addresses: &'a A, active: &Active<'_>) -> Option<Self> {
        let limit = range.len.checked_sub(E::SIZE as u64)?;
        if !addresses.inside(range.base, limit, active) {
            return None;
        }
        let origin = range.ptr.wrapping_sub(range.base as usize);
        Some(Checked { origin, addresses, exec: active.exec(), element: PhantomData })
    }

    /// # Safety
    /// The lane must be in `self.exec`.
    #[inline(always)]
    unsafe fn pointer(&self, lane: usize) -> *mut u8 {
        self.origin.wrapping_add(self.addresses.at(lane) as usize)
    }
}

// SAFETY: `exec` is the lanes that `new` has checked, and what `Addresses` says of them is right.
unsafe impl<A: Addresses, E: Element> Cells<E> for Checked<'_, A, E> {
    #[inline(always)]
    fn exec(&self) -> u64 {
        self.exec
    }

    #[inline(always)]
    fn pattern_of(&self, chunk: usize) -> Pattern {
        self.addresses.pattern(chunk, E::SIZE as u32)
    }

    #[inline(always)]
    unsafe fn load<const M: usize>(&self, lane: usize, _: usize) -> [E; M] {
        // SAFETY: `new` has checked the bounds of these lanes, which the caller guarantees to be active. The offset is 0.
        // Guest memory is only accessed through `raw`, and the caller of `new` keeps the range alive.
        unsafe { E::load_all(std::array::from_fn(|n| self.pointer(lane + n))) }
    }

    #[inline(always)]
    unsafe fn store<const M: usize>(&mut self, lane: usize, values: [E; M]) {
        // SAFETY: as in `load`.
        unsafe { E::store_all(values, std::array::from_fn(|n| self.pointer(lane + n))) }
    }

    #[inline(always)]
    unsafe fn load_row(&self, chunk: usize, _: usize) -> Piece {
        // SAFETY: as in `load`; the dwords of the chunk are one after the other.
        unsafe { raw::load_piece(self.pointer(chunk * CHUNK)) }
    }

    #[inline(always)]
    unsafe fn store_row(&mut self, chunk: usize, piece: &Piece) {
        // SAFETY: as in `load_row`.
        unsafe { raw::store_piece(self.pointer(chunk * CHUNK), piece) }
    }
}

/// The words that atomic operations of a wave change: dwords, or 64-bit words.
impl<E: Element> Checked<'_, Wide, E> {
    /// Returns an active lane's word; `None` if it is misaligned.
    #[inline(always)]
    pub(crate) fn cell<T>(&self, lane: usize) -> Option<Cell<T>> {
        assert!(self.exec >> lane & 1 != 0 && E::SIZE == size_of::<T>());
        // SAFETY: the lane is active, so its element is in bounds. Guest memory is only accessed through `raw`, and the
        // caller of `new` keeps the range alive.
        unsafe {
            let p = self.pointer(lane);
            p.addr().is_multiple_of(size_of::<T>()).then(|| Cell::new(p))
        }
    }
}
