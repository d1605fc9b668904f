//! Tests of what AMD's documents, LLVM and measurements say differently. Each names its source. VERIFICATION.md lists
//! which source is followed where they disagree.

use amdgpu_isa::{Encoding, Target};

use crate::exec::matrix_tests::{dot_in, levels};
use crate::report::fault::FaultCause;
use crate::state::wave::{LANES, Mode, sreg};
use crate::testing::test_wave::{TestWave, op};

fn dot(name: &str, a: &[u64], b: &[u64], level: crate::exec::level::SimdLevel) -> f32 {
    dot_in(Mode::DEFAULT, name, a, b, 0.0, level)
}

fn targets() -> [TestWave; 3] {
    Target::GFX9.map(|target| TestWave::new(target, crate::exec::level::SimdLevel::Portable))
}

/// Random sources are seldom equal. CDNA3 and CDNA4 ISA, 12.1: `SCC = S0 >= S1` for a maximum, `SCC = S0 < S1` for a
/// minimum.
#[test]
fn scc_of_equal_sources() {
    let mut rig = TestWave::gfx90a();
    for value in [0, 7, 0x7fff_ffff, 0x8000_0000, u32::MAX] {
        rig.w.set_s32(4, value);
        rig.w.set_s32(5, value);
        for (name, scc) in
            [("s_max_i32", true), ("s_max_u32", true), ("s_min_i32", false), ("s_min_u32", false)]
        {
            rig.w.set_scc(!scc);
            let words = [rig.sop2(name, 6, 4, 5)];
            rig.run(&words);
            assert_eq!((rig.w.s32(6), rig.w.scc()), (value, scc), "{name} {value:#x}");
        }
    }
}

/// CDNA2 ISA, chapter 7, table of MFMA: f32 matrices flush denormals as `MODE.denorm` says; f16 and bf16 ones always, f64
/// ones never. CDNA3 ISA, 7.3: f32 matrices obey MODE, xf32 ones don't; the matrices C and D are never flushed; matrices
/// of less than 32 bits ignore MODE.
#[test]
fn mode_flushes_denormals_of_f32_matrices_a_and_b_only() {
    let f32s = |x: f32| u64::from(x.to_bits());
    let tiny = f32::from_bits(5 << 13);
    let two_to = |power: i32| 2f32.powi(power);
    for level in levels() {
        // Bit 4 keeps denormals of sources, bit 5 those of results.
        for (mode, kept) in [(0x3f0, true), (0x3d0, true), (0x3e0, false), (0x3c0, false)] {
            let run = |name: &str, a: f32, b: f32, c: f32| {
                dot_in(Mode(mode), name, &[f32s(a)], &[f32s(b)], c, level)
            };
            for name in ["v_mfma_f32_32x32x2f32", "v_mfma_f32_32x32x2_f32", "v_mfma_f32_4x4x1_16b_f32"] {
                let scaled = if kept { tiny * two_to(30) } else { 0.0 };
                assert_eq!(run(name, tiny, two_to(30), 0.0), scaled, "{name} {mode:#x}: A");
                assert_eq!(run(name, two_to(30), tiny, 0.0), scaled, "{name} {mode:#x}: B");
                assert_eq!(run(name, 0.0, 0.0, tiny), tiny, "{name} {mode:#x}: C");
                let product = run(name, two_to(-70), two_to(-60), 0.0);
                assert_eq!(product, two_to(-130), "{name} {mode:#x}: D");
                // The sign of a flushed element is kept: -0 + -0 is -0. (With more than one product, the others are +0.)
                if !kept && name.contains("4x4x1") {
                    assert_eq!(run(name, -tiny, 1.0, -0.0).to_bits(), 1 << 31, "{name} {mode:#x}");
                }
            }
            let xf32 = "v_mfma_f32_16x16x8_xf32";
            assert_eq!(run(xf32, tiny, two_to(30), 0.0), tiny * two_to(30), "{mode:#x}");
            let half = |x: f32| u64::from(half::f16::from_f32(x).to_bits());
            let small = two_to(-20);
            for (name, want) in [("v_mfma_f32_32x32x8f16", 0.0), ("v_mfma_f32_32x32x8_f16", small)] {
                let got = dot_in(Mode(mode), name, &[half(small)], &[half(1.0)], 0.0, level);
                assert_eq!(got, want, "{name} {mode:#x}");
            }
        }
    }
}

