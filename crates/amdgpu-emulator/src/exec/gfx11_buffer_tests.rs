//! Compares MUBUF and MTBUF with RDNA's descriptors with the document's formulas in 128 bits, and with a list of the formats.

use amdgpu_isa::{Encoding, Target};

use crate::exec::buffer_tests::{component, nearest, place, to_store};
use crate::exec::gfx11_tests::BUFFER;
use crate::exec::memory_model::{At, BufferFields, MemoryModel, Shape, buffer};
use crate::exec::number::exact;
use crate::report::fault::FaultCause;
use crate::state::wave::{LANES, sreg};
use crate::testing::test_wave::operation;

crate::testing::tally::verified!(ranges, loads_to_lds, format_loads, format_stores);

/// The fields of a descriptor and of the instruction.
#[derive(Debug, Clone, Copy)]
struct Resource {
    base: u64,
    stride: u32,
    /// The number of gfx12's scale, and the factor (RDNA4 ISA, table 57).
    scale: (u32, u32),
    swizzle: u32,
    is_gfx10: bool,
    records: u32,
    format: u32,
    index_stride: u32,
    add_tid: bool,
    check: u32,
    soffset: u32,
    imm: u32,
    offen: bool,
    idxen: bool,
}

impl Resource {
    fn random(b: &mut MemoryModel) -> Resource {
        let bits = b.random.next();
        let flag = |n: u32| bits >> n & 1 != 0;
        let [check, swizzle] = [bits >> 8, bits >> 10].map(|bits| bits as u32 & 3);
        let swizzle = match flag(0) {
            // One bit, with elements of 4 bytes; the bit before it is the cache's.
            true if b.rig.target.is_gfx10() => 2 | swizzle & 1,
            true if swizzle != 2 => swizzle,
            _ => 0,
        };
        let stride = if flag(6) { 0 } else { 16 * (1 + b.below(3) as u32) };
        let scale = [(0, 1), (1, 4), (2, 8), (3, 32)][b.below(4)];
        let scale = if b.rig.target.is_gfx12() && stride % scale.1 == 0 { scale } else { (0, 1) };
        Resource {
            base: b.model.bases[0] + 256,
            stride,
            scale,
            swizzle,
            is_gfx10: b.rig.target.is_gfx10(),
            records: b.below(if check == 3 && !(swizzle != 0 && stride != 0) { 300 } else { 20 }) as u32,
            format: if b.below(8) == 0 { 0 } else { 22 },
            index_stride: b.below(4) as u32,
            add_tid: flag(2) && flag(3),
            check,
            soffset: 4 * b.below(16) as u32,
            imm: b.below(24) as u32,
            offen: flag(4),
            idxen: flag(5),
        }
    }

    fn words(self) -> [u32; 4] {
        let select = 4 | 5 << 3 | 6 << 6 | 7 << 9;
        [
            self.base as u32,
            (self.base >> 32) as u32 | (self.stride / self.scale.1) << 16 | self.swizzle << 30,
            self.records,
            select
                | self.format << 12
                | self.scale.0 << 18
                | self.index_stride << 21
                | u32::from(self.add_tid) << 23
                | self.check << 28,
        ]
    }

    /// Returns a lane's index and offset, for values in its registers.
    fn index_and_offset(self, lane: usize, index: u32, offset: u32) -> (u128, u128) {
        let index =
            if self.idxen { u128::from(index) } else { 0 } + if self.add_tid { lane as u128 } else { 0 };
        (index, if self.offen { u128::from(offset) } else { 0 } + u128::from(self.imm))
    }

    /// RDNA3 ISA, 9.4 and 9.4.2.
    fn address(self, (index, offset): (u128, u128)) -> u64 {
        let (stride, together) = (u128::from(self.stride), 8u128 << self.index_stride);
        let element = match self.swizzle {
            1 => 4,
            _ if self.is_gfx10 => 4,
            _ => 16,
        };
        let inside = match self.swizzle {
            0 => index * stride + offset,
            _ => {
                (index / together * stride + offset / element * element) * together
                    + index % together * element
                    + offset % element
            }
        };
        (u128::from(self.base) + u128::from(self.soffset) + inside) as u64
    }

