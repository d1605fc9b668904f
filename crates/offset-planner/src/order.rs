//! The partial order of a graph. Nodes are divided into chains, and each node knows how far its predecessors reach
//! along every chain, as in vector clocks.

use super::{NodeId, OffsetsError};

/// The number of entries in the table at most: 256 MiB.
const MOST_ENTRIES: usize = 1 << 26;

/// The partial order of a graph without cycles.
#[derive(Clone, Debug)]
pub(super) struct HappensBefore {
    /// For each node its chain, and its place in the chain from 1.
    place: Vec<(u32, u32)>,
    /// For each node and chain, the last place that is the node itself or happens before it; 0 for none.
    clock: Vec<u32>,
    chains: usize,
    /// The place of each node in a topological order.
    rank: Vec<u64>,
}

impl HappensBefore {
    pub(super) fn new(names: &[Box<str>], edges: &[(NodeId, NodeId)]) -> Result<HappensBefore, OffsetsError> {
        let n = names.len();
        let mut after = vec![Vec::new(); n];
        let mut missing = vec![0usize; n];
        for &(a, b) in edges {
            after[a.index()].push(b.0);
            missing[b.index()] += 1;
        }
        let sorted = sort(&after, missing.clone());
        if sorted.len() < n {
            let nodes = cycle(names, &after, &sorted);
            let nodes: Vec<String> =
                nodes.iter().chain(nodes.first()).map(|name| format!("`{name}`")).collect();
            return Err(OffsetsError::invalid(format!("the nodes form a cycle: {}", nodes.join(" -> "))));
        }

        // Each node continues the chain of a predecessor that has no successor in its chain yet.
        let mut before = vec![Vec::new(); n];
        for &(a, b) in edges {
            before[b.index()].push(a.0);
        }
        let mut place = vec![(0u32, 0u32); n];
        let mut continued = vec![false; n];
        let mut chains = 0u32;
        for &v in &sorted {
            let tail = before[v as usize].iter().find(|&&u| !continued[u as usize]);
            place[v as usize] = match tail {
                Some(&u) => {
                    continued[u as usize] = true;
                    let (chain, at) = place[u as usize];
                    (chain, at + 1)
                }
                None => {
                    chains += 1;
                    (chains - 1, 1)
                }
            };
        }
        let chains = chains as usize;
        let entries = n.checked_mul(chains).filter(|&entries| entries <= MOST_ENTRIES);
        let Some(entries) = entries else {
            let problem = format!("{n} nodes in {chains} chains: the graph is too wide to plan");
            return Err(OffsetsError::invalid(problem));
        };
        let mut clock = vec![0u32; entries];
        for &v in &sorted {
            let v = v as usize;
            for &u in &before[v] {
                let u = u as usize;
                for chain in 0..chains {
                    clock[v * chains + chain] = clock[v * chains + chain].max(clock[u * chains + chain]);
                }
            }
            let (chain, at) = place[v];
            clock[v * chains + chain as usize] = at;
        }
        let mut rank = vec![0; n];
        for (at, &v) in sorted.iter().enumerate() {
            rank[v as usize] = at as u64;
        }
        Ok(HappensBefore { place, clock, chains, rank })
    }

    /// Returns whether there is a path from `a` to another node `b`.
    pub(super) fn before(&self, a: NodeId, b: NodeId) -> bool {
        let (chain, at) = self.place[a.index()];
        a != b && self.clock[b.index() * self.chains + chain as usize] >= at
    }

    /// Returns the place of a node in a topological order.
    pub(super) fn place(&self, node: NodeId) -> u64 {
        self.rank[node.index()]
    }
}

/// Returns a topological order of the nodes that are neither on a cycle nor after one.
fn sort(after: &[Vec<u32>], mut missing: Vec<usize>) -> Vec<u32> {
    let mut sorted: Vec<u32> = (0..after.len() as u32).filter(|&v| missing[v as usize] == 0).collect();
    let mut next = 0;
    while let Some(&v) = sorted.get(next) {
        next += 1;
        for &w in &after[v as usize] {
            missing[w as usize] -= 1;
            if missing[w as usize] == 0 {
                sorted.push(w);
            }
        }
    }
    sorted
}

/// Returns the names along one cycle. Every node that can't be sorted has a predecessor that can't be sorted either, so
/// walking back reaches a cycle.
fn cycle(names: &[Box<str>], after: &[Vec<u32>], sorted: &[u32]) -> Vec<Box<str>> {
    let mut stuck = vec![true; after.len()];
    for &v in sorted {
        stuck[v as usize] = false;
    }
    let mut back = vec![None; after.len()];
    for (v, next) in after.iter().enumerate().filter(|(v, _)| stuck[*v]) {
        for &w in next {
            back[w as usize] = Some(v);
        }
    }
    let Some(mut at) = stuck.iter().position(|&s| s) else { return Vec::new() };
    for _ in 0..after.len() {
        at = back[at].unwrap_or(at);
    }
    let (start, mut nodes) = (at, vec![names[at].clone()]);
    while let Some(previous) = back[at].filter(|&previous| previous != start) {
        nodes.push(names[previous].clone());
        at = previous;
    }
    nodes.reverse();
    nodes
}
