//! Merges items that are together in every plan that reaches the lower bound, so that the search has fewer items to
//! place.
//!
//! If the live bytes equal the bound right before and right after a position, no byte is free there, and the items that
//! begin at the position take exactly the bytes of the items that end there. So:
//!
//! If one item ends and one begins, both have the same offset, and are merged.
//! If one item ends and several begin, these are on top of each other. If they also end at the same position, their
//!   order does not matter: they are merged, and then merged with the one before them. The mirror image holds too.
//! Five items can form a pinwheel, a rectangle that can be placed in two orientations:
//!
//! ```text
//! +--+----------+    `left` ends where `top` and `centre` begin, so that `centre` is at one end of `left`'s bytes;
//! |  |   top    |    `bottom` and `centre` end where `right` begins, so that they touch, and `bottom` is next to `left`.
//! |  +------+---+    Upside down it is as good.
//! |  |centre|   |
//! |  |      |   |
//! +--+------+   |
//! |  bottom |   |
//! +---------+---+
//! ```
//!
//! (`left` is above `bottom`, `right` beside `bottom` and `centre`.) Merged items may be merged again.

use super::instance::{Instance, Item};

/// The number of items that begin, or end, at a position up to which their subsets are compared.
const MOST_TOGETHER: usize = 6;

/// Items that together fill a rectangle of time and bytes.
struct ItemGroup {
    first: u64,
    last: u64,
    size: u64,
    /// The items with their distance from the group's first byte in bytes; empty once the group is part of another one.
    parts: Vec<(u32, u64)>,
}

/// The groups that end and begin at a position at which the live bytes equal the bound before and after.
#[derive(Default)]
struct SharedPosition {
    ends: Vec<usize>,
    begins: Vec<usize>,
}

struct Merger {
    groups: Vec<ItemGroup>,
    /// The positions of `shared`, sorted.
    positions: Vec<u64>,
    shared: Vec<SharedPosition>,
    /// The indices of the positions that are still to be examined.
    queue: Vec<usize>,
}

/// Returns the instance with items merged that are together in every plan with a total of `bound`, or `None` if there
/// are no such items. Plans of the result are plans of the buffers; plans with a larger total may be missing.
pub(super) fn merged(instance: &Instance, bound: u64) -> Option<Instance> {
    let items = &instance.items;
    // Offsets in a group are sums of sizes.
    let align = items.iter().map(|item| item.align).max()?;
    let plain = |item: &Item| item.fixed.is_none() && item.size.is_multiple_of(align);
    if !instance.intervals || !items.iter().all(plain) {
        return None;
    }
    let mut merger = Merger::new(items, bound);
    merger.merge();
    let groups = || merger.groups.iter().filter(|group| !group.parts.is_empty());
    if groups().count() == items.len() {
        return None;
    }
    let mut place = vec![(0, 0); items.len()];
    let mut new = Vec::with_capacity(items.len());
    for (at, group) in (0..).zip(groups()) {
        for &(i, above) in &group.parts {
            place[i as usize] = (at, above);
        }
        new.push(Item { size: group.size, align, fixed: None, first: group.first, last: group.last });
    }
    instance.with_items(new, &place)
}

/// Returns the positions at which items begin and the live bytes equal the bound before and after.
fn full(items: &[Item], bound: u64) -> Vec<u64> {
    let mut begins: Vec<(u64, u64)> = items.iter().map(|item| (item.first, item.size)).collect();
    let end = |item: &Item| Some((item.last.checked_add(1)?, item.size));
    let mut ends: Vec<(u64, u64)> = items.iter().filter_map(end).collect();
    begins.sort_unstable();
    ends.sort_unstable();
    let mut ends = ends.into_iter().peekable();
    let mut begins = begins.into_iter().peekable();
    let (mut live, mut positions) = (0, Vec::new());
    while let Some(position) = begins.peek().map(|next| next.0) {
        // Remove the items that ended earlier, at positions where none begins.
        while let Some((_, size)) = ends.next_if(|next| next.0 < position) {
            live -= size;
        }
        let before = live;
        while let Some((_, size)) = ends.next_if(|next| next.0 == position) {
            live -= size;
        }
        while let Some((_, size)) = begins.next_if(|next| next.0 == position) {
            live += size;
        }
        if (before, live) == (bound, bound) {
            positions.push(position);
        }
    }
    positions
}

impl Merger {
    fn new(items: &[Item], bound: u64) -> Merger {
        let positions = full(items, bound);
        let mut shared: Vec<SharedPosition> = Vec::new();
        shared.resize_with(positions.len(), SharedPosition::default);
        let group = |(i, item): (u32, &Item)| ItemGroup {
            first: item.first,
            last: item.last,
            size: item.size,
            parts: vec![(i, 0)],
        };
        let groups = (0..).zip(items).map(group).collect();
        let queue = (0..positions.len()).rev().collect();
        let mut merger = Merger { groups, positions, shared, queue };
        for i in 0..merger.groups.len() {
            if let Some(position) = merger.position_before(i) {
                merger.shared[position].begins.push(i);
            }
            if let Some(position) = merger.position_after(i) {
                merger.shared[position].ends.push(i);
            }
        }
        merger
    }

    /// Returns the index of the position at which a group begins.
    fn position_before(&self, group: usize) -> Option<usize> {
        self.positions.binary_search(&self.groups[group].first).ok()
    }

