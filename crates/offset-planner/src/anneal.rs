//! Bettering a plan by simulated annealing, for what the search can't decide: items are put in an order, each on top of
//! those before it, and the order is changed at random. A change for the worse may be kept, the less so the later it is.
//!
//! A change is judged in about a microsecond, so that there are hundreds of thousands of them: from the first place that
//! it touches on, and no further than until it is too bad to be kept, which is decided beforehand.
//!
//! All is in whole numbers, so that it is the same on every machine.

use std::ops::Range;

use super::cliques::Cliques;
use super::instance::Instance;
use super::plan::{Best, Method};

/// The heights are kept at each place of the order that is a multiple of this.
const STEP: usize = 16;

/// Heights kept at most.
const MOST_HEIGHTS: usize = 1 << 22;

/// Changes after which the order is again that of the offsets.
const SORTED: u64 = 4096;

/// At first a change is mostly kept that makes each stack higher by the bound divided by this, and in the end by a tenth.
const PARTS: u64 = 1024;

/// A plan of intervals without fixed offsets as an order of its items. The stacks are the cliques, which are in the order
/// of time, so that each item is in some next to each other. Bytes are counted in units.
pub(super) struct Anneal {
    unit: u64,
    bound: u32,
    size: Vec<u32>,
    /// The alignment less 1.
    mask: Vec<u32>,
    /// The stacks that each item is in.
    span: Vec<Range<usize>>,
    members: Vec<Vec<u32>>,
    order: Vec<u32>,
    /// The place of each item in it.
    place: Vec<u32>,
    /// What is made of the order, and of the changed order.
    now: Stacked,
    trial: Stacked,
    changed: Vec<u32>,
    /// How bad it is.
    cost: u64,
    /// Bytes that may be wasted in all stacks together at no cost.
    slack: u64,
    random: u64,
}

/// An order with each item on top of those before it.
#[derive(Clone, Default)]
struct Stacked {
    offsets: Vec<u32>,
    heights: Vec<u32>,
    /// At each multiple of `STEP`, the heights, and the units wasted below them.
    kept: Vec<u32>,
    wasted: Vec<u64>,
}

impl Anneal {
    /// None where items are not intervals, or fixed, or too many, or too large to count in 32 bits.
    pub(super) fn new(
        instance: &Instance,
        cliques: &Cliques,
        unit: u64,
        bound: u64,
        seed: u64,
    ) -> Option<Anneal> {
        let items = &instance.items;
        let stacks = cliques.members.len();
        let heights = (items.len() / STEP + 1).checked_mul(stacks)?;
        if !instance.intervals || heights > MOST_HEIGHTS || items.iter().any(|item| item.fixed.is_some()) {
            return None;
        }
        // No order is higher than all items with their worst alignments.
        let most: u64 = items.iter().map(|item| (item.size + item.align) / unit + 1).sum();
        u32::try_from(most).ok().filter(|&most| most < u32::MAX / 2)?;
        let of_item = |i: usize| {
            let of = cliques.of_item.of(i);
            let (first, last) = (of.iter().min()?, of.iter().max()?);
            Some(*first as usize..*last as usize + 1)
        };
        let scale = |bytes: u64| (bytes / unit) as u32;
        let size: Vec<u32> = items.iter().map(|item| scale(item.size)).collect();
        let bound = scale(bound);
        let members: Vec<Vec<u32>> = (0..stacks).map(|k| cliques.members.of(k).to_vec()).collect();
        let load = |of: &Vec<u32>| of.iter().map(|&i| u64::from(size[i as usize])).sum::<u64>();
        let slack = members.iter().map(|of| u64::from(bound).saturating_sub(load(of))).sum();
        let stacked = Stacked {
            offsets: vec![0; items.len()],
            heights: vec![0; stacks],
            kept: vec![0; heights],
            wasted: vec![0; items.len() / STEP + 1],
        };
        Some(Anneal {
            unit,
            bound,
            mask: items.iter().map(|item| scale(item.align).max(1) - 1).collect(),
            span: (0..items.len()).map(of_item).collect::<Option<_>>()?,
            members,
            order: (0..items.len() as u32).collect(),
            place: vec![0; items.len()],
            now: stacked.clone(),
            trial: stacked,
            changed: Vec::new(),
            cost: 0,
            slack,
            random: seed.wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1,
            size,
        })
    }

    /// Goes through `steps` changes of the plan with these offsets of the items, in bytes, or as many as `stop` lets it. It
    /// begins `hottest` times as hot as [`PARTS`] has it.
    pub(super) fn run(
        &mut self,
        instance: &Instance,
        offsets: &[u64],
        steps: u64,
        hottest: u64,
        best: &mut Best,
        mut stop: impl FnMut() -> bool,
    ) {
        for (to, from) in self.now.offsets.iter_mut().zip(offsets) {
            *to = (from / self.unit) as u32;
        }
        self.sort();
        for step in 0..steps {
            if stop() || best.is_enough() {
                return;
            }
            if step % SORTED == SORTED - 1 {
                self.sort();
            }
            // From 1 to 1/10, in parts of 2^16, slower and slower.
            let heat = (steps << 16) / (steps + 9 * step);
            let stacks = self.now.heights.len() as u128;
            let usual = 2 * u128::from(hottest) * stacks * u128::from(self.bound) * u128::from(heat)
                / u128::from(PARTS);
            let more = (usual * u128::from(self.exponential())) >> 24;
            let limit = self.cost.saturating_add(u64::try_from(more).unwrap_or(u64::MAX));
            let Some((low, high)) = self.change() else { continue };
            match self.stack(low, limit) {
                Some(cost) => {
                    self.accept(low, high, cost);
                    self.offer(instance, best);
                }
                None => self.changed[low..=high].copy_from_slice(&self.order[low..=high]),
            }
        }
    }

