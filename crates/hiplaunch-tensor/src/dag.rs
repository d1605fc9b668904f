//! Visits the nodes of an expression: each once, after its operands.

use std::sync::{Arc, Mutex, PoisonError};

use smallvec::SmallVec;

use super::element::Element;
use super::node::{Node, Operation};

/// A node with the nodes that it reads.
pub(super) struct VisitedNode<'a, T: Element> {
    pub(super) node: &'a Arc<Node<T>>,
    /// The indices of its tensor operands in the list of visited nodes, in order.
    pub(super) reads: SmallVec<[u32; 3]>,
}

/// Counters of walks, each under a lock. All nodes of an expression are of one stream, and so under one lock. A mark in
/// the node is an order of magnitude faster than a map of visited nodes.
static WALKS: [Mutex<u64>; 64] = [const { Mutex::new(0) }; 64];

/// Calls `visit` for every node that `root` is computed from, and last for `root`, each after its operands. Nodes are
/// [numbered](super::node::VisitMark::number) in this order, from 0. Operands are visited first to last, so that the results of a
/// chain are used soon after they are computed.
#[inline]
pub(super) fn walk<'a, T: Element>(root: &'a Arc<Node<T>>, mut visit: impl FnMut(&'a Arc<Node<T>>)) {
    let shard = root.tensors.stream().number() as usize % WALKS.len();
    let mut walks = WALKS[shard].lock().unwrap_or_else(PoisonError::into_inner);
    *walks += 1;
    let (walk, mut count) = (*walks, 0);
    // On the heap, because an expression may be deeper than a thread's stack.
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

/// Returns every node that `root` is computed from, and last `root`, with the nodes that they read.
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

/// Returns the number of nodes that are computed, as opposed to data.
pub(super) fn operations<T: Element>(entries: &[VisitedNode<'_, T>]) -> usize {
    entries.iter().filter(|e| !matches!(e.node.work, Operation::Data(_) | Operation::View(_))).count()
}
