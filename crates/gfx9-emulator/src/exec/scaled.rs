//! `v_cvt_scalef32_*` of gfx950: conversions between floats of 4, 6 and 8 bits, and f16, bfloat16 and f32, with a scale.
//!
//! The scale is the exponent of an f32: a power of two by which small floats are multiplied, and by which numbers are
//! divided that become small floats. The exponent 255 gives NaN (CDNA4 ISA, 7.3, and the pseudocode of each instruction;
//! ROCm's headers, `amd_hip_ocp_host.hpp`, for what overflows, NaN and random rounding give).

use gfx9_isa::Row;

use crate::exec::inst::{Exec, ExecContext, Flow, Inst};
use crate::exec::lanes::Word;
use crate::exec::number::narrow::{BF6, BF8, BF16, F16, FP4, FP6, FP8, Narrow, Rounding, Value};
use crate::state::wave::{Mode, Wave, lanes_of};

/// A format of a source or destination.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    F32,
    Narrow(Narrow),
}

impl Kind {
    const ALL: [(&str, Kind); 8] = [
        ("f32", Kind::F32),
        ("f16", Kind::Narrow(F16)),
        ("bf16", Kind::Narrow(BF16)),
        ("fp8", Kind::Narrow(FP8)),
        ("bf8", Kind::Narrow(BF8)),
        ("fp6", Kind::Narrow(FP6)),
        ("bf6", Kind::Narrow(BF6)),
        ("fp4", Kind::Narrow(FP4)),
    ];

    const fn bits(self) -> u32 {
        match self {
            Kind::F32 => 32,
            Kind::Narrow(format) => format.bits,
        }
    }

    /// Returns whether it is one of the formats that are scaled.
    const fn is_small(self) -> bool {
        self.bits() < 16
    }

    const fn fraction(self) -> u32 {
        match self {
            Kind::F32 => 23,
            Kind::Narrow(format) => format.fraction,
        }
    }
}

/// What an instruction does, in the bits of [`Inst::imm`]: the formats (3 bits each), the number of elements, the
/// modifiers.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Plan(u32);

const TO: u32 = 3;
const COUNT: u32 = 6;
const RANDOM: u32 = 12;
const INTERLEAVED: u32 = 13;
const SCALE: u32 = 14;
const ABS: u32 = 16;
const NEG: u32 = 19;
const OP_SEL: u32 = 22;

impl Plan {
    /// Returns the plan of a row; `None` if it is not such a conversion.
    pub(crate) fn of(row: &Row, abs: u32, neg: u32, op_sel: u32) -> Option<Plan> {
        let parts: Vec<&str> = row.name.strip_prefix("v_cvt_scalef32_")?.split('_').collect();
        let (formats, shape) = parts.split_last_chunk::<2>().map(|(shape, formats)| (*formats, shape))?;
        let [to, from] = formats.map(|name| Kind::ALL.iter().position(|(of, _)| *of == name));
        let count = match shape.last() {
            Some(&"pk") => 2,
            Some(&"pk32" | &"2xpk16") => 32,
            _ => 1,
        };
        let sources = row.src.iter().filter(|ty| ty.dwords() > 0).count() as u32;
        let flag = |set: bool, at: u32| u32::from(set) << at;
        Some(Plan(
            from? as u32
                | (to? as u32) << TO
                | count << COUNT
                | flag(shape.first() == Some(&"sr"), RANDOM)
                | flag(shape.last() == Some(&"2xpk16"), INTERLEAVED)
                | (sources - 1) << SCALE
                | abs << ABS
                | neg << NEG
                | op_sel << OP_SEL,
        ))
    }

    const fn field(self, at: u32, bits: u32) -> u32 {
        self.0 >> at & ((1 << bits) - 1)
    }

    const fn from(self) -> Kind {
        Kind::ALL[self.field(0, 3) as usize].1
    }

    const fn to(self) -> Kind {
        Kind::ALL[self.field(TO, 3) as usize].1
    }

    const fn is_set(self, at: u32) -> bool {
        self.field(at, 1) != 0
    }

    /// Returns the scale's exponent of a lane, without its bias; `None` for NaN.
    fn scale(self, w: &Wave, i: &Inst, lane: usize) -> Option<i32> {
        let exponent = source(w, i, self.field(SCALE, 2) as usize, 0, lane) >> 23 & 0xff;
        (exponent != 0xff).then_some(exponent as i32 - 127)
    }

    /// Returns element `n` of the source.
    fn element(self, w: &Wave, i: &Inst, n: u32, lane: usize) -> u32 {
        let (bits, count) = (self.from().bits(), self.field(COUNT, 6));
        // The pair of `v_cvt_scalef32_pk_fp8_f32` and of `pk_fp4_f32` is in two sources, that of `sr_pk_fp4_f32` in one.
        let apart = count == 2 && bits == 32 && !self.is_set(RANDOM);
        let (from, n) = match () {
            () if self.is_set(INTERLEAVED) => (n as usize % 2, n / 2),
            () if apart => (n as usize, 0),
            () => (0, n),
        };
        // op_sel selects the part of a register with several elements or pairs.
        let first = match (count, bits) {
            (1, 8) => 8 * (self.field(OP_SEL, 2)),
            (1, 16) => 16 * self.field(OP_SEL, 1),
            (2, 8) => 16 * self.field(OP_SEL, 1),
            (2, 4) => 8 * self.field(OP_SEL, 2),
            _ => 0,
        };
        let at = first + n * bits;
        let (dword, shift) = ((at / 32) as u16, at % 32);
        let low = source(w, i, from, dword, lane);
        let both = match shift + bits > 32 {
            true => u64::from(low) | u64::from(source(w, i, from, dword + 1, lane)) << 32,
            false => u64::from(low),
        };
        let mut code = (both >> shift) as u32 & (u32::MAX >> (32 - bits));
        if !self.from().is_small() {
            let sign = 1 << (bits - 1);
            if self.field(ABS, 3) >> from & 1 != 0 {
                code &= !sign;
            }
            if self.field(NEG, 3) >> from & 1 != 0 {
                code ^= sign;
            }
        }
        code
    }

