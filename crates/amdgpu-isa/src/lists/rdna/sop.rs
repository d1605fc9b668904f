//! SOP1, SOP2, SOPK, SOPC, SOPP on RDNA.

/// Passes the instructions of SOP1 on RDNA to a macro.
macro_rules! sop1 {
    ($make:ident) => {
        $make! {
            Sop1:
            s_mov_b32 3 0 0 0 = Sop1 s_mov_b32;
            s_mov_b64 4 1 1 1 = Sop1 s_mov_b64;
            s_cmov_b32 5 2 2 2 = Sop1 s_cmov_b32;
            s_cmov_b64 6 3 3 3 = Sop1 s_cmov_b64;
            s_brev_b32 11 4 4 4 = Sop1 s_brev_b32;
            s_brev_b64 12 5 5 5 = Sop1 s_brev_b64;
            s_ctz_i32_b32 -1 8 8 8 = Sop1 s_ff1_i32_b32;
            s_ctz_i32_b64 -1 9 9 9 = Sop1 s_ff1_i32_b64;
            s_clz_i32_u32 -1 10 10 10 = Sop1 s_flbit_i32_b32;
            s_clz_i32_u64 -1 11 11 11 = Sop1 s_flbit_i32_b64;
            s_cls_i32 -1 12 12 12 = Sop1 s_flbit_i32;
            s_cls_i32_i64 -1 13 13 13 = Sop1 s_flbit_i32_i64;
            s_sext_i32_i8 25 14 14 14 = Sop1 s_sext_i32_i8;
            s_sext_i32_i16 26 15 15 15 = Sop1 s_sext_i32_i16;
            s_bitset0_b32 27 16 16 16 = Sop1 s_bitset0_b32;
            s_bitset0_b64 28 17 17 17 = Sop1 s_bitset0_b64;
            s_bitset1_b32 29 18 18 18 = Sop1 s_bitset1_b32;
            s_bitset1_b64 30 19 19 19 = Sop1 s_bitset1_b64;
            s_bitreplicate_b64_b32 59 20 20 20 = Sop1 s_bitreplicate_b64_b32;
            s_abs_i32 52 21 21 21 = Sop1 s_abs_i32;
            s_bcnt0_i32_b32 13 22 22 22 = Sop1 s_bcnt0_i32_b32;
            s_bcnt0_i32_b64 14 23 23 23 = Sop1 s_bcnt0_i32_b64;
            s_bcnt1_i32_b32 15 24 24 24 = Sop1 s_bcnt1_i32_b32;
            s_bcnt1_i32_b64 16 25 25 25 = Sop1 s_bcnt1_i32_b64;
            s_quadmask_b32 44 26 26 26 = Sop1 s_quadmask_b32;
            s_quadmask_b64 45 27 27 27 = Sop1 s_quadmask_b64;
            s_wqm_b32 9 28 28 28 = Sop1 s_wqm_b32;
            s_wqm_b64 10 29 29 29 = Sop1 s_wqm_b64;
            s_not_b32 7 30 30 30 = Sop1 s_not_b32;
            s_not_b64 8 31 31 31 = Sop1 s_not_b64;
            s_and_saveexec_b32 60 32 32 32 = Sop1 s_and_saveexec_b32;
            s_and_saveexec_b64 36 33 33 33 = Sop1 s_and_saveexec_b64;
            s_or_saveexec_b32 61 34 34 34 = Sop1 s_or_saveexec_b32;
            s_or_saveexec_b64 37 35 35 35 = Sop1 s_or_saveexec_b64;
            s_xor_saveexec_b32 62 36 36 36 = Sop1 s_xor_saveexec_b32;
            s_xor_saveexec_b64 38 37 37 37 = Sop1 s_xor_saveexec_b64;
            s_nand_saveexec_b32 65 38 38 38 = Sop1 s_nand_saveexec_b32;
            s_nand_saveexec_b64 41 39 39 39 = Sop1 s_nand_saveexec_b64;
            s_nor_saveexec_b32 66 40 40 40 = Sop1 s_nor_saveexec_b32;
            s_nor_saveexec_b64 42 41 41 41 = Sop1 s_nor_saveexec_b64;
            s_xnor_saveexec_b32 67 42 42 42 = Sop1 s_xnor_saveexec_b32;
            s_xnor_saveexec_b64 43 43 43 43 = Sop1 s_xnor_saveexec_b64;
            s_and_not0_saveexec_b32 -1 44 44 44 = Sop1 s_and_not0_saveexec_b32;
            s_and_not0_saveexec_b64 -1 45 45 45 = Sop1 s_andn1_saveexec_b64;
            s_or_not0_saveexec_b32 -1 46 46 46 = Sop1 s_or_not0_saveexec_b32;
            s_or_not0_saveexec_b64 -1 47 47 47 = Sop1 s_orn1_saveexec_b64;
            s_and_not1_saveexec_b32 -1 48 48 48 = Sop1 s_and_not1_saveexec_b32;
            s_and_not1_saveexec_b64 -1 49 49 49 = Sop1 s_andn2_saveexec_b64;
            s_or_not1_saveexec_b32 -1 50 50 50 = Sop1 s_or_not1_saveexec_b32;
            s_or_not1_saveexec_b64 -1 51 51 51 = Sop1 s_orn2_saveexec_b64;
            s_and_not0_wrexec_b32 -1 52 52 52 = Sop1 s_and_not0_wrexec_b32;
            s_and_not0_wrexec_b64 -1 53 53 53 = Sop1 s_andn1_wrexec_b64;
            s_and_not1_wrexec_b32 -1 54 54 54 = Sop1 s_and_not1_wrexec_b32;
            s_and_not1_wrexec_b64 -1 55 55 55 = Sop1 s_andn2_wrexec_b64;
            s_movrels_b32 46 64 64 64 = Sop1 s_movrels_b32;
            s_movrels_b64 47 65 65 65 = Sop1 s_movrels_b64;
            s_movreld_b32 48 66 66 66 = Sop1 s_movreld_b32;
            s_movreld_b64 49 67 67 67 = Sop1 s_movreld_b64;
            s_movrelsd_2_b32 73 68 68 68 = Sop1 s_movrelsd_2_b32;
            s_getpc_b64 31 71 71 71 = Sop1 s_getpc_b64;
            s_setpc_b64 32 72 72 72 = Sop1 s_setpc_b64;
            s_swappc_b64 33 73 73 73 = Sop1 s_swappc_b64;
            s_rfe_b64 34 74 74 74 = Sop1 s_rfe_b64;
            s_sendmsg_rtn_b32 -1 76 76 76 = Sop1 s_sendmsg_rtn_b32;
            s_sendmsg_rtn_b64 -1 77 77 77 = Sop1 s_sendmsg_rtn_b64;
            s_ceil_f32 -1 -1 96 96 = Sop1 s_ceil_f32;
            s_floor_f32 -1 -1 97 97 = Sop1 s_floor_f32;
            s_trunc_f32 -1 -1 98 98 = Sop1 s_trunc_f32;
            s_rndne_f32 -1 -1 99 99 = Sop1 s_rndne_f32;
            s_cvt_f32_i32 -1 -1 100 100 = Sop1 s_cvt_f32_i32;
            s_cvt_f32_u32 -1 -1 101 101 = Sop1 s_cvt_f32_u32;
            s_cvt_i32_f32 -1 -1 102 102 = Sop1 s_cvt_i32_f32;
            s_cvt_u32_f32 -1 -1 103 103 = Sop1 s_cvt_u32_f32;
            s_cvt_f16_f32 -1 -1 104 104 = Sop1 s_cvt_f16_f32;
            s_cvt_f32_f16 -1 -1 105 105 = Sop1 s_cvt_f32_f16;
            s_cvt_hi_f32_f16 -1 -1 106 106 = Sop1 s_cvt_hi_f32_f16;
            s_ceil_f16 -1 -1 107 107 = Sop1 s_ceil_f16;
            s_floor_f16 -1 -1 108 108 = Sop1 s_floor_f16;
            s_trunc_f16 -1 -1 109 109 = Sop1 s_trunc_f16;
            s_rndne_f16 -1 -1 110 110 = Sop1 s_rndne_f16;
            // Names that only gfx12 has, or that have other operands there.
            s_barrier_signal -1 -1 -1 78 = Sop1 s_barrier_signal;
            s_barrier_signal_isfirst -1 -1 -1 79 = Sop1 s_barrier_signal_isfirst;
            s_get_barrier_state -1 -1 -1 80 = Sop1 s_get_barrier_state;
            s_barrier_init -1 -1 -1 81 = Sop1 s_barrier_init;
            s_barrier_join -1 -1 -1 82 = Sop1 s_barrier_join;
            s_alloc_vgpr -1 -1 -1 83 = Sop1 s_alloc_vgpr;
            s_sleep_var -1 -1 -1 88 = Sop1 s_sleep_var;
            // gfx10.3 has most of these under the names of gfx9.
            s_ff0_i32_b32 17 -1 -1 -1 = Sop1 s_ff0_i32_b32;
            s_ff0_i32_b64 18 -1 -1 -1 = Sop1 s_ff0_i32_b64;
            s_ff1_i32_b32 19 -1 -1 -1 = Sop1 s_ff1_i32_b32;
            s_ff1_i32_b64 20 -1 -1 -1 = Sop1 s_ff1_i32_b64;
            s_flbit_i32_b32 21 -1 -1 -1 = Sop1 s_flbit_i32_b32;
            s_flbit_i32_b64 22 -1 -1 -1 = Sop1 s_flbit_i32_b64;
            s_flbit_i32 23 -1 -1 -1 = Sop1 s_flbit_i32;
            s_flbit_i32_i64 24 -1 -1 -1 = Sop1 s_flbit_i32_i64;
            s_andn2_saveexec_b64 39 -1 -1 -1 = Sop1 s_andn2_saveexec_b64;
            s_orn2_saveexec_b64 40 -1 -1 -1 = Sop1 s_orn2_saveexec_b64;
            s_andn1_saveexec_b64 55 -1 -1 -1 = Sop1 s_andn1_saveexec_b64;
            s_orn1_saveexec_b64 56 -1 -1 -1 = Sop1 s_orn1_saveexec_b64;
            s_andn1_wrexec_b64 57 -1 -1 -1 = Sop1 s_andn1_wrexec_b64;
            s_andn2_wrexec_b64 58 -1 -1 -1 = Sop1 s_andn2_wrexec_b64;
            s_andn2_saveexec_b32 63 -1 -1 -1 = Sop1 s_and_not1_saveexec_b32;
            s_orn2_saveexec_b32 64 -1 -1 -1 = Sop1 s_or_not1_saveexec_b32;
            s_andn1_saveexec_b32 68 -1 -1 -1 = Sop1 s_and_not0_saveexec_b32;
            s_orn1_saveexec_b32 69 -1 -1 -1 = Sop1 s_or_not0_saveexec_b32;
            s_andn1_wrexec_b32 70 -1 -1 -1 = Sop1 s_and_not0_wrexec_b32;
            s_andn2_wrexec_b32 71 -1 -1 -1 = Sop1 s_and_not1_wrexec_b32;
        }
    };
}

