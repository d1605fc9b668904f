//! `hiplaunch run`: runs launch scripts, and prints a summary line for each, the differences, and a total.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use crate::script::{RunOptions, Script, ScriptError, ScriptReport};
use code_object::TargetId;
use hiplaunch::Error;
use hiplaunch::memory::PoolBackend;
use serde_json::{Value, json};

use super::demangle::explained;
use super::emulator::EmulatorArgs;
#[cfg(feature = "emulator")]
use super::fidelity;
use super::other_target::emulated_for;
use super::output::{Output, Style, counted, grouped};
use super::pool_recorder::PoolRecorder;
use super::progress::Progress;
use super::session::{CommandSession, DriverArgs};
use super::timeline::TraceOption;
use super::{CommandError, CommandOutcome};
#[cfg(feature = "emulator")]
use super::{notices, profile};

/// Run launch scripts and compare what their kernels wrote with what they expect.
///
/// A launch script (NAME.launch.toml; the format is in docs/launch-script.md) names a code object, buffers, launches
/// and expected results. Each script has a summary line, and below it the first elements that differ from an
/// expectation. On the emulator, without `--target`, a script runs on the target of its code object.
#[derive(Debug, clap::Args)]
pub(crate) struct RunArgs {
    /// Launch scripts, NAME.launch.toml.
    #[arg(required = true, value_name = "FILE")]
    scripts: Vec<PathBuf>,

    /// Load this code object instead of the one that a script names.
    ///
    /// The path is relative to the current directory or, if there is no such file, to the script. One option can serve
    /// scripts of many directories: `{}` stands for the path of the script's own code object without its last
    /// extension, `{dir}` for the script's directory, and `{stem}` for the file name of the own code object up to its
    /// first dot. If a script names `foo.gfx90a.co`, '{}.O0.co' is `foo.gfx90a.O0.co` in the same directory, and
    /// '{dir}/{stem}.gfx942.co' is `foo.gfx942.co`.
    #[arg(long, value_name = "OTHER")]
    code_object: Option<String>,

    /// The number of differing elements to show for each expectation.
    #[arg(long, value_name = "N", default_value_t = 8)]
    differences: usize,

    /// Print one JSON document instead of lines. What kernels print is then on stderr.
    #[arg(long)]
    pub(super) json: bool,

    #[command(flatten)]
    trace: TraceOption,

    #[command(flatten)]
    emulator: EmulatorArgs,

    #[command(flatten)]
    driver: DriverArgs,
}

impl RunArgs {
    /// Sets the recorder that traces the device's pool. With `json`, the command's report is JSON.
    pub(crate) fn record_on(&mut self, recorder: &PoolRecorder, json: bool) {
        self.driver.recorder = Some(recorder.clone());
        self.json |= json;
    }

    pub(crate) fn scripts(&self) -> &[PathBuf] {
        &self.scripts
    }

    /// The options that write one file for all scripts, if one was given.
    pub(crate) fn writes_file(&self) -> Option<&'static str> {
        if self.trace.is_given() { Some("--trace") } else { self.emulator.writes_file() }
    }

    /// The files that a script needs besides its own.
    pub(crate) fn files(&self, path: &Path) -> Result<Vec<PathBuf>, ScriptError> {
        let script = Script::read(path)?;
        let mut files = script.data_files();
        // A script's own code object has to exist, also where another one is loaded.
        files.push(script.code_object().to_owned());
        files.extend(self.code_object.as_ref().map(|pattern| substitute(pattern, &script)));
        Ok(files)
    }

    /// Sets what the options say about the driver.
    pub(crate) fn prepare(&mut self) -> Result<(), CommandError> {
        // Every buffer is an allocation of its own, so that the emulator detects an access to the first byte beyond it.
        self.driver.pool = PoolBackend::Plain;
        self.driver.emulator = self.emulator.settings()?;
        Ok(())
    }
}

/// Returns the instructions that kernels executed, with how far their results can be believed.
#[cfg(feature = "emulator")]
fn executed(
    target: &str,
    profiles: &[hip_driver_emulated::KernelProfile],
) -> Vec<fidelity::InstructionCount> {
    let mut mnemonics = std::collections::BTreeMap::new();
    for profile in profiles {
        for (name, count) in &profile.profile.mnemonics {
            *mnemonics.entry(*name).or_default() += count;
        }
    }
    fidelity::executed(target, &mnemonics)
}

