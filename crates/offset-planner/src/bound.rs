//! Lower bounds of the total: the greatest load.
//!
//! Buffers that are live at one position, or at one node of a graph, must not overlap, so a plan needs the sum of their
//! sizes. With a common alignment, the size of each but the topmost buffer is rounded up. Of a pair that may share
//! bytes, the smaller buffer does not count where both are live. In a graph, the heaviest set of buffers that must not
//! overlap can be heavier than the set at any node; where conflicts are given, there are no positions at all. If the simple bound is not reached, the sets at the nodes are
//! extended greedily, and the bound is the greatest of these.

use std::collections::HashMap;

use super::instance::align_up;
use super::{Lifetime, Problem};

/// The number of comparisons of two buffers that extending sets takes at most.
const EXTENDING: usize = 2_000_000;

/// Returns the greatest load at one position or node, a quick lower bound of the total, in bytes.
pub(super) fn load_bound(problem: &Problem) -> u64 {
    bound(problem, 0)
}

/// Returns a lower bound of the total of every plan, in bytes: the bytes that must be live at the same time.
pub fn lower_bound(problem: &Problem) -> u64 {
    bound(problem, EXTENDING)
}

fn bound(problem: &Problem, extending: usize) -> u64 {
    let buffers = problem.buffers();
    let align = buffers.iter().map(|b| b.alignment).min().unwrap_or(1);
    let padding = buffers.iter().map(|b| align_up(b.size, align) - b.size).max().unwrap_or(0);
    let load = match problem.has_intervals() {
        true => interval_load(problem, align),
        false => order_load(problem, align, extending),
    };
    let largest = buffers.iter().map(|b| b.fixed.unwrap_or(0) + b.size).max().unwrap_or(0);
    load.saturating_sub(padding).max(largest)
}

fn interval_load(problem: &Problem, align: u64) -> u64 {
    let buffers = problem.buffers();
    let mut begins: Vec<(u64, u64)> = Vec::with_capacity(buffers.len() * 2);
    let mut shared: HashMap<u64, u64> = HashMap::new();
    for (earlier, later) in problem.in_place_pairs() {
        if let (Some((_, last)), Some((first, _))) =
            (problem.interval(earlier.index()), problem.interval(later.index()))
            && first == last
        {
            let smaller = buffers[earlier.index()].size.min(buffers[later.index()].size);
            *shared.entry(first).or_default() += align_up(smaller, align);
        }
    }
    let mut ends: Vec<(u64, u64)> = Vec::with_capacity(buffers.len());
    for (i, buffer) in buffers.iter().enumerate() {
        let Some((first, last)) = problem.interval(i) else { continue };
        let size = align_up(buffer.size, align);
        begins.push((first, size));
        ends.push((last, size));
    }
    begins.sort_unstable();
    ends.sort_unstable();
    let (mut live, mut most, mut ended) = (0u64, 0u64, 0usize);
    let mut at = 0;
    while let Some(&(position, _)) = begins.get(at) {
        while let Some(&(_, size)) = ends.get(ended).filter(|&&(last, _)| last < position) {
            live -= size;
            ended += 1;
        }
        while let Some(&(_, size)) = begins.get(at).filter(|&&(first, _)| first == position) {
            live += size;
            at += 1;
        }
        most = most.max(live.saturating_sub(shared.get(&position).copied().unwrap_or(0)));
    }
    most
}

fn order_load(problem: &Problem, align: u64, mut work: usize) -> u64 {
    let n = problem.buffers().len();
    let size = |i: u32| align_up(problem.buffers()[i as usize].size, align);
    let mut most = 0;
    let mut by_size: Vec<u32> = (0..n as u32).collect();
    by_size.sort_by_key(|&i| (std::cmp::Reverse(size(i)), i));
    let sets = match problem.order() {
        Some(_) => live_at_nodes(problem),
        // The conflicts are given: each set starts from one buffer.
        None => by_size.iter().map(|&i| vec![i]).collect(),
    };
    for mut set in sets {
        // Largest first, so that the larger buffer of a pair that shares bytes is counted.
        set.sort_by_key(|&i| (std::cmp::Reverse(size(i)), i));
        let mut kept: Vec<u32> = Vec::with_capacity(set.len());
        for &i in &set {
            if kept.iter().all(|&j| apart(problem, i, j)) {
                kept.push(i);
            }
        }
        for &i in &by_size {
            if work == 0 {
                break;
            }
            work = work.saturating_sub(kept.len() + 1);
            if !kept.contains(&i) && kept.iter().all(|&j| apart(problem, i, j)) {
                kept.push(i);
            }
        }
        most = most.max(kept.iter().map(|&i| size(i)).sum());
    }
    most
}

/// Returns whether two buffers may share no byte.
fn apart(problem: &Problem, a: u32, b: u32) -> bool {
    let (a, b) = (a as usize, b as usize);
    let paired = || {
        problem.in_place_pairs().iter().any(|(x, y)| {
            let pair = (x.index(), y.index());
            pair == (a, b) || pair == (b, a)
        })
    };
    !problem.ends_before(a, b) && !problem.ends_before(b, a) && !paired()
}

/// Returns the buffers that are live at each node: those defined at it or before it, and used at it or after it.
pub(super) fn live_at_nodes(problem: &Problem) -> Vec<Vec<u32>> {
    let Some(order) = problem.order() else { return Vec::new() };
    let mut sets = Vec::with_capacity(problem.nodes());
    for node in (0..problem.nodes() as u32).map(super::NodeId) {
        let live = problem.buffers().iter().enumerate().filter(|(_, buffer)| match &buffer.lifetime {
            Lifetime::Nodes { definition, uses } => {
                let defined = *definition == node || order.before(*definition, node);
                let used = |&use_: &super::NodeId| use_ == node || order.before(node, use_);
                defined && (*definition == node || uses.iter().any(used))
            }
            _ => false,
        });
        sets.push(live.map(|(i, _)| i as u32).collect());
    }
    sets
}
