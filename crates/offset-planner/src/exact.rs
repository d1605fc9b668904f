//! Drives the search: it asks whether the lower bound can be reached, and from time to time whether the best plan can
//! be improved by a part of the remaining gap.
//!
//! In some orders a good plan is found in hardly more nodes than there are items; in most orders it takes very many
//! nodes. So many orders are tried in turns, most of them short. The lengths of the turns follow the sequence of Luby,
//! Sinclair and Zuckerman ("Optimal speedup of Las Vegas algorithms", 1993): 1, 1, 2, 1, 1, 2, 4, 1, ...
//!
//! When a turn exhausts its nodes, its partial result is completed to a plan, and the items that end too high in it
//! come earlier in the next turn of the same kind (Joslin and Clements, "Squeaky wheel optimization", 1999). Each kind
//! of turn has weights of its own, because the items that come too late depend on the order.
//!
//! Most turns search an instance in which items that are together in every plan that reaches the bound are merged
//! (`merge.rs`). A total that is refuted for merged items is not refuted for the original items. Between rounds the
//! best plan is improved without search (`anneal.rs`, `local_search.rs`), which is counted as nodes according to the
//! time it takes.

use std::cmp::Reverse;
use std::sync::atomic::Ordering;
use std::time::Instant;

use super::anneal::Anneal;
use super::cliques::Cliques;
use super::greedy::{Scratch, measure};
use super::instance::Instance;
use super::local_search::LocalSearch;
use super::merge::merged;
use super::plan::{BestPlan, Budget, Fit, Method, PlanOptions, SortBy};
use super::random::Random;
use super::search::{CliqueChoice, Outcome, ScaledProblem};

/// The number of nodes of the shortest turn, unless there are few items. It is otherwise three nodes for each item.
const SHORTEST_TURN: u64 = 512;

/// The number of local search steps at the end of every third round, or of each round while the best plan is far from
/// the bound.
const LOCAL_STEPS: u64 = 256;

/// Up to this many items, refuting a total takes hardly any nodes, however near it is to the best plan.
const SMALL_INSTANCE: usize = 32;

/// A plan is far from the lower bound if it exceeds the bound by more than the bound divided by this.
const BOUND_PARTS_FAR: u64 = 12;

/// One turn in this many also asks for totals above the least: `TURNS_BETWEEN_TOTALS_FAR` while the best plan is far from the bound,
/// otherwise `TURNS_BETWEEN_TOTALS_NEAR`.
const TURNS_BETWEEN_TOTALS_FAR: u64 = 4;
const TURNS_BETWEEN_TOTALS_NEAR: u64 = 13;

/// If there is an instance with merged items, one turn in this many searches the original items.
const TURNS_BETWEEN_ORIGINALS: u64 = 8;

/// The number of changes in annealing that count as one node.
const CHANGES_A_NODE: u64 = 4;

/// The number of changes in the first annealing run, and at most. It doubles from one run to the next.
const FIRST_CHANGES: u64 = 1 << 15;
const MAX_CHANGES: u64 = 1 << 19;

/// The number of nodes after which annealing begins, and the parts of all nodes that it takes while the best plan is
/// far from the bound, and otherwise.
const ANNEAL_AFTER: u64 = 1 << 13;
const ANNEAL_FAR: u64 = 3;
const ANNEAL_NEAR: u64 = 6;

/// The initial weight of an item, and the greatest one.
const WEIGHT: u32 = 1 << 10;
const MAX_WEIGHT: u32 = 1 << 14;

/// The number of conflicts, counted from both sides, above which there is no search. A node visits all of them.
const MAX_CONFLICTS: usize = 1_000_000;

/// How a turn chooses its next clique, and the measure by which its items are sorted in decreasing order. In every
/// fourth round the measures are multiplied by random numbers between 0.75 and 1.25.
const CHOICES: [CliqueChoice; 3] = [CliqueChoice::Lowest, CliqueChoice::LowestFullest, CliqueChoice::Bound];
const MEASURES: [SortBy; 4] = [SortBy::Lifetime, SortBy::Area, SortBy::Size, SortBy::Conflicts];

/// The number of turns in a round.
const TURNS: usize = CHOICES.len() * MEASURES.len();

/// The remaining budget.
struct RemainingBudget<'a> {
    options: &'a PlanOptions<'a>,
    begun: Instant,
    nodes: u64,
    spent: bool,
}

