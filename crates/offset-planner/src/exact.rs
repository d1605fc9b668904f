//! What the search is asked: whether the lower bound can be reached, and now and then whether the best plan can be
//! bettered by a part of what is left.
//!
//! A good plan takes hardly more nodes than there are items in some order, and very many in most. So many orders take
//! turns that are mostly short; how long they are follows the sequence of Luby, Sinclair and Zuckerman ("Optimal speedup
//! of Las Vegas algorithms", 1993): 1, 1, 2, 1, 1, 2, 4, 1, ...
//!
//! A turn that ran out is completed to a plan, and what ends too high in it comes earlier in the next turn of the same
//! kind (Joslin and Clements, "Squeaky wheel optimization", 1999). Each kind of turn learns for itself: which items come
//! too late depends on the order.
//!
//! Most turns are for an instance in which what lies together in every plan that reaches the bound is one item
//! (`joins.rs`); what they refute is not refuted for the items apart. Between rounds the best plan is bettered
//! without search (`anneal.rs`, `polish.rs`), which counts as nodes by the time it takes.

use std::cmp::Reverse;
use std::sync::atomic::Ordering;
use std::time::Instant;

use super::anneal::Anneal;
use super::cliques::Cliques;
use super::greedy::Scratch;
use super::instance::Instance;
use super::joins::joined;
use super::plan::{Best, Budget, Fit, Method, PlanOptions};
use super::polish::Polish;
use super::search::{Engine, Outcome, Pick};

/// Nodes of the shortest turn: three for each item, and no fewer than this but for few items.
const SHORTEST_TURN: u64 = 512;

/// Steps of polishing a plan at the end of every third round, and of each while it is far from the bound.
const POLISH: u64 = 256;

/// So few items that to refute a total takes hardly any nodes, however near the best plan it is.
const FEW: usize = 32;

/// A plan is far from the lower bound when it is above it by more than one part of so many.
const FAR: u64 = 12;

/// In one turn of so many a total above the least is asked for, too: where the best plan is far from the bound, and else.
const OFTEN: u64 = 4;
const SELDOM: u64 = 13;

/// With items joined, only one turn in so many is for the items as they are.
const APART: u64 = 8;

/// Changes that cost as much as a node when a plan is annealed.
const CHANGES: u64 = 4;

/// Changes from a plan on, the first time and at most; each time there are twice as many as before.
const FIRST_CHANGES: u64 = 1 << 15;
const MOST_CHANGES: u64 = 1 << 19;

/// Annealing begins after so many nodes, and takes one part of so many while the best plan is far from the bound, and else.
const ANNEAL_AFTER: u64 = 1 << 13;
const ANNEAL_FAR: u64 = 3;
const ANNEAL_NEAR: u64 = 6;

/// What an item weighs at first, and at most.
const WEIGHT: u32 = 1 << 10;
const MOST_WEIGHT: u32 = 1 << 14;

/// Conflicts at most, counted from both sides: a node looks at all of them.
const MOST_CONFLICTS: usize = 1_000_000;

/// Which clique is next in a round's turns, and what items are sorted by, the most of it first. In every fourth round the
/// measures are multiplied by numbers between 0.75 and 1.25, other ones each time.
const PICKS: [Pick; 3] = [Pick::Lowest, Pick::LowestFullest, Pick::Bound];
const MEASURES: [Measure; 4] = [Measure::Length, Measure::Area, Measure::Size, Measure::Conflicts];

/// Turns of a round.
const TURNS: usize = PICKS.len() * MEASURES.len();

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Measure {
    Area,
    Size,
    Length,
    Conflicts,
}

impl Measure {
    fn of(self, instance: &Instance, i: u32) -> u128 {
        let item = &instance.items[i as usize];
        let degree = || instance.conflicts.as_ref().map_or(0, |conflicts| conflicts.of(i as usize).len());
        match self {
            Measure::Area => item.area(),
            Measure::Size => item.size.into(),
            Measure::Length => item.length().into(),
            Measure::Conflicts => degree() as u128,
        }
    }
}

