//! The histories of dwords: of each dword the last access of each kind, with which [`races`](super::races) compares later ones.
//!
//! Mostly a whole wave accesses neighboring dwords, so that their histories differ in the lanes only. A page of dwords therefore
//! keeps each execution of an instruction once, and [`CHUNK`] dwords are compared at a time.

use std::ops::Range;
use std::sync::atomic::{AtomicU32, Ordering::SeqCst};
use std::sync::{Mutex, MutexGuard, OnceLock};

use super::accesses::{AccessedBytes, Run};
use super::lock::lock;
use super::races::{AccessContext, Kind, RecordedAccess, SCALAR};

/// The number of dwords of a page.
const PAGE: usize = 512;
/// The number of dwords that are compared at a time.
const CHUNK: usize = 16;
/// The same, where all of them have the same executions.
const WIDE_CHUNK: usize = 64;
/// The number of executions from which on a page looks for those that it needs no more.
const EXECUTIONS: usize = 64;

/// An access to a dword: the mask of bytes; from bit 8 on the lane; from bit 16 on the number of the execution in
/// [`Page::executions`], counted from 1. 0 is no access.
type Slot = u32;

/// The bit from which on a slot has the number of the execution.
const EXECUTION: u32 = 16;

// The accesses that are kept of a dword: the last of each kind. Reads of two waves are kept, so that at least one of them is not
// by the wave of the next write.
const WRITE: usize = 0;
const ATOMIC: usize = 1;
const READ: usize = 2;
const OTHER_READ: usize = 3;

/// The histories of consecutive dwords.
#[derive(Default)]
pub(crate) struct Page {
    /// The executions of instructions that accessed the dwords. Lanes and bytes are in the slots.
    executions: Vec<RecordedAccess>,
    /// The number of executions at which [`Page::collect`] is called.
    limit: usize,
    /// The last execution, with its context and its slot.
    last: Option<(RecordedAccess, AccessContext, Slot)>,
    /// By kind, how the last execution relates to an earlier one, which neighboring lanes mostly have in common.
    relations: [Relation; 4],
    /// By kind, then by dword. `None` until there is such an access.
    slots: [Option<Box<[Slot; PAGE]>>; 4],
}

/// How an access relates to an earlier execution.
#[derive(Debug, Clone, Copy)]
struct Relation {
    /// The slot of the earlier execution, without lane and bytes.
    earlier: Slot,
    /// Whether the two race if they have bytes in common.
    races: bool,
    /// Whether the same wave made both.
    is_same_wave: bool,
}

impl Default for Relation {
    /// Returns the relation to no execution, which takes the place of one of the same wave.
    fn default() -> Relation {
        Relation { earlier: 0, races: false, is_same_wave: true }
    }
}

/// A lane that races, and the earlier access.
pub(crate) type Race = (u8, RecordedAccess);

impl Page {
    /// Records that lanes access dwords `at`, which they fill. `from` is the number of the first of them in `lanes`. Returns the
    /// first race.
    fn record_whole(
        &mut self,
        at: Range<usize>,
        lanes: Lanes,
        from: u32,
        access: &RecordedAccess,
        context: AccessContext,
    ) -> Option<Race> {
        let own = self.execution(access, context);
        let mut race = None;
        let mut chunk = at.start..at.start;
        while chunk.end < at.end {
            let up_to = |size: usize| chunk.end..((chunk.end / size + 1) * size).min(at.end);
            chunk = if self.is_uniform(up_to(WIDE_CHUNK)) { up_to(WIDE_CHUNK) } else { up_to(CHUNK) };
            let from = from + (chunk.start - at.start) as u32;
            if !self.may_race(chunk.clone(), access, context) {
                self.put(chunk.clone(), own, lanes, from, access, context);
                continue;
            }
            for (dword, n) in chunk.clone().zip(from..) {
                for (lane, bytes) in lanes.first(n) {
                    let found = self.record_one(dword, own | lane << 8 | bytes, access, context);
                    race = race.or(found.map(|other| (lane as u8, other)));
                }
                self.put_one(dword, own | lanes.last(n), access, context);
            }
        }
        race
    }

