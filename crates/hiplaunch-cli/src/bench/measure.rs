//! Measures the methods at a point in rounds. In each round every method has its turn, so noise affects all alike.

use std::panic::resume_unwind;
use std::sync::{PoisonError, RwLock};
use std::thread;
use std::time::{Duration, Instant};

use hip_driver_layers::validation::{CallCounts, ValidationDriver};
use hiplaunch::{Error, Event, EventOptions};

use super::cases::Point;
use super::methods::{Job, LaunchMethod, MeasureError, MethodStream, Setup};
use super::results::{Case, Measured};
use super::statistics::{rounded, summary};
use crate::CommandError;

/// How long and how often to measure.
#[derive(Clone, Copy, Debug)]
pub(super) struct Effort {
    /// The greatest number of rounds, which is the number of samples of each method.
    pub(super) rounds: usize,
    /// The least time of a sample.
    pub(super) sample: Duration,
    /// The time after which no round is begun at a point, except the first [`MIN_ROUNDS`].
    pub(super) until: Option<Instant>,
}

/// The number of rounds that are always measured.
const MIN_ROUNDS: usize = 5;
/// The number of times that streams and memory are created in a run. The places that the scheduler and the driver choose for them
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
const MAX_BATCHES: f64 = 1e6;

/// The streams of a job, by thread.
pub(crate) type Streams = Vec<Vec<MethodStream>>;

/// A method at a point, ready to be timed.
struct Running<'a> {
    case: Case,
    setup: &'a Setup<'a>,
    job: Job,
    streams: Streams,
    batches: usize,
}

/// Measures a point. Checks results before anything is timed and after each sample: all results of the last batch, and
/// a sum over all launches.
pub(super) fn measure(
    point: Point,
    methods: &[LaunchMethod],
    setup: &Setup<'_>,
    effort: &Effort,
    device_times: bool,
) -> Result<Measured, CommandError> {
    let job = point.job();
    let named = |method| move |error: MeasureError| error.of(point.case(method));
    let mut cases = Vec::new();
    let mut running = Vec::new();
    for &method in methods {
        match method.unsupported(&job, setup.device) {
            Some(reason) => cases.push(Case { skipped: Some(reason.to_owned()), ..Case::new(method) }),
            None => running.push(Running::start(method, job, setup, effort).map_err(named(method))?),
        }
    }
    let late = || effort.until.is_some_and(|until| Instant::now() >= until);
    for round in 0..effort.rounds {
        if round >= MIN_ROUNDS && late() {
            break;
        }
        let restart = round > 0 && round % effort.rounds.div_ceil(SETS) == 0;
        // Each method begins a round in turn, so no method always comes after the same other one.
        let turn = round % running.len().max(1);
        let (last, first) = running.split_at_mut(turn);
        for one in first.iter_mut().chain(last) {
            one.sample(restart).map_err(named(one.case.method))?;
        }
    }
    for mut one in running {
        if device_times && job.threads == 1 && job.streams == 1 {
            one.case.device = one.device_time().map_err(named(one.case.method))?;
        }
        cases.push(one.case);
    }
    cases.sort_by_key(|case| case.method);
    // The next point can't use the workspaces of this point's graphs.
    setup.launcher.forget_graphs();
    Ok(Measured { point, cases })
}

/// Counts the driver calls of a launch in each method, with its share of a read. `setup` must have the validation
/// layer, which counts them.
pub(super) fn count(measured: &mut Measured, setup: &Setup<'_>) -> Result<(), CommandError> {
    let (point, job) = (measured.point, measured.point.job());
    let Some(layer) = setup.launcher.validation() else { return Ok(()) };
    for case in measured.cases.iter_mut().filter(|case| case.skipped.is_none()) {
        let calls = calls_of(case.method, &job, setup, layer);
        let (calls, launches) = calls.map_err(|error| error.of(point.case(case.method)))?;
        case.calls = Some(rounded(calls.device_calls() as f64 / launches as f64));
    }
    setup.launcher.forget_graphs();
    Ok(())
}

