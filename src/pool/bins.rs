//! Bins of free blocks by size, with bitmaps for finding the smallest block that fits.
//!
//! | Block | Bins |
//! |---|---|
//! | below 1 MiB | one for each multiple of [`GRANULE`]: the best fit is found in constant time |
//! | larger | 64 for each power of two (within 1.6 %): the best of the first few blocks of a bin is taken |

use super::block_records::{BlockRecord, NIL};

/// The size of every block is a multiple of this number of bytes.
pub(crate) const GRANULE: u64 = 256;

/// Each size below this number of granules has a bin of its own.
const EXACT: u32 = 4096;
const EXACT_BITS: u32 = EXACT.trailing_zeros();
/// The base-2 logarithm of the number of bins for each larger power of two.
const STEPS_BITS: u32 = 6;
const BINS: usize = EXACT as usize + ((32 - EXACT_BITS as usize) << STEPS_BITS);
const WORDS: usize = BINS / 64;
const SUMMARY: usize = WORDS.div_ceil(64);
/// The number of blocks of a coarse bin that are compared before the search continues in the next bin.
const BLOCKS_COMPARED: usize = 32;

/// Returns the bin of a block of `granules` granules (not 0).
#[inline]
fn bin_of(granules: u32) -> usize {
    if granules < EXACT {
        return granules as usize;
    }
    let top = 31 - granules.leading_zeros();
    let step = granules >> (top - STEPS_BITS) & ((1 << STEPS_BITS) - 1);
    EXACT as usize + (((top - EXACT_BITS) as usize) << STEPS_BITS) + step as usize
}

/// Doubly linked lists of free blocks' records, one for each bin.
pub(crate) struct Bins {
    heads: Box<[u32]>,
    words: Box<[u64; WORDS]>,
    summary: [u64; SUMMARY],
}

impl Bins {
    pub(crate) fn new() -> Bins {
        Bins { heads: vec![NIL; BINS].into_boxed_slice(), words: Box::new([0; WORDS]), summary: [0; SUMMARY] }
    }

    /// Puts the record of a free block into its bin.
    #[inline]
    pub(crate) fn insert(&mut self, records: &mut [BlockRecord], id: u32) {
        let bin = bin_of(records[id as usize].granules);
        let head = self.heads[bin];
        let record = &mut records[id as usize];
        (record.bin_prev, record.bin_next) = (NIL, head);
        if head == NIL {
            self.words[bin / 64] |= 1 << (bin % 64);
            self.summary[bin / 4096] |= 1 << (bin / 64 % 64);
        } else {
            records[head as usize].bin_prev = id;
        }
        self.heads[bin] = id;
    }

    /// Removes a record from its bin.
    #[inline]
    pub(crate) fn remove(&mut self, records: &mut [BlockRecord], id: u32) {
        let BlockRecord { granules, bin_prev, bin_next, .. } = records[id as usize];
        if bin_next != NIL {
            records[bin_next as usize].bin_prev = bin_prev;
        }
        if bin_prev != NIL {
            records[bin_prev as usize].bin_next = bin_next;
            return;
        }
        let bin = bin_of(granules);
        self.heads[bin] = bin_next;
        if bin_next == NIL {
            self.words[bin / 64] &= !(1 << (bin % 64));
            if self.words[bin / 64] == 0 {
                self.summary[bin / 4096] &= !(1 << (bin / 64 % 64));
            }
        }
    }

    /// Finds a small block of at least `granules` granules. It stays in its bin.
    #[inline]
    pub(crate) fn find(&self, records: &[BlockRecord], granules: u32) -> Option<u32> {
        let bin = bin_of(granules);
        if granules >= EXACT
            && let Some(best) = self.best(records, bin, granules, BLOCKS_COMPARED)
        {
            return Some(best);
        }
        let from = if granules >= EXACT { bin + 1 } else { bin };
        match self.next_bin(from) {
            Some(bin) if bin < EXACT as usize => Some(self.heads[bin]),
            Some(bin) => self.best(records, bin, granules, BLOCKS_COMPARED),
            // The rest of the bin is compared before the search fails.
            None if granules >= EXACT => self.best(records, bin, granules, usize::MAX),
            None => None,
        }
    }

