//! The timeline's layer: what it keeps about the streams and graphs of a driver.

use std::collections::HashMap;
use std::ffi::CStr;
use std::fmt;
use std::sync::{Arc, Mutex, Weak};

use dashmap::DashMap;

use hip_driver::activity::ActivityObserver;
use hip_driver::{
    CallKind, Capability, DeviceId, Driver, ErrorCode, RawFunction, RawGraph, RawGraphExec, RawStream,
    WorkSummary,
};

use super::events::{StartedCall, Track, Turn};
use super::record::{CallDetail, CallRecord, WorkKind};
use super::recorder::{DeviceTimes, Recorder, lock};
use super::work::DeviceWork;
use crate::Intercepted;
use crate::pinned::PinnedRanges;

/// Where the times of device work come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Times {
    Observed,
    Events,
    None,
}

/// A driver whose calls are recorded. [`Timeline::layer`](super::Timeline::layer) creates it.
pub type TimelineDriver = Intercepted<TimelineLayer>;

/// The layer that records for a [`Timeline`](super::Timeline).
pub struct TimelineLayer(pub(super) Arc<Recording>);

impl fmt::Debug for TimelineLayer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TimelineLayer").field("times", &self.0.times).finish_non_exhaustive()
    }
}

/// What a layer of a timeline keeps. The timeline refers to it as long as the driver is alive.
pub(super) struct Recording {
    pub(super) inner: Arc<dyn Driver>,
    /// The index of the layer among the timeline's layers.
    number: u32,
    pub(super) recorder: Arc<Recorder>,
    pub(super) times: Times,
    tracks: DashMap<RawStream, Arc<Track>>,
    /// The tracks of streams that were destroyed before their work was reached.
    left: Mutex<Vec<Arc<Track>>>,
    /// Distinguishes copies that wait from those that do not.
    pub(super) pinned: PinnedRanges,
    /// The nodes of the graphs that are alive.
    graphs: Mutex<HashMap<RawGraph, Vec<DeviceWork>>>,
}

/// A piece of work whose first event was recorded.
pub(super) struct BetweenEvents {
    track: Arc<Track>,
    begun: StartedCall,
    turn: Option<Turn>,
}

impl Recording {
    pub(super) fn new(recorder: Arc<Recorder>, inner: Arc<dyn Driver>, number: u32) -> Arc<Recording> {
        let observer: Arc<dyn ActivityObserver> = recorder.clone();
        let observer: Weak<dyn ActivityObserver> = Arc::downgrade(&observer);
        let wanted = recorder.options.device_times;
        let times = match wanted {
            DeviceTimes::Off => Times::None,
            DeviceTimes::Driver if inner.observer().is_some_and(|own| own.watch_activity(observer)) => {
                Times::Observed
            }
            _ if inner.capabilities().has(Capability::EventTiming) => Times::Events,
            _ => Times::None,
        };
        Arc::new(Recording {
            inner,
            number,
            recorder,
            times,
            tracks: DashMap::new(),
            left: Mutex::default(),
            pinned: PinnedRanges::default(),
            graphs: Mutex::default(),
        })
    }

    /// Records the event before a piece of work; `None` if its times are lost.
    pub(super) fn before_work(&self, stream: RawStream, pageable: bool) -> Option<BetweenEvents> {
        let begun = || {
            let track = self.tracks.get(&stream).map(|track| Arc::clone(&track))?;
            // No other thread's work may come between the events. A copy that waits must not hold the turn: its end may
            // depend on another thread's work on the stream.
            let turn = (!pageable).then(|| Turn::take(Arc::clone(&track)));
            let begun = track.begin(&mut track.lock(), &*self.inner, &self.recorder)?;
            Some(BetweenEvents { track, begun, turn })
        };
        let begun = begun();
        if begun.is_none() {
            self.recorder.work.drop_one();
        }
        begun
    }

