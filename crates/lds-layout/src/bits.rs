//! Small sets of buffers, one machine word for every 64 of them.

/// A set of indices below a limit that is fixed when the set is created.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Bits(Vec<u64>);

impl Bits {
    pub(super) fn new(limit: usize) -> Bits {
        Bits(vec![0; limit.div_ceil(64)])
    }

    pub(super) fn insert(&mut self, index: usize) {
        if let Some(word) = self.0.get_mut(index / 64) {
            *word |= 1 << (index % 64);
        }
    }

    pub(super) fn contains(&self, index: usize) -> bool {
        self.0.get(index / 64).is_some_and(|word| word >> (index % 64) & 1 == 1)
    }

    pub(super) fn clear(&mut self) {
        self.0.fill(0);
    }

    /// Adds all of `other` and returns whether that changed the set.
    pub(super) fn add(&mut self, other: &Bits) -> bool {
        let mut more = false;
        for (word, other) in self.0.iter_mut().zip(&other.0) {
            more |= *other & !*word != 0;
            *word |= other;
        }
        more
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = usize> + '_ {
        self.0.iter().enumerate().flat_map(|(i, &word)| {
            let mut word = word;
            std::iter::from_fn(move || {
                let bit = word.trailing_zeros() as usize;
                word &= word.wrapping_sub(1);
                (bit < 64).then_some(i * 64 + bit)
            })
        })
    }
}

/// A symmetric relation between buffers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Relation(Vec<Bits>);

impl Relation {
    pub(super) fn new(buffers: usize) -> Relation {
        Relation(vec![Bits::new(buffers); buffers])
    }

    /// Relates two different buffers.
    pub(super) fn insert(&mut self, a: usize, b: usize) {
        if a == b {
            return;
        }
        for (a, b) in [(a, b), (b, a)] {
            if let Some(row) = self.0.get_mut(a) {
                row.insert(b);
            }
        }
    }

    pub(super) fn has(&self, a: usize, b: usize) -> bool {
        self.0.get(a).is_some_and(|row| row.contains(b))
    }

    /// Every related pair once, the lower index first.
    pub(super) fn pairs(&self) -> impl Iterator<Item = (usize, usize)> + '_ {
        (self.0.iter().enumerate())
            .flat_map(|(a, row)| row.iter().filter(move |&b| a < b).map(move |b| (a, b)))
    }
}
