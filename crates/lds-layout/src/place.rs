//! Offsets for given barriers: by the planner of [`offsets`](offset_planner) where epochs say all, else by [`pack`].

use offset_planner::{self, Buffer, Goal, OffsetsError, Plan, PlanOptions, Problem, plan};

use super::LdsError;
use super::bits::Relation;
use super::pack::{self, Item};
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
    Epochs(Box<(Problem, Plan)>),
    /// A relation that is not one of intervals.
    Conflicts(Relation),
}

fn to_fit() -> PlanOptions<'static> {
    PlanOptions { goal: Goal::Fits, ..PlanOptions::default() }
}

/// Whether there is a layout within a budget.
pub(super) enum Fits {
    Yes,
    /// It is proved that there is none.
    No,
    /// None was found.
    NotFound,
}

impl Fits {
    fn of(total: u64, lower_bound: u64, budget: u64) -> Fits {
        match total <= budget {
            true => Fits::Yes,
            false if lower_bound > budget => Fits::No,
            false => Fits::NotFound,
        }
    }
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

/// The lifetimes in epochs where they say all; else the relation.
enum Lifetimes {
    Epochs(Vec<(u64, u64)>),
    Conflicts(Relation),
}

fn lifetimes(program: &LdsProgram, inserted: &[bool]) -> Lifetimes {
    let epochs = epochs(program, inserted);
    if !program.has_scopes() {
        return Lifetimes::Epochs(epochs);
    }
    let conflicts = conflicts(program, inserted);
    if same(&epochs, &conflicts) { Lifetimes::Epochs(epochs) } else { Lifetimes::Conflicts(conflicts) }
}

/// Places the buffers in as few bytes as can be, and within the budget if that [`fits`].
pub(super) fn place(program: &LdsProgram, inserted: &[bool], budget: u64) -> Result<Placed, LdsError> {
    match lifetimes(program, inserted) {
        Lifetimes::Epochs(epochs) => {
            let mut problem = self::problem(program, &epochs, None)?;
            let mut plan = plan(&problem, &PlanOptions::default())?;
            if plan.total() > budget {
                // The planner goes other ways when it knows what is enough.
                let bounded = self::problem(program, &epochs, Some(budget))?;
                if let Ok(better) = offset_planner::plan(&bounded, &to_fit()) {
                    (problem, plan) = (bounded, better);
                }
            }
            Ok(Placed {
                offsets: plan.offsets().to_vec(),
                total: plan.total(),
                lower_bound: plan.lower_bound(),
                ground: Ground::Epochs(Box::new((problem, plan))),
            })
        }
        Lifetimes::Conflicts(conflicts) => {
            let pack::Packed { offsets, total, lower_bound } = pack::pack(&items(program), &conflicts, 0);
            Ok(Placed { offsets, total, lower_bound, ground: Ground::Conflicts(conflicts) })
        }
    }
}

/// Whether the buffers can be placed within a budget.
pub(super) fn fits(program: &LdsProgram, inserted: &[bool], budget: u64) -> Result<Fits, LdsError> {
    match lifetimes(program, inserted) {
        Lifetimes::Epochs(epochs) => {
            let problem = problem(program, &epochs, Some(budget))?;
            match plan(&problem, &to_fit()) {
                Ok(_) => Ok(Fits::Yes),
                Err(OffsetsError::OverCapacity { best_total, lower_bound, .. }) => {
                    Ok(Fits::of(best_total, lower_bound, budget))
                }
                Err(error) => Err(error.into()),
            }
        }
        Lifetimes::Conflicts(conflicts) => {
            let packed = pack::pack(&items(program), &conflicts, budget);
            Ok(Fits::of(packed.total, packed.lower_bound, budget))
        }
    }
}

fn problem(
    program: &LdsProgram,
    epochs: &[(u64, u64)],
    capacity: Option<u64>,
) -> Result<Problem, OffsetsError> {
    let mut problem = Problem::builder();
    for (storage, &(first, last)) in program.storages.iter().zip(epochs) {
        let buffer = Buffer::closed(storage.name.clone(), storage.size, first..=last);
        problem.add(buffer.aligned(storage.align))?;
    }
    if let Some(bytes) = capacity {
        problem.capacity(bytes);
    }
    problem.build()
}

fn meet(a: (u64, u64), b: (u64, u64)) -> bool {
    a.0 <= b.1 && b.0 <= a.1
}

/// Whether the epochs overlap exactly where there are conflicts.
fn same(epochs: &[(u64, u64)], conflicts: &Relation) -> bool {
    let pairs = epochs.iter().enumerate();
    pairs.clone().all(|(i, &a)| pairs.clone().take(i).all(|(j, &b)| meet(a, b) == conflicts.has(i, j)))
}
