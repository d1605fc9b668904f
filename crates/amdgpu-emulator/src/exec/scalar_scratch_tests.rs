//! Compares random `s_scratch_*` accesses with a model of the wave's private memory as one list of bytes.

use amdgpu_isa::Target;

use crate::exec::level::SimdLevel;
use crate::memory::apertures::SCRATCH_BASE;
use crate::report::access::{AccessKind, LaneAddress, MemorySpace};
use crate::report::fault::FaultCause;
use crate::state::wave::LANES;
use crate::testing::test_wave::{Random, TestWave};

crate::testing::tally::verified!(random_accesses);

/// The size of a lane's private memory in bytes.
const SCRATCH: u32 = 64;
const ALL: usize = SCRATCH as usize * LANES;

/// Returns the wave's private memory: the first dword of each lane, then the second of each, and so on.
fn bytes(rig: &TestWave) -> Vec<u8> {
    (0..ALL)
        .map(|at| {
            let (row, lane, byte) = (at / 256, at / 4 % 64, at % 4);
            rig.w.scratch.load::<u8>(lane, (4 * row + byte) as u32).unwrap()
        })
        .collect()
}

/// Replaces a constant offset with a register, or adds a register to it.
fn with_register(mut words: [u32; 2], register: u32, constant: bool) -> [u32; 2] {
    if constant {
        words[0] |= 1 << 14;
        words[1] |= register << 25;
    } else {
        words[0] &= !(1 << 17);
        words[1] = register;
    }
    words
}

fn random_accesses() {
    let mut random = Random::new(17);
    for round in 0..600 {
        let target = Target::GFX9[round / 18 % 3];
        let mut rig = TestWave::new(target, SimdLevel::best());
        rig.w.scratch.reset(SCRATCH);
        for lane in 0..LANES {
            for offset in (0..SCRATCH).step_by(4) {
                rig.w.scratch.store(lane, offset, [random.next() as u32]).unwrap();
            }
        }
        let before = bytes(&rig);
        let dwords = [1, 2, 4][round % 3];
        let is_load = round / 3 % 2 == 0;
        let name = format!(
            "s_scratch_{}_dword{}",
            if is_load { "load" } else { "store" },
            ["", "x2", "x4"][round % 3]
        );
        // The base, a constant, and a register that counts bytes of a lane.
        let (constant, in_register) = (round / 6 % 3 != 1, round / 6 % 3 != 0);
        let by_constant = if constant { (random.next() % 1024) as u32 } else { 0 };
        let by_register = if in_register { (random.next() % 40) as u32 } else { 0 };
        let base = (random.next() % 900) as u32;
        let at = (base + by_constant + 64 * by_register) as usize & !3;
        rig.w.set_s64(8, SCRATCH_BASE + u64::from(base));
        rig.w.set_s32(10, by_register);
        let data: [u32; 4] = std::array::from_fn(|_| random.next() as u32);
        for (n, dword) in data.iter().enumerate() {
            rig.w.set_s32(20 + n as u16, *dword);
        }
        let mut words = rig.smem(&name, 20, 8, by_constant as i32);
        if in_register {
            words = with_register(words, 10, constant);
        }
        let ended = rig.try_run(&words);
        let size = 4 * dwords;
        if at + size > ALL {
            let access = if is_load { AccessKind::Read } else { AccessKind::Write };
            let lanes = vec![LaneAddress { lane: None, address: at as u64 }];
            let cause =
                FaultCause::OutOfBounds { access, space: MemorySpace::Scratch, size: size as u32, lanes };
            assert_eq!(ended, Err(cause), "{name}");
            assert!(bytes(&rig) == before, "{name}");
            continue;
        }
        assert_eq!(ended, Ok(()), "{name}");
        let mut want = before.clone();
        let mut registers = data;
        for n in 0..dwords {
            let place = at + 4 * n..at + 4 * n + 4;
            if is_load {
                registers[n] = u32::from_le_bytes(before[place].try_into().unwrap());
            } else {
                want[place].copy_from_slice(&data[n].to_le_bytes());
            }
        }
        assert!(bytes(&rig) == want, "{name} at {at:#x}");
        assert_eq!(std::array::from_fn(|n| rig.w.s32(20 + n as u16)), registers, "{name} at {at:#x}");
    }
}

#[test]
fn other_bases_access_memory_as_s_load_and_s_store_do() {
    let mut rig = TestWave::gfx90a();
    let at = rig.space.alloc(256, 0).unwrap();
    rig.w.set_s64(8, at);
    rig.w.set_s32(10, 2);
    rig.w.set_s64(20, 0x0123_4567_89ab_cdef);
    rig.run(&with_register(rig.smem("s_scratch_store_dwordx2", 20, 8, 4), 10, true));
    let mut stored = [0; 8];
    rig.space.read(at + 132, &mut stored).unwrap();
    assert_eq!(u64::from_le_bytes(stored), 0x0123_4567_89ab_cdef);
    rig.run(&rig.smem("s_scratch_load_dword", 30, 8, 136));
    assert_eq!(rig.w.s32(30), 0x0123_4567);
    let past = rig.smem("s_scratch_load_dword", 30, 8, 4096);
    let lanes = vec![LaneAddress { lane: None, address: at + 4096 }];
    let cause =
        FaultCause::OutOfBounds { access: AccessKind::Read, space: MemorySpace::Global, size: 4, lanes };
    assert_eq!(rig.try_run(&past), Err(cause));
}