/// What is left of the budget.
struct Left<'a> {
    options: &'a PlanOptions<'a>,
    begun: Instant,
    nodes: u64,
    spent: bool,
}

impl Left<'_> {
    /// Counts a node; true when the search has to end.
    fn take(&mut self) -> bool {
        self.spent |= match self.options.budget {
            Budget::Greedy => true,
            Budget::Nodes(nodes) => self.nodes >= nodes,
            // Looking at the clock costs something, too.
            Budget::Time(time) => self.nodes.is_multiple_of(64) && self.begun.elapsed() >= time,
        };
        self.spent |= self.options.cancel.is_some_and(|cancel| cancel.load(Ordering::Relaxed));
        if !self.spent {
            self.nodes += 1;
        }
        self.spent
    }
}

/// Betters a plan within the budget; gives the nodes visited.
pub(super) fn improve(
    instances: &[Instance],
    best: &mut Best,
    options: &PlanOptions<'_>,
    begun: Instant,
) -> u64 {
    let mut left = Left { options, begun, nodes: 0, spent: false };
    // With pairs in place there are several instances, and none of them alone proves anything.
    let proves = instances.len() == 1;
    let apart = instances.len();
    let reach = best.lower_bound;
    let joins = match instances {
        [one] if one.items.len() > FEW && !best.is_enough() => joined(one, reach),
        _ => None,
    };
    let cliques: Vec<Option<Cliques>> = instances
        .iter()
        .chain(&joins)
        .map(|instance| {
            let listed = instance.conflicts.as_ref().filter(|c| c.total() <= MOST_CONFLICTS)?;
            (!instance.fixed_share).then(|| Cliques::new(instance, listed))
        })
        .collect();
    let mut searches: Vec<Search<'_>> = instances
        .iter()
        .chain(&joins)
        .zip(&cliques)
        .enumerate()
        .filter_map(|(at, (instance, cliques))| Search::new(instance, cliques.as_ref()?, at >= apart))
        .collect();
    let mut annealing = Annealing::default();
    let (mut round, mut seed) = (0, 0);
    while !searches.is_empty() && !best.is_enough() {
        let mut open = false;
        // Items are joined for the sake of one total.
        searches.retain(|search| !search.joined || search.bound.max(best.lower_bound) <= reach);
        let joined = searches.iter().any(|search| search.joined);
        for at in 0..TURNS {
            let (pick, measure) = (PICKS[at / MEASURES.len()], MEASURES[at % MEASURES.len()]);
            let far = best.total - best.lower_bound > best.lower_bound / FAR;
            let every = if far { OFTEN } else { SELDOM };
            let parts: &[u64] =
                if round == 0 || (at as u64 + round).is_multiple_of(every) { &[1, 2, 8] } else { &[1] };
            for search in searches.iter_mut().rev() {
                if joined && !search.joined && !(at as u64 + round).is_multiple_of(APART) {
                    open = true;
                    continue;
                }
                let noise = (round % 4 == 3).then_some(seed);
                let rank = ranks(search.instance, measure, noise, &search.weights[at]);
                let items = search.instance.items.len();
                let parts = if items <= FEW && seed < 3 { &[1] } else { parts };
                let turn = match (items <= FEW, seed) {
                    // Some order mostly is lucky at once; if not, one is to see it through.
                    (true, 0..3) => 3 * items as u64 / 2,
                    (true, _) => SHORTEST_TURN << round.min(32),
                    (false, _) if round == 0 => SHORTEST_TURN,
                    (false, _) => SHORTEST_TURN.max(3 * items as u64).saturating_mul(luby(round)),
                };
                open |= search.turn(&rank, at, pick, turn, parts, best, &mut left, proves && !search.joined);
                if left.spent || best.is_enough() {
                    return left.nodes;
                }
            }
            seed += 1;
        }
        if !open {
            break;
        }
        round += 1;
        let far = best.total - best.lower_bound > best.lower_bound / FAR;
        for search in searches.iter().filter(|_| far || round % 3 == 0) {
            polish(search.instance, POLISH, seed, best, &mut left);
            if left.spent || best.is_enough() {
                return left.nodes;
            }
        }
        for search in searches.iter().filter(|search| !search.joined) {
            annealing.run(search, seed, best, &mut left);
            if left.spent || best.is_enough() {
                return left.nodes;
            }
        }
    }
    left.nodes
}

