//! What was recorded, with its names: calls by thread, work by stream.

use std::borrow::Cow;
use std::cmp::Reverse;
use std::collections::HashMap;
use std::time::Duration;

use hip_driver::activity::KernelCounts;
use hip_driver::{DeviceId, ErrorCode, WorkSummary};

use super::names::{Names, StreamName};
use super::record::{CallDetail, CallRecord, WorkKind, WorkRecord};
use super::recorder::Recorder;
use super::work::DeviceWork;

/// A call of the driver, or a span of the program's own.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct HostSpan {
    /// The call in HIP's name, or the name that the program gave.
    pub name: Cow<'static, str>,
    /// When it began, from the beginning of the timeline.
    pub begin: Duration,
    /// When it ended.
    pub end: Duration,
    /// What it was called for; none for a span of the program's own.
    pub device: Option<DeviceId>,
    /// The number of the stream's track.
    pub stream: Option<u32>,
    /// What it enqueued, or did itself.
    pub work: Option<DeviceWork>,
    /// Bytes allocated, freed, copied, filled or loaded.
    pub bytes: Option<u64>,
    /// What it failed with.
    pub error: Option<ErrorCode>,
    /// What the spans of its work have, too.
    pub correlation: Option<u64>,
}

/// The calls of one thread.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ThreadTrack {
    /// Counts the threads that the timeline has seen from 1.
    pub number: u32,
    /// The thread's name, if it has one.
    pub name: Option<String>,
    /// By their beginning; of two that begin together the longer first. They nest.
    pub spans: Vec<HostSpan>,
}

/// Work of a device that has run.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct DeviceSpan {
    /// What it is; where the times of a graph's nodes are known, each has a span of its own.
    pub work: DeviceWork,
    /// Of a graph: which node this is, counted from 0 in the order of adding, and how many there are.
    pub node: Option<(u32, u32)>,
    /// When it began, from the beginning of the timeline.
    pub begin: Duration,
    /// When it ended.
    pub end: Duration,
    /// Of a kernel on the emulator: how much it ran.
    pub counts: Option<KernelCounts>,
    /// The number of the call that enqueued it.
    pub correlation: u64,
}

/// The work of one stream.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct StreamTrack {
    /// Counts the timeline's streams from 1.
    pub number: u32,
    /// By their beginning. They do not overlap.
    pub spans: Vec<DeviceSpan>,
}

/// A device of one of the drivers.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct DeviceTrack {
    /// Counts the timeline's layers from 0: a program may open several drivers.
    pub driver: u32,
    /// Its ordinal.
    pub device: DeviceId,
    /// Its ordinal and name.
    pub name: String,
    /// Its streams that ran anything.
    pub streams: Vec<StreamTrack>,
}

/// What a timeline has recorded.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct TimelineSnapshot {
    /// The threads that called.
    pub threads: Vec<ThreadTrack>,
    /// The devices that ran anything.
    pub devices: Vec<DeviceTrack>,
    /// How many calls and spans of the host, and how many pieces of work, are kept at most.
    pub limit: usize,
    /// Calls and spans that found no room. Their work is not in the timeline either.
    pub dropped_calls: u64,
    /// Pieces of work that found no room, or whose times could not be had.
    pub dropped_work: u64,
}

fn time(nanoseconds: u64) -> Duration {
    Duration::from_nanos(nanoseconds)
}

