//! `hiplaunch plan`: plans offsets for the buffers of a file, and draws the plan.

mod read;

use std::io::Write;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use offset_planner::{Budget, Goal, OffsetsError, Plan, PlanOptions, Problem, plan, verify};
use serde_json::{Value, json};

use super::output::{Output, Style, counted, grouped};
use super::progress::Progress;
use super::whole_file::WholeFile;
use super::{CommandError, CommandOutcome};

/// Compute offsets for the buffers of a CSV file, so that buffers that are live together do not overlap, in few bytes.
///
/// The file has a header with the columns id, lower, upper and size, and optionally alignment and offset (a fixed one).
/// A buffer is live from `lower` up to, but not including, `upper`. Sizes and offsets are in bytes.
#[derive(Debug, clap::Args)]
pub(crate) struct PlanArgs {
    /// The CSV file.
    file: PathBuf,

    /// Draw the plan into this file: time across, bytes up.
    #[arg(long, value_name = "OUT")]
    svg: Option<PathBuf>,

    /// The greatest total in bytes. The search ends when a plan fits; if none does, the command fails.
    #[arg(long, value_name = "BYTES")]
    capacity: Option<u64>,

    /// The greatest number of nodes that the exact search visits; 0 for greedy plans only. The plan is the same on
    /// every run.
    #[arg(long, value_name = "N", default_value_t = 200_000, conflicts_with = "seconds")]
    nodes: u64,

    /// Limit the exact search by seconds instead.
    #[arg(long, value_name = "S", value_parser = seconds)]
    seconds: Option<Duration>,

    /// Print JSON, with the offset of each buffer.
    #[arg(long)]
    pub(super) json: bool,
}

fn seconds(text: &str) -> Result<Duration, String> {
    let seconds: f64 = text.parse().map_err(|_| "expected a number of seconds".to_owned())?;
    Duration::try_from_secs_f64(seconds).map_err(|e| e.to_string())
}

pub(crate) fn run(args: &PlanArgs, out: &mut Output) -> Result<CommandOutcome, CommandError> {
    let problem = read::problem(&args.file, args.capacity)
        .map_err(|error| CommandError::Unusable(error.to_string()))?;
    let options = PlanOptions {
        budget: match args.seconds {
            Some(time) => Budget::Time(time),
            None if args.nodes == 0 => Budget::Greedy,
            None => Budget::Nodes(args.nodes),
        },
        goal: if args.capacity.is_some() { Goal::Fits } else { Goal::Least },
        ..PlanOptions::default()
    };
    // Created before the work, so that an unusable name is reported at once.
    let svg = args.svg.as_ref().map(|path| WholeFile::create(path)).transpose()?;
    let begun = Instant::now();
    let progress = Progress::unknown("planning");
    let planned = plan(&problem, &options);
    drop(progress);
    let elapsed = begun.elapsed();
    let file = args.file.display();
    let plan = match planned {
        Ok(plan) => plan,
        Err(error @ OffsetsError::OverCapacity { .. }) => {
            return Err(CommandError::Failed(format!("{file}: {error}")));
        }
        Err(error) => return Err(CommandError::Unusable(format!("{file}: {error}"))),
    };
    // This can't fail unless the planner has a bug; the plan must then not be used.
    verify(&problem, &plan)
        .map_err(|error| CommandError::Failed(format!("{file}: the plan is wrong: {error}")))?;
    if let Some(mut svg) = svg {
        svg.write_all(hiplaunch_reports::plan_svg(&plan, &problem).as_bytes())?;
        svg.finish()?;
    }
    if args.json {
        out.json(&to_json(args, &problem, &plan, elapsed))?;
    } else {
        show(args, &plan, elapsed, out)?;
    }
    Ok(CommandOutcome::Passed)
}

fn show(args: &PlanArgs, plan: &Plan, elapsed: Duration, out: &mut Output) -> Result<(), CommandError> {
    let file = args.file.display().to_string();
    out.line(
        out.styled(Style::Strong, &format!("{file}: {}", counted(plan.offsets().len(), "buffer", "buffers"))),
    )?;
    let over = plan.total() as f64 / plan.lower_bound().max(1) as f64;
    let (style, optimal) = match plan.is_optimal() {
        true => (Style::Good, "yes, proved".to_owned()),
        false => (Style::Plain, format!("not proved; {over:.4} times the lower bound")),
    };
    out.line(format_args!("  total          {} bytes", grouped(plan.total())))?;
    out.line(format_args!("  lower bound    {} bytes", grouped(plan.lower_bound())))?;
    out.line(format_args!("  optimal        {}", out.styled(style, &optimal)))?;
    if let Some(capacity) = args.capacity {
        let spare = capacity.saturating_sub(plan.total());
        out.line(format_args!("  capacity       {} bytes, {} to spare", grouped(capacity), grouped(spare)))?;
    }
    let nodes = counted(usize::try_from(plan.nodes()).unwrap_or(usize::MAX), "node", "nodes");
    out.line(format_args!("  found by       {}, {nodes}", plan.method()))?;
    out.line(format_args!("  time           {:.3} ms", elapsed.as_secs_f64() * 1e3))?;
    if let Some(svg) = &args.svg {
        out.line(format_args!("  picture        {}", svg.display()))?;
    }
    Ok(())
}

fn to_json(args: &PlanArgs, problem: &Problem, plan: &Plan, elapsed: Duration) -> Value {
    let buffers: Vec<Value> = problem
        .buffers()
        .iter()
        .zip(plan.offsets())
        .map(|(buffer, offset)| json!({ "id": buffer.name, "offset": offset, "size": buffer.size }))
        .collect();
    json!({
        "file": args.file.display().to_string(),
        "total": plan.total(),
        "lower_bound": plan.lower_bound(),
        "optimal": plan.is_optimal(),
        "capacity": args.capacity,
        "method": plan.method().to_string(),
        "nodes": plan.nodes(),
        "milliseconds": elapsed.as_secs_f64() * 1e3,
        "buffers": buffers,
    })
}
