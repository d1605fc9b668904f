//! Stating a planning problem: buffers, when they are live, and what may share.

use std::collections::BTreeMap;
use std::ops::{Range, RangeInclusive};

use super::OffsetsError;
use super::order::HappensBefore;

/// No offset, size or total passes this, so that sums of two never overflow.
pub(super) const LARGEST: u64 = 1 << 62;

/// A buffer of a [`Problem`], in the order in which they were added, from 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct BufferId(pub(super) u32);

impl BufferId {
    /// Its index into [`Plan::offsets`](super::Plan::offsets) and [`Problem::buffers`].
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// A node of the graph that orders a [`Problem`], in the order in which they were added, from 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct NodeId(pub(super) u32);

impl NodeId {
    /// Its number, from 0.
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// When a buffer holds something.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Lifetime {
    /// From `first` to `last`, both included: two that have one position in common may not share bytes.
    Closed {
        /// First position.
        first: u64,
        /// Last position.
        last: u64,
    },
    /// From `start` to before `end`: one may end where the next starts, and share its bytes.
    HalfOpen {
        /// First position.
        start: u64,
        /// The first position at which the buffer is no longer live.
        end: u64,
    },
    /// From a node of a graph to others: two buffers may share bytes exactly when every use of one happens before the
    /// definition of the other.
    Nodes {
        /// The node that writes it first.
        definition: NodeId,
        /// The last nodes to use it; with none, its definition is its only use.
        uses: Vec<NodeId>,
    },
}

/// A buffer to place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Buffer {
    /// What errors and pictures call it.
    pub name: Box<str>,
    /// Bytes; not 0.
    pub size: u64,
    /// Its offset is a multiple of this many bytes, a power of two.
    pub alignment: u64,
    /// When it is live.
    pub lifetime: Lifetime,
    /// The offset in bytes that it has to have.
    pub fixed: Option<u64>,
}

impl Buffer {
    /// A buffer of `size` bytes that is live at every position of `lifetime`, its last one included.
    pub fn closed(name: impl Into<Box<str>>, size: u64, lifetime: RangeInclusive<u64>) -> Buffer {
        let (first, last) = lifetime.into_inner();
        Buffer::new(name.into(), size, Lifetime::Closed { first, last })
    }

    /// A buffer of `size` bytes that is live from the start of `lifetime` to before its end.
    pub fn half_open(name: impl Into<Box<str>>, size: u64, lifetime: Range<u64>) -> Buffer {
        Buffer::new(name.into(), size, Lifetime::HalfOpen { start: lifetime.start, end: lifetime.end })
    }

    /// A buffer of `size` bytes that is live from a node of the problem's graph to the last nodes that use it.
    pub fn nodes(
        name: impl Into<Box<str>>,
        size: u64,
        definition: NodeId,
        uses: impl Into<Vec<NodeId>>,
    ) -> Buffer {
        Buffer::new(name.into(), size, Lifetime::Nodes { definition, uses: uses.into() })
    }

    fn new(name: Box<str>, size: u64, lifetime: Lifetime) -> Buffer {
        Buffer { name, size, alignment: 1, lifetime, fixed: None }
    }

    /// The same with an alignment in bytes, a power of two. Without it the alignment is 1.
    pub fn aligned(self, alignment: u64) -> Buffer {
        Buffer { alignment, ..self }
    }

    /// The same at a given offset in bytes.
    pub fn fixed_at(self, offset: u64) -> Buffer {
        Buffer { fixed: Some(offset), ..self }
    }
}

/// Builds a [`Problem`]. What is wrong with a buffer is said when it is added, the rest by
/// [`build`](ProblemBuilder::build).
#[derive(Clone, Debug, Default)]
pub struct ProblemBuilder {
    buffers: Vec<Buffer>,
    nodes: Vec<Box<str>>,
    edges: Vec<(NodeId, NodeId)>,
    in_place: Vec<(BufferId, BufferId)>,
    capacity: Option<u64>,
    /// End to end, with every alignment at its worst, and behind every fixed buffer.
    sum: u64,
    fixed_end: u64,
}

