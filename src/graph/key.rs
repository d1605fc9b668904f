//! What a graph is to the cache: its structure as words, hashed while it is recorded.

/// Structure without addresses and scalars. Two graphs with equal keys have the same program.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Key {
    // First, as it differs first.
    hash: u64,
    words: Vec<u64>,
}

/// A key's end, to go back to.
#[derive(Clone, Copy, Debug)]
pub(super) struct Mark {
    hash: u64,
    len: usize,
}

impl Key {
    #[inline]
    pub(super) fn push(&mut self, word: u64) {
        // The golden ratio's bits (Knuth); the rotation brings the well mixed high half down.
        self.hash = (self.hash ^ word).wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(31);
        self.words.push(word);
    }

    #[inline]
    pub(super) fn mark(&self) -> Mark {
        Mark { hash: self.hash, len: self.words.len() }
    }

    /// The words since then.
    pub(super) fn since(&self, mark: Mark) -> &[u64] {
        self.words.get(mark.len..).unwrap_or(&[])
    }

    pub(super) fn roll_back(&mut self, mark: Mark) {
        self.hash = mark.hash;
        self.words.truncate(mark.len);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_refused_node_leaves_no_trace() {
        let (mut a, mut b) = (Key::default(), Key::default());
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
}
