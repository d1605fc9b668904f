//! The elements that the active lanes of a wave access, after a check that they are in bounds: in global memory, or in LDS.

use super::gather::{Element, Pattern, WHOLE, part_of};
use super::raw::Piece;
use crate::state::wave::{CHUNK, CHUNKS, LANES, Lanes, lanes_of};

/// The elements of the active lanes, all of which are in bounds.
///
/// # Safety
/// The results of `exec` and `pattern_of` must be right, and not change.
pub(crate) unsafe trait Cells<E: Element> {
    /// Returns the active lanes.
    fn exec(&self) -> u64;

    /// Returns the number of bytes behind each element that are in bounds, too.
    fn span(&self) -> u32 {
        0
    }

    /// Returns the pattern of the addresses of a chunk.
    fn pattern_of(&self, chunk: usize) -> Pattern;

    /// Loads the elements of some lanes, from `lane` on. They are read `offset` bytes behind the lanes' addresses.
    ///
    /// # Safety
    /// The lanes must be active, and the offset at most the span.
    unsafe fn load<const M: usize>(&self, lane: usize, offset: usize) -> [E; M];

    /// Stores the elements of some lanes, from `lane` on.
    ///
    /// # Safety
    /// The lanes must be active.
    unsafe fn store<const M: usize>(&mut self, lane: usize, values: [E; M]);

    /// Loads the dwords of a chunk as [`load`](Self::load) loads its elements.
    ///
    /// # Safety
    /// All lanes of the chunk must be active, their elements be dwords, and their pattern a row; the offset at most the span.
    unsafe fn load_row(&self, chunk: usize, offset: usize) -> Piece;

    /// Stores the dwords of a chunk.
    ///
    /// # Safety
    /// As for [`load_row`](Self::load_row).
    unsafe fn store_row(&mut self, chunk: usize, piece: &Piece);

    /// Returns the pattern of a chunk; `None` if not all of its lanes are active.
    #[inline(always)]
    fn pattern(&self, chunk: usize) -> Option<Pattern> {
        let all = part_of(self.exec(), chunk) == WHOLE << (CHUNK * chunk);
        all.then(|| self.pattern_of(chunk))
    }

    /// Loads the element of every active lane, in order.
    #[inline(always)]
    fn each(&self, mut f: impl FnMut(usize, E)) {
        let mut load = |lane: usize| {
            // SAFETY: only called for active lanes.
            let [value] = unsafe { self.load(lane, 0) };
            f(lane, value);
        };
        if self.exec() == !0 {
            (0..LANES).for_each(load);
        } else {
            lanes_of(self.exec()).for_each(&mut load);
        }
    }

    /// Stores the element of every active lane, in order.
    #[inline(always)]
    fn put(&mut self, mut f: impl FnMut(usize) -> E) {
        let exec = self.exec();
        let mut store = |lane: usize| {
            // SAFETY: only called for active lanes.
            unsafe { self.store(lane, [f(lane)]) };
        };
        if exec == !0 {
            (0..LANES).for_each(store);
        } else {
            lanes_of(exec).for_each(&mut store);
        }
    }
}

/// Loads the dwords at each of some offsets, at most the span, behind the addresses of the active lanes to registers.
#[inline(always)]
pub(crate) fn load_rows<const N: usize, const M: usize>(
    cells: &impl Cells<[u32; N]>,
    offsets: [u32; M],
    mut rows: [&mut [Lanes; N]; M],
) {
    let offsets = offsets.map(|offset| offset.min(cells.span()) as usize);
    for c in 0..CHUNKS {
        let pattern = cells.pattern(c);
        for (offset, rows) in offsets.iter().zip(&mut rows) {
            let mut load = |lane: usize| {
                // SAFETY: only called for active lanes, with an offset of at most the span.
                let [value] = unsafe { cells.load(lane, *offset) };
                for n in 0..N {
                    rows[n].flat_mut()[lane] = value[n];
                }
            };
            match pattern {
                Some(Pattern::Same) => {
                    // SAFETY: the pattern says that the lane is active.
                    let [value] = unsafe { cells.load(c * CHUNK, *offset) };
                    for n in 0..N {
                        rows[n].0[c] = [value[n]; CHUNK];
                    }
                }
                // SAFETY: the pattern says that the lanes are active, and their dwords one after the other.
                Some(Pattern::Row) if N == 1 => rows[0].0[c] = unsafe { cells.load_row(c, *offset) },
                Some(_) if N == 4 => {
                    for lane in (c * CHUNK..(c + 1) * CHUNK).step_by(4) {
                        // SAFETY: the pattern says that the lanes are active.
                        to_rows(unsafe { cells.load(lane, *offset) }, rows, lane);
                    }
                }
                Some(_) => (c * CHUNK..(c + 1) * CHUNK).for_each(load),
                None => lanes_of(part_of(cells.exec(), c)).for_each(&mut load),
            }
        }
    }
}

