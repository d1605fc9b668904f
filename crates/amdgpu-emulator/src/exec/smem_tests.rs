//! Compares scalar memory instructions with byte arrays and wide integers.

use amdgpu_isa::Encoding;

use crate::exec::atomics_tests::{Op, interesting, reference};
use crate::exec::memory_model::{At, GLOBAL, MemoryModel, Shape};
use crate::testing::test_wave::{null_of, op};

crate::testing::tally::verified!(
    loads_and_stores,
    buffer_loads_and_stores,
    small_loads,
    atomics,
    buffer_atomics
);

/// The SGPRs of the base or descriptor, of the offset, and of the data.
const BASE: u16 = 8;
const OFFSET: u16 = 13;
const DATA: u16 = 32;

/// Returns the number of dwords that a load or store moves, and whether it loads; `None` for other instructions, and for loads of less
/// than a dword.
fn shape(name: &str) -> Option<(usize, bool)> {
    if name.ends_with("load_b96") {
        return Some((3, true));
    }
    let (_, size) = name.split_once("_dword")?;
    Some((size.strip_prefix('x').map_or(Some(1), |n| n.parse().ok())?, name.contains("load")))
}

/// The offset of an instruction: an immediate, an SGPR, or both.
#[derive(Debug, Clone, Copy)]
struct Offset {
    imm: i32,
    register: Option<u32>,
    has_imm: bool,
}

impl Offset {
    /// Returns a random offset: a multiple of four that is at least `least`.
    fn random(b: &mut MemoryModel, least: i64) -> Offset {
        let imm = b.below(1 << 12) as i32 + least as i32;
        let kind = b.below(3);
        Offset {
            imm: if kind == 1 { 0 } else { imm },
            register: (kind > 0).then(|| b.below(1 << 16) as u32),
            has_imm: kind != 1,
        }
    }

    /// Returns the sum for numbers of `unit` bytes. On gfx12 it is one of aligned parts (RDNA4 ISA, 8.1.1), elsewhere it is aligned where
    /// it is used.
    fn sum(self, b: &MemoryModel, unit: i64) -> i64 {
        let unit = if b.rig.target.is_gfx12() { unit } else { 1 };
        let [imm, register] = [self.imm.into(), self.register.unwrap_or(0).into()];
        i64::div_euclid(imm, unit) * unit + i64::div_euclid(register, unit) * unit
    }
}

fn encode(b: &MemoryModel, name: &str, offset: Offset, glc: bool) -> [u32; 2] {
    let code = op(Encoding::Smem, name, b.rig.target);
    if b.rig.target.is_gfx12() {
        let register = if offset.register.is_some() { u32::from(OFFSET) } else { 0x7c };
        let first = 0xf400_0000 | code << 13 | u32::from(DATA) << 6 | u32::from(BASE) / 2;
        return [first, offset.imm as u32 & 0xff_ffff | register << 25];
    }
    if b.rig.target.is_rdna() {
        // There is always an immediate, and the register may be NULL.
        let glc_at = if b.rig.target.is_gfx10() { 16 } else { 14 };
        let rest = u32::from(glc) << glc_at | u32::from(DATA) << 6 | u32::from(BASE) / 2;
        let first = Encoding::Smem.first_dword(b.rig.target, code, rest);
        let register = if offset.register.is_some() { u32::from(OFFSET) } else { null_of(b.rig.target) };
        return [first, offset.imm as u32 & 0x1f_ffff | register << 25];
    }
    let first = 0xc000_0000 | code << 18 | u32::from(glc) << 16 | u32::from(DATA) << 6 | u32::from(BASE) / 2;
    match (offset.has_imm, offset.register) {
        (true, None) => [first | 1 << 17, offset.imm as u32 & 0x1f_ffff],
        (false, _) => [first, OFFSET.into()],
        // Both: the register is in the top bits.
        (true, Some(_)) => {
            [first | 1 << 17 | 1 << 14, offset.imm as u32 & 0x1f_ffff | u32::from(OFFSET) << 25]
        }
    }
}

/// Fills the SGPRs of the data and after it with random values. `rest_is` compares those that must not change.
fn scramble(b: &mut MemoryModel) -> Vec<u32> {
    (DATA..DATA + 24)
        .map(|n| {
            let value = b.random.next() as u32;
            b.rig.w.set_s32(n, value);
            value
        })
        .collect()
}

