//! Improves a plan by local search, for problems that the tree search can't decide. The order of the items is changed
//! slightly, first fit is run over it, and the new order is kept if it is no worse.

use super::greedy::Scratch;
use super::instance::Instance;
use super::plan::{BestPlan, Fit, Method};
use super::random::Random;

/// First fit over one order that is changed step by step.
pub(super) struct LocalSearch {
    order: Vec<u32>,
    trial: Vec<u32>,
    tops: Vec<u32>,
    total: u64,
    random: Random,
    scratch: Scratch,
}

impl LocalSearch {
    pub(super) fn new(instance: &Instance, seed: u64) -> LocalSearch {
        let count = instance.items.len();
        LocalSearch {
            order: Vec::with_capacity(count),
            trial: Vec::with_capacity(count),
            tops: Vec::new(),
            total: u64::MAX,
            random: Random::new(seed.wrapping_sub(1)),
            scratch: Scratch::default(),
        }
    }

    /// Starts from a plan with these offsets of the items.
    pub(super) fn start(&mut self, instance: &Instance, offsets: &[u64]) {
        self.order.clear();
        self.order.extend(0..instance.items.len() as u32);
        self.order.sort_by_key(|&i| offsets[i as usize]);
        self.total = instance.total(offsets);
        self.record_tops(instance, offsets);
    }

    /// Records which items end highest: one of them has to come earlier.
    fn record_tops(&mut self, instance: &Instance, offsets: &[u64]) {
        let ends = |i: usize| offsets[i] + instance.items[i].size;
        self.tops.clear();
        self.tops.extend((0..offsets.len()).filter(|&i| ends(i) == self.total).map(|i| i as u32));
    }

    /// Tries one change of the order.
    pub(super) fn step(&mut self, instance: &Instance, best: &mut BestPlan) {
        let (Some(conflicts), false) = (&instance.conflicts, self.tops.is_empty()) else { return };
        self.trial.clone_from(&self.order);
        let at = self.random.below(self.tops.len());
        let top = self.tops[at];
        // The item itself, or one that conflicts with it, comes earlier.
        let others = conflicts.of(top as usize);
        let moved = match self.random.below(3) {
            0 if !others.is_empty() => others[self.random.below(others.len())],
            _ => top,
        };
        if let Some(from) = self.trial.iter().position(|&i| i == moved) {
            let to = self.random.below(from + 1);
            self.trial[to..=from].rotate_right(1);
        }
        let Some(offsets) =
            self.scratch.place(instance, conflicts, &self.trial, Fit::First, self.total.saturating_add(1))
        else {
            return;
        };
        let offsets = offsets.to_vec();
        self.total = instance.total(&offsets);
        std::mem::swap(&mut self.order, &mut self.trial);
        self.record_tops(instance, &offsets);
        best.offer(instance, &offsets, Method::LocalSearch);
    }
}
