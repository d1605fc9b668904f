//! The functions that begin and end captures of streams, and those that ask about them.

use hip_driver::captures::exchange_thread_mode;
use hip_driver::{CaptureMode, CaptureStatus};

use crate::abi::c_caller::{Address, In, Out};
use crate::abi::status::{HipResult, Status};
use crate::graph::{GraphHandle, NodeHandle};
use crate::process::Process;
use crate::stream::StreamHandle;

/// The modes by `hipStreamCaptureMode`.
const MODES: [CaptureMode; 3] = [CaptureMode::Global, CaptureMode::ThreadLocal, CaptureMode::Relaxed];

fn mode_of(number: i32) -> HipResult<CaptureMode> {
    usize::try_from(number).ok().and_then(|index| MODES.get(index).copied()).ok_or(Status::INVALID_VALUE)
}

/// `hipStreamCaptureStatus`.
fn number(status: CaptureStatus) -> i32 {
    match status {
        CaptureStatus::None => 0,
        CaptureStatus::Active => 1,
        CaptureStatus::Invalidated => 2,
    }
}

pub(crate) fn hipThreadExchangeStreamCaptureMode(mode: Out<i32>) -> HipResult {
    let old = exchange_thread_mode(mode_of(mode.get()?)?);
    mode.set(MODES.iter().position(|&known| known == old).map_or(0, |index| index as i32))
}

pub(crate) fn hipStreamBeginCapture(process: &Process, stream: StreamHandle, mode: i32) -> HipResult {
    let mode = mode_of(mode)?;
    process.begin_capture(process.stream(stream)?, mode)
}

pub(crate) fn hipStreamEndCapture(
    process: &Process,
    stream: StreamHandle,
    graph: Out<GraphHandle>,
) -> HipResult {
    graph.check()?;
    graph.set(GraphHandle::NULL)?;
    graph.set(process.end_capture(process.stream(stream)?)?)
}

pub(crate) fn hipStreamIsCapturing(process: &Process, stream: StreamHandle, status: Out<i32>) -> HipResult {
    status.check()?;
    status.set(number(process.capture_info(process.stream(stream)?).status))
}

pub(crate) fn hipStreamGetCaptureInfo(
    process: &Process,
    stream: StreamHandle,
    status: Out<i32>,
    id: Out<u64>,
) -> HipResult {
    status.check()?;
    let info = process.capture_info(process.stream(stream)?);
    id.set_if_wanted(info.id);
    status.set(number(info.status))
}

pub(crate) fn hipStreamGetCaptureInfo_v2(
    process: &Process,
    stream: StreamHandle,
    status: Out<i32>,
    id: Out<u64>,
    graph: Out<GraphHandle>,
    after: Out<Address>,
    count: Out<usize>,
) -> HipResult {
    status.check()?;
    let info = process.capture_info(process.stream(stream)?);
    id.set_if_wanted(info.id);
    graph.set_if_wanted(info.graph);
    after.set_if_wanted(info.after);
    count.set_if_wanted(info.count);
    status.set(number(info.status))
}

/// Edges between nodes have no data here, as in clr.
pub(crate) fn hipStreamBeginCaptureToGraph(
    process: &Process,
    stream: StreamHandle,
    graph: GraphHandle,
    after: In<NodeHandle>,
    edge_data: Address,
    count: usize,
    mode: i32,
) -> HipResult {
    if !edge_data.is_null() {
        return Err(Status::NOT_SUPPORTED);
    }
    if after.is_null() != (count == 0) {
        return Err(Status::INVALID_VALUE);
    }
    let (mode, on) = (mode_of(mode)?, process.stream(stream)?);
    let after = after.array(count)?.iter().map(|node| node.0).collect();
    process.begin_capture_to(on, mode, graph, after)
}

/// `hipStreamSetCaptureDependencies`; 0 adds dependencies.
const SET: u32 = 1;

pub(crate) fn hipStreamUpdateCaptureDependencies(
    process: &Process,
    stream: StreamHandle,
    nodes: In<NodeHandle>,
    count: usize,
    flags: u32,
) -> HipResult {
    let on = process.stream(stream)?;
    if process.capture_info(on).status == CaptureStatus::None {
        return Err(Status::ILLEGAL_STATE);
    }
    if flags > SET {
        return Err(Status::INVALID_VALUE);
    }
    let nodes = nodes.array(count)?.iter().map(|node| node.0).collect();
    process.set_capture_dependencies(on, nodes, flags == SET)
}