fn loads_and_stores() {
    for mut b in MemoryModel::every(41) {
        for (name, operation) in b.operations(Encoding::Smem) {
            if name.contains("buffer") || name.contains("scratch") {
                continue;
            }
            let Some((dwords, load)) = shape(operation) else { continue };
            for _ in 0..60 {
                let mut want = scramble(&mut b);
                let place = b.below((GLOBAL as usize - 4 * dwords) / 4 + 1) * 4;
                let offset = Offset::random(&mut b, -2048);
                // The low two bits of the sum are ignored, or those of the base.
                let address = b.model.bases[0] + place as u64 + b.below(4) as u64;
                b.rig.w.set_s64(BASE, address.wrapping_sub(offset.sum(&b, 4) as u64));
                b.rig.w.set_s32(OFFSET, offset.register.unwrap_or(0xdead_beef));
                for n in 0..dwords {
                    let at = At::Global(0, place + 4 * n);
                    if load {
                        want[n] = b.model.read(at, 0, 4) as u32;
                    } else {
                        b.model.write(at, 0, 4, want[n].into());
                    }
                }
                let words = encode(&b, name, offset, false);
                b.rig.run(&words);
                for (n, want) in want.iter().enumerate() {
                    assert_eq!(b.rig.w.s32(DATA + n as u16), *want, "{name} {offset:?}: s{n}");
                }
                b.check(name);
            }
        }
    }
}

/// Writes a random descriptor. Returns the number of bytes in range: records times stride, or records if the stride is
/// 0.
fn descriptor(b: &mut MemoryModel) -> u64 {
    let stride = if b.below(2) == 0 { 0 } else { b.below(40) as u64 };
    let records = b.below(if stride == 0 { 600 } else { 20 }) as u32;
    let [high, last] = [b.random.next() as u32, b.random.next() as u32];
    let base = b.model.bases[0];
    b.rig.w.set_s32(BASE, base as u32);
    // Scalar instructions ignore the swizzle bits.
    b.rig.w.set_s32(BASE + 1, (base >> 32) as u32 | (stride as u32) << 16 | high & 0xc000_0000);
    b.rig.w.set_s32(BASE + 2, records);
    b.rig.w.set_s32(BASE + 3, last);
    u64::from(records) * stride.max(1)
}

/// Returns a random offset within the allocation.
fn buffer_offset(b: &mut MemoryModel) -> Offset {
    let kind = b.below(3);
    Offset {
        imm: if kind == 1 { 0 } else { b.below(400) as i32 },
        register: (kind > 0).then(|| b.below(300) as u32),
        has_imm: kind != 1,
    }
}

fn buffer_loads_and_stores() {
    for mut b in MemoryModel::every(42) {
        for (name, operation) in b.operations(Encoding::Smem) {
            let Some((dwords, load)) = shape(operation).filter(|_| name.contains("buffer")) else { continue };
            for _ in 0..60 {
                let mut want = scramble(&mut b);
                let bytes = descriptor(&mut b);
                let offset = buffer_offset(&mut b);
                b.rig.w.set_s32(OFFSET, offset.register.unwrap_or(0xdead_beef));
                for n in 0..dwords {
                    let at = offset.sum(&b, 4) as usize / 4 * 4 + 4 * n;
                    let inside = at as u64 + 4 <= bytes;
                    let at = At::Global(0, at);
                    match (load, inside) {
                        (true, true) => want[n] = b.model.read(at, 0, 4) as u32,
                        (true, false) => want[n] = 0,
                        (false, true) => b.model.write(at, 0, 4, want[n].into()),
                        (false, false) => {}
                    }
                }
                let words = encode(&b, name, offset, false);
                b.rig.run(&words);
                for (n, want) in want.iter().enumerate() {
                    assert_eq!(b.rig.w.s32(DATA + n as u16), *want, "{name} {offset:?} of {bytes}: s{n}");
                }
                b.check(name);
            }
        }
    }
}

