//! Functions of the program that are called when a signal has a value. One thread calls all of them.

use std::ffi::c_void;
use std::sync::atomic::Ordering::SeqCst;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use super::Data;
use super::signal::{Signal, Slot, meets};
use super::status::Status;

/// A `hsa_amd_signal_handler`: returns whether it is to be called again.
pub(crate) type Handler = Option<unsafe extern "C" fn(i64, Data) -> bool>;

/// A function that is called once.
pub(crate) type Function = Option<unsafe extern "C" fn(Data) -> *mut c_void>;

/// What is called, and when.
enum Waiting {
    ForSignal {
        slot: &'static Slot,
        condition: u32,
        compare: i64,
        handler: unsafe extern "C" fn(i64, Data) -> bool,
        data: Data,
    },
    ForNothing {
        function: unsafe extern "C" fn(Data) -> *mut c_void,
        data: Data,
    },
}

#[derive(Default)]
struct State {
    waiting: Vec<Waiting>,
    has_thread: bool,
    /// Whether a signal may have changed since the thread looked.
    is_awake: bool,
}

static STATE: Mutex<State> = Mutex::new(State { waiting: Vec::new(), has_thread: false, is_awake: false });
static CHANGED: Condvar = Condvar::new();

/// The longest sleep, after which the thread looks again: a kernel may change a value without a word.
const SLEEP: Duration = Duration::from_millis(2);

fn lock() -> MutexGuard<'static, State> {
    STATE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Lets the thread look.
pub(super) fn wake() {
    lock().is_awake = true;
    CHANGED.notify_one();
}

fn add(waiting: Waiting) -> Result<(), Status> {
    let mut state = lock();
    if !state.has_thread {
        let thread = std::thread::Builder::new().name("hsa-handlers".to_owned());
        thread.spawn(call_all).map_err(|_| Status::OUT_OF_RESOURCES)?;
        state.has_thread = true;
    }
    if let Waiting::ForSignal { slot, .. } = &waiting {
        slot.handlers.fetch_add(1, SeqCst);
    }
    state.waiting.push(waiting);
    state.is_awake = true;
    CHANGED.notify_one();
    Ok(())
}

impl Waiting {
    /// The value for which it is called, if it is to be called.
    fn due(&self) -> Option<i64> {
        match self {
            Waiting::ForNothing { .. } => Some(0),
            Waiting::ForSignal { slot, condition, compare, .. } => {
                let value = slot.value.load(SeqCst);
                meets(*condition, value, *compare).unwrap_or(false).then_some(value)
            }
        }
    }

    /// Calls it. Returns whether it waits again.
    fn call(&self, value: i64) -> bool {
        match self {
            Waiting::ForSignal { handler, data, .. } => {
                // SAFETY: the program's function, with the data that it passed for it.
                unsafe { handler(value, *data) }
            }
            Waiting::ForNothing { function, data } => {
                // SAFETY: as above.
                unsafe { function(*data) };
                false
            }
        }
    }
}

/// Calls what is due, without the lock: a function may add another.
fn call_all() {
    let mut state = lock();
    loop {
        state.is_awake = false;
        let due = state.waiting.iter().enumerate().find_map(|(index, one)| Some((index, one.due()?)));
        if let Some((index, value)) = due {
            let waiting = state.waiting.swap_remove(index);
            drop(state);
            let again = waiting.call(value);
            state = lock();
            match &waiting {
                _ if again => state.waiting.push(waiting),
                Waiting::ForSignal { slot, .. } => {
                    slot.handlers.fetch_sub(1, SeqCst);
                }
                Waiting::ForNothing { .. } => {}
            }
        } else if !state.is_awake {
            state = CHANGED.wait_timeout(state, SLEEP).unwrap_or_else(PoisonError::into_inner).0;
        }
    }
}

pub(crate) fn hsa_amd_signal_async_handler(
    signal: Signal,
    condition: u32,
    compare: i64,
    handler: Handler,
    data: Data,
) -> Result<(), Status> {
    let handler = handler.ok_or(Status::INVALID_ARGUMENT)?;
    meets(condition, 0, 0)?;
    add(Waiting::ForSignal { slot: signal.slot()?, condition, compare, handler, data })
}

pub(crate) fn hsa_amd_async_function(function: Function, data: Data) -> Result<(), Status> {
    add(Waiting::ForNothing { function: function.ok_or(Status::INVALID_ARGUMENT)?, data })
}
