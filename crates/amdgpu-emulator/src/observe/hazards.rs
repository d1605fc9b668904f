//! Hazards: pairs of instructions that need wait states between them, because the hardware doesn't check their
//! dependency (CDNA2 and CDNA3 ISA, "Manually inserted wait states"; LLVM, `GCNHazardRecognizer`).
//!
//! Each instruction is one wait state, and `s_nop n` is `n + 1` of them. A jump through a register ends the search for
//! earlier instructions: it takes longer than any hazard, and compilers look at one function at a time.

use std::collections::VecDeque;

use amdgpu_isa::flags::{ATOMIC, DOT, EXEC_OUT, M0_IN, SPARSE, STORE, TO_LDS, TRANS};
use amdgpu_isa::{Encoding, Row, Target};

use crate::exec::inst::{ExecContext, Inst, flag, isa};
use crate::exec::operand::DwordPart;
use crate::observe::class::{Info, InstructionClass};
use crate::observe::hazards_gfx11::RecentVector;
use crate::observe::hazards_masks::MaskWrites;
use crate::observe::missing_waits::name;
use crate::observe::operands::{LaneUse, RegisterUse, SCALAR};
use crate::observe::sanitizer::{Place, Sanitizer};
use crate::report::access::{AccessKind, MemorySpace};
use crate::report::defect::{Defect, DefectKind};
use crate::state::wave::{Wave, sreg};

/// The largest number of wait states that a hazard needs.
const LONGEST: u64 = 19;

/// A matrix instruction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Matrix {
    /// The number of passes that it takes (LLVM, `SISchedule.td`).
    passes: u64,
    is_double: bool,
    /// Whether the matrix core executes it, and not the vector ALU's floating point. On gfx90a, all but double
    /// precision ones.
    is_xdl: bool,
}

impl Matrix {
    /// Returns the properties of the instruction with a name; `None` if it is no matrix instruction.
    fn of(name: &str, target: Target) -> Option<Matrix> {
        let rest = name.strip_prefix("v_mfma_").or_else(|| name.strip_prefix("v_smfmac_"))?;
        let (result, rest) = rest.split_once('_')?;
        let mut sizes = rest.split('x');
        let rows = sizes.next()?;
        let depth = sizes.nth(1)?;
        let digits = depth.find(|c: char| !c.is_ascii_digit()).unwrap_or(depth.len());
        let depth: u32 = depth.get(..digits)?.parse().ok()?;
        let is_double = result == "f64";
        let is_fast = target != Target::Gfx90a && (depth >= 8 || name.ends_with("xf32"));
        let passes = match rows {
            "4" if is_double => 4,
            "16" if is_double => 8,
            "4" => 2,
            "16" if is_fast => 4,
            "16" => 8,
            _ if is_fast => 8,
            _ => 16,
        };
        let is_single = name.ends_with("_f32") && !name.ends_with("xf32");
        let is_xdl = !is_double && (target == Target::Gfx90a || !is_single);
        Some(Matrix { passes, is_double, is_xdl })
    }

    /// Returns the wait states before an instruction that reads the result as matrix A or B.
    fn before_factor(self, target: Target) -> u64 {
        match (self.is_double, self.passes) {
            (true, 4) => 6,
            (true, _) => 11,
            (false, _) => self.before_other(target, false),
        }
    }

    /// Returns the wait states before `next` reads the result as matrix C. `is_same` says that C is exactly the result.
    fn before_addend(self, next: Matrix, is_same: bool, target: Target) -> u64 {
        let gfx90a = target == Target::Gfx90a;
        if gfx90a && self.is_double && !next.is_double {
            return 0;
        }
        if is_same {
            let small = self.passes == 4 && next.passes == 4 && self.is_double && next.is_double;
            return if small {
                4
            } else if !gfx90a && self.passes == 2 {
                2
            } else {
                0
            };
        }
        match (self.is_double, self.passes) {
            (true, _) if next.is_xdl => 0,
            (true, 4) => 4,
            (true, _) => 9,
            (false, passes) if gfx90a => passes + u64::from(next.is_double),
            (false, _) if next.is_xdl && !self.is_xdl => 0,
            (false, passes) => passes + u64::from(self.is_xdl),
        }
    }

