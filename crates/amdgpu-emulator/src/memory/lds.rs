//! LDS, the memory that the waves of one workgroup share. One host thread runs a workgroup, so this is plain memory.

use std::marker::PhantomData;
use std::ops::Range;

use amdgpu_isa::Target;

use super::cells::Cells;
use super::gather::{Element, Pattern, Pieces, offsets_are_run, offsets_pattern, part_of};
use super::raw::Piece;
use crate::state::wave::{Active, CHUNK, CHUNKS, LANES, lanes_of};

/// The largest LDS of a workgroup, in bytes: that of gfx950. See [`max_lds`].
pub const MAX_LDS: u32 = 160 << 10;

/// Returns the largest LDS of a workgroup on a target, in bytes (LLVM AMDGPU usage, "Processors"; CDNA4 ISA, 11.1).
pub const fn max_lds(target: Target) -> u32 {
    match target {
        Target::Gfx90a | Target::Gfx942 | Target::Gfx11 | Target::Gfx115 | Target::Gfx12 | Target::Gfx103 => {
            64 << 10
        }
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
    fn load(&self, n: usize) -> Piece {
        bytemuck::must_cast::<_, [[u8; 4]; CHUNK]>(self.0[n]).map(u32::from_le_bytes)
    }

    #[inline(always)]
    fn dwords(&self) -> Option<&[[u8; 4]]> {
        Some(self.0.as_flattened().as_chunks().0)
    }

    #[inline(always)]
    fn store(&mut self, n: usize, piece: &Piece) {
        self.0[n] = bytemuck::must_cast(piece.map(u32::to_le_bytes));
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

// SAFETY: `exec` is the lanes that `Lds::checked_up_to` has checked, and the pattern is computed from their addresses.
unsafe impl<E: Element> Cells<E> for CheckedLds<'_, E> {
    #[inline(always)]
    fn exec(&self) -> u64 {
        self.exec
    }

    #[inline(always)]
    fn span(&self) -> u32 {
        self.span
    }

    #[inline(always)]
    fn pattern_of(&self, chunk: usize) -> Pattern {
        offsets_pattern(&self.addresses.as_chunks::<CHUNK>().0[chunk], E::SIZE as u32)
    }

    #[inline(always)]
    unsafe fn load<const M: usize>(&self, lane: usize, offset: usize) -> [E; M] {
        std::array::from_fn(|n| {
            let at = self.addresses[(lane + n) % LANES] as usize + offset;
            let mut bytes = [0; 16];
            // SAFETY: `Lds::checked_up_to` checked that the elements of active lanes, and as many bytes as the span behind
            // them, are in the bytes, which are borrowed; the caller guarantees that the lane is active.
            let from = unsafe { std::slice::from_raw_parts(self.bytes.add(at), E::SIZE) };
            bytes[..E::SIZE].copy_from_slice(from);
            E::from_bytes(bytes)
        })
    }

    #[inline(always)]
    unsafe fn store<const M: usize>(&mut self, lane: usize, values: [E; M]) {
        for (n, value) in values.into_iter().enumerate() {
            let at = self.addresses[(lane + n) % LANES] as usize;
            // SAFETY: as in `load`, and `self` is borrowed mutably.
            let to = unsafe { std::slice::from_raw_parts_mut(self.bytes.add(at), E::SIZE) };
            to.copy_from_slice(&value.to_bytes()[..E::SIZE]);
        }
    }

    #[inline(always)]
    unsafe fn load_row(&self, chunk: usize, offset: usize) -> Piece {
        let at = self.addresses[chunk * CHUNK] as usize + offset;
        // SAFETY: as in `load`; the dwords of the chunk are one after the other.
        let all = unsafe { self.bytes.add(at).cast::<[[u8; 4]; CHUNK]>().read() };
        all.map(u32::from_le_bytes)
    }

    #[inline(always)]
    unsafe fn store_row(&mut self, chunk: usize, piece: &Piece) {
        let at = self.addresses[chunk * CHUNK] as usize;
        // SAFETY: as in `load_row`, and `self` is borrowed mutably.
        unsafe { self.bytes.add(at).cast::<[[u8; 4]; CHUNK]>().write(piece.map(u32::to_le_bytes)) };
    }
}

impl<E: Element> CheckedLds<'_, E> {
    /// Returns the elements of a chunk whose pattern is a row.
    ///
    /// # Safety
    /// [`pattern`](Cells::pattern) must have said so.
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
                    let [mut value] = unsafe { self.load(c * CHUNK, 0) };
                    let old: [E; CHUNK] = std::array::from_fn(|j| {
                        let old = value;
                        value = f(w, c * CHUNK + j, old);
                        old
                    });
                    // SAFETY: as above.
                    unsafe { self.store(c * CHUNK, [value]) };
                    done(w, lanes, &old);
                }
                _ => {
                    for lane in lanes_of(part_of(self.exec, c)) {
                        // SAFETY: the lane is active.
                        unsafe {
                            let [old] = self.load(lane, 0);
                            self.store(lane, [f(w, lane, old)]);
                            done(w, lane..lane + 1, &[old]);
                        }
                    }
                }
            }
        }
    }
}
