//! The commands, their common options, and what the exit status says.

mod bench;
mod demo;
mod info;
mod logging;
mod output;
mod plan;
mod replay;
mod run;
mod session;
mod tape;
mod timeline;
mod trace;
mod whole_file;

use std::io;
use std::process::ExitCode;

use clap::{ArgAction, Parser, Subcommand};

use output::Output;

const AFTER_HELP: &str = "\
Exit status:
  0  everything passed
  1  an expectation or a capacity was not met, a result was wrong, a kernel faulted, or the validation layer found a
     misuse
  2  unusable input: the command line, a script, a trace, a code object, a launch that does not fit its kernel; or no driver
  3  the output could not be written

Environment:
  HIPLAUNCH_BACKEND             the driver where --backend says auto: auto, hip or emulator
  HIPLAUNCH_VALIDATE            1 turns the validation layer on without --validate
  HIPLAUNCH_POOL                where device memory comes from: caching (default), async or plain
  HIPLAUNCH_CACHE_DIR           where kernels compiled at run time are kept; off for nowhere
  HIPLAUNCH_EMULATOR_THREADS    host threads that run a kernel's workgroups (default: all cores)
  HIPLAUNCH_EMULATOR_DEVICES    emulated devices (default: 1)
  HIPLAUNCH_LOG, RUST_LOG       log level on stderr: off, error, warn (default), info, debug or trace
  ROCM_PATH                     where ROCm is installed
  NO_COLOR                      set to anything: no colours";

/// Launch compiled HIP kernels, check them, and see what a launch costs: on AMD GPUs, or with no GPU in an emulator.
#[derive(Debug, Parser)]
#[command(name = "hiplaunch", version, after_help = AFTER_HELP, disable_help_subcommand = true)]
struct Cli {
    /// Log more: -v for info, -vv for debug, -vvv for trace.
    #[arg(short, long, global = true, action = ArgAction::Count)]
    verbose: u8,

    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    Run(run::RunArgs),
    Demo(demo::DemoArgs),
    Bench(Box<bench::BenchArgs>),
    Trace(Box<trace::TraceArgs>),
    Replay(replay::ReplayArgs),
    Plan(plan::PlanArgs),
    Info(info::InfoArgs),
}

/// Why a command ends early.
#[derive(Debug)]
enum Failure {
    /// The output can't be written.
    Output(io::Error),
    /// The input can't be used.
    Unusable(String),
    /// Something ran and was wrong.
    Failed(String),
}

impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Self {
        Failure::Output(error)
    }
}

/// What a command that ran to its end has to say.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Verdict {
    Passed,
    Failed,
    Unusable,
}

pub(crate) fn main() -> ExitCode {
    // clap prints its own errors and help, and exits with 2 or 0.
    let cli = Cli::parse();
    logging::start(cli.verbose);
    let mut out = Output::stdout();
    let result = match cli.command {
        Command::Run(args) => run::run(args, &mut out),
        Command::Demo(args) => demo::run(&args, &mut out),
        Command::Bench(args) => bench::run(&args, &mut out),
        Command::Trace(args) => trace::run(*args, &mut out),
        Command::Plan(args) => plan::run(&args, &mut out),
        Command::Replay(args) => replay::run(&args, &mut out),
        Command::Info(args) => info::run(&args, &mut out),
    };
    let result = result.and_then(|verdict| Ok(out.finish().map(|()| verdict)?));
    match result {
        Ok(Verdict::Passed) => ExitCode::SUCCESS,
        Ok(Verdict::Failed) => ExitCode::from(1),
        Ok(Verdict::Unusable) => ExitCode::from(2),
        Err(Failure::Failed(message)) => fail(1, &message),
        Err(Failure::Unusable(message)) => fail(2, &message),
        Err(Failure::Output(error)) => fail(3, &format!("cannot write the output: {error}")),
    }
}

fn fail(status: u8, message: &str) -> ExitCode {
    output::complain(message);
    ExitCode::from(status)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_line_is_sound() {
        <Cli as clap::CommandFactory>::command().debug_assert();
    }
}
