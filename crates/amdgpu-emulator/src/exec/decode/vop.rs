//! Decoding of VOP1, VOP2, VOPC, VOP3, SDWA and DPP.

use amdgpu_isa::flags::{ACC, EXEC_OUT, KEEP, LIT, LIT_FACTOR, MASK_IN, SDST, SGPR_DST};
use amdgpu_isa::{Encoding, Row, Target, Ty, fields};

use super::decoder::{Decoder, NotAnInstruction, PartialInst};
use crate::exec::dpp::{Dpp, MOVED};
use crate::exec::exchange::{DESTINATION_HIGH, SOURCE_HIGH};
use crate::exec::inst::{Inst, ModifierInst, NONE};
use crate::exec::lanes::{Forms, KEEPS_HALF, SOURCE_HALVES, TO_HIGH_HALF};
use crate::exec::modifiers::MODIFIED;
use crate::exec::operand::{
    DwordPart, Operand, ResultModifier, SourceModifier, TEMP_DST, UnwrittenBits, temp,
};
use crate::exec::scalar_op::ScalarModifiers;
use crate::exec::scaled::Plan;
use crate::exec::table::Impl;
use crate::exec::vop3::{BOUND_CONTROL, FETCH_INACTIVE};
use crate::state::wave::{AGPR, POOL, sreg};

/// The codes of source 0 that say that a control dword follows.
const SDWA: u32 = 249;
pub(super) const DPP: u32 = 250;
/// DPP of RDNA that permutes eight lanes, and the same that also reads inactive ones.
pub(super) const DPP8: u32 = 233;
pub(super) const DPP8_FETCH_INACTIVE: u32 = 234;

/// Source and result modifiers. Bit n of `abs`, `neg` and `signed` is source n's.
pub(super) struct Mods {
    abs: u32,
    neg: u32,
    parts: [DwordPart; 3],
    /// The sources whose parts are sign-extended.
    signed: u32,
    dpp: Option<Dpp>,
    omod: u8,
    clamp: bool,
    /// The part of the destination that is written.
    part: DwordPart,
    rest: UnwrittenBits,
}

impl Mods {
    pub(super) const NONE: Mods = Mods {
        abs: 0,
        neg: 0,
        parts: [DwordPart::ALL; 3],
        signed: 0,
        dpp: None,
        omod: 0,
        clamp: false,
        part: DwordPart::ALL,
        rest: UnwrittenBits::Zero,
    };

    /// Returns the modifiers that an instruction always has.
    fn of(row: &Row) -> Mods {
        match row.flags & KEEP {
            0 => Mods::NONE,
            _ => Mods { part: DwordPart::LOW, rest: UnwrittenBits::Keep, ..Mods::NONE },
        }
    }

    /// Returns a mask of the sources that have modifiers.
    fn sources(&self) -> u32 {
        let parts = (0..3).filter(|n| self.parts[*n] != DwordPart::ALL).fold(0, |mask, n| mask | 1 << n);
        self.abs | self.neg | parts | u32::from(self.dpp.is_some())
    }

    /// Returns the signs of sources, and the halves of registers that are read and written, for [`Inst::imm`] of an executor that
    /// applies them itself; `None` if there are other modifiers. `halves` says that the operation is one on halves.
    fn inside(&self, halves: bool) -> Option<u32> {
        let whole = self.parts == [DwordPart::ALL; 3] && self.part == DwordPart::ALL;
        let are_halves = self.parts.iter().chain([&self.part]).all(|part| part.bits >= 16)
            && (self.part == DwordPart::ALL || self.rest == UnwrittenBits::Keep);
        if self.dpp.is_some() || self.omod != 0 || self.signed != 0 || !(whole || halves && are_halves) {
            return None;
        }
        let high = |part: DwordPart| u32::from(part == DwordPart::HIGH);
        let sources = (0..3).fold(0, |bits, n| bits | high(self.parts[n]) << (SOURCE_HALVES + n as u32));
        let result = match self.part {
            DwordPart::HIGH => KEEPS_HALF | TO_HIGH_HALF,
            DwordPart::LOW => KEEPS_HALF,
            _ => 0,
        };
        Some(self.neg | self.abs << 3 | sources | result)
    }
}

