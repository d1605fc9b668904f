//! Which host memory is pinned: it tells copies that wait from those that do not.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use hip_driver::{Call, DriverError, Output, Work};

/// Live pinned memory: bytes by address.
#[derive(Debug, Default)]
pub(crate) struct PinnedRanges(Mutex<BTreeMap<usize, usize>>);

/// Memory that a call is about to release, to be put back if it fails.
pub(crate) type Released = Option<(usize, usize)>;

impl PinnedRanges {
    fn lock(&self) -> MutexGuard<'_, BTreeMap<usize, usize>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes memory out that is about to be released: the driver may give its address out again at once.
    #[inline]
    pub(crate) fn before(&self, call: &Call<'_>) -> Released {
        let released = call.released_memory()?;
        self.lock().remove_entry(&released.host.addr().get())
    }

    /// Takes memory in that was pinned, or could not be released.
    #[inline]
    pub(crate) fn after(&self, released: Released, result: Result<Output, &DriverError>) {
        let (address, bytes) = match (result, released) {
            (Ok(Output::Pinned(pinned)), _) => (pinned.host.addr().get(), pinned.bytes),
            (Err(_), Some(released)) => released,
            _ => return,
        };
        self.lock().insert(address, bytes);
    }

    /// Whether work copies from or to host memory that is not pinned.
    #[inline]
    pub(crate) fn is_pageable(&self, work: &Work<'_>) -> bool {
        work.host_memory().is_some_and(|host| {
            let pinned = self.lock();
            let last = pinned.range(..=host.addr()).next_back();
            last.is_none_or(|(start, bytes)| host.addr() - start >= *bytes)
        })
    }
}
