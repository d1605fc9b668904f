//! The input of the algorithms: items to place (a buffer, or several in place of one another), and the items that may
//! not overlap.

use super::Problem;

/// The number of conflicts, counted from both sides, above which they are not listed. Then only algorithms without a
/// list are run.
const MOST_CONFLICTS: u64 = 8_000_000;

/// An item to place.
#[derive(Clone, Copy, Debug)]
pub(super) struct Item {
    pub(super) size: u64,
    pub(super) align: u64,
    pub(super) fixed: Option<u64>,
    /// The first and last position. In a partial order, the place in one linear extension, used for sorting only.
    pub(super) first: u64,
    pub(super) last: u64,
}

impl Item {
    /// Returns the number of positions at which the item is live.
    pub(super) fn length(&self) -> u64 {
        (self.last - self.first).saturating_add(1)
    }

    pub(super) fn area(&self) -> u128 {
        u128::from(self.length()) * u128::from(self.size)
    }
}

/// Returns `value` rounded up to a multiple of `align`, a power of two.
pub(super) fn align_up(value: u64, align: u64) -> u64 {
    (value + (align - 1)) & !(align - 1)
}

/// A list of numbers for each item.
#[derive(Clone, Debug, Default)]
pub(super) struct ItemLists {
    start: Vec<u32>,
    all: Vec<u32>,
}

impl ItemLists {
    /// Creates the lists from pairs (item, number) with a stable counting sort.
    pub(super) fn new(items: usize, pairs: &[(u32, u32)]) -> ItemLists {
        let mut start = vec![0u32; items + 1];
        for &(item, _) in pairs {
            start[item as usize + 1] += 1;
        }
        for i in 0..items {
            start[i + 1] += start[i];
        }
        let mut next = start.clone();
        let mut all = vec![0; pairs.len()];
        for &(item, number) in pairs {
            all[next[item as usize] as usize] = number;
            next[item as usize] += 1;
        }
        ItemLists { start, all }
    }

    pub(super) fn of(&self, item: usize) -> &[u32] {
        &self.all[self.start[item] as usize..self.start[item + 1] as usize]
    }

    /// Returns where the list of an item begins among the numbers of all items.
    pub(super) fn begin(&self, item: usize) -> usize {
        self.start[item] as usize
    }

    /// Returns the numbers of all items, list after list.
    pub(super) fn all(&self) -> &[u32] {
        &self.all
    }

    /// Returns the number of lists.
    pub(super) fn len(&self) -> usize {
        self.start.len().saturating_sub(1)
    }

    /// Returns the number of numbers in all lists.
    pub(super) fn total(&self) -> usize {
        self.all.len()
    }
}

/// The items of a problem, with some pairs put in place of one another.
#[derive(Clone, Debug)]
pub(super) struct Instance {
    pub(super) items: Vec<Item>,
    /// The item of each buffer.
    item_of: Vec<u32>,
    /// The distance of each buffer from its item's first byte in bytes; empty if all distances are 0.
    above: Vec<u64>,
    /// Whether items conflict exactly when their positions overlap.
    pub(super) intervals: bool,
    /// The items that each item conflicts with, or `None` if there are too many to list.
    pub(super) conflicts: Option<ItemLists>,
    /// Whether two fixed items share bytes, which pairs may do.
    pub(super) fixed_share: bool,
    /// The items in the order of their first position.
    pub(super) by_first: Vec<u32>,
}

/// The pairs that are put in place of one another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum InPlace {
    None,
    /// The pairs of equal size.
    SameSize,
    All,
}

impl Instance {
    pub(super) fn new(problem: &Problem, rule: InPlace) -> Instance {
        let (item_of, count) = group(problem, rule);
        let buffers = problem.buffers();
        let mut items: Vec<Item> =
            vec![Item { size: 0, align: 1, fixed: None, first: u64::MAX, last: 0 }; count];
        for (b, buffer) in buffers.iter().enumerate() {
            let (first, last) = problem.span(b);
            let item = &mut items[item_of[b] as usize];
            item.size = item.size.max(buffer.size);
            item.align = item.align.max(buffer.alignment);
            item.fixed = item.fixed.or(buffer.fixed);
            (item.first, item.last) = (item.first.min(first), item.last.max(last));
        }
        let mut by_first: Vec<u32> = (0..count as u32).collect();
        by_first.sort_by_key(|&i| (items[i as usize].first, i));
        let intervals = problem.has_intervals();
        let mut instance = Instance {
            items,
            item_of,
            above: Vec::new(),
            intervals,
            conflicts: None,
            fixed_share: false,
            by_first,
        };
        let pairs = match intervals {
            true => instance.interval_conflicts(),
            false => Some(instance.order_conflicts(problem)),
        };
        if let Some(mut pairs) = pairs {
            // Fixed items were checked before. Two that have a byte in common are a pair that may share.
            let count = pairs.len();
            pairs.retain(|&(a, b)| !instance.share(a, b));
            instance.fixed_share = pairs.len() < count;
            instance.conflicts = Some(ItemLists::new(instance.items.len(), &pairs));
        }
        instance
    }

    /// Returns an instance with the same buffers and other items. `place` has, for each item here, the new item that
    /// contains it and the distance in bytes from that item's first byte.
    pub(super) fn with_items(&self, items: Vec<Item>, place: &[(u32, u64)]) -> Option<Instance> {
        let item_of = self.item_of.iter().map(|&i| place[i as usize].0).collect();
        let above = self.item_of.iter().map(|&i| place[i as usize].1).collect();
        let mut by_first: Vec<u32> = (0..items.len() as u32).collect();
        by_first.sort_by_key(|&i| (items[i as usize].first, i));
        let mut instance = Instance {
            items,
            item_of,
            above,
            intervals: true,
            conflicts: None,
            fixed_share: false,
            by_first,
        };
        instance.conflicts = Some(ItemLists::new(instance.items.len(), &instance.interval_conflicts()?));
        Some(instance)
    }

