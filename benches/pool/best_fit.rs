//! Exact best fit in one range of memory, with which the failures and waste of pools are compared.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Mutex, MutexGuard, PoisonError};

use super::subject::{GRANULE, Subject};

/// A range of memory of a fixed size, in steps of 256 bytes. Allocates from the smallest free range that fits, the
/// lowest of several, and joins a freed range with its neighbours. It knows no streams and no driver.
pub(crate) struct BestFit(Mutex<Ranges>);

struct Ranges {
    /// The length of each free range, by its start.
    by_address: BTreeMap<u64, u64>,
    /// The length and start of each free range.
    by_size: BTreeSet<(u64, u64)>,
    /// The end of the highest range that was ever allocated.
    extent: u64,
}

impl BestFit {
    pub(crate) fn new(total: u64) -> BestFit {
        BestFit(Mutex::new(Ranges {
            by_address: BTreeMap::from([(0, total)]),
            by_size: BTreeSet::from([(total, 0)]),
            extent: 0,
        }))
    }

    fn lock(&self) -> MutexGuard<'_, Ranges> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Ranges {
    fn insert(&mut self, at: u64, size: u64) {
        self.by_address.insert(at, size);
        self.by_size.insert((size, at));
    }

    fn remove(&mut self, at: u64, size: u64) {
        self.by_address.remove(&at);
        self.by_size.remove(&(size, at));
    }
}

impl Subject for BestFit {
    type Block = (u64, u64);

    fn allocate(&self, _: usize, bytes: u64) -> Option<(u64, u64)> {
        let wanted = bytes.next_multiple_of(GRANULE);
        let mut ranges = self.lock();
        let &(size, at) = ranges.by_size.range((wanted, 0)..).next()?;
        ranges.remove(at, size);
        if size > wanted {
            ranges.insert(at + wanted, size - wanted);
        }
        ranges.extent = ranges.extent.max(at + wanted);
        Some((at, wanted))
    }

    fn free(&self, _: usize, (mut at, mut size): (u64, u64)) {
        let mut ranges = self.lock();
        if let Some((&next, &length)) = ranges.by_address.range(at..).next()
            && next == at + size
        {
            ranges.remove(next, length);
            size += length;
        }
        if let Some((&before, &length)) = ranges.by_address.range(..at).next_back()
            && before + length == at
        {
            ranges.remove(before, length);
            (at, size) = (before, size + length);
        }
        ranges.insert(at, size);
    }

    fn reserved(&self) -> Option<u64> {
        Some(self.lock().extent)
    }
}
