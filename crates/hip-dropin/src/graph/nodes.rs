//! The functions that add nodes, and that get and set their parameters.

use super::payload::{CopyNode, KernelNode, Params, Payload, fill};
use super::{ExecHandle, GraphHandle, NodeHandle};
use crate::abi::{
    Address, HipResult, In, Out, Status, hipHostNodeParams, hipKernelNodeParams, hipMemcpy3DParms,
    hipMemsetParams,
};
use crate::copy::boxes::{BoxCopy, Side, from_parms};
use crate::copy::bytes::{self, ByteCopy, SymbolCopy};
use crate::process::Process;
use crate::stream::EventHandle;

/// Adds a node that comes after others of the graph. `payload` is made after the other arguments were checked.
pub(crate) fn add(
    process: &Process,
    node: Out<NodeHandle>,
    graph: GraphHandle,
    (after, count): (In<NodeHandle>, usize),
    payload: impl FnOnce() -> HipResult<Payload>,
) -> HipResult {
    node.check()?;
    process.graphs().graph(graph)?;
    let after: Vec<u64> = after.array(count)?.into_iter().map(|node| node.0).collect();
    for (index, dependency) in after.iter().enumerate() {
        let found = process.graphs().node(NodeHandle::new(*dependency))?;
        if found.graph != graph.0 || after[..index].contains(dependency) {
            return Err(Status::INVALID_VALUE);
        }
    }
    node.set(process.graphs().add(graph, after, payload()?, None)?)
}

/// Sets what a node does, if it is of the same kind as before.
pub(crate) fn set(
    process: &Process,
    node: NodeHandle,
    payload: impl FnOnce() -> HipResult<Payload>,
) -> HipResult {
    let node = process.graphs().node(node)?;
    let new = payload()?;
    let mut old = node.payload();
    same_kind(&old, &new)?;
    process.graphs().discard(process, &old);
    old.replace(new);
    Ok(())
}

/// Sets what a node of an executable graph does.
pub(crate) fn set_in_exec(
    process: &Process,
    exec: ExecHandle,
    node: NodeHandle,
    payload: impl FnOnce() -> HipResult<Payload>,
) -> HipResult {
    let exec = process.graphs().exec(exec)?;
    process.graphs().node(node)?;
    exec.set(node, payload()?, same_kind)
}

fn same_kind(old: &Payload, new: &Payload) -> HipResult {
    if old.node_type() == new.node_type() { Ok(()) } else { Err(Status::INVALID_VALUE) }
}

pub(crate) fn kernel(process: &Process, params: In<hipKernelNodeParams>) -> HipResult<Payload> {
    Ok(Payload::kernel(KernelNode::new(process, &params.get()?)?))
}

pub(crate) fn hipGraphKernelNodeGetParams(
    process: &Process,
    node: NodeHandle,
    params: Out<hipKernelNodeParams>,
) -> HipResult {
    params.check()?;
    match &*process.graphs().node(node)?.payload() {
        Payload::Kernel(kernel, _) => params.set(kernel.params()),
        _ => Err(Status::INVALID_VALUE),
    }
}

pub(crate) fn copy_3d(process: &Process, params: In<hipMemcpy3DParms>) -> HipResult<Payload> {
    let params = params.get()?;
    let copy = from_parms(&params)?;
    Ok(Payload::Copy(CopyNode::new(process, copy, Params::Runtime(params))?))
}

pub(crate) fn hipGraphMemcpyNodeGetParams(
    process: &Process,
    node: NodeHandle,
    params: Out<hipMemcpy3DParms>,
) -> HipResult {
    params.check()?;
    match &*process.graphs().node(node)?.payload() {
        Payload::Copy(CopyNode { params: Params::Runtime(known), .. }) => params.set(*known),
        _ => Err(Status::INVALID_VALUE),
    }
}

/// A copy of one range.
pub(crate) fn copy_1d(
    process: &Process,
    dst: Address,
    src: Address,
    bytes: usize,
    kind: i32,
) -> HipResult<Payload> {
    let side = |start| Side { start, pitch: bytes, slice: bytes };
    let copy = BoxCopy { dst: side(dst), src: side(src), width: bytes, height: 1, depth: 1, kind };
    Ok(Payload::Copy(CopyNode::new(process, copy, Params::None)?))
}

/// A copy from or to a variable on the current device.
pub(crate) fn copy_symbol(process: &Process, copy: SymbolCopy) -> HipResult<Payload> {
    if copy.memory.is_null() {
        return Err(Status::INVALID_VALUE);
    }
    let variable = bytes::address(process, copy.symbol, copy.bytes, copy.offset)?;
    let ByteCopy { dst, src, bytes, kind } = copy.between(variable);
    copy_1d(process, dst, src, bytes, kind)
}

pub(crate) fn memset(process: &Process, params: In<hipMemsetParams>) -> HipResult<Payload> {
    let params = params.get()?;
    fill(process, &params)?;
    Ok(Payload::Fill(params))
}

pub(crate) fn hipGraphMemsetNodeGetParams(
    process: &Process,
    node: NodeHandle,
    params: Out<hipMemsetParams>,
) -> HipResult {
    params.check()?;
    match &*process.graphs().node(node)?.payload() {
        Payload::Fill(known) => params.set(*known),
        _ => Err(Status::INVALID_VALUE),
    }
}

pub(crate) fn host(params: In<hipHostNodeParams>) -> HipResult<Payload> {
    let params = params.get()?;
    params.r#fn.check()?;
    Ok(Payload::Host(params.r#fn, params.userData))
}

pub(crate) fn hipGraphHostNodeGetParams(
    process: &Process,
    node: NodeHandle,
    params: Out<hipHostNodeParams>,
) -> HipResult {
    params.check()?;
    match *process.graphs().node(node)?.payload() {
        Payload::Host(function, data) => params.set(hipHostNodeParams { r#fn: function, userData: data }),
        _ => Err(Status::INVALID_VALUE),
    }
}

/// The node has a copy of the graph.
pub(crate) fn child_graph(process: &Process, child: GraphHandle) -> HipResult<Payload> {
    let child = process.graphs().graph(child)?;
    Ok(Payload::Child(process.graphs().copy(process, &child, true)?.0))
}

pub(crate) fn hipGraphExecChildGraphNodeSetParams(
    process: &Process,
    exec: ExecHandle,
    node: NodeHandle,
    child: GraphHandle,
) -> HipResult {
    let exec = process.graphs().exec(exec)?;
    process.graphs().set_child(&exec, node, &*process.graphs().graph(child)?)
}

/// Writes the event that a node records, or for which it waits.
pub(crate) fn get_event(
    process: &Process,
    node: NodeHandle,
    event: Out<EventHandle>,
    records: bool,
) -> HipResult {
    event.check()?;
    match *process.graphs().node(node)?.payload() {
        Payload::EventRecord(known) if records => event.set(known),
        Payload::EventWait(known) if !records => event.set(known),
        _ => Err(Status::INVALID_VALUE),
    }
}

pub(crate) fn of_event(
    process: &Process,
    event: EventHandle,
    make: impl FnOnce(EventHandle) -> Payload,
) -> HipResult<Payload> {
    process.event(event).map_err(|_| Status::INVALID_VALUE)?;
    Ok(make(event))
}
