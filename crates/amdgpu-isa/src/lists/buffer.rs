//! MUBUF and MTBUF instructions. The source is the data. The destination of an atomic is written only with glc.

/// Passes the instructions of MUBUF to a macro.
macro_rules! mubuf {
    ($make:ident) => {
        $make! {
            /// The mnemonics of MUBUF: accesses through buffer descriptors, and cache control.
            Mubuf:
            buffer_load_format_x 0 0 0 B32, [Z, Z, Z], LOAD | FORMAT;
            buffer_load_format_xy 1 1 1 B64, [Z, Z, Z], LOAD | FORMAT;
            buffer_load_format_xyz 2 2 2 W(3), [Z, Z, Z], LOAD | FORMAT;
            buffer_load_format_xyzw 3 3 3 W(4), [Z, Z, Z], LOAD | FORMAT;
            buffer_store_format_x 4 4 4 Z, [B32, Z, Z], STORE | FORMAT;
            buffer_store_format_xy 5 5 5 Z, [B64, Z, Z], STORE | FORMAT;
            buffer_store_format_xyz 6 6 6 Z, [W(3), Z, Z], STORE | FORMAT;
            buffer_store_format_xyzw 7 7 7 Z, [W(4), Z, Z], STORE | FORMAT;
            buffer_load_format_d16_x 8 8 8 B32, [Z, Z, Z], LOAD | FORMAT | D16 | HALF;
            buffer_load_format_d16_xy 9 9 9 B32, [Z, Z, Z], LOAD | FORMAT | D16;
            buffer_load_format_d16_xyz 10 10 10 B64, [Z, Z, Z], LOAD | FORMAT | D16 | HALF;
            buffer_load_format_d16_xyzw 11 11 11 B64, [Z, Z, Z], LOAD | FORMAT | D16;
            buffer_store_format_d16_x 12 12 12 Z, [B32, Z, Z], STORE | FORMAT | D16;
            buffer_store_format_d16_xy 13 13 13 Z, [B32, Z, Z], STORE | FORMAT | D16;
            buffer_store_format_d16_xyz 14 14 14 Z, [B64, Z, Z], STORE | FORMAT | D16;
            buffer_store_format_d16_xyzw 15 15 15 Z, [B64, Z, Z], STORE | FORMAT | D16;
            buffer_load_ubyte 16 16 16 B32, [Z, Z, Z], LOAD | M1;
            buffer_load_sbyte 17 17 17 B32, [Z, Z, Z], LOAD | SIGNED | M1;
            buffer_load_ushort 18 18 18 B32, [Z, Z, Z], LOAD | M2;
            buffer_load_sshort 19 19 19 B32, [Z, Z, Z], LOAD | SIGNED | M2;
            buffer_load_dword 20 20 20 B32, [Z, Z, Z], LOAD | M4;
            buffer_load_dwordx2 21 21 21 B64, [Z, Z, Z], LOAD | M8;
            buffer_load_dwordx3 22 22 22 W(3), [Z, Z, Z], LOAD | M12;
            buffer_load_dwordx4 23 23 23 W(4), [Z, Z, Z], LOAD | M16;
            buffer_store_byte 24 24 24 Z, [B32, Z, Z], STORE | M1;
            buffer_store_byte_d16_hi 25 25 25 Z, [B32, Z, Z], STORE | D16 | HIGH | M1;
            buffer_store_short 26 26 26 Z, [B32, Z, Z], STORE | M2;
            buffer_store_short_d16_hi 27 27 27 Z, [B32, Z, Z], STORE | D16 | HIGH | M2;
            buffer_store_dword 28 28 28 Z, [B32, Z, Z], STORE | M4;
            buffer_store_dwordx2 29 29 29 Z, [B64, Z, Z], STORE | M8;
            buffer_store_dwordx3 30 30 30 Z, [W(3), Z, Z], STORE | M12;
            buffer_store_dwordx4 31 31 31 Z, [W(4), Z, Z], STORE | M16;
            buffer_load_ubyte_d16 32 32 32 B32, [Z, Z, Z], LOAD | D16 | HALF | M1;
            buffer_load_ubyte_d16_hi 33 33 33 B32, [Z, Z, Z], LOAD | D16 | HIGH | HALF | M1;
            buffer_load_sbyte_d16 34 34 34 B32, [Z, Z, Z], LOAD | D16 | HALF | SIGNED | M1;
            buffer_load_sbyte_d16_hi 35 35 35 B32, [Z, Z, Z], LOAD | D16 | HIGH | HALF | SIGNED | M1;
            buffer_load_short_d16 36 36 36 B32, [Z, Z, Z], LOAD | D16 | HALF | M2;
            buffer_load_short_d16_hi 37 37 37 B32, [Z, Z, Z], LOAD | D16 | HIGH | HALF | M2;
            buffer_load_format_d16_hi_x 38 38 38 B32, [Z, Z, Z], LOAD | FORMAT | D16 | HIGH | HALF;
            buffer_store_format_d16_hi_x 39 39 39 Z, [B32, Z, Z], STORE | FORMAT | D16 | HIGH;
            buffer_wbl2 40 40 40 Z, [Z, Z, Z], 0;
            buffer_invl2 41 -1 -1 Z, [Z, Z, Z], 0;
            buffer_inv -1 41 41 Z, [Z, Z, Z], 0;
            buffer_wbinvl1 62 -1 -1 Z, [Z, Z, Z], 0;
            buffer_wbinvl1_vol 63 -1 -1 Z, [Z, Z, Z], 0;
            buffer_atomic_swap 64 64 64 B32, [B32, Z, Z], ATOMIC | M4;
            buffer_atomic_cmpswap 65 65 65 B32, [B64, Z, Z], ATOMIC | COMPARE | M4;
            buffer_atomic_add 66 66 66 B32, [B32, Z, Z], ATOMIC | M4;
            buffer_atomic_sub 67 67 67 B32, [B32, Z, Z], ATOMIC | M4;
            buffer_atomic_smin 68 68 68 B32, [B32, Z, Z], ATOMIC | M4;
            buffer_atomic_umin 69 69 69 B32, [B32, Z, Z], ATOMIC | M4;
            buffer_atomic_smax 70 70 70 B32, [B32, Z, Z], ATOMIC | M4;
            buffer_atomic_umax 71 71 71 B32, [B32, Z, Z], ATOMIC | M4;
            buffer_atomic_and 72 72 72 B32, [B32, Z, Z], ATOMIC | M4;
            buffer_atomic_or 73 73 73 B32, [B32, Z, Z], ATOMIC | M4;
            buffer_atomic_xor 74 74 74 B32, [B32, Z, Z], ATOMIC | M4;
            buffer_atomic_inc 75 75 75 B32, [B32, Z, Z], ATOMIC | M4;
            buffer_atomic_dec 76 76 76 B32, [B32, Z, Z], ATOMIC | M4;
            buffer_atomic_add_f32 77 77 77 B32, [B32, Z, Z], ATOMIC | FLOAT | M4;
            buffer_atomic_pk_add_f16 78 78 78 B32, [B32, Z, Z], ATOMIC | FLOAT | M4;
            buffer_atomic_add_f64 79 79 79 B64, [B64, Z, Z], ATOMIC | FLOAT | M8;
            buffer_atomic_min_f64 80 80 80 B64, [B64, Z, Z], ATOMIC | FLOAT | M8;
            buffer_atomic_max_f64 81 81 81 B64, [B64, Z, Z], ATOMIC | FLOAT | M8;
            buffer_atomic_pk_add_bf16 -1 -1 82 B32, [B32, Z, Z], ATOMIC | FLOAT | M4;
            buffer_atomic_swap_x2 96 96 96 B64, [B64, Z, Z], ATOMIC | M8;
            buffer_atomic_cmpswap_x2 97 97 97 B64, [W(4), Z, Z], ATOMIC | COMPARE | M8;
            buffer_atomic_add_x2 98 98 98 B64, [B64, Z, Z], ATOMIC | M8;
            buffer_atomic_sub_x2 99 99 99 B64, [B64, Z, Z], ATOMIC | M8;
            buffer_atomic_smin_x2 100 100 100 B64, [B64, Z, Z], ATOMIC | M8;
            buffer_atomic_umin_x2 101 101 101 B64, [B64, Z, Z], ATOMIC | M8;
            buffer_atomic_smax_x2 102 102 102 B64, [B64, Z, Z], ATOMIC | M8;
            buffer_atomic_umax_x2 103 103 103 B64, [B64, Z, Z], ATOMIC | M8;
            buffer_atomic_and_x2 104 104 104 B64, [B64, Z, Z], ATOMIC | M8;
            buffer_atomic_or_x2 105 105 105 B64, [B64, Z, Z], ATOMIC | M8;
            buffer_atomic_xor_x2 106 106 106 B64, [B64, Z, Z], ATOMIC | M8;
            buffer_atomic_inc_x2 107 107 107 B64, [B64, Z, Z], ATOMIC | M8;
            buffer_atomic_dec_x2 108 108 108 B64, [B64, Z, Z], ATOMIC | M8;
            // Operations that no target of gfx9's encodings has, under their names on RDNA.
            buffer_gl0_inv -1 -1 -1 Z, [Z, Z, Z], 0;
            buffer_gl1_inv -1 -1 -1 Z, [Z, Z, Z], 0;
            // Subtracts, and stores zero if the result would be negative.
            buffer_atomic_csub_u32 -1 -1 -1 B32, [B32, Z, Z], ATOMIC | M4;
            buffer_atomic_cmpswap_f32 -1 -1 -1 B32, [B64, Z, Z], ATOMIC | COMPARE | FLOAT | M4;
            buffer_atomic_min_f32 -1 -1 -1 B32, [B32, Z, Z], ATOMIC | FLOAT | M4;
            buffer_atomic_max_f32 -1 -1 -1 B32, [B32, Z, Z], ATOMIC | FLOAT | M4;
            buffer_atomic_cond_sub_u32 -1 -1 -1 B32, [B32, Z, Z], ATOMIC | M4;
            buffer_atomic_fcmpswap_x2 -1 -1 -1 B64, [W(4), Z, Z], ATOMIC | COMPARE | FLOAT | M8;
        }
    };
}

