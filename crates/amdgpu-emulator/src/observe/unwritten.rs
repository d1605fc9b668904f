//! Bytes that were never written, on their way through registers and private memory. Copying them is no defect (the padding of
//! structs is copied), using them is, as MemorySanitizer has it (Stepanov and Serebryany, "MemorySanitizer: fast detector of
//! uninitialized memory use in C++", 2015).
//!
//! Loads put them into registers; moves, bit operations, selections and exchanges between lanes pass them on, and stores put them
//! back into memory. Any other instruction whose result depends on one uses it: arithmetic, a comparison, a conversion, an
//! address.
//!
//! Whether a result depends on them is found by executing the instruction with several values of these bits. Of a bit
//! operation, the bits of the result that differ when all of them are 0 and all of them are 1 are passed on.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use amdgpu_isa::flags::{BITS, D16, EXCHANGE, HIGH, MODE_OUT, SCC_IN, SIGNED};
use amdgpu_isa::{Encoding, Row};

use crate::exec::inst::{ExecContext, Inst};
use crate::observe::accesses::AccessedBytes;
use crate::observe::class::{AddressingKind, Info, InstructionClass};
use crate::observe::operands::{RegisterSet, RegisterUse, SCALAR};
use crate::observe::races::RecordedAccess;
use crate::observe::waits::bits_written;
use crate::report::access::AccessKind;
use crate::state::wave::{LANES, Lanes, Wave, lanes_of, sreg};

/// A load of bytes that were never written.
pub(super) struct Origin {
    pub(super) accessed: AccessedBytes,
    /// The lanes that loaded such bytes.
    pub(super) lanes: u64,
    pub(super) access: RecordedAccess,
    is_reported: AtomicBool,
}

impl Origin {
    pub(super) fn new(accessed: &AccessedBytes, lanes: u64, access: RecordedAccess) -> Arc<Origin> {
        Arc::new(Origin { accessed: accessed.clone(), lanes, access, is_reported: AtomicBool::new(false) })
    }
}

/// The unwritten bits of a register, for each lane; of a scalar register, those of lane 0.
#[derive(Clone)]
struct Bits {
    of_lanes: Box<[u32; LANES]>,
    origin: Arc<Origin>,
}

/// The unwritten bits of a wave's registers, and bytes of its private memory.
#[derive(Default)]
pub(super) struct Unwritten {
    /// By [`RegisterUse`]'s numbers.
    registers: BTreeMap<u16, Bits>,
    /// Those that are in `registers`.
    held: RegisterSet,
    /// By lane and offset in bytes.
    scratch: HashMap<(usize, u64), Arc<Origin>>,
    /// A bit operation has set SCC by unwritten bits.
    scc: Option<Arc<Origin>>,
}

impl Unwritten {
    /// Follows the instruction that `w` executes next, apart from what it loads and stores. Returns the loads whose bytes it
    /// uses, each once.
    pub(super) fn step(
        &mut self,
        w: &mut Wave,
        cx: &mut ExecContext,
        i: &Inst,
        info: &Info,
    ) -> Vec<Arc<Origin>> {
        let mut used = Vec::new();
        if let Some(origin) = self.scc.take_if(|_| i.row.is(SCC_IN)) {
            used.push(origin);
        }
        let is_scalar = matches!(
            i.row.encoding(),
            Some(Encoding::Sop1 | Encoding::Sop2 | Encoding::Sopk | Encoding::Sopc)
        );
        if is_scalar {
            self.scc = None;
        }
        if info.operands.uses().iter().any(|operand| self.held.intersects(*operand)) {
            let reads = || info.operands.uses().iter().filter(|operand| !operand.is_write);
            let found = reads().find_map(|operand| self.any(*operand, !0));
            if let Some(origin) = found.filter(|_| is_pure(i, info) && !w.mode.alters()) {
                if i.row.is(BITS | EXCHANGE) {
                    self.pass_on(w, cx, i, info, &origin);
                } else {
                    let [first, others @ ..] = self.outcomes(w, cx, i, info, FILLS);
                    used.extend((others.iter().any(|other| *other != first)).then_some(origin));
                    self.overwrite(w, i, info);
                }
            } else {
                let lanes = if i.ext.as_ref().is_some_and(|ext| ext.dpp.is_some()) {
                    !0
                } else {
                    info.operands.lanes(w, i)
                };
                let data = data(i, info.addressing);
                let uses = reads().filter(|operand| !data.contains(&Some(operand.first)));
                used.extend(uses.filter_map(|operand| self.any(*operand, lanes)));
                self.overwrite(w, i, info);
            }
        }
        used.retain(|origin| !origin.is_reported.swap(true, Relaxed));
        used
    }

