//! Running a dispatch: workgroups over host threads, waves of a workgroup in turn.
//!
//! A thread runs one workgroup at a time. A workgroup that has had its turn, or whose waves all give way, is parked
//! with its state while others run, so that workgroups that wait for each other make progress however few threads
//! there are.

use std::any::Any;
use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use crate::exec::inst::{ExecContext, Host, Observer, REPORTED, StopReason};
use crate::exec::interpret::{run_wave, run_wave_observed};
use crate::host::launch::DispatchSetup;
use crate::host::program::Program;
use crate::host::schedule::{Schedule, ScheduleRng};
use crate::memory::lds::Lds;
use crate::memory::{AddressSpace, RangeTable, View};
use crate::observe::{Observers, Profile, WorkgroupObserver};
use crate::report::access::{LaneAddress, Space};
use crate::report::error::{Error, Result};
use crate::report::fault::{FaultCause, FaultReport, WaitingWave, WaitsFor};
use crate::state::gws::{CounterTable, Gws};
use crate::state::wave::Wave;

/// Wave instructions after which the next wave of a workgroup runs.
const SLICE: u64 = 20_000;
/// Wave instructions after which a workgroup is parked if others wait.
const TURN: u64 = 2_000_000;
/// Wave instructions that the dispatching thread runs before it calls for recruiter: to wake another thread takes about as long.
const ALONE: u64 = 5_000;
/// What giving way counts as, in instructions of a turn.
const GIVE_WAY: u64 = 20_000;
/// Workgroups that have begun and not ended, at most: as many as a GPU of 104 compute units holds of 256 work-items,
/// or so.
const RESIDENT: usize = 1024;

/// After which a thread looks again whether blocked workgroups can go on.
const RETRY: Duration = Duration::from_micros(200);

/// What a dispatch did.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct DispatchStats {
    /// Instructions executed, one for a wave.
    pub wave_instructions: u64,
    /// Waves run.
    pub waves: u64,
    /// Workgroups run.
    pub workgroups: u64,
    /// With [`Config::profile`](crate::Config::profile): the counts.
    pub profile: Option<Box<Profile>>,
}

/// A wave in a workgroup.
struct Member {
    wave: Wave,
    state: State,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    Ready,
    AtBarrier,
    /// For other workgroups: `Wave::wait`.
    Waiting,
    Ended,
}

/// How a workgroup's turn ended.
#[derive(Clone, Copy, PartialEq, Eq)]
enum TurnResult {
    /// The workgroup has ended, or the dispatch has to stop.
    Ended,
    /// Others run first.
    Parked,
    /// None of its waves can go on before something of [`Gws`] changes.
    Blocked,
}

/// Workgroups that have begun and don't run.
#[derive(Default)]
struct Queue {
    /// Which can go on.
    parked: VecDeque<Box<Workgroup>>,
    /// Which could not when they were last looked at.
    blocked: VecDeque<Box<Workgroup>>,
    /// Up to when: [`Gws::changes`].
    seen: u64,
    /// Threads that run a workgroup, or look for one. When they are none, those blocked are stuck.
    running: usize,
}

impl Queue {
    /// Lets the blocked ones be looked at again if anything has changed.
    fn unblock(&mut self, changes: u64) {
        if self.seen != changes {
            self.seen = changes;
            self.parked.extend(self.blocked.drain(..));
        }
    }
}

struct Workgroup {
    members: Vec<Member>,
    /// The order in which they run.
    order: Vec<usize>,
    cx: ExecContext,
    /// Who watches it, if anyone does.
    observer: Option<Box<WorkgroupObserver>>,
    /// With a schedule seed: what that order and the lengths of slices and turns are drawn with.
    rng: Option<ScheduleRng>,
}

/// Registers and LDS of workgroups, kept for the next ones: a thread_cache for each thread, as what the other one has used is
/// in that one's cache.
pub(crate) struct WorkgroupCache {
    threads: Box<[Mutex<ThreadCache>]>,
}

#[derive(Default)]
#[repr(align(128))]
struct ThreadCache {
    waves: Vec<Wave>,
    lds: Vec<Lds>,
}

/// Waves that a cache keeps in all, but for [`MIN_CACHED_WAVES`] in any case.
const CACHED_WAVES: usize = 256;
/// Waves that a thread_cache keeps at least: those of two full workgroups.
const MIN_CACHED_WAVES: usize = 32;