/// Returns whether an operand is half a register.
fn is_half(ty: Ty) -> bool {
    matches!(ty, Ty::F16 | Ty::I16 | Ty::Bf16)
}

impl Decoder<'_> {
    /// Returns a vector register that a short encoding names, for source `n`. On gfx11, bit 7 selects the half of one that holds 16
    /// bits.
    fn short_vector(&self, n: usize, code: u32, ty: Ty, mods: &mut Mods) -> Operand {
        if !self.target.has_gfx11_instructions() || !is_half(ty) {
            return Operand::Vector(code as u16 & 0xff);
        }
        if code & 0x80 != 0 {
            mods.parts[n] = DwordPart::HIGH;
        }
        Operand::Vector(code as u16 & 0x7f)
    }

    /// Sets the destination of a short encoding. On RDNA, a result of 16 bits is written to one half of a register, on gfx10 to the lower
    /// one, and the other half is kept (LLVM, `zeroesHigh16BitsOfDest`).
    fn short_destination(&self, partial: &mut PartialInst, row: &Row, code: u32, mods: &mut Mods) {
        partial.inst.dst = code as u16;
        if row.is(SGPR_DST) {
            partial.inst.dst = self.scalar_destination(code, Ty::B32);
        } else if self.target.is_rdna() && is_half(row.dst) {
            let is_high = self.target.has_gfx11_instructions() && code & 0x80 != 0;
            partial.inst.dst &= if self.target.has_gfx11_instructions() { 0x7f } else { 0xff };
            mods.part = if is_high { DwordPart::HIGH } else { DwordPart::LOW };
            mods.rest = UnwrittenBits::Keep;
        }
    }

    pub(super) fn vop1(&mut self, partial: &mut PartialInst, word: u32) -> Result<(), NotAnInstruction> {
        let f = fields::Vop1::of(self.target, word);
        let row = self.find(partial, Encoding::Vop1, f.op)?;
        let mut mods = Mods::of(row);
        self.short_destination(partial, row, f.vdst, &mut mods);
        let mut a = self.first_source(partial, f.src0, row, &mut mods)?;
        if row.name == "v_swap_b16" {
            let is_high = |part| part == DwordPart::HIGH;
            partial.inst.imm = if is_high(mods.parts[0]) { SOURCE_HIGH } else { 0 }
                | if is_high(mods.part) { DESTINATION_HIGH } else { 0 };
        }
        if row.name == "v_accvgpr_mov_b32" {
            partial.inst.dst += AGPR;
            if let Operand::Vector(v) = &mut a {
                *v += AGPR;
            }
        }
        self.bind(partial, row, [a, Operand::None, Operand::None], mods)
    }

    pub(super) fn vop2(&mut self, partial: &mut PartialInst, word: u32) -> Result<(), NotAnInstruction> {
        let f = fields::Vop2::of(self.target, word);
        let row = self.find(partial, Encoding::Vop2, f.op)?;
        partial.inst.sdst = sreg::VCC;
        let mut mods = Mods::of(row);
        self.short_destination(partial, row, f.vdst, &mut mods);
        let a = self.first_source(partial, f.src0, row, &mut mods)?;
        let b = self.second_source(partial, f.src0, f.src1, row, &mut mods)?;
        let sources = if row.flags & LIT != 0 {
            // If the first source is a literal, it is the same one.
            let value = self.literal(partial)?;
            let k = Operand::Scalar(self.constant(partial, 2, u64::from(value), false));
            // madmk: d = a * k + b; madak: d = a * b + k.
            if row.is(LIT_FACTOR) {
                mods.parts.swap(1, 2);
                [a, k, b]
            } else {
                [a, b, k]
            }
        } else if row.flags & MASK_IN != 0 {
            [a, b, Operand::Scalar(sreg::VCC)]
        } else {
            [a, b, Operand::None]
        };
        self.bind(partial, row, sources, mods)
    }

    pub(super) fn vopc(&mut self, partial: &mut PartialInst, word: u32) -> Result<(), NotAnInstruction> {
        let f = fields::Vopc::of(self.target, word);
        let row = self.find(partial, Encoding::Vopc, f.op)?;
        partial.inst.sdst = self.mask_destination(row, sreg::VCC);
        let mut mods = Mods::of(row);
        let a = self.first_source(partial, f.src0, row, &mut mods)?;
        let b = self.second_source(partial, f.src0, f.src1, row, &mut mods)?;
        self.bind(partial, row, [a, b, Operand::None], mods)
    }

    /// Returns where a comparison writes its mask. On gfx11, those that write EXEC write nothing else.
    fn mask_destination(&self, row: &Row, register: u16) -> u16 {
        if self.target.is_rdna() && row.is(EXEC_OUT) { sreg::EXEC } else { register }
    }

    /// Decodes a DPP control dword of RDNA that source 0 of any encoding may have. Returns the register that it names.
    pub(super) fn lanes_of_source(
        &mut self,
        partial: &mut PartialInst,
        code: u32,
    ) -> Result<(Dpp, fields::Dpp), NotAnInstruction> {
        let control = self.literal(partial)?;
        let f = fields::Dpp::of(self.target, control);
        let dpp = match code {
            DPP => Dpp::new(self.target, &f),
            _ => Some(Dpp::of_eight(control >> 8, code == DPP8_FETCH_INACTIVE)),
        };
        Ok((dpp.ok_or(NotAnInstruction)?, f))
    }

    /// Decodes source 0 of a short encoding. A control dword of SDWA or DPP may stand in its place.
    fn first_source(
        &mut self,
        partial: &mut PartialInst,
        code: u32,
        row: &Row,
        mods: &mut Mods,
    ) -> Result<Operand, NotAnInstruction> {
        let is_control = match code {
            SDWA => !self.target.has_gfx11_instructions(),
            DPP8 | DPP8_FETCH_INACTIVE => self.target.is_rdna(),
            code => code == DPP,
        };
        if !is_control {
            let source = self.vop_source(partial, 0, code, row)?;
            return Ok(match source {
                Operand::Vector(_) => self.short_vector(0, code, row.src[0], mods),
                scalar => scalar,
            });
        }
        if !matches!(partial.executor, Impl::Lanes { .. } | Impl::Unimplemented) || row.flags & LIT != 0 {
            return Err(NotAnInstruction);
        }
        let both = |first: bool, second: bool| u32::from(first) | u32::from(second) << 1;
        if self.target.is_rdna() && code != SDWA {
            let (dpp, f) = self.lanes_of_source(partial, code)?;
            mods.dpp = Some(dpp);
            if code == DPP {
                (mods.neg, mods.abs) = (both(f.src0_neg, f.src1_neg), both(f.src0_abs, f.src1_abs));
            }
            return Ok(self.short_vector(0, f.src0, row.src[0], mods));
        }
        let control = self.literal(partial)?;
        if code == DPP {
            let f = fields::Dpp::of(self.target, control);
            mods.dpp = Some(Dpp::new(self.target, &f).ok_or(NotAnInstruction)?);
            (mods.neg, mods.abs) = (both(f.src0_neg, f.src1_neg), both(f.src0_abs, f.src1_abs));
            return Ok(Operand::Vector(f.src0 as u16));
        }
        let f = fields::Sdwa::of(self.target, control);
        (mods.neg, mods.abs) = (both(f.src0_neg, f.src1_neg), both(f.src0_abs, f.src1_abs));
        mods.signed = both(f.src0_sext, f.src1_sext);
        mods.parts[0] = DwordPart::sdwa(f.src0_sel).ok_or(NotAnInstruction)?;
        mods.parts[1] = DwordPart::sdwa(f.src1_sel).ok_or(NotAnInstruction)?;
        if row.dst == Ty::Mask {
            if f.has_sdst {
                partial.inst.sdst = self.mask_destination(row, self.scalar(f.sdst, Ty::Mask));
            }
        } else {
            mods.clamp = f.clamp;
            mods.omod = f.omod as u8;
            mods.part = DwordPart::sdwa(f.dst_sel).ok_or(NotAnInstruction)?;
            mods.rest = match f.dst_unused {
                0 => UnwrittenBits::Zero,
                1 => UnwrittenBits::Sign,
                2 => UnwrittenBits::Keep,
                _ => return Err(NotAnInstruction),
            };
        }
        if f.src0_is_scalar {
            self.vop_source(partial, 0, f.src0, row)
        } else {
            Ok(Operand::Vector(f.src0 as u16))
        }
    }

    /// Decodes source 1 of a short encoding: a vector register, unless SDWA selects a scalar.
    fn second_source(
        &mut self,
        partial: &mut PartialInst,
        first: u32,
        code: u32,
        row: &Row,
        mods: &mut Mods,
    ) -> Result<Operand, NotAnInstruction> {
        if first == SDWA && fields::Sdwa::of(self.target, partial.inst.raw[1]).src1_is_scalar {
            return self.vop_source(partial, 1, code, row);
        }
        Ok(self.short_vector(1, code, row.src[1], mods))
    }

    pub(super) fn vop3(&mut self, partial: &mut PartialInst, long: u64) -> Result<(), NotAnInstruction> {
        let f = fields::Vop3::of(self.target, long);
        let (encoding, op) = f.operation(self.target);
        let row = self.find(partial, encoding, op)?;
        if row.flags & LIT != 0 {
            return Err(NotAnInstruction);
        }
        partial.inst.dst =
            if row.is(SGPR_DST) { self.scalar_destination(f.vdst, Ty::B32) } else { f.vdst as u16 };
        if (self.target == Target::Gfx950 || self.target.is_rdna())
            && let Some(imm) = own_modifiers(row, &f)
        {
            let mut sources = [Operand::None; 3];
            for (n, (source, code)) in sources.iter_mut().zip(f.src()).enumerate() {
                if row.src[n] != Ty::None {
                    *source = self.vop_source(partial, n, code, row)?;
                }
            }
            set_sources(&mut partial.inst, &sources);
            partial.inst.imm = imm;
            return Ok(());
        }
        let mut mods = Mods { neg: f.neg, omod: f.omod as u8, clamp: f.clamp, ..Mods::of(row) };
        if row.flags & SDST != 0 {
            partial.inst.sdst = self.scalar_destination(f.sdst, Ty::Mask);
        } else {
            mods.abs = f.abs;
            op_sel(row, f.op_sel, self.target, &mut mods);
        }
        if encoding == Encoding::Vopc {
            partial.inst.sdst = self.mask_destination(row, self.scalar_destination(f.vdst, Ty::Mask));
        }
        let mut sources = [Operand::None; 3];
        for (n, (source, code)) in sources.iter_mut().zip(f.src()).enumerate() {
            if n == 0
                && self.target.has_gfx11_instructions()
                && matches!(code, DPP | DPP8 | DPP8_FETCH_INACTIVE)
            {
                if !matches!(partial.executor, Impl::Lanes { .. } | Impl::Unimplemented) {
                    return Err(NotAnInstruction);
                }
                let (dpp, control) = self.lanes_of_source(partial, code)?;
                mods.dpp = Some(dpp);
                *source = Operand::Vector(control.src0 as u16);
            } else if row.src[n] != Ty::None {
                *source = self.vop_source(partial, n, code, row)?;
                if replicates(row) && is_inline(code) {
                    self.replicate(partial, n, source, &mut mods);
                }
            } else if n == 2 && row.flags & MASK_IN != 0 {
                *source = self.source(partial, n, code & 0xff, Ty::Mask)?;
            }
        }
        self.bind(partial, row, sources, mods)
    }

    /// Puts an inline constant of 16 bits into both halves of the source.
    fn replicate(&mut self, partial: &mut PartialInst, n: usize, source: &mut Operand, mods: &mut Mods) {
        let Operand::Scalar(slot) = *source else { return };
        let Some(value) = self.pool.values.get(usize::from(slot.wrapping_sub(POOL))) else { return };
        let both = u64::from(value & 0xffff) * 0x1_0001;
        *source = Operand::Scalar(self.constant(partial, n, both, false));
        mods.parts[n] = DwordPart::ALL;
    }

    pub(super) fn vop_source(
        &mut self,
        partial: &mut PartialInst,
        n: usize,
        code: u32,
        row: &Row,
    ) -> Result<Operand, NotAnInstruction> {
        self.source(partial, n, code, row.src[n])
    }

    /// Chooses the executor that fits the operands.
    pub(super) fn bind(
        &mut self,
        partial: &mut PartialInst,
        row: &'static Row,
        mut sources: [Operand; 3],
        mut mods: Mods,
    ) -> Result<(), NotAnInstruction> {
        let (forms, clamp, signs) = match partial.executor {
            Impl::Lanes { forms, clamp, signs } => (forms, clamp, signs),
            Impl::Plain(_) => {
                set_sources(&mut partial.inst, &sources);
                return Ok(());
            }
            Impl::Unimplemented => return Ok(()),
        };
        if row.flags & ACC != 0 {
            if self.target.has_gfx11_instructions() && mods.part == DwordPart::HIGH {
                mods.parts[2] = DwordPart::HIGH;
            }
            sources[row.src.iter().filter(|ty| **ty != Ty::None).count()] = Operand::Vector(partial.inst.dst);
        }
        let clamps_inside = mods.clamp && clamp.is_some();
        let forms: Forms = if clamps_inside { clamp.unwrap_or(forms) } else { forms };
        let post = (mods.omod != 0 || mods.clamp && !clamps_inside || mods.part != DwordPart::ALL)
            && row.dst != Ty::Mask;
        // Masks are always scalars, so they are not counted.
        let scalars = |sources: &[Operand; 3]| {
            (0..3)
                .filter(|n| row.src[*n] != Ty::None || row.flags & ACC != 0 && *n == 2)
                .fold(0u8, |mask, n| mask | u8::from(matches!(sources[n], Operand::Scalar(_))) << n)
        };
        let wanted = scalars(&sources);
        let modified = mods.sources();
        if modified == 0
            && !post
            && let Some((_, columns)) = forms.iter().find(|(mask, _)| *mask == wanted)
        {
            partial.inst.exec = self.executor(*columns);
            set_sources(&mut partial.inst, &sources);
            return Ok(());
        }
        if let Some(columns) = signs
            && (!mods.clamp || clamps_inside)
            && let Some(imm) = mods.inside(is_half(row.dst))
        {
            partial.inst.exec = self.executor(columns);
            partial.inst.imm = imm;
            set_sources(&mut partial.inst, &sources);
            return Ok(());
        }
        self.modify(partial, sources, &mods, forms, wanted, ResultModifiers { are_any: post, clamps_inside })
    }

    /// Prepares the sources for which no form fits, in temporary registers, then runs the form that takes the others
    /// unchanged. `wanted` has a bit for each scalar source.
    fn modify(
        &mut self,
        partial: &mut PartialInst,
        mut sources: [Operand; 3],
        mods: &Mods,
        forms: Forms,
        wanted: u8,
        result: ResultModifiers,
    ) -> Result<(), NotAnInstruction> {
        let (row, modified) = (partial.inst.row, mods.sources());
        let mut fixes = [None; 3];
        let (mask, columns) = forms
            .iter()
            .filter(|(mask, _)| mask & !wanted == 0 && u32::from(*mask) & modified == 0)
            .max_by_key(|(mask, _)| mask.count_ones())
            .ok_or(NotAnInstruction)?;
        for n in 0..3 {
            let to_vector = wanted & !mask & 1 << n != 0;
            if sources[n] == Operand::None || !to_vector && modified >> n & 1 == 0 {
                continue;
            }
            let ty = if row.flags & ACC != 0 && row.src[n] == Ty::None { row.dst } else { row.src[n] };
            fixes[n] = Some(SourceModifier {
                from: sources[n],
                ty,
                part: mods.parts[n],
                signed: mods.signed >> n & 1 != 0,
                abs: mods.abs >> n & 1 != 0,
                neg: mods.neg >> n & 1 != 0,
            });
            sources[n] = Operand::Vector(temp(n));
        }
        let mut inner = Inst { exec: self.executor(*columns), ext: None, ..copy(&partial.inst) };
        set_sources(&mut inner, &sources);
        let post = result.are_any.then(|| {
            inner.dst = TEMP_DST;
            ResultModifier {
                dst: partial.inst.dst,
                ty: row.dst,
                omod: mods.omod,
                clamp: mods.clamp && !result.clamps_inside,
                part: mods.part,
                rest: mods.rest,
            }
        });
        debug_assert!(row.flags & SGPR_DST == 0);
        let only_moves = matches!(&fixes, [Some(fix), None, None] if mods.dpp.is_some() && fix.is_plain())
            && post.is_none();
        partial.inst.exec = self.executor(if only_moves { MOVED } else { MODIFIED });
        partial.inst.ext = Some(Box::new(ModifierInst {
            fixes,
            post,
            dpp: mods.dpp.clone(),
            writes_exec: row.is(EXEC_OUT),
            ..ModifierInst::around(inner)
        }));
        Ok(())
    }
}

