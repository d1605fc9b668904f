//! Random sequences of calls, compared with a simple model of happens-before that keeps all work and compares every
//! pair.

use std::collections::BTreeSet;

use hip_driver::{DevicePtr, Driver, PinnedAllocation, RawEvent, RawStream, Work as DriverWork};
use hip_driver_layers::validation::{AccessInfo, Violation};
use proptest::prelude::*;

use crate::rig::{D0, Rig, reads, writes};

const STREAMS: usize = 3;
const EVENTS: usize = 2;
const MEMORIES: usize = 3;
/// Ranges have units of 8 bytes, and memories have 8 units. The first memory is a pool block, the last is pinned.
const UNIT: usize = 8;
const UNITS: usize = 8;

#[derive(Clone, Copy, Debug)]
struct Range {
    memory: usize,
    start: usize,
    end: usize,
    write: bool,
}

#[derive(Clone, Debug)]
enum Op {
    Launch {
        stream: usize,
        ranges: Vec<Range>,
    },
    Memset {
        stream: usize,
        range: Range,
    },
    Htod {
        stream: usize,
        range: Range,
        from: usize,
    },
    DtohPageable {
        stream: usize,
        range: Range,
    },
    Record {
        event: usize,
        stream: usize,
    },
    Wait {
        stream: usize,
        event: usize,
    },
    Sync {
        stream: usize,
    },
    SyncEvent {
        event: usize,
    },
    SyncDevice,
    Query {
        stream: usize,
        busy: bool,
    },
    Blocking {
        range: Range,
    },
    Host {
        range: Range,
    },
    Recreate {
        stream: usize,
    },
    /// The pool frees its block and allocates it again, which orders nothing.
    Reuse,
}

/// A random range; `only` has the indices of the memories.
fn range(only: std::ops::Range<usize>) -> impl Strategy<Value = Range> {
    (only, 0..UNITS, 1..=4usize, any::<bool>()).prop_map(|(memory, start, units, write)| Range {
        memory,
        start: start * UNIT,
        end: (start + units).min(UNITS) * UNIT,
        write,
    })
}

fn op() -> impl Strategy<Value = Op> {
    let stream = 0..STREAMS;
    let event = 0..EVENTS;
    let pinned = MEMORIES - 1;
    prop_oneof![
        6 => (stream.clone(), prop::collection::vec(range(0..MEMORIES), 1..4))
            .prop_map(|(stream, ranges)| Op::Launch { stream, ranges }),
        2 => (stream.clone(), range(0..pinned)).prop_map(|(stream, range)| Op::Memset { stream, range }),
        2 => (stream.clone(), range(0..pinned), 0..UNITS / 2)
            .prop_map(|(stream, range, from)| Op::Htod { stream, range, from: from * UNIT }),
        1 => (stream.clone(), range(0..pinned)).prop_map(|(stream, range)| Op::DtohPageable { stream, range }),
        3 => (event.clone(), stream.clone()).prop_map(|(event, stream)| Op::Record { event, stream }),
        3 => (stream.clone(), event.clone()).prop_map(|(stream, event)| Op::Wait { stream, event }),
        1 => stream.clone().prop_map(|stream| Op::Sync { stream }),
        1 => event.prop_map(|event| Op::SyncEvent { event }),
        1 => Just(Op::SyncDevice),
        1 => (stream.clone(), any::<bool>()).prop_map(|(stream, busy)| Op::Query { stream, busy }),
        1 => range(0..pinned).prop_map(|range| Op::Blocking { range }),
        2 => range(pinned..MEMORIES).prop_map(|range| Op::Host { range }),
        1 => stream.prop_map(|stream| Op::Recreate { stream }),
        1 => Just(Op::Reuse),
    ]
}

/// A piece of work.
struct Work {
    stream: RawStream,
    sequence: u64,
    ranges: Vec<Range>,
}

type Set = BTreeSet<usize>;