/// Returns the driver calls of a job in the steady state, with the reads of its results, and the number of launches
/// that made them. `layer` is the validation layer of the setup's launcher.
pub(crate) fn calls_of(
    method: LaunchMethod,
    job: &Job,
    setup: &Setup<'_>,
    layer: &ValidationDriver,
) -> Result<(CallCounts, u64), MeasureError> {
    let mut streams = method.prepare(job, setup)?;
    time(&mut streams, job.depth, WARM_UP)?;
    let before = layer.counts();
    time(&mut streams, job.depth, COUNTED)?;
    let calls = layer.counts().since(&before);
    check(&streams)?;
    Ok((calls, (COUNTED * job.depth * job.threads) as u64))
}

/// Compares the results of all streams with the host's.
pub(crate) fn check(streams: &Streams) -> Result<(), MeasureError> {
    streams.iter().flatten().try_for_each(MethodStream::check)
}

impl<'a> Running<'a> {
    fn start(
        method: LaunchMethod,
        job: Job,
        setup: &'a Setup<'a>,
        effort: &Effort,
    ) -> Result<Running<'a>, MeasureError> {
        let streams = method.prepare(&job, setup)?;
        let mut running = Running { case: Case::new(method), setup, job, streams, batches: 1 };
        // The results of the first batches are checked before anything is timed.
        for _ in 0..WARM_UP {
            running.warm_up()?;
        }
        let start = Instant::now();
        let mut batches = 0;
        while batches == 0 || start.elapsed() < effort.sample / 2 {
            time(&mut running.streams, job.depth, 1)?;
            batches += 1;
        }
        let each = start.elapsed().as_secs_f64() / f64::from(batches);
        let wanted = effort.sample.as_secs_f64() / each.max(1e-9);
        running.batches = wanted.clamp(1.0, MAX_BATCHES).ceil() as usize;
        check(&running.streams)?;
        Ok(running)
    }

    fn warm_up(&mut self) -> Result<(), MeasureError> {
        time(&mut self.streams, self.job.depth, 1)?;
        check(&self.streams)
    }

    /// Takes a sample, with `restart` after streams and memory were created again.
    fn sample(&mut self, restart: bool) -> Result<(), MeasureError> {
        if restart {
            // The old ones are dropped first, so that both never exist at the same time.
            self.streams.clear();
            self.streams = self.case.method.prepare(&self.job, self.setup)?;
            self.warm_up()?;
        }
        let times = time(&mut self.streams, self.job.depth, self.batches)?;
        let launches = (self.job.depth * self.batches) as f64;
        let threads = self.job.threads.max(1) as f64;
        self.case.total.push(rounded(times.total().as_secs_f64() * 1e9 / launches / threads));
        self.case.host.push(rounded(times.host.as_secs_f64() * 1e9 / launches));
        check(&self.streams)
    }

    /// Measures the nanoseconds of a launch on the device, from before a batch to after it.
    fn device_time(&mut self) -> Result<Option<f64>, MeasureError> {
        let event = || Event::new(self.setup.device, EventOptions { timing: true });
        let (begin, end) = (event()?, event()?);
        let Some(streams) = self.streams.first_mut() else { return Ok(None) };
        let Some(stream) = streams.first().map(|stream| stream.stream().clone()) else { return Ok(None) };
        let mut times = Vec::new();
        for _ in 0..DEVICE_BATCHES {
            begin.record(&stream)?;
            enqueue(streams, self.job.depth)?;
            end.record(&stream)?;
            streams.iter_mut().try_for_each(MethodStream::collect)?;
            end.synchronize()?;
            times.push(f64::from(begin.elapsed_ms(&end)?) * 1e6 / self.job.depth as f64);
        }
        check(&self.streams)?;
        Ok(summary(&times).map(|s| s.median))
    }
}

/// The times of some batches on one thread, or on all: from the start of the first to the end of the last, and the time within
/// launch calls, as the mean of the threads.
pub(crate) struct Times {
    start: Instant,
    end: Instant,
    host: Duration,
}

