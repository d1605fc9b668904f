//! When a buffer's bytes hold something: from its first access to its last, and the whole of every loop that it is
//! carried round.
//!
//! A buffer is carried round a loop's back edge unless its first access in the body is a write that every pass comes by.
//! What is written under a condition, or in a divergent loop, may not be written at all, and what is there before is then
//! still wanted.

use super::bits::Bits;
use super::builder::{Access, Runs};
use super::program::{Event, LdsProgram};

/// A loop or branch around the current step.
struct Open {
    /// For a loop, where it is in the list of loops, and what its body accessed so far.
    body: Option<(usize, Bits)>,
    /// Whether each pass of what is around comes by here.
    certain: bool,
}

/// First and last step of each buffer.
pub(super) fn lifetimes(program: &LdsProgram) -> Vec<(usize, usize)> {
    let mut live: Vec<(usize, usize)> = program.storages.iter().map(|storage| storage.accessed).collect();
    let mut open: Vec<Open> = Vec::new();
    let mut loops: Vec<(usize, usize, bool)> = Vec::new();
    for (at, step) in program.steps.iter().enumerate() {
        match step.event {
            Event::LoopBegin { runs, end } => {
                let body = Some((loops.len(), Bits::new(live.len())));
                loops.push((at, end, runs == Runs::Divergent));
                open.push(Open { body, certain: runs == Runs::Executed });
            }
            Event::BranchBegin { runs, .. } => {
                open.push(Open { body: None, certain: runs == Runs::Executed });
            }
            Event::Else { .. } => {
                if let Some(branch) = open.last_mut() {
                    branch.certain = false;
                }
            }
            Event::LoopEnd { .. } | Event::BranchEnd => {
                open.pop();
            }
            Event::Barrier => {}
            Event::Statement { .. } => {
                for &(buffer, access) in program.accesses_of(step.event) {
                    let index = buffer as usize;
                    let mut defines = access == Access::Write;
                    for scope in open.iter_mut().rev() {
                        if let Some((number, seen)) = &mut scope.body
                            && !seen.contains(index)
                        {
                            seen.insert(index);
                            let (begin, end, divergent) = loops[*number];
                            if !defines || divergent {
                                live[index].0 = live[index].0.min(begin);
                                live[index].1 = live[index].1.max(end);
                            }
                        }
                        defines &= scope.certain;
                    }
                }
            }
        }
    }
    live
}
