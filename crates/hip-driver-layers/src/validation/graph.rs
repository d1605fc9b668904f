//! Graphs: the memory that nodes access, the order of nodes, and the launches that may be in flight.

use std::collections::{HashMap, HashSet, VecDeque};
use std::sync::{Arc, Mutex, PoisonError};

use hip_driver::{
    AccessRange, Call, CallKind, DeviceId, NodeLaunch, ObservedKind, Output, RawGraph, RawGraphExec,
    RawGraphNode, RawStream, Work,
};

use super::calls::{Checked, Held};
use super::clock::{Clock, WorkPosition};
use super::memory::RegionKey;
use super::ranges::{AccessRecord, Ranges};
use super::state::State;
use super::violation::{KernelUse, Operation, Violation};

/// What the host knows when a host function of a graph runs, for each launch that has not come to it.
pub(super) type Runs = Arc<Mutex<VecDeque<Clock>>>;

/// Takes back that a host function will run once more: the driver has refused the work.
pub(super) fn will_not_run(runs: &Runs) {
    runs.lock().unwrap_or_else(PoisonError::into_inner).pop_back();
}

/// Takes back that the host functions of a graph will run once more.
pub(super) fn graph_will_not_run(nodes: &[Node]) {
    nodes.iter().filter_map(|node| node.runs.as_ref()).for_each(will_not_run);
}

/// A node of a graph.
#[derive(Clone, Debug)]
pub(super) struct Node {
    operation: Operation,
    access_ranges: Box<[AccessRange]>,
    /// The position in the order of the graph. A chain of dependent nodes has a slot, as a stream has elsewhere.
    place: WorkPosition,
    /// What the node depends on, directly or indirectly.
    before: Clock,
    /// Of a host function.
    runs: Option<Runs>,
}

#[derive(Debug, Default)]
pub(super) struct GraphState {
    nodes: Vec<Node>,
    /// The indices of the nodes in `nodes`, by handle.
    indices: HashMap<RawGraphNode, usize>,
    /// The number of nodes in each chain.
    chains: Vec<u64>,
}

impl GraphState {
    /// Adds a node. It extends a chain that ends with one of its dependencies, or begins a new chain.
    pub(super) fn add(
        &mut self,
        handle: RawGraphNode,
        dependencies: &[RawGraphNode],
        operation: Operation,
        access_ranges: Box<[AccessRange]>,
        runs: Option<Runs>,
    ) {
        let mut before = Clock::default();
        let mut chain = None;
        for node in dependencies.iter().filter_map(|d| self.nodes.get(*self.indices.get(d)?)) {
            before.merge(&node.before);
            before.raise(node.place.slot, node.place.seq);
            if self.chains.get(node.place.slot as usize) == Some(&node.place.seq) {
                chain = chain.or(Some(node.place.slot));
            }
        }
        let slot = chain.unwrap_or_else(|| {
            self.chains.push(0);
            self.chains.len() as u32 - 1
        });
        let Some(length) = self.chains.get_mut(slot as usize) else { return };
        *length += 1;
        let place = WorkPosition { slot, seq: *length };
        self.indices.insert(handle, self.nodes.len());
        self.nodes.push(Node { operation, access_ranges, place, before, runs });
    }
}

#[derive(Debug)]
pub(super) struct ExecState {
    nodes: Arc<[Node]>,
    /// The last launch on each stream.
    launches: Vec<WorkPosition>,
}

impl State {
    /// Checks the dependencies of a new node.
    fn check_dependencies(
        &mut self,
        call: ObservedKind,
        (device, graph, dependencies): (DeviceId, RawGraph, &[RawGraphNode]),
    ) -> Checked<()> {
        let state = self.graphs.of(call, device, graph.0)?;
        match dependencies.iter().find(|d| !state.indices.contains_key(d)) {
            Some(d) => Err(Box::new(Violation::NodeOfOtherGraph { call, node: d.0, graph: graph.0 })),
            None => Ok(()),
        }
    }

