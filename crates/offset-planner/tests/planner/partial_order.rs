//! Lifetimes from a graph instead of a line.

use offset_planner::{Buffer, NodeId, Problem, ProblemBuilder, verify_offsets};
use proptest::prelude::*;

use super::by_default;

/// Creates nodes that are named by their numbers, with edges.
fn graph(nodes: usize, edges: &[(usize, usize)]) -> (ProblemBuilder, Vec<NodeId>) {
    let mut problem = Problem::builder();
    let ids: Vec<NodeId> = (0..nodes).map(|i| problem.node(format!("n{i}"))).collect();
    for &(a, b) in edges {
        problem.edge(ids[a], ids[b]).unwrap();
    }
    (problem, ids)
}

#[test]
fn a_line_is_as_good_as_intervals() {
    let edges: Vec<(usize, usize)> = (0..9).map(|i| (i, i + 1)).collect();
    let (mut problem, n) = graph(10, &edges);
    for i in 0..9 {
        problem.add(Buffer::nodes(format!("t{i}"), 1024, n[i], [n[i + 1]])).unwrap();
    }
    let plan = by_default(&problem.build().unwrap());
    assert_eq!((plan.total(), plan.is_optimal()), (2048, true));
}

#[test]
fn branches_that_may_run_together_do_not_share() {
    // 0 -> 1 -> 2 -> 5 and 0 -> 3 -> 4 -> 5: by the order of recording, t1 would be dead before t3 begins.
    let (mut problem, n) = graph(6, &[(0, 1), (1, 2), (2, 5), (0, 3), (3, 4), (4, 5)]);
    let t1 = problem.add(Buffer::nodes("t1", 100, n[1], [n[2]])).unwrap();
    let t3 = problem.add(Buffer::nodes("t3", 50, n[3], [n[4]])).unwrap();
    let t5 = problem.add(Buffer::nodes("t5", 150, n[5], [])).unwrap();
    let problem = problem.build().unwrap();
    let plan = by_default(&problem);
    let (a, b) = (plan.offset(t1).unwrap(), plan.offset(t3).unwrap());
    assert!(a >= b + 50 || b >= a + 100, "{plan:?}");
    // A buffer after both reuses the bytes of both.
    assert_eq!((plan.offset(t5), plan.total(), plan.is_optimal()), (Some(0), 150, true));
    assert!(verify_offsets(&problem, &[0, 0, 0]).is_err());
}

#[test]
fn every_use_keeps_a_buffer_live() {
    // t0 is used at 1 and at 2, of which only 1 is before 3.
    let (mut problem, n) = graph(4, &[(0, 1), (0, 2), (1, 3)]);
    problem.add(Buffer::nodes("t0", 10, n[0], [n[1], n[2]])).unwrap();
    problem.add(Buffer::nodes("t3", 10, n[3], [])).unwrap();
    assert_eq!(by_default(&problem.build().unwrap()).total(), 20);
    let (mut problem, n) = graph(4, &[(0, 1), (0, 2), (1, 3)]);
    problem.add(Buffer::nodes("t0", 10, n[0], [n[1]])).unwrap();
    problem.add(Buffer::nodes("t3", 10, n[3], [])).unwrap();
    assert_eq!(by_default(&problem.build().unwrap()).total(), 10);
}

/// Returns whether one node is reachable from another, by trying all edges.
fn reaches(edges: &[(usize, usize)], from: usize, to: usize) -> bool {
    edges.iter().any(|&(a, b)| a == from && (b == to || reaches(edges, b, to)))
}

/// Tries every order of the buffers, each at the lowest offset above earlier ones that conflict with it.
fn try_all(
    sizes: &[u64],
    conflict: &dyn Fn(usize, usize) -> bool,
    tops: &mut Vec<(usize, u64)>,
    best: &mut u64,
) {
    let total = tops.iter().map(|t| t.1).max().unwrap_or(0);
    if total >= *best {
        return;
    }
    if tops.len() == sizes.len() {
        *best = total;
    }
    for (i, size) in sizes.iter().enumerate() {
        if tops.iter().all(|t| t.0 != i) {
            let under = tops.iter().filter(|t| conflict(t.0, i)).map(|t| t.1).max().unwrap_or(0);
            tops.push((i, under + size));
            try_all(sizes, conflict, tops, best);
            tops.pop();
        }
    }
}

/// Nodes, edges from lower to higher numbers, buffers as size, definition and number of uses.
type Case = (usize, Vec<(usize, usize)>, Vec<(u64, usize, usize)>);

fn case() -> impl Strategy<Value = Case> {
    (2usize..9).prop_flat_map(|nodes| {
        let edge = (0..nodes, 0..nodes).prop_filter("no edge to itself", |(a, b)| a != b);
        let edges = prop::collection::vec(edge.prop_map(|(a, b)| (a.min(b), a.max(b))), 0..14);
        (Just(nodes), edges, prop::collection::vec((1u64..9, 0..nodes, 0usize..3), 1..7))
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, ..ProptestConfig::default() })]

    #[test]
    fn the_least_total_of_small_graphs((nodes, edges, buffers) in case()) {
        let (mut problem, n) = graph(nodes, &edges);
        let mut lives = Vec::new();
        for (i, &(size, definition, count)) in buffers.iter().enumerate() {
            let uses: Vec<usize> = (0..nodes).filter(|&v| reaches(&edges, definition, v)).take(count).collect();
            let ids: Vec<NodeId> = uses.iter().map(|&v| n[v]).collect();
            problem.add(Buffer::nodes(format!("t{i}"), size, n[definition], ids)).unwrap();
            lives.push((size, definition, if uses.is_empty() { vec![definition] } else { uses }));
        }
        let plan = by_default(&problem.build().unwrap());
        let before = |a: usize, b: usize| lives[a].2.iter().all(|&use_| reaches(&edges, use_, lives[b].1));
        let conflict = |a: usize, b: usize| !before(a, b) && !before(b, a);
        for a in 0..lives.len() {
            for b in 0..a {
                let apart = plan.offsets()[a] >= plan.offsets()[b] + lives[b].0
                    || plan.offsets()[b] >= plan.offsets()[a] + lives[a].0;
                prop_assert!(apart || !conflict(a, b));
            }
        }
        let mut best = u64::MAX;
        try_all(&lives.iter().map(|l| l.0).collect::<Vec<_>>(), &conflict, &mut Vec::new(), &mut best);
        prop_assert_eq!((plan.total(), plan.is_optimal()), (best, true));
    }
}
