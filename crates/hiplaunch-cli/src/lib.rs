//! The command line `hiplaunch`: its commands, their common options, and the exit status.
//!
//! [`script`] reads and runs launch scripts.

mod advice;
mod bench;
mod colour;
mod compile;
mod completions;
mod demangle;
mod demo;
mod emulator;
mod exec;
#[cfg(feature = "emulator")]
mod fidelity;
mod fleet;
mod info;
mod inspect;
mod kernels;
mod logging;
mod man;
mod manual;
mod names;
#[cfg(feature = "emulator")]
mod notices;
mod occupancy;
mod other_target;
mod output;
mod page;
mod plan;
mod pool_recorder;
#[cfg(feature = "emulator")]
mod profile;
mod program_folder;
mod progress;
mod replay;
mod run;
pub mod script;
mod script_runner;
mod selftest;
mod session;
mod timeline;
#[cfg(feature = "emulator")]
mod topology;
mod trace;
mod whole_file;

use std::ffi::OsString;
use std::io;
use std::path::Path;
use std::process::ExitCode;

use clap::{ArgAction, FromArgMatches, Parser, Subcommand};

use colour::Colour;
use output::Output;
pub use script_runner::ScriptRunner;

/// Launch compiled HIP kernels, check them, and measure what a launch costs: on AMD GPUs, or without a GPU in an
/// emulator.
#[derive(Debug, Parser)]
#[command(name = "hiplaunch", version, disable_help_subcommand = true)]
struct Cli {
    /// Log more: -v for info, -vv for debug, -vvv for trace.
    #[arg(short, long, global = true, action = ArgAction::Count, display_order = 900)]
    verbose: u8,

    /// When to use colours. `auto` uses them on a terminal, unless the environment says otherwise.
    #[arg(
        long,
        global = true,
        value_name = "WHEN",
        value_enum,
        default_value_t,
        hide_possible_values = true,
        display_order = 901
    )]
    color: Colour,

    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    Run(run::RunArgs),
    Exec(exec::ExecArgs),
    Demo(demo::DemoArgs),
    Bench(Box<bench::BenchArgs>),
    Selftest(Box<selftest::SelftestArgs>),
    Fleet(fleet::FleetArgs),
    Trace(Box<trace::TraceArgs>),
    Replay(replay::ReplayArgs),
    Plan(plan::PlanArgs),
    Info(info::InfoArgs),
    Compile(compile::CompileArgs),
    Inspect(inspect::InspectArgs),
    #[cfg(feature = "emulator")]
    Fidelity(fidelity::FidelityArgs),
    Completions(completions::CompletionsArgs),
    Man(man::ManArgs),
}

impl Command {
    /// Whether stdout gets a JSON document or a trace for a program, so that nothing else may be written to it.
    fn writes_document(&self) -> bool {
        match self {
            Command::Run(args) => args.json,
            Command::Demo(args) => args.json,
            Command::Bench(args) => args.prints_json(),
            Command::Selftest(args) => args.is_child(),
            Command::Trace(args) => args.writes_document(),
            Command::Replay(args) => args.json,
            Command::Plan(args) => args.json,
            Command::Info(args) => args.json,
            Command::Inspect(args) => args.json,
            #[cfg(feature = "emulator")]
            Command::Fidelity(args) => args.json,
            // A program has stdout, or no kernels run.
            Command::Exec(_)
            | Command::Fleet(_)
            | Command::Compile(_)
            | Command::Completions(_)
            | Command::Man(_) => false,
        }
    }
}

/// Why a command ends early.
#[derive(Debug)]
enum CommandError {
    /// The output can't be written.
    Output(io::Error),
    /// The input can't be used.
    Unusable(String),
    /// A command ran, and its result is wrong.
    Failed(String),
}

impl std::fmt::Display for CommandError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            CommandError::Output(error) => f.write_str(&advice::unwritable(error)),
            CommandError::Unusable(message) | CommandError::Failed(message) => f.write_str(message),
        }
    }
}