impl WorkgroupCache {
    pub(crate) fn new(threads: usize) -> WorkgroupCache {
        WorkgroupCache { threads: (0..threads).map(|_| Mutex::default()).collect() }
    }

    /// A thread's own; threads beyond those that the cache was made for share.
    fn thread_cache(&self, thread: usize) -> Option<MutexGuard<'_, ThreadCache>> {
        self.threads.get(thread % self.threads.len().max(1)).map(lock)
    }

    /// Waves with any content, as many as there are, `count` at most; and LDS if there is one.
    fn take(&self, thread: usize, count: usize) -> (Vec<Wave>, Option<Lds>) {
        let Some(mut thread_cache) = self.thread_cache(thread) else { return (Vec::new(), None) };
        let from = thread_cache.waves.len().saturating_sub(count);
        (thread_cache.waves.split_off(from), thread_cache.lds.pop())
    }

    fn give_back(&self, thread: usize, waves: impl Iterator<Item = Wave>, lds: Lds) {
        let most = (CACHED_WAVES / self.threads.len().max(1)).max(MIN_CACHED_WAVES);
        let Some(mut thread_cache) = self.thread_cache(thread) else { return };
        let room = most.saturating_sub(thread_cache.waves.len());
        thread_cache.waves.extend(waves.take(room));
        if thread_cache.lds.len() < most / 16 {
            thread_cache.lds.push(lds);
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// What threads count together, on cache lines of its own: they look at the rest of the job all the time.
#[derive(Default)]
#[repr(align(128))]
struct Counts {
    /// Workgroups begun.
    next: AtomicU64,
    /// Workgroups ended.
    ended: AtomicU64,
    /// Workgroups begun and not ended.
    resident: AtomicUsize,
    /// Wave instructions; without a budget, those of workgroups that have had their turn.
    instructions: AtomicU64,
}

/// One dispatch being run by several threads.
pub(crate) struct Job {
    program: Program,
    kernel: usize,
    setup: DispatchSetup,
    snapshot: Arc<RangeTable>,
    space: Arc<AddressSpace>,
    cache: Arc<WorkgroupCache>,
    grid: [u32; 3],
    total: u64,
    counts: Counts,
    queue: Mutex<Queue>,
    /// The queue has.
    changed: Condvar,
    gws: Arc<Gws>,
    stop: AtomicBool,
    fault: Mutex<Option<FaultReport>>,
    /// What the first thread that panicked said.
    panic: Mutex<Option<String>>,
    instruction_budget: Option<u64>,
    deadline: Option<Instant>,
    schedule: Option<Schedule>,
    observers: Option<Observers>,
    /// Threads at work.
    active: Mutex<usize>,
    idle: Condvar,
}

/// How the other threads are called, once it is worth it.
struct ThreadRecruiter<'a> {
    call: Option<&'a dyn Fn()>,
    /// Wave instructions that this thread has run.
    ran: u64,
}

impl ThreadRecruiter<'_> {
    fn ran(&mut self, instructions: u64) {
        self.ran += instructions;
        if self.ran > ALONE
            && let Some(call) = self.call.take()
        {
            call();
        }
    }
}

/// Says when a thread is no longer at work.
struct ActiveGuard<'a>(&'a Job);

impl Drop for ActiveGuard<'_> {
    fn drop(&mut self) {
        *lock(&self.0.active) -= 1;
        self.0.idle.notify_all();
    }
}

impl Job {
    #[allow(clippy::too_many_arguments, reason = "a constructor of private parts")]
    pub(crate) fn new(
        program: Program,
        kernel: usize,
        setup: DispatchSetup,
        space: Arc<AddressSpace>,
        cache: Arc<WorkgroupCache>,
        grid: [u32; 3],
        instruction_budget: Option<u64>,
        deadline: Option<Instant>,
        schedule_seed: Option<u64>,
        observers: Option<Observers>,
        gws: Arc<CounterTable>,
    ) -> Job {
        let total = grid.iter().fold(1, |total: u64, n| total.saturating_mul((*n).into()));
        Job {
            program,
            kernel,
            setup,
            snapshot: space.snapshot(),
            space,
            cache,
            grid,
            total,
            counts: Counts::default(),
            queue: Mutex::default(),
            changed: Condvar::new(),
            gws: Arc::new(Gws::new(gws, total)),
            stop: AtomicBool::new(false),
            fault: Mutex::new(None),
            panic: Mutex::new(None),
            instruction_budget,
            deadline,
            schedule: schedule_seed.map(Schedule::new),
            observers,
            active: Mutex::new(0),
            idle: Condvar::new(),
        }
    }

