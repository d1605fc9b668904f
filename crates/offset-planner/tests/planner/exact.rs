//! Rectangles that were cut into pieces, budgets, capacities and cancellation.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use offset_planner::{Budget, Buffer, Goal, Method, OffsetsError, Plan, PlanOptions, Problem, plan};

use super::planned;
use crate::rectangle::{self, BYTES, Shape};

fn challenging(count: usize, seed: u64, capacity: Option<u64>) -> Problem {
    cut(Shape::Mixed, count, seed, capacity)
}

fn cut(shape: Shape, count: usize, seed: u64, capacity: Option<u64>) -> Problem {
    let mut problem = Problem::builder();
    for (i, piece) in rectangle::cut(shape, count, seed).iter().enumerate() {
        problem.add(Buffer::half_open(i.to_string(), piece.size, piece.lower..piece.upper)).unwrap();
    }
    if let Some(capacity) = capacity {
        problem.capacity(capacity);
    }
    problem.build().unwrap()
}

fn nodes(nodes: u64) -> PlanOptions<'static> {
    PlanOptions { budget: Budget::Nodes(nodes), ..PlanOptions::default() }
}

#[test]
fn rectangles_are_planned_without_a_gap() {
    for (count, seed) in [(40, 1), (80, 2), (120, 3), (154, 100)] {
        let problem = challenging(count, seed, None);
        let plan = planned(&problem, &nodes(20_000)).unwrap();
        assert_eq!(
            (plan.total(), plan.is_optimal()),
            (BYTES, true),
            "{count} buffers, {} nodes",
            plan.nodes()
        );
        assert_eq!(plan.method(), Method::Search);
    }
}

#[test]
fn rectangles_of_every_shape_are_planned_without_a_gap() {
    for shape in Shape::ALL {
        for (count, seed) in [(60, 1), (90, 2), (154, 3)] {
            let plan = planned(&cut(shape, count, seed, None), &nodes(20_000)).unwrap();
            assert_eq!(plan.total(), BYTES, "{shape:?}, {count} buffers");
            assert!(plan.is_optimal());
        }
    }
}

#[test]
fn items_that_must_be_together_are_merged() {
    // At nearly every position one buffer takes the place of another one. Placing them one by one took more than
    // 100,000 nodes and reached 1.15 times the bound.
    let plan = planned(&cut(Shape::Straight, 343, 4108, None), &nodes(2000)).unwrap();
    assert_eq!((plan.total(), plan.is_optimal()), (BYTES, true), "{} nodes", plan.nodes());
}

/// Returns pieces of a rectangle that lost some bytes, at any multiple of 64 bytes. It is not known whether the bound
/// can be reached.
fn worn(shape: Shape, count: usize, seed: u64) -> Problem {
    let mut random = rectangle::Random::new(seed);
    let mut problem = Problem::builder();
    for (i, piece) in rectangle::cut(shape, count, seed).iter().enumerate() {
        let size = piece.size - 32 * random.below(32);
        problem.add(Buffer::half_open(i.to_string(), size, piece.lower..piece.upper).aligned(64)).unwrap();
    }
    problem.build().unwrap()
}

#[test]
fn annealed_plans_are_valid_and_never_above_the_greedy_ones() {
    let mut annealed = 0;
    for (shape, count, seed) in
        [(Shape::Mixed, 154, 1), (Shape::Flat, 203, 2), (Shape::Tall, 245, 3), (Shape::Even, 307, 4)]
    {
        let problem = worn(shape, count, seed);
        let greedy = PlanOptions { budget: Budget::Greedy, ..PlanOptions::default() };
        let greedy = planned(&problem, &greedy).unwrap();
        let plan = planned(&problem, &nodes(20_000)).unwrap();
        assert!(plan.total() <= greedy.total() && plan.nodes() <= 20_000);
        assert_eq!(plan, planned(&problem, &nodes(20_000)).unwrap(), "the same budget, the same plan");
        annealed += usize::from(plan.method() == Method::Annealed);
    }
    assert!(annealed > 0, "no plan was bettered by annealing");
}

#[test]
fn unsolved_problems_are_near_the_bound() {
    // Solving these takes many more nodes; greedy plans need 1.35 and 1.3 times the bound.
    for (shape, count, seed) in [(Shape::Mixed, 276, 106), (Shape::Flat, 399, 109)] {
        let plan = planned(&cut(shape, count, seed, None), &nodes(20_000)).unwrap();
        assert!(plan.total() * 100 <= BYTES * 120, "{shape:?}: {}", plan.total());
    }
}