impl From<io::Error> for CommandError {
    fn from(error: io::Error) -> Self {
        CommandError::Output(error)
    }
}

/// The result of a command that ran to its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum CommandOutcome {
    Passed,
    Failed,
    Unusable,
}

impl CommandOutcome {
    /// Returns an error unless the command passed. What was wrong has been printed.
    fn or_failed(self) -> Result<(), CommandError> {
        match self {
            CommandOutcome::Passed => Ok(()),
            _ => Err(CommandError::Failed("the validation layer found misuse".to_owned())),
        }
    }
}

/// Prints the violations that the validation layer found. The outcome is a failure if there are any.
fn report_violations(violations: &[String]) -> Result<CommandOutcome, CommandError> {
    for violation in violations {
        output::complain(&format!("validation: {violation}"));
    }
    Ok(if violations.is_empty() { CommandOutcome::Passed } else { CommandOutcome::Failed })
}

/// Runs the command line that the process was started with.
pub fn main() -> ExitCode {
    ExitCode::from(main_with(std::env::args_os().collect(), None))
}

/// Runs a command line, and returns its exit status. The first argument is the name of the program, as messages show it.
///
/// `libraries` is the folder of the libraries that `exec` gives to programs; `None` for that of the running program.
///
/// It is for the main function of a process: it starts the log of the process, and a command may redirect standard output, or
/// replace the process.
pub fn main_with(args: Vec<OsString>, libraries: Option<&Path>) -> u8 {
    let command = manual::command().color(Colour::asked_for(&args).for_clap());
    let parsed = command.try_get_matches_from(args).and_then(|matches| Cli::from_arg_matches(&matches));
    let cli = match parsed {
        Ok(cli) => cli,
        Err(error) => return help(&error),
    };
    cli.color.choose();
    logging::start(cli.verbose);
    let out = if cli.command.writes_document() { Output::stdout_alone() } else { Ok(Output::stdout()) };
    let mut out = match out {
        Ok(out) => out,
        Err(error) => return fail(3, &advice::unwritable(&error)),
    };
    let result = match cli.command {
        Command::Run(args) => run::run(args, &mut out),
        Command::Exec(args) => exec::run(&args, libraries),
        Command::Demo(args) => demo::run(&args, &mut out),
        Command::Bench(args) => bench::run(&args, &mut out),
        Command::Selftest(args) => selftest::run(&args, &mut out),
        Command::Fleet(args) => fleet::run(&args),
        Command::Trace(args) => trace::run(*args, &mut out),
        Command::Plan(args) => plan::run(&args, &mut out),
        Command::Replay(args) => replay::run(&args, &mut out),
        Command::Info(args) => info::run(&args, &mut out),
        Command::Compile(args) => compile::run(&args, &mut out),
        Command::Inspect(args) => inspect::run(&args, &mut out),
        #[cfg(feature = "emulator")]
        Command::Fidelity(args) => fidelity::run(&args, &mut out),
        Command::Completions(args) => completions::run(&args, &mut out),
        Command::Man(args) => man::run(&args, &mut out),
    };
    let result = result.and_then(|verdict| Ok(out.finish().map(|()| verdict)?));
    match result {
        Ok(CommandOutcome::Passed) => 0,
        Ok(CommandOutcome::Failed) => 1,
        Ok(CommandOutcome::Unusable) => 2,
        Err(error) => {
            let status = match error {
                CommandError::Failed(_) => 1,
                CommandError::Unusable(_) => 2,
                CommandError::Output(_) => 3,
            };
            fail(status, &error.to_string())
        }
    }
}

/// Prints help, the version, or what is wrong with the command line.
fn help(error: &clap::Error) -> u8 {
    match error.print() {
        // A closed stderr can't be reported.
        _ if error.use_stderr() => 2,
        Ok(()) => 0,
        Err(error) => fail(3, &advice::unwritable(&error)),
    }
}

fn fail(status: u8, message: &str) -> u8 {
    output::complain(message);
    status
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clap_accepts_the_definition_of_the_command_line() {
        manual::command().debug_assert();
    }
}
