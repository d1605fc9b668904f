//! `hiplaunch replay`: the operations of a recorded trace on a pool, timed, counted and checked.

mod none;
mod order;
mod play;
mod read;
mod report;

use std::path::PathBuf;
use std::sync::Arc;

use hip_driver::Driver;
use hip_driver_layers::validation::ValidationDriver;
use hiplaunch::Backend;
use hiplaunch::Error;
use hiplaunch::backend;
use hiplaunch::memory::{PoolBackend, PoolOptions};

use super::output::Output;
use super::progress::Progress;
use super::session::unusable;
use super::trace::SnapshotFile;
use super::{Failure, Verdict};
use order::Found;
use report::Report;

/// Run a recorded trace of allocations again, on any driver and pool, and say what it cost.
///
/// TRACE is CSV as `hiplaunch trace` or RMM's logging adaptor writes it: the columns Action, Pointer, Size and Stream in any
/// order, and Thread, Time, Device and Event where they are there. Allocations, frees and uses by other streams are run in
/// the order of the lines, from one thread, with a stream for each of the trace's; what the recorded pool did by itself
/// (wait, synchronize, grow, release) is only counted. The file is read before anything is timed, and each time begins with
/// an empty pool.
#[derive(Debug, clap::Args)]
pub(crate) struct ReplayArgs {
    /// The trace; `-` is stdin.
    trace: PathBuf,

    /// The driver; `none` does nothing, so that what is timed is the pool alone.
    #[arg(long, value_name = "BACKEND", default_value = "auto", value_parser = ["auto", "hip", "emulator", "none"])]
    backend: String,

    /// Where memory comes from [default: what HIPLAUNCH_POOL says, else caching].
    #[arg(long, value_name = "POOL", value_parser = ["caching", "async", "plain"])]
    pool: Option<String>,

    /// Most bytes that each device's pool holds, such as 1000000 or 64MiB.
    #[arg(long, value_name = "BYTES", value_parser = bytes)]
    cap: Option<u64>,

    /// Bytes above which a pool gives back what it has cached.
    #[arg(long, value_name = "BYTES", value_parser = bytes)]
    soft_target: Option<u64>,

    /// How often to time it; the median counts.
    #[arg(long, value_name = "N", default_value_t = 5, value_parser = clap::value_parser!(u32).range(1..=10_000))]
    repeat: u32,

    /// Put the validation layer over the driver, also while timing; what it reports is a failure.
    #[arg(long)]
    validate: bool,

    /// Run it once more, untimed, with each block filled on every stream that uses it, under the validation layer: memory
    /// that is handed out while it is still used is a failure.
    ///
    /// The emulator needs as much host memory for this as is in use at once; `--backend none` needs none.
    #[arg(long)]
    check_order: bool,

    /// Write the pool at the moment when most was asked for as a picture (.svg), a document (.json) or a summary (.txt).
    #[arg(long, value_name = "FILE.svg|FILE.json|FILE.txt", value_parser = clap::value_parser!(SnapshotFile))]
    snapshot: Option<SnapshotFile>,

    /// Print one JSON document instead of a table.
    #[arg(long)]
    pub(super) json: bool,
}

/// A number of bytes, with a binary unit or none.
fn bytes(text: &str) -> Result<u64, String> {
    let digits = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let (number, unit) = text.split_at(digits);
    let shift = match unit.trim() {
        "" | "B" => 0,
        "KiB" => 10,
        "MiB" => 20,
        "GiB" => 30,
        "TiB" => 40,
        _ => return Err("expected a number of bytes, with KiB, MiB, GiB or TiB or without".to_owned()),
    };
    let number: u64 = number.parse().map_err(|e| format!("{e}"))?;
    number.checked_mul(1 << shift).ok_or_else(|| "more than 64 bits".to_owned())
}

impl ReplayArgs {
    fn options(&self) -> Result<PoolOptions, Failure> {
        let backend: PoolBackend = match &self.pool {
            Some(word) => word.parse().map_err(unusable)?,
            None => PoolOptions::from_env().map_err(unusable)?.backend,
        };
        Ok(PoolOptions { backend, cap: self.cap, soft_target: self.soft_target })
    }

    fn driver(&self, devices: usize) -> Result<Arc<dyn Driver>, Failure> {
        if self.backend == "none" {
            return Ok(none::NoneDriver::open(u32::try_from(devices.max(1)).unwrap_or(u32::MAX)));
        }
        let backend: Backend = self.backend.parse().map_err(unusable)?;
        Ok(backend::open(backend, Some(false)).map_err(unusable)?.driver)
    }
}

/// A replay that the driver stopped.
fn stopped(error: Error) -> Failure {
    match error {
        Error::DeviceLost(_) | Error::Driver { .. } => Failure::Failed(error.to_string()),
        error => Failure::Unusable(error.to_string()),
    }
}

pub(crate) fn run(args: &ReplayArgs, out: &mut Output) -> Result<Verdict, Failure> {
    let trace = read::Trace::open(&args.trace).map_err(unusable)?;
    let options = args.options()?;
    let driver = args.driver(trace.devices.len())?;
    let snapshot = args.snapshot.as_ref().map(|s| s.create()).transpose()?;
    let layer = args.validate.then(|| ValidationDriver::new(driver.clone()));
    let over: Arc<dyn Driver> = match &layer {
        Some(layer) => layer.clone(),
        None => driver.clone(),
    };
    let turns =
        2 + if trace.ops.is_empty() { 0 } else { args.repeat as usize } + usize::from(args.check_order);
    let progress = Progress::steps(turns, "replays");
    let measured = play::measure(&over, &trace, &options).map_err(stopped)?;
    progress.step();
    // Before the repeats, so that addresses do not depend on how many there are.
    let peak = play::at_peak(&over, &trace, &options, measured.peak_at).map_err(stopped)?;
    progress.step();
    let mut times = Vec::new();
    if !trace.ops.is_empty() {
        for _ in 0..args.repeat {
            times.push(play::timed(&over, &trace, &options).map_err(stopped)?);
            progress.step();
        }
    }
    times.sort_by(f64::total_cmp);
    let validated = layer.map(|layer| {
        let mut found = Found::default();
        found.add(&layer.take_violations());
        found.leaks(&layer);
        found
    });
    let order = match args.check_order {
        true => Some(order::check(&driver, &trace, &options).map_err(stopped)?),
        false => None,
    };
    drop(progress);
    match (snapshot, &peak) {
        (Some(to), Some(peak)) => to.finish(peak)?,
        (Some(_), None) => super::output::complain("no snapshot: the trace has no operations"),
        (None, _) => {}
    }
    let driver = driver.info();
    let report = Report { trace: &trace, options, driver, measured, times, peak, validated, order };
    if args.json {
        out.json(&report.json(&args.trace))?;
    } else {
        report.show(&args.trace, out)?;
    }
    let found = [&report.validated, &report.order];
    Ok(match found.into_iter().flatten().map(Found::total).sum::<u64>() {
        0 => Verdict::Passed,
        _ => Verdict::Failed,
    })
}

#[cfg(test)]
mod tests {
    use super::bytes;

    #[test]
    fn bytes_with_units() {
        assert_eq!((bytes("1000"), bytes("64MiB"), bytes("3 KiB")), (Ok(1000), Ok(64 << 20), Ok(3072)));
        for wrong in ["", "MiB", "-1", "5 MB", "99999999999TiB", "1.5GiB"] {
            assert!(bytes(wrong).is_err(), "{wrong}");
        }
    }
}
