//! Which operations go into one kernel.

use smallvec::SmallVec;

use crate::dag::VisitedNode;
use crate::element::Element;
use crate::node::Operation;

/// Most operations of a kernel: each has at most three operands of 8 bytes, so that all fit into the 4 KiB that a launch
/// passes by value.
const MOST: u32 = 128;

/// A partition of an expression's elementwise operations.
#[derive(Debug, Default)]
pub(crate) struct Clusters {
    /// For each entry, the last one of its cluster; itself where it is alone.
    last: Vec<u32>,
    /// For the last entry of a cluster of two and more, all of them in order.
    members: Vec<SmallVec<[u32; 4]>>,
}

impl Clusters {
    /// Every operation alone.
    pub(crate) fn none() -> Clusters {
        Clusters::default()
    }

    /// Whether only operations of its own cluster read an entry, so that it needs no memory.
    pub(crate) fn is_inner(&self, entry: usize) -> bool {
        self.last.get(entry).is_some_and(|&last| last as usize != entry)
    }

    /// The operations of the cluster that ends here; none for an entry that is alone.
    pub(crate) fn ending_at(&self, entry: usize) -> &[u32] {
        self.members.get(entry).map_or(&[], |m| m)
    }
}

/// Joins an operation to those that read it where all of them are in one cluster. Then nothing outside reads anything of
/// a cluster but its last operation, and no path leaves a cluster and comes back.
pub(crate) fn clusters<T: Element>(entries: &[VisitedNode<'_, T>]) -> Clusters {
    // What the readers that were seen so far say: no reader, all of them in the cluster that ends there, or apart.
    #[derive(Clone, Copy, PartialEq)]
    enum Readers {
        None,
        In(u32),
        Apart,
    }
    let mut readers = vec![Readers::None; entries.len()];
    let mut sizes = vec![0u32; entries.len()];
    let mut last: Vec<u32> = (0..entries.len() as u32).collect();
    for (index, entry) in entries.iter().enumerate().rev() {
        let is_elementwise = matches!(entry.node.work, Operation::Elementwise(..));
        if let (true, Readers::In(cluster)) = (is_elementwise, readers[index])
            && sizes[cluster as usize] < MOST
        {
            last[index] = cluster;
        }
        let own = last[index];
        sizes[own as usize] += 1;
        let seen = if is_elementwise { Readers::In(own) } else { Readers::Apart };
        for &operand in &entry.reads {
            let known = &mut readers[operand as usize];
            *known = if *known == Readers::None || *known == seen { seen } else { Readers::Apart };
        }
    }
    let mut members = vec![SmallVec::new(); entries.len()];
    for (index, &cluster) in last.iter().enumerate() {
        if sizes[cluster as usize] > 1 {
            members[cluster as usize].push(index as u32);
        }
    }
    Clusters { last, members }
}
