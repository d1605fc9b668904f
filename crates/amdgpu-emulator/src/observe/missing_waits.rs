//! Missing waits: uses and overwrites of what a memory instruction has not delivered yet, and barriers that a wave
//! reaches before its accesses to LDS have ended.
//!
//! [`waits`](super::waits) says when an operation has certainly ended. Registers are followed for each lane, and a load
//! of 16 bits does not disturb one of the other half. Loads that end in order may overwrite each other's results.
//!
//! An access to LDS that a wave has not waited for at a barrier is reported if another wave accesses the same bytes
//! after the barrier, one of the accesses is a write, and nothing else orders them. Memory is left out there: the waves
//! of a workgroup access it in order, through one cache (LLVM, "Memory Model gfx90a", "Memory Model gfx942", without
//! threadgroup split mode).

use crate::exec::altered;
use crate::exec::inst::{ExecContext, Inst};
use crate::observe::accesses::AccessedBytes;
use crate::observe::class::{Info, InstructionClass};
use crate::observe::operands::{Operands, RegisterSet, RegisterUse, SCALAR};
use crate::observe::registers::Register;
use crate::observe::sanitizer::{Place, Sanitizer};
use crate::observe::waits::{
    ALL_BITS, Begun, Counter, Counting, Order, Outstanding, begun, bits_written, counters, limits,
};
use crate::report::access::{AccessKind, LaneAddress, MemorySpace};
use crate::report::defect::{Defect, DefectKind};
use crate::state::wave::{Wave, lanes_of, sreg};

/// What an outstanding operation still has to do.
struct Item {
    /// The index of the instruction in the program.
    inst: u32,
    access: AccessKind,
    space: MemorySpace,
    /// The registers that the operation still has to write or, for global wave sync, to read.
    registers: Option<RegisterUse>,
    /// The lanes of these registers.
    lanes: u64,
    /// The bits that a load of one register writes.
    bits: u32,
    /// The bytes of LDS that the operation accesses.
    lds: Vec<AccessedBytes>,
    /// The number of the operation's entry in [`Waits::crossed`].
    crossed: Option<u64>,
}

/// An operation on LDS that had not ended when its wave reached a barrier.
struct Crossed {
    number: u64,
    wave: u8,
    inst: u32,
    /// The number of barriers that the workgroup had passed before that barrier.
    barrier: u32,
    accesses: Vec<(AccessedBytes, Lines)>,
    wait: Option<String>,
    ended: Option<Moment>,
}

/// A moment in the order of accesses.
#[derive(Debug, Clone, Copy)]
pub(super) struct Moment {
    /// The number of acquires that all waves had executed.
    pub(super) time: u32,
    /// The number of barriers that the workgroup had passed.
    pub(super) barrier: u32,
}

#[derive(Default)]
struct WaveWaits {
    outstanding: Outstanding<Item>,
    /// The registers that an outstanding operation still has to write or read.
    pending: RegisterSet,
    /// The last result of [`Waits::next_concern`] since `pending` changed: the instructions from and to which it looked.
    quiet: Option<(usize, usize)>,
}

impl WaveWaits {
    fn find_pending(&mut self) {
        (self.pending, self.quiet) = Default::default();
        let registers = self.outstanding.iter().filter_map(|(_, item)| item.registers);
        registers.for_each(|registers| self.pending.insert(registers));
    }

    /// Returns whether an instruction may use registers of outstanding operations.
    fn may_be_used_by(&self, info: &Info) -> bool {
        let is_pending = |operand: &RegisterUse| self.pending.intersects(*operand);
        info.operands.is_indexed || info.operands.uses().iter().any(is_pending)
    }

