//! MUBUF, MTBUF on gfx11.

/// Passes the instructions of MUBUF on gfx11 to a macro.
macro_rules! mubuf {
    ($make:ident) => {
        $make! {
            Mubuf:
            buffer_load_format_x 0 0 = Mubuf buffer_load_format_x;
            buffer_load_format_xy 1 1 = Mubuf buffer_load_format_xy;
            buffer_load_format_xyz 2 2 = Mubuf buffer_load_format_xyz;
            buffer_load_format_xyzw 3 3 = Mubuf buffer_load_format_xyzw;
            buffer_store_format_x 4 4 = Mubuf buffer_store_format_x;
            buffer_store_format_xy 5 5 = Mubuf buffer_store_format_xy;
            buffer_store_format_xyz 6 6 = Mubuf buffer_store_format_xyz;
            buffer_store_format_xyzw 7 7 = Mubuf buffer_store_format_xyzw;
            buffer_load_d16_format_x 8 8 = Mubuf buffer_load_format_d16_x;
            buffer_load_d16_format_xy 9 9 = Mubuf buffer_load_format_d16_xy;
            buffer_load_d16_format_xyz 10 10 = Mubuf buffer_load_format_d16_xyz;
            buffer_load_d16_format_xyzw 11 11 = Mubuf buffer_load_format_d16_xyzw;
            buffer_store_d16_format_x 12 12 = Mubuf buffer_store_format_d16_x;
            buffer_store_d16_format_xy 13 13 = Mubuf buffer_store_format_d16_xy;
            buffer_store_d16_format_xyz 14 14 = Mubuf buffer_store_format_d16_xyz;
            buffer_store_d16_format_xyzw 15 15 = Mubuf buffer_store_format_d16_xyzw;
            buffer_load_u8 16 16 = Mubuf buffer_load_ubyte;
            buffer_load_i8 17 17 = Mubuf buffer_load_sbyte;
            buffer_load_u16 18 18 = Mubuf buffer_load_ushort;
            buffer_load_i16 19 19 = Mubuf buffer_load_sshort;
            buffer_load_b32 20 20 = Mubuf buffer_load_dword;
            buffer_load_b64 21 21 = Mubuf buffer_load_dwordx2;
            buffer_load_b96 22 22 = Mubuf buffer_load_dwordx3;
            buffer_load_b128 23 23 = Mubuf buffer_load_dwordx4;
            buffer_store_b8 24 24 = Mubuf buffer_store_byte;
            buffer_store_b16 25 25 = Mubuf buffer_store_short;
            buffer_store_b32 26 26 = Mubuf buffer_store_dword;
            buffer_store_b64 27 27 = Mubuf buffer_store_dwordx2;
            buffer_store_b96 28 28 = Mubuf buffer_store_dwordx3;
            buffer_store_b128 29 29 = Mubuf buffer_store_dwordx4;
            buffer_load_d16_u8 30 30 = Mubuf buffer_load_ubyte_d16;
            buffer_load_d16_i8 31 31 = Mubuf buffer_load_sbyte_d16;
            buffer_load_d16_b16 32 32 = Mubuf buffer_load_short_d16;
            buffer_load_d16_hi_u8 33 33 = Mubuf buffer_load_ubyte_d16_hi;
            buffer_load_d16_hi_i8 34 34 = Mubuf buffer_load_sbyte_d16_hi;
            buffer_load_d16_hi_b16 35 35 = Mubuf buffer_load_short_d16_hi;
            buffer_store_d16_hi_b8 36 36 = Mubuf buffer_store_byte_d16_hi;
            buffer_store_d16_hi_b16 37 37 = Mubuf buffer_store_short_d16_hi;
            buffer_load_d16_hi_format_x 38 38 = Mubuf buffer_load_format_d16_hi_x;
            buffer_store_d16_hi_format_x 39 39 = Mubuf buffer_store_format_d16_hi_x;
            buffer_gl0_inv 43 43 = Mubuf buffer_gl0_inv;
            buffer_gl1_inv 44 44 = Mubuf buffer_gl1_inv;
            buffer_atomic_swap_b32 51 51 = Mubuf buffer_atomic_swap;
            buffer_atomic_cmpswap_b32 52 52 = Mubuf buffer_atomic_cmpswap;
            buffer_atomic_add_u32 53 53 = Mubuf buffer_atomic_add;
            buffer_atomic_sub_u32 54 54 = Mubuf buffer_atomic_sub;
            buffer_atomic_csub_u32 55 55 = Mubuf buffer_atomic_csub_u32;
            buffer_atomic_min_i32 56 56 = Mubuf buffer_atomic_smin;
            buffer_atomic_min_u32 57 57 = Mubuf buffer_atomic_umin;
            buffer_atomic_max_i32 58 58 = Mubuf buffer_atomic_smax;
            buffer_atomic_max_u32 59 59 = Mubuf buffer_atomic_umax;
            buffer_atomic_and_b32 60 60 = Mubuf buffer_atomic_and;
            buffer_atomic_or_b32 61 61 = Mubuf buffer_atomic_or;
            buffer_atomic_xor_b32 62 62 = Mubuf buffer_atomic_xor;
            buffer_atomic_inc_u32 63 63 = Mubuf buffer_atomic_inc;
            buffer_atomic_dec_u32 64 64 = Mubuf buffer_atomic_dec;
            buffer_atomic_swap_b64 65 65 = Mubuf buffer_atomic_swap_x2;
            buffer_atomic_cmpswap_b64 66 66 = Mubuf buffer_atomic_cmpswap_x2;
            buffer_atomic_add_u64 67 67 = Mubuf buffer_atomic_add_x2;
            buffer_atomic_sub_u64 68 68 = Mubuf buffer_atomic_sub_x2;
            buffer_atomic_min_i64 69 69 = Mubuf buffer_atomic_smin_x2;
            buffer_atomic_min_u64 70 70 = Mubuf buffer_atomic_umin_x2;
            buffer_atomic_max_i64 71 71 = Mubuf buffer_atomic_smax_x2;
            buffer_atomic_max_u64 72 72 = Mubuf buffer_atomic_umax_x2;
            buffer_atomic_and_b64 73 73 = Mubuf buffer_atomic_and_x2;
            buffer_atomic_or_b64 74 74 = Mubuf buffer_atomic_or_x2;
            buffer_atomic_xor_b64 75 75 = Mubuf buffer_atomic_xor_x2;
            buffer_atomic_inc_u64 76 76 = Mubuf buffer_atomic_inc_x2;
            buffer_atomic_dec_u64 77 77 = Mubuf buffer_atomic_dec_x2;
            buffer_atomic_cmpswap_f32 80 80 = Mubuf buffer_atomic_cmpswap_f32;
            buffer_atomic_min_f32 81 81 = Mubuf buffer_atomic_min_f32;
            buffer_atomic_max_f32 82 82 = Mubuf buffer_atomic_max_f32;
            buffer_atomic_add_f32 86 86 = Mubuf buffer_atomic_add_f32;
        }
    };
}

