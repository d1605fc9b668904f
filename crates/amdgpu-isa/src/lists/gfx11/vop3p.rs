//! VOP3P on gfx11.

/// Passes the instructions of VOP3P on gfx11 to a macro.
macro_rules! vop3p {
    ($make:ident) => {
        $make! {
            Vop3p:
            v_pk_mad_i16 0 0 = Vop3p v_pk_mad_i16;
            v_pk_mul_lo_u16 1 1 = Vop3p v_pk_mul_lo_u16;
            v_pk_add_i16 2 2 = Vop3p v_pk_add_i16;
            v_pk_sub_i16 3 3 = Vop3p v_pk_sub_i16;
            v_pk_lshlrev_b16 4 4 = Vop3p v_pk_lshlrev_b16;
            v_pk_lshrrev_b16 5 5 = Vop3p v_pk_lshrrev_b16;
            v_pk_ashrrev_i16 6 6 = Vop3p v_pk_ashrrev_i16;
            v_pk_max_i16 7 7 = Vop3p v_pk_max_i16;
            v_pk_min_i16 8 8 = Vop3p v_pk_min_i16;
            v_pk_mad_u16 9 9 = Vop3p v_pk_mad_u16;
            v_pk_add_u16 10 10 = Vop3p v_pk_add_u16;
            v_pk_sub_u16 11 11 = Vop3p v_pk_sub_u16;
            v_pk_max_u16 12 12 = Vop3p v_pk_max_u16;
            v_pk_min_u16 13 13 = Vop3p v_pk_min_u16;
            v_pk_fma_f16 14 14 = Vop3p v_pk_fma_f16;
            v_pk_add_f16 15 15 = Vop3p v_pk_add_f16;
            v_pk_mul_f16 16 16 = Vop3p v_pk_mul_f16;
            v_pk_min_f16 17 17 = Vop3p v_pk_min_f16;
            v_pk_max_f16 18 18 = Vop3p v_pk_max_f16;
            v_dot2_f32_f16 19 19 = Vop3p v_dot2_f32_f16;
            v_dot4_i32_iu8 22 22 = Vop3p v_dot4_i32_iu8;
            v_dot4_u32_u8 23 23 = Vop3p v_dot4_u32_u8;
            v_dot8_i32_iu4 24 24 = Vop3p v_dot8_i32_iu4;
            v_dot8_u32_u4 25 25 = Vop3p v_dot8_u32_u4;
            v_dot2_f32_bf16 26 26 = Vop3p v_dot2_f32_bf16;
            v_fma_mix_f32 32 32 = Vop3p v_fma_mix_f32;
            v_fma_mixlo_f16 33 33 = Vop3p v_fma_mixlo_f16;
            v_fma_mixhi_f16 34 34 = Vop3p v_fma_mixhi_f16;
            v_wmma_f32_16x16x16_f16 64 64 = Vop3p v_wmma_f32_16x16x16_f16;
            v_wmma_f32_16x16x16_bf16 65 65 = Vop3p v_wmma_f32_16x16x16_bf16;
            v_wmma_f16_16x16x16_f16 66 66 = Vop3p v_wmma_f16_16x16x16_f16;
            v_wmma_bf16_16x16x16_bf16 67 67 = Vop3p v_wmma_bf16_16x16x16_bf16;
            v_wmma_i32_16x16x16_iu8 68 68 = Vop3p v_wmma_i32_16x16x16_iu8;
            v_wmma_i32_16x16x16_iu4 69 69 = Vop3p v_wmma_i32_16x16x16_iu4;
        }
    };
}

pub(crate) use vop3p;
