//! The cases with known totals of the stack algorithm, and the family of problems for which its total grows.

use offset_planner::{Buffer, Problem};

use super::stack::{self, Access};
use super::{by_default, intervals};

/// Name, buffers, barriers, the stack's totals with alignments of 128 and 16, and the least totals.
type Case = (&'static str, &'static [Access], &'static [u64], [u64; 2], [u64; 2]);

const CASES: [Case; 9] = [
    ("simple, no barrier", &[(20, 1, 2), (24, 5, 6)], &[], [148, 52], [148, 52]),
    ("simple, barrier", &[(20, 1, 2), (24, 5, 6)], &[3], [24, 24], [24, 24]),
    ("reordered push, no barrier", &[(20, 1, 3), (24, 2, 7), (24, 6, 8)], &[], [276, 84], [276, 84]),
    ("reordered push, barrier", &[(20, 1, 3), (24, 2, 7), (24, 6, 8)], &[4], [152, 56], [152, 56]),
    ("promote A", &[(20, 1, 3), (24, 2, 7), (24, 6, 8)], &[5], [152, 56], [152, 56]),
    ("multiple downstream", &[(28, 6, 12), (32, 13, 19), (36, 20, 25)], &[], [284, 108], [284, 100]),
    ("..., promote A", &[(28, 6, 12), (32, 13, 19), (36, 20, 25)], &[12], [160, 80], [160, 68]),
    ("two promotions", &[(28, 7, 13), (32, 18, 24), (36, 29, 35), (40, 40, 45)], &[], [412, 156], [412, 148]),
    (
        "..., promote A, C",
        &[(28, 7, 13), (32, 18, 24), (36, 29, 35), (40, 40, 45)],
        &[17, 39],
        [160, 80],
        [160, 68],
    ),
];

#[test]
fn every_case_of_the_table_reaches_the_least_total() {
    for (name, buffers, barriers, known, least) in CASES {
        // An inserted barrier stands right before a write; here that is the position before.
        for ((alignment, known), least) in [128, 16].into_iter().zip(known).zip(least) {
            let plan = by_default(&intervals(&stack::epochs(buffers, barriers), alignment));
            assert!(plan.total() <= known, "{name}, {alignment}: {} > {known}", plan.total());
            assert_eq!((plan.total(), plan.is_optimal()), (least, true), "{name}, {alignment}");
        }
    }
}

#[test]
fn the_reference_stack_gives_the_totals_of_the_table() {
    for (name, buffers, barriers, known, _) in CASES {
        let totals = [128, 16].map(|alignment| stack::total(buffers, barriers, alignment));
        assert_eq!(totals, known, "{name}");
    }
}

fn chain(n: u64) -> (Vec<Access>, Vec<u64>) {
    let buffers = (0..n).map(|i| (1024, 10 * i + 1, 10 * i + 12)).collect();
    (buffers, (0..n).map(|i| 10 * i + 5).collect())
}

#[test]
fn a_chain_of_any_length_needs_the_bytes_of_two_buffers() {
    for (n, kib) in [(4, 3), (16, 9), (64, 33)] {
        let (buffers, barriers) = chain(n);
        assert_eq!(stack::total(&buffers, &barriers, 16), kib * 1024, "the stack, {n}");
    }
    for n in [2, 3, 4, 16, 64, 500, 3000] {
        let (buffers, barriers) = chain(n);
        let plan = by_default(&intervals(&stack::epochs(&buffers, &barriers), 16));
        assert_eq!((plan.total(), plan.is_optimal()), (2048, true), "{n}");
    }
}

#[test]
fn one_hundred_thousand_buffers_are_planned() {
    let mut problem = Problem::builder();
    for i in 0..100_000u64 {
        let size = 64 * (1 + i * 7919 % 61);
        let length = 1 + i * 104_729 % 97;
        problem.add(Buffer::half_open(i.to_string(), size, i..i + length).aligned(64)).unwrap();
    }
    let plan = by_default(&problem.build().unwrap());
    assert!(plan.total() * 4 <= plan.lower_bound() * 5, "{} over {}", plan.total(), plan.lower_bound());
}
