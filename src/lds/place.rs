//! Offsets for given barriers: by the planner of [`offsets`](crate::offsets) where epochs say all, else by [`pack`].

use crate::offsets::{Buffer, OffsetsError, Plan, PlanOptions, Problem, plan};

use super::LdsError;
use super::bits::Relation;
use super::pack::{self, EXACT_BUFFERS, Item};
use super::program::{Event, LdsProgram};
use super::separation::conflicts;

/// A layout for given barriers, and on what ground.
pub(super) struct Placed {
    pub(super) offsets: Vec<u64>,
    pub(super) total: u64,
    /// No layout with these barriers has a smaller total.
    pub(super) lower_bound: u64,
    pub(super) ground: Ground,
}

/// What says which buffers may share bytes.
pub(super) enum Ground {
    /// Lifetimes in epochs, numbered by the barriers before them.
    Epochs(Problem),
    /// A relation that is not one of intervals.
    Conflicts(Relation),
}

/// First and last epoch of each buffer: how many barriers, in program order, stand before.
pub(super) fn epochs(program: &LdsProgram, inserted: &[bool]) -> Vec<(u64, u64)> {
    let mut epoch = 0;
    let at: Vec<u64> = program
        .steps
        .iter()
        .zip(inserted)
        .map(|(step, &inserted)| {
            epoch += u64::from(inserted && !step.divergent);
            epoch += u64::from(matches!(step.event, Event::Barrier) && !step.divergent);
            epoch
        })
        .collect();
    let epoch = |step: usize| at.get(step).copied().unwrap_or(0);
    program.storages.iter().map(|s| (epoch(s.live.0), epoch(s.live.1))).collect()
}

pub(super) fn items(program: &LdsProgram) -> Vec<Item> {
    program.storages.iter().map(|s| (s.size, s.align)).collect()
}

/// Places the buffers; is content with a total of `enough`.
pub(super) fn place(program: &LdsProgram, inserted: &[bool], enough: u64) -> Result<Placed, LdsError> {
    let epochs = epochs(program, inserted);
    let conflicts = program.has_scopes().then(|| conflicts(program, inserted));
    if let Some(conflicts) = conflicts
        && !same(&epochs, &conflicts)
    {
        let packed = pack::pack(&items(program), &conflicts, enough, None);
        let ground = Ground::Conflicts(conflicts);
        let pack::Packed { offsets, total, lower_bound } = packed;
        return Ok(Placed { offsets, total, lower_bound, ground });
    }
    let (problem, plan) = by_epochs(program, &epochs)?;
    let mut placed = Placed {
        offsets: plan.offsets().to_vec(),
        total: plan.total(),
        lower_bound: plan.lower_bound(),
        ground: Ground::Epochs(problem),
    };
    if placed.total > placed.lower_bound.max(enough) && epochs.len() <= EXACT_BUFFERS {
        let packed = pack::pack(&items(program), &overlaps(&epochs), enough, Some(placed.offsets));
        placed.offsets = packed.offsets;
        placed.total = packed.total;
        placed.lower_bound = placed.lower_bound.max(packed.lower_bound);
    }
    Ok(placed)
}

fn by_epochs(program: &LdsProgram, epochs: &[(u64, u64)]) -> Result<(Problem, Plan), OffsetsError> {
    let mut problem = Problem::builder();
    for (storage, &(first, last)) in program.storages.iter().zip(epochs) {
        let buffer = Buffer::closed(storage.name.clone(), storage.size, first..=last);
        problem.add(buffer.aligned(storage.align))?;
    }
    let problem = problem.build()?;
    let plan = plan(&problem, &PlanOptions::default())?;
    Ok((problem, plan))
}

fn meet(a: (u64, u64), b: (u64, u64)) -> bool {
    a.0 <= b.1 && b.0 <= a.1
}

/// Whether the epochs overlap exactly where there are conflicts.
fn same(epochs: &[(u64, u64)], conflicts: &Relation) -> bool {
    let pairs = epochs.iter().enumerate();
    pairs.clone().all(|(i, &a)| pairs.clone().take(i).all(|(j, &b)| meet(a, b) == conflicts.has(i, j)))
}

fn overlaps(epochs: &[(u64, u64)]) -> Relation {
    let mut relation = Relation::new(epochs.len());
    for (i, &a) in epochs.iter().enumerate() {
        for (j, _) in epochs.iter().enumerate().take(i).filter(|&(_, &b)| meet(a, b)) {
            relation.insert(i, j);
        }
    }
    relation
}
