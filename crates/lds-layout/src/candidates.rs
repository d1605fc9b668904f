//! The gaps where a barrier may be worth it: of those between which nothing makes a difference, one.
//!
//! In a stretch without begins and ends of loops and branches, a barrier can be moved on past last accesses and back past
//! first accesses, and separates no less than before. So those right before a first access that comes behind a last one
//! are enough, with those at the two ends of the stretch where something other than the kernel's begin or end is there.

use super::bits::Bits;
use super::program::{Event, LdsProgram};

/// Steps before which a barrier may be worth it, those in fewer loops first.
pub(super) fn candidates(program: &LdsProgram) -> Vec<usize> {
    let steps = &program.steps;
    let mut gaps = Vec::new();
    let mut start = 0;
    for end in 0..=steps.len() {
        let mark = steps.get(end).map(|step| step.event);
        if matches!(mark, Some(Event::Statement { .. } | Event::Barrier)) {
            continue;
        }
        stretch(program, start, end, &mut gaps);
        start = end + 1;
    }
    gaps.retain(|&gap| steps.get(gap).is_some_and(|step| !step.divergent));
    gaps.sort_by_key(|&gap| (steps[gap].depth, gap));
    gaps
}

/// Those before the steps from `start` up to `end`, which begins or ends something or is the kernel's end.
fn stretch(program: &LdsProgram, start: usize, end: usize, gaps: &mut Vec<usize>) {
    let buffers = program.storages.len();
    // For each step, the accesses that are the first or last of their buffer in the stretch.
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
    // Whether something ended since the last candidate; what came before the stretch may have.
    let mut pending = start > 0;
    for at in start..end {
        if pending && first[at - start] {
            gaps.push(at);
            pending = false;
        }
        pending |= last[at - start];
        if matches!(program.steps[at].event, Event::Barrier) {
            pending = false;
        }
    }
    if pending && end < program.steps.len() {
        gaps.push(end);
    }
}