    /// Returns the index of the position at which a group ends.
    fn position_after(&self, group: usize) -> Option<usize> {
        self.positions.binary_search(&self.groups[group].last.checked_add(1)?).ok()
    }

    fn merge(&mut self) {
        // Each success at a position reduces the number of groups.
        while let Some(position) = self.queue.pop() {
            while self.merge_at(position) {}
        }
    }

    fn merge_at(&mut self, position: usize) -> bool {
        let (ends, begins) = (&self.shared[position].ends, &self.shared[position].begins);
        match (ends.as_slice(), begins.as_slice()) {
            (&[before], of) if self.alike(of, |group| group.last) => {
                let of = of.to_vec();
                self.chain(before, &of);
                true
            }
            (of, &[behind]) if self.alike(of, |group| group.first) => {
                let of = of.to_vec();
                let before = self.stack(&of);
                self.chain(before, &[behind]);
                true
            }
            (&[_], &[a, b]) => self.pinwheel(a, b) || self.pinwheel(b, a),
            (&[a, b], &[_]) => [a, b].into_iter().any(|centre| {
                let other =
                    self.position_before(centre).map(|position| self.shared[position].begins.as_slice());
                match other {
                    Some(&[c, d]) => self.pinwheel(centre, if c == centre { d } else { c }),
                    _ => false,
                }
            }),
            (ends, begins) if self.together(ends, begins) => {
                let ends = self.alike(ends, |group| group.first).then(|| ends.to_vec());
                let begins = self.alike(begins, |group| group.last).then(|| begins.to_vec());
                for of in ends.iter().chain(&begins) {
                    self.stack(of);
                }
                ends.is_some() || begins.is_some()
            }
            _ => false,
        }
    }

    /// Returns whether all groups that end at a position must be together: no proper subset of them takes as many bytes
    /// as a subset of those that begin there.
    fn together(&self, ends: &[usize], begins: &[usize]) -> bool {
        let both = ends.len().min(begins.len())..=ends.len().max(begins.len());
        if *both.start() < 2 || *both.end() > MOST_TOGETHER {
            return false;
        }
        // The sums of all proper subsets.
        let sums = |of: &[usize]| -> Vec<u64> {
            let part = |bits: u32| {
                (0..).zip(of).map(|(at, &i)| if bits >> at & 1 == 1 { self.groups[i].size } else { 0 }).sum()
            };
            (1..(1 << of.len()) - 1).map(part).collect()
        };
        let begins = sums(begins);
        sums(ends).iter().all(|sum| !begins.contains(sum))
    }

    fn alike(&self, of: &[usize], key: impl Fn(&ItemGroup) -> u64) -> bool {
        let mut keys = of.iter().map(|&i| key(&self.groups[i]));
        keys.next().is_some_and(|first| keys.all(|key| key == first))
    }

    /// Puts groups with one lifetime on top of each other.
    fn stack(&mut self, of: &[usize]) -> usize {
        let mut size = 0;
        let parts: Vec<(usize, u64)> = of
            .iter()
            .map(|&i| {
                size += self.groups[i].size;
                (i, size - self.groups[i].size)
            })
            .collect();
        self.combine(&parts)
    }

    /// Puts groups with one lifetime where another one was.
    fn chain(&mut self, before: usize, of: &[usize]) {
        let behind = self.stack(of);
        self.combine(&[(before, 0), (behind, 0)]);
    }

    /// Combines several groups into one. Each has a distance above the first byte, and together they fill a rectangle.
    fn combine(&mut self, of: &[(usize, u64)]) -> usize {
        let (into, _) = of[0];
        let mut parts = Vec::new();
        let (mut first, mut last, mut size) = (u64::MAX, 0, 0);
        for &(i, above) in of {
            for position in [self.position_before(i), self.position_after(i)].into_iter().flatten() {
                let SharedPosition { ends, begins } = &mut self.shared[position];
                ends.retain(|&j| j != i);
                begins.retain(|&j| j != i);
                self.queue.push(position);
            }
            let group = &mut self.groups[i];
            parts.extend(group.parts.drain(..).map(|(item, at)| (item, at + above)));
            (first, last) = (first.min(group.first), last.max(group.last));
            size = size.max(group.size + above);
        }
        self.groups[into] = ItemGroup { first, last, size, parts };
        if let Some(position) = self.position_before(into) {
            self.shared[position].begins.push(into);
        }
        if let Some(position) = self.position_after(into) {
            self.shared[position].ends.push(into);
        }
        into
    }

    /// Merges a pinwheel, given its two groups that begin at the same position.
    fn pinwheel(&mut self, centre: usize, top: usize) -> bool {
        let (Some(one), Some(two)) = (self.position_before(centre), self.position_after(centre)) else {
            return false;
        };
        let (one, two) = (&self.shared[one], &self.shared[two]);
        let (&[left], &[right], &[a, b]) = (one.ends.as_slice(), two.begins.as_slice(), two.ends.as_slice())
        else {
            return false;
        };
        if one.begins.len() != 2 {
            return false;
        }
        let bottom = if a == centre { b } else { a };
        let group = |i: usize| &self.groups[i];
        if group(bottom).first != group(left).first || group(top).last != group(right).last {
            return false;
        }
        let (centre_at, top_at) = (group(bottom).size, group(right).size);
        self.combine(&[(bottom, 0), (right, 0), (centre, centre_at), (left, centre_at), (top, top_at)]);
        true
    }
}
