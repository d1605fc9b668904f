//! `hiplaunch fleet`: hands the command line to the Python package, which runs fleets on Ray.

use std::ffi::OsString;
use std::process::Command;

use super::session::unusable;
use super::{CommandError, CommandOutcome};

/// Run launch scripts, pytest items or benchmark cases on many devices, of this machine or of a Ray cluster.
///
/// `hiplaunch fleet run`, `hiplaunch fleet pytest` and `hiplaunch fleet bench` are commands of the Python package: this runs
/// `python3 -m hiplaunch fleet`. `hiplaunch fleet run --help` lists the options. It needs `pip install 'hiplaunch[ray]'`.
#[derive(Debug, clap::Args)]
pub(crate) struct FleetArgs {
    /// What to run, `run`, `pytest` or `bench`, and its options.
    #[arg(required = true, trailing_var_arg = true, value_name = "COMMAND")]
    arguments: Vec<OsString>,
}

/// What the Python has to answer: whether it has the package and Ray.
const ASK: &str =
    "import sys, importlib.util as u; sys.exit(0 if u.find_spec('hiplaunch') and u.find_spec('ray') else 1)";

pub(crate) fn run(args: &FleetArgs) -> Result<CommandOutcome, CommandError> {
    let python = || Command::new("python3");
    let status = python().args(["-c", ASK]).status();
    let status = status.map_err(|error| unusable(format!("fleet: python3 can't be run: {error}")))?;
    if !status.success() {
        return Err(unusable("fleet: python3 has no fleets: pip install 'hiplaunch[ray]'"));
    }
    let status =
        python().args(["-m", "hiplaunch", "fleet"]).args(&args.arguments).status().map_err(unusable)?;
    match status.code() {
        Some(0) => Ok(CommandOutcome::Passed),
        Some(1) => Ok(CommandOutcome::Failed),
        Some(2) => Ok(CommandOutcome::Unusable),
        _ => Err(CommandError::Failed(format!("fleet: python3 ended with {status}"))),
    }
}
