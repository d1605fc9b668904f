//! The verifier finds errors in plans.

use offset_planner::{Buffer, Problem, verify, verify_offsets};
use proptest::prelude::*;

use super::{by_default, intervals};

fn problem() -> Problem {
    let mut problem = Problem::builder();
    problem.add(Buffer::closed("a", 32, 0..=4).aligned(16)).unwrap();
    problem.add(Buffer::half_open("b", 16, 2..8).aligned(16)).unwrap();
    problem.add(Buffer::half_open("c", 32, 5..9)).unwrap();
    problem.add(Buffer::closed("d", 8, 0..=9).fixed_at(64)).unwrap();
    problem.build().unwrap()
}

#[test]
fn each_kind_of_error_is_found() {
    let problem = problem();
    let wrong = |offsets: &[u64]| verify_offsets(&problem, offsets).unwrap_err().to_string();
    assert_eq!(verify_offsets(&problem, &[0, 32, 0, 64]), Ok(72));
    assert_eq!(wrong(&[0, 32, 0]), "3 offsets for 4 buffers");
    assert_eq!(wrong(&[0, 40, 0, 64]), "buffer `b` at 40: not a multiple of its alignment 16");
    assert_eq!(wrong(&[0, 32, 0, 80]), "buffer `d` at 80: it must be at the fixed offset 64");
    let overflow = "buffer `c` at 18446744073709551615: its end overflows";
    assert_eq!(wrong(&[0, 32, u64::MAX, 64]), overflow);
    for (offsets, first, second) in [
        ([0, 16, 0, 64], "a", "b"),
        ([0, 32, 8, 64], "b", "c"),
        ([0, 32, 40, 64], "b", "c"),
        ([48, 0, 0, 64], "a", "d"),
        ([0, 32, 71, 64], "d", "c"),
        // The last position of `a` is the one before the first of `c`, so they may share bytes.
        ([0, 32, 31, 64], "b", "c"),
    ] {
        let overlap = format!("buffers `{first}` and `{second}` are live at the same time and overlap");
        assert_eq!(wrong(&offsets), overlap, "{offsets:?}");
    }
}

#[test]
fn a_graph_that_no_lifetime_refers_to_is_ignored() {
    let mut problem = Problem::builder();
    problem.node("unused");
    problem.add(Buffer::closed("a", 8, 0..=4)).unwrap();
    problem.add(Buffer::closed("b", 8, 4..=9)).unwrap();
    problem.add(Buffer::closed("c", 8, 5..=9)).unwrap();
    let problem = problem.build().unwrap();
    assert_eq!(by_default(&problem).total(), 16);
    assert!(verify_offsets(&problem, &[0, 0, 8]).is_err());
}

#[test]
fn wrong_totals_and_exceeded_capacities_are_found() {
    let plan = by_default(&problem());
    assert_eq!(verify(&problem(), &plan), Ok(()));
    let mut small = Problem::builder();
    small.add(Buffer::closed("a", 32, 0..=4)).unwrap();
    let of_another = by_default(&small.clone().build().unwrap());
    let wrong = |problem: &Problem| verify(problem, &of_another).unwrap_err().to_string();
    assert_eq!(wrong(&problem()), "1 offsets for 4 buffers");
    small.capacity(31);
    assert_eq!(wrong(&small.build().unwrap()), "the total of 32 bytes is above the capacity of 31");
    // The same buffers at the same offsets, one of them larger: the end is no longer the total.
    let mut longer = Problem::builder();
    longer.add(Buffer::closed("a", 33, 0..=4)).unwrap();
    let longer = longer.build().unwrap();
    assert_eq!(wrong(&longer), "the plan has a total of 32 bytes, but its last buffer ends at 33");
}

proptest! {
    /// Compares with a check of every pair.
    #[test]
    fn the_sweep_finds_every_overlap(
        buffers in prop::collection::vec((1u64..8, 0u64..10, 0u64..6, 0u64..24), 1..10),
    ) {
        let all: Vec<(u64, u64, u64)> =
            buffers.iter().map(|&(size, first, length, _)| (size, first, first + length)).collect();
        let offsets: Vec<u64> = buffers.iter().map(|b| b.3).collect();
        let overlap = (0..all.len()).any(|i| (0..i).any(|j| {
            let (a, b) = (all[i], all[j]);
            let (x, y) = (offsets[i], offsets[j]);
            a.1 <= b.2 && b.1 <= a.2 && x < y + b.0 && y < x + a.0
        }));
        prop_assert_eq!(verify_offsets(&intervals(&all, 1), &offsets).is_err(), overlap);
    }
}
