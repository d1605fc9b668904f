//! Random instruction streams: whatever the code is, decoding and running it ends in a result or a fault.

use crate::isa::Level;
use crate::tables::{Encoding, Target, rows};
use crate::testing::{Random, Rig, word};

/// A random instruction of an encoding: a valid opcode, or any, with random operands.
fn random_instruction(random: &mut Random, target: Target) -> [u32; 2] {
    let encoding = Encoding::ALL[random.next() as usize % Encoding::ALL.len()];
    let table = rows(encoding);
    let row = &table[random.next() as usize % table.len()];
    let mut op = row.op[target as usize].max(0) as u32;
    if random.next() % 16 == 0 {
        op = random.next() as u32;
    }
    // Registers are small, and often inline constants and special ones.
    let bits = random.next() as u32;
    let (low, high) = match random.next() % 4 {
        0 => (bits, random.next() as u32),
        1 => (bits & 0x0f0f_0f0f, random.next() as u32 & 0x0f0f_0f0f),
        2 => (bits & 0x00ff_00ff, random.next() as u32 & 0x1f07_ff07),
        _ => (bits & 0x7fff_ffff, random.next() as u32 & 0x0707_0707 | 0x0402_0100),
    };
    let word = word(encoding, op, low);
    [word, high]
}

#[test]
fn random_streams_end() {
    for target in [Target::Gfx90a, Target::Gfx942] {
        for seed in 0..if cfg!(debug_assertions) { 600 } else { 6000 } {
            let mut random = Random::new(seed * 2 + target as u64 * 1_000_003);
            let mut rig = Rig::new(target, Level::best());
            rig.budget = 3000;
            let memory = rig.space.alloc(4096, 0).unwrap();
            for n in 0..64u16 {
                // Addresses, small offsets and anything.
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
            let words: Vec<u32> = (0..40).flat_map(|_| random_instruction(&mut random, target)).collect();
            // Either outcome is right; not ending or a panic is not.
            let _ = rig.try_run(&words);
            // Every instruction on its own too, as the first fault hides the rest.
            for pair in words.chunks(2) {
                let _ = rig.try_run(pair);
                rig.w.set_exec(random.int());
            }
        }
    }
}

#[test]
fn any_bytes_decode() {
    let mut random = Random::new(99);
    for target in [Target::Gfx90a, Target::Gfx942] {
        for _ in 0..50 {
            let words: Vec<u32> = (0..1000).map(|_| random.next() as u32).collect();
            let starts: Vec<usize> = (0..20).map(|_| random.next() as usize % 1200).collect();
            let code = crate::decode::Code::decode(&words, 0x1000, &starts, target, Level::Portable);
            assert!(code.insts.len() >= starts.len().min(1));
            for start in starts.into_iter().filter(|start| *start < words.len()) {
                assert!(code.index_of(0x1000 + 4 * start as u64).is_some());
            }
        }
    }
}
