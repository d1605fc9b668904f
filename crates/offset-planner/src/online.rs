//! Algorithms that process time once and need no list of conflicts, for any number of items: best fit as in an
//! allocator, a stack, and a skyline. They are for intervals without fixed offsets.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

use super::instance::{Instance, align_up};

/// The number of gaps that are tried for one item. A gap can be large enough and yet too small once aligned.
const TRIES: usize = 16;

/// Returns the items by first position; those that begin at the same position are in the order of `key`.
fn arrivals<K: Ord>(instance: &Instance, key: impl Fn(u32) -> K) -> Vec<u32> {
    let mut order = instance.by_first.clone();
    order.sort_by_cached_key(|&i| (instance.items[i as usize].first, key(i)));
    order
}

fn departures(instance: &Instance) -> Vec<u32> {
    let mut order: Vec<u32> = (0..instance.items.len() as u32).collect();
    order.sort_unstable_by_key(|&i| (instance.items[i as usize].last, i));
    order
}

/// The free bytes below the top, by offset and by length.
#[derive(Default)]
struct FreeRanges {
    by_offset: BTreeMap<u64, u64>,
    by_length: BTreeSet<(u64, u64)>,
    top: u64,
}

impl FreeRanges {
    fn add(&mut self, offset: u64, length: u64) {
        if length > 0 {
            self.by_offset.insert(offset, length);
            self.by_length.insert((length, offset));
        }
    }

    fn remove(&mut self, offset: u64, length: u64) {
        self.by_offset.remove(&offset);
        self.by_length.remove(&(length, offset));
    }

    fn take(&mut self, size: u64, align: u64) -> u64 {
        let fits = self
            .by_length
            .range((size, 0)..)
            .take(TRIES)
            .copied()
            .find(|&(length, offset)| align_up(offset, align) - offset + size <= length);
        let (length, offset) = match fits {
            Some(gap) => gap,
            None => {
                // Allocate at the top, using the free bytes right below it.
                let last = self.by_offset.last_key_value().map(|(&offset, &length)| (offset, length));
                let start = last.filter(|(o, l)| o + l == self.top).map_or(self.top, |(offset, _)| offset);
                let end = align_up(start, align) + size;
                let below = self.top - start;
                if below > 0 {
                    self.remove(start, below);
                }
                // No gap that was tried is large enough once aligned.
                self.top = self.top.max(end);
                self.add(start, self.top - start);
                (self.top - start, start)
            }
        };
        self.remove(offset, length);
        let at = align_up(offset, align);
        self.add(offset, at - offset);
        self.add(at + size, offset + length - at - size);
        at
    }

    fn give(&mut self, mut offset: u64, mut length: u64) {
        if let Some((&before, &its)) = self.by_offset.range(..offset).next_back()
            && before + its == offset
        {
            self.remove(before, its);
            (offset, length) = (before, length + its);
        }
        if let Some(&its) = self.by_offset.get(&(offset + length)) {
            self.remove(offset + length, its);
            length += its;
        }
        self.add(offset, length);
    }
}

/// Allocates each item when it begins, in the smallest free gap, and frees it when it ends. Of items that begin at the
/// same position, the longest-lived comes first. O(n log n).
pub(super) fn best_fit(instance: &Instance) -> Vec<u64> {
    let mut offsets = vec![0; instance.items.len()];
    let mut free = FreeRanges::default();
    let departures = departures(instance);
    let mut departures = departures.iter().peekable();
    let arrivals = arrivals(instance, |i| {
        let item = &instance.items[i as usize];
        Reverse((item.last, item.size))
    });
    for i in arrivals {
        let item = &instance.items[i as usize];
        while let Some(&&gone) = departures.peek() {
            if instance.items[gone as usize].last >= item.first {
                break;
            }
            free.give(offsets[gone as usize], instance.items[gone as usize].size);
            departures.next();
        }
        offsets[i as usize] = free.take(item.size, item.align);
    }
    offsets
}

