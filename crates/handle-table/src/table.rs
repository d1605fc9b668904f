//! The table: 64-bit handles to objects.
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
//! never move nor go, so that finding one takes no lock; a slot's lock
//! (`slot_lock.rs`) says who may read or change its object. Free slots are a stack (`free_stack.rs`).

use std::cell::UnsafeCell;
use std::mem::MaybeUninit;
use std::ops::Deref;
use std::sync::atomic::AtomicPtr;

use super::free_stack::FreeStack;
use super::slot_lock::{Entry, Gone, Key, LAST_GENERATION, SlotLock, WaitQueue};
use super::sync::{AtomicU32, AtomicU64, Condvar, Mutex, Ordering, PoisonError};

const INDEX_BITS: u32 = 24;
const GENERATION_BITS: u32 = 36;

/// Slots of the first chunk; each chunk after it has twice as many as the one before. Indices begin with this number: the
/// highest bit of one says which chunk, the bits below it which slot there.
const FIRST_CHUNK: u32 = 64;
/// As many as 24 bits count.
const CHUNKS: usize = (INDEX_BITS - FIRST_CHUNK.ilog2()) as usize;

/// Why a handle names no object.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// The handle is 0.
    #[error("the handle is null")]
    Null,
    /// No table of this kind gave the number out. Holds the number of the kind that the handle's bits say.
    #[error("the number is no handle of this table; its bits say kind {0}")]
    Foreign(u8),
    /// The object was taken out.
    #[error("the object was closed")]
    Closed,
    /// 2^24 objects are there.
    #[error("too many objects are open")]
    Full,
}

type Result<T> = std::result::Result<T, Error>;

/// Whom an object belongs to: any number, such as the handle of another object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Owner(pub u64);

impl Owner {
    /// For objects that belong to nobody.
    pub const NONE: Owner = Owner(0);
}

/// An object and its owner.
#[derive(Clone, Copy, Debug)]
pub struct Found<T> {
    /// As it was given to [`Table::insert`].
    pub owner: Owner,
    /// The object.
    pub value: T,
}

/// All objects of one kind.
pub struct Table<T> {
    kind: u8,
    /// The first slot of each chunk; null until it is needed.
    chunks: [AtomicPtr<Slot<T>>; CHUNKS],
    free: FreeStack,
    /// The index of the first slot that was never used.
    unused: Mutex<u32>,
}

/// A cache line of its own, as threads meet on neighbours otherwise.
#[repr(align(64))]
struct Slot<T> {
    lock: SlotLock,
    /// The slot below this one in the stack of free ones.
    next: AtomicU32,
    /// There while the lock's word is live. Read by who has locked it, changed by who has locked it for itself or claimed the slot.
    found: UnsafeCell<MaybeUninit<Found<T>>>,
}

// SAFETY: the lock lets several threads read an object at once, which takes `Sync`, or one change, put in or take out, which
// takes `Send`; the rest are atomics.
unsafe impl<T: Send + Sync> Sync for Slot<T> {}
// SAFETY: as above, for the slots behind the pointers, which the table owns.
unsafe impl<T: Send + Sync> Sync for Table<T> {}

/// Where calls sleep that wait for a slot; several, as the end of one wait wakes all who sleep in the same.
static QUEUES: [WaitQueue; 16] = [const { WaitQueue { lock: Mutex::new(()), left: Condvar::new() } }; 16];

impl<T> Slot<T> {
    #[inline]
    fn queue(&self) -> &'static WaitQueue {
        queue_of(&self.lock)
    }
}

#[inline]
fn queue_of(lock: &SlotLock) -> &'static WaitQueue {
    // Slots are 64 bytes apart at least.
    &QUEUES[(&raw const *lock).addr() >> 6 & 15]
}

/// An object that stays as it is, and open, until this is dropped: closing and changing it wait.
pub struct Reading<'t, T>(&'t Slot<T>);

impl<T> Deref for Reading<'_, T> {
    type Target = Found<T>;

    #[inline]
    fn deref(&self) -> &Found<T> {
        // SAFETY: `self` has the slot locked, so that the object is there and nobody changes it.
        unsafe { (*self.0.found.get()).assume_init_ref() }
    }
}

impl<T> Drop for Reading<'_, T> {
    #[inline]
    fn drop(&mut self) {
        self.0.lock.leave(self.0.queue());
    }
}