    /// Records an access of one lane to bytes of a dword. Returns an earlier one that it races with.
    #[inline]
    fn record_one(
        &mut self,
        dword: usize,
        slot: Slot,
        access: &RecordedAccess,
        context: AccessContext,
    ) -> Option<RecordedAccess> {
        let mut race = None;
        for kind in 0..kinds(access) {
            let earlier = self.slot(kind, dword);
            if earlier == 0 || (earlier ^ slot) >> EXECUTION == 0 || race.is_some() {
                continue;
            }
            if self.relation(kind, earlier, access, context).races && earlier & slot & 0xff != 0 {
                let bytes = |execution: &RecordedAccess| RecordedAccess {
                    lane: (earlier >> 8) as u8,
                    bytes: earlier as u8,
                    ..*execution
                };
                race = self.of_slot(earlier).map(bytes);
            }
        }
        self.put_one(dword, slot, access, context);
        race
    }

    /// Records an access to `N` dwords, to the same bytes of each, if earlier ones are the same for all of them, its relation to these
    /// is known, and none races. Returns whether it did.
    ///
    /// Without branches for each kind, because it is called for each lane.
    #[inline]
    fn record_known<const N: usize>(&mut self, dword: usize, slot: Slot, kind: Kind) -> bool {
        let of = |kind: usize| (self.slots_at::<N>(kind, dword), self.relations[kind]);
        let is_same = |a: Slot, b: Slot| (a ^ b) >> EXECUTION == 0;
        let is_own = |earlier: Slot| (earlier == 0) | is_same(earlier, slot);
        let is_known = |(earlier, relation): ([Slot; N], Relation)| {
            let first = earlier[0];
            is_uniform(&earlier) & (is_own(first) | (is_same(first, relation.earlier) & !relation.races))
        };
        let is_same_wave = |(earlier, relation): ([Slot; N], Relation)| {
            let first = earlier[0];
            is_own(first) | (is_same(first, relation.earlier) & relation.is_same_wave)
        };
        let [read, other] = [of(READ), of(OTHER_READ)];
        let all = is_known(of(WRITE)) & is_known(of(ATOMIC)) & is_known(read) & is_known(other);
        let replaced = match kind {
            _ if !all => return false,
            Kind::Read if is_same_wave(read) => READ,
            Kind::Read => {
                if !is_same_wave(other) {
                    self.slots_mut(READ)[dword..dword + N].copy_from_slice(&other.0);
                }
                OTHER_READ
            }
            Kind::Write | Kind::AtomicStore => WRITE,
            Kind::Atomic => ATOMIC,
            Kind::CompareSwap => return false,
        };
        self.slots_mut(replaced)[dword..dword + N].fill(slot);
        true
    }

    /// Returns how the last execution relates to that of a slot.
    #[inline]
    fn relation(
        &mut self,
        kind: usize,
        slot: Slot,
        access: &RecordedAccess,
        context: AccessContext,
    ) -> Relation {
        let known = self.relations[kind];
        if (known.earlier ^ slot) >> EXECUTION == 0 {
            return known;
        }
        let relation = match self.of_slot(slot) {
            Some(execution) => Relation {
                earlier: slot,
                races: !access.is_after(execution, context) && access.conflicts(execution, context),
                is_same_wave: execution.same_wave(access),
            },
            None => Relation::default(),
        };
        self.relations[kind] = relation;
        relation
    }

    /// Returns the slot of an execution, without lane and bytes.
    #[inline]
    fn execution(&mut self, access: &RecordedAccess, context: AccessContext) -> Slot {
        match &self.last {
            Some((last, of, slot)) if last == access && *of == context => *slot,
            _ => self.add(access, context),
        }
    }

    /// Adds an execution, unless it is the last in another context. Returns its slot.
    #[inline(never)]
    fn add(&mut self, access: &RecordedAccess, context: AccessContext) -> Slot {
        self.relations = Default::default();
        let slot = match self.last {
            Some((last, _, slot)) if last == *access => slot,
            _ => {
                if self.executions.len() >= self.limit.max(EXECUTIONS) {
                    self.collect();
                }
                self.executions.push(*access);
                (self.executions.len() as Slot) << EXECUTION
            }
        };
        self.last = Some((*access, context, slot));
        slot
    }

