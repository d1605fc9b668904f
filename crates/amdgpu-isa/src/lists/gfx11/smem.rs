//! SMEM on gfx11.

/// Passes the instructions of SMEM on gfx11 to a macro.
macro_rules! smem {
    ($make:ident) => {
        $make! {
            Smem:
            s_load_b32 0 0 = Smem s_load_dword;
            s_load_b64 1 1 = Smem s_load_dwordx2;
            s_load_b128 2 2 = Smem s_load_dwordx4;
            s_load_b256 3 3 = Smem s_load_dwordx8;
            s_load_b512 4 4 = Smem s_load_dwordx16;
            s_buffer_load_b32 8 8 = Smem s_buffer_load_dword;
            s_buffer_load_b64 9 9 = Smem s_buffer_load_dwordx2;
            s_buffer_load_b128 10 10 = Smem s_buffer_load_dwordx4;
            s_buffer_load_b256 11 11 = Smem s_buffer_load_dwordx8;
            s_buffer_load_b512 12 12 = Smem s_buffer_load_dwordx16;
            s_gl1_inv 32 32 = Smem s_gl1_inv;
            s_dcache_inv 33 33 = Smem s_dcache_inv;
            s_atc_probe 34 34 = Smem s_atc_probe;
            s_atc_probe_buffer 35 35 = Smem s_atc_probe_buffer;
        }
    };
}

pub(crate) use smem;
