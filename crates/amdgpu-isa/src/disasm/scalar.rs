//! Disassembles SOP1, SOP2, SOPK, SOPC, SOPP and SMEM.

use super::gfx11::names::Version;
use super::operand::{Operand, immediate};
use super::symbolic::{GprIndex, Hwreg, Message, Waitcnt};
use super::text::Text;
use super::words::{NotAnInstruction, Words};
use crate::encoding::Encoding;
use crate::fields;
use crate::row::flags::{BRANCH, DESCRIPTOR, LIT, LIT_FACTOR};
use crate::row::{Row, Ty};

/// The source code for a literal, which follows the instruction.
const LITERAL: u32 = 255;

impl Words {
    /// Returns an 8-bit source, which may be a literal.
    fn scalar_operand(&mut self, code: u32, ty: Ty) -> Result<Operand, NotAnInstruction> {
        match code & 0xff {
            LITERAL => {
                let value = self.literal()?;
                Ok(self.literal_operand(value, ty))
            }
            code => self.scalar_source(code, ty),
        }
    }

    pub(super) fn sop2(&mut self, t: &mut Text<'_>) -> Result<(), NotAnInstruction> {
        let f = fields::Sop2::of(self.target, self.first);
        let row = self.row(Encoding::Sop2, f.op)?;
        t.mnemonic(row.name, "");
        self.destination(t, row, f.sdst)?;
        let a = self.scalar_operand(f.src0, row.src[0])?;
        let b = self.scalar_operand(f.src1, row.src[1])?;
        let literal = if row.is(LIT) { Some(Operand::Hex(u64::from(self.literal()?))) } else { None };
        t.operand(a);
        // The literal is the second factor or the addend.
        if let Some(literal) = literal.filter(|_| row.is(LIT_FACTOR)) {
            t.operand(literal);
        }
        t.operand(b);
        if let Some(literal) = literal.filter(|_| !row.is(LIT_FACTOR)) {
            t.operand(literal);
        }
        Ok(())
    }

    pub(super) fn sop1(&mut self, t: &mut Text<'_>) -> Result<(), NotAnInstruction> {
        let f = fields::Sop1::of(self.target, self.first);
        let row = self.row(Encoding::Sop1, f.op)?;
        t.mnemonic(row.name, "");
        self.destination(t, row, f.sdst)?;
        if row.name.starts_with("s_sendmsg_rtn") {
            self.returning_message(t, f.src0);
        } else if row.src[0] != Ty::None {
            let is_barrier = row.name.contains("_barrier_");
            if wants_register(row.name) && is_constant(f.src0) || is_barrier && f.src0 == LITERAL {
                return Err(NotAnInstruction);
            }
            // LLVM prints the literals of these as those of 32 bits.
            let ty = if row.src[0] == Ty::F16 { Ty::B32 } else { row.src[0] };
            t.try_operand(self.scalar_operand(f.src0, ty))?;
        } else if f.src0 != 0 {
            return Err(NotAnInstruction);
        }
        Ok(())
    }

    fn destination(&self, t: &mut Text<'_>, row: &Row, sdst: u32) -> Result<(), NotAnInstruction> {
        match row.dst {
            Ty::None => Ok(()),
            ty => t.try_operand(self.scalar(sdst, self.dwords(ty))),
        }
    }

    pub(super) fn sopc(&mut self, t: &mut Text<'_>) -> Result<(), NotAnInstruction> {
        let f = fields::Sopc::of(self.target, self.first);
        let row = self.row(Encoding::Sopc, f.op)?;
        t.mnemonic(row.name, "");
        // LLVM prints the bits of constants that are compared as f16.
        let bits = |ty: Ty| if ty == Ty::F16 { Ty::I16 } else { ty };
        t.try_operand(self.scalar_operand(f.src0, bits(row.src[0])))?;
        if row.src[1] == Ty::None {
            // `s_set_gpr_idx_on` has an immediate.
            t.operand(GprIndex(f.src1 as u16));
            return Ok(());
        }
        t.try_operand(self.scalar_operand(f.src1, bits(row.src[1])))
    }

    pub(super) fn sopk(&mut self, t: &mut Text<'_>) -> Result<(), NotAnInstruction> {
        let f = fields::Sopk::of(self.target, self.first);
        let row = self.row(Encoding::Sopk, f.op)?;
        let imm = f.simm as u16;
        let hwreg = Hwreg { bits: imm, target: self.target };
        t.mnemonic(row.name, "");
        match row.name {
            "s_setreg_b32" => {
                t.operand(hwreg);
                return self.destination(t, row, f.sdst);
            }
            "s_setreg_imm32_b32" => {
                t.operand(hwreg);
                let value = self.literal()?;
                t.operand(immediate(value));
                return Ok(());
            }
            _ => self.destination(t, row, f.sdst)?,
        }
        match row.name {
            "s_getreg_b32" => t.operand(hwreg),
            "s_version" => t.operand(Version(imm)),
            "s_call_b64" | "s_cbranch_i_fork" | "s_subvector_loop_begin" | "s_subvector_loop_end" => {
                self.branch = Some(imm as i16);
                t.operand(imm);
            }
            _ => t.operand(Operand::Hex(u64::from(imm))),
        }
        Ok(())
    }

