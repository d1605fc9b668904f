//! Properties that hold for any input: the verifier accepts every plan, the stack algorithm is never better, and the
//! exact search finds the same total as exhaustive search.

use offset_planner::{Budget, Buffer, Goal, OffsetsError, PlanOptions, Problem, plan, verify_offsets};
use proptest::prelude::*;

use super::stack::{self, Access};
use super::{by_default, intervals, planned};

/// Bytes, first position, last position.
type Interval = (u64, u64, u64);

fn interval(sizes: u64, positions: u64) -> impl Strategy<Value = Interval> {
    (1..=sizes, 0..positions, 0..positions).prop_map(|(size, a, b)| (size, a.min(b), a.max(b)))
}

/// Returns the least total by trying every order of the buffers, each at the lowest offset above all earlier ones that
/// overlap it in time. The order of a best plan by offset reproduces it or a lower one.
fn by_trying_all_orders(buffers: &[(u64, u64, u64, u64, Option<u64>)]) -> u64 {
    fn go(buffers: &[(u64, u64, u64, u64, Option<u64>)], placed: &mut Vec<(usize, u64)>, best: &mut u64) {
        let total = placed.iter().map(|&(i, offset)| offset + buffers[i].0).max().unwrap_or(0);
        if total >= *best {
            return;
        }
        if placed.len() == buffers.len() {
            *best = total;
            return;
        }
        for i in 0..buffers.len() {
            if placed.iter().any(|&(j, _)| j == i) {
                continue;
            }
            let (size, first, last, alignment, fixed) = buffers[i];
            let over = placed.iter().filter(|&&(j, _)| buffers[j].1 <= last && first <= buffers[j].2);
            let least = over.map(|&(j, offset)| offset + buffers[j].0).max().unwrap_or(0);
            let offset = fixed.unwrap_or(least.next_multiple_of(alignment));
            if offset >= least && offset.checked_add(size).is_some() {
                placed.push((i, offset));
                go(buffers, placed, best);
                placed.pop();
            }
        }
    }
    let mut best = u64::MAX;
    go(buffers, &mut Vec::new(), &mut best);
    best
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, ..ProptestConfig::default() })]

    #[test]
    fn exact_search_finds_the_least_total(buffers in prop::collection::vec((interval(9, 6), 0u32..3), 1..7)) {
        let all: Vec<_> =
            buffers.iter().map(|&((size, first, last), align)| (size, first, last, 1 << align, None)).collect();
        let problem = |capacity: Option<u64>| {
            let mut problem = Problem::builder();
            for (i, &(size, first, last, alignment, _)) in all.iter().enumerate() {
                problem.add(Buffer::closed(i.to_string(), size, first..=last).aligned(alignment)).unwrap();
            }
            if let Some(capacity) = capacity {
                problem.capacity(capacity);
            }
            problem.build().unwrap()
        };
        let best = by_default(&problem(None));
        prop_assert!(best.is_optimal(), "{best:?}");
        let least = by_trying_all_orders(&all);
        prop_assert_eq!(best.total(), least);
        // The planner knows for every capacity whether a plan fits, including capacities that are no plan's total.
        for capacity in least.saturating_sub(3).max(1)..least + 9 {
            match plan(&problem(Some(capacity)), &PlanOptions { goal: Goal::Fits, ..PlanOptions::default() }) {
                Ok(plan) => prop_assert!(least <= capacity && plan.total() <= capacity),
                Err(OffsetsError::OverCapacity { proved, .. }) => prop_assert!(proved && capacity < least),
                Err(error) => prop_assert!(false, "{error}"),
            }
        }
    }

    #[test]
    fn repeated_problems_are_planned_with_merged_items(buffers in prop::collection::vec(interval(5, 4), 3..7)) {
        // The same problem repeated in time until there are enough items to merge. Only the least total of the
        // repetition equals that of the original.
        let all: Vec<_> = buffers.iter().map(|&(size, first, last)| (size, first, last, 1, None)).collect();
        let mut problem = Problem::builder();
        for copy in 0..33u64.div_ceil(buffers.len() as u64) {
            for (i, &(size, first, last)) in buffers.iter().enumerate() {
                let lifetime = copy * 4 + first..=copy * 4 + last;
                problem.add(Buffer::closed(format!("{copy}.{i}"), size, lifetime)).unwrap();
            }
        }
        let plan = by_default(&problem.build().unwrap());
        prop_assert!(plan.is_optimal(), "{plan:?}");
        prop_assert_eq!(plan.total(), by_trying_all_orders(&all));
    }

    #[test]
    fn exact_search_plans_around_fixed_buffers(
        buffers in prop::collection::vec((interval(9, 6), 0u32..3, prop::option::weighted(0.3, 0u64..20)), 1..6),
    ) {
        let all: Vec<_> = buffers
            .iter()
            .map(|&((size, first, last), align, fixed)| {
                let alignment = 1u64 << align;
                (size, first, last, alignment, fixed.map(|f| f.next_multiple_of(alignment)))
            })
            .collect();
        let mut problem = Problem::builder();
        for (i, &(size, first, last, alignment, fixed)) in all.iter().enumerate() {
            let buffer = Buffer::closed(i.to_string(), size, first..=last).aligned(alignment);
            problem.add(Buffer { fixed, ..buffer }).unwrap();
        }
        match problem.build() {
            Ok(problem) => {
                let plan = by_default(&problem);
                prop_assert!(plan.is_optimal(), "{plan:?}");
                prop_assert_eq!(plan.total(), by_trying_all_orders(&all));
            }
            // The fixed buffers overlap, wherever the others go.
            Err(_) => prop_assert_eq!(by_trying_all_orders(&all), u64::MAX),
        }
    }

    #[test]
    fn never_worse_than_the_stack(
        buffers in prop::collection::vec(interval(4096, 60), 1..24),
        barriers in prop::collection::btree_set(0u64..60, 0..12),
        alignment in prop::sample::select(vec![1u64, 16, 128]),
    ) {
        // Accesses stand at even positions, barriers at odd ones.
        let buffers: Vec<Access> = buffers.iter().map(|&(s, first, last)| (s, first * 2, last * 2)).collect();
        let barriers: Vec<u64> = barriers.iter().map(|b| b * 2 + 1).collect();
        let problem = intervals(&stack::epochs(&buffers, &barriers), alignment);
        let offsets = stack::offsets(&buffers, &barriers, alignment);
        let total = verify_offsets(&problem, &offsets).unwrap();
        prop_assert!(by_default(&problem).total() <= total);
        let start = PlanOptions { budget: Budget::Greedy, start: Some(&offsets), ..PlanOptions::default() };
        prop_assert!(planned(&problem, &start).unwrap().total() <= total);
        // With all buffers' ends known and a barrier everywhere, the stack algorithm is one of the greedy plans.
        let everywhere: Vec<u64> = (0..130).filter(|p| p % 2 == 1).collect();
        let problem = intervals(&stack::epochs(&buffers, &everywhere), alignment);
        let greedy = PlanOptions { budget: Budget::Greedy, ..PlanOptions::default() };
        prop_assert!(planned(&problem, &greedy).unwrap().total() <= stack::total(&buffers, &everywhere, alignment));
    }

    #[test]
    fn every_plan_is_valid(
        buffers in prop::collection::vec((interval(1 << 20, 1000), 0u32..9), 1..200),
        nodes in 0u64..500,
    ) {
        let mut problem = Problem::builder();
        for (i, &((size, first, last), align)) in buffers.iter().enumerate() {
            problem.add(Buffer::closed(i.to_string(), size, first..=last).aligned(1 << align)).unwrap();
        }
        let problem = problem.build().unwrap();
        let options = PlanOptions { budget: Budget::Nodes(nodes), ..PlanOptions::default() };
        let plan = planned(&problem, &options).unwrap();
        prop_assert!(plan.nodes() <= nodes);
        prop_assert_eq!(plan, planned(&problem, &options).unwrap(), "the same budget, the same plan");
    }
}