    /// Returns the code of a converted element.
    fn convert(self, m: Mode, code: u32, scale: Option<i32>, seed: u32) -> u32 {
        let (from, to) = (self.from(), self.to());
        let value = match from {
            Kind::F32 => Value::of_f32(f32::from_bits(code).flush(m, false)),
            Kind::Narrow(format) if from.is_small() => {
                let value = format.decode(code);
                Value { negative: value.is_sign_negative(), magnitude: value.abs() }
            }
            Kind::Narrow(format) => Value::of_bits(format, code),
        };
        // Small floats are multiplied by the scale, other numbers are divided by it.
        let value = match scale {
            Some(scale) => value.scaled(if from.is_small() { scale } else { -scale }),
            None => Value { magnitude: f64::NAN, ..value },
        };
        match to {
            Kind::F32 => {
                let magnitude = if value.magnitude.is_nan() { f32::NAN } else { value.magnitude as f32 };
                magnitude.abs().to_bits() | u32::from(value.negative) << 31
            }
            Kind::Narrow(format) if to.is_small() => {
                let rounding = match self.is_set(RANDOM) {
                    true => Rounding::Stochastic { seed, fraction: from.fraction() },
                    false => Rounding::Nearest,
                };
                format.encode(value, rounding, m.fp16_ovfl())
            }
            Kind::Narrow(format) => format.encode(value, Rounding::Nearest, false),
        }
    }

    /// Returns the part of the destination that is written, if that is not whole dwords: the first bit and the number
    /// of bits. The other bits are preserved.
    const fn part(self) -> Option<(u32, u32)> {
        let op_sel = self.field(OP_SEL, 4);
        match (self.field(COUNT, 6), self.to().bits()) {
            (1, 8) | (2, 4) => Some((8 * (op_sel >> 2), 8)),
            (1, 16) => Some((16 * (op_sel >> 3), 16)),
            (2, 8) => Some((16 * (op_sel >> 3), 16)),
            _ => None,
        }
    }

    fn lane(self, w: &mut Wave, i: &Inst, lane: usize) {
        let (m, scale, count, bits) =
            (w.mode, self.scale(w, i, lane), self.field(COUNT, 6), self.to().bits());
        let mut seed = if self.is_set(RANDOM) { source(w, i, 1, 0, lane) } else { 0 };
        // At most 32 elements of 32 bits.
        let mut out = [0u32; 33];
        for n in 0..count {
            let code = u64::from(self.convert(m, self.element(w, i, n, lane), scale, seed));
            let (at, code) = ((n * bits / 32) as usize, code << (n * bits % 32));
            out[at] |= code as u32;
            out[at + 1] |= (code >> 32) as u32;
            seed = next_random(seed);
        }
        if let Some((first, bits)) = self.part() {
            let mask = (u32::MAX >> (32 - bits)) << first;
            let to = &mut w.v_mut(i.dst).flat_mut()[lane];
            *to = *to & !mask | out[0] << first & mask;
            return;
        }
        for (n, dword) in out.iter().enumerate().take((count * bits / 32) as usize) {
            w.v_mut(i.dst + n as u16).flat_mut()[lane] = *dword;
        }
    }
}

/// Returns dword `dword` of source `n`.
fn source(w: &Wave, i: &Inst, n: usize, dword: u16, lane: usize) -> u32 {
    let at = i.src[n].wrapping_add(dword);
    if i.flags >> n & 1 != 0 { w.v(at).flat()[lane] } else { w.s32(at) }
}

/// Returns the number after `seed` in the sequence of `v_prng_b32`.
#[inline(always)]
pub(crate) fn next_random(seed: u32) -> u32 {
    seed << 1 ^ if seed >> 31 != 0 { 197 } else { 0 }
}

/// `v_cvt_scalef32_*`. [`Inst::imm`] is the [`Plan`].
pub(crate) struct Convert;
impl Exec for Convert {
    #[inline(always)]
    fn exec(w: &mut Wave, _: &mut ExecContext, i: &Inst) -> Flow {
        run(w, i);
        Flow::Next
    }
}

#[inline(never)]
fn run(w: &mut Wave, i: &Inst) {
    let plan = Plan(i.imm);
    for lane in lanes_of(w.exec()) {
        plan.lane(w, i, lane);
    }
}

impl Plan {
    /// Returns the bits for [`Inst::imm`].
    pub(crate) fn bits(self) -> u32 {
        self.0
    }
}