    /// Returns the position of an outstanding operation that has not delivered or read registers of `operand`, and
    /// these registers. `begins` is what the instruction with the operand begins, and the bits that it loads.
    fn conflict(
        &mut self,
        operand: RegisterUse,
        lanes: u64,
        begins: &[Option<Begun>],
        bits: u32,
    ) -> Option<(usize, RegisterUse)> {
        let in_order = |counter: Counter, order: Order| {
            order != Order::Any
                && begins
                    .iter()
                    .flatten()
                    .filter(|begun| begun.lanes != 0)
                    .all(|begun| begun.counter == counter && begun.order == order)
        };
        let loads = operand.is_write && begins.iter().any(Option::is_some);
        self.outstanding.iter_mut().enumerate().find_map(|(n, (counter, order, item))| {
            let registers = item.registers?;
            let first = registers.first.max(operand.first);
            let end = registers.registers().end.min(operand.registers().end);
            let apart = first >= end || !operand.is_scalar() && item.lanes & lanes == 0;
            let harmless = match (registers.is_write, operand.is_write) {
                (true, true) => loads && (in_order(counter, order) || item.bits & bits == 0),
                (true, false) | (false, true) => false,
                (false, false) => true,
            };
            (!apart && !harmless).then(|| (n, RegisterUse { first, count: (end - first) as u8, ..operand }))
        })
    }
}

/// The outstanding operations of a workgroup's waves.
pub(super) struct Waits {
    group: u32,
    waves: Vec<WaveWaits>,
    crossed: Vec<Crossed>,
    /// The number of operations that have been in `crossed`.
    crossings: u64,
    /// Empty lists of the accesses of operations that have ended.
    spare: Vec<Vec<AccessedBytes>>,
}

/// The instruction that a wave executes next.
pub(super) struct Next<'a> {
    pub(super) w: &'a Wave,
    pub(super) at: u32,
    pub(super) i: &'a Inst,
    pub(super) info: &'a Info,
    pub(super) accesses: &'a [AccessedBytes],
    pub(super) now: Moment,
    /// The time of the wave's last acquire.
    pub(super) acquired: u32,
}

impl Waits {
    pub(super) fn new(group: u32, waves: usize) -> Waits {
        Waits {
            group,
            waves: std::iter::repeat_with(WaveWaits::default).take(waves).collect(),
            crossed: Vec::new(),
            crossings: 0,
            spare: Vec::new(),
        }
    }

    /// Called when the workgroup has passed a barrier, and has now passed `barrier` of them.
    pub(super) fn barrier(&mut self, barrier: u32) {
        self.crossed.retain(|crossed| crossed.ended.is_none_or(|ended| ended.barrier >= barrier));
    }

    /// Returns whether a wave has no outstanding operations.
    pub(super) fn is_idle(&self, wave: usize) -> bool {
        self.waves.get(wave).is_none_or(|state| state.outstanding.is_empty())
    }

    /// Returns whether an instruction that only computes registers may use those of outstanding operations.
    pub(super) fn concerns(&self, w: &Wave, info: &Info) -> bool {
        self.waves.get(w.id as usize).is_some_and(|state| {
            !state.outstanding.is_empty() && (w.mode.alters() || state.may_be_used_by(info))
        })
    }

    /// Returns the index of the first instruction from `from` on that does more than to compute registers, or may use those of
    /// outstanding operations.
    pub(super) fn next_concern(&mut self, w: &Wave, infos: &[Info], from: usize) -> usize {
        let Some(state) = self.waves.get_mut(w.id as usize).filter(|_| !w.mode.alters()) else { return from };
        match state.quiet {
            Some((start, end)) if start == from => end,
            _ => {
                let concerns = |info: &Info| !info.is_quiet || state.may_be_used_by(info);
                let end = infos.iter().skip(from).position(concerns).map_or(infos.len(), |n| from + n);
                state.quiet = Some((from, end));
                end
            }
        }
    }

