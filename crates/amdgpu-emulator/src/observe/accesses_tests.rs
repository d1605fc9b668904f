//! Compares the predicted accesses of an instruction with what it does: executes each row that accesses memory on
//! random addresses.
//!
//! All memory is filled with a pattern. Stores must change exactly the predicted bytes, and atomics no other bytes. The
//! results of loads must not change if other bytes change, and must change if the predicted bytes change.

use amdgpu_isa::{Encoding, Row, Target};

use crate::exec::inst::flag;
use crate::exec::level::SimdLevel;
use crate::observe::accesses::{AccessedBytes, find};
use crate::observe::class::{AddressingKind, Info};
use crate::report::access::{AccessKind, MemorySpace};
use crate::state::wave::{LANES, Wave, sreg};
use crate::testing::test_wave::{Random, TestWave};

/// The size of each memory in bytes.
const SIZE: usize = 8 << 10;
const ADDRESS: u32 = 2;
const DATA: u32 = 8;
const RESULT: u32 = 20;
/// The SGPRs of a base or descriptor, and of an offset.
const BASE: u32 = 4;
const OFFSET: u32 = 10;

/// Returns device memory, LDS and private memory as one list of bytes.
fn memory(rig: &mut TestWave, at: u64) -> Vec<u8> {
    let mut all = vec![0; SIZE];
    rig.space.read(at, &mut all).unwrap();
    all.extend_from_slice(&rig.cx.lds.bytes()[..SIZE]);
    for lane in 0..LANES {
        for offset in 0..64 {
            all.push(rig.w.scratch.load::<u8>(lane, offset).unwrap());
        }
    }
    all
}

fn set_memory(rig: &mut TestWave, at: u64, all: &[u8]) {
    rig.space.write(at, &all[..SIZE]).unwrap();
    rig.cx.lds.bytes_mut()[..SIZE].copy_from_slice(&all[SIZE..2 * SIZE]);
    for (n, byte) in all[2 * SIZE..].iter().enumerate() {
        rig.w.scratch.store(n / 64, n as u32 % 64, *byte).unwrap();
    }
}

/// Returns the indices of an access's bytes in that list.
fn bytes(accessed: &AccessedBytes, at: u64) -> Vec<usize> {
    let place = |lane: usize, address: u64| match accessed.space {
        MemorySpace::Global => (address - at) as usize,
        MemorySpace::Lds => SIZE + address as usize,
        MemorySpace::Scratch => 2 * SIZE + 64 * lane + address as usize,
    };
    accessed
        .each()
        .flat_map(|(lane, a)| (0..accessed.size as usize).map(move |n| place(lane, a) + n))
        .collect()
}

