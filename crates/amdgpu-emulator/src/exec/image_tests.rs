//! Compares MIMG without samplers with images in byte arrays, in which a cursor finds the texels one after the other, and with a
//! list of the formats.

use std::collections::BTreeMap;

use amdgpu_isa::{Encoding, Generation, Row, Target, disassemble_words};

use crate::exec::atomics_tests::{Op, interesting, reference};
use crate::exec::buffer_tests::{component, components, nearest, to_store};
use crate::exec::gfx11_buffer_tests::{formats, holds, register};
use crate::exec::memory_model::{At, GLOBAL, MemoryModel};
use crate::exec::sample_model::SRGB_NUMBERS;
use crate::exec::table::{Impl, executor};
use crate::report::fault::FaultCause;
use crate::state::wave::LANES;
use crate::testing::test_wave::{TestWave, op, operation};

crate::testing::tally::verified!(loads, stores, information, atomics);

/// The fields of an instruction. Addresses are in v10 to v22, data from v30 on, the descriptor is in s8 to s15, that of a sampler in s16
/// to s19.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Fields {
    pub(crate) dim: u32,
    pub(crate) dmask: u32,
    pub(crate) glc: bool,
    pub(crate) r128: bool,
    pub(crate) a16: bool,
    pub(crate) d16: bool,
    /// How many registers of the address need not follow each other; 0 for one.
    pub(crate) separate: usize,
    pub(crate) tfe: bool,
    /// The address has a layer or face, as gfx9's instructions say.
    pub(crate) da: bool,
    /// There is a sampler, and then whether coordinates count texels whatever it says.
    pub(crate) sampler: Option<bool>,
}

/// The registers of an address that follow v10 in no order.
const SEPARATE: [u16; 13] = [10, 17, 12, 19, 20, 14, 11, 29, 13, 28, 16, 15, 18];

/// Returns the register of value `n` of an address. What doesn't fit into those that need not follow each other follows the last one.
pub(crate) fn address_register(f: Fields, n: usize) -> u16 {
    let last = f.separate.max(1) - 1;
    SEPARATE[n.min(last)] + n.saturating_sub(last) as u16
}

/// Returns how many registers of an address of `count` an instruction names, which some generations let it choose.
pub(crate) fn separate(b: &mut MemoryModel, count: usize, has_sampler: bool) -> usize {
    let chooses = count > 1 && b.below(2) == 0;
    match b.rig.target.generation() {
        Generation::Gfx10 if chooses => 13,
        Generation::Gfx11 if chooses => 5,
        Generation::Gfx12 if has_sampler => 4,
        Generation::Gfx12 => 5,
        _ => 1,
    }
}

/// Returns whether loads of floats of 32 bits to halves cut off, and components without a texel are those that are selected as 1, as since
/// gfx11.
fn is_since_gfx11(b: &MemoryModel) -> bool {
    b.rig.target.has_gfx11_instructions()
}

