//! Places temporaries in the workspace: by the order of the steps on one stream, or by their partial order on several.

use smallvec::SmallVec;

use crate::error::Result;
use offset_planner::{
    Budget, Buffer, BufferId, Goal, NodeId, OffsetsError, PlanOptions, ProblemBuilder, plan, verify,
};

use super::branches::StepOrder;
use super::program::ALIGN;
use super::record::{Graph, NodeKind, Storage, ValueAccess, problem};
use crate::error::GraphProblem;

/// The number of temporaries up to which branches are planned by the partial order. That takes milliseconds, and time
/// that grows with the square of the number.
const MAX_BY_ORDER: usize = 128;
/// The number of search nodes of such a plan, times the number of temporaries. The time of a search node is
/// proportional to that number.
const SEARCH_NODES: u64 = 200_000;

/// The order of steps on several streams, and the earlier steps that each step comes after.
pub(super) type OrderedSteps<'a> = (&'a StepOrder, &'a [SmallVec<[u32; 4]>]);

/// Returns the offsets of the temporaries for which `placed` is true, by value, and the workspace's size in bytes. A
/// temporary lives from its first to its last use. A kernel that is declared in place may have its result in the bytes
/// of an input that ends there.
///
/// With an `order`, two temporaries share bytes only if every step that accesses one comes before every step that
/// accesses the other. If there are too many for that, those of one stream share bytes with each other, and so do those
/// of several streams, in the order of the steps. The dependencies that this adds are found from the bytes.
pub(super) fn place_temporaries(
    graph: &Graph,
    live: &[u32],
    placed: impl Fn(u32) -> bool,
    order: Option<OrderedSteps<'_>>,
) -> Result<(Vec<u64>, u64)> {
    let mut touched: Vec<Vec<u32>> = vec![Vec::new(); graph.values.len()];
    for (position, &index) in live.iter().enumerate() {
        for u in graph.uses_of(index as usize) {
            let info = &graph.values[u.value as usize];
            let steps = &mut touched[u.value as usize];
            if matches!(info.place, Storage::Temporary)
                && info.bytes > 0
                && placed(u.value)
                && steps.last() != Some(&(position as u32))
            {
                steps.push(position as u32);
            }
        }
    }
    let mut workspace = Workspace { graph, live, touched, offsets: vec![0; graph.values.len()], end: 0 };
    let count = workspace.touched.iter().filter(|steps| !steps.is_empty()).count();
    match order {
        None => workspace.place(None, |_| true),
        Some(_) if count <= MAX_BY_ORDER => workspace.place(order, |_| true),
        Some((order, _)) => {
            let stream = |steps: &[u32]| {
                let of = |step: &u32| order.stream_of[*step as usize];
                let first = steps.first().map(of);
                first.filter(|first| steps.iter().all(|step| of(step) == *first))
            };
            (0..order.streams)
                .map(|s| Some(s as u8))
                .chain([None])
                .try_for_each(|region| workspace.place(None, |steps| stream(steps) == region))
        }
    }
    .map_err(|e| problem(None, GraphProblem::Plan(e)))?;
    Ok((workspace.offsets, workspace.end))
}

/// A workspace that is filled region by region.
struct Workspace<'a> {
    graph: &'a Graph,
    live: &'a [u32],
    /// For each temporary that is placed, the steps that access it in order; empty for every other value.
    touched: Vec<Vec<u32>>,
    offsets: Vec<u64>,
    end: u64,
}

fn text_of(e: &dyn std::fmt::Display) -> Box<str> {
    e.to_string().into_boxed_str()
}

