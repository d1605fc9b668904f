//! What an expression consists of: each node once, after those that it is computed from.

use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use smallvec::SmallVec;

use super::element::Element;
use super::node::{Node, Operation};

/// A node and what it reads.
pub(super) struct VisitedNode<'a, T: Element> {
    pub(super) node: &'a Arc<Node<T>>,
    /// The entries of its operands that are tensors, in their order.
    pub(super) reads: SmallVec<[u32; 3]>,
}

/// Which walk came by last, and which number it gave. Read and written only by whoever holds the lock of the walks of
/// the node's stream.
#[derive(Debug, Default)]
pub(super) struct VisitMark {
    walk: AtomicU64,
    number: AtomicU32,
}

impl VisitMark {
    fn is_of(&self, walk: u64) -> bool {
        self.walk.load(Ordering::Relaxed) == walk
    }

    fn set(&self, walk: u64, number: u32) {
        self.walk.store(walk, Ordering::Relaxed);
        self.number.store(number, Ordering::Relaxed);
    }

    /// Its number in the walk that is under way.
    #[inline]
    pub(super) fn number(&self) -> u32 {
        self.number.load(Ordering::Relaxed)
    }
}

/// Counts walks. All nodes of an expression are of one stream, and so under one of these locks: a mark in the node is an
/// order of magnitude cheaper than a map of those that were seen.
static WALKS: [Mutex<u64>; 64] = [const { Mutex::new(0) }; 64];

/// Hands every node that `root` is computed from to `visit`, and itself last, each after its operands, whose
/// [marks](VisitMark::number) then have their numbers, from 0 in this order. Operands come first to last, so that a chain's
/// results are used as soon as they are there.
#[inline]
pub(super) fn walk<'a, T: Element>(root: &'a Arc<Node<T>>, mut visit: impl FnMut(&'a Arc<Node<T>>)) {
    let shard = root.tensors.stream().number() as usize % WALKS.len();
    let mut walks = WALKS[shard].lock().unwrap_or_else(PoisonError::into_inner);
    *walks += 1;
    let (walk, mut count) = (*walks, 0);
    // On the heap: an expression may be deeper than a thread's stack.
    let mut open: Vec<(&'a Arc<Node<T>>, usize)> = Vec::with_capacity(64);
    open.push((root, 0));
    while let Some((node, next)) = open.last_mut() {
        let node: &'a Arc<Node<T>> = node;
        match node.tensor_from(*next) {
            Some((at, operand)) => {
                *next = at + 1;
                if !operand.mark.is_of(walk) {
                    open.push((operand, 0));
                }
            }
            None => {
                open.pop();
                node.mark.set(walk, count);
                count += 1;
                visit(node);
            }
        }
    }
}

/// Every node that `root` is computed from, and itself last, with what they read.
pub(super) fn entries<T: Element>(root: &Arc<Node<T>>) -> Vec<VisitedNode<'_, T>> {
    let mut entries = Vec::new();
    walk(root, |node| {
        let mut reads = SmallVec::new();
        let mut next = 0;
        while let Some((at, operand)) = node.tensor_from(next) {
            reads.push(operand.mark.number());
            next = at + 1;
        }
        entries.push(VisitedNode { node, reads });
    });
    entries
}

/// How many of them are computed.
pub(super) fn operations<T: Element>(entries: &[VisitedNode<'_, T>]) -> usize {
    entries.iter().filter(|e| !matches!(e.node.work, Operation::Data(_) | Operation::View(_))).count()
}
