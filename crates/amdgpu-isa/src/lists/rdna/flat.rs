//! FLAT, GLOBAL, SCRATCH on RDNA.

/// Passes the instructions of FLAT on RDNA to a macro.
macro_rules! flat {
    ($make:ident) => {
        $make! {
            Flat:
            flat_load_u8 -1 16 16 16 = Flat flat_load_ubyte;
            flat_load_i8 -1 17 17 17 = Flat flat_load_sbyte;
            flat_load_u16 -1 18 18 18 = Flat flat_load_ushort;
            flat_load_i16 -1 19 19 19 = Flat flat_load_sshort;
            flat_load_b32 -1 20 20 20 = Flat flat_load_dword;
            flat_load_b64 -1 21 21 21 = Flat flat_load_dwordx2;
            flat_load_b96 -1 22 22 22 = Flat flat_load_dwordx3;
            flat_load_b128 -1 23 23 23 = Flat flat_load_dwordx4;
            flat_store_b8 -1 24 24 24 = Flat flat_store_byte;
            flat_store_b16 -1 25 25 25 = Flat flat_store_short;
            flat_store_b32 -1 26 26 26 = Flat flat_store_dword;
            flat_store_b64 -1 27 27 27 = Flat flat_store_dwordx2;
            flat_store_b96 -1 28 28 28 = Flat flat_store_dwordx3;
            flat_store_b128 -1 29 29 29 = Flat flat_store_dwordx4;
            flat_load_d16_u8 -1 30 30 30 = Flat flat_load_ubyte_d16;
            flat_load_d16_i8 -1 31 31 31 = Flat flat_load_sbyte_d16;
            flat_load_d16_b16 -1 32 32 32 = Flat flat_load_short_d16;
            flat_load_d16_hi_u8 -1 33 33 33 = Flat flat_load_ubyte_d16_hi;
            flat_load_d16_hi_i8 -1 34 34 34 = Flat flat_load_sbyte_d16_hi;
            flat_load_d16_hi_b16 -1 35 35 35 = Flat flat_load_short_d16_hi;
            flat_store_d16_hi_b8 -1 36 36 36 = Flat flat_store_byte_d16_hi;
            flat_store_d16_hi_b16 -1 37 37 37 = Flat flat_store_short_d16_hi;
            flat_atomic_swap_b32 -1 51 51 51 = Flat flat_atomic_swap;
            flat_atomic_cmpswap_b32 -1 52 52 52 = Flat flat_atomic_cmpswap;
            flat_atomic_add_u32 -1 53 53 53 = Flat flat_atomic_add;
            flat_atomic_sub_u32 -1 54 54 54 = Flat flat_atomic_sub;
            flat_atomic_min_i32 -1 56 56 56 = Flat flat_atomic_smin;
            flat_atomic_min_u32 -1 57 57 57 = Flat flat_atomic_umin;
            flat_atomic_max_i32 -1 58 58 58 = Flat flat_atomic_smax;
            flat_atomic_max_u32 -1 59 59 59 = Flat flat_atomic_umax;
            flat_atomic_and_b32 -1 60 60 60 = Flat flat_atomic_and;
            flat_atomic_or_b32 -1 61 61 61 = Flat flat_atomic_or;
            flat_atomic_xor_b32 -1 62 62 62 = Flat flat_atomic_xor;
            flat_atomic_inc_u32 -1 63 63 63 = Flat flat_atomic_inc;
            flat_atomic_dec_u32 -1 64 64 64 = Flat flat_atomic_dec;
            flat_atomic_swap_b64 -1 65 65 65 = Flat flat_atomic_swap_x2;
            flat_atomic_cmpswap_b64 -1 66 66 66 = Flat flat_atomic_cmpswap_x2;
            flat_atomic_add_u64 -1 67 67 67 = Flat flat_atomic_add_x2;
            flat_atomic_sub_u64 -1 68 68 68 = Flat flat_atomic_sub_x2;
            flat_atomic_min_i64 -1 69 69 69 = Flat flat_atomic_smin_x2;
            flat_atomic_min_u64 -1 70 70 70 = Flat flat_atomic_umin_x2;
            flat_atomic_max_i64 -1 71 71 71 = Flat flat_atomic_smax_x2;
            flat_atomic_max_u64 -1 72 72 72 = Flat flat_atomic_umax_x2;
            flat_atomic_and_b64 -1 73 73 73 = Flat flat_atomic_and_x2;
            flat_atomic_or_b64 -1 74 74 74 = Flat flat_atomic_or_x2;
            flat_atomic_xor_b64 -1 75 75 75 = Flat flat_atomic_xor_x2;
            flat_atomic_inc_u64 -1 76 76 76 = Flat flat_atomic_inc_x2;
            flat_atomic_dec_u64 -1 77 77 77 = Flat flat_atomic_dec_x2;
            flat_atomic_cmpswap_f32 -1 80 80 -1 = Flat flat_atomic_cmpswap_f32;
            flat_atomic_min_f32 -1 81 81 -1 = Flat flat_atomic_min_f32;
            flat_atomic_max_f32 -1 82 82 -1 = Flat flat_atomic_max_f32;
            flat_atomic_add_f32 -1 86 86 86 = Flat flat_atomic_add_f32;
            // Names that only gfx12 has, or that have other operands there.
            flat_atomic_sub_clamp_u32 -1 -1 -1 55 = Flat flat_atomic_sub_clamp_u32;
            flat_atomic_cond_sub_u32 -1 -1 -1 80 = Flat flat_atomic_cond_sub_u32;
            flat_atomic_min_num_f32 -1 -1 -1 81 = Flat flat_atomic_min_f32;
            flat_atomic_max_num_f32 -1 -1 -1 82 = Flat flat_atomic_max_f32;
            flat_atomic_pk_add_f16 -1 -1 -1 89 = Flat flat_atomic_pk_add_f16;
            flat_atomic_pk_add_bf16 -1 -1 -1 90 = Flat flat_atomic_pk_add_bf16;
            // gfx10.3 has most of these under the names of gfx9.
            flat_load_ubyte 8 -1 -1 -1 = Flat flat_load_ubyte;
            flat_load_sbyte 9 -1 -1 -1 = Flat flat_load_sbyte;
            flat_load_ushort 10 -1 -1 -1 = Flat flat_load_ushort;
            flat_load_sshort 11 -1 -1 -1 = Flat flat_load_sshort;
            flat_load_dword 12 -1 -1 -1 = Flat flat_load_dword;
            flat_load_dwordx2 13 -1 -1 -1 = Flat flat_load_dwordx2;
            flat_load_dwordx4 14 -1 -1 -1 = Flat flat_load_dwordx4;
            flat_load_dwordx3 15 -1 -1 -1 = Flat flat_load_dwordx3;
            flat_store_byte 24 -1 -1 -1 = Flat flat_store_byte;
            flat_store_byte_d16_hi 25 -1 -1 -1 = Flat flat_store_byte_d16_hi;
            flat_store_short 26 -1 -1 -1 = Flat flat_store_short;
            flat_store_short_d16_hi 27 -1 -1 -1 = Flat flat_store_short_d16_hi;
            flat_store_dword 28 -1 -1 -1 = Flat flat_store_dword;
            flat_store_dwordx2 29 -1 -1 -1 = Flat flat_store_dwordx2;
            flat_store_dwordx4 30 -1 -1 -1 = Flat flat_store_dwordx4;
            flat_store_dwordx3 31 -1 -1 -1 = Flat flat_store_dwordx3;
            flat_load_ubyte_d16 32 -1 -1 -1 = Flat flat_load_ubyte_d16;
            flat_load_ubyte_d16_hi 33 -1 -1 -1 = Flat flat_load_ubyte_d16_hi;
            flat_load_sbyte_d16 34 -1 -1 -1 = Flat flat_load_sbyte_d16;
            flat_load_sbyte_d16_hi 35 -1 -1 -1 = Flat flat_load_sbyte_d16_hi;
            flat_load_short_d16 36 -1 -1 -1 = Flat flat_load_short_d16;
            flat_load_short_d16_hi 37 -1 -1 -1 = Flat flat_load_short_d16_hi;
            flat_atomic_swap 48 -1 -1 -1 = Flat flat_atomic_swap;
            flat_atomic_cmpswap 49 -1 -1 -1 = Flat flat_atomic_cmpswap;
            flat_atomic_add 50 -1 -1 -1 = Flat flat_atomic_add;
            flat_atomic_sub 51 -1 -1 -1 = Flat flat_atomic_sub;
            flat_atomic_smin 53 -1 -1 -1 = Flat flat_atomic_smin;
            flat_atomic_umin 54 -1 -1 -1 = Flat flat_atomic_umin;
            flat_atomic_smax 55 -1 -1 -1 = Flat flat_atomic_smax;
            flat_atomic_umax 56 -1 -1 -1 = Flat flat_atomic_umax;
            flat_atomic_and 57 -1 -1 -1 = Flat flat_atomic_and;
            flat_atomic_or 58 -1 -1 -1 = Flat flat_atomic_or;
            flat_atomic_xor 59 -1 -1 -1 = Flat flat_atomic_xor;
            flat_atomic_inc 60 -1 -1 -1 = Flat flat_atomic_inc;
            flat_atomic_dec 61 -1 -1 -1 = Flat flat_atomic_dec;
            flat_atomic_fcmpswap 62 -1 -1 -1 = Flat flat_atomic_cmpswap_f32;
            flat_atomic_fmin 63 -1 -1 -1 = Flat flat_atomic_min_f32;
            flat_atomic_fmax 64 -1 -1 -1 = Flat flat_atomic_max_f32;
            flat_atomic_swap_x2 80 -1 -1 -1 = Flat flat_atomic_swap_x2;
            flat_atomic_cmpswap_x2 81 -1 -1 -1 = Flat flat_atomic_cmpswap_x2;
            flat_atomic_add_x2 82 -1 -1 -1 = Flat flat_atomic_add_x2;
            flat_atomic_sub_x2 83 -1 -1 -1 = Flat flat_atomic_sub_x2;
            flat_atomic_smin_x2 85 -1 -1 -1 = Flat flat_atomic_smin_x2;
            flat_atomic_umin_x2 86 -1 -1 -1 = Flat flat_atomic_umin_x2;
            flat_atomic_smax_x2 87 -1 -1 -1 = Flat flat_atomic_smax_x2;
            flat_atomic_umax_x2 88 -1 -1 -1 = Flat flat_atomic_umax_x2;
            flat_atomic_and_x2 89 -1 -1 -1 = Flat flat_atomic_and_x2;
            flat_atomic_or_x2 90 -1 -1 -1 = Flat flat_atomic_or_x2;
            flat_atomic_xor_x2 91 -1 -1 -1 = Flat flat_atomic_xor_x2;
            flat_atomic_inc_x2 92 -1 -1 -1 = Flat flat_atomic_inc_x2;
            flat_atomic_dec_x2 93 -1 -1 -1 = Flat flat_atomic_dec_x2;
            flat_atomic_fcmpswap_x2 94 -1 -1 -1 = Flat flat_atomic_fcmpswap_x2;
            flat_atomic_fmin_x2 95 -1 -1 -1 = Flat flat_atomic_min_f64;
            flat_atomic_fmax_x2 96 -1 -1 -1 = Flat flat_atomic_max_f64;
        }
    };
}

