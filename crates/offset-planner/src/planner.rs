//! Makes a plan: the best of the greedy plans, improved by the exact search within a budget.

use std::time::Instant;

use super::bound::{load_bound, lower_bound};
use super::greedy::{Scratch, sorted};
use super::instance::{InPlace, Instance};
use super::plan::{BestPlan, Budget, Fit, Goal, Method, Plan, PlanOptions, SortBy};
use super::{OffsetsError, Problem, exact, online, verify_offsets};

/// The number of conflicting items that the greedy orders visit together at most. The first order is always run.
const GREEDY_WORK: usize = 12_000_000;

/// Plans a problem: returns offsets for its buffers.
///
/// # Errors
/// Returns [`OverCapacity`](OffsetsError::OverCapacity) if no plan fits the problem's capacity or none was found, and
/// [`StartPlan`](OffsetsError::StartPlan) if the plan to start from is not valid.
pub fn plan(problem: &Problem, options: &PlanOptions<'_>) -> Result<Plan, OffsetsError> {
    let begun = Instant::now();
    if problem.buffers().is_empty() {
        return Ok(Plan { offsets: Vec::new(), total: 0, lower_bound: 0, method: Method::Empty, nodes: 0 });
    }
    let lower_bound = load_bound(problem);
    let enough = match options.goal {
        Goal::Least => lower_bound,
        Goal::Fits => problem.capacity().unwrap_or(u64::MAX),
    };
    let mut best =
        BestPlan { offsets: Vec::new(), total: u64::MAX, method: Method::Empty, lower_bound, enough };
    if let Some(start) = options.start {
        let total =
            verify_offsets(problem, start).map_err(|error| OffsetsError::StartPlan(Box::new(error)))?;
        (best.offsets, best.total, best.method) = (start.to_vec(), total, Method::Start);
    }
    let rules: &[InPlace] = match problem.in_place_pairs().is_empty() {
        true => &[InPlace::None],
        false => &[InPlace::All, InPlace::SameSize, InPlace::None],
    };
    let mut instances: Vec<Instance> = Vec::with_capacity(rules.len());
    for &rule in rules {
        if !instances.is_empty() && best.is_enough() {
            break;
        }
        let instance = Instance::new(problem, rule);
        greedy(&instance, &mut best);
        instances.push(instance);
    }
    if !problem.has_intervals() && !best.is_enough() {
        best.lower_bound = self::lower_bound(problem);
        if options.goal == Goal::Least {
            best.enough = best.lower_bound;
        }
    }
    let nodes = match options.budget {
        Budget::Greedy => 0,
        _ => exact::improve(&instances, &mut best, options, begun),
    };
    let BestPlan { offsets, total, method, lower_bound, .. } = best;
    match problem.capacity() {
        Some(capacity) if total > capacity => Err(OffsetsError::OverCapacity {
            capacity,
            best_total: total,
            lower_bound,
            proved: lower_bound > capacity,
        }),
        _ => Ok(Plan { offsets, total, lower_bound, method, nodes }),
    }
}

/// Runs the greedy orders, the most promising first, until one reaches the bound.
fn greedy(instance: &Instance, best: &mut BestPlan) {
    use SortBy::{Area, Conflicts, Lifetime, Size, Start};
    let online = instance.intervals && instance.items.iter().all(|item| item.fixed.is_none());
    if online {
        best.offer(instance, &online::best_fit(instance), Method::OnlineBestFit);
        if best.is_enough() {
            return;
        }
        best.offer(instance, &online::stack(instance), Method::Stack);
        if best.is_enough() {
            return;
        }
    }
    if let Some(conflicts) = &instance.conflicts {
        let mut scratch = Scratch::default();
        let mut work = 0;
        for by in [Size, Lifetime, Area, Start, Conflicts] {
            let order = sorted(instance, by);
            for fit in [Fit::First, Fit::Best] {
                if best.is_enough() || work > GREEDY_WORK {
                    return;
                }
                work += conflicts.total();
                if let Some(offsets) = scratch.place(instance, conflicts, &order, fit, best.total) {
                    best.offer(instance, offsets, Method::Greedy(by, fit));
                }
            }
        }
    }
    if online {
        for by in [Lifetime, Area, Size] {
            if best.is_enough() {
                return;
            }
            if let Some(offsets) = online::skyline(instance, &sorted(instance, by), best.total) {
                best.offer(instance, &offsets, Method::Skyline(by));
            }
        }
    }
}
