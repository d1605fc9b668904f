//! What an expression consists of: each node once, after those that it is computed from.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};
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

/// Nodes are apart by their size at least, so one multiplication spreads their addresses well enough.
#[derive(Default)]
struct AddressHasher(u64);

impl Hasher for AddressHasher {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        bytes.iter().for_each(|b| self.write_usize(usize::from(*b)));
    }

    #[inline]
    fn write_usize(&mut self, n: usize) {
        // The golden ratio's bits (Knuth); the rotation brings the well mixed high half down.
        self.0 = (self.0 ^ n as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(32);
    }
}

type Numbers<T> = HashMap<*const Node<T>, u32, BuildHasherDefault<AddressHasher>>;

/// Every node that `root` is computed from, and itself last. Operands come first to last, so that a chain's results are
/// used as soon as they are there.
pub(super) fn entries<T: Element>(root: &Arc<Node<T>>) -> Vec<Entry<'_, T>> {
    let mut done: Numbers<T> = HashMap::default();
    let mut entries: Vec<Entry<'_, T>> = Vec::new();
    // On the heap: an expression may be deeper than a thread's stack.
    let mut open: Vec<Entry<'_, T>> = vec![Entry { node: root, reads: SmallVec::new() }];
    while let Some(entry) = open.last_mut() {
        match entry.node.tensor_read(entry.reads.len()) {
            Some(operand) => match done.get(&Arc::as_ptr(operand)) {
                Some(number) => entry.reads.push(*number),
                None => open.push(Entry { node: operand, reads: SmallVec::new() }),
            },
            None => {
                done.insert(Arc::as_ptr(entry.node), entries.len() as u32);
                entries.extend(open.pop());
            }
        }
    }
    entries
}

/// How many of them are computed.
pub(super) fn operations<T: Element>(entries: &[Entry<'_, T>]) -> usize {
    entries.iter().filter(|e| !matches!(e.node.work, Work::Data(_))).count()
}
