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
            image_sample 32 27 27 27 = Mimg image_sample;
            image_sample_d 34 28 28 28 = Mimg image_sample_d;
            image_sample_l 36 29 29 29 = Mimg image_sample_l;
            image_sample_b 37 30 30 30 = Mimg image_sample_b;
            image_sample_lz 39 31 31 31 = Mimg image_sample_lz;
            image_sample_c 40 32 32 32 = Mimg image_sample_c;
            image_sample_c_d 42 33 33 33 = Mimg image_sample_c_d;
            image_sample_c_l 44 34 34 34 = Mimg image_sample_c_l;
            image_sample_c_b 45 35 35 35 = Mimg image_sample_c_b;
            image_sample_c_lz 47 36 36 36 = Mimg image_sample_c_lz;
            image_sample_o 48 37 37 37 = Mimg image_sample_o;
            image_sample_d_o 50 38 38 38 = Mimg image_sample_d_o;
            image_sample_l_o 52 39 39 39 = Mimg image_sample_l_o;
            image_sample_b_o 53 40 40 40 = Mimg image_sample_b_o;
            image_sample_lz_o 55 41 41 41 = Mimg image_sample_lz_o;
            image_sample_c_o 56 42 42 42 = Mimg image_sample_c_o;
            image_sample_c_d_o 58 43 43 43 = Mimg image_sample_c_d_o;
            image_sample_c_l_o 60 44 44 44 = Mimg image_sample_c_l_o;
            image_sample_c_b_o 61 45 45 45 = Mimg image_sample_c_b_o;
            image_sample_c_lz_o 63 46 46 46 = Mimg image_sample_c_lz_o;
            image_gather4 64 47 47 47 = Mimg image_gather4;
            image_gather4_l 68 48 48 48 = Mimg image_gather4_l;
            image_gather4_b 69 49 49 49 = Mimg image_gather4_b;
            image_gather4_lz 71 50 50 50 = Mimg image_gather4_lz;
            image_gather4_c 72 51 51 51 = Mimg image_gather4_c;
            image_gather4_c_lz 79 52 52 52 = Mimg image_gather4_c_lz;
            image_gather4_o 80 53 53 53 = Mimg image_gather4_o;
            image_gather4_lz_o 87 54 54 54 = Mimg image_gather4_lz_o;
            image_gather4_c_lz_o 95 55 55 55 = Mimg image_gather4_c_lz_o;
            image_get_lod 96 56 56 56 = Mimg image_get_lod;
            image_sample_d_g16 162 57 57 57 = Mimg image_sample_d_g16;
            image_sample_c_d_g16 170 58 58 58 = Mimg image_sample_c_d_g16;
            image_sample_d_o_g16 178 59 59 59 = Mimg image_sample_d_o_g16;
            image_sample_c_d_o_g16 186 60 60 60 = Mimg image_sample_c_d_o_g16;
            image_sample_cl 33 64 64 64 = Mimg image_sample_cl;
            image_sample_d_cl 35 65 65 65 = Mimg image_sample_d_cl;
            image_sample_b_cl 38 66 66 66 = Mimg image_sample_b_cl;
            image_sample_c_cl 41 67 67 67 = Mimg image_sample_c_cl;
            image_sample_c_d_cl 43 68 68 68 = Mimg image_sample_c_d_cl;
            image_sample_c_b_cl 46 69 69 69 = Mimg image_sample_c_b_cl;
            image_sample_cl_o 49 70 70 70 = Mimg image_sample_cl_o;
            image_sample_d_cl_o 51 71 71 71 = Mimg image_sample_d_cl_o;
            image_sample_b_cl_o 54 72 72 72 = Mimg image_sample_b_cl_o;
            image_sample_c_cl_o 57 73 73 73 = Mimg image_sample_c_cl_o;
            image_sample_c_d_cl_o 59 74 74 74 = Mimg image_sample_c_d_cl_o;
            image_sample_c_b_cl_o 62 75 75 75 = Mimg image_sample_c_b_cl_o;
            image_sample_c_d_cl_g16 171 84 84 84 = Mimg image_sample_c_d_cl_g16;
            image_sample_d_cl_o_g16 179 85 85 85 = Mimg image_sample_d_cl_o_g16;
            image_sample_c_d_cl_o_g16 187 86 86 86 = Mimg image_sample_c_d_cl_o_g16;
            image_sample_d_cl_g16 163 95 95 95 = Mimg image_sample_d_cl_g16;
            image_gather4_cl 65 96 96 96 = Mimg image_gather4_cl;
            image_gather4_b_cl 70 97 97 97 = Mimg image_gather4_b_cl;
            image_gather4_c_cl 73 98 98 98 = Mimg image_gather4_c_cl;
            image_gather4_c_l 76 99 99 99 = Mimg image_gather4_c_l;
            image_gather4_c_b 77 100 100 100 = Mimg image_gather4_c_b;
            image_gather4_c_b_cl 78 101 101 101 = Mimg image_gather4_c_b_cl;
            image_gather4h 97 144 144 144 = Mimg image_gather4h;
        }
    };
}

pub(crate) use mimg;
