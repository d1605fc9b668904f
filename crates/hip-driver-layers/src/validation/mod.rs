//! A layer over any driver that counts its calls, checks lifetimes and order, and injects faults.
//!
//! In the manner of Vulkan's validation layers: it has the driver's own interface, and what is wrong with a call is
//! found before the call can do harm.
//!
//! | What | How to see it |
//! |---|---|
//! | calls by kind | [`counts`](ValidationDriver::counts), [`CallCounts::since`] |
//! | use after free, double free, foreign or stale handles, wrong device, ranges outside their memory | [`violations`](ValidationDriver::violations); the call is refused |
//! | what a pool hands out twice, gets back wrongly, or frees under its blocks; touches of a pool's memory outside of its live blocks | [`violations`](ValidationDriver::violations); the call is refused, notes go through |
//! | work that touches the same bytes without an order, frees and host accesses while work is in flight | [`violations`](ValidationDriver::violations); the call goes through |
//! | nodes of a graph that touch the same bytes while neither depends on the other; an executable graph launched or destroyed while it runs | [`violations`](ValidationDriver::violations); the call goes through |
//! | leaks | [`report_leaks`](ValidationDriver::report_leaks), and `log::error` when the layer is dropped |
//! | faults | [`inject`](ValidationDriver::inject), [`inject_repeating`](ValidationDriver::inject_repeating) |
//!
//! # Order
//!
//! Each stream has a vector clock, and so has the host. What one piece of work touches comes from the call itself for
//! copies and fills, and from [`KernelLaunch::accesses`](hip_driver::KernelLaunch::accesses) for kernels: what a
//! launch does not name is not checked. These order work:
//!
//! * the stream, and an event recorded on one stream and waited for by another;
//! * the null stream, which waits for the device's blocking streams, and they for it;
//! * the host: it knows what [`stream_synchronize`](Driver::stream_synchronize),
//!   [`event_synchronize`](Driver::event_synchronize), [`device_synchronize`](Driver::device_synchronize), a query that
//!   says `true`, a copy to pageable memory and a [`free`](Driver::free) have waited for, and what is enqueued
//!   afterwards comes after that. All host threads count as one: what one of them knows, all know.
//!
//! A driver that fails with a [sticky](hip_driver::ErrorCode::is_sticky) code runs nothing any more: all work of
//! that device then counts as finished. An injected failure is no such sign.
//!
//! Streams and events that others made are known by [notes](hip_driver::Note). What their owners enqueue, record or wait for
//! beside this layer is not seen: order that comes from it alone is missed, and work that relies on it is reported. An event
//! that was never recorded here counts as recorded behind all work on its device, and such a stream as blocking.
//!
//! A host function's own accesses, and what kernels do beyond their launch's `accesses`, are not seen.
//!
//! # Graphs
//!
//! A node says what it touches as the call does that it stands for. Whether it may is asked when it is added, and again
//! at each launch: memory may be freed and modules unloaded in between. A launch is one piece of work that touches what
//! its nodes touch, in the order in which they were added. Order between the nodes comes from their dependencies alone,
//! whatever order a driver runs them in, and is looked at when the graph is instantiated.
//!
//! # Pools
//!
//! A pool that hands out parts of driver allocations says so by [notes](hip_driver::Note). Of an
//! allocation that it named as its segment only live blocks may be touched, each touch within one block, and it is freed
//! only when none is live. A live block is a leak, and so is its segment.
//!
//! The bytes of a freed block may be handed out while work still uses them. Who used them is not forgotten: the next use
//! that is not ordered after that work is reported like any other work without an order.

mod calls;
mod clock;
mod graph;
mod memory;
mod pool;
mod ranges;
mod state;
mod violation;

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use hip_driver::{Driver, ErrorCode};
use state::State;

use crate::counts::CallCounter;
pub use crate::counts::CallCounts;
pub use hip_driver::CallKind;
pub use memory::{MemoryInfo, MemoryKind};
pub use violation::{AccessInfo, ByteRange, HandleKind, Leak, ValidationErrors, Violation};

use crate::intercept::Intercepted;

/// A driver with the validation layer over it, and a [`CallCounter`] over that. See the [module](self).
pub type ValidationDriver = Intercepted<(CallCounter, Validation)>;

/// The layer that checks. See the [module](self).
#[derive(Debug)]
pub struct Validation {
    /// The driver below.
    driver: Arc<dyn Driver>,
    state: Mutex<State>,
}

impl Validation {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl ValidationDriver {
    /// Puts the layer around a driver. It knows only what is made through it: use the driver in no other way.
    pub fn new(inner: Arc<dyn Driver>) -> Arc<ValidationDriver> {
        let validation = Validation { driver: Arc::clone(&inner), state: Mutex::new(State::new()) };
        Arc::new(Intercepted::with_layer(inner, (CallCounter::default(), validation)))
    }

    /// The calls made so far, by kind.
    pub fn counts(&self) -> CallCounts {
        self.layer().0.counts()
    }

    /// What was found so far, oldest first. The first 1,024 are kept.
    pub fn violations(&self) -> Vec<Violation> {
        self.lock().violations().0.to_vec()
    }

    /// As [`violations`](ValidationDriver::violations), and forgets them.
    pub fn take_violations(&self) -> Vec<Violation> {
        self.lock().take_violations()
    }

    /// What is alive now: everything of it that should have been freed is a leak.
    pub fn report_leaks(&self) -> Vec<Leak> {
        self.lock().leaks()
    }

    /// Whether nothing was found.
    ///
    /// # Errors
    /// What was found, oldest first.
    pub fn assert_clean(&self) -> Result<(), ValidationErrors> {
        self.clean(false)
    }

    /// Whether nothing was found and nothing is alive.
    ///
    /// # Errors
    /// What was found, oldest first, and what is alive.
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

    /// As [`CallCounter::inject`].
    pub fn inject(&self, kind: CallKind, nth: u64, code: ErrorCode) {
        self.layer().0.inject(kind, nth, code);
    }

    /// As [`CallCounter::inject_repeating`].
    pub fn inject_repeating(&self, kind: CallKind, nth: u64, code: ErrorCode) {
        self.layer().0.inject_repeating(kind, nth, code);
    }

    /// As [`CallCounter::clear_injections`].
    pub fn clear_injections(&self) {
        self.layer().0.clear_injections();
    }

    /// As [`CallCounter::pending_injections`].
    pub fn pending_injections(&self) -> usize {
        self.layer().0.pending_injections()
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.layer().1.lock()
    }
}

impl Drop for Validation {
    /// Says what was leaked.
    fn drop(&mut self) {
        let state = self.state.get_mut().unwrap_or_else(PoisonError::into_inner);
        for leak in state.leaks() {
            log::error!("leak: {leak}");
        }
    }
}
