//! DS instructions that move data between lanes, or that have one address for the wave: permute, swizzle, addtid,
//! append.

use crate::exec::access::{Dwords, lds_fault, lds_load, lds_store};
use crate::exec::inst::{ExecContext, Flow, Inst, executors};
use crate::exec::notices::Who;
use crate::memory::opaque;
use crate::report::access::AccessKind;
use crate::state::wave::{Aligned, LANES, Wave, lanes_of, sreg};

/// Writes each active lane's value to the destination.
#[inline(always)]
fn put(w: &mut Wave, i: &Inst, values: &[u32; LANES]) -> Flow {
    let exec = w.exec();
    if exec == !0 {
        *w.v_mut(i.dst).flat_mut() = *values;
        return Flow::Next;
    }
    w.refresh_mask(exec);
    let mask = *w.mask.flat();
    let d = w.v_mut(i.dst).flat_mut();
    for lane in 0..LANES {
        d[lane] = values[lane] & mask[lane] | d[lane] & !mask[lane];
    }
    Flow::Next
}

/// Returns the data of active lanes, and 0 for inactive ones.
#[inline(always)]
fn active_data(w: &mut Wave, register: u16) -> [u32; LANES] {
    let exec = w.exec();
    let mut data = *w.v(register).flat();
    if exec != !0 {
        w.refresh_mask(exec);
        for lane in 0..LANES {
            data[lane] &= w.mask.flat()[lane];
        }
    }
    data
}

/// Returns the number whose exclusive or with a lane's number is the number in `lanes` for that lane; `None` if there is none.
/// Reductions exchange lanes so.
#[inline(always)]
fn exchange(lanes: &[u32; LANES]) -> Option<u32> {
    let first = opaque(&lanes[0]);
    let differ = (0..LANES).fold(0, |differ, lane| differ | (lanes[lane] ^ lane as u32 ^ first));
    (differ == 0).then_some(first)
}

/// Returns the data of the lanes whose numbers are those of the lanes, with an exclusive or with `by`. The distances below 8
/// are constants, so that each is one instruction for a vector.
#[inline(always)]
fn exchanged(data: &[u32; LANES], by: u32) -> [u32; LANES] {
    let mut near = *data;
    if by & 1 != 0 {
        near = std::array::from_fn(|lane| near[lane ^ 1]);
    }
    if by & 2 != 0 {
        near = std::array::from_fn(|lane| near[lane ^ 2]);
    }
    if by & 4 != 0 {
        near = std::array::from_fn(|lane| near[lane ^ 4]);
    }
    let (parts, _) = near.as_chunks::<8>();
    let mut out = [0; LANES];
    for (n, part) in out.as_chunks_mut().0.iter_mut().enumerate() {
        *part = parts[(n ^ by as usize / 8) % parts.len()];
    }
    out
}

/// Writes to each active lane the data of the lane that `from` gives for it. Inactive lanes have the data 0.
#[inline(always)]
fn gather(w: &mut Wave, i: &Inst, data: u16, from: &[u32; LANES]) -> Flow {
    let data = Aligned(active_data(w, data));
    let of = |lane: usize| data[from[lane] as usize % LANES];
    if w.exec() == !0 {
        if let Some(by) = exchange(from) {
            return put(w, i, &exchanged(&data, by));
        }
        // Written where it stays, as a copy would wait for the last of these stores.
        for (lane, d) in w.v_mut(i.dst).flat_mut().iter_mut().enumerate() {
            *d = of(lane);
        }
        return Flow::Next;
    }
    put(w, i, &std::array::from_fn(of))
}

/// Returns the lane that each lane's address selects. On gfx11 it is one of the same half of the wave (RDNA3 ISA, 12.5.2; LLVM,
/// `GCNSubtarget::supportsWaveWideBPermute`), on gfx12 any of the wave's (RDNA4 ISA, `DS_BPERMUTE_B32`).
#[inline(always)]
fn selected(w: &Wave, cx: &ExecContext, i: &Inst) -> Aligned<[u32; LANES]> {
    let at = w.v(i.src[0]).flat();
    // The bits of the lane's own number, and those of the number that is selected.
    let (own, chosen) = match cx.code.target {
        target if target.is_gfx12() => (0, if w.has_64_lanes() { 63 } else { 31 }),
        target if target.is_rdna() => (32, 31),
        _ => (0, 63),
    };
    Aligned(std::array::from_fn(|lane| lane as u32 & own | at[lane].wrapping_add(i.imm) / 4 & chosen))
}

