//! SOP1, SOP2, SOPK, SOPC and SOPP instructions.

/// Passes the instructions of SOP1 to a macro.
macro_rules! sop1 {
    ($make:ident) => {
        $make! {
            /// The mnemonics of SOP1: scalar instructions with one source.
            Sop1:
            s_mov_b32 0 0 0 B32, [B32, Z, Z], BITS;
            s_mov_b64 1 1 1 B64, [B64, Z, Z], BITS;
            s_cmov_b32 2 2 2 B32, [B32, Z, Z], SCC_IN | BITS;
            s_cmov_b64 3 3 3 B64, [B64, Z, Z], SCC_IN | BITS;
            s_not_b32 4 4 4 B32, [B32, Z, Z], BITS;
            s_not_b64 5 5 5 B64, [B64, Z, Z], 0;
            s_wqm_b32 6 6 6 B32, [B32, Z, Z], 0;
            s_wqm_b64 7 7 7 B64, [B64, Z, Z], 0;
            s_brev_b32 8 8 8 B32, [B32, Z, Z], 0;
            s_brev_b64 9 9 9 B64, [B64, Z, Z], 0;
            s_bcnt0_i32_b32 10 10 10 B32, [B32, Z, Z], 0;
            s_bcnt0_i32_b64 11 11 11 B32, [B64, Z, Z], 0;
            s_bcnt1_i32_b32 12 12 12 B32, [B32, Z, Z], 0;
            s_bcnt1_i32_b64 13 13 13 B32, [B64, Z, Z], 0;
            s_ff0_i32_b32 14 14 14 B32, [B32, Z, Z], 0;
            s_ff0_i32_b64 15 15 15 B32, [B64, Z, Z], 0;
            s_ff1_i32_b32 16 16 16 B32, [B32, Z, Z], 0;
            s_ff1_i32_b64 17 17 17 B32, [B64, Z, Z], 0;
            s_flbit_i32_b32 18 18 18 B32, [B32, Z, Z], 0;
            s_flbit_i32_b64 19 19 19 B32, [B64, Z, Z], 0;
            s_flbit_i32 20 20 20 B32, [B32, Z, Z], 0;
            s_flbit_i32_i64 21 21 21 B32, [B64, Z, Z], SIGNED;
            s_sext_i32_i8 22 22 22 B32, [B32, Z, Z], 0;
            s_sext_i32_i16 23 23 23 B32, [B32, Z, Z], 0;
            s_bitset0_b32 24 24 24 B32, [B32, Z, Z], DST_IN;
            s_bitset0_b64 25 25 25 B64, [B32, Z, Z], DST_IN;
            s_bitset1_b32 26 26 26 B32, [B32, Z, Z], DST_IN;
            s_bitset1_b64 27 27 27 B64, [B32, Z, Z], DST_IN;
            s_getpc_b64 28 28 28 B64, [Z, Z, Z], 0;
            s_setpc_b64 29 29 29 Z, [B64, Z, Z], BRANCH;
            s_swappc_b64 30 30 30 B64, [B64, Z, Z], BRANCH;
            s_rfe_b64 31 31 31 Z, [B64, Z, Z], 0;
            s_and_saveexec_b64 32 32 32 B64, [B64, Z, Z], 0;
            s_or_saveexec_b64 33 33 33 B64, [B64, Z, Z], 0;
            s_xor_saveexec_b64 34 34 34 B64, [B64, Z, Z], 0;
            s_andn2_saveexec_b64 35 35 35 B64, [B64, Z, Z], 0;
            s_orn2_saveexec_b64 36 36 36 B64, [B64, Z, Z], 0;
            s_nand_saveexec_b64 37 37 37 B64, [B64, Z, Z], 0;
            s_nor_saveexec_b64 38 38 38 B64, [B64, Z, Z], 0;
            s_xnor_saveexec_b64 39 39 39 B64, [B64, Z, Z], 0;
            s_quadmask_b32 40 40 40 B32, [B32, Z, Z], 0;
            s_quadmask_b64 41 41 41 B64, [B64, Z, Z], 0;
            s_movrels_b32 42 42 42 B32, [B32, Z, Z], M0_IN;
            s_movrels_b64 43 43 43 B64, [B64, Z, Z], M0_IN;
            s_movreld_b32 44 44 44 B32, [B32, Z, Z], M0_IN;
            s_movreld_b64 45 45 45 B64, [B64, Z, Z], M0_IN;
            s_cbranch_join 46 46 46 Z, [B32, Z, Z], BRANCH;
            s_abs_i32 48 48 48 B32, [B32, Z, Z], 0;
            s_set_gpr_idx_idx 50 50 50 Z, [B32, Z, Z], MODE_OUT;
            s_andn1_saveexec_b64 51 51 51 B64, [B64, Z, Z], 0;
            s_orn1_saveexec_b64 52 52 52 B64, [B64, Z, Z], 0;
            s_andn1_wrexec_b64 53 53 53 B64, [B64, Z, Z], 0;
            s_andn2_wrexec_b64 54 54 54 B64, [B64, Z, Z], 0;
            s_bitreplicate_b64_b32 55 55 55 B64, [B32, Z, Z], 0;
            // Operations that no target of gfx9's encodings has, under their names on RDNA.
            // The low half of EXEC, whatever the size of the wave.
            s_and_saveexec_b32 -1 -1 -1 B32, [B32, Z, Z], 0;
            s_or_saveexec_b32 -1 -1 -1 B32, [B32, Z, Z], 0;
            s_xor_saveexec_b32 -1 -1 -1 B32, [B32, Z, Z], 0;
            s_nand_saveexec_b32 -1 -1 -1 B32, [B32, Z, Z], 0;
            s_nor_saveexec_b32 -1 -1 -1 B32, [B32, Z, Z], 0;
            s_xnor_saveexec_b32 -1 -1 -1 B32, [B32, Z, Z], 0;
            s_and_not0_saveexec_b32 -1 -1 -1 B32, [B32, Z, Z], 0;
            s_or_not0_saveexec_b32 -1 -1 -1 B32, [B32, Z, Z], 0;
            s_and_not1_saveexec_b32 -1 -1 -1 B32, [B32, Z, Z], 0;
            s_or_not1_saveexec_b32 -1 -1 -1 B32, [B32, Z, Z], 0;
            s_and_not0_wrexec_b32 -1 -1 -1 B32, [B32, Z, Z], 0;
            s_and_not1_wrexec_b32 -1 -1 -1 B32, [B32, Z, Z], 0;
            // M0 has an offset for the source in its low bits and one for the destination from bit 16 on.
            s_movrelsd_2_b32 -1 -1 -1 B32, [B32, Z, Z], M0_IN;
            // The field of the source is the message's number, and not an operand.
            s_sendmsg_rtn_b32 -1 -1 -1 B32, [Z, Z, Z], 0;
            s_sendmsg_rtn_b64 -1 -1 -1 B64, [Z, Z, Z], 0;
            s_ceil_f32 -1 -1 -1 F32, [F32, Z, Z], 0;
            s_floor_f32 -1 -1 -1 F32, [F32, Z, Z], 0;
            s_trunc_f32 -1 -1 -1 F32, [F32, Z, Z], 0;
            s_rndne_f32 -1 -1 -1 F32, [F32, Z, Z], 0;
            s_cvt_f32_i32 -1 -1 -1 F32, [B32, Z, Z], 0;
            s_cvt_f32_u32 -1 -1 -1 F32, [B32, Z, Z], 0;
            s_cvt_i32_f32 -1 -1 -1 B32, [F32, Z, Z], 0;
            s_cvt_u32_f32 -1 -1 -1 B32, [F32, Z, Z], 0;
            s_cvt_f16_f32 -1 -1 -1 F16, [F32, Z, Z], 0;
            s_cvt_f32_f16 -1 -1 -1 F32, [F16, Z, Z], 0;
            // The high half of the source is a float of 16 bits.
            s_cvt_hi_f32_f16 -1 -1 -1 F32, [B32, Z, Z], 0;
            s_ceil_f16 -1 -1 -1 F16, [F16, Z, Z], 0;
            s_floor_f16 -1 -1 -1 F16, [F16, Z, Z], 0;
            s_trunc_f16 -1 -1 -1 F16, [F16, Z, Z], 0;
            s_rndne_f16 -1 -1 -1 F16, [F16, Z, Z], 0;
            // Barriers have numbers, which are in the source, or in M0. The lowest bits of M0 also say how many waves take part.
            s_barrier_signal -1 -1 -1 Z, [B32, Z, Z], M0_IN;
            s_barrier_signal_isfirst -1 -1 -1 Z, [B32, Z, Z], M0_IN;
            s_get_barrier_state -1 -1 -1 B32, [B32, Z, Z], M0_IN;
            s_barrier_init -1 -1 -1 Z, [B32, Z, Z], M0_IN;
            s_barrier_join -1 -1 -1 Z, [B32, Z, Z], M0_IN;
            s_alloc_vgpr -1 -1 -1 Z, [B32, Z, Z], 0;
            s_sleep_var -1 -1 -1 Z, [B32, Z, Z], 0;
        }
    };
}

