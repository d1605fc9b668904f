//! Graphs, and the executable graphs that a stream's worker runs.
//!
//! A node can only depend on nodes that exist already. So there are no cycles, and running the nodes in the order in
//! which they were added satisfies all dependencies. No two nodes of one launch run at the same time.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use amdgpu_emulator::BlockTable;

use super::command::{HostSource, Step, fault_code};
use super::device::{Device, lock};
use super::watch::Watched;
use super::{EmulatedDriver, belongs, exhausted, stale};
use hip_driver::{
    CallKind, DeviceId, DriverError, DriverResult, ErrorCode, NodeLaunch, RawGraph, RawGraphExec,
    RawGraphNode, Work,
};

/// A graph to which nodes are added.
pub(super) struct Graph {
    device: Arc<Device>,
    recorded: Mutex<Recorded>,
}

#[derive(Default)]
pub(super) struct Recorded {
    /// The indices of the nodes in `steps`, by handle.
    nodes: HashMap<u64, usize>,
    /// The nodes' steps; `None` for a node that only joins dependencies or whose range is empty.
    pub(super) steps: Vec<Option<Step>>,
    pub(super) arguments: Vec<u8>,
    /// The host memory of steps that must be pinned at a launch; captured copies of pageable memory are not among them.
    pinned: Vec<(HostSource, usize)>,
}

impl Recorded {
    /// Has a launch check that host memory of a step is pinned.
    pub(super) fn must_be_pinned(&mut self, host: *const u8, bytes: usize) {
        self.pinned.push((HostSource(host), bytes));
    }
}

/// An executable graph.
pub(super) struct GraphExec {
    device: Arc<Device>,
    /// The places of the nodes' steps, by handle.
    places: HashMap<u64, usize>,
    pinned: Box<[(HostSource, usize)]>,
    contents: Mutex<Arc<ExecContents>>,
}

/// What a launch of an executable graph executes. A launch in flight keeps it, whatever becomes of the graph.
#[derive(Clone)]
pub(super) struct ExecContents {
    steps: Vec<Option<Step>>,
    arguments: Vec<u8>,
    /// Whether there is a host function among the nodes.
    pub(super) calls_the_host: bool,
}

impl ExecContents {
    /// Runs the nodes. After a fault, of one of them or on another stream of the device, only host functions.
    pub(super) fn run(&self, device: &Device, watched: &Watched, blocks: &Arc<BlockTable>) {
        for (index, step) in self.steps.iter().enumerate() {
            let Some(step) = step else { continue };
            if device.is_poisoned() && !matches!(step, Step::Host(_)) {
                continue;
            }
            let run = || device.run_step(step, &self.arguments, Some(Arc::clone(blocks)));
            let done = watched.time(Some(index as u32), run);
            if let Err((what, error)) = done {
                let work = format!("node {} of {} of a graph: {what}", index + 1, self.steps.len());
                device.lose(fault_code(&error), work, error);
            }
        }
    }
}

impl EmulatedDriver {
    /// Returns a graph of a device that is not lost.
    fn graph(&self, call: &'static str, device: DeviceId, graph: RawGraph) -> DriverResult<Arc<Graph>> {
        self.device(call, device)?;
        let found = self.graphs.get(graph.0).ok_or_else(|| stale(call, "graph", graph.0))?;
        belongs(call, "graph", found.device.id, device)?;
        Ok(found)
    }

    pub(super) fn create_graph(&self, device: DeviceId) -> DriverResult<RawGraph> {
        let call = "hipGraphCreate";
        let device = Arc::clone(self.device(call, device)?);
        self.add_graph(call, Graph { device, recorded: Mutex::default() })
    }

    /// Adds the graph of a capture.
    pub(super) fn add_captured(
        &self,
        call: &'static str,
        device: Arc<Device>,
        recorded: Recorded,
    ) -> DriverResult<RawGraph> {
        self.add_graph(call, Graph { device, recorded: Mutex::new(recorded) })
    }

    fn add_graph(&self, call: &'static str, graph: Graph) -> DriverResult<RawGraph> {
        self.graphs.insert(Arc::new(graph)).map(RawGraph).ok_or_else(|| exhausted(call))
    }

    pub(super) fn destroy_graph(&self, device: DeviceId, graph: RawGraph) -> DriverResult<()> {
        let call = "hipGraphDestroy";
        self.any_device(call, device)?;
        let found = self.graphs.remove_if(graph.0, |g| belongs(call, "graph", g.device.id, device))?;
        found.map(drop).ok_or_else(|| stale(call, "graph", graph.0))
    }

