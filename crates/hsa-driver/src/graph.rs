//! Graphs. An executable graph has its packets and their arguments ready: a launch copies the packets into the stream's queue.
//!
//! A node can only depend on nodes that exist already. The packets are put in by levels: a node's level is one above the highest of those that it
//! depends on, and the first packet of a level waits for all before it, so that nodes of a level may run at the same time.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use kernel_services::{Printer, PrintfFormats};
use smallvec::SmallVec;

use crate::HsaDriver;
use crate::blit::BlitLaunch;
use crate::device::Device;
use crate::gpu::lock;
use crate::marker::Marker;
use crate::memory::Block;
use crate::module::{Extra, Function, function};
use crate::packet::{Dispatch, Packet};
use crate::services::{Asked, OwnCalls, Printed, new_printf_buffer};
use crate::stream::{Enqueue, Kept};
use hip_driver::checks::{belongs, stale};
use hip_driver::{
    CallKind, DeviceId, DevicePtr, DriverError, DriverResult, ErrorCode, HostNode, KernelLaunch, NodeLaunch,
    RawFunction, RawGraph, RawGraphExec, RawGraphNode, Work,
};

/// The alignment of kernel arguments.
const ALIGN: usize = 64;

/// Host memory that a copy reads when its graph runs.
#[derive(Clone, Copy, Debug)]
pub(crate) struct HostSource(pub(crate) *const u8);

/// Host memory that a copy writes when its graph runs.
#[derive(Clone, Copy, Debug)]
pub(crate) struct HostTarget(pub(crate) *mut u8);

// SAFETY: the caller that adds the copy guarantees that the memory is readable whenever the graph runs, on any thread.
unsafe impl Send for HostSource {}
// SAFETY: as above; a shared reference gives only the address.
unsafe impl Sync for HostSource {}
// SAFETY: the caller that adds the copy guarantees that the memory is writable whenever the graph runs, on any thread.
unsafe impl Send for HostTarget {}
// SAFETY: as above; a shared reference gives only the address.
unsafe impl Sync for HostTarget {}

/// What the packet and the hidden arguments of a launch follow from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Shape {
    function: RawFunction,
    grid: [u32; 3],
    block: [u32; 3],
    dynamic_lds: u32,
}

impl Shape {
    pub(crate) fn of(launch: &KernelLaunch<'_>) -> Shape {
        let KernelLaunch { function, grid, block, dynamic_lds, .. } = *launch;
        Shape { function, grid, block, dynamic_lds }
    }
}

/// What a node does.
#[derive(Clone, Debug)]
pub(crate) enum Step {
    /// Runs a kernel with this kernarg segment, to which the addresses of what it asks for are added.
    Kernel(Shape, Dispatch, Box<[u8]>, Option<Asked>),
    /// Copies, or fills.
    Blit(BlitLaunch),
    /// Copies memory that is not pinned to the device.
    CopyIn { dst: DevicePtr, src: HostSource, bytes: usize },
    /// Copies to memory that is not pinned.
    CopyOut { dst: HostTarget, src: DevicePtr, bytes: usize },
    /// Calls a function of the program.
    Host(HostNode),
}

/// A node, and those that it depends on.
#[derive(Clone, Debug)]
struct Node {
    /// `None` for a node that only joins dependencies or whose range is empty.
    step: Option<Step>,
    after: Vec<usize>,
    /// Its handle; 0 for one that was captured.
    handle: u64,
}

/// The nodes of a graph.
#[derive(Debug, Default)]
pub(crate) struct Recorded {
    nodes: Vec<Node>,
    /// The places of the nodes, by handle.
    places: HashMap<u64, usize>,
}

/// A graph to which nodes are added.
#[derive(Debug)]
pub(crate) struct Graph {
    device: &'static Device,
    recorded: Mutex<Recorded>,
}

/// What a launch does at a time.
#[derive(Debug)]
enum Segment {
    Packets(Vec<Packet>),
    /// Has the host do the act of this number.
    Act(usize),
}

