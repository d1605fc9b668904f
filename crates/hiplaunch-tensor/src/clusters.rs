//! Decides which operations are computed by one kernel.

use smallvec::SmallVec;

use crate::dag::VisitedNode;
use crate::element::Element;
use crate::node::Operation;

/// The largest number of operations of a kernel. Each has at most three operands of 8 bytes, so that all fit into the 4
/// KiB of a launch's arguments.
const MOST: u32 = 128;

/// A partition of an expression's elementwise operations.
#[derive(Debug, Default)]
pub(crate) struct Clusters {
    /// For each node, the last node of its cluster; the node itself if it is alone.
    last: Vec<u32>,
    /// For the last node of a cluster of two or more, all its nodes in order.
    members: Vec<SmallVec<[u32; 4]>>,
}

impl Clusters {
    /// Puts every operation into a cluster of its own.
    pub(crate) fn none() -> Clusters {
        Clusters::default()
    }

    /// Returns whether only operations of its own cluster read a node, so that its result needs no memory.
    pub(crate) fn is_inner(&self, entry: usize) -> bool {
        self.last.get(entry).is_some_and(|&last| last as usize != entry)
    }

    /// Returns the operations of the cluster that ends at a node; empty if the node is alone.
    pub(crate) fn ending_at(&self, entry: usize) -> &[u32] {
        self.members.get(entry).map_or(&[], |m| m)
    }
}

/// Adds an operation to the cluster of its readers if all of them are in one cluster. Then only the last operation of a
/// cluster is read from outside, and no path leaves a cluster and returns to it.
pub(crate) fn clusters<T: Element>(entries: &[VisitedNode<'_, T>]) -> Clusters {
    // The clusters of the readers seen so far: no reader, all of them in one cluster, or in different ones.
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
