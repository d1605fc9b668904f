//! The verifier finds errors in plans.

use offset_planner::{Buffer, Problem, VerifyError, verify, verify_offsets};
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
    let check = |offsets: &[u64]| verify_offsets(&problem, offsets);
    assert_eq!(check(&[0, 32, 0, 64]), Ok(72));
    assert_eq!(check(&[0, 32, 0]), Err(VerifyError::Count { offsets: 3, buffers: 4 }));
    let misaligned = VerifyError::Misaligned { buffer: "b".into(), offset: 40, alignment: 16 };
    assert_eq!(check(&[0, 40, 0, 64]), Err(misaligned));
    assert_eq!(
        check(&[0, 32, 0, 80]),
        Err(VerifyError::NotFixed { buffer: "d".into(), offset: 80, fixed: 64 })
    );
    let overflow = VerifyError::Overflow { buffer: "c".into(), offset: u64::MAX };
    assert_eq!(check(&[0, 32, u64::MAX, 64]), Err(overflow));
    for (offsets, first, second) in [
        ([0, 16, 0, 64], "a", "b"),
        ([0, 32, 8, 64], "b", "c"),
        ([0, 32, 40, 64], "b", "c"),
        ([48, 0, 0, 64], "a", "d"),
        ([0, 32, 71, 64], "d", "c"),
    ] {
        let overlap = VerifyError::Overlap { first: first.into(), second: second.into() };
        assert_eq!(check(&offsets), Err(overlap), "{offsets:?}");
    }
    // The last position of `a` is the one before the first of `c`, so they may share bytes.
    assert_eq!(check(&[0, 32, 31, 64]), Err(VerifyError::Overlap { first: "b".into(), second: "c".into() }));
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
    assert!(matches!(verify(&problem(), &of_another), Err(VerifyError::Count { .. })));
    small.capacity(31);
    let small = small.build().unwrap();
    assert_eq!(verify(&small, &of_another), Err(VerifyError::Capacity { total: 32, capacity: 31 }));
    // The same buffers at the same offsets, one of them larger: the end is no longer the total.
    let mut longer = Problem::builder();
    longer.add(Buffer::closed("a", 33, 0..=4)).unwrap();
    let error = verify(&longer.build().unwrap(), &of_another);
    assert_eq!(error, Err(VerifyError::Total { total: 32, end: 33 }));
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
