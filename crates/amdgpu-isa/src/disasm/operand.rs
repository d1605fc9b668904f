//! Registers and constants as operands.
//!
//! The codes of sources are those of the ISA documents ("Operand source encodings"); the spelling is LLVM's
//! (llvm/docs/AMDGPUOperandSyntax.rst).

use std::fmt;

use super::words::{NotAnInstruction, Words};
use crate::row::Ty;

/// The number of vector registers in a bank.
const VGPRS: u32 = 256;
/// The last SGPR that has no other name.
const LAST_SGPR: u32 = 101;

/// An operand's text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Operand {
    /// A register with a name of its own.
    Named(&'static str),
    /// A half of a vector register: `v1.l`, `v1.h`.
    Half { register: u32, high: bool },
    /// `count` registers from `first` on: `v1`, `a[2:3]`, `s[4:7]`.
    Registers { bank: &'static str, first: u32, count: u32 },
    /// An integer.
    Integer(i64),
    /// A number in hexadecimal.
    Hex(u64),
    /// A literal that an inline constant could replace.
    Literal(u64),
}

impl Operand {
    /// Returns whether a `-` before the operand would be part of a number.
    pub(super) fn is_number(self) -> bool {
        matches!(self, Operand::Integer(_) | Operand::Hex(_))
            || matches!(self, Operand::Named(name) if name.starts_with(|c: char| c.is_ascii_digit() || c == '-'))
    }
}

impl fmt::Display for Operand {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Operand::Named(name) => f.write_str(name),
            Operand::Registers { bank, first, count: 1 } => write!(f, "{bank}{first}"),
            Operand::Registers { bank, first, count } => write!(f, "{bank}[{first}:{}]", first + count - 1),
            Operand::Half { register, high } => write!(f, "v{register}.{}", if high { 'h' } else { 'l' }),
            Operand::Integer(value) => write!(f, "{value}"),
            Operand::Hex(value) => write!(f, "{value:#x}"),
            Operand::Literal(value) => write!(f, "lit({value:#x})"),
        }
    }
}

/// Returns `count` VGPRs or AGPRs, from `first` on.
pub(super) fn any_vector(first: u32, count: u32, accumulation: bool) -> Result<Operand, NotAnInstruction> {
    if count == 0 || first + count > VGPRS {
        return Err(NotAnInstruction);
    }
    Ok(Operand::Registers { bank: if accumulation { "a" } else { "v" }, first, count })
}

/// The f16 values of the codes from 240 on.
const HALF: [u64; 9] = [0x3800, 0xb800, 0x3c00, 0xbc00, 0x4000, 0xc000, 0x4400, 0xc400, 0x3118];

/// The bf16 values of the same codes.
const BF16: [u64; 9] = [0x3f00, 0xbf00, 0x3f80, 0xbf80, 0x4000, 0xc000, 0x4080, 0xc080, 0x3e22];

/// Returns the inline constant of a code in an operand of a type; `None` if the code has none.
fn constant(code: u32, ty: Ty) -> Option<Operand> {
    const VALUES: [&str; 8] = ["0.5", "-0.5", "1.0", "-1.0", "2.0", "-2.0", "4.0", "-4.0"];
    Some(match code {
        128..=192 => Operand::Integer(i64::from(code) - 128),
        193..=208 => Operand::Integer(192 - i64::from(code)),
        // The value in a 16-bit integer has no name.
        240..=248 if ty == Ty::I16 => Operand::Hex(HALF[code as usize - 240]),
        240..=247 => Operand::Named(VALUES[code as usize - 240]),
        248 if matches!(ty, Ty::F64 | Ty::B64) => Operand::Named("0.15915494309189532"),
        248 => Operand::Named("0.15915494"),
        _ => return None,
    })
}

