//! VALU instructions that are not lane operations: reads and writes of single lanes, lane counts, exchanges.

use crate::exec::bits::PermB32;
use crate::exec::inst::{Exec, ExecContext, Flow, Inst, executors};
use crate::exec::lanes::{Each3, Forms, active_chunks, all, load, load_each, scalar, store, vectors_of};
use crate::exec::level::{columns, with_f16c};
use crate::state::wave::{CHUNK, LANES, Wave};

executors! {
    /// `v_readfirstlane_b32`: reads the first active lane, or lane 0 if none is active.
    Readfirstlane |w, _, i| {
        let exec = w.exec();
        let lane = if exec == 0 { 0 } else { exec.trailing_zeros() as usize };
        let value = w.v(i.src[0]).flat()[lane];
        w.set_s32(i.dst, value);
        Flow::Next
    }
    /// `v_readlane_b32`: reads a lane, with any EXEC. The lane's number counts modulo the size of the wave.
    Readlane |w, _, i| {
        let lane = w.s32(i.src[1]) as usize % (CHUNK * w.chunks().len());
        let value = w.v(i.src[0]).flat()[lane];
        w.set_s32(i.dst, value);
        Flow::Next
    }
    /// `v_writelane_b32`: writes a lane, with any EXEC.
    Writelane |w, _, i| {
        let value = w.s32(i.src[0]);
        let lane = w.s32(i.src[1]) as usize % (CHUNK * w.chunks().len());
        w.v_mut(i.dst).flat_mut()[lane] = value;
        Flow::Next
    }
    /// `v_mbcnt_lo_u32_b32` and, with `HI`, `v_mbcnt_hi_u32_b32`: counts the ones of the first source for the lanes of that
    /// half that are below this one, and adds the second source. Bit `n` of `SCALAR` says that source `n` is a scalar.
    Mbcnt<const HI: bool, const SCALAR: u8> |w, _, i| {
        let sa: u32 = if SCALAR & 1 != 0 { scalar(&w.r, i.src[0]) } else { 0 };
        let sb: u32 = if SCALAR & 2 != 0 { scalar(&w.r, i.src[1]) } else { 0 };
        active_chunks!(w, MASKED, r, mask, c => {
            let a = if SCALAR & 1 != 0 { [sa; CHUNK] } else { load(r, i.src[0], c) };
            let b = if SCALAR & 2 != 0 { [sb; CHUNK] } else { load(r, i.src[1], c) };
            let mut d = [0u32; CHUNK];
            for j in 0..CHUNK {
                let below = (1u64 << (c * CHUNK + j)) - 1;
                let below = if HI { (below >> 32) as u32 } else { below as u32 };
                d[j] = (a[j] & below).count_ones().wrapping_add(b[j]);
            }
            store::<_, MASKED>(r, mask, i.dst, c, &d);
        });
        Flow::Next
    }
}

pub(crate) const MBCNT_LO: Forms = &[
    (0, columns::<Mbcnt<false, 0>>()),
    (1, columns::<Mbcnt<false, 1>>()),
    (3, columns::<Mbcnt<false, 3>>()),
];
pub(crate) const MBCNT_HI: Forms =
    &[(0, columns::<Mbcnt<true, 0>>()), (1, columns::<Mbcnt<true, 1>>()), (3, columns::<Mbcnt<true, 3>>())];

executors! {
    /// `v_perm_b32` at levels with AVX2; see [`PermB32`].
    Perm |w, _, i| {
        let at = vectors_of::<u32, 3>(w, i);
        active_chunks!(w, MASKED, r, mask, chunk => {
            let [a, b, e] = load_each(r, at, chunk);
            // SAFETY: `PERM` has it at levels with AVX2 only, and the decoder picks those that the host has.
            let d = unsafe { bytes_of(a, b, e) };
            store::<_, MASKED>(r, mask, i.dst, chunk, &d);
        });
        Flow::Next
    }
}

