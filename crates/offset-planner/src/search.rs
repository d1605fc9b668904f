//! Decides by branch and bound whether the items fit into a capacity.
//!
//! A clique is a stack of items. A decision says which item comes next in one of the cliques: either an item that has
//! no open item below it in any of its cliques, or, as the last choice, whichever comes next has another open item
//! below it in another clique (the clique is deferred). Both decisions only raise lower bounds of offsets. So the first
//! leaf is a plan in which every item is as low as possible, and no plan is visited twice.
//!
//! Bound: the least offset of the lowest open item of a clique plus the sizes of all its open items.
//! A clique with a single choice is decided at once, otherwise a low one. There nearly every item is excluded, because
//!   it would leave bytes free below it that the clique can't spare.
//! Each bound records the decision that raised it. A dead end is traced to the decisions that caused it, and the search
//!   goes back to the last of these, skipping unrelated decisions. So independent parts of the problem are solved
//!   separately.
//! Items that do not differ in any respect are placed in one order only.

use std::ops::Range;

use super::cliques::Cliques;
use super::instance::{ItemLists, align_up};

/// Marks the absence of a level or an item.
const NONE: u32 = u32::MAX;

/// The problem in units of a fixed number of bytes.
pub(super) struct ScaledProblem<'a> {
    pub(super) size: Vec<u64>,
    pub(super) align: Vec<u64>,
    /// The fixed offset of each item; `u64::MAX` for none.
    pub(super) fixed: Vec<u64>,
    pub(super) conflicts: &'a ItemLists,
    pub(super) cliques: &'a Cliques,
    /// The alignment that all items have.
    pub(super) common: u64,
    /// A number for each item; equal for items that do not differ in any respect.
    pub(super) class: Vec<u32>,
    state: State,
}

/// The result of a search.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Outcome {
    Found(Vec<u64>),
    Infeasible,
    /// The nodes or the time were exhausted, or the search was cancelled.
    Stopped,
}

/// Which clique is decided next if every one has several choices.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum CliqueChoice {
    /// The lowest clique; of several, the one with the fewest choices.
    Lowest,
    /// The lowest clique; of several, the one that had the most items at the start.
    LowestFullest,
    /// A clique that can't be deferred, of several the one with the fewest choices; if there is none, the lowest.
    Bound,
}

#[derive(Default)]
struct State {
    items: Vec<OpenItem>,
    /// For each clique, the sum of the sizes of its open items, each rounded up to the common alignment.
    open: Vec<u64>,
    /// The members of all cliques, in each the open ones first; and the number of open members of each clique.
    members: Vec<u32>,
    open_members: Vec<u32>,
    trail: Vec<Change>,
    frames: Vec<SearchFrame>,
    /// The items placed at the deepest node, in that order, and the number of decisions that led there.
    deepest: Vec<u32>,
    depth: usize,
    choices: Vec<u32>,
    /// For each level, the set of earlier levels that caused its failure.
    causes: Vec<u64>,
    words: usize,
    // The results of the last evaluation of each clique and item, and which of them are out of date.
    stacks: Vec<Stack>,
    stack_changed: Vec<bool>,
    /// The number of choices of a clique, including deferring it; `None` if deferring it would change nothing.
    counts: Vec<Option<u32>>,
    /// Whether deferring the clique is one of the choices.
    defers: Vec<bool>,
    choices_changed: Vec<bool>,
    item_changed: Vec<bool>,
}

/// The state of an item while it is open. It is in one struct because a node visits many items.
#[derive(Clone, Copy, Default)]
struct OpenItem {
    least: u64,
    /// Where the item ends if its offset is `least`.
    top: u64,
    /// The limit for the end of a stack of items with rounded sizes if this item is topmost.
    cap: u64,
    /// A lower bound of the item's offset if another item is below it.
    deferred: u64,
    /// The level that raised `least`.
    cause: u32,
    /// The level that deferred the item until another one that conflicts with it is placed.
    put_off: u32,
    placed: bool,
    available: bool,
    seen_put_off: bool,
}

