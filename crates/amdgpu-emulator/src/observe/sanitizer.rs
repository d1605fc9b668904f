//! The sanitizer: finds uses of bytes that were never written ([`unwritten`](super::unwritten)), data races ([`races`](super::races) defines these),
//! missing waits ([`missing_waits`](super::missing_waits)), and [`hazards`](super::hazards).

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use amdgpu_isa::flags::{COMPARE, HIGH};
use amdgpu_isa::{Target, Ty, disassemble_words};

use crate::exec::inst::{ExecContext, Inst, REPORTED, flag};
use crate::memory::image::Image;
use crate::memory::{AddressSpace, ShadowRange};
use crate::observe::accesses::{AccessedBytes, Run};
use crate::observe::class::{AddressingKind, Info};
use crate::observe::hazards::Hazards;
use crate::observe::history::{self, GlobalHistory, Page, Pages, Race};
use crate::observe::lock::lock;
use crate::observe::missing_waits::{Moment, Next, Waits};
use crate::observe::races::{AccessContext, Kind, RecordedAccess, SCALAR};
use crate::observe::unwritten::{self, Origin, Unwritten};
use crate::observe::written::WrittenBytes;
use crate::report::access::{AccessKind, LaneAddress, MemorySpace};
use crate::report::defect::{Defect, DefectKind, Site};
use crate::state::wave::{LANES, Wave, lanes_of};

/// The largest number of instructions, or pairs of them, that are reported.
const REPORTS: usize = 64;

/// The sanitizer's state that the workgroups of a dispatch share.
pub(crate) struct Sanitizer {
    image: Arc<Image>,
    space: Arc<AddressSpace>,
    grid: [u32; 3],
    /// Whether hazards are defects.
    hazards: bool,
    memory: GlobalHistory,
    found: Mutex<Found>,
}

#[derive(Default)]
struct Found {
    defects: Vec<Defect>,
    /// The index in `defects` of the defect of each pair of instructions. For reads of unwritten bytes, both
    /// are the load.
    by_place: HashMap<(DefectKind, u32, u32), usize>,
}

impl Sanitizer {
    pub(crate) fn new(
        image: Arc<Image>,
        space: Arc<AddressSpace>,
        grid: [u32; 3],
        hazards: bool,
    ) -> Sanitizer {
        Sanitizer { image, space, grid, hazards, memory: GlobalHistory::new(), found: Mutex::default() }
    }

    /// Returns the defects that were found, and removes them.
    pub(crate) fn take(&self) -> Vec<Defect> {
        std::mem::take(&mut lock(&self.found).defects)
    }

    /// Returns the instruction at a place, with its workgroup, wave and lane.
    pub(super) fn site(&self, cx: &ExecContext, place: Place) -> Site {
        let group = u64::from(place.group);
        let [x, y, _] = self.grid.map(|n| u64::from(n).max(1));
        let (pc, instruction) = match cx.code.insts.get(place.inst as usize) {
            Some(i) => {
                let pc = self.image.vaddr(cx.code.base + 4 * u64::from(i.pc));
                let text = disassemble_words(cx.code.isa(), &i.raw, pc);
                (pc, text.map_or_else(|| i.row.name.into(), |i| i.text))
            }
            None => (0, String::new()),
        };
        Site {
            access: place.access,
            workgroup: [(group % x) as u32, (group / x % y) as u32, (group / (x * y)) as u32],
            wave: place.wave.into(),
            lane: place.lane,
            pc,
            function: self.image.object().function_at(pc).map(|f| (f.name.clone(), pc - f.address)),
            source: self.image.object().source_at(pc),
            instruction,
        }
    }

