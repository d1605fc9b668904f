//! What is recorded while the program runs. Records are small and have no names, which are looked up for a snapshot.

use hip_driver::activity::KernelCounts;
use hip_driver::{CallKind, DeviceId, ErrorCode, RawStream, WorkSummary};

/// A call of the driver, or a span of the program's own. Times are in nanoseconds since the timeline began.
#[derive(Clone, Copy, Debug)]
pub(super) struct CallRecord {
    pub(super) begin: u64,
    pub(super) end: u64,
    pub(super) what: WorkKind,
    /// The correlation under which the call enqueued work; 0 if it enqueued none.
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

/// The details of a call.
#[derive(Clone, Copy, Debug)]
pub(super) enum CallDetail {
    None,
    Bytes(u64),
    Stream(RawStream),
    StreamBytes(RawStream, u64),
    /// Work that the call does itself before it returns.
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

/// Work that has run. Times are in nanoseconds since the timeline began.
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

    /// The documentation of `TimelineOptions::limit` depends on this.
    #[test]
    fn entries_are_small() {
        let (call, work) = (size_of::<CallRecord>(), size_of::<WorkRecord>());
        assert!(call <= 96 && work <= 72, "{call} {work}");
    }
}