    /// RDNA3 ISA, table 46, and "Unbound resources".
    fn in_range(self, (index, offset): (u128, u128), size: u32) -> bool {
        let end = offset + u128::from(size);
        let (records, stride) = (u128::from(self.records), u128::from(self.stride));
        if self.format == 0 && !self.add_tid {
            return false;
        }
        match self.check {
            0 => index < records && end <= stride,
            1 => index < records,
            2 => records > 0,
            _ if self.swizzle != 0 && stride != 0 => index < records && end <= stride,
            _ => end + u128::from(self.soffset) <= records,
        }
    }
}

fn ranges() {
    let mut ran = [[0; 2]; 4];
    for mut b in MemoryModel::rdna(91) {
        let target = b.rig.target;
        for row in Encoding::Mubuf.rows().iter().filter(|row| row.opcode(target).is_some()) {
            let operation = operation(row);
            let Some(shape) = operation.strip_prefix("buffer_").and_then(Shape::of) else { continue };
            for _ in 0..60 {
                if let Some((check, hits)) = access(&mut b, row.name, shape) {
                    ran[check as usize][usize::from(hits)] += 1;
                }
            }
        }
    }
    assert!(ran.iter().flatten().all(|count| *count > 50), "{ran:?}");
}

/// Executes a load or store through a random descriptor. Returns the check, and whether a lane was in range; `None` if a lane was in
/// range but outside of memory.
fn access(b: &mut MemoryModel, name: &str, shape: Shape) -> Option<(u32, bool)> {
    b.scramble(10..40);
    let bits = b.exec();
    b.rig.w.set_exec(bits);
    let exec = bits & b.rig.w.all;
    let resource = Resource::random(b);
    for (n, word) in resource.words().into_iter().enumerate() {
        b.rig.w.set_s32(8 + n as u16, word);
    }
    b.rig.w.set_s32(6, resource.soffset);
    let unit = shape.bytes.min(4) as u32;
    let (before, mut fits, mut hits) = (b.model.clone(), true, false);
    let mut want = Vec::new();
    for lane in 0..LANES {
        let (index, offset) = (b.below(22) as u32, 4 * b.below(16) as u32 + b.below(2) as u32);
        b.set(10, lane, if resource.idxen { index } else { offset });
        b.set(11, lane, offset);
        let old = b.get(30, lane, shape.dwords());
        want.push(old);
        if exec >> lane & 1 == 0 {
            continue;
        }
        let (index, offset) = resource.index_and_offset(lane, index, offset);
        let mut memory = 0;
        for extra in (0..shape.bytes).step_by(4) {
            let at = (index, offset + extra as u128);
            if !resource.in_range(at, unit) {
                continue;
            }
            let Some(at) = place(b, resource.address(at), unit as usize) else {
                fits = false;
                continue;
            };
            hits = true;
            if shape.load {
                memory |= b.model.read(at, lane, unit as usize) << (8 * extra);
            } else {
                b.model.write(at, lane, unit as usize, shape.stored(old) >> (8 * extra));
            }
        }
        if shape.load {
            want[lane] = shape.loaded(memory, old, false);
        }
    }
    let fields =
        BufferFields { offset: resource.imm, offen: resource.offen, idxen: resource.idxen, ..BUFFER };
    let words = buffer(&b.rig, Encoding::Mubuf, name, fields);
    if !fits {
        let fault = b.rig.try_run(&words);
        assert!(matches!(fault, Err(FaultCause::OutOfBounds { .. })), "{name} {resource:?}: {fault:?}");
        b.model = before;
        b.fill();
        return None;
    }
    b.rig.run(&words);
    for (lane, want) in want.iter().enumerate() {
        assert_eq!(b.get(30, lane, shape.dwords()), *want, "{name} lane {lane} {resource:?}");
    }
    b.check(name);
    Some((resource.check, hits))
}

