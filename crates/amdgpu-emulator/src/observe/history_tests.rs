//! Histories are compared with a plain list of what each dword remembers, of which each access is added by itself.

use std::collections::HashMap;

use super::accesses::{AccessedBytes, Run};
use super::history::{GlobalHistory, Page, Pages, Race, record, record_lanes};
use super::races::{AccessContext, Kind, RecordedAccess, SCALAR};
use crate::report::access::{AccessKind, MemorySpace};
use crate::state::wave::LANES;
use crate::testing::test_wave::Random;

const CONTEXT: AccessContext = AccessContext { acquired: 0, stores_may_be_atomic: true };

fn access(kind: Kind, group: u32, wave: u8, barrier: u32) -> RecordedAccess {
    RecordedAccess { group, inst: 0, time: 3, barrier, wave, lane: SCALAR, bytes: 0, kind }
}

/// Records an access of lane 0 to some bytes of dword 0.
fn record_bytes(
    pages: &mut impl Pages,
    access: RecordedAccess,
    bytes: u32,
    context: AccessContext,
) -> Option<RecordedAccess> {
    let run = Run::of_lane(0, 4 - u64::from(bytes), bytes);
    record(pages, &run, access, context, false).map(|(_, other)| other)
}

fn record_dword(
    pages: &mut impl Pages,
    access: RecordedAccess,
    context: AccessContext,
) -> Option<RecordedAccess> {
    record_bytes(pages, access, 4, context)
}

#[test]
fn waves_barriers_and_acquires_order() {
    let later = |second: RecordedAccess, context| {
        let mut pages = vec![Page::default()];
        assert_eq!(record_dword(&mut pages, access(Kind::Write, 1, 0, 0), CONTEXT), None);
        record_dword(&mut pages, second, context).is_some()
    };
    assert!(later(access(Kind::Read, 2, 0, 0), CONTEXT) && later(access(Kind::Write, 2, 0, 7), CONTEXT));
    assert!(!later(access(Kind::Read, 1, 0, 0), CONTEXT), "the same wave");
    assert!(
        later(access(Kind::Read, 1, 1, 0), CONTEXT) && !later(access(Kind::Read, 1, 1, 1), CONTEXT),
        "a barrier"
    );
    assert!(later(access(Kind::Read, 2, 0, 0), AccessContext { acquired: 3, ..CONTEXT }));
    assert!(!later(access(Kind::Read, 2, 0, 0), AccessContext { acquired: 4, ..CONTEXT }));
    assert!(!later(access(Kind::Atomic, 2, 0, 0), CONTEXT));
    assert!(later(access(Kind::Atomic, 2, 0, 0), AccessContext { stores_may_be_atomic: false, ..CONTEXT }));
}

#[test]
fn accesses_to_other_bytes_do_not_race() {
    let mut pages = vec![Page::default()];
    let low = Run::of_lane(0, 0, 2);
    assert_eq!(record(&mut pages, &low, access(Kind::Write, 1, 0, 0), CONTEXT, false), None);
    assert_eq!(record_bytes(&mut pages, access(Kind::Read, 2, 0, 0), 2, CONTEXT), None);
    assert!(record_bytes(&mut pages, access(Kind::Read, 2, 0, 0), 3, CONTEXT).is_some());
}

#[test]
fn compare_and_swap_loops_begin_with_a_plain_load() {
    let mut pages = vec![Page::default()];
    let mut record = |access| record_dword(&mut pages, access, CONTEXT);
    assert_eq!(record(access(Kind::Read, 1, 0, 0)), None);
    assert_eq!(record(access(Kind::CompareSwap, 2, 0, 0)), None);
    assert_eq!(record(access(Kind::Read, 3, 0, 0)), None);
    // Other atomics and loads race, also when a compare-and-swap comes between.
    assert!(record(access(Kind::Atomic, 4, 0, 0)).is_some());
    assert_eq!(record(access(Kind::CompareSwap, 5, 0, 0)), None);
    assert!(record(access(Kind::Read, 6, 0, 0)).is_some_and(|m| m.group == 4));
}

#[test]
fn a_write_races_with_any_of_many_reads() {
    let mut pages = vec![Page::default()];
    for group in 0..10 {
        assert_eq!(record_dword(&mut pages, access(Kind::Read, group, 0, 0), CONTEXT), None);
    }
    let race = record_dword(&mut pages, access(Kind::Write, 9, 0, 0), CONTEXT);
    assert!(race.is_some_and(|m| m.group != 9 && m.kind == Kind::Read), "{race:?}");
}

#[test]
fn histories_of_distant_dwords_are_separate() {
    let memory = GlobalHistory::new();
    let mut pages = memory.pages();
    for dword in [0, 511, 512, 512 * 32, 1 << 20, 1 << 30, 1 << 45] {
        let run = Run::of_lane(0, 4 * dword, 4);
        let mut record = |group| record(&mut pages, &run, access(Kind::Write, group, 0, 0), CONTEXT, false);
        assert_eq!(record(1), None);
        assert!(record(2).is_some());
    }
    let beyond = Run::of_lane(0, 1 << 48, 4);
    for group in 0..2 {
        assert_eq!(record(&mut pages, &beyond, access(Kind::Write, group, 0, 0), CONTEXT, false), None);
    }
}

/// What a dword remembers: the last write, the last atomic, and the last reads of two waves.
#[derive(Default)]
struct Remembered {
    write: Option<RecordedAccess>,
    atomic: Option<RecordedAccess>,
    reads: Vec<RecordedAccess>,
}

