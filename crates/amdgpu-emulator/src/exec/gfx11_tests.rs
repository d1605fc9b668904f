//! Compares RDNA's memory instructions, in waves of 64 and of 32 lanes, with byte arrays and lists of lanes.

use amdgpu_isa::Encoding;

use crate::exec::memory_model::{
    At, BufferFields, FlatFields, GLOBAL, LDS, MemoryModel, SCRATCH, Shape, ds, flat,
};
use crate::state::wave::{LANES, sreg};

crate::testing::tally::verified!(loads_and_stores, permutes, by_lane_number);

const FIELDS: FlatFields =
    FlatFields { offset: 0, address: 10, data: 20, saddr: None, dst: 30, glc: false, bit13: false };

/// Sets EXEC to random bits, also those of lanes that the wave doesn't have. Returns the active lanes.
fn random_exec(b: &mut MemoryModel) -> u64 {
    let exec = b.exec();
    b.rig.w.set_exec(exec | b.random.next() & !b.rig.w.all);
    exec
}

fn loads_and_stores() {
    for mut b in MemoryModel::rdna(81) {
        for encoding in [Encoding::Ds, Encoding::Global, Encoding::Flat, Encoding::Scratch] {
            for (name, operation) in b.operations(encoding) {
                let Some(shape) = operation.split_once('_').and_then(|(_, rest)| Shape::of(rest)) else {
                    continue;
                };
                for _ in 0..8 {
                    load_or_store(&mut b, encoding, name, shape);
                }
            }
        }
    }
}

fn load_or_store(b: &mut MemoryModel, encoding: Encoding, name: &str, shape: Shape) {
    b.scramble(10..40);
    let exec = random_exec(b);
    let kind = match encoding {
        Encoding::Ds => 1,
        Encoding::Scratch => 2,
        Encoding::Global => 0,
        _ => b.below(3),
    };
    let len = [GLOBAL as usize, LDS as usize, SCRATCH as usize][kind];
    let places = b.places(len, shape.bytes, shape.bytes.min(4));
    let is_gfx10 = b.rig.target.is_gfx10();
    let scalar = matches!(encoding, Encoding::Global | Encoding::Scratch) && b.below(2) == 0;
    // On gfx10, SCRATCH with a scalar base has no other address, so that all lanes have the same.
    let base_alone = scalar && is_gfx10 && encoding == Encoding::Scratch;
    let places = if base_alone { [places[0]; LANES] } else { places };
    let offset = match encoding {
        Encoding::Ds => b.below(1 << 16) as i32,
        // gfx12 has 24 bits, signed for FLAT, too; there a small part of them, so that the sum stays in its aperture.
        Encoding::Flat if b.rig.target.is_gfx12() => b.below(1 << 13) as i32 - (1 << 12),
        Encoding::Flat => b.below(if is_gfx10 { 1 << 11 } else { 1 << 12 }) as i32,
        _ if b.rig.target.is_gfx12() => b.below(1 << 24) as i32 - (1 << 23),
        _ if is_gfx10 => b.below(1 << 12) as i32 - (1 << 11),
        _ => b.below(1 << 13) as i32 - (1 << 12),
    };
    // There may be neither, so that the offset is the address.
    let neither = !scalar && is_gfx10 && encoding == Encoding::Scratch && b.below(3) == 0;
    let (places, offset) = if neither { ([places[0]; LANES], places[0] as i32) } else { (places, offset) };
    let at = places.map(|byte| [At::Global(0, byte), At::Lds(byte), At::Scratch(byte)][kind]);
    let base = match encoding {
        Encoding::Global => b.model.bases[0] - b.below(1 << 20) as u64,
        _ if base_alone => (places[0] as u64).wrapping_sub(offset as i64 as u64),
        _ => b.below(1 << 20) as u64,
    };
    let base_register =
        if encoding == Encoding::Global { base.wrapping_sub(offset as i64 as u64) } else { base };
    b.rig.w.set_s64(4, base_register);
    let mut want = Vec::new();
    for lane in 0..LANES {
        let old = b.get(30, lane, shape.dwords());
        want.push(old);
        if exec >> lane & 1 == 0 {
            continue;
        }
        let place = b.model.address(at[lane]);
        match (encoding, scalar) {
            (Encoding::Ds, _) => b.set(10, lane, (places[lane] as u32).wrapping_sub(offset as u32)),
            // The register is not read.
            (Encoding::Scratch, _) if base_alone || neither => {}
            (Encoding::Scratch, _) => {
                let base = if scalar { base as u32 } else { 0 };
                b.set(10, lane, (places[lane] as u32).wrapping_sub(offset as u32).wrapping_sub(base));
            }
            (_, true) => b.set(10, lane, (place - base) as u32),
            _ => b.set64(10, lane, place.wrapping_sub(offset as i64 as u64)),
        }
        if shape.load {
            want[lane] = shape.loaded(b.model.read(at[lane], lane, shape.bytes), old, false);
        } else {
            let data = b.get(20, lane, shape.dwords());
            b.model.write(at[lane], lane, shape.bytes, shape.stored(data));
        }
    }
    let words = if encoding == Encoding::Ds {
        ds(&b.rig, name, offset as u32, 10, [20, 0], 30).to_vec()
    } else {
        let bit13 = encoding == Encoding::Scratch && !neither;
        flat(&b.rig, encoding, name, FlatFields { offset, saddr: scalar.then_some(4), bit13, ..FIELDS })
    };
    b.rig.run(&words);
    for (lane, want) in want.iter().enumerate() {
        assert_eq!(b.get(30, lane, shape.dwords()), *want, "{name} lane {lane}");
    }
    b.check(name);
}