pub(crate) const PERM: Forms = &all(with_f16c::<Each3<PermB32>, Perm>());

/// Returns what [`PermB32`] does for a chunk of lanes, with intrinsics, because no loop compiles to them.
///
/// # Safety
/// The host must have AVX2.
#[cfg(target_arch = "x86_64")]
#[inline(always)]
pub(crate) unsafe fn bytes_of(a: [u32; CHUNK], b: [u32; CHUNK], c: [u32; CHUNK]) -> [u32; CHUNK] {
    use std::arch::x86_64::*;
    let [a, b, c]: [[__m256i; 2]; 3] = bytemuck::must_cast([a, b, c]);
    let mut d = a;
    for n in 0..2 {
        let (a, b, c) = (a[n], b[n], c[n]);
        // SAFETY: the host has AVX2: the caller's promise.
        d[n] = unsafe {
            // The first byte of each lane in its half of the vector.
            let lanes = _mm256_set1_epi64x(0x0404_0404_0000_0000);
            let lanes = _mm256_add_epi8(
                lanes,
                _mm256_setr_epi64x(0, 0x0808_0808_0808_0808, 0, 0x0808_0808_0808_0808),
            );
            // Bytes of `a` where bit `bit` of the selector is 1, else of `b`. A byte's top bit chooses.
            let pick = |byte, bit| {
                let at = _mm256_or_si256(byte, lanes);
                let (a, b) = (_mm256_shuffle_epi8(a, at), _mm256_shuffle_epi8(b, at));
                _mm256_blendv_epi8(b, a, _mm256_sll_epi32(c, _mm_cvtsi32_si128(7 - bit)))
            };
            let byte = pick(_mm256_and_si256(c, _mm256_set1_epi8(3)), 2);
            if _mm256_testz_si256(c, _mm256_set1_epi8(!7)) != 0 {
                byte
            } else {
                let at_least = |n| _mm256_cmpeq_epi8(_mm256_max_epu8(c, _mm256_set1_epi8(n)), c);
                // Selectors 8 to 11 give the sign of one of the four halves, 12 gives 0, and those above it ones.
                let upper = _mm256_and_si256(_mm256_add_epi8(c, c), _mm256_set1_epi8(2));
                let half = pick(_mm256_or_si256(upper, _mm256_set1_epi8(1)), 1);
                let sign = _mm256_cmpgt_epi8(_mm256_setzero_si256(), half);
                let other = _mm256_blendv_epi8(sign, at_least(13), at_least(12));
                _mm256_blendv_epi8(byte, other, at_least(8))
            }
        };
    }
    bytemuck::must_cast(d)
}

/// # Safety
/// None is needed here.
#[cfg(not(target_arch = "x86_64"))]
pub(crate) unsafe fn bytes_of(a: [u32; CHUNK], b: [u32; CHUNK], c: [u32; CHUNK]) -> [u32; CHUNK] {
    use crate::exec::lanes::Op3;
    std::array::from_fn(|j| PermB32::f(crate::state::wave::Mode::DEFAULT, a[j], b[j], c[j]))
}

executors! {
    /// `v_swap_b32`: exchanges source and destination.
    Swap |w, _, i| {
        active_chunks!(w, MASKED, r, mask, c => {
            let a: [u32; CHUNK] = load(r, i.src[0], c);
            let d: [u32; CHUNK] = load(r, i.dst, c);
            store::<_, MASKED>(r, mask, i.dst, c, &a);
            store::<_, MASKED>(r, mask, i.src[0], c, &d);
        });
        Flow::Next
    }
}

/// `v_permlane16_swap_b32` and, with 32 `LANES`, `v_permlane32_swap_b32`: exchanges the odd rows of so many lanes of the
/// destination with the even rows of the source (CDNA4 ISA, `V_PERMLANE16_SWAP_B32`).
///
/// Bits of [`Inst::imm`] are for lanes that EXEC disables, as in DPP: they are read with [`FETCH_INACTIVE`], as 0 with
/// [`BOUND_CONTROL`]; otherwise the lane that would read one keeps its value. Which of these hardware does is not
/// documented.
pub(crate) struct PermlaneSwap<const ROW: usize>;

