//! What planning takes and returns: options and plans.

use std::fmt;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use super::BufferId;
use super::instance::Instance;

/// A limit for the exact search.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Budget {
    /// No search: the best greedy plan is returned.
    Greedy,
    /// A number of search nodes. The same problem gives the same plan on every machine.
    Nodes(u64),
    /// A duration from the call of [`plan`](super::plan()) on.
    Time(Duration),
}

/// The goal at which the planner stops.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Goal {
    /// Stop when the total is proved to be the least, or the budget is spent.
    #[default]
    Least,
    /// Stop when the total is at most the problem's capacity. Without a capacity, stop after the greedy plans.
    Fits,
}

/// Options of [`plan`](super::plan()).
#[derive(Clone, Copy, Debug)]
pub struct PlanOptions<'a> {
    /// The limit for the exact search.
    pub budget: Budget,
    /// The goal at which the planner stops.
    pub goal: Goal,
    /// Cancels the search soon after it becomes true. The best plan so far is returned.
    pub cancel: Option<&'a AtomicBool>,
    /// A valid plan to start from: the offset in bytes of each buffer, in the order in which they were added. The
    /// result is never worse.
    pub start: Option<&'a [u64]>,
}

impl Default for PlanOptions<'_> {
    /// A budget of 20,000 nodes, which takes at most a fraction of a second.
    fn default() -> Self {
        PlanOptions { budget: Budget::Nodes(20_000), goal: Goal::Least, cancel: None, start: None }
    }
}

/// The measure by which items are sorted: in decreasing order, except for [`Start`](SortBy::Start).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum SortBy {
    /// The first position.
    Start,
    /// The size in bytes.
    Size,
    /// The number of positions in the lifetime.
    Lifetime,
    /// The size in bytes times the number of positions.
    Area,
    /// The number of items that the item may not overlap.
    Conflicts,
}

/// The gap that an item is placed in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fit {
    /// The lowest gap that is large enough.
    First,
    /// The smallest gap that is large enough.
    Best,
}

/// The algorithm that found a plan.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Method {
    /// There were no buffers to place.
    Empty,
    /// The plan to start from, which was not improved.
    Start,
    /// Items in an order, each in a gap between those before it.
    Greedy(SortBy, Fit),
    /// Items by first position, each in the smallest free gap at that time.
    OnlineBestFit,
    /// Items by first position on a stack.
    Stack,
    /// Items in an order, each on top of those before it.
    Skyline(SortBy),
    /// First fit over an order that was improved by local search.
    LocalSearch,
    /// Items on top of each other, in an order that was improved by simulated annealing.
    Annealed,
    /// Branch and bound.
    Search,
}

impl fmt::Display for Method {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let by = |by: &SortBy| match by {
            SortBy::Start => "start",
            SortBy::Size => "size",
            SortBy::Lifetime => "lifetime",
            SortBy::Area => "area",
            SortBy::Conflicts => "conflicts",
        };
        match self {
            Method::Empty => f.write_str("nothing to place"),
            Method::Start => f.write_str("given to start from"),
            Method::Greedy(sort, Fit::First) => write!(f, "first fit by {}", by(sort)),
            Method::Greedy(sort, Fit::Best) => write!(f, "best fit by {}", by(sort)),
            Method::OnlineBestFit => f.write_str("online best fit"),
            Method::Stack => f.write_str("stack"),
            Method::Skyline(sort) => write!(f, "skyline by {}", by(sort)),
            Method::LocalSearch => f.write_str("first fit with local search"),
            Method::Annealed => f.write_str("annealed stacks"),
            Method::Search => f.write_str("exact search"),
        }
    }
}

/// A plan: offsets for the buffers of a problem.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Plan {
    pub(super) offsets: Vec<u64>,
    pub(super) total: u64,
    pub(super) lower_bound: u64,
    pub(super) method: Method,
    pub(super) nodes: u64,
}

impl Plan {
    /// Returns the offset in bytes of each buffer, in the order in which they were added.
    pub fn offsets(&self) -> &[u64] {
        &self.offsets
    }

    /// Returns the offset of a buffer in bytes, or `None` if the plan has no buffer with this number.
    pub fn offset(&self, buffer: BufferId) -> Option<u64> {
        self.offsets.get(buffer.index()).copied()
    }

    /// Returns the end of the last buffer in bytes.
    pub fn total(&self) -> u64 {
        self.total
    }

    /// Returns a lower bound in bytes: no plan has a smaller total.
    pub fn lower_bound(&self) -> u64 {
        self.lower_bound
    }

    /// Returns whether it is proved that no plan has a smaller total.
    pub fn is_optimal(&self) -> bool {
        self.total == self.lower_bound
    }

    /// Returns the algorithm that found the plan.
    pub fn method(&self) -> Method {
        self.method
    }

    /// Returns the number of nodes that the exact search visited, including the nodes as which annealing and local
    /// search are counted.
    pub fn nodes(&self) -> u64 {
        self.nodes
    }
}

/// The best plan so far, with the bound that it is compared to.
pub(super) struct BestPlan {
    pub(super) offsets: Vec<u64>,
    pub(super) total: u64,
    pub(super) method: Method,
    pub(super) lower_bound: u64,
    /// The total in bytes at which planning stops.
    pub(super) enough: u64,
}

impl BestPlan {
    pub(super) fn offer(&mut self, instance: &Instance, of_items: &[u64], method: Method) {
        let total = instance.total(of_items);
        if total < self.total {
            (self.offsets, self.total, self.method) = (instance.offsets(of_items), total, method);
        }
    }

    pub(super) fn is_enough(&self) -> bool {
        self.total <= self.enough.max(self.lower_bound)
    }
}