/// CDNA3 ISA, 7.1, says that xf32 instructions round the mantissa to 10 bits. This crate follows the measurements of
/// arXiv 2511.10909, which AMD's Tensile agrees with (`float_to_XFloat32` clears 13 bits): they truncate it.
#[test]
fn xf32_truncates() {
    let f32s = |bits: u32| u64::from(bits);
    for level in levels() {
        // The 13 bits that are cut are above and at half a unit.
        for below in [0x1fff, 0x1001, 0x1000, 1] {
            for sign in [0, 1 << 31] {
                let x = 0x3f80_2000 | sign;
                let one = 1f32.to_bits();
                let got = dot("v_mfma_f32_16x16x8_xf32", &[f32s(x | below)], &[f32s(one)], level);
                assert_eq!(got.to_bits(), x, "{below:#x}");
            }
        }
    }
}

/// Measured nowhere; LLVM emits counts of 0 to 4 alone. CDNA4 ISA, 12.11, `V_LSHL_ADD_U64`: the pseudocode reads the
/// three low bits of the count, and the notes say that counts above 4 are not supported and shift by 0.
#[test]
fn shift_counts_of_lshl_add() {
    for level in levels() {
        let mut rig = TestWave::new(Target::Gfx942, level);
        let op = op(Encoding::Vop3, "v_lshl_add_u64", Target::Gfx942);
        let mut count = [0; LANES];
        for (lane, count) in count.iter_mut().enumerate() {
            *count = lane as u32 | 0xff00;
            rig.w.v_mut(2).flat_mut()[lane] = 0x8000_0001;
            rig.w.v_mut(3).flat_mut()[lane] = 1;
            rig.w.v_mut(6).flat_mut()[lane] = 5;
            rig.w.v_mut(7).flat_mut()[lane] = 0;
        }
        *rig.w.v_mut(4).flat_mut() = count;
        // v_lshl_add_u64 v[8:9], v[2:3], v4, v[6:7]
        rig.run(&[Encoding::Vop3.first_dword(Target::Gfx90a, op, 8), 258 | 260 << 9 | 262 << 18]);
        for (lane, count) in count.into_iter().enumerate() {
            let shift = [0, 1, 2, 3, 4, 0, 0, 0][count as usize % 8];
            let want = (0x1_8000_0001u64 << shift) + 5;
            let got = u64::from(rig.w.v(8).flat()[lane]) | u64::from(rig.w.v(9).flat()[lane]) << 32;
            assert_eq!(got, want, "{level:?}: count {count}");
        }
    }
}

fn ds(rig: &TestWave, name: &str, offsets: u32, registers: [u32; 4]) -> [u32; 2] {
    let [address, data, second, to] = registers;
    let first = Encoding::Ds.first_dword(Target::Gfx90a, op(Encoding::Ds, name, rig.target), offsets);
    [first, address | data << 8 | second << 16 | to << 24]
}

/// CDNA4 ISA, `DS_WRITE2_B32`: the pseudocode stores DATA, then DATA2, so that DATA2 remains if the offsets are equal. The
/// text says nothing of equal offsets.
#[test]
fn equal_offsets_of_two_writes() {
    for mut rig in targets() {
        rig.w.set_exec(1);
        for (register, value) in [(0, 16), (1, 0xaaaa), (2, 0xbbbb)] {
            rig.w.v_mut(register).flat_mut()[0] = value;
        }
        let words = ds(&rig, "ds_write2_b32", 0x0303, [0, 1, 2, 0]);
        rig.run(&words);
        assert_eq!(rig.cx.lds.load_u32(16 + 12), Some(0xbbbb), "{:?}", rig.target);
    }
}

/// LLVM (`SelectDSAppendConsume`) copies the pointer to M0: its low 16 bits and the offset are the address in LDS. The text
/// of `DS_APPEND` (CDNA4 ISA) has M0's base for GDS alone, and the offset alone for LDS; compiled code would count in the
/// wrong place.
#[test]
fn append_takes_its_address_from_m0() {
    for mut rig in targets() {
        rig.w.set_exec(0b1011);
        rig.w.set_s32(sreg::M0, 0x0040_0020);
        assert_eq!(rig.cx.lds.store_u32(0x28, 100), Some(()));
        let words = ds(&rig, "ds_append", 8, [0, 0, 0, 5]);
        rig.run(&words);
        assert_eq!(rig.w.v(5).flat()[..4], [100, 100, 0, 100], "{:?}", rig.target);
        assert_eq!(rig.cx.lds.load_u32(0x28), Some(103), "{:?}", rig.target);
    }
}

