//! Compiles a graph: drops dead nodes, places temporaries in one workspace, and packs kernel arguments with places for
//! the data that changes from one compute to the next.

use std::ptr::NonNull;
use std::sync::Arc;

use smallvec::SmallVec;

use crate::code::{DeviceKernel, LaunchDims};
use crate::error::Result;
use hip_driver::{DevicePtr, HostNode, KernelLaunch, MemoryAccess, RawFunction, Work};

use super::branches::{Schedule, StepOrder};
use super::edges::{ADDRESSES, ByteAccess, VALUES, WORKSPACE, dependencies, live_nodes};
use super::forward::{Forwarded, forward_copies};
use super::place::place_temporaries;
use super::record::{Graph, GraphValue, NodeKind, Storage, THROUGH_ARGUMENT_BLOCK, ValueAccess, problem};
use crate::error::GraphProblem;

/// The alignment of temporaries in bytes, that of pool blocks.
pub(super) const ALIGN: u64 = 256;

/// The alignment of argument blocks in bytes, a cache line.
const BLOCK_ALIGN: u64 = 64;

/// The location of bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Location {
    /// An offset in the workspace, in bytes.
    Workspace(u64),
    /// A value that is a buffer, and an offset in it in bytes.
    Value(u32, u64),
}

/// A piece of work, in the order of submission.
#[derive(Clone, Debug)]
pub(super) enum Step {
    Launch {
        function: RawFunction,
        /// The number of the kernel, [`DeviceKernel::id`].
        kernel: u64,
        dims: LaunchDims,
        /// The range of its arguments among the packed ones.
        kernarg: (u32, u32),
        explicit_bytes: u32,
    },
    Copy {
        from: Location,
        to: Location,
        bytes: u64,
    },
    Fill {
        at: Location,
        bytes: u64,
        pattern: u32,
        width: u8,
    },
    /// A copy to the host, at an offset of the result.
    Read {
        from: Location,
        bytes: u64,
        result: u32,
    },
    /// A function of the host.
    Host(HostNode),
}

impl Step {
    /// Returns the kernel's launch, with its arguments from those of the program; `None` for another step and one without workgroups.
    #[inline]
    pub(super) fn launch<'a>(
        &self,
        kernargs: &'a [u8],
        accesses: &'a [MemoryAccess],
    ) -> Option<KernelLaunch<'a>> {
        let Step::Launch { function, dims, kernarg: (start, bytes), .. } = *self else { return None };
        (!dims.is_empty()).then(|| KernelLaunch {
            function,
            grid: dims.grid,
            block: dims.block,
            dynamic_lds: dims.dynamic_lds,
            kernarg: &kernargs[start as usize..(start + bytes) as usize],
            accesses,
        })
    }
}

/// Bytes that a step accesses.
#[derive(Clone, Copy, Debug)]
pub(super) struct StepAccess {
    at: Location,
    bytes: u64,
    write: bool,
}

/// The data of a submission: what the steps of a program run on.
pub(super) struct StepData<'a, A: Fn(Location) -> u64> {
    pub(super) kernargs: &'a [u8],
    /// The address of a location.
    pub(super) address: A,
    /// The memory for what the program reads, as long as all of it together; `None` if it reads nothing.
    pub(super) host: Option<NonNull<u8>>,
    /// Whether a layer wants to know what kernels access.
    pub(super) wants_accesses: bool,
}

/// An address that is written into the packed arguments.
#[derive(Clone, Copy, Debug)]
pub(super) struct AddressPatch {
    pub(super) at: u32,
    pub(super) to: Location,
}

/// Immediate bytes that are written into the packed arguments.
#[derive(Clone, Copy, Debug)]
pub(super) struct ImmediatePatch {
    pub(super) at: u32,
    /// The index among the graph's immediates.
    pub(super) index: u32,
}

