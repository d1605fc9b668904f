//! Heat on a plate with cold walls: the 2-D heat equation, one MPI rank a device.
//!
//! ```console
//! cargo build --release --example heat
//! mpirun -n 4 target/release/examples/heat --size 256 --steps 1000 --picture heat.png --json
//! ```
//!
//! The result is the same to the bit for any number of ranks, and after a restart from a checkpoint. [`solver`] has the
//! steps, [`cluster`] the exchange, [`field`] says which rank has which cells, [`checkpoint`] is the file.

mod checkpoint;
mod cluster;
mod error;
mod exact;
mod field;
mod picture;
mod report;
mod solver;

use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Instant;

use clap::Parser;
use hip_driver_layers::counts::CountingDriver;
use hiplaunch::driver::{backend, stderr_line};
use hiplaunch::{Backend, Launcher, Timeline};
use hiplaunch_mpi::Mpi;

use crate::checkpoint::Checkpoint;
use crate::cluster::Cluster;
use crate::error::{HeatError, Result};
use crate::field::{Domain, Field, MAX_CELLS};
use crate::report::{Report, Sums};
use crate::solver::Solver;

/// Heat on a plate with cold walls: the 2-D heat equation in explicit steps, one rank a device.
#[derive(Clone, Debug, Parser)]
#[command(name = "heat")]
struct Options {
    /// The field in cells: WIDTHxHEIGHT, or one number for a square. A checkpoint's stands in the checkpoint
    #[arg(long, value_parser = size, default_value = "192", conflicts_with = "restart")]
    size: (usize, usize),
    /// Steps to make, after those of a checkpoint
    #[arg(long, default_value_t = 1000)]
    steps: u64,
    /// alpha dt / dx^2 of a step; above 0.25 the steps are not stable
    #[arg(long, value_parser = diffusion, default_value = "0.2", conflicts_with = "restart")]
    diffusion: f64,
    /// Sum up changes and heat of all ranks after every so many steps, counted from step 0
    #[arg(long, default_value_t = 100, value_parser = clap::value_parser!(u64).range(1..))]
    report: u64,
    /// Write a checkpoint to this file at the end, and on the way with --every
    #[arg(long, value_name = "FILE")]
    checkpoint: Option<PathBuf>,
    /// Write the checkpoint also after every so many steps
    #[arg(long, value_name = "STEPS", requires = "checkpoint", value_parser = clap::value_parser!(u64).range(1..))]
    every: Option<u64>,
    /// Go on from a checkpoint, with any number of ranks
    #[arg(long, value_name = "FILE")]
    restart: Option<PathBuf>,
    /// Write a picture of the field at the end: a PNG
    #[arg(long, value_name = "FILE")]
    picture: Option<PathBuf>,
    /// Write a timeline of all ranks to this file on rank 0, as JSON that https://ui.perfetto.dev opens
    #[arg(long, value_name = "FILE.json")]
    trace: Option<PathBuf>,
    /// Print the report of the run as JSON
    #[arg(long)]
    json: bool,
}

fn size(text: &str) -> std::result::Result<(usize, usize), String> {
    let (width, height) = text.split_once('x').unwrap_or((text, text));
    let cells = |text: &str| match text.parse::<usize>() {
        Ok(cells @ 1..=MAX_CELLS) => Ok(cells),
        _ => Err(format!("{text:?} is no number of cells from 1 to {MAX_CELLS}")),
    };
    Ok((cells(width)?, cells(height)?))
}

fn diffusion(text: &str) -> std::result::Result<f64, String> {
    match text.parse::<f64>() {
        Ok(value) if value > 0.0 && value <= 0.25 => Ok(value),
        _ => Err(format!("{text:?} is no number above 0 and up to 0.25")),
    }
}

fn main() -> ExitCode {
    let options = Options::parse();
    // A rank that is killed is named then, by MPICH's mpirun, too.
    if let Err(error) = hiplaunch_mpi::supervise() {
        stderr_line(format_args!("heat: not supervised: {error}"));
    }
    let mpi = match Mpi::initialize() {
        Ok(mpi) => mpi,
        Err(error) => {
            stderr_line(format_args!("heat: {error}"));
            return ExitCode::FAILURE;
        }
    };
    match run(&mpi, &options) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            stderr_line(format_args!("heat: rank {}: {error}", mpi.rank()));
            ExitCode::FAILURE
        }
    }
}

