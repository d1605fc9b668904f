//! Computes offsets for given barriers: with [`offset_planner`] where epochs describe the conflicts exactly, otherwise
//! with [`pack`].

use offset_planner::{self, Buffer, Goal, OffsetsError, Plan, PlanOptions, Problem, plan};

use super::LdsError;
use super::bits::Relation;
use super::pack::{self, Item};
use super::program::{LdsEvent, LdsUse};
use super::separation::conflicts;

/// A layout for given barriers, with the conflicts that it is based on.
pub(super) struct Placed {
    pub(super) offsets: Vec<u64>,
    pub(super) total: u64,
    /// A lower bound in bytes: no layout with these barriers has a smaller total.
    pub(super) lower_bound: u64,
    pub(super) ground: ConflictSource,
}

/// The conflicts between buffers.
pub(super) enum ConflictSource {
    /// Lifetimes in epochs, numbered by the barriers before them.
    Epochs(Box<(Problem, Plan)>),
    /// Pairs that conflict, where these are not the overlaps of intervals.
    Conflicts(Relation),
}

fn to_fit() -> PlanOptions<'static> {
    PlanOptions { goal: Goal::Fits, ..PlanOptions::default() }
}

/// Whether a layout within a budget exists.
pub(super) enum FitResult {
    Yes,
    /// It is proved that none exists.
    No,
    /// None was found, but one may exist.
    NotFound,
}

impl FitResult {
    fn of(total: u64, lower_bound: u64, budget: u64) -> FitResult {
        match total <= budget {
            true => FitResult::Yes,
            false if lower_bound > budget => FitResult::No,
            false => FitResult::NotFound,
        }
    }
}

/// Returns the first and last epoch of each buffer. An epoch is numbered by the barriers before it in program order.
pub(super) fn epochs(program: &LdsUse, inserted: &[bool]) -> Vec<(u64, u64)> {
    let mut epoch = 0;
    let at: Vec<u64> = program
        .steps
        .iter()
        .zip(inserted)
        .map(|(step, &inserted)| {
            epoch += u64::from(inserted && !step.divergent);
            epoch += u64::from(matches!(step.event, LdsEvent::Barrier) && !step.divergent);
            epoch
        })
        .collect();
    let epoch = |step: usize| at.get(step).copied().unwrap_or(0);
    program.storages.iter().map(|s| (epoch(s.live.0), epoch(s.live.1))).collect()
}

pub(super) fn items(program: &LdsUse) -> Vec<Item> {
    program.storages.iter().map(|s| (s.size, s.align)).collect()
}

/// Lifetimes in epochs where these describe the conflicts exactly, otherwise pairs that conflict.
enum Lifetimes {
    Epochs(Vec<(u64, u64)>),
    Conflicts(Relation),
}

fn lifetimes(program: &LdsUse, inserted: &[bool]) -> Lifetimes {
    let epochs = epochs(program, inserted);
    if !program.has_scopes() {
        return Lifetimes::Epochs(epochs);
    }
    let conflicts = conflicts(program, inserted);
    if same(&epochs, &conflicts) { Lifetimes::Epochs(epochs) } else { Lifetimes::Conflicts(conflicts) }
}

/// Places the buffers in as few bytes as possible, and within the budget if [`fits`] finds that possible.
pub(super) fn place(program: &LdsUse, inserted: &[bool], budget: u64) -> Result<Placed, LdsError> {
    match lifetimes(program, inserted) {
        Lifetimes::Epochs(epochs) => {
            let mut problem = self::problem(program, &epochs, None)?;
            let mut plan = plan(&problem, &PlanOptions::default())?;
            if plan.total() > budget {
                // The planner searches differently if it knows which total is sufficient.
                let bounded = self::problem(program, &epochs, Some(budget))?;
                if let Ok(better) = offset_planner::plan(&bounded, &to_fit()) {
                    (problem, plan) = (bounded, better);
                }
            }
            Ok(Placed {
                offsets: plan.offsets().to_vec(),
                total: plan.total(),
                lower_bound: plan.lower_bound(),
                ground: ConflictSource::Epochs(Box::new((problem, plan))),
            })
        }
        Lifetimes::Conflicts(conflicts) => {
            let pack::Packed { offsets, total, lower_bound } = pack::pack(&items(program), &conflicts, 0);
            Ok(Placed { offsets, total, lower_bound, ground: ConflictSource::Conflicts(conflicts) })
        }
    }
}

/// Says whether the buffers can be placed within a budget.
pub(super) fn fits(program: &LdsUse, inserted: &[bool], budget: u64) -> Result<FitResult, LdsError> {
    match lifetimes(program, inserted) {
        Lifetimes::Epochs(epochs) => {
            let problem = problem(program, &epochs, Some(budget))?;
            match plan(&problem, &to_fit()) {
                Ok(_) => Ok(FitResult::Yes),
                Err(OffsetsError::OverCapacity { best_total, lower_bound, .. }) => {
                    Ok(FitResult::of(best_total, lower_bound, budget))
                }
                Err(error) => Err(error.into()),
            }
        }
        Lifetimes::Conflicts(conflicts) => {
            let packed = pack::pack(&items(program), &conflicts, budget);
            Ok(FitResult::of(packed.total, packed.lower_bound, budget))
        }
    }
}

fn problem(program: &LdsUse, epochs: &[(u64, u64)], capacity: Option<u64>) -> Result<Problem, OffsetsError> {
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

/// Returns whether epochs overlap for exactly the pairs that conflict.
fn same(epochs: &[(u64, u64)], conflicts: &Relation) -> bool {
    let pairs = epochs.iter().enumerate();
    pairs.clone().all(|(i, &a)| pairs.clone().take(i).all(|(j, &b)| meet(a, b) == conflicts.has(i, j)))
}