    /// Workgroups in all.
    pub(crate) fn total(&self) -> u64 {
        self.total
    }

    /// Runs workgroups until there is nothing left to begin or go on with, on the machine's thread of that number (0 is
    /// whoever dispatches). `call` calls the others, and is called once there is work for them. A panic (in what the caller gave for
    /// printing, or by a mistake of ours) ends the dispatch, not the thread.
    pub(crate) fn work(&self, thread: usize, call: Option<&dyn Fn()>) {
        *lock(&self.active) += 1;
        let _active = ActiveGuard(self);
        // The workgroup that was running is lost with its waves and LDS; nothing else is left half-changed, but for
        // the guest's memory, as after a fault.
        if let Err(panic) = catch_unwind(AssertUnwindSafe(|| self.run_all(thread, call))) {
            lock(&self.panic).get_or_insert_with(|| panic_text(panic.as_ref()).into());
            self.stop.store(true, Relaxed);
        }
    }

    fn run_all(&self, thread: usize, call: Option<&dyn Fn()>) {
        let mut recruiter = ThreadRecruiter { call, ran: 0 };
        lock(&self.queue).running += 1;
        while !self.stop.load(Relaxed) {
            let Some(mut workgroup) = self.take(thread) else { break };
            let changes = self.gws.changes();
            match self.run(&mut workgroup, &mut recruiter) {
                TurnResult::Ended => {
                    self.give_back(*workgroup, thread);
                    // It may have been cut short.
                    if !self.stop.load(Relaxed) {
                        self.counts.ended.fetch_add(1, Relaxed);
                    }
                }
                TurnResult::Parked => {
                    lock(&self.queue).parked.push_back(workgroup);
                    self.changed.notify_one();
                }
                TurnResult::Blocked => {
                    let mut queue = lock(&self.queue);
                    // What has changed since may be what it waits for.
                    queue.unblock(changes);
                    queue.blocked.push_back(workgroup);
                }
            }
        }
    }

