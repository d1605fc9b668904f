//! Executors of VOP3P instructions: packed arithmetic, mixed precision, dot products, matrices.

use amdgpu_isa::{Target, Vop3p};

use super::notation::*;
use crate::exec::arith::{Add, Fma, Kept, Max, Maximum, Maximum3, Min, Minimum, Minimum3, Mul};
use crate::exec::inst::Exec;
use crate::exec::level::{two_columns, with_f16c};
use crate::exec::matrix::{Mfma, MfmaF64, Smfmac};
use crate::exec::matrix_arith as mx;
use crate::exec::matrix_scaled::{LoadScales, MfmaScaled};
use crate::exec::number::half16::{F16c, Half, InLoops};
use crate::exec::packed::{Halves, Pairs, Three, Two};
use crate::exec::swmmac::{self, SwmmacF32, SwmmacHalf, SwmmacI32};
use crate::exec::vop3p::*;
use crate::exec::wmma::{BF8, Bf16, F8, F16, Gfx11, Gfx12, WmmaF8, WmmaF32, WmmaHalf, WmmaI32};

/// For matrices of unusual shape. AVX-512 uses the copy for AVX2, as each copy is large.
const fn rare<X: Exec>() -> Impl {
    Impl::Plain(two_columns::<X>())
}

/// For what `Y` computes with F16C, and `X` without.
const fn f16c<X: Exec, Y: Exec>() -> Impl {
    Impl::Plain(with_f16c::<X, Y>())
}

pub(super) fn vop3p(op: Vop3p, target: Target) -> Impl {
    if target == Target::Gfx950 {
        return gfx950(op).unwrap_or_else(|| common(op));
    }
    if target.is_gfx12()
        && let Some(executors) = gfx12(op)
    {
        return executors;
    }
    match op {
        Vop3p::v_pk_min_f16 if target.is_rdna() => packed_half::<Two<Kept<Min<Half>>>, Kept<Min<Half>>>(),
        Vop3p::v_pk_max_f16 if target.is_rdna() => packed_half::<Two<Kept<Max<Half>>>, Kept<Max<Half>>>(),
        Vop3p::v_dot2_f32_f16 if target.is_rdna() => {
            f16c::<DotF16<false, true, InLoops>, DotF16<false, true, F16c>>()
        }
        _ => common(op),
    }
}

