//! FLAT, GLOBAL, SCRATCH on gfx11.

/// Passes the instructions of FLAT on gfx11 to a macro.
macro_rules! flat {
    ($make:ident) => {
        $make! {
            Flat:
            flat_load_u8 16 16 = Flat flat_load_ubyte;
            flat_load_i8 17 17 = Flat flat_load_sbyte;
            flat_load_u16 18 18 = Flat flat_load_ushort;
            flat_load_i16 19 19 = Flat flat_load_sshort;
            flat_load_b32 20 20 = Flat flat_load_dword;
            flat_load_b64 21 21 = Flat flat_load_dwordx2;
            flat_load_b96 22 22 = Flat flat_load_dwordx3;
            flat_load_b128 23 23 = Flat flat_load_dwordx4;
            flat_store_b8 24 24 = Flat flat_store_byte;
            flat_store_b16 25 25 = Flat flat_store_short;
            flat_store_b32 26 26 = Flat flat_store_dword;
            flat_store_b64 27 27 = Flat flat_store_dwordx2;
            flat_store_b96 28 28 = Flat flat_store_dwordx3;
            flat_store_b128 29 29 = Flat flat_store_dwordx4;
            flat_load_d16_u8 30 30 = Flat flat_load_ubyte_d16;
            flat_load_d16_i8 31 31 = Flat flat_load_sbyte_d16;
            flat_load_d16_b16 32 32 = Flat flat_load_short_d16;
            flat_load_d16_hi_u8 33 33 = Flat flat_load_ubyte_d16_hi;
            flat_load_d16_hi_i8 34 34 = Flat flat_load_sbyte_d16_hi;
            flat_load_d16_hi_b16 35 35 = Flat flat_load_short_d16_hi;
            flat_store_d16_hi_b8 36 36 = Flat flat_store_byte_d16_hi;
            flat_store_d16_hi_b16 37 37 = Flat flat_store_short_d16_hi;
            flat_atomic_swap_b32 51 51 = Flat flat_atomic_swap;
            flat_atomic_cmpswap_b32 52 52 = Flat flat_atomic_cmpswap;
            flat_atomic_add_u32 53 53 = Flat flat_atomic_add;
            flat_atomic_sub_u32 54 54 = Flat flat_atomic_sub;
            flat_atomic_min_i32 56 56 = Flat flat_atomic_smin;
            flat_atomic_min_u32 57 57 = Flat flat_atomic_umin;
            flat_atomic_max_i32 58 58 = Flat flat_atomic_smax;
            flat_atomic_max_u32 59 59 = Flat flat_atomic_umax;
            flat_atomic_and_b32 60 60 = Flat flat_atomic_and;
            flat_atomic_or_b32 61 61 = Flat flat_atomic_or;
            flat_atomic_xor_b32 62 62 = Flat flat_atomic_xor;
            flat_atomic_inc_u32 63 63 = Flat flat_atomic_inc;
            flat_atomic_dec_u32 64 64 = Flat flat_atomic_dec;
            flat_atomic_swap_b64 65 65 = Flat flat_atomic_swap_x2;
            flat_atomic_cmpswap_b64 66 66 = Flat flat_atomic_cmpswap_x2;
            flat_atomic_add_u64 67 67 = Flat flat_atomic_add_x2;
            flat_atomic_sub_u64 68 68 = Flat flat_atomic_sub_x2;
            flat_atomic_min_i64 69 69 = Flat flat_atomic_smin_x2;
            flat_atomic_min_u64 70 70 = Flat flat_atomic_umin_x2;
            flat_atomic_max_i64 71 71 = Flat flat_atomic_smax_x2;
            flat_atomic_max_u64 72 72 = Flat flat_atomic_umax_x2;
            flat_atomic_and_b64 73 73 = Flat flat_atomic_and_x2;
            flat_atomic_or_b64 74 74 = Flat flat_atomic_or_x2;
            flat_atomic_xor_b64 75 75 = Flat flat_atomic_xor_x2;
            flat_atomic_inc_u64 76 76 = Flat flat_atomic_inc_x2;
            flat_atomic_dec_u64 77 77 = Flat flat_atomic_dec_x2;
            flat_atomic_cmpswap_f32 80 80 = Flat flat_atomic_cmpswap_f32;
            flat_atomic_min_f32 81 81 = Flat flat_atomic_min_f32;
            flat_atomic_max_f32 82 82 = Flat flat_atomic_max_f32;
            flat_atomic_add_f32 86 86 = Flat flat_atomic_add_f32;
        }
    };
}

