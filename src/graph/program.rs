//! A graph made ready: dead nodes dropped, temporaries placed in one arena, kernel arguments packed with places for what
//! changes from one compute to the next.

use std::sync::Arc;

use smallvec::SmallVec;

use crate::error::Result;
use crate::launcher::{Kernel, LaunchDims};
use hip_driver::RawFunction;

use super::branches::{Order, Schedule};
use super::edges::{ADDRESSES, ARENA, Touch, VALUES, dependencies, live_nodes};
use super::error::GraphProblem;
use super::forward::{Forwarded, forward_copies};
use super::place::place_temporaries;
use super::record::{Graph, Place, THROUGH_BLOCK, Use, Work, problem};

/// Temporaries begin at multiples of this many bytes, as the pool's blocks do.
pub(super) const ALIGN: u64 = 256;

/// Blocks begin at multiples of this many bytes, a cache line.
const BLOCK_ALIGN: u64 = 64;

/// Where bytes are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum At {
    /// So far into the arena.
    Arena(u64),
    /// So far into a buffer, which the graph's values name.
    Value(u32, u64),
}

/// One piece of work, in the order in which it is submitted.
#[derive(Clone, Debug)]
pub(super) enum Step {
    Launch {
        function: RawFunction,
        /// [`Kernel::id`].
        kernel: u64,
        dims: LaunchDims,
        /// Its bytes among the packed arguments.
        kernarg: (u32, u32),
        explicit_bytes: u32,
    },
    Copy {
        from: At,
        to: At,
        bytes: u64,
    },
    Fill {
        at: At,
        bytes: u64,
        pattern: u32,
        width: u8,
    },
    /// To the host, at an offset of the result.
    Read {
        from: At,
        bytes: u64,
        result: u32,
    },
}

/// An address to be written into the packed arguments.
#[derive(Clone, Copy, Debug)]
pub(super) struct AddressPatch {
    pub(super) at: u32,
    pub(super) to: At,
}

/// Immediate bytes to be written into the packed arguments.
#[derive(Clone, Copy, Debug)]
pub(super) struct ImmediatePatch {
    pub(super) at: u32,
    /// Index among the graph's immediates.
    pub(super) index: u32,
}

#[derive(Debug)]
pub(super) struct Program {
    pub(super) steps: Vec<Step>,
    /// The recorded node of each step.
    pub(super) nodes: Vec<u32>,
    /// What each step touches, for layers.
    pub(super) uses: Vec<SmallVec<[(At, u64, bool); 4]>>,
    /// For each step the earlier ones that it comes after.
    pub(super) after: Vec<SmallVec<[u32; 4]>>,
    /// Streams and events, where it runs on several streams.
    pub(super) schedule: Option<Schedule>,
    pub(super) kernarg_bytes: usize,
    pub(super) addresses: Vec<AddressPatch>,
    pub(super) immediates: Vec<ImmediatePatch>,
    pub(super) arena_bytes: u64,
    /// The blocks, at the arena's start: value and offset of each, and bytes of all.
    pub(super) blocks: Vec<(u32, u64)>,
    pub(super) block_bytes: u64,
    /// Addresses in the blocks: offset in the arena, and what is written there.
    pub(super) block_patches: Vec<(u64, At)>,
    /// Offset and length of each output in the result.
    pub(super) outputs: SmallVec<[(u32, u32); 4]>,
    pub(super) result_bytes: u32,
    /// Values whose memory is used, so that their buffers have to be kept for it.
    pub(super) external: Vec<u32>,
    pub(super) kernels: Vec<Arc<Kernel>>,
}