/// Passes the instructions of SOP2 to a macro.
macro_rules! sop2 {
    ($make:ident) => {
        $make! {
            /// The mnemonics of SOP2: scalar instructions with two sources.
            Sop2:
            s_add_u32 0 0 0 B32, [B32, B32, Z], 0;
            s_sub_u32 1 1 1 B32, [B32, B32, Z], 0;
            s_add_i32 2 2 2 B32, [B32, B32, Z], 0;
            s_sub_i32 3 3 3 B32, [B32, B32, Z], 0;
            s_addc_u32 4 4 4 B32, [B32, B32, Z], SCC_IN;
            s_subb_u32 5 5 5 B32, [B32, B32, Z], SCC_IN;
            s_min_i32 6 6 6 B32, [B32, B32, Z], 0;
            s_min_u32 7 7 7 B32, [B32, B32, Z], 0;
            s_max_i32 8 8 8 B32, [B32, B32, Z], 0;
            s_max_u32 9 9 9 B32, [B32, B32, Z], 0;
            s_cselect_b32 10 10 10 B32, [B32, B32, Z], SCC_IN | BITS;
            s_cselect_b64 11 11 11 B64, [B64, B64, Z], SCC_IN | BITS;
            s_and_b32 12 12 12 B32, [B32, B32, Z], BITS;
            s_and_b64 13 13 13 B64, [B64, B64, Z], BITS;
            s_or_b32 14 14 14 B32, [B32, B32, Z], BITS;
            s_or_b64 15 15 15 B64, [B64, B64, Z], BITS;
            s_xor_b32 16 16 16 B32, [B32, B32, Z], 0;
            s_xor_b64 17 17 17 B64, [B64, B64, Z], 0;
            s_andn2_b32 18 18 18 B32, [B32, B32, Z], BITS;
            s_andn2_b64 19 19 19 B64, [B64, B64, Z], BITS;
            s_orn2_b32 20 20 20 B32, [B32, B32, Z], 0;
            s_orn2_b64 21 21 21 B64, [B64, B64, Z], 0;
            s_nand_b32 22 22 22 B32, [B32, B32, Z], 0;
            s_nand_b64 23 23 23 B64, [B64, B64, Z], 0;
            s_nor_b32 24 24 24 B32, [B32, B32, Z], 0;
            s_nor_b64 25 25 25 B64, [B64, B64, Z], 0;
            s_xnor_b32 26 26 26 B32, [B32, B32, Z], 0;
            s_xnor_b64 27 27 27 B64, [B64, B64, Z], 0;
            s_lshl_b32 28 28 28 B32, [B32, B32, Z], BITS;
            s_lshl_b64 29 29 29 B64, [B64, B32, Z], BITS;
            s_lshr_b32 30 30 30 B32, [B32, B32, Z], BITS;
            s_lshr_b64 31 31 31 B64, [B64, B32, Z], BITS;
            s_ashr_i32 32 32 32 B32, [B32, B32, Z], BITS;
            s_ashr_i64 33 33 33 B64, [B64, B32, Z], BITS | SIGNED;
            s_bfm_b32 34 34 34 B32, [B32, B32, Z], 0;
            s_bfm_b64 35 35 35 B64, [B32, B32, Z], 0;
            s_mul_i32 36 36 36 B32, [B32, B32, Z], 0;
            s_bfe_u32 37 37 37 B32, [B32, B32, Z], BITS;
            s_bfe_i32 38 38 38 B32, [B32, B32, Z], BITS;
            s_bfe_u64 39 39 39 B64, [B64, B32, Z], BITS;
            s_bfe_i64 40 40 40 B64, [B64, B32, Z], BITS | SIGNED;
            s_cbranch_g_fork 41 41 41 Z, [B64, B64, Z], BRANCH;
            s_absdiff_i32 42 42 42 B32, [B32, B32, Z], 0;
            s_rfe_restore_b64 43 43 43 Z, [B64, B32, Z], 0;
            s_mul_hi_u32 44 44 44 B32, [B32, B32, Z], 0;
            s_mul_hi_i32 45 45 45 B32, [B32, B32, Z], 0;
            s_lshl1_add_u32 46 46 46 B32, [B32, B32, Z], 0;
            s_lshl2_add_u32 47 47 47 B32, [B32, B32, Z], 0;
            s_lshl3_add_u32 48 48 48 B32, [B32, B32, Z], 0;
            s_lshl4_add_u32 49 49 49 B32, [B32, B32, Z], 0;
            s_pack_ll_b32_b16 50 50 50 B32, [B32, B32, Z], BITS;
            s_pack_lh_b32_b16 51 51 51 B32, [B32, B32, Z], BITS;
            s_pack_hh_b32_b16 52 52 52 B32, [B32, B32, Z], BITS;
            // Operations that no target of gfx9's encodings has, under their names on RDNA.
            s_pack_hl_b32_b16 -1 -1 -1 B32, [B32, B32, Z], BITS;
            s_add_f32 -1 -1 -1 F32, [F32, F32, Z], 0;
            s_sub_f32 -1 -1 -1 F32, [F32, F32, Z], 0;
            s_min_f32 -1 -1 -1 F32, [F32, F32, Z], 0;
            s_max_f32 -1 -1 -1 F32, [F32, F32, Z], 0;
            s_mul_f32 -1 -1 -1 F32, [F32, F32, Z], 0;
            s_fmaak_f32 -1 -1 -1 F32, [F32, F32, F32], LIT;
            s_fmamk_f32 -1 -1 -1 F32, [F32, F32, F32], LIT | LIT_FACTOR;
            s_fmac_f32 -1 -1 -1 F32, [F32, F32, Z], ACC;
            s_cvt_pk_rtz_f16_f32 -1 -1 -1 P16F, [F32, F32, Z], 0;
            s_add_f16 -1 -1 -1 F16, [F16, F16, Z], 0;
            s_sub_f16 -1 -1 -1 F16, [F16, F16, Z], 0;
            s_min_f16 -1 -1 -1 F16, [F16, F16, Z], 0;
            s_max_f16 -1 -1 -1 F16, [F16, F16, Z], 0;
            s_mul_f16 -1 -1 -1 F16, [F16, F16, Z], 0;
            s_fmac_f16 -1 -1 -1 F16, [F16, F16, Z], ACC;
            // If a source is NaN, the result is NaN.
            s_minimum_f32 -1 -1 -1 F32, [F32, F32, Z], 0;
            s_maximum_f32 -1 -1 -1 F32, [F32, F32, Z], 0;
            s_minimum_f16 -1 -1 -1 F16, [F16, F16, Z], 0;
            s_maximum_f16 -1 -1 -1 F16, [F16, F16, Z], 0;
            // These three don't write SCC.
            s_add_nc_u64 -1 -1 -1 B64, [B64, B64, Z], 0;
            s_sub_nc_u64 -1 -1 -1 B64, [B64, B64, Z], 0;
            s_mul_u64 -1 -1 -1 B64, [B64, B64, Z], 0;
        }
    };
}

