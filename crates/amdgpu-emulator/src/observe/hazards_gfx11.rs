//! The hazards of gfx11 that software has to avoid (LLVM, `GCNHazardRecognizer`). The hardware checks what gfx9 leaves to compilers, so
//! there are other ones:
//!
//! - A vector instruction reads the result of a transcendental one too early (gfx11 only, `fixVALUTransUseHazard`).
//! - A matrix instruction reads the result of the one just before it as A or B (`fixWMMAHazards`).
//! - `v_permlane16_b32`, `v_permlanex16_b32` or `v_permlane64_b32` follows a `v_cmpx` (`fixVcmpxPermlaneHazards`).
//! - In waves of 64, a vector instruction reads the results of two others, between which a scalar instruction has written EXEC
//!   (`fixVALUPartialForwardingHazard`).
//!
//! `hazards_masks.rs` has the one of masks.

use std::collections::VecDeque;

use amdgpu_isa::flags::{EXEC_OUT, TRANS, WMMA};
use amdgpu_isa::{Isa, Mnemonic, Row, Sop1, Sopp, Target, Vop1, Vop3, WaveSize};

use super::hazards::{Hazard, overlap};
use crate::exec::inst::Inst;
use crate::observe::class::Info;
use crate::observe::missing_waits::name;
use crate::observe::operands::{RegisterUse, SCALAR};
use crate::state::wave::sreg;

/// The vector instructions, and the transcendental ones among them, that may be between a transcendental instruction and one that would
/// read its result too early.
const BETWEEN: usize = 5;
const TRANSCENDENTAL_BETWEEN: usize = 1;

/// The vector instructions that may be between two whose results are forwarded, and between the second and the one that reads both.
const BETWEEN_FORWARDED: usize = 2;
const BEFORE_FORWARDED: usize = 4;

/// The vector instructions that matter: as many, and the two.
const KEPT: usize = BETWEEN_FORWARDED + BEFORE_FORWARDED + 2;

/// A vector instruction that the wave has executed.
struct Recent {
    inst: u32,
    row: &'static Row,
    result: Option<RegisterUse>,
    /// The wave has waited for the result.
    is_done: bool,
    /// A scalar instruction has written EXEC before the next vector instruction.
    then_exec: bool,
}

/// The vector instructions that a wave has executed last, the last one first.
#[derive(Default)]
pub(super) struct RecentVector(VecDeque<Recent>);

impl RecentVector {
    /// Returns the hazard of instruction `i`, number `at` in the program, which the wave executes next, and adds it.
    pub(super) fn see(&mut self, at: u32, i: &Inst, info: &Info, isa: Isa) -> Option<Hazard> {
        if waits_for_vector(i) {
            self.0.iter_mut().for_each(|recent| recent.is_done = true);
        }
        if matches!(i.row.mnemonic, Mnemonic::Sop1(Sop1::s_setpc_b64 | Sop1::s_swappc_b64)) {
            // A jump through a register takes longer, and compilers look at one function at a time.
            self.0.clear();
        }
        if !i.row.is_valu() {
            let exec = RegisterUse { first: SCALAR + sreg::EXEC, count: 2, is_write: true };
            let writes_exec = |operand: &RegisterUse| operand.is_write && overlap(*operand, exec);
            if (i.row.is(EXEC_OUT) || info.operands.uses().iter().any(writes_exec))
                && let Some(last) = self.0.front_mut()
            {
                last.then_exec = true;
            }
            return None;
        }
        let transcendental = self.of_transcendental(info).filter(|_| isa.target == Target::Gfx11);
        let forwarded = || self.of_forwarding(info).filter(|_| isa.wave == WaveSize::Wave64);
        let others = || self.of_matrix(i, info).or_else(|| self.of_exec(i)).or_else(forwarded);
        let hazard = transcendental.or_else(others);
        let result = info.operands.result();
        self.0.push_front(Recent { inst: at, row: i.row, result, is_done: false, then_exec: false });
        self.0.truncate(KEPT);
        hazard
    }