impl Remembered {
    fn record(&mut self, new: RecordedAccess, context: AccessContext) -> Option<RecordedAccess> {
        let wave = |access: &RecordedAccess| (access.group, access.wave);
        let is_ordered = |old: &RecordedAccess| {
            let passed_barrier = new.group == old.group && new.barrier > old.barrier;
            wave(&new) == wave(old) || passed_barrier || context.acquired > old.time
        };
        let conflicts = |old: &RecordedAccess| {
            use Kind::{Atomic, AtomicStore, CompareSwap, Read, Write};
            new.bytes & old.bytes != 0
                && match (new.kind, old.kind) {
                    (Read, Read | CompareSwap) | (CompareSwap, Read) => false,
                    (Atomic | CompareSwap | AtomicStore, Atomic | CompareSwap | AtomicStore) => false,
                    (Write, Atomic | CompareSwap) | (Atomic | CompareSwap, Write) => {
                        !context.stores_may_be_atomic
                    }
                    _ => true,
                }
        };
        let earlier = self.write.iter().chain(&self.atomic).chain(&self.reads);
        let race = earlier.copied().find(|old| conflicts(old) && !is_ordered(old));
        match new.kind {
            Kind::Read => match self.reads.iter_mut().find(|old| wave(old) == wave(&new)) {
                Some(old) => *old = new,
                None => {
                    self.reads.push(new);
                    if self.reads.len() > 2 {
                        self.reads.remove(0);
                    }
                }
            },
            Kind::Write | Kind::AtomicStore => self.write = Some(new),
            Kind::CompareSwap if self.atomic.is_some_and(|old| old.kind == Kind::Atomic) => {}
            Kind::Atomic | Kind::CompareSwap => self.atomic = Some(new),
        }
        race
    }
}

/// Returns an access of an instruction: to neighboring elements, the same one, those at a distance, or any.
fn accessed(random: &mut Random) -> AccessedBytes {
    let size = [1, 2, 4, 4, 4, 8, 12, 16][(random.next() % 8) as usize];
    let is_scalar = random.next() % 8 == 0;
    let aligned = if random.next() % 4 == 0 { 1 } else { u64::from(size).min(4) };
    let base = (random.next() % 1024).next_multiple_of(aligned);
    let (shape, group) = (random.next() % 7, 1 << (random.next() % 7));
    let at = std::array::from_fn(|lane| {
        let lane = lane as u64;
        let element = match shape {
            0 => 0,
            1 => lane,
            2 => lane * 3,
            3 => lane / group * 2 + lane % group,
            4 => lane % group,
            // Loads of several neighbors.
            5 => return base + 4 * (lane % group),
            _ => random.next() % 64,
        };
        base + u64::from(size) * element
    });
    let lanes = match random.next() % 3 {
        _ if is_scalar => 1,
        0 => !0,
        1 => !0 << (random.next() % 63) & !0 >> (random.next() % 63) | 1 << (random.next() % 64),
        _ => random.next() | 1,
    };
    let (space, access) = (MemorySpace::Global, AccessKind::Read);
    let at = if is_scalar { [base; LANES] } else { at };
    AccessedBytes { space, access, size, lanes, is_scalar, at }
}

#[test]
fn many_lanes_at_once_are_recorded_like_one_after_the_other() {
    let mut random = Random::new(1);
    let (mut races, mut fewer, mut scattered) = (0, 0, 0);
    for _ in 0..60 {
        let memory = GlobalHistory::new();
        let mut pages = memory.pages();
        let mut lds: Vec<Page> = std::iter::repeat_with(Page::default).take(4).collect();
        let mut expected: HashMap<u64, Remembered> = HashMap::new();
        let waves = 1 + random.next() % 5;
        for step in 0..300 {
            let kinds =
                [Kind::Read, Kind::Read, Kind::Write, Kind::Atomic, Kind::CompareSwap, Kind::AtomicStore];
            let kind = kinds[(random.next() % 6) as usize];
            let moment = RecordedAccess {
                time: step / 4,
                inst: (random.next() % 3) as u32,
                ..access(kind, 0, 0, step / 9)
            };
            let this = RecordedAccess {
                group: (random.next() % 2) as u32,
                wave: (random.next() % waves) as u8,
                ..moment
            };
            let context = AccessContext {
                acquired: (step / 4).saturating_sub((random.next() % 9) as u32),
                stores_may_be_atomic: random.next() % 2 == 0,
            };
            let accessed = accessed(&mut random);
            let mut race: Option<Race> = None;
            for (lane, address) in accessed.each() {
                for dword in address / 4..=(address + u64::from(accessed.size) - 1) / 4 {
                    let has =
                        |n: &u64| (address..address + u64::from(accessed.size)).contains(&(4 * dword + n));
                    let bytes = (0..4).filter(has).map(|n| 1 << n).sum();
                    let name = if accessed.is_scalar { SCALAR } else { lane as u8 };
                    let found = expected.entry(dword).or_default();
                    let other = found.record(RecordedAccess { lane: name, bytes, ..this }, context);
                    race = race.or(other.map(|other| (lane as u8, other)));
                }
            }
            let (mut global, mut local) = (None, None);
            if accessed.is_scattered() {
                scattered += 1;
                global = record_lanes(&mut pages, &accessed, this, context);
                local = record_lanes(&mut lds, &accessed, this, context);
            }
            for run in accessed.runs().filter(|_| !accessed.is_scattered()) {
                fewer += run.lanes().len() - 1;
                global = global.or(record(&mut pages, &run, this, context, accessed.is_scalar));
                local = local.or(record(&mut lds, &run, this, context, accessed.is_scalar));
            }
            assert_eq!(global, race, "{this:?} {context:?} {accessed:?}");
            assert_eq!(local, race, "{this:?} {context:?} {accessed:?}");
            races += usize::from(race.is_some());
        }
    }
    assert!(races > 1000 && fewer > 100_000 && scattered > 1000, "{races} {fewer} {scattered}");
}