/// What a graph has the host do.
#[derive(Debug)]
enum Act {
    Host(HostNode),
    /// Prints what a kernel has left.
    Print(Printed, Arc<PrintfFormats>),
    /// Copies memory that is not pinned to staging memory, or from there.
    Stage {
        to: HostTarget,
        from: HostSource,
        bytes: usize,
    },
}

/// Where the launch of a kernel's node is.
#[derive(Clone, Copy, Debug)]
struct Place {
    node: u64,
    /// The segment of packets, and the packet in it.
    segment: usize,
    packet: usize,
    /// The place of the arguments in their block, and their bytes.
    at: usize,
    bytes: usize,
    /// The launch that it has now.
    shape: Shape,
}

/// What a launch reads, and an update changes.
#[derive(Debug)]
struct Contents {
    segments: Vec<Segment>,
    /// The kernel arguments. There are two such blocks once arguments were replaced: launches in flight read the one, and updates
    /// write to the other.
    arguments: Vec<Block>,
    /// The last launch with each of them, once arguments were replaced.
    launches: [Option<Marker>; 2],
    /// The block of the next launch, and the number of the stream of a launch that has it.
    current: usize,
    launched_on: Option<u64>,
    /// The kernels' nodes, in the order of their handles.
    places: Vec<Place>,
}

/// An executable graph. A launch in flight keeps it alive, even if its handle is destroyed.
#[derive(Debug)]
pub(crate) struct GraphExec {
    device: &'static Device,
    contents: Mutex<Contents>,
    /// Not among the contents: an update waits for launches in flight, and they for these.
    acts: Vec<Act>,
    _staging: Vec<Block>,
    /// The calls of its kernels.
    _calls: OwnCalls,
}

impl Recorded {
    /// Adds a node behind others, and returns its place.
    pub(crate) fn push(&mut self, step: Option<Step>, after: Vec<usize>) -> usize {
        self.nodes.push(Node { step, after, handle: 0 });
        self.nodes.len() - 1
    }

    /// The nodes' steps by level.
    fn levels(&self) -> Vec<Vec<(u64, &Step)>> {
        let mut levels: Vec<Vec<(u64, &Step)>> = Vec::new();
        let mut level_of: Vec<usize> = Vec::with_capacity(self.nodes.len());
        for node in &self.nodes {
            let level = node.after.iter().map(|place| level_of[*place] + 1).max().unwrap_or(0);
            level_of.push(level);
            if levels.len() <= level {
                levels.resize_with(level + 1, Vec::new);
            }
            levels[level].extend(node.step.as_ref().map(|step| (node.handle, step)));
        }
        levels
    }
}

/// Makes the segments of an executable graph.
struct Builder {
    call: &'static str,
    device: &'static Device,
    /// The kernel arguments, and how much of them is used.
    arguments: Option<Block>,
    used: usize,
    staging: Vec<Block>,
    segments: Vec<Segment>,
    acts: Vec<Act>,
    places: Vec<Place>,
    calls: OwnCalls,
}

impl Step {
    /// The bytes of kernel arguments that it needs.
    fn argument_bytes(&self, call: &'static str, device: &'static Device) -> DriverResult<usize> {
        Ok(match self {
            Step::Kernel(_, _, segment, _) => segment.len(),
            Step::Blit(launch) => launch.dispatch().1,
            Step::CopyIn { .. } | Step::CopyOut { .. } => device.blit(call)?.copy(0, 0, 0).dispatch().1,
            Step::Host(_) => 0,
        })
    }
}

impl Builder {
    /// The packet of a kernel, whose arguments `fill` writes.
    fn packet(&mut self, dispatch: &Dispatch, bytes: usize, fill: impl FnOnce(&mut [u8])) -> Packet {
        let mut kernarg = 0;
        if let Some(block) = &self.arguments {
            // SAFETY: the block has room for the arguments of all nodes, and no graph that uses it runs yet.
            let segment =
                unsafe { std::slice::from_raw_parts_mut(block.address.as_ptr().add(self.used), bytes) };
            fill(segment);
            kernarg = block.device_address() + self.used as u64;
            self.used += bytes.next_multiple_of(ALIGN);
        }
        Packet::dispatch(dispatch, kernarg)
    }