    /// Returns the wait states before another vector or memory instruction reads the result, or overwrites it.
    fn before_other(self, target: Target, reads_in_memory: bool) -> u64 {
        match (self.is_double, self.passes) {
            (true, 4) => [6, 9][usize::from(reads_in_memory)],
            (true, _) => [11, 18][usize::from(reads_in_memory)],
            (false, passes) if target == Target::Gfx90a || self.is_xdl => passes + 3,
            (false, passes) => passes + 2,
        }
    }

    /// Returns the wait states before another instruction overwrites matrix C.
    fn before_overwrite(self, target: Target) -> u64 {
        if self.is_double || target != Target::Gfx90a && !self.is_xdl {
            return 0;
        }
        self.passes - 1
    }
}

/// Returns whether an instruction is one of MUBUF, MTBUF, FLAT, GLOBAL or SCRATCH.
fn is_vector_memory(row: &Row) -> bool {
    matches!(
        row.encoding(),
        Some(Encoding::Mubuf | Encoding::Mtbuf | Encoding::Flat | Encoding::Global | Encoding::Scratch)
    )
}

/// What the instructions are that others have to wait for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Earlier {
    Valu,
    Salu,
    Matrix,
    Dot,
    /// A store whose data the hardware reads late.
    LateData,
}

const EARLIER: [Earlier; 5] =
    [Earlier::Valu, Earlier::Salu, Earlier::Matrix, Earlier::Dot, Earlier::LateData];

/// What decides which hazards an instruction has.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Traits {
    row: &'static Row,
    matrix: Option<Matrix>,
    is_dpp: bool,
    /// The result is not in the low bits of its register, or is only a part of it.
    is_shifted: bool,
    reads_m0: bool,
    is_lane_access: bool,
    is_salu: bool,
    /// One of MUBUF, MTBUF, FLAT, GLOBAL and SCRATCH.
    is_memory: bool,
    /// A jump through a register.
    jumps: bool,
    is_double_fma: bool,
    /// The number of wait states.
    states: u64,
    /// The hardware register of `s_setreg` or `s_getreg`.
    hardware_register: Option<u32>,
    /// The registers of a store's data that the hardware reads late.
    late_data: Option<RegisterUse>,
}

impl Traits {
    pub(crate) fn of(i: &Inst, info: &Info, target: Target) -> Traits {
        let row = i.row;
        let encoding = i.row.encoding();
        let short = matches!(encoding, Some(Encoding::Vop1 | Encoding::Vop2 | Encoding::Vopc));
        // The long forms have the same rows, and bit 31 of the first dword.
        let control = if short && i.raw[0] >> 31 == 0 { i.raw[0] & 0x1ff } else { 0 };
        let part = i.ext.as_ref().and_then(|ext| ext.post.as_ref()).map_or(DwordPart::ALL, |post| post.part);
        let is_memory = is_vector_memory(row);
        let inner = i.ext.as_ref().map_or(i, |ext| &ext.inner);
        let stores = is_memory && row.is(STORE | ATOMIC);
        let buffer_with_offset =
            matches!(encoding, Some(Encoding::Mubuf | Encoding::Mtbuf)) && inner.sdst < 128;
        let data = info.operands.uses().iter().copied().find(|operand| {
            !operand.is_write && !operand.is_scalar() && operand.first == inner.src[1] && operand.count > 2
        });
        let to_lds = is_memory && (inner.flags & flag::LDS != 0 || row.is(TO_LDS));
        Traits {
            row,
            matrix: Matrix::of(row.name, target),
            is_dpp: control == 250,
            is_shifted: control == 249 && part != DwordPart::ALL || part == DwordPart::HIGH,
            reads_m0: to_lds || row.is(M0_IN),
            is_lane_access: matches!(row.name, "v_readlane_b32" | "v_readfirstlane_b32" | "v_writelane_b32"),
            is_salu: matches!(
                encoding,
                Some(Encoding::Sop1 | Encoding::Sop2 | Encoding::Sopk | Encoding::Sopc | Encoding::Sopp)
            ),
            is_memory,
            jumps: info.class == InstructionClass::Branch
                && matches!(row.name, "s_setpc_b64" | "s_swappc_b64" | "s_call_b64"),
            is_double_fma: matches!(row.name, "v_fma_f64" | "v_fmac_f64"),
            states: if row.name == "s_nop" { 1 + u64::from(i.imm & 15) } else { 1 },
            hardware_register: matches!(row.name, "s_setreg_b32" | "s_setreg_imm32_b32" | "s_getreg_b32")
                .then_some(i.imm & 63),
            late_data: data.filter(|_| stores && !buffer_with_offset),
        }
    }