    fn offer(&mut self, instance: &Instance, best: &mut Best) {
        let top = self.now.heights.iter().copied().max().unwrap_or(0);
        if u64::from(top) * self.unit < best.total {
            let offsets: Vec<u64> = self.now.offsets.iter().map(|&at| u64::from(at) * self.unit).collect();
            best.offer(instance, &offsets, Method::Annealed);
        }
    }

    fn next(&mut self) -> u64 {
        // xorshift64
        self.random ^= self.random << 13;
        self.random ^= self.random >> 7;
        self.random ^= self.random << 17;
        self.random
    }

    fn below(&mut self, n: usize) -> usize {
        ((self.next() >> 11) % n.max(1) as u64) as usize
    }

    /// A number with the exponential distribution of mean 1, roughly, in parts of 2^8: the logarithm of a uniform one, with
    /// straight lines between powers of two.
    fn exponential(&mut self) -> u64 {
        let uniform = self.next();
        let zeros = u64::from(uniform.leading_zeros());
        let fraction = (uniform << zeros << 1) >> 56;
        // ln 2 is 177/256.
        ((zeros + 1) * 256 - fraction) * 177 / 256
    }

    /// Sorts the items by their offsets, so that the order says as much about what lies where as it can.
    fn sort(&mut self) {
        let offsets = &self.now.offsets;
        self.order.sort_by_key(|&i| offsets[i as usize]);
        self.changed.clone_from(&self.order);
        // From the start on nothing that was kept is looked at.
        if let Some(cost) = self.stack(0, u64::MAX) {
            self.accept(0, self.order.len() - 1, cost);
        }
    }

    /// Changes the order: an item, half the time one of a highest stack, takes the place of another that is live
    /// together with it, or they change places. Gives the first and the last place that is another one.
    fn change(&mut self) -> Option<(usize, usize)> {
        let stacks = self.now.heights.len();
        let i = if self.below(2) == 0 {
            let top = self.now.heights.iter().copied().max()?;
            let from = self.below(stacks);
            let k = (from..stacks).chain(0..from).find(|&k| self.now.heights[k] == top)?;
            self.member(k)
        } else {
            self.below(self.order.len())
        };
        let span = self.span[i].clone();
        let k = span.start + self.below(span.len());
        let j = self.member(k);
        let (i, j) = (self.place[i] as usize, self.place[j] as usize);
        let (low, high) = (i.min(j), i.max(j));
        match self.below(2) {
            _ if i == j => return None,
            0 => self.changed.swap(i, j),
            _ if i > j => self.changed[j..=i].rotate_right(1),
            _ => self.changed[i..=j].rotate_left(1),
        }
        Some((low, high))
    }

    fn member(&mut self, stack: usize) -> usize {
        let at = self.below(self.members[stack].len());
        self.members[stack][at] as usize
    }

    /// Stacks the changed order, which is as before up to a place. None as soon as it costs more than `limit`.
    ///
    /// The cost is twice what all stacks are above the bound, and what the highest one is, times their number.
    fn stack(&mut self, from: usize, limit: u64) -> Option<u64> {
        let Anneal { now, trial, changed, size, mask, span, bound, slack, .. } = self;
        let stacks = trial.heights.len();
        let from = from / STEP;
        trial.heights.copy_from_slice(&now.kept[from * stacks..][..stacks]);
        let mut wasted = now.wasted[from];
        for (at, chunk) in (from..).zip(changed[from * STEP..].chunks(STEP)) {
            trial.kept[at * stacks..][..stacks].copy_from_slice(&trial.heights);
            trial.wasted[at] = wasted;
            for &i in chunk {
                let i = i as usize;
                let heights = &mut trial.heights[span[i].clone()];
                let (mut most, mut sum) = (0, 0);
                for &height in heights.iter() {
                    most = height.max(most);
                    sum += u64::from(height);
                }
                let at = (most + mask[i]) & !mask[i];
                wasted += u64::from(at) * heights.len() as u64 - sum;
                trial.offsets[i] = at;
                heights.fill(at + size[i]);
                // Each stack can take what it is below the bound, no more.
                if 2 * wasted.saturating_sub(*slack) > limit {
                    return None;
                }
            }
        }
        let over = |height: &u32| u64::from(height.saturating_sub(*bound));
        let all: u64 = trial.heights.iter().map(over).sum();
        let most = trial.heights.iter().map(over).max().unwrap_or(0);
        let cost = 2 * all + most * stacks as u64;
        (cost <= limit).then_some(cost)
    }

    /// Goes on from the changed order, in which the places from `low` to `high` are others.
    fn accept(&mut self, low: usize, high: usize, cost: u64) {
        self.cost = cost;
        let stacks = self.now.heights.len();
        let from = low / STEP;
        self.order[low..=high].copy_from_slice(&self.changed[low..=high]);
        for (at, &i) in (low as u32..).zip(&self.order[low..=high]) {
            self.place[i as usize] = at;
        }
        std::mem::swap(&mut self.now.heights, &mut self.trial.heights);
        for &i in &self.order[from * STEP..] {
            self.now.offsets[i as usize] = self.trial.offsets[i as usize];
        }
        self.now.kept[from * stacks..].copy_from_slice(&self.trial.kept[from * stacks..]);
        self.now.wasted[from..].copy_from_slice(&self.trial.wasted[from..]);
    }
}