impl RemainingBudget<'_> {
    /// Counts a node and returns true if the search has to end.
    fn take(&mut self) -> bool {
        self.spent |= match self.options.budget {
            Budget::Greedy => true,
            Budget::Nodes(nodes) => self.nodes >= nodes,
            // Reading the clock takes time, so it is read once in 64 nodes.
            Budget::Time(time) => self.nodes.is_multiple_of(64) && self.begun.elapsed() >= time,
        };
        self.spent |= self.options.cancel.is_some_and(|cancel| cancel.load(Ordering::Relaxed));
        if !self.spent {
            self.nodes += 1;
        }
        self.spent
    }
}

/// Improves a plan within the budget and returns the number of nodes visited.
pub(super) fn improve(
    instances: &[Instance],
    best: &mut BestPlan,
    options: &PlanOptions<'_>,
    begun: Instant,
) -> u64 {
    let mut left = RemainingBudget { options, begun, nodes: 0, spent: false };
    // With pairs in place there are several instances, and none of them alone proves anything.
    let proves = instances.len() == 1;
    let reach = best.lower_bound;
    let merged = match instances {
        [one] if one.items.len() > SMALL_INSTANCE && !best.is_enough() => merged(one, reach),
        _ => None,
    };
    let cliques: Vec<Option<Cliques>> = instances
        .iter()
        .chain(&merged)
        .map(|instance| {
            let listed = instance.conflicts.as_ref().filter(|c| c.total() <= MAX_CONFLICTS)?;
            (!instance.fixed_share).then(|| Cliques::new(instance, listed))
        })
        .collect();
    let searches = instances.iter().chain(&merged).zip(&cliques).enumerate();
    let mut searches: Vec<Search<'_>> = searches
        .filter_map(|(at, (instance, cliques))| {
            Search::new(instance, cliques.as_ref()?, at >= instances.len())
        })
        .collect();
    let mut annealing = Annealing::default();
    let (mut round, mut seed) = (0, 0);
    while !searches.is_empty() && !best.is_enough() {
        // Items are merged for one total only; the merged instance is dropped once that total is refuted.
        searches.retain(|search| !search.merged || search.bound.max(best.lower_bound) <= reach);
        let open = run_round(&mut searches, round, &mut seed, best, &mut left, proves);
        if !open || left.spent || best.is_enough() {
            break;
        }
        round += 1;
        let searches_locally = is_far(best) || round % 3 == 0;
        for search in searches.iter().filter(|_| searches_locally) {
            search_locally(search.instance, LOCAL_STEPS, seed, best, &mut left);
            if left.spent || best.is_enough() {
                return left.nodes;
            }
        }
        for search in searches.iter().filter(|search| !search.merged) {
            annealing.run(search, seed, best, &mut left);
            if left.spent || best.is_enough() {
                return left.nodes;
            }
        }
    }
    left.nodes
}

/// Returns whether the best plan is far from the lower bound.
fn is_far(best: &BestPlan) -> bool {
    best.total - best.lower_bound > best.lower_bound / BOUND_PARTS_FAR
}