    fn writes_hardware_register(&self) -> bool {
        self.hardware_register.is_some() && self.row.name != "s_getreg_b32"
    }

    fn is_lds(&self) -> bool {
        self.row.encoding() == Some(Encoding::Ds)
    }

    /// Returns whether other instructions may have to wait for this one as `earlier`.
    fn is(&self, earlier: Earlier) -> bool {
        match earlier {
            Earlier::Valu => self.row.is_valu(),
            Earlier::Salu => self.is_salu,
            Earlier::Matrix => self.matrix.is_some(),
            Earlier::Dot => self.row.is(DOT),
            Earlier::LateData => self.late_data.is_some(),
        }
    }
}

/// An instruction that a wave has executed.
struct Past {
    inst: u32,
    /// The number of wait states of the wave when the instruction had been issued.
    end: u64,
    traits: Traits,
    uses: [RegisterUse; 6],
}

impl Past {
    /// Returns whether the instruction writes registers of an operand.
    fn writes(&self, operand: RegisterUse) -> bool {
        self.uses.iter().any(|other| other.is_write && overlap(*other, operand))
    }
}

pub(super) fn overlap(a: RegisterUse, b: RegisterUse) -> bool {
    a.first < b.registers().end && b.first < a.registers().end
}

/// The position of matrix C among the operands that a matrix instruction reads.
fn addend(row: &Row) -> usize {
    if row.is(SPARSE) { 3 } else { 2 }
}

/// The instructions that a wave has executed in the last wait states.
struct History {
    clock: u64,
    past: VecDeque<Past>,
    /// The time at which the last instruction of each kind in [`EARLIER`] had been issued.
    last: [u64; EARLIER.len()],
}

impl Default for History {
    fn default() -> History {
        // Later than any wait of an instruction that would have been issued at 0.
        History { clock: LONGEST + 1, past: VecDeque::new(), last: [0; EARLIER.len()] }
    }
}

/// A hazard: an earlier instruction, the register, and what has to be between the two.
pub(super) struct Hazard {
    inst: u32,
    register: String,
    /// The wait states that are missing; 0 if `wait` names something else.
    missing: u64,
    wait: String,
}

impl Hazard {
    /// Returns a hazard that an instruction between the two avoids.
    pub(super) fn of(inst: u32, register: String, wait: &str) -> Hazard {
        Hazard { inst, register, missing: 0, wait: wait.to_owned() }
    }
}

impl History {
    /// Returns a hazard if the last instruction of a kind that `is` selects is fewer than `needed` wait states ago, which are
    /// at most `most`.
    fn check(
        &self,
        kind: Earlier,
        most: u64,
        register: impl FnOnce() -> String,
        is: impl Fn(&Past) -> bool,
        needed: impl Fn(&Past) -> u64,
    ) -> Option<Hazard> {
        if self.clock - self.last[kind as usize] >= most {
            return None;
        }
        let recent = self.past.iter().rev().take_while(|past| self.clock - past.end < most);
        let past = recent.into_iter().find(|past| past.traits.is(kind) && is(past))?;
        let since = self.clock - past.end;
        let missing = needed(past).checked_sub(since).filter(|missing| *missing > 0)?;
        Some(Hazard {
            inst: past.inst,
            register: register(),
            missing,
            wait: format!("s_nop {}", missing - 1),
        })
    }

    fn push(&mut self, past: Past) {
        self.clock = past.end;
        for (last, kind) in self.last.iter_mut().zip(EARLIER) {
            if past.traits.is(kind) {
                *last = past.end;
            }
        }
        self.past.push_back(past);
        while self.past.front().is_some_and(|past| self.clock - past.end > LONGEST) {
            self.past.pop_front();
        }
    }