/// Encodes MIMG (RDNA2 ISA, 13.3.9; RDNA3 ISA, 15.8; CDNA ISA, "MIMG"; for gfx12 as LLVM's assembler encodes VIMAGE and VSAMPLE).
pub(crate) fn encode(rig: &TestWave, name: &str, f: Fields) -> Vec<u32> {
    let op = op(Encoding::Mimg, name, rig.target);
    let unorm = f.sampler.unwrap_or(true);
    let flags = |bits: &[(bool, u32)]| bits.iter().map(|(set, at)| u32::from(*set) << at).sum::<u32>();
    let sampler = if f.sampler.is_some() { 4 } else { 0 };
    let second = 10 | 30 << 8 | 2 << 16;
    let gfx9_or_10 = |low: u32, high: u32| {
        // The highest bit of gfx10's opcodes is the first one.
        let first = 0xf000_0000 | (op & 0x7f) << 18 | op >> 7 | f.dmask << 8 | low;
        vec![first, second | sampler << 21 | high]
    };
    match rig.target.generation() {
        Generation::Gfx9 => {
            let low = flags(&[(unorm, 12), (f.glc, 13), (f.da, 14), (f.a16, 15)]);
            return gfx9_or_10(low, flags(&[(f.d16, 31)]));
        }
        Generation::Gfx10 => {
            let low = flags(&[(unorm, 12), (f.glc, 13), (f.r128, 15), (f.tfe, 16)]) | f.dim << 3;
            let mut words = gfx9_or_10(low, flags(&[(f.a16, 30), (f.d16, 31)]));
            if f.separate > 1 {
                // As many dwords as twelve further registers have, whether they are needed or not.
                words[0] |= 3 << 1;
                let registers: Vec<u8> = (1..13).map(|n| address_register(f, n) as u8).collect();
                words.extend(registers.chunks(4).map(|of| u32::from_le_bytes(of.try_into().unwrap())));
            }
            return words;
        }
        Generation::Gfx11 => {}
        Generation::Gfx12 => {
            let registers: Vec<u32> = (0..5).map(|n| address_register(f, n).into()).collect();
            let third = registers[..4].iter().rev().fold(0, |all, v| all << 8 | v);
            let common = f.dmask << 22 | op << 14 | f.dim | flags(&[(f.r128, 4), (f.d16, 5), (f.a16, 6)]);
            let (second, glc) = (30 | 8 << 9, u32::from(f.glc) << 20);
            return match f.sampler {
                Some(unorm) => {
                    let first = 0x39 << 26 | common | flags(&[(f.tfe, 3), (unorm, 13)]);
                    vec![first, second | glc | 16 << 23, third]
                }
                None => vec![
                    0x34 << 26 | common,
                    second | glc | u32::from(f.tfe) << 23 | registers[4] << 24,
                    third,
                ],
            };
        }
    }
    let low = flags(&[(f.separate > 1, 0), (unorm, 7), (f.glc, 14), (f.r128, 15), (f.a16, 16), (f.d16, 17)]);
    let mut words = vec![0xf000_0000 | op << 18 | f.dmask << 8 | f.dim << 2 | low];
    words.push(second | u32::from(f.tfe) << 21 | sampler << 26);
    if f.separate > 1 {
        words.push(SEPARATE[1..5].iter().rev().fold(0, |all, v| all << 8 | u32::from(*v)));
    }
    words
}

/// A format: gfx11's number of it, the sizes of its components from the lowest bits on, and gfx9's number of its kind of numbers.
#[derive(Debug, Clone)]
pub(crate) struct TexelFormat {
    pub(crate) unified: u32,
    pub(crate) bits: Vec<u32>,
    pub(crate) number: u32,
}

impl TexelFormat {
    /// Returns the size of a texel in bytes.
    pub(crate) fn size(&self) -> usize {
        self.bits.iter().sum::<u32>() as usize / 8
    }

    /// Returns gfx10's number, by the names in LLVM's text of MTBUF, which the disassembler has.
    fn of_gfx10(&self) -> u32 {
        if self.number == SRGB_NUMBERS {
            return 64 + self.unified;
        }
        let name = |target: Target, number: u32| {
            let first = Encoding::Mtbuf.first_dword(target, 0, number << 19);
            let text = disassemble_words(target, &[first, 0x8000_0000], 0).map(|i| i.text);
            text.and_then(|text| Some(text.split_once("format:")?.1.to_owned()))
        };
        let own = name(Target::Gfx11, self.unified);
        (1..128).find(|number| name(Target::Gfx103, *number) == own).unwrap()
    }

    /// Returns gfx9's number of the layout.
    fn data(&self) -> u32 {
        (1..15).find(|data| components(*data) == self.bits).unwrap()
    }
}

/// Returns the formats whose texels have 1, 2, 4, 8 and 16 bytes.
pub(crate) fn plain_formats() -> Vec<TexelFormat> {
    let all = formats(Target::Gfx11).into_iter().map(|(unified, bits, number)| TexelFormat {
        unified,
        bits,
        number,
    });
    all.filter(|format| format.size() != 12).collect()
}

