//! What executors do with the vectors of the host that no loop over lanes compiles to, for each level that has it.
//!
//! A value of two dwords has its low dwords in one register and its high dwords in the next. An AVX2 vector of four such values is
//! one shuffle of a vector of eight low dwords and one of eight high dwords, but only of lanes 0, 1, 4 and 5, or 2, 3, 6 and 7. Each
//! other order takes three shuffles more. So an operation with such a source computes its chunks of lanes in that order, if the level
//! has AVX2. Its operands of one dword are then brought to the same order, and its results back.

#![allow(clippy::needless_range_loop, reason = "a lane's number indexes several arrays")]

#[cfg(target_arch = "x86_64")]
use crate::exec::lanes::store_dwords;
use crate::exec::lanes::{Word, collect, load, store};
use crate::state::wave::{CHUNK, Lanes, Regs, expanded};

/// The vectors of the host at one level. With `wide`, which is true if a source of the operation has two dwords, chunks of lanes have
/// the level's own order.
pub(crate) trait Vectors {
    /// Whether dwords become values of two dwords in the order of the lanes as fast as in the level's own.
    const WIDENS: bool = true;
    /// Loads one chunk of lanes of a vector operand.
    #[inline(always)]
    fn load<T: Word>(r: &Regs, index: u16, c: usize, _wide: bool) -> [T; CHUNK] {
        load(r, index, c)
    }
    /// Stores one chunk of lanes of a result. With `MASKED`, only the lanes in `mask` are stored, which is the wave's.
    #[inline(always)]
    fn store<T: Word, const MASKED: bool>(
        r: &mut Regs,
        mask: &Lanes,
        index: u16,
        c: usize,
        values: &[T; CHUNK],
        _wide: bool,
    ) {
        store::<T, MASKED>(r, mask, index, c, values);
    }
    /// Returns the mask of the lanes of chunk `c` whose flag has its top bit set.
    #[inline(always)]
    fn collect(c: usize, flags: [u32; CHUNK], _wide: bool) -> u64 {
        collect(c, flags)
    }
    /// Returns all ones for each lane of chunk `c` whose bit is set, else 0, in the order of the lanes.
    #[inline(always)]
    fn expanded(bits: u64, c: usize) -> [u32; CHUNK] {
        expanded(bits, c)
    }
    /// Returns whether a flag is set. All flags are ones or zeros.
    #[inline(always)]
    fn any(flags: [u32; CHUNK]) -> bool {
        flags.iter().fold(0, |any, flag| any | flag) != 0
    }
}

/// Vectors of any host. Chunks are in the order of the lanes.
pub(crate) struct AnyHost;

impl Vectors for AnyHost {}

/// Vectors of hosts with AVX2. Only executors at the levels that have it may use them:
/// [`Exec::exec_with`](crate::exec::inst::Exec::exec_with). With `MASKS`, comparisons give masks of bits, as at the level of
/// AVX-512.
pub(crate) struct Avx2<const MASKS: bool>;

#[cfg(target_arch = "x86_64")]
impl<const MASKS: bool> Vectors for Avx2<MASKS> {
    const WIDENS: bool = MASKS;
    #[inline(always)]
    fn load<T: Word>(r: &Regs, index: u16, c: usize, wide: bool) -> [T; CHUNK] {
        if !wide {
            return load(r, index, c);
        }
        let hi = if T::WIDE { r.v(index.wrapping_add(1)).0[c] } else { [0; CHUNK] };
        let values = x86::pairs(r.v(index).0[c], hi);
        let mut out = [T::ZERO; CHUNK];
        for j in 0..CHUNK {
            out[j] = T::new(values[j] as u32, (values[j] >> 32) as u32);
        }
        out
    }

    #[inline(always)]
    fn store<T: Word, const MASKED: bool>(
        r: &mut Regs,
        mask: &Lanes,
        index: u16,
        c: usize,
        values: &[T; CHUNK],
        wide: bool,
    ) {
        if !wide {
            return store::<T, MASKED>(r, mask, index, c, values);
        }
        let mut bits = [0; CHUNK];
        for j in 0..CHUNK {
            bits[j] = u64::from(values[j].lo()) | u64::from(values[j].hi()) << 32;
        }
        let [lo, hi] = x86::halves(bits);
        store_dwords::<MASKED>(r, mask, index, c, lo);
        if T::WIDE {
            store_dwords::<MASKED>(r, mask, index.wrapping_add(1), c, hi);
        }
    }

