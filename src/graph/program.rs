//! A graph made ready: dead nodes dropped, temporaries placed in one arena, kernel arguments packed with places for what
//! changes from one compute to the next.

use std::sync::Arc;

use smallvec::SmallVec;

use crate::driver::RawFunction;
use crate::error::Result;
use crate::launcher::{Kernel, KernelHandle, LaunchDims};
use crate::offsets::{Buffer, Goal, PlanOptions, ProblemBuilder, plan, verify};

use super::edges::{Touch, dependencies, live_nodes};
use super::error::GraphProblem;
use super::record::{Graph, Place, THROUGH_BLOCK, Use, Work, problem};

/// Temporaries begin at multiples of this many bytes, as the pool's blocks do.
const ALIGN: u64 = 256;

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
        handle: KernelHandle,
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
    let live = live_nodes(graph)?;
    let (mut offsets, temporary_bytes) = place_temporaries(graph, &live)?;
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
    let at = |value: u32, offset: u64| match graph.values[value as usize].place {
        Place::Temporary | Place::Block { .. } => At::Arena(offsets[value as usize] + offset),
        Place::External { .. } => At::Value(value, offset),
    };
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
    let mut touches = Vec::with_capacity(live.len());
    for &index in &live {
        let uses = graph.uses_of(index as usize);
        program.uses.push(uses.iter().map(|u| (at(u), u.bytes, u.write)).collect());
        touches.push(uses.iter().map(|u| touch(graph, &at(u), u)).collect());
        for u in uses {
            let external = matches!(at(u), At::Value(..));
            if external && !program.external.contains(&u.value) {
                program.external.push(u.value);
            }
        }
        let step = match &graph.nodes[index as usize].work {
            Work::Launch { kernel, handle, dims } => {
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
                    handle: *handle,
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
    program.after = dependencies(&touches);
    Ok(program)
}

fn touch(graph: &Graph, at: &At, u: &Use) -> Touch {
    match *at {
        At::Arena(start) => Touch { arena: true, start, end: start + u.bytes, write: u.write },
        At::Value(value, offset) => {
            let base = match graph.values[value as usize].place {
                Place::External { address, .. } => address,
                Place::Temporary | Place::Block { .. } => 0,
            };
            Touch { arena: false, start: base + offset, end: base + offset + u.bytes, write: u.write }
        }
    }
}

/// Offsets of the temporaries, by value, and the arena's size. In the order of submission each lives from its first to
/// its last use; a kernel that is declared in place may have its result where an input ends.
fn place_temporaries(graph: &Graph, live: &[u32]) -> Result<(Vec<u64>, u64)> {
    let mut spans: Vec<Option<(u64, u64)>> = vec![None; graph.values.len()];
    for (position, &index) in live.iter().enumerate() {
        for u in graph.uses_of(index as usize) {
            let span = &mut spans[u.value as usize];
            let position = position as u64;
            *span = Some(span.map_or((position, position), |(first, _)| (first, position)));
        }
    }
    let failed =
        |e: &dyn std::fmt::Display| problem(None, GraphProblem::Plan(e.to_string().into_boxed_str()));
    let mut builder = ProblemBuilder::new();
    let mut ids = vec![None; graph.values.len()];
    for (value, span) in spans.iter().enumerate() {
        let (info, Some((first, last))) = (&graph.values[value], span) else { continue };
        if matches!(info.place, Place::Temporary) && info.bytes > 0 {
            let size = info.bytes.next_multiple_of(ALIGN);
            let buffer = Buffer::closed(format!("temporary {value}"), size, *first..=*last).aligned(ALIGN);
            ids[value] = Some(builder.add(buffer).map_err(|e| failed(&e))?);
        }
    }
    for (position, &index) in live.iter().enumerate() {
        let in_place =
            matches!(&graph.nodes[index as usize].work, Work::Launch { kernel, .. } if kernel.is_in_place());
        if !in_place {
            continue;
        }
        let uses = graph.uses_of(index as usize);
        for w in uses.iter().filter(|u| u.write && !u.read) {
            for r in uses.iter().filter(|u| u.read) {
                let ends = spans[r.value as usize].is_some_and(|(_, last)| last == position as u64);
                let begins = spans[w.value as usize].is_some_and(|(first, _)| first == position as u64);
                let whole = |u: &Use| u.offset == 0 && u.bytes == graph.values[u.value as usize].bytes;
                if ends
                    && begins
                    && whole(r)
                    && whole(w)
                    && r.bytes == w.bytes
                    && let (Some(r), Some(w)) = (ids[r.value as usize], ids[w.value as usize])
                {
                    builder.in_place(r, w).map_err(|e| failed(&e))?;
                }
            }
        }
    }
    let instance = builder.build().map_err(|e| failed(&e))?;
    let options = PlanOptions { goal: Goal::Least, ..PlanOptions::default() };
    let found = plan(&instance, &options).map_err(|e| failed(&e))?;
    // A wrong plan would be silent corruption: it is checked by what shares no code with the planner.
    verify(&instance, &found).map_err(|e| failed(&e))?;
    let offset = |id: &Option<crate::offsets::BufferId>| id.and_then(|id| found.offset(id)).unwrap_or(0);
    Ok((ids.iter().map(offset).collect(), found.total()))
}
