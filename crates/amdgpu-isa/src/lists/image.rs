//! MIMG instructions: images, with and without a sampler.

/// Passes the instructions of MIMG to a macro.
macro_rules! mimg {
    ($make:ident) => {
        $make! {
            /// The mnemonics of MIMG: images.
            Mimg:
            image_load 0 -1 -1 Z, [Z, Z, Z], LOAD;
            image_load_mip 1 -1 -1 Z, [Z, Z, Z], LOAD;
            image_load_pck 2 -1 -1 Z, [Z, Z, Z], LOAD;
            image_load_pck_sgn 3 -1 -1 Z, [Z, Z, Z], LOAD;
            image_load_mip_pck 4 -1 -1 Z, [Z, Z, Z], LOAD;
            image_load_mip_pck_sgn 5 -1 -1 Z, [Z, Z, Z], LOAD;
            image_store 8 -1 -1 Z, [Z, Z, Z], STORE;
            image_store_mip 9 -1 -1 Z, [Z, Z, Z], STORE;
            image_store_pck 10 -1 -1 Z, [Z, Z, Z], STORE;
            image_store_mip_pck 11 -1 -1 Z, [Z, Z, Z], STORE;
            image_get_resinfo 14 -1 -1 Z, [Z, Z, Z], 0;
            image_atomic_swap 16 -1 -1 Z, [Z, Z, Z], ATOMIC;
            image_atomic_cmpswap 17 -1 -1 Z, [Z, Z, Z], ATOMIC | COMPARE;
            image_atomic_add 18 -1 -1 Z, [Z, Z, Z], ATOMIC;
            image_atomic_sub 19 -1 -1 Z, [Z, Z, Z], ATOMIC;
            image_atomic_smin 20 -1 -1 Z, [Z, Z, Z], ATOMIC;
            image_atomic_umin 21 -1 -1 Z, [Z, Z, Z], ATOMIC;
            image_atomic_smax 22 -1 -1 Z, [Z, Z, Z], ATOMIC;
            image_atomic_umax 23 -1 -1 Z, [Z, Z, Z], ATOMIC;
            image_atomic_and 24 -1 -1 Z, [Z, Z, Z], ATOMIC;
            image_atomic_or 25 -1 -1 Z, [Z, Z, Z], ATOMIC;
            image_atomic_xor 26 -1 -1 Z, [Z, Z, Z], ATOMIC;
            image_atomic_inc 27 -1 -1 Z, [Z, Z, Z], ATOMIC;
            image_atomic_dec 28 -1 -1 Z, [Z, Z, Z], ATOMIC;
            image_sample 32 -1 -1 Z, [Z, Z, Z], LOAD;
            // Operations that no target of gfx9's encodings has, under their names on RDNA.
            image_msaa_load -1 -1 -1 Z, [Z, Z, Z], LOAD;
            image_atomic_add_flt -1 -1 -1 Z, [Z, Z, Z], ATOMIC | FLOAT;
            image_atomic_min_flt -1 -1 -1 Z, [Z, Z, Z], ATOMIC | FLOAT;
            image_atomic_max_flt -1 -1 -1 Z, [Z, Z, Z], ATOMIC | FLOAT;
            image_atomic_pk_add_f16 -1 -1 -1 Z, [Z, Z, Z], ATOMIC | FLOAT;
            image_atomic_pk_add_bf16 -1 -1 -1 Z, [Z, Z, Z], ATOMIC | FLOAT;
            image_atomic_fcmpswap -1 -1 -1 Z, [Z, Z, Z], ATOMIC | COMPARE | FLOAT;
            image_sample_d -1 -1 -1 Z, [Z, Z, Z], LOAD;
            image_sample_l -1 -1 -1 Z, [Z, Z, Z], LOAD;
            image_sample_b -1 -1 -1 Z, [Z, Z, Z], LOAD;
            image_sample_lz -1 -1 -1 Z, [Z, Z, Z], LOAD;
            image_sample_c -1 -1 -1 Z, [Z, Z, Z], LOAD;
            image_sample_c_d -1 -1 -1 Z, [Z, Z, Z], LOAD;
            image_sample_c_l -1 -1 -1 Z, [Z, Z, Z], LOAD;
            image_sample_c_b -1 -1 -1 Z, [Z, Z, Z], LOAD;
            image_sample_c_lz -1 -1 -1 Z, [Z, Z, Z], LOAD;
            image_sample_o -1 -1 -1 Z, [Z, Z, Z], LOAD;
            image_sample_d_o -1 -1 -1 Z, [Z, Z, Z], LOAD;
            image_sample_l_o -1 -1 -1 Z, [Z, Z, Z], LOAD;
            image_sample_b_o -1 -1 -1 Z, [Z, Z, Z], LOAD;
            image_sample_lz_o -1 -1 -1 Z, [Z, Z, Z], LOAD;
            image_sample_c_o -1 -1 -1 Z, [Z, Z, Z], LOAD;
            image_sample_c_d_o -1 -1 -1 Z, [Z, Z, Z], LOAD;
            image_sample_c_l_o -1 -1 -1 Z, [Z, Z, Z], LOAD;
            image_sample_c_b_o -1 -1 -1 Z, [Z, Z, Z], LOAD;
            image_sample_c_lz_o -1 -1 -1 Z, [Z, Z, Z], LOAD;
            image_gather4 -1 -1 -1 Z, [Z, Z, Z], LOAD;
            image_gather4_l -1 -1 -1 Z, [Z, Z, Z], LOAD;
            image_gather4_b -1 -1 -1 Z, [Z, Z, Z], LOAD;
            image_gather4_lz -1 -1 -1 Z, [Z, Z, Z], LOAD;
            image_gather4_c -1 -1 -1 Z, [Z, Z, Z], LOAD;
            image_gather4_c_lz -1 -1 -1 Z, [Z, Z, Z], LOAD;
            image_gather4_o -1 -1 -1 Z, [Z, Z, Z], LOAD;
            image_gather4_lz_o -1 -1 -1 Z, [Z, Z, Z], LOAD;
            image_gather4_c_lz_o -1 -1 -1 Z, [Z, Z, Z], LOAD;
            image_get_lod -1 -1 -1 Z, [Z, Z, Z], 0;
            image_sample_d_g16 -1 -1 -1 Z, [Z, Z, Z], LOAD;
            image_sample_c_d_g16 -1 -1 -1 Z, [Z, Z, Z], LOAD;
            image_sample_d_o_g16 -1 -1 -1 Z, [Z, Z, Z], LOAD;
            image_sample_c_d_o_g16 -1 -1 -1 Z, [Z, Z, Z], LOAD;
            image_sample_cl -1 -1 -1 Z, [Z, Z, Z], LOAD;
            image_sample_d_cl -1 -1 -1 Z, [Z, Z, Z], LOAD;
            image_sample_b_cl -1 -1 -1 Z, [Z, Z, Z], LOAD;
            image_sample_c_cl -1 -1 -1 Z, [Z, Z, Z], LOAD;
            image_sample_c_d_cl -1 -1 -1 Z, [Z, Z, Z], LOAD;
            image_sample_c_b_cl -1 -1 -1 Z, [Z, Z, Z], LOAD;
            image_sample_cl_o -1 -1 -1 Z, [Z, Z, Z], LOAD;
            image_sample_d_cl_o -1 -1 -1 Z, [Z, Z, Z], LOAD;
            image_sample_b_cl_o -1 -1 -1 Z, [Z, Z, Z], LOAD;
            image_sample_c_cl_o -1 -1 -1 Z, [Z, Z, Z], LOAD;
            image_sample_c_d_cl_o -1 -1 -1 Z, [Z, Z, Z], LOAD;
            image_sample_c_b_cl_o -1 -1 -1 Z, [Z, Z, Z], LOAD;
            image_sample_c_d_cl_g16 -1 -1 -1 Z, [Z, Z, Z], LOAD;
            image_sample_d_cl_o_g16 -1 -1 -1 Z, [Z, Z, Z], LOAD;
            image_sample_c_d_cl_o_g16 -1 -1 -1 Z, [Z, Z, Z], LOAD;
            image_sample_d_cl_g16 -1 -1 -1 Z, [Z, Z, Z], LOAD;
            image_gather4_cl -1 -1 -1 Z, [Z, Z, Z], LOAD;
            image_gather4_b_cl -1 -1 -1 Z, [Z, Z, Z], LOAD;
            image_gather4_c_cl -1 -1 -1 Z, [Z, Z, Z], LOAD;
            image_gather4_c_l -1 -1 -1 Z, [Z, Z, Z], LOAD;
            image_gather4_c_b -1 -1 -1 Z, [Z, Z, Z], LOAD;
            image_gather4_c_b_cl -1 -1 -1 Z, [Z, Z, Z], LOAD;
            image_gather4h -1 -1 -1 Z, [Z, Z, Z], LOAD;
        }
    };
}

pub(crate) use mimg;
