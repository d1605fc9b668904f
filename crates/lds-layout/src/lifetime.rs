//! Computes when the contents of a buffer are needed: from its first access to its last, extended to the whole of every
//! loop that carries the contents from one iteration to the next.
//!
//! A loop carries the contents of a buffer unless its first access in the body is a write that every iteration
//! executes. A write under a condition, or in a divergent loop, may not happen; then the earlier contents are still
//! needed.

use super::bits::Bits;
use super::builder::{Access, Uniformity};
use super::program::{LdsEvent, LdsUse};

/// A loop or branch around the current step.
struct OpenScope {
    /// For a loop, its index in the list of loops, and the buffers that its body has accessed so far.
    body: Option<(usize, Bits)>,
    /// Whether each iteration of the enclosing scope executes this one.
    certain: bool,
}

/// Returns the first and last step at which each buffer is live.
pub(super) fn lifetimes(program: &LdsUse) -> Vec<(usize, usize)> {
    let mut live: Vec<(usize, usize)> = program.storages.iter().map(|storage| storage.accessed).collect();
    let mut open: Vec<OpenScope> = Vec::new();
    let mut loops: Vec<(usize, usize, bool)> = Vec::new();
    for (at, step) in program.steps.iter().enumerate() {
        match step.event {
            LdsEvent::LoopBegin { runs, end } => {
                let body = Some((loops.len(), Bits::new(live.len())));
                loops.push((at, end, runs == Uniformity::Divergent));
                open.push(OpenScope { body, certain: runs == Uniformity::UniformTaken });
            }
            LdsEvent::BranchBegin { runs, .. } => {
                open.push(OpenScope { body: None, certain: runs == Uniformity::UniformTaken });
            }
            LdsEvent::Else { .. } => {
                if let Some(branch) = open.last_mut() {
                    branch.certain = false;
                }
            }
            LdsEvent::LoopEnd { .. } | LdsEvent::BranchEnd => {
                open.pop();
            }
            LdsEvent::Barrier => {}
            LdsEvent::Statement { .. } => {
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
