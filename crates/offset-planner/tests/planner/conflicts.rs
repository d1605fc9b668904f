//! Buffers whose conflicts are given one by one.

use offset_planner::{Buffer, Problem, lower_bound, verify_offsets};

use super::{by_default, invalid};

/// No intervals have the conflicts of a ring of five.
#[test]
fn a_ring_of_five_needs_three_places() {
    let mut problem = Problem::builder();
    let ids: Vec<_> =
        (0..5).map(|i| problem.add(Buffer::conflicting(format!("b{i}"), 16)).unwrap()).collect();
    for i in 0..5 {
        problem.conflict(ids[i], ids[(i + 1) % 5]).unwrap();
    }
    let problem = problem.build().unwrap();
    let plan = by_default(&problem);
    assert_eq!((plan.total(), plan.is_optimal()), (48, true));
    assert_eq!(lower_bound(&problem), 32, "no three of them conflict pairwise");
    let error = verify_offsets(&problem, &[0, 16, 0, 16, 0]).unwrap_err().to_string();
    assert_eq!(error, "buffers `b0` and `b4` are live at the same time and overlap");
}

#[test]
fn fixed_buffers_share_bytes_unless_they_conflict() {
    let mut problem = Problem::builder();
    let a = problem.add(Buffer::conflicting("a", 64).fixed_at(0)).unwrap();
    let b = problem.add(Buffer::conflicting("b", 64).fixed_at(32)).unwrap();
    let c = problem.add(Buffer::conflicting("c", 32)).unwrap();
    problem.conflict(c, a).unwrap();
    let plan = by_default(&problem.clone().build().unwrap());
    assert_eq!((plan.offset(c), plan.total()), (Some(64), 96));
    problem.conflict(b, a).unwrap();
    let overlap = "buffers `a` and `b` are live at the same time, and overlap at their fixed offsets";
    assert_eq!(invalid(problem.build()), overlap);
}