    /// Checks the instruction that a wave executes next.
    pub(super) fn see(&mut self, shared: &Sanitizer, cx: &ExecContext, next: &Next<'_>) {
        let wave = next.w.id as usize;
        if next.info.is_quiet {
            if !self.is_idle(wave) {
                self.check_registers(shared, cx, next, &[]);
            }
            return;
        }
        let Waits { waves, crossed, spare, .. } = self;
        let Some(state) = waves.get_mut(wave) else { return };
        let mut any = false;
        let mut ended = |mut item: Item| {
            any = true;
            if !item.lds.is_empty() {
                item.lds.clear();
                spare.push(std::mem::take(&mut item.lds));
            }
            if let Some(entry) = crossed.iter_mut().find(|entry| Some(entry.number) == item.crossed) {
                entry.ended = Some(next.now);
            }
        };
        if let Counting::Wait(waiting) = next.info.counting {
            state.outstanding.wait(limits(waiting, next.w, next.i), &mut ended);
        } else {
            for counter in counters(next.info.counting, cx.code.target) {
                state.outstanding.make_room(*counter, cx.code.target, &mut ended);
            }
        }
        if any {
            state.find_pending();
        }
        let begins = begun(next.info.counting, next.w.exec(), next.accesses, cx.code.target);
        if !state.outstanding.is_empty() {
            self.check_registers(shared, cx, next, &begins);
            self.check_lds_loads(shared, cx, next);
            if next.info.class == InstructionClass::Barrier {
                self.cross(cx, wave, next.now);
            }
        }
        if !self.crossed.is_empty() {
            self.check_crossed(shared, cx, next);
        }
        self.begin(next, &begins);
    }

    fn place(&self, next: &Next<'_>, lane: Option<u8>, access: AccessKind) -> Place {
        Place { group: self.group, inst: next.at, wave: next.w.id as u8, lane, access }
    }

    /// Reports operands that are registers of outstanding operations.
    fn check_registers(
        &mut self,
        shared: &Sanitizer,
        cx: &ExecContext,
        next: &Next<'_>,
        begins: &[Option<Begun>],
    ) {
        let Some(state) = self.waves.get_mut(next.w.id as usize) else { return };
        let moved;
        let mut operands = &next.info.operands;
        if next.w.mode.alters() && next.i.row.is_valu() {
            moved = Operands::of(&altered::indexed(next.w, next.i), cx.code.wave32);
            operands = &moved;
        } else if operands.is_indexed {
            moved = operands.indexed(next.w, next.i);
            operands = &moved;
        }
        for operand in operands.uses() {
            if !state.pending.intersects(*operand) {
                continue;
            }
            let lanes = operands.lanes(next.w, next.i);
            let bits = loaded_bits(next.i, *operand, next.w.d16_kept);
            while let Some((number, registers)) = state.conflict(*operand, lanes, begins, bits) {
                let wait = state.outstanding.needed(number, cx.code.target);
                let Some((_, _, item)) = state.outstanding.iter_mut().nth(number) else { break };
                let kind = match operand.is_write {
                    true => DefectKind::OverwriteBeforeWait,
                    false => DefectKind::UseBeforeWait,
                };
                let lane = lanes_of(item.lanes & lanes).next().filter(|_| !operand.is_scalar());
                let access = if operand.is_write { AccessKind::Write } else { AccessKind::Read };
                let place = |inst, access| Place {
                    group: self.group,
                    inst,
                    wave: next.w.id as u8,
                    lane: lane.map(|lane| lane as u8),
                    access,
                };
                shared.add((kind, next.at, item.inst), || Defect {
                    kind,
                    space: item.space,
                    size: 4 * u32::from(registers.count),
                    lanes: Vec::new(),
                    site: shared.site(cx, place(next.at, access)),
                    other: Some(shared.site(cx, place(item.inst, item.access))),
                    allocation: None,
                    registers: Some(name(registers)),
                    wait,
                    count: 1,
                });
                // Further uses would report the same missing wait.
                item.registers = None;
                state.find_pending();
            }
        }
    }

    /// Reports accesses to bytes of LDS that a load to LDS of the same wave has not written yet.
    fn check_lds_loads(&mut self, shared: &Sanitizer, cx: &ExecContext, next: &Next<'_>) {
        if next.info.counting == Counting::Memory || next.accesses.iter().all(|a| a.space != MemorySpace::Lds)
        {
            return;
        }
        let place = |inst, lane, access| Place { inst, ..self.place(next, Some(lane), access) };
        let Some(state) = self.waves.get(next.w.id as usize) else { return };
        for (number, (counter, item)) in state.outstanding.iter().enumerate() {
            let later = next.accesses.iter().filter(|_| counter == Counter::Vector);
            let found = later.flat_map(|later| item.lds.iter().map(move |earlier| (later, earlier)));
            let overlapping = |(later, earlier)| Some((later, overlap(later, earlier, &Lines::of(earlier))?));
            let Some((later, lane)) = found.filter_map(overlapping).next() else {
                continue;
            };
            let kind = match later.access {
                AccessKind::Read => DefectKind::UseBeforeWait,
                _ => DefectKind::OverwriteBeforeWait,
            };
            shared.add((kind, next.at, item.inst), || Defect {
                kind,
                space: MemorySpace::Lds,
                size: later.size,
                lanes: address_of(later, lane),
                site: shared.site(cx, place(next.at, lane, later.access)),
                other: Some(shared.site(cx, place(item.inst, lane, item.access))),
                allocation: None,
                registers: None,
                wait: state.outstanding.needed(number, cx.code.target),
                count: 1,
            });
        }
    }

