//! Tests of gfx11's hazards: programs in which LLVM's `GCNHazardRecognizer` would insert a wait, and ones in which it wouldn't.

use amdgpu_isa::{Isa, Target, WaveSize};

use super::missing_waits_tests::execute;
use crate::report::defect::{Defect, DefectKind};

/// Instructions of gfx11 in waves of 64, as LLVM assembles them.
#[rustfmt::skip]
const ENCODINGS: &[(&str, &[u32])] = &[
    ("v_rcp_f32_e32 v1, v4", &[0x7e02_5504]),
    ("v_rcp_f32_e32 v7, v4", &[0x7e0e_5504]),
    ("v_mov_b32_e32 v6, v1", &[0x7e0c_0301]),
    ("v_mov_b32_e32 v9, v0", &[0x7e12_0300]),
    ("v_mov_b32_e32 v1, v0", &[0x7e02_0300]),
    ("v_mov_b32_e32 v4, v0", &[0x7e08_0300]),
    ("v_mov_b32_e32 v6, s12", &[0x7e0c_020c]),
    ("v_mov_b32_e32 v6, 0x1234", &[0x7e0c_02ff, 0x1234]),
    ("v_mov_b32_e32 v6, 1", &[0x7e0c_0281]),
    ("v_add_nc_u32_e32 v5, v1, v4", &[0x4a0a_0901]),
    ("v_add_nc_u32_e32 v5, v1, v1", &[0x4a0a_0301]),
    ("v_nop", &[0x7e00_0000]),
    ("s_waitcnt_depctr 0xfff", &[0xbf88_0fff]),
    ("s_waitcnt_depctr 0xfffe", &[0xbf88_fffe]),
    ("ds_load_b32 v8, v0", &[0xd8d8_0000, 0x0800_0000]),
    ("v_wmma_f32_16x16x16_f16 v[24:27], v[8:15], v[16:23], v[24:27]", &[0xcc40_4018, 0x1c62_2108]),
    ("v_wmma_f32_16x16x16_f16 v[28:31], v[20:27], v[8:15], v[28:31]", &[0xcc40_401c, 0x1c72_1114]),
    ("v_wmma_f32_16x16x16_f16 v[28:31], v[8:15], v[16:23], v[24:27]", &[0xcc40_401c, 0x1c62_2108]),
    ("v_cmpx_eq_u32_e32 v1, v1", &[0x7d94_0301]),
    ("v_cmp_eq_u32_e32 vcc, v1, v1", &[0x7c94_0301]),
    ("v_cmp_gt_f32_e64 s[4:5], v4, v6", &[0xd414_0004, 0x0002_0d04]),
    ("v_permlane16_b32 v5, v1, s2, s3", &[0xd65b_0005, 0x000c_0501]),
    ("v_permlanex16_b32 v5, v1, s2, s3", &[0xd65c_0005, 0x000c_0501]),
    ("v_permlane64_b32 v5, v1", &[0x7e0a_cf01]),
    ("v_cndmask_b32_e64 v5, v4, v6, s[4:5]", &[0xd501_0005, 0x0012_0d04]),
    ("v_cndmask_b32_e32 v5, v4, v6, vcc", &[0x020a_0d04]),
    ("v_div_fmas_f32 v5, v4, v6, v7", &[0xd637_0005, 0x041e_0d04]),
    ("s_mov_b64 s[4:5], s[8:9]", &[0xbe84_0108]),
    ("s_mov_b64 vcc, s[8:9]", &[0xbeea_0108]),
    ("s_mov_b64 exec, -1", &[0xbefe_01c1]),
    ("s_and_b64 s[10:11], s[4:5], s[8:9]", &[0x8b8a_0804]),
    ("s_and_b64 s[10:11], vcc, s[8:9]", &[0x8b8a_086a]),
];

/// Asserts that the last instruction of a program has a hazard with an earlier one, or that none has; and in the first case, that
/// another instruction in front of the last one avoids it.
fn check(isa: Isa, program: &[&str], hazard: Option<(&str, &str)>) {
    let run = |program: &[&str]| -> Vec<Defect> {
        let (_, found) = execute(isa, ENCODINGS, program, false, true);
        found.into_iter().filter(|defect| defect.kind == DefectKind::Hazard).collect()
    };
    let found = run(program);
    let Some((first, avoided_by)) = hazard else {
        assert!(found.is_empty(), "{program:?}: {found:#?}");
        return;
    };
    let [one] = &found[..] else { panic!("{program:?}: {found:#?}") };
    let (last, others) = program.split_last().unwrap();
    assert_eq!(one.site.instruction, *last);
    assert_eq!(one.other.as_ref().unwrap().instruction, first, "{program:?}");
    let avoided = [others, &[avoided_by, last]].concat();
    let found = run(&avoided);
    assert!(found.is_empty(), "{avoided:?}: {found:#?}");
}

const WAVE64: Isa = Isa::new(Target::Gfx11, WaveSize::Wave64);

const WAIT_FOR_VECTOR: &str = "s_waitcnt_depctr 0xfff";
const OTHER: &str = "v_mov_b32_e32 v9, v0";

