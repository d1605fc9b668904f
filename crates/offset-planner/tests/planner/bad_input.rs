//! Invalid problems are refused with typed errors that name the buffer or node.

use offset_planner::{Buffer, OffsetsError, Plan, PlanOptions, Problem, plan};

fn refused(buffer: Buffer) -> (OffsetsError, String) {
    let mut problem = Problem::builder();
    let error = problem.add(buffer).unwrap_err();
    let text = error.to_string();
    // A refused buffer is not added.
    assert!(problem.build().unwrap().buffers().is_empty());
    (error, text)
}

#[test]
#[allow(clippy::reversed_empty_ranges)]
fn invalid_lifetimes_are_refused() {
    let (error, text) = refused(Buffer::closed("acc", 4, 7..=3));
    assert!(matches!(error, OffsetsError::LifetimeEndsBeforeItBegins { begin: 7, end: 3, .. }));
    assert!(text.contains("`acc`") && text.contains("7 to 3"), "{text}");
    // A half-open lifetime that contains no position.
    let (_, text) = refused(Buffer::half_open("acc", 4, 7..7));
    assert!(text.contains("7 to 7, half-open"), "{text}");
    // The largest interval is a valid lifetime.
    let mut problem = Problem::builder();
    problem.add(Buffer::closed("a", 4, 0..=u64::MAX)).unwrap();
    problem.add(Buffer::half_open("b", 4, u64::MAX - 1..u64::MAX)).unwrap();
    problem.add(Buffer::half_open("c", 4, 0..u64::MAX - 1)).unwrap();
    assert_eq!(super::by_default(&problem.build().unwrap()).total(), 8);
}

#[test]
fn invalid_sizes_are_refused() {
    let (error, text) = refused(Buffer::closed("acc", 0, 0..=0));
    assert_eq!(error, OffsetsError::ZeroSize { buffer: "acc".into() });
    assert!(text.contains("`acc`"), "{text}");
    for size in [u64::MAX, (1 << 62) + 1] {
        let (error, _) = refused(Buffer::closed("acc", size, 0..=0));
        assert_eq!(error, OffsetsError::Overflow { buffer: "acc".into(), size });
    }
    let (error, _) = refused(Buffer::closed("acc", 1, 0..=0).fixed_at(u64::MAX));
    assert!(matches!(error, OffsetsError::Overflow { .. }));
    let (error, _) = refused(Buffer::closed("acc", 2, 0..=0).aligned(1 << 63));
    assert!(matches!(error, OffsetsError::Overflow { .. }));
    // The sum counts, although no two are live at the same time. Buffers that were added before stay.
    let mut problem = Problem::builder();
    for i in 0..4 {
        problem.add(Buffer::closed(format!("b{i}"), 1 << 60, i..=i)).unwrap();
    }
    let error = problem.add(Buffer::closed("b4", 1 << 60, 4..=4)).unwrap_err();
    assert!(error.to_string().contains("`b4`"), "{error}");
    assert_eq!(super::by_default(&problem.build().unwrap()).total(), 1 << 60);
}

#[test]
fn invalid_alignments_are_refused() {
    for alignment in [0, 3, 96] {
        let (error, text) = refused(Buffer::closed("acc", 4, 0..=0).aligned(alignment));
        assert_eq!(error, OffsetsError::Alignment { buffer: "acc".into(), alignment });
        assert!(text.contains("`acc`") && text.contains("power of two"), "{text}");
    }
    let (_, text) = refused(Buffer::closed("acc", 4, 0..=0).aligned(16).fixed_at(8));
    assert!(text.contains("fixed offset 8") && text.contains("16"), "{text}");
}

#[test]
fn conflicting_fixed_offsets_are_refused() {
    let mut problem = Problem::builder();
    problem.add(Buffer::closed("low", 64, 0..=9).fixed_at(0)).unwrap();
    problem.add(Buffer::closed("far", 64, 0..=9).fixed_at(640)).unwrap();
    problem.add(Buffer::closed("dead", 64, 0..=3).fixed_at(64)).unwrap();
    problem.add(Buffer::closed("late", 64, 4..=9).fixed_at(64)).unwrap();
    assert!(problem.clone().build().is_ok());
    problem.add(Buffer::closed("bad", 64, 5..=5).fixed_at(96)).unwrap();
    let error = problem.build().unwrap_err();
    assert_eq!(error, OffsetsError::FixedConflict { first: "late".into(), second: "bad".into() });
}

