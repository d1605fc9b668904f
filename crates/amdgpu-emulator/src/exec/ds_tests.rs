//! Compares DS loads, stores and lane permutations with byte arrays, and tests their faults.

use amdgpu_isa::Encoding;

use crate::exec::memory_model::{At, LDS, MemoryModel, Shape, ds};
use crate::report::access::{AccessKind, LaneAddress, MemorySpace};
use crate::report::fault::FaultCause;
use crate::state::wave::{LANES, sreg};

crate::testing::tally::verified!(
    loads_and_stores,
    two_addresses,
    permutes,
    swizzles,
    by_lane_number,
    append_and_consume,
    transposed_loads
);

fn loads_and_stores() {
    for mut b in MemoryModel::all(11) {
        for name in b.names(Encoding::Ds) {
            let Some(shape) = name.strip_prefix("ds_").and_then(Shape::of) else { continue };
            for _ in 0..32 {
                let exec = b.exec();
                let places = b.places(LDS as usize, shape.bytes, shape.bytes.min(4));
                let offset = b.below(1 << 16) as u32;
                b.scramble(10..40);
                let mut want = Vec::new();
                for lane in 0..LANES {
                    let old = b.get(30, lane, shape.dwords());
                    want.push(old);
                    if exec >> lane & 1 == 0 {
                        continue;
                    }
                    // The sum wraps.
                    b.set(10, lane, (places[lane] as u32).wrapping_sub(offset));
                    if shape.load {
                        want[lane] = shape.loaded(
                            b.model.read(At::Lds(places[lane]), lane, shape.bytes),
                            old,
                            b.sram_ecc(),
                        );
                    } else {
                        let data = b.get(20, lane, shape.dwords());
                        b.model.write(At::Lds(places[lane]), lane, shape.bytes, shape.stored(data));
                    }
                }
                b.rig.w.set_exec(exec);
                let words = ds(&b.rig, name, offset, 10, [20, 0], 30);
                b.rig.run(&words);
                for (lane, want) in want.iter().enumerate() {
                    assert_eq!(b.get(30, lane, shape.dwords()), *want, "{name}: lane {lane}");
                }
                b.check(name);
            }
        }
    }
}

fn two_addresses() {
    for mut b in MemoryModel::every(12) {
        for (name, operation) in b.operations(Encoding::Ds) {
            let Some((load, rest)) = ["ds_read2", "ds_write2"]
                .iter()
                .find_map(|p| operation.strip_prefix(p).map(|rest| (*p == "ds_read2", rest)))
            else {
                continue;
            };
            let dwords = if rest.ends_with("64") { 2 } else { 1 };
            let unit = 4 * dwords * if rest.starts_with("st64") { 64 } else { 1 };
            for trial in 0..32 {
                let exec = b.exec();
                let mut offsets = [b.below(256), b.below(256)];
                b.scramble(10..40);
                let mut base = b.places(256, 4, 1);
                if trial % 4 == 0 {
                    // Each lane's two follow each other, and those of the previous lane.
                    offsets = [offsets[0] / 2, offsets[0] / 2 + 1];
                    base = std::array::from_fn(|lane| base[0] + 8 * dwords * lane);
                }
                let mut want = Vec::new();
                for lane in 0..LANES {
                    want.push(b.get(30, lane, 2 * dwords));
                    // The addresses are in range for both offsets, if the second one is.
                    let room = LDS as usize - 16;
                    let at = offsets.map(|o| (o * unit + base[lane]) % room);
                    let address = (at[0] as u32).wrapping_sub((offsets[0] * unit) as u32);
                    let second = address.wrapping_add((offsets[1] * unit) as u32) as usize;
                    if second > room {
                        // Lanes whose second address can't be in range are inactive.
                        b.set(10, lane, 0);
                        want[lane] = u128::MAX;
                        continue;
                    }
                    b.set(10, lane, address);
                    let places = [at[0], second];
                    for (n, place) in places.into_iter().enumerate() {
                        if exec >> lane & 1 == 0 {
                            continue;
                        }
                        let place = At::Lds(place);
                        if load {
                            let value = b.model.read(place, lane, 4 * dwords);
                            let shift = 32 * dwords * n;
                            let mask = ((1u128 << (32 * dwords)) - 1) << shift;
                            want[lane] = want[lane] & !mask | value << shift;
                        }
                    }
                }
                let active =
                    (0..LANES).fold(exec, |e, l| if want[l] == u128::MAX { e & !(1 << l) } else { e });
                if !load {
                    // All lanes store the first value before any lane stores the second.
                    for (n, register) in [20u16, 24].into_iter().enumerate() {
                        for lane in (0..LANES).filter(|l| active >> l & 1 != 0) {
                            let at =
                                (b.get(10, lane, 1) as u32).wrapping_add((offsets[n] * unit) as u32) as usize;
                            let data = b.get(register, lane, dwords);
                            b.model.write(At::Lds(at), lane, 4 * dwords, data);
                        }
                    }
                }
                b.rig.w.set_exec(active);
                let imm = offsets[0] as u32 | (offsets[1] as u32) << 8;
                let words = ds(&b.rig, name, imm, 10, [20, 24], 30);
                b.rig.run(&words);
                for (lane, want) in want.iter().enumerate().filter(|(l, _)| active >> l & 1 != 0) {
                    assert_eq!(b.get(30, lane, 2 * dwords), *want, "{name}: lane {lane}");
                }
                b.check(name);
            }
        }
    }
}

