//! Nodes of operations on single values of memory.

pub(crate) use super::nodes::{add, set, set_in_exec};
use super::payload::Payload;
use super::{ExecHandle, GraphHandle, NodeHandle};
use crate::abi::c_caller::{In, Out};
use crate::abi::status::{HipResult, Status};
use crate::copy::values::{MemOpParams, Operations};
use crate::process::ContextHandle;
use crate::process::Process;

/// `hipBatchMemOpNodeParams`.
#[repr(C)]
pub(crate) struct BatchParams {
    context: ContextHandle,
    count: u32,
    given: In<MemOpParams>,
    flags: u32,
}

impl Clone for BatchParams {
    fn clone(&self) -> Self {
        *self
    }
}

impl Copy for BatchParams {}

pub(crate) fn operations(process: &Process, params: In<BatchParams>) -> HipResult<Payload> {
    let BatchParams { count, given, flags, .. } = params.get()?;
    Ok(Payload::MemoryOperations(Operations::read(process, given, count, flags)?))
}

pub(crate) fn hipGraphAddBatchMemOpNode(
    process: &Process,
    node: Out<NodeHandle>,
    graph: GraphHandle,
    after: In<NodeHandle>,
    count: usize,
    params: In<BatchParams>,
) -> HipResult {
    add(process, node, graph, (after, count), || operations(process, params))
}

pub(crate) fn hipGraphBatchMemOpNodeGetParams(
    process: &Process,
    node: NodeHandle,
    params: Out<BatchParams>,
) -> HipResult {
    params.check()?;
    match &*process.graphs().node(node)?.payload() {
        Payload::MemoryOperations(operations) => params.set(BatchParams {
            context: process.context_handle(crate::process::thread::device()),
            count: operations.params.len() as u32,
            given: In::of(operations.params.as_ptr()),
            flags: 0,
        }),
        _ => Err(Status::INVALID_VALUE),
    }
}

pub(crate) fn hipGraphExecBatchMemOpNodeSetParams(
    process: &Process,
    exec: ExecHandle,
    node: NodeHandle,
    params: In<BatchParams>,
) -> HipResult {
    set_in_exec(process, exec, node, || operations(process, params))
}
