//! VOP2 instructions.

/// Passes the instructions of VOP2 to a macro.
macro_rules! vop2 {
    ($make:ident) => {
        $make! {
            /// The mnemonics of VOP2: vector instructions with two sources, which also have VOP3, SDWA and DPP forms.
            Vop2:
            v_cndmask_b32 0 0 0 B32, [B32, B32, Z], MASK_IN | BITS;
            v_add_f32 1 1 1 F32, [F32, F32, Z], 0;
            v_sub_f32 2 2 2 F32, [F32, F32, Z], 0;
            v_subrev_f32 3 3 3 F32, [F32, F32, Z], 0;
            v_fmac_f64 4 4 4 F64, [F64, F64, Z], ACC;
            v_mul_f32 5 5 5 F32, [F32, F32, Z], 0;
            v_mul_i32_i24 6 6 6 B32, [B32, B32, Z], 0;
            v_mul_hi_i32_i24 7 7 7 B32, [B32, B32, Z], 0;
            v_mul_u32_u24 8 8 8 B32, [B32, B32, Z], 0;
            v_mul_hi_u32_u24 9 9 9 B32, [B32, B32, Z], 0;
            v_min_f32 10 10 10 F32, [F32, F32, Z], 0;
            v_max_f32 11 11 11 F32, [F32, F32, Z], 0;
            v_min_i32 12 12 12 B32, [B32, B32, Z], 0;
            v_max_i32 13 13 13 B32, [B32, B32, Z], 0;
            v_min_u32 14 14 14 B32, [B32, B32, Z], 0;
            v_max_u32 15 15 15 B32, [B32, B32, Z], 0;
            v_lshrrev_b32 16 16 16 B32, [B32, B32, Z], BITS;
            v_ashrrev_i32 17 17 17 B32, [B32, B32, Z], BITS;
            v_lshlrev_b32 18 18 18 B32, [B32, B32, Z], BITS;
            v_and_b32 19 19 19 B32, [B32, B32, Z], BITS;
            v_or_b32 20 20 20 B32, [B32, B32, Z], BITS;
            v_xor_b32 21 21 21 B32, [B32, B32, Z], 0;
            v_mac_f32 22 -1 -1 F32, [F32, F32, Z], ACC;
            v_dot2c_f32_bf16 -1 -1 22 F32, [P16B, P16B, Z], ACC | DOT;
            v_madmk_f32 23 -1 -1 F32, [F32, F32, F32], LIT | LIT_FACTOR;
            v_fmamk_f32 -1 23 23 F32, [F32, F32, F32], LIT | LIT_FACTOR;
            v_madak_f32 24 -1 -1 F32, [F32, F32, F32], LIT;
            v_fmaak_f32 -1 24 24 F32, [F32, F32, F32], LIT;
            v_add_co_u32 25 25 25 B32, [B32, B32, Z], SDST | SAT;
            v_sub_co_u32 26 26 26 B32, [B32, B32, Z], SDST | SAT;
            v_subrev_co_u32 27 27 27 B32, [B32, B32, Z], SDST | SAT;
            v_addc_co_u32 28 28 28 B32, [B32, B32, Z], SDST | MASK_IN | SAT;
            v_subb_co_u32 29 29 29 B32, [B32, B32, Z], SDST | MASK_IN | SAT;
            v_subbrev_co_u32 30 30 30 B32, [B32, B32, Z], SDST | MASK_IN | SAT;
            v_add_f16 31 31 31 F16, [F16, F16, Z], 0;
            v_sub_f16 32 32 32 F16, [F16, F16, Z], 0;
            v_subrev_f16 33 33 33 F16, [F16, F16, Z], 0;
            v_mul_f16 34 34 34 F16, [F16, F16, Z], 0;
            v_mac_f16 35 35 35 F16, [F16, F16, Z], ACC | KEEP;
            v_madmk_f16 36 36 36 F16, [F16, F16, F16], LIT | KEEP | LIT_FACTOR;
            v_madak_f16 37 37 37 F16, [F16, F16, F16], LIT | KEEP;
            v_add_u16 38 38 38 I16, [I16, I16, Z], SAT;
            v_sub_u16 39 39 39 I16, [I16, I16, Z], SAT;
            v_subrev_u16 40 40 40 I16, [I16, I16, Z], SAT;
            v_mul_lo_u16 41 41 41 I16, [I16, I16, Z], SAT;
            v_lshlrev_b16 42 42 42 I16, [I16, I16, Z], BITS;
            v_lshrrev_b16 43 43 43 I16, [I16, I16, Z], BITS;
            v_ashrrev_i16 44 44 44 I16, [I16, I16, Z], 0;
            v_max_f16 45 45 45 F16, [F16, F16, Z], 0;
            v_min_f16 46 46 46 F16, [F16, F16, Z], 0;
            v_max_u16 47 47 47 I16, [I16, I16, Z], 0;
            v_max_i16 48 48 48 I16, [I16, I16, Z], 0;
            v_min_u16 49 49 49 I16, [I16, I16, Z], 0;
            v_min_i16 50 50 50 I16, [I16, I16, Z], 0;
            v_ldexp_f16 51 51 51 F16, [F16, I16, Z], 0;
            v_add_u32 52 52 52 B32, [B32, B32, Z], SAT;
            v_sub_u32 53 53 53 B32, [B32, B32, Z], SAT;
            v_subrev_u32 54 54 54 B32, [B32, B32, Z], SAT;
            v_dot2c_f32_f16 55 55 55 F32, [P16F, P16F, Z], ACC | DOT;
            v_dot2c_i32_i16 56 56 56 B32, [P16I, P16I, Z], ACC | SAT | DOT;
            v_dot4c_i32_i8 57 57 57 B32, [B32, B32, Z], ACC | SAT | DOT;
            v_dot8c_i32_i4 58 58 58 B32, [B32, B32, Z], ACC | SAT | DOT;
            v_fmac_f32 59 59 59 F32, [F32, F32, Z], ACC;
            v_pk_fmac_f16 60 60 60 P16F, [P16F, P16F, Z], ACC;
            v_xnor_b32 61 61 61 B32, [B32, B32, Z], 0;
            // Operations that no target of gfx9's encodings has, under their names on RDNA.
            // Zero times anything is zero, as in `v_mul_legacy_f32`.
            v_fmac_dx9_zero_f32 -1 -1 -1 F32, [F32, F32, Z], ACC;
            v_fmac_f16 -1 -1 -1 F16, [F16, F16, Z], ACC | KEEP;
            v_fmamk_f16 -1 -1 -1 F16, [F16, F16, F16], LIT | KEEP | LIT_FACTOR;
            v_fmaak_f16 -1 -1 -1 F16, [F16, F16, F16], LIT | KEEP;
        }
    };
}

pub(crate) use vop2;
