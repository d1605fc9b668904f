//! The values that streams have written to memory: what must have happened when a wait for one is over.

use std::collections::{BTreeMap, VecDeque};

use super::clock::{Clock, WorkPosition};
use hip_driver::{Comparison, ValueWidth, WaitCondition};

/// The number of writes that are kept of each value.
const KEPT: usize = 64;

#[derive(Debug)]
struct Written {
    width: ValueWidth,
    value: u64,
    work: WorkPosition,
    /// What happens before the write, and the write.
    before: Clock,
}

/// The values written to an allocation, by byte offset, the last ones last. Those are removed over which other work, or the
/// host, has written.
#[derive(Debug, Default)]
pub(super) struct Values(BTreeMap<u64, VecDeque<Written>>);

impl Values {
    /// Records that a stream writes a value.
    pub(super) fn write(
        &mut self,
        at: u64,
        width: ValueWidth,
        value: u64,
        work: WorkPosition,
        before: Clock,
    ) {
        let writes = self.0.entry(at).or_default();
        if writes.len() == KEPT {
            writes.pop_front();
        }
        writes.push_back(Written { width, value, work, before });
    }

    /// Forgets what was written to `start..end`: something else writes there.
    pub(super) fn forget(&mut self, (start, end): (u64, u64)) {
        if !self.0.is_empty() {
            // A value has 8 bytes at most.
            self.0.retain(|&at, _| at + 8 <= start || end <= at);
        }
    }

    /// Returns what has happened when a wait for the value at an offset is over; `None` if nobody knows. The last write that
    /// suffices ends it, if the value must be exact; a write from which on all suffice, if it only has to be large enough. What
    /// the host knows to be over may have been overwritten by the host since.
    pub(super) fn explain(
        &self,
        at: u64,
        width: ValueWidth,
        condition: &WaitCondition,
        known: impl Fn(WorkPosition) -> bool,
    ) -> Option<Clock> {
        let suffices = |write: &&Written| {
            write.width == width && condition.holds(width, write.value) && !known(write.work)
        };
        let mut writes = self.0.get(&at)?.iter().rev().skip_while(|write| !suffices(write));
        let mut sure = writes.next()?.before.clone();
        if condition.comparison == Comparison::AtLeast {
            writes.take_while(suffices).for_each(|write| sure.meet(&write.before));
        }
        Some(sure)
    }
}
