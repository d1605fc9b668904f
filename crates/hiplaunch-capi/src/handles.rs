//! Handles: numbers in the shape of pointers, which name objects and are looked up, never followed.
//!
//! ```text
//!  63  60 59                     24 23             0
//! +------+-------------------------+----------------+
//! | kind |       generation        |     index      |
//! +------+-------------------------+----------------+
//! ```
//!
//! The kind is never 0, so that neither null nor an address of a process is a handle. A slot's generation goes up by one
//! with each object, so that a handle which outlived its object is told from the slot's next. Slots lie in chunks that
//! never move nor go, so that finding one takes no lock; who may look at its object, or change it, is its gate's affair
//! (`gate.rs`). Free slots are a stack (`free_list.rs`).
//!
//! A launch is in the gates of its kernel, stream, buffers and views, beside others, while it runs ([`Reading`]), as
//! cloning them costs more than all else. No two such calls wait for each other: kernels are waited for first, then
//! streams; a buffer's or view's gate is only tried, and where another call is in it alone or waits to be, the launch
//! leaves all of them and takes clones.

use std::cell::UnsafeCell;
use std::mem::MaybeUninit;
use std::ops::Deref;
use std::sync::atomic::AtomicPtr;

use super::arena::Arena;
use super::free_list::FreeList;
use super::gate::{Entry, Gate, Gone, Key, LAST_GENERATION, Parking};
use super::status::{Failure, Result, hiplaunch_status};
use super::sync::{AtomicU32, AtomicU64, Condvar, Mutex, Ordering, PoisonError};

const INDEX_BITS: u32 = 24;
const GENERATION_BITS: u32 = 36;

/// Slots of the first chunk; each chunk after it has twice as many as the one before. Indices begin with this number: the
/// highest bit of one says which chunk, the bits below it which slot there.
const FIRST_CHUNK: u32 = 64;
/// As many as 24 bits count.
const CHUNKS: usize = (INDEX_BITS - FIRST_CHUNK.ilog2()) as usize;

/// What a handle names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Launcher = 1,
    Stream = 2,
    Event = 3,
    Kernel = 4,
    Buffer = 5,
    View = 6,
    Ticket = 7,
    Graph = 8,
    LdsKernel = 9,
    LdsLayout = 10,
    Text = 11,
    Compiled = 12,
}

impl Kind {
    const ALL: [Kind; 12] = [
        Kind::Launcher,
        Kind::Stream,
        Kind::Event,
        Kind::Kernel,
        Kind::Buffer,
        Kind::View,
        Kind::Ticket,
        Kind::Graph,
        Kind::LdsKernel,
        Kind::LdsLayout,
        Kind::Text,
        Kind::Compiled,
    ];

    fn name(self) -> &'static str {
        match self {
            Kind::Launcher => "launcher",
            Kind::Stream => "stream",
            Kind::Event => "event",
            Kind::Kernel => "kernel",
            Kind::Buffer => "buffer",
            Kind::View => "view",
            Kind::Ticket => "ticket",
            Kind::Graph => "graph",
            Kind::LdsKernel => "LDS kernel",
            Kind::LdsLayout => "LDS layout",
            Kind::Text => "text",
            Kind::Compiled => "compiled code",
        }
    }
}

/// The launcher that an object is of, as its handle's number; 0 for none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Owner(pub(super) u64);

impl Owner {
    pub(super) const NONE: Owner = Owner(0);

    /// That both are of one launcher.
    #[inline]
    pub(super) fn same(self, other: Owner, what: &str) -> Result<()> {
        if self == other { Ok(()) } else { Err(of_another(what)) }
    }
}

#[cold]
fn of_another(what: &str) -> Failure {
    Failure::handle(format!("`{what}` is of another launcher"))
}

/// An object and its launcher.
#[derive(Clone, Copy, Debug)]
pub(super) struct Found<T> {
    pub(super) owner: Owner,
    pub(super) value: T,
}

