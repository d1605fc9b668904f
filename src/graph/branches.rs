//! Runs the branches of a graph on several streams: assigns steps to streams, and events to dependencies.

use smallvec::SmallVec;

/// The largest number of streams of a graph.
const MAX_STREAMS: u32 = 32;

/// The number of streams on which a graph's independent branches run. The results are the same to the last bit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Branches {
    /// Branches run one after the other, on the stream of the compute.
    #[default]
    One,
    /// Branches run at the same time, on up to this number of streams (at most 32): the stream of the compute, and side
    /// streams that wait for the work enqueued on it before, and for which it waits at the end. Events order steps on
    /// different streams that depend on each other. Temporaries of branches that may run at the same time never share
    /// bytes, so the workspace may be larger. (In a graph with more than 128 temporaries, those that several streams
    /// access share bytes with each other, and their steps wait for each other.)
    Streams(u32),
}

impl Branches {
    /// Returns the largest number of streams that a graph uses.
    pub fn max_streams(self) -> usize {
        match self {
            Branches::One => 1,
            Branches::Streams(n) => n.clamp(1, MAX_STREAMS) as usize,
        }
    }
}

/// The stream of each step, and the partial order that streams and dependencies imply.
#[derive(Debug)]
pub(super) struct StepOrder {
    pub(super) streams: usize,
    pub(super) stream_of: Vec<u8>,
    /// For each step its number among the steps of its stream, from 1.
    positions: Vec<u32>,
    /// For each step and stream, the number of steps of that stream that come before it or are it.
    clock: Vec<u32>,
}

impl StepOrder {
    /// Assigns each step, in this order, to the stream where it can begin first if all steps take the same time. Of
    /// several streams it chooses that of a dependency, which needs no event. `after` has the earlier steps that each
    /// step comes after.
    pub(super) fn new(after: &[SmallVec<[u32; 4]>], most: usize) -> StepOrder {
        let (mut finish, mut level) = (vec![0u32; most], vec![0u32; after.len()]);
        let mut tails: Vec<Option<u32>> = vec![None; most];
        let mut stream_of = Vec::with_capacity(after.len());
        for (index, after) in after.iter().enumerate() {
            let ready = after.iter().map(|&d| level[d as usize]).max().unwrap_or(0);
            let continues = |s: usize| tails[s].is_some_and(|tail| after.contains(&tail));
            let best = (0..most).min_by_key(|&s| (finish[s].max(ready), !continues(s))).unwrap_or(0);
            level[index] = finish[best].max(ready) + 1;
            finish[best] = level[index];
            tails[best] = Some(index as u32);
            stream_of.push(best as u8);
        }
        let streams = tails.iter().rposition(Option::is_some).map_or(1, |last| last + 1);
        let (mut positions, mut clock) = (Vec::with_capacity(after.len()), vec![0u32; after.len() * streams]);
        let mut counts = vec![0u32; streams];
        let mut tails: Vec<Option<usize>> = vec![None; streams];
        for (index, after) in after.iter().enumerate() {
            let own = usize::from(stream_of[index]);
            let (earlier, mine) = clock.split_at_mut(index * streams);
            let before = after.iter().map(|&d| d as usize).chain(tails[own]);
            for d in before {
                for (c, e) in mine.iter_mut().zip(&earlier[d * streams..(d + 1) * streams]) {
                    *c = (*c).max(*e);
                }
            }
            counts[own] += 1;
            mine[own] = counts[own];
            positions.push(counts[own]);
            tails[own] = Some(index);
        }
        StepOrder { streams, stream_of, positions, clock }
    }

    /// Returns whether step `a` has always finished when step `b` begins.
    pub(super) fn before(&self, a: usize, b: usize) -> bool {
        a != b && self.clock_of(b)[usize::from(self.stream_of[a])] >= self.positions[a]
    }

    fn clock_of(&self, step: usize) -> &[u32] {
        &self.clock[step * self.streams..(step + 1) * self.streams]
    }

    /// Returns the last step that comes before all of `steps`, if there is one.
    pub(super) fn before_all(&self, steps: &[u32]) -> Option<usize> {
        let last_on = |stream: usize| {
            let strictly = |&step: &u32| {
                let own = usize::from(self.stream_of[step as usize]) == stream;
                self.clock_of(step as usize)[stream] - u32::from(own)
            };
            steps.iter().map(strictly).min().unwrap_or(0)
        };
        let reach: Vec<u32> = (0..self.streams).map(last_on).collect();
        let is_there = |&step: &usize| reach[usize::from(self.stream_of[step])] == self.positions[step];
        (0..self.stream_of.len()).rev().find(is_there)
    }
}

/// Events between streams. Each is recorded once in a compute, after the step that it stands for.
#[derive(Debug)]
pub(super) struct Schedule {
    pub(super) streams: usize,
    pub(super) stream_of: Vec<u8>,
    /// For each step, the events that its stream waits for before it.
    pub(super) waits: Vec<SmallVec<[u32; 2]>>,
    /// For each step, the event that is recorded after it.
    pub(super) records: Vec<Option<u32>>,
    /// The event after the earlier work of the first stream.
    pub(super) fork: Option<u32>,
    /// The events that the first stream waits for at the end.
    pub(super) joins: SmallVec<[u32; 4]>,
    /// The number of events.
    pub(super) events: u32,
}

