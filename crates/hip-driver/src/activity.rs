//! What a driver that runs the work itself tells a layer of it: when it ran, and under which call it was enqueued.
//!
//! A layer gives each call that enqueues work a number, its *correlation*, which the call's thread carries into the driver.
//! The driver keeps it with the work and hands it back when that has run.

use std::cell::Cell;
use std::marker::PhantomData;
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

/// This thread enqueues under `correlation` until the guard is dropped.
#[inline]
#[must_use = "dropping it puts the earlier number back"]
pub fn correlated(correlation: u64) -> Correlated {
    Correlated { before: CORRELATION.replace(correlation), thread: PhantomData }
}

/// Puts the thread's earlier number back when it is dropped. Made by [`correlated`].
#[derive(Debug)]
pub struct Correlated {
    before: u64,
    /// It stays on its thread.
    thread: PhantomData<*const ()>,
}

impl Drop for Correlated {
    #[inline]
    fn drop(&mut self) {
        CORRELATION.set(self.before);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_holds_for_its_calls_alone() {
        {
            let _outer = correlated(7);
            assert_eq!(correlation(), 7);
            {
                let _inner = correlated(8);
                assert_eq!(correlation(), 8);
            }
            assert_eq!(correlation(), 7);
        }
        assert_eq!(correlation(), 0);
        let panicked = std::panic::catch_unwind(|| {
            let _inner = correlated(9);
            panic!("on purpose");
        });
        assert!(panicked.is_err());
        assert_eq!(correlation(), 0);
    }
}
