//! What a pool counts.

use super::bins::GRANULE;

/// Size classes: class `k` holds blocks of `2^(k-1)` granules and more, below `2^k`.
pub(crate) const CLASSES: usize = 33;

/// The size class of a block of `units` granules.
#[inline]
pub(crate) fn class_of(units: u32) -> usize {
    (u32::BITS - units.leading_zeros()) as usize
}

/// The largest size of a class in bytes.
pub(crate) fn class_bytes(class: usize) -> u64 {
    ((1u64 << class) - 1) * GRANULE
}

/// Events of one arena.
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
    pub(crate) fn hit(&mut self, units: u32) {
        self.hits[class_of(units)] += 1;
    }
}
