//! Captures of streams: which work becomes a node of a graph. The rules are those of [`hip_driver::captures`].

use std::sync::Arc;

use crate::HsaDriver;
use crate::event::Event;
use crate::graph::Recorded;
use crate::stream::{Stream, StreamKind};
use hip_driver::captures::{self, CaptureStream, Refused};
use hip_driver::{CaptureInfo, CaptureMode, DeviceId, DriverError, DriverResult, ErrorCode, RawGraph, Work};

/// The captures of a driver. A node's name is its place among the recorded steps.
pub(crate) type Captures = captures::Captures<Captured, Recorded, usize>;
/// The record of an event on a captured stream.
pub(crate) type CapturedRecord = captures::CapturedRecord<usize>;

/// A captured stream.
#[derive(Debug)]
pub(crate) struct Captured(Arc<Stream>);

impl PartialEq for Captured {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

impl CaptureStream for Captured {
    fn is_null(&self) -> bool {
        self.0.kind() == StreamKind::Null
    }

    fn device(&self) -> DeviceId {
        self.0.device.id
    }
}

fn key(stream: &Arc<Stream>) -> Captured {
    Captured(Arc::clone(stream))
}

impl HsaDriver {
    /// Whether this stream is captured.
    #[inline]
    pub(crate) fn is_captured(&self, stream: &Arc<Stream>) -> bool {
        self.captures.any() && self.captures.is_captured(&key(stream))
    }

    pub(crate) fn begin_capture(&self, stream: &Arc<Stream>, mode: CaptureMode) -> Result<(), Refused> {
        self.captures.begin(key(stream), mode, Recorded::default(), Vec::new())
    }

    pub(crate) fn capture_info(&self, stream: &Arc<Stream>) -> CaptureInfo {
        let info =
            |capture: captures::Captured<'_, _, _>| CaptureInfo { status: capture.status, id: capture.id };
        self.captures.with(&key(stream), info).unwrap_or(CaptureInfo::NONE)
    }

    pub(crate) fn end_capture(&self, call: &'static str, stream: &Arc<Stream>) -> DriverResult<RawGraph> {
        let ended = self.captures.end(&key(stream)).map_err(|refused| refused.of(call))?;
        ended.complete.map_err(|refused| refused.of(call))?;
        self.add_graph(call, stream.device, ended.recorded)
    }

    /// Makes a node of work that is enqueued on a stream, if the stream is captured. Returns whether it is.
    pub(crate) fn capture_work(&self, stream: &Arc<Stream>, work: &Work<'_>) -> DriverResult<bool> {
        if !self.is_captured(stream) {
            return Ok(false);
        }
        let call = work.kind().name();
        if let Work::Empty = work {
            return Err(work.unsupported(call));
        }
        if !Recorded::takes(work) {
            let detail = "the stream is captured, and such work is no node of a graph";
            return Err(DriverError::with_detail(call, ErrorCode::STREAM_CAPTURE_UNSUPPORTED, detail));
        }
        let step = self.step(call, stream.device, work)?;
        let added = self.captures.add(&key(stream), |recorded, after| {
            // Copies and fills of no bytes do nothing.
            let Some(step) = step else { return Ok::<_, Refused>(None) };
            Ok(Some(recorded.push(Some(step), after.to_vec())))
        });
        added.map(drop).map_err(|refused| refused.of(call))?;
        Ok(true)
    }

    /// Records an event on a stream, if the stream is captured. Returns whether it is.
    pub(crate) fn capture_record(&self, stream: &Arc<Stream>, event: &Event) -> bool {
        if !self.captures.any() {
            return false;
        }
        self.captures.record(&key(stream)).map(|record| event.set_captured(record)).is_some()
    }

    /// Makes a stream wait for an event, if one of the two belongs to a capture. Returns whether one does.
    pub(crate) fn capture_wait(
        &self,
        call: &'static str,
        stream: &Arc<Stream>,
        event: &Event,
    ) -> DriverResult<bool> {
        if !self.captures.any() {
            return Ok(false);
        }
        let waited = self.captures.wait(key(stream), event.captured(), event.is_recorded());
        waited.map_err(|refused| refused.of(call))
    }

    /// Checks that captures allow a call that waits for an event or asks for its state.
    #[inline]
    pub(crate) fn may_observe_event(&self, call: &'static str, event: &Event) -> DriverResult<()> {
        if !self.captures.any() {
            return Ok(());
        }
        self.captures.may_observe_event(event.captured().as_ref()).map_err(|refused| refused.of(call))
    }

    /// Checks that captures allow a call that waits for a stream or asks for its state.
    #[inline]
    pub(crate) fn may_observe_stream(&self, call: &'static str, stream: &Arc<Stream>) -> DriverResult<()> {
        if !self.captures.any() {
            return Ok(());
        }
        self.captures.may_observe_stream(&key(stream)).map_err(|refused| refused.of(call))
    }

    /// Checks that the modes of captures and of this thread allow a call that may wait for other work.
    #[inline]
    pub(crate) fn captures_allow(&self, call: &'static str) -> DriverResult<()> {
        self.captures.allow().map_err(|refused| refused.of(call))
    }

    /// Checks that there is no capture at all, for a call that would wait for captured work.
    #[inline]
    pub(crate) fn captures_nothing(&self, call: &'static str, code: ErrorCode) -> DriverResult<()> {
        self.captures.none(code).map_err(|refused| refused.of(call))
    }

    /// Ends the capture that was begun on a stream that is destroyed.
    pub(crate) fn forget_capture(&self, stream: &Arc<Stream>) {
        drop(self.captures.forget(&key(stream)));
    }
}
