//! The layer: what surrounds a call, and what it keeps of a driver's streams and graphs.

use std::collections::{BTreeMap, HashMap};
use std::ffi::CStr;
use std::fmt;
use std::sync::{Arc, Mutex, Weak};

use dashmap::DashMap;

use crate::validation::CallKind;
use hip_driver::activity::{ActivityObserver, correlated};
use hip_driver::{
    Capability, DeviceId, Driver, DriverResult, ErrorCode, PinnedAllocation, RawFunction, RawGraph,
    RawGraphExec, RawStream,
};

use super::events::Track;
use super::record::{CallRecord, Detail, RawWork, What};
use super::recorder::{DeviceTimes, Recorder, lock};
use super::work::Work;

/// How the times of the device's work are got.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Times {
    Observed,
    Events,
    None,
}

/// A layer over a driver that records what is done through it. Made by [`Timeline::layer`](super::Timeline::layer).
pub struct TimelineDriver(pub(super) Arc<Layer>);

impl TimelineDriver {
    /// The driver below.
    pub fn inner(&self) -> &Arc<dyn Driver> {
        &self.0.inner
    }
}

impl fmt::Debug for TimelineDriver {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TimelineDriver")
            .field("inner", &self.0.inner)
            .field("times", &self.0.times)
            .finish_non_exhaustive()
    }
}

/// See the [module](self). A timeline reaches it as long as the driver is alive.
pub(super) struct Layer {
    pub(super) inner: Arc<dyn Driver>,
    /// Counts the timeline's layers from 0.
    number: u32,
    recorder: Arc<Recorder>,
    times: Times,
    tracks: DashMap<RawStream, Arc<Track>>,
    /// Of streams that were destroyed before their work was reached.
    left: Mutex<Vec<Arc<Track>>>,
    /// Live pinned memory: addresses and bytes.
    pinned: Mutex<BTreeMap<usize, usize>>,
    /// The nodes of the graphs that are recorded.
    graphs: Mutex<HashMap<RawGraph, Vec<Work>>>,
}

impl Layer {
    pub(super) fn new(recorder: Arc<Recorder>, inner: Arc<dyn Driver>, number: u32) -> Arc<Layer> {
        let observer: Arc<dyn ActivityObserver> = recorder.clone();
        let observer: Weak<dyn ActivityObserver> = Arc::downgrade(&observer);
        let wanted = recorder.options.device_times;
        let times = match wanted {
            DeviceTimes::Off => Times::None,
            DeviceTimes::Driver if inner.watch_activity(observer) => Times::Observed,
            _ if inner.capabilities().has(Capability::EventTiming) => Times::Events,
            _ => Times::None,
        };
        Arc::new(Layer {
            inner,
            number,
            recorder,
            times,
            tracks: DashMap::new(),
            left: Mutex::default(),
            pinned: Mutex::default(),
            graphs: Mutex::default(),
        })
    }

    /// A call that enqueues nothing.
    #[inline]
    pub(super) fn call<R>(
        &self,
        kind: CallKind,
        device: DeviceId,
        detail: Detail,
        inner: impl FnOnce() -> DriverResult<R>,
    ) -> DriverResult<R> {
        let begin = self.recorder.now();
        let result = inner();
        self.record(kind, device, detail, (begin, self.recorder.now()), 0, &result);
        result
    }

    /// A call that enqueues work. `host` is memory of the host that it copies from or to.
    #[inline]
    pub(super) fn enqueue(
        &self,
        kind: CallKind,
        (device, stream): (DeviceId, RawStream),
        work: RawWork,
        host: Option<*const u8>,
        inner: impl FnOnce() -> DriverResult<()>,
    ) -> DriverResult<()> {
        let detail = Detail::Enqueued(stream, work);
        let correlation = self.recorder.correlate();
        let (times, result) = match self.times {
            _ if correlation == 0 => self.timed(inner),
            Times::None => self.timed(inner),
            Times::Observed => self.timed(|| correlated(correlation, inner)),
            Times::Events => {
                let pageable = host.is_some_and(|host| !self.is_pinned(host));
                self.between_events(stream, correlation, (work, pageable), inner)
            }
        };
        self.record(kind, device, detail, times, correlation, &result);
        result
    }

    #[inline]
    fn timed<R>(&self, inner: impl FnOnce() -> R) -> ((u64, u64), R) {
        let begin = self.recorder.now();
        let result = inner();
        ((begin, self.recorder.now()), result)
    }

    /// Makes a call between two events on the stream.
    fn between_events(
        &self,
        stream: RawStream,
        correlation: u64,
        (work, pageable): (RawWork, bool),
        inner: impl FnOnce() -> DriverResult<()>,
    ) -> ((u64, u64), DriverResult<()>) {
        let Some(track) = self.tracks.get(&stream).map(|track| Arc::clone(&track)) else {
            self.recorder.work.drop_one();
            return self.timed(inner);
        };
        let driver = &*self.inner;
        // Nobody else's work comes between the events; but for a call that waits, whose end another thread's work on the
        // stream may have to bring about.
        let mut state = track.lock();
        let Some(begun) = track.begin(&mut state, driver, &self.recorder) else {
            drop(state);
            self.recorder.work.drop_one();
            return self.timed(inner);
        };
        let (mut state, (times, result)) = if pageable {
            drop(state);
            let timed = self.timed(inner);
            (track.lock(), timed)
        } else {
            let timed = self.timed(inner);
            (state, timed)
        };
        let waited = pageable && work.is_to_host();
        if result.is_err() {
            Track::cancel(&mut state, &begun);
        } else if !track.end(&mut state, driver, begun, correlation, times, waited) {
            self.recorder.work.drop_one();
        }
        (times, result)
    }

