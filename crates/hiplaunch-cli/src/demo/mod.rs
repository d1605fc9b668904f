//! `hiplaunch demo`: does the same work by naive launches and by this library's, checks every result, counts calls and
//! measures time. Both are launch methods of `bench`.

mod batches;
mod cases;
mod table;

use std::time::Duration;

use serde_json::{Value, json};

use super::output::{Output, grouped};
use super::pool_recorder::PoolRecorder;
use super::progress::Progress;
use super::session::{CommandSession, DriverArgs, unusable};
use super::timeline::TraceOption;
use super::{CommandError, CommandOutcome};
use crate::bench::measure::{Streams, calls_of, check, time};
use crate::bench::methods::{MeasureError, Setup};
use cases::{Case, Row};
use table::Line;

/// The number of launches whose results are read together. A runtime that pipelines has about that many in flight.
const DEPTH: usize = 16;
/// The number of launches before anything is timed. They use all memory of the staging ring.
const WARM_UP: u64 = 64;
/// The number of rounds of the timed launches. Both methods have a turn in each round, so that a disturbance of the
/// machine affects both. The figure is the median.
const ROUNDS: u64 = 11;

/// Compare naive launches (allocate, blocking copy, launch, synchronize, free, every time) with launches by handle.
///
/// Registers a kernel of hip/bench.hip, launches it by both methods, and compares every result with a computation on
/// the host. Prints the device calls of a launch, by kind, and its microseconds; `bench` compares more launch methods.
/// The validation layer counts the calls in a run of its own; times are measured without it.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct DemoArgs {
    /// The number of launches of each case.
    #[arg(long, value_name = "N", default_value_t = 1000, value_parser = clap::value_parser!(u64).range(1..=100_000_000))]
    launches: u64,

    /// Launch one case, such as block/hiplaunch, exactly N times, without counting calls; `list` lists the cases.
    ///
    /// Runs differ only in N, so an external counter can measure the launches by the difference of two runs.
    #[arg(long, value_name = "NAME")]
    only: Option<String>,

    /// Explain the rows, and print a second table: the calls of batches of operations whose results are in new buffers,
    /// without and with the memory pool, or in reused buffers.
    #[arg(long, conflicts_with = "only")]
    explain: bool,

    /// Print one JSON document instead of a table.
    #[arg(long)]
    pub(super) json: bool,

    #[command(flatten)]
    trace: TraceOption,

    #[command(flatten)]
    driver: DriverArgs,
}

impl DemoArgs {
    /// Sets the recorder that traces the device's pool. With `json`, the command's report is JSON.
    pub(crate) fn record_on(&mut self, recorder: &PoolRecorder, json: bool) {
        self.driver.recorder = Some(recorder.clone());
        self.json |= json;
        // It is the second table whose buffers come from the pool.
        self.explain |= self.only.is_none();
    }
}

pub(crate) fn run(args: &DemoArgs, out: &mut Output) -> Result<CommandOutcome, CommandError> {
    let Some(recording) = args.trace.start()? else { return rows(args, out) };
    let args = DemoArgs { driver: recording.on(&args.driver), ..args.clone() };
    recording.finish(rows(&args, out))
}

/// Compares the launches, and counts the calls of operations with and without a pool. Returns the document that `--json` prints.
pub(crate) fn document(driver: &DriverArgs) -> Result<Value, CommandError> {
    let args = DemoArgs {
        launches: 1000,
        only: None,
        explain: true,
        json: true,
        trace: TraceOption::default(),
        driver: driver.clone(),
    };
    let mut out = Output::document();
    rows(&args, &mut out)?.or_failed()?;
    Ok(out.into_document())
}

fn rows(args: &DemoArgs, out: &mut Output) -> Result<CommandOutcome, CommandError> {
    match args.only.as_deref() {
        Some("list") => list(args, out),
        Some(name) => {
            let row = Row::named(name).ok_or_else(|| {
                let names: Vec<String> = Row::all().map(|row| row.to_string()).collect();
                CommandError::Unusable(format!(
                    "--only {name}: no such case; use one of {}, or list",
                    names.join(", ")
                ))
            })?;
            run_row(row, args, out)
        }
        None => run_all(args, out),
    }
}

fn list(args: &DemoArgs, out: &mut Output) -> Result<CommandOutcome, CommandError> {
    if args.json {
        let case = |row: Row| json!({ "name": row.to_string(), "description": row.description() });
        out.json(&json!({ "cases": Row::all().map(case).collect::<Vec<_>>() }))?;
    } else {
        Row::all().try_for_each(|row| out.line(format_args!("{row:26}{}", row.description())))?;
    }
    Ok(CommandOutcome::Passed)
}

