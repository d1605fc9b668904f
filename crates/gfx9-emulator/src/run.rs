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
use std::time::Instant;

use crate::error::{Error, Result};
use crate::fault::{FaultCause, FaultReport, LaneAddress, Space};
use crate::launch::Setup;
use crate::lds::Lds;
use crate::memory::{AddressSpace, Snapshot, View};
use crate::observe::{Observers, Profile};
use crate::program::Program;
use crate::schedule::{Dice, Schedule};
use crate::wave::Wave;
use crate::workgroup::{Ctx, Stop, run_wave, run_wave_observed};

/// Wave instructions after which the next wave of a workgroup runs.
const SLICE: u64 = 20_000;
/// Wave instructions after which a workgroup is parked if others wait.
const TURN: u64 = 2_000_000;
/// What giving way counts as, in instructions of a turn.
const GIVE_WAY: u64 = 20_000;
/// Workgroups that have begun and not ended, at most: as many as a GPU of 104 compute units holds of 256 work-items,
/// or so.
const RESIDENT: usize = 1024;

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
    Ended,
}

struct Workgroup {
    members: Vec<Member>,
    /// The order in which they run.
    order: Vec<usize>,
    cx: Ctx,
    /// With a schedule seed: what that order and the lengths of slices and turns are drawn with.
    dice: Option<Dice>,
}

/// Registers and LDS of workgroups, kept for the next ones.
#[derive(Default)]
pub(crate) struct Stash {
    waves: Mutex<Vec<Wave>>,
    lds: Mutex<Vec<Lds>>,
}

/// Waves that a stash keeps: those of a full workgroup for each of several threads.
const STASHED: usize = 256;

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// One dispatch being run by several threads.
pub(crate) struct Job {
    program: Program,
    kernel: usize,
    setup: Setup,
    snapshot: Arc<Snapshot>,
    space: Arc<AddressSpace>,
    stash: Arc<Stash>,
    grid: [u32; 3],
    total: u64,
    /// Workgroups begun.
    next: AtomicU64,
    /// Workgroups ended.
    ended: AtomicU64,
    resident: AtomicUsize,
    parked: Mutex<VecDeque<Box<Workgroup>>>,
    stop: AtomicBool,
    fault: Mutex<Option<FaultReport>>,
    /// What the first thread that panicked said.
    panic: Mutex<Option<String>>,
    instructions: AtomicU64,
    instruction_budget: u64,
    deadline: Option<Instant>,
    schedule: Option<Schedule>,
    observers: Option<Observers>,
    /// Threads at work.
    active: Mutex<usize>,
    idle: Condvar,
}

/// Says when a thread is no longer at work.
struct Leave<'a>(&'a Job);