/// All objects of one kind.
pub(super) struct Table<T> {
    kind: Kind,
    /// The first slot of each chunk; null until it is needed.
    chunks: [AtomicPtr<Slot<T>>; CHUNKS],
    free: FreeList,
    /// The index of the first slot that was never used.
    unused: Mutex<u32>,
}

/// A cache line of its own, as threads meet on neighbours otherwise.
#[repr(align(64))]
struct Slot<T> {
    gate: Gate,
    /// The slot below this one in the stack of free ones.
    next: AtomicU32,
    /// There while the gate's word is live. Read by who is in the gate, changed by who is in it alone or claimed the slot.
    found: UnsafeCell<MaybeUninit<Found<T>>>,
}

// SAFETY: the gate lets several threads read an object at once, which takes `Sync`, or one change, put in or take out, which
// takes `Send`; the rest are atomics.
unsafe impl<T: Send + Sync> Sync for Slot<T> {}
// SAFETY: as above, for the slots behind the pointers, which the table owns.
unsafe impl<T: Send + Sync> Sync for Table<T> {}

/// Where calls sleep that wait for a slot; several, as the end of one wait wakes all who sleep in the same.
static PARKINGS: [Parking; 16] = [const { Parking { lock: Mutex::new(()), left: Condvar::new() } }; 16];

impl<T> Slot<T> {
    #[inline]
    fn parking(&self) -> &'static Parking {
        parking_of(&self.gate)
    }
}

#[inline]
fn parking_of(gate: &Gate) -> &'static Parking {
    // Slots are 64 bytes apart at least.
    &PARKINGS[(&raw const *gate).addr() >> 6 & 15]
}

/// An object that stays as it is, and open, until this is dropped: closing and changing it wait.
pub(super) struct Reading<'t, T>(&'t Slot<T>);

impl<T> Deref for Reading<'_, T> {
    type Target = Found<T>;

    #[inline]
    fn deref(&self) -> &Found<T> {
        // SAFETY: `self` is in the gate, so that the object is there and nobody changes it.
        unsafe { (*self.0.found.get()).assume_init_ref() }
    }
}

impl<T> Drop for Reading<'_, T> {
    #[inline]
    fn drop(&mut self) {
        self.0.gate.leave(self.0.parking());
    }
}

/// A [`Reading`] of an object of any kind, which is not looked at.
pub(super) struct Lock(&'static Gate);

impl Drop for Lock {
    #[inline]
    fn drop(&mut self) {
        self.0.leave(parking_of(self.0));
    }
}

impl<T> Reading<'static, T> {
    /// The lock and the object apart.
    ///
    /// # Safety
    /// The object is not looked at once the lock is dropped.
    #[inline(always)]
    pub(super) unsafe fn split<'k>(self) -> (Lock, &'k Found<T>) {
        let slot = std::mem::ManuallyDrop::new(self).0;
        // SAFETY: there is an object while the lock is there, by the caller's promise as long as it is looked at.
        (Lock(&slot.gate), unsafe { (*slot.found.get()).assume_init_ref() })
    }

    /// Leaves the lock to `keep`, and gives the object for as long as that lives.
    #[inline(always)]
    pub(super) fn kept_by<'k, const N: usize>(self, keep: &'k Arena<'_, Lock, N>) -> &'k Found<T> {
        let slot = std::mem::ManuallyDrop::new(self).0;
        keep.put(Lock(&slot.gate));
        // SAFETY: the arena has the lock now, and drops it only when it goes itself, which it can't while `'k` lasts.
        unsafe { (*slot.found.get()).assume_init_ref() }
    }
}

/// A slot that the call is in alone. Dropped, it lets others in again.
struct Writing<'t, T> {
    slot: &'t Slot<T>,
    key: Key,
}

