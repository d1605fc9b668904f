//! Finds the buffers that no barrier separates: an access of one reaches an access of the other on a path without a
//! barrier.
//!
//! One pass in program order carries the set of buffers that were accessed since the last barrier. The set at the end
//! of a loop is carried back to its begin, until nothing is added.

use super::bits::{Bits, Relation};
use super::builder::Uniformity;
use super::program::{LdsEvent, LdsUse};

/// Returns the pairs that may not share bytes: those that are live at the same time, and those that no barrier
/// separates on some path. Barriers are inserted before the steps where `inserted` is true.
pub(super) fn conflicts(program: &LdsUse, inserted: &[bool]) -> Relation {
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

/// The sets of accessed buffers at the ends of a loop's or branch's paths.
struct Scope {
    runs: Uniformity,
    /// The set at its begin.
    entry: Bits,
    /// The set at the end of its first arm.
    first_arm: Option<Bits>,
}

fn unsynchronised(program: &LdsUse, inserted: &[bool]) -> Relation {
    let buffers = program.storages.len();
    let mut relation = Relation::new(buffers);
    // The set that the end of each loop carries back to its begin.
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
                LdsEvent::Statement { .. } => {
                    let accesses = program.accesses_of(step.event);
                    for &(buffer, _) in accesses {
                        open.iter().for_each(|other| relation.insert(buffer as usize, other));
                        open.insert(buffer as usize);
                    }
                }
                LdsEvent::Barrier if !step.divergent => open.clear(),
                LdsEvent::Barrier => {}
                LdsEvent::LoopBegin { runs, .. } => {
                    scopes.push(Scope { runs, entry: open.clone(), first_arm: None });
                    if let Some(carried) = back.get(at).and_then(Option::as_ref) {
                        open.add(carried);
                    }
                }
                LdsEvent::LoopEnd { begin } => {
                    if let Some(slot) = back.get_mut(begin) {
                        again |= slot.get_or_insert_with(|| Bits::new(buffers)).add(&open);
                    }
                    if let Some(scope) = scopes.pop()
                        && scope.runs != Uniformity::UniformTaken
                    {
                        open.add(&scope.entry);
                    }
                }
                LdsEvent::BranchBegin { runs, .. } => {
                    scopes.push(Scope { runs, entry: open.clone(), first_arm: None });
                }
                LdsEvent::Else { end, .. } => {
                    if let Some(scope) = scopes.last_mut() {
                        let first_arm = std::mem::replace(&mut open, scope.entry.clone());
                        match scope.runs {
                            // Some work-items run one arm while others run the other.
                            Uniformity::Divergent => drop(open.add(&first_arm)),
                            Uniformity::Uniform => {}
                            // Control never gets here.
                            Uniformity::UniformTaken => next = end,
                        }
                        scope.first_arm = Some(first_arm);
                    }
                }
                LdsEvent::BranchEnd => {
                    if let Some(scope) = scopes.pop() {
                        match (scope.runs, scope.first_arm) {
                            (Uniformity::UniformTaken, Some(first_arm)) => open = first_arm,
                            (_, Some(first_arm)) => drop(open.add(&first_arm)),
                            (Uniformity::UniformTaken, None) => {}
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
