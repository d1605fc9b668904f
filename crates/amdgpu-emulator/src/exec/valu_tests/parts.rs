//! Compares SDWA and DPP, in encodings by llvm-mc 15, with models on bytes and on lists of lanes.

use amdgpu_isa::Target;

use super::rigs;
use crate::state::wave::{LANES, sreg};
use crate::testing::test_wave::{Random, TestWave};

type Values = [u32; LANES];

/// Writes random values to v0, v1, v2, s3, EXEC and VCC.
fn set_up(random: &mut Random, rig: &mut TestWave) -> ([Values; 3], u64, u64) {
    let v: [Values; 3] = std::array::from_fn(|_| std::array::from_fn(|_| random.next() as u32));
    for (n, lanes) in v.iter().enumerate() {
        *rig.w.v_mut(n as u16).flat_mut() = *lanes;
    }
    let exec = if random.next().is_multiple_of(2) { !0 } else { random.next() };
    let vcc = random.next();
    rig.w.set_exec(exec);
    rig.w.set_s64(sreg::VCC, vcc);
    rig.w.set_s32(3, 0x8912_f4c5);
    (v, exec, vcc)
}

/// Runs one instruction on random registers. `want` returns the expected v0 of an active lane for v0, v1, v2 and VCC's
/// bit.
fn check(words: [u32; 2], want: impl Fn([u32; 3], bool) -> u32) {
    let mut random = Random::new(u64::from(words[1]));
    for rig in &mut rigs(Target::Gfx90a) {
        for _ in 0..10 {
            let (v, exec, vcc) = set_up(&mut random, rig);
            rig.run(&words);
            for l in 0..LANES {
                let before = [v[0][l], v[1][l], v[2][l]];
                let want = if exec >> l & 1 != 0 { want(before, vcc >> l & 1 != 0) } else { before[0] };
                assert_eq!(rig.w.v(0).flat()[l], want, "{words:08x?}, lane {l}, {before:08x?}");
            }
        }
    }
}

fn byte(v: u32, n: usize) -> u32 {
    u32::from(v.to_le_bytes()[n])
}

#[test]
fn sdwa_selects_and_places_parts() {
    // v_add_u32_sdwa v0, v1, v2 dst_sel:BYTE_1 dst_unused:UNUSED_PRESERVE src0_sel:WORD_1 src1_sel:BYTE_3
    check([0x6800_04f9, 0x0305_1101], |[old, a, b], _| {
        let mut bytes = old.to_le_bytes();
        bytes[1] = ((a >> 16) + byte(b, 3)) as u8;
        u32::from_le_bytes(bytes)
    });
    // v_add_u32_sdwa v0, sext(v1), v2 dst_sel:WORD_1 dst_unused:UNUSED_SEXT src0_sel:BYTE_2 src1_sel:DWORD
    check([0x6800_04f9, 0x060a_0d01], |[_, a, b], _| {
        let sum = i64::from(byte(a, 2) as u8 as i8) + i64::from(b);
        (sum as u32 & 0xffff) << 16
    });
    // The same to byte 1, above which the sign is extended.
    check([0x6800_04f9, 0x060a_0901], |[_, a, b], _| {
        let sum = (i64::from(byte(a, 2) as u8 as i8) + i64::from(b)) as u8;
        (i32::from(sum as i8) << 8) as u32
    });
    // v_add_u32_sdwa v0, s3, v2 dst_sel:DWORD dst_unused:UNUSED_PAD src0_sel:WORD_1 src1_sel:BYTE_0
    check([0x6800_04f9, 0x0085_0603], |[_, _, b], _| 0x8912 + byte(b, 0));
    // v_add_u32_sdwa v0, v1, s3 dst_sel:DWORD dst_unused:UNUSED_PAD src0_sel:WORD_1 src1_sel:BYTE_0
    check([0x6800_06f9, 0x8005_0601], |[_, a, _], _| (a >> 16) + 0xc5);
    // v_add_f16_sdwa v0, -v1, |v2| dst_sel:WORD_0 dst_unused:UNUSED_PAD src0_sel:WORD_1 src1_sel:WORD_0
    check([0x3e00_04f9, 0x2415_0401], |[_, a, b], _| {
        let value = |v: u32| half::f16::from_bits(v as u16).to_f64();
        let sum = value(b & 0x7fff) - value(a >> 16);
        if sum.is_nan() {
            nan_of(a >> 16 ^ 0x8000, b & 0x7fff)
        } else {
            u32::from(super::floats::to_f16(sum))
        }
    });
    // v_addc_co_u32_sdwa v0, vcc, v1, v2, vcc dst_sel:DWORD dst_unused:UNUSED_PAD src0_sel:BYTE_1 src1_sel:WORD_1
    check([0x3800_04f9, 0x0501_0601], |[_, a, b], carry| byte(a, 1) + (b >> 16) + u32::from(carry));
}

/// Returns the NaN of a sum of two f16: the first operand that is one, quieted.
fn nan_of(a: u32, b: u32) -> u32 {
    let is_nan = |v: u32| v & 0x7fff > 0x7c00;
    if is_nan(a) {
        a | 0x200
    } else if is_nan(b) {
        b | 0x200
    } else {
        0xfe00
    }
}

