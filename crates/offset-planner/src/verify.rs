//! Checks a plan with the problem's plain data alone. The check shares no code with the planner, so it finds the
//! planner's errors.

use std::collections::{BTreeMap, HashSet, VecDeque};

use super::{Lifetime, Plan, Problem};

/// The reason why a plan is wrong: the text names the buffers.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct VerifyError(Box<str>);

fn wrong<T>(problem: String) -> Result<T, VerifyError> {
    Err(VerifyError(problem.into()))
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
        let total = plan.total();
        return wrong(format!("the plan has a total of {total} bytes, but its last buffer ends at {end}"));
    }
    let (lower_bound, optimal) = (plan.lower_bound(), plan.is_optimal());
    if lower_bound > end || optimal && lower_bound != end {
        return wrong(format!(
            "lower bound {lower_bound} and total {end}, optimal: {optimal}: these are inconsistent"
        ));
    }
    match problem.capacity() {
        Some(capacity) if end > capacity => {
            wrong(format!("the total of {end} bytes is above the capacity of {capacity}"))
        }
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
        return wrong(format!("{} offsets for {} buffers", offsets.len(), buffers.len()));
    }
    let mut end = 0;
    let mut placed = Vec::with_capacity(buffers.len());
    for (index, (buffer, &offset)) in buffers.iter().zip(offsets).enumerate() {
        let invalid = |problem: String| wrong(format!("buffer `{}` at {offset}: {problem}", buffer.name));
        if offset % buffer.alignment != 0 {
            return invalid(format!("not a multiple of its alignment {}", buffer.alignment));
        }
        if let Some(fixed) = buffer.fixed.filter(|&fixed| fixed != offset) {
            return invalid(format!("it must be at the fixed offset {fixed}"));
        }
        let Some(top) = offset.checked_add(buffer.size) else {
            return invalid("its end overflows".to_owned());
        };
        end = end.max(top);
        placed.push(PlacedAt { index, offset, top });
    }
    match overlap(problem, &placed) {
        Some((a, b)) => {
            let (a, b) = (&buffers[a].name, &buffers[b].name);
            wrong(format!("buffers `{a}` and `{b}` are live at the same time and overlap"))
        }
        None => Ok(end),
    }
}

/// A buffer by its number, with its begin and end in bytes.
#[derive(Clone, Copy)]
pub(super) struct PlacedAt {
    pub(super) index: usize,
    pub(super) offset: u64,
    pub(super) top: u64,
}

/// Returns two of these buffers, which are in the order of their numbers, that wrongly share bytes, if there are any.
pub(super) fn overlap(problem: &Problem, placed: &[PlacedAt]) -> Option<(usize, usize)> {
    let pairs: HashSet<(usize, usize)> = problem
        .in_place_pairs()
        .iter()
        .flat_map(|(a, b)| [(a.index(), b.index()), (b.index(), a.index())])
        .collect();
    // All lifetimes of a problem are of one kind.
    match problem.buffers().get(placed.first()?.index)?.lifetime {
        Lifetime::Nodes { .. } => by_reachability(problem, placed, &pairs),
        Lifetime::Conflicts => by_conflicts(problem, placed, &pairs),
        Lifetime::Closed { .. } | Lifetime::HalfOpen { .. } => sweep(problem, placed, &pairs),
    }
}

fn by_conflicts(
    problem: &Problem,
    placed: &[PlacedAt],
    pairs: &HashSet<(usize, usize)>,
) -> Option<(usize, usize)> {
    let at = |index: usize| placed.binary_search_by_key(&index, |p| p.index).ok().map(|k| placed[k]);
    problem.conflicts().map(|(a, b)| (a.index(), b.index())).find(|&(i, j)| {
        let (Some(a), Some(b)) = (at(i), at(j)) else { return false };
        let shares = a.offset == b.offset && pairs.contains(&(i, j));
        a.offset < b.top && b.offset < a.top && !shares
    })
}

/// Steps through time with the live buffers by offset. Live buffers do not overlap (or are at one offset, for a pair
/// that shares), so a new one is compared with its neighbours only.
fn sweep(problem: &Problem, placed: &[PlacedAt], pairs: &HashSet<(usize, usize)>) -> Option<(usize, usize)> {
    // Half positions distinguish both kinds of lifetime: [a, b] lives to 2b + 1, [a, b) to 2b - 1; ends sort first.
    let mut steps: Vec<(u128, bool, usize)> = Vec::with_capacity(placed.len() * 2);
    for (k, p) in placed.iter().enumerate() {
        let (from, to) = match problem.buffers()[p.index].lifetime {
            Lifetime::Closed { first, last } => (u128::from(first) * 2, u128::from(last) * 2 + 1),
            Lifetime::HalfOpen { start, end } => (u128::from(start) * 2, u128::from(end) * 2 - 1),
            Lifetime::Nodes { .. } | Lifetime::Conflicts => continue,
        };
        steps.extend([(from, true, k), (to, false, k)]);
    }
    steps.sort_unstable();
    // The live buffers at each offset.
    let mut live: BTreeMap<u64, Vec<PlacedAt>> = BTreeMap::new();
    for (_, begins, k) in steps {
        let new = placed[k];
        let index = new.index;
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
    placed: &[PlacedAt],
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