#[derive(Default)]
struct Model {
    work: Vec<Work>,
    /// What happens before the next work of each stream, including the stream's own work.
    streams: [Set; STREAMS],
    events: [Set; EVENTS],
    host: Set,
}

impl Model {
    /// Returns the earlier work that conflicts with these ranges and is not in `before`.
    fn races(&self, ranges: &[Range], before: &Set) -> Set {
        let conflict = |a: &Range, b: &Range| {
            a.memory == b.memory && a.start < b.end && b.start < a.end && (a.write || b.write)
        };
        let races = |work: &Work| work.ranges.iter().any(|a| ranges.iter().any(|b| conflict(a, b)));
        (0..self.work.len()).filter(|i| !before.contains(i) && races(&self.work[*i])).collect()
    }

    /// Enqueues work. Returns what it races with.
    fn enqueue(&mut self, stream: usize, raw: RawStream, ranges: Vec<Range>) -> Set {
        let host = self.host.clone();
        self.streams[stream].extend(host);
        let races = self.races(&ranges, &self.streams[stream]);
        let sequence =
            self.work.iter().filter(|w| w.stream == raw).map(|w| w.sequence).max().unwrap_or(0) + 1;
        self.streams[stream].insert(self.work.len());
        self.work.push(Work { stream: raw, sequence, ranges });
        races
    }
}

/// Handles and memory of a run, and the model.
struct Run {
    rig: Rig,
    streams: Vec<RawStream>,
    events: Vec<RawEvent>,
    memories: Vec<DevicePtr>,
    pinned: PinnedAllocation,
    function: hip_driver::RawFunction,
    model: Model,
}

impl Run {
    fn new() -> Run {
        let rig = Rig::new();
        let pinned = rig.pinned(UNIT * UNITS);
        let block = rig.hand_out(rig.segment(UNIT * UNITS), UNIT * UNITS);
        Run {
            streams: (0..STREAMS).map(|_| rig.stream()).collect(),
            events: (0..EVENTS).map(|_| rig.event()).collect(),
            memories: vec![block, rig.malloc(UNIT * UNITS), pinned.device],
            function: rig.module().1,
            model: Model::default(),
            pinned,
            rig,
        }
    }

