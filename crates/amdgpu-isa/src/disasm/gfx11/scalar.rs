//! SMEM of gfx10 and gfx11, and the instructions of SOP1, SOPK and SOPP that only these have.

use super::super::operand::{Operand, immediate};
use super::super::scalar::Signed;
use super::super::text::Text;
use super::super::words::{NotAnInstruction, Words};
use super::names::{Delay, DependencyCounters, Message};
use crate::encoding::Encoding;
use crate::fields;
use crate::row::flags::DESCRIPTOR;
use crate::row::{Row, Ty};

impl Words {
    pub(in super::super) fn scalar_load(&mut self, t: &mut Text<'_>) -> Result<(), NotAnInstruction> {
        let f = fields::Smem::of(self.target, self.long()?);
        let row = self.row(Encoding::Smem, f.op)?;
        t.mnemonic(row.name, "");
        let has_policy = row.access().is_some();
        // LLVM ignores these bits on gfx10.
        self.reserved(!has_policy && !self.target.is_gfx10() && (f.glc || f.dlc))?;
        if row.name.starts_with("s_atc_probe") {
            t.operand(immediate(f.sdata));
        } else if row.dst == Ty::None {
            // The instructions for caches have no operands.
            return Ok(());
        } else if matches!(f.sdata, 124..=127) && f.sdata != self.null() {
            // Loads can't write M0 or EXEC.
            return Err(NotAnInstruction);
        } else {
            t.try_operand(self.scalar(f.sdata, self.dwords(row.dst)))?;
        }
        if row.name.starts_with("s_mem") {
            // The clocks have no address.
            return Ok(());
        }
        t.try_operand(self.scalar(f.sbase * 2, if row.is(DESCRIPTOR) { 4 } else { 2 }))?;
        let offset = f.signed_offset();
        if f.soffset == self.null() && offset != 0 {
            t.operand(Signed(offset));
        } else {
            t.try_operand(self.scalar(f.soffset, 1))?;
            if offset != 0 {
                t.modifier(format_args!("offset:{}", Signed(offset)));
            }
        }
        t.flag(f.glc && has_policy, "glc");
        t.flag(f.dlc && has_policy, "dlc");
        Ok(())
    }

    /// Appends the immediate of an instruction of SOPP that has symbolic names on RDNA. Returns whether the instruction is one.
    pub(in super::super) fn named_immediate(
        &self,
        t: &mut Text<'_>,
        row: &Row,
        imm: u16,
    ) -> Result<bool, NotAnInstruction> {
        match row.name {
            "s_sendmsg" | "s_sendmsghalt" if !self.target.is_gfx10() => {
                t.operand(Message { bits: imm, gfx12: self.target.is_gfx12() });
            }
            "s_delay_alu" => {
                self.reserved(!Delay(imm).is_valid())?;
                t.operand(Delay(imm));
            }
            "s_clause"
            | "s_round_mode"
            | "s_set_inst_prefetch_distance"
            | "s_inst_prefetch"
            | "s_ttracedata_imm"
            | "s_wait_event" => {
                t.operand(Operand::Hex(u64::from(imm)));
            }
            "s_waitcnt_depctr" | "s_wait_alu" => t.operand(DependencyCounters(imm)),
            // The counts that gfx12 waits for have a name each.
            name if name.starts_with("s_wait_") && name.contains("cnt") => {
                t.operand(Operand::Hex(u64::from(imm)));
            }
            _ => return Ok(false),
        }
        Ok(true)
    }

    /// Appends the message of `s_sendmsg_rtn_b32` and `s_sendmsg_rtn_b64`, which is in place of the source.
    pub(in super::super) fn returning_message(&self, t: &mut Text<'_>, code: u32) {
        t.operand(Message { bits: code as u16, gfx12: self.target.is_gfx12() });
    }
}
