//! Observes every call: its times and its details.

use std::sync::Arc;

use hip_driver::activity::{Correlated, correlated};
use hip_driver::{
    Call, DeviceId, DriverError, DriverResult, ErrorCode, Note, Output, RawStream, Work as DriverWork,
};

use super::events::Track;
use super::layer::{BetweenEvents, TimelineLayer, Times};
use super::record::CallDetail;
use super::work::DeviceWork;
use crate::Layer;
use crate::captures::ends_capture;
use crate::default_streams::identity;
use crate::pinned::Released;

/// What is known of a call when it starts.
pub struct StartedCall {
    begin: u64,
    /// The correlation under which the call enqueues work; 0 if it enqueues none.
    correlation: u64,
    correlated: Option<Correlated>,
    events: Option<BetweenEvents>,
    pageable: bool,
    /// The capture whose graph the work becomes a node of.
    capture: Option<u64>,
    taken: Taken,
}

/// What was removed from the tables before the call, since the driver may return the same handle to another thread.
enum Taken {
    Nothing,
    Pinned(Released),
    Stream(Option<Arc<Track>>),
    Graph(Option<Vec<DeviceWork>>),
    /// The number of a capture that a call may end.
    Capture(Option<u64>),
}

impl TimelineLayer {
    /// Starts a call that enqueues work.
    #[inline]
    fn before_work(&self, device: DeviceId, stream: RawStream, work: &DriverWork<'_>) -> StartedCall {
        let timeline = &*self.0;
        if stream.is_default() {
            timeline.add_others_stream(device, stream);
        }
        let capture = timeline.capture_of(device, stream);
        let mut begun = StartedCall {
            begin: 0,
            // Captured work does not run.
            correlation: if capture.is_some() { 0 } else { timeline.recorder.correlate() },
            correlated: None,
            events: None,
            pageable: false,
            capture,
            taken: Taken::Nothing,
        };
        match timeline.times {
            _ if begun.correlation == 0 => {}
            Times::None => {}
            Times::Observed => begun.correlated = Some(correlated(begun.correlation)),
            Times::Events => {
                begun.pageable = timeline.pinned.is_pageable(work);
                begun.events = timeline.before_work(device, stream, begun.pageable);
            }
        }
        begun.begin = timeline.recorder.now();
        begun
    }
}

impl Layer for TimelineLayer {
    const NAME: &'static str = "timeline";

    type Token = StartedCall;

    #[inline]
    fn before(&self, call: &Call<'_>) -> DriverResult<StartedCall> {
        let timeline = &*self.0;
        let taken = match *call {
            Call::Enqueue { device, stream, work } => return Ok(self.before_work(device, stream, work)),
            Call::StreamDestroy { stream, .. } => Taken::Stream(timeline.take_stream(stream)),
            Call::GraphDestroy { graph, .. } => Taken::Graph(timeline.take_graph(graph)),
            Call::StreamEndCapture { device, stream } => Taken::Capture(timeline.capture_of(device, stream)),
            _ if timeline.times == Times::Events => Taken::Pinned(timeline.pinned.before(call)),
            _ => Taken::Nothing,
        };
        let begin = timeline.recorder.now();
        let (correlated, events) = (None, None);
        Ok(StartedCall { begin, correlation: 0, correlated, events, pageable: false, capture: None, taken })
    }

