//! `hiplaunch demo`: the same work the old way and this way, every result checked, calls counted, time taken.

mod batches;
mod cases;
mod new;
mod old;
mod table;

use std::fmt::Display;
use std::time::{Duration, Instant};

use hip_driver_layers::validation::CallCounts;
use hiplaunch::Error;
use serde_json::json;

use super::output::{Output, grouped};
use super::progress::Progress;
use super::session::{DriverArgs, Session};
use super::tape::Tape;
use super::timeline::TraceOption;
use super::{Failure, Verdict};
use cases::{Case, Row, Way};
use table::Line;

/// Launches whose results are read together: a runtime that pipelines keeps about as many in flight.
const DEPTH: u64 = 16;
/// Launches before anything is counted or timed: every staging slot has been used.
const WARM_UP: u64 = 64;
/// Launches that are counted.
const COUNTED: u64 = 100;
/// Rounds that the timed launches are split into, both ways in turn; the middle one counts, so that a disturbance of the
/// machine hits neither way alone.
const ROUNDS: u64 = 11;

/// Compare launches the old way (allocate, blocking copy, launch, synchronize, free, every time) with launches by handle.
///
/// Registers the kernels under hip/, launches each, compares every result with a computation on the host, and prints the
/// device calls that a launch makes, by kind, and the microseconds that it takes. Calls are counted by the validation
/// layer in a pass of its own; times are taken without it. A second table has the calls of batches of operations, by
/// where their results go: new buffers without and with the memory pool, or buffers that are there.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct DemoArgs {
    /// Launches of each case.
    #[arg(long, value_name = "N", default_value_t = 1000, value_parser = clap::value_parser!(u64).range(1..=100_000_000))]
    launches: u64,

    /// One case alone, such as jit-block/new, launched exactly N times and not counted; `list` lists them.
    ///
    /// Between runs of different N nothing else differs, so that a counter outside can take the difference.
    #[arg(long, value_name = "NAME")]
    only: Option<String>,

    /// Print one JSON document instead of a table.
    #[arg(long)]
    pub(super) json: bool,

    #[command(flatten)]
    trace: TraceOption,

    #[command(flatten)]
    driver: DriverArgs,
}

impl DemoArgs {
    /// Traces the device's pools; what it says is JSON where the trace's own report is.
    pub(crate) fn record_on(&mut self, tape: &Tape, json: bool) {
        self.driver.tape = Some(tape.clone());
        self.json |= json;
    }
}

/// Why a case stopped.
#[derive(Debug)]
enum Stop {
    /// The library or the driver refused something.
    Error(Error),
    /// A result is not what the host computes.
    Wrong(String),
}

impl From<Error> for Stop {
    fn from(error: Error) -> Self {
        Stop::Error(error)
    }
}

impl Stop {
    fn into_failure(self, row: impl Display) -> Failure {
        match self {
            Stop::Wrong(what) => Failure::Failed(format!("{row}: wrong result: {what}")),
            Stop::Error(error @ (Error::DeviceLost(_) | Error::Driver { .. })) => {
                Failure::Failed(format!("{row}: {error}"))
            }
            Stop::Error(error) => Failure::Unusable(format!("{row}: {error}")),
        }
    }
}

pub(crate) fn run(args: &DemoArgs, out: &mut Output) -> Result<Verdict, Failure> {
    let Some(recording) = args.trace.start()? else { return rows(args, out) };
    let args = DemoArgs { driver: recording.on(&args.driver), ..args.clone() };
    recording.finish(rows(&args, out))
}

fn rows(args: &DemoArgs, out: &mut Output) -> Result<Verdict, Failure> {
    match args.only.as_deref() {
        Some("list") if args.json => {
            let case = |row: Row| json!({ "name": row.to_string(), "description": row.description() });
            out.json(&json!({ "cases": Row::all().map(case).collect::<Vec<_>>() }))?;
            Ok(Verdict::Passed)
        }
        Some("list") => {
            for row in Row::all() {
                out.line(format_args!("{:18}{}", row.to_string(), row.description()))?;
            }
            Ok(Verdict::Passed)
        }
        Some(name) => {
            let row = Row::named(name).ok_or_else(|| {
                let names: Vec<String> = Row::all().map(|row| row.to_string()).collect();
                Failure::Unusable(format!(
                    "--only {name}: no such case; use one of {}, or list",
                    names.join(", ")
                ))
            })?;
            only(row, args, out)
        }
        None => all(args, out),
    }
}

/// One case, launched exactly as often as was asked for.
fn only(row: Row, args: &DemoArgs, out: &mut Output) -> Result<Verdict, Failure> {
    let session = Session::open(&args.driver)?;
    if let Some(reason) = row.unsupported(&session.device) {
        return Err(Failure::Unusable(format!("{row}: {reason}")));
    }
    let span = args.driver.span(row);
    let measure = || -> Result<Duration, Stop> {
        let mut way = row.prepare(&session)?;
        run_launches(&mut *way, 0, args.launches, true)
    };
    let spent = measure().map_err(|stop| stop.into_failure(row))?;
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
    clean(&violations)
}