/// Encodes an instruction of the row, and sets the registers of its addresses.
fn prepare(random: &mut Random, rig: &mut TestWave, encoding: Encoding, row: &Row, at: u64) -> [u32; 2] {
    let op = row.op[rig.target as usize] as u32;
    let bits = random.next() as u32;
    let mut lane_offset = || (random.next() % (SIZE as u64 / 2 / 16) * 16) as u32;
    let offsets: [u32; LANES] = std::array::from_fn(|_| 2048 + lane_offset());
    let set = |rig: &mut TestWave, register: u32, values: [u32; LANES]| {
        *rig.w.v_mut(register as u16).flat_mut() = values;
    };
    rig.w.set_s32(sreg::M0, 1024);
    rig.w.set_s32(OFFSET as u16, 64);
    let data = DATA << 8;
    match encoding {
        Encoding::Ds => {
            set(rig, ADDRESS, offsets);
            let imm = match Info::of(row).addressing {
                AddressingKind::DsTwo(_, 8, 512) => 0x0001,
                AddressingKind::DsTwo(..) => 0x0302,
                AddressingKind::DsByLane(_) | AddressingKind::DsCount => 256,
                _ => bits & 0x70,
            };
            [encoding.first_dword(Target::Gfx90a, op, imm), RESULT << 24 | (DATA + 4) << 16 | data | ADDRESS]
        }
        Encoding::Smem => {
            rig.w.set_s64(BASE as u16, at);
            // A raw buffer.
            rig.w.set_s64(BASE as u16 + 2, SIZE as u64);
            let imm = bits & 0x3f8;
            [encoding.first_dword(Target::Gfx90a, op, 1 << 17 | (64 << 6) | BASE / 2), imm]
        }
        Encoding::Flat | Encoding::Global => {
            let place = bits % 3;
            let high: [u32; LANES] =
                std::array::from_fn(|lane| match (encoding, (place + lane as u32) % 3) {
                    (Encoding::Flat, 0) => crate::memory::apertures::SHARED_BASE_HI,
                    (Encoding::Flat, 1) => crate::memory::apertures::PRIVATE_BASE_HI,
                    _ => (at >> 32) as u32,
                });
            let with_base = encoding == Encoding::Global && bits & 0x40 != 0;
            let low: [u32; LANES] = std::array::from_fn(|lane| match high[lane] {
                crate::memory::apertures::SHARED_BASE_HI => offsets[lane],
                crate::memory::apertures::PRIVATE_BASE_HI => offsets[lane] % 32 & !15,
                _ if with_base => offsets[lane],
                _ => at as u32 + offsets[lane],
            });
            rig.w.set_s64(BASE as u16, at);
            set(rig, ADDRESS, low);
            set(rig, ADDRESS + 1, high);
            let saddr = if with_base { BASE } else { 0x7f };
            [
                encoding.first_dword(Target::Gfx90a, op, bits & 0x10),
                RESULT << 24 | saddr << 16 | data | ADDRESS,
            ]
        }
        Encoding::Scratch => {
            set(rig, ADDRESS, offsets.map(|o| o % 32 & !3));
            let sve = if rig.target.has_gfx942_instructions() { 1 << 13 } else { 0 };
            [
                encoding.first_dword(Target::Gfx90a, op, sve | bits & 0xc),
                RESULT << 24 | 0x7f << 16 | data | ADDRESS,
            ]
        }
        _ => {
            // Raw, or of records of 32 bytes, swizzled or not; some lanes are out of range.
            // Swizzled, wide atomics would be misaligned.
            let atomic = matches!(Info::of(row).addressing, AddressingKind::Buffer(AccessKind::Atomic, _));
            let kinds = if atomic { 2 } else { 3 };
            let (stride, swizzle, index) =
                [(0, 0, false), (32, 0, true), (32, 1, true)][bits as usize % kinds];
            let records = if index { 100 } else { 5000 };
            let format = [7 << 12 | 4 << 15, 4 << 12 | 14 << 15, 0x4 << 12 | 10 << 15][bits as usize / 3 % 3];
            rig.w.set_s64(BASE as u16, at | stride << 48 | swizzle << 63);
            rig.w.set_s64(BASE as u16 + 2, records | (format | 0xfac) << 32);
            if index {
                set(rig, ADDRESS, offsets.map(|o| o / 16 % 128));
                set(rig, ADDRESS + 1, offsets.map(|o| o & 16));
            } else {
                set(rig, ADDRESS, offsets);
            }
            let modes = if index { 3 << 12 } else { 1 << 12 };
            let low =
                modes | bits & 0x10 | (format as u32 >> 15 & 15) << 19 | (format as u32 >> 12 & 7) << 23;
            let low = if encoding == Encoding::Mtbuf { low } else { low & 0xffff };
            [encoding.first_dword(Target::Gfx90a, op, low), OFFSET << 24 | (BASE / 4) << 16 | data | ADDRESS]
        }
    }
}

/// Returns the registers that the instruction may write.
fn registers(w: &Wave) -> Vec<u32> {
    let vectors = [RESULT, DATA].into_iter().flat_map(|r| (r..r + 4).collect::<Vec<_>>());
    let mut all: Vec<u32> = vectors.flat_map(|r| *w.v(r as u16).flat()).collect();
    all.extend((64..80).map(|s| w.s32(s)));
    all
}