    /// Looks for two results, the older one written before EXEC and the other one after it, that are both read.
    fn of_forwarding(&self, info: &Info) -> Option<Hazard> {
        let recent = || self.0.iter().take_while(|recent| !recent.is_done);
        let reads =
            || info.operands.uses().iter().filter(|operand| !operand.is_write && !operand.is_scalar());
        // The number of vector instructions since the last one that has written an operand.
        let since = |operand: &RegisterUse| {
            recent().position(|recent| recent.result.is_some_and(|result| overlap(*operand, result)))
        };
        let newest = reads().filter_map(since).min()?;
        // The number since EXEC was written.
        let exec = recent().enumerate().position(|(n, recent)| recent.then_exec && n > newest)?;
        let older = |operand: &&RegisterUse| since(operand).is_some_and(|since| since >= exec);
        let register = reads().filter(older).min_by_key(|operand| since(operand))?;
        let between = since(register)? - newest - 1;
        let is_near = newest <= BEFORE_FORWARDED && between <= BETWEEN_FORWARDED;
        let first = self.0.get(since(register)?).filter(|_| is_near)?;
        Some(Hazard::of(first.inst, name(*register), "s_waitcnt_depctr 0xfff"))
    }

    fn of_transcendental(&self, info: &Info) -> Option<Hazard> {
        let mut others = 0;
        for recent in self.0.iter().take(BETWEEN + 1) {
            if recent.row.is(TRANS)
                && !recent.is_done
                && let Some(register) = read_of(info, recent.result)
            {
                return Some(Hazard::of(recent.inst, register, "s_waitcnt_depctr 0xfff"));
            }
            others += usize::from(recent.row.is(TRANS));
            if others > TRANSCENDENTAL_BETWEEN {
                break;
            }
        }
        None
    }

    fn of_matrix(&self, i: &Inst, info: &Info) -> Option<Hazard> {
        let last = self.0.front().filter(|last| last.row.is(WMMA) && i.row.is(WMMA))?;
        let result = last.result?;
        let mut factors = info.operands.uses().iter().filter(|operand| !operand.is_write).take(2);
        let register = factors.find(|operand| overlap(**operand, result))?;
        Some(Hazard::of(last.inst, name(*register), "v_nop"))
    }

    fn of_exec(&self, i: &Inst) -> Option<Hazard> {
        let permutes = matches!(
            i.row.mnemonic,
            Mnemonic::Vop3(Vop3::v_permlane16_b32 | Vop3::v_permlanex16_b32)
                | Mnemonic::Vop1(Vop1::v_permlane64_b32)
        );
        let is_nop = |recent: &Recent| recent.row.mnemonic == Mnemonic::Vop1(Vop1::v_nop);
        let last = self.0.iter().find(|recent| !is_nop(recent)).filter(|_| permutes)?;
        last.row.is(EXEC_OUT).then(|| Hazard::of(last.inst, "exec".into(), "v_mov_b32"))
    }
}

/// Returns whether an instruction begins when all results of vector instructions are there: accesses to memory and LDS, and waits for them.
fn waits_for_vector(i: &Inst) -> bool {
    // The counter va_vdst is in the four high bits.
    let waits = i.row.mnemonic == Mnemonic::Sopp(Sopp::s_waitcnt_depctr) && i.imm >> 12 & 15 == 0;
    waits || i.row.is_vector() && !i.row.is_valu()
}

/// Returns the name of the first register of a result that an instruction reads.
fn read_of(info: &Info, result: Option<RegisterUse>) -> Option<String> {
    let result = result?;
    let mut reads = info.operands.uses().iter().filter(|operand| !operand.is_write && !operand.is_scalar());
    reads.find(|operand| overlap(**operand, result)).map(|operand| name(*operand))
}
