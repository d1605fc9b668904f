//! Computes offsets for given barriers with [`offset_planner`]: with epochs as lifetimes where these describe the conflicts
//! exactly, otherwise with the pairs that conflict.

use offset_planner::{Buffer, Goal, OffsetsError, Plan, PlanOptions, Problem, lower_bound, plan};

use super::LdsError;
use super::bits::Relation;
use super::program::{LdsEvent, LdsUse};
use super::separation::conflicts;

/// A layout for given barriers, with the problem that it solves.
pub(super) struct Placed {
    pub(super) problem: Problem,
    pub(super) plan: Plan,
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

/// Returns the first and last epoch of each buffer. An epoch is numbered by the barriers before it in program order.
fn epochs(program: &LdsUse, inserted: &[bool]) -> Vec<(u64, u64)> {
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

/// Places the buffers in as few bytes as possible, and within the budget if [`fits`] finds that possible.
pub(super) fn place(program: &LdsUse, inserted: &[bool], budget: u64) -> Result<Placed, LdsError> {
    let problem = problem(program, inserted, None)?;
    let plan = plan(&problem, &PlanOptions::default())?;
    if plan.total() > budget {
        // The planner searches differently if it knows which total is sufficient.
        let problem = self::problem(program, inserted, Some(budget))?;
        if let Ok(plan) = offset_planner::plan(&problem, &to_fit()) {
            return Ok(Placed { problem, plan });
        }
    }
    Ok(Placed { problem, plan })
}

/// Says whether the buffers can be placed within a budget.
pub(super) fn fits(program: &LdsUse, inserted: &[bool], budget: u64) -> Result<FitResult, LdsError> {
    match plan(&problem(program, inserted, Some(budget))?, &to_fit()) {
        Ok(_) => Ok(FitResult::Yes),
        Err(OffsetsError::OverCapacity { lower_bound, .. }) if lower_bound > budget => Ok(FitResult::No),
        Err(OffsetsError::OverCapacity { .. }) => Ok(FitResult::NotFound),
        Err(error) => Err(error.into()),
    }
}

/// Returns a lower bound in bytes: no layout with these barriers has a smaller total.
pub(super) fn least_bytes(program: &LdsUse, inserted: &[bool]) -> Result<u64, LdsError> {
    Ok(lower_bound(&problem(program, inserted, None)?))
}

fn problem(program: &LdsUse, inserted: &[bool], capacity: Option<u64>) -> Result<Problem, OffsetsError> {
    let epochs = epochs(program, inserted);
    let conflicts = program.has_scopes().then(|| conflicts(program, inserted));
    let conflicts = conflicts.filter(|conflicts| !same(&epochs, conflicts));
    let (mut problem, mut ids) = (Problem::builder(), Vec::with_capacity(epochs.len()));
    for (storage, &(first, last)) in program.storages.iter().zip(&epochs) {
        let (name, size) = (storage.name.clone(), storage.size);
        let buffer = match &conflicts {
            None => Buffer::closed(name, size, first..=last),
            Some(_) => Buffer::conflicting(name, size),
        };
        ids.push(problem.add(buffer.aligned(storage.align))?);
    }
    for (a, b) in conflicts.iter().flat_map(Relation::pairs) {
        problem.conflict(ids[a], ids[b])?;
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
