//! Free slots as a stack without a lock (Treiber's).
//!
//! The head has a count beside the number of the slot on top, which goes up with each change: a thread that was asleep
//! between reading the head and changing it finds another count, though the same slot be on top again. Should it ever come
//! round, a slot may come out twice or not at all: who takes one [claims](super::slot_lock::SlotLock::claim) it before use, which
//! only one can.

use super::sync::{AtomicU32, AtomicU64, Ordering};

/// The stack's head: the count in the high half, in the low one the slot on top, 0 for none.
pub struct FreeStack {
    /// 0 at first.
    pub head: AtomicU64,
}

/// The head with `top` instead.
#[inline(always)]
fn changed(head: u64, top: u32) -> u64 {
    (head >> 32).wrapping_add(1) << 32 | u64::from(top)
}

impl FreeStack {
    /// Takes the slot on top. `find` gives a slot by its number, and where it says which is below it.
    #[inline(always)]
    pub fn pop<'t, S>(&self, find: impl Fn(u32) -> Option<(S, &'t AtomicU32)>) -> Option<(u32, S)> {
        let mut head = self.head.load(Ordering::Acquire);
        loop {
            let top = head as u32;
            if top == 0 {
                return None;
            }
            // Where another took it meanwhile this may be anything, and the head has changed.
            let (slot, below) = find(top)?;
            let new = changed(head, below.load(Ordering::Relaxed));
            match self.head.compare_exchange_weak(head, new, Ordering::Acquire, Ordering::Acquire) {
                Ok(_) => return Some((top, slot)),
                Err(now) => head = now,
            }
        }
    }

    /// Puts a slot on top, which nobody else has; `next` is its own place for the one below.
    #[inline(always)]
    pub fn push(&self, slot: u32, next: &AtomicU32) {
        let mut head = self.head.load(Ordering::Relaxed);
        loop {
            next.store(head as u32, Ordering::Relaxed);
            // `Release`: who pops it sees what is below.
            let new = changed(head, slot);
            match self.head.compare_exchange_weak(head, new, Ordering::Release, Ordering::Relaxed) {
                Ok(_) => return,
                Err(now) => head = now,
            }
        }
    }
}