/// A [`Reading`] of an object of any kind, which is not looked at.
pub struct Lock(&'static SlotLock);

impl Drop for Lock {
    #[inline]
    fn drop(&mut self) {
        self.0.leave(queue_of(self.0));
    }
}

impl<T> Reading<'static, T> {
    /// The lock and the object apart.
    ///
    /// # Safety
    /// The object is not looked at once the lock is dropped.
    #[inline(always)]
    pub unsafe fn split<'k>(self) -> (Lock, &'k Found<T>) {
        let slot = std::mem::ManuallyDrop::new(self).0;
        // SAFETY: there is an object while the lock is there, by the caller's promise as long as it is looked at.
        (Lock(&slot.lock), unsafe { (*slot.found.get()).assume_init_ref() })
    }
}

/// A slot that the call has locked for itself. Dropped, it lets others in again.
struct Writing<'t, T> {
    slot: &'t Slot<T>,
    key: Key,
}

impl<T> Writing<'_, T> {
    #[inline]
    fn found(&mut self) -> &mut Found<T> {
        // SAFETY: `self` has the slot locked for itself and the word is live, so that the object is there and nobody else looks at it.
        unsafe { (*self.slot.found.get()).assume_init_mut() }
    }
}

impl<T> Drop for Writing<'_, T> {
    #[inline]
    fn drop(&mut self) {
        self.slot.lock.open(self.key, self.slot.queue());
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
        self.slot.lock.end(self.key, self.slot.queue());
        // A slot whose generations are used up is never given out again.
        if self.key.generation() < LAST_GENERATION {
            self.table.free.push(self.index, &self.slot.next);
        }
    }
}

#[cold]
#[inline(never)]
fn not_here(handle: u64) -> Error {
    match handle {
        0 => Error::Null,
        bits => Error::Foreign((bits >> (INDEX_BITS + GENERATION_BITS)) as u8),
    }
}

/// Which chunk an index is in, and where there; a chunk that there is not for what is no index.
#[inline(always)]
fn place(index: u32) -> (usize, usize) {
    let top = (index | 1).ilog2();
    (top.wrapping_sub(FIRST_CHUNK.ilog2()) as usize, (index ^ 1 << top) as usize)
}

impl<T> Table<T> {
    /// A table without objects, whose handles have `kind`, 1 to 15, in their highest bits.
    pub const fn new(kind: u8) -> Table<T> {
        Table {
            kind,
            chunks: [const { AtomicPtr::new(std::ptr::null_mut()) }; CHUNKS],
            free: FreeStack { head: AtomicU64::new(0) },
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
    ///
    /// # Errors
    /// [`Error`] when the table has no room for another object.
    #[inline(always)]
    pub fn insert(&self, owner: Owner, value: T) -> Result<u64> {
        let (slot, key, index) = self.claim()?;
        // SAFETY: claimed, so that nobody else is at the slot; there is no object in it, which is not dropped, therefore.
        unsafe { (*slot.found.get()).write(Found { owner, value }) };
        slot.lock.publish(key);
        Ok(self.encode(index, key))
    }

    #[inline(always)]
    fn claim(&self) -> Result<(&Slot<T>, Key, u32)> {
        if let Some((index, slot)) = self.free.pop(|index| self.slot(index).map(|slot| (slot, &slot.next)))
            && let Some(key) = slot.lock.claim()
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
            return Err(Error::Full);
        };
        if first.load(Ordering::Relaxed).is_null() {
            let new = || Slot {
                lock: SlotLock { word: AtomicU64::new(0) },
                next: AtomicU32::new(0),
                found: UnsafeCell::new(MaybeUninit::uninit()),
            };
            let slots: Box<[Slot<T>]> = (0..(FIRST_CHUNK as usize) << chunk).map(|_| new()).collect();
            first.store(Box::into_raw(slots).cast(), Ordering::Release);
        }
        *unused += 1;
        drop(unused);
        let slot = self.slot(index);
        match slot.and_then(|slot| Some((slot, slot.lock.claim()?))) {
            Some((slot, key)) => Ok((slot, key, index)),
            // A slot that was never used is free.
            None => Err(Error::Full),
        }
    }

    #[inline(always)]
    fn encode(&self, index: u32, key: Key) -> u64 {
        let bits = u64::from(self.kind) << (INDEX_BITS + GENERATION_BITS) | key.generation() << INDEX_BITS;
        bits | u64::from(index)
    }

    /// The slot and generation that a handle names.
    #[inline(always)]
    fn decode(&self, handle: u64) -> Result<(&Slot<T>, Key, u32)> {
        match self.find(handle) {
            Some(found) => Ok(found),
            None => Err(not_here(handle)),
        }
    }

    #[inline(always)]
    fn find(&self, bits: u64) -> Option<(&Slot<T>, Key, u32)> {
        let index = (bits & ((1 << INDEX_BITS) - 1)) as u32;
        if bits >> (INDEX_BITS + GENERATION_BITS) != u64::from(self.kind) {
            return None;
        }
        // The kind's bits, above the generation's, fall off.
        Some((self.slot(index)?, Key::of(bits >> INDEX_BITS), index))
    }

    /// A clone of the object.
    ///
    /// # Errors
    /// [`Error`] when the handle is not of this table, or its object is gone.
    #[inline]
    pub fn get(&self, handle: u64) -> Result<Found<T>>
    where
        T: Clone,
    {
        self.look(handle, |found| found.clone())
    }

    /// What `look` says of the object, while the call reads it: it must neither wait nor call back.
    ///
    /// # Errors
    /// [`Error`] when the handle is not of this table, or its object is gone.
    #[inline]
    pub fn look<R>(&self, handle: u64, look: impl FnOnce(&Found<T>) -> R) -> Result<R> {
        Ok(look(&*self.read(handle)?))
    }

    /// The object, which others may read too. What is done meanwhile must not wait for another object, but as the file's
    /// head says.
    ///
    /// # Errors
    /// [`Error`] when the handle is not of this table, or its object is gone.
    #[inline(always)]
    pub fn read(&self, handle: u64) -> Result<Reading<'_, T>> {
        let (slot, key, _) = self.decode(handle)?;
        match slot.lock.read(key, slot.queue()) {
            Ok(()) => Ok(Reading(slot)),
            Err(Gone) => Err(Error::Closed),
        }
    }

