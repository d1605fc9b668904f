//! Lets the next buffer reuse the bytes of one, as nvFuser's `promoteReuse` does.

use super::LdsError;
use super::builder::LdsBufferId;
use super::program::{LdsEvent, LdsUse, Storage};
use super::separation::conflicts;

impl LdsUse {
    /// Lets the buffer whose lifetime begins next after the last access of `buffer` reuse its bytes. If no barrier
    /// separates the two, one is inserted right before the first access of the other buffer, or before the condition
    /// around that access. If both are in a loop and nothing separates one iteration from the next, another one is
    /// inserted at the end of the loop's body. Returns the positions before which barriers were inserted: none if the
    /// present barriers are sufficient or no lifetime begins later.
    ///
    /// This is nvFuser's `promoteReuse`. [`layout_within`](LdsUse::layout_within) finds without help where barriers are
    /// worth inserting.
    ///
    /// # Errors
    /// Returns [`LdsError::NoPlaceForBarrier`] if no barrier can separate the two, or an error if the id is of another
    /// builder. Nothing is inserted then.
    pub fn promote_reuse(&mut self, buffer: LdsBufferId) -> Result<Vec<u64>, LdsError> {
        let Some(own) = self.storage(buffer)? else { return Ok(Vec::new()) };
        let Some(&Storage { live: (_, last), .. }) = self.storages.get(own) else { return Ok(Vec::new()) };
        let later = self.storages.iter().enumerate().filter(|(_, other)| other.live.0 > last);
        let Some((next, &Storage { live: (first, _), .. })) = later.min_by_key(|(_, other)| other.live.0)
        else {
            return Ok(Vec::new());
        };
        if !conflicts(self, &self.inserted).has(own, next) {
            return Ok(Vec::new());
        }
        let places = |gap: Option<usize>| gap.filter(|&g| self.steps.get(g).is_some_and(|s| !s.divergent));
        let forward = places(Some(forward_gap(self, last, first)));
        let around = places(common_loop(self, last, first));
        for gaps in [vec![forward], vec![around], vec![forward, around]] {
            let gaps: Vec<usize> = gaps.into_iter().flatten().collect();
            let mut inserted = self.inserted.clone();
            for &gap in &gaps {
                if let Some(inserted) = inserted.get_mut(gap) {
                    *inserted = true;
                }
            }
            if !conflicts(self, &inserted).has(own, next) {
                self.inserted = inserted;
                return Ok(gaps.into_iter().map(|gap| self.position(gap)).collect());
            }
        }
        let name = |index: usize| self.storages.get(index).map(|s| s.name.clone()).unwrap_or_default();
        let (last, next_at) = (self.position(last), self.position(first));
        Err(LdsError::NoPlaceForBarrier { buffer: name(own), last, other: name(next), next: next_at })
    }
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
