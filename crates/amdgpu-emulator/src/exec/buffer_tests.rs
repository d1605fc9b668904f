//! Compares MUBUF and MTBUF with the address formulas of descriptors on wide integers, and formats with bit strings.

use amdgpu_isa::{Encoding, Target};
use half::f16;

use crate::exec::memory_model::{At, BufferFields, GLOBAL, MemoryModel, SCRATCH, Shape, buffer};
use crate::memory::apertures::SCRATCH_BASE;
use crate::report::access::{AccessKind, LaneAddress, MemorySpace};
use crate::report::fault::FaultCause;
use crate::state::wave::{LANES, sreg};
use crate::testing::test_wave::Random;

const FIELDS: BufferFields = BufferFields {
    offset: 0,
    address: 10,
    data: 30,
    resource: 8,
    soffset: 6,
    offen: false,
    idxen: false,
    glc: false,
    lds: false,
    format: (0, 0),
};

crate::testing::tally::verified!(
    loads_and_stores,
    scratch_through_its_descriptor,
    loads_to_lds,
    format_loads,
    format_stores
);

/// The fields of a descriptor and of the instruction.
#[derive(Debug, Clone, Copy)]
struct Resource {
    base: u64,
    stride: u64,
    swizzle: bool,
    records: u32,
    index_stride: u64,
    add_tid: bool,
    soffset: u32,
    imm: u32,
    offen: bool,
    idxen: bool,
}

impl Resource {
    fn random(b: &mut MemoryModel) -> Resource {
        let bits = b.random.next();
        let flag = |n: u32| bits >> n & 1 != 0;
        let (swizzle, add_tid, offen, idxen) = (flag(0) && flag(1), flag(2) && flag(3), flag(4), flag(5));
        let stride = if flag(6) { 0 } else { 4 * (b.below(8) as u64 + 1) };
        Resource {
            base: b.model.bases[0] + 256,
            stride,
            swizzle,
            records: 0,
            index_stride: 8 << b.below(4),
            add_tid,
            soffset: 4 * b.below(16) as u32,
            imm: b.below(64) as u32,
            offen,
            idxen,
        }
    }

    fn words(self) -> [u32; 4] {
        let index_stride = self.index_stride.trailing_zeros() - 3;
        [
            self.base as u32,
            (self.base >> 32) as u32 | (self.stride as u32) << 16 | u32::from(self.swizzle) << 31,
            self.records,
            index_stride << 21 | u32::from(self.add_tid) << 23,
        ]
    }

    /// Returns the address of byte `extra` of a lane's data, for `index` and `offset` in its registers.
    fn address(self, lane: usize, index: u32, offset: u32, extra: u32) -> u64 {
        let index =
            if self.idxen { u128::from(index) } else { 0 } + if self.add_tid { lane as u128 } else { 0 };
        let offset = if self.offen { u128::from(offset) } else { 0 } + u128::from(self.imm + extra);
        let (stride, together) = (u128::from(self.stride), u128::from(self.index_stride));
        let inside = if self.swizzle {
            // Blocks of `together` records. A block has the first 4 bytes of each record, then the next 4 bytes of
            // each, and so on.
            let block = index / together * stride * together;
            let element = offset / 4 * 4 * together;
            block + element + index % together * 4 + offset % 4
        } else {
            index * stride + offset
        };
        (u128::from(self.base) + u128::from(self.soffset) + inside) as u64
    }

    fn in_range(self, lane: usize, index: u32, offset: u32, extra: u32, size: u32) -> bool {
        if self.idxen && self.stride != 0 {
            u64::from(index) + if self.add_tid { lane as u64 } else { 0 } < self.records.into()
        } else if self.add_tid && !self.idxen {
            true
        } else {
            let offset = if self.offen { u64::from(offset) } else { 0 };
            let scalar = if self.swizzle { 0 } else { self.soffset };
            offset + u64::from(self.imm + extra + size + scalar) <= self.records.into()
        }
    }

