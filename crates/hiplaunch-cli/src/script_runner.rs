//! Launch scripts that another program runs, one after the other in its own process. The Python package's fleets use it.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use clap::FromArgMatches;
use serde_json::Value;

use super::run::{RunArgs, Runner};
use super::{Cli, Command, CommandError, advice, manual};

/// Runs launch scripts with the options of `hiplaunch run`. A script's report is an item of `scripts` in the JSON document of
/// `hiplaunch run`.
pub struct ScriptRunner {
    args: RunArgs,
    /// Opened by the first script.
    runner: Option<Runner>,
}

impl ScriptRunner {
    /// Reads the arguments that follow `hiplaunch run`. It opens no driver.
    ///
    /// # Errors
    /// Returns what is wrong with the arguments. An option that writes one file for all scripts is refused.
    pub fn new(args: impl IntoIterator<Item = OsString>) -> Result<ScriptRunner, String> {
        let line = ["hiplaunch".into(), "run".into()].into_iter().chain(args);
        let cli =
            manual::command().try_get_matches_from(line).and_then(|found| Cli::from_arg_matches(&found));
        let args = match cli.map_err(|error| error.to_string())?.command {
            Command::Run(args) => args,
            _ => return Err("not a command line of `hiplaunch run`".to_owned()),
        };
        if let Some(option) = args.writes_file() {
            return Err(format!("{option} writes one file for all scripts: use it with `hiplaunch run`"));
        }
        Ok(ScriptRunner { args, runner: None })
    }

    /// The scripts that the arguments name.
    pub fn scripts(&self) -> &[PathBuf] {
        self.args.scripts()
    }

    /// Reads a script, and returns the paths of the files that it needs: its code object, and what fills buffers and is
    /// compared with them.
    ///
    /// # Errors
    /// Returns what is wrong with the script, as its report says it.
    pub fn files(&self, script: &Path) -> Result<Vec<PathBuf>, String> {
        self.args.files(script).map_err(|error| error.to_string())
    }

    /// Runs a script, and returns its report.
    ///
    /// # Errors
    /// Returns why there is no driver or no device. What is wrong with the script is in its report.
    pub fn run(&mut self, script: &Path) -> Result<Value, String> {
        self.report(script).map_err(|error| match error {
            CommandError::Output(error) => advice::unwritable(&error),
            CommandError::Unusable(reason) | CommandError::Failed(reason) => reason,
        })
    }

    /// Describes the driver and the device, as `session` in the JSON document of `hiplaunch run`; null before the first script.
    pub fn session(&self) -> Value {
        self.runner.as_ref().map(|runner| runner.session().json()).unwrap_or_default()
    }

    fn report(&mut self, script: &Path) -> Result<Value, CommandError> {
        let runner = match &mut self.runner {
            Some(runner) => runner,
            None => {
                self.args.prepare()?;
                self.runner.insert(Runner::open(&self.args)?)
            }
        };
        runner.report(script, &self.args)
    }
}
