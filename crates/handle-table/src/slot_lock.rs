//! The lock of a slot: the name of its object, its readers and its writer in one word.
//!
//! ```text
//!  63  59 58          23   22       21           20       19       0
//! +------+--------------+------+-----------+------------+----------+
//! | kind |  generation  | live | exclusive | waited for | readers  |
//! +------+--------------+------+-----------+------------+----------+
//! ```
//!
//! Kind and generation are where a handle has them, so a handle's *key* is the handle with `live` in place of its index: the
//! word of an unlocked slot with that object. So one compare and swap checks that the slot has the object that was asked for,
//! of this kind, and that no thread changes it or waits to, and adds a reader. The word of a free slot is not live and
//! equals no key.
//!
//! A thread that has to wait sets the flag `waited for` and sleeps on a [`WaitQueue`]. The flag keeps new readers out
//! too, so that a writer does not wait forever. A thread that unlocks the slot and sees the flag clears it and wakes
//! all. The flag is only set under the queue's lock, and the waking thread takes that lock after it cleared the flag.
//! So each thread that sleeps, or was about to sleep, reads the word again.

use super::sync::{AtomicU64, Condvar, Mutex, Ordering, PoisonError};

const READERS: u64 = (1 << 20) - 1;
const WAITED_FOR: u64 = 1 << 20;
const EXCLUSIVE: u64 = 1 << 21;
const LIVE: u64 = 1 << 22;

/// The bits below a handle's kind and generation, which are its index.
pub const INDEX_BITS: u32 = 23;
const GENERATION_BITS: u32 = 36;
/// The place of a handle's kind.
pub const KIND_SHIFT: u32 = INDEX_BITS + GENERATION_BITS;
const INDEX: u64 = (1 << INDEX_BITS) - 1;

/// Generations count from 1 to this: 36 bits.
pub const LAST_GENERATION: u64 = (1 << GENERATION_BITS) - 1;

/// The word of an unlocked slot with an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Key(u64);

impl Key {
    /// Returns the key of a handle's object.
    #[inline(always)]
    pub fn of(handle: u64) -> Key {
        Key(handle & !INDEX | LIVE)
    }

    /// Returns the object's handle, of which the slot has this index.
    #[inline(always)]
    pub fn handle(self, index: u32) -> u64 {
        self.0 & !INDEX | u64::from(index)
    }

    /// Returns how many objects the slot has had, with this one.
    pub fn generation(self) -> u64 {
        generation(self.0)
    }

    #[inline(always)]
    fn fits(self, word: u64) -> bool {
        (word ^ self.0) < LIVE
    }
}

fn generation(word: u64) -> u64 {
    word >> INDEX_BITS & LAST_GENERATION
}

/// The error for a slot that no longer has the key's object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Gone;

/// The result of trying to lock a slot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Entry {
    /// The slot is locked for the caller.
    In,
    /// Another thread has the slot locked, or a thread waits for it.
    Busy,
    /// The slot no longer has the key's object.
    Gone,
}

/// Where threads sleep that wait for one of several slots.
pub struct WaitQueue {
    /// Taken to sleep and to wake.
    pub lock: Mutex<()>,
    /// Signalled when a slot of the queue was unlocked.
    pub left: Condvar,
}

/// The lock of a slot.
pub struct SlotLock {
    /// The word that the module's text describes.
    pub word: AtomicU64,
}

impl SlotLock {
    /// The lock of a free slot that had no object yet. Its objects will be of `kind`.
    pub fn new(kind: u8) -> SlotLock {
        SlotLock { word: AtomicU64::new(u64::from(kind) << KIND_SHIFT) }
    }

    /// Locks the slot for reading, if that needs no waiting. [`leave`](SlotLock::leave) unlocks it.
    #[inline(always)]
    pub fn try_read(&self, key: Key) -> Entry {
        // The common case: no other thread reads it. `Acquire`: pairs with the `Release` of the writer before, so that its
        // changes of the object are seen.
        match self.word.compare_exchange(key.0, key.0 + 1, Ordering::Acquire, Ordering::Relaxed) {
            Ok(_) => Entry::In,
            Err(seen) => self.try_read_beside(key, seen),
        }
    }

    #[inline(never)]
    fn try_read_beside(&self, key: Key, mut seen: u64) -> Entry {
        loop {
            // One comparison checks that the kind and generation are the key's, the slot is live, no flag is set, and the number
            // of readers is below its limit.
            if seen.wrapping_sub(key.0) >= READERS {
                return if key.fits(seen) { Entry::Busy } else { Entry::Gone };
            }
            match self.word.compare_exchange_weak(seen, seen + 1, Ordering::Acquire, Ordering::Relaxed) {
                Ok(_) => return Entry::In,
                Err(now) => seen = now,
            }
        }
    }

    /// Locks the slot for reading. Waits for writers. [`leave`](SlotLock::leave) unlocks it.
    #[inline(always)]
    pub fn read(&self, key: Key, queue: &WaitQueue) -> Result<(), Gone> {
        loop {
            match self.try_read(key) {
                Entry::In => return Ok(()),
                Entry::Gone => return Err(Gone),
                Entry::Busy => self.wait(key, queue, |seen| seen.wrapping_sub(key.0) >= READERS),
            }
        }
    }

