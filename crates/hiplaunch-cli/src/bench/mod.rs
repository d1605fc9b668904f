//! `hiplaunch bench`: times launch methods in turns, checks every result, and writes a table, JSON and pictures.

mod about;
mod cases;
mod compare;
pub(crate) mod measure;
pub(crate) mod methods;
mod plots;
mod report;
mod results;
mod statistics;

use code_object::CodeObject;
use serde_json::Value;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use super::advice::unreadable;
use super::output::Output;
use super::page;
use super::progress::Progress;
use super::session::{CommandSession, DriverArgs, unusable};
use super::timeline::TraceOption;
use super::whole_file::WholeFile;
use super::{CommandError, CommandOutcome};
use cases::Point;
use measure::Effort;
use methods::{LaunchMethod, Setup};
use results::Results;

/// The rounds, the time of a sample, and the time of the whole run: for a quick run, and for a full one.
const QUICK: (usize, Duration, Duration) = (61, Duration::from_micros(200), Duration::from_secs(24));
const FULL: (usize, Duration) = (101, Duration::from_millis(1));

/// Measure what a launch costs: naively, with hipMallocAsync, by each method of hiplaunch, and by the driver's calls
/// alone.
///
/// Every method does the same work: the kernel reads its arguments, and the host reads the result and compares it with
/// its own. Methods take turns in every round, so noise affects all alike. The figures are medians with their spread;
/// docs/bench.md says what each of them means and what disturbs it.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct BenchArgs {
    /// Measure fewer points and rounds, in about half a minute.
    #[arg(long)]
    quick: bool,

    /// Measure only cases whose name contains this, such as args/ or /block; may be given more than once.
    #[arg(long, value_name = "WORD")]
    filter: Vec<String>,

    /// List the cases, and measure nothing.
    #[arg(long)]
    list: bool,

    /// The number of rounds, that is, samples of each case [default: 101; with --quick 61, or as many as there is time
    /// for].
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=100_000))]
    rounds: Option<u32>,

    /// Write all samples to this file as JSON; `-` prints them instead of the table.
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,

    /// Write an HTML page with figures and tables, without dependencies, to this file.
    #[arg(long, value_name = "FILE")]
    html: Option<PathBuf>,

    /// Draw a picture of the typical launch into this file.
    #[arg(long, value_name = "FILE")]
    svg: Option<PathBuf>,

    /// Compare with the results that `--json` wrote earlier.
    #[arg(long, value_name = "FILE")]
    compare: Option<PathBuf>,

    /// Measure nothing: read the results that `--json` wrote earlier.
    #[arg(long, value_name = "FILE", conflicts_with_all = ["quick", "filter", "list", "rounds", "code_object"])]
    from: Option<PathBuf>,

    /// The code object of hip/bench.hip for another target than gfx90a and gfx942.
    #[arg(long, value_name = "FILE")]
    code_object: Option<PathBuf>,

    #[command(flatten)]
    driver: DriverArgs,

    #[command(flatten)]
    trace: TraceOption,
}

impl BenchArgs {
    /// Whether JSON is written to standard output instead of the table.
    pub(super) fn prints_json(&self) -> bool {
        self.json.as_deref() == Some(Path::new("-"))
    }

    fn wants(&self, point: Point, method: LaunchMethod) -> bool {
        let case = point.case(method);
        self.filter.is_empty() || self.filter.iter().any(|word| case.contains(word.as_str()))
    }

    /// The points to measure, with the methods at each.
    fn points(&self) -> Result<Vec<(Point, Vec<LaunchMethod>)>, CommandError> {
        let methods =
            |point| LaunchMethod::all().filter(|method| self.wants(point, *method)).collect::<Vec<_>>();
        let all = Point::all(self.quick).map(|point| (point, methods(point)));
        let points: Vec<_> = all.filter(|(_, methods)| !methods.is_empty()).collect();
        if points.is_empty() {
            let words = self.filter.join("`, `");
            return Err(unusable(format!("--filter: no case has `{words}` in its name; --list shows them")));
        }
        Ok(points)
    }
}

pub(crate) fn run(args: &BenchArgs, out: &mut Output) -> Result<CommandOutcome, CommandError> {
    if args.list {
        return list(args, out);
    }
    let Some(recording) = args.trace.start()? else { return report(args, out) };
    let args = BenchArgs { driver: recording.on(&args.driver), ..args.clone() };
    recording.finish(report(&args, out))
}