impl<T> Writing<'_, T> {
    #[inline]
    fn found(&mut self) -> &mut Found<T> {
        // SAFETY: `self` is in the gate alone and the word is live, so that the object is there and nobody else looks at it.
        unsafe { (*self.slot.found.get()).assume_init_mut() }
    }
}

impl<T> Drop for Writing<'_, T> {
    #[inline]
    fn drop(&mut self) {
        self.slot.gate.open(self.key, self.slot.parking());
    }
}

/// A slot whose object is gone or going: dropped, it frees it.
struct Leaving<'t, T> {
    table: &'t Table<T>,
    slot: &'t Slot<T>,
    key: Key,
    index: u32,
}

impl<T> Drop for Leaving<'_, T> {
    #[inline]
    fn drop(&mut self) {
        self.slot.gate.end(self.key, self.slot.parking());
        // A slot whose generations are used up is never given out again.
        if self.key.generation() < LAST_GENERATION {
            self.table.free.push(self.index, &self.slot.next);
        }
    }
}

/// Which chunk an index is in, and where there; a chunk that there is not for what is no index.
#[inline(always)]
fn place(index: u32) -> (usize, usize) {
    let top = (index | 1).ilog2();
    (top.wrapping_sub(FIRST_CHUNK.ilog2()) as usize, (index ^ 1 << top) as usize)
}

impl<T> Table<T> {
    pub(super) const fn new(kind: Kind) -> Table<T> {
        Table {
            kind,
            chunks: [const { AtomicPtr::new(std::ptr::null_mut()) }; CHUNKS],
            free: FreeList { head: AtomicU64::new(0) },
            unused: Mutex::new(FIRST_CHUNK),
        }
    }

    #[inline(always)]
    fn slot(&self, index: u32) -> Option<&Slot<T>> {
        let (chunk, at) = place(index);
        // `Acquire`: its slots are made.
        let slots = self.chunks.get(chunk)?.load(Ordering::Acquire);
        if slots.is_null() {
            return None;
        }
        // SAFETY: a chunk has `FIRST_CHUNK << chunk` slots, which `at` is below as its highest bit was taken off; they live
        // as long as the table.
        Some(unsafe { &*slots.add(at) })
    }

    /// Names an object.
    #[inline(always)]
    pub(super) fn insert<H>(&self, owner: Owner, value: T) -> Result<*mut H> {
        let (slot, key, index) = self.claim()?;
        // SAFETY: claimed, so that nobody else is at the slot; there is no object in it, which is not dropped, therefore.
        unsafe { (*slot.found.get()).write(Found { owner, value }) };
        slot.gate.publish(key);
        Ok(self.encode(index, key))
    }

    #[inline(always)]
    fn claim(&self) -> Result<(&Slot<T>, Key, u32)> {
        if let Some((index, slot)) = self.free.pop(|index| self.slot(index).map(|slot| (slot, &slot.next)))
            && let Some(key) = slot.gate.claim()
        {
            return Ok((slot, key, index));
        }
        self.grow()
    }

    /// Claims a slot that was never used.
    #[cold]
    fn grow(&self) -> Result<(&Slot<T>, Key, u32)> {
        let mut unused = self.unused.lock().unwrap_or_else(PoisonError::into_inner);
        let index = *unused;
        let (chunk, _) = place(index);
        let Some(first) = self.chunks.get(chunk) else {
            return Err(Failure::invalid(format!("too many {}s are open", self.kind.name())));
        };
        if first.load(Ordering::Relaxed).is_null() {
            let new = || Slot {
                gate: Gate { word: AtomicU64::new(0) },
                next: AtomicU32::new(0),
                found: UnsafeCell::new(MaybeUninit::uninit()),
            };
            let slots: Box<[Slot<T>]> = (0..(FIRST_CHUNK as usize) << chunk).map(|_| new()).collect();
            first.store(Box::into_raw(slots).cast(), Ordering::Release);
        }
        *unused += 1;
        drop(unused);
        let slot = self.slot(index);
        match slot.and_then(|slot| Some((slot, slot.gate.claim()?))) {
            Some((slot, key)) => Ok((slot, key, index)),
            None => Err(Failure::new(hiplaunch_status::Internal, format!("slot {index} is not free"))),
        }
    }