    /// Records a defect, which `make` returns, unless there are [`REPORTS`] already. A defect of the same kind and
    /// instructions is only counted.
    #[cold]
    pub(super) fn add(&self, place: (DefectKind, u32, u32), make: impl FnOnce() -> Defect) {
        let mut found = lock(&self.found);
        if let Some(at) = found.by_place.get(&place).copied() {
            if let Some(defect) = found.defects.get_mut(at) {
                defect.count += 1;
            }
            return;
        }
        if found.defects.len() >= REPORTS {
            return;
        }
        let at = found.defects.len();
        found.defects.push(make());
        found.by_place.insert(place, at);
    }

    /// Records a defect of an access.
    fn report(
        &self,
        cx: &ExecContext,
        kind: DefectKind,
        accessed: &AccessedBytes,
        lanes: u64,
        access: RecordedAccess,
        other: Option<RecordedAccess>,
    ) {
        let second = other.filter(|_| kind == DefectKind::DataRace);
        self.add((kind, access.inst, second.map_or(access.inst, |other| other.inst)), || {
            let scalar = accessed.is_scalar;
            let named = accessed.each().filter(|(lane, _)| lanes >> lane & 1 != 0).take(REPORTED);
            let lanes: Vec<LaneAddress> = named
                .map(|(lane, address)| LaneAddress { lane: (!scalar).then_some(lane as u8), address })
                .collect();
            let first = lanes.first().map_or(0, |lane| lane.address);
            let allocation =
                (accessed.space == MemorySpace::Global).then(|| self.space.position(first)).flatten();
            Defect {
                kind,
                space: accessed.space,
                size: accessed.size,
                lanes,
                site: self.site(cx, Place::of(access)),
                other: other.map(|other| self.site(cx, Place::of(other))),
                allocation,
                registers: None,
                wait: None,
                count: 1,
            }
        });
    }
}

/// An instruction that a wave executed.
#[derive(Debug, Clone, Copy)]
pub(super) struct Place {
    /// The number of the workgroup.
    pub(super) group: u32,
    /// The index of the instruction in the program.
    pub(super) inst: u32,
    pub(super) wave: u8,
    /// The lane; `None` for what the wave does once.
    pub(super) lane: Option<u8>,
    pub(super) access: AccessKind,
}

impl Place {
    fn of(access: RecordedAccess) -> Place {
        Place {
            group: access.group,
            inst: access.inst,
            wave: access.wave,
            lane: (access.lane != SCALAR).then_some(access.lane),
            access: match access.kind {
                Kind::Read => AccessKind::Read,
                Kind::Write | Kind::AtomicStore => AccessKind::Write,
                Kind::Atomic | Kind::CompareSwap => AccessKind::Atomic,
            },
        }
    }
}

/// The sanitizer's state of one workgroup.
pub(crate) struct Local {
    shared: Arc<Sanitizer>,
    group: u32,
    /// The number of barriers that the workgroup has passed.
    barrier: u32,
    waves: Vec<WaveOrder>,
    waits: Waits,
    hazards: Option<Hazards>,
    /// The unwritten bytes that each wave has loaded.
    unwritten: Vec<Unwritten>,
    /// The lanes of which the instruction loads unwritten bytes to LDS.
    to_lds: u64,
    lds_written: WrittenBytes,
    /// The histories of LDS.
    lds: Vec<Page>,
    /// The runs of lanes of the access that is checked.
    runs: Vec<Run>,
}

/// The order of a wave with others.
#[derive(Default)]
struct WaveOrder {
    /// The time of its last acquire, its own or one of a wave that it met at a barrier.
    acquired: u32,
    /// The instruction that the wave executed last is an acquire.
    pending: bool,
    /// The barrier and the time of its last write.
    wrote: Option<(u32, u32)>,
    /// Races of what it has read.
    races: Vec<PendingRace>,
}

/// A race that is one if the wave that has read writes anything later.
struct PendingRace {
    accessed: AccessedBytes,
    lane: u8,
    access: RecordedAccess,
    other: RecordedAccess,
}