/// The result of one script.
enum Outcome {
    Ran {
        report: ScriptReport,
        violations: Vec<String>,
    },
    /// The script did not run to its end. `device` says whether the device failed, and not the input.
    Stopped {
        error: ScriptError,
        violations: Vec<String>,
        device: bool,
    },
}

impl Outcome {
    fn verdict(&self) -> CommandOutcome {
        match self {
            Outcome::Ran { report, violations } if report.passed() && violations.is_empty() => {
                CommandOutcome::Passed
            }
            Outcome::Ran { .. } | Outcome::Stopped { device: true, .. } => CommandOutcome::Failed,
            Outcome::Stopped { .. } => CommandOutcome::Unusable,
        }
    }

    fn violations(&self) -> &[String] {
        match self {
            Outcome::Ran { violations, .. } | Outcome::Stopped { violations, .. } => violations,
        }
    }
}

pub(crate) fn run(mut args: RunArgs, out: &mut Output) -> Result<CommandOutcome, CommandError> {
    args.prepare()?;
    let verdict = match args.trace.start()? {
        None => run_all(&args, out),
        Some(recording) => {
            args.driver = recording.on(&args.driver);
            recording.finish(run_all(&args, out))
        }
    };
    if let Some(settings) = &args.driver.emulator {
        settings.finish()?;
    }
    verdict
}

/// Runs scripts one after the other, each on a launcher of its own.
pub(crate) struct Runner {
    session: CommandSession,
    /// A session with another target, for code objects that the first session's device can't run.
    other: Option<(TargetId, CommandSession)>,
}

/// What a script did.
struct Ran {
    outcome: Outcome,
    elapsed: Duration,
    /// The target of the device that ran it.
    target: String,
    /// Describes the driver that was opened for it, if one was.
    opened: Option<String>,
    #[cfg(feature = "emulator")]
    profiles: Vec<hip_driver_emulated::KernelProfile>,
    #[cfg(feature = "emulator")]
    notices: Vec<hip_driver_emulated::Notice>,
}

impl Runner {
    pub(crate) fn open(args: &RunArgs) -> Result<Runner, CommandError> {
        Ok(Runner { session: CommandSession::open(&args.driver)?, other: None })
    }

    pub(crate) fn session(&self) -> &CommandSession {
        &self.session
    }

    /// Runs a script, and returns its report.
    pub(crate) fn report(&mut self, path: &Path, args: &RunArgs) -> Result<Value, CommandError> {
        Ok(self.run(path, args)?.to_json(path, args))
    }

    fn run(&mut self, path: &Path, args: &RunArgs) -> Result<Ran, CommandError> {
        let start = Instant::now();
        let span = args.driver.span(path.display());
        let (mut outcome, mut lost) = run_script(path, args, &self.session);
        let wanted = other_target(&outcome, args, &self.session);
        let mut described = None;
        if let Some(target) = &wanted
            && self.other.as_ref().is_none_or(|(emulated, _)| emulated != target)
        {
            let driver = args.driver.emulating(target)?;
            let opened = CommandSession::open(&driver)?.with_reason(format!("{} is for it", path.display()));
            described = Some(opened.describe());
            self.other = Some((target.clone(), opened));
        }
        let used = match &self.other {
            Some((_, opened)) if wanted.is_some() => opened,
            _ => &self.session,
        };
        if wanted.is_some() {
            (outcome, lost) = run_script(path, args, used);
        }
        drop(span);
        let ran = Ran {
            outcome,
            elapsed: start.elapsed(),
            target: used.device.properties().target.short(),
            opened: described,
            #[cfg(feature = "emulator")]
            profiles: used.take_profiles(),
            #[cfg(feature = "emulator")]
            notices: used.take_notices(),
        };
        if lost && wanted.is_some() {
            self.other = None;
        } else if lost {
            // A fault ends a device's context. The emulator can open another one. HIP can't in this process: every
            // later script reports that.
            match CommandSession::open(&args.driver) {
                Ok(fresh) => self.session = fresh,
                Err(CommandError::Output(error)) => return Err(error.into()),
                Err(CommandError::Unusable(reason) | CommandError::Failed(reason)) => {
                    log::warn!("no fresh device after the fault: {reason}");
                }
            }
        }
        Ok(ran)
    }
}

impl Ran {
    fn to_json(&self, path: &Path, args: &RunArgs) -> Value {
        let mut report = to_json(path, &self.outcome, self.elapsed);
        report["target"] = json!(self.target);
        #[cfg(feature = "emulator")]
        {
            if args.emulator.profile {
                report["profile"] = profile::to_json(&self.profiles);
            }
            if args.emulator.fidelity {
                report["fidelity"] = fidelity::to_json(&executed(&self.target, &self.profiles));
            }
            report["notices"] = notices::to_json(&self.notices);
        }
        #[cfg(not(feature = "emulator"))]
        let _ = args;
        report
    }
}