    fn fields(self) -> BufferFields {
        BufferFields { offset: self.imm, offen: self.offen, idxen: self.idxen, ..FIELDS }
    }

    /// Writes the descriptor to s8, and random indices and offsets to v10 and v11. Returns the latter.
    fn load(&mut self, b: &mut MemoryModel) -> [(u32, u32); LANES] {
        let limit = match (self.idxen && self.stride != 0, self.swizzle) {
            (true, _) => 20,
            _ => 300,
        };
        self.records = b.below(limit) as u32;
        let pattern = b.below(3);
        let first = b.below(100);
        let values: [(u32, u32); LANES] = std::array::from_fn(|lane| match pattern {
            0 => (b.below(24) as u32, b.below(200) as u32),
            1 => (lane as u32 % 24, 4 * lane as u32),
            _ => ((first % 24) as u32, first as u32),
        });
        for (lane, (index, offset)) in values.into_iter().enumerate() {
            let pair = if self.idxen { [index, offset] } else { [offset, 0] };
            b.set(10, lane, pair[0]);
            b.set(11, lane, pair[1]);
        }
        for (n, word) in self.words().into_iter().enumerate() {
            b.rig.w.set_s32(8 + n as u16, word);
        }
        b.rig.w.set_s32(6, self.soffset);
        values
    }
}

/// Returns the place of an address, if it is in the first allocation.
pub(crate) fn place(b: &MemoryModel, address: u64, size: usize) -> Option<At> {
    let byte = address.checked_sub(b.model.bases[0])?;
    (byte + size as u64 <= GLOBAL).then_some(At::Global(0, byte as usize))
}

fn loads_and_stores() {
    let mut ran = 0;
    for mut b in MemoryModel::all(31) {
        for name in b.names(Encoding::Mubuf) {
            let Some(shape) = name.strip_prefix("buffer_").and_then(Shape::of) else { continue };
            for _ in 0..60 {
                let exec = b.exec();
                b.scramble(10..40);
                let mut resource = Resource::random(&mut b);
                let values = resource.load(&mut b);
                let unit = shape.bytes.min(4);
                let (before, mut fits) = (b.model.clone(), true);
                let mut want = Vec::new();
                for (lane, (index, offset)) in values.into_iter().enumerate() {
                    let old = b.get(30, lane, shape.dwords());
                    want.push(old);
                    if exec >> lane & 1 == 0 {
                        continue;
                    }
                    let mut memory = 0;
                    for extra in (0..shape.bytes).step_by(4) {
                        if !resource.in_range(lane, index, offset, extra as u32, unit as u32) {
                            continue;
                        }
                        let address = resource.address(lane, index, offset, extra as u32);
                        let Some(at) = place(&b, address, unit) else {
                            fits = false;
                            continue;
                        };
                        if shape.load {
                            memory |= b.model.read(at, lane, unit) << (8 * extra);
                        } else {
                            b.model.write(at, lane, unit, shape.stored(old) >> (8 * extra));
                        }
                    }
                    if shape.load {
                        want[lane] = shape.loaded(memory, old, b.sram_ecc());
                    }
                }
                b.rig.w.set_exec(exec);
                let words = buffer(&b.rig, Encoding::Mubuf, name, resource.fields());
                if !fits {
                    // A lane is in the buffer's range but outside of the allocation.
                    let fault = b.rig.try_run(&words);
                    assert!(
                        matches!(fault, Err(FaultCause::OutOfBounds { space: MemorySpace::Global, .. })),
                        "{name}: {fault:?}"
                    );
                    b.model = before;
                    b.fill();
                    continue;
                }
                ran += 1;
                b.rig.run(&words);
                for (lane, want) in want.iter().enumerate() {
                    let got = b.get(30, lane, shape.dwords());
                    assert_eq!(got, *want, "{name} lane {lane} {resource:?}: {got:x} {want:x}");
                }
                b.check(name);
            }
        }
    }
    assert!(ran > 1000, "only {ran} trials were in bounds");
}

