//! Graphs that a program builds node by node.
//!
//! HIP lets programs change a graph in any order: nodes and dependencies come and go, parameters are set anew, also of
//! executable graphs. So a graph is kept here, and an executable graph is the list of its nodes in an order that satisfies
//! the dependencies. A launch enqueues them on its stream.
//!
//! `structure.rs` has the functions about nodes and dependencies, `nodes.rs` those that add nodes and set their
//! parameters, `exec.rs` those about executable graphs, and `check.rs` what a launch checks. `capture.rs` makes nodes of calls on captured streams.
//! `memory.rs` has the memory of nodes that allocate, and `user_object.rs` the program's objects that graphs keep alive.

pub(crate) mod attributes;
pub(crate) mod batch;
pub(crate) mod capture;
pub(crate) mod check;
pub(crate) mod dot;
pub(crate) mod driver_api;
pub(crate) mod exec;
pub(crate) mod memory;
pub(crate) mod node_params;
pub(crate) mod nodes;
pub(crate) mod payload;
pub(crate) mod stream_capture;
pub(crate) mod structure;
pub(crate) mod user_object;

use std::collections::HashSet;
use std::sync::{Arc, LazyLock, Mutex, MutexGuard, PoisonError};

use crate::abi::c_caller::Handle;
use crate::abi::status::{HipResult, Status};
use crate::process::Process;
use crate::process::objects::Objects;

pub(crate) use exec::ExecHandle;
use memory::GraphMemories;
use payload::Payload;
use user_object::UserObject;

/// A `hipGraph_t`.
pub(crate) type GraphHandle = Handle<Graph>;
/// A `hipGraphNode_t`.
pub(crate) type NodeHandle = Handle<Node>;

/// The graphs of the process.
#[derive(Default)]
pub(crate) struct Graphs {
    graphs: Objects<Graph>,
    nodes: Objects<Node>,
    execs: Objects<exec::Exec>,
    pub(crate) memories: GraphMemories,
    user_objects: Objects<UserObject>,
}

impl Process {
    /// The graphs of the process.
    pub(crate) fn graphs(&self) -> &'static Graphs {
        static GRAPHS: LazyLock<Graphs> = LazyLock::new(Graphs::default);
        &GRAPHS
    }
}

/// A graph.
#[derive(Default)]
pub(crate) struct Graph {
    /// The nodes, in the order in which they were added.
    nodes: Mutex<Vec<Arc<Node>>>,
    /// Whether a node of another graph owns it, as a copy of a child graph.
    is_child: bool,
    /// The program's objects that it keeps alive, with the numbers of its references.
    user_objects: Mutex<Vec<(u64, u64)>>,
}

/// A node of a graph.
pub(crate) struct Node {
    graph: u64,
    payload: Mutex<Payload>,
    /// The nodes of the same graph that it comes after, by their handles.
    after: Mutex<Vec<u64>>,
    /// The node of which it is a copy, in a graph that is a copy.
    original: Option<u64>,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Node {
    /// The node's handle.
    fn handle(self: &Arc<Self>) -> u64 {
        Arc::as_ptr(self).addr() as u64
    }

    fn payload(&self) -> MutexGuard<'_, Payload> {
        lock(&self.payload)
    }
}

impl Graph {
    fn nodes(&self) -> MutexGuard<'_, Vec<Arc<Node>>> {
        lock(&self.nodes)
    }

    /// Returns the nodes so that each comes after those that it depends on. Fails with `INVALID_VALUE` for a cycle.
    fn in_order(&self) -> HipResult<Vec<Arc<Node>>> {
        let mut left: Vec<Arc<Node>> = self.nodes().clone();
        let (mut order, mut done) = (Vec::with_capacity(left.len()), HashSet::new());
        while !left.is_empty() {
            let before = left.len();
            left.retain(|node| {
                let ready = lock(&node.after).iter().all(|dependency| done.contains(dependency));
                if ready {
                    done.insert(node.handle());
                    order.push(Arc::clone(node));
                }
                !ready
            });
            if left.len() == before {
                return Err(Status::INVALID_VALUE);
            }
        }
        Ok(order)
    }

    /// The pairs of nodes of which the second comes after the first.
    fn edges(&self) -> Vec<(u64, u64)> {
        let nodes = self.nodes();
        let of = |node: &Arc<Node>| {
            let (to, after) = (node.handle(), lock(&node.after).clone());
            after.into_iter().map(move |from| (from, to))
        };
        nodes.iter().flat_map(of).collect()
    }
}

