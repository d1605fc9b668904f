//! The captures of streams, and what calls they allow. The rules are those of [`hip_driver::captures`]; `graph` makes the nodes.

use hip_driver::captures::{self, CaptureStream, Refused};
use hip_driver::{DeviceId, ErrorCode, RawStream, thread_number};

use crate::abi::status::{HipResult, Status};
use crate::process::Process;

/// The captures of the process. Nodes are named by their handles.
pub(crate) type Captures = captures::Captures<Captured, CapturedGraph, u64>;
/// The record of an event on a captured stream.
pub(crate) type CapturedRecord = captures::CapturedRecord<u64>;

/// A captured stream. A thread's own default stream is another one for each thread.
#[derive(PartialEq)]
pub(crate) struct Captured(DeviceId, RawStream, Option<u64>);

impl CaptureStream for Captured {
    fn is_null(&self) -> bool {
        is_null_stream(self.1)
    }

    fn device(&self) -> DeviceId {
        self.0
    }
}

/// The graph of a capture.
pub(crate) struct CapturedGraph {
    /// Its handle.
    pub(crate) graph: u64,
    /// Whether the program made the graph, and keeps it if the capture fails.
    pub(crate) is_given: bool,
}

impl From<Refused> for Status {
    fn from(refused: Refused) -> Status {
        log::debug!("{}", refused.detail);
        refused.code.into()
    }
}

/// The stream as captures know it.
pub(crate) fn key((device, stream): (DeviceId, RawStream)) -> Captured {
    Captured(device, stream, (stream == RawStream::PER_THREAD).then(thread_number))
}

fn is_null_stream(stream: RawStream) -> bool {
    stream.is_default() && stream != RawStream::PER_THREAD
}

impl Process {
    /// Fails if the stream is captured: for what is no node of a graph. The capture goes on.
    pub(crate) fn not_captured(&self, on: (DeviceId, RawStream)) -> HipResult {
        Ok(self.captures.not_captured(&key(on))?)
    }

    /// Checks that captures allow a call that waits for a stream or asks for its state.
    #[inline]
    pub(crate) fn may_observe_stream(&self, on: (DeviceId, RawStream)) -> HipResult {
        Ok(self.captures.may_observe_stream(&key(on))?)
    }

    /// Checks that captures allow a copy or a fill that waits for a stream.
    pub(crate) fn may_block(&self, on: (DeviceId, RawStream)) -> HipResult {
        match is_null_stream(on.1) {
            true => self.captures_nothing(Status::STREAM_CAPTURE_IMPLICIT),
            false => self.may_observe_stream(on),
        }
    }

    /// Checks that the modes of captures and of this thread allow a call that may wait for other work.
    #[inline]
    pub(crate) fn captures_allow(&self) -> HipResult {
        Ok(self.captures.allow()?)
    }

    /// Checks that there is no capture at all, for a call that would wait for captured work.
    pub(crate) fn captures_nothing(&self, otherwise: Status) -> HipResult {
        Ok(self.captures.none(ErrorCode(otherwise.0))?)
    }
}