    pub(super) fn add_node(
        &self,
        (device, graph): (DeviceId, RawGraph),
        dependencies: &[RawGraphNode],
        work: &Work<'_>,
    ) -> DriverResult<RawGraphNode> {
        let call = work.node_kind().name();
        let found = self.graph(call, device, graph)?;
        let mut recorded = lock(&found.recorded);
        if let Some(foreign) = dependencies.iter().find(|d| !recorded.nodes.contains_key(&d.0)) {
            let detail = format!("{foreign:?} is not a node of {graph:?}");
            return Err(DriverError::with_detail(call, ErrorCode::INVALID_VALUE, detail));
        }
        if let Work::CooperativeKernel { .. } | Work::PartialKernel { .. } = work {
            return Err(work.unsupported(call));
        }
        let step =
            self.prepare(call, &found.device, work)?.map(|prepared| prepared.stage(&mut recorded.arguments));
        if let Some((host, bytes)) = step.as_ref().and_then(Step::host_memory) {
            self.check_pinned(call, host, bytes)?;
            recorded.must_be_pinned(host, bytes);
        }
        let node = self.nodes.next();
        let place = recorded.steps.len();
        recorded.steps.push(step);
        recorded.nodes.insert(node.0, place);
        Ok(node)
    }

    /// Fails if host memory is not pinned: a node may read or write it at any time.
    fn check_pinned(&self, call: &'static str, host: *const u8, bytes: usize) -> DriverResult<()> {
        if self.pinned.contains(host, bytes) {
            return Ok(());
        }
        let detail = format!("{bytes} bytes at {host:?} are not in pinned memory");
        Err(DriverError::with_detail(call, ErrorCode::INVALID_VALUE, detail))
    }

    pub(super) fn instantiate(&self, device: DeviceId, graph: RawGraph) -> DriverResult<RawGraphExec> {
        let call = "hipGraphInstantiate";
        let graph = self.graph(call, device, graph)?;
        let exec = {
            let recorded = lock(&graph.recorded);
            let contents = ExecContents {
                steps: recorded.steps.clone(),
                arguments: recorded.arguments.clone(),
                calls_the_host: recorded.steps.iter().flatten().any(|step| matches!(step, Step::Host(_))),
            };
            GraphExec {
                device: Arc::clone(&graph.device),
                places: recorded.nodes.clone(),
                pinned: recorded.pinned.as_slice().into(),
                contents: Mutex::new(Arc::new(contents)),
            }
        };
        self.execs.insert(Arc::new(exec)).map(RawGraphExec).ok_or_else(|| exhausted(call))
    }

    fn exec(&self, call: &'static str, device: DeviceId, exec: RawGraphExec) -> DriverResult<Arc<GraphExec>> {
        let exec = self.execs.get(exec.0).ok_or_else(|| stale(call, "executable graph", exec.0))?;
        belongs(call, "executable graph", exec.device.id, device)?;
        Ok(exec)
    }

    /// Replaces launches of kernels' nodes. Launches in flight keep theirs.
    pub(super) fn update_nodes(
        &self,
        device: DeviceId,
        exec: RawGraphExec,
        launches: &[NodeLaunch<'_>],
    ) -> DriverResult<()> {
        let call = CallKind::GraphUpdate.name();
        self.device(call, device)?;
        let exec = self.exec(call, device, exec)?;
        let mut contents = lock(&exec.contents);
        let kernel = |node: &RawGraphNode| {
            let place = exec.places.get(&node.0).copied();
            place.filter(|place| matches!(contents.steps.get(*place), Some(Some(Step::Launch { .. }))))
        };
        // All of them are checked before the first is replaced.
        let mut all = Vec::with_capacity(launches.len());
        for NodeLaunch { node, launch } in launches {
            let prepared = self.prepare(call, &exec.device, &Work::Kernel(launch))?;
            let replaced = kernel(node).zip(prepared).ok_or_else(|| {
                let detail = format!("{node:?} is no kernel's of the graph");
                DriverError::with_detail(call, ErrorCode::INVALID_VALUE, detail)
            })?;
            all.push(replaced);
        }
        let contents = Arc::make_mut(&mut contents);
        for (place, prepared) in all {
            if let Some(step) = &mut contents.steps[place] {
                *step = prepared.replace(step, &mut contents.arguments);
            }
        }
        Ok(())
    }

    /// Returns what an executable graph executes that can be launched on `device`.
    pub(super) fn launchable(
        &self,
        call: &'static str,
        device: DeviceId,
        exec: RawGraphExec,
    ) -> DriverResult<Arc<ExecContents>> {
        let exec = self.exec(call, device, exec)?;
        let contents = Arc::clone(&lock(&exec.contents));
        // The blocks of pools change between launches.
        for (ptr, bytes) in contents.steps.iter().flatten().flat_map(Step::device_memory) {
            exec.device.check_blocks(call, "a node", ptr, bytes)?;
        }
        // Freed pinned memory must not be accessed: it is host memory, so the access would not be a fault of the
        // device.
        exec.pinned.iter().try_for_each(|&(host, bytes)| self.check_pinned(call, host.0, bytes))?;
        Ok(contents)
    }

    pub(super) fn destroy_exec(&self, device: DeviceId, exec: RawGraphExec) -> DriverResult<()> {
        let call = "hipGraphExecDestroy";
        self.any_device(call, device)?;
        let found =
            self.execs.remove_if(exec.0, |e| belongs(call, "executable graph", e.device.id, device))?;
        found.map(drop).ok_or_else(|| stale(call, "executable graph", exec.0))
    }
}
