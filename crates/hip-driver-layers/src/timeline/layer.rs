//! The timeline's layer: what it keeps about the streams and graphs of a driver.

use std::collections::HashMap;
use std::ffi::CStr;
use std::fmt;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, Weak};

use dashmap::{DashMap, DashSet};

use hip_driver::activity::ActivityObserver;
use hip_driver::{
    CallKind, Capability, CaptureMode, CaptureStatus, DeviceId, Driver, DriverResult, ErrorCode, RawFunction,
    RawGraph, RawGraphExec, RawStream, WorkSummary,
};

use super::events::{StartedCall, Track, Turn};
use super::record::{CallDetail, CallRecord, WorkKind};
use super::recorder::{DeviceTimes, Recorder, lock};
use super::work::DeviceWork;
use crate::Intercepted;
use crate::default_streams::identity;
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

impl TimelineLayer {
    /// Gives a kernel its name, if no call of this driver returned the kernel.
    pub fn name_kernel(&self, function: RawFunction, name: &CStr) {
        self.0.add_kernel(function, name);
    }
}

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
    /// By the streams' [identity].
    tracks: DashMap<RawStream, Arc<Track>>,
    /// Streams that have a name and were made by others, by identity.
    others: DashSet<RawStream>,
    /// The tracks of streams that were destroyed before their work was reached.
    left: Mutex<Vec<Arc<Track>>>,
    /// Distinguishes copies that wait from those that do not.
    pub(super) pinned: PinnedRanges,
    /// The nodes of the graphs that are alive.
    graphs: Mutex<HashMap<RawGraph, Vec<DeviceWork>>>,
    /// How many captures are open, as far as is known. Without any, no stream is asked.
    open_captures: AtomicU32,
    /// The nodes of open captures, by the captures' numbers.
    captured: Mutex<HashMap<u64, Vec<DeviceWork>>>,
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
            others: DashSet::new(),
            left: Mutex::default(),
            pinned: PinnedRanges::default(),
            graphs: Mutex::default(),
            open_captures: AtomicU32::new(0),
            captured: Mutex::default(),
        })
    }

    /// Records the event before a piece of work; `None` if its times are lost.
    pub(super) fn before_work(
        &self,
        device: DeviceId,
        stream: RawStream,
        pageable: bool,
    ) -> Option<BetweenEvents> {
        let begun = || {
            let track = self.track(device, stream)?;
            // No other thread's work may come between the events. A copy that waits must not hold the turn: its end may
            // depend on another thread's work on the stream.
            let turn = (!pageable).then(|| Turn::take(Arc::clone(&track)));
            let begin = || track.begin(&mut track.lock(), &*self.inner, &self.recorder);
            let begun = self.beside_captures(begin)?;
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
        } else if !self
            .beside_captures(|| track.end(&mut state, &*self.inner, begun, correlation, times, waited))
        {
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

    /// Takes in a foreign stream, unless it is known.
    pub(super) fn add_others_stream(&self, device: DeviceId, stream: RawStream) {
        let id = identity(device, stream);
        if self.tracks.contains_key(&id) || !self.others.insert(id) {
            return;
        }
        let known = self.recorder.names().stream(self.number, id, self.recorder.now()).is_some();
        if !known {
            self.name_stream(device, id);
        }
    }

    /// Forgets a foreign stream; its handle may be given out again.
    pub(super) fn release_stream(&self, stream: RawStream) {
        if self.others.remove(&stream).is_some()
            && let Some(track) = self.take_stream(stream)
        {
            self.leave_stream(track);
        }
    }

    /// The track of a stream; one that is not known is another's.
    fn track(&self, device: DeviceId, stream: RawStream) -> Option<Arc<Track>> {
        let find = || self.tracks.get(&identity(device, stream)).map(|track| Arc::clone(&track));
        find().or_else(|| {
            self.add_others_stream(device, stream);
            self.add_track(identity(device, stream), Ok(Track::of_others(device, stream)));
            find()
        })
    }

    fn add_track(&self, stream: RawStream, track: DriverResult<Track>) {
        match track {
            Ok(track) => {
                // A foreign stream that had the handle before.
                if let Some(before) = self.tracks.insert(stream, Arc::new(track)) {
                    self.leave_stream(before);
                }
            }
            Err(error) => log::debug!("the timeline has no times of {stream:?}: {error}"),
        }
    }

    /// Adds a stream that was created.
    pub(super) fn add_stream(&self, device: DeviceId, stream: RawStream) {
        self.name_stream(device, stream);
        if self.times == Times::Events {
            let track = || self.beside_captures(|| Track::new(&*self.inner, &self.recorder, device, stream));
            self.add_track(stream, track());
        }
    }

    fn name_stream(&self, device: DeviceId, stream: RawStream) {
        let unnamed = !self.recorder.names().devices.contains_key(&(self.number, device));
        if unnamed && let Ok(properties) = self.inner.device_properties(device) {
            let name = format!("{device}: {}", properties.name);
            self.recorder.names().devices.insert((self.number, device), name);
        }
        self.recorder.names().add_stream(self.number, device, stream, self.recorder.now());
    }

    /// Removes a stream that is about to be destroyed.
    pub(super) fn take_stream(&self, stream: RawStream) -> Option<Arc<Track>> {
        let (_, track) = self.tracks.remove(&stream)?;
        self.collect_track(&track);
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
            self.collect_track(&track);
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
            self.collect_track(&track);
        }
        self.collect_left();
    }

    fn collect_track(&self, track: &Track) {
        self.beside_captures(|| track.collect(&mut track.lock(), &*self.inner, &self.recorder));
    }

    /// Lets go of what nobody else destroys, when the host has waited for the device.
    pub(super) fn let_go(&self) {
        self.collect();
        // Events of foreign streams go when all was read and no call stands between two of them.
        for id in self.others.iter() {
            let done = |track: &Arc<Track>| Arc::strong_count(track) == 1 && track.is_empty();
            if let Some((_, track)) = self.tracks.remove_if(&id, |_, track| done(track)) {
                self.leave_stream(track);
            }
        }
        self.collect_left();
    }

    fn collect_left(&self) {
        lock(&self.left).retain(|track| {
            self.collect_track(track);
            let done = track.is_empty();
            if done {
                track.destroy(&*self.inner, &self.recorder);
            }
            !done
        });
    }

    // Captures.

    /// Returns the number of a stream's capture; `None` if it is not captured.
    #[inline]
    pub(super) fn capture_of(&self, device: DeviceId, stream: RawStream) -> Option<u64> {
        if self.open_captures.load(Ordering::Relaxed) == 0 {
            return None;
        }
        // SAFETY: the caller of the layer guarantees that the stream is live.
        let info = unsafe { self.inner.stream_capture_info(device, stream) }.ok()?;
        (info.status != CaptureStatus::None).then_some(info.id)
    }

    /// Makes calls of the timeline's own about events, which must not break a capture of the program's.
    fn beside_captures<R>(&self, calls: impl FnOnce() -> R) -> R {
        if self.open_captures.load(Ordering::Relaxed) == 0 {
            return calls();
        }
        let exchange = |mode| self.inner.exchange_capture_mode(DeviceId(0), mode);
        let before = exchange(CaptureMode::Relaxed);
        let result = calls();
        let _ = before.and_then(exchange);
        result
    }

    pub(super) fn begin_capture(&self) {
        self.open_captures.fetch_add(1, Ordering::Relaxed);
    }

    pub(super) fn add_captured(&self, capture: u64, work: WorkSummary) {
        let work = self.recorder.names().work(self.number, work, self.recorder.now());
        lock(&self.captured).entry(capture).or_default().push(work);
    }

    /// Gives the graph of a capture that ended its nodes.
    pub(super) fn end_capture(&self, capture: Option<u64>, graph: Option<RawGraph>) {
        let fewer = |open: u32| open.checked_sub(1);
        let _ = self.open_captures.fetch_update(Ordering::Relaxed, Ordering::Relaxed, fewer);
        let nodes = capture.and_then(|capture| lock(&self.captured).remove(&capture)).unwrap_or_default();
        if let Some(graph) = graph {
            lock(&self.graphs).insert(graph, nodes);
        }
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
