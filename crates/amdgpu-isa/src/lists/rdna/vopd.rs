//! VOPD on RDNA.

/// Passes the instructions of VOPD on RDNA to a macro.
macro_rules! vopd {
    ($make:ident) => {
        $make! {
            Vopd:
            v_dual_fmac_f32 -1 0 0 0 = Vop2 v_fmac_f32;
            v_dual_fmaak_f32 -1 1 1 1 = Vop2 v_fmaak_f32;
            v_dual_fmamk_f32 -1 2 2 2 = Vop2 v_fmamk_f32;
            v_dual_mul_f32 -1 3 3 3 = Vop2 v_mul_f32;
            v_dual_add_f32 -1 4 4 4 = Vop2 v_add_f32;
            v_dual_sub_f32 -1 5 5 5 = Vop2 v_sub_f32;
            v_dual_subrev_f32 -1 6 6 6 = Vop2 v_subrev_f32;
            v_dual_mul_dx9_zero_f32 -1 7 7 7 = Vop3 v_mul_legacy_f32;
            v_dual_mov_b32 -1 8 8 8 = Vop1 v_mov_b32;
            v_dual_cndmask_b32 -1 9 9 9 = Vop2 v_cndmask_b32;
            v_dual_max_f32 -1 10 10 -1 = Vop2 v_max_f32;
            v_dual_min_f32 -1 11 11 -1 = Vop2 v_min_f32;
            v_dual_dot2acc_f32_f16 -1 12 12 12 = Vop2 v_dot2c_f32_f16;
            v_dual_dot2acc_f32_bf16 -1 13 13 13 = Vop2 v_dot2c_f32_bf16;
            // Only the half Y has these: its opcode has five bits, and that of X four.
            v_dual_add_nc_u32 -1 16 16 16 = Vop2 v_add_u32;
            v_dual_lshlrev_b32 -1 17 17 17 = Vop2 v_lshlrev_b32;
            v_dual_and_b32 -1 18 18 18 = Vop2 v_and_b32;
            // Names that only gfx12 has, or that have other operands there.
            v_dual_max_num_f32 -1 -1 -1 10 = Vop2 v_max_f32;
            v_dual_min_num_f32 -1 -1 -1 11 = Vop2 v_min_f32;
        }
    };
}

pub(crate) use vopd;