impl Local {
    pub(crate) fn new(shared: &Arc<Sanitizer>, group: u64, waves: usize) -> Local {
        Local {
            shared: Arc::clone(shared),
            group: group as u32,
            barrier: 0,
            waves: std::iter::repeat_with(WaveOrder::default).take(waves).collect(),
            waits: Waits::new(group as u32, waves),
            hazards: shared.hazards.then(|| Hazards::new(group as u32, waves)),
            unwritten: std::iter::repeat_with(Unwritten::default).take(waves).collect(),
            to_lds: 0,
            lds_written: WrittenBytes::default(),
            lds: Vec::new(),
            runs: Vec::new(),
        }
    }

    /// Called when all waves have met at a barrier.
    pub(crate) fn barrier(&mut self) {
        self.barrier += 1;
        self.waits.barrier(self.barrier);
        for wave in 0..self.waves.len() {
            self.settle(wave);
        }
        let latest = self.waves.iter().map(|wave| wave.acquired).max().unwrap_or(0);
        for wave in &mut self.waves {
            (wave.acquired, wave.pending) = (latest, false);
        }
    }

    /// Counts the acquire that a wave has just executed. It takes effect only here, after the instruction has read
    /// memory.
    fn settle(&mut self, wave: usize) {
        if let Some(wave) = self.waves.get_mut(wave).filter(|wave| wave.pending) {
            (wave.acquired, wave.pending) = (self.shared.memory.acquire(), false);
        }
    }

    /// Checks instruction `i`, number `at` in the program, which `w` executes next, and the bytes that it accesses.
    pub(crate) fn see(
        &mut self,
        w: &mut Wave,
        cx: &mut ExecContext,
        at: usize,
        i: &Inst,
        info: &Info,
        accesses: &[AccessedBytes],
    ) {
        let wave = w.id as usize;
        self.settle(wave);
        if info.is_quiet && !self.follows(wave) && !self.waits.concerns(w, info) {
            return;
        }
        let now = Moment { time: self.shared.memory.time(), barrier: self.barrier };
        let acquired = self.waves.get(wave).map_or(0, |wave| wave.acquired);
        let next = Next { w, at: at as u32, i, info, accesses, now, acquired };
        self.waits.see(&self.shared, cx, &next);
        if let Some(hazards) = &mut self.hazards {
            hazards.see(&self.shared, cx, w, at as u32, i, info);
        }
        self.follow(w, cx, at, i, info);
        if info.is_quiet {
            return;
        }
        if matches!(i.row.name, "ds_gws_barrier" | "ds_gws_sema_p")
            && let Some(order) = self.waves.get_mut(wave)
        {
            order.pending = true;
        }
        for number in 0..accesses.len() {
            self.access(w, cx, (at, i, info), (number, accesses));
        }
    }

    /// Returns the index of the next instruction that it has to see of a wave that executes number `at` of `infos`, unless that jumps:
    /// of those that only compute registers, it sees what uses those of outstanding operations, and all of them if it has to
    /// [follow](Self::follows) them.
    pub(crate) fn next(&mut self, w: &Wave, at: usize, infos: &[Info]) -> usize {
        let wave = w.id as usize;
        match infos.get(at) {
            Some(info) if !self.follows(wave) && self.waves.get(wave).is_none_or(|order| !order.pending) => {
                if self.waits.is_idle(wave) {
                    info.next_loud as usize
                } else {
                    self.waits.next_concern(w, infos, at + 1)
                }
            }
            _ => at + 1,
        }
    }