#[test]
fn a_plan_without_search_is_within_twice_the_bound() {
    for (seed, count) in rectangle::COUNTS.into_iter().enumerate() {
        let options = PlanOptions { budget: Budget::Greedy, ..PlanOptions::default() };
        let plan = planned(&challenging(count, seed as u64, None), &options).unwrap();
        assert_eq!((plan.lower_bound(), plan.nodes()), (BYTES, 0));
        assert!(plan.total() < 2 * BYTES, "{count} buffers: {}", plan.total());
    }
}

#[test]
fn the_bound_rises_where_the_load_cannot_be_reached() {
    // Seven bytes are live, but the other buffer fits on neither side of the fixed one.
    let mut problem = Problem::builder();
    problem.add(Buffer::closed("fixed", 4, 0..=1).fixed_at(2)).unwrap();
    problem.add(Buffer::closed("free", 3, 1..=2)).unwrap();
    let problem = problem.build().unwrap();
    let greedy = PlanOptions { budget: Budget::Greedy, ..PlanOptions::default() };
    let plan = planned(&problem, &greedy).unwrap();
    assert_eq!((plan.total(), plan.lower_bound(), plan.is_optimal()), (9, 7, false));
    let plan = planned(&problem, &nodes(1000)).unwrap();
    assert_eq!((plan.total(), plan.lower_bound(), plan.is_optimal()), (9, 9, true));
}

#[test]
fn the_goal_of_fitting_ends_early() {
    let roomy = challenging(154, 100, Some(BYTES * 5 / 4));
    let fits = PlanOptions { goal: Goal::Fits, ..nodes(20_000) };
    let plan = planned(&roomy, &fits).unwrap();
    assert!(plan.total() <= BYTES * 5 / 4);
    assert!(plan.nodes() < planned(&roomy, &nodes(20_000)).unwrap().nodes());
    // A capacity equal to the optimum gives the same plan.
    let tight = planned(&challenging(154, 100, Some(BYTES)), &fits).unwrap();
    assert_eq!(tight.total(), BYTES);
}

#[test]
fn a_capacity_that_cannot_be_met_is_an_error() {
    let problem = challenging(80, 2, Some(BYTES - 1));
    let error = plan(&problem, &nodes(20_000)).unwrap_err();
    let OffsetsError::OverCapacity { capacity, lower_bound, best_total, proved } = error.clone() else {
        panic!("{error}")
    };
    assert_eq!((capacity, lower_bound, best_total, proved), (BYTES - 1, BYTES, BYTES, true));
    let text = error.to_string();
    assert!(text.contains("1 bytes too small") && text.contains("no plan needs less than 1048576"), "{text}");

    // This capacity may be attainable, but not with this budget.
    let error = plan(&challenging(154, 100, Some(BYTES)), &nodes(0)).unwrap_err();
    assert!(matches!(error, OffsetsError::OverCapacity { proved: false, .. }), "{error}");
    assert!(error.to_string().contains("larger budget"), "{error}");
}

#[test]
fn cancellation_and_a_time_budget_end_the_search() {
    let problem = challenging(454, 5, None);
    let cancelled = AtomicBool::new(true);
    let options = PlanOptions { cancel: Some(&cancelled), ..nodes(u64::MAX) };
    assert_eq!(planned(&problem, &options).unwrap().nodes(), 0);

    // Cancel from another thread during the search: an impossible capacity keeps it busy.
    let cancel = AtomicBool::new(false);
    let begun = Instant::now();
    let plan: Plan = std::thread::scope(|scope| {
        let planning = scope.spawn(|| {
            let options = PlanOptions { cancel: Some(&cancel), ..nodes(u64::MAX) };
            planned(&problem, &options).unwrap()
        });
        std::thread::sleep(Duration::from_millis(300));
        cancel.store(true, Ordering::Relaxed);
        planning.join().unwrap()
    });
    assert!(begun.elapsed() < Duration::from_secs(20));
    assert!(plan.total() >= BYTES);

    let begun = Instant::now();
    let options = PlanOptions { budget: Budget::Time(Duration::from_millis(200)), ..PlanOptions::default() };
    planned(&problem, &options).unwrap();
    assert!(begun.elapsed() < Duration::from_secs(20));
}

#[test]
fn a_plan_is_never_worse_than_its_start() {
    let problem = challenging(154, 100, None);
    let best = planned(&problem, &nodes(20_000)).unwrap();
    let options =
        PlanOptions { budget: Budget::Greedy, start: Some(best.offsets()), ..PlanOptions::default() };
    let again = planned(&problem, &options).unwrap();
    assert_eq!((again.offsets(), again.method()), (best.offsets(), Method::Start));

    let mut wrong = best.offsets().to_vec();
    wrong.fill(0);
    let error = plan(&problem, &PlanOptions { start: Some(&wrong), ..PlanOptions::default() }).unwrap_err();
    assert!(matches!(error, OffsetsError::StartPlan(_)), "{error}");
}