impl Drop for Leave<'_> {
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
        setup: Setup,
        space: Arc<AddressSpace>,
        stash: Arc<Stash>,
        grid: [u32; 3],
        instruction_budget: Option<u64>,
        deadline: Option<Instant>,
        schedule_seed: Option<u64>,
        observers: Option<Observers>,
    ) -> Job {
        Job {
            program,
            kernel,
            setup,
            snapshot: space.snapshot(),
            space,
            stash,
            grid,
            total: grid.iter().fold(1, |total: u64, n| total.saturating_mul((*n).into())),
            next: AtomicU64::new(0),
            ended: AtomicU64::new(0),
            resident: AtomicUsize::new(0),
            parked: Mutex::new(VecDeque::new()),
            stop: AtomicBool::new(false),
            fault: Mutex::new(None),
            panic: Mutex::new(None),
            instructions: AtomicU64::new(0),
            instruction_budget: instruction_budget.unwrap_or(u64::MAX),
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

    /// Runs workgroups until there is nothing left to begin or go on with. A panic (in what the caller gave for
    /// printing, or by a mistake of ours) ends the dispatch, not the thread.
    pub(crate) fn work(&self) {
        *lock(&self.active) += 1;
        let _leave = Leave(self);
        // The workgroup that was running is lost with its waves and LDS; nothing else is left half-changed, but for
        // the guest's memory, as after a fault.
        if let Err(panic) = catch_unwind(AssertUnwindSafe(|| self.run_all())) {
            lock(&self.panic).get_or_insert_with(|| panic_text(panic.as_ref()).into());
            self.stop.store(true, Relaxed);
        }
    }

    fn run_all(&self) {
        while !self.stop.load(Relaxed) {
            let Some(mut workgroup) = self.take() else { break };
            if self.run(&mut workgroup) {
                self.give_back(*workgroup);
                // It may have been cut short.
                if !self.stop.load(Relaxed) {
                    self.ended.fetch_add(1, Relaxed);
                }
            } else {
                lock(&self.parked).push_back(workgroup);
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
        let defects = self.observers.as_ref().map(Observers::defects).unwrap_or_default();
        if let Some(mut fault) = lock(&self.fault).take() {
            fault.defects = defects;
            return Err(Error::Fault(Box::new(fault)));
        }
        let workgroups = self.ended.load(Relaxed);
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
        Ok(DispatchStats { wave_instructions: self.instructions.load(Relaxed), waves, workgroups, profile })
    }

    fn kernel_name(&self) -> String {
        self.program.inner.object().kernels().get(self.kernel).map_or_else(String::new, |k| k.name.clone())
    }

    /// A workgroup to run: a new one while there is room, else the one parked longest; with a schedule seed either.
    fn take(&self) -> Option<Box<Workgroup>> {
        if self.schedule.as_ref().is_some_and(|schedule| schedule.draw().below(2) == 0)
            && let Some(workgroup) = self.take_parked()
        {
            return Some(workgroup);
        }
        if self.resident.fetch_add(1, Relaxed) < RESIDENT {
            let number = self.next.fetch_add(1, Relaxed);
            if number < self.total {
                let number = self.schedule.as_ref().map_or(number, |s| s.workgroup(number, self.total));
                return Some(Box::new(self.begin(number)));
            }
        }
        self.resident.fetch_sub(1, Relaxed);
        self.take_parked()
    }

    /// The workgroup parked longest; with a schedule seed any.
    fn take_parked(&self) -> Option<Box<Workgroup>> {
        let mut parked = lock(&self.parked);
        match &self.schedule {
            Some(schedule) => {
                let any = schedule.draw().below(parked.len());
                parked.swap_remove_back(any)
            }
            None => parked.pop_front(),
        }
    }

    fn begin(&self, number: u64) -> Workgroup {
        let [x, y, _] = self.grid.map(u64::from);
        let workgroup = [(number % x) as u32, (number / x % y) as u32, (number / (x * y)) as u32];
        let count = self.setup.waves as usize;
        let mut waves = {
            let mut stash = lock(&self.stash.waves);
            let from = stash.len().saturating_sub(count);
            stash.split_off(from)
        };
        waves.resize_with(count, Wave::new);
        let mut lds = lock(&self.stash.lds).pop().unwrap_or_else(Lds::new);
        lds.reset(self.setup.lds);
        let members: Vec<Member> = waves
            .into_iter()
            .enumerate()
            .map(|(id, mut wave)| {
                self.setup.init_wave(&mut wave, id as u32, workgroup);
                Member { wave, state: State::Ready }
            })
            .collect();
        let cx = Ctx {
            code: Arc::clone(&self.setup.code),
            mem: View::new(Arc::clone(&self.snapshot), Arc::clone(&self.setup.block))
                .with_live(Arc::clone(&self.space)),
            lds,
            fault: None,
            count: 0,
            ticks: 0,
            workgroup,
            watch: self.observers.as_ref().map(|observers| observers.begin(number, workgroup, count)),
            hostcall: self.setup.hostcall.clone(),
        };
        let order = (0..members.len()).collect();
        let dice = self.schedule.as_ref().map(|schedule| schedule.of_workgroup(number));
        Workgroup { members, order, cx, dice }
    }

    fn give_back(&self, mut workgroup: Workgroup) {
        if let (Some(observers), Some(watch)) = (&self.observers, workgroup.cx.watch.take()) {
            observers.end(*watch);
        }
        self.resident.fetch_sub(1, Relaxed);
        let mut stash = lock(&self.stash.waves);
        let room = STASHED.saturating_sub(stash.len());
        stash.extend(workgroup.members.into_iter().map(|m| m.wave).take(room));
        drop(stash);
        let mut lds = lock(&self.stash.lds);
        if lds.len() < STASHED / 16 {
            lds.push(workgroup.cx.lds);
        }
    }

    /// Runs a workgroup for a turn. True if it has ended (or the dispatch has to stop).
    fn run(&self, workgroup: &mut Workgroup) -> bool {
        let Workgroup { members, order, cx, dice } = workgroup;
        let limit = dice.as_mut().map_or(TURN, |dice| dice.spread(TURN));
        let mut turn = 0;
        // A small budget isn't overrun by a slice of each wave.
        let slice = self.instruction_budget.clamp(1, SLICE);
        loop {
            let before = cx.count;
            let mut ready = false;
            if let Some(dice) = dice {
                dice.shuffle(order);
            }
            for index in order.iter() {
                let Some(member) = members.get_mut(*index).filter(|m| m.state == State::Ready) else {
                    continue;
                };
                let count = cx.count;
                let slice = dice.as_mut().map_or(slice, |dice| dice.spread(slice));
                let stop = if dice.is_some() || cx.watch.is_some() {
                    run_wave_observed(&mut member.wave, cx, slice)
                } else {
                    run_wave(&mut member.wave, cx, slice)
                };
                match stop {
                    Stop::Slice => {
                        ready = true;
                        if cx.count - count < slice {
                            turn += GIVE_WAY;
                        }
                    }
                    Stop::Barrier => member.state = State::AtBarrier,
                    Stop::End => member.state = State::Ended,
                    Stop::Fault => {
                        let cause = cx.fault.take().unwrap_or(FaultCause::IllegalInstruction);
                        self.fail(cause, &member.wave, cx);
                        return true;
                    }
                }
            }
            let ran = cx.count - before;
            turn += ran;
            let all = self.instructions.fetch_add(ran, Relaxed) + ran;
            if !ready {
                // Every wave has ended or waits; those that have ended don't count.
                let mut waiting = false;
                for member in members.iter_mut().filter(|m| m.state == State::AtBarrier) {
                    member.state = State::Ready;
                    waiting = true;
                }
                if let Some(watch) = &mut cx.watch {
                    watch.barrier();
                }
                if !waiting {
                    return true;
                }
            }
            if all > self.instruction_budget || self.deadline.is_some_and(|d| Instant::now() > d) {
                if let Some(member) = members.iter().find(|m| m.state != State::Ended) {
                    self.fail(FaultCause::OverBudget { instructions: all }, &member.wave, cx);
                }
                return true;
            }
            if self.stop.load(Relaxed) {
                return true;
            }
            if turn > limit {
                turn = 0;
                let others = self.next.load(Relaxed) < self.total || !lock(&self.parked).is_empty();
                if others {
                    return false;
                }
                std::thread::yield_now();
            }
        }
    }

    /// Stops the dispatch; the first fault is reported.
    #[cold]
    fn fail(&self, cause: FaultCause, wave: &Wave, cx: &Ctx) {
        let program = &self.program.inner;
        let i = &cx.code.insts[wave.next as usize];
        let pc = program.vaddr(cx.code.base + 4 * u64::from(i.pc));
        let nearest = match &cause {
            FaultCause::OutOfBounds { space: Space::Global, lanes, .. } => {
                lanes.first().map(|LaneAddress { address, .. }| self.space.nearest(*address))
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
            mnemonic: i.row.name,
            instruction: crate::disasm::instruction(cx.code.target, i.raw, pc).text,
            encoding: crate::tables::encoding_of(i.row).map_or("", |e| e.name()),
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
