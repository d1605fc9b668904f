//! Finds the gaps where an inserted barrier can help. Of gaps that are equivalent, it returns one.
//!
//! In a run of steps without begins and ends of loops and branches, a barrier that moves forward past last accesses, or
//! back past first accesses, separates no less than before. So it is enough to try the gaps right before a first access
//! that follows a last access, and the two ends of the run, unless these are the begin or end of the kernel.

use super::bits::Bits;
use super::program::{LdsEvent, LdsUse};

/// Returns the steps before which a barrier can help, those inside fewer loops first.
pub(super) fn candidates(program: &LdsUse) -> Vec<usize> {
    let steps = &program.steps;
    let mut gaps = Vec::new();
    let mut start = 0;
    for end in 0..=steps.len() {
        let mark = steps.get(end).map(|step| step.event);
        if matches!(mark, Some(LdsEvent::Statement { .. } | LdsEvent::Barrier)) {
            continue;
        }
        stretch(program, start, end, &mut gaps);
        start = end + 1;
    }
    gaps.retain(|&gap| steps.get(gap).is_some_and(|step| !step.divergent));
    gaps.sort_by_key(|&gap| (steps[gap].depth, gap));
    gaps
}

/// Adds the candidates among the steps from `start` up to `end`, where a scope begins or ends or the kernel ends.
fn stretch(program: &LdsUse, start: usize, end: usize, gaps: &mut Vec<usize>) {
    let buffers = program.storages.len();
    // For each step, whether it has an access that is the first or last of its buffer in this run of steps.
    let mut first = vec![false; end - start];
    let mut last = vec![false; end - start];
    let accesses = |at: usize| program.accesses_of(program.steps[at].event).iter().map(|a| a.0 as usize);
    let (mut seen, mut seen_back) = (Bits::new(buffers), Bits::new(buffers));
    for at in start..end {
        for buffer in accesses(at).filter(|&buffer| !seen.contains(buffer)).collect::<Vec<_>>() {
            seen.insert(buffer);
            first[at - start] = true;
        }
    }
    for at in (start..end).rev() {
        for buffer in accesses(at).filter(|&buffer| !seen_back.contains(buffer)).collect::<Vec<_>>() {
            seen_back.insert(buffer);
            last[at - start] = true;
        }
    }
    // Whether a buffer had its last access since the last candidate. One before this run of steps may have.
    let mut pending = start > 0;
    for at in start..end {
        if pending && first[at - start] {
            gaps.push(at);
            pending = false;
        }
        pending |= last[at - start];
        if matches!(program.steps[at].event, LdsEvent::Barrier) {
            pending = false;
        }
    }
    if pending && end < program.steps.len() {
        gaps.push(end);
    }
}
