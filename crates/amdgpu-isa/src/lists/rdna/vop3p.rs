//! VOP3P on RDNA.

/// Passes the instructions of VOP3P on RDNA to a macro.
macro_rules! vop3p {
    ($make:ident) => {
        $make! {
            Vop3p:
            v_pk_mad_i16 0 0 0 -1 = Vop3p v_pk_mad_i16;
            v_pk_mul_lo_u16 1 1 1 -1 = Vop3p v_pk_mul_lo_u16;
            v_pk_add_i16 2 2 2 -1 = Vop3p v_pk_add_i16;
            v_pk_sub_i16 3 3 3 -1 = Vop3p v_pk_sub_i16;
            v_pk_lshlrev_b16 4 4 4 -1 = Vop3p v_pk_lshlrev_b16;
            v_pk_lshrrev_b16 5 5 5 -1 = Vop3p v_pk_lshrrev_b16;
            v_pk_ashrrev_i16 6 6 6 -1 = Vop3p v_pk_ashrrev_i16;
            v_pk_max_i16 7 7 7 -1 = Vop3p v_pk_max_i16;
            v_pk_min_i16 8 8 8 -1 = Vop3p v_pk_min_i16;
            v_pk_mad_u16 9 9 9 -1 = Vop3p v_pk_mad_u16;
            v_pk_add_u16 10 10 10 -1 = Vop3p v_pk_add_u16;
            v_pk_sub_u16 11 11 11 -1 = Vop3p v_pk_sub_u16;
            v_pk_max_u16 12 12 12 -1 = Vop3p v_pk_max_u16;
            v_pk_min_u16 13 13 13 -1 = Vop3p v_pk_min_u16;
            v_pk_fma_f16 14 14 14 -1 = Vop3p v_pk_fma_f16;
            v_pk_add_f16 15 15 15 -1 = Vop3p v_pk_add_f16;
            v_pk_mul_f16 16 16 16 -1 = Vop3p v_pk_mul_f16;
            v_pk_min_f16 17 17 17 -1 = Vop3p v_pk_min_f16;
            v_pk_max_f16 18 18 18 -1 = Vop3p v_pk_max_f16;
            v_dot2_f32_f16 19 19 19 -1 = Vop3p v_dot2_f32_f16;
            v_dot4_i32_iu8 -1 22 22 -1 = Vop3p v_dot4_i32_iu8;
            v_dot4_u32_u8 23 23 23 -1 = Vop3p v_dot4_u32_u8;
            v_dot8_i32_iu4 -1 24 24 -1 = Vop3p v_dot8_i32_iu4;
            v_dot8_u32_u4 25 25 25 -1 = Vop3p v_dot8_u32_u4;
            v_dot2_f32_bf16 -1 26 26 -1 = Vop3p v_dot2_f32_bf16;
            v_fma_mix_f32 32 32 32 -1 = Vop3p v_fma_mix_f32;
            v_fma_mixlo_f16 33 33 33 -1 = Vop3p v_fma_mixlo_f16;
            v_fma_mixhi_f16 34 34 34 -1 = Vop3p v_fma_mixhi_f16;
            v_wmma_f32_16x16x16_f16 -1 64 64 -1 = Vop3p v_wmma_f32_16x16x16_f16;
            v_wmma_f32_16x16x16_bf16 -1 65 65 -1 = Vop3p v_wmma_f32_16x16x16_bf16;
            v_wmma_f16_16x16x16_f16 -1 66 66 -1 = Vop3p v_wmma_f16_16x16x16_f16;
            v_wmma_bf16_16x16x16_bf16 -1 67 67 -1 = Vop3p v_wmma_bf16_16x16x16_bf16;
            v_wmma_i32_16x16x16_iu8 -1 68 68 -1 = Vop3p v_wmma_i32_16x16x16_iu8;
            v_wmma_i32_16x16x16_iu4 -1 69 69 -1 = Vop3p v_wmma_i32_16x16x16_iu4;
            // gfx10.3 has most of these under the names of gfx9.
            v_dot2_i32_i16 20 -1 -1 -1 = Vop3p v_dot2_i32_i16;
            v_dot2_u32_u16 21 -1 -1 -1 = Vop3p v_dot2_u32_u16;
            v_dot4_i32_i8 22 -1 -1 -1 = Vop3p v_dot4_i32_i8;
            v_dot8_i32_i4 24 -1 -1 -1 = Vop3p v_dot8_i32_i4;
        }
    };
}

pub(crate) use vop3p;
