//! DS: loads and stores of LDS.

use crate::exec::access::{Dwords, Load, Store, lds_load, lds_store};
use crate::exec::inst::{Exec, ExecContext, Flow, Inst, executors, flag};
use crate::memory::cells::load_rows;
use crate::report::fault::FaultCause;
use crate::state::wave::{Aligned, LANES, Lanes, TEMP, Wave, lanes_of};

/// Returns each lane's address plus an offset. The sum wraps, as the address may be negative.
#[inline(always)]
pub(crate) fn addresses(w: &Wave, i: &Inst, offset: u32) -> Aligned<[u32; LANES]> {
    Aligned(w.v(i.src[0]).flat().map(|at| at.wrapping_add(offset)))
}

/// Returns whether the instruction accesses the global data share. The targets have no such memory, only global wave
/// sync (Linux's amdgpu, `gfx_v9_0_set_gds_init` and `gfx_v9_4_3_set_gds_init`: a size of 0); LLVM 22 rejects the bit.
#[inline(always)]
pub(crate) fn is_gds(i: &Inst) -> bool {
    i.flags & flag::GDS != 0
}

/// What executes an access of the global data share: it faults.
pub(crate) struct NoGds;
impl Exec for NoGds {
    fn exec(_: &mut Wave, cx: &mut ExecContext, _: &Inst) -> Flow {
        cx.fault(FaultCause::NoGlobalDataShare)
    }
}

executors! {
    Read<K: Load> |w, cx, i| {
        let at = addresses(w, i, i.imm);
        lds_load::<K>(w, cx, i.pc, i.dst, &at)
    }
    Write<K: Store> |w, cx, i| {
        let at = addresses(w, i, i.imm);
        lds_store::<K>(w, cx, i.pc, i.src[1], &at)
    }
}

/// Returns the two offsets, in bytes, of an instruction with two addresses. They are encoded in units of `unit` bytes.
#[inline(always)]
pub(crate) fn two_offsets(i: &Inst, unit: u32) -> (u32, u32) {
    ((i.imm & 0xff) * unit, (i.imm >> 8 & 0xff) * unit)
}

executors! {
    /// `ds_read2_*`: loads `N` dwords from each of two addresses, with offsets in units of `UNIT` bytes.
    Read2<const N: usize, const UNIT: u32> |w, cx, i| {
        let (first, second) = two_offsets(i, UNIT);
        if load_runs::<N>(w, cx, i, [first, second]) || load_pairs::<N>(w, cx, i, [first, second]) {
            return Flow::Next;
        }
        // Computed before the first load, whose destination may be the address register.
        let (one, two) = (addresses(w, i, first), addresses(w, i, second));
        match lds_load::<Dwords<N>>(w, cx, i.pc, i.dst, &one) {
            Flow::Next => lds_load::<Dwords<N>>(w, cx, i.pc, i.dst + N as u16, &two),
            fault => fault,
        }
    }
}

/// Loads `N` dwords from each of two offsets, where those of a lane follow those of the previous lane. Returns false, without
/// loading, if they do not, not all lanes are active, or one is out of bounds.
#[inline(always)]
fn load_runs<const N: usize>(
    w: &mut Wave,
    cx: &mut ExecContext,
    i: &Inst,
    [first, second]: [u32; 2],
) -> bool {
    let (size, distance) = (4 * N, second.wrapping_sub(first));
    // Most others are excluded before all addresses are computed.
    let registers = w.v(i.src[0]).flat();
    let length = registers[LANES - 1].wrapping_sub(registers[0]) as usize;
    let is_one = distance as usize == size && length == (LANES - 1) * 2 * size;
    if w.exec() != !0 || !is_one && length != (LANES - 1) * size {
        return false;
    }
    let at = addresses(w, i, first);
    if is_one {
        let Some(both) = cx.lds.run(2 * size, &at) else { return false };
        match N {
            1 => <Dwords<2> as Load>::run(w, i.dst, &both),
            _ => <Dwords<4> as Load>::run(w, i.dst, &both),
        }
        return true;
    }
    let behind = at[0].wrapping_add(distance);
    if cx.lds.run_from(size, behind).is_none() {
        return false;
    }
    let Some(one) = cx.lds.run(size, &at) else { return false };
    <Dwords<N> as Load>::run(w, i.dst, &one);
    let Some(two) = cx.lds.run_from(size, behind) else { return false };
    <Dwords<N> as Load>::run(w, i.dst + N as u16, &two);
    true
}

