//! The functions about graphs as a whole, their nodes and dependencies.

use super::payload::Payload;
use super::{ExecHandle, Graph, GraphHandle, NodeHandle, lock};
use crate::abi::c_caller::{Handle, In, Out};
use crate::abi::status::{HipResult, Status};
use crate::process::Process;
use crate::process::call::call;

#[unsafe(export_name = "emulated_hipGraphCreate")]
extern "C" fn hipGraphCreate(graph: Out<GraphHandle>, flags: u32) -> Status {
    call("hipGraphCreate", |process| {
        graph.check()?;
        if flags != 0 {
            return Err(Status::INVALID_VALUE);
        }
        graph.set(Handle::new(process.graphs().graphs.add(Graph::default())))
    })
}

#[unsafe(export_name = "emulated_hipGraphDestroy")]
extern "C" fn hipGraphDestroy(graph: GraphHandle) -> Status {
    call("hipGraphDestroy", |process| {
        let found = process.graphs().graph(graph)?;
        // A child graph belongs to its node.
        if found.is_child { Err(Status::INVALID_VALUE) } else { process.graphs().destroy(process, graph) }
    })
}

#[unsafe(export_name = "emulated_hipGraphClone")]
extern "C" fn hipGraphClone(copy: Out<GraphHandle>, original: GraphHandle) -> Status {
    call("hipGraphClone", |process| {
        copy.check()?;
        copy.set(process.graphs().copy(process, &*process.graphs().graph(original)?, false)?)
    })
}