/// Passes the instructions of MTBUF on gfx11 to a macro.
macro_rules! mtbuf {
    ($make:ident) => {
        $make! {
            Mtbuf:
            tbuffer_load_format_x 0 0 = Mtbuf tbuffer_load_format_x;
            tbuffer_load_format_xy 1 1 = Mtbuf tbuffer_load_format_xy;
            tbuffer_load_format_xyz 2 2 = Mtbuf tbuffer_load_format_xyz;
            tbuffer_load_format_xyzw 3 3 = Mtbuf tbuffer_load_format_xyzw;
            tbuffer_store_format_x 4 4 = Mtbuf tbuffer_store_format_x;
            tbuffer_store_format_xy 5 5 = Mtbuf tbuffer_store_format_xy;
            tbuffer_store_format_xyz 6 6 = Mtbuf tbuffer_store_format_xyz;
            tbuffer_store_format_xyzw 7 7 = Mtbuf tbuffer_store_format_xyzw;
            tbuffer_load_d16_format_x 8 8 = Mtbuf tbuffer_load_format_d16_x;
            tbuffer_load_d16_format_xy 9 9 = Mtbuf tbuffer_load_format_d16_xy;
            tbuffer_load_d16_format_xyz 10 10 = Mtbuf tbuffer_load_format_d16_xyz;
            tbuffer_load_d16_format_xyzw 11 11 = Mtbuf tbuffer_load_format_d16_xyzw;
            tbuffer_store_d16_format_x 12 12 = Mtbuf tbuffer_store_format_d16_x;
            tbuffer_store_d16_format_xy 13 13 = Mtbuf tbuffer_store_format_d16_xy;
            tbuffer_store_d16_format_xyz 14 14 = Mtbuf tbuffer_store_format_d16_xyz;
            tbuffer_store_d16_format_xyzw 15 15 = Mtbuf tbuffer_store_format_d16_xyzw;
        }
    };
}

pub(crate) use {mtbuf, mubuf};
