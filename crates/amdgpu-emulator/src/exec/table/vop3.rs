//! Executors of VOP3 instructions that have no shorter form.

use amdgpu_isa::{Target, Vop3};

use super::notation::*;
use crate::exec::arith::*;
use crate::exec::bits::*;
use crate::exec::carry::*;
use crate::exec::convert::*;
use crate::exec::divide::*;
use crate::exec::exchange::{Permlane, PermlaneVar};
use crate::exec::halves::CvtPk;
use crate::exec::integer::*;
use crate::exec::level::{columns, two_columns};
use crate::exec::media::*;
use crate::exec::number::half16::Half;
use crate::exec::scalar_op::ScalarTrans;
use crate::exec::scaled::Convert;
use crate::exec::transcendental::*;
use crate::exec::vop3::{self, *};
use crate::exec::vop3p::{Dot2Bf16Bf16, Dot2F16F16};

/// Returns whether floats of 8 bits have the formats of the Open Compute Project.
pub(super) fn has_ocp(target: Target) -> bool {
    target == Target::Gfx950 || target.is_gfx12()
}

#[rustfmt::skip]
pub(super) fn vop3(op: Vop3, target: Target) -> Impl {
    match op {
        Vop3::v_min3_f32 if target.is_rdna() => op3::<Kept<Min3<f32>>>(),
        Vop3::v_max3_f32 if target.is_rdna() => op3::<Kept<Max3<f32>>>(),
        Vop3::v_med3_f32 if target.is_rdna() => op3::<Kept<Med3<f32>>>(),
        Vop3::v_min3_f16 if target.is_rdna() => half::<Kept<Min3<Half>>>(),
        Vop3::v_max3_f16 if target.is_rdna() => half::<Kept<Max3<Half>>>(),
        Vop3::v_med3_f16 if target.is_rdna() => half::<Kept<Med3<Half>>>(),
        Vop3::v_min_f64 if target.is_rdna() => op2::<Kept<Min<f64>>>(),
        Vop3::v_max_f64 if target.is_rdna() => op2::<Kept<Max<f64>>>(),
        Vop3::v_minimum3_f32 if target.is_gfx12() => op3::<Kept<Minimum3<f32>>>(),
        Vop3::v_maximum3_f32 if target.is_gfx12() => op3::<Kept<Maximum3<f32>>>(),
        Vop3::v_mad_legacy_f32 => rare3::<MadLegacyF32>(),
        Vop3::v_mad_f32 => op3::<MadF32>(),
        Vop3::v_mad_i32_i24 => hot_sat3::<MadI32I24, MadI32I24Clamp>(),
        Vop3::v_mad_u32_u24 => hot_sat3::<MadU32U24, MadU32U24Clamp>(),
        Vop3::v_cubeid_f32 => rare3::<CubeidF32>(),
        Vop3::v_cubesc_f32 => rare3::<CubescF32>(),
        Vop3::v_cubetc_f32 => rare3::<CubetcF32>(),
        Vop3::v_cubema_f32 => rare3::<CubemaF32>(),
        Vop3::v_bfe_u32 => hot3::<BfeU32>(),
        Vop3::v_bfe_i32 => op3::<BfeI32>(),
        Vop3::v_bfi_b32 => hot3::<BfiB32>(),
        Vop3::v_fma_f32 => signed3::<Fma<f32>>(),
        Vop3::v_fma_f64 => signed3::<Fma<f64>>(),
        Vop3::v_lerp_u8 => rare3::<LerpU8>(),
        Vop3::v_alignbit_b32 => hot3::<AlignbitB32>(),
        Vop3::v_alignbyte_b32 => rare3::<AlignbyteB32>(),
        Vop3::v_min3_f32 => op3::<Min3<f32>>(),
        Vop3::v_min3_i32 => op3::<Min3I32>(),
        Vop3::v_min3_u32 => op3::<Min3U32>(),
        Vop3::v_max3_f32 => op3::<Max3<f32>>(),
        Vop3::v_max3_i32 => op3::<Max3I32>(),
        Vop3::v_max3_u32 => op3::<Max3U32>(),
        Vop3::v_med3_f32 => op3::<Med3<f32>>(),
        Vop3::v_med3_i32 => op3::<Med3I32>(),
        Vop3::v_med3_u32 => op3::<Med3U32>(),
        Vop3::v_sad_u8 => rare_sat3::<SadU8, SadU8Clamp>(),
        Vop3::v_sad_hi_u8 => rare_sat3::<SadHiU8, SadHiU8Clamp>(),
        Vop3::v_sad_u16 => rare_sat3::<SadU16, SadU16Clamp>(),
        Vop3::v_sad_u32 => rare_sat3::<SadU32, SadU32Clamp>(),
        Vop3::v_cvt_pk_u8_f32 => rare3::<CvtPkU8F32>(),
        Vop3::v_div_fixup_f32 => op3::<DivFixup<f32>>(),
        Vop3::v_div_fixup_f64 => op3::<DivFixup<f64>>(),
        Vop3::v_div_scale_f32 => flag::<DivScale<f32>>(),
        Vop3::v_div_scale_f64 => flag::<DivScale<f64>>(),
        Vop3::v_div_fmas_f32 => lanes(const { &[(0, columns::<DivFmas<f32>>())] }),
        Vop3::v_div_fmas_f64 => lanes(const { &[(0, columns::<DivFmas<f64>>())] }),
        Vop3::v_msad_u8 => rare_sat3::<MsadU8, MsadU8Clamp>(),
        Vop3::v_qsad_pk_u16_u8 => rare_sat3::<QsadPkU16U8, QsadPkU16U8Clamp>(),
        Vop3::v_mqsad_pk_u16_u8 => rare_sat3::<MqsadPkU16U8, MqsadPkU16U8Clamp>(),
        Vop3::v_mqsad_u32_u8 => lanes_sat(
            const { &[(0, two_columns::<MqsadU32U8<false>>())] },
            const { &[(0, two_columns::<MqsadU32U8<true>>())] },
        ),
        Vop3::v_mad_u64_u32 => lanes_sat(FormsFlag::<MadU64U32>::F, FormsFlag::<MadU64U32Clamp>::RARE),
        Vop3::v_mad_i64_i32 => lanes_sat(FormsFlag::<MadI64I32>::RARE, FormsFlag::<MadI64I32Clamp>::RARE),
        Vop3::v_mad_legacy_f16 => half::<Mad<Half>>(),
        Vop3::v_mad_legacy_u16 => sat3::<MadU16, MadU16Clamp>(),
        Vop3::v_mad_legacy_i16 => sat3::<MadU16, MadI16Clamp>(),
        Vop3::v_perm_b32 => lanes(PERM),
        Vop3::v_fma_legacy_f16 => half::<Fma<Half>>(),
        Vop3::v_div_fixup_legacy_f16 => rare3::<DivFixupF16>(),
        Vop3::v_cvt_pkaccum_u8_f32 => rare3::<CvtPkU8F32>(),
        Vop3::v_mad_u32_u16 => sat3::<MadU32U16, MadU32U16Clamp>(),
        Vop3::v_mad_i32_i16 => sat3::<MadI32I16, MadI32I16Clamp>(),
        Vop3::v_xad_u32 => hot3::<XadU32>(),
        Vop3::v_min3_f16 => half::<Min3<Half>>(),
        Vop3::v_min3_i16 => rare3::<Min3I16>(),
        Vop3::v_min3_u16 => rare3::<Min3U16>(),
        Vop3::v_max3_f16 => half::<Max3<Half>>(),
        Vop3::v_max3_i16 => rare3::<Max3I16>(),
        Vop3::v_max3_u16 => rare3::<Max3U16>(),
        Vop3::v_med3_f16 => half::<Med3<Half>>(),
        Vop3::v_med3_i16 => rare3::<Med3I16>(),
        Vop3::v_med3_u16 => rare3::<Med3U16>(),
        Vop3::v_lshl_add_u32 => hot3::<LshlAddU32>(),
        Vop3::v_add_lshl_u32 => hot3::<AddLshlU32>(),
        Vop3::v_add3_u32 => hot3::<Add3U32>(),
        Vop3::v_lshl_or_b32 => hot3::<LshlOrB32>(),
        Vop3::v_and_or_b32 => hot3::<AndOrB32>(),
        Vop3::v_or3_b32 => hot3::<Or3B32>(),
        Vop3::v_mad_f16 => half::<Mad<Half>>(),
        Vop3::v_mad_u16 => sat3::<MadU16, MadU16Clamp>(),
        Vop3::v_mad_i16 => sat3::<MadU16, MadI16Clamp>(),
        Vop3::v_fma_f16 => half::<Fma<Half>>(),
        Vop3::v_div_fixup_f16 => rare3::<DivFixupF16>(),
        Vop3::v_lshl_add_u64 => hot3::<LshlAddU64>(),
        Vop3::v_add_f64 => signed2::<Add<f64>>(),
        Vop3::v_mul_f64 => signed2::<Mul<f64>>(),
        Vop3::v_min_f64 => op2::<Min<f64>>(),
        Vop3::v_max_f64 => op2::<Max<f64>>(),
        Vop3::v_ldexp_f64 => op2::<LdexpF64>(),
        Vop3::v_mul_lo_u32 => hot2::<MulLoU32>(),
        Vop3::v_mul_hi_u32 => hot2::<MulHiU32>(),
        Vop3::v_mul_hi_i32 => op2::<MulHiI32>(),
        Vop3::v_ldexp_f32 => op2::<LdexpF32>(),
        Vop3::v_readlane_b32 => one::<Readlane>(),
        Vop3::v_writelane_b32 => one::<Writelane>(),
        Vop3::v_bcnt_u32_b32 => op2::<BcntU32B32>(),
        Vop3::v_mbcnt_lo_u32_b32 => lanes(MBCNT_LO),
        Vop3::v_mbcnt_hi_u32_b32 => lanes(MBCNT_HI),
        Vop3::v_lshlrev_b64 => hot2::<LshlrevB64>(),
        Vop3::v_lshrrev_b64 => hot2::<LshrrevB64>(),
        Vop3::v_ashrrev_i64 => op2::<AshrrevI64>(),
        Vop3::v_trig_preop_f64 => rare2::<TrigPreopF64>(),
        Vop3::v_bfm_b32 => op2::<BfmB32>(),
        Vop3::v_cvt_pknorm_i16_f32 => rare2::<CvtPknormI16F32>(),
        Vop3::v_cvt_pknorm_u16_f32 => rare2::<CvtPknormU16F32>(),
        Vop3::v_cvt_pkrtz_f16_f32 => lanes(CvtPk::<CvtPkrtzF16F32, true>::FORMS),
        Vop3::v_cvt_pk_u16_u32 => rare2::<CvtPkU16U32>(),
        Vop3::v_cvt_pk_i16_i32 => rare2::<CvtPkI16I32>(),
        Vop3::v_cvt_pknorm_i16_f16 => rare2::<CvtPknormI16F16>(),
        Vop3::v_cvt_pknorm_u16_f16 => rare2::<CvtPknormU16F16>(),
        Vop3::v_add_i32 => sat2::<AddU32, AddI32Clamp>(),
        Vop3::v_sub_i32 => sat2::<SubU32, SubI32Clamp>(),
        Vop3::v_add_i16 => sat2::<AddU16, AddI16Clamp>(),
        Vop3::v_sub_i16 => sat2::<SubU16, SubI16Clamp>(),
        Vop3::v_pack_b32_f16 => op2::<PackB32F16>(),
        Vop3::v_mul_legacy_f32 => rare2::<MulLegacyF32>(),
        Vop3::v_cvt_pk_fp8_f32 if has_ocp(target) => rare2::<CvtPkOcpFp8F32>(),
        Vop3::v_cvt_pk_fp8_f32 => rare2::<CvtPkFp8F32>(),
        Vop3::v_cvt_pk_bf8_f32 if has_ocp(target) => rare2::<CvtPkOcpBf8F32>(),
        Vop3::v_cvt_pk_bf8_f32 => rare2::<CvtPkBf8F32>(),
        Vop3::v_cvt_sr_fp8_f32 if has_ocp(target) => rare2::<CvtSrOcpFp8F32>(),
        Vop3::v_cvt_sr_fp8_f32 => rare2::<CvtSrFp8F32>(),
        Vop3::v_cvt_sr_bf8_f32 if has_ocp(target) => rare2::<CvtSrOcpBf8F32>(),
        Vop3::v_cvt_sr_bf8_f32 => rare2::<CvtSrBf8F32>(),
        Vop3::v_bitop3_b16 => plain::<vop3::Bitop3<true>>(),
        Vop3::v_bitop3_b32 => plain::<vop3::Bitop3<false>>(),
        Vop3::v_ashr_pk_i8_i32 => op3::<AshrPkI8I32>(),
        Vop3::v_ashr_pk_u8_i32 => op3::<AshrPkU8I32>(),
        Vop3::v_cvt_pk_f16_f32 => lanes(CvtPk::<CvtPkF16F32, false>::FORMS),
        Vop3::v_cvt_pk_bf16_f32 => hot2::<CvtPkBf16F32>(),
        Vop3::v_cvt_sr_f16_f32 => op2::<CvtSrF16F32>(),
        Vop3::v_cvt_sr_bf16_f32 => op2::<CvtSrBf16F32>(),
        Vop3::v_minimum3_f32 => op3::<Minimum3<f32>>(),
        Vop3::v_maximum3_f32 => op3::<Maximum3<f32>>(),
        Vop3::v_cvt_scalef32_pk_fp8_f32
        | Vop3::v_cvt_scalef32_pk_bf8_f32
        | Vop3::v_cvt_scalef32_sr_fp8_f32
        | Vop3::v_cvt_scalef32_sr_bf8_f32
        | Vop3::v_cvt_scalef32_pk_f32_fp8
        | Vop3::v_cvt_scalef32_pk_f32_bf8
        | Vop3::v_cvt_scalef32_f32_fp8
        | Vop3::v_cvt_scalef32_f32_bf8
        | Vop3::v_cvt_scalef32_pk_fp4_f32
        | Vop3::v_cvt_scalef32_sr_pk_fp4_f32
        | Vop3::v_cvt_scalef32_pk_f32_fp4
        | Vop3::v_cvt_scalef32_pk_fp8_f16
        | Vop3::v_cvt_scalef32_pk_bf8_f16
        | Vop3::v_cvt_scalef32_sr_fp8_f16
        | Vop3::v_cvt_scalef32_sr_bf8_f16
        | Vop3::v_cvt_scalef32_pk_fp8_bf16
        | Vop3::v_cvt_scalef32_pk_bf8_bf16
        | Vop3::v_cvt_scalef32_sr_fp8_bf16
        | Vop3::v_cvt_scalef32_sr_bf8_bf16
        | Vop3::v_cvt_scalef32_pk_f16_fp8
        | Vop3::v_cvt_scalef32_pk_f16_bf8
        | Vop3::v_cvt_scalef32_f16_fp8
        | Vop3::v_cvt_scalef32_f16_bf8
        | Vop3::v_cvt_scalef32_pk_fp4_f16
        | Vop3::v_cvt_scalef32_pk_fp4_bf16
        | Vop3::v_cvt_scalef32_sr_pk_fp4_f16
        | Vop3::v_cvt_scalef32_sr_pk_fp4_bf16
        | Vop3::v_cvt_scalef32_pk_f16_fp4
        | Vop3::v_cvt_scalef32_pk_bf16_fp4
        | Vop3::v_cvt_scalef32_2xpk16_fp6_f32
        | Vop3::v_cvt_scalef32_2xpk16_bf6_f32
        | Vop3::v_cvt_scalef32_sr_pk32_fp6_f32
        | Vop3::v_cvt_scalef32_sr_pk32_bf6_f32
        | Vop3::v_cvt_scalef32_pk32_f32_fp6
        | Vop3::v_cvt_scalef32_pk32_f32_bf6
        | Vop3::v_cvt_scalef32_pk32_fp6_f16
        | Vop3::v_cvt_scalef32_pk32_fp6_bf16
        | Vop3::v_cvt_scalef32_pk32_bf6_f16
        | Vop3::v_cvt_scalef32_pk32_bf6_bf16
        | Vop3::v_cvt_scalef32_sr_pk32_fp6_f16
        | Vop3::v_cvt_scalef32_sr_pk32_fp6_bf16
        | Vop3::v_cvt_scalef32_sr_pk32_bf6_f16
        | Vop3::v_cvt_scalef32_sr_pk32_bf6_bf16
        | Vop3::v_cvt_scalef32_pk32_f16_fp6
        | Vop3::v_cvt_scalef32_pk32_bf16_fp6
        | Vop3::v_cvt_scalef32_pk32_f16_bf6
        | Vop3::v_cvt_scalef32_pk32_bf16_bf6
        | Vop3::v_cvt_scalef32_pk_bf16_fp8
        | Vop3::v_cvt_scalef32_pk_bf16_bf8 => Impl::Plain(two_columns::<Convert>()),
        // Instructions of gfx11.
        Vop3::v_fma_dx9_zero_f32 => rare3::<FmaDx9ZeroF32>(),
        Vop3::v_mullit_f32 => rare3::<MullitF32>(),
        Vop3::v_xor3_b32 => op3::<Xor3B32>(),
        Vop3::v_permlane16_b32 => one::<Permlane<false>>(),
        Vop3::v_permlanex16_b32 => one::<Permlane<true>>(),
        Vop3::v_cndmask_b16 => lanes(CNDMASK),
        Vop3::v_maxmin_f32 => rare3::<Kept<MaxMin<f32>>>(),
        Vop3::v_minmax_f32 => rare3::<Kept<MinMax<f32>>>(),
        Vop3::v_maxmin_f16 => half::<Kept<MaxMin<Half>>>(),
        Vop3::v_minmax_f16 => half::<Kept<MinMax<Half>>>(),
        Vop3::v_maxmin_u32 => rare3::<MaxMinU32>(),
        Vop3::v_minmax_u32 => rare3::<MinMaxU32>(),
        Vop3::v_maxmin_i32 => rare3::<MaxMinI32>(),
        Vop3::v_minmax_i32 => rare3::<MinMaxI32>(),
        Vop3::v_dot2_f16_f16 => rare3::<Dot2F16F16>(),
        Vop3::v_dot2_bf16_bf16 => rare3::<Dot2Bf16Bf16>(),
        Vop3::v_cvt_pk_i16_f32 => rare2::<CvtPkI16F32>(),
        Vop3::v_cvt_pk_u16_f32 => rare2::<CvtPkU16F32>(),
        Vop3::v_and_b16 => hot2::<AndB32>(),
        Vop3::v_or_b16 => hot2::<OrB32>(),
        Vop3::v_xor_b16 => hot2::<XorB32>(),
        // Instructions of gfx12.
        Vop3::v_minimum3_f16 => half::<Kept<Minimum3<Half>>>(),
        Vop3::v_maximum3_f16 => half::<Kept<Maximum3<Half>>>(),
        Vop3::v_minimummaximum_f32 => rare3::<Kept<MinimumMaximum<f32>>>(),
        Vop3::v_maximumminimum_f32 => rare3::<Kept<MaximumMinimum<f32>>>(),
        Vop3::v_minimummaximum_f16 => half::<Kept<MinimumMaximum<Half>>>(),
        Vop3::v_maximumminimum_f16 => half::<Kept<MaximumMinimum<Half>>>(),
        Vop3::v_minimum_f64 => rare2::<Kept<Minimum<f64>>>(),
        Vop3::v_maximum_f64 => rare2::<Kept<Maximum<f64>>>(),
        Vop3::v_minimum_f32 => op2::<Kept<Minimum<f32>>>(),
        Vop3::v_maximum_f32 => op2::<Kept<Maximum<f32>>>(),
        Vop3::v_minimum_f16 => half::<Kept<Minimum<Half>>>(),
        Vop3::v_maximum_f16 => half::<Kept<Maximum<Half>>>(),
        Vop3::v_s_exp_f32 => one::<ScalarTrans<ExpF32>>(),
        Vop3::v_s_exp_f16 => one::<ScalarTrans<ExpF16>>(),
        Vop3::v_s_log_f32 => one::<ScalarTrans<LogF32>>(),
        Vop3::v_s_log_f16 => one::<ScalarTrans<LogF16>>(),
        Vop3::v_s_rcp_f32 => one::<ScalarTrans<RcpF32>>(),
        Vop3::v_s_rcp_f16 => one::<ScalarTrans<RcpF16>>(),
        Vop3::v_s_rsq_f32 => one::<ScalarTrans<RsqF32>>(),
        Vop3::v_s_rsq_f16 => one::<ScalarTrans<RsqF16>>(),
        Vop3::v_s_sqrt_f32 => one::<ScalarTrans<SqrtF32>>(),
        Vop3::v_s_sqrt_f16 => one::<ScalarTrans<SqrtF16>>(),
        Vop3::v_permlane16_var_b32 => one::<PermlaneVar<false>>(),
        Vop3::v_permlanex16_var_b32 => one::<PermlaneVar<true>>(),
    }
}
