//! The formats of memory, and buffer loads and stores with format conversion: `buffer_*_format_*` and `tbuffer_*_format_*`.
//!
//! The format is the descriptor's for MUBUF and the instruction's for MTBUF (CDNA ISA, "Buffer data").

use std::marker::PhantomData;

use amdgpu_isa::{Encoding, Generation};
use half::f16;

use crate::exec::buffer::{Reach, fault, load_part, store_part};
use crate::exec::descriptor::{Descriptor, FormatNumber};
use crate::exec::inst::{Exec, ExecContext, Flow, Inst, flag};
use crate::exec::notices::Who;
use crate::exec::number::half16;
use crate::exec::to_lds::{buffer_base, to_lds};
use crate::report::access::AccessKind;
use crate::state::wave::{LANES, Wave, lanes_of};

/// Returns the number of bits of each component in memory, the component in the lowest bits first. Empty for invalid
/// formats.
fn layout(data_format: u32) -> &'static [u32] {
    match data_format {
        1 => &[8],
        2 => &[16],
        3 => &[8, 8],
        4 => &[32],
        5 => &[16, 16],
        // The names of these formats begin with the highest bits: 10_11_11, 11_11_10, 10_10_10_2, 2_10_10_10.
        6 => &[11, 11, 10],
        7 => &[10, 11, 11],
        8 => &[2, 10, 10, 10],
        9 => &[10, 10, 10, 2],
        10 => &[8, 8, 8, 8],
        11 => &[32, 32],
        12 => &[16, 16, 16, 16],
        13 => &[32, 32, 32],
        14 => &[32, 32, 32, 32],
        _ => &[],
    }
}

/// The number format of components.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Numbers {
    Unorm,
    Snorm,
    Uscaled,
    Sscaled,
    Uint,
    Sint,
    Float,
    /// Those of images: as [`Unorm`](Numbers::Unorm), but red, green and blue are not linear.
    Srgb,
    /// The bits of memory, which loads and stores of images without conversion move (`image_load_pck`).
    Bits,
    /// The same, with the sign of components of 8 and 16 bits extended (`image_load_pck_sgn`).
    SignedBits,
}

impl Numbers {
    fn of(number_format: u32) -> Option<Numbers> {
        Some(match number_format {
            0 => Numbers::Unorm,
            1 => Numbers::Snorm,
            2 => Numbers::Uscaled,
            3 => Numbers::Sscaled,
            4 => Numbers::Uint,
            5 => Numbers::Sint,
            7 => Numbers::Float,
            // Buffers have three bits for these numbers.
            9 => Numbers::Srgb,
            _ => return None,
        })
    }

    fn is_integer(self) -> bool {
        matches!(self, Numbers::Uint | Numbers::Sint | Numbers::Bits | Numbers::SignedBits)
    }

    /// Returns the number one in a register.
    fn one(self) -> u32 {
        if self.is_integer() { 1 } else { 1f32.to_bits() }
    }

    /// Converts a component of `bits` bits to the value of a register: an integer, or the bits of an f32.
    fn decode(self, raw: u32, bits: u32) -> u32 {
        let signed = || (raw << (32 - bits)) as i32 >> (32 - bits);
        let ones = |bits: u32| ((1u64 << bits) - 1) as f64;
        match self {
            Numbers::SignedBits if matches!(bits, 8 | 16) => signed() as u32,
            Numbers::Uint | Numbers::Bits | Numbers::SignedBits => raw,
            Numbers::Sint => signed() as u32,
            Numbers::Unorm => ((f64::from(raw) / ones(bits)) as f32).to_bits(),
            Numbers::Srgb => (linear(f64::from(raw) / ones(bits)) as f32).to_bits(),
            Numbers::Snorm => ((f64::from(signed()) / ones(bits - 1)).max(-1.0) as f32).to_bits(),
            Numbers::Uscaled => (raw as f32).to_bits(),
            Numbers::Sscaled => (signed() as f32).to_bits(),
            Numbers::Float => match bits {
                32 => raw,
                16 => f16::from_bits(raw as u16).to_f32().to_bits(),
                // Unsigned floats with f16's exponent and the first 6 or 5 bits of its mantissa.
                11 => f16::from_bits((raw << 4) as u16).to_f32().to_bits(),
                10 => f16::from_bits((raw << 5) as u16).to_f32().to_bits(),
                _ => 0,
            },
        }
    }

