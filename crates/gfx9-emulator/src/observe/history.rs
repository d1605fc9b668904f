//! The histories of dwords: of each dword the last access of each kind, with which [`races`](super::races) compares later ones.
//!
//! Mostly a whole wave accesses neighboring dwords, so that their histories differ in the lanes only. A page of dwords therefore
//! keeps each execution of an instruction once, and [`CHUNK`] dwords are compared at a time.

use std::ops::Range;
use std::sync::atomic::{AtomicU32, Ordering::SeqCst};
use std::sync::{Mutex, MutexGuard, OnceLock};

use super::accesses::Run;
use super::lock::lock;
use super::races::{AccessContext, Kind, RecordedAccess, SCALAR};

/// The number of dwords of a page.
const PAGE: usize = 512;
/// The number of dwords that are compared at a time.
const CHUNK: usize = 16;
/// The number of executions from which on a page looks for those that it needs no more.
const EXECUTIONS: usize = 128;

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
    /// By kind, then by dword. `None` until there is such an access.
    slots: [Option<Box<[Slot; PAGE]>>; 4],
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
        let own = self.execution(access);
        let mut race = None;
        let mut chunk = at.start..at.start;
        while chunk.end < at.end {
            chunk = chunk.end..((chunk.end / CHUNK + 1) * CHUNK).min(at.end);
            let from = from + (chunk.start - at.start) as u32;
            if !self.may_race(chunk.clone(), access, context) {
                self.put(chunk.clone(), own, lanes, from, access);
                continue;
            }
            for (dword, n) in chunk.clone().zip(from..) {
                for (lane, bytes) in lanes.of_dword(n) {
                    let found = self.record_one(dword, own, lane, bytes, access, context);
                    race = race.or(found.map(|other| (lane, other)));
                }
            }
        }
        race
    }

    /// Records an access of one lane to bytes of a dword. Returns an earlier one that it races with. `own` is what
    /// [`execution`](Self::execution) has returned for it.
    fn record_one(
        &mut self,
        dword: usize,
        own: Slot,
        lane: u8,
        bytes: u8,
        access: &RecordedAccess,
        context: AccessContext,
    ) -> Option<RecordedAccess> {
        let races = |m: &RecordedAccess| !access.is_after(m, context) && access.conflicts(m, context);
        let race = (0..kinds(access)).find_map(|kind| {
            let slot = self.slot(kind, dword);
            let execution = self.of_slot(slot).filter(|m| races(m))?;
            let found = RecordedAccess { lane: (slot >> 8) as u8, bytes: slot as u8, ..*execution };
            (found.bytes & bytes != 0).then_some(found)
        });
        self.put_one(dword, own | u32::from(lane) << 8 | u32::from(bytes), access);
        race
    }

    /// Returns the slot of an execution, without lane and bytes.
    fn execution(&mut self, access: &RecordedAccess) -> Slot {
        let recent = self.executions.len().saturating_sub(4);
        let known = self.executions.iter().skip(recent).rposition(|execution| execution == access);
        let at = known.map(|n| recent + n).unwrap_or_else(|| {
            if self.executions.len() >= self.limit.max(EXECUTIONS) {
                self.collect();
            }
            self.executions.push(*access);
            self.executions.len() - 1
        });
        (at as Slot + 1) << EXECUTION
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

    fn slot(&self, kind: usize, dword: usize) -> Slot {
        self.slots[kind].as_ref().map_or(0, |slots| slots[dword])
    }

    fn slots_mut(&mut self, kind: usize) -> &mut [Slot; PAGE] {
        self.slots[kind].get_or_insert_with(|| Box::new([0; PAGE]))
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
        let differ = slots.iter().fold(0, |differ, slot| differ | (slot ^ first));
        let mut last = first;
        differ >> EXECUTION != 0
            && slots.iter().any(|slot| {
                let is_same = (slot ^ last) >> EXECUTION == 0;
                last = *slot;
                !is_same && is(self.of_slot(*slot))
            })
    }

    /// Makes an access the last one to these dwords.
    fn put(&mut self, at: Range<usize>, own: Slot, lanes: Lanes, from: u32, access: &RecordedAccess) {
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
                self.put_one(dword, own | lanes.slot(n), access);
            }
            return;
        };
        for (slot, n) in self.slots_mut(kind)[at].iter_mut().zip(from..) {
            *slot = own | lanes.slot(n);
        }
    }

    /// Makes an access the last one to a dword.
    fn put_one(&mut self, dword: usize, own: Slot, access: &RecordedAccess) {
        let replaces = |m: Option<&RecordedAccess>| m.is_none_or(|m| m.same_wave(access));
        let kind = match access.kind {
            Kind::Read if replaces(self.of_slot(self.slot(READ, dword))) => READ,
            Kind::Read => {
                if !replaces(self.of_slot(self.slot(OTHER_READ, dword))) {
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
        self.slots_mut(kind)[dword] = own;
    }
}

/// Returns the number of kinds with which an access may race: reads don't race with reads.
fn kinds(access: &RecordedAccess) -> usize {
    if access.kind == Kind::Read { READ } else { OTHER_READ + 1 }
}

/// The lanes that access consecutive dwords, each of which they fill.
#[derive(Clone, Copy)]
struct Lanes {
    /// The lane of dword `n` is `first + (n * step >> shift)`; if there are several, the first of them.
    first: u32,
    step: u32,
    shift: u32,
    /// The number of lanes that access each dword.
    parts: u32,
}

impl Lanes {
    /// Returns the lanes of a run that begins with a whole dword.
    fn of(run: &Run, lane: u8) -> Lanes {
        let (step, shift, parts) = match run.size {
            1 => (4, 0, 4),
            2 => (2, 0, 2),
            _ if run.count == 1 => (0, 0, 1),
            4 => (1, 0, 1),
            8 => (1, 1, 1),
            // A third, which is exact below 2^15.
            12 => (43691, 17, 1),
            _ => (1, 2, 1),
        };
        Lanes { first: lane.into(), step, shift, parts }
    }

    /// Returns lane and bytes of the last access to dword `n`.
    fn slot(self, n: u32) -> Slot {
        let lane = self.first + (n * self.step >> self.shift) + self.parts - 1;
        let bytes = match self.parts {
            1 => 0b1111,
            2 => 0b1100,
            _ => 0b1000,
        };
        lane << 8 | bytes
    }

    /// Returns the lanes that access dword `n`, and the bytes of each.
    fn of_dword(self, n: u32) -> impl Iterator<Item = (u8, u8)> {
        let first = self.first + (n * self.step >> self.shift);
        let size = 4 / self.parts;
        (0..self.parts).map(move |part| ((first + part) as u8, (((1 << size) - 1) << (part * size)) as u8))
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
pub(crate) fn record(
    pages: &mut impl Pages,
    run: &Run,
    access: RecordedAccess,
    context: AccessContext,
    is_scalar: bool,
) -> Option<Race> {
    let name = |lane: u8| if is_scalar { SCALAR } else { lane };
    let mut race = None;
    if run.repeats {
        // The lanes between the first and the last find nothing more, and leave nothing.
        for lane in [run.lane, run.lane + run.count - 1] {
            race = race.or(record(pages, &run.one(lane), access, context, is_scalar));
        }
        return race;
    }
    // A single lane's few dwords are not worth being compared together.
    let whole = if run.count == 1 && run.size <= 16 { 0 } else { run.whole_dwords() };
    let (mut dword, end) = (run.address / 4, run.address / 4 + whole);
    let lanes = Lanes::of(run, name(run.lane));
    while dword < end {
        let next = (dword / PAGE as u64 + 1) * PAGE as u64;
        let (first, count) = ((dword % PAGE as u64) as usize, next.min(end) - dword);
        let from = (dword - run.address / 4) as u32;
        if let Some(page) = pages.page(dword / PAGE as u64) {
            let at = first..first + count as usize;
            race = race.or(page.record_whole(at, lanes, from, &access, context));
        }
        dword += count;
    }
    for lane in run.lanes().skip((4 * whole / run.size) as usize) {
        let (address, lane) = (run.address_of(lane), name(lane));
        for dword in address / 4..=(address + run.size - 1) / 4 {
            let bytes = bytes_of(address, run.size, dword);
            let Some(page) = pages.page(dword / PAGE as u64) else { continue };
            let own = page.execution(&access);
            let other = page.record_one((dword % PAGE as u64) as usize, own, lane, bytes, &access, context);
            race = race.or(other.map(|other| (lane, other)));
        }
    }
    race.map(|(lane, other)| (if is_scalar { 0 } else { lane }, other))
}

/// Returns a mask of the bytes of a dword that an access contains, which are some.
fn bytes_of(address: u64, size: u64, dword: u64) -> u8 {
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
    fn page(&mut self, number: u64) -> Option<&mut Page> {
        if self.held.as_ref().is_none_or(|(held, _)| *held != number) {
            let of_block = number / PAGES as u64;
            let block = match self.block {
                Some((last, block)) if last == of_block => block,
                _ => self.memory.block(of_block)?,
            };
            self.block = Some((of_block, block));
            // Holds one lock at a time, because another thread may take the locks in another order.
            self.held = None;
            self.held = Some((number, lock(&block.0[number as usize % PAGES])));
        }
        self.held.as_mut().map(|(_, page)| &mut **page)
    }
}