/// What a graph key compiles to.
#[derive(Debug)]
pub(super) struct GraphProgram {
    pub(super) steps: Vec<Step>,
    /// The recorded node of each step.
    pub(super) nodes: Vec<u32>,
    /// What each step accesses, for driver layers.
    pub(super) accesses: Vec<SmallVec<[StepAccess; 4]>>,
    /// For each step, the earlier steps that it comes after.
    pub(super) after: Vec<SmallVec<[u32; 4]>>,
    /// Streams and events, if it runs on several streams.
    pub(super) schedule: Option<Schedule>,
    pub(super) kernarg_bytes: usize,
    pub(super) addresses: Vec<AddressPatch>,
    pub(super) immediates: Vec<ImmediatePatch>,
    pub(super) workspace_bytes: u64,
    /// The argument blocks, at the start of the workspace: value and offset of each, and the bytes of all.
    pub(super) blocks: Vec<(u32, u64)>,
    pub(super) block_bytes: u64,
    /// Addresses in the argument blocks: the offset in the workspace, and the location whose address is written there.
    pub(super) block_patches: Vec<(u64, Location)>,
    /// The offset and length of each output in the result.
    pub(super) outputs: SmallVec<[(u32, u32); 4]>,
    pub(super) result_bytes: u32,
    /// The values whose buffers the program uses, and which have to be kept for it.
    pub(super) external: Vec<u32>,
    pub(super) kernels: Vec<Arc<DeviceKernel>>,
}

/// Where the values of a graph are in its workspace.
struct WorkspaceLayout {
    /// For each temporary that is written directly to a buffer, where.
    forwarded: Forwarded,
    /// Offsets by value.
    offsets: Vec<u64>,
    blocks: Vec<(u32, u64)>,
    block_bytes: u64,
    bytes: u64,
}

/// Compiles a recorded graph to a graph program.
pub(super) fn compile(graph: &Graph) -> Result<GraphProgram> {
    let mut live = live_nodes(graph)?;
    let forwarded = forward_copies(graph, &mut live);
    let (order, layout) = lay_out(graph, &live, forwarded)?;
    let values = ValueLocations { graph, forwarded: &layout.forwarded, offsets: Some(&layout.offsets) };
    let mut block_patches = Vec::new();
    for &(value, offset) in &layout.blocks {
        if let Storage::ArgumentBlock { patches, .. } = &graph.values[value as usize].place {
            let patch =
                |(p, to): &(u32, GraphValue)| (offset + u64::from(*p), values.at(to.index, to.offset));
            block_patches.extend(patches.iter().map(patch));
        }
    }
    let after = with_order(graph, &live, dependencies(&accesses(&values, &live)));
    let schedule = order.filter(|order| order.streams > 1).map(|order| Schedule::new(&order, &after));
    let mut program = GraphProgram {
        steps: Vec::with_capacity(live.len()),
        accesses: Vec::with_capacity(live.len()),
        after,
        schedule,
        kernarg_bytes: 0,
        addresses: Vec::new(),
        immediates: Vec::new(),
        workspace_bytes: layout.bytes,
        blocks: layout.blocks,
        block_bytes: layout.block_bytes,
        block_patches,
        outputs: SmallVec::new(),
        result_bytes: 0,
        external: Vec::new(),
        kernels: Vec::new(),
        nodes: Vec::new(),
    };
    let mut seen = vec![false; graph.values.len()];
    for &index in &live {
        for u in graph.uses_of(index as usize) {
            if let Location::Value(value, _) = values.at(u.value, u.offset)
                && !std::mem::replace(&mut seen[value as usize], true)
            {
                program.external.push(value);
            }
        }
        program.add_step(&values, index)?;
    }
    program.nodes = live;
    Ok(program)
}

/// Places argument blocks and temporaries in the workspace. Also returns the order of the steps, if branches run on
/// several streams.
fn lay_out(
    graph: &Graph,
    live: &[u32],
    forwarded: Forwarded,
) -> Result<(Option<StepOrder>, WorkspaceLayout)> {
    let placed = |value: u32| forwarded[value as usize].is_none();
    let streams = graph.branches.max_streams();
    let (order, (mut offsets, temporary_bytes)) = if streams > 1 {
        // These are the dependencies before temporaries share bytes. The streams add to them, and the plan keeps both.
        let apart = ValueLocations { graph, forwarded: &forwarded, offsets: None };
        let after = with_order(graph, live, dependencies(&accesses(&apart, live)));
        let order = StepOrder::new(&after, streams);
        let plan = place_temporaries(graph, live, placed, Some((&order, &after)))?;
        (Some(order), plan)
    } else {
        (None, place_temporaries(graph, live, placed, None)?)
    };
    let (mut blocks, mut block_bytes) = (Vec::new(), 0u64);
    for (value, info) in graph.values.iter().enumerate() {
        if matches!(info.place, Storage::ArgumentBlock { .. }) {
            blocks.push((value as u32, block_bytes));
            block_bytes += info.bytes.next_multiple_of(BLOCK_ALIGN);
        }
    }
    // Temporaries follow the argument blocks.
    let begin = block_bytes.next_multiple_of(ALIGN);
    offsets.iter_mut().for_each(|offset| *offset += begin);
    for &(value, offset) in &blocks {
        offsets[value as usize] = offset;
    }
    Ok((order, WorkspaceLayout { forwarded, offsets, blocks, block_bytes, bytes: begin + temporary_bytes }))
}

