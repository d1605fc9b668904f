//! The progress thread of a communicator. It makes all calls of MPI for operations, and never waits in one.
//!
//! It gets operations from the thread that enqueues them. What is sent is passed to MPI when an event says that the stream has come
//! to it: not by a host function, as HIP runs those of all streams on one thread, where a send would stand behind the wait for a
//! receive. It tests the requests in turn, and looks for the failures of other ranks on a communicator of its own. It also asks the
//! device now and then whether it is lost, so that a rank whose kernel faulted says so even if it makes no call any more.

use std::collections::VecDeque;
use std::ffi::c_void;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, TryRecvError};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use hiplaunch::driver::{Capability, DriverResult};
use hiplaunch::stream::CaptureMode;
use hiplaunch::{Event, Stream};
use mpi::ffi;

use crate::calls::{self, Comm, Received, check, count};
use crate::counters::{Counts, add};
use crate::error::{Error, Result};
use crate::operation::{Operation, Part, Side};

/// How often the thread looks for failures of other ranks, of the device, and for operations that take too long.
const LOOK: Duration = Duration::from_millis(5);
/// How often it polls requests before it sleeps between two polls. It yields its core each time.
const POLLS: u32 = 200;
/// How exact its sleeps are, in nanoseconds. Linux's 50 us would be longer than the sleeps themselves.
const TIMER_SLACK: libc::c_ulong = 1_000;
/// How long it sleeps between two polls. Less than a message takes through a network's stack; ranks that share cores get
/// them meanwhile.
const NAP: Duration = Duration::from_micros(30);
/// How long a rank that failed waits at the end for its report to be sent.
const FAREWELL: Duration = Duration::from_secs(2);
/// The longest report that is sent, in bytes.
const REPORT: usize = 8192;

/// What the threads of a communicator share.
pub(crate) struct Shared {
    pub(crate) rank: usize,
    pub(crate) size: usize,
    pub(crate) counts: Counts,
    sender: Sender<Command>,
    /// The first failure, here or on another rank.
    failure: OnceLock<Error>,
}

pub(crate) enum Command {
    /// Passes the early side of an operation to MPI.
    Early(Arc<Operation>),
    /// Passes the ordered side to MPI when the event is reached and everything before was passed.
    Ordered(Arc<Operation>, Option<Arc<Event>>),
    /// Fails the communicator and tells the other ranks.
    Fail(Error),
    /// Ends the thread when what was posted is finished.
    Stop,
}

impl Shared {
    pub(crate) fn new(rank: usize, size: usize, sender: Sender<Command>) -> Shared {
        Shared { rank, size, counts: Counts::default(), sender, failure: OnceLock::new() }
    }

    /// Fails if the communicator has failed.
    pub(crate) fn check(&self) -> Result<()> {
        self.failure.get().map_or(Ok(()), |error| Err(error.clone()))
    }

    pub(crate) fn send(&self, command: Command) {
        // The thread lives as long as the communicator; a late host function finds nobody to wait for.
        let _ = self.sender.send(command);
    }

    /// Fails the communicator, tells the others, and returns the error of the first failure.
    pub(crate) fn fail(&self, error: Error) -> Error {
        let first = self.failed_with(&error);
        self.send(Command::Fail(error));
        first
    }

    /// Records a failure, unless there was one; returns the first.
    fn failed_with(&self, error: &Error) -> Error {
        self.failure.get_or_init(|| error.clone()).clone()
    }
}

struct InFlight {
    operation: Arc<Operation>,
    side: Side,
    index: usize,
    request: ffi::MPI_Request,
    posted: Instant,
    /// While the ranks compare what they are about to call: this rank's signature and its complement, and then the least of
    /// each over all ranks.
    agreement: Option<Box<[u64; 4]>>,
}

impl InFlight {
    fn part(&self) -> &Part {
        &self.operation.parts(self.side)[self.index]
    }
}

/// A report on its way to another rank.
struct Report {
    request: ffi::MPI_Request,
    _text: Arc<[u8]>,
}

pub(crate) struct Progress {
    pub(crate) shared: Arc<Shared>,
    pub(crate) data: Comm,
    pub(crate) control: Comm,
    pub(crate) timeout: Option<Duration>,
    /// [`Options::check_collectives`](crate::Options::check_collectives).
    pub(crate) check_collectives: bool,
    /// A stream of the device, which is asked whether the device is lost.
    pub(crate) probe: Stream,
}

struct State {
    /// Operations whose ordered side is to be passed to MPI, with the events before which it isn't.
    ordered: VecDeque<(Arc<Operation>, Option<Arc<Event>>)>,
    in_flight: Vec<InFlight>,
    reports: Vec<Report>,
    told: bool,
    stopping: bool,
}

