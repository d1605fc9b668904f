//! Tests random instruction streams: decoding and running any code ends in a result or a fault.

use std::sync::Arc;

use amdgpu_isa::{Encoding, Target};
use code_object::CodeObject;

use crate::exec::inst::{Code, Inst, StopReason, UNMAPPED};
use crate::exec::interpret::run_wave_observed;
use crate::exec::level::SimdLevel;
use crate::memory::image::Image;
use crate::memory::{AddressSpace, DispatchMemory, View};
use crate::observe::{Observers, Sanitizer, infos};
use crate::state::wave::POOL;
use crate::testing::test_wave::{CODE, Random, TestWave, end_of};

/// Returns a random instruction of an encoding: a valid opcode or any opcode, with random operands.
fn random_instruction(random: &mut Random, target: Target) -> [u32; 2] {
    let (encoding, opcodes) = loop {
        let encoding = Encoding::ALL[random.next() as usize % Encoding::ALL.len()];
        let opcodes: Vec<u16> = encoding.opcodes(target).map(|(op, _)| op).collect();
        if !opcodes.is_empty() || encoding == Encoding::Mimg {
            break (encoding, opcodes);
        }
    };
    let mut op = match opcodes.len() {
        0 => 0,
        count => u32::from(opcodes[random.next() as usize % count]),
    };
    if random.next() % 16 == 0 {
        op = random.next() as u32;
    }
    // Register numbers are small; inline constants and special registers are frequent.
    let bits = random.next() as u32;
    let (low, high) = match random.next() % 4 {
        0 => (bits, random.next() as u32),
        1 => (bits & 0x0f0f_0f0f, random.next() as u32 & 0x0f0f_0f0f),
        2 => (bits & 0x00ff_00ff, random.next() as u32 & 0x1f07_ff07),
        _ => (bits & 0x7fff_ffff, random.next() as u32 & 0x0707_0707 | 0x0402_0100),
    };
    let word = encoding.first_dword(target, op, low);
    [word, high]
}

/// Returns a wave with random registers, many of which are addresses in its memory.
fn random_rig(random: &mut Random, target: Target) -> TestWave {
    let new = if target.is_rdna() && random.next() & 1 != 0 { TestWave::wave32 } else { TestWave::new };
    let mut rig = new(target, SimdLevel::best());
    rig.budget = 3000;
    let memory = rig.space.alloc(4096, 0).unwrap();
    for n in 0..64u16 {
        // Addresses, small offsets and random values.
        let value = match n % 4 {
            0 => memory + random.next() % 4096,
            1 => random.next() % 5000,
            2 => random.int(),
            _ => u64::from(1.5f32.to_bits()),
        };
        rig.w.set_s64(2 * n % 100, value);
        let value = value as u32;
        for (l, lane) in rig.w.v_mut(n).flat_mut().iter_mut().enumerate() {
            *lane = value.wrapping_add(l as u32 * 4);
        }
    }
    rig.w.set_exec(random.int());
    rig.w.scratch.reset(256);
    rig
}

#[test]
fn random_streams_end() {
    for target in Target::VERIFIED {
        for seed in 0..if cfg!(debug_assertions) { 600 } else { 6000 } {
            let mut random = Random::new(seed * 2 + target as u64 * 1_000_003);
            let mut rig = random_rig(&mut random, target);
            let words: Vec<u32> = (0..40).flat_map(|_| random_instruction(&mut random, target)).collect();
            // Both outcomes are right, but the run must end without a panic.
            let _ = rig.try_run(&words);
            // Runs every instruction alone too, as the first fault hides the following ones.
            for pair in words.chunks(2) {
                let _ = rig.try_run(pair);
                rig.w.set_exec(random.int());
            }
        }
    }
}

