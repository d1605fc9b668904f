//! VOP3P on RDNA.

/// Passes the instructions of VOP3P on RDNA to a macro.
macro_rules! vop3p {
    ($make:ident) => {
        $make! {
            Vop3p:
            v_pk_mad_i16 0 0 0 0 = Vop3p v_pk_mad_i16;
            v_pk_mul_lo_u16 1 1 1 1 = Vop3p v_pk_mul_lo_u16;
            v_pk_add_i16 2 2 2 2 = Vop3p v_pk_add_i16;
            v_pk_sub_i16 3 3 3 3 = Vop3p v_pk_sub_i16;
            v_pk_lshlrev_b16 4 4 4 4 = Vop3p v_pk_lshlrev_b16;
            v_pk_lshrrev_b16 5 5 5 5 = Vop3p v_pk_lshrrev_b16;
            v_pk_ashrrev_i16 6 6 6 6 = Vop3p v_pk_ashrrev_i16;
            v_pk_max_i16 7 7 7 7 = Vop3p v_pk_max_i16;
            v_pk_min_i16 8 8 8 8 = Vop3p v_pk_min_i16;
            v_pk_mad_u16 9 9 9 9 = Vop3p v_pk_mad_u16;
            v_pk_add_u16 10 10 10 10 = Vop3p v_pk_add_u16;
            v_pk_sub_u16 11 11 11 11 = Vop3p v_pk_sub_u16;
            v_pk_max_u16 12 12 12 12 = Vop3p v_pk_max_u16;
            v_pk_min_u16 13 13 13 13 = Vop3p v_pk_min_u16;
            v_pk_fma_f16 14 14 14 14 = Vop3p v_pk_fma_f16;
            v_pk_add_f16 15 15 15 15 = Vop3p v_pk_add_f16;
            v_pk_mul_f16 16 16 16 16 = Vop3p v_pk_mul_f16;
            v_pk_min_f16 17 17 17 -1 = Vop3p v_pk_min_f16;
            v_pk_max_f16 18 18 18 -1 = Vop3p v_pk_max_f16;
            v_dot2_f32_f16 19 19 19 19 = Vop3p v_dot2_f32_f16;
            v_dot4_i32_iu8 -1 22 22 22 = Vop3p v_dot4_i32_iu8;
            v_dot4_u32_u8 23 23 23 23 = Vop3p v_dot4_u32_u8;
            v_dot8_i32_iu4 -1 24 24 24 = Vop3p v_dot8_i32_iu4;
            v_dot8_u32_u4 25 25 25 25 = Vop3p v_dot8_u32_u4;
            v_dot2_f32_bf16 -1 26 26 26 = Vop3p v_dot2_f32_bf16;
            v_fma_mix_f32 32 32 32 32 = Vop3p v_fma_mix_f32;
            v_fma_mixlo_f16 33 33 33 33 = Vop3p v_fma_mixlo_f16;
            v_fma_mixhi_f16 34 34 34 34 = Vop3p v_fma_mixhi_f16;
            v_wmma_f32_16x16x16_f16 -1 64 64 -1 = Vop3p v_wmma_f32_16x16x16_f16;
            v_wmma_f32_16x16x16_bf16 -1 65 65 -1 = Vop3p v_wmma_f32_16x16x16_bf16;
            v_wmma_f16_16x16x16_f16 -1 66 66 -1 = Vop3p v_wmma_f16_16x16x16_f16;
            v_wmma_bf16_16x16x16_bf16 -1 67 67 -1 = Vop3p v_wmma_bf16_16x16x16_bf16;
            v_wmma_i32_16x16x16_iu8 -1 68 68 -1 = Vop3p v_wmma_i32_16x16x16_iu8;
            v_wmma_i32_16x16x16_iu4 -1 69 69 -1 = Vop3p v_wmma_i32_16x16x16_iu4;
            // Names that only gfx12 has, or that have other operands there.
            v_pk_min_num_f16 -1 -1 -1 27 = Vop3p v_pk_min_f16;
            v_pk_max_num_f16 -1 -1 -1 28 = Vop3p v_pk_max_f16;
            v_pk_minimum_f16 -1 -1 -1 29 = Vop3p v_pk_minimum_f16;
            v_pk_maximum_f16 -1 -1 -1 30 = Vop3p v_pk_maximum_f16;
            v_dot4_f32_fp8_bf8 -1 -1 -1 36 = Vop3p v_dot4_f32_fp8_bf8;
            v_dot4_f32_bf8_fp8 -1 -1 -1 37 = Vop3p v_dot4_f32_bf8_fp8;
            v_dot4_f32_fp8_fp8 -1 -1 -1 38 = Vop3p v_dot4_f32_fp8_fp8;
            v_dot4_f32_bf8_bf8 -1 -1 -1 39 = Vop3p v_dot4_f32_bf8_bf8;
            v_wmma_f32_16x16x16_f16 -1 -1 -1 64 = Vop3p v_wmma_f32_16x16x16_f16: W(8), [W(4), W(4), W(8)], WMMA;
            v_wmma_f32_16x16x16_bf16 -1 -1 -1 65 = Vop3p v_wmma_f32_16x16x16_bf16: W(8), [W(4), W(4), W(8)], WMMA;
            v_wmma_f16_16x16x16_f16 -1 -1 -1 66 = Vop3p v_wmma_f16_16x16x16_f16: W(4), [W(4), W(4), W(4)], WMMA;
            v_wmma_bf16_16x16x16_bf16 -1 -1 -1 67 = Vop3p v_wmma_bf16_16x16x16_bf16: W(4), [W(4), W(4), W(4)], WMMA;
            v_wmma_i32_16x16x16_iu8 -1 -1 -1 68 = Vop3p v_wmma_i32_16x16x16_iu8: W(8), [B64, B64, W(8)], WMMA;
            v_wmma_i32_16x16x16_iu4 -1 -1 -1 69 = Vop3p v_wmma_i32_16x16x16_iu4: W(8), [B32, B32, W(8)], WMMA;
            v_wmma_f32_16x16x16_fp8_fp8 -1 -1 -1 70 = Vop3p v_wmma_f32_16x16x16_fp8_fp8;
            v_wmma_f32_16x16x16_fp8_bf8 -1 -1 -1 71 = Vop3p v_wmma_f32_16x16x16_fp8_bf8;
            v_wmma_f32_16x16x16_bf8_fp8 -1 -1 -1 72 = Vop3p v_wmma_f32_16x16x16_bf8_fp8;
            v_wmma_f32_16x16x16_bf8_bf8 -1 -1 -1 73 = Vop3p v_wmma_f32_16x16x16_bf8_bf8;
            v_wmma_i32_16x16x32_iu4 -1 -1 -1 74 = Vop3p v_wmma_i32_16x16x32_iu4;
            v_swmmac_f32_16x16x32_f16 -1 -1 -1 80 = Vop3p v_swmmac_f32_16x16x32_f16;
            v_swmmac_f32_16x16x32_bf16 -1 -1 -1 81 = Vop3p v_swmmac_f32_16x16x32_bf16;
            v_swmmac_f16_16x16x32_f16 -1 -1 -1 82 = Vop3p v_swmmac_f16_16x16x32_f16;
            v_swmmac_bf16_16x16x32_bf16 -1 -1 -1 83 = Vop3p v_swmmac_bf16_16x16x32_bf16;
            v_swmmac_i32_16x16x32_iu8 -1 -1 -1 84 = Vop3p v_swmmac_i32_16x16x32_iu8;
            v_swmmac_i32_16x16x32_iu4 -1 -1 -1 85 = Vop3p v_swmmac_i32_16x16x32_iu4;
            v_swmmac_i32_16x16x64_iu4 -1 -1 -1 86 = Vop3p v_swmmac_i32_16x16x64_iu4;
            v_swmmac_f32_16x16x32_fp8_fp8 -1 -1 -1 87 = Vop3p v_swmmac_f32_16x16x32_fp8_fp8;
            v_swmmac_f32_16x16x32_fp8_bf8 -1 -1 -1 88 = Vop3p v_swmmac_f32_16x16x32_fp8_bf8;
            v_swmmac_f32_16x16x32_bf8_fp8 -1 -1 -1 89 = Vop3p v_swmmac_f32_16x16x32_bf8_fp8;
            v_swmmac_f32_16x16x32_bf8_bf8 -1 -1 -1 90 = Vop3p v_swmmac_f32_16x16x32_bf8_bf8;
            // gfx10.3 has most of these under the names of gfx9.
            v_dot2_i32_i16 20 -1 -1 -1 = Vop3p v_dot2_i32_i16;
            v_dot2_u32_u16 21 -1 -1 -1 = Vop3p v_dot2_u32_u16;
            v_dot4_i32_i8 22 -1 -1 -1 = Vop3p v_dot4_i32_i8;
            v_dot8_i32_i4 24 -1 -1 -1 = Vop3p v_dot8_i32_i4;
        }
    };
}

pub(crate) use vop3p;