/// Runs nvFuser's stack of shared memory, with a barrier between any two positions. Items wait until one of the waiting
/// items has ended; then all of them are pushed, the longest-lived first, and ended items are popped from the top.
/// Nothing is popped while an item waits, so it is pushed on top of all items that were live with it. O(n log n).
pub(super) fn stack(instance: &Instance) -> Vec<u64> {
    let items = &instance.items;
    let mut offsets = vec![0; items.len()];
    let (mut live, mut waiting): (Vec<u32>, Vec<u32>) = (Vec::new(), Vec::new());
    let mut first_dead = u64::MAX;
    let mut push = |waiting: &mut Vec<u32>, live: &mut Vec<u32>| {
        waiting.sort_by_key(|&i| Reverse(items[i as usize].last));
        for i in waiting.drain(..) {
            let floor = live.last().map_or(0, |&top| offsets[top as usize] + items[top as usize].size);
            offsets[i as usize] = align_up(floor, items[i as usize].align);
            live.push(i);
        }
    };
    for &i in &instance.by_first {
        let item = &items[i as usize];
        if first_dead < item.first {
            push(&mut waiting, &mut live);
            first_dead = u64::MAX;
        }
        if waiting.is_empty() {
            while live.last().is_some_and(|&top| items[top as usize].last < item.first) {
                live.pop();
            }
        }
        waiting.push(i);
        first_dead = first_dead.min(item.last);
    }
    push(&mut waiting, &mut live);
    offsets
}

/// Puts each item, in a given order, on top of all earlier ones that overlap it in time; gaps below stay empty. O(n log
/// n) with a tree of the heights over time.
pub(super) fn skyline(instance: &Instance, order: &[u32], limit: u64) -> Option<Vec<u64>> {
    let mut starts: Vec<u64> = instance.items.iter().map(|item| item.first).collect();
    starts.sort_unstable();
    starts.dedup();
    // Only positions where an item begins matter: two items that overlap are both live at the first position of one of
    // them.
    let ranks: Vec<(u32, u32)> = instance
        .items
        .iter()
        .map(|item| {
            let from = starts.partition_point(|&s| s < item.first);
            let to = starts.partition_point(|&s| s <= item.last);
            (from as u32, to as u32)
        })
        .collect();
    let mut heights = Skyline::new(starts.len());
    let mut offsets = vec![0; instance.items.len()];
    for &i in order {
        let item = &instance.items[i as usize];
        let (from, to) = ranks[i as usize];
        let at = align_up(heights.highest(from as usize, to as usize), item.align);
        if at + item.size >= limit {
            return None;
        }
        offsets[i as usize] = at;
        heights.raise(from as usize, to as usize, at + item.size);
    }
    Some(offsets)
}

/// The heights over time, as a segment tree stored from the leaves up. A range is only raised to heights above all in
/// it. A node's `all` applies to its whole range, and `highest` is the greatest height in it.
struct Skyline {
    leaves: usize,
    all: Vec<u64>,
    highest: Vec<u64>,
}

impl Skyline {
    fn new(positions: usize) -> Skyline {
        let leaves = positions.max(1);
        Skyline { leaves, all: vec![0; leaves * 2], highest: vec![0; leaves * 2] }
    }

    fn highest(&self, from: usize, to: usize) -> u64 {
        let (mut l, mut r) = (from + self.leaves, to + self.leaves);
        let (l0, r0) = (l, r - 1);
        let mut most = 0;
        while l < r {
            if l & 1 == 1 {
                most = most.max(self.highest[l]);
                l += 1;
            }
            if r & 1 == 1 {
                r -= 1;
                most = most.max(self.highest[r]);
            }
            (l, r) = (l >> 1, r >> 1);
        }
        // Heights that apply to a whole range around a part of the requested one. If the tree is not full, the paths up
        // from the first and the last position pass all of them.
        for mut at in [l0, r0] {
            while at > 1 {
                at >>= 1;
                most = most.max(self.all[at]);
            }
        }
        most
    }

    fn raise(&mut self, from: usize, to: usize, height: u64) {
        let (mut l, mut r) = (from + self.leaves, to + self.leaves);
        let (l0, r0) = (l, r - 1);
        let set = |tree: &mut Skyline, at: usize| {
            tree.all[at] = tree.all[at].max(height);
            tree.highest[at] = tree.highest[at].max(height);
        };
        while l < r {
            if l & 1 == 1 {
                set(self, l);
                l += 1;
            }
            if r & 1 == 1 {
                r -= 1;
                set(self, r);
            }
            (l, r) = (l >> 1, r >> 1);
        }
        for mut at in [l0, r0] {
            while at > 1 {
                at >>= 1;
                self.highest[at] = self.highest[at].max(height);
            }
        }
    }
}