/// Passes the instructions of SOPK to a macro.
macro_rules! sopk {
    ($make:ident) => {
        $make! {
            /// The mnemonics of SOPK: scalar instructions with a constant.
            Sopk:
            s_movk_i32 0 0 0 B32, [Z, Z, Z], 0;
            s_cmovk_i32 1 1 1 B32, [Z, Z, Z], 0;
            s_cmpk_eq_i32 2 2 2 B32, [Z, Z, Z], DST_IN | DST_KEPT;
            s_cmpk_lg_i32 3 3 3 B32, [Z, Z, Z], DST_IN | DST_KEPT;
            s_cmpk_gt_i32 4 4 4 B32, [Z, Z, Z], DST_IN | DST_KEPT;
            s_cmpk_ge_i32 5 5 5 B32, [Z, Z, Z], DST_IN | DST_KEPT;
            s_cmpk_lt_i32 6 6 6 B32, [Z, Z, Z], DST_IN | DST_KEPT;
            s_cmpk_le_i32 7 7 7 B32, [Z, Z, Z], DST_IN | DST_KEPT;
            s_cmpk_eq_u32 8 8 8 B32, [Z, Z, Z], DST_IN | DST_KEPT;
            s_cmpk_lg_u32 9 9 9 B32, [Z, Z, Z], DST_IN | DST_KEPT;
            s_cmpk_gt_u32 10 10 10 B32, [Z, Z, Z], DST_IN | DST_KEPT;
            s_cmpk_ge_u32 11 11 11 B32, [Z, Z, Z], DST_IN | DST_KEPT;
            s_cmpk_lt_u32 12 12 12 B32, [Z, Z, Z], DST_IN | DST_KEPT;
            s_cmpk_le_u32 13 13 13 B32, [Z, Z, Z], DST_IN | DST_KEPT;
            s_addk_i32 14 14 14 B32, [Z, Z, Z], DST_IN;
            s_mulk_i32 15 15 15 B32, [Z, Z, Z], DST_IN;
            s_cbranch_i_fork 16 16 16 B64, [Z, Z, Z], BRANCH;
            s_getreg_b32 17 17 17 B32, [Z, Z, Z], 0;
            s_setreg_b32 18 18 18 B32, [Z, Z, Z], MODE_OUT | DST_IN | DST_KEPT;
            s_setreg_imm32_b32 20 20 20 Z, [Z, Z, Z], LIT | MODE_OUT | DST_IN | DST_KEPT;
            s_call_b64 21 21 21 B64, [Z, Z, Z], BRANCH;
            // Operations that no target of gfx9's encodings has, under their names on RDNA.
            s_version -1 -1 -1 Z, [Z, Z, Z], 0;
            // A loop that executes the halves of a wave of 64 one after the other. The register holds the half of EXEC that
            // is off.
            s_subvector_loop_begin -1 -1 -1 B32, [Z, Z, Z], BRANCH | EXEC_OUT;
            s_subvector_loop_end -1 -1 -1 B32, [Z, Z, Z], BRANCH | EXEC_OUT | DST_IN;
            // The count to wait for is the sum of the register, usually `null`, and the constant.
            s_waitcnt_vscnt -1 -1 -1 B32, [Z, Z, Z], DST_IN | DST_KEPT;
            s_waitcnt_vmcnt -1 -1 -1 B32, [Z, Z, Z], DST_IN | DST_KEPT;
            s_waitcnt_expcnt -1 -1 -1 B32, [Z, Z, Z], DST_IN | DST_KEPT;
            s_waitcnt_lgkmcnt -1 -1 -1 B32, [Z, Z, Z], DST_IN | DST_KEPT;
        }
    };
}

