//! Captures of streams: which work becomes a node of a graph. The rules are those of
//! [`hip_driver::captures`].

use std::sync::Arc;

use super::EmulatedDriver;
use super::graph::Recorded;
use super::stream::{Stream, StreamKind};
use hip_driver::driver_captures::{DriverCaptures, DriverStream};
use hip_driver::{DeviceId, DriverResult, RawGraph, Work};

/// The captures of a driver.
pub(super) type Captures = DriverCaptures<Stream, Recorded>;

impl DriverStream for Stream {
    fn is_null(&self) -> bool {
        self.kind() == StreamKind::Null
    }

    fn device(&self) -> DeviceId {
        self.device.id
    }
}

impl EmulatedDriver {
    pub(super) fn end_capture(&self, call: &'static str, stream: &Arc<Stream>) -> DriverResult<RawGraph> {
        self.add_captured(call, Arc::clone(&stream.device), self.captures.end(call, stream)?)
    }

    /// Makes a node of work that is enqueued on a stream, if the stream is captured. Returns whether it is.
    #[inline]
    pub(super) fn capture_work(&self, stream: &Arc<Stream>, work: &Work<'_>) -> DriverResult<bool> {
        let prepare = |call| self.prepare(call, &stream.device, work);
        self.captures.add(stream, work, prepare, |prepared, recorded, _| {
            // Copies and fills of no bytes do nothing.
            let step = prepared?.stage(&mut recorded.arguments);
            if let Some((host, bytes)) = step.host_memory()
                && self.pinned.contains(host, bytes)
            {
                recorded.must_be_pinned(host, bytes);
            }
            recorded.steps.push(Some(step));
            Some(recorded.steps.len())
        })
    }
}