    /// Returns the origin of an unwritten bit of these registers in these lanes.
    fn any(&self, operand: RegisterUse, lanes: u64) -> Option<Arc<Origin>> {
        let lanes = if operand.is_scalar() { 1 } else { lanes };
        let in_lanes = |bits: &Bits| lanes_of(lanes).any(|lane| bits.of_lanes[lane] != 0);
        let found = self.registers.range(operand.registers()).find(|(_, bits)| in_lanes(bits));
        found.map(|(_, bits)| Arc::clone(&bits.origin))
    }

    /// Forgets the bits that an instruction overwrites.
    fn overwrite(&mut self, w: &Wave, i: &Inst, info: &Info) {
        let lanes = info.operands.lanes(w, i);
        for operand in info.operands.uses().iter().filter(|operand| operand.is_write) {
            for (number, register) in operand.registers().enumerate() {
                let bits = bits_written(i.row, number as u8, operand.count, w.d16_kept);
                self.set(register, lanes, bits, |_| 0, None);
            }
        }
    }

    /// Sets the bits `written` of a register, in these lanes.
    fn set(
        &mut self,
        register: u16,
        lanes: u64,
        written: u32,
        bits: impl Fn(usize) -> u32,
        origin: Option<&Arc<Origin>>,
    ) {
        let lanes = if register >= SCALAR { 1 } else { lanes };
        let any = lanes_of(lanes).any(|lane| bits(lane) & written != 0);
        if let Some(origin) = origin.filter(|_| any) {
            let none = || Bits { of_lanes: Box::new([0; LANES]), origin: Arc::clone(origin) };
            self.registers.entry(register).or_insert_with(none).origin = Arc::clone(origin);
            self.held.insert(RegisterUse { first: register, count: 1, is_write: true });
        }
        let Some(of_register) = self.registers.get_mut(&register) else { return };
        for lane in lanes_of(lanes) {
            let to = &mut of_register.of_lanes[lane];
            *to = *to & !written | bits(lane) & written;
        }
        if of_register.of_lanes.iter().all(|bits| *bits == 0) {
            self.registers.remove(&register);
            self.held.remove(register);
        }
    }

    /// Passes unwritten bits on to the results of a bit operation.
    fn pass_on(&mut self, w: &mut Wave, cx: &mut ExecContext, i: &Inst, info: &Info, origin: &Arc<Origin>) {
        let [zeros, ones] = self.outcomes(w, cx, i, info, [0, !0]);
        if zeros.scc != ones.scc {
            self.scc = Some(Arc::clone(origin));
        }
        let lanes = info.operands.lanes(w, i);
        for (number, register) in registers(info, true).enumerate() {
            let differ = |lane| zeros.results[number][lane] ^ ones.results[number][lane];
            self.set(register, lanes, !0, differ, Some(origin));
        }
    }

    /// Executes an instruction once for each value that all unwritten bits of its sources then have. Changes nothing.
    fn outcomes<const N: usize>(
        &self,
        w: &mut Wave,
        cx: &mut ExecContext,
        i: &Inst,
        info: &Info,
        fills: [u32; N],
    ) -> [Outcome; N] {
        let implied = [sreg::VCC, sreg::VCC + 1, sreg::M0, sreg::EXEC, sreg::EXEC + 1].map(|n| SCALAR + n);
        let all = registers(info, false).chain(registers(info, true)).chain(implied);
        let before: Vec<(u16, Lanes)> = all.map(|n| (n, value(w, n))).collect();
        let (scc, trapsts) = (w.scc(), w.trapsts);
        fills.map(|fill| {
            for register in registers(info, false) {
                let Some(bits) = self.registers.get(&register) else { continue };
                let mut lanes = value(w, register);
                for (to, bits) in lanes.flat_mut().iter_mut().zip(&*bits.of_lanes) {
                    *to = *to & !bits | fill & bits;
                }
                set_value(w, register, &lanes);
            }
            // SAFETY: the code was decoded for a level that this machine has (`LoadedProgram::load`).
            unsafe { (i.exec)(w, cx, i) };
            let results = registers(info, true).map(|n| *value(w, n).flat()).collect();
            let outcome = Outcome { results, scc: w.scc(), exec: w.exec() };
            before.iter().for_each(|(register, lanes)| set_value(w, *register, lanes));
            w.set_scc(scc);
            w.trapsts = trapsts;
            outcome
        })
    }

