//! Program instances of a stream, kept for the next compute of the same graph. The least recently used one is dropped
//! first.

use std::any::Any;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError, Weak};

use crate::device::Device;
use crate::error::Result;
use crate::launcher::{KernelCache, Launcher};
use crate::pool::PoolBlock;
use crate::stream::StreamState;

use super::exec::DriverGraph;
use super::key::GraphKey;
use super::program::GraphProgram;
use super::record::Graph;
use super::side_streams::SideStreams;

/// The number of program instances that are kept for all streams together.
const KEPT_INSTANCES: usize = 64;

/// A graph program with its workspace on one stream.
#[derive(Debug)]
pub(super) struct ProgramInstance {
    pub(super) program: GraphProgram,
    pub(super) stream_state: Weak<StreamState>,
    /// The pool block of its argument blocks and temporaries; `None` if it has none.
    pub(super) workspace: Option<PoolBlock>,
    /// The side streams, if it runs on several streams.
    pub(super) side: Option<SideStreams>,
    /// The data of the last submission. Its lock is taken after the stream's, which every user holds.
    pub(super) bound: Mutex<BoundData>,
    /// The clock of the cache at the last use.
    pub(super) used: AtomicU64,
}

/// The data of the last submission, which changes from one compute to the next.
#[derive(Debug, Default)]
pub(super) struct BoundData {
    /// The packed arguments of the kernels.
    pub(super) kernargs: Vec<u8>,
    /// The bytes of the argument blocks. The workspace holds them while `workspace_has_blocks` is true.
    pub(super) blocks: Vec<u8>,
    pub(super) workspace_has_blocks: bool,
    /// The addresses of copies and fills.
    pub(super) addresses: Vec<u64>,
    /// The driver graph, if there is one.
    pub(super) exec: Option<DriverGraph>,
    /// Driver graphs that were replaced, each with the position on the stream at which its last launch has finished.
    pub(super) retired: Vec<(u64, DriverGraph)>,
    /// The state of the compiled graph whose arguments and blocks these are; 0 for none.
    pub(super) state: u64,
    pub(super) blocks_state: u64,
}

impl Drop for ProgramInstance {
    /// A driver graph must not be destroyed before its last launch has finished.
    fn drop(&mut self) {
        let bound = self.bound.get_mut().unwrap_or_else(PoisonError::into_inner);
        let mut all: Vec<DriverGraph> =
            std::mem::take(&mut bound.retired).into_iter().map(|(_, exec)| exec).collect();
        all.extend(bound.exec.take());
        // A stream that was destroyed has finished its work.
        if let Some(stream_state) = self.stream_state.upgrade()
            && !all.is_empty()
        {
            // The kernels' modules are dropped after them.
            stream_state.keep_until_done(Box::new((all, self.program.kernels.clone())));
        }
    }
}

#[derive(Debug)]
struct CachedInstance {
    key: GraphKey,
    instance: Arc<ProgramInstance>,
}

#[derive(Debug, Default)]
struct Entries {
    all: Vec<CachedInstance>,
    misses: u64,
    /// The number of nodes from which on a driver graph is used. Before it is set, none is used.
    break_even: Option<u32>,
}

/// What a launcher's cache of graphs has, and how it was used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GraphCounts {
    /// The program instances that are kept.
    pub kept: usize,
    /// How often a graph found its instance among them.
    pub hits: u64,
    /// How often it did not.
    pub misses: u64,
}

/// The program instances of a launcher's graphs.
#[derive(Debug, Default)]
pub(super) struct GraphCache {
    entries: Mutex<Entries>,
    clock: AtomicU64,
    hits: AtomicU64,
    /// The number of times that a kernel was unregistered or replaced.
    changes: AtomicU64,
}

