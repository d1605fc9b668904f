//! Events.

use hip_driver::{Call, EventOptions, Output, RawEvent};

use super::{Forward, Interposed};
use crate::abi::c_caller::Out;
use crate::abi::status::Status;
use crate::stream::StreamHandle;
use crate::stream::event::EventHandle;

/// `hipEventDisableTiming`.
const DISABLE_TIMING: u32 = 2;

pub(crate) fn create(over: &Interposed, forward: Forward<'_>, made: Out<EventHandle>, flags: u32) -> Status {
    let device = over.device();
    let options = EventOptions { timing: flags & DISABLE_TIMING == 0 };
    over.observe(&Call::EventCreate { device, options }, forward, || {
        made.get().map_or(Output::None, |event| {
            over.add_event(event.0, device);
            Output::Event(RawEvent(event.0))
        })
    })
}

pub(crate) fn record(
    over: &Interposed,
    forward: Forward<'_>,
    event: EventHandle,
    stream: StreamHandle,
) -> Status {
    if event.is_null() {
        return forward();
    }
    let ((device, event), (stream_device, stream)) = (over.event(event), over.stream(stream));
    if device != stream_device || over.hides_work() {
        return forward();
    }
    over.observe(&Call::EventRecord { device, event, stream }, forward, || Output::None)
}

impl Interposed {
    /// A launch recorded an event.
    pub(super) fn recorded(&self, event: EventHandle, stream: StreamHandle) {
        if event.is_null() {
            return;
        }
        let ((device, event), (stream_device, stream)) = (self.event(event), self.stream(stream));
        if device == stream_device && !self.hides_work() {
            self.tell(&Call::EventRecord { device, event, stream }, Output::None);
        }
    }
}

pub(crate) fn hipEventDestroy(over: &Interposed, forward: Forward<'_>, event: EventHandle) -> Status {
    if event.is_null() {
        return forward();
    }
    let (device, event) = over.event(event);
    over.observe(&Call::EventDestroy { device, event }, forward, || Output::None)
}

pub(crate) fn hipEventQuery(over: &Interposed, forward: Forward<'_>, event: EventHandle) -> Status {
    if event.is_null() {
        return forward();
    }
    let (device, event) = over.event(event);
    let call = Call::EventQuery { device, event };
    over.observe_as(&call, forward, |status| (call, Output::Answer(status == Status::SUCCESS)))
}

pub(crate) fn hipEventSynchronize(over: &Interposed, forward: Forward<'_>, event: EventHandle) -> Status {
    if event.is_null() {
        return forward();
    }
    let (device, event) = over.event(event);
    over.observe(&Call::EventSynchronize { device, event }, forward, || Output::None)
}

pub(crate) fn hipEventElapsedTime(
    over: &Interposed,
    forward: Forward<'_>,
    milliseconds: Out<f32>,
    start: EventHandle,
    end: EventHandle,
) -> Status {
    if start.is_null() || end.is_null() {
        return forward();
    }
    let ((device, start), (other, end)) = (over.event(start), over.event(end));
    if device != other {
        return forward();
    }
    over.observe(&Call::EventElapsed { device, start, end }, forward, || {
        Output::Milliseconds(milliseconds.get().unwrap_or(0.0))
    })
}
