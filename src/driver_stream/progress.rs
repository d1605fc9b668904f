//! The last position that was enqueued on a stream, and the last that the host has seen complete: two atomic counters.

use crate::sync::{AtomicU64, Ordering};

/// Two positions on a stream. The first piece of work has position 1; 0 means none.
#[derive(Debug)]
pub(crate) struct Progress {
    enqueued: AtomicU64,
    completed: AtomicU64,
}

impl Progress {
    pub(crate) fn new() -> Progress {
        Progress { enqueued: AtomicU64::new(0), completed: AtomicU64::new(0) }
    }

    /// Returns the position of the next piece of work. The caller holds the lock under which all work with positions is
    /// enqueued.
    #[inline]
    pub(crate) fn next(&self) -> u64 {
        self.enqueued.load(Ordering::Relaxed) + 1
    }

    /// Records that the work at `position` has been enqueued. The caller has enqueued it before, so that a
    /// thread that synchronizes the stream meanwhile does not mark it completed: `Release` pairs with the `Acquire` of
    /// [`enqueued`](Progress::enqueued), so a thread that sees the position synchronizes after the work was enqueued.
    #[inline]
    pub(crate) fn publish(&self, position: u64) {
        self.enqueued.store(position, Ordering::Release);
    }

    /// Returns the last position that was enqueued. The caller reads it before it waits, and marks it completed
    /// afterwards.
    #[inline]
    pub(crate) fn enqueued(&self) -> u64 {
        self.enqueued.load(Ordering::Acquire)
    }

    /// Returns the last position that the host has seen complete. `Acquire`: a thread that reads the position sees what
    /// the device wrote before, as the thread that waited and marked it completed does.
    #[inline]
    pub(crate) fn completed(&self) -> u64 {
        self.completed.load(Ordering::Acquire)
    }

    /// Records that all work up to `position` has finished.
    #[inline]
    pub(crate) fn mark_completed(&self, position: u64) {
        self.completed.fetch_max(position, Ordering::AcqRel);
    }
}
