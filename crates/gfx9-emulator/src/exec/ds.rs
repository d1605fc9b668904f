//! DS: loads and stores of LDS.

use std::marker::PhantomData;

use crate::exec::access::{Dwords, Load, Store, lds_load, lds_store};
use crate::exec::inst::{Exec, ExecContext, Flow, Inst, flag};
use crate::report::fault::FaultCause;
use crate::state::wave::{Aligned, LANES, Wave};

/// Returns each lane's address plus an offset. The sum wraps, as the address may be negative.
#[inline(always)]
pub(crate) fn addresses(w: &Wave, i: &Inst, offset: u32) -> Aligned<[u32; LANES]> {
    let v = w.v(i.src[0]).flat();
    let mut out = Aligned([0; LANES]);
    for l in 0..LANES {
        out.0[l] = v[l].wrapping_add(offset);
    }
    out
}

/// Returns whether the instruction accesses the global data share. The targets have no such memory, only global wave
/// sync (Linux's amdgpu, `gfx_v9_0_set_gds_init` and `gfx_v9_4_3_set_gds_init`: a size of 0); LLVM 22 rejects the bit.
#[inline(always)]
pub(crate) fn is_gds(i: &Inst) -> bool {
    i.flags & flag::GDS != 0
}

/// Faults because the instruction needs the global data share.
#[cold]
pub(crate) fn no_gds(cx: &mut ExecContext) -> Flow {
    cx.fault(FaultCause::NoGlobalDataShare)
}

pub(crate) struct Read<K>(PhantomData<K>);
impl<K: Load> Exec for Read<K> {
    #[inline(always)]
    fn exec(w: &mut Wave, cx: &mut ExecContext, i: &Inst) -> Flow {
        if is_gds(i) {
            return no_gds(cx);
        }
        let at = addresses(w, i, i.imm);
        lds_load::<K>(w, cx, i.pc, i.dst, &at)
    }
}

pub(crate) struct Write<K>(PhantomData<K>);
impl<K: Store> Exec for Write<K> {
    #[inline(always)]
    fn exec(w: &mut Wave, cx: &mut ExecContext, i: &Inst) -> Flow {
        if is_gds(i) {
            return no_gds(cx);
        }
        let at = addresses(w, i, i.imm);
        lds_store::<K>(w, cx, i.pc, i.src[1], &at)
    }
}

/// Returns the two offsets, in bytes, of an instruction with two addresses. They are encoded in units of `unit` bytes.
#[inline(always)]
pub(crate) fn two_offsets(i: &Inst, unit: u32) -> (u32, u32) {
    ((i.imm & 0xff) * unit, (i.imm >> 8 & 0xff) * unit)
}

/// `ds_read2_*`: loads `N` dwords from each of two addresses, with offsets in units of `UNIT` bytes.
pub(crate) struct Read2<const N: usize, const UNIT: u32>;
impl<const N: usize, const UNIT: u32> Exec for Read2<N, UNIT> {
    #[inline(always)]
    fn exec(w: &mut Wave, cx: &mut ExecContext, i: &Inst) -> Flow {
        if is_gds(i) {
            return no_gds(cx);
        }
        let (first, second) = two_offsets(i, UNIT);
        // Computed before the first load, whose destination may be the address register.
        let (one, two) = (addresses(w, i, first), addresses(w, i, second));
        match lds_load::<Dwords<N>>(w, cx, i.pc, i.dst, &one) {
            Flow::Next => lds_load::<Dwords<N>>(w, cx, i.pc, i.dst + N as u16, &two),
            fault => fault,
        }
    }
}

/// `ds_write2_*`: stores `N` dwords to each of two addresses, with offsets in units of `UNIT` bytes.
pub(crate) struct Write2<const N: usize, const UNIT: u32>;
impl<const N: usize, const UNIT: u32> Exec for Write2<N, UNIT> {
    #[inline(always)]
    fn exec(w: &mut Wave, cx: &mut ExecContext, i: &Inst) -> Flow {
        if is_gds(i) {
            return no_gds(cx);
        }
        let (first, second) = two_offsets(i, UNIT);
        let (one, two) = (addresses(w, i, first), addresses(w, i, second));
        match lds_store::<Dwords<N>>(w, cx, i.pc, i.src[1], &one) {
            Flow::Next => lds_store::<Dwords<N>>(w, cx, i.pc, i.src[2], &two),
            fault => fault,
        }
    }
}
