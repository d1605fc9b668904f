//! Compares FLAT, GLOBAL and SCRATCH loads and stores with byte arrays, and tests their faults.

use amdgpu_isa::{Encoding, Target};

use crate::exec::memory_model::{At, FlatFields, GLOBAL, LDS, MemoryModel, SCRATCH, Shape, flat};
use crate::report::access::{AccessKind, LaneAddress, MemorySpace};
use crate::report::fault::FaultCause;
use crate::state::wave::{LANES, sreg};

crate::testing::tally::verified!(
    global_loads_and_stores,
    flat_loads_and_stores_in_all_apertures,
    scratch_loads_and_stores,
    loads_to_lds
);

const FIELDS: FlatFields =
    FlatFields { offset: 0, address: 10, data: 20, saddr: None, dst: 30, glc: false, bit13: false };

/// Applies a load or store to the model. Returns the expected destination.
fn expect(b: &mut MemoryModel, shape: Shape, at: &[At; LANES], exec: u64) -> Vec<u128> {
    let dwords = shape.dwords();
    (0..LANES)
        .map(|lane| {
            let old = b.get(30, lane, dwords);
            if exec >> lane & 1 == 0 {
                return old;
            }
            if shape.load {
                let memory = b.model.read(at[lane], lane, shape.bytes);
                return shape.loaded(memory, old, b.sram_ecc());
            }
            let data = b.get(20, lane, dwords);
            b.model.write(at[lane], lane, shape.bytes, shape.stored(data));
            old
        })
        .collect()
}

fn verify(b: &MemoryModel, what: &str, want: &[u128], shape: Shape) {
    for (lane, want) in want.iter().enumerate() {
        assert_eq!(b.get(30, lane, shape.dwords()), *want, "{what}: lane {lane}");
    }
    b.check(what);
}

fn global_loads_and_stores() {
    for mut b in MemoryModel::all(1) {
        for name in b.names(Encoding::Global) {
            let Some(shape) = name.strip_prefix("global_").and_then(Shape::of) else { continue };
            for _ in 0..24 {
                let exec = b.exec();
                let places = b.places(GLOBAL as usize, shape.bytes, shape.bytes.min(4));
                // The lanes access mostly one allocation, sometimes both.
                let both = b.below(4) == 0;
                let at: [At; LANES] =
                    std::array::from_fn(|l| At::Global(usize::from(both && l % 3 == 0), places[l]));
                let offset = b.below(8192) as i32 - 4096;
                let scalar = b.below(2) == 0;
                b.scramble(10..40);
                // The base may be any address from which 32-bit offsets reach the places.
                let base = b.model.bases[0] - b.below(1 << 20) as u64;
                b.rig.w.set_s64(4, base.wrapping_add_signed(-i64::from(offset)));
                for lane in 0..LANES {
                    // Inactive lanes have random addresses.
                    if exec >> lane & 1 != 0 {
                        let address = b.model.address(at[lane]);
                        if scalar {
                            b.set(10, lane, (address - base) as u32);
                        } else {
                            b.set64(10, lane, address.wrapping_add_signed(-i64::from(offset)));
                        }
                    }
                }
                b.rig.w.set_exec(exec);
                let fields = FlatFields { offset, saddr: scalar.then_some(4), ..FIELDS };
                let words = flat(&b.rig, Encoding::Global, name, fields);
                let want = expect(&mut b, shape, &at, exec);
                b.rig.run(&words);
                verify(&b, name, &want, shape);
            }
        }
    }
}

fn flat_loads_and_stores_in_all_apertures() {
    for mut b in MemoryModel::all(2) {
        for name in b.names(Encoding::Flat) {
            let Some(shape) = name.strip_prefix("flat_").and_then(Shape::of) else { continue };
            for trial in 0..32 {
                let exec = b.exec();
                let (size, align) = (shape.bytes, shape.bytes.min(4));
                let global = b.places(GLOBAL as usize, size, align);
                let lds = b.places(LDS as usize, size, align);
                let scratch = b.places(SCRATCH as usize, size, align);
                let at: [At; LANES] =
                    std::array::from_fn(|lane| match if trial % 4 == 3 { b.below(3) } else { trial % 4 } {
                        0 => At::Global(0, global[lane]),
                        1 => At::Lds(lds[lane]),
                        _ => At::Scratch(scratch[lane]),
                    });
                // An offset that doesn't leave the aperture.
                let offset = b.below(4096) as i32;
                b.scramble(10..40);
                for lane in 0..LANES {
                    if exec >> lane & 1 != 0 {
                        let address = b.model.address(at[lane]);
                        b.set64(10, lane, address.wrapping_sub(offset as u64));
                    }
                }
                b.rig.w.set_exec(exec);
                let words = flat(&b.rig, Encoding::Flat, name, FlatFields { offset, ..FIELDS });
                let want = expect(&mut b, shape, &at, exec);
                b.rig.run(&words);
                verify(&b, name, &want, shape);
            }
        }
    }
}