/// Passes the instructions of SOPC to a macro.
macro_rules! sopc {
    ($make:ident) => {
        $make! {
            /// The mnemonics of SOPC: scalar comparisons.
            Sopc:
            s_cmp_eq_i32 0 0 0 Z, [B32, B32, Z], 0;
            s_cmp_lg_i32 1 1 1 Z, [B32, B32, Z], 0;
            s_cmp_gt_i32 2 2 2 Z, [B32, B32, Z], 0;
            s_cmp_ge_i32 3 3 3 Z, [B32, B32, Z], 0;
            s_cmp_lt_i32 4 4 4 Z, [B32, B32, Z], 0;
            s_cmp_le_i32 5 5 5 Z, [B32, B32, Z], 0;
            s_cmp_eq_u32 6 6 6 Z, [B32, B32, Z], 0;
            s_cmp_lg_u32 7 7 7 Z, [B32, B32, Z], 0;
            s_cmp_gt_u32 8 8 8 Z, [B32, B32, Z], 0;
            s_cmp_ge_u32 9 9 9 Z, [B32, B32, Z], 0;
            s_cmp_lt_u32 10 10 10 Z, [B32, B32, Z], 0;
            s_cmp_le_u32 11 11 11 Z, [B32, B32, Z], 0;
            s_bitcmp0_b32 12 12 12 Z, [B32, B32, Z], 0;
            s_bitcmp1_b32 13 13 13 Z, [B32, B32, Z], 0;
            s_bitcmp0_b64 14 14 14 Z, [B64, B32, Z], 0;
            s_bitcmp1_b64 15 15 15 Z, [B64, B32, Z], 0;
            s_setvskip 16 16 16 Z, [B32, B32, Z], MODE_OUT;
            s_set_gpr_idx_on 17 17 17 Z, [B32, Z, Z], MODE_OUT;
            s_cmp_eq_u64 18 18 18 Z, [B64, B64, Z], 0;
            s_cmp_lg_u64 19 19 19 Z, [B64, B64, Z], 0;
            // Operations that no target of gfx9's encodings has, under their names on RDNA.
            s_cmp_lt_f32 -1 -1 -1 Z, [F32, F32, Z], 0;
            s_cmp_eq_f32 -1 -1 -1 Z, [F32, F32, Z], 0;
            s_cmp_le_f32 -1 -1 -1 Z, [F32, F32, Z], 0;
            s_cmp_gt_f32 -1 -1 -1 Z, [F32, F32, Z], 0;
            s_cmp_lg_f32 -1 -1 -1 Z, [F32, F32, Z], 0;
            s_cmp_ge_f32 -1 -1 -1 Z, [F32, F32, Z], 0;
            s_cmp_o_f32 -1 -1 -1 Z, [F32, F32, Z], 0;
            s_cmp_u_f32 -1 -1 -1 Z, [F32, F32, Z], 0;
            s_cmp_nge_f32 -1 -1 -1 Z, [F32, F32, Z], 0;
            s_cmp_nlg_f32 -1 -1 -1 Z, [F32, F32, Z], 0;
            s_cmp_ngt_f32 -1 -1 -1 Z, [F32, F32, Z], 0;
            s_cmp_nle_f32 -1 -1 -1 Z, [F32, F32, Z], 0;
            s_cmp_neq_f32 -1 -1 -1 Z, [F32, F32, Z], 0;
            s_cmp_nlt_f32 -1 -1 -1 Z, [F32, F32, Z], 0;
            s_cmp_lt_f16 -1 -1 -1 Z, [F16, F16, Z], 0;
            s_cmp_eq_f16 -1 -1 -1 Z, [F16, F16, Z], 0;
            s_cmp_le_f16 -1 -1 -1 Z, [F16, F16, Z], 0;
            s_cmp_gt_f16 -1 -1 -1 Z, [F16, F16, Z], 0;
            s_cmp_lg_f16 -1 -1 -1 Z, [F16, F16, Z], 0;
            s_cmp_ge_f16 -1 -1 -1 Z, [F16, F16, Z], 0;
            s_cmp_o_f16 -1 -1 -1 Z, [F16, F16, Z], 0;
            s_cmp_u_f16 -1 -1 -1 Z, [F16, F16, Z], 0;
            s_cmp_nge_f16 -1 -1 -1 Z, [F16, F16, Z], 0;
            s_cmp_nlg_f16 -1 -1 -1 Z, [F16, F16, Z], 0;
            s_cmp_ngt_f16 -1 -1 -1 Z, [F16, F16, Z], 0;
            s_cmp_nle_f16 -1 -1 -1 Z, [F16, F16, Z], 0;
            s_cmp_neq_f16 -1 -1 -1 Z, [F16, F16, Z], 0;
            s_cmp_nlt_f16 -1 -1 -1 Z, [F16, F16, Z], 0;
        }
    };
}

