//! Planning problems: buffers, their lifetimes, and the pairs that may share bytes.

use std::collections::BTreeSet;
use std::ops::{Range, RangeInclusive};

use super::order::HappensBefore;
use super::verify::{PlacedAt, overlap};
use super::{BufferProperty, OffsetsError};

/// The limit in bytes for offsets, sizes and totals, so that sums of two never overflow.
pub(super) const LARGEST: u64 = 1 << 62;

/// Names a buffer of a [`Problem`]. Numbers are given in the order in which buffers are added, from 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct BufferId(pub(super) u32);

impl BufferId {
    /// Returns the buffer's index into [`Plan::offsets`](super::Plan::offsets) and [`Problem::buffers`].
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// Names a node of the graph of a [`Problem`]. Numbers are given in the order in which nodes are added, from 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct NodeId(pub(super) u32);

impl NodeId {
    /// Returns the number of the node, from 0.
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// The time in which the contents of a buffer are needed.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Lifetime {
    /// From `first` to `last`, both included. Two buffers that have a position in common may not share bytes.
    Closed {
        /// The first position.
        first: u64,
        /// The last position.
        last: u64,
    },
    /// From `start` up to, but not including, `end`. A buffer may reuse the bytes of one that ends where it starts.
    HalfOpen {
        /// The first position.
        start: u64,
        /// The first position at which the buffer is no longer live.
        end: u64,
    },
    /// From a node of a graph to others. Two buffers may share bytes exactly if every use of one happens before the
    /// definition of the other.
    Nodes {
        /// The node that first writes the buffer.
        definition: NodeId,
        /// The last nodes that use the buffer. If empty, its definition is its only use.
        uses: Vec<NodeId>,
    },
    /// The buffers that it may not share bytes with are given one by one
    /// ([`ProblemBuilder::conflict`]).
    Conflicts,
}

impl Lifetime {
    /// Returns a number for each of the three kinds: intervals, nodes and conflicts.
    fn kind(&self) -> u8 {
        match self {
            Lifetime::Closed { .. } | Lifetime::HalfOpen { .. } => 0,
            Lifetime::Nodes { .. } => 1,
            Lifetime::Conflicts => 2,
        }
    }
}

/// A buffer to place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Buffer {
    /// The name in errors and pictures.
    pub name: Box<str>,
    /// The size in bytes; not 0.
    pub size: u64,
    /// The alignment of the offset in bytes, a power of two.
    pub alignment: u64,
    /// The time in which the buffer is live.
    pub lifetime: Lifetime,
    /// The offset in bytes that the buffer must have, if it is fixed.
    pub fixed: Option<u64>,
}

impl Buffer {
    /// Creates a buffer of `size` bytes that is live at every position of `lifetime`, including the last.
    pub fn closed(name: impl Into<Box<str>>, size: u64, lifetime: RangeInclusive<u64>) -> Buffer {
        let (first, last) = lifetime.into_inner();
        Buffer::new(name.into(), size, Lifetime::Closed { first, last })
    }

    /// Creates a buffer of `size` bytes that is live from the start of `lifetime` up to, but not including, its end.
    pub fn half_open(name: impl Into<Box<str>>, size: u64, lifetime: Range<u64>) -> Buffer {
        Buffer::new(name.into(), size, Lifetime::HalfOpen { start: lifetime.start, end: lifetime.end })
    }

    /// Creates a buffer of `size` bytes that is live from a node of the problem's graph to the last nodes that use it.
    pub fn nodes(
        name: impl Into<Box<str>>,
        size: u64,
        definition: NodeId,
        uses: impl Into<Vec<NodeId>>,
    ) -> Buffer {
        Buffer::new(name.into(), size, Lifetime::Nodes { definition, uses: uses.into() })
    }

    /// Creates a buffer of `size` bytes whose conflicts are given one by one.
    pub fn conflicting(name: impl Into<Box<str>>, size: u64) -> Buffer {
        Buffer::new(name.into(), size, Lifetime::Conflicts)
    }

    fn new(name: Box<str>, size: u64, lifetime: Lifetime) -> Buffer {
        Buffer { name, size, alignment: 1, lifetime, fixed: None }
    }

    /// Sets the alignment in bytes, a power of two. The default is 1.
    pub fn aligned(self, alignment: u64) -> Buffer {
        Buffer { alignment, ..self }
    }

    /// Fixes the offset in bytes.
    pub fn fixed_at(self, offset: u64) -> Buffer {
        Buffer { fixed: Some(offset), ..self }
    }
}