impl Times {
    pub(crate) fn total(&self) -> Duration {
        self.end - self.start
    }
}

/// Launches and reads `batches` batches of `depth` launches on each thread.
pub(crate) fn time(streams: &mut Streams, depth: usize, batches: usize) -> Result<Times, Error> {
    if let [streams] = &mut streams[..] {
        return run(streams, depth, batches);
    }
    // The threads wait for the lock until all of them are started. If one can't be, the others do nothing.
    let (all_started, threads) = (RwLock::new(false), streams.len().max(1));
    let mut starting = all_started.write().unwrap_or_else(PoisonError::into_inner);
    let all = thread::scope(|scope| -> Result<Vec<Times>, Error> {
        let mut running = Vec::new();
        for streams in streams.iter_mut() {
            let work = || match *all_started.read().unwrap_or_else(PoisonError::into_inner) {
                true => run(streams, depth, batches).map(Some),
                false => Ok(None),
            };
            let spawned = thread::Builder::new().spawn_scoped(scope, work);
            running.push(spawned.map_err(|e| {
                let problem = format!("cannot start a thread: {e}").into();
                Error::Invalid { what: "bench", problem }
            })?);
        }
        *starting = true;
        drop(starting);
        let joined =
            running.into_iter().map(|thread| thread.join().unwrap_or_else(|panic| resume_unwind(panic)));
        Ok(joined.collect::<Result<Vec<_>, Error>>()?.into_iter().flatten().collect())
    })?;
    let now = Instant::now();
    Ok(Times {
        start: all.iter().map(|times| times.start).min().unwrap_or(now),
        end: all.iter().map(|times| times.end).max().unwrap_or(now),
        host: all.iter().map(|times| times.host).sum::<Duration>() / threads as u32,
    })
}

fn run(streams: &mut [MethodStream], depth: usize, batches: usize) -> Result<Times, Error> {
    let start = Instant::now();
    let mut host = Duration::ZERO;
    for _ in 0..batches {
        let before = Instant::now();
        enqueue(streams, depth)?;
        host += before.elapsed();
        streams.iter_mut().try_for_each(|stream| stream.collect())?;
    }
    Ok(Times { start, end: Instant::now(), host })
}

/// Enqueues a batch, on the streams in turn.
fn enqueue(streams: &mut [MethodStream], depth: usize) -> Result<(), Error> {
    let mut left = if streams.is_empty() { 0 } else { depth };
    while left > 0 {
        for stream in streams.iter_mut().take(left) {
            stream.launch()?;
            left -= 1;
        }
    }
    streams.iter_mut().try_for_each(|stream| stream.submit())
}

#[cfg(all(test, feature = "emulator"))]
mod tests {
    use super::super::methods::tests::stream_of;
    use super::super::methods::{Launches, StreamWork};
    use super::*;
    use hiplaunch::{Backend, Launcher};
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering};

    /// Counts launches, and fails at launch `fails_at`.
    struct Counting {
        launched: Arc<AtomicUsize>,
        fails_at: usize,
    }

    impl Launches for Counting {
        fn launch(&mut self, _: &mut StreamWork) -> Result<(), Error> {
            match self.launched.fetch_add(1, Ordering::Relaxed) + 1 {
                n if n == self.fails_at => Err(Error::Invalid { what: "test", problem: "as asked".into() }),
                _ => Ok(()),
            }
        }
        fn collect(&mut self, _: &mut StreamWork) -> Result<(), Error> {
            Ok(())
        }
    }

    fn streams(counts: &[usize], fails_at: usize) -> (Streams, Arc<AtomicUsize>) {
        let launcher = Launcher::builder().backend(Backend::Emulator).build().unwrap();
        let launched = Arc::new(AtomicUsize::new(0));
        let job = Job { arguments: 0, results: 0, depth: 7, streams: 4, threads: 1 };
        let one = || {
            let stream = launcher.stream(launcher.device(0).unwrap()).unwrap();
            let on = StreamWork::new(&job, stream, false).unwrap();
            stream_of(Counting { launched: launched.clone(), fails_at }, on)
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
