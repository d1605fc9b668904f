//! Accesses of all lanes of a wave: one bounds check for them together, then relaxed atomic accesses lane by lane.

use std::marker::PhantomData;
use std::sync::atomic::{AtomicU8, AtomicU16, AtomicU32, AtomicU64, Ordering::Relaxed};

use super::{View, Window};
use crate::lanes::lanes_of;
use crate::wave::{Active, CHUNK, CHUNKS, LANES, Lanes};

/// What one lane loads or stores: `u8`, `u16` or dwords.
pub(crate) trait Element: Copy {
    /// In bytes, at most 16.
    const SIZE: usize;
    /// The address bits that are 0 where it is naturally aligned. Wider elements are aligned as a dword is.
    const ALIGN: u64;

    /// From the first `SIZE` bytes.
    fn from_bytes(bytes: [u8; 16]) -> Self;
    /// To the first `SIZE` bytes.
    fn to_bytes(self) -> [u8; 16];

    /// Relaxed atomic loads.
    ///
    /// # Safety
    /// `p` points to `SIZE` bytes that are valid, only accessed atomically, and aligned.
    unsafe fn load(p: *mut u8) -> Self;
    /// Relaxed atomic stores.
    ///
    /// # Safety
    /// As for [`load`](Self::load).
    unsafe fn store(self, p: *mut u8);

    /// Loads wherever it is.
    ///
    /// # Safety
    /// As for [`load`](Self::load), but it needn't be aligned.
    #[inline]
    unsafe fn load_bytes(p: *mut u8) -> Self {
        let mut bytes = [0; 16];
        for (n, byte) in bytes.iter_mut().enumerate().take(Self::SIZE) {
            // SAFETY: one of the valid bytes; a byte is always aligned.
            *byte = unsafe { AtomicU8::from_ptr(p.add(n)) }.load(Relaxed);
        }
        Self::from_bytes(bytes)
    }

    /// Stores wherever it is.
    ///
    /// # Safety
    /// As for [`load_bytes`](Self::load_bytes).
    #[inline]
    unsafe fn store_bytes(self, p: *mut u8) {
        for (n, byte) in self.to_bytes().into_iter().enumerate().take(Self::SIZE) {
            // SAFETY: one of the valid bytes; a byte is always aligned.
            unsafe { AtomicU8::from_ptr(p.add(n)) }.store(byte, Relaxed);
        }
    }
}

impl Element for u8 {
    const SIZE: usize = 1;
    const ALIGN: u64 = 0;
    #[inline(always)]
    fn from_bytes(bytes: [u8; 16]) -> Self {
        bytes[0]
    }
    #[inline(always)]
    fn to_bytes(self) -> [u8; 16] {
        let mut bytes = [0; 16];
        bytes[0] = self;
        bytes
    }
    #[inline(always)]
    unsafe fn load(p: *mut u8) -> Self {
        // SAFETY: the caller's.
        unsafe { AtomicU8::from_ptr(p) }.load(Relaxed)
    }
    #[inline(always)]
    unsafe fn store(self, p: *mut u8) {
        // SAFETY: the caller's.
        unsafe { AtomicU8::from_ptr(p) }.store(self, Relaxed);
    }
}

impl Element for u16 {
    const SIZE: usize = 2;
    const ALIGN: u64 = 1;
    #[inline(always)]
    fn from_bytes(bytes: [u8; 16]) -> Self {
        u16::from_le_bytes([bytes[0], bytes[1]])
    }
    #[inline(always)]
    fn to_bytes(self) -> [u8; 16] {
        let mut bytes = [0; 16];
        bytes[..2].copy_from_slice(&self.to_le_bytes());
        bytes
    }
    #[inline(always)]
    unsafe fn load(p: *mut u8) -> Self {
        // SAFETY: the caller's.
        u16::from_le(unsafe { AtomicU16::from_ptr(p.cast()) }.load(Relaxed))
    }
    #[inline(always)]
    unsafe fn store(self, p: *mut u8) {
        // SAFETY: the caller's.
        unsafe { AtomicU16::from_ptr(p.cast()) }.store(self.to_le(), Relaxed);
    }
}