#[unsafe(export_name = "emulated_hipGraphNodeFindInClone")]
extern "C" fn hipGraphNodeFindInClone(
    found: Out<NodeHandle>,
    original: NodeHandle,
    copy: GraphHandle,
) -> Status {
    call("hipGraphNodeFindInClone", |process| {
        found.check()?;
        process.graphs().node(original)?;
        let copy = process.graphs().graph(copy)?;
        let node = copy.nodes().iter().find(|node| node.original == Some(original.0)).cloned();
        found.set(Handle::new(node.ok_or(Status::INVALID_VALUE)?.handle()))
    })
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

#[unsafe(export_name = "emulated_hipGraphGetNodes")]
extern "C" fn hipGraphGetNodes(graph: GraphHandle, nodes: Out<NodeHandle>, count: Out<usize>) -> Status {
    call("hipGraphGetNodes", |process| {
        count.check()?;
        let found: Vec<u64> =
            process.graphs().graph(graph)?.in_order()?.iter().map(|node| node.handle()).collect();
        answer(&found, nodes, count)
    })
}

#[unsafe(export_name = "emulated_hipGraphGetRootNodes")]
extern "C" fn hipGraphGetRootNodes(graph: GraphHandle, nodes: Out<NodeHandle>, count: Out<usize>) -> Status {
    call("hipGraphGetRootNodes", |process| {
        count.check()?;
        let graph = process.graphs().graph(graph)?;
        let all = graph.nodes();
        let roots = all.iter().filter(|node| lock(&node.after).is_empty());
        answer(&roots.map(|node| node.handle()).collect::<Vec<u64>>(), nodes, count)
    })
}

#[unsafe(export_name = "emulated_hipGraphGetEdges")]
extern "C" fn hipGraphGetEdges(
    graph: GraphHandle,
    from: Out<NodeHandle>,
    to: Out<NodeHandle>,
    count: Out<usize>,
) -> Status {
    call("hipGraphGetEdges", |process| {
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
    })
}

#[unsafe(export_name = "emulated_hipGraphNodeGetDependencies")]
extern "C" fn hipGraphNodeGetDependencies(
    node: NodeHandle,
    nodes: Out<NodeHandle>,
    count: Out<usize>,
) -> Status {
    call("hipGraphNodeGetDependencies", |process| {
        count.check()?;
        let after = lock(&process.graphs().node(node)?.after).clone();
        answer(&after, nodes, count)
    })
}

#[unsafe(export_name = "emulated_hipGraphNodeGetDependentNodes")]
extern "C" fn hipGraphNodeGetDependentNodes(
    node: NodeHandle,
    nodes: Out<NodeHandle>,
    count: Out<usize>,
) -> Status {
    call("hipGraphNodeGetDependentNodes", |process| {
        count.check()?;
        let graph = process.graphs().graph(GraphHandle::new(process.graphs().node(node)?.graph))?;
        let edges = graph.edges().into_iter().filter(|(from, _)| *from == node.0);
        answer(&edges.map(|(_, to)| to).collect::<Vec<u64>>(), nodes, count)
    })
}

#[unsafe(export_name = "emulated_hipGraphNodeGetType")]
extern "C" fn hipGraphNodeGetType(node: NodeHandle, kind: Out<i32>) -> Status {
    call("hipGraphNodeGetType", |process| {
        kind.check()?;
        kind.set(process.graphs().node(node)?.payload().node_type())
    })
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

#[unsafe(export_name = "emulated_hipGraphAddDependencies")]
extern "C" fn hipGraphAddDependencies(
    graph: GraphHandle,
    from: In<NodeHandle>,
    to: In<NodeHandle>,
    count: usize,
) -> Status {
    call("hipGraphAddDependencies", |process| {
        for (from, to) in pairs(process, graph, from, to, count)? {
            let node = process.graphs().node(NodeHandle::new(to))?;
            let mut after = lock(&node.after);
            if from == to || after.contains(&from) {
                return Err(Status::INVALID_VALUE);
            }
            after.push(from);
        }
        Ok(())
    })
}

#[unsafe(export_name = "emulated_hipGraphRemoveDependencies")]
extern "C" fn hipGraphRemoveDependencies(
    graph: GraphHandle,
    from: In<NodeHandle>,
    to: In<NodeHandle>,
    count: usize,
) -> Status {
    call("hipGraphRemoveDependencies", |process| {
        for (from, to) in pairs(process, graph, from, to, count)? {
            let node = process.graphs().node(NodeHandle::new(to))?;
            let mut after = lock(&node.after);
            let place = after.iter().position(|known| *known == from).ok_or(Status::INVALID_VALUE)?;
            after.remove(place);
        }
        Ok(())
    })
}

#[unsafe(export_name = "emulated_hipGraphDestroyNode")]
extern "C" fn hipGraphDestroyNode(node: NodeHandle) -> Status {
    call("hipGraphDestroyNode", |process| {
        let found = process.graphs().node(node)?;
        let graph = process.graphs().graph(GraphHandle::new(found.graph))?;
        let mut nodes = graph.nodes();
        nodes.retain(|other| other.handle() != node.0);
        nodes.iter().for_each(|other| lock(&other.after).retain(|after| *after != node.0));
        drop(nodes);
        process.graphs().destroy_node(process, &found);
        Ok(())
    })
}

#[unsafe(export_name = "emulated_hipGraphChildGraphNodeGetGraph")]
extern "C" fn hipGraphChildGraphNodeGetGraph(node: NodeHandle, graph: Out<GraphHandle>) -> Status {
    call("hipGraphChildGraphNodeGetGraph", |process| {
        graph.check()?;
        match *process.graphs().node(node)?.payload() {
            Payload::Child(child) => graph.set(Handle::new(child)),
            _ => Err(Status::INVALID_VALUE),
        }
    })
}

#[unsafe(export_name = "emulated_hipGraphNodeSetEnabled")]
extern "C" fn hipGraphNodeSetEnabled(exec: ExecHandle, node: NodeHandle, enabled: u32) -> Status {
    call("hipGraphNodeSetEnabled", |process| {
        let exec = process.graphs().exec(exec)?;
        exec.with_step(node, |step| {
            step.check_can_be_disabled()?;
            step.enabled = enabled != 0;
            Ok(())
        })
    })
}

#[unsafe(export_name = "emulated_hipGraphNodeGetEnabled")]
extern "C" fn hipGraphNodeGetEnabled(exec: ExecHandle, node: NodeHandle, enabled: Out<u32>) -> Status {
    call("hipGraphNodeGetEnabled", |process| {
        enabled.check()?;
        let exec = process.graphs().exec(exec)?;
        exec.with_step(node, |step| {
            step.check_can_be_disabled()?;
            enabled.set(u32::from(step.enabled))
        })
    })
}