/// The open items of a clique at one node.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
struct Stack {
    /// The lowest least offset of the open items.
    floor: u64,
    /// The sum of the sizes, each rounded up to the common alignment.
    open: u64,
    /// The limit for the end of the stack with sizes rounded up.
    room: u64,
    /// The item that can have the lowest end, that end, and the lowest end of the others.
    first: u32,
    first_top: u64,
    second_top: u64,
}

#[derive(Clone, Copy)]
enum Change {
    Least { item: u32, least: u64, cause: u32 },
    PutOff { item: u32, level: u32 },
}

struct SearchFrame {
    clique: u32,
    /// Where its choices start in `choices`, and the next one to try.
    choices: usize,
    next: usize,
    end: usize,
    trail: usize,
    /// The item that is placed now; `NONE` if the clique is deferred.
    item: u32,
    /// Whether deferring is still to be tried, and the lower bound of the next item's offset in that case.
    defer_next: bool,
    deferred: u64,
}

/// The result of evaluating a node before any choice.
enum SearchNode {
    Leaf,
    /// A dead end. The levels that caused it are in the level's row of `causes`.
    Dead,
    Branch,
}

impl<'a> ScaledProblem<'a> {
    pub(super) fn new(
        size: Vec<u64>,
        align: Vec<u64>,
        fixed: Vec<u64>,
        conflicts: &'a ItemLists,
        cliques: &'a Cliques,
        class: Vec<u32>,
    ) -> ScaledProblem<'a> {
        let common = align.iter().copied().min().unwrap_or(1);
        ScaledProblem { size, align, fixed, conflicts, cliques, common, class, state: State::default() }
    }

    /// Returns the items that were placed at the deepest node of the last run, lowest stacks first. The others did not
    /// find a place.
    pub(super) fn deepest(&self) -> &[u32] {
        &self.state.deepest
    }

    /// Searches for a plan with a total of at most `capacity`. Of choices that are equally low, the item with the lower
    /// rank comes first. `stop` is called at each node.
    pub(super) fn run(
        &mut self,
        capacity: u64,
        rank: &[u32],
        pick: CliqueChoice,
        mut stop: impl FnMut() -> bool,
    ) -> Outcome {
        let n = self.size.len();
        let common = self.common;
        // With rounded sizes, a stack may end above the capacity by the rounding of its topmost item.
        let cap = |&size: &u64| match capacity.checked_sub(size) {
            Some(offset) => offset / common * common + align_up(size, common),
            None => 0,
        };
        self.state.items.clear();
        self.state.items.extend(self.size.iter().zip(&self.fixed).map(|(size, &fixed)| {
            let least = if fixed == u64::MAX { 0 } else { fixed };
            let top = least + size;
            OpenItem { least, top, cap: cap(size), cause: NONE, put_off: NONE, ..OpenItem::default() }
        }));
        let mut state = std::mem::take(&mut self.state);
        let mut run = SearchRun { problem: self, n, capacity, rank, pick, s: &mut state };
        run.start();
        let outcome = run.search(&mut stop);
        self.state = state;
        outcome
    }
}

struct SearchRun<'e> {
    problem: &'e ScaledProblem<'e>,
    n: usize,
    capacity: u64,
    rank: &'e [u32],
    pick: CliqueChoice,
    s: &'e mut State,
}

impl OpenItem {
    fn raise(&mut self, least: u64, cause: u32) {
        (self.top, self.least, self.cause) = (self.top - self.least + least, least, cause);
    }
}

impl State {
    /// Returns where the open items of a clique are in `members`.
    fn open_of(&self, cliques: &Cliques, clique: usize) -> Range<usize> {
        let begin = cliques.members.begin(clique);
        begin..begin + self.open_members[clique] as usize
    }

    /// Marks an item whose least offset changed, or that was placed or opened again.
    fn changed(&mut self, item: usize, cliques: &Cliques) {
        self.item_changed[item] = true;
        for &k in cliques.of_item.of(item) {
            self.stack_changed[k as usize] = true;
        }
    }
}