/// Loads `N` dwords from each of two offsets behind the addresses of all lanes. Returns false, without loading, if one is out
/// of bounds.
#[inline(always)]
fn load_pairs<const N: usize>(w: &mut Wave, cx: &mut ExecContext, i: &Inst, offsets: [u32; 2]) -> bool {
    // A copy, as the destination may be the address register.
    let at = Aligned(*w.v(i.src[0]).flat());
    let Some(active) = w.active() else { return true };
    let Some(cells) = cx.lds.checked_up_to::<[u32; N]>(offsets[0].max(offsets[1]), &at, &active) else {
        return false;
    };
    let rows = w.r.v.get_mut(usize::from(i.dst)..).and_then(|v| v.split_first_chunk_mut());
    let Some((one, rest)) = rows else { return false };
    let Some(two) = rest.first_chunk_mut() else { return false };
    load_rows(&cells, offsets, [one, two]);
    true
}

executors! {
    /// `ds_write2_*`: stores `N` dwords to each of two addresses, with offsets in units of `UNIT` bytes.
    Write2<const N: usize, const UNIT: u32> |w, cx, i| {
        let (first, second) = two_offsets(i, UNIT);
        let (one, two) = (addresses(w, i, first), addresses(w, i, second));
        match lds_store::<Dwords<N>>(w, cx, i.pc, i.src[1], &one) {
            Flow::Next => lds_store::<Dwords<N>>(w, cx, i.pc, i.src[2], &two),
            fault => fault,
        }
    }
    /// `ds_read_b64_tr_b4`, `ds_read_b96_tr_b6`, `ds_read_b64_tr_b8` and `ds_read_b64_tr_b16` of gfx950: loads `DWORDS`
    /// dwords at each lane's address, and transposes the elements of `BITS` bits within each 16 lanes.
    ///
    /// The 16 lanes load a matrix of 16 columns; a row is in as many lanes as it needs. Lane `n` then holds column `n`
    /// (CDNA4 ISA, 11.4, "MFMA Transpose Load from LDS": these loads give matrix instructions an operand whose rows are
    /// columns in LDS). EXEC has to be full; the elements of other lanes are 0 here.
    ReadTransposed<const BITS: usize, const DWORDS: usize> |w, cx, i| {
        let at = addresses(w, i, i.imm);
        if w.exec() != !0 {
            // Lanes that are not active load nothing.
            for n in 0..DWORDS as u16 {
                *w.v_mut(TEMP + n) = Lanes::ZERO;
            }
        }
        match lds_load::<Dwords<DWORDS>>(w, cx, i.pc, TEMP, &at) {
            Flow::Next => {}
            fault => return fault,
        }
        for lane in lanes_of(w.exec()) {
            let (group, column) = (lane / 16 * 16, lane % 16);
            // The number of elements that a lane loads, and of lanes that have a row.
            let elements = 32 * DWORDS / BITS;
            let lanes = 16 / elements;
            let mut out = [0u32; DWORDS];
            for row in 0..elements {
                let from = group + row * lanes + column / elements;
                let element = bits(w, from, column % elements * BITS, BITS);
                let (dword, shift) = (row * BITS / 32, row * BITS % 32);
                out[dword] |= element << shift;
                if shift + BITS > 32 {
                    out[dword + 1] |= element >> (32 - shift);
                }
            }
            for (n, dword) in out.into_iter().enumerate() {
                w.v_mut(i.dst + n as u16).flat_mut()[lane] = dword;
            }
        }
        Flow::Next
    }
}

/// Returns `count` bits of the temporary registers, from bit `at` on.
fn bits(w: &Wave, lane: usize, at: usize, count: usize) -> u32 {
    let dword = |n: usize| u64::from(w.v(TEMP + n as u16).flat()[lane]);
    let low = dword(at / 32);
    let both = if at % 32 + count > 32 { low | dword(at / 32 + 1) << 32 } else { low };
    (both >> (at % 32)) as u32 & ((1 << count) - 1)
}
