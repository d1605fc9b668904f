//! Which buffers no barrier separates: what is accessed, and which buffers' accesses reach it past no barrier.
//!
//! One pass in program order carries the set of buffers whose accesses are not yet behind a barrier; what a loop's end
//! carries goes back to its begin, until nothing is added.

use super::bits::{Bits, Relation};
use super::builder::Runs;
use super::program::{Event, LdsProgram};

/// The pairs that may not have a byte in common: those live together, and those that nothing separates, on some path,
/// with barriers inserted before the steps where `inserted` says so.
pub(super) fn conflicts(program: &LdsProgram, inserted: &[bool]) -> Relation {
    let mut conflicts = unsynchronised(program, inserted);
    let mut by_first: Vec<usize> = (0..program.storages.len()).collect();
    by_first.sort_by_key(|&i| program.storages[i].live.0);
    for (k, &a) in by_first.iter().enumerate() {
        let last = program.storages[a].live.1;
        for &b in by_first.iter().skip(k + 1).take_while(|&&b| program.storages[b].live.0 <= last) {
            conflicts.insert(a, b);
        }
    }
    conflicts
}

/// What flows through a loop or branch.
struct Scope {
    runs: Runs,
    /// What comes in at its begin.
    entry: Bits,
    /// What leaves its first arm.
    first_arm: Option<Bits>,
}

fn unsynchronised(program: &LdsProgram, inserted: &[bool]) -> Relation {
    let buffers = program.storages.len();
    let mut relation = Relation::new(buffers);
    // What each loop's end carries back to its begin.
    let mut back: Vec<Option<Bits>> = Vec::new();
    if program.has_scopes() {
        back.resize(program.steps.len(), None);
    }
    loop {
        let mut again = false;
        let mut open = Bits::new(buffers);
        let mut scopes: Vec<Scope> = Vec::new();
        let mut next = 0;
        while let Some(step) = program.steps.get(next) {
            let at = next;
            next += 1;
            if inserted.get(at) == Some(&true) && !step.divergent {
                open.clear();
            }
            match step.event {
                Event::Statement { .. } => {
                    let accesses = program.accesses_of(step.event);
                    for &(buffer, _) in accesses {
                        open.iter().for_each(|other| relation.insert(buffer as usize, other));
                        open.insert(buffer as usize);
                    }
                }
                Event::Barrier if !step.divergent => open.clear(),
                Event::Barrier => {}
                Event::LoopBegin { runs, .. } => {
                    scopes.push(Scope { runs, entry: open.clone(), first_arm: None });
                    if let Some(carried) = back.get(at).and_then(Option::as_ref) {
                        open.add(carried);
                    }
                }
                Event::LoopEnd { begin } => {
                    if let Some(slot) = back.get_mut(begin) {
                        again |= slot.get_or_insert_with(|| Bits::new(buffers)).add(&open);
                    }
                    if let Some(scope) = scopes.pop()
                        && scope.runs != Runs::Executed
                    {
                        open.add(&scope.entry);
                    }
                }
                Event::BranchBegin { runs, .. } => {
                    scopes.push(Scope { runs, entry: open.clone(), first_arm: None });
                }
                Event::Else { end, .. } => {
                    if let Some(scope) = scopes.last_mut() {
                        let first_arm = std::mem::replace(&mut open, scope.entry.clone());
                        match scope.runs {
                            // Some work-items run one arm while others run the other.
                            Runs::Divergent => drop(open.add(&first_arm)),
                            Runs::Uniform => {}
                            // Nobody comes here.
                            Runs::Executed => next = end,
                        }
                        scope.first_arm = Some(first_arm);
                    }
                }
                Event::BranchEnd => {
                    if let Some(scope) = scopes.pop() {
                        match (scope.runs, scope.first_arm) {
                            (Runs::Executed, Some(first_arm)) => open = first_arm,
                            (_, Some(first_arm)) => drop(open.add(&first_arm)),
                            (Runs::Executed, None) => {}
                            (_, None) => drop(open.add(&scope.entry)),
                        }
                    }
                }
            }
        }
        if !again {
            return relation;
        }
    }
}
