//! MUBUF, MTBUF on RDNA.

/// Passes the instructions of MUBUF on RDNA to a macro.
macro_rules! mubuf {
    ($make:ident) => {
        $make! {
            Mubuf:
            buffer_load_format_x 0 0 0 0 = Mubuf buffer_load_format_x;
            buffer_load_format_xy 1 1 1 1 = Mubuf buffer_load_format_xy;
            buffer_load_format_xyz 2 2 2 2 = Mubuf buffer_load_format_xyz;
            buffer_load_format_xyzw 3 3 3 3 = Mubuf buffer_load_format_xyzw;
            buffer_store_format_x 4 4 4 4 = Mubuf buffer_store_format_x;
            buffer_store_format_xy 5 5 5 5 = Mubuf buffer_store_format_xy;
            buffer_store_format_xyz 6 6 6 6 = Mubuf buffer_store_format_xyz;
            buffer_store_format_xyzw 7 7 7 7 = Mubuf buffer_store_format_xyzw;
            buffer_load_d16_format_x -1 8 8 8 = Mubuf buffer_load_format_d16_x;
            buffer_load_d16_format_xy -1 9 9 9 = Mubuf buffer_load_format_d16_xy;
            buffer_load_d16_format_xyz -1 10 10 10 = Mubuf buffer_load_format_d16_xyz;
            buffer_load_d16_format_xyzw -1 11 11 11 = Mubuf buffer_load_format_d16_xyzw;
            buffer_store_d16_format_x -1 12 12 12 = Mubuf buffer_store_format_d16_x;
            buffer_store_d16_format_xy -1 13 13 13 = Mubuf buffer_store_format_d16_xy;
            buffer_store_d16_format_xyz -1 14 14 14 = Mubuf buffer_store_format_d16_xyz;
            buffer_store_d16_format_xyzw -1 15 15 15 = Mubuf buffer_store_format_d16_xyzw;
            buffer_load_u8 -1 16 16 16 = Mubuf buffer_load_ubyte;
            buffer_load_i8 -1 17 17 17 = Mubuf buffer_load_sbyte;
            buffer_load_u16 -1 18 18 18 = Mubuf buffer_load_ushort;
            buffer_load_i16 -1 19 19 19 = Mubuf buffer_load_sshort;
            buffer_load_b32 -1 20 20 20 = Mubuf buffer_load_dword;
            buffer_load_b64 -1 21 21 21 = Mubuf buffer_load_dwordx2;
            buffer_load_b96 -1 22 22 22 = Mubuf buffer_load_dwordx3;
            buffer_load_b128 -1 23 23 23 = Mubuf buffer_load_dwordx4;
            buffer_store_b8 -1 24 24 24 = Mubuf buffer_store_byte;
            buffer_store_b16 -1 25 25 25 = Mubuf buffer_store_short;
            buffer_store_b32 -1 26 26 26 = Mubuf buffer_store_dword;
            buffer_store_b64 -1 27 27 27 = Mubuf buffer_store_dwordx2;
            buffer_store_b96 -1 28 28 28 = Mubuf buffer_store_dwordx3;
            buffer_store_b128 -1 29 29 29 = Mubuf buffer_store_dwordx4;
            buffer_load_d16_u8 -1 30 30 30 = Mubuf buffer_load_ubyte_d16;
            buffer_load_d16_i8 -1 31 31 31 = Mubuf buffer_load_sbyte_d16;
            buffer_load_d16_b16 -1 32 32 32 = Mubuf buffer_load_short_d16;
            buffer_load_d16_hi_u8 -1 33 33 33 = Mubuf buffer_load_ubyte_d16_hi;
            buffer_load_d16_hi_i8 -1 34 34 34 = Mubuf buffer_load_sbyte_d16_hi;
            buffer_load_d16_hi_b16 -1 35 35 35 = Mubuf buffer_load_short_d16_hi;
            buffer_store_d16_hi_b8 -1 36 36 36 = Mubuf buffer_store_byte_d16_hi;
            buffer_store_d16_hi_b16 -1 37 37 37 = Mubuf buffer_store_short_d16_hi;
            buffer_load_d16_hi_format_x -1 38 38 38 = Mubuf buffer_load_format_d16_hi_x;
            buffer_store_d16_hi_format_x -1 39 39 39 = Mubuf buffer_store_format_d16_hi_x;
            buffer_gl0_inv 113 43 43 -1 = Mubuf buffer_gl0_inv;
            buffer_gl1_inv 114 44 44 -1 = Mubuf buffer_gl1_inv;
            buffer_atomic_swap_b32 -1 51 51 51 = Mubuf buffer_atomic_swap;
            buffer_atomic_cmpswap_b32 -1 52 52 52 = Mubuf buffer_atomic_cmpswap;
            buffer_atomic_add_u32 -1 53 53 53 = Mubuf buffer_atomic_add;
            buffer_atomic_sub_u32 -1 54 54 54 = Mubuf buffer_atomic_sub;
            buffer_atomic_csub_u32 -1 55 55 -1 = Mubuf buffer_atomic_csub_u32;
            buffer_atomic_min_i32 -1 56 56 56 = Mubuf buffer_atomic_smin;
            buffer_atomic_min_u32 -1 57 57 57 = Mubuf buffer_atomic_umin;
            buffer_atomic_max_i32 -1 58 58 58 = Mubuf buffer_atomic_smax;
            buffer_atomic_max_u32 -1 59 59 59 = Mubuf buffer_atomic_umax;
            buffer_atomic_and_b32 -1 60 60 60 = Mubuf buffer_atomic_and;
            buffer_atomic_or_b32 -1 61 61 61 = Mubuf buffer_atomic_or;
            buffer_atomic_xor_b32 -1 62 62 62 = Mubuf buffer_atomic_xor;
            buffer_atomic_inc_u32 -1 63 63 63 = Mubuf buffer_atomic_inc;
            buffer_atomic_dec_u32 -1 64 64 64 = Mubuf buffer_atomic_dec;
            buffer_atomic_swap_b64 -1 65 65 65 = Mubuf buffer_atomic_swap_x2;
            buffer_atomic_cmpswap_b64 -1 66 66 66 = Mubuf buffer_atomic_cmpswap_x2;
            buffer_atomic_add_u64 -1 67 67 67 = Mubuf buffer_atomic_add_x2;
            buffer_atomic_sub_u64 -1 68 68 68 = Mubuf buffer_atomic_sub_x2;
            buffer_atomic_min_i64 -1 69 69 69 = Mubuf buffer_atomic_smin_x2;
            buffer_atomic_min_u64 -1 70 70 70 = Mubuf buffer_atomic_umin_x2;
            buffer_atomic_max_i64 -1 71 71 71 = Mubuf buffer_atomic_smax_x2;
            buffer_atomic_max_u64 -1 72 72 72 = Mubuf buffer_atomic_umax_x2;
            buffer_atomic_and_b64 -1 73 73 73 = Mubuf buffer_atomic_and_x2;
            buffer_atomic_or_b64 -1 74 74 74 = Mubuf buffer_atomic_or_x2;
            buffer_atomic_xor_b64 -1 75 75 75 = Mubuf buffer_atomic_xor_x2;
            buffer_atomic_inc_u64 -1 76 76 76 = Mubuf buffer_atomic_inc_x2;
            buffer_atomic_dec_u64 -1 77 77 77 = Mubuf buffer_atomic_dec_x2;
            buffer_atomic_cmpswap_f32 -1 80 80 -1 = Mubuf buffer_atomic_cmpswap_f32;
            buffer_atomic_min_f32 -1 81 81 -1 = Mubuf buffer_atomic_min_f32;
            buffer_atomic_max_f32 -1 82 82 -1 = Mubuf buffer_atomic_max_f32;
            buffer_atomic_add_f32 -1 86 86 86 = Mubuf buffer_atomic_add_f32;
            // Names that only gfx12 has, or that have other operands there.
            buffer_atomic_sub_clamp_u32 -1 -1 -1 55 = Mubuf buffer_atomic_csub_u32;
            buffer_atomic_cond_sub_u32 -1 -1 -1 80 = Mubuf buffer_atomic_cond_sub_u32;
            buffer_atomic_min_num_f32 -1 -1 -1 81 = Mubuf buffer_atomic_min_f32;
            buffer_atomic_max_num_f32 -1 -1 -1 82 = Mubuf buffer_atomic_max_f32;
            buffer_atomic_pk_add_f16 -1 -1 -1 89 = Mubuf buffer_atomic_pk_add_f16;
            buffer_atomic_pk_add_bf16 -1 -1 -1 90 = Mubuf buffer_atomic_pk_add_bf16;
            // gfx10.3 has most of these under the names of gfx9.
            buffer_load_ubyte 8 -1 -1 -1 = Mubuf buffer_load_ubyte;
            buffer_load_sbyte 9 -1 -1 -1 = Mubuf buffer_load_sbyte;
            buffer_load_ushort 10 -1 -1 -1 = Mubuf buffer_load_ushort;
            buffer_load_sshort 11 -1 -1 -1 = Mubuf buffer_load_sshort;
            buffer_load_dword 12 -1 -1 -1 = Mubuf buffer_load_dword;
            buffer_load_dwordx2 13 -1 -1 -1 = Mubuf buffer_load_dwordx2;
            buffer_load_dwordx4 14 -1 -1 -1 = Mubuf buffer_load_dwordx4;
            buffer_load_dwordx3 15 -1 -1 -1 = Mubuf buffer_load_dwordx3;
            buffer_store_byte 24 -1 -1 -1 = Mubuf buffer_store_byte;
            buffer_store_byte_d16_hi 25 -1 -1 -1 = Mubuf buffer_store_byte_d16_hi;
            buffer_store_short 26 -1 -1 -1 = Mubuf buffer_store_short;
            buffer_store_short_d16_hi 27 -1 -1 -1 = Mubuf buffer_store_short_d16_hi;
            buffer_store_dword 28 -1 -1 -1 = Mubuf buffer_store_dword;
            buffer_store_dwordx2 29 -1 -1 -1 = Mubuf buffer_store_dwordx2;
            buffer_store_dwordx4 30 -1 -1 -1 = Mubuf buffer_store_dwordx4;
            buffer_store_dwordx3 31 -1 -1 -1 = Mubuf buffer_store_dwordx3;
            buffer_load_ubyte_d16 32 -1 -1 -1 = Mubuf buffer_load_ubyte_d16;
            buffer_load_ubyte_d16_hi 33 -1 -1 -1 = Mubuf buffer_load_ubyte_d16_hi;
            buffer_load_sbyte_d16 34 -1 -1 -1 = Mubuf buffer_load_sbyte_d16;
            buffer_load_sbyte_d16_hi 35 -1 -1 -1 = Mubuf buffer_load_sbyte_d16_hi;
            buffer_load_short_d16 36 -1 -1 -1 = Mubuf buffer_load_short_d16;
            buffer_load_short_d16_hi 37 -1 -1 -1 = Mubuf buffer_load_short_d16_hi;
            buffer_load_format_d16_hi_x 38 -1 -1 -1 = Mubuf buffer_load_format_d16_hi_x;
            buffer_store_format_d16_hi_x 39 -1 -1 -1 = Mubuf buffer_store_format_d16_hi_x;
            buffer_atomic_swap 48 -1 -1 -1 = Mubuf buffer_atomic_swap;
            buffer_atomic_cmpswap 49 -1 -1 -1 = Mubuf buffer_atomic_cmpswap;
            buffer_atomic_add 50 -1 -1 -1 = Mubuf buffer_atomic_add;
            buffer_atomic_sub 51 -1 -1 -1 = Mubuf buffer_atomic_sub;
            buffer_atomic_csub 52 -1 -1 -1 = Mubuf buffer_atomic_csub_u32;
            buffer_atomic_smin 53 -1 -1 -1 = Mubuf buffer_atomic_smin;
            buffer_atomic_umin 54 -1 -1 -1 = Mubuf buffer_atomic_umin;
            buffer_atomic_smax 55 -1 -1 -1 = Mubuf buffer_atomic_smax;
            buffer_atomic_umax 56 -1 -1 -1 = Mubuf buffer_atomic_umax;
            buffer_atomic_and 57 -1 -1 -1 = Mubuf buffer_atomic_and;
            buffer_atomic_or 58 -1 -1 -1 = Mubuf buffer_atomic_or;
            buffer_atomic_xor 59 -1 -1 -1 = Mubuf buffer_atomic_xor;
            buffer_atomic_inc 60 -1 -1 -1 = Mubuf buffer_atomic_inc;
            buffer_atomic_dec 61 -1 -1 -1 = Mubuf buffer_atomic_dec;
            buffer_atomic_fcmpswap 62 -1 -1 -1 = Mubuf buffer_atomic_cmpswap_f32;
            buffer_atomic_fmin 63 -1 -1 -1 = Mubuf buffer_atomic_min_f32;
            buffer_atomic_fmax 64 -1 -1 -1 = Mubuf buffer_atomic_max_f32;
            buffer_atomic_swap_x2 80 -1 -1 -1 = Mubuf buffer_atomic_swap_x2;
            buffer_atomic_cmpswap_x2 81 -1 -1 -1 = Mubuf buffer_atomic_cmpswap_x2;
            buffer_atomic_add_x2 82 -1 -1 -1 = Mubuf buffer_atomic_add_x2;
            buffer_atomic_sub_x2 83 -1 -1 -1 = Mubuf buffer_atomic_sub_x2;
            buffer_atomic_smin_x2 85 -1 -1 -1 = Mubuf buffer_atomic_smin_x2;
            buffer_atomic_umin_x2 86 -1 -1 -1 = Mubuf buffer_atomic_umin_x2;
            buffer_atomic_smax_x2 87 -1 -1 -1 = Mubuf buffer_atomic_smax_x2;
            buffer_atomic_umax_x2 88 -1 -1 -1 = Mubuf buffer_atomic_umax_x2;
            buffer_atomic_and_x2 89 -1 -1 -1 = Mubuf buffer_atomic_and_x2;
            buffer_atomic_or_x2 90 -1 -1 -1 = Mubuf buffer_atomic_or_x2;
            buffer_atomic_xor_x2 91 -1 -1 -1 = Mubuf buffer_atomic_xor_x2;
            buffer_atomic_inc_x2 92 -1 -1 -1 = Mubuf buffer_atomic_inc_x2;
            buffer_atomic_dec_x2 93 -1 -1 -1 = Mubuf buffer_atomic_dec_x2;
            buffer_atomic_fcmpswap_x2 94 -1 -1 -1 = Mubuf buffer_atomic_fcmpswap_x2;
            buffer_atomic_fmin_x2 95 -1 -1 -1 = Mubuf buffer_atomic_min_f64;
            buffer_atomic_fmax_x2 96 -1 -1 -1 = Mubuf buffer_atomic_max_f64;
            buffer_load_format_d16_x 128 -1 -1 -1 = Mubuf buffer_load_format_d16_x;
            buffer_load_format_d16_xy 129 -1 -1 -1 = Mubuf buffer_load_format_d16_xy;
            buffer_load_format_d16_xyz 130 -1 -1 -1 = Mubuf buffer_load_format_d16_xyz;
            buffer_load_format_d16_xyzw 131 -1 -1 -1 = Mubuf buffer_load_format_d16_xyzw;
            buffer_store_format_d16_x 132 -1 -1 -1 = Mubuf buffer_store_format_d16_x;
            buffer_store_format_d16_xy 133 -1 -1 -1 = Mubuf buffer_store_format_d16_xy;
            buffer_store_format_d16_xyz 134 -1 -1 -1 = Mubuf buffer_store_format_d16_xyz;
            buffer_store_format_d16_xyzw 135 -1 -1 -1 = Mubuf buffer_store_format_d16_xyzw;
        }
    };
}