impl SearchRun<'_> {
    fn start(&mut self) {
        let (n, k) = (self.n, self.problem.cliques.members.len());
        let open = (0..k)
            .map(|c| {
                self.problem
                    .cliques
                    .members
                    .of(c)
                    .iter()
                    .map(|&i| align_up(self.problem.size[i as usize], self.problem.common))
                    .sum()
            })
            .collect();
        let s = &mut *self.s;
        s.open = open;
        s.members.clear();
        s.members.extend_from_slice(self.problem.cliques.members.all());
        s.open_members.clear();
        s.open_members.extend((0..k).map(|c| self.problem.cliques.members.of(c).len() as u32));
        s.trail.clear();
        s.frames.clear();
        s.deepest.clear();
        s.depth = 0;
        s.choices.clear();
        s.words = (2 * n + 2).div_ceil(64);
        s.causes.clear();
        s.stacks.resize(k, Stack::default());
        s.counts.resize(k, None);
        s.defers.resize(k, false);
        for (changed, count) in
            [(&mut s.stack_changed, k), (&mut s.choices_changed, k), (&mut s.item_changed, n)]
        {
            changed.clear();
            changed.resize(count, true);
        }
    }

    fn search(&mut self, stop: &mut impl FnMut() -> bool) -> Outcome {
        loop {
            if stop() || self.s.frames.len() > 2 * self.n {
                return Outcome::Stopped;
            }
            let level = self.s.frames.len();
            self.s.causes.resize(level * self.s.words, 0);
            self.s.causes.resize((level + 1) * self.s.words, 0);
            let dead = match self.node(level) {
                SearchNode::Leaf => {
                    return Outcome::Found(self.s.items.iter().map(|item| item.least).collect());
                }
                SearchNode::Dead => true,
                SearchNode::Branch => false,
            };
            if level > self.s.depth {
                let s = &mut *self.s;
                s.depth = level;
                s.deepest.clear();
                s.deepest
                    .extend(s.frames[..level].iter().map(|frame| frame.item).filter(|&item| item != NONE));
            }
            if !self.advance(dead) {
                return Outcome::Infeasible;
            }
        }
    }

    /// Continues from a new frame, or from a dead end, to the next choice. Returns false if there is none left.
    fn advance(&mut self, mut failed: bool) -> bool {
        loop {
            if failed && !self.back() {
                return false;
            }
            if self.choose() {
                return true;
            }
            failed = true;
        }
    }

    /// Takes the next choice of the last frame. Returns false if there is none; the frame has been removed then, and
    /// its row of `causes` says why.
    fn choose(&mut self) -> bool {
        loop {
            let level = self.s.frames.len().wrapping_sub(1);
            let Some(frame) = self.s.frames.last_mut() else { return false };
            let fits = if frame.next < frame.end {
                frame.item = self.s.choices[frame.next];
                frame.next += 1;
                let item = frame.item as usize;
                self.place(item, level as u32)
            } else if frame.defer_next {
                frame.item = NONE;
                frame.defer_next = false;
                let (clique, least) = (frame.clique as usize, frame.deferred);
                self.put_off(clique, least, level as u32)
            } else {
                self.s.choices.truncate(frame.choices);
                self.s.frames.pop();
                return false;
            };
            if fits {
                return true;
            }
            // The choice would move a fixed item.
            self.undo(level);
            self.resolve(level);
        }
    }

    /// Goes back to the last level that caused the failure of the node after the last frame.
    fn back(&mut self) -> bool {
        loop {
            let failed = self.s.frames.len();
            let Some(level) = failed.checked_sub(1) else { return false };
            self.undo(level);
            let words = self.s.words;
            let (own, child) = self.s.causes.split_at_mut(failed * words);
            let own = &mut own[level * words..];
            let child = &child[..words];
            if child[level / 64] >> (level % 64) & 1 != 0 {
                for (to, from) in own.iter_mut().zip(child) {
                    *to |= from;
                }
                own[level / 64] &= !(1 << (level % 64));
                self.resolve(level);
                return true;
            }
            // The failure does not depend on the choice of this level.
            own.copy_from_slice(child);
            if let Some(frame) = self.s.frames.pop() {
                self.s.choices.truncate(frame.choices);
            }
        }
    }

    /// Replaces, in a row of `causes`, the choice of the last frame by the levels that caused that choice.
    fn resolve(&mut self, level: usize) {
        let Some(frame) = self.s.frames.last() else { return };
        match frame.item {
            NONE => self.explain_deferred(level, frame.clique as usize, frame.deferred),
            item if self.problem.fixed[item as usize] == u64::MAX => {
                self.add_cause(level, self.s.items[item as usize].cause)
            }
            _ => {}
        }
    }

    fn add_cause(&mut self, level: usize, on: u32) {
        if on != NONE {
            self.s.causes[level * self.s.words + on as usize / 64] |= 1 << (on % 64);
        }
    }

    /// Adds the levels that imply that the next item of a deferred clique is at `least` or above: those that raised the
    /// clique's items, or the items below them in other cliques.
    fn explain_deferred(&mut self, level: usize, clique: usize, least: u64) {
        for at in self.s.open_of(self.problem.cliques, clique) {
            let c = self.s.members[at] as usize;
            if self.s.items[c].least >= least {
                self.add_cause(level, self.s.items[c].cause);
                continue;
            }
            for &y in self.problem.conflicts.of(c) {
                if !self.s.items[y as usize].placed && self.problem.size[y as usize] < least {
                    self.add_cause(level, self.s.items[y as usize].cause);
                }
            }
        }
    }

    /// Places an item at its least offset, below all open items that conflict with it. Returns false if that moves a
    /// fixed item.
    fn place(&mut self, item: usize, level: u32) -> bool {
        let s = &mut *self.s;
        s.items[item].placed = true;
        let top = s.items[item].top;
        let size = align_up(self.problem.size[item], self.problem.common);
        for &k in self.problem.cliques.of_item.of(item) {
            let open = s.open_of(self.problem.cliques, k as usize);
            let open = &mut s.members[open];
            if let (Some(at), Some(last)) =
                (open.iter().position(|&i| i == item as u32), open.len().checked_sub(1))
            {
                // `undo` takes items from the end again.
                open.swap(at, last);
                s.open_members[k as usize] -= 1;
            }
            s.open[k as usize] -= size;
            s.stack_changed[k as usize] = true;
            s.choices_changed[k as usize] = true;
        }
        let mut fits = true;
        for &y in self.problem.conflicts.of(item) {
            let (y, s) = (y as usize, &mut *self.s);
            if s.items[y].placed {
                continue;
            }
            if s.items[y].put_off != NONE {
                s.trail.push(Change::PutOff { item: y as u32, level: s.items[y].put_off });
                s.items[y].put_off = NONE;
                s.item_changed[y] = true;
            }
            fits &= self.raise(y, top, level);
        }
        fits
    }

    /// Raises an item to `least` or above. Returns false if it is fixed and would move.
    #[inline(always)]
    fn raise(&mut self, item: usize, least: u64, level: u32) -> bool {
        let s = &mut *self.s;
        let of = &mut s.items[item];
        if least <= of.least {
            return true;
        }
        s.trail.push(Change::Least { item: item as u32, least: of.least, cause: of.cause });
        of.raise(align_up(least, self.problem.align[item]), level);
        s.changed(item, self.problem.cliques);
        self.problem.fixed[item] == u64::MAX
    }

    /// Defers a clique: whichever of its open items comes next has another item below it in another clique.
    fn put_off(&mut self, clique: usize, least: u64, level: u32) -> bool {
        let mut fits = true;
        for at in self.s.open_of(self.problem.cliques, clique) {
            let s = &mut *self.s;
            let c = s.members[at] as usize;
            if s.items[c].put_off == NONE {
                s.trail.push(Change::PutOff { item: c as u32, level: NONE });
                s.items[c].put_off = level;
                s.item_changed[c] = true;
            }
            fits &= self.raise(c, least, level);
        }
        fits
    }

    /// Undoes the decision of the frame at a level.
    fn undo(&mut self, level: usize) {
        let s = &mut *self.s;
        let Some(frame) = s.frames.get(level) else { return };
        let (trail, item) = (frame.trail, frame.item);
        while s.trail.len() > trail {
            match s.trail.pop() {
                Some(Change::Least { item, least, cause }) => {
                    s.items[item as usize].raise(least, cause);
                    s.changed(item as usize, self.problem.cliques);
                }
                Some(Change::PutOff { item, level }) => {
                    s.items[item as usize].put_off = level;
                    s.item_changed[item as usize] = true;
                }
                None => {}
            }
        }
        if item != NONE {
            let item = item as usize;
            s.items[item].placed = false;
            let size = align_up(self.problem.size[item], self.problem.common);
            for &k in self.problem.cliques.of_item.of(item) {
                s.open[k as usize] += size;
                s.open_members[k as usize] += 1;
                s.choices_changed[k as usize] = true;
            }
            s.changed(item, self.problem.cliques);
        }
    }

    /// Evaluates a new node: adds a frame with its choices, or records why there are none. Results for cliques and
    /// items are kept from node to node; only what has changed is evaluated again.
    fn node(&mut self, level: usize) -> SearchNode {
        for k in 0..self.problem.cliques.members.len() {
            if self.s.stack_changed[k] && self.s.open[k] > 0 && !self.look_at_stack(k) {
                self.explain_floor(level, k);
                return SearchNode::Dead;
            }
        }
        let mut all_placed = true;
        for i in 0..self.n {
            if self.s.items[i].placed {
                continue;
            }
            all_placed = false;
            if self.s.item_changed[i] {
                if self.s.items[i].top > self.capacity {
                    self.add_cause(level, self.s.items[i].cause);
                    return SearchNode::Dead;
                }
                self.look_at_item(i);
            }
        }
        if all_placed {
            return SearchNode::Leaf;
        }
        let Some(clique) = self.select() else {
            // In any plan the lowest open item would be available.
            for i in 0..self.n {
                if !self.s.items[i].placed {
                    self.explain_unavailable(level, i);
                }
            }
            return SearchNode::Dead;
        };
        self.branch(level, clique);
        SearchNode::Branch
    }

    /// Computes where the open items of a clique begin and how far they may reach. Returns false if they do not fit.
    fn look_at_stack(&mut self, k: usize) -> bool {
        let s = &mut *self.s;
        let mut stack = Stack {
            floor: u64::MAX,
            room: 0,
            first_top: u64::MAX,
            first: NONE,
            second_top: u64::MAX,
            open: s.open[k],
        };
        let open = s.open_of(self.problem.cliques, k);
        for &c in &s.members[open.clone()] {
            let item = &s.items[c as usize];
            stack.floor = stack.floor.min(item.least);
            stack.room = stack.room.max(item.cap);
            let top = item.top;
            if top < stack.first_top {
                (stack.first_top, stack.first, stack.second_top) = (top, c, stack.first_top);
            } else {
                stack.second_top = stack.second_top.min(top);
            }
        }
        s.stack_changed[k] = false;
        // No kept result depends on the floor alone.
        s.stacks[k].floor = stack.floor;
        if s.stacks[k] != stack {
            s.stacks[k] = stack;
            s.choices_changed[k] = true;
            for &c in &s.members[open] {
                s.item_changed[c as usize] = true;
            }
        }
        stack.floor + stack.open <= stack.room
    }

    /// Computes whether an open item may come next in all its cliques, and its lower bound if another item is below it.
    fn look_at_item(&mut self, i: usize) {
        let s = &mut *self.s;
        let item = &mut s.items[i];
        let least = item.least;
        let put_off = item.put_off != NONE;
        let (mut fits, mut under) = (!put_off, u64::MAX);
        for &k in self.problem.cliques.of_item.of(i) {
            let stack = &s.stacks[k as usize];
            fits &= least + stack.open <= stack.room;
            under = under.min(if stack.first == i as u32 { stack.second_top } else { stack.first_top });
        }
        s.item_changed[i] = false;
        let deferred = least.max(under);
        if (item.available, item.deferred, item.seen_put_off) != (fits, deferred, put_off) {
            (item.available, item.deferred, item.seen_put_off) = (fits, deferred, put_off);
            for &k in self.problem.cliques.of_item.of(i) {
                s.choices_changed[k as usize] = true;
            }
        }
    }

    /// Returns a clique with at most one choice, otherwise the one that `CliqueChoice` prefers.
    fn select(&mut self) -> Option<usize> {
        let mut best: Option<((u32, u64, u32), usize)> = None;
        for k in 0..self.problem.cliques.members.len() {
            if self.s.open[k] == 0 {
                continue;
            }
            if self.s.choices_changed[k] {
                self.look_at_choices(k);
            }
            let Some(choices) = self.s.counts[k] else { continue };
            let key = match choices {
                0 | 1 => (choices, 0, 0),
                _ => self.key(k, choices),
            };
            if best.as_ref().is_none_or(|(least, _)| key < *least) {
                best = Some((key, k));
                if key.0 == 0 {
                    break;
                }
            }
        }
        best.map(|(_, k)| k)
    }

    /// Returns the key by which a clique with several choices is preferred, the smallest first.
    fn key(&self, k: usize, choices: u32) -> (u32, u64, u32) {
        let floor = self.s.stacks[k].floor;
        match self.pick {
            CliqueChoice::Lowest => (2, floor, choices),
            CliqueChoice::LowestFullest => {
                (2, floor, u32::MAX - self.problem.cliques.members.of(k).len() as u32)
            }
            // Offsets are far below 2^62.
            CliqueChoice::Bound if self.s.defers[k] => (3, floor, choices),
            CliqueChoice::Bound => (2, choices.into(), 0),
        }
    }

    /// Counts the choices of a clique. None are counted if the only choice is to defer it again.
    fn look_at_choices(&mut self, k: usize) {
        let s = &mut *self.s;
        let (mut choices, mut put_off, mut least) = (0u32, false, u64::MAX);
        let open = s.open_of(self.problem.cliques, k);
        for &c in &s.members[open] {
            let item = &s.items[c as usize];
            choices += u32::from(item.available);
            put_off |= item.put_off != NONE;
            least = least.min(item.deferred);
        }
        let defer = least.saturating_add(s.open[k]) <= s.stacks[k].room;
        s.choices_changed[k] = false;
        s.defers[k] = defer;
        s.counts[k] = (choices > 0 || !put_off || !defer).then_some(choices + u32::from(defer));
    }

    fn branch(&mut self, level: usize, clique: usize) {
        let start = self.s.choices.len();
        let mut least = u64::MAX;
        for at in self.s.open_of(self.problem.cliques, clique) {
            let c = self.s.members[at];
            let i = c as usize;
            least = least.min(self.s.items[i].deferred);
            if self.s.items[i].available {
                self.s.choices.push(c);
            } else {
                self.explain_unavailable(level, i);
            }
        }
        let s = &mut *self.s;
        let (class, rank) = (&self.problem.class, self.rank);
        // Of items that do not differ, keep the first one.
        s.choices[start..].sort_unstable_by_key(|&c| (s.items[c as usize].least, class[c as usize], c));
        let mut kept = start;
        for at in start..s.choices.len() {
            let c = s.choices[at];
            if kept == start || class[s.choices[kept - 1] as usize] != class[c as usize] {
                s.choices[kept] = c;
                kept += 1;
            }
        }
        s.choices.truncate(kept);
        s.choices[start..].sort_unstable_by_key(|&c| (s.items[c as usize].least, rank[c as usize]));
        let Stack { open, room, .. } = s.stacks[clique];
        let defer_next = least.saturating_add(open) <= room;
        let frame = SearchFrame {
            clique: clique as u32,
            choices: start,
            next: start,
            end: s.choices.len(),
            trail: s.trail.len(),
            item: NONE,
            defer_next,
            deferred: least,
        };
        s.frames.push(frame);
        if !defer_next {
            self.explain_deferred(level, clique, room - open + 1);
        }
    }

    fn explain_floor(&mut self, level: usize, clique: usize) {
        for at in self.s.open_of(self.problem.cliques, clique) {
            let item = self.s.members[at] as usize;
            self.add_cause(level, self.s.items[item].cause);
        }
    }

    fn explain_unavailable(&mut self, level: usize, item: usize) {
        let on = match self.s.items[item].put_off {
            NONE => self.s.items[item].cause,
            put_off => put_off,
        };
        self.add_cause(level, on);
    }
}