    /// Records the event after a piece of work, unless it was refused. `waited` says that the call probably waited for
    /// the stream.
    pub(super) fn after_work(
        &self,
        BetweenEvents { track, begun, turn }: BetweenEvents,
        correlation: u64,
        times: (u64, u64),
        waited: bool,
        refused: bool,
    ) {
        let mut state = track.lock();
        if refused {
            Track::cancel(&mut state, &begun);
        } else if !track.end(&mut state, &*self.inner, begun, correlation, times, waited) {
            self.recorder.work.drop_one();
        }
        drop(state);
        drop(turn);
    }

    #[inline]
    pub(super) fn record(
        &self,
        kind: CallKind,
        device: DeviceId,
        detail: CallDetail,
        (begin, end): (u64, u64),
        correlation: u64,
        error: ErrorCode,
    ) {
        let what = WorkKind::Call { kind, driver: self.number, device, error, detail };
        self.recorder.record(CallRecord { begin, end, what, correlation });
    }

    // Streams.

    /// Adds a stream that was created.
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

    /// Removes a stream that is about to be destroyed.
    pub(super) fn take_stream(&self, stream: RawStream) -> Option<Arc<Track>> {
        let (_, track) = self.tracks.remove(&stream)?;
        track.collect(&mut track.lock(), &*self.inner, &self.recorder);
        Some(track)
    }

    /// Adds a stream again that could not be destroyed.
    pub(super) fn put_back_stream(&self, stream: RawStream, track: Arc<Track>) {
        self.tracks.insert(stream, track);
    }

    /// Keeps a destroyed stream's track until the times of its work are read.
    pub(super) fn leave_stream(&self, track: Arc<Track>) {
        lock(&self.left).push(track);
        self.collect_left();
    }

    /// Reads the times of work that was reached on a stream.
    pub(super) fn collect_stream(&self, stream: RawStream) {
        if self.times != Times::Events {
            return;
        }
        if let Some(track) = self.tracks.get(&stream).map(|track| Arc::clone(&track)) {
            track.collect(&mut track.lock(), &*self.inner, &self.recorder);
        }
        self.collect_left();
    }

    /// Reads the times of all work that was reached.
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

    // Kernels and graphs.

    pub(super) fn add_kernel(&self, function: RawFunction, name: &CStr) {
        let now = self.recorder.now();
        self.recorder.names().add_kernel(self.number, function, now, &name.to_string_lossy());
    }

    pub(super) fn add_graph(&self, graph: RawGraph) {
        lock(&self.graphs).insert(graph, Vec::new());
    }

    pub(super) fn take_graph(&self, graph: RawGraph) -> Option<Vec<DeviceWork>> {
        lock(&self.graphs).remove(&graph)
    }

    pub(super) fn put_back_graph(&self, graph: RawGraph, nodes: Vec<DeviceWork>) {
        lock(&self.graphs).insert(graph, nodes);
    }

    /// Adds a node to the nodes of a graph.
    pub(super) fn add_node(&self, graph: RawGraph, work: WorkSummary) {
        let work = self.recorder.names().work(self.number, work, self.recorder.now());
        if let Some(nodes) = lock(&self.graphs).get_mut(&graph) {
            nodes.push(work);
        }
    }

    pub(super) fn add_exec(&self, graph: RawGraph, exec: RawGraphExec) {
        let nodes: Arc<[DeviceWork]> =
            lock(&self.graphs).get(&graph).map(Vec::as_slice).unwrap_or_default().into();
        self.recorder.names().add_graph(self.number, exec, self.recorder.now(), nodes);
    }
}

impl Drop for Recording {
    fn drop(&mut self) {
        self.collect();
        let left = std::mem::take(&mut *lock(&self.left));
        for track in self.tracks.iter().map(|track| Arc::clone(&track)).chain(left) {
            track.destroy(&*self.inner, &self.recorder);
        }
    }
}