impl GraphProgram {
    /// Adds the step of a live node, with its arguments.
    fn add_step(&mut self, values: &ValueLocations<'_>, index: u32) -> Result<()> {
        let (graph, node) = (values.graph, &values.graph.nodes[index as usize]);
        let uses = graph.uses_of(index as usize);
        let at = |u: &ValueAccess| values.at(u.value, u.offset);
        let access = |u: &ValueAccess| StepAccess { at: at(u), bytes: u.bytes, write: u.write };
        self.accesses.push(uses.iter().map(access).collect());
        let step = match &node.work {
            NodeKind::Launch { kernel, dims, .. } => {
                let start = self.kernarg_bytes as u32;
                for u in uses.iter().filter(|u| u.parameter != THROUGH_ARGUMENT_BLOCK) {
                    let parameter = &kernel.parameters[u.parameter as usize];
                    self.addresses.push(AddressPatch { at: start + parameter.offset, to: at(u) });
                }
                for (index, immediate) in (node.immediates..).zip(graph.immediates_of(index as usize)) {
                    let parameter = &kernel.parameters[immediate.parameter as usize];
                    self.immediates.push(ImmediatePatch { at: start + parameter.offset, index });
                }
                self.kernarg_bytes += (kernel.kernarg_bytes as usize).next_multiple_of(16);
                if !self.kernels.iter().any(|k| k.id == kernel.id) {
                    self.kernels.push(kernel.clone());
                }
                Step::Launch {
                    function: kernel.function,
                    kernel: kernel.id,
                    dims: *dims,
                    kernarg: (start, kernel.kernarg_bytes),
                    explicit_bytes: kernel.explicit_bytes,
                }
            }
            NodeKind::Copy => Step::Copy { from: at(&uses[0]), to: at(&uses[1]), bytes: uses[0].bytes },
            NodeKind::Fill { pattern, width } => {
                Step::Fill { at: at(&uses[0]), bytes: uses[0].bytes, pattern: *pattern, width: *width }
            }
            NodeKind::Read => {
                let (result, bytes) = (self.result_bytes, uses[0].bytes);
                let end = u64::from(result) + bytes.next_multiple_of(64);
                self.result_bytes =
                    u32::try_from(end).map_err(|_| problem(Some(index), GraphProblem::TooLarge(end)))?;
                self.outputs.push((result, bytes as u32));
                Step::Read { from: at(&uses[0]), bytes, result }
            }
            NodeKind::Host(node) => Step::Host(node.clone()),
        };
        self.steps.push(step);
        Ok(())
    }

    /// Adds what step `index` accesses, if the driver wants to know.
    #[inline]
    pub(super) fn add_accesses<A: Fn(Location) -> u64>(
        &self,
        index: usize,
        data: &StepData<'_, A>,
        accesses: &mut Vec<MemoryAccess>,
    ) {
        if data.wants_accesses {
            let access = |a: &StepAccess| MemoryAccess {
                ptr: DevicePtr((data.address)(a.at)),
                bytes: a.bytes as usize,
                write: a.write,
            };
            accesses.extend(self.accesses[index].iter().filter(|a| a.bytes > 0).map(access));
        }
    }

