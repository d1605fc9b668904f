//! Checks a plan with the problem's plain data alone. The check shares no code with the planner, so it finds the
//! planner's errors.

use std::collections::{BTreeMap, HashSet, VecDeque};

use super::{Lifetime, Plan, Problem};

/// The reason why a plan is wrong.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum VerifyError {
    /// The number of offsets differs from the number of buffers.
    #[error("{offsets} offsets for {buffers} buffers")]
    Count {
        /// The number of offsets.
        offsets: usize,
        /// The number of buffers.
        buffers: usize,
    },
    /// An offset is not a multiple of its buffer's alignment.
    #[error("buffer `{buffer}` at {offset}: not a multiple of its alignment {alignment}")]
    Misaligned {
        /// The buffer's name.
        buffer: Box<str>,
        /// The offset of the buffer in bytes.
        offset: u64,
        /// The alignment of the buffer in bytes.
        alignment: u64,
    },
    /// A fixed buffer has another offset than the fixed one.
    #[error("buffer `{buffer}` at {offset}: it must be at the fixed offset {fixed}")]
    NotFixed {
        /// The buffer's name.
        buffer: Box<str>,
        /// The offset of the buffer in bytes.
        offset: u64,
        /// The offset in bytes that the problem fixes.
        fixed: u64,
    },
    /// The end of a buffer is above 2^64.
    #[error("buffer `{buffer}` at {offset}: its end overflows")]
    Overflow {
        /// The buffer's name.
        buffer: Box<str>,
        /// The offset of the buffer in bytes.
        offset: u64,
    },
    /// Two buffers share bytes and are live at the same time.
    #[error("buffers `{first}` and `{second}` are live at the same time and overlap")]
    Overlap {
        /// The name of one buffer.
        first: Box<str>,
        /// The name of the other buffer.
        second: Box<str>,
    },
    /// The total is not the end of the last buffer.
    #[error("the plan has a total of {total} bytes, but its last buffer ends at {end}")]
    Total {
        /// The total of the plan in bytes.
        total: u64,
        /// The end of the last buffer in bytes.
        end: u64,
    },
    /// The lower bound is above the total, or the plan is marked optimal and its total is above the bound.
    #[error("lower bound {lower_bound} and total {total}, optimal: {optimal}: these are inconsistent")]
    Bound {
        /// The lower bound of the plan in bytes.
        lower_bound: u64,
        /// The total of the plan in bytes.
        total: u64,
        /// Whether the plan is marked optimal.
        optimal: bool,
    },
    /// The total is above the problem's capacity.
    #[error("the total of {total} bytes is above the capacity of {capacity}")]
    Capacity {
        /// The total of the plan in bytes.
        total: u64,
        /// The capacity of the problem in bytes.
        capacity: u64,
    },
}

/// Checks a plan: alignments, fixed offsets, overlaps, total and bound.
///
/// Takes O(n log n) for lifetimes that are intervals; for n buffers and a graph of V nodes and E edges,
/// O(n (V + E) + n^2).
///
/// # Errors
/// Returns the first error found.
pub fn verify(problem: &Problem, plan: &Plan) -> Result<(), VerifyError> {
    let end = verify_offsets(problem, plan.offsets())?;
    if end != plan.total() {
        return Err(VerifyError::Total { total: plan.total(), end });
    }
    let (lower_bound, optimal) = (plan.lower_bound(), plan.is_optimal());
    if lower_bound > end || optimal && lower_bound != end {
        return Err(VerifyError::Bound { lower_bound, total: end, optimal });
    }
    match problem.capacity() {
        Some(capacity) if end > capacity => Err(VerifyError::Capacity { total: end, capacity }),
        _ => Ok(()),
    }
}

/// Checks offsets in bytes, one for each buffer in the order in which they were added, and returns the end of the last
/// buffer.
///
/// # Errors
/// Returns the first error found.
pub fn verify_offsets(problem: &Problem, offsets: &[u64]) -> Result<u64, VerifyError> {
    let buffers = problem.buffers();
    if offsets.len() != buffers.len() {
        return Err(VerifyError::Count { offsets: offsets.len(), buffers: buffers.len() });
    }
    let mut end = 0;
    let mut placed = Vec::with_capacity(buffers.len());
    for (index, (buffer, &offset)) in buffers.iter().zip(offsets).enumerate() {
        let name = || buffer.name.clone();
        if offset % buffer.alignment != 0 {
            return Err(VerifyError::Misaligned { buffer: name(), offset, alignment: buffer.alignment });
        }
        if let Some(fixed) = buffer.fixed.filter(|&fixed| fixed != offset) {
            return Err(VerifyError::NotFixed { buffer: name(), offset, fixed });
        }
        let Some(top) = offset.checked_add(buffer.size) else {
            return Err(VerifyError::Overflow { buffer: name(), offset });
        };
        end = end.max(top);
        placed.push(Placed { index, offset, top });
    }
    let pairs: HashSet<(usize, usize)> = problem
        .in_place_pairs()
        .iter()
        .flat_map(|(a, b)| [(a.index(), b.index()), (b.index(), a.index())])
        .collect();
    // All lifetimes of a problem are of one kind.
    let overlap = match buffers.first().map(|buffer| &buffer.lifetime) {
        Some(Lifetime::Nodes { .. }) => by_reachability(problem, &placed, &pairs),
        _ => sweep(problem, &placed, &pairs),
    };
    match overlap.and_then(|(a, b)| Some((buffers.get(a)?, buffers.get(b)?))) {
        Some((a, b)) => Err(VerifyError::Overlap { first: a.name.clone(), second: b.name.clone() }),
        None => Ok(end),
    }
}

