//! The recorder: a clock, the lists of calls and of work for each thread, and the limits of both.

use std::cell::RefCell;
use std::fmt;
use std::marker::PhantomData;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::{Duration, Instant};

use hip_driver::Driver;
use hip_driver::activity::{Activity, ActivityObserver};

use super::buffer::{Budget, Buffer};
use super::layer::{Recording, TimelineDriver, TimelineLayer};
use super::names::Names;
use super::record::{CallRecord, WorkKind, WorkRecord};
use super::snapshot::TimelineSnapshot;
use crate::Intercepted;

/// The bits of a correlation that count a thread's calls. The bits above are the thread's number.
const CALL_BITS: u32 = 40;

/// Where the times of device work come from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum DeviceTimes {
    /// The driver if it knows them, as the emulator does, else [`Events`](DeviceTimes::Events).
    #[default]
    Driver,
    /// Timed events before and after each piece of work. A span then begins when the stream reaches the event before
    /// the work, a few microseconds early on a GPU, and work that would have overlapped on the device may not. Do not
    /// use this while the program captures a stream through HIP itself: querying an event would break the capture.
    Events,
    /// None: the device's tracks are empty, and its work is not affected.
    Off,
}

/// Options of a timeline.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TimelineOptions {
    /// The maximum number of calls and spans of the host, and also of pieces of device work. The first ones are kept;
    /// later ones are only counted. Default: 1,048,576, which use up to 170 MB.
    pub limit: usize,
    /// Where the times of device work come from.
    pub device_times: DeviceTimes,
}

impl Default for TimelineOptions {
    fn default() -> Self {
        TimelineOptions { limit: 1 << 20, device_times: DeviceTimes::default() }
    }
}

/// Records what is done through its layers. Clones are cheap and refer to the same timeline. See the [module](super).
#[derive(Clone)]
pub struct Timeline(Arc<Recorder>);

impl Timeline {
    /// Begins a timeline.
    pub fn new(options: TimelineOptions) -> Timeline {
        static NUMBERS: AtomicU64 = AtomicU64::new(0);
        Timeline(Arc::new(Recorder {
            number: NUMBERS.fetch_add(1, Ordering::Relaxed),
            epoch: Instant::now(),
            options,
            calls: Budget::new(options.limit),
            work: Budget::new(options.limit),
            chunks_of_work: Budget::new(usize::MAX),
            threads: Mutex::default(),
            threads_seen: AtomicU32::new(0),
            names: Mutex::default(),
            layers: Mutex::default(),
            layers_made: AtomicU32::new(0),
        }))
    }

    /// Puts a layer over a driver, which records everything that is done through it.
    pub fn layer(&self, inner: Arc<dyn Driver>) -> Arc<TimelineDriver> {
        let number = self.0.layers_made.fetch_add(1, Ordering::Relaxed);
        let layer = Recording::new(Arc::clone(&self.0), Arc::clone(&inner), number);
        let mut layers = lock(&self.0.layers);
        layers.retain(|layer| layer.strong_count() > 0);
        layers.push(Arc::downgrade(&layer));
        Arc::new(Intercepted::with_layer(inner, TimelineLayer(layer)))
    }

    /// Begins a span of the program's own on this thread. It ends when the guard is dropped.
    pub fn span(&self, name: &str) -> TimelineSpan<'_> {
        let name = self.0.names().span(name);
        TimelineSpan { recorder: &self.0, name, begin: self.0.now(), thread: PhantomData }
    }

    /// Returns the time since the timeline began: the clock of its spans.
    pub fn now(&self) -> Duration {
        Duration::from_nanos(self.0.now())
    }

    /// Returns what was recorded so far. Work in flight is not included; synchronize first to include all work.
    pub fn snapshot(&self) -> TimelineSnapshot {
        let layers: Vec<Arc<Recording>> = lock(&self.0.layers).iter().filter_map(Weak::upgrade).collect();
        layers.iter().for_each(|layer| layer.collect());
        TimelineSnapshot::of(&self.0)
    }
}

impl Default for Timeline {
    fn default() -> Self {
        Timeline::new(TimelineOptions::default())
    }
}

impl fmt::Debug for Timeline {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Timeline").field("options", &self.0.options).finish_non_exhaustive()
    }
}

/// A span of the program's own. It ends when this is dropped.
#[derive(Debug)]
#[must_use = "the span ends when this is dropped"]
pub struct TimelineSpan<'t> {
    recorder: &'t Recorder,
    name: Option<u32>,
    begin: u64,
    /// Keeps the span on the thread on which it began.
    thread: PhantomData<*const ()>,
}

impl Drop for TimelineSpan<'_> {
    fn drop(&mut self) {
        let end = self.recorder.now();
        match self.name {
            Some(name) => self.recorder.record(CallRecord {
                begin: self.begin,
                end,
                what: WorkKind::Span(name),
                correlation: 0,
            }),
            None => self.recorder.calls.drop_one(),
        }
    }
}