    #[inline(always)]
    fn encode<H>(&self, index: u32, key: Key) -> *mut H {
        let bits = (self.kind as u64) << (INDEX_BITS + GENERATION_BITS) | key.generation() << INDEX_BITS;
        std::ptr::without_provenance_mut((bits | u64::from(index)) as usize)
    }

    /// The slot and generation that a handle names.
    #[inline(always)]
    fn decode<H>(&self, handle: *const H) -> Result<(&Slot<T>, Key, u32)> {
        let bits = handle.addr() as u64;
        match self.find(bits) {
            Some(found) => Ok(found),
            None => Err(self.not_here(bits)),
        }
    }

    #[inline(always)]
    fn find(&self, bits: u64) -> Option<(&Slot<T>, Key, u32)> {
        let index = (bits & ((1 << INDEX_BITS) - 1)) as u32;
        if bits >> (INDEX_BITS + GENERATION_BITS) != self.kind as u64 {
            return None;
        }
        // The kind's bits, above the generation's, fall off.
        Some((self.slot(index)?, Key::of(bits >> INDEX_BITS), index))
    }

    #[cold]
    #[inline(never)]
    fn not_here(&self, bits: u64) -> Failure {
        let name = self.kind.name();
        if bits == 0 {
            return Failure::handle(format!("the {name}'s handle is null"));
        }
        let kind = bits >> (INDEX_BITS + GENERATION_BITS);
        let other = Kind::ALL.into_iter().find(|other| *other as u64 == kind && *other != self.kind);
        Failure::handle(match other {
            Some(other) => format!("{bits:#x} is the handle of a {}, not of a {name}", other.name()),
            None => format!("{bits:#x} is no handle of a {name}"),
        })
    }

    #[cold]
    #[inline(never)]
    fn closed(&self) -> Failure {
        let name = self.kind.name();
        Failure::handle(format!("the {name} was closed, or its launcher was"))
    }

    /// A clone of the object.
    #[inline]
    pub(super) fn get<H>(&self, handle: *const H) -> Result<Found<T>>
    where
        T: Clone,
    {
        self.look(handle, |found| found.clone())
    }

    /// What `look` says of the object, while the call is in its gate: it must neither wait nor call back.
    #[inline]
    pub(super) fn look<H, R>(&self, handle: *const H, look: impl FnOnce(&Found<T>) -> R) -> Result<R> {
        Ok(look(&*self.read(handle)?))
    }