    /// Records the bits of a load's result: the bytes, by lane and number, that `unwritten` gives an origin for.
    pub(super) fn load(
        &mut self,
        w: &Wave,
        i: &Inst,
        info: &Info,
        (number, accessed): (usize, &AccessedBytes),
        unwritten: impl Fn(usize, u32) -> Option<Arc<Origin>>,
    ) {
        let Some(result) = info.operands.result() else { return };
        let dwords = accessed.size.div_ceil(4) as u16;
        let first = result.first + number as u16 * dwords;
        for dword in 0..dwords {
            let mut bits = [0u32; LANES];
            let mut origin = None;
            for lane in lanes_of(accessed.lanes) {
                for byte in 4 * dword..(4 * dword + 4).min(accessed.size as u16) {
                    if let Some(found) = unwritten(lane, byte.into()) {
                        bits[lane] |= 0xff << (8 * (byte % 4));
                        origin.get_or_insert(found);
                    }
                }
                bits[lane] = extended(i.row, accessed.size, bits[lane]);
            }
            let written = bits_written(i.row, dword as u8, result.count, w.d16_kept);
            self.set(first + dword, accessed.lanes, written, |lane| bits[lane], origin.as_ref());
        }
    }

    /// Returns what gives the origin of a byte that a lane stores in access `number`, by lane and byte, if it was never written.
    pub(super) fn stored<'a>(
        &'a self,
        i: &Inst,
        addressing: AddressingKind,
        (number, accessed): (usize, &AccessedBytes),
    ) -> impl Fn(usize, u32) -> Option<&'a Arc<Origin>> + use<'a> {
        let data = data(i, addressing);
        let first = match addressing {
            AddressingKind::DsTwo(..) => data.get(number).copied().flatten(),
            _ => data[0].map(|first| first + number as u16 * accessed.size.div_ceil(4) as u16),
        };
        let shift = if i.row.is(HIGH) { 2 } else { 0 };
        move |lane, byte| {
            let bits = self.registers.get(&(first? + byte as u16 / 4))?;
            let of_byte = bits.of_lanes[lane] >> (8 * ((byte + shift) % 4)) & 0xff;
            (of_byte != 0).then_some(&bits.origin)
        }
    }

    /// Follows an access to private memory.
    pub(super) fn private(&mut self, w: &Wave, i: &Inst, info: &Info, access: (usize, &AccessedBytes)) {
        let (_, accessed) = access;
        match accessed.access {
            AccessKind::Read if self.scratch.is_empty() => {}
            AccessKind::Read => {
                let scratch = std::mem::take(&mut self.scratch);
                let at = |lane, byte: u32| scratch.get(&(lane, accessed.at[lane] + u64::from(byte))).cloned();
                self.load(w, i, info, access, at);
                self.scratch = scratch;
            }
            _ if self.registers.is_empty() && self.scratch.is_empty() => {}
            _ => {
                let mut scratch = std::mem::take(&mut self.scratch);
                let stored = self.stored(i, info.addressing, access);
                for (lane, offset) in accessed.each() {
                    for byte in 0..accessed.size {
                        let place = (lane, offset + u64::from(byte));
                        match stored(lane, byte) {
                            Some(origin) => scratch.insert(place, Arc::clone(origin)),
                            None => scratch.remove(&place),
                        };
                    }
                }
                drop(stored);
                self.scratch = scratch;
            }
        }
    }

    /// Returns whether no instruction can use or pass on any.
    pub(super) fn is_idle(&self) -> bool {
        self.registers.is_empty() && self.scc.is_none()
    }

    /// Returns whether the wave has none.
    pub(super) fn is_empty(&self) -> bool {
        self.registers.is_empty()
    }
}