    /// Converts the value of a register to a component of `bits` bits.
    fn encode(self, value: u32, bits: u32) -> u32 {
        let float = f64::from(f32::from_bits(value));
        let ones = |bits: u32| ((1u64 << bits) - 1) as f64;
        let mask = ones(bits) as u32;
        // Conversions of floats to integers saturate, and give 0 for a NaN.
        match self {
            Numbers::Bits | Numbers::SignedBits => value & mask,
            Numbers::Uint => value.min(mask),
            Numbers::Sint => {
                let limit = (1i64 << (bits - 1)) - 1;
                i64::from(value as i32).clamp(-limit - 1, limit) as u32 & mask
            }
            Numbers::Unorm | Numbers::Srgb => (float.clamp(0.0, 1.0) * ones(bits)).round_ties_even() as u32,
            Numbers::Snorm => {
                (float.clamp(-1.0, 1.0) * ones(bits - 1)).round_ties_even() as i32 as u32 & mask
            }
            Numbers::Uscaled => (float as u64).min(u64::from(mask)) as u32,
            Numbers::Sscaled => {
                let limit = (1i64 << (bits - 1)) - 1;
                (float as i64).clamp(-limit - 1, limit) as u32 & mask
            }
            Numbers::Float => match bits {
                32 => value,
                16 => u32::from(f16::from_f64(float).to_bits()),
                11 => small_float(float, 6),
                10 => small_float(float, 5),
                _ => 0,
            },
        }
    }
}

/// Returns the linear value of a component of sRGB (IEC 61966-2-1).
fn linear(value: f64) -> f64 {
    if value <= 0.04045 { value / 12.92 } else { ((value + 0.055) / 1.055).powf(2.4) }
}

/// Rounds to an unsigned float with 5 bits of exponent and `mantissa` bits of mantissa. Negative numbers give 0.
fn small_float(value: f64, mantissa: u32) -> u32 {
    let infinity = 31 << mantissa;
    if value.is_nan() {
        return infinity | 1 << (mantissa - 1);
    }
    if value <= 0.0 {
        return 0;
    }
    // In units of the last place at this exponent, which for denormals is the smallest one.
    let exponent = (value.log2().floor() as i32).clamp(-14, 16);
    let units = (value / f64::from(exponent - mantissa as i32).exp2()).round_ties_even();
    // The implicit bit of `units` adds one to the exponent; rounding up may carry into it.
    let bits = (exponent + 14) as u32 * (1 << mantissa) + units.min(f64::from(2 << mantissa)) as u32;
    bits.min(infinity)
}

/// The layout of 1 to 4 components in registers.
pub(crate) trait Components {
    /// The number of components in one register.
    const EACH: usize;
    /// Whether the only component is in the high half.
    const HIGH: bool = false;
}

/// One component in each register.
pub(crate) struct Full;
impl Components for Full {
    const EACH: usize = 1;
}

/// Two components in each register. A load of an odd number keeps the high half of the last register, unless
/// SRAM-ECC is on.
pub(crate) struct Half;
impl Components for Half {
    const EACH: usize = 2;
}

/// One component in the high half. A load keeps the low half, unless SRAM-ECC is on.
pub(crate) struct HalfHigh;
impl Components for HalfHigh {
    const EACH: usize = 2;
    const HIGH: bool = true;
}

/// The format of an access.
pub(crate) struct Format {
    layout: &'static [u32],
    numbers: Numbers,
    /// What a load gives for each of x, y, z, w: 0 and 1 select these constants, 4 to 7 a component.
    pub(crate) select: [u32; 4],
    /// A load of 16 bits rounds floats towards zero: on gfx11 those of 32 bits in memory (RDNA3 ISA, 9.3.1).
    truncates: bool,
    /// What a load out of range gives: 0, but on gfx11 a component that selects 1 has it (RDNA3 ISA, 9.4.1, note 1).
    pub(crate) outside: [u32; 4],
}

