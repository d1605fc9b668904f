//! MUBUF and MTBUF: accesses through buffer descriptors, also to private memory on gfx90a, and cache control.

use amdgpu_isa::Encoding;

use crate::exec::access::{Load, Store, global_fault, load_at, scratch_load, scratch_store, store_at};
use crate::exec::atomics::{Bits, Rmw, buffer_rmw};
use crate::exec::descriptor::{Check, Descriptor};
use crate::exec::inst::{ExecContext, Flow, Inst, REPORTED, executors, flag};
use crate::exec::notices::Who;
use crate::exec::to_lds::{buffer_base, to_lds};
use crate::memory::Wide;
use crate::memory::apertures::SCRATCH_BASE;
use crate::report::access::{AccessKind, LaneAddress};
use crate::report::fault::FaultCause;
use crate::state::bytes::Bytes;
use crate::state::wave::{LANES, Wave, lanes_of};

executors! {
    /// Cache write-back and invalidation. They do nothing: memory is coherent, and workgroups see each other's stores in
    /// order.
    CacheControl |_, _, _| {
        std::sync::atomic::fence(std::sync::atomic::Ordering::SeqCst);
        Flow::Next
    }
}

/// The addresses of one access through a descriptor (CDNA ISA, "Buffer addressing"; RDNA3 ISA, 9.4).
pub(crate) struct Reach {
    descriptor: Descriptor,
    /// The address of index 0 and offset 0.
    base: u64,
    range: Range,
    index: [u32; LANES],
    offset: [u32; LANES],
}

/// The range check of an access: what is compared with the descriptor's number of records.
#[derive(Clone, Copy)]
enum Range {
    /// Buffers with ADD_TID and no index: nothing is checked.
    None,
    /// Raw buffers: the offset in bytes. Unless the buffer is swizzled, this includes the scalar offset, as the ISA
    /// documents say and hardware does (LLVM's pull request 207821; AMD's own kernels need it), although the
    /// descriptions of LLVM's intrinsics say otherwise.
    Bytes(u32),
    /// Structured buffers: the index.
    Records(u32),
    /// Structured buffers of gfx11: the index, and the end of the access in its record.
    RecordsOf { records: u32, stride: u32 },
    /// Nothing is in range.
    Nowhere,
}

impl Range {
    fn of(descriptor: &Descriptor, idxen: bool, soffset: u32) -> Range {
        let Descriptor { stride, records, add_tid, .. } = *descriptor;
        let swizzled = descriptor.element.is_some();
        let bytes = if swizzled { records } else { records.saturating_sub(soffset) };
        match descriptor.check {
            Check::ByStride => match (add_tid, idxen) {
                (true, false) => Range::None,
                (_, true) if stride != 0 => Range::Records(records),
                _ => Range::Bytes(bytes),
            },
            // RDNA3 ISA, 9.4.1, table 46.
            Check::IndexAndOffset => Range::RecordsOf { records, stride: stride as u32 },
            Check::Index => Range::Records(records),
            Check::Empty if records == 0 => Range::Nowhere,
            Check::Empty => Range::None,
            Check::Raw if swizzled && stride != 0 => Range::RecordsOf { records, stride: stride as u32 },
            Check::Raw => Range::Bytes(records.saturating_sub(soffset)),
        }
    }
}

impl Reach {
    /// Returns the addresses of a MUBUF or MTBUF instruction.
    pub(crate) fn new(w: &Wave, i: &Inst) -> Reach {
        let descriptor = Descriptor::of(w, i);
        let (offen, idxen) = (i.flags & flag::OFFEN != 0, i.flags & flag::IDXEN != 0);
        let mut index = [0; LANES];
        let mut offset = [i.imm; LANES];
        if idxen {
            index = *w.v(i.src[0]).flat();
        }
        if descriptor.add_tid {
            for (lane, index) in index.iter_mut().enumerate() {
                *index = index.wrapping_add(lane as u32);
            }
        }
        if offen {
            let v = w.v(i.src[0] + u16::from(idxen)).flat();
            for lane in 0..LANES {
                offset[lane] = v[lane].wrapping_add(i.imm);
            }
        }
        let soffset = w.s32(i.sdst);
        let typed = i.row.encoding() == Some(Encoding::Mtbuf);
        Reach {
            base: descriptor.base.wrapping_add(u64::from(soffset)),
            range: if descriptor.is_unbound(typed) {
                Range::Nowhere
            } else {
                Range::of(&descriptor, idxen, soffset)
            },
            descriptor,
            index,
            offset,
        }
    }