/// The sequence of Luby, Sinclair and Zuckerman, from 1 on.
fn luby(at: u64) -> u64 {
    let mut at = at.max(1);
    loop {
        // 2^k - 1 is at most `at`.
        let k = (at.saturating_add(1)).ilog2();
        let full = (1u64 << k) - 1;
        if at == full {
            return 1 << (k - 1);
        }
        at -= full;
    }
}

/// Betters the best plan a little, where the search may not get any further; a step costs about as much as some nodes.
fn polish(instance: &Instance, steps: u64, seed: u64, best: &mut Best, left: &mut Left<'_>) {
    let Some(offsets) = instance.items_at(&best.offsets) else { return };
    let mut polish = Polish::new(instance, seed);
    polish.start(instance, &offsets);
    for _ in 0..steps {
        let nodes = instance.items.len() / 32 + 1;
        if best.is_enough() || (0..nodes).any(|_| left.take()) {
            return;
        }
        polish.step(instance, best);
    }
}

/// How often the best plan was annealed, and the nodes that took.
#[derive(Default)]
struct Annealing {
    times: u32,
    nodes: u64,
}

impl Annealing {
    /// Anneals the best plan if that has not had its share of the nodes.
    fn run(&mut self, search: &Search<'_>, seed: u64, best: &mut Best, left: &mut Left<'_>) {
        let far = best.total - best.lower_bound > best.lower_bound / FAR;
        let share = if far { ANNEAL_FAR } else { ANNEAL_NEAR };
        if search.instance.items.len() <= FEW
            || left.nodes < ANNEAL_AFTER
            || self.nodes.saturating_mul(share) > left.nodes
        {
            return;
        }
        let Some(offsets) = search.instance.items_at(&best.offsets) else { return };
        let anneal = Anneal::new(search.instance, search.engine.cliques, search.unit, best.lower_bound, seed);
        let Some(mut anneal) = anneal else { return };
        let (changes, begun) = ((FIRST_CHANGES << self.times.min(32)).min(MOST_CHANGES), left.nodes);
        let mut change = 0u64;
        // What one heat leaves as it is, the other may better.
        let hottest = 1 + u64::from(self.times % 2);
        anneal.run(search.instance, &offsets, changes, hottest, best, || {
            change += 1;
            change % CHANGES == 1 && left.take()
        });
        self.times += 1;
        self.nodes += left.nodes - begun;
    }
}

/// One instance at the scale of the search.
struct Search<'a> {
    instance: &'a Instance,
    /// Whether items are joined in it: it then has plans with the least total, but maybe no others.
    joined: bool,
    engine: Engine<'a>,
    /// Bytes of one unit: all sizes and offsets are multiples of it.
    unit: u64,
    /// Below this, in bytes, this instance has no plan.
    bound: u64,
    /// Of the last plan that was completed.
    order: Vec<u32>,
    /// What measures are multiplied by in each turn of a round: more for items that stuck out.
    weights: Vec<Vec<u32>>,
    scratch: Scratch,
}

