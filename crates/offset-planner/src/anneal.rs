//! Improves a plan by simulated annealing, for problems that the search can't decide. The items are in an order, each
//! on top of those before it, and the order is changed at random. A change that makes the plan worse may be kept, with
//! a probability that decreases over time.
//!
//! Evaluating a change takes about a microsecond, so there are hundreds of thousands of them. Evaluation starts at the
//! first place that the change affects, and ends as soon as the cost exceeds a limit that is drawn beforehand.
//!
//! All computation is in integers, so the result is the same on every machine.

use std::ops::Range;

use super::cliques::Cliques;
use super::instance::Instance;
use super::plan::{BestPlan, Method};
use super::random::Random;

/// The heights of the stacks are stored at each place of the order that is a multiple of this.
const STEP: usize = 16;

/// The number of heights that are stored at most.
const MOST_HEIGHTS: usize = 1 << 22;

/// The number of changes after which the items are sorted by their offsets again.
const SORTED: u64 = 4096;

/// The initial temperature is the lower bound divided by this: a change that makes each stack higher by that much is
/// usually kept. The final temperature is a tenth of it.
const PARTS: u64 = 1024;

/// A plan of intervals without fixed offsets, as an order of its items. The stacks are the cliques in the order of
/// time, so an item is in consecutive stacks. Bytes are counted in units.
pub(super) struct Anneal {
    unit: u64,
    bound: u32,
    size: Vec<u32>,
    /// The alignment of each item minus 1, in units.
    mask: Vec<u32>,
    /// The range of stacks that each item is in.
    span: Vec<Range<usize>>,
    members: Vec<Vec<u32>>,
    order: Vec<u32>,
    /// The place of each item in the order.
    place: Vec<u32>,
    /// The heights for the current order and for the changed order.
    now: Stacked,
    trial: Stacked,
    changed: Vec<u32>,
    /// The cost of the current order.
    cost: u64,
    /// The units that all stacks together may waste at no cost.
    slack: u64,
    random: Random,
}

/// An order in which each item is on top of those before it.
#[derive(Clone, Default)]
struct Stacked {
    offsets: Vec<u32>,
    heights: Vec<u32>,
    /// At each multiple of `STEP`: the heights of the stacks, and the units wasted below them.
    kept: Vec<u32>,
    wasted: Vec<u64>,
}

impl Anneal {
    /// Returns `None` if the items are not intervals, if one is fixed, if there are too many, or if their units exceed
    /// 32 bits.
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
        // No order is higher than all items end to end with the most padding.
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
            random: Random::new(seed),
            size,
        })
    }

    /// Tries up to `steps` changes of the plan with these offsets of the items, in bytes, until `stop` returns true.
    /// The initial temperature is `hottest` times that of [`PARTS`].
    pub(super) fn run(
        &mut self,
        instance: &Instance,
        offsets: &[u64],
        steps: u64,
        hottest: u64,
        best: &mut BestPlan,
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
            // The temperature falls from 1 to 1/10, in units of 2^-16, ever more slowly.
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

    fn offer(&mut self, instance: &Instance, best: &mut BestPlan) {
        let top = self.now.heights.iter().copied().max().unwrap_or(0);
        if u64::from(top) * self.unit < best.total {
            let offsets: Vec<u64> = self.now.offsets.iter().map(|&at| u64::from(at) * self.unit).collect();
            best.offer(instance, &offsets, Method::Annealed);
        }
    }

    /// Returns a number that is distributed approximately exponentially with mean 1, in units of 2^-8: minus the
    /// logarithm of a uniform number, interpolated linearly between powers of two.
    fn exponential(&mut self) -> u64 {
        let uniform = self.random.next();
        let zeros = u64::from(uniform.leading_zeros());
        let fraction = (uniform << zeros << 1) >> 56;
        // ln 2 is 177/256.
        ((zeros + 1) * 256 - fraction) * 177 / 256
    }

    /// Sorts the items by their offsets. This order contains the most information about the plan.
    fn sort(&mut self) {
        let offsets = &self.now.offsets;
        self.order.sort_by_key(|&i| offsets[i as usize]);
        self.changed.clone_from(&self.order);
        // Stacking from place 0 uses none of the stored heights.
        if let Some(cost) = self.stack(0, u64::MAX) {
            self.accept(0, self.order.len() - 1, cost);
        }
    }

    /// Changes the order: an item takes the place of another one that is live at the same time, or both exchange
    /// places. Half the time the item is one of a highest stack. Returns the first and the last place that changed.
    fn change(&mut self) -> Option<(usize, usize)> {
        let stacks = self.now.heights.len();
        let i = if self.random.below(2) == 0 {
            let top = self.now.heights.iter().copied().max()?;
            let from = self.random.below(stacks);
            let k = (from..stacks).chain(0..from).find(|&k| self.now.heights[k] == top)?;
            self.member(k)
        } else {
            self.random.below(self.order.len())
        };
        let span = self.span[i].clone();
        let k = span.start + self.random.below(span.len());
        let j = self.member(k);
        let (i, j) = (self.place[i] as usize, self.place[j] as usize);
        let (low, high) = (i.min(j), i.max(j));
        match self.random.below(2) {
            _ if i == j => return None,
            0 => self.changed.swap(i, j),
            _ if i > j => self.changed[j..=i].rotate_right(1),
            _ => self.changed[i..=j].rotate_left(1),
        }
        Some((low, high))
    }

    fn member(&mut self, stack: usize) -> usize {
        let at = self.random.below(self.members[stack].len());
        self.members[stack][at] as usize
    }

    /// Stacks the changed order, which is unchanged before place `from`. Returns `None` as soon as the cost exceeds
    /// `limit`.
    ///
    /// The cost is twice the units by which all stacks exceed the bound, plus those of the highest stack times the
    /// number of stacks.
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
                // Each stack can waste at most what it is below the bound.
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

    /// Makes the changed order the current one. Its places from `low` to `high` differ.
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