#[test]
fn random_streams_end_when_observed() {
    let object = include_bytes!("../../tests/data/defects.gfx90a.co");
    let object = CodeObject::parse(object).unwrap();
    let image = Arc::new(Image::load(&object, &Arc::new(AddressSpace::new(1 << 20))).unwrap());
    for target in Target::VERIFIED {
        for seed in 0..if cfg!(debug_assertions) { 300 } else { 3000 } {
            let mut random = Random::new(seed * 2 + 7 + target as u64 * 1_000_003);
            let mut rig = random_rig(&mut random, target);
            rig.space.track_writes();
            let mut words: Vec<u32> = (0..40).flat_map(|_| random_instruction(&mut random, target)).collect();
            words.push(end_of(target));
            let code = Code::decode(&words, CODE, &[], target, rig.lanes() == 32, rig.level);
            let sanitizer =
                Sanitizer::new(Arc::clone(&image), Arc::new(AddressSpace::new(1 << 20)), [1; 3], true);
            let observers =
                Observers::new(|| infos(&code), true, Some(Arc::new(sanitizer)), None, seed % 2 == 0)
                    .unwrap();
            let pool = usize::from(POOL);
            rig.w.r.s[pool..pool + code.pool.len()].copy_from_slice(&code.pool);
            rig.cx.code = Arc::new(code);
            let block = Arc::new(DispatchMemory::new(0x1000, 0x1000).unwrap());
            rig.cx.mem = View::new(rig.space.snapshot(), block, rig.space.blocks().capture());
            let mut watch = observers.begin(0, [0; 3], 1);
            // Continues after a fault, so that the first one doesn't hide the following ones.
            for start in 0..rig.cx.code.insts.len() as u32 {
                rig.w.next = start;
                rig.w.set_exec(random.int());
                while rig.w.count < 100_000 {
                    let code = std::sync::Arc::clone(&rig.cx.code);
                    let slice = 1 + random.next() % 50;
                    match run_wave_observed(&mut rig.w, &mut rig.cx, &code, slice, Some(&mut *watch)) {
                        StopReason::Slice | StopReason::Barrier if rig.w.count % 64 != 0 => {}
                        _ => break,
                    }
                }
            }
            observers.end(*watch);
            assert!(observers.profile().unwrap().total() > 0);
        }
    }
}

#[test]
fn any_bytes_decode() {
    let mut random = Random::new(99);
    for target in Target::VERIFIED {
        for _ in 0..50 {
            let words: Vec<u32> = (0..1000).map(|_| random.next() as u32).collect();
            let starts: Vec<usize> = (0..20).map(|_| random.next() as usize % 1200).collect();
            let code =
                Code::decode(&words, 0x1000, &starts, target, random.next() & 1 != 0, SimdLevel::Portable);
            assert!(code.insts.len() >= starts.len().min(1));
            for start in starts.into_iter().filter(|start| *start < words.len()) {
                assert!(code.index_of(0x1000 + 4 * start as u64).is_some());
            }
        }
    }
}

/// An instruction that repeats an earlier one is decoded as it is alone, and so is one that differs in a bit.
#[test]
fn repeated_instructions_are_decoded_as_they_are_alone() {
    let mut random = Random::new(177);
    for (target, _) in Target::VERIFIED.into_iter().flat_map(|target| (0..10).map(move |n| (target, n))) {
        let mut words = vec![end_of(target); 2];
        for _ in 0..500 {
            let mut next = random_instruction(&mut random, target);
            if random.next() & 1 != 0 {
                let earlier = random.next() as usize % (words.len() - 1);
                next.copy_from_slice(&words[earlier..earlier + 2]);
                if random.next().is_multiple_of(4) {
                    next[random.next() as usize & 1] ^= 1 << (random.next() % 32);
                }
            }
            words.extend(next);
        }
        let wave32 = target.is_rdna() && random.next() & 1 != 0;
        let decode = |words| Code::decode(words, CODE, &[], target, wave32, SimdLevel::Portable);
        let whole = decode(&words);
        for (at, index) in whole.map.iter().enumerate().filter(|(_, index)| **index != UNMAPPED) {
            let alone = decode(&words[at..]);
            let (got, want) = (&whole.insts[*index as usize], &alone.insts[0]);
            let message = format!("{target:?} {:08x?}", want.raw);
            assert_eq!(fields(got), fields(want), "{message}");
            for (a, b) in got.src.into_iter().zip(want.src).chain([(got.sdst, want.sdst)]) {
                // A register, or a place in the constant pool.
                assert!(
                    a == b || constant(&whole, a).is_some_and(|a| Some(a) == constant(&alone, b)),
                    "{message}"
                );
            }
        }
    }
}

/// Returns what executing an instruction depends on, but for what it reads and the target of a branch.
fn fields(i: &Inst) -> impl PartialEq + std::fmt::Debug {
    (i.exec as usize, i.row.name, [i.dst, i.flags], i.imm, i.raw, i.ext.is_some())
}

fn constant(code: &Code, source: u16) -> Option<u32> {
    code.pool.get(usize::from(source.checked_sub(POOL)?)).copied()
}