/// Executes an instruction on random operands, and compares the bytes that it changes, and those on which its result depends, with
/// the predicted ones.
fn check_round(
    random: &mut Random,
    rig: &mut TestWave,
    encoding: Encoding,
    row: &'static Row,
    at: u64,
    round: usize,
) {
    let (target, addressing) = (rig.target, Info::of(row).addressing);
    let name = row.name;
    rig.w.scratch.reset(64);
    let exec = [!0, random.next(), 1][round % 3];
    rig.w.set_exec(exec);
    let words = prepare(random, rig, encoding, row, at);
    // Data that differs from the memory in each byte, and whose float forms are numbers.
    for r in 0..8 {
        *rig.w.v_mut((DATA + r) as u16).flat_mut() = [0x3f80_4142; LANES];
    }
    for s in 64..80 {
        rig.w.set_s32(s, 0x3f80_4142);
    }
    let before = rig.w.r.v[..32].to_vec();
    let scalars: Vec<u32> = (0..128).map(|s| rig.w.s32(s)).collect();
    let pattern = vec![0x11; 2 * SIZE + 64 * LANES];
    let mut accesses = Vec::new();
    let code =
        crate::exec::inst::Code::decode(&[words[0], words[1]], 0, &[], target, false, SimdLevel::best());
    let pool = usize::from(crate::state::wave::POOL);
    rig.w.r.s[pool..pool + code.pool.len()].copy_from_slice(&code.pool);
    let i = &code.insts[0];
    assert_eq!(i.row.name, name);
    assert_eq!(i.flags & flag::LDS, 0, "{name}");
    find(&mut rig.w, i, addressing, &mut accesses);
    let named = |kinds: &[AccessKind]| {
        let mut all: Vec<usize> =
            accesses.iter().filter(|t| kinds.contains(&t.access)).flat_map(|t| bytes(t, at)).collect();
        all.sort_unstable();
        all.dedup();
        all
    };
    let mut run = |memory_before: &[u8]| {
        rig.w.r.v[..32].copy_from_slice(&before);
        for (s, value) in scalars.iter().enumerate() {
            rig.w.set_s32(s as u16, *value);
        }
        rig.w.scratch.reset(64);
        set_memory(rig, at, memory_before);
        rig.run(&words);
        let after = memory(rig, at);
        let changed = (0..after.len()).filter(|n| after[*n] != memory_before[*n]);
        (changed.collect::<Vec<usize>>(), registers(&rig.w))
    };
    let (changed, result) = run(&pattern);
    let written = named(&[AccessKind::Write, AccessKind::Atomic]);
    let read = named(&[AccessKind::Read, AccessKind::Atomic]);
    let context = format!("{name} on {target:?}, round {round}: {accesses:?}");
    // A load to LDS and a conversion of a format may write the bytes that were there.
    let exact = !accesses.iter().any(|t| t.access != AccessKind::Write)
        && !matches!(addressing, AddressingKind::Format(_));
    if exact {
        assert_eq!(changed, written, "{context}");
    } else {
        assert!(changed.iter().all(|n| written.contains(n)), "{changed:?} {context}");
    }
    if !read.is_empty() {
        // Changes all other bytes. The result must not change.
        let mut others = vec![0x22; pattern.len()];
        let mut own = pattern.clone();
        for n in &read {
            others[*n] = 0x11;
            own[*n] = 0x22;
        }
        assert_eq!(run(&others).1, result, "{context}");
        // A format may convert both to the same value.
        let returns = accesses.iter().all(|t| t.access == AccessKind::Read)
            && !matches!(addressing, AddressingKind::Format(_));
        let seen = run(&own);
        assert!(!returns || written.is_empty() == (seen.1 != result), "{context}");
    }
}

#[test]
fn every_memory_instruction_accesses_the_predicted_bytes() {
    let mut random = Random::new(5);
    let mut checked = 0;
    for target in Target::GFX9 {
        let mut rig = TestWave::new(target, SimdLevel::best());
        let at = rig.space.alloc(SIZE as u64, 4096).unwrap();
        // Those of images are in image_tests.rs.
        for encoding in Encoding::ALL.into_iter().filter(|encoding| *encoding != Encoding::Mimg) {
            for row in encoding.rows().iter().filter(|row| row.op[target as usize] >= 0) {
                let addressing = Info::of(row).addressing;
                for round in 0..if addressing == AddressingKind::None { 0 } else { 6 } {
                    check_round(&mut random, &mut rig, encoding, row, at, round);
                    checked += 1;
                }
            }
        }
    }
    assert!(checked > 3000, "{checked}");
}