    /// Calls `enqueue` with the work of step `index`. Returns `nothing` without a call if the step has nothing to do: no
    /// workgroups, no bytes, or no memory for what it reads. `accesses` is overwritten, and keeps its memory for the next
    /// step.
    #[inline(always)]
    pub(super) fn with_work<R, A: Fn(Location) -> u64>(
        &self,
        (index, step): (usize, &Step),
        data: &StepData<'_, A>,
        accesses: &mut Vec<MemoryAccess>,
        nothing: R,
        enqueue: impl FnOnce(&Work<'_>) -> R,
    ) -> R {
        let ptr = |at| DevicePtr((data.address)(at));
        let work = match *step {
            Step::Copy { bytes: 0, .. } | Step::Fill { bytes: 0, .. } | Step::Read { bytes: 0, .. } => {
                return nothing;
            }
            Step::Launch { .. } => {
                accesses.clear();
                self.add_accesses(index, data, accesses);
                return match step.launch(data.kernargs, accesses) {
                    Some(launch) => enqueue(&Work::Kernel(&launch)),
                    None => nothing,
                };
            }
            Step::Copy { from, to, bytes } => {
                Work::CopyWithin { dst: ptr(to), src: ptr(from), bytes: bytes as usize }
            }
            Step::Fill { at, bytes, pattern, width: 4 } => {
                Work::FillWords { dst: ptr(at), value: pattern, count: bytes as usize / 4 }
            }
            Step::Fill { at, bytes, pattern, .. } => {
                Work::FillBytes { dst: ptr(at), value: pattern as u8, bytes: bytes as usize }
            }
            Step::Read { from, bytes, result } => {
                let Some(host) = data.host else { return nothing };
                let dst = host.as_ptr().wrapping_add(result as usize);
                Work::CopyToHost { dst, src: ptr(from), bytes: bytes as usize }
            }
            Step::Host(ref node) => Work::HostNode(node),
        };
        enqueue(&work)
    }
}

/// The locations of a graph's values.
struct ValueLocations<'a> {
    graph: &'a Graph,
    forwarded: &'a Forwarded,
    /// Offsets in the workspace by value; `None` while no two share bytes.
    offsets: Option<&'a [u64]>,
}

impl ValueLocations<'_> {
    fn at(&self, value: u32, offset: u64) -> Location {
        match (self.forwarded[value as usize], &self.graph.values[value as usize].place) {
            (Some((to, from)), _) => Location::Value(to, from + offset),
            (None, Storage::External { .. }) => Location::Value(value, offset),
            (None, Storage::Temporary | Storage::ArgumentBlock { .. }) => {
                Location::Workspace(self.offsets.map_or(0, |offsets| offsets[value as usize]) + offset)
            }
        }
    }

    fn access(&self, u: &ValueAccess) -> ByteAccess {
        let (space, start) = match self.at(u.value, u.offset) {
            Location::Workspace(start) => (self.offsets.map_or(VALUES + u.value, |_| WORKSPACE), start),
            Location::Value(value, offset) => match self.graph.values[value as usize].place {
                Storage::External { address, .. } => (ADDRESSES, address + offset),
                // Only buffers are found by address.
                Storage::Temporary | Storage::ArgumentBlock { .. } => (ADDRESSES, offset),
            },
        };
        ByteAccess { space, start, end: start + u.bytes, write: u.write }
    }
}

/// Returns what each live node accesses.
fn accesses(places: &ValueLocations<'_>, live: &[u32]) -> Vec<SmallVec<[ByteAccess; 4]>> {
    let of = |&index: &u32| places.graph.uses_of(index as usize).iter().map(|u| places.access(u)).collect();
    live.iter().map(of).collect()
}

/// Adds the order that [`Graph::order`] set, and that of host functions, which come after all before them and before all after them.
fn with_order(graph: &Graph, live: &[u32], mut after: Vec<SmallVec<[u32; 4]>>) -> Vec<SmallVec<[u32; 4]>> {
    let mut add = |a: usize, b: usize| {
        if let Err(place) = after[b].binary_search(&(a as u32)) {
            after[b].insert(place, a as u32);
        }
    };
    for (a, b) in &graph.order {
        if let (Ok(a), Ok(b)) = (live.binary_search(a), live.binary_search(b)) {
            add(a, b);
        }
    }
    let is_host = |&index: &u32| matches!(graph.nodes[index as usize].work, NodeKind::Host(_));
    let mut since = 0;
    for (host, _) in live.iter().enumerate().filter(|(_, index)| is_host(index)) {
        // What is before the last function comes before that.
        (since..host).for_each(|before| add(before, host));
        let next = live[host + 1..].iter().position(is_host).map_or(live.len(), |next| host + 2 + next);
        (host + 1..next).for_each(|behind| add(host, behind));
        since = host;
    }
    after
}
