//! Activity: what a driver that runs the work itself tells a layer about it, such as when it ran.
//!
//! A layer gives each call that enqueues work a number, its *correlation*, which it sets for the calling thread. The
//! driver keeps the number with the work and reports it when the work has run.

use std::cell::Cell;
use std::marker::PhantomData;
use std::time::Instant;

thread_local! {
    static CORRELATION: Cell<u64> = const { Cell::new(0) };
}

/// A piece of work that has run.
#[derive(Clone, Copy, Debug)]
pub struct Activity {
    /// The correlation under which the work was enqueued; never 0.
    pub correlation: u64,
    /// For work of a graph: the index of the node, in the order in which the nodes were added.
    pub node: Option<u32>,
    /// When the work began.
    pub begin: Instant,
    /// When the work ended.
    pub end: Instant,
    /// For a kernel: counts of what it executed.
    pub counts: Option<KernelCounts>,
}

/// Counts of what a kernel executed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct KernelCounts {
    /// The number of workgroups that ran.
    pub workgroups: u64,
    /// The number of waves that ran.
    pub waves: u64,
    /// The number of instructions that were executed, one for each wave that executes it.
    pub wave_instructions: u64,
}

/// Receives an [`Activity`] for each piece of work that has run. It is called on the thread that ran the work, before
/// any thread that waits for the work continues.
pub trait ActivityObserver: Send + Sync {
    /// Called when a piece of work has run or failed. Must not call the driver.
    fn ran(&self, activity: &Activity);
}

/// Returns the correlation under which this thread enqueues now; 0 if no layer has set one.
#[inline]
pub fn correlation() -> u64 {
    CORRELATION.get()
}

/// Sets the correlation under which this thread enqueues, until the guard is dropped.
#[inline]
#[must_use = "dropping it puts the earlier number back"]
pub fn correlated(correlation: u64) -> Correlated {
    Correlated { before: CORRELATION.replace(correlation), thread: PhantomData }
}

/// A guard that restores the thread's earlier correlation when it is dropped. [`correlated`] returns it.
#[derive(Debug)]
pub struct Correlated {
    before: u64,
    /// Keeps the guard on its thread.
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
    fn a_correlation_ends_with_its_guard() {
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