fn scratch_through_its_descriptor() {
    for mut b in MemoryModel::all(32) {
        if b.rig.target != Target::Gfx90a {
            continue;
        }
        // The descriptor that kernels get: add_tid, index stride 64, swizzled.
        b.rig.w.set_s64(8, SCRATCH_BASE | 1 << 63);
        b.rig.w.set_s64(10, u64::from(SCRATCH * LANES as u32) | 0x00e8_0000 << 32);
        for name in b.names(Encoding::Mubuf) {
            let Some(shape) = name.strip_prefix("buffer_").and_then(Shape::of) else { continue };
            for _ in 0..24 {
                let exec = b.exec();
                b.scramble(10..40);
                let offen = b.below(2) == 0;
                let mut places = b.places(SCRATCH as usize, shape.bytes, shape.bytes.min(4));
                if !offen {
                    places = [places[0]; LANES];
                }
                // The stack pointer counts bytes of all lanes.
                let pointer = 4 * b.below(places.iter().min().unwrap() / 4 + 1) as u32;
                b.rig.w.set_s32(6, pointer * LANES as u32);
                let imm = b.below((*places.iter().min().unwrap() - pointer as usize).max(1));
                let imm = if offen { imm } else { places[0] - pointer as usize };
                let mut want = Vec::new();
                for lane in 0..LANES {
                    if offen {
                        b.set(10, lane, places[lane] as u32 - pointer - imm as u32);
                    }
                    let old = b.get(30, lane, shape.dwords());
                    want.push(old);
                    if exec >> lane & 1 != 0 {
                        let at = At::Scratch(places[lane]);
                        if shape.load {
                            want[lane] = shape.loaded(b.model.read(at, lane, shape.bytes), old, b.sram_ecc());
                        } else {
                            b.model.write(at, lane, shape.bytes, shape.stored(old));
                        }
                    }
                }
                b.rig.w.set_exec(exec);
                let fields = BufferFields { offset: imm as u32, offen, ..FIELDS };
                let words = buffer(&b.rig, Encoding::Mubuf, name, fields);
                b.rig.run(&words);
                for (lane, want) in want.iter().enumerate() {
                    assert_eq!(b.get(30, lane, shape.dwords()), *want, "{name} lane {lane}");
                }
                b.check(name);
            }
            scratch_of_other_lanes(&mut b, name, &shape);
        }
    }
}

/// Accesses past the end of the lane's private memory, and to that of other lanes, are faults.
fn scratch_of_other_lanes(b: &mut MemoryModel, name: &str, shape: &Shape) {
    // Past the end: a stack overflow.
    let (size, access) = (shape.bytes as u32, if shape.load { AccessKind::Read } else { AccessKind::Write });
    b.rig.w.set_s32(6, (SCRATCH - size + 4) / 4 * 4 * LANES as u32);
    b.rig.w.set_exec(!0);
    let words = buffer(&b.rig, Encoding::Mubuf, name, BufferFields { offset: 3, ..FIELDS });
    let Err(FaultCause::OutOfBounds { access: a, space: MemorySpace::Scratch, size: s, lanes }) =
        b.rig.try_run(&words)
    else {
        panic!("{name} must fault")
    };
    assert_eq!((a, s, lanes.len()), (access, size, 16));
    // Into another lane's memory: by a scalar offset that is not a multiple of 256, or by an index.
    b.rig.w.set_exec(1 << 63 | 1 << 5);
    b.rig.w.set_s32(6, 8);
    let to = |lanes: [(u8, u64); 2]| {
        Vec::from(lanes.map(|(lane, address)| LaneAddress { lane: Some(lane), address }))
    };
    let other =
        |soffset, lanes| Err(FaultCause::OtherLanesScratch { access, size, soffset, lanes: to(lanes) });
    assert_eq!(b.rig.try_run(&words), other(8, [(5, 7), (63, 1)]), "{name}");
    b.rig.w.set_s32(6, 256);
    let fields = BufferFields { offset: 3, idxen: true, ..FIELDS };
    let words = buffer(&b.rig, Encoding::Mubuf, name, fields);
    b.rig.w.v_mut(FIELDS.address as u16).flat_mut().fill(1);
    assert_eq!(b.rig.try_run(&words), other(256, [(5, 6), (63, 0)]), "{name}");
    // An index of 0, and no active lanes.
    b.rig.w.v_mut(FIELDS.address as u16).flat_mut().fill(0);
    if shape.load {
        b.rig.run(&words);
    }
    b.rig.w.set_exec(0);
    b.rig.w.set_s32(6, 8);
    b.rig.run(&words);
}

