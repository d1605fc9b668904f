//! A workgroup that has begun: its waves, and what they use.

#![allow(clippy::vec_box, reason = "waves are moved between workgroups and the caches of threads")]

use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::exec::inst::ExecContext;
use crate::host::schedule::ScheduleRng;
use crate::host::spin::Registers;
use crate::memory::Recent;
use crate::memory::lds::Lds;
use crate::observe::WorkgroupObserver;
use crate::state::barrier::SplitBarrier;
use crate::state::wave::Wave;

/// A wave of a workgroup, and its scheduling state.
pub(super) struct Member {
    /// `None` until it first runs, and after it has ended. A wave that ends without waiting for another leaves its
    /// registers, which are then in the nearest cache, to the next one.
    pub(super) wave: Option<Box<Wave>>,
    pub(super) state: State,
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum State {
    Ready,
    AtBarrier,
    /// The wave waits for waves of other workgroups; `Wave::wait` says for what.
    Waiting,
    Ended,
}

/// A workgroup that has begun. Once it has ended, another workgroup of the dispatch begins in its place.
pub(super) struct Workgroup {
    pub(super) members: Vec<Member>,
    /// Indices into `members`, in the order in which they run.
    pub(super) order: Vec<usize>,
    /// The registers of waves that have ended, and those for waves that have not begun.
    pub(super) spare: Vec<Box<Wave>>,
    pub(super) cx: ExecContext,
    /// Observes the workgroup's instructions; `None` if the dispatch is not observed.
    pub(super) observer: Option<Box<WorkgroupObserver>>,
    /// Shuffles `order`, and selects the lengths of slices and turns; `None` without a schedule seed.
    pub(super) rng: Option<ScheduleRng>,
    /// Whether its waves spun when it was parked.
    pub(super) spins: bool,
    /// Registers that are compared to find that out.
    pub(super) kept: Registers,
    /// How often the barrier of gfx12 was met when the observer was last told.
    pub(super) met: u32,
}

impl Workgroup {
    /// Returns what a workgroup of a dispatch consists of, before one has begun. It uses what another one left.
    pub(super) fn new(cx: ExecContext, left: Left) -> Workgroup {
        let Left { members, order, spare, kept } = left;
        Workgroup { members, order, spare, cx, observer: None, rng: None, spins: false, kept, met: 0 }
    }

    /// Begins the workgroup at `place` of the grid, of so many waves and with so many bytes of LDS, in place of one that has
    /// ended, of which nothing is left.
    pub(super) fn begin(&mut self, place: [u32; 3], waves: usize, lds: u32) {
        for member in &mut self.members {
            self.spare.extend(member.wave.take());
            member.state = State::Ready;
        }
        self.members.resize_with(waves, || Member { wave: None, state: State::Ready });
        // Only a schedule changes their order.
        if self.order.len() != waves || self.rng.is_some() {
            self.order.clear();
            self.order.extend(0..waves);
        }
        (self.spins, self.met) = (false, 0);
        self.cx.barrier = SplitBarrier::of(waves as u32);
        let ExecContext { mem, lds: memory, fault, count, ticks, workgroup, .. } = &mut self.cx;
        mem.forget();
        memory.reset(lds);
        (*fault, *count, *ticks, *workgroup) = (None, 0, 0, place);
    }
}

/// Memory that a workgroup leaves to a later one. Its contents are arbitrary.
#[derive(Default)]
pub(super) struct Left {
    members: Vec<Member>,
    order: Vec<usize>,
    spare: Vec<Box<Wave>>,
    kept: Registers,
}

/// The registers and LDS of workgroups that have ended, which those of later dispatches reuse. Each host thread has its own,
/// because they are in the caches of the core that used them last.
pub(crate) struct WorkgroupCache {
    threads: Box<[Mutex<ThreadCache>]>,
}

#[derive(Default)]
#[repr(align(128))]
struct ThreadCache(Vec<(Left, Recent, Lds)>);

/// The number of waves that a cache keeps, divided among its threads.
const CACHED_WAVES: usize = 256;
/// The number of waves that are kept of one workgroup: those of the largest one, if they have 32 lanes.
const WAVES_OF_ONE: usize = 32;

impl WorkgroupCache {
    pub(crate) fn new(threads: usize) -> WorkgroupCache {
        WorkgroupCache { threads: (0..threads).map(|_| Mutex::default()).collect() }
    }

    /// Returns the cache of a thread. A thread whose number is too high shares the cache of another.
    fn of_thread(&self, thread: usize) -> Option<MutexGuard<'_, ThreadCache>> {
        let cache = self.threads.get(thread % self.threads.len().max(1))?;
        Some(cache.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Removes what the last workgroup of a thread left, or makes what a new one needs.
    pub(super) fn take(&self, thread: usize) -> (Left, Recent, Lds) {
        let left = self.of_thread(thread).and_then(|mut cache| cache.0.pop());
        left.unwrap_or_else(|| (Left::default(), Recent::default(), Lds::new()))
    }

    /// Keeps the memory of a workgroup that has ended.
    #[allow(clippy::boxed_local, reason = "its parts are moved from where they are")]
    pub(super) fn put_back(&self, thread: usize, workgroup: Box<Workgroup>) {
        let Workgroup { members, mut order, mut spare, rng, kept, cx, .. } = *workgroup;
        if rng.is_some() {
            order.clear();
        }
        let most = (CACHED_WAVES / WAVES_OF_ONE / self.threads.len().max(1)).max(1);
        let Some(mut cache) = self.of_thread(thread) else { return };
        if cache.0.len() < most {
            spare.truncate(WAVES_OF_ONE);
            cache.0.push((Left { members, order, spare, kept }, cx.mem.into_recent(), cx.lds));
        }
    }
}
