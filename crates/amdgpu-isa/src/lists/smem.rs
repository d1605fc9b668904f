//! SMEM instructions. The source is the data that is stored.

/// Passes the instructions of SMEM to a macro.
macro_rules! smem {
    ($make:ident) => {
        $make! {
            /// The mnemonics of SMEM: scalar memory.
            Smem:
            s_load_dword 0 0 0 B32, [Z, Z, Z], LOAD | M4;
            s_load_dwordx2 1 1 1 B64, [Z, Z, Z], LOAD | M8;
            s_load_dwordx4 2 2 2 W(4), [Z, Z, Z], LOAD | M16;
            s_load_dwordx8 3 3 3 W(8), [Z, Z, Z], LOAD | M32;
            s_load_dwordx16 4 4 4 W(16), [Z, Z, Z], LOAD | M64;
            s_scratch_load_dword 5 5 5 B32, [Z, Z, Z], LOAD | WAVE_SCRATCH | M4;
            s_scratch_load_dwordx2 6 6 6 B64, [Z, Z, Z], LOAD | WAVE_SCRATCH | M8;
            s_scratch_load_dwordx4 7 7 7 W(4), [Z, Z, Z], LOAD | WAVE_SCRATCH | M16;
            s_buffer_load_dword 8 8 8 B32, [Z, Z, Z], LOAD | DESCRIPTOR | M4;
            s_buffer_load_dwordx2 9 9 9 B64, [Z, Z, Z], LOAD | DESCRIPTOR | M8;
            s_buffer_load_dwordx4 10 10 10 W(4), [Z, Z, Z], LOAD | DESCRIPTOR | M16;
            s_buffer_load_dwordx8 11 11 11 W(8), [Z, Z, Z], LOAD | DESCRIPTOR | M32;
            s_buffer_load_dwordx16 12 12 12 W(16), [Z, Z, Z], LOAD | DESCRIPTOR | M64;
            s_store_dword 16 16 16 Z, [B32, Z, Z], STORE | M4;
            s_store_dwordx2 17 17 17 Z, [B64, Z, Z], STORE | M8;
            s_store_dwordx4 18 18 18 Z, [W(4), Z, Z], STORE | M16;
            s_scratch_store_dword 21 21 21 Z, [B32, Z, Z], STORE | WAVE_SCRATCH | M4;
            s_scratch_store_dwordx2 22 22 22 Z, [B64, Z, Z], STORE | WAVE_SCRATCH | M8;
            s_scratch_store_dwordx4 23 23 23 Z, [W(4), Z, Z], STORE | WAVE_SCRATCH | M16;
            s_buffer_store_dword 24 24 24 Z, [B32, Z, Z], STORE | DESCRIPTOR | M4;
            s_buffer_store_dwordx2 25 25 25 Z, [B64, Z, Z], STORE | DESCRIPTOR | M8;
            s_buffer_store_dwordx4 26 26 26 Z, [W(4), Z, Z], STORE | DESCRIPTOR | M16;
            s_dcache_inv 32 32 32 Z, [Z, Z, Z], 0;
            s_dcache_wb 33 33 33 Z, [Z, Z, Z], 0;
            s_dcache_inv_vol 34 34 34 Z, [Z, Z, Z], 0;
            s_dcache_wb_vol 35 35 35 Z, [Z, Z, Z], 0;
            s_memtime 36 36 36 B64, [Z, Z, Z], 0;
            s_memrealtime 37 37 37 B64, [Z, Z, Z], 0;
            s_atc_probe 38 38 38 Z, [Z, Z, Z], 0;
            s_atc_probe_buffer 39 39 39 Z, [Z, Z, Z], DESCRIPTOR;
            s_dcache_discard 40 40 40 Z, [Z, Z, Z], 0;
            s_dcache_discard_x2 41 41 41 Z, [Z, Z, Z], 0;
            s_buffer_atomic_swap 64 64 64 Z, [B32, Z, Z], ATOMIC | DESCRIPTOR | M4;
            s_buffer_atomic_cmpswap 65 65 65 Z, [B64, Z, Z], ATOMIC | DESCRIPTOR | COMPARE | M4;
            s_buffer_atomic_add 66 66 66 Z, [B32, Z, Z], ATOMIC | DESCRIPTOR | M4;
            s_buffer_atomic_sub 67 67 67 Z, [B32, Z, Z], ATOMIC | DESCRIPTOR | M4;
            s_buffer_atomic_smin 68 68 68 Z, [B32, Z, Z], ATOMIC | DESCRIPTOR | M4;
            s_buffer_atomic_umin 69 69 69 Z, [B32, Z, Z], ATOMIC | DESCRIPTOR | M4;
            s_buffer_atomic_smax 70 70 70 Z, [B32, Z, Z], ATOMIC | DESCRIPTOR | M4;
            s_buffer_atomic_umax 71 71 71 Z, [B32, Z, Z], ATOMIC | DESCRIPTOR | M4;
            s_buffer_atomic_and 72 72 72 Z, [B32, Z, Z], ATOMIC | DESCRIPTOR | M4;
            s_buffer_atomic_or 73 73 73 Z, [B32, Z, Z], ATOMIC | DESCRIPTOR | M4;
            s_buffer_atomic_xor 74 74 74 Z, [B32, Z, Z], ATOMIC | DESCRIPTOR | M4;
            s_buffer_atomic_inc 75 75 75 Z, [B32, Z, Z], ATOMIC | DESCRIPTOR | M4;
            s_buffer_atomic_dec 76 76 76 Z, [B32, Z, Z], ATOMIC | DESCRIPTOR | M4;
            s_buffer_atomic_swap_x2 96 96 96 Z, [B64, Z, Z], ATOMIC | DESCRIPTOR | M8;
            s_buffer_atomic_cmpswap_x2 97 97 97 Z, [W(4), Z, Z], ATOMIC | DESCRIPTOR | COMPARE | M8;
            s_buffer_atomic_add_x2 98 98 98 Z, [B64, Z, Z], ATOMIC | DESCRIPTOR | M8;
            s_buffer_atomic_sub_x2 99 99 99 Z, [B64, Z, Z], ATOMIC | DESCRIPTOR | M8;
            s_buffer_atomic_smin_x2 100 100 100 Z, [B64, Z, Z], ATOMIC | DESCRIPTOR | M8;
            s_buffer_atomic_umin_x2 101 101 101 Z, [B64, Z, Z], ATOMIC | DESCRIPTOR | M8;
            s_buffer_atomic_smax_x2 102 102 102 Z, [B64, Z, Z], ATOMIC | DESCRIPTOR | M8;
            s_buffer_atomic_umax_x2 103 103 103 Z, [B64, Z, Z], ATOMIC | DESCRIPTOR | M8;
            s_buffer_atomic_and_x2 104 104 104 Z, [B64, Z, Z], ATOMIC | DESCRIPTOR | M8;
            s_buffer_atomic_or_x2 105 105 105 Z, [B64, Z, Z], ATOMIC | DESCRIPTOR | M8;
            s_buffer_atomic_xor_x2 106 106 106 Z, [B64, Z, Z], ATOMIC | DESCRIPTOR | M8;
            s_buffer_atomic_inc_x2 107 107 107 Z, [B64, Z, Z], ATOMIC | DESCRIPTOR | M8;
            s_buffer_atomic_dec_x2 108 108 108 Z, [B64, Z, Z], ATOMIC | DESCRIPTOR | M8;
            s_atomic_swap 128 128 128 Z, [B32, Z, Z], ATOMIC | M4;
            s_atomic_cmpswap 129 129 129 Z, [B64, Z, Z], ATOMIC | COMPARE | M4;
            s_atomic_add 130 130 130 Z, [B32, Z, Z], ATOMIC | M4;
            s_atomic_sub 131 131 131 Z, [B32, Z, Z], ATOMIC | M4;
            s_atomic_smin 132 132 132 Z, [B32, Z, Z], ATOMIC | M4;
            s_atomic_umin 133 133 133 Z, [B32, Z, Z], ATOMIC | M4;
            s_atomic_smax 134 134 134 Z, [B32, Z, Z], ATOMIC | M4;
            s_atomic_umax 135 135 135 Z, [B32, Z, Z], ATOMIC | M4;
            s_atomic_and 136 136 136 Z, [B32, Z, Z], ATOMIC | M4;
            s_atomic_or 137 137 137 Z, [B32, Z, Z], ATOMIC | M4;
            s_atomic_xor 138 138 138 Z, [B32, Z, Z], ATOMIC | M4;
            s_atomic_inc 139 139 139 Z, [B32, Z, Z], ATOMIC | M4;
            s_atomic_dec 140 140 140 Z, [B32, Z, Z], ATOMIC | M4;
            s_atomic_swap_x2 160 160 160 Z, [B64, Z, Z], ATOMIC | M8;
            s_atomic_cmpswap_x2 161 161 161 Z, [W(4), Z, Z], ATOMIC | COMPARE | M8;
            s_atomic_add_x2 162 162 162 Z, [B64, Z, Z], ATOMIC | M8;
            s_atomic_sub_x2 163 163 163 Z, [B64, Z, Z], ATOMIC | M8;
            s_atomic_smin_x2 164 164 164 Z, [B64, Z, Z], ATOMIC | M8;
            s_atomic_umin_x2 165 165 165 Z, [B64, Z, Z], ATOMIC | M8;
            s_atomic_smax_x2 166 166 166 Z, [B64, Z, Z], ATOMIC | M8;
            s_atomic_umax_x2 167 167 167 Z, [B64, Z, Z], ATOMIC | M8;
            s_atomic_and_x2 168 168 168 Z, [B64, Z, Z], ATOMIC | M8;
            s_atomic_or_x2 169 169 169 Z, [B64, Z, Z], ATOMIC | M8;
            s_atomic_xor_x2 170 170 170 Z, [B64, Z, Z], ATOMIC | M8;
            s_atomic_inc_x2 171 171 171 Z, [B64, Z, Z], ATOMIC | M8;
            s_atomic_dec_x2 172 172 172 Z, [B64, Z, Z], ATOMIC | M8;
            // Operations that no target of gfx9's encodings has, under their names on RDNA.
            s_gl1_inv -1 -1 -1 Z, [Z, Z, Z], 0;
            s_load_b96 -1 -1 -1 W(3), [Z, Z, Z], LOAD | M12;
            s_load_i8 -1 -1 -1 B32, [Z, Z, Z], LOAD | SIGNED | M1;
            s_load_u8 -1 -1 -1 B32, [Z, Z, Z], LOAD | M1;
            s_load_i16 -1 -1 -1 B32, [Z, Z, Z], LOAD | SIGNED | M2;
            s_load_u16 -1 -1 -1 B32, [Z, Z, Z], LOAD | M2;
            s_buffer_load_b96 -1 -1 -1 W(3), [Z, Z, Z], LOAD | DESCRIPTOR | M12;
            s_buffer_load_i8 -1 -1 -1 B32, [Z, Z, Z], LOAD | DESCRIPTOR | SIGNED | M1;
            s_buffer_load_u8 -1 -1 -1 B32, [Z, Z, Z], LOAD | DESCRIPTOR | M1;
            s_buffer_load_i16 -1 -1 -1 B32, [Z, Z, Z], LOAD | DESCRIPTOR | SIGNED | M2;
            s_buffer_load_u16 -1 -1 -1 B32, [Z, Z, Z], LOAD | DESCRIPTOR | M2;
            // These load caches in advance, from an address or from the program counter on.
            s_prefetch_inst -1 -1 -1 Z, [Z, Z, Z], 0;
            s_prefetch_inst_pc_rel -1 -1 -1 Z, [Z, Z, Z], 0;
            s_prefetch_data -1 -1 -1 Z, [Z, Z, Z], 0;
            s_buffer_prefetch_data -1 -1 -1 Z, [Z, Z, Z], DESCRIPTOR;
            s_prefetch_data_pc_rel -1 -1 -1 Z, [Z, Z, Z], 0;
        }
    };
}

pub(crate) use smem;
