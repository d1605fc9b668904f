//! Nodes that the program adds to a graph.
//!
//! A node that the layers can't judge is an empty node to them, so that they know what comes after it: copies from or to
//! memory that is not pinned, memory of other devices, functions of the host, child graphs, allocations.

use std::cell::Cell;

use hip_driver::{AccessRange, Call, DeviceId, Output, RawGraph, RawGraphNode, Space, Work};

use super::copies::Ends;
use super::known::Place;
use super::launches::Packed;
use super::{Forward, Interposed, copies, fills, wrappers};
use crate::abi::c_caller::{Address, In, Out};
use crate::abi::status::Status;
use crate::abi::structs::{hipKernelNodeParams, hipMemcpy3DParms, hipMemsetParams};
use crate::graph::{GraphHandle, NodeHandle};
use crate::kernel::launch::{Arguments, Shape};

/// What a function that adds a node passes first.
#[derive(Clone, Copy)]
struct Added {
    node: Out<NodeHandle>,
    graph: GraphHandle,
    after: In<NodeHandle>,
    count: usize,
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
            Space::Host => over.known.place(range.address) != Place::Unknown,
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
fn add_empty(over: &Interposed, forward: Forward<'_>, added: Added) -> Status {
    add(over, forward, added, |_, _| {})
}

/// Adds a node that makes the graph's order unknown to the layers.
fn add_unknown(over: &Interposed, forward: Forward<'_>, graph: GraphHandle) -> Status {
    over.known.graphs.change_graph(graph.0);
    forward()
}

/// Adds a node with work of a device, if it is the graph's.
fn add_work(
    over: &Interposed,
    forward: Forward<'_>,
    added: Added,
    work: Option<(Option<DeviceId>, Work<'static>)>,
) -> Status {
    add(over, forward, added, |device, show| {
        if let Some((on, work)) = work
            && on.is_none_or(|on| on == device)
            && !matches!(work, Work::CopyFromPeer { .. })
        {
            show(&work);
        }
    })
}

fn add_kernel(
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

fn copy(over: &Interposed, ends: Ends, bytes: usize) -> Option<(Option<DeviceId>, Work<'static>)> {
    copies::work(over, ends, bytes).filter(|_| bytes > 0 && ends.0 != ends.1)
}

fn copy_box(over: &Interposed, params: In<hipMemcpy3DParms>) -> Option<(Option<DeviceId>, Work<'static>)> {
    let (ends, (width, rows), (dst_pitch, src_pitch)) = copies::box_of(&params.get().ok()?)?;
    let gapless = rows == 1 || (dst_pitch == width && src_pitch == width);
    copy(over, ends, if gapless { width * rows } else { width })
}

fn fill(over: &Interposed, params: In<hipMemsetParams>) -> Option<(Option<DeviceId>, Work<'static>)> {
    let params = params.get().ok()?;
    let element = params.elementSize as usize;
    let count = fills::elements(params.pitch, element, params.width, params.height);
    fills::work(over, params.dst, params.value, element, count).filter(|_| count > 0)
}

wrappers! {
    hipGraphAddKernelNode(
        node: Out<NodeHandle>, graph: GraphHandle, after: In<NodeHandle>, count: usize, params: In<hipKernelNodeParams>,
    ) = |over, forward| add_kernel(over, forward, Added { node, graph, after, count }, params);
    hipGraphAddMemcpyNode(
        node: Out<NodeHandle>, graph: GraphHandle, after: In<NodeHandle>, count: usize, params: In<hipMemcpy3DParms>,
    ) = |over, forward| add_work(over, forward, Added { node, graph, after, count }, copy_box(over, params));
    hipGraphAddMemcpyNode1D(
        node: Out<NodeHandle>, graph: GraphHandle, after: In<NodeHandle>, count: usize, dst: Address, src: Address,
        bytes: usize, kind: i32,
    ) = |over, forward| add_work(over, forward, Added { node, graph, after, count }, copy(over, (dst, src, kind), bytes));
    hipGraphAddMemcpyNodeToSymbol(
        node: Out<NodeHandle>, graph: GraphHandle, after: In<NodeHandle>, count: usize, symbol: Address, src: Address,
        bytes: usize, offset: usize, kind: i32,
    ) = |over, forward| {
        let variable = over.variable(symbol).map(|(start, _)| start.offset(offset));
        let work = variable.and_then(|variable| copy(over, (variable, src, kind), bytes));
        add_work(over, forward, Added { node, graph, after, count }, work)
    };
    hipGraphAddMemcpyNodeFromSymbol(
        node: Out<NodeHandle>, graph: GraphHandle, after: In<NodeHandle>, count: usize, dst: Address, symbol: Address,
        bytes: usize, offset: usize, kind: i32,
    ) = |over, forward| {
        let variable = over.variable(symbol).map(|(start, _)| start.offset(offset));
        let work = variable.and_then(|variable| copy(over, (dst, variable, kind), bytes));
        add_work(over, forward, Added { node, graph, after, count }, work)
    };
    hipGraphAddMemsetNode(
        node: Out<NodeHandle>, graph: GraphHandle, after: In<NodeHandle>, count: usize, params: In<hipMemsetParams>,
    ) = |over, forward| add_work(over, forward, Added { node, graph, after, count }, fill(over, params));
    hipGraphAddEmptyNode(
        node: Out<NodeHandle>, graph: GraphHandle, after: In<NodeHandle>, count: usize,
    ) = |over, forward| add_empty(over, forward, Added { node, graph, after, count });
    hipGraphAddHostNode(
        node: Out<NodeHandle>, graph: GraphHandle, after: In<NodeHandle>, count: usize, _params: Address,
    ) = |over, forward| add_empty(over, forward, Added { node, graph, after, count });
    hipGraphAddChildGraphNode(
        node: Out<NodeHandle>, graph: GraphHandle, after: In<NodeHandle>, count: usize, _child: GraphHandle,
    ) = |over, forward| add_empty(over, forward, Added { node, graph, after, count });
    hipGraphAddMemAllocNode(
        node: Out<NodeHandle>, graph: GraphHandle, after: In<NodeHandle>, count: usize, _params: Address,
    ) = |over, forward| {
        over.known.forget_freed();
        add_empty(over, forward, Added { node, graph, after, count })
    };
    hipGraphAddMemFreeNode(
        node: Out<NodeHandle>, graph: GraphHandle, after: In<NodeHandle>, count: usize, _memory: Address,
    ) = |over, forward| add_empty(over, forward, Added { node, graph, after, count });
    hipDrvGraphAddMemFreeNode(
        node: Out<NodeHandle>, graph: GraphHandle, after: In<NodeHandle>, count: usize, _memory: Address,
    ) = |over, forward| add_empty(over, forward, Added { node, graph, after, count });
    hipDrvGraphAddMemcpyNode(
        node: Out<NodeHandle>, graph: GraphHandle, after: In<NodeHandle>, count: usize, _params: Address, _context: Address,
    ) = |over, forward| add_empty(over, forward, Added { node, graph, after, count });
    hipDrvGraphAddMemsetNode(
        node: Out<NodeHandle>, graph: GraphHandle, after: In<NodeHandle>, count: usize, _params: Address, _context: Address,
    ) = |over, forward| add_empty(over, forward, Added { node, graph, after, count });
    hipGraphAddEventRecordNode(
        _node: Out<NodeHandle>, graph: GraphHandle, _after: In<NodeHandle>, _count: usize, _event: Address,
    ) = |over, forward| add_unknown(over, forward, graph);
    hipGraphAddEventWaitNode(
        _node: Out<NodeHandle>, graph: GraphHandle, _after: In<NodeHandle>, _count: usize, _event: Address,
    ) = |over, forward| add_unknown(over, forward, graph);
    hipGraphAddNode(
        _node: Out<NodeHandle>, graph: GraphHandle, _after: In<NodeHandle>, _count: usize, _params: Address,
    ) = |over, forward| {
        over.known.forget_freed();
        add_unknown(over, forward, graph)
    };
    hipGraphAddBatchMemOpNode(
        _node: Out<NodeHandle>, graph: GraphHandle, _after: In<NodeHandle>, _count: usize, _params: Address,
    ) = |over, forward| add_unknown(over, forward, graph);
    hipGraphAddExternalSemaphoresSignalNode(
        _node: Out<NodeHandle>, graph: GraphHandle, _after: In<NodeHandle>, _count: usize, _params: Address,
    ) = |over, forward| add_unknown(over, forward, graph);
    hipGraphAddExternalSemaphoresWaitNode(
        _node: Out<NodeHandle>, graph: GraphHandle, _after: In<NodeHandle>, _count: usize, _params: Address,
    ) = |over, forward| add_unknown(over, forward, graph);
}