/// An offset in v10, the descriptor in s8, s6 as the scalar offset.
pub(super) const BUFFER: BufferFields = BufferFields {
    offset: 0,
    address: 10,
    data: 30,
    resource: 8,
    soffset: 6,
    offen: true,
    idxen: false,
    glc: false,
    lds: false,
    format: (0, 0),
};

/// On gfx11, lanes exchange only within their half of a wave of 64 (RDNA3 ISA, 12.5.2); on gfx12 in all of it, and `ds_bpermute_fi_b32`
/// reads inactive lanes, too (RDNA4 ISA, `DS_PERMUTE_B32`, `DS_BPERMUTE_B32`, `DS_BPERMUTE_FI_B32`).
fn permutes() {
    for mut b in MemoryModel::rdna(83) {
        let together = if b.rig.target.is_gfx12() { b.rig.lanes() } else { 32 };
        for trial in 0..100 {
            b.scramble(10..40);
            let exec = random_exec(&mut b);
            let offset = b.below(1024) as u32;
            if trial % 2 == 0 {
                // An exchange of lanes.
                let by = b.below(64);
                for lane in 0..LANES {
                    b.set(10, lane, (4 * (lane ^ by) as u32).wrapping_sub(offset));
                }
            }
            let read = |b: &MemoryModel, register: u16| -> Vec<u32> {
                (0..LANES).map(|lane| b.get(register, lane, 1) as u32).collect()
            };
            let (at, data, old) = (read(&b, 10), read(&b, 20), read(&b, 30));
            let is_active = |lane: usize| exec >> lane & 1 != 0;
            let other = |lane: usize| {
                lane / together * together + at[lane].wrapping_add(offset) as usize / 4 % together
            };
            let mut pushed = vec![0; LANES];
            for lane in (0..LANES).filter(|lane| is_active(*lane)) {
                pushed[other(lane)] = data[lane];
            }
            let words = ds(&b.rig, "ds_permute_b32", offset, 10, [20, 0], 30);
            b.rig.run(&words);
            for lane in 0..LANES {
                let want = if is_active(lane) { pushed[lane] } else { old[lane] };
                assert_eq!(b.get(30, lane, 1) as u32, want, "permute, lane {lane}");
            }
            for (name, reads_all) in [("ds_bpermute_b32", false), ("ds_bpermute_fi_b32", true)] {
                if reads_all && !b.rig.target.is_gfx12() {
                    continue;
                }
                let old = read(&b, 30);
                let words = ds(&b.rig, name, offset, 10, [20, 0], 30);
                b.rig.run(&words);
                for lane in 0..LANES {
                    let want = match (is_active(lane), is_active(other(lane)) || reads_all) {
                        (true, true) => data[other(lane)],
                        (true, false) => 0,
                        _ => old[lane],
                    };
                    assert_eq!(b.get(30, lane, 1) as u32, want, "{name}, lane {lane}");
                }
            }
        }
    }
}