/// What an instruction has computed.
#[derive(PartialEq)]
struct Outcome {
    results: Vec<[u32; LANES]>,
    scc: bool,
    exec: u64,
}

/// Values of unwritten bits, of which one or the other changes what arithmetic, comparisons and conversions of each type compute
/// of them.
const FILLS: [u32; 6] = [0, !0, 0x7fff_7fff, 0x8000_8001, 0x5555_5555, 0x3c00_3c01];

/// Returns whether an instruction only computes registers, SCC and EXEC, so that it can be executed several times.
fn is_pure(i: &Inst, info: &Info) -> bool {
    match info.class {
        InstructionClass::Valu | InstructionClass::Mfma => true,
        InstructionClass::Salu => !i.row.is(MODE_OUT),
        _ => i.row.is(EXCHANGE),
    }
}

/// Returns the registers that an instruction reads or writes.
fn registers(info: &Info, is_write: bool) -> impl Iterator<Item = u16> {
    let uses = info.operands.uses().iter().filter(move |operand| operand.is_write == is_write);
    uses.flat_map(|operand| operand.registers())
}

/// Returns whether a load only copies what it reads into registers, one register after the other.
pub(super) fn copies(info: &Info, accesses: &[AccessedBytes]) -> bool {
    match info.addressing {
        AddressingKind::Scalar(AccessKind::Read, _)
        | AddressingKind::ScalarBuffer(AccessKind::Read, _)
        | AddressingKind::Ds(AccessKind::Read, _)
        | AddressingKind::DsByLane(AccessKind::Read)
        | AddressingKind::Flat(AccessKind::Read, _)
        | AddressingKind::Global(AccessKind::Read, _)
        | AddressingKind::Buffer(AccessKind::Read, _) => {
            accesses.len() == 1 && info.operands.result().is_some()
        }
        AddressingKind::DsTwo(AccessKind::Read, ..) => accesses.len() == 2,
        _ => false,
    }
}

/// Returns the first registers of what a memory instruction stores as it is; none if it converts it, or combines it with what is
/// in memory.
fn data(i: &Inst, addressing: AddressingKind) -> [Option<u16>; 2] {
    let i = i.ext.as_ref().map_or(i, |ext| &ext.inner);
    match addressing {
        AddressingKind::Scalar(AccessKind::Write, _)
        | AddressingKind::ScalarBuffer(AccessKind::Write, _)
        | AddressingKind::ScalarScratch(AccessKind::Write, _) => [Some(SCALAR + i.dst), None],
        AddressingKind::DsTwo(AccessKind::Write, ..) => [Some(i.src[1]), Some(i.src[2])],
        AddressingKind::DsByLane(AccessKind::Write) => [Some(i.src[0]), None],
        AddressingKind::Ds(AccessKind::Write, _)
        | AddressingKind::Flat(AccessKind::Write, _)
        | AddressingKind::Global(AccessKind::Write, _)
        | AddressingKind::Scratch(AccessKind::Write, _)
        | AddressingKind::Buffer(AccessKind::Write, _) => [Some(i.src[1]), None],
        _ => [None; 2],
    }
}

/// Returns the bits of a register that a load of less than a dword fills: sign bits are copies of the last.
fn extended(row: &Row, size: u32, bits: u32) -> u32 {
    let bits = match size {
        1 if row.is(SIGNED) => bits as u8 as i8 as u32,
        2 if row.is(SIGNED) => bits as u16 as i16 as u32,
        _ => bits,
    };
    if row.is(HIGH) {
        bits << 16
    } else if row.is(D16) && size < 4 {
        bits & 0xffff
    } else {
        bits
    }
}

/// Returns the value of a register in each lane.
fn value(w: &Wave, register: u16) -> Lanes {
    match register.checked_sub(SCALAR) {
        None => *w.v(register),
        Some(scalar) => {
            let mut lanes = Lanes::ZERO;
            lanes.flat_mut()[0] = w.s32(scalar);
            lanes
        }
    }
}

fn set_value(w: &mut Wave, register: u16, lanes: &Lanes) {
    match register.checked_sub(SCALAR) {
        None => *w.v_mut(register) = *lanes,
        Some(scalar) => w.set_s32(scalar, lanes.flat()[0]),
    }
}
