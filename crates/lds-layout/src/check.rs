//! The check of a layout: it walks the paths of the program from access to access, over the bytes as they were given
//! out. It has nothing in common with what makes layouts: it knows no lifetimes, no epochs and no conflicts.
//!
//! From each access of a buffer every path is followed as far as the first barrier, and nothing met there may have a byte
//! in common with it. And from each access that overwrites bytes of another buffer every path is followed as far as that
//! one is written anew, and it may not be read there.

use smallvec::SmallVec;

use super::builder::{Access, Runs};
use super::program::{Event, LdsProgram};

/// Why a layout is wrong.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum CheckError {
    /// There are more or fewer offsets than buffers.
    #[error("{offsets} offsets for {buffers} buffers")]
    Count {
        /// Offsets.
        offsets: usize,
        /// Buffers that are accessed.
        buffers: usize,
    },
    /// An offset that is no multiple of the alignment.
    #[error("buffer `{buffer}` at {offset}: no multiple of its alignment {alignment}")]
    Misaligned {
        /// The buffer's name.
        buffer: Box<str>,
        /// Its offset in bytes.
        offset: u64,
        /// Its alignment in bytes.
        alignment: u64,
    },
    /// A buffer that ends behind the total.
    #[error("buffer `{buffer}` ends at {end}, behind the total of {total} bytes")]
    Outside {
        /// The buffer's name.
        buffer: Box<str>,
        /// Where it ends.
        end: u64,
        /// The total.
        total: u64,
    },
    /// Two accesses of the same bytes with no barrier on a path from one to the other.
    #[error(
        "buffers `{first}` and `{second}` share bytes, and a path from position {from} to {to} has no barrier"
    )]
    NotSeparated {
        /// The buffer accessed first.
        first: Box<str>,
        /// The one accessed next.
        second: Box<str>,
        /// A position of the first access.
        from: u64,
        /// Position of the second.
        to: u64,
    },
    /// A read of bytes that another buffer took meanwhile.
    #[error("buffer `{buffer}` is read at position {read} after `{other}` took its bytes at {taken}")]
    Overwritten {
        /// The buffer that is read.
        buffer: Box<str>,
        /// What overwrote it.
        other: Box<str>,
        /// A position at which it did.
        taken: u64,
        /// Position of the read.
        read: u64,
    },
    /// What the verifier of `offsets` says.
    #[error(transparent)]
    Offsets(#[from] offset_planner::VerifyError),
}

/// What was checked and found right.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Verdict {
    /// Pairs of buffers that have bytes in common.
    pub sharing: usize,
    /// Pairs that the verifier of [`offsets`](offset_planner) looked at: all of them, or, where the epochs of a kernel with
    /// loops or branches do not say all, those that may not share.
    pub verified: usize,
    /// Steps that were walked along paths between accesses.
    pub walked: usize,
}

/// A way to another step, past what is inserted before the step `gap`.
#[derive(Clone, Copy)]
struct Edge {
    to: usize,
    gap: Option<usize>,
}

/// No step has more.
type Edges = SmallVec<[Edge; 2]>;

/// Walks all paths; gives how many pairs share bytes, and how many steps were walked.
pub(super) fn check(
    program: &LdsProgram,
    inserted: &[bool],
    offsets: &[u64],
    total: u64,
) -> Result<(usize, usize), CheckError> {
    let storages = &program.storages;
    if offsets.len() != storages.len() {
        return Err(CheckError::Count { offsets: offsets.len(), buffers: storages.len() });
    }
    let mut spans = Vec::with_capacity(storages.len());
    for (storage, &offset) in storages.iter().zip(offsets) {
        let buffer = || storage.name.clone();
        if offset % storage.align != 0 {
            return Err(CheckError::Misaligned { buffer: buffer(), offset, alignment: storage.align });
        }
        let end = offset.saturating_add(storage.size);
        if end > total {
            return Err(CheckError::Outside { buffer: buffer(), end, total });
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
        let name = |i: usize| storages[i].name.clone();
        paths.separated(&accesses[a], &|b| shares(a, b)).map_err(|(from, to, b)| {
            let (first, second) = (name(a), name(b));
            CheckError::NotSeparated { first, second, from: paths.position(from), to: paths.position(to) }
        })?;
        let reached = paths.reached(&accesses[a]);
        let takers: Vec<(usize, usize)> = others
            .iter()
            .flat_map(|&b| accesses[b].iter().map(move |&at| (at, b)))
            .filter(|&(at, _)| reached.get(at) == Some(&true))
            .collect();
        paths.kept(a, &takers).map_err(|(taken, b, read)| {
            let (buffer, other) = (name(a), name(b));
            CheckError::Overwritten {
                buffer,
                other,
                taken: paths.position(taken),
                read: paths.position(read),
            }
        })?;
    }
    Ok((sharing / 2, paths.walked))
}

/// Where control goes from each step. Loops and branches that are not executed for certain can be gone around; in a
/// divergent branch some work-items run the second arm while others run the first.
fn edges(program: &LdsProgram) -> Vec<Edges> {
    let steps = &program.steps;
    let mut edges: Vec<Edges> = vec![Edges::new(); steps.len()];
    for (at, (step, from)) in steps.iter().zip(&mut edges).enumerate() {
        let next = at + 1;
        match steps.get(next).map(|next| next.event) {
            // The first arm ends here, and goes on behind the second.
            Some(Event::Else { begin, end }) if runs(program, begin) != Some(Runs::Divergent) => {
                from.push(Edge { to: end, gap: Some(next) });
            }
            Some(_) => from.push(Edge { to: next, gap: Some(next) }),
            None => {}
        }
        match step.event {
            Event::LoopBegin { runs, end } if runs != Runs::Executed => {
                from.push(Edge { to: end, gap: None })
            }
            Event::LoopEnd { begin } => from.push(Edge { to: begin, gap: None }),
            Event::BranchBegin { runs, second, end } if runs != Runs::Executed => {
                from.push(Edge { to: second.unwrap_or(end), gap: None });
            }
            Event::Else { begin, end } if runs(program, begin) == Some(Runs::Divergent) => {
                from.push(Edge { to: end, gap: None });
            }
            _ => {}
        }
    }
    edges
}

fn runs(program: &LdsProgram, begin: usize) -> Option<Runs> {
    match program.steps.get(begin)?.event {
        Event::LoopBegin { runs, .. } | Event::BranchBegin { runs, .. } => Some(runs),
        _ => None,
    }
}

struct Paths<'a> {
    program: &'a LdsProgram,
    inserted: &'a [bool],
    edges: Vec<Edges>,
    walked: usize,
}