    fn blit(&mut self, launch: &BlitLaunch) -> Packet {
        let (dispatch, bytes) = launch.dispatch();
        self.packet(&dispatch, bytes, |segment| launch.fill(segment))
    }

    /// Staging memory: its address for the host, which is that for the device.
    fn stage(&mut self, bytes: usize) -> DriverResult<*mut u8> {
        let system = self.device.system;
        let block = Block::new(self.call, system.hsa, system.pools.fine, bytes, &[self.device.agent])?;
        let address = block.address.as_ptr();
        self.staging.push(block);
        Ok(address)
    }

    fn act(&mut self, act: Act) {
        self.segments.push(Segment::Act(self.acts.len()));
        self.acts.push(act);
    }

    /// Adds the steps of a level: what the host does before, the packets, and what the host does behind.
    fn level(&mut self, steps: &[(u64, &Step)]) -> DriverResult<()> {
        let (mut packets, mut behind, mut kernels) = (Vec::new(), Vec::new(), Vec::new());
        for (node, step) in steps {
            let packet = match step {
                Step::Kernel(shape, dispatch, segment, None) => {
                    let (at, bytes) = (self.used, segment.len());
                    kernels.push(Place {
                        node: *node,
                        segment: 0,
                        packet: packets.len(),
                        at,
                        bytes,
                        shape: *shape,
                    });
                    self.packet(dispatch, segment.len(), |place| place.copy_from_slice(segment))
                }
                Step::Kernel(_, dispatch, segment, Some(asked)) => {
                    let printf = match &asked.printf {
                        Some((_, formats)) => {
                            Some((new_printf_buffer(self.call, self.device)?, Arc::clone(formats)))
                        }
                        None => None,
                    };
                    let buffer = printf.as_ref().map(|(buffer, _)| buffer);
                    let served = asked.serve(
                        self.call,
                        (&self.device.gpu, &self.device.services),
                        &self.calls,
                        buffer,
                    )?;
                    behind.extend(printf.map(|(buffer, formats)| Act::Print(buffer, formats)));
                    self.packet(dispatch, segment.len(), |place| {
                        place.copy_from_slice(segment);
                        served.write(place);
                    })
                }
                Step::Blit(launch) => self.blit(launch),
                Step::CopyIn { dst, src, bytes } => {
                    let staging = self.stage(*bytes)?;
                    self.act(Act::Stage { to: HostTarget(staging), from: *src, bytes: *bytes });
                    let copy = self.device.blit(self.call)?.copy(dst.0, staging.addr() as u64, *bytes as u64);
                    self.blit(&copy)
                }
                Step::CopyOut { dst, src, bytes } => {
                    let staging = self.stage(*bytes)?;
                    behind.push(Act::Stage { to: *dst, from: HostSource(staging), bytes: *bytes });
                    let copy = self.device.blit(self.call)?.copy(staging.addr() as u64, src.0, *bytes as u64);
                    self.blit(&copy)
                }
                Step::Host(node) => {
                    behind.push(Act::Host(node.clone()));
                    continue;
                }
            };
            packets.push(if packets.is_empty() { packet } else { packet.beside_others() });
        }
        let mut first = 0;
        match self.segments.last_mut() {
            Some(Segment::Packets(before)) => {
                first = before.len();
                before.extend(packets);
            }
            _ if packets.is_empty() => {}
            _ => self.segments.push(Segment::Packets(packets)),
        }
        let segment = self.segments.len().saturating_sub(1);
        let placed = |place: Place| Place { segment, packet: first + place.packet, ..place };
        self.places.extend(kernels.into_iter().map(placed));
        behind.into_iter().for_each(|act| self.act(act));
        Ok(())
    }
}

