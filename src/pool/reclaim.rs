//! The steps that a pool tries, in order, before a request fails for lack of memory.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use hip_driver::{DriverError, DriverResult, ErrorCode};

use super::block::PoolBlock;
use super::core::{MissRequest, PoolCore, RequestContext};
use super::heap::HUGE;
use super::shared::StreamRef;
use super::stats::class_of;

/// A callback that frees memory: it gets the number of missing bytes, and returns the number of bytes that it freed, as
/// far as it knows.
pub(crate) type ReclaimFn = Arc<dyn Fn(u64) -> u64 + Send + Sync>;

/// A step that the pool tries when it can't serve a request and the steps before it did not help.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[repr(usize)]
#[non_exhaustive]
pub enum ReclaimStep {
    /// The program's own callbacks free what they can.
    Callbacks,
    /// Held-back blocks become free whose fences were reached meanwhile.
    PollEvents,
    /// A free block in another stream's segment serves the request. This stream waits for that stream.
    Borrow,
    /// Cached segments of idle streams are returned to the driver, which is asked again.
    ReleaseCached,
    /// The host waits for the fences of every held-back block and for every stream with cached segments. Then borrowing
    /// and the driver are tried again.
    WaitForEvents,
    /// The request fails with `OutOfMemory`.
    OutOfMemory,
}

impl ReclaimStep {
    /// Every reclaim step, in order.
    pub const ALL: [ReclaimStep; 6] = [
        ReclaimStep::Callbacks,
        ReclaimStep::PollEvents,
        ReclaimStep::Borrow,
        ReclaimStep::ReleaseCached,
        ReclaimStep::WaitForEvents,
        ReclaimStep::OutOfMemory,
    ];
}

/// The callbacks, and how often each reclaim step was tried and how often it served the request.
#[derive(Default)]
pub(crate) struct ReclaimSteps {
    callbacks: Mutex<Vec<(u64, ReclaimFn)>>,
    next: AtomicU64,
    tried: [AtomicU64; ReclaimStep::ALL.len()],
    served: [AtomicU64; ReclaimStep::ALL.len()],
}

impl ReclaimSteps {
    pub(crate) fn add(&self, callback: ReclaimFn) -> u64 {
        let id = self.next.fetch_add(1, Ordering::Relaxed);
        self.callbacks.lock().unwrap_or_else(PoisonError::into_inner).push((id, callback));
        id
    }

    pub(crate) fn remove(&self, id: u64) {
        self.callbacks.lock().unwrap_or_else(PoisonError::into_inner).retain(|(i, _)| *i != id);
    }

    /// Calls the callbacks, with no lock held. Returns whether one of them freed memory.
    pub(crate) fn run_callbacks(&self, bytes: u64) -> bool {
        let callbacks: Vec<ReclaimFn> = {
            let all = self.callbacks.lock().unwrap_or_else(PoisonError::into_inner);
            all.iter().map(|(_, f)| f.clone()).collect()
        };
        let mut freed = 0u64;
        for callback in callbacks {
            // A callback that panics counts as one that frees nothing.
            let f = std::panic::AssertUnwindSafe(|| callback(bytes));
            freed = freed.saturating_add(std::panic::catch_unwind(f).unwrap_or(0));
        }
        freed > 0
    }

    fn count_tried(&self, step: ReclaimStep) {
        self.tried[step as usize].fetch_add(1, Ordering::Relaxed);
    }

    fn count_served(&self, step: ReclaimStep) {
        self.served[step as usize].fetch_add(1, Ordering::Relaxed);
    }

    /// Returns how often a reclaim step was tried, and how often it served the request.
    pub(crate) fn counts(&self, step: ReclaimStep) -> (u64, u64) {
        let i = step as usize;
        (self.tried[i].load(Ordering::Relaxed), self.served[i].load(Ordering::Relaxed))
    }
}

impl MissRequest<'_> {
    fn is_huge(&self) -> bool {
        self.granules >= HUGE
    }
}

impl PoolCore {
    /// Tries the reclaim steps in order. `error` is the driver's error that led here.
    pub(crate) fn reclaim(
        &self,
        request: &MissRequest<'_>,
        error: Option<DriverError>,
    ) -> DriverResult<PoolBlock> {
        let mut error = error.unwrap_or_else(|| DriverError::new("hipMalloc", ErrorCode::OUT_OF_MEMORY));
        for step in ReclaimStep::ALL {
            if step == ReclaimStep::Callbacks && request.caller == RequestContext::UnderLock {
                continue;
            }
            self.reclaim_steps.count_tried(step);
            match self.try_step(step, request) {
                Ok(Some(block)) => {
                    self.reclaim_steps.count_served(step);
                    return Ok(block);
                }
                Ok(None) => {}
                // The driver's last out-of-memory error is the one that is returned.
                Err(e) if e.code == ErrorCode::OUT_OF_MEMORY => error = e,
                Err(e) => return Err(e),
            }
        }
        Err(error)
    }

