//! The bytes that an instruction is about to access.

use amdgpu_isa::flags::BY_LANE;

use crate::exec::access::FlatTarget;
use crate::exec::address::{ByLane, InPair, Offsets, Places, scratch_offsets};
use crate::exec::buffer::{Reach, own_scratch};
use crate::exec::buffer_format::Format;
use crate::exec::image::Texels;
use crate::exec::inst::{Inst, NONE, flag};
use crate::exec::sample::{Sampling, Tap};
use crate::exec::to_lds::{buffer_base, distance, flat_base, stored};
use crate::exec::{buffer, ds, ds_permute, modifiers, smem};
use crate::memory::Addresses;
use crate::observe::class::AddressingKind;
use crate::report::access::{AccessKind, MemorySpace};
use crate::state::wave::{LANES, Wave, lanes_of};

/// The bytes that an instruction accesses in one memory, with the same kind of access and the same size for each lane.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct AccessedBytes {
    pub(crate) space: MemorySpace,
    pub(crate) access: AccessKind,
    /// The number of bytes that each lane accesses.
    pub(crate) size: u32,
    /// The mask of lanes. For scalar accesses, lane 0.
    pub(crate) lanes: u64,
    /// Whether the access is made once for the wave, and not by each lane.
    pub(crate) is_scalar: bool,
    /// The address of each lane. For LDS and private memory, the offset in bytes.
    pub(crate) at: [u64; LANES],
}

impl AccessedBytes {
    /// Returns each lane and its address.
    pub(crate) fn each(&self) -> impl Iterator<Item = (usize, u64)> {
        lanes_of(self.lanes).map(|lane| (lane, self.at[lane]))
    }

    /// Returns whether few lanes seem to follow the lane before, so that lanes are better looked at one by one.
    pub(crate) fn is_scattered(&self) -> bool {
        let size = u64::from(self.size);
        let follows = |lane: &usize| {
            let step = self.at[lane + 1].wrapping_sub(self.at[*lane]);
            (step == 0) | (step == 4) | (step == size)
        };
        // None of them is at the end of 16 lanes, where rows often end.
        let following = [0, 1, 20, 21, 41, 42, 61, 62].iter().filter(|lane| follows(lane)).count();
        !self.is_scalar && following < 6
    }

    /// Returns the lowest address of the lanes, and the number of bytes from there to the end of the last.
    pub(crate) fn extent(&self) -> (u64, u64) {
        let (low, high) = self.each().fold((u64::MAX, 0), |(low, high), (_, at)| (low.min(at), high.max(at)));
        (low, high.saturating_add(self.size.into()).saturating_sub(low))
    }

    /// Returns the accesses of all lanes in their order, as few runs.
    pub(crate) fn runs(&self) -> impl Iterator<Item = Run> {
        let mut left = self.lanes;
        std::iter::from_fn(move || {
            let lane = left.trailing_zeros();
            // The lanes from `lane` on that are active without a gap.
            let active = (!(left.checked_shr(lane)?)).trailing_zeros();
            let run = self.run(lane as usize, active as usize);
            left &= u64::MAX.checked_shl(lane + run.lanes().len() as u32).unwrap_or(0);
            Some(run)
        })
    }

    /// Returns the longest run that begins with `lane` and has at most `most` lanes.
    fn run(&self, lane: usize, most: usize) -> Run {
        let at = &self.at[lane..lane + most];
        let (address, size) = (at[0], u64::from(self.size));
        let mut count = 1;
        let step = at.get(1).map_or(size, |second| second.wrapping_sub(address));
        if most > 1 && self.may_run(step) {
            let expected = |n: usize| address.wrapping_add(step * n as u64);
            let all = || at.iter().enumerate().fold(0, |differ, (n, at)| differ | (at ^ expected(n))) == 0;
            count = match at[most - 1] == expected(most - 1) && all() {
                true => most,
                false => (2..most).find(|n| at[*n] != expected(*n)).unwrap_or(most),
            };
        }
        let step = if count == 1 { size } else { step };
        let mut rounds = 1;
        if count < most && at[count] == address {
            rounds = (count..most).find(|n| at[*n] != at[*n - count]).unwrap_or(most) / count;
        }
        Run { lane: lane as u8, count: count as u8, rounds: rounds as u8, address, step, size }
    }