    /// Returns the guest address of byte `extra` of a lane's data.
    pub(crate) fn address(&self, lane: usize, extra: u32) -> u64 {
        let (index, offset) = (u64::from(self.index[lane]), self.offset[lane].wrapping_add(extra));
        let Descriptor { stride, index_stride, element, .. } = self.descriptor;
        let offset = if let Some(element) = element {
            let (msb, lsb) = (u64::from(offset / element * element), u64::from(offset % element));
            (index / index_stride * stride + msb) * index_stride
                + index % index_stride * u64::from(element)
                + lsb
        } else {
            index * stride + u64::from(offset)
        };
        self.base.wrapping_add(offset)
    }

    /// Returns whether `size` bytes, from byte `extra` of a lane's data on, are in range.
    pub(crate) fn inside(&self, lane: usize, extra: u32, size: u32) -> bool {
        match self.range {
            Range::None => true,
            Range::Bytes(bytes) => u64::from(self.offset[lane]) + u64::from(extra + size) <= u64::from(bytes),
            Range::Records(records) => self.index[lane] < records,
            Range::RecordsOf { records, stride } => {
                let end = u64::from(self.offset[lane]) + u64::from(extra + size);
                self.index[lane] < records && end <= u64::from(stride)
            }
            Range::Nowhere => false,
        }
    }

    /// Returns the lanes of `exec` whose `size` bytes are all in range.
    pub(crate) fn whole(&self, exec: u64, size: u32) -> u64 {
        if self.all_inside(size) {
            return exec;
        }
        lanes_of(exec).filter(|lane| self.inside(*lane, 0, size)).fold(0, |mask, lane| mask | 1 << lane)
    }

    /// Returns whether `size` bytes of each lane are in range, of the lanes that are not active, too.
    fn all_inside(&self, size: u32) -> bool {
        let largest = |of: &[u32; LANES]| of.iter().fold(0, |largest, one| largest.max(*one));
        match self.range {
            Range::None => true,
            Range::Bytes(bytes) => bytes.checked_sub(size).is_some_and(|last| largest(&self.offset) <= last),
            Range::Records(records) => largest(&self.index) < records,
            Range::RecordsOf { records, stride } => {
                let fits = stride.checked_sub(size).is_some_and(|last| largest(&self.offset) <= last);
                fits && largest(&self.index) < records
            }
            Range::Nowhere => false,
        }
    }

    /// Returns the address of every lane.
    pub(crate) fn addresses(&self) -> Wide {
        if self.descriptor.element.is_some() {
            return Wide(std::array::from_fn(|lane| self.address(lane, 0)));
        }
        // The stride has at most 19 bits.
        let stride = u64::from(self.descriptor.stride as u32);
        Wide(std::array::from_fn(|lane| {
            let offset = u64::from(self.index[lane]) * stride + u64::from(self.offset[lane]);
            self.base.wrapping_add(offset)
        }))
    }

    /// Returns whether `size` bytes of a lane have consecutive addresses.
    fn is_contiguous(&self, size: u32) -> bool {
        self.descriptor.element.is_none() || size <= 4
    }

    /// Returns the addresses if the `size` bytes of each lane of `exec` are in range and contiguous; otherwise `None`.
    pub(crate) fn plain(&self, exec: u64, size: u32) -> Option<Wide> {
        (self.is_contiguous(size) && self.whole(exec, size) == exec).then(|| self.addresses())
    }
}