/// Runs one case with exactly the requested number of launches.
fn run_row(row: Row, args: &DemoArgs, out: &mut Output) -> Result<CommandOutcome, CommandError> {
    let session = CommandSession::open(&args.driver)?;
    if let Some(reason) = row.unsupported(&session.device) {
        return Err(CommandError::Unusable(format!("{row}: {reason}")));
    }
    let span = args.driver.span(row);
    let setup = Setup::new(&session.launcher, &session.device).map_err(unusable)?;
    let measure = || -> Result<Duration, MeasureError> {
        let mut streams = row.method.prepare(&row.case.job(), &setup)?;
        let spent = run_launches(&mut streams, row.case.depth, args.launches)?;
        check(&streams)?;
        Ok(spent)
    };
    let spent = measure().map_err(|error| error.of(row))?;
    session.launcher.forget_graphs();
    drop(span);
    let each = spent.as_secs_f64() * 1e6 / args.launches as f64;
    let (about, described) = (session.json(), session.describe());
    let violations = session.close();
    if args.json {
        out.json(&json!({
            "session": about,
            "name": row.to_string(),
            "launches": args.launches,
            "microseconds_per_launch": each,
            "violations": violations,
        }))?;
    } else {
        out.line(described)?;
        out.line(format_args!(
            "{row}: {} launches, {each:.2} us each, results right",
            grouped(args.launches)
        ))?;
    }
    super::report_violations(&violations)
}

fn run_all(args: &DemoArgs, out: &mut Output) -> Result<CommandOutcome, CommandError> {
    let session = CommandSession::open(&args.driver)?;
    let counting = session.validated(&args.driver)?;
    let timed = Setup::new(&session.launcher, &session.device).map_err(unusable)?;
    let counted = Setup { launcher: &counting.launcher, device: &counting.device, ..timed.clone() };
    if !args.json {
        out.line(session.describe())?;
        let layer = if session.launcher.validation().is_some() { "with" } else { "without" };
        out.line(format_args!(
            "{} launches a row, results read {DEPTH} at a time (-each: one at a time) and compared with the host's; times \
             {layer} the validation layer, which counts the calls in launches of their own",
            grouped(args.launches)
        ))?;
        out.line("")?;
        table::head(out)?;
    }
    let mut rows = Vec::new();
    let progress = Progress::steps(Case::ALL.len() + 1, "cases");
    for case in Case::ALL {
        let mut lines = case.rows().map(|row| Line::new(row, &session.device));
        for line in lines.iter_mut().filter(|line| line.skipped.is_none()) {
            let _span = args.driver.span(format_args!("{}: calls counted", line.row));
            if let Some(layer) = counting.launcher.validation() {
                let counts = calls_of(line.row.method, &case.job(), &counted, layer);
                line.counts = Some(counts.map_err(|error| error.of(line.row))?);
            }
        }
        time_rows(&mut lines, &timed, args)?;
        for line in &lines {
            if args.json {
                rows.push(line.json());
            } else {
                line.show(out)?;
            }
        }
        progress.step();
    }
    let mut batches = Vec::new();
    if args.explain {
        let _span = args.driver.span("batches of operations");
        batches = batches::run(&counting)?;
    }
    drop(progress);
    session.launcher.forget_graphs();
    counting.launcher.forget_graphs();
    let about = session.json();
    let mut violations = session.close();
    violations.extend(counting.close());
    if args.json {
        let mut document = json!({
            "session": about,
            "launches": args.launches,
            "rows": rows,
            "violations": violations,
        });
        if args.explain {
            document["batches"] = batches.iter().map(table::batches_json).collect();
        }
        out.json(&document)?;
    } else if args.explain {
        table::legend(out)?;
        table::batches(&batches, out)?;
    } else {
        out.line("Calls and microseconds of a launch; --explain explains the rows.")?;
    }
    super::report_violations(&violations)
}

/// Measures the times of a case in the steady state, with each method.
fn time_rows(lines: &mut [Line], setup: &Setup<'_>, args: &DemoArgs) -> Result<(), CommandError> {
    let mut running = Vec::new();
    for line in lines.iter_mut().filter(|line| line.skipped.is_none()) {
        let row = line.row;
        let _span = args.driver.span(format_args!("{row}: first launches"));
        let prepared = row.method.prepare(&row.case.job(), setup).map_err(MeasureError::from);
        let warm = prepared.and_then(|mut streams| {
            run_launches(&mut streams, row.case.depth, WARM_UP)?;
            Ok(streams)
        });
        running.push((line, warm.map_err(|error| error.of(row))?, Vec::new()));
    }
    let rounds = ROUNDS.min(args.launches);
    for round in 0..rounds {
        let count = args.launches / rounds + u64::from(round < args.launches % rounds);
        for (line, streams, times) in &mut running {
            let row = line.row;
            let _span = args.driver.span(format_args!("{row}: round {}", round + 1));
            let spent = run_launches(streams, row.case.depth, count).map_err(|error| error.of(row))?;
            times.push(spent.as_secs_f64() * 1e6 / count as f64);
        }
    }
    for (line, streams, times) in &mut running {
        check(streams).map_err(|error| error.of(line.row))?;
        times.sort_by(f64::total_cmp);
        line.each = times.get(times.len() / 2).copied();
    }
    if let [Line { each: Some(naive), .. }, own @ Line { each: Some(_), .. }] = lines {
        own.faster = own.each.map(|each| *naive / each);
    }
    Ok(())
}

/// Launches, and reads and checks every result. Returns the time of launches, reads and waits, without the checks.
fn run_launches(streams: &mut Streams, depth: usize, launches: u64) -> Result<Duration, MeasureError> {
    let (mut left, mut spent) = (launches, Duration::ZERO);
    while left > 0 {
        let batch = left.min(depth as u64);
        spent += time(streams, batch as usize, 1)?.total();
        streams.iter().flatten().try_for_each(|stream| stream.check_results())?;
        left -= batch;
    }
    Ok(spent)
}