/// Loads to LDS, which of RDNA gfx10 alone has: each lane's dword is at its number, whatever is loaded, and what is out of range is 0.
fn loads_to_lds() {
    let names = [
        "buffer_load_ubyte",
        "buffer_load_sbyte",
        "buffer_load_ushort",
        "buffer_load_sshort",
        "buffer_load_dword",
    ];
    for mut b in MemoryModel::rdna(94).filter(|b| b.rig.target.is_gfx10()) {
        for name in names {
            let shape = Shape::of(&name["buffer_".len()..]).unwrap();
            for _ in 0..16 {
                b.scramble(10..40);
                let exec = b.exec();
                b.rig.w.set_exec(exec);
                let [records, m0, imm] = [250, 1000, 24].map(|n| b.below(n));
                b.rig.w.set_s64(8, b.model.bases[0]);
                b.rig.w.set_s32(10, records as u32);
                b.rig.w.set_s32(11, 3 << 28 | 22 << 12);
                b.rig.w.set_s32(6, 0);
                // Bits above the address are ignored.
                b.rig.w.set_s32(sreg::M0, m0 as u32 | 0xffff_0000);
                for lane in 0..LANES {
                    let offset = b.below(256);
                    b.set(10, lane, offset as u32);
                    if exec >> lane & 1 == 0 {
                        continue;
                    }
                    let at = offset + imm;
                    let memory = match at + shape.bytes <= records {
                        true => b.model.read(At::Global(0, at), lane, shape.bytes),
                        false => 0,
                    };
                    let to = At::Lds(m0 + imm + 4 * lane);
                    b.model.write(to, lane, 4, shape.loaded(memory, 0, false));
                }
                let fields = BufferFields { offset: imm as u32, lds: true, ..BUFFER };
                let words = buffer(&b.rig, Encoding::Mubuf, name, fields);
                b.rig.run(&words);
                b.check(name);
            }
        }
    }
}

/// The formats in the order of their numbers, from 1 on (RDNA3 ISA, table 52).
const FORMATS: &str = "8_UNORM 8_SNORM 8_USCALED 8_SSCALED 8_UINT 8_SINT \
    16_UNORM 16_SNORM 16_USCALED 16_SSCALED 16_UINT 16_SINT 16_FLOAT \
    8_8_UNORM 8_8_SNORM 8_8_USCALED 8_8_SSCALED 8_8_UINT 8_8_SINT 32_UINT 32_SINT 32_FLOAT \
    16_16_UNORM 16_16_SNORM 16_16_USCALED 16_16_SSCALED 16_16_UINT 16_16_SINT 16_16_FLOAT \
    10_11_11_FLOAT 11_11_10_FLOAT 10_10_10_2_UNORM 10_10_10_2_SNORM 10_10_10_2_UINT 10_10_10_2_SINT \
    2_10_10_10_UNORM 2_10_10_10_SNORM 2_10_10_10_USCALED 2_10_10_10_SSCALED 2_10_10_10_UINT 2_10_10_10_SINT \
    8_8_8_8_UNORM 8_8_8_8_SNORM 8_8_8_8_USCALED 8_8_8_8_SSCALED 8_8_8_8_UINT 8_8_8_8_SINT \
    32_32_UINT 32_32_SINT 32_32_FLOAT \
    16_16_16_16_UNORM 16_16_16_16_SNORM 16_16_16_16_USCALED 16_16_16_16_SSCALED 16_16_16_16_UINT 16_16_16_16_SINT \
    16_16_16_16_FLOAT 32_32_32_UINT 32_32_32_SINT 32_32_32_FLOAT 32_32_32_32_UINT 32_32_32_32_SINT 32_32_32_32_FLOAT";

/// Those of gfx10 (RDNA2 ISA, "Memory buffer formats").
const FORMATS_OF_GFX10: &str = "8_UNORM 8_SNORM 8_USCALED 8_SSCALED 8_UINT 8_SINT \
    16_UNORM 16_SNORM 16_USCALED 16_SSCALED 16_UINT 16_SINT 16_FLOAT \
    8_8_UNORM 8_8_SNORM 8_8_USCALED 8_8_SSCALED 8_8_UINT 8_8_SINT 32_UINT 32_SINT 32_FLOAT \
    16_16_UNORM 16_16_SNORM 16_16_USCALED 16_16_SSCALED 16_16_UINT 16_16_SINT 16_16_FLOAT \
    10_11_11_UNORM 10_11_11_SNORM 10_11_11_USCALED 10_11_11_SSCALED 10_11_11_UINT 10_11_11_SINT 10_11_11_FLOAT \
    11_11_10_UNORM 11_11_10_SNORM 11_11_10_USCALED 11_11_10_SSCALED 11_11_10_UINT 11_11_10_SINT 11_11_10_FLOAT \
    10_10_10_2_UNORM 10_10_10_2_SNORM 10_10_10_2_USCALED 10_10_10_2_SSCALED 10_10_10_2_UINT 10_10_10_2_SINT \
    2_10_10_10_UNORM 2_10_10_10_SNORM 2_10_10_10_USCALED 2_10_10_10_SSCALED 2_10_10_10_UINT 2_10_10_10_SINT \
    8_8_8_8_UNORM 8_8_8_8_SNORM 8_8_8_8_USCALED 8_8_8_8_SSCALED 8_8_8_8_UINT 8_8_8_8_SINT \
    32_32_UINT 32_32_SINT 32_32_FLOAT \
    16_16_16_16_UNORM 16_16_16_16_SNORM 16_16_16_16_USCALED 16_16_16_16_SSCALED 16_16_16_16_UINT 16_16_16_16_SINT \
    16_16_16_16_FLOAT 32_32_32_UINT 32_32_32_SINT 32_32_32_FLOAT 32_32_32_32_UINT 32_32_32_32_SINT 32_32_32_32_FLOAT";

