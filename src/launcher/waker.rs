//! Wakes tasks that await tickets and fences. One thread of the process polls the driver for all of them. It ends when nothing is
//! awaited.

use std::sync::atomic::{AtomicPtr, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::Waker;
use std::time::Duration;

use crate::stream::{Event, StreamState};
use hip_driver::RawEvent;

/// The number of rounds of polling without a pause.
const EAGER_ROUNDS: u32 = 100;
/// The longest pause between two later rounds. Pauses grow by 5 µs a round.
const LONGEST_PAUSE: Duration = Duration::from_micros(500);

/// The waker of the task that awaits a ticket or a fence: the one of the last poll.
#[derive(Debug)]
pub(super) struct Registration(Mutex<Waker>);

impl Registration {
    pub(super) fn set(&self, waker: &Waker) {
        let mut current = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        current.clone_from(waker);
    }

    fn wake(&self) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).wake_by_ref();
    }
}

/// What a task awaits.
pub(super) enum Awaited {
    /// The work at a position of a stream. The event, which the stream owns, was recorded after that work; without one, all of
    /// the stream's work has to finish.
    Ticket { stream_state: Arc<StreamState>, position: u64, event: Option<RawEvent> },
    /// The record of an event.
    Fence(Arc<Event>),
}

impl Awaited {
    fn is_ready(&self) -> bool {
        let (stream_state, position) = match self {
            Awaited::Fence(event) => return event.is_reached().unwrap_or(true),
            Awaited::Ticket { stream_state, position, event: None } => (stream_state, *position),
            Awaited::Ticket { stream_state, position, event: Some(event) } => {
                return stream_state.device().check().is_err()
                    || stream_state.driver_stream.reached(*position, *event).unwrap_or(true);
            }
        };
        // This thread can't ask about another thread's default stream.
        stream_state.device().check().is_err()
            || stream_state.progress().completed() >= position
            || match stream_state.driver_stream.is_of_this_thread() {
                true => stream_state.is_idle().unwrap_or(true),
                false => stream_state.synchronize().map_or(true, |()| true),
            }
    }
}

struct Watched {
    awaited: Awaited,
    registration: Arc<Registration>,
}

#[derive(Default)]
struct WakerState {
    new: Vec<Watched>,
    running: bool,
}

/// The state of a process. A forked process makes its own: the parent's thread is not there, and may have held the lock.
struct OfProcess {
    process: u32,
    state: Mutex<WakerState>,
}

fn watch_list() -> MutexGuard<'static, WakerState> {
    static CURRENT: AtomicPtr<OfProcess> = AtomicPtr::new(std::ptr::null_mut());
    let process = std::process::id();
    let mut current = CURRENT.load(Ordering::Acquire);
    loop {
        // SAFETY: null, or of `Box::into_raw` below, and never freed once it is in `CURRENT`.
        if let Some(of) = unsafe { current.as_ref() }
            && of.process == process
        {
            return of.state.lock().unwrap_or_else(PoisonError::into_inner);
        }
        let new = Box::into_raw(Box::new(OfProcess { process, state: Mutex::default() }));
        match CURRENT.compare_exchange(current, new, Ordering::AcqRel, Ordering::Acquire) {
            Ok(_) => current = new,
            Err(other) => {
                // SAFETY: made above, and nobody else has seen it.
                drop(unsafe { Box::from_raw(new) });
                current = other;
            }
        }
    }
}

/// Calls `waker` when what is awaited has finished.
pub(super) fn watch(awaited: Awaited, waker: &Waker) -> Arc<Registration> {
    let registration = Arc::new(Registration(Mutex::new(waker.clone())));
    let mut watch = watch_list();
    watch.new.push(Watched { awaited, registration: registration.clone() });
    if !watch.running {
        match std::thread::Builder::new().name("hiplaunch-waker".into()).spawn(run) {
            Ok(_) => watch.running = true,
            Err(e) => {
                // Without a thread, the task is woken at once and polls again.
                log::warn!("no thread to watch for finished work ({e}); polling instead");
                watch.new.pop();
                drop(watch);
                registration.wake();
            }
        }
    }
    registration
}

fn run() {
    let mut watched: Vec<Watched> = Vec::new();
    let mut round = 0u32;
    loop {
        {
            let mut watch = watch_list();
            if !watch.new.is_empty() {
                watched.append(&mut watch.new);
                round = 0;
            } else if watched.is_empty() {
                watch.running = false;
                return;
            }
        }
        let before = watched.len();
        let mut i = 0;
        while i < watched.len() {
            if watched[i].awaited.is_ready() {
                watched.swap_remove(i).registration.wake();
            } else {
                i += 1;
            }
        }
        if watched.len() < before {
            round = 0;
        } else if round < EAGER_ROUNDS {
            round += 1;
            std::thread::yield_now();
        } else {
            round = round.saturating_add(1);
            std::thread::sleep(LONGEST_PAUSE.min(Duration::from_micros(u64::from(round - EAGER_ROUNDS) * 5)));
        }
    }
}
