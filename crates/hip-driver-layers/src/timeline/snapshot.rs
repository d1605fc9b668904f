//! What was recorded, with its names: calls by thread, and work by stream.

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
    /// HIP's name of the call, or the name of the program's span.
    pub name: Cow<'static, str>,
    /// When it began, as the time since the beginning of the timeline.
    pub begin: Duration,
    /// When it ended, as the time since the beginning of the timeline.
    pub end: Duration,
    /// The device of the call; `None` for a span of the program's own.
    pub device: Option<DeviceId>,
    /// The number of the call's stream.
    pub stream: Option<u32>,
    /// The work that the call enqueued or did itself.
    pub work: Option<DeviceWork>,
    /// The number of bytes that the call allocated, freed, copied, filled or loaded.
    pub bytes: Option<u64>,
    /// The error that the call returned.
    pub error: Option<ErrorCode>,
    /// The correlation, which the spans of the call's work have too.
    pub correlation: Option<u64>,
}

/// The calls of one thread.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ThreadTrack {
    /// The number of the thread among those of the timeline, from 1.
    pub number: u32,
    /// The thread's name, if it has one.
    pub name: Option<String>,
    /// The spans in the order in which they began; if two began together, the longer first. They nest.
    pub spans: Vec<HostSpan>,
}

/// Work of a device that has run.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct DeviceSpan {
    /// The work. Each node of a graph has a span of its own if its times are known.
    pub work: DeviceWork,
    /// For a node of a graph: its index, in the order in which nodes were added, and the number of nodes.
    pub node: Option<(u32, u32)>,
    /// When it began, as the time since the beginning of the timeline.
    pub begin: Duration,
    /// When it ended, as the time since the beginning of the timeline.
    pub end: Duration,
    /// For a kernel on the emulator: counts of what it executed.
    pub counts: Option<KernelCounts>,
    /// The correlation of the call that enqueued it.
    pub correlation: u64,
}

/// The work of one stream.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct StreamTrack {
    /// The number of the stream among those of the timeline, from 1.
    pub number: u32,
    /// The spans in the order in which they began. They do not overlap.
    pub spans: Vec<DeviceSpan>,
}

/// A device of one of the drivers.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct DeviceTrack {
    /// The index of the driver among the timeline's layers: a program may open several drivers.
    pub driver: u32,
    /// The device's ordinal.
    pub device: DeviceId,
    /// The device's ordinal and name.
    pub name: String,
    /// The streams on which work ran.
    pub streams: Vec<StreamTrack>,
}

/// What a timeline has recorded.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct TimelineSnapshot {
    /// The threads that made calls.
    pub threads: Vec<ThreadTrack>,
    /// The devices on which work ran.
    pub devices: Vec<DeviceTrack>,
    /// The maximum number of calls and spans of the host, and of pieces of work, that are kept.
    pub limit: usize,
    /// The number of calls and spans of the host that were dropped. Their work is not in the timeline either.
    pub dropped_calls: u64,
    /// The number of pieces of work that were dropped, or whose times are unknown.
    pub dropped_work: u64,
}

fn time(nanoseconds: u64) -> Duration {
    Duration::from_nanos(nanoseconds)
}

impl TimelineSnapshot {
    pub(super) fn of(recorder: &Recorder) -> TimelineSnapshot {
        // The work is read first: then the calls of all this work are among those that are read.
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
            // The call is missing while it has not returned.
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

/// What a call enqueued, on which stream, and when the call began.
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
