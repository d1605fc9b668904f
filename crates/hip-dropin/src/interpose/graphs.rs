//! Captures, graphs and their launches.
//!
//! A graph is shown to the layers as long as they know all of it. What changes a graph after its nodes were added, or an
//! executable graph, makes that no longer so: it is launched without being shown.

use std::collections::{HashMap, HashSet};
use std::sync::Mutex;

use hip_driver::{Call, CaptureMode, DeviceId, Output, RawGraph, RawGraphExec, RawStream, Work};

use super::known::lock;
use super::{Forward, Interposed, errors};
use crate::abi::c_caller::Out;
use crate::abi::status::Status;
use crate::graph::{ExecHandle, GraphHandle, NodeHandle};
use crate::stream::StreamHandle;

#[derive(Default)]
pub(super) struct KnownGraphs(Mutex<Tables>);

#[derive(Default)]
pub(super) struct Tables {
    graphs: HashMap<u64, Graph>,
    /// The graph of each node that was added with one.
    nodes: HashMap<u64, u64>,
    execs: HashMap<u64, Exec>,
    /// The streams on which a capture was begun that the layers see.
    captured: HashSet<u64>,
    /// The streams on which a capture was begun that they don't.
    hidden: HashSet<u64>,
    /// Whether the dependencies of an open capture were changed.
    changed: bool,
}

/// A graph that the layers know.
#[derive(Clone, Copy)]
struct Graph {
    device: DeviceId,
    /// Whether they know all of it.
    whole: bool,
    /// Whether its nodes have no handle that the layers know.
    captured: bool,
}

/// An executable graph that the layers know.
#[derive(Clone, Copy)]
struct Exec {
    device: DeviceId,
    whole: bool,
    /// Where it was last launched.
    stream: Option<RawStream>,
}

impl KnownGraphs {
    fn tables(&self) -> std::sync::MutexGuard<'_, Tables> {
        lock(&self.0)
    }

    /// The device of a graph that nodes are added to, if the layers know all of it and the nodes.
    pub(super) fn extended(&self, graph: GraphHandle, after: &[NodeHandle]) -> Option<DeviceId> {
        let mut tables = self.tables();
        let known = after.iter().all(|node| tables.nodes.get(&node.0) == Some(&graph.0));
        let state = tables.graphs.get_mut(&graph.0)?;
        state.whole &= known && !state.captured;
        state.whole.then_some(state.device)
    }

    pub(super) fn add_node(&self, graph: GraphHandle, node: u64) {
        self.tables().nodes.insert(node, graph.0);
    }

    /// The layers don't know all of a graph any more.
    pub(super) fn change_graph(&self, graph: u64) {
        if let Some(state) = self.tables().graphs.get_mut(&graph) {
            state.whole = false;
        }
    }

    /// As [`change_graph`](Self::change_graph), of the graph of a node. A node of which nobody knows the graph may be any
    /// captured one's.
    fn change_node(&self, node: u64) {
        let mut tables = self.tables();
        let graph = tables.nodes.get(&node).copied();
        for (handle, state) in &mut tables.graphs {
            state.whole &= graph.map_or(!state.captured, |graph| graph != *handle);
        }
    }

    fn change_exec(&self, exec: u64) {
        if let Some(state) = self.tables().execs.get_mut(&exec) {
            state.whole = false;
        }
    }
}

impl Interposed {
    /// Whether a stream is captured, and the layers know.
    pub(super) fn is_captured(&self, stream: RawStream) -> bool {
        if self.known.graphs.tables().captured.is_empty()
            || matches!(stream, RawStream::NULL | RawStream::LEGACY)
        {
            return false;
        }
        self.over().is_some_and(|layers| layers.is_capturing(stream))
    }

    /// Whether no work is shown, as it may belong to a capture that the layers don't see.
    pub(super) fn hides_work(&self) -> bool {
        !self.known.graphs.tables().hidden.is_empty()
    }
}

pub(crate) fn begin(over: &Interposed, forward: Forward<'_>, handle: StreamHandle, mode: i32) -> Status {
    let mode = match mode {
        0 => CaptureMode::Global,
        1 => CaptureMode::ThreadLocal,
        2 => CaptureMode::Relaxed,
        _ => return forward(),
    };
    let (device, stream) = over.stream(handle);
    over.observe(&Call::StreamBeginCapture { device, stream, mode }, forward, || {
        over.known.graphs.tables().captured.insert(handle.0);
        Output::None
    })
}

