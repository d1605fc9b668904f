//! Tests the planner against cases with known totals, the stack algorithm, exhaustive search, and rectangles that were
//! cut into pieces.

mod bad_input;
mod conflicts;
mod exact;
mod in_place;
mod partial_order;
mod properties;
mod rectangle;
mod stack;
mod table;
mod verifier;

use offset_planner::{Buffer, OffsetsError, Plan, PlanOptions, Problem, plan, verify};

/// Creates a problem of closed intervals, named by their index.
fn intervals(buffers: &[(u64, u64, u64)], alignment: u64) -> Problem {
    let mut problem = Problem::builder();
    for (i, &(size, first, last)) in buffers.iter().enumerate() {
        problem.add(Buffer::closed(format!("b{i}"), size, first..=last).aligned(alignment)).unwrap();
    }
    problem.build().unwrap()
}

/// Returns a plan after the verifier accepted it.
fn planned(problem: &Problem, options: &PlanOptions<'_>) -> Result<Plan, OffsetsError> {
    let plan = plan(problem, options)?;
    verify(problem, &plan).unwrap_or_else(|error| panic!("{error}\n{problem:#?}\n{plan:#?}"));
    Ok(plan)
}

/// Returns an error for a problem as a whole in words.
#[track_caller]
fn invalid<T: std::fmt::Debug>(result: Result<T, OffsetsError>) -> String {
    match result {
        Err(OffsetsError::Invalid(problem)) => problem.into(),
        other => panic!("{other:?}"),
    }
}

fn by_default(problem: &Problem) -> Plan {
    planned(problem, &PlanOptions::default()).unwrap()
}