impl GraphExec {
    fn new(call: &'static str, device: &'static Device, recorded: &Recorded) -> DriverResult<GraphExec> {
        let steps = recorded.nodes.iter().filter_map(|node| node.step.as_ref());
        let bytes = steps.map(|step| Ok(step.argument_bytes(call, device)?.next_multiple_of(ALIGN)));
        let bytes = bytes.sum::<DriverResult<usize>>()?;
        let kernarg = device.system.pools.kernarg;
        let arguments =
            (bytes > 0).then(|| Block::new(call, device.hsa, kernarg, bytes, &[device.agent])).transpose()?;
        let mut builder = Builder {
            call,
            device,
            arguments,
            used: 0,
            staging: Vec::new(),
            segments: Vec::new(),
            acts: Vec::new(),
            places: Vec::new(),
            calls: OwnCalls::default(),
        };
        recorded.levels().iter().try_for_each(|steps| builder.level(steps))?;
        let Builder { arguments, staging, segments, acts, mut places, calls, .. } = builder;
        places.sort_unstable_by_key(|place| place.node);
        let contents = Contents {
            segments,
            arguments: arguments.into_iter().collect(),
            launches: [None, None],
            current: 0,
            launched_on: None,
            places,
        };
        let contents = Mutex::new(contents);
        Ok(GraphExec { device, contents, acts, _staging: staging, _calls: calls })
    }

    /// Launches it on a stream.
    pub(crate) fn launch(self: &Arc<Self>, enqueue: &mut Enqueue<'_>) -> DriverResult<()> {
        let mut contents = lock(&self.contents);
        for segment in &contents.segments {
            match segment {
                Segment::Packets(packets) => enqueue.submit(packets)?,
                Segment::Act(index) => {
                    let (exec, index) = (Arc::clone(self), *index);
                    enqueue.act(Box::new(move |status| exec.act(index, status)))?;
                }
            }
        }
        let exec = Arc::clone(self);
        enqueue.keep(Kept::Graph(exec));
        contents.launched_on = Some(enqueue.stream.number());
        if contents.arguments.len() > 1 {
            let current = contents.current;
            contents.launches[current] = Some(enqueue.mark_now()?);
        }
        Ok(())
    }

    /// Has the host do one of its acts.
    fn act(&self, index: usize, status: DriverResult<()>) {
        match &self.acts[index] {
            Act::Host(node) => node.call(status),
            // Behind a fault, too: what the kernel has printed may say why.
            Act::Print(buffer, formats) => buffer.print(formats, &Printer::default()),
            Act::Stage { to, from, bytes } if status.is_ok() => {
                // SAFETY: staging memory of this graph, whose launches do not overlap, and memory that is accessible whenever the graph
                // runs (the promise of who added the node).
                unsafe { std::ptr::copy_nonoverlapping(from.0, to.0, *bytes) };
            }
            Act::Stage { .. } => {}
        }
    }
}

impl Contents {
    /// The place of a kernel's node among the places.
    fn kernel(&self, node: u64) -> Option<usize> {
        // Nodes that were added one after the other have handles in a row.
        let first = self.places.first().map_or(0, |place| place.node);
        let guess = node.wrapping_sub(first) as usize;
        match self.places.get(guess) {
            Some(place) if place.node == node => Some(guess),
            _ => self.places.binary_search_by_key(&node, |place| place.node).ok(),
        }
    }

    /// Checks that a node can launch something else, and returns the node's place.
    #[inline]
    fn check(
        &self,
        call: &'static str,
        function: &Function,
        NodeLaunch { node, launch }: &NodeLaunch<'_>,
    ) -> DriverResult<usize> {
        let bytes = function.kernarg_bytes();
        let index = self.kernel(node.0).filter(|index| self.places[*index].bytes >= bytes);
        let Some(index) = index.filter(|_| function.asked.is_none()) else {
            return Err(refused(call, *node, function));
        };
        match self.places[index].shape == Shape::of(launch) {
            true => function.explicit(call, launch.kernarg)?,
            false => function.check(call, launch)?,
        };
        Ok(index)
    }

