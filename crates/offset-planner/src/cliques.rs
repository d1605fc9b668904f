//! Sets of items that are pairwise in conflict, chosen so that every conflict is inside one of them. A set is a stack:
//! its items are above each other in some order, and take at least the sum of their sizes.

use super::instance::{Instance, ItemLists};

/// The sets, and for each item the sets that it is in.
#[derive(Clone, Debug)]
pub(super) struct Cliques {
    pub(super) members: ItemLists,
    pub(super) of_item: ItemLists,
}

impl Cliques {
    pub(super) fn new(instance: &Instance, conflicts: &ItemLists) -> Cliques {
        let sets = match instance.intervals {
            true => of_intervals(instance),
            false => cover(instance, conflicts),
        };
        let mut members: Vec<(u32, u32)> = Vec::new();
        for (k, set) in sets.iter().enumerate() {
            members.extend(set.iter().map(|&i| (k as u32, i)));
        }
        let of_item: Vec<(u32, u32)> = members.iter().map(|&(k, i)| (i, k)).collect();
        Cliques {
            members: ItemLists::new(sets.len(), &members),
            of_item: ItemLists::new(instance.items.len(), &of_item),
        }
    }
}

/// Returns the items that are live whenever an item ends after another has begun. Every other set of live items is a
/// subset of one of these.
fn of_intervals(instance: &Instance) -> Vec<Vec<u32>> {
    let items = &instance.items;
    let mut sets = Vec::new();
    let mut live: Vec<u32> = Vec::new();
    let mut first_end = u64::MAX;
    for &i in &instance.by_first {
        let first = items[i as usize].first;
        if first_end < first {
            sets.push(live.clone());
            live.retain(|&j| items[j as usize].last >= first);
            first_end = live.iter().map(|&j| items[j as usize].last).min().unwrap_or(u64::MAX);
        }
        live.push(i);
        first_end = first_end.min(items[i as usize].last);
    }
    sets.push(live);
    sets
}

/// Returns sets that cover all conflicts. Each starts from a conflict that is not covered yet and is extended greedily.
fn cover(instance: &Instance, conflicts: &ItemLists) -> Vec<Vec<u32>> {
    let n = instance.items.len();
    let words = n.div_ceil(64);
    let bit = |j: u32| (j as usize / 64, 1u64 << (j % 64));
    let mut adjacent = vec![0u64; n * words];
    for i in 0..n {
        for &j in conflicts.of(i) {
            adjacent[i * words + bit(j).0] |= bit(j).1;
        }
    }
    let mut uncovered = adjacent.clone();
    let mut by_size: Vec<u32> = (0..n as u32).collect();
    by_size.sort_by_key(|&i| (std::cmp::Reverse(instance.items[i as usize].size), i));
    let mut sets = Vec::new();
    for &i in &by_size {
        let mut alone = conflicts.of(i as usize).is_empty();
        loop {
            let row = i as usize * words;
            let open = by_size.iter().find(|&&j| uncovered[row + bit(j).0] & bit(j).1 != 0);
            let mut set = vec![i];
            match open {
                Some(&j) => set.push(j),
                None if alone => {}
                None => break,
            }
            alone = false;
            for &j in &by_size {
                if !set.contains(&j)
                    && set.iter().all(|&k| adjacent[k as usize * words + bit(j).0] & bit(j).1 != 0)
                {
                    set.push(j);
                }
            }
            for &a in &set {
                for &b in &set {
                    uncovered[a as usize * words + bit(b).0] &= !bit(b).1;
                }
            }
            sets.push(set);
        }
    }
    sets
}
