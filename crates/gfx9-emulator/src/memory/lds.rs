//! LDS, the memory that the waves of one workgroup share. One host thread runs a workgroup, so this is plain memory.

use std::marker::PhantomData;
use std::ops::Range;

use gfx9_isa::Target;

use super::gather::{Element, Pattern, Pieces, WHOLE, offsets_are_run, offsets_pattern, part_of};
use super::raw::Piece;
use crate::state::wave::{Active, CHUNK, CHUNKS, LANES, Lanes, lanes_of};

/// The largest LDS of a workgroup, in bytes: that of gfx950. See [`max_lds`].
pub const MAX_LDS: u32 = 160 << 10;

/// Returns the largest LDS of a workgroup on a target, in bytes (LLVM AMDGPU usage, "Processors"; CDNA4 ISA, 11.1).
pub const fn max_lds(target: Target) -> u32 {
    match target {
        Target::Gfx90a | Target::Gfx942 => 64 << 10,
        Target::Gfx950 => MAX_LDS,
    }
}

/// The LDS of one workgroup. An access outside of it returns `None`. Multi-byte values are little-endian.
pub(crate) struct Lds {
    bytes: Box<[u8]>,
    size: u32,
}

impl Lds {
    pub(crate) fn new() -> Lds {
        Lds { bytes: vec![0; MAX_LDS as usize].into_boxed_slice(), size: 0 }
    }

    /// Sets the size to `size` bytes (at most [`MAX_LDS`]), and zeroes them. Hardware does not; zeros make results
    /// independent of what ran before.
    pub(crate) fn reset(&mut self, size: u32) {
        self.size = size.min(MAX_LDS);
        self.bytes[..self.size as usize].fill(0);
    }

    /// Returns the size in bytes.
    #[inline(always)]
    pub(crate) fn size(&self) -> u32 {
        self.size
    }

    /// Returns all bytes.
    #[inline(always)]
    pub(crate) fn bytes(&self) -> &[u8] {
        &self.bytes[..self.size as usize]
    }

    /// Returns all bytes.
    #[inline(always)]
    pub(crate) fn bytes_mut(&mut self) -> &mut [u8] {
        &mut self.bytes[..self.size as usize]
    }

    #[inline(always)]
    pub(crate) fn load<const N: usize>(&self, address: u32) -> Option<[u8; N]> {
        let at = address as usize;
        self.bytes().get(at..at.checked_add(N)?)?.try_into().ok()
    }

    #[inline(always)]
    pub(crate) fn store<const N: usize>(&mut self, address: u32, value: [u8; N]) -> Option<()> {
        let at = address as usize;
        self.bytes_mut().get_mut(at..at.checked_add(N)?)?.copy_from_slice(&value);
        Some(())
    }

    #[inline(always)]
    pub(crate) fn load_u32(&self, address: u32) -> Option<u32> {
        self.load(address).map(u32::from_le_bytes)
    }

    #[inline(always)]
    pub(crate) fn store_u32(&mut self, address: u32, value: u32) -> Option<()> {
        self.store(address, value.to_le_bytes())
    }

    /// Loads the element of one lane; `None` if it is out of bounds.
    pub(crate) fn load_one<E: Element>(&self, address: u32) -> Option<E> {
        let at = address as usize;
        let from = self.bytes().get(at..at.checked_add(E::SIZE)?)?;
        let mut bytes = [0; 16];
        bytes[..E::SIZE].copy_from_slice(from);
        Some(E::from_bytes(bytes))
    }

    /// Stores the element of one lane; `None` if it is out of bounds.
    pub(crate) fn store_one<E: Element>(&mut self, address: u32, value: E) -> Option<()> {
        let at = address as usize;
        let to = self.bytes_mut().get_mut(at..at.checked_add(E::SIZE)?)?;
        to.copy_from_slice(&value.to_bytes()[..E::SIZE]);
        Some(())
    }

