//! VALU instructions that are not lane operations: reads and writes of single lanes, lane counts, exchanges.

use crate::exec::inst::{Exec, ExecContext, Flow, Inst};
use crate::exec::lanes::{Forms, by_exec, load, scalar, store};
use crate::exec::level::columns;
use crate::state::wave::{CHUNK, CHUNKS, LANES, Wave};

/// `v_readfirstlane_b32`: reads the first active lane, or lane 0 if none is active.
pub(crate) struct Readfirstlane;
impl Exec for Readfirstlane {
    #[inline(always)]
    fn exec(w: &mut Wave, _: &mut ExecContext, i: &Inst) -> Flow {
        let exec = w.exec();
        let lane = if exec == 0 { 0 } else { exec.trailing_zeros() as usize };
        let value = w.v(i.src[0]).flat()[lane];
        w.set_s32(i.dst, value);
        Flow::Next
    }
}

/// `v_readlane_b32`: reads a lane, with any EXEC.
pub(crate) struct Readlane;
impl Exec for Readlane {
    #[inline(always)]
    fn exec(w: &mut Wave, _: &mut ExecContext, i: &Inst) -> Flow {
        let lane = w.s32(i.src[1]) as usize % LANES;
        let value = w.v(i.src[0]).flat()[lane];
        w.set_s32(i.dst, value);
        Flow::Next
    }
}

/// `v_writelane_b32`: writes a lane, with any EXEC.
pub(crate) struct Writelane;
impl Exec for Writelane {
    #[inline(always)]
    fn exec(w: &mut Wave, _: &mut ExecContext, i: &Inst) -> Flow {
        let value = w.s32(i.src[0]);
        let lane = w.s32(i.src[1]) as usize % LANES;
        w.v_mut(i.dst).flat_mut()[lane] = value;
        Flow::Next
    }
}

/// `v_mbcnt_lo_u32_b32` and, with `HI`, `v_mbcnt_hi_u32_b32`: counts the ones of the first source for the lanes of that
/// half that are below this one, and adds the second source. Bit `n` of `SCALAR` says that source `n` is a scalar.
pub(crate) struct Mbcnt<const HI: bool, const SCALAR: u8>;
impl<const HI: bool, const SCALAR: u8> Exec for Mbcnt<HI, SCALAR> {
    #[inline(always)]
    fn exec(w: &mut Wave, _: &mut ExecContext, i: &Inst) -> Flow {
        let sa: u32 = if SCALAR & 1 != 0 { scalar(w, i.src[0]) } else { 0 };
        let sb: u32 = if SCALAR & 2 != 0 { scalar(w, i.src[1]) } else { 0 };
        by_exec!(w, MASKED => {
            for c in 0..CHUNKS {
                let a = if SCALAR & 1 != 0 { [sa; CHUNK] } else { load(w, i.src[0], c) };
                let b = if SCALAR & 2 != 0 { [sb; CHUNK] } else { load(w, i.src[1], c) };
                let mut d = [0u32; CHUNK];
                for j in 0..CHUNK {
                    let below = (1u64 << (c * CHUNK + j)) - 1;
                    let below = if HI { (below >> 32) as u32 } else { below as u32 };
                    d[j] = (a[j] & below).count_ones().wrapping_add(b[j]);
                }
                store::<_, MASKED>(w, i.dst, c, &d);
            }
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

/// `v_swap_b32`: exchanges source and destination.
pub(crate) struct Swap;
impl Exec for Swap {
    #[inline(always)]
    fn exec(w: &mut Wave, _: &mut ExecContext, i: &Inst) -> Flow {
        by_exec!(w, MASKED => {
            for c in 0..CHUNKS {
                let a: [u32; CHUNK] = load(w, i.src[0], c);
                let d: [u32; CHUNK] = load(w, i.dst, c);
                store::<_, MASKED>(w, i.dst, c, &a);
                store::<_, MASKED>(w, i.src[0], c, &d);
            }
        });
        Flow::Next
    }
}
