//! Nodes that the program adds to a graph.
//!
//! A node that the layers can't judge is an empty node to them, so that they know what comes after it: copies from or to
//! memory that is not pinned, memory of other devices, functions of the host, child graphs, allocations.

use std::cell::Cell;

use hip_driver::{AccessRange, Call, DeviceId, Output, RawGraph, RawGraphNode, Space, Work};

use super::launches::Packed;
use super::{Forward, Interposed, copies, fills};
use crate::abi::c_caller::{In, Out};
use crate::abi::status::Status;
use crate::abi::structs::{hipKernelNodeParams, hipMemcpy3DParms, hipMemsetParams};
use crate::copy::boxes::of_memory;
use crate::copy::bytes::{ByteCopy, SymbolCopy};
use crate::copy::fill::Fill;
use crate::graph::{GraphHandle, NodeHandle};
use crate::kernel::launch::{Arguments, Shape};
use crate::memory::allocations::Place;

/// What a function that adds a node passes first.
#[derive(Clone, Copy)]
pub(crate) struct Added {
    node: Out<NodeHandle>,
    graph: GraphHandle,
    after: In<NodeHandle>,
    count: usize,
}

pub(crate) fn added(node: Out<NodeHandle>, graph: GraphHandle, after: In<NodeHandle>, count: usize) -> Added {
    Added { node, graph, after, count }
}

/// Shows the node that `work` describes, for the graph's device.
fn add(
    over: &Interposed,
    forward: Forward<'_>,
    added: Added,
    work: impl FnOnce(DeviceId, &mut dyn FnMut(&Work<'_>)),
) -> Status {
    let Added { node, graph, after, count } = added;
    let Ok(after) = after.array(count) else { return forward() };
    let Some(device) = over.known.graphs.extended(graph, &after) else { return forward() };
    let dependencies: Vec<RawGraphNode> = after.iter().map(|node| RawGraphNode(node.0)).collect();
    let status = Cell::new(None);
    let mut show = |work: &Work<'_>| {
        let pinned = |range: AccessRange| match range.space {
            Space::Host => !matches!(over.known.place(range.address), Place::Pageable),
            Space::Device(_) => true,
        };
        let work = if work.access_ranges(device).all(pinned) { work } else { &Work::Empty };
        let call = Call::GraphAdd { device, graph: RawGraph(graph.0), dependencies: &dependencies, work };
        status.set(Some(over.observe(&call, forward, || {
            node.get().map_or(Output::None, |node| {
                over.known.graphs.add_node(graph, node.0);
                Output::Node(RawGraphNode(node.0))
            })
        })));
    };
    work(device, &mut show);
    if status.get().is_none() {
        show(&Work::Empty);
    }
    status.get().unwrap_or(Status::UNKNOWN)
}

/// Adds a node that is empty to the layers.
pub(crate) fn add_empty(over: &Interposed, forward: Forward<'_>, added: Added) -> Status {
    add(over, forward, added, |_, _| {})
}

/// Adds a node that makes the graph's order unknown to the layers.
pub(crate) fn add_unknown(over: &Interposed, forward: Forward<'_>, graph: GraphHandle) -> Status {
    over.known.graphs.change_graph(graph.0);
    forward()
}

/// Adds a node with work of a device, if it is the graph's.
pub(crate) fn add_work(over: &Interposed, forward: Forward<'_>, added: Added, work: NodeWork) -> Status {
    add(over, forward, added, |device, show| {
        if let Some((on, work)) = work
            && on.is_none_or(|on| on == device)
            && !matches!(work, Work::CopyFromPeer { .. })
        {
            show(&work);
        }
    })
}

pub(crate) fn add_kernel(
    over: &Interposed,
    forward: Forward<'_>,
    added: Added,
    params: In<hipKernelNodeParams>,
) -> Status {
    add(over, forward, added, |device, show| {
        let Ok(params) = params.get() else { return };
        let shape = Shape::new(params.gridDim, params.blockDim, params.sharedMemBytes as usize);
        let arguments = Arguments { parameters: params.kernelParams.values(), extra: params.extra.values() };
        let kernel = over.any_kernel(device, params.func).filter(|kernel| kernel.device == device);
        let packed = kernel.and_then(|kernel| Packed::new(over, kernel, arguments));
        if let Some(packed) = packed.filter(|_| !shape.grid.contains(&0) && !shape.block.contains(&0)) {
            show(&Work::Kernel(&packed.launch(shape)));
        }
    })
}

/// What a node does for a driver, and on which device.
pub(crate) type NodeWork = Option<(Option<DeviceId>, Work<'static>)>;

/// The work of a node that copies a range.
pub(crate) fn copy(over: &Interposed, copy: ByteCopy) -> NodeWork {
    copies::work(over, copy)
}

/// The work of a node that copies a box.
pub(crate) fn copy_box(over: &Interposed, params: In<hipMemcpy3DParms>) -> NodeWork {
    let parms = params.get().ok().filter(|parms| parms.srcArray == 0 && parms.dstArray == 0)?;
    copies::work(over, copies::first_range(&of_memory(&parms)))
}

/// The work of a node that copies from or to a variable.
pub(crate) fn copy_symbol(over: &Interposed, copy: SymbolCopy) -> NodeWork {
    let (start, _) = over.variable(copy.symbol)?;
    copies::work(over, copy.between(start.offset(copy.offset)))
}

/// The work of a node that fills memory.
pub(crate) fn fill(over: &Interposed, params: In<hipMemsetParams>) -> NodeWork {
    let params = params.get().ok()?;
    let row = Fill::row(params.dst, params.value, params.elementSize as usize, params.width);
    fills::work(over, &Fill { pitch: params.pitch, height: params.height, ..row })
}

/// Adds a node that allocates, which is empty to the layers.
pub(crate) fn add_allocation(over: &Interposed, forward: Forward<'_>, added: Added) -> Status {
    over.known.forget_freed();
    add_empty(over, forward, added)
}

/// Adds a node of a kind that is not known.
pub(crate) fn add_any(over: &Interposed, forward: Forward<'_>, graph: GraphHandle) -> Status {
    over.known.forget_freed();
    add_unknown(over, forward, graph)
}