    /// As [`read`](Table::read), but `None` where it would have to wait or there is no such object.
    #[inline(always)]
    pub fn quick(&self, handle: u64) -> Option<Reading<'_, T>> {
        let (slot, key, _) = self.find(handle)?;
        (slot.lock.try_read(key) == Entry::In).then(|| Reading(slot))
    }

    /// As [`read`](Table::read), but `None` where it would have to wait.
    ///
    /// # Errors
    /// [`Error`] when the handle is not of this table, or its object is gone.
    #[inline(always)]
    pub fn try_read(&self, handle: u64) -> Result<Option<Reading<'_, T>>> {
        let (slot, key, _) = self.decode(handle)?;
        match slot.lock.try_read(key) {
            Entry::In => Ok(Some(Reading(slot))),
            Entry::Busy => Ok(None),
            Entry::Gone => Err(Error::Closed),
        }
    }

    /// The object, for this call alone.
    #[inline(always)]
    fn write(&self, handle: u64) -> Result<(Writing<'_, T>, u32)> {
        let (slot, key, index) = self.decode(handle)?;
        match slot.lock.write(key, slot.queue()) {
            Ok(()) => Ok((Writing { slot, key }, index)),
            Err(Gone) => Err(Error::Closed),
        }
    }

    /// Runs `change` on the object, which no other call sees meanwhile.
    ///
    /// # Errors
    /// [`Error`] when the handle is not of this table, or its object is gone.
    #[inline]
    pub fn with<R>(&self, handle: u64, change: impl FnOnce(&mut Found<T>) -> R) -> Result<R> {
        let (mut writing, _) = self.write(handle)?;
        Ok(change(writing.found()))
    }

    /// As [`with`](Table::with), but `None` while another call is at the object.
    ///
    /// # Errors
    /// [`Error`] when the handle is not of this table, or its object is gone.
    pub fn try_with<R>(&self, handle: u64, change: impl FnOnce(&mut Found<T>) -> R) -> Result<Option<R>> {
        let (slot, key, _) = self.decode(handle)?;
        match slot.lock.try_write(key) {
            Entry::In => Ok(Some(change(Writing { slot, key }.found()))),
            // Whoever has it may have it for long.
            Entry::Busy => Ok(None),
            Entry::Gone => Err(Error::Closed),
        }
    }

    /// Whether the object is there.
    #[inline]
    pub fn is_live(&self, handle: u64) -> bool {
        self.decode(handle).is_ok_and(|(slot, key, _)| slot.lock.is_live(key))
    }

    /// Closes the handle and gives the object, once the calls that are at it are over.
    ///
    /// # Errors
    /// [`Error`] when the handle is not of this table, or its object is gone.
    pub fn take(&self, handle: u64) -> Result<Found<T>> {
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
        // SAFETY: the call has the slot locked for itself, so that the object is there; the slot is free next, and the object is not
        // looked at there again.
        unsafe { (*leaving.slot.found.get()).assume_init_read() }
    }

    /// As [`take`](Table::take), but drops the object where it lies, before others that wait for it hear of that: for what
    /// is dropped without looking for another handle.
    ///
    /// # Errors
    /// [`Error`] when the handle is not of this table, or its object is gone.
    #[inline(always)]
    pub fn discard(&self, handle: u64) -> Result<()> {
        let (writing, index) = self.write(handle)?;
        let leaving = self.leaving(writing, index);
        // SAFETY: as in `vacate`; should the drop panic, the slot is free all the same.
        unsafe { (*leaving.slot.found.get()).assume_init_drop() };
        Ok(())
    }

    /// Closes the handle and gives the object if `check` does not object to it.
    ///
    /// # Errors
    /// As [`take`](Table::take); what `check` says, and then the object stays.
    pub fn take_if<E: From<Error>>(
        &self,
        handle: u64,
        check: impl FnOnce(&Found<T>) -> std::result::Result<(), E>,
    ) -> std::result::Result<Found<T>, E> {
        let (mut writing, index) = self.write(handle)?;
        check(writing.found())?;
        Ok(self.vacate(writing, index))
    }

    /// Closes every handle and gives the objects.
    pub fn drain(&self) -> Vec<T> {
        self.take_where(|_| true)
    }

    /// Closes every handle of an owner's objects and gives these.
    pub fn take_all(&self, owner: Owner) -> Vec<T> {
        self.take_where(|its| its == owner)
    }

    fn take_where(&self, wanted: impl Fn(Owner) -> bool) -> Vec<T> {
        let unused = *self.unused.lock().unwrap_or_else(PoisonError::into_inner);
        let mut taken = Vec::new();
        for index in FIRST_CHUNK..unused {
            let Some(slot) = self.slot(index) else { continue };
            let Some(key) = slot.lock.look() else { continue };
            // Others' objects may be in long use; only what is looked for is waited for.
            if slot.lock.read(key, slot.queue()).is_err() || !wanted(Reading(slot).owner) {
                continue;
            }
            if slot.lock.write(key, slot.queue()).is_ok() {
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
                if slot.lock.look().is_some() {
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
        let table: Table<String> = Table::new(1);
        let first = table.insert(Owner(7), "first".to_owned()).unwrap();
        assert_eq!(table.get(first).unwrap().value, "first");
        assert!(table.is_live(first));
        assert_eq!(table.take(first).unwrap().value, "first");
        assert!(!table.is_live(first));
        let second = table.insert(Owner(7), "second".to_owned()).unwrap();
        assert_eq!(first & 0xff_ffff, second & 0xff_ffff, "the slot is used again");
        for message in [
            table.get(first).map(drop).unwrap_err(),
            table.take(first).map(drop).unwrap_err(),
            table.with(first, |_| ()).unwrap_err(),
            table.try_with(first, |_| ()).unwrap_err(),
        ] {
            assert_eq!(message, Error::Closed);
        }
        assert_eq!(table.get(second).unwrap().value, "second");
    }

    #[test]
    fn what_is_read_stays_open_and_what_is_changed_is_not_read() {
        let table: Table<u32> = Table::new(1);
        let handle = table.insert(Owner(7), 1).unwrap();
        let held = [table.read(handle).unwrap(), table.try_read(handle).unwrap().unwrap()];
        std::thread::scope(|scope| {
            let table = &table;
            let closing = scope.spawn(move || table.take(handle).unwrap());
            std::thread::sleep(std::time::Duration::from_millis(20));
            assert!(!closing.is_finished() && table.is_live(handle));
            assert!(held.iter().all(|held| held.value == 1));
            drop(held);
            assert_eq!(closing.join().unwrap().value, 1);
        });
        assert!(table.read(handle).is_err() && table.try_read(handle).is_err());

        let other = table.insert(Owner(7), 2).unwrap();
        assert!(table.with(other, |_| table.try_read(other).unwrap().is_none()).unwrap());
        table.discard(other).unwrap();
        assert!(table.discard(other).is_err() && !table.is_live(other));
        let next = table.insert(Owner(7), 3).unwrap();
        assert_eq!(other & 0xff_ffff, next & 0xff_ffff, "the slot is used again");
    }

    #[test]
    fn what_is_no_handle_of_the_kind_is_told_apart() {
        let (streams, events): (Table<u8>, Table<u8>) = (Table::new(1), Table::new(2));
        let stream = streams.insert(Owner::NONE, 1).unwrap();
        let says = |handle: u64| events.get(handle).unwrap_err();
        assert_eq!(says(0), Error::Null);
        assert_eq!(says(stream), Error::Foreign(1));
        assert_eq!(says((&raw const stream).addr() as u64), Error::Foreign(0));
        assert_eq!(says(u64::MAX), Error::Foreign(15));
        let event = events.insert(Owner::NONE, 2).unwrap();
        for made_up in [event + 1, event ^ 1 << INDEX_BITS, event + (1 << 20)] {
            assert!(events.get(made_up).is_err(), "{made_up:#x}");
        }
    }

    #[test]
    fn a_refused_taking_leaves_the_object() {
        let table: Table<u32> = Table::new(1);
        let handle = table.insert(Owner::NONE, 7).unwrap();
        assert_eq!(table.take_if(handle, |_| Err(Error::Full)).unwrap_err(), Error::Full);
        assert_eq!(
            table
                .take_if(handle, |found| if found.value == 7 { Ok(()) } else { Err(Error::Full) })
                .unwrap()
                .value,
            7
        );
        assert_eq!(table.take_if(handle, |_| Ok::<(), Error>(())).unwrap_err(), Error::Closed);
        table.insert(Owner(1), 1).unwrap();
        table.insert(Owner(2), 2).unwrap();
        assert_eq!(table.drain(), [1, 2]);
        assert!(table.drain().is_empty());
    }

    #[test]
    fn an_owners_objects_go_together() {
        let table: Table<u32> = Table::new(1);
        let handles: Vec<u64> = (0..300).map(|i| table.insert(Owner(u64::from(i % 3)), i).unwrap()).collect();
        let mut taken = table.take_all(Owner(1));
        taken.sort_unstable();
        assert_eq!(taken, (0..300).filter(|i| i % 3 == 1).collect::<Vec<_>>());
        assert!(handles.iter().enumerate().all(|(i, &h)| table.is_live(h) == (i % 3 != 1)));
    }

    #[test]
    fn threads_that_open_and_close_never_see_each_others() {
        static TABLE: Table<u64> = Table::new(1);
        const ROUNDS: u64 = if cfg!(miri) { 5 } else { 500 };
        std::thread::scope(|scope| {
            for t in 0..4u64 {
                scope.spawn(move || {
                    for i in 0..ROUNDS {
                        let mine: Vec<u64> = (0..5)
                            .map(|k| TABLE.insert(Owner(t), (t << 32) | (i * 5 + k)).unwrap())
                            .collect();
                        for (k, &handle) in mine.iter().enumerate() {
                            assert_eq!(TABLE.take(handle).unwrap().value, (t << 32) | (i * 5 + k as u64));
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
        let table: Table<std::sync::Arc<usize>> = Table::new(1);
        let handles: Vec<AtomicU64> = (0..4).map(|_| 0.into()).collect();
        let alive = std::sync::Arc::new(0);
        std::thread::scope(|scope| {
            for slot in &handles {
                scope.spawn(|| {
                    for _ in 0..ROUNDS {
                        let handle = table.insert(Owner(1), alive.clone()).unwrap();
                        slot.store(handle, Ordering::Release);
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
                        assert!(table.read(handle).map_or(true, |held| *held.value == 0));
                        if let Some(held) = table.quick(handle) {
                            assert_eq!(*held.value, 0);
                        }
                    }
                });
            }
        });
        assert_eq!(std::sync::Arc::strong_count(&alive), 1);
        let left = table.insert(Owner(1), alive.clone()).unwrap();
        assert!(table.is_live(left));
        drop(table);
        assert_eq!(std::sync::Arc::strong_count(&alive), 1, "a table drops what is left in it");
    }
}