/// `global_load_addtid_b32` and its store, those of LDS, and counters in LDS.
fn by_lane_number() {
    for mut b in MemoryModel::rdna(84) {
        // gfx10 has gfx9's names.
        let [store_name, load_name, lds_store_name, lds_load_name] = if b.rig.target.is_gfx10() {
            [
                "global_store_dword_addtid",
                "global_load_dword_addtid",
                "ds_write_addtid_b32",
                "ds_read_addtid_b32",
            ]
        } else {
            ["global_store_addtid_b32", "global_load_addtid_b32", "ds_store_addtid_b32", "ds_load_addtid_b32"]
        };
        for _ in 0..40 {
            b.scramble(10..40);
            let exec = random_exec(&mut b);
            let place = b.below(GLOBAL as usize / 4 - LANES) * 4;
            let half = if b.rig.target.is_gfx10() { 1 << 11 } else { 1 << 12 };
            let offset = b.below(2 * half) as i32 - half as i32;
            let address = b.model.bases[0] + place as u64;
            b.rig.w.set_s64(4, address.wrapping_sub(offset as i64 as u64));
            let (m0, lds_offset) = (4 * b.below(250) as u32, 4 * b.below(500) as u32);
            b.rig.w.set_s32(sreg::M0, m0);
            let first = (m0 + lds_offset) as usize;
            for lane in (0..LANES).filter(|lane| exec >> lane & 1 != 0) {
                let data = b.get(20, lane, 1);
                b.model.write(At::Global(0, place + 4 * lane), lane, 4, data);
                b.model.write(At::Lds(first + 4 * lane), lane, 4, data);
            }
            let fields = FlatFields { offset, saddr: Some(4), address: 0, ..FIELDS };
            let store = flat(&b.rig, Encoding::Global, store_name, fields);
            let lds_store = ds(&b.rig, lds_store_name, lds_offset, 0, [20, 0], 0);
            b.rig.run(&[&store[..], &lds_store].concat());
            b.check("stores by the lane's number");
            let old: Vec<_> = (0..LANES).map(|lane| [b.get(30, lane, 1), b.get(31, lane, 1)]).collect();
            let load = flat(&b.rig, Encoding::Global, load_name, fields);
            let lds_load = ds(&b.rig, lds_load_name, lds_offset, 0, [0, 0], 31);
            b.rig.run(&[&load[..], &lds_load].concat());
            for lane in 0..LANES {
                let memory = [At::Global(0, place + 4 * lane), At::Lds(first + 4 * lane)];
                let memory = memory.map(|at| b.model.read(at, lane, 4));
                let want = if exec >> lane & 1 != 0 { memory } else { old[lane] };
                assert_eq!([b.get(30, lane, 1), b.get(31, lane, 1)], want, "lane {lane}");
            }
            // A counter of active lanes.
            let before = b.model.read(At::Lds(first), 0, 4);
            let append = ds(&b.rig, "ds_append", lds_offset, 0, [0, 0], 32);
            b.rig.run(&append);
            b.model.write(At::Lds(first), 0, 4, before + u128::from(exec.count_ones()));
            b.check("ds_append");
            for lane in (0..LANES).filter(|lane| exec >> lane & 1 != 0) {
                assert_eq!(b.get(32, lane, 1), before);
            }
        }
    }
}
