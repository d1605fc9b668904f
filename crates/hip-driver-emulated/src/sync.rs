//! The locks and atomics of a stream's queue, and how its threads pass time. Loom's tests have others.

use std::hint::spin_loop;
use std::sync::LazyLock;
use std::time::{Duration, Instant};

pub(crate) use std::sync::atomic::{AtomicBool, AtomicU64, Ordering, fence};
pub(crate) use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

/// The part of the time in which a thread that polls keeps its core. After that, it yields to other threads between two
/// polls.
const BUSY_POLL: Duration = Duration::from_micros(2);

/// How long a worker dozes first, and at most without and with work. Each doze is twice as long as the one before; after
/// the longest, an idle worker parks.
pub(crate) const SHORTEST_DOZE: Duration = Duration::from_micros(50);
pub(crate) const LONGEST_DOZE: Duration = Duration::from_millis(3);
pub(crate) const LONGEST_WITH_WORK: Duration = Duration::from_micros(400);

pub(crate) static CORES: LazyLock<usize> =
    LazyLock::new(|| std::thread::available_parallelism().map_or(1, std::num::NonZero::get));

/// Polls `condition` for at most `limit`. Returns whether it became true.
pub(crate) fn poll(limit: Duration, condition: impl Fn() -> bool) -> bool {
    let start = Instant::now();
    let busy = if *CORES == 1 { Duration::ZERO } else { BUSY_POLL };
    loop {
        for _ in 0..16 {
            if condition() {
                return true;
            }
            spin_loop();
        }
        let elapsed = start.elapsed();
        if elapsed >= limit {
            return false;
        }
        if elapsed >= busy {
            std::thread::yield_now();
        }
    }
}

/// Unlocks the mutex of `guard`, sleeps until `wake` is notified or `time` is over, and locks it again.
pub(crate) fn doze<'a, T>(
    _mutex: &'a Mutex<T>,
    wake: &Condvar,
    guard: MutexGuard<'a, T>,
    time: Duration,
) -> MutexGuard<'a, T> {
    wake.wait_timeout(guard, time).unwrap_or_else(PoisonError::into_inner).0
}