/// Returns the executors of the instructions that gfx950 has alone, or in which it has its own formats of 8 bits.
#[rustfmt::skip]
fn gfx950(op: Vop3p) -> Option<Impl> {
    Some(match op {
        Vop3p::v_mfma_f32_16x16x32_bf8_bf8 => plain::<Mfma<mx::Ocp, 16, 1, 8>>(),
        Vop3p::v_mfma_f32_16x16x32_bf8_fp8 => plain::<Mfma<mx::Ocp, 16, 1, 8>>(),
        Vop3p::v_mfma_f32_16x16x32_fp8_bf8 => plain::<Mfma<mx::Ocp, 16, 1, 8>>(),
        Vop3p::v_mfma_f32_16x16x32_fp8_fp8 => plain::<Mfma<mx::Ocp, 16, 1, 8>>(),
        Vop3p::v_mfma_f32_32x32x16_bf8_bf8 => plain::<Mfma<mx::Ocp, 32, 1, 8>>(),
        Vop3p::v_mfma_f32_32x32x16_bf8_fp8 => plain::<Mfma<mx::Ocp, 32, 1, 8>>(),
        Vop3p::v_mfma_f32_32x32x16_fp8_bf8 => plain::<Mfma<mx::Ocp, 32, 1, 8>>(),
        Vop3p::v_mfma_f32_32x32x16_fp8_fp8 => plain::<Mfma<mx::Ocp, 32, 1, 8>>(),
        Vop3p::v_smfmac_f32_16x16x64_bf8_bf8 => rare::<Smfmac<mx::Ocp, 16, 8, 16, false>>(),
        Vop3p::v_smfmac_f32_16x16x64_bf8_fp8 => rare::<Smfmac<mx::Ocp, 16, 8, 16, false>>(),
        Vop3p::v_smfmac_f32_16x16x64_fp8_bf8 => rare::<Smfmac<mx::Ocp, 16, 8, 16, false>>(),
        Vop3p::v_smfmac_f32_16x16x64_fp8_fp8 => rare::<Smfmac<mx::Ocp, 16, 8, 16, false>>(),
        Vop3p::v_smfmac_f32_32x32x32_bf8_bf8 => rare::<Smfmac<mx::Ocp, 32, 8, 16, false>>(),
        Vop3p::v_smfmac_f32_32x32x32_bf8_fp8 => rare::<Smfmac<mx::Ocp, 32, 8, 16, false>>(),
        Vop3p::v_smfmac_f32_32x32x32_fp8_bf8 => rare::<Smfmac<mx::Ocp, 32, 8, 16, false>>(),
        Vop3p::v_smfmac_f32_32x32x32_fp8_fp8 => rare::<Smfmac<mx::Ocp, 32, 8, 16, false>>(),
        Vop3p::v_dot2_f32_bf16 => plain::<DotBf16>(),
        Vop3p::v_pk_minimum3_f16 => packed_half::<Three<Minimum3<Half>>, Minimum3<Half>>(),
        Vop3p::v_pk_maximum3_f16 => packed_half::<Three<Maximum3<Half>>, Maximum3<Half>>(),
        Vop3p::v_mfma_ld_scale_b32 => plain::<LoadScales>(),
        Vop3p::v_mfma_f32_16x16x128_f8f6f4 => plain::<MfmaScaled<16>>(),
        Vop3p::v_mfma_f32_32x32x64_f8f6f4 => plain::<MfmaScaled<32>>(),
        Vop3p::v_mfma_f32_16x16x32_bf16 => plain::<Mfma<mx::Truncated<mx::Bf16, 8>, 16, 1, 8>>(),
        Vop3p::v_mfma_i32_16x16x64_i8 => plain::<Mfma<mx::Int8, 16, 1, 16>>(),
        Vop3p::v_mfma_f32_32x32x16_bf16 => plain::<Mfma<mx::Truncated<mx::Bf16, 8>, 32, 1, 8>>(),
        Vop3p::v_mfma_i32_32x32x32_i8 => plain::<Mfma<mx::Int8, 32, 1, 16>>(),
        Vop3p::v_smfmac_f32_16x16x64_bf16 => rare::<Smfmac<mx::Truncated<mx::Bf16, 8>, 16, 8, 16, true>>(),
        Vop3p::v_smfmac_i32_16x16x128_i8 => rare::<Smfmac<mx::Int8, 16, 16, 32, true>>(),
        Vop3p::v_smfmac_f32_16x16x128_bf8_bf8 => rare::<Smfmac<mx::Ocp, 16, 16, 32, true>>(),
        Vop3p::v_smfmac_f32_16x16x128_bf8_fp8 => rare::<Smfmac<mx::Ocp, 16, 16, 32, true>>(),
        Vop3p::v_smfmac_f32_16x16x128_fp8_bf8 => rare::<Smfmac<mx::Ocp, 16, 16, 32, true>>(),
        Vop3p::v_smfmac_f32_16x16x128_fp8_fp8 => rare::<Smfmac<mx::Ocp, 16, 16, 32, true>>(),
        Vop3p::v_smfmac_f32_32x32x32_bf16 => rare::<Smfmac<mx::Truncated<mx::Bf16, 8>, 32, 8, 16, true>>(),
        Vop3p::v_smfmac_i32_32x32x64_i8 => rare::<Smfmac<mx::Int8, 32, 16, 32, true>>(),
        Vop3p::v_smfmac_f32_32x32x64_bf8_bf8 => rare::<Smfmac<mx::Ocp, 32, 16, 32, true>>(),
        Vop3p::v_smfmac_f32_32x32x64_bf8_fp8 => rare::<Smfmac<mx::Ocp, 32, 16, 32, true>>(),
        Vop3p::v_smfmac_f32_32x32x64_fp8_bf8 => rare::<Smfmac<mx::Ocp, 32, 16, 32, true>>(),
        Vop3p::v_smfmac_f32_32x32x64_fp8_fp8 => rare::<Smfmac<mx::Ocp, 32, 16, 32, true>>(),
        Vop3p::v_mfma_f32_16x16x32_f16 => plain::<Mfma<mx::Truncated<mx::F16, 8>, 16, 1, 8>>(),
        Vop3p::v_mfma_f32_32x32x16_f16 => plain::<Mfma<mx::Truncated<mx::F16, 8>, 32, 1, 8>>(),
        Vop3p::v_smfmac_f32_16x16x64_f16 => rare::<Smfmac<mx::Truncated<mx::F16, 8>, 16, 8, 16, true>>(),
        Vop3p::v_smfmac_f32_32x32x32_f16 => rare::<Smfmac<mx::Truncated<mx::F16, 8>, 32, 8, 16, true>>(),
        _ => return None,
    })
}

