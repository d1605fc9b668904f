//! What is written down while the program runs: small and without names, which are looked up when somebody reads it.

use hip_driver::activity::KernelCounts;
use hip_driver::{CallKind, DeviceId, ErrorCode, RawStream, WorkSummary};

/// A call of the driver, or a span of the program's own. Times are nanoseconds since the timeline began.
#[derive(Clone, Copy, Debug)]
pub(super) struct CallRecord {
    pub(super) begin: u64,
    pub(super) end: u64,
    pub(super) what: WorkKind,
    /// The number under which it enqueued work; 0 if it did not.
    pub(super) correlation: u64,
}

#[derive(Clone, Copy, Debug)]
pub(super) enum WorkKind {
    /// The number of a span's name.
    Span(u32),
    Call {
        kind: CallKind,
        driver: u32,
        device: DeviceId,
        error: ErrorCode,
        detail: CallDetail,
    },
}

/// What a call is about.
#[derive(Clone, Copy, Debug)]
pub(super) enum CallDetail {
    None,
    Bytes(u64),
    Stream(RawStream),
    StreamBytes(RawStream, u64),
    /// Work that the call does itself, before it returns.
    Done(WorkSummary),
    Enqueued(RawStream, WorkSummary),
}

impl CallDetail {
    pub(super) fn stream(self) -> Option<RawStream> {
        match self {
            CallDetail::Stream(stream)
            | CallDetail::StreamBytes(stream, _)
            | CallDetail::Enqueued(stream, _) => Some(stream),
            CallDetail::None | CallDetail::Bytes(_) | CallDetail::Done(_) => None,
        }
    }
}

/// Work that has run. Times are nanoseconds since the timeline began.
#[derive(Clone, Copy, Debug)]
pub(super) struct WorkRecord {
    pub(super) correlation: u64,
    pub(super) begin: u64,
    pub(super) end: u64,
    pub(super) node: Option<u32>,
    pub(super) counts: Option<KernelCounts>,
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What `TimelineOptions::limit` says of memory.
    #[test]
    fn entries_are_small() {
        let (call, work) = (size_of::<CallRecord>(), size_of::<WorkRecord>());
        assert!(call <= 96 && work <= 72, "{call} {work}");
    }
}
