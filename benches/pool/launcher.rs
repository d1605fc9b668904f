//! A launcher's own workload: few sizes, a steady number of live blocks on each stream, freed in the order in which
//! they were allocated.
//!
//! Memory is compared with two figures: the most bytes that all streams had in use at once, and the sum of the most
//! that each had, which is what is needed if no stream ever waits for another.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Instant;

use hiplaunch::Error;
use hiplaunch::driver::Driver;

use super::machine::Machine;
use super::measure::{COST_COLUMNS, Cost, TIME_COLUMNS, Table, Times, at_most, calibrate, close, ledger};
use super::options::Scale;
use super::random::Random;
use super::subject::{Kind, Open, Subject, Workload};

/// Sizes of arguments, scalars and results.
const SMALL: [u64; 5] = [256, 1 << 10, 4 << 10, 16 << 10, 64 << 10];
const LARGE: u64 = 1 << 20;

/// The goal: at most this number of bytes reserved for each byte of the most in use.
const BAR: f64 = 1.15;

/// The number of sizes that are drawn beforehand and then repeated.
const PATTERN: usize = 4096;

/// The number of blocks in one round of a loop: three of each small size, and a large one.
const ROUND: usize = 16;

/// The order of the sizes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Order {
    /// The same in each round, as in a loop of launches.
    Loop,
    /// Each drawn at random, one in 16 the large one: the bytes in use rise and fall.
    Drawn,
}

/// Returns the sizes to request, in order.
fn pattern(order: Order, seed: u64) -> Vec<u64> {
    let mut random = Random(seed);
    match order {
        Order::Loop => {
            let mut round: Vec<u64> = (0..ROUND - 1).map(|i| SMALL[i % SMALL.len()]).chain([LARGE]).collect();
            (1..ROUND).for_each(|i| round.swap(i, random.below(i as u64 + 1) as usize));
            round.into_iter().cycle().take(PATTERN).collect()
        }
        Order::Drawn => {
            let mut draw = || match random.below(ROUND as u64) {
                0 => LARGE,
                _ => SMALL[random.below(SMALL.len() as u64) as usize],
            };
            (0..PATTERN).map(|_| draw()).collect()
        }
    }
}

/// The live blocks of one stream.
pub(crate) struct Lane<'a, S: Subject> {
    pool: &'a S,
    stream: usize,
    sizes: Vec<u64>,
    next: usize,
    live: VecDeque<(S::Block, u64)>,
    most: usize,
    pub(crate) in_use: u64,
    pub(crate) failures: u64,
}

impl<'a, S: Subject> Lane<'a, S> {
    /// Creates the workload of a stream, which keeps `most` blocks live.
    pub(crate) fn new(pool: &'a S, stream: usize, order: Order, most: usize) -> Self {
        let (sizes, live) = (pattern(order, stream as u64), VecDeque::with_capacity(most));
        Lane { pool, stream, sizes, next: 0, live, most, in_use: 0, failures: 0 }
    }

    /// Allocates a block. Frees the oldest first if the largest number of blocks is live.
    #[inline]
    pub(crate) fn step(&mut self) {
        if self.live.len() == self.most
            && let Some((block, size)) = self.live.pop_front()
        {
            self.in_use -= size;
            self.pool.free(self.stream, block);
        }
        let size = self.sizes[self.next];
        self.next = (self.next + 1) % PATTERN;
        match self.pool.allocate(self.stream, size) {
            Some(block) => {
                self.live.push_back((block, size));
                self.in_use += size;
            }
            None => self.failures += 1,
        }
    }
}

impl<S: Subject> Drop for Lane<'_, S> {
    fn drop(&mut self) {
        for (block, _) in self.live.drain(..) {
            self.pool.free(self.stream, block);
        }
    }
}

struct SteadyState {
    driver: Arc<dyn Driver>,
    scale: Scale,
    streams: usize,
    order: Order,
    live: usize,
}

