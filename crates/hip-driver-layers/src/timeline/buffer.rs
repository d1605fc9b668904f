//! A list to which one thread appends without locks while other threads read it.

use std::cell::UnsafeCell;
use std::mem::MaybeUninit;
use std::ptr;
use std::sync::atomic::{AtomicPtr, AtomicU64, AtomicUsize, Ordering};

/// The number of entries in a list's first chunk. Each later chunk has twice as many, up to [`LARGEST_CHUNK`].
const FIRST_CHUNK: usize = 32;
const LARGEST_CHUNK: usize = 4096;

/// The number of entries that the lists of a timeline may still use together, and of those that were dropped.
#[derive(Debug)]
pub(super) struct Budget {
    left: AtomicUsize,
    dropped: AtomicU64,
}

impl Budget {
    pub(super) fn new(entries: usize) -> Budget {
        Budget { left: AtomicUsize::new(entries), dropped: AtomicU64::new(0) }
    }

    /// Reserves up to `wanted` entries and returns how many; 0 if none are left.
    pub(super) fn take(&self, wanted: usize) -> usize {
        let take = |left: usize| (left > 0).then(|| left - left.min(wanted));
        let before = self.left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, take);
        before.map_or(0, |left| left.min(wanted))
    }

    pub(super) fn drop_one(&self) {
        self.dropped.fetch_add(1, Ordering::Relaxed);
    }

    pub(super) fn is_spent(&self) -> bool {
        self.left.load(Ordering::Relaxed) == 0
    }

    pub(super) fn dropped(&self) -> u64 {
        self.dropped.load(Ordering::Relaxed)
    }
}

struct Chunk<T> {
    entries: Box<[UnsafeCell<MaybeUninit<T>>]>,
    /// The number of entries that are written, from the first on.
    len: AtomicUsize,
    next: AtomicPtr<Chunk<T>>,
}

/// A list of entries. Its chunks live as long as the list.
pub(super) struct Buffer<T: Copy> {
    first: AtomicPtr<Chunk<T>>,
    /// The chunk to which the writer appends.
    last: AtomicPtr<Chunk<T>>,
}

// SAFETY: the list owns `T`s, which may be sent.
unsafe impl<T: Copy + Send> Send for Buffer<T> {}
// SAFETY: an entry is written once, by the one writer that `push` requires, before `len` includes it, and only read
// after that; readers get copies.
unsafe impl<T: Copy + Send + Sync> Sync for Buffer<T> {}

impl<T: Copy> Buffer<T> {
    pub(super) const fn new() -> Buffer<T> {
        Buffer { first: AtomicPtr::new(ptr::null_mut()), last: AtomicPtr::new(ptr::null_mut()) }
    }

    /// Ensures that the next [`push`](Buffer::push) succeeds. Returns `false` if the budget is exhausted.
    ///
    /// # Safety
    /// As for [`push`](Buffer::push).
    #[inline]
    pub(super) unsafe fn reserve(&self, budget: &Budget) -> bool {
        let last = self.last.load(Ordering::Relaxed);
        // SAFETY: null, or a chunk, which lives as long as the list.
        match unsafe { last.as_ref() } {
            Some(chunk) if chunk.len.load(Ordering::Relaxed) < chunk.entries.len() => true,
            // SAFETY: guaranteed by the caller.
            chunk => unsafe { self.grow(chunk, budget) },
        }
    }

    /// Appends an entry. If the budget is exhausted, it counts the entry as dropped.
    ///
    /// # Safety
    /// Only one thread calls this and [`reserve`](Buffer::reserve) on a list.
    #[inline]
    pub(super) unsafe fn push(&self, entry: T, budget: &Budget) {
        // SAFETY: guaranteed by the caller.
        if !unsafe { self.reserve(budget) } {
            budget.drop_one();
            return;
        }
        let last = self.last.load(Ordering::Relaxed);
        // SAFETY: `reserve` read or created it, and it lives as long as the list.
        let Some(chunk) = (unsafe { last.as_ref() }) else { return };
        let len = chunk.len.load(Ordering::Relaxed);
        let Some(cell) = chunk.entries.get(len) else { return };
        // SAFETY: readers only read entries below `len`, and no other thread writes.
        unsafe { (*cell.get()).write(entry) };
        chunk.len.store(len + 1, Ordering::Release);
    }