#[test]
fn sdwa_comparisons_write_any_mask() {
    let mut random = Random::new(21);
    for rig in &mut rigs(Target::Gfx90a) {
        // v_cmp_lt_u32_sdwa s[6:7], v1, v2 src0_sel:BYTE_1 src1_sel:WORD_1; then the same to VCC.
        for (control, at) in [(0x0501_8601, 6), (0x0501_0001, sreg::VCC)] {
            let (v, exec, _) = set_up(&mut random, rig);
            rig.run(&[0x7d92_04f9, control]);
            for l in 0..LANES {
                let want = exec >> l & 1 != 0 && byte(v[1][l], 1) < v[2][l] >> 16;
                assert_eq!(rig.w.s64(at) >> l & 1 != 0, want);
            }
        }
    }
}

/// The lane from which a lane reads, if there is one.
type From = fn(i32) -> Option<i32>;

/// Each permutation with its control dword.
const PERMUTATIONS: [(u32, From); 13] = [
    // quad_perm:[3,2,1,0]
    (0xff00_1b01, |l| Some(l ^ 3)),
    // row_shl:1
    (0xff01_0101, |l| (l % 16 < 15).then_some(l + 1)),
    // row_shr:3
    (0xff01_1301, |l| (l % 16 >= 3).then(|| l - 3)),
    // row_ror:5
    (0xff01_2501, |l| Some(if l % 16 >= 5 { l - 5 } else { l + 11 })),
    // wave_shl:1
    (0xff01_3001, |l| (l < 63).then_some(l + 1)),
    // wave_rol:1
    (0xff01_3401, |l| Some(if l < 63 { l + 1 } else { 0 })),
    // wave_shr:1
    (0xff01_3801, |l| (l > 0).then(|| l - 1)),
    // wave_ror:1
    (0xff01_3c01, |l| Some(if l > 0 { l - 1 } else { 63 })),
    // row_mirror
    (0xff01_4001, |l| Some(l ^ 15)),
    // row_half_mirror
    (0xff01_4101, |l| Some(l ^ 7)),
    // row_bcast:15 row_mask:0xa
    (0xaf01_4201, |l| if l < 16 { None } else { Some(l / 16 * 16 - 1) }),
    // row_bcast:31 row_mask:0xc
    (0xcf01_4301, |l| if l < 32 { None } else { Some(31) }),
    // row_newbcast:3 bank_mask:0x5
    (0xf501_5301, |l| Some(l / 16 * 16 + 3)),
];

#[test]
fn dpp_reads_values_of_other_lanes() {
    let mut random = Random::new(22);
    for rig in &mut rigs(Target::Gfx90a) {
        for (control, from) in PERMUTATIONS {
            for bound_ctrl in [0u32, 1 << 19] {
                let (v, exec, _) = set_up(&mut random, rig);
                // v_mov_b32_dpp v0, v1
                let control = control | bound_ctrl;
                rig.run(&[0x7e00_02fa, control]);
                assert_eq!(rig.w.exec(), exec);
                for l in 0..LANES {
                    let source = from(l as i32).filter(|from| exec >> from & 1 != 0);
                    let written = exec >> l & 1 != 0
                        && control >> (28 + l / 16) & 1 != 0
                        && control >> (24 + l % 16 / 4) & 1 != 0
                        && (source.is_some() || bound_ctrl != 0);
                    let value = source.map_or(0, |from| v[1][from as usize]);
                    let want = if written { value } else { v[0][l] };
                    assert_eq!(rig.w.v(0).flat()[l], want, "{control:08x}, lane {l}, exec {exec:x}");
                }
            }
        }
    }
}

#[test]
fn dpp_works_with_sign_modifiers_and_f64() {
    let mut random = Random::new(23);
    for rig in &mut rigs(Target::Gfx90a) {
        rig.w.set_exec(!0);
        let [a, b]: [[f64; LANES]; 2] =
            std::array::from_fn(|_| std::array::from_fn(|_| (random.next() % 2001) as f64 - 1000.0));
        for l in 0..LANES {
            rig.w.v_mut(1).flat_mut()[l] = (a[l] as f32).to_bits();
            rig.w.v_mut(2).flat_mut()[l] = (b[l] as f32).to_bits();
        }
        // v_add_f32_dpp v0, -v1, |v2| row_shr:1 row_mask:0xf bank_mask:0xf bound_ctrl:0
        rig.run(&[0x0200_04fa, 0xff99_1101]);
        for l in 0..LANES {
            let from = if l % 16 == 0 { 0.0 } else { a[l - 1] };
            assert_eq!(f32::from_bits(rig.w.v(0).flat()[l]), (b[l].abs() - from) as f32);
        }
        for l in 0..LANES {
            for (v, value) in [(0, 1.0), (2, a[l]), (4, b[l])] {
                rig.w.v_mut(v).flat_mut()[l] = value.to_bits() as u32;
                rig.w.v_mut(v + 1).flat_mut()[l] = (value.to_bits() >> 32) as u32;
            }
        }
        // v_fmac_f64_dpp v[0:1], v[2:3], v[4:5] row_newbcast:3 row_mask:0xf bank_mask:0xf
        rig.run(&[0x0800_08fa, 0xff01_5302]);
        for l in 0..LANES {
            let got = u64::from(rig.w.v(0).flat()[l]) | u64::from(rig.w.v(1).flat()[l]) << 32;
            assert_eq!(f64::from_bits(got), 1.0 + a[l / 16 * 16 + 3] * b[l]);
        }
    }
}