impl GraphCache {
    /// Returns the cache of a launcher's graphs.
    pub(super) fn of(launcher: &Launcher) -> Arc<GraphCache> {
        let cache: Arc<dyn Any + Send + Sync> = launcher.cache(|| Arc::new(GraphCache::default())).clone();
        // Only this creates one, so it is of this type.
        cache.downcast().unwrap_or_default()
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Entries> {
        self.entries.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn find(
        &self,
        key: &GraphKey,
        stream_state: &Arc<StreamState>,
    ) -> Option<Arc<ProgramInstance>> {
        let mut entries = self.lock();
        let is_it = |e: &&CachedInstance| {
            std::ptr::eq(e.instance.stream_state.as_ptr(), Arc::as_ptr(stream_state)) && e.key == *key
        };
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

    /// Counts a hit, and records that the instance was used.
    #[inline]
    pub(super) fn touch(&self, instance: &ProgramInstance) {
        self.hits.fetch_add(1, Ordering::Relaxed);
        self.stamp(instance);
    }

    fn stamp(&self, instance: &ProgramInstance) {
        instance.used.store(self.clock.fetch_add(1, Ordering::Relaxed) + 1, Ordering::Relaxed);
    }

    /// Returns the number of times that a kernel was unregistered or replaced.
    #[inline]
    pub(super) fn changes(&self) -> u64 {
        self.changes.load(Ordering::Acquire)
    }

    pub(super) fn insert(&self, key: GraphKey, instance: &Arc<ProgramInstance>) {
        let mut gone: Vec<CachedInstance> = Vec::new();
        {
            let mut entries = self.lock();
            self.stamp(instance);
            // Another thread may have added the same program meanwhile.
            let same = |e: &CachedInstance| {
                e.instance.stream_state.strong_count() == 0
                    || (e.instance.stream_state.ptr_eq(&instance.stream_state) && e.key == key)
            };
            while let Some(i) = entries.all.iter().position(&same) {
                gone.push(entries.all.swap_remove(i));
            }
            if entries.all.len() >= KEPT_INSTANCES
                && let Some(oldest) = (0..entries.all.len())
                    .min_by_key(|&i| entries.all[i].instance.used.load(Ordering::Relaxed))
            {
                gone.push(entries.all.swap_remove(oldest));
            }
            entries.all.push(CachedInstance { key, instance: instance.clone() });
        }
        // Dropped without the lock, because this frees memory.
        drop(gone);
    }

    /// Drops every program instance, and returns their number.
    pub(super) fn clear(&self) -> usize {
        self.take(|_| true)
    }

    fn take(&self, goes: impl Fn(&CachedInstance) -> bool) -> usize {
        let mut entries = self.lock();
        let (gone, kept): (Vec<CachedInstance>, Vec<CachedInstance>) =
            std::mem::take(&mut entries.all).into_iter().partition(goes);
        entries.all = kept;
        drop(entries);
        gone.len()
    }

    pub(super) fn break_even(&self) -> u32 {
        self.lock().break_even.unwrap_or(u32::MAX)
    }

    fn set_break_even(&self, nodes: u32) {
        self.lock().break_even = Some(nodes);
    }

    fn counts(&self) -> GraphCounts {
        let entries = self.lock();
        let hits = self.hits.load(Ordering::Relaxed);
        GraphCounts { kept: entries.all.len(), hits, misses: entries.misses }
    }
}

impl KernelCache for GraphCache {
    /// Drops every program instance that uses a kernel.
    fn forget(&self, kernel: u64) {
        self.changes.fetch_add(1, Ordering::Release);
        self.take(|e| e.instance.program.kernels.iter().any(|k| k.id == kernel));
    }
}

/// The graphs of a launcher.
impl Launcher {
    /// Creates an empty graph, in which work for a device can be recorded.
    ///
    /// # Errors
    /// [`Error::Invalid`](crate::Error::Invalid) for a device of another launcher.
    pub fn graph(&self, device: &Device) -> Result<Graph> {
        self.own(device)?;
        Ok(Graph::new(self, device))
    }

    /// Returns how many program instances of graphs are kept, and how often one was found.
    pub fn graph_counts(&self) -> GraphCounts {
        GraphCache::of(self).counts()
    }

    /// Sets the number of nodes from which on a graph is submitted as a driver graph.
    /// [`graph::measure_break_even`](crate::graph::measure_break_even) measures it.
    ///
    /// Until this is called, graphs are submitted as stream submissions, because a driver graph takes longer on several
    /// versions of ROCm.
    pub fn set_graph_break_even(&self, nodes: u32) {
        GraphCache::of(self).set_break_even(nodes);
    }

    /// Drops every program instance of a graph that is kept, frees their memory, and returns how many there were. A
    /// [`CompiledGraph`](crate::graph::CompiledGraph) keeps its own.
    pub fn forget_graphs(&self) -> usize {
        GraphCache::of(self).clear()
    }
}
