//! Captures of streams: which work becomes a node of a graph. The rules are those of [`hip_driver::captures`].

use std::sync::Arc;

use crate::HsaDriver;
use crate::graph::Recorded;
use crate::stream::{Stream, StreamKind};
use hip_driver::driver_captures::{DriverCaptures, DriverStream};
use hip_driver::{DeviceId, DriverResult, RawGraph, Work};

/// The captures of a driver.
pub(crate) type Captures = DriverCaptures<Stream, Recorded>;

impl DriverStream for Stream {
    fn is_null(&self) -> bool {
        self.kind() == StreamKind::Null
    }

    fn device(&self) -> DeviceId {
        self.device.id
    }
}

impl HsaDriver {
    pub(crate) fn end_capture(&self, call: &'static str, stream: &Arc<Stream>) -> DriverResult<RawGraph> {
        self.add_graph(call, stream.device, self.captures.end(call, stream)?)
    }

    /// Makes a node of work that is enqueued on a stream, if the stream is captured. Returns whether it is.
    #[inline]
    pub(crate) fn capture_work(&self, stream: &Arc<Stream>, work: &Work<'_>) -> DriverResult<bool> {
        let prepare = |call| self.step(call, stream.device, work);
        // Copies and fills of no bytes do nothing.
        self.captures.add(stream, work, prepare, |step, recorded, after| {
            step.map(|step| recorded.push(Some(step), after.to_vec()))
        })
    }
}
