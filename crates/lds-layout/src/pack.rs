//! Places buffers under an arbitrary conflict relation. Loops and branches can leave conflicts that are not those of
//! intervals, for which [`offset_planner`] is made.
//!
//! First fit is tried in several orders. For few buffers, an exact search then tries every order by increasing offset.
//! In some best layout each buffer lies directly on the highest conflicting one below it, so placing buffers by
//! increasing offset, each as low as the earlier ones allow, finds it.

use std::cmp::Reverse;

use super::bits::Relation;

/// The largest number of buffers for which the exact search runs.
const EXACT_BUFFERS: usize = 16;
/// The number of sets of conflicting buffers from which lower bounds are computed.
const CLIQUES: usize = 64;
/// The number of nodes that the exact search visits at most.
const NODES: u32 = 50_000;

/// The size in bytes and the alignment of a buffer.
pub(super) type Item = (u64, u64);

/// Offsets, with the end of the last buffer and a lower bound of it.
#[derive(Clone, Debug)]
pub(super) struct Packed {
    pub(super) offsets: Vec<u64>,
    pub(super) total: u64,
    /// A lower bound in bytes: no layout has a smaller total.
    pub(super) lower_bound: u64,
}

pub(super) fn align_up(bytes: u64, align: u64) -> u64 {
    bytes.next_multiple_of(align.max(1))
}

/// Returns sets of pairwise conflicting buffers: for each of the largest buffers, one that contains it.
fn cliques(items: &[Item], conflicts: &Relation) -> Vec<Vec<usize>> {
    let mut order: Vec<usize> = (0..items.len()).collect();
    order.sort_by_key(|&i| Reverse((items[i].0, i)));
    let grown = order.iter().take(CLIQUES).map(|&start| {
        let mut clique = vec![start];
        for &i in &order {
            if clique.iter().all(|&j| conflicts.has(i, j)) {
                clique.push(i);
            }
        }
        clique.sort_unstable();
        clique
    });
    let mut all: Vec<Vec<usize>> = grown.collect();
    all.sort_unstable();
    all.dedup();
    all
}

/// Returns the least bytes that buffers on top of each other take.
fn height(items: &[Item], clique: impl Iterator<Item = usize>, align: u64) -> u64 {
    let (mut sum, mut padding) = (0, 0);
    for i in clique {
        let size = items[i].0;
        let rounded = align_up(size, align);
        sum += rounded;
        padding = padding.max(rounded - size);
    }
    sum - padding
}

fn least_alignment(items: &[Item]) -> u64 {
    items.iter().map(|item| item.1).min().unwrap_or(1)
}

/// Returns a lower bound in bytes for the total of every layout under these conflicts.
pub(super) fn lower_bound(items: &[Item], conflicts: &Relation) -> u64 {
    let align = least_alignment(items);
    let cliques = cliques(items, conflicts);
    cliques.iter().map(|clique| height(items, clique.iter().copied(), align)).max().unwrap_or(0)
}

/// Places the items, and stops searching at a total of `enough` bytes.
pub(super) fn pack(items: &[Item], conflicts: &Relation, enough: u64) -> Packed {
    let end = |offsets: &[u64]| offsets.iter().zip(items).map(|(at, item)| at + item.0).max().unwrap_or(0);
    let cliques = cliques(items, conflicts);
    let align = least_alignment(items);
    let lower_bound =
        cliques.iter().map(|clique| height(items, clique.iter().copied(), align)).max().unwrap_or(0);
    let stop = enough.max(lower_bound);
    let mut best: Option<Packed> = None;
    let degree = |i: usize| conflicts.of(i).map(|j| items[j].0).sum::<u64>();
    let mut order: Vec<usize> = (0..items.len()).collect();
    let keys: [&dyn Fn(usize) -> (u64, u64); 3] =
        [&|i| (items[i].0, degree(i)), &|i| (items[i].1, items[i].0), &|i| (degree(i), items[i].0)];
    for key in keys {
        if best.as_ref().is_some_and(|best| best.total <= stop) {
            break;
        }
        order.sort_by_cached_key(|&i| (Reverse(key(i)), i));
        let offsets = first_fit(items, conflicts, &order);
        let total = end(&offsets);
        if best.as_ref().is_none_or(|best| total < best.total) {
            best = Some(Packed { offsets, total, lower_bound });
        }
    }
    let mut best = best.unwrap_or(Packed { offsets: Vec::new(), total: 0, lower_bound });
    if best.total > stop && items.len() <= EXACT_BUFFERS {
        let mut search = Search {
            items,
            conflicts,
            cliques: &cliques,
            align,
            stop,
            nodes: NODES,
            placed: vec![None; items.len()],
            best: &mut best,
        };
        search.below(0, (0, 0), 0);
        if search.nodes > 0 && best.total > enough {
            // Every order was tried, so no layout has a smaller total.
            best.lower_bound = best.total;
        }
    }
    best
}

/// Places each item in turn in the lowest gap between the placed items that it conflicts with.
fn first_fit(items: &[Item], conflicts: &Relation, order: &[usize]) -> Vec<u64> {
    let mut offsets: Vec<Option<u64>> = vec![None; items.len()];
    let mut taken: Vec<(u64, u64)> = Vec::with_capacity(items.len());
    for &i in order {
        taken.clear();
        taken.extend(conflicts.of(i).filter_map(|j| offsets[j].map(|at| (at, at + items[j].0))));
        taken.sort_unstable();
        let (size, align) = items[i];
        let mut at = 0;
        for &(start, end) in &taken {
            if at + size <= start {
                break;
            }
            at = at.max(align_up(end, align));
        }
        offsets[i] = Some(at);
    }
    offsets.into_iter().map(Option::unwrap_or_default).collect()
}

struct Search<'a> {
    items: &'a [Item],
    conflicts: &'a Relation,
    cliques: &'a [Vec<usize>],
    align: u64,
    /// The total in bytes at which the search stops.
    stop: u64,
    nodes: u32,
    placed: Vec<Option<u64>>,
    best: &'a mut Packed,
}

impl Search<'_> {
    /// Places the remaining items by increasing offset; of items at one offset, by increasing index.
    fn below(&mut self, count: usize, last: (u64, usize), end: u64) {
        if count == self.items.len() {
            if end < self.best.total {
                self.best.total = end;
                self.best.offsets = self.placed.iter().map(|at| at.unwrap_or_default()).collect();
            }
            return;
        }
        let floor = last.0;
        for clique in self.cliques {
            let rest = || clique.iter().copied().filter(|&i| self.placed[i].is_none());
            if rest().next().is_some() && floor + height(self.items, rest(), self.align) >= self.best.total {
                return;
            }
        }
        let mut next: Vec<(u64, usize)> = Vec::with_capacity(self.items.len() - count);
        for (i, &(size, align)) in self.items.iter().enumerate() {
            if self.placed[i].is_some() {
                continue;
            }
            let below = self.conflicts.of(i).filter_map(|j| self.placed[j].map(|at| at + self.items[j].0));
            let at = align_up(below.max().unwrap_or(0), align);
            if at + size >= self.best.total {
                return;
            }
            if (at, i) >= last {
                next.push((at, i));
            }
        }
        next.sort_unstable();
        for (at, i) in next {
            if self.nodes == 0 || self.best.total <= self.stop {
                return;
            }
            self.nodes -= 1;
            self.placed[i] = Some(at);
            self.below(count + 1, (at, i), end.max(at + self.items[i].0));
            self.placed[i] = None;
        }
    }
}
