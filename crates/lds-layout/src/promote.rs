//! One buffer's bytes for what comes next, as nvFuser's `promoteReuse` does it.

use super::LdsError;
use super::builder::LdsId;
use super::program::{Event, LdsProgram, Storage};
use super::separation::conflicts;

pub(super) fn promote_reuse(program: &mut LdsProgram, buffer: LdsId) -> Result<Vec<u64>, LdsError> {
    let Some(own) = program.storage(buffer)? else { return Ok(Vec::new()) };
    let Some(&Storage { live: (_, last), .. }) = program.storages.get(own) else { return Ok(Vec::new()) };
    let later = program.storages.iter().enumerate().filter(|(_, other)| other.live.0 > last);
    let Some((next, &Storage { live: (first, _), .. })) = later.min_by_key(|(_, other)| other.live.0) else {
        return Ok(Vec::new());
    };
    if !conflicts(program, &program.inserted).has(own, next) {
        return Ok(Vec::new());
    }
    let places = |gap: Option<usize>| gap.filter(|&g| program.steps.get(g).is_some_and(|s| !s.divergent));
    let forward = places(Some(forward_gap(program, last, first)));
    let around = places(common_loop(program, last, first));
    for gaps in [vec![forward], vec![around], vec![forward, around]] {
        let gaps: Vec<usize> = gaps.into_iter().flatten().collect();
        let mut inserted = program.inserted.clone();
        for &gap in &gaps {
            if let Some(inserted) = inserted.get_mut(gap) {
                *inserted = true;
            }
        }
        if !conflicts(program, &inserted).has(own, next) {
            program.inserted = inserted;
            return Ok(gaps.into_iter().map(|gap| program.position(gap)).collect());
        }
    }
    let name = |index: usize| program.storages.get(index).map(|s| s.name.clone()).unwrap_or_default();
    let (last, next_at) = (program.position(last), program.position(first));
    Err(LdsError::NoPlaceForBarrier { buffer: name(own), last, other: name(next), next: next_at })
}

/// The gap right before the first access of what comes next, or before the outermost condition or loop around it that
/// does not hold the last access before it.
fn forward_gap(program: &LdsProgram, last: usize, first: usize) -> usize {
    let mut open: Vec<usize> = Vec::new();
    for (at, step) in program.steps.iter().enumerate().take(first).skip(last + 1) {
        match step.event {
            Event::LoopBegin { .. } | Event::BranchBegin { .. } => open.push(at),
            Event::LoopEnd { .. } | Event::BranchEnd => {
                open.pop();
            }
            _ => {}
        }
    }
    open.first().copied().unwrap_or(first)
}

/// The end of the innermost loop that holds both steps.
fn common_loop(program: &LdsProgram, a: usize, b: usize) -> Option<usize> {
    let mut innermost = None;
    for step in program.steps.iter().take(a + 1) {
        if let Event::LoopBegin { end, .. } = step.event
            && a <= end
            && b <= end
        {
            innermost = Some(end);
        }
    }
    innermost
}