impl<'a> Search<'a> {
    fn new(instance: &'a Instance, cliques: &'a Cliques, joined: bool) -> Option<Search<'a>> {
        let items = &instance.items;
        let mut unit = items.iter().fold(0, |g, item| gcd(gcd(g, item.size), item.fixed.unwrap_or(0)));
        // An alignment that divides the unit holds by itself; another has to be a multiple of it.
        for item in items {
            if !unit.is_multiple_of(item.align) {
                unit = gcd(unit, item.align);
            }
        }
        let scale = |bytes: u64| bytes / unit;
        let align = items
            .iter()
            .map(|item| if unit.is_multiple_of(item.align) { 1 } else { scale(item.align) })
            .collect();
        let engine = Engine::new(
            items.iter().map(|item| scale(item.size)).collect(),
            align,
            items.iter().map(|item| item.fixed.map_or(u64::MAX, scale)).collect(),
            instance.conflicts.as_ref()?,
            cliques,
            classes(instance),
        );
        Some(Search {
            instance,
            joined,
            engine,
            unit,
            bound: 0,
            order: Vec::new(),
            weights: vec![vec![WEIGHT; items.len()]; TURNS],
            scratch: Scratch::default(),
        })
    }

    /// The least total from `least` units on at which an item can end: offsets are multiples of the common alignment.
    fn end_from(&self, least: u64) -> u64 {
        let common = self.engine.common;
        let end = |&size: &u64| size + least.saturating_sub(size).next_multiple_of(common);
        // Fixed items have been counted in the lower bound, and end where they do.
        self.engine.size.iter().map(end).min().unwrap_or(least)
    }

    /// One turn of one order: for each of `parts`, at a total that is this part of the way from the best plan to the least
    /// that may be possible. Whether it can go on.
    #[allow(clippy::too_many_arguments)]
    fn turn(
        &mut self,
        rank: &[u32],
        at: usize,
        pick: Pick,
        turn: u64,
        parts: &[u64],
        best: &mut Best,
        left: &mut Left<'_>,
        proves: bool,
    ) -> bool {
        for &part in parts {
            // Each answer moves the bound or the best plan; ask until a turn runs out. Behind a total that was refuted the
            // next ones mostly are too: ask further and further on, and for few items at once below the best plan.
            let mut skip = 0u64;
            loop {
                let possible = self.end_from(self.bound.max(best.lower_bound).div_ceil(self.unit));
                // What is enough need not be a total that there is: one below it is enough too.
                let least = possible.max(best.enough.min(best.total - 1) / self.unit);
                let below = (best.total - 1) / self.unit;
                if proves {
                    best.lower_bound = best.lower_bound.max((possible * self.unit).min(best.total));
                }
                if least > below || best.is_enough() {
                    return false;
                }
                let target = (below - (below - least) / part).saturating_add(skip).min(below);
                if part > 1 && target == least {
                    break;
                }
                // With room to spare a plan is found soon or not at all.
                let few = 4 * self.instance.items.len() as u64;
                let end = left.nodes.saturating_add(if part == 1 { turn } else { turn.min(few) });
                match self.engine.run(target, rank, pick, || left.nodes >= end || left.take()) {
                    Outcome::Found(mut offsets) => {
                        for offset in &mut offsets {
                            *offset *= self.unit;
                        }
                        best.offer(self.instance, &offsets, Method::Search);
                    }
                    Outcome::Infeasible => {
                        self.bound = (target + 1) * self.unit;
                        skip = if self.instance.items.len() <= FEW {
                            u64::MAX
                        } else {
                            skip.saturating_mul(2) + 1
                        };
                        if proves {
                            best.lower_bound = best.lower_bound.max(self.bound.min(best.total));
                        }
                    }
                    Outcome::Stopped => {
                        self.complete(rank, target, (part == 1).then_some(at), best);
                        if skip == 0 || left.spent || self.instance.items.len() <= FEW {
                            break;
                        }
                        skip = 0;
                    }
                }
            }
            if left.spent {
                return true;
            }
        }
        true
    }
}

