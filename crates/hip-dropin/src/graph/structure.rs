//! The functions about graphs as a whole, their nodes and dependencies.

use super::payload::Payload;
use super::{ExecHandle, Graph, GraphHandle, NodeHandle, lock};
use crate::abi::c_caller::{Handle, In, Out};
use crate::abi::status::{HipResult, Status};
use crate::process::Process;

pub(crate) fn hipGraphCreate(process: &Process, graph: Out<GraphHandle>, flags: u32) -> HipResult {
    graph.check()?;
    if flags != 0 {
        return Err(Status::INVALID_VALUE);
    }
    graph.set(Handle::new(process.graphs().graphs.add(Graph::default())))
}

pub(crate) fn hipGraphDestroy(process: &Process, graph: GraphHandle) -> HipResult {
    let found = process.graphs().graph(graph)?;
    // A child graph belongs to its node.
    if found.is_child { Err(Status::INVALID_VALUE) } else { process.graphs().destroy(process, graph) }
}

pub(crate) fn hipGraphClone(process: &Process, copy: Out<GraphHandle>, original: GraphHandle) -> HipResult {
    copy.check()?;
    copy.set(process.graphs().copy(process, &*process.graphs().graph(original)?, false)?)
}

pub(crate) fn hipGraphNodeFindInClone(
    process: &Process,
    found: Out<NodeHandle>,
    original: NodeHandle,
    copy: GraphHandle,
) -> HipResult {
    found.check()?;
    process.graphs().node(original)?;
    let copy = process.graphs().graph(copy)?;
    let node = copy.nodes().iter().find(|node| node.original == Some(original.0)).cloned();
    found.set(Handle::new(node.ok_or(Status::INVALID_VALUE)?.handle()))
}

/// Answers a question for a list: its length alone if the caller passes no array. Elements of an array that is longer are
/// set to null.
fn answer(found: &[u64], array: Out<NodeHandle>, count: Out<usize>) -> HipResult {
    if array.is_null() {
        return count.set(found.len());
    }
    let room = count.get()?;
    let nodes = found.iter().map(|node| Handle::new(*node));
    array.set_array(nodes.chain(std::iter::repeat(Handle::NULL)), room)?;
    count.set(found.len().min(room))
}

pub(crate) fn hipGraphGetNodes(
    process: &Process,
    graph: GraphHandle,
    nodes: Out<NodeHandle>,
    count: Out<usize>,
) -> HipResult {
    count.check()?;
    let found: Vec<u64> =
        process.graphs().graph(graph)?.in_order()?.iter().map(|node| node.handle()).collect();
    answer(&found, nodes, count)
}

pub(crate) fn hipGraphGetRootNodes(
    process: &Process,
    graph: GraphHandle,
    nodes: Out<NodeHandle>,
    count: Out<usize>,
) -> HipResult {
    count.check()?;
    let graph = process.graphs().graph(graph)?;
    let all = graph.nodes();
    let roots = all.iter().filter(|node| lock(&node.after).is_empty());
    answer(&roots.map(|node| node.handle()).collect::<Vec<u64>>(), nodes, count)
}

pub(crate) fn hipGraphGetEdges(
    process: &Process,
    graph: GraphHandle,
    from: Out<NodeHandle>,
    to: Out<NodeHandle>,
    count: Out<usize>,
) -> HipResult {
    count.check()?;
    let edges = process.graphs().graph(graph)?.edges();
    if from.is_null() != to.is_null() {
        return Err(Status::INVALID_VALUE);
    }
    let (sources, targets): (Vec<u64>, Vec<u64>) = edges.into_iter().unzip();
    if from.is_null() {
        return count.set(sources.len());
    }
    let room = count.get()?;
    answer(&sources, from, count)?;
    count.set(room)?;
    answer(&targets, to, count)
}

pub(crate) fn hipGraphNodeGetDependencies(
    process: &Process,
    node: NodeHandle,
    nodes: Out<NodeHandle>,
    count: Out<usize>,
) -> HipResult {
    count.check()?;
    let after = lock(&process.graphs().node(node)?.after).clone();
    answer(&after, nodes, count)
}