    /// Reports pairs of nodes that access the same bytes without an order, each pair once.
    fn report_graph_races(&mut self, graph: RawGraph) {
        let Some(state) = self.graphs.get(graph.0) else { return };
        let mut accesses: HashMap<RegionKey, Ranges> = HashMap::new();
        let mut pairs: HashSet<(WorkPosition, WorkPosition)> = HashSet::new();
        let mut races: Vec<(AccessRecord, AccessRecord, RegionKey, (u64, u64))> = Vec::new();
        for node in &state.nodes {
            for touch in &node.access_ranges {
                // Memory that was freed meanwhile is reported when the graph is launched.
                let Ok(Some((key, range))) = self.regions.find(node.operation.call.into(), touch) else {
                    continue;
                };
                let second = AccessRecord { work: node.place, write: touch.write, operation: node.operation };
                let ordered = |w: WorkPosition| w.slot == node.place.slot || w.seq <= node.before.get(w.slot);
                accesses.entry(key).or_default().access(
                    range,
                    second,
                    ordered,
                    |_| false,
                    |first, common| {
                        if pairs.insert((first.work, second.work)) {
                            races.push((*first, second, key, common));
                        }
                    },
                );
            }
        }
        for (first, second, key, common) in races {
            let Some((memory, range)) = self.regions.get_mut(key).map(|region| region.name(common)) else {
                continue;
            };
            let first = self.access_of(first.operation, first.write);
            let second = self.access_of(second.operation, second.write);
            self.report(Violation::GraphRace { graph: graph.0, first, second, memory, range });
        }
    }

    /// Checks everything about a graph's launch that does not depend on order.
    pub(super) fn check_graph_launch(
        &mut self,
        call: ObservedKind,
        device: DeviceId,
        exec: RawGraphExec,
    ) -> Checked<Arc<[Node]>> {
        let nodes = Arc::clone(&self.execs.of(call, device, exec.0)?.nodes);
        for node in nodes.iter() {
            if let Some(function) = node.operation.function {
                self.functions.of(call, device, function.0)?;
            }
            for touch in &node.access_ranges {
                let found = self.regions.find_for_node(call, touch);
                let kernel = || node.operation.function.and_then(|function| self.kernel_name(function));
                found.map_err(|violation| {
                    violation.of_kernel(|_| KernelUse { kernel: kernel(), argument: None })
                })?;
            }
        }
        Ok(nodes)
    }

    /// Records a launch that the driver has accepted. All nodes are one piece of work, with the accesses of each node.
    pub(super) fn commit_graph(
        &mut self,
        exec: RawGraphExec,
        device: DeviceId,
        stream: RawStream,
        nodes: &[Node],
    ) {
        let call = ObservedKind::Call(CallKind::GraphLaunch);
        let Some(slot) = self.known_slot(device, stream) else { return };
        let work = self.order.enqueue(slot);
        self.report_in_flight(call, exec, Some(slot));
        if let Some(state) = self.execs.get_mut(exec.0) {
            state.launches.retain(|w| w.slot != slot);
            state.launches.push(work);
        }
        for node in nodes {
            self.take_in(node.operation, work, node.access_ranges.iter().copied());
        }
    }

    /// Records that a host function will run once more, in the work that is about to be enqueued on a stream or behind it.
    pub(super) fn will_run(&mut self, runs: &Runs, device: DeviceId, stream: RawStream) {
        let mut clock = self.snapshot(device, stream);
        if let Some(slot) = self.known_slot(device, stream) {
            clock.raise(slot, self.order.next(slot));
        }
        runs.lock().unwrap_or_else(PoisonError::into_inner).push_back(clock);
    }

    /// Records that the host functions of a graph will run once more.
    pub(super) fn graph_will_run(&mut self, nodes: &[Node], device: DeviceId, stream: RawStream) {
        for runs in nodes.iter().filter_map(|node| node.runs.as_ref()) {
            self.will_run(runs, device, stream);
        }
    }

