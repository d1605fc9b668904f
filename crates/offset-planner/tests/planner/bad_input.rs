//! Invalid problems are refused with errors that name the buffer or node.

use offset_planner::{Buffer, BufferProperty, OffsetsError, Plan, PlanOptions, Problem, plan};

use super::invalid;

/// Returns what is wrong with a buffer, with the name `acc`, and the error in words.
fn refused(buffer: Buffer) -> (BufferProperty, String) {
    let mut problem = Problem::builder();
    let error = problem.add(buffer).unwrap_err();
    let text = error.to_string();
    // A refused buffer is not added.
    assert!(problem.build().unwrap().buffers().is_empty());
    match error {
        OffsetsError::Buffer { buffer, property, .. } if &*buffer == "acc" => (property, text),
        other => panic!("{other:?}"),
    }
}

#[test]
#[allow(clippy::reversed_empty_ranges)]
fn invalid_lifetimes_are_refused() {
    let (property, text) = refused(Buffer::closed("acc", 4, 7..=3));
    assert_eq!(property, BufferProperty::Lifetime);
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
    let zero = "buffer `acc`: its size is 0 bytes; do not add an empty buffer".to_owned();
    assert_eq!(refused(Buffer::closed("acc", 0, 0..=0)), (BufferProperty::Size, zero));
    let overflow = |size: u64| {
        let text =
            format!("buffer `acc`: with {size} bytes for it, the sizes add up to more than 2^62 bytes");
        (BufferProperty::Size, text)
    };
    for size in [u64::MAX, (1 << 62) + 1] {
        assert_eq!(refused(Buffer::closed("acc", size, 0..=0)), overflow(size));
    }
    assert_eq!(refused(Buffer::closed("acc", 1, 0..=0).fixed_at(u64::MAX)), overflow(1));
    assert_eq!(refused(Buffer::closed("acc", 2, 0..=0).aligned(1 << 63)), overflow(2));
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
        let text = format!("buffer `acc`: alignment {alignment} is not a power of two");
        let refusal = refused(Buffer::closed("acc", 4, 0..=0).aligned(alignment));
        assert_eq!(refusal, (BufferProperty::Alignment, text));
    }
    let (property, text) = refused(Buffer::closed("acc", 4, 0..=0).aligned(16).fixed_at(8));
    assert_eq!(property, BufferProperty::Fixed);
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
    assert_eq!(
        invalid(problem.build()),
        "buffers `late` and `bad` are live at the same time, and overlap at their fixed offsets"
    );
}

#[test]
fn duplicate_names_and_foreign_ids_are_refused() {
    let mut problem = Problem::builder();
    problem.add(Buffer::closed("x", 4, 0..=0)).unwrap();
    problem.add(Buffer::closed("y", 4, 0..=0)).unwrap();
    let third = problem.add(Buffer::closed("x", 4, 0..=0)).unwrap();
    assert_eq!(invalid(problem.build()), "buffer `x` already exists");

    let mut other = Problem::builder();
    let first = other.add(Buffer::closed("x", 4, 0..=0)).unwrap();
    let unknown = "no buffer of this problem has the number 2; it has 1";
    assert_eq!(invalid(other.in_place(first, third)), unknown);
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
    let cycle = invalid(problem.build());
    assert!(cycle.ends_with(": `b` -> `c` -> `b`") || cycle.ends_with(": `c` -> `b` -> `c`"), "{cycle}");

    let mut itself = Problem::builder();
    let own = itself.node("own");
    itself.edge(own, own).unwrap();
    assert_eq!(itself.build().unwrap_err().to_string(), "the nodes form a cycle: `own` -> `own`");

    let mut small = Problem::builder();
    let only = small.node("only");
    let unknown = "no node of this problem has the number 3; it has 1";
    assert_eq!(invalid(small.edge(only, n[3])), unknown);
    let error = small.add(Buffer::nodes("t", 4, only, [n[2]])).unwrap_err();
    assert!(error.to_string().starts_with("buffer `t`: no node"), "{error}");
    small.add(Buffer::nodes("t", 4, only, [])).unwrap();
    let mixed = small.add(Buffer::closed("u", 4, 0..=1)).unwrap_err().to_string();
    assert_eq!(mixed, "buffer `u`: its lifetime is an interval, unlike that of the buffers before it");

    let mut unordered = Problem::builder();
    let (first, second) = (unordered.node("first"), unordered.node("second"));
    unordered.add(Buffer::nodes("t", 4, first, [second])).unwrap();
    assert_eq!(
        invalid(unordered.build()),
        "buffer `t`: node `second` uses it, but does not come after its definition"
    );
}

#[test]
fn a_graph_that_is_too_wide_is_refused() {
    let mut problem = Problem::builder();
    for i in 0..20_000 {
        problem.node(i.to_string());
    }
    let wide = "20000 nodes in 20000 chains: the graph is too wide to plan";
    assert_eq!(invalid(problem.build()), wide);
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
