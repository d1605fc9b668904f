//! Loads and stores of each size, and how they move between registers and global memory, LDS and scratch.

use crate::exec::inst::{ExecContext, Flow};
use crate::memory::apertures::{PRIVATE_BASE_HI, SHARED_BASE_HI};
use crate::memory::lds::CheckedLds;
use crate::memory::{Addresses, Checked, Element};
use crate::report::access::{AccessKind, MemorySpace};
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

/// What a flat address leads to.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum FlatTarget {
    Global(u64),
    /// Byte offset.
    Lds(u32),
    /// Byte offset in the lane's.
    Scratch(u32),
}

impl FlatTarget {
    #[inline(always)]
    pub(crate) fn of(address: u64) -> FlatTarget {
        match (address >> 32) as u32 {
            SHARED_BASE_HI => FlatTarget::Lds(address as u32),
            PRIVATE_BASE_HI => FlatTarget::Scratch(address as u32),
            _ => FlatTarget::Global(address),
        }
    }

    pub(crate) fn space(self) -> MemorySpace {
        match self {
            FlatTarget::Global(_) => MemorySpace::Global,
            FlatTarget::Lds(_) => MemorySpace::Lds,
            FlatTarget::Scratch(_) => MemorySpace::Scratch,
        }
    }

    /// The address; in LDS and scratch the offset.
    pub(crate) fn offset(self) -> u64 {
        match self {
            FlatTarget::Global(address) => address,
            FlatTarget::Lds(offset) | FlatTarget::Scratch(offset) => offset.into(),
        }
    }
}

/// Declares the loads, or the stores, of all kinds: in global memory, LDS and scratch, and through flat addresses. `slot` is
/// the instruction's. `some` does so for the active lanes of what was checked, `lane` for one lane in scratch, and `each`
/// for lanes wherever each of them is.
macro_rules! transfers {
    (
        $Kind:ident, $access:ident;
        $global:ident, $global_apart:ident, $flat:ident, $flat_apart:ident, $lds:ident, $scratch:ident;
        some |$w:ident, $register:ident, $cells:ident| $some:expr;
        lane $lane:ident;
        each $each:ident;
    ) => {
        /// In global memory.
        #[inline(always)]
        pub(crate) fn $global<K: $Kind, A: Addresses>(
            $w: &mut Wave,
            cx: &mut ExecContext,
            slot: u32,
            $register: u16,
            at: &A,
        ) -> Flow {
            let Some(active) = $w.active() else { return Flow::Next };
            let (exec, all) = (active.exec(), active.all());
            match cx.mem.checked::<A, K::E>(slot, at, &active) {
                Some($cells) if all => K::all($w, $register, &$cells),
                Some($cells) => $some,
                None => return $global_apart::<K>($w, cx, $register, &|lane| at.at(lane), exec),
            }
            Flow::Next
        }

        /// In global memory, where the lanes are not in one allocation.
        #[cold]
        #[inline(never)]
        fn $global_apart<K: $Kind>(
            w: &mut Wave,
            cx: &mut ExecContext,
            register: u16,
            at: &dyn Fn(usize) -> u64,
            exec: u64,
        ) -> Flow {
            match $each::<K>(w, cx, register, exec, |lane| FlatTarget::Global(at(lane))) {
                Ok(()) => Flow::Next,
                Err(_) => global_fault(cx, AccessKind::$access, at, exec, K::E::SIZE),
            }
        }

        /// Through flat addresses.
        #[inline(always)]
        pub(crate) fn $flat<K: $Kind, A: Addresses>(
            $w: &mut Wave,
            cx: &mut ExecContext,
            slot: u32,
            $register: u16,
            at: &A,
        ) -> Flow {
            let Some(active) = $w.active() else { return Flow::Next };
            let (exec, all) = (active.exec(), active.all());
            // No allocation reaches into an aperture.
            match cx.mem.checked::<A, K::E>(slot, at, &active) {
                Some($cells) if all => K::all($w, $register, &$cells),
                Some($cells) => $some,
                None => return $flat_apart::<K>($w, cx, $register, &|lane| at.at(lane), exec),
            }
            Flow::Next
        }

        /// Through flat addresses, in LDS, scratch, or in several of them.
        #[inline(never)]
        fn $flat_apart<K: $Kind>(
            w: &mut Wave,
            cx: &mut ExecContext,
            register: u16,
            at: &dyn Fn(usize) -> u64,
            exec: u64,
        ) -> Flow {
            match one_aperture(at, exec) {
                Some((MemorySpace::Lds, at)) => return $lds::<K>(w, cx, register, &at),
                Some((_, at)) => return $scratch::<K>(w, cx, register, &at),
                None => {}
            }
            match $each::<K>(w, cx, register, exec, |lane| FlatTarget::of(at(lane))) {
                Ok(()) => Flow::Next,
                Err(lane) => flat_fault(w, cx, AccessKind::$access, at, exec, K::E::SIZE, lane),
            }
        }

        /// In LDS.
        #[inline(always)]
        pub(crate) fn $lds<K: $Kind>(
            $w: &mut Wave,
            cx: &mut ExecContext,
            $register: u16,
            at: &[u32; LANES],
        ) -> Flow {
            let Some(active) = $w.active() else { return Flow::Next };
            let (exec, all) = (active.exec(), active.all());
            match cx.lds.checked::<K::E>(at, &active) {
                Some(mut $cells) if all => K::all_lds($w, $register, &mut $cells),
                #[allow(unused_mut, reason = "stores need it")]
                Some(mut $cells) => $some,
                None => return lds_fault(cx, AccessKind::$access, at, exec, K::E::SIZE),
            }
            Flow::Next
        }

        /// In scratch, at byte offsets in each lane's.
        #[inline(always)]
        pub(crate) fn $scratch<K: $Kind>(
            w: &mut Wave,
            cx: &mut ExecContext,
            register: u16,
            at: &[u32; LANES],
        ) -> Flow {
            let Some(active) = w.active() else { return Flow::Next };
            let (exec, first) = (active.exec(), at[active.first()]);
            if same(at, &active) && K::row(w, register, first) {
                return Flow::Next;
            }
            for lane in lanes_of(exec) {
                if $lane::<K>(w, register, lane, at[lane]).is_none() {
                    return scratch_fault(w, cx, AccessKind::$access, at, exec, K::E::SIZE);
                }
            }
            Flow::Next
        }
    };
}