fn loads_to_lds() {
    for mut b in MemoryModel::all(33) {
        let since_gfx950 = b.rig.target == Target::Gfx950;
        let mut names = vec![
            "buffer_load_ubyte",
            "buffer_load_sbyte",
            "buffer_load_ushort",
            "buffer_load_sshort",
            "buffer_load_dword",
        ];
        if since_gfx950 {
            names.extend(["buffer_load_dwordx3", "buffer_load_dwordx4"]);
        }
        for name in names {
            let shape = Shape::of(&name[7..]).unwrap();
            for _ in 0..16 {
                let exec = b.exec();
                b.scramble(10..40);
                let mut resource = Resource {
                    stride: 0,
                    swizzle: false,
                    add_tid: false,
                    offen: true,
                    idxen: false,
                    ..Resource::random(&mut b)
                };
                let values = resource.load(&mut b);
                let m0 = b.below(1000) as u32;
                // Bits above the address are ignored.
                b.rig.w.set_s32(sreg::M0, m0 | if since_gfx950 { 0xfffc_0000 } else { 0xffff_0000 });
                for (lane, (index, offset)) in
                    values.into_iter().enumerate().filter(|(l, _)| exec >> l & 1 != 0)
                {
                    let mut value = 0;
                    let unit = shape.bytes.min(4);
                    for extra in (0..shape.bytes).step_by(4) {
                        if resource.in_range(lane, index, offset, extra as u32, unit as u32) {
                            let address = resource.address(lane, index, offset, extra as u32);
                            let part = b.model.read(place(&b, address, unit).unwrap(), lane, unit);
                            value |= part << (8 * extra);
                        }
                    }
                    let stride = if shape.bytes > 8 { 16 } else { 4 };
                    let to = At::Lds((m0 + resource.imm) as usize + stride * lane);
                    b.model.write(to, lane, shape.bytes.max(4), shape.loaded(value, 0, true));
                }
                b.rig.w.set_exec(exec);
                let fields = BufferFields { lds: true, ..resource.fields() };
                let words = buffer(&b.rig, Encoding::Mubuf, name, fields);
                b.rig.run(&words);
                b.check(name);
            }
        }
    }
}

#[test]
fn atomics_out_of_range_do_nothing() {
    for mut b in MemoryModel::all(34) {
        b.scramble(10..40);
        let mut resource = Resource {
            stride: 0,
            swizzle: false,
            add_tid: false,
            offen: true,
            idxen: false,
            soffset: 0,
            imm: 0,
            ..Resource::random(&mut b)
        };
        resource.load(&mut b);
        resource.records = 40;
        b.rig.w.set_s32(10, 40);
        b.rig.w.set_exec(!0);
        for lane in 0..LANES {
            b.set(10, lane, 4 * lane as u32);
        }
        let mut want = Vec::new();
        for lane in 0..LANES {
            let data = b.get(30, lane, 1);
            want.push(0);
            if lane < 10 {
                let at = place(&b, resource.base + 4 * lane as u64, 4).unwrap();
                want[lane] = b.model.read(at, lane, 4);
                b.model.write(at, lane, 4, want[lane] + data);
            }
        }
        let fields = BufferFields { glc: true, ..resource.fields() };
        let words = buffer(&b.rig, Encoding::Mubuf, "buffer_atomic_add", fields);
        b.rig.run(&words);
        for (lane, want) in want.iter().enumerate() {
            assert_eq!(b.get(30, lane, 1), *want, "lane {lane}");
        }
        b.check("buffer_atomic_add");
    }
}

