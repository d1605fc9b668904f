//! A training loop's operations with results in new buffers and in existing ones: the driver allocations of each.
//!
//! An epoch is 300 batches of 20 operations whose results are 20,000 x 20 x 5 floats; its last batch is shorter. Only
//! memory is managed: no kernel runs and nothing is copied.

use std::sync::Arc;
use std::time::Instant;

use hiplaunch::Stream;
use hiplaunch::driver::{DeviceId, Driver, StreamOptions};
use hiplaunch::memory::{PoolBackend, PoolOptions};
use hiplaunch::{Device, DeviceBuffer, Error};

use super::machine::Machine;
use super::measure::{Table, Times, at_most, close, ledger, number};
use super::options::Scale;

const SHAPE: [usize; 3] = [20_000, 20, 5];
const SHORT: [usize; 3] = [7_000, 20, 5];
const OPERATIONS: usize = 20;
const BATCHES: usize = 300;
const EPOCHS: usize = 2;

/// The destination of an operation's result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Destination {
    /// A new buffer. Those of a batch live until its end.
    New,
    /// A buffer of an earlier batch, whose length is changed.
    Reused,
}

/// The cost of a run.
struct Outcome {
    times: Times,
    /// Driver allocations in the first batch and in all later ones.
    first: u64,
    later: u64,
    /// Bytes held from the driver after the first batch and at each epoch's end.
    held: Vec<u64>,
    peak: u64,
}

fn shape(batch: usize, batches: usize) -> &'static [usize; 3] {
    if batch + 1 == batches { &SHORT } else { &SHAPE }
}

/// Runs every operation of every epoch, and calls `after_batch` with the number of finished batches.
fn train(
    stream: &Stream,
    destination: Destination,
    batches: usize,
    mut after_batch: impl FnMut(usize),
) -> Result<(), Error> {
    let mut results: Vec<DeviceBuffer<f32>> = Vec::with_capacity(OPERATIONS);
    if destination == Destination::Reused {
        for _ in 0..OPERATIONS {
            results.push(DeviceBuffer::on(stream, SHAPE.iter().product())?);
        }
    }
    for done in 0..EPOCHS * batches {
        let shape = shape(done % batches, batches);
        match destination {
            Destination::New => {
                for _ in 0..OPERATIONS {
                    let mut result = DeviceBuffer::on(stream, shape.iter().product())?;
                    result.reshape(shape)?;
                    results.push(result);
                }
                results.clear();
            }
            Destination::Reused => {
                for result in &mut results {
                    result.ensure_shape(stream, shape)?;
                }
            }
        }
        after_batch(done + 1);
    }
    Ok(())
}

fn open(driver: &Arc<dyn Driver>, backend: PoolBackend) -> Result<(Device, Stream), Error> {
    let options = PoolOptions { backend, ..PoolOptions::default() };
    let device = Device::open_with(driver.clone(), DeviceId(0), &options)?;
    let stream = Stream::new(&device, StreamOptions::default())?;
    Ok((device, stream))
}

fn outcome(
    driver: &Arc<dyn Driver>,
    backend: PoolBackend,
    destination: Destination,
    batches: usize,
    scale: Scale,
) -> Result<Outcome, Error> {
    let operations = (EPOCHS * batches * OPERATIONS) as u64;
    let times = Times::repeat(scale, || {
        let (_device, stream) = open(driver, backend)?;
        let start = Instant::now();
        train(&stream, destination, batches, |_| ())?;
        Ok((start.elapsed(), operations))
    })?;

    let (ledger, driver) = ledger(driver, u64::MAX);
    let (device, stream) = open(&driver, backend)?;
    let (mut first, mut held) = (0, Vec::new());
    train(&stream, destination, batches, |done| {
        if done == 1 {
            first = ledger.mallocs();
        }
        if done == 1 || done % batches == 0 {
            held.push(ledger.held());
        }
    })?;
    let later = ledger.mallocs() - first;
    close((device, stream), &ledger);
    Ok(Outcome { times, first, later, held, peak: ledger.peak() })
}

/// Prints the table of a driver.
pub(crate) fn run(machine: Machine, scale: Scale) -> Result<(), Error> {
    let batches = scale.pick(3, BATCHES, BATCHES);
    let title = format!(
        "{}/destinations: {EPOCHS} epochs of {batches} batches of {OPERATIONS} operations, {} bytes each",
        machine.name(),
        SHAPE.iter().product::<usize>() * size_of::<f32>()
    );
    let columns = [
        "results",
        "driver allocations, batch 1",
        "all later",
        "MB held after batch 1 and each epoch",
        "peak MB",
        "ns/op, best",
        "median",
        "bar, later",
    ];
    let mut table = Table::new(title, columns);
    for (backend, pool) in [
        (PoolBackend::Plain, "plain"),
        (PoolBackend::StreamOrdered, "hipMallocAsync"),
        (PoolBackend::Caching, "caching"),
    ] {
        for destination in [Destination::New, Destination::Reused] {
            let outcome = outcome(&machine.open()?, backend, destination, batches, scale)?;
            let mega = |bytes: u64| format!("{:.0}", bytes as f64 / 1e6);
            let held: Vec<String> = outcome.held.iter().copied().map(mega).collect();
            let name = if destination == Destination::New { "new" } else { "reused" };
            let mut row = vec![
                format!("{name}, {pool}"),
                outcome.first.to_string(),
                outcome.later.to_string(),
                held.join(" "),
                mega(outcome.peak),
                number(outcome.times.best()),
                number(outcome.times.median()),
            ];
            // No allocation for a destination that fits, with any pool. None at all with a pool that caches.
            if destination == Destination::Reused || backend == PoolBackend::Caching {
                row.push(at_most(outcome.later as f64, 0.0));
            }
            table.row(row);
        }
    }
    Ok(())
}