impl Progress {
    /// Runs until the communicator stops. Returns whether MPI has finished with all staging memory.
    pub(crate) fn run(self, receiver: &Receiver<Command>) -> bool {
        // SAFETY: concerns this thread alone.
        unsafe { libc::prctl(libc::PR_SET_TIMERSLACK, TIMER_SLACK) };
        if let Err(error) = self.stay_out_of_captures() {
            log::warn!(
                "rank {}: asking for failures of the device may break captures: {error}",
                self.shared.rank
            );
        }
        let (ordered, in_flight, reports) = (VecDeque::new(), Vec::new(), Vec::new());
        let mut state = State { ordered, in_flight, reports, told: false, stopping: false };
        let (mut idle, mut looked) = (0u32, Instant::now());
        loop {
            let mut busy = false;
            loop {
                match receiver.try_recv() {
                    Ok(command) => self.obey(&mut state, command),
                    Err(TryRecvError::Empty) => break,
                    Err(TryRecvError::Disconnected) => {
                        state.stopping = true;
                        break;
                    }
                }
                busy = true;
            }
            busy |= self.pass_ordered(&mut state);
            busy |= self.test_all(&mut state);
            if looked.elapsed() >= LOOK {
                self.look(&mut state);
                looked = Instant::now();
            }
            let failed = self.shared.check().is_err();
            let is_empty = state.in_flight.is_empty() && state.ordered.is_empty();
            if state.stopping && (failed || is_empty) {
                return self.end(state);
            }
            idle = if busy { 0 } else { idle.saturating_add(1) };
            let nap = match is_empty || failed {
                true => LOOK,
                false if idle < POLLS => {
                    std::thread::yield_now();
                    continue;
                }
                false => NAP,
            };
            match receiver.recv_timeout(nap) {
                Ok(command) => self.obey(&mut state, command),
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => state.stopping = true,
            }
        }
    }

    /// Lets this thread ask about its stream while another thread captures one, which otherwise breaks a global capture.
    fn stay_out_of_captures(&self) -> DriverResult<()> {
        let device = self.probe.device();
        if !device.driver().capabilities().has(Capability::StreamCapture) {
            return Ok(());
        }
        device.driver().exchange_capture_mode(device.id(), CaptureMode::Relaxed).map(drop)
    }

    fn obey(&self, state: &mut State, command: Command) {
        match command {
            Command::Early(operation) => self.post(state, &operation, Side::Early),
            Command::Ordered(operation, after) => state.ordered.push_back((operation, after)),
            Command::Fail(error) => self.fail(state, error),
            Command::Stop => state.stopping = true,
        }
    }

    /// Passes to MPI what the streams have come to. Returns whether there was something.
    fn pass_ordered(&self, state: &mut State) -> bool {
        let mut busy = false;
        while let Some((_, after)) = state.ordered.front() {
            // After a failure nothing is passed, and there is nothing to wait for.
            let reached = match after {
                Some(event) if self.shared.check().is_ok() => event.is_reached(),
                _ => Ok(true),
            };
            match reached {
                Ok(false) => break,
                Ok(true) => {}
                Err(error) => self.fail(state, Error::launcher(self.shared.rank, error)),
            }
            if let Some((operation, _)) = state.ordered.pop_front() {
                self.post(state, &operation, Side::Ordered);
                operation.pass();
            }
            busy = true;
        }
        busy
    }

    fn post(&self, state: &mut State, operation: &Arc<Operation>, side: Side) {
        if let Err(error) = self.shared.check() {
            return operation.fail(&error);
        }
        for (index, part) in operation.parts(side).iter().enumerate() {
            part.count(&self.shared.counts);
            let started = match part.peer() {
                None if self.check_collectives => self.compare(operation.call, part),
                _ => self.start(operation.call, part).map(|request| (request, None)),
            };
            match started {
                Ok((request, agreement)) => {
                    let (operation, posted) = (operation.clone(), Instant::now());
                    state.in_flight.push(InFlight { operation, side, index, request, posted, agreement });
                }
                Err(error) => {
                    operation.fail(&error);
                    return self.fail(state, error);
                }
            }
        }
    }