    fn try_step(&self, step: ReclaimStep, request: &MissRequest<'_>) -> DriverResult<Option<PoolBlock>> {
        match step {
            ReclaimStep::Callbacks => {
                if self.reclaim_steps.run_callbacks(request.bytes) {
                    self.own_or_grow(request)
                } else {
                    Ok(None)
                }
            }
            ReclaimStep::PollEvents => {
                let released: usize = self.all().iter().map(|a| a.core().poll(&self.shared, false)).sum();
                if released > 0 { Ok(self.allocate_own(request)) } else { Ok(None) }
            }
            // A huge block would keep all of another stream's segment from being released: segments are released first.
            ReclaimStep::Borrow if request.is_huge() => Ok(None),
            ReclaimStep::Borrow => self.borrow(request),
            ReclaimStep::ReleaseCached => {
                if self.release_free(u64::MAX, false)? > 0 {
                    self.own_or_grow(request)
                } else {
                    Ok(None)
                }
            }
            ReclaimStep::WaitForEvents => {
                for arena in self.all() {
                    arena.core().poll(&self.shared, true);
                }
                if let Some(block) = self.allocate_own(request) {
                    return Ok(Some(block));
                }
                if !request.is_huge()
                    && let Some(block) = self.borrow(request)?
                {
                    return Ok(Some(block));
                }
                self.release_free(u64::MAX, true)?;
                match self.own_or_grow(request) {
                    Err(e) if e.code == ErrorCode::OUT_OF_MEMORY && request.is_huge() => {
                        self.allocate_larger(request)
                    }
                    other => other,
                }
            }
            ReclaimStep::OutOfMemory => Ok(None),
        }
    }

    /// Allocates from what the stream's arena has by now.
    fn allocate_own(&self, request: &MissRequest<'_>) -> Option<PoolBlock> {
        let MissRequest { arena, bytes, granules, .. } = *request;
        let taken = match request.is_huge() {
            true => arena.core().allocate_again(bytes, granules)?,
            false => arena.core().allocate_anywhere(bytes, granules)?,
        };
        Some(arena.block(taken, bytes))
    }

    /// Allocates a huge block from a larger one, of this stream or another, rather than fail.
    fn allocate_larger(&self, request: &MissRequest<'_>) -> DriverResult<Option<PoolBlock>> {
        match request.arena.core().allocate_anywhere(request.bytes, request.granules) {
            Some(taken) => Ok(Some(request.arena.block(taken, request.bytes))),
            None => self.borrow(request),
        }
    }

    /// Allocates from what the stream's arena has by now, or from the driver.
    fn own_or_grow(&self, request: &MissRequest<'_>) -> DriverResult<Option<PoolBlock>> {
        match self.allocate_own(request) {
            Some(block) => Ok(Some(block)),
            None => self.grow(request, false),
        }
    }

    /// Borrows a free block in another stream's segment. The block stays in that stream's arena: when it is freed, it
    /// is held back there until this stream's work has finished.
    fn borrow(&self, request: &MissRequest<'_>) -> DriverResult<Option<PoolBlock>> {
        let MissRequest { arena, stream, bytes, granules, .. } = *request;
        for other in self.all().iter().filter(|o| !Arc::ptr_eq(o, arena)) {
            let taken = match stream {
                Some(stream) => other.core().lend(bytes, granules, StreamRef::new(stream)),
                // Memory of no stream may be used at once, so only an arena without a stream will do.
                None if other.stream().is_none() => other.core().allocate_anywhere(bytes, granules),
                None => None,
            };
            let Some(taken) = taken else { continue };
            let block = other.block(taken, bytes);
            // The owner is read after the block was allocated: a stream that got the arena meanwhile may have used the
            // block.
            let ordered = match (stream, other.stream()) {
                (Some(stream), Some(owner)) => self.shared.order(&owner, stream).map(|()| true),
                (None, Some(_)) => Ok(false),
                (_, None) => Ok(true),
            };
            if !matches!(ordered, Ok(true)) {
                block.give_back_unused();
                ordered?;
                continue;
            }
            arena.core().with(|_, counters| counters.steals[class_of(granules)] += 1);
            return Ok(Some(block));
        }
        Ok(None)
    }
}
