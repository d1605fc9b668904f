//! The sanitizer's record of which bytes of LDS were written: one bit for each byte.

use crate::memory::words;

/// The bytes of a workgroup's LDS that were written. Those past its end count as written.
#[derive(Default)]
pub(super) struct WrittenBytes(Vec<u64>);

impl WrittenBytes {
    /// Sets the number of bytes.
    pub(super) fn resize(&mut self, bytes: u32) {
        self.0.resize((bytes as usize).div_ceil(64), 0);
    }

    /// Returns whether all of these bytes were written.
    pub(super) fn is_written(&self, from: u64, bytes: u64) -> bool {
        let is_written = |(n, mask)| self.0.get(n as usize).is_none_or(|word| word & mask == mask);
        words(from, from + bytes).all(is_written)
    }

    /// Marks bytes as written.
    pub(super) fn mark(&mut self, from: u64, bytes: u64) {
        for (n, mask) in words(from, from + bytes) {
            if let Some(word) = self.0.get_mut(n as usize) {
                *word |= mask;
            }
        }
    }

    /// Marks a byte as never written.
    pub(super) fn clear(&mut self, at: u64) {
        for (n, mask) in words(at, at + 1) {
            if let Some(word) = self.0.get_mut(n as usize) {
                *word &= !mask;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_are_marked_individually() {
        let mut written = WrittenBytes::default();
        written.resize(1000);
        let mut expected = [false; 1000];
        for (from, bytes) in [(0, 1), (63, 2), (128, 64), (200, 300), (999, 1), (640, 64)] {
            assert!(!written.is_written(from, bytes), "{from} {bytes}");
            written.mark(from, bytes);
            expected[from as usize..(from + bytes) as usize].fill(true);
            assert!(written.is_written(from, bytes), "{from} {bytes}");
        }
        for at in [64, 130, 499, 640] {
            written.clear(at);
            expected[at as usize] = false;
        }
        for (at, is_written) in expected.into_iter().enumerate() {
            assert_eq!(written.is_written(at as u64, 1), is_written, "{at}");
        }
        assert!(!written.is_written(0, 1000) && written.is_written(5, 0) && written.is_written(1 << 40, 1));
    }
}