/// Passes the instructions of SOP2 on RDNA to a macro.
macro_rules! sop2 {
    ($make:ident) => {
        $make! {
            Sop2:
            s_add_u32 0 0 0 -1 = Sop2 s_add_u32;
            s_sub_u32 1 1 1 -1 = Sop2 s_sub_u32;
            s_add_i32 2 2 2 -1 = Sop2 s_add_i32;
            s_sub_i32 3 3 3 -1 = Sop2 s_sub_i32;
            s_addc_u32 4 4 4 -1 = Sop2 s_addc_u32;
            s_subb_u32 5 5 5 -1 = Sop2 s_subb_u32;
            s_absdiff_i32 44 6 6 6 = Sop2 s_absdiff_i32;
            s_lshl_b32 30 8 8 8 = Sop2 s_lshl_b32;
            s_lshl_b64 31 9 9 9 = Sop2 s_lshl_b64;
            s_lshr_b32 32 10 10 10 = Sop2 s_lshr_b32;
            s_lshr_b64 33 11 11 11 = Sop2 s_lshr_b64;
            s_ashr_i32 34 12 12 12 = Sop2 s_ashr_i32;
            s_ashr_i64 35 13 13 13 = Sop2 s_ashr_i64;
            s_lshl1_add_u32 46 14 14 14 = Sop2 s_lshl1_add_u32;
            s_lshl2_add_u32 47 15 15 15 = Sop2 s_lshl2_add_u32;
            s_lshl3_add_u32 48 16 16 16 = Sop2 s_lshl3_add_u32;
            s_lshl4_add_u32 49 17 17 17 = Sop2 s_lshl4_add_u32;
            s_min_i32 6 18 18 18 = Sop2 s_min_i32;
            s_min_u32 7 19 19 19 = Sop2 s_min_u32;
            s_max_i32 8 20 20 20 = Sop2 s_max_i32;
            s_max_u32 9 21 21 21 = Sop2 s_max_u32;
            s_and_b32 14 22 22 22 = Sop2 s_and_b32;
            s_and_b64 15 23 23 23 = Sop2 s_and_b64;
            s_or_b32 16 24 24 24 = Sop2 s_or_b32;
            s_or_b64 17 25 25 25 = Sop2 s_or_b64;
            s_xor_b32 18 26 26 26 = Sop2 s_xor_b32;
            s_xor_b64 19 27 27 27 = Sop2 s_xor_b64;
            s_nand_b32 24 28 28 28 = Sop2 s_nand_b32;
            s_nand_b64 25 29 29 29 = Sop2 s_nand_b64;
            s_nor_b32 26 30 30 30 = Sop2 s_nor_b32;
            s_nor_b64 27 31 31 31 = Sop2 s_nor_b64;
            s_xnor_b32 28 32 32 32 = Sop2 s_xnor_b32;
            s_xnor_b64 29 33 33 33 = Sop2 s_xnor_b64;
            s_and_not1_b32 -1 34 34 34 = Sop2 s_andn2_b32;
            s_and_not1_b64 -1 35 35 35 = Sop2 s_andn2_b64;
            s_or_not1_b32 -1 36 36 36 = Sop2 s_orn2_b32;
            s_or_not1_b64 -1 37 37 37 = Sop2 s_orn2_b64;
            s_bfe_u32 39 38 38 38 = Sop2 s_bfe_u32;
            s_bfe_i32 40 39 39 39 = Sop2 s_bfe_i32;
            s_bfe_u64 41 40 40 40 = Sop2 s_bfe_u64;
            s_bfe_i64 42 41 41 41 = Sop2 s_bfe_i64;
            s_bfm_b32 36 42 42 42 = Sop2 s_bfm_b32;
            s_bfm_b64 37 43 43 43 = Sop2 s_bfm_b64;
            s_mul_i32 38 44 44 44 = Sop2 s_mul_i32;
            s_mul_hi_u32 53 45 45 45 = Sop2 s_mul_hi_u32;
            s_mul_hi_i32 54 46 46 46 = Sop2 s_mul_hi_i32;
            s_cselect_b32 10 48 48 48 = Sop2 s_cselect_b32;
            s_cselect_b64 11 49 49 49 = Sop2 s_cselect_b64;
            s_pack_ll_b32_b16 50 50 50 50 = Sop2 s_pack_ll_b32_b16;
            s_pack_lh_b32_b16 51 51 51 51 = Sop2 s_pack_lh_b32_b16;
            s_pack_hh_b32_b16 52 52 52 52 = Sop2 s_pack_hh_b32_b16;
            s_pack_hl_b32_b16 -1 53 53 53 = Sop2 s_pack_hl_b32_b16;
            s_add_f32 -1 -1 64 64 = Sop2 s_add_f32;
            s_sub_f32 -1 -1 65 65 = Sop2 s_sub_f32;
            s_min_f32 -1 -1 66 -1 = Sop2 s_min_f32;
            s_max_f32 -1 -1 67 -1 = Sop2 s_max_f32;
            s_mul_f32 -1 -1 68 68 = Sop2 s_mul_f32;
            s_fmaak_f32 -1 -1 69 69 = Sop2 s_fmaak_f32;
            s_fmamk_f32 -1 -1 70 70 = Sop2 s_fmamk_f32;
            s_fmac_f32 -1 -1 71 71 = Sop2 s_fmac_f32;
            s_cvt_pk_rtz_f16_f32 -1 -1 72 72 = Sop2 s_cvt_pk_rtz_f16_f32;
            s_add_f16 -1 -1 73 73 = Sop2 s_add_f16;
            s_sub_f16 -1 -1 74 74 = Sop2 s_sub_f16;
            s_min_f16 -1 -1 75 -1 = Sop2 s_min_f16;
            s_max_f16 -1 -1 76 -1 = Sop2 s_max_f16;
            s_mul_f16 -1 -1 77 77 = Sop2 s_mul_f16;
            s_fmac_f16 -1 -1 78 78 = Sop2 s_fmac_f16;
            // Names that only gfx12 has, or that have other operands there.
            s_add_co_u32 -1 -1 -1 0 = Sop2 s_add_u32;
            s_sub_co_u32 -1 -1 -1 1 = Sop2 s_sub_u32;
            s_add_co_i32 -1 -1 -1 2 = Sop2 s_add_i32;
            s_sub_co_i32 -1 -1 -1 3 = Sop2 s_sub_i32;
            s_add_co_ci_u32 -1 -1 -1 4 = Sop2 s_addc_u32;
            s_sub_co_ci_u32 -1 -1 -1 5 = Sop2 s_subb_u32;
            s_min_num_f32 -1 -1 -1 66 = Sop2 s_min_f32;
            s_max_num_f32 -1 -1 -1 67 = Sop2 s_max_f32;
            s_min_num_f16 -1 -1 -1 75 = Sop2 s_min_f16;
            s_max_num_f16 -1 -1 -1 76 = Sop2 s_max_f16;
            s_minimum_f32 -1 -1 -1 79 = Sop2 s_minimum_f32;
            s_maximum_f32 -1 -1 -1 80 = Sop2 s_maximum_f32;
            s_minimum_f16 -1 -1 -1 81 = Sop2 s_minimum_f16;
            s_maximum_f16 -1 -1 -1 82 = Sop2 s_maximum_f16;
            s_add_nc_u64 -1 -1 -1 83 = Sop2 s_add_nc_u64;
            s_sub_nc_u64 -1 -1 -1 84 = Sop2 s_sub_nc_u64;
            s_mul_u64 -1 -1 -1 85 = Sop2 s_mul_u64;
            // gfx10.3 has most of these under the names of gfx9.
            s_andn2_b32 20 -1 -1 -1 = Sop2 s_andn2_b32;
            s_andn2_b64 21 -1 -1 -1 = Sop2 s_andn2_b64;
            s_orn2_b32 22 -1 -1 -1 = Sop2 s_orn2_b32;
            s_orn2_b64 23 -1 -1 -1 = Sop2 s_orn2_b64;
        }
    };
}

