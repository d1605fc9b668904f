//! The event of a stream's last results, which is recorded only if something is enqueued after them.
//!
//! Results that are read first need no event: they are the stream's last work, and the stream itself is waited for.

use crate::sync::{AtomicBool, AtomicU64, Mutex, Ordering, PoisonError};

/// At most one event of a stream that is not recorded yet.
#[derive(Debug)]
pub(crate) struct DeferredEvent {
    /// The position of the work that the event belongs to. It stays when the event is recorded, and when the work has
    /// finished, so that the event is not needed any more.
    position: AtomicU64,
    event: AtomicU64,
    /// The last position whose event was recorded here.
    recorded: AtomicU64,
    /// Held while the event is recorded, so that no thread takes it for recorded before it is.
    recording: Mutex<()>,
    /// Whether others enqueue on the stream unseen, so that events are recorded at once.
    shared: AtomicBool,
}

impl DeferredEvent {
    pub(crate) fn new() -> DeferredEvent {
        DeferredEvent {
            position: AtomicU64::new(0),
            event: AtomicU64::new(0),
            recorded: AtomicU64::new(0),
            recording: Mutex::new(()),
            shared: AtomicBool::new(false),
        }
    }

    /// Returns the position of the work whose event is not recorded yet; 0 if there is none.
    #[inline]
    pub(crate) fn position(&self) -> u64 {
        let position = self.position.load(Ordering::Acquire);
        if position <= self.recorded.load(Ordering::Acquire) { 0 } else { position }
    }

    /// Defers `event` until something is enqueued after the work at `position`, which was enqueued last. On a shared
    /// stream, records it now. Callers defer one after the other, under a lock, each after [`settle`](Self::settle).
    ///
    /// # Errors
    /// Returns the error of `record`. The event stays deferred then.
    #[inline]
    pub(crate) fn defer<E>(
        &self,
        position: u64,
        event: u64,
        record: impl FnOnce(u64) -> Result<(), E>,
    ) -> Result<(), E> {
        self.event.store(event, Ordering::Relaxed);
        self.position.store(position, Ordering::Release);
        if self.shared.load(Ordering::Relaxed) { self.record_now(record) } else { Ok(()) }
    }

    /// Records the deferred event, if there is one and its work has not finished. Every thread does this before it
    /// enqueues. The work up to position `completed` has finished: whoever reads its results need not wait.
    ///
    /// # Errors
    /// Returns the error of `record`. The event stays deferred then.
    #[inline]
    pub(crate) fn settle<E>(
        &self,
        completed: u64,
        record: impl FnOnce(u64) -> Result<(), E>,
    ) -> Result<(), E> {
        if self.position() <= completed { Ok(()) } else { self.record_now(record) }
    }

    /// As [`settle`](Self::settle), and from now on no event is deferred. Results that are enqueued while this runs may
    /// still be: whoever reads them then waits for the whole stream.
    pub(crate) fn share<E>(
        &self,
        completed: u64,
        record: impl FnOnce(u64) -> Result<(), E>,
    ) -> Result<(), E> {
        self.shared.store(true, Ordering::Relaxed);
        self.settle(completed, record)
    }

    #[cold]
    fn record_now<E>(&self, record: impl FnOnce(u64) -> Result<(), E>) -> Result<(), E> {
        let _recording = self.recording.lock().unwrap_or_else(PoisonError::into_inner);
        let position = self.position();
        // Another thread may have recorded it meanwhile.
        if position != 0 {
            // This may be the event of later results, which were deferred since because the work at `position` has finished.
            // They stay deferred.
            record(self.event.load(Ordering::Relaxed))?;
            self.recorded.store(position, Ordering::Release);
        }
        Ok(())
    }
}
