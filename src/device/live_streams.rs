//! The streams of a device that are alive, as the device knows them.

use std::any::Any;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use crate::fault::LaunchInFlight;

/// A stream as its device knows it. What it is, only its own room knows.
pub(crate) trait LiveStream: Any + Send + Sync + std::fmt::Debug {
    /// Returns the recent launches that the host has not seen complete.
    fn in_flight(&self) -> Vec<LaunchInFlight>;
}

/// The streams of a device that are alive.
#[derive(Debug, Default)]
pub(crate) struct LiveStreams {
    all: Mutex<Vec<Weak<dyn LiveStream>>>,
    /// Held while a stream is looked for and adopted, so that two threads find one state.
    adopting: Mutex<()>,
}

impl LiveStreams {
    pub(crate) fn add(&self, stream: Weak<dyn LiveStream>) {
        let mut all = self.all.lock().unwrap_or_else(PoisonError::into_inner);
        all.retain(|stream| stream.strong_count() > 0);
        all.push(stream);
    }

    pub(crate) fn live(&self) -> Vec<Arc<dyn LiveStream>> {
        self.all.lock().unwrap_or_else(PoisonError::into_inner).iter().filter_map(Weak::upgrade).collect()
    }

    pub(crate) fn lock_adopting(&self) -> MutexGuard<'_, ()> {
        self.adopting.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the recent launches on them that the host has not seen complete.
    pub(super) fn in_flight(&self) -> Vec<LaunchInFlight> {
        self.live().iter().flat_map(|stream| stream.in_flight()).collect()
    }
}