/// Joins the other ranks, solves, and writes the timeline.
fn run(mpi: &Mpi, options: &Options) -> std::result::Result<(), Box<dyn std::error::Error>> {
    let timeline = Timeline::default();
    let joined = || -> std::result::Result<_, Box<dyn std::error::Error>> {
        let driver = CountingDriver::new(backend::open(Backend::Auto, None)?.driver);
        let mut builder = Launcher::builder().driver(driver.clone());
        if options.trace.is_some() {
            builder = builder.timeline(&timeline);
        }
        let launcher = builder.build()?;
        let device = mpi.device(&launcher, false)?.device;
        Ok((driver, Cluster::new(mpi, &launcher, &device)?, launcher))
    };
    let (driver, cluster, launcher) = joined().unwrap_or_else(|error| {
        // The others can't be told.
        stderr_line(format_args!("heat: rank {}: {error}", mpi.rank()));
        mpi.abort(1)
    });
    if let Err(error) = solve(&cluster, &launcher, &driver, options) {
        // Of files and exchanges the others know: all ranks agreed on it, or were told by the communicator.
        if matches!(error, HeatError::TooManyRanks { .. } | HeatError::Launch(_)) {
            cluster.communicator.fail(&error.to_string());
        }
        return Err(error.into());
    }
    if let Some(path) = &options.trace {
        mpi.write_trace(&timeline, path)?;
    }
    Ok(())
}

/// Solves. Every rank calls it.
fn solve(cluster: &Cluster, launcher: &Launcher, driver: &CountingDriver, options: &Options) -> Result<()> {
    let rank = cluster.rank();
    let restart = options.restart.as_deref().map(Checkpoint::read).transpose();
    let initial = || Checkpoint {
        field: Field::initial(options.size.0, options.size.1),
        step: 0,
        diffusion: options.diffusion,
    };
    let restart = cluster.agree("restarting from the checkpoint", restart)?;
    let Checkpoint { field, step: first, diffusion } = restart.unwrap_or_else(initial);
    // All ranks come to the same result.
    let domain = Domain::new(field.width, field.height, cluster.communicator.size());
    let domain = cluster.agree("dividing the field", domain)?;
    let block = domain.block(rank);
    let device = cluster.communicator.device();
    let mut solver = Solver::new(launcher, device, block, diffusion, &field.part(&block))?;
    let save = |field: Option<Field>, step| -> Result<()> {
        let Some(path) = &options.checkpoint else { return Ok(()) };
        let written = field.map_or(Ok(()), |field| Checkpoint { field, step, diffusion }.write(path));
        cluster.agree("writing the checkpoint", written)
    };

    let before = (driver.layer().counts(), cluster.communicator.counters());
    let begun = Instant::now();
    let mut sums = Vec::new();
    let last = first + options.steps;
    for step in first + 1..=last {
        cluster.step(&domain, &mut solver)?;
        if step % options.report == 0 || step == last {
            let [squares, heat] = cluster.sums(&mut solver)?;
            sums.push(Sums { step, change: squares.sqrt(), heat });
        }
        if options.every.is_some_and(|every| step % every == 0) && step < last {
            save(cluster.field(&domain, &solver)?, step)?;
        }
    }
    let seconds = begun.elapsed().as_secs_f64();
    let (calls, messages) =
        (driver.layer().counts().since(&before.0), (before.1, cluster.communicator.counters()));

    let field = cluster.field(&domain, &solver)?;
    let checksum = field.as_ref().map_or(0, Field::checksum);
    if let Some(path) = &options.picture {
        let written = field.as_ref().map_or(Ok(()), |field| picture::write(path, field));
        cluster.agree("writing the picture", written)?;
    }
    save(field, last)?;
    let report = Report { domain, steps: [first, last], diffusion, sums, checksum, seconds };
    let counts = report::counts(cluster, &calls, messages, solver.launches)?;
    if rank == 0 {
        print!("{}", if options.json { report.json(&counts) } else { report.text(&counts) });
    }
    Ok(())
}
