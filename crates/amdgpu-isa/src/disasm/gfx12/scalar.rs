//! SMEM of gfx12: longer offsets, the cache policy, and instructions that load caches in advance.

use super::super::operand::immediate;
use super::super::scalar::Signed;
use super::super::text::Text;
use super::super::words::{NotAnInstruction, Words};
use crate::encoding::Encoding;
use crate::fields;
use crate::row::flags::DESCRIPTOR;
use crate::row::{Row, Ty};

/// The code of `null`, which as an offset stands for none.
const NULL: u32 = 124;
const M0: u32 = 125;
/// The largest number that `sdata` may have in place of a register: a length, or what is probed.
const MOST: u32 = 31;

impl Words {
    pub(in super::super) fn scalar_memory(&mut self, t: &mut Text<'_>) -> Result<(), NotAnInstruction> {
        let f = fields::Smem::of(self.target, self.long()?);
        let row = self.row(Encoding::Smem, f.op)?;
        t.mnemonic(row.name, "");
        let (prefetches, probes) = (row.name.contains("prefetch"), row.name.starts_with("s_atc_probe"));
        if row.access().is_none() && !prefetches && !probes {
            // `s_dcache_inv` has no operands.
            return Ok(());
        }
        // gfx1250 has these bits.
        self.reserved((f.nv || f.scale_offset) && row.access().is_some())?;
        if (prefetches || probes) && f.sdata > MOST {
            return Err(NotAnInstruction);
        }
        if prefetches {
            return self.prefetch(t, row, f);
        }
        if probes {
            t.operand(immediate(f.sdata));
        } else if f.sdata >= M0 || row.dst == Ty::Wide(3) && f.sdata > 103 && f.sdata != NULL {
            // Loads can't write M0 or EXEC, and there are no triples of trap registers.
            return Err(NotAnInstruction);
        } else {
            t.try_operand(self.scalar(f.sdata, self.dwords(row.dst)))?;
        }
        self.scalar_base(t, row, f)?;
        match f.soffset {
            NULL => t.operand(Signed(f.signed_offset())),
            register => {
                t.try_operand(self.scalar(register, 1))?;
                t.modifier(format_args!("offset:{}", Signed(f.signed_offset())));
            }
        }
        if !probes {
            self.hint_and_scope(t, row, f.th, f.scope);
        }
        Ok(())
    }

    /// Appends the register of the address or the descriptor. Offsets of descriptors are not negative.
    fn scalar_base(&self, t: &mut Text<'_>, row: &Row, f: fields::Smem) -> Result<(), NotAnInstruction> {
        if row.is(DESCRIPTOR) && f.signed_offset() < 0 {
            return Err(NotAnInstruction);
        }
        t.try_operand(self.scalar(f.sbase * 2, if row.is(DESCRIPTOR) { 4 } else { 2 }))
    }

    /// Appends the operands of an instruction that loads a cache in advance. The length is the sum of a register, usually `null`, and a number.
    fn prefetch(&self, t: &mut Text<'_>, row: &Row, f: fields::Smem) -> Result<(), NotAnInstruction> {
        if !row.name.ends_with("_pc_rel") {
            self.scalar_base(t, row, f)?;
        }
        t.operand(Signed(f.signed_offset()));
        t.try_operand(self.scalar(f.soffset, 1))?;
        t.operand(f.sdata);
        Ok(())
    }
}
