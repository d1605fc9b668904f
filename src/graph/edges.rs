//! Finds the nodes that have an effect, and the order that their accesses require.

use smallvec::SmallVec;

use crate::error::Result;

use super::record::{Graph, NodeKind, Storage, problem};
use crate::error::GraphProblem;

/// Disjoint byte ranges, in any order.
#[derive(Clone, Debug, Default)]
struct ByteRanges(SmallVec<[(u64, u64); 2]>);

impl ByteRanges {
    fn overlaps(&self, start: u64, end: u64) -> bool {
        self.0.iter().any(|&(s, e)| s < end && start < e)
    }

    fn add(&mut self, start: u64, end: u64) {
        let (mut start, mut end) = (start, end);
        self.0.retain(|&mut (s, e)| {
            let touches = s <= end && start <= e;
            if touches {
                (start, end) = (start.min(s), end.max(e));
            }
            !touches
        });
        if start < end {
            self.0.push((start, end));
        }
    }

    fn remove(&mut self, start: u64, end: u64) {
        let old = std::mem::take(&mut self.0);
        for (s, e) in old {
            if s < start {
                self.0.push((s, e.min(start)));
            }
            if e > end {
                self.0.push((s.max(end), e));
            }
        }
        self.0.retain(|&mut (s, e)| s < e);
    }

    fn covers(&self, start: u64, end: u64) -> bool {
        // Adjacent ranges are merged when they are added.
        start >= end || self.0.iter().any(|&(s, e)| s <= start && end <= e)
    }
}

/// Returns the nodes whose work has an effect: they write a buffer, are read by the host, or write what such a node
/// reads.
///
/// # Errors
/// Returns [`GraphProblem::NeverWritten`] if such a node reads bytes of a temporary that no earlier node wrote.
pub(super) fn live_nodes(graph: &Graph) -> Result<Vec<u32>> {
    let is_temporary = |value: u32| matches!(graph.values[value as usize].place, Storage::Temporary);
    let is_external = |value: u32| matches!(graph.values[value as usize].place, Storage::External { .. });
    let mut needed = vec![ByteRanges::default(); graph.values.len()];
    let mut live = Vec::with_capacity(graph.nodes.len());
    for (index, node) in graph.nodes.iter().enumerate().rev() {
        let uses = graph.uses_of(index);
        let seen = matches!(node.work, NodeKind::Read | NodeKind::Host(_))
            || uses.iter().any(|u| {
                u.write
                    && (is_external(u.value)
                        || needed[u.value as usize].overlaps(u.offset, u.offset + u.bytes))
            });
        if !seen {
            continue;
        }
        live.push(index as u32);
        for u in uses.iter().filter(|u| u.write && !u.read) {
            needed[u.value as usize].remove(u.offset, u.offset + u.bytes);
        }
        for u in uses.iter().filter(|u| u.read) {
            needed[u.value as usize].add(u.offset, u.offset + u.bytes);
        }
    }
    live.reverse();
    let mut written = vec![ByteRanges::default(); graph.values.len()];
    for &index in &live {
        let uses = graph.uses_of(index as usize);
        for u in uses.iter().filter(|u| u.read && is_temporary(u.value)) {
            let (start, end) = (u.offset, u.offset + u.bytes);
            if !written[u.value as usize].covers(start, end) {
                return Err(problem(Some(index), GraphProblem::NeverWritten { value: u.value, start, end }));
            }
        }
        for u in uses.iter().filter(|u| u.write) {
            written[u.value as usize].add(u.offset, u.offset + u.bytes);
        }
    }
    Ok(live)
}

/// The space of absolute addresses.
pub(super) const ADDRESSES: u32 = 0;
/// The space of the workspace.
pub(super) const WORKSPACE: u32 = 1;
/// The space of value 0 while no two values share bytes. Value `n` has the space `VALUES + n`.
pub(super) const VALUES: u32 = 2;

/// The bytes that a node accesses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct ByteAccess {
    /// The space that `start` counts from. Bytes of different spaces are never the same.
    pub(super) space: u32,
    pub(super) start: u64,
    pub(super) end: u64,
    pub(super) write: bool,
}

/// Returns, for each node, the earlier nodes that it must come after: nodes that wrote what it accesses (RAW, WAW) or
/// accessed what it writes (WAR). Nodes that already come before one of these are left out where that is cheap to see.
pub(super) fn dependencies(nodes: &[SmallVec<[ByteAccess; 4]>]) -> Vec<SmallVec<[u32; 4]>> {
    let spaces = nodes.iter().flatten().map(|t| t.space + 1).max().unwrap_or(0);
    let mut earlier: Vec<Vec<(ByteAccess, u32)>> = vec![Vec::new(); spaces as usize];
    let mut all = Vec::with_capacity(nodes.len());
    for (index, touches) in nodes.iter().enumerate() {
        let mut after: SmallVec<[u32; 4]> = SmallVec::new();
        for t in touches {
            for (e, node) in &earlier[t.space as usize] {
                if (e.write || t.write) && e.start < t.end && t.start < e.end && !after.contains(node) {
                    after.push(*node);
                }
            }
        }
        for t in touches {
            let space = &mut earlier[t.space as usize];
            if t.write {
                // A later access of these bytes comes after this node, and so after the removed ones.
                space.retain(|(e, _)| !(t.start <= e.start && e.end <= t.end));
            }
            space.push((*t, index as u32));
        }
        after.sort_unstable();
        all.push(after);
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    fn touch(start: u64, end: u64, write: bool) -> ByteAccess {
        ByteAccess { space: 1, start, end, write }
    }

    fn nodes(all: &[&[ByteAccess]]) -> Vec<SmallVec<[ByteAccess; 4]>> {
        all.iter().map(|t| SmallVec::from_slice(t)).collect()
    }

    #[test]
    fn raw_war_and_waw_by_bytes() {
        let all = nodes(&[
            &[touch(0, 10, true)],
            &[touch(5, 6, false)],
            &[touch(20, 30, true)],
            &[touch(0, 8, true)],
            &[touch(9, 25, false)],
        ]);
        let found: Vec<Vec<u32>> = dependencies(&all).iter().map(|d| d.to_vec()).collect();
        assert_eq!(found, [vec![], vec![0], vec![], vec![0, 1], vec![0, 2]]);
    }

    #[test]
    fn readers_do_not_wait_for_each_other_and_spaces_are_apart() {
        let mut all = nodes(&[&[touch(0, 4, true)], &[touch(0, 4, false)], &[touch(0, 4, false)]]);
        all.push(SmallVec::from_slice(&[ByteAccess { space: 0, start: 0, end: 4, write: true }]));
        let found: Vec<Vec<u32>> = dependencies(&all).iter().map(|d| d.to_vec()).collect();
        assert_eq!(found, [vec![], vec![0], vec![0], vec![]]);
    }

    #[test]
    fn ranges() {
        let mut r = ByteRanges::default();
        r.add(0, 4);
        r.add(8, 12);
        assert!(!r.covers(0, 12) && r.overlaps(3, 9) && !r.overlaps(4, 8));
        r.add(4, 8);
        assert!(r.covers(0, 12));
        r.remove(2, 5);
        assert!(!r.covers(0, 12) && r.covers(5, 12) && r.covers(0, 2) && !r.overlaps(2, 5));
    }
}