impl Search<'_> {
    /// Makes plans of where the search got furthest: what it had placed lies as it did, the rest in the gaps and on top.
    /// What then ends above the target comes earlier the next time in the turn `at`.
    fn complete(&mut self, rank: &[u32], target: u64, at: Option<usize>, best: &mut Best) {
        let Some(conflicts) = &self.instance.conflicts else { return };
        let items = &self.instance.items;
        let deepest = self.engine.deepest();
        let mut placed = vec![false; items.len()];
        for &i in deepest {
            placed[i as usize] = true;
        }
        self.order.clear();
        self.order.extend_from_slice(deepest);
        self.order.extend((0..items.len() as u32).filter(|&i| !placed[i as usize]));
        let open = deepest.len();
        // By rank, and many items also by what mostly sticks out.
        let by = [None, Some(Measure::Size), Some(Measure::Length), Some(Measure::Area)];
        for (k, by) in by.into_iter().enumerate().take(if items.len() <= FEW { 1 } else { 4 }) {
            if let Some(open) = self.order.get_mut(open..) {
                match by {
                    Some(by) => open.sort_by_key(|&i| Reverse(by.of(self.instance, i))),
                    None => open.sort_unstable_by_key(|&i| rank[i as usize]),
                }
            }
            for fit in [Fit::First, Fit::Best] {
                // The first plan is learned from even if it is no better.
                let learns = at.filter(|_| k == 0 && fit == Fit::First);
                let limit = if learns.is_some() { u64::MAX } else { best.total };
                let placed = self.scratch.place(self.instance, conflicts, &self.order, fit, limit);
                let Some(offsets) = placed else { continue };
                if let Some(weights) = learns.and_then(|at| self.weights.get_mut(at)) {
                    learn(weights, self.instance, offsets, target * self.unit);
                }
                best.offer(self.instance, offsets, Method::Search);
            }
        }
    }
}

/// Items that end above a limit weigh more the next time, and the others slowly as much as at first again.
fn learn(weights: &mut [u32], instance: &Instance, offsets: &[u64], limit: u64) {
    let ends = offsets.iter().zip(&instance.items).map(|(offset, item)| offset + item.size);
    for (weight, end) in weights.iter_mut().zip(ends) {
        *weight = match end > limit {
            true => (*weight * 5 / 4).min(MOST_WEIGHT),
            false => (*weight - *weight / 64).max(WEIGHT),
        };
    }
}

/// The place of each item in an order by a measure, changed a little at random by a seed.
fn ranks(instance: &Instance, measure: Measure, seed: Option<u64>, weights: &[u32]) -> Vec<u32> {
    let mut random = seed.unwrap_or(0).wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    let mut factor = || {
        if seed.is_none() {
            return 1024;
        }
        // xorshift64
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        768 + u128::from(random >> 55)
    };
    let measures: Vec<u128> = (0..)
        .zip(weights)
        .map(|(i, &weight)| measure.of(instance, i).saturating_mul(factor()).saturating_mul(weight.into()))
        .collect();
    let mut sorted: Vec<u32> = (0..measures.len() as u32).collect();
    sorted.sort_unstable_by_key(|&i| (Reverse(measures[i as usize]), i));
    let mut ranks = vec![0; measures.len()];
    for (place, item) in sorted.into_iter().enumerate() {
        ranks[item as usize] = place as u32;
    }
    ranks
}

/// Items that differ in nothing get one number.
fn classes(instance: &Instance) -> Vec<u32> {
    let n = instance.items.len();
    if !instance.intervals {
        return (0..n as u32).collect();
    }
    let key = |i: u32| {
        let item = &instance.items[i as usize];
        (item.first, item.last, item.size, item.align, item.fixed)
    };
    let mut order: Vec<u32> = (0..n as u32).collect();
    order.sort_unstable_by_key(|&i| (key(i), i));
    let mut class = vec![0; n];
    for (at, &i) in order.iter().enumerate() {
        let same = at.checked_sub(1).map(|before| order[before]).filter(|&j| key(j) == key(i));
        class[i as usize] = same.map_or(i, |j| class[j as usize]);
    }
    class
}

fn gcd(mut a: u64, mut b: u64) -> u64 {
    while b != 0 {
        (a, b) = (b, a % b);
    }
    a
}
