//! `hiplaunch replay`: runs the operations of a pool trace again, and times, counts and checks them.

mod play;
mod read;
mod report;

use std::path::PathBuf;
use std::sync::Arc;

use hip_driver::{DeviceId, Driver};
use hip_driver_layers::validation::ValidationDriver;
use hiplaunch::Error;
use hiplaunch::memory::{PoolBackend, PoolOptions};

use super::output::{Output, complain};
use super::session::{DriverArgs, no_such_device, open_driver, unusable};
use super::trace::SnapshotFile;
use super::{CommandError, CommandOutcome};
use play::ReplayTarget;
use report::ReplayReport;

/// Run a pool trace again, on any driver and pool, and report what it costs.
///
/// TRACE is CSV as `hiplaunch trace` or RMM's logging adaptor writes it: the columns Action, Pointer, Size and Stream
/// in any order, and optionally Device. Allocations, frees and uses by other streams are run in the order of the lines,
/// from one thread, on empty pools. Each stream of the trace has a stream, and each of its devices a pool. What the
/// recorded pool did by itself (wait, synchronize, grow, release) is only counted.
#[derive(Debug, clap::Args)]
pub(crate) struct ReplayArgs {
    /// The trace; `-` is stdin.
    trace: PathBuf,

    /// Where memory comes from [default: HIPLAUNCH_POOL in the environment, else caching].
    #[arg(long, value_name = "POOL", value_parser = ["caching", "async", "plain"])]
    pool: Option<String>,

    /// The greatest number of bytes that each pool takes from the driver, such as 1000000 or 64MiB.
    #[arg(long, value_name = "BYTES", value_parser = bytes)]
    cap: Option<u64>,

    /// The number of bytes above which a pool returns cached segments to the driver.
    #[arg(long, value_name = "BYTES", value_parser = bytes)]
    soft_target: Option<u64>,

    /// Write a picture (.svg), a document (.json) or a summary (.txt) of the pool at the moment when most bytes are
    /// requested.
    #[arg(long, value_name = "FILE.svg|FILE.json|FILE.txt", value_parser = clap::value_parser!(SnapshotFile))]
    snapshot: Option<SnapshotFile>,

    /// Print one JSON document instead of a table.
    #[arg(long)]
    pub(super) json: bool,

    #[command(flatten)]
    driver: DriverArgs,
}

/// Reads a number of bytes, with or without a binary unit.
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
    fn options(&self) -> Result<PoolOptions, CommandError> {
        let backend: PoolBackend = match &self.pool {
            Some(word) => word.parse().map_err(unusable)?,
            None => PoolOptions::from_env().map_err(unusable)?.backend,
        };
        Ok(PoolOptions { backend, cap: self.cap, soft_target: self.soft_target })
    }
}

/// Returns the command's error for an error that ended a replay.
fn stopped(error: Error) -> CommandError {
    match error {
        Error::DeviceLost(_) | Error::Driver { .. } => CommandError::Failed(error.to_string()),
        error => CommandError::Unusable(error.to_string()),
    }
}

pub(crate) fn run(args: &ReplayArgs, out: &mut Output) -> Result<CommandOutcome, CommandError> {
    let trace = read::Trace::open(&args.trace).map_err(unusable)?;
    let options = args.options()?;
    let mut driver: Arc<dyn Driver> = open_driver(&args.driver)?.driver;
    let count = driver.device_count().map_err(unusable)?;
    if args.driver.device >= count {
        return Err(no_such_device(args.driver.device, count as usize));
    }
    let snapshot = args.snapshot.as_ref().map(|s| s.create()).transpose()?;
    let info = driver.info();
    let layer = args.driver.validate.then(|| ValidationDriver::new(driver.clone()));
    if let Some(layer) = &layer {
        driver = layer.clone();
    }
    let target = ReplayTarget { driver: &driver, device: DeviceId(args.driver.device), options };
    let replayed = play::replay(&target, &trace).map_err(stopped)?;
    if let Some(to) = snapshot {
        match replayed.snapshot(&target, &trace).map_err(stopped)? {
            Some(peak) => to.finish(&peak)?,
            None => complain("no snapshot: the trace has no operations"),
        }
    }
    let violations = layer.map_or_else(Vec::new, |layer| {
        let violations = layer.take_violations();
        let leaks = layer.report_leaks();
        violations.iter().map(ToString::to_string).chain(leaks.iter().map(ToString::to_string)).collect()
    });
    let report = ReplayReport { trace: &trace, options, driver: info, replayed, violations };
    if args.json {
        out.json(&report.json(&args.trace))?;
    } else {
        report.show(&args.trace, out)?;
    }
    super::report_violations(&report.violations)
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