    /// Returns whether lanes at this distance in bytes can be one run: without gaps, or as loads of several neighbors.
    fn may_run(&self, step: u64) -> bool {
        let has_neighbors = matches!(self.size, 8 | 12 | 16) && self.access != AccessKind::Atomic;
        matches!(self.size, 1 | 2 | 4 | 8 | 12 | 16) && step == self.size.into() || has_neighbors && step == 4
    }
}

/// Consecutive lanes, each of which accesses the `size` bytes that begin `step` bytes after those of the lane before. In several
/// rounds, lanes access the same bytes again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Run {
    /// The first lane.
    pub(crate) lane: u8,
    /// The number of lanes of a round.
    pub(crate) count: u8,
    pub(crate) rounds: u8,
    /// The address of the first lane.
    pub(crate) address: u64,
    /// The size, or 4.
    pub(crate) step: u64,
    /// The number of bytes of each lane.
    pub(crate) size: u64,
}

impl Run {
    /// Returns the access of a lane.
    pub(crate) fn of_lane(lane: usize, address: u64, size: u32) -> Run {
        Run { lane: lane as u8, count: 1, rounds: 1, address, step: size.into(), size: size.into() }
    }

    /// Returns the lowest address of some runs, and the number of bytes from there to the end of the last.
    pub(crate) fn extent(runs: &[Run]) -> (u64, u64) {
        let low = runs.iter().fold(u64::MAX, |low, run| low.min(run.address));
        let high = runs.iter().fold(low, |high, run| high.max(run.address.saturating_add(run.bytes())));
        (low, high - low)
    }

    /// Returns the number of bytes that the lanes access together.
    pub(crate) fn bytes(&self) -> u64 {
        self.step * u64::from(self.count - 1) + self.size
    }

    /// Returns the lanes of the first round.
    pub(crate) fn round(&self) -> std::ops::Range<u8> {
        self.lane..self.lane + self.count
    }

    /// Returns the lanes of all rounds.
    pub(crate) fn lanes(&self) -> std::ops::Range<u8> {
        self.lane..self.lane + self.count * self.rounds
    }

    /// Returns the number of lanes between the first round and the last.
    pub(crate) fn between(&self) -> u8 {
        self.count * (self.rounds - 1)
    }

    /// Returns the address of one of the lanes.
    pub(crate) fn address_of(&self, lane: u8) -> u64 {
        self.address + self.step * u64::from((lane - self.lane) % self.count)
    }

    /// Returns the number of dwords from the first on that are filled; 0 if the first is not.
    pub(crate) fn whole_dwords(&self) -> u64 {
        let is_whole = self.address.is_multiple_of(4) && (self.size < 3 || self.size.is_multiple_of(4));
        if is_whole { self.bytes() / 4 } else { 0 }
    }
}

/// Replaces the contents of `out` with the bytes that `i` is about to access, in the order in which it accesses them.
/// They may be out of bounds; the instruction will then fault. Only temporary registers of `w` change.
pub(crate) fn find(w: &mut Wave, i: &Inst, addressing: AddressingKind, out: &mut Vec<AccessedBytes>) {
    out.clear();
    if addressing == AddressingKind::None {
        return;
    }
    let i = match &i.ext {
        Some(ext) => {
            if let Some(scalars) = &ext.scalars {
                modifiers::prepare_scalars(w, scalars);
            }
            &ext.inner
        }
        None => i,
    };
    if i.src[0] == NONE {
        // The instruction can't have these operands. It is illegal, and has a row only so that reports can name it.
        return;
    }
    Finder { exec: w.exec(), w, i, out }.add(addressing);
    out.retain(|accessed| accessed.lanes != 0);
}

/// An instruction whose accesses are collected.
struct Finder<'a> {
    w: &'a Wave,
    i: &'a Inst,
    exec: u64,
    out: &'a mut Vec<AccessedBytes>,
}

