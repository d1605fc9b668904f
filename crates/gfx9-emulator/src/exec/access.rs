//! Loads and stores of each size, and how they move between registers and global memory, LDS and scratch.

use crate::exec::inst::{Ctx, Flow};
use crate::memory::apertures::{PRIVATE_BASE_HI, SHARED_BASE_HI};
use crate::memory::lds::CheckedLds;
use crate::memory::{Addresses, Checked, Element};
use crate::report::access::{Access, Space};
use crate::state::bytes::Bytes;
use crate::state::wave::{Active, LANES, Lanes, Wave, lanes_of};

/// What a load does with what it reads. `put` must be `#[inline(always)]`.
pub(crate) trait Load {
    type E: Element;
    /// Puts an element into a lane.
    fn put(w: &mut Wave, dst: u16, lane: usize, value: Self::E);
    /// Loads all lanes from global memory.
    #[inline(always)]
    fn all<A: Addresses>(w: &mut Wave, dst: u16, from: &Checked<'_, A, Self::E>) {
        from.each(|lane, value| Self::put(w, dst, lane, value));
    }
    /// Loads all lanes from LDS.
    #[inline(always)]
    fn all_lds(w: &mut Wave, dst: u16, from: &CheckedLds<'_, Self::E>) {
        from.each(|lane, value| Self::put(w, dst, lane, value));
    }
    /// Loads all active lanes from the same offset of scratch, in bytes; false if that isn't a plain copy.
    #[inline(always)]
    fn row(_: &mut Wave, _dst: u16, _offset: u32) -> bool {
        false
    }
}

/// What a store writes. `get` must be `#[inline(always)]`.
pub(crate) trait Store {
    type E: Element;
    /// A lane's element.
    fn get(w: &Wave, src: u16, lane: usize) -> Self::E;
    /// Stores all lanes to global memory.
    #[inline(always)]
    fn all<A: Addresses>(w: &Wave, src: u16, to: &Checked<'_, A, Self::E>) {
        to.put(|lane| Self::get(w, src, lane));
    }
    /// Stores all lanes to LDS.
    #[inline(always)]
    fn all_lds(w: &Wave, src: u16, to: &mut CheckedLds<'_, Self::E>) {
        to.put(|lane| Self::get(w, src, lane));
    }
    /// Stores all active lanes to the same offset of scratch, in bytes; false if that isn't a plain copy.
    #[inline(always)]
    fn row(_: &mut Wave, _src: u16, _offset: u32) -> bool {
        false
    }
}

/// `N` dwords.
pub(crate) struct Dwords<const N: usize>;

impl<const N: usize> Load for Dwords<N> {
    type E = [u32; N];

    #[inline(always)]
    fn put(w: &mut Wave, dst: u16, lane: usize, value: [u32; N]) {
        for (n, dword) in value.into_iter().enumerate() {
            w.v_mut(dst + n as u16).flat_mut()[lane] = dword;
        }
    }

    #[inline(always)]
    fn all<A: Addresses>(w: &mut Wave, dst: u16, from: &Checked<'_, A, [u32; N]>) {
        if let Some(rows) = w.rows_mut(dst) {
            from.rows(rows);
        }
    }

    #[inline(always)]
    fn all_lds(w: &mut Wave, dst: u16, from: &CheckedLds<'_, [u32; N]>) {
        if let Some(rows) = w.rows_mut(dst) {
            from.rows(rows);
        }
    }

    #[inline(always)]
    fn row(w: &mut Wave, dst: u16, offset: u32) -> bool {
        if offset % 4 != 0 {
            return false;
        }
        let exec = w.exec();
        let Some(from) = w.scratch.rows::<N>(offset as usize / 4) else { return false };
        let Some(to) = w.r.v.get_mut(usize::from(dst)..).and_then(|v| v.first_chunk_mut()) else {
            return false;
        };
        copy(to, from, exec, &w.mask);
        true
    }
}

impl<const N: usize> Store for Dwords<N> {
    type E = [u32; N];

    #[inline(always)]
    fn get(w: &Wave, src: u16, lane: usize) -> [u32; N] {
        std::array::from_fn(|n| w.v(src + n as u16).flat()[lane])
    }

    #[inline(always)]
    fn all<A: Addresses>(w: &Wave, src: u16, to: &Checked<'_, A, [u32; N]>) {
        if let Some(rows) = w.rows(src) {
            to.put_rows(rows);
        }
    }

