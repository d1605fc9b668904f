//! What a driver that runs the work itself tells a layer of it: when it ran, and under which call it was enqueued.
//!
//! A layer gives each call that enqueues work a number, its *correlation*, which the call's thread carries into the driver.
//! The driver keeps it with the work and hands it back when that has run.

use std::cell::Cell;
use std::time::Instant;

thread_local! {
    static CORRELATION: Cell<u64> = const { Cell::new(0) };
}

/// A piece of work that has run.
#[derive(Clone, Copy, Debug)]
pub struct Activity {
    /// The number under which it was enqueued; never 0.
    pub correlation: u64,
    /// Of a graph: which node, counted from 0 in the order of adding.
    pub node: Option<u32>,
    /// When it began.
    pub begin: Instant,
    /// When it ended.
    pub end: Instant,
    /// Of a kernel: how much it ran.
    pub counts: Option<KernelCounts>,
}

/// How much a kernel ran.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct KernelCounts {
    /// Workgroups run.
    pub workgroups: u64,
    /// Waves run.
    pub waves: u64,
    /// Instructions executed, one for a wave.
    pub wave_instructions: u64,
}

/// Is told of work that has run, on the thread that ran it and before anyone who waits for it goes on.
pub trait ActivityObserver: Send + Sync {
    /// The work has run, or failed. Must not call the driver.
    fn ran(&self, activity: &Activity);
}

/// The number under which this thread enqueues now; 0 for work that nobody asks for.
#[inline]
pub fn correlation() -> u64 {
    CORRELATION.get()
}

/// Calls `f`, which enqueues under `correlation`.
#[inline]
pub fn correlated<R>(correlation: u64, f: impl FnOnce() -> R) -> R {
    /// Puts the number back, also when `f` panics.
    struct Before(u64);
    impl Drop for Before {
        fn drop(&mut self) {
            CORRELATION.set(self.0);
        }
    }
    let _before = Before(CORRELATION.replace(correlation));
    f()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_holds_for_its_calls_alone() {
        let inner = correlated(7, || (correlation(), correlated(8, correlation), correlation()));
        assert_eq!((inner, correlation()), ((7, 8, 7), 0));
        let panicked = std::panic::catch_unwind(|| correlated(9, || panic!("on purpose")));
        assert!(panicked.is_err());
        assert_eq!(correlation(), 0);
    }
}