    /// Keeps the accesses to LDS of a wave that have not ended when it reaches a barrier.
    fn cross(&mut self, cx: &ExecContext, wave: usize, now: Moment) {
        let Some(state) = self.waves.get_mut(wave) else { return };
        let open = |item: &Item| !item.lds.is_empty() && item.crossed.is_none();
        let numbers: Vec<usize> = state
            .outstanding
            .iter()
            .enumerate()
            .filter(|(_, (_, item))| open(item))
            .map(|(n, _)| n)
            .collect();
        for number in numbers {
            let wait = state.outstanding.needed(number, cx.code.target);
            let Some((_, _, item)) = state.outstanding.iter_mut().nth(number) else { continue };
            self.crossings += 1;
            item.crossed = Some(self.crossings);
            self.crossed.push(Crossed {
                number: self.crossings,
                wave: wave as u8,
                inst: item.inst,
                barrier: now.barrier,
                accesses: item.lds.iter().map(|accessed| (accessed.clone(), Lines::of(accessed))).collect(),
                wait,
                ended: None,
            });
        }
    }

    /// Reports accesses to LDS that conflict with an access of another wave that had not ended at a barrier.
    fn check_crossed(&self, shared: &Sanitizer, cx: &ExecContext, next: &Next<'_>) {
        for earlier in &self.crossed {
            let ordered = u32::from(earlier.wave) == next.w.id
                || next.now.barrier <= earlier.barrier
                || earlier.ended.is_some_and(|ended| next.acquired > ended.time);
            if ordered {
                continue;
            }
            for (before, lines) in &earlier.accesses {
                for later in next.accesses.iter().filter(|later| conflicts(later.access, before.access)) {
                    let Some(lane) = overlap(later, before, lines) else { continue };
                    let kind = DefectKind::BarrierBeforeWait;
                    let place = self.place(next, Some(lane), later.access);
                    let other =
                        Place { inst: earlier.inst, wave: earlier.wave, access: before.access, ..place };
                    shared.add((kind, next.at, earlier.inst), || Defect {
                        kind,
                        space: MemorySpace::Lds,
                        size: later.size,
                        lanes: address_of(later, lane),
                        site: shared.site(cx, place),
                        other: Some(shared.site(cx, Place { lane: None, ..other })),
                        allocation: None,
                        registers: None,
                        wait: earlier.wait.clone(),
                        count: 1,
                    });
                }
            }
        }
    }

    /// Adds the operations that an instruction begins.
    fn begin(&mut self, next: &Next<'_>, begins: &[Option<Begun>]) {
        let several = self.waves.len() > 1;
        let Some(state) = self.waves.get_mut(next.w.id as usize) else { return };
        for begun in begins.iter().flatten() {
            let operands = next.info.operands.uses();
            let registers = match begun.counter {
                Counter::Export => operands.first().copied(),
                _ => next.info.operands.result(),
            }
            .filter(|registers| registers.is_scalar() || begun.lanes != 0);
            // Other waves see the bytes of LDS; the wave itself only those of loads to LDS.
            let to_lds = next.info.counting == Counting::Memory;
            let accesses =
                next.accesses.iter().filter(|a| a.space == MemorySpace::Lds && (several || to_lds));
            let accesses = accesses.filter(|_| begun.lanes != 0);
            let mut lds = Vec::new();
            for accessed in accesses {
                if lds.is_empty() {
                    lds = self.spare.pop().unwrap_or_default();
                }
                lds.push(accessed.clone());
            }
            let item = Item {
                inst: next.at,
                access: next.accesses.first().map_or(AccessKind::Read, |accessed| accessed.access),
                space: match next.info.counting {
                    Counting::Lds => MemorySpace::Lds,
                    _ => next.accesses.first().map_or(MemorySpace::Global, |accessed| accessed.space),
                },
                registers,
                lanes: begun.lanes,
                bits: registers.map_or(ALL_BITS, |registers| loaded_bits(next.i, registers, next.w.d16_kept)),
                lds,
                crossed: None,
            };
            if let Some(registers) = registers {
                state.pending.insert(registers);
                state.quiet = None;
            }
            state.outstanding.issue(begun.counter, begun.order, item);
        }
    }
}

