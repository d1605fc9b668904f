//! Accesses of all lanes of a wave: one bounds check for them together, then accesses lane by lane.

use std::marker::PhantomData;

use super::guest_range::GuestRange;
use super::raw::{self, Cell};
use crate::state::bytes::Bytes;
use crate::state::wave::{Active, CHUNK, CHUNKS, LANES, Lanes, lanes_of};

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
        let mut out = [0; N];
        if let Ok(four) = <&mut [u32; 4]>::try_from(&mut out[..]) {
            // rocPRIM's scans keep a flag and a value in the 16 bytes that a lane stores and another loads.
            // SAFETY: as the caller guarantees.
            *four = unsafe { raw::load128(p) };
            return out;
        }
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
        out
    }
    #[inline(always)]
    unsafe fn store(self, p: *mut u8) {
        if let Ok(four) = <[u32; 4]>::try_from(&self[..]) {
            // SAFETY: as the caller guarantees.
            return unsafe { raw::store128(p, four) };
        }
        let (pairs, last) = self.as_chunks::<2>();
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
fn opaque<T: Copy>(value: &T) -> T {
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

    #[inline(always)]
    unsafe fn load(&self, lane: usize) -> E {
        // SAFETY: `new` has checked the bounds of this lane, which the caller guarantees to be active. Guest memory is
        // only accessed through `raw`, and the caller of `new` keeps the range alive.
        unsafe { E::load(self.pointer(lane)) }
    }

    /// Loads the element of every active lane, in order.
    #[inline(always)]
    pub(crate) fn each(&self, mut f: impl FnMut(usize, E)) {
        if self.exec == !0 {
            for lane in 0..LANES {
                // SAFETY: the lane is active.
                f(lane, unsafe { self.load(lane) });
            }
        } else {
            for lane in lanes_of(self.exec) {
                // SAFETY: the lane is active.
                f(lane, unsafe { self.load(lane) });
            }
        }
    }

    /// Stores the element of every active lane, in order.
    #[inline(always)]
    pub(crate) fn put(&self, mut f: impl FnMut(usize) -> E) {
        let store = |lane: usize, value: E| {
            // SAFETY: as in `load`; only called for active lanes.
            unsafe { value.store(self.pointer(lane)) }
        };
        if self.exec == !0 {
            for lane in 0..LANES {
                store(lane, f(lane));
            }
        } else {
            for lane in lanes_of(self.exec) {
                store(lane, f(lane));
            }
        }
    }
}

impl<A: Addresses, const N: usize> Checked<'_, A, [u32; N]> {
    /// Returns whether the elements of all lanes are one after the other.
    #[inline(always)]
    fn is_run(&self) -> bool {
        let follows = |c: usize| {
            self.addresses.at(c * CHUNK) == self.addresses.at(0).wrapping_add((4 * N * CHUNK * c) as u64)
        };
        (1..CHUNKS).all(follows)
            && (0..CHUNKS).all(|c| self.addresses.pattern(c, 4 * N as u32) == Pattern::Row)
    }

    /// Loads the dwords of all lanes to registers. Does nothing unless all lanes are active.
    #[inline(always)]
    pub(crate) fn rows(&self, rows: &mut [Lanes; N]) {
        if self.exec != !0 {
            return;
        }
        for c in 0..CHUNKS {
            match self.addresses.pattern(c, 4 * N as u32) {
                Pattern::Same => {
                    // SAFETY: all lanes are active.
                    let value = unsafe { self.load(c * CHUNK) };
                    for n in 0..N {
                        rows[n].0[c] = [value[n]; CHUNK];
                    }
                }
                Pattern::Row if N == 1 => {
                    // SAFETY: all lanes are active, and their dwords are one after the other.
                    unsafe { load_row(self.pointer(c * CHUNK), &mut rows[0].0[c]) };
                }
                _ => {
                    for j in 0..CHUNK {
                        // SAFETY: all lanes are active.
                        let value = unsafe { self.load(c * CHUNK + j) };
                        for n in 0..N {
                            rows[n].0[c][j] = value[n];
                        }
                    }
                }
            }
        }
    }

    /// Stores the dwords of all lanes from registers. Does nothing unless all lanes are active.
    #[inline(always)]
    pub(crate) fn put_rows(&self, rows: &[Lanes; N]) {
        if self.exec != !0 {
            return;
        }
        if N > 1 && self.is_run() {
            let mut all = [[[0; CHUNK]; CHUNKS]; N];
            let flat = all.as_flattened_mut().as_flattened_mut();
            for lane in 0..LANES {
                for n in 0..N {
                    flat[lane * N + n] = rows[n].flat()[lane];
                }
            }
            // SAFETY: all lanes are active.
            let start = unsafe { self.pointer(0) };
            if N == 4 && start.addr().is_multiple_of(16) {
                // Each lane's bytes are stored at once.
                for (lane, value) in flat.as_chunks::<4>().0.iter().enumerate() {
                    // SAFETY: as in `put`.
                    unsafe { raw::store128(start.wrapping_add(16 * lane), *value) };
                }
                return;
            }
            for (n, part) in all.as_flattened().iter().enumerate() {
                // SAFETY: as in `rows`.
                unsafe { store_row(self.pointer(0).wrapping_add(4 * CHUNK * n), part) };
            }
            return;
        }
        for c in 0..CHUNKS {
            if N == 1 && self.addresses.pattern(c, 4) == Pattern::Row {
                // SAFETY: as in `rows`.
                unsafe { store_row(self.pointer(c * CHUNK), &rows[0].0[c]) };
                continue;
            }
            for j in 0..CHUNK {
                let value: [u32; N] = std::array::from_fn(|n| rows[n].0[c][j]);
                // SAFETY: as in `put`.
                unsafe { value.store(self.pointer(c * CHUNK + j)) };
            }
        }
    }

    /// Calls `f` with every active lane and its dword for atomic operations, in order; `None` if the dword is
    /// misaligned. `N` must be 1.
    #[inline(always)]
    pub(crate) fn cells32(&self, mut f: impl FnMut(usize, Option<&Cell<u32>>)) {
        const { assert!(N == 1) };
        for lane in lanes_of(self.exec) {
            // SAFETY: the lane is active, so its element is in bounds. Guest memory is only accessed through `raw`, and
            // the caller of `new` keeps the range alive.
            let cell = unsafe {
                let p = self.pointer(lane);
                (p.addr() & 3 == 0).then(|| Cell::<u32>::new(p))
            };
            f(lane, cell.as_ref());
        }
    }

    /// Calls `f` with every active lane and its 64-bit word for atomic operations, in order; `None` if the word is
    /// misaligned. `N` must be 2.
    #[inline(always)]
    pub(crate) fn cells64(&self, mut f: impl FnMut(usize, Option<&Cell<u64>>)) {
        const { assert!(N == 2) };
        for lane in lanes_of(self.exec) {
            // SAFETY: the lane is active, so its element is in bounds. Guest memory is only accessed through `raw`, and
            // the caller of `new` keeps the range alive.
            let cell = unsafe {
                let p = self.pointer(lane);
                (p.addr() & 7 == 0).then(|| Cell::<u64>::new(p))
            };
            f(lane, cell.as_ref());
        }
    }
}

