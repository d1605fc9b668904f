//! Heat on a plate with cold walls: the 2-D heat equation, one MPI rank a device.
//!
//! ```console
//! cargo build --release --example heat
//! mpirun -n 4 target/release/examples/heat --size 256 --steps 1000 --picture heat.png --json
//! ```
//!
//! The result is the same to the bit for any number of ranks, and after a restart from a checkpoint. [`solver`] has the
//! steps, [`cluster`] the exchange, [`domain`] says which rank has which cells, [`checkpoint`] is the file.

mod checkpoint;
mod cluster;
mod domain;
mod error;
mod exact;
mod initial;
mod options;
mod picture;
mod ranks;
mod report;
mod solver;

use std::process::ExitCode;
use std::sync::Arc;
use std::time::Instant;

use clap::Parser;
use hip_driver_layers::counts::CountingDriver;
use hiplaunch::driver::backend;
use hiplaunch::{Backend, Launcher, Timeline};
use hiplaunch_mpi::Mpi;

use crate::cluster::Cluster;
use crate::domain::Domain;
use crate::error::HeatError;
use crate::options::Options;
use crate::ranks::Ranks;
use crate::report::{Report, Sums};
use crate::solver::Solver;

fn main() -> ExitCode {
    let options = Options::parse();
    // A rank that is killed is named then, by MPICH's mpirun, too.
    if let Err(error) = hiplaunch_mpi::supervise() {
        eprintln!("heat: not supervised: {error}");
    }
    let mpi = match Mpi::initialize() {
        Ok(mpi) => mpi,
        Err(error) => return failed(&error),
    };
    let driver = match backend::open(Backend::Auto, None) {
        Ok(backend) => CountingDriver::new(backend.driver),
        Err(error) => alone(&mpi, &error),
    };
    let timeline = Timeline::default();
    let (launcher, cluster) = match join(&mpi, &driver, options.trace.as_ref().map(|_| &timeline)) {
        Ok(joined) => joined,
        Err(error) => alone(&mpi, error.as_ref()),
    };
    let result = run(&cluster, mpi.size(), &launcher, &driver, &options);
    match &result {
        // The others know: all ranks agreed on it, or were told by the communicator.
        Ok(()) | Err(HeatError::File { .. } | HeatError::Elsewhere { .. } | HeatError::Exchange { .. }) => {}
        Err(error) => cluster.communicator().fail(&error.to_string()),
    }
    if let Err(error) = &result {
        return failed(error);
    }
    match options.trace.as_ref().map(|path| mpi.write_trace(&timeline, path)) {
        Some(Err(error)) => failed(&error),
        Some(Ok(())) | None => ExitCode::SUCCESS,
    }
}

fn failed(error: &dyn std::error::Error) -> ExitCode {
    eprintln!("heat: {error}");
    ExitCode::FAILURE
}

/// Ends all ranks for an error that the others can't be told.
fn alone(mpi: &Mpi, error: &dyn std::error::Error) -> ! {
    eprintln!("heat: rank {}: {error}", mpi.rank());
    mpi.abort(1)
}

/// Joins the other ranks.
fn join(
    mpi: &Mpi,
    driver: &Arc<CountingDriver>,
    timeline: Option<&Timeline>,
) -> Result<(Launcher, Cluster), Box<dyn std::error::Error>> {
    let mut builder = Launcher::builder().driver(driver.clone());
    if let Some(timeline) = timeline {
        builder = builder.timeline(timeline);
    }
    let launcher = builder.build()?;
    let device = mpi.device(&launcher, false)?.device;
    let cluster = Cluster::new(mpi, &launcher, &device)?;
    Ok((launcher, cluster))
}

/// Solves. Every rank calls it.
fn run(
    cluster: &Cluster,
    ranks: usize,
    launcher: &Launcher,
    driver: &CountingDriver,
    options: &Options,
) -> Result<(), HeatError> {
    let rank = cluster.rank();
    let header = options.restart.as_deref().map(|path| checkpoint::read_header(rank, path)).transpose();
    let header = cluster.agree("restarting from the checkpoint", header)?;
    let (size, diffusion, first) = match header {
        Some(header) => ((header.width, header.height), header.diffusion, header.step),
        None => (options.size, options.diffusion, 0),
    };
    // All ranks come to the same result.
    let domain = cluster.agree("dividing the field", Domain::new(size.0, size.1, ranks))?;
    let block = domain.block(rank);
    let cells = match (&options.restart, &header) {
        (Some(path), Some(header)) => checkpoint::read(cluster, &domain, header, path)?,
        _ => options.initial.cells(&domain, &block),
    };
    let launch = |error| HeatError::Launch { rank, error };
    let device = cluster.communicator().device();
    let mut solver = Solver::new(launcher, device, block, diffusion, &cells).map_err(launch)?;
    let save = |solver: &Solver, step| {
        let Some(path) = &options.checkpoint else { return Ok(()) };
        let cells = solver.cells().map_err(launch)?;
        checkpoint::write(cluster, &domain, path, step, diffusion, &cells)
    };

    let (calls, messages) = (driver.layer().counts(), cluster.communicator().counters());
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
            save(&solver, step)?;
        }
    }
    let seconds = begun.elapsed().as_secs_f64();
    let calls = driver.layer().counts().since(&calls);
    let (before, messages) = (messages, cluster.communicator().counters());

    save(&solver, last)?;
    let cells = solver.cells().map_err(launch)?;
    let checksum = checkpoint::checksum_of_all(cluster, &domain, &cells)?;
    if let Some(path) = &options.picture {
        let blocks = cluster.cells_of_all(&domain, &cells)?;
        let written = match rank {
            0 => picture::write(rank, path, domain.width, &domain.assemble(&blocks)),
            _ => Ok(()),
        };
        cluster.agree("writing the picture", written)?;
    }
    let report = Report { domain, first, last, diffusion, sums, checksum, seconds };
    let mine = report::Counts::new(&calls, &before, &messages, solver.launches());
    let all = mine.of_all(cluster)?;
    if rank == 0 {
        print!("{}", if options.json { report.json(&all) } else { report.text(&all) });
    }
    Ok(())
}