/// Passes the instructions of GLOBAL on RDNA to a macro.
macro_rules! global {
    ($make:ident) => {
        $make! {
            Global:
            global_load_u8 -1 16 16 16 = Global global_load_ubyte;
            global_load_i8 -1 17 17 17 = Global global_load_sbyte;
            global_load_u16 -1 18 18 18 = Global global_load_ushort;
            global_load_i16 -1 19 19 19 = Global global_load_sshort;
            global_load_b32 -1 20 20 20 = Global global_load_dword;
            global_load_b64 -1 21 21 21 = Global global_load_dwordx2;
            global_load_b96 -1 22 22 22 = Global global_load_dwordx3;
            global_load_b128 -1 23 23 23 = Global global_load_dwordx4;
            global_store_b8 -1 24 24 24 = Global global_store_byte;
            global_store_b16 -1 25 25 25 = Global global_store_short;
            global_store_b32 -1 26 26 26 = Global global_store_dword;
            global_store_b64 -1 27 27 27 = Global global_store_dwordx2;
            global_store_b96 -1 28 28 28 = Global global_store_dwordx3;
            global_store_b128 -1 29 29 29 = Global global_store_dwordx4;
            global_load_d16_u8 -1 30 30 30 = Global global_load_ubyte_d16;
            global_load_d16_i8 -1 31 31 31 = Global global_load_sbyte_d16;
            global_load_d16_b16 -1 32 32 32 = Global global_load_short_d16;
            global_load_d16_hi_u8 -1 33 33 33 = Global global_load_ubyte_d16_hi;
            global_load_d16_hi_i8 -1 34 34 34 = Global global_load_sbyte_d16_hi;
            global_load_d16_hi_b16 -1 35 35 35 = Global global_load_short_d16_hi;
            global_store_d16_hi_b8 -1 36 36 36 = Global global_store_byte_d16_hi;
            global_store_d16_hi_b16 -1 37 37 37 = Global global_store_short_d16_hi;
            global_load_addtid_b32 -1 40 40 40 = Global global_load_addtid_b32;
            global_store_addtid_b32 -1 41 41 41 = Global global_store_addtid_b32;
            global_atomic_swap_b32 -1 51 51 51 = Global global_atomic_swap;
            global_atomic_cmpswap_b32 -1 52 52 52 = Global global_atomic_cmpswap;
            global_atomic_add_u32 -1 53 53 53 = Global global_atomic_add;
            global_atomic_sub_u32 -1 54 54 54 = Global global_atomic_sub;
            global_atomic_csub_u32 -1 55 55 -1 = Global global_atomic_csub_u32;
            global_atomic_min_i32 -1 56 56 56 = Global global_atomic_smin;
            global_atomic_min_u32 -1 57 57 57 = Global global_atomic_umin;
            global_atomic_max_i32 -1 58 58 58 = Global global_atomic_smax;
            global_atomic_max_u32 -1 59 59 59 = Global global_atomic_umax;
            global_atomic_and_b32 -1 60 60 60 = Global global_atomic_and;
            global_atomic_or_b32 -1 61 61 61 = Global global_atomic_or;
            global_atomic_xor_b32 -1 62 62 62 = Global global_atomic_xor;
            global_atomic_inc_u32 -1 63 63 63 = Global global_atomic_inc;
            global_atomic_dec_u32 -1 64 64 64 = Global global_atomic_dec;
            global_atomic_swap_b64 -1 65 65 65 = Global global_atomic_swap_x2;
            global_atomic_cmpswap_b64 -1 66 66 66 = Global global_atomic_cmpswap_x2;
            global_atomic_add_u64 -1 67 67 67 = Global global_atomic_add_x2;
            global_atomic_sub_u64 -1 68 68 68 = Global global_atomic_sub_x2;
            global_atomic_min_i64 -1 69 69 69 = Global global_atomic_smin_x2;
            global_atomic_min_u64 -1 70 70 70 = Global global_atomic_umin_x2;
            global_atomic_max_i64 -1 71 71 71 = Global global_atomic_smax_x2;
            global_atomic_max_u64 -1 72 72 72 = Global global_atomic_umax_x2;
            global_atomic_and_b64 -1 73 73 73 = Global global_atomic_and_x2;
            global_atomic_or_b64 -1 74 74 74 = Global global_atomic_or_x2;
            global_atomic_xor_b64 -1 75 75 75 = Global global_atomic_xor_x2;
            global_atomic_inc_u64 -1 76 76 76 = Global global_atomic_inc_x2;
            global_atomic_dec_u64 -1 77 77 77 = Global global_atomic_dec_x2;
            global_atomic_cmpswap_f32 -1 80 80 -1 = Global global_atomic_cmpswap_f32;
            global_atomic_min_f32 -1 81 81 -1 = Global global_atomic_min_f32;
            global_atomic_max_f32 -1 82 82 -1 = Global global_atomic_max_f32;
            global_atomic_add_f32 -1 86 86 86 = Global global_atomic_add_f32;
            // Names that only gfx12 has, or that have other operands there.
            global_inv -1 -1 -1 43 = Global global_inv;
            global_wb -1 -1 -1 44 = Global global_wb;
            global_atomic_sub_clamp_u32 -1 -1 -1 55 = Global global_atomic_csub_u32;
            global_wbinv -1 -1 -1 79 = Global global_wbinv;
            global_atomic_cond_sub_u32 -1 -1 -1 80 = Global global_atomic_cond_sub_u32;
            global_atomic_min_num_f32 -1 -1 -1 81 = Global global_atomic_min_f32;
            global_atomic_max_num_f32 -1 -1 -1 82 = Global global_atomic_max_f32;
            global_load_block -1 -1 -1 83 = Global global_load_block;
            global_store_block -1 -1 -1 84 = Global global_store_block;
            global_load_tr_b128 -1 -1 -1 87 = Global global_load_tr_b128;
            global_load_tr_b64 -1 -1 -1 88 = Global global_load_tr_b64;
            global_atomic_pk_add_f16 -1 -1 -1 89 = Global global_atomic_pk_add_f16;
            global_atomic_pk_add_bf16 -1 -1 -1 90 = Global global_atomic_pk_add_bf16;
            global_atomic_ordered_add_b64 -1 -1 -1 115 = Global global_atomic_ordered_add_b64;
            // gfx10.3 has most of these under the names of gfx9.
            global_load_ubyte 8 -1 -1 -1 = Global global_load_ubyte;
            global_load_sbyte 9 -1 -1 -1 = Global global_load_sbyte;
            global_load_ushort 10 -1 -1 -1 = Global global_load_ushort;
            global_load_sshort 11 -1 -1 -1 = Global global_load_sshort;
            global_load_dword 12 -1 -1 -1 = Global global_load_dword;
            global_load_dwordx2 13 -1 -1 -1 = Global global_load_dwordx2;
            global_load_dwordx4 14 -1 -1 -1 = Global global_load_dwordx4;
            global_load_dwordx3 15 -1 -1 -1 = Global global_load_dwordx3;
            global_load_dword_addtid 22 -1 -1 -1 = Global global_load_addtid_b32;
            global_store_dword_addtid 23 -1 -1 -1 = Global global_store_addtid_b32;
            global_store_byte 24 -1 -1 -1 = Global global_store_byte;
            global_store_byte_d16_hi 25 -1 -1 -1 = Global global_store_byte_d16_hi;
            global_store_short 26 -1 -1 -1 = Global global_store_short;
            global_store_short_d16_hi 27 -1 -1 -1 = Global global_store_short_d16_hi;
            global_store_dword 28 -1 -1 -1 = Global global_store_dword;
            global_store_dwordx2 29 -1 -1 -1 = Global global_store_dwordx2;
            global_store_dwordx4 30 -1 -1 -1 = Global global_store_dwordx4;
            global_store_dwordx3 31 -1 -1 -1 = Global global_store_dwordx3;
            global_load_ubyte_d16 32 -1 -1 -1 = Global global_load_ubyte_d16;
            global_load_ubyte_d16_hi 33 -1 -1 -1 = Global global_load_ubyte_d16_hi;
            global_load_sbyte_d16 34 -1 -1 -1 = Global global_load_sbyte_d16;
            global_load_sbyte_d16_hi 35 -1 -1 -1 = Global global_load_sbyte_d16_hi;
            global_load_short_d16 36 -1 -1 -1 = Global global_load_short_d16;
            global_load_short_d16_hi 37 -1 -1 -1 = Global global_load_short_d16_hi;
            global_atomic_swap 48 -1 -1 -1 = Global global_atomic_swap;
            global_atomic_cmpswap 49 -1 -1 -1 = Global global_atomic_cmpswap;
            global_atomic_add 50 -1 -1 -1 = Global global_atomic_add;
            global_atomic_sub 51 -1 -1 -1 = Global global_atomic_sub;
            global_atomic_csub 52 -1 -1 -1 = Global global_atomic_csub_u32;
            global_atomic_smin 53 -1 -1 -1 = Global global_atomic_smin;
            global_atomic_umin 54 -1 -1 -1 = Global global_atomic_umin;
            global_atomic_smax 55 -1 -1 -1 = Global global_atomic_smax;
            global_atomic_umax 56 -1 -1 -1 = Global global_atomic_umax;
            global_atomic_and 57 -1 -1 -1 = Global global_atomic_and;
            global_atomic_or 58 -1 -1 -1 = Global global_atomic_or;
            global_atomic_xor 59 -1 -1 -1 = Global global_atomic_xor;
            global_atomic_inc 60 -1 -1 -1 = Global global_atomic_inc;
            global_atomic_dec 61 -1 -1 -1 = Global global_atomic_dec;
            global_atomic_fcmpswap 62 -1 -1 -1 = Global global_atomic_cmpswap_f32;
            global_atomic_fmin 63 -1 -1 -1 = Global global_atomic_min_f32;
            global_atomic_fmax 64 -1 -1 -1 = Global global_atomic_max_f32;
            global_atomic_swap_x2 80 -1 -1 -1 = Global global_atomic_swap_x2;
            global_atomic_cmpswap_x2 81 -1 -1 -1 = Global global_atomic_cmpswap_x2;
            global_atomic_add_x2 82 -1 -1 -1 = Global global_atomic_add_x2;
            global_atomic_sub_x2 83 -1 -1 -1 = Global global_atomic_sub_x2;
            global_atomic_smin_x2 85 -1 -1 -1 = Global global_atomic_smin_x2;
            global_atomic_umin_x2 86 -1 -1 -1 = Global global_atomic_umin_x2;
            global_atomic_smax_x2 87 -1 -1 -1 = Global global_atomic_smax_x2;
            global_atomic_umax_x2 88 -1 -1 -1 = Global global_atomic_umax_x2;
            global_atomic_and_x2 89 -1 -1 -1 = Global global_atomic_and_x2;
            global_atomic_or_x2 90 -1 -1 -1 = Global global_atomic_or_x2;
            global_atomic_xor_x2 91 -1 -1 -1 = Global global_atomic_xor_x2;
            global_atomic_inc_x2 92 -1 -1 -1 = Global global_atomic_inc_x2;
            global_atomic_dec_x2 93 -1 -1 -1 = Global global_atomic_dec_x2;
            global_atomic_fcmpswap_x2 94 -1 -1 -1 = Global global_atomic_fcmpswap_x2;
            global_atomic_fmin_x2 95 -1 -1 -1 = Global global_atomic_min_f64;
            global_atomic_fmax_x2 96 -1 -1 -1 = Global global_atomic_max_f64;
        }
    };
}

