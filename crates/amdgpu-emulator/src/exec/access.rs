//! Loads and stores of each size, between vector registers and global memory, LDS or private memory.

use crate::exec::address::Places;
use crate::exec::inst::{ExecContext, Flow};
use crate::exec::notices::Who;
use crate::memory::apertures::{PRIVATE_BASE_HI, SHARED_BASE_HI};
use crate::memory::bounds::Bounds;
use crate::memory::cells::{Cells, load_rows, of_rows, store_rows, to_rows};
use crate::memory::{Addresses as _, Element, Piece, Pieces};
use crate::report::access::{AccessKind, MemorySpace};
use crate::state::bytes::Bytes;
use crate::state::wave::{Active, CHUNK, CHUNKS, LANES, Lanes, Wave, lanes_of};

/// A kind of load: the type that it reads, and how a lane's register receives it. `put` must be `#[inline(always)]`.
pub(crate) trait Load {
    type E: Element;
    /// Writes an element to a lane of the register.
    fn put(w: &mut Wave, dst: u16, lane: usize, value: Self::E);
    /// Loads the elements of all lanes, which follow each other in memory.
    fn run(w: &mut Wave, dst: u16, from: &impl Pieces);
    /// Loads the elements of the active lanes.
    fn each(w: &mut Wave, dst: u16, from: &impl Cells<Self::E>);
    /// Loads the active lanes from private memory, each at the same `offset` in bytes. Returns false, without loading,
    /// if that is not a copy of whole rows.
    #[inline(always)]
    fn row(_: &mut Wave, _dst: u16, _offset: u32) -> bool {
        false
    }
}

/// A kind of store: the type that it writes, and how it is read from a lane's register. `get` must be
/// `#[inline(always)]`.
pub(crate) trait Store {
    type E: Element;
    /// Returns the element that a lane stores.
    fn get(w: &Wave, src: u16, lane: usize) -> Self::E;
    /// Stores the elements of all lanes, which follow each other in memory.
    fn run(w: &Wave, src: u16, to: &mut impl Pieces);
    /// Stores the elements of the active lanes.
    fn each(w: &Wave, src: u16, to: &mut impl Cells<Self::E>);
    /// Stores the active lanes to private memory, each at the same `offset` in bytes. Returns false, without storing,
    /// if that is not a copy of whole rows.
    #[inline(always)]
    fn row(_: &mut Wave, _src: u16, _offset: u32) -> bool {
        false
    }
}