    #[inline]
    fn after(&self, call: &Call<'_>, begun: StartedCall, result: Result<Output, &DriverError>) {
        let StartedCall { begin, correlation, correlated, events, pageable, capture, taken } = begun;
        let timeline = &*self.0;
        let times = (begin, timeline.recorder.now());
        drop(correlated);
        let detail = match (capture, *call) {
            (Some(_), Call::Enqueue { device, stream, .. }) => CallDetail::Stream(identity(device, stream)),
            _ => detail_of(call),
        };
        if let Some(events) = events {
            let waited =
                pageable && matches!(call, Call::Enqueue { work: DriverWork::CopyToHost { .. }, .. });
            timeline.after_work(events, correlation, times, waited, result.is_err());
        }
        match *call {
            Call::Info | Call::Capabilities | Call::DeviceCount | Call::DeviceProperties { .. } => {}
            _ => {
                let error = result.err().map_or(ErrorCode::SUCCESS, |error| error.code);
                let device = call.device().unwrap_or_default();
                timeline.record(call.kind(), device, detail, times, correlation, error);
            }
        }
        match (*call, result, taken) {
            (_, _, Taken::Pinned(released)) if released.is_some() => timeline.pinned.after(released, result),
            (Call::StreamCreate { device, .. }, Ok(Output::Stream(stream)), _) => {
                timeline.add_stream(device, stream);
            }
            (Call::StreamDestroy { .. }, Ok(_), Taken::Stream(Some(track))) => timeline.leave_stream(track),
            (Call::StreamDestroy { stream, .. }, Err(_), Taken::Stream(Some(track))) => {
                timeline.put_back_stream(stream, track);
            }
            (Call::StreamSynchronize { device, stream }, Ok(_), _) => {
                timeline.collect_stream(identity(device, stream));
            }
            (Call::DeviceSynchronize { .. }, Ok(_), _) => timeline.let_go(),
            (Call::ModuleGetFunction { name, .. }, Ok(Output::Function(function)), _) => {
                timeline.add_kernel(function, name);
            }
            (Call::GraphCreate { .. }, Ok(Output::Graph(graph)), _) => timeline.add_graph(graph),
            (Call::GraphDestroy { graph, .. }, Err(_), Taken::Graph(Some(nodes))) => {
                timeline.put_back_graph(graph, nodes);
            }
            (Call::GraphAdd { graph, work, .. }, Ok(_), _) => timeline.add_node(graph, work.summary()),
            (Call::Enqueue { work, .. }, Ok(_), _) => {
                if let Some(capture) = capture {
                    timeline.add_captured(capture, work.summary());
                }
            }
            (Call::StreamBeginCapture { .. }, Ok(_), _) => {
                timeline.begin_capture();
            }
            (Call::StreamEndCapture { .. }, Ok(Output::Graph(graph)), taken) => {
                let capture = if let Taken::Capture(capture) = taken { capture } else { None };
                timeline.end_capture(capture, Some(graph));
            }
            (Call::StreamEndCapture { .. }, Err(error), Taken::Capture(capture)) if ends_capture(error) => {
                timeline.end_capture(capture, None);
            }
            (Call::GraphInstantiate { graph, .. }, Ok(Output::Exec(exec)), _) => {
                timeline.add_exec(graph, exec)
            }
            (_, Ok(Output::Pinned(_)), _) => timeline.pinned.after(None, result),
            _ => {}
        }
    }

    // On a driver without an observer no note comes, and a foreign stream is taken in with its first work.
    fn note(&self, note: &Note) {
        match *note {
            Note::StreamAdopt { device, stream } => self.0.add_others_stream(device, stream),
            Note::StreamRelease { stream, .. } => self.0.release_stream(stream),
            _ => {}
        }
    }
}

/// Returns the details of a call.
#[inline]
fn detail_of(call: &Call<'_>) -> CallDetail {
    match *call {
        Call::Enqueue { device, stream, work } => {
            CallDetail::Enqueued(identity(device, stream), work.summary())
        }
        Call::CopyBlocking { work, .. } => CallDetail::Done(work.summary()),
        Call::Malloc { bytes, .. } | Call::HostMalloc { bytes, .. } => CallDetail::Bytes(bytes as u64),
        Call::HostFree { allocation, .. } => CallDetail::Bytes(allocation.bytes as u64),
        Call::ModuleLoad { image, .. } => CallDetail::Bytes(image.len() as u64),
        Call::MallocAsync { bytes, stream, .. } => CallDetail::StreamBytes(stream, bytes as u64),
        Call::FreeAsync { stream, .. }
        | Call::StreamDestroy { stream, .. }
        | Call::StreamSynchronize { stream, .. }
        | Call::StreamQuery { stream, .. }
        | Call::StreamWaitEvent { stream, .. }
        | Call::StreamBeginCapture { stream, .. }
        | Call::StreamEndCapture { stream, .. }
        | Call::StreamCaptureInfo { stream, .. }
        | Call::EventRecord { stream, .. } => CallDetail::Stream(stream),
        _ => CallDetail::None,
    }
}
