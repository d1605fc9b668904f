//! Streams, waiting, and functions of the host in stream order.

use hip_driver::{Call, HostFunction, Output, RawEvent, RawStream, StreamOptions, Work};

use super::{Forward, Interposed, wrappers};
use crate::abi::c_caller::{Address, HostFn, In, Out, UserData};
use crate::abi::status::Status;
use crate::stream::StreamHandle;
use crate::stream::callbacks::StreamCallback;
use crate::stream::event::EventHandle;

/// `hipStreamNonBlocking`.
const NON_BLOCKING: u32 = 1;
/// HIP's number of version 6.0.
const HIP_6: i32 = 60_000_000;

fn create(
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

fn synchronize(over: &Interposed, forward: Forward<'_>, stream: StreamHandle) -> Status {
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

fn query(over: &Interposed, forward: Forward<'_>, stream: StreamHandle) -> Status {
    let (device, stream) = over.stream(stream);
    if over.hides_work() {
        return forward();
    }
    let call = Call::StreamQuery { device, stream };
    over.observe_as(&call, forward, |status| (call, Output::Answer(status == Status::SUCCESS)))
}

fn wait(over: &Interposed, forward: Forward<'_>, stream: StreamHandle, event: EventHandle) -> Status {
    if event.is_null() {
        return forward();
    }
    let ((device, stream), (_, RawEvent(event))) = (over.stream(stream), over.event(event));
    if over.hides_work() {
        return forward();
    }
    over.observe(&Call::StreamWaitEvent { device, stream, event: RawEvent(event) }, forward, || Output::None)
}

fn host_function(over: &Interposed, forward: Forward<'_>, stream: StreamHandle) -> Status {
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

fn synchronize_device(over: &Interposed, forward: Forward<'_>) -> Status {
    let device = over.device();
    over.observe(&Call::DeviceSynchronize { device }, forward, || Output::None)
}

/// A wait for what no call says.
fn unknown_order(over: &Interposed, forward: Forward<'_>) -> Status {
    over.forget_order();
    forward()
}

wrappers! {
    hipDeviceSynchronize() = |over, forward| synchronize_device(over, forward);
    hipCtxSynchronize() = |over, forward| synchronize_device(over, forward);
    hipStreamCreate(stream: Out<StreamHandle>) = |over, forward| create(over, forward, stream, 0, None);
    hipStreamCreateWithFlags(stream: Out<StreamHandle>, flags: u32) = |over, forward| {
        create(over, forward, stream, flags, None)
    };
    hipStreamCreateWithPriority(stream: Out<StreamHandle>, flags: u32, priority: i32) = |over, forward| {
        create(over, forward, stream, flags, Some(priority))
    };
    hipExtStreamCreateWithCUMask(stream: Out<StreamHandle>, _words: u32, _mask: In<u32>) = |over, forward| {
        create(over, forward, stream, 0, None)
    };
    hipStreamDestroy(stream: StreamHandle) = |over, forward| {
        let (device, stream) = over.stream(stream);
        if stream.is_default() {
            return forward();
        }
        over.observe(&Call::StreamDestroy { device, stream }, forward, || Output::None)
    };
    hipStreamSynchronize(stream: StreamHandle) = |over, forward| synchronize(over, forward, stream);
    hipStreamSynchronize_spt(stream: StreamHandle) = |over, forward| {
        synchronize(over, forward, stream.or_per_thread())
    };
    hipStreamQuery(stream: StreamHandle) = |over, forward| query(over, forward, stream);
    hipStreamQuery_spt(stream: StreamHandle) = |over, forward| query(over, forward, stream.or_per_thread());
    hipStreamWaitEvent(stream: StreamHandle, event: EventHandle, _flags: u32) = |over, forward| {
        wait(over, forward, stream, event)
    };
    hipStreamWaitEvent_spt(stream: StreamHandle, event: EventHandle, _flags: u32) = |over, forward| {
        wait(over, forward, stream.or_per_thread(), event)
    };
    hipLaunchHostFunc(stream: StreamHandle, _function: HostFn, _data: UserData) = |over, forward| {
        host_function(over, forward, stream)
    };
    hipLaunchHostFunc_spt(stream: StreamHandle, _function: HostFn, _data: UserData) = |over, forward| {
        host_function(over, forward, stream.or_per_thread())
    };
    hipStreamAddCallback(stream: StreamHandle, _callback: StreamCallback, _data: UserData, _flags: u32) = |over, forward| {
        host_function(over, forward, stream)
    };
    hipStreamAddCallback_spt(stream: StreamHandle, _callback: StreamCallback, _data: UserData, _flags: u32) = |over, forward| {
        host_function(over, forward, stream.or_per_thread())
    };
    hipStreamWaitValue32(_stream: StreamHandle, _at: Address, _value: u32, _flags: u32, _mask: u32) = |over, forward| {
        unknown_order(over, forward)
    };
    hipStreamWaitValue64(_stream: StreamHandle, _at: Address, _value: u64, _flags: u32, _mask: u64) = |over, forward| {
        unknown_order(over, forward)
    };
    hipStreamBatchMemOp(_stream: StreamHandle, _count: u32, _operations: Address, _flags: u32) = |over, forward| {
        unknown_order(over, forward)
    };
    hipWaitExternalSemaphoresAsync(_semaphores: Address, _params: Address, _count: u32, _stream: StreamHandle) = |over, forward| {
        unknown_order(over, forward)
    };
}