    /// Removes the executions that no slot names. A page has 2048 slots, so that 16 bits suffice for the numbers of the others.
    fn collect(&mut self) {
        let mut numbers = vec![0; self.executions.len() + 1];
        for slot in self.slots.iter().flatten().flat_map(|slots| slots.iter()) {
            numbers[(slot >> EXECUTION) as usize] = 1;
        }
        let mut kept = Vec::new();
        for (number, execution) in numbers.iter_mut().skip(1).zip(&self.executions) {
            if *number != 0 {
                kept.push(*execution);
                *number = (kept.len() as Slot) << EXECUTION;
            }
        }
        numbers[0] = 0;
        for slot in self.slots.iter_mut().flatten().flat_map(|slots| slots.iter_mut()) {
            *slot = numbers[(*slot >> EXECUTION) as usize] | *slot & ((1 << EXECUTION) - 1);
        }
        self.limit = 2 * kept.len();
        self.executions = kept;
    }

    /// Returns the execution of a slot.
    fn of_slot(&self, slot: Slot) -> Option<&RecordedAccess> {
        self.executions.get(((slot >> EXECUTION) as usize).wrapping_sub(1))
    }

    #[inline]
    fn slot(&self, kind: usize, dword: usize) -> Slot {
        self.slots[kind].as_ref().map_or(0, |slots| slots[dword % PAGE])
    }

    /// Returns the slots of `N` dwords, which are in this page.
    #[inline]
    fn slots_at<const N: usize>(&self, kind: usize, dword: usize) -> [Slot; N] {
        let found = self.slots[kind].as_ref().and_then(|slots| slots.get(dword..)?.first_chunk());
        found.copied().unwrap_or([0; N])
    }

    fn slots_mut(&mut self, kind: usize) -> &mut [Slot; PAGE] {
        self.slots[kind].get_or_insert_with(|| Box::new([0; PAGE]))
    }

    /// Returns whether the histories of these dwords have the same executions.
    fn is_uniform(&self, at: Range<usize>) -> bool {
        self.slots.iter().flatten().all(|slots| is_uniform(&slots[at.clone()]))
    }

    /// Returns whether an access to some byte of these dwords may race with an earlier one.
    fn may_race(&self, at: Range<usize>, access: &RecordedAccess, context: AccessContext) -> bool {
        (0..kinds(access)).any(|kind| {
            let races = |m: &RecordedAccess| !access.is_after(m, context) && access.conflicts(m, context);
            self.any(kind, at.clone(), |execution| execution.is_some_and(races))
        })
    }

    /// Returns whether the execution of the last access of a kind to any of these dwords, or that there is none, fulfills a
    /// condition.
    fn any(&self, kind: usize, at: Range<usize>, is: impl Fn(Option<&RecordedAccess>) -> bool) -> bool {
        let Some(slots) = self.slots[kind].as_ref().and_then(|slots| slots.get(at)) else { return is(None) };
        let first = slots.first().copied().unwrap_or(0);
        if is(self.of_slot(first)) {
            return true;
        }
        let mut last = first;
        !is_uniform(slots)
            && slots.iter().any(|slot| {
                let is_same = (slot ^ last) >> EXECUTION == 0;
                last = *slot;
                !is_same && is(self.of_slot(*slot))
            })
    }

    /// Makes an access the last one to these dwords.
    fn put(
        &mut self,
        at: Range<usize>,
        own: Slot,
        lanes: Lanes,
        from: u32,
        access: &RecordedAccess,
        context: AccessContext,
    ) {
        let others = |m: Option<&RecordedAccess>| m.is_some_and(|m| !m.same_wave(access));
        let own_or_none = |m: Option<&RecordedAccess>| !others(m);
        let kind = match access.kind {
            Kind::Write | Kind::AtomicStore => Some(WRITE),
            Kind::Atomic => Some(ATOMIC),
            Kind::CompareSwap => None,
            Kind::Read if !self.any(READ, at.clone(), others) => Some(READ),
            Kind::Read if self.any(READ, at.clone(), own_or_none) => None,
            Kind::Read if !self.any(OTHER_READ, at.clone(), others) => Some(OTHER_READ),
            Kind::Read if self.any(OTHER_READ, at.clone(), own_or_none) => None,
            Kind::Read => {
                if let [.., Some(first), Some(second)] = &mut self.slots {
                    first[at.clone()].copy_from_slice(&second[at.clone()]);
                }
                Some(OTHER_READ)
            }
        };
        let Some(kind) = kind else {
            for (dword, n) in at.zip(from..) {
                self.put_one(dword, own | lanes.last(n), access, context);
            }
            return;
        };
        for (slot, n) in self.slots_mut(kind)[at].iter_mut().zip(from..) {
            *slot = own | lanes.last(n);
        }
    }