/// Builds a [`Problem`]. Errors of a single buffer are returned when it is added, all others by
/// [`build`](ProblemBuilder::build).
#[derive(Clone, Debug, Default)]
pub struct ProblemBuilder {
    buffers: Vec<Buffer>,
    nodes: Vec<Box<str>>,
    edges: Vec<(NodeId, NodeId)>,
    in_place: Vec<(BufferId, BufferId)>,
    conflicts: BTreeSet<(BufferId, BufferId)>,
    capacity: Option<u64>,
    /// The bytes of all buffers end to end with the most padding, after all fixed buffers.
    sum: u64,
    fixed_end: u64,
}

impl ProblemBuilder {
    /// Creates a problem without buffers.
    pub fn new() -> ProblemBuilder {
        ProblemBuilder::default()
    }

    /// Adds a buffer. All buffers of a problem have intervals, or all have nodes, or the conflicts of all are given.
    ///
    /// # Errors
    /// Returns an error for a lifetime that ends before it begins, a size of 0, an alignment that is not a power of
    /// two, a fixed offset that is not aligned, sizes that add up to more than 2^62 bytes, a lifetime of another kind
    /// than those of earlier buffers, and a node that is not of this problem.
    pub fn add(&mut self, buffer: Buffer) -> Result<BufferId, OffsetsError> {
        let invalid = |property: BufferProperty, problem: String| {
            Err(OffsetsError::Buffer { buffer: buffer.name.clone(), property, problem: problem.into() })
        };
        let lifetime = |problem: String| invalid(BufferProperty::Lifetime, problem);
        match &buffer.lifetime {
            &Lifetime::Closed { first, last } if last < first => {
                return lifetime(format!("its lifetime ends before it begins ({first} to {last})"));
            }
            &Lifetime::HalfOpen { start, end } if end <= start => {
                return lifetime(format!("its lifetime ends before it begins ({start} to {end}, half-open)"));
            }
            Lifetime::Nodes { definition, uses } => {
                if let Some(unknown) = self.unknown_node(uses.iter().chain([definition])) {
                    return lifetime(unknown);
                }
            }
            _ => {}
        }
        let kind = buffer.lifetime.kind();
        if self.buffers.first().is_some_and(|first| first.lifetime.kind() != kind) {
            let is = ["an interval", "given by nodes", "given by conflicts"][usize::from(kind)];
            return lifetime(format!("its lifetime is {is}, unlike that of the buffers before it"));
        }
        let size = buffer.size;
        if size == 0 {
            let problem = "its size is 0 bytes; do not add an empty buffer";
            return invalid(BufferProperty::Size, problem.to_owned());
        }
        let alignment = buffer.alignment;
        if !alignment.is_power_of_two() {
            let problem = format!("alignment {alignment} is not a power of two");
            return invalid(BufferProperty::Alignment, problem);
        }
        if let Some(offset) = buffer.fixed.filter(|offset| !offset.is_multiple_of(alignment)) {
            let problem = format!("its fixed offset {offset} is not a multiple of its alignment {alignment}");
            return invalid(BufferProperty::Fixed, problem);
        }
        let sum = size.checked_add(alignment - 1).and_then(|s| s.checked_add(self.sum));
        let fixed_end = match buffer.fixed {
            Some(offset) => offset.checked_add(size).map(|end| end.max(self.fixed_end)),
            None => Some(self.fixed_end),
        };
        let index = u32::try_from(self.buffers.len()).ok();
        match (sum, fixed_end, index) {
            (Some(sum), Some(fixed_end), Some(index))
                if sum.checked_add(fixed_end).is_some_and(|end| end <= LARGEST) =>
            {
                (self.sum, self.fixed_end) = (sum, fixed_end);
                self.buffers.push(buffer);
                Ok(BufferId(index))
            }
            _ => {
                let problem = format!("with {size} bytes for it, the sizes add up to more than 2^62 bytes");
                invalid(BufferProperty::Size, problem)
            }
        }
    }