/// Returns each lane's byte offset in its private memory, if the descriptor is the one of private memory.
///
/// That descriptor is swizzled: in a wave of 64 lanes, dword `n` of lane `l` is at byte `256 * n + 4 * l` of the wave's private
/// memory. The scalar offset counts bytes of the wave's private memory.
#[inline(always)]
pub(crate) fn scratch_offsets(w: &Wave, i: &Inst) -> Option<[u32; LANES]> {
    if w.s64(i.src[2]) & 0xffff_ffff_ffff != SCRATCH_BASE {
        return None;
    }
    let base = (w.s32(i.sdst) / w.lanes()).wrapping_add(i.imm);
    let mut out = [base; LANES];
    if i.flags & flag::OFFEN != 0 {
        let v = w.v(i.src[0] + u16::from(i.flags & flag::IDXEN != 0)).flat();
        for lane in 0..LANES {
            out[lane] = v[lane].wrapping_add(base);
        }
    }
    Some(out)
}

/// Returns whether each active lane of an access through the descriptor of private memory reaches its own memory.
#[inline(always)]
pub(crate) fn own_scratch(w: &Wave, i: &Inst) -> bool {
    let as_usual = w.s32(i.sdst) % (4 * w.lanes()) == 0 && i.flags & flag::IDXEN == 0;
    as_usual || lanes_of(w.exec()).all(|lane| reached(w, i, lane) == lane)
}

/// Returns the lane whose private memory `lane` reaches. The scalar offset counts bytes of all lanes, and an index
/// counts lanes.
fn reached(w: &Wave, i: &Inst, lane: usize) -> usize {
    let index = if i.flags & flag::IDXEN != 0 { w.v(i.src[0]).flat()[lane] } else { 0 };
    let lanes = w.s32(i.sdst).div_ceil(4) % w.lanes();
    (lane + lanes as usize + index as usize) % w.lanes() as usize
}

/// Faults with the lanes that reach the private memory of another lane.
#[cold]
fn other_scratch(w: &Wave, cx: &mut ExecContext, i: &Inst, access: AccessKind, size: usize) -> Flow {
    let lanes = lanes_of(w.exec())
        .map(|lane| LaneAddress { lane: Some(lane as u8), address: reached(w, i, lane) as u64 })
        .take(REPORTED);
    cx.fault(FaultCause::OtherLanesScratch {
        access,
        size: size as u32,
        soffset: w.s32(i.sdst),
        lanes: lanes.collect(),
    })
}

executors! {
    /// `buffer_load_*` to registers or LDS.
    BufferLoad<K: Load> |w, cx, i| {
        if i.flags & flag::LDS != 0 {
            let base = buffer_base(w, i);
            return to_lds(w, cx, i, base, K::E::SIZE, buffer_load::<K>);
        }
        buffer_load::<K>(w, cx, i, i.dst)
    }
}

#[inline(always)]
pub(crate) fn buffer_load<K: Load>(w: &mut Wave, cx: &mut ExecContext, i: &Inst, dst: u16) -> Flow {
    if let Some(at) = scratch_offsets(w, i) {
        if !own_scratch(w, i) {
            return other_scratch(w, cx, i, AccessKind::Read, K::E::SIZE);
        }
        return scratch_load::<K>(w, cx, dst, &at);
    }
    memory_load::<K>(w, cx, i, dst)
}

#[inline(never)]
fn memory_load<K: Load>(w: &mut Wave, cx: &mut ExecContext, i: &Inst, dst: u16) -> Flow {
    let (reach, exec, size) = (Reach::new(w, i), w.exec(), K::E::SIZE as u32);
    if let Some(at) = reach.plain(exec, size) {
        return load_at::<K, _>(w, cx, i.pc, dst, &at, false);
    }
    let unit = size.min(4);
    let mut values = [K::E::from_bytes([0; 16]); LANES];
    for lane in lanes_of(exec) {
        if reach.is_contiguous(size) && reach.inside(lane, 0, size) {
            // In one access, as in `load_at`.
            let Some(value) = cx.load_one(Who::lane(i.pc, w.id, lane), reach.address(lane, 0)) else {
                return fault(cx, AccessKind::Read, &reach, exec, size, 0);
            };
            values[lane] = value;
            continue;
        }
        let mut bytes = [0; 16];
        for (extra, part) in (0..size).step_by(4).zip(bytes.as_chunks_mut::<4>().0) {
            if reach.inside(lane, extra, unit) {
                let Some(value) =
                    load_part(cx, Who::lane(i.pc, w.id, lane), reach.address(lane, extra), unit)
                else {
                    return fault(cx, AccessKind::Read, &reach, exec, unit, extra);
                };
                *part = value.to_le_bytes();
            }
        }
        values[lane] = K::E::from_bytes(bytes);
    }
    for lane in lanes_of(exec) {
        K::put(w, dst, lane, values[lane]);
    }
    Flow::Next
}