impl ProblemBuilder {
    /// A problem without buffers.
    pub fn new() -> ProblemBuilder {
        ProblemBuilder::default()
    }

    /// Adds a buffer. All buffers of a problem have intervals, or all have nodes.
    ///
    /// # Errors
    /// A lifetime that ends before it begins, a size of 0, an alignment that is no power of two, a fixed offset that is
    /// not aligned, sizes that add up to more than 2^62 bytes, a lifetime of another kind than those before it, or a
    /// node that is not of this problem.
    pub fn add(&mut self, buffer: Buffer) -> Result<BufferId, OffsetsError> {
        let name = || buffer.name.clone();
        match &buffer.lifetime {
            &Lifetime::Closed { first, last } if last < first => {
                return Err(OffsetsError::LifetimeEndsBeforeItBegins {
                    buffer: name(),
                    begin: first,
                    end: last,
                    half_open: false,
                });
            }
            &Lifetime::HalfOpen { start, end } if end <= start => {
                return Err(OffsetsError::LifetimeEndsBeforeItBegins {
                    buffer: name(),
                    begin: start,
                    end,
                    half_open: true,
                });
            }
            Lifetime::Nodes { definition, uses } => {
                let mut named = uses.iter().chain([definition]);
                if let Some(node) = named.find(|node| node.index() >= self.nodes.len()) {
                    return Err(OffsetsError::UnknownNode {
                        buffer: Some(name()),
                        index: node.index(),
                        nodes: self.nodes.len(),
                    });
                }
            }
            _ => {}
        }
        let interval = |buffer: &Buffer| !matches!(buffer.lifetime, Lifetime::Nodes { .. });
        if self.buffers.first().is_some_and(|first| interval(first) != interval(&buffer)) {
            return Err(OffsetsError::MixedLifetimes { buffer: name(), interval: interval(&buffer) });
        }
        if buffer.size == 0 {
            return Err(OffsetsError::ZeroSize { buffer: name() });
        }
        if !buffer.alignment.is_power_of_two() {
            return Err(OffsetsError::Alignment { buffer: name(), alignment: buffer.alignment });
        }
        if let Some(offset) = buffer.fixed.filter(|offset| !offset.is_multiple_of(buffer.alignment)) {
            return Err(OffsetsError::FixedMisaligned {
                buffer: name(),
                offset,
                alignment: buffer.alignment,
            });
        }
        let overflow = OffsetsError::Overflow { buffer: name(), size: buffer.size };
        let sum = buffer.size.checked_add(buffer.alignment - 1).and_then(|s| s.checked_add(self.sum));
        let fixed_end = match buffer.fixed {
            Some(offset) => offset.checked_add(buffer.size).map(|end| end.max(self.fixed_end)),
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
            _ => Err(overflow),
        }
    }

    /// Adds a node to the graph that says what happens before what. `name` is for errors.
    pub fn node(&mut self, name: impl Into<Box<str>>) -> NodeId {
        // 2^32 names do not fit into memory together with what refers to them.
        let id = NodeId(self.nodes.len() as u32);
        self.nodes.push(name.into());
        id
    }

    /// Says that `before` happens before `after`.
    ///
    /// # Errors
    /// A node that is not of this problem.
    pub fn edge(&mut self, before: NodeId, after: NodeId) -> Result<(), OffsetsError> {
        if let Some(node) = [before, after].into_iter().find(|node| node.index() >= self.nodes.len()) {
            return Err(OffsetsError::UnknownNode {
                buffer: None,
                index: node.index(),
                nodes: self.nodes.len(),
            });
        }
        self.edges.push((before, after));
        Ok(())
    }

