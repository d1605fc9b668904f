//! The hazards of gfx11 that software has to avoid (LLVM, `GCNHazardRecognizer`). The hardware checks what gfx9 leaves to compilers, so
//! there are other ones:
//!
//! - A vector instruction reads the result of a transcendental one too early (gfx11 only, `fixVALUTransUseHazard`).
//! - A matrix instruction reads the result of the one just before it as A or B (`fixWMMAHazards`).
//! - `v_permlane16_b32` or `v_permlanex16_b32` follows a `v_cmpx` (`fixVcmpxPermlaneHazards`).
//!
//! Those of masks that scalar instructions overwrite, and of results forwarded across a change of EXEC, are not looked for.

use std::collections::VecDeque;

use amdgpu_isa::flags::{EXEC_OUT, TRANS, WMMA};
use amdgpu_isa::{Encoding, Mnemonic, Row, Sop1, Sopp, Target, Vop1, Vop3};

use super::hazards::{Hazard, overlap};
use crate::exec::inst::Inst;
use crate::observe::class::Info;
use crate::observe::missing_waits::name;
use crate::observe::operands::RegisterUse;

/// The vector instructions, and the transcendental ones among them, that may be between a transcendental instruction and one that would
/// read its result too early.
const BETWEEN: usize = 5;
const TRANSCENDENTAL_BETWEEN: usize = 1;

/// A vector instruction that the wave has executed.
struct Recent {
    inst: u32,
    row: &'static Row,
    result: Option<RegisterUse>,
    /// The result of a transcendental instruction may not be there yet.
    is_late: bool,
}

/// The vector instructions that a wave has executed last, the last one first.
#[derive(Default)]
pub(super) struct RecentVector(VecDeque<Recent>);

impl RecentVector {
    /// Returns the hazard of instruction `i`, number `at` in the program, which the wave executes next, and adds it.
    pub(super) fn see(&mut self, at: u32, i: &Inst, info: &Info, target: Target) -> Option<Hazard> {
        if waits_for_vector(i) {
            self.0.iter_mut().for_each(|recent| recent.is_late = false);
        }
        if matches!(i.row.mnemonic, Mnemonic::Sop1(Sop1::s_setpc_b64 | Sop1::s_swappc_b64)) {
            // A jump through a register takes longer, and compilers look at one function at a time.
            self.0.clear();
        }
        if !i.row.is_valu() {
            return None;
        }
        let hazard =
            self.of_transcendental(info).or_else(|| self.of_matrix(i, info)).or_else(|| self.of_exec(i));
        let is_late = i.row.is(TRANS) && target == Target::Gfx11;
        self.0.push_front(Recent { inst: at, row: i.row, result: info.operands.result(), is_late });
        self.0.truncate(BETWEEN + 1);
        hazard
    }

    fn of_transcendental(&self, info: &Info) -> Option<Hazard> {
        let mut others = 0;
        for recent in &self.0 {
            if recent.is_late
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
        let permutes =
            matches!(i.row.mnemonic, Mnemonic::Vop3(Vop3::v_permlane16_b32 | Vop3::v_permlanex16_b32));
        let is_nop = |recent: &Recent| recent.row.mnemonic == Mnemonic::Vop1(Vop1::v_nop);
        let last = self.0.iter().find(|recent| !is_nop(recent)).filter(|_| permutes)?;
        last.row.is(EXEC_OUT).then(|| Hazard::of(last.inst, "exec".into(), "v_mov_b32"))
    }
}

/// Returns whether an instruction begins when all results of vector instructions are there: accesses to memory and LDS, and waits for them.
fn waits_for_vector(i: &Inst) -> bool {
    // The counter va_vdst is in the four high bits.
    let waits = i.row.mnemonic == Mnemonic::Sopp(Sopp::s_waitcnt_depctr) && i.imm >> 12 & 15 == 0;
    waits || i.row.is_vector() && !i.row.is_valu() && i.row.encoding() != Some(Encoding::Mimg)
}

/// Returns the name of the first register of a result that an instruction reads.
fn read_of(info: &Info, result: Option<RegisterUse>) -> Option<String> {
    let result = result?;
    let mut reads = info.operands.uses().iter().filter(|operand| !operand.is_write && !operand.is_scalar());
    reads.find(|operand| overlap(**operand, result)).map(|operand| name(*operand))
}