/// What one thread recorded. Only that thread writes to it: only that thread's `THREADS` has it.
pub(super) struct Thread {
    /// The number of the thread among those of the timeline, from 1.
    pub(super) number: u32,
    pub(super) name: Option<String>,
    pub(super) calls: Buffer<CallRecord>,
    pub(super) work: Buffer<WorkRecord>,
    correlations: AtomicU64,
}

thread_local! {
    /// What this thread recorded, by the number of the timeline.
    static THREADS: RefCell<Vec<(u64, Arc<Thread>)>> = const { RefCell::new(Vec::new()) };
}

/// What the clones of a timeline and its layers share.
pub(super) struct Recorder {
    /// The number of the timeline in the process.
    number: u64,
    pub(super) epoch: Instant,
    pub(super) options: TimelineOptions,
    pub(super) calls: Budget,
    pub(super) work: Budget,
    /// What the lists of work may reserve: `work` limits what they get.
    chunks_of_work: Budget,
    threads: Mutex<Vec<Arc<Thread>>>,
    threads_seen: AtomicU32,
    names: Mutex<Names>,
    layers: Mutex<Vec<Weak<Recording>>>,
    layers_made: AtomicU32,
}

impl fmt::Debug for Recorder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Recorder").field("number", &self.number).finish_non_exhaustive()
    }
}

impl Recorder {
    /// Returns the nanoseconds since the timeline began.
    #[inline]
    pub(super) fn now(&self) -> u64 {
        self.at(Instant::now())
    }

    #[inline]
    pub(super) fn at(&self, time: Instant) -> u64 {
        u64::try_from(time.saturating_duration_since(self.epoch).as_nanos()).unwrap_or(u64::MAX)
    }

    pub(super) fn names(&self) -> MutexGuard<'_, Names> {
        lock(&self.names)
    }

    pub(super) fn threads(&self) -> Vec<Arc<Thread>> {
        lock(&self.threads).clone()
    }

    /// Returns a correlation for work that this thread is about to enqueue; 0 if the call cannot be recorded.
    #[inline]
    pub(super) fn correlate(&self) -> u64 {
        let reserved = self.with_thread(|thread| {
            // SAFETY: only this thread writes to the list.
            if !unsafe { thread.calls.reserve(&self.calls) } {
                return 0;
            }
            let call = thread.correlations.load(Ordering::Relaxed) + 1;
            thread.correlations.store(call, Ordering::Relaxed);
            u64::from(thread.number) << CALL_BITS | call & ((1 << CALL_BITS) - 1)
        });
        reserved.unwrap_or(0)
    }

    #[inline]
    pub(super) fn record(&self, call: CallRecord) {
        // SAFETY: only this thread writes to the list.
        let pushed = self.with_thread(|thread| unsafe { thread.calls.push(call, &self.calls) });
        if pushed.is_none() {
            self.calls.drop_one();
        }
    }

    pub(super) fn record_work(&self, work: WorkRecord) {
        // Entry by entry: a driver's threads and waiting threads share the work, and what one of them reserved ahead would be
        // missing for the others.
        let has_room = self.work.take(1) == 1;
        // SAFETY: only this thread writes to the list.
        let push = || self.with_thread(|thread| unsafe { thread.work.push(work, &self.chunks_of_work) });
        if !has_room || push().is_none() {
            self.work.drop_one();
        }
    }

    /// Calls `f` with what this thread recorded; `None` if the thread is ending or nothing more can be recorded.
    #[inline]
    fn with_thread<R>(&self, f: impl FnOnce(&Thread) -> R) -> Option<R> {
        let with = |threads: &RefCell<Vec<(u64, Arc<Thread>)>>| {
            let mut threads = threads.try_borrow_mut().ok()?;
            let known = threads.iter().position(|(number, _)| *number == self.number);
            let place = known.or_else(|| self.add_thread(&mut threads))?;
            threads.get(place).map(|(_, thread)| f(thread))
        };
        THREADS.try_with(with).ok().flatten()
    }

    /// Adds this thread to the timeline. Returns its index in `own`.
    #[cold]
    fn add_thread(&self, own: &mut Vec<(u64, Arc<Thread>)>) -> Option<usize> {
        if self.calls.is_spent() && self.work.is_spent() {
            return None;
        }
        // Entries of timelines that were dropped are removed.
        own.retain(|(_, thread)| Arc::strong_count(thread) > 1);
        let thread = Arc::new(Thread {
            number: self.threads_seen.fetch_add(1, Ordering::Relaxed) + 1,
            name: std::thread::current().name().map(str::to_owned),
            calls: Buffer::new(),
            work: Buffer::new(),
            correlations: AtomicU64::new(0),
        });
        lock(&self.threads).push(Arc::clone(&thread));
        own.push((self.number, thread));
        Some(own.len() - 1)
    }
}

impl ActivityObserver for Recorder {
    fn ran(&self, activity: &Activity) {
        self.record_work(WorkRecord {
            correlation: activity.correlation,
            begin: self.at(activity.begin),
            end: self.at(activity.end),
            node: activity.node,
            counts: activity.counts,
        });
    }
}

/// Locks a mutex, even if it is poisoned: no panic leaves the data half-changed.
pub(super) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