/// Runs the turns of a round. Returns whether a search can continue; it ends early when the budget is spent or the plan is good
/// enough.
fn run_round(
    searches: &mut [Search<'_>],
    round: u64,
    seed: &mut u64,
    best: &mut BestPlan,
    left: &mut RemainingBudget<'_>,
    proves: bool,
) -> bool {
    let mut open = false;
    let merged = searches.iter().any(|search| search.merged);
    for at in 0..TURNS {
        let (choice, by) = (CHOICES[at / MEASURES.len()], MEASURES[at % MEASURES.len()]);
        let every = if is_far(best) { TURNS_BETWEEN_TOTALS_FAR } else { TURNS_BETWEEN_TOTALS_NEAR };
        let parts: &[u64] =
            if round == 0 || (at as u64 + round).is_multiple_of(every) { &[1, 2, 8] } else { &[1] };
        for search in searches.iter_mut().rev() {
            if merged && !search.merged && !(at as u64 + round).is_multiple_of(TURNS_BETWEEN_ORIGINALS) {
                open = true;
                continue;
            }
            let noise = (round % 4 == 3).then_some(*seed);
            let rank = ranks(search.instance, by, noise, &search.weights[at]);
            let items = search.instance.items.len();
            let parts = if items <= SMALL_INSTANCE && *seed < 3 { &[1] } else { parts };
            let turn = match (items <= SMALL_INSTANCE, *seed) {
                // Usually one order finds a plan at once. Otherwise one order gets enough nodes to finish.
                (true, 0..3) => 3 * items as u64 / 2,
                (true, _) => SHORTEST_TURN << round.min(32),
                (false, _) if round == 0 => SHORTEST_TURN,
                (false, _) => SHORTEST_TURN.max(3 * items as u64).saturating_mul(luby(round)),
            };
            open |= search.turn(&rank, at, choice, turn, parts, best, left, proves && !search.merged);
            if left.spent || best.is_enough() {
                return open;
            }
        }
        *seed += 1;
    }
    open
}

/// Returns element `at` of the sequence of Luby, Sinclair and Zuckerman, counted from 1.
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

/// Improves the best plan by local search, in case the tree search makes no progress. A step costs about as much as
/// some nodes.
fn search_locally(
    instance: &Instance,
    steps: u64,
    seed: u64,
    best: &mut BestPlan,
    left: &mut RemainingBudget<'_>,
) {
    let Some(offsets) = instance.items_at(&best.offsets) else { return };
    let mut local = LocalSearch::new(instance, seed);
    local.start(instance, &offsets);
    for _ in 0..steps {
        let nodes = instance.items.len() / 32 + 1;
        if best.is_enough() || (0..nodes).any(|_| left.take()) {
            return;
        }
        local.step(instance, best);
    }
}

/// The number of annealing runs and the nodes that they took.
#[derive(Default)]
struct Annealing {
    times: u32,
    nodes: u64,
}

impl Annealing {
    /// Anneals the best plan unless annealing has used its share of the nodes.
    fn run(&mut self, search: &Search<'_>, seed: u64, best: &mut BestPlan, left: &mut RemainingBudget<'_>) {
        let share = if is_far(best) { ANNEAL_FAR } else { ANNEAL_NEAR };
        if search.instance.items.len() <= SMALL_INSTANCE
            || left.nodes < ANNEAL_AFTER
            || self.nodes.saturating_mul(share) > left.nodes
        {
            return;
        }
        let Some(offsets) = search.instance.items_at(&best.offsets) else { return };
        let anneal = Anneal::new(search.instance, search.engine.cliques, search.unit, best.lower_bound, seed);
        let Some(mut anneal) = anneal else { return };
        let (changes, begun) = ((FIRST_CHANGES << self.times.min(32)).min(MAX_CHANGES), left.nodes);
        let mut change = 0u64;
        // Alternate between two temperatures: each may improve plans that the other does not.
        let hottest = 1 + u64::from(self.times % 2);
        anneal.run(search.instance, &offsets, changes, hottest, best, || {
            change += 1;
            change % CHANGES_A_NODE == 1 && left.take()
        });
        self.times += 1;
        self.nodes += left.nodes - begun;
    }
}

/// An instance at the scale of the search.
struct Search<'a> {
    instance: &'a Instance,
    /// Whether items are merged. A merged instance has plans with the least total, but may have no others.
    merged: bool,
    engine: ScaledProblem<'a>,
    /// The bytes of one unit. All sizes and offsets are multiples of it.
    unit: u64,
    /// A lower bound of this instance's total, in bytes.
    bound: u64,
    /// The order of the items in the last plan that was completed.
    order: Vec<u32>,
    /// For each turn of a round, the weights with which measures are multiplied. They are higher for items that ended
    /// too high.
    weights: Vec<Vec<u32>>,
    scratch: Scratch,
}