pub(crate) fn hipGraphNodeGetDependentNodes(
    process: &Process,
    node: NodeHandle,
    nodes: Out<NodeHandle>,
    count: Out<usize>,
) -> HipResult {
    count.check()?;
    let graph = process.graphs().graph(GraphHandle::new(process.graphs().node(node)?.graph))?;
    let edges = graph.edges().into_iter().filter(|(from, _)| *from == node.0);
    answer(&edges.map(|(_, to)| to).collect::<Vec<u64>>(), nodes, count)
}

pub(crate) fn hipGraphNodeGetType(process: &Process, node: NodeHandle, kind: Out<i32>) -> HipResult {
    kind.check()?;
    kind.set(process.graphs().node(node)?.payload().node_type())
}

/// Reads pairs of nodes of a graph.
fn pairs(
    process: &Process,
    graph: GraphHandle,
    from: In<NodeHandle>,
    to: In<NodeHandle>,
    count: usize,
) -> HipResult<Vec<(u64, u64)>> {
    process.graphs().graph(graph)?;
    let of_graph = |node: &NodeHandle| process.graphs().node(*node).is_ok_and(|node| node.graph == graph.0);
    let (from, to) = (from.array(count)?, to.array(count)?);
    if !from.iter().chain(&to).all(of_graph) {
        return Err(Status::INVALID_VALUE);
    }
    Ok(from.iter().zip(&to).map(|(from, to)| (from.0, to.0)).collect())
}

pub(crate) fn hipGraphAddDependencies(
    process: &Process,
    graph: GraphHandle,
    from: In<NodeHandle>,
    to: In<NodeHandle>,
    count: usize,
) -> HipResult {
    for (from, to) in pairs(process, graph, from, to, count)? {
        let node = process.graphs().node(NodeHandle::new(to))?;
        let mut after = lock(&node.after);
        if from == to || after.contains(&from) {
            return Err(Status::INVALID_VALUE);
        }
        after.push(from);
    }
    Ok(())
}

pub(crate) fn hipGraphRemoveDependencies(
    process: &Process,
    graph: GraphHandle,
    from: In<NodeHandle>,
    to: In<NodeHandle>,
    count: usize,
) -> HipResult {
    for (from, to) in pairs(process, graph, from, to, count)? {
        let node = process.graphs().node(NodeHandle::new(to))?;
        let mut after = lock(&node.after);
        let place = after.iter().position(|known| *known == from).ok_or(Status::INVALID_VALUE)?;
        after.remove(place);
    }
    Ok(())
}

pub(crate) fn hipGraphDestroyNode(process: &Process, node: NodeHandle) -> HipResult {
    let found = process.graphs().node(node)?;
    let graph = process.graphs().graph(GraphHandle::new(found.graph))?;
    let mut nodes = graph.nodes();
    nodes.retain(|other| other.handle() != node.0);
    nodes.iter().for_each(|other| lock(&other.after).retain(|after| *after != node.0));
    drop(nodes);
    process.graphs().destroy_node(process, &found);
    Ok(())
}

pub(crate) fn hipGraphChildGraphNodeGetGraph(
    process: &Process,
    node: NodeHandle,
    graph: Out<GraphHandle>,
) -> HipResult {
    graph.check()?;
    match *process.graphs().node(node)?.payload() {
        Payload::Child(child) => graph.set(Handle::new(child)),
        _ => Err(Status::INVALID_VALUE),
    }
}

pub(crate) fn hipGraphNodeSetEnabled(
    process: &Process,
    exec: ExecHandle,
    node: NodeHandle,
    enabled: u32,
) -> HipResult {
    let exec = process.graphs().exec(exec)?;
    exec.with_step(node, |step| {
        step.check_can_be_disabled()?;
        step.enabled = enabled != 0;
        Ok(())
    })
}

pub(crate) fn hipGraphNodeGetEnabled(
    process: &Process,
    exec: ExecHandle,
    node: NodeHandle,
    enabled: Out<u32>,
) -> HipResult {
    enabled.check()?;
    let exec = process.graphs().exec(exec)?;
    exec.with_step(node, |step| {
        step.check_can_be_disabled()?;
        enabled.set(u32::from(step.enabled))
    })
}
