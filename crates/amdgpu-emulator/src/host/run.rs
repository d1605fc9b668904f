//! Running a dispatch: distributes its workgroups over host threads, and runs the waves of a workgroup one after the
//! other.
//!
//! A thread runs one workgroup at a time, for a turn of [`TURN`] instructions. Within it each wave runs for a time
//! slice of [`SLICE`] instructions. At the end of its turn a workgroup is parked with its state while others run, so
//! that workgroups that wait for each other make progress with any number of threads.

use std::any::Any;
use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use crate::exec::inst::{ExecContext, Observer, REPORTED, StopReason};
use crate::exec::interpret::{run_wave, run_wave_observed};
use crate::exec::notices::{NoticeMap, Notices};
use crate::host::config::MachineConfig;
use crate::host::counts::Counts;
use crate::host::float_environment::FloatEnvironment;
use crate::host::launch::DispatchSetup;
use crate::host::notices;
use crate::host::program::LoadedProgram;
use crate::host::schedule::Schedule;
use crate::host::spin;
use crate::host::workgroup::{Member, State, Workgroup, WorkgroupCache};
use crate::memory::blocks::BlockTable;
use crate::memory::bounds::Bounds;
use crate::memory::grain::FineGrainedAtomics;
use crate::memory::refused::Watch;
use crate::memory::{AddressSpace, RangeTable, View};
use crate::observe::{Observers, Profile};
use crate::report::access::{LaneAddress, MemorySpace};
use crate::report::defect::Defect;
use crate::report::error::{Error, Result};
use crate::report::fault::{FaultCause, FaultReport, WaitingWave, WaitsFor};
use crate::report::notice::{Notice, NoticeKind};
use crate::state::barrier::SplitBarrier;
use crate::state::gws::{CounterTable, Gws};
use crate::state::wave::Wave;

/// Length of a time slice: wave instructions after which the next wave of a workgroup runs.
const SLICE: u64 = 20_000;
/// Length of a turn: wave instructions after which a workgroup is parked if others wait.
const TURN: u64 = 2_000_000;
/// Wave instructions that the dispatching thread runs before it wakes other threads. Waking one takes about as long.
const RECRUIT_AFTER: u64 = 5_000;
/// The number of instructions that is added to the turn when a slice ends early (`s_sleep` and similar instructions).
const YIELD_COST: u64 = 20_000;
/// How often it is found out whether a workgroup's waves spin, counted in slices of each wave.
const PASSES_BETWEEN_LOOKS: u32 = 8;
/// The length of the first slice of a workgroup whose waves spun in its last turn.
const SPIN_SLICE: u64 = 64;

/// The interval at which an idle thread checks whether blocked workgroups can continue.
const RETRY: Duration = Duration::from_micros(200);

/// Counts of what a dispatch executed.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct DispatchStats {
    /// The number of instructions executed. An instruction that a wave executes counts once, not once for each lane.
    pub wave_instructions: u64,
    /// The number of waves.
    pub waves: u64,
    /// The number of workgroups.
    pub workgroups: u64,
    /// More detailed counts; `None` unless [`MachineConfig::profile`](crate::MachineConfig::profile) is set.
    pub profile: Option<Box<Profile>>,
    /// The instructions whose accesses hardware, or strict bounds, would not have performed: with
    /// [`Bounds::Pages`](crate::Bounds::Pages) those past the end of an allocation or of LDS, and on gfx90a floating-point
    /// atomics to fine-grained memory.
    pub notices: Vec<Notice>,
}

/// The reason why a workgroup's turn ended.
#[derive(Clone, Copy, PartialEq, Eq)]
enum TurnResult {
    /// The workgroup has ended, or the dispatch was stopped.
    Ended,
    /// The turn is over and other workgroups are waiting to run.
    Parked,
    /// None of the workgroup's waves can continue before a counter of [`Gws`] changes.
    Blocked,
}

/// The workgroups that have begun and are not running.
#[derive(Default)]
struct Queue {
    /// Workgroups that can continue.
    parked: VecDeque<Box<Workgroup>>,
    /// Workgroups that could not continue when they last ran.
    blocked: VecDeque<Box<Workgroup>>,
    /// The value of [`Gws::changes`] when `blocked` was last checked.
    seen: u64,
    /// The number of threads that run a workgroup or look for one. If it is 0, the blocked workgroups wait for each
    /// other.
    running: usize,
}