    /// Makes an access the last one to a dword.
    #[inline]
    fn put_one(&mut self, dword: usize, slot: Slot, access: &RecordedAccess, context: AccessContext) {
        let kind = match access.kind {
            Kind::Read if self.replaces(READ, dword, slot, access, context) => READ,
            Kind::Read => {
                if !self.replaces(OTHER_READ, dword, slot, access, context) {
                    self.slots_mut(READ)[dword] = self.slot(OTHER_READ, dword);
                }
                OTHER_READ
            }
            Kind::Write | Kind::AtomicStore => WRITE,
            // An earlier atomic is kept, because loads race with it and don't race with a compare-and-swap.
            Kind::CompareSwap
                if self.of_slot(self.slot(ATOMIC, dword)).is_some_and(|m| m.kind == Kind::Atomic) =>
            {
                return;
            }
            Kind::Atomic | Kind::CompareSwap => ATOMIC,
        };
        self.slots_mut(kind)[dword] = slot;
    }

    /// Returns whether a read of a dword replaces one: there is none, or it was by the same wave.
    #[inline]
    fn replaces(
        &mut self,
        kind: usize,
        dword: usize,
        slot: Slot,
        access: &RecordedAccess,
        context: AccessContext,
    ) -> bool {
        let earlier = self.slot(kind, dword);
        (earlier ^ slot) >> EXECUTION == 0 || self.relation(kind, earlier, access, context).is_same_wave
    }
}

/// Returns whether slots have the same execution.
fn is_uniform(slots: &[Slot]) -> bool {
    let first = slots.first().copied().unwrap_or(0);
    slots.iter().fold(0, |differ, slot| differ | (slot ^ first)) >> EXECUTION == 0
}

/// Returns the number of kinds with which an access may race: reads don't race with reads.
fn kinds(access: &RecordedAccess) -> usize {
    if access.kind == Kind::Read { READ } else { OTHER_READ + 1 }
}

/// The lanes that access consecutive dwords, each of which they fill.
#[derive(Clone, Copy)]
struct Lanes {
    /// The first lane.
    lane: u32,
    /// The next dword has lane `(n * times >> shift)` more; if there are several, of which this is the first.
    times: u32,
    shift: u32,
    /// The number of lanes that fill a dword together.
    parts: u32,
    /// The number of lanes before that access a dword, too, and that of the last lane.
    before: u32,
    most: u32,
    /// The number of lanes to the last round.
    between: u32,
}

impl Lanes {
    /// Returns the lanes of a run that begins with a whole dword.
    fn of(run: &Run, lane: u8) -> Lanes {
        let (times, shift, parts) = match run.step {
            1 => (4, 0, 4),
            2 => (2, 0, 2),
            _ if run.count == 1 => (0, 0, 1),
            4 => (1, 0, 1),
            8 => (1, 1, 1),
            // A third, which is exact below 2^15.
            12 => (43691, 17, 1),
            _ => (1, 2, 1),
        };
        let before = if run.step < run.size { (run.size / 4) as u32 - 1 } else { 0 };
        let most = u32::from(run.count) - 1;
        Lanes { lane: lane.into(), times, shift, parts, before, most, between: run.between().into() }
    }

    /// Returns lane and bytes of the last access to dword `n`.
    fn last(self, n: u32) -> Slot {
        let lane = self.lane + (n * self.times >> self.shift).min(self.most) + self.parts - 1 + self.between;
        let bytes = match self.parts {
            1 => 0b1111,
            2 => 0b1100,
            _ => 0b1000,
        };
        lane << 8 | bytes
    }

    /// Returns the first lanes that access dword `n`, and the bytes of each.
    fn first(self, n: u32) -> impl Iterator<Item = (u32, u32)> {
        let first = self.lane + (n * self.times >> self.shift).saturating_sub(self.before);
        let size = 4 / self.parts;
        (0..self.parts).map(move |part| (first + part, ((1 << size) - 1) << (part * size)))
    }
}

/// The pages of a memory.
pub(crate) trait Pages {
    /// Returns the page with dwords `number * 512` and up; `None` if the memory doesn't extend so far.
    fn page(&mut self, number: u64) -> Option<&mut Page>;
}

/// The pages of LDS.
impl Pages for Vec<Page> {
    fn page(&mut self, number: u64) -> Option<&mut Page> {
        self.get_mut(usize::try_from(number).ok()?)
    }
}