    /// Says which of these nodes is not of this problem, if one is not.
    fn unknown_node<'a>(&self, mut nodes: impl Iterator<Item = &'a NodeId>) -> Option<String> {
        let (index, count) = (nodes.find(|node| node.index() >= self.nodes.len())?.index(), self.nodes.len());
        Some(format!("no node of this problem has the number {index}; it has {count}"))
    }

    /// Adds a node to the graph that orders the problem. `name` is used in errors.
    pub fn node(&mut self, name: impl Into<Box<str>>) -> NodeId {
        // 2^32 names do not fit into memory together with what refers to them.
        let id = NodeId(self.nodes.len() as u32);
        self.nodes.push(name.into());
        id
    }

    /// Records that `before` happens before `after`.
    ///
    /// # Errors
    /// Returns an error if a node is not of this problem.
    pub fn edge(&mut self, before: NodeId, after: NodeId) -> Result<(), OffsetsError> {
        if let Some(unknown) = self.unknown_node([before, after].iter()) {
            return Err(OffsetsError::invalid(unknown));
        }
        self.edges.push((before, after));
        Ok(())
    }

    /// Lets `later` begin at the first byte of `earlier` although both are live at the step that reads one and writes
    /// the other. The two then either have the same offset, or share no byte. Their lifetimes have at most one position
    /// in common, or the node that defines `later` is a last use of `earlier`.
    ///
    /// # Errors
    /// Returns an error if a buffer is not of this problem.
    pub fn in_place(&mut self, earlier: BufferId, later: BufferId) -> Result<(), OffsetsError> {
        self.check_ids([earlier, later])?;
        self.in_place.push((earlier, later));
        Ok(())
    }

    /// Records that two buffers may not share bytes. It counts for buffers of [`Lifetime::Conflicts`] alone.
    ///
    /// # Errors
    /// Returns an error if a buffer is not of this problem.
    pub fn conflict(&mut self, a: BufferId, b: BufferId) -> Result<(), OffsetsError> {
        self.check_ids([a, b])?;
        self.conflicts.insert((a.min(b), a.max(b)));
        Ok(())
    }

    fn check_ids(&self, ids: [BufferId; 2]) -> Result<(), OffsetsError> {
        let count = self.buffers.len();
        match ids.into_iter().map(BufferId::index).find(|&index| index >= count) {
            Some(index) => Err(OffsetsError::invalid(format!(
                "no buffer of this problem has the number {index}; it has {count}"
            ))),
            None => Ok(()),
        }
    }

    /// Limits the total to `bytes`. If a plan needs more, planning returns an error with the least total that was
    /// found.
    pub fn capacity(&mut self, bytes: u64) {
        self.capacity = Some(bytes);
    }

    /// Checks the problem as a whole and returns it.
    ///
    /// # Errors
    /// Returns an error for a name that two buffers have, a cycle of nodes, a use that does not come after the
    /// definition, fixed buffers that overlap while both are live, and a pair that is live at the same time for longer
    /// than one step.
    pub fn build(self) -> Result<Problem, OffsetsError> {
        let mut names: Vec<&str> = self.buffers.iter().map(|buffer| &*buffer.name).collect();
        names.sort_unstable();
        if let Some(twice) = names.windows(2).find(|pair| pair[0] == pair[1]) {
            return Err(OffsetsError::invalid(format!("buffer `{}` already exists", twice[0])));
        }
        drop(names);
        let mut order = match self.nodes.is_empty() {
            true => None,
            false => Some(HappensBefore::new(&self.nodes, &self.edges)?),
        };
        if self.buffers.first().is_some_and(|first| first.lifetime.kind() != 1) {
            // No lifetime refers to the graph.
            order = None;
        }
        let ProblemBuilder { buffers, nodes, edges, in_place, conflicts, capacity, .. } = self;
        let problem = Problem { buffers, nodes, edges, order, in_place, conflicts, capacity };
        problem.check_uses()?;
        problem.check_pairs()?;
        problem.check_fixed()?;
        Ok(problem)
    }
}

/// Buffers with their lifetimes: the input of [`plan`](super::plan).
#[derive(Clone, Debug)]
pub struct Problem {
    buffers: Vec<Buffer>,
    nodes: Vec<Box<str>>,
    edges: Vec<(NodeId, NodeId)>,
    order: Option<HappensBefore>,
    in_place: Vec<(BufferId, BufferId)>,
    conflicts: BTreeSet<(BufferId, BufferId)>,
    capacity: Option<u64>,
}

impl Problem {
    /// Returns a builder for a problem.
    pub fn builder() -> ProblemBuilder {
        ProblemBuilder::new()
    }

    /// Returns the buffers in the order in which they were added.
    pub fn buffers(&self) -> &[Buffer] {
        &self.buffers
    }

    /// Returns the number of nodes in the graph.
    pub fn nodes(&self) -> usize {
        self.nodes.len()
    }

    /// Returns the edges of the graph in the order in which they were added.
    pub fn edges(&self) -> &[(NodeId, NodeId)] {
        &self.edges
    }

    /// Returns the pairs that may share bytes, the earlier buffer first.
    pub fn in_place_pairs(&self) -> &[(BufferId, BufferId)] {
        &self.in_place
    }

