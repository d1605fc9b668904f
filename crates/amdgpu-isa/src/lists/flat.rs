//! FLAT, GLOBAL and SCRATCH instructions. The source is the data. The destination of an atomic is written only with
//! glc.

/// Passes the instructions of FLAT to a macro.
macro_rules! flat {
    ($make:ident) => {
        $make! {
            /// The mnemonics of FLAT: accesses through flat addresses.
            Flat:
            flat_load_ubyte 16 16 16 B32, [Z, Z, Z], LOAD | M1;
            flat_load_sbyte 17 17 17 B32, [Z, Z, Z], LOAD | SIGNED | M1;
            flat_load_ushort 18 18 18 B32, [Z, Z, Z], LOAD | M2;
            flat_load_sshort 19 19 19 B32, [Z, Z, Z], LOAD | SIGNED | M2;
            flat_load_dword 20 20 20 B32, [Z, Z, Z], LOAD | M4;
            flat_load_dwordx2 21 21 21 B64, [Z, Z, Z], LOAD | M8;
            flat_load_dwordx3 22 22 22 W(3), [Z, Z, Z], LOAD | M12;
            flat_load_dwordx4 23 23 23 W(4), [Z, Z, Z], LOAD | M16;
            flat_store_byte 24 24 24 Z, [B32, Z, Z], STORE | M1;
            flat_store_byte_d16_hi 25 25 25 Z, [B32, Z, Z], STORE | D16 | HIGH | M1;
            flat_store_short 26 26 26 Z, [B32, Z, Z], STORE | M2;
            flat_store_short_d16_hi 27 27 27 Z, [B32, Z, Z], STORE | D16 | HIGH | M2;
            flat_store_dword 28 28 28 Z, [B32, Z, Z], STORE | M4;
            flat_store_dwordx2 29 29 29 Z, [B64, Z, Z], STORE | M8;
            flat_store_dwordx3 30 30 30 Z, [W(3), Z, Z], STORE | M12;
            flat_store_dwordx4 31 31 31 Z, [W(4), Z, Z], STORE | M16;
            flat_load_ubyte_d16 32 32 32 B32, [Z, Z, Z], LOAD | D16 | HALF | M1;
            flat_load_ubyte_d16_hi 33 33 33 B32, [Z, Z, Z], LOAD | D16 | HIGH | HALF | M1;
            flat_load_sbyte_d16 34 34 34 B32, [Z, Z, Z], LOAD | D16 | HALF | SIGNED | M1;
            flat_load_sbyte_d16_hi 35 35 35 B32, [Z, Z, Z], LOAD | D16 | HIGH | HALF | SIGNED | M1;
            flat_load_short_d16 36 36 36 B32, [Z, Z, Z], LOAD | D16 | HALF | M2;
            flat_load_short_d16_hi 37 37 37 B32, [Z, Z, Z], LOAD | D16 | HIGH | HALF | M2;
            flat_atomic_swap 64 64 64 B32, [B32, Z, Z], ATOMIC | M4;
            flat_atomic_cmpswap 65 65 65 B32, [B64, Z, Z], ATOMIC | COMPARE | M4;
            flat_atomic_add 66 66 66 B32, [B32, Z, Z], ATOMIC | M4;
            flat_atomic_sub 67 67 67 B32, [B32, Z, Z], ATOMIC | M4;
            flat_atomic_smin 68 68 68 B32, [B32, Z, Z], ATOMIC | M4;
            flat_atomic_umin 69 69 69 B32, [B32, Z, Z], ATOMIC | M4;
            flat_atomic_smax 70 70 70 B32, [B32, Z, Z], ATOMIC | M4;
            flat_atomic_umax 71 71 71 B32, [B32, Z, Z], ATOMIC | M4;
            flat_atomic_and 72 72 72 B32, [B32, Z, Z], ATOMIC | M4;
            flat_atomic_or 73 73 73 B32, [B32, Z, Z], ATOMIC | M4;
            flat_atomic_xor 74 74 74 B32, [B32, Z, Z], ATOMIC | M4;
            flat_atomic_inc 75 75 75 B32, [B32, Z, Z], ATOMIC | M4;
            flat_atomic_dec 76 76 76 B32, [B32, Z, Z], ATOMIC | M4;
            flat_atomic_add_f32 -1 77 77 B32, [B32, Z, Z], ATOMIC | FLOAT | M4;
            flat_atomic_pk_add_f16 -1 78 78 B32, [B32, Z, Z], ATOMIC | FLOAT | M4;
            flat_atomic_add_f64 79 79 79 B64, [B64, Z, Z], ATOMIC | FLOAT | M8;
            flat_atomic_min_f64 80 80 80 B64, [B64, Z, Z], ATOMIC | FLOAT | M8;
            flat_atomic_max_f64 81 81 81 B64, [B64, Z, Z], ATOMIC | FLOAT | M8;
            flat_atomic_pk_add_bf16 -1 82 82 B32, [B32, Z, Z], ATOMIC | FLOAT | M4;
            flat_atomic_swap_x2 96 96 96 B64, [B64, Z, Z], ATOMIC | M8;
            flat_atomic_cmpswap_x2 97 97 97 B64, [W(4), Z, Z], ATOMIC | COMPARE | M8;
            flat_atomic_add_x2 98 98 98 B64, [B64, Z, Z], ATOMIC | M8;
            flat_atomic_sub_x2 99 99 99 B64, [B64, Z, Z], ATOMIC | M8;
            flat_atomic_smin_x2 100 100 100 B64, [B64, Z, Z], ATOMIC | M8;
            flat_atomic_umin_x2 101 101 101 B64, [B64, Z, Z], ATOMIC | M8;
            flat_atomic_smax_x2 102 102 102 B64, [B64, Z, Z], ATOMIC | M8;
            flat_atomic_umax_x2 103 103 103 B64, [B64, Z, Z], ATOMIC | M8;
            flat_atomic_and_x2 104 104 104 B64, [B64, Z, Z], ATOMIC | M8;
            flat_atomic_or_x2 105 105 105 B64, [B64, Z, Z], ATOMIC | M8;
            flat_atomic_xor_x2 106 106 106 B64, [B64, Z, Z], ATOMIC | M8;
            flat_atomic_inc_x2 107 107 107 B64, [B64, Z, Z], ATOMIC | M8;
            flat_atomic_dec_x2 108 108 108 B64, [B64, Z, Z], ATOMIC | M8;
            // Operations that no target of gfx9's encodings has, under their names on RDNA.
            flat_atomic_cmpswap_f32 -1 -1 -1 B32, [B64, Z, Z], ATOMIC | COMPARE | FLOAT | M4;
            flat_atomic_min_f32 -1 -1 -1 B32, [B32, Z, Z], ATOMIC | FLOAT | M4;
            flat_atomic_max_f32 -1 -1 -1 B32, [B32, Z, Z], ATOMIC | FLOAT | M4;
            flat_atomic_sub_clamp_u32 -1 -1 -1 B32, [B32, Z, Z], ATOMIC | M4;
            flat_atomic_cond_sub_u32 -1 -1 -1 B32, [B32, Z, Z], ATOMIC | M4;
            flat_atomic_fcmpswap_x2 -1 -1 -1 B64, [W(4), Z, Z], ATOMIC | COMPARE | FLOAT | M8;
        }
    };
}

