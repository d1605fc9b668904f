//! The free slots, as a stack without a lock (Treiber's).
//!
//! The head holds the index of the slot on top and a count of changes. A thread that slept between reading the head and
//! changing it finds another count, even if the same slot is on top again. If the count ever wraps around meanwhile, a
//! slot may be returned twice or be lost. So a thread [claims](super::slot_lock::SlotLock::claim) a slot before it uses
//! it, which only one thread can.

use super::sync::{AtomicU32, AtomicU64, Ordering};

/// A stack of free slots.
pub struct FreeStack {
    /// The count in the high 32 bits, and the index of the slot on top in the low 32 bits, 0 for none; 0 at first.
    pub head: AtomicU64,
}

/// Returns the next head, with `top` on top.
#[inline(always)]
fn changed(head: u64, top: u32) -> u64 {
    (head >> 32).wrapping_add(1) << 32 | u64::from(top)
}

impl FreeStack {
    /// Removes the slot on top and returns it with its index. `find` returns a slot by its index, with the place of the
    /// index of the slot below it.
    #[inline(always)]
    pub fn pop<'t, S>(&self, find: impl Fn(u32) -> Option<(S, &'t AtomicU32)>) -> Option<(u32, S)> {
        let mut head = self.head.load(Ordering::Acquire);
        loop {
            let top = head as u32;
            if top == 0 {
                return None;
            }
            // If another thread has removed the slot meanwhile, `below` may have any value, but the head has changed.
            let (slot, below) = find(top)?;
            let new = changed(head, below.load(Ordering::Relaxed));
            match self.head.compare_exchange_weak(head, new, Ordering::Acquire, Ordering::Acquire) {
                Ok(_) => return Some((top, slot)),
                Err(now) => head = now,
            }
        }
    }

    /// Puts a slot on top. No other thread uses the slot. `next` is the slot's place for the index of the slot below.
    #[inline(always)]
    pub fn push(&self, slot: u32, next: &AtomicU32) {
        let mut head = self.head.load(Ordering::Relaxed);
        loop {
            next.store(head as u32, Ordering::Relaxed);
            // `Release`: a thread that removes the slot sees which is below it.
            let new = changed(head, slot);
            match self.head.compare_exchange_weak(head, new, Ordering::Release, Ordering::Relaxed) {
                Ok(_) => return,
                Err(now) => head = now,
            }
        }
    }
}