pub(crate) const FETCH_INACTIVE: u32 = 1;
pub(crate) const BOUND_CONTROL: u32 = 2;

impl<const ROW: usize> Exec for PermlaneSwap<ROW> {
    #[inline(always)]
    fn exec(w: &mut Wave, _: &mut ExecContext, i: &Inst) -> Flow {
        let exec = w.exec();
        let (first, second) = (*w.v(i.dst).flat(), *w.v(i.src[0]).flat());
        if exec == !0 && i.dst != i.src[0] {
            for even in (0..LANES).step_by(2 * ROW) {
                let odd = even + ROW;
                w.v_mut(i.src[0]).flat_mut()[even..odd].copy_from_slice(&first[odd..odd + ROW]);
                w.v_mut(i.dst).flat_mut()[odd..odd + ROW].copy_from_slice(&second[even..odd]);
            }
            return Flow::Next;
        }
        let read = |lanes: &[u32; LANES], lane: usize| match exec >> lane & 1 != 0 {
            active if active || i.imm & FETCH_INACTIVE != 0 => Some(lanes[lane]),
            _ => (i.imm & BOUND_CONTROL != 0).then_some(0),
        };
        for even in (0..LANES).filter(|lane| lane / ROW % 2 == 0) {
            let odd = even + ROW;
            let (to_source, to_destination) = (read(&first, odd), read(&second, even));
            if let (Some(value), true) = (to_source, exec >> even & 1 != 0) {
                w.v_mut(i.src[0]).flat_mut()[even] = value;
            }
            if let (Some(value), true) = (to_destination, exec >> odd & 1 != 0) {
                w.v_mut(i.dst).flat_mut()[odd] = value;
            }
        }
        Flow::Next
    }
}

executors! {
    /// `v_bitop3_b32` and, with `HALF`, `v_bitop3_b16`: looks up each bit of the result in a truth table, which is in the
    /// low byte of [`Inst::imm`]. The next bits are op_sel.
    Bitop3<const HALF: bool> |w, _, i| {
        let (table, op_sel) = (i.imm & 0xff, i.imm >> 8);
        // The coefficients of the table's polynomial modulo 2 (Reed-Muller), each as a mask of all bits or of none.
        let sums = table ^ (table & 0x55) << 1;
        let sums = sums ^ (sums & 0x33) << 2;
        let sums = sums ^ (sums & 0x0f) << 4;
        let k: [u32; 8] = std::array::from_fn(|n| (sums >> n & 1).wrapping_neg());
        let shifts: [u32; 3] = std::array::from_fn(|n| if HALF { 16 * (op_sel >> n & 1) } else { 0 });
        let at = vectors_of::<u32, 3>(w, i);
        active_chunks!(w, MASKED, r, mask, c => {
            let [x, y, z] = load_each::<u32, 3>(r, at, c);
            let old: [u32; CHUNK] = load(r, i.dst, c);
            let mut d = [0u32; CHUNK];
            for j in 0..CHUNK {
                let (x, y, z) = (x[j] >> shifts[0], y[j] >> shifts[1], z[j] >> shifts[2]);
                let low = k[0] ^ k[1] & z ^ y & (k[2] ^ k[3] & z);
                let high = k[4] ^ k[5] & z ^ y & (k[6] ^ k[7] & z);
                let bits = low ^ x & high;
                d[j] = match (HALF, op_sel >> 3 & 1) {
                    (false, _) => bits,
                    (true, 0) => bits & 0xffff,
                    (true, _) => bits << 16 | old[j] & 0xffff,
                };
            }
            store::<_, MASKED>(r, mask, i.dst, c, &d);
        });
        Flow::Next
    }
}