/// `fixVALUTransUseHazard`: up to 5 vector instructions, of which up to one is transcendental, may be between the two. gfx11.5 has no such
/// hazard (`FeatureVALUTransUseHazard`).
#[test]
fn transcendental_results() {
    let (first, other, last) = ("v_rcp_f32_e32 v1, v4", "v_rcp_f32_e32 v7, v4", "v_mov_b32_e32 v6, v1");
    for transcendental in 0..3 {
        for plain in 0..7 {
            let between = [vec![other; transcendental], vec![OTHER; plain]].concat();
            let program = [&[first], &between[..], &[last]].concat();
            let late = transcendental <= 1 && transcendental + plain <= 5;
            check(WAVE64, &program, late.then_some((first, WAIT_FOR_VECTOR)));
            check(Isa::new(Target::Gfx115, WaveSize::Wave64), &program, None);
        }
    }
    check(WAVE64, &[first, last], Some((first, "ds_load_b32 v8, v0")));
    // Nothing reads it.
    check(WAVE64, &[first, OTHER], None);
}

/// `fixWMMAHazards`: the result is matrix A or B of the next vector instruction. As matrix C, it isn't late.
#[test]
fn results_of_matrices() {
    let first = "v_wmma_f32_16x16x16_f16 v[24:27], v[8:15], v[16:23], v[24:27]";
    let factor = "v_wmma_f32_16x16x16_f16 v[28:31], v[20:27], v[8:15], v[28:31]";
    let addend = "v_wmma_f32_16x16x16_f16 v[28:31], v[8:15], v[16:23], v[24:27]";
    for target in Target::GFX11 {
        let isa = Isa::new(target, WaveSize::Wave64);
        check(isa, &[first, factor], Some((first, "v_nop")));
        check(isa, &[first, OTHER, factor], None);
        check(isa, &[first, addend], None);
    }
}

/// `fixVcmpxPermlaneHazards`: any vector instruction but `v_nop` between the two is enough.
#[test]
fn permutations_after_comparisons() {
    let first = "v_cmpx_eq_u32_e32 v1, v1";
    let permutations =
        ["v_permlane16_b32 v5, v1, s2, s3", "v_permlanex16_b32 v5, v1, s2, s3", "v_permlane64_b32 v5, v1"];
    for permutation in permutations {
        for target in Target::GFX11 {
            let isa = Isa::new(target, WaveSize::Wave64);
            check(isa, &[first, permutation], Some((first, OTHER)));
            check(isa, &[first, "v_nop", permutation], Some((first, OTHER)));
            check(isa, &["v_cmp_eq_u32_e32 vcc, v1, v1", permutation], None);
        }
    }
}

/// `fixVALUPartialForwardingHazard`: the results of two vector instructions, between which EXEC was written, are both read. Up to two
/// others may be between the two, and up to four between the second and the one that reads.
#[test]
fn results_before_and_after_exec() {
    let (before, exec, after) = ("v_mov_b32_e32 v1, v0", "s_mov_b64 exec, -1", "v_mov_b32_e32 v4, v0");
    let last = "v_add_nc_u32_e32 v5, v1, v4";
    for n in 0..4 * 4 * 6 {
        let [first, second, third] = [n % 4, n / 4 % 4, n / 16].map(|count| vec![OTHER; count]);
        let late = first.len() + second.len() <= 2 && third.len() <= 4;
        let program = [vec![before], first, vec![exec], second, vec![after], third, vec![last]].concat();
        check(WAVE64, &program, late.then_some((before, WAIT_FOR_VECTOR)));
    }
    for target in Target::GFX11 {
        let isa = Isa::new(target, WaveSize::Wave64);
        check(isa, &[before, exec, after, last], Some((before, "ds_load_b32 v8, v0")));
        check(isa, &[before, exec, after, "v_add_nc_u32_e32 v5, v1, v1"], None);
        check(isa, &[before, after, exec, last], None);
        check(isa, &[before, after, last], None);
        // Waves of 32 don't have it.
        check(Isa::new(target, WaveSize::Wave32), &[before, exec, after, last], None);
    }
}

/// `fixVALUMaskWriteHazard`: a scalar instruction writes the mask of a vector one, and another reads it. A vector instruction with
/// another scalar register or a literal, before the mask is written, avoids it, and so does one that writes the mask after that: its
/// result is then what is read.
#[test]
fn masks_that_are_overwritten() {
    let wait = "s_waitcnt_depctr 0xfffe";
    let mask = [
        "v_cndmask_b32_e64 v5, v4, v6, s[4:5]",
        "s_mov_b64 s[4:5], s[8:9]",
        "s_and_b64 s[10:11], s[4:5], s[8:9]",
    ];
    let vcc = |first| [first, "s_mov_b64 vcc, s[8:9]", "s_and_b64 s[10:11], vcc, s[8:9]"];
    let all = [mask, vcc("v_cndmask_b32_e32 v5, v4, v6, vcc"), vcc("v_div_fmas_f32 v5, v4, v6, v7")];
    for target in Target::GFX11 {
        let isa = Isa::new(target, WaveSize::Wave64);
        for [reads, writes, last] in all {
            check(isa, &[reads, writes, last], Some((writes, wait)));
            check(isa, &[reads, "v_mov_b32_e32 v6, 1", writes, last], Some((writes, wait)));
            for other in ["v_mov_b32_e32 v6, s12", "v_mov_b32_e32 v6, 0x1234", wait] {
                check(isa, &[reads, other, writes, last], None);
            }
            let compares = match writes {
                "s_mov_b64 vcc, s[8:9]" => "v_cmp_eq_u32_e32 vcc, v1, v1",
                _ => "v_cmp_gt_f32_e64 s[4:5], v4, v6",
            };
            check(isa, &[reads, writes, compares, last], None);
            check(isa, &[reads, last], None);
            check(isa, &[writes, reads, last], None);
        }
        check(isa, &[mask[0], all[1][1], all[1][2]], None);
    }
}
