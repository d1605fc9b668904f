//! The nodes of copies and fills that HIP's driver API adds: with its own structures, and a context.

use std::sync::Arc;

pub(crate) use super::nodes::{add, set, set_in_exec};
use super::payload::{CopyNode, Params, Payload, fill};
use super::{GraphHandle, NodeHandle};
use crate::abi::version::Version;
use crate::abi::{Address, HipResult, In, Out, Status, hipMemsetParams};
use crate::copy::boxes::{from_drv_3d, read_drv_3d};
use crate::process::{ContextHandle, Process};

/// `HIP_MEMSET_NODE_PARAMS`, which HIP 7 replaced by `hipMemsetParams`.
#[derive(Clone, Copy)]
#[repr(C)]
struct MemsetParams {
    start: Address,
    pitch: usize,
    value: u32,
    element: u32,
    width: usize,
    height: usize,
}

pub(crate) fn copy(process: &Process, params: Address) -> HipResult<Payload> {
    let params = read_drv_3d(params)?;
    let copy = from_drv_3d(&params)?;
    Ok(Payload::Copy(CopyNode::new(process, copy, Params::Driver(Arc::new(params)))?))
}

pub(crate) fn memset(process: &Process, params: Address) -> HipResult<Payload> {
    let params = if Version::current() >= Version::Hip7 {
        params.values().get()?
    } else {
        let MemsetParams { start, pitch, value, element, width, height } = params.values().get()?;
        hipMemsetParams { dst: start, elementSize: element, height, pitch, value, width }
    };
    fill(process, &params)?;
    Ok(Payload::Fill(params))
}

pub(crate) fn hipDrvGraphAddMemcpyNode(
    process: &Process,
    node: Out<NodeHandle>,
    graph: GraphHandle,
    after: In<NodeHandle>,
    count: usize,
    params: Address,
    context: ContextHandle,
) -> HipResult {
    if context.is_null() {
        return Err(Status::INVALID_VALUE);
    }
    add(process, node, graph, (after, count), || copy(process, params))
}

pub(crate) fn hipDrvGraphMemcpyNodeGetParams(
    process: &Process,
    node: NodeHandle,
    params: Address,
) -> HipResult {
    match &*process.graphs().node(node)?.payload() {
        Payload::Copy(CopyNode { params: Params::Driver(known), .. }) => params.out().set(**known),
        _ => Err(Status::INVALID_VALUE),
    }
}
