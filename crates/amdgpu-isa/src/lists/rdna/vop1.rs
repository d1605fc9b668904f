//! VOP1 on RDNA.

/// Passes the instructions of VOP1 on RDNA to a macro.
macro_rules! vop1 {
    ($make:ident) => {
        $make! {
            Vop1:
            v_nop 0 0 0 0 = Vop1 v_nop;
            v_mov_b32 1 1 1 1 = Vop1 v_mov_b32;
            v_readfirstlane_b32 2 2 2 2 = Vop1 v_readfirstlane_b32;
            v_cvt_i32_f64 3 3 3 3 = Vop1 v_cvt_i32_f64;
            v_cvt_f64_i32 4 4 4 4 = Vop1 v_cvt_f64_i32;
            v_cvt_f32_i32 5 5 5 5 = Vop1 v_cvt_f32_i32;
            v_cvt_f32_u32 6 6 6 6 = Vop1 v_cvt_f32_u32;
            v_cvt_u32_f32 7 7 7 7 = Vop1 v_cvt_u32_f32;
            v_cvt_i32_f32 8 8 8 8 = Vop1 v_cvt_i32_f32;
            v_cvt_f16_f32 10 10 10 10 = Vop1 v_cvt_f16_f32;
            v_cvt_f32_f16 11 11 11 11 = Vop1 v_cvt_f32_f16;
            v_cvt_nearest_i32_f32 -1 12 12 12 = Vop1 v_cvt_rpi_i32_f32;
            v_cvt_floor_i32_f32 -1 13 13 13 = Vop1 v_cvt_flr_i32_f32;
            v_cvt_off_f32_i4 14 14 14 14 = Vop1 v_cvt_off_f32_i4;
            v_cvt_f32_f64 15 15 15 15 = Vop1 v_cvt_f32_f64;
            v_cvt_f64_f32 16 16 16 16 = Vop1 v_cvt_f64_f32;
            v_cvt_f32_ubyte0 17 17 17 17 = Vop1 v_cvt_f32_ubyte0;
            v_cvt_f32_ubyte1 18 18 18 18 = Vop1 v_cvt_f32_ubyte1;
            v_cvt_f32_ubyte2 19 19 19 19 = Vop1 v_cvt_f32_ubyte2;
            v_cvt_f32_ubyte3 20 20 20 20 = Vop1 v_cvt_f32_ubyte3;
            v_cvt_u32_f64 21 21 21 21 = Vop1 v_cvt_u32_f64;
            v_cvt_f64_u32 22 22 22 22 = Vop1 v_cvt_f64_u32;
            v_trunc_f64 23 23 23 23 = Vop1 v_trunc_f64;
            v_ceil_f64 24 24 24 24 = Vop1 v_ceil_f64;
            v_rndne_f64 25 25 25 25 = Vop1 v_rndne_f64;
            v_floor_f64 26 26 26 26 = Vop1 v_floor_f64;
            v_pipeflush 27 27 27 27 = Vop1 v_pipeflush;
            v_mov_b16 -1 28 28 28 = Vop1 v_mov_b16;
            v_fract_f32 32 32 32 32 = Vop1 v_fract_f32;
            v_trunc_f32 33 33 33 33 = Vop1 v_trunc_f32;
            v_ceil_f32 34 34 34 34 = Vop1 v_ceil_f32;
            v_rndne_f32 35 35 35 35 = Vop1 v_rndne_f32;
            v_floor_f32 36 36 36 36 = Vop1 v_floor_f32;
            v_exp_f32 37 37 37 37 = Vop1 v_exp_f32;
            v_log_f32 39 39 39 39 = Vop1 v_log_f32;
            v_rcp_f32 42 42 42 42 = Vop1 v_rcp_f32;
            v_rcp_iflag_f32 43 43 43 43 = Vop1 v_rcp_iflag_f32;
            v_rsq_f32 46 46 46 46 = Vop1 v_rsq_f32;
            v_rcp_f64 47 47 47 47 = Vop1 v_rcp_f64;
            v_rsq_f64 49 49 49 49 = Vop1 v_rsq_f64;
            v_sqrt_f32 51 51 51 51 = Vop1 v_sqrt_f32;
            v_sqrt_f64 52 52 52 52 = Vop1 v_sqrt_f64;
            v_sin_f32 53 53 53 53 = Vop1 v_sin_f32;
            v_cos_f32 54 54 54 54 = Vop1 v_cos_f32;
            v_not_b32 55 55 55 55 = Vop1 v_not_b32;
            v_bfrev_b32 56 56 56 56 = Vop1 v_bfrev_b32;
            v_clz_i32_u32 -1 57 57 57 = Vop1 v_ffbh_u32;
            v_ctz_i32_b32 -1 58 58 58 = Vop1 v_ffbl_b32;
            v_cls_i32 -1 59 59 59 = Vop1 v_ffbh_i32;
            v_frexp_exp_i32_f64 60 60 60 60 = Vop1 v_frexp_exp_i32_f64;
            v_frexp_mant_f64 61 61 61 61 = Vop1 v_frexp_mant_f64;
            v_fract_f64 62 62 62 62 = Vop1 v_fract_f64;
            v_frexp_exp_i32_f32 63 63 63 63 = Vop1 v_frexp_exp_i32_f32;
            v_frexp_mant_f32 64 64 64 64 = Vop1 v_frexp_mant_f32;
            v_movreld_b32 66 66 66 66 = Vop1 v_movreld_b32;
            v_movrels_b32 67 67 67 67 = Vop1 v_movrels_b32;
            v_movrelsd_b32 68 68 68 68 = Vop1 v_movrelsd_b32;
            v_movrelsd_2_b32 72 72 72 72 = Vop1 v_movrelsd_2_b32;
            v_cvt_f16_u16 80 80 80 80 = Vop1 v_cvt_f16_u16;
            v_cvt_f16_i16 81 81 81 81 = Vop1 v_cvt_f16_i16;
            v_cvt_u16_f16 82 82 82 82 = Vop1 v_cvt_u16_f16;
            v_cvt_i16_f16 83 83 83 83 = Vop1 v_cvt_i16_f16;
            v_rcp_f16 84 84 84 84 = Vop1 v_rcp_f16;
            v_sqrt_f16 85 85 85 85 = Vop1 v_sqrt_f16;
            v_rsq_f16 86 86 86 86 = Vop1 v_rsq_f16;
            v_log_f16 87 87 87 87 = Vop1 v_log_f16;
            v_exp_f16 88 88 88 88 = Vop1 v_exp_f16;
            v_frexp_mant_f16 89 89 89 89 = Vop1 v_frexp_mant_f16;
            v_frexp_exp_i16_f16 90 90 90 90 = Vop1 v_frexp_exp_i16_f16;
            v_floor_f16 91 91 91 91 = Vop1 v_floor_f16;
            v_ceil_f16 92 92 92 92 = Vop1 v_ceil_f16;
            v_trunc_f16 93 93 93 93 = Vop1 v_trunc_f16;
            v_rndne_f16 94 94 94 94 = Vop1 v_rndne_f16;
            v_fract_f16 95 95 95 95 = Vop1 v_fract_f16;
            v_sin_f16 96 96 96 96 = Vop1 v_sin_f16;
            v_cos_f16 97 97 97 97 = Vop1 v_cos_f16;
            // The two bytes are a result of 16 bits, and not of 32 bits.
            v_sat_pk_u8_i16 98 98 98 98 = Vop1 v_sat_pk_u8_i16: I16, [B32, Z, Z], 0;
            v_cvt_norm_i16_f16 99 99 99 99 = Vop1 v_cvt_norm_i16_f16;
            v_cvt_norm_u16_f16 100 100 100 100 = Vop1 v_cvt_norm_u16_f16;
            v_swap_b32 101 101 101 101 = Vop1 v_swap_b32;
            v_swap_b16 -1 102 102 102 = Vop1 v_swap_b16;
            v_permlane64_b32 -1 103 103 103 = Vop1 v_permlane64_b32;
            v_swaprel_b32 104 104 104 104 = Vop1 v_swaprel_b32;
            v_not_b16 -1 105 105 105 = Vop1 v_not_b16;
            v_cvt_i32_i16 -1 106 106 106 = Vop1 v_cvt_i32_i16;
            v_cvt_u32_u16 -1 107 107 107 = Vop1 v_cvt_u32_u16;
            // Names that only gfx12 has, or that have other operands there.
            v_cvt_f32_fp8 -1 -1 -1 108 = Vop1 v_cvt_f32_fp8;
            v_cvt_f32_bf8 -1 -1 -1 109 = Vop1 v_cvt_f32_bf8;
            // The two bytes are a source of 16 bits.
            v_cvt_pk_f32_fp8 -1 -1 -1 110 = Vop1 v_cvt_pk_f32_fp8: B64, [F16, Z, Z], CVT_BITS;
            v_cvt_pk_f32_bf8 -1 -1 -1 111 = Vop1 v_cvt_pk_f32_bf8: B64, [F16, Z, Z], CVT_BITS;
            // gfx10.3 has most of these under the names of gfx9.
            v_cvt_rpi_i32_f32 12 -1 -1 -1 = Vop1 v_cvt_rpi_i32_f32;
            v_cvt_flr_i32_f32 13 -1 -1 -1 = Vop1 v_cvt_flr_i32_f32;
            v_ffbh_u32 57 -1 -1 -1 = Vop1 v_ffbh_u32;
            v_ffbl_b32 58 -1 -1 -1 = Vop1 v_ffbl_b32;
            v_ffbh_i32 59 -1 -1 -1 = Vop1 v_ffbh_i32;
            v_clrexcp 65 -1 -1 -1 = Vop1 v_clrexcp;
        }
    };
}

pub(crate) use vop1;