/// Passes the instructions of GLOBAL on gfx11 to a macro.
macro_rules! global {
    ($make:ident) => {
        $make! {
            Global:
            global_load_u8 16 16 = Global global_load_ubyte;
            global_load_i8 17 17 = Global global_load_sbyte;
            global_load_u16 18 18 = Global global_load_ushort;
            global_load_i16 19 19 = Global global_load_sshort;
            global_load_b32 20 20 = Global global_load_dword;
            global_load_b64 21 21 = Global global_load_dwordx2;
            global_load_b96 22 22 = Global global_load_dwordx3;
            global_load_b128 23 23 = Global global_load_dwordx4;
            global_store_b8 24 24 = Global global_store_byte;
            global_store_b16 25 25 = Global global_store_short;
            global_store_b32 26 26 = Global global_store_dword;
            global_store_b64 27 27 = Global global_store_dwordx2;
            global_store_b96 28 28 = Global global_store_dwordx3;
            global_store_b128 29 29 = Global global_store_dwordx4;
            global_load_d16_u8 30 30 = Global global_load_ubyte_d16;
            global_load_d16_i8 31 31 = Global global_load_sbyte_d16;
            global_load_d16_b16 32 32 = Global global_load_short_d16;
            global_load_d16_hi_u8 33 33 = Global global_load_ubyte_d16_hi;
            global_load_d16_hi_i8 34 34 = Global global_load_sbyte_d16_hi;
            global_load_d16_hi_b16 35 35 = Global global_load_short_d16_hi;
            global_store_d16_hi_b8 36 36 = Global global_store_byte_d16_hi;
            global_store_d16_hi_b16 37 37 = Global global_store_short_d16_hi;
            global_load_addtid_b32 40 40 = Global global_load_addtid_b32;
            global_store_addtid_b32 41 41 = Global global_store_addtid_b32;
            global_atomic_swap_b32 51 51 = Global global_atomic_swap;
            global_atomic_cmpswap_b32 52 52 = Global global_atomic_cmpswap;
            global_atomic_add_u32 53 53 = Global global_atomic_add;
            global_atomic_sub_u32 54 54 = Global global_atomic_sub;
            global_atomic_csub_u32 55 55 = Global global_atomic_csub_u32;
            global_atomic_min_i32 56 56 = Global global_atomic_smin;
            global_atomic_min_u32 57 57 = Global global_atomic_umin;
            global_atomic_max_i32 58 58 = Global global_atomic_smax;
            global_atomic_max_u32 59 59 = Global global_atomic_umax;
            global_atomic_and_b32 60 60 = Global global_atomic_and;
            global_atomic_or_b32 61 61 = Global global_atomic_or;
            global_atomic_xor_b32 62 62 = Global global_atomic_xor;
            global_atomic_inc_u32 63 63 = Global global_atomic_inc;
            global_atomic_dec_u32 64 64 = Global global_atomic_dec;
            global_atomic_swap_b64 65 65 = Global global_atomic_swap_x2;
            global_atomic_cmpswap_b64 66 66 = Global global_atomic_cmpswap_x2;
            global_atomic_add_u64 67 67 = Global global_atomic_add_x2;
            global_atomic_sub_u64 68 68 = Global global_atomic_sub_x2;
            global_atomic_min_i64 69 69 = Global global_atomic_smin_x2;
            global_atomic_min_u64 70 70 = Global global_atomic_umin_x2;
            global_atomic_max_i64 71 71 = Global global_atomic_smax_x2;
            global_atomic_max_u64 72 72 = Global global_atomic_umax_x2;
            global_atomic_and_b64 73 73 = Global global_atomic_and_x2;
            global_atomic_or_b64 74 74 = Global global_atomic_or_x2;
            global_atomic_xor_b64 75 75 = Global global_atomic_xor_x2;
            global_atomic_inc_u64 76 76 = Global global_atomic_inc_x2;
            global_atomic_dec_u64 77 77 = Global global_atomic_dec_x2;
            global_atomic_cmpswap_f32 80 80 = Global global_atomic_cmpswap_f32;
            global_atomic_min_f32 81 81 = Global global_atomic_min_f32;
            global_atomic_max_f32 82 82 = Global global_atomic_max_f32;
            global_atomic_add_f32 86 86 = Global global_atomic_add_f32;
        }
    };
}

/// Passes the instructions of SCRATCH on gfx11 to a macro.
macro_rules! scratch {
    ($make:ident) => {
        $make! {
            Scratch:
            scratch_load_u8 16 16 = Scratch scratch_load_ubyte;
            scratch_load_i8 17 17 = Scratch scratch_load_sbyte;
            scratch_load_u16 18 18 = Scratch scratch_load_ushort;
            scratch_load_i16 19 19 = Scratch scratch_load_sshort;
            scratch_load_b32 20 20 = Scratch scratch_load_dword;
            scratch_load_b64 21 21 = Scratch scratch_load_dwordx2;
            scratch_load_b96 22 22 = Scratch scratch_load_dwordx3;
            scratch_load_b128 23 23 = Scratch scratch_load_dwordx4;
            scratch_store_b8 24 24 = Scratch scratch_store_byte;
            scratch_store_b16 25 25 = Scratch scratch_store_short;
            scratch_store_b32 26 26 = Scratch scratch_store_dword;
            scratch_store_b64 27 27 = Scratch scratch_store_dwordx2;
            scratch_store_b96 28 28 = Scratch scratch_store_dwordx3;
            scratch_store_b128 29 29 = Scratch scratch_store_dwordx4;
            scratch_load_d16_u8 30 30 = Scratch scratch_load_ubyte_d16;
            scratch_load_d16_i8 31 31 = Scratch scratch_load_sbyte_d16;
            scratch_load_d16_b16 32 32 = Scratch scratch_load_short_d16;
            scratch_load_d16_hi_u8 33 33 = Scratch scratch_load_ubyte_d16_hi;
            scratch_load_d16_hi_i8 34 34 = Scratch scratch_load_sbyte_d16_hi;
            scratch_load_d16_hi_b16 35 35 = Scratch scratch_load_short_d16_hi;
            scratch_store_d16_hi_b8 36 36 = Scratch scratch_store_byte_d16_hi;
            scratch_store_d16_hi_b16 37 37 = Scratch scratch_store_short_d16_hi;
        }
    };
}

pub(crate) use {flat, global, scratch};
