//! Tests the planner against cases with known totals, the stack algorithm, exhaustive search, and rectangles that were
//! cut into pieces.

mod bad_input;
mod exact;
mod in_place;
mod partial_order;
mod properties;
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

fn by_default(problem: &Problem) -> Plan {
    planned(problem, &PlanOptions::default()).unwrap()
}