impl Format {
    pub(crate) fn of(w: &Wave, i: &Inst) -> Format {
        let descriptor = Descriptor::of(w, i);
        let generation = flag::generation(i.flags);
        if i.row.encoding() != Some(Encoding::Mtbuf) {
            return Format::new(descriptor.format, descriptor.select, generation);
        }
        let number = match generation {
            Generation::Gfx9 => FormatNumber::Split(i.raw[0] >> 19 & 15, i.raw[0] >> 23 & 7),
            Generation::Gfx10 => FormatNumber::UnifiedOfGfx10(i.raw[0] >> 19 & 0x7f),
            Generation::Gfx11 => FormatNumber::Unified(i.raw[0] >> 19 & 0x7f),
            Generation::Gfx12 => FormatNumber::Unified(i.raw[1] >> 23 & 0x7f),
        };
        Format::new(number, [4, 5, 6, 7], generation)
    }

    /// Returns a format whose components loads select by `select`. It has no components if its number is invalid.
    pub(crate) fn new(number: FormatNumber, select: [u32; 4], generation: Generation) -> Format {
        let since_gfx11 = matches!(generation, Generation::Gfx11 | Generation::Gfx12);
        let (data, number) = number.parts();
        let layout = layout(data);
        let (layout, numbers) =
            Numbers::of(number).map_or(((&[]) as _, Numbers::Uint), |numbers| (layout, numbers));
        let truncates = since_gfx11 && numbers == Numbers::Float && layout.first() == Some(&32);
        let outside = select.map(|select| if since_gfx11 && select == 1 { numbers.one() } else { 0 });
        Format { layout, numbers, select, truncates, outside }
    }

    /// Returns the format without conversion of its components, whose sign is extended with `signed`.
    pub(crate) fn unconverted(self, signed: bool) -> Format {
        let numbers = if signed { Numbers::SignedBits } else { Numbers::Bits };
        let outside = self.outside.map(|value| u32::from(value != 0));
        Format { numbers, truncates: false, outside, ..self }
    }

    /// Returns the size of all components in bytes.
    pub(crate) fn size(&self) -> u32 {
        self.layout.iter().sum::<u32>() / 8
    }

    /// Returns the number of bytes that are accessed at a time.
    pub(crate) fn unit(&self) -> u32 {
        self.size().min(4)
    }

    /// Converts memory to the values of x, y, z, w.
    pub(crate) fn decode(&self, words: [u32; 4]) -> [u32; 4] {
        let one = self.numbers.one();
        let mut components = [0, 0, 0, one];
        let mut at = 0;
        for (n, (component, bits)) in components.iter_mut().zip(self.layout).enumerate() {
            let raw = words[at / 32] >> (at % 32) & (u32::MAX >> (32 - bits));
            // Alpha is linear in sRGB.
            let numbers = if self.numbers == Numbers::Srgb && n == 3 { Numbers::Unorm } else { self.numbers };
            *component = numbers.decode(raw, *bits);
            at += *bits as usize;
        }
        self.selected(components)
    }

    /// Returns what the format selects from four components.
    pub(crate) fn selected(&self, components: [u32; 4]) -> [u32; 4] {
        self.select.map(|select| match select {
            0 => 0,
            1 => self.numbers.one(),
            n => components[n as usize & 3],
        })
    }

    pub(crate) fn is_integer(&self) -> bool {
        self.numbers.is_integer()
    }

    /// Returns the number one in a register.
    pub(crate) fn one(&self) -> u32 {
        self.numbers.one()
    }

    pub(crate) fn encode(&self, components: [u32; 4]) -> [u32; 4] {
        let mut words = [0; 4];
        let mut at = 0;
        for (component, bits) in components.into_iter().zip(self.layout) {
            words[at / 32] |= self.numbers.encode(component, *bits) << (at % 32);
            at += *bits as usize;
        }
        words
    }

    /// Writes the values of loaded components to a lane's registers, `each` of them to one. `high` says that the only one
    /// belongs to the high half.
    pub(crate) fn to_registers(
        &self,
        w: &mut Wave,
        dst: u16,
        lane: usize,
        values: &[u32],
        each: usize,
        high: bool,
    ) {
        let kept = w.d16_kept;
        for (n, value) in values.iter().enumerate() {
            let dword = &mut w.v_mut(dst + (n / each) as u16).flat_mut()[lane];
            if each == 1 {
                *dword = *value;
                continue;
            }
            let value = if self.numbers.is_integer() {
                *value & 0xffff
            } else if self.truncates {
                u32::from(half16::Half::towards_zero(f32::from_bits(*value)).0)
            } else {
                u32::from(f16::from_f32(f32::from_bits(*value)).to_bits())
            };
            let shift = if high { 16 } else { 16 * (n % 2) };
            // The second half of a register joins the first.
            let old = if n % each == 0 { *dword & kept } else { *dword };
            *dword = old & !(0xffff << shift) | value << shift;
        }
    }

