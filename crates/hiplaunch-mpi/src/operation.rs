//! An operation: its messages or its collective call, and how far it is.
//!
//! It is shared by the thread that enqueued it, by host functions of streams and by the progress thread. It owns nothing of
//! HIP, so that it may be dropped in a host function.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use mpi::ffi;

use crate::counters::{Counts, add};
use crate::error::Error;
use crate::number::Reduce;

/// One call of MPI that an operation needs. Addresses are of staging memory.
pub(crate) enum Part {
    Send {
        from: *const u8,
        bytes: usize,
        peer: usize,
        tag: u16,
    },
    Receive {
        to: *mut u8,
        bytes: usize,
        peer: usize,
        tag: u16,
    },
    AllReduce {
        from: *const u8,
        to: *mut u8,
        count: usize,
        bytes: usize,
        datatype: ffi::MPI_Datatype,
        op: ffi::MPI_Op,
        /// The type of the numbers, and what is computed.
        kind: (&'static str, Reduce),
    },
    Broadcast {
        memory: *mut u8,
        bytes: usize,
        root: usize,
    },
    /// `bytes` are those of one rank.
    AllGather {
        from: *const u8,
        to: *mut u8,
        bytes: usize,
    },
    Barrier,
}

// SAFETY: the addresses are of staging memory, which the communicator keeps until the operation is finished. The handles are
// constants of MPI.
unsafe impl Send for Part {}
// SAFETY: parts are never changed.
unsafe impl Sync for Part {}

impl Part {
    /// The other rank of a message.
    pub(crate) fn peer(&self) -> Option<usize> {
        match self {
            Part::Send { peer, .. } | Part::Receive { peer, .. } => Some(*peer),
            _ => None,
        }
    }

    /// The bytes that the rank gives to a collective call.
    pub(crate) fn collective_bytes(&self) -> usize {
        match *self {
            Part::AllReduce { bytes, .. } | Part::Broadcast { bytes, .. } | Part::AllGather { bytes, .. } => {
                bytes
            }
            Part::Send { .. } | Part::Receive { .. } | Part::Barrier => 0,
        }
    }

    /// A number that is the same on all ranks that make the same collective call.
    pub(crate) fn signature(&self, call: &str) -> u64 {
        let mut hasher = DefaultHasher::new();
        (call, self.collective_bytes()).hash(&mut hasher);
        match *self {
            Part::Broadcast { root, .. } => root.hash(&mut hasher),
            Part::AllReduce { kind, .. } => kind.hash(&mut hasher),
            _ => {}
        }
        hasher.finish()
    }

    /// Counts what is passed to MPI.
    pub(crate) fn count(&self, counts: &Counts) {
        match *self {
            Part::Send { bytes, .. } => {
                add(&counts.messages_sent, 1);
                add(&counts.bytes_sent, bytes);
            }
            // Counted when it arrives.
            Part::Receive { .. } => {}
            _ => {
                add(&counts.collectives, 1);
                add(&counts.collective_bytes, self.collective_bytes());
            }
        }
    }
}

/// When a part is passed to MPI.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Side {
    /// At once: receives into staging memory.
    Early,
    /// When the stream has come to the operation, and everything that was enqueued before was passed: sends, and collectives.
    Ordered,
}

pub(crate) struct Operation {
    /// The name of the function.
    pub(crate) call: &'static str,
    pub(crate) early: Vec<Part>,
    pub(crate) ordered: Vec<Part>,
    state: Mutex<State>,
    changed: Condvar,
}

struct State {
    /// Parts that MPI has not finished.
    unfinished: usize,
    /// Those of them that the stream waits for: all but sends.
    awaited: usize,
    /// Whether the ordered parts were passed to MPI.
    passed: bool,
    /// Since when the stream waits.
    waiting: Option<Instant>,
    error: Option<Error>,
}

impl Operation {
    pub(crate) fn new(call: &'static str, early: Vec<Part>, ordered: Vec<Part>) -> Operation {
        let sends = ordered.iter().filter(|part| matches!(part, Part::Send { .. })).count();
        let unfinished = early.len() + ordered.len();
        let passed = ordered.is_empty();
        let state = State { unfinished, awaited: unfinished - sends, passed, waiting: None, error: None };
        Operation { call, early, ordered, state: Mutex::new(state), changed: Condvar::new() }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn parts(&self, side: Side) -> &[Part] {
        match side {
            Side::Early => &self.early,
            Side::Ordered => &self.ordered,
        }
    }

    /// Whether something comes from other ranks, so that a stream has to wait for it; also if it is there already.
    pub(crate) fn receives(&self) -> bool {
        self.early.iter().chain(&self.ordered).any(|part| !matches!(part, Part::Send { .. }))
    }

    /// Waits until everything that comes from other ranks is there and everything for them was passed to MPI, or the operation has
    /// failed. For a host function of a stream. Makes no call of HIP or MPI.
    pub(crate) fn wait(&self) {
        let mut state = self.state();
        state.waiting = Some(Instant::now());
        let going_on = |state: &mut State| (state.awaited > 0 || !state.passed) && state.error.is_none();
        drop(self.changed.wait_while(state, going_on).unwrap_or_else(PoisonError::into_inner));
    }

    /// Records that the ordered parts were passed to MPI.
    pub(crate) fn pass(&self) {
        self.state().passed = true;
        self.changed.notify_all();
    }

    /// Waits until everything was passed to MPI, or the operation has failed.
    pub(crate) fn wait_until_passed(&self) {
        let state = self.state();
        let going_on = |state: &mut State| !state.passed && state.error.is_none();
        drop(self.changed.wait_while(state, going_on).unwrap_or_else(PoisonError::into_inner));
    }

    /// Whether everything was passed to MPI.
    pub(crate) fn is_passed(&self) -> bool {
        self.state().passed
    }

    /// Since when a stream waits for it.
    pub(crate) fn waiting_since(&self) -> Option<Instant> {
        self.state().waiting
    }

    /// Records that MPI has finished a part.
    pub(crate) fn finish(&self, part: &Part) {
        let mut state = self.state();
        state.unfinished = state.unfinished.saturating_sub(1);
        if !matches!(part, Part::Send { .. }) {
            state.awaited = state.awaited.saturating_sub(1);
        }
        if state.awaited == 0 {
            self.changed.notify_all();
        }
    }

    /// Records the first error and wakes who waits.
    pub(crate) fn fail(&self, error: &Error) {
        let mut state = self.state();
        state.error.get_or_insert_with(|| error.clone());
        self.changed.notify_all();
    }

    /// Whether MPI uses its staging memory no more.
    pub(crate) fn is_finished(&self) -> bool {
        self.state().unfinished == 0
    }

    pub(crate) fn error(&self) -> Option<Error> {
        self.state().error.clone()
    }
}
