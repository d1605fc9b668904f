//! Executors of SOP1, SOP2, SOPK, SOPC and SOPP instructions.

use amdgpu_isa::{Sop1, Sop2, Sopc, Sopk, Sopp};

use super::notation::*;
use crate::exec::{altered, control, fork, hwreg, salu};

#[rustfmt::skip]
pub(super) fn sop1(op: Sop1) -> Impl {
    match op {
        Sop1::s_mov_b32 => one::<salu::MovB32>(),
        Sop1::s_mov_b64 => one::<salu::MovB64>(),
        Sop1::s_cmov_b32 => one::<salu::CmovB32>(),
        Sop1::s_cmov_b64 => one::<salu::CmovB64>(),
        Sop1::s_not_b32 => one::<salu::NotB32>(),
        Sop1::s_not_b64 => one::<salu::NotB64>(),
        Sop1::s_wqm_b32 => one::<salu::WqmB32>(),
        Sop1::s_wqm_b64 => one::<salu::WqmB64>(),
        Sop1::s_brev_b32 => one::<salu::BrevB32>(),
        Sop1::s_brev_b64 => one::<salu::BrevB64>(),
        Sop1::s_bcnt0_i32_b32 => one::<salu::Bcnt0B32>(),
        Sop1::s_bcnt0_i32_b64 => one::<salu::Bcnt0B64>(),
        Sop1::s_bcnt1_i32_b32 => one::<salu::Bcnt1B32>(),
        Sop1::s_bcnt1_i32_b64 => one::<salu::Bcnt1B64>(),
        Sop1::s_ff0_i32_b32 => one::<salu::Ff0B32>(),
        Sop1::s_ff0_i32_b64 => one::<salu::Ff0B64>(),
        Sop1::s_ff1_i32_b32 => one::<salu::Ff1B32>(),
        Sop1::s_ff1_i32_b64 => one::<salu::Ff1B64>(),
        Sop1::s_flbit_i32_b32 => one::<salu::FlbitB32>(),
        Sop1::s_flbit_i32_b64 => one::<salu::FlbitB64>(),
        Sop1::s_flbit_i32 => one::<salu::FlbitI32>(),
        Sop1::s_flbit_i32_i64 => one::<salu::FlbitI64>(),
        Sop1::s_sext_i32_i8 => one::<salu::SextI8>(),
        Sop1::s_sext_i32_i16 => one::<salu::SextI16>(),
        Sop1::s_bitset0_b32 => one::<salu::Bitset0B32>(),
        Sop1::s_bitset0_b64 => one::<salu::Bitset0B64>(),
        Sop1::s_bitset1_b32 => one::<salu::Bitset1B32>(),
        Sop1::s_bitset1_b64 => one::<salu::Bitset1B64>(),
        Sop1::s_getpc_b64 => one::<control::Getpc>(),
        Sop1::s_setpc_b64 => one::<control::Setpc>(),
        Sop1::s_swappc_b64 => one::<control::Swappc>(),
        Sop1::s_rfe_b64 => one::<control::Privileged>(),
        Sop1::s_and_saveexec_b64 => one::<salu::AndSaveexec>(),
        Sop1::s_or_saveexec_b64 => one::<salu::OrSaveexec>(),
        Sop1::s_xor_saveexec_b64 => one::<salu::XorSaveexec>(),
        Sop1::s_andn2_saveexec_b64 => one::<salu::Andn2Saveexec>(),
        Sop1::s_orn2_saveexec_b64 => one::<salu::Orn2Saveexec>(),
        Sop1::s_nand_saveexec_b64 => one::<salu::NandSaveexec>(),
        Sop1::s_nor_saveexec_b64 => one::<salu::NorSaveexec>(),
        Sop1::s_xnor_saveexec_b64 => one::<salu::XnorSaveexec>(),
        Sop1::s_quadmask_b32 => one::<salu::QuadmaskB32>(),
        Sop1::s_quadmask_b64 => one::<salu::QuadmaskB64>(),
        Sop1::s_movrels_b32 => one::<salu::MovrelsB32>(),
        Sop1::s_movrels_b64 => one::<salu::MovrelsB64>(),
        Sop1::s_movreld_b32 => one::<salu::MovreldB32>(),
        Sop1::s_movreld_b64 => one::<salu::MovreldB64>(),
        Sop1::s_cbranch_join => one::<fork::Join>(),
        Sop1::s_abs_i32 => one::<salu::AbsI32>(),
        Sop1::s_set_gpr_idx_idx => one::<altered::GprIdxIdx>(),
        Sop1::s_andn1_saveexec_b64 => one::<salu::Andn1Saveexec>(),
        Sop1::s_orn1_saveexec_b64 => one::<salu::Orn1Saveexec>(),
        Sop1::s_andn1_wrexec_b64 => one::<salu::Andn1Wrexec>(),
        Sop1::s_andn2_wrexec_b64 => one::<salu::Andn2Wrexec>(),
        Sop1::s_bitreplicate_b64_b32 => one::<salu::Bitreplicate>(),
        // Instructions of gfx11.
        Sop1::s_and_saveexec_b32 | Sop1::s_or_saveexec_b32 | Sop1::s_xor_saveexec_b32
        | Sop1::s_nand_saveexec_b32 | Sop1::s_nor_saveexec_b32 | Sop1::s_xnor_saveexec_b32
        | Sop1::s_and_not0_saveexec_b32 | Sop1::s_or_not0_saveexec_b32 | Sop1::s_and_not1_saveexec_b32
        | Sop1::s_or_not1_saveexec_b32 | Sop1::s_and_not0_wrexec_b32 | Sop1::s_and_not1_wrexec_b32
        | Sop1::s_movrelsd_2_b32 | Sop1::s_sendmsg_rtn_b32 | Sop1::s_sendmsg_rtn_b64 | Sop1::s_ceil_f32
        | Sop1::s_floor_f32 | Sop1::s_trunc_f32 | Sop1::s_rndne_f32 | Sop1::s_cvt_f32_i32
        | Sop1::s_cvt_f32_u32 | Sop1::s_cvt_i32_f32 | Sop1::s_cvt_u32_f32 | Sop1::s_cvt_f16_f32
        | Sop1::s_cvt_f32_f16 | Sop1::s_cvt_hi_f32_f16 | Sop1::s_ceil_f16 | Sop1::s_floor_f16
        | Sop1::s_trunc_f16 | Sop1::s_rndne_f16 => Impl::Unimplemented,
    }
}

