//! Decoding of VOP3P: packed and mixed-precision arithmetic, dot products, and the matrix instructions.

use amdgpu_isa::flags::{DOUBLE, F8F6F4, MATRIX, SPARSE, WMMA};
use amdgpu_isa::{Encoding, Mnemonic, Row, Target, Ty, Vop3p, fields};

use super::decoder::{Decoder, NotAnInstruction, PartialInst};
use super::vop::{DPP, DPP8, DPP8_FETCH_INACTIVE, Mods, is_inline, set_sources};
use crate::exec::dpp::{Dpp, MOVED};
use crate::exec::inst::{Inst, ModifierInst};
use crate::exec::matrix::Controls;
use crate::exec::matrix_scaled::FORMATS;
use crate::exec::operand::{DwordPart, Operand, SourceModifier, temp};
use crate::exec::packed::Select;
use crate::state::wave::AGPR;

impl Decoder<'_> {
    pub(super) fn vop3p(&mut self, partial: &mut PartialInst, long: u64) -> Result<(), NotAnInstruction> {
        let f = fields::Vop3p::of(self.target, long);
        let row = self.find(partial, Encoding::Vop3p, f.op)?;
        partial.inst.dst = f.vdst as u16;
        if row.is(SPARSE) && row.is(WMMA) {
            return self.swmmac(partial, f, row);
        }
        if row.is(SPARSE) {
            return smfmac(partial, fields::Mai::of(self.target, long), row);
        }
        if row.is(MATRIX) && row.name != "v_mfma_ld_scale_b32" {
            return self.mfma(partial, fields::Mai::of(self.target, long), row);
        }
        match row.name {
            "v_accvgpr_read_b32" => {
                partial.inst.src[0] = AGPR + (f.src0 & 0xff) as u16;
                return Ok(());
            }
            "v_accvgpr_write_b32" => {
                partial.inst.dst += AGPR;
                let a = self.vop_source(partial, 0, f.src0, row)?;
                return self.bind(partial, row, [a, Operand::None, Operand::None], Mods::NONE);
            }
            _ => {}
        }
        let mut sources = [Operand::None; 3];
        let mut dpp = None;
        let mut select = Select::NONE.clamped(f.clamp);
        for (n, (source, code)) in sources.iter_mut().zip(f.src()).enumerate() {
            let bit = |bits: u32| bits >> n & 1;
            let (lo, hi, neg_lo, neg_hi) = (bit(f.op_sel), bit(f.op_sel_hi()), bit(f.neg_lo), bit(f.neg_hi));
            let ty = match row.src[n] {
                Ty::None => continue,
                Ty::Mix if hi != 0 => Ty::F16,
                Ty::Mix => Ty::F32,
                // A constant of 16 bits.
                _ if row.is(WMMA) && n == 2 && code < 256 => wmma_constant(row),
                ty => ty,
            };
            *source = if n == 0
                && self.target.has_gfx11_instructions()
                && matches!(code, DPP | DPP8 | DPP8_FETCH_INACTIVE)
            {
                let (lanes, control) = self.lanes_of_source(partial, code)?;
                dpp = Some(lanes);
                Operand::Vector(control.src0 as u16)
            } else {
                self.source(partial, n, code, ty)?
            };
            // An operand has only the modifiers that have a meaning for its type.
            select = match row.src[n] {
                _ if row.is(WMMA) => select.with(n, lo, hi, neg_lo, neg_hi),
                // Both halves are the constant.
                _ if n < 2 && is_inline(code) && self.replicates(row) => select.with(n, 0, 0, neg_lo, neg_hi),
                Ty::P16I => select.with(n, lo, hi, 0, 0),
                Ty::P16F | Ty::P16Bf | Ty::P32 | Ty::Mix => select.with(n, lo, hi, neg_lo, neg_hi),
                Ty::B32 if row.name == "v_mfma_ld_scale_b32" => select.with(n, lo, hi, 0, 0),
                // The sign of an f32 is in its high half.
                // CDNA4 ISA, `V_DOT2_F32_BF16`: "NEG and ABS input modifiers do not affect S2".
                Ty::F32 if row.name == "v_dot2_f32_bf16" && !self.target.has_gfx11_instructions() => {
                    select.with(n, 0, 1, 0, 0)
                }
                // Here `neg_hi` says that the source is absolute.
                Ty::F32 if row.name.starts_with("v_dot4_f32_") => select.with(n, 0, 1, neg_lo, neg_hi),
                Ty::F32 => select.with(n, 0, 1, 0, neg_lo),
                // Here the bit says whether the source is signed.
                Ty::B32 if matches!(row.name, "v_dot4_i32_iu8" | "v_dot8_i32_iu4") => {
                    select.with(n, 0, 1, neg_lo, 0)
                }
                _ => select,
            };
        }
        partial.inst.imm = select.0;
        match dpp {
            Some(dpp) => self.move_lanes(partial, sources, dpp),
            None => set_sources(&mut partial.inst, &sources),
        }
        Ok(())
    }

    /// Returns whether an instruction has inline constants in both halves of its first two sources, whatever op_sel is (RDNA3 ISA, 7.5.1;
    /// RDNA4 ISA, 7.2.2). Of `v_dot2_f32_f16`, only RDNA4 ISA says so.
    fn replicates(&self, row: &Row) -> bool {
        match row.name {
            "v_dot2_f32_bf16" => self.target.has_gfx11_instructions(),
            "v_dot2_f32_f16" => self.target.is_gfx12(),
            _ => false,
        }
    }

    /// Makes `partial` an instruction that moves source 0 between lanes, to its temporary register, before it computes.
    fn move_lanes(&self, partial: &mut PartialInst, mut sources: [Operand; 3], dpp: Dpp) {
        let fix = SourceModifier {
            from: sources[0],
            ty: Ty::B32,
            part: DwordPart::ALL,
            signed: false,
            abs: false,
            neg: false,
        };
        sources[0] = Operand::Vector(temp(0));
        let mut inner = Inst { ext: None, ..partial.inst };
        set_sources(&mut inner, &sources);
        let ext =
            ModifierInst { fixes: [Some(fix), None, None], dpp: Some(dpp), ..ModifierInst::around(inner) };
        partial.inst.exec = self.executor(MOVED);
        partial.inst.ext = Some(Box::new(ext));
    }

    /// Decodes `v_swmmac`. The third source is a VGPR with the indices of A's elements, of which `op_sel` of the first two sources selects a
    /// part, and D is also C.
    fn swmmac(&self, partial: &mut PartialInst, f: fields::Vop3p, row: &Row) -> Result<(), NotAnInstruction> {
        // The types are those of waves of 32.
        let registers = |ty: Ty| if self.wave32 { ty } else { Ty::Wide(ty.dwords().div_ceil(2)) };
        let mut sources = [Operand::None; 3];
        let mut select = Select::NONE.clamped(f.clamp);
        for (n, (source, code)) in sources.iter_mut().zip(f.src()).enumerate() {
            *source = matrix(code, false, registers(row.src[n]))?;
            let bit = |bits: u32| bits >> n & 1;
            select = select.with(n, bit(f.op_sel), bit(f.op_sel_hi()), bit(f.neg_lo), bit(f.neg_hi));
        }
        matrix(256 | f.vdst, false, registers(row.dst))?;
        partial.inst.imm = select.0;
        set_sources(&mut partial.inst, &sources);
        Ok(())
    }

    /// Decodes VOP3P-MAI. `acc_a` and `acc_b` say whether A and B are AGPRs, `acc_cd` whether C and D are.
    fn mfma(&mut self, partial: &mut PartialInst, f: fields::Mai, row: &Row) -> Result<(), NotAnInstruction> {
        let (a, b) = if row.is(F8F6F4) {
            // Scales are those that the instruction before has loaded.
            let scales = self.has_scales || !Controls::new(0, f.abid, 0).is_scaled();
            if f.cbsz >= FORMATS || f.blgp >= FORMATS || !scales {
                return Err(NotAnInstruction);
            }
            (f.a_type(), f.b_type())
        } else {
            (row.src[0], row.src[1])
        };
        let a = matrix(f.src0, f.acc_a, a)?;
        let b = matrix(f.src1, f.acc_b, b)?;
        let code = f.src2;
        let c = match code {
            128..=208 | 240..=248 => {
                let ty = if row.is(DOUBLE) { Ty::F64 } else { Ty::F32 };
                self.source(partial, 2, code, ty)?
            }
            _ => matrix(code, f.acc_cd, row.src[2])?,
        };
        let Operand::Vector(d) = matrix(256 | f.vdst, f.acc_cd, row.dst)? else {
            return Err(NotAnInstruction);
        };
        partial.inst.dst = d;
        partial.inst.imm = controls(f, row).0;
        set_sources(&mut partial.inst, &[a, b, c]);
        Ok(())
    }
}

