//! RMM's random_allocations: uniform sizes, 73 % allocations, frees of any live block, a limit on the bytes in use.
//!
//! Random numbers are drawn before the time is measured. As in the original, the state decides too: a request that
//! fails, or would exceed the limit, becomes a free.

use std::sync::Arc;
use std::time::{Duration, Instant};

use hiplaunch::Error;
use hiplaunch::driver::Driver;

use super::machine::Machine;
use super::measure::{COST_COLUMNS, Cost, TIME_COLUMNS, Table, Times, at_most, close, ledger};
use super::options::Scale;
use super::subject::{Kind, Open, Subject, Workload};

const MIB: u64 = 1 << 20;
const MAX_USAGE: u64 = 16_000 * MIB;
const ALLOCATION_PERCENT: u8 = 73;

/// The number of allocations, the largest size in MiB, and the goal: the most nanoseconds of one operation.
const CASES: [(u32, u32, Option<f64>); 4] =
    [(1_000, 1, Some(150.0)), (10_000, 1, Some(250.0)), (100_000, 1, Some(400.0)), (10_000, 1024, None)];

/// The random numbers of one step.
#[derive(Clone, Copy)]
struct Draw {
    size: u32,
    /// Chooses the live block that is freed: a fraction of 2^32.
    index: u32,
    percent: u8,
}

/// A workload with all its random numbers drawn.
pub(crate) struct Plan {
    draws: Vec<Draw>,
    allocations: usize,
    streams: usize,
}

/// A generator of pseudo-random numbers: SplitMix64.
pub(crate) struct Random(pub(crate) u64);

impl Random {
    pub(crate) fn below(&mut self, limit: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((u128::from(z ^ (z >> 31)) * u128::from(limit)) >> 64) as u64
    }
}

impl Plan {
    fn new(seed: u64, allocations: u32, max_mib: u32, streams: usize) -> Plan {
        let mut random = Random(seed);
        let draw = |_| Draw {
            size: 1 + random.below(u64::from(max_mib) * MIB) as u32,
            index: random.below(1 << 32) as u32,
            percent: random.below(100) as u8,
        };
        Plan { draws: (0..2 * allocations).map(draw).collect(), allocations: allocations as usize, streams }
    }

    fn steps(&self) -> u64 {
        self.draws.len() as u64
    }
}

/// A live block, its size and its stream.
struct Live<B> {
    block: B,
    size: u32,
    stream: u32,
}

/// Runs a plan. Returns the number of failures and the most bytes in use. Blocks left in `live` are not freed.
fn play<S: Subject>(pool: &S, plan: &Plan, live: &mut Vec<Live<S::Block>>) -> (u64, u64) {
    let (mut allocated, mut in_use, mut peak, mut failures) = (0, 0u64, 0, 0);
    let mut stream = 0;
    for draw in &plan.draws {
        stream = if stream + 1 < plan.streams { stream + 1 } else { 0 };
        let size = u64::from(draw.size);
        if live.is_empty()
            || (draw.percent < ALLOCATION_PERCENT
                && allocated < plan.allocations
                && in_use + size < MAX_USAGE)
        {
            if let Some(block) = pool.allocate(stream, size) {
                live.push(Live { block, size: draw.size, stream: stream as u32 });
                allocated += 1;
                in_use += size;
                peak = peak.max(in_use);
                continue;
            }
            failures += 1;
        }
        if !live.is_empty() {
            let index = (u64::from(draw.index) * live.len() as u64) >> 32;
            let gone = live.swap_remove(index as usize);
            in_use -= u64::from(gone.size);
            pool.free(gone.stream as usize, gone.block);
        }
    }
    (failures, peak)
}

fn free_all<S: Subject>(pool: &S, live: &mut Vec<Live<S::Block>>) {
    live.drain(..).for_each(|l| pool.free(l.stream as usize, l.block));
}

/// Times a plan on new pools, then counts its cost.
struct RandomAllocations<'a> {
    driver: Arc<dyn Driver>,
    scale: Scale,
    plan: &'a Plan,
}

impl RandomAllocations<'_> {
    fn once<S: Subject>(&self, pool: &S) -> Duration {
        let mut live = Vec::with_capacity(self.plan.allocations);
        let start = Instant::now();
        play(pool, self.plan, &mut live);
        let time = start.elapsed();
        free_all(pool, &mut live);
        time
    }
}

impl Workload for RandomAllocations<'_> {
    type Output = (Times, Cost);

    fn run<S: Subject>(&self, open: Open<'_, S>) -> Result<(Times, Cost), Error> {
        let times = Times::repeat(self.scale, || Ok((self.once(&open(&self.driver)?), self.plan.steps())))?;
        Ok((times, Limited { driver: self.driver.clone(), limit: u64::MAX, plan: self.plan }.run(open)?))
    }
}