impl Schedule {
    /// Creates the events for `after`, the earlier steps that each step comes after: only where no other wait implies
    /// the order.
    pub(super) fn new(order: &StepOrder, after: &[SmallVec<[u32; 4]>]) -> Schedule {
        let (steps, streams) = (order.stream_of.len(), order.streams);
        let mut schedule = Schedule {
            streams,
            stream_of: order.stream_of.clone(),
            waits: vec![SmallVec::new(); steps],
            records: vec![None; steps],
            fork: None,
            joins: SmallVec::new(),
            events: 0,
        };
        // How far each stream has surely progressed for each other stream, by waits alone. (The clocks of the
        // order assume the waits that are created here.)
        let mut progress = vec![vec![0u32; streams]; streams];
        let mut at: Vec<Vec<u32>> = Vec::with_capacity(steps);
        let mut last: Vec<Option<usize>> = vec![None; streams];
        for (step, after) in after.iter().enumerate() {
            let own = usize::from(order.stream_of[step]);
            let mut waits: SmallVec<[u32; 2]> = SmallVec::new();
            // The latest first, because it may come after the others.
            for &d in after.iter().rev() {
                let (d, from) = (d as usize, usize::from(order.stream_of[d as usize]));
                if from != own && progress[own][from] < order.positions[d] {
                    waits.push(schedule.event_after(d));
                    merge(&mut progress[own], &at[d]);
                }
            }
            // Any step that it waits for came after the fork.
            if own != 0 && last[own].is_none() && waits.is_empty() {
                waits.push(schedule.fork());
            }
            schedule.waits[step] = waits;
            progress[own][own] = order.positions[step];
            at.push(progress[own].clone());
            last[own] = Some(step);
        }
        let mut ends: SmallVec<[usize; 4]> = last.iter().skip(1).copied().flatten().collect();
        ends.sort_unstable_by(|a, b| b.cmp(a));
        for end in ends {
            if progress[0][usize::from(order.stream_of[end])] < order.positions[end] {
                let event = schedule.event_after(end);
                schedule.joins.push(event);
                merge(&mut progress[0], &at[end]);
            }
        }
        schedule
    }

    fn event_after(&mut self, step: usize) -> u32 {
        *self.records[step].get_or_insert_with(|| {
            self.events += 1;
            self.events - 1
        })
    }

    fn fork(&mut self) -> u32 {
        *self.fork.get_or_insert_with(|| {
            self.events += 1;
            self.events - 1
        })
    }
}

fn merge(into: &mut [u32], from: &[u32]) {
    for (i, f) in into.iter_mut().zip(from) {
        *i = (*i).max(*f);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn after(all: &[&[u32]]) -> Vec<SmallVec<[u32; 4]>> {
        all.iter().map(|a| SmallVec::from_slice(a)).collect()
    }

    #[test]
    fn a_chain_stays_on_its_stream_and_needs_no_event() {
        let after = after(&[&[], &[0], &[1], &[2]]);
        let order = StepOrder::new(&after, 4);
        assert_eq!((order.streams, &order.stream_of[..]), (1, &[0, 0, 0, 0][..]));
        assert_eq!(Schedule::new(&order, &after).events, 0);
    }

    #[test]
    fn a_diamond_forks_and_joins() {
        // The dependencies are 0 -> 1, 0 -> 2 -> 3, 1 -> 4 and 3 -> 4.
        let after = after(&[&[], &[0], &[0], &[2], &[1, 3]]);
        let order = StepOrder::new(&after, 4);
        assert_eq!(order.stream_of, [0, 0, 1, 1, 0], "the last one where it has to be in the end");
        assert!(order.before(0, 3) && !order.before(1, 2) && !order.before(2, 1) && order.before(1, 4));
        assert_eq!((order.before_all(&[1, 2]), order.before_all(&[0, 1])), (Some(0), None));
        let schedule = Schedule::new(&order, &after);
        assert_eq!(schedule.waits.iter().map(|w| w.len()).collect::<Vec<_>>(), [0, 0, 1, 0, 1]);
        assert_eq!((schedule.fork, schedule.joins.len(), schedule.events), (None, 0, 2));
    }

    #[test]
    fn roots_wait_for_the_fork_and_more_branches_than_streams_share() {
        let after = after(&[&[], &[], &[], &[]]);
        let order = StepOrder::new(&after, 2);
        assert_eq!(order.stream_of, [0, 1, 0, 1]);
        let schedule = Schedule::new(&order, &after);
        assert_eq!((schedule.fork, schedule.waits[1].len(), schedule.waits[3].len()), (Some(0), 1, 0));
        assert_eq!((schedule.joins.len(), schedule.events), (1, 2));
    }

    #[test]
    fn what_another_wait_covers_is_not_waited_for() {
        // 1 is on its own stream; 3 comes after 2 and 1, of which 2 comes after 1.
        let after = after(&[&[], &[], &[1], &[1, 2], &[0, 3]]);
        let order = StepOrder::new(&after, 3);
        let waits: usize = Schedule::new(&order, &after).waits.iter().map(|w| w.len()).sum();
        assert_eq!(order.stream_of, [0, 1, 1, 1, 0]);
        assert_eq!(waits, 2, "the fork, and 3 before 4");
    }
}