/// Loads or stores `N` dwords for each lane.
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
    fn run(w: &mut Wave, dst: u16, from: &impl Pieces) {
        let Some(rows) = w.rows_mut::<N>(dst) else { return };
        if (N == 2 || N == 3)
            && let Some(all) = from.dwords().and_then(|all| all.get(..N * LANES))
        {
            // One loop, which is twice as fast as one for each chunk.
            for lane in 0..LANES {
                for n in 0..N {
                    rows[n].flat_mut()[lane] = u32::from_le_bytes(all[lane * N + n]);
                }
            }
            return;
        }
        for c in 0..CHUNKS {
            if N == 1 {
                rows[0].0[c] = from.load(c);
                continue;
            }
            let pieces: [Piece; N] = std::array::from_fn(|n| from.load(c * N + n));
            if N == 4 {
                let values = pieces.as_flattened().as_chunks().0.as_chunks::<4>().0;
                for (n, four) in values.iter().enumerate() {
                    to_rows(*four, rows, c * CHUNK + 4 * n);
                }
                continue;
            }
            for j in 0..CHUNK {
                for n in 0..N {
                    rows[n].0[c][j] = pieces.as_flattened()[j * N + n];
                }
            }
        }
    }

    #[inline(always)]
    fn each(w: &mut Wave, dst: u16, from: &impl Cells<[u32; N]>) {
        if let Some(rows) = w.rows_mut(dst) {
            load_rows(from, [0], [rows]);
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
    fn run(w: &Wave, src: u16, to: &mut impl Pieces) {
        let Some(rows) = w.rows::<N>(src) else { return };
        let mut pieces = [Piece::default(); N];
        for c in 0..CHUNKS {
            if N == 1 {
                to.store(c, &rows[0].0[c]);
                continue;
            }
            if N == 4 {
                let values = pieces.as_flattened_mut().as_chunks_mut().0.as_chunks_mut::<4>().0;
                for (n, four) in values.iter_mut().enumerate() {
                    *four = of_rows(rows, c * CHUNK + 4 * n);
                }
            } else {
                for j in 0..CHUNK {
                    for n in 0..N {
                        pieces.as_flattened_mut()[j * N + n] = rows[n].0[c][j];
                    }
                }
            }
            for (n, piece) in pieces.iter().enumerate() {
                to.store(c * N + n, piece);
            }
        }
    }

    #[inline(always)]
    fn each(w: &Wave, src: u16, to: &mut impl Cells<[u32; N]>) {
        if let Some(rows) = w.rows(src) {
            store_rows(to, rows);
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

/// Copies the lanes of `exec`. `mask` is all ones in these lanes; it is not used if all lanes are active.
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

/// Declares loads of less than a dword: `Name(type): |value, kept bits of the old dword| new dword;`.
macro_rules! narrow_loads {
    ($($(#[$doc:meta])* $name:ident($ty:ty): |$v:ident, $old:pat_param| $new:expr;)*) => {$(
        $(#[$doc])*
        pub(crate) struct $name;
        impl $name {
            /// Writes the elements of the active lanes to the register.
            #[inline(always)]
            fn put_all(w: &mut Wave, dst: u16, values: &[$ty; LANES]) {
                let (kept, exec) = (w.d16_kept, w.exec());
                if exec == !0 {
                    for (dword, $v) in w.v_mut(dst).flat_mut().iter_mut().zip(*values) {
                        let $old = *dword & kept;
                        *dword = $new;
                    }
                    return;
                }
                for lane in lanes_of(exec) {
                    Self::put(w, dst, lane, values[lane]);
                }
            }
        }
        impl Load for $name {
            type E = $ty;
            #[inline(always)]
            fn put(w: &mut Wave, dst: u16, lane: usize, $v: $ty) {
                let kept = w.d16_kept;
                let dword = &mut w.v_mut(dst).flat_mut()[lane];
                let $old = *dword & kept;
                *dword = $new;
            }
            #[inline(always)]
            fn run(w: &mut Wave, dst: u16, from: &impl Pieces) {
                let pieces: [Piece; size_of::<$ty>()] = std::array::from_fn(|n| from.load(n));
                let bytes = pieces.map(|piece| piece.map(u32::to_le_bytes));
                let (values, _) = bytes.as_flattened().as_flattened().as_chunks();
                Self::put_all(w, dst, &std::array::from_fn(|lane| <$ty>::from_le_bytes(values[lane])));
            }
            #[inline(always)]
            fn each(w: &mut Wave, dst: u16, from: &impl Cells<$ty>) {
                let mut values = [0; LANES];
                from.each(|lane, value| values[lane] = value);
                Self::put_all(w, dst, &values);
            }
        }
    )*};
}

narrow_loads! {
    Ubyte(u8): |v, _| u32::from(v);
    Sbyte(u8): |v, _| v as i8 as u32;
    Ushort(u16): |v, _| u32::from(v);
    Sshort(u16): |v, _| v as i16 as u32;
    /// Writes the low half of the register and keeps the high half, unless SRAM-ECC is on.
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
        impl $name {
            /// Returns the elements of all lanes.
            #[inline(always)]
            fn get_all(w: &Wave, src: u16) -> [$ty; LANES] {
                w.v(src).flat().map(|$v| $value)
            }
        }
        impl Store for $name {
            type E = $ty;
            #[inline(always)]
            fn get(w: &Wave, src: u16, lane: usize) -> $ty {
                let $v = w.v(src).flat()[lane];
                $value
            }
            #[inline(always)]
            fn run(w: &Wave, src: u16, to: &mut impl Pieces) {
                let bytes = Self::get_all(w, src).map(<$ty>::to_le_bytes);
                let (dwords, _) = bytes.as_flattened().as_chunks();
                for (n, dwords) in dwords.as_chunks::<CHUNK>().0.iter().enumerate() {
                    to.store(n, &dwords.map(u32::from_le_bytes));
                }
            }
            #[inline(always)]
            fn each(w: &Wave, src: u16, to: &mut impl Cells<$ty>) {
                let values = Self::get_all(w, src);
                to.put(|lane| values[lane]);
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

/// The memory that a flat address selects.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum FlatTarget {
    Global(u64),
    /// Byte offset in LDS.
    Lds(u32),
    /// Byte offset in the lane's private memory.
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

    /// Returns the address in global memory, or the byte offset in LDS or private memory.
    pub(crate) fn offset(self) -> u64 {
        match self {
            FlatTarget::Global(address) => address,
            FlatTarget::Lds(offset) | FlatTarget::Scratch(offset) => offset.into(),
        }
    }
}

/// Declares the functions that load (or store) in global memory, in LDS, in private memory, and through flat addresses.
///
/// `slot` identifies the instruction to the cache of `View::checked`. `lane` accesses one lane in private memory, and `each`
/// the given lanes when they may be in different memories.
macro_rules! transfers {
    (
        $Kind:ident, $access:ident;
        $memory:ident, $global_apart:ident, $flat_apart:ident, $lds:ident, $lds_apart:ident, $scratch:ident;
        lane $lane:ident;
        each $each:ident;
    ) => {
        /// Accesses global memory, or with `flat`, memory through flat addresses.
        #[inline(always)]
        pub(crate) fn $memory<K: $Kind, P: Places>(
            w: &mut Wave,
            cx: &mut ExecContext,
            slot: u32,
            register: u16,
            places: P,
            flat: bool,
        ) -> Flow {
            // No allocation overlaps an aperture of flat addresses.
            if w.exec() == !0
                && let Some(first) = places.run(w, K::E::SIZE as u32)
                && let Some(mut run) = cx.mem.run::<K::E>(slot, first)
            {
                K::run(w, register, &mut run);
                return Flow::Next;
            }
            if w.exec() == 0 {
                return Flow::Next;
            }
            let at = places.all(w);
            let Some(active) = w.active() else { return Flow::Next };
            let exec = active.exec();
            match cx.mem.checked::<P::All, K::E>(slot, &at, &active) {
                Some(mut cells) => K::each(w, register, &mut cells),
                None if flat => return $flat_apart::<K>(w, cx, slot, register, &|lane| at.at(lane), exec),
                None => return $global_apart::<K>(w, cx, slot, register, &|lane| at.at(lane), exec),
            }
            Flow::Next
        }

        /// Accesses global memory when not all active lanes are in one allocation.
        #[cold]
        #[inline(never)]
        fn $global_apart<K: $Kind>(
            w: &mut Wave,
            cx: &mut ExecContext,
            pc: u32,
            register: u16,
            at: &dyn Fn(usize) -> u64,
            exec: u64,
        ) -> Flow {
            match $each::<K>(w, cx, pc, register, exec, |lane| FlatTarget::Global(at(lane))) {
                Ok(()) => Flow::Next,
                Err(_) => global_fault(cx, AccessKind::$access, at, exec, K::E::SIZE),
            }
        }

        /// Accesses memory through flat addresses that are not all in one allocation: they are in LDS, in private
        /// memory, or in several memories.
        #[inline(never)]
        fn $flat_apart<K: $Kind>(
            w: &mut Wave,
            cx: &mut ExecContext,
            pc: u32,
            register: u16,
            at: &dyn Fn(usize) -> u64,
            exec: u64,
        ) -> Flow {
            match one_aperture(at, exec) {
                Some((MemorySpace::Lds, at)) => return $lds::<K>(w, cx, pc, register, &at),
                Some((_, at)) => return $scratch::<K>(w, cx, register, &at),
                None => {}
            }
            match $each::<K>(w, cx, pc, register, exec, |lane| FlatTarget::of(at(lane))) {
                Ok(()) => Flow::Next,
                Err(lane) => flat_fault(w, cx, AccessKind::$access, at, exec, K::E::SIZE, lane),
            }
        }

        /// Accesses LDS.
        #[inline(always)]
        pub(crate) fn $lds<K: $Kind>(
            w: &mut Wave,
            cx: &mut ExecContext,
            pc: u32,
            register: u16,
            at: &[u32; LANES],
        ) -> Flow {
            let Some(active) = w.active() else { return Flow::Next };
            let exec = active.exec();
            if active.all()
                && let Some(mut run) = cx.lds.run(K::E::SIZE, at)
            {
                K::run(w, register, &mut run);
                return Flow::Next;
            }
            match cx.lds.checked::<K::E>(at, &active) {
                Some(mut cells) => K::each(w, register, &mut cells),
                None => return $lds_apart::<K>(w, cx, pc, register, at, exec),
            }
            Flow::Next
        }

        /// Accesses LDS when some of the active lanes are past its end.
        #[cold]
        #[inline(never)]
        fn $lds_apart<K: $Kind>(
            w: &mut Wave,
            cx: &mut ExecContext,
            pc: u32,
            register: u16,
            at: &[u32; LANES],
            exec: u64,
        ) -> Flow {
            // Strict bounds allow some reads: `past_lds`.
            if (cx.notices.bounds != Bounds::Strict || AccessKind::$access == AccessKind::Read)
                && $each::<K>(w, cx, pc, register, exec, |lane| FlatTarget::Lds(at[lane])).is_ok()
            {
                return Flow::Next;
            }
            lds_fault(cx, AccessKind::$access, at, exec, K::E::SIZE)
        }

        /// Accesses private memory, at a byte offset for each lane.
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
    load_at, global_load_apart, flat_load_apart, lds_load, lds_load_apart, scratch_load;
    lane load_lane;
    each load_each;
}

transfers! {
    Store, Write;
    store_at, global_store_apart, flat_store_apart, lds_store, lds_store_apart, scratch_store;
    lane store_lane;
    each store_each;
}

/// Loads one lane from its private memory.
#[inline(always)]
fn load_lane<K: Load>(w: &mut Wave, dst: u16, lane: usize, offset: u32) -> Option<()> {
    let value = w.scratch.load(lane, offset)?;
    K::put(w, dst, lane, value);
    Some(())
}

/// Stores one lane to its private memory.
#[inline(always)]
fn store_lane<K: Store>(w: &mut Wave, src: u16, lane: usize, offset: u32) -> Option<()> {
    let value = K::get(w, src, lane);
    w.scratch.store(lane, offset, value)
}

/// Loads the lanes of `exec`. The error is the first lane that is out of bounds.
fn load_each<K: Load>(
    w: &mut Wave,
    cx: &mut ExecContext,
    pc: u32,
    dst: u16,
    exec: u64,
    target: impl Fn(usize) -> FlatTarget,
) -> Result<(), usize> {
    // No register is written unless all lanes are in bounds.
    let mut values = [K::E::from_bytes([0; 16]); LANES];
    for lane in lanes_of(exec) {
        let who = Who::lane(pc, w.id, lane);
        let value = match target(lane) {
            FlatTarget::Global(address) => cx.load_one(who, address),
            FlatTarget::Lds(offset) => cx.load_lds(who, offset),
            FlatTarget::Scratch(offset) => w.scratch.load(lane, offset),
        };
        values[lane] = value.ok_or(lane)?;
    }
    for lane in lanes_of(exec) {
        K::put(w, dst, lane, values[lane]);
    }
    Ok(())
}

/// Stores the lanes of `exec`. The error is the first lane that is out of bounds.
fn store_each<K: Store>(
    w: &mut Wave,
    cx: &mut ExecContext,
    pc: u32,
    src: u16,
    exec: u64,
    target: impl Fn(usize) -> FlatTarget,
) -> Result<(), usize> {
    for lane in lanes_of(exec) {
        let value = K::get(w, src, lane);
        let who = Who::lane(pc, w.id, lane);
        let done = match target(lane) {
            FlatTarget::Global(address) => cx.store_one(who, address, value),
            FlatTarget::Lds(offset) => cx.store_lds(who, offset, value),
            FlatTarget::Scratch(offset) => w.scratch.store(lane, offset, value),
        };
        done.ok_or(lane)?;
    }
    Ok(())
}

/// Returns whether an access of `size` bytes of global memory is out of bounds.
fn outside(cx: &mut ExecContext, access: AccessKind, address: u64, size: usize) -> bool {
    let range = match access {
        AccessKind::Write => cx.mem.range(address, size as u64),
        _ => cx.mem.readable(address, size as u64),
    };
    range.is_none()
        && (access != AccessKind::Read || cx.mem.last_granule(address, size as u64).is_none())
        && (cx.notices.bounds == Bounds::Strict || cx.mem.past_end(address, size as u64).is_none())
}

/// Faults with the lanes whose `size` bytes are out of bounds.
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

/// Faults with the lanes whose `size` bytes are outside of LDS.
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

/// Returns whether all active lanes have the same offset.
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

/// Faults with the lanes whose `size` bytes are outside of their private memory.
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

/// Returns the aperture that contains the addresses of all lanes of `exec`, and their offsets; `None` if there is none.
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

/// Faults with the lanes of `exec` that are out of bounds and in the same memory as lane `first`.
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