/// Passes the instructions of SOPK on RDNA to a macro.
macro_rules! sopk {
    ($make:ident) => {
        $make! {
            Sopk:
            s_movk_i32 0 0 0 0 = Sopk s_movk_i32;
            s_version 1 1 1 1 = Sopk s_version;
            s_cmovk_i32 2 2 2 2 = Sopk s_cmovk_i32;
            s_cmpk_eq_i32 3 3 3 -1 = Sopk s_cmpk_eq_i32;
            s_cmpk_lg_i32 4 4 4 -1 = Sopk s_cmpk_lg_i32;
            s_cmpk_gt_i32 5 5 5 -1 = Sopk s_cmpk_gt_i32;
            s_cmpk_ge_i32 6 6 6 -1 = Sopk s_cmpk_ge_i32;
            s_cmpk_lt_i32 7 7 7 -1 = Sopk s_cmpk_lt_i32;
            s_cmpk_le_i32 8 8 8 -1 = Sopk s_cmpk_le_i32;
            s_cmpk_eq_u32 9 9 9 -1 = Sopk s_cmpk_eq_u32;
            s_cmpk_lg_u32 10 10 10 -1 = Sopk s_cmpk_lg_u32;
            s_cmpk_gt_u32 11 11 11 -1 = Sopk s_cmpk_gt_u32;
            s_cmpk_ge_u32 12 12 12 -1 = Sopk s_cmpk_ge_u32;
            s_cmpk_lt_u32 13 13 13 -1 = Sopk s_cmpk_lt_u32;
            s_cmpk_le_u32 14 14 14 -1 = Sopk s_cmpk_le_u32;
            s_addk_i32 15 15 15 -1 = Sopk s_addk_i32;
            s_mulk_i32 16 16 16 16 = Sopk s_mulk_i32;
            s_getreg_b32 18 17 17 17 = Sopk s_getreg_b32;
            s_setreg_b32 19 18 18 18 = Sopk s_setreg_b32;
            s_setreg_imm32_b32 21 19 19 19 = Sopk s_setreg_imm32_b32;
            s_call_b64 22 20 20 20 = Sopk s_call_b64;
            s_subvector_loop_begin 27 22 22 -1 = Sopk s_subvector_loop_begin;
            s_subvector_loop_end 28 23 23 -1 = Sopk s_subvector_loop_end;
            s_waitcnt_vscnt 23 24 24 -1 = Sopk s_waitcnt_vscnt;
            s_waitcnt_vmcnt 24 25 25 -1 = Sopk s_waitcnt_vmcnt;
            s_waitcnt_expcnt 25 26 26 -1 = Sopk s_waitcnt_expcnt;
            s_waitcnt_lgkmcnt 26 27 27 -1 = Sopk s_waitcnt_lgkmcnt;
            // Names that only gfx12 has, or that have other operands there.
            s_addk_co_i32 -1 -1 -1 15 = Sopk s_addk_i32;
        }
    };
}