    /// The object, which others may read too. What is done meanwhile must not wait for another object, but as the file's
    /// head says.
    #[inline(always)]
    pub(super) fn read<H>(&self, handle: *const H) -> Result<Reading<'_, T>> {
        let (slot, key, _) = self.decode(handle)?;
        match slot.gate.read(key, slot.parking()) {
            Ok(()) => Ok(Reading(slot)),
            Err(Gone) => Err(self.closed()),
        }
    }

    /// As [`read`](Table::read), but `None` where it would have to wait or there is no such object.
    #[inline(always)]
    pub(super) fn quick<H>(&self, handle: *const H) -> Option<Reading<'_, T>> {
        let (slot, key, _) = self.find(handle.addr() as u64)?;
        (slot.gate.try_read(key) == Entry::In).then(|| Reading(slot))
    }

    /// As [`read`](Table::read), but `None` where it would have to wait.
    #[inline(always)]
    pub(super) fn try_read<H>(&self, handle: *const H) -> Result<Option<Reading<'_, T>>> {
        let (slot, key, _) = self.decode(handle)?;
        match slot.gate.try_read(key) {
            Entry::In => Ok(Some(Reading(slot))),
            Entry::Busy => Ok(None),
            Entry::Gone => Err(self.closed()),
        }
    }

    /// The object, for this call alone.
    #[inline(always)]
    fn write<H>(&self, handle: *const H) -> Result<(Writing<'_, T>, u32)> {
        let (slot, key, index) = self.decode(handle)?;
        match slot.gate.write(key, slot.parking()) {
            Ok(()) => Ok((Writing { slot, key }, index)),
            Err(Gone) => Err(self.closed()),
        }
    }

    /// Runs `change` on the object, which no other call sees meanwhile.
    #[inline]
    pub(super) fn with<H, R>(&self, handle: *const H, change: impl FnOnce(&mut Found<T>) -> R) -> Result<R> {
        let (mut writing, _) = self.write(handle)?;
        Ok(change(writing.found()))
    }

    /// As [`with`](Table::with), but `None` while another call is at the object.
    pub(super) fn try_with<H, R>(
        &self,
        handle: *const H,
        change: impl FnOnce(&mut Found<T>) -> R,
    ) -> Result<Option<R>> {
        let (slot, key, _) = self.decode(handle)?;
        match slot.gate.try_write(key) {
            Entry::In => Ok(Some(change(Writing { slot, key }.found()))),
            // Whoever has it may have it for long.
            Entry::Busy => Ok(None),
            Entry::Gone => Err(self.closed()),
        }
    }

    /// Whether the object is there.
    #[inline]
    pub(super) fn is_live<H>(&self, handle: *const H) -> bool {
        self.decode(handle).is_ok_and(|(slot, key, _)| slot.gate.is_live(key))
    }

    /// Closes the handle and gives the object, once the calls that are at it are over.
    pub(super) fn take<H>(&self, handle: *const H) -> Result<Found<T>> {
        let (writing, index) = self.write(handle)?;
        Ok(self.vacate(writing, index))
    }

    #[inline(always)]
    fn leaving<'t>(&'t self, writing: Writing<'t, T>, index: u32) -> Leaving<'t, T> {
        let writing = std::mem::ManuallyDrop::new(writing);
        Leaving { table: self, slot: writing.slot, key: writing.key, index }
    }

    fn vacate<'t>(&'t self, writing: Writing<'t, T>, index: u32) -> Found<T> {
        let leaving = self.leaving(writing, index);
        // SAFETY: the call is in the gate alone, so that the object is there; the slot is free next, and the object is not
        // looked at there again.
        unsafe { (*leaving.slot.found.get()).assume_init_read() }
    }

    /// As [`take`](Table::take), but drops the object where it lies, before others that wait for it hear of that: for what
    /// is dropped without looking for another handle.
    #[inline(always)]
    pub(super) fn discard<H>(&self, handle: *const H) -> Result<()> {
        let (writing, index) = self.write(handle)?;
        let leaving = self.leaving(writing, index);
        // SAFETY: as in `vacate`; should the drop panic, the slot is free all the same.
        unsafe { (*leaving.slot.found.get()).assume_init_drop() };
        Ok(())
    }

    /// Closes every handle of a launcher's objects and gives these.
    pub(super) fn take_all(&self, owner: Owner) -> Vec<T> {
        let unused = *self.unused.lock().unwrap_or_else(PoisonError::into_inner);
        let mut taken = Vec::new();
        for index in FIRST_CHUNK..unused {
            let Some(slot) = self.slot(index) else { continue };
            let Some(key) = slot.gate.look() else { continue };
            // Others' objects may be in long use; only what is looked for is waited for.
            if slot.gate.read(key, slot.parking()).is_err() || Reading(slot).owner != owner {
                continue;
            }
            if slot.gate.write(key, slot.parking()).is_ok() {
                taken.push(self.vacate(Writing { slot, key }, index).value);
            }
        }
        taken
    }
}