/// Returns a format by gfx11's number.
pub(crate) fn format_of(unified: u32) -> TexelFormat {
    plain_formats().into_iter().find(|format| format.unified == unified).unwrap()
}

/// An image in the first allocation.
#[derive(Debug, Clone)]
pub(crate) struct Surface {
    pub(crate) dim: u32,
    pub(crate) width: usize,
    pub(crate) height: usize,
    pub(crate) first: usize,
    pub(crate) slices: usize,
    /// The explicit distance of rows in texels.
    pub(crate) pitch: Option<usize>,
    pub(crate) base: u64,
    pub(crate) format: TexelFormat,
    pub(crate) select: [u32; 4],
    /// Slices of an image with three dimensions are counted from the first one.
    pub(crate) counts_slices: bool,
    /// The first level that is shown, and the number of those.
    pub(crate) first_level: usize,
    pub(crate) levels: usize,
}

/// The place of a texel: x, y, slice and level.
pub(crate) type Place = [u32; 4];

impl Surface {
    /// Returns an image that fits into the allocation.
    pub(crate) fn random(b: &mut MemoryModel, format: &TexelFormat) -> Surface {
        let is_gfx9 = b.rig.target.generation() == Generation::Gfx9;
        loop {
            let dim = b.below(6) as u32;
            let (flat, is_one) = (dim < 2, matches!(dim, 0 | 4));
            let width = 1 + b.below(20);
            let counts_slices = dim == 2 && b.below(2) == 0;
            let unit = 256 / format.size();
            let levels = if counts_slices { 1 } else { 1 + b.below(3) };
            let first_level = if counts_slices { 0 } else { b.below(5) / 4 };
            let has_pitch = levels + first_level == 1 && b.below(2) == 0 && (flat || is_gfx9);
            let surface = Surface {
                dim,
                width,
                height: if is_one { 1 } else { 1 + b.below(3) },
                first: if dim > 2 || counts_slices { b.below(3) } else { 0 },
                slices: if flat { 1 } else { 1 + b.below(3) },
                pitch: has_pitch.then(|| (width / unit + 1 + b.below(2)) * unit),
                base: b.model.bases[0] + 256 * b.below(2) as u64,
                format: format.clone(),
                select: [0; 4].map(|_| [0, 1, 4, 5, 6, 7][b.below(6)]),
                counts_slices,
                first_level,
                levels,
            };
            let size = format.size();
            if surface.texels(b.model.bases[0]).values().all(|at| at + size <= GLOBAL as usize) {
                return surface;
            }
        }
    }

    /// Returns the byte, from `start` on, of each texel that the descriptor shows. Rows begin at multiples of 256 bytes, unless they
    /// have an explicit distance. Each level has half of the size of the one before it, rounded down, and begins where that ends.
    pub(crate) fn texels(&self, start: u64) -> BTreeMap<Place, usize> {
        let mut cursor = (self.base - start) as usize;
        let mut texels = BTreeMap::new();
        let (mut width, mut height, mut all) = (self.width, self.height, self.first + self.slices);
        for level in 0..self.first_level + self.levels {
            for slice in 0..all {
                for y in 0..height {
                    let begin = cursor;
                    for x in 0..width {
                        if let (Some(slice), Some(level)) =
                            (slice.checked_sub(self.first), level.checked_sub(self.first_level))
                        {
                            texels.insert([x as u32, y as u32, slice as u32, level as u32], cursor);
                        }
                        cursor += self.format.size();
                    }
                    match self.pitch {
                        Some(pitch) => cursor = begin + pitch * self.format.size(),
                        None => {
                            while cursor % 256 != 0 {
                                cursor += 1;
                            }
                        }
                    }
                }
            }
            (width, height) = ((width / 2).max(1), (height / 2).max(1));
            if self.dim == 2 {
                all = (all / 2).max(1);
            }
        }
        texels
    }