/// AMD's machine-readable CDNA3 ISA has SOPP 31, `S_SET_VALU_COEXEC_MODE`, which says how the next vector instruction may
/// overlap with others. It changes no result. LLVM doesn't know it; gfx90a doesn't have it.
#[test]
fn the_coexecution_mode_changes_nothing() {
    let words = [0xbf9f_0002, 0x7e02_0281];
    for mut rig in targets() {
        if rig.target == Target::Gfx90a {
            assert_eq!(rig.try_run(&words), Err(FaultCause::IllegalInstruction));
            continue;
        }
        let mode = rig.w.mode;
        rig.run(&words);
        // v_mov_b32 v1, 1
        assert_eq!((rig.w.v(1).flat()[3], rig.w.mode), (1, mode));
        assert_eq!(amdgpu_isa::disassemble_words(rig.target, &words[..1], 0), None);
        let text = amdgpu_isa::disassemble_lenient(rig.target, &words[..1], 0).text;
        assert_eq!(text, "s_set_valu_coexec_mode 2");
    }
}

/// CDNA3 ISA, 11.3: global wave sync needs the GDS bit; LLVM refuses it without. `S_GETPC_B64` has no source (CDNA3 ISA,
/// 12.3); LLVM ignores the bits of one.
#[test]
fn fields_that_must_be_set_or_clear() {
    for mut rig in targets() {
        for name in ["ds_gws_init", "ds_gws_barrier", "ds_gws_sema_v"] {
            let words = ds(&rig, name, 0, [0; 4]);
            assert_eq!(rig.try_run(&words), Err(FaultCause::IllegalInstruction), "{name}");
        }
        assert_eq!(rig.try_run(&[rig.sop1("s_getpc_b64", 4, 5)]), Err(FaultCause::IllegalInstruction));
        assert_eq!(rig.try_run(&[rig.sop1("s_getpc_b64", 4, 0)]), Ok(()));
    }
}

/// Adds a denormal to one in memory (`flat` and `global` instructions, or LDS).
///
/// f32 sums of global memory: gfx90a flushes denormals in any MODE (CDNA2 ISA, 9.5, table of L2; LLVM). gfx942 keeps them
/// (LLVM, `FeatureMemoryAtomicFAddF32DenormalSupport`), although CDNA3 ISA, 10.3.1, repeats CDNA2's text. Those of LDS
/// obey MODE (CDNA2 ISA, 9.5, and CDNA3 ISA, 11.3.1).
#[test]
fn denormals_of_f32_atomics() {
    let tiny = 3u32;
    for mut rig in targets() {
        let memory = rig.space.alloc(64, 64).unwrap();
        for (mode, keeps) in [(0x3f0, true), (0x3c0, false)] {
            rig.w.mode = Mode(mode);
            rig.w.set_exec(1);
            rig.space.write(memory, &tiny.to_le_bytes()).unwrap();
            assert_eq!(rig.cx.lds.store_u32(0, tiny), Some(()));
            for (register, value) in [(0, memory as u32), (1, (memory >> 32) as u32), (2, tiny), (3, 0)] {
                rig.w.v_mut(register).flat_mut()[0] = value;
            }
            let add = op(Encoding::Global, "global_atomic_add_f32", rig.target);
            rig.run(&[Encoding::Global.first_dword(Target::Gfx90a, add, 0), 2 << 8 | 0x7f << 16]);
            let mut sum = [0; 4];
            rig.space.read(memory, &mut sum).unwrap();
            let want = if rig.target == Target::Gfx90a { 0 } else { 2 * tiny };
            assert_eq!(u32::from_le_bytes(sum), want, "{:?} {mode:#x}", rig.target);
            let words = ds(&rig, "ds_add_f32", 0, [3, 2, 0, 0]);
            rig.run(&words);
            assert_eq!(rig.cx.lds.load_u32(0), Some(if keeps { 2 * tiny } else { 0 }), "{:?}", rig.target);
        }
    }
}