impl Queue {
    /// Parks the blocked workgroups if anything has changed since they were last checked.
    fn unblock(&mut self, changes: u64) {
        if self.seen != changes {
            self.seen = changes;
            self.parked.extend(self.blocked.drain(..));
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A dispatch that is being run, by one or more threads.
pub(crate) struct Job {
    program: LoadedProgram,
    kernel: usize,
    setup: DispatchSetup,
    snapshot: Arc<RangeTable>,
    /// The blocks that the kernel may access.
    blocks: Arc<BlockTable>,
    space: Arc<AddressSpace>,
    cache: Arc<WorkgroupCache>,
    grid: [u32; 3],
    total: u64,
    counts: Counts,
    queue: Mutex<Queue>,
    /// Notified when a workgroup is parked.
    changed: Condvar,
    gws: Arc<Gws>,
    stop: AtomicBool,
    fault: Mutex<Option<FaultReport>>,
    /// The message of the first panic.
    panic: Mutex<Option<String>>,
    instruction_budget: Option<u64>,
    deadline: Option<Instant>,
    schedule: Option<Schedule>,
    /// The number of workgroups that are resident: that have begun and not ended.
    resident: usize,
    bounds: Bounds,
    /// See [`DispatchSetup::accessible_lds`].
    accessible_lds: u32,
    fine_grained_atomics: FineGrainedAtomics,
    /// Whether the sanitizer's findings fail the dispatch.
    sanitizes: bool,
    /// The notices of the workgroups that have ended.
    notices: Mutex<Option<NoticeMap>>,
    observers: Option<Observers>,
    /// The number of threads that are in [`Job::work`], besides the first, which waits for them.
    helpers: Mutex<usize>,
    /// Notified when `helpers` decreases.
    idle: Condvar,
}

/// What running each wave of a workgroup once, for a time slice, has come to.
struct Pass {
    /// Whether a wave can continue.
    is_ready: bool,
    /// Whether all waves that can continue spin, as far as that was looked for.
    all_spin: bool,
    /// What slices that ended early add to the turn.
    yielded: u64,
}

/// Lets the waves at a barrier continue, since every wave of the workgroup has ended or waits. The barrier is met by those that
/// have not ended. Returns the end of the turn, if none continues; `may_block` says whether waves may wait for other workgroups.
fn meet_barrier(workgroup: &mut Workgroup, may_block: bool) -> Option<TurnResult> {
    if workgroup.observer.is_none() && workgroup.members.iter().all(|m| m.state == State::Ended) {
        return Some(TurnResult::Ended);
    }
    if workgroup.members.iter().any(|m| m.state == State::Waiting) {
        return may_block.then_some(TurnResult::Blocked);
    }
    let Workgroup { members, cx, .. } = workgroup;
    // On gfx12, some may wait for a barrier that others have not signalled yet, since these have only now come to the wait of the
    // one before, which was met.
    let is_met = |m: &Member| m.wave.as_ref().is_some_and(|wave| cx.barrier.is_met(wave.signalled));
    let some_met = members.iter().any(|m| m.state == State::AtBarrier && is_met(m));
    let mut at_barrier = false;
    for member in members.iter_mut().filter(|m| m.state == State::AtBarrier) {
        if !some_met || is_met(member) {
            member.state = State::Ready;
        }
        at_barrier = true;
    }
    workgroup.met = workgroup.cx.barrier.phase();
    if let Some(observer) = &mut workgroup.observer {
        observer.barrier();
    }
    (!at_barrier).then_some(TurnResult::Ended)
}

/// Wakes the other threads when the dispatch has run [`RECRUIT_AFTER`] instructions.
struct ThreadRecruiter<'a> {
    call: Option<&'a dyn Fn()>,
    /// The number of wave instructions that this thread has run.
    ran: u64,
}

impl ThreadRecruiter<'_> {
    fn ran(&mut self, instructions: u64) {
        self.ran += instructions;
        if self.ran > RECRUIT_AFTER
            && let Some(call) = self.call.take()
        {
            call();
        }
    }
}

/// Decrements [`Job::helpers`] when it is dropped.
struct HelperGuard<'a>(&'a Job);