    /// Checks access `number` of an instruction.
    fn access(
        &mut self,
        w: &Wave,
        cx: &mut ExecContext,
        (at, i, info): (usize, &Inst, &Info),
        (number, accesses): (usize, &[AccessedBytes]),
    ) {
        let (wave, Some(accessed)) = (w.id as usize, accesses.get(number)) else { return };
        if accessed.space == MemorySpace::Scratch {
            if let Some(unwritten) = self.unwritten.get_mut(wave) {
                unwritten.private(w, i, info, (number, accessed));
            }
            return;
        }
        let inner = i.ext.as_ref().map_or(i, |ext| &ext.inner);
        let kind = kind(cx.code.target, i, accessed);
        let in_lds = accessed.space == MemorySpace::Lds;
        let atomic_load = kind == Kind::Read && bypasses_caches(cx.code.target, inner) && !in_lds;
        if (atomic_load || kind.is_rmw() && returns(i, info.addressing))
            && let Some(order) = self.waves.get_mut(wave)
        {
            order.pending = true;
        }
        let access = self.recorded(wave, at, kind);
        let context = AccessContext {
            acquired: self.waves.get(wave).map_or(0, |wave| wave.acquired),
            stores_may_be_atomic: in_lds || !marks_atomic_stores(cx.code.target),
        };
        if kind != Kind::Read {
            self.writes(cx, wave, access);
        }
        let check = Check {
            accessed,
            access,
            context,
            may_race: !atomic_load,
            is_scattered: accessed.is_scattered(),
            is_all_written: false,
            found: FoundLanes::default(),
        };
        let mut runs = std::mem::take(&mut self.runs);
        runs.clear();
        let found = match in_lds {
            true => self.lds(cx.lds.size(), &mut runs, check),
            false => self.global(cx, &mut runs, check),
        };
        self.runs = runs;
        self.move_unwritten(w, cx, (i, info), (number, accesses), access, &found);
        if let Some((lane, other)) = found.race
            && !(kind == Kind::Write
                && other.kind == Kind::Write
                && stores_same(w, cx, inner, info.addressing, number, accessed))
        {
            let access = RecordedAccess { lane: if accessed.is_scalar { SCALAR } else { lane }, ..access };
            self.race(cx, accessed, lane, access, other);
        }
    }

    /// Returns whether it has to see all instructions of a wave, because these have hazards, or registers have unwritten bytes.
    fn follows(&self, wave: usize) -> bool {
        self.hazards.is_some() || self.unwritten.get(wave).is_some_and(|unwritten| !unwritten.is_idle())
    }

    fn recorded(&self, wave: usize, at: usize, kind: Kind) -> RecordedAccess {
        RecordedAccess {
            group: self.group,
            inst: at as u32,
            time: self.shared.memory.time(),
            barrier: self.barrier,
            wave: wave as u8,
            lane: SCALAR,
            bytes: 0,
            kind,
        }
    }

    /// Follows unwritten bytes through the registers, and reports those that the instruction uses.
    fn follow(&mut self, w: &mut Wave, cx: &mut ExecContext, at: usize, i: &Inst, info: &Info) {
        let wave = w.id as usize;
        if self.unwritten.get(wave).is_none_or(Unwritten::is_idle) {
            return;
        }
        let used = self.unwritten.get_mut(wave).map(|unwritten| unwritten.step(w, cx, i, info));
        for origin in used.unwrap_or_default() {
            let user = self.recorded(wave, at, Kind::Read);
            let Origin { accessed, lanes, access, .. } = &*origin;
            self.shared.report(cx, DefectKind::UninitializedRead, accessed, *lanes, *access, Some(user));
        }
    }

