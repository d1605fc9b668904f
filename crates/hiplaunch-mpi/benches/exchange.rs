//! What an exchange between two ranks costs, beside the same messages between arrays of the host. Without `EXCHANGE_RANK` the program
//! starts itself under `mpirun`, which the environment variable `MPIRUN` names (default: `mpirun`).
//!
//! ```console
//! MPICC=mpicc.mpich MPIRUN=mpirun.mpich cargo bench --bench exchange
//! ```

use std::process::{Command, ExitCode};
use std::time::{Duration, Instant};

use hiplaunch::{DeviceBuffer, Launcher, Stream};
use hiplaunch_mpi::{Communicator, Halo, Mpi, Options, Staging};
use mpi::ffi;

type Outcome<T = ()> = Result<T, Box<dyn std::error::Error>>;

/// Exchanges that are enqueued before the host waits.
const DEPTH: usize = 16;
const ROUNDS: usize = 15;

fn main() -> ExitCode {
    let outcome = match std::env::var_os("EXCHANGE_RANK") {
        Some(_) => rank(),
        None => start(),
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("exchange: {error}");
            ExitCode::FAILURE
        }
    }
}

fn start() -> Outcome {
    let mpirun = std::env::var("MPIRUN").unwrap_or_else(|_| "mpirun".to_owned());
    // A device has one thread, so that both ranks have a core each.
    let status = Command::new(mpirun)
        .args(["-n", "2"])
        .arg(std::env::current_exe()?)
        .envs([("EXCHANGE_RANK", "1"), ("HIPLAUNCH_EMULATOR_THREADS", "1")])
        .envs([("OMPI_ALLOW_RUN_AS_ROOT", "1"), ("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1")])
        .status()?;
    if status.success() { Ok(()) } else { Err(status.to_string().into()) }
}

/// What one rank exchanges with the other.
struct Exchange<'a> {
    comm: &'a Communicator,
    stream: &'a Stream,
    halos: [Halo<f32>; 1],
}

impl Exchange<'_> {
    /// The fastest time of an exchange, of several rounds, and the time of the host's part of it.
    fn time(&self, depth: usize) -> Outcome<[Duration; 2]> {
        let mut fastest = [Duration::MAX; 2];
        for _ in 0..ROUNDS {
            self.comm.barrier(self.stream)?.wait()?;
            let begin = Instant::now();
            let mut last = self.comm.exchange(self.stream, &self.halos)?;
            for _ in 1..depth {
                last.before(self.stream)?;
                last = self.comm.exchange(self.stream, &self.halos)?;
            }
            let enqueued = begin.elapsed();
            last.wait()?;
            let times = [begin.elapsed(), enqueued];
            fastest = std::array::from_fn(|i| fastest[i].min(times[i] / depth as u32));
        }
        Ok(fastest)
    }
}

/// The fastest time of a message each way between arrays of the host, of several rounds.
fn host_messages(mpi: &Mpi, bytes: usize) -> Duration {
    let other = 1 - mpi.rank() as i32;
    let (from, mut to) = (vec![1u8; bytes], vec![0u8; bytes]);
    let mut fastest = Duration::MAX;
    for _ in 0..ROUNDS {
        // SAFETY: the arrays have that many bytes; the call waits for both messages.
        unsafe {
            ffi::MPI_Barrier(mpi.world());
            let begin = Instant::now();
            for _ in 0..DEPTH {
                let (n, byte, ignored) = (bytes as i32, ffi::RSMPI_UINT8_T, ffi::RSMPI_STATUS_IGNORE);
                let (from, to) = (from.as_ptr().cast(), to.as_mut_ptr().cast());
                ffi::MPI_Sendrecv(from, n, byte, other, 0, to, n, byte, other, 0, mpi.world(), ignored);
            }
            fastest = fastest.min(begin.elapsed() / DEPTH as u32);
        }
    }
    fastest
}

fn rank() -> Outcome {
    let mpi = Mpi::initialize()?;
    let launcher = Launcher::new()?;
    let device = mpi.device(&launcher, false)?.device;
    let stream = launcher.stream(&device)?;
    let (is_first, peer) = (mpi.rank() == 0, 1 - mpi.rank());
    if is_first {
        println!("us an exchange with one neighbour, the fastest of {ROUNDS} rounds\n");
        println!(
            "| bytes each way | MPI_Sendrecv of host arrays | exchange, then wait | of {DEPTH} in a row | its enqueuing | device staging, of {DEPTH} |"
        );
        println!("|---|---|---|---|---|---|");
    }
    let us = |time: Duration| format!("{:.1}", time.as_secs_f64() * 1e6);
    for (bytes, gaps) in [(8, false), (4096, false), (4096, true), (1 << 20, false)] {
        let n = bytes / size_of::<f32>();
        let buffer = DeviceBuffer::<f32>::from_slice(&stream, &vec![1.0; 4 * n])?;
        let stride = if gaps { 2 } else { 1 };
        let view = |part: usize| buffer.view_strided(2 * n * part, &[n], &[stride]);
        let of = |staging| -> Outcome<([Duration; 2], [Duration; 2])> {
            let comm =
                Communicator::new(&mpi, &launcher, &device, Options { staging, ..Options::default() })?;
            let halos = [Halo { peer, send: view(0)?, send_tag: 0, recv: view(1)?, recv_tag: 0 }];
            let exchange = Exchange { comm: &comm, stream: &stream, halos };
            Ok((exchange.time(1)?, exchange.time(DEPTH)?))
        };
        let host = host_messages(&mpi, bytes);
        let (([alone, _], [in_a_row, enqueuing]), (_, [by_device, _])) =
            (of(Staging::Host)?, of(Staging::Device)?);
        if is_first {
            let what = if gaps { " with gaps" } else { "" };
            let columns = [host, alone, in_a_row, enqueuing, by_device].map(us);
            println!("| {bytes}{what} | {} |", columns.join(" | "));
        }
    }
    Ok(())
}
