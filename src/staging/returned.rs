//! A list to which any thread adds without a lock, and from which one takes everything at once.

use crate::sync::{AtomicPtr, Ordering};

/// A value that can be added to a [`ReturnedList`] without an allocation.
#[derive(Debug)]
pub(crate) struct Returnable<T> {
    pub(crate) value: T,
    /// While this is in a list, the one that was added before it.
    before: AtomicPtr<Returnable<T>>,
}

impl<T> Returnable<T> {
    pub(crate) fn new(value: T) -> Box<Returnable<T>> {
        Box::new(Returnable { value, before: AtomicPtr::new(std::ptr::null_mut()) })
    }
}

/// The values that were added since they were last taken. It owns them.
#[derive(Debug)]
pub(crate) struct ReturnedList<T> {
    /// The one that was added last; null if there is none.
    last: AtomicPtr<Returnable<T>>,
}

impl<T> ReturnedList<T> {
    pub(crate) fn new() -> ReturnedList<T> {
        ReturnedList { last: AtomicPtr::new(std::ptr::null_mut()) }
    }

    /// Adds a value: a push on Treiber's stack. There is no ABA problem, because nothing pops a single value:
    /// [`take_all`](Self::take_all) swaps the whole list out, so a `last` that was taken and added again meanwhile is
    /// still the one to come before. `Release` pairs with the `Acquire` of [`take_all`](Self::take_all), so whoever takes the value sees
    /// what its owner wrote before.
    #[inline]
    pub(crate) fn add(&self, returned: Box<Returnable<T>>) {
        let added = Box::into_raw(returned);
        let mut last = self.last.load(Ordering::Relaxed);
        loop {
            // SAFETY: `added` is a box's, and nobody else has it until the exchange succeeds. `last` is only stored, so it
            // does not matter whether its value was taken meanwhile.
            unsafe { (*added).before.store(last, Ordering::Relaxed) };
            match self.last.compare_exchange_weak(last, added, Ordering::Release, Ordering::Relaxed) {
                Ok(_) => return,
                Err(now) => last = now,
            }
        }
    }

    /// Takes all values and calls `with` with each, in the order in which they were added.
    pub(crate) fn take_all(&self, mut with: impl FnMut(Box<Returnable<T>>)) {
        let mut next = self.last.swap(std::ptr::null_mut(), Ordering::Acquire);
        let mut first = std::ptr::null_mut();
        while !next.is_null() {
            // SAFETY: `add` made the pointer from a box. It was in this list, all of which the exchange took, so no other
            // thread has it.
            let before = unsafe { (*next).before.load(Ordering::Relaxed) };
            // SAFETY: of a box, and only this thread has it: see the load before.
            unsafe { (*next).before.store(first, Ordering::Relaxed) };
            (first, next) = (next, before);
        }
        while !first.is_null() {
            // SAFETY: of a box in the list that was taken; each pointer is in the reversed list once.
            let taken = unsafe { Box::from_raw(first) };
            first = taken.before.load(Ordering::Relaxed);
            with(taken);
        }
    }
}

impl<T> Drop for ReturnedList<T> {
    fn drop(&mut self) {
        self.take_all(drop);
    }
}