    /// Moves unwritten bytes between memory and registers, as access `number` of an instruction does. Reports those that it
    /// does not only copy, and those past the end of an allocation, which nothing should read.
    fn move_unwritten(
        &mut self,
        w: &Wave,
        cx: &mut ExecContext,
        (i, info): (&Inst, &Info),
        (number, accesses): (usize, &[AccessedBytes]),
        access: RecordedAccess,
        found: &FoundLanes,
    ) {
        let Some(accessed) = accesses.get(number) else { return };
        let Local { shared, unwritten, lds_written, to_lds, .. } = self;
        let Some(unwritten) = unwritten.get_mut(w.id as usize) else { return };
        let is_to_lds = |number: usize| {
            accesses.get(number).is_some_and(|stored| stored.space == MemorySpace::Lds)
                && accesses.get(number - 1).is_some_and(|loaded| loaded.access == AccessKind::Read)
        };
        if accessed.access == AccessKind::Write {
            let loaded = if number > 0 && is_to_lds(number) { std::mem::take(to_lds) } else { 0 };
            for lane in lanes_of(loaded & accessed.lanes) {
                for byte in 0..u64::from(accessed.size) {
                    forget(cx, lds_written, accessed.space, accessed.at[lane] + byte);
                }
            }
            if unwritten.is_empty() {
                return;
            }
            let stored = unwritten.stored(i, info.addressing, (number, accessed));
            for (lane, address) in accessed.each() {
                for byte in 0..accessed.size {
                    if stored(lane, byte).is_some() {
                        forget(cx, lds_written, accessed.space, address + u64::from(byte));
                    }
                }
            }
            return;
        }
        if number == 0 && is_to_lds(1) {
            *to_lds = found.unwritten & !found.past_end;
        }
        if found.unwritten == 0 {
            return;
        }
        let copies = unwritten::copies(info, accesses);
        let reported = if copies || number == 0 && is_to_lds(1) { found.past_end } else { found.unwritten };
        if reported != 0 {
            shared.report(cx, DefectKind::UninitializedRead, accessed, reported, access, None);
        }
        let lanes = found.unwritten & !found.past_end;
        if copies && lanes != 0 {
            let origin = Origin::new(accessed, lanes, access);
            let mut bytes = [0u16; LANES];
            for (lane, address) in accessed.each().filter(|(lane, _)| lanes >> lane & 1 != 0) {
                let is_unwritten =
                    |byte: &u32| !is_written(cx, lds_written, accessed.space, address + u64::from(*byte));
                bytes[lane] = (0..accessed.size).filter(is_unwritten).fold(0, |mask, byte| mask | 1 << byte);
            }
            unwritten.load(w, i, info, (number, accessed), |lane, byte| {
                (bytes[lane] >> byte & 1 != 0).then(|| Arc::clone(&origin))
            });
        }
    }

    /// Reports a race, unless one side only reads: then when that wave of this workgroup writes anything later. What a wave
    /// reads that writes nothing afterwards changes nothing. (Triton replicates a small block over the waves of a program: all of
    /// them load it, and one stores.)
    fn race(
        &mut self,
        cx: &ExecContext,
        accessed: &AccessedBytes,
        lane: u8,
        access: RecordedAccess,
        other: RecordedAccess,
    ) {
        let reader = [access, other].into_iter().find(|access| access.kind == Kind::Read);
        if let Some(reader) = reader.filter(|reader| reader.group == self.group)
            && let Some(wave) = self.waves.get_mut(usize::from(reader.wave))
            && wave.wrote.is_none_or(|wrote| wrote < (reader.barrier, reader.time))
        {
            let same = |race: &PendingRace| (race.access.inst, race.other.inst) == (access.inst, other.inst);
            if !wave.races.iter().any(same) {
                wave.races.push(PendingRace { accessed: accessed.clone(), lane, access, other });
            }
            return;
        }
        self.shared.report(cx, DefectKind::DataRace, accessed, 1 << lane, access, Some(other));
    }

    /// Records that a wave writes, and reports the races whose reads it made before.
    fn writes(&mut self, cx: &ExecContext, wave: usize, access: RecordedAccess) {
        let Some(wave) = self.waves.get_mut(wave) else { return };
        wave.wrote = Some((access.barrier, access.time));
        for PendingRace { accessed, lane, access, other } in std::mem::take(&mut wave.races) {
            self.shared.report(cx, DefectKind::DataRace, &accessed, 1 << lane, access, Some(other));
        }
    }