/// Stores the dwords of the active lanes from registers.
#[inline(always)]
pub(crate) fn store_rows<const N: usize>(cells: &mut impl Cells<[u32; N]>, rows: &[Lanes; N]) {
    for c in 0..CHUNKS {
        let (pattern, part) = (cells.pattern(c), part_of(cells.exec(), c));
        let mut store = |lane: usize| {
            let value = std::array::from_fn(|n| rows[n].flat()[lane]);
            // SAFETY: only called for active lanes.
            unsafe { cells.store(lane, [value]) };
        };
        match pattern {
            // SAFETY: the pattern says that the lanes are active, and their dwords one after the other.
            Some(Pattern::Row) if N == 1 => unsafe { cells.store_row(c, &rows[0].0[c]) },
            Some(_) if N == 4 => {
                for lane in (c * CHUNK..(c + 1) * CHUNK).step_by(4) {
                    // SAFETY: the pattern says that the lanes are active.
                    unsafe { cells.store(lane, of_rows(rows, lane)) };
                }
            }
            Some(_) => (c * CHUNK..(c + 1) * CHUNK).for_each(store),
            None => lanes_of(part).for_each(&mut store),
        }
    }
}

/// Writes the dwords of four lanes to registers. The number of the first lane must be a multiple of 4.
#[inline(always)]
pub(crate) fn to_rows<const N: usize>(values: [[u32; N]; 4], rows: &mut [Lanes; N], lane: usize) {
    for (row, four) in rows.iter_mut().zip(transposed(values)) {
        row.flat_mut().as_chunks_mut().0[lane / 4 % (LANES / 4)] = four;
    }
}

/// Returns the dwords of four lanes in registers. The number of the first lane must be a multiple of 4.
#[inline(always)]
pub(crate) fn of_rows<const N: usize>(rows: &[Lanes; N], lane: usize) -> [[u32; N]; 4] {
    transposed(std::array::from_fn(|n| rows[n].flat().as_chunks().0[lane / 4 % (LANES / 4)]))
}

/// Returns a matrix with rows and columns exchanged.
#[inline(always)]
fn transposed<const A: usize, const B: usize>(values: [[u32; A]; B]) -> [[u32; B]; A] {
    let mut out = [[0; B]; A];
    #[cfg(target_arch = "x86_64")]
    if let ([from], [to]) =
        (values.as_flattened().as_chunks::<16>().0, out.as_flattened_mut().as_chunks_mut::<16>().0)
        && A == 4
    {
        *to = transposed_square(*from);
        return out;
    }
    for a in 0..A {
        for b in 0..B {
            out[a][b] = values[b][a];
        }
    }
    out
}

/// Exchanges rows and columns of a matrix of 4 x 4 with intrinsics, as no loop compiles to anything but 16 loads and stores.
#[cfg(target_arch = "x86_64")]
#[inline(always)]
fn transposed_square(values: [u32; 16]) -> [u32; 16] {
    use std::arch::x86_64::*;
    let [a, b, c, d]: [__m128i; 4] = bytemuck::must_cast(values);
    // SAFETY: every x86-64 host has SSE2.
    bytemuck::must_cast(unsafe {
        let (low, low2) = (_mm_unpacklo_epi32(a, b), _mm_unpacklo_epi32(c, d));
        let (high, high2) = (_mm_unpackhi_epi32(a, b), _mm_unpackhi_epi32(c, d));
        [
            _mm_unpacklo_epi64(low, low2),
            _mm_unpackhi_epi64(low, low2),
            _mm_unpacklo_epi64(high, high2),
            _mm_unpackhi_epi64(high, high2),
        ]
    })
}