impl<T> Drop for Table<T> {
    fn drop(&mut self) {
        for (chunk, first) in self.chunks.iter_mut().enumerate() {
            let first = *first.get_mut();
            if first.is_null() {
                continue;
            }
            let slots = std::ptr::slice_from_raw_parts_mut(first, (FIRST_CHUNK as usize) << chunk);
            // SAFETY: made by `grow` from a box of as many, and nobody has the table any more.
            for slot in unsafe { Box::from_raw(slots) } {
                if slot.gate.look().is_some() {
                    // SAFETY: live, so that there is an object.
                    unsafe { slot.found.into_inner().assume_init_drop() };
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What handles of the tests are pointers to.
    struct Thing;

    #[test]
    fn indices_fall_into_chunks_without_gaps() {
        assert!((0..FIRST_CHUNK).all(|index| place(index).0 >= CHUNKS));
        let mut expected = (0, 0);
        for index in FIRST_CHUNK..10_000 {
            assert_eq!(place(index), expected, "slot {index}");
            expected.1 += 1;
            if expected.1 == (FIRST_CHUNK as usize) << expected.0 {
                expected = (expected.0 + 1, 0);
            }
        }
        let last = (1 << INDEX_BITS) - 1;
        assert_eq!(place(last), (CHUNKS - 1, ((FIRST_CHUNK as usize) << (CHUNKS - 1)) - 1));
    }

    #[test]
    fn a_handle_is_good_until_it_is_closed_and_never_again() {
        let table: Table<String> = Table::new(Kind::Stream);
        let first: *mut Thing = table.insert(Owner(7), "first".to_owned()).unwrap();
        assert_eq!(table.get(first).unwrap().value, "first");
        assert!(table.is_live(first));
        assert_eq!(table.take(first).unwrap().value, "first");
        assert!(!table.is_live(first));
        let second: *mut Thing = table.insert(Owner(7), "second".to_owned()).unwrap();
        assert_eq!(first.addr() & 0xff_ffff, second.addr() & 0xff_ffff, "the slot is used again");
        for message in [
            table.get(first).unwrap_err(),
            table.take(first).unwrap_err(),
            table.with(first, |_| ()).unwrap_err(),
            table.try_with(first, |_| ()).unwrap_err(),
        ] {
            assert!(format!("{message:?}").contains("was closed"), "{message:?}");
        }
        assert_eq!(table.get(second).unwrap().value, "second");
    }

    #[test]
    fn what_is_read_stays_open_and_what_is_changed_is_not_read() {
        let table: Table<u32> = Table::new(Kind::Buffer);
        let handle: *mut Thing = table.insert(Owner(7), 1).unwrap();
        let held = [table.read(handle).unwrap(), table.try_read(handle).unwrap().unwrap()];
        std::thread::scope(|scope| {
            let (table, address) = (&table, handle.addr());
            let closing =
                scope.spawn(move || table.take::<Thing>(std::ptr::without_provenance(address)).unwrap());
            std::thread::sleep(std::time::Duration::from_millis(20));
            assert!(!closing.is_finished() && table.is_live(handle));
            assert!(held.iter().all(|held| held.value == 1));
            drop(held);
            assert_eq!(closing.join().unwrap().value, 1);
        });
        assert!(table.read(handle).is_err() && table.try_read(handle).is_err());

        let other: *mut Thing = table.insert(Owner(7), 2).unwrap();
        assert!(table.with(other, |_| table.try_read(other).unwrap().is_none()).unwrap());
        table.discard(other).unwrap();
        assert!(table.discard(other).is_err() && !table.is_live(other));
        let next: *mut Thing = table.insert(Owner(7), 3).unwrap();
        assert_eq!(other.addr() & 0xff_ffff, next.addr() & 0xff_ffff, "the slot is used again");
    }

    #[test]
    fn what_is_no_handle_of_the_kind_is_told_apart() {
        let (streams, events): (Table<u8>, Table<u8>) = (Table::new(Kind::Stream), Table::new(Kind::Event));
        let stream: *mut Thing = streams.insert(Owner::NONE, 1).unwrap();
        let says = |handle: *const Thing| format!("{:?}", events.get(handle).unwrap_err());
        assert!(says(std::ptr::null()).contains("the event's handle is null"));
        assert!(says(stream).contains("the handle of a stream, not of a event"));
        let local = 0u64;
        assert!(says((&raw const local).cast()).contains("is no handle of a event"));
        assert!(says(std::ptr::without_provenance(usize::MAX)).contains("is no handle"));
        assert!(says(std::ptr::without_provenance(0x3fff_ffff_ffff_ffff)).contains("is no handle"));
    }

    #[test]
    fn a_launchers_objects_go_together() {
        let table: Table<u32> = Table::new(Kind::Buffer);
        let handles: Vec<*mut Thing> =
            (0..300).map(|i| table.insert(Owner(u64::from(i % 3)), i).unwrap()).collect();
        let mut taken = table.take_all(Owner(1));
        taken.sort_unstable();
        assert_eq!(taken, (0..300).filter(|i| i % 3 == 1).collect::<Vec<_>>());
        assert!(handles.iter().enumerate().all(|(i, &h)| table.is_live(h) == (i % 3 != 1)));
    }

    #[test]
    fn threads_that_open_and_close_never_see_each_others() {
        static TABLE: Table<u64> = Table::new(Kind::Ticket);
        const ROUNDS: u64 = if cfg!(miri) { 5 } else { 500 };
        std::thread::scope(|scope| {
            for t in 0..4u64 {
                scope.spawn(move || {
                    for i in 0..ROUNDS {
                        let mine: Vec<*mut Thing> =
                            (0..5).map(|k| TABLE.insert(Owner(t), t << 32 | i * 5 + k).unwrap()).collect();
                        for (k, &handle) in mine.iter().enumerate() {
                            assert_eq!(TABLE.take(handle).unwrap().value, t << 32 | i * 5 + k as u64);
                            assert!(TABLE.take(handle).is_err());
                        }
                    }
                });
            }
        });
    }

    /// Whoever reads an object by a handle sees that object or that it was closed, while others close it and open the next
    /// in its slot; and each object is dropped once.
    #[test]
    fn readers_beside_closing_threads_see_their_own_or_nothing() {
        const ROUNDS: usize = if cfg!(miri) { 10 } else { 2000 };
        let table: Table<std::sync::Arc<usize>> = Table::new(Kind::Buffer);
        let handles: Vec<std::sync::atomic::AtomicUsize> = (0..4).map(|_| 0.into()).collect();
        let alive = std::sync::Arc::new(0);
        std::thread::scope(|scope| {
            for slot in &handles {
                scope.spawn(|| {
                    for _ in 0..ROUNDS {
                        let handle: *mut Thing = table.insert(Owner(1), alive.clone()).unwrap();
                        slot.store(handle.addr(), Ordering::Release);
                        table.with(handle, |found| assert_eq!(*found.value, 0)).unwrap();
                        table.discard(handle).unwrap();
                        assert!(table.discard(handle).is_err());
                    }
                });
            }
            for _ in 0..2 {
                scope.spawn(|| {
                    for round in 0..ROUNDS * 4 {
                        let handle = handles[round % handles.len()].load(Ordering::Acquire);
                        let handle: *const Thing = std::ptr::without_provenance(handle);
                        assert!(table.read(handle).map_or(true, |held| *held.value == 0));
                        if let Some(held) = table.quick(handle) {
                            assert_eq!(*held.value, 0);
                        }
                    }
                });
            }
        });
        assert_eq!(std::sync::Arc::strong_count(&alive), 1);
        let left: *mut Thing = table.insert(Owner(1), alive.clone()).unwrap();
        assert!(table.is_live(left));
        drop(table);
        assert_eq!(std::sync::Arc::strong_count(&alive), 1, "a table drops what is left in it");
    }
}
