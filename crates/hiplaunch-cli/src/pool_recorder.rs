//! What the pools of a command's devices did, and a snapshot of one while memory is held: for `hiplaunch trace`.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use hiplaunch::Device;
use hiplaunch::memory::{PoolSnapshot, PoolTraceEntry};

/// Collects from every session of a command. Clones are the same tape.
#[derive(Clone, Debug, Default)]
pub(crate) struct PoolRecorder(Arc<Mutex<Recorded>>);

/// What is on a tape.
#[derive(Debug, Default)]
pub(crate) struct Recorded {
    start: Option<Instant>,
    /// Operations by time since the first session was opened.
    pub(crate) entries: Vec<PoolTraceEntry>,
    /// Operations that were too many to be kept.
    pub(crate) dropped: u64,
    /// The pool at the moment at which most was in use or held back, of those at which somebody looked.
    pub(crate) snapshot: Option<PoolSnapshot>,
}

/// A device whose pool is traced, until this is dropped.
#[derive(Debug)]
pub(crate) struct RecordedPools {
    recorder: PoolRecorder,
    device: Device,
    /// When the pool's own clock began.
    from: Duration,
}

impl PoolRecorder {
    fn lock(&self) -> MutexGuard<'_, Recorded> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Begins to trace a device's pool.
    pub(crate) fn record(&self, device: &Device) -> RecordedPools {
        let from = self.lock().start.get_or_insert_with(Instant::now).elapsed();
        device.pool().set_tracing(true);
        RecordedPools { recorder: self.clone(), device: device.clone(), from }
    }

    /// Keeps a snapshot if no less is in use or held back in it than in the one that is kept.
    pub(crate) fn offer(&self, snapshot: PoolSnapshot) {
        let kept = &mut self.lock().snapshot;
        let taken = |s: &PoolSnapshot| s.counters.in_use + s.counters.held_back;
        if kept.as_ref().is_none_or(|kept| taken(&snapshot) >= taken(kept)) {
            *kept = Some(snapshot);
        }
    }

    /// What is on it; nothing is left.
    pub(crate) fn take(&self) -> Recorded {
        let mut recorded = std::mem::take(&mut *self.lock());
        recorded.entries.sort_by_key(|entry| entry.time);
        recorded
    }
}

impl RecordedPools {
    pub(crate) fn recorder(&self) -> &PoolRecorder {
        &self.recorder
    }

    /// A moment at which memory is held.
    pub(crate) fn note_moment(&self) {
        self.recorder.offer(self.device.pool().snapshot());
    }
}

impl Drop for RecordedPools {
    fn drop(&mut self) {
        self.note_moment();
        let pool = self.device.pool();
        pool.set_tracing(false);
        let (entries, dropped) = pool.take_trace();
        let mut recorded = self.recorder.lock();
        recorded.dropped += dropped;
        let later = entries.into_iter().map(|e| PoolTraceEntry { time: e.time + self.from, ..e });
        recorded.entries.extend(later);
    }
}