/// Passes the instructions of MTBUF to a macro.
macro_rules! mtbuf {
    ($make:ident) => {
        $make! {
            /// The mnemonics of MTBUF: accesses through buffer descriptors, with a format in the instruction.
            Mtbuf:
            tbuffer_load_format_x 0 0 0 B32, [Z, Z, Z], LOAD | FORMAT;
            tbuffer_load_format_xy 1 1 1 B64, [Z, Z, Z], LOAD | FORMAT;
            tbuffer_load_format_xyz 2 2 2 W(3), [Z, Z, Z], LOAD | FORMAT;
            tbuffer_load_format_xyzw 3 3 3 W(4), [Z, Z, Z], LOAD | FORMAT;
            tbuffer_store_format_x 4 4 4 Z, [B32, Z, Z], STORE | FORMAT;
            tbuffer_store_format_xy 5 5 5 Z, [B64, Z, Z], STORE | FORMAT;
            tbuffer_store_format_xyz 6 6 6 Z, [W(3), Z, Z], STORE | FORMAT;
            tbuffer_store_format_xyzw 7 7 7 Z, [W(4), Z, Z], STORE | FORMAT;
            tbuffer_load_format_d16_x 8 8 8 B32, [Z, Z, Z], LOAD | FORMAT | D16 | HALF;
            tbuffer_load_format_d16_xy 9 9 9 B32, [Z, Z, Z], LOAD | FORMAT | D16;
            tbuffer_load_format_d16_xyz 10 10 10 B64, [Z, Z, Z], LOAD | FORMAT | D16 | HALF;
            tbuffer_load_format_d16_xyzw 11 11 11 B64, [Z, Z, Z], LOAD | FORMAT | D16;
            tbuffer_store_format_d16_x 12 12 12 Z, [B32, Z, Z], STORE | FORMAT | D16;
            tbuffer_store_format_d16_xy 13 13 13 Z, [B32, Z, Z], STORE | FORMAT | D16;
            tbuffer_store_format_d16_xyz 14 14 14 Z, [B64, Z, Z], STORE | FORMAT | D16;
            tbuffer_store_format_d16_xyzw 15 15 15 Z, [B64, Z, Z], STORE | FORMAT | D16;
        }
    };
}

pub(crate) use {mtbuf, mubuf};
