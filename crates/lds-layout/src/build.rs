//! Puts what a builder recorded in program order, and checks it as a whole.

use std::collections::HashMap;

use super::LdsError;
use super::builder::{Access, Kind, LdsBuilder, LdsStatement, NamedBuffer, Uniformity};
use super::lifetime::lifetimes;
use super::program::{LdsEvent, LdsStep, LdsUse, Storage};

impl LdsBuilder {
    /// Checks the kernel as a whole and returns its use of LDS, which can be laid out.
    ///
    /// # Errors
    /// Returns an error for a loop or branch without an end, for two events at one position that are not accesses of
    /// one statement, for an alias of an unknown name, and for aliases that name each other.
    pub fn build(mut self) -> Result<LdsUse, LdsError> {
        if let Some(&(position, what)) = self.open.last() {
            let what = if matches!(what, LdsStatement::LoopBegin(_)) { "loop" } else { "branch" };
            let problem = format!("the {what} that begins at position {position} has no end");
            return Err(LdsError::invalid(problem));
        }
        let root = resolve(&self.named, &self.by_name)?;
        let mut records = std::mem::take(&mut self.records);
        records.sort_by_key(|&(position, _)| position);
        let (mut steps, mut accesses) = (Vec::with_capacity(records.len()), Vec::new());
        let mut open: Vec<usize> = Vec::new();
        let (mut divergent, mut depth) = (0u32, 0u32);
        let mut rest = &records[..];
        while let Some(&(position, what)) = rest.first() {
            let together = rest.iter().take_while(|record| record.0 == position).count();
            let (here, later) = rest.split_at(together);
            rest = later;
            let gap = (divergent > 0, depth);
            let index = steps.len();
            if let Some(&(_, other)) = here.iter().skip(1).find(|&&(_, other)| {
                !matches!((what, other), (LdsStatement::Access(..), LdsStatement::Access(..)))
            }) {
                return Err(LdsError::invalid(format!(
                    "position {position} has {} and {}: their order is not known; give each a position of its own",
                    self.text(what),
                    self.text(other)
                )));
            }
            let mut enter = |runs: Uniformity, open: &mut Vec<usize>| {
                divergent += u32::from(runs == Uniformity::Divergent);
                open.push(index);
            };
            let event = match what {
                LdsStatement::Access(..) => {
                    let from = accesses.len();
                    statement(here, &root, &mut accesses);
                    LdsEvent::Statement { from: from as u32, to: accesses.len() as u32 }
                }
                LdsStatement::Barrier => LdsEvent::Barrier,
                LdsStatement::LoopBegin(runs) => {
                    enter(runs, &mut open);
                    depth += 1;
                    LdsEvent::LoopBegin { runs, end: 0 }
                }
                LdsStatement::BranchBegin(runs) => {
                    enter(runs, &mut open);
                    LdsEvent::BranchBegin { runs, second: None, end: 0 }
                }
                LdsStatement::Else => LdsEvent::Else { begin: open.last().copied().unwrap_or(0), end: 0 },
                LdsStatement::LoopEnd | LdsStatement::BranchEnd => {
                    // The builder checked that a scope is open.
                    let begin = open.pop().unwrap_or(0);
                    let runs = close(&mut steps, begin, index);
                    divergent -= u32::from(runs == Some(Uniformity::Divergent));
                    match what {
                        LdsStatement::LoopEnd => {
                            depth -= 1;
                            LdsEvent::LoopEnd { begin }
                        }
                        _ => LdsEvent::BranchEnd,
                    }
                }
            };
            if let LdsEvent::Else { begin, .. } = event
                && let Some(LdsStep { event: LdsEvent::BranchBegin { second, .. }, .. }) =
                    steps.get_mut(begin)
            {
                *second = Some(index);
            }
            steps.push(LdsStep { position, event, divergent: gap.0, depth: gap.1 });
        }
        let inserted = vec![false; steps.len()];
        let (positions, storages, named, by_name) =
            ((self.first, self.last), Vec::new(), Vec::new(), self.by_name);
        let mut program = LdsUse { positions, steps, accesses, storages, named, by_name, inserted };
        find_storages(&mut program, &self.named, &root);
        Ok(program)
    }
}