/// Passes the instructions of SOPC on RDNA to a macro.
macro_rules! sopc {
    ($make:ident) => {
        $make! {
            Sopc:
            s_cmp_eq_i32 0 0 0 0 = Sopc s_cmp_eq_i32;
            s_cmp_lg_i32 1 1 1 1 = Sopc s_cmp_lg_i32;
            s_cmp_gt_i32 2 2 2 2 = Sopc s_cmp_gt_i32;
            s_cmp_ge_i32 3 3 3 3 = Sopc s_cmp_ge_i32;
            s_cmp_lt_i32 4 4 4 4 = Sopc s_cmp_lt_i32;
            s_cmp_le_i32 5 5 5 5 = Sopc s_cmp_le_i32;
            s_cmp_eq_u32 6 6 6 6 = Sopc s_cmp_eq_u32;
            s_cmp_lg_u32 7 7 7 7 = Sopc s_cmp_lg_u32;
            s_cmp_gt_u32 8 8 8 8 = Sopc s_cmp_gt_u32;
            s_cmp_ge_u32 9 9 9 9 = Sopc s_cmp_ge_u32;
            s_cmp_lt_u32 10 10 10 10 = Sopc s_cmp_lt_u32;
            s_cmp_le_u32 11 11 11 11 = Sopc s_cmp_le_u32;
            s_bitcmp0_b32 12 12 12 12 = Sopc s_bitcmp0_b32;
            s_bitcmp1_b32 13 13 13 13 = Sopc s_bitcmp1_b32;
            s_bitcmp0_b64 14 14 14 14 = Sopc s_bitcmp0_b64;
            s_bitcmp1_b64 15 15 15 15 = Sopc s_bitcmp1_b64;
            s_cmp_eq_u64 18 16 16 16 = Sopc s_cmp_eq_u64;
            s_cmp_lg_u64 19 17 17 17 = Sopc s_cmp_lg_u64;
            s_cmp_lt_f32 -1 -1 65 65 = Sopc s_cmp_lt_f32;
            s_cmp_eq_f32 -1 -1 66 66 = Sopc s_cmp_eq_f32;
            s_cmp_le_f32 -1 -1 67 67 = Sopc s_cmp_le_f32;
            s_cmp_gt_f32 -1 -1 68 68 = Sopc s_cmp_gt_f32;
            s_cmp_lg_f32 -1 -1 69 69 = Sopc s_cmp_lg_f32;
            s_cmp_ge_f32 -1 -1 70 70 = Sopc s_cmp_ge_f32;
            s_cmp_o_f32 -1 -1 71 71 = Sopc s_cmp_o_f32;
            s_cmp_u_f32 -1 -1 72 72 = Sopc s_cmp_u_f32;
            s_cmp_nge_f32 -1 -1 73 73 = Sopc s_cmp_nge_f32;
            s_cmp_nlg_f32 -1 -1 74 74 = Sopc s_cmp_nlg_f32;
            s_cmp_ngt_f32 -1 -1 75 75 = Sopc s_cmp_ngt_f32;
            s_cmp_nle_f32 -1 -1 76 76 = Sopc s_cmp_nle_f32;
            s_cmp_neq_f32 -1 -1 77 77 = Sopc s_cmp_neq_f32;
            s_cmp_nlt_f32 -1 -1 78 78 = Sopc s_cmp_nlt_f32;
            s_cmp_lt_f16 -1 -1 81 81 = Sopc s_cmp_lt_f16;
            s_cmp_eq_f16 -1 -1 82 82 = Sopc s_cmp_eq_f16;
            s_cmp_le_f16 -1 -1 83 83 = Sopc s_cmp_le_f16;
            s_cmp_gt_f16 -1 -1 84 84 = Sopc s_cmp_gt_f16;
            s_cmp_lg_f16 -1 -1 85 85 = Sopc s_cmp_lg_f16;
            s_cmp_ge_f16 -1 -1 86 86 = Sopc s_cmp_ge_f16;
            s_cmp_o_f16 -1 -1 87 87 = Sopc s_cmp_o_f16;
            s_cmp_u_f16 -1 -1 88 88 = Sopc s_cmp_u_f16;
            s_cmp_nge_f16 -1 -1 89 89 = Sopc s_cmp_nge_f16;
            s_cmp_nlg_f16 -1 -1 90 90 = Sopc s_cmp_nlg_f16;
            s_cmp_ngt_f16 -1 -1 91 91 = Sopc s_cmp_ngt_f16;
            s_cmp_nle_f16 -1 -1 92 92 = Sopc s_cmp_nle_f16;
            s_cmp_neq_f16 -1 -1 93 93 = Sopc s_cmp_neq_f16;
            s_cmp_nlt_f16 -1 -1 94 94 = Sopc s_cmp_nlt_f16;
        }
    };
}