    /// Returns the elements of the active lanes at `addresses`; `None` if one of them is out of bounds.
    #[inline(always)]
    pub(crate) fn checked<'a, E: Element>(
        &'a mut self,
        addresses: &'a [u32; LANES],
        active: &Active<'_>,
    ) -> Option<CheckedLds<'a, E>> {
        self.checked_up_to(0, addresses, active)
    }

    /// As [`checked`](Self::checked), for the elements at `addresses` and up to `span` bytes behind them.
    #[inline(always)]
    pub(crate) fn checked_up_to<'a, E: Element>(
        &'a mut self,
        span: u32,
        addresses: &'a [u32; LANES],
        active: &Active<'_>,
    ) -> Option<CheckedLds<'a, E>> {
        let limit = self.size.checked_sub(E::SIZE as u32 + span)?;
        // If the address is above the limit, the top bit of one of these terms is set, as the limit is below 2^31.
        let mut out = 0;
        if active.all() {
            for at in addresses {
                out |= limit.wrapping_sub(*at) | at;
            }
        } else {
            for (lane, at) in addresses.iter().enumerate() {
                out |= (limit.wrapping_sub(*at) | at) & active.keep(lane);
            }
        }
        let inside = out >> 31 == 0;
        let bytes = self.bytes.as_mut_ptr();
        inside.then_some(CheckedLds { bytes, addresses, exec: active.exec(), span, element: PhantomData })
    }
}

/// The elements of all lanes, one after the other.
pub(crate) struct LdsRun<'a>(&'a mut [[u8; size_of::<Piece>()]]);

impl Lds {
    /// Returns the elements of `size` bytes of all lanes at `addresses`, if they follow each other and are in bounds.
    #[inline(always)]
    pub(crate) fn run(&mut self, size: usize, addresses: &[u32; LANES]) -> Option<LdsRun<'_>> {
        if !offsets_are_run(addresses, size as u32) {
            return None;
        }
        self.run_from(size, addresses[0])
    }

    /// Returns the elements of `size` bytes of all lanes, one after the other, from an address on.
    #[inline(always)]
    pub(crate) fn run_from(&mut self, size: usize, address: u32) -> Option<LdsRun<'_>> {
        let bytes = self.bytes_mut().get_mut(address as usize..)?.get_mut(..size * LANES)?;
        Some(LdsRun(bytes.as_chunks_mut().0))
    }
}

impl Pieces for LdsRun<'_> {
    #[inline(always)]
    fn load(&self, n: usize, out: &mut Piece) {
        for (dword, bytes) in out.iter_mut().zip(self.0[n].as_chunks().0) {
            *dword = u32::from_le_bytes(*bytes);
        }
    }

    #[inline(always)]
    fn store(&mut self, n: usize, piece: &Piece) {
        for (dword, bytes) in piece.iter().zip(self.0[n].as_chunks_mut().0) {
            *bytes = dword.to_le_bytes();
        }
    }
}

/// The elements of the active lanes, after a check that all of them are in bounds.
pub(crate) struct CheckedLds<'a, E> {
    /// The bytes of LDS, which are borrowed mutably for `'a`.
    bytes: *mut u8,
    addresses: &'a [u32; LANES],
    exec: u64,
    /// The number of bytes behind the elements that have been checked, too.
    span: u32,
    element: PhantomData<(E, &'a mut Lds)>,
}

