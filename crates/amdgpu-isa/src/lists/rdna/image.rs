//! MIMG on RDNA.

/// Passes the instructions of MIMG on RDNA to a macro.
macro_rules! mimg {
    ($make:ident) => {
        $make! {
            Mimg:
            image_load 0 0 0 0 = Mimg image_load;
            image_load_mip 1 1 1 1 = Mimg image_load_mip;
            image_load_pck 2 2 2 2 = Mimg image_load_pck;
            image_load_pck_sgn 3 3 3 3 = Mimg image_load_pck_sgn;
            image_load_mip_pck 4 4 4 4 = Mimg image_load_mip_pck;
            image_load_mip_pck_sgn 5 5 5 5 = Mimg image_load_mip_pck_sgn;
            image_store 8 6 6 6 = Mimg image_store;
            image_store_mip 9 7 7 7 = Mimg image_store_mip;
            image_store_pck 10 8 8 8 = Mimg image_store_pck;
            image_store_mip_pck 11 9 9 9 = Mimg image_store_mip_pck;
            image_atomic_swap 15 10 10 10 = Mimg image_atomic_swap;
            image_atomic_cmpswap 16 11 11 11 = Mimg image_atomic_cmpswap;
            image_atomic_add 17 12 12 -1 = Mimg image_atomic_add;
            image_atomic_sub 18 13 13 -1 = Mimg image_atomic_sub;
            image_atomic_smin 20 14 14 -1 = Mimg image_atomic_smin;
            image_atomic_umin 21 15 15 -1 = Mimg image_atomic_umin;
            image_atomic_smax 22 16 16 -1 = Mimg image_atomic_smax;
            image_atomic_umax 23 17 17 -1 = Mimg image_atomic_umax;
            image_atomic_and 24 18 18 18 = Mimg image_atomic_and;
            image_atomic_or 25 19 19 19 = Mimg image_atomic_or;
            image_atomic_xor 26 20 20 20 = Mimg image_atomic_xor;
            image_atomic_inc 27 21 21 -1 = Mimg image_atomic_inc;
            image_atomic_dec 28 22 22 -1 = Mimg image_atomic_dec;
            image_get_resinfo 14 23 23 23 = Mimg image_get_resinfo;
            image_msaa_load 128 24 24 -1 = Mimg image_msaa_load;
            // Names that only gfx12 has, or that have other operands there.
            image_atomic_add_uint -1 -1 -1 12 = Mimg image_atomic_add;
            image_atomic_sub_uint -1 -1 -1 13 = Mimg image_atomic_sub;
            image_atomic_min_int -1 -1 -1 14 = Mimg image_atomic_smin;
            image_atomic_min_uint -1 -1 -1 15 = Mimg image_atomic_umin;
            image_atomic_max_int -1 -1 -1 16 = Mimg image_atomic_smax;
            image_atomic_max_uint -1 -1 -1 17 = Mimg image_atomic_umax;
            image_atomic_inc_uint -1 -1 -1 21 = Mimg image_atomic_inc;
            image_atomic_dec_uint -1 -1 -1 22 = Mimg image_atomic_dec;
            image_atomic_add_flt -1 -1 -1 131 = Mimg image_atomic_add_flt;
            image_atomic_min_flt -1 -1 -1 132 = Mimg image_atomic_min_flt;
            image_atomic_max_flt -1 -1 -1 133 = Mimg image_atomic_max_flt;
            image_atomic_pk_add_f16 -1 -1 -1 134 = Mimg image_atomic_pk_add_f16;
            image_atomic_pk_add_bf16 -1 -1 -1 135 = Mimg image_atomic_pk_add_bf16;
            // gfx10.3 has most of these under the names of gfx9.
            image_atomic_fcmpswap 29 -1 -1 -1 = Mimg image_atomic_fcmpswap;
            image_atomic_fmin 30 -1 -1 -1 = Mimg image_atomic_min_flt;
            image_atomic_fmax 31 -1 -1 -1 = Mimg image_atomic_max_flt;
            // With samplers.
            image_sample -1 27 27 -1 = Mimg image_sample;
            image_sample_d -1 28 28 -1 = Mimg image_sample_d;
            image_sample_l -1 29 29 -1 = Mimg image_sample_l;
            image_sample_b -1 30 30 -1 = Mimg image_sample_b;
            image_sample_lz -1 31 31 -1 = Mimg image_sample_lz;
            image_sample_c -1 32 32 -1 = Mimg image_sample_c;
            image_sample_c_d -1 33 33 -1 = Mimg image_sample_c_d;
            image_sample_c_l -1 34 34 -1 = Mimg image_sample_c_l;
            image_sample_c_b -1 35 35 -1 = Mimg image_sample_c_b;
            image_sample_c_lz -1 36 36 -1 = Mimg image_sample_c_lz;
            image_sample_o -1 37 37 -1 = Mimg image_sample_o;
            image_sample_d_o -1 38 38 -1 = Mimg image_sample_d_o;
            image_sample_l_o -1 39 39 -1 = Mimg image_sample_l_o;
            image_sample_b_o -1 40 40 -1 = Mimg image_sample_b_o;
            image_sample_lz_o -1 41 41 -1 = Mimg image_sample_lz_o;
            image_sample_c_o -1 42 42 -1 = Mimg image_sample_c_o;
            image_sample_c_d_o -1 43 43 -1 = Mimg image_sample_c_d_o;
            image_sample_c_l_o -1 44 44 -1 = Mimg image_sample_c_l_o;
            image_sample_c_b_o -1 45 45 -1 = Mimg image_sample_c_b_o;
            image_sample_c_lz_o -1 46 46 -1 = Mimg image_sample_c_lz_o;
            image_gather4 -1 47 47 -1 = Mimg image_gather4;
            image_gather4_l -1 48 48 -1 = Mimg image_gather4_l;
            image_gather4_b -1 49 49 -1 = Mimg image_gather4_b;
            image_gather4_lz -1 50 50 -1 = Mimg image_gather4_lz;
            image_gather4_c -1 51 51 -1 = Mimg image_gather4_c;
            image_gather4_c_lz -1 52 52 -1 = Mimg image_gather4_c_lz;
            image_gather4_o -1 53 53 -1 = Mimg image_gather4_o;
            image_gather4_lz_o -1 54 54 -1 = Mimg image_gather4_lz_o;
            image_gather4_c_lz_o -1 55 55 -1 = Mimg image_gather4_c_lz_o;
            image_get_lod -1 56 56 -1 = Mimg image_get_lod;
            image_sample_d_g16 -1 57 57 -1 = Mimg image_sample_d_g16;
            image_sample_c_d_g16 -1 58 58 -1 = Mimg image_sample_c_d_g16;
            image_sample_d_o_g16 -1 59 59 -1 = Mimg image_sample_d_o_g16;
            image_sample_c_d_o_g16 -1 60 60 -1 = Mimg image_sample_c_d_o_g16;
            image_sample_cl -1 64 64 -1 = Mimg image_sample_cl;
            image_sample_d_cl -1 65 65 -1 = Mimg image_sample_d_cl;
            image_sample_b_cl -1 66 66 -1 = Mimg image_sample_b_cl;
            image_sample_c_cl -1 67 67 -1 = Mimg image_sample_c_cl;
            image_sample_c_d_cl -1 68 68 -1 = Mimg image_sample_c_d_cl;
            image_sample_c_b_cl -1 69 69 -1 = Mimg image_sample_c_b_cl;
            image_sample_cl_o -1 70 70 -1 = Mimg image_sample_cl_o;
            image_sample_d_cl_o -1 71 71 -1 = Mimg image_sample_d_cl_o;
            image_sample_b_cl_o -1 72 72 -1 = Mimg image_sample_b_cl_o;
            image_sample_c_cl_o -1 73 73 -1 = Mimg image_sample_c_cl_o;
            image_sample_c_d_cl_o -1 74 74 -1 = Mimg image_sample_c_d_cl_o;
            image_sample_c_b_cl_o -1 75 75 -1 = Mimg image_sample_c_b_cl_o;
            image_sample_c_d_cl_g16 -1 84 84 -1 = Mimg image_sample_c_d_cl_g16;
            image_sample_d_cl_o_g16 -1 85 85 -1 = Mimg image_sample_d_cl_o_g16;
            image_sample_c_d_cl_o_g16 -1 86 86 -1 = Mimg image_sample_c_d_cl_o_g16;
            image_sample_d_cl_g16 -1 95 95 -1 = Mimg image_sample_d_cl_g16;
            image_gather4_cl -1 96 96 -1 = Mimg image_gather4_cl;
            image_gather4_b_cl -1 97 97 -1 = Mimg image_gather4_b_cl;
            image_gather4_c_cl -1 98 98 -1 = Mimg image_gather4_c_cl;
            image_gather4_c_l -1 99 99 -1 = Mimg image_gather4_c_l;
            image_gather4_c_b -1 100 100 -1 = Mimg image_gather4_c_b;
            image_gather4_c_b_cl -1 101 101 -1 = Mimg image_gather4_c_b_cl;
            image_gather4h -1 144 144 -1 = Mimg image_gather4h;
        }
    };
}

pub(crate) use mimg;
