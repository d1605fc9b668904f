//! Tests of decoding: programs with more constants than the constant pool holds, dwords that are not instructions, and
//! registers as the disassembler prints them.

use amdgpu_isa::{Encoding, Target, disassemble_lenient, encoded_length};

use crate::exec::inst::Code;
use crate::exec::level::SimdLevel;
use crate::report::fault::FaultCause;
use crate::testing::test_wave::{TestWave, disassembly, is_for, op};

/// The hardware's codes of 1.0, 2.0, 4.0 and a literal.
const ONE: u32 = 242;
const TWO: u32 = 244;
const FOUR: u32 = 246;
const LITERAL: u32 = 255;

/// If a program has more literals than the constant pool holds, each instruction still has all of its constants, at
/// every level.
#[test]
fn more_literals_than_slots() {
    for target in Target::GFX9 {
        for level in SimdLevel::ALL.into_iter().filter(|level| level.is_available()) {
            let mut rig = TestWave::new(target, level);
            let mut words: Vec<u32> =
                (0..5000).flat_map(|n| [rig.sop1("s_mov_b32", 0, LITERAL), 0x10_0000 + n]).collect();
            words.extend([rig.sop2("s_lshl_b64", 2, LITERAL, LITERAL), 0x4000_0004]);
            words.extend([rig.sop2("s_ashr_i64", 4, LITERAL, LITERAL), 0x8000_0004]);
            // 2 * v1 + 5, 1 * v1 + 4.
            let name = if target == Target::Gfx90a { "v_madak_f32" } else { "v_fmaak_f32" };
            let madak = op(Encoding::Vop2, name, target) << 25 | 2 << 17 | 1 << 9 | TWO;
            words.extend([madak, 5f32.to_bits()]);
            let fma = 0xd000_0000 | op(Encoding::Vop3, "v_fma_f32", target) << 16 | 3;
            words.extend([fma, ONE | (256 + 1) << 9 | FOUR << 18]);
            *rig.w.v_mut(1) = crate::exec::lanes::splat(3f32.to_bits());
            rig.run(&words);
            assert_eq!(rig.w.s32(0), 0x10_0000 + 4999);
            assert_eq!(rig.w.s64(2), 0x4_0000_0040);
            assert_eq!(rig.w.s64(4), 0xffff_ffff_f800_0000);
            for (register, value) in [(2, 11f32), (3, 7.0)] {
                assert_eq!(rig.w.v(register).flat(), &[value.to_bits(); 64], "v{register}, {target:?}");
            }
        }
    }
}

/// Returns the encodings that are not an instruction to LLVM, from amdgpu-isa's list.
fn refused(target: Target) -> Vec<[u32; 2]> {
    let line = |line: &str| {
        let [_, first, second, "-"] = line.split(' ').collect::<Vec<_>>()[..] else { return None };
        let hex = |word| u32::from_str_radix(word, 16).unwrap();
        is_for(line, target).then(|| [hex(first), hex(second)])
    };
    disassembly().lines().filter_map(line).collect()
}

#[test]
fn bits_that_are_not_an_instruction_fault_as_illegal() {
    for target in Target::GFX9 {
        let mut rig = TestWave::new(target, SimdLevel::Portable);
        let mut count = 0;
        for words in refused(target) {
            // Bits that LLVM requires to be zero are ignored.
            if encoded_length(target, &words).is_none() {
                let ended = rig.try_run(&words);
                assert_eq!(ended.err(), Some(FaultCause::IllegalInstruction), "{target:?} {words:08x?}");
                count += 1;
            }
        }
        assert!(count > 2000, "{target:?}: only {count}");
    }
}

/// Pairs of SGPRs start at even registers; the lowest bit is ignored.
#[test]
fn traced_registers_are_those_that_the_instruction_uses() {
    for target in Target::GFX9 {
        let words = [0xbe83_0105, 0];
        assert_eq!(disassemble_lenient(target, &words, 0).text, "s_mov_b64 s[2:3], s[4:5]");
        let mut rig = TestWave::new(target, SimdLevel::Portable);
        rig.w.set_s64(4, 0x1234_5678_9abc_def0);
        rig.run(&words[..1]);
        assert_eq!(rig.w.s64(2), 0x1234_5678_9abc_def0);
    }
}

/// A wave stays in code that ends in `s_endpgm` and whose branches, as the ISA documents define them, go to its own dwords.
#[test]
fn code_is_closed_if_no_wave_can_leave_it() {
    const ENDPGM: u32 = 0xbf81_0000;
    // s_branch, with the distance in dwords from the next instruction; s_setpc_b64 s[2:3]; s_swappc_b64 s[4:5], s[2:3].
    let branch = |distance: i16| 0xbf82_0000 | u32::from(distance as u16);
    const SETPC: u32 = 0xbe80_1d02;
    const SWAPPC: u32 = 0xbe84_1e02;
    for target in Target::GFX9 {
        let closed = |words: &[u32]| {
            let code = Code::decode(words, 0x1000, &[], target, false, SimdLevel::Portable);
            code.is_closed()
        };
        assert!(closed(&[ENDPGM]));
        assert!(closed(&[branch(1), ENDPGM, branch(-2)]));
        assert!(!closed(&[branch(2), ENDPGM]), "a branch behind the end");
        assert!(!closed(&[branch(-2), ENDPGM]), "a branch before the start");
        assert!(!closed(&[SETPC, ENDPGM]) && !closed(&[SWAPPC, ENDPGM]), "an address in registers");
        assert!(!closed(&[ENDPGM, 0xbf80_0000]), "no end");
    }
}