/// Returns the bits that an instruction loads of its result; all, unless it is one register.
fn loaded_bits(i: &Inst, result: RegisterUse, d16_kept: u32) -> u32 {
    if result.count == 1 { bits_written(i.row, 0, 1, d16_kept) } else { ALL_BITS }
}

/// Returns whether two accesses of different waves need an order. Atomic stores to LDS look like plain ones.
fn conflicts(later: AccessKind, earlier: AccessKind) -> bool {
    matches!((later, earlier), (AccessKind::Write, AccessKind::Write))
        || (later == AccessKind::Read) != (earlier == AccessKind::Read)
}

/// The lines of 16 bytes that an access touches, and others at distances of 64 KiB: comparing each lane with each other would take most
/// of the sanitizer's time.
struct Lines([u64; 64]);

impl Lines {
    fn of(accessed: &AccessedBytes) -> Lines {
        let mut lines = Lines([0; 64]);
        for (_, address) in accessed.each() {
            for line in Lines::from_to(address, accessed.size) {
                lines.0[line / 64 % 64] |= 1 << (line % 64);
            }
        }
        lines
    }

    /// Returns whether the access may touch some of the bytes.
    fn may_have(&self, address: u64, size: u32) -> bool {
        Lines::from_to(address, size).any(|line| self.0[line / 64 % 64] >> (line % 64) & 1 != 0)
    }

    fn from_to(address: u64, size: u32) -> std::ops::RangeInclusive<usize> {
        let last = address.saturating_add(size.into()).saturating_sub(1);
        address as usize / 16..=last as usize / 16
    }
}

/// Returns a lane of `later` that accesses bytes of `earlier`, which touches `lines`.
fn overlap(later: &AccessedBytes, earlier: &AccessedBytes, lines: &Lines) -> Option<u8> {
    if later.space != earlier.space {
        return None;
    }
    let (later_size, earlier_size) = (u64::from(later.size), u64::from(earlier.size));
    let touches = |a: u64| earlier.each().any(|(_, b)| a < b + earlier_size && b < a + later_size);
    let found = later.each().find(|(_, a)| lines.may_have(*a, later.size) && touches(*a));
    found.map(|(lane, _)| lane as u8)
}

fn address_of(accessed: &AccessedBytes, lane: u8) -> Vec<LaneAddress> {
    let at = accessed.each().filter(|(other, _)| *other == usize::from(lane));
    at.map(|(_, address)| LaneAddress { lane: (!accessed.is_scalar).then_some(lane), address }).collect()
}

/// Returns the name of registers as in the disassembly, such as `v[2:3]`.
pub(super) fn name(registers: RegisterUse) -> String {
    let one = |number: u16| match number.checked_sub(SCALAR) {
        Some(scalar) => Register::Scalar(scalar).to_string(),
        None => Register::Vector(number).to_string(),
    };
    let first = one(registers.first);
    if registers.count == 1 {
        return first;
    }
    if registers.first == SCALAR + sreg::VCC && registers.count == 2 {
        return Register::Vcc.to_string();
    }
    let last = one(registers.registers().end - 1);
    match (first.split_at_checked(1), last.split_at_checked(1)) {
        (Some((file, first)), Some((_, last))) => format!("{file}[{first}:{last}]"),
        _ => first,
    }
}
