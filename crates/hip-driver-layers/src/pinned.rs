//! The ranges of pinned host memory, which distinguish copies that wait from those that do not.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use hip_driver::{Call, DriverError, Output, Work};

/// Live pinned memory: lengths in bytes by host address.
#[derive(Debug, Default)]
pub(crate) struct PinnedRanges(Mutex<BTreeMap<usize, usize>>);

/// Memory that a call is about to free, to be added again if the call fails.
pub(crate) type Released = Option<(usize, usize)>;

impl PinnedRanges {
    fn lock(&self) -> MutexGuard<'_, BTreeMap<usize, usize>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Removes memory that is about to be freed: the driver may return its address to another thread at once.
    #[inline]
    pub(crate) fn before(&self, call: &Call<'_>) -> Released {
        let released = call.released_memory()?;
        self.lock().remove_entry(&released.host.addr().get())
    }

    /// Adds memory that was pinned or could not be freed.
    #[inline]
    pub(crate) fn after(&self, released: Released, result: Result<Output, &DriverError>) {
        let (address, bytes) = match (result, released) {
            (Ok(Output::Pinned(pinned)), _) => (pinned.host.addr().get(), pinned.bytes),
            (Err(_), Some(released)) => released,
            _ => return,
        };
        self.lock().insert(address, bytes);
    }

    /// Returns whether the work copies from or to host memory that is not pinned.
    #[inline]
    pub(crate) fn is_pageable(&self, work: &Work<'_>) -> bool {
        work.host_memory().is_some_and(|host| {
            let pinned = self.lock();
            let last = pinned.range(..=host.addr()).next_back();
            last.is_none_or(|(start, bytes)| host.addr() - start >= *bytes)
        })
    }
}
