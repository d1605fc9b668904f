//! Checks a layout by walking the paths of the program from access to access, over the bytes that the layout assigned.
//! The check shares no code with the planner: it knows no lifetimes, epochs or conflicts.
//!
//! Two properties are checked. First, on every path from an access of a buffer to the next barrier, no access of
//! another buffer uses the same bytes. Second, after an access overwrites bytes of another buffer, no path reads that
//! buffer before it is written again.

use smallvec::SmallVec;

use super::LayoutCheckError;
use super::builder::{Access, Uniformity};
use super::program::{LdsEvent, LdsUse, Storage};

/// Counts what was checked in a layout that is right.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct LayoutCheck {
    /// The number of pairs of buffers that have bytes in common.
    pub sharing: usize,
    /// The number of pairs that the verifier of [`offset_planner`] compared: all pairs where epochs describe the
    /// conflicts exactly, otherwise the pairs that may not share bytes.
    pub verified: usize,
    /// The number of steps that were walked along paths between accesses.
    pub walked: usize,
}

/// An edge to another step, past a barrier that is inserted before step `gap`, if there is one.
#[derive(Clone, Copy)]
struct Edge {
    to: usize,
    gap: Option<usize>,
}

/// The edges from a step; there are at most two.
type Edges = SmallVec<[Edge; 2]>;

impl LdsUse {
    /// Checks a layout that was computed elsewhere. `offsets` are in bytes, for the buffers that are accessed in the
    /// order of their first access. `barriers_before` are the positions before which barriers are inserted; a position
    /// without an event is ignored. The check shares no code with the planner.
    ///
    /// # Errors
    /// Returns the first error found.
    pub fn check(&self, offsets: &[u64], barriers_before: &[u64]) -> Result<(), LayoutCheckError> {
        let inserted: Vec<bool> =
            self.steps.iter().map(|step| barriers_before.contains(&step.position)).collect();
        check(self, &inserted, offsets, u64::from(u32::MAX)).map(drop)
    }
}

/// Walks all paths and returns the number of pairs that share bytes and the number of steps walked.
pub(super) fn check(
    program: &LdsUse,
    inserted: &[bool],
    offsets: &[u64],
    total: u64,
) -> Result<(usize, usize), LayoutCheckError> {
    let storages = &program.storages;
    let wrong = |problem: String| LayoutCheckError(problem.into());
    if offsets.len() != storages.len() {
        return Err(wrong(format!("{} offsets for {} buffers", offsets.len(), storages.len())));
    }
    let mut spans = Vec::with_capacity(storages.len());
    for (storage, &offset) in storages.iter().zip(offsets) {
        let Storage { name, align, .. } = storage;
        if offset % align != 0 {
            let problem = format!("buffer `{name}` at {offset}: not a multiple of its alignment {align}");
            return Err(wrong(problem));
        }
        let end = offset.saturating_add(storage.size);
        if end > total {
            return Err(wrong(format!("buffer `{name}` ends at {end}, after the total of {total} bytes")));
        }
        spans.push(offset..end);
    }
    let shares =
        |a: usize, b: usize| a != b && spans[a].start < spans[b].end && spans[b].start < spans[a].end;
    let mut sharing = 0;
    let mut paths = Paths { program, inserted, edges: edges(program), walked: 0 };
    let mut accesses: Vec<Vec<usize>> = vec![Vec::new(); storages.len()];
    let reachable = paths.reached(&[0]);
    for (at, step) in program.steps.iter().enumerate() {
        if at > 0 && reachable.get(at) != Some(&true) {
            continue;
        }
        program.accesses_of(step.event).iter().for_each(|&(b, _)| accesses[b as usize].push(at));
    }
    for a in 0..storages.len() {
        let others: Vec<usize> = (0..storages.len()).filter(|&b| shares(a, b)).collect();
        if others.is_empty() {
            continue;
        }
        sharing += others.len();
        let name = |i: usize| &storages[i].name;
        paths.separated(&accesses[a], &|b| shares(a, b)).map_err(|Unseparated { from, to, buffer: b }| {
            let (first, second) = (name(a), name(b));
            let (from, to) = (paths.position(from), paths.position(to));
            wrong(format!(
                "buffers `{first}` and `{second}` share bytes, and a path from position {from} to {to} has no barrier"
            ))
        })?;
        let reached = paths.reached(&accesses[a]);
        let takers: Vec<(usize, usize)> = others
            .iter()
            .flat_map(|&b| accesses[b].iter().map(move |&at| (at, b)))
            .filter(|&(at, _)| reached.get(at) == Some(&true))
            .collect();
        paths.kept(a, &takers).map_err(|Overwritten { write: taken, buffer: b, read }| {
            let (buffer, other) = (name(a), name(b));
            let (taken, read) = (paths.position(taken), paths.position(read));
            wrong(format!(
                "buffer `{buffer}` is read at position {read} after `{other}` overwrote its bytes at {taken}"
            ))
        })?;
    }
    Ok((sharing / 2, paths.walked))
}

