//! Events: a marker of a stream.

use std::sync::Mutex;

use crate::gpu::lock;
use crate::marker::Marker;
use crate::stream::Stream;
use hip_driver::DriverResult;
use hip_driver::driver_captures::EventCapture;

/// An event. Recording it again replaces its marker; waits that were enqueued before keep the earlier one.
#[derive(Debug)]
pub(crate) struct Event {
    has_time: bool,
    record: Mutex<Option<Record>>,
    pub(crate) capture: EventCapture,
}

/// The last record.
#[derive(Debug, Clone)]
struct Record {
    /// `None` if the stream had nothing to wait for.
    marker: Option<Marker>,
}

/// Why an event has no time.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum NoTime {
    /// It was created without timing, or never recorded.
    NotTimed,
    /// Its last record has not been reached.
    NotReached,
}

impl Event {
    pub(crate) fn new(has_time: bool) -> Event {
        Event { has_time, record: Mutex::new(None), capture: EventCapture::default() }
    }

    /// Records the event after all work that is on the stream now.
    pub(crate) fn record(&self, call: &'static str, stream: &Stream) -> DriverResult<()> {
        // The time is that of a packet of its own. Without it, any marker behind the stream's work does.
        let marker = match self.has_time {
            true => stream.mark_now(call).map(Some)?,
            false => stream.mark(call)?,
        };
        self.capture.clear();
        *lock(&self.record) = Some(Record { marker });
        Ok(())
    }

    /// Returns the marker of the last record; `None` if there was none, or nothing to wait for.
    pub(crate) fn marker(&self) -> Option<Marker> {
        lock(&self.record).as_ref().and_then(|record| record.marker.clone())
    }

    /// Whether the event was ever recorded.
    pub(crate) fn is_recorded(&self) -> bool {
        lock(&self.record).is_some()
    }

    /// Returns the time at which the last record was reached, in seconds of the system's counter.
    pub(crate) fn time(&self) -> Result<f64, NoTime> {
        match self.marker() {
            Some(marker) if self.has_time => match marker.is_reached() {
                true => marker.time().ok_or(NoTime::NotTimed),
                false => Err(NoTime::NotReached),
            },
            _ => Err(NoTime::NotTimed),
        }
    }
}
