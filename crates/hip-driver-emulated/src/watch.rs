//! Tells an observer which work has run, and when.

use std::sync::{Arc, Mutex, Weak};
use std::time::Instant;

use amdgpu_emulator::Error;

use super::EmulatedDriver;
use super::command::Ran;
use super::device::lock;
use hip_driver::activity::{Activity, ActivityObserver};
use hip_driver::{Note, Observer};

/// The driver's observer of activity, if it has one.
#[derive(Default)]
pub(super) struct Watch(Mutex<Option<Weak<dyn ActivityObserver>>>);

impl Watch {
    /// Sets the observer. Returns `false` if another one is alive.
    fn watch_activity(&self, observer: Weak<dyn ActivityObserver>) -> bool {
        let mut slot = lock(&self.0);
        if slot.as_ref().is_some_and(|other| other.strong_count() > 0) {
            return false;
        }
        *slot = Some(observer);
        true
    }

    pub(super) fn watched(&self, correlation: u64) -> Watched {
        let observer = lock(&self.0).as_ref().and_then(Weak::upgrade);
        Watched(observer.map(|observer| (observer, correlation)))
    }
}

impl Observer for EmulatedDriver {
    fn separates_blocks(&self) -> bool {
        self.pool_boundaries
    }

    /// Takes the blocks of pools that separate them.
    fn note(&self, note: &Note) {
        if !self.pool_boundaries {
            return;
        }
        match *note {
            Note::PoolSegment { device, segment, .. } => {
                if let Some(device) = self.devices.get(device.0 as usize) {
                    device.divide(segment);
                }
            }
            Note::PoolAllocate { block, bytes, .. } => self.blocks.add(block.0, bytes as u64),
            Note::PoolFree { block, .. } => self.blocks.remove(block.0),
            _ => {}
        }
    }

    fn watch_activity(&self, observer: Weak<dyn ActivityObserver>) -> bool {
        self.watch.watch_activity(observer)
    }
}

/// The observer of one command, and the correlation under which the command was enqueued.
pub(super) struct Watched(Option<(Arc<dyn ActivityObserver>, u64)>);

impl Watched {
    pub(super) const NOBODY: Watched = Watched(None);

    /// Runs a piece of work, which is node `node` of a graph, and tells the observer when it ran.
    #[inline]
    pub(super) fn time(&self, node: Option<u32>, work: impl FnOnce() -> Ran) -> Result<(), (String, Error)> {
        let Some((observer, correlation)) = &self.0 else { return work().map(drop) };
        let begin = Instant::now();
        let ran = work();
        let counts = ran.as_ref().ok().copied().flatten();
        observer.ran(&Activity { correlation: *correlation, node, begin, end: Instant::now(), counts });
        ran.map(drop)
    }
}