    /// Appends a chunk.
    ///
    /// # Safety
    /// As for [`push`](Buffer::push).
    #[cold]
    unsafe fn grow(&self, last: Option<&Chunk<T>>, budget: &Budget) -> bool {
        let wanted = last.map_or(FIRST_CHUNK, |chunk| (2 * chunk.entries.len()).min(LARGEST_CHUNK));
        let size = budget.take(wanted);
        if size == 0 {
            return false;
        }
        let chunk = Box::into_raw(Box::new(Chunk {
            entries: (0..size).map(|_| UnsafeCell::new(MaybeUninit::uninit())).collect(),
            len: AtomicUsize::new(0),
            next: AtomicPtr::new(ptr::null_mut()),
        }));
        last.map_or(&self.first, |last| &last.next).store(chunk, Ordering::Release);
        self.last.store(chunk, Ordering::Relaxed);
        true
    }

    /// Calls `each` with every entry, oldest first.
    pub(super) fn read(&self, mut each: impl FnMut(T)) {
        let mut next = self.first.load(Ordering::Acquire);
        // SAFETY: null, or a chunk that was complete before it was published, and that lives as long as the list.
        while let Some(chunk) = unsafe { next.as_ref() } {
            // `next` is read before the length. A chunk with a next one is full, and a thread that sees the next one
            // sees that too. In the other order, the writer could fill this chunk and start the next in between: the
            // reader would miss entries.
            let behind = chunk.next.load(Ordering::Acquire);
            for cell in chunk.entries.iter().take(chunk.len.load(Ordering::Acquire)) {
                // SAFETY: the entry is below `len`, so it is written, and is not written again.
                each(unsafe { (*cell.get()).assume_init() });
            }
            next = behind;
        }
    }
}

impl<T: Copy> Drop for Buffer<T> {
    fn drop(&mut self) {
        let mut next = *self.first.get_mut();
        while !next.is_null() {
            // SAFETY: created by `Box::into_raw` and reached once; nothing else refers to the list any more. Entries
            // are `Copy`, so they need no drop.
            next = *unsafe { Box::from_raw(next) }.next.get_mut();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn contents<T: Copy>(buffer: &Buffer<T>) -> Vec<T> {
        let mut all = Vec::new();
        buffer.read(|entry| all.push(entry));
        all
    }

    #[test]
    fn entries_are_read_in_order_up_to_the_budget() {
        let (buffer, other, budget) = (Buffer::new(), Buffer::new(), Budget::new(10_000));
        assert!(contents(&buffer).is_empty());
        // SAFETY: one thread.
        (0..10_100).for_each(|i: u32| unsafe { buffer.push(i, &budget) });
        assert_eq!(contents(&buffer), (0..10_000).collect::<Vec<_>>());
        assert_eq!(budget.dropped(), 100);
        // SAFETY: one thread.
        unsafe {
            assert!(!other.reserve(&budget));
            other.push(1u32, &budget);
        }
        assert_eq!((contents(&other), budget.dropped()), (vec![], 101));
    }

    #[test]
    fn readers_see_the_first_entries_that_are_written() {
        let (buffer, budget) = (Buffer::new(), Budget::new(1 << 20));
        let count = if cfg!(miri) { 300 } else { 100_000 };
        std::thread::scope(|scope| {
            let writer = scope.spawn(|| {
                // SAFETY: only this thread writes.
                (0..count).for_each(|i: u64| unsafe { buffer.push([i; 4], &budget) });
            });
            let mut seen = 0;
            while !writer.is_finished() {
                let all = contents(&buffer);
                assert!(all.iter().enumerate().all(|(i, entry)| *entry == [i as u64; 4]));
                assert!(all.len() >= seen);
                seen = all.len();
            }
        });
        assert_eq!(contents(&buffer).len() as u64, count);
    }
}