fn all(args: &DemoArgs, out: &mut Output) -> Result<Verdict, Failure> {
    let session = Session::open(&args.driver)?;
    let counting = session.validated(&args.driver)?;
    if !args.json {
        out.line(session.describe())?;
        let layer = if session.launcher.validation().is_some() { "with" } else { "without" };
        out.line(format_args!(
            "{} launches a row, results read {DEPTH} at a time, {layer} the validation layer; calls counted by it over \
             {COUNTED} launches more",
            grouped(args.launches)
        ))?;
        out.line("")?;
        table::head(out)?;
    }
    let mut rows = Vec::new();
    let progress = Progress::steps(Case::ALL.len() + 1, "cases");
    for case in Case::ALL {
        let mut lines = [Way::Old, Way::New].map(|way| Line::new(Row { case, way }, &session.device));
        for line in lines.iter_mut().filter(|line| line.skipped.is_none()) {
            let _span = args.driver.span(format_args!("{}: calls counted", line.row));
            let counts = count(line.row, &counting).map_err(|stop| stop.into_failure(line.row))?;
            line.counts = Some((counts, COUNTED));
        }
        time(&mut lines, &session, args)?;
        for line in &lines {
            if args.json {
                rows.push(line.json());
            } else {
                line.show(out)?;
            }
        }
        progress.step();
    }
    if !args.json {
        table::legend(out)?;
    }
    let span = args.driver.span("batches of operations");
    let batches = batches::run(&counting)?;
    drop(span);
    drop(progress);
    let about = session.json();
    let mut violations = session.close();
    violations.extend(counting.close());
    if args.json {
        out.json(&json!({
            "session": about,
            "launches": args.launches,
            "rows": rows,
            "batches": batches.iter().map(table::batches_json).collect::<Vec<_>>(),
            "violations": violations,
        }))?;
    } else {
        table::batches(&batches, out)?;
    }
    clean(&violations)
}

fn clean(violations: &[String]) -> Result<Verdict, Failure> {
    for violation in violations {
        super::output::complain(&format!("validation: {violation}"));
    }
    Ok(if violations.is_empty() { Verdict::Passed } else { Verdict::Failed })
}

/// The device calls of a row's steady state.
fn count(row: Row, session: &Session) -> Result<CallCounts, Stop> {
    let Some(layer) = session.launcher.validation() else { return Ok(CallCounts::default()) };
    let mut way = row.prepare(session)?;
    run_launches(&mut *way, 0, WARM_UP, false)?;
    let before = layer.counts();
    let mut next = WARM_UP;
    while next < WARM_UP + COUNTED {
        next = burst(&mut *way, next, WARM_UP + COUNTED)?;
        way.check(false)?;
    }
    let counts = layer.counts().since(&before);
    way.finish()?;
    way.check(true)?;
    Ok(counts)
}

/// The times of a case's steady state, each way's.
fn time(lines: &mut [Line], session: &Session, args: &DemoArgs) -> Result<(), Failure> {
    let launches = args.launches;
    let mut ways = Vec::new();
    for (i, line) in lines.iter().enumerate().filter(|(_, line)| line.skipped.is_none()) {
        let _span = args.driver.span(format_args!("{}: first launches", line.row));
        let prepare = || -> Result<_, Stop> {
            let mut way = line.row.prepare(session)?;
            run_launches(&mut *way, 0, WARM_UP, false)?;
            Ok(way)
        };
        ways.push((i, prepare().map_err(|stop| stop.into_failure(line.row))?, Vec::new()));
    }
    let rounds = ROUNDS.min(launches);
    let mut next = WARM_UP;
    for round in 0..rounds {
        let count = launches / rounds + u64::from(round < launches % rounds);
        for (i, way, times) in &mut ways {
            let last = round + 1 == rounds;
            let _span = args.driver.span(format_args!("{}: round {}", lines[*i].row, round + 1));
            let spent = run_launches(&mut **way, next, count, last)
                .map_err(|stop| stop.into_failure(lines[*i].row))?;
            times.push(spent.as_secs_f64() * 1e6 / count as f64);
        }
        next += count;
    }
    for (i, _, times) in &mut ways {
        times.sort_by(f64::total_cmp);
        lines[*i].each = times.get(times.len() / 2).copied();
    }
    if let [Line { each: Some(old), .. }, new @ Line { each: Some(_), .. }] = lines {
        new.faster = new.each.map(|each| *old / each);
    }
    Ok(())
}

/// Launches from number `first` on, and checks them, all of them where it is the `last` time. The time is that of the
/// launches, reads and waits, not the checks.
fn run_launches(way: &mut dyn Launches, first: u64, launches: u64, last: bool) -> Result<Duration, Stop> {
    let (mut next, end) = (first, first + launches);
    let mut spent = Duration::ZERO;
    while next < end {
        let start = Instant::now();
        next = burst(way, next, end)?;
        if next == end {
            way.finish()?;
        }
        spent += start.elapsed();
        way.check(last && next == end)?;
    }
    Ok(spent)
}

/// Up to [`DEPTH`] launches, and the reading of their results; the number of the next launch.
fn burst(way: &mut dyn Launches, first: u64, end: u64) -> Result<u64, Stop> {
    let next = end.min(first + DEPTH);
    for number in first..next {
        way.launch(number)?;
    }
    way.collect()?;
    Ok(next)
}

/// A case and a way, ready to be launched.
trait Launches {
    /// Launches number `number`; they come in order, and at most [`DEPTH`] before they are collected.
    fn launch(&mut self, number: u64) -> Result<(), Error>;
    /// Reads the results of what was launched since the last time.
    fn collect(&mut self) -> Result<(), Error>;
    /// Waits until everything launched has run.
    fn finish(&mut self) -> Result<(), Error>;
    /// Compares the results collected since the last time with the host's. Makes device calls only the `last` time.
    fn check(&mut self, last: bool) -> Result<(), Stop>;
}