    /// Returns the width, the height and the number of slices of a level.
    pub(crate) fn sizes(&self, level: usize) -> [usize; 3] {
        let half = |size: usize| (0..self.first_level + level).fold(size, |size, _| (size / 2).max(1));
        let slices = if self.dim == 2 { half(self.slices) } else { self.slices };
        [half(self.width), half(self.height), slices]
    }

    /// Returns the descriptor, by the bits that the documents number: Vega ISA, "Image resource definition"; RDNA2 ISA, table 37; RDNA3
    /// ISA, table 50; of gfx12 ROCm's `resource_gfx12.h`.
    pub(crate) fn words(&self, generation: Generation) -> [u32; 8] {
        let mut bits = [false; 256];
        let mut put = |at: usize, size: usize, value: u64| {
            for n in 0..size {
                bits[at + n] = value >> n & 1 != 0;
            }
        };
        let last_level = (self.first_level + self.levels) as u64 - 1;
        put(0, 40, self.base / 256);
        for (n, select) in self.select.into_iter().enumerate() {
            put(96 + 3 * n, 3, select.into());
        }
        if generation != Generation::Gfx12 {
            put(108, 4, self.first_level as u64);
            put(112, 4, last_level);
        }
        put(124, 4, 8 + u64::from(self.dim));
        let (width, height) = (self.width as u64 - 1, self.height as u64 - 1);
        let last = (self.first + self.slices) as u64 - 1;
        put(78, 14, height);
        if generation == Generation::Gfx9 {
            put(52, 6, self.format.data().into());
            put(58, 4, self.format.number.into());
            put(64, 14, width);
            put(128, 13, last);
            put(141, 16, self.pitch.map_or(0, |pitch| pitch as u64 - 1));
            put(160, 13, self.first as u64);
            put(188, 4, last_level);
        } else {
            put(62, 14, width);
            put(128, 14, self.pitch.map_or(last, |pitch| pitch as u64 - 1));
            put(144, 13, self.first as u64);
        }
        let unified = self.format.unified.into();
        match generation {
            Generation::Gfx9 => {}
            Generation::Gfx10 => {
                put(52, 9, self.format.of_gfx10().into());
                put(95, 1, 1);
                put(160, 1, self.counts_slices.into());
                put(164, 4, last_level);
            }
            Generation::Gfx11 => {
                put(48, 4, last_level);
                put(52, 8, unified);
                put(160, 1, self.counts_slices.into());
            }
            Generation::Gfx12 => {
                put(44, 5, last_level);
                put(49, 8, unified);
                put(57, 5, self.first_level as u64);
                put(111, 5, last_level);
                put(164, 1, self.counts_slices.into());
            }
        }
        std::array::from_fn(|word| (0..32).map(|bit| u32::from(bits[32 * word + bit]) << bit).sum())
    }

    /// Returns fields of an instruction that fit, with random others.
    pub(crate) fn fields(&self, b: &mut MemoryModel) -> Fields {
        Fields {
            dim: self.dim,
            dmask: 1 + b.below(15) as u32,
            a16: b.below(3) == 0,
            da: self.dim > 2,
            ..Fields::default()
        }
    }

