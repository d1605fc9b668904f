//! What an arena counts.

use super::bins::GRANULE;

/// The number of size classes. Class `k` holds blocks of at least `2^(k-1)` and less than `2^k` granules.
pub(crate) const CLASSES: usize = 33;

/// Returns the size class of a block of `granules` granules.
#[inline]
pub(crate) fn class_of(granules: u32) -> usize {
    (u32::BITS - granules.leading_zeros()) as usize
}

/// The size of the largest block of a class in bytes.
pub(crate) fn class_bytes(class: usize) -> u64 {
    ((1u64 << class) - 1) * GRANULE
}

/// The counters of one arena. Hits, misses and steals are counted by size class.
#[derive(Clone, Debug)]
pub(crate) struct Counters {
    pub(crate) hits: [u64; CLASSES],
    pub(crate) misses: [u64; CLASSES],
    pub(crate) steals: [u64; CLASSES],
    pub(crate) frees: u64,
}

impl Default for Counters {
    fn default() -> Self {
        Counters { hits: [0; CLASSES], misses: [0; CLASSES], steals: [0; CLASSES], frees: 0 }
    }
}

impl Counters {
    #[inline]
    pub(crate) fn hit(&mut self, granules: u32) {
        self.hits[class_of(granules)] += 1;
    }
}