/// Returns how an operand of a type shows a value: by value if an inline constant could have it, otherwise in
/// hexadecimal.
fn plain(bits: u64, ty: Ty) -> Operand {
    let signed = match ty.dwords() {
        2 => bits as i64,
        _ if is_half(ty) => i64::from(bits as i16),
        _ => i64::from(bits as i32),
    };
    if (-16..=64).contains(&signed) {
        return Operand::Integer(signed);
    }
    let same = |code: &u32| inline_bits(*code, ty) == Some(bits);
    (240..=248).find(same).and_then(|code| constant(code, ty)).unwrap_or(Operand::Hex(bits))
}

/// Returns the value of a code from 240 to 248 in an operand of a type.
fn inline_bits(code: u32, ty: Ty) -> Option<u64> {
    const VALUES: [f64; 8] = [0.5, -0.5, 1.0, -1.0, 2.0, -2.0, 4.0, -4.0];
    let n = code.checked_sub(240)? as usize;
    let value = VALUES.get(n);
    Some(match ty {
        Ty::F64 | Ty::B64 => value.map_or(0x3fc4_5f30_6dc9_c882, |value| value.to_bits()),
        Ty::I16 | Ty::P16I => return None,
        _ if is_half(ty) => *HALF.get(n)?,
        _ => value.map_or(0x3e22_f983, |value| u64::from((*value as f32).to_bits())),
    })
}

/// Returns whether constants of a type have 16 bits.
fn is_half(ty: Ty) -> bool {
    matches!(ty, Ty::F16 | Ty::I16 | Ty::P16F | Ty::P16I)
}

/// Returns a number that is a field of the instruction. Small numbers are decimal.
pub(super) fn immediate(value: u32) -> Operand {
    plain(u64::from(value), Ty::B32)
}

impl Words {
    /// Returns `count` scalar registers from a 7-bit code on.
    pub(super) fn scalar(&self, code: u32, count: u32) -> Result<Operand, NotAnInstruction> {
        let bank = |bank, code: u32, registers: u32| {
            // Tuples are aligned: pairs to 2, larger ones to 4. The lower bits are ignored.
            let alignment = count.next_power_of_two().min(4);
            let first = code / alignment * alignment;
            if first + count > registers {
                return Err(NotAnInstruction);
            }
            Ok(Operand::Registers { bank, first, count })
        };
        let named = |single: &'static str, pair: Option<&'static str>| match (count, pair) {
            (1, _) => Ok(Operand::Named(single)),
            (2, Some(pair)) => Ok(Operand::Named(pair)),
            _ => Err(NotAnInstruction),
        };
        let rdna = self.target.is_rdna();
        match code {
            124 | 125 if rdna && code == self.null() => Ok(Operand::Named("null")),
            // LLVM accepts tuples that end with registers of other names.
            0..=LAST_SGPR => bank("s", code, LAST_SGPR + 5),
            102..=105 if rdna => bank("s", code, LAST_SGPR + 5),
            102 => named("flat_scratch_lo", Some("flat_scratch")),
            103 => named("flat_scratch_hi", None),
            104 => named("xnack_mask_lo", Some("xnack_mask")),
            105 => named("xnack_mask_hi", None),
            106 => named("vcc_lo", Some("vcc")),
            107 => named("vcc_hi", None),
            108..=123 => bank("ttmp", code - 108, 16),
            124 => named("m0", None),
            125 if rdna => named("m0", None),
            // Reserved before gfx10; LLVM prints this name.
            125 => Ok(Operand::Named("null")),
            126 => named("exec_lo", Some("exec")),
            127 => named("exec_hi", None),
            _ => Err(NotAnInstruction),
        }
    }

    /// Returns the registers that [`any_vector`] returns. On gfx942, tuples must start at an even register, as LLVM 22
    /// and the hardware require.
    pub(super) fn vector(
        &self,
        first: u32,
        count: u32,
        accumulation: bool,
    ) -> Result<Operand, NotAnInstruction> {
        if self.has_even_tuples() && count > 1 && !first.is_multiple_of(2) {
            return Err(NotAnInstruction);
        }
        any_vector(first, count, accumulation)
    }