    /// Checks an access to global memory. `runs` is empty; its memory is reused.
    fn global(&self, cx: &mut ExecContext, runs: &mut Vec<Run>, mut check: Check<'_>) -> FoundLanes {
        let accessed = check.accessed;
        let pages = &mut self.shared.memory.pages();
        let (address, bytes) = check.extent(runs);
        let range = cx.mem.tracked(address, bytes);
        if !matches!(range, ShadowRange::Outside) {
            if let ShadowRange::At(shadow, offset, _) = range {
                check.is_all_written = shadow.has_all_written(offset, bytes)
                    || check.is_dense(bytes, runs) && shadow.is_written(offset, bytes);
            }
            if check.is_scattered && check.may_race {
                check.record_lanes(pages);
            }
            if !(check.is_scattered && check.is_all_written) {
                check.each_lane_if_scattered(runs);
                runs.iter().for_each(|run| check.global(run, &range, address, pages));
            }
            return check.found;
        }
        // Some lanes may be outside, or the lanes are in several ranges. A single one is outside.
        check.is_scattered = false;
        for (lane, address) in accessed.each().filter(|_| accessed.lanes.count_ones() > 1) {
            let run = Run::of_lane(lane, address, accessed.size);
            let range = cx.mem.tracked(address, run.size);
            if !matches!(range, ShadowRange::Outside) {
                check.global(&run, &range, address, pages);
            }
        }
        check.found
    }

    /// Checks an access to LDS, like [`global`](Self::global).
    fn lds(&mut self, len: u32, runs: &mut Vec<Run>, mut check: Check<'_>) -> FoundLanes {
        self.lds.resize_with(history::pages_of(len), Page::default);
        self.lds_written.resize(len);
        let accessed = check.accessed;
        let is_inside = |address: u64, bytes: u64| address + bytes <= u64::from(len);
        let (address, bytes) = check.extent(runs);
        if is_inside(address, bytes) {
            check.is_all_written = check.is_dense(bytes, runs) && self.lds_written.is_written(address, bytes);
            if check.is_scattered {
                check.record_lanes(&mut self.lds);
            }
            if !(check.is_scattered && check.is_all_written) {
                check.each_lane_if_scattered(runs);
                runs.iter().for_each(|run| check.lds(run, &mut self.lds_written, &mut self.lds));
            }
            return check.found;
        }
        check.is_scattered = false;
        for (lane, address) in accessed.each() {
            if is_inside(address, accessed.size.into()) {
                let run = Run::of_lane(lane, address, accessed.size);
                check.lds(&run, &mut self.lds_written, &mut self.lds);
            }
        }
        check.found
    }
}

/// What was found of the lanes of an access.
#[derive(Default)]
struct FoundLanes {
    /// Those that read bytes that were never written.
    unwritten: u64,
    /// Those of them that read past the end of an allocation.
    past_end: u64,
    /// A lane that races, with the other access.
    race: Option<Race>,
}

/// An access that is checked.
struct Check<'a> {
    accessed: &'a AccessedBytes,
    access: RecordedAccess,
    context: AccessContext,
    /// Whether it can race.
    may_race: bool,
    /// Whether the lanes are recorded one by one.
    is_scattered: bool,
    /// All bytes that it accesses are known to be written.
    is_all_written: bool,
    found: FoundLanes,
}