/// Returns the number of bits of each component of a data format, from the ISA document's names read backwards.
pub(crate) fn components(data: u32) -> Vec<u32> {
    let name = [
        "",
        "8",
        "16",
        "8_8",
        "32",
        "16_16",
        "10_11_11",
        "11_11_10",
        "10_10_10_2",
        "2_10_10_10",
        "8_8_8_8",
        "32_32",
        "16_16_16_16",
        "32_32_32",
        "32_32_32_32",
        "",
    ][data as usize];
    name.split('_').rev().filter_map(|bits| bits.parse().ok()).collect()
}

/// Returns the value of a component; `None` for invalid formats.
pub(crate) fn component(raw: u128, bits: u32, number: u32) -> Option<f64> {
    let raw = raw as f64;
    let (all, half) = (2f64.powi(bits as i32), 2f64.powi(bits as i32 - 1));
    let signed = if raw >= half { raw - all } else { raw };
    Some(match number {
        0 => raw / (all - 1.0),
        1 => (signed / (half - 1.0)).max(-1.0),
        2 | 4 => raw,
        3 | 5 => signed,
        7 if bits == 32 => f32::from_bits(raw as u32).into(),
        7 if bits == 16 => f16::from_bits(raw as u16).to_f64(),
        7 if bits == 10 || bits == 11 => {
            let places = bits - 5;
            let (exponent, mantissa) =
                ((raw / 2f64.powi(places as i32)).floor(), raw % 2f64.powi(places as i32));
            let fraction = mantissa / 2f64.powi(places as i32);
            match exponent as i32 {
                0 => fraction * 2f64.powi(-14),
                31 if mantissa == 0.0 => f64::INFINITY,
                31 => f64::NAN,
                e => (1.0 + fraction) * 2f64.powi(e - 15),
            }
        }
        _ => return None,
    })
}

fn formats() -> impl Iterator<Item = (u32, u32)> {
    (1..15).flat_map(|data| [0, 1, 2, 3, 4, 5, 7].map(|number| (data, number))).filter(|(data, number)| {
        let bits = components(*data);
        // Normalised 32-bit and 8-bit float formats don't exist.
        !(bits.contains(&32) && *number < 4) && !(*number == 7 && (bits.contains(&8) || bits.contains(&2)))
    })
}

/// Returns whether a register, or half of it, has a value.
fn holds(register: u32, want: f64, number: u32, half: bool) -> bool {
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
            let got = f16::from_bits(register as u16);
            // Rounded through f32, the result of the conversion from the format.
            got.is_nan() && want.is_nan() || got == f16::from_f32(want as f32)
        }
    }
}

