//! The functions that read, change and await values of signals.

use std::sync::atomic::Ordering::SeqCst;
use std::time::Duration;

use super::runtime::now;
use super::signal::{SPIN, Signal, Slot, meets};
use super::status::Status;
use crate::abi::{Array, Out};

/// `HSA_WAIT_STATE_ACTIVE`: the caller wants to be woken soon, and looks for longer before it sleeps.
const ACTIVE: u32 = 1;
const ACTIVE_SPIN: u64 = 30_000;

/// How long a thread that waits for several signals sleeps before it looks again.
const PAUSE: Duration = Duration::from_micros(50);

/// Does something with a signal. HSA's functions for values have no status: nothing happens to what is no signal, which the log says.
fn with<T: Default>(signal: Signal, act: impl FnOnce(&'static Slot) -> T) -> T {
    match signal.slot() {
        Ok(slot) => act(slot),
        Err(_) => {
            log::error!("an operation on {:#x}, which is no signal", signal.0);
            T::default()
        }
    }
}

/// Changes a signal, and wakes who waits for it.
fn change<T: Default>(signal: Signal, change: impl FnOnce(&Slot) -> T) -> T {
    with(signal, |slot| {
        let result = change(slot);
        slot.changed();
        result
    })
}

pub(crate) fn signal_load(signal: Signal) -> i64 {
    with(signal, |slot| slot.value.load(SeqCst))
}

pub(crate) fn signal_store(signal: Signal, value: i64) {
    change(signal, |slot| slot.value.store(value, SeqCst));
}

/// Wakes nobody.
pub(crate) fn signal_silent_store(signal: Signal, value: i64) {
    with(signal, |slot| slot.value.store(value, SeqCst));
}

pub(crate) fn signal_exchange(signal: Signal, value: i64) -> i64 {
    change(signal, |slot| slot.value.swap(value, SeqCst))
}

pub(crate) fn signal_cas(signal: Signal, expected: i64, value: i64) -> i64 {
    change(signal, |slot| {
        slot.value.compare_exchange(expected, value, SeqCst, SeqCst).unwrap_or_else(|found| found)
    })
}

pub(crate) fn signal_add(signal: Signal, value: i64) {
    change(signal, |slot| slot.value.fetch_add(value, SeqCst));
}

pub(crate) fn signal_subtract(signal: Signal, value: i64) {
    change(signal, |slot| slot.value.fetch_sub(value, SeqCst));
}

pub(crate) fn signal_and(signal: Signal, value: i64) {
    change(signal, |slot| slot.value.fetch_and(value, SeqCst));
}

pub(crate) fn signal_or(signal: Signal, value: i64) {
    change(signal, |slot| slot.value.fetch_or(value, SeqCst));
}

pub(crate) fn signal_xor(signal: Signal, value: i64) {
    change(signal, |slot| slot.value.fetch_xor(value, SeqCst));
}

/// `timeout` is in nanoseconds, since timestamps are.
pub(crate) fn signal_wait(signal: Signal, condition: u32, compare: i64, timeout: u64, state: u32) -> i64 {
    let spin = if state == ACTIVE { ACTIVE_SPIN } else { SPIN };
    with(signal, |slot| {
        slot.wait(|value| meets(condition, value, compare).unwrap_or(true), timeout, spin, || false)
    })
}

/// Signals, and what is awaited of each.
struct Awaited(Vec<(&'static Slot, u32, i64)>);

impl Awaited {
    fn new(
        count: u32,
        signals: Array<Signal>,
        conditions: Array<u32>,
        compare: Array<i64>,
    ) -> Result<Awaited, Status> {
        let (count, mut awaited) = (count as usize, Vec::new());
        let others = conditions.get::<Status>(count)?.into_iter().zip(compare.get::<Status>(count)?);
        for (signal, (condition, compare)) in signals.get::<Status>(count)?.into_iter().zip(others) {
            meets(condition, 0, 0)?;
            awaited.push((signal.slot()?, condition, compare));
        }
        Ok(Awaited(awaited))
    }

    /// The values, and whether each is awaited so.
    fn look(&self) -> Vec<(i64, bool)> {
        let look = |(slot, condition, compare): &(&Slot, u32, i64)| {
            let value = slot.value.load(SeqCst);
            (value, meets(*condition, value, *compare).unwrap_or(true))
        };
        self.0.iter().map(look).collect()
    }

    /// Looks until `ends` finds a result, or as many nanoseconds have passed.
    fn until<T>(&self, timeout: u64, ends: impl Fn(&[(i64, bool)]) -> Option<T>) -> Option<T> {
        let began = now();
        loop {
            if let Some(result) = ends(&self.look()) {
                return Some(result);
            }
            if now().saturating_sub(began) >= timeout {
                return None;
            }
            std::thread::sleep(PAUSE);
        }
    }
}

/// Returns the index of a signal that is as awaited, or `u32::MAX` if the time has passed or the arguments are wrong.
pub(crate) fn signal_wait_any(
    count: u32,
    signals: Array<Signal>,
    conditions: Array<u32>,
    compare: Array<i64>,
    timeout: u64,
    _state: u32,
    value: Out<i64>,
) -> u32 {
    let Ok(awaited) = Awaited::new(count, signals, conditions, compare) else { return u32::MAX };
    let first =
        |found: &[(i64, bool)]| found.iter().position(|(_, is_such)| *is_such).map(|at| (at, found[at].0));
    let Some((index, found)) = awaited.until(timeout, first) else { return u32::MAX };
    if !value.is_null() {
        // Not null, which alone it refuses.
        let _ = value.set::<Status>(found);
    }
    index as u32
}

/// Returns 0 once all signals are as awaited, or `u32::MAX` as `signal_wait_any` does.
pub(crate) fn signal_wait_all(
    count: u32,
    signals: Array<Signal>,
    conditions: Array<u32>,
    compare: Array<i64>,
    timeout: u64,
    _state: u32,
    values: Out<i64>,
) -> u32 {
    let Ok(awaited) = Awaited::new(count, signals, conditions, compare) else { return u32::MAX };
    let all = |found: &[(i64, bool)]| {
        let values = || found.iter().map(|(value, _)| *value).collect::<Vec<_>>();
        found.iter().all(|(_, is_such)| *is_such).then(values)
    };
    let Some(found) = awaited.until(timeout, all) else { return u32::MAX };
    if !values.is_null() {
        // Not null, which alone it refuses.
        let _ = values.set_array::<Status>(found, count as usize);
    }
    0
}
