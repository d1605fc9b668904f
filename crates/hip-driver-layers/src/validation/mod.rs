//! The validation layer: it counts calls, checks lifetimes and the order of work, and injects faults.
//!
//! Like Vulkan's validation layers, it has the driver's own interface, and finds an error in a call before the call
//! does harm.
//!
//! | What | How to see it |
//! |---|---|
//! | calls by kind | [`counts`](ValidationDriver::counts), [`CallCounts::since`] |
//! | use after free, double free, foreign or stale handles, wrong device, ranges outside their memory | [`violations`](ValidationDriver::violations); the call is refused |
//! | pool blocks that overlap live ones, are freed wrongly, or are live when their pool segment is freed; accesses of a pool segment outside its live blocks | [`violations`](ValidationDriver::violations); the call is refused, notes are passed on |
//! | work that accesses the same bytes without an order, frees and host accesses while work is in flight | [`violations`](ValidationDriver::violations); the call is passed on |
//! | nodes of a graph that access the same bytes while neither depends on the other; an executable graph that is launched or destroyed while it runs | [`violations`](ValidationDriver::violations); the call is passed on |
//! | leaks | [`report_leaks`](ValidationDriver::report_leaks), and `log::error` when the layer is dropped |
//! | faults | [`inject`](ValidationDriver::inject), [`inject_repeating`](ValidationDriver::inject_repeating) |
//!
//! # Order
//!
//! Each stream has a vector clock, and so has the host. For copies and fills, the layer knows from the call which
//! memory they access. For kernels it knows [`KernelLaunch::accesses`](hip_driver::KernelLaunch::accesses): accesses
//! that are not listed there are not checked. Work is ordered by:
//!
//! * streams, and events that are recorded on one stream and waited for by another;
//! * the null stream, which waits for the device's blocking streams, and they for it;
//! * the host. It knows what [`stream_synchronize`](Driver::stream_synchronize),
//!   [`event_synchronize`](Driver::event_synchronize), [`device_synchronize`](Driver::device_synchronize), a query that
//!   returned `true`, a copy to pageable memory and a [`free`](Driver::free) have waited for. What is enqueued
//!   afterwards happens after that. All host threads count as one: what one of them knows, all know.
//!
//! A driver that fails with a [sticky](hip_driver::ErrorCode::is_sticky) code runs nothing any more: all work of that
//! device then counts as finished. An injected failure does not have this effect.
//!
//! Streams and events that others made are known by [notes](hip_driver::Note). What their owners enqueue, record or wait for
//! beside this layer is not seen: order that comes from it alone is missed, and work that relies on it is reported. An event
//! that was never recorded here counts as recorded behind all work on its device, and such a stream as blocking.
//!
//! The memory that a host function accesses is not known to the layer.
//!
//! # Graphs
//!
//! The memory that a node accesses is known as for the corresponding call. It is checked when the node is added, and
//! again at each launch, as memory may be freed and modules unloaded in between. A launch is one piece of work, which
//! accesses what its nodes access, in the order in which they were added. Nodes are ordered only by their dependencies,
//! whatever order a driver runs them in. This is checked when the graph is instantiated.
//!
//! # Captures
//!
//! Captured work becomes the nodes of a graph, ordered as its streams and events are, and is checked like them.
//! Pageable memory of captured copies is not known to the layer. A capture that others begin beside this layer is not
//! seen: the layer takes its work for work that runs.
//!
//! # Pools
//!
//! A pool that divides driver allocations into blocks sends [notes](hip_driver::Note) about them. In an allocation that
//! is a pool segment, only live pool blocks may be accessed, and each access must lie within one block. The pool
//! segment may be freed only when none of its blocks is live. A live block is a leak, and so is its pool segment.
//!
//! The bytes of a freed block may be allocated again while work still uses them. The layer keeps the accesses of that
//! work: a next use that is not ordered after it is reported like other work without an order.