/// For instructions that only gfx950 has.
const ELSEWHERE: Impl = Impl::Unimplemented;

#[rustfmt::skip]
fn common(op: Vop3p) -> Impl {
    match op {
        Vop3p::v_pk_mad_i16 => plain::<Halves<PkMadI16>>(),
        Vop3p::v_pk_mul_lo_u16 => plain::<Halves<PkMulLoU16>>(),
        Vop3p::v_pk_add_i16 => plain::<Halves<PkAddI16>>(),
        Vop3p::v_pk_sub_i16 => plain::<Halves<PkSubI16>>(),
        Vop3p::v_pk_lshlrev_b16 => plain::<Halves<PkLshlrevB16>>(),
        Vop3p::v_pk_lshrrev_b16 => plain::<Halves<PkLshrrevB16>>(),
        Vop3p::v_pk_ashrrev_i16 => plain::<Halves<PkAshrrevI16>>(),
        Vop3p::v_pk_max_i16 => plain::<Halves<PkMaxI16>>(),
        Vop3p::v_pk_min_i16 => plain::<Halves<PkMinI16>>(),
        Vop3p::v_pk_mad_u16 => plain::<Halves<PkMadU16>>(),
        Vop3p::v_pk_add_u16 => plain::<Halves<PkAddU16>>(),
        Vop3p::v_pk_sub_u16 => plain::<Halves<PkSubU16>>(),
        Vop3p::v_pk_max_u16 => plain::<Halves<PkMaxU16>>(),
        Vop3p::v_pk_min_u16 => plain::<Halves<PkMinU16>>(),
        Vop3p::v_pk_fma_f16 => packed_half::<Three<Fma<Half>>, Fma<Half>>(),
        Vop3p::v_pk_add_f16 => packed_half::<Two<Add<Half>>, Add<Half>>(),
        Vop3p::v_pk_mul_f16 => packed_half::<Two<Mul<Half>>, Mul<Half>>(),
        Vop3p::v_pk_min_f16 => packed_half::<Two<Min<Half>>, Min<Half>>(),
        Vop3p::v_pk_max_f16 => packed_half::<Two<Max<Half>>, Max<Half>>(),
        Vop3p::v_fma_mix_f32 => f16c::<FmaMix<MIX_F32, InLoops>, FmaMix<MIX_F32, F16c>>(),
        Vop3p::v_fma_mixlo_f16 => f16c::<FmaMix<MIX_LO, InLoops>, FmaMix<MIX_LO, F16c>>(),
        Vop3p::v_fma_mixhi_f16 => f16c::<FmaMix<MIX_HI, InLoops>, FmaMix<MIX_HI, F16c>>(),
        Vop3p::v_dot2_f32_f16 => f16c::<DotF16<false, false, InLoops>, DotF16<false, false, F16c>>(),
        Vop3p::v_dot2_i32_i16 => plain::<DotI16>(),
        Vop3p::v_dot2_u32_u16 => plain::<DotU16>(),
        Vop3p::v_dot4_i32_i8 => plain::<DotI8>(),
        Vop3p::v_dot4_u32_u8 => plain::<DotU8>(),
        Vop3p::v_dot8_i32_i4 => plain::<DotI4>(),
        Vop3p::v_dot8_u32_u4 => plain::<DotU4>(),
        Vop3p::v_pk_fma_f32 => plain::<Pairs<Three<Fma<f32>>>>(),
        Vop3p::v_pk_mul_f32 => plain::<Pairs<Two<Mul<f32>>>>(),
        Vop3p::v_pk_add_f32 => plain::<Pairs<Two<Add<f32>>>>(),
        Vop3p::v_pk_mov_b32 => plain::<PkMov>(),
        Vop3p::v_mfma_f32_16x16x8_xf32 => plain::<Mfma<mx::Truncated<mx::Xf32, 4>, 16, 1, 2>>(),
        Vop3p::v_mfma_f32_32x32x4_xf32 => plain::<Mfma<mx::Truncated<mx::Xf32, 4>, 32, 1, 2>>(),
        Vop3p::v_mfma_f32_32x32x1f32 => plain::<Mfma<mx::Fma, 32, 2, 1>>(),
        Vop3p::v_mfma_f32_32x32x1_2b_f32 => plain::<Mfma<mx::Fma, 32, 2, 1>>(),
        Vop3p::v_mfma_f32_16x16x1f32 => plain::<Mfma<mx::Fma, 16, 4, 1>>(),
        Vop3p::v_mfma_f32_16x16x1_4b_f32 => plain::<Mfma<mx::Fma, 16, 4, 1>>(),
        Vop3p::v_mfma_f32_4x4x1f32 => rare::<Mfma<mx::Fma, 4, 16, 1>>(),
        Vop3p::v_mfma_f32_4x4x1_16b_f32 => rare::<Mfma<mx::Fma, 4, 16, 1>>(),
        Vop3p::v_mfma_f32_32x32x2f32 => plain::<Mfma<mx::Fma, 32, 1, 1>>(),
        Vop3p::v_mfma_f32_32x32x2_f32 => plain::<Mfma<mx::Fma, 32, 1, 1>>(),
        Vop3p::v_mfma_f32_16x16x4f32 => plain::<Mfma<mx::Fma, 16, 1, 1>>(),
        Vop3p::v_mfma_f32_16x16x4_f32 => plain::<Mfma<mx::Fma, 16, 1, 1>>(),
        Vop3p::v_mfma_f32_32x32x4f16 => plain::<Mfma<mx::Ftz<mx::F16, 4>, 32, 2, 4>>(),
        Vop3p::v_mfma_f32_32x32x4_2b_f16 => plain::<Mfma<mx::Truncated<mx::F16, 8>, 32, 2, 4>>(),
        Vop3p::v_mfma_f32_16x16x4f16 => plain::<Mfma<mx::Ftz<mx::F16, 4>, 16, 4, 4>>(),
        Vop3p::v_mfma_f32_16x16x4_4b_f16 => plain::<Mfma<mx::Truncated<mx::F16, 8>, 16, 4, 4>>(),
        Vop3p::v_mfma_f32_4x4x4f16 => rare::<Mfma<mx::Ftz<mx::F16, 4>, 4, 16, 4>>(),
        Vop3p::v_mfma_f32_4x4x4_16b_f16 => rare::<Mfma<mx::Truncated<mx::F16, 8>, 4, 16, 4>>(),
        Vop3p::v_mfma_f32_32x32x8f16 => plain::<Mfma<mx::Ftz<mx::F16, 4>, 32, 1, 4>>(),
        Vop3p::v_mfma_f32_32x32x8_f16 => plain::<Mfma<mx::Truncated<mx::F16, 8>, 32, 1, 4>>(),
        Vop3p::v_mfma_f32_16x16x16f16 => plain::<Mfma<mx::Ftz<mx::F16, 4>, 16, 1, 4>>(),
        Vop3p::v_mfma_f32_16x16x16_f16 => plain::<Mfma<mx::Truncated<mx::F16, 8>, 16, 1, 4>>(),
        Vop3p::v_mfma_i32_32x32x4i8 => plain::<Mfma<mx::Int8, 32, 2, 4>>(),
        Vop3p::v_mfma_i32_32x32x4_2b_i8 => plain::<Mfma<mx::Int8, 32, 2, 4>>(),
        Vop3p::v_mfma_i32_16x16x4i8 => plain::<Mfma<mx::Int8, 16, 4, 4>>(),
        Vop3p::v_mfma_i32_16x16x4_4b_i8 => plain::<Mfma<mx::Int8, 16, 4, 4>>(),
        Vop3p::v_mfma_i32_4x4x4i8 => rare::<Mfma<mx::Int8, 4, 16, 4>>(),
        Vop3p::v_mfma_i32_4x4x4_16b_i8 => rare::<Mfma<mx::Int8, 4, 16, 4>>(),
        Vop3p::v_mfma_i32_32x32x8i8 => plain::<Mfma<mx::Int8, 32, 1, 4>>(),
        Vop3p::v_mfma_i32_16x16x16i8 => plain::<Mfma<mx::Int8, 16, 1, 4>>(),
        Vop3p::v_mfma_i32_32x32x16_i8 => plain::<Mfma<mx::Int8, 32, 1, 8>>(),
        Vop3p::v_mfma_i32_16x16x32_i8 => plain::<Mfma<mx::Int8, 16, 1, 8>>(),
        Vop3p::v_accvgpr_read_b32 => plain::<AccvgprRead>(),
        Vop3p::v_accvgpr_write_b32 => op1::<Move>(),
        Vop3p::v_mfma_f32_32x32x4_2b_bf16 => plain::<Mfma<mx::Truncated<mx::Bf16, 8>, 32, 2, 4>>(),
        Vop3p::v_mfma_f32_16x16x4_4b_bf16 => plain::<Mfma<mx::Truncated<mx::Bf16, 8>, 16, 4, 4>>(),
        Vop3p::v_mfma_f32_4x4x4_16b_bf16 => rare::<Mfma<mx::Truncated<mx::Bf16, 8>, 4, 16, 4>>(),
        Vop3p::v_mfma_f32_32x32x8_bf16 => plain::<Mfma<mx::Truncated<mx::Bf16, 8>, 32, 1, 4>>(),
        Vop3p::v_mfma_f32_16x16x16_bf16 => plain::<Mfma<mx::Truncated<mx::Bf16, 8>, 16, 1, 4>>(),
        Vop3p::v_smfmac_f32_16x16x32_f16 => rare::<Smfmac<mx::Truncated<mx::F16, 8>, 16, 4, 8, false>>(),
        Vop3p::v_mfma_f32_32x32x4bf16_1k => plain::<Mfma<mx::Ftz<mx::Bf16, 4>, 32, 2, 4>>(),
        Vop3p::v_mfma_f32_16x16x4bf16_1k => plain::<Mfma<mx::Ftz<mx::Bf16, 4>, 16, 4, 4>>(),
        Vop3p::v_smfmac_f32_32x32x16_f16 => rare::<Smfmac<mx::Truncated<mx::F16, 8>, 32, 4, 8, false>>(),
        Vop3p::v_mfma_f32_4x4x4bf16_1k => rare::<Mfma<mx::Ftz<mx::Bf16, 4>, 4, 16, 4>>(),
        Vop3p::v_mfma_f32_32x32x8bf16_1k => plain::<Mfma<mx::Ftz<mx::Bf16, 4>, 32, 1, 4>>(),
        Vop3p::v_smfmac_f32_16x16x32_bf16 => rare::<Smfmac<mx::Truncated<mx::Bf16, 8>, 16, 4, 8, false>>(),
        Vop3p::v_mfma_f32_16x16x16bf16_1k => plain::<Mfma<mx::Ftz<mx::Bf16, 4>, 16, 1, 4>>(),
        Vop3p::v_mfma_f32_32x32x2bf16 => plain::<Mfma<mx::Ftz<mx::Bf16, 2>, 32, 2, 2>>(),
        Vop3p::v_smfmac_f32_32x32x16_bf16 => rare::<Smfmac<mx::Truncated<mx::Bf16, 8>, 32, 4, 8, false>>(),
        Vop3p::v_mfma_f32_16x16x2bf16 => plain::<Mfma<mx::Ftz<mx::Bf16, 2>, 16, 4, 2>>(),
        Vop3p::v_smfmac_i32_16x16x64_i8 => rare::<Smfmac<mx::Int8, 16, 8, 16, false>>(),
        Vop3p::v_mfma_f32_4x4x2bf16 => rare::<Mfma<mx::Ftz<mx::Bf16, 2>, 4, 16, 2>>(),
        Vop3p::v_mfma_f32_32x32x4bf16 => plain::<Mfma<mx::Ftz<mx::Bf16, 2>, 32, 1, 2>>(),
        Vop3p::v_smfmac_i32_32x32x32_i8 => rare::<Smfmac<mx::Int8, 32, 8, 16, false>>(),
        Vop3p::v_mfma_f32_16x16x8bf16 => plain::<Mfma<mx::Ftz<mx::Bf16, 2>, 16, 1, 2>>(),
        Vop3p::v_mfma_f64_16x16x4f64 => plain::<MfmaF64<1>>(),
        Vop3p::v_mfma_f64_16x16x4_f64 => plain::<MfmaF64<1>>(),
        Vop3p::v_mfma_f64_4x4x4f64 => rare::<MfmaF64<4>>(),
        Vop3p::v_mfma_f64_4x4x4_4b_f64 => rare::<MfmaF64<4>>(),
        Vop3p::v_mfma_f32_16x16x32_bf8_bf8 => plain::<Mfma<mx::Fnuz, 16, 1, 8>>(),
        Vop3p::v_mfma_f32_16x16x32_bf8_fp8 => plain::<Mfma<mx::Fnuz, 16, 1, 8>>(),
        Vop3p::v_mfma_f32_16x16x32_fp8_bf8 => plain::<Mfma<mx::Fnuz, 16, 1, 8>>(),
        Vop3p::v_mfma_f32_16x16x32_fp8_fp8 => plain::<Mfma<mx::Fnuz, 16, 1, 8>>(),
        Vop3p::v_mfma_f32_32x32x16_bf8_bf8 => plain::<Mfma<mx::Fnuz, 32, 1, 8>>(),
        Vop3p::v_mfma_f32_32x32x16_bf8_fp8 => plain::<Mfma<mx::Fnuz, 32, 1, 8>>(),
        Vop3p::v_mfma_f32_32x32x16_fp8_bf8 => plain::<Mfma<mx::Fnuz, 32, 1, 8>>(),
        Vop3p::v_mfma_f32_32x32x16_fp8_fp8 => plain::<Mfma<mx::Fnuz, 32, 1, 8>>(),
        Vop3p::v_smfmac_f32_16x16x64_bf8_bf8 => rare::<Smfmac<mx::Fnuz, 16, 8, 16, false>>(),
        Vop3p::v_smfmac_f32_16x16x64_bf8_fp8 => rare::<Smfmac<mx::Fnuz, 16, 8, 16, false>>(),
        Vop3p::v_smfmac_f32_16x16x64_fp8_bf8 => rare::<Smfmac<mx::Fnuz, 16, 8, 16, false>>(),
        Vop3p::v_smfmac_f32_16x16x64_fp8_fp8 => rare::<Smfmac<mx::Fnuz, 16, 8, 16, false>>(),
        Vop3p::v_smfmac_f32_32x32x32_bf8_bf8 => rare::<Smfmac<mx::Fnuz, 32, 8, 16, false>>(),
        Vop3p::v_smfmac_f32_32x32x32_bf8_fp8 => rare::<Smfmac<mx::Fnuz, 32, 8, 16, false>>(),
        Vop3p::v_smfmac_f32_32x32x32_fp8_bf8 => rare::<Smfmac<mx::Fnuz, 32, 8, 16, false>>(),
        Vop3p::v_smfmac_f32_32x32x32_fp8_fp8 => rare::<Smfmac<mx::Fnuz, 32, 8, 16, false>>(),
        // gfx950 has its own order of the sum.
        Vop3p::v_dot2_f32_bf16 => plain::<DotBf16Gfx11>(),
        Vop3p::v_pk_minimum3_f16 => ELSEWHERE,
        Vop3p::v_pk_maximum3_f16 => ELSEWHERE,
        Vop3p::v_mfma_ld_scale_b32 => ELSEWHERE,
        Vop3p::v_mfma_f32_16x16x128_f8f6f4 => ELSEWHERE,
        Vop3p::v_mfma_f32_32x32x64_f8f6f4 => ELSEWHERE,
        Vop3p::v_mfma_f32_16x16x32_bf16 => ELSEWHERE,
        Vop3p::v_mfma_i32_16x16x64_i8 => ELSEWHERE,
        Vop3p::v_mfma_f32_32x32x16_bf16 => ELSEWHERE,
        Vop3p::v_mfma_i32_32x32x32_i8 => ELSEWHERE,
        Vop3p::v_smfmac_f32_16x16x64_bf16 => ELSEWHERE,
        Vop3p::v_smfmac_i32_16x16x128_i8 => ELSEWHERE,
        Vop3p::v_smfmac_f32_16x16x128_bf8_bf8 => ELSEWHERE,
        Vop3p::v_smfmac_f32_16x16x128_bf8_fp8 => ELSEWHERE,
        Vop3p::v_smfmac_f32_16x16x128_fp8_bf8 => ELSEWHERE,
        Vop3p::v_smfmac_f32_16x16x128_fp8_fp8 => ELSEWHERE,
        Vop3p::v_smfmac_f32_32x32x32_bf16 => ELSEWHERE,
        Vop3p::v_smfmac_i32_32x32x64_i8 => ELSEWHERE,
        Vop3p::v_smfmac_f32_32x32x64_bf8_bf8 => ELSEWHERE,
        Vop3p::v_smfmac_f32_32x32x64_bf8_fp8 => ELSEWHERE,
        Vop3p::v_smfmac_f32_32x32x64_fp8_bf8 => ELSEWHERE,
        Vop3p::v_smfmac_f32_32x32x64_fp8_fp8 => ELSEWHERE,
        Vop3p::v_mfma_f32_16x16x32_f16 => ELSEWHERE,
        Vop3p::v_mfma_f32_32x32x16_f16 => ELSEWHERE,
        Vop3p::v_smfmac_f32_16x16x64_f16 => ELSEWHERE,
        Vop3p::v_smfmac_f32_32x32x32_f16 => ELSEWHERE,
        // Instructions of gfx11.
        Vop3p::v_dot4_i32_iu8 => plain::<DotIu<8>>(),
        Vop3p::v_dot8_i32_iu4 => plain::<DotIu<4>>(),
        Vop3p::v_wmma_f32_16x16x16_f16 => f16c::<WmmaF32<F16<InLoops>, Gfx11>, WmmaF32<F16<F16c>, Gfx11>>(),
        Vop3p::v_wmma_f32_16x16x16_bf16 => rare::<WmmaF32<Bf16, Gfx11>>(),
        Vop3p::v_wmma_f16_16x16x16_f16 => f16c::<WmmaHalf<F16<InLoops>, Gfx11>, WmmaHalf<F16<F16c>, Gfx11>>(),
        Vop3p::v_wmma_bf16_16x16x16_bf16 => rare::<WmmaHalf<Bf16, Gfx11>>(),
        Vop3p::v_wmma_i32_16x16x16_iu8 => rare::<WmmaI32<Gfx11, 8, 16>>(),
        Vop3p::v_wmma_i32_16x16x16_iu4 => rare::<WmmaI32<Gfx11, 4, 16>>(),
        // Instructions of gfx12.
        Vop3p::v_pk_minimum_f16 => packed_half::<Two<Kept<Minimum<Half>>>, Kept<Minimum<Half>>>(),
        Vop3p::v_pk_maximum_f16 => packed_half::<Two<Kept<Maximum<Half>>>, Kept<Maximum<Half>>>(),
        Vop3p::v_wmma_f32_16x16x16_fp8_fp8 => rare::<WmmaF8<F8, F8>>(),
        Vop3p::v_wmma_f32_16x16x16_fp8_bf8 => rare::<WmmaF8<F8, BF8>>(),
        Vop3p::v_wmma_f32_16x16x16_bf8_fp8 => rare::<WmmaF8<BF8, F8>>(),
        Vop3p::v_wmma_f32_16x16x16_bf8_bf8 => rare::<WmmaF8<BF8, BF8>>(),
        Vop3p::v_wmma_i32_16x16x32_iu4 => rare::<WmmaI32<Gfx12, 4, 32>>(),
        Vop3p::v_dot4_f32_fp8_fp8 => plain::<DotF8<F8, F8>>(),
        Vop3p::v_dot4_f32_fp8_bf8 => plain::<DotF8<F8, BF8>>(),
        Vop3p::v_dot4_f32_bf8_fp8 => plain::<DotF8<BF8, F8>>(),
        Vop3p::v_dot4_f32_bf8_bf8 => plain::<DotF8<BF8, BF8>>(),
        Vop3p::v_swmmac_f32_16x16x32_f16 => f16c::<SwmmacF32<swmmac::Halves<F16<InLoops>>>, SwmmacF32<swmmac::Halves<F16<F16c>>>>(),
        Vop3p::v_swmmac_f32_16x16x32_bf16 => rare::<SwmmacF32<swmmac::Halves<Bf16>>>(),
        Vop3p::v_swmmac_f16_16x16x32_f16 => f16c::<SwmmacHalf<F16<InLoops>>, SwmmacHalf<F16<F16c>>>(),
        Vop3p::v_swmmac_bf16_16x16x32_bf16 => rare::<SwmmacHalf<Bf16>>(),
        Vop3p::v_swmmac_i32_16x16x32_iu8 => rare::<SwmmacI32<8, 32, 16>>(),
        Vop3p::v_swmmac_i32_16x16x32_iu4 => rare::<SwmmacI32<4, 32, 16>>(),
        Vop3p::v_swmmac_i32_16x16x64_iu4 => rare::<SwmmacI32<4, 64, 32>>(),
        Vop3p::v_swmmac_f32_16x16x32_fp8_fp8 => rare::<SwmmacF32<swmmac::Bytes<F8, F8>>>(),
        Vop3p::v_swmmac_f32_16x16x32_fp8_bf8 => rare::<SwmmacF32<swmmac::Bytes<F8, BF8>>>(),
        Vop3p::v_swmmac_f32_16x16x32_bf8_fp8 => rare::<SwmmacF32<swmmac::Bytes<BF8, F8>>>(),
        Vop3p::v_swmmac_f32_16x16x32_bf8_bf8 => rare::<SwmmacF32<swmmac::Bytes<BF8, BF8>>>(),
    }
}

/// Returns the executors of the instructions whose matrices are elsewhere on gfx12 than on gfx11.
#[rustfmt::skip]
fn gfx12(op: Vop3p) -> Option<Impl> {
    Some(match op {
        Vop3p::v_wmma_f32_16x16x16_f16 => f16c::<WmmaF32<F16<InLoops>, Gfx12>, WmmaF32<F16<F16c>, Gfx12>>(),
        Vop3p::v_wmma_f32_16x16x16_bf16 => rare::<WmmaF32<Bf16, Gfx12>>(),
        Vop3p::v_wmma_f16_16x16x16_f16 => f16c::<WmmaHalf<F16<InLoops>, Gfx12>, WmmaHalf<F16<F16c>, Gfx12>>(),
        Vop3p::v_wmma_bf16_16x16x16_bf16 => rare::<WmmaHalf<Bf16, Gfx12>>(),
        Vop3p::v_wmma_i32_16x16x16_iu8 => rare::<WmmaI32<Gfx12, 8, 16>>(),
        Vop3p::v_wmma_i32_16x16x16_iu4 => rare::<WmmaI32<Gfx12, 4, 16>>(),
        _ => return None,
    })
}