    /// Returns the pairs of buffers of [`Lifetime::Conflicts`] that may not share bytes.
    pub fn conflicts(&self) -> impl ExactSizeIterator<Item = (BufferId, BufferId)> + '_ {
        self.conflicts.iter().copied()
    }

    /// Returns whether the lifetimes are intervals.
    pub fn has_intervals(&self) -> bool {
        self.buffers.first().is_none_or(|first| first.lifetime.kind() == 0)
    }

    /// Returns the limit of the total in bytes, if there is one.
    pub fn capacity(&self) -> Option<u64> {
        self.capacity
    }

    pub(super) fn order(&self) -> Option<&HappensBefore> {
        self.order.as_ref()
    }

    /// Returns the first and last position of a buffer whose lifetime is an interval.
    pub(super) fn interval(&self, buffer: usize) -> Option<(u64, u64)> {
        match self.buffers.get(buffer)?.lifetime {
            Lifetime::Closed { first, last } => Some((first, last)),
            // A half-open lifetime is not empty, so `end` is not 0.
            Lifetime::HalfOpen { start, end } => Some((start, end - 1)),
            Lifetime::Nodes { .. } | Lifetime::Conflicts => None,
        }
    }

    /// Returns the first and last position of any buffer. In a graph, these are the places of its nodes in one
    /// topological order; where conflicts are given, all are 0.
    pub fn span(&self, buffer: usize) -> (u64, u64) {
        let place = |node: &NodeId| self.order.as_ref().map_or(0, |order| order.place(*node));
        match self.buffers.get(buffer).map(|buffer| &buffer.lifetime) {
            Some(Lifetime::Nodes { definition, uses }) => {
                let first = place(definition);
                (first, uses.iter().map(place).fold(first, u64::max))
            }
            _ => self.interval(buffer).unwrap_or((0, 0)),
        }
    }

    /// Returns whether every use of `a` happens before the definition of `b`.
    pub(super) fn ends_before(&self, a: usize, b: usize) -> bool {
        if let (Some((_, last)), Some((first, _))) = (self.interval(a), self.interval(b)) {
            return last < first;
        }
        self.ends_at(a, b, |order, use_, definition| order.before(use_, definition))
    }

    /// Returns whether `b` may begin at the first byte of `a`: the last use of `a` may be the step that writes `b`.
    pub(super) fn ends_at_start_of(&self, a: usize, b: usize) -> bool {
        if let (Some((_, last)), Some((first, _))) = (self.interval(a), self.interval(b)) {
            return last <= first;
        }
        self.ends_at(a, b, |order, use_, definition| use_ == definition || order.before(use_, definition))
    }

    fn ends_at(&self, a: usize, b: usize, over: impl Fn(&HappensBefore, NodeId, NodeId) -> bool) -> bool {
        let lifetime = |i: usize| self.buffers.get(i).map(|buffer| &buffer.lifetime);
        match (&self.order, lifetime(a), lifetime(b)) {
            (
                Some(order),
                Some(Lifetime::Nodes { definition: own, uses }),
                Some(Lifetime::Nodes { definition, .. }),
            ) => uses.iter().chain([own]).all(|&use_| over(order, use_, *definition)),
            (_, Some(Lifetime::Conflicts), _) => {
                let (a, b) = (BufferId(a as u32), BufferId(b as u32));
                !self.conflicts.contains(&(a.min(b), a.max(b)))
            }
            _ => false,
        }
    }

    fn name(&self, buffer: usize) -> &str {
        self.buffers.get(buffer).map_or("", |buffer| &buffer.name)
    }

    fn check_uses(&self) -> Result<(), OffsetsError> {
        let Some(order) = &self.order else { return Ok(()) };
        for buffer in &self.buffers {
            let Lifetime::Nodes { definition, uses } = &buffer.lifetime else { continue };
            if let Some(node) =
                uses.iter().find(|&&use_| use_ != *definition && !order.before(*definition, use_))
            {
                return Err(OffsetsError::invalid(format!(
                    "buffer `{}`: node `{}` uses it, but does not come after its definition",
                    buffer.name,
                    self.nodes[node.index()]
                )));
            }
        }
        Ok(())
    }

    fn check_pairs(&self) -> Result<(), OffsetsError> {
        for &(earlier, later) in &self.in_place {
            if earlier == later || !self.ends_at_start_of(earlier.index(), later.index()) {
                return Err(OffsetsError::invalid(format!(
                    "buffer `{}` can't reuse the bytes of `{}`: they are live at the same time for longer than the one step that reads the one and writes the other",
                    self.name(later.index()),
                    self.name(earlier.index())
                )));
            }
        }
        Ok(())
    }

    fn check_fixed(&self) -> Result<(), OffsetsError> {
        let fixed = |(index, buffer): (usize, &Buffer)| {
            let offset = buffer.fixed?;
            Some(PlacedAt { index, offset, top: offset + buffer.size })
        };
        let fixed: Vec<PlacedAt> = self.buffers.iter().enumerate().filter_map(fixed).collect();
        match overlap(self, &fixed) {
            None => Ok(()),
            Some((a, b)) => Err(OffsetsError::invalid(format!(
                "buffers `{}` and `{}` are live at the same time, and overlap at their fixed offsets",
                self.name(a),
                self.name(b)
            ))),
        }
    }
}