impl Graphs {
    /// Returns a graph. Fails with `INVALID_VALUE` if it does not exist.
    fn graph(&self, handle: GraphHandle) -> HipResult<Arc<Graph>> {
        self.graphs.expect(handle.0, Status::INVALID_VALUE)
    }

    /// Returns a node. Fails with `INVALID_VALUE` if it does not exist.
    fn node(&self, handle: NodeHandle) -> HipResult<Arc<Node>> {
        self.nodes.expect(handle.0, Status::INVALID_VALUE)
    }

    /// Adds a node to a graph.
    fn add(
        &self,
        graph: GraphHandle,
        after: Vec<u64>,
        payload: Payload,
        original: Option<u64>,
    ) -> HipResult<NodeHandle> {
        let found = self.graph(graph)?;
        let node = Arc::new(Node {
            graph: graph.0,
            payload: Mutex::new(payload),
            after: Mutex::new(after),
            original,
        });
        found.nodes().push(Arc::clone(&node));
        Ok(Handle::new(self.nodes.add_shared(node)))
    }

    /// Copies a graph, also its child graphs.
    fn copy(&self, process: &Process, graph: &Graph, is_child: bool) -> HipResult<GraphHandle> {
        let user_objects = Mutex::new(process.retain_objects(graph));
        let copy = GraphHandle::new(self.graphs.add(Graph { is_child, user_objects, ..Graph::default() }));
        let mut handles = Vec::new();
        let originals = graph.nodes().clone();
        for node in &originals {
            let payload = self.copy_payload(process, &node.payload())?;
            let added = self.add(copy, Vec::new(), payload, Some(node.handle()))?;
            handles.push((node.handle(), added.0));
        }
        for (node, &(_, added)) in originals.iter().zip(&handles) {
            let of =
                |handle: &u64| handles.iter().find(|(original, _)| original == handle).map(|pair| pair.1);
            let after = lock(&node.after).iter().filter_map(of).collect();
            *lock(&self.node(NodeHandle::new(added))?.after) = after;
        }
        Ok(copy)
    }

    fn copy_payload(&self, process: &Process, payload: &Payload) -> HipResult<Payload> {
        Ok(match payload {
            Payload::Child(child) => {
                Payload::Child(self.copy(process, &*self.graph(GraphHandle::new(*child))?, true)?.0)
            }
            other => other.clone(),
        })
    }

    /// Removes a graph with its nodes, and its child graphs.
    fn destroy(&self, process: &Process, graph: GraphHandle) -> HipResult {
        let found = self.graphs.remove(graph.0).ok_or(Status::INVALID_VALUE)?;
        for node in found.nodes().drain(..) {
            self.destroy_node(process, &node);
        }
        process.release_objects(&lock(&found.user_objects));
        Ok(())
    }

    /// Removes the child graph of a node.
    fn discard(&self, process: &Process, payload: &Payload) {
        if let Payload::Child(child) = *payload {
            // Its parent is the only one that destroys it.
            let _ = self.destroy(process, GraphHandle::new(child));
        }
    }

    /// Removes a node that its graph has no more.
    fn destroy_node(&self, process: &Process, node: &Arc<Node>) {
        self.nodes.remove(node.handle());
        self.discard(process, &node.payload());
    }
}