    pub(super) fn sopp(&mut self, t: &mut Text<'_>) -> Result<(), NotAnInstruction> {
        let f = fields::Sopp::of(self.target, self.first);
        let row = self.row(Encoding::Sopp, f.op)?;
        let imm = f.simm as u16;
        t.mnemonic(row.name, "");
        match row.name {
            _ if row.is(BRANCH) => {
                self.branch = Some(imm as i16);
                t.operand(imm);
            }
            _ if self.target.is_rdna() && self.named_immediate(t, row, imm)? => {}
            "s_waitcnt" => t.operand(Waitcnt { bits: imm, generation: self.target.generation() }),
            "s_sendmsg" | "s_sendmsghalt" => t.operand(Message { bits: imm, target: self.target }),
            "s_set_gpr_idx_mode" => t.operand(GprIndex(imm)),
            "s_set_valu_coexec_mode" => {
                // LLVM doesn't know it.
                self.reserved(true)?;
                t.operand(immediate(u32::from(imm)));
            }
            "s_endpgm" if imm == 0 => {}
            "s_endpgm" => t.operand(imm),
            "s_wakeup"
            | "s_barrier"
            | "s_icache_inv"
            | "s_ttracedata"
            | "s_endpgm_saved"
            | "s_wait_idle"
            | "s_barrier_leave"
            | "s_code_end"
            | "s_set_gpr_idx_off"
            | "s_endpgm_ordered_ps_done" => return self.reserved(imm != 0),
            _ => t.operand(immediate(u32::from(imm))),
        }
        Ok(())
    }

    /// Returns `count` scalar registers. LLVM 15 also prints the name of a named pair for four registers.
    pub(super) fn tuple(&self, code: u32, count: u32) -> Result<Operand, NotAnInstruction> {
        let is_bank = matches!(code, 0..=101 | 108..=123);
        if self.since_gfx942() || is_bank {
            return self.scalar(code, count);
        }
        if count > 4 { Err(NotAnInstruction) } else { self.scalar(code, count.min(2)) }
    }

    pub(super) fn smem(&mut self, t: &mut Text<'_>) -> Result<(), NotAnInstruction> {
        let f = fields::Smem::of(self.target, self.long()?);
        let row = self.row(Encoding::Smem, f.op)?;
        t.mnemonic(row.name, "");
        let name = row.name;
        let data = if row.dst == Ty::None { row.src[0] } else { row.dst };
        let probes = matches!(name, "s_atc_probe" | "s_atc_probe_buffer");
        let discards = matches!(name, "s_dcache_discard" | "s_dcache_discard_x2");
        if probes {
            t.operand(immediate(f.sdata));
        } else if data != Ty::None {
            let code = f.sdata;
            // LLVM 22 doesn't accept loads or stores of EXEC or M0.
            if self.since_gfx942() && (code >= 126 || code == 124) {
                return Err(NotAnInstruction);
            }
            t.try_operand(self.tuple(code, self.dwords(data)))?;
        }
        if row.access().is_none() && !discards && !probes {
            // Cache control and clocks have no address.
            return self.reserved(f.imm);
        }
        let registers = if row.is(DESCRIPTOR) { 4 } else { 2 };
        t.try_operand(self.tuple(f.sbase * 2, registers))?;
        let offset = Signed(f.signed_offset());
        match f.offset_register() {
            Some(register) => {
                t.try_operand(self.scalar(register, 1))?;
                if f.imm {
                    t.modifier(format_args!("offset:{offset}"));
                }
            }
            None => t.operand(offset),
        }
        t.flag(f.glc && data != Ty::None, "glc");
        Ok(())
    }
}

/// A signed number in hexadecimal.
pub(super) struct Signed(pub(super) i32);

impl std::fmt::Display for Signed {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let sign = if self.0 < 0 { "-" } else { "" };
        write!(f, "{sign}{:#x}", self.0.unsigned_abs())
    }
}

/// Returns whether a source code is a constant.
fn is_constant(code: u32) -> bool {
    matches!(code, 128..=208 | 240..=248 | LITERAL)
}

/// Returns whether sources must be registers.
fn wants_register(name: &str) -> bool {
    matches!(name, "s_rfe_b64" | "s_cbranch_join" | "s_movrels_b32" | "s_movrels_b64" | "s_setpc_b64")
}