    /// Returns the offset of each buffer, given the offsets of the items.
    pub(super) fn offsets(&self, of_items: &[u64]) -> Vec<u64> {
        let above = self.above.iter().copied().chain(std::iter::repeat(0));
        self.item_of.iter().zip(above).map(|(&item, above)| of_items[item as usize] + above).collect()
    }

    /// Returns the offset of each item in a plan of the buffers, or `None` if the plan does not place all buffers of an
    /// item consistently.
    pub(super) fn items_at(&self, of_buffers: &[u64]) -> Option<Vec<u64>> {
        if !self.above.is_empty() {
            return None;
        }
        let mut offsets = vec![None; self.items.len()];
        for (&item, &offset) in self.item_of.iter().zip(of_buffers) {
            if *offsets[item as usize].get_or_insert(offset) != offset {
                return None;
            }
        }
        offsets.into_iter().collect()
    }

    /// Returns the end of the last item.
    pub(super) fn total(&self, offsets: &[u64]) -> u64 {
        self.items.iter().zip(offsets).map(|(item, offset)| offset + item.size).max().unwrap_or(0)
    }

    fn share(&self, a: u32, b: u32) -> bool {
        let (a, b) = (&self.items[a as usize], &self.items[b as usize]);
        match (a.fixed, b.fixed) {
            (Some(at), Some(bt)) => at < bt + b.size && bt < at + a.size,
            _ => false,
        }
    }

    /// Returns both directions of every conflict, or `None` if there are too many.
    fn interval_conflicts(&self) -> Option<Vec<(u32, u32)>> {
        let items = &self.items;
        let mut ends: Vec<u64> = items.iter().map(|item| item.last).collect();
        ends.sort_unstable();
        let (mut ended, mut count) = (0usize, 0u64);
        for (started, &i) in self.by_first.iter().enumerate() {
            while ends.get(ended).is_some_and(|&end| end < items[i as usize].first) {
                ended += 1;
            }
            count += 2 * (started - ended) as u64;
        }
        if count > MOST_CONFLICTS {
            return None;
        }
        let mut pairs = Vec::with_capacity(count as usize);
        let mut live: Vec<u32> = Vec::new();
        for &i in &self.by_first {
            let first = items[i as usize].first;
            live.retain(|&j| items[j as usize].last >= first);
            pairs.extend(live.iter().flat_map(|&j| [(i, j), (j, i)]));
            live.push(i);
        }
        Some(pairs)
    }

    fn order_conflicts(&self, problem: &Problem) -> Vec<(u32, u32)> {
        let mut members = vec![Vec::new(); self.items.len()];
        for (buffer, &item) in self.item_of.iter().enumerate() {
            members[item as usize].push(buffer);
        }
        let mut pairs = Vec::new();
        for (i, own) in members.iter().enumerate() {
            for (j, others) in members.iter().enumerate().skip(i + 1) {
                let conflict = own.iter().any(|&a| {
                    others.iter().any(|&b| !problem.ends_before(a, b) && !problem.ends_before(b, a))
                });
                if conflict {
                    pairs.extend([(i as u32, j as u32), (j as u32, i as u32)]);
                }
            }
        }
        pairs
    }
}

/// Returns the item of each buffer, and the number of items. Pairs form chains: a buffer hands its bytes to at most one
/// other, and reuses those of at most one other.
fn group(problem: &Problem, rule: InPlace) -> (Vec<u32>, usize) {
    let buffers = problem.buffers();
    let n = buffers.len();
    if rule == InPlace::None || problem.in_place_pairs().is_empty() {
        return ((0..n as u32).collect(), n);
    }
    let mut pairs: Vec<(usize, usize)> =
        problem.in_place_pairs().iter().map(|(a, b)| (a.index(), b.index())).collect();
    pairs.retain(|&(a, b)| {
        let (a, b) = (&buffers[a], &buffers[b]);
        a.fixed.is_none() && b.fixed.is_none() && (rule == InPlace::All || a.size == b.size)
    });
    pairs.sort_by_key(|&(a, b)| std::cmp::Reverse(buffers[a].size.min(buffers[b].size)));
    let (mut given, mut taken) = (vec![false; n], vec![false; n]);
    let mut leader: Vec<usize> = (0..n).collect();
    let mut members: Vec<Vec<usize>> = (0..n).map(|i| vec![i]).collect();
    for (a, b) in pairs {
        let (la, lb) = (leader[a], leader[b]);
        if given[a] || taken[b] || la == lb {
            continue;
        }
        // Only the two buffers of the pair may be live at the same time.
        let apart = members[la].iter().all(|&x| {
            members[lb]
                .iter()
                .all(|&y| (x, y) == (a, b) || problem.ends_before(x, y) || problem.ends_before(y, x))
        });
        if !apart {
            continue;
        }
        (given[a], taken[b]) = (true, true);
        let moved = std::mem::take(&mut members[lb]);
        for &y in &moved {
            leader[y] = la;
        }
        members[la].extend(moved);
    }
    let mut number = vec![u32::MAX; n];
    let mut count = 0;
    let item_of = leader
        .iter()
        .map(|&l| {
            if number[l] == u32::MAX {
                number[l] = count;
                count += 1;
            }
            number[l]
        })
        .collect();
    (item_of, count as usize)
}
