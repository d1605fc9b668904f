//! The table of objects by 64-bit handle.
//!
//! ```text
//!  63  59 58                     23 22             0
//! +------+-------------------------+----------------+
//! | kind |       generation        |     index      |
//! +------+-------------------------+----------------+
//! ```
//!
//! The kind is never 0, so neither null nor an address of a process is a handle. A slot's generation grows by one with
//! each object, so a handle that outlived its object differs from the handle of the slot's next object. Slots lie in
//! chunks that stay where they are as long as the table, so finding a slot takes no lock. A slot's lock
//! (`slot_lock.rs`) says which threads may read or change its object. Free slots are a stack (`free_stack.rs`).

use std::cell::UnsafeCell;
use std::mem::MaybeUninit;
use std::ops::Deref;
use std::sync::atomic::AtomicPtr;

use super::free_stack::FreeStack;
use super::slot_lock::{Entry, Gone, INDEX_BITS, KIND_SHIFT, Key, LAST_GENERATION, SlotLock, WaitQueue};
use super::sync::{AtomicU32, AtomicU64, Condvar, Mutex, Ordering, PoisonError};

/// The number of slots of the first chunk; each later chunk has twice as many as the one before. Indices begin with
/// this number. The highest bit that is set in an index is the number of its chunk, which begins with the index that has
/// no other bit; so there are no chunks below that of the first.
const FIRST_CHUNK: u32 = 64;
const CHUNKS: usize = INDEX_BITS as usize;

/// Why a handle names no object.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// The handle is 0.
    #[error("the handle is null")]
    Null,
    /// The number is not a handle of this table. Holds the kind in the number's highest bits.
    #[error("the number is no handle of this table; its bits say kind {0}")]
    Foreign(u8),
    /// The handle was closed: its object was removed.
    #[error("the object was closed")]
    Closed,
    /// All slots have objects (nearly 2^23) or used up generations.
    #[error("too many objects are open")]
    Full,
}

type Result<T> = std::result::Result<T, Error>;

/// The owner of an object: any number, such as the handle of another object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Owner(pub u64);

impl Owner {
    /// The owner of objects that have none.
    pub const NONE: Owner = Owner(0);
}

/// An object and its owner.
#[derive(Clone, Copy, Debug)]
pub struct Found<T> {
    /// The owner that was given to [`Table::insert`].
    pub owner: Owner,
    /// The object.
    pub value: T,
}

/// A table of objects of one kind.
pub struct Table<T> {
    kind: u8,
    /// The first slot of each chunk; null until the chunk is needed.
    chunks: [AtomicPtr<Slot<T>>; CHUNKS],
    free: FreeStack,
    /// The index of the first slot that was never used.
    unused: Mutex<u32>,
}

/// A place for an object. It has a cache line of its own, so that threads do not wait for each other at neighbouring
/// slots.
#[repr(align(64))]
struct Slot<T> {
    lock: SlotLock,
    /// The index of the slot below this one in the stack of free slots.
    next: AtomicU32,
    /// The object, initialized while the lock's word is live. Threads that have the slot locked read it. A thread that
    /// has it locked for writing, or has claimed it, changes it.
    found: UnsafeCell<MaybeUninit<Found<T>>>,
}

// SAFETY: the lock lets several threads read an object at once, which needs `Sync`, or one thread change, insert or
// remove it, which needs `Send`. The other fields are atomics.
unsafe impl<T: Send + Sync> Sync for Slot<T> {}
// SAFETY: the slots behind the pointers are the table's own, and may be used by several threads if `Slot` may.
unsafe impl<T: Send + Sync> Sync for Table<T> {}

/// The queues on which calls that wait for a slot sleep. There are several, because all threads of a queue are woken at
/// once.
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

/// An object that is locked for reading. Calls that change or remove the object wait until this is dropped.
pub struct Reading<'t, T>(&'t Slot<T>);

impl<T> Deref for Reading<'_, T> {
    type Target = Found<T>;

    #[inline]
    fn deref(&self) -> &Found<T> {
        // SAFETY: `self` has the slot locked, so the object is there and no thread changes it.
        unsafe { (*self.0.found.get()).assume_init_ref() }
    }
}

impl<T> Drop for Reading<'_, T> {
    #[inline]
    fn drop(&mut self) {
        self.0.lock.leave(self.0.queue());
    }
}