    fn clear(&mut self) {
        self.past.clear();
        self.last = [0; EARLIER.len()];
    }
}

/// The instructions that a workgroup's waves have executed in the last wait states.
pub(super) struct Hazards {
    group: u32,
    waves: Vec<WaveHistory>,
}

/// What a wave has executed, as its target's hazards need it.
#[derive(Default)]
struct WaveHistory {
    gfx9: History,
    gfx11: RecentVector,
    masks: MaskWrites,
}

impl Hazards {
    pub(super) fn new(group: u32, waves: usize) -> Hazards {
        Hazards { group, waves: std::iter::repeat_with(WaveHistory::default).take(waves).collect() }
    }

    /// Checks instruction `i`, number `at` in the program, which `w` executes next.
    pub(super) fn see(
        &mut self,
        shared: &Sanitizer,
        cx: &ExecContext,
        w: &Wave,
        at: u32,
        i: &Inst,
        info: &Info,
    ) {
        let Some(WaveHistory { gfx9: history, gfx11, masks }) = self.waves.get_mut(w.id as usize) else {
            return;
        };
        let target = cx.code.target;
        if target.is_gfx11() {
            let isa = isa(target, cx.code.wave32);
            let of_mask = if cx.code.wave32 { None } else { masks.see(at, i, info) };
            for hazard in gfx11.see(at, i, info, isa).into_iter().chain(of_mask) {
                report(shared, cx, w, (self.group, at), hazard);
            }
            return;
        }
        // Processors of other generations wait by themselves. gfx12 has one hazard, of scalar registers that vector instructions read (LLVM,
        // `GCNSubtarget::hasVALUReadSGPRHazard`), which is not checked.
        if target.is_rdna() {
            return;
        }
        let Some(traits) = info.traits else { return };
        let mut hazards = of_operands(history, &traits, i, info, target);
        hazards.extend(of_state(history, &traits, target));
        // An instruction that waits long enough for one hazard waits for the others.
        if let Some(hazard) = hazards.into_iter().max_by_key(|hazard| hazard.missing) {
            report(shared, cx, w, (self.group, at), hazard);
        }
        if traits.jumps {
            history.clear();
            return;
        }
        let mut uses = [RegisterUse::default(); 6];
        uses.iter_mut().zip(info.operands.uses()).for_each(|(to, from)| *to = *from);
        // The states of `s_nop` come after what was issued before it, and before what follows.
        history.push(Past { inst: at, end: history.clock + traits.states, traits, uses });
    }
}

/// Reports a hazard of the instruction with number `at`, which a wave of workgroup `group` executes next.
fn report(shared: &Sanitizer, cx: &ExecContext, w: &Wave, (group, at): (u32, u32), hazard: Hazard) {
    let place = |inst, access| Place { group, inst, wave: w.id as u8, lane: None, access };
    shared.add((DefectKind::Hazard, at, hazard.inst), || Defect {
        kind: DefectKind::Hazard,
        space: MemorySpace::Global,
        size: 0,
        lanes: Vec::new(),
        site: shared.site(cx, place(at, AccessKind::Read)),
        other: Some(shared.site(cx, place(hazard.inst, AccessKind::Write))),
        allocation: None,
        registers: Some(hazard.register),
        wait: Some(hazard.wait),
        count: 1,
    });
}

/// The search for the hazards of one operand of an instruction.
struct OperandSearch<'a> {
    history: &'a History,
    now: &'a Traits,
    target: Target,
    operand: RegisterUse,
    found: &'a mut Vec<Hazard>,
}

/// Returns the hazards of registers that an instruction reads and writes.
fn of_operands(history: &History, now: &Traits, i: &Inst, info: &Info, target: Target) -> Vec<Hazard> {
    let mut found = Vec::new();
    let inner = i.ext.as_ref().map_or(i, |ext| &ext.inner);
    let mut reads = 0;
    for operand in info.operands.uses().iter().copied() {
        let mut search = OperandSearch { history, now, target, operand, found: &mut found };
        match (operand.is_write, operand.is_scalar()) {
            (false, true) => {
                let selects_lane = info.operands.lanes == LaneUse::Selected
                    && i.ext.is_none()
                    && operand.first == SCALAR + i.src[1];
                search.scalar_read(selects_lane);
            }
            (false, false) => search.vector_read(reads == addend(now.row), inner.src[2] == operand.first),
            (true, false) => search.vector_write(),
            (true, true) => {}
        }
        reads += usize::from(!operand.is_write);
    }
    found
}

