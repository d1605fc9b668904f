//! Programs made ready for a stream, kept for the next compute of the same graph: the least recently used goes first.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError, Weak};

use crate::launcher::Lane;
use crate::memory::PoolBlock;

use super::exec::Baked;
use super::key::Key;
use super::program::Program;
use super::side_streams::SideStreams;

/// Programs kept for all streams together.
const KEPT: usize = 64;

/// A program with the memory that it uses on one stream.
#[derive(Debug)]
pub(super) struct Instance {
    pub(super) program: Program,
    pub(super) lane: Weak<Lane>,
    /// Its blocks and temporaries; `None` where there are none.
    pub(super) arena: Option<PoolBlock>,
    /// Where it runs on several streams.
    pub(super) side: Option<SideStreams>,
    /// What was submitted last. Locked after the stream, which every user has.
    pub(super) bound: Mutex<Bound>,
    /// The cache's clock when it was last wanted.
    pub(super) used: AtomicU64,
}

/// What changes from one compute to the next, as it was submitted last.
#[derive(Debug, Default)]
pub(super) struct Bound {
    /// The kernels' arguments.
    pub(super) kernargs: Vec<u8>,
    /// The blocks, as the arena has them when `blocks_good`.
    pub(super) blocks: Vec<u8>,
    pub(super) blocks_good: bool,
    /// Addresses of copies and fills.
    pub(super) addresses: Vec<u64>,
    /// The driver's graph, with what is baked into it.
    pub(super) exec: Option<Baked>,
    /// Drivers' graphs that were replaced, with the stream's position by which their last launches have run.
    pub(super) retired: Vec<(u64, Baked)>,
    /// Of which state of which compiled graph the arguments are, and the blocks; 0 where of none.
    pub(super) state: u64,
    pub(super) blocks_state: u64,
}

impl Drop for Instance {
    /// A driver's graph must not go before its last launch has finished.
    fn drop(&mut self) {
        let bound = self.bound.get_mut().unwrap_or_else(PoisonError::into_inner);
        let mut all: Vec<Baked> =
            std::mem::take(&mut bound.retired).into_iter().map(|(_, exec)| exec).collect();
        all.extend(bound.exec.take());
        // A stream that is gone has finished its work.
        if let Some(lane) = self.lane.upgrade()
            && !all.is_empty()
        {
            // Their kernels' modules go after them.
            lane.keep_until_done(Box::new((all, self.program.kernels.clone())));
        }
    }
}

#[derive(Debug)]
struct Entry {
    key: Key,
    lane: Weak<Lane>,
    instance: Arc<Instance>,
}

#[derive(Debug, Default)]
struct Entries {
    all: Vec<Entry>,
    misses: u64,
    /// Nodes from which on a driver's graph is used; as long as nobody measured, never.
    break_even: Option<u32>,
}

/// The programs of a launcher's graphs.
#[derive(Debug, Default)]
pub(crate) struct GraphCache {
    entries: Mutex<Entries>,
    clock: AtomicU64,
    hits: AtomicU64,
    /// How often a kernel was unregistered or replaced.
    changes: AtomicU64,
}

impl GraphCache {
    fn lock(&self) -> std::sync::MutexGuard<'_, Entries> {
        self.entries.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn find(&self, key: &Key, lane: &Arc<Lane>) -> Option<Arc<Instance>> {
        let mut entries = self.lock();
        let is_it = |e: &&Entry| std::ptr::eq(e.lane.as_ptr(), Arc::as_ptr(lane)) && e.key == *key;
        match entries.all.iter().find(is_it) {
            Some(entry) => {
                self.touch(&entry.instance);
                Some(entry.instance.clone())
            }
            None => {
                entries.misses += 1;
                None
            }
        }
    }

    /// Counts a program as found again.
    #[inline]
    pub(super) fn touch(&self, instance: &Instance) {
        self.hits.fetch_add(1, Ordering::Relaxed);
        self.stamp(instance);
    }

    fn stamp(&self, instance: &Instance) {
        instance.used.store(self.clock.fetch_add(1, Ordering::Relaxed) + 1, Ordering::Relaxed);
    }

    /// How often a kernel was unregistered or replaced.
    #[inline]
    pub(super) fn changes(&self) -> u64 {
        self.changes.load(Ordering::Acquire)
    }

    pub(super) fn insert(&self, key: Key, lane: &Arc<Lane>, instance: &Arc<Instance>) {
        let gone: Vec<Entry> = {
            let mut entries = self.lock();
            self.stamp(instance);
            let entry = Entry { key, lane: Arc::downgrade(lane), instance: instance.clone() };
            let mut gone: Vec<Entry> = Vec::new();
            // Another thread may have been as fast.
            let same =
                |e: &Entry| e.lane.strong_count() == 0 || (e.lane.ptr_eq(&entry.lane) && e.key == entry.key);
            while let Some(i) = entries.all.iter().position(&same) {
                gone.push(entries.all.swap_remove(i));
            }
            if entries.all.len() >= KEPT
                && let Some(oldest) = (0..entries.all.len())
                    .min_by_key(|&i| entries.all[i].instance.used.load(Ordering::Relaxed))
            {
                gone.push(entries.all.swap_remove(oldest));
            }
            entries.all.push(entry);
            gone
        };
        // Memory goes back with no lock held.
        drop(gone);
    }

    /// Forgets every program that uses a kernel.
    pub(crate) fn forget(&self, kernel: u64) {
        self.changes.fetch_add(1, Ordering::Release);
        self.take(|e| e.instance.program.kernels.iter().any(|k| k.id == kernel));
    }

    /// Forgets every program; how many there were.
    pub(crate) fn clear(&self) -> usize {
        self.take(|_| true)
    }

    fn take(&self, goes: impl Fn(&Entry) -> bool) -> usize {
        let mut entries = self.lock();
        let (gone, kept): (Vec<Entry>, Vec<Entry>) =
            std::mem::take(&mut entries.all).into_iter().partition(goes);
        entries.all = kept;
        drop(entries);
        gone.len()
    }

    pub(crate) fn break_even(&self) -> u32 {
        self.lock().break_even.unwrap_or(u32::MAX)
    }

    pub(crate) fn set_break_even(&self, nodes: u32) {
        self.lock().break_even = Some(nodes);
    }

    /// Programs kept, and how often one was found and not found.
    pub(crate) fn counts(&self) -> (usize, u64, u64) {
        let entries = self.lock();
        (entries.all.len(), self.hits.load(Ordering::Relaxed), entries.misses)
    }
}