impl Paths<'_> {
    fn position(&self, step: usize) -> u64 {
        self.program.steps.get(step).map_or(0, |step| step.position)
    }

    /// Follows the paths from some steps on; `enter` looks at each step that is come to, and says whether to go on.
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
                let barrier = edge.gap.is_some_and(|gap| {
                    let divergent = self.program.steps.get(gap).is_none_or(|step| step.divergent);
                    self.inserted.get(gap) == Some(&true) && !divergent
                });
                if stop_at_barriers && barrier || seen.get(edge.to).copied().unwrap_or(true) {
                    continue;
                }
                if let Some(seen) = seen.get_mut(edge.to) {
                    *seen = true;
                }
                self.walked += 1;
                let step = self.program.steps.get(edge.to);
                let barrier = step.is_some_and(|s| matches!(s.event, Event::Barrier) && !s.divergent);
                if enter(edge.to)? && !(stop_at_barriers && barrier) {
                    queue.push(edge.to);
                }
            }
        }
        Ok(())
    }

    /// The steps on some path from these; they themselves only if one leads back.
    fn reached(&mut self, from: &[usize]) -> Vec<bool> {
        let mut reached = vec![false; self.program.steps.len()];
        let all = self.walk(from.iter().copied(), false, |at| {
            if let Some(reached) = reached.get_mut(at) {
                *reached = true;
            }
            Ok::<bool, std::convert::Infallible>(true)
        });
        match all {
            Ok(()) => reached,
        }
    }

    /// Whether a barrier is on every path from these accesses to one of a buffer that shares bytes; or between which
    /// two steps there is none, and the buffer.
    fn separated(
        &mut self,
        from: &[usize],
        shares: &dyn Fn(usize) -> bool,
    ) -> Result<(), (usize, usize, usize)> {
        let program = self.program;
        let met = |at: usize| {
            let accesses = program.steps.get(at).map_or(&[][..], |step| program.accesses_of(step.event));
            accesses.iter().map(|access| access.0 as usize).find(|&b| shares(b))
        };
        if let Some((start, b)) = from.iter().find_map(|&start| Some((start, met(start)?))) {
            return Err((start, start, b));
        }
        let all =
            self.walk(from.iter().copied(), true, |at| if met(at).is_some() { Err(()) } else { Ok(true) });
        if all.is_ok() {
            return Ok(());
        }
        // From which of them?
        for &start in from {
            self.walk([start].into_iter(), true, |at| match met(at) {
                Some(b) => Err((start, at, b)),
                None => Ok(true),
            })?;
        }
        Ok(())
    }

    /// Whether a buffer is written anew on every path from where others took its bytes to where it is read; or who took
    /// them, and the read.
    fn kept(&mut self, buffer: usize, takers: &[(usize, usize)]) -> Result<(), (usize, usize, usize)> {
        let program = self.program;
        let read = |at: usize| {
            let Some(step) = program.steps.get(at) else { return Ok(false) };
            let access = program.accesses_of(step.event).iter().find(|a| a.0 as usize == buffer);
            match access {
                Some((_, Access::Read | Access::Update)) => Err(at),
                // Where work-items differ, those that do not write it still want what was there.
                Some((_, Access::Write)) => Ok(step.divergent),
                None => Ok(true),
            }
        };
        if self.walk(takers.iter().map(|taker| taker.0), false, read).is_ok() {
            return Ok(());
        }
        for &(taken, other) in takers {
            self.walk([taken].into_iter(), false, read).map_err(|at| (taken, other, at))?;
        }
        Ok(())
    }
}