/// The lock of a [`Reading`] without the object.
pub struct Lock(&'static SlotLock);

impl Drop for Lock {
    #[inline]
    fn drop(&mut self) {
        self.0.leave(queue_of(self.0));
    }
}

impl<T> Reading<'static, T> {
    /// Separates the lock from the object.
    ///
    /// # Safety
    /// The caller does not use the object after the lock is dropped.
    #[inline(always)]
    pub unsafe fn split<'k>(self) -> (Lock, &'k Found<T>) {
        let slot = std::mem::ManuallyDrop::new(self).0;
        // SAFETY: the object is there while the lock is held, and the caller promises not to use it longer.
        (Lock(&slot.lock), unsafe { (*slot.found.get()).assume_init_ref() })
    }
}

/// A slot that the call has locked for writing. Dropping this unlocks it.
struct Writing<'t, T> {
    slot: &'t Slot<T>,
    key: Key,
}

impl<T> Writing<'_, T> {
    #[inline]
    fn found(&mut self) -> &mut Found<T> {
        // SAFETY: `self` has the slot locked for writing and the word is live, so the object is there and no other
        // thread uses it.
        unsafe { (*self.slot.found.get()).assume_init_mut() }
    }
}

impl<T> Drop for Writing<'_, T> {
    #[inline]
    fn drop(&mut self) {
        self.slot.lock.open(self.key, self.slot.queue());
    }
}

/// A slot whose object is being removed. Dropping this frees the slot.
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
        // A slot whose generations are used up is never used again.
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
        bits => Error::Foreign((bits >> KIND_SHIFT) as u8),
    }
}

#[inline(always)]
fn index_of(handle: u64) -> u32 {
    (handle & ((1 << INDEX_BITS) - 1)) as u32
}

/// Returns the number of the chunk that an index is in.
#[inline(always)]
fn chunk_of(index: u32) -> usize {
    (index | 1).ilog2() as usize
}

