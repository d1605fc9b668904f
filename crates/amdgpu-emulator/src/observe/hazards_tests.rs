//! Tests of hazards: pairs of instructions with too few wait states between them, and with enough.

use amdgpu_isa::Target;

use super::missing_waits_tests::execute;
use crate::report::defect::{Defect, DefectKind};

/// Instructions of gfx90a, as LLVM assembles them.
#[rustfmt::skip]
const GFX90A: &[(&str, &[u32])] = &[
    ("v_readfirstlane_b32 s4, v1", &[0x7e08_0501]),
    ("buffer_load_dword v5, v0, s[12:15], s4 offen", &[0xe050_1000, 0x0403_0500]),
    ("v_cmp_eq_u32_e32 vcc, v1, v1", &[0x7d94_0301]),
    ("v_div_fmas_f32 v5, v1, v1, v1", &[0xd1e2_0005, 0x0406_0301]),
    ("v_readlane_b32 s9, v1, s4", &[0xd289_0009, 0x0000_0901]),
    ("v_mov_b32_e32 v1, v4", &[0x7e02_0304]),
    ("v_mov_b32_dpp v5, v1 row_shl:1 row_mask:0xf bank_mask:0xf", &[0x7e0a_02fa, 0xff01_0101]),
    ("v_cmpx_eq_u32_e64 s[8:9], v1, v1", &[0xd0da_0008, 0x0002_0301]),
    ("s_mov_b32 m0, s10", &[0xbefc_000a]),
    ("s_movrels_b32 s9, s3", &[0xbe89_2a03]),
    ("s_setreg_b32 hwreg(HW_REG_MODE, 0, 4), s11", &[0xb90b_1801]),
    ("s_getreg_b32 s9, hwreg(HW_REG_MODE, 0, 4)", &[0xb889_1801]),
    ("global_store_dwordx4 v[2:3], v[4:7], off", &[0xdc7c_8000, 0x007f_0402]),
    ("v_mov_b32_e32 v4, v1", &[0x7e08_0301]),
    ("v_mov_b32_e32 v7, v1", &[0x7e0e_0301]),
    ("v_mfma_f32_4x4x1f32 a[0:3], v1, v5, a[0:3]", &[0xd3c2_8000, 0x0402_0b01]),
    ("v_mfma_f32_16x16x4f32 a[0:3], v1, v5, a[0:3]", &[0xd3c5_8000, 0x0402_0b01]),
    ("v_mfma_f32_32x32x1f32 a[0:31], v1, v5, a[0:31]", &[0xd3c0_8000, 0x0402_0b01]),
    ("v_mfma_f32_4x4x1f32 a[4:7], v1, v5, a[2:5]", &[0xd3c2_8004, 0x040a_0b01]),
    ("v_mfma_f32_4x4x1f32 v[8:11], v1, v5, v[8:11]", &[0xd3c2_0008, 0x0422_0b01]),
    ("v_mfma_f32_16x16x4f32 v[8:11], v1, v5, v[8:11]", &[0xd3c5_0008, 0x0422_0b01]),
    ("v_mfma_f32_4x4x1f32 a[4:7], v8, v5, a[4:7]", &[0xd3c2_8004, 0x0412_0b08]),
    ("v_accvgpr_read_b32 v5, a3", &[0xd3d8_4005, 0x1800_0103]),
    ("v_mov_b32_e32 v8, v1", &[0x7e10_0301]),
    ("global_store_dword v[2:3], v8, off", &[0xdc70_8000, 0x007f_0802]),
    ("v_mfma_f64_4x4x4f64 a[0:1], v[8:9], v[10:11], a[0:1]", &[0xd3ef_8000, 0x0402_1508]),
    ("v_fma_f64 v[8:9], v[8:9], v[8:9], v[8:9]", &[0xd1cc_0008, 0x0422_1108]),
    ("v_accvgpr_write_b32 a3, v1", &[0xd3d9_4003, 0x1800_0101]),
    ("v_dot2_i32_i16 v5, v1, v1, v4", &[0xd3a6_4005, 0x1c12_0301]),
    ("v_mov_b32_e32 v6, v5", &[0x7e0c_0305]),
    ("v_dot2_i32_i16 v5, v1, v1, v5", &[0xd3a6_4005, 0x1c16_0301]),
    ("s_nop 0", &[0xbf80_0000]),
    ("v_mov_b32_e32 v5, v1", &[0x7e0a_0301]),
];