/// Returns the number of pages of LDS of `bytes` bytes.
pub(crate) fn pages_of(bytes: u32) -> usize {
    (bytes as usize).div_ceil(4 * PAGE)
}

/// Records the accesses of a run of lanes, or of the wave ([`SCALAR`]). Returns the first race; the lane of a wave's access is 0.
///
/// Of several lanes that access the same bytes, the first finds what there is to find, and the last is what is left.
pub(crate) fn record(
    pages: &mut impl Pages,
    run: &Run,
    access: RecordedAccess,
    context: AccessContext,
    is_scalar: bool,
) -> Option<Race> {
    let name = |lane: u8| if is_scalar { SCALAR } else { lane };
    // A single lane's few dwords are not worth being compared together.
    if run.count == 1 && run.size <= 16 {
        let left = name(run.lane + run.between());
        let other = record_lane(pages, (run.address, run.size), left, &access, context)?;
        return Some((if is_scalar { 0 } else { run.lane }, other));
    }
    let (whole, mut race) = (run.whole_dwords(), None);
    if whole > 0 {
        race = record_whole(pages, run.address / 4, whole, Lanes::of(run, name(run.lane)), access, context);
    }
    let done = if 4 * whole == run.bytes() { run.count.into() } else { 4 * whole / run.size };
    for lane in run.round().skip(done as usize) {
        let left = name(lane + run.between());
        let other = record_lane(pages, (run.address_of(lane), run.size), left, &access, context);
        race = race.or(other.map(|other| (lane, other)));
    }
    race.map(|(lane, other)| (if is_scalar { 0 } else { lane }, other))
}

/// Records the accesses of lanes. Returns the first race.
pub(crate) fn record_lanes(
    pages: &mut impl Pages,
    accessed: &AccessedBytes,
    access: RecordedAccess,
    context: AccessContext,
) -> Option<Race> {
    match accessed.size {
        8 => record_lanes_of::<2>(pages, accessed, &access, context),
        12 => record_lanes_of::<3>(pages, accessed, &access, context),
        16 => record_lanes_of::<4>(pages, accessed, &access, context),
        _ => record_lanes_of::<1>(pages, accessed, &access, context),
    }
}

/// Records the accesses of lanes: mostly to `N` whole dwords each or, if that is one, to some of its bytes.
fn record_lanes_of<const N: usize>(
    pages: &mut impl Pages,
    accessed: &AccessedBytes,
    access: &RecordedAccess,
    context: AccessContext,
) -> Option<Race> {
    let mut race = None;
    let size = u64::from(accessed.size);
    // The slot of the execution in the page that was used last.
    let mut last = (u64::MAX, 0);
    for (lane, address) in accessed.each() {
        let (number, dword) = (address / 4 / PAGE as u64, (address / 4) as usize % PAGE);
        let offset = address % 4;
        // All of the lane's bytes are in `N` dwords of a page.
        if offset + size <= 4 * N as u64 && (N == 1 || offset == 0) && dword + N <= PAGE {
            let Some(page) = pages.page(number) else { continue };
            if last.0 != number {
                last = (number, page.execution(access, context));
            }
            let bytes = if N == 1 { ((1 << size) - 1) << offset } else { 0b1111 };
            if page.record_known::<N>(dword, last.1 | (lane as Slot) << 8 | bytes, access.kind) {
                continue;
            }
        }
        // It may use the page behind, and another thread this one meanwhile.
        last.0 = u64::MAX;
        let other = record_lane(pages, (address, size), lane as u8, access, context);
        race = race.or(other.map(|other| (lane as u8, other)));
    }
    race
}

/// Records the access of a lane to `size` bytes. Returns the first race.
fn record_lane(
    pages: &mut impl Pages,
    (address, size): (u64, u64),
    lane: u8,
    access: &RecordedAccess,
    context: AccessContext,
) -> Option<RecordedAccess> {
    let (mut race, mut dword, end) = (None, address / 4, (address + size).div_ceil(4));
    while dword < end {
        let base = dword / PAGE as u64 * PAGE as u64;
        let at = dword..end.min(base + PAGE as u64);
        dword = at.end;
        let Some(page) = pages.page(base / PAGE as u64) else { continue };
        let own = page.execution(access, context) | Slot::from(lane) << 8;
        for dword in at {
            let (at, bytes) = ((dword - base) as usize, bytes_of(address, size, dword));
            if !page.record_known::<1>(at, own | bytes, access.kind) {
                race = race.or(page.record_one(at, own | bytes, access, context));
            }
        }
    }
    race
}

