//! The simplest steady state: one block of one size, allocated and freed again and again.

use std::hint::black_box;
use std::sync::Arc;
use std::time::Instant;

use hiplaunch::Error;
use hiplaunch::driver::Driver;

use super::machine::Machine;
use super::measure::{
    COST_COLUMNS, Cost, TIME_COLUMNS, Table, Times, at_most, calibrate, close, ledger, number,
};
use super::options::Scale;
use super::subject::{Kind, Open, Subject, Workload};

const SIZES: [(u64, &str); 5] =
    [(256, "256 B"), (4 << 10, "4 KiB"), (64 << 10, "64 KiB"), (1 << 20, "1 MiB"), (64 << 20, "64 MiB")];

/// The goal: at most this number of nanoseconds for one operation, which is half of a pair.
const BAR: f64 = 60.0;

struct Hits {
    driver: Arc<dyn Driver>,
    scale: Scale,
    bytes: u64,
}

#[inline]
fn pair<S: Subject>(pool: &S, bytes: u64) {
    if let Some(block) = pool.allocate(0, black_box(bytes)) {
        pool.free(0, black_box(block));
    }
}

impl Workload for Hits {
    type Output = (Times, Cost);

    fn run<S: Subject>(&self, open: Open<'_, S>) -> Result<(Times, Cost), Error> {
        let pool = open(&self.driver)?;
        let pairs = calibrate(self.scale.slice(), || pair(&pool, self.bytes));
        let times = Times::repeat(self.scale, || {
            let start = Instant::now();
            (0..pairs).for_each(|_| pair(&pool, self.bytes));
            Ok((start.elapsed(), pairs))
        })?;

        let (ledger, driver) = ledger(&self.driver, u64::MAX);
        let pool = open(&driver)?;
        pair(&pool, self.bytes);
        let before = (ledger.calls(), ledger.waits());
        let mut cost = Cost { operations: 200, peak_requested: self.bytes, ..Cost::default() };
        for _ in 0..100 {
            match pool.allocate(0, self.bytes) {
                Some(block) => pool.free(0, block),
                None => cost.failures += 1,
            }
        }
        (cost.calls, cost.waits) = (ledger.calls() - before.0, ledger.waits() - before.1);
        cost.peak_reserved = pool.reserved().unwrap_or(ledger.peak());
        assert_eq!(cost.failures, 0);
        close(pool, &ledger);
        Ok((times, cost))
    }
}

/// So many pairs.
struct Pairs(u32);

impl Workload for Pairs {
    type Output = ();

    fn run<S: Subject>(&self, open: Open<'_, S>) -> Result<(), Error> {
        let pool = open(&Machine::Noop.open()?)?;
        (0..self.0).for_each(|_| pair(&pool, 256));
        Ok(())
    }
}

/// Allocates and frees 256 bytes of this library's pool so often.
pub(crate) fn count(pairs: u32) -> Result<(), Error> {
    Kind::Caching.run(&Pairs(pairs), 1, 1 << 40)
}

/// Prints a table for each size.
pub(crate) fn run(machine: Machine, scale: Scale) -> Result<(), Error> {
    for (bytes, name) in SIZES {
        let title = format!("{}/hit: allocate and free {name} on one stream, ns a pair", machine.name());
        let columns = TIME_COLUMNS.into_iter().chain(["ns/op"]).chain(COST_COLUMNS).chain(["bar, ns/op"]);
        let mut table = Table::new(title, ["pool"].into_iter().chain(columns));
        for kind in Kind::ALL {
            let workload = Hits { driver: machine.open()?, scale, bytes };
            let (times, cost) = kind.run(&workload, 1, 1 << 40)?;
            let mut row = vec![kind.name().to_owned()];
            row.extend(times.columns());
            row.push(number(times.best() / 2.0));
            row.extend(cost.columns());
            if kind.has_bars() {
                row.push(at_most(times.best() / 2.0, BAR));
            }
            table.row(row);
        }
    }
    Ok(())
}
