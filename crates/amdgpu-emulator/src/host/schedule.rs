//! The schedule that a seed selects: the order of workgroups and waves, and the lengths of time slices.
//!
//! A kernel without data races has the same results in every order; a kernel with a race may not. The order is
//! generated from the seed with splitmix64 (Steele, Lea, Flood: "Fast Splittable Pseudorandom Number Generators"). With
//! one thread, a seed always gives the same order. With several threads, the order also depends on the order in which
//! threads make their choices.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// The number that splitmix64 adds to its state at each step.
const GAMMA: u64 = 0x9e37_79b9_7f4a_7c15;

/// The output function of splitmix64.
fn mix(z: u64) -> u64 {
    let z = (z ^ z >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ z >> 31
}

/// A generator of pseudorandom numbers (splitmix64).
#[derive(Debug, Clone)]
pub(crate) struct ScheduleRng(u64);

impl ScheduleRng {
    pub(crate) fn new(seed: u64) -> ScheduleRng {
        ScheduleRng(seed)
    }

    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(GAMMA);
        mix(self.0)
    }

    /// Returns a number below `n`; 0 if `n` is 0.
    pub(crate) fn below(&mut self, n: usize) -> usize {
        (u128::from(self.next()) * n as u128 >> 64) as usize
    }

    /// Returns a number from 1 to `most`. Each power of two has the same probability, so that small numbers are as
    /// frequent as large ones.
    pub(crate) fn spread(&mut self, most: u64) -> u64 {
        let bits = self.below(u64::BITS as usize - most.leading_zeros() as usize) as u32;
        let low = 1u64 << bits;
        (low | self.next() & (low - 1)).min(most)
    }

    /// Shuffles a list.
    pub(crate) fn shuffle<T>(&mut self, list: &mut [T]) {
        for n in (1..list.len()).rev() {
            list.swap(n, self.below(n + 1));
        }
    }
}

/// The order of one dispatch, shared by its threads.
#[derive(Debug)]
pub(crate) struct Schedule {
    seed: u64,
    drawn: AtomicU64,
}

impl Schedule {
    pub(crate) fn new(seed: u64) -> Schedule {
        Schedule { seed: mix(seed.wrapping_add(GAMMA)), drawn: AtomicU64::new(0) }
    }

    /// Returns a generator for one choice, which any thread may make.
    pub(crate) fn draw(&self) -> ScheduleRng {
        ScheduleRng::new(self.seed ^ mix(self.drawn.fetch_add(1, Relaxed)))
    }

    /// Returns the generator of a workgroup. It does not depend on the thread that runs the workgroup.
    pub(crate) fn of_workgroup(&self, number: u64) -> ScheduleRng {
        ScheduleRng::new(mix(self.seed.wrapping_add(mix(number))))
    }

    /// Returns the number of the workgroup that begins as the `n`th of `total`.
    ///
    /// This is a permutation, computed by a Feistel network over the next even power of two. Results outside of the
    /// range are passed through the network again ("cycle walking").
    pub(crate) fn workgroup(&self, n: u64, total: u64) -> u64 {
        let half = (u64::BITS - total.saturating_sub(1).leading_zeros()).div_ceil(2).max(1);
        let mask = (1u64 << half) - 1;
        let mut at = n;
        loop {
            let (mut left, mut right) = (at >> half & mask, at & mask);
            for round in 0..4 {
                let mixed = mix(self.seed ^ right << 8 ^ round) & mask;
                (left, right) = (right, left ^ mixed);
            }
            at = left << half | right;
            if at < total || total == 0 {
                return at;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn workgroups_are_permuted() {
        for total in [1, 2, 3, 5, 64, 100, 1000, 4097] {
            let orders = [1, 2].map(|seed| {
                let schedule = Schedule::new(seed);
                (0..total).map(|n| schedule.workgroup(n, total)).collect::<Vec<u64>>()
            });
            for order in &orders {
                let mut sorted = order.clone();
                sorted.sort_unstable();
                assert_eq!(sorted, (0..total).collect::<Vec<u64>>());
            }
            assert!(total < 64 || orders[0] != orders[1], "{total}");
        }
        // The permutation is also computed quickly for the largest possible grid.
        let schedule = Schedule::new(3);
        assert!(schedule.workgroup(u64::from(u32::MAX), 1 << 32) < 1 << 32);
    }

    #[test]
    fn draws_are_in_range_and_differ() {
        let mut rng = ScheduleRng::new(7);
        let mut seen = [0; 10];
        for _ in 0..1000 {
            seen[rng.below(10)] += 1;
            assert!((1..=20_000).contains(&rng.spread(20_000)));
        }
        assert!(seen.iter().all(|n| *n > 50), "{seen:?}");
        assert!((0..100).any(|_| rng.spread(20_000) == 1) && (0..100).any(|_| rng.spread(20_000) > 10_000));
        assert_eq!((rng.below(0), rng.below(1), rng.spread(1)), (0, 0, 1));
        let mut list: Vec<u32> = (0..50).collect();
        rng.shuffle(&mut list);
        assert!(!list.is_sorted());
        list.sort_unstable();
        assert_eq!(list, (0..50).collect::<Vec<u32>>());
    }
}