    fn start(&self, call: &'static str, part: &Part) -> Result<ffi::MPI_Request> {
        let comm = self.data.0;
        // SAFETY: the communicator is live. The addresses are of staging memory with room for that many bytes, which the
        // communicator keeps until the request is finished. The request is written before it is read.
        unsafe {
            let mut request = ffi::RSMPI_REQUEST_NULL;
            let byte = ffi::RSMPI_UINT8_T;
            let (name, code) = match *part {
                Part::Send { from, bytes, peer, tag } => {
                    let n = count(call, bytes)?;
                    let (to, tag) = (peer as i32, i32::from(tag));
                    ("MPI_Isend", ffi::MPI_Isend(from.cast::<c_void>(), n, byte, to, tag, comm, &mut request))
                }
                Part::Receive { to, bytes, peer, tag } => {
                    let n = count(call, bytes)?;
                    let (from, tag) = (peer as i32, i32::from(tag));
                    ("MPI_Irecv", ffi::MPI_Irecv(to.cast::<c_void>(), n, byte, from, tag, comm, &mut request))
                }
                Part::AllReduce { from, to, count: n, datatype, op, .. } => {
                    let n = count(call, n)?;
                    let (from, to) = (from.cast::<c_void>(), to.cast::<c_void>());
                    ("MPI_Iallreduce", ffi::MPI_Iallreduce(from, to, n, datatype, op, comm, &mut request))
                }
                Part::Broadcast { memory, bytes, root } => {
                    let n = count(call, bytes)?;
                    let memory = memory.cast::<c_void>();
                    ("MPI_Ibcast", ffi::MPI_Ibcast(memory, n, byte, root as i32, comm, &mut request))
                }
                Part::AllGather { from, to, bytes } => {
                    let n = count(call, bytes)?;
                    let (from, to) = (from.cast::<c_void>(), to.cast::<c_void>());
                    ("MPI_Iallgather", ffi::MPI_Iallgather(from, n, byte, to, n, byte, comm, &mut request))
                }
                Part::Barrier => ("MPI_Ibarrier", ffi::MPI_Ibarrier(comm, &mut request)),
            };
            check(self.shared.rank, name, code)?;
            Ok(request)
        }
    }

    /// Starts to compare a collective call with those of the other ranks. That is on the communicator for failures, so that
    /// the calls on the other have one order on all ranks, however far the comparisons of each are.
    fn compare(&self, call: &'static str, part: &Part) -> Result<(ffi::MPI_Request, Option<Box<[u64; 4]>>)> {
        let signature = part.signature(call);
        let mut both = Box::new([signature, !signature, 0, 0]);
        // SAFETY: two elements are read and two are written. The box is kept until the request is finished.
        unsafe {
            let mut request = ffi::RSMPI_REQUEST_NULL;
            let from = both.as_mut_ptr();
            let (to, ty, min) = (from.add(2), ffi::RSMPI_UINT64_T, ffi::RSMPI_MIN);
            let code = ffi::MPI_Iallreduce(from.cast(), to.cast(), 2, ty, min, self.control.0, &mut request);
            check(self.shared.rank, "MPI_Iallreduce", code)?;
            Ok((request, Some(both)))
        }
    }

    /// Makes the call that was compared, if all ranks are about to make the same.
    fn agreed(&self, entry: &mut InFlight, agreement: &[u64; 4], code: i32) -> Result<()> {
        let (rank, call) = (self.shared.rank, entry.operation.call);
        check(rank, "MPI_Test", code)?;
        // The least is this rank's, and so is the greatest.
        if agreement[..2] != agreement[2..] {
            return Err(Error::CollectiveDiffers { rank, call, bytes: entry.part().collective_bytes() });
        }
        entry.request = self.start(call, entry.part())?;
        Ok(())
    }

    /// Tests every request once. Returns whether one was finished.
    fn test_all(&self, state: &mut State) -> bool {
        let (mut index, mut busy, mut failure) = (0, false, None);
        let mut comparing = false;
        while let Some(entry) = state.in_flight.get_mut(index) {
            // What was compared is called in the order in which it was enqueued.
            if comparing && entry.agreement.is_some() {
                index += 1;
                continue;
            }
            let (code, received) = calls::test(&mut entry.request);
            let Some(received) = received else {
                comparing |= entry.agreement.is_some();
                index += 1;
                continue;
            };
            busy = true;
            if let Some(agreement) = entry.agreement.take()
                && self.shared.check().is_ok()
            {
                match self.agreed(entry, &agreement, code) {
                    Ok(()) => continue,
                    Err(error) => {
                        entry.operation.fail(&error);
                        failure.get_or_insert(error);
                    }
                }
            }
            let entry = state.in_flight.remove(index);
            // What was cancelled has failed already.
            if failure.is_none()
                && self.shared.check().is_ok()
                && let Err(error) = self.finished(entry.part(), code, received)
            {
                entry.operation.fail(&error);
                failure = Some(error);
            }
            entry.operation.finish(entry.part());
        }
        if let Some(error) = failure {
            self.fail(state, error);
        }
        busy
    }