    #[inline(always)]
    fn collect(c: usize, flags: [u32; CHUNK], wide: bool) -> u64 {
        let mut values = [0; CHUNK];
        for j in 0..CHUNK {
            // Where the flag comes from a comparison of 64 bits, this is its result.
            values[j] = flags[j] as i32 as i64 as u64;
        }
        let flags = if wide { x86::halves(values)[0] } else { flags };
        u64::from(x86::top_bits(flags)) << (c * CHUNK)
    }

    #[inline(always)]
    fn expanded(bits: u64, c: usize) -> [u32; CHUNK] {
        x86::expanded((bits >> (c * CHUNK)) as u16)
    }

    #[inline(always)]
    fn any(flags: [u32; CHUNK]) -> bool {
        // A mask of bits needs no instruction that loops lack.
        if MASKS { AnyHost::any(flags) } else { x86::any(flags) }
    }
}

/// Shuffles. The order of a chunk's lanes in them is 0, 1, 4, 5, 8, 9, 12, 13, then 2, 3, 6, 7, 10, 11, 14, 15.
#[cfg(target_arch = "x86_64")]
mod x86 {
    use std::arch::x86_64::*;

    use crate::state::wave::CHUNK;

    /// Returns values of two dwords, whose low dwords and high dwords are in the order of the lanes.
    #[inline(always)]
    pub(super) fn pairs(lo: [u32; CHUNK], hi: [u32; CHUNK]) -> [u64; CHUNK] {
        let ([a, b], [c, d]): ([__m256i; 2], [__m256i; 2]) =
            (bytemuck::must_cast(lo), bytemuck::must_cast(hi));
        // SAFETY: the documentation of `Avx2` requires that the host has AVX2.
        bytemuck::must_cast(unsafe {
            [
                _mm256_unpacklo_epi32(a, c),
                _mm256_unpacklo_epi32(b, d),
                _mm256_unpackhi_epi32(a, c),
                _mm256_unpackhi_epi32(b, d),
            ]
        })
    }

    /// Returns the low dwords and the high dwords of values, in the order of the lanes.
    #[inline(always)]
    pub(super) fn halves(values: [u64; CHUNK]) -> [[u32; CHUNK]; 2] {
        let [a, b, c, d]: [__m256; 4] = bytemuck::must_cast(values);
        // SAFETY: see `pairs`.
        let (lo, hi) = unsafe {
            (
                [_mm256_shuffle_ps::<0x88>(a, c), _mm256_shuffle_ps::<0x88>(b, d)],
                [_mm256_shuffle_ps::<0xdd>(a, c), _mm256_shuffle_ps::<0xdd>(b, d)],
            )
        };
        [bytemuck::must_cast(lo), bytemuck::must_cast(hi)]
    }

    /// Returns the top bits of flags.
    #[inline(always)]
    pub(super) fn top_bits(flags: [u32; CHUNK]) -> u16 {
        let [a, b]: [__m256; 2] = bytemuck::must_cast(flags);
        // SAFETY: see `pairs`.
        let [a, b] = unsafe { [_mm256_movemask_ps(a), _mm256_movemask_ps(b)] };
        a as u16 | (b as u16) << 8
    }

    /// Returns all ones for each bit that is set, else 0. In a loop, LLVM computes some lanes of a subtraction with a borrow by
    /// themselves.
    #[inline(always)]
    pub(super) fn expanded(bits: u16) -> [u32; CHUNK] {
        // SAFETY: see `pairs`.
        bytemuck::must_cast(unsafe {
            let bits = _mm256_set1_epi32(bits.into());
            let low = _mm256_setr_epi32(1, 2, 4, 8, 16, 32, 64, 128);
            let high = _mm256_slli_epi32::<8>(low);
            [
                _mm256_cmpeq_epi32(_mm256_and_si256(bits, low), low),
                _mm256_cmpeq_epi32(_mm256_and_si256(bits, high), high),
            ]
        })
    }

    /// Returns whether the top bit of a flag is set.
    #[inline(always)]
    pub(super) fn any(flags: [u32; CHUNK]) -> bool {
        let [a, b]: [__m256; 2] = bytemuck::must_cast(flags);
        // SAFETY: see `pairs`.
        unsafe { _mm256_movemask_ps(_mm256_or_ps(a, b)) != 0 }
    }
}

/// Other hosts never have these levels.
#[cfg(not(target_arch = "x86_64"))]
impl<const MASKS: bool> Vectors for Avx2<MASKS> {}