/// Counts the cost of a plan, on a driver with `limit` bytes.
struct Limited<'a> {
    driver: Arc<dyn Driver>,
    limit: u64,
    plan: &'a Plan,
}

impl Workload for Limited<'_> {
    type Output = Cost;

    fn run<S: Subject>(&self, open: Open<'_, S>) -> Result<Cost, Error> {
        let (ledger, driver) = ledger(&self.driver, self.limit);
        let pool = open(&driver)?;
        let mut live = Vec::with_capacity(self.plan.allocations);
        let before = (ledger.calls(), ledger.waits());
        let (failures, peak_requested) = play(&pool, self.plan, &mut live);
        let (calls, waits) = (ledger.calls() - before.0, ledger.waits() - before.1);
        free_all(&pool, &mut live);
        let peak_reserved = pool.reserved().unwrap_or(ledger.peak());
        close(pool, &ledger);
        Ok(Cost { operations: self.plan.steps(), calls, waits, peak_reserved, peak_requested, failures })
    }
}

/// Returns the cases for a driver. The emulator's memory is the host's: many small allocations would be too much for
/// it, and each large one takes a millisecond. The goals are for a pool's own time.
fn cases(machine: Machine, scale: Scale) -> Vec<(u32, u32, Option<f64>)> {
    match (scale, machine) {
        (Scale::Test, _) => vec![(200, 1, None), (200, 1024, None)],
        (_, Machine::Noop) => CASES.to_vec(),
        #[cfg(feature = "emulator")]
        (_, Machine::Emulator) => vec![(1_000, 1, None), (10_000, 1, None), (1_000, 1024, None)],
    }
}

/// Prints a table for each case, with `streams` streams in turn.
pub(crate) fn run(machine: Machine, scale: Scale, streams: usize) -> Result<(), Error> {
    let name = if streams == 1 { "random" } else { "multi-stream" };
    for (allocations, max_mib, bar) in cases(machine, scale) {
        let plan = Plan::new(1, allocations, max_mib, streams);
        let title = format!(
            "{}/{name}: {allocations} allocations up to {max_mib} MiB, {streams} stream(s), ns an operation",
            machine.name()
        );
        let columns = TIME_COLUMNS.into_iter().chain(COST_COLUMNS).chain(["bar, ns"]);
        let mut table = Table::new(title, ["pool"].into_iter().chain(columns));
        for kind in Kind::ALL {
            let workload = RandomAllocations { driver: machine.open()?, scale, plan: &plan };
            let (times, cost) = kind.run(&workload, streams, 1 << 40)?;
            let mut row = vec![kind.name().to_owned()];
            row.extend(times.columns());
            row.extend(cost.columns());
            if let (true, Some(bar)) = (kind.has_bars(), bar) {
                row.push(at_most(times.best(), bar));
            }
            table.row(row);
        }
    }
    Ok(())
}

/// Prints failures on drivers with little memory, next to those of exact best fit in one range of that size.
pub(crate) fn run_limited(machine: Machine, scale: Scale) -> Result<(), Error> {
    let allocations = scale.pick(300, 10_000, 10_000);
    let seeds = scale.pick(1..=1, 1..=3, 1..=10u64);
    for (limit, streams) in [(17_000, 1), (20_000, 1), (24_000, 1), (17_000, 4), (24_000, 4)] {
        let title = format!(
            "{}/limited: {allocations} allocations up to 1024 MiB, a device of {limit} MiB, {streams} stream(s), {} seeds",
            machine.name(),
            seeds.clone().count()
        );
        let columns =
            ["pool", "failures", "calls/op", "waits/op", "reserved/requested", "failures by seed", "bar"];
        let mut table = Table::new(title, columns);
        let mut allowed = None;
        for kind in [Kind::BestFit].into_iter().chain(Kind::WITH_DRIVER) {
            let (mut sum, mut by_seed) = (Cost::default(), Vec::new());
            for seed in seeds.clone() {
                let plan = Plan::new(seed, allocations, 1024, streams);
                let workload = Limited { driver: machine.open()?, limit: limit * MIB, plan: &plan };
                let cost = kind.run(&workload, streams, limit * MIB)?;
                by_seed.push(cost.failures.to_string());
                sum.operations += cost.operations;
                sum.calls += cost.calls;
                sum.waits += cost.waits;
                sum.failures += cost.failures;
                sum.peak_reserved += cost.peak_reserved;
                sum.peak_requested += cost.peak_requested;
            }
            let [calls, waits, waste, failures] = &sum.columns()[..] else { continue };
            let mut row = vec![
                kind.name().to_owned(),
                failures.clone(),
                calls.clone(),
                waits.clone(),
                waste.clone(),
                by_seed.join(" "),
            ];
            match allowed {
                None => allowed = Some(sum.failures),
                Some(allowed) if kind.has_bars() => row.push(at_most(sum.failures as f64, allowed as f64)),
                Some(_) => {}
            }
            table.row(row);
        }
    }
    Ok(())
}