impl<'a> Search<'a> {
    fn new(instance: &'a Instance, cliques: &'a Cliques, merged: bool) -> Option<Search<'a>> {
        let items = &instance.items;
        let mut unit = items.iter().fold(0, |g, item| gcd(gcd(g, item.size), item.fixed.unwrap_or(0)));
        // An alignment that divides the unit always holds. Any other must be a multiple of the unit.
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
        let engine = ScaledProblem::new(
            items.iter().map(|item| scale(item.size)).collect(),
            align,
            items.iter().map(|item| item.fixed.map_or(u64::MAX, scale)).collect(),
            instance.conflicts.as_ref()?,
            cliques,
            classes(instance),
        );
        Some(Search {
            instance,
            merged,
            engine,
            unit,
            bound: 0,
            order: Vec::new(),
            weights: vec![vec![WEIGHT; items.len()]; TURNS],
            scratch: Scratch::default(),
        })
    }

    /// Returns the least total, from `least` units on, at which an item can end. Offsets are multiples of the common
    /// alignment.
    fn end_from(&self, least: u64) -> u64 {
        let common = self.engine.common;
        let end = |&size: &u64| size + least.saturating_sub(size).next_multiple_of(common);
        // Fixed items are included in the lower bound, and end at their fixed positions.
        self.engine.size.iter().map(end).min().unwrap_or(least)
    }

    /// Runs one turn of one order. For each of `parts` it asks for a total that is this fraction of the distance from
    /// the best plan down to the least possible total. Returns whether the turn can continue.
    #[allow(clippy::too_many_arguments)]
    fn turn(
        &mut self,
        rank: &[u32],
        at: usize,
        pick: CliqueChoice,
        turn: u64,
        parts: &[u64],
        best: &mut BestPlan,
        left: &mut RemainingBudget<'_>,
        proves: bool,
    ) -> bool {
        for &part in parts {
            // Each answer changes the bound or the best plan; ask until the turn's nodes are exhausted. After a refuted
            // total the next ones are usually refuted too, so ask in growing strides, and for few items right below the
            // best plan.
            let mut skip = 0u64;
            loop {
                let possible = self.end_from(self.bound.max(best.lower_bound).div_ceil(self.unit));
                // The sufficient total need not be attainable; then the next lower one that is attainable is asked for.
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
                // If there is slack, a plan is found soon or not at all.
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
                        skip = if self.instance.items.len() <= SMALL_INSTANCE {
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
                        if skip == 0 || left.spent || self.instance.items.len() <= SMALL_INSTANCE {
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
    /// Completes the deepest state of the search to plans: the placed items keep their order, the others go into the
    /// gaps and on top. Items that end above the target come earlier in the next turn `at`.
    fn complete(&mut self, rank: &[u32], target: u64, at: Option<usize>, best: &mut BestPlan) {
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
        // Sort by rank; for many items also by the measures of items that often end too high.
        let by = [None, Some(SortBy::Size), Some(SortBy::Lifetime), Some(SortBy::Area)];
        for (k, by) in by.into_iter().enumerate().take(if items.len() <= SMALL_INSTANCE { 1 } else { 4 }) {
            if let Some(open) = self.order.get_mut(open..) {
                match by {
                    Some(by) => open.sort_by_key(|&i| Reverse(measure(self.instance, by, i))),
                    None => open.sort_unstable_by_key(|&i| rank[i as usize]),
                }
            }
            for fit in [Fit::First, Fit::Best] {
                // The weights are updated from the first plan even if it is no improvement.
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

/// Raises the weights of items that end above a limit, and lets the weights of the others decay slowly to their initial
/// value.
fn learn(weights: &mut [u32], instance: &Instance, offsets: &[u64], limit: u64) {
    let ends = offsets.iter().zip(&instance.items).map(|(offset, item)| offset + item.size);
    for (weight, end) in weights.iter_mut().zip(ends) {
        *weight = match end > limit {
            true => (*weight * 5 / 4).min(MAX_WEIGHT),
            false => (*weight - *weight / 64).max(WEIGHT),
        };
    }
}

/// Returns the place of each item in an order by a measure, perturbed at random if there is a seed.
fn ranks(instance: &Instance, by: SortBy, seed: Option<u64>, weights: &[u32]) -> Vec<u32> {
    let mut random = seed.map(Random::new);
    let mut factor = || random.as_mut().map_or(1024, |random| 768 + u128::from(random.next() >> 55));
    let measures: Vec<u128> = (0..)
        .zip(weights)
        .map(|(i, &weight)| measure(instance, by, i).saturating_mul(factor()).saturating_mul(weight.into()))
        .collect();
    let mut sorted: Vec<u32> = (0..measures.len() as u32).collect();
    sorted.sort_unstable_by_key(|&i| (Reverse(measures[i as usize]), i));
    let mut ranks = vec![0; measures.len()];
    for (place, item) in sorted.into_iter().enumerate() {
        ranks[item as usize] = place as u32;
    }
    ranks
}

/// Gives the same number to items that do not differ in any respect.
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
