//! `v_cvt_scalef32_*` of gfx950: conversions between floats of 4, 6 and 8 bits, and f16, bfloat16 and f32, with a scale.
//!
//! The scale is the exponent of an f32: a power of two by which small floats are multiplied, and by which numbers are
//! divided that become small floats. The exponent 255 gives NaN (CDNA4 ISA, 7.3, and the pseudocode of each instruction;
//! ROCm's headers, `amd_hip_ocp_host.hpp`, for what overflows, NaN and random rounding give).

#![allow(clippy::needless_range_loop, reason = "a lane's number indexes several arrays")]

use amdgpu_isa::Row;

use crate::exec::inst::{Exec, ExecContext, Flow, Inst};
use crate::exec::lanes::Word;
use crate::exec::number::half16::Half;
use crate::exec::number::narrow::{BF6, BF8, BF16, F16, FP4, FP6, FP8, Narrow, to_bf16};
use crate::state::wave::{LANES, Mode, Wave};

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

    /// Returns element `n` of the source, of each lane.
    #[inline(always)]
    fn elements(self, w: &Wave, i: &Inst, n: u32) -> Row64 {
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
        let low = source(w, i, from, dword);
        let high = if shift + bits > 32 { source(w, i, from, dword + 1) } else { [0; LANES] };
        let mask = u32::MAX >> (32 - bits);
        let sign = if self.from().is_small() { 0 } else { 1 << (bits - 1) };
        let keep = if self.field(ABS, 3) >> from & 1 != 0 { mask & !sign } else { mask };
        let flip = if self.field(NEG, 3) >> from & 1 != 0 { sign } else { 0 };
        let mut out = [0; LANES];
        for l in 0..LANES {
            // If the element ends in this dword, `high` is 0.
            out[l] = (low[l] >> shift | high[l] << (32 - shift).min(31)) & keep ^ flip;
        }
        out
    }

    /// Returns the values of elements, times or divided by the scale: NaN if the scale is. Those of f32 and smaller formats
    /// are exact in f32 unless they are denormals, of which the least formats have none.
    #[inline(always)]
    fn values(self, m: Mode, codes: &Row64, scale: &Row64) -> [f32; LANES] {
        let mut out = [0.0; LANES];
        match self.from() {
            Kind::F32 => {
                for l in 0..LANES {
                    out[l] = f32::from_bits(codes[l]).flush(m, false);
                }
            }
            Kind::Narrow(F16) => {
                for l in 0..LANES {
                    out[l] = Half(codes[l] as u16).to_f32();
                }
            }
            Kind::Narrow(BF16) => {
                for l in 0..LANES {
                    out[l] = f32::from_bits(codes[l] << 16);
                }
            }
            Kind::Narrow(format) => {
                for l in 0..LANES {
                    out[l] = format.to_f32(codes[l]);
                }
            }
        }
        let small = self.from().is_small();
        for l in 0..LANES {
            let exponent = scale[l] >> 23 & 0xff;
            // Small floats are multiplied by the scale, other numbers are divided by it.
            let factor = power(if small { exponent } else { 254u32.wrapping_sub(exponent) & 0xff });
            let value = out[l] * factor;
            let nan = f32::from_bits(f32::NAN.to_bits() | out[l].to_bits() & 0x8000_0000);
            out[l] = if exponent == 0xff || value.is_nan() { nan } else { value };
        }
        out
    }

    /// Returns the codes of converted elements.
    #[inline(always)]
    fn codes(self, m: Mode, values: &[f32; LANES], seeds: &Row64) -> Row64 {
        let mut out = [0; LANES];
        match self.to() {
            Kind::F32 => {
                for l in 0..LANES {
                    out[l] = values[l].to_bits();
                }
            }
            Kind::Narrow(F16) => {
                for l in 0..LANES {
                    out[l] = u32::from(Half::from_f32(values[l]).0);
                }
            }
            Kind::Narrow(BF16) => {
                for l in 0..LANES {
                    out[l] = u32::from(to_bf16(values[l]));
                }
            }
            Kind::Narrow(format) if self.is_set(RANDOM) => {
                let (fraction, saturate) = (self.from().fraction(), m.fp16_ovfl());
                for l in 0..LANES {
                    out[l] = format.random(values[l], seeds[l], fraction, saturate);
                }
            }
            Kind::Narrow(format) => {
                let saturate = m.fp16_ovfl();
                for l in 0..LANES {
                    out[l] = format.nearest(values[l], saturate);
                }
            }
        }
        out
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

    /// Converts the elements of all lanes.
    #[inline(always)]
    fn convert(self, w: &mut Wave, i: &Inst) {
        let (m, count, bits) = (w.mode, self.field(COUNT, 6), self.to().bits());
        let scale = source(w, i, self.field(SCALE, 2) as usize, 0);
        let mut seeds = if self.is_set(RANDOM) { source(w, i, 1, 0) } else { [0; LANES] };
        // At most 32 elements of 32 bits.
        let mut out = [[0u32; LANES]; 33];
        for n in 0..count {
            let values = self.values(m, &self.elements(w, i, n), &scale);
            let codes = self.codes(m, &values, &seeds);
            let (at, shift) = ((n * bits / 32) as usize, n * bits % 32);
            for l in 0..LANES {
                out[at][l] |= codes[l] << shift;
            }
            if shift + bits > 32 {
                for l in 0..LANES {
                    out[at + 1][l] |= codes[l] >> (32 - shift);
                }
            }
            for seed in &mut seeds {
                *seed = next_random(*seed);
            }
        }
        let (first, mask) = match self.part() {
            Some((first, bits)) => (first, (u32::MAX >> (32 - bits)) << first),
            None => (0, u32::MAX),
        };
        let exec = w.exec();
        w.refresh_mask(exec);
        let active = *w.mask.flat();
        for (n, dword) in out.iter().enumerate().take((count * bits).div_ceil(32) as usize) {
            let to = w.v_mut(i.dst + n as u16).flat_mut();
            for l in 0..LANES {
                let written = active[l] & mask;
                to[l] = dword[l] << first & written | to[l] & !written;
            }
        }
    }

    /// Returns the bits for [`Inst::imm`].
    pub(crate) fn bits(self) -> u32 {
        self.0
    }
}

/// A dword of each lane.
type Row64 = [u32; LANES];

/// Returns dword `dword` of source `n`.
#[inline(always)]
fn source(w: &Wave, i: &Inst, n: usize, dword: u16) -> Row64 {
    let at = i.src[n].wrapping_add(dword);
    if i.flags >> n & 1 != 0 { *w.v(at).flat() } else { [w.s32(at); LANES] }
}

/// Returns the power of two with a biased exponent from 0 to 254. The first is a denormal.
#[inline(always)]
fn power(exponent: u32) -> f32 {
    f32::from_bits(if exponent == 0 { 1 << 22 } else { exponent << 23 })
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
        Plan(i.imm).convert(w, i);
        Flow::Next
    }
}