    /// Waits until no thread is at work.
    pub(crate) fn wait(&self) {
        let mut active = lock(&self.active);
        while *active > 0 {
            active = self.idle.wait(active).unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// Prints what kernels have put into the printf buffer, when nobody is at work.
    pub(crate) fn print(&self) {
        let Some(printf) = &self.setup.printf else { return };
        if let Err(panic) = catch_unwind(AssertUnwindSafe(|| printf.print())) {
            lock(&self.panic).get_or_insert_with(|| panic_text(panic.as_ref()).into());
        }
    }

    /// What came of it, when nobody is at work.
    pub(crate) fn result(&self) -> Result<DispatchStats> {
        self.gws.keep();
        let defects = self.observers.as_ref().map(Observers::defects).unwrap_or_default();
        if let Some(mut fault) = lock(&self.fault).take() {
            fault.defects = defects;
            return Err(Error::Fault(Box::new(fault)));
        }
        let workgroups = self.counts.ended.load(Relaxed);
        let panic = lock(&self.panic).take();
        if panic.is_some() || workgroups != self.total {
            return Err(Error::Incomplete {
                kernel: self.kernel_name(),
                ended: workgroups,
                total: self.total,
                reason: panic.unwrap_or_else(|| "unknown".into()),
            });
        }
        if !defects.is_empty() {
            return Err(Error::Sanitizer { kernel: self.kernel_name(), defects });
        }
        let waves = workgroups * u64::from(self.setup.waves);
        let profile = self.observers.as_ref().and_then(Observers::profile).map(|counts| {
            let occupancy = self.setup.occupancy(&self.program.inner, self.kernel);
            Box::new(Profile { dispatches: 1, workgroups, waves, occupancy, ..counts })
        });
        Ok(DispatchStats {
            wave_instructions: self.counts.instructions.load(Relaxed),
            waves,
            workgroups,
            profile,
        })
    }

    fn kernel_name(&self) -> String {
        self.program.inner.object().kernels().get(self.kernel).map_or_else(String::new, |k| k.name.clone())
    }

    /// A workgroup to run; with none left, the thread is no longer running. If some are blocked and no other thread is
    /// running, they wait for each other.
    fn take(&self, thread: usize) -> Option<Box<Workgroup>> {
        loop {
            let found = self.find(thread);
            if found.is_some() {
                return found;
            }
            let mut queue = lock(&self.queue);
            queue.unblock(self.gws.changes());
            if !queue.parked.is_empty() {
                continue;
            }
            queue.running -= 1;
            if queue.blocked.is_empty() || self.stop.load(Relaxed) {
                return None;
            }
            if queue.running == 0 {
                let blocked = std::mem::take(&mut queue.blocked);
                drop(queue);
                self.fail_blocked(blocked);
                return None;
            }
            // Others run, and may let them go on.
            let (mut queue, _) =
                self.changed.wait_timeout(queue, RETRY).unwrap_or_else(PoisonError::into_inner);
            queue.running += 1;
        }
    }

    /// A new workgroup while there is room, else the one parked longest; with a schedule seed either.
    fn find(&self, thread: usize) -> Option<Box<Workgroup>> {
        if self.schedule.as_ref().is_some_and(|schedule| schedule.draw().below(2) == 0)
            && let Some(workgroup) = self.take_parked()
        {
            return Some(workgroup);
        }
        if self.counts.resident.fetch_add(1, Relaxed) < RESIDENT {
            let number = self.counts.next.fetch_add(1, Relaxed);
            if number < self.total {
                let number = self.schedule.as_ref().map_or(number, |s| s.workgroup(number, self.total));
                return Some(Box::new(self.begin(number, thread)));
            }
        }
        self.counts.resident.fetch_sub(1, Relaxed);
        self.take_parked()
    }

    /// The workgroup parked longest; with a schedule seed any.
    fn take_parked(&self) -> Option<Box<Workgroup>> {
        let mut queue = lock(&self.queue);
        queue.unblock(self.gws.changes());
        match &self.schedule {
            Some(schedule) => {
                let any = schedule.draw().below(queue.parked.len());
                queue.parked.swap_remove_back(any)
            }
            None => queue.parked.pop_front(),
        }
    }

    fn begin(&self, number: u64, thread: usize) -> Workgroup {
        let [x, y, _] = self.grid.map(u64::from);
        let workgroup = [(number % x) as u32, (number / x % y) as u32, (number / (x * y)) as u32];
        let count = self.setup.waves as usize;
        let (mut waves, lds) = self.cache.take(thread, count);
        waves.resize_with(count, Wave::new);
        let mut lds = lds.unwrap_or_else(Lds::new);
        lds.reset(self.setup.lds);
        let members: Vec<Member> = waves
            .into_iter()
            .enumerate()
            .map(|(id, mut wave)| {
                self.setup.init_wave(&mut wave, id as u32, workgroup);
                Member { wave, state: State::Ready }
            })
            .collect();
        let cx = ExecContext {
            code: Arc::clone(&self.setup.code),
            mem: View::new(Arc::clone(&self.snapshot), Arc::clone(&self.setup.block))
                .with_live(Arc::clone(&self.space)),
            lds,
            fault: None,
            count: 0,
            ticks: 0,
            workgroup,
            host: self.setup.hostcall.clone().map(|hostcall| hostcall as Arc<dyn Host>),
            gws: Arc::clone(&self.gws),
        };
        let observer = self.observers.as_ref().map(|observers| observers.begin(number, workgroup, count));
        let order = (0..members.len()).collect();
        let rng = self.schedule.as_ref().map(|schedule| schedule.of_workgroup(number));
        Workgroup { members, order, cx, observer, rng }
    }

    fn give_back(&self, mut workgroup: Workgroup, thread: usize) {
        if let (Some(observers), Some(observer)) = (&self.observers, workgroup.observer.take()) {
            observers.end(*observer);
        }
        self.counts.resident.fetch_sub(1, Relaxed);
        let Workgroup { members, cx, .. } = workgroup;
        self.cache.give_back(thread, members.into_iter().map(|m| m.wave), cx.lds);
    }

    /// Runs a workgroup for a turn.
    fn run(&self, workgroup: &mut Workgroup, recruiter: &mut ThreadRecruiter<'_>) -> TurnResult {
        let limit = workgroup.rng.as_mut().map_or(TURN, |rng| rng.spread(TURN));
        let counted = workgroup.cx.count;
        let ended = self.run_turn(workgroup, limit, recruiter);
        if self.instruction_budget.is_none() {
            self.counts.instructions.fetch_add(workgroup.cx.count - counted, Relaxed);
        }
        ended
    }

    fn run_turn(
        &self,
        workgroup: &mut Workgroup,
        limit: u64,
        recruiter: &mut ThreadRecruiter<'_>,
    ) -> TurnResult {
        let Workgroup { members, order, cx, observer, rng } = workgroup;
        let code = &*self.setup.code;
        let mut turn = 0;
        // A small budget isn't overrun by a slice of each wave.
        let slice = self.instruction_budget.map_or(SLICE, |budget| budget.clamp(1, SLICE));
        let begun = cx.count;
        loop {
            let before = cx.count;
            let mut ready = false;
            if let Some(rng) = rng {
                rng.shuffle(order);
            }
            for member in members.iter_mut().filter(|member| member.state == State::Waiting) {
                if member.wave.wait.is_none_or(|wait| self.gws.goes_on(wait)) {
                    member.wave.wait = None;
                    member.state = State::Ready;
                }
            }
            for index in order.iter() {
                let Some(member) = members.get_mut(*index).filter(|m| m.state == State::Ready) else {
                    continue;
                };
                let count = cx.count;
                let slice = rng.as_mut().map_or(slice, |rng| rng.spread(slice));
                let stop = if rng.is_some() || observer.is_some() {
                    let observer = observer.as_deref_mut().map(|observer| observer as &mut dyn Observer);
                    run_wave_observed(&mut member.wave, cx, code, slice, observer)
                } else {
                    run_wave(&mut member.wave, cx, code, slice)
                };
                match stop {
                    StopReason::Slice => {
                        ready = true;
                        if cx.count - count < slice {
                            turn += GIVE_WAY;
                        }
                    }
                    StopReason::Barrier => member.state = State::AtBarrier,
                    StopReason::Wait => member.state = State::Waiting,
                    StopReason::End => member.state = State::Ended,
                    StopReason::Fault => {
                        let cause = cx.fault.take().unwrap_or(FaultCause::IllegalInstruction);
                        self.fail(cause, &member.wave, cx);
                        return TurnResult::Ended;
                    }
                }
            }
            let ran = cx.count - before;
            turn += ran;
            recruiter.ran(ran);
            // Only a budget needs the sum before the end, and threads that count together wait for each other.
            let within = self
                .instruction_budget
                .is_none_or(|budget| self.counts.instructions.fetch_add(ran, Relaxed) + ran <= budget);
            if !ready {
                // Every wave has ended or waits; those that have ended don't count.
                let blocked = members.iter().any(|m| m.state == State::Waiting);
                let mut at_barrier = false;
                for member in members.iter_mut().filter(|m| !blocked && m.state == State::AtBarrier) {
                    member.state = State::Ready;
                    at_barrier = true;
                }
                if let Some(observer) = observer.as_mut().filter(|_| !blocked) {
                    observer.barrier();
                }
                if blocked && ran == 0 && !self.stop.load(Relaxed) && within {
                    return TurnResult::Blocked;
                }
                if !blocked && !at_barrier {
                    return TurnResult::Ended;
                }
            }
            if !within || self.deadline.is_some_and(|d| Instant::now() > d) {
                // One that runs, rather than one that waits for it.
                let at_barrier = members.iter().filter(|m| m.state == State::AtBarrier).count() as u32;
                let runs = members.iter().find(|m| m.state == State::Ready);
                if let Some(member) = runs.or_else(|| members.iter().find(|m| m.state != State::Ended)) {
                    let mut instructions = self.counts.instructions.load(Relaxed);
                    if self.instruction_budget.is_none() {
                        instructions += cx.count - begun;
                    }
                    self.fail(FaultCause::OverBudget { instructions, at_barrier }, &member.wave, cx);
                }
                return TurnResult::Ended;
            }
            if self.stop.load(Relaxed) {
                return TurnResult::Ended;
            }
            if turn > limit {
                turn = 0;
                let others = self.counts.next.load(Relaxed) < self.total || {
                    let mut queue = lock(&self.queue);
                    queue.unblock(self.gws.changes());
                    !queue.parked.is_empty()
                };
                if others {
                    return TurnResult::Parked;
                }
                std::thread::yield_now();
            }
        }
    }

    /// Stops the dispatch for workgroups whose waves can never go on.
    #[cold]
    fn fail_blocked(&self, mut blocked: VecDeque<Box<Workgroup>>) {
        blocked.make_contiguous().sort_by_key(|workgroup| {
            let [x, y, z] = workgroup.cx.workgroup;
            [z, y, x]
        });
        let (mut waiting, mut waves) = (Vec::new(), 0);
        for workgroup in &blocked {
            for Member { wave, state } in &workgroup.members {
                let waits_for = match (state, wave.wait) {
                    (State::Ended, _) => continue,
                    (State::Waiting, Some(wait)) if wait.is_barrier() => WaitsFor::GlobalBarrier {
                        resource: wait.resource,
                        missing: self.gws.missing(wait.resource),
                    },
                    (State::Waiting, Some(wait)) => WaitsFor::Semaphore { resource: wait.resource },
                    _ => WaitsFor::Barrier,
                };
                waves += 1;
                if waiting.len() < REPORTED {
                    waiting.push(WaitingWave { workgroup: workgroup.cx.workgroup, wave: wave.id, waits_for });
                }
            }
        }
        let not_begun = self.total.saturating_sub(self.counts.next.load(Relaxed));
        let cause = FaultCause::NeverMet { waiting, waves, not_begun };
        let stuck = blocked.iter_mut().find_map(|workgroup| {
            let Workgroup { members, cx, .. } = &mut **workgroup;
            members.iter_mut().find(|m| m.state == State::Waiting).map(|member| (member, cx))
        });
        if let Some((member, cx)) = stuck {
            // What it executed last.
            member.wave.next = member.wave.next.saturating_sub(1);
            self.fail(cause, &member.wave, cx);
        }
    }

    /// Stops the dispatch; the first fault is reported.
    #[cold]
    fn fail(&self, cause: FaultCause, wave: &Wave, cx: &ExecContext) {
        let cause = match cause {
            FaultCause::OutOfBounds { access, space: Space::Scratch, size, lanes } => {
                let (scratch, dynamic) = (self.setup.scratch, self.setup.dynamic_stack);
                FaultCause::StackOverflow { access, size, lanes, scratch, dynamic }
            }
            cause => cause,
        };
        let program = &self.program.inner;
        let i = &cx.code.insts[wave.next as usize];
        let pc = program.vaddr(cx.code.base + 4 * u64::from(i.pc));
        let nearest = match &cause {
            FaultCause::OutOfBounds { space: Space::Global, lanes, size, .. }
            | FaultCause::Misaligned { space: Space::Global, lanes, size } => lanes
                .first()
                .map(|LaneAddress { address, .. }| self.space.nearest(*address, u64::from(*size))),
            FaultCause::OutOfBounds { space: Space::Lds, .. } => Some(format!(
                "the workgroup has {} bytes of LDS, {} of them dynamic",
                self.setup.lds, self.setup.dynamic_lds
            )),
            _ => None,
        };
        let report = FaultReport {
            cause,
            kernel: self.kernel_name(),
            workgroup: cx.workgroup,
            wave: wave.id,
            pc,
            function: program.object().function_at(pc).map(|f| (f.name.clone(), pc - f.address)),
            mnemonic: i.row.name,
            instruction: gfx9_isa::disassemble_lenient(cx.code.target, i.raw, pc).text,
            encoding: i.row.encoding().map_or("", |e| e.name()),
            raw: i.raw,
            nearest,
            defects: Vec::new(),
        };
        let mut fault = lock(&self.fault);
        if fault.is_none() {
            *fault = Some(report);
        }
        drop(fault);
        self.stop.store(true, Relaxed);
    }
}

/// What a panic said.
fn panic_text(panic: &(dyn Any + Send)) -> &str {
    let text = panic.downcast_ref::<&str>().copied();
    text.or_else(|| panic.downcast_ref::<String>().map(String::as_str)).unwrap_or("no message")
}