    /// Writes the descriptor, and random coordinates to the registers of the address. Returns each lane's texel, and fields of the
    /// instruction.
    pub(crate) fn bind(&self, b: &mut MemoryModel, name: &str) -> (Vec<Place>, Fields) {
        let generation = b.rig.target.generation();
        for (n, word) in self.words(generation).into_iter().enumerate() {
            b.rig.w.set_s32(8 + n as u16, word);
        }
        b.scramble(10..40);
        let mut f = self.fields(b);
        // What the four dwords of a short descriptor leave out is not used.
        f.r128 = generation != Generation::Gfx9 && self.dim < 2 && self.pitch.is_none() && b.below(2) == 0;
        let has_level = name.contains("_mip");
        let count = [1, 2, 3, 3, 2, 3][self.dim as usize] + usize::from(has_level);
        let registers = if f.a16 { count.div_ceil(2) } else { count };
        f.separate = separate(b, registers, false);
        if f.r128 {
            let garbage = b.random.next() as u32;
            (12..16).for_each(|s| b.rig.w.set_s32(s, garbage));
        }
        let mut all = Vec::new();
        for lane in 0..LANES {
            let level = if has_level && b.below(8) == 0 { 20 } else { b.below(self.levels + 1) };
            let level = if has_level { level } else { 0 };
            let sizes = self.sizes(level);
            let mut below = |limit: usize| {
                let far = if f.a16 { 0xffff } else { u32::MAX };
                if b.below(20) == 0 { far } else { b.below(limit + 1 + limit / 8) as u32 }
            };
            let ([x, y, slice], level) = (sizes.map(&mut below), level as u32);
            let (at, mut values) = match self.dim {
                0 => ([x, 0, 0, level], vec![x]),
                1 => ([x, y, 0, level], vec![x, y]),
                4 => ([x, 0, slice, level], vec![x, slice]),
                _ => ([x, y, slice, level], vec![x, y, slice]),
            };
            if has_level {
                values.push(level);
            }
            if f.a16 {
                let other = b.random.next() as u32 & 0xffff;
                values = values.chunks(2).map(|of| of[0] | of.get(1).unwrap_or(&other) << 16).collect();
            }
            for (n, value) in values.into_iter().enumerate() {
                b.set(address_register(f, n), lane, value);
            }
            all.push(at);
        }
        (all, f)
    }
}

/// Returns the names of the instructions that begin so and are executed.
pub(crate) fn names(b: &MemoryModel, start: &str) -> Vec<&'static str> {
    let is_executed = |row: &&Row| {
        row.opcode(b.rig.target).is_some()
            && !matches!(executor(row.mnemonic, b.rig.target), Impl::Unimplemented)
    };
    let rows = Encoding::Mimg.rows().iter().filter(is_executed);
    rows.map(|row| row.name).filter(|name| name.starts_with(start)).collect()
}

/// Returns the components of memory as strings of bits.
pub(crate) fn split(memory: u128, bits: &[u32]) -> Vec<u128> {
    let mut rest = memory;
    let mut take = |bits: &u32| {
        let raw = rest % (1 << bits);
        rest /= 1 << bits;
        raw
    };
    bits.iter().map(&mut take).collect()
}

/// Returns what a load without conversion gives for components.
fn extended(raw: &[u128], bits: &[u32], signed: bool) -> [u32; 4] {
    let mut values = [0, 0, 0, 1];
    for (value, (raw, bits)) in values.iter_mut().zip(raw.iter().zip(bits)) {
        let negative = signed && matches!(bits, 8 | 16) && raw >> (bits - 1) != 0;
        *value = if negative { (*raw as i64 - (1 << bits)) as u32 } else { *raw as u32 };
    }
    values
}