    /// Makes a call on the layer and on the model. Returns what it races with in the model.
    fn step(&mut self, op: &Op) -> Set {
        let Run { rig, streams, events, memories, pinned, function, model } = self;
        let at = |r: &Range| memories[r.memory].offset(r.start as u64);
        match op {
            Op::Launch { stream, ranges } => {
                let access = |r: &Range| {
                    if r.write { writes(at(r), r.end - r.start) } else { reads(at(r), r.end - r.start) }
                };
                let accesses: Vec<_> = ranges.iter().map(access).collect();
                rig.launch(*function, streams[*stream], &accesses).unwrap();
                model.enqueue(*stream, streams[*stream], ranges.clone())
            }
            Op::Memset { stream, range } => {
                rig.memset(at(range), range.end - range.start, streams[*stream]).unwrap();
                model.enqueue(*stream, streams[*stream], vec![Range { write: true, ..*range }])
            }
            Op::Htod { stream, range, from } => {
                let bytes = range.end - range.start;
                rig.htod(at(range), pinned, *from, bytes, streams[*stream]).unwrap();
                let source = Range { memory: MEMORIES - 1, start: *from, end: from + bytes, write: false };
                model.enqueue(*stream, streams[*stream], vec![source, Range { write: true, ..*range }])
            }
            Op::DtohPageable { stream, range } => {
                let mut out = vec![0; range.end - range.start];
                rig.dtoh_pageable(&mut out, at(range), streams[*stream]).unwrap();
                let races = model.enqueue(*stream, streams[*stream], vec![Range { write: false, ..*range }]);
                model.host.extend(model.streams[*stream].clone());
                races
            }
            Op::Record { event, stream } => {
                rig.record(events[*event], streams[*stream]).unwrap();
                model.events[*event] = &model.streams[*stream] | &model.host;
                Set::new()
            }
            Op::Wait { stream, event } => {
                rig.wait(streams[*stream], events[*event]).unwrap();
                model.streams[*stream].extend(model.events[*event].clone());
                Set::new()
            }
            Op::Sync { stream } => {
                rig.sync(streams[*stream]).unwrap();
                model.host.extend(model.streams[*stream].clone());
                Set::new()
            }
            Op::SyncEvent { event } => {
                rig.sync_event(events[*event]).unwrap();
                model.host.extend(model.events[*event].clone());
                Set::new()
            }
            Op::SyncDevice => {
                rig.layer.device_synchronize(D0).unwrap();
                model.host.extend(0..model.work.len());
                Set::new()
            }
            Op::Query { stream, busy } => {
                rig.fake.set_busy(*busy);
                assert_eq!(rig.query(streams[*stream]).unwrap(), !busy);
                if !busy {
                    model.host.extend(model.streams[*stream].clone());
                }
                Set::new()
            }
            Op::Blocking { range } => {
                let bytes = range.end - range.start;
                let mut other = vec![0u8; bytes];
                // SAFETY: alive, and as long as the copy.
                unsafe {
                    if range.write {
                        rig.layer
                            .copy_blocking(
                                D0,
                                &DriverWork::CopyToDevice { dst: at(range), src: other.as_ptr(), bytes },
                            )
                            .unwrap();
                    } else {
                        rig.layer
                            .copy_blocking(
                                D0,
                                &DriverWork::CopyToHost { dst: other.as_mut_ptr(), src: at(range), bytes },
                            )
                            .unwrap();
                    }
                }
                model.races(&[*range], &model.host)
            }
            Op::Host { range } => {
                let bytes = range.end - range.start;
                if range.write {
                    rig.host_writes(pinned, range.start, bytes);
                } else {
                    rig.host_reads(pinned, range.start, bytes);
                }
                model.races(&[*range], &model.host)
            }
            Op::Reuse => {
                rig.give_back(memories[0]);
                rig.hand_out(memories[0], UNIT * UNITS);
                Set::new()
            }
            Op::Recreate { stream } => {
                // The new stream is created first, so that it has another handle.
                let new = rig.stream();
                rig.destroy_stream(streams[*stream]).unwrap();
                streams[*stream] = new;
                model.streams[*stream] = Set::new();
                // The violations cannot tell apart work of streams with the same handle. The unit tests cover that
                // case.
                for work in model.work.iter_mut().filter(|w| w.stream == new) {
                    work.stream = RawStream(u64::MAX);
                }
                Set::new()
            }
        }
    }

    /// Returns whether an access that the layer names is one of `races`, as far as its handle tells.
    fn names(&self, access: &AccessInfo, races: &Set) -> bool {
        let Some(stream) = access.stream else { return false };
        races.iter().any(|&i| {
            let work = &self.model.work[i];
            work.stream == RawStream(u64::MAX) || (work.stream == stream && work.sequence == access.sequence)
        })
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, ..ProptestConfig::default() })]

    /// After each call, the layer reports a violation exactly if the model has a race, and it names a race of the
    /// model.
    #[test]
    fn the_layer_agrees_with_the_model(ops in prop::collection::vec(op(), 1..80)) {
        let mut run = Run::new();
        for (i, op) in ops.iter().enumerate() {
            let races = run.step(op);
            let found = run.rig.layer.take_violations();
            prop_assert_eq!(found.is_empty(), races.is_empty(), "call {}: {:?}: {:?}", i, op, found);
            for violation in &found {
                let first = match violation {
                    Violation::Race { first, .. } => first,
                    Violation::HostRace { in_flight, .. } => in_flight,
                    other => return Err(TestCaseError::fail(other.to_string())),
                };
                prop_assert!(run.names(first, &races), "call {}: {:?}: {}", i, op, violation);
            }
        }
    }
}
