//! Any bytes disassemble, every byte once, and each instruction alone as among the others.
#![no_main]

use amdgpu_isa::{Instructions, Target, disassemble};

libfuzzer_sys::fuzz_target!(|code: &[u8]| {
    for target in [Target::Gfx90a, Target::Gfx942, Target::Gfx11, Target::Gfx12, Target::Gfx103] {
        let mut at = 0;
        for instruction in Instructions::new(target, code, u64::MAX - 7) {
            let alone = disassemble(target, &code[at..], instruction.address);
            assert_eq!(alone.is_some(), instruction.is_legal);
            assert!(alone.is_none_or(|alone| alone == instruction));
            at += instruction.length;
        }
        assert_eq!(at, code.len() / 4 * 4);
    }
});
