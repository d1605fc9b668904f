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
//! * the host: it knows what [`stream_synchronize`](Driver::stream_synchronize),
//!   [`event_synchronize`](Driver::event_synchronize), [`device_synchronize`](Driver::device_synchronize), a query that
//!   says `true`, a copy to pageable memory and a [`free`](Driver::free) have waited for, and what is enqueued
//!   afterwards comes after that. All host threads count as one: what one of them knows, all know.
//!
//! A driver that fails with a [sticky](hip_driver::ErrorCode::is_sticky) code runs nothing any more: all work of
//! that device then counts as finished. An injected failure is no such sign.
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
//! A pool that hands out parts of driver allocations says so by the [notes](Driver::watches_pools) of the trait. Of an
//! allocation that it named as its segment only live blocks may be touched, each touch within one block, and it is freed
//! only when none is live. A live block is a leak, and so is its segment.
//!
//! The bytes of a freed block may be handed out while work still uses them. Who used them is not forgotten: the next use
//! that is not ordered after that work is reported like any other work without an order.

mod calls;
mod clock;
mod counts;
mod graph;
mod inject;
mod memory;
mod pool;
mod ranges;
mod state;
mod steps;
mod violation;

use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use counts::Counters;
use hip_driver::{Driver, ErrorCode};
use inject::Injections;
use state::State;

pub use counts::{CallCounts, CallKind};
pub use violation::{Access, ByteRange, HandleKind, Leak, Memory, MemoryKind, NotClean, Violation};

/// The validation layer. See the [module](self).
pub struct ValidationDriver {
    inner: Arc<dyn Driver>,
    counters: Counters,
    injections: Injections,
    state: Mutex<State>,
}

impl ValidationDriver {
    /// Puts a layer around a driver. It knows only what is made through it: use the driver in no other way.
    pub fn new(inner: Arc<dyn Driver>) -> Arc<ValidationDriver> {
        Arc::new(ValidationDriver {
            inner,
            counters: Counters::new(),
            injections: Injections::default(),
            state: Mutex::new(State::new()),
        })
    }

    /// The driver below.
    pub fn inner(&self) -> &Arc<dyn Driver> {
        &self.inner
    }

    /// The calls made so far, by kind.
    pub fn counts(&self) -> CallCounts {
        self.counters.snapshot()
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
    pub fn assert_clean(&self) -> Result<(), NotClean> {
        self.clean(false)
    }

    /// Whether nothing was found and nothing is alive.
    ///
    /// # Errors
    /// What was found, oldest first, and what is alive.
    pub fn assert_clean_and_empty(&self) -> Result<(), NotClean> {
        self.clean(true)
    }

    fn clean(&self, empty: bool) -> Result<(), NotClean> {
        let state = self.lock();
        let leaks = if empty { state.leaks() } else { Vec::new() };
        let (violations, dropped) = state.violations();
        if violations.is_empty() && dropped == 0 && leaks.is_empty() {
            return Ok(());
        }
        Err(NotClean { violations: violations.to_vec(), dropped, leaks })
    }

    /// Makes the `nth` call of this kind from now (1 for the next) fail with `code`. It does not reach the driver below;
    /// it counts as a call. For a [group](CallKind::is_group), the `nth` call of the group.
    ///
    /// Injecting a sticky code fails this one call, not the later ones.
    pub fn inject(&self, kind: CallKind, nth: u64, code: ErrorCode) {
        self.injections.add(kind, nth, None, code);
    }

    /// Makes every `nth` call of this kind from now fail with `code` (1 for every call), until
    /// [`clear_injections`](ValidationDriver::clear_injections).
    pub fn inject_repeating(&self, kind: CallKind, nth: u64, code: ErrorCode) {
        self.injections.add(kind, nth, Some(nth), code);
    }

    /// Takes back what was to be injected.
    pub fn clear_injections(&self) {
        self.injections.clear();
    }

    /// How many injections have not fired yet, repeating ones included.
    pub fn pending_injections(&self) -> usize {
        self.injections.pending()
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Debug for ValidationDriver {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ValidationDriver")
            .field("inner", &self.inner)
            .field("counts", &self.counts())
            .finish_non_exhaustive()
    }
}

impl Drop for ValidationDriver {
    /// Says what was leaked.
    fn drop(&mut self) {
        let state = self.state.get_mut().unwrap_or_else(PoisonError::into_inner);
        for leak in state.leaks() {
            log::error!("leak: {leak}");
        }
    }
}