    /// Reports launches that the host does not know to have finished or, before a launch on `slot`, that are not
    /// ordered before it.
    fn report_in_flight(&mut self, call: ObservedKind, exec: RawGraphExec, slot: Option<u32>) {
        let Some(state) = self.execs.get(exec.0) else { return };
        let finished = |work: WorkPosition| match slot {
            Some(slot) => self.order.is_before(work, slot),
            None => self.order.is_known(work),
        };
        let in_flight: Vec<WorkPosition> = state.launches.iter().copied().filter(|&w| !finished(w)).collect();
        for work in in_flight {
            let operation = Operation::of(CallKind::GraphLaunch);
            let in_flight = self.access(&AccessRecord { work, write: true, operation });
            self.report(Violation::ExecInFlight { call, exec: exec.0, in_flight });
        }
    }
}

impl State {
    /// Checks a call about graphs, and removes what it is about to destroy.
    pub(super) fn before_graph(&mut self, call: &Call<'_>) -> Checked<Held> {
        let kind = call.kind().into();
        Ok(match *call {
            Call::GraphDestroy { device, graph } => {
                self.graphs.of(kind, device, graph.0)?;
                Held::Graph(self.graphs.remove(graph.0))
            }
            Call::GraphAdd { device, graph, dependencies, work } => {
                self.check_dependencies(kind, (device, graph, dependencies))?;
                self.check_node_work(kind, device, work)?;
                Held::Nothing
            }
            Call::GraphInstantiate { device, graph } => {
                Held::Nodes(self.graphs.of(kind, device, graph.0)?.nodes.as_slice().into())
            }
            Call::GraphUpdate { device, exec, launches } => {
                let state = self.execs.of(kind, device, exec.0)?;
                for NodeLaunch { node, .. } in launches {
                    if !state.nodes.iter().any(|known| known.operation.node == Some(*node)) {
                        return Err(Box::new(Violation::NodeOfOtherGraph {
                            call: kind,
                            node: node.0,
                            graph: exec.0,
                        }));
                    }
                }
                for NodeLaunch { launch, .. } in launches {
                    self.check_node_work(kind, device, &Work::Kernel(launch))?;
                }
                Held::Nothing
            }
            Call::GraphExecDestroy { device, exec } => {
                self.execs.of(kind, device, exec.0)?;
                self.report_in_flight(kind, exec, None);
                Held::Exec(self.execs.remove(exec.0))
            }
            _ => Held::Nothing,
        })
    }

    /// Checks the shape of a node's work, and the memory that it accesses.
    fn check_node_work(&mut self, kind: ObservedKind, device: DeviceId, work: &Work<'_>) -> Checked<()> {
        self.check_shape(kind, device, work)?;
        for touch in work.access_ranges(device) {
            let found = self.regions.find_for_node(kind, &touch);
            found.map_err(|violation| self.name_kernel(work, violation))?;
        }
        Ok(())
    }

    /// Records the effects of a call about graphs.
    pub(super) fn after_graph(&mut self, call: &Call<'_>, output: Output, held: Held) {
        match (*call, output, held) {
            (Call::GraphCreate { device }, Output::Graph(graph), _) => {
                self.graphs.add(graph.0, device, GraphState::default());
            }
            (Call::GraphAdd { device, graph, dependencies, work }, Output::Node(node), held) => {
                let operation = Operation { node: Some(node), ..Operation::of_work(call.kind(), work) };
                if let Some(state) = self.graphs.get_mut(graph.0) {
                    let access_ranges = work.access_ranges(device).collect();
                    state.add(node, dependencies, operation, access_ranges, held.runs());
                }
            }
            (Call::GraphInstantiate { device, graph }, Output::Exec(exec), Held::Nodes(nodes)) => {
                self.report_graph_races(graph);
                self.execs.add(exec.0, device, ExecState { nodes, launches: Vec::new() });
            }
            (Call::GraphUpdate { device, exec, launches }, ..) => {
                let Some(state) = self.execs.get_mut(exec.0) else { return };
                // Launches that are checked elsewhere at this moment keep what they had.
                let mut nodes: Box<[Node]> = state.nodes.iter().cloned().collect();
                for NodeLaunch { node, launch } in launches {
                    if let Some(known) = nodes.iter_mut().find(|known| known.operation.node == Some(*node)) {
                        let work = Work::Kernel(launch);
                        known.operation.function = Some(launch.function);
                        known.access_ranges = work.access_ranges(device).collect();
                    }
                }
                state.nodes = nodes.into();
            }
            _ => {}
        }
    }
}