/// Numbers the buffers that are accessed and computes their lifetimes.
fn find_storages(program: &mut LdsUse, named: &[NamedBuffer], root: &[u32]) {
    let mut storage_of: Vec<Option<u32>> = vec![None; named.len()];
    for (at, step) in program.steps.iter().enumerate() {
        let LdsEvent::Statement { from, to } = step.event else { continue };
        for (buffer, _) in &mut program.accesses[from as usize..to as usize] {
            let named = &named[*buffer as usize];
            let known = &mut storage_of[*buffer as usize];
            let index = *known.get_or_insert_with(|| {
                let (size, align) = match named.kind {
                    Kind::Buffer { size, alignment } => (u64::from(size), u64::from(alignment)),
                    // An access of an alias was recorded as one of its buffer.
                    Kind::Alias { .. } => (1, 1),
                };
                let (name, accessed) = (named.name.clone(), (at, at));
                program.storages.push(Storage { name, size, align, accessed, live: accessed });
                program.storages.len() as u32 - 1
            });
            program.storages[index as usize].accessed.1 = at;
            *buffer = index;
        }
    }
    let live = lifetimes(program);
    program.storages.iter_mut().zip(live).for_each(|(storage, live)| storage.live = live);
    program.named = named
        .iter()
        .zip(root)
        .map(|(named, &root)| (named.name.clone(), storage_of[root as usize]))
        .collect();
}

/// Adds the accesses of the statement at one position, one for each buffer.
fn statement(records: &[(u64, LdsStatement)], root: &[u32], accesses: &mut Vec<(u32, Access)>) {
    let start = accesses.len();
    for &(_, what) in records {
        let LdsStatement::Access(id, access) = what else { continue };
        let buffer = root.get(id.index()).copied().unwrap_or(0);
        match accesses.iter_mut().skip(start).find(|(other, _)| *other == buffer) {
            Some((_, other)) if *other != access => *other = Access::Update,
            Some(_) => {}
            None => accesses.push((buffer, access)),
        }
    }
}

/// Stores the end of a loop or branch in the step of its begin and of its `else`; returns its uniformity.
fn close(steps: &mut [LdsStep], begin: usize, index: usize) -> Option<Uniformity> {
    let (runs, second) = match &mut steps.get_mut(begin)?.event {
        LdsEvent::LoopBegin { runs, end } => {
            *end = index;
            (*runs, None)
        }
        LdsEvent::BranchBegin { runs, second, end } => {
            *end = index;
            (*runs, *second)
        }
        _ => return None,
    };
    if let Some(LdsStep { event: LdsEvent::Else { end, .. }, .. }) = second.and_then(|at| steps.get_mut(at)) {
        *end = index;
    }
    Some(runs)
}

/// Returns for each name the index of the buffer that it means.
fn resolve(named: &[NamedBuffer], by_name: &HashMap<Box<str>, u32>) -> Result<Vec<u32>, LdsError> {
    let mut root = Vec::with_capacity(named.len());
    for start in 0..named.len() as u32 {
        let (mut at, mut trail) = (start, Vec::new());
        while let Some(NamedBuffer { name, kind: Kind::Alias { of } }) = named.get(at as usize) {
            if let Some(from) = trail.iter().position(|&seen| seen == at) {
                let names = trail[from..].iter().map(|&i: &u32| format!("`{}`", named[i as usize].name));
                let names = names.collect::<Vec<_>>().join(", ");
                return Err(LdsError::invalid(format!("the aliases {names} name each other, and no buffer")));
            }
            trail.push(at);
            match by_name.get(of) {
                Some(&next) => at = next,
                None => {
                    let problem = format!("alias `{name}`: no buffer has the name `{of}`");
                    return Err(LdsError::invalid(problem));
                }
            }
        }
        root.push(at);
    }
    Ok(root)
}