/// Returns each format's number, the sizes of its components from the lowest bits on, and gfx9's number of its kind of numbers.
pub(crate) fn formats(target: Target) -> Vec<(u32, Vec<u32>, u32)> {
    let (list, count) = if target.is_gfx10() { (FORMATS_OF_GFX10, 77) } else { (FORMATS, 63) };
    let kinds = ["UNORM", "SNORM", "USCALED", "SSCALED", "UINT", "SINT", "", "FLOAT"];
    let formats: Vec<_> = (1..)
        .zip(list.split_whitespace())
        .map(|(n, name)| {
            let sizes = name.split('_').rev().filter_map(|part| part.parse().ok()).collect();
            let kind = name.rsplit('_').next().unwrap();
            (n, sizes, kinds.iter().position(|of| *of == kind).unwrap() as u32)
        })
        .collect();
    assert_eq!(formats.len(), count);
    formats
}

/// Returns the instructions with a format: the encoding, the name, whether they have halves, whether high ones, the number of
/// components.
fn instructions(b: &MemoryModel, kind: &str) -> Vec<(Encoding, &'static str, bool, bool, usize)> {
    let mut all = Vec::new();
    for (encoding, prefix) in [(Encoding::Mtbuf, "tbuffer"), (Encoding::Mubuf, "buffer")] {
        for row in encoding.rows().iter().filter(|row| row.opcode(b.rig.target).is_some()) {
            let operation = operation(row);
            if let Some(rest) = operation.strip_prefix(&format!("{prefix}_{kind}_format_")) {
                let count = rest.rsplit('_').next().unwrap().len();
                all.push((encoding, row.name, rest.starts_with("d16"), rest.starts_with("d16_hi"), count));
            }
        }
    }
    assert_eq!(all.len(), 17);
    all
}

/// Writes a raw descriptor of `records` bytes, and the offsets of three lanes, of which the last is not in range.
fn bind(b: &mut MemoryModel, size: u32, word3: u32) {
    b.scramble(10..40);
    b.rig.w.set_s64(8, b.model.bases[0]);
    b.rig.w.set_s32(10, 3 * size - 1);
    b.rig.w.set_s32(11, word3 | 3 << 28);
    b.rig.w.set_s32(6, 0);
    b.rig.w.set_exec(7);
    for lane in 0..3 {
        b.set(10, lane, lane as u32 * size);
    }
}

fn format_loads() {
    for mut b in MemoryModel::rdna(92) {
        let is_gfx10 = b.rig.target.is_gfx10();
        for (encoding, name, half, high, count) in instructions(&b, "load") {
            for (n, bits, number) in formats(b.rig.target) {
                let size = bits.iter().sum::<u32>() / 8;
                let select = [4, 5, 6, 7, 1, 0][b.below(6)];
                let typed = encoding == Encoding::Mtbuf;
                let format = if typed { 1 } else { n };
                bind(&mut b, size, select | 5 << 3 | 6 << 6 | 7 << 9 | format << 12);
                let words = buffer(&b.rig, encoding, name, BufferFields { format: (n, 0), ..BUFFER });
                b.rig.run(&words);
                for lane in 0..3 {
                    let memory = b.model.read(At::Global(0, lane * size as usize), lane, size as usize);
                    let mut values = [0.0, 0.0, 0.0, 1.0];
                    let mut at = 0;
                    for (n, bits) in bits.iter().enumerate() {
                        values[n] = component(memory >> at & ((1 << bits) - 1), *bits, number).unwrap();
                        at += bits;
                    }
                    let mut want = if lane == 2 { [0.0; 4] } else { values };
                    if !typed {
                        want[0] = match (select, lane) {
                            // On gfx10 all that is out of range is 0, as on gfx9.
                            (1, 2) if is_gfx10 => 0.0,
                            (1, _) => 1.0,
                            (0, _) | (_, 2) => 0.0,
                            (n, _) => values[n as usize - 4],
                        };
                    }
                    for (n, want) in want.into_iter().enumerate().take(count) {
                        let got = if half {
                            let register = b.rig.w.v(30 + n as u16 / 2).flat()[lane];
                            register >> (16 * if high { 1 } else { n % 2 }) & 0xffff
                        } else {
                            b.rig.w.v(30 + n as u16).flat()[lane]
                        };
                        let wide = bits[0] == 32 && !is_gfx10;
                        assert!(
                            holds(got, want, number, half, wide),
                            "{name} {bits:?} {number} select {select}: lane {lane} component {n} is {got:x}, not {want}"
                        );
                    }
                }
            }
        }
    }
}