fn run_all(args: &RunArgs, out: &mut Output) -> Result<CommandOutcome, CommandError> {
    let mut runner = Runner::open(args)?;
    if !args.json {
        out.line(runner.session.describe())?;
    }
    let names: Vec<String> = args.scripts.iter().map(|path| name(path)).collect();
    let width = names.iter().map(|name| name.chars().count()).max().unwrap_or(0);
    let (mut passed, mut failed, mut unusable) = (0, 0, 0);
    let mut reports = Vec::new();
    let progress = Progress::steps(names.len(), "scripts");
    for (path, name) in args.scripts.iter().zip(&names) {
        let ran = runner.run(path, args)?;
        match ran.outcome.verdict() {
            CommandOutcome::Passed => passed += 1,
            CommandOutcome::Failed => failed += 1,
            CommandOutcome::Unusable => unusable += 1,
        }
        if args.json {
            reports.push(ran.to_json(path, args));
        } else {
            if let Some(opened) = &ran.opened {
                out.line(opened)?;
            }
            show(out, path, &format!("{name:width$}"), &ran.outcome, ran.elapsed)?;
            #[cfg(feature = "emulator")]
            {
                if args.emulator.profile {
                    profile::show(&ran.profiles, out)?;
                }
                if args.emulator.fidelity {
                    fidelity::show(&executed(&ran.target, &ran.profiles), "      ", out)?;
                }
                notices::show(&ran.notices, out)?;
            }
        }
        progress.step();
    }
    drop(progress);
    if args.json {
        let totals = json!({ "passed": passed, "failed": failed, "unusable": unusable });
        out.json(&json!({ "session": runner.session.json(), "scripts": reports, "totals": totals }))?;
    } else {
        let mut total = format!("{passed} passed, {failed} failed");
        if unusable > 0 {
            total.push_str(&format!(", {unusable} unusable"));
        }
        let style = if failed + unusable > 0 { Style::Bad } else { Style::Good };
        out.line(out.styled(style, &total))?;
    }
    Ok(match (failed, unusable) {
        (0, 0) => CommandOutcome::Passed,
        (0, _) => CommandOutcome::Unusable,
        _ => CommandOutcome::Failed,
    })
}

/// Returns the target to emulate for a script whose code object is for another target, if no option chooses the target.
fn other_target(outcome: &Outcome, args: &RunArgs, session: &CommandSession) -> Option<TargetId> {
    let Outcome::Stopped { error: ScriptError::Setup { source: Error::CodeObject(error), .. }, .. } = outcome
    else {
        return None;
    };
    let code_object::Error::NoMatchingTarget { available, .. } = &**error else { return None };
    if args.driver.names_target() || !session.is_emulated() { None } else { emulated_for(available) }
}

/// The script's path without the extension `.launch.toml`.
fn name(path: &Path) -> String {
    let text = path.display().to_string();
    text.strip_suffix(".launch.toml").map(str::to_owned).unwrap_or(text)
}

/// Runs one script on a launcher of its own. Also returns whether the device is lost.
fn run_script(path: &Path, args: &RunArgs, session: &CommandSession) -> (Outcome, bool) {
    let own = session.reopen(&args.driver).ok();
    let session = own.as_ref().unwrap_or(session);
    let result = Script::read(path).and_then(|script| {
        let other = args.code_object.as_ref().map(|pattern| substitute(pattern, &script));
        let options = RunOptions { code_object: other.as_deref(), differences: args.differences };
        // SAFETY: the user who names a script and its code object on the command line vouches for them; the emulator
        // and the validation layer detect the errors that they can.
        unsafe { script.run(&session.launcher, &session.device, &options) }
    });
    if let Ok(report) = &result {
        session.record_snapshot(&report.pool);
    }
    let lost = result.as_ref().is_err_and(ScriptError::is_device_lost);
    let mut violations = session.take_violations();
    // The script has dropped everything that it created, so what is left is a leak. On a lost device nothing can be
    // freed.
    if let Some(own) = own.filter(|_| !lost) {
        violations.extend(own.close());
    }
    match result {
        Ok(report) => (Outcome::Ran { report, violations }, lost),
        Err(error) => (Outcome::Stopped { device: error.is_device_failure(), violations, error }, lost),
    }
}