#[test]
fn boundaries_fault() {
    const BAD: usize = 9;
    for mut b in MemoryModel::all(13) {
        for name in b.names(Encoding::Ds) {
            let Some(shape) = name.strip_prefix("ds_").and_then(Shape::of) else { continue };
            let (size, access) =
                (shape.bytes as u32, if shape.load { AccessKind::Read } else { AccessKind::Write });
            let words = ds(&b.rig, name, 0, 10, [20, 24], 30);
            for exec in [!0, 1 << BAD, 0x8001 | 1 << BAD] {
                b.rig.w.set_exec(exec);
                for good in [0, LDS - size] {
                    b.set(10, BAD, good);
                    assert_eq!(b.rig.try_run(&words), Ok(()), "{name} at {good}");
                }
                for bad in [LDS - size + 1, LDS, 1 << 16, 1 << 31, !0] {
                    b.set(10, BAD, bad);
                    let lanes = vec![LaneAddress { lane: Some(BAD as u8), address: bad.into() }];
                    let want = FaultCause::OutOfBounds { access, space: MemorySpace::Lds, size, lanes };
                    assert_eq!(b.rig.try_run(&words), Err(want), "{name} at {bad:#x}");
                }
            }
        }
        // The second of two addresses is out of bounds.
        b.rig.w.set_exec(!0);
        b.scramble(10..11);
        for lane in 0..LANES {
            b.set(10, lane, LDS - 8);
        }
        let words = ds(&b.rig, "ds_read2_b32", 0x0200, 10, [20, 24], 30);
        let Err(FaultCause::OutOfBounds { lanes, .. }) = b.rig.try_run(&words) else {
            panic!("it must fault")
        };
        assert_eq!((lanes.len(), lanes[0].address), (16, u64::from(LDS)));
    }
}

#[test]
fn any_access_faults_without_lds() {
    let mut b = MemoryModel::all(14).next().unwrap();
    b.rig.cx.lds.reset(0);
    for name in ["ds_read_b32", "ds_write_b8", "ds_add_u32", "ds_append"] {
        let words = ds(&b.rig, name, 0, 10, [20, 24], 30);
        assert!(
            matches!(b.rig.try_run(&words), Err(FaultCause::OutOfBounds { space: MemorySpace::Lds, .. })),
            "{name}"
        );
    }
}

#[test]
fn global_data_share_is_refused() {
    for mut b in MemoryModel::all(15) {
        for name in b.names(Encoding::Ds) {
            let [low, high] = ds(&b.rig, name, 0, 10, [20, 24], 30);
            // These access no memory.
            if ["ds_nop", "ds_swizzle_b32", "ds_permute_b32", "ds_bpermute_b32"].contains(&name) {
                continue;
            }
            if name.starts_with("ds_gws_") {
                continue;
            }
            let fault = b.rig.try_run(&[low | 1 << 16, high]);
            assert_eq!(fault, Err(FaultCause::NoGlobalDataShare), "{name}");
        }
    }
}