impl SteadyState {
    fn lanes<'a, S: Subject>(&self, pool: &'a S) -> Vec<Lane<'a, S>> {
        (0..self.streams).map(|stream| Lane::new(pool, stream, self.order, self.live)).collect()
    }

    fn count<S: Subject>(&self, open: Open<'_, S>) -> Result<(Cost, u64), Error> {
        let (ledger, driver) = ledger(&self.driver, u64::MAX);
        let pool = open(&driver)?;
        let mut lanes = self.lanes(&pool);
        let (mut cost, mut before) = (Cost::default(), (0, 0));
        let mut peaks = vec![0; lanes.len()];
        let rounds = self.scale.pick(PATTERN / 16, 2 * PATTERN, 4 * PATTERN);
        for round in 0..rounds {
            // Calls are counted in the second half, memory in both.
            if round == rounds / 2 {
                before = (ledger.calls(), ledger.waits());
            }
            for lane in 0..lanes.len() {
                lanes[lane].step();
                cost.peak_requested = cost.peak_requested.max(lanes.iter().map(|l| l.in_use).sum());
                peaks[lane] = peaks[lane].max(lanes[lane].in_use);
            }
        }
        (cost.calls, cost.waits) = (ledger.calls() - before.0, ledger.waits() - before.1);
        cost.operations = (rounds / 2 * lanes.len() * 2) as u64;
        cost.failures = lanes.iter().map(|l| l.failures).sum();
        cost.peak_reserved = pool.reserved().unwrap_or(ledger.peak());
        assert_eq!(cost.failures, 0);
        drop(lanes);
        close(pool, &ledger);
        Ok((cost, peaks.iter().sum()))
    }
}

impl Workload for SteadyState {
    /// Times, cost, and the sum of each stream's most bytes in use.
    type Output = (Times, Cost, u64);

    fn run<S: Subject>(&self, open: Open<'_, S>) -> Result<(Times, Cost, u64), Error> {
        let pool = open(&self.driver)?;
        let mut lanes = self.lanes(&pool);
        (0..self.scale.pick(self.live, PATTERN, PATTERN)).for_each(|_| lanes.iter_mut().for_each(Lane::step));
        let rounds = calibrate(self.scale.slice(), || lanes.iter_mut().for_each(Lane::step));
        let times = Times::repeat(self.scale, || {
            let start = Instant::now();
            (0..rounds).for_each(|_| lanes.iter_mut().for_each(Lane::step));
            // An allocation and a free are two operations.
            Ok((start.elapsed(), rounds * self.streams as u64 * 2))
        })?;
        let (cost, by_stream) = self.count(open)?;
        Ok((times, cost, by_stream))
    }
}

/// Prints a table for each number of streams and of live blocks.
pub(crate) fn run(machine: Machine, scale: Scale) -> Result<(), Error> {
    let shapes = [(1, 16), (2, 16), (4, 16), (8, 16), (1, 64), (2, 64), (4, 64), (8, 64)];
    let orders = [(Order::Loop, "a loop"), (Order::Drawn, "drawn")];
    for ((order, name), (streams, live)) in orders.into_iter().flat_map(|o| shapes.map(|s| (o, s))) {
        let title = format!(
            "{}/launcher: {name}, {streams} stream(s) from one thread, {live} live blocks each, ns an operation",
            machine.name()
        );
        let columns = TIME_COLUMNS.into_iter().chain(COST_COLUMNS).chain([
            "reserved/sum of streams",
            "bar",
            "bar, sum",
        ]);
        let mut table = Table::new(title, ["pool"].into_iter().chain(columns));
        for kind in Kind::ALL {
            let workload = SteadyState { driver: machine.open()?, scale, streams, order, live };
            let (times, cost, by_stream) = kind.run(&workload, streams, 1 << 40)?;
            let mut row = vec![kind.name().to_owned()];
            row.extend(times.columns());
            row.extend(cost.columns());
            let over_streams = cost.peak_reserved as f64 / by_stream as f64;
            row.push(format!("{over_streams:.3}"));
            if kind.has_bars() {
                row.push(at_most(cost.waste(), BAR));
                row.push(at_most(over_streams, BAR));
            }
            table.row(row);
        }
    }
    Ok(())
}