/// Makes a program of what was recorded.
pub(super) fn compile(graph: &Graph) -> Result<Program> {
    let mut live = live_nodes(graph)?;
    let forwarded = forward_copies(graph, &mut live);
    let placed = |value: u32| forwarded[value as usize].is_none();
    let streams = graph.branches.most();
    let (order, (mut offsets, temporary_bytes)) = if streams > 1 {
        // What depends on what before bytes are shared; the streams add to it, and the plan keeps to both.
        let apart = Where { graph, forwarded: &forwarded, offsets: None };
        let after = with_order(graph, &live, dependencies(&touches(&apart, &live)));
        let order = Order::new(&after, streams);
        let plan = place_temporaries(graph, &live, placed, Some((&order, &after)))?;
        (Some(order), plan)
    } else {
        (None, place_temporaries(graph, &live, placed, None)?)
    };
    let (mut blocks, mut block_bytes) = (Vec::new(), 0u64);
    for (value, info) in graph.values.iter().enumerate() {
        if matches!(info.place, Place::Block { .. }) {
            blocks.push((value as u32, block_bytes));
            block_bytes += info.bytes.next_multiple_of(BLOCK_ALIGN);
        }
    }
    // Temporaries come behind the blocks.
    let begin = block_bytes.next_multiple_of(ALIGN);
    offsets.iter_mut().for_each(|offset| *offset += begin);
    for &(value, offset) in &blocks {
        offsets[value as usize] = offset;
    }
    let arena_bytes = begin + temporary_bytes;
    let places = Where { graph, forwarded: &forwarded, offsets: Some(&offsets) };
    let at = |value: u32, offset: u64| places.at(value, offset);
    let block_patches = blocks
        .iter()
        .flat_map(|&(value, offset)| match &graph.values[value as usize].place {
            Place::Block { patches, .. } => {
                patches.iter().map(|(p, to)| (offset + u64::from(*p), at(to.index, to.offset))).collect()
            }
            _ => Vec::new(),
        })
        .collect();
    let at = |u: &Use| at(u.value, u.offset);
    let mut program = Program {
        steps: Vec::with_capacity(live.len()),
        nodes: live.clone(),
        uses: Vec::with_capacity(live.len()),
        after: Vec::new(),
        schedule: None,
        kernarg_bytes: 0,
        addresses: Vec::new(),
        immediates: Vec::new(),
        arena_bytes,
        blocks,
        block_bytes,
        block_patches,
        outputs: SmallVec::new(),
        result_bytes: 0,
        external: Vec::new(),
        kernels: Vec::new(),
    };
    let mut seen = vec![false; graph.values.len()];
    for &index in &live {
        let uses = graph.uses_of(index as usize);
        program.uses.push(uses.iter().map(|u| (at(u), u.bytes, u.write)).collect());
        for u in uses {
            if let At::Value(value, _) = at(u)
                && !std::mem::replace(&mut seen[value as usize], true)
            {
                program.external.push(value);
            }
        }
        let step = match &graph.nodes[index as usize].work {
            Work::Launch { kernel, dims, .. } => {
                let start = program.kernarg_bytes as u32;
                for u in uses.iter().filter(|u| u.parameter != THROUGH_BLOCK) {
                    let parameter = &kernel.parameters[u.parameter as usize];
                    program.addresses.push(AddressPatch { at: start + parameter.offset, to: at(u) });
                }
                let first = graph.nodes[index as usize].immediates;
                for (i, immediate) in graph.immediates_of(index as usize).iter().enumerate() {
                    let parameter = &kernel.parameters[immediate.parameter as usize];
                    let place = ImmediatePatch { at: start + parameter.offset, index: first + i as u32 };
                    program.immediates.push(place);
                }
                program.kernarg_bytes += (kernel.kernarg_bytes as usize).next_multiple_of(16);
                if !program.kernels.iter().any(|k| k.id == kernel.id) {
                    program.kernels.push(kernel.clone());
                }
                Step::Launch {
                    function: kernel.function,
                    kernel: kernel.id,
                    dims: *dims,
                    kernarg: (start, kernel.kernarg_bytes),
                    explicit_bytes: kernel.explicit_bytes,
                }
            }
            Work::Copy => Step::Copy { from: at(&uses[0]), to: at(&uses[1]), bytes: uses[0].bytes },
            Work::Fill { pattern, width } => {
                Step::Fill { at: at(&uses[0]), bytes: uses[0].bytes, pattern: *pattern, width: *width }
            }
            Work::Read => {
                let (result, bytes) = (program.result_bytes, uses[0].bytes);
                let end = u64::from(result) + bytes.next_multiple_of(64);
                program.result_bytes =
                    u32::try_from(end).map_err(|_| problem(Some(index), GraphProblem::TooLarge(end)))?;
                program.outputs.push((result, bytes as u32));
                Step::Read { from: at(&uses[0]), bytes, result }
            }
        };
        program.steps.push(step);
    }
    program.after = with_order(graph, &live, dependencies(&touches(&places, &live)));
    program.schedule = order.filter(|o| o.streams > 1).map(|order| Schedule::new(&order, &program.after));
    Ok(program)
}

/// Where a graph's values are.
struct Where<'a> {
    graph: &'a Graph,
    forwarded: &'a Forwarded,
    /// In the arena, by value; `None` while no two share bytes.
    offsets: Option<&'a [u64]>,
}

impl Where<'_> {
    fn at(&self, value: u32, offset: u64) -> At {
        match (self.forwarded[value as usize], &self.graph.values[value as usize].place) {
            (Some((to, from)), _) => At::Value(to, from + offset),
            (None, Place::External { .. }) => At::Value(value, offset),
            (None, Place::Temporary | Place::Block { .. }) => {
                At::Arena(self.offsets.map_or(0, |offsets| offsets[value as usize]) + offset)
            }
        }
    }

    fn touch(&self, u: &Use) -> Touch {
        let (space, start) = match self.at(u.value, u.offset) {
            At::Arena(start) => (self.offsets.map_or(VALUES + u.value, |_| ARENA), start),
            At::Value(value, offset) => match self.graph.values[value as usize].place {
                Place::External { address, .. } => (ADDRESSES, address + offset),
                // No other place is found by its value.
                Place::Temporary | Place::Block { .. } => (ADDRESSES, offset),
            },
        };
        Touch { space, start, end: start + u.bytes, write: u.write }
    }
}

/// What each live node touches.
fn touches(places: &Where<'_>, live: &[u32]) -> Vec<SmallVec<[Touch; 4]>> {
    let of = |&index: &u32| places.graph.uses_of(index as usize).iter().map(|u| places.touch(u)).collect();
    live.iter().map(of).collect()
}

/// Adds what [`Graph::order`] said.
fn with_order(graph: &Graph, live: &[u32], mut after: Vec<SmallVec<[u32; 4]>>) -> Vec<SmallVec<[u32; 4]>> {
    for (a, b) in &graph.order {
        if let (Ok(a), Ok(b)) = (live.binary_search(a), live.binary_search(b)) {
            let (a, after) = (a as u32, &mut after[b]);
            if let Err(place) = after.binary_search(&a) {
                after.insert(place, a);
            }
        }
    }
    after
}