fn permutes() {
    for mut b in MemoryModel::all(16) {
        for trial in 0..200 {
            let exec = b.exec();
            b.scramble(10..40);
            let offset = b.below(1024) as u32;
            if trial % 4 == 0 {
                for lane in 0..LANES {
                    let value = 4 * b.below(64) as u32;
                    b.set(10, lane, value);
                }
            } else if trial % 4 == 2 {
                // An exchange of lanes, sometimes of all but one.
                let (by, other) = (b.below(64), b.below(128));
                for lane in 0..LANES {
                    let from = if lane == other { 0 } else { lane ^ by };
                    b.set(10, lane, (4 * from as u32).wrapping_sub(offset));
                }
            }
            let read = |b: &MemoryModel, register: u16| -> Vec<u32> {
                (0..LANES).map(|lane| b.get(register, lane, 1) as u32).collect()
            };
            let (at, data, old) = (read(&b, 10), read(&b, 20), read(&b, 30));
            let is_active = |lane: usize| exec >> lane & 1 != 0;
            let other = |lane: usize| at[lane].wrapping_add(offset) as usize / 4 % LANES;
            let mut pushed = vec![0; LANES];
            for lane in (0..LANES).filter(|l| is_active(*l)) {
                pushed[other(lane)] = data[lane];
            }
            b.rig.w.set_exec(exec);
            let words = ds(&b.rig, "ds_permute_b32", offset, 10, [20, 0], 30);
            b.rig.run(&words);
            for lane in 0..LANES {
                let want = if is_active(lane) { pushed[lane] } else { old[lane] };
                assert_eq!(b.get(30, lane, 1) as u32, want, "permute, lane {lane}");
            }
            let old = read(&b, 30);
            let words = ds(&b.rig, "ds_bpermute_b32", offset, 10, [20, 0], 30);
            b.rig.run(&words);
            for lane in 0..LANES {
                let from = other(lane);
                let want = match (is_active(lane), is_active(from)) {
                    (true, true) => data[from],
                    (true, false) => 0,
                    _ => old[lane],
                };
                assert_eq!(b.get(30, lane, 1) as u32, want, "bpermute, lane {lane}");
            }
        }
    }
}

/// Returns the lane from which `lane` reads, computed on lists of bits.
fn swizzle_source(offset: u32, lane: usize) -> usize {
    let bits = |n: usize| -> Vec<bool> { (0..5).map(|b| n >> b & 1 != 0).collect() };
    let number = |bits: &[bool]| bits.iter().enumerate().map(|(n, b)| usize::from(*b) << n).sum::<usize>();
    let (half, i) = (lane / 32 * 32, lane % 32);
    let field = |at: u32| (offset >> at) as usize % 32;
    if offset >= 0xe000 {
        // Bits of the mask are kept; the others are those of the reversed number, from its top on.
        let mask = bits(field(0));
        let mut reversed = bits(i);
        reversed.reverse();
        let shift = mask.iter().filter(|m| **m).count();
        let moved: Vec<bool> = (0..5).map(|n| reversed.get(n + shift).copied().unwrap_or(false)).collect();
        let kept: Vec<bool> = (0..5).map(|n| moved[n] || mask[n] && bits(i)[n]).collect();
        half + number(&kept)
    } else if offset >= 0xc000 {
        let turn = if offset >> 10 & 1 != 0 { 32 - field(5) } else { field(5) };
        let (mask, turned) = (bits(field(0)), bits((i + turn) % 32));
        half + number(&(0..5).map(|n| if mask[n] { bits(i)[n] } else { turned[n] }).collect::<Vec<_>>())
    } else if offset >= 0x8000 {
        lane / 4 * 4 + (offset >> (2 * (lane % 4)) & 3) as usize
    } else {
        let (and, or, xor) = (bits(field(0)), bits(field(5)), bits(field(10)));
        half + number(&(0..5).map(|n| ((bits(i)[n] && and[n]) || or[n]) != xor[n]).collect::<Vec<_>>())
    }
}

fn swizzles() {
    // The examples of the FFT mode in the ISA document, which counts from 1.
    let from = |offset: u32| (0..8).map(|lane| swizzle_source(offset, lane) + 1).collect::<Vec<_>>();
    assert_eq!(from(0xe000), [1, 0x11, 9, 0x19, 5, 0x15, 0xd, 0x1d]);
    assert_eq!(from(0xe010), [1, 9, 5, 0xd, 3, 0xb, 7, 0xf]);
    assert_eq!(from(0xe01f), [1, 2, 3, 4, 5, 6, 7, 8]);
    for mut b in MemoryModel::every(17) {
        for trial in 0..400u32 {
            let exec = b.exec();
            b.scramble(10..40);
            let mode = [0, 0x8000, 0xc000, 0xe000][trial as usize % 4];
            let offset = mode | b.below(if mode == 0 { 0x8000 } else { 0x2000 }) as u32;
            let data: Vec<u32> = (0..LANES).map(|lane| b.get(10, lane, 1) as u32).collect();
            let old: Vec<u32> = (0..LANES).map(|lane| b.get(30, lane, 1) as u32).collect();
            b.rig.w.set_exec(exec);
            let words = ds(&b.rig, "ds_swizzle_b32", offset, 10, [0, 0], 30);
            b.rig.run(&words);
            for lane in 0..LANES {
                let from = swizzle_source(offset, lane);
                let want = match (exec >> lane & 1 != 0, exec >> from & 1 != 0) {
                    (true, true) => data[from],
                    (true, false) => 0,
                    _ => old[lane],
                };
                assert_eq!(b.get(30, lane, 1) as u32, want, "{offset:#x}, lane {lane}");
            }
        }
    }
}

