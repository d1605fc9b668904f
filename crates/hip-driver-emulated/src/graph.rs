//! Graphs: nodes recorded one by one, and lists of them that a stream's worker replays.
//!
//! A node can only depend on nodes that are there already, so the order in which they were added is a topological one,
//! there are no cycles, and a replay runs the nodes in that order. Nothing of a graph runs beside the rest of it.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use gfx9_emulator::Error;

use super::command::{Command, HostSource, HostTarget, Work};
use super::device::{Device, lock};
use super::stream::Staged;
use super::watch::Watched;
use super::{EmulatedDriver, belongs, check_host, exhausted, push, stale};
use hip_driver::{
    DeviceId, DevicePtr, DriverError, DriverResult, ErrorCode, KernelLaunch, RawGraph, RawGraphExec,
    RawGraphNode, RawStream,
};

/// What the handles of nodes begin with, where those of other objects have the kind of their table.
const NODE_KIND: u64 = 7 << 56;

/// A graph that nodes are added to.
pub(super) struct Graph {
    device: Arc<Device>,
    recorded: Mutex<Recorded>,
}

#[derive(Default)]
struct Recorded {
    /// Places of the nodes in `steps`, by handle.
    nodes: HashMap<u64, usize>,
    steps: Vec<Step>,
    arguments: Vec<u8>,
}

/// What a node does; nothing for one that only gathers dependencies, or whose range is empty.
type Step = Option<Work>;

/// A graph that can be launched. A launch in flight keeps it, whatever happens to its handle.
pub(super) struct GraphExec {
    device: Arc<Device>,
    steps: Box<[Step]>,
    arguments: Box<[u8]>,
}

impl GraphExec {
    /// Runs the nodes; the first that fails ends it, and so does a fault on another stream of the device.
    pub(super) fn run(&self, device: &Device, watched: &Watched) -> Result<(), (String, Error)> {
        for (index, work) in self.steps.iter().enumerate() {
            if device.is_poisoned() {
                break;
            }
            let Some(work) = work else { continue };
            let done = watched.time(Some(index as u32), || device.work(work, &self.arguments));
            done.map_err(|(what, error)| {
                (format!("node {} of {} of a graph: {what}", index + 1, self.steps.len()), error)
            })?;
        }
        Ok(())
    }

    /// The host memory that it copies from and to.
    fn host_memory(&self) -> impl Iterator<Item = (*const u8, usize)> + '_ {
        self.steps.iter().flatten().filter_map(|work| match *work {
            Work::CopyIn { src, bytes, .. } => Some((src.0, bytes)),
            Work::CopyOut { dst, bytes, .. } => Some((dst.0.cast_const(), bytes)),
            _ => None,
        })
    }
}

/// The numbers of nodes, over all graphs: none is given out twice.
#[derive(Default)]
pub(super) struct NodeNumbers(AtomicU64);

impl NodeNumbers {
    fn next(&self) -> u64 {
        NODE_KIND | (self.0.fetch_add(1, Ordering::Relaxed) + 1)
    }
}

impl EmulatedDriver {
    /// A graph of a device that had no fault.
    fn graph(&self, call: &'static str, device: DeviceId, graph: RawGraph) -> DriverResult<Arc<Graph>> {
        self.device(call, device)?;
        let found = self.graphs.get(graph.0).ok_or_else(|| stale(call, "graph", graph.0))?;
        belongs(call, "graph", found.device.id, device)?;
        Ok(found)
    }

    pub(super) fn create_graph(&self, device: DeviceId) -> DriverResult<RawGraph> {
        let call = "hipGraphCreate";
        let device = Arc::clone(self.device(call, device)?);
        let graph = Graph { device, recorded: Mutex::default() };
        self.graphs.insert(Arc::new(graph)).map(RawGraph).ok_or_else(|| exhausted(call))
    }

    pub(super) fn destroy_graph(&self, device: DeviceId, graph: RawGraph) -> DriverResult<()> {
        let call = "hipGraphDestroy";
        self.any_device(call, device)?;
        let found = self.graphs.remove_if(graph.0, |g| belongs(call, "graph", g.device.id, device))?;
        found.map(drop).ok_or_else(|| stale(call, "graph", graph.0))
    }

    /// Adds a node; `make` checks what it does and puts its arguments behind those that there are.
    fn add_node(
        &self,
        call: &'static str,
        (device, graph): (DeviceId, RawGraph),
        dependencies: &[RawGraphNode],
        make: impl FnOnce(&Device, &mut Vec<u8>) -> DriverResult<Step>,
    ) -> DriverResult<RawGraphNode> {
        let found = self.graph(call, device, graph)?;
        let mut recorded = lock(&found.recorded);
        if let Some(foreign) = dependencies.iter().find(|d| !recorded.nodes.contains_key(&d.0)) {
            let detail = format!("{foreign:?} is no node of {graph:?}");
            return Err(DriverError::with_detail(call, ErrorCode::INVALID_VALUE, detail));
        }
        let step = make(&found.device, &mut recorded.arguments)?;
        let node = self.nodes.next();
        let place = recorded.steps.len();
        recorded.steps.push(step);
        recorded.nodes.insert(node, place);
        Ok(RawGraphNode(node))
    }

    pub(super) fn add_kernel(
        &self,
        (device, graph): (DeviceId, RawGraph),
        dependencies: &[RawGraphNode],
        launch: &KernelLaunch<'_>,
    ) -> DriverResult<RawGraphNode> {
        let call = "hipGraphAddKernelNode";
        let function = self.function(call, device, launch.function)?;
        let KernelLaunch { grid, block, dynamic_lds, .. } = *launch;
        function.check_configuration(call, grid, block, dynamic_lds)?;
        let explicit = function.explicit(call, launch.kernarg)?;
        self.add_node(call, (device, graph), dependencies, |_, arguments| {
            let kernarg = Staged::append(explicit, arguments);
            Ok(Some(Work::Launch { function, grid, block, dynamic_lds, kernarg }))
        })
    }

