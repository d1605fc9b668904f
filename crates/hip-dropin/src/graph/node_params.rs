//! Nodes of any kind, whose parameters are in one structure.

use super::memory::{allocation, freeing};
pub(crate) use super::nodes::{add, set, set_in_exec};
use super::nodes::{child_graph, copy_3d, host, kernel, memset, of_event};
use super::payload::Payload;
use super::{ExecHandle, NodeHandle};
use crate::abi::c_caller::{Address, Handle};
use crate::abi::status::{HipResult, Status};
use crate::process::Process;

/// The parameters of a node of some kind, which lie behind the kind and three reserved numbers.
const PARAMS: usize = 16;
/// A copy's parameters lie behind its flags and three reserved numbers.
const COPY_PARAMS: usize = PARAMS + 16;

// hipGraphNodeType.
const CHILD: i32 = 4;
const ALLOCATE: i32 = 10;
const FREE: i32 = 11;

/// What a node does by a `hipGraphNodeParams`.
pub(crate) fn payload(process: &Process, node: Address) -> HipResult<Payload> {
    let params = node.offset(PARAMS);
    // A union's first member, for the kinds that have one value.
    let word = |at: Address| at.values::<u64>().get();
    match node.values::<i32>().get()? {
        0 => kernel(process, params.values()),
        1 => copy_3d(process, node.offset(COPY_PARAMS).values()),
        2 => memset(process, params.values()),
        3 => host(params.values()),
        CHILD => child_graph(process, Handle::new(word(params)?)),
        5 => Ok(Payload::Empty),
        6 => of_event(process, Handle::new(word(params)?), Payload::EventWait),
        7 => of_event(process, Handle::new(word(params)?), Payload::EventRecord),
        // Semaphores of graphics.
        8 | 9 => Err(Status::NOT_SUPPORTED),
        ALLOCATE => allocation(process, params.out()),
        FREE => freeing(process, Address(word(params)?)),
        _ => Err(Status::INVALID_VALUE),
    }
}

/// As [`payload`], for nodes that exist. A node keeps its kind and its memory.
pub(crate) fn new_payload(process: &Process, node: NodeHandle, params: Address) -> HipResult<Payload> {
    let kind = params.values::<i32>().get()?;
    if matches!(kind, ALLOCATE | FREE) {
        return Err(Status::NOT_SUPPORTED);
    }
    let is_child = matches!(*process.graphs().node(node)?.payload(), Payload::Child(_));
    // A child graph is copied, so this is not left to `set`.
    if (kind == CHILD) == is_child { payload(process, params) } else { Err(Status::INVALID_VALUE) }
}

pub(crate) fn hipGraphExecNodeSetParams(
    process: &Process,
    exec: ExecHandle,
    node: NodeHandle,
    params: Address,
) -> HipResult {
    if params.values::<i32>().get()? == CHILD {
        let child = Handle::new(params.offset(PARAMS).values::<u64>().get()?);
        let exec = process.graphs().exec(exec)?;
        return process.graphs().set_child(&exec, node, &*process.graphs().graph(child)?);
    }
    set_in_exec(process, exec, node, || new_payload(process, node, params))
}