#[rustfmt::skip]
pub(super) fn sop2(op: Sop2) -> Impl {
    match op {
        Sop2::s_add_u32 => one::<salu::AddU32>(),
        Sop2::s_sub_u32 => one::<salu::SubU32>(),
        Sop2::s_add_i32 => one::<salu::AddI32>(),
        Sop2::s_sub_i32 => one::<salu::SubI32>(),
        Sop2::s_addc_u32 => one::<salu::AddcU32>(),
        Sop2::s_subb_u32 => one::<salu::SubbU32>(),
        Sop2::s_min_i32 => one::<salu::MinI32>(),
        Sop2::s_min_u32 => one::<salu::MinU32>(),
        Sop2::s_max_i32 => one::<salu::MaxI32>(),
        Sop2::s_max_u32 => one::<salu::MaxU32>(),
        Sop2::s_cselect_b32 => one::<salu::CselectB32>(),
        Sop2::s_cselect_b64 => one::<salu::CselectB64>(),
        Sop2::s_and_b32 => one::<salu::AndB32>(),
        Sop2::s_and_b64 => one::<salu::AndB64>(),
        Sop2::s_or_b32 => one::<salu::OrB32>(),
        Sop2::s_or_b64 => one::<salu::OrB64>(),
        Sop2::s_xor_b32 => one::<salu::XorB32>(),
        Sop2::s_xor_b64 => one::<salu::XorB64>(),
        Sop2::s_andn2_b32 => one::<salu::Andn2B32>(),
        Sop2::s_andn2_b64 => one::<salu::Andn2B64>(),
        Sop2::s_orn2_b32 => one::<salu::Orn2B32>(),
        Sop2::s_orn2_b64 => one::<salu::Orn2B64>(),
        Sop2::s_nand_b32 => one::<salu::NandB32>(),
        Sop2::s_nand_b64 => one::<salu::NandB64>(),
        Sop2::s_nor_b32 => one::<salu::NorB32>(),
        Sop2::s_nor_b64 => one::<salu::NorB64>(),
        Sop2::s_xnor_b32 => one::<salu::XnorB32>(),
        Sop2::s_xnor_b64 => one::<salu::XnorB64>(),
        Sop2::s_lshl_b32 => one::<salu::LshlB32>(),
        Sop2::s_lshl_b64 => one::<salu::LshlB64>(),
        Sop2::s_lshr_b32 => one::<salu::LshrB32>(),
        Sop2::s_lshr_b64 => one::<salu::LshrB64>(),
        Sop2::s_ashr_i32 => one::<salu::AshrI32>(),
        Sop2::s_ashr_i64 => one::<salu::AshrI64>(),
        Sop2::s_bfm_b32 => one::<salu::BfmB32>(),
        Sop2::s_bfm_b64 => one::<salu::BfmB64>(),
        Sop2::s_mul_i32 => one::<salu::MulI32>(),
        Sop2::s_bfe_u32 => one::<salu::BfeU32>(),
        Sop2::s_bfe_i32 => one::<salu::BfeI32>(),
        Sop2::s_bfe_u64 => one::<salu::BfeU64>(),
        Sop2::s_bfe_i64 => one::<salu::BfeI64>(),
        Sop2::s_cbranch_g_fork => one::<fork::GFork>(),
        Sop2::s_absdiff_i32 => one::<salu::AbsdiffI32>(),
        Sop2::s_rfe_restore_b64 => one::<control::Privileged>(),
        Sop2::s_mul_hi_u32 => one::<salu::MulHiU32>(),
        Sop2::s_mul_hi_i32 => one::<salu::MulHiI32>(),
        Sop2::s_lshl1_add_u32 => one::<salu::Lshl1AddU32>(),
        Sop2::s_lshl2_add_u32 => one::<salu::Lshl2AddU32>(),
        Sop2::s_lshl3_add_u32 => one::<salu::Lshl3AddU32>(),
        Sop2::s_lshl4_add_u32 => one::<salu::Lshl4AddU32>(),
        Sop2::s_pack_ll_b32_b16 => one::<salu::PackLl>(),
        Sop2::s_pack_lh_b32_b16 => one::<salu::PackLh>(),
        Sop2::s_pack_hh_b32_b16 => one::<salu::PackHh>(),
        // Instructions of gfx11.
        Sop2::s_pack_hl_b32_b16 | Sop2::s_add_f32 | Sop2::s_sub_f32 | Sop2::s_min_f32 | Sop2::s_max_f32
        | Sop2::s_mul_f32 | Sop2::s_fmaak_f32 | Sop2::s_fmamk_f32 | Sop2::s_fmac_f32
        | Sop2::s_cvt_pk_rtz_f16_f32 | Sop2::s_add_f16 | Sop2::s_sub_f16 | Sop2::s_min_f16 | Sop2::s_max_f16
        | Sop2::s_mul_f16 | Sop2::s_fmac_f16 => Impl::Unimplemented,
    }
}

