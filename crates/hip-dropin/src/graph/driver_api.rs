//! The nodes of copies and fills that HIP's driver API adds: with its own structures, and a context.

use std::sync::Arc;

use super::nodes::{add, set, set_in_exec};
use super::payload::{CopyNode, Params, Payload, fill};
use super::{ExecHandle, GraphHandle, NodeHandle};
use crate::abi::c_caller::{Address, In, Out};
use crate::abi::status::{HipResult, Status};
use crate::abi::structs::hipMemsetParams;
use crate::abi::version::Version;
use crate::copy::boxes::{from_drv_3d, read_drv_3d};
use crate::process::ContextHandle;
use crate::process::Process;
use crate::process::call::call;

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

fn copy(process: &Process, params: Address) -> HipResult<Payload> {
    let params = read_drv_3d(params)?;
    let copy = from_drv_3d("hipDrvGraphAddMemcpyNode", &params)?;
    Ok(Payload::Copy(CopyNode::new(process, copy, Params::Driver(Arc::new(params)))?))
}

fn memset(process: &Process, params: Address) -> HipResult<Payload> {
    let params = if Version::current() >= Version::Hip7 {
        params.values().get()?
    } else {
        let MemsetParams { start, pitch, value, element, width, height } = params.values().get()?;
        hipMemsetParams { dst: start, elementSize: element, height, pitch, value, width }
    };
    fill(process, &params)?;
    Ok(Payload::Fill(params))
}

#[unsafe(export_name = "emulated_hipDrvGraphAddMemcpyNode")]
extern "C" fn hipDrvGraphAddMemcpyNode(
    node: Out<NodeHandle>,
    graph: GraphHandle,
    after: In<NodeHandle>,
    count: usize,
    params: Address,
    context: ContextHandle,
) -> Status {
    call("hipDrvGraphAddMemcpyNode", |process| {
        if context.is_null() {
            return Err(Status::INVALID_VALUE);
        }
        add(process, node, graph, (after, count), || copy(process, params))
    })
}

#[unsafe(export_name = "emulated_hipDrvGraphMemcpyNodeGetParams")]
extern "C" fn hipDrvGraphMemcpyNodeGetParams(node: NodeHandle, params: Address) -> Status {
    call("hipDrvGraphMemcpyNodeGetParams", |process| match &*process.graphs().node(node)?.payload() {
        Payload::Copy(CopyNode { params: Params::Driver(known), .. }) => params.out().set(**known),
        _ => Err(Status::INVALID_VALUE),
    })
}

#[unsafe(export_name = "emulated_hipDrvGraphMemcpyNodeSetParams")]
extern "C" fn hipDrvGraphMemcpyNodeSetParams(node: NodeHandle, params: Address) -> Status {
    call("hipDrvGraphMemcpyNodeSetParams", |process| set(process, node, || copy(process, params)))
}

#[unsafe(export_name = "emulated_hipDrvGraphExecMemcpyNodeSetParams")]
extern "C" fn hipDrvGraphExecMemcpyNodeSetParams(
    exec: ExecHandle,
    node: NodeHandle,
    params: Address,
    _context: ContextHandle,
) -> Status {
    call("hipDrvGraphExecMemcpyNodeSetParams", |process| {
        set_in_exec(process, exec, node, || copy(process, params))
    })
}

#[unsafe(export_name = "emulated_hipDrvGraphAddMemsetNode")]
extern "C" fn hipDrvGraphAddMemsetNode(
    node: Out<NodeHandle>,
    graph: GraphHandle,
    after: In<NodeHandle>,
    count: usize,
    params: Address,
    _context: ContextHandle,
) -> Status {
    call("hipDrvGraphAddMemsetNode", |process| {
        add(process, node, graph, (after, count), || memset(process, params))
    })
}

#[unsafe(export_name = "emulated_hipDrvGraphExecMemsetNodeSetParams")]
extern "C" fn hipDrvGraphExecMemsetNodeSetParams(
    exec: ExecHandle,
    node: NodeHandle,
    params: Address,
    _context: ContextHandle,
) -> Status {
    call("hipDrvGraphExecMemsetNodeSetParams", |process| {
        set_in_exec(process, exec, node, || memset(process, params))
    })
}