/// Passes the instructions of SOPP on RDNA to a macro.
macro_rules! sopp {
    ($make:ident) => {
        $make! {
            Sopp:
            s_nop 0 0 0 0 = Sopp s_nop;
            s_setkill 11 1 1 1 = Sopp s_setkill;
            s_sethalt 13 2 2 2 = Sopp s_sethalt;
            s_sleep 14 3 3 3 = Sopp s_sleep;
            s_set_inst_prefetch_distance -1 4 4 -1 = Sopp s_set_inst_prefetch_distance;
            s_clause 33 5 5 5 = Sopp s_clause;
            s_delay_alu -1 7 7 7 = Sopp s_delay_alu;
            s_waitcnt_depctr 35 8 8 -1 = Sopp s_waitcnt_depctr;
            // Of two generations, as their operands have other fields.
            s_waitcnt 12 -1 -1 -1 = Sopp s_waitcnt;
            s_waitcnt -1 9 9 9 = Sopp s_waitcnt;
            s_wait_idle 34 10 10 10 = Sopp s_wait_idle;
            s_wait_event -1 11 11 11 = Sopp s_wait_event;
            s_trap 18 16 16 16 = Sopp s_trap;
            s_round_mode 36 17 17 17 = Sopp s_round_mode;
            s_denorm_mode 37 18 18 18 = Sopp s_denorm_mode;
            s_code_end 31 31 31 31 = Sopp s_code_end;
            s_branch 2 32 32 32 = Sopp s_branch;
            s_cbranch_scc0 4 33 33 33 = Sopp s_cbranch_scc0;
            s_cbranch_scc1 5 34 34 34 = Sopp s_cbranch_scc1;
            s_cbranch_vccz 6 35 35 35 = Sopp s_cbranch_vccz;
            s_cbranch_vccnz 7 36 36 36 = Sopp s_cbranch_vccnz;
            s_cbranch_execz 8 37 37 37 = Sopp s_cbranch_execz;
            s_cbranch_execnz 9 38 38 38 = Sopp s_cbranch_execnz;
            s_cbranch_cdbgsys 23 39 39 -1 = Sopp s_cbranch_cdbgsys;
            s_cbranch_cdbguser 24 40 40 -1 = Sopp s_cbranch_cdbguser;
            s_cbranch_cdbgsys_or_user 25 41 41 -1 = Sopp s_cbranch_cdbgsys_or_user;
            s_cbranch_cdbgsys_and_user 26 42 42 -1 = Sopp s_cbranch_cdbgsys_and_user;
            s_endpgm 1 48 48 48 = Sopp s_endpgm;
            s_endpgm_saved 27 49 49 49 = Sopp s_endpgm_saved;
            s_endpgm_ordered_ps_done 30 50 50 -1 = Sopp s_endpgm_ordered_ps_done;
            s_wakeup 3 52 52 52 = Sopp s_wakeup;
            s_setprio 15 53 53 53 = Sopp s_setprio;
            s_sendmsg 16 54 54 54 = Sopp s_sendmsg;
            s_sendmsghalt 17 55 55 55 = Sopp s_sendmsghalt;
            s_incperflevel 20 56 56 56 = Sopp s_incperflevel;
            s_decperflevel 21 57 57 57 = Sopp s_decperflevel;
            s_ttracedata 22 58 58 58 = Sopp s_ttracedata;
            s_ttracedata_imm 40 59 59 59 = Sopp s_ttracedata_imm;
            s_icache_inv 19 60 60 60 = Sopp s_icache_inv;
            s_barrier 10 61 61 -1 = Sopp s_barrier;
            // Names that only gfx12 has, or that have other operands there.
            s_wait_alu -1 -1 -1 8 = Sopp s_waitcnt_depctr;
            s_barrier_wait -1 -1 -1 20 = Sopp s_barrier_wait;
            s_barrier_leave -1 -1 -1 21 = Sopp s_barrier_leave;
            s_wait_loadcnt -1 -1 -1 64 = Sopp s_wait_loadcnt;
            s_wait_storecnt -1 -1 -1 65 = Sopp s_wait_storecnt;
            s_wait_samplecnt -1 -1 -1 66 = Sopp s_wait_samplecnt;
            s_wait_bvhcnt -1 -1 -1 67 = Sopp s_wait_bvhcnt;
            s_wait_expcnt -1 -1 -1 68 = Sopp s_wait_expcnt;
            s_wait_dscnt -1 -1 -1 70 = Sopp s_wait_dscnt;
            s_wait_kmcnt -1 -1 -1 71 = Sopp s_wait_kmcnt;
            s_wait_loadcnt_dscnt -1 -1 -1 72 = Sopp s_wait_loadcnt_dscnt;
            s_wait_storecnt_dscnt -1 -1 -1 73 = Sopp s_wait_storecnt_dscnt;
            // gfx10.3 has most of these under the names of gfx9.
            s_inst_prefetch 32 -1 -1 -1 = Sopp s_set_inst_prefetch_distance;
        }
    };
}

pub(crate) use {sop1, sop2, sopc, sopk, sopp};