/// Passes the instructions of GLOBAL to a macro.
macro_rules! global {
    ($make:ident) => {
        $make! {
            /// The mnemonics of GLOBAL: accesses to global memory.
            Global:
            global_load_ubyte 16 16 16 B32, [Z, Z, Z], LOAD | M1;
            global_load_sbyte 17 17 17 B32, [Z, Z, Z], LOAD | SIGNED | M1;
            global_load_ushort 18 18 18 B32, [Z, Z, Z], LOAD | M2;
            global_load_sshort 19 19 19 B32, [Z, Z, Z], LOAD | SIGNED | M2;
            global_load_dword 20 20 20 B32, [Z, Z, Z], LOAD | M4;
            global_load_dwordx2 21 21 21 B64, [Z, Z, Z], LOAD | M8;
            global_load_dwordx3 22 22 22 W(3), [Z, Z, Z], LOAD | M12;
            global_load_dwordx4 23 23 23 W(4), [Z, Z, Z], LOAD | M16;
            global_store_byte 24 24 24 Z, [B32, Z, Z], STORE | M1;
            global_store_byte_d16_hi 25 25 25 Z, [B32, Z, Z], STORE | D16 | HIGH | M1;
            global_store_short 26 26 26 Z, [B32, Z, Z], STORE | M2;
            global_store_short_d16_hi 27 27 27 Z, [B32, Z, Z], STORE | D16 | HIGH | M2;
            global_store_dword 28 28 28 Z, [B32, Z, Z], STORE | M4;
            global_store_dwordx2 29 29 29 Z, [B64, Z, Z], STORE | M8;
            global_store_dwordx3 30 30 30 Z, [W(3), Z, Z], STORE | M12;
            global_store_dwordx4 31 31 31 Z, [W(4), Z, Z], STORE | M16;
            global_load_ubyte_d16 32 32 32 B32, [Z, Z, Z], LOAD | D16 | HALF | M1;
            global_load_ubyte_d16_hi 33 33 33 B32, [Z, Z, Z], LOAD | D16 | HIGH | HALF | M1;
            global_load_sbyte_d16 34 34 34 B32, [Z, Z, Z], LOAD | D16 | HALF | SIGNED | M1;
            global_load_sbyte_d16_hi 35 35 35 B32, [Z, Z, Z], LOAD | D16 | HIGH | HALF | SIGNED | M1;
            global_load_short_d16 36 36 36 B32, [Z, Z, Z], LOAD | D16 | HALF | M2;
            global_load_short_d16_hi 37 37 37 B32, [Z, Z, Z], LOAD | D16 | HIGH | HALF | M2;
            global_load_lds_ubyte -1 38 38 Z, [Z, Z, Z], LOAD | TO_LDS | M1;
            global_load_lds_sbyte -1 39 39 Z, [Z, Z, Z], LOAD | TO_LDS | SIGNED | M1;
            global_load_lds_ushort -1 40 40 Z, [Z, Z, Z], LOAD | TO_LDS | M2;
            global_load_lds_sshort -1 41 41 Z, [Z, Z, Z], LOAD | TO_LDS | SIGNED | M2;
            global_load_lds_dword -1 42 42 Z, [Z, Z, Z], LOAD | TO_LDS | M4;
            global_atomic_swap 64 64 64 B32, [B32, Z, Z], ATOMIC | M4;
            global_atomic_cmpswap 65 65 65 B32, [B64, Z, Z], ATOMIC | COMPARE | M4;
            global_atomic_add 66 66 66 B32, [B32, Z, Z], ATOMIC | M4;
            global_atomic_sub 67 67 67 B32, [B32, Z, Z], ATOMIC | M4;
            global_atomic_smin 68 68 68 B32, [B32, Z, Z], ATOMIC | M4;
            global_atomic_umin 69 69 69 B32, [B32, Z, Z], ATOMIC | M4;
            global_atomic_smax 70 70 70 B32, [B32, Z, Z], ATOMIC | M4;
            global_atomic_umax 71 71 71 B32, [B32, Z, Z], ATOMIC | M4;
            global_atomic_and 72 72 72 B32, [B32, Z, Z], ATOMIC | M4;
            global_atomic_or 73 73 73 B32, [B32, Z, Z], ATOMIC | M4;
            global_atomic_xor 74 74 74 B32, [B32, Z, Z], ATOMIC | M4;
            global_atomic_inc 75 75 75 B32, [B32, Z, Z], ATOMIC | M4;
            global_atomic_dec 76 76 76 B32, [B32, Z, Z], ATOMIC | M4;
            global_atomic_add_f32 77 77 77 B32, [B32, Z, Z], ATOMIC | FLOAT | M4;
            global_atomic_pk_add_f16 78 78 78 B32, [B32, Z, Z], ATOMIC | FLOAT | M4;
            global_atomic_add_f64 79 79 79 B64, [B64, Z, Z], ATOMIC | FLOAT | M8;
            global_atomic_min_f64 80 80 80 B64, [B64, Z, Z], ATOMIC | FLOAT | M8;
            global_atomic_max_f64 81 81 81 B64, [B64, Z, Z], ATOMIC | FLOAT | M8;
            global_atomic_pk_add_bf16 -1 82 82 B32, [B32, Z, Z], ATOMIC | FLOAT | M4;
            global_atomic_swap_x2 96 96 96 B64, [B64, Z, Z], ATOMIC | M8;
            global_atomic_cmpswap_x2 97 97 97 B64, [W(4), Z, Z], ATOMIC | COMPARE | M8;
            global_atomic_add_x2 98 98 98 B64, [B64, Z, Z], ATOMIC | M8;
            global_atomic_sub_x2 99 99 99 B64, [B64, Z, Z], ATOMIC | M8;
            global_atomic_smin_x2 100 100 100 B64, [B64, Z, Z], ATOMIC | M8;
            global_atomic_umin_x2 101 101 101 B64, [B64, Z, Z], ATOMIC | M8;
            global_atomic_smax_x2 102 102 102 B64, [B64, Z, Z], ATOMIC | M8;
            global_atomic_umax_x2 103 103 103 B64, [B64, Z, Z], ATOMIC | M8;
            global_atomic_and_x2 104 104 104 B64, [B64, Z, Z], ATOMIC | M8;
            global_atomic_or_x2 105 105 105 B64, [B64, Z, Z], ATOMIC | M8;
            global_atomic_xor_x2 106 106 106 B64, [B64, Z, Z], ATOMIC | M8;
            global_atomic_inc_x2 107 107 107 B64, [B64, Z, Z], ATOMIC | M8;
            global_atomic_dec_x2 108 108 108 B64, [B64, Z, Z], ATOMIC | M8;
            global_load_lds_dwordx4 -1 -1 125 Z, [Z, Z, Z], LOAD | TO_LDS | M16;
            global_load_lds_dwordx3 -1 -1 126 Z, [Z, Z, Z], LOAD | TO_LDS | M12;
            // Operations that no target of gfx9's encodings has, under their names on RDNA.
            global_load_addtid_b32 -1 -1 -1 B32, [Z, Z, Z], LOAD | BY_LANE | M4;
            global_store_addtid_b32 -1 -1 -1 Z, [B32, Z, Z], STORE | BY_LANE | M4;
            // Subtracts, and stores zero if the result would be negative.
            global_atomic_csub_u32 -1 -1 -1 B32, [B32, Z, Z], ATOMIC | M4;
            global_atomic_cmpswap_f32 -1 -1 -1 B32, [B64, Z, Z], ATOMIC | COMPARE | FLOAT | M4;
            global_atomic_min_f32 -1 -1 -1 B32, [B32, Z, Z], ATOMIC | FLOAT | M4;
            global_atomic_max_f32 -1 -1 -1 B32, [B32, Z, Z], ATOMIC | FLOAT | M4;
            // These three write back or invalidate caches, or both.
            global_inv -1 -1 -1 Z, [Z, Z, Z], 0;
            global_wb -1 -1 -1 Z, [Z, Z, Z], 0;
            global_wbinv -1 -1 -1 Z, [Z, Z, Z], 0;
            global_atomic_cond_sub_u32 -1 -1 -1 B32, [B32, Z, Z], ATOMIC | M4;
            // M0 says which of the registers are loaded or stored.
            global_load_block -1 -1 -1 W(32), [Z, Z, Z], LOAD | M0_IN | M4;
            global_store_block -1 -1 -1 Z, [W(32), Z, Z], STORE | M0_IN | M4;
            // These give each lane elements of a column of a matrix. In waves of 64, the destination has half as many registers.
            global_load_tr_b128 -1 -1 -1 W(4), [Z, Z, Z], LOAD | TRANSPOSE | M16;
            global_load_tr_b64 -1 -1 -1 B64, [Z, Z, Z], LOAD | TRANSPOSE | M8;
            global_atomic_ordered_add_b64 -1 -1 -1 B64, [B64, Z, Z], ATOMIC | M8;
            global_atomic_fcmpswap_x2 -1 -1 -1 B64, [W(4), Z, Z], ATOMIC | COMPARE | FLOAT | M8;
        }
    };
}