/// Passes the instructions of SCRATCH on RDNA to a macro.
macro_rules! scratch {
    ($make:ident) => {
        $make! {
            Scratch:
            scratch_load_u8 -1 16 16 16 = Scratch scratch_load_ubyte;
            scratch_load_i8 -1 17 17 17 = Scratch scratch_load_sbyte;
            scratch_load_u16 -1 18 18 18 = Scratch scratch_load_ushort;
            scratch_load_i16 -1 19 19 19 = Scratch scratch_load_sshort;
            scratch_load_b32 -1 20 20 20 = Scratch scratch_load_dword;
            scratch_load_b64 -1 21 21 21 = Scratch scratch_load_dwordx2;
            scratch_load_b96 -1 22 22 22 = Scratch scratch_load_dwordx3;
            scratch_load_b128 -1 23 23 23 = Scratch scratch_load_dwordx4;
            scratch_store_b8 -1 24 24 24 = Scratch scratch_store_byte;
            scratch_store_b16 -1 25 25 25 = Scratch scratch_store_short;
            scratch_store_b32 -1 26 26 26 = Scratch scratch_store_dword;
            scratch_store_b64 -1 27 27 27 = Scratch scratch_store_dwordx2;
            scratch_store_b96 -1 28 28 28 = Scratch scratch_store_dwordx3;
            scratch_store_b128 -1 29 29 29 = Scratch scratch_store_dwordx4;
            scratch_load_d16_u8 -1 30 30 30 = Scratch scratch_load_ubyte_d16;
            scratch_load_d16_i8 -1 31 31 31 = Scratch scratch_load_sbyte_d16;
            scratch_load_d16_b16 -1 32 32 32 = Scratch scratch_load_short_d16;
            scratch_load_d16_hi_u8 -1 33 33 33 = Scratch scratch_load_ubyte_d16_hi;
            scratch_load_d16_hi_i8 -1 34 34 34 = Scratch scratch_load_sbyte_d16_hi;
            scratch_load_d16_hi_b16 -1 35 35 35 = Scratch scratch_load_short_d16_hi;
            scratch_store_d16_hi_b8 -1 36 36 36 = Scratch scratch_store_byte_d16_hi;
            scratch_store_d16_hi_b16 -1 37 37 37 = Scratch scratch_store_short_d16_hi;
            // Names that only gfx12 has, or that have other operands there.
            scratch_load_block -1 -1 -1 83 = Scratch scratch_load_block;
            scratch_store_block -1 -1 -1 84 = Scratch scratch_store_block;
            // gfx10.3 has most of these under the names of gfx9.
            scratch_load_ubyte 8 -1 -1 -1 = Scratch scratch_load_ubyte;
            scratch_load_sbyte 9 -1 -1 -1 = Scratch scratch_load_sbyte;
            scratch_load_ushort 10 -1 -1 -1 = Scratch scratch_load_ushort;
            scratch_load_sshort 11 -1 -1 -1 = Scratch scratch_load_sshort;
            scratch_load_dword 12 -1 -1 -1 = Scratch scratch_load_dword;
            scratch_load_dwordx2 13 -1 -1 -1 = Scratch scratch_load_dwordx2;
            scratch_load_dwordx4 14 -1 -1 -1 = Scratch scratch_load_dwordx4;
            scratch_load_dwordx3 15 -1 -1 -1 = Scratch scratch_load_dwordx3;
            scratch_store_byte 24 -1 -1 -1 = Scratch scratch_store_byte;
            scratch_store_byte_d16_hi 25 -1 -1 -1 = Scratch scratch_store_byte_d16_hi;
            scratch_store_short 26 -1 -1 -1 = Scratch scratch_store_short;
            scratch_store_short_d16_hi 27 -1 -1 -1 = Scratch scratch_store_short_d16_hi;
            scratch_store_dword 28 -1 -1 -1 = Scratch scratch_store_dword;
            scratch_store_dwordx2 29 -1 -1 -1 = Scratch scratch_store_dwordx2;
            scratch_store_dwordx4 30 -1 -1 -1 = Scratch scratch_store_dwordx4;
            scratch_store_dwordx3 31 -1 -1 -1 = Scratch scratch_store_dwordx3;
            scratch_load_ubyte_d16 32 -1 -1 -1 = Scratch scratch_load_ubyte_d16;
            scratch_load_ubyte_d16_hi 33 -1 -1 -1 = Scratch scratch_load_ubyte_d16_hi;
            scratch_load_sbyte_d16 34 -1 -1 -1 = Scratch scratch_load_sbyte_d16;
            scratch_load_sbyte_d16_hi 35 -1 -1 -1 = Scratch scratch_load_sbyte_d16_hi;
            scratch_load_short_d16 36 -1 -1 -1 = Scratch scratch_load_short_d16;
            scratch_load_short_d16_hi 37 -1 -1 -1 = Scratch scratch_load_short_d16_hi;
        }
    };
}

pub(crate) use {flat, global, scratch};
