//! The graphs of a stream's expressions, by the structure and shapes of the expression.

use std::sync::{Mutex, PoisonError};

use hiplaunch::graph::CachedGraph;

/// The number of graphs that are kept for a stream.
const KEPT: usize = 64;

/// The words of a key with their hash.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct KeyWords {
    // Compared first, because it usually differs.
    pub(super) hash: u64,
    pub(super) words: Vec<u64>,
}

impl KeyWords {
    #[inline]
    pub(super) fn push(&mut self, word: u64) {
        // The golden ratio's bits (Knuth). The rotation moves the well-mixed high half down.
        self.hash = (self.hash ^ word).wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(31);
        self.words.push(word);
    }
}

/// The positions of an expression's data and scalars in its graph.
#[derive(Debug)]
pub(super) struct GraphInputs {
    /// The graph values of the nodes that are data, in the order of the walk.
    pub(super) leaves: Vec<u32>,
    /// The immediates of the scalars, in the order of the walk.
    pub(super) scalars: Vec<u32>,
    pub(super) result: u32,
}

/// The graph of an expression.
#[derive(Debug)]
pub(super) struct Lowered {
    pub(super) graph: CachedGraph,
    pub(super) inputs: GraphInputs,
}

#[derive(Debug, Default)]
struct CachedExpressions {
    all: Vec<(KeyWords, Lowered, u64)>,
    clock: u64,
}

/// The graphs of a stream's expressions. The least recently used one is dropped first.
#[derive(Debug, Default)]
pub(super) struct Expressions(Mutex<CachedExpressions>);

impl Expressions {
    fn lock(&self) -> std::sync::MutexGuard<'_, CachedExpressions> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Removes and returns a graph, which the caller binds and submits without the lock. Another thread that needs it
    /// meanwhile records its own.
    pub(super) fn take(&self, key: &KeyWords) -> Option<Lowered> {
        let mut kept = self.lock();
        let found = kept.all.iter().position(|(k, ..)| k == key)?;
        Some(kept.all.swap_remove(found).1)
    }

    pub(super) fn put(&self, key: KeyWords, lowered: Lowered) {
        let gone = {
            let mut kept = self.lock();
            kept.clock += 1;
            let used = kept.clock;
            let same = kept.all.iter().position(|(k, ..)| *k == key);
            let goes = match same {
                Some(same) => Some(same),
                None if kept.all.len() >= KEPT => (0..kept.all.len()).min_by_key(|&i| kept.all[i].2),
                None => None,
            };
            let gone = goes.map(|i| kept.all.swap_remove(i));
            kept.all.push((key, lowered, used));
            gone
        };
        // Dropped without the lock.
        drop(gone);
    }

    /// Returns the number of graphs that are kept.
    pub(super) fn len(&self) -> usize {
        self.lock().all.len()
    }
}
