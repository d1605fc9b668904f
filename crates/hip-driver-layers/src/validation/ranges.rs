//! The last accesses of each byte of an allocation: an interval map of the accesses that later ones must be ordered
//! after.

use std::collections::BTreeMap;

use super::clock::WorkPosition;
use super::violation::Operation;

/// An access with which a later one can still conflict.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct AccessRecord {
    pub(super) work: WorkPosition,
    pub(super) write: bool,
    pub(super) operation: Operation,
}

/// A range of bytes with the same accesses, up to `end`.
#[derive(Clone, Debug)]
struct AccessCell {
    end: u64,
    records: Vec<AccessRecord>,
}

/// The accesses of one allocation, by byte offset. Cells do not overlap, and each has at least one record.
///
/// Only accesses with which a later one can conflict are kept. An access is removed when the host knows that it has
/// finished. It is also removed when a later access of the same bytes happens after it and conflicts with everything
/// that it conflicts with: whatever is not ordered after the earlier one is then not ordered after the later one
/// either.
#[derive(Debug, Default)]
pub(super) struct Ranges {
    cells: BTreeMap<u64, AccessCell>,
    /// The number of cells above which finished accesses are searched for and removed.
    prune_at: usize,
}

/// The number of cells up to which finished accesses are never searched for.
const PRUNE_MIN: usize = 256;

impl Ranges {
    /// Records an access of `start..end`. Calls `conflict`, with the first common bytes, once for each earlier access
    /// that overlaps it and is not `ordered` before it, if at least one of the two writes.
    pub(super) fn access(
        &mut self,
        (start, end): (u64, u64),
        new: AccessRecord,
        ordered: impl Fn(WorkPosition) -> bool,
        known: impl Fn(WorkPosition) -> bool,
        mut conflict: impl FnMut(&AccessRecord, (u64, u64)),
    ) {
        if start >= end {
            return;
        }
        let mut reported: Vec<WorkPosition> = Vec::new();
        let mut update = |cell: &mut AccessCell, from: u64| {
            cell.records.retain(|old| {
                if known(old.work) {
                    return false;
                }
                let ordered = ordered(old.work);
                if (new.write || old.write) && !ordered && !reported.contains(&old.work) {
                    reported.push(old.work);
                    conflict(old, (from, cell.end));
                }
                !(ordered && (new.write || !old.write))
            });
            cell.records.push(new);
        };
        // The most common case: the same bytes as before.
        if let Some(cell) = self.cells.get_mut(&start)
            && cell.end == end
        {
            update(cell, start);
            return;
        }
        self.split(start);
        self.split(end);
        let mut at = start;
        while at < end {
            let next = self.cells.range(at..end).next().map(|(&from, cell)| (from, cell.end));
            match next {
                Some((from, to)) if from == at => {
                    if let Some(cell) = self.cells.get_mut(&at) {
                        update(cell, at);
                    }
                    at = to;
                }
                _ => {
                    let to = next.map_or(end, |(from, _)| from);
                    self.cells.insert(at, AccessCell { end: to, records: vec![new] });
                    at = to;
                }
            }
        }
        self.join(start, end);
        if self.cells.len() > self.prune_at.max(PRUNE_MIN) {
            self.prune(known);
        }
    }

    /// Calls `conflict` once for each access of `start..end` that is not `ordered` and that writes or, if `write` is
    /// set, reads.
    pub(super) fn unordered(
        &self,
        (start, end): (u64, u64),
        write: bool,
        ordered: impl Fn(WorkPosition) -> bool,
        mut conflict: impl FnMut(&AccessRecord, (u64, u64)),
    ) {
        let first = self.cells.range(..=start).next_back().map_or(start, |(&from, _)| from);
        let mut reported: Vec<WorkPosition> = Vec::new();
        for (&from, cell) in self.cells.range(first..end).filter(|(_, cell)| cell.end > start) {
            for record in &cell.records {
                if (write || record.write) && !ordered(record.work) && !reported.contains(&record.work) {
                    reported.push(record.work);
                    conflict(record, (from.max(start), cell.end.min(end)));
                }
            }
        }
    }

    /// Splits the cell that contains `at`, so that a cell begins there.
    fn split(&mut self, at: u64) {
        let Some((_, cell)) = self.cells.range_mut(..at).next_back() else { return };
        if cell.end > at {
            let rest = AccessCell { end: cell.end, records: cell.records.clone() };
            cell.end = at;
            self.cells.insert(at, rest);
        }
    }

