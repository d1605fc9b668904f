//! The parts of decoding that all encodings share: rows, executors, operands and constants.

use amdgpu_isa::{Encoding, Generation, ILLEGAL, Row, Target, Ty, flags};
use rustc_hash::FxHashMap;

use crate::exec::control::{Illegal, Unimplemented};
use crate::exec::inst::{ExecFn, Inst, NONE};
use crate::exec::level::{Columns, same};
use crate::exec::operand::{Operand, SPILL, spill};
use crate::exec::table::{Impl, executor};
use crate::memory::apertures::{PRIVATE_BASE_HI, SHARED_BASE_HI};
use crate::state::wave::{POOL, sreg};

/// The number of dwords of the constant pool that are reserved for inline constants, of which all types together have
/// about 300. However many literals a program has, its inline constants are therefore not spilled.
const INLINE: u16 = 320;

/// The constant pool of a program. Each constant is in it once.
pub(super) struct ConstantPool {
    pub(super) values: Vec<u32>,
    narrow: FxHashMap<u32, u16>,
    wide: FxHashMap<u64, u16>,
}

impl ConstantPool {
    pub(super) fn new() -> ConstantPool {
        ConstantPool { values: Vec::new(), narrow: FxHashMap::default(), wide: FxHashMap::default() }
    }

    /// Appends values, if they end before the scalar index `end`. Returns the index of the first.
    fn push(&mut self, values: &[u32], end: u16) -> Option<u16> {
        let at = usize::from(POOL) + self.values.len();
        if at + values.len() > usize::from(end) {
            return None;
        }
        self.values.extend_from_slice(values);
        Some(at as u16)
    }

    /// Returns the scalar index of a value, which is added if it is new; `None` if the pool is full.
    fn slot(&mut self, value: u64, wide: bool, inline: bool) -> Option<u16> {
        let end = if inline { SPILL } else { SPILL - INLINE };
        if wide {
            if let Some(slot) = self.wide.get(&value) {
                return Some(*slot);
            }
            let slot = self.push(&[value as u32, (value >> 32) as u32], end)?;
            self.wide.insert(value, slot);
            Some(slot)
        } else {
            if let Some(slot) = self.narrow.get(&(value as u32)) {
                return Some(*slot);
            }
            let slot = self.push(&[value as u32], end)?;
            self.narrow.insert(value as u32, slot);
            Some(slot)
        }
    }
}

/// The error for dwords that are not an instruction of the target.
pub(crate) struct NotAnInstruction;

/// An instruction that is being decoded.
pub(crate) struct PartialInst {
    pub(crate) inst: Inst,
    /// The length of the instruction in dwords.
    pub(crate) len: usize,
    /// The executor, once the row is found.
    pub(super) executor: Impl,
    /// The dword behind the encoding's own: a literal, or the control dword of SDWA or DPP.
    pub(super) extra: Option<u32>,
    pub(super) zero_flags: bool,
    pub(super) spilled: [Option<u64>; 3],
}

pub(crate) struct Decoder<'a> {
    pub(super) words: &'a [u32],
    pub(crate) target: Target,
    pub(super) wave32: bool,
    pub(super) column: usize,
    pub(super) pool: ConstantPool,
    /// The instruction before the one that is being decoded has loaded scales for it.
    pub(super) has_scales: bool,
    /// The indices of instructions that were decoded, each at a hash of its first dwords, or [`UNMAPPED`](crate::exec::inst::UNMAPPED). Code
    /// repeats most of its instructions.
    pub(super) known: Vec<u32>,
}

