//! Where temporaries lie in the arena: by the order of the steps on one stream, or by what is before what on several.

use crate::error::Result;
use crate::offsets::{Buffer, BufferId, Goal, NodeId, PlanOptions, ProblemBuilder, plan, verify};

use super::branches::Order;
use super::error::GraphProblem;
use super::program::ALIGN;
use super::record::{Graph, Place, Use, Work, problem};

/// The steps that touch each temporary which is to be placed, in order; empty for every other value.
struct Touched(Vec<Vec<u32>>);

impl Touched {
    fn of(&self, value: u32) -> &[u32] {
        &self.0[value as usize]
    }
}

/// Offsets of the temporaries for which `placed` says so, by value, and the arena's size. Each lives from its first to its
/// last use; a kernel that is declared in place may have its result where an input ends. With an `order`, two share bytes
/// only if every step that touches one is before every step that touches the other.
pub(super) fn place_temporaries(
    graph: &Graph,
    live: &[u32],
    placed: impl Fn(u32) -> bool,
    order: Option<(&Order, &[smallvec::SmallVec<[u32; 4]>])>,
) -> Result<(Vec<u64>, u64)> {
    let mut touched = Touched(vec![Vec::new(); graph.values.len()]);
    for (position, &index) in live.iter().enumerate() {
        for u in graph.uses_of(index as usize) {
            let info = &graph.values[u.value as usize];
            let steps = &mut touched.0[u.value as usize];
            if matches!(info.place, Place::Temporary)
                && info.bytes > 0
                && placed(u.value)
                && steps.last() != Some(&(position as u32))
            {
                steps.push(position as u32);
            }
        }
    }
    let failed =
        |e: &dyn std::fmt::Display| problem(None, GraphProblem::Plan(e.to_string().into_boxed_str()));
    let mut builder = ProblemBuilder::new();
    let nodes = match order {
        Some((order, after)) => {
            Some(Nodes::new(&mut builder, order, after, live.len()).map_err(|e| failed(&e))?)
        }
        None => None,
    };
    let mut ids: Vec<Option<BufferId>> = vec![None; graph.values.len()];
    for (value, steps) in touched.0.iter().enumerate() {
        let (Some(first), Some(last)) = (steps.first(), steps.last()) else { continue };
        let (name, size) = (format!("temporary {value}"), graph.values[value].bytes.next_multiple_of(ALIGN));
        let buffer = match &nodes {
            None => Buffer::closed(name, size, u64::from(*first)..=u64::from(*last)),
            Some(nodes) => {
                let (definition, uses) = nodes.lifetime(steps);
                Buffer::nodes(name, size, definition, uses)
            }
        };
        ids[value] = Some(builder.add(buffer.aligned(ALIGN)).map_err(|e| failed(&e))?);
    }
    let before = |a: u32, b: u32| match order {
        Some((order, _)) => order.before(a as usize, b as usize),
        None => a < b,
    };
    for (position, &index) in live.iter().enumerate() {
        let position = position as u32;
        let in_place =
            matches!(&graph.nodes[index as usize].work, Work::Launch { kernel, .. } if kernel.is_in_place());
        if !in_place {
            continue;
        }
        let uses = graph.uses_of(index as usize);
        let whole = |u: &Use| u.offset == 0 && u.bytes == graph.values[u.value as usize].bytes;
        for w in uses.iter().filter(|u| u.write && !u.read && whole(u)) {
            let begins = touched.of(w.value).iter().all(|&t| t == position || before(position, t));
            for r in uses.iter().filter(|u| u.read && whole(u) && u.bytes == w.bytes) {
                let ends = touched.of(r.value).iter().all(|&t| t == position || before(t, position));
                if begins
                    && ends
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
    let offset = |id: &Option<BufferId>| id.and_then(|id| found.offset(id)).unwrap_or(0);
    Ok((ids.iter().map(offset).collect(), found.total()))
}

/// The steps as nodes of a planning problem.
struct Nodes<'a> {
    order: &'a Order,
    /// Before every step.
    start: NodeId,
    steps: Vec<NodeId>,
}

impl<'a> Nodes<'a> {
    fn new(
        builder: &mut ProblemBuilder,
        order: &'a Order,
        after: &[smallvec::SmallVec<[u32; 4]>],
        count: usize,
    ) -> std::result::Result<Nodes<'a>, crate::offsets::OffsetsError> {
        let start = builder.node("start");
        let steps: Vec<NodeId> = (0..count).map(|i| builder.node(format!("step {i}"))).collect();
        let mut last = vec![start; order.streams];
        // The streams' own order first: the planner then lays its chains along them.
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

    /// From when on a value that `touched` touch lives, and its uses. Where no single step is before the others, it lives
    /// from a step that is before all of them.
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
