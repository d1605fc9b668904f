//! Executors of VOP2 instructions.

use amdgpu_isa::{Target, Vop2};

use super::notation::*;
use crate::exec::arith::*;
use crate::exec::bits::*;
use crate::exec::carry::*;
use crate::exec::convert::*;
use crate::exec::halves::PK_FMAC;
use crate::exec::integer::*;
use crate::exec::number::half16::Half;
use crate::exec::vop3p::{DOT2ACC_F32_F16, DOT2C_F32_F16, Dot2cF32Bf16};

pub(super) fn vop2(op: Vop2, target: Target) -> Impl {
    match op {
        Vop2::v_min_f32 if target.is_rdna() => op2::<Kept<Min<f32>>>(),
        Vop2::v_max_f32 if target.is_rdna() => op2::<Kept<Max<f32>>>(),
        Vop2::v_min_f16 if target.is_rdna() => half::<Kept<Min<Half>>>(),
        Vop2::v_max_f16 if target.is_rdna() => half::<Kept<Max<Half>>>(),
        Vop2::v_dot2c_f32_f16 if target.is_rdna() => lanes(DOT2ACC_F32_F16),
        _ => common(op),
    }
}

#[rustfmt::skip]
fn common(op: Vop2) -> Impl {
    match op {
        Vop2::v_cndmask_b32 => lanes(CNDMASK),
        Vop2::v_add_f32 => signed2::<Add<f32>>(),
        Vop2::v_sub_f32 => signed2::<Sub<f32>>(),
        Vop2::v_subrev_f32 => op2::<Subrev<f32>>(),
        Vop2::v_fmac_f64 => signed3::<Fma<f64>>(),
        Vop2::v_mul_f32 => signed2::<Mul<f32>>(),
        Vop2::v_mul_i32_i24 => op2::<MulI32I24>(),
        Vop2::v_mul_hi_i32_i24 => rare2::<MulHiI32I24>(),
        Vop2::v_mul_u32_u24 => op2::<MulU32U24>(),
        Vop2::v_mul_hi_u32_u24 => rare2::<MulHiU32U24>(),
        Vop2::v_min_f32 => op2::<Min<f32>>(),
        Vop2::v_max_f32 => op2::<Max<f32>>(),
        Vop2::v_min_i32 => op2::<MinI32>(),
        Vop2::v_max_i32 => op2::<MaxI32>(),
        Vop2::v_min_u32 => op2::<MinU32>(),
        Vop2::v_max_u32 => op2::<MaxU32>(),
        Vop2::v_lshrrev_b32 => hot2::<LshrrevB32>(),
        Vop2::v_ashrrev_i32 => hot2::<AshrrevI32>(),
        Vop2::v_lshlrev_b32 => hot2::<LshlrevB32>(),
        Vop2::v_and_b32 => hot2::<AndB32>(),
        Vop2::v_or_b32 => hot2::<OrB32>(),
        Vop2::v_xor_b32 => hot2::<XorB32>(),
        Vop2::v_mac_f32 => op3::<MadF32>(),
        Vop2::v_madmk_f32 => op3::<MadF32>(),
        Vop2::v_fmamk_f32 => signed3::<Fma<f32>>(),
        Vop2::v_madak_f32 => op3::<MadF32>(),
        Vop2::v_fmaak_f32 => signed3::<Fma<f32>>(),
        Vop2::v_add_co_u32 => carry::<AddCo>(),
        Vop2::v_sub_co_u32 => carry::<SubCo>(),
        Vop2::v_subrev_co_u32 => carry::<SubrevCo>(),
        Vop2::v_addc_co_u32 => carry::<AddcCo>(),
        Vop2::v_subb_co_u32 => carry::<SubbCo>(),
        Vop2::v_subbrev_co_u32 => carry::<SubbrevCo>(),
        Vop2::v_add_f16 => half::<Add<Half>>(),
        Vop2::v_sub_f16 => half::<Sub<Half>>(),
        Vop2::v_subrev_f16 => half::<Subrev<Half>>(),
        Vop2::v_mul_f16 => half::<Mul<Half>>(),
        Vop2::v_mac_f16 => half::<Mad<Half>>(),
        Vop2::v_madmk_f16 => half::<Mad<Half>>(),
        Vop2::v_madak_f16 => half::<Mad<Half>>(),
        Vop2::v_add_u16 => sat2::<AddU16, AddU16Clamp>(),
        Vop2::v_sub_u16 => sat2::<SubU16, SubU16Clamp>(),
        Vop2::v_subrev_u16 => sat2::<SubrevU16, SubrevU16Clamp>(),
        Vop2::v_mul_lo_u16 => sat2::<MulLoU16, MulLoU16Clamp>(),
        Vop2::v_lshlrev_b16 => rare2::<LshlrevB16>(),
        Vop2::v_lshrrev_b16 => rare2::<LshrrevB16>(),
        Vop2::v_ashrrev_i16 => rare2::<AshrrevI16>(),
        Vop2::v_max_f16 => half::<Max<Half>>(),
        Vop2::v_min_f16 => half::<Min<Half>>(),
        Vop2::v_max_u16 => rare2::<MaxU16>(),
        Vop2::v_max_i16 => rare2::<MaxI16>(),
        Vop2::v_min_u16 => rare2::<MinU16>(),
        Vop2::v_min_i16 => rare2::<MinI16>(),
        Vop2::v_ldexp_f16 => half::<LdexpF16>(),
        Vop2::v_add_u32 => hot_sat2::<AddU32, AddU32Clamp>(),
        Vop2::v_sub_u32 => hot_sat2::<SubU32, SubU32Clamp>(),
        Vop2::v_subrev_u32 => hot_sat2::<SubrevU32, SubrevU32Clamp>(),
        Vop2::v_dot2c_f32_f16 => lanes(DOT2C_F32_F16),
        Vop2::v_dot2c_i32_i16 => sat3::<Dot2cI32I16, Dot2cI32I16Clamp>(),
        Vop2::v_dot4c_i32_i8 => sat3::<Dot4cI32I8, Dot4cI32I8Clamp>(),
        Vop2::v_dot8c_i32_i4 => sat3::<Dot8cI32I4, Dot8cI32I4Clamp>(),
        Vop2::v_fmac_f32 => signed3::<Fma<f32>>(),
        Vop2::v_pk_fmac_f16 => lanes(PK_FMAC),
        Vop2::v_xnor_b32 => op2::<XnorB32>(),
        Vop2::v_dot2c_f32_bf16 => rare3::<Dot2cF32Bf16<false>>(),
        // Instructions of gfx11.
        Vop2::v_fmac_dx9_zero_f32 => rare3::<FmaDx9ZeroF32>(),
        Vop2::v_fmac_f16 => half::<Fma<Half>>(),
        Vop2::v_fmamk_f16 => half::<Fma<Half>>(),
        Vop2::v_fmaak_f16 => half::<Fma<Half>>(),
    }
}