#[rustfmt::skip]
pub(super) fn sopk(op: Sopk) -> Impl {
    match op {
        Sopk::s_movk_i32 => one::<salu::MovkI32>(),
        Sopk::s_cmovk_i32 => one::<salu::CmovkI32>(),
        Sopk::s_cmpk_eq_i32 => one::<salu::CmpkEqI32>(),
        Sopk::s_cmpk_lg_i32 => one::<salu::CmpkLgI32>(),
        Sopk::s_cmpk_gt_i32 => one::<salu::CmpkGtI32>(),
        Sopk::s_cmpk_ge_i32 => one::<salu::CmpkGeI32>(),
        Sopk::s_cmpk_lt_i32 => one::<salu::CmpkLtI32>(),
        Sopk::s_cmpk_le_i32 => one::<salu::CmpkLeI32>(),
        Sopk::s_cmpk_eq_u32 => one::<salu::CmpkEqU32>(),
        Sopk::s_cmpk_lg_u32 => one::<salu::CmpkLgU32>(),
        Sopk::s_cmpk_gt_u32 => one::<salu::CmpkGtU32>(),
        Sopk::s_cmpk_ge_u32 => one::<salu::CmpkGeU32>(),
        Sopk::s_cmpk_lt_u32 => one::<salu::CmpkLtU32>(),
        Sopk::s_cmpk_le_u32 => one::<salu::CmpkLeU32>(),
        Sopk::s_addk_i32 => one::<salu::AddkI32>(),
        Sopk::s_mulk_i32 => one::<salu::MulkI32>(),
        Sopk::s_cbranch_i_fork => one::<fork::IFork>(),
        Sopk::s_getreg_b32 => one::<hwreg::Getreg>(),
        Sopk::s_setreg_b32 => one::<hwreg::Setreg>(),
        Sopk::s_setreg_imm32_b32 => one::<hwreg::SetregImm>(),
        Sopk::s_call_b64 => one::<control::Call>(),
        // Instructions of gfx11.
        Sopk::s_version | Sopk::s_subvector_loop_begin | Sopk::s_subvector_loop_end | Sopk::s_waitcnt_vscnt
        | Sopk::s_waitcnt_vmcnt | Sopk::s_waitcnt_expcnt | Sopk::s_waitcnt_lgkmcnt => Impl::Unimplemented,
    }
}