/// Returns whether two dwords are a matrix instruction with scales, which `v_mfma_ld_scale_b32` has to precede.
pub(super) fn takes_scales(target: Target, words: [u32; 2]) -> bool {
    let f = fields::Mai::of(target, u64::from(words[0]) | u64::from(words[1]) << 32);
    Encoding::of(target, words[0]) == Some(Encoding::Vop3p)
        && Encoding::Vop3p.row(target, f.op).is_some_and(|row| row.is(F8F6F4))
        && Controls::new(0, f.abid, 0).is_scaled()
}

/// Decodes `v_smfmac`, like [`Decoder::mfma`]. The third source is a VGPR with the indices of A's elements, and D is
/// also C.
fn smfmac(partial: &mut PartialInst, f: fields::Mai, row: &Row) -> Result<(), NotAnInstruction> {
    let a = matrix(f.src0, f.acc_a, row.src[0])?;
    let b = matrix(f.src1, f.acc_b, row.src[1])?;
    let indices = matrix(f.src2, false, row.src[2])?;
    let Operand::Vector(d) = matrix(256 | f.vdst, f.acc_cd, row.dst)? else { return Err(NotAnInstruction) };
    partial.inst.dst = d;
    partial.inst.imm = controls(f, row).0;
    set_sources(&mut partial.inst, &[a, b, indices]);
    Ok(())
}

/// Returns the modifiers. The names of instructions of 8-bit floats end with the formats of A and B.
fn controls(f: fields::Mai, row: &Row) -> Controls {
    let mut formats = row.name.rsplit('_');
    let [b, a] = [formats.next(), formats.next()].map(|format| format == Some("fp8"));
    Controls::new(f.cbsz, f.abid, f.blgp).with_fp8(a, b)
}

/// Returns the type of C of WMMA if it is a constant.
fn wmma_constant(row: &Row) -> Ty {
    match row.mnemonic {
        Mnemonic::Vop3p(Vop3p::v_wmma_f16_16x16x16_f16) => Ty::F16,
        Mnemonic::Vop3p(Vop3p::v_wmma_bf16_16x16x16_bf16) => Ty::Bf16,
        _ => Ty::F32,
    }
}

/// Returns the first vector register of a matrix. The error is for registers that don't exist.
fn matrix(code: u32, acc: bool, ty: Ty) -> Result<Operand, NotAnInstruction> {
    let first = code.checked_sub(256).ok_or(NotAnInstruction)?;
    if first + u32::from(ty.dwords()) > 256 {
        return Err(NotAnInstruction);
    }
    Ok(Operand::Vector(first as u16 + if acc { AGPR } else { 0 }))
}
