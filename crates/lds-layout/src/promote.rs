//! Lets the next buffer reuse the bytes of one, as nvFuser's `promoteReuse` does.

use super::LdsError;
use super::builder::LdsBufferId;
use super::program::{LdsEvent, LdsUse, Storage};
use super::separation::conflicts;

pub(super) fn promote_reuse(program: &mut LdsUse, buffer: LdsBufferId) -> Result<Vec<u64>, LdsError> {
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

/// Returns the gap right before the first access of the next buffer, or before the outermost condition or loop around
/// that access that does not contain the last access of this buffer.
fn forward_gap(program: &LdsUse, last: usize, first: usize) -> usize {
    let mut open: Vec<usize> = Vec::new();
    for (at, step) in program.steps.iter().enumerate().take(first).skip(last + 1) {
        match step.event {
            LdsEvent::LoopBegin { .. } | LdsEvent::BranchBegin { .. } => open.push(at),
            LdsEvent::LoopEnd { .. } | LdsEvent::BranchEnd => {
                open.pop();
            }
            _ => {}
        }
    }
    open.first().copied().unwrap_or(first)
}

/// Returns the end of the innermost loop that contains both steps.
fn common_loop(program: &LdsUse, a: usize, b: usize) -> Option<usize> {
    let mut innermost = None;
    for step in program.steps.iter().take(a + 1) {
        if let LdsEvent::LoopBegin { end, .. } = step.event
            && a <= end
            && b <= end
        {
            innermost = Some(end);
        }
    }
    innermost
}
