//! What a pool does, in this order, before it says that memory has run out.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use hip_driver::{DriverError, DriverResult, ErrorCode};

use super::block::PoolBlock;
use super::core::{MissRequest, PoolCore, RequestContext};
use super::heap::HUGE;
use super::shared::StreamRef;
use super::stats::class_of;

/// Asked to give up memory: gets the bytes that are missing, gives the bytes it freed as far as it knows.
pub(crate) type ReclaimFn = Arc<dyn Fn(u64) -> u64 + Send + Sync>;

/// The steps, each tried when those before did not help.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[repr(usize)]
#[non_exhaustive]
pub enum ReclaimStep {
    /// The program's own callbacks free what they can.
    Callbacks,
    /// Blocks held back for other streams whose work has finished meanwhile.
    PollEvents,
    /// A free block of another stream, for which this stream waits.
    Borrow,
    /// Cached segments of idle streams go to the driver, which is asked again.
    ReleaseCached,
    /// Waits for every held block and every stream with cached segments, then does the last two again.
    WaitForEvents,
    /// The error.
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

/// Callbacks, and how often each reclaim step was reached and how often it helped.
#[derive(Default)]
pub(crate) struct ReclaimSteps {
    callbacks: Mutex<Vec<(u64, ReclaimFn)>>,
    next: AtomicU64,
    reached: [AtomicU64; ReclaimStep::ALL.len()],
    helped: [AtomicU64; ReclaimStep::ALL.len()],
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

    /// Runs the callbacks, with no lock held; whether one of them freed something.
    pub(crate) fn run_callbacks(&self, bytes: u64) -> bool {
        let callbacks: Vec<ReclaimFn> = {
            let all = self.callbacks.lock().unwrap_or_else(PoisonError::into_inner);
            all.iter().map(|(_, f)| f.clone()).collect()
        };
        let mut freed = 0u64;
        for callback in callbacks {
            // A callback that panics frees nothing; it is no reason to lose an allocation.
            let f = std::panic::AssertUnwindSafe(|| callback(bytes));
            freed = freed.saturating_add(std::panic::catch_unwind(f).unwrap_or(0));
        }
        freed > 0
    }

    fn reach(&self, step: ReclaimStep) {
        self.reached[step as usize].fetch_add(1, Ordering::Relaxed);
    }

    fn help(&self, step: ReclaimStep) {
        self.helped[step as usize].fetch_add(1, Ordering::Relaxed);
    }

    /// How often a reclaim step was reached, and how often it gave the block.
    pub(crate) fn counts(&self, step: ReclaimStep) -> (u64, u64) {
        let i = step as usize;
        (self.reached[i].load(Ordering::Relaxed), self.helped[i].load(Ordering::Relaxed))
    }
}

impl MissRequest<'_> {
    fn is_huge(&self) -> bool {
        self.units >= HUGE
    }
}

impl PoolCore {
    /// Climbs from the first reclaim step on; `error` is the driver's that led here.
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
            self.ladder.reach(step);
            match self.try_step(step, request) {
                Ok(Some(block)) => {
                    self.ladder.help(step);
                    return Ok(block);
                }
                Ok(None) => {}
                // The last driver's word on memory is the one that counts.
                Err(e) if e.code == ErrorCode::OUT_OF_MEMORY => error = e,
                Err(e) => return Err(e),
            }
        }
        Err(error)
    }

    fn try_step(&self, step: ReclaimStep, request: &MissRequest<'_>) -> DriverResult<Option<PoolBlock>> {
        match step {
            ReclaimStep::Callbacks => {
                if self.ladder.run_callbacks(request.bytes) {
                    self.again(request)
                } else {
                    Ok(None)
                }
            }
            ReclaimStep::PollEvents => {
                let released: usize = self.all().iter().map(|a| a.core().poll(&self.shared, false)).sum();
                if released > 0 { Ok(self.own(request)) } else { Ok(None) }
            }
            // A huge block cut out of another stream's would keep all of that from going back: segments first.
            ReclaimStep::Borrow if request.is_huge() => Ok(None),
            ReclaimStep::Borrow => self.borrow(request),
            ReclaimStep::ReleaseCached => {
                if self.release_free(u64::MAX, false)? > 0 {
                    self.again(request)
                } else {
                    Ok(None)
                }
            }
            ReclaimStep::WaitForEvents => {
                for arena in self.all() {
                    arena.core().poll(&self.shared, true);
                }
                if let Some(block) = self.own(request) {
                    return Ok(Some(block));
                }
                if !request.is_huge()
                    && let Some(block) = self.borrow(request)?
                {
                    return Ok(Some(block));
                }
                self.release_free(u64::MAX, true)?;
                match self.again(request) {
                    Err(e) if e.code == ErrorCode::OUT_OF_MEMORY && request.is_huge() => {
                        self.anywhere(request)
                    }
                    other => other,
                }
            }
            ReclaimStep::OutOfMemory => Ok(None),
        }
    }

    /// From what the stream has by now.
    fn own(&self, request: &MissRequest<'_>) -> Option<PoolBlock> {
        let MissRequest { arena, bytes, units, .. } = *request;
        let taken = match request.is_huge() {
            true => arena.core().allocate_again(bytes, units)?,
            false => arena.core().allocate_anywhere(bytes, units)?,
        };
        Some(arena.block(taken, bytes))
    }

    /// A huge block out of a larger one, of this stream or another: better than to fail.
    fn anywhere(&self, request: &MissRequest<'_>) -> DriverResult<Option<PoolBlock>> {
        match request.arena.core().allocate_anywhere(request.bytes, request.units) {
            Some(taken) => Ok(Some(request.arena.block(taken, request.bytes))),
            None => self.borrow(request),
        }
    }

    /// From what the stream has by now, or the driver.
    fn again(&self, request: &MissRequest<'_>) -> DriverResult<Option<PoolBlock>> {
        match self.own(request) {
            Some(block) => Ok(Some(block)),
            None => self.grow(request, false),
        }
    }

    /// A free block within another stream's memory. It stays that stream's: it goes back there, held until this stream
    /// has done with it.
    fn borrow(&self, request: &MissRequest<'_>) -> DriverResult<Option<PoolBlock>> {
        let MissRequest { arena, stream, bytes, units, .. } = *request;
        for other in self.all().iter().filter(|o| !Arc::ptr_eq(o, arena)) {
            let taken = match stream {
                Some(stream) => other.core().lend(bytes, units, StreamRef::new(stream)),
                // Memory of no stream may be used at once, so only idle memory will do.
                None if other.stream().is_none() => other.core().allocate_anywhere(bytes, units),
                None => None,
            };
            let Some(taken) = taken else { continue };
            let block = other.block(taken, bytes);
            // Asked for once the block is out: a stream that came meanwhile may have used it.
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
            arena.core().with(|_, counters| counters.steals[class_of(units)] += 1);
            return Ok(Some(block));
        }
        Ok(None)
    }
}