impl<'a> HelperGuard<'a> {
    fn begin(job: &'a Job) -> HelperGuard<'a> {
        *lock(&job.helpers) += 1;
        HelperGuard(job)
    }
}

impl Drop for HelperGuard<'_> {
    fn drop(&mut self) {
        *lock(&self.0.helpers) -= 1;
        self.0.idle.notify_all();
    }
}

impl Job {
    #[allow(clippy::too_many_arguments, reason = "a constructor of private parts")]
    pub(crate) fn new(
        program: LoadedProgram,
        kernel: usize,
        setup: DispatchSetup,
        space: Arc<AddressSpace>,
        blocks: Arc<BlockTable>,
        cache: Arc<WorkgroupCache>,
        grid: [u32; 3],
        config: &MachineConfig,
        observers: Option<Observers>,
        gws: Arc<CounterTable>,
    ) -> Job {
        let total = grid.iter().fold(1, |total: u64, n| total.saturating_mul((*n).into()));
        // As many as the device holds, at least one on each unit: a kernel that fits nowhere was refused.
        let units = config.compute_units.max(1);
        let on_a_unit = match total <= units.into() {
            true => 1,
            false => setup.occupancy(&program.inner, kernel).map_or(1, |found| found.blocks_per_cu.max(1)),
        };
        let resident = on_a_unit as usize * units as usize;
        Job {
            resident,
            accessible_lds: setup.accessible_lds(config.bounds),
            program,
            kernel,
            setup,
            snapshot: space.snapshot(),
            space,
            blocks,
            cache,
            grid,
            total,
            counts: Counts::new(),
            queue: Mutex::default(),
            changed: Condvar::new(),
            gws: Arc::new(Gws::new(gws, total)),
            stop: AtomicBool::new(false),
            fault: Mutex::new(None),
            panic: Mutex::new(None),
            instruction_budget: config.instruction_budget,
            deadline: config.time_budget.map(|budget| Instant::now() + budget),
            schedule: config.schedule_seed.map(Schedule::new),
            bounds: config.bounds,
            fine_grained_atomics: config.fine_grained_atomics,
            sanitizes: config.sanitize,
            notices: Mutex::default(),
            observers,
            helpers: Mutex::new(0),
            idle: Condvar::new(),
        }
    }

    /// Returns the number of workgroups of the dispatch.
    pub(crate) fn total(&self) -> u64 {
        self.total
    }

    /// Runs workgroups until none is left that can begin or continue. `thread` is the number of the calling thread; 0
    /// is the thread that called [`Machine::dispatch`](crate::Machine::dispatch). `call` wakes the other threads; it is
    /// called once, when there is enough work for them. A panic (in the caller's printer, or because of a bug) ends the
    /// dispatch and not the thread.
    pub(crate) fn work(&self, thread: usize, call: Option<&dyn Fn()>) {
        let _helper = (thread != 0).then(|| HelperGuard::begin(self));
        // The workgroup that was running is dropped with its waves and LDS. The guest's memory may be partly written,
        // as after a fault. Nothing else is in an inconsistent state.
        if let Err(panic) = catch_unwind(AssertUnwindSafe(|| self.run_all(thread, call))) {
            self.panicked(panic.as_ref());
        }
    }

    /// Stops the dispatch because of a panic.
    #[cold]
    fn panicked(&self, panic: &(dyn Any + Send)) {
        lock(&self.panic).get_or_insert_with(|| panic_text(panic).into());
        self.stop.store(true, Relaxed);
    }

    fn run_all(&self, thread: usize, call: Option<&dyn Fn()>) {
        let _environment = FloatEnvironment::set();
        let refusable = self.snapshot.refusable();
        let _watch = (!refusable.is_empty()).then(|| Watch::begin(refusable));
        let mut recruiter = ThreadRecruiter { call, ran: 0 };
        lock(&self.queue).running += 1;
        // A workgroup that has ended, in whose place the next one begins.
        let mut ended = None;
        while !self.stop.load(Relaxed) {
            let Some(mut workgroup) = self.take(thread, &mut ended) else { break };
            let changes = self.gws.changes();
            match self.run(&mut workgroup, &mut recruiter) {
                TurnResult::Ended => {
                    self.finish(&mut workgroup);
                    ended = Some(workgroup);
                    // If the dispatch was stopped, the workgroup may not have run to its end.
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
                    // A change since `changes` was read may be what the workgroup waits for.
                    queue.unblock(changes);
                    queue.blocked.push_back(workgroup);
                }
            }
        }
        if let Some(workgroup) = ended {
            self.cache.put_back(thread, workgroup);
        }
    }