fn report(args: &BenchArgs, out: &mut Output) -> Result<CommandOutcome, CommandError> {
    let old = args.compare.as_deref().map(Results::read).transpose()?;
    // Before anything is measured, so that an unusable name is reported at once.
    let create = |path: &Option<PathBuf>| path.as_deref().map(WholeFile::create).transpose();
    let json = if args.prints_json() { None } else { create(&args.json)? };
    let (html, svg) = (create(&args.html)?, create(&args.svg)?);
    let (results, violations) = match &args.from {
        Some(file) => (Results::read(file)?, Vec::new()),
        None => measured(args)?,
    };
    let comparison = old.as_ref().map(|old| compare::compare(old, &results));
    let mut document = results.json();
    if let Some(comparison) = &comparison {
        document["compared"] = serde_json::json!(comparison);
    }
    let sections = report::sections(&results, comparison.as_ref());
    write(json, || document.to_string())?;
    write(html, || report::page(&results, &sections))?;
    write(svg, || plots::bars(&results))?;
    if args.prints_json() {
        out.json(&document)?;
    } else {
        page::print(&sections, out)?;
    }
    super::report_violations(&violations)
}

fn write(file: Option<WholeFile>, text: impl FnOnce() -> String) -> Result<(), CommandError> {
    if let Some(mut file) = file {
        file.write_all(text().as_bytes())?;
        file.finish()?;
    }
    Ok(())
}

fn list(args: &BenchArgs, out: &mut Output) -> Result<CommandOutcome, CommandError> {
    for (point, methods) in args.points()? {
        for method in methods {
            let (title, unit) = (method.row().title, point.axis.row().unit);
            out.line(format_args!("{:28}{title}, by {unit}", point.case(method)))?;
        }
    }
    Ok(CommandOutcome::Passed)
}

/// Returns the circumstances of a run, as the documents of reports have them.
pub(crate) fn about(session: &CommandSession, options: &str) -> Value {
    serde_json::json!(about::about(session, options))
}

/// Measures the launch methods in about half a minute. Returns the document that `--json` writes.
pub(crate) fn document(driver: &DriverArgs) -> Result<Value, CommandError> {
    let args = BenchArgs {
        quick: true,
        filter: Vec::new(),
        list: false,
        rounds: None,
        json: Some("-".into()),
        html: None,
        svg: None,
        compare: None,
        from: None,
        code_object: None,
        driver: driver.clone(),
        trace: TraceOption::default(),
    };
    let mut out = Output::document();
    report(&args, &mut out)?.or_failed()?;
    Ok(out.into_document())
}

/// Returns the sections of a report on a document that [`document`] returned.
pub(crate) fn sections(document: &Value) -> Result<Vec<page::Section>, String> {
    Ok(report::sections(&results::parse(&document.to_string())?, None))
}

/// Measures all points. Also returns what the validation layer found.
fn measured(args: &BenchArgs) -> Result<(Results, Vec<String>), CommandError> {
    let points = args.points()?;
    let read = |file: &PathBuf| std::fs::read(file).map_err(|error| unusable(unreadable(file, &error)));
    let image = args.code_object.as_ref().map(read).transpose()?;
    let session = CommandSession::open(&args.driver)?;
    let options = if args.quick { "bench --quick" } else { "bench" };
    let mut about = about::about(&session, options);
    if args.driver.timeline.is_some() {
        about.lines.push(("timeline".to_owned(), "recorded, which is in every figure".to_owned()));
    }
    let code = match &image {
        Some(image) => CodeObject::from_any(image, &session.device.properties().target).map_err(unusable)?,
        None => Setup::new(&session.launcher, &session.device).map_err(unusable)?.code,
    };
    let setup = Setup { launcher: &session.launcher, device: &session.device, code: code.clone() };
    let progress = Progress::steps(points.len(), "measuring");
    let begun = Instant::now();
    let mut measured = Vec::new();
    for (i, (point, methods)) in points.iter().enumerate() {
        let name = format!("{}/{}", point.axis.row().name, point.label());
        progress.at(&name);
        let _span = args.driver.span(&name);
        let effort = effort(args, begun, points.len() - i);
        measured.push(measure::measure(*point, methods, &setup, &effort, !about.emulated)?);
        progress.step();
    }
    drop(progress);
    let mut violations = Vec::new();
    if let Some(typical) = measured.iter_mut().find(|measured| measured.point == Point::TYPICAL) {
        let counting = session.validated(&args.driver)?;
        let setup = Setup { launcher: &counting.launcher, device: &counting.device, code };
        measure::count(typical, &setup)?;
        violations = counting.close();
    }
    violations.extend(session.close());
    Ok((Results { about, points: measured }, violations))
}

/// The effort for a point, with `left` points to measure.
fn effort(args: &BenchArgs, begun: Instant, left: usize) -> Effort {
    let (rounds, sample) = if args.quick { (QUICK.0, QUICK.1) } else { FULL };
    let rounds = args.rounds.map_or(rounds, |rounds| rounds as usize);
    let until = (args.quick && args.rounds.is_none()).then(|| {
        let share = QUICK.2.saturating_sub(begun.elapsed()) / u32::try_from(left).unwrap_or(u32::MAX).max(1);
        Instant::now() + share
    });
    Effort { rounds, sample, until }
}