fn scratch_loads_and_stores() {
    for mut b in MemoryModel::all(3) {
        for name in b.names(Encoding::Scratch) {
            let Some(shape) = name.strip_prefix("scratch_").and_then(Shape::of) else { continue };
            for _ in 0..24 {
                let exec = b.exec();
                let places = b.places(SCRATCH as usize, shape.bytes, shape.bytes.min(4));
                let offset = b.below(8192) as i32 - 4096;
                // gfx942 may have both a scalar and a vector address; gfx90a has one of them.
                let (scalar, vector) = match (b.rig.target, b.below(4)) {
                    (_, 0) => (true, false),
                    (Target::Gfx90a, _) | (_, 1) => (false, true),
                    (_, 2) => (true, true),
                    _ => (false, false),
                };
                b.scramble(10..40);
                let base = b.random.next() as u32;
                b.rig.w.set_s32(4, base);
                let rest = |byte: usize| {
                    (byte as u32).wrapping_sub(offset as u32).wrapping_sub(if scalar { base } else { 0 })
                };
                let mut at = [At::Scratch(0); LANES];
                if vector {
                    for lane in 0..LANES {
                        at[lane] = At::Scratch(places[lane]);
                        if exec >> lane & 1 != 0 {
                            b.set(10, lane, rest(places[lane]));
                        }
                    }
                } else if scalar {
                    b.rig.w.set_s32(4, (places[0] as u32).wrapping_sub(offset as u32));
                    at = [At::Scratch(places[0]); LANES];
                }
                let offset = if vector || scalar { offset } else { places[0] as i32 };
                if !vector && !scalar {
                    at = [At::Scratch(places[0]); LANES];
                }
                b.rig.w.set_exec(exec);
                let bit13 = vector && b.rig.target.has_gfx942_instructions();
                let fields = FlatFields { offset, saddr: scalar.then_some(4), bit13, ..FIELDS };
                let words = flat(&b.rig, Encoding::Scratch, name, fields);
                let want = expect(&mut b, shape, &at, exec);
                b.rig.run(&words);
                verify(&b, name, &want, shape);
            }
        }
    }
}

fn loads_to_lds() {
    for mut b in MemoryModel::all(4) {
        let target = b.rig.target;
        // gfx90a has a bit for LDS, gfx942 has separate opcodes.
        let mut names = Vec::new();
        for encoding in [Encoding::Global, Encoding::Scratch] {
            for name in b.names(encoding) {
                let mut sizes = vec!["_ubyte", "_sbyte", "_ushort", "_sshort", "_dword"];
                if target == Target::Gfx950 {
                    sizes.extend(["_dwordx3", "_dwordx4"]);
                }
                let own = name.contains("load_lds");
                if name.contains("load")
                    && own == (target.has_gfx942_instructions())
                    && sizes.iter().any(|s| name.ends_with(s))
                {
                    names.push((encoding, name));
                }
            }
        }
        assert_eq!(names.len(), if target == Target::Gfx950 { 12 } else { 10 });
        for (encoding, name) in names {
            let shape = Shape::of(&format!("load_{}", name.rsplit('_').next().unwrap())).unwrap();
            for _ in 0..8 {
                let exec = b.exec();
                let len = if encoding == Encoding::Global { GLOBAL as usize } else { SCRATCH as usize };
                let places = b.places(len, shape.bytes, shape.bytes);
                let offset = b.below(256) as i32 * 4;
                let m0 = b.below(256) as u32 * 4;
                b.rig.w.set_s32(sreg::M0, m0 + 3);
                b.scramble(10..40);
                for lane in 0..LANES {
                    if exec >> lane & 1 == 0 {
                        continue;
                    }
                    let at = if encoding == Encoding::Global {
                        let at = At::Global(0, places[lane]);
                        let address = b.model.address(at) - offset as u64;
                        b.set64(10, lane, address);
                        at
                    } else {
                        b.set(10, lane, (places[lane] as u32).wrapping_sub(offset as u32));
                        At::Scratch(places[lane])
                    };
                    let memory = b.model.read(at, lane, shape.bytes);
                    let stride = if shape.bytes > 8 { 16 } else { 4 };
                    let to = m0 as usize + offset as usize + stride * lane;
                    b.model.write(At::Lds(to), lane, shape.bytes.max(4), shape.loaded(memory, 0, true));
                }
                b.rig.w.set_exec(exec);
                let bit13 = encoding == Encoding::Scratch || target == Target::Gfx90a;
                let words = flat(&b.rig, encoding, name, FlatFields { offset, bit13, ..FIELDS });
                b.rig.run(&words);
                b.check(name);
            }
        }
    }
}

/// The one lane that faults in these tests.
const BAD: usize = 37;

/// Runs an instruction. All lanes but one have a valid address.
fn run_at(
    b: &mut MemoryModel,
    encoding: Encoding,
    name: &str,
    good: u64,
    bad: u64,
    exec: u64,
) -> Result<(), FaultCause> {
    for lane in 0..LANES {
        b.set64(10, lane, if lane == BAD { bad } else { good });
    }
    b.rig.w.set_exec(exec);
    let words = flat(&b.rig, encoding, name, FIELDS);
    b.rig.try_run(&words)
}