impl Check<'_> {
    /// Finds the runs of the lanes, unless these are scattered. Returns the lowest address, and the number of bytes from there to the
    /// end of the last.
    fn extent(&self, runs: &mut Vec<Run>) -> (u64, u64) {
        if self.is_scattered {
            return self.accessed.extent();
        }
        runs.extend(self.accessed.runs());
        Run::extent(runs)
    }

    /// Makes each of the scattered lanes a run.
    fn each_lane_if_scattered(&self, runs: &mut Vec<Run>) {
        if self.is_scattered {
            let size = self.accessed.size;
            runs.extend(self.accessed.each().map(|(lane, address)| Run::of_lane(lane, address, size)));
        }
    }

    /// Returns whether looking at all bytes from the first of the lanes to the last is less work than looking at each run: the bits of
    /// 64 bytes are looked at together, which takes a quarter of the time of a run.
    fn is_dense(&self, bytes: u64, runs: &[Run]) -> bool {
        let parts = if self.is_scattered { self.accessed.lanes.count_ones() as usize } else { runs.len() };
        bytes / 256 <= parts as u64
    }

    /// Checks a run of lanes. `range` is what is known of the bytes from `base` on, of which those of the run are some.
    fn global(&mut self, run: &Run, range: &ShadowRange<'_>, base: u64, pages: &mut impl Pages) {
        if let ShadowRange::At(shadow, offset, own) = *range
            && !self.is_all_written
        {
            let offset_of = |address: u64| offset + (address - base);
            let is_written = |address: u64, bytes| shadow.is_written(offset_of(address), bytes);
            let unwritten = unwritten_lanes(run, self.accessed.access, is_written);
            if unwritten != 0 {
                self.found.unwritten |= unwritten;
                let is_past_end = |lane: &u8| offset_of(run.address_of(*lane)) + run.size > own;
                let past_end = run.lanes().filter(is_past_end).fold(0, |lanes, lane| lanes | 1 << lane);
                self.found.past_end |= unwritten & past_end;
            }
            if self.accessed.access != AccessKind::Read {
                shadow.mark(offset_of(run.address), run.bytes());
            }
        }
        if self.may_race && !self.is_scattered {
            self.record(run, pages);
        }
    }

    fn lds(&mut self, run: &Run, written: &mut WrittenBytes, pages: &mut impl Pages) {
        if !self.is_all_written {
            let is_written = |address: u64, bytes| written.is_written(address, bytes);
            self.found.unwritten |= unwritten_lanes(run, self.accessed.access, is_written);
            if self.accessed.access != AccessKind::Read {
                written.mark(run.address, run.bytes());
            }
        }
        if !self.is_scattered {
            self.record(run, pages);
        }
    }

    /// Records all lanes.
    fn record_lanes(&mut self, pages: &mut impl Pages) {
        self.found.race = history::record_lanes(pages, self.accessed, self.access, self.context);
    }

    fn record(&mut self, run: &Run, pages: &mut impl Pages) {
        let race = history::record(pages, run, self.access, self.context, self.accessed.is_scalar);
        self.found.race = self.found.race.or(race);
    }
}

/// Returns the lanes of a run that read bytes which were never written. `is_written` says of an address and a number of bytes
/// whether they were.
fn unwritten_lanes(run: &Run, access: AccessKind, is_written: impl Fn(u64, u64) -> bool) -> u64 {
    if access == AccessKind::Write || is_written(run.address, run.bytes()) {
        return 0;
    }
    // Of atomics to the same bytes, the first writes them.
    let lanes = if access == AccessKind::Atomic { run.round() } else { run.lanes() };
    let unwritten = lanes.filter(|lane| !is_written(run.address_of(*lane), run.size));
    unwritten.fold(0, |lanes, lane| lanes | 1 << lane)
}

/// Returns the kind of an access of an instruction.
fn kind(target: Target, i: &Inst, accessed: &AccessedBytes) -> Kind {
    let inner = i.ext.as_ref().map_or(i, |ext| &ext.inner);
    match accessed.access {
        AccessKind::Read => Kind::Read,
        AccessKind::Write if bypasses_caches(target, inner) && accessed.space != MemorySpace::Lds => {
            Kind::AtomicStore
        }
        AccessKind::Write => Kind::Write,
        AccessKind::Atomic if i.row.is(COMPARE) => Kind::CompareSwap,
        AccessKind::Atomic => Kind::Atomic,
    }
}

/// Returns whether an atomic returns a value.
fn returns(i: &Inst, addressing: AddressingKind) -> bool {
    let inner = i.ext.as_ref().map_or(i, |ext| &ext.inner);
    match addressing {
        AddressingKind::DsCount => true,
        AddressingKind::Ds(..) | AddressingKind::DsTwo(..) | AddressingKind::DsAligned(..) => {
            i.row.dst != Ty::None
        }
        _ => inner.flags & flag::GLC != 0,
    }
}

