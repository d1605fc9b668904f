//! Buffers that may reuse the bytes of the buffers that they are computed from.

use offset_planner::{Buffer, Problem, verify_offsets};

use super::{by_default, invalid};

#[test]
fn a_chain_in_place_needs_one_buffer() {
    let mut problem = Problem::builder();
    let ids: Vec<_> =
        (0..20).map(|i| problem.add(Buffer::closed(format!("t{i}"), 256, i..=i + 1)).unwrap()).collect();
    for pair in ids.windows(2) {
        problem.in_place(pair[0], pair[1]).unwrap();
    }
    let plan = by_default(&problem.build().unwrap());
    assert_eq!((plan.total(), plan.is_optimal()), (256, true));
}

#[test]
fn only_one_of_two_readers_reuses_the_bytes() {
    // Both b and c are computed from a at position 1, and both stay live.
    let mut problem = Problem::builder();
    let a = problem.add(Buffer::closed("a", 100, 0..=1)).unwrap();
    let b = problem.add(Buffer::closed("b", 100, 1..=3)).unwrap();
    let c = problem.add(Buffer::closed("c", 100, 1..=3)).unwrap();
    problem.in_place(a, b).unwrap();
    problem.in_place(a, c).unwrap();
    let problem = problem.build().unwrap();
    let plan = by_default(&problem);
    assert_eq!(plan.total(), 200);
    assert!(plan.offset(b) == plan.offset(a) || plan.offset(c) == plan.offset(a));
    assert!(verify_offsets(&problem, &[0, 0, 0]).is_err());
}

#[test]
fn shared_bytes_begin_together() {
    let mut problem = Problem::builder();
    let a = problem.add(Buffer::closed("a", 100, 0..=1)).unwrap();
    let b = problem.add(Buffer::closed("b", 60, 1..=2)).unwrap();
    problem.in_place(a, b).unwrap();
    let problem = problem.build().unwrap();
    assert_eq!(by_default(&problem).total(), 100);
    assert_eq!(verify_offsets(&problem, &[0, 0]), Ok(100));
    // An element would be written before the one that was there is read.
    assert!(verify_offsets(&problem, &[0, 20]).is_err());
}

#[test]
fn a_pair_is_not_shared_where_that_costs_bytes() {
    // b is long-lived and small, a large and short-lived: as one item they would take 100 bytes for long.
    let mut problem = Problem::builder();
    let a = problem.add(Buffer::closed("a", 100, 0..=1)).unwrap();
    let b = problem.add(Buffer::closed("b", 10, 1..=9)).unwrap();
    problem.add(Buffer::closed("c", 100, 5..=9)).unwrap();
    problem.in_place(a, b).unwrap();
    assert_eq!(by_default(&problem.build().unwrap()).total(), 110);
}

#[test]
fn in_a_graph_the_node_that_reads_the_one_writes_the_other() {
    let mut problem = Problem::builder();
    let n: Vec<_> = ["load", "square", "store"].map(|name| problem.node(name)).to_vec();
    problem.edge(n[0], n[1]).unwrap();
    problem.edge(n[1], n[2]).unwrap();
    let x = problem.add(Buffer::nodes("x", 64, n[0], [n[1]])).unwrap();
    let y = problem.add(Buffer::nodes("y", 64, n[1], [n[2]])).unwrap();
    let apart = by_default(&problem.clone().build().unwrap());
    assert_eq!(apart.total(), 128);
    problem.in_place(x, y).unwrap();
    let together = by_default(&problem.build().unwrap());
    assert_eq!((together.total(), together.offset(x)), (64, together.offset(y)));
}

#[test]
fn pairs_that_are_live_at_the_same_time_for_longer_are_refused() {
    let mut problem = Problem::builder();
    let a = problem.add(Buffer::closed("a", 100, 0..=2)).unwrap();
    let b = problem.add(Buffer::closed("b", 100, 1..=3)).unwrap();
    let mut longer = problem.clone();
    longer.in_place(a, b).unwrap();
    assert!(invalid(longer.build()).starts_with("buffer `b` can't reuse the bytes of `a`: they are live"));
    // In the wrong order, and with itself.
    for pair in [(b, a), (a, a)] {
        let mut wrong = problem.clone();
        wrong.in_place(pair.0, pair.1).unwrap();
        assert!(invalid(wrong.build()).contains("can't reuse the bytes"));
    }
}

#[test]
fn fixed_buffers_share_at_one_offset() {
    let mut problem = Problem::builder();
    let a = problem.add(Buffer::closed("a", 64, 0..=1).fixed_at(128)).unwrap();
    let b = problem.add(Buffer::closed("b", 32, 1..=2).fixed_at(128)).unwrap();
    problem.add(Buffer::closed("c", 100, 0..=2)).unwrap();
    assert!(invalid(problem.clone().build()).ends_with("overlap at their fixed offsets"));
    problem.in_place(a, b).unwrap();
    let plan = by_default(&problem.build().unwrap());
    assert_eq!((plan.offsets(), plan.total()), (&[128, 128, 0][..], 192));
}
