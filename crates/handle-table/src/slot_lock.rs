//! Who is in a slot: its generation, its readers and its writer in one word.
//!
//! ```text
//!  63          28   27       26          25       24       0
//! +--------------+------+-----------+------------+----------+
//! |  generation  | live | exclusive | waited for | readers  |
//! +--------------+------+-----------+------------+----------+
//! ```
//!
//! A handle's *key* is its generation with `live`: the word of a slot that nobody is in. So one compare and swap finds out
//! that the object is the one that was asked for, that nobody changes it or waits to, and counts one reader more. Words of
//! free slots are not live, and equal no key.
//!
//! Who has to wait says so in the word (`waited for`, which keeps new readers out too, so that a writer gets its turn) and
//! sleeps on a [`WaitQueue`]; who leaves and sees that wakes all. The flag is only ever set under the queue's lock, and a
//! waker takes that lock after it cleared the flag: whoever it wakes, or was about to sleep, looks at the word again.

use super::sync::{AtomicU64, Condvar, Mutex, Ordering, PoisonError};

const READERS: u64 = (1 << 25) - 1;
const WAITED_FOR: u64 = 1 << 25;
const EXCLUSIVE: u64 = 1 << 26;
const LIVE: u64 = 1 << 27;
const GENERATION_SHIFT: u32 = 28;

/// Generations count from 1 to this: 36 bits.
pub const LAST_GENERATION: u64 = (1 << (64 - GENERATION_SHIFT)) - 1;

/// The word of a slot with an object that nobody is in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Key(u64);

impl Key {
    /// The key of a generation, whose bits above the 36th do not count.
    #[inline(always)]
    pub fn of(generation: u64) -> Key {
        Key(generation << GENERATION_SHIFT | LIVE)
    }

    pub fn generation(self) -> u64 {
        self.0 >> GENERATION_SHIFT
    }

    #[inline(always)]
    fn fits(self, word: u64) -> bool {
        (word ^ self.0) < LIVE
    }
}

/// The slot's object is not the key's any more.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Gone;

/// What came of trying.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Entry {
    In,
    /// Another has it to itself, or waits to.
    Busy,
    Gone,
}

/// Where those sleep who wait for one of several slots.
pub struct WaitQueue {
    pub lock: Mutex<()>,
    pub left: Condvar,
}

/// The word.
pub struct SlotLock {
    /// 0 at first.
    pub word: AtomicU64,
}

impl SlotLock {
    /// Enters beside other readers, unless that takes waiting. Whoever is in leaves by [`leave`](SlotLock::leave).
    #[inline(always)]
    pub fn try_read(&self, key: Key) -> Entry {
        let mut seen = self.word.load(Ordering::Relaxed);
        loop {
            // Of this generation, live, no flag, and room for one more: all in one comparison.
            if seen.wrapping_sub(key.0) >= READERS {
                return if key.fits(seen) { Entry::Busy } else { Entry::Gone };
            }
            // `Acquire`: what the one before wrote of the object, who left with `Release`, is seen.
            match self.word.compare_exchange_weak(seen, seen + 1, Ordering::Acquire, Ordering::Relaxed) {
                Ok(_) => return Entry::In,
                Err(now) => seen = now,
            }
        }
    }

    /// Enters beside other readers.
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

    /// A reader leaves.
    #[inline(always)]
    pub fn leave(&self, queue: &WaitQueue) {
        let before = self.word.fetch_sub(1, Ordering::Release);
        if before & (READERS | WAITED_FOR) == WAITED_FOR | 1 {
            self.last_reader_left(queue);
        }
    }

    #[cold]
    fn last_reader_left(&self, queue: &WaitQueue) {
        // Whoever waits for another that came meanwhile says so again.
        self.word.fetch_and(!WAITED_FOR, Ordering::Relaxed);
        wake(queue);
    }

    /// Enters alone, unless that takes waiting. Whoever is in leaves by [`open`](SlotLock::open) or [`end`](SlotLock::end).
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

    /// Enters alone.
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

    /// Who was in alone leaves, and the object stays.
    #[inline(always)]
    pub fn open(&self, key: Key, queue: &WaitQueue) {
        // `Release`: who enters next sees the object as it was left.
        if self.word.swap(key.0, Ordering::Release) & WAITED_FOR != 0 {
            wake(queue);
        }
    }

    /// Who was in alone took the object out: the slot is free, and the key good for nothing. A closed owner is found by
    /// `AcqRel`: see [`look`](SlotLock::look).
    #[inline(always)]
    pub fn end(&self, key: Key, queue: &WaitQueue) {
        if self.word.swap(key.0 & !LIVE, Ordering::AcqRel) & WAITED_FOR != 0 {
            wake(queue);
        }
    }

    /// Takes a free slot for the next generation. `None` where it is not free, or its generations are used up.
    #[inline(always)]
    pub fn claim(&self) -> Option<Key> {
        let seen = self.word.load(Ordering::Relaxed);
        let generation = seen >> GENERATION_SHIFT;
        if seen & (LIVE | EXCLUSIVE) != 0 || generation == LAST_GENERATION {
            return None;
        }
        // `Acquire`: whoever had the slot has taken its object out.
        let taken = self.word.compare_exchange(seen, seen | EXCLUSIVE, Ordering::Acquire, Ordering::Relaxed);
        taken.ok().map(|_| Key::of(generation + 1))
    }

    /// An object was put into the claimed slot: its key is good from now on. Nobody waits for a free slot.
    #[inline(always)]
    pub fn publish(&self, key: Key) {
        self.word.swap(key.0, Ordering::AcqRel);
    }

    /// Whether the key is good.
    #[inline(always)]
    pub fn is_live(&self, key: Key) -> bool {
        key.fits(self.word.load(Ordering::Acquire))
    }

    /// The key of the object that is there. This writes, what it read, so that of one that [publishes](SlotLock::publish) and
    /// one that looks here, the later sees all that the earlier did before: either the object is found here, or whoever
    /// put it in finds its owner closed.
    pub fn look(&self) -> Option<Key> {
        let word = self.word.fetch_or(0, Ordering::AcqRel);
        (word & LIVE != 0).then(|| Key::of(word >> GENERATION_SHIFT))
    }

    /// Sleeps while the object is the key's and `blocked` is true of the word.
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

/// Wakes all; with the lock, so that it misses nobody who looked at the word before and is about to sleep.
#[cold]
fn wake(queue: &WaitQueue) {
    drop(queue.lock.lock().unwrap_or_else(PoisonError::into_inner));
    queue.left.notify_all();
}