/// Returns whether a byte of global memory or LDS was written, or is not tracked.
fn is_written(cx: &mut ExecContext, lds_written: &WrittenBytes, space: MemorySpace, address: u64) -> bool {
    if space == MemorySpace::Lds {
        return lds_written.is_written(address, 1);
    }
    match cx.mem.tracked(address, 1) {
        ShadowRange::At(shadow, offset, _) => shadow.is_written(offset, 1),
        ShadowRange::Outside | ShadowRange::Untracked => true,
    }
}

/// Records that a byte has the value of one that was never written.
fn forget(cx: &mut ExecContext, lds_written: &mut WrittenBytes, space: MemorySpace, address: u64) {
    if space == MemorySpace::Lds {
        lds_written.clear(address);
    } else if let ShadowRange::At(shadow, offset, _) = cx.mem.tracked(address, 1) {
        shadow.clear(offset);
    }
}

/// Returns whether atomic stores have bits that others don't have (LLVM, "Memory Model gfx90a", "gfx942", "gfx10-gfx11", "gfx12").
fn marks_atomic_stores(target: Target) -> bool {
    matches!(target, Target::Gfx942 | Target::Gfx950 | Target::Gfx12)
}

/// Returns whether a load or store bypasses the caches, as atomic and volatile ones do: glc on gfx90a, sc0 or sc1 on
/// gfx942. On gfx90a glc and slc together are for data that is not used again (LLVM, "Memory Model gfx90a", "Memory
/// Model gfx942").
fn bypasses_caches(target: Target, i: &Inst) -> bool {
    match target {
        Target::Gfx90a => i.flags & flag::GLC != 0 && i.flags & flag::SLC == 0,
        Target::Gfx11 | Target::Gfx115 | Target::Gfx103 => i.flags & flag::GLC != 0,
        Target::Gfx942 | Target::Gfx950 => i.flags & (flag::GLC | flag::SC1) != 0,
        // Decoding sets the flag for any scope that is larger than a compute unit (LLVM, "Memory Model gfx12").
        Target::Gfx12 => i.flags & flag::SC1 != 0,
    }
}

/// Returns whether a store writes the values that its access `number` finds in memory.
fn stores_same(
    w: &Wave,
    cx: &mut ExecContext,
    i: &Inst,
    addressing: AddressingKind,
    number: usize,
    accessed: &AccessedBytes,
) -> bool {
    // The index of the source with the first register of the data.
    let (size, data) = match addressing {
        AddressingKind::Ds(_, size)
        | AddressingKind::Flat(_, size)
        | AddressingKind::Global(_, size)
        | AddressingKind::Buffer(_, size) => (size, 1),
        AddressingKind::DsTwo(_, size, _) => (size, 1 + number),
        _ => return false,
    };
    let Some(data) = i.src.get(data).copied() else { return false };
    if size != accessed.size {
        return false;
    }
    let shift = if i.row.is(HIGH) { 2 } else { 0 };
    let mut bytes = [0; 16];
    let Some(bytes) = bytes.get_mut(..accessed.size as usize) else { return false };
    accessed.each().all(|(lane, address)| {
        if accessed.space == MemorySpace::Lds {
            let at = address as usize;
            match cx.lds.bytes().get(at..at + bytes.len()) {
                Some(from) => bytes.copy_from_slice(from),
                None => return false,
            }
        } else {
            match cx.mem.range(address, bytes.len() as u64) {
                Some(range) => range.read_bytes(address, bytes),
                None => return false,
            }
        }
        bytes.iter().enumerate().all(|(n, byte)| {
            let dword = w.v(data + n as u16 / 4).flat()[lane];
            dword.to_le_bytes().get((n + shift) % 4) == Some(byte)
        })
    })
}