fn loads() {
    let mut texels_or_not = [0; 2];
    for mut b in MemoryModel::images(201) {
        let since_gfx11 = is_since_gfx11(&b);
        for name in names(&b, "image_load") {
            for format in plain_formats() {
                let (bits, number, size) = (&format.bits, format.number, format.size());
                let surface = Surface::random(&mut b, &format);
                let (lanes, mut f) = surface.bind(&mut b, name);
                f.d16 = !name.contains("pck") && b.below(3) == 0;
                let exec = b.exec();
                b.rig.w.set_exec(exec);
                let before = b.rig.w.r.v[30..34].to_vec();
                b.rig.run(&encode(&b.rig, name, f));
                let texels = surface.texels(b.model.bases[0]);
                for (lane, at) in lanes.into_iter().enumerate() {
                    if exec >> lane & 1 == 0 {
                        let same = (30..34)
                            .all(|v| b.rig.w.v(v).flat()[lane] == before[usize::from(v) - 30].flat()[lane]);
                        assert!(same, "{name}: inactive lane {lane} was written");
                        continue;
                    }
                    let memory = texels.get(&at).map(|byte| b.model.read(At::Global(0, *byte), lane, size));
                    texels_or_not[usize::from(memory.is_some())] += 1;
                    let raw = split(memory.unwrap_or(0), bits);
                    let chosen = (0..4).filter(|n| f.dmask >> n & 1 != 0);
                    for (place, n) in chosen.enumerate() {
                        let from = surface.select[n];
                        let dword = |v: usize| b.rig.w.v(30 + v as u16).flat()[lane];
                        let what = format!("{name} {surface:?} {f:?} lane {lane} at {at:?} component {n}");
                        if name.contains("pck") {
                            let want = match (from, memory) {
                                (1, None) if !since_gfx11 => 0,
                                (1, _) => 1,
                                (0, _) | (_, None) => 0,
                                _ => extended(&raw, bits, name.ends_with("sgn"))[from as usize - 4],
                            };
                            assert_eq!(dword(place), want, "{what}");
                            continue;
                        }
                        let mut values = [0.0, 0.0, 0.0, 1.0];
                        for (value, (raw, bits)) in values.iter_mut().zip(raw.iter().zip(bits)) {
                            *value = component(*raw, *bits, number).unwrap();
                        }
                        let want = match (from, memory) {
                            (1, None) if !since_gfx11 => 0.0,
                            (1, _) => 1.0,
                            (0, _) | (_, None) => 0.0,
                            _ => values[from as usize - 4],
                        };
                        let got = match f.d16 {
                            true => dword(place / 2) >> (16 * (place % 2)) & 0xffff,
                            false => dword(place),
                        };
                        assert!(
                            holds(got, want, number, f.d16, since_gfx11 && bits[0] == 32),
                            "{what}: {got:x}, not {want}"
                        );
                    }
                }
            }
        }
    }
    assert!(texels_or_not.iter().all(|lanes| *lanes > 10_000), "{texels_or_not:?}");
}

/// Orders of components that images have.
const ORDERS: [[u32; 4]; 5] = [[4, 5, 6, 7], [6, 5, 4, 7], [4, 0, 0, 1], [7, 6, 5, 4], [5, 4, 4, 4]];

fn stores() {
    for mut b in MemoryModel::images(202) {
        for name in names(&b, "image_store") {
            for format in plain_formats() {
                let (bits, number, size) = (&format.bits, format.number, format.size());
                let mut surface = Surface::random(&mut b, &format);
                surface.select = ORDERS[b.below(ORDERS.len())];
                let (lanes, mut f) = surface.bind(&mut b, name);
                let converts = !name.contains("pck");
                f.d16 = converts && b.below(3) == 0;
                let exec = b.exec();
                b.rig.w.set_exec(exec);
                let texels = surface.texels(b.model.bases[0]);
                let mut written = BTreeMap::new();
                for (lane, at) in lanes.into_iter().enumerate() {
                    let (mut values, mut dwords) = ([0.0; 4], [0u32; 4]);
                    for (place, n) in (0..4).filter(|n| f.dmask >> n & 1 != 0).enumerate() {
                        if !converts {
                            dwords[n] = b.random.next() as u32;
                            b.set(30 + place as u16, lane, dwords[n]);
                            continue;
                        }
                        let value = to_store(&mut b.random, number);
                        let (dword, value) = register(value, number, f.d16);
                        values[n] = value;
                        let (v, shift) = if f.d16 { (place / 2, 16 * (place % 2)) } else { (place, 0) };
                        let keep = if f.d16 { !(0xffff << shift) } else { 0 };
                        let old = b.rig.w.v(30 + v as u16).flat()[lane];
                        b.set(30 + v as u16, lane, old & keep | dword << shift);
                    }
                    if exec >> lane & 1 != 0
                        && let Some(byte) = texels.get(&at)
                    {
                        written.insert(*byte, (values, dwords));
                    }
                }
                b.rig.run(&encode(&b.rig, name, f));
                let mut after = vec![0; GLOBAL as usize];
                b.rig.space.read(b.model.bases[0], &mut after).unwrap();
                for (byte, (values, dwords)) in written {
                    let memory = (0..size).map(|n| u128::from(after[byte + n]) << (8 * n)).sum();
                    for (n, (raw, bits)) in split(memory, bits).into_iter().zip(bits).enumerate() {
                        let from = (0..4).find(|c| surface.select[*c] == 4 + n as u32);
                        let what = format!("{name} {surface:?} {f:?} component {n}");
                        match converts {
                            true => nearest(raw, from.map_or(0.0, |c| values[c]), *bits, number, &what),
                            false => {
                                let want = u128::from(from.map_or(0, |c| dwords[c])) % (1 << bits);
                                assert_eq!(raw, want, "{what}");
                            }
                        }
                    }
                    b.model.global[0][byte..byte + size].copy_from_slice(&after[byte..byte + size]);
                }
                assert!(after == b.model.global[0], "{name} {surface:?}: other bytes were written");
            }
        }
    }
}

