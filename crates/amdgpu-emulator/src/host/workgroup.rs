//! A workgroup that has begun: its waves, and what they use.

#![allow(clippy::vec_box, reason = "waves are moved between workgroups and the caches of threads")]

use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::exec::inst::ExecContext;
use crate::host::schedule::ScheduleRng;
use crate::host::spin::Registers;
use crate::memory::lds::Lds;
use crate::observe::WorkgroupObserver;
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
}

impl Workgroup {
    /// Returns what a workgroup of a dispatch consists of, before one has begun.
    pub(super) fn new(cx: ExecContext, spare: Vec<Box<Wave>>) -> Workgroup {
        Workgroup {
            members: Vec::new(),
            order: Vec::new(),
            spare,
            cx,
            observer: None,
            rng: None,
            spins: false,
            kept: Registers::default(),
        }
    }

    /// Begins the workgroup at `place` of the grid, of so many waves and with so many bytes of LDS, in place of one that has
    /// ended, of which nothing is left.
    pub(super) fn begin(&mut self, place: [u32; 3], waves: usize, lds: u32) {
        self.spare.extend(self.members.drain(..).filter_map(|member| member.wave));
        self.members.extend((0..waves).map(|_| Member { wave: None, state: State::Ready }));
        self.order.clear();
        self.order.extend(0..waves);
        self.spins = false;
        let ExecContext { mem, lds: memory, fault, count, ticks, workgroup, .. } = &mut self.cx;
        mem.forget();
        memory.reset(lds);
        (*fault, *count, *ticks, *workgroup) = (None, 0, 0, place);
    }
}

/// The registers and LDS of workgroups that have ended, which those of later dispatches reuse. Each host thread has its own,
/// because they are in the caches of the core that used them last.
pub(crate) struct WorkgroupCache {
    threads: Box<[Mutex<ThreadCache>]>,
}

#[derive(Default)]
#[repr(align(128))]
struct ThreadCache {
    waves: Vec<Box<Wave>>,
    lds: Vec<Lds>,
}

/// The number of waves that a cache keeps, divided among its threads.
const CACHED_WAVES: usize = 256;
/// The number of waves that each thread may keep in any case: those of two full workgroups.
const MIN_CACHED_WAVES: usize = 32;

impl WorkgroupCache {
    pub(crate) fn new(threads: usize) -> WorkgroupCache {
        WorkgroupCache { threads: (0..threads).map(|_| Mutex::default()).collect() }
    }

    /// Returns the cache of a thread. A thread whose number is too high shares the cache of another.
    fn of_thread(&self, thread: usize) -> Option<MutexGuard<'_, ThreadCache>> {
        let cache = self.threads.get(thread % self.threads.len().max(1))?;
        Some(cache.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Removes up to `count` waves and one LDS, and returns them. Their contents are arbitrary.
    pub(super) fn take(&self, thread: usize, count: usize) -> (Vec<Box<Wave>>, Lds) {
        let Some(mut cache) = self.of_thread(thread) else { return (Vec::new(), Lds::new()) };
        let from = cache.waves.len().saturating_sub(count);
        (cache.waves.split_off(from), cache.lds.pop().unwrap_or_else(Lds::new))
    }

    /// Keeps the waves and the LDS of a workgroup that has ended.
    pub(super) fn put_back(&self, thread: usize, workgroup: Workgroup) {
        let Workgroup { mut spare, cx, .. } = workgroup;
        let most = (CACHED_WAVES / self.threads.len().max(1)).max(MIN_CACHED_WAVES);
        let Some(mut cache) = self.of_thread(thread) else { return };
        cache.waves.append(&mut spare);
        cache.waves.truncate(most);
        if cache.lds.len() < most / 16 {
            cache.lds.push(cx.lds);
        }
    }
}