/// Loads of one and two bytes, which ignore no bits, or the lowest one, of each part of the address (RDNA4 ISA, 8.1.1 and 8.1.2). What is
/// past the end of a buffer is 0.
fn small_loads() {
    let mut seen = 0;
    for mut b in MemoryModel::every(45) {
        for name in b.names(Encoding::Smem) {
            let buffer = name.starts_with("s_buffer_");
            let plain = name.trim_start_matches("s_").trim_start_matches("buffer_");
            let Some(shape) = Shape::of(plain).filter(|shape| shape.bytes < 4) else { continue };
            seen += 1;
            for _ in 0..60 {
                let mut want = scramble(&mut b);
                let unit = shape.bytes;
                let (place, offset, inside);
                if buffer {
                    let bytes = descriptor(&mut b);
                    offset = buffer_offset(&mut b);
                    place = offset.sum(&b, unit as i64) as usize;
                    inside = place as u64 + unit as u64 <= bytes;
                } else {
                    place = b.below(GLOBAL as usize / unit) * unit;
                    offset = Offset::random(&mut b, -2048);
                    let address = b.model.bases[0] + (place + b.below(unit)) as u64;
                    b.rig.w.set_s64(BASE, address.wrapping_sub(offset.sum(&b, unit as i64) as u64));
                    inside = true;
                }
                b.rig.w.set_s32(OFFSET, offset.register.unwrap_or(0xdead_beef));
                let memory = if inside { b.model.read(At::Global(0, place), 0, unit) } else { 0 };
                want[0] = shape.loaded(memory, 0, false) as u32;
                let words = encode(&b, name, offset, false);
                b.rig.run(&words);
                for (n, want) in want.iter().enumerate() {
                    assert_eq!(b.rig.w.s32(DATA + n as u16), *want, "{name} {offset:?}: s{n}");
                }
            }
        }
    }
    assert!(seen > 0);
}

/// Runs all scalar atomics whose names begin with `prefix`.
fn run_atomics(prefix: &str, seed: u64) {
    let is_buffer = prefix.contains("buffer");
    for mut b in MemoryModel::all(seed) {
        for name in b.names(Encoding::Smem) {
            let Some(kind) = name.strip_prefix(prefix) else { continue };
            let bytes = if kind.ends_with("_x2") { 8 } else { 4 };
            let operation = Op { name, encoding: Encoding::Smem, kind: kind.trim_end_matches("_x2"), bytes };
            for _ in 0..40 {
                let mut want = scramble(&mut b);
                let dwords = bytes / 4;
                let data: [u64; 2] = std::array::from_fn(|_| interesting(&mut b.random, operation));
                for (n, value) in data.into_iter().enumerate() {
                    for d in 0..dwords {
                        want[n * dwords + d] = (value >> (32 * d)) as u32;
                        b.rig.w.set_s32(DATA + (n * dwords + d) as u16, want[n * dwords + d]);
                    }
                }
                let glc = b.below(2) == 0;
                let (place, offset, inside);
                if is_buffer {
                    let limit = descriptor(&mut b);
                    let mut any = buffer_offset(&mut b);
                    any.imm = any.imm / bytes as i32 * bytes as i32;
                    any.register = any.register.map(|r| r / bytes as u32 * bytes as u32);
                    (place, offset) = (any.sum(&b, 4) as usize, any);
                    inside = place as u64 + bytes as u64 <= limit;
                } else {
                    place = b.below(GLOBAL as usize / bytes) * bytes;
                    offset = Offset::random(&mut b, -2048);
                    let address = b.model.bases[0] + place as u64;
                    b.rig.w.set_s64(BASE, address.wrapping_sub(offset.sum(&b, 4) as u64));
                    inside = true;
                }
                b.rig.w.set_s32(OFFSET, offset.register.unwrap_or(0xdead_beef));
                let at = At::Global(0, place);
                if inside {
                    let fresh = interesting(&mut b.random, operation);
                    b.model.write(at, 0, bytes, fresh.into());
                    b.fill();
                }
                let old = if inside { b.model.read(at, 0, bytes) as u64 } else { 0 };
                if inside {
                    let new = reference(operation, old, data[0], data[1], 0xf0);
                    b.model.write(at, 0, bytes, new.into());
                }
                if glc {
                    for d in 0..dwords {
                        want[d] = (old >> (32 * d)) as u32;
                    }
                }
                let words = encode(&b, name, offset, glc);
                b.rig.run(&words);
                for (n, want) in want.iter().enumerate() {
                    assert_eq!(b.rig.w.s32(DATA + n as u16), *want, "{name} {offset:?}: s{n}");
                }
                b.check(name);
            }
        }
    }
}

fn atomics() {
    run_atomics("s_atomic_", 43);
}

fn buffer_atomics() {
    run_atomics("s_buffer_atomic_", 44);
}
