//! The sanitizer's record of which bytes of an allocation were written: one bit for each byte.

use std::sync::atomic::{AtomicU64, Ordering};

use super::backing::Backing;
use super::guest_range::GuestRange;

/// The bits of one allocation.
pub(crate) struct Shadow {
    /// Keeps the memory of `words` alive.
    _bits: Backing,
    words: GuestRange,
    len: u64,
    /// The number of bytes that the allocation was asked for, which come first.
    own: u64,
    /// The number of these that were not written, or more while another thread counts: if it is 0, all were written. Most memory is
    /// written as a whole before a kernel runs, so that nothing else is looked at.
    unwritten: AtomicU64,
}

/// Returns a mask of bits `from..to`. `to` is at most 64.
fn mask(from: u64, to: u64) -> u64 {
    let below = |n: u64| if n >= 64 { !0 } else { (1u64 << n) - 1 };
    below(to) & !below(from)
}

/// Returns the index of each word of 64 bits that has bits of `from..to`, and a mask of them.
pub(crate) fn words(from: u64, to: u64) -> impl Iterator<Item = (u64, u64)> {
    let words = from / 64..if from < to { to.div_ceil(64) } else { from / 64 };
    words.map(move |n| (n, mask(from.saturating_sub(64 * n), (to - 64 * n).min(64))))
}

impl Shadow {
    /// Creates the bits for an allocation of `len` bytes, none of them written, of which the first `own` were asked for; `None` if the
    /// host has no memory left.
    pub(crate) fn new(len: u64, own: u64) -> Option<Shadow> {
        let bytes = len.div_ceil(64).checked_mul(8)?;
        let bits = Backing::zeroed(usize::try_from(bytes).ok()?)?;
        let words = GuestRange { base: 0, len: bytes, ptr: bits.ptr().as_ptr() };
        Some(Shadow { _bits: bits, words, len, own, unwritten: AtomicU64::new(own) })
    }

    /// Returns the index of each word with bits of bytes `offset..offset + len`, and a mask of these bits.
    fn masks(&self, offset: u64, len: u64) -> impl Iterator<Item = (u64, u64)> + use<> {
        words(offset, offset.saturating_add(len).min(self.len))
    }

    /// Returns whether all of these bytes are known to be written because all bytes are that the allocation was asked for.
    pub(crate) fn has_all_written(&self, offset: u64, len: u64) -> bool {
        self.unwritten.load(Ordering::Acquire) == 0 && offset.saturating_add(len) <= self.own
    }

    /// Marks bytes as written.
    pub(crate) fn mark(&self, offset: u64, len: u64) {
        if self.has_all_written(offset, len) {
            return;
        }
        for (n, bits) in self.masks(offset, len) {
            if let Some(word) = self.words.atomic_u64(8 * n)
                && word.load() & bits != bits
            {
                let old = word.update(|old| old | bits);
                let own = mask(0, self.own.saturating_sub(64 * n).min(64));
                self.unwritten.fetch_sub((bits & !old & own).count_ones().into(), Ordering::Release);
            }
        }
    }

    /// Returns whether all of these bytes have been written.
    pub(crate) fn is_written(&self, offset: u64, len: u64) -> bool {
        self.has_all_written(offset, len) || self.are_set(offset, len)
    }

    /// Returns whether the bits of all of these bytes are set.
    fn are_set(&self, offset: u64, len: u64) -> bool {
        self.masks(offset, len).all(|(n, mask)| {
            let word = self.words.atomic_u64(8 * n).map_or(0, |word| word.load());
            word & mask == mask
        })
    }

    /// Copies the bits of bytes that were copied. Without bits of their source (`None`), the bytes count as written.
    pub(crate) fn copy(&self, offset: u64, from: Option<&Shadow>, from_offset: u64, len: u64) {
        let Some(from) = from else { return self.mark(offset, len) };
        if std::ptr::eq(self, from) {
            // The two may overlap.
            let written: Vec<bool> = (0..len).map(|at| self.is_written(from_offset + at, 1)).collect();
            for (at, is_written) in (offset..).zip(written) {
                if is_written { self.mark(at, 1) } else { self.clear(at) }
            }
            return;
        }
        // Marks whole words at a time where all bytes were written, which is the common case.
        for at in (0..len).step_by(64) {
            let part = (len - at).min(64);
            if from.is_written(from_offset + at, part) {
                self.mark(offset + at, part);
                continue;
            }
            for byte in at..at + part {
                if from.is_written(from_offset + byte, 1) {
                    self.mark(offset + byte, 1);
                } else {
                    self.clear(offset + byte);
                }
            }
        }
    }

    /// Marks a byte as never written.
    pub(crate) fn clear(&self, offset: u64) {
        let own = u64::from(offset < self.own);
        for (n, mask) in self.masks(offset, 1) {
            if let Some(word) = self.words.atomic_u64(8 * n) {
                // Counted before the bit is cleared, so that the number is never too small.
                self.unwritten.fetch_add(own, Ordering::Release);
                if word.update(|bits| bits & !mask) & mask == 0 {
                    self.unwritten.fetch_sub(own, Ordering::Release);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::test_wave::Random;

    #[test]
    fn bytes_are_marked_individually() {
        let shadow = Shadow::new(1000, 990).unwrap();
        for (offset, len) in [(0, 1), (63, 2), (128, 64), (200, 300), (999, 1), (998, 10)] {
            assert!(!shadow.is_written(offset, len), "{offset} {len}");
            shadow.mark(offset, len);
            assert!(shadow.is_written(offset, len), "{offset} {len}");
        }
        for offset in [1, 62, 65, 127, 192, 199, 500, 997] {
            assert!(!shadow.is_written(offset, 1), "{offset}");
        }
        assert!(!shadow.is_written(0, 1000) && shadow.is_written(5, 0));
        let copy = Shadow::new(1000, 990).unwrap();
        copy.mark(0, 1000);
        copy.copy(10, Some(&shadow), 190, 320);
        for n in 0..320 {
            assert_eq!(copy.is_written(10 + n, 1), shadow.is_written(190 + n, 1), "{n}");
        }
        copy.mark(100, 1);
        copy.copy(90, Some(&copy), 95, 20);
        assert!(
            copy.is_written(95, 1)
                && (0..5).all(|n| copy.is_written(90 + n, 1) == shadow.is_written(275 + n, 1))
        );
        copy.copy(0, None, 0, 1000);
        assert!(copy.is_written(0, 1000));
    }

    /// The number of unwritten bytes says only what the bits say, whatever was marked and cleared.
    #[test]
    fn what_is_all_written_has_all_bits() {
        let (shadow, mut random) = (Shadow::new(300, 200).unwrap(), Random::new(3));
        for _ in 0..20_000 {
            let (offset, len) = (random.next() % 300, random.next() % 200);
            match random.next() % 4 {
                0 => shadow.clear(offset),
                _ => shadow.mark(offset, len),
            }
            let unwritten = (0..200).filter(|at| !shadow.are_set(*at, 1)).count() as u64;
            assert_eq!(shadow.unwritten.load(Ordering::SeqCst), unwritten);
            assert_eq!(shadow.has_all_written(offset, len), unwritten == 0 && offset + len <= 200);
            assert_eq!(shadow.is_written(offset, len), shadow.are_set(offset, len));
        }
    }
}
