//! Records what the pools of a command's sessions do, and keeps a snapshot of one pool: for `hiplaunch trace`.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use hiplaunch::Device;
use hiplaunch::memory::{PoolSnapshot, PoolTraceEntry};

/// Collects the pool traces of all sessions of a command. Clones share the same records.
#[derive(Clone, Debug, Default)]
pub(crate) struct PoolRecorder(Arc<Mutex<Recorded>>);

/// What a [`PoolRecorder`] has collected.
#[derive(Debug, Default)]
pub(crate) struct Recorded {
    start: Option<Instant>,
    /// Operations by time since the first session was opened.
    pub(crate) entries: Vec<PoolTraceEntry>,
    /// The number of operations that were dropped because the trace was full.
    pub(crate) dropped: u64,
    /// Of all snapshots that were offered, the one with the most bytes in use or held back.
    pub(crate) snapshot: Option<PoolSnapshot>,
}

/// A device whose pool is traced until this is dropped.
#[derive(Debug)]
pub(crate) struct RecordedPools {
    recorder: PoolRecorder,
    device: Device,
    /// The time from the recorder's start to the start of the pool's clock.
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

    /// Keeps a snapshot if at least as many bytes are in use or held back in it as in the one that is kept.
    pub(crate) fn offer(&self, snapshot: PoolSnapshot) {
        let kept = &mut self.lock().snapshot;
        let taken = |s: &PoolSnapshot| s.counters.in_use + s.counters.held_back;
        if kept.as_ref().is_none_or(|kept| taken(&snapshot) >= taken(kept)) {
            *kept = Some(snapshot);
        }
    }

    /// Returns everything that was recorded, sorted by time, and leaves the recorder empty.
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

    /// Offers a snapshot of the pool at this moment.
    pub(crate) fn record_moment(&self) {
        self.recorder.offer(self.device.pool().snapshot());
    }
}

impl Drop for RecordedPools {
    fn drop(&mut self) {
        self.record_moment();
        let pool = self.device.pool();
        pool.set_tracing(false);
        let (entries, dropped) = pool.take_trace();
        let mut recorded = self.recorder.lock();
        recorded.dropped += dropped;
        let later = entries.into_iter().map(|e| PoolTraceEntry { time: e.time + self.from, ..e });
        recorded.entries.extend(later);
    }
}