impl OperandSearch<'_> {
    /// Adds a hazard if the last instruction of a kind that `is` selects is fewer than `needed` wait states ago.
    fn check(&mut self, kind: Earlier, is: impl Fn(&Past) -> bool, needed: impl Fn(&Past) -> u64) {
        self.found.extend(self.history.check(kind, LONGEST, || name(self.operand), is, needed));
    }

    /// Adds a hazard if the last vector instruction that writes the operand and that `is` selects is fewer than `needed` wait
    /// states ago.
    fn check_valu(&mut self, needed: u64, is: impl Fn(&Past) -> bool) {
        let writes = |past: &Past| past.writes(self.operand) && is(past);
        let found = self.history.check(Earlier::Valu, needed, || name(self.operand), writes, |_| needed);
        self.found.extend(found);
    }

    fn scalar_read(&mut self, selects_lane: bool) {
        let (now, operand) = (self.now, self.operand);
        if now.is_memory {
            self.check_valu(5, |_| true);
        }
        let divides = matches!(now.row.name, "v_div_fmas_f32" | "v_div_fmas_f64");
        if selects_lane || divides && operand.first == SCALAR + sreg::VCC {
            self.check_valu(4, |_| true);
        }
        if self.target != Target::Gfx90a && now.row.is_valu() {
            self.check_valu(2, |_| true);
        }
    }

    /// `is_matrix_c` says whether the operand is matrix C, if the instruction has matrices, and `is_third` whether it is the
    /// third source.
    fn vector_read(&mut self, is_matrix_c: bool, is_third: bool) {
        let (now, operand, target) = (self.now, self.operand, self.target);
        let gfx90a = target == Target::Gfx90a;
        if now.is_dpp {
            self.check_valu(2, |_| true);
        }
        if !gfx90a && matches!(now.row.name, "v_readlane_b32" | "v_readfirstlane_b32") {
            self.check_valu(1, |_| true);
        }
        if !gfx90a && now.row.is_valu() {
            self.check_valu(1, |past| past.traits.is_shifted);
            if !now.row.is(TRANS) {
                self.check_valu(1, |past| past.traits.row.is(TRANS));
            }
        }
        let writes = |past: &Past| past.writes(operand);
        if let Some(matrix) = now.matrix {
            self.check_valu(2, |past| past.traits.matrix.is_none() && !past.traits.row.is(DOT));
            self.check(Earlier::Matrix, writes, |past| match past.traits.matrix {
                Some(earlier) if is_matrix_c => {
                    let is_same = past.uses.contains(&RegisterUse { is_write: true, ..operand });
                    earlier.before_addend(matrix, is_same, target)
                }
                Some(earlier) => earlier.before_factor(target),
                None => 0,
            });
        } else if now.row.is_valu() || now.is_memory || now.is_lds() {
            let in_memory = now.is_memory || now.is_lds();
            self.check(Earlier::Matrix, writes, |past| {
                past.traits.matrix.map_or(0, |earlier| earlier.before_other(target, in_memory))
            });
            // The same instruction may add to the result at once.
            self.check(Earlier::Dot, writes, |past| {
                if past.traits.row.name == now.row.name && is_third { 0 } else { 3 }
            });
        }
    }

    fn vector_write(&mut self) {
        let (now, operand, target) = (self.now, self.operand, self.target);
        if now.row.is_valu() {
            let needed = if target == Target::Gfx90a { 1 } else { 2 };
            let reads_late = |past: &Past| past.traits.late_data.is_some_and(|data| overlap(data, operand));
            self.check(Earlier::LateData, reads_late, |_| needed);
        }
        if now.matrix.is_some() || !(now.row.is_valu() || now.is_memory || now.is_lds()) {
            return;
        }
        let writes = |past: &Past| past.writes(operand);
        self.check(Earlier::Matrix, writes, |past| {
            past.traits.matrix.map_or(0, |earlier| earlier.before_other(target, false))
        });
        self.check(Earlier::Dot, writes, |past| if past.traits.row.name == now.row.name { 0 } else { 3 });
        let before_overwrite =
            |past: &Past| past.traits.matrix.map_or(0, |matrix| matrix.before_overwrite(target));
        let reads_addend = |past: &Past| {
            let reads = past.uses.iter().filter(|other| !other.is_write && other.count > 0);
            reads.skip(addend(past.traits.row)).any(|other| overlap(*other, operand))
        };
        self.check(
            Earlier::Matrix,
            |past| before_overwrite(past) > 0 && reads_addend(past),
            before_overwrite,
        );
    }
}