/// Loads a chunk of dwords, which are one after the other in memory.
///
/// # Safety
/// `p` must point to that many valid dwords, which are only accessed through [`raw`] and in this module.
#[inline(always)]
unsafe fn load_row(p: *mut u8, out: &mut [u32; CHUNK]) {
    #[cfg(all(target_arch = "x86_64", not(miri)))]
    // SAFETY: reads 64 valid bytes and writes the 64 of `out`.
    unsafe {
        copy_row(p, out.as_mut_ptr().cast());
    }
    #[cfg(any(not(target_arch = "x86_64"), miri))]
    // SAFETY: as the caller guarantees.
    unsafe {
        *out = <[u32; CHUNK]>::load(p);
    }
}

/// Stores a chunk of dwords, one after the other in memory.
///
/// # Safety
/// The same as for [`load_row`].
#[inline(always)]
unsafe fn store_row(p: *mut u8, values: &[u32; CHUNK]) {
    #[cfg(all(target_arch = "x86_64", not(miri)))]
    // SAFETY: reads the 64 bytes of `values` and writes 64 valid ones.
    unsafe {
        copy_row(values.as_ptr().cast(), p);
    }
    #[cfg(any(not(target_arch = "x86_64"), miri))]
    // SAFETY: as the caller guarantees.
    unsafe {
        values.store(p);
    }
}

/// Copies a chunk of dwords. To Rust's abstract machine these are relaxed atomic loads and stores of bytes, as in
/// [`raw`].
///
/// An x86-64 processor loads and stores each aligned dword of a wider access at once. This uses general registers:
/// vector instructions must be encoded like those around them, which inline assembly can't know, or they cost hundreds
/// of cycles.
///
/// # Safety
/// Both pointers must point to 64 valid bytes. If other threads may access the bytes, they must do so only through
/// [`raw`] and in this module.
#[cfg(all(target_arch = "x86_64", not(miri)))]
#[inline(always)]
unsafe fn copy_row(from: *const u8, to: *mut u8) {
    // SAFETY: as the caller guarantees.
    unsafe {
        std::arch::asm!(
            "mov {a}, [{from}]",
            "mov {b}, [{from} + 8]",
            "mov {c}, [{from} + 16]",
            "mov {d}, [{from} + 24]",
            "mov [{to}], {a}",
            "mov [{to} + 8], {b}",
            "mov [{to} + 16], {c}",
            "mov [{to} + 24], {d}",
            "mov {a}, [{from} + 32]",
            "mov {b}, [{from} + 40]",
            "mov {c}, [{from} + 48]",
            "mov {d}, [{from} + 56]",
            "mov [{to} + 32], {a}",
            "mov [{to} + 40], {b}",
            "mov [{to} + 48], {c}",
            "mov [{to} + 56], {d}",
            from = in(reg) from,
            to = in(reg) to,
            a = out(reg) _, b = out(reg) _, c = out(reg) _, d = out(reg) _,
            options(nostack, preserves_flags),
        );
    }
}