fn format_loads() {
    for mut b in MemoryModel::all(35) {
        for (encoding, prefix) in
            [(Encoding::Mtbuf, "tbuffer_load_format_"), (Encoding::Mubuf, "buffer_load_format_")]
        {
            for name in b.names(encoding) {
                let Some(rest) = name.strip_prefix(prefix) else { continue };
                let half = rest.starts_with("d16_");
                let high = rest.starts_with("d16_hi_");
                let count = rest.rsplit('_').next().unwrap().len();
                for (data, number) in formats() {
                    let bits = components(data);
                    let size = bits.iter().sum::<u32>() / 8;
                    // Only lanes 0 and 1 are in range: the last byte of lane 2 is not.
                    let records = 3 * size - 1;
                    let select = [4, 5, 6, 7, 1, 0][b.below(6)];
                    b.scramble(10..40);
                    b.rig.w.set_s64(8, b.model.bases[0]);
                    b.rig.w.set_s32(10, records);
                    let swizzle = select | 5 << 3 | 6 << 6 | 7 << 9;
                    b.rig.w.set_s32(
                        11,
                        if encoding == Encoding::Mubuf { swizzle | number << 12 | data << 15 } else { 0 },
                    );
                    b.rig.w.set_s32(6, 0);
                    b.rig.w.set_exec(7);
                    for lane in 0..3 {
                        b.set(10, lane, lane as u32 * size);
                    }
                    let old: Vec<u32> = (0..4).map(|n| b.rig.w.v(30 + n).flat()[1]).collect();
                    let fields = BufferFields { offen: true, format: (data, number), ..FIELDS };
                    let words = buffer(&b.rig, encoding, name, fields);
                    b.rig.run(&words);
                    for lane in 0..3 {
                        let memory = b.model.read(At::Global(0, lane * size as usize), lane, size as usize);
                        let mut values = [0.0, 0.0, 0.0, 1.0];
                        let mut at = 0;
                        for (n, bits) in bits.iter().enumerate() {
                            let raw = memory >> at & ((1 << bits) - 1);
                            values[n] = component(raw, *bits, number).unwrap();
                            at += bits;
                        }
                        if encoding == Encoding::Mubuf {
                            values[0] = match select {
                                0 => 0.0,
                                1 => 1.0,
                                n => values[n as usize - 4],
                            };
                        }
                        for (n, want) in values.into_iter().enumerate().take(count) {
                            let want = if lane == 2 { 0.0 } else { want };
                            let got = if half {
                                let register = b.rig.w.v(30 + n as u16 / 2).flat()[lane];
                                register >> (16 * if high { 1 } else { n % 2 }) & 0xffff
                            } else {
                                b.rig.w.v(30 + n as u16).flat()[lane]
                            };
                            assert!(
                                holds(got, want, number, half),
                                "{name} {data} {number}: lane {lane} component {n} is {got:x}, not {want}"
                            );
                        }
                    }
                    // Halves that are not loaded don't change, or with SRAM-ECC become 0.
                    if half && count % 2 == 1 {
                        let shift = if high { 0 } else { 16 };
                        let last = count / 2;
                        let old = if b.sram_ecc() { 0 } else { old[last] >> shift & 0xffff };
                        assert_eq!(b.rig.w.v(30 + last as u16).flat()[1] >> shift & 0xffff, old, "{name}");
                    }
                }
            }
        }
    }
}

/// Returns a number that the format may have to round or clamp.
pub(crate) fn to_store(random: &mut Random, number: u32) -> f64 {
    let n = random.next();
    let small = ((n >> 8) % 4001) as f64 / 1000.0 - 2.0;
    match (number, n % 4) {
        (0 | 1, _) => small,
        (2..=5, 0) => ((n >> 8) as u32 as i32).into(),
        (2..=5, _) => ((n >> 8) % 400) as f64 - 100.0,
        (_, 0) => f64::from(f32::from_bits((n >> 32) as u32)),
        _ => small * 2f64.powi((n >> 40) as i32 % 40 - 20),
    }
}

