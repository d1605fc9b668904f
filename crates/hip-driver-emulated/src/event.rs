//! Events: a mark of a stream, and the time at which it was reached.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use super::stream::{Mark, Stream};
use hip_driver::DeviceId;
use hip_driver::driver_captures::EventCapture;

use super::command::Command;

/// An event. Recording it again replaces its mark; waits that were enqueued before keep the earlier mark.
pub(super) struct Event {
    pub(super) device: DeviceId,
    pub(super) timing: bool,
    record: Mutex<Option<Record>>,
    pub(super) capture: EventCapture,
    /// The number of the newest record that was reached, and the time.
    reached: Mutex<Option<(u64, Instant)>>,
}

#[derive(Clone)]
struct Record {
    /// The number of the record among the event's records, from 1.
    number: u64,
    mark: Mark,
}

/// Why an event has no time.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum NoTime {
    /// It was created without timing, or never recorded.
    NotTimed,
    /// Its last record has not been reached.
    NotReached,
}

impl Event {
    pub(super) fn new(device: DeviceId, timing: bool) -> Self {
        Event {
            device,
            timing,
            record: Mutex::new(None),
            capture: EventCapture::default(),
            reached: Mutex::new(None),
        }
    }

    /// Records the event after all work that is on the stream now. Returns `false` if the stream was destroyed
    /// meanwhile.
    pub(super) fn record(self: &Arc<Self>, stream: &Arc<Stream>) -> bool {
        self.capture.clear();
        let mut record = self.record.lock().unwrap_or_else(PoisonError::into_inner);
        let number = record.as_ref().map_or(1, |r| r.number + 1);
        let mark = if self.timing {
            let Some(sequence) =
                stream.push(|_| Command::EventReached { event: Arc::clone(self), record: number })
            else {
                return false;
            };
            Mark { stream: Arc::clone(stream), sequence }
        } else {
            // Without the time there is no command: the event is reached with the stream's last command.
            stream.mark()
        };
        *record = Some(Record { number, mark });
        true
    }

    /// Returns the mark of the last record; `None` if there was none.
    pub(super) fn mark(&self) -> Option<Mark> {
        self.record.lock().unwrap_or_else(PoisonError::into_inner).as_ref().map(|r| r.mark.clone())
    }

    /// Keeps the time at which record `number` was reached. Called by the worker.
    pub(super) fn reach(&self, number: u64) {
        let now = Instant::now();
        let mut reached = self.reached.lock().unwrap_or_else(PoisonError::into_inner);
        // Records on two streams may be reached in either order. The newest record's time is kept.
        if reached.is_none_or(|(newest, _)| newest <= number) {
            *reached = Some((number, now));
        }
    }

    /// Returns the time at which the last record was reached.
    pub(super) fn time(&self) -> Result<Instant, NoTime> {
        let record = self.record.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(last) = record.as_ref().filter(|_| self.timing) else { return Err(NoTime::NotTimed) };
        if !last.mark.is_reached() {
            return Err(NoTime::NotReached);
        }
        let reached = self.reached.lock().unwrap_or_else(PoisonError::into_inner);
        match *reached {
            Some((number, when)) if number == last.number => Ok(when),
            // Reached, but its command was skipped: the device is lost.
            _ => Err(NoTime::NotReached),
        }
    }
}