#[derive(Clone, Copy)]
struct Placed {
    index: usize,
    offset: u64,
    top: u64,
}

/// Steps through time with the live buffers by offset. Live buffers do not overlap (or are at one offset, for a pair
/// that shares), so a new one is compared with its neighbours only.
fn sweep(problem: &Problem, placed: &[Placed], pairs: &HashSet<(usize, usize)>) -> Option<(usize, usize)> {
    // Half positions distinguish both kinds of lifetime: [a, b] lives to 2b + 1, [a, b) to 2b - 1; ends sort first.
    let mut steps: Vec<(u128, bool, usize)> = Vec::with_capacity(placed.len() * 2);
    for (buffer, p) in problem.buffers().iter().zip(placed) {
        let (from, to) = match buffer.lifetime {
            Lifetime::Closed { first, last } => (u128::from(first) * 2, u128::from(last) * 2 + 1),
            Lifetime::HalfOpen { start, end } => (u128::from(start) * 2, u128::from(end) * 2 - 1),
            Lifetime::Nodes { .. } => continue,
        };
        steps.push((from, true, p.index));
        steps.push((to, false, p.index));
    }
    steps.sort_unstable();
    // The live buffers at each offset.
    let mut live: BTreeMap<u64, Vec<Placed>> = BTreeMap::new();
    for (_, begins, index) in steps {
        let Some(&new) = placed.get(index) else { continue };
        if !begins {
            if let Some(same) = live.get_mut(&new.offset) {
                same.retain(|p| p.index != index);
                if same.is_empty() {
                    live.remove(&new.offset);
                }
            }
            continue;
        }
        for same in live.get(&new.offset).into_iter().flatten() {
            if !pairs.contains(&(same.index, index)) {
                return Some((same.index, index));
            }
        }
        if let Some((_, below)) = live.range(..new.offset).next_back()
            && let Some(p) = below.iter().find(|p| p.top > new.offset)
        {
            return Some((p.index, index));
        }
        if let Some((&offset, above)) = live.range(new.offset + 1..).next()
            && offset < new.top
        {
            return above.first().map(|p| (p.index, index));
        }
        live.entry(new.offset).or_default().push(new);
    }
    None
}

/// Walks the graph from the last uses of each buffer: only buffers that are defined at a node after all of them may
/// have its bytes.
fn by_reachability(
    problem: &Problem,
    placed: &[Placed],
    pairs: &HashSet<(usize, usize)>,
) -> Option<(usize, usize)> {
    let mut next = vec![Vec::new(); problem.nodes()];
    for (a, b) in problem.edges() {
        if let Some(next) = next.get_mut(a.index()) {
            next.push(b.index());
        }
    }
    // For each buffer, the number of its uses that each node comes after.
    let behind = |index: usize| -> Option<(Vec<u32>, u32)> {
        let Lifetime::Nodes { definition, uses } = &problem.buffers().get(index)?.lifetime else {
            return None;
        };
        let own = [*definition];
        let uses = if uses.is_empty() { &own[..] } else { &uses[..] };
        let mut count = vec![0; problem.nodes()];
        for use_ in uses {
            let mut seen = vec![false; problem.nodes()];
            let mut queue = VecDeque::from(next.get(use_.index())?.clone());
            while let Some(node) = queue.pop_front() {
                if !std::mem::replace(seen.get_mut(node)?, true) {
                    *count.get_mut(node)? += 1;
                    queue.extend(next.get(node)?);
                }
            }
        }
        Some((count, uses.len() as u32))
    };
    let definition = |index: usize| match problem.buffers().get(index).map(|b| &b.lifetime) {
        Some(Lifetime::Nodes { definition, .. }) => Some(definition.index()),
        _ => None,
    };
    // The pairs that overlap in bytes, less those that the partial order separates.
    let mut apart: HashSet<(usize, usize)> = HashSet::new();
    for a in placed {
        // A buffer without such a count is treated as overlapping.
        let Some((count, uses)) = behind(a.index) else { continue };
        for b in placed {
            if definition(b.index).and_then(|node| count.get(node)) == Some(&uses) {
                apart.insert((a.index, b.index));
            }
        }
    }
    for (k, a) in placed.iter().enumerate() {
        for b in placed.iter().skip(k + 1) {
            let bytes = a.offset < b.top && b.offset < a.top;
            let ordered = apart.contains(&(a.index, b.index)) || apart.contains(&(b.index, a.index));
            let shares = a.offset == b.offset && pairs.contains(&(a.index, b.index));
            if bytes && !ordered && !shares {
                return Some((a.index, b.index));
            }
        }
    }
    None
}
