//! Stream capture: work that is enqueued on a stream becomes the nodes of a graph.

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

/// Whether a stream is captured, and by which capture.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct CaptureInfo {
    /// Whether it is.
    pub status: CaptureStatus,
    /// The capture's number, which all its streams have; 0 for none.
    pub id: u64,
}

impl CaptureInfo {
    /// That of a stream that is not captured.
    pub const NONE: CaptureInfo = CaptureInfo { status: CaptureStatus::None, id: 0 };
}