impl<const N: usize> Element for [u32; N] {
    const SIZE: usize = 4 * N;
    const ALIGN: u64 = 3;
    #[inline(always)]
    fn from_bytes(bytes: [u8; 16]) -> Self {
        let (words, _) = bytes.as_chunks::<4>();
        let mut out = [0; N];
        for (o, word) in out.iter_mut().zip(words) {
            *o = u32::from_le_bytes(*word);
        }
        out
    }
    #[inline(always)]
    fn to_bytes(self) -> [u8; 16] {
        let mut bytes = [0; 16];
        let (words, _) = bytes.as_chunks_mut::<4>();
        for (word, value) in words.iter_mut().zip(self) {
            *word = value.to_le_bytes();
        }
        bytes
    }
    #[inline(always)]
    unsafe fn load(p: *mut u8) -> Self {
        let mut out = [0; N];
        for (n, o) in out.iter_mut().enumerate() {
            // SAFETY: the caller's; every access to guest memory is made of dwords where it can be, so that races
            // are between accesses of one size.
            *o = u32::from_le(unsafe { AtomicU32::from_ptr(p.cast::<u32>().add(n)) }.load(Relaxed));
        }
        out
    }
    #[inline(always)]
    unsafe fn store(self, p: *mut u8) {
        for (n, value) in self.into_iter().enumerate() {
            // SAFETY: as in `load`.
            unsafe { AtomicU32::from_ptr(p.cast::<u32>().add(n)) }.store(value.to_le(), Relaxed);
        }
    }
}

/// The addresses of the lanes of a wave.
///
/// # Safety
/// `scan` and `pattern` must tell the truth about what `at` gives, which must not change.
pub(crate) unsafe trait Addresses {
    fn at(&self, lane: usize) -> u64;

    /// Looks at the active lanes, of which there is one at least.
    fn scan(&self, base: u64, limit: u64, active: &Active<'_>) -> Scan;

    /// How the lanes of a chunk lie, with `size` bytes each.
    fn pattern(&self, chunk: usize, size: u32) -> Pattern;
}

/// What a look at addresses found.
pub(crate) struct Scan {
    /// All are from `base` to `base + limit`, both included.
    pub(crate) inside: bool,
    /// The bits that are not the same in all of them.
    pub(crate) differ: u64,
}

/// How the addresses of a chunk of lanes lie.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Pattern {
    Scattered,
    /// All the same.
    Same,
    /// One element after the other.
    Row,
}

/// Full addresses.
pub(crate) struct Wide(pub(crate) [u64; LANES]);

// SAFETY: `scan` and `pattern` compute from the same numbers that `at` gives.
unsafe impl Addresses for Wide {
    #[inline(always)]
    fn at(&self, lane: usize) -> u64 {
        self.0[lane & (LANES - 1)]
    }

    #[inline(always)]
    fn scan(&self, base: u64, limit: u64, active: &Active<'_>) -> Scan {
        let first = self.at(active.first());
        // Where an offset is above the limit, the top bit of one of these is set: both are below 2^63.
        let test = |at: u64| {
            let offset = at.wrapping_sub(base);
            limit.wrapping_sub(offset) | offset
        };
        // Plain loops over all lanes: the compiler makes the best of those.
        let (mut out, mut differ) = (0, 0);
        if active.all() {
            for at in &self.0 {
                out |= test(*at);
                differ |= at ^ first;
            }
        } else {
            for (lane, at) in self.0.iter().enumerate() {
                let keep = active.keep(lane) as i32 as i64 as u64;
                out |= test(*at) & keep;
                differ |= (at ^ first) & keep;
            }
        }
        Scan { inside: out >> 63 == 0, differ }
    }