#[test]
fn every_boundary_of_an_allocation_faults() {
    for mut b in MemoryModel::all(5) {
        let freed = b.rig.space.alloc(4096, 0).unwrap();
        b.rig.space.free(freed).unwrap();
        for encoding in [Encoding::Global, Encoding::Flat] {
            for name in b.names(encoding) {
                let Some(shape) = name.split_once('_').and_then(|(_, rest)| Shape::of(rest)) else {
                    continue;
                };
                let access = if shape.load { AccessKind::Read } else { AccessKind::Write };
                let (base, size) = (b.model.bases[1], shape.bytes as u64);
                let last = base + GLOBAL - size;
                let mut bad =
                    vec![base - 1, base - size, last + 1, base + GLOBAL, 0, !0, !0 << 32, freed, 1 << 62];
                bad.dedup();
                for exec in [!0, 1 << BAD, 0x20_0000_0060 | 1 << BAD] {
                    for at in [base, last] {
                        assert_eq!(run_at(&mut b, encoding, name, base, at, exec), Ok(()), "{name} {at:#x}");
                    }
                    for at in &bad {
                        let lanes = vec![LaneAddress { lane: Some(BAD as u8), address: *at }];
                        let size = shape.bytes as u32;
                        let want =
                            FaultCause::OutOfBounds { access, space: MemorySpace::Global, size, lanes };
                        assert_eq!(
                            run_at(&mut b, encoding, name, base, *at, exec),
                            Err(want),
                            "{name} {at:#x}"
                        );
                    }
                }
                // An inactive lane doesn't fault.
                assert_eq!(run_at(&mut b, encoding, name, base, 0, !(1 << BAD)), Ok(()));
            }
        }
    }
}

#[test]
fn every_boundary_of_an_aperture_faults() {
    for mut b in MemoryModel::all(6) {
        for name in b.names(Encoding::Flat) {
            let Some(shape) = name.strip_prefix("flat_").and_then(Shape::of) else { continue };
            let access = if shape.load { AccessKind::Read } else { AccessKind::Write };
            for (space, at, len) in
                [(MemorySpace::Lds, At::Lds(0), LDS), (MemorySpace::Scratch, At::Scratch(0), SCRATCH)]
            {
                let base = b.model.address(at);
                let size = shape.bytes as u32;
                for good in [base, b.model.bases[0]] {
                    for offset in [0, len - size] {
                        let at = base + u64::from(offset);
                        assert_eq!(
                            run_at(&mut b, Encoding::Flat, name, good, at, !0),
                            Ok(()),
                            "{name} {offset}"
                        );
                    }
                    for offset in [len - size + 1, len, 0x8000_0000, 0xffff_ffff] {
                        let lanes = vec![LaneAddress { lane: Some(BAD as u8), address: offset.into() }];
                        let want = FaultCause::OutOfBounds { access, space, size, lanes };
                        let at = base + u64::from(offset);
                        assert_eq!(
                            run_at(&mut b, Encoding::Flat, name, good, at, !0),
                            Err(want),
                            "{name} {offset}"
                        );
                    }
                }
            }
        }
    }
}

#[test]
fn a_report_names_sixteen_lanes() {
    let mut b = MemoryModel::all(7).next().unwrap();
    b.rig.w.set_exec(!0 << 8);
    let words = flat(&b.rig, Encoding::Global, "global_load_dword", FIELDS);
    let Err(FaultCause::OutOfBounds { lanes, .. }) = b.rig.try_run(&words) else { panic!("it must fault") };
    assert_eq!(lanes.len(), 16);
    assert!(lanes.iter().enumerate().all(|(n, l)| *l == LaneAddress { lane: Some(n as u8 + 8), address: 0 }));
}

#[test]
fn a_fault_leaves_the_destination() {
    let mut b = MemoryModel::all(8).next().unwrap();
    b.scramble(30..31);
    let before: Vec<_> = (0..LANES).map(|lane| b.get(30, lane, 1)).collect();
    let base = b.model.bases[0];
    assert!(run_at(&mut b, Encoding::Global, "global_load_dword", base, 0, !0).is_err());
    assert!((0..LANES).all(|lane| b.get(30, lane, 1) == before[lane]));
}

#[test]
fn a_destination_may_be_the_address() {
    for mut b in MemoryModel::all(9) {
        let base = b.model.bases[0];
        for lane in 0..LANES {
            b.set64(10, lane, base + 16 * lane as u64);
        }
        b.rig.w.set_exec(!0);
        let words = flat(&b.rig, Encoding::Global, "global_load_dwordx4", FlatFields { dst: 10, ..FIELDS });
        b.rig.run(&words);
        for lane in 0..LANES {
            assert_eq!(b.get(10, lane, 4), b.model.read(At::Global(0, 16 * lane), lane, 16));
        }
    }
}