    /// Says that `later` may begin at the first byte of `earlier` although both are live at the one step that reads the
    /// one and writes the other. They then have the same offset, or have no byte in common. Their lifetimes may have
    /// one position in common, or the node that defines `later` is a last use of `earlier`.
    ///
    /// # Errors
    /// A buffer that is not of this problem.
    pub fn in_place(&mut self, earlier: BufferId, later: BufferId) -> Result<(), OffsetsError> {
        if let Some(id) = [earlier, later].into_iter().find(|id| id.index() >= self.buffers.len()) {
            return Err(OffsetsError::UnknownBuffer { index: id.index(), buffers: self.buffers.len() });
        }
        self.in_place.push((earlier, later));
        Ok(())
    }

    /// Limits the total to `bytes`: a plan that needs more is an error that says how much would do.
    pub fn capacity(&mut self, bytes: u64) {
        self.capacity = Some(bytes);
    }

    /// Checks what concerns several buffers, and gives the problem.
    ///
    /// # Errors
    /// A name that is there twice, a cycle of nodes, a use that does not come after the definition, fixed buffers that
    /// overlap while both are live, or a pair that is live together for longer than one step.
    pub fn build(self) -> Result<Problem, OffsetsError> {
        let mut names: Vec<&str> = self.buffers.iter().map(|buffer| &*buffer.name).collect();
        names.sort_unstable();
        if let Some(twice) = names.windows(2).find(|pair| pair[0] == pair[1]) {
            return Err(OffsetsError::DuplicateBuffer { buffer: twice[0].into() });
        }
        drop(names);
        let mut order = match self.nodes.is_empty() {
            true => None,
            false => Some(HappensBefore::new(&self.nodes, &self.edges)?),
        };
        if self.buffers.first().is_some_and(|first| !matches!(first.lifetime, Lifetime::Nodes { .. })) {
            // A graph that no lifetime refers to.
            order = None;
        }
        let ProblemBuilder { buffers, nodes, edges, in_place, capacity, .. } = self;
        let problem = Problem { buffers, nodes, edges, order, in_place, capacity };
        problem.check_uses()?;
        problem.check_pairs()?;
        problem.check_fixed()?;
        Ok(problem)
    }
}

/// Buffers and when they are live: what [`plan`](super::plan) places.
#[derive(Clone, Debug)]
pub struct Problem {
    buffers: Vec<Buffer>,
    nodes: Vec<Box<str>>,
    edges: Vec<(NodeId, NodeId)>,
    order: Option<HappensBefore>,
    in_place: Vec<(BufferId, BufferId)>,
    capacity: Option<u64>,
}

impl Problem {
    /// Starts a problem.
    pub fn builder() -> ProblemBuilder {
        ProblemBuilder::new()
    }

    /// The buffers, in the order in which they were added.
    pub fn buffers(&self) -> &[Buffer] {
        &self.buffers
    }

    /// How many nodes the graph has.
    pub fn nodes(&self) -> usize {
        self.nodes.len()
    }

    /// The graph's edges, as they were added.
    pub fn edges(&self) -> &[(NodeId, NodeId)] {
        &self.edges
    }

    /// The pairs that may share, the earlier buffer first.
    pub fn in_place_pairs(&self) -> &[(BufferId, BufferId)] {
        &self.in_place
    }

    /// What the total may not pass, in bytes.
    pub fn capacity(&self) -> Option<u64> {
        self.capacity
    }

    pub(super) fn order(&self) -> Option<&HappensBefore> {
        self.order.as_ref()
    }

    /// First and last position of a buffer whose lifetime is an interval.
    pub(super) fn interval(&self, buffer: usize) -> Option<(u64, u64)> {
        match self.buffers.get(buffer)?.lifetime {
            Lifetime::Closed { first, last } => Some((first, last)),
            // Never empty, so that `end` is not 0.
            Lifetime::HalfOpen { start, end } => Some((start, end - 1)),
            Lifetime::Nodes { .. } => None,
        }
    }

    /// First and last position of any buffer; in a graph, the places of its nodes in one order that agrees with it.
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

    /// Whether every use of `a` happens before the definition of `b`.
    pub(super) fn ends_before(&self, a: usize, b: usize) -> bool {
        if let (Some((_, last)), Some((first, _))) = (self.interval(a), self.interval(b)) {
            return last < first;
        }
        self.ends_at(a, b, |order, use_, definition| order.before(use_, definition))
    }

