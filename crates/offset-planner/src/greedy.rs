//! Greedy plans in one pass over an order of the items. Each item goes into a gap between the placed items that it
//! conflicts with: the lowest gap that is large enough (first fit), or the smallest (best fit).

use std::cmp::Reverse;

use super::instance::{Instance, Item, ItemLists, align_up};
use super::plan::{Fit, SortBy};

/// Marks an item that has no offset yet.
const OPEN: u64 = u64::MAX;

/// Returns the measure by which an item is sorted.
pub(super) fn measure(instance: &Instance, by: SortBy, i: u32) -> u128 {
    let item = &instance.items[i as usize];
    match by {
        SortBy::Start => item.first.into(),
        SortBy::Size => item.size.into(),
        SortBy::Lifetime => item.length().into(),
        SortBy::Area => item.area(),
        SortBy::Conflicts => instance.conflicts.as_ref().map_or(0, |c| c.of(i as usize).len()) as u128,
    }
}

/// Returns a deterministic order of the items. Of equal items, the one that begins first, then the one added first,
/// comes first.
pub(super) fn sorted(instance: &Instance, by: SortBy) -> Vec<u32> {
    let mut order = instance.by_first.clone();
    let item = |i: u32| -> &Item { &instance.items[i as usize] };
    if by == SortBy::Start {
        order.sort_by_key(|&i| (item(i).first, Reverse(item(i).last), Reverse(item(i).size)));
        return order;
    }
    let second = |i: u32| match by {
        SortBy::Size => item(i).length(),
        SortBy::Area => 0,
        _ => item(i).size,
    };
    order.sort_by_key(|&i| Reverse((measure(instance, by, i), second(i))));
    order
}

/// Buffers that are reused from one order to the next.
#[derive(Default)]
pub(super) struct Scratch {
    offsets: Vec<u64>,
    spans: Vec<(u64, u64)>,
}

impl Scratch {
    /// Places all items in an order, fixed ones first. Returns `None` as soon as the total exceeds `limit`.
    pub(super) fn place(
        &mut self,
        instance: &Instance,
        conflicts: &ItemLists,
        order: &[u32],
        fit: Fit,
        limit: u64,
    ) -> Option<&[u64]> {
        let Scratch { offsets, spans } = self;
        offsets.clear();
        offsets.extend(instance.items.iter().map(|item| item.fixed.unwrap_or(OPEN)));
        for &i in order {
            let item = &instance.items[i as usize];
            if item.fixed.is_some() {
                continue;
            }
            spans.clear();
            spans.extend(conflicts.of(i as usize).iter().filter_map(|&j| {
                let offset = offsets[j as usize];
                (offset != OPEN).then(|| (offset, offset + instance.items[j as usize].size))
            }));
            spans.sort_unstable();
            let offset = gap(spans, item, fit);
            if offset + item.size >= limit {
                return None;
            }
            offsets[i as usize] = offset;
        }
        Some(offsets)
    }
}

/// Returns the offset of an item in a gap between spans that are sorted by their start.
fn gap(spans: &[(u64, u64)], item: &Item, fit: Fit) -> u64 {
    let mut floor = 0;
    let mut best: Option<(u64, u64)> = None;
    for &(start, end) in spans {
        let at = align_up(floor, item.align);
        if at + item.size <= start {
            match fit {
                Fit::First => return at,
                Fit::Best => {
                    let waste = start - floor - item.size;
                    if best.is_none_or(|(least, _)| waste < least) {
                        best = Some((waste, at));
                    }
                }
            }
        }
        floor = floor.max(end);
    }
    best.map_or_else(|| align_up(floor, item.align), |(_, at)| at)
}