#[test]
fn duplicate_names_and_foreign_ids_are_refused() {
    let mut problem = Problem::builder();
    problem.add(Buffer::closed("x", 4, 0..=0)).unwrap();
    problem.add(Buffer::closed("y", 4, 0..=0)).unwrap();
    let third = problem.add(Buffer::closed("x", 4, 0..=0)).unwrap();
    let error = problem.build().unwrap_err();
    assert_eq!(error, OffsetsError::DuplicateBuffer { buffer: "x".into() });

    let mut other = Problem::builder();
    let first = other.add(Buffer::closed("x", 4, 0..=0)).unwrap();
    let error = other.in_place(first, third).unwrap_err();
    assert_eq!(error, OffsetsError::UnknownBuffer { index: 2, buffers: 1 });
    let plan = super::by_default(&other.build().unwrap());
    assert_eq!((plan.offset(first), plan.offset(third)), (Some(0), None));
}

#[test]
fn invalid_graphs_are_refused() {
    let mut problem = Problem::builder();
    let n = ["a", "b", "c", "d"].map(|name| problem.node(name));
    for (from, to) in [(0, 1), (1, 2), (2, 1), (2, 3)] {
        problem.edge(n[from], n[to]).unwrap();
    }
    let error = problem.build().unwrap_err();
    let OffsetsError::Cycle { nodes } = &error else { panic!("{error}") };
    assert_eq!(nodes.len(), 2, "{error}");
    assert!(
        error.to_string().contains("`b` -> `c` -> `b`") || error.to_string().contains("`c` -> `b` -> `c`")
    );

    let mut itself = Problem::builder();
    let own = itself.node("own");
    itself.edge(own, own).unwrap();
    assert_eq!(itself.build().unwrap_err().to_string(), "the nodes form a cycle: `own` -> `own`");

    let mut small = Problem::builder();
    let only = small.node("only");
    let error = small.edge(only, n[3]).unwrap_err();
    assert_eq!(error, OffsetsError::UnknownNode { buffer: None, index: 3, nodes: 1 });
    let error = small.add(Buffer::nodes("t", 4, only, [n[2]])).unwrap_err();
    assert!(error.to_string().starts_with("buffer `t`: no node"), "{error}");
    small.add(Buffer::nodes("t", 4, only, [])).unwrap();
    let error = small.add(Buffer::closed("u", 4, 0..=1)).unwrap_err();
    assert_eq!(error, OffsetsError::MixedLifetimes { buffer: "u".into(), interval: true });

    let mut unordered = Problem::builder();
    let (first, second) = (unordered.node("first"), unordered.node("second"));
    unordered.add(Buffer::nodes("t", 4, first, [second])).unwrap();
    let error = unordered.build().unwrap_err();
    assert_eq!(error, OffsetsError::UseBeforeDefinition { buffer: "t".into(), node: "second".into() });
}

#[test]
fn a_graph_that_is_too_wide_is_refused() {
    let mut problem = Problem::builder();
    for i in 0..20_000 {
        problem.node(i.to_string());
    }
    let error = problem.build().unwrap_err();
    assert_eq!(error, OffsetsError::OrderTooWide { nodes: 20_000, chains: 20_000 });
}

#[test]
fn a_problem_without_buffers_has_an_empty_plan() {
    let plan: Plan = plan(&Problem::builder().build().unwrap(), &PlanOptions::default()).unwrap();
    assert_eq!((plan.total(), plan.lower_bound(), plan.is_optimal()), (0, 0, true));
    // A graph without buffers has a plan, too.
    let mut problem = Problem::builder();
    problem.node("n");
    assert_eq!(super::by_default(&problem.build().unwrap()).total(), 0);
}