    /// Fails for host memory that is not pinned: a node would read or write it at any time.
    fn check_pinned(&self, call: &'static str, host: *const u8, bytes: usize) -> DriverResult<()> {
        check_host(call, host)?;
        if self.pinned.contains(host, bytes) {
            return Ok(());
        }
        let detail = format!("{bytes} bytes at {host:?} are in no pinned memory");
        Err(DriverError::with_detail(call, ErrorCode::INVALID_VALUE, detail))
    }

    pub(super) fn add_copy_in(
        &self,
        at: (DeviceId, RawGraph),
        dependencies: &[RawGraphNode],
        dst: DevicePtr,
        src: *const u8,
        bytes: usize,
    ) -> DriverResult<RawGraphNode> {
        let call = "hipGraphAddMemcpyNode1D";
        self.add_node(call, at, dependencies, |device, _| {
            if bytes == 0 {
                return Ok(None);
            }
            self.check_pinned(call, src, bytes)?;
            device.check_range(call, "destination", dst, bytes)?;
            Ok(Some(Work::CopyIn { dst, src: HostSource(src), bytes }))
        })
    }

    pub(super) fn add_copy_out(
        &self,
        at: (DeviceId, RawGraph),
        dependencies: &[RawGraphNode],
        dst: *mut u8,
        src: DevicePtr,
        bytes: usize,
    ) -> DriverResult<RawGraphNode> {
        let call = "hipGraphAddMemcpyNode1D";
        self.add_node(call, at, dependencies, |device, _| {
            if bytes == 0 {
                return Ok(None);
            }
            self.check_pinned(call, dst, bytes)?;
            device.check_range(call, "source", src, bytes)?;
            Ok(Some(Work::CopyOut { dst: HostTarget(dst), src, bytes }))
        })
    }

    pub(super) fn add_copy(
        &self,
        at: (DeviceId, RawGraph),
        dependencies: &[RawGraphNode],
        dst: DevicePtr,
        src: DevicePtr,
        bytes: usize,
    ) -> DriverResult<RawGraphNode> {
        let call = "hipGraphAddMemcpyNode1D";
        self.add_node(call, at, dependencies, |device, _| {
            if bytes == 0 {
                return Ok(None);
            }
            device.check_range(call, "destination", dst, bytes)?;
            device.check_range(call, "source", src, bytes)?;
            Ok(Some(Work::Copy { dst, src, bytes }))
        })
    }

    /// Adds a fill with `count` times the first `width` bytes of `pattern`.
    pub(super) fn add_fill(
        &self,
        at: (DeviceId, RawGraph),
        dependencies: &[RawGraphNode],
        dst: DevicePtr,
        (pattern, width, count): ([u8; 4], usize, usize),
    ) -> DriverResult<RawGraphNode> {
        let call = "hipGraphAddMemsetNode";
        self.add_node(call, at, dependencies, |device, _| {
            let invalid = |detail| DriverError::with_detail(call, ErrorCode::INVALID_VALUE, detail);
            if !dst.0.is_multiple_of(width as u64) {
                return Err(invalid(format!("{dst} is not aligned to {width} bytes")));
            }
            let bytes =
                count.checked_mul(width).ok_or_else(|| invalid(format!("{count} words of {width} bytes")))?;
            if bytes == 0 {
                return Ok(None);
            }
            device.check_range(call, "destination", dst, bytes)?;
            Ok(Some(Work::Fill { dst, pattern, width, count }))
        })
    }

    pub(super) fn add_empty(
        &self,
        at: (DeviceId, RawGraph),
        dependencies: &[RawGraphNode],
    ) -> DriverResult<RawGraphNode> {
        self.add_node("hipGraphAddEmptyNode", at, dependencies, |_, _| Ok(None))
    }

    pub(super) fn instantiate(&self, device: DeviceId, graph: RawGraph) -> DriverResult<RawGraphExec> {
        let call = "hipGraphInstantiate";
        let graph = self.graph(call, device, graph)?;
        let exec = {
            let recorded = lock(&graph.recorded);
            GraphExec {
                device: Arc::clone(&graph.device),
                steps: recorded.steps.as_slice().into(),
                arguments: recorded.arguments.as_slice().into(),
            }
        };
        self.execs.insert(Arc::new(exec)).map(RawGraphExec).ok_or_else(|| exhausted(call))
    }

    pub(super) fn launch_graph(
        &self,
        device: DeviceId,
        exec: RawGraphExec,
        stream: RawStream,
    ) -> DriverResult<()> {
        let call = "hipGraphLaunch";
        let stream = self.stream(call, device, stream)?;
        let exec = self.execs.get(exec.0).ok_or_else(|| stale(call, "executable graph", exec.0))?;
        belongs(call, "executable graph", exec.device.id, device)?;
        // Pinned memory that was freed meanwhile is no longer the device's to fault on: it would be the host's.
        exec.host_memory().try_for_each(|(host, bytes)| self.check_pinned(call, host, bytes))?;
        push(call, &stream, |_| Command::Graph(exec)).map(drop)
    }

    pub(super) fn destroy_exec(&self, device: DeviceId, exec: RawGraphExec) -> DriverResult<()> {
        let call = "hipGraphExecDestroy";
        self.any_device(call, device)?;
        let found =
            self.execs.remove_if(exec.0, |e| belongs(call, "executable graph", e.device.id, device))?;
        found.map(drop).ok_or_else(|| stale(call, "executable graph", exec.0))
    }
}
