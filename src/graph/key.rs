//! The key of a graph in the cache: its structure as words, which are hashed while it is recorded.

/// The structure of a graph without addresses and scalars. Two graphs with equal keys have the same program.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct GraphKey {
    // Compared first, because it usually differs.
    hash: u64,
    words: Vec<u64>,
}

/// A length of a key to which it can be truncated again.
#[derive(Clone, Copy, Debug)]
pub(super) struct KeyCheckpoint {
    hash: u64,
    len: usize,
}

impl GraphKey {
    #[inline]
    pub(super) fn push(&mut self, word: u64) {
        // The golden ratio's bits (Knuth). The rotation moves the well-mixed high half down.
        self.hash = (self.hash ^ word).wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(31);
        self.words.push(word);
    }

    #[inline]
    pub(super) fn mark(&self) -> KeyCheckpoint {
        KeyCheckpoint { hash: self.hash, len: self.words.len() }
    }

    /// Returns the words that were added since a checkpoint.
    pub(super) fn since(&self, mark: KeyCheckpoint) -> &[u64] {
        self.words.get(mark.len..).unwrap_or(&[])
    }

    pub(super) fn roll_back(&mut self, mark: KeyCheckpoint) {
        self.hash = mark.hash;
        self.words.truncate(mark.len);
    }

    /// Replaces words at checkpoints. All checkpoints behind the first of them are invalid then.
    pub(super) fn replace(&mut self, changes: impl IntoIterator<Item = (KeyCheckpoint, u64)>) {
        let mut words = std::mem::take(self).words;
        for (at, word) in changes {
            if let Some(old) = words.get_mut(at.len) {
                *old = word;
            }
        }
        words.into_iter().for_each(|word| self.push(word));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_refused_node_leaves_no_trace() {
        let (mut a, mut b) = (GraphKey::default(), GraphKey::default());
        a.push(1);
        let mark = a.mark();
        a.push(99);
        a.roll_back(mark);
        a.push(2);
        b.push(1);
        b.push(2);
        assert_eq!(a, b);
        b.push(0);
        assert_ne!(a, b);
    }

    #[test]
    fn a_key_with_a_replaced_word_is_that_of_the_other_graph() {
        let (mut a, mut b) = (GraphKey::default(), GraphKey::default());
        a.push(1);
        let mark = a.mark();
        [99, 3].iter().for_each(|word| a.push(*word));
        [1, 2, 3].iter().for_each(|word| b.push(*word));
        a.replace([(mark, 2)]);
        assert_eq!(a, b);
    }
}