    /// Replaces the launches of kernels' nodes, for launches of the graph to come.
    fn update(
        &mut self,
        call: &'static str,
        device: &'static Device,
        launches: &[NodeLaunch<'_>],
    ) -> DriverResult<()> {
        // All of them are checked before the first is replaced.
        let mut places: SmallVec<[usize; 16]> = SmallVec::new();
        for update in launches {
            // SAFETY: a live kernel, as the caller of `graph_update` guarantees.
            places.push(self.check(call, unsafe { function(&update.launch) }, update)?);
        }
        if let Some(stream) = self.launched_on {
            self.leave_to_launches(call, device, stream)?;
        }
        for (index, NodeLaunch { launch, .. }) in places.into_iter().zip(launches) {
            // SAFETY: as above.
            let function: &'static Function = unsafe { function(launch) };
            self.replace(index, function, function.explicit(call, launch.kernarg)?, launch);
        }
        Ok(())
    }

    #[inline]
    fn replace(
        &mut self,
        index: usize,
        function: &'static Function,
        explicit: &[u8],
        launch: &KernelLaunch<'_>,
    ) {
        let (place, shape) = (&mut self.places[index], Shape::of(launch));
        let block = &self.arguments[self.current];
        // SAFETY: the arguments' own place in a block that no launch in flight reads.
        let segment = unsafe {
            std::slice::from_raw_parts_mut(block.address.as_ptr().add(place.at), function.kernarg_bytes())
        };
        if place.shape == shape {
            // The packet and the hidden arguments are as they were.
            return segment[..explicit.len()].copy_from_slice(explicit);
        }
        let kernarg = block.device_address() + place.at as u64;
        let extra = Extra::default();
        function.fill(segment, explicit, launch, &extra, function.device);
        if let Some(Segment::Packets(packets)) = self.segments.get_mut(place.segment)
            && let Some(packet) = packets.get_mut(place.packet)
        {
            let updated = Packet::dispatch(&function.dispatch(launch, &extra), kernarg);
            *packet = if packet.waits() { updated } else { updated.beside_others() };
        }
        place.shape = shape;
    }

    /// Leaves the arguments to the launches in flight, the last of which is on a stream: those to come have a copy, in the other block. Waits
    /// for the launches that have that one.
    fn leave_to_launches(
        &mut self,
        call: &'static str,
        device: &'static Device,
        stream: u64,
    ) -> DriverResult<()> {
        let Some(present) = self.arguments.first().map(|block| block.bytes) else { return Ok(()) };
        if self.arguments.len() == 1 {
            let kernarg = device.system.pools.kernarg;
            let block = Block::new(call, device.hsa, kernarg, present, &[device.agent])?;
            // From now on, each launch has a marker. A stream that is gone has done its work.
            self.launches[0] = match device.stream_of_number(stream) {
                Some(stream) => stream.mark(call)?,
                None => None,
            };
            self.arguments.push(block);
        }
        let next = 1 - self.current;
        if let Some(marker) = self.launches[next].take() {
            marker.wait(call)?;
        }
        let [from, to] = [self.current, next].map(|index| self.arguments[index].address);
        // SAFETY: two blocks of as many bytes, of which no launch in flight reads the second.
        unsafe { std::ptr::copy_nonoverlapping(from.as_ptr(), to.as_ptr(), present) };
        let moved = (to.as_ptr().addr() as u64).wrapping_sub(from.as_ptr().addr() as u64);
        for segment in &mut self.segments {
            if let Segment::Packets(packets) = segment {
                packets.iter_mut().for_each(|packet| packet.move_arguments(moved));
            }
        }
        (self.current, self.launched_on) = (next, None);
        Ok(())
    }
}

impl HsaDriver {
    /// Returns a graph of a device that is not lost.
    fn graph(&self, call: &'static str, device: DeviceId, graph: RawGraph) -> DriverResult<Arc<Graph>> {
        self.device(call, device)?;
        let found = self.graphs.get(graph.0).map_err(|_| stale(call, "graph", graph.0))?.value;
        belongs(call, "graph", found.device.id, device)?;
        Ok(found)
    }

    pub(crate) fn add_graph(
        &self,
        call: &'static str,
        device: &'static Device,
        recorded: Recorded,
    ) -> DriverResult<RawGraph> {
        let graph = Arc::new(Graph { device, recorded: Mutex::new(recorded) });
        self.graphs
            .insert(handle_table::Owner::NONE, graph)
            .map(RawGraph)
            .map_err(|error| exhausted(call, &error))
    }

