//! Threads, each on its own stream: their throughput, compared with that of one thread.

use std::hint::black_box;
use std::sync::{Arc, Barrier};
use std::time::{Duration, Instant};

use hiplaunch::Error;
use hiplaunch::driver::{Driver, DriverError, ErrorCode};

use super::launcher::{Lane, Order};
use super::machine::Machine;
use super::measure::{Table, at_least, calibrate, number};
use super::options::Scale;
use super::subject::{Kind, Open, Subject, Workload};

const THREADS: [usize; 4] = [1, 2, 4, 8];
const LIVE: usize = 16;

/// The goal: at least this throughput of 8 threads, over that of one times the cores available to them.
const BAR: f64 = 0.8;

/// The work of every thread.
#[derive(Clone, Copy, Debug)]
enum Job {
    /// Allocates and frees a block of 4 KiB.
    Hits,
    /// Runs the launcher's workload.
    Launcher,
}

impl Job {
    /// Returns a function that runs steps on a thread's own stream. A step is two operations.
    fn stepper<'a, S: Subject>(self, pool: &'a S, stream: usize) -> Box<dyn FnMut(u64) + 'a> {
        match self {
            Job::Hits => Box::new(move |steps| {
                for _ in 0..steps {
                    if let Some(block) = pool.allocate(stream, black_box(4 << 10)) {
                        pool.free(stream, black_box(block));
                    }
                }
            }),
            Job::Launcher => {
                let mut lane = Lane::new(pool, stream, Order::Loop, LIVE);
                Box::new(move |steps| (0..steps).for_each(|_| lane.step()))
            }
        }
    }
}

/// The times of one thread's run.
struct Run {
    start: Instant,
    end: Instant,
    processor: Option<Duration>,
}

/// The throughputs of a number of threads, one for each repeat, in operations per second, and the processor time of an
/// operation.
#[derive(Clone, Debug, Default)]
pub(crate) struct Throughput {
    each: Vec<f64>,
    /// The nanoseconds of the repeat with the least.
    processor: Option<f64>,
}

impl Throughput {
    fn best(&self) -> f64 {
        self.each.iter().copied().fold(0.0, f64::max)
    }
}

struct Threads {
    driver: Arc<dyn Driver>,
    scale: Scale,
    job: Job,
}

impl Threads {
    /// Runs `threads` threads once. Returns their throughput and the processor time of an operation in nanoseconds.
    fn once<S: Subject>(&self, pool: &S, threads: usize, steps: u64) -> Result<(f64, Option<f64>), Error> {
        let barrier = Barrier::new(threads);
        let runs: Vec<Run> = std::thread::scope(|scope| {
            let spawn = |stream| {
                let (barrier, job) = (&barrier, self.job);
                scope.spawn(move || {
                    let mut step = job.stepper(pool, stream);
                    step(steps / 8 + 64);
                    barrier.wait();
                    let (start, processor) = (Instant::now(), processor_time());
                    step(steps);
                    let processor = processor.and_then(|before| processor_time()?.checked_sub(before));
                    Run { start, end: Instant::now(), processor }
                })
            };
            let handles: Vec<_> = (0..threads).map(spawn).collect();
            handles.into_iter().filter_map(|h| h.join().ok()).collect()
        });
        let (start, end) = (runs.iter().map(|r| r.start).min(), runs.iter().map(|r| r.end).max());
        let (Some(start), Some(end), true) = (start, end, runs.len() == threads) else {
            return Err(DriverError::with_detail("thread", ErrorCode::UNKNOWN, "a thread panicked").into());
        };
        let operations = (threads as u64 * steps * 2) as f64;
        let processor: Option<Duration> = runs.iter().map(|r| r.processor).sum();
        let throughput = operations / (end - start).as_secs_f64();
        Ok((throughput, processor.map(|p| p.as_secs_f64() * 1e9 / operations)))
    }
}

impl Workload for Threads {
    type Output = Vec<Throughput>;

    fn run<S: Subject>(&self, open: Open<'_, S>) -> Result<Vec<Throughput>, Error> {
        let pool = open(&self.driver)?;
        let slice =
            self.scale.pick(Duration::from_micros(50), Duration::from_millis(10), Duration::from_millis(60));
        let steps = {
            let mut step = self.job.stepper(&pool, 0);
            step(1000.min(slice.as_micros() as u64));
            calibrate(slice, || step(1))
        };
        let mut all = vec![Throughput::default(); THREADS.len()];
        // In turn, so that other load on the machine affects all of them alike.
        for _ in 0..self.scale.pick(1, 5, 15) {
            for (threads, all) in THREADS.into_iter().zip(&mut all) {
                let (throughput, processor) = self.once(&pool, threads, steps)?;
                all.each.push(throughput);
                all.processor = match (all.processor, processor) {
                    (Some(a), Some(b)) => Some(a.min(b)),
                    (a, b) => a.or(b),
                };
            }
        }
        Ok(all)
    }
}

/// Prints a table for each job.
pub(crate) fn run(machine: Machine, scale: Scale) -> Result<(), Error> {
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    for (job, name) in [(Job::Hits, "hits of 4 KiB"), (Job::Launcher, "the launcher's workload")] {
        let title = format!(
            "{}/threads: {name}, a stream each; million operations a second, best (median); {cores} cores, {}; \
             scaling: best throughput over the best of 1 thread times min(threads, cores)",
            machine.name(),
            load()
        );
        let heads: Vec<String> = THREADS.iter().map(|n| format!("{n} thr")).collect();
        let scales: Vec<String> = THREADS[1..].iter().map(|n| format!("scaling {n}")).collect();
        let columns = ["pool"].into_iter().chain(heads.iter().chain(&scales).map(String::as_str));
        let mut table = Table::new(title, columns.chain(["CPU ns/op, 1", "CPU ns/op, 8", "bar at 8"]));
        for kind in Kind::ALL {
            let workload = Threads { driver: machine.open()?, scale, job };
            let streams = THREADS[THREADS.len() - 1];
            let all = kind.run(&workload, streams, 1 << 40)?;
            let mut row = vec![kind.name().to_owned()];
            row.extend(all.iter().map(|t| {
                let mut sorted = t.each.clone();
                sorted.sort_by(f64::total_cmp);
                format!("{} ({})", number(t.best() / 1e6), number(sorted[sorted.len() / 2] / 1e6))
            }));
            let scaling = |i: usize| all[i].best() / (all[0].best() * THREADS[i].min(cores) as f64);
            row.extend((1..THREADS.len()).map(|i| format!("{:.2}", scaling(i))));
            for t in [&all[0], &all[all.len() - 1]] {
                row.push(t.processor.map_or("-".to_owned(), number));
            }
            if kind.has_bars() {
                row.push(at_least(scaling(THREADS.len() - 1), BAR));
            }
            table.row(row);
        }
    }
    Ok(())
}

/// Describes the load of the machine. With other programs running, scaling has no meaning.
fn load() -> String {
    let average = std::fs::read_to_string("/proc/loadavg").ok();
    let average = average.as_deref().and_then(|text| text.split(' ').next()).unwrap_or("unknown");
    format!("load average {average} at the start")
}

/// Processor time of this thread, which other programs do not change.
#[cfg(unix)]
fn processor_time() -> Option<Duration> {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `time` is a live place for the result.
    let failed = unsafe { libc::clock_gettime(libc::CLOCK_THREAD_CPUTIME_ID, &mut time) };
    (failed == 0).then(|| Duration::new(time.tv_sec as u64, time.tv_nsec as u32))
}

#[cfg(not(unix))]
fn processor_time() -> Option<Duration> {
    None
}
