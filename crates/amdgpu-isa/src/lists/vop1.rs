//! VOP1 instructions.

/// Passes the instructions of VOP1 to a macro.
macro_rules! vop1 {
    ($make:ident) => {
        $make! {
            /// The mnemonics of VOP1: vector instructions with one source, which also have VOP3, SDWA and DPP forms.
            Vop1:
            v_nop 0 0 0 Z, [Z, Z, Z], 0;
            v_mov_b32 1 1 1 B32, [B32, Z, Z], BITS;
            v_readfirstlane_b32 2 2 2 B32, [B32, Z, Z], SGPR_DST | BITS;
            v_cvt_i32_f64 3 3 3 B32, [F64, Z, Z], 0;
            v_cvt_f64_i32 4 4 4 F64, [B32, Z, Z], 0;
            v_cvt_f32_i32 5 5 5 F32, [B32, Z, Z], 0;
            v_cvt_f32_u32 6 6 6 F32, [B32, Z, Z], 0;
            v_cvt_u32_f32 7 7 7 B32, [F32, Z, Z], 0;
            v_cvt_i32_f32 8 8 8 B32, [F32, Z, Z], 0;
            v_cvt_f16_f32 10 10 10 F16, [F32, Z, Z], 0;
            v_cvt_f32_f16 11 11 11 F32, [F16, Z, Z], 0;
            v_cvt_rpi_i32_f32 12 12 12 B32, [F32, Z, Z], 0;
            v_cvt_flr_i32_f32 13 13 13 B32, [F32, Z, Z], 0;
            v_cvt_off_f32_i4 14 14 14 F32, [F32, Z, Z], CVT_BITS;
            v_cvt_f32_f64 15 15 15 F32, [F64, Z, Z], 0;
            v_cvt_f64_f32 16 16 16 F64, [F32, Z, Z], 0;
            v_cvt_f32_ubyte0 17 17 17 F32, [F32, Z, Z], CVT_BITS;
            v_cvt_f32_ubyte1 18 18 18 F32, [F32, Z, Z], CVT_BITS;
            v_cvt_f32_ubyte2 19 19 19 F32, [F32, Z, Z], CVT_BITS;
            v_cvt_f32_ubyte3 20 20 20 F32, [F32, Z, Z], CVT_BITS;
            v_cvt_u32_f64 21 21 21 B32, [F64, Z, Z], 0;
            v_cvt_f64_u32 22 22 22 F64, [B32, Z, Z], 0;
            v_trunc_f64 23 23 23 F64, [F64, Z, Z], 0;
            v_ceil_f64 24 24 24 F64, [F64, Z, Z], 0;
            v_rndne_f64 25 25 25 F64, [F64, Z, Z], 0;
            v_floor_f64 26 26 26 F64, [F64, Z, Z], 0;
            v_fract_f32 27 27 27 F32, [F32, Z, Z], 0;
            v_trunc_f32 28 28 28 F32, [F32, Z, Z], 0;
            v_ceil_f32 29 29 29 F32, [F32, Z, Z], 0;
            v_rndne_f32 30 30 30 F32, [F32, Z, Z], 0;
            v_floor_f32 31 31 31 F32, [F32, Z, Z], 0;
            v_exp_f32 32 32 32 F32, [F32, Z, Z], TRANS;
            v_log_f32 33 33 33 F32, [F32, Z, Z], TRANS;
            v_rcp_f32 34 34 34 F32, [F32, Z, Z], TRANS;
            v_rcp_iflag_f32 35 35 35 F32, [F32, Z, Z], TRANS;
            v_rsq_f32 36 36 36 F32, [F32, Z, Z], TRANS;
            v_rcp_f64 37 37 37 F64, [F64, Z, Z], TRANS;
            v_rsq_f64 38 38 38 F64, [F64, Z, Z], TRANS;
            v_sqrt_f32 39 39 39 F32, [F32, Z, Z], TRANS;
            v_sqrt_f64 40 40 40 F64, [F64, Z, Z], TRANS;
            v_sin_f32 41 41 41 F32, [F32, Z, Z], TRANS;
            v_cos_f32 42 42 42 F32, [F32, Z, Z], TRANS;
            v_not_b32 43 43 43 B32, [B32, Z, Z], 0;
            v_bfrev_b32 44 44 44 B32, [B32, Z, Z], 0;
            v_ffbh_u32 45 45 45 B32, [B32, Z, Z], 0;
            v_ffbl_b32 46 46 46 B32, [B32, Z, Z], 0;
            v_ffbh_i32 47 47 47 B32, [B32, Z, Z], 0;
            v_frexp_exp_i32_f64 48 48 48 B32, [F64, Z, Z], 0;
            v_frexp_mant_f64 49 49 49 F64, [F64, Z, Z], 0;
            v_fract_f64 50 50 50 F64, [F64, Z, Z], 0;
            v_frexp_exp_i32_f32 51 51 51 B32, [F32, Z, Z], 0;
            v_frexp_mant_f32 52 52 52 F32, [F32, Z, Z], 0;
            v_clrexcp 53 53 53 Z, [Z, Z, Z], 0;
            v_screen_partition_4se_b32 55 55 55 B32, [B32, Z, Z], 0;
            v_mov_b64 -1 56 56 B64, [B64, Z, Z], BITS;
            v_cvt_f16_u16 57 57 57 F16, [I16, Z, Z], 0;
            v_cvt_f16_i16 58 58 58 F16, [I16, Z, Z], 0;
            v_cvt_u16_f16 59 59 59 I16, [F16, Z, Z], 0;
            v_cvt_i16_f16 60 60 60 I16, [F16, Z, Z], 0;
            v_rcp_f16 61 61 61 F16, [F16, Z, Z], TRANS;
            v_sqrt_f16 62 62 62 F16, [F16, Z, Z], TRANS;
            v_rsq_f16 63 63 63 F16, [F16, Z, Z], TRANS;
            v_log_f16 64 64 64 F16, [F16, Z, Z], TRANS;
            v_exp_f16 65 65 65 F16, [F16, Z, Z], TRANS;
            v_frexp_mant_f16 66 66 66 F16, [F16, Z, Z], 0;
            v_frexp_exp_i16_f16 67 67 67 I16, [F16, Z, Z], 0;
            v_floor_f16 68 68 68 F16, [F16, Z, Z], 0;
            v_ceil_f16 69 69 69 F16, [F16, Z, Z], 0;
            v_trunc_f16 70 70 70 F16, [F16, Z, Z], 0;
            v_rndne_f16 71 71 71 F16, [F16, Z, Z], 0;
            v_fract_f16 72 72 72 F16, [F16, Z, Z], 0;
            v_sin_f16 73 73 73 F16, [F16, Z, Z], TRANS;
            v_cos_f16 74 74 74 F16, [F16, Z, Z], TRANS;
            v_exp_legacy_f32 75 75 75 F32, [F32, Z, Z], TRANS;
            v_log_legacy_f32 76 76 76 F32, [F32, Z, Z], TRANS;
            v_cvt_norm_i16_f16 77 77 77 I16, [F16, Z, Z], 0;
            v_cvt_norm_u16_f16 78 78 78 I16, [F16, Z, Z], 0;
            v_sat_pk_u8_i16 79 79 79 B32, [B32, Z, Z], 0;
            v_swap_b32 81 81 81 B32, [B32, Z, Z], BITS;
            v_accvgpr_mov_b32 82 82 82 B32, [B32, Z, Z], BITS;
            v_cvt_f32_fp8 -1 84 84 F32, [F32, Z, Z], CVT_BITS;
            v_cvt_f32_bf8 -1 85 85 F32, [F32, Z, Z], CVT_BITS;
            v_cvt_pk_f32_fp8 -1 86 86 B64, [F32, Z, Z], CVT_BITS;
            v_cvt_pk_f32_bf8 -1 87 87 B64, [F32, Z, Z], CVT_BITS;
            v_prng_b32 -1 -1 88 B32, [B32, Z, Z], 0;
            v_permlane16_swap_b32 -1 -1 89 B32, [B32, Z, Z], 0;
            v_permlane32_swap_b32 -1 -1 90 B32, [B32, Z, Z], 0;
            v_cvt_f32_bf16 -1 -1 91 F32, [BF16, Z, Z], 0;
            // Operations that no target of gfx9's encodings has, under their names on RDNA.
            v_pipeflush -1 -1 -1 Z, [Z, Z, Z], 0;
            v_mov_b16 -1 -1 -1 I16, [I16, Z, Z], BITS | KEEP;
            // M0 is an offset of the number of the destination (d) or source (s) register. The last has two offsets, from
            // bits 0 and 16 on.
            v_movreld_b32 -1 -1 -1 B32, [B32, Z, Z], M0_IN | BITS;
            v_movrels_b32 -1 -1 -1 B32, [B32, Z, Z], M0_IN | BITS;
            v_movrelsd_b32 -1 -1 -1 B32, [B32, Z, Z], M0_IN | BITS;
            v_movrelsd_2_b32 -1 -1 -1 B32, [B32, Z, Z], M0_IN | BITS;
            v_swap_b16 -1 -1 -1 I16, [I16, Z, Z], BITS | KEEP;
            // Exchanges the halves of a wave of 64, and does nothing in a wave of 32.
            v_permlane64_b32 -1 -1 -1 B32, [B32, Z, Z], BITS;
            // Exchanges two registers, whose numbers M0 offsets as in `v_movrelsd_2_b32`.
            v_swaprel_b32 -1 -1 -1 B32, [B32, Z, Z], M0_IN | BITS;
            v_not_b16 -1 -1 -1 I16, [I16, Z, Z], KEEP;
            v_cvt_i32_i16 -1 -1 -1 B32, [I16, Z, Z], 0;
            v_cvt_u32_u16 -1 -1 -1 B32, [I16, Z, Z], 0;
        }
    };
}

pub(crate) use vop1;