    /// Whether `b` may begin at the first byte of `a`, which it may read for the last time while it is written.
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
            _ => false,
        }
    }

    fn name(&self, buffer: usize) -> Box<str> {
        self.buffers.get(buffer).map(|buffer| buffer.name.clone()).unwrap_or_default()
    }

    fn check_uses(&self) -> Result<(), OffsetsError> {
        let Some(order) = &self.order else { return Ok(()) };
        for buffer in &self.buffers {
            let Lifetime::Nodes { definition, uses } = &buffer.lifetime else { continue };
            if let Some(node) =
                uses.iter().find(|&&use_| use_ != *definition && !order.before(*definition, use_))
            {
                let node = self.nodes.get(node.index()).cloned().unwrap_or_default();
                return Err(OffsetsError::UseBeforeDefinition { buffer: buffer.name.clone(), node });
            }
        }
        Ok(())
    }

    fn check_pairs(&self) -> Result<(), OffsetsError> {
        for &(earlier, later) in &self.in_place {
            if earlier == later || !self.ends_at_start_of(earlier.index(), later.index()) {
                return Err(OffsetsError::NotInPlace {
                    earlier: self.name(earlier.index()),
                    later: self.name(later.index()),
                });
            }
        }
        Ok(())
    }

    fn check_fixed(&self) -> Result<(), OffsetsError> {
        let mut fixed: Vec<(usize, u64, u64)> = Vec::new();
        for (i, buffer) in self.buffers.iter().enumerate() {
            if let Some(offset) = buffer.fixed {
                fixed.push((i, offset, offset + buffer.size));
            }
        }
        if self.order.is_some() {
            for (k, &(a, start, end)) in fixed.iter().enumerate() {
                for &(b, other_start, other_end) in fixed.iter().skip(k + 1) {
                    let overlap = start < other_end && other_start < end;
                    if overlap && !self.may_overlap(a, b, start == other_start) {
                        return Err(self.fixed_conflict(a, b));
                    }
                }
            }
            return Ok(());
        }
        self.check_fixed_intervals(&fixed)
    }

    fn may_overlap(&self, a: usize, b: usize, same_offset: bool) -> bool {
        let paired = |earlier: usize, later: usize| {
            self.in_place.iter().any(|pair| pair.0.index() == earlier && pair.1.index() == later)
        };
        self.ends_before(a, b) || self.ends_before(b, a) || same_offset && (paired(a, b) || paired(b, a))
    }

    fn fixed_conflict(&self, a: usize, b: usize) -> OffsetsError {
        OffsetsError::FixedConflict { first: self.name(a), second: self.name(b) }
    }

    /// By a sweep over time, with the live ones by offset.
    fn check_fixed_intervals(&self, fixed: &[(usize, u64, u64)]) -> Result<(), OffsetsError> {
        // At one position buffers begin before others end: lifetimes are closed here.
        let mut events: Vec<(u64, bool, usize)> = Vec::with_capacity(fixed.len() * 2);
        for (k, &(i, _, _)) in fixed.iter().enumerate() {
            let Some((first, last)) = self.interval(i) else { continue };
            events.extend([(first, false, k), (last, true, k)]);
        }
        events.sort_unstable();
        let mut live: BTreeMap<(u64, usize), usize> = BTreeMap::new();
        for (_, ends, k) in events {
            let Some(&(i, start, end)) = fixed.get(k) else { continue };
            if ends {
                live.remove(&(start, i));
                continue;
            }
            let below = live.range(..(end, 0)).rev();
            for (&(other_start, other), &other_k) in below {
                let other_end = fixed.get(other_k).map_or(0, |f| f.2);
                if other_end > start && !self.may_overlap(i, other, start == other_start) {
                    return Err(self.fixed_conflict(other, i));
                }
                // Without pairs the live ones are disjoint, so that one look below is enough.
                if other_start < start && self.in_place.is_empty() {
                    break;
                }
            }
            live.insert((start, i), k);
        }
        Ok(())
    }
}
