//! The hazard of gfx11 of masks of lanes that scalar instructions overwrite (LLVM, `GCNHazardRecognizer`, `fixVALUMaskWriteHazard`).
//!
//! In waves of 64, a vector instruction reads scalar registers as a mask, a scalar instruction writes them, and another one reads them
//! too early. LLVM waits after each such write, and doesn't search for the read; here the read is what is reported.

use amdgpu_isa::flags::{LIT, MASK_IN};
use amdgpu_isa::{Encoding, Mnemonic, Row, Sop1, Sopp};

use super::hazards::{Hazard, overlap};
use crate::exec::inst::Inst;
use crate::observe::class::Info;
use crate::observe::missing_waits::name;
use crate::observe::operands::{RegisterUse, SCALAR};
use crate::state::wave::sreg;

/// The registers of masks that a wave of 64 lanes has used.
#[derive(Default)]
pub(super) struct MaskWrites {
    /// The mask that a vector instruction has read; no later one has read other scalar registers or a literal.
    mask: Option<RegisterUse>,
    /// The registers of masks that scalar instructions have written since, with the instruction.
    written: Vec<(u32, RegisterUse)>,
}

impl MaskWrites {
    /// Returns the hazard of instruction `i`, number `at` in the program, which the wave executes next, and adds it.
    pub(super) fn see(&mut self, at: u32, i: &Inst, info: &Info) -> Option<Hazard> {
        let waits = i.row.mnemonic == Mnemonic::Sopp(Sopp::s_waitcnt_depctr) && i.imm & 1 == 0;
        let jumps = matches!(i.row.mnemonic, Mnemonic::Sop1(Sop1::s_setpc_b64 | Sop1::s_swappc_b64));
        if waits || jumps {
            // The counter sa_sdst is in the lowest bit. Compilers look at one function at a time.
            *self = MaskWrites::default();
            return None;
        }
        let uses = info.operands.uses();
        if i.row.is_valu() {
            // What a vector instruction writes there since is not late.
            let is_written =
                |register: RegisterUse| uses.iter().any(|one| one.is_write && overlap(*one, register));
            self.written.retain(|(_, register)| !is_written(*register));
            self.mask = mask_of(i.row, uses).or(self.mask.filter(|_| !reads_scalar(i, uses)));
            return None;
        }
        if !is_salu(i.row) {
            return None;
        }
        let is_read = |register: RegisterUse| uses.iter().any(|one| !one.is_write && overlap(*one, register));
        let late = self.written.iter().find(|(_, register)| is_read(*register)).copied();
        for register in uses.iter().copied().filter(|one| one.is_write && may_be_late(*one)) {
            self.written.retain(|(_, other)| *other != register);
            if self.mask.is_some_and(|mask| overlap(mask, register)) {
                self.written.push((at, register));
            }
        }
        late.map(|(inst, register)| Hazard::of(inst, name(register), "s_waitcnt_depctr 0xfffe"))
    }
}

/// Returns the mask that an instruction reads.
fn mask_of(row: &Row, uses: &[RegisterUse]) -> Option<RegisterUse> {
    let divides = matches!(row.name, "v_div_fmas_f32" | "v_div_fmas_f64");
    // The other scalar operands of instructions with a mask are single registers.
    let is_mask = |one: &RegisterUse| match divides {
        true => one.first == SCALAR + sreg::VCC,
        false => row.is(MASK_IN) && one.count == 2,
    };
    uses.iter().copied().find(|one| !one.is_write && one.is_scalar() && is_mask(one))
}

/// Returns whether a vector instruction reads a scalar register or a literal.
fn reads_scalar(i: &Inst, uses: &[RegisterUse]) -> bool {
    let is_short = i.raw[0] >> 31 == 0;
    let literal = match is_short {
        true => i.row.is(LIT) || i.raw[0] & 0x1ff == 255,
        false => (0..3).any(|n| i.raw[1] >> (9 * n) & 0x1ff == 255),
    };
    let exec = RegisterUse { first: SCALAR + sreg::EXEC, count: 2, is_write: false };
    literal || uses.iter().any(|one| !one.is_write && one.is_scalar() && !overlap(*one, exec))
}

/// Returns whether the hazard is one of these registers. EXEC and M0 don't have it.
fn may_be_late(register: RegisterUse) -> bool {
    let is = |first: u16, count: u8| {
        overlap(register, RegisterUse { first: SCALAR + first, count, is_write: false })
    };
    register.is_scalar() && !is(sreg::EXEC, 2) && !is(sreg::M0, 1)
}

fn is_salu(row: &Row) -> bool {
    use Encoding::{Sop1, Sop2, Sopc, Sopk, Sopp};
    matches!(row.encoding(), Some(Sop1 | Sop2 | Sopc | Sopk | Sopp))
}