    /// Returns a scalar source that is not a literal: a register, an inline constant, or another value that the code
    /// selects.
    pub(super) fn scalar_source(&self, code: u32, ty: Ty) -> Result<Operand, NotAnInstruction> {
        let is_vector_alu = self.first >> 31 == 0 || matches!(self.first >> 26, 0x32..=0x35);
        if let Some(constant) = constant(code, ty) {
            return Ok(constant);
        }
        Ok(Operand::Named(match code {
            0..=127 => return self.scalar(code, self.dwords(ty)),
            235 => "src_shared_base",
            236 => "src_shared_limit",
            237 => "src_private_base",
            238 => "src_private_limit",
            239 => "src_pops_exiting_wave_id",
            251 => "src_vccz",
            252 => "src_execz",
            253 => "src_scc",
            // LLVM 15 accepts it for all sources of one register, LLVM 22 for those of vector instructions.
            254 if ty.dwords() == 1
                && !self.target.has_gfx11_instructions()
                && (is_vector_alu || !self.since_gfx942()) =>
            {
                "src_lds_direct"
            }
            _ => return Err(NotAnInstruction),
        }))
    }

    /// Returns a 9-bit source that is not a literal: VGPRs, or what [`Words::scalar_source`] returns.
    pub(super) fn source(&self, code: u32, ty: Ty) -> Result<Operand, NotAnInstruction> {
        match code.checked_sub(VGPRS) {
            Some(first) => self.vector(first, self.dwords(ty), false),
            None => self.scalar_source(code, ty),
        }
    }

    /// Returns a literal of an instruction of gfx11 that has no constants of 16 bits, so that none could replace it.
    pub(super) fn without_half_constants(&self, operand: Operand) -> Operand {
        match operand {
            Operand::Literal(bits) if self.target.has_gfx11_instructions() && HALF.contains(&bits) => {
                Operand::Hex(bits)
            }
            operand => operand,
        }
    }

    /// Returns a literal for an operand of a type. LLVM 15 prints the value that the operand has, as it prints inline
    /// constants. LLVM 22 prints the literal's bits, and marks a literal that an inline constant could replace.
    pub(super) fn literal_operand(&self, value: u32, ty: Ty) -> Operand {
        let full = u64::from(value);
        let low = u64::from(value & 0xffff);
        let hex_unless = |shown: Operand, hex: u64| match shown {
            Operand::Hex(_) => Operand::Hex(hex),
            _ => Operand::Literal(full),
        };
        match (ty, self.since_gfx942()) {
            // The literal is the high half of the f64.
            (Ty::F64, true) => match plain(full << 32, Ty::F64) {
                Operand::Hex(_) => Operand::Hex(full),
                shown => shown,
            },
            (Ty::F16 | Ty::Mix, true) => hex_unless(plain(low, Ty::F16), low),
            (Ty::P16Bf, true) => match plain(full, Ty::B32) {
                Operand::Integer(_) => Operand::Literal(full),
                _ if BF16.contains(&full) => Operand::Literal(full),
                _ => Operand::Hex(full),
            },
            (Ty::Bf16, true) => match plain(low, Ty::I16) {
                Operand::Hex(bits) if !BF16.contains(&bits) => Operand::Hex(full),
                _ => Operand::Literal(full),
            },
            (Ty::I16, true) => hex_unless(plain(full, Ty::B32), low),
            (Ty::P16F, true) => match plain(full, Ty::P16F) {
                Operand::Integer(_) if value > 0xff && value < 0xffff_0000 => Operand::Hex(full),
                shown => hex_unless(shown, full),
            },
            (Ty::B64, true) => hex_unless(plain(full, Ty::B64), full),
            (_, true) => hex_unless(plain(full, Ty::B32), full),
            (Ty::F16 | Ty::I16 | Ty::P16F, false) => plain(low, ty),
            (Ty::F64 | Ty::B64, false) => plain(full, ty),
            (_, false) => plain(full, Ty::B32),
        }
    }
}