    /// Unlocks a slot that was locked for reading.
    #[inline(always)]
    pub fn leave(&self, queue: &WaitQueue) {
        let before = self.word.fetch_sub(1, Ordering::Release);
        if before & WAITED_FOR != 0 {
            self.left_a_wait(before, queue);
        }
    }

    #[cold]
    fn left_a_wait(&self, before: u64, queue: &WaitQueue) {
        if before & READERS != 1 {
            return;
        }
        // A thread that has to wait for a reader that came meanwhile sets the flag again.
        self.word.fetch_and(!WAITED_FOR, Ordering::Relaxed);
        wake(queue);
    }

    /// Locks the slot for writing, if that needs no waiting. [`open`](SlotLock::open) or [`end`](SlotLock::end) unlocks
    /// it.
    #[inline(always)]
    pub fn try_write(&self, key: Key) -> Entry {
        let mut seen = self.word.load(Ordering::Relaxed);
        loop {
            if !key.fits(seen) {
                return Entry::Gone;
            }
            if seen & (EXCLUSIVE | READERS) != 0 {
                return Entry::Busy;
            }
            let taken = seen | EXCLUSIVE;
            match self.word.compare_exchange_weak(seen, taken, Ordering::Acquire, Ordering::Relaxed) {
                Ok(_) => return Entry::In,
                Err(now) => seen = now,
            }
        }
    }

    /// Locks the slot for writing. Waits for readers and writers. [`open`](SlotLock::open) or [`end`](SlotLock::end)
    /// unlocks it.
    #[inline(always)]
    pub fn write(&self, key: Key, queue: &WaitQueue) -> Result<(), Gone> {
        loop {
            match self.try_write(key) {
                Entry::In => return Ok(()),
                Entry::Gone => return Err(Gone),
                Entry::Busy => self.wait(key, queue, |seen| seen & (EXCLUSIVE | READERS) != 0),
            }
        }
    }

    /// Unlocks a slot that was locked for writing and still has its object.
    #[inline(always)]
    pub fn open(&self, key: Key, queue: &WaitQueue) {
        // `Release`: the next thread that locks the slot sees the changes of the object.
        if self.word.swap(key.0, Ordering::Release) & WAITED_FOR != 0 {
            wake(queue);
        }
    }

    /// Unlocks a slot that was locked for writing and whose object was removed. The slot is free then, and the key is
    /// no longer valid. [`look`](SlotLock::look) says why this is `AcqRel`.
    #[inline(always)]
    pub fn end(&self, key: Key, queue: &WaitQueue) {
        if self.word.swap(key.0 & !LIVE, Ordering::AcqRel) & WAITED_FOR != 0 {
            wake(queue);
        }
    }

    /// Takes a free slot for the next generation and returns its key. Returns `None` if the slot is not free or its
    /// generations are used up.
    #[inline(always)]
    pub fn claim(&self) -> Option<Key> {
        let seen = self.word.load(Ordering::Relaxed);
        if seen & (LIVE | EXCLUSIVE) != 0 || generation(seen) == LAST_GENERATION {
            return None;
        }
        // `Acquire`: pairs with `end`, so that the removal of the object before is seen.
        let taken = self.word.compare_exchange(seen, seen | EXCLUSIVE, Ordering::Acquire, Ordering::Relaxed);
        taken.ok().map(|_| Key::of(seen + (1 << INDEX_BITS)))
    }

    /// Makes the key of a claimed slot valid, after an object was put into the slot. No thread waits for a free slot.
    #[inline(always)]
    pub fn publish(&self, key: Key) {
        self.word.swap(key.0, Ordering::AcqRel);
    }

    /// Returns whether the slot has the key's object.
    #[inline(always)]
    pub fn is_live(&self, key: Key) -> bool {
        key.fits(self.word.load(Ordering::Acquire))
    }

    /// Returns the key of the slot's object, if there is one.
    ///
    /// This writes the word that it reads. So of a thread that [publishes](SlotLock::publish) an object and a thread
    /// that closes the object's owner and then calls this, the later one sees what the earlier one did before: either
    /// the object is found here, or the publishing thread finds the owner closed.
    pub fn look(&self) -> Option<Key> {
        let word = self.word.fetch_or(0, Ordering::AcqRel);
        (word & LIVE != 0).then(|| Key::of(word))
    }

    /// Sleeps while the slot has the key's object and `blocked` returns true for the word.
    #[cold]
    fn wait(&self, key: Key, queue: &WaitQueue, blocked: impl Fn(u64) -> bool) {
        let mut guard = queue.lock.lock().unwrap_or_else(PoisonError::into_inner);
        let mut seen = self.word.load(Ordering::Relaxed);
        while key.fits(seen) && blocked(seen) {
            if seen & WAITED_FOR == 0
                && let Err(now) =
                    self.word.compare_exchange(seen, seen | WAITED_FOR, Ordering::Relaxed, Ordering::Relaxed)
            {
                seen = now;
                continue;
            }
            guard = queue.left.wait(guard).unwrap_or_else(PoisonError::into_inner);
            seen = self.word.load(Ordering::Relaxed);
        }
        drop(guard);
    }
}

/// Wakes all threads that sleep on the queue. It takes the queue's lock first, so that a thread that has read the word
/// before sleeps by then.
#[cold]
fn wake(queue: &WaitQueue) {
    drop(queue.lock.lock().unwrap_or_else(PoisonError::into_inner));
    queue.left.notify_all();
}