    #[inline]
    fn record<R>(
        &self,
        kind: CallKind,
        device: DeviceId,
        detail: Detail,
        (begin, end): (u64, u64),
        correlation: u64,
        result: &DriverResult<R>,
    ) {
        let error = result.as_ref().err().map_or(ErrorCode::SUCCESS, |error| error.code);
        let what = What::Call { kind, driver: self.number, device, error, detail };
        self.recorder.record(CallRecord { begin, end, what, correlation });
    }

    // Streams.

    /// Takes in a stream that was made.
    pub(super) fn add_stream(&self, device: DeviceId, stream: RawStream) {
        let unnamed = !self.recorder.names().devices.contains_key(&(self.number, device));
        if unnamed && let Ok(properties) = self.inner.device_properties(device) {
            let name = format!("{device}: {}", properties.name);
            self.recorder.names().devices.insert((self.number, device), name);
        }
        self.recorder.names().add_stream(self.number, device, stream, self.recorder.now());
        if self.times == Times::Events {
            match Track::new(&*self.inner, &self.recorder, device, stream) {
                Ok(track) => drop(self.tracks.insert(stream, Arc::new(track))),
                Err(error) => log::debug!("the timeline has no times of {stream:?} on {device}: {error}"),
            }
        }
    }

    /// Takes a stream out that is about to be destroyed.
    pub(super) fn take_stream(&self, stream: RawStream) -> Option<Arc<Track>> {
        let (_, track) = self.tracks.remove(&stream)?;
        track.collect(&mut track.lock(), &*self.inner, &self.recorder);
        Some(track)
    }

    /// Puts a stream back that could not be destroyed.
    pub(super) fn put_back_stream(&self, stream: RawStream, track: Arc<Track>) {
        self.tracks.insert(stream, track);
    }

    /// Lets go of a stream that is destroyed.
    pub(super) fn leave_stream(&self, track: Arc<Track>) {
        lock(&self.left).push(track);
        self.collect_left();
    }

    /// Takes the times of what was reached on a stream.
    pub(super) fn collect_stream(&self, stream: RawStream) {
        if self.times != Times::Events {
            return;
        }
        if let Some(track) = self.tracks.get(&stream).map(|track| Arc::clone(&track)) {
            track.collect(&mut track.lock(), &*self.inner, &self.recorder);
        }
        self.collect_left();
    }

    /// Takes the times of what was reached.
    pub(super) fn collect(&self) {
        if self.times != Times::Events {
            return;
        }
        let tracks: Vec<Arc<Track>> = self.tracks.iter().map(|track| Arc::clone(&track)).collect();
        for track in tracks {
            track.collect(&mut track.lock(), &*self.inner, &self.recorder);
        }
        self.collect_left();
    }

    fn collect_left(&self) {
        lock(&self.left).retain(|track| {
            track.collect(&mut track.lock(), &*self.inner, &self.recorder);
            let done = track.is_empty();
            if done {
                track.destroy(&*self.inner, &self.recorder);
            }
            !done
        });
    }

    // Pinned memory, which tells copies that wait from those that do not.

    pub(super) fn add_pinned(&self, allocation: &PinnedAllocation) {
        if self.times == Times::Events {
            lock(&self.pinned).insert(allocation.host.addr().get(), allocation.bytes);
        }
    }

    /// Takes memory out that is about to be freed.
    pub(super) fn take_pinned(&self, allocation: &PinnedAllocation) {
        if self.times == Times::Events {
            lock(&self.pinned).remove(&allocation.host.addr().get());
        }
    }

    fn is_pinned(&self, host: *const u8) -> bool {
        let pinned = lock(&self.pinned);
        let last = pinned.range(..=host.addr()).next_back();
        last.is_some_and(|(start, bytes)| host.addr() - start < *bytes)
    }

    // Kernels and graphs.

    pub(super) fn add_kernel(&self, function: RawFunction, name: &CStr) {
        let now = self.recorder.now();
        self.recorder.names().add_kernel(self.number, function, now, &name.to_string_lossy());
    }

    pub(super) fn add_graph(&self, graph: RawGraph) {
        lock(&self.graphs).insert(graph, Vec::new());
    }

    pub(super) fn take_graph(&self, graph: RawGraph) -> Option<Vec<Work>> {
        lock(&self.graphs).remove(&graph)
    }

    pub(super) fn put_back_graph(&self, graph: RawGraph, nodes: Vec<Work>) {
        lock(&self.graphs).insert(graph, nodes);
    }

    /// Notes a node that was added; none is one that does nothing.
    pub(super) fn add_node(&self, graph: RawGraph, work: Option<RawWork>) {
        let now = self.recorder.now();
        let named = |work| self.recorder.names().work(self.number, work, now);
        let work = work.map_or(Work::Empty, named);
        if let Some(nodes) = lock(&self.graphs).get_mut(&graph) {
            nodes.push(work);
        }
    }

    pub(super) fn add_exec(&self, graph: RawGraph, exec: RawGraphExec) {
        let nodes: Arc<[Work]> = lock(&self.graphs).get(&graph).map(Vec::as_slice).unwrap_or_default().into();
        self.recorder.names().add_graph(self.number, exec, self.recorder.now(), nodes);
    }
}

impl Drop for Layer {
    fn drop(&mut self) {
        self.collect();
        let left = std::mem::take(&mut *lock(&self.left));
        for track in self.tracks.iter().map(|track| Arc::clone(&track)).chain(left) {
            track.destroy(&*self.inner, &self.recorder);
        }
    }
}