/// Loads `size` bytes: 1, 2 or 4. Returns `None` if they are out of bounds.
pub(crate) fn load_part(cx: &mut ExecContext, who: Who, address: u64, size: u32) -> Option<u32> {
    match size {
        1 => cx.load_one::<u8>(who, address).map(u32::from),
        2 => cx.load_one::<u16>(who, address).map(u32::from),
        _ => cx.load_one::<[u32; 1]>(who, address).map(|[value]| value),
    }
}

/// Stores `size` bytes: 1, 2 or 4. Returns `None` if they are out of bounds.
pub(crate) fn store_part(cx: &mut ExecContext, who: Who, address: u64, size: u32, value: u32) -> Option<()> {
    match size {
        1 => cx.store_one(who, address, value as u8),
        2 => cx.store_one(who, address, value as u16),
        _ => cx.store_one(who, address, [value]),
    }
}

/// Faults with the lanes whose `size` bytes, from byte `extra` of their data on, are in the buffer's range but in no
/// allocation.
#[cold]
pub(crate) fn fault(
    cx: &mut ExecContext,
    access: AccessKind,
    reach: &Reach,
    exec: u64,
    size: u32,
    extra: u32,
) -> Flow {
    let exec =
        lanes_of(exec).filter(|lane| reach.inside(*lane, extra, size)).fold(0, |mask, lane| mask | 1 << lane);
    global_fault(cx, access, &|lane| reach.address(lane, extra), exec, size as usize)
}

executors! {
    /// `buffer_store_*`.
    BufferStore<K: Store> |w, cx, i| {
        if let Some(at) = scratch_offsets(w, i) {
            if !own_scratch(w, i) {
                return other_scratch(w, cx, i, AccessKind::Write, K::E::SIZE);
            }
            return scratch_store::<K>(w, cx, i.src[1], &at);
        }
        memory_store::<K>(w, cx, i)
    }
}

#[inline(never)]
fn memory_store<K: Store>(w: &mut Wave, cx: &mut ExecContext, i: &Inst) -> Flow {
    let (reach, exec, size) = (Reach::new(w, i), w.exec(), K::E::SIZE as u32);
    if let Some(at) = reach.plain(exec, size) {
        return store_at::<K, _>(w, cx, i.pc, i.src[1], &at, false);
    }
    let unit = size.min(4);
    for lane in lanes_of(exec) {
        let value = K::get(w, i.src[1], lane);
        if reach.is_contiguous(size) && reach.inside(lane, 0, size) {
            if cx.store_one(Who::lane(i.pc, w.id, lane), reach.address(lane, 0), value).is_none() {
                return fault(cx, AccessKind::Write, &reach, exec, size, 0);
            }
            continue;
        }
        let bytes = value.to_bytes();
        for (extra, part) in (0..size).step_by(4).zip(bytes.as_chunks::<4>().0) {
            if reach.inside(lane, extra, unit) {
                let value = u32::from_le_bytes(*part);
                if store_part(cx, Who::lane(i.pc, w.id, lane), reach.address(lane, extra), unit, value)
                    .is_none()
                {
                    return fault(cx, AccessKind::Write, &reach, exec, unit, extra);
                }
            }
        }
    }
    Flow::Next
}

executors! {
    /// `buffer_atomic_*`. A lane that is out of range changes nothing, and its result is 0.
    BufferRmw<O: Rmw> |w, cx, i| {
        let (reach, exec) = (Reach::new(w, i), w.exec());
        let inside = reach.whole(exec, <O::T as Bits>::E::SIZE as u32);
        if i.flags & flag::GLC != 0 {
            for lane in lanes_of(exec & !inside) {
                O::T::of_element(<O::T as Bits>::E::from_bytes([0; 16])).set(w, i.dst, lane);
            }
        }
        buffer_rmw::<O>(w, cx, i, &reach.addresses(), inside)
    }
}