#[rustfmt::skip]
pub(super) fn sopc(op: Sopc) -> Impl {
    match op {
        Sopc::s_cmp_eq_i32 => one::<salu::CmpEqI32>(),
        Sopc::s_cmp_lg_i32 => one::<salu::CmpLgI32>(),
        Sopc::s_cmp_gt_i32 => one::<salu::CmpGtI32>(),
        Sopc::s_cmp_ge_i32 => one::<salu::CmpGeI32>(),
        Sopc::s_cmp_lt_i32 => one::<salu::CmpLtI32>(),
        Sopc::s_cmp_le_i32 => one::<salu::CmpLeI32>(),
        Sopc::s_cmp_eq_u32 => one::<salu::CmpEqU32>(),
        Sopc::s_cmp_lg_u32 => one::<salu::CmpLgU32>(),
        Sopc::s_cmp_gt_u32 => one::<salu::CmpGtU32>(),
        Sopc::s_cmp_ge_u32 => one::<salu::CmpGeU32>(),
        Sopc::s_cmp_lt_u32 => one::<salu::CmpLtU32>(),
        Sopc::s_cmp_le_u32 => one::<salu::CmpLeU32>(),
        Sopc::s_bitcmp0_b32 => one::<salu::Bitcmp0B32>(),
        Sopc::s_bitcmp1_b32 => one::<salu::Bitcmp1B32>(),
        Sopc::s_bitcmp0_b64 => one::<salu::Bitcmp0B64>(),
        Sopc::s_bitcmp1_b64 => one::<salu::Bitcmp1B64>(),
        Sopc::s_setvskip => one::<altered::Setvskip>(),
        Sopc::s_set_gpr_idx_on => one::<altered::GprIdxOn>(),
        Sopc::s_cmp_eq_u64 => one::<salu::CmpEqU64>(),
        Sopc::s_cmp_lg_u64 => one::<salu::CmpLgU64>(),
        // Instructions of gfx11.
        Sopc::s_cmp_lt_f32 | Sopc::s_cmp_eq_f32 | Sopc::s_cmp_le_f32 | Sopc::s_cmp_gt_f32
        | Sopc::s_cmp_lg_f32 | Sopc::s_cmp_ge_f32 | Sopc::s_cmp_o_f32 | Sopc::s_cmp_u_f32
        | Sopc::s_cmp_nge_f32 | Sopc::s_cmp_nlg_f32 | Sopc::s_cmp_ngt_f32 | Sopc::s_cmp_nle_f32
        | Sopc::s_cmp_neq_f32 | Sopc::s_cmp_nlt_f32 | Sopc::s_cmp_lt_f16 | Sopc::s_cmp_eq_f16
        | Sopc::s_cmp_le_f16 | Sopc::s_cmp_gt_f16 | Sopc::s_cmp_lg_f16 | Sopc::s_cmp_ge_f16
        | Sopc::s_cmp_o_f16 | Sopc::s_cmp_u_f16 | Sopc::s_cmp_nge_f16 | Sopc::s_cmp_nlg_f16
        | Sopc::s_cmp_ngt_f16 | Sopc::s_cmp_nle_f16 | Sopc::s_cmp_neq_f16 | Sopc::s_cmp_nlt_f16 => Impl::Unimplemented,
    }
}