executors! {
    /// `ds_bpermute_b32`: each lane reads the data of the lane that its address selects.
    Bpermute |w, cx, i| {
        let from = selected(w, cx, i);
        gather(w, i, i.src[1], &from)
    }
    /// `ds_bpermute_fi_b32` of gfx12: as `ds_bpermute_b32`, but reads inactive lanes too.
    BpermuteAll |w, cx, i| {
        let (from, data) = (selected(w, cx, i), Aligned(*w.v(i.src[1]).flat()));
        put(w, i, &std::array::from_fn(|lane| data[from[lane] as usize % LANES]))
    }
    /// `ds_permute_b32`: each lane writes its data to the lane that its address selects. If several select one lane, the
    /// last of them wins.
    Permute |w, cx, i| {
        let (to, data) = (selected(w, cx, i), Aligned(*w.v(i.src[1]).flat()));
        if w.exec() == !0 {
            if let Some(by) = exchange(&to) {
                return put(w, i, &exchanged(&data, by));
            }
            // Written where it stays, as a copy would wait for the last of these stores.
            let out = w.v_mut(i.dst).flat_mut();
            *out = [0; LANES];
            for lane in 0..LANES {
                out[to[lane] as usize % LANES] = data[lane];
            }
            return Flow::Next;
        }
        let mut out = [0; LANES];
        for lane in lanes_of(w.exec()) {
            out[to[lane] as usize % LANES] = data[lane];
        }
        put(w, i, &out)
    }
}

/// Returns what `f` returns for each lane. It is given the half of the wave that the lane is in, and its number there.
#[inline(always)]
fn each_lane(f: impl Fn(u32, u32) -> u32) -> [u32; LANES] {
    std::array::from_fn(|lane| f(lane as u32 & 32, lane as u32 & 31))
}

/// Returns the lanes from which the lanes read in `ds_swizzle_b32` (CDNA3 ISA, `DS_SWIZZLE_B32`).
#[inline(always)]
fn swizzled(offset: u32) -> [u32; LANES] {
    let field = |at: u32| offset >> at & 31;
    match offset {
        // FFT: the lane's number reversed, except for the bits of the mask.
        0xe000.. => {
            let mask = field(0);
            each_lane(|half, i| half | (i.reverse_bits() >> 27) >> mask.count_ones() | i & mask)
        }
        // Rotation within each group of lanes whose numbers have equal masked bits.
        0xc000.. => {
            let mask = field(0);
            let rotate = if offset >> 10 & 1 != 0 { field(5).wrapping_neg() } else { field(5) };
            each_lane(|half, i| half | i & mask | i.wrapping_add(rotate) & 31 & !mask)
        }
        // Any permutation of each four lanes.
        0x8000.. => each_lane(|half, i| half | i & !3 | offset >> (2 * (i & 3)) & 3),
        _ => each_lane(|half, i| half | (i & field(0) | field(5)) ^ field(10)),
    }
}

executors! {
    /// `ds_swizzle_b32`.
    Swizzle |w, _, i| {
        let from = Aligned(swizzled(i.imm));
        gather(w, i, i.src[0], &from)
    }
}

/// Returns the addresses of the addtid instructions: M0, plus the offset, plus 4 bytes times the lane's number.
pub(crate) fn by_lane(w: &Wave, i: &Inst) -> [u32; LANES] {
    let base = (w.s32(sreg::M0) & 0xffff) + i.imm;
    std::array::from_fn(|lane| base + 4 * lane as u32)
}

executors! {
    /// `ds_read_addtid_b32`.
    ReadAddtid |w, cx, i| {
        let at = by_lane(w, i);
        lds_load::<Dwords<1>>(w, cx, i.pc, i.dst, &at)
    }
    /// `ds_write_addtid_b32`.
    WriteAddtid |w, cx, i| {
        let at = by_lane(w, i);
        lds_store::<Dwords<1>>(w, cx, i.pc, i.src[1], &at)
    }
}

/// Returns the address of the counter of `ds_append` and `ds_consume`. LLVM passes the pointer in M0
/// (`llvm.amdgcn.ds.append`).
#[inline(always)]
pub(crate) fn count_address(w: &Wave, i: &Inst) -> u32 {
    (w.s32(sreg::M0) & 0xffff) + i.imm
}

executors! {
    /// `ds_append` and `ds_consume`: adds or subtracts the number of active lanes, once. The result of all lanes is the
    /// previous value.
    Count<const ADD: bool> |w, cx, i| {
        let at = count_address(w, i);
        let (exec, count) = (w.exec(), w.exec().count_ones());
        let Some(old) = cx.lds.load_u32(at) else {
            // The lanes access one counter together.
            let who = Who { pc: i.pc, wave: w.id, lane: None };
            if cx.past_lds(who, AccessKind::Atomic, at, 4) {
                return put(w, i, &[0; LANES]);
            }
            return lds_fault(cx, AccessKind::Atomic, &[at; LANES], exec | u64::from(exec == 0), 4);
        };
        let new = if ADD { old.wrapping_add(count) } else { old.wrapping_sub(count) };
        let _ = cx.lds.store_u32(at, new);
        put(w, i, &[old; LANES])
    }
}