fn by_lane_number() {
    for mut b in MemoryModel::all(18) {
        for _ in 0..50 {
            let exec = b.exec();
            b.scramble(10..40);
            let (m0, offset) = (b.below(1000) as u32, b.below(2000) as u32);
            b.rig.w.set_s32(sreg::M0, m0 | 0xabcd_0000);
            let first = (m0 + offset) as usize;
            b.rig.w.set_exec(exec);
            for lane in (0..LANES).filter(|l| exec >> l & 1 != 0) {
                let data = b.get(20, lane, 1);
                b.model.write(At::Lds(first + 4 * lane), lane, 4, data);
            }
            let words = ds(&b.rig, "ds_write_addtid_b32", offset, 0, [20, 0], 0);
            b.rig.run(&words);
            b.check("ds_write_addtid_b32");
            let old: Vec<_> = (0..LANES).map(|lane| b.get(30, lane, 1)).collect();
            let words = ds(&b.rig, "ds_read_addtid_b32", offset, 0, [0, 0], 30);
            b.rig.run(&words);
            for lane in 0..LANES {
                let memory = b.model.read(At::Lds(first + 4 * lane), lane, 4);
                assert_eq!(b.get(30, lane, 1), if exec >> lane & 1 != 0 { memory } else { old[lane] });
            }
        }
    }
}

fn append_and_consume() {
    for mut b in MemoryModel::every(19) {
        let mut counter = b.model.read(At::Lds(104), 0, 4) as u32;
        b.rig.w.set_s32(sreg::M0, 100 | 7 << 16);
        for trial in 0..40 {
            let exec = b.exec();
            b.scramble(30..31);
            let old: Vec<_> = (0..LANES).map(|lane| b.get(30, lane, 1)).collect();
            b.rig.w.set_exec(exec);
            let add = trial % 3 != 0;
            let words = ds(&b.rig, if add { "ds_append" } else { "ds_consume" }, 4, 0, [0, 0], 30);
            b.rig.run(&words);
            for lane in 0..LANES {
                let want = if exec >> lane & 1 != 0 { u128::from(counter) } else { old[lane] };
                assert_eq!(b.get(30, lane, 1), want);
            }
            let count = (0..LANES).filter(|l| exec >> l & 1 != 0).count() as u32;
            counter = if add { counter.wrapping_add(count) } else { counter.wrapping_sub(count) };
            b.model.write(At::Lds(104), 0, 4, counter.into());
            b.check("the counter");
        }
    }
}

/// Loads a matrix that is stored row by row, so that each lane gets a column.
fn transposed_loads() {
    for mut b in MemoryModel::all(19) {
        for name in b.names(Encoding::Ds) {
            let Some(size) = name.rsplit_once("_tr_b").and_then(|(_, size)| size.parse::<usize>().ok())
            else {
                continue;
            };
            let dwords = if size == 6 { 3 } else { 2 };
            let (rows, bytes) = (32 * dwords / size, 16 * size / 8);
            for _ in 0..16 {
                b.scramble(10..40);
                // Each 16 lanes load a matrix of their own, whose rows are anywhere.
                let starts: Vec<usize> =
                    (0..4 * rows).map(|_| b.below((LDS as usize - bytes) / 4) * 4).collect();
                let offset = b.below(1 << 8) as u32 * 4;
                let lanes_of_row = 16 / rows;
                for lane in 0..LANES {
                    let (matrix, within) = (lane / 16, lane % 16);
                    let at =
                        starts[matrix * rows + within / lanes_of_row] + within % lanes_of_row * 4 * dwords;
                    b.set(10, lane, (at as u32).wrapping_sub(offset));
                }
                b.rig.w.set_exec(!0);
                let words = ds(&b.rig, name, offset, 10, [0, 0], 30);
                b.rig.run(&words);
                for lane in 0..LANES {
                    let mut want = 0u128;
                    for row in 0..rows {
                        let start = 8 * starts[lane / 16 * rows + row] + lane % 16 * size;
                        for bit in 0..size {
                            let byte = b.model.lds[(start + bit) / 8];
                            want |= u128::from(byte >> ((start + bit) % 8) & 1) << (row * size + bit);
                        }
                    }
                    assert_eq!(b.get(30, lane, dwords), want, "{name}: lane {lane}");
                }
                b.check(name);
            }
        }
    }
}