transfers! {
    Load, Read;
    global_load, global_load_apart, flat_load, flat_load_apart, lds_load, scratch_load;
    some |w, dst, from| from.each(|lane, value| K::put(w, dst, lane, value));
    lane load_lane;
    each load_each;
}

transfers! {
    Store, Write;
    global_store, global_store_apart, flat_store, flat_store_apart, lds_store, scratch_store;
    some |w, src, to| to.put(|lane| K::get(w, src, lane));
    lane store_lane;
    each store_each;
}

/// Loads one lane from scratch.
#[inline(always)]
fn load_lane<K: Load>(w: &mut Wave, dst: u16, lane: usize, offset: u32) -> Option<()> {
    let value = w.scratch.load(lane, offset)?;
    K::put(w, dst, lane, value);
    Some(())
}

/// Stores one lane to scratch.
#[inline(always)]
fn store_lane<K: Store>(w: &mut Wave, src: u16, lane: usize, offset: u32) -> Option<()> {
    let value = K::get(w, src, lane);
    w.scratch.store(lane, offset, value)
}

/// Loads the lanes of `exec`; an error is the first lane that is out of bounds.
fn load_each<K: Load>(
    w: &mut Wave,
    cx: &mut ExecContext,
    dst: u16,
    exec: u64,
    target: impl Fn(usize) -> FlatTarget,
) -> Result<(), usize> {
    // No register is written before all lanes are known to be in bounds: a destination may be an address.
    let mut values = [K::E::from_bytes([0; 16]); LANES];
    for lane in lanes_of(exec) {
        let value = match target(lane) {
            FlatTarget::Global(address) => cx.mem.load_one(address),
            FlatTarget::Lds(offset) => cx.lds.load_one(offset),
            FlatTarget::Scratch(offset) => w.scratch.load(lane, offset),
        };
        values[lane] = value.ok_or(lane)?;
    }
    for lane in lanes_of(exec) {
        K::put(w, dst, lane, values[lane]);
    }
    Ok(())
}

