//! Streams, waiting, and functions of the host in stream order.

use hip_driver::{Call, HostFunction, Output, RawEvent, RawStream, StreamOptions, Work};

use super::{Forward, Interposed};
use crate::abi::c_caller::Out;
use crate::abi::status::Status;
use crate::stream::StreamHandle;
use crate::stream::event::EventHandle;

/// `hipStreamNonBlocking`.
const NON_BLOCKING: u32 = 1;
/// HIP's number of version 6.0.
const HIP_6: i32 = 60_000_000;

pub(crate) fn create(
    over: &Interposed,
    forward: Forward<'_>,
    made: Out<StreamHandle>,
    flags: u32,
    priority: Option<i32>,
) -> Status {
    let device = over.device();
    let options = StreamOptions { priority, blocking: flags & NON_BLOCKING == 0 };
    over.observe(&Call::StreamCreate { device, options }, forward, || {
        made.get().map_or(Output::None, |stream| {
            over.add_stream(stream.0, device, options.blocking);
            Output::Stream(RawStream(stream.0))
        })
    })
}

pub(crate) fn synchronize(over: &Interposed, forward: Forward<'_>, stream: StreamHandle) -> Status {
    let (device, stream) = over.stream(stream);
    if over.hides_work() {
        return forward();
    }
    let status = over.observe(&Call::StreamSynchronize { device, stream }, forward, || Output::None);
    // Before HIP 6, this waits for the null stream too.
    let old = over.hip().is_some_and(|hip| hip.runtime_version() < HIP_6);
    if status == Status::SUCCESS && old && over.is_blocking(stream) {
        over.tell(&Call::StreamSynchronize { device, stream: RawStream::NULL }, Output::None);
    }
    status
}

pub(crate) fn query(over: &Interposed, forward: Forward<'_>, stream: StreamHandle) -> Status {
    let (device, stream) = over.stream(stream);
    if over.hides_work() {
        return forward();
    }
    let call = Call::StreamQuery { device, stream };
    over.observe_as(&call, forward, |status| (call, Output::Answer(status == Status::SUCCESS)))
}

pub(crate) fn wait(
    over: &Interposed,
    forward: Forward<'_>,
    stream: StreamHandle,
    event: EventHandle,
) -> Status {
    if event.is_null() {
        return forward();
    }
    let ((device, stream), (_, RawEvent(event))) = (over.stream(stream), over.event(event));
    if over.hides_work() {
        return forward();
    }
    over.observe(&Call::StreamWaitEvent { device, stream, event: RawEvent(event) }, forward, || Output::None)
}

pub(crate) fn host_function(over: &Interposed, forward: Forward<'_>, stream: StreamHandle) -> Status {
    let (device, stream) = over.stream(stream);
    if over.hides_work() {
        return forward();
    }
    // AMD's library runs the program's function; the layers see that there is one. When it runs is not known.
    let function = HostFunction::new(|| {});
    let work = Work::HostFunction(&function);
    let status = over.observe(&Call::Enqueue { device, stream, work: &work }, forward, || Output::None);
    over.forget_order();
    status
}

pub(crate) fn synchronize_device(over: &Interposed, forward: Forward<'_>) -> Status {
    let device = over.device();
    over.observe(&Call::DeviceSynchronize { device }, forward, || Output::None)
}

/// A wait for what no call says.
pub(crate) fn unknown_order(over: &Interposed, forward: Forward<'_>) -> Status {
    over.forget_order();
    forward()
}

pub(crate) fn hipStreamDestroy(over: &Interposed, forward: Forward<'_>, stream: StreamHandle) -> Status {
    let (device, stream) = over.stream(stream);
    if stream.is_default() {
        return forward();
    }
    over.observe(&Call::StreamDestroy { device, stream }, forward, || Output::None)
}