impl Workspace<'_> {
    /// Places the temporaries for whose steps `here` is true, after those that are placed.
    fn place(
        &mut self,
        order: Option<OrderedSteps<'_>>,
        here: impl Fn(&[u32]) -> bool,
    ) -> std::result::Result<(), Box<str>> {
        let mut builder = ProblemBuilder::new();
        let nodes = order
            .map(|(order, after)| Nodes::new(&mut builder, order, after, self.live.len()))
            .transpose()
            .map_err(|e| text_of(&e))?;
        let mut ids: Vec<Option<BufferId>> = vec![None; self.touched.len()];
        let mut count = 0;
        for (value, steps) in self.touched.iter().enumerate() {
            let (Some(first), Some(last)) = (steps.first(), steps.last()) else { continue };
            if !here(steps) {
                continue;
            }
            let (name, bytes) = (format!("temporary {value}"), self.graph.values[value].bytes);
            let size = bytes.next_multiple_of(ALIGN);
            let buffer = match &nodes {
                None => Buffer::closed(name, size, u64::from(*first)..=u64::from(*last)),
                Some(nodes) => {
                    let (definition, uses) = nodes.lifetime(steps);
                    Buffer::nodes(name, size, definition, uses)
                }
            };
            ids[value] = Some(builder.add(buffer.aligned(ALIGN)).map_err(|e| text_of(&e))?);
            count += 1;
        }
        if count == 0 {
            return Ok(());
        }
        for (earlier, later) in self.in_place(order) {
            if let (Some(earlier), Some(later)) = (ids[earlier as usize], ids[later as usize]) {
                builder.in_place(earlier, later).map_err(|e| text_of(&e))?;
            }
        }
        let instance = builder.build().map_err(|e| text_of(&e))?;
        let mut options = PlanOptions { goal: Goal::Least, ..PlanOptions::default() };
        if order.is_some() {
            options.budget = Budget::Nodes(SEARCH_NODES / count);
        }
        let plan = plan(&instance, &options).map_err(|e| text_of(&e))?;
        // A wrong plan would corrupt memory silently, so it is checked by code that shares nothing with the planner.
        verify(&instance, &plan).map_err(|e| text_of(&e))?;
        for (offset, id) in self.offsets.iter_mut().zip(&ids) {
            if let Some(planned) = id.and_then(|id| plan.offset(id)) {
                *offset = self.end + planned;
            }
        }
        self.end += plan.total().next_multiple_of(ALIGN);
        Ok(())
    }

    /// Returns pairs of values of which the second may begin at the first byte of the first: a kernel that is declared
    /// in place is the last to read the first and the first to write the second.
    fn in_place(&self, order: Option<OrderedSteps<'_>>) -> Vec<(u32, u32)> {
        let before = |a: u32, b: u32| match order {
            Some((order, _)) => order.before(a as usize, b as usize),
            None => a < b,
        };
        let mut pairs = Vec::new();
        for (position, &index) in (0u32..).zip(self.live) {
            let work = &self.graph.nodes[index as usize].work;
            if !matches!(work, NodeKind::Launch { kernel, .. } if kernel.is_in_place()) {
                continue;
            }
            let uses = self.graph.uses_of(index as usize);
            let whole =
                |u: &ValueAccess| u.offset == 0 && u.bytes == self.graph.values[u.value as usize].bytes;
            let touched = |u: &ValueAccess| self.touched[u.value as usize].iter().copied();
            for w in uses.iter().filter(|u| u.write && !u.read && whole(u)) {
                let begins = touched(w).all(|t| t == position || before(position, t));
                for r in uses.iter().filter(|u| u.read && whole(u) && u.bytes == w.bytes) {
                    if begins && touched(r).all(|t| t == position || before(t, position)) {
                        pairs.push((r.value, w.value));
                    }
                }
            }
        }
        pairs
    }
}

/// The steps as nodes of a planning problem.
struct Nodes<'a> {
    order: &'a StepOrder,
    /// A node before every step.
    start: NodeId,
    steps: Vec<NodeId>,
}

impl<'a> Nodes<'a> {
    fn new(
        builder: &mut ProblemBuilder,
        order: &'a StepOrder,
        after: &[SmallVec<[u32; 4]>],
        count: usize,
    ) -> std::result::Result<Nodes<'a>, OffsetsError> {
        let start = builder.node("start");
        let steps: Vec<NodeId> = (0..count).map(|i| builder.node(format!("step {i}"))).collect();
        let mut last = vec![start; order.streams];
        // Add the order within each stream first, so that the planner's chains follow the streams.
        for (&node, &stream) in steps.iter().zip(&order.stream_of) {
            builder.edge(std::mem::replace(&mut last[usize::from(stream)], node), node)?;
        }
        for ((step, after), &node) in after.iter().enumerate().zip(&steps) {
            for &d in after.iter().filter(|&&d| order.stream_of[d as usize] != order.stream_of[step]) {
                builder.edge(steps[d as usize], node)?;
            }
        }
        Ok(Nodes { order, start, steps })
    }

    /// Returns the definition and the uses of a value that the steps `touched` access. If no step comes before all
    /// others, the definition is a step before all of them.
    fn lifetime(&self, touched: &[u32]) -> (NodeId, Vec<NodeId>) {
        let nodes = |steps: &[u32]| steps.iter().map(|&s| self.steps[s as usize]).collect::<Vec<_>>();
        if let Some((first, rest)) = touched.split_first()
            && rest.iter().all(|&t| self.order.before(*first as usize, t as usize))
        {
            return (self.steps[*first as usize], nodes(rest));
        }
        let before = self.order.before_all(touched).map_or(self.start, |step| self.steps[step]);
        (before, nodes(touched))
    }
}
