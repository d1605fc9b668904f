//! VOP2 on RDNA.

/// Passes the instructions of VOP2 on RDNA to a macro.
macro_rules! vop2 {
    ($make:ident) => {
        $make! {
            Vop2:
            v_cndmask_b32 1 1 1 1 = Vop2 v_cndmask_b32;
            v_dot2acc_f32_f16 -1 2 2 -1 = Vop2 v_dot2c_f32_f16;
            v_add_f32 3 3 3 3 = Vop2 v_add_f32;
            v_sub_f32 4 4 4 4 = Vop2 v_sub_f32;
            v_subrev_f32 5 5 5 5 = Vop2 v_subrev_f32;
            v_fmac_dx9_zero_f32 -1 6 6 -1 = Vop2 v_fmac_dx9_zero_f32;
            v_mul_dx9_zero_f32 -1 7 7 7 = Vop3 v_mul_legacy_f32;
            v_mul_f32 8 8 8 8 = Vop2 v_mul_f32;
            v_mul_i32_i24 9 9 9 9 = Vop2 v_mul_i32_i24;
            v_mul_hi_i32_i24 10 10 10 10 = Vop2 v_mul_hi_i32_i24;
            v_mul_u32_u24 11 11 11 11 = Vop2 v_mul_u32_u24;
            v_mul_hi_u32_u24 12 12 12 12 = Vop2 v_mul_hi_u32_u24;
            v_min_f32 15 15 15 -1 = Vop2 v_min_f32;
            v_max_f32 16 16 16 -1 = Vop2 v_max_f32;
            v_min_i32 17 17 17 17 = Vop2 v_min_i32;
            v_max_i32 18 18 18 18 = Vop2 v_max_i32;
            v_min_u32 19 19 19 19 = Vop2 v_min_u32;
            v_max_u32 20 20 20 20 = Vop2 v_max_u32;
            v_lshlrev_b32 26 24 24 24 = Vop2 v_lshlrev_b32;
            v_lshrrev_b32 22 25 25 25 = Vop2 v_lshrrev_b32;
            v_ashrrev_i32 24 26 26 26 = Vop2 v_ashrrev_i32;
            v_and_b32 27 27 27 27 = Vop2 v_and_b32;
            v_or_b32 28 28 28 28 = Vop2 v_or_b32;
            v_xor_b32 29 29 29 29 = Vop2 v_xor_b32;
            v_xnor_b32 30 30 30 30 = Vop2 v_xnor_b32;
            v_add_co_ci_u32 40 32 32 32 = Vop2 v_addc_co_u32;
            v_sub_co_ci_u32 41 33 33 33 = Vop2 v_subb_co_u32;
            v_subrev_co_ci_u32 42 34 34 34 = Vop2 v_subbrev_co_u32;
            v_add_nc_u32 37 37 37 37 = Vop2 v_add_u32;
            v_sub_nc_u32 38 38 38 38 = Vop2 v_sub_u32;
            v_subrev_nc_u32 39 39 39 39 = Vop2 v_subrev_u32;
            v_fmac_f32 43 43 43 43 = Vop2 v_fmac_f32;
            v_fmamk_f32 44 44 44 44 = Vop2 v_fmamk_f32;
            v_fmaak_f32 45 45 45 45 = Vop2 v_fmaak_f32;
            v_cvt_pk_rtz_f16_f32 -1 47 47 47 = Vop3 v_cvt_pkrtz_f16_f32;
            v_add_f16 50 50 50 50 = Vop2 v_add_f16;
            v_sub_f16 51 51 51 51 = Vop2 v_sub_f16;
            v_subrev_f16 52 52 52 52 = Vop2 v_subrev_f16;
            v_mul_f16 53 53 53 53 = Vop2 v_mul_f16;
            v_fmac_f16 54 54 54 54 = Vop2 v_fmac_f16;
            v_fmamk_f16 55 55 55 55 = Vop2 v_fmamk_f16;
            v_fmaak_f16 56 56 56 56 = Vop2 v_fmaak_f16;
            v_max_f16 57 57 57 -1 = Vop2 v_max_f16;
            v_min_f16 58 58 58 -1 = Vop2 v_min_f16;
            v_ldexp_f16 59 59 59 59 = Vop2 v_ldexp_f16;
            v_pk_fmac_f16 60 60 60 60 = Vop2 v_pk_fmac_f16;
            // Names that only gfx12 has, or that have other operands there.
            v_add_f64 -1 -1 -1 2 = Vop3 v_add_f64;
            v_mul_f64 -1 -1 -1 6 = Vop3 v_mul_f64;
            v_min_num_f64 -1 -1 -1 13 = Vop3 v_min_f64;
            v_max_num_f64 -1 -1 -1 14 = Vop3 v_max_f64;
            v_min_num_f32 -1 -1 -1 21 = Vop2 v_min_f32;
            v_max_num_f32 -1 -1 -1 22 = Vop2 v_max_f32;
            v_lshlrev_b64 -1 -1 -1 31 = Vop3 v_lshlrev_b64;
            v_min_num_f16 -1 -1 -1 48 = Vop2 v_min_f16;
            v_max_num_f16 -1 -1 -1 49 = Vop2 v_max_f16;
            // gfx10.3 has most of these under the names of gfx9.
            v_dot2c_f32_f16 2 -1 -1 -1 = Vop2 v_dot2c_f32_f16;
            v_fmac_legacy_f32 6 -1 -1 -1 = Vop2 v_fmac_dx9_zero_f32;
            v_mul_legacy_f32 7 -1 -1 -1 = Vop3 v_mul_legacy_f32;
            v_dot4c_i32_i8 13 -1 -1 -1 = Vop2 v_dot4c_i32_i8;
            v_cvt_pkrtz_f16_f32 47 -1 -1 -1 = Vop3 v_cvt_pkrtz_f16_f32;
        }
    };
}

pub(crate) use vop2;