impl Finder<'_> {
    fn add(&mut self, addressing: AddressingKind) {
        let (w, i) = (self.w, self.i);
        match addressing {
            AddressingKind::None => {}
            AddressingKind::Scalar(access, size) => {
                self.once(MemorySpace::Global, access, smem::address(w, i, size.into()), size);
            }
            AddressingKind::ScalarScratch(access, size) => {
                let address = smem::scratch_address(w, i);
                let (space, at) = match smem::wave_scratch(address) {
                    Some(offset) => (MemorySpace::Scratch, offset),
                    None => (MemorySpace::Global, address),
                };
                self.once(space, access, at, size);
            }
            AddressingKind::ScalarBuffer(access, size) => {
                let (address, inside) = smem::buffer_address(w, i, size.into());
                if inside > 0 && (access != AccessKind::Atomic || inside == u64::from(size)) {
                    self.once(MemorySpace::Global, access, address, inside as u32);
                }
            }
            AddressingKind::Ds(..)
            | AddressingKind::DsTwo(..)
            | AddressingKind::DsAligned(..)
            | AddressingKind::DsByLane(_)
            | AddressingKind::DsCount => self.ds(addressing),
            AddressingKind::Flat(access, size) => self.flat(access, size),
            AddressingKind::Global(access, size) => {
                self.lanes(MemorySpace::Global, access, size, self.exec, global_addresses(w, i));
                self.add_if_to_lds(access, size, flat_base);
            }
            AddressingKind::GlobalToLds(size) => {
                self.lanes(MemorySpace::Global, AccessKind::Read, size, self.exec, global_addresses(w, i));
                self.add_to_lds(flat_base(w, i), size);
            }
            AddressingKind::Scratch(access, size) => {
                let at = scratch_offsets(w, i).map(u64::from);
                self.lanes(MemorySpace::Scratch, access, size, self.exec, at);
                self.add_if_to_lds(access, size, flat_base);
            }
            AddressingKind::ScratchToLds(size) => {
                let at = scratch_offsets(w, i).map(u64::from);
                self.lanes(MemorySpace::Scratch, AccessKind::Read, size, self.exec, at);
                self.add_to_lds(flat_base(w, i), size);
            }
            AddressingKind::Buffer(access, size) => {
                self.buffer(access, size);
                self.add_if_to_lds(access, size, buffer_base);
            }
            AddressingKind::Format(access) => {
                let (reach, format) = (Reach::new(w, i), Format::of(w, i));
                let size = format.size();
                if size > 0 {
                    let inside = reach.whole(self.exec, size);
                    parts(&reach, access, size, format.unit(), inside, self.out);
                }
                self.add_if_to_lds(access, 4, buffer_base);
            }
            AddressingKind::Image(access) => self.image(access),
            AddressingKind::Sample => self.sample(),
        }
    }

    /// Adds the texels that an image instruction accesses. It faults if they are not modelled.
    fn image(&mut self, access: AccessKind) {
        let Ok(Texels { format, at, inside }) = Texels::of(self.w, self.i) else { return };
        let size = format.size();
        let unit = if access == AccessKind::Atomic { size } else { format.unit() };
        for extra in (0..size).step_by(unit.max(1) as usize) {
            let at = at.0.map(|at| at + u64::from(extra));
            self.lanes(MemorySpace::Global, access, unit, inside, at);
        }
    }

    /// Adds the texels that an image instruction with a sampler reads.
    fn sample(&mut self) {
        let Ok(Some(sampling)) = Sampling::of(self.w, self.i) else { return };
        let (size, unit) = (sampling.format.size(), sampling.format.unit());
        let mut taps: [Vec<Tap>; LANES] = std::array::from_fn(|_| Vec::new());
        for lane in lanes_of(self.exec) {
            sampling.taps(self.w, lane, &mut taps[lane]);
        }
        for n in 0..taps.iter().map(Vec::len).max().unwrap_or(0) {
            let at = taps.each_ref().map(|taps| taps.get(n).and_then(|tap| tap.address));
            let lanes = (0..LANES).filter(|lane| at[*lane].is_some()).fold(0, |all, lane| all | 1 << lane);
            for extra in (0..size).step_by(unit as usize) {
                let at = at.map(|at| at.unwrap_or(0) + u64::from(extra));
                self.lanes(MemorySpace::Global, AccessKind::Read, unit, lanes, at);
            }
        }
    }

    fn once(&mut self, space: MemorySpace, access: AccessKind, address: u64, size: u32) {
        self.out.push(AccessedBytes { space, access, size, lanes: 1, is_scalar: true, at: [address; LANES] });
    }

    fn lanes(&mut self, space: MemorySpace, access: AccessKind, size: u32, lanes: u64, at: [u64; LANES]) {
        self.out.push(AccessedBytes { space, access, size, lanes, is_scalar: false, at });
    }

    fn lds(&mut self, access: AccessKind, size: u32, at: [u32; LANES]) {
        self.lanes(MemorySpace::Lds, access, size, self.exec, at.map(u64::from));
    }

    /// Adds the bytes that a load to LDS of `size` bytes stores from `base` on.
    fn add_to_lds(&mut self, base: u32, size: u32) {
        let at = std::array::from_fn(|n| base.wrapping_add(distance(size) * n as u32));
        self.lds(AccessKind::Write, stored(size), at);
    }

    /// The same, for a load whose LDS bit decides whether it stores to LDS.
    fn add_if_to_lds(&mut self, access: AccessKind, size: u32, base: fn(&Wave, &Inst) -> u32) {
        if self.i.flags & flag::LDS != 0 && access == AccessKind::Read {
            self.add_to_lds(base(self.w, self.i), size);
        }
    }

    fn ds(&mut self, addressing: AddressingKind) {
        let (w, i) = (self.w, self.i);
        if ds::is_gds(i) {
            return;
        }
        match addressing {
            AddressingKind::Ds(access, size) => self.lds(access, size, ds::addresses(w, i, i.imm).0),
            AddressingKind::DsTwo(access, size, unit) => {
                let (first, second) = ds::two_offsets(i, unit);
                self.lds(access, size, ds::addresses(w, i, first).0);
                self.lds(access, size, ds::addresses(w, i, second).0);
            }
            AddressingKind::DsAligned(access, size) => {
                self.lds(access, size, ds::addresses(w, i, i.imm).map(|at| at & !7));
            }
            AddressingKind::DsByLane(access) => self.lds(access, 4, ds_permute::by_lane(w, i)),
            AddressingKind::DsCount => {
                self.once(MemorySpace::Lds, AccessKind::Atomic, ds_permute::count_address(w, i).into(), 4);
            }
            _ => {}
        }
    }

    fn flat(&mut self, access: AccessKind, size: u32) {
        let at = InPair(self.i).all(self.w);
        let targets: [FlatTarget; LANES] = std::array::from_fn(|lane| FlatTarget::of(at.at(lane)));
        let (mut lds, mut scratch) = (0, 0);
        for (lane, target) in targets.iter().enumerate() {
            lds |= u64::from(matches!(target, FlatTarget::Lds(_))) << lane;
            scratch |= u64::from(matches!(target, FlatTarget::Scratch(_))) << lane;
        }
        for (space, there) in [
            (MemorySpace::Global, !(lds | scratch)),
            (MemorySpace::Lds, lds),
            (MemorySpace::Scratch, scratch),
        ] {
            if there & self.exec != 0 {
                self.lanes(space, access, size, there & self.exec, targets.map(FlatTarget::offset));
            }
        }
    }

    fn buffer(&mut self, access: AccessKind, size: u32) {
        let (w, i, exec) = (self.w, self.i, self.exec);
        if let Some(at) = buffer::scratch_offsets(w, i).filter(|_| access != AccessKind::Atomic) {
            if own_scratch(w, i) {
                self.lanes(MemorySpace::Scratch, access, size, exec, at.map(u64::from));
            }
            return;
        }
        let reach = Reach::new(w, i);
        if access == AccessKind::Atomic {
            self.lanes(MemorySpace::Global, access, size, reach.whole(exec, size), reach.addresses().0);
        } else if let Some(at) = reach.plain(exec, size) {
            self.lanes(MemorySpace::Global, access, size, exec, at.0);
        } else {
            parts(&reach, access, size, size.min(4), exec, self.out);
        }
    }
}

fn global_addresses(w: &Wave, i: &Inst) -> [u64; LANES] {
    if i.row.is(BY_LANE) {
        let at = ByLane(i).all(w);
        std::array::from_fn(|lane| at.at(lane))
    } else if i.sdst == NONE {
        InPair(i).all(w).0
    } else {
        let at = Offsets(i).all(w);
        std::array::from_fn(|lane| at.at(lane))
    }
}

/// Adds the accesses to `size` bytes of each lane, `unit` bytes at a time. Lanes that are out of the buffer's range
/// don't access memory.
fn parts(reach: &Reach, access: AccessKind, size: u32, unit: u32, lanes: u64, out: &mut Vec<AccessedBytes>) {
    for extra in (0..size).step_by(4) {
        let inside = lanes_of(lanes)
            .filter(|lane| reach.inside(*lane, extra, unit))
            .fold(0, |mask, lane| mask | 1 << lane);
        out.push(AccessedBytes {
            space: MemorySpace::Global,
            access,
            size: unit,
            lanes: inside,
            is_scalar: false,
            at: std::array::from_fn(|lane| reach.address(lane, extra)),
        });
    }
}