mod calls;
mod capture;
mod clock;
mod graph;
mod memory;
mod pool;
mod ranges;
mod state;
mod values;
mod violation;

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use hip_driver::{Driver, ErrorCode};
use state::State;

use crate::counts::CallCounter;
pub use crate::counts::{CallCounts, Counted};
pub use hip_driver::{CallGroup, CallKind, NoteKind, ObservedKind};
pub use memory::{MemoryInfo, MemoryKind};
pub use violation::{AccessInfo, ByteRange, HandleKind, KernelUse, Leak, ValidationErrors, Violation};

use crate::intercept::Intercepted;

/// A driver with the validation layer over it, and a [`CallCounter`] over both. See the [module](self).
pub type ValidationDriver = Intercepted<(CallCounter, Validation)>;

/// The validation layer. See the [module](self).
#[derive(Debug)]
pub struct Validation {
    /// The driver below.
    driver: Arc<dyn Driver>,
    state: Arc<Mutex<State>>,
}

impl Validation {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl ValidationDriver {
    /// Puts the layer over a driver. It only observes calls that are made through it: do not call the driver directly.
    pub fn new(inner: Arc<dyn Driver>) -> Arc<ValidationDriver> {
        let validation = Validation { driver: Arc::clone(&inner), state: Arc::new(Mutex::new(State::new())) };
        Arc::new(Intercepted::with_layer(inner, (CallCounter::default(), validation)))
    }

    /// Returns the calls made so far, by kind.
    pub fn counts(&self) -> CallCounts {
        self.layer().0.counts()
    }

    /// Returns the violations found so far, oldest first. Only the first 1,024 are kept.
    pub fn violations(&self) -> Vec<Violation> {
        self.lock().violations().0.to_vec()
    }

    /// Returns the violations found so far, and removes them.
    pub fn take_violations(&self) -> Vec<Violation> {
        self.lock().take_violations()
    }

    /// Returns everything that is alive now. What should have been freed by now is a leak.
    pub fn report_leaks(&self) -> Vec<Leak> {
        self.lock().leaks()
    }

    /// Checks that there are no violations.
    ///
    /// # Errors
    /// Returns the violations, oldest first.
    pub fn assert_clean(&self) -> Result<(), ValidationErrors> {
        self.clean(false)
    }

    /// Checks that there are no violations and that nothing is alive.
    ///
    /// # Errors
    /// Returns the violations, oldest first, and everything that is alive.
    pub fn assert_clean_and_empty(&self) -> Result<(), ValidationErrors> {
        self.clean(true)
    }

    fn clean(&self, empty: bool) -> Result<(), ValidationErrors> {
        let state = self.lock();
        let leaks = if empty { state.leaks() } else { Vec::new() };
        let (violations, dropped) = state.violations();
        if violations.is_empty() && dropped == 0 && leaks.is_empty() {
            return Ok(());
        }
        Err(ValidationErrors { violations: violations.to_vec(), dropped, leaks })
    }

    /// Injects a fault, like [`CallCounter::inject`].
    pub fn inject(&self, calls: impl Into<Counted>, nth: u64, code: ErrorCode) {
        self.layer().0.inject(calls, nth, code);
    }

    /// Injects a repeating fault, like [`CallCounter::inject_repeating`].
    pub fn inject_repeating(&self, calls: impl Into<Counted>, nth: u64, code: ErrorCode) {
        self.layer().0.inject_repeating(calls, nth, code);
    }

    /// Removes all injections, like [`CallCounter::clear_injections`].
    pub fn clear_injections(&self) {
        self.layer().0.clear_injections();
    }

    /// Returns the number of injections that have not fired, like [`CallCounter::pending_injections`].
    pub fn pending_injections(&self) -> usize {
        self.layer().0.pending_injections()
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.layer().1.lock()
    }
}

impl Drop for Validation {
    /// Logs leaks.
    fn drop(&mut self) {
        let state = &mut *self.lock();
        for leak in state.leaks() {
            log::error!("leak: {leak}");
        }
    }
}
