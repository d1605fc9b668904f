//! Measures the methods at a point in rounds. In each round every method has its turn, so noise affects all alike.

use std::panic::resume_unwind;
use std::sync::{Condvar, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use hip_driver_layers::validation::{CallCounts, ValidationDriver};
use hiplaunch::{Error, Event, EventOptions};

use super::cases::Point;
use super::methods::{Job, LaunchMethod, MethodStream, Setup, Stop};
use super::results::{Case, Measured};

/// How long and how often to measure.
#[derive(Clone, Copy, Debug)]
pub(super) struct Effort {
    /// The greatest number of rounds, which is the number of samples of each method.
    pub(super) rounds: usize,
    /// The least time of a sample.
    pub(super) sample: Duration,
    /// The time after which no round is begun at a point, except the first [`LEAST_ROUNDS`].
    pub(super) until: Option<Instant>,
}

/// The number of rounds that are always measured.
const LEAST_ROUNDS: usize = 5;
/// How often streams and memory are created in a run. The places that the scheduler and the driver choose for them
/// affect the times, and do not change later.
const SETS: usize = 5;
/// The number of batches before anything is timed: afterwards all memory and graphs exist, and clocks are up.
const WARM_UP: usize = 3;
/// The number of batches whose calls are counted: enough to make rare calls, such as a fence of the staging ring,
/// small.
const COUNTED: usize = 8;
/// The number of batches whose time on the device is measured.
const DEVICE_BATCHES: usize = 9;
/// The greatest number of batches of a sample.
const MOST_BATCHES: f64 = 1e6;

/// The streams of a job, by thread.
pub(crate) type Streams = Vec<Vec<Box<dyn MethodStream>>>;

/// A method at a point, ready to be timed.
struct Running {
    method: LaunchMethod,
    streams: Streams,
    batches: usize,
    total: Vec<f64>,
    host: Vec<f64>,
    device: Option<f64>,
}

/// Why measuring stopped, and in which case.
#[derive(Debug)]
pub(super) struct Stopped {
    pub(super) case: String,
    pub(super) stop: Stop,
}

/// Measures a point. Checks results before anything is timed and after each sample: all results of the last batch, and
/// a sum over all launches.
///
/// # Errors
/// Returns the error of a method, with its case.
pub(super) fn measure(
    point: Point,
    methods: &[LaunchMethod],
    setup: &Setup<'_>,
    effort: &Effort,
    device_times: bool,
) -> Result<Measured, Stopped> {
    let job = point.job();
    let mut cases = Vec::new();
    let mut running = Vec::new();
    for &method in methods {
        match method.unsupported(&job, setup.device) {
            Some(reason) => cases.push(Case::skipped(method, reason)),
            None => {
                let named = |stop| Stopped { case: point.case(method), stop };
                running.push(Running::start(method, &job, setup, effort).map_err(named)?);
            }
        }
    }
    let late = || effort.until.is_some_and(|until| Instant::now() >= until);
    for round in 0..effort.rounds {
        if round >= LEAST_ROUNDS && late() {
            break;
        }
        if round > 0 && round % effort.rounds.div_ceil(SETS) == 0 {
            for one in &mut running {
                one.restart(&job, setup).map_err(|stop| Stopped { case: point.case(one.method), stop })?;
            }
        }
        // Each method begins a round in turn, so no method always comes after the same other one.
        let turns = running.len().max(1);
        for turn in 0..running.len() {
            let Some(one) = running.get_mut((turn + round) % turns) else { continue };
            one.sample(&job).map_err(|stop| Stopped { case: point.case(one.method), stop })?;
        }
    }
    if device_times && job.threads == 1 && job.streams == 1 {
        for one in &mut running {
            one.device = one
                .device_time(&job, setup)
                .map_err(|stop| Stopped { case: point.case(one.method), stop })?;
        }
    }
    let done = |one: Running| Case {
        method: one.method,
        skipped: None,
        total: one.total,
        host: one.host,
        calls: None,
        device: one.device,
    };
    cases.extend(running.into_iter().map(done));
    cases.sort_by_key(|case| case.method);
    // The next point can't use the workspaces of this point's graphs.
    setup.launcher.forget_graphs();
    Ok(Measured { point, cases })
}

/// Counts the driver calls of a launch in each method, with its share of a read. `setup` must have the validation
/// layer, which counts them.
///
/// # Errors
/// Returns the error of a method, with its case.
pub(super) fn count(measured: &mut Measured, setup: &Setup<'_>) -> Result<(), Stopped> {
    let (point, job) = (measured.point, measured.point.job());
    let Some(layer) = setup.launcher.validation() else { return Ok(()) };
    for case in measured.cases.iter_mut().filter(|case| case.skipped.is_none()) {
        let calls = calls_of(case.method, &job, setup, layer);
        let (calls, launches) = calls.map_err(|stop| Stopped { case: point.case(case.method), stop })?;
        case.calls = Some(calls.device_calls() as f64 / launches as f64);
    }
    setup.launcher.forget_graphs();
    Ok(())
}

/// Returns the driver calls of a job in the steady state, with the reads of its results, and the number of launches
/// that made them. `layer` is the validation layer of the setup's launcher.
///
/// # Errors
/// Returns [`Stop`] for an error of the library or the driver, or a wrong result.
pub(crate) fn calls_of(
    method: LaunchMethod,
    job: &Job,
    setup: &Setup<'_>,
    layer: &ValidationDriver,
) -> Result<(CallCounts, u64), Stop> {
    let mut streams = method.prepare(job, setup)?;
    time(&mut streams, job.depth, WARM_UP)?;
    let before = layer.counts();
    time(&mut streams, job.depth, COUNTED)?;
    let calls = layer.counts().since(&before);
    streams.iter().flatten().try_for_each(|stream| stream.check())?;
    Ok((calls, (COUNTED * job.depth * job.threads) as u64))
}

impl Running {
    fn start(method: LaunchMethod, job: &Job, setup: &Setup<'_>, effort: &Effort) -> Result<Running, Stop> {
        let streams = method.prepare(job, setup)?;
        let mut one =
            Running { method, streams, batches: 1, total: Vec::new(), host: Vec::new(), device: None };
        // The results of the first batches are checked before anything is timed.
        for _ in 0..WARM_UP {
            time(&mut one.streams, job.depth, 1)?;
            one.check()?;
        }
        let start = Instant::now();
        let mut batches = 0;
        while batches == 0 || start.elapsed() < effort.sample / 2 {
            time(&mut one.streams, job.depth, 1)?;
            batches += 1;
        }
        let each = start.elapsed().as_secs_f64() / f64::from(batches);
        let wanted = effort.sample.as_secs_f64() / each.max(1e-9);
        one.batches = wanted.clamp(1.0, MOST_BATCHES).ceil() as usize;
        one.check()?;
        Ok(one)
    }

    /// Creates the streams and memory again.
    fn restart(&mut self, job: &Job, setup: &Setup<'_>) -> Result<(), Stop> {
        // The old ones are dropped first, so that both never exist at the same time.
        self.streams.clear();
        self.streams = self.method.prepare(job, setup)?;
        time(&mut self.streams, job.depth, 1)?;
        self.check()
    }

    fn check(&mut self) -> Result<(), Stop> {
        self.streams.iter().flatten().try_for_each(|stream| stream.check())
    }

    fn sample(&mut self, job: &Job) -> Result<(), Stop> {
        let times = time(&mut self.streams, job.depth, self.batches)?;
        let launches = (job.depth * self.batches) as f64;
        let threads = job.threads.max(1) as f64;
        self.total.push(times.total.as_secs_f64() * 1e9 / launches / threads);
        self.host.push(times.host.as_secs_f64() * 1e9 / launches);
        self.check()
    }

    /// Measures the nanoseconds of a launch on the device, from before a batch to after it.
    fn device_time(&mut self, job: &Job, setup: &Setup<'_>) -> Result<Option<f64>, Stop> {
        let (begin, end) = (
            Event::new(setup.device, EventOptions { timing: true })?,
            Event::new(setup.device, EventOptions { timing: true })?,
        );
        let mut times = Vec::new();
        for _ in 0..DEVICE_BATCHES {
            let Some(streams) = self.streams.first_mut() else { return Ok(None) };
            let Some(stream) = streams.first().map(|stream| stream.stream().clone()) else { return Ok(None) };
            begin.record(&stream)?;
            enqueue(streams, job.depth)?;
            end.record(&stream)?;
            streams.iter_mut().try_for_each(|stream| stream.collect())?;
            end.synchronize()?;
            times.push(f64::from(begin.elapsed_ms(&end)?) * 1e6 / job.depth as f64);
        }
        self.check()?;
        Ok(super::statistics::summary(&times).map(|s| s.median))
    }
}

/// The times of some batches on all threads.
pub(crate) struct Times {
    /// The time from the start of the first thread to the end of the last.
    pub(crate) total: Duration,
    /// The time within launch calls, as the mean of the threads.
    host: Duration,
}

/// The times of one thread.
struct Ran {
    start: Instant,
    end: Instant,
    host: Duration,
}

/// Launches and reads `batches` batches of `depth` launches on each thread.
///
/// # Errors
/// Returns the error of the library or the driver on any thread.
pub(crate) fn time(
    streams: &mut [Vec<Box<dyn MethodStream>>],
    depth: usize,
    batches: usize,
) -> Result<Times, Error> {
    if let [streams] = streams {
        let ran = run(streams, depth, batches)?;
        return Ok(Times { total: ran.end - ran.start, host: ran.host });
    }
    // No thread begins before all threads are started.
    let gate = (Mutex::new(None), Condvar::new());
    let open = |go: bool| {
        *gate.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(go);
        gate.1.notify_all();
    };
    let wait = || {
        let mut state = gate.0.lock().unwrap_or_else(PoisonError::into_inner);
        loop {
            match *state {
                Some(go) => return go,
                None => state = gate.1.wait(state).unwrap_or_else(PoisonError::into_inner),
            }
        }
    };
    thread::scope(|scope| {
        let mut threads = Vec::new();
        for streams in streams.iter_mut() {
            let wait = &wait;
            let work = move || if wait() { run(streams, depth, batches).map(Some) } else { Ok(None) };
            match thread::Builder::new().spawn_scoped(scope, work) {
                Ok(thread) => threads.push(thread),
                Err(e) => {
                    open(false);
                    let problem = format!("cannot start a thread: {e}").into();
                    return Err(Error::Invalid { what: "bench", problem });
                }
            }
        }
        open(true);
        let mut all = Vec::new();
        for thread in threads {
            all.extend(thread.join().unwrap_or_else(|panic| resume_unwind(panic))?);
        }
        let (start, end) = (all.iter().map(|r: &Ran| r.start).min(), all.iter().map(|r| r.end).max());
        let host = all.iter().map(|r| r.host).sum::<Duration>() / all.len().max(1) as u32;
        let total = start.zip(end).map_or(Duration::ZERO, |(start, end)| end - start);
        Ok(Times { total, host })
    })
}

fn run(streams: &mut [Box<dyn MethodStream>], depth: usize, batches: usize) -> Result<Ran, Error> {
    let start = Instant::now();
    let mut host = Duration::ZERO;
    for _ in 0..batches {
        let before = Instant::now();
        enqueue(streams, depth)?;
        host += before.elapsed();
        streams.iter_mut().try_for_each(|stream| stream.collect())?;
    }
    Ok(Ran { start, end: Instant::now(), host })
}

/// Enqueues a batch, on the streams in turn.
fn enqueue(streams: &mut [Box<dyn MethodStream>], depth: usize) -> Result<(), Error> {
    let mut left = if streams.is_empty() { 0 } else { depth };
    while left > 0 {
        for stream in streams.iter_mut().take(left) {
            stream.launch()?;
            left -= 1;
        }
    }
    streams.iter_mut().try_for_each(|stream| stream.submit())
}

#[cfg(test)]
mod tests {
    use super::*;
    use hiplaunch::Stream;
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering};

    /// Counts launches and collections, and fails at launch `fails_at`.
    struct Counting {
        launched: Arc<AtomicUsize>,
        collected: usize,
        fails_at: usize,
    }

    impl MethodStream for Counting {
        fn launch(&mut self) -> Result<(), Error> {
            match self.launched.fetch_add(1, Ordering::Relaxed) + 1 {
                n if n == self.fails_at => Err(Error::Invalid { what: "test", problem: "as asked".into() }),
                _ => Ok(()),
            }
        }
        fn collect(&mut self) -> Result<(), Error> {
            self.collected += 1;
            Ok(())
        }
        fn check_results(&self) -> Result<(), Stop> {
            Ok(())
        }
        fn check_sum(&self) -> Result<(), Stop> {
            Ok(())
        }
        fn stream(&self) -> &Stream {
            unreachable!("device times are not asked for")
        }
    }

    fn streams(counts: &[usize], fails_at: usize) -> (Vec<Vec<Box<dyn MethodStream>>>, Arc<AtomicUsize>) {
        let launched = Arc::new(AtomicUsize::new(0));
        let one = || {
            Box::new(Counting { launched: launched.clone(), collected: 0, fails_at }) as Box<dyn MethodStream>
        };
        (counts.iter().map(|&n| (0..n).map(|_| one()).collect()).collect(), launched)
    }

    #[test]
    fn every_thread_launches_as_often_as_it_shall() {
        for threads in [1, 3] {
            let (mut all, launched) = streams(&vec![4; threads], usize::MAX);
            // 7 launches on 4 streams: all of them are made.
            time(&mut all, 7, 5).unwrap();
            assert_eq!(launched.load(Ordering::Relaxed), 7 * 5 * threads);
        }
    }

    #[test]
    fn an_error_of_one_thread_ends_all() {
        let (mut all, _) = streams(&[1, 1, 1], 5);
        assert!(time(&mut all, 4, 2).is_err());
        let (mut none, launched) = streams(&[0], usize::MAX);
        assert!(time(&mut none, 4, 2).is_ok());
        assert_eq!(launched.load(Ordering::Relaxed), 0);
    }
}
