//! `hiplaunch completions`: prints completion scripts for shells.

use clap_complete::Shell;

use super::output::Output;
use super::{CommandError, CommandOutcome, manual};

/// Print a script that lets a shell complete hiplaunch's commands and options.
#[derive(Debug, clap::Args)]
pub(crate) struct CompletionsArgs {
    /// The shell.
    shell: Shell,
}

pub(crate) fn run(args: &CompletionsArgs, out: &mut Output) -> Result<CommandOutcome, CommandError> {
    // `generate` panics if its writer fails, so it writes to memory.
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut manual::command(), "hiplaunch", &mut script);
    out.writer().write_all(&script)?;
    Ok(CommandOutcome::Passed)
}