/// Returns the hazards of EXEC, M0, hardware registers, and the units of double precision.
fn of_state(history: &History, now: &Traits, target: Target) -> Vec<Hazard> {
    let mut found = Vec::new();
    let exec = RegisterUse { first: SCALAR + sreg::EXEC, count: 2, is_write: false };
    let writes_exec = |past: &Past| past.traits.row.is(EXEC_OUT) || past.writes(exec);
    let mut by_valu = |needed: u64| {
        found.extend(history.check(Earlier::Valu, needed, || "exec".into(), writes_exec, |_| needed));
    };
    if now.is_dpp {
        by_valu(5);
    }
    if now.matrix.is_some() || target != Target::Gfx90a && now.is_lane_access {
        by_valu(4);
    }
    if now.reads_m0 {
        let m0 = RegisterUse { first: SCALAR + sreg::M0, count: 1, is_write: false };
        found.extend(history.check(Earlier::Salu, 1, || "m0".into(), |past| past.writes(m0), |_| 1));
    }
    if let Some(register) = now.hardware_register {
        let same = |past: &Past| {
            past.traits.writes_hardware_register() && past.traits.hardware_register == Some(register)
        };
        found.extend(history.check(Earlier::Salu, 2, || "hardware register".into(), same, |_| 2));
    }
    if now.is_double_fma {
        let double = |past: &Past| past.traits.matrix.is_some_and(|matrix| matrix.is_double);
        found.extend(history.check(Earlier::Matrix, 2, || "matrix unit".into(), double, |_| 2));
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The numbers of passes are those of LLVM's scheduling models, which `llvm-mca` prints.
    #[test]
    fn passes_of_matrix_instructions() {
        let passes = |name, target| Matrix::of(name, target).map(|matrix| (matrix.passes, matrix.is_xdl));
        for (name, expected) in [
            ("v_mfma_f32_4x4x1f32", Some((2, true))),
            ("v_mfma_f32_16x16x4f32", Some((8, true))),
            ("v_mfma_f32_16x16x16bf16_1k", Some((8, true))),
            ("v_mfma_f32_32x32x8f16", Some((16, true))),
            ("v_mfma_f64_4x4x4f64", Some((4, false))),
            ("v_mfma_f64_16x16x4f64", Some((8, false))),
            ("v_accvgpr_read_b32", None),
        ] {
            assert_eq!(passes(name, Target::Gfx90a), expected, "{name}");
        }
        for (name, expected) in [
            ("v_mfma_f32_4x4x1_16b_f32", Some((2, false))),
            ("v_mfma_f32_16x16x4_f32", Some((8, false))),
            ("v_mfma_f32_32x32x2_f32", Some((16, false))),
            ("v_mfma_f32_16x16x4_4b_f16", Some((8, true))),
            ("v_mfma_f32_32x32x4_2b_f16", Some((16, true))),
            ("v_mfma_f32_16x16x8_xf32", Some((4, true))),
            ("v_mfma_f32_32x32x4_xf32", Some((8, true))),
            ("v_mfma_f32_16x16x16_f16", Some((4, true))),
            ("v_mfma_f32_32x32x16_fp8_fp8", Some((8, true))),
            ("v_smfmac_i32_16x16x64_i8", Some((4, true))),
            ("v_smfmac_f32_32x32x16_f16", Some((8, true))),
            ("v_mfma_f64_16x16x4_f64", Some((8, false))),
        ] {
            assert_eq!(passes(name, Target::Gfx942), expected, "{name}");
        }
    }
}