impl<E: Element> CheckedLds<'_, E> {
    /// Returns a lane's element.
    ///
    /// # Safety
    /// The lane must be in `self.exec`.
    #[inline(always)]
    unsafe fn load(&self, lane: usize) -> E {
        // SAFETY: as the caller guarantees.
        unsafe { self.load_behind(lane, 0) }
    }

    /// Returns the element `offset` bytes behind a lane's.
    ///
    /// # Safety
    /// The lane must be in `self.exec`, and `offset` at most `self.span`.
    #[inline(always)]
    unsafe fn load_behind(&self, lane: usize, offset: usize) -> E {
        let at = self.addresses[lane & (LANES - 1)] as usize + offset;
        let mut bytes = [0; 16];
        // SAFETY: `Lds::checked_up_to` checked that the elements of active lanes, and as many bytes as the span behind
        // them, are in the bytes, which are borrowed; the caller guarantees that the lane is active.
        bytes[..E::SIZE].copy_from_slice(unsafe { std::slice::from_raw_parts(self.bytes.add(at), E::SIZE) });
        E::from_bytes(bytes)
    }

    #[inline(always)]
    unsafe fn store(&mut self, lane: usize, value: E) {
        let at = self.addresses[lane & (LANES - 1)] as usize;
        // SAFETY: as in `load_behind`, and `self` is borrowed mutably.
        let to = unsafe { std::slice::from_raw_parts_mut(self.bytes.add(at), E::SIZE) };
        to.copy_from_slice(&value.to_bytes()[..E::SIZE]);
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
    pub(crate) fn put(&mut self, mut f: impl FnMut(usize) -> E) {
        if self.exec == !0 {
            for lane in 0..LANES {
                // SAFETY: the lane is active.
                unsafe { self.store(lane, f(lane)) };
            }
        } else {
            for lane in lanes_of(self.exec) {
                // SAFETY: the lane is active.
                unsafe { self.store(lane, f(lane)) };
            }
        }
    }

    /// Returns the pattern of a chunk; `None` if not all of its lanes are active.
    #[inline(always)]
    fn pattern(&self, chunk: usize) -> Option<Pattern> {
        let all = part_of(self.exec, chunk) == WHOLE << (CHUNK * chunk);
        all.then(|| offsets_pattern(&self.addresses.as_chunks::<CHUNK>().0[chunk], E::SIZE as u32))
    }

    /// Returns the elements of a chunk whose pattern is a row.
    ///
    /// # Safety
    /// [`pattern`](Self::pattern) must have said so.
    #[inline(always)]
    unsafe fn row(&self, chunk: usize) -> [E; CHUNK] {
        let at = self.addresses[chunk * CHUNK] as usize;
        // SAFETY: all lanes are active, their elements are in the bytes, which are borrowed, and one after the other.
        let bytes = unsafe { std::slice::from_raw_parts(self.bytes.add(at), CHUNK * E::SIZE) };
        std::array::from_fn(|j| {
            let mut element = [0; 16];
            element[..E::SIZE].copy_from_slice(&bytes[j * E::SIZE..(j + 1) * E::SIZE]);
            E::from_bytes(element)
        })
    }

    /// Replaces the element of every active lane with what `f` returns for it, as if in order of the lanes. Calls `done`
    /// with the previous elements of some lanes, which have been replaced.
    #[inline(always)]
    pub(crate) fn modify<W>(
        &mut self,
        w: &mut W,
        f: impl Fn(&W, usize, E) -> E,
        done: impl Fn(&mut W, Range<usize>, &[E]),
    ) {
        for c in 0..CHUNKS {
            let lanes = c * CHUNK..(c + 1) * CHUNK;
            match self.pattern(c) {
                Some(Pattern::Row) => {
                    // SAFETY: that is the pattern.
                    let old = unsafe { self.row(c) };
                    let new: [E; CHUNK] = std::array::from_fn(|j| f(w, c * CHUNK + j, old[j]));
                    let at = self.addresses[c * CHUNK] as usize;
                    // SAFETY: as in `row`, and `self` is borrowed mutably.
                    let bytes =
                        unsafe { std::slice::from_raw_parts_mut(self.bytes.add(at), CHUNK * E::SIZE) };
                    for (to, new) in bytes.chunks_exact_mut(E::SIZE).zip(new) {
                        to.copy_from_slice(&new.to_bytes()[..E::SIZE]);
                    }
                    done(w, lanes, &old);
                }
                Some(Pattern::Same) => {
                    // SAFETY: the pattern says that the lanes are active.
                    let mut value = unsafe { self.load(c * CHUNK) };
                    let old: [E; CHUNK] = std::array::from_fn(|j| {
                        let old = value;
                        value = f(w, c * CHUNK + j, old);
                        old
                    });
                    // SAFETY: as above.
                    unsafe { self.store(c * CHUNK, value) };
                    done(w, lanes, &old);
                }
                _ => {
                    for lane in lanes_of(part_of(self.exec, c)) {
                        // SAFETY: the lane is active.
                        unsafe {
                            let old = self.load(lane);
                            self.store(lane, f(w, lane, old));
                            done(w, lane..lane + 1, &[old]);
                        }
                    }
                }
            }
        }
    }
}