/// Stores the lanes of `exec`; an error is the first lane that is out of bounds.
fn store_each<K: Store>(
    w: &mut Wave,
    cx: &mut ExecContext,
    src: u16,
    exec: u64,
    target: impl Fn(usize) -> FlatTarget,
) -> Result<(), usize> {
    for lane in lanes_of(exec) {
        let value = K::get(w, src, lane);
        let done = match target(lane) {
            FlatTarget::Global(address) => cx.mem.store_one(address, value),
            FlatTarget::Lds(offset) => cx.lds.store_one(offset, value),
            FlatTarget::Scratch(offset) => w.scratch.store(lane, offset, value),
        };
        done.ok_or(lane)?;
    }
    Ok(())
}

/// Whether `size` bytes of global memory are out of bounds.
fn outside(cx: &mut ExecContext, access: AccessKind, address: u64, size: usize) -> bool {
    let range = match access {
        AccessKind::Write => cx.mem.range(address, size as u64),
        _ => cx.mem.readable(address, size as u64),
    };
    range.is_none()
}

/// Reports the lanes whose `size` bytes are out of bounds.
#[cold]
pub(crate) fn global_fault(
    cx: &mut ExecContext,
    access: AccessKind,
    at: &dyn Fn(usize) -> u64,
    exec: u64,
    size: usize,
) -> Flow {
    let lanes: Vec<(u8, u64)> = lanes_of(exec)
        .map(|lane| (lane as u8, at(lane)))
        .filter(|(_, address)| outside(cx, access, *address, size))
        .collect();
    cx.out_of_bounds(access, MemorySpace::Global, size as u32, lanes)
}

/// Reports the lanes whose `size` bytes are outside of LDS.
#[cold]
pub(crate) fn lds_fault(
    cx: &mut ExecContext,
    access: AccessKind,
    at: &[u32; LANES],
    exec: u64,
    size: usize,
) -> Flow {
    let end = u64::from(cx.lds.size());
    let lanes: Vec<(u8, u64)> = lanes_of(exec)
        .map(|lane| (lane as u8, u64::from(at[lane])))
        .filter(|(_, address)| address + size as u64 > end)
        .collect();
    cx.out_of_bounds(access, MemorySpace::Lds, size as u32, lanes)
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
    cx: &mut ExecContext,
    access: AccessKind,
    at: &[u32; LANES],
    exec: u64,
    size: usize,
) -> Flow {
    let lanes: Vec<(u8, u64)> = lanes_of(exec)
        .filter(|lane| !w.scratch.contains(at[*lane], size))
        .map(|lane| (lane as u8, u64::from(at[lane])))
        .collect();
    cx.out_of_bounds(access, MemorySpace::Scratch, size as u32, lanes)
}

/// The aperture that all lanes of `exec` are in, and their offsets.
fn one_aperture(at: &dyn Fn(usize) -> u64, exec: u64) -> Option<(MemorySpace, [u32; LANES])> {
    let mut offsets = [0; LANES];
    let mut space = None;
    for lane in lanes_of(exec) {
        let target = FlatTarget::of(at(lane));
        match target {
            FlatTarget::Global(_) => return None,
            FlatTarget::Lds(offset) | FlatTarget::Scratch(offset) => offsets[lane] = offset,
        }
        if *space.get_or_insert(target.space()) != target.space() {
            return None;
        }
    }
    space.map(|space| (space, offsets))
}

/// Reports the lanes whose `size` bytes are out of bounds, of those in the same space as `first`.
#[cold]
pub(crate) fn flat_fault(
    w: &Wave,
    cx: &mut ExecContext,
    access: AccessKind,
    at: &dyn Fn(usize) -> u64,
    exec: u64,
    size: usize,
    first: usize,
) -> Flow {
    let space = FlatTarget::of(at(first)).space();
    let lds = u64::from(cx.lds.size());
    let mut lanes = Vec::new();
    for lane in lanes_of(exec) {
        let target = FlatTarget::of(at(lane));
        let (bad, address) = match target {
            FlatTarget::Global(address) => (outside(cx, access, address, size), address),
            FlatTarget::Lds(offset) => (u64::from(offset) + size as u64 > lds, u64::from(offset)),
            FlatTarget::Scratch(offset) => (!w.scratch.contains(offset, size), u64::from(offset)),
        };
        if bad && target.space() == space {
            lanes.push((lane as u8, address));
        }
    }
    cx.out_of_bounds(access, space, size as u32, lanes)
}
