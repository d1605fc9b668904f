//! What an expression consists of: each node once, after those that it is computed from.

use std::collections::HashMap;
use std::sync::Arc;

use smallvec::SmallVec;

use super::element::Element;
use super::node::{Node, Work};

/// A node and what it reads.
pub(super) struct Entry<'a, T: Element> {
    pub(super) node: &'a Arc<Node<T>>,
    /// The entries of its operands that are tensors, in their order.
    pub(super) reads: SmallVec<[u32; 3]>,
}

/// Every node that `root` is computed from, and itself last. Operands come first to last, so that a chain's results are
/// used as soon as they are there.
pub(super) fn entries<T: Element>(root: &Arc<Node<T>>) -> Vec<Entry<'_, T>> {
    let mut done: HashMap<*const Node<T>, u32> = HashMap::new();
    let mut entries: Vec<Entry<'_, T>> = Vec::new();
    // On the heap: an expression may be deeper than a thread's stack.
    let mut open: Vec<(&Arc<Node<T>>, usize)> = vec![(root, 0)];
    while let Some((node, next)) = open.last_mut() {
        let reads = node.tensors_read();
        match reads.get(*next) {
            Some(operand) => {
                *next += 1;
                if !done.contains_key(&Arc::as_ptr(operand)) {
                    open.push((*operand, 0));
                }
            }
            None => {
                let reads = reads.iter().filter_map(|r| done.get(&Arc::as_ptr(r)).copied()).collect();
                done.insert(Arc::as_ptr(node), entries.len() as u32);
                entries.push(Entry { node, reads });
                open.pop();
            }
        }
    }
    entries
}

/// How many of them are computed.
pub(super) fn operations<T: Element>(entries: &[Entry<'_, T>]) -> usize {
    entries.iter().filter(|e| !matches!(e.node.work, Work::Data(_))).count()
}