/// Records accesses to `count` dwords from `first` on, which are filled.
fn record_whole(
    pages: &mut impl Pages,
    first: u64,
    count: u64,
    lanes: Lanes,
    access: RecordedAccess,
    context: AccessContext,
) -> Option<Race> {
    let (mut race, mut dword, end) = (None, first, first + count);
    while dword < end {
        let next = (dword / PAGE as u64 + 1) * PAGE as u64;
        let (at, count) = ((dword % PAGE as u64) as usize, (next.min(end) - dword) as usize);
        if let Some(page) = pages.page(dword / PAGE as u64) {
            let from = (dword - first) as u32;
            race = race.or(page.record_whole(at..at + count, lanes, from, &access, context));
        }
        dword += count as u64;
    }
    race
}

/// Returns a mask of the bytes of a dword that an access contains, which are some.
fn bytes_of(address: u64, size: u64, dword: u64) -> Slot {
    let (from, to) = (address.saturating_sub(4 * dword), (address + size - 4 * dword).min(4));
    (1 << to) - (1 << from)
}

/// The number of parts of a table.
const PARTS: usize = 256;

/// A table whose parts are made when they are first used.
struct Table<T>(Box<[OnceLock<T>]>);

impl<T> Default for Table<T> {
    fn default() -> Table<T> {
        Table((0..PARTS).map(|_| OnceLock::new()).collect())
    }
}

impl<T: Default> Table<T> {
    fn part(&self, n: u64) -> Option<&T> {
        self.0.get(n as usize % PARTS).map(|part| part.get_or_init(T::default))
    }
}

/// The number of pages of a block.
const PAGES: usize = 32;

/// Consecutive pages, together 64 KiB.
struct Block([Mutex<Page>; PAGES]);

impl Default for Block {
    fn default() -> Block {
        Block(std::array::from_fn(|_| Mutex::default()))
    }
}

/// The histories of global memory, shared by the workgroups of a dispatch. Guest addresses have 48 bits.
pub(crate) struct GlobalHistory {
    pages: Table<Table<Table<Table<Block>>>>,
    /// The number of acquires so far.
    clock: AtomicU32,
}

impl GlobalHistory {
    pub(crate) fn new() -> GlobalHistory {
        GlobalHistory { pages: Table::default(), clock: AtomicU32::new(0) }
    }

    /// Returns the number of acquires so far.
    pub(crate) fn time(&self) -> u32 {
        self.clock.load(SeqCst)
    }

    /// Counts an acquire of a wave, and returns its time. Every access recorded so far has an earlier time.
    pub(crate) fn acquire(&self) -> u32 {
        self.clock.fetch_add(1, SeqCst).saturating_add(1)
    }

    /// Returns access to the histories, one page after the other.
    pub(crate) fn pages(&self) -> GlobalPages<'_> {
        GlobalPages { memory: self, block: None, held: None }
    }

    /// Returns the block with a number.
    fn block(&self, number: u64) -> Option<&Block> {
        if number >> 32 != 0 {
            return None;
        }
        self.pages.part(number >> 24)?.part(number >> 16)?.part(number >> 8)?.part(number)
    }
}

/// Access to the histories of global memory. It holds the lock of the page that was used last.
pub(crate) struct GlobalPages<'a> {
    memory: &'a GlobalHistory,
    /// The block that was used last, and its number.
    block: Option<(u64, &'a Block)>,
    held: Option<(u64, MutexGuard<'a, Page>)>,
}

impl Pages for GlobalPages<'_> {
    #[inline]
    fn page(&mut self, number: u64) -> Option<&mut Page> {
        if self.held.as_ref().is_none_or(|(held, _)| *held != number) {
            self.hold(number)?;
        }
        self.held.as_mut().map(|(_, page)| &mut **page)
    }
}

impl GlobalPages<'_> {
    /// Takes the lock of a page. `None` if there is none.
    fn hold(&mut self, number: u64) -> Option<()> {
        let of_block = number / PAGES as u64;
        let block = match self.block {
            Some((last, block)) if last == of_block => block,
            _ => self.memory.block(of_block)?,
        };
        self.block = Some((of_block, block));
        // Holds one lock at a time, because another thread may take the locks in another order.
        self.held = None;
        self.held = Some((number, lock(&block.0[number as usize % PAGES])));
        Some(())
    }
}