/// The path of the code object that `--code-object` names for a script.
fn substitute(pattern: &str, script: &Script) -> PathBuf {
    let folder = match script.path().parent() {
        Some(folder) if folder != Path::new("") => folder.to_owned(),
        _ => PathBuf::from("."),
    };
    let own = script.code_object();
    let stem = own.file_name().unwrap_or_default().to_string_lossy();
    let stem = stem.split('.').next().unwrap_or_default();
    let name = pattern
        .replace("{dir}", &folder.to_string_lossy())
        .replace("{stem}", stem)
        .replace("{}", &own.with_extension("").to_string_lossy());
    let beside = folder.join(&name);
    if !Path::new(&name).exists() && beside.exists() { beside } else { PathBuf::from(name) }
}

fn show(
    out: &mut Output,
    path: &Path,
    name: &str,
    outcome: &Outcome,
    elapsed: Duration,
) -> Result<(), CommandError> {
    let time = format!("{:.1} ms", elapsed.as_secs_f64() * 1e3);
    let (style, word) = match outcome.verdict() {
        CommandOutcome::Passed => (Style::Good, "PASS"),
        CommandOutcome::Failed => (Style::Bad, "FAIL"),
        CommandOutcome::Unusable => (Style::Bad, "ERROR"),
    };
    let word = out.styled(style, &format!("{word:5}"));
    match outcome {
        Outcome::Ran { report, .. } => {
            let launches = counted(report.launches, "launch", "launches");
            let compared = format!("{} bytes compared", grouped(report.bytes_compared));
            out.line(format_args!("{word} {name}  {launches:>11}  {compared:>24}  {time:>10}"))?;
            for e in report.expectations.iter().filter(|e| e.mismatches > 0) {
                out.line(format_args!(
                    "      buffer `{}`: {} of {} {} elements differ from {}",
                    e.buffer,
                    grouped(e.mismatches as u64),
                    grouped(e.elements as u64),
                    e.dtype.name(),
                    e.file.display()
                ))?;
                let index = e.first.iter().map(|d| d.index.to_string().len()).max().unwrap_or(0);
                let got = e.first.iter().map(|d| d.got.len()).max().unwrap_or(0);
                for d in &e.first {
                    out.line(format_args!(
                        "        [{:>index$}]  got {:>got$}  want {}",
                        d.index, d.got, d.want
                    ))?;
                }
                if e.mismatches > e.first.len() {
                    out.line(format_args!(
                        "        ... and {} more",
                        grouped((e.mismatches - e.first.len()) as u64)
                    ))?;
                }
            }
        }
        Outcome::Stopped { error, .. } => {
            out.line(format_args!("{word} {}  {time}", name.trim_end()))?;
            // The line above has the script's name, so it is removed here. A message with a line number keeps it, for
            // editors.
            let message = error.to_string();
            let message = message.strip_prefix(&format!("{}: ", path.display())).unwrap_or(&message);
            for line in explained(message).lines() {
                out.line(format_args!("      {line}"))?;
            }
        }
    }
    for violation in outcome.violations() {
        out.line(format_args!("      validation: {}", explained(violation)))?;
    }
    Ok(())
}

fn to_json(path: &Path, outcome: &Outcome, elapsed: Duration) -> Value {
    let status = match outcome.verdict() {
        CommandOutcome::Passed => "passed",
        CommandOutcome::Failed => "failed",
        CommandOutcome::Unusable => "unusable",
    };
    let mut value = json!({
        "script": path.display().to_string(),
        "status": status,
        "milliseconds": elapsed.as_secs_f64() * 1e3,
        "violations": outcome.violations(),
    });
    match outcome {
        Outcome::Ran { report, .. } => {
            let expectations: Vec<Value> = report
                .expectations
                .iter()
                .map(|e| {
                    let first: Vec<Value> = e
                        .first
                        .iter()
                        .map(|d| json!({ "index": d.index, "got": d.got, "want": d.want }))
                        .collect();
                    json!({
                        "buffer": e.buffer,
                        "file": e.file.display().to_string(),
                        "dtype": e.dtype.name(),
                        "elements": e.elements,
                        "mismatches": e.mismatches,
                        "first": first,
                    })
                })
                .collect();
            value["launches"] = json!(report.launches);
            value["bytes_compared"] = json!(report.bytes_compared);
            value["launch_milliseconds"] = json!(report.launch_time.as_secs_f64() * 1e3);
            value["expectations"] = json!(expectations);
        }
        Outcome::Stopped { error, .. } => value["error"] = json!(error.to_string()),
    }
    value
}
