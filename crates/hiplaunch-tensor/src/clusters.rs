//! Decides which operations are computed by one kernel, and describes it.

use smallvec::SmallVec;

use crate::dag::VisitedNode;
use crate::element::Element;
use crate::fuse::source::{ARRAY, EARLIER, NONE, SCALAR, STEP, Structure};
use crate::node::{Input, Operation};

/// The largest number of operations of a kernel. Each has at most three operands of 8 bytes, so that all fit into the 4
/// KiB of a launch's arguments.
const MOST: u32 = 128;

/// A partition of an expression's elementwise operations.
#[derive(Debug, Default)]
pub(super) struct Clusters {
    /// For each node, the last node of its cluster; the node itself if it is alone.
    last: Vec<u32>,
    /// For the last node of a cluster of two or more, all its nodes in order.
    members: Vec<SmallVec<[u32; 4]>>,
}

impl Clusters {
    /// Puts every operation into a cluster of its own.
    pub(super) fn none() -> Clusters {
        Clusters::default()
    }

    /// Returns whether only operations of its own cluster read a node, so that its result needs no memory.
    pub(super) fn is_inner(&self, entry: usize) -> bool {
        self.last.get(entry).is_some_and(|&last| last as usize != entry)
    }

    /// Returns the operations of the cluster that ends at a node; empty if the node is alone.
    pub(super) fn ending_at(&self, entry: usize) -> &[u32] {
        self.members.get(entry).map_or(&[], |m| m)
    }
}

/// Adds an operation to the cluster of its readers if all of them are in one cluster. Then only the last operation of a
/// cluster is read from outside, and no path leaves a cluster and returns to it.
pub(super) fn clusters<T: Element>(entries: &[VisitedNode<'_, T>]) -> Clusters {
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

/// Returns the structure of a cluster, the nodes whose arrays it reads, and its scalars.
pub(super) fn structure<T: Element>(
    entries: &[VisitedNode<'_, T>],
    members: &[u32],
) -> (Structure, Vec<u32>, Vec<T>) {
    let (mut arrays, mut scalars): (Vec<u32>, Vec<T>) = (Vec::new(), Vec::new());
    let mut steps = Vec::with_capacity(members.len() * STEP);
    let places = members.iter().filter_map(|&m| entries.get(m as usize));
    for entry in places {
        let Operation::Elementwise(op, inputs) = &entry.node.work else { continue };
        let mut reads = entry.reads.iter().copied();
        let mut words = [*op as u32, NONE, NONE, NONE];
        for (word, input) in words.iter_mut().skip(1).zip(inputs) {
            *word = match input {
                Input::Scalar(scalar) => {
                    scalars.push(*scalar);
                    SCALAR | (scalars.len() as u32 - 1)
                }
                Input::Tensor(_) => match reads.next().map(|read| (read, members.binary_search(&read))) {
                    Some((_, Ok(step))) => EARLIER | step as u32,
                    Some((read, Err(_))) => ARRAY | number(&mut arrays, read),
                    None => NONE,
                },
            };
        }
        steps.extend(words);
    }
    let (arrays_len, scalars_len) = (arrays.len() as u32, scalars.len() as u32);
    (Structure { element: T::TYPE, arrays: arrays_len, scalars: scalars_len, steps }, arrays, scalars)
}

/// Returns the number of a node's array, which is added if it is new.
fn number(arrays: &mut Vec<u32>, entry: u32) -> u32 {
    match arrays.iter().position(|a| *a == entry) {
        Some(at) => at as u32,
        None => {
            arrays.push(entry);
            arrays.len() as u32 - 1
        }
    }
}
