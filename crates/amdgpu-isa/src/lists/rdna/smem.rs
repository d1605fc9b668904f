//! SMEM on RDNA.

/// Passes the instructions of SMEM on RDNA to a macro.
macro_rules! smem {
    ($make:ident) => {
        $make! {
            Smem:
            s_load_b32 -1 0 0 0 = Smem s_load_dword;
            s_load_b64 -1 1 1 1 = Smem s_load_dwordx2;
            s_load_b128 -1 2 2 2 = Smem s_load_dwordx4;
            s_load_b256 -1 3 3 3 = Smem s_load_dwordx8;
            s_load_b512 -1 4 4 4 = Smem s_load_dwordx16;
            s_buffer_load_b32 -1 8 8 16 = Smem s_buffer_load_dword;
            s_buffer_load_b64 -1 9 9 17 = Smem s_buffer_load_dwordx2;
            s_buffer_load_b128 -1 10 10 18 = Smem s_buffer_load_dwordx4;
            s_buffer_load_b256 -1 11 11 19 = Smem s_buffer_load_dwordx8;
            s_buffer_load_b512 -1 12 12 20 = Smem s_buffer_load_dwordx16;
            s_gl1_inv 31 32 32 -1 = Smem s_gl1_inv;
            s_dcache_inv 32 33 33 33 = Smem s_dcache_inv;
            s_atc_probe 38 34 34 34 = Smem s_atc_probe;
            s_atc_probe_buffer 39 35 35 35 = Smem s_atc_probe_buffer;
            // Names that only gfx12 has, or that have other operands there.
            s_load_b96 -1 -1 -1 5 = Smem s_load_b96;
            s_load_i8 -1 -1 -1 8 = Smem s_load_i8;
            s_load_u8 -1 -1 -1 9 = Smem s_load_u8;
            s_load_i16 -1 -1 -1 10 = Smem s_load_i16;
            s_load_u16 -1 -1 -1 11 = Smem s_load_u16;
            s_buffer_load_b96 -1 -1 -1 21 = Smem s_buffer_load_b96;
            s_buffer_load_i8 -1 -1 -1 24 = Smem s_buffer_load_i8;
            s_buffer_load_u8 -1 -1 -1 25 = Smem s_buffer_load_u8;
            s_buffer_load_i16 -1 -1 -1 26 = Smem s_buffer_load_i16;
            s_buffer_load_u16 -1 -1 -1 27 = Smem s_buffer_load_u16;
            s_prefetch_inst -1 -1 -1 36 = Smem s_prefetch_inst;
            s_prefetch_inst_pc_rel -1 -1 -1 37 = Smem s_prefetch_inst_pc_rel;
            s_prefetch_data -1 -1 -1 38 = Smem s_prefetch_data;
            s_buffer_prefetch_data -1 -1 -1 39 = Smem s_buffer_prefetch_data;
            s_prefetch_data_pc_rel -1 -1 -1 40 = Smem s_prefetch_data_pc_rel;
            // gfx10.3 has most of these under the names of gfx9.
            s_load_dword 0 -1 -1 -1 = Smem s_load_dword;
            s_load_dwordx2 1 -1 -1 -1 = Smem s_load_dwordx2;
            s_load_dwordx4 2 -1 -1 -1 = Smem s_load_dwordx4;
            s_load_dwordx8 3 -1 -1 -1 = Smem s_load_dwordx8;
            s_load_dwordx16 4 -1 -1 -1 = Smem s_load_dwordx16;
            s_buffer_load_dword 8 -1 -1 -1 = Smem s_buffer_load_dword;
            s_buffer_load_dwordx2 9 -1 -1 -1 = Smem s_buffer_load_dwordx2;
            s_buffer_load_dwordx4 10 -1 -1 -1 = Smem s_buffer_load_dwordx4;
            s_buffer_load_dwordx8 11 -1 -1 -1 = Smem s_buffer_load_dwordx8;
            s_buffer_load_dwordx16 12 -1 -1 -1 = Smem s_buffer_load_dwordx16;
            s_memtime 36 -1 -1 -1 = Smem s_memtime;
            s_memrealtime 37 -1 -1 -1 = Smem s_memrealtime;
        }
    };
}

pub(crate) use smem;