/// Passes the instructions of SOPP to a macro.
macro_rules! sopp {
    ($make:ident) => {
        $make! {
            /// The mnemonics of SOPP: branches, barriers, messages, waits.
            Sopp:
            s_nop 0 0 0 Z, [Z, Z, Z], 0;
            s_endpgm 1 1 1 Z, [Z, Z, Z], 0;
            s_branch 2 2 2 Z, [Z, Z, Z], BRANCH;
            s_wakeup 3 3 3 Z, [Z, Z, Z], 0;
            s_cbranch_scc0 4 4 4 Z, [Z, Z, Z], BRANCH | SCC_IN;
            s_cbranch_scc1 5 5 5 Z, [Z, Z, Z], BRANCH | SCC_IN;
            s_cbranch_vccz 6 6 6 Z, [Z, Z, Z], BRANCH;
            s_cbranch_vccnz 7 7 7 Z, [Z, Z, Z], BRANCH;
            s_cbranch_execz 8 8 8 Z, [Z, Z, Z], BRANCH;
            s_cbranch_execnz 9 9 9 Z, [Z, Z, Z], BRANCH;
            s_barrier 10 10 10 Z, [Z, Z, Z], 0;
            s_setkill 11 11 11 Z, [Z, Z, Z], 0;
            s_waitcnt 12 12 12 Z, [Z, Z, Z], 0;
            s_sethalt 13 13 13 Z, [Z, Z, Z], 0;
            s_sleep 14 14 14 Z, [Z, Z, Z], 0;
            s_setprio 15 15 15 Z, [Z, Z, Z], 0;
            s_sendmsg 16 16 16 Z, [Z, Z, Z], M0_IN;
            s_sendmsghalt 17 17 17 Z, [Z, Z, Z], M0_IN;
            s_trap 18 18 18 Z, [Z, Z, Z], 0;
            s_icache_inv 19 19 19 Z, [Z, Z, Z], 0;
            s_incperflevel 20 20 20 Z, [Z, Z, Z], 0;
            s_decperflevel 21 21 21 Z, [Z, Z, Z], 0;
            s_ttracedata 22 22 22 Z, [Z, Z, Z], M0_IN;
            s_cbranch_cdbgsys 23 23 23 Z, [Z, Z, Z], BRANCH;
            s_cbranch_cdbguser 24 24 24 Z, [Z, Z, Z], BRANCH;
            s_cbranch_cdbgsys_or_user 25 25 25 Z, [Z, Z, Z], BRANCH;
            s_cbranch_cdbgsys_and_user 26 26 26 Z, [Z, Z, Z], BRANCH;
            s_endpgm_saved 27 27 27 Z, [Z, Z, Z], 0;
            s_set_gpr_idx_off 28 28 28 Z, [Z, Z, Z], MODE_OUT;
            s_set_gpr_idx_mode 29 29 29 Z, [Z, Z, Z], MODE_OUT;
            s_endpgm_ordered_ps_done 30 30 30 Z, [Z, Z, Z], 0;
            s_set_valu_coexec_mode -1 31 31 Z, [Z, Z, Z], 0;
            // Operations that no target of gfx9's encodings has, under their names on RDNA.
            s_set_inst_prefetch_distance -1 -1 -1 Z, [Z, Z, Z], 0;
            s_clause -1 -1 -1 Z, [Z, Z, Z], 0;
            s_delay_alu -1 -1 -1 Z, [Z, Z, Z], 0;
            s_waitcnt_depctr -1 -1 -1 Z, [Z, Z, Z], 0;
            s_wait_idle -1 -1 -1 Z, [Z, Z, Z], 0;
            s_wait_event -1 -1 -1 Z, [Z, Z, Z], 0;
            s_round_mode -1 -1 -1 Z, [Z, Z, Z], MODE_OUT;
            s_denorm_mode -1 -1 -1 Z, [Z, Z, Z], MODE_OUT;
            s_code_end -1 -1 -1 Z, [Z, Z, Z], 0;
            s_ttracedata_imm -1 -1 -1 Z, [Z, Z, Z], 0;
            // It waits for the barrier that the immediate names.
            s_barrier_wait -1 -1 -1 Z, [Z, Z, Z], 0;
            s_barrier_leave -1 -1 -1 Z, [Z, Z, Z], 0;
            s_wait_loadcnt -1 -1 -1 Z, [Z, Z, Z], 0;
            s_wait_storecnt -1 -1 -1 Z, [Z, Z, Z], 0;
            s_wait_samplecnt -1 -1 -1 Z, [Z, Z, Z], 0;
            s_wait_bvhcnt -1 -1 -1 Z, [Z, Z, Z], 0;
            s_wait_expcnt -1 -1 -1 Z, [Z, Z, Z], 0;
            s_wait_dscnt -1 -1 -1 Z, [Z, Z, Z], 0;
            s_wait_kmcnt -1 -1 -1 Z, [Z, Z, Z], 0;
            // The first counter's number is in bits 8 to 13, the second's in bits 0 to 5.
            s_wait_loadcnt_dscnt -1 -1 -1 Z, [Z, Z, Z], 0;
            s_wait_storecnt_dscnt -1 -1 -1 Z, [Z, Z, Z], 0;
        }
    };
}

pub(crate) use {sop1, sop2, sopc, sopk, sopp};