    #[inline(always)]
    fn all_lds(w: &Wave, src: u16, to: &mut CheckedLds<'_, [u32; N]>) {
        if let Some(rows) = w.rows(src) {
            to.put_rows(rows);
        }
    }

    #[inline(always)]
    fn row(w: &mut Wave, src: u16, offset: u32) -> bool {
        if offset % 4 != 0 {
            return false;
        }
        let exec = w.exec();
        let Some(to) = w.scratch.rows_mut::<N>(offset as usize / 4) else { return false };
        let Some(from) = w.r.v.get(usize::from(src)..).and_then(|v| v.first_chunk()) else { return false };
        copy(to, from, exec, &w.mask);
        true
    }
}

/// Copies the lanes of `exec`, of which `mask` is the mask unless it is all ones.
#[inline(always)]
fn copy<const N: usize>(to: &mut [Lanes; N], from: &[Lanes; N], exec: u64, mask: &Lanes) {
    if exec == !0 {
        *to = *from;
        return;
    }
    for n in 0..N {
        for lane in 0..LANES {
            let m = mask.flat()[lane];
            let old = &mut to[n].flat_mut()[lane];
            *old = from[n].flat()[lane] & m | *old & !m;
        }
    }
}

/// Declares loads of less than a dword: `Name(type): |value, old dword| new dword;`.
macro_rules! narrow_loads {
    ($($(#[$doc:meta])* $name:ident($ty:ty): |$v:ident, $old:pat_param| $new:expr;)*) => {$(
        $(#[$doc])*
        pub(crate) struct $name;
        impl Load for $name {
            type E = $ty;
            #[inline(always)]
            fn put(w: &mut Wave, dst: u16, lane: usize, $v: $ty) {
                let dword = &mut w.v_mut(dst).flat_mut()[lane];
                let $old = *dword;
                *dword = $new;
            }
        }
    )*};
}

narrow_loads! {
    Ubyte(u8): |v, _| u32::from(v);
    Sbyte(u8): |v, _| v as i8 as u32;
    Ushort(u16): |v, _| u32::from(v);
    Sshort(u16): |v, _| v as i16 as u32;
    /// To the low half; the other stays.
    ByteLow(u8): |v, old| old & 0xffff_0000 | u32::from(v);
    ByteToHigh(u8): |v, old| old & 0xffff | u32::from(v) << 16;
    SbyteLow(u8): |v, old| old & 0xffff_0000 | u32::from(v as i8 as u16);
    SbyteToHigh(u8): |v, old| old & 0xffff | (v as i8 as u32) << 16;
    ShortLow(u16): |v, old| old & 0xffff_0000 | u32::from(v);
    ShortToHigh(u16): |v, old| old & 0xffff | u32::from(v) << 16;
}

/// Declares stores of less than a dword: `Name(type): |dword| value;`.
macro_rules! narrow_stores {
    ($($name:ident($ty:ty): |$v:ident| $value:expr;)*) => {$(
        pub(crate) struct $name;
        impl Store for $name {
            type E = $ty;
            #[inline(always)]
            fn get(w: &Wave, src: u16, lane: usize) -> $ty {
                let $v = w.v(src).flat()[lane];
                $value
            }
        }
    )*};
}

narrow_stores! {
    Byte(u8): |v| v as u8;
    ByteHigh(u8): |v| (v >> 16) as u8;
    Short(u16): |v| v as u16;
    ShortHigh(u16): |v| (v >> 16) as u16;
}

/// Loads from global memory. `slot` is the instruction's.
#[inline(always)]
pub(crate) fn global_load<K: Load, A: Addresses>(
    w: &mut Wave,
    cx: &mut Ctx,
    slot: u32,
    dst: u16,
    at: &A,
) -> Flow {
    let Some(active) = w.active() else { return Flow::Next };
    let (exec, all) = (active.exec(), active.all());
    match cx.mem.checked::<A, K::E>(slot, at, &active) {
        Some(from) if all => K::all(w, dst, &from),
        Some(from) => from.each(|lane, value| K::put(w, dst, lane, value)),
        None => return global_load_apart::<K>(w, cx, dst, &|lane| at.at(lane), exec),
    }
    Flow::Next
}

/// Loads where the lanes are not in one allocation.
#[cold]
#[inline(never)]
fn global_load_apart<K: Load>(
    w: &mut Wave,
    cx: &mut Ctx,
    dst: u16,
    at: &dyn Fn(usize) -> u64,
    exec: u64,
) -> Flow {
    let size = K::E::SIZE;
    // No register is written before all lanes are known to be in bounds: a destination may be an address.
    let mut values = [K::E::from_bytes([0; 16]); LANES];
    for lane in lanes_of(exec) {
        let Some(value) = cx.mem.load_one(at(lane)) else {
            return global_fault(cx, Access::Read, at, exec, size);
        };
        values[lane] = value;
    }
    for lane in lanes_of(exec) {
        K::put(w, dst, lane, values[lane]);
    }
    Flow::Next
}

/// Stores to global memory. `slot` is the instruction's.
#[inline(always)]
pub(crate) fn global_store<K: Store, A: Addresses>(
    w: &mut Wave,
    cx: &mut Ctx,
    slot: u32,
    src: u16,
    at: &A,
) -> Flow {
    let Some(active) = w.active() else { return Flow::Next };
    let (exec, all) = (active.exec(), active.all());
    match cx.mem.checked::<A, K::E>(slot, at, &active) {
        Some(to) if all => K::all(w, src, &to),
        Some(to) => to.put(|lane| K::get(w, src, lane)),
        None => return global_store_apart::<K>(w, cx, src, &|lane| at.at(lane), exec),
    }
    Flow::Next
}

/// Stores where the lanes are not in one allocation.
#[cold]
#[inline(never)]
fn global_store_apart<K: Store>(
    w: &mut Wave,
    cx: &mut Ctx,
    src: u16,
    at: &dyn Fn(usize) -> u64,
    exec: u64,
) -> Flow {
    for lane in lanes_of(exec) {
        if cx.mem.store_one(at(lane), K::get(w, src, lane)).is_none() {
            return global_fault(cx, Access::Write, at, exec, K::E::SIZE);
        }
    }
    Flow::Next
}

/// Whether `size` bytes of global memory are out of bounds.
fn outside(cx: &mut Ctx, access: Access, address: u64, size: usize) -> bool {
    let window = match access {
        Access::Write => cx.mem.window(address, size as u64),
        _ => cx.mem.readable(address, size as u64),
    };
    window.is_none()
}

/// Reports the lanes whose `size` bytes are out of bounds.
#[cold]
pub(crate) fn global_fault(
    cx: &mut Ctx,
    access: Access,
    at: &dyn Fn(usize) -> u64,
    exec: u64,
    size: usize,
) -> Flow {
    let lanes: Vec<(u8, u64)> = lanes_of(exec)
        .map(|lane| (lane as u8, at(lane)))
        .filter(|(_, address)| outside(cx, access, *address, size))
        .collect();
    cx.out_of_bounds(access, Space::Global, size as u32, lanes)
}

/// Loads from LDS.
#[inline(always)]
pub(crate) fn lds_load<K: Load>(w: &mut Wave, cx: &mut Ctx, dst: u16, at: &[u32; LANES]) -> Flow {
    let Some(active) = w.active() else { return Flow::Next };
    let (exec, all) = (active.exec(), active.all());
    match cx.lds.checked::<K::E>(at, &active) {
        Some(from) if all => K::all_lds(w, dst, &from),
        Some(from) => from.each(|lane, value| K::put(w, dst, lane, value)),
        None => return lds_fault(cx, Access::Read, at, exec, K::E::SIZE),
    }
    Flow::Next
}

/// Stores to LDS.
#[inline(always)]
pub(crate) fn lds_store<K: Store>(w: &mut Wave, cx: &mut Ctx, src: u16, at: &[u32; LANES]) -> Flow {
    let Some(active) = w.active() else { return Flow::Next };
    let (exec, all) = (active.exec(), active.all());
    match cx.lds.checked::<K::E>(at, &active) {
        Some(mut to) if all => K::all_lds(w, src, &mut to),
        Some(mut to) => to.put(|lane| K::get(w, src, lane)),
        None => return lds_fault(cx, Access::Write, at, exec, K::E::SIZE),
    }
    Flow::Next
}

/// Reports the lanes whose `size` bytes are outside of LDS.
#[cold]
pub(crate) fn lds_fault(cx: &mut Ctx, access: Access, at: &[u32; LANES], exec: u64, size: usize) -> Flow {
    let end = u64::from(cx.lds.size());
    let lanes: Vec<(u8, u64)> = lanes_of(exec)
        .map(|lane| (lane as u8, u64::from(at[lane])))
        .filter(|(_, address)| address + size as u64 > end)
        .collect();
    cx.out_of_bounds(access, Space::Lds, size as u32, lanes)
}

/// Loads from scratch, at byte offsets in each lane's.
#[inline(always)]
pub(crate) fn scratch_load<K: Load>(w: &mut Wave, cx: &mut Ctx, dst: u16, at: &[u32; LANES]) -> Flow {
    let Some(active) = w.active() else { return Flow::Next };
    let (exec, first) = (active.exec(), at[active.first()]);
    if same(at, &active) && K::row(w, dst, first) {
        return Flow::Next;
    }
    for lane in lanes_of(exec) {
        let Some(value) = w.scratch.load(lane, at[lane]) else {
            return scratch_fault(w, cx, Access::Read, at, exec, K::E::SIZE);
        };
        K::put(w, dst, lane, value);
    }
    Flow::Next
}

/// Stores to scratch, at byte offsets in each lane's.
#[inline(always)]
pub(crate) fn scratch_store<K: Store>(w: &mut Wave, cx: &mut Ctx, src: u16, at: &[u32; LANES]) -> Flow {
    let Some(active) = w.active() else { return Flow::Next };
    let (exec, first) = (active.exec(), at[active.first()]);
    if same(at, &active) && K::row(w, src, first) {
        return Flow::Next;
    }
    for lane in lanes_of(exec) {
        let value = K::get(w, src, lane);
        if w.scratch.store(lane, at[lane], value).is_none() {
            return scratch_fault(w, cx, Access::Write, at, exec, K::E::SIZE);
        }
    }
    Flow::Next
}

/// Whether all active lanes have the same offset.
#[inline(always)]
fn same(at: &[u32; LANES], active: &Active<'_>) -> bool {
    let first = at[active.first()];
    let mut differ = 0;
    if active.all() {
        for at in at {
            differ |= at ^ first;
        }
    } else {
        for (lane, at) in at.iter().enumerate() {
            differ |= (at ^ first) & active.keep(lane);
        }
    }
    differ == 0
}

/// Reports the lanes whose `size` bytes are outside of their scratch.
#[cold]
pub(crate) fn scratch_fault(
    w: &Wave,
    cx: &mut Ctx,
    access: Access,
    at: &[u32; LANES],
    exec: u64,
    size: usize,
) -> Flow {
    let lanes: Vec<(u8, u64)> = lanes_of(exec)
        .filter(|lane| !w.scratch.contains(at[*lane], size))
        .map(|lane| (lane as u8, u64::from(at[lane])))
        .collect();
    cx.out_of_bounds(access, Space::Scratch, size as u32, lanes)
}

/// What a flat address leads to.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Place {
    Global(u64),
    /// Byte offset.
    Lds(u32),
    /// Byte offset in the lane's.
    Scratch(u32),
}

impl Place {
    #[inline(always)]
    pub(crate) fn of(address: u64) -> Place {
        match (address >> 32) as u32 {
            SHARED_BASE_HI => Place::Lds(address as u32),
            PRIVATE_BASE_HI => Place::Scratch(address as u32),
            _ => Place::Global(address),
        }
    }

    pub(crate) fn space(self) -> Space {
        match self {
            Place::Global(_) => Space::Global,
            Place::Lds(_) => Space::Lds,
            Place::Scratch(_) => Space::Scratch,
        }
    }

    /// The address; in LDS and scratch the offset.
    pub(crate) fn offset(self) -> u64 {
        match self {
            Place::Global(address) => address,
            Place::Lds(offset) | Place::Scratch(offset) => offset.into(),
        }
    }
}

/// Loads through flat addresses.
#[inline(always)]
pub(crate) fn flat_load<K: Load, A: Addresses>(
    w: &mut Wave,
    cx: &mut Ctx,
    slot: u32,
    dst: u16,
    at: &A,
) -> Flow {
    let Some(active) = w.active() else { return Flow::Next };
    let (exec, all) = (active.exec(), active.all());
    // No allocation reaches into an aperture.
    match cx.mem.checked::<A, K::E>(slot, at, &active) {
        Some(from) if all => K::all(w, dst, &from),
        Some(from) => from.each(|lane, value| K::put(w, dst, lane, value)),
        None => return flat_load_apart::<K>(w, cx, dst, &|lane| at.at(lane), exec),
    }
    Flow::Next
}

/// Loads from LDS, scratch, or several places.
#[inline(never)]
fn flat_load_apart<K: Load>(
    w: &mut Wave,
    cx: &mut Ctx,
    dst: u16,
    at: &dyn Fn(usize) -> u64,
    exec: u64,
) -> Flow {
    match one_aperture(at, exec) {
        Some((Space::Lds, at)) => return lds_load::<K>(w, cx, dst, &at),
        Some((_, at)) => return scratch_load::<K>(w, cx, dst, &at),
        None => {}
    }
    let mut values = [K::E::from_bytes([0; 16]); LANES];
    for lane in lanes_of(exec) {
        let value = match Place::of(at(lane)) {
            Place::Global(address) => cx.mem.load_one(address),
            Place::Lds(offset) => cx.lds.load_one(offset),
            Place::Scratch(offset) => w.scratch.load(lane, offset),
        };
        let Some(value) = value else { return flat_fault(w, cx, Access::Read, at, exec, K::E::SIZE, lane) };
        values[lane] = value;
    }
    for lane in lanes_of(exec) {
        K::put(w, dst, lane, values[lane]);
    }
    Flow::Next
}

/// Stores through flat addresses.
#[inline(always)]
pub(crate) fn flat_store<K: Store, A: Addresses>(
    w: &mut Wave,
    cx: &mut Ctx,
    slot: u32,
    src: u16,
    at: &A,
) -> Flow {
    let Some(active) = w.active() else { return Flow::Next };
    let (exec, all) = (active.exec(), active.all());
    match cx.mem.checked::<A, K::E>(slot, at, &active) {
        Some(to) if all => K::all(w, src, &to),
        Some(to) => to.put(|lane| K::get(w, src, lane)),
        None => return flat_store_apart::<K>(w, cx, src, &|lane| at.at(lane), exec),
    }
    Flow::Next
}

/// Stores to LDS, scratch, or several places.
#[inline(never)]
fn flat_store_apart<K: Store>(
    w: &mut Wave,
    cx: &mut Ctx,
    src: u16,
    at: &dyn Fn(usize) -> u64,
    exec: u64,
) -> Flow {
    match one_aperture(at, exec) {
        Some((Space::Lds, at)) => return lds_store::<K>(w, cx, src, &at),
        Some((_, at)) => return scratch_store::<K>(w, cx, src, &at),
        None => {}
    }
    for lane in lanes_of(exec) {
        let value = K::get(w, src, lane);
        let done = match Place::of(at(lane)) {
            Place::Global(address) => cx.mem.store_one(address, value),
            Place::Lds(offset) => cx.lds.store_one(offset, value),
            Place::Scratch(offset) => w.scratch.store(lane, offset, value),
        };
        if done.is_none() {
            return flat_fault(w, cx, Access::Write, at, exec, K::E::SIZE, lane);
        }
    }
    Flow::Next
}

/// The aperture that all lanes of `exec` are in, and their offsets.
fn one_aperture(at: &dyn Fn(usize) -> u64, exec: u64) -> Option<(Space, [u32; LANES])> {
    let mut offsets = [0; LANES];
    let mut space = None;
    for lane in lanes_of(exec) {
        let place = Place::of(at(lane));
        match place {
            Place::Global(_) => return None,
            Place::Lds(offset) | Place::Scratch(offset) => offsets[lane] = offset,
        }
        if *space.get_or_insert(place.space()) != place.space() {
            return None;
        }
    }
    space.map(|space| (space, offsets))
}

/// Reports the lanes whose `size` bytes are out of bounds, of those in the same space as `first`.
#[cold]
pub(crate) fn flat_fault(
    w: &Wave,
    cx: &mut Ctx,
    access: Access,
    at: &dyn Fn(usize) -> u64,
    exec: u64,
    size: usize,
    first: usize,
) -> Flow {
    let space = Place::of(at(first)).space();
    let lds = u64::from(cx.lds.size());
    let mut lanes = Vec::new();
    for lane in lanes_of(exec) {
        let place = Place::of(at(lane));
        let (bad, address) = match place {
            Place::Global(address) => (outside(cx, access, address, size), address),
            Place::Lds(offset) => (u64::from(offset) + size as u64 > lds, u64::from(offset)),
            Place::Scratch(offset) => (!w.scratch.contains(offset, size), u64::from(offset)),
        };
        if bad && place.space() == space {
            lanes.push((lane as u8, address));
        }
    }
    cx.out_of_bounds(access, space, size as u32, lanes)
}