/// Instructions of gfx942, as LLVM assembles them.
#[rustfmt::skip]
const GFX942: &[(&str, &[u32])] = &[
    ("v_readfirstlane_b32 s4, v1", &[0x7e08_0501]),
    ("v_add_u32_e32 v5, s4, v1", &[0x680a_0204]),
    ("v_mov_b32_e32 v1, v4", &[0x7e02_0304]),
    ("v_readlane_b32 s9, v1, 3", &[0xd289_0009, 0x0001_0701]),
    ("v_rcp_f32_e32 v1, v4", &[0x7e02_4504]),
    ("v_mov_b32_e32 v6, v1", &[0x7e0c_0301]),
    ("v_cmpx_eq_u32_e64 s[8:9], v1, v1", &[0xd0da_0008, 0x0002_0301]),
    ("v_readfirstlane_b32 s9, v4", &[0x7e12_0504]),
    ("v_mfma_f32_16x16x16_f16 a[0:3], v[8:9], v[10:11], a[0:3]", &[0xd3cd_8000, 0x0402_1508]),
    ("v_mfma_f32_16x16x4_f32 a[0:3], v1, v5, a[0:3]", &[0xd3c5_8000, 0x0402_0b01]),
    ("v_accvgpr_read_b32 v5, a3", &[0xd3d8_4005, 0x1800_0103]),
    ("v_mfma_f32_4x4x4_16b_f16 a[0:3], v[8:9], v[10:11], a[0:3]", &[0xd3ca_8000, 0x0402_1508]),
    ("v_mfma_f32_16x16x16_f16 a[4:7], v[8:9], v[10:11], a[2:5]", &[0xd3cd_8004, 0x040a_1508]),
    ("v_mfma_f32_16x16x16_f16 v[8:11], v[12:13], v[14:15], v[8:11]", &[0xd3cd_0008, 0x0422_1d0c]),
    ("v_mfma_f32_16x16x16_f16 a[4:7], v[8:9], v[14:15], a[4:7]", &[0xd3cd_8004, 0x0412_1d08]),
    ("v_mov_b32_e32 v8, v1", &[0x7e10_0301]),
    ("v_smfmac_f32_16x16x32_f16 a[0:3], v[12:13], v[8:11], v1", &[0xd3e2_8000, 0x0406_110c]),
    ("global_store_dwordx4 v[2:3], v[4:7], off", &[0xdc7c_8000, 0x007f_0402]),
    ("v_mov_b32_e32 v7, v1", &[0x7e0e_0301]),
    ("s_nop 0", &[0xbf80_0000]),
];

/// Asserts that two instructions need a number of wait states between them.
fn needs(target: Target, first: &str, second: &str, needed: usize) {
    let encodings = if target == Target::Gfx90a { GFX90A } else { GFX942 };
    for between in 0..=needed {
        let mut program = vec![first];
        program.extend(vec!["s_nop 0"; between]);
        program.push(second);
        let (_, found) = execute(target, encodings, &program, false, true);
        let hazards: Vec<&Defect> = found.iter().filter(|defect| defect.kind == DefectKind::Hazard).collect();
        let context = format!("{first}; {between} wait states; {second}: {hazards:#?}");
        if between == needed {
            assert!(hazards.is_empty(), "{context}");
            continue;
        }
        let [hazard] = hazards[..] else { panic!("{context}") };
        assert_eq!(hazard.wait, Some(format!("s_nop {}", needed - between - 1)), "{context}");
        assert_eq!(hazard.site.instruction, second);
        assert_eq!(hazard.other.as_ref().unwrap().instruction, first);
    }
}