fn information() {
    for mut b in MemoryModel::images(203) {
        for _ in 0..100 {
            let surface = Surface::random(&mut b, &format_of(20));
            let (_, f) = surface.bind(&mut b, "");
            let f = Fields { separate: separate(&mut b, 1, false), dim: b.below(6) as u32, ..f };
            let exec = b.exec();
            b.rig.w.set_exec(exec);
            let levels: Vec<usize> = (0..LANES).map(|_| b.below(surface.levels + 1)).collect();
            for (lane, level) in levels.iter().enumerate() {
                b.set(10, lane, *level as u32 | if f.a16 { 0xabcd_0000 } else { 0 });
            }
            b.rig.run(&encode(&b.rig, "image_get_resinfo", f));
            for (lane, level) in levels.into_iter().enumerate().filter(|(lane, _)| exec >> lane & 1 != 0) {
                let [width, height, slices] =
                    if level < surface.levels { surface.sizes(level) } else { [0; 3] };
                let all = [width, height, slices, surface.levels];
                for (place, n) in (0..4).filter(|n| f.dmask >> n & 1 != 0).enumerate() {
                    let got = b.rig.w.v(30 + place as u16).flat()[lane];
                    assert_eq!(got as usize, all[n], "{surface:?} {f:?} level {level} value {n}");
                }
            }
        }
    }
}

fn atomics() {
    for mut b in MemoryModel::images(204) {
        for name in names(&b, "image_atomic") {
            let row = Encoding::Mimg.rows().iter().find(|row| row.name == name).unwrap();
            for trial in 0..40 {
                let (format, bytes) = [(20, 4), (48, 8), (46, 4), (51, 8)][trial % 4];
                let surface = Surface::random(&mut b, &format_of(format));
                let op = Op {
                    name,
                    encoding: Encoding::Mimg,
                    kind: operation(row).strip_prefix("image_atomic_").unwrap(),
                    bytes,
                };
                let (lanes, f) = surface.bind(&mut b, name);
                let operands = if op.kind == "cmpswap" { 2 } else { 1 };
                let dwords = bytes / 4;
                let f = Fields { dmask: (1 << (operands * dwords)) - 1, glc: trial / 4 % 2 == 0, ..f };
                let exec = b.exec();
                b.rig.w.set_exec(exec);
                let texels = surface.texels(b.model.bases[0]);
                let mut results = Vec::new();
                for (lane, at) in lanes.into_iter().enumerate() {
                    let byte = texels.get(&at).copied();
                    let old = byte.map_or(0, |byte| b.model.read(At::Global(0, byte), lane, bytes)) as u64;
                    let new = interesting(&mut b.random, op);
                    let other = if b.below(2) == 0 { old } else { interesting(&mut b.random, op) };
                    let data = u128::from(new) | u128::from(other) << (8 * bytes);
                    let count = operands * dwords;
                    for n in 0..count {
                        b.set(30 + n as u16, lane, (data >> (32 * n)) as u32);
                    }
                    let is_active = exec >> lane & 1 != 0;
                    let kept = b.get(30, lane, 4);
                    results.push(if is_active && f.glc {
                        kept >> (8 * bytes) << (8 * bytes) | u128::from(old)
                    } else {
                        kept
                    });
                    if let Some(byte) = byte.filter(|_| is_active) {
                        let value = reference(op, old, new, other, 0);
                        b.model.write(At::Global(0, byte), lane, bytes, value.into());
                    }
                }
                b.rig.run(&encode(&b.rig, name, f));
                for (lane, want) in results.into_iter().enumerate() {
                    assert_eq!(b.get(30, lane, 4), want, "{name} {surface:?} {f:?} lane {lane}");
                }
                let mut after = vec![0; GLOBAL as usize];
                b.rig.space.read(b.model.bases[0], &mut after).unwrap();
                assert!(after == b.model.global[0], "{name} {surface:?}: memory differs");
            }
        }
    }
}