impl<T> Table<T> {
    /// Creates a table without objects. Its handles have `kind`, 1 to 31, in their highest five bits.
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
        let chunk = chunk_of(index);
        // `Acquire`: pairs with `grow`, so that the slots are initialized.
        let first = self.chunks.get(chunk)?.load(Ordering::Acquire);
        if first.is_null() {
            return None;
        }
        // SAFETY: the chunk has a slot for each index with this highest bit, in the order of the bits below it. The slots live
        // as long as the table.
        Some(unsafe { &*first.add((index ^ 1 << chunk) as usize) })
    }

    /// Puts an object into the table and returns its handle.
    ///
    /// # Errors
    /// [`Error::Full`] when the table can hold no further object.
    #[inline(always)]
    pub fn insert(&self, owner: Owner, value: T) -> Result<u64> {
        let (slot, key, index) = self.claim()?;
        // SAFETY: the slot is claimed, so no other thread uses it. It has no object that would have to be dropped.
        unsafe { (*slot.found.get()).write(Found { owner, value }) };
        slot.lock.publish(key);
        Ok(key.handle(index))
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
        let chunk = chunk_of(index);
        let Some(first) = self.chunks.get(chunk) else {
            return Err(Error::Full);
        };
        if first.load(Ordering::Relaxed).is_null() {
            let new = || Slot {
                lock: SlotLock::new(self.kind),
                next: AtomicU32::new(0),
                found: UnsafeCell::new(MaybeUninit::uninit()),
            };
            let slots: Box<[Slot<T>]> = (0..1usize << chunk).map(|_| new()).collect();
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

    /// Returns the slot, key and index that a handle names.
    #[inline(always)]
    fn decode(&self, handle: u64) -> Result<(&Slot<T>, Key, u32)> {
        let index = index_of(handle);
        match self.slot(index) {
            Some(slot) if handle >> KIND_SHIFT == u64::from(self.kind) => Ok((slot, Key::of(handle), index)),
            _ => Err(not_here(handle)),
        }
    }

    /// Returns a clone of the object. Waits for calls that change it.
    ///
    /// # Errors
    /// The errors of [`read`](Table::read).
    #[inline]
    pub fn get(&self, handle: u64) -> Result<Found<T>>
    where
        T: Clone,
    {
        self.look(handle, |found| found.clone())
    }

    /// Returns what `look` returns for the object, which is locked for reading meanwhile. `look` must neither wait nor
    /// use the table.
    ///
    /// # Errors
    /// The errors of [`read`](Table::read).
    #[inline]
    pub fn look<R>(&self, handle: u64, look: impl FnOnce(&Found<T>) -> R) -> Result<R> {
        Ok(look(&*self.read(handle)?))
    }

    /// Locks the object for reading and returns it. Other calls may read it too. Waits for calls that change it.
    ///
    /// A thread that waits for another object while it holds this one can deadlock: all threads have to lock objects in
    /// one order.
    ///
    /// # Errors
    /// [`Error::Null`] or [`Error::Foreign`] when the handle is not of this table, and [`Error::Closed`] when its
    /// object was removed.
    #[inline(always)]
    pub fn read(&self, handle: u64) -> Result<Reading<'_, T>> {
        let (slot, key, _) = self.decode(handle)?;
        match slot.lock.read(key, slot.queue()) {
            Ok(()) => Ok(Reading(slot)),
            Err(Gone) => Err(Error::Closed),
        }
    }

    /// Does what [`read`](Table::read) does, but returns `None` if it would have to wait or there is no such object. A handle of
    /// another kind is the key of no slot here.
    #[inline(always)]
    pub fn quick(&self, handle: u64) -> Option<Reading<'_, T>> {
        let slot = self.slot(index_of(handle))?;
        (slot.lock.try_read(Key::of(handle)) == Entry::In).then(|| Reading(slot))
    }

    /// Does what [`read`](Table::read) does, but returns `None` if it would have to wait.
    ///
    /// # Errors
    /// The errors of [`read`](Table::read).
    #[inline(always)]
    pub fn try_read(&self, handle: u64) -> Result<Option<Reading<'_, T>>> {
        let (slot, key, _) = self.decode(handle)?;
        match slot.lock.try_read(key) {
            Entry::In => Ok(Some(Reading(slot))),
            Entry::Busy => Ok(None),
            Entry::Gone => Err(Error::Closed),
        }
    }

    /// Locks the object for writing.
    #[inline(always)]
    fn write(&self, handle: u64) -> Result<(Writing<'_, T>, u32)> {
        let (slot, key, index) = self.decode(handle)?;
        match slot.lock.write(key, slot.queue()) {
            Ok(()) => Ok((Writing { slot, key }, index)),
            Err(Gone) => Err(Error::Closed),
        }
    }

    /// Calls `change` with the object, which is locked for writing meanwhile. Waits for calls that use it.
    ///
    /// # Errors
    /// The errors of [`read`](Table::read).
    #[inline]
    pub fn with<R>(&self, handle: u64, change: impl FnOnce(&mut Found<T>) -> R) -> Result<R> {
        let (mut writing, _) = self.write(handle)?;
        Ok(change(writing.found()))
    }

    /// Does what [`with`](Table::with) does, but returns `None` while another call uses the object.
    ///
    /// # Errors
    /// The errors of [`read`](Table::read).
    pub fn try_with<R>(&self, handle: u64, change: impl FnOnce(&mut Found<T>) -> R) -> Result<Option<R>> {
        let (slot, key, _) = self.decode(handle)?;
        match slot.lock.try_write(key) {
            Entry::In => Ok(Some(change(Writing { slot, key }.found()))),
            Entry::Busy => Ok(None),
            Entry::Gone => Err(Error::Closed),
        }
    }

    /// Returns whether the handle names an object of this table.
    #[inline]
    pub fn is_live(&self, handle: u64) -> bool {
        self.decode(handle).is_ok_and(|(slot, key, _)| slot.lock.is_live(key))
    }

    /// Removes the object, which closes its handle, and returns it. Waits for calls that use it.
    ///
    /// # Errors
    /// The errors of [`read`](Table::read).
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
        // SAFETY: the call has the slot locked for writing, so the object is there. The slot is freed next, so the
        // object is not used there again.
        unsafe { (*leaving.slot.found.get()).assume_init_read() }
    }

    /// Does what [`take`](Table::take) does, but drops the object in its slot, before calls that wait for it are woken.
    /// The object's drop must not use the table.
    ///
    /// # Errors
    /// The errors of [`read`](Table::read).
    #[inline(always)]
    pub fn discard(&self, handle: u64) -> Result<()> {
        let (writing, index) = self.write(handle)?;
        let leaving = self.leaving(writing, index);
        // SAFETY: as in `vacate`. If the drop panics, `leaving` frees the slot all the same.
        unsafe { (*leaving.slot.found.get()).assume_init_drop() };
        Ok(())
    }

    /// Removes the object and returns it, if `check` returns `Ok` for it.
    ///
    /// # Errors
    /// The errors of [`read`](Table::read); the error of `check`, after which the object stays.
    pub fn take_if<E: From<Error>>(
        &self,
        handle: u64,
        check: impl FnOnce(&Found<T>) -> std::result::Result<(), E>,
    ) -> std::result::Result<Found<T>, E> {
        let (mut writing, index) = self.write(handle)?;
        check(writing.found())?;
        Ok(self.vacate(writing, index))
    }

    /// Removes all objects and returns them.
    pub fn drain(&self) -> Vec<T> {
        self.take_where(|_| true)
    }

    /// Removes all objects of an owner and returns them.
    pub fn take_all(&self, owner: Owner) -> Vec<T> {
        self.take_where(|its| its == owner)
    }

    fn take_where(&self, wanted: impl Fn(Owner) -> bool) -> Vec<T> {
        let unused = *self.unused.lock().unwrap_or_else(PoisonError::into_inner);
        let mut taken = Vec::new();
        for index in FIRST_CHUNK..unused {
            let Some(slot) = self.slot(index) else { continue };
            let Some(key) = slot.lock.look() else { continue };
            // Objects of other owners may be in use for long, so only this owner's are locked for writing.
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
            let slots = std::ptr::slice_from_raw_parts_mut(first, 1 << chunk);
            // SAFETY: `grow` created the chunk from a box of that many slots, and this is the table's last user.
            for slot in unsafe { Box::from_raw(slots) } {
                if slot.lock.look().is_some() {
                    // SAFETY: the word is live, so there is an object.
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
    fn every_index_has_a_slot_of_its_own() {
        let table: Table<u32> = Table::new(1);
        let handles: Vec<u64> = (0..5000).map(|i| table.insert(Owner::NONE, i).unwrap()).collect();
        for (i, &handle) in handles.iter().enumerate() {
            assert_eq!(handle & 0x7f_ffff, i as u64 + u64::from(FIRST_CHUNK), "slots are used in order");
            assert_eq!(table.get(handle).unwrap().value, i as u32);
        }
        assert!((0..FIRST_CHUNK).all(|index| table.slot(index).is_none()));
        assert!(table.slot((1 << INDEX_BITS) - 1).is_none());
        assert!(chunk_of((1 << INDEX_BITS) - 1) == CHUNKS - 1 && chunk_of(1 << INDEX_BITS) == CHUNKS);
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
        assert_eq!(first & 0x7f_ffff, second & 0x7f_ffff, "the slot is used again");
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
    fn removing_waits_for_readers_and_reading_for_a_change() {
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
        assert_eq!(other & 0x7f_ffff, next & 0x7f_ffff, "the slot is used again");
    }

    #[test]
    fn errors_tell_null_foreign_and_invented_handles_apart() {
        let (streams, events): (Table<u8>, Table<u8>) = (Table::new(1), Table::new(2));
        let stream = streams.insert(Owner::NONE, 1).unwrap();
        let says = |handle: u64| events.get(handle).unwrap_err();
        assert_eq!(says(0), Error::Null);
        assert_eq!(says(stream), Error::Foreign(1));
        assert_eq!(says((&raw const stream).addr() as u64), Error::Foreign(0));
        assert_eq!(says(u64::MAX), Error::Foreign(31));
        let event = events.insert(Owner::NONE, 2).unwrap();
        for made_up in [event + 1, event ^ 1 << INDEX_BITS, event + (1 << 20)] {
            assert!(events.get(made_up).is_err(), "{made_up:#x}");
        }
    }

    #[test]
    fn take_if_leaves_an_object_that_the_check_refuses() {
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
    fn take_all_removes_one_owners_objects_alone() {
        let table: Table<u32> = Table::new(1);
        let handles: Vec<u64> = (0..300).map(|i| table.insert(Owner(u64::from(i % 3)), i).unwrap()).collect();
        let mut taken = table.take_all(Owner(1));
        taken.sort_unstable();
        assert_eq!(taken, (0..300).filter(|i| i % 3 == 1).collect::<Vec<_>>());
        assert!(handles.iter().enumerate().all(|(i, &h)| table.is_live(h) == (i % 3 != 1)));
    }

    #[test]
    fn threads_that_insert_and_remove_get_their_own_objects() {
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

    /// A thread that reads a handle sees its object or that it was closed, while other threads remove the object and
    /// insert the next one in its slot. Each object is dropped once.
    #[test]
    fn readers_see_their_own_object_or_none_while_others_remove_it() {
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
        assert_eq!(std::sync::Arc::strong_count(&alive), 1, "a table drops its objects");
    }
}