    /// Returns the first bin from `bin` on that is not empty.
    #[inline]
    fn next_bin(&self, bin: usize) -> Option<usize> {
        let mut word = bin / 64;
        let rest = self.words.get(word)? & (u64::MAX << (bin % 64));
        if rest != 0 {
            return Some(word * 64 + rest.trailing_zeros() as usize);
        }
        word += 1;
        let mut top = word / 64;
        let mut rest = self.summary.get(top)? & u64::MAX.checked_shl(word as u32 % 64).unwrap_or(0);
        while rest == 0 {
            top += 1;
            rest = *self.summary.get(top)?;
        }
        let word = top * 64 + rest.trailing_zeros() as usize;
        Some(word * 64 + self.words[word].trailing_zeros() as usize)
    }

    /// Returns the smallest block of at least `granules` granules among the first `look` of a bin.
    fn best(&self, records: &[BlockRecord], bin: usize, granules: u32, look: usize) -> Option<u32> {
        let (mut at, mut best, mut looked) = (self.heads[bin], None, 0);
        while at != NIL && looked < look {
            let record = &records[at as usize];
            if record.granules >= granules && best.is_none_or(|(u, _)| record.granules < u) {
                best = Some((record.granules, at));
                if record.granules == granules {
                    break;
                }
            }
            at = record.bin_next;
            looked += 1;
        }
        best.map(|(_, id)| id)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bins_ascend_with_sizes_and_are_narrow() {
        let mut last = bin_of(1);
        for granules in (2..20_000).chain((20_000..u32::MAX - 99_999).step_by(99_991)) {
            let bin = bin_of(granules);
            assert!(bin >= last && bin < BINS, "{granules}");
            assert!(granules >= EXACT || bin == granules as usize);
            last = bin;
        }
        assert_eq!(bin_of(u32::MAX), BINS - 1);
        assert!((1..1000).all(|k| bin_of(EXACT * 7 + k * 64 * 7) > bin_of(EXACT * 7 + (k - 1) * 64 * 7) || k % 64 != 0));
    }

    #[test]
    fn finds_what_a_search_finds() {
        let mut seed = 7u64;
        let mut random = move |below: u64| {
            seed = seed.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            (seed >> 33) % below
        };
        let (mut bins, mut records, mut inside) = (Bins::new(), Vec::new(), Vec::new());
        for round in 0..20_000u32 {
            // Sizes of both kinds, so few that bins hold several records.
            let size = |r: u64| 1 + if r.is_multiple_of(3) { r % 64 } else { r * 37 % 9000 } as u32;
            if inside.is_empty() || random(2) == 0 {
                records.push(BlockRecord { granules: size(random(1 << 20)), ..BlockRecord::default() });
                let id = records.len() as u32 - 1;
                bins.insert(&mut records, id);
                inside.push(id);
            } else {
                let gone = inside.swap_remove(random(inside.len() as u64) as usize);
                bins.remove(&mut records, gone);
            }
            let wanted = size(random(1 << 20));
            let best = inside.iter().map(|&i| records[i as usize].granules).filter(|&u| u >= wanted).min();
            let found = bins.find(&records, wanted).map(|i| records[i as usize].granules);
            match (best, found) {
                (Some(best), Some(found)) => {
                    assert!(found >= best, "{round}");
                    assert!(
                        if best < EXACT { found == best } else { found - best <= best / 32 },
                        "{found} for {best}"
                    );
                }
                (best, found) => assert_eq!(best, found, "{round}: wanted {wanted}"),
            }
        }
    }
}