impl<const N: usize> CheckedLds<'_, [u32; N]> {
    /// Returns whether the elements of all lanes are one after the other.
    #[inline(always)]
    fn is_run(&self) -> bool {
        self.exec == !0 && offsets_are_run(self.addresses, 4 * N as u32)
    }

    /// Loads the dwords at each of some offsets, at most the span, behind the addresses of the active lanes to registers.
    #[inline(always)]
    pub(crate) fn rows<const M: usize>(&self, offsets: [u32; M], mut rows: [&mut [Lanes; N]; M]) {
        let offsets = offsets.map(|offset| offset.min(self.span) as usize);
        if N > 1 && self.is_run() {
            for (offset, rows) in offsets.iter().zip(&mut rows) {
                let at = self.addresses[0] as usize + offset;
                // SAFETY: all lanes are active, and their dwords, `N` of each, are one after the other.
                let all = unsafe { std::slice::from_raw_parts(self.bytes.add(at), 4 * N * LANES) };
                let (all, _) = all.as_chunks::<4>();
                for lane in 0..LANES {
                    for n in 0..N {
                        rows[n].flat_mut()[lane] = u32::from_le_bytes(all[lane * N + n]);
                    }
                }
            }
            return;
        }
        for c in 0..CHUNKS {
            let pattern = self.pattern(c);
            for (offset, rows) in offsets.iter().zip(&mut rows) {
                match pattern {
                    Some(Pattern::Same) => {
                        // SAFETY: the pattern says that the lane is active.
                        let value = unsafe { self.load_behind(c * CHUNK, *offset) };
                        for n in 0..N {
                            rows[n].0[c] = [value[n]; CHUNK];
                        }
                    }
                    Some(Pattern::Row) if N == 1 => {
                        let at = self.addresses[c * CHUNK] as usize + offset;
                        // SAFETY: all lanes are active, and their dwords are one after the other.
                        let all = unsafe { self.bytes.add(at).cast::<[[u8; 4]; CHUNK]>().read() };
                        rows[0].0[c] = all.map(u32::from_le_bytes);
                    }
                    Some(_) => {
                        for j in 0..CHUNK {
                            // SAFETY: the pattern says that the lanes are active.
                            let value = unsafe { self.load_behind(c * CHUNK + j, *offset) };
                            for n in 0..N {
                                rows[n].0[c][j] = value[n];
                            }
                        }
                    }
                    None => {
                        for lane in lanes_of(part_of(self.exec, c)) {
                            // SAFETY: the lane is active.
                            let value = unsafe { self.load_behind(lane, *offset) };
                            for n in 0..N {
                                rows[n].flat_mut()[lane] = value[n];
                            }
                        }
                    }
                }
            }
        }
    }

    /// Stores the dwords of the active lanes from registers.
    #[inline(always)]
    pub(crate) fn put_rows(&mut self, rows: &[Lanes; N]) {
        if N > 1 && self.is_run() {
            let at = self.addresses[0] as usize;
            // SAFETY: as in `rows`, and `self` is borrowed mutably.
            let all = unsafe { std::slice::from_raw_parts_mut(self.bytes.add(at), 4 * N * LANES) };
            let (all, _) = all.as_chunks_mut::<4>();
            for lane in 0..LANES {
                for n in 0..N {
                    all[lane * N + n] = rows[n].flat()[lane].to_le_bytes();
                }
            }
            return;
        }
        for c in 0..CHUNKS {
            let pattern = self.pattern(c);
            if N == 1 && pattern == Some(Pattern::Row) {
                let at = self.addresses[c * CHUNK] as usize;
                let all = rows[0].0[c].map(u32::to_le_bytes);
                // SAFETY: all lanes are active, their dwords are one after the other, and `self` is borrowed mutably.
                unsafe { self.bytes.add(at).cast::<[[u8; 4]; CHUNK]>().write(all) };
                continue;
            }
            let part = part_of(self.exec, c);
            let store = |lane: usize| {
                let value = std::array::from_fn(|n| rows[n].flat()[lane]);
                // SAFETY: only called for active lanes.
                unsafe { self.store(lane, value) };
            };
            if pattern.is_some() {
                (c * CHUNK..(c + 1) * CHUNK).for_each(store);
            } else {
                lanes_of(part).for_each(store);
            }
        }
    }
}