/// Returns the steps that control can reach from each step. A loop or branch that may not be executed can be skipped;
/// in a divergent branch some work-items run the second arm while others run the first.
fn edges(program: &LdsUse) -> Vec<Edges> {
    let steps = &program.steps;
    let mut edges: Vec<Edges> = vec![Edges::new(); steps.len()];
    for (at, (step, from)) in steps.iter().zip(&mut edges).enumerate() {
        let next = at + 1;
        match steps.get(next).map(|next| next.event) {
            // The first arm ends here, and control continues after the second.
            Some(LdsEvent::Else { begin, end }) if runs(program, begin) != Some(Uniformity::Divergent) => {
                from.push(Edge { to: end, gap: Some(next) });
            }
            Some(_) => from.push(Edge { to: next, gap: Some(next) }),
            None => {}
        }
        match step.event {
            LdsEvent::LoopBegin { runs, end } if runs != Uniformity::UniformTaken => {
                from.push(Edge { to: end, gap: None })
            }
            LdsEvent::LoopEnd { begin } => from.push(Edge { to: begin, gap: None }),
            LdsEvent::BranchBegin { runs, second, end } if runs != Uniformity::UniformTaken => {
                from.push(Edge { to: second.unwrap_or(end), gap: None });
            }
            LdsEvent::Else { begin, end } if runs(program, begin) == Some(Uniformity::Divergent) => {
                from.push(Edge { to: end, gap: None });
            }
            _ => {}
        }
    }
    edges
}

fn runs(program: &LdsUse, begin: usize) -> Option<Uniformity> {
    match program.steps.get(begin)?.event {
        LdsEvent::LoopBegin { runs, .. } | LdsEvent::BranchBegin { runs, .. } => Some(runs),
        _ => None,
    }
}

/// Two steps between which no barrier lies: an access of one buffer, and one of a buffer that shares its bytes.
struct Unseparated {
    from: usize,
    to: usize,
    /// The buffer of the second.
    buffer: usize,
}

/// A read of bytes that another buffer has overwritten.
struct Overwritten {
    write: usize,
    /// The buffer that was written.
    buffer: usize,
    read: usize,
}

struct Paths<'a> {
    program: &'a LdsUse,
    inserted: &'a [bool],
    edges: Vec<Edges>,
    walked: usize,
}

impl Paths<'_> {
    fn position(&self, step: usize) -> u64 {
        self.program.steps.get(step).map_or(0, |step| step.position)
    }

    /// Follows the paths from some steps. `enter` sees each step that is reached and returns whether to follow the path
    /// further.
    fn walk<T>(
        &mut self,
        from: impl Iterator<Item = usize>,
        stop_at_barriers: bool,
        mut enter: impl FnMut(usize) -> Result<bool, T>,
    ) -> Result<(), T> {
        let mut seen = vec![false; self.program.steps.len()];
        let mut queue: Vec<usize> = from.collect();
        while let Some(at) = queue.pop() {
            for edge in self.edges.get(at).into_iter().flatten() {
                let steps = &self.program.steps;
                let inserted = edge.gap.is_some_and(|gap| self.inserted[gap] && !steps[gap].divergent);
                if stop_at_barriers && inserted || seen[edge.to] {
                    continue;
                }
                seen[edge.to] = true;
                self.walked += 1;
                let step = &steps[edge.to];
                let barrier = matches!(step.event, LdsEvent::Barrier) && !step.divergent;
                if enter(edge.to)? && !(stop_at_barriers && barrier) {
                    queue.push(edge.to);
                }
            }
        }
        Ok(())
    }

    /// Returns the steps that are on a path from these; a start is among them only if a path leads back to it.
    fn reached(&mut self, from: &[usize]) -> Vec<bool> {
        let mut reached = vec![false; self.program.steps.len()];
        let all = self.walk(from.iter().copied(), false, |at| {
            reached[at] = true;
            Ok::<bool, std::convert::Infallible>(true)
        });
        match all {
            Ok(()) => reached,
        }
    }

    /// Fails unless a barrier is on every path from these accesses to an access of a buffer that shares bytes.
    fn separated(&mut self, from: &[usize], shares: &dyn Fn(usize) -> bool) -> Result<(), Unseparated> {
        let program = self.program;
        let met = |at: usize| {
            let accesses = program.steps.get(at).map_or(&[][..], |step| program.accesses_of(step.event));
            accesses.iter().map(|access| access.0 as usize).find(|&b| shares(b))
        };
        if let Some((start, b)) = from.iter().find_map(|&start| Some((start, met(start)?))) {
            return Err(Unseparated { from: start, to: start, buffer: b });
        }
        let all =
            self.walk(from.iter().copied(), true, |at| if met(at).is_some() { Err(()) } else { Ok(true) });
        if all.is_ok() {
            return Ok(());
        }
        // Find the access from which the path starts.
        for &start in from {
            self.walk([start].into_iter(), true, |at| match met(at) {
                Some(b) => Err(Unseparated { from: start, to: at, buffer: b }),
                None => Ok(true),
            })?;
        }
        Ok(())
    }

    /// Fails unless the buffer is written again on every path from an access that overwrote it to one that reads it.
    fn kept(&mut self, buffer: usize, takers: &[(usize, usize)]) -> Result<(), Overwritten> {
        let program = self.program;
        let read = |at: usize| {
            let Some(step) = program.steps.get(at) else { return Ok(false) };
            let access = program.accesses_of(step.event).iter().find(|a| a.0 as usize == buffer);
            match access {
                Some((_, Access::Read | Access::Update)) => Err(at),
                // In a divergent scope, work-items that do not write the buffer still need its earlier contents.
                Some((_, Access::Write)) => Ok(step.divergent),
                None => Ok(true),
            }
        };
        if self.walk(takers.iter().map(|taker| taker.0), false, read).is_ok() {
            return Ok(());
        }
        for &(taken, other) in takers {
            self.walk([taken].into_iter(), false, read).map_err(|read| Overwritten {
                write: taken,
                buffer: other,
                read,
            })?;
        }
        Ok(())
    }
}