pub(crate) fn end(
    over: &Interposed,
    forward: Forward<'_>,
    handle: StreamHandle,
    made: Out<GraphHandle>,
) -> Status {
    if over.known.graphs.tables().hidden.contains(&handle.0) {
        let status = forward();
        over.known.graphs.tables().hidden.remove(&handle.0);
        return status;
    }
    let (device, stream) = over.stream(handle);
    let call = Call::StreamEndCapture { device, stream };
    let status = over.observe(&call, forward, || {
        let mut tables = over.known.graphs.tables();
        let Ok(graph) = made.get() else { return Output::None };
        let whole = !std::mem::take(&mut tables.changed);
        tables.graphs.insert(graph.0, Graph { device, whole, captured: true });
        Output::Graph(RawGraph(graph.0))
    });
    let ended = status == Status::SUCCESS || !over.over().is_some_and(|layers| layers.is_capturing(stream));
    if status != Status::SUCCESS {
        errors::keep(status);
    }
    if ended {
        over.known.graphs.tables().captured.remove(&handle.0);
    }
    status
}

pub(crate) fn instantiate(
    over: &Interposed,
    forward: Forward<'_>,
    made: Out<ExecHandle>,
    graph: GraphHandle,
) -> Status {
    let known = over.known.graphs.tables().graphs.get(&graph.0).copied();
    let Some(Graph { device, whole: true, .. }) = known else { return forward() };
    over.observe(&Call::GraphInstantiate { device, graph: RawGraph(graph.0) }, forward, || {
        made.get().map_or(Output::None, |exec| {
            over.known.graphs.tables().execs.insert(exec.0, Exec { device, whole: true, stream: None });
            Output::Exec(RawGraphExec(exec.0))
        })
    })
}

pub(crate) fn launch(
    over: &Interposed,
    forward: Forward<'_>,
    handle: ExecHandle,
    stream: StreamHandle,
) -> Status {
    let (device, stream) = over.stream(stream);
    let exec = over.known.graphs.tables().execs.get(&handle.0).copied();
    let Some(exec) = exec.filter(|exec| exec.whole && exec.device == device && !over.hides_work()) else {
        // Its nodes may record events and wait for them.
        over.forget_order();
        return forward();
    };
    // HIP runs the launches of an executable graph one after another.
    if exec.stream.is_some_and(|last| last != stream) {
        over.forget_order();
    }
    let work = Work::Graph(RawGraphExec(handle.0));
    let status = over.observe(&Call::Enqueue { device, stream, work: &work }, forward, || Output::None);
    if let (Status::SUCCESS, Some(exec)) = (status, over.known.graphs.tables().execs.get_mut(&handle.0)) {
        exec.stream = Some(stream);
    }
    status
}

pub(crate) fn destroy_exec(over: &Interposed, forward: Forward<'_>, handle: ExecHandle) -> Status {
    let Some(exec) = over.known.graphs.tables().execs.remove(&handle.0) else { return forward() };
    // HIP keeps what is in flight.
    over.tell(&Call::DeviceSynchronize { device: exec.device }, Output::None);
    let call = Call::GraphExecDestroy { device: exec.device, exec: RawGraphExec(handle.0) };
    over.observe(&call, forward, || Output::None)
}

pub(crate) fn destroy(over: &Interposed, forward: Forward<'_>, handle: GraphHandle) -> Status {
    let known = {
        let mut tables = over.known.graphs.tables();
        tables.nodes.retain(|_, graph| *graph != handle.0);
        tables.graphs.remove(&handle.0)
    };
    let Some(Graph { device, .. }) = known else { return forward() };
    over.observe(&Call::GraphDestroy { device, graph: RawGraph(handle.0) }, forward, || Output::None)
}

pub(crate) fn hipStreamBeginCaptureToGraph(
    over: &Interposed,
    forward: Forward<'_>,
    stream: StreamHandle,
    graph: GraphHandle,
) -> Status {
    over.known.graphs.change_graph(graph.0);
    let status = forward();
    if status == Status::SUCCESS {
        over.known.graphs.tables().hidden.insert(stream.0);
    }
    status
}

pub(crate) fn hipStreamUpdateCaptureDependencies(over: &Interposed, forward: Forward<'_>) -> Status {
    over.known.graphs.tables().changed = true;
    forward()
}

pub(crate) fn hipGraphCreate(over: &Interposed, forward: Forward<'_>, graph: Out<GraphHandle>) -> Status {
    let device = over.device();
    over.observe(&Call::GraphCreate { device }, forward, || {
        graph.get().map_or(Output::None, |graph| {
            let state = Graph { device, whole: true, captured: false };
            over.known.graphs.tables().graphs.insert(graph.0, state);
            Output::Graph(RawGraph(graph.0))
        })
    })
}

/// A function changes a graph.
pub(crate) fn change_graph(over: &Interposed, forward: Forward<'_>, graph: u64) -> Status {
    over.known.graphs.change_graph(graph);
    forward()
}

/// A function changes a node.
pub(crate) fn change_node(over: &Interposed, forward: Forward<'_>, node: u64) -> Status {
    over.known.graphs.change_node(node);
    forward()
}

/// A function changes an executable graph.
pub(crate) fn change_exec(over: &Interposed, forward: Forward<'_>, exec: u64) -> Status {
    over.known.graphs.change_exec(exec);
    forward()
}