    /// Returns the values of the first `count` components that a lane stores; the others are 0.
    pub(crate) fn of_registers(
        &self,
        w: &Wave,
        src: u16,
        lane: usize,
        count: usize,
        each: usize,
        high: bool,
    ) -> [u32; 4] {
        let mut components = [0; 4];
        for (n, component) in components.iter_mut().enumerate().take(count) {
            let dword = w.v(src + (n / each) as u16).flat()[lane];
            *component = if each == 1 {
                dword
            } else {
                let value = (dword >> if high { 16 } else { 16 * (n % 2) }) as u16;
                match self.numbers {
                    Numbers::Uint => value.into(),
                    Numbers::Sint => value as i16 as u32,
                    _ => f16::from_bits(value).to_f32().to_bits(),
                }
            };
        }
        components
    }
}

/// `[t]buffer_load_format_*` of `N` components.
pub(crate) struct FormatLoad<C, const N: usize>(PhantomData<C>);
impl<C: Components, const N: usize> Exec for FormatLoad<C, N> {
    #[inline(always)]
    fn exec(w: &mut Wave, cx: &mut ExecContext, i: &Inst) -> Flow {
        if i.flags & flag::LDS != 0 {
            let base = buffer_base(w, i);
            return to_lds(w, cx, i, base, 4, |w, cx, i, dst| load(w, cx, i, dst, N, C::EACH, C::HIGH));
        }
        load(w, cx, i, i.dst, N, C::EACH, C::HIGH)
    }
}

fn load(
    w: &mut Wave,
    cx: &mut ExecContext,
    i: &Inst,
    dst: u16,
    count: usize,
    each: usize,
    high: bool,
) -> Flow {
    let (reach, format, exec) = (Reach::new(w, i), Format::of(w, i), w.exec());
    let (size, unit) = (format.size(), format.unit());
    let inside = if size == 0 { 0 } else { reach.whole(exec, size) };
    let mut values = [format.outside; LANES];
    for lane in lanes_of(inside) {
        let mut words = [0; 4];
        for (extra, word) in (0..size).step_by(4).zip(&mut words) {
            let Some(value) = load_part(cx, Who::lane(i.pc, w.id, lane), reach.address(lane, extra), unit)
            else {
                return fault(cx, AccessKind::Read, &reach, inside, unit, extra);
            };
            *word = value;
        }
        values[lane] = format.decode(words);
    }
    for lane in lanes_of(exec) {
        format.to_registers(w, dst, lane, &values[lane][..count], each, high);
    }
    Flow::Next
}

/// `[t]buffer_store_format_*` of `N` components. Further components of the format are stored as 0.
pub(crate) struct FormatStore<C, const N: usize>(PhantomData<C>);
impl<C: Components, const N: usize> Exec for FormatStore<C, N> {
    #[inline(always)]
    fn exec(w: &mut Wave, cx: &mut ExecContext, i: &Inst) -> Flow {
        store(w, cx, i, N, C::EACH, C::HIGH)
    }
}

fn store(w: &mut Wave, cx: &mut ExecContext, i: &Inst, count: usize, each: usize, high: bool) -> Flow {
    let (reach, format, exec) = (Reach::new(w, i), Format::of(w, i), w.exec());
    let (size, unit) = (format.size(), format.unit());
    let inside = if size == 0 { 0 } else { reach.whole(exec, size) };
    for lane in lanes_of(inside) {
        let components = format.of_registers(w, i.src[1], lane, count, each, high);
        let words = format.encode(components);
        for (extra, word) in (0..size).step_by(4).zip(words) {
            if store_part(cx, Who::lane(i.pc, w.id, lane), reach.address(lane, extra), unit, word).is_none() {
                return fault(cx, AccessKind::Write, &reach, inside, unit, extra);
            }
        }
    }
    Flow::Next
}