/// Passes the instructions of MTBUF on RDNA to a macro.
macro_rules! mtbuf {
    ($make:ident) => {
        $make! {
            Mtbuf:
            tbuffer_load_format_x 0 0 0 0 = Mtbuf tbuffer_load_format_x;
            tbuffer_load_format_xy 1 1 1 1 = Mtbuf tbuffer_load_format_xy;
            tbuffer_load_format_xyz 2 2 2 2 = Mtbuf tbuffer_load_format_xyz;
            tbuffer_load_format_xyzw 3 3 3 3 = Mtbuf tbuffer_load_format_xyzw;
            tbuffer_store_format_x 4 4 4 4 = Mtbuf tbuffer_store_format_x;
            tbuffer_store_format_xy 5 5 5 5 = Mtbuf tbuffer_store_format_xy;
            tbuffer_store_format_xyz 6 6 6 6 = Mtbuf tbuffer_store_format_xyz;
            tbuffer_store_format_xyzw 7 7 7 7 = Mtbuf tbuffer_store_format_xyzw;
            tbuffer_load_d16_format_x -1 8 8 8 = Mtbuf tbuffer_load_format_d16_x;
            tbuffer_load_d16_format_xy -1 9 9 9 = Mtbuf tbuffer_load_format_d16_xy;
            tbuffer_load_d16_format_xyz -1 10 10 10 = Mtbuf tbuffer_load_format_d16_xyz;
            tbuffer_load_d16_format_xyzw -1 11 11 11 = Mtbuf tbuffer_load_format_d16_xyzw;
            tbuffer_store_d16_format_x -1 12 12 12 = Mtbuf tbuffer_store_format_d16_x;
            tbuffer_store_d16_format_xy -1 13 13 13 = Mtbuf tbuffer_store_format_d16_xy;
            tbuffer_store_d16_format_xyz -1 14 14 14 = Mtbuf tbuffer_store_format_d16_xyz;
            tbuffer_store_d16_format_xyzw -1 15 15 15 = Mtbuf tbuffer_store_format_d16_xyzw;
            // gfx10.3 has most of these under the names of gfx9.
            tbuffer_load_format_d16_x 8 -1 -1 -1 = Mtbuf tbuffer_load_format_d16_x;
            tbuffer_load_format_d16_xy 9 -1 -1 -1 = Mtbuf tbuffer_load_format_d16_xy;
            tbuffer_load_format_d16_xyz 10 -1 -1 -1 = Mtbuf tbuffer_load_format_d16_xyz;
            tbuffer_load_format_d16_xyzw 11 -1 -1 -1 = Mtbuf tbuffer_load_format_d16_xyzw;
            tbuffer_store_format_d16_x 12 -1 -1 -1 = Mtbuf tbuffer_store_format_d16_x;
            tbuffer_store_format_d16_xy 13 -1 -1 -1 = Mtbuf tbuffer_store_format_d16_xy;
            tbuffer_store_format_d16_xyz 14 -1 -1 -1 = Mtbuf tbuffer_store_format_d16_xyz;
            tbuffer_store_format_d16_xyzw 15 -1 -1 -1 = Mtbuf tbuffer_store_format_d16_xyzw;
        }
    };
}

pub(crate) use {mtbuf, mubuf};