    #[inline(always)]
    fn pattern(&self, chunk: usize, size: u32) -> Pattern {
        let (parts, _) = self.0.as_chunks::<CHUNK>();
        let part = &parts[chunk];
        // A look at two of them saves comparing most that aren't.
        if part[1] == part[0] {
            if *part == [part[0]; CHUNK] { Pattern::Same } else { Pattern::Scattered }
        } else if part[1] == part[0].wrapping_add(size.into()) {
            let mut row = [0; CHUNK];
            for j in 0..CHUNK {
                row[j] = part[0].wrapping_add(j as u64 * u64::from(size));
            }
            if *part == row { Pattern::Row } else { Pattern::Scattered }
        } else {
            Pattern::Scattered
        }
    }
}

/// A 64-bit base and unsigned 32-bit offsets.
pub(crate) struct Based {
    pub(crate) base: u64,
    pub(crate) offsets: [u32; LANES],
}

// SAFETY: as for `Wide`.
unsafe impl Addresses for Based {
    #[inline(always)]
    fn at(&self, lane: usize) -> u64 {
        self.base.wrapping_add(u64::from(self.offsets[lane & (LANES - 1)]))
    }

    #[inline(always)]
    fn scan(&self, base: u64, limit: u64, active: &Active<'_>) -> Scan {
        let first = self.offsets[active.first()];
        let (mut low, mut high, mut differ) = (!0, 0, 0);
        if active.all() {
            for at in &self.offsets {
                low = low.min(*at);
                high = high.max(*at);
                differ |= at ^ first;
            }
        } else {
            for (lane, at) in self.offsets.iter().enumerate() {
                let keep = active.keep(lane);
                low = low.min(at | !keep);
                high = high.max(at & keep);
                differ |= (at ^ first) & keep;
            }
        }
        // As a signed number, so that a base before the window may have offsets that lead into it. The limit is
        // below 2^63 and the offsets are below 2^32, so nothing that matters wraps.
        let from = self.base.wrapping_sub(base) as i64;
        let inside = from.checked_add(i64::from(low)).is_some_and(|o| o >= 0)
            && from.checked_add(i64::from(high)).is_some_and(|o| o as u64 <= limit);
        Scan { inside, differ: differ.into() }
    }

    #[inline(always)]
    fn pattern(&self, chunk: usize, size: u32) -> Pattern {
        let (parts, _) = self.offsets.as_chunks::<CHUNK>();
        offsets_pattern(&parts[chunk], size)
    }
}

/// How 32-bit offsets lie, with `size` bytes each.
#[inline(always)]
pub(crate) fn offsets_pattern(part: &[u32; CHUNK], size: u32) -> Pattern {
    if part[1] == part[0] {
        if *part == [part[0]; CHUNK] { Pattern::Same } else { Pattern::Scattered }
    } else if part[1] == part[0].wrapping_add(size) {
        let mut row = [0; CHUNK];
        for j in 0..CHUNK {
            row[j] = part[0].wrapping_add(j as u32 * size);
        }
        // A row that wraps around 2^32 isn't one.
        let wraps = part[CHUNK - 1] < part[0];
        if *part == row && !wraps { Pattern::Row } else { Pattern::Scattered }
    } else {
        Pattern::Scattered
    }
}

/// The elements of the active lanes, all of which have been found to lie in one window.
pub(crate) struct Checked<'a, A, E> {
    /// Where address 0 would be. Only for computing addresses.
    origin: *mut u8,
    addresses: &'a A,
    /// The lanes that have been checked.
    exec: u64,
    aligned: bool,
    element: PhantomData<E>,
}

impl<'a, A: Addresses, E: Element> Checked<'a, A, E> {
    #[inline(always)]
    fn new(window: Window, addresses: &'a A, active: &Active<'_>) -> Option<Self> {
        let limit = window.len.checked_sub(E::SIZE as u64)?;
        let scan = addresses.scan(window.base, limit, active);
        if !scan.inside {
            return None;
        }
        let origin = window.ptr.wrapping_sub(window.base as usize);
        let first = (origin.addr() as u64).wrapping_add(addresses.at(active.first()));
        // If one is aligned and they differ in higher bits alone, all are.
        let aligned = (first | scan.differ) & E::ALIGN == 0;
        Some(Checked { origin, addresses, exec: active.exec(), aligned, element: PhantomData })
    }