/// Returns whether a register, or half of it, has a value. Floats of 32 bits in memory are rounded to halves towards zero, other
/// numbers to the nearest (RDNA3 ISA, 9.3.1). `wide` says that they have 32 bits, and that the target does so.
pub(crate) fn holds(register: u32, want: f64, number: u32, half: bool, wide: bool) -> bool {
    match (number, half) {
        (4, false) => register == want as u32,
        (5, false) => register as i32 == want as i32,
        (4, true) => register == want as u32 & 0xffff,
        (5, true) => register == want as i32 as u32 & 0xffff,
        (_, false) => {
            let got = f32::from_bits(register);
            got.is_nan() && want.is_nan() || got == want as f32
        }
        (_, true) => {
            let round = if wide { 3 } else { 0 };
            let got = half::f16::from_bits(register as u16);
            let bits = exact::convert(32, 16, round, u64::from((want as f32).to_bits()));
            got.is_nan() && want.is_nan() || got == half::f16::from_bits(bits as u16)
        }
    }
}

fn format_stores() {
    for mut b in MemoryModel::rdna(93) {
        for (encoding, name, half, high, count) in instructions(&b, "store") {
            for (n, bits, number) in formats(b.rig.target) {
                let size = bits.iter().sum::<u32>() / 8;
                let format = if encoding == Encoding::Mtbuf { 1 } else { n };
                bind(&mut b, size, format << 12);
                let mut wanted = Vec::new();
                for lane in 0..3 {
                    let mut values = Vec::new();
                    for n in 0..count {
                        let value = to_store(&mut b.random, number);
                        let (register, value) = register(value, number, half);
                        values.push(value);
                        let shift = if half { 16 * u32::from(high || n % 2 == 1) } else { 0 };
                        let at = 30 + if half { n as u16 / 2 } else { n as u16 };
                        let keep = if half { !(0xffff << shift) } else { 0 };
                        let old = b.rig.w.v(at).flat()[lane];
                        b.set(at, lane, old & keep | register << shift);
                    }
                    wanted.push(values);
                }
                let before = b.model.clone();
                let words = buffer(&b.rig, encoding, name, BufferFields { format: (n, 0), ..BUFFER });
                b.rig.run(&words);
                b.rig.space.read(b.model.bases[0], &mut b.model.global[0]).unwrap();
                for (lane, values) in wanted.iter().enumerate().take(2) {
                    let memory = b.model.read(At::Global(0, lane * size as usize), lane, size as usize);
                    let mut at = 0;
                    for (n, bits) in bits.iter().enumerate() {
                        let raw = memory >> at & ((1 << bits) - 1);
                        at += bits;
                        let value = values.get(n).copied().unwrap_or(0.0);
                        nearest(raw, value, *bits, number, &format!("{name} {bits} {number}"));
                    }
                }
                let end = 2 * size as usize;
                assert!(b.model.global[0][end..] == before.global[0][end..], "{name} {bits:?} {number}");
            }
        }
    }
}

/// Returns the bits of a register, or of half of one, that has a value, and the value that it then has.
pub(crate) fn register(value: f64, number: u32, half: bool) -> (u32, f64) {
    match (number, half) {
        (4, false) => (value as i64 as u32, f64::from(value as i64 as u32)),
        (5, false) => (value as i32 as u32, f64::from(value as i32)),
        (4, true) => (u32::from(value as i64 as u16), f64::from(value as i64 as u16)),
        (5, true) => (u32::from(value as i64 as u16), f64::from(value as i64 as i16)),
        (_, false) => ((value as f32).to_bits(), f64::from(value as f32)),
        (_, true) => {
            let value = half::f16::from_f32(value as f32);
            (value.to_bits().into(), value.to_f64())
        }
    }
}
