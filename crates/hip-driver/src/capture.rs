//! Stream capture: work that is enqueued on a stream becomes the nodes of a graph.

use crate::RawGraph;

/// Which calls are refused while a stream is captured, because they could wait for work that does not run
/// (`hipStreamCaptureMode`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum CaptureMode {
    /// Calls of every thread are.
    #[default]
    Global,
    /// Calls of the thread that began the capture are.
    ThreadLocal,
    /// None are.
    Relaxed,
}

/// Whether a stream is captured (`hipStreamCaptureStatus`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum CaptureStatus {
    /// It is not: work runs.
    None,
    /// It is: work becomes nodes.
    Active,
    /// It was, and a call broke the capture, which has not been ended yet.
    Invalidated,
}

/// What [`Driver::stream_capture`](crate::Driver::stream_capture) is to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CaptureRequest {
    /// Begins to capture the stream. Replies [`Done`](CaptureReply::Done).
    Begin(CaptureMode),
    /// Ends the capture that was begun on the stream. Replies [`Graph`](CaptureReply::Graph).
    End,
    /// Asks whether the stream is captured. Replies [`Status`](CaptureReply::Status).
    Query,
    /// Replaces the calling thread's own mode, which is [`Global`](CaptureMode::Global) at first: a thread in a weaker
    /// mode may make calls that a capture in a stronger one refuses. The stream means nothing. Replies
    /// [`Mode`](CaptureReply::Mode).
    ExchangeMode(CaptureMode),
}

impl CaptureRequest {
    /// HIP's name of what it does.
    pub const fn name(&self) -> &'static str {
        match self {
            CaptureRequest::Begin(_) => "hipStreamBeginCapture",
            CaptureRequest::End => "hipStreamEndCapture",
            CaptureRequest::Query => "hipStreamGetCaptureInfo",
            CaptureRequest::ExchangeMode(_) => "hipThreadExchangeStreamCaptureMode",
        }
    }
}

/// The answer to a [`CaptureRequest`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CaptureReply {
    /// It was done.
    Done,
    /// The graph of the work that was captured, which is the caller's to destroy.
    Graph(RawGraph),
    /// Whether the stream is captured, and the capture's number, which all its streams have; 0 for none.
    Status {
        /// Whether it is.
        status: CaptureStatus,
        /// The number.
        id: u64,
    },
    /// The mode that the thread had.
    Mode(CaptureMode),
}
