//! SMEM on RDNA.

/// Passes the instructions of SMEM on RDNA to a macro.
macro_rules! smem {
    ($make:ident) => {
        $make! {
            Smem:
            s_load_b32 -1 0 0 -1 = Smem s_load_dword;
            s_load_b64 -1 1 1 -1 = Smem s_load_dwordx2;
            s_load_b128 -1 2 2 -1 = Smem s_load_dwordx4;
            s_load_b256 -1 3 3 -1 = Smem s_load_dwordx8;
            s_load_b512 -1 4 4 -1 = Smem s_load_dwordx16;
            s_buffer_load_b32 -1 8 8 -1 = Smem s_buffer_load_dword;
            s_buffer_load_b64 -1 9 9 -1 = Smem s_buffer_load_dwordx2;
            s_buffer_load_b128 -1 10 10 -1 = Smem s_buffer_load_dwordx4;
            s_buffer_load_b256 -1 11 11 -1 = Smem s_buffer_load_dwordx8;
            s_buffer_load_b512 -1 12 12 -1 = Smem s_buffer_load_dwordx16;
            s_gl1_inv 31 32 32 -1 = Smem s_gl1_inv;
            s_dcache_inv 32 33 33 -1 = Smem s_dcache_inv;
            s_atc_probe 38 34 34 -1 = Smem s_atc_probe;
            s_atc_probe_buffer 39 35 35 -1 = Smem s_atc_probe_buffer;
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
