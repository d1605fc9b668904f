//! Exact best fit over one arena: what a pool's failures and waste are held against.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Mutex, MutexGuard, PoisonError};

use super::subject::{GRANULE, Subject};

/// One arena of a fixed size, in steps of 256 bytes: the smallest free range that fits, the lowest of these, joined with
/// its neighbours when it is freed. Knows no streams and no driver.
pub(crate) struct BestFit(Mutex<Ranges>);

struct Ranges {
    /// Length by beginning.
    by_address: BTreeMap<u64, u64>,
    /// Length and beginning.
    by_size: BTreeSet<(u64, u64)>,
    /// End of the highest range that was ever handed out.
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
