//! Decoding of VOPD: two operations at once.

use amdgpu_isa::flags::{LIT, LIT_FACTOR, MASK_IN};
use amdgpu_isa::{Encoding, Ty, fields};

use super::decoder::{Decoder, NotAnInstruction, PartialInst};
use super::vop::Mods;
use crate::exec::dual::{DUAL, Order};
use crate::exec::inst::{Inst, ModifierInst};
use crate::exec::operand::Operand;
use crate::exec::table::Impl;
use crate::state::wave::sreg;

/// The fields of one half.
struct Half {
    op: u32,
    src0: u32,
    src1: u32,
    vdst: u32,
}

impl Half {
    /// Returns whether it reads a vector register that is not its own destination.
    fn reads(&self, register: u32) -> bool {
        self.src0 == 256 + register || self.src1 == register
    }
}

impl Decoder<'_> {
    /// Decodes VOPD. Both halves read their sources before either writes its result.
    pub(super) fn vopd(&mut self, partial: &mut PartialInst, long: u64) -> Result<(), NotAnInstruction> {
        let f = fields::Vopd::of(self.target, long);
        let x = Half { op: f.op_x, src0: f.src0_x, src1: f.src1_x, vdst: f.vdst_x };
        // The registers of the two results are in different banks.
        let vdst_y = f.vdst_y << 1 | !f.vdst_x & 1;
        let y = Half { op: f.op_y, src0: f.src0_y, src1: f.src1_y, vdst: vdst_y };
        let order = match (x.reads(y.vdst), y.reads(x.vdst)) {
            (_, false) => Order::XFirst,
            (false, true) => Order::YFirst,
            (true, true) => Order::Together,
        };
        let first = self.half(partial, &x)?;
        partial.inst.row = first.row;
        let second = self.half(partial, &y)?;
        partial.inst.exec = self.executor(DUAL);
        partial.inst.imm = order as u32;
        partial.inst.ext =
            Some(Box::new(ModifierInst { second: Some(second), ..ModifierInst::around(first) }));
        Ok(())
    }

    /// Decodes one half, as an instruction of its own. The literal is one for both.
    fn half(&mut self, whole: &mut PartialInst, half: &Half) -> Result<Inst, NotAnInstruction> {
        let mut partial = PartialInst {
            inst: self.blank(whole.inst.pc as usize),
            len: whole.len,
            executor: Impl::Unimplemented,
            extra: whole.extra,
            zero_flags: false,
            spilled: [None; 3],
        };
        let row = self.find(&mut partial, Encoding::Vopd, half.op)?;
        partial.inst.dst = half.vdst as u16;
        partial.inst.sdst = sreg::VCC;
        let a = self.vop_source(&mut partial, 0, half.src0, row)?;
        let b = Operand::Vector(half.src1 as u16);
        let sources = if row.is(LIT) {
            let value = self.literal(&mut partial)?;
            let k = Operand::Scalar(self.constant(&mut partial, 2, u64::from(value), false));
            if row.is(LIT_FACTOR) { [a, k, b] } else { [a, b, k] }
        } else if row.is(MASK_IN) {
            [a, b, Operand::Scalar(sreg::VCC)]
        } else if row.src[1] == Ty::None {
            [a, Operand::None, Operand::None]
        } else {
            [a, b, Operand::None]
        };
        self.bind(&mut partial, row, sources, Mods::NONE)?;
        whole.len = partial.len;
        whole.extra = partial.extra;
        whole.inst.raw[2] = partial.extra.unwrap_or(0);
        Ok(self.close(partial))
    }
}