impl Decoder<'_> {
    /// Returns the first scalar register of an operand. Pairs start at even registers, larger tuples at multiples of 4;
    /// lower bits of the code are ignored (LLVM, `AMDGPUDisassembler::createSRegOperand`). A mask of lanes is one register in a
    /// wave of 32.
    pub(super) fn scalar(&self, code: u32, ty: Ty) -> u16 {
        let registers = match ty {
            Ty::Mask if self.wave32 => 1,
            ty => u32::from(ty.dwords()).clamp(1, 4).next_power_of_two(),
        };
        match self.null() {
            Some(null) if code == null => sreg::NULL,
            // gfx11 exchanged the codes of M0 and NULL.
            Some(0x7c) if code == 0x7d => sreg::M0,
            _ => (code & !(registers - 1)) as u16,
        }
    }

    /// Returns the code of NULL, the register of RDNA that reads as 0 and keeps nothing (LLVM, `SGPR_NULL_gfxpre11`,
    /// `SGPR_NULL_gfx11plus`).
    pub(super) fn null(&self) -> Option<u32> {
        match self.target.generation() {
            Generation::Gfx9 => None,
            Generation::Gfx10 => Some(0x7d),
            Generation::Gfx11 | Generation::Gfx12 => Some(0x7c),
        }
    }

    /// Returns whether only trap handlers can write a scalar register: TTMP registers, in which gfx12 has ids (RDNA4 ISA, 3.3.1).
    pub(super) fn is_protected(&self, code: u32) -> bool {
        self.target.is_gfx12() && (108..124).contains(&code)
    }

    /// Returns the first scalar register of a result: of one that is lost, registers that nothing reads.
    pub(super) fn scalar_destination(&self, code: u32, ty: Ty) -> u16 {
        if self.is_protected(code) { sreg::NULL } else { self.scalar(code, ty) }
    }

    pub(super) fn word(&self, at: usize) -> u32 {
        self.words.get(at).copied().unwrap_or(0)
    }

    /// Returns the executor for the SIMD level that the program is decoded for.
    pub(crate) fn executor(&self, columns: Columns) -> ExecFn {
        columns[self.column]
    }

    pub(super) fn blank(&self, at: usize) -> Inst {
        Inst {
            exec: self.executor(same::<Illegal>()),
            dst: NONE,
            sdst: NONE,
            src: [NONE; 3],
            flags: 0,
            imm: 0,
            target: 0,
            pc: at as u32,
            raw: [self.word(at), 0, 0],
            row: &ILLEGAL,
            ext: None,
        }
    }

    /// Returns the row of an opcode, and stores it in `partial`. If the row's executor is `Plain`, stores that too.
    pub(crate) fn find(
        &self,
        partial: &mut PartialInst,
        encoding: Encoding,
        op: u32,
    ) -> Result<&'static Row, NotAnInstruction> {
        let row = encoding.row(self.target, op).ok_or(NotAnInstruction)?;
        partial.inst.row = row;
        partial.executor = executor(row.mnemonic, self.target);
        partial.inst.exec = match partial.executor {
            Impl::Plain(columns) => self.executor(columns),
            _ => self.executor(same::<Unimplemented>()),
        };
        Ok(row)
    }

    /// Returns the literal that follows the instruction. There is one, even if several sources use it.
    pub(crate) fn literal(&self, partial: &mut PartialInst) -> Result<u32, NotAnInstruction> {
        if let Some(value) = partial.extra {
            return Ok(value);
        }
        // Encodings of two dwords take none before gfx10.
        if partial.len >= 2 && !self.target.is_rdna() {
            return Err(NotAnInstruction);
        }
        let value = *self.words.get(partial.inst.pc as usize + partial.len).ok_or(NotAnInstruction)?;
        partial.inst.raw[partial.len] = value;
        partial.len += 1;
        partial.extra = Some(value);
        Ok(value)
    }

    /// Returns the scalar index of a literal, for source `n` of the instruction.
    pub(crate) fn constant(&mut self, partial: &mut PartialInst, n: usize, value: u64, wide: bool) -> u16 {
        self.slot(partial, n, value, wide, false)
    }

    /// Returns the scalar index of a value, for source `n` of the instruction: in the constant pool or, if that is
    /// full, where the source's constant is spilled.
    pub(super) fn slot(
        &mut self,
        partial: &mut PartialInst,
        n: usize,
        value: u64,
        wide: bool,
        inline: bool,
    ) -> u16 {
        self.pool.slot(value, wide, inline).unwrap_or_else(|| {
            partial.spilled[n] = Some(value);
            spill(n)
        })
    }

    /// Decodes a 9-bit source operand (CDNA2 ISA, "Operand source encodings"; RDNA3 ISA, "Source operands"). Scalar instructions use
    /// codes below 256.
    pub(crate) fn source(
        &mut self,
        partial: &mut PartialInst,
        n: usize,
        code: u32,
        ty: Ty,
    ) -> Result<Operand, NotAnInstruction> {
        let wide = ty.dwords() == 2;
        // In an operand of more than two dwords (MFMA's C), all dwords have the same constant.
        let constant = |d: &mut Self, partial: &mut PartialInst, value: u64| {
            Ok(Operand::Scalar(d.slot(partial, n, value, wide, code != 255)))
        };
        match code {
            _ if Some(code) == self.null() => constant(self, partial, 0),
            0..=127 => Ok(Operand::Scalar(self.scalar(code, ty))),
            128..=192 => constant(self, partial, u64::from(code - 128)),
            193..=208 => constant(self, partial, (192 - i64::from(code)) as u64),
            // The base of an aperture is the high dword of its addresses.
            235 => constant(self, partial, u64::from(SHARED_BASE_HI) << 32),
            236 => constant(self, partial, u64::from(SHARED_BASE_HI) << 32 | 0xffff_ffff),
            237 => constant(self, partial, u64::from(PRIVATE_BASE_HI) << 32),
            238 => constant(self, partial, u64::from(PRIVATE_BASE_HI) << 32 | 0xffff_ffff),
            240..=248 => {
                const VALUES: [f64; 8] = [0.5, -0.5, 1.0, -1.0, 2.0, -2.0, 4.0, -4.0];
                let value = VALUES.get(code as usize - 240);
                constant(
                    self,
                    partial,
                    match (ty, value) {
                        (Ty::F64 | Ty::B64, Some(v)) => v.to_bits(),
                        // The hardware's rounding of 1/(2 pi).
                        (Ty::F64 | Ty::B64, None) => 0x3fc4_5f30_6dc9_c882,
                        // Packed integers use the constant's f32 (LLVM, `getInlineEncodingV216`).
                        (Ty::F16 | Ty::I16 | Ty::P16F, Some(v)) => {
                            u64::from(half::f16::from_f64(*v).to_bits())
                        }
                        (Ty::F16 | Ty::I16 | Ty::P16F, None) => 0x3118,
                        // A bfloat16 is the upper half of an f32 (LLVM, `getInlineEncodingVBF16`).
                        (Ty::Bf16 | Ty::P16Bf, Some(v)) => u64::from((*v as f32).to_bits() >> 16),
                        (Ty::Bf16 | Ty::P16Bf, None) => 0x3e22,
                        (_, Some(v)) => u64::from((*v as f32).to_bits()),
                        (_, None) => 0x3e22_f983,
                    },
                )
            }
            251 | 252 => {
                partial.zero_flags = true;
                Ok(Operand::Scalar(code as u16))
            }
            253 => Ok(Operand::Scalar(253)),
            255 => {
                let value = u64::from(self.literal(partial)?);
                constant(
                    self,
                    partial,
                    match ty {
                        // The literal of an f64 is its high dword. The literal of a signed 64-bit integer is
                        // sign-extended.
                        Ty::F64 => value << 32,
                        Ty::B64 if partial.inst.row.is(flags::SIGNED) => {
                            i64::from(value as u32 as i32) as u64
                        }
                        _ => value,
                    },
                )
            }
            256..=511 => Ok(Operand::Vector(code as u16 - 256)),
            _ => Err(NotAnInstruction),
        }
    }
}