/// The numbers are those of the table in the CDNA2 ISA document, "Manually inserted wait states", and of LLVM.
#[test]
fn hazards_of_gfx90a() {
    let dpp = "v_mov_b32_dpp v5, v1 row_shl:1 row_mask:0xf bank_mask:0xf";
    let cmpx = "v_cmpx_eq_u32_e64 s[8:9], v1, v1";
    let set = "s_setreg_b32 hwreg(HW_REG_MODE, 0, 4), s11";
    let store = "global_store_dwordx4 v[2:3], v[4:7], off";
    let small = "v_mfma_f32_4x4x1f32 a[0:3], v1, v5, a[0:3]";
    let medium = "v_mfma_f32_16x16x4f32 a[0:3], v1, v5, a[0:3]";
    let large = "v_mfma_f32_32x32x1f32 a[0:31], v1, v5, a[0:31]";
    let dot = "v_dot2_i32_i16 v5, v1, v1, v4";
    for (first, second, needed) in [
        ("v_readfirstlane_b32 s4, v1", "buffer_load_dword v5, v0, s[12:15], s4 offen", 5),
        ("v_cmp_eq_u32_e32 vcc, v1, v1", "v_div_fmas_f32 v5, v1, v1, v1", 4),
        ("v_readfirstlane_b32 s4, v1", "v_readlane_b32 s9, v1, s4", 4),
        ("v_mov_b32_e32 v1, v4", dpp, 2),
        (cmpx, dpp, 5),
        (cmpx, small, 4),
        ("s_mov_b32 m0, s10", "s_movrels_b32 s9, s3", 1),
        (set, "s_getreg_b32 s9, hwreg(HW_REG_MODE, 0, 4)", 2),
        (set, set, 2),
        (store, "v_mov_b32_e32 v4, v1", 1),
        (store, "v_mov_b32_e32 v7, v1", 1),
        (store, "v_mov_b32_e32 v8, v1", 0),
        ("v_mov_b32_e32 v1, v4", small, 2),
        (small, "v_accvgpr_read_b32 v5, a3", 5),
        (medium, "v_accvgpr_read_b32 v5, a3", 11),
        (large, "v_accvgpr_read_b32 v5, a3", 19),
        (small, small, 0),
        (small, medium, 0),
        (small, "v_mfma_f32_4x4x1f32 a[4:7], v1, v5, a[2:5]", 2),
        (medium, "v_mfma_f32_4x4x1f32 a[4:7], v1, v5, a[2:5]", 8),
        ("v_mfma_f32_4x4x1f32 v[8:11], v1, v5, v[8:11]", "v_mfma_f32_4x4x1f32 a[4:7], v8, v5, a[4:7]", 5),
        ("v_mfma_f32_16x16x4f32 v[8:11], v1, v5, v[8:11]", "v_mfma_f32_4x4x1f32 a[4:7], v8, v5, a[4:7]", 11),
        ("v_mfma_f32_4x4x1f32 v[8:11], v1, v5, v[8:11]", "global_store_dword v[2:3], v8, off", 5),
        ("v_mfma_f32_16x16x4f32 v[8:11], v1, v5, v[8:11]", "v_mov_b32_e32 v8, v1", 11),
        (small, "v_accvgpr_write_b32 a3, v1", 5),
        // Overwrites the addend, but not the result.
        ("v_mfma_f32_4x4x1f32 a[4:7], v1, v5, a[2:5]", "v_accvgpr_write_b32 a3, v1", 1),
        (
            "v_mfma_f64_4x4x4f64 a[0:1], v[8:9], v[10:11], a[0:1]",
            "v_fma_f64 v[8:9], v[8:9], v[8:9], v[8:9]",
            2,
        ),
        (dot, "v_mov_b32_e32 v6, v5", 3),
        (dot, "v_mov_b32_e32 v5, v1", 3),
        (dot, "v_dot2_i32_i16 v5, v1, v1, v5", 0),
    ] {
        needs(Target::Gfx90a, first, second, needed);
    }
}

/// As above, of the CDNA3 ISA document.
#[test]
fn hazards_of_gfx942() {
    let store = "global_store_dwordx4 v[2:3], v[4:7], off";
    let small = "v_mfma_f32_4x4x4_16b_f16 a[0:3], v[8:9], v[10:11], a[0:3]";
    let medium = "v_mfma_f32_16x16x16_f16 a[0:3], v[8:9], v[10:11], a[0:3]";
    let single = "v_mfma_f32_16x16x4_f32 a[0:3], v1, v5, a[0:3]";
    let other_addend = "v_mfma_f32_16x16x16_f16 a[4:7], v[8:9], v[10:11], a[2:5]";
    let in_vgprs = "v_mfma_f32_16x16x16_f16 v[8:11], v[12:13], v[14:15], v[8:11]";
    for (first, second, needed) in [
        ("v_readfirstlane_b32 s4, v1", "v_add_u32_e32 v5, s4, v1", 2),
        ("v_mov_b32_e32 v1, v4", "v_readlane_b32 s9, v1, 3", 1),
        ("v_rcp_f32_e32 v1, v4", "v_mov_b32_e32 v6, v1", 1),
        ("v_cmpx_eq_u32_e64 s[8:9], v1, v1", "v_readfirstlane_b32 s9, v4", 4),
        (medium, "v_accvgpr_read_b32 v5, a3", 7),
        (single, "v_accvgpr_read_b32 v5, a3", 10),
        (small, medium, 2),
        (medium, medium, 0),
        (small, other_addend, 3),
        (medium, other_addend, 5),
        (single, other_addend, 0),
        (in_vgprs, "v_mfma_f32_16x16x16_f16 a[4:7], v[8:9], v[14:15], a[4:7]", 7),
        (in_vgprs, "v_smfmac_f32_16x16x32_f16 a[0:3], v[12:13], v[8:11], v1", 7),
        (in_vgprs, "v_mov_b32_e32 v8, v1", 7),
        (store, "v_mov_b32_e32 v7, v1", 2),
    ] {
        needs(Target::Gfx942, first, second, needed);
    }
}