/// Runs a load of one component from a two-dimensional image whose descriptor was changed.
fn faults(change: impl Fn(&mut [u32; 8], &mut Fields)) -> String {
    let mut b = MemoryModel::gfx11(205).next().unwrap();
    let surface = Surface {
        dim: 1,
        width: 3,
        height: 2,
        first: 0,
        slices: 1,
        pitch: None,
        base: b.model.bases[0],
        format: format_of(20),
        select: [4, 0, 0, 1],
        counts_slices: false,
        first_level: 0,
        levels: 1,
    };
    let (mut words, mut fields) =
        (surface.words(Generation::Gfx11), Fields { dim: 1, dmask: 1, ..Fields::default() });
    change(&mut words, &mut fields);
    for (n, word) in words.into_iter().enumerate() {
        b.rig.w.set_s32(8 + n as u16, word);
    }
    b.scramble(10..12);
    match b.rig.try_run(&encode(&b.rig, "image_load", fields)) {
        Ok(()) => String::new(),
        Err(FaultCause::Unimplemented { detail }) => detail,
        Err(other) => panic!("{other:?}"),
    }
}

#[test]
fn what_is_not_modelled_faults_by_name() {
    assert_eq!(faults(|_, _| {}), "");
    for (says, change) in [
        ("tiled images", (|words, _| words[3] |= 9 << 20) as fn(&mut [u32; 8], &mut Fields)),
        ("last level is before the first", |words, _| words[3] |= 1 << 12),
        ("compressed", |words, _| words[6] |= 1 << 21),
        ("type 13", |words, _| words[3] |= 4 << 28),
        ("several samples", |words, f| {
            words[3] |= 7 << 28;
            f.dim = 6;
        }),
        ("format 67", |words, _| words[1] = words[1] & !(0xff << 20) | 67 << 20),
        ("format 58", |words, _| words[1] = words[1] & !(0xff << 20) | 58 << 20),
        ("no multiple of 256", |words, _| words[4] = 99),
        ("tfe", |_, f| f.tfe = true),
    ] {
        let detail = faults(change);
        assert!(detail.contains(says), "{detail:?} has to say {says:?}");
    }
    // RDNA3 ISA, table 50: nothing is bound.
    assert_eq!(faults(|words, _| *words = [0; 8]), "");
    // RDNA3 ISA, table 48: without components, a register gets 0.
    assert_eq!(faults(|_, f| f.dmask = 0), "");
}

#[test]
fn a_texel_outside_of_every_allocation_faults() {
    let mut b = MemoryModel::gfx11(207).next().unwrap();
    let mut surface = Surface::random(&mut b, &format_of(20));
    surface.base = b.model.bases[0] + (1 << 40);
    let (_, f) = surface.bind(&mut b, "image_load");
    let f = Fields { a16: false, ..f };
    (10..14).for_each(|v| (0..LANES).for_each(|lane| b.set(v, lane, 0)));
    for name in ["image_load", "image_store", "image_atomic_add"] {
        let f = Fields { dmask: 1, ..f };
        let ended = b.rig.try_run(&encode(&b.rig, name, f));
        assert!(matches!(ended, Err(FaultCause::OutOfBounds { .. })), "{name}: {ended:?}");
    }
}
