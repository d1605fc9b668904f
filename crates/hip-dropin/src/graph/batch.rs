//! Nodes of operations on single values of memory.

use super::nodes::{add, set, set_in_exec};
use super::payload::Payload;
use super::{ExecHandle, GraphHandle, NodeHandle};
use crate::abi::c_caller::{In, Out};
use crate::abi::status::{HipResult, Status};
use crate::copy::values::{Given, Operations};
use crate::process::ContextHandle;
use crate::process::Process;
use crate::process::call::call;

/// `hipBatchMemOpNodeParams`.
#[repr(C)]
struct BatchParams {
    context: ContextHandle,
    count: u32,
    given: In<Given>,
    flags: u32,
}

impl Clone for BatchParams {
    fn clone(&self) -> Self {
        *self
    }
}

impl Copy for BatchParams {}

fn operations(process: &Process, params: In<BatchParams>) -> HipResult<Payload> {
    let BatchParams { count, given, flags, .. } = params.get()?;
    Ok(Payload::MemoryOperations(Operations::read(process, given, count, flags)?))
}

#[unsafe(export_name = "emulated_hipGraphAddBatchMemOpNode")]
extern "C" fn hipGraphAddBatchMemOpNode(
    node: Out<NodeHandle>,
    graph: GraphHandle,
    after: In<NodeHandle>,
    count: usize,
    params: In<BatchParams>,
) -> Status {
    call("hipGraphAddBatchMemOpNode", |process| {
        add(process, node, graph, (after, count), || operations(process, params))
    })
}

#[unsafe(export_name = "emulated_hipGraphBatchMemOpNodeGetParams")]
extern "C" fn hipGraphBatchMemOpNodeGetParams(node: NodeHandle, params: Out<BatchParams>) -> Status {
    call("hipGraphBatchMemOpNodeGetParams", |process| {
        params.check()?;
        match &*process.graphs().node(node)?.payload() {
            Payload::MemoryOperations(operations) => params.set(BatchParams {
                context: process.context_handle(crate::process::thread::device()),
                count: operations.given.len() as u32,
                given: In::of(operations.given.as_ptr()),
                flags: 0,
            }),
            _ => Err(Status::INVALID_VALUE),
        }
    })
}

#[unsafe(export_name = "emulated_hipGraphBatchMemOpNodeSetParams")]
extern "C" fn hipGraphBatchMemOpNodeSetParams(node: NodeHandle, params: In<BatchParams>) -> Status {
    call("hipGraphBatchMemOpNodeSetParams", |process| set(process, node, || operations(process, params)))
}

#[unsafe(export_name = "emulated_hipGraphExecBatchMemOpNodeSetParams")]
extern "C" fn hipGraphExecBatchMemOpNodeSetParams(
    exec: ExecHandle,
    node: NodeHandle,
    params: In<BatchParams>,
) -> Status {
    call("hipGraphExecBatchMemOpNodeSetParams", |process| {
        set_in_exec(process, exec, node, || operations(process, params))
    })
}