/// Passes the instructions of SCRATCH to a macro.
macro_rules! scratch {
    ($make:ident) => {
        $make! {
            /// The mnemonics of SCRATCH: accesses to private memory.
            Scratch:
            scratch_load_ubyte 16 16 16 B32, [Z, Z, Z], LOAD | M1;
            scratch_load_sbyte 17 17 17 B32, [Z, Z, Z], LOAD | SIGNED | M1;
            scratch_load_ushort 18 18 18 B32, [Z, Z, Z], LOAD | M2;
            scratch_load_sshort 19 19 19 B32, [Z, Z, Z], LOAD | SIGNED | M2;
            scratch_load_dword 20 20 20 B32, [Z, Z, Z], LOAD | M4;
            scratch_load_dwordx2 21 21 21 B64, [Z, Z, Z], LOAD | M8;
            scratch_load_dwordx3 22 22 22 W(3), [Z, Z, Z], LOAD | M12;
            scratch_load_dwordx4 23 23 23 W(4), [Z, Z, Z], LOAD | M16;
            scratch_store_byte 24 24 24 Z, [B32, Z, Z], STORE | M1;
            scratch_store_byte_d16_hi 25 25 25 Z, [B32, Z, Z], STORE | D16 | HIGH | M1;
            scratch_store_short 26 26 26 Z, [B32, Z, Z], STORE | M2;
            scratch_store_short_d16_hi 27 27 27 Z, [B32, Z, Z], STORE | D16 | HIGH | M2;
            scratch_store_dword 28 28 28 Z, [B32, Z, Z], STORE | M4;
            scratch_store_dwordx2 29 29 29 Z, [B64, Z, Z], STORE | M8;
            scratch_store_dwordx3 30 30 30 Z, [W(3), Z, Z], STORE | M12;
            scratch_store_dwordx4 31 31 31 Z, [W(4), Z, Z], STORE | M16;
            scratch_load_ubyte_d16 32 32 32 B32, [Z, Z, Z], LOAD | D16 | HALF | M1;
            scratch_load_ubyte_d16_hi 33 33 33 B32, [Z, Z, Z], LOAD | D16 | HIGH | HALF | M1;
            scratch_load_sbyte_d16 34 34 34 B32, [Z, Z, Z], LOAD | D16 | HALF | SIGNED | M1;
            scratch_load_sbyte_d16_hi 35 35 35 B32, [Z, Z, Z], LOAD | D16 | HIGH | HALF | SIGNED | M1;
            scratch_load_short_d16 36 36 36 B32, [Z, Z, Z], LOAD | D16 | HALF | M2;
            scratch_load_short_d16_hi 37 37 37 B32, [Z, Z, Z], LOAD | D16 | HIGH | HALF | M2;
            scratch_load_lds_ubyte -1 38 38 Z, [Z, Z, Z], LOAD | TO_LDS | M1;
            scratch_load_lds_sbyte -1 39 39 Z, [Z, Z, Z], LOAD | TO_LDS | SIGNED | M1;
            scratch_load_lds_ushort -1 40 40 Z, [Z, Z, Z], LOAD | TO_LDS | M2;
            scratch_load_lds_sshort -1 41 41 Z, [Z, Z, Z], LOAD | TO_LDS | SIGNED | M2;
            scratch_load_lds_dword -1 42 42 Z, [Z, Z, Z], LOAD | TO_LDS | M4;
            // Operations that no target of gfx9's encodings has, under their names on RDNA.
            // M0 says which of the registers are loaded or stored.
            scratch_load_block -1 -1 -1 W(32), [Z, Z, Z], LOAD | M0_IN | M4;
            scratch_store_block -1 -1 -1 Z, [W(32), Z, Z], STORE | M0_IN | M4;
        }
    };
}

pub(crate) use {flat, global, scratch};