/// What is done with a result after the executor.
#[derive(Clone, Copy)]
struct ResultModifiers {
    are_any: bool,
    /// Whether the executor itself clamps.
    clamps_inside: bool,
}

/// Returns whether an instruction has inline constants in both halves of its sources, whatever op_sel is (RDNA3 ISA, 7.2.1; RDNA4 ISA,
/// 7.2.2).
fn replicates(row: &Row) -> bool {
    matches!(row.name, "v_dot2_f16_f16" | "v_dot2_bf16_bf16")
}

/// Returns whether the code of a source is an inline constant.
pub(super) fn is_inline(code: u32) -> bool {
    matches!(code, 128..=208 | 240..=248)
}

/// Sets the sources, and bit `n` of `flags` if source `n` is a vector.
pub(super) fn set_sources(inst: &mut Inst, sources: &[Operand; 3]) {
    inst.flags = 0;
    for (n, source) in sources.iter().enumerate() {
        inst.src[n] = match source {
            Operand::Vector(v) => {
                inst.flags |= 1 << n;
                *v
            }
            Operand::Scalar(s) => *s,
            Operand::None => NONE,
        };
    }
}

/// Decodes op_sel of VOP3: the half that is read of each 16-bit source, and the half that is written of a 16-bit
/// destination. On RDNA, the other half of that is kept. On gfx12, conversions of one 8-bit float read any byte, whose number has its bits
/// in reverse (LLVM's assembler, `byte_sel`).
fn op_sel(row: &Row, bits: u32, target: Target, mods: &mut Mods) {
    for n in 0..3 {
        if bits >> n & 1 != 0 && is_half(row.src[n]) {
            mods.parts[n] = DwordPart::HIGH;
        }
    }
    if target.is_gfx12() && matches!(row.name, "v_cvt_f32_fp8" | "v_cvt_f32_bf8") {
        mods.parts[0] = DwordPart::byte((bits << 1 & 2 | bits >> 1 & 1) as u8);
    }
    if matches!(row.name, "v_cvt_sr_fp8_f32" | "v_cvt_sr_bf8_f32") {
        // The upper two bits select the byte that is written.
        (mods.part, mods.rest) = (DwordPart::byte((bits >> 2) as u8), UnwrittenBits::Keep);
    } else if is_half(row.dst) && (bits >> 3 != 0 || target.is_rdna()) {
        let part = if bits >> 3 != 0 { DwordPart::HIGH } else { DwordPart::LOW };
        (mods.part, mods.rest) = (part, UnwrittenBits::Keep);
    }
}

/// Returns the modifiers of an instruction of gfx950 or gfx11 whose executor applies them itself, for [`Inst::imm`]; `None` for
/// others.
fn own_modifiers(row: &Row, f: &fields::Vop3) -> Option<u32> {
    match row.name {
        "v_bitop3_b32" => Some(f.truth_table()),
        "v_bitop3_b16" => Some(f.truth_table() | f.op_sel << 8),
        // The two bits of op_sel are DPP's bits, with the same numbers.
        "v_permlane16_swap_b32"
        | "v_permlane32_swap_b32"
        | "v_permlane16_b32"
        | "v_permlanex16_b32"
        | "v_permlane16_var_b32"
        | "v_permlanex16_var_b32" => Some(f.op_sel & (FETCH_INACTIVE | BOUND_CONTROL)),
        name if name.starts_with("v_s_") => Some(ScalarModifiers::of(f).bits()),
        _ => Plan::of(row, f.abs, f.neg, f.op_sel).map(Plan::bits),
    }
}

fn copy(i: &Inst) -> Inst {
    Inst { ext: None, ..*i }
}