#[rustfmt::skip]
pub(super) fn sopp(op: Sopp) -> Impl {
    match op {
        Sopp::s_nop => one::<control::Nop>(),
        Sopp::s_endpgm => one::<control::Endpgm>(),
        Sopp::s_branch => one::<control::Branch>(),
        Sopp::s_wakeup => one::<control::Nop>(),
        Sopp::s_cbranch_scc0 => one::<control::CbranchScc0>(),
        Sopp::s_cbranch_scc1 => one::<control::CbranchScc1>(),
        Sopp::s_cbranch_vccz => one::<control::CbranchVccz>(),
        Sopp::s_cbranch_vccnz => one::<control::CbranchVccnz>(),
        Sopp::s_cbranch_execz => one::<control::CbranchExecz>(),
        Sopp::s_cbranch_execnz => one::<control::CbranchExecnz>(),
        Sopp::s_barrier => one::<control::Barrier>(),
        Sopp::s_setkill => one::<control::Setkill>(),
        Sopp::s_waitcnt => one::<control::Nop>(),
        Sopp::s_sethalt => one::<control::Sethalt>(),
        Sopp::s_sleep => one::<control::GiveWay>(),
        Sopp::s_setprio => one::<control::Nop>(),
        Sopp::s_sendmsg => one::<control::Sendmsg>(),
        Sopp::s_sendmsghalt => one::<control::Sendmsghalt>(),
        Sopp::s_trap => one::<control::Trap>(),
        Sopp::s_icache_inv => one::<control::Nop>(),
        Sopp::s_incperflevel => one::<control::Nop>(),
        Sopp::s_decperflevel => one::<control::Nop>(),
        Sopp::s_ttracedata => one::<control::Nop>(),
        Sopp::s_cbranch_cdbgsys => one::<control::Nop>(),
        Sopp::s_cbranch_cdbguser => one::<control::Nop>(),
        Sopp::s_cbranch_cdbgsys_or_user => one::<control::Nop>(),
        Sopp::s_cbranch_cdbgsys_and_user => one::<control::Nop>(),
        Sopp::s_endpgm_saved => one::<control::Endpgm>(),
        Sopp::s_set_gpr_idx_off => one::<altered::GprIdxOff>(),
        Sopp::s_set_gpr_idx_mode => one::<altered::GprIdxMode>(),
        Sopp::s_endpgm_ordered_ps_done => one::<control::Endpgm>(),
        Sopp::s_set_valu_coexec_mode => one::<control::Nop>(),
        // Instructions of gfx11.
        Sopp::s_set_inst_prefetch_distance | Sopp::s_clause | Sopp::s_delay_alu | Sopp::s_waitcnt_depctr
        | Sopp::s_wait_idle | Sopp::s_wait_event | Sopp::s_round_mode | Sopp::s_denorm_mode
        | Sopp::s_code_end | Sopp::s_ttracedata_imm => Impl::Unimplemented,
    }
}