fn format_stores() {
    for mut b in MemoryModel::all(36) {
        for (encoding, prefix) in
            [(Encoding::Mtbuf, "tbuffer_store_format_"), (Encoding::Mubuf, "buffer_store_format_")]
        {
            for name in b.names(encoding) {
                let Some(rest) = name.strip_prefix(prefix) else { continue };
                let half = rest.starts_with("d16_");
                let high = rest.starts_with("d16_hi_");
                let count = rest.rsplit('_').next().unwrap().len();
                for (data, number) in formats() {
                    let bits = components(data);
                    let size = bits.iter().sum::<u32>() / 8;
                    b.scramble(10..40);
                    b.rig.w.set_s64(8, b.model.bases[0]);
                    b.rig.w.set_s32(10, 3 * size - 1);
                    b.rig
                        .w
                        .set_s32(11, if encoding == Encoding::Mubuf { number << 12 | data << 15 } else { 0 });
                    b.rig.w.set_s32(6, 0);
                    b.rig.w.set_exec(7);
                    let mut wanted = Vec::new();
                    for lane in 0..3 {
                        b.set(10, lane, lane as u32 * size);
                        let mut values = Vec::new();
                        for n in 0..count {
                            let value = to_store(&mut b.random, number);
                            let (register, value) = match (number, half) {
                                (4, false) => (value as i64 as u32, f64::from(value as i64 as u32)),
                                (5, false) => (value as i32 as u32, f64::from(value as i32)),
                                (4, true) => (u32::from(value as i64 as u16), f64::from(value as i64 as u16)),
                                (5, true) => (u32::from(value as i64 as u16), f64::from(value as i64 as i16)),
                                (_, false) => ((value as f32).to_bits(), f64::from(value as f32)),
                                (_, true) => {
                                    let value = f16::from_f32(value as f32);
                                    (value.to_bits().into(), value.to_f64())
                                }
                            };
                            values.push(value);
                            if half {
                                let at = 30 + n as u16 / 2;
                                let shift = 16 * if high { 1 } else { n % 2 };
                                let old = b.rig.w.v(at).flat()[lane];
                                b.set(at, lane, old & !(0xffff << shift) | register << shift);
                            } else {
                                b.set(30 + n as u16, lane, register);
                            }
                        }
                        wanted.push(values);
                    }
                    let before = b.model.clone();
                    let fields = BufferFields { offen: true, format: (data, number), ..FIELDS };
                    let words = buffer(&b.rig, encoding, name, fields);
                    b.rig.run(&words);
                    b.rig.space.read(b.model.bases[0], &mut b.model.global[0]).unwrap();
                    for (lane, values) in wanted.iter().enumerate().take(2) {
                        let memory = b.model.read(At::Global(0, lane * size as usize), lane, size as usize);
                        let mut at = 0;
                        for (n, bits) in bits.iter().enumerate() {
                            let raw = memory >> at & ((1 << bits) - 1);
                            at += bits;
                            let value = values.get(n).copied().unwrap_or(0.0);
                            nearest(raw, value, *bits, number, &format!("{name} {data} {number}"));
                        }
                    }
                    // Memory that is out of range does not change.
                    let end = 2 * size as usize;
                    assert!(b.model.global[0][end..] == before.global[0][end..], "{name} {data} {number}");
                }
            }
        }
    }
}

/// Checks that no other encoding of a component is nearer to a value.
pub(crate) fn nearest(raw: u128, value: f64, bits: u32, number: u32, what: &str) {
    let got = component(raw, bits, number).unwrap();
    if value.is_nan() {
        assert!(got.is_nan() || number != 7 && got == 0.0, "{what}: {got} for NaN");
        return;
    }
    if bits == 32 {
        // Integers and floats are stored unchanged, scaled numbers saturate.
        let want = match number {
            2 | 4 => f64::from(value as u32),
            3 | 5 => f64::from(value as i32),
            _ => f64::from(value as f32),
        };
        assert_eq!(got, want, "{what}: {value}");
        return;
    }
    let integer = (2..=5).contains(&number);
    // Integers are truncated, other numbers rounded to even.
    let target = if integer { value.trunc() } else { value };
    let error = |raw: u128| component(raw, bits, number).map(|v| (v - target).abs()).filter(|e| !e.is_nan());
    let infinite = got.is_infinite();
    for other in [raw.wrapping_add(1), raw.wrapping_sub(1)] {
        let other = other & ((1 << bits) - 1);
        let (mine, theirs) = (error(raw), error(other));
        if component(other, bits, number) == Some(got) {
            // Signed normalised formats have -1 twice.
            continue;
        }
        if let (Some(mine), Some(theirs)) = (mine, theirs)
            && !infinite
            && theirs.is_finite()
        {
            // Neighbours across the sign are far away.
            assert!(mine <= theirs, "{what}: {value} became {got}, but {:?}", component(other, bits, number));
            let even = raw & 1 == 0;
            assert!(mine < theirs || even || mine == 0.0, "{what}: {value} became the odd {got}");
        }
    }
    if infinite {
        let largest = component(raw - 1, bits, number).unwrap();
        assert!(value.abs() > largest.abs() || value.is_infinite(), "{what}: {value} became infinite");
    }
}