    fn finished(&self, part: &Part, code: i32, received: Received) -> Result<()> {
        let rank = self.shared.rank;
        let &Part::Receive { bytes: announced, peer: from, tag, .. } = part else {
            return check(rank, "MPI_Test", code);
        };
        let truncated = code != 0 && calls::class_of(code) == ffi::MPI_ERR_TRUNCATE as i32;
        if truncated {
            let got = received.bytes.filter(|bytes| *bytes > announced);
            return Err(Error::MessageSize { rank, from, tag, announced, got });
        }
        check(rank, "MPI_Test", code)?;
        if received.bytes != Some(announced) {
            return Err(Error::MessageSize { rank, from, tag, announced, got: received.bytes });
        }
        add(&self.shared.counts.messages_received, 1);
        add(&self.shared.counts.bytes_received, announced);
        Ok(())
    }

    /// Looks for failures of other ranks, of the device, and for operations that take too long.
    fn look(&self, state: &mut State) {
        state.reports.retain_mut(|report| calls::test(&mut report.request).1.is_none());
        if self.shared.check().is_err() {
            return;
        }
        match self.hear() {
            Ok(None) => {}
            Ok(Some(error)) => {
                // Who failed tells everybody.
                state.told = true;
                return self.fail_here(state, &error);
            }
            Err(error) => return self.fail(state, error),
        }
        if let Err(source) = self.probe.is_idle() {
            return self.fail(state, Error::launcher(self.shared.rank, source));
        }
        let Some(timeout) = self.timeout else { return };
        let late = state.in_flight.iter().find(|entry| {
            let since = match entry.part() {
                Part::Send { .. } => Some(entry.posted),
                _ => entry.operation.waiting_since().map(|since| since.max(entry.posted)),
            };
            since.is_some_and(|since| since.elapsed() > timeout)
        });
        if let Some(entry) = late {
            let (call, peer) = (entry.operation.call, entry.part().peer());
            let error = Error::Timeout { rank: self.shared.rank, call, peer, seconds: timeout.as_secs_f64() };
            self.fail(state, error);
        }
    }

    /// Receives the report of a rank that failed.
    fn hear(&self) -> Result<Option<Error>> {
        let rank = self.shared.rank;
        let Some(message) = calls::probe(self.control, rank)? else { return Ok(None) };
        let text = calls::receive(self.control, rank, message)?;
        let report = String::from_utf8_lossy(&text).into();
        Ok(Some(Error::RankFailed { rank: message.from, report }))
    }

    /// Fails what is in flight, here alone.
    fn fail_here(&self, state: &mut State, error: &Error) {
        let error = self.shared.failed_with(error);
        for entry in &mut state.in_flight {
            entry.operation.fail(&error);
            if let Part::Receive { .. } = entry.part() {
                // SAFETY: the request is live. It stays in the list until it is finished or cancelled.
                unsafe { ffi::MPI_Cancel(&mut entry.request) };
            }
        }
    }

    /// Fails what is in flight, and tells the other ranks.
    fn fail(&self, state: &mut State, error: Error) {
        self.fail_here(state, &error);
        if std::mem::replace(&mut state.told, true) {
            return;
        }
        let mut text = error.to_string();
        while text.len() > REPORT {
            text.pop();
        }
        log::error!("rank {} fails the communicator: {text}", self.shared.rank);
        let text: Arc<[u8]> = text.into_bytes().into();
        for peer in (0..self.shared.size).filter(|peer| *peer != self.shared.rank) {
            // SAFETY: the communicator is live; the text lives as long as the request.
            unsafe {
                let mut request = ffi::RSMPI_REQUEST_NULL;
                let (from, n) = (text.as_ptr().cast::<c_void>(), text.len() as i32);
                let byte = ffi::RSMPI_UINT8_T;
                let code = ffi::MPI_Isend(from, n, byte, peer as i32, 0, self.control.0, &mut request);
                match check(self.shared.rank, "MPI_Isend", code) {
                    Ok(()) => state.reports.push(Report { request, _text: text.clone() }),
                    Err(error) => log::warn!("rank {peer} is not told of the failure: {error}"),
                }
            }
        }
    }

    /// Ends the thread.
    fn end(&self, mut state: State) -> bool {
        let start = Instant::now();
        while start.elapsed() < FAREWELL && !(state.reports.is_empty() && state.in_flight.is_empty()) {
            self.test_all(&mut state);
            state.reports.retain_mut(|report| calls::test(&mut report.request).1.is_none());
            std::thread::sleep(NAP);
            // A collective call cannot be cancelled, and will not finish.
            if state.reports.is_empty() && start.elapsed() > FAREWELL / 10 {
                break;
            }
        }
        let clean = state.in_flight.is_empty() && state.reports.is_empty();
        if !clean {
            // MPI may still use them.
            std::mem::forget((state.reports, state.in_flight));
        } else if self.shared.check().is_ok() {
            for comm in [self.data, self.control] {
                if let Err(error) = comm.free(self.shared.rank) {
                    log::warn!("freeing a communicator: {error}");
                }
            }
        }
        clean
    }
}