    pub(crate) fn remove_graph(&self, device: DeviceId, graph: RawGraph) -> DriverResult<()> {
        let call = "hipGraphDestroy";
        self.any_device(call, device)?;
        self.graphs.take(graph.0).map(drop).map_err(|_| stale(call, "graph", graph.0))
    }

    pub(crate) fn add_node(
        &self,
        (device, graph): (DeviceId, RawGraph),
        dependencies: &[RawGraphNode],
        work: &Work<'_>,
    ) -> DriverResult<RawGraphNode> {
        let call = work.node_kind().name();
        let found = self.graph(call, device, graph)?;
        if work.node_kind() == CallKind::UnsupportedWork {
            return Err(work.unsupported(call));
        }
        let step = self.step(call, found.device, work)?;
        if let Some(Step::CopyIn { bytes, .. } | Step::CopyOut { bytes, .. }) = step {
            let detail = format!("{bytes} bytes of the host are not in pinned memory");
            return Err(DriverError::with_detail(call, ErrorCode::INVALID_VALUE, detail));
        }
        let mut recorded = lock(&found.recorded);
        let after = dependencies.iter().map(|node| recorded.places.get(&node.0).copied().ok_or(node));
        let after = after.collect::<Result<Vec<usize>, _>>().map_err(|foreign| {
            let detail = format!("{foreign:?} is not a node of {graph:?}");
            DriverError::with_detail(call, ErrorCode::INVALID_VALUE, detail)
        })?;
        let (node, place) = (self.nodes.next(), recorded.push(step, after));
        recorded.nodes[place].handle = node.0;
        recorded.places.insert(node.0, place);
        Ok(node)
    }

    pub(crate) fn instantiate(&self, device: DeviceId, graph: RawGraph) -> DriverResult<RawGraphExec> {
        let call = "hipGraphInstantiate";
        let graph = self.graph(call, device, graph)?;
        let exec = GraphExec::new(call, graph.device, &lock(&graph.recorded))?;
        let inserted = self.execs.insert(handle_table::Owner::NONE, Arc::new(exec));
        inserted.map(RawGraphExec).map_err(|error| exhausted(call, &error))
    }

    /// Returns an executable graph that can be launched on a device.
    pub(crate) fn launchable(
        &self,
        call: &'static str,
        device: DeviceId,
        exec: RawGraphExec,
    ) -> DriverResult<Arc<GraphExec>> {
        let exec = self.execs.get(exec.0).map_err(|_| stale(call, "executable graph", exec.0))?.value;
        belongs(call, "executable graph", exec.device.id, device)?;
        Ok(exec)
    }

    pub(crate) fn update_nodes(
        &self,
        device: DeviceId,
        exec: RawGraphExec,
        launches: &[NodeLaunch<'_>],
    ) -> DriverResult<()> {
        let call = CallKind::GraphUpdate.name();
        self.device(call, device)?;
        let exec = self.execs.read(exec.0).map_err(|_| stale(call, "executable graph", exec.0))?;
        belongs(call, "executable graph", exec.value.device.id, device)?;
        lock(&exec.value.contents).update(call, exec.value.device, launches)
    }

    pub(crate) fn remove_exec(&self, device: DeviceId, exec: RawGraphExec) -> DriverResult<()> {
        let call = "hipGraphExecDestroy";
        self.any_device(call, device)?;
        self.execs.take(exec.0).map(drop).map_err(|_| stale(call, "executable graph", exec.0))
    }
}

/// Why a node can't launch a kernel.
#[cold]
fn refused(call: &'static str, node: RawGraphNode, function: &Function) -> DriverError {
    if function.asked.is_some() {
        let name = &function.signature.name;
        let detail =
            format!("kernel {name}: its calls of the host belong to the graph; instantiate it again");
        return DriverError::with_detail(call, ErrorCode::NOT_SUPPORTED, detail);
    }
    let detail = format!("{node:?} is no kernel's of this graph, or its arguments are longer");
    DriverError::with_detail(call, ErrorCode::INVALID_VALUE, detail)
}

fn exhausted(call: &'static str, error: &handle_table::Error) -> DriverError {
    DriverError::with_detail(call, ErrorCode::OUT_OF_MEMORY, error.to_string())
}