    /// Waits until no other thread is in [`work`](Self::work).
    pub(crate) fn wait(&self) {
        let mut helpers = lock(&self.helpers);
        while *helpers > 0 {
            helpers = self.idle.wait(helpers).unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// Prints what the kernel has written to its printf buffer. Must be called after [`wait`](Self::wait).
    pub(crate) fn print(&self) {
        let Some(print) = &self.setup.printf else { return };
        if let Err(panic) = catch_unwind(AssertUnwindSafe(print)) {
            self.panicked(panic.as_ref());
        }
    }

    /// Returns the result of the dispatch. Must be called after [`wait`](Self::wait).
    pub(crate) fn result(&self) -> Result<DispatchStats> {
        self.gws.keep();
        let mut defects = self.observers.as_ref().map(Observers::defects).unwrap_or_default();
        let notices = lock(&self.notices).take().map_or_else(Vec::new, |noted| {
            notices::list(&self.program.inner, &self.setup.decoded.code, &self.kernel_name(), noted)
        });
        if self.sanitizes {
            let ignored = notices.iter().filter(|notice| notice.kind == NoticeKind::FineGrainedAtomic);
            defects.extend(ignored.map(Defect::from));
        }
        // What stops a dispatch is looked for only if something has.
        let is_stopped = self.stop.load(Relaxed);
        if is_stopped && let Some(mut fault) = lock(&self.fault).take() {
            fault.defects = defects;
            return Err(Error::Fault(Box::new(fault)));
        }
        let workgroups = self.counts.ended.load(Relaxed);
        let panic = is_stopped.then(|| lock(&self.panic).take()).flatten();
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
        let waves = self.setup.all_waves();
        let profile = self.observers.as_ref().and_then(Observers::profile).map(|counts| {
            let occupancy = self.setup.occupancy(&self.program.inner, self.kernel);
            let wave_lanes = self.setup.wave_lanes();
            Box::new(Profile { dispatches: 1, workgroups, waves, wave_lanes, occupancy, ..counts })
        });
        Ok(DispatchStats {
            wave_instructions: self.counts.instructions.load(Relaxed),
            waves,
            workgroups,
            profile,
            notices,
        })
    }

    fn kernel_name(&self) -> String {
        self.program.inner.object().kernels().get(self.kernel).map_or_else(String::new, |k| k.name.clone())
    }

    /// Returns a workgroup to run. Returns `None` if none is left, and the thread then no longer counts as running. If
    /// workgroups are blocked and no other thread is running, they wait for each other, and the dispatch fails.
    fn take(&self, thread: usize, ended: &mut Option<Box<Workgroup>>) -> Option<Box<Workgroup>> {
        loop {
            let found = self.find(thread, ended);
            if found.is_some() {
                return found;
            }
            let mut queue = lock(&self.queue);
            let parked = self.take_parked(&mut queue);
            if parked.is_some() {
                return parked;
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
            // A workgroup that another thread runs may unblock them.
            let (mut queue, _) =
                self.changed.wait_timeout(queue, RETRY).unwrap_or_else(PoisonError::into_inner);
            queue.running += 1;
        }
    }

    /// Returns a new workgroup; `None` if none is left, or as many have begun as the device holds. With a schedule seed it may also be
    /// one that was parked.
    fn find(&self, thread: usize, ended: &mut Option<Box<Workgroup>>) -> Option<Box<Workgroup>> {
        if self.schedule.as_ref().is_some_and(|schedule| schedule.draw().below(2) == 0)
            && let Some(workgroup) = self.take_parked(&mut lock(&self.queue))
        {
            return Some(workgroup);
        }
        if self.counts.resident.fetch_add(1, Relaxed) < self.resident {
            let number = self.counts.next.fetch_add(1, Relaxed);
            if number < self.total {
                let number = self.schedule.as_ref().map_or(number, |s| s.workgroup(number, self.total));
                return Some(self.begin(number, thread, ended.take()));
            }
        }
        self.counts.resident.fetch_sub(1, Relaxed);
        None
    }

    /// Returns the workgroup that was parked first. With a schedule seed it returns a random one.
    fn take_parked(&self, queue: &mut Queue) -> Option<Box<Workgroup>> {
        queue.unblock(self.gws.changes());
        match &self.schedule {
            Some(schedule) => {
                let any = schedule.draw().below(queue.parked.len());
                queue.parked.swap_remove_back(any)
            }
            None => queue.parked.pop_front(),
        }
    }

    /// Begins the workgroup with a number, in place of one that has ended, if there is one.
    fn begin(&self, number: u64, thread: usize, ended: Option<Box<Workgroup>>) -> Box<Workgroup> {
        let [x, y, _] = self.grid.map(u64::from);
        let place = [(number % x) as u32, (number / x % y) as u32, (number / (x * y)) as u32];
        let waves = self.setup.items_of(place).waves.len();
        let mut workgroup = ended.unwrap_or_else(|| Box::new(self.new_workgroup(thread)));
        workgroup.begin(place, waves, self.accessible_lds);
        workgroup.observer = self.observers.as_ref().map(|observers| observers.begin(number, place, waves));
        workgroup.rng = self.schedule.as_ref().map(|schedule| schedule.of_workgroup(number));
        workgroup
    }

    fn new_workgroup(&self, thread: usize) -> Workgroup {
        let (left, recent, lds) = self.cache.take(thread);
        let cx = ExecContext {
            code: Arc::clone(&self.setup.decoded.code),
            mem: View::reusing(
                recent,
                Arc::clone(&self.snapshot),
                Arc::clone(&self.setup.block),
                Arc::clone(&self.blocks),
                Some(Arc::clone(&self.space)),
            ),
            lds,
            fault: None,
            count: 0,
            ticks: 0,
            workgroup: [0; 3],
            host: self.setup.host.clone(),
            gws: Arc::clone(&self.gws),
            barrier: SplitBarrier::default(),
            notices: Notices {
                bounds: self.bounds,
                fine_grained_atomics: self.fine_grained_atomics,
                ..Notices::default()
            },
        };
        Workgroup::new(cx, left)
    }

    /// Takes the results of a workgroup that has ended, or was stopped.
    fn finish(&self, workgroup: &mut Workgroup) {
        if let (Some(observers), Some(observer)) = (&self.observers, workgroup.observer.take()) {
            observers.end(*observer);
        }
        self.counts.resident.fetch_sub(1, Relaxed);
        let seen = &mut workgroup.cx.notices.seen;
        if !seen.is_empty() {
            let mut notices = lock(&self.notices);
            let notices = notices.get_or_insert_default();
            for (place, noted) in std::mem::take(seen) {
                notices.entry(place).and_modify(|known| known.merge(&noted)).or_insert(noted);
            }
        }
    }

    /// Runs a workgroup for one turn, and counts its instructions.
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
        let mut turn = 0;
        // With a small budget, a slice of each wave must not exceed it by far.
        let slice = self.instruction_budget.map_or(SLICE, |budget| budget.clamp(1, SLICE));
        let begun = workgroup.cx.count;
        // Now and then it is found out whether all waves that can run spin. An observer sees each instruction as it is.
        let may_spin = workgroup.observer.is_none() && self.total > 1;
        let mut passes = 0u32;
        loop {
            let looks_for_spins = may_spin && passes % PASSES_BETWEEN_LOOKS == 0;
            passes = passes.wrapping_add(1);
            let before = workgroup.cx.count;
            let slice = if looks_for_spins && workgroup.spins { SPIN_SLICE.min(slice) } else { slice };
            let Some(pass) = self.run_pass(workgroup, slice, looks_for_spins) else {
                return TurnResult::Ended;
            };
            let ran = workgroup.cx.count - before;
            turn += ran + pass.yielded;
            recruiter.ran(ran);
            // Only a budget needs the sum before the end of the turn. Threads that update a counter slow each other
            // down.
            let within = self
                .instruction_budget
                .is_none_or(|budget| self.counts.instructions.fetch_add(ran, Relaxed) + ran <= budget);
            if !pass.is_ready {
                let may_block = ran == 0 && !self.stop.load(Relaxed) && within;
                if let Some(result) = meet_barrier(workgroup, may_block) {
                    return result;
                }
            }
            if !within || self.setup.interrupt.is_set() || self.deadline.is_some_and(|d| Instant::now() > d) {
                self.fail_over_budget(workgroup, begun);
                return TurnResult::Ended;
            }
            if self.stop.load(Relaxed) {
                return TurnResult::Ended;
            }
            workgroup.spins = pass.is_ready && pass.all_spin;
            if turn > limit || workgroup.spins {
                turn = 0;
                if self.has_others() {
                    return TurnResult::Parked;
                }
                std::thread::yield_now();
            }
        }
    }

    /// Runs each wave of a workgroup that can run, for a time slice. `None` if one has a fault, which is reported.
    fn run_pass(&self, workgroup: &mut Workgroup, slice: u64, looks_for_spins: bool) -> Option<Pass> {
        let Workgroup { members, order, spare, cx, observer, rng, spins, kept, met } = workgroup;
        let code = &*self.setup.decoded.code;
        let mut pass = Pass { is_ready: false, all_spin: looks_for_spins, yielded: 0 };
        *spins = false;
        if let Some(rng) = rng {
            rng.shuffle(order);
        }
        for member in members.iter_mut().filter(|member| member.state == State::Waiting) {
            let Some(wave) = &mut member.wave else { continue };
            if wave.wait.is_none_or(|wait| self.gws.can_continue(wait)) {
                wave.wait = None;
                member.state = State::Ready;
            }
        }
        if code.target.is_gfx12() {
            let is_met = |m: &Member| m.wave.as_ref().is_some_and(|wave| cx.barrier.is_met(wave.signalled));
            for member in members.iter_mut().filter(|m| m.state == State::AtBarrier && is_met(m)) {
                member.state = State::Ready;
                if let Some(observer) = observer.as_mut().filter(|_| *met != cx.barrier.phase()) {
                    observer.barrier();
                }
                *met = cx.barrier.phase();
            }
        }
        for index in order.iter() {
            let Some(member) = members.get_mut(*index).filter(|m| m.state == State::Ready) else {
                continue;
            };
            let wave = member.wave.get_or_insert_with(|| {
                let mut wave = spare.pop().unwrap_or_else(|| Box::new(Wave::new()));
                self.setup.init_wave(&mut wave, *index as u32, cx.workgroup);
                wave
            });
            let count = cx.count;
            let slice = rng.as_mut().map_or(slice, |rng| rng.spread(slice));
            let stop = if rng.is_some() || observer.is_some() {
                let observer = observer.as_deref_mut().map(|observer| observer as &mut dyn Observer);
                run_wave_observed(wave, cx, code, slice, observer)
            } else {
                run_wave(wave, cx, code, slice)
            };
            let (stop, repeats) = match stop {
                StopReason::Slice if pass.all_spin => spin::round(wave, cx, code, self.setup.vectors, kept),
                _ => (stop, false),
            };
            pass.all_spin &= repeats || stop != StopReason::Slice;
            match stop {
                StopReason::Slice => {
                    pass.is_ready = true;
                    if cx.count - count < slice {
                        pass.yielded += YIELD_COST;
                    }
                }
                StopReason::Barrier => member.state = State::AtBarrier,
                StopReason::Wait => member.state = State::Waiting,
                StopReason::End => {
                    cx.barrier.leave(wave.signalled);
                    member.state = State::Ended;
                    spare.extend(member.wave.take());
                }
                StopReason::Fault => {
                    let cause = cx.fault.take().unwrap_or(FaultCause::IllegalInstruction);
                    self.fail(cause, wave, cx);
                    return None;
                }
            }
        }
        Some(pass)
    }

    /// Returns whether other workgroups can begin or continue.
    fn has_others(&self) -> bool {
        self.counts.next.load(Relaxed) < self.total || {
            let mut queue = lock(&self.queue);
            queue.unblock(self.gws.changes());
            !queue.parked.is_empty()
        }
    }

    /// Stops the dispatch because it is over its budget. `begun` is the workgroup's count of instructions when its turn began.
    #[cold]
    fn fail_over_budget(&self, workgroup: &Workgroup, begun: u64) {
        let Workgroup { members, cx, .. } = workgroup;
        // Report a wave that runs in preference to one that waits.
        let at_barrier = members.iter().filter(|m| m.state == State::AtBarrier).count() as u32;
        let runs = members.iter().filter(|m| m.state == State::Ready).find_map(|m| m.wave.as_deref());
        if let Some(wave) = runs.or_else(|| members.iter().find_map(|m| m.wave.as_deref())) {
            let mut instructions = self.counts.instructions.load(Relaxed);
            if self.instruction_budget.is_none() {
                instructions += cx.count - begun;
            }
            let cause = if self.setup.interrupt.is_set() {
                FaultCause::Interrupted { instructions }
            } else {
                FaultCause::OverBudget { instructions, at_barrier }
            };
            self.fail(cause, wave, cx);
        }
    }

    /// Stops the dispatch because the waves of `blocked` wait for each other.
    #[cold]
    fn fail_blocked(&self, mut blocked: VecDeque<Box<Workgroup>>) {
        blocked.make_contiguous().sort_by_key(|workgroup| {
            let [x, y, z] = workgroup.cx.workgroup;
            [z, y, x]
        });
        let (mut waiting, mut waves) = (Vec::new(), 0);
        for workgroup in &blocked {
            for Member { wave, state } in &workgroup.members {
                let Some(wave) = wave else { continue };
                let waits_for = match (state, wave.wait) {
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
            let waiting = members.iter_mut().find(|m| m.state == State::Waiting);
            waiting.and_then(|member| member.wave.as_deref_mut()).map(|wave| (wave, cx))
        });
        if let Some((wave, cx)) = stuck {
            // Report the instruction that the wave executed last.
            wave.next = wave.next.saturating_sub(1);
            self.fail(cause, wave, cx);
        }
    }

    /// Stops the dispatch with a fault. If several waves fault, the first report is kept.
    #[cold]
    fn fail(&self, cause: FaultCause, wave: &Wave, cx: &ExecContext) {
        let cause = match cause {
            FaultCause::OutOfBounds { access, space: MemorySpace::Scratch, size, lanes } => {
                let (scratch, dynamic) = (self.setup.scratch, self.setup.dynamic_stack);
                FaultCause::StackOverflow { access, size, lanes, scratch, dynamic }
            }
            cause => cause,
        };
        let program = &self.program.inner;
        let i = &cx.code.insts[wave.next as usize];
        let pc = program.vaddr(cx.code.base + 4 * u64::from(i.pc));
        let nearest = match &cause {
            FaultCause::OutOfBounds { space: MemorySpace::Global, lanes, size, .. }
            | FaultCause::Misaligned { space: MemorySpace::Global, lanes, size } => {
                lanes.first().map(|LaneAddress { address, .. }| {
                    self.space.nearest(*address, u64::from(*size), &self.blocks)
                })
            }
            FaultCause::OutOfBounds { space: MemorySpace::Lds, .. } => Some(format!(
                "the workgroup has {} bytes of LDS, {} of them dynamic; a GPU does not stop this: it allocates granules of 512 \
                 bytes, on gfx950 1,280 and on gfx11 1,024, and reads behind them give 0 and writes do nothing; so it is with \
                 `--bounds pages`",
                self.setup.lds, self.setup.dynamic_lds
            )),
            FaultCause::Refused { address, .. } | FaultCause::ReadOnly { address } => {
                Some(self.space.nearest(*address, 1, &self.blocks))
            }
            _ => None,
        };
        let report = FaultReport {
            cause,
            kernel: self.kernel_name(),
            workgroup: cx.workgroup,
            wave: wave.id,
            pc,
            function: program.object().function_at(pc).map(|f| (f.name.clone(), pc - f.address)),
            source: program.object().source_at(pc),
            mnemonic: i.row.name,
            instruction: amdgpu_isa::disassemble_lenient(cx.code.isa(), &i.raw, pc).text,
            encoding: i.row.encoding().map_or("", |e| e.name()),
            raw: [i.raw[0], i.raw[1]],
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

/// Returns the message of a panic.
fn panic_text(panic: &(dyn Any + Send)) -> &str {
    let text = panic.downcast_ref::<&str>().copied();
    text.or_else(|| panic.downcast_ref::<String>().map(String::as_str)).unwrap_or("no message")
}
