//! The functions that add nodes, and that get and set their parameters.

use super::payload::{CopyNode, KernelNode, Params, Payload, fill};
use super::{ExecHandle, GraphHandle, NodeHandle};
use crate::abi::c_caller::{Address, In, Out};
use crate::abi::status::{HipResult, Status};
use crate::abi::structs::{hipHostNodeParams, hipKernelNodeParams, hipMemcpy3DParms, hipMemsetParams};
use crate::copy::boxes::{BoxCopy, Side, from_parms};
use crate::copy::symbols;
use crate::process::Process;
use crate::process::call::call;
use crate::stream::event::EventHandle;

/// Adds a node that comes after others of the graph. `payload` is made after the other arguments were checked.
pub(super) fn add(
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
pub(super) fn set(
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
pub(super) fn set_in_exec(
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

pub(super) fn kernel(process: &Process, params: In<hipKernelNodeParams>) -> HipResult<Payload> {
    Ok(Payload::kernel(KernelNode::new(process, &params.get()?)?))
}

#[unsafe(export_name = "emulated_hipGraphAddKernelNode")]
extern "C" fn hipGraphAddKernelNode(
    node: Out<NodeHandle>,
    graph: GraphHandle,
    after: In<NodeHandle>,
    count: usize,
    params: In<hipKernelNodeParams>,
) -> Status {
    call("hipGraphAddKernelNode", |process| {
        add(process, node, graph, (after, count), || kernel(process, params))
    })
}

#[unsafe(export_name = "emulated_hipGraphKernelNodeGetParams")]
extern "C" fn hipGraphKernelNodeGetParams(node: NodeHandle, params: Out<hipKernelNodeParams>) -> Status {
    call("hipGraphKernelNodeGetParams", |process| {
        params.check()?;
        match &*process.graphs().node(node)?.payload() {
            Payload::Kernel(kernel, _) => params.set(kernel.params()),
            _ => Err(Status::INVALID_VALUE),
        }
    })
}

#[unsafe(export_name = "emulated_hipGraphKernelNodeSetParams")]
extern "C" fn hipGraphKernelNodeSetParams(node: NodeHandle, params: In<hipKernelNodeParams>) -> Status {
    call("hipGraphKernelNodeSetParams", |process| set(process, node, || kernel(process, params)))
}

#[unsafe(export_name = "emulated_hipGraphExecKernelNodeSetParams")]
extern "C" fn hipGraphExecKernelNodeSetParams(
    exec: ExecHandle,
    node: NodeHandle,
    params: In<hipKernelNodeParams>,
) -> Status {
    call("hipGraphExecKernelNodeSetParams", |process| {
        set_in_exec(process, exec, node, || kernel(process, params))
    })
}

pub(super) fn copy_3d(process: &Process, params: In<hipMemcpy3DParms>) -> HipResult<Payload> {
    let params = params.get()?;
    let copy = from_parms("hipGraphAddMemcpyNode", &params)?;
    Ok(Payload::Copy(CopyNode::new(process, copy, Params::Runtime(params))?))
}

#[unsafe(export_name = "emulated_hipGraphAddMemcpyNode")]
extern "C" fn hipGraphAddMemcpyNode(
    node: Out<NodeHandle>,
    graph: GraphHandle,
    after: In<NodeHandle>,
    count: usize,
    params: In<hipMemcpy3DParms>,
) -> Status {
    call("hipGraphAddMemcpyNode", |process| {
        add(process, node, graph, (after, count), || copy_3d(process, params))
    })
}

#[unsafe(export_name = "emulated_hipGraphMemcpyNodeGetParams")]
extern "C" fn hipGraphMemcpyNodeGetParams(node: NodeHandle, params: Out<hipMemcpy3DParms>) -> Status {
    call("hipGraphMemcpyNodeGetParams", |process| {
        params.check()?;
        match &*process.graphs().node(node)?.payload() {
            Payload::Copy(CopyNode { params: Params::Runtime(known), .. }) => params.set(*known),
            _ => Err(Status::INVALID_VALUE),
        }
    })
}

#[unsafe(export_name = "emulated_hipGraphMemcpyNodeSetParams")]
extern "C" fn hipGraphMemcpyNodeSetParams(node: NodeHandle, params: In<hipMemcpy3DParms>) -> Status {
    call("hipGraphMemcpyNodeSetParams", |process| set(process, node, || copy_3d(process, params)))
}

#[unsafe(export_name = "emulated_hipGraphExecMemcpyNodeSetParams")]
extern "C" fn hipGraphExecMemcpyNodeSetParams(
    exec: ExecHandle,
    node: NodeHandle,
    params: In<hipMemcpy3DParms>,
) -> Status {
    call("hipGraphExecMemcpyNodeSetParams", |process| {
        set_in_exec(process, exec, node, || copy_3d(process, params))
    })
}

/// A copy of one range.
fn copy_1d(process: &Process, dst: Address, src: Address, bytes: usize, kind: i32) -> HipResult<Payload> {
    let side = |start| Side { start, pitch: bytes, slice: bytes };
    let copy = BoxCopy { dst: side(dst), src: side(src), width: bytes, height: 1, depth: 1, kind };
    Ok(Payload::Copy(CopyNode::new(process, copy, Params::None)?))
}

fn copy_to_symbol(
    process: &Process,
    (symbol, src): (Address, Address),
    (bytes, offset): (usize, usize),
    kind: i32,
) -> HipResult<Payload> {
    if src.is_null() {
        return Err(Status::INVALID_VALUE);
    }
    copy_1d(process, symbols::address(process, symbol, bytes, offset)?, src, bytes, kind)
}

fn copy_from_symbol(
    process: &Process,
    (dst, symbol): (Address, Address),
    (bytes, offset): (usize, usize),
    kind: i32,
) -> HipResult<Payload> {
    if dst.is_null() {
        return Err(Status::INVALID_VALUE);
    }
    copy_1d(process, dst, symbols::address(process, symbol, bytes, offset)?, bytes, kind)
}

/// Declares the three functions of a copy of one range: add, set, set in an executable graph.
macro_rules! copies {
    ($($add:ident, $set:ident, $exec:ident($($argument:ident: $type:ty),*) = |$process:ident| $make:expr;)*) => {$(
        #[unsafe(export_name = concat!("emulated_", stringify!($add)))]
        extern "C" fn $add(
            node: Out<NodeHandle>,
            graph: GraphHandle,
            after: In<NodeHandle>,
            count: usize,
            $($argument: $type),*
        ) -> Status {
            call(stringify!($add), |$process| add($process, node, graph, (after, count), || $make))
        }

        #[unsafe(export_name = concat!("emulated_", stringify!($set)))]
        extern "C" fn $set(node: NodeHandle, $($argument: $type),*) -> Status {
            call(stringify!($set), |$process| set($process, node, || $make))
        }

        #[unsafe(export_name = concat!("emulated_", stringify!($exec)))]
        extern "C" fn $exec(exec: ExecHandle, node: NodeHandle, $($argument: $type),*) -> Status {
            call(stringify!($exec), |$process| set_in_exec($process, exec, node, || $make))
        }
    )*};
}

copies! {
    hipGraphAddMemcpyNode1D, hipGraphMemcpyNodeSetParams1D, hipGraphExecMemcpyNodeSetParams1D(
        dst: Address, src: Address, bytes: usize, kind: i32
    ) = |process| copy_1d(process, dst, src, bytes, kind);
    hipGraphAddMemcpyNodeToSymbol, hipGraphMemcpyNodeSetParamsToSymbol, hipGraphExecMemcpyNodeSetParamsToSymbol(
        symbol: Address, src: Address, bytes: usize, offset: usize, kind: i32
    ) = |process| copy_to_symbol(process, (symbol, src), (bytes, offset), kind);
    hipGraphAddMemcpyNodeFromSymbol, hipGraphMemcpyNodeSetParamsFromSymbol, hipGraphExecMemcpyNodeSetParamsFromSymbol(
        dst: Address, symbol: Address, bytes: usize, offset: usize, kind: i32
    ) = |process| copy_from_symbol(process, (dst, symbol), (bytes, offset), kind);
}

pub(super) fn memset(process: &Process, params: In<hipMemsetParams>) -> HipResult<Payload> {
    let params = params.get()?;
    fill(process, &params)?;
    Ok(Payload::Fill(params))
}

#[unsafe(export_name = "emulated_hipGraphAddMemsetNode")]
extern "C" fn hipGraphAddMemsetNode(
    node: Out<NodeHandle>,
    graph: GraphHandle,
    after: In<NodeHandle>,
    count: usize,
    params: In<hipMemsetParams>,
) -> Status {
    call("hipGraphAddMemsetNode", |process| {
        add(process, node, graph, (after, count), || memset(process, params))
    })
}

#[unsafe(export_name = "emulated_hipGraphMemsetNodeGetParams")]
extern "C" fn hipGraphMemsetNodeGetParams(node: NodeHandle, params: Out<hipMemsetParams>) -> Status {
    call("hipGraphMemsetNodeGetParams", |process| {
        params.check()?;
        match &*process.graphs().node(node)?.payload() {
            Payload::Fill(known) => params.set(*known),
            _ => Err(Status::INVALID_VALUE),
        }
    })
}

#[unsafe(export_name = "emulated_hipGraphMemsetNodeSetParams")]
extern "C" fn hipGraphMemsetNodeSetParams(node: NodeHandle, params: In<hipMemsetParams>) -> Status {
    call("hipGraphMemsetNodeSetParams", |process| set(process, node, || memset(process, params)))
}

#[unsafe(export_name = "emulated_hipGraphExecMemsetNodeSetParams")]
extern "C" fn hipGraphExecMemsetNodeSetParams(
    exec: ExecHandle,
    node: NodeHandle,
    params: In<hipMemsetParams>,
) -> Status {
    call("hipGraphExecMemsetNodeSetParams", |process| {
        set_in_exec(process, exec, node, || memset(process, params))
    })
}

pub(super) fn host(params: In<hipHostNodeParams>) -> HipResult<Payload> {
    let params = params.get()?;
    params.r#fn.check()?;
    Ok(Payload::Host(params.r#fn, params.userData))
}

#[unsafe(export_name = "emulated_hipGraphAddHostNode")]
extern "C" fn hipGraphAddHostNode(
    node: Out<NodeHandle>,
    graph: GraphHandle,
    after: In<NodeHandle>,
    count: usize,
    params: In<hipHostNodeParams>,
) -> Status {
    call("hipGraphAddHostNode", |process| add(process, node, graph, (after, count), || host(params)))
}

#[unsafe(export_name = "emulated_hipGraphHostNodeGetParams")]
extern "C" fn hipGraphHostNodeGetParams(node: NodeHandle, params: Out<hipHostNodeParams>) -> Status {
    call("hipGraphHostNodeGetParams", |process| {
        params.check()?;
        match *process.graphs().node(node)?.payload() {
            Payload::Host(function, data) => params.set(hipHostNodeParams { r#fn: function, userData: data }),
            _ => Err(Status::INVALID_VALUE),
        }
    })
}

#[unsafe(export_name = "emulated_hipGraphHostNodeSetParams")]
extern "C" fn hipGraphHostNodeSetParams(node: NodeHandle, params: In<hipHostNodeParams>) -> Status {
    call("hipGraphHostNodeSetParams", |process| set(process, node, || host(params)))
}

#[unsafe(export_name = "emulated_hipGraphExecHostNodeSetParams")]
extern "C" fn hipGraphExecHostNodeSetParams(
    exec: ExecHandle,
    node: NodeHandle,
    params: In<hipHostNodeParams>,
) -> Status {
    call("hipGraphExecHostNodeSetParams", |process| set_in_exec(process, exec, node, || host(params)))
}

#[unsafe(export_name = "emulated_hipGraphAddEmptyNode")]
extern "C" fn hipGraphAddEmptyNode(
    node: Out<NodeHandle>,
    graph: GraphHandle,
    after: In<NodeHandle>,
    count: usize,
) -> Status {
    call("hipGraphAddEmptyNode", |process| add(process, node, graph, (after, count), || Ok(Payload::Empty)))
}

/// The node has a copy of the graph.
pub(super) fn child_graph(process: &Process, child: GraphHandle) -> HipResult<Payload> {
    let child = process.graphs().graph(child)?;
    Ok(Payload::Child(process.graphs().copy(process, &child, true)?.0))
}

#[unsafe(export_name = "emulated_hipGraphAddChildGraphNode")]
extern "C" fn hipGraphAddChildGraphNode(
    node: Out<NodeHandle>,
    graph: GraphHandle,
    after: In<NodeHandle>,
    count: usize,
    child: GraphHandle,
) -> Status {
    call("hipGraphAddChildGraphNode", |process| {
        add(process, node, graph, (after, count), || child_graph(process, child))
    })
}

#[unsafe(export_name = "emulated_hipGraphExecChildGraphNodeSetParams")]
extern "C" fn hipGraphExecChildGraphNodeSetParams(
    exec: ExecHandle,
    node: NodeHandle,
    child: GraphHandle,
) -> Status {
    call("hipGraphExecChildGraphNodeSetParams", |process| {
        let exec = process.graphs().exec(exec)?;
        process.graphs().set_child(&exec, node, &*process.graphs().graph(child)?)
    })
}

/// Declares the functions of nodes that record an event or wait for one.
macro_rules! events {
    ($($add:ident, $get:ident, $set:ident, $exec:ident: $kind:ident;)*) => {$(
        #[unsafe(export_name = concat!("emulated_", stringify!($add)))]
        extern "C" fn $add(
            node: Out<NodeHandle>,
            graph: GraphHandle,
            after: In<NodeHandle>,
            count: usize,
            event: EventHandle,
        ) -> Status {
            call(stringify!($add), |process| {
                add(process, node, graph, (after, count), || of_event(process, event, Payload::$kind))
            })
        }

        #[unsafe(export_name = concat!("emulated_", stringify!($get)))]
        extern "C" fn $get(node: NodeHandle, event: Out<EventHandle>) -> Status {
            call(stringify!($get), |process| {
                event.check()?;
                match *process.graphs().node(node)?.payload() {
                    Payload::$kind(known) => event.set(known),
                    _ => Err(Status::INVALID_VALUE),
                }
            })
        }

        #[unsafe(export_name = concat!("emulated_", stringify!($set)))]
        extern "C" fn $set(node: NodeHandle, event: EventHandle) -> Status {
            call(stringify!($set), |process| set(process, node, || of_event(process, event, Payload::$kind)))
        }

        #[unsafe(export_name = concat!("emulated_", stringify!($exec)))]
        extern "C" fn $exec(exec: ExecHandle, node: NodeHandle, event: EventHandle) -> Status {
            call(stringify!($exec), |process| {
                set_in_exec(process, exec, node, || of_event(process, event, Payload::$kind))
            })
        }
    )*};
}

events! {
    hipGraphAddEventRecordNode, hipGraphEventRecordNodeGetEvent, hipGraphEventRecordNodeSetEvent,
        hipGraphExecEventRecordNodeSetEvent: EventRecord;
    hipGraphAddEventWaitNode, hipGraphEventWaitNodeGetEvent, hipGraphEventWaitNodeSetEvent,
        hipGraphExecEventWaitNodeSetEvent: EventWait;
}

pub(super) fn of_event(
    process: &Process,
    event: EventHandle,
    make: impl FnOnce(EventHandle) -> Payload,
) -> HipResult<Payload> {
    process.event(event).map_err(|_| Status::INVALID_VALUE)?;
    Ok(make(event))
}