impl TimelineSnapshot {
    pub(super) fn of(recorder: &Recorder) -> TimelineSnapshot {
        // The work first: a call that ends meanwhile is then there for all work that is.
        let threads = recorder.threads();
        let mut work: Vec<WorkRecord> = Vec::new();
        threads.iter().for_each(|thread| thread.work.read(|record| work.push(record)));
        work.sort_by_key(|record| (record.begin, record.end));

        let names = recorder.names();
        let mut enqueued = HashMap::new();
        let mut tracks = Vec::new();
        for thread in &threads {
            let mut calls: Vec<CallRecord> = Vec::new();
            thread.calls.read(|record| calls.push(record));
            calls.sort_by_key(|record| (record.begin, Reverse(record.end)));
            enqueued.extend(
                calls.iter().filter_map(|call| Some((call.correlation, Enqueued::of(call, &names)?))),
            );
            if !calls.is_empty() {
                let spans = calls.iter().map(|call| host_span(call, &names)).collect();
                tracks.push(ThreadTrack { number: thread.number, name: thread.name.clone(), spans });
            }
        }
        tracks.sort_by_key(|track| track.number);

        let mut streams: HashMap<u32, (StreamName, Vec<DeviceSpan>)> = HashMap::new();
        for record in &work {
            // The call is not there while it has not returned.
            let Some(call) = enqueued.get(&record.correlation) else { continue };
            let span = device_span(record, names.work(call.stream.driver, call.work, call.begin));
            streams.entry(call.stream.number).or_insert_with(|| (call.stream, Vec::new())).1.push(span);
        }
        TimelineSnapshot {
            threads: tracks,
            devices: by_device(streams, &names),
            limit: recorder.options.limit,
            dropped_calls: recorder.calls.dropped(),
            dropped_work: recorder.work.dropped(),
        }
    }
}

/// What a call enqueued, and where.
struct Enqueued {
    stream: StreamName,
    work: WorkSummary,
    begin: u64,
}

impl Enqueued {
    fn of(call: &CallRecord, names: &Names) -> Option<Enqueued> {
        match call.what {
            WorkKind::Call { driver, detail: CallDetail::Enqueued(stream, work), .. }
                if call.correlation != 0 =>
            {
                Some(Enqueued { stream: names.stream(driver, stream, call.begin)?, work, begin: call.begin })
            }
            _ => None,
        }
    }
}

fn host_span(call: &CallRecord, names: &Names) -> HostSpan {
    let mut span = HostSpan {
        name: Cow::Borrowed(""),
        begin: time(call.begin),
        end: time(call.end),
        device: None,
        stream: None,
        work: None,
        bytes: None,
        error: None,
        correlation: (call.correlation != 0).then_some(call.correlation),
    };
    match call.what {
        WorkKind::Span(number) => {
            let name = names.span_name(number).map(ToString::to_string);
            span.name = Cow::Owned(name.unwrap_or_default());
        }
        WorkKind::Call { kind, driver, device, error, detail } => {
            span.name = Cow::Borrowed(kind.name());
            span.device = Some(device);
            span.error = (error != ErrorCode::SUCCESS).then_some(error);
            let stream = detail.stream().and_then(|stream| names.stream(driver, stream, call.begin));
            span.stream = stream.map(|stream| stream.number);
            match detail {
                CallDetail::None | CallDetail::Stream(_) => {}
                CallDetail::Bytes(bytes) | CallDetail::StreamBytes(_, bytes) => span.bytes = Some(bytes),
                CallDetail::Done(work) | CallDetail::Enqueued(_, work) => {
                    let work = names.work(driver, work, call.begin);
                    span.bytes = work.bytes();
                    span.work = Some(work);
                }
            }
        }
    }
    span
}

fn device_span(record: &WorkRecord, work: DeviceWork) -> DeviceSpan {
    let (work, node) = match (work, record.node) {
        (DeviceWork::Graph { nodes }, Some(node)) => {
            let work = nodes.get(node as usize).cloned().unwrap_or(DeviceWork::Empty);
            (work, Some((node, nodes.len() as u32)))
        }
        (work, _) => (work, None),
    };
    DeviceSpan {
        work,
        node,
        begin: time(record.begin),
        end: time(record.end),
        counts: record.counts,
        correlation: record.correlation,
    }
}

fn by_device(streams: HashMap<u32, (StreamName, Vec<DeviceSpan>)>, names: &Names) -> Vec<DeviceTrack> {
    let mut devices: HashMap<(u32, DeviceId), Vec<StreamTrack>> = HashMap::new();
    for (number, (stream, spans)) in streams {
        devices.entry((stream.driver, stream.device)).or_default().push(StreamTrack { number, spans });
    }
    let mut tracks: Vec<DeviceTrack> = devices
        .into_iter()
        .map(|((driver, device), mut streams)| {
            streams.sort_by_key(|stream| stream.number);
            let name = names.devices.get(&(driver, device));
            DeviceTrack { driver, device, name: name.cloned().unwrap_or_else(|| device.to_string()), streams }
        })
        .collect();
    tracks.sort_by_key(|track| (track.driver, track.device));
    tracks
}