    /// Joins neighbours with the same accesses, from the cell before `start` to the one that begins at `end`.
    fn join(&mut self, start: u64, end: u64) {
        let mut at = self.cells.range(..start).next_back().map_or(start, |(&from, _)| from);
        while at < end {
            let Some(to) = self.cells.get(&at).map(|cell| cell.end) else {
                match self.cells.range(at..end).next() {
                    Some((&from, _)) => at = from,
                    None => return,
                }
                continue;
            };
            let same = match (self.cells.get(&at), self.cells.get(&to)) {
                (Some(left), Some(right)) => left.records == right.records,
                _ => false,
            };
            if !same {
                at = to;
                continue;
            }
            if let Some(right) = self.cells.remove(&to)
                && let Some(left) = self.cells.get_mut(&at)
            {
                left.end = right.end;
            }
        }
    }

    /// Removes finished accesses. Joins cells if many are left.
    fn prune(&mut self, known: impl Fn(WorkPosition) -> bool) {
        let before = self.cells.len();
        self.cells.retain(|_, cell| {
            cell.records.retain(|record| !known(record.work));
            !cell.records.is_empty()
        });
        if self.cells.len() > before / 2
            && let (Some((&first, _)), Some((_, last))) =
                (self.cells.first_key_value(), self.cells.last_key_value())
        {
            let end = last.end;
            self.join(first, end);
        }
        self.prune_at = 2 * self.cells.len();
    }

    /// Returns the number of records, for a test that they stay few.
    #[cfg(test)]
    pub(super) fn len(&self) -> usize {
        self.cells.values().map(|cell| cell.records.len()).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use hip_driver::CallKind;

    fn record(slot: u32, seq: u64, write: bool) -> AccessRecord {
        let operation = Operation::of(CallKind::LaunchKernel);
        AccessRecord { work: WorkPosition { slot, seq }, write, operation }
    }

    /// Records accesses of one stream; the host knows nothing.
    fn access(ranges: &mut Ranges, range: (u64, u64), new: AccessRecord) -> Vec<(WorkPosition, (u64, u64))> {
        let mut found = Vec::new();
        let slot = new.work.slot;
        let conflict = |old: &AccessRecord, common| found.push((old.work, common));
        ranges.access(range, new, |w| w.slot == slot, |_| false, conflict);
        found
    }

    #[test]
    fn ranges_split_where_accesses_begin_and_end() {
        let mut ranges = Ranges::default();
        assert_eq!(access(&mut ranges, (0, 100), record(0, 1, true)), []);
        assert_eq!(access(&mut ranges, (40, 60), record(0, 2, true)), []);
        let found = access(&mut ranges, (30, 70), record(1, 1, false));
        let first = (WorkPosition { slot: 0, seq: 1 }, (30, 40));
        assert_eq!(found, [first, (WorkPosition { slot: 0, seq: 2 }, (40, 60))]);
        assert_eq!(access(&mut ranges, (100, 120), record(1, 2, true)), []);
    }

    #[test]
    fn a_stream_that_nobody_waits_for_keeps_few_records() {
        let mut ranges = Ranges::default();
        for seq in 1..=100_000 {
            let at = seq % 64 * 64;
            access(&mut ranges, (at, at + 64), record(0, 2 * seq, true));
            access(&mut ranges, (at + 8, at + 24), record(0, 2 * seq + 1, false));
        }
        // For each of the 64 ranges: three parts written, one of them read too.
        assert!(ranges.len() <= 64 * 4, "{}", ranges.len());
    }

    #[test]
    fn finished_accesses_are_removed() {
        let mut ranges = Ranges::default();
        for seq in 1..=10_000 {
            let at = seq * 64;
            let known = |w: WorkPosition| w.seq + 10 < seq;
            ranges.access((at, at + 64), record(0, seq, true), |_| true, known, |_, _| ());
        }
        assert!(ranges.len() <= 2 * PRUNE_MIN, "{}", ranges.len());
    }

    #[test]
    fn neighbours_with_the_same_accesses_are_one() {
        let mut ranges = Ranges::default();
        for at in [0, 20, 10, 30] {
            access(&mut ranges, (at, at + 10), record(0, at + 1, false));
        }
        access(&mut ranges, (0, 40), record(0, 99, true));
        assert_eq!((ranges.cells.len(), ranges.len()), (1, 1));
    }
}
