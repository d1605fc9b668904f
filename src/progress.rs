//! How far a stream has been filled, and how far the host knows it to have run: two counters without a lock.

use super::sync::{AtomicU64, Ordering};

/// Positions on a stream: 1 is the first piece of work, 0 none.
#[derive(Debug)]
pub(crate) struct Progress {
    enqueued: AtomicU64,
    completed: AtomicU64,
}

impl Progress {
    pub(crate) fn new() -> Progress {
        Progress { enqueued: AtomicU64::new(0), completed: AtomicU64::new(0) }
    }

    /// The position that the work about to be enqueued will have. The caller holds the lock under which all work with
    /// positions is enqueued.
    #[inline]
    pub(crate) fn next(&self) -> u64 {
        self.enqueued.load(Ordering::Relaxed) + 1
    }

    /// Says that the work of position `sequence` has been enqueued. Only now, so that whoever synchronizes the stream
    /// meanwhile does not take it for finished: `Release` pairs with the `Acquire` of [`enqueued`](Progress::enqueued),
    /// so who sees the position synchronizes after the work was enqueued.
    #[inline]
    pub(crate) fn publish(&self, sequence: u64) {
        self.enqueued.store(sequence, Ordering::Release);
    }

    /// The last position enqueued. Read it before waiting, and mark it completed afterwards.
    #[inline]
    pub(crate) fn enqueued(&self) -> u64 {
        self.enqueued.load(Ordering::Acquire)
    }

    /// The last position that the host knows to have finished. `Acquire`: what the device wrote before is visible to
    /// whoever the waiting thread told so.
    #[inline]
    pub(crate) fn completed(&self) -> u64 {
        self.completed.load(Ordering::Acquire)
    }

    /// Everything up to `sequence` has finished.
    #[inline]
    pub(crate) fn mark_completed(&self, sequence: u64) {
        self.completed.fetch_max(sequence, Ordering::AcqRel);
    }
}