    /// # Safety
    /// The lane must be in `self.exec`.
    #[inline(always)]
    unsafe fn pointer(&self, lane: usize) -> *mut u8 {
        self.origin.wrapping_add(self.addresses.at(lane) as usize)
    }

    #[inline(always)]
    unsafe fn load(&self, lane: usize) -> E {
        // SAFETY: `new` has checked this lane's bounds, and alignment for all lanes; all accesses to guest memory are
        // atomic, and whoever made the window keeps it alive.
        unsafe {
            let p = self.pointer(lane);
            if self.aligned { E::load(p) } else { E::load_bytes(p) }
        }
    }

    /// Loads every active lane's, in order.
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

    /// Stores every active lane's, in order.
    #[inline(always)]
    pub(crate) fn put(&self, mut f: impl FnMut(usize) -> E) {
        let store = |lane: usize, value: E| {
            // SAFETY: as in `load`; only called for active lanes.
            unsafe {
                let p = self.pointer(lane);
                if self.aligned { value.store(p) } else { value.store_bytes(p) }
            }
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
    /// Whether all lanes' elements are aligned and one after the other.
    #[inline(always)]
    fn is_run(&self) -> bool {
        let follows = |c: usize| {
            self.addresses.at(c * CHUNK) == self.addresses.at(0).wrapping_add((4 * N * CHUNK * c) as u64)
        };
        self.aligned
            && (1..CHUNKS).all(follows)
            && (0..CHUNKS).all(|c| self.addresses.pattern(c, 4 * N as u32) == Pattern::Row)
    }

    /// Loads all lanes' dwords into registers. All lanes must be active, else nothing is done.
    #[inline(always)]
    pub(crate) fn rows(&self, rows: &mut [Lanes; N]) {
        if self.exec != !0 {
            return;
        }
        for c in 0..CHUNKS {
            let pattern =
                if self.aligned { self.addresses.pattern(c, 4 * N as u32) } else { Pattern::Scattered };
            match pattern {
                Pattern::Same => {
                    // SAFETY: all lanes are active.
                    let value = unsafe { self.load(c * CHUNK) };
                    for n in 0..N {
                        rows[n].0[c] = [value[n]; CHUNK];
                    }
                }
                Pattern::Row if N == 1 => {
                    // SAFETY: all lanes are active, aligned, and their dwords are one after the other.
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

    /// Stores all lanes' dwords from registers. All lanes must be active, else nothing is done.
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
            for (n, part) in all.as_flattened().iter().enumerate() {
                // SAFETY: as in `rows`.
                unsafe { store_row(self.pointer(0).wrapping_add(4 * CHUNK * n), part) };
            }
            return;
        }
        for c in 0..CHUNKS {
            if N == 1 && self.aligned && self.addresses.pattern(c, 4) == Pattern::Row {
                // SAFETY: as in `rows`.
                unsafe { store_row(self.pointer(c * CHUNK), &rows[0].0[c]) };
                continue;
            }
            for j in 0..CHUNK {
                let value: [u32; N] = std::array::from_fn(|n| rows[n].0[c][j]);
                // SAFETY: as in `put`.
                unsafe {
                    let p = self.pointer(c * CHUNK + j);
                    if self.aligned { value.store(p) } else { value.store_bytes(p) }
                }
            }
        }
    }

    /// Every active lane's dword (`N` = 1) for atomic operations, in order. None for those that are misaligned.
    #[inline(always)]
    pub(crate) fn cells32(&self, mut f: impl FnMut(usize, Option<&AtomicU32>)) {
        const { assert!(N == 1) };
        for lane in lanes_of(self.exec) {
            // SAFETY: the lane is active, so in bounds; all accesses to guest memory are atomic.
            let cell = unsafe {
                let p = self.pointer(lane);
                (p.addr() & 3 == 0).then(|| AtomicU32::from_ptr(p.cast()))
            };
            f(lane, cell);
        }
    }

    /// Every active lane's 64 bits (`N` = 2) for atomic operations, in order. None for those that are misaligned.
    #[inline(always)]
    pub(crate) fn cells64(&self, mut f: impl FnMut(usize, Option<&AtomicU64>)) {
        const { assert!(N == 2) };
        for lane in lanes_of(self.exec) {
            // SAFETY: the lane is active, so in bounds; all accesses to guest memory are atomic.
            let cell = unsafe {
                let p = self.pointer(lane);
                (p.addr() & 7 == 0).then(|| AtomicU64::from_ptr(p.cast()))
            };
            f(lane, cell);
        }
    }
}

/// Loads a chunk's dwords, one after the other in memory.
///
/// # Safety
/// `p` points to as many dwords that are valid, only accessed atomically, and aligned.
#[inline(always)]
unsafe fn load_row(p: *mut u8, out: &mut [u32; CHUNK]) {
    #[cfg(all(target_arch = "x86_64", not(miri)))]
    // SAFETY: reads 64 valid bytes and writes the 64 of `out`.
    unsafe {
        copy_row(p, out.as_mut_ptr().cast());
    }
    #[cfg(any(not(target_arch = "x86_64"), miri))]
    // SAFETY: the caller's.
    unsafe {
        *out = <[u32; CHUNK]>::load(p);
    }
}

/// Stores a chunk's dwords, one after the other in memory.
///
/// # Safety
/// As for [`load_row`].
#[inline(always)]
unsafe fn store_row(p: *mut u8, values: &[u32; CHUNK]) {
    #[cfg(all(target_arch = "x86_64", not(miri)))]
    // SAFETY: reads the 64 bytes of `values` and writes 64 valid ones.
    unsafe {
        copy_row(values.as_ptr().cast(), p);
    }
    #[cfg(any(not(target_arch = "x86_64"), miri))]
    // SAFETY: the caller's.
    unsafe {
        values.store(p);
    }
}

/// Copies a chunk's dwords with relaxed atomic loads and stores of dwords.
///
/// That is what this is to the abstract machine. The compiler wouldn't join them, but an x86-64 processor loads and
/// stores each aligned dword of a wider access at once. General registers, because vector instructions would have to be
/// encoded as those around them are, which inline assembly can't know, or it costs hundreds of cycles.
///
/// # Safety
/// Both point to 64 bytes that are valid and aligned to dwords, and only accessed atomically if others may access them.
#[cfg(all(target_arch = "x86_64", not(miri)))]
#[inline(always)]
unsafe fn copy_row(from: *const u8, to: *mut u8) {
    // SAFETY: the caller's.
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

/// Ranges that a view remembers, each for some instructions.
pub(super) const SLOTS: usize = 16;

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
        let window = self.window(addresses.at(active.first()), E::SIZE as u64)?;
        self.recent[slot] = window;
        Checked::new(window, addresses, active)
    }

    /// One lane's element.
    pub(crate) fn load_one<E: Element>(&mut self, address: u64) -> Option<E> {
        let p = self.window(address, E::SIZE as u64)?.at(address, E::SIZE as u64)?;
        // SAFETY: in bounds; aligned where that is asked for; all accesses to guest memory are atomic.
        Some(unsafe { if p.addr() as u64 & E::ALIGN == 0 { E::load(p) } else { E::load_bytes(p) } })
    }

    /// Stores one lane's element.
    pub(crate) fn store_one<E: Element>(&mut self, address: u64, value: E) -> Option<()> {
        let p = self.window(address, E::SIZE as u64)?.at(address, E::SIZE as u64)?;
        // SAFETY: as in `load_one`.
        unsafe { if p.addr() as u64 & E::ALIGN == 0 { value.store(p) } else { value.store_bytes(p) } }
        Some(())
    }
}
